/* Importers of what orders and masks elements: TopK, ReverseSequence, Trilu, EyeLike,
 * OneHot, Range. Source: the ONNX operator specification; versions are in onnx_ops.def.
 */
#include "compiler/frontend/onnx/onnx_internal.h"

#include <inttypes.h>
#include <math.h>

/* Elements of a constant that the importer writes itself: 2^24. */
static const int64_t MAX_ELEMS = (int64_t)1 << 24;

/* The only integer of a constant operand. */
static kiln_status one_int(kiln_onnx_cx *cx, kiln_value *v, const char *name,
                           int64_t *out) {
    const int64_t *list;
    size_t count;
    KILN_TRY(kiln_onnx_const_ints(cx, v, name, &list, &count));
    if (count != 1)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE, "'%s' must have 1 element, has %zu",
                              name, count);
    *out = list[0];
    return KILN_OK;
}

kiln_status kiln_onnx_import_topk(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *x, *v, *outs[2];
    int64_t k;
    int axis;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "X", &x));
    if (kiln_onnx_version(cx) < 10) {
        k = kiln_onnx_attr_i(cx, n, "k", 0);
    } else {
        KILN_TRY(kiln_onnx_need(cx, n, 1, "K", &v));
        KILN_TRY(one_int(cx, v, "K", &k));
    }
    KILN_TRY(kiln_axis_normalize(kiln_onnx_attr_i(cx, n, "axis", -1), x->type.rank,
                                 &axis, kiln_onnx_err(cx)));
    const kiln_attr_arg args[] = {
        kiln_arg_int("k", k), kiln_arg_int("axis", axis),
        kiln_arg_bool("largest", kiln_onnx_attr_i(cx, n, "largest", 1) != 0),
        kiln_arg_bool("sorted", kiln_onnx_attr_i(cx, n, "sorted", 1) != 0)};
    KILN_TRY(kiln_onnx_emit(cx, n, &kiln_op_topk, &x, 1, args, 4, 2, outs));
    kiln_onnx_set(cx, n, 0, outs[0]);
    kiln_onnx_set(cx, n, 1, outs[1]);
    return KILN_OK;
}

kiln_status kiln_onnx_import_reverse_sequence(kiln_onnx_cx *cx,
                                              const kiln_onnx_node *n) {
    kiln_value *in[2], *y;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "input", &in[0]));
    KILN_TRY(kiln_onnx_need(cx, n, 1, "sequence_lens", &in[1]));
    const kiln_attr_arg args[] = {
        kiln_arg_int("batch_axis", kiln_onnx_attr_i(cx, n, "batch_axis", 1)),
        kiln_arg_int("time_axis", kiln_onnx_attr_i(cx, n, "time_axis", 0))};
    KILN_TRY(kiln_onnx_emit(cx, n, &kiln_op_reverse_sequence, in, 2, args, 2, 1, &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}

kiln_status kiln_onnx_import_trilu(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *x, *v = kiln_onnx_in(cx, n, 1), *y;
    int64_t k = 0;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "input", &x));
    if (v != NULL)
        KILN_TRY(one_int(cx, v, "k", &k));
    const kiln_attr_arg args[] = {
        kiln_arg_bool("upper", kiln_onnx_attr_i(cx, n, "upper", 1) != 0),
        kiln_arg_int("k", k)};
    KILN_TRY(kiln_onnx_emit1(cx, n, &kiln_op_trilu, x, args, 2, &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}

/* ---- constants: EyeLike, Range ---- */

/* Zeroed storage for a constant of the model. */
static kiln_status new_const(kiln_onnx_cx *cx, kiln_dtype dtype, int rank,
                             const int64_t *dim, kiln_wide *out) {
    const kiln_type t = kiln_type_make(dtype, rank, dim);
    KILN_TRY(kiln_type_check(&t, kiln_onnx_err(cx)));
    if (kiln_type_elems(&t) > MAX_ELEMS)
        return kiln_onnx_fail(cx, KILN_ERR_LIMIT,
                              "the result must have at most %" PRId64
                              " elements, has %" PRId64,
                              MAX_ELEMS, kiln_type_elems(&t));
    KILN_TRY(kiln_onnx_spend(cx, 8 * kiln_type_elems(&t) + kiln_type_bytes(&t)));
    *out = kiln_wide_new(kiln_onnx_arena(cx), &t);
    for (int64_t i = 0; i < kiln_type_elems(&t); i++)
        if (out->f != NULL)
            out->f[i] = 0;
        else
            out->i[i] = 0;
    return KILN_OK;
}

static void set_const(kiln_onnx_cx *cx, const kiln_onnx_node *n, const kiln_wide *w) {
    const kiln_tensor t = kiln_tensor_new(kiln_onnx_arena(cx), &w->type);
    kiln_narrow(w, t.data);
    kiln_onnx_set(cx, n, 0,
                  kiln_graph_add_const(kiln_onnx_target(cx), "const", &t.type, t.data));
}

kiln_status kiln_onnx_import_eye_like(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *x;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "input", &x));
    const int64_t k = kiln_onnx_attr_i(cx, n, "k", 0);
    kiln_dtype dtype = x->type.dtype;
    if (kiln_onnx_has_attr(n, "dtype"))
        KILN_TRY(kiln_onnx_dtype(kiln_onnx_attr_i(cx, n, "dtype", 0), &dtype,
                                 kiln_onnx_err(cx)));
    if (x->type.rank != 2)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE, "'input' must have rank 2, has %d",
                              x->type.rank);
    kiln_wide w;
    KILN_TRY(new_const(cx, dtype, 2, x->type.dim, &w));
    const int64_t rows = x->type.dim[0], cols = x->type.dim[1];
    /* Empty for a diagonal outside of the matrix, and then nothing is added to k. */
    const bool is_inside = k > -rows && k < cols;
    for (int64_t r = is_inside && k < 0 ? -k : 0; is_inside && r < rows; r++) {
        if (r + k >= cols)
            break;
        if (w.f != NULL)
            w.f[r * cols + r + k] = 1;
        else
            w.i[r * cols + r + k] = 1;
    }
    set_const(cx, n, &w);
    return KILN_OK;
}

/* Numbers from first (included) to last (excluded) in steps of by != 0, in 64-bit
 * arithmetic that cannot overflow. */
static uint64_t count_ints(int64_t first, int64_t last, int64_t by) {
    const bool up = by > 0;
    if (up ? first >= last : first <= last)
        return 0;
    const uint64_t span =
        up ? (uint64_t)last - (uint64_t)first : (uint64_t)first - (uint64_t)last;
    const uint64_t step = up ? (uint64_t)by : (uint64_t)0 - (uint64_t)by;
    return step == 0 ? 0 : (span - 1) / step + 1;
}

static kiln_status range_ints(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                              kiln_value *const *v) {
    int64_t first, last, by;
    KILN_TRY(one_int(cx, v[0], "start", &first));
    KILN_TRY(one_int(cx, v[1], "limit", &last));
    KILN_TRY(one_int(cx, v[2], "delta", &by));
    if (by == 0)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE, "'delta' must not be 0");
    const uint64_t exact = count_ints(first, last, by);
    const int64_t count = exact > (uint64_t)MAX_ELEMS ? MAX_ELEMS + 1 : (int64_t)exact;
    kiln_wide w;
    KILN_TRY(new_const(cx, v[0]->type.dtype, 1, &count, &w));
    for (int64_t i = 0; i < count; i++)
        w.i[i] = (int64_t)((uint64_t)first + (uint64_t)i * (uint64_t)by);
    set_const(cx, n, &w);
    return KILN_OK;
}

static kiln_status range_floats(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                                kiln_value *const *v) {
    static const char *const names[] = {"start", "limit", "delta"};
    const double *list[3];
    size_t count[3];
    for (int i = 0; i < 3; i++) {
        KILN_TRY(kiln_onnx_const_floats(cx, v[i], names[i], &list[i], &count[i]));
        if (count[i] != 1 || !isfinite(list[i][0]))
            return kiln_onnx_fail(cx, KILN_ERR_SHAPE, "'%s' must be one finite number",
                                  names[i]);
    }
    if (list[2][0] == 0)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE, "'delta' must not be 0");
    const double exact = ceil((list[1][0] - list[0][0]) / list[2][0]);
    const int64_t n_elems = exact > (double)MAX_ELEMS ? MAX_ELEMS + 1
                            : exact > 0               ? (int64_t)exact
                                                      : 0;
    kiln_wide w;
    KILN_TRY(new_const(cx, v[0]->type.dtype, 1, &n_elems, &w));
    for (int64_t i = 0; i < n_elems; i++)
        w.f[i] = list[0][0] + (double)i * list[2][0];
    set_const(cx, n, &w);
    return KILN_OK;
}

kiln_status kiln_onnx_import_range(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *v[3];
    KILN_TRY(kiln_onnx_need(cx, n, 0, "start", &v[0]));
    KILN_TRY(kiln_onnx_need(cx, n, 1, "limit", &v[1]));
    KILN_TRY(kiln_onnx_need(cx, n, 2, "delta", &v[2]));
    const int64_t f32 = 1; /* of TensorProto.DataType */
    if (kiln_onnx_version(cx) >= 27 &&
        kiln_onnx_attr_i(cx, n, "stash_type", f32) != f32)
        return kiln_onnx_fail(cx, KILN_ERR_UNSUPPORTED,
                              "attribute 'stash_type' must be f32: numbers of fewer "
                              "digits are not imitated on the way; export with "
                              "stash_type = 1");
    return kiln_dtype_is_float(v[0]->type.dtype) ? range_floats(cx, n, v)
                                                 : range_ints(cx, n, v);
}

/* ---- OneHot ---- */

/* 0, 1, ... depth - 1 along `axis` of `rank` axes, as a constant of a dtype. */
static kiln_status positions(kiln_onnx_cx *cx, kiln_dtype dtype, int64_t depth,
                             int rank, int axis, kiln_value **out) {
    int64_t dim[KILN_MAX_RANK];
    kiln_wide w;
    for (int i = 0; i < rank; i++)
        dim[i] = i == axis ? depth : 1;
    KILN_TRY(new_const(cx, dtype, rank, dim, &w));
    for (int64_t i = 0; i < depth; i++)
        if (w.f != NULL)
            w.f[i] = (double)i;
        else
            w.i[i] = i;
    const kiln_tensor t = kiln_tensor_new(kiln_onnx_arena(cx), &w.type);
    kiln_narrow(&w, t.data);
    *out = kiln_graph_add_const(kiln_onnx_target(cx), "positions", &t.type, t.data);
    return KILN_OK;
}

/* 'depth' may be of any number type. */
static kiln_status read_depth(kiln_onnx_cx *cx, kiln_value *v, int64_t *out) {
    const double *list;
    size_t count;
    KILN_TRY(kiln_onnx_const_floats(cx, v, "depth", &list, &count));
    if (count != 1 || !(list[0] >= 1 && list[0] <= (double)MAX_ELEMS))
        return kiln_onnx_fail(cx, KILN_ERR_LIMIT,
                              "'depth' must be one number in [1, %" PRId64 "]",
                              MAX_ELEMS);
    *out = (int64_t)list[0];
    return KILN_OK;
}

/* where(wrap(index) == position, on, off), which is all off for an index outside
 * [-depth, depth). */
kiln_status kiln_onnx_import_one_hot(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *index, *v, *values, *at, *hit, *off_on[2], *y;
    int64_t depth = 0;
    int axis;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "indices", &index));
    KILN_TRY(kiln_onnx_need(cx, n, 1, "depth", &v));
    KILN_TRY(read_depth(cx, v, &depth));
    KILN_TRY(kiln_onnx_need(cx, n, 2, "values", &values));
    const int rank = index->type.rank + 1;
    if (rank > KILN_MAX_RANK)
        return kiln_onnx_fail(cx, KILN_ERR_LIMIT,
                              "'indices' must have rank < %d, has %d", KILN_MAX_RANK,
                              rank - 1);
    KILN_TRY(kiln_axis_normalize(kiln_onnx_attr_i(cx, n, "axis", -1), rank, &axis,
                                 kiln_onnx_err(cx)));
    /* 32-bit indices and depths up to 2^24 are exact in f64 and in i64. */
    const kiln_dtype dtype =
        kiln_dtype_is_float(index->type.dtype) ? KILN_F64 : KILN_I64;
    int64_t dim[KILN_MAX_RANK];
    for (int i = 0, from = 0; i < rank; i++)
        dim[i] = i == axis ? 1 : index->type.dim[from++];
    KILN_TRY(kiln_onnx_cast(cx, n, index, dtype, &index));
    KILN_TRY(kiln_onnx_reshape(cx, n, index, rank, dim, &index));
    kiln_value *is_negative, *wrapped;
    KILN_TRY(kiln_onnx_emit2(cx, n, &kiln_op_less, index,
                             kiln_onnx_scalar(cx, dtype, 0), &is_negative));
    KILN_TRY(kiln_onnx_emit2(cx, n, &kiln_op_add, index,
                             kiln_onnx_scalar(cx, dtype, (double)depth), &wrapped));
    KILN_TRY(kiln_onnx_emit(cx, n, &kiln_op_where,
                            (kiln_value *[]){is_negative, wrapped, index}, 3, NULL, 0,
                            1, &wrapped));
    KILN_TRY(positions(cx, dtype, depth, rank, axis, &at));
    KILN_TRY(kiln_onnx_emit2(cx, n, &kiln_op_equal, wrapped, at, &hit));
    if (values->type.rank != 1 || values->type.dim[0] != 2)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE, "'values' must have shape [2]");
    const kiln_attr_arg halves[] = {kiln_arg_int("axis", 0),
                                    kiln_arg_ints("sizes", (const int64_t[]){1, 1}, 2)};
    KILN_TRY(kiln_onnx_emit(cx, n, &kiln_op_split, &values, 1, halves, 2, 2, off_on));
    KILN_TRY(kiln_onnx_emit(cx, n, &kiln_op_where,
                            (kiln_value *[]){hit, off_on[1], off_on[0]}, 3, NULL, 0, 1,
                            &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}
