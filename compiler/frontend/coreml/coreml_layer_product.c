/* Layers that are products with matrices of weights, and rows taken out of those.
 * Source: NeuralNetwork.proto, InnerProductLayerParams, EmbeddingLayerParams,
 * EmbeddingNDLayerParams, BatchedMatMulLayerParams, GatherLayerParams. */
#include "compiler/frontend/coreml/coreml_internal.h"

#include "compiler/frontend/protobuf_table.h"

#include <inttypes.h>

typedef struct product {
    int64_t in, out;
    bool has_bias, is_int8;
    const kiln_coreml_weights *weights, *bias;
} product;

/* Of innerProduct and embedding. */
static const kiln_pb_field product_fields[] = {
    FIELD(1, product, in, KILN_PB_I64),
    FIELD(2, product, out, KILN_PB_I64),
    FIELD(10, product, has_bias, KILN_PB_BOOL),
    SUB(20, product, weights, kiln_coreml_weights_message),
    SUB(21, product, bias, kiln_coreml_weights_message),
    FIELD(22, product, is_int8, KILN_PB_BOOL),
};
static const kiln_pb_message product_message =
    MESSAGE("InnerProductLayerParams", product, product_fields);

static const kiln_pb_field nd_fields[] = {
    FIELD(1, product, in, KILN_PB_I64),
    FIELD(2, product, out, KILN_PB_I64),
    FIELD(3, product, has_bias, KILN_PB_BOOL),
    SUB(20, product, weights, kiln_coreml_weights_message),
    SUB(21, product, bias, kiln_coreml_weights_message),
};
static const kiln_pb_message nd_message =
    MESSAGE("EmbeddingNDLayerParams", product, nd_fields);

static kiln_status read_product(kiln_coreml_call *k, const kiln_pb_message *table,
                                product *p, kiln_value **weights, kiln_value **bias) {
    KILN_TRY(kiln_coreml_params(k, table, p));
    const int64_t dim[] = {p->out, p->in};
    *bias = NULL;
    if (p->is_int8)
        return kiln_fail(k->cx->common.err, KILN_ERR_UNSUPPORTED,
                         "products of integers (int8DynamicQuantize) are not read; "
                         "convert the model without");
    KILN_TRY(kiln_coreml_const(k, p->weights, "weights", 2, dim, weights));
    return p->has_bias ? kiln_coreml_vector(k, p->bias, "bias", p->out, bias) : KILN_OK;
}

static kiln_value *plus(kiln_coreml_call *k, kiln_value *x, kiln_value *bias) {
    return bias == NULL ? x : kiln_compose_2(&k->c, &kiln_op_add, x, bias);
}

/* The last axis of up to three; of four and more, the last three are one. */
kiln_status kiln_coreml_import_inner_product(kiln_coreml_call *k) {
    product p;
    kiln_value *w = NULL, *bias = NULL, *x = k->in[0];
    const int rank = x->type.rank;
    int64_t dim[KILN_MAX_RANK], flat[2] = {1, 1};
    KILN_TRY(read_product(k, &product_message, &p, &w, &bias));
    KILN_TRY(kiln_coreml_min_rank(k, 1));
    const int n_outer = rank > 3 ? rank - 3 : rank - 1;
    for (int i = 0; i < rank; i++) {
        dim[i] = i < n_outer ? x->type.dim[i] : i == n_outer ? p.out : 1;
        flat[i >= n_outer] = kiln_coreml_mul(flat[i >= n_outer], x->type.dim[i]);
    }
    if (flat[1] != p.in)
        return kiln_fail(
            k->cx->common.err, KILN_ERR_SHAPE,
            "inputChannels must be %" PRId64 " for an input %s, is %" PRId64, flat[1],
            kiln_type_text(&k->cx->common.scratch, &x->type), p.in);
    x = kiln_compose_reshape(&k->c, x, 2, flat);
    const kiln_attr_arg arg = kiln_arg_bool("trans_b", true);
    kiln_value *const in[] = {x, w, bias};
    x = kiln_compose_op(&k->c, &kiln_op_gemm, in, bias != NULL ? 3 : 2, &arg, 1);
    k->out[0] = kiln_compose_reshape(&k->c, x, rank, dim);
    return k->c.status;
}

/* Rows of the transposed matrix: w [out, in] at indices, out last. */
static kiln_value *rows_of(kiln_coreml_call *k, kiln_value *w, kiln_value *index) {
    static const int64_t perm[] = {1, 0};
    kiln_value *const table = kiln_compose_transpose(&k->c, w, perm);
    index = kiln_compose_cast(&k->c, index, KILN_I64);
    return kiln_compose_axis(&k->c, &kiln_op_gather, table, index, 0);
}

kiln_status kiln_coreml_import_embedding(kiln_coreml_call *k) {
    product p;
    kiln_value *w = NULL, *bias = NULL, *x = k->in[0];
    KILN_TRY(kiln_coreml_min_rank(k, 4));
    KILN_TRY(read_product(k, &product_message, &p, &w, &bias));
    const int rank = x->type.rank;
    const int64_t *const d = x->type.dim;
    if (d[rank - 1] * d[rank - 2] * d[rank - 3] != 1)
        return kiln_fail(k->cx->common.err, KILN_ERR_SHAPE,
                         "the last three axes of its input must be 1, it is %s",
                         kiln_type_text(&k->cx->common.scratch, &x->type));
    int64_t dim[KILN_MAX_RANK];
    for (int i = 0; i < rank; i++)
        dim[i] = i == rank - 3 ? p.out : d[i];
    x = kiln_compose_reshape(&k->c, x, rank - 3, d);
    x = plus(k, rows_of(k, w, x), bias);
    k->out[0] = kiln_compose_reshape(&k->c, x, rank, dim);
    return k->c.status;
}

kiln_status kiln_coreml_import_embedding_nd(kiln_coreml_call *k) {
    product p;
    kiln_value *w = NULL, *bias = NULL, *x = k->in[0];
    KILN_TRY(kiln_coreml_min_rank(k, 2));
    KILN_TRY(read_product(k, &nd_message, &p, &w, &bias));
    const int rank = x->type.rank;
    if (x->type.dim[rank - 1] != 1)
        return kiln_fail(k->cx->common.err, KILN_ERR_SHAPE,
                         "the last axis of its input must be 1, it is %s",
                         kiln_type_text(&k->cx->common.scratch, &x->type));
    x = kiln_compose_reshape(&k->c, x, rank - 1, x->type.dim);
    k->out[0] = plus(k, rows_of(k, w, x), bias);
    return k->c.status;
}

/* ---- batched matrix product ------------------------------------------------------ */

typedef struct batched {
    bool transpose_a, transpose_b, has_bias, is_int8;
    int64_t first, second;
    const kiln_coreml_weights *weights, *bias;
} batched;

static const kiln_pb_field batched_fields[] = {
    FIELD(1, batched, transpose_a, KILN_PB_BOOL),
    FIELD(2, batched, transpose_b, KILN_PB_BOOL),
    FIELD(5, batched, first, KILN_PB_I64),
    FIELD(6, batched, second, KILN_PB_I64),
    FIELD(7, batched, has_bias, KILN_PB_BOOL),
    SUB(8, batched, weights, kiln_coreml_weights_message),
    SUB(9, batched, bias, kiln_coreml_weights_message),
    FIELD(10, batched, is_int8, KILN_PB_BOOL),
};
static const kiln_pb_message batched_message =
    MESSAGE("BatchedMatMulLayerParams", batched, batched_fields);

static kiln_value *turn(kiln_coreml_call *k, kiln_value *x, bool turned) {
    int64_t perm[KILN_MAX_RANK];
    const int rank = x->type.rank;
    if (!turned || rank < 2)
        return x;
    for (int i = 0; i < rank; i++)
        perm[i] = i;
    perm[rank - 1] = rank - 2;
    perm[rank - 2] = rank - 1;
    return kiln_compose_transpose(&k->c, x, perm);
}

/* The matrix lies in the file with its second axis first: [second, first]. */
kiln_status kiln_coreml_import_batched_matmul(kiln_coreml_call *k) {
    batched p;
    kiln_value *b = k->n_in == 2 ? k->in[1] : NULL, *bias = NULL;
    KILN_TRY(kiln_coreml_params(k, &batched_message, &p));
    if (p.is_int8)
        return kiln_fail(k->cx->common.err, KILN_ERR_UNSUPPORTED,
                         "products of integers (int8DynamicQuantize) are not read; "
                         "convert the model without");
    if (b == NULL) {
        const int64_t dim[] = {p.second, p.first};
        KILN_TRY(kiln_coreml_const(k, p.weights, "weights", 2, dim, &b));
        b = turn(k, b, true);
        if (p.has_bias)
            KILN_TRY(kiln_coreml_vector(k, p.bias, "bias", p.second, &bias));
    } else {
        b = turn(k, b, p.transpose_b);
    }
    kiln_value *const a = turn(k, k->in[0], p.transpose_a);
    k->out[0] = plus(k, kiln_compose_2(&k->c, &kiln_op_matmul, a, b), bias);
    return k->c.status;
}

/* ---- gather ---------------------------------------------------------------------- */

typedef struct one_axis {
    int64_t axis;
} one_axis;

static const kiln_pb_field axis_fields[] = {
    FIELD(1, one_axis, axis, KILN_PB_I64),
};
static const kiln_pb_message axis_message =
    MESSAGE("GatherLayerParams", one_axis, axis_fields);

kiln_status kiln_coreml_import_gather(kiln_coreml_call *k) {
    one_axis p;
    int axis = 0;
    KILN_TRY(kiln_coreml_params(k, &axis_message, &p));
    KILN_TRY(kiln_coreml_axis(k, p.axis, k->in[0]->type.rank, &axis));
    kiln_value *const index = kiln_compose_cast(&k->c, k->in[1], KILN_I64);
    k->out[0] = kiln_compose_axis(&k->c, &kiln_op_gather, k->in[0], index, axis);
    return k->c.status;
}
