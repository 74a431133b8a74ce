/* What a workload's outputs must be, and how far they may be off.
 *
 * Each node's own bound is its row's (kiln_ref_pick), the anchor's times what its
 * algorithm amplifies. What a node of the same kernel goes on with may not have been
 * rounded: a product and a sum become one operation (contraction). A bound on a node's
 * input is carried through injective nodes by evaluating them at both ends of it: exact
 * where the function is monotone between them, and all but exact elsewhere, as bounds
 * are some units in the last place. A reduction over inputs that are not exact has no
 * known bound here and is refused.
 *
 * Large anchors are evaluated at chosen elements only, where everything behind them is
 * element-wise: corners and edges (where padding and tails are), and random ones. */
#include "pipeline/kernels/kernels_internal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { RANDOM_PICKS = 4096 };
/* Multiply-adds that the reference does element by element in about a second, however
 * kiln was compiled. */
static const int64_t cheap_muladds = 4000000;

typedef struct known {
    kiln_tensor tensor; /* rounded to the dtype */
    double *value;      /* unrounded, as doubles */
    double *bound;      /* NULL: exact */
} known;

typedef struct expect {
    kiln_arena *arena;
    const kiln_op_work *work;
    known *of; /* by value id */
    const int64_t *pick;
    int64_t n_pick;
    double amplification; /* of the anchor's bound */
    kiln_err *err;
} expect;

/* ---- chosen elements ------------------------------------------------------------- */

static bool is_elementwise(const kiln_node *n, const kiln_type *shape) {
    if (n->op->fuse != KILN_FUSE_INJECTIVE || n->op->layout != KILN_LAYOUT_OBLIVIOUS)
        return false;
    for (int k = 0; k < n->n_out; k++)
        if (!kiln_type_same_shape(&n->out[k]->type, shape))
            return false;
    return true;
}

static bool is_sparse(const kiln_op_work *w) {
    const kiln_node *anchor = w->workload.anchor;
    kiln_cost cost;
    kiln_node_cost(anchor, &cost);
    const int64_t work = cost.muladds > 0 ? cost.muladds : cost.flops;
    if (!anchor->op->can_pick || work <= cheap_muladds || anchor->n_out != 1)
        return false;
    bool behind = false;
    for (size_t i = 0; i < w->graph->nodes.n; i++) {
        const kiln_node *n = w->graph->nodes.v[i];
        if (behind && !is_elementwise(n, &anchor->out[0]->type))
            return false;
        behind = behind || n == anchor;
    }
    return true;
}

/* 2^rank corners, the middle of each edge between them, and random elements; sorted
 * order means nothing, doubles do no harm. */
static void choose_elements(expect *e, const kiln_type *t, uint64_t seed) {
    int64_t stride[KILN_MAX_RANK];
    kiln_strides(t->rank, t->dim, stride);
    const int64_t n_elems = kiln_type_elems(t);
    int64_t n_places = 1; /* first, middle, last of each axis */
    for (int i = 0; i < t->rank; i++)
        n_places *= 3;
    int64_t *pick = kiln_array(e->arena, int64_t, n_places + RANDOM_PICKS);
    int64_t n = 0;
    for (int64_t place = 0; place < n_places; place++) {
        int64_t rest = place, at = 0;
        for (int i = 0; i < t->rank; i++, rest /= 3)
            at += rest % 3 * (t->dim[i] - 1) / 2 * stride[i];
        pick[n++] = at;
    }
    kiln_rng rng;
    kiln_rng_init(&rng, seed);
    for (int i = 0; i < RANDOM_PICKS; i++)
        pick[n++] = kiln_rng_range(&rng, 0, n_elems - 1);
    e->pick = pick;
    e->n_pick = n;
}

/* ---- nodes ----------------------------------------------------------------------- */

static const double *as_doubles(kiln_arena *a, const kiln_tensor *t) {
    kiln_wide w = kiln_wide_new(a, &t->type);
    kiln_widen(&t->type, t->data, &w);
    if (w.f != NULL)
        return w.f;
    const int64_t n = kiln_type_elems(&t->type);
    double *d = kiln_array(a, double, n);
    for (int64_t i = 0; i < n; i++)
        d[i] = t->type.dtype == KILN_U64 ? (double)(uint64_t)w.i[i] : (double)w.i[i];
    return d;
}

static kiln_tensor as_tensor(kiln_arena *a, const kiln_type *t, const double *v) {
    kiln_tensor out = kiln_tensor_new(a, t);
    const int64_t n = kiln_type_elems(t);
    kiln_wide w = kiln_wide_new(a, t);
    for (int64_t i = 0; i < n; i++) {
        if (w.f != NULL)
            w.f[i] = v[i];
        else
            w.i[i] = t->dtype == KILN_U64 ? (int64_t)(uint64_t)v[i] : (int64_t)v[i];
    }
    kiln_narrow(&w, out.data);
    return out;
}

/* Chosen elements of a node's only output into whole arrays. */
static kiln_status eval_chosen(expect *e, const kiln_node *n, const kiln_tensor *in,
                               known *out) {
    const kiln_type *t = &n->out[0]->type;
    const int64_t n_elems = kiln_type_elems(t);
    kiln_arena scratch = {0};
    double *v = kiln_array(&scratch, double, e->n_pick);
    double *b = kiln_array(&scratch, double, e->n_pick);
    const kiln_status st =
        kiln_ref_pick(&scratch, n, in, e->pick, e->n_pick, v, b, e->err);
    if (st == KILN_OK) {
        out->value = kiln_array(e->arena, double, n_elems);
        out->bound = kiln_array(e->arena, double, n_elems);
        for (int64_t i = 0; i < e->n_pick; i++) {
            out->value[e->pick[i]] = v[i];
            out->bound[e->pick[i]] = b[i] * e->amplification;
        }
        out->tensor = as_tensor(e->arena, t, out->value);
    }
    kiln_arena_fini(&scratch);
    return st;
}

/* Every element, bounds included. Integers beyond 2^53 would lose bits as doubles: the
 * tensor comes from the evaluation itself. */
static kiln_status eval_all(expect *e, const kiln_node *n, const kiln_tensor *in,
                            known *const *out) {
    const kiln_type *t = &n->out[0]->type;
    const int64_t n_elems = kiln_type_elems(t);
    int64_t *all = kiln_array(e->arena, int64_t, n_elems);
    for (int64_t i = 0; i < n_elems; i++)
        all[i] = i;
    out[0]->value = kiln_array(e->arena, double, n_elems);
    out[0]->bound = kiln_array(e->arena, double, n_elems);
    KILN_TRY(kiln_ref_pick(e->arena, n, in, all, n_elems, out[0]->value, out[0]->bound,
                           e->err));
    for (int64_t i = 0; i < n_elems && n == e->work->workload.anchor; i++)
        out[0]->bound[i] *= e->amplification;
    kiln_tensor *tensor = kiln_array(e->arena, kiln_tensor, n->n_out);
    KILN_TRY(kiln_ref_eval_node(e->arena, n, in, tensor, e->err));
    for (int k = 0; k < n->n_out; k++) {
        out[k]->tensor = tensor[k];
        if (k == 0)
            continue;
        if (n->op->error_bound(n).kind != KILN_BOUND_EXACT)
            return kiln_fail(e->err, KILN_ERR_UNSUPPORTED,
                             "no bound is known for output %d of operator '%s'", k,
                             n->op->name);
        out[k]->value = (double *)(uintptr_t)as_doubles(e->arena, &tensor[k]);
    }
    return KILN_OK;
}

/* From where a number is rounded to, to its neighbour on the number's other side; 0: it
 * is not rounded. */
static double step_from(kiln_dtype dtype, double v) {
    const double rounded = kiln_round_f64(dtype, v);
    if (rounded == v)
        return 0;
    const double away = v > rounded ? HUGE_VAL : -HUGE_VAL;
    const double next = dtype == KILN_F32
                            ? (double)nextafterf((float)rounded, (float)away)
                            : nextafter(rounded, away);
    return isfinite(next) ? fabs(next - v) : 0;
}

/* Integers that wrap are what they are once they have: not unrounded. */
static void wrap(const expect *e, const kiln_type *t, known *out) {
    if (!kiln_dtype_is_float(t->dtype))
        out->value = (double *)(uintptr_t)as_doubles(e->arena, &out->tensor);
}

static bool is_read_inside(const expect *e, const kiln_value *v) {
    const kiln_graph *g = e->work->graph;
    for (size_t i = 0; i < g->nodes.n; i++)
        for (int k = 0; k < g->nodes.v[i]->n_in; k++)
            if (g->nodes.v[i]->in[k] == v)
                return true;
    return false;
}

/* Half floats are rounded at the end of each operator, wherever it runs. Twice the
 * rounding error: what is carried on is rounded on the way (carry), and must not be
 * rounded away. */
static void may_stay_unrounded(const expect *e, const kiln_node *n, known *out) {
    const kiln_dtype dtype = n->out[0]->type.dtype;
    if ((dtype != KILN_F32 && dtype != KILN_F64) || !is_read_inside(e, n->out[0]))
        return;
    const int64_t n_elems = kiln_type_elems(&n->out[0]->type);
    for (int64_t i = 0; i < n_elems; i++)
        if (isfinite(out->value[i]))
            out->bound[i] += step_from(dtype, out->value[i]);
}

/* Adds to the bounds of n's outputs what the bound of input k may do. */
static kiln_status carry(expect *e, const kiln_node *n, kiln_tensor *in, int k,
                         known *const *out) {
    const known *x = &e->of[n->in[k]->id];
    const int64_t n_in = kiln_type_elems(&x->tensor.type);
    const kiln_tensor middle = in[k];
    for (int side = -1; side <= 1; side += 2) {
        double *moved = kiln_array(e->arena, double, n_in);
        for (int64_t i = 0; i < n_in; i++)
            moved[i] = x->value[i] + side * x->bound[i];
        in[k] = as_tensor(e->arena, &middle.type, moved);
        kiln_tensor *there = kiln_array(e->arena, kiln_tensor, n->n_out);
        KILN_TRY(kiln_ref_eval_node(e->arena, n, in, there, e->err));
        for (int o = 0; o < n->n_out; o++) {
            const double *v = as_doubles(e->arena, &there[o]);
            const double *w = as_doubles(e->arena, &out[o]->tensor);
            const int64_t n_out = kiln_type_elems(&there[o].type);
            if (out[o]->bound == NULL)
                out[o]->bound = kiln_array(e->arena, double, n_out);
            for (int64_t i = 0; i < n_out; i++)
                if (isfinite(v[i]) && isfinite(w[i]))
                    out[o]->bound[i] += fabs(v[i] - w[i]);
        }
    }
    in[k] = middle;
    return KILN_OK;
}

static bool is_all_zero(const double *bound, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (bound[i] != 0)
            return false;
    return true;
}

static kiln_status eval_node(expect *e, const kiln_node *n) {
    kiln_tensor *in = kiln_array(e->arena, kiln_tensor, n->n_in);
    known **out = kiln_array(e->arena, known *, n->n_out);
    bool is_exact = true;
    for (int k = 0; k < n->n_in; k++) {
        if (n->in[k] == NULL)
            continue;
        in[k] = e->of[n->in[k]->id].tensor;
        is_exact = is_exact && e->of[n->in[k]->id].bound == NULL;
    }
    for (int k = 0; k < n->n_out; k++)
        out[k] = &e->of[n->out[k]->id];
    if (!is_exact && n->op->fuse != KILN_FUSE_INJECTIVE)
        return kiln_fail(
            e->err, KILN_ERR_UNSUPPORTED,
            "no bound is known for '%s' of inputs that are not exact: make "
            "what is ahead of node '%s' an operator of its own",
            n->op->name, n->name);
    if (e->pick != NULL && n == e->work->workload.anchor) {
        KILN_TRY(eval_chosen(e, n, in, out[0]));
        wrap(e, &n->out[0]->type, out[0]);
        return KILN_OK;
    }
    KILN_TRY(eval_all(e, n, in, out));
    wrap(e, &n->out[0]->type, out[0]);
    may_stay_unrounded(e, n, out[0]);
    for (int k = 0; k < n->n_in; k++)
        if (n->in[k] != NULL && e->of[n->in[k]->id].bound != NULL)
            KILN_TRY(carry(e, n, in, k, out));
    /* What only moves or compares stays exact: there is nothing to carry further. */
    if (is_exact && is_all_zero(out[0]->bound, kiln_type_elems(&n->out[0]->type)))
        out[0]->bound = NULL;
    return KILN_OK;
}

kiln_status kiln_expect(kiln_arena *a, const kiln_op_work *w, const kiln_tensor *plain,
                        double amplification, uint64_t seed, kiln_expected *out,
                        kiln_err *err) {
    const kiln_graph *g = w->graph;
    expect e = {.arena = a,
                .work = w,
                .of = kiln_array(a, known, g->values.n),
                .amplification = amplification,
                .err = err};
    for (size_t i = 0; i < g->values.n; i++) {
        const kiln_value *v = g->values.v[i];
        e.of[i].tensor = plain[i];
        if (v->data != NULL)
            e.of[i].tensor =
                (kiln_tensor){.type = v->type, .data = (void *)(uintptr_t)v->data};
    }
    if (is_sparse(w))
        choose_elements(&e, &w->workload.anchor->out[0]->type, seed);
    for (size_t i = 0; i < g->nodes.n; i++)
        KILN_TRY(eval_node(&e, g->nodes.v[i]));
    for (size_t i = 0; i < g->outputs.n; i++) {
        const kiln_value *v = g->outputs.v[i];
        const known *k = &e.of[v->id];
        out[i] = (kiln_expected){.value = k->value,
                                 .bound = k->bound,
                                 .pick = v->def != NULL ? e.pick : NULL,
                                 .n_pick = e.n_pick,
                                 .n_elems = kiln_type_elems(&v->type)};
        if (k->value == NULL) /* an input that is an output */
            out[i].value = (double *)(uintptr_t)as_doubles(a, &k->tensor);
    }
    return KILN_OK;
}
