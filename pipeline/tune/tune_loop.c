/* The loop: which work is next, which configurations, off to the workers, on record. */
#include "pipeline/tune/run_internal.h"

#include <math.h>
#include <string.h>
#include <time.h>

enum {
    LOW_WATER = 8,       /* so many on their way keep builder and runner busy; */
    MANY_TRIALS = 64,    /* twice as many once proposing takes longer than these */
    BATCH = 32,          /* at most: a search that knows more wants larger ones */
    CLAIM_SECONDS = 900, /* longer than all on their way take */
    REFIT_EVERY = 48,    /* new trials between two fits of the model of all works; */
    REFIT_FIRST = 16,    /* before a work's first turn; */
    REFIT_PART = 4,      /* and a quarter of what it knows, else it would not change */
    POLL_MS = 100,
    AGAIN_MS = 180 /* for slices of a second look: three times the pool's own budget */
};

/* ---- setting up ------------------------------------------------------------------ */

static kiln_status set_up_work(kiln_tuning *r, size_t i, kiln_err *err) {
    kiln_tuned_work *t = &r->work[i];
    const kiln_tune_options *o = r->o;
    KILN_TRY(kiln_tune_space_like(r->arena, &t->work->op, o->profile, t->tmpl,
                                  t->work->like, &t->task, err));
    if (o->part != NULL)
        t->task.space = *o->part;
    kiln_space_init(&t->whole, r->arena);
    KILN_TRY(t->task.tmpl->space(t->task.work, o->profile, &t->whole, err));
    const kiln_db_task key = kiln_tune_task_of(r->arena, &t->work->op, o->profile,
                                               o->threads, KILN_TUNE_CACHE);
    KILN_TRY(kiln_db_task_id(o->db, &key, &t->id, err));
    t->row = (kiln_tune_row){.name = t->work->op.name,
                             .key = kiln_str_dupv(r->arena, t->work->op.key),
                             .tmpl = t->task.tmpl->name,
                             .calls = t->work->calls,
                             .n_configs = t->task.space.size,
                             .best = ""};
    uint64_t first[KILN_TUNE_FIRST];
    kiln_search_options search = {.seed = (o->seed > 0 ? o->seed : 1) + i,
                                  .model = o->model,
                                  .global = o->no_transfer ? NULL : &r->global,
                                  .without_guess =
                                      o->part != NULL || t->work->like != NULL,
                                  .first = first,
                                  .spills = r->spills,
                                  .n_first = kiln_tune_first(r, t, first)};
    t->n_first = (int)search.n_first;
    const kiln_search_kind *kind =
        o->search != NULL ? o->search : kiln_search_find(kiln_str_from("annealing"));
    KILN_ASSERT(kind != NULL, "annealing is in the table");
    KILN_TRY(kiln_search_new(r->arena, kind, &t->task, &search, &t->search, err));
    kiln_arena_reset(&r->scratch);
    return kiln_tune_load(r, t, err);
}

/* The ways to do each work. */
static kiln_status find_ways(kiln_tuning *r, kiln_err *err) {
    KILN_VEC(kiln_tuned_work) way = {.n = 0};
    for (size_t i = 0; i < r->works->list.n; i++) {
        const kiln_tune_work *w = &r->works->list.v[i];
        kiln_tune_templates t = {.n = 0};
        const kiln_status st =
            kiln_tune_templates_of(r->arena, &w->op, r->o->profile,
                                   w->tmpl != NULL ? w->tmpl : r->o->tmpl, &t, err);
        if (st != KILN_OK) {
            kiln_note(err, "preparing '%s'", w->op.name);
            return st;
        }
        for (size_t k = 0; k < t.n && (k == 0 || r->o->part == NULL); k++) {
            const kiln_tuned_work one = {
                .work = w, .of = i, .tmpl = t.v[k], .measured_as = -1};
            kiln_vec_push(r->arena, &way, one);
        }
    }
    r->work = way.v;
    r->n = way.n;
    for (size_t i = 0; i < r->n; i++)
        r->work[i].lead = i > 0 && r->work[i - 1].of == r->work[i].of
                              ? r->work[i - 1].lead
                              : &r->work[i];
    return KILN_OK;
}

static kiln_status open_pool(kiln_tuning *r, kiln_err *err) {
    const kiln_measure_options m = {.profile = r->o->profile,
                                    .threads = r->o->threads,
                                    .builder_argv = r->o->builder_argv,
                                    .runner_argv = r->o->runner_argv,
                                    .runner_addresses = r->o->runner_addresses,
                                    .priority = r->o->priority,
                                    .seed = r->o->seed,
                                    .pins_caller = true};
    return r->pool != NULL ? KILN_OK : kiln_measure_open(r->arena, &m, &r->pool, err);
}

/* ---- submitting ------------------------------------------------------------------ */

/* Workloads that wait longest for their next turn go, until the rest is small enough;
 * preparing one again takes seconds. */
static void drop_works(kiln_tuning *r, const kiln_tuned_work *but) {
    static const uint64_t otherwise = UINT64_C(1) << 30;
    const uint64_t most = r->o->shared_bytes > 0 ? r->o->shared_bytes : otherwise;
    while (kiln_measure_count(r->pool).shared_bytes > most) {
        kiln_tuned_work *oldest = NULL;
        for (size_t i = 0; i < r->n; i++) {
            kiln_tuned_work *t = &r->work[i];
            if (t != but && t->measured_as >= 0 && t->n_sent == 0 &&
                (oldest == NULL || t->used_ns < oldest->used_ns))
                oldest = t;
        }
        if (oldest == NULL || !kiln_measure_drop_work(r->pool, oldest->measured_as))
            return;
        oldest->measured_as = -1;
    }
}

static kiln_status add_work(kiln_tuning *r, kiln_tuned_work *t, kiln_err *err) {
    kiln_tuned_work *lead = t->lead;
    KILN_TRY(open_pool(r, err));
    if (lead->measured_as >= 0)
        return KILN_OK;
    KILN_TRY(kiln_measure_add_work(r->pool, lead->work->op.graph, true,
                                   &lead->measured_as, err));
    drop_works(r, lead);
    const double best_ns = kiln_tune_best_ns(r, lead);
    if (best_ns > 0)
        kiln_measure_set_best(r->pool, lead->measured_as, best_ns);
    for (size_t i = 0; i < r->n; i++)
        if (r->work[i].lead == lead)
            KILN_TRY(kiln_tune_give_lethal(r, &r->work[i], err));
    return KILN_OK;
}

/* The builder knows the template's whole space. */
static kiln_config as_whole(kiln_tuning *r, const kiln_tuned_work *t, uint64_t index) {
    kiln_config c = {.n = 0};
    const char *text = kiln_tune_index_text(&r->scratch, &t->task, index);
    const bool is_there =
        kiln_tune_config_read(&r->scratch, t->task.tmpl, &t->whole, text, &c);
    KILN_ASSERT(is_there, "a part of a space has what the whole has not: %s", text);
    return c;
}

static kiln_status send(kiln_tuning *r, kiln_tuned_work *t, uint64_t index,
                        bool is_again, kiln_err *err) {
    const kiln_config config = as_whole(r, t, index);
    kiln_tune_pending *p = kiln_new(r->arena, kiln_tune_pending);
    *p = (kiln_tune_pending){.work = t, .index = index, .is_again = is_again};
    /* What a build takes without the database is measured whatever its code looks like:
     * else anything that was measured would be put in its place. */
    const kiln_measure_candidate c = {.work = t->lead->measured_as,
                                      .tmpl = t->task.tmpl,
                                      .config = kiln_config_index(&t->whole, &config),
                                      .never_stops_early = is_again,
                                      .takes_spills = t->has_first && index == t->first,
                                      .budget_ms = is_again ? AGAIN_MS : 0,
                                      .user = p};
    uint64_t id = 0;
    KILN_TRY(kiln_measure_submit(r->pool, &c, &id, err));
    t->n_pending++;
    t->lead->n_sent++;
    t->lead->used_ns = kiln_now_ns();
    r->n_looking += is_again;
    return KILN_OK;
}

/* A noisy candidate that would be the best is measured again, and longer; in a study,
 * what is near the best, too. */
static kiln_status look_again(kiln_tuning *r, kiln_tuned_work *t, kiln_err *err) {
    uint64_t index = 0;
    if (t->is_looking || !kiln_tune_doubted(r, t, &index))
        return KILN_OK;
    KILN_TRY(add_work(r, t, err));
    t->is_looking = true;
    return send(r, t, index, true, err);
}

static kiln_status submit(kiln_tuning *r, kiln_tuned_work *t, uint64_t index,
                          kiln_err *err) {
    kiln_db_claim_state state;
    const kiln_db_candidate named = {
        t->task.tmpl->name, kiln_tune_index_text(&r->scratch, &t->task, index)};
    const bool is_limited = r->budget.trials < INT64_MAX;
    KILN_TRY(kiln_db_claim_within(r->o->db, t->id, &named, r->owner, CLAIM_SECONDS,
                                  is_limited ? &r->budget : NULL, &state, err));
    if (state == KILN_DB_DONE) /* another tuner was faster */
        return kiln_tune_load(r, t, err);
    if (state == KILN_DB_FULL)
        r->n_left = 0;
    if (state != KILN_DB_CLAIMED) {
        t->turn++;
        return KILN_OK;
    }
    return send(r, t, index, false, err);
}

/* A turn of up to n trials. Others' claims count as tried, or a turn might never end.
 */
static kiln_status begin_turn(kiln_tuning *r, kiln_tuned_work *t, int n,
                              kiln_err *err) {
    uint64_t index[BATCH];
    size_t n_index = 0;
    const size_t want = n < BATCH ? (size_t)n : BATCH;
    KILN_TRY(kiln_tune_hear(r, t, err));
    const kiln_tune_spent begin = kiln_tune_clocks();
    t->is_taught |= t->trial.n <= 1 && r->global.is_fitted && !r->o->no_transfer;
    KILN_TRY(kiln_search_next(t->search, want, index, &n_index, err));
    kiln_tune_spend(&r->search, begin);
    t->is_exhausted = n_index < want;
    if (n_index > 0)
        KILN_TRY(add_work(r, t, err));
    for (size_t i = 0; i < n_index; i++)
        KILN_TRY(submit(r, t, index[i], err));
    kiln_arena_reset(&r->scratch);
    kiln_tune_begun(r, t);
    if (t->n_pending == 0)
        kiln_tune_end_turn(r, t);
    return KILN_OK;
}

/* ---- the loop -------------------------------------------------------------------- */

static kiln_status poll_one(kiln_tuning *r, kiln_err *err) {
    kiln_measured m;
    if (!kiln_measure_poll(r->pool, POLL_MS, &m))
        return KILN_OK;
    kiln_tune_pending *p = m.user;
    kiln_tuned_work *t = p->work;
    KILN_TRY(kiln_tune_finish(r, p, &m, err));
    t->is_looking = t->is_looking && !p->is_again;
    KILN_TRY(look_again(r, t, err));
    if (t->n_pending == 0 || t->turn >= KILN_TUNE_TURN)
        kiln_tune_end_turn(r, t);
    kiln_arena_reset(&r->scratch);
    return KILN_OK;
}

static size_t pending(const kiln_tuning *r) {
    return r->pool != NULL ? kiln_measure_pending(r->pool) : 0;
}

static bool is_over(const kiln_tuning *r) {
    return kiln_interrupted() ||
           (r->o->seconds > 0 &&
            (double)(kiln_now_ns() - r->begin_ns) * 1e-9 > r->o->seconds);
}

static int64_t n_left_of(const kiln_tuning *r) {
    return r->o->more > 0 ? r->o->more - r->n_new - (int64_t)pending(r) : INT64_MAX;
}

/* Building for a GPU takes longer than timing on it: every builder should have one. */
static size_t low_water(const kiln_tuning *r) {
    const size_t least = r->n_new < MANY_TRIALS ? LOW_WATER : 2 * LOW_WATER;
    if (r->pool == NULL) /* it starts with the first candidate */
        return least;
    const kiln_measure_stats s = kiln_measure_count(r->pool);
    return s.device[0] != '\0' && (size_t)s.n_builders > least ? (size_t)s.n_builders
                                                               : least;
}

static kiln_status look_at(kiln_tuning *r, kiln_tuned_work *t, int n, kiln_err *err) {
    const int64_t left = n_left_of(r);
    if (t->row.n_known == 0 && n > 0 && left > 0 && !is_over(r))
        KILN_TRY(begin_turn(r, t, n < left ? n : (int)left, err));
    while (pending(r) >= low_water(r) && !is_over(r))
        KILN_TRY(poll_one(r, err));
    return KILN_OK;
}

/* One trial for each work that has none: what the scheduler compares. And the hints,
 * which somebody gave to have them measured, however good the first one is. */
static kiln_status first_look(kiln_tuning *r, kiln_err *err) {
    for (size_t i = 0; i < r->n; i++)
        KILN_TRY(look_at(r, &r->work[i], 1, err));
    for (size_t i = 0; i < r->n && r->o->hints != NULL; i++)
        KILN_TRY(look_at(r, &r->work[i], r->work[i].n_first - 1, err));
    while (pending(r) > 0 && !is_over(r))
        KILN_TRY(poll_one(r, err));
    return KILN_OK;
}

/* What the best of this machine were, now or when the records were made: a run on
 * records alone must come to the conclusions of the run that made them. */
static void know_machine(kiln_tuning *r) {
    if (r->pool == NULL)
        return;
    const kiln_measure_stats s = kiln_measure_count(r->pool);
    r->peak_gflops = fmax(r->peak_gflops, s.peak_gflops);
    r->memory_gbs = fmax(r->memory_gbs, s.memory_gbs);
}

/* The roofline of the template's algorithm: what its multiply-adds take at the peak,
 * and the parameters, which come from memory, at its speed. Activations may be in any
 * cache.
 */
static double floor_ns(const kiln_tuning *r, const kiln_tuned_work *t) {
    /* A kernel's own loads may be this much faster than the meter's. */
    static const double faster = 1.25;
    const kiln_graph *g = t->work->op.graph;
    double bytes = 0;
    for (size_t i = 0; i < g->values.n; i++)
        if (kiln_value_is_const(g->values.v[i]))
            bytes += (double)kiln_type_bytes(&g->values.v[i]->type);
    const double share = t->task.tmpl->least_share > 0 ? t->task.tmpl->least_share : 1;
    const double compute = r->peak_gflops > 0
                               ? share * (double)t->work->op.cost.flops / r->peak_gflops
                               : 0;
    return fmax(compute, r->memory_gbs > 0 ? bytes / (faster * r->memory_gbs) : 0);
}

static void make_scheduler(kiln_tuning *r) {
    know_machine(r);
    kiln_task_weight *w = kiln_array(r->arena, kiln_task_weight, r->n);
    const double spent = (double)(kiln_now_ns() - r->begin_ns);
    const kiln_task_scheduler_options o = {
        .seed = r->o->seed,
        .time_ns = r->o->seconds <= 0 ? 0
                   : spent < r->o->seconds * 1e9
                       ? (int64_t)(r->o->seconds * 1e9 - spent)
                       : 1,
        .patience_trials = r->o->part != NULL ? INT32_MAX : 0,
        .never_gives_up = r->o->no_early_end,
        .batch = BATCH};
    for (size_t i = 0; i < r->n; i++)
        w[i] = (kiln_task_weight){r->work[i].work->calls, r->work[i].row.start_ns,
                                  r->o->part != NULL ? 0 : floor_ns(r, &r->work[i]),
                                  (int)r->work[i].of + 1};
    r->scheduler = kiln_task_scheduler_new(r->arena, w, (int)r->n, &o);
    for (size_t i = 0; i < r->n; i++)
        kiln_tune_replay(r, &r->work[i]);
}

/* A work that begins shall know what the others have taught so far. */
static bool is_model_stale(const kiln_tuning *r, const kiln_tuned_work *t) {
    const int64_t least = t->trial.n <= 1 ? REFIT_FIRST : REFIT_EVERY;
    return !r->o->no_transfer && r->o->more == 0 && r->n_unlearnt >= least &&
           REFIT_PART * r->n_unlearnt >= r->n_learnt;
}

/* Keeps so many on their way that no worker waits; false: the scheduler has ended. */
static kiln_status feed(kiln_tuning *r, bool *goes_on, kiln_err *err) {
    while (pending(r) < low_water(r)) {
        int n = 0;
        KILN_TRY(kiln_tune_count_left(r, err));
        const int64_t left = r->n_left;
        const int i =
            left <= 0 ? -1 : kiln_task_scheduler_next(r->scheduler, kiln_now_ns(), &n);
        *goes_on = i >= 0;
        if (i < 0)
            return KILN_OK;
        const int64_t batch = (int64_t)kiln_search_batch(r->work[i].search);
        n = n < batch ? n : (int)batch;
        n = n < left ? n : (int)left;
        if (is_model_stale(r, &r->work[i]))
            KILN_TRY(kiln_tune_learn(r, err));
        KILN_LOG(DEBUG, "tuner",
                 "'%s' gets %d trials: a trial should save %.3f us of %.3f of all",
                 r->work[i].row.name, n,
                 kiln_task_scheduler_gain(r->scheduler, i) / 1e3,
                 kiln_task_scheduler_latency_ns(r->scheduler) / 1e3);
        KILN_TRY(begin_turn(r, &r->work[i], n, err));
        if (is_over(r))
            return KILN_OK;
    }
    return KILN_OK;
}

static bool lacks_kernel(const kiln_tuning *r) {
    for (size_t i = 0; i < r->n; i++)
        if (r->work[i].lead == &r->work[i] && kiln_tune_best_ns(r, &r->work[i]) <= 0)
            return true;
    return false;
}

/* The rest of the trials, or of the spaces, may be with other tuners of this file. Where
 * a work has no kernel yet, theirs are waited for: what they find counts, and the trials
 * that they give back, or leave when they die, are this one's (goes_on). */
static kiln_status wait_for_others(kiln_tuning *r, bool *goes_on, kiln_err *err) {
    int64_t n = 0;
    do {
        KILN_TRY(kiln_db_claimed(r->o->db, &r->budget, &n, err));
        if (n > 0) {
            const struct timespec tick = {.tv_nsec = POLL_MS * 1000000L};
            kiln_progress_step("waiting for other tuners", "trials", 0, (double)n,
                               "their claims");
            (void)nanosleep(&tick, NULL);
        }
        for (size_t i = 0; i < r->n; i++)
            KILN_TRY(kiln_tune_hear(r, &r->work[i], err));
        kiln_arena_reset(&r->scratch);
        KILN_TRY(kiln_tune_count_left(r, err));
        /* Where the scheduler has ended, trials that are left are nobody's. */
        *goes_on = r->n_left > 0 &&
                   kiln_task_scheduler_end(r->scheduler) == KILN_TASKS_RUNNING;
    } while (n > 0 && !*goes_on && lacks_kernel(r) && !is_over(r));
    return KILN_OK;
}

static kiln_status loop(kiln_tuning *r, kiln_err *err) {
    bool goes_on = true;
    KILN_TRY(first_look(r, err));
    make_scheduler(r);
    if (!r->o->no_transfer && r->o->more == 0)
        KILN_TRY(kiln_tune_learn(r, err));
    /* What a run that was cut short had left in doubt. */
    for (size_t i = 0; i < r->n && !is_over(r); i++)
        KILN_TRY(look_again(r, &r->work[i], err));
    while (!is_over(r) && (goes_on || pending(r) > 0)) {
        if (goes_on)
            KILN_TRY(feed(r, &goes_on, err));
        if (pending(r) > 0)
            KILN_TRY(poll_one(r, err));
        else if (!goes_on && lacks_kernel(r))
            KILN_TRY(wait_for_others(r, &goes_on, err));
    }
    return KILN_OK;
}

static kiln_status run(kiln_tuning *r, kiln_tune_result *out, kiln_err *err) {
    KILN_TRY(find_ways(r, err));
    for (size_t i = 0; i < r->n; i++) {
        kiln_progress_step("reading records", "kernels", (double)i, (double)r->n,
                           r->work[i].work->op.name);
        const kiln_status st = set_up_work(r, i, err);
        if (st != KILN_OK) {
            kiln_note(err, "preparing '%s' for template '%s'", r->work[i].work->op.name,
                      r->work[i].tmpl->name);
            return st;
        }
    }
    kiln_tune_plan(r);
    KILN_TRY(loop(r, err));
    KILN_TRY(kiln_tune_keep_model(r, err));
    return kiln_tune_conclude(r, out, err);
}

kiln_status kiln_tune_run(kiln_arena *a, const kiln_tune_works *works,
                          const kiln_tune_options *o, kiln_tune_result *out,
                          kiln_err *err) {
    kiln_tuning r = {.arena = a, .works = works, .o = o};
    if (o->runner_addresses == NULL) /* else it must run where they are */
        KILN_TRY(kiln_runs_here(o->profile, err));
    kiln_arena_init(&r.scratch);
    r.spills = kiln_spill_log_new(a);
    r.begin_ns = kiln_now_ns();
    r.owner = o->owner != NULL ? o->owner : kiln_tune_owner(a);
    if (o->name != NULL)
        r.owner = kiln_format(a, "%s %s", o->name, r.owner);
    kiln_status st = kiln_cost_model_init(
        &r.global, kiln_tune_teacher_of(kiln_tune_searched_by(&r)), NULL, err);
    if (st == KILN_OK)
        st = kiln_tune_bury(&r, err);
    if (st == KILN_OK)
        st = kiln_tune_recall_model(&r, err);
    if (st == KILN_OK)
        st = run(&r, out, err);
    kiln_measure_close(r.pool);
    /* What was claimed and not measured is free again, also after a failure. */
    const kiln_status released =
        kiln_db_release(o->db, r.owner, st == KILN_OK ? err : NULL);
    kiln_cost_model_fini(&r.global);
    kiln_arena_fini(&r.scratch);
    return st != KILN_OK ? st : released;
}
