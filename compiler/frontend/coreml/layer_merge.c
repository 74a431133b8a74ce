/* Layers that take several values of shapes that stretch to one: sums, products,
 * comparisons, choices. Source: NeuralNetwork.proto. */
#include "compiler/frontend/coreml/coreml_internal.h"

#include "compiler/frontend/protobuf_table.h"

typedef struct alpha {
    float alpha;
    bool has_alpha;
} alpha;

static const kiln_pb_field first_fields[] = {
    FIELD_HAS(1, alpha, alpha, KILN_PB_F32, has_alpha),
};
static const kiln_pb_message first_message =
    MESSAGE("AddLayerParams", alpha, first_fields);

static const kiln_pb_field second_fields[] = {
    FIELD_HAS(2, alpha, alpha, KILN_PB_F32, has_alpha),
};
static const kiln_pb_message second_message =
    MESSAGE("GreaterThanLayerParams", alpha, second_fields);

static kiln_value *fold(kiln_coreml_call *k, const kiln_op_def *op) {
    kiln_value *y = k->in[0];
    for (int i = 1; i < k->n_in; i++)
        y = kiln_compose_2(&k->c, op, y, k->in[i]);
    return y;
}

kiln_status kiln_coreml_import_fold(kiln_coreml_call *k) {
    k->out[0] = fold(k, k->op);
    return k->c.status;
}

/* One input: with a number. */
static kiln_status fold_or(kiln_coreml_call *k, const kiln_op_def *op) {
    alpha p;
    KILN_TRY(kiln_coreml_params(k, &first_message, &p));
    k->out[0] = k->n_in > 1 ? fold(k, op)
                            : kiln_compose_scalar(&k->c, op, k->in[0], (double)p.alpha);
    return k->c.status;
}

kiln_status kiln_coreml_import_add(kiln_coreml_call *k) {
    return fold_or(k, &kiln_op_add);
}

kiln_status kiln_coreml_import_multiply(kiln_coreml_call *k) {
    return fold_or(k, &kiln_op_mul);
}

kiln_status kiln_coreml_import_average(kiln_coreml_call *k) {
    kiln_value *const sum = fold(k, &kiln_op_add);
    k->out[0] = k->n_in == 1
                    ? sum
                    : kiln_compose_scalar(&k->c, &kiln_op_mul, sum, 1.0 / k->n_in);
    return k->c.status;
}

kiln_status kiln_coreml_import_floor_div(kiln_coreml_call *k) {
    k->out[0] = kiln_compose_1(&k->c, &kiln_op_floor,
                               kiln_compose_2(&k->c, &kiln_op_div, k->in[0], k->in[1]));
    return k->c.status;
}

/* ---- truth, which is 0 and 1 in a network of floats ------------------------------ */

static kiln_value *as_bool(kiln_coreml_call *k, kiln_value *x) {
    if (x->type.dtype == KILN_BOOL)
        return x;
    kiln_value *const is_zero = kiln_compose_scalar(&k->c, &kiln_op_equal, x, 0);
    return kiln_compose_1(&k->c, &kiln_op_logical_not, is_zero);
}

static kiln_status set_truth(kiln_coreml_call *k, kiln_value *y) {
    k->out[0] = kiln_compose_cast(&k->c, y, KILN_F32);
    return k->c.status;
}

static kiln_value *other_side(kiln_coreml_call *k, const alpha *p) {
    return k->n_in > 1 ? k->in[1]
                       : kiln_import_scalar(k->c.cx, KILN_F32, (double)p->alpha);
}

kiln_status kiln_coreml_import_compare(kiln_coreml_call *k) {
    alpha p;
    KILN_TRY(kiln_coreml_params(k, &second_message, &p));
    return set_truth(k, kiln_compose_2(&k->c, k->op, k->in[0], other_side(k, &p)));
}

/* Without an operator of the row: not equal. */
kiln_status kiln_coreml_import_compare_equal(kiln_coreml_call *k) {
    alpha p;
    KILN_TRY(kiln_coreml_params(k, &first_message, &p));
    kiln_value *y = kiln_compose_2(&k->c, &kiln_op_equal, k->in[0], other_side(k, &p));
    if (k->op == NULL)
        y = kiln_compose_1(&k->c, &kiln_op_logical_not, y);
    return set_truth(k, y);
}

kiln_status kiln_coreml_import_logical(kiln_coreml_call *k) {
    kiln_value *const x = as_bool(k, k->in[0]);
    return set_truth(k, k->n_in == 1
                            ? kiln_compose_1(&k->c, k->op, x)
                            : kiln_compose_2(&k->c, k->op, x, as_bool(k, k->in[1])));
}

kiln_status kiln_coreml_import_where(kiln_coreml_call *k) {
    k->out[0] = kiln_compose_where(&k->c, as_bool(k, k->in[0]), k->in[1], k->in[2]);
    return k->c.status;
}

/* ---- dot ------------------------------------------------------------------------- */

typedef struct dot {
    bool is_cosine;
} dot;

static const kiln_pb_field dot_fields[] = {
    FIELD(1, dot, is_cosine, KILN_PB_BOOL),
};
static const kiln_pb_message dot_message =
    MESSAGE("DotProductLayerParams", dot, dot_fields);

kiln_status kiln_coreml_import_dot(kiln_coreml_call *k) {
    dot p;
    kiln_compose *const c = &k->c;
    kiln_value *x = k->in[0], *y = k->in[1];
    KILN_TRY(kiln_coreml_params(k, &dot_message, &p));
    KILN_TRY(kiln_coreml_min_rank(k, 3));
    const int64_t rank = x->type.rank;
    const int64_t axes[] = {rank - 3, rank - 2, rank - 1};
    if (p.is_cosine && y->type.rank == rank) {
        x = kiln_compose_2(
            c, &kiln_op_div, x,
            kiln_compose_reduce(c, &kiln_op_reduce_l2, x, axes, 3, true));
        y = kiln_compose_2(
            c, &kiln_op_div, y,
            kiln_compose_reduce(c, &kiln_op_reduce_l2, y, axes, 3, true));
    }
    x = kiln_compose_2(c, &kiln_op_mul, x, y);
    k->out[0] = kiln_compose_reduce(c, &kiln_op_reduce_sum, x, axes, 3, true);
    return c->status;
}
