/* Random programs of threads: with the barriers of the pass they compute what a serial
 * evaluation does, in any order of threads and after all passes; without any one of them
 * the interpreter finds a race. KILN_SOAK=1: 10,000 programs, 20,000 barriers. */
#include "compiler/loop/loop.h"
#include "tests/support/gpu/support_barriers.h"
#include "tests/support/kiln_test.h"
#include "tests/support/random/random_threads.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CASES = 500, SOAK_CASES = 10000, TAKEN = 500, SOAK_TAKEN = 20000, SEEDS = 3 };

static int64_t cases(int64_t quick, int64_t soak) {
    return getenv("KILN_SOAK") != NULL ? soak : kiln_test_cases(quick);
}

static void report(const random_threads *x, const kiln_program *p, uint64_t seed,
                   const char *what) {
    kiln_arena a = {0};
    kiln_buf text;
    kiln_buf_init(&text, &a);
    kiln_program_print(&text, p);
    fprintf(stderr, "program of seed %" PRIu64 ": %s\n%s\nbecame\n%s\n", seed, what,
            x->text, text.p);
    kiln_arena_fini(&a);
}

static kiln_status run(kiln_arena *a, const random_threads *x, const kiln_program *p,
                       uint64_t seed, int64_t *y, kiln_err *err) {
    const kiln_loop_run_options o = {.seed = seed};
    memset(y, 0, (size_t)x->n * sizeof *y);
    return kiln_program_run(a, p, (void *[]){x->x, y}, &o, err);
}

static bool computes(kiln_arena *a, const random_threads *x, const kiln_program *p,
                     uint64_t seed) {
    int64_t *y = kiln_array(a, int64_t, x->n);
    for (uint64_t i = 0; i < SEEDS; i++) {
        kiln_err err = {0};
        if (run(a, x, p, seed * SEEDS + i, y, &err) != KILN_OK) {
            report(x, p, seed, err.text);
            return false;
        }
        if (memcmp(y, x->want, (size_t)x->n * sizeof *y) != 0) {
            report(x, p, seed, "another result");
            return false;
        }
    }
    return true;
}

static bool with_barriers(const random_threads *x, kiln_program *p, uint64_t seed) {
    kiln_err err = {0};
    *p = *x->program;
    if (kiln_loop_pass_barriers.run(p, NULL, &err) == KILN_OK &&
        kiln_program_verify(p, &err) == KILN_OK)
        return true;
    report(x, p, seed, err.text);
    return false;
}

static bool holds(uint64_t seed) {
    kiln_arena a = {0};
    random_threads x = {0};
    kiln_program p;
    kiln_err err = {0};
    random_threads_make(&a, seed, &x);
    bool ok = with_barriers(&x, &p, seed) && computes(&a, &x, &p, seed);
    kiln_program all = *x.program;
    if (ok && kiln_program_optimize(&all, &(kiln_loop_options){0}, &err) != KILN_OK) {
        report(&x, &all, seed, err.text);
        ok = false;
    }
    ok = ok && computes(&a, &x, &all, seed);
    kiln_arena_fini(&a);
    return ok;
}

static void in_lock_step(void **state) {
    const int64_t n = cases(CASES, SOAK_CASES);
    (void)state;
    for (int64_t i = 0; i < n; i++)
        assert_true(holds(kiln_test_seed() * 1000003u + (uint64_t)i));
    kiln_test_tally("%" PRId64 " random programs of threads, none wrong", n);
}

/* ---- one barrier less ------------------------------------------------------------ */

/* Each barrier of the program in turn; returns how many nobody missed. */
static int64_t taken_out(uint64_t seed, int64_t *n_taken, int64_t most) {
    kiln_arena a = {0};
    random_threads x = {0};
    kiln_program p;
    int64_t n_missed = 0;
    random_threads_make(&a, seed, &x);
    assert_true(with_barriers(&x, &p, seed));
    int64_t *y = kiln_array(&a, int64_t, x.n);
    const int64_t n_barriers = kiln_test_barriers(&a, p.body);
    for (int64_t i = 0; i < n_barriers && *n_taken < most; i++) {
        kiln_program q = p;
        kiln_err err = {0};
        q.body = kiln_test_without_barrier(&a, p.body, i);
        ++*n_taken;
        if (run(&a, &x, &q, seed, y, &err) == KILN_OK) {
            report(&x, &q, seed, "nobody misses a barrier");
            n_missed++;
        } else if (!kiln_test_is_missed(&err)) {
            report(&x, &q, seed, err.text);
            n_missed++;
        }
    }
    kiln_arena_fini(&a);
    return n_missed;
}

static void one_barrier_less(void **state) {
    const int64_t n = cases(TAKEN, SOAK_TAKEN);
    int64_t n_taken = 0, n_missed = 0;
    (void)state;
    for (uint64_t i = 0; n_taken < n; i++)
        n_missed += taken_out(kiln_test_seed() * 1000003u + i, &n_taken, n);
    kiln_test_tally("%" PRId64 " of %" PRId64 " without a barrier found",
                    n_taken - n_missed, n_taken);
    assert_int_equal(n_missed, 0);
}

int main(void) {
    kiln_test_add("in_lock_step", in_lock_step, NULL);
    kiln_test_add("one_barrier_less", one_barrier_less, NULL);
    return kiln_test_run("random programs of threads");
}
