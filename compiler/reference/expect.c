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
 * element-wise: corners and edges (where padding and tails are), and random ones. From
 * there on values are short: they have the chosen elements, one after the other, and
 * nodes work on no others. */
#include "compiler/reference/reference.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RANDOM_PICKS = 4096 };
/* Multiply-adds that the reference does element by element in about a second, however
 * kiln was compiled. */
static const int64_t cheap_muladds = 4000000;

typedef struct known {
    kiln_tensor tensor; /* rounded to the dtype */
    double *value;      /* unrounded, as doubles */
    double *bound;      /* NULL: exact */
    bool is_short;      /* chosen elements only */
} known;

typedef struct expect {
    kiln_arena *arena;
    const kiln_graph *graph;
    const kiln_node *anchor;
    known *of;               /* by value id */
    const kiln_type *picked; /* what elements were chosen of; NULL: all of everything */
    const int64_t *pick;
    int64_t n_pick;
    double amplification; /* of the anchor's bound */
    kiln_err *err;
} expect;

/* A node as it is evaluated: with its own types, or with those of chosen elements. */
typedef struct step {
    kiln_node n;
    const kiln_node *whole;
    kiln_tensor *in; /* as n has them; by input */
    known *from;
    known **out;
    bool is_anchor;
} step;

/* ---- chosen elements ------------------------------------------------------------- */

/* Is t stretched to the shape as element-wise operators do it? */
static bool is_stretched(const kiln_type *t, const kiln_type *shape) {
    if (t->rank > shape->rank)
        return false;
    for (int i = 0; i < t->rank; i++)
        if (t->dim[i] != 1 && t->dim[i] != shape->dim[shape->rank - t->rank + i])
            return false;
    return true;
}

static bool is_elementwise(const kiln_node *n, const kiln_type *shape) {
    if (n->op->fuse != KILN_FUSE_INJECTIVE || !kiln_is_oblivious(n))
        return false;
    for (int k = 0; k < n->n_out; k++)
        if (!kiln_type_same_shape(&n->out[k]->type, shape))
            return false;
    for (int k = 0; k < n->n_in; k++)
        if (n->in[k] != NULL && !is_stretched(&n->in[k]->type, shape))
            return false;
    return true;
}

static bool is_sparse(const kiln_graph *g, const kiln_node *anchor) {
    kiln_cost cost;
    kiln_node_cost(anchor, &cost);
    const int64_t work = cost.muladds > 0 ? cost.muladds : cost.flops;
    if (!anchor->op->can_pick || work <= cheap_muladds || anchor->n_out != 1)
        return false;
    bool behind = false;
    for (size_t i = 0; i < g->nodes.n; i++) {
        const kiln_node *n = g->nodes.v[i];
        if (behind && !is_elementwise(n, &anchor->out[0]->type))
            return false;
        behind = behind || n == anchor;
    }
    return true;
}

static int by_place(const void *x, const void *y) {
    int64_t a, b;
    memcpy(&a, x, sizeof a);
    memcpy(&b, y, sizeof b);
    return (a > b) - (a < b);
}

/* 2^rank corners, and the middle of each edge between them. */
static int64_t choose_edges(const kiln_type *t, int64_t n_places, int64_t *pick) {
    int64_t stride[KILN_MAX_RANK];
    kiln_strides(t->rank, t->dim, stride);
    for (int64_t place = 0; place < n_places; place++) {
        int64_t rest = place, at = 0;
        for (int i = 0; i < t->rank; i++, rest /= 3)
            at += rest % 3 * (t->dim[i] - 1) / 2 * stride[i];
        pick[place] = at;
    }
    return n_places;
}

static int64_t choose_random(int64_t n_elems, uint64_t seed, int64_t *pick) {
    kiln_rng rng;
    kiln_rng_init(&rng, seed);
    for (int i = 0; i < RANDOM_PICKS; i++)
        pick[i] = kiln_rng_range(&rng, 0, n_elems - 1);
    return RANDOM_PICKS;
}

/* Sorted, so that neighbours, which read the same memory, follow one another; each
 * once. */
static int64_t once(int64_t *pick, int64_t n) {
    int64_t n_once = 0;
    qsort(pick, (size_t)n, sizeof *pick, by_place);
    for (int64_t j = 0; j < n; j++)
        if (j == 0 || pick[j] != pick[j - 1])
            pick[n_once++] = pick[j];
    return n_once;
}

/* All of few; else corners, edges and random ones. */
static void choose_elements(expect *e, const kiln_type *t, uint64_t seed) {
    const int64_t n_elems = kiln_type_elems(t);
    int64_t n_places = 1; /* first, middle, last of each axis */
    for (int i = 0; i < t->rank; i++)
        n_places *= 3;
    int64_t *pick = kiln_array(e->arena, int64_t, n_places + RANDOM_PICKS);
    int64_t n = 0;
    if (n_elems <= RANDOM_PICKS) {
        for (; n < n_elems; n++)
            pick[n] = n;
    } else {
        n = choose_edges(t, n_places, pick);
        n += choose_random(n_elems, seed, pick + n);
        n = once(pick, n);
    }
    e->picked = t;
    e->pick = pick;
    e->n_pick = n;
}

/* Of the same rank, so that what is stretched stays so. */
static kiln_type short_type(const expect *e, kiln_dtype dtype) {
    int64_t dim[KILN_MAX_RANK];
    for (int i = 0; i < e->picked->rank; i++)
        dim[i] = 1;
    dim[e->picked->rank - 1] = e->n_pick;
    return kiln_type_make(dtype, e->picked->rank, dim);
}

/* Element of a stretched value for each chosen one. */
static int64_t *places_of(const expect *e, const kiln_type *t) {
    const kiln_type *shape = e->picked;
    const int ahead = shape->rank - t->rank;
    int64_t own[KILN_MAX_RANK], *at = kiln_array(e->arena, int64_t, e->n_pick);
    kiln_strides(t->rank, t->dim, own);
    for (int64_t j = 0; j < e->n_pick; j++) {
        int64_t rest = e->pick[j];
        for (int i = shape->rank - 1; i >= ahead; i--) {
            const int64_t coord = rest % shape->dim[i];
            rest /= shape->dim[i];
            at[j] += t->dim[i - ahead] != 1 ? coord * own[i - ahead] : 0;
        }
    }
    return at;
}

static double *doubles_at(const expect *e, const double *from, const int64_t *at) {
    double *out = from != NULL ? kiln_array(e->arena, double, e->n_pick) : NULL;
    for (int64_t j = 0; from != NULL && j < e->n_pick; j++)
        out[j] = from[at[j]];
    return out;
}

/* One element for all stays as it is. */
static known shortened(const expect *e, const known *whole) {
    const kiln_type *t = &whole->tensor.type;
    if (whole->is_short || kiln_type_elems(t) == 1)
        return *whole;
    const int64_t *at = places_of(e, t);
    const size_t size = kiln_dtype_bytes(t->dtype);
    const kiln_type type = short_type(e, t->dtype);
    const known k = {.tensor = kiln_tensor_new(e->arena, &type),
                     .value = doubles_at(e, whole->value, at),
                     .bound = doubles_at(e, whole->bound, at),
                     .is_short = true};
    for (int64_t j = 0; j < e->n_pick; j++)
        memcpy((char *)k.tensor.data + (size_t)j * size,
               (const char *)whole->tensor.data + (size_t)at[j] * size, size);
    return k;
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
    if (kiln_dtype_is_float(t->dtype)) {
        kiln_narrow(&(kiln_wide){.type = *t, .f = (double *)(uintptr_t)v}, out.data);
        return out;
    }
    kiln_wide w = kiln_wide_new(a, t);
    for (int64_t i = 0; i < kiln_type_elems(t); i++)
        w.i[i] = t->dtype == KILN_U64 ? (int64_t)(uint64_t)v[i] : (int64_t)v[i];
    kiln_narrow(&w, out.data);
    return out;
}

/* Chosen elements of the anchor's only output. */
static kiln_status eval_chosen(expect *e, const step *s) {
    const kiln_type type = short_type(e, s->n.out[0]->type.dtype);
    known *out = s->out[0];
    kiln_arena scratch = {0};
    out->is_short = true;
    out->value = kiln_array(e->arena, double, e->n_pick);
    out->bound = kiln_array(e->arena, double, e->n_pick);
    const kiln_status st = kiln_ref_pick(&scratch, &s->n, s->in, e->pick, e->n_pick,
                                         out->value, out->bound, e->err);
    for (int64_t i = 0; i < e->n_pick; i++)
        out->bound[i] *= e->amplification;
    if (st == KILN_OK)
        out->tensor = as_tensor(e->arena, &type, out->value);
    kiln_arena_fini(&scratch);
    return st;
}

/* Rounded outputs. Integers beyond 2^53 would lose bits as doubles: they come from the
 * evaluation itself. */
static kiln_status eval_tensors(expect *e, const step *s) {
    const kiln_node *n = &s->n;
    const kiln_type *t = &n->out[0]->type;
    if (n->n_out == 1 && kiln_dtype_is_float(t->dtype)) {
        s->out[0]->tensor = as_tensor(e->arena, t, s->out[0]->value);
        return KILN_OK;
    }
    kiln_tensor *tensor = kiln_array(e->arena, kiln_tensor, n->n_out);
    KILN_TRY(kiln_ref_eval_node(e->arena, n, s->in, tensor, e->err));
    for (int k = 0; k < n->n_out; k++) {
        s->out[k]->tensor = tensor[k];
        if (k == 0)
            continue;
        if (n->op->error_bound(n).kind != KILN_BOUND_EXACT)
            return kiln_fail(e->err, KILN_ERR_UNSUPPORTED,
                             "no bound is known for output %d of operator '%s'", k,
                             n->op->name);
        s->out[k]->value = (double *)(uintptr_t)as_doubles(e->arena, &tensor[k]);
    }
    return KILN_OK;
}

/* Every element, bounds included. */
static kiln_status eval_all(expect *e, const step *s) {
    known *out = s->out[0];
    const int64_t n_elems = kiln_type_elems(&s->n.out[0]->type);
    int64_t *all = kiln_array(e->arena, int64_t, n_elems);
    for (int64_t i = 0; i < n_elems; i++)
        all[i] = i;
    out->value = kiln_array(e->arena, double, n_elems);
    out->bound = kiln_array(e->arena, double, n_elems);
    KILN_TRY(kiln_ref_pick(e->arena, &s->n, s->in, all, n_elems, out->value, out->bound,
                           e->err));
    for (int64_t i = 0; i < n_elems && s->is_anchor; i++)
        out->bound[i] *= e->amplification;
    return eval_tensors(e, s);
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
static void wrap(const expect *e, known *out) {
    if (!kiln_dtype_is_float(out->tensor.type.dtype))
        out->value = (double *)(uintptr_t)as_doubles(e->arena, &out->tensor);
}

static bool is_read_inside(const expect *e, const kiln_value *v) {
    const kiln_graph *g = e->graph;
    for (size_t i = 0; i < g->nodes.n; i++)
        for (int k = 0; k < g->nodes.v[i]->n_in; k++)
            if (g->nodes.v[i]->in[k] == v)
                return true;
    return false;
}

/* Half floats are rounded at the end of each operator, wherever it runs. Twice the
 * rounding error: what is carried on is rounded on the way (carry), and must not be
 * rounded away. */
static void may_stay_unrounded(const expect *e, const step *s) {
    known *out = s->out[0];
    const kiln_dtype dtype = out->tensor.type.dtype;
    if ((dtype != KILN_F32 && dtype != KILN_F64) ||
        !is_read_inside(e, s->whole->out[0]))
        return;
    const int64_t n_elems = kiln_type_elems(&out->tensor.type);
    for (int64_t i = 0; i < n_elems; i++)
        if (isfinite(out->value[i]))
            out->bound[i] += step_from(dtype, out->value[i]);
}

/* Adds to the bounds of the outputs what the bound of input k may do. */
static kiln_status carry(expect *e, const step *s, int k) {
    const known *x = &s->from[k];
    const int64_t n_in = kiln_type_elems(&x->tensor.type);
    for (int side = -1; side <= 1; side += 2) {
        double *moved = kiln_array(e->arena, double, n_in);
        for (int64_t i = 0; i < n_in; i++)
            moved[i] = x->value[i] + side * x->bound[i];
        s->in[k] = as_tensor(e->arena, &x->tensor.type, moved);
        kiln_tensor *there = kiln_array(e->arena, kiln_tensor, s->n.n_out);
        KILN_TRY(kiln_ref_eval_node(e->arena, &s->n, s->in, there, e->err));
        for (int o = 0; o < s->n.n_out; o++) {
            known *out = s->out[o];
            const double *v = as_doubles(e->arena, &there[o]);
            const double *w = as_doubles(e->arena, &out->tensor);
            const int64_t n_out = kiln_type_elems(&there[o].type);
            if (out->bound == NULL)
                out->bound = kiln_array(e->arena, double, n_out);
            for (int64_t i = 0; i < n_out; i++)
                if (isfinite(v[i]) && isfinite(w[i]))
                    out->bound[i] += fabs(v[i] - w[i]);
        }
    }
    s->in[k] = x->tensor;
    return KILN_OK;
}

static bool is_all_zero(const double *bound, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (bound[i] != 0)
            return false;
    return true;
}

/* A copy of the value of another type. */
static kiln_value *value_as(const expect *e, const kiln_value *v, const kiln_type *t) {
    kiln_value *copy = kiln_arena_dup(e->arena, v, sizeof *v);
    copy->type = *t;
    return copy;
}

/* The node on chosen elements. */
static void shorten(const expect *e, step *s) {
    kiln_node *n = &s->n;
    n->in = kiln_arena_dup(e->arena, n->in, (size_t)n->n_in * sizeof *n->in);
    n->out = kiln_arena_dup(e->arena, n->out, (size_t)n->n_out * sizeof *n->out);
    for (int k = 0; k < n->n_in; k++) {
        if (n->in[k] == NULL)
            continue;
        s->from[k] = shortened(e, &s->from[k]);
        s->in[k] = s->from[k].tensor;
        n->in[k] = value_as(e, n->in[k], &s->in[k].type);
    }
    for (int k = 0; k < n->n_out; k++) {
        const kiln_type t = short_type(e, n->out[k]->type.dtype);
        n->out[k] = value_as(e, n->out[k], &t);
        s->out[k]->is_short = true;
    }
}

static step step_of(const expect *e, const kiln_node *n) {
    step s = {.n = *n,
              .whole = n,
              .in = kiln_array(e->arena, kiln_tensor, n->n_in),
              .from = kiln_array(e->arena, known, n->n_in),
              .out = kiln_array(e->arena, known *, n->n_out),
              .is_anchor = n == e->anchor};
    for (int k = 0; k < n->n_in; k++) {
        if (n->in[k] == NULL)
            continue;
        s.from[k] = e->of[n->in[k]->id];
        s.in[k] = s.from[k].tensor;
    }
    for (int k = 0; k < n->n_out; k++)
        s.out[k] = &e->of[n->out[k]->id];
    return s;
}

static bool reads_exact(const step *s) {
    for (int k = 0; k < s->n.n_in; k++)
        if (s->n.in[k] != NULL && s->from[k].bound != NULL)
            return false;
    return true;
}

/* `is_behind`: the anchor. */
static kiln_status eval_node(expect *e, const kiln_node *n, bool is_behind) {
    step s = step_of(e, n);
    const bool is_exact = reads_exact(&s);
    if (!is_exact && n->op->fuse != KILN_FUSE_INJECTIVE)
        return kiln_fail(
            e->err, KILN_ERR_UNSUPPORTED,
            "no bound is known for '%s' of inputs that are not exact: make "
            "what is ahead of node '%s' an operator of its own",
            n->op->name, n->name);
    if (e->pick != NULL && s.is_anchor) {
        KILN_TRY(eval_chosen(e, &s));
        wrap(e, s.out[0]);
        return KILN_OK;
    }
    if (e->pick != NULL && is_behind)
        shorten(e, &s);
    KILN_TRY(eval_all(e, &s));
    wrap(e, s.out[0]);
    may_stay_unrounded(e, &s);
    for (int k = 0; k < n->n_in; k++)
        if (n->in[k] != NULL && s.from[k].bound != NULL)
            KILN_TRY(carry(e, &s, k));
    /* What only moves or compares stays exact: there is nothing to carry further. */
    if (is_exact &&
        is_all_zero(s.out[0]->bound, kiln_type_elems(&s.out[0]->tensor.type)))
        s.out[0]->bound = NULL;
    return KILN_OK;
}

kiln_status kiln_expect(kiln_arena *a, const kiln_graph *g, const kiln_node *anchor,
                        const kiln_tensor *plain, double amplification, uint64_t seed,
                        kiln_expected *out, kiln_err *err) {
    KILN_ASSERT(amplification > 0, "graph '%s' amplifies errors by %g", g->name,
                amplification);
    expect e = {.arena = a,
                .graph = g,
                .anchor = anchor,
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
    if (is_sparse(g, anchor))
        choose_elements(&e, &anchor->out[0]->type, seed);
    bool is_behind = false;
    for (size_t i = 0; i < g->nodes.n; i++) {
        KILN_TRY(eval_node(&e, g->nodes.v[i], is_behind));
        is_behind = is_behind || g->nodes.v[i] == anchor;
    }
    for (size_t i = 0; i < g->outputs.n; i++) {
        const kiln_value *v = g->outputs.v[i];
        const known *k = &e.of[v->id];
        out[i] = (kiln_expected){.value = k->value,
                                 .bound = k->bound,
                                 .pick = k->is_short ? e.pick : NULL,
                                 .n_pick = e.n_pick,
                                 .n_elems = kiln_type_elems(&v->type)};
        if (k->value == NULL) /* an input that is an output */
            out[i].value = (double *)(uintptr_t)as_doubles(a, &k->tensor);
    }
    return KILN_OK;
}
