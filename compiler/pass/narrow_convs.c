/* Convolutions of whole numbers that come from bytes are convolutions of bytes: what
 * frontends compose quantised ones of.
 *
 *   conv(i32(x) - z, w, bias)  =  conv_bytes(x, w8, bias - z sum(w)) {fill=z}
 *
 * for an x of 8 bits, a constant z and constant w. What z takes off is the same for all
 * elements of a channel, padding included, since padding is z there. Taken are
 * convolutions that sum up several channels, or taps of one in a row, and those of each
 * channel by itself. Weights that 8 bits hold become i8. Others become i8 by a zero point of their
 * own (w_zero), which costs sums of x, or, of a channel by itself, i16.
 *
 * Where several are summed up x becomes unsigned, x ^ 0x80 and z + 128: most machines
 * that add up products of bytes want one unsigned factor. Transpositions and views
 * between are repeated on bytes. */
#include "compiler/pass/byte_source.h"
#include "compiler/pass/pass_internal.h"

/* ---- weights ---------------------------------------------------------------------- */

typedef struct weights {
    kiln_wide w;
    int64_t n;
    kiln_byte_weights as;
    bool is_dot; /* bytes that several channels are summed over */
} weights;

static bool describe(kiln_sweep *s, const kiln_node *n, weights *out) {
    const kiln_value *v = n->in[1];
    *out = (weights){.n = 0};
    if (!kiln_value_is_const(v) || !kiln_layout_is_plain(&v->type.layout) ||
        !kiln_byte_conv_pays(n, &out->is_dot))
        return false;
    out->w = kiln_wide_new(s->cx->scratch, &v->type);
    out->n = kiln_type_elems(&v->type);
    kiln_widen(&v->type, v->data, &out->w);
    return kiln_byte_weights_of(&out->w, out->is_dot, &out->as);
}

static kiln_value *narrowed(kiln_sweep *s, const kiln_value *v, const weights *w) {
    const kiln_type t = kiln_type_make(w->as.dtype, v->type.rank, v->type.dim);
    kiln_wide less = kiln_wide_new(s->cx->scratch, &t);
    for (int64_t i = 0; i < w->n; i++)
        less.i[i] = w->w.i[i] + w->as.zero;
    return kiln_byte_const(s, v->name, &less);
}

/* Wraps as sums do. */
static kiln_value *bias_of(kiln_sweep *s, const kiln_node *n, const weights *w,
                           int64_t zero) {
    kiln_value *given = n->n_in > 2 ? n->in[2] : NULL;
    const int64_t outs = n->in[1]->type.dim[0], terms = w->n / outs;
    const kiln_type t = kiln_type_make(KILN_I32, 1, &outs);
    kiln_wide bias = kiln_wide_new(s->cx->scratch, &t);
    if (zero == 0)
        return given;
    for (int64_t i = 0; i < outs && given == NULL; i++)
        bias.i[i] = 0;
    if (given != NULL)
        kiln_widen(&t, given->data, &bias);
    for (int64_t i = 0; i < w->n; i++)
        bias.i[i / terms] -= zero * w->w.i[i];
    return kiln_byte_const(s, given != NULL ? given->name : "bias", &bias);
}

/* ---- rewriting -------------------------------------------------------------------- */

static kiln_status unsign(kiln_sweep *s, const kiln_node *like, kiln_byte_source *x) {
    const kiln_attr_arg to = kiln_arg_dtype("to", KILN_U8);
    kiln_value *in[2] = {x->x, kiln_graph_const_scalar(s->g, "sign", KILN_U8, 0x80)};
    KILN_TRY(kiln_sweep_add(s, &kiln_op_bitcast, like, in, 1, &to, 1, &in[0]));
    x->zero += 0x80;
    return kiln_sweep_add(s, &kiln_op_bitwise_xor, like, in, 2, NULL, 0, &x->x);
}

static kiln_status narrow(kiln_sweep *s, kiln_node *n, kiln_value **same) {
    static const char *const lists[] = {"strides", "pads", "dilations"};
    enum { N_LISTS = sizeof lists / sizeof lists[0] };
    kiln_byte_source x;
    weights w;
    kiln_attr_arg arg[N_LISTS + 3];
    if (n->op != &kiln_op_conv || n->out[0]->type.dtype != KILN_I32 ||
        (n->n_in > 2 && n->in[2] != NULL && !kiln_value_is_const(n->in[2])) ||
        !kiln_byte_source_of(n->in[0], &x) || x.by != NULL || !describe(s, n, &w))
        return KILN_OK;
    if (w.is_dot && x.x->type.dtype == KILN_I8)
        KILN_TRY(unsign(s, n, &x));
    kiln_value *in[3] = {NULL, narrowed(s, n->in[1], &w), bias_of(s, n, &w, x.zero)};
    in[0] = x.x;
    KILN_TRY(kiln_byte_source_move(s, &x, &in[0]));
    for (int i = 0; i < N_LISTS; i++)
        arg[i] = kiln_arg_ints(lists[i], kiln_node_attr(n, lists[i])->ints,
                               kiln_node_attr(n, lists[i])->n);
    arg[N_LISTS] = kiln_arg_int("groups", kiln_node_attr(n, "groups")->i);
    arg[N_LISTS + 1] = kiln_arg_int("fill", x.zero);
    arg[N_LISTS + 2] = kiln_arg_int("w_zero", w.as.zero);
    return kiln_sweep_add(s, &kiln_op_conv_bytes, n, in, in[2] != NULL ? 3 : 2, arg,
                          N_LISTS + 3, same);
}

static kiln_status run(kiln_graph *g, kiln_pass_cx *cx) {
    return kiln_sweep_by(g, cx, narrow);
}

const kiln_pass kiln_pass_narrow_convs = {
    .name = "narrow_convs",
    .doc = "convolutions of bytes less zero points take the bytes as they are",
    .needs = KILN_TYPED | KILN_CONSTS_FOLDED,
    .keeps = KILN_TYPED | KILN_SHAPES_FOLDED | KILN_CONSTS_FOLDED | KILN_INFERENCE_ONLY,
    .is_exact = true,
    .run = run,
};
