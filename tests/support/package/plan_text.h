/* Hand-made plans: a fixed set of tensors and kernels, and steps written as text.
 *
 *     "copy w s; loop 4; take x e; call add s e s; put s y; end; copy s z"
 *
 *     tensor  bytes  place          tensor  bytes  place
 *     x       256    input 0        s       64     arena
 *     v       64     input 1        e       64     arena
 *     c       1      input 2        b       256    arena
 *     y       256    output 0       t       1      arena
 *     z       64     output 1       none    0      arena
 *     w       64     parameters       p, q   64     packed
 *
 * Plans with an @ have a second device, host2, with two queues and memory of its own:
 *
 *     a, d, f 64     arena            g      256    arena
 *     r       64     packed
 *
 * "@1 copy v d; @1 call add2 d d f; wait 1; copy w z; @1 copy f z" does steps on queue 1;
 * add2 is add in the second device's module. "wait 1" lets the step's queue wait for
 * step 1.
 *
 * A step behind "open" is an open step: "open add w w p; copy p z" calls add when the
 * model is opened. Kernels: add (two of 64 bytes, one written), big (one of 64 bytes,
 * one byte written). Blocks are written if, else, loop N, end; partners are found where
 * blocks nest, and 0 where they do not, so that broken plans can be written too.
 */
#ifndef KILN_TESTS_SUPPORT_PLAN_TEXT_H
#define KILN_TESTS_SUPPORT_PLAN_TEXT_H

#include "base/base.h"
#include "runtime/plan.h"

enum { KILN_TEST_PLAN_STEPS = 96, KILN_TEST_PLAN_OPEN = 8 };

/* All tables as they are written; whoever makes a broken plan changes them before. */
typedef struct kiln_test_plan {
    kiln_plan_header header; /* offsets and sizes: by kiln_test_plan_write */
    kiln_plan_tensor tensor[18];
    kiln_plan_port port[5];
    kiln_plan_kernel kernel[3];
    uint64_t size[8];
    kiln_plan_step step[KILN_TEST_PLAN_STEPS];
    kiln_plan_step open[KILN_TEST_PLAN_OPEN];
    uint32_t operand[4 * KILN_TEST_PLAN_STEPS];
    kiln_plan_device device[2];
    kiln_plan_space space[2];
    kiln_plan_queue queue[3];
    kiln_plan_module module[2];
    char strings[64];
} kiln_test_plan;

void kiln_test_plan_read(const char *steps, kiln_test_plan *out);
/* In the arena, 64-byte aligned, with nothing behind it. */
kiln_str kiln_test_plan_write(kiln_arena *a, const kiln_test_plan *p);

#endif
