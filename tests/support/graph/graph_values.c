#include "tests/support/graph/graph_values.h"

#include "compiler/graph/graph_fusion.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { N_RUNS = 1 + GRAPH_NOISY_RUNS };

void graph_values_init(graph_values *v, kiln_arena *a, uint64_t seed) {
    *v = (graph_values){.arena = a};
    kiln_rng_init(&v->noise, seed);
}

static graph_value *at(graph_values *v, const kiln_value *x) {
    static const graph_value unknown;
    while (v->of.n <= (size_t)x->id)
        kiln_vec_push(v->arena, &v->of, unknown);
    return &v->of.v[x->id];
}

void graph_values_set(graph_values *v, const kiln_value *x, const void *data) {
    graph_value *known = at(v, x);
    for (int r = 0; r < N_RUNS; r++)
        known->run[r] = (kiln_tensor){x->type, (void *)(uintptr_t)data};
}

const graph_value *graph_values_get(graph_values *v, const kiln_value *x) {
    if (kiln_value_is_const(x))
        graph_values_set(v, x, x->data);
    return at(v, x);
}

static bool is_exact(const graph_value *x) {
    for (int r = 1; r < N_RUNS; r++)
        if (x->run[r].data != x->run[0].data)
            return false;
    return true;
}

/* ---- errors ---------------------------------------------------------------------- */

static double roundoff(kiln_dtype dtype) {
    return ldexp(1.0, -kiln_dtype_get(dtype)->mantissa_bits);
}

/* Sums and products are exactly rounded alone, but not where they are fused: a product
 * may go into a sum unrounded, and halves may stay floats until they are stored. */
static bool is_arithmetic(const kiln_op_def *op) {
    static const kiln_op_def *const all[] = {
        &kiln_op_add,   &kiln_op_sub,  &kiln_op_mul,       &kiln_op_div,
        &kiln_op_prelu, &kiln_op_sqrt, &kiln_op_reciprocal};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (op == all[i])
            return true;
    return false;
}

static double rms_of(const double *x, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += isfinite(x[i]) ? x[i] * x[i] : 0;
    return n > 0 ? sqrt(sum / (double)n) : 0;
}

/* Bounds of large sums take long, element by element: those of typical terms do. */
static bool is_cheap(const kiln_node *n) {
    enum { CHEAP_MULADDS = 1000000 };
    kiln_cost c;
    kiln_node_cost(n, &c);
    return c.muladds < CHEAP_MULADDS;
}

static bool has_region(const kiln_node *n) {
    for (size_t i = 0; i < n->op->n_attr; i++)
        if (n->op->attr[i].kind == KILN_ATTR_GRAPH)
            return true;
    return false;
}

/* What is left of a product that cancels in a sum is its rounding, or that of the sum:
 * which of a sum's terms goes into it unrounded is the kernel's affair, so that x * y -
 * x * y need not be 0. Halves are rounded in between. */
static void add_unrounded(kiln_arena *a, const kiln_node *n, const kiln_tensor *in,
                          double *e) {
    const kiln_type *t = &n->out[0]->type;
    const bool is_sum = n->op == &kiln_op_add || n->op == &kiln_op_sub;
    if (!is_sum || (t->dtype != KILN_F32 && t->dtype != KILN_F64))
        return;
    for (int k = 0; k < n->n_in; k++) {
        if (n->in[k]->def == NULL || n->in[k]->def->op != &kiln_op_mul)
            continue;
        kiln_wide w = kiln_wide_new(a, &in[k].type);
        kiln_widen(&in[k].type, in[k].data, &w);
        const bool is_alike = kiln_type_same_shape(&in[k].type, t);
        const double rms = rms_of(w.f, kiln_type_elems(&in[k].type));
        for (int64_t i = 0; i < kiln_type_elems(t); i++)
            e[i] += roundoff(t->dtype) * (is_alike ? fabs(w.f[i]) : rms);
    }
}

/* The product of those factors alone that are above 1 in size, or of those below. */
static kiln_status partial_products(graph_values *v, const kiln_node *n,
                                    const kiln_tensor *in, bool above,
                                    const int64_t *pick, int64_t count, double *out,
                                    kiln_err *err) {
    kiln_tensor *part = kiln_array(v->arena, kiln_tensor, n->n_in);
    kiln_wide w = kiln_wide_new(v->arena, &in[0].type);
    kiln_widen(&in[0].type, in[0].data, &w);
    for (int64_t i = 0; i < kiln_type_elems(&in[0].type); i++)
        w.f[i] = above ? fmax(fabs(w.f[i]), 1) : fmin(fabs(w.f[i]), 1);
    for (int i = 0; i < n->n_in; i++)
        part[i] = in[i];
    part[0] = kiln_tensor_new(v->arena, &in[0].type);
    kiln_narrow(&w, part[0].data);
    return kiln_ref_pick(v->arena, n, part, pick, count, out, NULL, err);
}

/* Products of many factors: in another order, one part of them may be infinite and
 * another 0, which makes NaN of a number that is none, or be so small that digits are
 * lost. Nobody is held to such elements. */
static kiln_status mark_out_of_range(graph_values *v, const kiln_node *n,
                                     const kiln_tensor *in, const int64_t *pick,
                                     int64_t count, double *e, kiln_err *err) {
    if (n->op != &kiln_op_reduce_prod)
        return KILN_OK;
    double *large = kiln_array(v->arena, double, count);
    double *small = kiln_array(v->arena, double, count);
    KILN_TRY(partial_products(v, n, in, true, pick, count, large, err));
    KILN_TRY(partial_products(v, n, in, false, pick, count, small, err));
    for (int64_t i = 0; i < count; i++)
        if (!(large[i] < (double)FLT_MAX) || !(small[i] > (double)FLT_MIN))
            e[i] = (double)NAN;
    return KILN_OK;
}

/* The node as a graph of its own, with all its outputs; its inputs are those of `in`
 * that are no constants, in order of first use. */
static kiln_graph *alone(kiln_arena *a, const kiln_node *n, const kiln_tensor *in,
                         kiln_tensor *own_in) {
    const kiln_graph *g = n->graph;
    const kiln_value **from = NULL;
    size_t i = 0;
    while (g->nodes.v[i] != n)
        i++;
    const kiln_group group = {.node = &g->nodes.v[i], .n = 1};
    kiln_graph *own = kiln_group_graph(a, g, &group, &from);
    const kiln_node *copy = own->nodes.v[0];
    own->outputs.n = 0; /* not all of them may be read yet */
    for (int k = 0; k < copy->n_out; k++)
        kiln_graph_add_output(own, copy->out[k], copy->out[k]->name);
    for (i = 0; i < own->inputs.n; i++)
        for (int k = 0; k < n->n_in; k++)
            if (n->in[k] == from[own->inputs.v[i]->id])
                own_in[i] = in[k];
    return own;
}

/* A region's own arithmetic errs inside of it, where values may be far larger than what
 * comes out: e becomes no less than how far lanes of the node alone are from it. */
static kiln_status add_inside(graph_values *v, const kiln_node *n, int k,
                              const kiln_tensor *in, double *e, kiln_err *err) {
    enum { LANES = 8 };
    const kiln_type *t = &n->out[k]->type;
    const kiln_ref_lanes o = {.n = LANES, .seed = 5};
    kiln_tensor *own_in = kiln_array(v->arena, kiln_tensor, n->n_in + 1);
    kiln_tensor *y = kiln_array(v->arena, kiln_tensor, n->n_out);
    kiln_tensor *lane = kiln_array(v->arena, kiln_tensor, LANES * n->n_out);
    const kiln_graph *own = alone(v->arena, n, in, own_in);
    KILN_TRY(
        kiln_ref_run_lanes(v->arena, own, own_in, own->inputs.n, &o, y, lane, err));
    kiln_wide exact = kiln_wide_new(v->arena, t), off = kiln_wide_new(v->arena, t);
    kiln_widen(t, y[k].data, &exact);
    for (int j = 0; j < LANES; j++) {
        kiln_widen(t, lane[j * n->n_out + k].data, &off);
        for (int64_t i = 0; i < kiln_type_elems(t); i++)
            if (isfinite(exact.f[i]) && isfinite(off.f[i]))
                e[i] = fmax(e[i], 2 * fabs(off.f[i] - exact.f[i]));
    }
    return KILN_OK;
}

/* By how much an element of output k may be off, for each. NULL: all are exact. Sums of
 * many terms err by far less than if all their errors had one sign. */
static kiln_status errors_of(graph_values *v, const kiln_node *n, int k,
                             const kiln_tensor *in, const kiln_tensor *out,
                             double **errors, kiln_err *err) {
    const kiln_bound b = n->op->error_bound(n);
    const kiln_type *t = &n->out[k]->type;
    const int64_t count = kiln_type_elems(t);
    const double u = roundoff(t->dtype);
    double *e = kiln_array(v->arena, double, count);
    int64_t *pick = kiln_array(v->arena, int64_t, count);
    kiln_wide w = kiln_wide_new(v->arena, t);
    *errors = NULL;
    if (!kiln_dtype_is_float(t->dtype) ||
        (b.kind == KILN_BOUND_EXACT && !is_arithmetic(n->op) && !has_region(n)))
        return KILN_OK;
    for (int64_t i = 0; i < count; i++)
        pick[i] = i;
    kiln_widen(t, out->data, &w);
    const double terms = sqrt((double)(b.k > 1 ? b.k : 1));
    if (b.kind == KILN_BOUND_DOT && !is_cheap(n)) {
        const double rms = rms_of(w.f, count);
        for (int64_t i = 0; i < count; i++)
            e[i] = 2 * b.c * terms * 0x1p-24 * rms + u * fabs(w.f[i]);
    } else if (k == 0 && b.kind == KILN_BOUND_DOT) {
        double *value = kiln_array(v->arena, double, count);
        KILN_TRY(kiln_ref_pick(v->arena, n, in, pick, count, value, e, err));
        for (int64_t i = 0; i < count; i++)
            e[i] = 2 * e[i] / terms + u * fabs(w.f[i]);
    } else {
        const double c = b.kind == KILN_BOUND_ULP ? 2 * b.c : 1;
        const double inside = has_region(n) ? 64 * u * rms_of(w.f, count) : 0;
        for (int64_t i = 0; i < count; i++)
            e[i] = (c + 1) * u * fabs(w.f[i]) + b.floor * u + inside;
        if (has_region(n))
            KILN_TRY(add_inside(v, n, k, in, e, err));
        add_unrounded(v->arena, n, in, e);
        KILN_TRY(mark_out_of_range(v, n, in, pick, count, e, err));
    }
    *errors = e;
    return KILN_OK;
}

/* Three quarters of `size` to all of it, of either sign: of two errors only, what leaps
 * might make one (0.5 mod x, for a small x). */
static double drawn_error(kiln_rng *noise, double size) {
    const uint64_t bits = kiln_rng_next(noise);
    const double part = 0.75 + 0.25 * (double)(bits & 0xFFFFFF) * 0x1p-24;
    return bits >> 63 != 0 ? size * part : -size * part;
}

static void disturb(graph_values *v, const double *errors, bool outwards,
                    kiln_tensor *t) {
    const int64_t n = kiln_type_elems(&t->type);
    kiln_wide w = kiln_wide_new(v->arena, &t->type);
    kiln_widen(&t->type, t->data, &w);
    for (int64_t i = 0; i < n; i++)
        if (isfinite(w.f[i]))
            w.f[i] += outwards ? copysign(errors[i], w.f[i])
                               : drawn_error(&v->noise, errors[i]);
    kiln_narrow(&w, t->data);
}

/* ---- nodes ----------------------------------------------------------------------- */

static kiln_status noisy_runs(graph_values *v, const kiln_node *n,
                              const graph_value *const *in, kiln_tensor *first,
                              graph_value *out, kiln_err *err) {
    double **errors = kiln_array(v->arena, double *, n->n_out);
    kiln_tensor *x = kiln_array(v->arena, kiln_tensor, n->n_in);
    kiln_tensor *y = kiln_array(v->arena, kiln_tensor, n->n_out);
    bool all_exact = true;
    for (int k = 0; k < n->n_out; k++) {
        KILN_TRY(errors_of(v, n, k, first, &out[k].run[0], &errors[k], err));
        all_exact = all_exact && errors[k] == NULL;
    }
    for (int i = 0; i < n->n_in; i++)
        all_exact = all_exact && (in[i] == NULL || is_exact(in[i]));
    for (int r = 1; r < N_RUNS; r++) {
        for (int i = 0; i < n->n_in; i++)
            x[i] = in[i] != NULL ? in[i]->run[r] : (kiln_tensor){.data = NULL};
        for (int k = 0; k < n->n_out && all_exact; k++)
            out[k].run[r] = out[k].run[0];
        if (all_exact)
            continue;
        KILN_TRY(kiln_ref_eval_node(v->arena, n, x, y, err));
        for (int k = 0; k < n->n_out; k++) {
            if (errors[k] != NULL)
                disturb(v, errors[k], r == 1, &y[k]);
            out[k].run[r] = y[k];
        }
    }
    return KILN_OK;
}

kiln_status graph_values_node(graph_values *v, const kiln_node *n, kiln_err *err) {
    const graph_value **in = kiln_array(v->arena, const graph_value *, n->n_in);
    kiln_tensor *x = kiln_array(v->arena, kiln_tensor, n->n_in);
    kiln_tensor *y = kiln_array(v->arena, kiln_tensor, n->n_out);
    graph_value *out = kiln_array(v->arena, graph_value, n->n_out);
    for (int i = 0; i < n->n_in; i++) {
        if (n->in[i] == NULL)
            continue;
        graph_value *copy = kiln_new(v->arena, graph_value); /* the table may grow */
        *copy = *graph_values_get(v, n->in[i]);
        in[i] = copy;
        x[i] = copy->run[0];
        KILN_ASSERT(x[i].data != NULL, "'%s' is not known", n->in[i]->name);
    }
    KILN_TRY(kiln_ref_eval_node(v->arena, n, x, y, err));
    for (int k = 0; k < n->n_out; k++)
        out[k].run[0] = y[k];
    KILN_TRY(noisy_runs(v, n, in, x, out, err));
    for (int k = 0; k < n->n_out; k++)
        *at(v, n->out[k]) = out[k];
    return KILN_OK;
}

kiln_status graph_values_run(graph_values *v, const kiln_graph *g, kiln_err *err) {
    for (size_t i = 0; i < g->inputs.n; i++) {
        const kiln_value *x = g->inputs.v[i];
        if (graph_values_get(v, x)->run[0].data == NULL)
            graph_values_set(v, x, kiln_ref_random(v->arena, &x->type, 11 + i).data);
    }
    for (size_t i = 0; i < g->nodes.n; i++)
        KILN_TRY(graph_values_node(v, g->nodes.v[i], err));
    return KILN_OK;
}

/* ---- comparing ------------------------------------------------------------------- */

/* How far each element was off in the worst of the noisy runs; integers: whether. */
static double *distances(kiln_arena *a, const graph_value *x, const kiln_wide *want) {
    const kiln_type *t = &x->run[0].type;
    const int64_t n = kiln_type_elems(t);
    double *d = kiln_array(a, double, n);
    kiln_wide w = kiln_wide_new(a, t);
    for (int r = 1; r < N_RUNS; r++) {
        if (x->run[r].data == x->run[0].data)
            continue;
        kiln_widen(t, x->run[r].data, &w);
        for (int64_t i = 0; i < n; i++) {
            double far = want->f == NULL                      ? want->i[i] != w.i[i]
                         : isnan(w.f[i]) && isnan(want->f[i]) ? 0
                         : w.f[i] == want->f[i]               ? 0
                                                : fabs(w.f[i] - want->f[i]);
            d[i] = far > d[i] || isnan(far) ? far : d[i];
        }
    }
    return d;
}

/* Of a float: what is allowed in all. One last place or two are anybody's, also where
 * neighbours are large. */
static double allowed(double distance, double value, double rms, double u,
                      double amplification) {
    return amplification * (4 * distance + 4 * u * (fabs(value) + rms));
}

/* Nothing is learnt from elements that may be that far off. */
static bool is_loose(double tolerance, double value, double rms) {
    return !(tolerance <= 0.05 * (fabs(value) + rms));
}

/* Codes of 8 and 4 bits are the same or not, as integers are: the next one is far. */
static bool has_steps(kiln_dtype d) {
    return !kiln_dtype_is_float(d) || kiln_dtype_is_in(d, KILN_DT_LOW_FLOAT);
}

static bool is_same(const kiln_wide *x, const kiln_wide *y, int64_t i) {
    return x->f == NULL ? x->i[i] == y->i[i]
                        : x->f[i] == y->f[i] || (isnan(x->f[i]) && isnan(y->f[i]));
}

graph_diff graph_value_compare(const graph_value *want, const void *got,
                               double amplification) {
    const kiln_type *t = &want->run[0].type;
    const int64_t n = kiln_type_elems(t);
    graph_diff d = {.worst_index = -1};
    kiln_arena a = {0};
    kiln_wide w = kiln_wide_new(&a, t), g = kiln_wide_new(&a, t);
    kiln_widen(t, want->run[0].data, &w);
    kiln_widen(t, got, &g);
    const double *far = distances(&a, want, &w);
    const double rms = w.f != NULL ? rms_of(w.f, n) : 0;
    for (int64_t i = 0; i < n; i++) {
        double tolerance = 0, off = 0;
        if (has_steps(t->dtype)) {
            d.n_loose += far[i] > 0;
            off = far[i] > 0 || is_same(&w, &g, i) ? 0 : HUGE_VAL;
        } else {
            tolerance = allowed(far[i], w.f[i], rms, roundoff(t->dtype), amplification);
            const bool loose = isfinite(w.f[i]) && is_loose(tolerance, w.f[i], rms);
            d.n_loose += loose;
            off = loose || is_same(&w, &g, i) ? 0 : fabs(g.f[i] - w.f[i]);
            off = isnan(off) || (off > 0 && !isfinite(w.f[i])) ? HUGE_VAL
                                                               : off / tolerance;
            off = isnan(off) ? 0 : off; /* 0 of 0 */
        }
        d.n_bad += off > 1;
        if (off > d.worst) {
            d.worst = off;
            d.worst_index = off > 1 ? i : -1;
            d.got = w.f != NULL ? g.f[i] : (double)g.i[i];
            d.want = w.f != NULL ? w.f[i] : (double)w.i[i];
            d.allowed = tolerance;
        }
    }
    d.n_compared = n - d.n_loose;
    kiln_arena_fini(&a);
    return d;
}

graph_spread graph_value_spread(const graph_value *x) {
    const kiln_type *t = &x->run[0].type;
    graph_spread s = {.n = kiln_type_elems(t), .is_finite = true};
    kiln_arena a = {0};
    kiln_wide w = kiln_wide_new(&a, t);
    kiln_widen(t, x->run[0].data, &w);
    const double *far = distances(&a, x, &w);
    s.noise_rms = rms_of(far, s.n);
    s.rms = w.f != NULL ? rms_of(w.f, s.n) : 0;
    for (int64_t i = 0; i < s.n; i++) {
        const double v = w.f != NULL ? w.f[i] : (double)w.i[i];
        const double u = w.f != NULL ? roundoff(t->dtype) : 0;
        s.is_finite = s.is_finite && isfinite(v) && isfinite(far[i]);
        s.max = fabs(v) > s.max ? fabs(v) : s.max;
        s.n_loose += has_steps(t->dtype)
                         ? far[i] > 0
                         : is_loose(allowed(far[i], v, s.rms, u, 1), v, s.rms);
    }
    kiln_arena_fini(&a);
    return s;
}
