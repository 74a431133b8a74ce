/* Times of a kernel's ways: on record in the study's own database, or measured now, by
 * the workers that tune. */
#include "pipeline/study/study_internal.h"

#include <string.h>

/* ---- on record ------------------------------------------------------------------- */

static kiln_status task_of(kiln_transfer_meter *m, kiln_arena *a,
                           const kiln_tune_work *w, int64_t *id, kiln_err *err) {
    const kiln_db_task t =
        kiln_tune_task_of(a, &w->op, m->o->profile, m->o->threads, KILN_TUNE_CACHE);
    return kiln_db_task_id(m->o->measured, &t, id, err);
}

static void take(kiln_arena *a, kiln_transfer_way *way, const kiln_db_trial *t,
                 size_t most) {
    const bool is_good = t->error == NULL || t->error[0] == '\0';
    if (strcmp(t->candidate.tmpl, way->choice.tmpl->name) != 0 ||
        strcmp(t->candidate.config, way->config) != 0)
        return;
    if (!is_good && way->problem == NULL)
        way->problem = kiln_format(a, "%s: %s", t->error, t->detail);
    if (is_good && way->n < most)
        way->ns[way->n++] = t->median_ns;
}

static kiln_status read_times(kiln_transfer_meter *m, kiln_arena *a, int64_t id,
                              kiln_transfer_way way[KILN_TRANSFER_WAYS],
                              kiln_err *err) {
    const size_t most = (size_t)m->o->rounds;
    kiln_db_trials all;
    KILN_TRY(kiln_db_trials_of(m->o->measured, a, id, &all, err));
    for (int k = 0; k < KILN_TRANSFER_WAYS; k++) {
        if (!way[k].has)
            continue;
        way[k].ns = kiln_array(a, double, most);
        way[k].n = 0;
        way[k].problem = NULL;
        for (size_t i = 0; i < all.list.n; i++)
            take(a, &way[k], &all.list.v[i], most);
    }
    return KILN_OK;
}

/* ---- measured -------------------------------------------------------------------- */

static kiln_status open_pool(kiln_transfer_meter *m, kiln_err *err) {
    const kiln_measure_options o = {.profile = m->o->profile,
                                    .threads = m->o->threads,
                                    .builder_argv = m->o->builder_argv,
                                    .runner_argv = m->o->runner_argv,
                                    .loser = -1,
                                    .measures_spilling = true};
    return m->pool != NULL ? KILN_OK : kiln_measure_open(m->arena, &o, &m->pool, err);
}

static bool is_over(const kiln_transfer_meter *m) {
    const bool is_late =
        m->o->seconds > 0 && (double)m->spent_ns * 1e-9 > m->o->seconds;
    return is_late || kiln_interrupted();
}

static size_t samples_of(kiln_arena *a, const kiln_measured *x, double **out) {
    const bool all = x->n_slices - x->n_disturbed < KILN_WIRE_FEW_SLICES;
    size_t n = 0;
    *out = kiln_array(a, double, x->n_slices + 1);
    for (size_t i = 0; i < x->n_slices; i++)
        if (all || !x->slice[i].disturbed)
            (*out)[n++] = x->slice[i].ns;
    return n;
}

/* One that is lost with its worker is nobody's fault, and is measured another time. */
static kiln_status record(kiln_transfer_meter *m, kiln_arena *a, int64_t id,
                          const kiln_measured *x, kiln_err *err) {
    const kiln_transfer_way *way = x->user;
    const bool is_good = x->error == KILN_TRIAL_GOOD;
    double *ns = NULL;
    const size_t n = samples_of(a, x, &ns);
    if (x->error == KILN_TRIAL_LOST)
        return KILN_OK;
    const kiln_db_trial t = {
        .candidate = {way->choice.tmpl->name, way->config},
        .layouts = x->layouts,
        .error = is_good ? "" : kiln_trial_error_name(x->error),
        .detail = kiln_str_printable(a, kiln_str_from(x->text), 400),
        .sample_ns = ns,
        .n_samples = n,
        .proof = is_good ? kiln_format(a, "{\"seeds\": %d, \"worst\": %.4g}",
                                       x->n_seeds, x->worst)
                         : "",
        .owner = "kiln study transfer",
        .kiln = KILN_VERSION,
        .time_ms = kiln_db_now_ms(),
        .is_repeat = true,
        .runner = x->runner};
    return kiln_db_record(m->o->measured, id, &t, NULL, err);
}

static bool is_said(const kiln_transfer_way *way, int k) {
    for (int i = 0; i < k; i++)
        if (way[i].has && way[i].choice.tmpl == way[k].choice.tmpl &&
            strcmp(way[i].config, way[k].config) == 0)
            return true;
    return false;
}

/* Round by round, so that a machine that becomes slower does so for all ways. */
static kiln_status submit(kiln_transfer_meter *m, int work,
                          kiln_transfer_way way[KILN_TRANSFER_WAYS], kiln_err *err) {
    for (int r = 0; r < m->o->rounds; r++)
        for (int k = 0; k < KILN_TRANSFER_WAYS; k++) {
            uint64_t id = 0;
            if (!way[k].has || way[k].problem != NULL || is_said(way, k) ||
                way[k].n > (size_t)r)
                continue;
            const kiln_measure_candidate c = {
                .work = work,
                .tmpl = way[k].choice.tmpl,
                .config =
                    kiln_config_index(&way[k].choice.space, &way[k].choice.config),
                .never_stops_early = true,
                .takes_spills = true,
                .user = &way[k]};
            KILN_TRY(kiln_measure_submit(m->pool, &c, &id, err));
        }
    return KILN_OK;
}

static kiln_status measure(kiln_transfer_meter *m, kiln_arena *a, int64_t id,
                           const kiln_tune_work *w,
                           kiln_transfer_way way[KILN_TRANSFER_WAYS], kiln_err *err) {
    enum { POLL_MS = 100 };
    kiln_measured x;
    int work = 0;
    KILN_TRY(open_pool(m, err));
    KILN_TRY(kiln_measure_add_work(m->pool, w->op.graph, true, &work, err));
    KILN_TRY(submit(m, work, way, err));
    while (kiln_measure_pending(m->pool) > 0 && !kiln_interrupted())
        if (kiln_measure_poll(m->pool, POLL_MS, &x))
            KILN_TRY(record(m, a, id, &x, err));
    kiln_measure_drop_work(m->pool, work);
    return KILN_OK;
}

kiln_status kiln_transfer_time(kiln_transfer_meter *m, kiln_arena *a,
                               const kiln_tune_work *w,
                               kiln_transfer_way way[KILN_TRANSFER_WAYS],
                               kiln_err *err) {
    int64_t id = 0;
    bool lacks = false;
    KILN_TRY(task_of(m, a, w, &id, err));
    KILN_TRY(read_times(m, a, id, way, err));
    for (int k = 0; k < KILN_TRANSFER_WAYS; k++)
        lacks |=
            way[k].has && way[k].problem == NULL && way[k].n < (size_t)m->o->rounds;
    if (!lacks || m->o->replays)
        return KILN_OK;
    if (is_over(m)) {
        m->is_late = true;
        return KILN_OK;
    }
    const int64_t begin_ns = kiln_now_ns();
    KILN_TRY(measure(m, a, id, w, way, err));
    m->spent_ns += kiln_now_ns() - begin_ns;
    return read_times(m, a, id, way, err);
}
