/* The command of each stage: one of kiln's own verbs. */
#include "pipeline/nightly/nightly_internal.h"
#include "reports/reports.h"

#include <string.h>

typedef struct command {
    kiln_arena *arena;
    kiln_nightly_words words;
} command;

static void add(command *k, const char *word) {
    kiln_vec_push(k->arena, &k->words, word);
}

static void add_option(command *k, const char *name, const char *value) {
    add(k, name);
    add(k, value);
}

static void add_number(command *k, const char *name, int value) {
    add_option(k, name, kiln_format(k->arena, "%d", value));
}

static void add_options(command *k, const char *name, const kiln_nightly_words *words) {
    for (size_t i = 0; i < words->n; i++)
        add_option(k, name, words->v[i]);
}

const char *kiln_nightly_archive(kiln_arena *a, const kiln_nightly_config *c,
                                 const kiln_nightly_graph *g, const kiln_nightly_job *j,
                                 const char *run) {
    KILN_ASSERT(j->model >= 0 && (size_t)j->model < c->model.n,
                "a job of model %d builds no archive", j->model);
    const kiln_nightly_model *m = &c->model.v[j->model];
    const char *folder = g->stage.v[j->stage[KILN_NIGHTLY_BUILD]].folder;
    const char *threads = j->threads > 1 ? kiln_format(a, "-t%d", j->threads) : "";
    return kiln_format(a, "%s/%s/%s-%s-%s%s.kiln.tar.zst", run, folder, m->name,
                       m->version, j->profile->label, threads);
}

const char *kiln_nightly_runner(const kiln_nightly_profile *p) {
    return p->runner.n > 0 ? p->runner.v[0] : p->pool;
}

/* ---- one for each stage ---------------------------------------------------------- */

/* Whose records the stage reads. */
static void put_records(command *k, const kiln_nightly_config *c) {
    add_option(k, "--db", c->db);
    if (c->no_ready)
        add(k, "--no-ready");
}

/* Stages that run an archive take none that others made. */
static void put_keyring(command *k, const kiln_nightly_config *c) {
    if (c->keyring != NULL)
        add_option(k, "--keyring", c->keyring);
}

/* Of stages that run an archive. */
static void put_runner(command *k, const kiln_nightly_job *j) {
    const char *runner = kiln_nightly_runner(j->profile);
    if (runner != NULL)
        add_option(k, "--runner", runner);
    if (runner != NULL && j->profile->priority > 0)
        add_number(k, "--priority", j->profile->priority);
}

static void put_tuners(command *k, const kiln_nightly_profile *p) {
    add_options(k, "--runner", &p->runner);
    if (p->pool != NULL)
        add_option(k, "--pool", p->pool);
    if (p->pool != NULL && p->priority > 0)
        add_number(k, "--priority", p->priority);
}

/* Of a model and of a list of operators. */
static void put_budget(command *k, const kiln_nightly_config *c,
                       const kiln_nightly_tune *t, const kiln_nightly_job *j) {
    add_option(k, "--profile", j->profile->word);
    add_number(k, "--threads", j->threads);
    put_tuners(k, j->profile);
    add_number(k, "--trials", t->trials);
    if (t->seconds > 0)
        add_option(k, "--time-limit", kiln_format(k->arena, "%ds", t->seconds));
    if (t->no_early_end)
        add(k, "--no-early-end");
    if (t->search != NULL)
        add_option(k, "--search", t->search);
    if (t->cost_model != NULL)
        add_option(k, "--cost-model", t->cost_model);
    add_number(k, "--seed", t->seed);
    put_records(k, c);
}

static void put_tune(command *k, const kiln_nightly_config *c,
                     const kiln_nightly_model *m, const kiln_nightly_job *j,
                     const char *file) {
    add(k, "tune");
    add(k, file);
    add_option(k, "--numerics", m->numerics);
    add_options(k, "--shape", &m->shape);
    add_options(k, "--bind", &m->bind);
    put_budget(k, c, &m->tune, j);
}

static void put_tune_set(command *k, const kiln_nightly_config *c,
                         const kiln_nightly_set *s, const kiln_nightly_job *j) {
    add(k, "tune");
    add_option(k, "--ops", s->word);
    put_budget(k, c, &s->tune, j);
}

static void put_build(command *k, const kiln_nightly_config *c,
                      const kiln_nightly_model *m, const kiln_nightly_job *j,
                      const char *file, const char *archive) {
    add(k, "build");
    add(k, file);
    add_option(k, "--profile", j->profile->word);
    add_number(k, "--threads", j->threads);
    add_option(k, "--numerics", m->numerics);
    add_option(k, "--name", m->name);
    add_option(k, "--version", m->version);
    if (strcmp(m->pack, "build") != 0)
        add_option(k, "--pack", m->pack);
    if (c->require_tuned >= 0)
        add_option(k, "--require-tuned",
                   kiln_format(k->arena, "%g%%", c->require_tuned));
    add_options(k, "--shape", &m->shape);
    add_options(k, "--bind", &m->bind);
    put_records(k, c);
    if (c->sign != NULL)
        add_option(k, "--sign", c->sign);
    add_option(k, "-o", archive);
}

static void put_verify(command *k, const kiln_nightly_config *c,
                       const kiln_nightly_model *m, const kiln_nightly_job *j,
                       const char *file, const char *archive) {
    add(k, "verify");
    add(k, archive);
    add_number(k, "--threads", j->threads);
    add_option(k, "--model", file);
    add_options(k, "--bind", &m->bind);
    if (m->golden != NULL)
        add_option(k, "--golden", m->golden);
    put_runner(k, j);
    put_keyring(k, c);
}

bool kiln_nightly_has_baselines(const kiln_nightly_config *c,
                                const kiln_nightly_job *j) {
    return c->baselines != NULL && kiln_nightly_runner(j->profile) == NULL;
}

static void put_bench(command *k, const kiln_nightly_config *c,
                      const kiln_nightly_model *m, const kiln_nightly_job *j,
                      const char *file, const char *archive) {
    add(k, "bench");
    add(k, archive);
    add_option(k, "--model", file);
    add_options(k, "--bind", &m->bind);
    add_number(k, "--threads", j->threads);
    add_number(k, "--rounds", c->rounds);
    add(k, "--steps");
    put_runner(k, j);
    put_keyring(k, c);
    if (kiln_nightly_has_baselines(c, j))
        add_option(k, "--baselines", c->baselines);
}

static void put_ops(command *k, const kiln_nightly_config *c, const kiln_nightly_set *s,
                    const kiln_nightly_job *j) {
    add(k, "bench");
    add_option(k, "--ops", s->word);
    add_option(k, "--profile", j->profile->word);
    add_number(k, "--threads", j->threads);
    if (s->seconds > 0)
        add_option(k, "--seconds", kiln_format(k->arena, "%g", s->seconds));
    put_runner(k, j);
    if (s->baselines != NULL && kiln_nightly_runner(j->profile) == NULL)
        add_option(k, "--baselines", s->baselines);
    put_records(k, c);
}

/* Where they are not the gate's own; and what an alarm is tested with. */
static void put_limits(command *k, const kiln_nightly_config *c,
                       const kiln_nightly_model *m) {
    if (m->fail_above != 100 * KILN_GATE_FAIL_ABOVE ||
        m->pass_below != 100 * KILN_GATE_PASS_BELOW) {
        add_option(k, "--fail-above", kiln_format(k->arena, "%g%%", m->fail_above));
        add_option(k, "--pass-below", kiln_format(k->arena, "%g%%", m->pass_below));
    }
    if (c->injected > 0)
        add_option(k, "--inject", kiln_format(k->arena, "%.12g%%", 100 * c->injected));
}

kiln_nightly_words kiln_nightly_command(kiln_arena *a, const kiln_nightly_config *c,
                                        const kiln_nightly_graph *g,
                                        const kiln_nightly_stage *s,
                                        const nightly_places *at) {
    KILN_ASSERT(s->job < (int)g->job.n && s->model < (int)c->model.n,
                "a stage of job %d, model %d", s->job, s->model);
    command k = {.arena = a};
    const kiln_nightly_job *j = s->job >= 0 ? &g->job.v[s->job] : NULL;
    const kiln_nightly_model *m = s->model >= 0 ? &c->model.v[s->model] : NULL;
    const char *file = s->model >= 0 ? at->model[s->model] : NULL;
    const char *archive =
        s->model >= 0 && j != NULL ? kiln_nightly_archive(a, c, g, j, at->run) : NULL;
    switch (s->kind) {
    case KILN_NIGHTLY_FETCH:
        add(&k, "fetch");
        add(&k, m->fetch);
        if (c->catalog != NULL)
            add_option(&k, "--catalog", c->catalog);
        break;
    case KILN_NIGHTLY_TUNE:
        if (m != NULL)
            put_tune(&k, c, m, j, file);
        else
            put_tune_set(&k, c, &c->set.v[j->set], j);
        break;
    case KILN_NIGHTLY_BUILD:
        put_build(&k, c, m, j, file, archive);
        break;
    case KILN_NIGHTLY_VERIFY:
        put_verify(&k, c, m, j, file, archive);
        break;
    case KILN_NIGHTLY_BENCH:
        put_bench(&k, c, m, j, file, archive);
        break;
    case KILN_NIGHTLY_GATE:
        add(&k, "gate");
        add(&k, archive);
        add_option(&k, "--against", c->accepted);
        put_keyring(&k, c);
        add_option(&k, "--model", file);
        put_runner(&k, j);
        put_limits(&k, c, m);
        if (c->wants_frozen)
            add(&k, "--frozen");
        break;
    case KILN_NIGHTLY_OPS:
        put_ops(&k, c, &c->set.v[j->set], j);
        break;
    case KILN_NIGHTLY_N_KINDS:
        break;
    }
    add_option(&k, "--json", kiln_format(a, "%s/%s/result.json", at->run, s->folder));
    return k.words;
}

/* ---- for people ------------------------------------------------------------------ */

const char *kiln_nightly_shell(kiln_arena *a, const char *program,
                               const kiln_nightly_words *words) {
    kiln_buf out;
    kiln_buf_init(&out, a);
    kiln_buf_put_word(&out, program);
    for (size_t i = 0; i < words->n; i++)
        kiln_buf_put_word(&out, words->v[i]);
    return out.p;
}

const char *kiln_nightly_title(kiln_arena *a, const kiln_nightly_config *c,
                               const kiln_nightly_graph *g,
                               const kiln_nightly_stage *s) {
    KILN_ASSERT(s->job >= 0 || s->model >= 0, "a stage is of no job and no model");
    if (s->job < 0)
        return c->model.v[s->model].name;
    const kiln_nightly_job *j = &g->job.v[s->job];
    const char *name = j->set >= 0 ? c->set.v[j->set].label : c->model.v[j->model].name;
    return kiln_format(a, "%s, %s, %d thread%s", name, j->profile->label, j->threads,
                       j->threads > 1 ? "s" : "");
}

void kiln_nightly_plan_text(kiln_buf *out, const kiln_nightly_config *c,
                            const kiln_nightly_graph *g) {
    kiln_arena *a = out->arena;
    const char **model = kiln_array(a, const char *, c->model.n);
    const nightly_places at = {.run = kiln_path_join(a, c->out, "RUN"), .model = model};
    const char *before = "";
    for (size_t i = 0; i < c->model.n; i++)
        model[i] = c->model.v[i].source != NULL
                       ? c->model.v[i].source
                       : kiln_format(a, "<fetched %s>", c->model.v[i].fetch);
    kiln_buf_printf(out, "%s: %zu job%s, %zu stage%s\nruns in %s, records in %s%s%s\n",
                    c->name, g->job.n, kiln_plural((int64_t)g->job.n), g->stage.n,
                    kiln_plural((int64_t)g->stage.n), c->out, c->db,
                    c->is_frozen ? ", which is frozen" : "",
                    c->no_ready ? ", without ready ones" : "");
    for (size_t i = 0; i < g->stage.n; i++) {
        const kiln_nightly_stage *s = &g->stage.v[i];
        const char *title = kiln_nightly_title(a, c, g, s);
        const kiln_nightly_words words = kiln_nightly_command(a, c, g, s, &at);
        if (strcmp(title, before) != 0)
            kiln_buf_printf(out, "\n%s\n", title);
        before = title;
        if (s->skip != NULL)
            kiln_buf_printf(out, "  %-9s skipped: %s\n",
                            kiln_nightly_kind_name(s->kind), s->skip);
        else
            kiln_buf_printf(out, "  %-9s at most %d s: %s\n",
                            kiln_nightly_kind_name(s->kind), s->limit_s,
                            kiln_nightly_shell(a, "kiln", &words));
    }
}
