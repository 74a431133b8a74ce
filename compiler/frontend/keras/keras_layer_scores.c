/* Attention of Keras without projections: softmax(scores) v for query, value and, where it
 * is not the value, key [N, T, C]. Scores are scale q k^T (Luong et al., Effective approaches
 * to attention, 2015), or the sum of scale tanh(q + k) (Bahdanau et al., Neural machine
 * translation by jointly learning to align and translate, 2014). Source:
 * keras.layers.Attention and AdditiveAttention. */
#include "compiler/frontend/keras/keras_internal.h"

#include <string.h>

static kiln_status check_call(kiln_keras_call *k) {
    static const char *const others[] = {"mask", "return_attention_scores"};
    kiln_err *const err = k->cx->common.err;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        const kiln_json *const v = kiln_keras_keyword(k, others[i]);
        if (v != NULL && kiln_json_bool(v, true))
            return kiln_fail(err, KILN_ERR_UNSUPPORTED, "'%s' is not read", others[i]);
    }
    for (int i = 0; i < k->n_in; i++)
        if (k->in[i]->type.rank != 3)
            return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                             "its values must have 3 axes, [N, T, C], value %d is %s",
                             i,
                             kiln_type_text(&k->cx->common.scratch, &k->in[i]->type));
    return KILN_OK;
}

/* Keys that the values' mask hides are not seen, and queries that do not count get
 * nothing. */
static kiln_status weigh(kiln_keras_call *k, kiln_value *scores) {
    kiln_compose *const c = &k->c;
    const int64_t *const d = scores->type.dim;
    kiln_value *const q = kiln_keras_mask_of(k->cx, k->in[0]);
    kiln_value *const v = kiln_keras_mask_of(k->cx, k->in[1]);
    kiln_value *seen = v == NULL ? NULL : kiln_keras_mask_of_keys(k, v);
    k->looks_at_masks = true;
    if (kiln_json_bool(kiln_keras_keyword(k, "use_causal_mask"), false))
        seen = kiln_keras_both(k, seen, kiln_keras_causal(k, d[1], d[2]));
    scores = kiln_keras_hide(k, scores, seen);
    scores = kiln_compose_axis(c, &kiln_op_softmax, scores, NULL, 2);
    k->out = kiln_compose_2(c, &kiln_op_matmul, scores, k->in[1]);
    if (q == NULL)
        return c->status;
    kiln_value *const zero = kiln_import_scalar(c->cx, k->out->type.dtype, 0);
    k->out = kiln_compose_where(c, kiln_keras_mask_of_queries(k, q), k->out, zero);
    return kiln_keras_set_mask(k, k->out, q);
}

static kiln_value *key_of(const kiln_keras_call *k) {
    return k->in[k->n_in > 2 ? 2 : 1];
}

kiln_status kiln_keras_import_attention(kiln_keras_call *k) {
    static const char *const roles[] = {"scale"};
    static const int64_t turned[] = {0, 2, 1};
    kiln_compose *const c = &k->c;
    kiln_value *scale = NULL;
    KILN_TRY(check_call(k));
    if (strcmp(kiln_keras_text(k, "score_mode", NULL, "dot"), "dot") != 0)
        return kiln_fail(k->cx->common.err, KILN_ERR_UNSUPPORTED,
                         "score_mode must be dot");
    kiln_value *scores = kiln_compose_2(c, &kiln_op_matmul, k->in[0],
                                        kiln_compose_transpose(c, key_of(k), turned));
    if (kiln_keras_bool(k, "use_scale", false)) {
        KILN_TRY(kiln_keras_weights(k, roles, 1, &scale));
        KILN_TRY(kiln_keras_check_shape(k, scale, "scale", 0, NULL));
        scores = kiln_compose_2(c, &kiln_op_mul, scores, scale);
    }
    KILN_TRY(c->status);
    return weigh(k, scores);
}

kiln_status kiln_keras_import_additive_attention(kiln_keras_call *k) {
    static const char *const roles[] = {"scale"};
    static const int64_t last = 3;
    kiln_compose *const c = &k->c;
    kiln_value *scale = NULL;
    KILN_TRY(check_call(k));
    const kiln_type q = k->in[0]->type, s = key_of(k)->type;
    const int64_t rows[] = {q.dim[0], q.dim[1], 1, q.dim[2]};
    const int64_t columns[] = {s.dim[0], 1, s.dim[1], s.dim[2]};
    kiln_value *y =
        kiln_compose_2(c, &kiln_op_add, kiln_compose_reshape(c, k->in[0], 4, rows),
                       kiln_compose_reshape(c, key_of(k), 4, columns));
    y = kiln_compose_1(c, &kiln_op_tanh, y);
    if (kiln_keras_bool(k, "use_scale", true)) {
        KILN_TRY(kiln_keras_weights(k, roles, 1, &scale));
        KILN_TRY(kiln_keras_check_shape(k, scale, "scale", 1, &q.dim[2]));
        y = kiln_compose_2(c, &kiln_op_mul, y, scale);
    }
    KILN_TRY(c->status);
    return weigh(k, kiln_compose_reduce(c, &kiln_op_reduce_sum, y, &last, 1, false));
}
