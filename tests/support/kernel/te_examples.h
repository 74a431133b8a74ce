/* Tensor expressions for tests of everything below the Graph: small, of odd sizes, and
 * of every shape of computation that schedules treat differently. */
#ifndef KILN_TESTS_SUPPORT_KERNEL_TE_EXAMPLES_H
#define KILN_TESTS_SUPPORT_KERNEL_TE_EXAMPLES_H

#include "compiler/tensor/tensor.h"

typedef struct te_example {
    const kiln_te *arg[8]; /* placeholders, then outputs */
    size_t n_args, n_inputs;
    const kiln_te *stage[8]; /* computes that are no outputs, producers first */
    size_t n_stages;
} te_example;

#define TE_EXAMPLE(name) void te_make_##name(kiln_arena *a, te_example *out);
#include "tests/support/kernel/te_examples.def"
#undef TE_EXAMPLE

typedef struct te_example_def {
    const char *name;
    void (*make)(kiln_arena *a, te_example *out);
} te_example_def;

extern const te_example_def te_examples[];
extern const size_t n_te_examples;

#endif
