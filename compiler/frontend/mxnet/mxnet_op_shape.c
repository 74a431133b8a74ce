/* Operators that change shapes: Reshape with its codes, Flatten, transposes, joins,
 * broadcasts, Cast. Source: apache/mxnet 1.9, src/operator/tensor/matrix_op-inl.h
 * (InferReshapeShape), broadcast_reduce_op.h. */
#include "compiler/frontend/mxnet/mxnet_internal.h"

#include <inttypes.h>
#include <string.h>

#define IMPORTER(name)                                                                 \
    kiln_status kiln_mx_import_##name(kiln_mx_cx *cx, const kiln_mx_node *n,           \
                                      kiln_value *const *in, kiln_mx_values *out)

/* ---- Reshape --------------------------------------------------------------------- */

/* A shape in the making. */
typedef struct made_shape {
    int64_t dim[KILN_MX_MAX_TUPLE];
    int rank, open; /* open: place of -1, or -1 */
} made_shape;

static bool put(made_shape *m, int64_t dim) {
    if (m->rank == KILN_MAX_RANK)
        return false;
    m->dim[m->rank++] = dim;
    return true;
}

/* -4 a b: one axis becomes two, of which one may be -1. */
static bool split(made_shape *m, int64_t whole, int64_t a, int64_t b) {
    if (a == -1 && b > 0)
        a = whole / b;
    else if (b == -1 && a > 0)
        b = whole / a;
    return a > 0 && b > 0 && whole % a == 0 && whole / a == b && put(m, a) && put(m, b);
}

/* Codes: 0 keeps an axis, -1 is what is left, -2 keeps all that follow, -3 joins two, -4
 * splits one. */
static bool apply(const int64_t *code, size_t n_code, const int64_t *dim, int rank,
                  made_shape *m) {
    int at = 0; /* of the input */
    m->rank = 0;
    m->open = -1;
    for (size_t i = 0; i < n_code; i++) {
        bool ok = code[i] >= -4;
        if (code[i] == -1) {
            ok = m->open < 0;
            m->open = m->rank;
            at++;
            ok = ok && put(m, 1);
        } else if (code[i] == -2) {
            for (; ok && at < rank; at++)
                ok = put(m, dim[at]);
        } else if (code[i] == -3) {
            ok = at + 1 < rank && put(m, dim[at] * dim[at + 1]);
            at += 2;
        } else if (code[i] == -4) {
            ok = at < rank && i + 2 < n_code &&
                 split(m, dim[at], code[i + 1], code[i + 2]);
            i += 2;
            at++;
        } else if (ok) {
            ok = code[i] > 0 ? code[i] <= KILN_MAX_ELEMS : at < rank;
            ok = ok && put(m, code[i] > 0 ? code[i] : dim[at]);
            at++;
        }
        if (!ok)
            return false;
    }
    return true;
}

static void turn(int64_t *v, size_t n) {
    for (size_t i = 0; i < n / 2; i++) {
        const int64_t t = v[i];
        v[i] = v[n - 1 - i];
        v[n - 1 - i] = t;
    }
}

/* What -1 stands for; false: there is none. */
static bool settle(made_shape *m, int64_t whole) {
    int64_t given = 1;
    for (int i = 0; i < m->rank; i++) {
        if (i == m->open)
            continue;
        if (m->dim[i] != 0 && given > KILN_MAX_ELEMS / m->dim[i])
            return false;
        given *= m->dim[i];
    }
    if (m->open < 0)
        return given == whole;
    if (given == 0 || whole % given != 0)
        return false;
    m->dim[m->open] = whole / given;
    return true;
}

IMPORTER(reshape) {
    kiln_compose c = kiln_mx_compose(cx, n);
    const kiln_type t = in[0]->type;
    int64_t code[KILN_MX_MAX_TUPLE], dim[KILN_MAX_RANK];
    size_t n_code = kiln_mx_tuple(cx, n, "shape", code);
    const bool is_reverse = kiln_mx_bool(cx, n, "reverse", false);
    made_shape m;
    int64_t old[KILN_MX_MAX_TUPLE]; /* of old: 0 is what is left */
    const size_t n_old = kiln_mx_tuple(cx, n, "target_shape", old);
    (void)kiln_mx_bool(cx, n, "keep_highest", false);
    for (size_t i = 0; n_code == 0 && n_old > 0 && i < n_old; i++)
        code[i] = old[i] == 0 ? -1 : old[i];
    if (n_code == 0)
        n_code = n_old;
    memcpy(dim, t.dim, sizeof dim);
    if (is_reverse) {
        turn(dim, (size_t)t.rank);
        turn(code, n_code);
        /* -4 a b comes out as b a -4 */
        for (size_t i = 2; i < n_code; i++)
            if (code[i] == -4) {
                code[i] = code[i - 1];
                code[i - 1] = code[i - 2];
                code[i - 2] = -4;
            }
    }
    if (n_code == 0 || !apply(code, n_code, dim, t.rank, &m) ||
        !settle(&m, kiln_type_elems(&t)))
        return kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                         "attribute 'shape' does not fit its input, of shape %s",
                         kiln_mx_shape(cx, in[0]));
    if (is_reverse)
        turn(m.dim, (size_t)m.rank);
    out->v[0] = kiln_compose_reshape(&c, in[0], m.rank, m.dim);
    return c.status;
}

IMPORTER(reshape_like) {
    static const char *const parts[] = {"lhs_begin", "lhs_end", "rhs_begin", "rhs_end"};
    kiln_compose c = kiln_mx_compose(cx, n);
    for (size_t i = 0; i < 4; i++)
        if (kiln_mx_text(cx, n, parts[i]) != NULL)
            return kiln_fail(cx->common.err, KILN_ERR_UNSUPPORTED,
                             "attribute '%s' is not read", parts[i]);
    out->v[0] = kiln_compose_reshape(&c, in[0], in[1]->type.rank, in[1]->type.dim);
    return c.status;
}

IMPORTER(flatten) {
    kiln_compose c = kiln_mx_compose(cx, n);
    const kiln_type t = in[0]->type;
    KILN_TRY(kiln_mx_need_rank(cx, in[0], 1));
    int64_t dim[] = {t.dim[0], 1};
    for (int i = 1; i < t.rank; i++)
        dim[1] *= t.dim[i];
    out->v[0] = kiln_compose_reshape(&c, in[0], 2, dim);
    return c.status;
}

IMPORTER(expand_dims) {
    kiln_compose c = kiln_mx_compose(cx, n);
    const kiln_type t = in[0]->type;
    const int64_t given = kiln_mx_int(cx, n, "axis", 0);
    int64_t dim[KILN_MAX_RANK + 1];
    int axis;
    KILN_TRY(kiln_mx_axis(cx, "axis", given, t.rank + 1, &axis));
    if (t.rank == KILN_MAX_RANK)
        return kiln_fail(cx->common.err, KILN_ERR_LIMIT, "a value may have %d axes",
                         KILN_MAX_RANK);
    for (int i = 0; i <= t.rank; i++)
        dim[i] = i < axis ? t.dim[i] : i == axis ? 1 : t.dim[i - 1];
    out->v[0] = kiln_compose_reshape(&c, in[0], t.rank + 1, dim);
    return c.status;
}

/* Axes of 1: those that are named, or all. */
IMPORTER(squeeze) {
    kiln_compose c = kiln_mx_compose(cx, n);
    const kiln_type t = in[0]->type;
    int64_t given[KILN_MX_MAX_TUPLE], dim[KILN_MAX_RANK] = {0};
    const size_t count = kiln_mx_tuple(cx, n, "axis", given);
    bool goes[KILN_MAX_RANK] = {false};
    int rank = 0;
    for (size_t i = 0; i < count; i++) {
        int axis;
        KILN_TRY(kiln_mx_axis(cx, "axis", given[i], t.rank, &axis));
        goes[axis] = true;
    }
    for (int i = 0; i < t.rank; i++) {
        if (count > 0 && goes[i] && t.dim[i] != 1)
            return kiln_fail(cx->common.err, KILN_ERR_SHAPE, "axis %d of %s is not 1",
                             i, kiln_mx_shape(cx, in[0]));
        if (!(count > 0 ? goes[i] : t.dim[i] == 1))
            dim[rank++] = t.dim[i];
    }
    if (rank == 0) /* MXNet has no scalars */
        dim[rank++] = 1;
    out->v[0] = kiln_compose_reshape(&c, in[0], rank, dim);
    return c.status;
}

/* ---- axes in another order ------------------------------------------------------- */

IMPORTER(transpose) {
    kiln_compose c = kiln_mx_compose(cx, n);
    const int rank = in[0]->type.rank;
    int64_t given[KILN_MX_MAX_TUPLE], perm[KILN_MAX_RANK];
    const size_t count = kiln_mx_tuple(cx, n, "axes", given);
    bool is_used[KILN_MAX_RANK] = {false};
    if (count != 0 && count != (size_t)rank)
        return kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                         "attribute 'axes' must name the %d axes of its input, has %zu",
                         rank, count);
    for (int i = 0; i < rank; i++) {
        int axis = rank - 1 - i;
        if (count != 0)
            KILN_TRY(kiln_mx_axis(cx, "axes", given[i], rank, &axis));
        if (is_used[axis])
            return kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                             "attribute 'axes' names axis %d twice", axis);
        is_used[axis] = true;
        perm[i] = axis;
    }
    out->v[0] = kiln_compose_transpose(&c, in[0], perm);
    return c.status;
}

IMPORTER(swap_axis) {
    kiln_compose c = kiln_mx_compose(cx, n);
    const int rank = in[0]->type.rank;
    const int64_t first = kiln_mx_int(cx, n, "dim1", 0),
                  second = kiln_mx_int(cx, n, "dim2", 0);
    int64_t perm[KILN_MAX_RANK];
    int a, b;
    KILN_TRY(kiln_mx_axis(cx, "dim1", first, rank, &a));
    KILN_TRY(kiln_mx_axis(cx, "dim2", second, rank, &b));
    for (int i = 0; i < rank; i++)
        perm[i] = i == a ? b : i == b ? a : i;
    out->v[0] = kiln_compose_transpose(&c, in[0], perm);
    return c.status;
}

/* Channels in blocks become squares, and back: [N, b, b, C, H, W] on the way. */
static kiln_status read_block(kiln_mx_cx *cx, const kiln_mx_node *n,
                              const kiln_value *x, bool is_deep, int64_t *block) {
    const kiln_type *const t = &x->type;
    *block = kiln_mx_int(cx, n, "block_size", 0);
    const bool ok = t->rank == 4 && *block >= 1 && *block <= INT32_MAX &&
                    (is_deep ? t->dim[1] % (*block * *block) == 0
                             : t->dim[2] % *block == 0 && t->dim[3] % *block == 0);
    return ok ? KILN_OK
              : kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                          "attribute 'block_size', %" PRId64 ", does not divide %s",
                          *block, kiln_mx_shape(cx, x));
}

IMPORTER(depth_to_space) {
    static const int64_t perm[] = {0, 3, 4, 1, 5, 2};
    kiln_compose c = kiln_mx_compose(cx, n);
    int64_t b;
    KILN_TRY(read_block(cx, n, in[0], true, &b));
    const int64_t *const d = in[0]->type.dim;
    const int64_t wide[] = {d[0], b, b, d[1] / (b * b), d[2], d[3]};
    const int64_t made[] = {d[0], d[1] / (b * b), d[2] * b, d[3] * b};
    kiln_value *const y = kiln_compose_reshape(&c, in[0], 6, wide);
    out->v[0] = kiln_compose_reshape(&c, kiln_compose_transpose(&c, y, perm), 4, made);
    return c.status;
}

IMPORTER(space_to_depth) {
    static const int64_t perm[] = {0, 3, 5, 1, 2, 4};
    kiln_compose c = kiln_mx_compose(cx, n);
    int64_t b;
    KILN_TRY(read_block(cx, n, in[0], false, &b));
    const int64_t *const d = in[0]->type.dim;
    const int64_t wide[] = {d[0], d[1], d[2] / b, b, d[3] / b, b};
    const int64_t made[] = {d[0], d[1] * b * b, d[2] / b, d[3] / b};
    kiln_value *const y = kiln_compose_reshape(&c, in[0], 6, wide);
    out->v[0] = kiln_compose_reshape(&c, kiln_compose_transpose(&c, y, perm), 4, made);
    return c.status;
}

/* ---- joins and repeats ----------------------------------------------------------- */

IMPORTER(concat) {
    kiln_compose c = kiln_mx_compose(cx, n);
    const int64_t given = kiln_mx_int(cx, n, "dim", 1);
    int axis;
    KILN_TRY(kiln_mx_axis(cx, "dim", given, in[0]->type.rank, &axis));
    const kiln_attr_arg arg = kiln_arg_int("axis", axis);
    out->v[0] = n->n_in == 1
                    ? in[0]
                    : kiln_compose_op(&c, &kiln_op_concat, in, (int)n->n_in, &arg, 1);
    return c.status;
}

IMPORTER(stack) {
    kiln_compose c = kiln_mx_compose(cx, n);
    const kiln_type t = in[0]->type;
    const int64_t given = kiln_mx_int(cx, n, "axis", 0);
    int64_t dim[KILN_MAX_RANK + 1];
    int axis;
    KILN_TRY(kiln_mx_axis(cx, "axis", given, t.rank + 1, &axis));
    if (t.rank == KILN_MAX_RANK)
        return kiln_fail(cx->common.err, KILN_ERR_LIMIT, "a value may have %d axes",
                         KILN_MAX_RANK);
    kiln_value **const part = kiln_array(&cx->common.scratch, kiln_value *, n->n_in);
    for (size_t i = 0; i < n->n_in; i++) {
        if (!kiln_type_same_shape(&t, &in[i]->type))
            return kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                             "its inputs must have one shape, have %s and %s",
                             kiln_mx_shape(cx, in[0]), kiln_mx_shape(cx, in[i]));
        for (int k = 0; k <= t.rank; k++)
            dim[k] = k < axis ? t.dim[k] : k == axis ? 1 : t.dim[k - 1];
        part[i] = kiln_compose_reshape(&c, in[i], t.rank + 1, dim);
    }
    const kiln_attr_arg arg = kiln_arg_int("axis", axis);
    out->v[0] = n->n_in == 1
                    ? part[0]
                    : kiln_compose_op(&c, &kiln_op_concat, part, (int)n->n_in, &arg, 1);
    return c.status;
}

IMPORTER(tile) {
    kiln_compose c = kiln_mx_compose(cx, n);
    const kiln_type t = in[0]->type;
    int64_t given[KILN_MX_MAX_TUPLE], repeats[KILN_MAX_RANK], dim[KILN_MAX_RANK];
    const int count = (int)kiln_mx_tuple(cx, n, "reps", given);
    const int rank = count > t.rank ? count : t.rank;
    if (rank > KILN_MAX_RANK)
        return kiln_fail(cx->common.err, KILN_ERR_LIMIT, "a value may have %d axes",
                         KILN_MAX_RANK);
    for (int i = 0; i < rank; i++) {
        const int old = i - (rank - t.rank), given_at = i - (rank - count);
        dim[i] = old >= 0 ? t.dim[old] : 1;
        repeats[i] = given_at >= 0 ? given[given_at] : 1;
        if (repeats[i] < 1)
            return kiln_fail(cx->common.err, KILN_ERR_PARSE,
                             "attribute 'reps' must be 1 or more, has %" PRId64,
                             repeats[i]);
    }
    kiln_value *const x = kiln_compose_reshape(&c, in[0], rank, dim);
    const kiln_attr_arg arg = kiln_arg_ints("repeats", repeats, (size_t)rank);
    out->v[0] = kiln_compose_op(&c, &kiln_op_tile, &x, 1, &arg, 1);
    return c.status;
}

/* 0 keeps an axis. */
IMPORTER(broadcast_to) {
    kiln_compose c = kiln_mx_compose(cx, n);
    const kiln_type t = in[0]->type;
    int64_t dim[KILN_MX_MAX_TUPLE];
    const size_t count = kiln_mx_tuple(cx, n, "shape", dim);
    if (count != (size_t)t.rank)
        return kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                         "attribute 'shape' must have %d numbers, has %zu", t.rank,
                         count);
    for (int i = 0; i < t.rank; i++)
        dim[i] = dim[i] == 0 ? t.dim[i] : dim[i];
    out->v[0] = kiln_compose_expand(&c, in[0], t.rank, dim);
    return c.status;
}

IMPORTER(broadcast_like) {
    kiln_compose c = kiln_mx_compose(cx, n);
    if (kiln_mx_text(cx, n, "lhs_axes") != NULL ||
        kiln_mx_text(cx, n, "rhs_axes") != NULL)
        return kiln_fail(cx->common.err, KILN_ERR_UNSUPPORTED,
                         "attributes 'lhs_axes' and 'rhs_axes' are not read");
    out->v[0] = kiln_compose_expand(&c, in[0], in[1]->type.rank, in[1]->type.dim);
    return c.status;
}

IMPORTER(broadcast_axis) {
    kiln_compose c = kiln_mx_compose(cx, n);
    const kiln_type t = in[0]->type;
    int64_t axes[KILN_MX_MAX_TUPLE], sizes[KILN_MX_MAX_TUPLE], dim[KILN_MAX_RANK];
    const size_t count = kiln_mx_tuple(cx, n, "axis", axes);
    if (kiln_mx_tuple(cx, n, "size", sizes) != count)
        return kiln_fail(cx->common.err, KILN_ERR_PARSE,
                         "attributes 'axis' and 'size' must have as many numbers");
    memcpy(dim, t.dim, sizeof dim);
    for (size_t i = 0; i < count; i++) {
        int axis;
        KILN_TRY(kiln_mx_axis(cx, "axis", axes[i], t.rank, &axis));
        dim[axis] = sizes[i];
    }
    out->v[0] = kiln_compose_expand(&c, in[0], t.rank, dim);
    return c.status;
}

IMPORTER(cast) {
    static const struct {
        const char *name;
        kiln_dtype dtype;
    } words[] = {{"float32", KILN_F32}, {"float64", KILN_F64}, {"float16", KILN_F16},
                 {"uint8", KILN_U8},    {"int8", KILN_I8},     {"int32", KILN_I32},
                 {"int64", KILN_I64},   {"bool", KILN_BOOL},   {"bfloat16", KILN_BF16}};
    kiln_compose c = kiln_mx_compose(cx, n);
    const char *const text = kiln_mx_text(cx, n, "dtype");
    for (size_t i = 0; text != NULL && i < sizeof words / sizeof words[0]; i++)
        if (strcmp(text, words[i].name) == 0) {
            out->v[0] = kiln_compose_cast(&c, in[0], words[i].dtype);
            return c.status;
        }
    return kiln_fail(cx->common.err, KILN_ERR_UNSUPPORTED,
                     "attribute 'dtype' must name a type that kiln has, is '%s'",
                     text == NULL ? ""
                                  : kiln_import_show(&cx->common, kiln_str_from(text)));
}
