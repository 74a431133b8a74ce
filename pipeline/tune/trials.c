/* What becomes of trials: counts, records, what the scheduler hears, the result. */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "pipeline/tune/run_internal.h"

enum { DEFAULT_TRIALS = 64 };

void kiln_tune_plan(kiln_tuning *r) {
    const size_t n = r->works->list.n;
    int64_t *task = kiln_array(r->arena, int64_t, n);
    for (size_t i = 0; i < r->n; i++)
        task[r->work[i].of] = r->work[i].id;
    const int64_t each = r->o->trials > 0 ? r->o->trials : DEFAULT_TRIALS;
    const bool is_limited = r->o->more == 0 && (r->o->trials > 0 || r->o->seconds <= 0);
    r->budget = (kiln_db_budget){task, n, is_limited ? each * (int64_t)n : INT64_MAX};
    r->n_left = r->o->more > 0 ? r->o->more : r->budget.trials;
}

static kiln_status count_left(kiln_tuning *r, kiln_err *err) {
    int64_t spent = 0;
    KILN_TRY(kiln_db_spent(r->o->db, &r->budget, &spent, err));
    /* Lost ones are not on record; there would be no end to trying. */
    r->n_left = r->budget.trials - spent - r->by_error[KILN_TRIAL_LOST];
    return KILN_OK;
}

kiln_status kiln_tune_count_left(kiln_tuning *r, kiln_err *err) {
    if (r->o->more > 0)
        r->n_left = r->o->more - r->n_new -
                    (r->pool != NULL ? (int64_t)kiln_measure_pending(r->pool) : 0);
    if (r->budget.trials == INT64_MAX)
        return KILN_OK;
    KILN_TRY(count_left(r, err));
    if (r->n_left > 0)
        return KILN_OK;
    KILN_TRY(kiln_tune_bury(r, err)); /* what a tuner had claimed that has died since */
    return count_left(r, err);
}

kiln_outcome kiln_tune_outcome(kiln_trial_error e) {
    switch (e) {
    case KILN_TRIAL_GOOD:
        return KILN_OUTCOME_MEASURED;
    case KILN_TRIAL_SLOW:
        return KILN_OUTCOME_SLOW;
    case KILN_TRIAL_SPILLS:
        return KILN_OUTCOME_SPILLS;
    case KILN_TRIAL_REFUSED:
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
    case KILN_TRIAL_FORBIDDEN:
        return KILN_OUTCOME_LETHAL;
    case KILN_TRIAL_RETURNED:
    case KILN_TRIAL_WRONG:
    case KILN_TRIAL_IMPLAUSIBLE:
        return KILN_OUTCOME_WRONG;
    case KILN_TRIAL_LOST:
    case KILN_N_TRIAL_ERRORS:
        break;
    }
    return KILN_OUTCOME_LOST;
}

/* Process numbers mean something inside of their namespace only: of containers that
 * share a host name, 17 is another process in each. "": not known. */
static const char *namespace_of_pids(kiln_arena *a) {
    char text[64];
    const ssize_t n = readlink("/proc/self/ns/pid", text, sizeof text);
    kiln_str rest = {text, n > 0 && (size_t)n < sizeof text ? (size_t)n : 0}, before;
    return kiln_str_cut(&rest, '[', &before) && kiln_str_cut(&rest, ']', &before)
               ? kiln_str_dupv(a, before)
               : "";
}

/* "HOST/NAMESPACE.PID-START". */
const char *kiln_tune_owner(kiln_arena *a) {
    struct utsname u;
    const int64_t self = (int64_t)getpid();
    return kiln_format(a, "%s/%s.%" PRId64 "-%" PRIu64,
                       uname(&u) == 0 ? u.nodename : "?", namespace_of_pids(a), self,
                       kiln_process_start(self));
}

/* "PID-START", of an older kiln "PID". What it names may live though it cannot be told:
 * then claims end when they expire. */
static bool is_dead(kiln_str process) {
    int64_t pid = 0, start = 0;
    kiln_str number;
    if (!kiln_str_cut(&process, '-', &number) || !kiln_parse_i64(number, &pid) ||
        pid <= 0)
        return false;
    const uint64_t is = kiln_process_start(pid);
    return is == 0 || (kiln_parse_i64(process, &start) && is != (uint64_t)start);
}

/* "NAME HOST/..." and "NAME.3 HOST/..." */
static bool had_our_name(const kiln_tuning *r, const char *who) {
    const size_t n = r->o->name != NULL ? strlen(r->o->name) : 0;
    return n > 0 && strncmp(who, r->o->name, n) == 0 &&
           (who[n] == ' ' || who[n] == '.') && strchr(who, ' ') != NULL;
}

/* Is it known to have died? Of this machine and namespace, by its process. */
static bool has_died(kiln_tuning *r, const char *who) {
    const char *ours = kiln_tune_owner(&r->scratch);
    const size_t host = (size_t)(strrchr(ours, '.') - ours) + 1;
    const char *space = strrchr(who, ' ');
    who = space != NULL ? space + 1 : who;
    return namespace_of_pids(&r->scratch)[0] != '\0' && strncmp(who, ours, host) == 0 &&
           is_dead(kiln_str_from(who + host));
}

/* Claims of tuners that have died, and of those that had our name before us: theirs to
 * measure no more. Of others nothing is known; theirs expire. */
kiln_status kiln_tune_bury(kiln_tuning *r, kiln_err *err) {
    kiln_db_owners owners;
    KILN_TRY(kiln_db_owners_of(r->o->db, &r->scratch, &owners, err));
    for (size_t i = 0; i < owners.list.n; i++) {
        const char *who = owners.list.v[i];
        if (strcmp(who, r->owner) != 0 && (had_our_name(r, who) || has_died(r, who)))
            KILN_TRY(kiln_db_release(r->o->db, who, err));
    }
    return KILN_OK;
}

/* ---- records --------------------------------------------------------------------- */

/* Times of slices nobody disturbed, where there are enough: the record has the median
 * that was heard of, or a later run would know another one. And the peak beside them.
 */
static size_t samples_of(kiln_arena *a, const kiln_measured *m, double **out,
                         double *peak) {
    const bool all = m->n_slices - m->n_disturbed < KILN_WIRE_FEW_SLICES;
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

/* What the machine told of itself while it was measured; nothing of one that does not. */
static void put_heat(kiln_json_writer *w, const kiln_measured *m) {
    uint32_t degrees = 0, least_mhz = 0;
    for (size_t i = 0; i < m->n_slices; i++) {
        const kiln_slice *s = &m->slice[i];
        degrees = s->degrees > degrees ? s->degrees : degrees;
        least_mhz =
            least_mhz == 0 || s->clock_mhz < least_mhz ? s->clock_mhz : least_mhz;
    }
    if (m->n_throttled > 0)
        kiln_json_member_i64(w, "throttled", (int64_t)m->n_throttled);
    if (degrees > 0)
        kiln_json_member_i64(w, "degrees", degrees);
    if (least_mhz > 0)
        kiln_json_member_i64(w, "clock_mhz", least_mhz);
}

/* foreseen NULL: nobody looked. */
static const char *facts_of(kiln_arena *a, const kiln_measured *m, double memory_gbs,
                            const kiln_registers *foreseen) {
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
    if (foreseen != NULL) {
        kiln_json_member_i64(&w, "wanted_registers", foreseen->vectors);
        kiln_json_member_i64(&w, "wanted_guards", foreseen->guards);
    }
    kiln_json_member_i64(&w, "disturbed", (int64_t)m->n_disturbed);
    put_heat(&w, m);
    kiln_json_member_bool(&w, "noisy", m->is_noisy);
    kiln_json_member_f64(&w, "build_ms", m->build_ms);
    kiln_json_member_f64(&w, "run_ms", m->run_ms);
    kiln_json_member_f64(&w, "memory_gbs", memory_gbs);
    kiln_json_member_f64(&w, "least_flops", m->least_flops);
    kiln_json_member_f64(&w, "limit_gflops", m->limit_gflops);
    kiln_json_end_object(&w);
    return text.p;
}

kiln_tune_facts kiln_tune_facts_read(kiln_arena *scratch, const char *text) {
    const kiln_json *json = NULL;
    if (kiln_json_parse(scratch, kiln_str_from(text), "facts", &json, NULL) != KILN_OK)
        return (kiln_tune_facts){.wanted = {.vectors = -1}};
    const double wanted = kiln_json_number(kiln_json_get(json, "wanted_registers"), -1),
                 guards = kiln_json_number(kiln_json_get(json, "wanted_guards"), 0);
    return (kiln_tune_facts){
        .is_noisy = kiln_json_bool(kiln_json_get(json, "noisy"), false),
        .memory_gbs = kiln_json_number(kiln_json_get(json, "memory_gbs"), 0),
        .wanted = {.vectors = wanted >= 0 && wanted < INT16_MAX ? (int)wanted : -1,
                   .guards = guards > 0 ? 1 : 0}};
}

static kiln_db_candidate candidate_of(kiln_tuning *r, const kiln_tune_pending *p) {
    return (kiln_db_candidate){
        p->work->task.tmpl->name,
        kiln_tune_index_text(&r->scratch, &p->work->task, p->index)};
}

static kiln_status unclaim(kiln_tuning *r, const kiln_tune_pending *p, kiln_err *err) {
    const kiln_db_candidate c = candidate_of(r, p);
    return kiln_db_unclaim(r->o->db, p->work->id, &c, r->owner, err);
}

static kiln_status record(kiln_tuning *r, const kiln_tune_pending *p,
                          const kiln_measured *m, double *peak, kiln_err *err) {
    const bool is_good = m->error == KILN_TRIAL_GOOD;
    double *ns = NULL;
    const size_t n = samples_of(&r->scratch, m, &ns, peak);
    kiln_registers wanted;
    const bool was_foreseen = kiln_search_foreseen(p->work->search, p->index, &wanted);
    const kiln_db_trial t = {
        .candidate = candidate_of(r, p),
        .layouts = m->layouts,
        .error = is_good ? "" : kiln_trial_error_name(m->error),
        .detail = kiln_str_printable(&r->scratch, kiln_str_from(m->text), 400),
        .sample_ns = ns,
        .n_samples = n,
        .peak_gflops = *peak,
        .proof = is_good ? kiln_format(&r->scratch, "{\"seeds\": %d, \"worst\": %.4g}",
                                       m->n_seeds, m->worst)
                         : "",
        .facts = facts_of(&r->scratch, m, kiln_measure_count(r->pool).memory_gbs,
                          was_foreseen ? &wanted : NULL),
        .owner = r->owner,
        .kiln = KILN_VERSION,
        .time_ms = kiln_db_now_ms(),
        .is_repeat = p->is_again,
        .runner = m->runner};
    bool was_new = false;
    KILN_TRY(kiln_db_record(r->o->db, p->work->id, &t, &was_new, err));
    for (size_t i = 0; i < r->n && was_new; i++) /* all ways share the task */
        r->work[i].n_rows += r->work[i].lead == p->work->lead;
    return KILN_OK;
}

static void show(kiln_tuning *r, const kiln_tuned_work *t, const kiln_measured *m) {
    if (r->o->progress == NULL)
        return;
    kiln_tune_state s = {.work = t->row.name,
                         .last_kind = kiln_trial_error_name(m->error),
                         .n_trials = r->n_new,
                         .n_failed = r->n_failed};
    s.last_ns = m->error == KILN_TRIAL_GOOD ? m->median_ns : 0;
    s.seconds = (double)(kiln_now_ns() - r->begin_ns) * 1e-9;
    s.trials_per_s = s.seconds > 0 ? (double)s.n_trials / s.seconds : 0;
    for (size_t i = 0; i < r->n; i++) {
        const kiln_tuned_work *w = &r->work[i];
        const double best_ns = w->lead == w ? kiln_tune_best_ns(r, w) : 0;
        if (w->lead == w)
            s.latency_ns += w->row.calls * (best_ns > 0 ? best_ns : w->row.start_ns);
    }
    const double left = r->o->seconds > 0 ? r->o->seconds - s.seconds : HUGE_VAL;
    const double n =
        (double)(r->n_left > 0 ? r->n_left : 0) + (double)kiln_measure_pending(r->pool);
    if (r->budget.trials < INT64_MAX)
        s.n_wanted = s.n_trials + (int64_t)n;
    if (r->budget.trials < INT64_MAX && s.trials_per_s > 0)
        s.seconds_left = fmax(0, fmin(left, n / s.trials_per_s));
    else if (r->o->seconds > 0)
        s.seconds_left = fmax(0, left);
    r->o->progress(r->o->user, &s);
}

static void count(kiln_tuning *r, const kiln_tune_pending *p, const kiln_measured *m) {
    const kiln_outcome outcome = kiln_tune_outcome(m->error);
    KILN_ASSERT(p->work->n_pending > 0 && p->work->lead->n_sent > 0,
                "'%s' heard of a trial that was not sent", p->work->row.name);
    KILN_ASSERT(m->error < KILN_N_TRIAL_ERRORS, "outcome %d", (int)m->error);
    p->work->n_pending--;
    p->work->lead->n_sent--;
    if (p->is_again) {
        r->n_looking--;
        r->n_again++;
        return; /* of a trial that was counted */
    }
    p->work->turn++;
    p->work->row.n_new += m->error != KILN_TRIAL_LOST;
    r->by_error[m->error]++;
    r->n_new++;
    r->n_unlearnt++;
    r->n_failed += outcome != KILN_OUTCOME_MEASURED && outcome != KILN_OUTCOME_SLOW;
}

kiln_status kiln_tune_finish(kiln_tuning *r, kiln_tune_pending *p,
                             const kiln_measured *m, kiln_err *err) {
    kiln_tuned_work *t = p->work;
    KILN_ASSERT(t >= r->work && t < r->work + r->n, "a trial of another run ends");
    kiln_tune_round round = {
        .trial = {p->index, kiln_tune_outcome(m->error), m->median_ns},
        .is_noisy = m->is_noisy};
    if (m->error != KILN_TRIAL_LOST)
        KILN_TRY(record(r, p, m, &round.peak_gflops, err));
    else if (!p->is_again) /* it is anybody's to measure */
        KILN_TRY(unclaim(r, p, err));
    count(r, p, m);
    KILN_TRY(kiln_tune_take(r, t, &round, err));
    show(r, t, m);
    return KILN_OK;
}

void kiln_tune_end_turn(kiln_tuning *r, kiln_tuned_work *t) {
    if (r->scheduler == NULL)
        return; /* the first look: replayed later */
    kiln_tune_tell(r, t, t->turn, t->row.best_ns);
}

double kiln_tune_best_ns(const kiln_tuning *r, const kiln_tuned_work *lead) {
    double best = 0;
    KILN_ASSERT(lead->lead == lead, "'%s' is led by another way", lead->row.name);
    for (size_t i = 0; i < r->n; i++)
        if (r->work[i].lead == lead && r->work[i].row.best_ns > 0 &&
            (best <= 0 || r->work[i].row.best_ns < best))
            best = r->work[i].row.best_ns;
    return best;
}

/* ---- the result ------------------------------------------------------------------ */

/* "3 wrong, 1 lost" */
static const char *kinds_of(kiln_tuning *r) {
    kiln_buf text;
    kiln_buf_init(&text, &r->scratch);
    for (int e = 0; e < KILN_N_TRIAL_ERRORS; e++)
        if (r->by_error[e] > 0)
            kiln_buf_printf(&text, "%s%" PRId64 " %s", text.n > 0 ? ", " : "",
                            r->by_error[e], kiln_trial_error_name((kiln_trial_error)e));
    return text.n > 0 ? text.p : "";
}

/* What all ways of a lead's work came to: the best one's, with the lead's start. */
static kiln_tune_row row_of(kiln_tuning *r, const kiln_tuned_work *lead) {
    kiln_tune_row out = lead->row;
    out.n_configs = 0;
    out.n_known = out.n_new = 0;
    for (size_t i = 0; i < r->n; i++) {
        const kiln_tune_row *x = &r->work[i].row;
        const kiln_tune_way way = {x->tmpl, x->n_known + x->n_new, x->best_ns};
        if (r->work[i].lead != lead)
            continue;
        kiln_vec_push(r->arena, &out.way, way);
        out.n_configs += x->n_configs;
        out.n_known += x->n_known;
        out.n_new += x->n_new;
        if (x->best_ns > 0 && (out.best_ns <= 0 || x->best_ns < out.best_ns)) {
            out.tmpl = x->tmpl;
            out.best_ns = x->best_ns;
            out.best_share = x->best_share;
            out.best = x->best;
        }
    }
    return out;
}

kiln_status kiln_tune_conclude(kiln_tuning *r, kiln_tune_result *out, kiln_err *err) {
    kiln_tune_result res = {.n_new = r->n_new,
                            .n_again = r->n_again,
                            .n_unbelieved = r->n_unbelieved,
                            .transfer = r->transfer,
                            .is_interrupted = kiln_interrupted()};
    bool any = false;
    memcpy(res.by_error, r->by_error, sizeof res.by_error);
    for (size_t i = 0; i < r->n; i++)
        KILN_TRY(kiln_tune_hear(r, &r->work[i], err));
    for (size_t i = 0; i < r->n; i++) {
        if (r->work[i].lead != &r->work[i])
            continue;
        const kiln_tune_row row = row_of(r, &r->work[i]);
        kiln_vec_push(r->arena, &res.row, row);
        any |= row.best_ns > 0;
        res.start_ns += row.calls * (row.start_ns > 0 ? row.start_ns : row.best_ns);
        res.best_ns += row.calls * row.best_ns;
    }
    kiln_tune_draw(r, &res.curve);
    if (r->pool != NULL) {
        const kiln_measure_stats s = kiln_measure_count(r->pool);
        res.n_slices = s.slices;
        res.n_disturbed = s.disturbed;
        res.n_throttled = s.throttled;
    }
    res.end = kiln_task_scheduler_end(r->scheduler);
    if (res.end == KILN_TASKS_RUNNING) /* it was not asked again */
        res.end = r->n_left <= 0 ? KILN_TASKS_TRIALS : KILN_TASKS_TIME;
    res.seconds = (double)(kiln_now_ns() - r->begin_ns) * 1e-9;
    KILN_TRY(kiln_tune_grade(r, res.seconds, &res.card, err));
    if (!any && r->n_new > 0 && !res.is_interrupted)
        return kiln_fail(err, KILN_ERR_LIB,
                         "none of %" PRId64 " trials gave a kernel that works: %s; "
                         "docs/tuning.md says what each kind is and what to look at",
                         r->n_new, kinds_of(r));
    *out = res;
    return KILN_OK;
}
