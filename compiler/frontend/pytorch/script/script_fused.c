/* Operators that torch traces in place of its own transformer layers ("fast path"): they
 * become what the code of those layers says. Source: torch/nn/modules/transformer.py and activation.py;
 * aten/src/ATen/native/transformers/transformer.cpp. */
#include <string.h>

#include "compiler/frontend/pytorch/script/script_builtin.h"

/* Calls that go on after the first failure, and then do nothing. */
typedef struct maker {
    kiln_script_call *k;
    kiln_status status;
} maker;

static kiln_script_value call(maker *m, const char *op, const kiln_script_value *v,
                              size_t n) {
    enum { MAX_ARGS = 8 };
    kiln_str no_names[MAX_ARGS] = {{NULL, 0}};
    kiln_script_value out = kiln_script_none();
    const kiln_script_args args = {(kiln_script_value *)(uintptr_t)v, no_names, n};
    if (m->status == KILN_OK)
        m->status = kiln_script_call_name(m->k->cx, kiln_str_from(op), &args, &out);
    return out;
}
#define CALL(m, op, ...)                                                               \
    call((m), (op), (const kiln_script_value[]){__VA_ARGS__},                          \
         sizeof((const kiln_script_value[]){__VA_ARGS__}) / sizeof(kiln_script_value))

static kiln_script_value number(int64_t i) { return kiln_script_of_int(i); }

static kiln_script_value ints(maker *m, const int64_t *v, size_t n) {
    kiln_script_value list = kiln_script_new_list(m->k->cx, KILN_SCRIPT_V_LIST);
    for (size_t i = 0; i < n; i++)
        kiln_script_push(m->k->cx, &list, number(v[i]));
    return list;
}

/* Weights of an attention, as the operators have them: one for q, k and v. */
typedef struct attention {
    const kiln_script_value *qkv, *bias, *proj, *proj_bias;
    int64_t width, heads;
} attention;

/* [B, L, E], self-attention only. */
static kiln_script_value attend(maker *m, kiln_script_value x, const attention *a) {
    kiln_script_value part[3];
    if (m->status != KILN_OK || x.kind != KILN_SCRIPT_V_TENSOR)
        return x;
    const kiln_type t = x.tensor->v->type;
    const int64_t split[] = {t.dim[0], t.dim[1], a->heads, a->width / a->heads};
    const int64_t whole[] = {t.dim[0], t.dim[1], a->width};
    const kiln_script_value all = CALL(m, "torch.linear", x, *a->qkv, *a->bias);
    const kiln_script_value three = CALL(m, "torch.chunk", all, number(3), number(-1));
    for (size_t i = 0; i < 3 && m->status == KILN_OK; i++) {
        const kiln_script_value v =
            CALL(m, "torch.view", three.list->item.v[i], ints(m, split, 4));
        part[i] = CALL(m, "torch.transpose", v, number(1), number(2));
    }
    if (m->status != KILN_OK)
        return x;
    const kiln_script_value y =
        CALL(m, "torch.scaled_dot_product_attention", part[0], part[1], part[2]);
    const kiln_script_value back = CALL(m, "torch.transpose", y, number(1), number(2));
    const kiln_script_value joined = CALL(m, "torch.reshape", back, ints(m, whole, 3));
    return CALL(m, "torch.linear", joined, *a->proj, *a->proj_bias);
}

static bool is_kind(const kiln_script_value *v, kiln_script_kind kind) {
    return v->kind == kind;
}

/* Are the operands what they must be, and is there no mask? */
static kiln_status check(kiln_script_call *k, const attention *a, size_t mask) {
    const kiln_script_value *const x = &k->v[0];
    if (!is_kind(x, KILN_SCRIPT_V_TENSOR) || x->tensor->v->type.rank != 3)
        return kiln_script_wrong(k, 0, "a tensor of 3 axes");
    if (a->heads < 1 || a->width % a->heads != 0)
        return kiln_script_fail(k->cx, KILN_ERR_PARSE,
                                "the heads of an attention must divide its width");
    if (mask < k->n && !is_kind(&k->v[mask], KILN_SCRIPT_V_NONE))
        return kiln_script_fail(k->cx, KILN_ERR_UNSUPPORTED,
                                "a mask of torch's fused transformer layer is not "
                                "read; trace the model after "
                                "torch.backends.mha.set_fastpath_enabled(False)");
    return KILN_OK;
}

kiln_status kiln_script_builtin_encoder_layer(kiln_script_call *k) {
    enum {
        X,
        WIDTH,
        HEADS,
        QKV,
        QKV_BIAS,
        PROJ,
        PROJ_BIAS,
        USE_GELU,
        NORM_FIRST,
        EPS,
        NORM_1,
        NORM_1_BIAS,
        NORM_2,
        NORM_2_BIAS,
        FF_1,
        FF_1_BIAS,
        FF_2,
        FF_2_BIAS,
        MASK
    };
    const kiln_script_value *const v = k->v;
    const attention a = {&v[QKV],       &v[QKV_BIAS], &v[PROJ],
                         &v[PROJ_BIAS], v[WIDTH].i,   v[HEADS].i};
    maker m = {k, KILN_OK};
    kiln_script_value x = v[X], y;
    KILN_TRY(check(k, &a, MASK));
    const bool is_first = v[NORM_FIRST].i != 0;
    const kiln_script_value shape = ints(&m, &a.width, 1);
#define NORM(of, at) CALL(&m, "torch.layer_norm", of, shape, v[at], v[at + 1], v[EPS])
    y = is_first ? NORM(x, NORM_1) : x;
    x = CALL(&m, "torch.add", x, attend(&m, y, &a));
    x = is_first ? x : NORM(x, NORM_1);
    y = is_first ? NORM(x, NORM_2) : x;
    y = CALL(&m, "torch.linear", y, v[FF_1], v[FF_1_BIAS]);
    y = CALL(&m, v[USE_GELU].i != 0 ? "torch.gelu" : "torch.relu", y);
    y = CALL(&m, "torch.linear", y, v[FF_2], v[FF_2_BIAS]);
    x = CALL(&m, "torch.add", x, y);
    x = is_first ? x : NORM(x, NORM_2);
#undef NORM
    return m.status == KILN_OK ? kiln_script_give(k, x) : m.status;
}

/* query, key, value, width, heads, weights; the second result are attention's weights,
 * which nobody reads where they are not asked for. */
kiln_status kiln_script_builtin_fused_attention(kiln_script_call *k) {
    enum {
        QUERY,
        KEY,
        VALUE,
        WIDTH,
        HEADS,
        QKV,
        QKV_BIAS,
        PROJ,
        PROJ_BIAS,
        MASK,
        NEED
    };
    const kiln_script_value *const v = k->v;
    const attention a = {&v[QKV],       &v[QKV_BIAS], &v[PROJ],
                         &v[PROJ_BIAS], v[WIDTH].i,   v[HEADS].i};
    maker m = {k, KILN_OK};
    KILN_TRY(check(k, &a, MASK));
    const bool is_self = kiln_script_equal(&v[QUERY], &v[KEY]) &&
                         kiln_script_equal(&v[QUERY], &v[VALUE]);
    if (!is_self || k->n <= NEED || v[NEED].i != 0)
        return kiln_script_fail(
            k->cx, KILN_ERR_UNSUPPORTED,
            "torch's fused attention is read as self-attention without its weights; "
            "trace "
            "the model after torch.backends.mha.set_fastpath_enabled(False)");
    kiln_script_value both = kiln_script_new_list(k->cx, KILN_SCRIPT_V_TUPLE);
    kiln_script_push(k->cx, &both, attend(&m, v[QUERY], &a));
    kiln_script_push(k->cx, &both, kiln_script_none());
    return m.status == KILN_OK ? kiln_script_give(k, both) : m.status;
}
