/* Importers of LinearAttention (27), unrolled over the steps, and CausalConvWithState
 * (27), composed of canonical operators.
 *
 * LinearAttention keeps a matrix S of [keys, values] for each head. At each step
 *   S *= e^g           (gated: g of a head or of each key)
 *   v  = beta (v - S^T k)   (delta rule: Yang et al. 2024, section 2)
 *   S += k v^T,  o = scale * S^T q
 * It is computed in f32, whatever the inputs are. */
#include "compiler/frontend/onnx/onnx_internal.h"

#include <inttypes.h>
#include <math.h>

enum { MAX_STEPS = 4096 }; /* beyond that the unrolled graph is no use */
enum { QUERY, KEY, VALUE, PAST, DECAY, BETA };

typedef struct recurrence {
    kiln_value *q, *k, *v;  /* [B, heads, T, size] */
    kiln_value *gate;       /* e^g: [B, heads, T, keys or 1], or NULL */
    kiln_value *beta;       /* [B, heads or 1, T, 1], or NULL */
    kiln_value *state;      /* [B, heads, keys, values] */
    int64_t heads, q_heads; /* of k and v; of q */
    int64_t batch, steps;
    double scale;
} recurrence;

/* Input i of [B, T, features] as f32 [B, heads, T, features / heads]. */
static kiln_status read_heads(kiln_compose *c, int i, const char *name, int64_t heads,
                              kiln_value **out) {
    kiln_value *x;
    KILN_TRY(kiln_onnx_need(kiln_onnx_of(c->cx), c->site, i, name, &x));
    if (x->type.rank != 3 || heads < 1 || x->type.dim[2] % heads != 0)
        return kiln_fail(c->cx->err, KILN_ERR_SHAPE,
                         "input '%s' must have shape [B, T, features] with "
                         "features divisible by %" PRId64 " heads, has rank %d",
                         name, heads, x->type.rank);
    x = kiln_compose_cast(c, x, KILN_F32);
    *out = kiln_compose_split_heads(c, x, heads);
    return c->status;
}

/* The update rule, and the inputs that it asks for. */
static kiln_status read_rule(kiln_compose *c, recurrence *r) {
    static const char *const rules[] = {"linear", "gated", "delta", "gated_delta"};
    kiln_onnx_cx *const cx = kiln_onnx_of(c->cx);
    const kiln_str rule = kiln_onnx_attr_s(cx, c->site, "update_rule", "gated_delta");
    unsigned which = 0; /* bit 0: gated, bit 1: delta */
    while (which < 4 && !kiln_str_is(rule, rules[which]))
        which++;
    if (which == 4)
        return kiln_onnx_fail(cx, KILN_ERR_PARSE,
                              "attribute 'update_rule' must be linear, gated, delta or "
                              "gated_delta, is '%s'",
                              kiln_str_printable(kiln_onnx_arena(cx), rule, 32));
    kiln_value *const decay = kiln_onnx_in(cx, c->site, DECAY);
    kiln_value *const beta = kiln_onnx_in(cx, c->site, BETA);
    if ((decay != NULL) != ((which & 1) != 0) || (beta != NULL) != ((which & 2) != 0))
        return kiln_onnx_fail(cx, KILN_ERR_PARSE,
                              "the rule '%s' %s input 'decay' and %s input 'beta'",
                              rules[which], which & 1 ? "needs" : "forbids",
                              which & 2 ? "needs" : "forbids");
    if (decay != NULL) {
        KILN_TRY(read_heads(c, DECAY, "decay", r->heads, &r->gate));
        r->gate = kiln_compose_1(c, &kiln_op_exp, r->gate);
    }
    if (beta != NULL) {
        const bool is_one = beta->type.rank == 3 && beta->type.dim[2] == 1;
        KILN_TRY(read_heads(c, BETA, "beta", is_one ? 1 : r->heads, &r->beta));
    }
    return c->status;
}

static kiln_status check_shapes(kiln_onnx_cx *cx, const recurrence *r) {
    const int64_t keys = r->k->type.dim[3];
    const kiln_value *const each[] = {r->q, r->k, r->v, r->gate, r->beta};
    for (size_t i = 0; i < sizeof each / sizeof each[0]; i++)
        if (each[i] != NULL &&
            (each[i]->type.dim[0] != r->batch || each[i]->type.dim[2] != r->steps))
            return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                                  "all inputs must have the %" PRId64 " batch entries "
                                  "and %" PRId64 " steps of 'query'",
                                  r->batch, r->steps);
    const int64_t gates = r->gate != NULL ? r->gate->type.dim[3] : 1;
    if (r->q->type.dim[3] != keys || (gates != 1 && gates != keys) ||
        (r->beta != NULL && r->beta->type.dim[3] != 1))
        return kiln_onnx_fail(
            cx, KILN_ERR_SHAPE,
            "heads of 'query' and 'key' must have one size, 'decay' that size or 1 and "
            "'beta' 1, heads of 'key' have %" PRId64,
            keys);
    if (r->q_heads % r->heads != 0)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "'kv_num_heads' %" PRId64
                              " must divide 'q_num_heads' %" PRId64,
                              r->heads, r->q_heads);
    if (r->steps < 1 || r->steps > MAX_STEPS)
        return kiln_onnx_fail(cx, KILN_ERR_LIMIT,
                              "a recurrence must have 1 to %d steps, has %" PRId64,
                              (int)MAX_STEPS, r->steps);
    return KILN_OK;
}

/* Step t of x: [B, heads, 1, size], or as a column [B, heads, size, 1]. */
static kiln_value *at_step(kiln_compose *c, kiln_value *x, int64_t t, bool is_column) {
    const int64_t column[] = {x->type.dim[0], x->type.dim[1], x->type.dim[3], 1};
    x = kiln_compose_slice(c, x, 2, t, 1, 1);
    return is_column ? kiln_compose_reshape(c, x, 4, column) : x;
}

/* Advances the state by step t and gives what the queries read, [B, q_heads, 1,
 * values]. */
static kiln_value *step(kiln_compose *c, recurrence *r, int64_t t) {
    kiln_value *const k = at_step(c, r->k, t, false);
    kiln_value *v = at_step(c, r->v, t, false);
    if (r->gate != NULL)
        r->state =
            kiln_compose_2(c, &kiln_op_mul, r->state, at_step(c, r->gate, t, true));
    if (r->beta != NULL) {
        v = kiln_compose_2(c, &kiln_op_sub, v,
                           kiln_compose_2(c, &kiln_op_matmul, k, r->state));
        v = kiln_compose_2(c, &kiln_op_mul, at_step(c, r->beta, t, false), v);
    }
    kiln_value *const outer =
        kiln_compose_2(c, &kiln_op_mul, at_step(c, r->k, t, true), v);
    r->state = kiln_compose_2(c, &kiln_op_add, r->state, outer);
    /* Query heads that share a state are its rows. */
    const int64_t group = r->q_heads / r->heads;
    const int64_t rows[] = {r->batch, r->heads, group, r->q->type.dim[3]};
    const int64_t flat[] = {r->batch, r->q_heads, 1, r->v->type.dim[3]};
    kiln_value *q = kiln_compose_slice(c, r->q, 2, t, 1, 1);
    q = kiln_compose_reshape(c, q, 4, rows);
    q = kiln_compose_2(c, &kiln_op_matmul, q, r->state);
    q = kiln_compose_reshape(c, q, 4, flat);
    return kiln_compose_scalar(c, &kiln_op_mul, q, r->scale);
}

static kiln_value *join_steps(kiln_compose *c, const recurrence *r,
                              kiln_value *const *out) {
    const kiln_attr_arg axis = kiln_arg_int("axis", 2);
    if (r->steps == 1)
        return out[0];
    return kiln_compose_op(c, &kiln_op_concat, out, (int)r->steps, &axis, 1);
}

static kiln_status read_inputs(kiln_compose *c, recurrence *r) {
    kiln_onnx_cx *const cx = kiln_onnx_of(c->cx);
    r->q_heads = kiln_onnx_attr_i(cx, c->site, "q_num_heads", 0);
    r->heads = kiln_onnx_attr_i(cx, c->site, "kv_num_heads", 0);
    KILN_TRY(read_heads(c, QUERY, "query", r->q_heads, &r->q));
    KILN_TRY(read_heads(c, KEY, "key", r->heads, &r->k));
    KILN_TRY(read_heads(c, VALUE, "value", r->heads, &r->v));
    KILN_TRY(read_rule(c, r));
    r->batch = r->q->type.dim[0];
    r->steps = r->q->type.dim[2];
    KILN_TRY(check_shapes(cx, r));
    r->scale = kiln_onnx_attr_f(cx, c->site, "scale", 0);
    if (r->scale == 0)
        r->scale = 1 / sqrt((double)r->q->type.dim[3]);
    const int64_t dim[] = {r->batch, r->heads, r->k->type.dim[3], r->v->type.dim[3]};
    r->state = kiln_onnx_in(cx, c->site, PAST);
    if (r->state == NULL)
        r->state = kiln_onnx_scalar(cx, KILN_F32, 0);
    r->state = kiln_compose_cast(c, r->state, KILN_F32);
    r->state = kiln_compose_expand(c, r->state, 4, dim);
    return c->status;
}

kiln_status kiln_onnx_import_linear_attention(kiln_onnx_cx *cx,
                                              const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    recurrence r = {0};
    KILN_TRY(read_inputs(&c, &r));
    const kiln_dtype dtype = kiln_onnx_in(cx, n, QUERY)->type.dtype;
    const kiln_value *const past = kiln_onnx_in(cx, n, PAST);
    kiln_value **const out = kiln_array(kiln_onnx_arena(cx), kiln_value *, r.steps);
    for (int64_t t = 0; t < r.steps; t++)
        out[t] = step(&c, &r, t);
    KILN_TRY(c.status);
    kiln_value *y = kiln_compose_join_heads(&c, join_steps(&c, &r, out));
    kiln_onnx_set(cx, n, 0, kiln_compose_cast(&c, y, dtype));
    kiln_onnx_set(
        cx, n, 1,
        kiln_compose_cast(&c, r.state, past != NULL ? past->type.dtype : dtype));
    return c.status;
}

/* ---- CausalConvWithState ---- */

/* y * sigmoid(y), in f32. */
static kiln_value *silu(kiln_compose *c, kiln_value *y) {
    const kiln_attr_arg alpha = kiln_arg_float("alpha", 1);
    const kiln_dtype dtype = y->type.dtype;
    y = kiln_compose_cast(c, y, KILN_F32);
    y = kiln_compose_op(c, &kiln_op_swish, &y, 1, &alpha, 1);
    return kiln_compose_cast(c, y, dtype);
}

kiln_status kiln_onnx_import_causal_conv(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_value *x, *w, *past = kiln_onnx_in(cx, n, 3);
    KILN_TRY(kiln_onnx_need(cx, n, 0, "input", &x));
    KILN_TRY(kiln_onnx_need(cx, n, 1, "weight", &w));
    if (x->type.rank != 3 || w->type.rank != 3 || w->type.dim[2] < 1)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "'input' must have shape [B, C, length] and 'weight' "
                              "[C, 1, k >= 1], have rank %d and %d",
                              x->type.rank, w->type.rank);
    const kiln_str how = kiln_onnx_attr_s(cx, n, "activation", "none");
    const bool has_silu = kiln_str_is(how, "silu") || kiln_str_is(how, "swish");
    if (!has_silu && !kiln_str_is(how, "none"))
        return kiln_onnx_fail(cx, KILN_ERR_PARSE,
                              "attribute 'activation' must be none, silu or swish, is "
                              "'%s'",
                              kiln_str_printable(kiln_onnx_arena(cx), how, 32));
    const int64_t margin = w->type.dim[2] - 1, length = x->type.dim[2];
    if (past != NULL && (past->type.rank != 3 || past->type.dim[2] != margin))
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "'past_state' must have shape [B, C, %" PRId64 "]",
                              margin);
    const kiln_attr_arg groups = kiln_arg_int("groups", x->type.dim[1]);
    kiln_value *padded = past != NULL
                             ? kiln_compose_axis(&c, &kiln_op_concat, past, x, 2)
                             : kiln_compose_pad(&c, x, (int64_t[6]){0, 0, margin}, 0);
    kiln_value *const in[] = {padded, w, kiln_onnx_in(cx, n, 2)};
    kiln_value *y = kiln_compose_op(&c, &kiln_op_conv, in, 3, &groups, 1);
    kiln_onnx_set(cx, n, 0, has_silu ? silu(&c, y) : y);
    kiln_onnx_set(cx, n, 1, kiln_compose_slice(&c, padded, 2, length, 1, margin));
    return c.status;
}
