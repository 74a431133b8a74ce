/* Importers of com.microsoft's normalisations: SkipLayerNormalization,
 * SkipSimplifiedLayerNormalization, EmbedLayerNormalization, QEmbedLayerNormalization,
 * GroupNorm, SkipGroupNorm. LayerNormalization and SimplifiedLayerNormalization, which
 * ONNX Runtime writes in ai.onnx below opset 17, need no code of their own. */
#include <inttypes.h>

#include "compiler/frontend/onnx/ms.h"

static const double default_epsilon = (double)1e-12F; /* of all but GroupNorm */

/* Outputs: normalised, mean, inverse deviation. */
static kiln_status layer_norm(kiln_compose *c, kiln_value *const *in, int n_out,
                              kiln_value **out) {
    const kiln_attr_arg args[] = {
        kiln_arg_int("axis", -1),
        kiln_arg_float("epsilon", kiln_onnx_attr_f(kiln_onnx_of(c->cx), c->site,
                                                   "epsilon", default_epsilon)),
        kiln_arg_dtype("stash", KILN_F32)};
    KILN_TRY(c->status);
    return kiln_import_emit(c->cx, c->site, &kiln_op_layer_norm, in, 3, args, 3, n_out,
                            out);
}

/* input + skip + bias (input `at`); skip may lack the batch or have one for all. */
static kiln_status skip_sum(kiln_compose *c, int at, kiln_value **out) {
    kiln_value *x, *skip;
    KILN_TRY(kiln_onnx_need(kiln_onnx_of(c->cx), c->site, 0, "input", &x));
    KILN_TRY(kiln_onnx_need(kiln_onnx_of(c->cx), c->site, 1, "skip", &skip));
    x = kiln_ms_add(c, x, skip);
    *out = kiln_ms_add(c, x, kiln_onnx_in(kiln_onnx_of(c->cx), c->site, at));
    return c->status;
}

kiln_status kiln_onnx_import_ms_skip_layer_norm(kiln_onnx_cx *cx,
                                                const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_value *in[3], *out[3];
    KILN_TRY(kiln_onnx_need(cx, n, 2, "gamma", &in[1]));
    in[2] = kiln_onnx_in(cx, n, 3);
    KILN_TRY(skip_sum(&c, 4, &in[0]));
    const int n_out = kiln_onnx_wants(n, 2) ? 3 : kiln_onnx_wants(n, 1) ? 2 : 1;
    KILN_TRY(layer_norm(&c, in, n_out, out));
    for (int i = 0; i < n_out; i++)
        kiln_onnx_set(cx, n, i, out[i]);
    kiln_onnx_set(cx, n, 3, in[0]);
    return KILN_OK;
}

kiln_status kiln_onnx_import_ms_skip_rms_norm(kiln_onnx_cx *cx,
                                              const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_value *in[2];
    KILN_TRY(kiln_onnx_need(cx, n, 2, "gamma", &in[1]));
    KILN_TRY(skip_sum(&c, 3, &in[0]));
    const kiln_attr_arg args[] = {
        kiln_arg_int("axis", -1),
        kiln_arg_float("epsilon", kiln_onnx_attr_f(cx, n, "epsilon", default_epsilon))};
    kiln_onnx_set(cx, n, 0, kiln_compose_op(&c, &kiln_op_rms_norm, in, 2, args, 2));
    kiln_onnx_set(cx, n, 3, in[0]);
    return c.status;
}

/* ---- embeddings ---- */

/* Where an operator has its parts; -1: it has none. */
typedef struct embedding {
    int gamma, mask, position_ids;
    int scales; /* first of the five scales; the five zero points follow */
} embedding;

/* Table i of word, position, segment, gamma and beta as floats. */
static kiln_status table(kiln_compose *c, const embedding *e, int i, int at,
                         const char *name, kiln_value **out) {
    KILN_TRY(kiln_onnx_need(kiln_onnx_of(c->cx), c->site, at, name, out));
    if (e->scales < 0)
        return KILN_OK;
    kiln_ms_quant q = {.x = *out};
    KILN_TRY(
        kiln_onnx_need(kiln_onnx_of(c->cx), c->site, e->scales + i, "scale", &q.scale));
    q.scale = kiln_ms_single(c, q.scale);
    q.zero = kiln_ms_single(
        c, kiln_onnx_in(kiln_onnx_of(c->cx), c->site, e->scales + 5 + i));
    KILN_TRY(kiln_ms_check_single(c, name, &q));
    *out = kiln_ms_dequantize(c, &q, 0);
    return c->status;
}

/* Rows of a table; positions are 0, 1, ... where no input gives them. */
static kiln_status sum_of_tables(kiln_compose *c, const embedding *e,
                                 kiln_value **out) {
    kiln_value *ids, *words, *places, *segments;
    kiln_value *const segment_ids = kiln_onnx_in(kiln_onnx_of(c->cx), c->site, 1);
    kiln_value *place_ids =
        e->position_ids < 0
            ? NULL
            : kiln_onnx_in(kiln_onnx_of(c->cx), c->site, e->position_ids);
    KILN_TRY(kiln_onnx_need(kiln_onnx_of(c->cx), c->site, 0, "input_ids", &ids));
    KILN_TRY(table(c, e, 0, 2, "word_embedding", &words));
    KILN_TRY(table(c, e, 1, 3, "position_embedding", &places));
    if (ids->type.rank != 2)
        return kiln_fail(c->cx->err, KILN_ERR_SHAPE,
                         "input 'input_ids' must be [batch, length], has rank %d",
                         ids->type.rank);
    kiln_value *y = kiln_compose_axis(c, &kiln_op_gather, words, ids, 0);
    if (place_ids == NULL)
        place_ids = kiln_compose_iota(c, ids->type.dim[1]);
    places = kiln_compose_axis(c, &kiln_op_gather, places, place_ids, 0);
    y = kiln_ms_add(c, y, places);
    if (segment_ids != NULL) {
        KILN_TRY(table(c, e, 2, 4, "segment_embedding", &segments));
        y = kiln_ms_add(
            c, y, kiln_compose_axis(c, &kiln_op_gather, segments, segment_ids, 0));
    }
    *out = y;
    return c->status;
}

/* How many elements of each row of the mask are 1; 0 without a mask. */
static kiln_value *mask_index(kiln_compose *c, kiln_value *mask, int64_t batch) {
    const int64_t last = 1;
    if (mask == NULL)
        return kiln_compose_expand(c, kiln_import_scalar(c->cx, KILN_I32, 0), 1,
                                   &batch);
    mask = kiln_compose_scalar(c, &kiln_op_equal, mask, 1);
    mask = kiln_compose_cast(c, mask, KILN_I32);
    return kiln_compose_reduce(c, &kiln_op_reduce_sum, mask, &last, 1, false);
}

static kiln_status embed(kiln_compose *c, const embedding *e) {
    kiln_onnx_cx *const cx = kiln_onnx_of(c->cx);
    kiln_value *in[3], *y, *ids;
    KILN_TRY(kiln_onnx_need(cx, c->site, 0, "input_ids", &ids));
    KILN_TRY(sum_of_tables(c, e, &in[0]));
    KILN_TRY(table(c, e, 3, e->gamma, "gamma", &in[1]));
    KILN_TRY(table(c, e, 4, e->gamma + 1, "beta", &in[2]));
    KILN_TRY(layer_norm(c, in, 1, &y));
    kiln_onnx_attr_i(cx, c->site, "mask_index_type", 0); /* for the shape of output 1 */
    kiln_onnx_set(cx, c->site, 0, y);
    if (kiln_onnx_wants(c->site, 1))
        kiln_onnx_set(
            cx, c->site, 1,
            mask_index(c, kiln_onnx_in(cx, c->site, e->mask), ids->type.dim[0]));
    kiln_onnx_set(cx, c->site, 2, in[0]);
    return c->status;
}

kiln_status kiln_onnx_import_ms_embed_layer_norm(kiln_onnx_cx *cx,
                                                 const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    const embedding e = {.gamma = 5, .mask = 7, .position_ids = 8, .scales = -1};
    return embed(&c, &e);
}

kiln_status kiln_onnx_import_ms_qembed_layer_norm(kiln_onnx_cx *cx,
                                                  const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    const embedding e = {.gamma = 5, .mask = 7, .position_ids = -1, .scales = 8};
    return embed(&c, &e);
}

/* ---- groups ---- */

/* Normalises x, channels first, and activates. */
static kiln_status group_norm(kiln_compose *c, kiln_value *x, kiln_value **out) {
    kiln_onnx_cx *const cx = kiln_onnx_of(c->cx);
    kiln_value *in[3] = {x};
    KILN_TRY(kiln_onnx_need(cx, c->site, 1, "gamma", &in[1]));
    KILN_TRY(kiln_onnx_need(cx, c->site, 2, "beta", &in[2]));
    in[1] = kiln_compose_cast(c, in[1], x->type.dtype);
    in[2] = kiln_compose_cast(c, in[2], x->type.dtype);
    const kiln_attr_arg args[] = {
        kiln_arg_int("groups", kiln_onnx_attr_i(cx, c->site, "groups", 0)),
        kiln_arg_float("epsilon",
                       kiln_onnx_attr_f(cx, c->site, "epsilon", (double)1e-5F))};
    kiln_value *y = kiln_compose_op(c, &kiln_op_group_norm, in, 3, args, 2);
    const int64_t activation = kiln_onnx_attr_i(cx, c->site, "activation", 0);
    if (activation != 0 && activation != 1)
        return kiln_onnx_fail(cx, KILN_ERR_PARSE,
                              "attribute 'activation' must be 0 or 1, is %" PRId64,
                              activation);
    *out = activation == 1 ? kiln_compose_1(c, &kiln_op_swish, y) : y;
    return c->status;
}

static kiln_status grouped(kiln_compose *c, kiln_value *x) {
    kiln_value *y;
    const bool is_last =
        kiln_onnx_attr_i(kiln_onnx_of(c->cx), c->site, "channels_last", 1) != 0;
    if (is_last)
        x = kiln_ms_channels_first(c, x);
    KILN_TRY(c->status);
    KILN_TRY(group_norm(c, x, &y));
    kiln_onnx_set(kiln_onnx_of(c->cx), c->site, 0,
                  is_last ? kiln_ms_channels_last(c, y) : y);
    return c->status;
}

kiln_status kiln_onnx_import_ms_group_norm(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_value *x;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "X", &x));
    return grouped(&c, x);
}

/* Of x + skip + bias; skip may be one number for each channel: [N, C] or with axes of
 * size 1 in x's layout. */
kiln_status kiln_onnx_import_ms_skip_group_norm(kiln_onnx_cx *cx,
                                                const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_value *x, *skip, *bias = kiln_onnx_in(cx, n, 4);
    KILN_TRY(kiln_onnx_need(cx, n, 0, "X", &x));
    KILN_TRY(kiln_onnx_need(cx, n, 3, "skip", &skip));
    const int rank = x->type.rank;
    const int at = kiln_onnx_attr_i(cx, n, "channels_last", 1) != 0 ? rank - 1 : 1;
    if (rank < 3)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE, "input 'X' must have rank 4, has %d",
                              rank);
    int64_t dim[KILN_MAX_RANK];
    for (int i = 0; i < rank; i++)
        dim[i] = 1;
    if (skip->type.rank == 2) {
        dim[0] = skip->type.dim[0];
        dim[at] = skip->type.dim[1];
        skip = kiln_compose_reshape(&c, skip, rank, dim);
    }
    x = kiln_ms_add(&c, x, skip);
    if (bias != NULL) {
        dim[0] = 1;
        dim[at] = kiln_type_elems(&bias->type);
        x = kiln_ms_add(&c, x, kiln_compose_reshape(&c, bias, rank, dim));
    }
    kiln_onnx_set(cx, n, 1, x);
    return grouped(&c, x);
}
