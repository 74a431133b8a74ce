/* Importers of Conv (1, 11, 22), ConvTranspose (1, 11, 22) and DeformConv (19, 22). */
#include <inttypes.h>

#include "compiler/frontend/onnx/onnx_internal.h"
#include "compiler/frontend/onnx/spatial_attrs.h"

enum { N_IN = 3 };

static kiln_status check_ranks(kiln_onnx_cx *cx, kiln_value *const *in) {
    if (in[1]->type.rank == in[0]->type.rank)
        return KILN_OK;
    return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                          "input 'W' must have the rank of 'X', %d, has %d",
                          in[0]->type.rank, in[1]->type.rank);
}

/* X, W and the optional bias; W has X's rank. */
static kiln_status read_inputs(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                               kiln_value **in) {
    KILN_TRY(kiln_onnx_need(cx, n, 0, "X", &in[0]));
    KILN_TRY(kiln_onnx_need(cx, n, 1, "W", &in[1]));
    in[2] = kiln_onnx_in(cx, n, 2);
    return check_ranks(cx, in);
}

kiln_status kiln_onnx_emit_conv(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                                kiln_value *const *in, kiln_value **out) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_spatial s;
    KILN_TRY(check_ranks(cx, in));
    KILN_TRY(kiln_onnx_read_spatial(cx, n, in[0], in[1]->type.dim + 2, &s));
    kiln_value *const y =
        kiln_compose_conv(&c, in, &s, kiln_onnx_attr_i(cx, n, "group", 1));
    if (c.status == KILN_OK)
        *out = y;
    return c.status;
}

kiln_status kiln_onnx_import_conv(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *in[N_IN], *y;
    KILN_TRY(read_inputs(cx, n, in));
    KILN_TRY(kiln_onnx_emit_conv(cx, n, in, &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}

/* Pads and output padding of one axis so that the output is `want` long. Where even no
 * padding is too short, the output grows at its end. */
static void fit(kiln_spatial *s, int axis, int64_t want, int64_t *extra) {
    const int64_t extent = (s->kernel[axis] - 1) * s->dilations[axis] + 1;
    const int64_t total = s->strides[axis] * (s->in[axis] - 1) + *extra + extent - want;
    const int64_t pad = total > 0 ? total : 0;
    s->pads[axis] = s->is_upper ? pad / 2 : pad - pad / 2;
    s->pads[s->n + axis] = pad - s->pads[axis];
    if (total < 0)
        *extra -= total;
}

/* output_padding, and the pads where output_shape or auto_pad decide them. */
static kiln_status resolve_output(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                                  kiln_spatial *s, int64_t *extra) {
    const int64_t *shape, *padding;
    const size_t n_padding = kiln_onnx_attr_ints(cx, n, "output_padding", &padding);
    size_t n_shape = kiln_onnx_attr_ints(cx, n, "output_shape", &shape);
    const size_t rank = (size_t)s->n;
    if (n_shape == rank + 2) { /* some exporters write [N, C] too */
        shape += 2;
        n_shape = rank;
    }
    if ((n_shape != 0 && n_shape != rank) || (n_padding != 0 && n_padding != rank))
        return kiln_onnx_fail(
            cx, KILN_ERR_SHAPE,
            "attributes 'output_shape' and 'output_padding' must have %d "
            "values, have %zu and %zu",
            s->n, n_shape, n_padding);
    for (int i = 0; i < s->n; i++) {
        extra[i] = n_padding == 0 ? 0 : padding[i];
        const int64_t want = n_shape != 0 ? shape[i] : s->in[i] * s->strides[i];
        if (extra[i] < 0 || extra[i] > INT32_MAX || want < 0 || want > KILN_MAX_ELEMS)
            return kiln_onnx_fail(
                cx, KILN_ERR_SHAPE,
                "the output must be 0 to %" PRId64
                " long and padded by 0 to %d on spatial axis %d, asked "
                "for are %" PRId64 " and %" PRId64,
                KILN_MAX_ELEMS, INT32_MAX, i, want, extra[i]);
        if (n_shape != 0 || s->is_same)
            fit(s, i, want, &extra[i]);
    }
    return KILN_OK;
}

kiln_status kiln_onnx_import_conv_transpose(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *in[N_IN], *y;
    kiln_spatial s;
    int64_t extra[KILN_MAX_SPATIAL];
    kiln_attr_arg args[KILN_SPATIAL_ARGS + 2];
    KILN_TRY(read_inputs(cx, n, in));
    KILN_TRY(kiln_onnx_read_spatial(cx, n, in[0], in[1]->type.dim + 2, &s));
    KILN_TRY(resolve_output(cx, n, &s, extra));
    kiln_spatial_args(&s, args);
    args[KILN_SPATIAL_ARGS] =
        kiln_arg_int("groups", kiln_onnx_attr_i(cx, n, "group", 1));
    args[KILN_SPATIAL_ARGS + 1] = kiln_arg_ints("output_padding", extra, (size_t)s.n);
    KILN_TRY(kiln_onnx_emit(cx, n, &kiln_op_conv_transpose, in, N_IN, args,
                            KILN_SPATIAL_ARGS + 2, 1, &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}

/* X, W, offset and what may be absent, bias and mask. */
static kiln_status read_deform(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                               kiln_value **in, int64_t *groups) {
    static const char *const name[] = {"X", "W", "offset"};
    for (int i = 0; i < 3; i++)
        KILN_TRY(kiln_onnx_need(cx, n, i, name[i], &in[i]));
    in[3] = kiln_onnx_in(cx, n, 3);
    in[4] = kiln_onnx_in(cx, n, 4);
    const kiln_type *x = &in[0]->type, *w = &in[1]->type;
    *groups = kiln_onnx_attr_i(cx, n, "group", 1);
    if (x->rank < 3 || w->rank != x->rank || *groups < 1 || x->dim[1] % *groups != 0 ||
        w->dim[0] % *groups != 0 || w->dim[1] != x->dim[1] / *groups)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "'X' and 'W' must have shapes [N, C, ...] and "
                              "[O, C / group, ...] with C and O divisible by 'group', "
                              "%" PRId64,
                              *groups);
    if (in[3] != NULL && (in[3]->type.rank != 1 || in[3]->type.dim[0] != w->dim[0]))
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "'B' must have %" PRId64 " elements, one for each row of "
                              "'W'",
                              w->dim[0]);
    return KILN_OK;
}

/* [O, C/G, taps...] times what the taps read, as matrices of each group. */
static kiln_value *deform_product(kiln_compose *c, kiln_value *w, kiln_value *patches,
                                  kiln_value *bias, int64_t groups) {
    const kiln_type t = patches->type;
    const int64_t rows = w->type.dim[0], terms = w->type.dim[1] * t.dim[2];
    int64_t out[KILN_MAX_RANK] = {t.dim[0], rows}, positions = 1;
    for (int i = 3; i < t.rank; i++) {
        out[i - 1] = t.dim[i];
        positions *= t.dim[i];
    }
    const int64_t left[] = {groups, rows / groups, terms};
    const int64_t right[] = {t.dim[0], groups, terms, positions};
    const int64_t ungrouped[] = {t.dim[0], terms, positions};
    const bool is_one = groups == 1;
    w = kiln_compose_reshape(c, w, is_one ? 2 : 3, is_one ? left + 1 : left);
    patches =
        kiln_compose_reshape(c, patches, is_one ? 3 : 4, is_one ? ungrouped : right);
    kiln_value *y = kiln_compose_2(c, &kiln_op_matmul, w, patches);
    y = kiln_compose_reshape(c, y, t.rank - 1, out);
    if (bias == NULL)
        return y;
    int64_t column[KILN_MAX_RANK] = {rows};
    for (int i = 1; i < t.rank - 2; i++)
        column[i] = 1;
    bias = kiln_compose_reshape(c, bias, t.rank - 2, column);
    return kiln_compose_2(c, &kiln_op_add, y, bias);
}

kiln_status kiln_onnx_import_deform_conv(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_value *in[5];
    kiln_spatial s;
    kiln_attr_arg args[KILN_SPATIAL_ARGS + 2];
    int64_t groups;
    KILN_TRY(read_deform(cx, n, in, &groups));
    KILN_TRY(kiln_onnx_read_spatial(cx, n, in[0], in[1]->type.dim + 2, &s));
    kiln_spatial_args(&s, args);
    args[KILN_SPATIAL_ARGS] = kiln_arg_ints("kernel", s.kernel, (size_t)s.n);
    args[KILN_SPATIAL_ARGS + 1] =
        kiln_arg_int("groups", kiln_onnx_attr_i(cx, n, "offset_group", 1));
    kiln_value *const from[] = {in[0], in[2], in[4]};
    kiln_value *patches =
        kiln_compose_op(&c, &kiln_op_deform_patches, from, in[4] == NULL ? 2 : 3, args,
                        KILN_SPATIAL_ARGS + 2);
    if (c.status == KILN_OK)
        kiln_onnx_set(cx, n, 0, deform_product(&c, in[1], patches, in[3], groups));
    return c.status;
}
