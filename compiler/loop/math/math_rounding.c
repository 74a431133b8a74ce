/* Exact functions: rounding, signs, NaN; and what is one operation of others. */
#include "compiler/loop/formula.h"

/* |x| + 2^mantissa - 2^mantissa rounds to nearest even; from 2^mantissa on every number
 * is whole. */
val kiln_math_round(const num *k, kiln_intrin how, val x) {
    const val big = real(k, k->is_f64 ? 0x1p52 : 0x1p23);
    const val a = size_of(k, x), zero = real(k, 0), one = real(k, 1);
    val r = pick(k, less(k, a, big), sub(k, add(k, a, big), big), a);
    if (how == KILN_INTRIN_trunc) {
        r = sub(k, r, pick(k, less(k, a, r), one, zero));
        return with_sign(k, r, x);
    }
    r = with_sign(k, r, x);
    if (how == KILN_INTRIN_floor)
        r = sub(k, r, pick(k, less(k, x, r), one, zero));
    else if (how == KILN_INTRIN_ceil)
        r = add(k, r, pick(k, less(k, r, x), one, zero));
    return with_sign(k, r, x);
}

val kiln_expand_rounding(kiln_formula *f, kiln_intrin i, const val *arg) {
    const num k = num_of(f, arg[0]);
    return kiln_math_round(&k, i, arg[0]);
}

val kiln_expand_same_int(kiln_formula *f, kiln_intrin i, const val *arg) {
    (void)f;
    (void)i;
    return arg[0];
}

val kiln_expand_abs(kiln_formula *f, kiln_intrin i, const val *arg) {
    const num k = num_of(f, arg[0]);
    (void)i;
    return size_of(&k, arg[0]);
}

/* The smallest wraps. */
val kiln_expand_abs_int(kiln_formula *f, kiln_intrin i, const val *arg) {
    const val zero = kiln_x_int(f->arena, arg[0]->dtype, 0);
    (void)i;
    if (!kiln_dtype_get(arg[0]->dtype)->is_signed)
        return arg[0];
    return kiln_x_select(f->arena, kiln_x_less(f->arena, arg[0], zero),
                         kiln_x_sub(f->arena, zero, arg[0]), arg[0]);
}

val kiln_expand_copysign(kiln_formula *f, kiln_intrin i, const val *arg) {
    const num k = num_of(f, arg[0]);
    (void)i;
    return with_sign(&k, arg[0], arg[1]);
}

val kiln_expand_isnan(kiln_formula *f, kiln_intrin i, const val *arg) {
    (void)i;
    return kiln_x_binary(f->arena, KILN_EXPR_NE, arg[0], arg[0]);
}

val kiln_expand_isnan_int(kiln_formula *f, kiln_intrin i, const val *arg) {
    (void)i;
    return kiln_x_broadcast(f->arena, kiln_x_int(f->arena, KILN_BOOL, 0),
                            arg[0]->lanes);
}

val kiln_expand_rsqrt(kiln_formula *f, kiln_intrin i, const val *arg) {
    const num k = num_of(f, arg[0]);
    (void)i;
    return divide(&k, real(&k, 1), root(&k, arg[0]));
}

/* Exact product and one addition in double; for double there is nothing wider. */
val kiln_expand_fma(kiln_formula *f, kiln_intrin i, const val *arg) {
    const num k = num_of(f, arg[0]);
    val wide[3];
    (void)i;
    if (k.is_f64)
        return kiln_formula_fail(f,
                                 "intrinsic 'fma' of f64 needs an fma instruction, "
                                 "which profile '%s' has not",
                                 f->natives->name);
    for (int j = 0; j < 3; j++)
        wide[j] = cast(&k, KILN_F64, arg[j]);
    return cast(&k, KILN_F32, add(&k, mul(&k, wide[0], wide[1]), wide[2]));
}
