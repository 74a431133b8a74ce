/* Whatever a schedule does, the result stays: random schedules, lowered and
 * interpreted, compute what the tensor expressions say.
 *
 * The tolerance and its reason are in tests/support/kernel/te_call.h. */
#include "compiler/schedule/schedule.h"
#include "tests/support/kiln_test.h"
#include "tests/support/random/random_schedule.h"
#include "tests/support/kernel/te_call.h"

#include <stdio.h>
#include <stdlib.h>

enum { SCHEDULES_EACH = 8, MIN_PRIMITIVES = 4, MAX_PRIMITIVES = 32 };

static void report(kiln_arena *a, const te_example *x, const kiln_buf *log,
                   const kiln_program *p, const kiln_err *err, uint64_t seed) {
    kiln_buf text;
    kiln_buf_init(&text, a);
    kiln_te_print(&text, x->arg + x->n_inputs, x->n_args - x->n_inputs);
    if (p != NULL)
        kiln_program_print(&text, p);
    /* All of it: print_error cuts. */
    fprintf(stderr, "seed %llu\n%.*s\n%s\n%s\n", (unsigned long long)seed,
            KILN_STR_ARG(kiln_buf_str(log)), text.p, err->text);
}

/* One schedule: true when it computes what the expressions say, forwards and with
 * parallel loops backwards. A schedule that lowering refuses by name counts as refused.
 */
static bool try_schedule(kiln_arena *a, const te_example_def *def, uint64_t seed,
                         random_schedule_stats *stats, int *n_lowered) {
    te_example x = {.n_args = 0};
    kiln_rng rng;
    kiln_buf log;
    kiln_err err = {0};
    te_call c = {.n_args = 0};
    kiln_wide in[8], want[8];
    kiln_rng_init(&rng, seed);
    kiln_buf_init(&log, a);
    def->make(a, &x);
    te_call_prepare(a, &rng, &x, &c, in);
    te_call_evaluate(a, &x, in, want);
    kiln_schedule *s = random_schedule(
        a, &rng, x.arg + x.n_inputs, x.n_args - x.n_inputs,
        (int)kiln_rng_range(&rng, MIN_PRIMITIVES, MAX_PRIMITIVES), &log, stats);
    kiln_program *p = NULL;
    const kiln_status st =
        kiln_lower(a, s, x.arg, x.n_args, x.n_inputs, def->name, &p, &err);
    if (st == KILN_ERR_ARG && err.len > 0)
        return true;
    ++*n_lowered;
    for (int backwards = 0; backwards < 2; backwards++) {
        const kiln_loop_run_options o = {.reverse_parallel = backwards != 0};
        bool bad = st != KILN_OK || kiln_program_run(a, p, c.arg, &o, &err) != KILN_OK;
        for (int i = 0; i < c.n_out && !bad; i++)
            bad = te_call_differs(a, &c.out[i], &want[i]);
        if (bad) {
            report(a, &x, &log, p, &err, seed);
            return false;
        }
    }
    return true;
}

static void keeps_its_meaning(void **state) {
    const te_example_def *def = *state;
    random_schedule_stats stats = {0, 0};
    int n_lowered = 0;
    const int64_t wanted = kiln_test_cases(SCHEDULES_EACH);
    const int n = (int)wanted;
    for (int i = 0; i < n; i++) {
        kiln_arena a;
        kiln_arena_init(&a);
        const bool ok = try_schedule(&a, def, kiln_test_seed() * 1000003u + (uint64_t)i,
                                     &stats, &n_lowered);
        kiln_arena_fini(&a);
        assert_true(ok);
    }
    print_message("%s: %d schedules, %d lowered, %d primitives taken, %d refused\n",
                  def->name, n, n_lowered, stats.applied, stats.refused);
    /* Most draws must be schedules, or the property says little. */
    assert_true(n_lowered * 2 > n);
}

int main(void) {
    for (size_t i = 0; i < n_te_examples; i++)
        kiln_test_add(te_examples[i].name, keeps_its_meaning,
                      (void *)(uintptr_t)&te_examples[i]);
    return kiln_test_run("random schedules");
}
