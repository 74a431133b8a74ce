/* Sliding windows; see op_window.h. Output sizes: ONNX Conv-22, MaxPool-22,
 * AveragePool-22. */
#include "compiler/op/op_window.h"

#include <inttypes.h>

#include "compiler/op/op_common.h"

/* Held below 2^31 so that products of two of them stay inside int64_t. */
static kiln_status check_value(const char *what, int64_t v, int64_t min,
                               kiln_err *err) {
    if (v < min)
        return kiln_fail(err, KILN_ERR_SHAPE, "%s must be >= %" PRId64 ", is %" PRId64,
                         what, min, v);
    if (v > INT32_MAX)
        return kiln_fail(err, KILN_ERR_LIMIT, "%s must be at most %d, is %" PRId64,
                         what, INT32_MAX, v);
    return KILN_OK;
}

static kiln_status read_list(const char *what, const kiln_attr *attr, int n,
                             int64_t min, int64_t otherwise, int64_t *out,
                             kiln_err *err) {
    if (attr->n != 0 && attr->n != (size_t)n)
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "attribute '%s' must have %d values, has %zu", what, n,
                         attr->n);
    for (int i = 0; i < n; i++) {
        out[i] = attr->n == 0 ? otherwise : attr->ints[i];
        KILN_TRY(check_value(what, out[i], min, err));
    }
    return KILN_OK;
}

kiln_status kiln_window_read(kiln_window *w, int n, const int64_t *in,
                             const int64_t *kernel, const kiln_attr *attr,
                             kiln_err *err) {
    *w = (kiln_window){.n = n};
    if (n < 1 || n > KILN_MAX_SPATIAL)
        return kiln_fail(
            err, KILN_ERR_SHAPE,
            "the input must have 1 to %d spatial axes behind [N, C], has %d",
            (int)KILN_MAX_SPATIAL, n);
    for (int i = 0; i < n; i++) {
        w->in[i] = in[i];
        w->kernel[i] = kernel[i];
        KILN_TRY(check_value("kernel", kernel[i], 1, err));
    }
    KILN_TRY(read_list("strides", &attr[KILN_WINDOW_STRIDES], n, 1, 1, w->stride, err));
    KILN_TRY(read_list("dilations", &attr[KILN_WINDOW_DILATIONS], n, 1, 1, w->dilation,
                       err));
    int64_t pads[2 * KILN_MAX_SPATIAL];
    KILN_TRY(read_list("pads", &attr[KILN_WINDOW_PADS], 2 * n, 0, 0, pads, err));
    for (int i = 0; i < n; i++) {
        w->pad_begin[i] = pads[i];
        w->pad_end[i] = pads[n + i];
    }
    return KILN_OK;
}

int64_t kiln_window_extent(const kiln_window *w, int axis) {
    KILN_ASSERT(axis >= 0 && axis < w->n, "a window of %d axes has no axis %d", w->n,
                axis);
    return (w->kernel[axis] - 1) * w->dilation[axis] + 1;
}

kiln_status kiln_window_slide(kiln_window *w, bool ceil_mode, kiln_err *err) {
    KILN_ASSERT(w->n >= 1 && w->n <= KILN_MAX_SPATIAL, "a window of %d axes slides",
                w->n);
    for (int i = 0; i < w->n; i++) {
        const int64_t padded = w->in[i] + w->pad_begin[i] + w->pad_end[i];
        const int64_t room = padded - kiln_window_extent(w, i);
        /* Rounded up, a window that is cut off by less than a step is one. */
        const bool is_cut = ceil_mode && room < 0 && -room < w->stride[i];
        if (room < 0 && !is_cut)
            return kiln_fail(err, KILN_ERR_SHAPE,
                             "a window of %" PRId64
                             " must fit into spatial axis %d, which is %" PRId64
                             " with its padding",
                             kiln_window_extent(w, i), i, padded);
        w->out[i] = is_cut ? 1 : room / w->stride[i] + 1;
        if (!ceil_mode || is_cut || room % w->stride[i] == 0)
            continue;
        if (w->out[i] * w->stride[i] < w->in[i] + w->pad_begin[i])
            w->out[i]++;
    }
    return KILN_OK;
}

static int64_t product(int n, const int64_t *v) {
    int64_t p = 1;
    for (int i = 0; i < n; i++)
        p = kiln_mul_sat(p, v[i]);
    return p;
}

int64_t kiln_window_taps(const kiln_window *w) { return product(w->n, w->kernel); }

int64_t kiln_window_outs(const kiln_window *w) { return product(w->n, w->out); }

int64_t kiln_window_ins(const kiln_window *w) { return product(w->n, w->in); }

int64_t kiln_window_index(const kiln_window *w, const int64_t *out,
                          const int64_t *tap) {
    int64_t index = 0;
    for (int i = 0; i < w->n; i++) {
        const int64_t pos = kiln_window_pos(w, i, out[i], tap[i]);
        if (pos < 0 || pos >= w->in[i])
            return -1;
        index = index * w->in[i] + pos;
    }
    return index;
}

static int64_t clamp(int64_t v, int64_t lo, int64_t hi) {
    return v < lo ? lo : v > hi ? hi : v;
}

void kiln_window_range(const kiln_window *w, int axis, int64_t tap, int64_t *lo,
                       int64_t *hi) {
    KILN_ASSERT(axis >= 0 && axis < w->n && tap >= 0 && tap < w->kernel[axis],
                "tap %lld of axis %d", (long long)tap, axis);
    const int64_t stride = w->stride[axis];
    const int64_t first = kiln_window_pos(w, axis, 0, tap);
    const int64_t room = w->in[axis] - 1 - first; /* out * stride <= room */
    *lo = first >= 0 ? 0 : (-first + stride - 1) / stride;
    *hi = room < 0 ? 0 : room / stride + 1;
    *hi = clamp(*hi, 0, w->out[axis]);
    *lo = clamp(*lo, 0, *hi);
}

int64_t kiln_mul_sat(int64_t a, int64_t b) {
    const int64_t most = (int64_t)1 << 62;
    return a != 0 && b > most / a ? most : a * b;
}
