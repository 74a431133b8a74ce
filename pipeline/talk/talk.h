/* pipeline/talk: one long-lived process that answers what it is asked: our own, or one
 * behind a socket. It may hang, crash, or say anything; every wait has an end. */
#ifndef KILN_PIPELINE_TALK_H
#define KILN_PIPELINE_TALK_H

#include "base/base.h"

typedef struct kiln_talk kiln_talk;

typedef struct kiln_talk_options {
    int shared; /* memory for kiln_child_start; -1: none */
    /* Once somebody interrupts (kiln_interrupted), an answer may take so long; 0: the
     * process is killed at once. */
    int64_t grace_ms;
    /* Who gives no answer in time is not ended: that call fails, no later one. */
    bool outlives_silence;
    bool is_wide; /* it will answer in megabytes, not lines */
    /* Called several times a second while an answer is awaited; may be NULL. */
    void (*tick)(void *user);
    void *user;
} kiln_talk_options;

/* argv[0] is a path. It ends when the arena is reset. */
kiln_status kiln_talk_open(kiln_arena *a, const char *const *argv,
                           const kiln_talk_options *o, kiln_talk **out, kiln_err *err);
/* The same with a worker that listens, at an address as pipeline/measure/wire/address.h
 * has them; it notices the end of the connection. Does not wait: that nobody is there
 * may show when something is read. KILN_ERR_IO: nobody listens. */
kiln_status kiln_talk_connect(kiln_arena *a, const char *address,
                              const kiln_talk_options *o, kiln_talk **out,
                              kiln_err *err);
/* Sends a line and waits for the line of the answer, which lives in `a`, without its
 * end. Failures say how the process ended, what it complained of last, or that nothing
 * came in time; then it was killed, and every later call fails too. */
kiln_status kiln_talk_ask(kiln_talk *t, kiln_arena *a, kiln_str line, int64_t limit_ms,
                          kiln_str *answer, kiln_err *err);
/* For who has no lines: sends all bytes; reads at least one byte. Failures are the same,
 * in `a` while they are put together. */
kiln_status kiln_talk_send(kiln_talk *t, kiln_arena *a, kiln_str bytes,
                           int64_t deadline_ns, kiln_err *err);
kiln_status kiln_talk_read(kiln_talk *t, kiln_arena *a, void *to, size_t room,
                           int64_t deadline_ns, size_t *got, kiln_err *err);
/* What it said makes no sense: kills it, fails with `why`. */
kiln_status kiln_talk_refuse(kiln_talk *t, const char *why, kiln_err *err);
bool kiln_talk_is_there(const kiln_talk *t);
/* Kills the process, closes the connection; later calls fail. */
void kiln_talk_end(kiln_talk *t);

#endif
