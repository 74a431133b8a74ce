/* Lessons of several workloads as one model, and how far it holds for another one. */
#include "compiler/tuner/transfer.h"

#include <math.h>
#include <stdlib.h>

enum {
    N_FOLDS = 5,
    LEAST_WORKLOADS = 4, /* fewer say nothing of a further one */
    LEAST_TAKEN = 3
};
static const double least_accuracy = 0.65, least_gain = 1.03, least_worst = 0.97;
static const double near_tie = 1.05; /* closer pairs are in no order: noise */

/* ---- fitting --------------------------------------------------------------------- */

static double best_of(const kiln_lesson *l) {
    double best = (double)INFINITY;
    for (size_t i = 0; i < l->encoding.n; i++)
        if (l->cost_ns[i] > 0 && l->cost_ns[i] < best)
            best = l->cost_ns[i];
    return best;
}

void kiln_lesson_add(const kiln_lesson *l, kiln_sample_set *s) {
    const double best = best_of(l);
    if (!isfinite(best))
        return; /* nothing ran: nothing is better than another */
    for (size_t i = 0; i < l->encoding.n; i++) {
        const double cost = l->cost_ns[i];
        kiln_encoding_list_add(s->arena, &s->encoding,
                               kiln_encodings_at(&l->encoding, i));
        kiln_vec_push(s->arena, &s->score, cost > 0 ? (float)(best / cost) : 0);
        kiln_vec_push(s->arena, &s->weight, l->weight > 0 ? (float)l->weight : 1);
        kiln_vec_push(s->arena, &s->group, s->n_groups);
    }
    s->n_groups++;
}

/* To a mean of 1: what a model takes for much or little evidence stays what it is. */
static void normalize(float *weight, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)weight[i];
    for (size_t i = 0; i < n; i++)
        weight[i] = (float)((double)weight[i] * (double)n / sum);
}

/* All but those of one fold; fold_of NULL: all. */
static kiln_status fit(kiln_cost_model *m, const kiln_lesson *l, size_t n,
                       const int *fold_of, int but, kiln_err *err) {
    kiln_arena a = {0};
    kiln_sample_set set;
    kiln_sample_set_init(&set, &a, true);
    for (size_t i = 0; i < n; i++)
        if (fold_of == NULL || fold_of[i] != but)
            kiln_lesson_add(&l[i], &set);
    normalize(set.weight.v, set.weight.n);
    const kiln_samples s = kiln_sample_set_view(&set);
    const kiln_status st = kiln_cost_model_fit(m, &s, err);
    kiln_arena_fini(&a);
    return st;
}

kiln_status kiln_lessons_fit(kiln_cost_model *m, const kiln_lesson *l, size_t n,
                             kiln_err *err) {
    return fit(m, l, n, NULL, 0, err);
}

/* ---- held out -------------------------------------------------------------------- */

double kiln_pairs_in_order(const double *cost_ns, const float *score, size_t n,
                           size_t *n_pairs) {
    size_t pairs = 0, right = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++) {
            const bool is_faster =
                cost_ns[i] > 0 &&
                (cost_ns[k] <= 0 || cost_ns[k] >= near_tie * cost_ns[i]);
            pairs += is_faster;
            right += is_faster && score[i] > score[k];
        }
    *n_pairs = pairs;
    return pairs > 0 ? (double)right / (double)pairs : 0;
}

kiln_status kiln_choose_over_rule(const kiln_cost_model *m, const kiln_encodings *e,
                                  size_t rule, size_t *choice, double *margin,
                                  kiln_err *err) {
    static const double deviations = 2.5;
    kiln_arena a = {0};
    float *over = kiln_array(&a, float, e->n), *spread = kiln_array(&a, float, e->n);
    const kiln_status st = kiln_cost_model_predict_over(m, e, rule, over, spread, err);
    size_t top = rule;
    for (size_t i = 0; st == KILN_OK && i < e->n; i++)
        top = over[i] > over[top] ? i : top;
    *choice = top;
    *margin = (double)over[top] - deviations * (double)spread[top];
    kiln_arena_fini(&a);
    return st;
}

/* What a model that had not seen the lesson makes of it. */
typedef struct verdict {
    size_t n_pairs;
    double accuracy;
    bool is_judged;
    double gain, margin; /* of its choice over the rule */
} verdict;

static kiln_status judge(const kiln_cost_model *m, const kiln_lesson *l, verdict *out,
                         kiln_err *err) {
    kiln_arena a = {0};
    const size_t n = l->encoding.n;
    float *score = kiln_array(&a, float, n);
    kiln_status st = kiln_cost_model_predict(m, &l->encoding, NULL, score, err);
    if (st == KILN_OK)
        out->accuracy = kiln_pairs_in_order(l->cost_ns, score, n, &out->n_pairs);
    out->is_judged = st == KILN_OK && n > 1 && l->rule >= 0 && l->cost_ns[l->rule] > 0;
    if (out->is_judged) {
        size_t choice = 0;
        st = kiln_choose_over_rule(m, &l->encoding, (size_t)l->rule, &choice,
                                   &out->margin, err);
        /* A choice that does not run is a build that takes the rule. */
        out->gain =
            l->cost_ns[choice] > 0 ? l->cost_ns[l->rule] / l->cost_ns[choice] : 1;
    }
    kiln_arena_fini(&a);
    return st;
}

/* Different workloads in order of their first lesson take turns at the folds. */
static int deal(kiln_arena *a, const kiln_lesson *l, size_t n, int *fold_of) {
    KILN_VEC(uint32_t) seen = {.n = 0};
    for (size_t i = 0; i < n; i++) {
        size_t at = 0;
        while (at < seen.n && seen.v[at] != l[i].workload)
            at++;
        if (at == seen.n)
            kiln_vec_push(a, &seen, l[i].workload);
        fold_of[i] = (int)(at % N_FOLDS);
    }
    return (int)seen.n;
}

/* The surest first. */
static int by_margin(const void *x, const void *y) {
    const verdict *a = x, *b = y;
    if (a->is_judged != b->is_judged)
        return a->is_judged ? -1 : 1;
    if (a->margin < b->margin || a->margin > b->margin)
        return a->margin > b->margin ? -1 : 1;
    return (a->gain > b->gain) - (a->gain < b->gain); /* the worse first */
}

/* As many of the surest choices as beat the rule together; where none do, what all of them
 * would have brought. The margin is what the last one has to spare. */
static void take_surest(const verdict *v, size_t n, kiln_held_out *h) {
    double sum = 0;
    kiln_held_out all = *h;
    bool any = false;
    all.worst = (double)INFINITY;
    for (size_t i = 0; i < n && v[i].is_judged && v[i].margin > 0; i++) {
        const bool is_last = i + 1 == n || !v[i + 1].is_judged || v[i + 1].margin <= 0;
        sum += log(v[i].gain);
        all.n_taken++;
        all.worst = fmin(all.worst, v[i].gain);
        all.gain = exp(sum / all.n_taken);
        all.margin = is_last ? 0 : nextafter(v[i].margin, 0);
        if ((is_last || v[i + 1].margin < v[i].margin) &&
            kiln_held_out_beats_rule(&all)) {
            *h = all;
            any = true;
        }
    }
    if (!any && all.n_taken > 0)
        *h = all;
}

static void conclude(verdict *v, size_t n, kiln_held_out *h) {
    double right = 0;
    size_t pairs = 0;
    for (size_t i = 0; i < n; i++) {
        h->n_judged += v[i].is_judged;
        right += v[i].accuracy * (double)v[i].n_pairs;
        pairs += v[i].n_pairs;
    }
    h->accuracy = pairs > 0 ? right / (double)pairs : 0;
    h->gain = h->worst = 1;
    if (n > 0)
        qsort(v, n, sizeof *v, by_margin);
    take_surest(v, n, h);
}

static kiln_status score_fold(const kiln_cost_model_kind *kind,
                              const kiln_cost_model_options *o, const kiln_lesson *l,
                              size_t n, const int *fold_of, int fold, verdict *v,
                              kiln_err *err) {
    kiln_cost_model m;
    KILN_TRY(kiln_cost_model_init(&m, kind, o, err));
    kiln_status st = fit(&m, l, n, fold_of, fold, err);
    for (size_t i = 0; st == KILN_OK && i < n; i++)
        if (fold_of[i] == fold)
            st = judge(&m, &l[i], &v[i], err);
    kiln_cost_model_fini(&m);
    return st;
}

kiln_status kiln_held_out_score(const kiln_cost_model_kind *kind,
                                const kiln_cost_model_options *o, const kiln_lesson *l,
                                size_t n, kiln_held_out *out, kiln_err *err) {
    kiln_arena a = {0};
    kiln_held_out h = {.n_workloads = 0};
    int *fold_of = kiln_array(&a, int, n);
    verdict *v = kiln_array(&a, verdict, n);
    kiln_status st = KILN_OK;
    h.n_workloads = deal(&a, l, n, fold_of);
    if (h.n_workloads >= LEAST_WORKLOADS) {
        for (int f = 0; st == KILN_OK && f < N_FOLDS && f < h.n_workloads; f++)
            st = score_fold(kind, o, l, n, fold_of, f, v, err);
        conclude(v, n, &h);
    }
    kiln_arena_fini(&a);
    if (st == KILN_OK)
        *out = h;
    return st;
}

kiln_status kiln_held_apart_score(const kiln_cost_model_kind *kind,
                                  const kiln_cost_model_options *o,
                                  const kiln_lesson *l, size_t n, const int *label,
                                  int which, kiln_held_apart *out, kiln_err *err) {
    kiln_arena a = {0};
    verdict *v = kiln_array(&a, verdict, n);
    double right = 0;
    size_t n_own = 0;
    *out = (kiln_held_apart){.n_pairs = 0};
    for (size_t i = 0; i < n; i++)
        n_own += label[i] == which;
    const bool is_split = n_own > 0 && n_own < n;
    const kiln_status st =
        is_split ? score_fold(kind, o, l, n, label, which, v, err) : KILN_OK;
    for (size_t i = 0; st == KILN_OK && i < n; i++) {
        right += v[i].accuracy * (double)v[i].n_pairs;
        out->n_pairs += v[i].n_pairs;
    }
    out->n_lessons = is_split ? n_own : 0;
    out->accuracy = out->n_pairs > 0 ? right / (double)out->n_pairs : 0;
    kiln_arena_fini(&a);
    return st;
}

bool kiln_held_out_beats_rule(const kiln_held_out *h) {
    return h->n_workloads >= LEAST_WORKLOADS && h->n_taken >= LEAST_TAKEN &&
           h->accuracy >= least_accuracy && h->gain >= least_gain &&
           h->worst >= least_worst;
}
