/* Inside pipeline/pool: the server around the core. One thread, one loop, no call that
 * waits. */
#ifndef KILN_PIPELINE_POOL_POOL_INTERNAL_H
#define KILN_PIPELINE_POOL_POOL_INTERNAL_H

#include "compiler/target/target.h"
#include "pipeline/measure/wire/transport.h"
#include "pipeline/pool/pool_core.h"
#include "pipeline/pool/flow.h"
#include "pipeline/pool/pool.h"

#include <poll.h>

enum {
    KILN_LENDER_MAX_CLIENTS = KILN_LENDER_MAX_REQUESTS + KILN_LENDER_MAX_DEVICES + 64,
    KILN_LENDER_ADDRESS = 4096,
    KILN_LENDER_TELL_MS = 5000, /* who waits is told so */
    KILN_LENDER_BEATS = 4 /* a server is asked after so often, in limits.beat_ms */
};

/* ---- who connected ------------------------------------------------------------------ */

typedef enum kiln_lender_client_state {
    KILN_CLIENT_NONE,
    KILN_CLIENT_NEW,     /* it was greeted */
    KILN_CLIENT_WAITING, /* for a device */
    KILN_CLIENT_HOLDING, /* everything is between the two */
    KILN_CLIENT_DEVICE,  /* it is one: it registered */
    KILN_CLIENT_LEAVING  /* what is on its way still goes */
} kiln_lender_client_state;

typedef struct kiln_lender_client {
    kiln_lender_client_state state;
    int fd;
    int64_t since_ms, told_ms;
    int request;      /* WAITING, HOLDING */
    int device;       /* HOLDING, DEVICE */
    bool is_recalled; /* it is to be told */
    int threads;
    bool takes_any; /* no profile was named */
    kiln_profile profile;
    struct {
        uint32_t version; /* of the device's greeting; 0: not looked at */
        bool fits;
    } fit[KILN_LENDER_MAX_DEVICES];
    kiln_arena arena; /* of all this: */
    kiln_wire_stream in;
    kiln_buf out; /* not HOLDING */
    size_t out_at;
} kiln_lender_client;

/* ---- devices -------------------------------------------------------------------------- */

typedef enum kiln_lender_line_state {
    KILN_LINE_DOWN,
    KILN_LINE_GREETING, /* its greeting is awaited, */
    KILN_LINE_LEASING,  /* and that it is ours */
    KILN_LINE_STANDBY,
    KILN_LINE_LENT
} kiln_lender_line_state;

typedef struct kiln_lender_line {
    kiln_lender_line_state state;
    char address[KILN_LENDER_ADDRESS], called[KILN_LENDER_NAME + 16];
    kiln_transport t;
    int client; /* LENT */
    int64_t end_ms, leased_ms;
    int n_leases;        /* of ours that were not answered yet */
    char *machine;       /* of its last greeting, in the pool's arena */
    uint32_t version;    /* of that: changes when it does */
    kiln_arena arena;    /* of: */
    kiln_wire_stream in; /* not LENT */
    kiln_buf out;        /* ours */
    size_t out_at;
    kiln_flow *to, *from; /* the device; LENT; kept */
    /* Is anybody there? Another connection, which is greeted or told that it is lent. */
    kiln_transport probe;
    bool is_probing;
    int64_t probe_ms;   /* the last began */
    kiln_child command; /* pid 0: none runs */
    int64_t command_end_ms;
} kiln_lender_line;

typedef struct kiln_lender {
    const kiln_lender_options *o;
    kiln_lender_core core;
    kiln_arena arena;  /* process: buffers of lines, and greetings */
    const char *owner; /* of leases */
    int listener;
    int64_t begin_ms;
    uint64_t n_logged; /* of the core's notes */
    kiln_lender_line line[KILN_LENDER_MAX_DEVICES];
    kiln_lender_client client[KILN_LENDER_MAX_CLIENTS];
    unsigned char chunk[KILN_FLOW_READ];
} kiln_lender;

int64_t kiln_lender_now_ms(void);

/* client.c */
void kiln_lender_accept(kiln_lender *p);
void kiln_client_poll(const kiln_lender *p, int client, struct pollfd *fd);
void kiln_client_serve(kiln_lender *p, int client, short events);
void kiln_client_tick(kiln_lender *p, int client, int64_t now);
void kiln_client_grant(kiln_lender *p, int client, int device);
/* Its device is gone. */
void kiln_client_cut(kiln_lender *p, int client, const kiln_lender_action *a);
void kiln_client_close(kiln_lender *p, int client);
bool kiln_lender_fits(void *pool, int client, int device);

/* pool_line.c */
/* What is polled of a line: what comes, what may go, the probe. */
enum { KILN_LINE_FDS = 3 };
/* A device by name; -1: there are too many. */
int kiln_lender_line_add(kiln_lender *p, const char *name, const char *address);
void kiln_lender_line_poll(const kiln_lender *p, int device, struct pollfd *fd);
void kiln_lender_line_serve(kiln_lender *p, int device, const struct pollfd *fd);
void kiln_lender_line_tick(kiln_lender *p, int device, int64_t now);
void kiln_lender_line_reset(kiln_lender *p, int device);
void kiln_lender_line_close(kiln_lender *p, int device);
void kiln_lender_line_probe(kiln_lender *p, int device);
/* pool_command.c */
void kiln_lender_line_command(kiln_lender *p, int device, const char *command);
void kiln_lender_line_command_tick(kiln_lender *p, int device, int64_t now);
/* Bytes from the borrower to the device, and back: as much as there is. False: that side
 * is gone. */
bool kiln_relay_from_client(kiln_lender *p, int client);
bool kiln_relay_from_device(kiln_lender *p, int device);
bool kiln_relay_to_client(kiln_lender *p, int client);
bool kiln_relay_to_device(kiln_lender *p, int device);

/* pool_report.c */
void kiln_lender_report(const kiln_lender *p, int n_notes, kiln_buf *json);

#endif
