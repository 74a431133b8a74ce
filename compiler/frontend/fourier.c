/* Fourier transforms; see fourier.h. */
#include "compiler/frontend/fourier.h"

#include <inttypes.h>
#include <math.h>

static const double pi = 3.14159265358979323846;

kiln_status kiln_dft_init(kiln_dft *d, int64_t length, int64_t parts_in,
                          bool is_inverse, bool is_onesided, kiln_err *err) {
    *d = (kiln_dft){.length = length,
                    .parts_in = parts_in,
                    .parts_out = is_inverse && is_onesided ? 1 : 2,
                    .is_inverse = is_inverse,
                    .is_onesided = is_onesided};
    if (length < 1 || length > KILN_DFT_MAX_LENGTH || parts_in < 1 || parts_in > 2)
        return kiln_fail(err, KILN_ERR_LIMIT,
                         "a transform must have 1 to %d points of 1 or 2 parts, has "
                         "%" PRId64 " of %" PRId64,
                         (int)KILN_DFT_MAX_LENGTH, length, parts_in);
    const int64_t half = length / 2 + 1;
    d->n_in = is_onesided && is_inverse ? half : length;
    d->n_out = is_onesided && !is_inverse ? half : length;
    return KILN_OK;
}

/* Cosine and sine of a part num / den of a turn, at most a quarter: exact at its ends,
 * and the same numbers for angles that mirror each other. */
static double quarter_cos(double num, double den) {
    if (4 * num == den)
        return 0;
    return 8 * num > den ? sin(2 * pi * (den - 4 * num) / (4 * den))
                         : cos(2 * pi * num / den);
}

static double quarter_sin(double num, double den) {
    return 8 * num > den ? cos(2 * pi * (den - 4 * num) / (4 * den))
                         : sin(2 * pi * num / den);
}

/* Of j / n of a turn, 0 <= j < n. */
static void turn(int64_t j, int64_t n, double *cosine, double *sine) {
    const bool is_below = 2 * j > n;
    if (is_below)
        j = n - j;
    const bool is_left = 4 * j > n;
    const double num = (double)(is_left ? n - 2 * j : j);
    const double den = (double)(is_left ? 2 * n : n);
    const double x = quarter_cos(num, den), y = quarter_sin(num, den);
    *cosine = is_left ? -x : x;
    *sine = is_below ? -y : y;
}

/* The weight of part p of point n in part q of point k. */
static double dft_weight(const kiln_dft *d, int64_t n, int64_t p, int64_t k,
                         int64_t q) {
    double cosine, sine;
    turn(n * k % d->length, d->length, &cosine, &sine);
    const double sign = d->is_inverse ? 1 : -1;
    const double by = d->is_inverse ? 1 / (double)d->length : 1;
    if (p == q)
        return by * cosine;
    return by * sign * (q == 1 ? sine : -sine);
}

/* The inverse of a one-sided spectrum: points other than the first, and the middle one
 * of an even length, stand for their conjugates too. */
static double real_weight(const kiln_dft *d, int64_t n, int64_t p, int64_t k) {
    const bool is_single = n == 0 || 2 * n == d->length;
    if (p == 1 && is_single)
        return 0;
    return (is_single ? 1 : 2) * dft_weight(d, n, p, k, 0);
}

static kiln_value *dft_matrix(kiln_compose *c, kiln_dtype dtype, const kiln_dft *d) {
    const int64_t dim[] = {d->n_in * d->parts_in, d->n_out * d->parts_out};
    const bool is_real = d->is_inverse && d->is_onesided;
    const kiln_type t = kiln_type_make(dtype, 2, dim);
    if (c->status == KILN_OK)
        kiln_compose_fail(c, kiln_type_check(&t, c->cx->err));
    if (c->status == KILN_OK)
        kiln_compose_fail(c, kiln_import_spend(c->cx, 8 * kiln_type_elems(&t)));
    if (c->status != KILN_OK)
        return kiln_import_scalar(c->cx, dtype, 0);
    double *const v = kiln_array(c->cx->arena, double, dim[0] * dim[1]);
    for (int64_t r = 0; r < dim[0]; r++)
        for (int64_t s = 0; s < dim[1]; s++) {
            const int64_t n = r / d->parts_in, p = r % d->parts_in;
            const int64_t k = s / d->parts_out, q = s % d->parts_out;
            v[r * dim[1] + s] =
                is_real ? real_weight(d, n, p, k) : dft_weight(d, n, p, k, q);
        }
    return kiln_compose_floats(c, dtype, 2, dim, v);
}

/* Cuts an axis, or fills it up with zeros, to `length`. */
static kiln_value *fit_axis(kiln_compose *c, kiln_value *x, int axis, int64_t length) {
    int64_t pads[2 * KILN_MAX_RANK] = {0};
    if (x->type.dim[axis] > length)
        return kiln_compose_slice(c, x, axis, 0, 1, length);
    pads[x->type.rank + axis] = length - x->type.dim[axis];
    return kiln_compose_pad(c, x, pads, 0);
}

kiln_value *kiln_compose_dft(kiln_compose *c, kiln_value *x, const kiln_dft *d) {
    const int last = x->type.rank - 1;
    int64_t dim[KILN_MAX_RANK] = {0};
    x = fit_axis(c, x, last - 1, d->n_in);
    for (int i = 0; i < last - 1; i++)
        dim[i] = x->type.dim[i];
    dim[last - 1] = d->n_in * d->parts_in;
    x = kiln_compose_reshape(c, x, last, dim);
    const kiln_dtype dtype = x->type.dtype;
    const kiln_dtype wide = dtype == KILN_F64 ? KILN_F64 : KILN_F32;
    x = kiln_compose_cast(c, x, wide);
    x = kiln_compose_2(c, &kiln_op_matmul, x, dft_matrix(c, wide, d));
    x = kiln_compose_cast(c, x, dtype);
    dim[last - 1] = d->n_out;
    dim[last] = d->parts_out;
    return kiln_compose_reshape(c, x, last + 1, dim);
}

/* The axes in front of the parts exchanged. */
static kiln_value *swap_axes(kiln_compose *c, kiln_value *x) {
    const int rank = x->type.rank;
    int64_t perm[KILN_MAX_RANK];
    for (int i = 0; i < rank; i++)
        perm[i] = i == rank - 3 ? rank - 2 : i == rank - 2 ? rank - 3 : i;
    return kiln_compose_transpose(c, x, perm);
}

kiln_value *kiln_compose_rfft_2d(kiln_compose *c, kiln_value *x,
                                 const int64_t size[2]) {
    kiln_dft d;
    KILN_ASSERT(c->status != KILN_OK || x->type.rank >= 3, "a transform of rank %d",
                x->type.rank);
    kiln_compose_fail(c, kiln_dft_init(&d, size[1], 1, false, true, c->cx->err));
    if (c->status != KILN_OK)
        return x;
    x = kiln_compose_dft(c, x, &d);
    if (size[0] == 1 && c->status == KILN_OK && x->type.dim[x->type.rank - 3] == 1)
        return x;
    kiln_compose_fail(c, kiln_dft_init(&d, size[0], 2, false, false, c->cx->err));
    if (c->status != KILN_OK)
        return x;
    return swap_axes(c, kiln_compose_dft(c, swap_axes(c, x), &d));
}

/* ---- pairs -------------------------------------------------------------------------- */

kiln_value *kiln_compose_part(kiln_compose *c, kiln_value *x, int part) {
    const int last = x->type.rank - 1;
    const kiln_type t = x->type;
    x = kiln_compose_slice(c, x, last, part, 1, 1);
    return kiln_compose_reshape(c, x, last, t.dim);
}

kiln_value *kiln_compose_pairs(kiln_compose *c, kiln_value *real, kiln_value *imag) {
    kiln_value *part[] = {real, imag};
    const int rank = real->type.rank;
    int64_t dim[KILN_MAX_RANK];
    if (c->status == KILN_OK && rank == KILN_MAX_RANK)
        kiln_compose_fail(c, kiln_fail(c->cx->err, KILN_ERR_LIMIT,
                                       "complex numbers of rank %d; below %d", rank,
                                       KILN_MAX_RANK));
    if (c->status != KILN_OK)
        return real;
    for (int i = 0; i < rank; i++)
        dim[i] = real->type.dim[i];
    dim[rank] = 1;
    for (int i = 0; i < 2; i++)
        part[i] = kiln_compose_reshape(c, part[i], rank + 1, dim);
    const kiln_attr_arg axis = kiln_arg_int("axis", rank);
    return kiln_compose_op(c, &kiln_op_concat, part, 2, &axis, 1);
}

kiln_value *kiln_compose_complex_abs(kiln_compose *c, kiln_value *x) {
    const int64_t last = x->type.rank - 1;
    return kiln_compose_reduce(c, &kiln_op_reduce_l2, x, &last, 1, false);
}
