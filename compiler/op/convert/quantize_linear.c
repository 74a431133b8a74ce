/* Real numbers to integers (ONNX QuantizeLinear 21): y = saturate(round(x / scale) +
 * zero), rounded half to even. The quotient is rounded to `precision` first, as it is
 * computed there. NaN gives the smallest integer. Exact: the division is the only
 * rounding.
 *
 * Where `dtype` is `precision` y = x / scale + zero is not rounded to integers: what
 * cast_low makes floats of 8 and 4 bits of.
 *
 * With `tame` x is clipped ahead of the division, by bounds that do not change from one
 * element to the next: to (min - zero - 1/4) scale and (max - zero + 1/4) scale. What is
 * beyond gives the smallest or the largest integer, NaN the smallest, as the bound does: it
 * is off by less than 1/8 of scale, and its quotient by the rest of a half from the
 * integer. So quotients are at most 2^17, and those below 2^-9 are all rounded to 0, which
 * is what KILN_INTRIN_quotient asks for. */
#include "compiler/op/convert/op_quantize.h"
#include "base/fault.h"

#include <math.h>

enum { AXIS, BLOCK, DTYPE, PRECISION, TAME, N_ATTR };

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
    {.name = "tame",
     .kind = KILN_ATTR_BOOL,
     .doc =
         "the scale is known to be one number from 2^-60 to 2^60: of f32, to integers "
         "of 8 or 16 bits"},
};

static const char *const names[] = {"x", "scale", "zero", NULL};

static bool may_be_tame(const kiln_node *n, kiln_dtype dtype) {
    const unsigned wide =
        KILN_DT(KILN_I8) | KILN_DT(KILN_U8) | KILN_DT(KILN_I16) | KILN_DT(KILN_U16);
    return kiln_dtype_is_in(dtype, wide) &&
           (kiln_dtype)n->attr[PRECISION].i == KILN_F32 &&
           n->in[1]->type.dtype == KILN_F32 && kiln_type_elems(&n->in[1]->type) == 1 &&
           n->attr[BLOCK].i == 0;
}

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
    if (n->attr[TAME].i != 0 && !may_be_tame(n, dtype))
        return kiln_fail(
            err, KILN_ERR_SHAPE,
            "only one scale of f32, in precision f32, to integers of 8 or 16 "
            "bits may be tame");
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

typedef struct quantizer {
    kiln_arena *a;
    const kiln_expr *scale, *zero; /* zero NULL: none; of scale's dtype */
    double min, max;
} quantizer;

static const kiln_expr *round_of(const quantizer *q, const kiln_expr *v) {
    return kiln_x_fn(
        q->a, KILN_FAULT(quantize_round) ? KILN_INTRIN_trunc : KILN_INTRIN_round, v);
}

/* NaN: the smallest. */
static const kiln_expr *clipped(const quantizer *q, const kiln_expr *v,
                                const kiln_expr *min, const kiln_expr *max) {
    v = kiln_x_select(q->a, kiln_x_less(q->a, min, v), v, min);
    return kiln_x_binary(q->a, KILN_EXPR_MIN, v, max);
}

/* (end - zero) * scale */
static const kiln_expr *bound(const quantizer *q, double end) {
    const kiln_expr *v = kiln_x_like(q->a, q->scale, end);
    v = q->zero != NULL ? kiln_x_sub(q->a, v, q->zero) : v;
    return kiln_x_mul(q->a, v, q->scale);
}

static const kiln_expr *tame(const quantizer *q, const kiln_expr *v) {
    v = clipped(q, v, bound(q, q->min - 0.25), bound(q, q->max + 0.25));
    const kiln_expr *const arg[2] = {v, q->scale};
    v = round_of(q, kiln_x_call(q->a, KILN_INTRIN_quotient, arg));
    return q->zero != NULL ? kiln_x_add(q->a, v, q->zero) : v;
}

static const kiln_expr *divided(const quantizer *q, const kiln_expr *v,
                                kiln_dtype precision, bool is_real) {
    v = rounded(q->a, kiln_x_div(q->a, v, q->scale), precision);
    v = is_real ? v : round_of(q, v);
    /* Where the sum is not exact it is far outside of the range. */
    v = q->zero != NULL ? kiln_x_add(q->a, v, q->zero) : v;
    return is_real ? v
                   : clipped(q, v, kiln_x_like(q->a, v, q->min),
                             kiln_x_like(q->a, v, q->max));
}

static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    kiln_arena *a = cx->arena;
    const kiln_dtype_info *info = kiln_dtype_get(cx->out[0].type.dtype);
    const kiln_dtype precision = (kiln_dtype)n->attr[PRECISION].i;
    const kiln_expr *index[KILN_MAX_RANK], *at[KILN_MAX_RANK];
    kiln_te *y = kiln_compute_begin(cx, "", &cx->out[0].type, index);
    kiln_compute_scale_index(cx, n->attr[AXIS].i, n->attr[BLOCK].i, index, at);
    const kiln_expr *v = rounded(a, kiln_compute_read(cx, 0, index), precision);
    quantizer q = {
        .a = a,
        .scale = rounded(a, kiln_low_read(cx, 1, at), precision),
        .min = (double)info->min_i,
        .max = (double)(info->max_i - (KILN_FAULT(quantize_saturation) ? 1 : 0))};
    if (kiln_has_in(n, 2))
        q.zero = kiln_x_cast(a, v->dtype, kiln_compute_read(cx, 2, at));
    v = n->attr[TAME].i != 0 ? tame(&q, v) : divided(&q, v, precision, info->is_float);
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
