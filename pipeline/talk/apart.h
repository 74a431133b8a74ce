/* A kiln-runner for what is generated and must not run here: networks, and code that
 * packs constants. It forks a process for each, a *guest*; one that crashes is an error,
 * and the next one finds the runner as it was. The runner is our own, or one that
 * listens and was lent to us (far.h), which takes networks alone.
 *
 *     kiln_apart *x = kiln_apart_new(a, &options);
 *     kiln_apart_begin(x, err);                            for each guest
 *     kiln_apart_put(x, bytes, n, &place, err);            what is large, ahead of:
 *     kiln_apart_send(x, KILN_WIRE_NETWORK, &message, deadline, err);
 *     kiln_apart_receive(x, deadline, &told, err);
 */
#ifndef KILN_PIPELINE_TALK_APART_H
#define KILN_PIPELINE_TALK_APART_H

#include "base/base.h"
#include "pipeline/measure/wire/wire.h"
#include "pipeline/talk/far.h"

typedef struct kiln_apart kiln_apart;

typedef struct kiln_apart_options {
    const char *const *argv; /* ends in NULL; NULL: kiln-runner */
    int64_t grace_ms;        /* as of kiln_talk_options, */
    void (*tick)(void *user);
    void *user;
    /* In place of a process: its guest is one of those there. Borrowed for as long as
     * this; nothing above counts then. */
    kiln_far *far;
} kiln_apart_options;

/* The process is started when it is asked first, again where it was ended, and ends with
 * the arena. `o` may be NULL. */
kiln_apart *kiln_apart_new(kiln_arena *a, const kiln_apart_options *o);
/* Its runner elsewhere; NULL: it is a process here. */
kiln_far *kiln_apart_far(const kiln_apart *x);

/* For a new guest: the one before ends, and what was put for it is gone. KILN_ERR_IO:
 * there is no such program, or no memory to share; KILN_ERR_LIMIT: too many are open on a
 * runner elsewhere, KILN_ERR_LIB: it is lost. */
kiln_status kiln_apart_begin(kiln_apart *x, kiln_err *err);
/* The number of the guest that was begun last. */
uint64_t kiln_apart_guest(const kiln_apart *x);
/* Into memory that the guest can read, at a multiple of 64. Ahead of its message. For a
 * runner elsewhere, `p` is borrowed until the first answer: it may ask for the bytes. */
kiln_status kiln_apart_put(kiln_apart *x, const void *p, size_t bytes,
                           kiln_wire_place *out, kiln_err *err);

/* Failures say how the guest or the process ended; after one, the guest is gone.
 * KILN_ERR_LIB. deadline_ns: of kiln_now_ns; who passes it is ended; time in which a
 * runner elsewhere is given what was put does not count. Messages' guest is filled in. */
kiln_status kiln_apart_send(kiln_apart *x, kiln_wire_kind kind, const void *message,
                            int64_t deadline_ns, kiln_err *err);
/* The same from a tick, while an answer is awaited: whatever comes of it, the answer will
 * tell. */
void kiln_apart_hint(kiln_apart *x, kiln_wire_kind kind, const void *message,
                     int64_t deadline_ns);
/* An answer. Views of `out` live until the next call. KILN_ERR_LIB, too: it is that
 * there is a problem, which leaves the guest as it is. */
kiln_status kiln_apart_receive(kiln_apart *x, int64_t deadline_ns, kiln_wire_told *out,
                               kiln_err *err);
/* The guest said something that makes no sense: it is ended, with the process, or the
 * connection. */
kiln_status kiln_apart_refuse(kiln_apart *x, const char *why, kiln_err *err);
/* The guest has ended by itself, as it should. */
void kiln_apart_ended(kiln_apart *x);

#endif
