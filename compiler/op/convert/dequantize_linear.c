/* Integers and floats of 8 and 4 bits to real numbers (ONNX DequantizeLinear 25): y =
 * (x - zero) * scale. 2 ulp: for 32-bit integers the difference is rounded to float
 * before the product is. */
#include "compiler/op/convert/op_quantize.h"

#include "base/fault.h"

enum { AXIS, BLOCK, DTYPE, N_ATTR };

static const kiln_attr_def attrs[N_ATTR] = {
    {.name = "axis", .kind = KILN_ATTR_INT, .doc = "axis of scales", .default_i = 1},
    {.name = "block",
     .kind = KILN_ATTR_INT,
     .doc = "elements per scale; 0: not blocked"},
    {.name = "dtype", .kind = KILN_ATTR_DTYPE, .doc = "of y", .is_required = true},
};

static const char *const names[] = {"x", "scale", "zero", NULL};

static kiln_status infer(const kiln_node *n, kiln_type *out, kiln_err *err) {
    const kiln_type *x = &n->in[0]->type;
    const kiln_dtype dtype = (kiln_dtype)n->attr[DTYPE].i;
    if (!kiln_dtype_is_in(dtype, KILN_DT_FLOAT))
        return kiln_fail(err, KILN_ERR_SHAPE, "dtype must be a float dtype, is %s",
                         kiln_dtype_name(dtype));
    KILN_TRY(kiln_check_scale(n, n->attr[AXIS].i, n->attr[BLOCK].i, x->dtype, err));
    *out = kiln_type_make(dtype, x->rank, x->dim);
    out->place = x->place;
    return KILN_OK;
}

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    const kiln_wide *x = &cx->in[0], *scale = &cx->in[1], *zero = &cx->in[2];
    kiln_scale_map map;
    kiln_scale_map_init(&map, n, n->attr[AXIS].i, n->attr[BLOCK].i);
    const int64_t count = kiln_type_elems(&x->type);
    for (int64_t e = 0; e < count; e++) {
        const int64_t s = kiln_scale_at(&map, e);
        const bool has_zero = kiln_has_in(n, 2);
        const double v = x->f != NULL ? x->f[e] - (has_zero ? zero->f[s] : 0)
                                      : (double)(x->i[e] - (has_zero ? zero->i[s] : 0));
        cx->out[0].f[e] = v * scale->f[s];
    }
    return KILN_OK;
}

static void cost(const kiln_node *n, kiln_cost *c) {
    c->muladds = 0;
    c->flops = 2 * kiln_type_elems(&n->in[0]->type);
}

static kiln_bound error_bound(const kiln_node *n) {
    (void)n;
    return (kiln_bound){.kind = KILN_BOUND_ULP, .c = 2};
}

static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    kiln_arena *a = cx->arena;
    const kiln_expr *index[KILN_MAX_RANK], *at[KILN_MAX_RANK];
    const kiln_dtype to = cx->out[0].type.dtype == KILN_F64 ? KILN_F64 : KILN_F32;
    const kiln_dtype from = cx->in[0].type.dtype;
    /* Differences of 32-bit integers need more. */
    const kiln_dtype wide = kiln_dtype_is_float(from) ? to
                            : from == KILN_I32        ? KILN_I64
                                                      : KILN_I32;
    kiln_te *y = kiln_compute_begin(cx, "", &cx->out[0].type, index);
    kiln_compute_scale_index(cx, n->attr[AXIS].i, n->attr[BLOCK].i, index, at);
    const kiln_expr *v = kiln_x_cast(a, wide, kiln_low_read(cx, 0, index));
    if (kiln_has_in(n, 2) && !KILN_FAULT(dequantize_zero))
        v = kiln_x_sub(a, v, kiln_x_cast(a, wide, kiln_low_read(cx, 2, at)));
    const kiln_expr *scale = kiln_x_cast(a, to, kiln_low_read(cx, 1, at));
    return kiln_compute_end(cx, 0, y, kiln_x_mul(a, kiln_x_cast(a, to, v), scale));
}

const kiln_op_def kiln_op_dequantize_linear = {
    .name = "dequantize_linear",
    .doc = "(x - zero) * scale",
    .n_in_min = 2,
    .n_in_max = 3,
    .in_names = names,
    .attr = attrs,
    .n_attr = N_ATTR,
    .dtypes = KILN_DT_QUANTIZED | KILN_DT(KILN_I32) |
              (KILN_DT_LOW_FLOAT & ~KILN_DT(KILN_F8E8M0)),
    .fuse = KILN_FUSE_INJECTIVE,
    .layout = KILN_LAYOUT_DEPENDENT,
    .is_oblivious = kiln_has_one_scale,
    .infer = infer,
    .eval_ref = eval_ref,
    .cost = cost,
    .error_bound = error_bound,
    .compute = compute,
};
