/* Bounds of a network's outputs, of what their elements do in several lanes.
 *
 * An element's spread s is the root mean square of its lanes' deviations. Few lanes
 * make a poor guess of one element's, so it is no less than three quarters of the
 * elements of its size have (of the same power of two or the next; zeros: of all
 * sizes), since what is computed alike errs alike. Of outputs that are real numbers the
 * bound is 8 s for sixteen lanes, 11 s for eight and 14 s for four. For errors that are
 * normally distributed, an element whose spread is not its neighbours' exceeds it with
 * probability 5e-7, 4e-6, 1.5e-4 (Student's t of so many degrees of freedom), others
 * with less than 1e-14. Lanes err about 1.4 times as much as an engine that rounds
 * nowhere, and in f32 five to ten times as much as compiled code does (noise_f64.c).
 *
 * Outputs that are steps of a quantiser, or integers made of real numbers, move by
 * whole steps. Their lanes were sent to both sides of boundaries already: where all
 * lanes agree on all of an output it is exact. Else an element may move as far as one
 * of its lanes went, and no less than a step or as many as are in 4.5 s of the whole
 * output, since one step far ahead moves others here and there behind it. */
#include "pipeline/pipeline.h"

#include <math.h>
#include <stdlib.h>

/* More lanes where they cost little: up to so many multiply-adds of a graph. The
 * reference does 1e9 in about a second, and of integers less. */
static const struct lane_count {
    int64_t muladds;
    int n;
    double factor;
} lane_counts[] = {{5000000, 16, 8}, {100000000, 8, 11}, {INT64_MAX, 4, 14}};

static const struct lane_count *lanes_for(const kiln_graph *g) {
    kiln_cost cost;
    kiln_graph_cost(g, &cost);
    const struct lane_count *c = lane_counts;
    while (cost.muladds > c->muladds)
        c++;
    return c;
}

typedef struct lanes {
    bool counts_steps; /* integers that quantisers make: others are places */
    int64_t n_elems;
    kiln_wide value, lane[KILN_REF_MAX_LANES];
    int n;
    double factor; /* of spreads */
} lanes;

/* ---- what outputs are ------------------------------------------------------------ */

static const kiln_value *only_variable(const kiln_node *n) {
    const kiln_value *found = NULL;
    for (int k = 0; k < n->n_in; k++) {
        if (n->in[k] == NULL || kiln_value_is_const(n->in[k]))
            continue;
        if (found != NULL)
            return NULL;
        found = n->in[k];
    }
    return found;
}

/* Made of integers that were made of real numbers, and only moved since. */
static bool is_stepped(const kiln_value *v) {
    while (v != NULL && v->def != NULL) {
        const kiln_value *in = only_variable(v->def);
        if (!kiln_dtype_is_float(v->type.dtype) ||
            (in != NULL && !kiln_dtype_is_float(in->type.dtype)))
            return true;
        if (v->def->op->jumps)
            return true;
        if (v->def->op->fuse != KILN_FUSE_INJECTIVE ||
            v->def->op->error_bound(v->def).kind != KILN_BOUND_EXACT)
            return false;
        v = in;
    }
    return false;
}

/* Integers that quantisers make: others are places, or truths. */
static bool is_count(kiln_dtype d) {
    return !kiln_dtype_is_float(d) && kiln_dtype_bytes(d) <= 2 && d != KILN_BOOL;
}

/* ---- spreads --------------------------------------------------------------------- */

static double at(const kiln_wide *w, int64_t i) {
    if (w->f != NULL)
        return w->f[i];
    return w->type.dtype == KILN_U64 ? (double)(uint64_t)w->i[i] : (double)w->i[i];
}

static bool same_special(double x, double y) {
    return (isnan(x) && isnan(y)) || x == y;
}

/* Negative where a lane is NaN or infinite and the value is not, or the other way. */
static double spread_of(const lanes *l, int64_t i, double *farthest) {
    const double v = at(&l->value, i);
    double sum = 0, most = 0;
    for (int j = 0; j < l->n; j++) {
        const double w = at(&l->lane[j], i);
        if (!isfinite(v) || !isfinite(w)) {
            if (!same_special(v, w))
                return -1;
            continue;
        }
        sum += (w - v) * (w - v);
        most = fmax(most, fabs(w - v));
    }
    /* Integers past 2^53 may differ and be equal as doubles. */
    for (int j = 0; j < l->n && l->value.i != NULL && most == 0; j++)
        most = l->lane[j].i[i] != l->value.i[i] ? 1 : 0;
    *farthest = most;
    return sqrt(sum / l->n);
}

static double rms_of(const kiln_wide *w, int64_t n) {
    double sum = 0;
    int64_t n_finite = 0;
    for (int64_t i = 0; i < n; i++) {
        const double v = at(w, i);
        if (isfinite(v)) {
            sum += v * v;
            n_finite++;
        }
    }
    return n_finite > 0 ? sqrt(sum / (double)n_finite) : 0;
}

/* Elements by their powers of two, below the largest one's. */
enum { N_CLASSES = 64, OF_ZERO = N_CLASSES, MAX_SAMPLES = 1 << 16 };

typedef struct sample {
    int of;
    double spread;
} sample;

typedef struct pool {
    bool is_stepped;
    double least; /* stepped: what no bound is less than */
    int top;      /* exponent of the largest element, as frexp counts */
    double spread[N_CLASSES + 1];
} pool;

static int class_of(int top, double v) {
    int exponent = 0;
    if (v == 0 || !isfinite(v))
        return OF_ZERO;
    (void)frexp(v, &exponent);
    return top - exponent < N_CLASSES ? top - exponent : N_CLASSES - 1;
}

static int ascending(const void *a, const void *b) {
    const double x = ((const sample *)a)->spread, y = ((const sample *)b)->spread;
    return (x > y) - (x < y);
}

/* The third quartile of the elements in classes first to last; 0: there is none. */
static double quartile(const sample *x, size_t n, int first, int last) {
    size_t n_in = 0, below = 0;
    for (size_t i = 0; i < n; i++)
        n_in += x[i].of >= first && x[i].of <= last;
    for (size_t i = 0; i < n; i++)
        if (x[i].of >= first && x[i].of <= last && ++below > n_in * 3 / 4)
            return x[i].spread;
    return 0;
}

static double largest_of(const lanes *l) {
    double largest = 0;
    for (int64_t i = 0; i < l->n_elems; i++)
        if (isfinite(at(&l->value, i)))
            largest = fmax(largest, fabs(at(&l->value, i)));
    return largest;
}

/* The least move is a step; scaling one costs some units in the last place. */
static void pool_steps(const lanes *l, pool *out) {
    const double scaling = l->value.f != NULL ? 0x1p-20 * largest_of(l) : 0;
    double step = HUGE_VAL, sum = 0;
    for (int64_t i = 0; i < l->n_elems; i++) {
        double farthest = 0;
        const double s = spread_of(l, i, &farthest);
        if (s < 0 || farthest <= scaling)
            continue;
        step = fmin(step, farthest);
        sum += s * s;
    }
    out->least = scaling;
    if (isfinite(step))
        out->least +=
            step * fmax(1, floor(4.5 * sqrt(sum / (double)l->n_elems) / step));
}

/* Those that no lane moves say nothing of the others. */
static void pool_spreads(const lanes *l, pool *out) {
    kiln_arena scratch = {0};
    const int64_t step = (l->n_elems / MAX_SAMPLES) | 1; /* odd: no channel alone */
    sample *x = kiln_array(&scratch, sample, l->n_elems / step + 1);
    size_t n = 0;
    (void)frexp(largest_of(l), &out->top);
    for (int64_t i = 0; i < l->n_elems; i += step) {
        double farthest = 0;
        const double s = spread_of(l, i, &farthest);
        if (s > 0)
            x[n++] = (sample){class_of(out->top, at(&l->value, i)), s};
    }
    qsort(x, n, sizeof *x, ascending);
    for (int c = 0; c < N_CLASSES; c++)
        out->spread[c] = quartile(x, n, c - 1, c + 1 < N_CLASSES ? c + 1 : c);
    out->spread[OF_ZERO] = quartile(x, n, 0, OF_ZERO);
    kiln_arena_fini(&scratch);
}

/* ---- bounds ---------------------------------------------------------------------- */

/* Upwards: a bound must not lose by being written down. */
static float to_float(double x) {
    const float f = (float)x;
    return (double)f < x ? nextafterf(f, HUGE_VALF) : f;
}

static double bound_of(const lanes *l, int64_t i, const pool *p) {
    double farthest = 0;
    const double s = spread_of(l, i, &farthest), v = at(&l->value, i);
    if (s < 0)
        return -1;
    if (!isfinite(v))
        return 0;
    if (l->value.i != NULL && !l->counts_steps) /* a place, a truth */
        return farthest > 0 ? -1 : 0;
    if (p->is_stepped)
        return fmax(farthest, p->least);
    return l->factor * fmax(s, p->spread[class_of(p->top, v)]);
}

/* Little is known of an element whose bound is this share of what it is; nothing where
 * it is as large as the element. */
static const double weak_share = 0.25, loose_share = 1;

static void bounds_of(kiln_arena *a, const lanes *l, bool stepped, kiln_bounded *out) {
    double sum = 0;
    pool p = {.is_stepped = stepped};
    out->n_elems = l->n_elems;
    out->bound = kiln_array(a, float, l->n_elems);
    out->rms = rms_of(&l->value, l->n_elems);
    if (stepped)
        pool_steps(l, &p);
    else
        pool_spreads(l, &p);
    for (int64_t i = 0; i < l->n_elems; i++) {
        const double b = bound_of(l, i, &p);
        const double size = fmax(out->rms, fabs(at(&l->value, i)));
        const bool judged = l->value.f != NULL && isfinite(size);
        const bool is_loose = b < 0 || (judged && b > loose_share * size);
        out->bound[i] = is_loose ? -1.0F : to_float(b);
        out->n_loose += is_loose;
        sum += is_loose ? 0 : b * b;
        if (is_loose || !judged || b <= weak_share * size)
            continue;
        if (out->is_weak == NULL)
            out->is_weak = kiln_array(a, bool, l->n_elems);
        out->is_weak[i] = true;
        out->n_weak++;
    }
    const int64_t n_held = out->n_elems - out->n_loose;
    out->typical = n_held > 0 ? sqrt(sum / (double)n_held) : 0;
}

static void widen(kiln_arena *a, const kiln_tensor *t, kiln_wide *out) {
    *out = kiln_wide_new(a, &t->type);
    kiln_widen(&t->type, t->data, out);
}

static kiln_status expect(kiln_arena *a, kiln_arena *scratch, const kiln_graph *g,
                          const kiln_tensor *in, const kiln_ref_lanes *how,
                          kiln_bounded *out, kiln_err *err) {
    const size_t n_out = g->outputs.n;
    lanes l = {.n = how->n, .factor = lanes_for(g)->factor};
    kiln_tensor *value = kiln_array(scratch, kiln_tensor, n_out);
    kiln_tensor *lane = kiln_array(scratch, kiln_tensor, n_out * (size_t)l.n);
    KILN_TRY(kiln_ref_run_lanes(scratch, g, in, g->inputs.n, how, value, lane, err));
    for (size_t i = 0; i < n_out; i++) {
        const kiln_arena_mark mark = kiln_arena_save(scratch);
        const kiln_type *t = &value[i].type;
        out[i] = (kiln_bounded){.value = {.type = *t}};
        out[i].value.data =
            kiln_arena_dup(a, value[i].data, (size_t)kiln_type_bytes(t));
        l.counts_steps = is_count(t->dtype);
        l.n_elems = kiln_type_elems(t);
        widen(scratch, &value[i], &l.value);
        for (int j = 0; j < l.n; j++)
            widen(scratch, &lane[(size_t)j * n_out + i], &l.lane[j]);
        bounds_of(a, &l, is_stepped(g->outputs.v[i]), &out[i]);
        kiln_arena_rewind(scratch, mark);
    }
    return KILN_OK;
}

static kiln_status expect_by(kiln_arena *a, const kiln_graph *g, const kiln_tensor *in,
                             uint64_t seed, bool elsewhere, kiln_bounded *out,
                             kiln_err *err) {
    kiln_arena scratch = {0};
    const kiln_ref_lanes how = {
        .n = lanes_for(g)->n, .seed = seed, .elsewhere = elsewhere};
    const kiln_status st = expect(a, &scratch, g, in, &how, out, err);
    kiln_arena_fini(&scratch);
    return st;
}

kiln_status kiln_expect_network(kiln_arena *a, const kiln_graph *g,
                                const kiln_tensor *in, uint64_t seed, kiln_bounded *out,
                                kiln_err *err) {
    return expect_by(a, g, in, seed, false, out, err);
}

bool kiln_graph_quantises(const kiln_graph *g) {
    for (size_t i = 0; i < g->nodes.n; i++) {
        const kiln_node *n = g->nodes.v[i];
        const bool steps = is_count(n->out[0]->type.dtype);
        for (int k = 0; k < n->n_in && steps; k++)
            if (n->in[k] != NULL && kiln_dtype_is_float(n->in[k]->type.dtype))
                return true;
    }
    return false;
}

bool kiln_graph_errs_elsewhere(const kiln_graph *g) {
    for (size_t i = 0; i < g->nodes.n; i++)
        if (g->nodes.v[i]->op->elsewhere_bound != NULL)
            return true;
    return kiln_graph_quantises(g);
}

kiln_status kiln_expect_elsewhere(kiln_arena *a, const kiln_graph *g,
                                  const kiln_tensor *in, uint64_t seed,
                                  kiln_bounded *out, kiln_err *err) {
    return expect_by(a, g, in, seed, true, out, err);
}

/* ---- comparing ------------------------------------------------------------------- */

static void compare_element(const kiln_bounded *want, int64_t i, double got, double w,
                            bool is_equal, kiln_bounded_diff *d) {
    const double bound = (double)want->bound[i], off = fabs(got - w);
    if (bound < 0)
        return;
    d->n_held++;
    if (is_equal)
        return;
    const double ratio = bound > 0 && isfinite(off) ? off / bound : HUGE_VAL;
    if (!(ratio <= 1))
        d->n_bad++;
    if (ratio > d->ratio || (d->worst < 0 && !(ratio <= 1))) {
        d->ratio = ratio;
        d->worst = i;
        d->got = got;
        d->want = w;
        d->bound = bound;
    }
}

kiln_status kiln_bounded_compare(const kiln_bounded *want, const kiln_tensor *got,
                                 kiln_bounded_diff *out, kiln_err *err) {
    const kiln_type *t = &want->value.type;
    kiln_arena scratch = {0};
    KILN_ASSERT(want->value.data != NULL && got->data != NULL,
                "a comparison of tensors that have no elements in memory");
    if (got->type.dtype != t->dtype || !kiln_type_same_shape(&got->type, t)) {
        kiln_fail(err, KILN_ERR_SHAPE, "the output must be %s, is %s",
                  kiln_type_text(&scratch, t), kiln_type_text(&scratch, &got->type));
        kiln_arena_fini(&scratch);
        return KILN_ERR_SHAPE;
    }
    kiln_wide w, g;
    widen(&scratch, &want->value, &w);
    widen(&scratch, got, &g);
    kiln_bounded_diff d = {.worst = -1};
    for (int64_t i = 0; i < want->n_elems; i++) {
        const double x = at(&g, i), y = at(&w, i);
        const bool is_equal = w.f != NULL ? same_special(x, y) : g.i[i] == w.i[i];
        compare_element(want, i, x, y, is_equal, &d);
    }
    d.ok = d.n_bad == 0;
    if (d.ok)
        d.worst = -1;
    *out = d;
    kiln_arena_fini(&scratch);
    return KILN_OK;
}
