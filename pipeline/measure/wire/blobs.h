/* What a worker has of blobs, and how it gets the others.
 *
 *     kiln_blobs_init(&b, &arena, limit);
 *     kiln_blobs_fetch(&b, &peer, want, n, err);    asks, reads, and holds to their names
 *
 * Whole ones stay, up to a limit, those that were used longest ago go first. No process
 * that is forked from this one has their bytes.
 */
#ifndef KILN_PIPELINE_MEASURE_WIRE_BLOBS_H
#define KILN_PIPELINE_MEASURE_WIRE_BLOBS_H

#include "pipeline/measure/wire/digest.h"
#include "pipeline/measure/wire/wire.h"

/* Who is spoken to. */
typedef struct kiln_wire_peer {
    int in, out;
    kiln_wire_stream stream; /* what came from it */
    /* Called when a message has come; NULL: nobody wants to know. */
    void (*heard)(void *user);
    void *user;
} kiln_wire_peer;

/* As kiln_wire_read. */
kiln_status kiln_wire_hear(kiln_wire_peer *p, int64_t wait_ms, bool *has,
                           kiln_wire_frame *out, kiln_err *err);

typedef struct kiln_kept_blob {
    kiln_wire_blob name;
    unsigned char *map; /* NULL: a place for another one */
    uint64_t used;      /* the turn in which it was asked for last */
} kiln_kept_blob;

typedef struct kiln_blobs {
    kiln_arena *arena; /* borrowed; of the list */
    uint64_t limit;    /* bytes that may stay when more come */
    uint64_t bytes;    /* that are here */
    uint64_t turn;
    KILN_VEC(kiln_kept_blob) list;
    /* On its way: */
    kiln_wire_blob coming;
    unsigned char *map; /* NULL: none is */
    uint64_t at;        /* so much of it is here */
    kiln_wire_digest digest;
} kiln_blobs;

void kiln_blobs_init(kiln_blobs *b, kiln_arena *a, uint64_t limit);
void kiln_blobs_fini(kiln_blobs *b); /* accepts a zeroed struct */

/* NULL: it is not here. Borrowed until the next fetch of others, or drop. */
const void *kiln_blobs_find(kiln_blobs *b, const kiln_wire_blob *name);
/* It is forgotten; one that is not here is fine. */
void kiln_blobs_drop(kiln_blobs *b, const kiln_wire_blob *name);

/* One is to come, from its first byte on. KILN_ERR_LIMIT: it is too large;
 * KILN_ERR_OOM: there is no memory for it. */
kiln_status kiln_blobs_expect(kiln_blobs *b, const kiln_wire_blob *name, kiln_err *err);
/* A piece of it. *is_whole: that was the last, and it is what its name says.
 * KILN_ERR_PARSE: it belongs to another one, leaves a gap, is too long, or the bytes are
 * others than the name says. */
kiln_status kiln_blobs_take(kiln_blobs *b, const kiln_wire_piece *p, bool *is_whole,
                            kiln_err *err);

/* Fills in want[i]->data, of those with bytes: what is not here is asked for. What the
 * peer's stream gave out before is gone. *asked: something was, for the caller to look
 * at. KILN_ERR_IO: the peer ended, or was silent too long. */
kiln_status kiln_blobs_fetch(kiln_blobs *b, kiln_wire_peer *peer,
                             kiln_wire_blob *const *want, size_t n, bool *asked,
                             kiln_err *err);

#endif
