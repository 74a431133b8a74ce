/* A kiln-runner that listens (kiln-runner --serve), lent to us: it runs several networks
 * at once, each in a process of its own there.
 *
 *     kiln_far_open(a, &options, &far, err);
 *     kiln_apart_new(a, &(kiln_apart_options){.far = far});     for each network
 */
#ifndef KILN_PIPELINE_TALK_FAR_H
#define KILN_PIPELINE_TALK_FAR_H

#include "base/base.h"

typedef struct kiln_far kiln_far;

typedef struct kiln_far_options {
    const char *address; /* as pipeline/measure/wire/address.h has them; borrowed */
    /* It is free for others when nothing was heard of us for so long; 0: twelve minutes,
     * which is more than an answer may take. */
    int64_t lease_ms;
    /* One that does not answer, or is lent to others, is tried again for so long; 0: ten
     * seconds. */
    int64_t patience_ms;
    int64_t grace_ms; /* as of kiln_talk_options */
    /* Where a pool listens (kiln device pool), it is asked for a device that is fit for
     * this profile, JSON (NULL: any), with so many threads and this priority (0: 10); and
     * waited for until it has one. */
    const char *profile;
    int threads, priority;
} kiln_far_options;

/* Connects, and has it lent. It is free again when the arena is reset, at the latest.
 * KILN_ERR_ARG: that is no address; KILN_ERR_IO: nobody answers there, or it is lent to
 * somebody else; KILN_ERR_LIB: it says what makes no sense. */
kiln_status kiln_far_open(kiln_arena *a, const kiln_far_options *o, kiln_far **out,
                          kiln_err *err);
/* It is free for others; everything that ran there ends. */
void kiln_far_close(kiln_far *f);
const char *kiln_far_address(const kiln_far *f);
/* Its machine: a profile as JSON, as it says; lives as long as `f`. */
kiln_str kiln_far_machine(const kiln_far *f);
/* The connection is gone, and all that ran there: it was killed, or said what makes no
 * sense. */
bool kiln_far_is_lost(const kiln_far *f);

#endif
