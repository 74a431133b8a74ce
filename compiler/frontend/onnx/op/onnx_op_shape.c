/* Importers of what gives a tensor another shape: Reshape, Squeeze, Unsqueeze, Flatten,
 * Transpose, Expand, Tile, ConstantOfShape, DepthToSpace, SpaceToDepth. Source: the
 * ONNX operator specification; versions are in onnx_ops.def. */
#include "compiler/frontend/onnx/onnx_internal.h"

#include <inttypes.h>

/* A list of dims from an operand: KILN_ERR_LIMIT above the rank that a type can have.
 */
static kiln_status read_dims(kiln_onnx_cx *cx, const kiln_onnx_node *n, int in,
                             const char *name, const int64_t **dims, int *rank) {
    kiln_value *v;
    size_t count;
    KILN_TRY(kiln_onnx_need(cx, n, in, name, &v));
    KILN_TRY(kiln_onnx_const_ints(cx, v, name, dims, &count));
    if (count > KILN_MAX_RANK)
        return kiln_onnx_fail(cx, KILN_ERR_LIMIT,
                              "input '%s' must have at most %d dims, has %zu", name,
                              KILN_MAX_RANK, count);
    *rank = (int)count;
    return KILN_OK;
}

/* ---- Reshape ---- */

/* Replaces the one -1 in `dim` by what is left of x's elements. */
static kiln_status infer_dim(kiln_onnx_cx *cx, const kiln_value *x, int rank,
                             int64_t *dim) {
    int unknown = -1;
    for (int i = 0; i < rank; i++) {
        if (dim[i] < -1)
            return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                                  "dim %d of 'shape' must be >= -1, is %" PRId64, i,
                                  dim[i]);
        if (dim[i] == -1 && unknown >= 0)
            return kiln_onnx_fail(
                cx, KILN_ERR_SHAPE,
                "'shape' must have at most one -1, dims %d and %d are", unknown, i);
        if (dim[i] == -1) {
            unknown = i;
            dim[i] = 1;
        }
    }
    if (unknown < 0)
        return KILN_OK;
    const kiln_type known = kiln_type_make(KILN_BOOL, rank, dim);
    KILN_TRY(kiln_type_check(&known, kiln_onnx_err(cx)));
    const int64_t have = kiln_type_elems(&x->type), rest = kiln_type_elems(&known);
    if (rest == 0 || have % rest != 0)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "dim %d of 'shape' is -1, but %" PRId64
                              " elements cannot be shared by %" PRId64,
                              unknown, have, rest);
    dim[unknown] = have / rest;
    return KILN_OK;
}

kiln_status kiln_onnx_import_reshape(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *x, *y;
    const int64_t *shape;
    int rank;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "data", &x));
    KILN_TRY(read_dims(cx, n, 1, "shape", &shape, &rank));
    const bool allow_zero = kiln_onnx_attr_i(cx, n, "allowzero", 0) != 0;
    int64_t dim[KILN_MAX_RANK] = {0};
    for (int i = 0; i < rank; i++) {
        dim[i] = shape[i];
        if (shape[i] != 0 || allow_zero)
            continue;
        if (i >= x->type.rank)
            return kiln_onnx_fail(
                cx, KILN_ERR_SHAPE,
                "dim %d of 'shape' is 0 (keep), but 'data' has rank %d", i,
                x->type.rank);
        dim[i] = x->type.dim[i];
    }
    KILN_TRY(infer_dim(cx, x, rank, dim));
    KILN_TRY(kiln_onnx_reshape(cx, n, x, rank, dim, &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}

/* ---- Squeeze, Unsqueeze, Flatten ---- */

/* Axes from input 1 (opset 13 on) or the attribute, as marks on `rank` axes. *given is
 * false without. */
static kiln_status read_axes(kiln_onnx_cx *cx, const kiln_onnx_node *n, int rank,
                             bool *marked, bool *given) {
    const int64_t *axes = NULL;
    size_t count = kiln_onnx_attr_ints(cx, n, "axes", &axes);
    kiln_value *v = kiln_onnx_in(cx, n, 1);
    *given = kiln_onnx_has_attr(n, "axes") || v != NULL;
    if (v != NULL)
        KILN_TRY(kiln_onnx_const_ints(cx, v, "axes", &axes, &count));
    for (size_t i = 0; i < count; i++) {
        int axis;
        KILN_TRY(kiln_axis_normalize(axes[i], rank, &axis, kiln_onnx_err(cx)));
        if (marked[axis])
            return kiln_onnx_fail(cx, KILN_ERR_SHAPE, "'axes' names axis %d twice",
                                  axis);
        marked[axis] = true;
    }
    return KILN_OK;
}

kiln_status kiln_onnx_import_squeeze(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *x, *y;
    bool drop[KILN_MAX_RANK] = {false}, given;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "data", &x));
    KILN_TRY(read_axes(cx, n, x->type.rank, drop, &given));
    int64_t dim[KILN_MAX_RANK];
    int rank = 0;
    for (int i = 0; i < x->type.rank; i++) {
        const int64_t d = x->type.dim[i];
        if (given ? !drop[i] : d != 1)
            dim[rank++] = d;
        else if (d != 1)
            return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                                  "axis %d must have 1 element to be dropped, has "
                                  "%" PRId64,
                                  i, d);
    }
    KILN_TRY(kiln_onnx_reshape(cx, n, x, rank, dim, &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}

kiln_status kiln_onnx_import_unsqueeze(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *x, *y, *v;
    const int64_t *axes = NULL;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "data", &x));
    size_t count = kiln_onnx_attr_ints(cx, n, "axes", &axes);
    if (!kiln_onnx_has_attr(n, "axes")) {
        KILN_TRY(kiln_onnx_need(cx, n, 1, "axes", &v));
        KILN_TRY(kiln_onnx_const_ints(cx, v, "axes", &axes, &count));
    }
    if (count > (size_t)(KILN_MAX_RANK - x->type.rank))
        return kiln_onnx_fail(cx, KILN_ERR_LIMIT,
                              "the result must have rank <= %d, has %zu", KILN_MAX_RANK,
                              count + (size_t)x->type.rank);
    const int rank = x->type.rank + (int)count;
    bool added[KILN_MAX_RANK] = {false}, given;
    KILN_TRY(read_axes(cx, n, rank, added, &given));
    int64_t dim[KILN_MAX_RANK];
    for (int i = 0, from = 0; i < rank; i++)
        dim[i] = added[i] ? 1 : x->type.dim[from++];
    KILN_TRY(kiln_onnx_reshape(cx, n, x, rank, dim, &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}

kiln_status kiln_onnx_import_flatten(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *x, *y;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "input", &x));
    const int rank = x->type.rank;
    int64_t axis = kiln_onnx_attr_i(cx, n, "axis", 1);
    if (axis < -rank || axis > rank)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "axis must be in [%d, %d], is %" PRId64, -rank, rank,
                              axis);
    if (axis < 0)
        axis += rank;
    int64_t dim[2] = {1, 1};
    for (int i = 0; i < rank; i++)
        dim[i < axis ? 0 : 1] *= x->type.dim[i];
    KILN_TRY(kiln_onnx_reshape(cx, n, x, 2, dim, &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}

/* ---- Transpose ---- */

kiln_status kiln_onnx_import_transpose(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *x, *y;
    const int64_t *given = NULL;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "data", &x));
    const int rank = x->type.rank;
    const size_t count = kiln_onnx_attr_ints(cx, n, "perm", &given);
    const bool has_perm = kiln_onnx_has_attr(n, "perm");
    if (has_perm && count != (size_t)rank)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "'perm' must have one entry per axis of 'data' (%d), has "
                              "%zu",
                              rank, count);
    int64_t perm[KILN_MAX_RANK];
    for (int i = 0; i < rank; i++)
        perm[i] = has_perm ? given[i] : rank - 1 - i;
    KILN_TRY(kiln_onnx_transpose(cx, n, x, perm, &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}

/* ---- Expand, ConstantOfShape, Tile ---- */

static kiln_status expand_to(kiln_onnx_cx *cx, const kiln_onnx_node *n, kiln_value *x,
                             int rank, const int64_t *dim, kiln_value **out) {
    const kiln_type want = kiln_type_make(x->type.dtype, rank, dim);
    KILN_TRY(kiln_type_check(&want, kiln_onnx_err(cx)));
    if (kiln_type_same_shape(&want, &x->type)) {
        *out = x;
        return KILN_OK;
    }
    const kiln_attr_arg args[] = {kiln_arg_ints("shape", dim, (size_t)rank)};
    return kiln_onnx_emit1(cx, n, &kiln_op_expand, x, args, 1, out);
}

kiln_status kiln_onnx_import_expand(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *x, *y;
    const int64_t *shape;
    int rank, common;
    int64_t dim[KILN_MAX_RANK];
    KILN_TRY(kiln_onnx_need(cx, n, 0, "input", &x));
    KILN_TRY(read_dims(cx, n, 1, "shape", &shape, &rank));
    /* Both ways: a 1 in `shape` keeps what the input has. */
    const kiln_type want = kiln_type_make(x->type.dtype, rank, shape);
    KILN_TRY(kiln_type_check(&want, kiln_onnx_err(cx)));
    KILN_TRY(kiln_broadcast(&x->type, &want, &common, dim, kiln_onnx_err(cx)));
    KILN_TRY(expand_to(cx, n, x, common, dim, &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}

kiln_status kiln_onnx_import_constant_of_shape(kiln_onnx_cx *cx,
                                               const kiln_onnx_node *n) {
    const int64_t *shape;
    int rank;
    KILN_TRY(read_dims(cx, n, 0, "input", &shape, &rank));
    const kiln_onnx_tensor *t = kiln_onnx_attr_tensor(cx, n, "value");
    kiln_value *value = NULL, *y;
    if (t == NULL)
        value = kiln_onnx_scalar(cx, KILN_F32, 0);
    else
        KILN_TRY(kiln_onnx_make_const(cx, t, &value));
    if (kiln_type_elems(&value->type) != 1)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "'value' must have 1 element, has %" PRId64,
                              kiln_type_elems(&value->type));
    /* Stays an expand of one element: networks make weights of gigabytes this way. */
    KILN_TRY(kiln_onnx_reshape(cx, n, value, 0, NULL, &value));
    KILN_TRY(expand_to(cx, n, value, rank, shape, &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}

kiln_status kiln_onnx_import_tile(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *x, *y;
    const int64_t *repeats;
    int count;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "input", &x));
    KILN_TRY(read_dims(cx, n, 1, "repeats", &repeats, &count));
    const kiln_attr_arg args[] = {kiln_arg_ints("repeats", repeats, (size_t)count)};
    KILN_TRY(kiln_onnx_emit1(cx, n, &kiln_op_tile, x, args, 1, &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}

/* ---- DepthToSpace, SpaceToDepth ---- */

/* Keeps dim * block * block inside int64_t for every dim. */
enum { MAX_BLOCK = 1024 };

/* x reshaped, its axes permuted, and reshaped to four axes. */
static kiln_status shuffle(kiln_onnx_cx *cx, const kiln_onnx_node *n, kiln_value *x,
                           const int64_t *dim, const int64_t *perm,
                           const int64_t *last) {
    kiln_value *y;
    KILN_TRY(kiln_onnx_reshape(cx, n, x, 6, dim, &y));
    KILN_TRY(kiln_onnx_transpose(cx, n, y, perm, &y));
    KILN_TRY(kiln_onnx_reshape(cx, n, y, 4, last, &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}

static kiln_status read_block(kiln_onnx_cx *cx, const kiln_onnx_node *n, kiln_value **x,
                              int64_t *block) {
    KILN_TRY(kiln_onnx_need(cx, n, 0, "input", x));
    *block = kiln_onnx_attr_i(cx, n, "blocksize", 0);
    if (*block < 1 || *block > MAX_BLOCK)
        return kiln_onnx_fail(cx, KILN_ERR_LIMIT,
                              "'blocksize' must be in [1, %d], is %" PRId64, MAX_BLOCK,
                              *block);
    if ((*x)->type.rank != 4)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE, "'input' must have rank 4, has %d",
                              (*x)->type.rank);
    return KILN_OK;
}

kiln_status kiln_onnx_import_depth_to_space(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *x;
    int64_t b;
    KILN_TRY(read_block(cx, n, &x, &b));
    const kiln_str mode = kiln_onnx_attr_s(cx, n, "mode", "DCR");
    const bool is_dcr = kiln_str_is(mode, "DCR");
    if (!is_dcr && !kiln_str_is(mode, "CRD"))
        return kiln_onnx_fail(cx, KILN_ERR_PARSE, "'mode' must be DCR or CRD");
    const int64_t *d = x->type.dim;
    if (d[1] % (b * b) != 0)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "axis 1 must be divisible by blocksize^2 = %" PRId64
                              ", has %" PRId64 " elements",
                              b * b, d[1]);
    const int64_t c = d[1] / (b * b), last[4] = {d[0], c, d[2] * b, d[3] * b};
    const int64_t dcr[6] = {d[0], b, b, c, d[2], d[3]},
                  dcr_perm[6] = {0, 3, 4, 1, 5, 2};
    const int64_t crd[6] = {d[0], c, b, b, d[2], d[3]},
                  crd_perm[6] = {0, 1, 4, 2, 5, 3};
    return shuffle(cx, n, x, is_dcr ? dcr : crd, is_dcr ? dcr_perm : crd_perm, last);
}

kiln_status kiln_onnx_import_space_to_depth(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *x;
    int64_t b;
    KILN_TRY(read_block(cx, n, &x, &b));
    const int64_t *d = x->type.dim;
    if (d[2] % b != 0 || d[3] % b != 0)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "axes 2 and 3 must be divisible by blocksize %" PRId64
                              ", have %" PRId64 " and %" PRId64 " elements",
                              b, d[2], d[3]);
    const int64_t h = d[2] / b, w = d[3] / b;
    const int64_t dim[6] = {d[0], d[1], h, b, w, b}, perm[6] = {0, 3, 5, 1, 2, 4};
    const int64_t last[4] = {d[0], d[1] * b * b, h, w};
    return shuffle(cx, n, x, dim, perm, last);
}
