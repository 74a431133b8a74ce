/* A run from its folder to its end. */
#include "pipeline/nightly/nightly_internal.h"

#include <math.h>
#include <string.h>

#include "pipeline/pipeline.h"
#include "pipeline/tune/tune.h"

_Static_assert((int)KILN_NIGHTLY_MAX_JOBS <= (int)KILN_RESULTS_MAX_JOBS,
               "what can be reported");

/* ---- before the first stage ------------------------------------------------------ */

static kiln_status hash_of(kiln_arena *a, const char *path, const char **out,
                           kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_str bytes;
    char hex[KILN_SHA256_HEX];
    const kiln_status st = kiln_file_map(&scratch, path, 0, &bytes, err);
    if (st == KILN_OK) {
        kiln_sha256_of(bytes.p, bytes.n, hex);
        *out = kiln_str_dup(a, hex);
    }
    kiln_arena_fini(&scratch);
    return st;
}

/* What comes with kiln, and is part of what it does. */
static kiln_status find_ready(night *n, const char **sha256, kiln_err *err) {
    kiln_tune_ready ready;
    *sha256 = "no ready records";
    if (n->c->no_ready)
        return KILN_OK;
    KILN_TRY(kiln_tune_ready_open(n->arena, NULL, &ready, err));
    *sha256 = kiln_str_dup(n->arena, ready.records.sha256);
    return KILN_OK;
}

/* Another kiln may do another thing of the same command. */
static kiln_status find_program(night *n, kiln_err *err) {
    const char *hex = NULL, *ready = NULL;
    char *own = NULL;
    if (n->o->program == NULL)
        KILN_TRY(kiln_program_own(n->arena, &own, err));
    n->program = n->o->program != NULL ? n->o->program : own;
    KILN_TRY(hash_of(n->arena, n->program, &hex, err));
    KILN_TRY(find_ready(n, &ready, err));
    const char *text = kiln_format(n->arena, "%s %s %s", KILN_VERSION, hex, ready);
    kiln_sha256_of(text, strlen(text), n->identity);
    return KILN_OK;
}

static kiln_status find_models(night *n, kiln_err *err) {
    n->model = kiln_array(n->arena, const char *, n->c->model.n);
    n->model_sha = kiln_array(n->arena, const char *, n->c->model.n);
    for (size_t i = 0; i < n->c->model.n; i++) {
        const char *source = n->c->model.v[i].source;
        n->model[i] = source;
        n->model_sha[i] = "";
        char hex[KILN_SHA256_HEX];
        if (source == NULL || kiln_str_starts(kiln_str_from(source), "zoo:"))
            continue;
        KILN_TRY(kiln_source_hash(source, hex, err));
        n->model_sha[i] = kiln_str_dup(n->arena, hex);
    }
    return KILN_OK;
}

/* A frozen one must be there, and what it holds is an input of every stage; else it is
 * made, so that whoever reads it first finds it. */
static kiln_status find_database(night *n, kiln_err *err) {
    const kiln_db_options o = {.read_only = n->c->is_frozen};
    kiln_db *db = NULL;
    char hex[KILN_SHA256_HEX] = "";
    if (!n->c->is_frozen && kiln_db_file(n->c->db) != NULL)
        KILN_TRY(kiln_dir_make(kiln_path_dir(n->arena, n->c->db), err));
    KILN_TRY(kiln_db_open(n->arena, n->c->db, &o, &db, err));
    const kiln_status st = n->c->is_frozen ? kiln_db_digest(db, hex, err) : KILN_OK;
    n->db_state = kiln_str_dup(n->arena, hex);
    kiln_db_close(db);
    return st;
}

/* ---- all of it ------------------------------------------------------------------- */

static void count(const night *n, kiln_nightly_result *out) {
    out->folder = n->run;
    out->accepted = n->c->accepted;
    out->program = n->program;
    out->goes_on = n->goes_on;
    out->is_interrupted = n->is_interrupted;
    out->n_stages = (int)n->g->stage.n;
    for (size_t i = 0; i < n->g->stage.n; i++) {
        const nightly_step *s = &n->step[i];
        if (!s->has_ended)
            continue;
        out->n_done += s->marker.state == KILN_STAGE_DONE;
        out->n_skipped += s->marker.state == KILN_STAGE_SKIPPED;
        out->n_failed += s->marker.state == KILN_STAGE_FAILED ||
                         s->marker.state == KILN_STAGE_TIMED_OUT;
        out->n_reused += s->is_reused;
    }
}

static kiln_status write_results(const night *n, const kiln_results *r, kiln_err *err) {
    for (size_t i = 0; i < kiln_results_n_files; i++) {
        const kiln_results_file *f = &kiln_results_files[i];
        kiln_arena scratch = {0};
        kiln_buf text;
        kiln_buf_init(&text, &scratch);
        f->make(&text, r);
        const kiln_status st = kiln_file_write(
            kiln_path_join(&scratch, n->run, f->name), text.p, text.n, err);
        kiln_arena_fini(&scratch);
        KILN_TRY(st);
    }
    return KILN_OK;
}

/* A stage most often takes what it took in the run that ended last. */
static void find_expected(night *n) {
    const char *before = kiln_path_join(n->arena, n->c->out, "latest");
    n->expected_s = kiln_array(n->arena, double, n->g->stage.n);
    for (size_t i = 0; i < n->g->stage.n; i++) {
        nightly_marker m;
        const char *folder = kiln_path_join(n->arena, before, n->g->stage.v[i].folder);
        const bool is_known = kiln_nightly_marker_read(n->arena, folder, &m) &&
                              m.state == KILN_STAGE_DONE && m.seconds >= 0;
        n->expected_s[i] = is_known ? m.seconds : (double)NAN;
    }
}

static kiln_status run_all(night *n, kiln_nightly_result *out, kiln_err *err) {
    KILN_TRY(find_program(n, err));
    KILN_TRY(find_models(n, err));
    KILN_TRY(find_database(n, err));
    KILN_TRY(kiln_nightly_run_open(n, err));
    n->step = kiln_array(n->arena, nightly_step, n->g->stage.n);
    find_expected(n);
    for (size_t i = 0; i < n->g->stage.n && !n->is_interrupted; i++) {
        n->is_interrupted = kiln_interrupted();
        if (!n->is_interrupted)
            KILN_TRY(kiln_nightly_stage_run(n, i, err));
    }
    count(n, out);
    KILN_TRY(kiln_nightly_collect(n, &out->results, &out->failure, err));
    if (n->is_interrupted)
        return write_results(n, &out->results, err);
    if (!(n->c->injected > 0)) /* no night among others */
        kiln_nightly_recall(n, &out->results);
    KILN_TRY(write_results(n, &out->results, err));
    if (!(n->c->injected > 0) && !kiln_nightly_record(n, &out->results))
        KILN_TRY(write_results(n, &out->results, err)); /* they say so */
    out->failure = out->results.failure;
    out->is_good = strcmp(out->results.status, "ok") == 0;
    KILN_TRY(kiln_nightly_run_end(n, err));
    if (!(n->c->injected > 0))
        kiln_nightly_tidy(n, out);
    return KILN_OK;
}

kiln_status kiln_nightly_run(kiln_arena *a, const kiln_nightly_config *c,
                             const kiln_nightly_graph *g, const kiln_nightly_options *o,
                             kiln_nightly_result *out, kiln_err *err) {
    night n = {.arena = a, .c = c, .g = g, .o = o};
    kiln_nightly_result result = {.folder = NULL};
    int lock = -1;
    KILN_TRY(kiln_dir_make(c->out, err));
    KILN_TRY(kiln_nightly_lock(a, c->out, &lock, err));
    const kiln_status st = run_all(&n, &result, err);
    kiln_nightly_unlock(lock);
    if (st == KILN_OK)
        *out = result;
    return st;
}
