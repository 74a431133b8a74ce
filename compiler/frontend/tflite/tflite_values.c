/* Tensors as values: constants are views into the file, variables begin as zeros,
 * quantised ones become real numbers and back. Source: TensorFlow Lite, "8-bit
 * quantization specification". */
#include "compiler/frontend/tflite/tflite_internal.h"

#include <inttypes.h>
#include <string.h>

/* ---- constants ---------------------------------------------------------------------- */

static kiln_status type_of(kiln_tflite_cx *cx, const kiln_tflite_tensor *t,
                           kiln_type *out) {
    kiln_dtype dtype;
    int64_t dim[KILN_MAX_RANK] = {0};
    KILN_ASSERT(t->n_shape <= KILN_MAX_RANK, "decoding let %zu axes pass", t->n_shape);
    KILN_TRY(kiln_tflite_dtype(t->type, &dtype, cx->common.err));
    for (size_t i = 0; i < t->n_shape; i++)
        dim[i] = t->shape[i];
    *out = kiln_type_make(dtype, (int)t->n_shape, dim);
    return kiln_type_check(out, cx->common.err);
}

/* A view where the elements lie aligned, else a copy. */
static kiln_status add_const(kiln_tflite_cx *cx, const kiln_tflite_tensor *t,
                             const kiln_type *type, kiln_str data, kiln_value **out) {
    const void *p = data.p;
    if (data.n != (uint64_t)kiln_type_bytes(type))
        return kiln_tflite_fail(cx, KILN_ERR_PARSE,
                                "a constant of type %s must have %" PRId64
                                " bytes, has %zu; is the file damaged?",
                                kiln_type_text(&cx->common.scratch, type),
                                kiln_type_bytes(type), data.n);
    if ((uintptr_t)p % kiln_dtype_bytes(type->dtype) != 0) {
        KILN_TRY(kiln_import_spend(&cx->common, kiln_type_bytes(type)));
        p = kiln_arena_dup(cx->common.arena, data.p, data.n);
    }
    *out = kiln_graph_add_const(cx->common.graph,
                                kiln_str_dupv(cx->common.arena, t->name), type, p);
    return KILN_OK;
}

static kiln_status add_zeros(kiln_tflite_cx *cx, const kiln_tflite_tensor *t,
                             const kiln_type *type, kiln_value **out) {
    KILN_TRY(kiln_import_spend(&cx->common, kiln_type_bytes(type)));
    const kiln_tensor zeros = kiln_tensor_new(cx->common.arena, type);
    *out = kiln_graph_add_const(
        cx->common.graph, kiln_str_dupv(cx->common.arena, t->name), type, zeros.data);
    return KILN_OK;
}

static kiln_status make_const(kiln_tflite_cx *cx, const kiln_tflite_tensor *t,
                              kiln_value **out) {
    kiln_type type;
    kiln_str data;
    KILN_TRY(type_of(cx, t, &type));
    KILN_TRY(kiln_tflite_data(&cx->fb, cx->model, t, &data));
    if (data.n > 0 && t->sparsity != NULL)
        KILN_TRY(kiln_tflite_densify(cx, t, &type, &data));
    if (data.n > 0 || (kiln_type_elems(&type) == 0 && t->buffer != 0))
        return add_const(cx, t, &type, data, out);
    if (t->is_variable)
        return add_zeros(cx, t, &type, out);
    return kiln_tflite_fail(cx, KILN_ERR_PARSE,
                            "it has no data, and no operator before this one makes it; "
                            "is the file damaged?");
}

kiln_status kiln_tflite_value(kiln_tflite_cx *cx, int32_t tensor, kiln_value **out) {
    KILN_ASSERT(tensor >= 0 && (size_t)tensor < cx->g->n_tensor, "tensor %d of %zu",
                (int)tensor, cx->g->n_tensor);
    const kiln_tflite_tensor *const t = &cx->g->tensor[tensor];
    if (cx->value[tensor] == NULL) {
        const kiln_status st = make_const(cx, t, &cx->value[tensor]);
        if (st != KILN_OK) {
            kiln_note(cx->common.err, "reading tensor %" PRId32 " ('%s')", tensor,
                      kiln_import_show(&cx->common, t->name));
            return st;
        }
    }
    *out = cx->value[tensor];
    return KILN_OK;
}

/* ---- quantised tensors -------------------------------------------------------------- */

bool kiln_tflite_is_quantized(const kiln_tflite_tensor *t) {
    kiln_dtype dtype;
    return t->quantization != NULL && t->quantization->n_scale > 0 &&
           kiln_tflite_dtype(t->type, &dtype, NULL) == KILN_OK &&
           kiln_dtype_is_in(dtype, KILN_DT_INT);
}

bool kiln_tflite_is_complex(const kiln_tflite_tensor *t) {
    enum { COMPLEX64 = 8 };
    return t->type == COMPLEX64;
}

static kiln_status check_scales(kiln_tflite_cx *cx, const kiln_tflite_tensor *t,
                                size_t n) {
    const kiln_tflite_quantization *const q = t->quantization;
    if (q->n_scale != n || (q->n_zero_point != n && q->n_zero_point > 1))
        return kiln_tflite_fail(cx, KILN_ERR_UNSUPPORTED,
                                "tensor '%s' must have %zu scales and zero points, has "
                                "%zu and %zu",
                                kiln_import_show(&cx->common, t->name), n, q->n_scale,
                                q->n_zero_point);
    for (size_t i = 0; i < n; i++)
        if (!(q->scale[i] > 0) || !(q->scale[i] < 1e30F))
            return kiln_tflite_fail(
                cx, KILN_ERR_PARSE,
                "tensor '%s' has a scale of %g; is the file damaged?",
                kiln_import_show(&cx->common, t->name), (double)q->scale[i]);
    for (size_t i = 0; i < q->n_zero_point; i++)
        if (q->zero_point[i] < INT16_MIN || q->zero_point[i] > UINT16_MAX)
            return kiln_tflite_fail(
                cx, KILN_ERR_PARSE,
                "tensor '%s' has a zero point of %" PRId64 "; is the file damaged?",
                kiln_import_show(&cx->common, t->name), q->zero_point[i]);
    return KILN_OK;
}

kiln_status kiln_tflite_scale_of(kiln_tflite_cx *cx, const kiln_tflite_tensor *t,
                                 kiln_tflite_scale *out) {
    if (t == NULL || !kiln_tflite_is_quantized(t))
        return kiln_tflite_fail(
            cx, KILN_ERR_UNSUPPORTED, "tensor '%s' must be quantised as the others are",
            t == NULL ? "" : kiln_import_show(&cx->common, t->name));
    KILN_TRY(check_scales(cx, t, 1));
    *out = (kiln_tflite_scale){(double)t->quantization->scale[0], 0};
    if (t->quantization->n_zero_point > 0)
        out->zero = t->quantization->zero_point[0];
    return KILN_OK;
}

/* Scales as a constant that stretches to x, along the quantised axis; likewise zero
 * points, which are added to or taken from integers of 32 bits. */
typedef struct steps {
    kiln_value *scale, *zero; /* zero: NULL where all are 0 */
} steps;

static kiln_status read_steps(kiln_compose *c, const kiln_value *x,
                              const kiln_tflite_tensor *t, steps *out) {
    kiln_tflite_cx *const cx = kiln_tflite_of(c->cx);
    const kiln_tflite_quantization *const q = t->quantization;
    KILN_ASSERT(q != NULL && q->n_scale > 0, "a tensor that is not quantised");
    const bool is_one = q->n_scale == 1;
    /* Biases of depthwise filters are said to have the filters' axis. */
    const int64_t axis = x->type.rank == 1 ? 0 : q->axis;
    int64_t dim[KILN_MAX_RANK];
    if (!is_one && (axis < 0 || axis >= x->type.rank))
        return kiln_tflite_fail(cx, KILN_ERR_PARSE,
                                "tensor '%s' of rank %d is quantised along axis "
                                "%" PRId64,
                                kiln_import_show(&cx->common, t->name), x->type.rank,
                                q->axis);
    const size_t n = is_one ? 1 : (size_t)x->type.dim[axis];
    KILN_TRY(check_scales(cx, t, n));
    double *const v = kiln_array(&cx->common.scratch, double, n);
    int64_t *const z = kiln_array(&cx->common.scratch, int64_t, n);
    bool has_zero = false;
    for (size_t i = 0; i < n; i++) {
        v[i] = (double)q->scale[i];
        z[i] = q->n_zero_point == 0 ? 0 : q->zero_point[q->n_zero_point == 1 ? 0 : i];
        has_zero = has_zero || z[i] != 0;
    }
    for (int i = 0; i < x->type.rank; i++)
        dim[i] = !is_one && i == axis ? (int64_t)n : 1;
    const int rank = is_one ? 0 : x->type.rank;
    out->scale = kiln_compose_floats(c, KILN_F32, rank, dim, v);
    out->zero = has_zero
                    ? kiln_compose_cast(c, kiln_compose_ints(c, rank, dim, z), KILN_I32)
                    : NULL;
    return c->status;
}

kiln_value *kiln_tflite_dequantize(kiln_compose *c, kiln_value *x,
                                   const kiln_tflite_tensor *t) {
    steps s = {NULL, NULL};
    if (c->status != KILN_OK)
        return x;
    kiln_compose_fail(c, read_steps(c, x, t, &s));
    if (c->status != KILN_OK)
        return x;
    x = kiln_compose_cast(c, x, KILN_I32);
    if (s.zero != NULL)
        x = kiln_compose_2(c, &kiln_op_sub, x, s.zero);
    return kiln_compose_2(c, &kiln_op_mul, kiln_compose_cast(c, x, KILN_F32), s.scale);
}

kiln_value *kiln_tflite_real(kiln_tflite_cx *cx, kiln_compose *c, int i) {
    const kiln_tflite_tensor *const t = kiln_tflite_in_tensor(cx, i);
    kiln_value *const v = kiln_tflite_in(cx, i);
    if (v == NULL || kiln_dtype_is_float(v->type.dtype) || !kiln_tflite_is_quantized(t))
        return v;
    return kiln_tflite_dequantize(c, v, t);
}

/* Round half away from zero, as TensorFlow Lite's TfLiteRound: trunc(x + copysign(0.5)),
 * but of the largest number below 0.5, which that would make 1: by |x| - trunc(|x|). */
kiln_value *kiln_tflite_round_away(kiln_compose *c, kiln_value *x) {
    kiln_value *const whole = kiln_compose_1(c, &kiln_op_trunc, x);
    kiln_value *const rest =
        kiln_compose_1(c, &kiln_op_abs, kiln_compose_2(c, &kiln_op_sub, x, whole));
    kiln_value *const more = kiln_compose_scalar(c, &kiln_op_greater_equal, rest, 0.5);
    kiln_value *const step =
        kiln_compose_2(c, &kiln_op_mul, kiln_compose_1(c, &kiln_op_sign, x),
                       kiln_compose_cast(c, more, x->type.dtype));
    return kiln_compose_2(c, &kiln_op_add, whole, step);
}

kiln_value *kiln_tflite_quantize(kiln_compose *c, kiln_value *x,
                                 const kiln_tflite_tensor *t) {
    kiln_tflite_scale q;
    kiln_dtype dtype = KILN_I8;
    if (c->status != KILN_OK)
        return x;
    kiln_compose_fail(c, kiln_tflite_scale_of(kiln_tflite_of(c->cx), t, &q));
    kiln_compose_fail(c, kiln_tflite_dtype(t->type, &dtype, c->cx->err));
    if (c->status != KILN_OK)
        return x;
    x = kiln_tflite_round_away(c, kiln_compose_scalar(c, &kiln_op_div, x, q.scale));
    x = kiln_compose_scalar(c, &kiln_op_add, x, (double)q.zero);
    return kiln_compose_cast(c, x, dtype); /* saturates */
}
