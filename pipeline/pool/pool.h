/* Devices that several tuners share: a pool, and who asks it what there is.
 *
 * `kiln-runner --serve ADDRESS` is a device. A pool listens too; who connects to it with
 * --runner or --pool is greeted, asks for a device that is fit for a profile, waits in a
 * queue, and then speaks through the pool to the device as if it had connected there. */
#ifndef KILN_PIPELINE_POOL_H
#define KILN_PIPELINE_POOL_H

#include "base/base.h"

typedef struct kiln_lender_options {
    const char *address; /* as pipeline/measure/wire/address.h has them */
    /* Addresses of devices, as runners' (wire/transport.h), NULL-terminated; others
     * register themselves. NULL: none. And what they are called; NULL: by their address. */
    const char *const *device, *const *name;
    /* What brings a device's server back, and what cycles its power: commands of
     * /bin/sh, with its name and address as $1 and $2. NULL: there is none. */
    const char *restart, *power;
    int slice_s;    /* a device is lent for so long before another may want it; 0: 30 */
    int silence_s;  /* an answer that is owed for so long is a hang; 0: 45 */
    int beat_s;     /* a server that is not heard of for so long hangs; 0: 20 */
    int cool_above; /* degrees above which a device rests; 0: it does not */
    /* Called once it listens, with the port that was chosen. */
    void (*listens)(void *user, const char *address);
    void *user;
} kiln_lender_options;

/* Serves until somebody interrupts (kiln_interrupt_catch). KILN_ERR_ARG, KILN_ERR_IO,
 * KILN_ERR_UNSUPPORTED: it cannot listen there. */
kiln_status kiln_lender_serve(const kiln_lender_options *o, kiln_err *err);

/* What a pool says of itself, as text for people and as the JSON that it sent, in `a`
 * (docs/pool.md). KILN_ERR_IO: no pool answers there. */
typedef struct kiln_lender_list {
    kiln_str json;
    kiln_buf text;
} kiln_lender_list;
kiln_status kiln_lender_ask(kiln_arena *a, const char *address, int n_notes,
                            kiln_lender_list *out, kiln_err *err);

#endif
