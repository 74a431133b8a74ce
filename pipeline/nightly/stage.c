/* One stage: is it finished already, may it run, what becomes of it.
 *
 * A stage is a function of its command, the program, the files that it reads and how
 * the stages before it ended. All that is hashed; where the marker in its folder says
 * the same, the stage is not repeated. */
#include "packager/sign.h"
#include "pipeline/nightly/nightly_internal.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

enum {
    MAX_ATTEMPTS = 2, /* where somebody else kills it */
    EXIT_BUG = 5,
    EXIT_ENVIRONMENT = 4
};

static const char *folder_of(kiln_arena *a, const night *n, size_t stage) {
    return kiln_path_join(a, n->run, n->g->stage.v[stage].folder);
}

const char *kiln_nightly_result_path(kiln_arena *a, const night *n, size_t stage) {
    KILN_ASSERT(stage < n->g->stage.n, "stage %zu of %zu", stage, n->g->stage.n);
    return kiln_path_join(a, folder_of(a, n, stage), "result.json");
}

static const kiln_nightly_job *job_of(const night *n, const kiln_nightly_stage *s) {
    return s->job >= 0 ? &n->g->job.v[s->job] : NULL;
}

/* ---- what it needs --------------------------------------------------------------- */

/* The stages whose end matters to each kind. */
static const struct needs {
    int n;
    kiln_nightly_kind kind[2];
} needs[KILN_NIGHTLY_N_KINDS] = {
    [KILN_NIGHTLY_TUNE] = {1, {KILN_NIGHTLY_FETCH}},
    [KILN_NIGHTLY_BUILD] = {2, {KILN_NIGHTLY_FETCH, KILN_NIGHTLY_TUNE}},
    [KILN_NIGHTLY_VERIFY] = {2, {KILN_NIGHTLY_FETCH, KILN_NIGHTLY_BUILD}},
    [KILN_NIGHTLY_BENCH] = {2, {KILN_NIGHTLY_BUILD, KILN_NIGHTLY_VERIFY}},
    [KILN_NIGHTLY_GATE] = {2, {KILN_NIGHTLY_BUILD, KILN_NIGHTLY_VERIFY}},
    [KILN_NIGHTLY_OPS] = {1, {KILN_NIGHTLY_TUNE}},
};

/* The index of the i-th; -1: this job has no such stage. */
static int need_of(const night *n, size_t stage, int i) {
    const kiln_nightly_stage *s = &n->g->stage.v[stage];
    const kiln_nightly_job *j = job_of(n, s);
    return j == NULL ? -1 : j->stage[needs[s->kind].kind[i]];
}

/* Tuning that failed leaves defaults to build with. A build that fails its check has
 * made an archive all the same. */
static bool is_enough(kiln_nightly_kind kind, const nightly_marker *m) {
    return kind == KILN_NIGHTLY_TUNE || m->state == KILN_STAGE_DONE ||
           (kind == KILN_NIGHTLY_BUILD && m->product != NULL);
}

/* Why it cannot run; NULL: it can. */
static const char *obstacle(const night *n, size_t stage) {
    const kiln_nightly_stage *s = &n->g->stage.v[stage];
    if (s->skip != NULL)
        return s->skip;
    for (int i = 0; i < needs[s->kind].n; i++) {
        const int before = need_of(n, stage, i);
        if (before < 0)
            continue;
        const kiln_nightly_kind kind = n->g->stage.v[before].kind;
        const nightly_marker *m = &n->step[before].marker;
        if (!is_enough(kind, m))
            return kiln_format(n->arena, "its stage '%s' %s",
                               kiln_nightly_kind_name(kind),
                               m->state == KILN_STAGE_SKIPPED     ? "was skipped"
                               : m->state == KILN_STAGE_TIMED_OUT ? "timed out"
                                                                  : "failed");
    }
    return NULL;
}

static void add_text(kiln_sha256 *h, const char *z) {
    kiln_sha256_add(h, z, strlen(z) + 1);
}

/* golden.json (which names its files and what they hold), a file of operators. */
static kiln_status add_file(kiln_sha256 *h, const char *path, kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_str bytes;
    const kiln_status st = kiln_file_map(&scratch, path, 0, &bytes, err);
    if (st == KILN_OK)
        kiln_sha256_add(h, bytes.p, bytes.n);
    kiln_arena_fini(&scratch);
    return st;
}

/* Which keys are trusted is asked of their files: a ring has the same path when it has
 * other keys. */
static kiln_status add_keys(kiln_sha256 *h, const night *n, kiln_nightly_kind kind,
                            kiln_err *err) {
    kiln_keyring ring = {.n = 0};
    const bool takes_archives = kind == KILN_NIGHTLY_VERIFY ||
                                kind == KILN_NIGHTLY_BENCH || kind == KILN_NIGHTLY_GATE;
    if (kind == KILN_NIGHTLY_BUILD && n->c->sign != NULL)
        return add_file(h, n->c->sign, err);
    if (takes_archives && n->c->keyring != NULL)
        KILN_TRY(kiln_keyring_open(n->arena, n->c->keyring, &ring, err));
    for (size_t i = 0; i < ring.n; i++)
        kiln_sha256_add(h, ring.key[i].key, sizeof ring.key[i].key);
    return KILN_OK;
}

/* Files that the command names by their paths: values of inputs, a profile. */
static kiln_status add_named(kiln_sha256 *h, const night *n,
                             const kiln_nightly_stage *s, const kiln_nightly_job *j,
                             kiln_err *err) {
    const kiln_nightly_words *bind =
        s->model >= 0 ? &n->c->model.v[s->model].bind : NULL;
    for (size_t i = 0; bind != NULL && i < bind->n; i++) {
        const char *file = strrchr(bind->v[i], '=');
        if (file != NULL && kiln_file_exists(file + 1))
            KILN_TRY(add_file(h, file + 1, err));
    }
    if (j != NULL && kiln_file_exists(j->profile->word))
        KILN_TRY(add_file(h, j->profile->word, err));
    if (j != NULL && j->set >= 0 && kiln_file_exists(n->c->set.v[j->set].word))
        KILN_TRY(add_file(h, n->c->set.v[j->set].word, err));
    return KILN_OK;
}

static kiln_status inputs_of(const night *n, size_t stage,
                             const kiln_nightly_words *words, const char **out,
                             kiln_err *err) {
    const kiln_nightly_stage *s = &n->g->stage.v[stage];
    kiln_sha256 h;
    char hex[KILN_SHA256_HEX];
    kiln_sha256_init(&h);
    add_text(&h, n->identity);
    for (size_t i = 0; i < words->n; i++)
        add_text(&h, words->v[i]);
    add_text(&h, n->db_state);
    if (s->model >= 0 && s->kind != KILN_NIGHTLY_FETCH)
        add_text(&h, n->model_sha[s->model]);
    if (s->kind == KILN_NIGHTLY_VERIFY && n->c->model.v[s->model].golden != NULL)
        KILN_TRY(add_file(
            &h, kiln_path_join(n->arena, n->c->model.v[s->model].golden, "golden.json"),
            err));
    KILN_TRY(add_keys(&h, n, s->kind, err));
    KILN_TRY(add_named(&h, n, s, job_of(n, s), err));
    for (int i = 0; i < needs[s->kind].n; i++) {
        const int before = need_of(n, stage, i);
        if (before < 0)
            continue;
        kiln_nightly_marker_hash(&n->step[before].marker, hex);
        add_text(&h, hex);
    }
    kiln_sha256_hex(&h, hex);
    *out = kiln_str_dup(n->arena, hex);
    return KILN_OK;
}

/* ---- is it finished? ------------------------------------------------------------- */

/* What may go better another time is tried again when a run goes on: time-outs,
 * signals, the machine. The rest says the same of the same inputs. */
static bool is_final(const nightly_marker *m) {
    return m->state == KILN_STAGE_DONE ||
           (m->state == KILN_STAGE_FAILED && m->exit_code > 0 &&
            m->exit_code <= EXIT_BUG && m->exit_code != EXIT_ENVIRONMENT);
}

static bool holds(const char *path, const char *sha256) {
    kiln_arena scratch = {0};
    kiln_str bytes;
    char hex[KILN_SHA256_HEX] = "";
    if (kiln_file_exists(path) &&
        kiln_file_map(&scratch, path, 0, &bytes, NULL) == KILN_OK)
        kiln_sha256_of(bytes.p, bytes.n, hex);
    kiln_arena_fini(&scratch);
    return strcmp(hex, sha256) == 0;
}

/* After fetching: where the model is. False where it is no longer, or another one. */
static bool take_model(night *n, size_t stage) {
    const kiln_json *result = NULL;
    const int model = n->g->stage.v[stage].model;
    if (kiln_json_read(n->arena, kiln_nightly_result_path(n->arena, n, stage), &result,
                       NULL) != KILN_OK)
        return false;
    const kiln_json *first = kiln_json_at(result, 0);
    const char *path = kiln_json_string(kiln_json_get(first, "path"), "");
    const char *sha256 = kiln_json_string(kiln_json_get(first, "sha256"), "");
    if (!holds(path, sha256))
        return false;
    n->model[model] = path;
    n->model_sha[model] = sha256;
    return true;
}

static bool is_finished(night *n, size_t stage, const char *inputs,
                        nightly_marker *out) {
    const kiln_nightly_stage *s = &n->g->stage.v[stage];
    nightly_marker m;
    if (!kiln_nightly_marker_read(n->arena, folder_of(n->arena, n, stage), &m) ||
        strcmp(m.inputs, inputs) != 0 || !is_final(&m))
        return false;
    if (m.state == KILN_STAGE_DONE &&
        !kiln_file_exists(kiln_nightly_result_path(n->arena, n, stage)))
        return false;
    if (m.product != NULL && s->kind == KILN_NIGHTLY_BUILD &&
        !holds(kiln_nightly_archive(n->arena, n->c, n->g, job_of(n, s), n->run),
               m.product))
        return false;
    if (m.product != NULL && s->kind == KILN_NIGHTLY_FETCH && !take_model(n, stage))
        return false;
    *out = m;
    return true;
}

/* ---- running it ------------------------------------------------------------------ */

/* Temporary files go where the next attempt finds them: a killed process leaves its
 * own. */
static kiln_status run_child(kiln_arena *a, const night *n, size_t stage,
                             const kiln_nightly_words *words, const char *command,
                             kiln_process_result *out, kiln_err *err) {
    const char *folder = folder_of(a, n, stage);
    const char *temp = kiln_path_join(a, folder, "tmp");
    const char **argv = kiln_array(a, const char *, words->n + 2);
    const char *const env[] = {kiln_format(a, "TMPDIR=%s", temp), "KILN_PROGRESS=lines",
                               NULL};
    nightly_listener l;
    argv[0] = n->program;
    for (size_t i = 0; i < words->n; i++)
        argv[i + 1] = words->v[i];
    const kiln_process_options o = {.argv = argv,
                                    .env = env,
                                    .time_limit_ms =
                                        (int64_t)n->g->stage.v[stage].limit_s * 1000,
                                    .output_limit_bytes = 1, /* who listens keeps it */
                                    .heard = kiln_nightly_heard,
                                    .user = &l};
    KILN_TRY(kiln_remove_tree(folder, err));
    KILN_TRY(kiln_dir_make(temp, err));
    KILN_TRY(kiln_nightly_listen(a, n, stage, folder, command, &l, err));
    kiln_status st = kiln_process_run(a, &o, out, err);
    const kiln_status logged = kiln_nightly_listen_end(&l, st == KILN_OK ? out : NULL,
                                                       st == KILN_OK ? err : NULL);
    st = st != KILN_OK ? st : logged;
    const kiln_status cleaned = kiln_remove_tree(temp, st == KILN_OK ? err : NULL);
    return st != KILN_OK ? st : cleaned;
}

static kiln_status attempt(kiln_arena *a, night *n, size_t stage,
                           const kiln_nightly_words *words, nightly_marker *m,
                           kiln_err *err) {
    const char *folder = folder_of(a, n, stage);
    kiln_process_result r = {.end = KILN_PROCESS_EXITED};
    for (int i = 0; i < MAX_ATTEMPTS; i++) {
        const kiln_status st = run_child(a, n, stage, words, m->command, &r, err);
        n->is_interrupted = kiln_interrupted();
        if (n->is_interrupted)
            return KILN_OK;
        KILN_TRY(st);
        if (r.end != KILN_PROCESS_SIGNALED || r.code != SIGKILL)
            break;
    }
    m->seconds = (double)r.wall_ms * 1e-3;
    kiln_nightly_judge(n->arena, n, stage, &r, m);
    if (m->state == KILN_STAGE_DONE &&
        n->g->stage.v[stage].kind == KILN_NIGHTLY_FETCH && !take_model(n, stage)) {
        m->state = KILN_STAGE_FAILED;
        m->message = "the file that it names is not there";
    }
    return kiln_nightly_marker_write(n->arena, folder, m, err);
}

static void tell(const night *n, size_t stage, bool is_end) {
    const nightly_step *step = &n->step[stage];
    if (n->o->progress == NULL)
        return;
    const kiln_nightly_event e = {
        .title = kiln_nightly_title(n->arena, n->c, n->g, &n->g->stage.v[stage]),
        .stage = kiln_nightly_kind_name(n->g->stage.v[stage].kind),
        .index = stage,
        .n_stages = n->g->stage.n,
        .is_end = is_end,
        .state = kiln_stage_state_name(step->marker.state),
        .message = step->marker.message,
        .seconds = step->marker.seconds,
        .is_reused = step->is_reused};
    n->o->progress(n->o->user, &e);
}

static kiln_status run_it(night *n, size_t stage, const kiln_nightly_words *words,
                          nightly_step *step, kiln_err *err) {
    kiln_arena scratch = {0};
    tell(n, stage, false);
    const kiln_status st = attempt(&scratch, n, stage, words, &step->marker, err);
    kiln_arena_fini(&scratch);
    return st;
}

kiln_status kiln_nightly_stage_run(night *n, size_t stage, kiln_err *err) {
    KILN_ASSERT(stage < n->g->stage.n && !n->step[stage].has_ended,
                "stage %zu of %zu runs, or did already", stage, n->g->stage.n);
    const kiln_nightly_stage *s = &n->g->stage.v[stage];
    const char *why = obstacle(n, stage);
    nightly_step *step = &n->step[stage];
    if (why != NULL) {
        step->marker = (nightly_marker){
            .inputs = "", .state = KILN_STAGE_SKIPPED, .message = why, .command = ""};
        step->has_ended = true;
        tell(n, stage, true);
        return KILN_OK;
    }
    const nightly_places at = {.run = n->run, .model = n->model};
    const kiln_nightly_words words = kiln_nightly_command(n->arena, n->c, n->g, s, &at);
    const char *inputs = NULL;
    KILN_TRY(inputs_of(n, stage, &words, &inputs, err));
    step->is_reused = is_finished(n, stage, inputs, &step->marker);
    if (!step->is_reused) {
        step->marker = (nightly_marker){
            .inputs = inputs,
            .command = kiln_nightly_shell(n->arena, n->program, &words)};
        KILN_TRY(run_it(n, stage, &words, step, err));
        if (n->is_interrupted)
            return KILN_OK;
    }
    step->has_ended = true;
    tell(n, stage, true);
    return KILN_OK;
}
