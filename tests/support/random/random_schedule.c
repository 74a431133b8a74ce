#include "tests/support/random/random_schedule.h"

typedef struct draw {
    kiln_schedule *s;
    kiln_rng *rng;
    kiln_buf *log;
    kiln_err err;
    bool for_cpu;
} draw;

static size_t pick(draw *d, size_t n) {
    return (size_t)kiln_rng_range(d->rng, 0, (int64_t)n - 1);
}

static kiln_stage *any_stage(draw *d) { return d->s->stage.v[pick(d, d->s->stage.n)]; }

static kiln_iter *any_leaf(draw *d, kiln_stage *st) {
    return st->leaf.n > 0 ? st->leaf.v[pick(d, st->leaf.n)] : NULL;
}

static kiln_status do_split(draw *d, kiln_stage *st, kiln_iter *x) {
    kiln_iter *o, *i;
    const int64_t factor = kiln_rng_range(d->rng, 1, 9);
    const bool in_parts = pick(d, 4) == 0;
    kiln_buf_printf(d->log, "%s %s %s %d\n", in_parts ? "split_parts" : "split",
                    st->te->name, x->name, (int)factor);
    return in_parts ? kiln_split_parts(st, x, factor, &o, &i, &d->err)
                    : kiln_split(st, x, factor, &o, &i, &d->err);
}

static kiln_status do_fuse(draw *d, kiln_stage *st, kiln_iter *x) {
    kiln_iter *f;
    for (size_t i = 0; i + 1 < st->leaf.n; i++) {
        if (st->leaf.v[i] != x)
            continue;
        kiln_buf_printf(d->log, "fuse %s %s %s\n", st->te->name, x->name,
                        st->leaf.v[i + 1]->name);
        return kiln_fuse(st, x, st->leaf.v[i + 1], &f, &d->err);
    }
    return KILN_ERR_ARG;
}

static kiln_status do_reorder(draw *d, kiln_stage *st, kiln_iter *x) {
    kiln_iter *other = st->leaf.v[pick(d, st->leaf.n)];
    kiln_iter *const order[] = {x, other};
    kiln_buf_printf(d->log, "reorder %s %s %s\n", st->te->name, x->name, other->name);
    return kiln_reorder(st, order, 2, &d->err);
}

static kiln_status do_annotate(draw *d, kiln_stage *st, kiln_iter *x) {
    static const char *const word[] = {"vectorize", "unroll", "parallel", "bind",
                                       "vthread"};
    size_t kind = pick(d, 5);
    if (kind == 3 && d->for_cpu)
        kind = 2;
    kiln_buf_printf(d->log, "%s %s %s%s\n", word[kind], st->te->name, x->name,
                    kind == 3 ? " threadIdx.x" : "");
    switch (kind) {
    case 0:
        return kiln_vectorize(st, x, &d->err);
    case 1:
        return kiln_unroll(st, x, &d->err);
    case 2:
        return kiln_parallel(st, x, &d->err);
    case 3:
        return kiln_bind(st, x, "threadIdx.x", &d->err);
    default:
        return kiln_vthread(st, x, &d->err);
    }
}

static kiln_status do_place(draw *d, kiln_stage *st, kiln_iter *x) {
    kiln_stage *consumer = any_stage(d);
    (void)x;
    switch (pick(d, 3)) {
    case 0:
        kiln_buf_printf(d->log, "compute_inline %s\n", st->te->name);
        return kiln_compute_inline(st, &d->err);
    case 1:
        kiln_buf_printf(d->log, "compute_root %s\n", st->te->name);
        return kiln_compute_root(st, &d->err);
    default:
        x = any_leaf(d, consumer);
        if (x == NULL)
            return KILN_ERR_ARG;
        kiln_buf_printf(d->log, "compute_at %s %s %s\n", st->te->name,
                        consumer->te->name, x->name);
        return kiln_compute_at(st, consumer, x, &d->err);
    }
}

static kiln_status do_cache(draw *d, kiln_stage *st, kiln_iter *x) {
    kiln_stage *made;
    if (d->s->stage.n > 7)
        return KILN_ERR_ARG;
    if (pick(d, 2) == 0) {
        kiln_buf_printf(d->log, "cache_write %s local\n", st->te->name);
        return kiln_cache_write(st, KILN_SCOPE_LOCAL, &made, &d->err);
    }
    if (pick(d, 2) == 0 && x != NULL) {
        const int axis = (int)pick(d, (size_t)st->te->rank + 1);
        kiln_buf_printf(d->log, "rfactor %s %s %d\n", st->te->name, x->name, axis);
        return kiln_rfactor_axis(st, x, axis, &made, &d->err);
    }
    if (st->te->n_in == 0)
        return KILN_ERR_ARG;
    const kiln_te *read = st->te->in[pick(d, (size_t)st->te->n_in)];
    kiln_buf_printf(d->log, "cache_read %s local %s\n", read->name, st->te->name);
    return kiln_cache_read(d->s, read, KILN_SCOPE_LOCAL, &st, 1, &made, &d->err);
}

static kiln_status do_memory(draw *d, kiln_stage *st, kiln_iter *x) {
    (void)x;
    if (st->te->rank > 0 && (pick(d, 2) == 0 || d->for_cpu)) {
        const int axis = (int)pick(d, (size_t)st->te->rank);
        const int offset = (int)pick(d, 8);
        kiln_buf_printf(d->log, "storage_align %s %d 8 %d\n", st->te->name, axis,
                        offset);
        return kiln_storage_align(st, axis, 8, offset, &d->err);
    }
    /* Outside all loops there is nothing to be ahead of: lowering refuses it. */
    if (d->for_cpu || st->attach != KILN_ATTACH_AT)
        return KILN_ERR_ARG;
    kiln_buf_printf(d->log, "double_buffer %s\n", st->te->name);
    return kiln_double_buffer(st, &d->err);
}

static kiln_status do_unit_loop(draw *d, kiln_stage *st, kiln_iter *x) {
    kiln_iter *unit;
    (void)x;
    kiln_buf_printf(d->log, "unit_loop %s\n", st->te->name);
    return kiln_unit_loop(st, &unit, &d->err);
}

static kiln_schedule *drawn(kiln_arena *a, kiln_rng *rng, const kiln_te *const *out,
                            size_t n_out, int n, kiln_buf *log,
                            random_schedule_stats *stats, bool for_cpu) {
    static kiln_status (*const primitive[])(draw *, kiln_stage *, kiln_iter *) = {
        do_split, do_split,    do_fuse,  do_reorder, do_reorder,   do_place,
        do_place, do_annotate, do_cache, do_memory,  do_unit_loop,
    };
    enum { N_PRIMITIVES = sizeof primitive / sizeof primitive[0] };
    draw d = {.s = kiln_schedule_new(a, out, n_out),
              .rng = rng,
              .log = log,
              .for_cpu = for_cpu};
    for (int i = 0; i < n; i++) {
        kiln_stage *st = any_stage(&d);
        kiln_iter *x = any_leaf(&d, st);
        const size_t p = pick(&d, N_PRIMITIVES);
        if (x == NULL && primitive[p] != do_cache && primitive[p] != do_place &&
            primitive[p] != do_unit_loop)
            continue;
        const size_t before = log->n;
        if (primitive[p](&d, st, x) == KILN_OK) {
            stats->applied++;
        } else {
            stats->refused++;
            log->n = before;
        }
    }
    return d.s;
}

kiln_schedule *random_schedule(kiln_arena *a, kiln_rng *rng, const kiln_te *const *out,
                               size_t n_out, int n, kiln_buf *log,
                               random_schedule_stats *stats) {
    return drawn(a, rng, out, n_out, n, log, stats, false);
}

kiln_schedule *random_cpu_schedule(kiln_arena *a, kiln_rng *rng,
                                   const kiln_te *const *out, size_t n_out, int n,
                                   kiln_buf *log, random_schedule_stats *stats) {
    return drawn(a, rng, out, n_out, n, log, stats, true);
}
