/* A transposed convolution becomes convolutions, which have templates.
 *
 * Output positions that are equal modulo the stride s form a phase: they read the same
 * taps, every s-th, so each phase is a convolution of stride 1 with those taps turned
 * round (Shi et al., "Is the deconvolution layer the same as a convolutional layer?",
 * arXiv 1609.07009). Position s * q + a takes tap t0 + s * m of x[q + c - m], where t0
 * and c are the rest and the quotient of (a + pad) / s. The phases' results are woven
 * together by concats.
 *
 * Only where that multiplies about as often: one pixel that becomes an image would be
 * multiplied with its padding. Where the stride is the kernel nothing need be woven: such
 * a convolution has a template of its own (conv_subpixel) that writes every phase to its
 * place. Not exact: other sums of the same products. */
#include "compiler/pass/pass_internal.h"

#include <string.h>

enum {
    MAX_PHASES = 16,
    MAX_SPATIAL = 3,
    MAX_TAPS = 8 /* half of the vector registers that every machine has */
};

/* One phase along one axis. */
typedef struct phase {
    int64_t first, taps; /* t0; how many */
    int64_t pad_begin, pad_end;
} phase;

typedef struct splitting {
    const kiln_node *node;
    int n; /* spatial axes */
    int64_t stride[MAX_SPATIAL], kernel[MAX_SPATIAL], pad[MAX_SPATIAL];
    int64_t in[MAX_SPATIAL], out[MAX_SPATIAL]; /* out: of one phase */
    int n_phases;
} splitting;

static int64_t entry(const kiln_node *n, const char *list, int i, int64_t otherwise) {
    const kiln_attr *a = kiln_node_attr(n, list);
    return a->n == 0 ? otherwise : a->ints[i];
}

static phase phase_of(const splitting *p, int axis, int64_t a) {
    const int64_t s = p->stride[axis], c = (a + p->pad[axis]) / s;
    phase f = {.first = (a + p->pad[axis]) % s};
    f.taps = (p->kernel[axis] - f.first + s - 1) / s;
    f.pad_begin = f.taps - 1 - c;
    f.pad_end = p->out[axis] - p->in[axis] - f.pad_begin + f.taps - 1;
    return f;
}

static bool has_shape(splitting *p, const kiln_node *n) {
    const kiln_type *x = &n->in[0]->type, *w = &n->in[1]->type, *y = &n->out[0]->type;
    *p = (splitting){.node = n, .n = x->rank - 2, .n_phases = 1};
    if (p->n > MAX_SPATIAL || !kiln_value_is_const(n->in[1]) ||
        kiln_node_attr(n, "groups")->i != 1 || !kiln_dtype_is_float(x->dtype) ||
        kiln_type_elems(y) == 0 || kiln_type_elems(w) == 0 ||
        !kiln_layout_is_plain(&w->layout))
        return false;
    for (int i = 0; i < p->n; i++) {
        p->stride[i] = entry(n, "strides", i, 1);
        p->kernel[i] = w->dim[2 + i];
        p->pad[i] = entry(n, "pads", i, 0);
        p->in[i] = x->dim[2 + i];
        p->out[i] = y->dim[2 + i] / p->stride[i];
        if (entry(n, "dilations", i, 1) != 1 || p->stride[i] > MAX_PHASES ||
            p->kernel[i] < p->stride[i] || y->dim[2 + i] % p->stride[i] != 0)
            return false;
        p->n_phases *= (int)p->stride[i];
        if (p->n_phases > MAX_PHASES)
            return false;
    }
    return true;
}

/* Taps that lie side by side, several of them but no more along a row than accumulators
 * of a tile, and several channels: what conv_subpixel takes. */
static bool is_product(const splitting *p) {
    const kiln_type *y = &p->node->out[0]->type;
    for (int i = 0; i < p->n; i++)
        if (p->kernel[i] != p->stride[i] || p->pad[i] != 0 ||
            entry(p->node, "pads", p->n + i, 0) != 0 ||
            y->dim[2 + i] != p->stride[i] * p->in[i])
            return false;
    return p->n_phases > 1 && y->dim[1] > 1 && p->stride[p->n - 1] <= MAX_TAPS;
}

/* Paddings that exist, and no more than half as many products again. */
static bool is_worth_it(const splitting *p) {
    double ratio = 1;
    for (int i = 0; i < p->n; i++) {
        int64_t taps = 0;
        for (int64_t a = 0; a < p->stride[i]; a++) {
            const phase f = phase_of(p, i, a);
            if (f.pad_begin < 0 || f.pad_end < 0)
                return false;
            taps += f.taps;
        }
        ratio *= (double)(taps * p->out[i]) / (double)(p->kernel[i] * p->in[i]);
    }
    return ratio <= 1.5;
}

/* Weights of a phase: [o, c, taps...] of [c, o, kernel...], turned round. */
static kiln_value *weights_of(kiln_graph *g, const splitting *p, const phase *f) {
    const kiln_value *w = p->node->in[1];
    const kiln_type *from = &w->type;
    int64_t dim[KILN_MAX_RANK] = {from->dim[1], from->dim[0]};
    int64_t stride[KILN_MAX_RANK], at[KILN_MAX_RANK] = {0};
    for (int i = 0; i < p->n; i++)
        dim[2 + i] = f[i].taps;
    const kiln_type t = kiln_type_make(from->dtype, from->rank, dim);
    const size_t bytes = kiln_dtype_bytes(t.dtype);
    const int64_t n = kiln_type_elems(&t);
    kiln_strides(from->rank, from->dim, stride);
    unsigned char *to = kiln_tensor_new(g->arena, &t).data;
    for (int64_t k = 0; k < n; k++) {
        int64_t source = at[1] * stride[0] + at[0] * stride[1];
        for (int i = 0; i < p->n; i++)
            source += (f[i].first + p->stride[i] * (f[i].taps - 1 - at[2 + i])) *
                      stride[2 + i];
        KILN_ASSERT(source >= 0 && source < kiln_type_elems(from),
                    "a phase of '%s' takes weight %lld", p->node->name,
                    (long long)source);
        memcpy(to + (size_t)k * bytes,
               (const unsigned char *)w->data + (size_t)source * bytes, bytes);
        for (int i = t.rank - 1; i >= 0 && ++at[i] == dim[i]; i--)
            at[i] = 0;
    }
    return kiln_graph_add_const(g, w->name, &t, to);
}

/* The convolution of one phase, with an axis of 1 behind each spatial one. */
static kiln_status add_phase(kiln_sweep *s, const splitting *p, int index,
                             kiln_value **out) {
    const kiln_node *n = p->node;
    int64_t pads[2 * MAX_SPATIAL], dim[KILN_MAX_RANK];
    phase f[MAX_SPATIAL];
    for (int i = p->n - 1; i >= 0; i--) {
        f[i] = phase_of(p, i, index % p->stride[i]);
        index /= (int)p->stride[i];
        pads[i] = f[i].pad_begin;
        pads[p->n + i] = f[i].pad_end;
    }
    kiln_value *in[] = {n->in[0], weights_of(s->g, p, f),
                        n->n_in > 2 ? n->in[2] : NULL};
    const kiln_attr_arg arg = kiln_arg_ints("pads", pads, 2 * (size_t)p->n);
    KILN_TRY(kiln_sweep_add(s, &kiln_op_conv, n, in, n->n_in, &arg, 1, out));
    if (p->n_phases == 1)
        return KILN_OK;
    dim[0] = (*out)->type.dim[0];
    dim[1] = (*out)->type.dim[1];
    for (int i = 0; i < p->n; i++) {
        dim[2 + 2 * i] = p->out[i];
        dim[3 + 2 * i] = 1;
    }
    const kiln_attr_arg shape = kiln_arg_ints("shape", dim, 2 + 2 * (size_t)p->n);
    return kiln_sweep_add(s, &kiln_op_reshape, n, out, 1, &shape, 1, out);
}

/* Phases of the last axis become one, then those of the axis before it. */
static kiln_status weave(kiln_sweep *s, const splitting *p, kiln_value **part,
                         kiln_value **out) {
    int count = p->n_phases;
    for (int i = p->n - 1; i >= 0; i--) {
        const int each = (int)p->stride[i];
        const kiln_attr_arg axis = kiln_arg_int("axis", 3 + 2 * i);
        count /= each;
        for (int k = 0; k < count && each > 1; k++)
            KILN_TRY(kiln_sweep_add(s, &kiln_op_concat, p->node,
                                    part + (ptrdiff_t)k * each, each, &axis, 1,
                                    &part[k]));
    }
    const kiln_type *y = &p->node->out[0]->type;
    const kiln_attr_arg shape = kiln_arg_ints("shape", y->dim, (size_t)y->rank);
    return kiln_sweep_add(s, &kiln_op_reshape, p->node, part, 1, &shape, 1, out);
}

static kiln_status split(kiln_sweep *s, kiln_node *n, const splitting *p) {
    kiln_value *part[MAX_PHASES], *same = NULL;
    for (int i = 0; i < p->n_phases; i++)
        KILN_TRY(add_phase(s, p, i, &part[i]));
    same = part[0];
    if (p->n_phases > 1)
        KILN_TRY(weave(s, p, part, &same));
    KILN_ASSERT(kiln_type_same_shape(&same->type, &n->out[0]->type),
                "phases of '%s' make another shape", n->name);
    kiln_sweep_replace(s, n->out[0], same);
    kiln_sweep_drop(s, n);
    return KILN_OK;
}

static kiln_status run(kiln_graph *g, kiln_pass_cx *cx) {
    kiln_sweep s;
    kiln_status st = KILN_OK;
    kiln_sweep_begin(&s, g, cx);
    for (kiln_node *n; st == KILN_OK && (n = kiln_sweep_next(&s)) != NULL;) {
        splitting p;
        if (n->op == &kiln_op_conv_transpose && has_shape(&p, n) && !is_product(&p) &&
            is_worth_it(&p))
            st = split(&s, n, &p);
        else
            kiln_sweep_keep(&s, n);
    }
    kiln_sweep_end(&s);
    return st;
}

const kiln_pass kiln_pass_split_conv_transpose = {
    .name = "split_conv_transpose",
    .doc = "transposed convolutions become convolutions, one for each phase, where the "
           "stride is not the kernel",
    .needs = KILN_TYPED | KILN_CONSTS_FOLDED | KILN_INFERENCE_ONLY,
    .keeps = KILN_TYPED | KILN_SHAPES_FOLDED | KILN_CONSTS_FOLDED | KILN_INFERENCE_ONLY,
    .run = run,
};
