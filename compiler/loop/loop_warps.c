/* Warps' accesses without a run: where the lanes of one lie, by the indexes' forms.
 * Sectors and banks as traffic.c has them (NVIDIA, CUDA C++ Best Practices Guide, 9.2.1
 * and 9.2.3). */
#include "compiler/loop/loop_nest.h"

#include <math.h>
#include <stdlib.h>

enum { SECTOR = 32, WORD = 4, BANKS = 32, AT_ONCE = BANKS * WORD, MOST_LANES = 256 };

/* Elements that the threads of a warp touch at once, in bytes of the buffer. */
typedef struct lanes {
    int64_t byte[MOST_LANES];
    int n;
} lanes;

static int64_t floor_div(int64_t x, int64_t y) { return x / y - (x % y < 0); }

static int64_t value_at(const kiln_form *f, const int64_t *at) {
    int64_t v = f->constant;
    for (int i = 0; i < f->n_terms; i++)
        v += f->term[i].factor * at[f->term[i].depth];
    for (int i = 0; i < f->n_parts; i++) {
        const int64_t of = value_at(f->part[i].of, at), d = f->part[i].divisor;
        const int64_t quotient = floor_div(of, d);
        v += f->part[i].factor * (f->part[i].is_mod ? of - quotient * d : quotient);
    }
    return v;
}

static bool is_known(const kiln_nest_access *x) {
    for (int d = 0; d < x->buffer->rank; d++)
        if (x->index[d].unknown != 0)
            return false;
    return true;
}

static int64_t byte_at(const kiln_nest_access *x, const int64_t *at) {
    int64_t element = 0;
    for (int d = 0; d < x->buffer->rank; d++)
        element += x->stride[d] * value_at(&x->index[d], at);
    return element * (int64_t)kiln_dtype_bytes(x->buffer->dtype);
}

static int compare(const void *x, const void *y) {
    const int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return (a > b) - (a < b);
}

/* How many different ones there are of v / unit; they end up in v. */
static int unique(int64_t *v, int n, int64_t unit) {
    int k = 0;
    for (int i = 0; i < n; i++)
        v[i] = floor_div(v[i], unit);
    qsort(v, (size_t)n, sizeof *v, compare);
    for (int i = 0; i < n; i++)
        if (i == 0 || v[i] != v[k - 1])
            v[k++] = v[i];
    return k;
}

/* ---- a launch -------------------------------------------------------------------- */

/* The loops of a statement that threads are, and the vector of each. */
typedef struct launch {
    int64_t extent[KILN_N_AXES]; /* 1: none */
    int depth[KILN_N_AXES];      /* -1: none */
    int64_t vector;              /* elements that a thread takes at once */
    int vector_depth;
} launch;

/* False: nothing is launched around it. */
static bool launch_of(const kiln_nest *k, const kiln_nest_stmt *s, launch *out) {
    bool has = false;
    *out = (launch){.vector = 1, .vector_depth = -1};
    for (int i = 0; i < KILN_N_AXES; i++) {
        out->extent[i] = 1;
        out->depth[i] = -1;
    }
    for (int l = s->loop; l >= 0; l = k->loops.v[l].parent) {
        const kiln_nest_loop *loop = &k->loops.v[l];
        if (loop->kind == KILN_LOOP_VECTORIZED && out->vector_depth < 0) {
            out->vector = loop->extent;
            out->vector_depth = loop->depth;
        }
        if (loop->axis < 0)
            continue;
        has = true;
        out->extent[loop->axis] = loop->extent;
        out->depth[loop->axis] = loop->depth;
    }
    return has;
}

static int64_t threads_of(const launch *l) {
    return l->extent[KILN_AXIS_THREAD_X] * l->extent[KILN_AXIS_THREAD_Y] *
           l->extent[KILN_AXIS_THREAD_Z];
}

static void put_thread(const launch *l, int64_t thread, int64_t *at) {
    for (int i = KILN_AXIS_THREAD_X; i <= KILN_AXIS_THREAD_Z; i++) {
        if (l->depth[i] >= 0)
            at[l->depth[i]] = thread % l->extent[i];
        thread /= l->extent[i];
    }
}

/* Threads [begin, end) of the block. */
static void find_lanes(const kiln_nest_access *x, const launch *l, int64_t begin,
                       int64_t end, lanes *out) {
    int64_t at[KILN_MAX_DEPTH + 1] = {0};
    out->n = 0;
    for (int64_t t = begin; t < end; t++) {
        put_thread(l, t, at);
        for (int64_t i = 0; i < l->vector && out->n < MOST_LANES; i++) {
            if (l->vector_depth >= 0)
                at[l->vector_depth] = i;
            out->byte[out->n++] = byte_at(x, at);
        }
    }
}

/* ---- sums ------------------------------------------------------------------------ */

/* Of one access of a warp. */
typedef struct cost {
    double is, least;
} cost;

static cost sectors_of(const kiln_nest_access *x, const launch *l, int64_t n_threads) {
    const double bytes = (double)kiln_dtype_bytes(x->buffer->dtype);
    lanes all, elements;
    if (!is_known(x))
        return (cost){(double)n_threads * (double)l->vector,
                      ceil((double)n_threads * (double)l->vector * bytes / SECTOR)};
    find_lanes(x, l, 0, n_threads, &all);
    elements = all;
    const int n = unique(elements.byte, elements.n, 1);
    return (cost){unique(all.byte, all.n, SECTOR), ceil(n * bytes / SECTOR)};
}

static cost turns_of(const kiln_nest_access *x, const launch *l, int64_t n_threads) {
    const int64_t bytes = l->vector * (int64_t)kiln_dtype_bytes(x->buffer->dtype);
    const int64_t together = bytes < AT_ONCE ? AT_ONCE / bytes : 1;
    cost c = {0, 0};
    for (int64_t t = 0; t < n_threads; t += together) {
        int of[BANKS] = {0}, most = 1;
        lanes some = {.n = 0};
        if (is_known(x))
            find_lanes(x, l, t, t + together < n_threads ? t + together : n_threads,
                       &some);
        const int n = unique(some.byte, some.n, WORD);
        for (int i = 0; i < n; i++) {
            const int turns = ++of[(uint64_t)some.byte[i] % BANKS];
            most = turns > most ? turns : most;
        }
        c.is += most;
        c.least++;
    }
    return c;
}

static void add_access(const kiln_nest *k, const kiln_nest_access *x, int warp,
                       kiln_nest_warps *out) {
    const kiln_nest_stmt *s = &k->stmts.v[x->stmt];
    const bool is_shared = x->buffer->scope == KILN_SCOPE_SHARED;
    launch l;
    if ((!is_shared && x->buffer->scope != KILN_SCOPE_GLOBAL) || !launch_of(k, s, &l))
        return;
    const int64_t threads = threads_of(&l);
    const int64_t together = warp < threads ? warp : threads;
    const double warps = ceil((double)threads / (double)together);
    const double runs = s->runs * s->share / (double)threads / (double)l.vector * warps;
    const cost c = is_shared ? turns_of(x, &l, together) : sectors_of(x, &l, together);
    *(is_shared ? &out->turns : &out->sectors) += runs * c.is;
    *(is_shared ? &out->least_turns : &out->least_sectors) += runs * c.least;
}

void kiln_nest_warps_of(const kiln_nest *k, int warp, kiln_nest_warps *out) {
    *out = (kiln_nest_warps){.threads = 0};
    warp = warp < 1 ? 1 : warp > MOST_LANES ? MOST_LANES : warp;
    for (size_t i = 0; i < k->stmts.n; i++) {
        launch l;
        if (!launch_of(k, &k->stmts.v[i], &l))
            continue;
        out->threads = fmax(out->threads, (double)threads_of(&l));
        out->blocks = fmax(out->blocks, (double)l.extent[KILN_AXIS_BLOCK_X] *
                                            (double)l.extent[KILN_AXIS_BLOCK_Y] *
                                            (double)l.extent[KILN_AXIS_BLOCK_Z]);
    }
    for (size_t i = 0; i < k->accesses.n; i++)
        add_access(k, &k->accesses.v[i], warp, out);
    for (size_t i = 0; i < k->buffers.n; i++)
        if (k->buffers.v[i]->scope == KILN_SCOPE_SHARED)
            out->shared_bytes += (double)kiln_buffer_elems(k->buffers.v[i]) *
                                 (double)kiln_dtype_bytes(k->buffers.v[i]->dtype);
}
