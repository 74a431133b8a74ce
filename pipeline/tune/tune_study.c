/* Searches and models beside each other on one corpus: how many trials until 95% of the
 * best, and what a model of the other works would choose without any. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/tune/corpus_internal.h"

enum { N_TEACHERS = 3, TRANSFER_FROM = 6, TRANSFER_TO = 9 };

typedef struct way {
    const char *name;
    const kiln_search_kind *search;
    const kiln_cost_model_kind *model; /* NULL: the search has none */
    kiln_acquisition acquisition;
    kiln_teaching teaching;
    kiln_objective objective;
    double diversity; /* 0: the search's own; below: none */
} way;

static const way ways[] = {
    {"random", &kiln_search_random, NULL, KILN_ACQUIRE_MEAN, KILN_NOT_TAUGHT,
     KILN_OBJECTIVE_RANK, 0},
    {"grid", &kiln_search_grid, NULL, KILN_ACQUIRE_MEAN, KILN_NOT_TAUGHT,
     KILN_OBJECTIVE_RANK, 0},
    {"genetic", &kiln_search_genetic, NULL, KILN_ACQUIRE_MEAN, KILN_NOT_TAUGHT,
     KILN_OBJECTIVE_RANK, 0},
    {"droplet", &kiln_search_droplet, NULL, KILN_ACQUIRE_MEAN, KILN_NOT_TAUGHT,
     KILN_OBJECTIVE_RANK, 0},
    {"random model", &kiln_search_annealing, &kiln_cost_model_random, KILN_ACQUIRE_MEAN,
     KILN_NOT_TAUGHT, KILN_OBJECTIVE_RANK, 0},
    {"knobs", &kiln_search_annealing, &kiln_cost_model_knobs, KILN_ACQUIRE_MEAN,
     KILN_NOT_TAUGHT, KILN_OBJECTIVE_RANK, 0},
    {"xgboost", &kiln_search_annealing, &kiln_cost_model_xgboost, KILN_ACQUIRE_MEAN,
     KILN_NOT_TAUGHT, KILN_OBJECTIVE_RANK, 0},
    {"treegru", &kiln_search_annealing, &kiln_cost_model_treegru, KILN_ACQUIRE_MEAN,
     KILN_NOT_TAUGHT, KILN_OBJECTIVE_RANK, 0},
    {"xgboost, regression", &kiln_search_annealing, &kiln_cost_model_xgboost,
     KILN_ACQUIRE_MEAN, KILN_NOT_TAUGHT, KILN_OBJECTIVE_REGRESSION, 0},
    {"xgboost, not diverse", &kiln_search_annealing, &kiln_cost_model_xgboost,
     KILN_ACQUIRE_MEAN, KILN_NOT_TAUGHT, KILN_OBJECTIVE_RANK, -1},
    {"bootstrap, mean", &kiln_search_annealing, &kiln_cost_model_bootstrap,
     KILN_ACQUIRE_MEAN, KILN_NOT_TAUGHT, KILN_OBJECTIVE_RANK, 0},
    {"bootstrap, bound", &kiln_search_annealing, &kiln_cost_model_bootstrap,
     KILN_ACQUIRE_UPPER_BOUND, KILN_NOT_TAUGHT, KILN_OBJECTIVE_RANK, 0},
    {"bootstrap, improvement", &kiln_search_annealing, &kiln_cost_model_bootstrap,
     KILN_ACQUIRE_IMPROVEMENT, KILN_NOT_TAUGHT, KILN_OBJECTIVE_RANK, 0},
    {"xgboost, taught", &kiln_search_annealing, &kiln_cost_model_xgboost,
     KILN_ACQUIRE_MEAN, KILN_TAUGHT_EQUALLY, KILN_OBJECTIVE_RANK, 0},
    {"xgboost, taught by near", &kiln_search_annealing, &kiln_cost_model_xgboost,
     KILN_ACQUIRE_MEAN, KILN_TAUGHT_BY_NEAR, KILN_OBJECTIVE_RANK, 0},
    {"xgboost, by an ensemble", &kiln_search_annealing, &kiln_cost_model_xgboost,
     KILN_ACQUIRE_MEAN, KILN_TAUGHT_BY_ENSEMBLE, KILN_OBJECTIVE_RANK, 0},
    {"treegru, taught", &kiln_search_annealing, &kiln_cost_model_treegru,
     KILN_ACQUIRE_MEAN, KILN_TAUGHT_EQUALLY, KILN_OBJECTIVE_RANK, 0},
};
enum { N_WAYS = sizeof ways / sizeof ways[0] };

/* ---- with trials ----------------------------------------------------------------- */

static int by_size(const void *x, const void *y) {
    const int a = *(const int *)x, b = *(const int *)y;
    return a < b ? -1 : a > b;
}

static double median_of(int *v, int n) {
    if (n == 0)
        return 0;
    qsort(v, (size_t)n, sizeof *v, by_size);
    const int middle = n / 2;
    return n % 2 == 1 ? v[middle] : 0.5 * (v[middle - 1] + v[middle]);
}

/* Of all replays of one way. */
static void sum_up(kiln_arena *a, const kiln_replay *r, const double *best_ns, int n,
                   kiln_study_row *out) {
    int *trials = kiln_array(a, int, n);
    double n_slow = 0, whole = 0, run = 0;
    out->n = n;
    for (int k = 0; k < KILN_N_REACHED; k++) {
        double sum = 0;
        for (int i = 0; i < n; i++) {
            trials[i] = r[i].n_trials[k];
            sum += log((double)trials[i]);
        }
        out->trials[k] = exp(sum / n);
        out->median[k] = median_of(trials, n);
    }
    for (int k = 0; k < KILN_N_LOOKS; k++) {
        double sum = 0;
        for (int i = 0; i < n; i++)
            sum +=
                log(best_ns[i] / (r[i].after_ns[k] > 0 ? r[i].after_ns[k] : HUGE_VAL));
        out->after[k] = exp(sum / n);
    }
    for (int i = 0; i < n; i++) {
        out->n_there += r[i].is_there[1];
        n_slow += r[i].n_slow;
        whole += r[i].whole_ns / best_ns[i];
        run += r[i].run_ns / best_ns[i];
    }
    out->slow = n_slow / n / kiln_replay_looks[KILN_N_LOOKS - 1];
    out->saved = whole > 0 ? 1 - run / whole : 0;
}

/* All replays of one work. Teachers differ by seed, too: one alone may be lucky. */
static kiln_status replay_work(const kiln_corpus *c, size_t pupil, const way *w,
                               const kiln_corpus_lessons *l, int n_seeds,
                               kiln_replay *out, kiln_err *err) {
    kiln_status st = KILN_OK;
    for (int k = 0; st == KILN_OK && k < N_TEACHERS && k < n_seeds; k++) {
        kiln_cost_model teacher = {.kind = NULL};
        if (w->teaching != KILN_NOT_TAUGHT)
            st = kiln_corpus_teach(c, l, pupil, w->teaching, (uint64_t)k + 1, &teacher,
                                   err);
        for (int i = k; st == KILN_OK && i < n_seeds; i += N_TEACHERS) {
            const kiln_search_options o = {
                .seed = (uint64_t)i + 1,
                .model = w->model,
                .model_options = {.objective = w->objective},
                .acquisition = w->acquisition,
                .diversity = w->diversity,
                .global = w->teaching != KILN_NOT_TAUGHT ? &teacher : NULL};
            st = kiln_corpus_replay(&c->work.v[pupil], w->search, &o, 0, &out[i], err);
            if (st == KILN_OK)
                st = kiln_interrupt_check(err);
        }
        kiln_cost_model_fini(&teacher);
    }
    return st;
}

/* Of the works from `from` on, up to `to`, taught by the first n_teaching. */
static kiln_status compare_way(kiln_arena *a, const kiln_corpus *c, const way *w,
                               size_t n_teaching, size_t from, size_t to, int n_seeds,
                               kiln_study_row *row, kiln_err *err) {
    kiln_corpus_lessons l = {.kind = w->model};
    if (w->teaching != KILN_NOT_TAUGHT)
        kiln_corpus_lessons_of(a, c, w->model, &l);
    l.n_teaching = n_teaching;
    const size_t most = (to - from) * (size_t)n_seeds;
    kiln_replay *r = kiln_array(a, kiln_replay, most);
    double *best_ns = kiln_array(a, double, most);
    size_t n = 0;
    *row = (kiln_study_row){.name = w->name};
    for (size_t i = from; i < to; i++) {
        kiln_progress_step(w->name, "works", (double)(i - from), (double)(to - from),
                           c->work.v[i].name);
        KILN_TRY(replay_work(c, i, w, &l, n_seeds, r + n, err));
        for (int k = 0; k < n_seeds; k++)
            best_ns[n++] = c->work.v[i].best.cost_ns;
    }
    sum_up(a, r, best_ns, (int)n, row);
    return KILN_OK;
}

static bool is_wanted(const char *only, int i) {
    return only == NULL || strcmp(only, ways[i].name) == 0;
}

/* The experiment of AutoTVM's figure 8: what C1 to C6 say of C7 to C9. */
kiln_status kiln_corpus_transfer(kiln_arena *a, const kiln_corpus *c, int n_seeds,
                                 const char *only, kiln_study *out, kiln_err *err) {
    if (c->work.n <= TRANSFER_TO)
        return KILN_OK;
    for (int i = 0; i < N_WAYS; i++) {
        kiln_study_row row;
        if ((ways[i].model != &kiln_cost_model_xgboost &&
             ways[i].model != &kiln_cost_model_treegru) ||
            ways[i].objective != KILN_OBJECTIVE_RANK || ways[i].diversity < 0 ||
            !is_wanted(only, i))
            continue;
        KILN_TRY(compare_way(a, c, &ways[i], TRANSFER_FROM, TRANSFER_FROM, TRANSFER_TO,
                             n_seeds, &row, err));
        kiln_vec_push(a, &out->transfer, row);
    }
    return KILN_OK;
}

/* ---- without trials -------------------------------------------------------------- */

static kiln_status predict(const kiln_corpus_work *w, const kiln_cost_model *m,
                           kiln_study_work *out, kiln_err *err) {
    kiln_arena a = {0};
    kiln_lesson all;
    kiln_trial top = {.cost_ns = 0};
    size_t n_pairs = 0;
    kiln_corpus_lesson(&a, w, m->kind, 0, KILN_CORPUS_LESSON, &all);
    float *score = kiln_array(&a, float, all.encoding.n + 1);
    kiln_status st = kiln_cost_model_predict(m, &all.encoding, NULL, score, err);
    if (st == KILN_OK)
        st = kiln_corpus_predict(w, m, &top, err);
    *out = (kiln_study_work){
        .name = w->name,
        .n_recorded = w->n_recorded,
        .best_ns = w->best.cost_ns,
        .rule_ns = w->rule.outcome == KILN_OUTCOME_MEASURED ? w->rule.cost_ns : 0,
        .predicted_ns = top.cost_ns,
        .accuracy = kiln_pairs_in_order(all.cost_ns, score, all.encoding.n, &n_pairs)};
    kiln_arena_fini(&a);
    return st;
}

kiln_status kiln_corpus_without_trials(kiln_arena *a, const kiln_corpus *c,
                                       kiln_study *out, kiln_err *err) {
    /* One set of trees for the table; for what a build would go by, what it asks. */
    const kiln_cost_model_kind *kind = &kiln_cost_model_xgboost;
    kiln_corpus_lessons l;
    double gain = 0;
    int n = 0;
    if (c->work.n < 2)
        return KILN_OK;
    kiln_corpus_lessons_of(a, c, kind, &l);
    for (size_t i = 0; i < c->work.n; i++) {
        kiln_cost_model teacher;
        kiln_study_work w;
        KILN_TRY(kiln_corpus_teach(c, &l, i, KILN_TAUGHT_EQUALLY, 0, &teacher, err));
        const kiln_status st = predict(&c->work.v[i], &teacher, &w, err);
        kiln_cost_model_fini(&teacher);
        if (st != KILN_OK)
            return st;
        kiln_vec_push(a, &out->work, w);
        if (w.rule_ns > 0) {
            gain += log(w.rule_ns / w.predicted_ns);
            n++;
        }
    }
    out->gain = n > 0 ? exp(gain / n) : 1;
    return kiln_held_out_score(kiln_tune_teacher_of(kind), NULL, l.lesson, c->work.n,
                               &out->held_out, err);
}

kiln_status kiln_corpus_compare(kiln_arena *a, const kiln_corpus *c, int n_seeds,
                                const char *only, kiln_study *out, kiln_err *err) {
    kiln_study s = {.gain = 1};
    for (int i = 0; i < N_WAYS; i++) {
        kiln_study_row row;
        if (!is_wanted(only, i) ||
            (c->work.n < 2 && ways[i].teaching != KILN_NOT_TAUGHT))
            continue;
        KILN_TRY(
            compare_way(a, c, &ways[i], c->work.n, 0, c->work.n, n_seeds, &row, err));
        kiln_vec_push(a, &s.row, row);
    }
    if (only == NULL) {
        KILN_TRY(kiln_corpus_models(a, c, NULL, &s, err));
        KILN_TRY(kiln_corpus_transfer(a, c, n_seeds, NULL, &s, err));
        KILN_TRY(kiln_corpus_without_trials(a, c, &s, err));
    }
    *out = s;
    return KILN_OK;
}
