/* Padding that stands before a convolution or a pooling becomes its own.
 *
 *   conv      zeros around the spatial axes (ONNX Conv 22: what it pads with)
 *   max_pool  the smallest value of the dtype (-inf for floats); or zeros, where
 *             nothing that is pooled is below zero and no window holds padding alone
 *   avg_pool  zeros, which then count as elements: only where the pooling itself pads
 *             nothing, or counts what it pads
 *   lp_pool   zeros: |0|^p adds nothing
 *
 * Only where the pad has no other reader: else it is computed all the same. A ceil_mode
 * stays alone: it asks what lies in the input, and what in its padding. */
#include "compiler/pass/pass_internal.h"

#include <math.h>
#include <string.h>

/* ---- what a pad holds ------------------------------------------------------------ */

typedef enum filling { ZERO, LOWEST, OTHER } filling;

static bool has_bits(const kiln_value *v, double f, int64_t i) {
    const kiln_type t = kiln_type_scalar(v->type.dtype);
    const bool is_float = kiln_dtype_is_float(t.dtype);
    const kiln_wide w = {
        .type = t, .f = is_float ? &f : NULL, .i = is_float ? NULL : &i};
    unsigned char want[8] = {0};
    kiln_narrow(&w, want);
    return memcmp(v->data, want, kiln_dtype_bytes(t.dtype)) == 0;
}

static filling filling_of(const kiln_node *pad) {
    if (pad->n_in < 2 || pad->in[1] == NULL)
        return ZERO;
    const kiln_value *v = pad->in[1];
    if (!kiln_value_is_const(v))
        return OTHER;
    if (has_bits(v, 0, 0))
        return ZERO;
    return has_bits(v, -(double)INFINITY, kiln_dtype_get(v->type.dtype)->min_i) ? LOWEST
                                                                                : OTHER;
}

/* The constant pad of spatial axes alone that makes v; NULL: another node. */
static const kiln_node *pad_before(const kiln_value *v) {
    const kiln_node *n = v->def;
    if (n == NULL || n->op != &kiln_op_pad || v->count != NULL ||
        strcmp(n->op->attr[0].choices[kiln_node_attr(n, "mode")->i], "constant") != 0)
        return NULL;
    const int rank = v->type.rank;
    const int64_t *pads = kiln_node_attr(n, "pads")->ints;
    for (int i = 0; i < 2 * rank; i++)
        if (i % rank < 2 ? pads[i] != 0 : pads[i] < 0 || pads[i] > INT32_MAX)
            return NULL;
    return n;
}

/* ---- who can take it ------------------------------------------------------------- */

/* Is nothing in v below zero? A NaN may be. */
static bool is_never_negative(const kiln_value *v) {
    const kiln_node *n = v->def;
    if (n == NULL)
        return false;
    if (n->op == &kiln_op_clip)
        return kiln_node_attr(n, "min")->f >= 0 && kiln_node_attr(n, "max")->f >= 0;
    return n->op == &kiln_op_relu || n->op == &kiln_op_sigmoid ||
           n->op == &kiln_op_abs || n->op == &kiln_op_exp ||
           kiln_dtype_is_in(v->type.dtype, KILN_DT_UNSIGNED);
}

static int64_t own_pad(const kiln_node *n, int i) {
    const kiln_attr *pads = kiln_node_attr(n, "pads");
    return pads->n == 0 ? 0 : pads->ints[i];
}

static int64_t step_of(const kiln_node *n, const char *name, int i) {
    const kiln_attr *list = kiln_node_attr(n, name);
    return list->n == 0 ? 1 : list->ints[i];
}

/* Does each window of the pooling hold an element of the pad's own input? */
static bool windows_hold_elements(const kiln_node *n, const kiln_node *pad) {
    const kiln_type *x = &pad->in[0]->type, *y = &n->out[0]->type;
    const int n_spatial = x->rank - 2;
    const int64_t *before = kiln_node_attr(pad, "pads")->ints + 2;
    for (int i = 0; i < n_spatial; i++) {
        const int64_t front = own_pad(n, i) + before[i];
        const int64_t last = (y->dim[2 + i] - 1) * step_of(n, "strides", i) - front;
        if (step_of(n, "dilations", i) != 1 ||
            front >= kiln_node_attr(n, "kernel")->ints[i] || last >= x->dim[2 + i])
            return false;
    }
    return true;
}

static bool pads_nothing(const kiln_node *n) {
    const kiln_attr *pads = kiln_node_attr(n, "pads");
    for (size_t i = 0; i < pads->n; i++)
        if (pads->ints[i] != 0)
            return false;
    return true;
}

static bool conv_takes(const kiln_node *n, const kiln_node *pad) {
    (void)n;
    return filling_of(pad) == ZERO;
}

static bool max_pool_takes(const kiln_node *n, const kiln_node *pad) {
    if (n->n_out != 1) /* the second output counts elements of what is pooled */
        return false;
    const filling f = filling_of(pad);
    return f == LOWEST || (f == ZERO && is_never_negative(pad->in[0]) &&
                           windows_hold_elements(n, pad));
}

static bool avg_pool_takes(const kiln_node *n, const kiln_node *pad) {
    return filling_of(pad) == ZERO &&
           (pads_nothing(n) || kiln_node_attr(n, "count_include_pad")->i != 0);
}

static const struct {
    const kiln_op_def *op;
    bool (*takes)(const kiln_node *n, const kiln_node *pad);
    bool is_pool;
} takers[] = {
    {&kiln_op_conv, conv_takes, false},
    {&kiln_op_max_pool, max_pool_takes, true},
    {&kiln_op_avg_pool, avg_pool_takes, true},
    {&kiln_op_lp_pool, conv_takes, true},
};
enum { N_TAKERS = sizeof takers / sizeof takers[0] };

/* The pad before n that n can take over; NULL: none. */
static const kiln_node *takes(const kiln_node *n) {
    for (int i = 0; i < N_TAKERS; i++) {
        if (takers[i].op != n->op)
            continue;
        const kiln_node *pad = pad_before(n->in[0]);
        const bool rounds_up =
            takers[i].is_pool && kiln_node_attr(n, "ceil_mode")->i != 0;
        if (pad == NULL || rounds_up || !takers[i].takes(n, pad))
            return NULL;
        const int rank = n->in[0]->type.rank, n_spatial = rank - 2;
        const int64_t *pads = kiln_node_attr(pad, "pads")->ints;
        for (int k = 0; k < n_spatial; k++)
            if (own_pad(n, k) + pads[2 + k] > INT32_MAX ||
                own_pad(n, n_spatial + k) + pads[rank + 2 + k] > INT32_MAX)
                return NULL;
        return pad;
    }
    return NULL;
}

/* ---- rewriting ------------------------------------------------------------------- */

/* n itself reads what the pad reads, with all padding its own. */
static void fold(kiln_sweep *s, kiln_node *n, const kiln_node *pad) {
    const int rank = n->in[0]->type.rank, n_spatial = rank - 2;
    const int64_t *pads = kiln_node_attr(pad, "pads")->ints;
    int64_t *all = kiln_array(s->g->arena, int64_t, 2 * n_spatial);
    for (int i = 0; i < n_spatial; i++) {
        all[i] = own_pad(n, i) + pads[2 + i];
        all[n_spatial + i] = own_pad(n, n_spatial + i) + pads[rank + 2 + i];
    }
    for (size_t i = 0; i < n->op->n_attr; i++) {
        if (strcmp(n->op->attr[i].name, "pads") == 0)
            n->attr[i] = (kiln_attr){.n = 2 * (size_t)n_spatial, .ints = all};
        if (strcmp(n->op->attr[i].name, "count_include_pad") == 0)
            n->attr[i].i = 1;
    }
    kiln_sweep_set_in(s, n, 0, pad->in[0]);
}

static kiln_status run(kiln_graph *g, kiln_pass_cx *cx) {
    const int *uses = kiln_graph_count_uses(g, cx->scratch);
    int *takers_of = kiln_array(cx->scratch, int, g->values.n);
    for (size_t i = 0; i < g->nodes.n; i++)
        if (takes(g->nodes.v[i]) != NULL)
            takers_of[g->nodes.v[i]->in[0]->id]++;
    kiln_sweep s;
    kiln_sweep_begin(&s, g, cx);
    for (kiln_node *n; (n = kiln_sweep_next(&s)) != NULL;) {
        const kiln_node *pad = NULL;
        /* A pad of a pad is taken over in turn: what is below the first is its alone.
         */
        while ((pad = takes(n)) != NULL) {
            const int id = pad->out[0]->id;
            if (uses[id] != takers_of[id] && uses[id] != 1)
                break;
            fold(&s, n, pad);
        }
        kiln_sweep_keep(&s, n);
    }
    kiln_sweep_end(&s);
    return KILN_OK;
}

const kiln_pass kiln_pass_fold_pads = {
    .name = "fold_pads",
    .doc = "padding before convolutions and pooling becomes theirs",
    .needs = KILN_TYPED | KILN_CONSTS_FOLDED,
    .keeps = KILN_TYPED | KILN_SHAPES_FOLDED | KILN_CONSTS_FOLDED | KILN_INFERENCE_ONLY,
    .is_exact = true,
    .run = run,
};
