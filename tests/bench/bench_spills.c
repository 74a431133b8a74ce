/* How many configurations spill registers, and how well that is told from the loop program:
 * random ones of C1 to C12 of ResNet-18, of MobileNet's and DeepLab's depthwise
 * convolutions, by every template that takes them, for AVX2 and AVX-512. And how many of
 * a search's trials spill, with that and without: kernels are made, costs are those of
 * the cycle model. Nothing is run.
 *
 * KILN_TRIALS=32 of each, KILN_OPS=C2,D1 to choose, KILN_PROFILE=x86-avx2, KILN_EACH=1
 * prints each random one, KILN_SEARCHES=1 leaves these out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "compiler/network/network_kernel.h"
#include "compiler/schedule/cycles.h"
#include "pipeline/kernels/op_line.h"
#include "pipeline/tune/tune_internal.h"
#include "tests/support/measuring/env_of_bench.h"
#include "tests/support/kiln_test.h"

static const char *const deeplab[] = {
    "dw L1 h=257 c=32 k=3",     "dw L2 h=257 c=96 k=3 s=2", "dw L3 h=129 c=144 k=3",
    "dw L4 h=65 c=192 k=3",     "dw L5 h=33 c=384 k=3",     "dw L6 h=33 c=576 k=3 d=2",
    "dw L7 h=33 c=960 k=3 d=2",
};
enum { N_DEEPLAB = sizeof deeplab / sizeof *deeplab };

static int spills_of(const kiln_op_work *w, const kiln_tune_task *t,
                     const kiln_config *c) {
    kiln_arena a = {0};
    kiln_kernel k;
    kiln_hot_loops loops = {.spills = -1};
    const kiln_choice choice = {
        .tmpl = t->tmpl, .space = t->space, .config = *c, .origin = KILN_ORIGIN_FILE};
    if (kiln_kernel_make_listed(&a, w, &choice, t->profile, &k, NULL) == KILN_OK)
        (void)kiln_kernel_loops(&a, &k, t->profile, &loops, NULL);
    kiln_arena_fini(&a);
    return loops.spills;
}

/* ---- searches -------------------------------------------------------------------- */

/* As the cycle model has it. */
static double cycles_of(const kiln_tune_task *t, uint64_t index) {
    kiln_arena a = {0};
    kiln_scheduled s;
    kiln_program *p;
    double all = 1e9;
    const kiln_config c = kiln_config_at(&t->space, index);
    if (kiln_template_apply(&a, t->tmpl, t->work, t->profile, &t->space, &c, &s,
                            NULL) == KILN_OK &&
        kiln_lower(&a, s.schedule, s.te.arg, s.te.n_args, s.te.n_inputs, "k", &p,
                   NULL) == KILN_OK)
        all = kiln_cycles_of_program(&a, t->profile, p, NULL, 1).all;
    kiln_arena_fini(&a);
    return all > 1 ? all : 1;
}

typedef struct outcome {
    int n, spilled, refused;
    double best, ms;
    uint64_t foreseen;
} outcome;

static outcome search(const kiln_op_work *w, const kiln_tune_task *t, int n,
                      double most_spills) {
    enum { TURN = 8 };
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_search *s;
    outcome out = {.n = 0};
    const kiln_search_options o = {.seed = 1, .most_spills = most_spills};
    kiln_assert_status_ok(kiln_search_new(&a, &kiln_search_annealing, t, &o, &s, &err),
                          &err);
    while (out.n < n) {
        uint64_t index[TURN];
        size_t got;
        const double begin = kiln_bench_thread_s();
        kiln_assert_status_ok(kiln_search_next(s, TURN, index, &got, &err), &err);
        out.ms += (kiln_bench_thread_s() - begin) * 1e3;
        if (got == 0)
            break;
        for (size_t i = 0; i < got; i++, out.n++) {
            const kiln_config c = kiln_config_at(&t->space, index[i]);
            const int spills = spills_of(w, t, &c);
            const kiln_trial x = {index[i],
                                  spills < 0   ? KILN_OUTCOME_NOBUILD
                                  : spills > 0 ? KILN_OUTCOME_SPILLS
                                               : KILN_OUTCOME_MEASURED,
                                  cycles_of(t, index[i])};
            out.spilled += spills > 0;
            out.refused += spills < 0;
            if (spills == 0 && (out.best <= 0 || x.cost_ns < out.best))
                out.best = x.cost_ns;
            kiln_assert_status_ok(kiln_search_report(s, &x, &err), &err);
        }
    }
    out.foreseen = kiln_search_count(s).n_foreseen;
    kiln_arena_fini(&a);
    return out;
}

static outcome total[2];

static void add(outcome *sum, const outcome *o) {
    sum->n += o->n;
    sum->spilled += o->spilled;
    sum->refused += o->refused;
    sum->ms += o->ms;
    sum->foreseen += o->foreseen;
}

static void compare(const char *profile, const kiln_op_work *w, const kiln_tune_task *t,
                    int n) {
    const outcome x = search(w, t, n, -1), y = search(w, t, n, 0);
    add(&total[0], &x);
    add(&total[1], &y);
    printf(
        "%-11s %-4s %-14s of %2d, %2d spill, %d refused, best %.4g; foreseen: of %2d, "
        "%2d spill, %d refused, best %.4g; %.1f looks and %.1f ms each, not %.1f ms\n",
        profile, w->name, t->tmpl->name, x.n, x.spilled, x.refused, x.best, y.n,
        y.spilled, y.refused, y.best, (double)y.foreseen / y.n, y.ms / y.n, x.ms / x.n);
}

/* ---- random ones ----------------------------------------------------------------- */

static void look(const char *profile, const kiln_op_work *w, const kiln_tune_task *t,
                 int n) {
    kiln_rng rng;
    int made = 0, spilled = 0, told = 0, kept = 0, kept_spilled = 0;
    kiln_rng_init(&rng, 1);
    for (int i = 0; i < 64 * n && made < n; i++) {
        const kiln_config c = kiln_config_random(&t->space, &rng);
        kiln_arena scratch = {0};
        kiln_registers wants;
        const bool is_taken =
            kiln_tune_registers(&scratch, t, kiln_config_index(&t->space, &c), &wants);
        kiln_arena_fini(&scratch);
        if (!is_taken)
            continue;
        const int spills = spills_of(w, t, &c);
        if (spills < 0)
            continue;
        const bool fits =
            wants.vectors <= t->profile->vector_registers && wants.guards == 0;
        made++;
        spilled += spills > 0;
        told += (spills > 0) != fits;
        kept += fits;
        kept_spilled += fits && spills > 0;
        if (getenv("KILN_EACH") != NULL)
            printf("each %s %s %s %d %d %d %s\n", profile, w->name, t->tmpl->name,
                   wants.vectors, wants.guards, spills,
                   kiln_tune_index_text(kiln_test_arena(), t,
                                        kiln_config_index(&t->space, &c)));
    }
    printf("%-11s %-4s %-14s %3d made, %3d spill; told of %3d; %3d fit, of which %3d "
           "spill\n",
           profile, w->name, t->tmpl->name, made, spilled, told, kept, kept_spilled);
}

static void look_at_line(const char *name, const kiln_op_line *line, bool is_search) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_profile profile;
    kiln_op_work w;
    kiln_tune_templates all = {.n = 0};
    if (!kiln_bench_is_chosen(line->name))
        return;
    kiln_assert_status_ok(kiln_profile_find(a, name, &profile, &err), &err);
    kiln_assert_status_ok(kiln_op_work_make(a, line, &w, &err), &err);
    kiln_assert_status_ok(kiln_tune_templates_of(a, &w, &profile, NULL, &all, &err),
                          &err);
    for (size_t k = 0; k < all.n; k++) {
        kiln_tune_task t;
        kiln_assert_status_ok(kiln_tune_space(a, &w, &profile, all.v[k], &t, &err),
                              &err);
        if (is_search)
            compare(name, &w, &t, kiln_bench_number("KILN_TRIALS", 32));
        else
            look(name, &w, &t, kiln_bench_number("KILN_TRIALS", 32));
    }
}

static void look_at_all(bool is_search) {
    static const char *const lists[] = {"resnet18", "mobilenet"};
    static const char *const profiles[] = {"x86-avx2", "x86-avx512"};
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_op_lines lines = {.list = {.n = 0}};
    for (int i = 0; i < 2; i++) {
        kiln_op_lines some;
        kiln_assert_status_ok(kiln_op_lines_read(a, lists[i], &some, &err), &err);
        for (size_t k = 0; k < some.list.n; k++)
            if (some.list.v[k].name[0] != 'P')
                kiln_vec_push(a, &lines.list, some.list.v[k]);
    }
    for (int i = 0; i < N_DEEPLAB; i++) {
        kiln_op_line line;
        kiln_assert_status_ok(kiln_op_line_of(a, deeplab[i], &line, &err), &err);
        kiln_vec_push(a, &lines.list, line);
    }
    for (int p = 0; p < 2; p++) {
        const char *only = getenv("KILN_PROFILE");
        for (size_t i = 0; i < lines.list.n; i++)
            if (only == NULL || strcmp(only, profiles[p]) == 0)
                look_at_line(profiles[p], &lines.list.v[i], is_search);
    }
}

static void random_ones(void **state) {
    (void)state;
    if (getenv("KILN_SEARCHES") == NULL)
        look_at_all(false);
}

static void searches(void **state) {
    (void)state;
    look_at_all(true);
    for (int i = 0; i < 2; i++)
        printf("%s: of %d trials %d spill, %d are refused; %.2f looks, %.2f ms each\n",
               i == 0 ? "without" : "foreseen", total[i].n, total[i].spilled,
               total[i].refused, (double)total[i].foreseen / total[i].n,
               total[i].ms / total[i].n);
}

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    kiln_test_add("random", random_ones, NULL);
    kiln_test_add("searches", searches, NULL);
    return kiln_test_run("spills");
}
