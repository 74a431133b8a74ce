/* kiln db: look at the tuning database, check it, exchange records. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/cli.h"
#include "cli/options/db_option.h"
#include "pipeline/tune/tune.h"

enum { OPT_DB, OPT_OUT, OPT_BEST, OPT_KEEP, OPT_JSON, N_OPTIONS };

static const kiln_option options[N_OPTIONS] = {
    [OPT_DB] = KILN_DB_OPTION,
    [OPT_OUT] = {"-o", "FILE", "export: the file to write (standard output)", false},
    [OPT_BEST] = {"--best", NULL,
                  "export: the best configurations alone, as ready records to ship",
                  false},
    [OPT_KEEP] = {"--keep", "N", "prune: how many of each task stay (64)", false},
    [OPT_JSON] = {"--json", "FILE",
                  "stats, check: write the findings as JSON ('-': standard output)",
                  false},
};
_Static_assert(N_OPTIONS <= 32, "actions name their options by bits");

/* ---- stats ----------------------------------------------------------------------- */

static const char *day(kiln_arena *a, int64_t ms) {
    const time_t t = (time_t)(ms / 1000);
    struct tm utc;
    char text[32] = "";
    if (ms > 0 && gmtime_r(&t, &utc) != NULL)
        strftime(text, sizeof text, "%Y-%m-%d", &utc);
    return kiln_str_dup(a, text);
}

static void put_counts(kiln_cli_answer *answer, const char *title, const char *member,
                       const kiln_db_kind_counts *c) {
    kiln_json_name(&answer->w, member);
    kiln_json_begin_object(&answer->w);
    for (size_t i = 0; i < c->n; i++) {
        const char *kind = c->v[i].kind[0] != '\0' ? c->v[i].kind : "unknown";
        kiln_buf_printf(&answer->text, "%-12s %" PRId64 " %s\n", i == 0 ? title : "",
                        c->v[i].n, kind);
        kiln_json_member_i64(&answer->w, kind, c->v[i].n);
    }
    kiln_json_end_object(&answer->w);
}

static kiln_status stats(const kiln_cli_args *args, kiln_db *db, int *exit_code,
                         kiln_err *err) {
    kiln_db_stats s;
    kiln_cli_answer answer;
    (void)exit_code;
    KILN_TRY(kiln_db_stats_of(db, args->arena, &s, err));
    const struct {
        const char *name;
        int64_t n;
    } row[] = {{"workloads", s.n_workloads}, {"profiles", s.n_profiles},
               {"tasks", s.n_tasks},         {"trials", s.n_trials},
               {"good", s.n_good},           {"repeats", s.n_repeats},
               {"claims", s.n_claims},       {"models", s.n_models},
               {"bytes", s.file_bytes}};
    kiln_cli_answer_init(&answer, args->arena);
    kiln_json_begin_object(&answer.w);
    kiln_buf_printf(&answer.text, "%-12s %s\n", "database", kiln_db_path(db));
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        kiln_buf_printf(&answer.text, "%-12s %" PRId64 "\n", row[i].name, row[i].n);
        kiln_json_member_i64(&answer.w, row[i].name, row[i].n);
    }
    kiln_buf_printf(&answer.text, "%-12s %s to %s\n", "measured",
                    day(args->arena, s.first_ms), day(args->arena, s.last_ms));
    kiln_json_member_i64(&answer.w, "first_ms", s.first_ms);
    kiln_json_member_i64(&answer.w, "last_ms", s.last_ms);
    put_counts(&answer, "failed", "errors", &s.error);
    put_counts(&answer, "runners", "runners", &s.runner);
    kiln_json_end_object(&answer.w);
    return kiln_cli_answer_give(&answer, args, OPT_JSON, err);
}

/* ---- check ----------------------------------------------------------------------- */

static kiln_status check(const kiln_cli_args *args, kiln_db *db, int *exit_code,
                         kiln_err *err) {
    kiln_db_problems p;
    kiln_cli_answer answer;
    KILN_TRY(kiln_db_check(db, args->arena, &p, err));
    KILN_TRY(kiln_tune_check(db, args->arena, &p, err));
    kiln_cli_answer_init(&answer, args->arena);
    kiln_json_begin_object(&answer.w);
    kiln_json_name(&answer.w, "problems");
    kiln_json_begin_array(&answer.w);
    for (size_t i = 0; i < p.line.n; i++) {
        kiln_buf_printf(&answer.text, "%s\n", p.line.v[i]);
        kiln_json_put_string(&answer.w, kiln_str_from(p.line.v[i]));
    }
    kiln_json_end_array(&answer.w);
    kiln_json_member_bool(&answer.w, "was_cut", p.was_cut);
    kiln_json_end_object(&answer.w);
    if (p.line.n == 0)
        kiln_buf_printf(&answer.text, "%s: no problems\n", kiln_db_path(db));
    else
        kiln_buf_printf(&answer.text, "%s: %zu%s problems\n", kiln_db_path(db),
                        p.line.n, p.was_cut ? " or more" : "");
    if (p.line.n > 0)
        *exit_code = KILN_EXIT_CHECK;
    return kiln_cli_answer_give(&answer, args, OPT_JSON, err);
}

/* ---- ready records --------------------------------------------------------------- */

static void put_findings(kiln_cli_answer *answer, const char *what,
                         const kiln_db_problems *p) {
    kiln_json_name(&answer->w, what);
    kiln_json_begin_array(&answer->w);
    for (size_t i = 0; i < p->line.n; i++) {
        kiln_buf_printf(&answer->text, "%s: %s\n", what, p->line.v[i]);
        kiln_json_put_string(&answer->w, kiln_str_from(p->line.v[i]));
    }
    kiln_json_end_array(&answer->w);
}

/* Of a file: does each record hold with today's templates? */
static kiln_status check_ready(const kiln_cli_args *args, int *exit_code,
                               kiln_err *err) {
    const char *path = args->pos[1];
    kiln_cli_answer answer;
    kiln_tune_ready ready;
    kiln_db_problems wrong, stale;
    KILN_TRY(kiln_tune_ready_open(args->arena, path, &ready, err));
    KILN_TRY(kiln_tune_ready_check(args->arena, &ready.records, &wrong, &stale, err));
    kiln_cli_answer_init(&answer, args->arena);
    kiln_json_begin_object(&answer.w);
    kiln_json_member_i64(&answer.w, "records", (int64_t)ready.records.list.n);
    put_findings(&answer, "wrong", &wrong);
    put_findings(&answer, "stale", &stale);
    kiln_json_end_object(&answer.w);
    kiln_buf_printf(&answer.text, "%s: %zu ready records, %zu wrong, %zu stale\n", path,
                    ready.records.list.n, wrong.line.n, stale.line.n);
    if (wrong.line.n + stale.line.n > 0)
        *exit_code = KILN_EXIT_CHECK;
    return kiln_cli_answer_give(&answer, args, OPT_JSON, err);
}

/* What is left out is said: a ready file must not lack half a network unnoticed. */
static kiln_status export_best(const kiln_cli_args *args, kiln_db *db, kiln_buf *out,
                               kiln_err *err) {
    kiln_db_readies ready;
    kiln_db_problems left;
    KILN_TRY(kiln_tune_ready_make(args->arena, db, &ready, &left, err));
    for (size_t i = 0; i < left.line.n; i++)
        kiln_cli_say("left out: %s\n", left.line.v[i]);
    kiln_cli_say("%zu ready record%s, %zu task%s left out\n", ready.list.n,
                 kiln_plural((int64_t)ready.list.n), left.line.n,
                 kiln_plural((int64_t)left.line.n));
    return kiln_db_ready_write(out, &ready, err);
}

/* ---- learn ----------------------------------------------------------------------- */

static kiln_status learn(const kiln_cli_args *args, kiln_db *db, int *exit_code,
                         kiln_err *err) {
    const kiln_tune_transfer *model = NULL;
    kiln_buf out;
    (void)exit_code;
    kiln_interrupt_catch();
    KILN_TRY(kiln_tune_transfer_renew(args->arena, db, &kiln_cost_model_xgboost, &model,
                                      err));
    kiln_buf_init(&out, args->arena);
    if (model != NULL)
        kiln_tune_transfer_text(&out, model);
    else
        kiln_buf_puts(&out, "too few workloads to learn from: 4 must be tuned\n");
    return kiln_cli_output(NULL, kiln_buf_str(&out), err);
}

/* ---- export, import, prune ------------------------------------------------------- */

static kiln_status export(const kiln_cli_args *args, kiln_db *db, int *exit_code,
                          kiln_err *err) {
    kiln_buf text;
    (void)exit_code;
    kiln_buf_init(&text, args->arena);
    KILN_TRY(kiln_args_has(args, OPT_BEST) ? export_best(args, db, &text, err)
                                           : kiln_db_export(db, &text, err));
    return kiln_cli_output(kiln_args_get(args, OPT_OUT, NULL), kiln_buf_str(&text),
                           err);
}

static kiln_status import(const kiln_cli_args *args, kiln_db *db, int *exit_code,
                          kiln_err *err) {
    enum { MAX_BYTES = 1 << 30 };
    kiln_str text;
    kiln_buf out;
    (void)exit_code;
    kiln_buf_init(&out, args->arena);
    for (size_t i = 1; i < args->n_pos; i++) {
        kiln_db_import_counts n = {0};
        KILN_TRY(kiln_file_map(args->arena, args->pos[i], MAX_BYTES, &text, err));
        KILN_TRY(kiln_db_import(db, text, args->pos[i], &n, err));
        kiln_buf_printf(&out, "%s: %" PRId64 " new, %" PRId64 " known\n", args->pos[i],
                        n.n_new, n.n_known);
        KILN_TRY(kiln_db_log(db, "import", args->pos[i], err));
    }
    return kiln_cli_output(NULL, kiln_buf_str(&out), err);
}

static kiln_status prune(const kiln_cli_args *args, kiln_db *db, int *exit_code,
                         kiln_err *err) {
    const char *const text = kiln_args_get(args, OPT_KEEP, "64");
    int64_t keep = 0, gone = 0;
    kiln_buf out;
    (void)exit_code;
    if (!kiln_parse_i64(kiln_str_from(text), &keep) || keep < 1 || keep > INT32_MAX)
        return kiln_fail(err, KILN_ERR_ARG,
                         "--keep must be a number of 1 or more, is '%s'",
                         kiln_str_printable(args->arena, kiln_str_from(text), 64));
    KILN_TRY(kiln_db_prune(db, (int)keep, &gone, err));
    KILN_ASSERT(gone >= 0, "%" PRId64 " trials went", gone);
    KILN_TRY(kiln_db_log(
        db, "prune",
        kiln_format(args->arena, "%" PRId64 " trial%s", gone, kiln_plural(gone)), err));
    kiln_buf_init(&out, args->arena);
    kiln_buf_printf(&out, "%" PRId64 " trial%s removed\n", gone, kiln_plural(gone));
    return kiln_cli_output(NULL, kiln_buf_str(&out), err);
}

/* ---- the verb -------------------------------------------------------------------- */

typedef struct action {
    const char *name;
    kiln_status (*run)(const kiln_cli_args *args, kiln_db *db, int *exit_code,
                       kiln_err *err);
    unsigned takes; /* options, beside --db */
    bool writes;
    bool makes; /* the file may be new */
    bool wants_files;
    /* Of a file instead of the database; NULL: there is no such thing. */
    kiln_status (*run_on_file)(const kiln_cli_args *args, int *exit_code,
                               kiln_err *err);
} action;

static const action actions[] = {
    {"stats", stats, 1u << OPT_JSON, false, false, false, NULL},
    {"check", check, 1u << OPT_JSON, false, false, false, check_ready},
    {"export", export, 1u << OPT_OUT | 1u << OPT_BEST, false, false, false, NULL},
    {"import", import, 0, true, true, true, NULL},
    {"prune", prune, 1u << OPT_KEEP, true, false, false, NULL},
    {"learn", learn, 0, true, false, false, NULL},
};

static kiln_status find(const kiln_cli_args *args, const action **out, kiln_err *err) {
    for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++)
        if (strcmp(args->pos[0], actions[i].name) == 0)
            *out = &actions[i];
    if (*out == NULL)
        return kiln_fail(
            err, KILN_ERR_ARG,
            "kiln db does stats, check, export, import, prune or learn, not '%s'",
            kiln_str_printable(args->arena, kiln_str_from(args->pos[0]), 64));
    for (int o = OPT_DB + 1; o < N_OPTIONS; o++)
        if (kiln_args_has(args, o) && ((*out)->takes & 1u << o) == 0)
            return kiln_fail(err, KILN_ERR_ARG, "kiln db %s takes no option '%s'",
                             (*out)->name, options[o].name);
    if ((*out)->run_on_file != NULL && args->n_pos == 2 && !kiln_args_has(args, OPT_DB))
        return KILN_OK;
    if ((*out)->wants_files != (args->n_pos > 1))
        return kiln_fail(err, KILN_ERR_ARG, "kiln db %s takes %s", (*out)->name,
                         (*out)->wants_files ? "the files to import"
                                             : "no file; the "
                                               "database is named by --db");
    return KILN_OK;
}

static kiln_status run(const kiln_cli_args *args, int *exit_code, kiln_err *err) {
    const action *what = NULL;
    const char *path = NULL;
    kiln_db *db = NULL;
    KILN_TRY(find(args, &what, err));
    if (what->run_on_file != NULL && args->n_pos == 2)
        return what->run_on_file(args, exit_code, err);
    KILN_TRY(kiln_cli_db_path(args, OPT_DB, what->makes, &path, err));
    const char *file = kiln_db_file(path);
    if (!what->makes && file != NULL && !kiln_file_exists(file))
        return kiln_fail(err, KILN_ERR_MISSING,
                         "there is no tuning database '%s'; kiln tune makes one", path);
    const kiln_db_options o = {.read_only = !what->writes};
    KILN_TRY(kiln_db_open(args->arena, path, &o, &db, err));
    const kiln_status st = what->run(args, db, exit_code, err);
    kiln_db_close(db);
    return st;
}

const kiln_verb kiln_verb_db = {
    .name = "db",
    .summary = "look at the tuning database, check it, exchange records",
    .usage =
        "stats | check [READY-FILE] | export [--best] [-o FILE] | import FILE... | "
        "prune [--keep N] | learn",
    .example = "  kiln db stats\n"
               "  kiln db export -o records.jsonl\n"
               "  kiln db import records.jsonl --db other.db\n"
               "  kiln db export --best -o ready.jsonl && kiln db check ready.jsonl\n",
    .n_pos_min = 1,
    .n_pos_max = 64,
    .option = options,
    .n_options = N_OPTIONS,
    .run = run,
};
