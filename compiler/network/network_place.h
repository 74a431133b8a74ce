/* Placement: which device does which step of an executable graph.
 *
 * Whoever places is asked for each step that computes or moves, before values have
 * places in memory. A value then lies where the step computes that makes it first; what
 * leaves and enters the network, and what the host decides by, lies with the host.
 * Others that read it get a copy, once per value and device: ahead of loops that do not
 * change it, by way of the host where neither of two devices is the host. Constants are
 * copied when a model is opened. A queue waits for another one where it reads, or
 * writes over, what that has written or read in the host's memory, which is the only
 * one that two queues see, and nowhere else.
 *
 * Code of all devices is made for the profile, whose architecture they share; but where
 * the profile has a device of its own kind, steps are with whom their kernels were made
 * for. */
#ifndef KILN_COMPILER_NETWORK_NETWORK_PLACE_H
#define KILN_COMPILER_NETWORK_NETWORK_PLACE_H

#include "compiler/network/executable.h"

enum { KILN_NET_MAX_DEVICES = 8 };

typedef struct kiln_placement {
    /* Kinds, as the runtime names them: the host first, then as many as one wants.
     * Those that no step is given to are left out of what is made. */
    const char *const *kind;
    int n_devices; /* at most KILN_NET_MAX_DEVICES */
    /* Index of a device. step: of n, one that computes or moves. */
    int (*where)(void *user, const kiln_net *n, int step);
    void *user; /* of `where`; borrowed until the executable is made */
} kiln_placement;

#define KILN_PLACE_HOST "host" /* kind of device 0 */

/* A network once more, which the host does alone: with the same kernels, on these
 * devices. `out` lives in `a` and borrows `n`. KILN_ERR_ARG: devices that there cannot
 * be. */
kiln_status kiln_net_on_devices(kiln_arena *a, const kiln_net *n,
                                const kiln_placement *o, kiln_net *out, kiln_err *err);

/* Rules as words, of which the last one that fits a step counts; what none fits is the
 * host's:
 *
 *     conv=npu          steps whose main operator is conv; "convert" and "copy" are such
 *     all=npu           every step
 *     random:7=npu      each step there or not, by this seed
 *
 * Devices are those that the rules name, in that order. The words are borrowed.
 * KILN_ERR_ARG: a rule that is none, an operator that there is not. */
kiln_status kiln_place_by_rules(kiln_arena *a, const char *const *rule, size_t n,
                                kiln_placement *out, kiln_err *err);

/* Of a profile with a device: calls are where their kernels are made for; what moves
 * goes where who reads it is. */
int kiln_place_by_kernel(void *user, const kiln_net *n, int step);

/* Random devices by a seed: steps one by one, or several in a row.
 * user: a kiln_place_seed. */
typedef struct kiln_place_seed {
    uint64_t seed;
    int n_devices;
} kiln_place_seed;
int kiln_place_at_random(void *user, const kiln_net *n, int step);

#endif
