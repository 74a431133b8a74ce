/* The model of all works: every trial of every work, as far as it carries over. */
#include "pipeline/tune/run_internal.h"
#include "pipeline/tune/transfer_internal.h"

#include <stdlib.h>

enum { FEW_TRIALS = 16, N_NEAR = 24, MOST_EACH = 512 };

static const char *scope(kiln_tuning *r) {
    return kiln_format(&r->scratch, "%s/%d", r->o->profile->name,
                       r->o->threads > 0 ? r->o->threads : 1);
}

/* What else the database knows that is near: a model of 16 trials of this run alone would
 * know less than the one that the run began with. */
static kiln_status read_near(kiln_tuning *r, kiln_err *err) {
    if (r->near != NULL || r->o->no_transfer)
        return KILN_OK;
    kiln_setting *setting = kiln_array(r->arena, kiln_setting, r->n);
    int64_t *own = kiln_array(r->arena, int64_t, r->n);
    for (size_t i = 0; i < r->n; i++) {
        kiln_setting_of(&r->work[i].task, r->o->threads, &setting[i]);
        own[i] = r->work[i].id;
    }
    const kiln_tune_pupils pupils = {setting, own, r->n};
    r->near = kiln_new(r->arena, kiln_tune_lessons);
    return kiln_tune_lessons_near(r->arena, r->o->db, r->global.kind, &pupils, N_NEAR,
                                  r->near, err);
}

static int by_cost(const void *x, const void *y) {
    const kiln_trial *a = x, *b = y;
    const bool p = a->outcome == KILN_OUTCOME_MEASURED,
               q = b->outcome == KILN_OUTCOME_MEASURED;
    if (p != q)
        return p ? -1 : 1;
    if (a->cost_ns < b->cost_ns || a->cost_ns > b->cost_ns)
        return a->cost_ns < b->cost_ns ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

void kiln_tune_add_trials(kiln_arena *a, const kiln_tuned_work *t,
                          kiln_sample_set *set) {
    kiln_trial *some = kiln_arena_dup(a, t->trial.v, t->trial.n * sizeof *some);
    size_t n = t->trial.n;
    if (n > MOST_EACH) {
        const size_t head = MOST_EACH / 2, rest = MOST_EACH - head;
        qsort(some, n, sizeof *some, by_cost);
        for (size_t i = 0; i < rest; i++)
            some[head + i] = some[head + i * (n - head) / rest];
        n = MOST_EACH;
    }
    kiln_sample_set_add(set, kiln_search_candidates(t->search), some, n);
}

const kiln_cost_model_kind *kiln_tune_searched_by(const kiln_tuning *r) {
    return r->o->model != NULL ? r->o->model : &kiln_cost_model_xgboost;
}

/* is_judged: what is stored says how good it is on what it did not see; of an ensemble,
 * which takes five times as long, what one of its members would be. */
static kiln_status learn(kiln_tuning *r, bool is_judged, kiln_err *err) {
    kiln_hold_out h = {-1, -1};
    kiln_arena a;
    kiln_sample_set set;
    kiln_status st = KILN_OK;
    const kiln_tune_spent begin = kiln_tune_clocks();
    r->n_unlearnt = 0;
    kiln_arena_init(&a);
    kiln_sample_set_init(&set, &a, true);
    r->n_learnt = 0;
    for (size_t i = 0; i < r->n; i++)
        if (r->work[i].trial.n > 1) {
            kiln_tune_add_trials(&a, &r->work[i], &set);
            r->n_learnt += (int64_t)r->work[i].trial.n;
        }
    const kiln_samples own = kiln_sample_set_view(&set);
    if (own.encoding.n >= FEW_TRIALS) {
        if (is_judged)
            st =
                kiln_cost_model_hold_out(kiln_tune_searched_by(r), NULL, &own, &h, err);
        if (st == KILN_OK)
            st = read_near(r, err);
        for (size_t i = 0; r->near != NULL && i < r->near->list.n; i++)
            kiln_lesson_add(&r->near->list.v[i], &set);
        const kiln_samples all = kiln_sample_set_view(&set);
        if (st == KILN_OK)
            st = kiln_cost_model_fit(&r->global, &all, err);
    }
    if (st == KILN_OK && is_judged && r->global.is_fitted)
        r->global.origin.held_out = h.accuracy;
    kiln_tune_spend(&r->model, begin);
    kiln_arena_fini(&a);
    return st;
}

/* Of one work, with nothing near, the search's own model learns the same by itself. */
kiln_status kiln_tune_learn(kiln_tuning *r, kiln_err *err) {
    KILN_TRY(read_near(r, err));
    const bool has_others =
        r->works->list.n > 1 || (r->near != NULL && r->near->list.n > 0);
    r->n_unlearnt = has_others ? r->n_unlearnt : 0;
    return has_others ? learn(r, false, err) : KILN_OK;
}

/* Of another version, or damaged: the run begins without one. */
kiln_status kiln_tune_recall_model(kiln_tuning *r, kiln_err *err) {
    kiln_db_model stored;
    kiln_cost_model model;
    bool found = false, taken = false;
    if (r->o->no_transfer)
        return KILN_OK;
    KILN_TRY(kiln_db_get_model(r->o->db, &r->scratch, r->global.kind->name, scope(r),
                               r->global.kind->version, &found, &stored, err));
    if (found)
        taken = kiln_cost_model_load(&model, r->global.kind, stored.bytes.p,
                                     stored.bytes.n, NULL) == KILN_OK;
    else /* other profiles and numbers of threads know something, too */
        taken = kiln_tune_transfer_take(r->o->db, r->global.kind, &model);
    if (taken) {
        kiln_cost_model_fini(&r->global);
        r->global = model;
    }
    return KILN_OK;
}

kiln_status kiln_tune_keep_model(kiln_tuning *r, kiln_err *err) {
    kiln_buf bytes;
    int64_t n = 0;
    if (r->o->no_transfer || r->n_new == 0 || r->o->more > 0)
        return KILN_OK;
    if (!kiln_interrupted()) /* seconds, after thousands of trials */
        KILN_TRY(learn(r, true, err));
    if (!r->global.is_fitted)
        return KILN_OK; /* too few trials to learn from */
    kiln_buf_init(&bytes, &r->scratch);
    KILN_TRY(kiln_cost_model_save(&r->global, &bytes, err));
    for (size_t i = 0; i < r->n; i++)
        n += (int64_t)r->work[i].trial.n;
    const kiln_db_model m = {r->global.kind->name, scope(r), r->global.kind->version, n,
                             kiln_buf_str(&bytes)};
    KILN_TRY(kiln_db_put_model(r->o->db, &m, err));
    if (kiln_interrupted())
        return KILN_OK;
    return kiln_tune_transfer_renew(r->arena, r->o->db, r->global.kind, &r->transfer,
                                    err);
}
