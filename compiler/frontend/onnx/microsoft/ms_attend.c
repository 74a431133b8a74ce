/* What com.microsoft's attention operators share: masks, scores, heads.
 *
 * A mask adds mask_filter_value (-10000) to the scores that it hides. It may be a list
 * of how many keys each batch entry has, or of ends and then beginnings of its keys; or
 * 0 and 1 for each key, or for each query and key. */
#include <inttypes.h>
#include <math.h>

#include "compiler/frontend/onnx/ms.h"

static kiln_status refuse_mask(kiln_compose *c, const kiln_type *mask) {
    kiln_arena *const a = c->cx->arena;
    return kiln_fail(
        c->cx->err, KILN_ERR_UNSUPPORTED,
        "a mask must be [batch], [2 * batch], [batch, keys] or [batch, queries, keys]; "
        "one of shape %s is not read: save the model before ONNX Runtime fused its "
        "attention",
        kiln_shape_text(a, mask->rank, mask->dim));
}

/* Keys before the ends and, where given, from the beginnings on, as [B, 1, 1, T]. */
static kiln_value *allowed_by_list(kiln_compose *c, kiln_value *mask, int64_t batch,
                                   int64_t keys) {
    const int64_t dim[] = {batch, 1, 1, 1};
    kiln_value *const j =
        kiln_compose_cast(c, kiln_compose_iota(c, keys), mask->type.dtype);
    kiln_value *ends = kiln_compose_slice(c, mask, 0, 0, 1, batch);
    ends = kiln_compose_reshape(c, ends, 4, dim);
    kiln_value *const allowed = kiln_compose_2(c, &kiln_op_less, j, ends);
    if (mask->type.dim[0] == batch)
        return allowed;
    kiln_value *begins = kiln_compose_slice(c, mask, 0, batch, 1, batch);
    begins = kiln_compose_reshape(c, begins, 4, dim);
    return kiln_compose_2(c, &kiln_op_logical_and, allowed,
                          kiln_compose_2(c, &kiln_op_greater_equal, j, begins));
}

/* A bool that broadcasts to the scores; NULL: every key may be seen. */
static kiln_status allowed_by_mask(kiln_compose *c, const kiln_ms_attention *a,
                                   kiln_value **out) {
    const kiln_type m = a->mask->type;
    const int64_t batch = a->q->type.dim[0], queries = a->q->type.dim[2],
                  keys = a->k->type.dim[2];
    *out = NULL;
    if (m.rank == 1 && (m.dim[0] == batch || m.dim[0] == 2 * batch)) {
        *out = allowed_by_list(c, a->mask, batch, keys);
        return c->status;
    }
    if (m.rank == 2 && m.dim[1] == 1 && keys != 1)
        return KILN_OK; /* one number for all keys of an entry hides none */
    int64_t dim[] = {m.dim[0], 1, 1, m.dim[1]};
    if (m.rank == 3 && m.dim[1] == queries) {
        dim[2] = queries;
        dim[3] = m.dim[2];
    }
    if ((m.rank != 2 && m.rank != 3) || dim[0] != batch || dim[3] != keys ||
        (m.rank == 3 && m.dim[1] != queries))
        return refuse_mask(c, &m);
    kiln_value *const v = kiln_compose_scalar(c, &kiln_op_greater, a->mask, 0);
    *out = kiln_compose_reshape(c, v, 4, dim);
    return c->status;
}

/* 0 where allowed, `hidden` elsewhere. */
static kiln_value *bias_of(kiln_compose *c, const kiln_ms_attention *a,
                           kiln_value *allowed, double hidden) {
    const kiln_dtype dtype = a->q->type.dtype;
    return kiln_compose_where(c, allowed, kiln_import_scalar(c->cx, dtype, 0),
                              kiln_import_scalar(c->cx, dtype, hidden));
}

/* Query i sees the keys j <= i + past, so one at least. */
static kiln_value *allowed_by_order(kiln_compose *c, const kiln_ms_attention *a) {
    const int64_t queries = a->q->type.dim[2], keys = a->k->type.dim[2];
    const int64_t column[] = {queries, 1};
    kiln_value *i = kiln_compose_iota(c, queries), *const j =
                                                       kiln_compose_iota(c, keys);
    i = kiln_compose_scalar(c, &kiln_op_add, kiln_compose_reshape(c, i, 2, column),
                            (double)a->past);
    return kiln_compose_2(c, &kiln_op_less_equal, j, i);
}

static kiln_status add_masks(kiln_compose *c, const kiln_ms_attention *a,
                             kiln_value **scores) {
    kiln_value *allowed = NULL;
    const double filter =
        kiln_onnx_attr_f(kiln_onnx_of(c->cx), c->site, "mask_filter_value", -10000.0);
    if (a->mask != NULL)
        KILN_TRY(allowed_by_mask(c, a, &allowed));
    if (allowed != NULL)
        *scores = kiln_ms_add(c, *scores, bias_of(c, a, allowed, filter));
    if (kiln_onnx_attr_i(kiln_onnx_of(c->cx), c->site, "unidirectional", 0) != 0)
        *scores = kiln_ms_add(c, *scores,
                              bias_of(c, a, allowed_by_order(c, a), -(double)INFINITY));
    return c->status;
}

static kiln_status check_heads(kiln_compose *c, const kiln_ms_attention *a) {
    const kiln_type *q = &a->q->type, *k = &a->k->type, *v = &a->v->type;
    if (q->rank == 4 && k->rank == 4 && v->rank == 4 && q->dim[0] == k->dim[0] &&
        q->dim[1] == k->dim[1] && q->dim[3] == k->dim[3] && v->dim[0] == k->dim[0] &&
        v->dim[1] == k->dim[1] && v->dim[2] == k->dim[2])
        return KILN_OK;
    kiln_arena *const s = c->cx->arena;
    return kiln_fail(c->cx->err, KILN_ERR_SHAPE,
                     "queries, keys and values must agree in batch, heads and "
                     "size, are %s, %s and %s",
                     kiln_type_text(s, q), kiln_type_text(s, k), kiln_type_text(s, v));
}

kiln_status kiln_ms_attend(kiln_compose *c, const kiln_ms_attention *a,
                           kiln_value **out, kiln_value **scores) {
    static const int64_t swap[] = {0, 1, 3, 2};
    KILN_TRY(c->status);
    KILN_ASSERT(a->q != NULL && a->k != NULL && a->v != NULL && a->past >= 0,
                "attention to nothing, behind %lld keys", (long long)a->past);
    KILN_TRY(check_heads(c, a));
    const int64_t size = a->q->type.dim[3];
    double scale = kiln_onnx_attr_f(kiln_onnx_of(c->cx), c->site, "scale", 0);
    if (!(scale < 0) && !(scale > 0)) /* 0 stands for the usual one */
        scale = size > 0 ? 1 / sqrt((double)size) : 1;
    kiln_value *const q = kiln_compose_scalar(c, &kiln_op_mul, a->q, scale);
    kiln_value *s =
        kiln_compose_2(c, &kiln_op_matmul, q, kiln_compose_transpose(c, a->k, swap));
    s = kiln_ms_add(c, s, a->bias);
    KILN_TRY(add_masks(c, a, &s));
    *scores = s;
    s = kiln_compose_axis(c, &kiln_op_softmax, s, NULL, 3);
    *out = kiln_compose_join_heads(c, kiln_compose_2(c, &kiln_op_matmul, s, a->v));
    return c->status;
}

/* ---- self attention ---- */

/* Part i of three, columns [start, start + width) of the projection, in heads. */
static kiln_value *part(kiln_compose *c, kiln_value *qkv, int64_t start, int64_t width,
                        int64_t heads) {
    return kiln_compose_split_heads(c, kiln_compose_slice(c, qkv, 2, start, 1, width),
                                    heads);
}

static kiln_status read_sizes(kiln_compose *c, const kiln_value *qkv, int64_t heads,
                              int64_t *size) {
    const int64_t *given;
    const int64_t width = qkv->type.rank == 3 ? qkv->type.dim[2] : 0;
    const size_t n =
        kiln_onnx_attr_ints(kiln_onnx_of(c->cx), c->site, "qkv_hidden_sizes", &given);
    for (int i = 0; i < 3; i++)
        size[i] = n == 3 ? given[i] : width / 3;
    bool is_right = (n == 0 || n == 3) && heads >= 1;
    for (int i = 0; is_right && i < 3; i++)
        is_right = size[i] >= 1 && size[i] <= width && size[i] % heads == 0;
    if (is_right && size[0] + size[1] + size[2] == width)
        return KILN_OK;
    return kiln_fail(c->cx->err, KILN_ERR_SHAPE,
                     "the projection must be [batch, length, queries + keys + "
                     "values], each a multiple of num_heads, %" PRId64 "; it is %s",
                     heads, kiln_type_text(c->cx->arena, &qkv->type));
}

/* past and present are [2, B, heads, length, size]: keys, then values. */
static kiln_status join_past(kiln_compose *c, int at, kiln_ms_attention *a) {
    kiln_value *const past =
        at < 0 ? NULL : kiln_onnx_in(kiln_onnx_of(c->cx), c->site, at);
    kiln_value **const side[] = {&a->k, &a->v};
    if (past != NULL && (past->type.rank != 5 || past->type.dim[0] != 2))
        return kiln_fail(c->cx->err, KILN_ERR_SHAPE,
                         "'past' must be [2, batch, heads, length, size], is %s",
                         kiln_type_text(c->cx->arena, &past->type));
    for (int i = 0; past != NULL && i < 2; i++) {
        kiln_value *const one = kiln_compose_slice(c, past, 0, i, 1, 1);
        kiln_value *const flat = kiln_compose_reshape(c, one, 4, past->type.dim + 1);
        *side[i] = kiln_compose_axis(c, &kiln_op_concat, flat, *side[i], 2);
    }
    if (past != NULL)
        a->past = past->type.dim[3];
    return c->status;
}

static kiln_value *present(kiln_compose *c, const kiln_ms_attention *a) {
    int64_t dim[] = {1, 0, 0, 0, 0};
    for (int i = 0; i < 4; i++)
        dim[1 + i] = a->k->type.dim[i];
    kiln_value *const k = kiln_compose_reshape(c, a->k, 5, dim);
    kiln_value *const v = kiln_compose_reshape(c, a->v, 5, dim);
    return kiln_compose_axis(c, &kiln_op_concat, k, v, 0);
}

static kiln_status refuse_variants(kiln_compose *c) {
    static const char *const attrs[] = {"past_present_share_buffer", "do_rotary"};
    for (int i = 0; i < 2; i++)
        if (kiln_onnx_attr_i(kiln_onnx_of(c->cx), c->site, attrs[i], 0) != 0)
            return kiln_fail(c->cx->err, KILN_ERR_UNSUPPORTED,
                             "attribute '%s' must be 0; export without it", attrs[i]);
    return KILN_OK;
}

kiln_status kiln_ms_self_attention(kiln_compose *c, kiln_value *qkv, int mask, int past,
                                   int bias) {
    const int64_t heads =
        kiln_onnx_attr_i(kiln_onnx_of(c->cx), c->site, "num_heads", 0);
    int64_t size[3];
    kiln_value *y, *scores;
    KILN_TRY(c->status);
    KILN_TRY(refuse_variants(c));
    KILN_TRY(read_sizes(c, qkv, heads, size));
    kiln_ms_attention a = {
        .q = part(c, qkv, 0, size[0], heads),
        .k = part(c, qkv, size[0], size[1], heads),
        .v = part(c, qkv, size[0] + size[1], size[2], heads),
        .mask = kiln_onnx_in(kiln_onnx_of(c->cx), c->site, mask),
        .bias = kiln_onnx_in(kiln_onnx_of(c->cx), c->site, bias),
    };
    KILN_TRY(join_past(c, past, &a));
    if (kiln_onnx_wants(c->site, 1) && size[1] != size[2])
        return kiln_fail(c->cx->err, KILN_ERR_SHAPE,
                         "output 'present' needs keys and values of one size, are "
                         "%" PRId64 " and %" PRId64,
                         size[1], size[2]);
    KILN_TRY(kiln_ms_attend(c, &a, &y, &scores));
    kiln_onnx_set(kiln_onnx_of(c->cx), c->site, 0, y);
    if (kiln_onnx_wants(c->site, 1))
        kiln_onnx_set(kiln_onnx_of(c->cx), c->site, 1, present(c, &a));
    return c->status;
}
