/* Lessons of several workloads as one model, and how far it holds for another one. */
#include "compiler/tuner/tuner_transfer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    static const double deviations = 2;
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
    const char *tmpl;
} verdict;

static kiln_status judge(const kiln_cost_model *m, const kiln_lesson *l, verdict *out,
                         kiln_err *err) {
    out->tmpl = l->tmpl != NULL ? l->tmpl : "";
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

/* Different workloads in order of their first lesson take turns at the folds. Where
 * nothing ran there is nothing to learn and nothing to judge: those are of no fold. */
static int deal(kiln_arena *a, const kiln_lesson *l, size_t n, int *fold_of) {
    KILN_VEC(uint32_t) seen = {.n = 0};
    for (size_t i = 0; i < n; i++) {
        size_t at = 0;
        fold_of[i] = -1;
        if (!isfinite(best_of(&l[i])))
            continue;
        while (at < seen.n && seen.v[at] != l[i].workload)
            at++;
        if (at == seen.n)
            kiln_vec_push(a, &seen, l[i].workload);
        fold_of[i] = (int)(at % N_FOLDS);
    }
    return (int)seen.n;
}

/* The surest first, and of equally sure ones the worse. */
static int by_margin(const void *x, const void *y) {
    const verdict *a = x, *b = y;
    if (a->is_judged != b->is_judged)
        return a->is_judged ? -1 : 1;
    if (!a->is_judged)
        return 0;
    if (a->margin < b->margin || a->margin > b->margin)
        return a->margin > b->margin ? -1 : 1;
    if (a->gain < b->gain || a->gain > b->gain)
        return a->gain < b->gain ? -1 : 1;
    return strcmp(a->tmpl, b->tmpl);
}

/* What choices brought together. */
typedef struct brought {
    int n;
    double sum, worst; /* of logarithms of gains; the least gain */
} brought;

static void add_choice(brought *b, const verdict *v) {
    b->worst = b->n == 0 ? v->gain : fmin(b->worst, v->gain);
    b->sum += log(v->gain);
    b->n++;
}

static bool beats(const brought *b) {
    return b->n >= LEAST_TAKEN && exp(b->sum / b->n) >= least_gain &&
           b->worst >= least_worst;
}

static bool is_of(const verdict *v, const char *tmpl) {
    return tmpl == NULL || strcmp(v->tmpl, tmpl) == 0;
}

/* As many of the surest choices, of one template or (NULL) of all, as beat the rules
 * together. The margin is what the last one has to spare; infinity: none do. */
static double least_margin(const verdict *v, size_t n, const char *tmpl) {
    brought b = {.n = 0};
    double margin = (double)INFINITY;
    for (size_t i = 0; i < n && v[i].is_judged && v[i].margin > 0; i++) {
        if (!is_of(&v[i], tmpl))
            continue;
        size_t next = i + 1;
        while (next < n && v[next].is_judged && !is_of(&v[next], tmpl))
            next++;
        const bool is_last = next == n || !v[next].is_judged || v[next].margin <= 0;
        add_choice(&b, &v[i]);
        if ((is_last || v[next].margin < v[i].margin) && beats(&b))
            margin = is_last ? 0 : nextafter(v[i].margin, 0);
    }
    return margin;
}

static bool is_named(const kiln_held_out_margin *of, const char *tmpl) {
    return of->tmpl != NULL && tmpl != NULL && strcmp(of->tmpl, tmpl) == 0;
}

static bool is_known(const kiln_held_out *h, const char *tmpl) {
    for (int i = 0; i < h->n_of; i++)
        if (is_named(&h->of[i], tmpl))
            return true;
    return false;
}

/* Nothing is taken: what all that are better by the model would have brought. */
static void take(const verdict *v, size_t n, kiln_held_out *h) {
    brought taken = {.n = 0}, all = {.n = 0};
    h->margin = least_margin(v, n, NULL);
    for (size_t i = 0; i < n && v[i].is_judged; i++) {
        if (is_known(h, v[i].tmpl) || h->n_of == KILN_HELD_OUT_TEMPLATES)
            continue;
        const double margin = least_margin(v, n, v[i].tmpl);
        if (isfinite(margin))
            h->of[h->n_of++] = (kiln_held_out_margin){v[i].tmpl, margin};
    }
    for (size_t i = 0; i < n && v[i].is_judged; i++) {
        if (v[i].margin > 0)
            add_choice(&all, &v[i]);
        if (v[i].margin > kiln_held_out_margin_of(h, v[i].tmpl))
            add_choice(&taken, &v[i]);
    }
    const brought *b = taken.n > 0 ? &taken : &all;
    h->n_taken = b->n;
    h->gain = b->n > 0 ? exp(b->sum / b->n) : 1;
    h->worst = b->n > 0 ? b->worst : 1;
}

double kiln_held_out_margin_of(const kiln_held_out *h, const char *tmpl) {
    for (int i = 0; i < h->n_of; i++)
        if (is_named(&h->of[i], tmpl))
            return fmin(h->margin, h->of[i].margin);
    return h->margin;
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
    if (n > 0)
        qsort(v, n, sizeof *v, by_margin);
    take(v, n, h);
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
    size_t n_own = 0, n_others = 0; /* of those where something ran */
    *out = (kiln_held_apart){.n_pairs = 0};
    for (size_t i = 0; i < n; i++) {
        n_own += label[i] == which && isfinite(best_of(&l[i]));
        n_others += label[i] != which && isfinite(best_of(&l[i]));
    }
    const bool is_split = n_own > 0 && n_others > 0;
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
    return (h->n_of > 0 || isfinite(h->margin)) && h->n_workloads >= LEAST_WORKLOADS &&
           h->n_taken >= LEAST_TAKEN && h->accuracy >= least_accuracy &&
           h->gain >= least_gain && h->worst >= least_worst;
}
