/* kiln fetch: model files of a catalog, verified, into the cache. */
#include "cli/cli.h"
#include "zoo/zoo_fetch.h"

#include <inttypes.h>
#include <string.h>

enum {
    OPT_CATALOG,
    OPT_MIRROR,
    OPT_LIST,
    OPT_CACHE,
    OPT_HTTP,
    OPT_OFFLINE,
    OPT_CHECK,
    OPT_RETRIES,
    OPT_STALL,
    OPT_JSON,
    N_OPTIONS
};

static const kiln_option options[N_OPTIONS] = {
    [OPT_CATALOG] = {"--catalog", "FILE",
                     "models of this list (docs/catalog-format.md; default: the one "
                     "that ships)",
                     false},
    [OPT_MIRROR] = {"--mirror", "BASE",
                    "take every file from under this folder or URL, by the paths that "
                    "the catalog states, and from nowhere else",
                    false},
    [OPT_LIST] = {"--list", NULL, "only say what there is", false},
    [OPT_CACHE] = {"--cache", "DIR",
                   "where files are kept ($KILN_CACHE, ~/.cache/kiln)", false},
    [OPT_HTTP] = {"--allow-http", NULL, "also without encryption; hashes protect",
                  false},
    [OPT_OFFLINE] = {"--offline", NULL, "only what is in the cache", false},
    [OPT_CHECK] = {"--check", NULL,
                   "what is in the cache is always hashed; kept for scripts", false},
    [OPT_RETRIES] = {"--retries", "N", "after failures that may pass (5)", false},
    [OPT_STALL] = {"--stall", "S",
                   "end a transfer that brings less than 1 kB/s for S seconds (60)",
                   false},
    [OPT_JSON] = {"--json", "FILE", "write paths as JSON ('-': standard output)",
                  false},
};

/* ---- progress -------------------------------------------------------------------- */

static void show(void *user, const kiln_fetch_entry *e, int64_t done) {
    (void)user;
    kiln_progress_step("fetching", "MB", (double)done * 1e-6, (double)e->bytes * 1e-6,
                       e->name);
}

static void show_wait(void *user, const kiln_fetch_entry *e, const char *why,
                      double seconds) {
    (void)user;
    kiln_cli_say("%s: %s; again in %.0f s\n", e->name, why, seconds);
}

/* ---- list ------------------------------------------------------------------------ */

static void put_text(kiln_buf *out, const kiln_fetch_entry *e) {
    kiln_buf_printf(
        out, "%-40s %8.2f MB  %-10s %-18s %s%s\n", e->name, (double)e->bytes * 1e-6,
        e->format != NULL ? e->format : "", e->licence != NULL ? e->licence : "",
        e->task != NULL ? e->task : "", e->url == NULL ? "; by --mirror" : "");
}

/* A catalog's members: a list of these is one (docs/catalog-format.md). */
static void put_json(kiln_arena *a, kiln_json_writer *w, const kiln_fetch_entry *e) {
    kiln_json_begin_object(w);
    kiln_json_member_str(w, "name", e->name);
    kiln_json_member_str(w, "url", e->url);
    kiln_json_member_str(w, "path", kiln_fetch_path(a, e));
    kiln_json_member_str(w, "sha256", e->sha256);
    kiln_json_member_i64(w, "bytes", e->bytes);
    kiln_json_name(w, "files");
    kiln_json_begin_array(w);
    for (size_t i = 0; i < e->n_beside; i++) {
        kiln_json_begin_object(w);
        kiln_json_member_str(w, "path", e->beside[i].path);
        kiln_json_member_str(w, "sha256", e->beside[i].sha256);
        kiln_json_member_i64(w, "bytes", e->beside[i].bytes);
        kiln_json_end_object(w);
    }
    kiln_json_end_array(w);
    kiln_json_member_str(w, "format", e->format);
    kiln_json_member_str(w, "task", e->task);
    kiln_json_member_str(w, "source", e->source);
    kiln_json_member_str(w, "inputs", e->inputs);
    kiln_json_member_str(w, "golden", e->golden);
    kiln_json_member_str(w, "licence", e->licence);
    kiln_json_end_object(w);
}

static kiln_status list(const kiln_cli_args *args, const kiln_catalog *m,
                        kiln_err *err) {
    kiln_cli_answer answer;
    kiln_cli_answer_init(&answer, args->arena);
    kiln_json_begin_array(&answer.w);
    for (size_t i = 0; i < m->list.n; i++) {
        const kiln_fetch_entry *e = &m->list.v[i];
        put_text(&answer.text, e);
        put_json(args->arena, &answer.w, e);
    }
    kiln_json_end_array(&answer.w);
    return kiln_cli_answer_give(&answer, args, OPT_JSON, err);
}

/* ---- fetch ----------------------------------------------------------------------- */

static kiln_status fetch_all(const kiln_cli_args *args, const kiln_catalog *m,
                             const kiln_fetch_options *o, kiln_err *err) {
    kiln_cli_answer answer;
    kiln_cli_answer_init(&answer, args->arena);
    kiln_json_begin_array(&answer.w);
    for (size_t i = 0; i < args->n_pos; i++) {
        kiln_fetch_entry e;
        const char *path = NULL;
        KILN_TRY(kiln_catalog_find(m, args->pos[i], &e, err));
        KILN_TRY(kiln_fetch(args->arena, &e, o, &path, err));
        kiln_buf_printf(&answer.text, "%s\n", path);
        kiln_json_begin_object(&answer.w);
        kiln_json_member_str(&answer.w, "name", e.name);
        kiln_json_member_str(&answer.w, "path", path);
        kiln_json_member_str(&answer.w, "sha256", e.sha256);
        kiln_json_member_str(&answer.w, "licence", e.licence);
        kiln_json_end_object(&answer.w);
    }
    kiln_json_end_array(&answer.w);
    return kiln_cli_answer_give(&answer, args, OPT_JSON, err);
}

static kiln_status run(const kiln_cli_args *args, int *exit_code, kiln_err *err) {
    kiln_fetch_options o = {.cache = kiln_args_get(args, OPT_CACHE, NULL),
                            .mirror = kiln_args_get(args, OPT_MIRROR, NULL),
                            .allow_http = kiln_args_has(args, OPT_HTTP),
                            .offline = kiln_args_has(args, OPT_OFFLINE),
                            .progress = show,
                            .waits = show_wait};
    kiln_catalog m;
    const char *path = kiln_args_get(args, OPT_CATALOG, NULL);
    (void)exit_code;
    KILN_TRY(kiln_cli_number(kiln_args_get(args, OPT_RETRIES, "5"), "--retries", 0,
                             1000, &o.retries, err));
    KILN_TRY(kiln_cli_number(kiln_args_get(args, OPT_STALL, "60"), "--stall", 1, 86400,
                             &o.stall_s, err));
    if (o.retries == 0)
        o.retries = -1; /* none, where 0 is the default */
    if (path != NULL)
        KILN_TRY(kiln_catalog_read(args->arena, path, &m, err));
    else
        kiln_catalog_shipped(args->arena, &m);
    if (kiln_args_has(args, OPT_LIST))
        return list(args, &m, err);
    if (args->n_pos == 0)
        return kiln_fail(err, KILN_ERR_ARG,
                         "say which models to fetch; kiln fetch --list names all");
    kiln_interrupt_catch();
    return fetch_all(args, &m, &o, err);
}

const kiln_verb kiln_verb_fetch = {
    .name = "fetch",
    .summary = "download trained models, verified, into the cache",
    .usage = "NAME... | --list [options]",
    .example = "  kiln fetch --list\n"
               "  kiln fetch resnet18-v1-7\n"
               "  kiln fetch --catalog models.json mine --cache models\n"
               "  kiln fetch --mirror ../models samplenet_pb\n"
               "  kiln fetch --mirror https://models.example.org/kiln samplenet_pb\n",
    .n_pos_max = 1000,
    .option = options,
    .n_options = N_OPTIONS,
    .run = run,
};
