/* Operators that make values of no input, repeat, turn round, or pick by index. Source:
 * apache/mxnet 1.9, src/operator/tensor/init_op.h, indexing_op.h, ordering_op-inl.h. */
#include "compiler/frontend/mxnet/mxnet_internal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define IMPORTER(name)                                                                 \
    kiln_status kiln_mx_import_##name(kiln_mx_cx *cx, const kiln_mx_node *n,           \
                                      kiln_value *const *in, kiln_mx_values *out)

/* MXNet makes numbers of float32 where nothing else is said, and kiln of nothing else. */
static kiln_status need_f32(kiln_mx_cx *cx, const kiln_mx_node *n) {
    const char *const text = kiln_mx_text(cx, n, "dtype");
    (void)kiln_mx_text(cx, n, "ctx"); /* where */
    if (text == NULL || strcmp(text, "float32") == 0)
        return KILN_OK;
    return kiln_fail(cx->common.err, KILN_ERR_UNSUPPORTED,
                     "attribute 'dtype' must be float32, is '%s'",
                     kiln_import_show(&cx->common, kiln_str_from(text)));
}

/* ---- of no input ----------------------------------------------------------------- */

static kiln_status fill(kiln_mx_cx *cx, const kiln_mx_node *n, double v,
                        kiln_value **out) {
    kiln_compose c = kiln_mx_compose(cx, n);
    int64_t dim[KILN_MX_MAX_TUPLE];
    const size_t rank = kiln_mx_tuple(cx, n, "shape", dim);
    KILN_TRY(need_f32(cx, n));
    bool ok = rank > 0 && rank <= KILN_MAX_RANK;
    for (size_t i = 0; ok && i < rank; i++)
        ok = dim[i] > 0;
    if (!ok)
        return kiln_fail(cx->common.err, KILN_ERR_UNSUPPORTED,
                         "attribute 'shape' must have 1 to %d sizes above 0: kiln does "
                         "not infer what is open from who reads it",
                         KILN_MAX_RANK);
    *out = kiln_compose_expand(&c, kiln_import_scalar(&cx->common, KILN_F32, v),
                               (int)rank, dim);
    return c.status;
}

IMPORTER(zeros) {
    (void)in;
    return fill(cx, n, 0, &out->v[0]);
}

IMPORTER(ones) {
    (void)in;
    return fill(cx, n, 1, &out->v[0]);
}

IMPORTER(full) {
    (void)in;
    return fill(cx, n, kiln_mx_float(cx, n, "value", 0), &out->v[0]);
}

/* start, start + step, ... below stop, each so many times; without stop from 0 to start. */
IMPORTER(arange) {
    enum { MAX_NUMBERS = 1 << 24 };
    kiln_compose c = kiln_mx_compose(cx, n);
    double start = kiln_mx_float(cx, n, "start", 0), stop = start;
    const double step = kiln_mx_float(cx, n, "step", 1);
    const int64_t times = kiln_mx_int(cx, n, "repeat", 1);
    (void)in;
    (void)kiln_mx_bool(cx, n, "infer_range", false);
    KILN_TRY(need_f32(cx, n));
    if (kiln_mx_text(cx, n, "stop") != NULL)
        stop = kiln_mx_float(cx, n, "stop", 0);
    else
        start = 0;
    const double count = step != 0 ? ceil((stop - start) / step) : 0;
    if (!(count >= 1 && count <= MAX_NUMBERS) || times < 1 ||
        times > MAX_NUMBERS / (int64_t)count)
        return kiln_fail(cx->common.err, KILN_ERR_LIMIT,
                         "from %g to %g by %g there must be 1 to %d numbers", start,
                         stop, step, MAX_NUMBERS);
    const int64_t size = (int64_t)count * times;
    KILN_TRY(kiln_import_spend(&cx->common, 8 * size));
    double *const v = kiln_array(&cx->common.scratch, double, size);
    for (int64_t i = 0; i < size; i++) {
        const int64_t which = i / times;
        v[i] = start + step * (double)which;
    }
    out->v[0] = kiln_compose_floats(&c, KILN_F32, 1, &size, v);
    return c.status;
}

/* ---- repeats --------------------------------------------------------------------- */

/* Each element of an axis so many times; without an axis those of the whole. */
IMPORTER(repeat) {
    kiln_compose c = kiln_mx_compose(cx, n);
    const int64_t times = kiln_mx_int(cx, n, "repeats", 0);
    const bool is_flat = kiln_mx_text(cx, n, "axis") == NULL;
    const int64_t given = kiln_mx_int(cx, n, "axis", 0),
                  whole = kiln_type_elems(&in[0]->type);
    kiln_value *const x = is_flat ? kiln_compose_reshape(&c, in[0], 1, &whole) : in[0];
    int axis;
    KILN_TRY(kiln_mx_axis(cx, "axis", given, x->type.rank, &axis));
    if (times < 1)
        return kiln_fail(cx->common.err, KILN_ERR_PARSE,
                         "attribute 'repeats' must be 1 or more, is %" PRId64, times);
    out->v[0] = kiln_compose_repeat(&c, x, axis, times);
    return c.status;
}

IMPORTER(reverse) {
    kiln_compose c = kiln_mx_compose(cx, n);
    int64_t axes[KILN_MX_MAX_TUPLE];
    const size_t count = kiln_mx_tuple(cx, n, "axis", axes);
    out->v[0] = in[0];
    for (size_t i = 0; i < count; i++) {
        int axis;
        KILN_TRY(kiln_mx_axis(cx, "axis", axes[i], in[0]->type.rank, &axis));
        const int64_t size = in[0]->type.dim[axis];
        if (size > 0)
            out->v[0] = kiln_compose_slice(&c, out->v[0], axis, size - 1, -1, size);
    }
    return c.status;
}

/* ---- by index -------------------------------------------------------------------- */

/* Of an index beyond the depth all are off. */
IMPORTER(one_hot) {
    enum { MAX_DEPTH = 1 << 24 };
    kiln_compose c = kiln_mx_compose(cx, n);
    const kiln_type t = in[0]->type;
    const int64_t depth = kiln_mx_int(cx, n, "depth", 0);
    const double on = kiln_mx_float(cx, n, "on_value", 1),
                 off = kiln_mx_float(cx, n, "off_value", 0);
    int64_t dim[KILN_MAX_RANK + 1];
    KILN_TRY(need_f32(cx, n));
    if (depth < 1 || depth > MAX_DEPTH || t.rank == KILN_MAX_RANK)
        return kiln_fail(cx->common.err, KILN_ERR_PARSE,
                         "attribute 'depth' must be in [1, %d], is %" PRId64, MAX_DEPTH,
                         depth);
    memcpy(dim, t.dim, sizeof t.dim);
    dim[t.rank] = 1;
    kiln_value *const at = kiln_compose_reshape(
        &c, kiln_compose_cast(&c, in[0], KILN_I64), t.rank + 1, dim);
    kiln_value *const is_on =
        kiln_compose_2(&c, &kiln_op_equal, at, kiln_compose_iota(&c, depth));
    out->v[0] =
        kiln_compose_where(&c, is_on, kiln_import_scalar(&cx->common, KILN_F32, on),
                           kiln_import_scalar(&cx->common, KILN_F32, off));
    return c.status;
}

/* One element of each lane, by an index brought into range. */
IMPORTER(pick) {
    static const char *const modes[] = {"clip", NULL};
    kiln_compose c = kiln_mx_compose(cx, n);
    const kiln_type t = in[0]->type;
    const int64_t given = kiln_mx_int(cx, n, "axis", -1);
    const bool keeps = kiln_mx_bool(cx, n, "keepdims", false);
    int64_t dim[KILN_MAX_RANK], rest[KILN_MAX_RANK];
    int axis, rank = 0;
    (void)kiln_mx_word(cx, n, "mode", modes);
    KILN_TRY(kiln_mx_axis(cx, "axis", given, t.rank, &axis));
    memcpy(dim, t.dim, sizeof dim);
    dim[axis] = 1;
    for (int i = 0; i < t.rank; i++)
        if (i != axis)
            rest[rank++] = t.dim[i];
    const kiln_type lanes = kiln_type_make(t.dtype, t.rank, dim);
    if (kiln_type_elems(&in[1]->type) != kiln_type_elems(&lanes) || t.dim[axis] < 1)
        return kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                         "its indices must have shape %s, have %s",
                         kiln_shape_text(&cx->common.scratch, t.rank, dim),
                         kiln_mx_shape(cx, in[1]));
    kiln_value *at = kiln_compose_scalar(&c, &kiln_op_max, in[1], 0);
    at = kiln_compose_scalar(&c, &kiln_op_min, at, (double)t.dim[axis] - 1);
    at = kiln_compose_cast(&c, kiln_compose_reshape(&c, at, t.rank, dim), KILN_I64);
    kiln_value *y = kiln_compose_axis(&c, &kiln_op_gather_elements, in[0], at, axis);
    if (!keeps && rank > 0)
        y = kiln_compose_reshape(&c, y, rank, rest);
    out->v[0] = y;
    return c.status;
}

IMPORTER(topk) {
    enum { INDICES, VALUE, BOTH };
    static const char *const kinds[] = {"indices", "value", "both", NULL};
    kiln_compose c = kiln_mx_compose(cx, n);
    const int64_t given = kiln_mx_int(cx, n, "axis", -1),
                  k = kiln_mx_int(cx, n, "k", 1);
    const bool ascends = kiln_mx_bool(cx, n, "is_ascend", false);
    const int kind = kiln_mx_word(cx, n, "ret_typ", kinds);
    kiln_value *y[2] = {in[0], in[0]};
    int axis;
    KILN_TRY(need_f32(cx, n));
    KILN_TRY(kiln_mx_axis(cx, "axis", given, in[0]->type.rank, &axis));
    const int64_t size = in[0]->type.dim[axis];
    if (k < 0 || k > size)
        return kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                         "attribute 'k' must be in [0, %" PRId64 "], is %" PRId64, size,
                         k);
    const kiln_attr_arg args[] = {kiln_arg_int("k", k == 0 ? size : k),
                                  kiln_arg_int("axis", axis),
                                  kiln_arg_bool("largest", !ascends)};
    KILN_TRY(kiln_import_emit(&cx->common, n, &kiln_op_topk, in, 1, args, 3, 2, y));
    y[1] = kiln_compose_cast(&c, y[1], KILN_F32);
    *out = (kiln_mx_values){kiln_array(&cx->common.scratch, kiln_value *, 2),
                            kind == BOTH ? 2 : 1};
    out->v[0] = kind == INDICES ? y[1] : y[0];
    out->v[1] = y[1];
    return c.status;
}

/* ---- of each element ------------------------------------------------------------- */

/* log(x) / log(base), of the operator's name */
IMPORTER(log_of_base) {
    kiln_compose c = kiln_mx_compose(cx, n);
    const double base = strcmp(cx->row->op, "log2") == 0 ? 2 : 10;
    kiln_value *const y = kiln_compose_1(&c, &kiln_op_log, in[0]);
    out->v[0] = kiln_compose_scalar(&c, &kiln_op_mul, y, 1 / log(base));
    return c.status;
}

IMPORTER(expm1) {
    kiln_compose c = kiln_mx_compose(cx, n);
    kiln_value *const y = kiln_compose_1(&c, &kiln_op_exp, in[0]);
    out->v[0] = kiln_compose_scalar(&c, &kiln_op_sub, y, 1);
    return c.status;
}

IMPORTER(softmin) {
    kiln_compose c = kiln_mx_compose(cx, n);
    const int64_t given = kiln_mx_int(cx, n, "axis", -1);
    int axis;
    KILN_TRY(need_f32(cx, n));
    KILN_TRY(kiln_mx_axis(cx, "axis", given, in[0]->type.rank, &axis));
    kiln_value *const y = kiln_compose_1(&c, &kiln_op_neg, in[0]);
    out->v[0] = kiln_compose_axis(&c, &kiln_op_softmax, y, NULL, axis);
    return c.status;
}
