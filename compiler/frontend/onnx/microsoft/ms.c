/* What the importers of com.microsoft share: layouts, activations, quantised values. */
#include "compiler/frontend/onnx/ms.h"

#include <string.h>

static kiln_value *turn(kiln_compose *c, kiln_value *x, int from, int to) {
    int64_t perm[KILN_MAX_RANK];
    const int rank = x->type.rank;
    int next = 0;
    if (c->status != KILN_OK || rank < 2)
        return x;
    KILN_ASSERT(from >= 0 && from < rank && to >= 0 && to < rank,
                "axis %d of rank %d becomes axis %d", from, rank, to);
    for (int i = 0; i < rank; i++) {
        next += next == from;
        perm[i] = i == to ? from : next++;
    }
    return kiln_compose_transpose(c, x, perm);
}

kiln_value *kiln_ms_channels_first(kiln_compose *c, kiln_value *x) {
    return turn(c, x, x->type.rank - 1, 1);
}

kiln_value *kiln_ms_channels_last(kiln_compose *c, kiln_value *x) {
    return turn(c, x, 1, x->type.rank - 1);
}

kiln_value *kiln_ms_add(kiln_compose *c, kiln_value *x, kiln_value *bias) {
    const kiln_type before = x->type;
    if (bias == NULL)
        return x;
    x = kiln_compose_2(c, &kiln_op_add, x, bias);
    if (c->status == KILN_OK && !kiln_type_same_shape(&before, &x->type))
        kiln_compose_fail(
            c, kiln_fail(c->cx->err, KILN_ERR_SHAPE,
                         "what is added to %s must broadcast to it, must not grow "
                         "it to %s",
                         kiln_type_text(c->cx->arena, &before),
                         kiln_type_text(c->cx->arena, &x->type)));
    return x;
}

kiln_value *kiln_ms_gelu(kiln_compose *c, kiln_value *x, const char *approximate) {
    KILN_ASSERT(approximate != NULL, "a gelu of no kind");
    const kiln_attr_arg arg = kiln_arg_word("approximate", approximate);
    return kiln_compose_op(c, &kiln_op_gelu, &x, 1, &arg, 1);
}

/* ---- activations ---- */

enum { MAX_PARAMS = 2 };

/* Parameters are the operator's float attributes, in their order. */
static const struct {
    const char *word;
    const kiln_op_def *op;
} activations[] = {
    {"Relu", &kiln_op_relu},
    {"Tanh", &kiln_op_tanh},
    {"Sigmoid", &kiln_op_sigmoid},
    {"LeakyRelu", &kiln_op_leaky_relu},
    {"Clip", &kiln_op_clip},
    {"HardSigmoid", &kiln_op_hard_sigmoid},
    {"HardSwish", &kiln_op_hard_swish},
    {"Elu", &kiln_op_elu},
    {"Selu", &kiln_op_selu},
    {"Softplus", &kiln_op_softplus},
    {"Softsign", &kiln_op_softsign},
    {"ThresholdedRelu", &kiln_op_thresholded_relu},
    {"Gelu", &kiln_op_gelu},
};

static size_t float_attrs(const kiln_op_def *op, const char **names) {
    size_t n = 0;
    for (size_t i = 0; i < op->n_attr && n < MAX_PARAMS; i++)
        if (op->attr[i].kind == KILN_ATTR_FLOAT)
            names[n++] = op->attr[i].name;
    return n;
}

/* Values for the operator's attributes; those not given keep their defaults. */
static kiln_status read_params(kiln_compose *c, const char *list, const char **names,
                               size_t *n, kiln_attr_arg *args) {
    const double *given = NULL;
    size_t n_args = 0;
    if (list != NULL) {
        n_args = kiln_onnx_attr_floats(kiln_onnx_of(c->cx), c->site, list, &given);
        if (n_args > *n)
            return kiln_fail(c->cx->err, KILN_ERR_SHAPE,
                             "attribute '%s' must have at most %zu values for this "
                             "activation, has %zu",
                             list, *n, n_args);
        for (size_t i = 0; i < n_args; i++)
            args[i] = kiln_arg_float(names[i], given[i]);
    } else {
        for (size_t i = 0; i < *n; i++) {
            const char *const attr =
                kiln_format(c->cx->arena, "activation_%s", names[i]);
            if (kiln_onnx_has_attr(c->site, attr))
                args[n_args++] = kiln_arg_float(
                    names[i], kiln_onnx_attr_f(kiln_onnx_of(c->cx), c->site, attr, 0));
        }
    }
    *n = n_args;
    return KILN_OK;
}

kiln_status kiln_ms_activate(kiln_compose *c, const char *list, kiln_value **y) {
    const kiln_str word =
        kiln_onnx_attr_s(kiln_onnx_of(c->cx), c->site, "activation", "");
    const char *names[MAX_PARAMS];
    kiln_attr_arg args[MAX_PARAMS];
    const kiln_op_def *op = NULL;
    if (word.n == 0)
        return c->status;
    for (size_t i = 0; i < sizeof activations / sizeof activations[0]; i++)
        if (kiln_str_is(word, activations[i].word))
            op = activations[i].op;
    if (op == NULL)
        return kiln_fail(c->cx->err, KILN_ERR_UNSUPPORTED,
                         "activation '%s' is not read; save the model before ONNX "
                         "Runtime optimised it",
                         kiln_str_printable(c->cx->arena, word, 40));
    size_t n = float_attrs(op, names);
    KILN_TRY(read_params(c, list, names, &n, args));
    *y = kiln_compose_op(c, op, y, 1, args, n);
    return c->status;
}

/* ---- quantised tensors ---- */

enum {
    KILN_DT_STEPS =
        KILN_DT(KILN_I8) | KILN_DT(KILN_U8) | KILN_DT(KILN_I16) | KILN_DT(KILN_U16)
};

/* Scales and zero points: one may be a list of one where the other is a scalar. */
kiln_value *kiln_ms_single(kiln_compose *c, kiln_value *v) {
    return v != NULL && kiln_type_elems(&v->type) == 1
               ? kiln_compose_reshape(c, v, 0, NULL)
               : v;
}

kiln_status kiln_ms_check_single(kiln_compose *c, const char *name,
                                 const kiln_ms_quant *q) {
    KILN_ASSERT(q->scale != NULL, "'%s' was read without its scale", name);
    if (q->scale->type.rank == 0 && (q->zero == NULL || q->zero->type.rank == 0))
        return c->status;
    return kiln_fail(c->cx->err, KILN_ERR_SHAPE,
                     "scale and zero point of '%s' must have 1 element", name);
}

static kiln_status check_steps(kiln_compose *c, const char *name, kiln_dtype dtype) {
    if (kiln_dtype_is_in(dtype, KILN_DT_STEPS))
        return KILN_OK;
    return kiln_fail(c->cx->err, KILN_ERR_SHAPE, "%s must be i8, u8, i16 or u16, is %s",
                     name, kiln_dtype_name(dtype));
}

static kiln_status check_zero(kiln_compose *c, const char *name, kiln_dtype dtype,
                              const kiln_value *zero) {
    if (zero == NULL || zero->type.dtype == dtype)
        return KILN_OK;
    return kiln_fail(c->cx->err, KILN_ERR_SHAPE,
                     "the zero point of '%s' must be %s as it is, is %s", name,
                     kiln_dtype_name(dtype), kiln_dtype_name(zero->type.dtype));
}

kiln_status kiln_ms_read_scale(kiln_compose *c, int at, const char *name,
                               kiln_ms_quant *q) {
    const char *const scale = kiln_format(c->cx->arena, "%s_scale", name);
    KILN_TRY(kiln_onnx_need(kiln_onnx_of(c->cx), c->site, at, scale, &q->scale));
    q->scale = kiln_ms_single(c, q->scale);
    q->zero = kiln_ms_single(c, kiln_onnx_in(kiln_onnx_of(c->cx), c->site, at + 1));
    if (q->zero != NULL)
        KILN_TRY(check_steps(c, "a zero point", q->zero->type.dtype));
    return c->status;
}

kiln_status kiln_ms_read_quant(kiln_compose *c, int at, const char *name,
                               kiln_ms_quant *q) {
    KILN_TRY(kiln_onnx_need(kiln_onnx_of(c->cx), c->site, at, name, &q->x));
    KILN_TRY(check_steps(c, "a quantised tensor", q->x->type.dtype));
    KILN_TRY(kiln_ms_read_scale(c, at + 1, name, q));
    return check_zero(c, name, q->x->type.dtype, q->zero);
}

kiln_value *kiln_ms_dequantize(kiln_compose *c, const kiln_ms_quant *q, int axis) {
    KILN_ASSERT(q->x != NULL && q->scale != NULL, "steps of no size");
    kiln_value *const in[] = {q->x, q->scale, q->zero};
    const kiln_attr_arg args[] = {kiln_arg_int("axis", axis),
                                  kiln_arg_dtype("dtype", KILN_F32)};
    return kiln_compose_op(c, &kiln_op_dequantize_linear, in, 3, args, 2);
}

kiln_value *kiln_ms_quantize(kiln_compose *c, kiln_value *y, const kiln_ms_quant *q,
                             kiln_dtype dtype) {
    KILN_ASSERT(y != NULL && q->scale != NULL, "steps of no size");
    kiln_value *const in[] = {y, q->scale, q->zero};
    const kiln_attr_arg arg =
        kiln_arg_dtype("dtype", q->zero != NULL ? q->zero->type.dtype : dtype);
    return kiln_compose_op(c, &kiln_op_quantize_linear, in, 3, &arg, 1);
}

kiln_value *kiln_ms_steps(kiln_compose *c, kiln_value *y, const kiln_ms_quant *q,
                          kiln_dtype dtype) {
    kiln_ms_quant unit = *q;
    unit.scale = kiln_import_scalar(c->cx, KILN_F32, 1);
    if (unit.zero != NULL)
        unit.zero = kiln_compose_reshape(c, unit.zero, 0, NULL);
    return kiln_ms_quantize(c, y, &unit, dtype);
}

kiln_value *kiln_ms_round(kiln_compose *c, kiln_value *y, const kiln_ms_quant *q,
                          kiln_dtype dtype) {
    if (q->zero != NULL) {
        dtype = q->zero->type.dtype;
        y = kiln_ms_add(c, y, kiln_compose_cast(c, q->zero, KILN_F32));
    }
    const kiln_dtype_info *const info = kiln_dtype_get(dtype);
    const kiln_attr_arg range[] = {kiln_arg_float("min", (double)info->min_i),
                                   kiln_arg_float("max", (double)info->max_i)};
    y = kiln_compose_1(c, &kiln_op_round, y);
    y = kiln_compose_op(c, &kiln_op_clip, &y, 1, range, 2);
    return kiln_compose_cast(c, y, dtype);
}

kiln_value *kiln_ms_center(kiln_compose *c, const kiln_ms_quant *q) {
    KILN_ASSERT(q->x != NULL, "the steps of nothing");
    kiln_compose_fail(c, check_steps(c, "a quantised tensor", q->x->type.dtype));
    kiln_compose_fail(c,
                      check_zero(c, "a quantised tensor", q->x->type.dtype, q->zero));
    kiln_value *const x = kiln_compose_cast(c, q->x, KILN_I32);
    return q->zero == NULL ? x
                           : kiln_compose_2(c, &kiln_op_sub, x,
                                            kiln_compose_cast(c, q->zero, KILN_I32));
}

/* The extreme element of x, or 0 where that is more extreme. */
static kiln_value *bound_of(kiln_compose *c, kiln_value *x, const kiln_op_def *reduce,
                            const kiln_op_def *extreme) {
    return kiln_compose_scalar(c, extreme,
                               kiln_compose_reduce(c, reduce, x, NULL, 0, false), 0);
}

/* scale = (max - min) / 255, 1 where that is 0; zero = round(0 - min / scale). */
kiln_ms_quant kiln_ms_dynamic_quant(kiln_compose *c, kiln_value *x) {
    kiln_value *const lo = bound_of(c, x, &kiln_op_reduce_min, &kiln_op_min);
    kiln_value *const hi = bound_of(c, x, &kiln_op_reduce_max, &kiln_op_max);
    kiln_value *const range = kiln_compose_2(c, &kiln_op_sub, hi, lo);
    kiln_value *const is_flat = kiln_compose_scalar(c, &kiln_op_equal, range, 0);
    kiln_ms_quant q = {.scale = kiln_compose_scalar(c, &kiln_op_div, range, 255)};
    q.scale =
        kiln_compose_where(c, is_flat, kiln_import_scalar(c->cx, KILN_F32, 1), q.scale);
    const kiln_ms_quant none = {0};
    q.zero = kiln_compose_2(c, &kiln_op_sub, kiln_import_scalar(c->cx, KILN_F32, 0),
                            kiln_compose_2(c, &kiln_op_div, lo, q.scale));
    q.zero = kiln_ms_round(c, q.zero, &none, KILN_U8);
    q.x = kiln_ms_quantize(c, x, &q, KILN_U8);
    return q;
}
