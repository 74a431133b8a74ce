/* How many measurements searches need: XGBoost-guided annealing beside random search on
 * five convolutions of ResNet-18, each measured for real and held against the multiply-
 * add peak beside it. Prints, for each seed, the trials until 95% of the best that any
 * search found, and the geometric mean of the ratios; and before that, how many
 * candidates a second go through lowering, features and prediction.
 *
 * KILN_TRIALS=512 of each search, KILN_SEEDS=3, KILN_OPS=C2,C9 to choose. A search that
 * did not get there counts with all its trials; none is given the template's guess. One
 * thread; about 20 trials a second. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "compiler/tuner/tuner.h"
#include "pipeline/kernels/op_line.h"
#include "tests/support/kiln_test.h"
#include "tests/support/measuring/measure_run.h"

enum { BATCH = 32, MAX_TRIALS = 4096, MAX_SEEDS = 8, N_SEARCHES = 2 };

static const char *const ops[] = {"C2", "C5", "C6", "C9", "C12"};
enum { N_OPS = sizeof ops / sizeof *ops };
static const char *const searches[N_SEARCHES] = {"annealing", "random"};

typedef struct bench {
    kiln_arena arena; /* of one operator */
    kiln_profile profile;
    kiln_measure *pool;
    int measured_work;
    kiln_op_work work;
    kiln_tune_task task;
    kiln_map known; /* bytes of an index to its trial */
    int n_measured, n_failed;
} bench;

/* One search of one seed: its trials in order. */
typedef struct run {
    const kiln_trial *trial[MAX_TRIALS]; /* in `known` */
    int n;
} run;

static int number(const char *name, int otherwise, int most) {
    const char *text = getenv(name);
    int64_t v = otherwise;
    if (text != NULL && (!kiln_parse_i64(kiln_str_from(text), &v) || v < 1 || v > most))
        fail_msg("%s must be a number from 1 to %d, is '%s'", name, most, text);
    return (int)v;
}

/* ---- measuring ------------------------------------------------------------------- */

/* As a cost: what the work would take at the peak, over the share of it. */
static kiln_status measure(bench *b, uint64_t index, double *cost_ns) {
    const kiln_measure_candidate c = {
        .work = b->measured_work, .tmpl = b->task.tmpl, .config = index};
    const double peak_gflops = 2 * (b->profile.vector_bytes / 4.0) * 2 * 3;
    kiln_measured got;
    uint64_t id;
    KILN_TRY(kiln_measure_submit(b->pool, &c, &id, NULL));
    if (!kiln_measure_poll(b->pool, KILN_TEST_PATIENCE_MS, &got) ||
        got.error != KILN_TRIAL_GOOD)
        return KILN_ERR_LIB;
    *cost_ns = (double)b->work.cost.flops / peak_gflops / got.peak_share;
    return KILN_OK;
}

static const kiln_trial *trial_of(bench *b, uint64_t index) {
    const kiln_str key = {(const char *)&index, sizeof index};
    kiln_trial *t = kiln_map_get(&b->known, key);
    if (t != NULL)
        return t;
    t = kiln_new(&b->arena, kiln_trial);
    *t = (kiln_trial){.index = index, .outcome = KILN_OUTCOME_MEASURED};
    if (measure(b, index, &t->cost_ns) != KILN_OK)
        *t = (kiln_trial){.index = index, .outcome = KILN_OUTCOME_NOBUILD};
    b->n_measured++;
    b->n_failed += t->outcome != KILN_OUTCOME_MEASURED;
    kiln_map_set(&b->arena, &b->known, key, t);
    return t;
}

static int by_value(const void *x, const void *y) {
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* What is near the best decides, so it is measured twice more: the median counts, not
 * the luckiest slice of a busy machine. */
static void settle(bench *b) {
    static const double near = 0.85;
    double best = (double)INFINITY;
    for (size_t i = 0; i < b->known.entries.n; i++) {
        const kiln_trial *t = b->known.entries.v[i].value;
        if (t->outcome == KILN_OUTCOME_MEASURED)
            best = fmin(best, t->cost_ns);
    }
    for (size_t i = 0; i < b->known.entries.n; i++) {
        kiln_trial *t = b->known.entries.v[i].value;
        double cost[3] = {t->cost_ns, t->cost_ns, t->cost_ns};
        if (t->outcome != KILN_OUTCOME_MEASURED || best / t->cost_ns < near ||
            measure(b, t->index, &cost[1]) != KILN_OK ||
            measure(b, t->index, &cost[2]) != KILN_OK)
            continue;
        qsort(cost, 3, sizeof *cost, by_value);
        t->cost_ns = cost[1];
    }
}

static void search(bench *b, const char *name, uint64_t seed, int n_trials, run *out) {
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_search *s;
    const kiln_search_options o = {.seed = seed, .without_guess = true};
    const kiln_search_kind *kind = kiln_search_find(kiln_str_from(name));
    kiln_assert_status_ok(kiln_search_new(&a, kind, &b->task, &o, &s, &err), &err);
    while (out->n < n_trials) {
        uint64_t index[BATCH];
        size_t n;
        kiln_assert_status_ok(
            kiln_search_next(s, kiln_search_batch(s), index, &n, &err), &err);
        assert_int_not_equal(n, 0);
        for (size_t i = 0; i < n && out->n < n_trials; i++) {
            const kiln_trial *t = trial_of(b, index[i]);
            kiln_assert_status_ok(kiln_search_report(s, t, &err), &err);
            out->trial[out->n++] = t;
        }
    }
    kiln_arena_fini(&a);
}

/* ---- candidates a second --------------------------------------------------------- */

static double cpu_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Random ones, so none is cached; the model is one of 256 made-up costs. */
static void measure_candidates(bench *b, const char *name) {
    enum { N_FIT = 256, N_ROUNDS = 64, ROWS = 64 };
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_rng rng;
    kiln_rng_init(&rng, 1);
    kiln_candidates *c = kiln_candidates_new(&a, &b->task, &kiln_cost_model_xgboost);
    kiln_sample_set set;
    kiln_sample_set_init(&set, &a, false);
    kiln_trial *t = kiln_array(&a, kiln_trial, N_FIT);
    for (int i = 0; i < N_FIT; i++) {
        const kiln_config x = kiln_config_random(&b->task.space, &rng);
        t[i] = (kiln_trial){kiln_config_index(&b->task.space, &x),
                            KILN_OUTCOME_MEASURED, 1 + kiln_rng_unit(&rng)};
    }
    kiln_sample_set_add(&set, c, t, N_FIT);
    kiln_cost_model m;
    const kiln_samples samples = kiln_sample_set_view(&set);
    kiln_assert_status_ok(
        kiln_cost_model_init(&m, &kiln_cost_model_xgboost, NULL, &err), &err);
    kiln_assert_status_ok(kiln_cost_model_fit(&m, &samples, &err), &err);
    kiln_encoding_list rows = {.begin = {0}};
    float score[ROWS];
    const double begin = cpu_s();
    size_t n = 0;
    for (int round = 0; round < N_ROUNDS; round++) {
        kiln_encoding_list_clear(&rows);
        for (size_t i = 0; i < ROWS; n++) {
            const kiln_config x = kiln_config_random(&b->task.space, &rng);
            const kiln_encoding *e =
                kiln_candidates_encoding(c, kiln_config_index(&b->task.space, &x));
            if (e == NULL)
                continue;
            kiln_encoding_list_add(&a, &rows, e->bytes);
            i++;
        }
        const kiln_encodings all = kiln_encoding_list_view(&rows);
        kiln_assert_status_ok(kiln_cost_model_predict(&m, &all, NULL, score, &err),
                              &err);
    }
    printf("  %s: %.0f candidates a second, refused ones included\n", name,
           (double)n / (cpu_s() - begin));
    kiln_cost_model_fini(&m);
    kiln_arena_fini(&a);
}

/* ---- the table ------------------------------------------------------------------- */

static double cost_of(const kiln_trial *t) {
    return t->outcome == KILN_OUTCOME_MEASURED ? t->cost_ns : (double)INFINITY;
}

static double least(const run *r) {
    double best = (double)INFINITY;
    for (int i = 0; i < r->n; i++)
        best = fmin(best, cost_of(r->trial[i]));
    return best;
}

static int trials_to(const run *r, double cost) {
    for (int i = 0; i < r->n; i++)
        if (cost_of(r->trial[i]) <= cost)
            return i + 1;
    return r->n;
}

static bool is_chosen(const char *name) {
    const char *chosen = getenv("KILN_OPS");
    kiln_str rest = kiln_str_from(chosen), head;
    if (chosen == NULL)
        return true;
    while (kiln_str_cut(&rest, ',', &head))
        if (kiln_str_is(head, name))
            return true;
    return false;
}

static void open_task(bench *b, const char *name) {
    kiln_err err = {0};
    kiln_op_lines lines;
    kiln_assert_status_ok(kiln_op_lines_read(&b->arena, "resnet18", &lines, &err),
                          &err);
    for (size_t i = 0; i < lines.list.n; i++)
        if (strcmp(lines.list.v[i].name, name) == 0)
            kiln_assert_status_ok(
                kiln_op_work_make(&b->arena, &lines.list.v[i], &b->work, &err), &err);
    kiln_assert_status_ok(kiln_tune_task_make(&b->arena, &b->work.workload, &b->profile,
                                              NULL, &b->task, &err),
                          &err);
    kiln_assert_status_ok(
        kiln_measure_add_work(b->pool, b->work.graph, false, &b->measured_work, &err),
        &err);
}

/* The sum of log(guided / random) over the seeds. */
static double compare(bench *b, const char *name, int n_trials, int n_seeds) {
    run *r = kiln_array(&b->arena, run, N_SEARCHES * n_seeds);
    double best = (double)INFINITY, sum = 0;
    for (int i = 0; i < N_SEARCHES * n_seeds; i++)
        search(b, searches[i % N_SEARCHES], (uint64_t)(i / N_SEARCHES) + 1, n_trials,
               &r[i]);
    settle(b);
    for (int i = 0; i < N_SEARCHES * n_seeds; i++)
        best = fmin(best, least(&r[i]));
    for (int i = 0; i < n_seeds; i++) {
        const run *guided = &r[N_SEARCHES * i], *random = guided + 1;
        const int g = trials_to(guided, best / 0.95),
                  n = trials_to(random, best / 0.95);
        printf("  %-4s seed %d: annealing %4d trials, best %.3f; random %4d, %.3f\n",
               name, i + 1, g, best / least(guided), n, best / least(random));
        sum += log((double)g / n);
    }
    return sum;
}

static void tuner(void **state) {
    static bench b;
    (void)state;
    kiln_err err = {0};
    kiln_arena *a = kiln_test_arena();
    const int n_trials = number("KILN_TRIALS", 256, MAX_TRIALS);
    const int n_seeds = number("KILN_SEEDS", 3, MAX_SEEDS);
    double sum = 0;
    int n = 0;
    kiln_assert_status_ok(kiln_profile_detect(a, &b.profile, &err), &err);
    kiln_measure_options o = {.profile = &b.profile,
                              .threads = 1,
                              .loser = -1,
                              .measures_spilling = true,
                              .budget_ms = 7};
    b.pool = kiln_test_measure_open(a, &o);
    for (int i = 0; i < N_OPS; i++) {
        if (!is_chosen(ops[i]))
            continue;
        open_task(&b, ops[i]);
        printf("%s: %s, %.3g configurations\n", ops[i], b.task.tmpl->name,
               (double)b.task.space.size);
        measure_candidates(&b, ops[i]);
        const double begin = cpu_s();
        b.n_measured = b.n_failed = 0;
        sum += compare(&b, ops[i], n_trials, n_seeds);
        n += n_seeds;
        printf("  %d measured (%d failed), %.1f a second of processor time\n",
               b.n_measured, b.n_failed, b.n_measured / (cpu_s() - begin));
        kiln_arena_fini(&b.arena);
        b.known = (kiln_map){0};
    }
    if (n > 0)
        printf("annealing needs %.2f of random's trials (geometric mean)\n",
               exp(sum / n));
    kiln_measure_close(b.pool);
}

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    kiln_test_add("tuner", tuner, NULL);
    return kiln_test_run("tuner");
}
