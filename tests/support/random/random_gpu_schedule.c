#include "tests/support/random/random_gpu_schedule.h"

/* What was to be parallel, and more, becomes axes of a grid. */
static void bind_all(kiln_schedule *s, kiln_rng *rng, kiln_buf *log) {
    static const char *const tag[] = {"blockIdx.x",  "threadIdx.y", "blockIdx.y",
                                      "threadIdx.x", "threadIdx.z", "blockIdx.z"};
    static const char *const thread_tag[] = {"threadIdx.x", "threadIdx.y",
                                             "threadIdx.z"};
    enum { N_TAGS = sizeof tag / sizeof tag[0] };
    enum { N_THREAD_TAGS = sizeof thread_tag / sizeof thread_tag[0] };
    for (size_t i = 0; i < s->stage.n; i++) {
        kiln_stage *st = s->stage.v[i];
        const bool is_bound = kiln_rng_range(rng, 0, 2) > 0;
        for (size_t k = 0; k < st->leaf.n; k++) {
            kiln_iter *x = st->leaf.v[k];
            kiln_err err = {0};
            const bool was_parallel = x->loop == KILN_LOOP_PARALLEL;
            if (was_parallel)
                x->loop = KILN_LOOP_SERIAL;
            else if (!is_bound || x->loop != KILN_LOOP_SERIAL || k > 2)
                continue;
            /* What blocks share among them is never shared memory. */
            const char *const *of = st->scope == KILN_SCOPE_SHARED ? thread_tag : tag;
            const int64_t n = st->scope == KILN_SCOPE_SHARED ? N_THREAD_TAGS : N_TAGS;
            const char *t = of[kiln_rng_range(rng, 0, n - 1)];
            if (kiln_bind(st, x, t, &err) == KILN_OK)
                kiln_buf_printf(log, "bind %s %s %s\n", st->te->name, x->name, t);
        }
    }
}

/* What a stage reads, fetched by a block's threads for all of them. */
static void share(kiln_schedule *s, kiln_rng *rng, kiln_buf *log) {
    kiln_stage *st = s->stage.v[kiln_rng_range(rng, 0, (int64_t)s->stage.n - 1)], *made;
    kiln_err err = {0};
    if (st->te->n_in == 0 || st->leaf.n == 0 || s->stage.n > 7)
        return;
    const kiln_te *read = st->te->in[kiln_rng_range(rng, 0, st->te->n_in - 1)];
    kiln_iter *x = st->leaf.v[kiln_rng_range(rng, 0, (int64_t)st->leaf.n - 1)];
    if (kiln_cache_read(s, read, KILN_SCOPE_SHARED, &st, 1, &made, &err) != KILN_OK)
        return;
    kiln_buf_printf(log, "cache_read %s shared %s\n", read->name, st->te->name);
    if (kiln_compute_at(made, st, x, &err) == KILN_OK)
        kiln_buf_printf(log, "compute_at %s %s %s\n", made->te->name, st->te->name,
                        x->name);
}

kiln_schedule *random_gpu_schedule(kiln_arena *a, kiln_rng *rng,
                                   const kiln_te *const *out, size_t n_out, int n,
                                   kiln_buf *log, random_schedule_stats *stats) {
    kiln_schedule *s = random_schedule(a, rng, out, n_out, n, log, stats);
    if (kiln_rng_range(rng, 0, 2) > 0)
        share(s, rng, log);
    bind_all(s, rng, log);
    return s;
}
