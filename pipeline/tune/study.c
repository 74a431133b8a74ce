/* Searches and models beside each other on one corpus: how many trials until 95% of the
 * best, and what a model of the other works would choose without any. */
#include <math.h>
#include <string.h>

#include "pipeline/tune/corpus_internal.h"

enum { LESSON = 128, N_LOOKS = 4 };

typedef struct way {
    const char *name;
    const kiln_search_kind *search;
    const kiln_cost_model_kind *model; /* NULL: the search has none */
    bool is_taught;                    /* by the other works */
} way;

static const way ways[] = {
    {"random", &kiln_search_random, NULL, false},
    {"genetic", &kiln_search_genetic, NULL, false},
    {"xgboost", &kiln_search_annealing, &kiln_cost_model_xgboost, false},
    {"xgboost, taught", &kiln_search_annealing, &kiln_cost_model_xgboost, true},
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

static kiln_status compare_way(const kiln_corpus *c, const way *w, const teaching *t,
                               int n_seeds, kiln_study_row *row, kiln_err *err) {
    double trials = 0, after[N_LOOKS] = {0};
    *row = (kiln_study_row){.name = w->name};
    for (size_t i = 0; i < c->work.n; i++)
        for (int seed = 1; seed <= n_seeds; seed++) {
            const kiln_search_options o = {.seed = (uint64_t)seed,
                                           .model = w->model,
                                           .global =
                                               w->is_taught ? &t->model[i] : NULL};
            kiln_replay r;
            KILN_TRY(kiln_corpus_replay(&c->work.v[i], w->search, &o, 0, &r, err));
            KILN_TRY(kiln_interrupt_check(err));
            trials += log((double)r.n_trials);
            for (int k = 0; k < N_LOOKS; k++)
                after[k] += log(c->work.v[i].best.cost_ns /
                                (r.after_ns[k] > 0 ? r.after_ns[k] : HUGE_VAL));
            row->n_there += r.is_there;
            row->n++;
        }
    row->trials = exp(trials / row->n);
    for (int k = 0; k < N_LOOKS; k++)
        row->after[k] = exp(after[k] / row->n);
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
        KILN_TRY(compare_way(c, &ways[i], t, n_seeds, &row, err));
        kiln_vec_push(a, &s.row, row);
    }
    if (c->work.n > 1)
        KILN_TRY(without_trials(a, c, t, &s, err));
    *out = s;
    return KILN_OK;
}

/* ---- as text --------------------------------------------------------------------- */

void kiln_study_text(kiln_buf *out, const kiln_study *s) {
    kiln_buf_printf(out, "%-24s %10s %10s %7s %7s %7s %7s\n", "search", "trials",
                    "there", "4", "8", "16", "32");
    for (size_t i = 0; i < s->row.n; i++) {
        const kiln_study_row *r = &s->row.v[i];
        kiln_buf_printf(out,
                        "%-24s %10.1f %4d of %2d %6.1f%% %6.1f%% %6.1f%% %6.1f%%\n",
                        r->name, r->trials, r->n_there, r->n, 100 * r->after[0],
                        100 * r->after[1], 100 * r->after[2], 100 * r->after[3]);
    }
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
