/* Importers of com.microsoft's attention: Attention, which projects its input by packed
 * weights, QAttention, which does so in 8 bits, and MultiHeadAttention, of queries,
 * keys and values projected before. */
#include <inttypes.h>

#include "compiler/frontend/onnx/ms.h"

/* ---- Attention ---- */

enum { INPUT, WEIGHTS, BIAS, MASK, PAST, SCORE_BIAS, PAST_LENGTH };

kiln_status kiln_onnx_import_ms_attention(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_value *x, *w;
    KILN_TRY(kiln_onnx_need(cx, n, INPUT, "input", &x));
    KILN_TRY(kiln_onnx_need(cx, n, WEIGHTS, "weights", &w));
    if (kiln_onnx_in(cx, n, PAST_LENGTH) != NULL)
        return kiln_onnx_fail(cx, KILN_ERR_UNSUPPORTED,
                              "'past_sequence_length' is not read; export without "
                              "sharing the buffer of past and present");
    kiln_onnx_attr_i(cx, n, "rotary_embedding_dim", 0); /* of do_rotary */
    x = kiln_compose_2(&c, &kiln_op_matmul, x, w);
    x = kiln_ms_add(&c, x, kiln_onnx_in(cx, n, BIAS));
    return kiln_ms_self_attention(&c, x, MASK, PAST, SCORE_BIAS);
}

/* Inputs: input, weights, bias, scales of both, mask, zero points of both, past. */
kiln_status kiln_onnx_import_ms_qattention(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_ms_quant x = {0}, w = {0};
    KILN_TRY(kiln_onnx_need(cx, n, 0, "input", &x.x));
    KILN_TRY(kiln_onnx_need(cx, n, 1, "weight", &w.x));
    KILN_TRY(kiln_onnx_need(cx, n, 3, "input_scale", &x.scale));
    KILN_TRY(kiln_onnx_need(cx, n, 4, "weight_scale", &w.scale));
    x.scale = kiln_ms_single(&c, x.scale);
    x.zero = kiln_ms_single(&c, kiln_onnx_in(cx, n, 6));
    w.zero = kiln_onnx_in(cx, n, 7);
    KILN_TRY(kiln_ms_check_single(&c, "input", &x));
    kiln_value *sums = kiln_compose_2(&c, &kiln_op_matmul, kiln_ms_center(&c, &x),
                                      kiln_ms_center(&c, &w));
    sums = kiln_compose_cast(&c, sums, KILN_F32);
    sums = kiln_compose_2(&c, &kiln_op_mul, sums,
                          kiln_compose_2(&c, &kiln_op_mul, x.scale, w.scale));
    sums = kiln_ms_add(&c, sums, kiln_onnx_in(cx, n, 2));
    return kiln_ms_self_attention(&c, sums, 5, 8, -1);
}

/* ---- MultiHeadAttention ---- */

enum { Q_IN, K_IN, V_IN, QKV_BIAS, KEY_MASK, ADDED, PAST_K, PAST_V, N_PAST, BEAMS };

/* One of the `count` parts of packed [B, length, heads, count, size] as
 * [B, length, heads * size]. */
static kiln_value *unpack(kiln_compose *c, kiln_value *x, int64_t i) {
    const int64_t *d = x->type.dim;
    const int64_t flat[] = {d[0], d[1], d[2] * d[4]};
    return kiln_compose_reshape(c, kiln_compose_slice(c, x, 3, i, 1, 1), 3, flat);
}

/* Queries, keys and values, unpacked: [B, length, heads * size], or keys and values of
 * rank 4 as they are attended to. */
static kiln_status read_parts(kiln_compose *c, kiln_value **part) {
    kiln_value *k = kiln_onnx_in(kiln_onnx_of(c->cx), c->site, K_IN),
               *v = kiln_onnx_in(kiln_onnx_of(c->cx), c->site, V_IN);
    KILN_TRY(kiln_onnx_need(kiln_onnx_of(c->cx), c->site, Q_IN, "query", &part[0]));
    kiln_value *const q = part[0];
    if (k == NULL && v == NULL && q->type.rank == 5 && q->type.dim[3] == 3) {
        for (int i = 0; i < 3; i++)
            part[i] = unpack(c, q, i);
        return c->status;
    }
    if (k != NULL && v == NULL && k->type.rank == 5 && k->type.dim[3] == 2) {
        part[1] = unpack(c, k, 0);
        part[2] = unpack(c, k, 1);
    } else {
        part[1] = k;
        part[2] = v;
    }
    if (q->type.rank != 3 || part[1] == NULL || part[2] == NULL ||
        (part[1]->type.rank != 3 && part[1]->type.rank != 4) ||
        part[1]->type.rank != part[2]->type.rank)
        return kiln_fail(
            c->cx->err, KILN_ERR_SHAPE,
            "'query' must be [batch, length, features] beside 'key' and 'value', which "
            "both have rank 3 or both 4, or packed: [batch, length, heads, 3, size] "
            "alone, or beside a 'key' of [batch, length, heads, 2, size]");
    return c->status;
}

/* Adds its part of the bias, which covers queries, keys and values, and splits heads.
 */
static kiln_status finish_part(kiln_compose *c, int64_t heads, int64_t *start,
                               kiln_value **x) {
    kiln_value *bias = kiln_onnx_in(kiln_onnx_of(c->cx), c->site, QKV_BIAS);
    if ((*x)->type.rank == 4)
        return KILN_OK; /* keys and values of an encoder come with their bias */
    const int64_t width = (*x)->type.dim[2];
    if (width % heads != 0)
        return kiln_fail(c->cx->err, KILN_ERR_SHAPE,
                         "attribute 'num_heads' must divide the %" PRId64
                         " features, is %" PRId64,
                         width, heads);
    if (bias != NULL) {
        if (bias->type.rank != 1 || bias->type.dim[0] < *start + width)
            return kiln_fail(c->cx->err, KILN_ERR_SHAPE,
                             "'bias' must be a list of one number for each "
                             "feature of queries, keys and values");
        *x = kiln_ms_add(c, *x, kiln_compose_slice(c, bias, 0, *start, 1, width));
    }
    *start += width;
    *x = kiln_compose_split_heads(c, *x, heads);
    return c->status;
}

static kiln_status join_pasts(kiln_compose *c, kiln_ms_attention *a) {
    kiln_value *const k = kiln_onnx_in(kiln_onnx_of(c->cx), c->site, PAST_K),
                      *const v = kiln_onnx_in(kiln_onnx_of(c->cx), c->site, PAST_V);
    if ((k == NULL) != (v == NULL))
        return kiln_fail(c->cx->err, KILN_ERR_PARSE,
                         "'past_key' and 'past_value' must be given together");
    if (k == NULL)
        return KILN_OK;
    if (k->type.rank != 4 || v->type.rank != 4)
        return kiln_fail(c->cx->err, KILN_ERR_SHAPE,
                         "'past_key' and 'past_value' must have rank 4");
    a->past = k->type.dim[2];
    a->k = kiln_compose_axis(c, &kiln_op_concat, k, a->k, 2);
    a->v = kiln_compose_axis(c, &kiln_op_concat, v, a->v, 2);
    return c->status;
}

kiln_status kiln_onnx_import_ms_multi_head_attention(kiln_onnx_cx *cx,
                                                     const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    const int64_t heads = kiln_onnx_attr_i(cx, n, "num_heads", 0);
    kiln_value *part[3], *y, *scores;
    int64_t start = 0;
    if (heads < 1)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "attribute 'num_heads' must be >= 1, is %" PRId64, heads);
    if (kiln_onnx_in(cx, n, N_PAST) != NULL || kiln_onnx_in(cx, n, BEAMS) != NULL)
        return kiln_onnx_fail(cx, KILN_ERR_UNSUPPORTED,
                              "'past_sequence_length' and 'cache_indirection' are not "
                              "read; export without sharing the buffer of past and "
                              "present");
    KILN_TRY(read_parts(&c, part));
    for (int i = 0; i < 3; i++)
        KILN_TRY(finish_part(&c, heads, &start, &part[i]));
    kiln_ms_attention a = {.q = part[0],
                           .k = part[1],
                           .v = part[2],
                           .mask = kiln_onnx_in(cx, n, KEY_MASK),
                           .bias = kiln_onnx_in(cx, n, ADDED)};
    KILN_TRY(join_pasts(&c, &a));
    KILN_TRY(kiln_ms_attend(&c, &a, &y, &scores));
    kiln_onnx_set(cx, n, 0, y);
    kiln_onnx_set(cx, n, 1, a.k);
    kiln_onnx_set(cx, n, 2, a.v);
    kiln_onnx_set(cx, n, 3, scores);
    return c.status;
}
