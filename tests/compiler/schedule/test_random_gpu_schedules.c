/* Random schedules for GPUs, interpreted: whatever order threads run in, they compute what
 * the tensor expressions say; and without any one of the barriers that the pass has put
 * there, the interpreter finds a race. KILN_SOAK=1: 10,000 schedules, 500 barriers.
 *
 * The tolerance and its reason are in tests/support/kernel/te_call.h. */
#include "compiler/loop/loop_walk.h"
#include "compiler/schedule/schedule.h"
#include "tests/support/gpu/support_barriers.h"
#include "tests/support/kiln_test.h"
#include "tests/support/random/random_gpu_schedule.h"
#include "tests/support/kernel/te_call.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { CASES = 160, SOAK_CASES = 10000, TAKEN = 40, SOAK_TAKEN = 500 };
enum { ORDERS = 3, MAX_PRIMITIVES = 24, MAX_DRAWS = 40 };

static int64_t cases(int64_t quick, int64_t soak) {
    return getenv("KILN_SOAK") != NULL ? soak : kiln_test_cases(quick);
}

typedef struct drawn {
    te_example x;
    te_call c;
    kiln_wide in[8], want[8];
    kiln_buf log;
    kiln_program *p; /* as lowered */
    uint64_t seed;
} drawn;

static void report(kiln_arena *a, const drawn *d, const kiln_program *p,
                   const char *what) {
    kiln_buf text;
    kiln_buf_init(&text, a);
    kiln_te_print(&text, d->x.arg + d->x.n_inputs, d->x.n_args - d->x.n_inputs);
    kiln_program_print(&text, p);
    fprintf(stderr, "seed %" PRIu64 ": %s\n%s\n%s\n", d->seed, what,
            d->log.n > 0 ? d->log.p : "", text.p);
}

/* False: lowering refuses the draw by name. */
static bool draw(kiln_arena *a, uint64_t number, uint64_t seed, drawn *d) {
    kiln_rng rng;
    random_schedule_stats stats = {0, 0};
    kiln_err err = {0};
    *d = (drawn){.seed = seed};
    kiln_rng_init(&rng, seed);
    kiln_buf_init(&d->log, a);
    te_examples[number % n_te_examples].make(a, &d->x);
    te_call_prepare(a, &rng, &d->x, &d->c, d->in);
    const kiln_te *const *out = d->x.arg + d->x.n_inputs;
    kiln_schedule *s = random_gpu_schedule(a, &rng, out, d->x.n_args - d->x.n_inputs,
                                           (int)kiln_rng_range(&rng, 0, MAX_PRIMITIVES),
                                           &d->log, &stats);
    const kiln_status st =
        kiln_lower(a, s, d->x.arg, d->x.n_args, d->x.n_inputs, "drawn", &d->p, &err);
    if (st != KILN_OK)
        assert_true(st == KILN_ERR_ARG && err.len > 0);
    return st == KILN_OK;
}

/* ---- any order ------------------------------------------------------------------- */

typedef struct tally {
    int64_t drawn, refused, threads;
} tally;

static void find_launch(void *user, const kiln_stmt *s) {
    bool *found = user;
    *found = *found || s->kind == KILN_STMT_LAUNCH;
}

/* 1: it computes what it should; 0: a pass refuses it by name, or the interpreter, as it
 * has more threads in a block than that and any GPU run; -1: neither. */
static int try_schedule(kiln_arena *a, drawn *d, tally *n) {
    const kiln_loop_options lo = {.max_unroll = 0};
    kiln_err err = {0};
    bool has_launch = false;
    kiln_program *p = d->p;
    if (kiln_program_optimize(p, &lo, &err) != KILN_OK) {
        assert_true(err.len > 0);
        return 0;
    }
    kiln_stmt_visit(p->body, find_launch, &has_launch);
    te_call_evaluate(a, &d->x, d->in, d->want);
    for (uint64_t i = 0; i < ORDERS; i++) {
        const kiln_loop_run_options o = {.seed = i * (d->seed + 1)};
        const kiln_status st = kiln_program_run(a, p, d->c.arg, &o, &err);
        if (st == KILN_ERR_LIMIT)
            return 0;
        if (st != KILN_OK) {
            report(a, d, p, err.text);
            return -1;
        }
        for (int k = 0; k < d->c.n_out; k++)
            if (te_call_differs(a, &d->c.out[k], &d->want[k])) {
                report(a, d, p, "another result");
                return -1;
            }
    }
    n->threads += has_launch;
    return 1;
}

static void in_any_order(void **state) {
    const int64_t n = cases(CASES, SOAK_CASES);
    tally t = {0, 0, 0};
    int64_t n_wrong = 0;
    uint64_t seed = kiln_test_seed() * 1000003u;
    (void)state;
    for (int64_t i = 0; i < n; i++)
        for (int k = 0; k < MAX_DRAWS; k++) {
            kiln_arena a = {0};
            drawn d;
            int done = 0;
            t.drawn++;
            if (draw(&a, (uint64_t)i, seed++, &d))
                done = try_schedule(&a, &d, &t);
            n_wrong += done < 0;
            t.refused += done == 0;
            kiln_arena_fini(&a);
            if (done != 0)
                break;
        }
    kiln_test_tally("%" PRId64 " random schedules of %zu expressions in %d orders, "
                    "%" PRId64 " with threads: %" PRId64 " wrong (%" PRId64
                    " more were refused by name)",
                    t.drawn - t.refused, n_te_examples, ORDERS, t.threads, n_wrong,
                    t.refused);
    assert_int_equal(n_wrong, 0);
    assert_int_equal(t.drawn - t.refused, n);
}

/* ---- one barrier less ------------------------------------------------------------ */

/* False: a pass refuses it by name. */
static bool with_barriers(kiln_program *p) {
    kiln_err err = {0};
    return kiln_loop_pass_vthread.run(p, NULL, &err) == KILN_OK &&
           kiln_loop_pass_double_buffer.run(p, NULL, &err) == KILN_OK &&
           kiln_loop_pass_barriers.run(p, NULL, &err) == KILN_OK;
}

static void find_picked(void *user, const kiln_expr *e) {
    bool *found = user;
    for (int i = 0; e->kind == KILN_EXPR_LOAD && i < e->n_arg; i++)
        *found = *found || (e->u.load.buffer->scope == KILN_SCOPE_SHARED &&
                            kiln_expr_loads(e->arg[i], NULL));
}

static void find_picked_expr(void *user, const kiln_expr *e) {
    kiln_expr_visit(e, find_picked, user);
}

static void find_picked_stmt(void *user, const kiln_stmt *s) {
    kiln_stmt_exprs(s, find_picked_expr, user);
}

/* Shared memory whose readers pick by data: with some data each reads what it has written
 * itself, and misses no barrier. */
static bool is_picked_by_data(const kiln_program *p) {
    bool found = false;
    kiln_stmt_visit(p->body, find_picked_stmt, &found);
    return found;
}

/* Each barrier in turn; returns how many were missed without anybody noticing. */
static int64_t taken_out(kiln_arena *a, const drawn *d, int64_t *n_taken,
                         int64_t most) {
    const int64_t n = kiln_test_barriers(a, d->p->body);
    int64_t n_missed = 0;
    for (int64_t i = 0; i < n && *n_taken < most; i++) {
        const kiln_loop_run_options o = {.seed = d->seed};
        kiln_program less = *d->p;
        kiln_err err = {0};
        less.body = kiln_test_without_barrier(a, d->p->body, i);
        const kiln_status st = kiln_program_run(a, &less, d->c.arg, &o, &err);
        if (st == KILN_ERR_LIMIT) /* of threads: with all barriers, too */
            break;
        ++*n_taken;
        if (st != KILN_OK && kiln_test_is_missed(&err))
            continue;
        report(a, d, d->p, "with all barriers");
        report(a, d, &less, err.len > 0 ? err.text : "nobody misses a barrier");
        n_missed++;
    }
    return n_missed;
}

static void one_barrier_less(void **state) {
    const int64_t n = cases(TAKEN, SOAK_TAKEN);
    int64_t n_taken = 0, n_missed = 0;
    const uint64_t first = kiln_test_seed() * 1000003u;
    (void)state;
    for (uint64_t i = 0; n_taken < n; i++) {
        kiln_arena a = {0};
        drawn d;
        if (draw(&a, i, first + i, &d) && !is_picked_by_data(d.p) && with_barriers(d.p))
            n_missed += taken_out(&a, &d, &n_taken, n);
        kiln_arena_fini(&a);
    }
    kiln_test_tally("%" PRId64 " of %" PRId64 " without a barrier found",
                    n_taken - n_missed, n_taken);
    assert_int_equal(n_missed, 0);
}

int main(void) {
    kiln_test_add("in_any_order", in_any_order, NULL);
    kiln_test_add("one_barrier_less", one_barrier_less, NULL);
    return kiln_test_run("random schedules for GPUs");
}
