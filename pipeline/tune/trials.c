/* What becomes of trials: records, what search and scheduler hear, the model of all
 * works, the result. */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "pipeline/tune/run_internal.h"

enum { DEFAULT_TRIALS = 64, FEW_TRIALS = 16 };

int64_t kiln_tune_budget(const kiln_tuning *r) {
    return (r->o->trials > 0 ? r->o->trials : DEFAULT_TRIALS) * (int64_t)r->n;
}

kiln_outcome kiln_tune_outcome(kiln_trial_error e) {
    switch (e) {
    case KILN_TRIAL_GOOD:
        return KILN_OUTCOME_MEASURED;
    case KILN_TRIAL_SLOW:
        return KILN_OUTCOME_SLOW;
    case KILN_TRIAL_REFUSED:
    case KILN_TRIAL_SPILLS:
    case KILN_TRIAL_BUILD_TIMEOUT:
    case KILN_TRIAL_UNLOADABLE:
        return KILN_OUTCOME_NOBUILD;
    case KILN_TRIAL_BUILD_CRASH:
    case KILN_TRIAL_BUILD_MEMORY:
    case KILN_TRIAL_CRASH:
    case KILN_TRIAL_TIMEOUT:
    case KILN_TRIAL_MEMORY:
    case KILN_TRIAL_OUT_OF_BOUNDS:
    case KILN_TRIAL_EXIT:
        return KILN_OUTCOME_LETHAL;
    case KILN_TRIAL_RETURNED:
    case KILN_TRIAL_WRONG:
        return KILN_OUTCOME_WRONG;
    case KILN_TRIAL_LOST:
    case KILN_N_TRIAL_ERRORS:
        break;
    }
    return KILN_OUTCOME_LOST;
}

const char *kiln_tune_owner(kiln_arena *a) {
    struct utsname u;
    return kiln_format(a, "%s.%d", uname(&u) == 0 ? u.nodename : "?", (int)getpid());
}

int64_t kiln_tune_trials_left(const kiln_tuning *r) {
    int64_t spent =
        r->n_new + (r->pool != NULL ? (int64_t)kiln_measure_pending(r->pool) : 0);
    for (size_t i = 0; i < r->n; i++)
        spent += r->work[i].row.n_known;
    return kiln_tune_budget(r) - spent;
}

/* Claims of tuners of this machine that have died: theirs to measure no more. */
kiln_status kiln_tune_bury(kiln_tuning *r, kiln_err *err) {
    const char *ours = kiln_tune_owner(&r->scratch);
    const size_t host = (size_t)(strrchr(ours, '.') - ours) + 1;
    kiln_db_owners owners;
    KILN_TRY(kiln_db_owners_of(r->o->db, &r->scratch, &owners, err));
    for (size_t i = 0; i < owners.list.n; i++) {
        const char *who = owners.list.v[i];
        int64_t pid = 0;
        if (strncmp(who, ours, host) != 0 ||
            !kiln_parse_i64(kiln_str_from(who + host), &pid) || pid <= 0)
            continue;
        if (kill((pid_t)pid, 0) != 0 && errno == ESRCH)
            KILN_TRY(kiln_db_release(r->o->db, who, err));
    }
    return KILN_OK;
}

/* ---- into search and row -----------------------------------------------------------
 */

static kiln_status take(kiln_tuning *r, kiln_tuned_work *t, const kiln_trial *trial,
                        double peak_gflops, kiln_err *err) {
    kiln_tune_row *row = &t->row;
    KILN_TRY(kiln_search_report(t->search, trial, err));
    kiln_vec_push(r->arena, &t->trial, *trial);
    if (trial->outcome != KILN_OUTCOME_MEASURED)
        return KILN_OK;
    if (t->has_first && trial->index == t->first)
        row->start_ns = trial->cost_ns;
    if (row->best_ns <= 0 || trial->cost_ns < row->best_ns) {
        row->best_ns = trial->cost_ns;
        row->best = kiln_tune_index_text(r->arena, &t->task, trial->index);
        row->best_share = peak_gflops > 0 ? (double)t->work->op.cost.flops /
                                                trial->cost_ns / peak_gflops
                                          : 0;
    }
    return KILN_OK;
}

/* Of what facts_of wrote. */
static double fact(kiln_arena *a, const char *facts, const char *name) {
    const kiln_json *json = NULL;
    if (kiln_json_parse(a, kiln_str_from(facts), "facts", &json, NULL) != KILN_OK)
        return 0;
    return kiln_json_number(kiln_json_get(json, name), 0);
}

static bool as_trial(kiln_tuning *r, const kiln_tuned_work *t, const kiln_db_trial *in,
                     kiln_trial *out, kiln_trial_error *error) {
    kiln_config c;
    *error = KILN_TRIAL_GOOD;
    if (strcmp(in->candidate.tmpl, t->task.tmpl->name) != 0 ||
        !kiln_tune_config_read(&r->scratch, t->task.tmpl, &t->task.space,
                               in->candidate.config, &c))
        return false;
    if (in->error[0] != '\0' &&
        !kiln_trial_error_parse(kiln_str_from(in->error), error))
        return false;
    *out = (kiln_trial){kiln_config_index(&t->task.space, &c),
                        kiln_tune_outcome(*error), in->median_ns};
    return out->outcome != KILN_OUTCOME_LOST;
}

static bool is_taken(const kiln_tuned_work *t, const kiln_trial *trial) {
    for (size_t i = 0; i < t->trial.n; i++)
        if (t->trial.v[i].index == trial->index &&
            t->trial.v[i].outcome == trial->outcome &&
            t->trial.v[i].cost_ns == trial->cost_ns)
            return true;
    return false;
}

kiln_status kiln_tune_load(kiln_tuning *r, kiln_tuned_work *t, kiln_err *err) {
    kiln_db_trials all;
    kiln_arena a;
    kiln_arena_init(&a);
    kiln_status st = kiln_db_trials_of(r->o->db, &a, t->id, &all, err);
    const int64_t n_ours = t->row.n_new; /* they are on record too */
    const bool is_again = t->trial.n > 0;
    t->row.n_known = 0;
    for (size_t i = 0; st == KILN_OK && i < all.list.n; i++) {
        kiln_trial trial;
        kiln_trial_error error;
        t->row.n_known += all.list.v[i].round == 0;
        r->peak_gflops = fmax(r->peak_gflops, all.list.v[i].peak_gflops);
        r->memory_gbs =
            fmax(r->memory_gbs, fact(&a, all.list.v[i].facts, "memory_gbs"));
        if (!as_trial(r, t, &all.list.v[i], &trial, &error))
            continue;
        const bool is_ours = strcmp(all.list.v[i].owner, r->owner) == 0;
        if (!is_again || (!is_ours && !is_taken(t, &trial)))
            st = take(r, t, &trial, all.list.v[i].peak_gflops, err);
    }
    t->row.n_known -= n_ours;
    kiln_arena_fini(&a);
    return st;
}

kiln_status kiln_tune_give_lethal(kiln_tuning *r, kiln_tuned_work *t, kiln_err *err) {
    kiln_db_trials all;
    KILN_TRY(kiln_db_trials_of(r->o->db, &r->scratch, t->id, &all, err));
    for (size_t i = 0; i < all.list.n; i++) {
        kiln_config c;
        kiln_trial_error e;
        if (all.list.v[i].error[0] == '\0' ||
            !kiln_trial_error_parse(kiln_str_from(all.list.v[i].error), &e) ||
            kiln_tune_outcome(e) != KILN_OUTCOME_LETHAL ||
            !kiln_tune_config_read(&r->scratch, t->task.tmpl, &t->whole,
                                   all.list.v[i].candidate.config, &c))
            continue;
        const kiln_lethal l = {t->measured_as, t->task.tmpl->name,
                               kiln_config_index(&t->whole, &c), e};
        kiln_measure_add_lethal(r->pool, &l);
    }
    return KILN_OK;
}

/* ---- records -----------------------------------------------------------------------
 */

/* Times of slices nobody disturbed, where there are enough; the peak beside them. */
static size_t samples_of(kiln_arena *a, const kiln_measured *m, double **out,
                         double *peak) {
    const bool all = m->n_slices - m->n_disturbed < 3;
    double *ns = kiln_array(a, double, m->n_slices + 1), sum = 0;
    size_t n = 0;
    for (size_t i = 0; i < m->n_slices; i++)
        if (all || !m->slice[i].disturbed) {
            sum += m->slice[i].peak_gflops;
            ns[n++] = m->slice[i].ns;
        }
    *out = ns;
    *peak = n > 0 && isfinite(sum) ? sum / (double)n : 0;
    return n;
}

static const char *facts_of(kiln_arena *a, const kiln_measured *m, double memory_gbs) {
    kiln_json_writer w;
    kiln_buf text;
    kiln_buf_init(&text, a);
    kiln_json_writer_init(&w, &text);
    w.compact_from = 1;
    kiln_json_begin_object(&w);
    kiln_json_member_i64(&w, "code_bytes", (int64_t)m->code_bytes);
    kiln_json_member_i64(&w, "workspace_bytes", (int64_t)m->workspace_bytes);
    kiln_json_member_i64(&w, "scratch_bytes", (int64_t)m->scratch_bytes);
    kiln_json_member_i64(&w, "spills", m->spills);
    kiln_json_member_i64(&w, "vector_registers", m->vector_registers);
    kiln_json_member_i64(&w, "disturbed", (int64_t)m->n_disturbed);
    kiln_json_member_f64(&w, "build_ms", m->build_ms);
    kiln_json_member_f64(&w, "run_ms", m->run_ms);
    kiln_json_member_f64(&w, "memory_gbs", memory_gbs);
    kiln_json_end_object(&w);
    return text.p;
}

static kiln_status record(kiln_tuning *r, const kiln_tune_pending *p,
                          const kiln_measured *m, double *peak, kiln_err *err) {
    const bool is_good = m->error == KILN_TRIAL_GOOD;
    double *ns = NULL;
    const size_t n = samples_of(&r->scratch, m, &ns, peak);
    const kiln_db_trial t = {
        .candidate = {p->work->task.tmpl->name,
                      kiln_tune_index_text(&r->scratch, &p->work->task, p->index)},
        .layouts = m->layouts,
        .error = is_good ? "" : kiln_trial_error_name(m->error),
        .detail = kiln_str_printable(&r->scratch, kiln_str_from(m->text), 400),
        .sample_ns = ns,
        .n_samples = n,
        .peak_gflops = *peak,
        .proof = is_good ? kiln_format(&r->scratch, "{\"seeds\": %d, \"worst\": %.4g}",
                                       m->n_seeds, m->worst)
                         : "",
        .facts = facts_of(&r->scratch, m, kiln_measure_count(r->pool).memory_gbs),
        .owner = r->owner,
        .kiln = KILN_VERSION,
        .time_ms = kiln_db_now_ms()};
    return kiln_db_record(r->o->db, p->work->id, &t, NULL, err);
}

static void show(kiln_tuning *r, const kiln_tuned_work *t, const kiln_measured *m) {
    if (r->o->progress == NULL)
        return;
    kiln_tune_state s = {.work = t->row.name,
                         .last_kind = kiln_trial_error_name(m->error),
                         .n_trials = r->n_new,
                         .n_failed = r->n_failed};
    int64_t known = 0;
    s.last_ns = m->error == KILN_TRIAL_GOOD ? m->median_ns : 0;
    s.seconds = (double)(kiln_now_ns() - r->begin_ns) * 1e-9;
    s.trials_per_s = s.seconds > 0 ? (double)s.n_trials / s.seconds : 0;
    for (size_t i = 0; i < r->n; i++) {
        const kiln_tune_row *row = &r->work[i].row;
        s.latency_ns += row->calls * (row->best_ns > 0 ? row->best_ns : row->start_ns);
        known += row->n_known;
    }
    s.seconds_left =
        s.trials_per_s > 0
            ? (double)(kiln_tune_budget(r) - known - s.n_trials) / s.trials_per_s
            : 0;
    if (r->o->seconds > 0)
        s.seconds_left = fmin(s.seconds_left, r->o->seconds - s.seconds);
    r->o->progress(r->o->user, &s);
}

kiln_status kiln_tune_finish(kiln_tuning *r, kiln_tune_pending *p,
                             const kiln_measured *m, kiln_err *err) {
    kiln_tuned_work *t = p->work;
    double peak = 0;
    const kiln_trial trial = {p->index, kiln_tune_outcome(m->error), m->median_ns};
    t->n_pending--;
    t->turn++;
    r->by_error[m->error]++;
    r->n_new++;
    r->n_unlearnt++;
    if (m->error != KILN_TRIAL_LOST)
        KILN_TRY(record(r, p, m, &peak, err));
    r->n_failed +=
        trial.outcome != KILN_OUTCOME_MEASURED && trial.outcome != KILN_OUTCOME_SLOW;
    t->row.n_new += m->error != KILN_TRIAL_LOST;
    KILN_TRY(take(r, t, &trial, peak, err));
    show(r, t, m);
    if (t->n_pending == 0 || t->turn >= KILN_TUNE_TURN)
        kiln_tune_end_turn(r, t);
    return KILN_OK;
}

void kiln_tune_end_turn(kiln_tuning *r, kiln_tuned_work *t) {
    if (r->scheduler == NULL)
        return; /* the first look: replayed later */
    kiln_task_scheduler_report(r->scheduler, (int)(t - r->work), t->turn,
                               t->row.best_ns, t->is_exhausted);
    t->turn = 0;
}

void kiln_tune_replay(kiln_tuning *r, kiln_tuned_work *t, int task) {
    double best = 0;
    int64_t n = 0;
    for (size_t i = 0; i < t->trial.n; i++) {
        const kiln_trial *x = &t->trial.v[i];
        if (x->outcome == KILN_OUTCOME_MEASURED && (best <= 0 || x->cost_ns < best))
            best = x->cost_ns;
        n++;
        if (n == KILN_TUNE_TURN || i + 1 == t->trial.n) {
            kiln_task_scheduler_report(r->scheduler, task, n, best, t->is_exhausted);
            n = 0;
        }
    }
    t->turn = 0;
}

/* ---- the model of all works --------------------------------------------------------
 */

static const char *scope(kiln_tuning *r) {
    return kiln_format(&r->scratch, "%s/%d", r->o->profile->name,
                       r->o->threads > 0 ? r->o->threads : 1);
}

kiln_status kiln_tune_learn(kiln_tuning *r, kiln_err *err) {
    kiln_arena a;
    kiln_sample_set set;
    kiln_status st = KILN_OK;
    r->n_unlearnt = 0;
    kiln_arena_init(&a);
    kiln_sample_set_init(&set, &a, true);
    for (size_t i = 0; i < r->n; i++)
        if (r->work[i].trial.n > 1)
            kiln_sample_set_add(&set, kiln_search_candidates(r->work[i].search),
                                r->work[i].trial.v, r->work[i].trial.n);
    const kiln_samples samples = kiln_sample_set_view(&set);
    if (samples.n >= FEW_TRIALS)
        st = kiln_cost_model_fit(&r->global, &samples, err);
    kiln_arena_fini(&a);
    return st;
}

/* Of another feature version, or damaged: the run begins without one. */
kiln_status kiln_tune_recall_model(kiln_tuning *r, kiln_err *err) {
    kiln_db_model stored;
    kiln_cost_model model;
    bool found = false;
    if (r->o->no_transfer)
        return KILN_OK;
    KILN_TRY(kiln_db_get_model(r->o->db, &r->scratch, r->global.kind->name, scope(r),
                               KILN_FEATURE_VERSION, &found, &stored, err));
    if (found &&
        kiln_cost_model_load(&model, stored.bytes.p, stored.bytes.n, NULL) == KILN_OK) {
        kiln_cost_model_fini(&r->global);
        r->global = model;
    }
    return KILN_OK;
}

kiln_status kiln_tune_keep_model(kiln_tuning *r, kiln_err *err) {
    kiln_buf bytes;
    int64_t n = 0;
    if (r->o->no_transfer || r->n_new == 0)
        return KILN_OK;
    if (!kiln_interrupted()) /* seconds, after thousands of trials */
        KILN_TRY(kiln_tune_learn(r, err));
    if (r->global.n_features == 0)
        return KILN_OK; /* too few trials to learn from */
    kiln_buf_init(&bytes, &r->scratch);
    KILN_TRY(kiln_cost_model_save(&r->global, &bytes, err));
    for (size_t i = 0; i < r->n; i++)
        n += (int64_t)r->work[i].trial.n;
    const kiln_db_model m = {r->global.kind->name, scope(r), KILN_FEATURE_VERSION, n,
                             kiln_buf_str(&bytes)};
    return kiln_db_put_model(r->o->db, &m, err);
}

/* ---- the result --------------------------------------------------------------------
 */

kiln_status kiln_tune_conclude(kiln_tuning *r, kiln_tune_result *out, kiln_err *err) {
    kiln_tune_result res = {.n_new = r->n_new, .is_interrupted = kiln_interrupted()};
    bool any = false;
    memcpy(res.by_error, r->by_error, sizeof res.by_error);
    for (size_t i = 0; i < r->n; i++) {
        const kiln_tune_row *row = &r->work[i].row;
        kiln_vec_push(r->arena, &res.row, *row);
        any |= row->best_ns > 0;
        res.start_ns += row->calls * (row->start_ns > 0 ? row->start_ns : row->best_ns);
        res.best_ns += row->calls * row->best_ns;
    }
    res.end = kiln_task_scheduler_end(r->scheduler);
    if (res.end == KILN_TASKS_RUNNING) /* it was not asked again */
        res.end = kiln_tune_trials_left(r) <= 0 ? KILN_TASKS_TRIALS : KILN_TASKS_TIME;
    res.seconds = (double)(kiln_now_ns() - r->begin_ns) * 1e-9;
    if (!any && r->n_new > 0 && !res.is_interrupted)
        return kiln_fail(err, KILN_ERR_LIB,
                         "none of %lld trials gave a kernel that works; kiln db stats "
                         "counts them by kind",
                         (long long)r->n_new);
    *out = res;
    return KILN_OK;
}
