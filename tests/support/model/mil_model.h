/* ML programs of a few operations for tests, as text, a line each:
 *
 *     y = conv x=x weight=(1,1,2,2: 1 2 3 4) strides=[2,2] pad_type='same' groups=1
 *     z = concat values=y+y axis=1 interleave=false
 *     a,b = split x=z num_splits=2 axis=-1
 *
 * An operand is a name (several, joined by +), a list of i32, a tensor of f32, a word, a
 * number (of f32 with a point, else of i32), a truth value, or @12(2,3), an f32 tensor in
 * the file of weights, with its head at byte 12. Made by the published schema (MIL.proto).
 */
#ifndef KILN_TESTS_SUPPORT_MODEL_MIL_MODEL_H
#define KILN_TESTS_SUPPORT_MODEL_MIL_MODEL_H

#include "base/base.h"

/* With one input x of f32 (shape as "1,3"; a negative size is left open) and an output y. */
kiln_str kiln_test_mil(kiln_arena *a, const char *x, const char *ops);
/* A file of weights with one blob of f32: its head is at byte 64. */
kiln_str kiln_test_mil_weights(kiln_arena *a, const float *v, size_t n);

#endif
