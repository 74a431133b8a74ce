/* Importer of Attention (23, 24), composed of canonical operators.
 *
 * y = softmax(cap(sqrt(s) q * (sqrt(s) k)^T) + bias) * v for each head, where cap(x) =
 * c tanh(x / c) and the bias is 0 or -inf by the masks, or what a mask of floats adds
 * (Vaswani et al. 2017, section 3.2.1; groups of heads: Ainslie et al. 2023). A row
 * whose every key is masked gives 0. */
#include "compiler/frontend/onnx/onnx_internal.h"

#include <inttypes.h>
#include <math.h>

enum { Q, K, V, MASK, PAST_KEY, PAST_VALUE, KV_LENGTH }; /* inputs */
enum { Y, PRESENT_KEY, PRESENT_VALUE, SCORES };          /* outputs */
enum { RAW, CAPPED, BIASED, SOFTMAXED };                 /* qk_matmul_output_mode */

typedef struct attention {
    kiln_value *q, *k, *v; /* [B, heads, length, size] */
    int64_t past;          /* keys of past_key */
    kiln_value *bias;      /* broadcasts to the scores, or NULL */
    bool may_mask_rows;    /* whether a whole row of the bias may be -inf */
} attention;

/* Input i as [B, heads, length, size]. */
static kiln_status read_heads(kiln_compose *c, int i, const char *name,
                              const char *attr, int rank, kiln_value **out) {
    kiln_onnx_cx *const cx = kiln_onnx_of(c->cx);
    kiln_value *x;
    KILN_TRY(kiln_onnx_need(cx, c->site, i, name, &x));
    if (x->type.rank != rank || (rank != 3 && rank != 4))
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "inputs 'Q', 'K' and 'V' must all have rank 3 or all "
                              "have rank 4, '%s' has %d",
                              name, x->type.rank);
    const int64_t heads = kiln_onnx_attr_i(cx, c->site, attr, 0);
    if (rank == 3 && (heads < 1 || x->type.dim[2] % heads != 0))
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "attribute '%s' must be >= 1 and divide the %" PRId64
                              " features of '%s', is %" PRId64,
                              attr, x->type.dim[2], name, heads);
    *out = rank == 3 ? kiln_compose_split_heads(c, x, heads) : x;
    return KILN_OK;
}

/* Puts the past before *x on the axis of length; the result is the present. */
static kiln_status join_past(kiln_compose *c, int past, int present, kiln_value **x) {
    kiln_value *const before = kiln_onnx_in(kiln_onnx_of(c->cx), c->site, past);
    if (before != NULL)
        *x = kiln_compose_axis(c, &kiln_op_concat, before, *x, 2);
    kiln_onnx_set(kiln_onnx_of(c->cx), c->site, present, *x);
    return c->status;
}

static void add_bias(kiln_compose *c, attention *a, kiln_value *bias) {
    a->bias = a->bias == NULL ? bias : kiln_compose_2(c, &kiln_op_add, a->bias, bias);
}

/* 0 where `allowed`, -inf elsewhere. */
static kiln_value *bias_of(kiln_compose *c, const attention *a, kiln_value *allowed) {
    const kiln_dtype dtype = a->q->type.dtype;
    return kiln_compose_where(c, allowed, kiln_import_scalar(c->cx, dtype, 0),
                              kiln_import_scalar(c->cx, dtype, -(double)INFINITY));
}

/* The mask may end before the keys do since version 24. */
static void bias_by_mask(kiln_compose *c, attention *a, kiln_value *mask) {
    const int64_t length = a->k->type.dim[2];
    if (mask->type.dtype == KILN_BOOL)
        mask = bias_of(c, a, mask);
    const int last = mask->type.rank - 1;
    if (kiln_onnx_version(kiln_onnx_of(c->cx)) >= 24 && last >= 0 &&
        mask->type.dim[last] < length) {
        int64_t pads[2 * KILN_MAX_RANK] = {0};
        pads[2 * last + 1] = length - mask->type.dim[last];
        mask = kiln_compose_pad(c, mask, pads, -(double)INFINITY);
    }
    add_bias(c, a, mask);
    a->may_mask_rows = true;
}

/* Query i sees the keys j <= i + past; where lengths are given, the queries are the
 * last of a batch entry's keys: j <= i + length - queries. */
static void bias_by_order(kiln_compose *c, attention *a, kiln_value *lengths) {
    const int64_t queries = a->q->type.dim[2], keys = a->k->type.dim[2];
    kiln_value *i = kiln_compose_iota(c, queries), *j = kiln_compose_iota(c, keys);
    i = kiln_compose_reshape(c, i, 2, (int64_t[]){queries, 1});
    if (lengths != NULL) {
        lengths = kiln_compose_scalar(c, &kiln_op_sub, lengths, (double)queries);
        i = kiln_compose_2(c, &kiln_op_add, i, lengths);
    } else {
        i = kiln_compose_scalar(c, &kiln_op_add, i, (double)a->past);
    }
    add_bias(c, a, bias_of(c, a, kiln_compose_2(c, &kiln_op_less_equal, j, i)));
}

static void make_bias(kiln_compose *c, attention *a) {
    kiln_value *const mask = kiln_onnx_in(kiln_onnx_of(c->cx), c->site, MASK);
    kiln_value *lengths = kiln_onnx_in(kiln_onnx_of(c->cx), c->site, KV_LENGTH);
    if (mask != NULL)
        bias_by_mask(c, a, mask);
    if (lengths != NULL) {
        lengths = kiln_compose_reshape(c, lengths, 4,
                                       (int64_t[]){lengths->type.dim[0], 1, 1, 1});
        lengths = kiln_compose_cast(c, lengths, KILN_I64);
        a->may_mask_rows = true;
    }
    if (kiln_onnx_attr_i(kiln_onnx_of(c->cx), c->site, "is_causal", 0) != 0)
        bias_by_order(c, a, lengths);
    if (lengths != NULL) {
        kiln_value *const j = kiln_compose_iota(c, a->k->type.dim[2]);
        add_bias(c, a, bias_of(c, a, kiln_compose_2(c, &kiln_op_less, j, lengths)));
    }
}

static kiln_value *softmax(kiln_compose *c, const attention *a, kiln_value *scores,
                           kiln_dtype precision) {
    const int64_t last = 3;
    kiln_value *y = kiln_compose_cast(c, scores, precision);
    y = kiln_compose_axis(c, &kiln_op_softmax, y, NULL, 3);
    y = kiln_compose_cast(c, y, a->q->type.dtype);
    if (!a->may_mask_rows)
        return y;
    kiln_value *top =
        kiln_compose_reduce(c, &kiln_op_reduce_max, scores, &last, 1, true);
    top = kiln_compose_scalar(c, &kiln_op_equal, top, -(double)INFINITY);
    return kiln_compose_where(c, top, kiln_import_scalar(c->cx, y->type.dtype, 0), y);
}

static kiln_value *attend(kiln_compose *c, const attention *a, kiln_dtype precision) {
    static const int64_t turn[] = {0, 1, 3, 2};
    const int64_t size = a->q->type.dim[3],
                  group = a->q->type.dim[1] / a->k->type.dim[1];
    const double otherwise = size > 0 ? 1 / sqrt((double)size) : 1;
    const double scale =
        sqrt(kiln_onnx_attr_f(kiln_onnx_of(c->cx), c->site, "scale", otherwise));
    const double cap = kiln_onnx_attr_f(kiln_onnx_of(c->cx), c->site, "softcap", 0);
    kiln_value *stage[4];
    kiln_value *q = kiln_compose_scalar(c, &kiln_op_mul, a->q, scale);
    kiln_value *k =
        kiln_compose_transpose(c, kiln_compose_repeat_heads(c, a->k, group), turn);
    k = kiln_compose_scalar(c, &kiln_op_mul, k, scale);
    kiln_value *y = stage[RAW] = kiln_compose_2(c, &kiln_op_matmul, q, k);
    if (cap > 0) {
        y = kiln_compose_scalar(c, &kiln_op_div, y, cap);
        y = kiln_compose_1(c, &kiln_op_tanh, y);
        y = kiln_compose_scalar(c, &kiln_op_mul, y, cap);
    }
    stage[CAPPED] = y;
    if (a->bias != NULL)
        y = kiln_compose_2(c, &kiln_op_add, y, a->bias);
    stage[BIASED] = y;
    y = stage[SOFTMAXED] = softmax(c, a, y, precision);
    const int64_t mode =
        kiln_onnx_attr_i(kiln_onnx_of(c->cx), c->site, "qk_matmul_output_mode", 0);
    if (mode >= 0 && mode < 4)
        kiln_onnx_set(kiln_onnx_of(c->cx), c->site, SCORES, stage[mode]);
    else if (c->status == KILN_OK)
        kiln_compose_fail(c, kiln_fail(c->cx->err, KILN_ERR_PARSE,
                                       "attribute 'qk_matmul_output_mode' must be "
                                       "in [0, 3], is %" PRId64,
                                       mode));
    return kiln_compose_2(c, &kiln_op_matmul, y,
                          kiln_compose_repeat_heads(c, a->v, group));
}

static kiln_status check_inputs(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                                const attention *a) {
    const int64_t q_heads = a->q->type.dim[1], heads = a->k->type.dim[1];
    const kiln_value *const lengths = kiln_onnx_in(cx, n, KV_LENGTH);
    const bool has_key = kiln_onnx_in(cx, n, PAST_KEY) != NULL;
    if (heads < 1 || q_heads % heads != 0 || a->v->type.dim[1] != heads)
        return kiln_onnx_fail(
            cx, KILN_ERR_SHAPE,
            "the heads of 'K' and 'V' must be as many and divide those "
            "of 'Q', are %" PRId64 ", %" PRId64 " and %" PRId64,
            heads, a->v->type.dim[1], q_heads);
    if (has_key != (kiln_onnx_in(cx, n, PAST_VALUE) != NULL))
        return kiln_onnx_fail(cx, KILN_ERR_PARSE,
                              "'past_key' and 'past_value' must be given together");
    if (lengths != NULL && (has_key || lengths->type.rank != 1))
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "'nonpad_kv_seqlen' must be a list and come without "
                              "'past_key'");
    if (has_key && kiln_onnx_in(cx, n, PAST_KEY)->type.rank != 4)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE, "'past_key' must have rank 4, has %d",
                              kiln_onnx_in(cx, n, PAST_KEY)->type.rank);
    return KILN_OK;
}

kiln_status kiln_onnx_import_attention(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    attention a = {0};
    kiln_value *first;
    KILN_TRY(kiln_onnx_need(cx, n, Q, "Q", &first));
    const int rank = first->type.rank;
    KILN_TRY(read_heads(&c, Q, "Q", "q_num_heads", rank, &a.q));
    KILN_TRY(read_heads(&c, K, "K", "kv_num_heads", rank, &a.k));
    KILN_TRY(read_heads(&c, V, "V", "kv_num_heads", rank, &a.v));
    KILN_TRY(c.status);
    KILN_TRY(check_inputs(cx, n, &a));
    kiln_dtype precision = a.q->type.dtype;
    if (kiln_onnx_has_attr(n, "softmax_precision"))
        KILN_TRY(kiln_onnx_dtype(kiln_onnx_attr_i(cx, n, "softmax_precision", 1),
                                 &precision, kiln_onnx_err(cx)));
    const int64_t fresh = a.k->type.dim[2];
    KILN_TRY(join_past(&c, PAST_KEY, PRESENT_KEY, &a.k));
    KILN_TRY(join_past(&c, PAST_VALUE, PRESENT_VALUE, &a.v));
    a.past = a.k->type.dim[2] - fresh;
    make_bias(&c, &a);
    kiln_value *y = attend(&c, &a, precision);
    if (rank == 3)
        y = kiln_compose_join_heads(&c, y);
    kiln_onnx_set(cx, n, Y, y);
    return c.status;
}
