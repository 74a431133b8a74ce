/* Cycles of loop nests: see cycles.h. */
#include "compiler/schedule/cycles.h"

#include <math.h>

#include "compiler/loop/loop_nest.h"

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

/* Into a cache of so many bytes, at first or again; and out of it. */
typedef enum direction { AT_FIRST, IN, IN_AND_OUT } direction;

static double traffic(const kiln_cycles_nest *n, int64_t bytes, direction way) {
    const double cache = kept * (double)bytes;
    double sum = 0;
    for (int i = 0; i < n->n_streams; i++) {
        const kiln_cycles_stream *s = &n->stream[i];
        double b = traffic_of(n, s, cache);
        if (s->again > 0 && s->again <= cache)
            continue;
        /* Whatever was before, it is not in this one. */
        if (way == AT_FIRST || s->is_cold)
            b = b > s->bytes[0] ? b : s->bytes[0];
        sum += s->is_written && way == IN_AND_OUT ? 2 * b : b;
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

/* Of what no cache of so many bytes holds, for one of so many cores that all want it: as
 * fast as one core can wait for what it reads, or as all are served. */
static double behind(const kiln_cycles_nest *n, int64_t bytes, int one, int all,
                     int threads) {
    const double in = traffic(n, bytes, IN) / one;
    if (all == 0)
        return in;
    return fmax(in, traffic(n, bytes, IN_AND_OUT) * threads / all);
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
    r.l2 = part * traffic(nest, kiln_cache_l1(p), AT_FIRST) / c->l2_rate;
    const bool has_l3 = p->l3_bytes > 0 && c->l3_rate > 0;
    const int64_t last = has_l3 ? kiln_cache_reach(p) : kiln_cache_l2(p);
    if (has_l3)
        r.l3 = part * behind(nest, kiln_cache_l2(p), c->l3_rate, c->l3_rate_all, used);
    r.memory = part * behind(nest, last, c->memory_rate, c->memory_rate_all, used);
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

/* Loops around both, from the outermost on. */
static int common_loops(const path *x, const path *y) {
    int n = 0;
    while (n < x->n && n < y->n && x->loop[n] == y->loop[n])
        n++;
    return n;
}

/* Bytes of memory that a statement touches in one run of its loops from a depth on. */
static double touched_by(const kiln_nest *nest, const kiln_nest_stmt *s, int depth) {
    double sum = 0;
    for (int i = s->first; i < s->first + s->n; i++) {
        const kiln_nest_access *a = &nest->accesses.v[i];
        if (a->buffer->scope != KILN_SCOPE_REGISTER)
            sum += a->touched[depth] * elem_bytes(a);
    }
    return sum;
}

static bool accesses(const kiln_nest *nest, const kiln_nest_stmt *s,
                     const kiln_buffer *b) {
    for (int i = s->first; i < s->first + s->n; i++)
        if (nest->accesses.v[i].buffer == b)
            return true;
    return false;
}

/* See kiln_cycles_stream.again; 0: no statement before s accesses the buffer. */
static double bytes_since(const kiln_nest *nest, const kiln_nest_stmt *s,
                          const kiln_buffer *b) {
    const path x = path_of(nest, s);
    for (const kiln_nest_stmt *t = s; t-- > nest->stmts.v;) {
        if (!accesses(nest, t, b))
            continue;
        const path y = path_of(nest, t);
        const int depth = common_loops(&x, &y);
        return touched_by(nest, s, depth) + touched_by(nest, t, depth);
    }
    return 0;
}

static void add_stream(const reader *r, const kiln_nest_stmt *stmt, const path *x,
                       const kiln_nest_access *a, kiln_cycles_nest *out) {
    if (out->n_streams == KILN_CYCLES_STREAMS)
        return; /* the first ones are the statement's own operands */
    kiln_cycles_stream *s = &out->stream[out->n_streams++];
    *s = (kiln_cycles_stream){.is_written = a->is_store,
                              .again = bytes_since(r->nest, stmt, a->buffer)};
    if (r->is_cold != NULL && a->buffer->arg >= 0)
        s->is_cold = r->is_cold[a->buffer->arg];
    for (int d = 0; d <= x->body; d++)
        s->bytes[d] = a->touched[d] * elem_bytes(a);
}

static void add_access(const reader *r, const kiln_nest_stmt *s, const path *x,
                       const kiln_nest_access *a, kiln_cycles_nest *out) {
    const double n = loads_of(r, x, a);
    if (a->buffer->scope == KILN_SCOPE_REGISTER) {
        out->chains += a->is_store ? n : 0;
        return;
    }
    *(a->is_store ? &out->stores : &out->loads) += n;
    add_stream(r, s, x, a, out);
}

/* Vector operations of one run of the body; a sum of products is one of two, a function
 * as many as its polynomials have, a division holds a port as long as some (access.c). */
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
    static const double of_call = 15, of_division = 6;
    if (!s->computes)
        return 0;
    const double plain = s->ops - s->n_calls - s->n_divs;
    const double ops = (r->p->has_fma && plain > 1 ? plain / 2 : plain) +
                       of_call * s->n_calls + of_division * s->n_divs;
    return ops * runs / lanes;
}

/* Does a sum in registers go on from one turn of the innermost loop to the next? That
 * is so where the loop brings new terms for the same sum. */
static bool is_carried(const kiln_nest *nest, const path *x, const kiln_nest_stmt *s) {
    const kiln_nest_access *all = nest->accesses.v, *store = &all[s->first];
    bool is_sum = false, brings = false;
    if (x->body == 0 || !s->has_store || kiln_nest_step(store, x->body - 1) != 0)
        return false;
    for (int i = s->first + 1; i < s->first + s->n; i++) {
        const bool is_same = all[i].buffer == store->buffer;
        is_sum = is_sum || is_same;
        brings = brings || (!is_same && all[i].buffer->scope != KILN_SCOPE_REGISTER &&
                            kiln_nest_step(&all[i], x->body - 1) != 0);
    }
    return is_sum && brings;
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
            add_access(r, s, &x, &all[i], &n);
    }
    if (!is_carried(r->nest, &x, s))
        n.chains = 0;
    return kiln_cycles_of_nest(r->p, &n, r->threads);
}

static void add_to(kiln_cycles *sum, kiln_cycles c) {
    sum->core += c.core;
    sum->l2 += c.l2;
    sum->l3 += c.l3;
    sum->memory += c.memory;
    sum->all += c.all;
}

/* What statements of one nest take overlaps; nests come one after another. */
kiln_cycles kiln_cycles_of_program(kiln_arena *scratch, const kiln_profile *p,
                                   const kiln_program *program, const bool *is_cold,
                                   int threads) {
    kiln_nest nest;
    kiln_cycles sum = {0}, part = {0};
    int before = -1;
    kiln_nest_of(scratch, program, &nest);
    const reader r = {p, &nest, is_cold, threads};
    for (size_t i = 0; i < nest.stmts.n; i++) {
        const kiln_nest_stmt *s = &nest.stmts.v[i];
        const path x = path_of(&nest, s);
        const int outer = x.n > 0 ? (int)(x.loop[0] - nest.loops.v) : -1;
        if (outer != before) {
            add_to(&sum, together(part));
            part = (kiln_cycles){0};
        }
        before = outer;
        add_to(&part, of_stmt(&r, s));
    }
    add_to(&sum, together(part));
    return sum;
}
