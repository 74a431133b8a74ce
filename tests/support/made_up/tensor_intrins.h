/* Tensor intrinsics of a matrix unit that nobody has: blocks of 4 x 4 in memory. */
#ifndef KILN_TESTS_SUPPORT_MADE_UP_TENSOR_INTRINS_H
#define KILN_TESTS_SUPPORT_MADE_UP_TENSOR_INTRINS_H

#include "compiler/loop/tensor_intrin.h"

/* c[i, j] = sum(k: 4) a[i, k] * b[k, j], of i32. By what is an instruction. */
extern const kiln_tensor_intrin made_up_acc4_update; /* update */
extern const kiln_tensor_intrin made_up_acc4_reset;  /* reset, update */
extern const kiln_tensor_intrin made_up_acc4_whole;  /* reset, update, body */
extern const kiln_tensor_intrin made_up_acc4_body;   /* body */

/* All three, with leading dimensions; and with another reduction than a sum. */
extern const kiln_tensor_intrin made_up_acc4_rows;
extern const kiln_tensor_intrin made_up_acc4_max, made_up_acc4_min, made_up_acc4_prod;
/* c[i, j] as max of (index, value) pairs can be none. */
extern const kiln_tensor_intrin made_up_acc4_argmax;

/* All of them; ends with NULL. */
enum { N_MADE_UP_WORKING = 7 }; /* the first, which do any product's steps */
extern const kiln_tensor_intrin *const made_up_intrins[];

#endif
