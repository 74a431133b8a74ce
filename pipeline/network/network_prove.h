/* Proof of a network by what its steps read and wrote in one run, wherever that was.
 *
 * A run's trace goes past step by step. Each operand that a step reads must be, bit by
 * bit, what the graph says of the values made before: so a stale value, a wrong view, a
 * part in the wrong place, or two values in one memory are found where they are read,
 * and so are tail lanes that are not zero. What a step writes is held against the
 * reference, which computes the step's own nodes from the very numbers that the step
 * read: at all elements where that is cheap, else at corners, edges and random ones,
 * within the operators' bounds. No error of one step is carried into the next, so
 * bounds stay tight however deep the network is, nothing hangs on rounding, and the
 * first wrong step is known by name.
 *
 *     kiln_prover *p = kiln_prover_new(&a, &network, in, seed, &proof);
 *     for each record of a trace: kiln_prover_take(p, &record, &err);
 *     kiln_prover_end(p, &err);           proof.problem: what is wrong first; "": none
 */
#ifndef KILN_PIPELINE_NETWORK_NETWORK_PROVE_H
#define KILN_PIPELINE_NETWORK_NETWORK_PROVE_H

#include "pipeline/network/network.h"

typedef struct kiln_network_proof {
    const char *problem; /* "": everything seen was right. In the arena */
    int step;            /* the first wrong one; -1: none is */
    /* Steps of the plan that compute or move: all, those whose results were held
     * against something, and those that the reference could not say anything of, with
     * the first such reason. Steps of branches that were not taken are neither. */
    int n_steps, n_proved, n_unknown;
    const char *unknown;
    int64_t n_elems, n_checked; /* of results: all, and compared */
    const bool *is_seen;        /* by step */
} kiln_network_proof;
/* Does the step compute or move? Others choose and repeat. */
bool kiln_network_is_work(const kiln_network *n, int step);

/* As kiln_trace has it (runtime/kiln.h); data is borrowed during the call. */
typedef struct kiln_prover_record {
    kiln_trace_kind kind;
    int step, operand;
    int64_t iteration;
    const void *data;
    size_t bytes; /* parameters come without */
} kiln_prover_record;

typedef struct kiln_prover kiln_prover;
/* `in`: what the run was given, row-major, by input; borrowed. The network must be the
 * one that kiln_network_compile made. */
kiln_prover *kiln_prover_new(kiln_arena *a, const kiln_network *n,
                             const kiln_tensor *in, uint64_t seed,
                             kiln_network_proof *out);
/* Records in the order of the run. Wrong is the proof's affair, not an error; after a
 * wrong step the rest is not looked at. KILN_ERR_BUG: the trace is none of this
 * network.
 */
kiln_status kiln_prover_take(kiln_prover *p, const kiln_prover_record *r,
                             kiln_err *err);
/* Every step outside of branches must have come by; releases what the prover holds. */
void kiln_prover_end(kiln_prover *p);
/* Bytes that steps of [begin, end) put into a trace; `end` is moved so that neither a
 * branch nor a loop is cut, and at most `limit` bytes come together where that can be.
 */
uint64_t kiln_network_trace_bytes(const kiln_network *n, int begin, int *end,
                                  uint64_t limit);

#endif
