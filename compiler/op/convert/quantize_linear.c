/* Real numbers to integers (ONNX QuantizeLinear 21): y = saturate(round(x / scale) +
 * zero), rounded half to even. The quotient is rounded to `precision` first, as it is
 * computed there. NaN gives the smallest integer. Exact: the division is the only
 * rounding.
 *
 * Where `dtype` is `precision` y = x / scale + zero is not rounded to integers: what
 * cast_low makes floats of 8 and 4 bits of. */
#include "compiler/op/convert/op_quantize.h"
#include "base/fault.h"

#include <math.h>

enum { AXIS, BLOCK, DTYPE, PRECISION, N_ATTR };

static const kiln_attr_def attrs[N_ATTR] = {
    {.name = "axis", .kind = KILN_ATTR_INT, .doc = "axis of scales", .default_i = 1},
    {.name = "block",
     .kind = KILN_ATTR_INT,
     .doc = "elements per scale; 0: not blocked"},
    {.name = "dtype", .kind = KILN_ATTR_DTYPE, .doc = "of y", .is_required = true},
    {.name = "precision",
     .kind = KILN_ATTR_DTYPE,
     .doc = "dtype of the division",
     .default_i = KILN_F32},
};

static const char *const names[] = {"x", "scale", "zero", NULL};

static kiln_status infer(const kiln_node *n, kiln_type *out, kiln_err *err) {
    const kiln_type *x = &n->in[0]->type;
    const kiln_dtype dtype = (kiln_dtype)n->attr[DTYPE].i;
    const kiln_dtype precision = (kiln_dtype)n->attr[PRECISION].i;
    if (!kiln_dtype_is_in(precision, KILN_DT_FLOAT))
        return kiln_fail(err, KILN_ERR_SHAPE, "precision must be a float dtype, is %s",
                         kiln_dtype_name(precision));
    if (!kiln_dtype_is_in(dtype, KILN_DT_QUANTIZED) && dtype != precision)
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "dtype must be an integer of at most 16 bits, or that of "
                         "precision, %s, is %s",
                         kiln_dtype_name(precision), kiln_dtype_name(dtype));
    KILN_TRY(kiln_check_scale(n, n->attr[AXIS].i, n->attr[BLOCK].i, dtype, err));
    *out = kiln_type_make(dtype, x->rank, x->dim);
    out->place = x->place;
    return KILN_OK;
}

static int64_t saturate(double y, const kiln_dtype_info *info) {
    if (!(y > (double)info->min_i))
        return info->min_i;
    return y < (double)info->max_i ? (int64_t)y : info->max_i;
}

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    const kiln_wide *x = &cx->in[0], *scale = &cx->in[1], *zero = &cx->in[2];
    const kiln_dtype_info *info = kiln_dtype_get(cx->out[0].type.dtype);
    const kiln_dtype precision = (kiln_dtype)n->attr[PRECISION].i;
    kiln_scale_map map;
    kiln_scale_map_init(&map, n, n->attr[AXIS].i, n->attr[BLOCK].i);
    const int64_t count = kiln_type_elems(&x->type);
    for (int64_t e = 0; e < count; e++) {
        const int64_t s = kiln_scale_at(&map, e);
        const double v = x->f != NULL ? x->f[e] : (double)x->i[e];
        const double q =
            kiln_round_f64(precision, kiln_round_f64(precision, v) /
                                          kiln_round_f64(precision, scale->f[s]));
        if (info->is_float) {
            cx->out[0].f[e] = kiln_has_in(n, 2) ? q + zero->f[s] : q;
            continue;
        }
        const double z = kiln_has_in(n, 2) ? (double)zero->i[s] : 0;
        cx->out[0].i[e] = saturate(rint(q) + z, info);
    }
    return KILN_OK;
}

/* Divide, round, add, clip. */
static void cost(const kiln_node *n, kiln_cost *c) {
    c->muladds = 0;
    c->flops = 4 * kiln_type_elems(&n->in[0]->type);
}

/* v rounded to a float dtype; f16 and bf16 are held in f32. */
static const kiln_expr *rounded(kiln_arena *a, const kiln_expr *v,
                                kiln_dtype precision) {
    v = kiln_x_cast(a, precision, v);
    return precision == KILN_F64 ? v : kiln_x_cast(a, KILN_F32, v);
}

static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    kiln_arena *a = cx->arena;
    const kiln_dtype_info *info = kiln_dtype_get(cx->out[0].type.dtype);
    const kiln_dtype precision = (kiln_dtype)n->attr[PRECISION].i;
    const kiln_expr *index[KILN_MAX_RANK], *at[KILN_MAX_RANK];
    kiln_te *y = kiln_compute_begin(cx, "", &cx->out[0].type, index);
    kiln_compute_scale_index(cx, n->attr[AXIS].i, n->attr[BLOCK].i, index, at);
    const kiln_expr *v = rounded(a, kiln_compute_read(cx, 0, index), precision);
    const kiln_expr *scale = rounded(a, kiln_low_read(cx, 1, at), precision);
    v = rounded(a, kiln_x_div(a, v, scale), precision);
    if (!info->is_float)
        v = kiln_x_fn(
            a, KILN_FAULT(quantize_round) ? KILN_INTRIN_trunc : KILN_INTRIN_round, v);
    /* Where the sum is not exact it is far outside of the range. */
    if (kiln_has_in(n, 2))
        v = kiln_x_add(a, v, kiln_x_cast(a, v->dtype, kiln_compute_read(cx, 2, at)));
    if (info->is_float)
        return kiln_compute_end(cx, 0, y, v);
    const kiln_expr *min = kiln_x_like(a, v, (double)info->min_i);
    const kiln_expr *max = kiln_x_like(
        a, v, (double)(info->max_i - (KILN_FAULT(quantize_saturation) ? 1 : 0)));
    v = kiln_x_select(a, kiln_x_less(a, min, v), v, min); /* NaN: the smallest */
    v = kiln_x_binary(a, KILN_EXPR_MIN, v, max);
    return kiln_compute_end(cx, 0, y, v);
}

const kiln_op_def kiln_op_quantize_linear = {
    .name = "quantize_linear",
    .doc = "saturate(round(x / scale) + zero), half to even",
    .n_in_min = 2,
    .n_in_max = 3,
    .in_names = names,
    .attr = attrs,
    .n_attr = N_ATTR,
    .dtypes = KILN_DT_PRECISION | KILN_DT(KILN_I32),
    .fuse = KILN_FUSE_INJECTIVE,
    .layout = KILN_LAYOUT_DEPENDENT,
    .is_oblivious = kiln_has_one_scale,
    .infer = infer,
    .eval_ref = eval_ref,
    .cost = cost,
    .error_bound = kiln_bound_exact,
    .compute = compute,
};
