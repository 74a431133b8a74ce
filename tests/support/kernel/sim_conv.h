/* A machine that exists on paper: what a convolution of conv_direct would cost on it,
 * from the workload's numbers and the knobs, with no timing. For tests of searches. */
#ifndef KILN_TESTS_SUPPORT_KERNEL_SIM_CONV_H
#define KILN_TESTS_SUPPORT_KERNEL_SIM_CONV_H

#include "compiler/tuner/tuner.h"

typedef struct kiln_sim_shape {
    const char *name;
    int64_t h, ic, oc, k, s; /* square image and kernel, padded by k / 2 */
} kiln_sim_shape;

typedef struct kiln_sim_conv {
    kiln_sim_shape shape;
    kiln_profile profile;
    kiln_workload work;
    kiln_tune_task task;
} kiln_sim_conv;

/* Workload and task of the shape, which must stay where they are made. */
void kiln_sim_conv_make(kiln_arena *a, const kiln_sim_shape *shape, kiln_sim_conv *c);
/* Nanoseconds, always the same for one configuration: register tiles and their rests,
 * two cache levels, loops around, padding; and three percent that look like noise. */
double kiln_sim_conv_ns(const kiln_sim_conv *c, uint64_t index);

/* n random configurations with what they take on it, as a model of that kind encodes
 * them. */
kiln_samples kiln_sim_conv_samples(kiln_arena *a, const kiln_sim_conv *c,
                                   const kiln_cost_model_kind *kind, size_t n,
                                   uint64_t seed, bool carries_over);
/* The same of a shape's own workload. */
kiln_samples kiln_sim_shape_samples(kiln_arena *a, const kiln_sim_shape *shape,
                                    const kiln_cost_model_kind *kind, size_t n,
                                    uint64_t seed, bool carries_over);

/* Loops of a small matrix product, as text: one of each kind. */
extern const char kiln_sim_product[];

#endif
