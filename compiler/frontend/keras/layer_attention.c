/* Attention of Keras: queries, keys and values by projections to heads, softmax(q k^T /
 * sqrt(size) + mask) v, and a projection back. Source: keras.layers.MultiHeadAttention;
 * Vaswani et al., Attention is all you need (2017), section 3.2.2. */
#include "compiler/frontend/keras/keras_internal.h"

#include <math.h>
#include <string.h>

/* What Keras adds where a mask hides a key (keras.layers.Softmax, of f32). */
static const double hidden = -1e9;

/* One of the projections: dense [from, to...] with a bias, over the last axes of x. Files
 * name its weights by the projection, archives by the layer's member, of which Keras
 * 2.12 kept the underscore. */
static kiln_status read_projection(kiln_keras_call *k, const char *name,
                                   const char *member, int rank, const int64_t *dim,
                                   int first_of_bias, kiln_value **v) {
    kiln_arena *const a = &k->cx->common.scratch;
    const char *const roles[] = {kiln_format(a, "%s/kernel", name),
                                 kiln_format(a, "%s/bias", name)};
    const bool has_bias = kiln_keras_bool(k, "use_bias", true);
    const char *path = kiln_format(a, "/_%s", member);
    if (k->cx->weights == NULL ||
        !kiln_hdf5_has(k->cx->weights,
                       kiln_format(a, "/%s%s/vars/0", k->layer->place.path, path)))
        path = kiln_format(a, "/%s", member);
    KILN_TRY(kiln_keras_part_weights(k, k->layer->place.part, path, roles,
                                     has_bias ? 2 : 1, v));
    KILN_TRY(kiln_keras_check_shape(k, v[0], roles[0], rank, dim));
    if (has_bias)
        KILN_TRY(kiln_keras_check_shape(k, v[1], roles[1], rank - first_of_bias,
                                        dim + first_of_bias));
    return KILN_OK;
}

/* x [N, T, from] to [N, T, to] by a kernel of two or three axes. */
static kiln_value *projected(kiln_keras_call *k, kiln_value *x, kiln_value *const *v,
                             int64_t from, int64_t to) {
    kiln_compose *const c = &k->c;
    const int64_t matrix[] = {from, to};
    kiln_value *const y =
        kiln_compose_2(c, &kiln_op_matmul, x, kiln_compose_reshape(c, v[0], 2, matrix));
    return v[1] == NULL ? y
                        : kiln_compose_2(c, &kiln_op_add, y,
                                         kiln_compose_reshape(c, v[1], 1, &to));
}

/* [N, T, D] to [N, heads, T, size]. */
static kiln_status take_heads(kiln_keras_call *k, kiln_value *x, const char *name,
                              int64_t heads, int64_t size, kiln_value **out) {
    const int64_t dim[] = {x->type.dim[2], heads, size};
    kiln_value *v[2] = {NULL, NULL};
    KILN_TRY(read_projection(
        k, name, kiln_format(&k->cx->common.scratch, "%s_dense", name), 3, dim, 1, v));
    *out = kiln_compose_split_heads(&k->c, projected(k, x, v, dim[0], heads * size),
                                    heads);
    return k->c.status;
}

kiln_value *kiln_keras_causal(kiln_keras_call *k, int64_t n, int64_t m) {
    kiln_compose *const c = &k->c;
    const int64_t column[] = {n, 1};
    kiln_value *const i = kiln_compose_reshape(c, kiln_compose_iota(c, n), 2, column);
    return kiln_compose_2(c, &kiln_op_less_equal, kiln_compose_iota(c, m), i);
}

/* What the layer is called with beside queries: NULL where it is not. */
typedef struct operands {
    kiln_value *value, *key, *mask;
} operands;

/* Query i sees the keys less than `reach` from it. */
static kiln_value *near(kiln_keras_call *k, int64_t n, int64_t m, int64_t reach) {
    kiln_compose *const c = &k->c;
    const int64_t column[] = {n, 1};
    kiln_value *const i = kiln_compose_reshape(c, kiln_compose_iota(c, n), 2, column);
    kiln_value *const apart = kiln_compose_1(
        c, &kiln_op_abs, kiln_compose_2(c, &kiln_op_sub, kiln_compose_iota(c, m), i));
    return kiln_compose_scalar(c, &kiln_op_less, apart, (double)reach);
}

kiln_value *kiln_keras_mask_of_queries(kiln_keras_call *k, kiln_value *mask) {
    const int64_t *const d = mask->type.dim, dim[] = {d[0], d[1], 1};
    return kiln_compose_reshape(&k->c, mask, 3, dim);
}

kiln_value *kiln_keras_mask_of_keys(kiln_keras_call *k, kiln_value *mask) {
    const int64_t *const d = mask->type.dim, dim[] = {d[0], 1, d[1]};
    return kiln_compose_reshape(&k->c, mask, 3, dim);
}

kiln_value *kiln_keras_both(kiln_keras_call *k, kiln_value *x, kiln_value *y) {
    return x == NULL   ? y
           : y == NULL ? x
                       : kiln_compose_2(&k->c, &kiln_op_logical_and, x, y);
}

/* It is added, as attention's operator has it: the number is far beyond any score. */
kiln_value *kiln_keras_hide(kiln_keras_call *k, kiln_value *scores, kiln_value *seen) {
    kiln_import_cx *const cx = &k->cx->common;
    if (seen == NULL)
        return scores;
    return kiln_compose_2(&k->c, &kiln_op_add, scores,
                          kiln_compose_where(&k->c, seen,
                                             kiln_import_scalar(cx, KILN_F32, 0),
                                             kiln_import_scalar(cx, KILN_F32, hidden)));
}

/* Which keys a query sees by the call's mask [N, T, S], and by those of its values, [N, T]
 * of queries and keys; NULL: all. */
static kiln_status read_masks(kiln_keras_call *k, const operands *o, kiln_value **out) {
    kiln_keras_cx *const cx = k->cx;
    kiln_value *const q = kiln_keras_mask_of(cx, k->in[0]);
    kiln_value *const v = kiln_keras_mask_of(cx, o->value);
    kiln_value *const key = o->key == NULL ? NULL : kiln_keras_mask_of(cx, o->key);
    kiln_value *seen = o->mask;
    k->looks_at_masks = true;
    if (seen != NULL && seen->type.rank != 3)
        return kiln_fail(cx->common.err, KILN_ERR_UNSUPPORTED,
                         "'attention_mask' must be [N, T, S], is %s",
                         kiln_type_text(&cx->common.scratch, &seen->type));
    if (seen != NULL)
        seen = kiln_compose_cast(&k->c, seen, KILN_BOOL);
    if (q != NULL)
        seen = kiln_keras_both(k, seen, kiln_keras_mask_of_queries(k, q));
    if (v != NULL)
        seen = kiln_keras_both(k, seen, kiln_keras_mask_of_keys(k, v));
    if (key != NULL)
        seen = kiln_keras_both(k, seen, kiln_keras_mask_of_keys(k, key));
    *out = seen;
    return k->c.status;
}

/* The same by where queries and keys are: T and S. */
static kiln_status read_places(kiln_keras_call *k, int64_t n, int64_t m,
                               kiln_value **out) {
    int64_t reach = 0;
    *out = NULL;
    if (kiln_json_bool(kiln_keras_keyword(k, "use_causal_mask"), false))
        *out = kiln_keras_causal(k, n, m);
    if (kiln_keras_get(k, "sliding_window", NULL) == NULL)
        return k->c.status;
    KILN_TRY(kiln_keras_int(k, "sliding_window", NULL, 0, &reach));
    if (reach < 1 || reach > INT32_MAX)
        return kiln_fail(k->cx->common.err, KILN_ERR_PARSE,
                         "'sliding_window' must be 1 or more");
    *out = kiln_keras_both(k, *out, near(k, n, m, reach));
    return k->c.status;
}

/* softmax(scores) [N, heads, T, S] over the keys that a query sees. */
static kiln_status weigh(kiln_keras_call *k, const operands *o, kiln_value *scores,
                         kiln_value **out) {
    kiln_compose *const c = &k->c;
    const int64_t *const d = scores->type.dim;
    kiln_value *by_masks = NULL, *seen = NULL;
    KILN_TRY(read_masks(k, o, &by_masks));
    KILN_TRY(read_places(k, d[2], d[3], &seen));
    seen = kiln_keras_both(k, by_masks, seen);
    if (seen != NULL && seen->type.rank == 3) {
        const int64_t *const m = seen->type.dim, dim[] = {m[0], 1, m[1], m[2]};
        seen = kiln_compose_reshape(c, seen, 4, dim);
    }
    kiln_value *y = kiln_compose_axis(c, &kiln_op_softmax,
                                      kiln_keras_hide(k, scores, seen), NULL, 3);
    /* Keras 3.14 on, where its layer Softmax is used: who sees no key gets nothing. */
    if (by_masks != NULL && kiln_keras_number(k, "dropout", 0) > 0 &&
        kiln_keras_is_since(&k->cx->file, 3, 14))
        y = kiln_compose_where(c, seen, y, kiln_import_scalar(c->cx, y->type.dtype, 0));
    *out = y;
    return c->status;
}

/* The result's mask is the queries'. */
static kiln_status pass_masks(kiln_keras_call *k, const operands *o) {
    kiln_value *const q = kiln_keras_mask_of(k->cx, k->in[0]);
    if (kiln_keras_is_since(&k->cx->file, 3, 8) &&
        strcmp(k->layer->class_name, "MultiHeadAttention") == 0) {
        kiln_keras_forget_mask(k->cx, k->in[0]);
        kiln_keras_forget_mask(k->cx, o->value);
        kiln_keras_forget_mask(k->cx, o->key);
    }
    return q == NULL ? KILN_OK : kiln_keras_set_mask(k, k->out, q);
}

static kiln_status check_call(kiln_keras_call *k, int n_known) {
    kiln_err *const err = k->cx->common.err;
    const int rank = k->in[0]->type.rank;
    int64_t axis = 1;
    if (kiln_keras_get(k, "attention_axes", NULL) != NULL)
        KILN_TRY(kiln_keras_int(k, "attention_axes", NULL, 1, &axis));
    if (n_known != k->n_in)
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         "it is called with %d values, of which %d are query, value, "
                         "key or attention_mask; other masks are not read",
                         k->n_in, n_known);
    for (int i = 0; i < k->n_in; i++)
        if (k->in[i]->type.rank != 3)
            return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                             "its values must have 3 axes, [N, T, C], value %d is %s",
                             i,
                             kiln_type_text(&k->cx->common.scratch, &k->in[i]->type));
    if (axis != 1 && axis != 1 - rank)
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         "attention_axes must be the one between batch and channels");
    if (kiln_json_bool(kiln_keras_keyword(k, "return_attention_scores"), false))
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         "return_attention_scores is not read");
    return KILN_OK;
}

/* [N, T, heads * size] by the last projection. */
static kiln_status project_back(kiln_keras_call *k, kiln_value *x, int64_t heads,
                                int64_t size, kiln_value **out) {
    int64_t to = k->in[0]->type.dim[2];
    kiln_value *v[2] = {NULL, NULL};
    if (kiln_keras_get(k, "output_shape", NULL) != NULL)
        KILN_TRY(kiln_keras_int(k, "output_shape", NULL, to, &to));
    const int64_t dim[] = {heads, size, to};
    KILN_TRY(read_projection(k, "attention_output", "output_dense", 3, dim, 2, v));
    *out = projected(k, x, v, heads * size, to);
    return k->c.status;
}

/* Each head of y [N, heads, T, size] times what a projection of the queries says of it. */
static kiln_status gate(kiln_keras_call *k, int64_t heads, int64_t size,
                        kiln_value **y) {
    kiln_value *by = NULL;
    if (!kiln_keras_bool(k, "use_gate", false))
        return KILN_OK;
    KILN_TRY(take_heads(k, k->in[0], "gate", heads, size, &by));
    by = kiln_compose_1(&k->c, &kiln_op_sigmoid, by);
    *y = kiln_compose_2(&k->c, &kiln_op_mul, *y, by);
    return k->c.status;
}

/* Heads of the queries, and those of keys and values that they share. */
typedef struct heads {
    int64_t n, shared;
    int64_t size, size_of_v;
} heads;

static kiln_status check_heads(kiln_keras_call *k, const heads *h) {
    enum { MAX_HEADS = 1 << 16 };
    if (kiln_keras_operand(k, "value", 1) != NULL && h->n >= 1 && h->n <= MAX_HEADS &&
        h->shared >= 1 && h->shared <= h->n && h->n % h->shared == 0 && h->size >= 1 &&
        h->size <= INT32_MAX && h->size_of_v >= 1 && h->size_of_v <= INT32_MAX)
        return KILN_OK;
    return kiln_fail(
        k->cx->common.err, KILN_ERR_PARSE,
        "it must be called with a query and a value, have 1 to %d heads of "
        "1 or more elements, and heads of keys that divide them",
        MAX_HEADS);
}

static kiln_status attend(kiln_keras_call *k, const heads *h) {
    static const int64_t turned[] = {0, 1, 3, 2};
    kiln_compose *const c = &k->c;
    const operands o = {kiln_keras_operand(k, "value", 1),
                        kiln_keras_operand(k, "key", 2),
                        kiln_keras_operand(k, "attention_mask", SIZE_MAX)};
    kiln_value *q = NULL, *key = NULL, *v = NULL, *y = NULL;
    KILN_TRY(check_call(k, 1 + (o.value != NULL) + (o.key != NULL) + (o.mask != NULL)));
    KILN_TRY(check_heads(k, h));
    KILN_TRY(take_heads(k, k->in[0], "query", h->n, h->size, &q));
    KILN_TRY(take_heads(k, o.key != NULL ? o.key : o.value, "key", h->shared, h->size,
                        &key));
    KILN_TRY(take_heads(k, o.value, "value", h->shared, h->size_of_v, &v));
    key = kiln_compose_repeat_heads(c, key, h->n / h->shared);
    v = kiln_compose_repeat_heads(c, v, h->n / h->shared);
    q = kiln_compose_scalar(c, &kiln_op_mul, q, 1 / sqrt((double)h->size));
    kiln_value *const scores =
        kiln_compose_2(c, &kiln_op_matmul, q, kiln_compose_transpose(c, key, turned));
    KILN_TRY(c->status);
    KILN_TRY(weigh(k, &o, scores, &y));
    y = kiln_compose_2(c, &kiln_op_matmul, y, v);
    KILN_TRY(c->status);
    KILN_TRY(gate(k, h->n, h->size_of_v, &y));
    y = kiln_compose_join_heads(c, y);
    KILN_TRY(project_back(k, y, h->n, h->size_of_v, &k->out));
    return pass_masks(k, &o);
}

kiln_status kiln_keras_import_multi_head_attention(kiln_keras_call *k) {
    heads h = {0};
    KILN_TRY(kiln_keras_int(k, "num_heads", NULL, 0, &h.n));
    KILN_TRY(kiln_keras_int(k, "key_dim", NULL, 0, &h.size));
    KILN_TRY(kiln_keras_int(k, "value_dim", NULL, h.size, &h.size_of_v));
    h.shared = h.n;
    return attend(k, &h);
}

/* Source: keras.layers.GroupQueryAttention; Ainslie et al., GQA (2023). */
kiln_status kiln_keras_import_group_query_attention(kiln_keras_call *k) {
    heads h = {0};
    KILN_TRY(kiln_keras_int(k, "num_query_heads", NULL, 0, &h.n));
    KILN_TRY(kiln_keras_int(k, "num_key_value_heads", NULL, 0, &h.shared));
    KILN_TRY(kiln_keras_int(k, "head_dim", NULL, 0, &h.size));
    h.size_of_v = h.size;
    return attend(k, &h);
}

/* ---- keras.ops.dot_product_attention ------------------------------------------------- */

/* [N, T, heads, size] to [N, heads, T, size], and back. */
static kiln_value *heads_first(kiln_keras_call *k, kiln_value *x) {
    static const int64_t perm[] = {0, 2, 1, 3};
    return kiln_compose_transpose(&k->c, x, perm);
}

static kiln_status check_operands(kiln_keras_call *k) {
    bool is_good = true;
    for (int i = 0; i < 3; i++) {
        const kiln_type *const t = &k->in[i]->type;
        is_good = is_good && t->rank == 4 && t->dim[0] == k->in[0]->type.dim[0] &&
                  t->dim[2] > 0 && k->in[0]->type.dim[2] % t->dim[2] == 0;
    }
    return is_good && k->in[1]->type.dim[2] == k->in[2]->type.dim[2]
               ? KILN_OK
               : kiln_fail(k->cx->common.err, KILN_ERR_SHAPE,
                           "queries, keys and values must be [N, T, heads, size], and "
                           "heads of keys divide those of queries");
}

/* scale q k' + bias, [N, heads, T, S]. */
static kiln_value *scores_of(kiln_keras_call *k, kiln_value *key, double scale,
                             kiln_value *bias) {
    static const int64_t turn[] = {0, 1, 3, 2};
    kiln_compose *const c = &k->c;
    kiln_value *const y =
        kiln_compose_scalar(c, &kiln_op_mul,
                            kiln_compose_2(c, &kiln_op_matmul, heads_first(k, k->in[0]),
                                           kiln_compose_transpose(c, key, turn)),
                            scale);
    return bias == NULL ? y : kiln_compose_2(c, &kiln_op_add, y, bias);
}

/* Each query's mean of values, by softmax over the scores of the keys that a mask shows and,
 * where it is causal, of no later ones. */
kiln_status kiln_keras_import_product_attention(kiln_keras_call *k) {
    kiln_compose *const c = &k->c;
    kiln_value *const bias = kiln_keras_operand(k, "bias", 3);
    kiln_value *seen = kiln_keras_operand(k, "mask", 4);
    const kiln_json *const scale = kiln_keras_keyword(k, "scale");
    if (kiln_keras_get(k, "attn_logits_soft_cap", NULL) != NULL)
        return kiln_keras_unread(k, "attn_logits_soft_cap");
    if ((scale != NULL && !kiln_json_is_number(scale)) ||
        k->n_in != 3 + (bias != NULL) + (seen != NULL))
        return kiln_keras_unread(k, "scale");
    KILN_TRY(check_operands(k));
    const int64_t size = k->in[0]->type.dim[3];
    const int64_t group = k->in[0]->type.dim[2] / k->in[1]->type.dim[2];
    kiln_value *const key =
        kiln_compose_repeat_heads(c, heads_first(k, k->in[1]), group);
    kiln_value *const v = kiln_compose_repeat_heads(c, heads_first(k, k->in[2]), group);
    kiln_value *y = scores_of(
        k, key, kiln_json_number(scale, size > 0 ? 1 / sqrt((double)size) : 0), bias);
    KILN_TRY(c->status);
    if (kiln_keras_bool(k, "is_causal", false))
        seen = kiln_keras_both(k, seen,
                               kiln_keras_causal(k, y->type.dim[2], y->type.dim[3]));
    y = kiln_compose_axis(c, &kiln_op_softmax, kiln_keras_hide(k, y, seen), NULL, 3);
    k->out = heads_first(k, kiln_compose_2(c, &kiln_op_matmul, y, v));
    return c->status;
}
