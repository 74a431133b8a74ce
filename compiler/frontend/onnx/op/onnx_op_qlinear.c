/* Importers of products of quantised tensors: MatMulInteger (10), ConvInteger (10),
 * QLinearMatMul (10, 21), QLinearConv (10). Composed: operands as i32 less their zero
 * points are multiplied exactly (sums wrap in i32, as ONNX allows), the QLinear forms
 * then scale the sums in f32 and quantise them.
 */
#include <inttypes.h>

#include "compiler/frontend/onnx/ms.h"
#include "compiler/frontend/onnx/spatial_attrs.h"

enum { KILN_DT_8BIT = KILN_DT(KILN_I8) | KILN_DT(KILN_U8) };

/* Which axis of an operand a list of scales or zero points runs along, from its end;
 * ONNX gives the list without the axes behind it. */
typedef enum along { ALONG_NONE, ALONG_COLUMNS, ALONG_ROWS, ALONG_FILTERS } along;

/* One quantised operand. */
typedef struct operand {
    kiln_value *x, *zero, *scale; /* scale: NULL in the integer forms */
} operand;

/* A list of parameters in a shape that broadcasts against an operand of `rank` axes:
 * scalars and what already has several axes stay as they are. */
static kiln_status align(kiln_onnx_cx *cx, const kiln_onnx_node *n, const char *name,
                         along how, int rank, kiln_value **v) {
    const int64_t count = kiln_type_elems(&(*v)->type);
    if ((*v)->type.rank == 1 && count == 1)
        return kiln_onnx_reshape(cx, n, *v, 0, NULL, v);
    if (how == ALONG_NONE && (*v)->type.rank != 0)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "'%s' must have 1 element, has %" PRId64, name, count);
    if ((*v)->type.rank != 1)
        return KILN_OK;
    if (rank < 2)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "'%s' must have 1 element for operands of rank 1, has "
                              "%" PRId64,
                              name, count);
    if (how == ALONG_COLUMNS)
        return KILN_OK;
    int64_t dim[KILN_MAX_RANK] = {count};
    const int own = how == ALONG_ROWS ? 2 : rank;
    for (int i = 1; i < own; i++)
        dim[i] = 1;
    return kiln_onnx_reshape(cx, n, *v, own, dim, v);
}

/* i32 of x - zero. */
static kiln_status center(kiln_onnx_cx *cx, const kiln_onnx_node *n, const char *name,
                          along how, operand *o) {
    if (!kiln_dtype_is_in(o->x->type.dtype, KILN_DT_8BIT))
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE, "input '%s' must be i8 or u8, is %s",
                              name, kiln_dtype_name(o->x->type.dtype));
    if (o->zero != NULL && o->zero->type.dtype != o->x->type.dtype)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "the zero point of '%s' must be %s as it is, is %s", name,
                              kiln_dtype_name(o->x->type.dtype),
                              kiln_dtype_name(o->zero->type.dtype));
    const int rank = o->x->type.rank;
    KILN_TRY(kiln_onnx_cast(cx, n, o->x, KILN_I32, &o->x));
    if (o->zero == NULL)
        return KILN_OK;
    KILN_TRY(align(cx, n, name, how, rank, &o->zero));
    KILN_TRY(kiln_onnx_cast(cx, n, o->zero, KILN_I32, &o->zero));
    const kiln_type before = o->x->type;
    KILN_TRY(kiln_onnx_emit2(cx, n, &kiln_op_sub, o->x, o->zero, &o->x));
    if (!kiln_type_same_shape(&before, &o->x->type))
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "the zero point must broadcast to '%s', must not grow it",
                              name);
    return KILN_OK;
}

/* Scales of both operands, aligned with the sums, as one f32 factor. */
static kiln_status factor(kiln_onnx_cx *cx, const kiln_onnx_node *n, const operand *o,
                          along first, along second, int rank, kiln_value **out) {
    kiln_value *a, *b;
    KILN_TRY(kiln_onnx_cast(cx, n, o[0].scale, KILN_F32, &a));
    KILN_TRY(kiln_onnx_cast(cx, n, o[1].scale, KILN_F32, &b));
    KILN_TRY(align(cx, n, "scale of the first operand", first, rank, &a));
    KILN_TRY(align(cx, n, "scale of the second operand", second, rank, &b));
    return kiln_onnx_emit2(cx, n, &kiln_op_mul, a, b, out);
}

/* Sums times factor, quantised by a scale and zero point of the whole result: the
 * factors become one before the sums are multiplied, as ONNX Runtime's kernels do, so
 * that both round the same numbers. */
static kiln_value *requantize_whole(kiln_compose *c, kiln_value *sums, kiln_value *by,
                                    const kiln_ms_quant *y) {
    by = kiln_compose_2(c, &kiln_op_div, by, y->scale);
    sums = kiln_compose_2(c, &kiln_op_mul, kiln_compose_cast(c, sums, KILN_F32), by);
    return kiln_ms_steps(c, sums, y, KILN_U8);
}

/* The same where each row or channel of the result has its own. */
static kiln_value *requantize_axis(kiln_compose *c, kiln_value *sums, kiln_value *by,
                                   const kiln_ms_quant *y, int64_t axis) {
    sums = kiln_compose_2(c, &kiln_op_mul, kiln_compose_cast(c, sums, KILN_F32), by);
    kiln_value *const in[] = {sums, y->scale, y->zero};
    const kiln_attr_arg args[] = {kiln_arg_int("axis", axis),
                                  kiln_arg_dtype("dtype", y->zero->type.dtype)};
    return kiln_compose_op(c, &kiln_op_quantize_linear, in, 3, args, 2);
}

/* By inputs `at` (scale) and `at` + 1 (zero point). */
static kiln_status requantize(kiln_compose *c, kiln_value *sums, kiln_value *by, int at,
                              int64_t axis, kiln_value **out) {
    kiln_ms_quant y;
    const kiln_type before = sums->type;
    KILN_TRY(kiln_onnx_need(kiln_onnx_of(c->cx), c->site, at, "y_scale", &y.scale));
    KILN_TRY(
        kiln_onnx_need(kiln_onnx_of(c->cx), c->site, at + 1, "y_zero_point", &y.zero));
    y.scale = kiln_ms_single(c, kiln_compose_cast(c, y.scale, KILN_F32));
    y.zero = kiln_ms_single(c, y.zero);
    const bool is_whole = y.scale->type.rank == 0 && y.zero->type.rank == 0;
    *out = is_whole ? requantize_whole(c, sums, by, &y)
                    : requantize_axis(c, sums, by, &y, axis);
    if (c->status == KILN_OK && !kiln_type_same_shape(&before, &(*out)->type))
        return kiln_fail(c->cx->err, KILN_ERR_SHAPE,
                         "scales must broadcast to the product, must not grow it");
    return c->status;
}

/* Two operands, each with scale and zero point behind it. */
static kiln_status read_scaled(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                               const char *const *names, operand *o) {
    kiln_value **const part[] = {&o[0].x, &o[0].scale, &o[0].zero,
                                 &o[1].x, &o[1].scale, &o[1].zero};
    for (int i = 0; i < 6; i++)
        KILN_TRY(kiln_onnx_need(cx, n, i, names[i], part[i]));
    return KILN_OK;
}

/* ---- matrix products ---- */

static kiln_status multiply(kiln_onnx_cx *cx, const kiln_onnx_node *n, operand *o,
                            const char *first, const char *second, kiln_value **out) {
    KILN_TRY(center(cx, n, first, ALONG_ROWS, &o[0]));
    KILN_TRY(center(cx, n, second, ALONG_COLUMNS, &o[1]));
    return kiln_onnx_emit2(cx, n, &kiln_op_matmul, o[0].x, o[1].x, out);
}

kiln_status kiln_onnx_import_matmul_integer(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    operand o[2] = {{.zero = kiln_onnx_in(cx, n, 2)}, {.zero = kiln_onnx_in(cx, n, 3)}};
    kiln_value *y;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "A", &o[0].x));
    KILN_TRY(kiln_onnx_need(cx, n, 1, "B", &o[1].x));
    KILN_TRY(multiply(cx, n, o, "A", "B", &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}

kiln_status kiln_onnx_import_qlinear_matmul(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    static const char *const names[] = {"a", "a_scale", "a_zero_point",
                                        "b", "b_scale", "b_zero_point"};
    kiln_compose c = kiln_onnx_compose(cx, n);
    operand o[2];
    kiln_value *y, *by;
    KILN_TRY(read_scaled(cx, n, names, o));
    const int lesser =
        o[0].x->type.rank < o[1].x->type.rank ? o[0].x->type.rank : o[1].x->type.rank;
    KILN_TRY(multiply(cx, n, o, "a", "b", &y));
    KILN_TRY(factor(cx, n, o, ALONG_ROWS, ALONG_COLUMNS, lesser, &by));
    KILN_TRY(requantize(&c, y, by, 6, -2, &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}

/* ---- convolutions ---- */

static kiln_status convolve(kiln_onnx_cx *cx, const kiln_onnx_node *n, operand *o,
                            kiln_value *bias, kiln_value **out) {
    kiln_spatial s;
    kiln_attr_arg args[KILN_SPATIAL_ARGS + 1];
    if (o[1].x->type.rank != o[0].x->type.rank)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "input 'w' must have the rank of 'x', %d, has %d",
                              o[0].x->type.rank, o[1].x->type.rank);
    KILN_TRY(kiln_onnx_read_spatial(cx, n, o[0].x, o[1].x->type.dim + 2, &s));
    if (s.is_same)
        kiln_spatial_same_pads(&s);
    kiln_spatial_args(&s, args);
    args[KILN_SPATIAL_ARGS] =
        kiln_arg_int("groups", kiln_onnx_attr_i(cx, n, "group", 1));
    KILN_TRY(center(cx, n, "x", ALONG_NONE, &o[0]));
    KILN_TRY(center(cx, n, "w", ALONG_FILTERS, &o[1]));
    return kiln_onnx_emit(cx, n, &kiln_op_conv, (kiln_value *[]){o[0].x, o[1].x, bias},
                          3, args, KILN_SPATIAL_ARGS + 1, 1, out);
}

kiln_status kiln_onnx_import_conv_integer(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    operand o[2] = {{.zero = kiln_onnx_in(cx, n, 2)}, {.zero = kiln_onnx_in(cx, n, 3)}};
    kiln_value *y;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "x", &o[0].x));
    KILN_TRY(kiln_onnx_need(cx, n, 1, "w", &o[1].x));
    KILN_TRY(convolve(cx, n, o, NULL, &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}

/* ONNX Runtime's own form may have x and y with their channels last. */
static bool is_channels_last(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    return kiln_onnx_row(cx)->domain[0] != '\0' &&
           kiln_onnx_attr_i(cx, n, "channels_last", 0) != 0;
}

/* The bias is i32 with scale x_scale * w_scale and zero point 0: it joins the sums. */
kiln_status kiln_onnx_import_qlinear_conv(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    const bool is_last = is_channels_last(cx, n);
    static const char *const names[] = {"x", "x_scale", "x_zero_point",
                                        "w", "w_scale", "w_zero_point"};
    operand o[2];
    kiln_value *y, *by, *scale = NULL;
    KILN_TRY(read_scaled(cx, n, names, o));
    if (is_last)
        o[0].x = kiln_ms_channels_first(&c, o[0].x);
    KILN_TRY(c.status);
    KILN_TRY(convolve(cx, n, o, kiln_onnx_in(cx, n, 8), &y));
    /* One scale per filter is one per channel of the sums, [1, M, 1, ...]. */
    const int rank = y->type.rank;
    KILN_TRY(factor(cx, n, o, ALONG_NONE, ALONG_FILTERS, rank, &scale));
    by = scale;
    if (scale->type.rank > 0) {
        int64_t dim[KILN_MAX_RANK] = {1, kiln_type_elems(&scale->type)};
        for (int i = 2; i < rank; i++)
            dim[i] = 1;
        KILN_TRY(kiln_onnx_reshape(cx, n, scale, rank, dim, &by));
    }
    KILN_TRY(requantize(&c, y, by, 6, 1, &y));
    kiln_onnx_set(cx, n, 0, is_last ? kiln_ms_channels_last(&c, y) : y);
    return c.status;
}
