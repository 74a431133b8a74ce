/* Jobs and stages of a pipeline, in the order they run: job by job, so that a run that
 * was stopped has whole jobs to show. */
#include "pipeline/nightly/nightly_internal.h"

#include <fnmatch.h>

#include "pipeline/devices/devices.h"

/* Seconds; fetching and tuning by time may take what they are told to. */
static const int default_limit_s[KILN_NIGHTLY_N_KINDS] = {
    [KILN_NIGHTLY_FETCH] = 2 * 3600, [KILN_NIGHTLY_TUNE] = 12 * 3600,
    [KILN_NIGHTLY_BUILD] = 1800,     [KILN_NIGHTLY_VERIFY] = 3600,
    [KILN_NIGHTLY_BENCH] = 3600,     [KILN_NIGHTLY_GATE] = 2 * 3600,
    [KILN_NIGHTLY_OPS] = 3600,
};

typedef struct maker {
    kiln_arena *arena;
    const kiln_nightly_config *c;
    kiln_nightly_graph *g;
    bool *is_used; /* of each pattern of `only`: some job has it */
    kiln_buf jobs; /* that there are, as patterns: for a message */
    kiln_err *err;
} maker;

/* ---- part of a pipeline ---------------------------------------------------------- */

/* "resnet*", "resnet18,native", "*,x86-avx2,2": as shells match names. */
static bool matches(kiln_arena *a, const char *pattern, const char *name,
                    const char *profile, int threads) {
    kiln_str rest = kiln_str_from(pattern), part;
    const char *const of_job[] = {name, profile, kiln_format(a, "%d", threads)};
    size_t i = 0;
    for (; i < sizeof of_job / sizeof of_job[0] && kiln_str_cut(&rest, ',', &part); i++)
        if (fnmatch(kiln_str_dupv(a, part), of_job[i], 0) != 0)
            return false;
    return i > 0 && !kiln_str_cut(&rest, ',', &part);
}

/* Every pattern is asked: each must be some job's. */
static bool is_asked(maker *m, const char *name, const kiln_nightly_profile *p,
                     int threads) {
    bool is = m->c->only.n == 0;
    for (size_t i = 0; i < m->c->only.n; i++) {
        const bool fits = matches(m->arena, m->c->only.v[i], name, p->label, threads);
        m->is_used[i] = m->is_used[i] || fits;
        is = is || fits;
    }
    return is;
}

static void list_job(maker *m, const char *name, const kiln_nightly_profile *p,
                     int threads) {
    kiln_buf_printf(&m->jobs, "%s%s,%s,%d", m->jobs.n > 0 ? " " : "", name, p->label,
                    threads);
}

static bool is_any_asked(maker *m, const kiln_nightly_model *of) {
    bool is = false;
    for (size_t p = 0; p < of->profile.n; p++)
        for (size_t t = 0; t < of->threads.n; t++) {
            list_job(m, of->name, &of->profile.v[p], of->threads.v[t]);
            is |= is_asked(m, of->name, &of->profile.v[p], of->threads.v[t]);
        }
    return is;
}

static kiln_status check_used(const maker *m) {
    enum { MAX_JOBS = 400 };
    for (size_t i = 0; i < m->c->only.n; i++)
        if (!m->is_used[i])
            return kiln_fail(
                m->err, KILN_ERR_ARG,
                "--only must be MODEL[,PROFILE[,THREADS]] of some job, is '%s'; jobs: "
                "%s",
                kiln_str_printable(m->arena, kiln_str_from(m->c->only.v[i]), 64),
                kiln_str_printable(m->arena, kiln_buf_str(&m->jobs), MAX_JOBS));
    return KILN_OK;
}

/* ---- stages ---------------------------------------------------------------------- */

static int limit_of(const maker *m, kiln_nightly_kind kind,
                    const kiln_nightly_tune *tune) {
    /* Beyond its time kiln tune reads the model, and ends what it has begun. */
    enum { SLACK_S = 600 };
    const int own = m->c->limit_s[kind];
    if (own > 0)
        return own;
    return kind == KILN_NIGHTLY_TUNE && tune->seconds > 0 ? tune->seconds + SLACK_S
                                                          : default_limit_s[kind];
}

/* tune: of the model or set. job -1: fetching, for all jobs of the model. */
static int add_stage(maker *m, kiln_nightly_kind kind, int model, int job,
                     const kiln_nightly_tune *tune, const char *folder,
                     const char *skip) {
    const kiln_nightly_stage s = {
        .kind = kind,
        .model = model,
        .job = job,
        .folder = kiln_path_join(m->arena, folder, kiln_nightly_kind_name(kind)),
        .limit_s = limit_of(m, kind, tune),
        .skip = skip,
    };
    kiln_vec_push(m->arena, &m->g->stage, s);
    return (int)m->g->stage.n - 1;
}

/* Of a profile: why its code is not measured here, why it cannot even be run; NULL: it
 * is, it can. */
typedef struct abilities {
    const char *no_measuring, *no_running;
} abilities;

static kiln_status abilities_of(maker *m, const kiln_nightly_profile *of,
                                abilities *out) {
    kiln_profile profile;
    const kiln_device *device = NULL;
    kiln_err why = {.status = KILN_OK};
    *out = (abilities){NULL, NULL};
    if (kiln_nightly_runner(of) != NULL) /* it says so itself, at night */
        return KILN_OK;
    KILN_TRY(kiln_profile_find(m->arena, of->word, &profile, m->err));
    if (kiln_device_measures_here(&profile, &why) != KILN_OK ||
        kiln_runs_here(&profile, &why) != KILN_OK)
        out->no_measuring = kiln_str_dup(m->arena, why.text);
    kiln_err_clear(&why);
    if (kiln_device_judge_for(m->arena, &profile, &device, &why) != KILN_OK)
        out->no_running = kiln_str_dup(m->arena, why.text);
    return KILN_OK;
}

static kiln_nightly_job new_job(int model, int set, const kiln_nightly_profile *p,
                                int threads, const char *folder) {
    kiln_nightly_job j = {
        .model = model, .set = set, .profile = p, .threads = threads, .folder = folder};
    for (int k = 0; k < KILN_NIGHTLY_N_KINDS; k++)
        j.stage[k] = -1;
    return j;
}

static kiln_status check_room(const maker *m) {
    if (m->g->job.n < KILN_NIGHTLY_MAX_JOBS)
        return KILN_OK;
    return kiln_fail(m->err, KILN_ERR_LIMIT,
                     "'%s' makes more than %d jobs of models or lists of operators, "
                     "profiles and numbers of threads",
                     m->c->path, KILN_NIGHTLY_MAX_JOBS);
}

static const char *no_tuning(const maker *m, const abilities *can) {
    return m->c->is_frozen ? "the database is frozen" : can->no_measuring;
}

static kiln_status add_job(maker *m, int model, const kiln_nightly_profile *p,
                           int threads, int fetch) {
    const kiln_nightly_model *of = &m->c->model.v[model];
    const char *folder =
        kiln_format(m->arena, "models/%s/%s-t%d", of->name, p->label, threads);
    kiln_nightly_job j = new_job(model, -1, p, threads, folder);
    const int job = (int)m->g->job.n;
    abilities can;
    KILN_TRY(check_room(m));
    KILN_TRY(abilities_of(m, p, &can));
    const struct {
        kiln_nightly_kind kind;
        bool is_asked;
        const char *skip;
    } stage[] = {
        {KILN_NIGHTLY_TUNE, of->tune.is_asked, no_tuning(m, &can)},
        {KILN_NIGHTLY_BUILD, true, NULL},
        {KILN_NIGHTLY_VERIFY, true, can.no_running},
        {KILN_NIGHTLY_BENCH, true, can.no_measuring},
        {KILN_NIGHTLY_GATE, m->c->accepted != NULL, can.no_measuring},
    };
    j.stage[KILN_NIGHTLY_FETCH] = fetch;
    for (size_t i = 0; i < sizeof stage / sizeof stage[0]; i++)
        if (stage[i].is_asked)
            j.stage[stage[i].kind] = add_stage(m, stage[i].kind, model, job, &of->tune,
                                               folder, stage[i].skip);
    kiln_vec_push(m->arena, &m->g->job, j);
    return KILN_OK;
}

static kiln_status add_model(maker *m, int model) {
    const kiln_nightly_model *of = &m->c->model.v[model];
    int fetch = -1;
    if (!is_any_asked(m, of))
        return KILN_OK;
    if (of->fetch != NULL)
        fetch = add_stage(m, KILN_NIGHTLY_FETCH, model, -1, &of->tune,
                          kiln_format(m->arena, "models/%s", of->name), NULL);
    for (size_t p = 0; p < of->profile.n; p++)
        for (size_t t = 0; t < of->threads.n; t++)
            if (is_asked(m, of->name, &of->profile.v[p], of->threads.v[t]))
                KILN_TRY(add_job(m, model, &of->profile.v[p], of->threads.v[t], fetch));
    return KILN_OK;
}

static kiln_status add_set_job(maker *m, int set, const kiln_nightly_profile *p,
                               int threads, const abilities *can) {
    const kiln_nightly_set *of = &m->c->set.v[set];
    const char *folder =
        kiln_format(m->arena, "operators/%s/%s-t%d", of->label, p->label, threads);
    kiln_nightly_job j = new_job(-1, set, p, threads, folder);
    const int job = (int)m->g->job.n;
    KILN_TRY(check_room(m));
    if (of->tune.is_asked)
        j.stage[KILN_NIGHTLY_TUNE] = add_stage(m, KILN_NIGHTLY_TUNE, -1, job, &of->tune,
                                               folder, no_tuning(m, can));
    j.stage[KILN_NIGHTLY_OPS] =
        add_stage(m, KILN_NIGHTLY_OPS, -1, job, &of->tune, folder, can->no_measuring);
    kiln_vec_push(m->arena, &m->g->job, j);
    return KILN_OK;
}

static kiln_status add_set(maker *m, int set) {
    const kiln_nightly_set *of = &m->c->set.v[set];
    for (size_t p = 0; p < of->profile.n; p++) {
        abilities can;
        KILN_TRY(abilities_of(m, &of->profile.v[p], &can));
        for (size_t t = 0; t < of->threads.n; t++) {
            list_job(m, of->label, &of->profile.v[p], of->threads.v[t]);
            if (is_asked(m, of->label, &of->profile.v[p], of->threads.v[t]))
                KILN_TRY(
                    add_set_job(m, set, &of->profile.v[p], of->threads.v[t], &can));
        }
    }
    return KILN_OK;
}

kiln_status kiln_nightly_plan(kiln_arena *a, const kiln_nightly_config *c,
                              kiln_nightly_graph *out, kiln_err *err) {
    kiln_nightly_graph g = {.job = {.n = 0}};
    maker m = {.arena = a, .c = c, .g = &g, .err = err};
    m.is_used = kiln_array(a, bool, c->only.n + 1);
    kiln_buf_init(&m.jobs, a);
    for (size_t i = 0; i < c->model.n; i++)
        KILN_TRY(add_model(&m, (int)i));
    for (size_t i = 0; i < c->set.n; i++)
        KILN_TRY(add_set(&m, (int)i));
    KILN_TRY(check_used(&m));
    *out = g;
    return KILN_OK;
}
