/* Operators on each element, and FullyConnected, Embedding and the products of matrices.
 * Source: apache/mxnet 1.9, src/operator/tensor, src/operator/nn, leaky_relu-inl.h. */
#include "compiler/frontend/mxnet/mxnet_internal.h"

#include <inttypes.h>
#include <string.h>

#define IMPORTER(name)                                                                 \
    kiln_status kiln_mx_import_##name(kiln_mx_cx *cx, const kiln_mx_node *n,           \
                                      kiln_value *const *in, kiln_mx_values *out)

IMPORTER(same) {
    (void)cx;
    (void)n;
    out->v[0] = in[0];
    return KILN_OK;
}

IMPORTER(dropout) {
    const char *const mode = kiln_mx_text(cx, n, "mode");
    (void)kiln_mx_float(cx, n, "p", 0.5);
    (void)kiln_mx_text(cx, n, "axes");
    if (mode != NULL && strcmp(mode, "training") != 0)
        return kiln_fail(cx->common.err, KILN_ERR_UNSUPPORTED,
                         "'mode' must be training: kiln draws no lots");
    out->v[0] = in[0];
    return KILN_OK;
}

IMPORTER(logistic) {
    kiln_compose c = kiln_mx_compose(cx, n);
    out->v[0] = kiln_compose_1(&c, &kiln_op_sigmoid, in[0]);
    return c.status;
}

IMPORTER(unary) {
    kiln_compose c = kiln_mx_compose(cx, n);
    out->v[0] = kiln_compose_1(&c, cx->row->emits, in[0]);
    return c.status;
}

IMPORTER(square) {
    kiln_compose c = kiln_mx_compose(cx, n);
    out->v[0] = kiln_compose_2(&c, &kiln_op_mul, in[0], in[0]);
    return c.status;
}

IMPORTER(log1p) {
    kiln_compose c = kiln_mx_compose(cx, n);
    out->v[0] = kiln_compose_scalar(&c, &kiln_op_add, in[0], 1);
    out->v[0] = kiln_compose_1(&c, &kiln_op_log, out->v[0]);
    return c.status;
}

static kiln_value *filled(kiln_compose *c, const kiln_value *like, double v) {
    return kiln_compose_expand(c, kiln_import_scalar(c->cx, like->type.dtype, v),
                               like->type.rank, like->type.dim);
}

IMPORTER(ones_like) {
    kiln_compose c = kiln_mx_compose(cx, n);
    out->v[0] = filled(&c, in[0], 1);
    return c.status;
}

IMPORTER(zeros_like) {
    kiln_compose c = kiln_mx_compose(cx, n);
    out->v[0] = filled(&c, in[0], 0);
    return c.status;
}

IMPORTER(activation) {
    static const char *const words[] = {"relu",     "sigmoid", "tanh", "softrelu",
                                        "softsign", "mish",    NULL};
    static const kiln_op_def *const ops[] = {&kiln_op_relu,     &kiln_op_sigmoid,
                                             &kiln_op_tanh,     &kiln_op_softplus,
                                             &kiln_op_softsign, &kiln_op_mish};
    kiln_compose c = kiln_mx_compose(cx, n);
    out->v[0] = kiln_compose_1(&c, ops[kiln_mx_word(cx, n, "act_type", words)], in[0]);
    return c.status;
}

/* A slope for each channel, or one. */
static kiln_status prelu(kiln_mx_cx *cx, kiln_compose *c, const kiln_mx_node *n,
                         kiln_value *const *in, kiln_value **out) {
    const int rank = in[0]->type.rank;
    int64_t dim[KILN_MAX_RANK];
    if (n->n_in < 2)
        return kiln_fail(cx->common.err, KILN_ERR_PARSE,
                         "'act_type' prelu must have an input of slopes");
    const int64_t size = kiln_type_elems(&in[1]->type);
    const int64_t channels = rank > 1 ? in[0]->type.dim[1] : 1;
    if (in[1]->type.rank != 1 || (size != 1 && size != channels))
        return kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                         "its slopes must have shape [1] or [%" PRId64 "], have %s",
                         channels, kiln_mx_shape(cx, in[1]));
    for (int i = 1; i < rank; i++)
        dim[i - 1] = i == 1 ? size : 1;
    kiln_value *const slope =
        kiln_compose_reshape(c, in[1], rank > 1 ? rank - 1 : 1, rank > 1 ? dim : &size);
    *out = kiln_compose_2(c, &kiln_op_prelu, in[0], slope);
    return c->status;
}

IMPORTER(leaky_relu) {
    enum { LEAKY, PRELU, ELU, SELU, GELU, RRELU };
    static const char *const words[] = {"leaky", "prelu", "elu", "selu",
                                        "gelu",  "rrelu", NULL};
    kiln_compose c = kiln_mx_compose(cx, n);
    const int type = kiln_mx_word(cx, n, "act_type", words);
    const double slope = kiln_mx_float(cx, n, "slope", 0.25);
    /* RReLU draws a slope in training; in use it is the middle. */
    const double lower = kiln_mx_float(cx, n, "lower_bound", 0.125),
                 upper = kiln_mx_float(cx, n, "upper_bound", 0.334);
    const kiln_attr_arg alpha =
        kiln_arg_float("alpha", type == RRELU ? (lower + upper) / 2 : slope);
    if (type == PRELU)
        return prelu(cx, &c, n, in, &out->v[0]);
    if (type == SELU || type == GELU)
        out->v[0] =
            kiln_compose_1(&c, type == SELU ? &kiln_op_selu : &kiln_op_gelu, in[0]);
    else
        out->v[0] = kiln_compose_op(
            &c, type == ELU ? &kiln_op_elu : &kiln_op_leaky_relu, in, 1, &alpha, 1);
    return c.status;
}

IMPORTER(hard_sigmoid) {
    kiln_compose c = kiln_mx_compose(cx, n);
    const kiln_attr_arg args[] = {
        kiln_arg_float("alpha", kiln_mx_float(cx, n, "alpha", 0.2)),
        kiln_arg_float("beta", kiln_mx_float(cx, n, "beta", 0.5))};
    out->v[0] = kiln_compose_op(&c, &kiln_op_hard_sigmoid, in, 1, args, 2);
    return c.status;
}

IMPORTER(clip) {
    kiln_compose c = kiln_mx_compose(cx, n);
    const double min = kiln_mx_float(cx, n, "a_min", 0),
                 max = kiln_mx_float(cx, n, "a_max", 0);
    if (!(min <= max))
        return kiln_fail(cx->common.err, KILN_ERR_PARSE,
                         "'a_min', %g, must not be above 'a_max', %g", min, max);
    const kiln_attr_arg args[] = {kiln_arg_float("min", min),
                                  kiln_arg_float("max", max)};
    out->v[0] = kiln_compose_op(&c, &kiln_op_clip, in, 1, args, 2);
    return c.status;
}

/* ---- of two ---------------------------------------------------------------------- */

static kiln_status need_two(kiln_mx_cx *cx, const kiln_mx_node *n) {
    return n->n_in == 2 ? KILN_OK
                        : kiln_fail(cx->common.err, KILN_ERR_PARSE,
                                    "it must have 2 inputs, has %zu", n->n_in);
}

IMPORTER(binary) {
    kiln_compose c = kiln_mx_compose(cx, n);
    KILN_TRY(need_two(cx, n));
    out->v[0] = kiln_compose_2(&c, cx->row->emits, in[0], in[1]);
    return c.status;
}

/* MXNet's comparisons give numbers of the inputs' type. */
IMPORTER(compare) {
    kiln_compose c = kiln_mx_compose(cx, n);
    KILN_TRY(need_two(cx, n));
    kiln_value *const y = kiln_compose_2(&c, cx->row->emits, in[0], in[1]);
    out->v[0] = kiln_compose_cast(&c, y, in[0]->type.dtype);
    return c.status;
}

static double read_scalar(kiln_mx_cx *cx, const kiln_mx_node *n) {
    (void)kiln_mx_bool(cx, n, "is_int", false);
    return kiln_mx_float(cx, n, "scalar", 0);
}

IMPORTER(scalar) {
    kiln_compose c = kiln_mx_compose(cx, n);
    out->v[0] = kiln_compose_scalar(&c, cx->row->emits, in[0], read_scalar(cx, n));
    return c.status;
}

IMPORTER(scalar_first) {
    kiln_compose c = kiln_mx_compose(cx, n);
    kiln_value *const v =
        kiln_import_scalar(&cx->common, in[0]->type.dtype, read_scalar(cx, n));
    out->v[0] = kiln_compose_2(&c, cx->row->emits, v, in[0]);
    return c.status;
}

IMPORTER(compare_scalar) {
    kiln_compose c = kiln_mx_compose(cx, n);
    kiln_value *const y =
        kiln_compose_scalar(&c, cx->row->emits, in[0], read_scalar(cx, n));
    out->v[0] = kiln_compose_cast(&c, y, in[0]->type.dtype);
    return c.status;
}

IMPORTER(sum_of_all) {
    kiln_compose c = kiln_mx_compose(cx, n);
    out->v[0] = in[0];
    for (size_t i = 1; i < n->n_in; i++)
        out->v[0] = kiln_compose_2(&c, &kiln_op_add, out->v[0], in[i]);
    return c.status;
}

/* A number that is not 0 is true; of rank 1 it chooses rows. */
IMPORTER(where) {
    kiln_compose c = kiln_mx_compose(cx, n);
    const kiln_type *const t = &in[1]->type;
    int64_t dim[KILN_MAX_RANK];
    kiln_value *cond = in[0];
    if (cond->type.rank == 1 && t->rank > 1) {
        for (int i = 0; i < t->rank; i++)
            dim[i] = i == 0 ? cond->type.dim[0] : 1;
        cond = kiln_compose_reshape(&c, cond, t->rank, dim);
    }
    cond = kiln_compose_cast(&c, cond, KILN_BOOL);
    out->v[0] = kiln_compose_where(&c, cond, in[1], in[2]);
    return c.status;
}

/* ---- products -------------------------------------------------------------------- */

/* x of shape [N, ...] by weights [num_hidden, k]; flatten False: along the last axis. */
IMPORTER(fully_connected) {
    kiln_compose c = kiln_mx_compose(cx, n);
    const kiln_type t = in[0]->type, *const w = &in[1]->type;
    const int64_t hidden = kiln_mx_int(cx, n, "num_hidden", 0);
    const bool no_bias = kiln_mx_bool(cx, n, "no_bias", false);
    const bool flattens = kiln_mx_bool(cx, n, "flatten", true);
    int64_t made[KILN_MAX_RANK], flat[] = {1, 1};
    KILN_TRY(kiln_mx_need_rank(cx, in[0], 1));
    const int axis = flattens ? 1 : t.rank - 1;
    for (int i = 0; i < t.rank; i++) {
        flat[i >= axis] *= t.dim[i];
        made[i] = t.dim[i];
    }
    if (w->rank != 2 || w->dim[0] != hidden || w->dim[1] != flat[1])
        return kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                         "its weights must have shape [%" PRId64 ",%" PRId64
                         "], have %s",
                         hidden, flat[1], kiln_mx_shape(cx, in[1]));
    if (!no_bias && n->n_in < 3)
        return kiln_fail(cx->common.err, KILN_ERR_PARSE,
                         "it must have a bias, or 'no_bias' True");
    kiln_value *const from[] = {kiln_compose_reshape(&c, in[0], 2, flat), in[1],
                                no_bias ? NULL : in[2]};
    const kiln_attr_arg trans = kiln_arg_bool("trans_b", true);
    out->v[0] = kiln_compose_op(&c, &kiln_op_gemm, from, 3, &trans, 1);
    if (axis < KILN_MAX_RANK)
        made[axis] = hidden;
    out->v[0] = kiln_compose_reshape(&c, out->v[0], axis + 1, made);
    return c.status;
}

/* Indices are numbers of any type, brought into range as MXNet's mode clip does. */
static kiln_value *rows_of(kiln_compose *c, kiln_value *table, kiln_value *at,
                           int axis) {
    const double last = (double)table->type.dim[axis] - 1;
    at = kiln_compose_scalar(c, &kiln_op_max, at, 0);
    at = kiln_compose_scalar(c, &kiln_op_min, at, last);
    at = kiln_compose_cast(c, at, KILN_I64);
    return kiln_compose_axis(c, &kiln_op_gather, table, at, axis);
}

IMPORTER(embedding) {
    kiln_compose c = kiln_mx_compose(cx, n);
    const int64_t dim[] = {kiln_mx_int(cx, n, "input_dim", 0),
                           kiln_mx_int(cx, n, "output_dim", 0)};
    (void)kiln_mx_text(cx, n, "dtype"); /* of the weights, which say so themselves */
    const kiln_type *const w = &in[1]->type;
    if (w->rank != 2 || w->dim[0] != dim[0] || w->dim[1] != dim[1] || dim[0] < 1)
        return kiln_fail(
            cx->common.err, KILN_ERR_SHAPE, "its weights must have shape %s, have %s",
            kiln_shape_text(&cx->common.scratch, 2, dim), kiln_mx_shape(cx, in[1]));
    out->v[0] = rows_of(&c, in[1], in[0], 0);
    return c.status;
}

IMPORTER(take) {
    static const char *const modes[] = {"clip", "raise", NULL};
    kiln_compose c = kiln_mx_compose(cx, n);
    const int64_t given = kiln_mx_int(cx, n, "axis", 0);
    int axis;
    (void)kiln_mx_word(cx, n, "mode", modes);
    KILN_TRY(kiln_mx_axis(cx, "axis", given, in[0]->type.rank, &axis));
    if (in[0]->type.dim[axis] < 1)
        return kiln_fail(cx->common.err, KILN_ERR_SHAPE, "nothing is taken of %s",
                         kiln_mx_shape(cx, in[0]));
    out->v[0] = rows_of(&c, in[0], in[1], axis);
    return c.status;
}

static kiln_value *swap_last(kiln_compose *c, kiln_value *x) {
    int64_t perm[KILN_MAX_RANK];
    const int rank = x->type.rank;
    if (rank < 2)
        return x;
    for (int i = 0; i < rank; i++)
        perm[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
    return kiln_compose_transpose(c, x, perm);
}

IMPORTER(batch_dot) {
    kiln_compose c = kiln_mx_compose(cx, n);
    const bool turn_a = kiln_mx_bool(cx, n, "transpose_a", false),
               turn_b = kiln_mx_bool(cx, n, "transpose_b", false);
    KILN_TRY(kiln_mx_need_rank(cx, in[0], 3));
    KILN_TRY(kiln_mx_need_rank(cx, in[1], 3));
    kiln_value *const a = turn_a ? swap_last(&c, in[0]) : in[0], *const b =
                                                                     turn_b ? swap_last(
                                                                                  &c,
                                                                                  in[1])
                                                                            : in[1];
    out->v[0] = kiln_compose_2(&c, &kiln_op_matmul, a, b);
    return c.status;
}

/* Of matrices and lists: of more axes, MXNet's dot is a tensor product of another kind. */
IMPORTER(dot) {
    kiln_compose c = kiln_mx_compose(cx, n);
    const bool turn_a = kiln_mx_bool(cx, n, "transpose_a", false),
               turn_b = kiln_mx_bool(cx, n, "transpose_b", false);
    if (in[0]->type.rank < 1 || in[0]->type.rank > 2 || in[1]->type.rank < 1 ||
        in[1]->type.rank > 2)
        return kiln_fail(cx->common.err, KILN_ERR_UNSUPPORTED,
                         "its inputs must have 1 or 2 axes, have shapes %s and %s",
                         kiln_mx_shape(cx, in[0]), kiln_mx_shape(cx, in[1]));
    kiln_value *const a = turn_a ? swap_last(&c, in[0]) : in[0], *const b =
                                                                     turn_b ? swap_last(
                                                                                  &c,
                                                                                  in[1])
                                                                            : in[1];
    static const int64_t one = 1;
    kiln_value *const y = kiln_compose_2(&c, &kiln_op_matmul, a, b);
    out->v[0] = y->type.rank == 0 ? kiln_compose_reshape(&c, y, 1, &one) : y;
    return c.status;
}
