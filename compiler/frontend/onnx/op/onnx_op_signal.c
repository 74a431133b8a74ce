/* Importers of DFT (17, 20), STFT (17), the windows of Blackman, Hann and Hamming (17)
 * and MelWeightMatrix (17).
 *
 * A transform is a product with a constant matrix: y[k] = sum over n of x[n] e^(-2 pi i
 * n k / N), complex numbers as pairs; its inverse has e^(+...) / N. The windows and the
 * matrix are constants: their operands must be. */
#include "compiler/frontend/onnx/onnx_internal.h"

#include <inttypes.h>
#include <math.h>

enum { MAX_LENGTH = 1 << 20 }; /* of a transform or a window */
static const double pi = 3.14159265358979323846;

/* ---- DFT ---- */

typedef struct dft {
    int64_t length;              /* N */
    int64_t n_in, n_out;         /* points read and made */
    int64_t parts_in, parts_out; /* 1: real, 2: complex */
    bool is_inverse, is_onesided;
} dft;

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
static double dft_weight(const dft *d, int64_t n, int64_t p, int64_t k, int64_t q) {
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
static double real_weight(const dft *d, int64_t n, int64_t p, int64_t k) {
    const bool is_single = n == 0 || 2 * n == d->length;
    if (p == 1 && is_single)
        return 0;
    return (is_single ? 1 : 2) * dft_weight(d, n, p, k, 0);
}

static kiln_value *dft_matrix(kiln_compose *c, kiln_dtype dtype, const dft *d) {
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

/* Transforms the last axis but one of x; its last holds the parts. In f32 at
 * least. */
static kiln_value *transform(kiln_compose *c, kiln_value *x, const dft *d) {
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

static kiln_status make_dft(kiln_onnx_cx *cx, const kiln_value *x, int64_t length,
                            dft *d) {
    d->length = length;
    d->parts_in = x->type.dim[x->type.rank - 1];
    d->parts_out = d->is_inverse && d->is_onesided ? 1 : 2;
    if (length < 1 || length > MAX_LENGTH || d->parts_in < 1 || d->parts_in > 2)
        return kiln_onnx_fail(
            cx, KILN_ERR_LIMIT,
            "a transform must have 1 to %d points of 1 or 2 parts, has "
            "%" PRId64 " of %" PRId64,
            (int)MAX_LENGTH, length, d->parts_in);
    const int64_t half = length / 2 + 1;
    d->n_in = d->is_onesided && d->is_inverse ? half : length;
    d->n_out = d->is_onesided && !d->is_inverse ? half : length;
    return KILN_OK;
}

static kiln_status one_int(kiln_onnx_cx *cx, kiln_value *v, const char *name,
                           int64_t *out) {
    const int64_t *list;
    size_t count;
    KILN_TRY(kiln_onnx_const_ints(cx, v, name, &list, &count));
    if (count != 1)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "input '%s' must be one number, has %zu", name, count);
    *out = list[0];
    return KILN_OK;
}

/* The axis: an attribute before version 20, then an operand. */
static kiln_status dft_axis(kiln_onnx_cx *cx, const kiln_onnx_node *n, int rank,
                            int *axis) {
    const bool is_attr = kiln_onnx_version(cx) < 20;
    kiln_value *const operand = is_attr ? NULL : kiln_onnx_in(cx, n, 2);
    int64_t given = is_attr ? kiln_onnx_attr_i(cx, n, "axis", 1) : -2;
    if (operand != NULL)
        KILN_TRY(one_int(cx, operand, "axis", &given));
    KILN_TRY(kiln_axis_normalize(given, rank, axis, kiln_onnx_err(cx)));
    if (*axis == rank - 1)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "the axis must not be the last, which holds the parts");
    return KILN_OK;
}

kiln_status kiln_onnx_import_dft(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_value *x, *operand = kiln_onnx_in(cx, n, 1);
    dft d = {.is_inverse = kiln_onnx_attr_i(cx, n, "inverse", 0) != 0,
             .is_onesided = kiln_onnx_attr_i(cx, n, "onesided", 0) != 0};
    int axis;
    int64_t perm[KILN_MAX_RANK];
    KILN_TRY(kiln_onnx_need(cx, n, 0, "input", &x));
    const int rank = x->type.rank;
    KILN_TRY(dft_axis(cx, n, rank, &axis));
    int64_t length = x->type.dim[axis];
    if (d.is_inverse && d.is_onesided)
        length = 2 * (length - 1);
    if (operand != NULL)
        KILN_TRY(one_int(cx, operand, "dft_length", &length));
    KILN_TRY(make_dft(cx, x, length, &d));
    for (int i = 0; i < rank; i++)
        perm[i] = i == axis ? rank - 2 : i == rank - 2 ? axis : i;
    x = kiln_compose_transpose(&c, x, perm); /* a swap undoes itself */
    x = transform(&c, x, &d);
    kiln_onnx_set(cx, n, 0, kiln_compose_transpose(&c, x, perm));
    return c.status;
}

/* ---- STFT ---- */

/* Frames of a signal [B, length, parts]: [B, frames, points, parts]. */
static kiln_value *cut_frames(kiln_compose *c, kiln_value *x, int64_t frames,
                              int64_t step, int64_t points) {
    const int64_t dim[] = {frames, points};
    kiln_compose_fail(c, kiln_import_spend(c->cx, 8 * frames * points));
    if (c->status != KILN_OK)
        return x;
    int64_t *const v = kiln_array(c->cx->arena, int64_t, frames * points);
    for (int64_t i = 0; i < frames * points; i++)
        v[i] = i / points * step + i % points;
    return kiln_compose_axis(c, &kiln_op_gather, x, kiln_compose_ints(c, 2, dim, v), 1);
}

kiln_status kiln_onnx_import_stft(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_value *x, *operand, *window = kiln_onnx_in(cx, n, 2);
    dft d = {.is_onesided = kiln_onnx_attr_i(cx, n, "onesided", 1) != 0};
    int64_t step, points;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "signal", &x));
    KILN_TRY(kiln_onnx_need(cx, n, 1, "frame_step", &operand));
    KILN_TRY(one_int(cx, operand, "frame_step", &step));
    if (x->type.rank == 2) /* without the axis of parts: real */
        x = kiln_compose_reshape(&c, x, 3,
                                 (int64_t[]){x->type.dim[0], x->type.dim[1], 1});
    if (x->type.rank != 3 || (window != NULL && window->type.rank != 1))
        return kiln_onnx_fail(
            cx, KILN_ERR_SHAPE,
            "'signal' must have shape [B, length, parts] and 'window' "
            "rank 1");
    points = window != NULL ? window->type.dim[0] : x->type.dim[1];
    if (kiln_onnx_in(cx, n, 3) != NULL)
        KILN_TRY(one_int(cx, kiln_onnx_in(cx, n, 3), "frame_length", &points));
    if (step < 1 || points < 1 || points > x->type.dim[1] ||
        (window != NULL && window->type.dim[0] != points))
        return kiln_onnx_fail(
            cx, KILN_ERR_SHAPE,
            "'frame_step' must be >= 1 and 'frame_length' the size of "
            "the window and at most the %" PRId64 " points of the signal, are %" PRId64
            " and %" PRId64,
            x->type.dim[1], step, points);
    const int64_t frames = 1 + (x->type.dim[1] - points) / step;
    KILN_TRY(make_dft(cx, x, points, &d));
    x = cut_frames(&c, x, frames, step, points);
    if (window != NULL) {
        window = kiln_compose_reshape(&c, window, 2, (int64_t[]){points, 1});
        x = kiln_compose_2(&c, &kiln_op_mul, x, window);
    }
    KILN_TRY(c.status);
    kiln_onnx_set(cx, n, 0, transform(&c, x, &d));
    return c.status;
}

/* ---- windows ---- */

/* a - b cos(t) + c cos(2t) at t = 2 pi i / N, N one less where not periodic. */
static kiln_status window(kiln_onnx_cx *cx, const kiln_onnx_node *n, double a, double b,
                          double c2) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_value *operand;
    kiln_dtype dtype;
    int64_t size;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "size", &operand));
    KILN_TRY(one_int(cx, operand, "size", &size));
    KILN_TRY(kiln_onnx_dtype(kiln_onnx_attr_i(cx, n, "output_datatype", 1), &dtype,
                             kiln_onnx_err(cx)));
    if (size < 0 || size > MAX_LENGTH)
        return kiln_onnx_fail(cx, KILN_ERR_LIMIT,
                              "'size' must be in [0, %d], is %" PRId64, (int)MAX_LENGTH,
                              size);
    const bool is_periodic = kiln_onnx_attr_i(cx, n, "periodic", 1) != 0;
    const double period = (double)(is_periodic ? size : size - 1);
    KILN_TRY(kiln_onnx_spend(cx, 8 * size));
    double *const v = kiln_array(kiln_onnx_arena(cx), double, size);
    for (int64_t i = 0; i < size; i++) {
        const double t = period > 0 ? 2 * pi * (double)i / period : pi;
        v[i] = a - b * cos(t) + c2 * cos(2 * t);
    }
    const kiln_dtype made = kiln_dtype_is_float(dtype) ? dtype : KILN_F64;
    kiln_value *const y = kiln_compose_floats(&c, made, 1, &size, v);
    kiln_onnx_set(cx, n, 0, kiln_compose_cast(&c, y, dtype));
    return c.status;
}

kiln_status kiln_onnx_import_blackman_window(kiln_onnx_cx *cx,
                                             const kiln_onnx_node *n) {
    return window(cx, n, 0.42, 0.5, 0.08);
}

kiln_status kiln_onnx_import_hann_window(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    return window(cx, n, 0.5, 0.5, 0);
}

kiln_status kiln_onnx_import_hamming_window(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    return window(cx, n, 25.0 / 46.0, 21.0 / 46.0, 0);
}

/* ---- MelWeightMatrix ---- */

typedef struct mel {
    int64_t bins, dft_length, sample_rate, rows;
    double low, high; /* Hz */
} mel;

static kiln_status read_mel(kiln_onnx_cx *cx, const kiln_onnx_node *n, mel *m) {
    static const char *const names[] = {"num_mel_bins", "dft_length", "sample_rate",
                                        "lower_edge_hertz", "upper_edge_hertz"};
    double v[5];
    for (int i = 0; i < 5; i++) {
        kiln_value *operand;
        const double *list;
        size_t count;
        KILN_TRY(kiln_onnx_need(cx, n, i, names[i], &operand));
        KILN_TRY(kiln_onnx_const_floats(cx, operand, names[i], &list, &count));
        if (count != 1 || !(list[0] >= 0 && list[0] <= MAX_LENGTH))
            return kiln_onnx_fail(cx, KILN_ERR_LIMIT,
                                  "input '%s' must be one number in [0, %d]", names[i],
                                  (int)MAX_LENGTH);
        v[i] = list[0];
    }
    *m = (mel){.bins = (int64_t)v[0],
               .dft_length = (int64_t)v[1],
               .sample_rate = (int64_t)v[2],
               .low = v[3],
               .high = v[4]};
    m->rows = m->dft_length / 2 + 1;
    if (m->sample_rate < 1 || !(m->low <= m->high && 2 * m->high <= v[2]))
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "the edges must be in order and at most half of "
                              "'sample_rate' %" PRId64 ", are %g and %g",
                              m->sample_rate, m->low, m->high);
    return KILN_OK;
}

/* The row of the spectrum at corner i of the triangles, evenly spaced on the mel scale:
 * 2595 log10(1 + f / 700). */
static int64_t mel_corner(const mel *m, int64_t i) {
    const double low = 2595 * log10(1 + m->low / 700);
    const double high = 2595 * log10(1 + m->high / 700);
    const double at = low + (double)i * (high - low) / (double)(m->bins + 2);
    const double hertz = 700 * (pow(10, at / 2595) - 1);
    const double row =
        floor((double)(m->dft_length + 1) * hertz / (double)m->sample_rate);
    return row < 0 ? 0 : row >= (double)m->rows ? m->rows - 1 : (int64_t)row;
}

/* A triangle that rises from `left` to `mid` and falls to `right`. */
static void put_triangle(const mel *m, int64_t bin, double *v) {
    const int64_t left = mel_corner(m, bin), mid = mel_corner(m, bin + 1);
    const int64_t right = mel_corner(m, bin + 2);
    for (int64_t j = left; j <= mid; j++)
        v[j * m->bins + bin] =
            mid == left ? 1 : (double)(j - left) / (double)(mid - left);
    for (int64_t j = mid; j < right; j++)
        v[j * m->bins + bin] = (double)(right - j) / (double)(right - mid);
}

kiln_status kiln_onnx_import_mel_weight_matrix(kiln_onnx_cx *cx,
                                               const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_dtype dtype;
    mel m;
    KILN_TRY(read_mel(cx, n, &m));
    KILN_TRY(kiln_onnx_dtype(kiln_onnx_attr_i(cx, n, "output_datatype", 1), &dtype,
                             kiln_onnx_err(cx)));
    const int64_t dim[] = {m.rows, m.bins};
    KILN_TRY(kiln_onnx_spend(cx, 8 * m.rows * m.bins));
    double *const v = kiln_array(kiln_onnx_arena(cx), double, m.rows *m.bins);
    for (int64_t i = 0; i < m.rows * m.bins; i++)
        v[i] = 0;
    for (int64_t bin = 0; bin < m.bins; bin++)
        put_triangle(&m, bin, v);
    const kiln_dtype made = kiln_dtype_is_float(dtype) ? dtype : KILN_F64;
    kiln_value *const y = kiln_compose_floats(&c, made, 2, dim, v);
    kiln_onnx_set(cx, n, 0, kiln_compose_cast(&c, y, dtype));
    return c.status;
}
