/* Cycles of loop nests: see cycles.h. */
#include "compiler/schedule/cycles.h"

#include <math.h>

#include "compiler/loop/nest.h"

/* Of the smaller parts so much is not hidden behind the largest; fitted on Zen 5 with
 * register tiles whose operands come from L1 and L2 (template/tiles.c), and what a
 * cache surely keeps of what passes through it: sets fill unevenly. */
static const double not_hidden = 0.3, kept = 0.75;

/* ---- traffic --------------------------------------------------------------------- */

static double touched(const kiln_cycles_nest *n, int depth) {
    double sum = 0;
    for (int i = 0; i < n->n_streams; i++)
        sum += n->stream[i].bytes[depth];
    return sum;
}

/* The outermost loop whose run stays in the cache; n_loops: only the body does. */
static int fitting_depth(const kiln_cycles_nest *n, double cache) {
    int d = n->n_loops;
    while (d > 0 && touched(n, d - 1) <= cache)
        d--;
    return d;
}

/* Does the stream touch more while the loop of that depth goes on? */
static bool moves(const kiln_cycles_stream *s, int depth) {
    return s->bytes[depth] > s->bytes[depth + 1];
}

static double traffic_of(const kiln_cycles_nest *n, const kiln_cycles_stream *s,
                         double cache) {
    const int d = fitting_depth(n, cache);
    double runs = 1;
    if (d == 0)
        return 0;
    for (int i = 0; i < d - 1; i++)
        runs *= n->extent[i];
    if (!moves(s, d - 1)) /* it is still there for the next iteration */
        return runs * s->bytes[d];
    /* Windows that overlap bring only what is new. */
    const double each = n->extent[d - 1] * s->bytes[d];
    return runs * (s->bytes[d - 1] < each ? s->bytes[d - 1] : each);
}

/* Into a cache of so many bytes, at first and again. */
static double traffic(const kiln_cycles_nest *n, int64_t bytes, bool is_first) {
    const double cache = kept * (double)bytes;
    double sum = 0;
    for (int i = 0; i < n->n_streams; i++) {
        const kiln_cycles_stream *s = &n->stream[i];
        double b = traffic_of(n, s, cache);
        if (is_first || s->is_cold) /* whatever was before, it is not in this one */
            b = b > s->bytes[0] ? b : s->bytes[0];
        sum += s->is_written && !is_first ? 2 * b : b;
    }
    return n->share * sum;
}

/* ---- time ------------------------------------------------------------------------ */

static double body_cycles(const kiln_core *c, const kiln_cycles_nest *n) {
    const double loads = n->loads / c->load_ports;
    const double part[] = {n->muladds / c->fma_ports,
                           n->chains > 0 ? ceil(n->muladds / n->chains) * c->fma_latency
                                         : 0,
                           n->stores / c->store_ports};
    double most = 1;
    for (size_t i = 0; i < sizeof part / sizeof part[0]; i++)
        most = fmax(most, part[i]);
    return fmax(most, loads) + not_hidden * fmin(most, loads);
}

static kiln_cycles together(kiln_cycles c) {
    const double part[] = {c.core, c.l2, c.l3, c.memory};
    double most = 0, sum = 0;
    for (size_t i = 0; i < sizeof part / sizeof part[0]; i++) {
        most = fmax(most, part[i]);
        sum += part[i];
    }
    c.all = most + not_hidden * (sum - most);
    return c;
}

/* Into one of so many cores that all want it. */
static double rate_of(int one, int all, int threads) {
    const double share = all > 0 ? (double)all / threads : one;
    return share < one ? share : one;
}

kiln_cycles kiln_cycles_of_nest(const kiln_profile *p, const kiln_cycles_nest *nest,
                                int threads) {
    KILN_ASSERT(threads > 0 && nest->n_loops <= KILN_CYCLES_LOOPS &&
                    nest->n_streams <= KILN_CYCLES_STREAMS,
                "a nest of %d loops for %d threads", nest->n_loops, threads);
    const kiln_core *c = &p->core;
    const double n = nest->parallel > 1 ? nest->parallel : 1;
    const double part = ceil(n / threads) / n; /* of the thread with most to do */
    const int used = n < threads ? (int)n : threads;
    double runs = nest->share, entries = nest->share;
    for (int i = 0; i < nest->n_loops; i++) {
        entries = runs;
        runs *= nest->extent[i];
    }
    kiln_cycles r = {.core =
                         part * (runs * body_cycles(c, nest) + entries * nest->entry)};
    r.l2 = part * traffic(nest, kiln_cache_l1(p), true) / c->l2_rate;
    const double behind_l2 = part * traffic(nest, kiln_cache_l2(p), false);
    const double far = part * traffic(nest, kiln_cache_reach(p), false);
    const double memory_rate = rate_of(c->memory_rate, c->memory_rate_all, used);
    if (p->l3_bytes > 0 && c->l3_rate > 0)
        r.l3 = behind_l2 / rate_of(c->l3_rate, c->l3_rate_all, used);
    r.memory = (r.l3 > 0 ? far : behind_l2) / memory_rate;
    return together(r);
}

/* ---- programs -------------------------------------------------------------------- */

typedef struct reader {
    const kiln_profile *p;
    const kiln_nest *nest;
    const bool *is_cold;
    int threads;
} reader;

/* The loops around a statement, outermost first, and where its body begins: at the
 * innermost loops that are copied or vectors. */
typedef struct path {
    const kiln_nest_loop *loop[KILN_MAX_DEPTH];
    int n, body, vector; /* vector: depth of its loop; -1: none */
} path;

static path path_of(const kiln_nest *nest, const kiln_nest_stmt *s) {
    path x = {.n = 0, .vector = -1};
    for (int l = s->loop; l >= 0; l = nest->loops.v[l].parent) {
        x.loop[nest->loops.v[l].depth] = &nest->loops.v[l];
        x.n++;
    }
    x.body = x.n;
    while (x.body > 0 && (x.loop[x.body - 1]->kind == KILN_LOOP_UNROLLED ||
                          x.loop[x.body - 1]->kind == KILN_LOOP_VECTORIZED))
        x.body--;
    for (int i = x.body; i < x.n; i++)
        if (x.loop[i]->kind == KILN_LOOP_VECTORIZED)
            x.vector = i;
    return x;
}

static double elem_bytes(const kiln_nest_access *a) {
    return (double)kiln_dtype_bytes(a->buffer->dtype);
}

/* Vectors (or single elements) of an access that one run of the body loads or stores:
 * what does not move along the vector is one for all its lanes. */
static double loads_of(const reader *r, const path *x, const kiln_nest_access *a) {
    const double elems = a->touched[x->body];
    if (x->vector < 0)
        return elems;
    const int64_t step = kiln_nest_step(a, x->vector);
    if (step != 1)
        return elems;
    return ceil(elems * elem_bytes(a) / r->p->vector_bytes);
}

static void add_stream(const reader *r, const path *x, const kiln_nest_access *a,
                       kiln_cycles_nest *out) {
    if (out->n_streams == KILN_CYCLES_STREAMS)
        return; /* the first ones are the statement's own operands */
    kiln_cycles_stream *s = &out->stream[out->n_streams++];
    *s = (kiln_cycles_stream){.is_written = a->is_store};
    if (r->is_cold != NULL && a->buffer->arg >= 0)
        s->is_cold = r->is_cold[a->buffer->arg];
    for (int d = 0; d <= x->body; d++)
        s->bytes[d] = a->touched[d] * elem_bytes(a);
}

static void add_access(const reader *r, const path *x, const kiln_nest_access *a,
                       kiln_cycles_nest *out) {
    const double n = loads_of(r, x, a);
    if (a->buffer->scope == KILN_SCOPE_REGISTER) {
        out->chains += a->is_store ? n : 0;
        return;
    }
    *(a->is_store ? &out->stores : &out->loads) += n;
    add_stream(r, x, a, out);
}

/* Vector operations of one run of the body; a sum of products is one of two. */
static double muladds_of(const reader *r, const path *x, const kiln_nest_stmt *s) {
    double runs = 1, lanes = 1;
    for (int i = x->body; i < x->n; i++)
        runs *= (double)x->loop[i]->extent;
    if (x->vector >= 0) {
        const kiln_nest_access *first = &r->nest->accesses.v[s->first];
        const double bytes = s->n > 0 ? elem_bytes(first) : 4;
        const double extent = (double)x->loop[x->vector]->extent;
        lanes = extent / ceil(extent * bytes / r->p->vector_bytes);
    }
    const double ops = r->p->has_fma && s->ops > 1 ? s->ops / 2 : s->ops;
    return ops * runs / lanes;
}

static kiln_cycles of_stmt(const reader *r, const kiln_nest_stmt *s) {
    const path x = path_of(r->nest, s);
    kiln_cycles_nest n = {.n_loops = x.body, .share = s->share};
    const kiln_nest_access *all = r->nest->accesses.v;
    for (int i = 0; i < x.body; i++) {
        n.extent[i] = (double)x.loop[i]->extent;
        if (x.loop[i]->kind == KILN_LOOP_PARALLEL)
            n.parallel = (n.parallel > 0 ? n.parallel : 1) * n.extent[i];
    }
    n.muladds = muladds_of(r, &x, s);
    for (int i = s->first; i < s->first + s->n; i++) {
        /* A sum in memory is one place that is read and written. */
        const bool is_sum =
            i > s->first && s->has_store && all[i].buffer == all[s->first].buffer;
        if (is_sum && all[i].buffer->scope != KILN_SCOPE_REGISTER)
            n.loads += loads_of(r, &x, &all[i]);
        else if (!is_sum)
            add_access(r, &x, &all[i], &n);
    }
    return kiln_cycles_of_nest(r->p, &n, r->threads);
}

kiln_cycles kiln_cycles_of_program(kiln_arena *scratch, const kiln_profile *p,
                                   const kiln_program *program, const bool *is_cold,
                                   int threads) {
    kiln_nest nest;
    kiln_cycles sum = {0};
    kiln_nest_of(scratch, program, &nest);
    const reader r = {p, &nest, is_cold, threads};
    for (size_t i = 0; i < nest.stmts.n; i++) {
        const kiln_cycles c = of_stmt(&r, &nest.stmts.v[i]);
        sum.core += c.core;
        sum.l2 += c.l2;
        sum.l3 += c.l3;
        sum.memory += c.memory;
        sum.all += c.all;
    }
    return sum;
}
