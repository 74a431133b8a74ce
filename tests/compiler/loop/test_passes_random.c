/* Every loop pass keeps the meaning of every program: random schedules, lowered, run by
 * the interpreter and verified after each pass.
 *
 * The tolerance and its reason are in tests/support/kernel/te_call.h. */
#include "compiler/schedule/schedule.h"
#include "tests/support/kiln_test.h"
#include "tests/support/random/random_schedule.h"
#include "tests/support/kernel/te_call.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCHEDULES_EACH = 5, MIN_PRIMITIVES = 4, MAX_PRIMITIVES = 32 };

typedef struct trial {
    kiln_arena *a;
    te_example x;
    te_call call;
    kiln_wide in[8], want[8];
    kiln_buf log;
    uint64_t seed;
} trial;

static void report(trial *t, const kiln_program *before, const kiln_program *p,
                   const char *pass, const kiln_err *err) {
    kiln_buf text;
    kiln_buf_init(&text, t->a);
    if (before != NULL) {
        kiln_program_print(&text, before);
        kiln_buf_puts(&text, "becomes\n");
    }
    kiln_program_print(&text, p);
    fprintf(stderr, "seed %llu, after %s\n%.*s\n%s\n%s\n", (unsigned long long)t->seed,
            pass, KILN_STR_ARG(kiln_buf_str(&t->log)), text.p, err->text);
}

/* Runs twice, parallel loops backwards the second time. */
static bool computes(trial *t, const kiln_program *p, kiln_err *err) {
    for (int backwards = 0; backwards < 2; backwards++) {
        const kiln_loop_run_options o = {.reverse_parallel = backwards != 0};
        for (int i = 0; i < t->call.n_out; i++) {
            unsigned char *bytes = t->call.out[i].data;
            for (int64_t b = 0; b < kiln_type_bytes(&t->call.out[i].type); b++)
                bytes[b] = 0xFF;
        }
        if (kiln_program_run(t->a, p, t->call.arg, &o, err) != KILN_OK)
            return false;
        for (int i = 0; i < t->call.n_out; i++)
            if (te_call_differs(t->a, &t->call.out[i], &t->want[i]))
                return false;
    }
    return true;
}

/* Memory of one thread that two launches would have to share is refused by name. */
static bool is_refused(const kiln_loop_pass *pass, const kiln_err *err) {
    return pass == &kiln_loop_pass_outline &&
           strstr(err->text, "allocated by the host and used by a launch") != NULL;
}

static bool try_passes(trial *t, kiln_program *p, const kiln_loop_options *o,
                       int64_t *n_refused) {
    kiln_err err = {0};
    if (kiln_program_verify(p, &err) != KILN_OK) {
        report(t, NULL, p, "lowering", &err);
        return false;
    }
    for (int i = 0; kiln_loop_pass_at(i) != NULL; i++) {
        const kiln_loop_pass *pass = kiln_loop_pass_at(i);
        const kiln_program before = *p;
        const bool is_done = pass->run(p, o, &err) == KILN_OK;
        if (!is_done && is_refused(pass, &err)) {
            ++*n_refused;
            return true;
        }
        if (!is_done || kiln_program_verify(p, &err) != KILN_OK ||
            !computes(t, p, &err)) {
            report(t, &before, p, pass->name, &err);
            return false;
        }
    }
    return true;
}

static bool try_schedule(kiln_arena *a, const te_example_def *def, uint64_t seed,
                         int64_t *n_refused) {
    random_schedule_stats stats = {0, 0};
    trial t = {.a = a, .seed = seed};
    kiln_rng rng;
    kiln_err err = {0};
    kiln_rng_init(&rng, seed);
    kiln_buf_init(&t.log, a);
    def->make(a, &t.x);
    te_call_prepare(a, &rng, &t.x, &t.call, t.in);
    te_call_evaluate(a, &t.x, t.in, t.want);
    kiln_schedule *s = random_schedule(
        a, &rng, t.x.arg + t.x.n_inputs, t.x.n_args - t.x.n_inputs,
        (int)kiln_rng_range(&rng, MIN_PRIMITIVES, MAX_PRIMITIVES), &t.log, &stats);
    kiln_program *p = NULL;
    if (kiln_lower(a, s, t.x.arg, t.x.n_args, t.x.n_inputs, def->name, &p, &err) !=
        KILN_OK) {
        ++*n_refused; /* test_random_schedules looks at these */
        return true;
    }
    const kiln_loop_options o = {
        .keep_large_loops = true,
        .keep_guards = kiln_rng_range(&rng, 0, 3) == 0,
        .max_unroll = kiln_rng_range(&rng, 0, 1) == 0 ? 64 : 0,
        .max_vector_lanes = kiln_rng_range(&rng, 0, 2) == 0 ? 4 : 0,
    };
    return try_passes(&t, p, &o, n_refused);
}

static void keeps_its_meaning(void **state) {
    const te_example_def *def = *state;
    const int64_t wanted = kiln_test_cases(SCHEDULES_EACH);
    int64_t n_refused = 0;
    for (int64_t i = 0; i < wanted; i++) {
        kiln_arena a;
        kiln_arena_init(&a);
        const bool ok = try_schedule(&a, def, kiln_test_seed() * 1000003u + (uint64_t)i,
                                     &n_refused);
        kiln_arena_fini(&a);
        assert_true(ok);
    }
    print_message("%" PRId64 " of %" PRId64 " refused\n", n_refused, wanted);
    /* Half of the draws must be lowered, or the property says little. */
    assert_true(n_refused * 2 <= wanted);
}

int main(void) {
    for (size_t i = 0; i < n_te_examples; i++)
        kiln_test_add(te_examples[i].name, keeps_its_meaning,
                      (void *)(uintptr_t)&te_examples[i]);
    return kiln_test_run("loop passes on random schedules");
}
