/* Schedules of blocks and threads: what a block needs is fetched into shared memory by
 * all of its threads, sums are kept by each of them; with barriers, and after all other
 * passes, every example must compute what kiln_te_eval does, in drawn orders, with no
 * race and nothing read that nobody wrote. And what scopes forbid is refused. */
#include "compiler/schedule/schedule.h"
#include "tests/support/kiln_test.h"
#include "tests/support/kernel/te_call.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SCHEDULES_EACH = 2, MAX_INPUTS = 8 };

typedef struct draw {
    kiln_arena *a;
    kiln_rng rng;
    kiln_schedule *s;
    kiln_buf log;
    kiln_err err;
    int64_t threads[2]; /* of a block, along x and y; y: 1 where it is not bound */
    int n_ahead;        /* copies that are double buffered */
} draw;

static bool one_in(draw *d, int64_t n) { return kiln_rng_range(&d->rng, 1, n) == 1; }

/* One loop over all spatial leaves, which stand in front. */
static kiln_iter *fused(draw *d, kiln_stage *st) {
    while (st->leaf.n > 1 && st->leaf.v[1]->kind == KILN_ITER_SPATIAL) {
        kiln_iter *f = NULL;
        if (kiln_fuse(st, st->leaf.v[0], st->leaf.v[1], &f, &d->err) != KILN_OK)
            return NULL;
    }
    const bool has_any = st->leaf.n > 0 && st->leaf.v[0]->kind == KILN_ITER_SPATIAL;
    return has_any ? st->leaf.v[0] : NULL;
}

/* The loop's iterations fall on the threads of a block: what is left of them around, the
 * threads inside. */
static kiln_status spread(draw *d, kiln_stage *st, kiln_iter *x, kiln_iter **outer) {
    kiln_iter *inner = NULL;
    KILN_TRY(kiln_split(st, x, d->threads[0], &x, &inner, &d->err));
    KILN_TRY(kiln_bind(st, inner, "threadIdx.x", &d->err));
    if (d->threads[1] > 1) {
        KILN_TRY(kiln_split(st, x, d->threads[1], &x, &inner, &d->err));
        KILN_TRY(kiln_bind(st, inner, "threadIdx.y", &d->err));
    }
    *outer = x;
    return KILN_OK;
}

/* What `reader` reads goes through shared memory, fetched inside one of its loops. */
static kiln_status fetch(draw *d, const kiln_te *te, kiln_stage *reader) {
    kiln_stage *copy = NULL;
    kiln_iter *x = NULL;
    kiln_iter *const at =
        reader->leaf.v[kiln_rng_range(&d->rng, 0, (int64_t)reader->leaf.n - 1)];
    kiln_buf_printf(&d->log, "fetch %s at %s of %s\n", te->name, at->name,
                    reader->te->name);
    KILN_TRY(kiln_cache_read(d->s, te, KILN_SCOPE_SHARED, &reader, 1, &copy, &d->err));
    KILN_TRY(kiln_compute_at(copy, reader, at, &d->err));
    if (at->loop == KILN_LOOP_SERIAL && at->kind == KILN_ITER_REDUCE &&
        at->extent > 1 && one_in(d, 2)) {
        kiln_buf_printf(&d->log, "double_buffer %s\n", copy->te->name);
        KILN_TRY(kiln_double_buffer(copy, &d->err));
        d->n_ahead++;
    }
    x = fused(d, copy);
    return x == NULL ? KILN_ERR_ARG : spread(d, copy, x, &x);
}

static kiln_status schedule(draw *d, const kiln_te *out) {
    kiln_stage *st = kiln_schedule_stage(d->s, out), *sum = NULL;
    kiln_iter *x = NULL;
    d->threads[0] = kiln_rng_range(&d->rng, 2, 6);
    d->threads[1] = one_in(d, 3) ? 2 : 1;
    if (out->kind == KILN_TE_COMPUTE && one_in(d, 2))
        KILN_TRY(kiln_cache_write(st, KILN_SCOPE_LOCAL, &sum, &d->err));
    x = fused(d, st);
    if (x == NULL)
        return KILN_ERR_ARG;
    KILN_TRY(spread(d, st, x, &x));
    kiln_iter *blocks = x;
    if (one_in(d, 2)) {
        kiln_iter *each = NULL;
        KILN_TRY(
            kiln_split(st, x, kiln_rng_range(&d->rng, 2, 4), &blocks, &each, &d->err));
        if (one_in(d, 2))
            KILN_TRY(kiln_vthread(st, each, &d->err));
    }
    KILN_TRY(kiln_bind(st, blocks, "blockIdx.x", &d->err));
    kiln_buf_printf(&d->log, "%d x %d threads\n", (int)d->threads[0],
                    (int)d->threads[1]);
    size_t last = 0; /* of the loops bound to threads: sums belong inside */
    for (size_t i = 0; i < st->leaf.n; i++)
        last = st->leaf.v[i]->loop == KILN_LOOP_THREAD ? i : last;
    if (sum != NULL)
        KILN_TRY(kiln_compute_at(sum, st, st->leaf.v[last], &d->err));
    kiln_stage *reader = sum != NULL ? sum : st;
    for (int i = 0; i < out->n_in; i++)
        if (one_in(d, 2) && reader->leaf.n > 0)
            KILN_TRY(fetch(d, out->in[i], reader));
    return KILN_OK;
}

/* ---- running --------------------------------------------------------------------- */

typedef struct trial {
    kiln_arena *a;
    te_call call;
    kiln_wide in[MAX_INPUTS], want[8];
    draw d;
    uint64_t seed;
} trial;

static void report(trial *t, const kiln_program *p, const char *pass,
                   const kiln_err *err) {
    kiln_buf text;
    kiln_buf_init(&text, t->a);
    kiln_program_print(&text, p);
    fprintf(stderr, "seed %" PRIu64 ", after %s\n%.*s\n%s\n%s\n", t->seed, pass,
            KILN_STR_ARG(kiln_buf_str(&t->d.log)), text.p, err->text);
}

static bool computes(trial *t, const kiln_program *p, uint64_t seed, kiln_err *err) {
    const kiln_loop_run_options o = {.seed = seed};
    for (int k = 0; k < t->call.n_out; k++)
        memset(t->call.out[k].data, 0xFF,
               (size_t)kiln_type_bytes(&t->call.out[k].type));
    bool ok = kiln_program_run(t->a, p, t->call.arg, &o, err) == KILN_OK;
    for (int k = 0; k < t->call.n_out && ok; k++)
        ok = !te_call_differs(t->a, &t->call.out[k], &t->want[k]);
    return ok;
}

/* Run with the first barriers in, and at the end: before, there are races by design. */
static bool passes_keep_it(trial *t, kiln_program *p) {
    for (int i = 0; kiln_loop_pass_at(i) != NULL; i++) {
        const kiln_loop_pass *pass = kiln_loop_pass_at(i);
        kiln_err err = {0};
        bool ok = pass->run(p, &(kiln_loop_options){0}, &err) == KILN_OK &&
                  kiln_program_verify(p, &err) == KILN_OK;
        if (pass == &kiln_loop_pass_barriers || kiln_loop_pass_at(i + 1) == NULL)
            ok = ok && computes(t, p, t->seed + (uint64_t)i, &err);
        if (!ok) {
            report(t, p, pass->name, &err);
            return false;
        }
    }
    return true;
}

static int n_ahead; /* of all that ran */

static bool try_schedule(kiln_arena *a, const te_example_def *def, uint64_t seed,
                         int64_t *n_run) {
    trial t = {.a = a, .seed = seed};
    te_example x = {0};
    kiln_program *p = NULL;
    kiln_err err = {0};
    def->make(a, &x);
    kiln_rng_init(&t.d.rng, seed);
    t.d.a = a;
    kiln_buf_init(&t.d.log, a);
    te_call_prepare(a, &t.d.rng, &x, &t.call, t.in);
    te_call_evaluate(a, &x, t.in, t.want);
    t.d.s = kiln_schedule_new(a, x.arg + x.n_inputs, x.n_args - x.n_inputs);
    if (schedule(&t.d, x.arg[x.n_inputs]) != KILN_OK ||
        kiln_lower(a, t.d.s, x.arg, x.n_args, x.n_inputs, def->name, &p, &err) !=
            KILN_OK) {
        print_message("refused: %s%s\n", t.d.err.text, err.text);
        return true;
    }
    ++*n_run;
    n_ahead += t.d.n_ahead;
    return passes_keep_it(&t, p);
}

static void keeps_its_meaning(void **state) {
    const int64_t n = kiln_test_cases(SCHEDULES_EACH);
    int64_t n_run = 0;
    for (int64_t i = 0; i < n; i++) {
        kiln_arena a = {0};
        const bool ok =
            try_schedule(&a, *state, kiln_test_seed() * 1000003u + (uint64_t)i, &n_run);
        kiln_arena_fini(&a);
        assert_true(ok);
    }
    print_message("%" PRId64 " of %" PRId64 " run\n", n_run, n);
}

/* Last: what the others drew. */
static void some_are_double_buffered(void **state) {
    (void)state;
    print_message("%d copies are double buffered\n", n_ahead);
    assert_true(n_ahead > 0);
}

int main(void) {
    for (size_t i = 0; i < n_te_examples; i++)
        kiln_test_add(te_examples[i].name, keeps_its_meaning,
                      (void *)(uintptr_t)&te_examples[i]);
    kiln_test_add("some_are_double_buffered", some_are_double_buffered, NULL);
    return kiln_test_run("schedules of threads");
}
