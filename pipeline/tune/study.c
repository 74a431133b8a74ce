/* Searches and models beside each other on one corpus: how many trials until 95% of the
 * best, and what a model of the other works would choose without any. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/tune/corpus_internal.h"

enum { LESSON = 128 };

typedef struct way {
    const char *name;
    const kiln_search_kind *search;
    const kiln_cost_model_kind *model; /* NULL: the search has none */
    kiln_acquisition acquisition;
    bool is_taught; /* by the other works */
} way;

static const way ways[] = {
    {"random", &kiln_search_random, NULL, KILN_ACQUIRE_MEAN, false},
    {"grid", &kiln_search_grid, NULL, KILN_ACQUIRE_MEAN, false},
    {"genetic", &kiln_search_genetic, NULL, KILN_ACQUIRE_MEAN, false},
    {"droplet", &kiln_search_droplet, NULL, KILN_ACQUIRE_MEAN, false},
    {"random model", &kiln_search_annealing, &kiln_cost_model_random, KILN_ACQUIRE_MEAN,
     false},
    {"knobs", &kiln_search_annealing, &kiln_cost_model_knobs, KILN_ACQUIRE_MEAN, false},
    {"xgboost", &kiln_search_annealing, &kiln_cost_model_xgboost, KILN_ACQUIRE_MEAN,
     false},
    {"bootstrap, mean", &kiln_search_annealing, &kiln_cost_model_bootstrap,
     KILN_ACQUIRE_MEAN, false},
    {"bootstrap, bound", &kiln_search_annealing, &kiln_cost_model_bootstrap,
     KILN_ACQUIRE_UPPER_BOUND, false},
    {"bootstrap, improvement", &kiln_search_annealing, &kiln_cost_model_bootstrap,
     KILN_ACQUIRE_IMPROVEMENT, false},
    {"xgboost, taught", &kiln_search_annealing, &kiln_cost_model_xgboost,
     KILN_ACQUIRE_MEAN, true},
};
enum { N_WAYS = sizeof ways / sizeof ways[0] };

/* One model for each work, of all the others. */
typedef struct teaching {
    kiln_lesson *lesson;
    kiln_cost_model *model;
    size_t n;
} teaching;

static void release(void *p) {
    const teaching *t = p;
    for (size_t i = 0; i < t->n; i++)
        kiln_cost_model_fini(&t->model[i]);
}

static kiln_status teach(kiln_arena *a, const kiln_corpus *c, teaching **out,
                         kiln_err *err) {
    const size_t n = c->work.n;
    teaching *t = kiln_new(a, teaching);
    t->lesson = kiln_array(a, kiln_lesson, n);
    t->model = kiln_array(a, kiln_cost_model, n);
    kiln_lesson *others = kiln_array(a, kiln_lesson, n);
    kiln_arena_defer(a, release, t);
    for (size_t i = 0; i < n; i++)
        kiln_corpus_lesson(a, &c->work.v[i], (uint32_t)i, LESSON, &t->lesson[i]);
    for (size_t i = 0; i < n && n > 1; i++) {
        size_t n_others = 0;
        for (size_t k = 0; k < n; k++)
            if (strcmp(c->work.v[k].anchor, c->work.v[i].anchor) != 0)
                others[n_others++] = t->lesson[k];
        t->n = i + 1;
        KILN_TRY(
            kiln_cost_model_init(&t->model[i], &kiln_cost_model_xgboost, NULL, err));
        KILN_TRY(kiln_lessons_fit(&t->model[i], others, n_others, err));
    }
    *out = t;
    return KILN_OK;
}

/* ---- with trials ----------------------------------------------------------------- */

static int by_size(const void *x, const void *y) {
    const int a = *(const int *)x, b = *(const int *)y;
    return a < b ? -1 : a > b;
}

static double median_of(int *v, int n) {
    if (n == 0)
        return 0;
    qsort(v, (size_t)n, sizeof *v, by_size);
    return n % 2 == 1 ? v[n / 2] : 0.5 * (v[n / 2 - 1] + v[n / 2]);
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
            sum += log(best_ns[i] / (r[i].after_ns[k] > 0 ? r[i].after_ns[k] : HUGE_VAL));
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

static kiln_status compare_way(kiln_arena *a, const kiln_corpus *c, const way *w,
                               const teaching *t, int n_seeds, kiln_study_row *row,
                               kiln_err *err) {
    const size_t most = c->work.n * (size_t)n_seeds;
    kiln_replay *r = kiln_array(a, kiln_replay, most);
    double *best_ns = kiln_array(a, double, most);
    int n = 0;
    *row = (kiln_study_row){.name = w->name};
    for (size_t i = 0; i < c->work.n; i++)
        for (int seed = 1; seed <= n_seeds; seed++) {
            const kiln_search_options o = {.seed = (uint64_t)seed,
                                           .model = w->model,
                                           .acquisition = w->acquisition,
                                           .global =
                                               w->is_taught ? &t->model[i] : NULL};
            KILN_TRY(kiln_corpus_replay(&c->work.v[i], w->search, &o, 0, &r[n], err));
            KILN_TRY(kiln_interrupt_check(err));
            best_ns[n++] = c->work.v[i].best.cost_ns;
        }
    sum_up(a, r, best_ns, n, row);
    return KILN_OK;
}

/* ---- without trials -------------------------------------------------------------- */

static kiln_status predict(const kiln_corpus_work *w, const kiln_cost_model *m,
                           kiln_study_work *out, kiln_err *err) {
    kiln_arena a = {0};
    kiln_lesson all;
    kiln_trial top = {.cost_ns = 0};
    size_t n_pairs = 0;
    kiln_corpus_lesson(&a, w, 0, LESSON, &all);
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

static kiln_status without_trials(kiln_arena *a, const kiln_corpus *c,
                                  const teaching *t, kiln_study *out, kiln_err *err) {
    double gain = 0;
    int n = 0;
    for (size_t i = 0; i < c->work.n; i++) {
        kiln_study_work w;
        KILN_TRY(predict(&c->work.v[i], &t->model[i], &w, err));
        kiln_vec_push(a, &out->work, w);
        if (w.rule_ns > 0) {
            gain += log(w.rule_ns / w.predicted_ns);
            n++;
        }
    }
    out->gain = n > 0 ? exp(gain / n) : 1;
    return kiln_held_out_score(&kiln_cost_model_xgboost, NULL, t->lesson, c->work.n,
                               &out->held_out, err);
}

kiln_status kiln_corpus_compare(kiln_arena *a, const kiln_corpus *c, int n_seeds,
                                const char *only, kiln_study *out, kiln_err *err) {
    kiln_study s = {.gain = 1};
    teaching *t = NULL;
    KILN_TRY(teach(a, c, &t, err));
    for (int i = 0; i < N_WAYS; i++) {
        kiln_study_row row;
        if (only != NULL && strcmp(only, ways[i].name) != 0)
            continue;
        KILN_TRY(compare_way(a, c, &ways[i], t, n_seeds, &row, err));
        kiln_vec_push(a, &s.row, row);
    }
    if (c->work.n > 1)
        KILN_TRY(without_trials(a, c, t, &s, err));
    *out = s;
    return KILN_OK;
}

/* ---- as text --------------------------------------------------------------------- */

static void put_row(kiln_buf *out, const kiln_study_row *r) {
    kiln_buf_printf(out, "%-24s", r->name);
    for (int i = 0; i < KILN_N_REACHED; i++)
        kiln_buf_printf(out, " %6.1f", r->trials[i]);
    for (int i = 0; i < KILN_N_REACHED; i++)
        kiln_buf_printf(out, " %6.1f", r->median[i]);
    kiln_buf_printf(out, " %4d of %2d", r->n_there, r->n);
    for (int i = 0; i < KILN_N_LOOKS; i++)
        kiln_buf_printf(out, " %5.1f%%", 100 * r->after[i]);
    kiln_buf_printf(out, " %4.0f%% %4.0f%%\n", 100 * r->slow, 100 * r->saved);
}

void kiln_study_text(kiln_buf *out, const kiln_study *s) {
    kiln_buf_printf(out, "%-24s %20s %20s %10s %27s %5s %5s\n", "", "trials to, mean",
                    "trials to, median", "", "of the best after", "", "");
    kiln_buf_printf(out, "%-24s %6s %6s %6s %6s %6s %6s %10s %6s %6s %6s %6s %5s %5s\n",
                    "search", "90%", "95%", "99%", "90%", "95%", "99%", "there", "4",
                    "8", "16", "32", "slow", "saved");
    for (size_t i = 0; i < s->row.n; i++)
        put_row(out, &s->row.v[i]);
    if (s->work.n == 0)
        return;
    kiln_buf_printf(out, "\n%-16s %9s %10s %10s %12s %9s\n", "work", "recorded",
                    "best us", "rule us", "predicted us", "accuracy");
    for (size_t i = 0; i < s->work.n; i++) {
        const kiln_study_work *w = &s->work.v[i];
        kiln_buf_printf(out, "%-16s %9zu %10.1f %10.1f %12.1f %8.1f%%\n", w->name,
                        w->n_recorded, w->best_ns * 1e-3, w->rule_ns * 1e-3,
                        w->predicted_ns * 1e-3, 100 * w->accuracy);
    }
    kiln_buf_printf(out,
                    "what a model of the other works predicts takes %.3f of the rule's "
                    "time; held out: %.1f%% of pairs in order, %.3f of the rule's time "
                    "for %d of %d, worst %.3f, margin %.2f\n",
                    1 / s->gain, 100 * s->held_out.accuracy, 1 / s->held_out.gain,
                    s->held_out.n_taken, s->held_out.n_judged, 1 / s->held_out.worst,
                    s->held_out.margin);
}
