/* Importers of DFT (17, 20), STFT (17), the windows of Blackman, Hann and Hamming (17)
 * and MelWeightMatrix (17).
 *
 * The windows and the matrix are constants: their operands must be. */
#include "compiler/frontend/fourier.h"
#include "compiler/frontend/onnx/onnx_internal.h"

#include <inttypes.h>
#include <math.h>

enum { MAX_LENGTH = KILN_DFT_MAX_LENGTH }; /* of a window, too */
static const double pi = 3.14159265358979323846;

/* ---- DFT ---- */

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
    const bool is_inverse = kiln_onnx_attr_i(cx, n, "inverse", 0) != 0;
    const bool is_onesided = kiln_onnx_attr_i(cx, n, "onesided", 0) != 0;
    kiln_dft d;
    int axis;
    int64_t perm[KILN_MAX_RANK];
    KILN_TRY(kiln_onnx_need(cx, n, 0, "input", &x));
    const int rank = x->type.rank;
    KILN_TRY(dft_axis(cx, n, rank, &axis));
    int64_t length = x->type.dim[axis];
    if (is_inverse && is_onesided)
        length = 2 * (length - 1);
    if (operand != NULL)
        KILN_TRY(one_int(cx, operand, "dft_length", &length));
    KILN_TRY(kiln_dft_init(&d, length, x->type.dim[rank - 1], is_inverse, is_onesided,
                           kiln_onnx_err(cx)));
    for (int i = 0; i < rank; i++)
        perm[i] = i == axis ? rank - 2 : i == rank - 2 ? axis : i;
    x = kiln_compose_transpose(&c, x, perm); /* a swap undoes itself */
    x = kiln_compose_dft(&c, x, &d);
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
    const bool is_onesided = kiln_onnx_attr_i(cx, n, "onesided", 1) != 0;
    kiln_dft d;
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
    KILN_TRY(kiln_dft_init(&d, points, x->type.dim[2], false, is_onesided,
                           kiln_onnx_err(cx)));
    x = cut_frames(&c, x, frames, step, points);
    if (window != NULL) {
        window = kiln_compose_reshape(&c, window, 2, (int64_t[]){points, 1});
        x = kiln_compose_2(&c, &kiln_op_mul, x, window);
    }
    KILN_TRY(c.status);
    kiln_onnx_set(cx, n, 0, kiln_compose_dft(&c, x, &d));
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
