/* Inside pipeline/pool: bytes that pass between a borrower and a device. Frames are told
 * apart by their headers; what is in them is nobody's business here. */
#ifndef KILN_PIPELINE_POOL_FLOW_H
#define KILN_PIPELINE_POOL_FLOW_H

#include "pipeline/measure/wire/wire.h"

enum {
    KILN_FLOW_BYTES = 128 * 1024, /* on their way in one direction */
    KILN_FLOW_OWN = 1024,         /* and of the pool's own */
    KILN_FLOW_READ = 64 * 1024
};

typedef struct kiln_flow {
    size_t n, at; /* bytes, and how many of them went */
    unsigned char head[KILN_WIRE_HEADER_BYTES];
    size_t n_head;   /* of the frame that is coming, */
    uint64_t left;   /* and how much of it is to come */
    bool is_dropped; /* it ends here */
    int n_drop;      /* of the next so many KILN_WIRE_LEASED that ends here */
    unsigned char data[KILN_FLOW_BYTES + KILN_FLOW_OWN];
} kiln_flow;

void kiln_flow_begin(kiln_flow *f);
/* Room for a whole read. */
bool kiln_flow_has_room(const kiln_flow *f);
/* What was read, at most KILN_FLOW_READ bytes; tells of each frame that begins. False: that
 * are no frames. */
bool kiln_flow_take(kiln_flow *f, const unsigned char *p, size_t n,
                    void (*saw)(void *user, kiln_wire_kind kind), void *user);
/* No frame is under way. */
bool kiln_flow_is_between(const kiln_flow *f);
/* Appends a message of our own, shorter than KILN_FLOW_OWN. False: a frame is under way,
 * or there is no room; later, perhaps. */
bool kiln_flow_put(kiln_flow *f, kiln_wire_kind kind, const void *message);

#endif
