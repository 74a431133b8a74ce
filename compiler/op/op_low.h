/* Conversion of low-bit types in tensor expressions. A value of such a type is read as
 * the u8 or i8 that it is stored in; what its bits mean is computed with integers of 32
 * or 64 bits, so that the loop interpreter and every code generator do the same. */
#ifndef KILN_COMPILER_OP_OP_LOW_H
#define KILN_COMPILER_OP_OP_LOW_H

#include "compiler/op/op_compute.h"

/* The number that a code (u8) of a low-bit float is, in f32: exact. */
const kiln_expr *kiln_low_decode(kiln_arena *a, kiln_dtype from, const kiln_expr *code);
/* The code (u8) of a number or bool of any dtype: see kiln_low_from_f64. */
const kiln_expr *kiln_low_encode(kiln_arena *a, kiln_dtype to, const kiln_expr *x,
                                 bool saturate, kiln_low_round round);
/* A number or bool as an integer of 4 or 2 bits: floats towards zero and to i32 first,
 * then modulo 2^bits. */
const kiln_expr *kiln_low_wrap(kiln_arena *a, kiln_dtype to, const kiln_expr *x);
/* Input i of the node at `index`; low-bit floats as f32, others as they are stored. */
const kiln_expr *kiln_low_read(const kiln_compute_cx *cx, int i,
                               const kiln_expr *const *index);

#endif
