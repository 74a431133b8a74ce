/* Jobs and stages of a pipeline, in the order they run: job by job, so that a run that
 * was stopped has whole jobs to show. */
#include "pipeline/nightly/nightly_internal.h"

#include "pipeline/devices/devices.h"
#include "pipeline/kernels/kernels.h"

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
    kiln_err *err;
} maker;

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

static int add_stage(maker *m, kiln_nightly_kind kind, int model, int job,
                     const char *folder, const char *skip) {
    const kiln_nightly_tune *tune = model >= 0 ? &m->c->model.v[model].tune : NULL;
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

static kiln_status abilities_of(maker *m, const char *word, abilities *out) {
    kiln_profile profile;
    const kiln_device *device = NULL;
    kiln_err why = {.status = KILN_OK};
    *out = (abilities){NULL, NULL};
    KILN_TRY(kiln_profile_find(m->arena, word, &profile, m->err));
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

static kiln_status add_job(maker *m, int model, const kiln_nightly_profile *p,
                           int threads, int fetch) {
    const kiln_nightly_model *of = &m->c->model.v[model];
    const char *folder =
        kiln_format(m->arena, "models/%s/%s-t%d", of->name, p->label, threads);
    kiln_nightly_job j = new_job(model, -1, p, threads, folder);
    const int job = (int)m->g->job.n;
    abilities can;
    KILN_TRY(abilities_of(m, p->word, &can));
    j.stage[KILN_NIGHTLY_FETCH] = fetch;
    if (of->tune.is_asked)
        j.stage[KILN_NIGHTLY_TUNE] =
            add_stage(m, KILN_NIGHTLY_TUNE, model, job, folder,
                      m->c->is_frozen ? "the database is frozen" : can.no_measuring);
    j.stage[KILN_NIGHTLY_BUILD] =
        add_stage(m, KILN_NIGHTLY_BUILD, model, job, folder, NULL);
    j.stage[KILN_NIGHTLY_VERIFY] =
        add_stage(m, KILN_NIGHTLY_VERIFY, model, job, folder, can.no_running);
    j.stage[KILN_NIGHTLY_BENCH] =
        add_stage(m, KILN_NIGHTLY_BENCH, model, job, folder, can.no_measuring);
    if (m->c->accepted != NULL)
        j.stage[KILN_NIGHTLY_GATE] =
            add_stage(m, KILN_NIGHTLY_GATE, model, job, folder, can.no_measuring);
    kiln_vec_push(m->arena, &m->g->job, j);
    return KILN_OK;
}

static kiln_status add_model(maker *m, int model) {
    const kiln_nightly_model *of = &m->c->model.v[model];
    int fetch = -1;
    if (of->fetch != NULL)
        fetch = add_stage(m, KILN_NIGHTLY_FETCH, model, -1,
                          kiln_format(m->arena, "models/%s", of->name), NULL);
    for (size_t p = 0; p < of->profile.n; p++)
        for (size_t t = 0; t < of->threads.n; t++) {
            if (m->g->job.n == KILN_NIGHTLY_MAX_JOBS)
                return kiln_fail(m->err, KILN_ERR_LIMIT,
                                 "'%s' makes more than %d jobs of models, profiles and "
                                 "numbers of threads",
                                 m->c->path, KILN_NIGHTLY_MAX_JOBS);
            KILN_TRY(add_job(m, model, &of->profile.v[p], of->threads.v[t], fetch));
        }
    return KILN_OK;
}

static kiln_status add_set(maker *m, int set) {
    const kiln_nightly_set *of = &m->c->set.v[set];
    for (size_t p = 0; p < of->profile.n; p++) {
        abilities can;
        KILN_TRY(abilities_of(m, of->profile.v[p].word, &can));
        for (size_t t = 0; t < of->threads.n; t++) {
            const char *folder = kiln_format(m->arena, "operators/%s/%s-t%d", of->label,
                                             of->profile.v[p].label, of->threads.v[t]);
            kiln_nightly_job j =
                new_job(-1, set, &of->profile.v[p], of->threads.v[t], folder);
            j.stage[KILN_NIGHTLY_OPS] = add_stage(
                m, KILN_NIGHTLY_OPS, -1, (int)m->g->job.n, folder, can.no_measuring);
            kiln_vec_push(m->arena, &m->g->job, j);
        }
    }
    return KILN_OK;
}

kiln_status kiln_nightly_plan(kiln_arena *a, const kiln_nightly_config *c,
                              kiln_nightly_graph *out, kiln_err *err) {
    kiln_nightly_graph g = {.job = {.n = 0}};
    maker m = {.arena = a, .c = c, .g = &g, .err = err};
    for (size_t i = 0; i < c->model.n; i++)
        KILN_TRY(add_model(&m, (int)i));
    for (size_t i = 0; i < c->set.n; i++)
        KILN_TRY(add_set(&m, (int)i));
    *out = g;
    return KILN_OK;
}
