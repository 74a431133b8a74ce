/* Running lowered tensor expressions on random inputs, against kiln_te_eval.
 *
 * Tolerance: schedules may sum in another order and in float32 after each step, while
 * kiln_te_eval sums in double. With |x| <= 1 and at most k = 98 terms the difference is
 * below k * 2^-24 * sum|ab| <= 98 * 98 * 6e-8 = 6e-4; integers and moves are exact. */
#ifndef KILN_TESTS_SUPPORT_KERNEL_TE_CALL_H
#define KILN_TESTS_SUPPORT_KERNEL_TE_CALL_H

#include "tests/support/kernel/te_examples.h"

/* Arguments of the program: inputs, then every output's tensors, poisoned. */
typedef struct te_call {
    void *arg[16];
    int n_args;
    kiln_tensor out[8];
    int n_out;
} te_call;

/* How far an element of an output may be from `want`: half floats round the sum to a
 * neighbour of what they else would. */
double te_call_tolerance(kiln_dtype dtype, double want);
/* Random inputs; `in` receives them, one per placeholder. */
void te_call_prepare(kiln_arena *a, kiln_rng *rng, const te_example *x, te_call *c,
                     kiln_wide *in);
/* What the outputs must be. */
void te_call_evaluate(kiln_arena *a, const te_example *x, const kiln_wide *in,
                      kiln_wide *want);
/* True, and the first difference printed, where `got` is not within the tolerance. */
bool te_call_differs(kiln_arena *a, const kiln_tensor *got, const kiln_wide *want);

#endif
