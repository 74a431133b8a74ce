/* Searches of whole spaces, on the machine model's costs: estimated.h. */
#include "pipeline/tune/estimated.h"

#include "base/numbers.h"
#include "compiler/schedule/cycles.h"
#include "pipeline/tune/tune_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TRIALS = 512,
    LOOKUPS = 4000,
    MOST_BATCH = 16,
    LESSON = 192,
    N_TAUGHT = 6,
    TRANSFER_TO = 9,
    KEPT_APART = 1 /* of kiln_replay_reached: 95% */
};
static const double loser = 1.5; /* as kiln_measure_options has it */
static const double noise = 0.03;
static const uint64_t large_space = 100000;

const int kiln_estimated_looks[KILN_ESTIMATED_LOOKS] = {64, 128, 256, 512};

typedef struct way {
    const char *name;
    const kiln_search_kind *search;
    const kiln_cost_model_kind *model;
} way;
static const way ways[] = {
    {"random", &kiln_search_random, &kiln_cost_model_random},
    {"genetic", &kiln_search_genetic, &kiln_cost_model_random},
    {"xgboost", &kiln_search_annealing, &kiln_cost_model_xgboost},
    {"treegru", &kiln_search_annealing, &kiln_cost_model_treegru},
};
enum { RANDOM, N_WAYS = sizeof ways / sizeof ways[0], MOST_SERIES = N_WAYS };
static const char *const taught_name[] = {"xgboost", "xgboost, taught by near",
                                          "xgboost, by an ensemble"};
enum { N_TEACHINGS = sizeof taught_name / sizeof taught_name[0] };

/* ---- costs ----------------------------------------------------------------------- */

/* What was asked for before is known; what the template refuses costs less than 0. */
typedef struct oracle {
    kiln_arena arena;
    const kiln_tune_task *task;
    kiln_numbers known; /* bytes of an index: its place in `ns` */
    KILN_VEC(double) ns;
    double best_ns;
} oracle;

static double look_up(const kiln_tune_task *t, uint64_t index) {
    kiln_arena a = {0};
    kiln_scheduled s;
    kiln_program *p;
    double ns = -1;
    const kiln_config c = kiln_config_at(&t->space, index);
    if (kiln_template_apply(&a, t->tmpl, t->work, t->profile, &t->space, &c, &s,
                            NULL) == KILN_OK &&
        kiln_lower(&a, s.schedule, s.te.arg, s.te.n_args, s.te.n_inputs, "k", &p,
                   NULL) == KILN_OK) {
        const uint64_t hash = kiln_hash64(&index, sizeof index, 0);
        ns = fmax(1, kiln_cycles_of_program(&a, t->profile, p, NULL, 1).all);
        ns *= 1 + noise * ((double)(hash % 1024) / 1024 - 0.5);
    }
    kiln_arena_fini(&a);
    return ns;
}

static double ask(oracle *x, uint64_t index) {
    const kiln_str key = {(const char *)&index, sizeof index};
    const size_t at = kiln_numbers_get(&x->known, key);
    if (at != 0)
        return x->ns.v[at - 1];
    const double ns = look_up(x->task, index);
    (void)kiln_numbers_set(&x->arena, &x->known, key, x->ns.n + 1);
    kiln_vec_push(&x->arena, &x->ns, ns);
    if (ns > 0 && (x->best_ns <= 0 || ns < x->best_ns))
        x->best_ns = ns;
    return ns;
}

/* Random draws, then steps from the best of them: what no search may have found. */
static void look_around(oracle *x, int n) {
    const kiln_space *s = &x->task->space;
    kiln_rng rng;
    kiln_rng_init(&rng, 1);
    kiln_config best = kiln_config_random(s, &rng);
    for (int i = 0; i < n; i++) {
        const double before = x->best_ns;
        const kiln_config c = i < n / 2 ? kiln_config_random(s, &rng)
                                        : kiln_config_neighbour(s, &best, &rng);
        (void)ask(x, kiln_config_index(s, &c));
        if (x->best_ns > 0 && (before <= 0 || x->best_ns < before))
            best = c;
    }
}

/* ---- one search ------------------------------------------------------------------ */

/* best_ns[i]: after i + 1 trials; 0: none ran. */
static kiln_status search(oracle *x, const kiln_search_kind *kind,
                          const kiln_search_options *o, int trials, double *best_ns,
                          kiln_trial *told, kiln_err *err) {
    kiln_arena a = {0};
    kiln_search *s = NULL;
    double best = 0;
    int n = 0;
    kiln_status st = kiln_search_new(&a, kind, x->task, o, &s, err);
    while (st == KILN_OK && n < trials) {
        uint64_t index[MOST_BATCH];
        size_t got = 0, batch = kiln_search_batch(s);
        batch = batch < MOST_BATCH ? batch : MOST_BATCH;
        batch = batch < (size_t)(trials - n) ? batch : (size_t)(trials - n);
        st = kiln_search_next(s, batch, index, &got, err);
        for (size_t i = 0; st == KILN_OK && i < got; i++) {
            const double ns = ask(x, index[i]);
            kiln_trial t = {index[i],
                            ns > 0 ? KILN_OUTCOME_MEASURED : KILN_OUTCOME_NOBUILD,
                            fmax(ns, 0)};
            if (best > 0 && ns > loser * best)
                t = (kiln_trial){index[i], KILN_OUTCOME_SLOW, loser * best};
            else if (ns > 0 && (best <= 0 || ns < best))
                best = ns;
            if (told != NULL)
                told[n] = t;
            best_ns[n++] = best;
            st = kiln_search_report(s, &t, err);
        }
        if (got == 0)
            break; /* it was searched whole */
        if (st == KILN_OK)
            st = kiln_interrupt_check(err);
    }
    for (; st == KILN_OK && n < trials; n++)
        best_ns[n] = best;
    kiln_arena_fini(&a);
    return st;
}

/* ---- sums ------------------------------------------------------------------------ */

typedef struct sums {
    double to[KILN_N_REACHED], after[KILN_ESTIMATED_LOOKS];
    double *by_seed; /* to 95% */
    int n;
} sums;

/* Of the trials to a share of the best; what does not get there counts with all. */
static double log_trials_to(const double *best_ns, int trials, double of_all_ns,
                            int reached) {
    int n = 0;
    while (n < trials &&
           (best_ns[n] <= 0 || of_all_ns < kiln_replay_reached[reached] * best_ns[n]))
        n++;
    return log(n < trials ? n + 1 : trials);
}

static void add(sums *s, int seed, const double *best_ns, int trials,
                double of_all_ns) {
    for (int k = 0; k < KILN_N_REACHED; k++) {
        const double to = log_trials_to(best_ns, trials, of_all_ns, k);
        s->to[k] += to;
        s->by_seed[seed] += k == KEPT_APART ? to : 0;
    }
    for (int k = 0; k < KILN_ESTIMATED_LOOKS; k++) {
        const int at =
            (kiln_estimated_looks[k] < trials ? kiln_estimated_looks[k] : trials) - 1;
        s->after[k] += log(of_all_ns / (best_ns[at] > 0 ? best_ns[at] : HUGE_VAL));
    }
    s->n++;
}

static int by_size(const void *x, const void *y) {
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static kiln_estimated_row row_of(const char *name, const sums *s, int n_seeds) {
    const double n_works = (double)s->n / n_seeds;
    kiln_estimated_row r = {.name = name};
    qsort(s->by_seed, (size_t)n_seeds, sizeof *s->by_seed, by_size);
    r.low = exp(s->by_seed[0] / n_works);
    r.high = exp(s->by_seed[n_seeds - 1] / n_works);
    r.median =
        exp((s->by_seed[(n_seeds - 1) / 2] + s->by_seed[n_seeds / 2]) / 2 / n_works);
    for (int k = 0; k < KILN_N_REACHED; k++)
        r.trials[k] = exp(s->to[k] / s->n);
    for (int k = 0; k < KILN_ESTIMATED_LOOKS; k++)
        r.after[k] = exp(s->after[k] / s->n);
    return r;
}

/* ---- the study ------------------------------------------------------------------- */

typedef struct study {
    kiln_arena *arena;
    const kiln_estimated_options *o;
    int trials, lookups;
    kiln_tune_task *task; /* of each work */
    size_t n;
    sums sum[MOST_SERIES], hard[MOST_SERIES], transfer[N_TEACHINGS];
    double *best_ns; /* of one work: by series, seed and trial */
} study;

static double *curve(const study *s, int series, int seed) {
    return s->best_ns +
           ((size_t)series * (size_t)s->o->n_seeds + (size_t)seed) * (size_t)s->trials;
}

/* All series of one work are held against the best that any of them found. */
static void add_all(const study *s, const oracle *x, int n_series, sums *sum) {
    for (int k = 0; k < n_series; k++)
        for (int i = 0; i < s->o->n_seeds; i++)
            add(&sum[k], i, curve(s, k, i), s->trials, x->best_ns);
}

/* Is the good so rare in a large space that drawing seldom finds it? */
static bool is_hard(const study *s, const oracle *x) {
    double sum = 0;
    for (int i = 0; i < s->o->n_seeds; i++)
        sum += log_trials_to(curve(s, RANDOM, i), s->trials, x->best_ns, KEPT_APART);
    return x->task->space.size >= large_space &&
           exp(sum / s->o->n_seeds) > KILN_ESTIMATED_HARD;
}

static kiln_status compare_work(study *s, oracle *x, kiln_err *err) {
    look_around(x, s->lookups);
    for (int k = 0; k < N_WAYS; k++)
        for (int i = 0; i < s->o->n_seeds; i++) {
            const kiln_search_options o = {.seed = (uint64_t)i + 1,
                                           .model = ways[k].model,
                                           .without_guess = true,
                                           .most_spills = -1}; /* nothing is built */
            KILN_TRY(
                search(x, ways[k].search, &o, s->trials, curve(s, k, i), NULL, err));
        }
    add_all(s, x, N_WAYS, s->sum);
    if (is_hard(s, x))
        add_all(s, x, N_WAYS, s->hard);
    return KILN_OK;
}

/* What a search of each of the first works came to, a part of it random. */
static kiln_status learn_lessons(study *s, kiln_lesson *lesson, kiln_err *err) {
    for (size_t w = 0; w < N_TAUGHT; w++) {
        oracle x = {.task = &s->task[w]};
        kiln_trial told[LESSON];
        double best_ns[LESSON], *cost = kiln_array(s->arena, double, LESSON);
        const kiln_search_options o = {.seed = w + 1,
                                       .model = &kiln_cost_model_xgboost,
                                       .epsilon = 0.3,
                                       .without_guess = true,
                                       .most_spills = -1};
        const kiln_status st =
            search(&x, &kiln_search_annealing, &o, LESSON, best_ns, told, err);
        kiln_arena_fini(&x.arena);
        if (st != KILN_OK)
            return st;
        kiln_candidates *c =
            kiln_candidates_new(s->arena, &s->task[w], &kiln_cost_model_xgboost);
        kiln_encoding_list *list = kiln_new(s->arena, kiln_encoding_list);
        for (size_t i = 0, n = 0; i < LESSON; i++) {
            const kiln_encoding *e = kiln_candidates_encoding(c, told[i].index);
            if (e == NULL)
                continue;
            kiln_encoding_list_add(s->arena, list, e->bytes);
            cost[n++] = told[i].cost_ns;
        }
        lesson[w] = (kiln_lesson){.workload = (uint32_t)w,
                                  .encoding = kiln_encoding_list_view(list),
                                  .cost_ns = cost,
                                  .rule = -1};
    }
    return KILN_OK;
}

static kiln_status teach(const study *s, const kiln_lesson *lesson, size_t pupil,
                         const kiln_cost_model_kind *kind, kiln_cost_model *out,
                         kiln_err *err) {
    kiln_lesson near[N_TAUGHT];
    kiln_setting here, there;
    kiln_setting_of(&s->task[pupil], 1, &here);
    for (size_t w = 0; w < N_TAUGHT; w++) {
        kiln_setting_of(&s->task[w], 1, &there);
        near[w] = lesson[w];
        near[w].weight = kiln_nearness(&here, &there);
    }
    KILN_TRY(kiln_cost_model_init(out, kind, NULL, err));
    const kiln_status st = kiln_lessons_fit(out, near, N_TAUGHT, err);
    if (st != KILN_OK)
        kiln_cost_model_fini(out);
    return st;
}

static kiln_status transfer_to(study *s, const kiln_lesson *lesson, size_t pupil,
                               oracle *x, kiln_err *err) {
    static const kiln_cost_model_kind *const teacher[N_TEACHINGS] = {
        NULL, &kiln_cost_model_xgboost, &kiln_cost_model_bootstrap};
    kiln_status st = KILN_OK;
    look_around(x, s->lookups);
    for (int k = 0; st == KILN_OK && k < N_TEACHINGS; k++) {
        kiln_cost_model m = {.kind = NULL};
        if (teacher[k] != NULL)
            KILN_TRY(teach(s, lesson, pupil, teacher[k], &m, err));
        for (int i = 0; st == KILN_OK && i < s->o->n_seeds; i++) {
            const kiln_search_options o = {.seed = (uint64_t)i + 1,
                                           .model = &kiln_cost_model_xgboost,
                                           .global = teacher[k] != NULL ? &m : NULL,
                                           .without_guess = true,
                                           .most_spills = -1};
            st = search(x, &kiln_search_annealing, &o, s->trials, curve(s, k, i), NULL,
                        err);
        }
        kiln_cost_model_fini(&m);
    }
    if (st == KILN_OK)
        add_all(s, x, N_TEACHINGS, s->transfer);
    return st;
}

static kiln_status each_work(study *s, const kiln_lesson *lesson, size_t from,
                             size_t to, kiln_err *err) {
    for (size_t w = from; w < to; w++) {
        oracle x = {.task = &s->task[w]};
        kiln_progress_step(lesson != NULL ? "transfer" : "searches", "works",
                           (double)(w - from), (double)(to - from),
                           s->o->works->list.v[w].op.name);
        const kiln_status st = lesson != NULL ? transfer_to(s, lesson, w, &x, err)
                                              : compare_work(s, &x, err);
        kiln_arena_fini(&x.arena);
        KILN_TRY(st);
    }
    return KILN_OK;
}

/* Were C1 to C9 asked for? */
static bool has_transfer(const study *s) {
    if (s->n < TRANSFER_TO)
        return false;
    for (int i = 0; i < TRANSFER_TO; i++) {
        char name[8];
        snprintf(name, sizeof name, "C%d", i + 1);
        if (strcmp(s->o->works->list.v[i].op.name, name) != 0)
            return false;
    }
    return true;
}

kiln_status kiln_estimated_compare(kiln_arena *a, const kiln_profile *p,
                                   const kiln_estimated_options *o, kiln_estimated *out,
                                   kiln_err *err) {
    const size_t all = o->works->list.n;
    study s = {.arena = a,
               .o = o,
               .trials = o->trials > 0 ? o->trials : TRIALS,
               .lookups = o->lookups > 0 ? o->lookups : LOOKUPS,
               .n = o->n_works > 0 && o->n_works < all ? o->n_works : all};
    kiln_lesson lesson[N_TAUGHT];
    kiln_estimated e = {.row = {.n = 0}};
    KILN_ASSERT(o->n_seeds > 0, "%d seeds", o->n_seeds);
    for (int k = 0; k < MOST_SERIES; k++) {
        s.sum[k].by_seed = kiln_array(a, double, o->n_seeds);
        s.hard[k].by_seed = kiln_array(a, double, o->n_seeds);
    }
    for (int k = 0; k < N_TEACHINGS; k++)
        s.transfer[k].by_seed = kiln_array(a, double, o->n_seeds);
    s.task = kiln_array(a, kiln_tune_task, s.n);
    s.best_ns = kiln_array(a, double,
                           (size_t)MOST_SERIES *(size_t)o->n_seeds *(size_t)s.trials);
    for (size_t w = 0; w < s.n; w++)
        KILN_TRY(kiln_tune_space(a, &o->works->list.v[w].op, p, NULL, &s.task[w], err));
    KILN_TRY(each_work(&s, NULL, 0, s.n, err));
    for (int k = 0; k < N_WAYS; k++)
        kiln_vec_push(a, &e.row, row_of(ways[k].name, &s.sum[k], o->n_seeds));
    e.n_hard = s.hard[RANDOM].n / o->n_seeds;
    for (int k = 0; k < N_WAYS && e.n_hard > 0; k++)
        kiln_vec_push(a, &e.hard, row_of(ways[k].name, &s.hard[k], o->n_seeds));
    if (has_transfer(&s)) {
        KILN_TRY(learn_lessons(&s, lesson, err));
        KILN_TRY(each_work(&s, lesson, N_TAUGHT, TRANSFER_TO, err));
        for (int k = 0; k < N_TEACHINGS; k++)
            kiln_vec_push(a, &e.transfer,
                          row_of(taught_name[k], &s.transfer[k], o->n_seeds));
    }
    *out = e;
    return KILN_OK;
}

/* ---- text ------------------------------------------------------------------------ */

static void put_row(kiln_buf *out, const kiln_estimated_row *r) {
    kiln_buf_printf(out, "%-24s", r->name);
    for (int i = 0; i < KILN_N_REACHED; i++)
        kiln_buf_printf(out, " %6.1f", r->trials[i]);
    kiln_buf_printf(out, " %7.1f %5.1f %5.1f", r->median, r->low, r->high);
    for (int i = 0; i < KILN_ESTIMATED_LOOKS; i++)
        kiln_buf_printf(out, " %6.1f%%", 100 * r->after[i]);
    kiln_buf_puts(out, "\n");
}

void kiln_estimated_text(kiln_buf *out, const kiln_estimated *e) {
    kiln_buf_printf(out, "%-24s %20s %19s %31s\n%-24s %6s %6s %6s %7s %5s %5s",
                    "whole spaces", "trials to, mean", "95%, of seeds",
                    "of the best after", "search", "90%", "95%", "99%", "median", "low",
                    "high");
    for (int i = 0; i < KILN_ESTIMATED_LOOKS; i++)
        kiln_buf_printf(out, " %7d", kiln_estimated_looks[i]);
    kiln_buf_puts(out, "\n");
    for (size_t i = 0; i < e->row.n; i++)
        put_row(out, &e->row.v[i]);
    if (e->hard.n > 0)
        kiln_buf_printf(out,
                        "\nof the %d large ones where random needs more than %d:\n",
                        e->n_hard, (int)KILN_ESTIMATED_HARD);
    for (size_t i = 0; i < e->hard.n; i++)
        put_row(out, &e->hard.v[i]);
    if (e->transfer.n > 0)
        kiln_buf_puts(out, "\nof C7 to C9, taught by C1 to C6:\n");
    for (size_t i = 0; i < e->transfer.n; i++)
        put_row(out, &e->transfer.v[i]);
}
