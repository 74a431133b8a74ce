/* kiln history: look at what nights found, keep it, prune old runs, freeze archives
 * (docs/history.md). */
#include "cli/cli.h"
#include "history/history.h"
#include "pipeline/gate/gate.h"

#include <string.h>

enum {
    OPT_PIPELINE,
    OPT_LAST,
    OPT_OUTPUT,
    OPT_JSON,
    OPT_RUNS,
    OPT_KEEP,
    OPT_GB,
    OPT_FORGET,
    OPT_DRY_RUN,
    N_OPTIONS
};

static const kiln_option options[N_OPTIONS] = {
    [OPT_PIPELINE] = {"--pipeline", "NAME", "its nights alone (all)", false},
    [OPT_LAST] = {"--last", "N", "list, export: the newest N nights (1000)", false},
    [OPT_OUTPUT] = {"-o", "FILE", "export: write the table there (standard output)",
                    false},
    [OPT_JSON] = {"--json", "FILE",
                  "list, export: write all as JSON ('-': standard output)", false},
    [OPT_RUNS] = {"--out", "DIR", "prune: the folder of runs", false},
    [OPT_KEEP] = {"--keep", "N", "prune: so many runs stay", false},
    [OPT_GB] = {"--gb", "X", "prune: runs that take so much together stay", false},
    [OPT_FORGET] = {"--forget", "N",
                    "prune: all but the newest N nights of each pipeline leave the "
                    "history itself",
                    false},
    [OPT_DRY_RUN] = {"--dry-run", NULL, "prune: say what would go, remove nothing",
                     false},
};
_Static_assert(N_OPTIONS <= 32, "actions name their options by bits");

/* The file, or the folder that it lies in: one that is not there yet is a folder unless
 * its name says otherwise. */
static const char *file_of(const kiln_cli_args *args) {
    const char *where = args->pos[1];
    return !kiln_dir_exists(where) && (kiln_file_exists(where) ||
                                       kiln_str_ends(kiln_str_from(where), ".db"))
               ? where
               : kiln_path_join(args->arena, where, KILN_HISTORY_FILE);
}

static kiln_status open_it(const kiln_cli_args *args, bool may_make, kiln_history **h,
                           kiln_err *err) {
    const kiln_history_options o = {.may_make = may_make};
    return kiln_history_open(args->arena, file_of(args), &o, h, err);
}

/* ---- looking --------------------------------------------------------------------- */

static kiln_status read_nights(const kiln_cli_args *args, kiln_history *h,
                               kiln_nights *out, kiln_err *err) {
    int last = KILN_NIGHTS_MOST;
    if (kiln_args_has(args, OPT_LAST))
        KILN_TRY(kiln_cli_number(kiln_args_get(args, OPT_LAST, "1"), "--last", 1,
                                 1000000, &last, err));
    return kiln_history_read(h, args->arena, kiln_args_get(args, OPT_PIPELINE, NULL),
                             (size_t)last, out, err);
}

static kiln_status list(const kiln_cli_args *args, kiln_history *h, int *exit_code,
                        kiln_err *err) {
    kiln_nights n;
    kiln_cli_answer answer;
    (void)exit_code;
    KILN_TRY(read_nights(args, h, &n, err));
    kiln_cli_answer_init(&answer, args->arena);
    kiln_nights_text(&answer.text, &n);
    kiln_nights_json(&answer.json, &n);
    return kiln_cli_answer_give(&answer, args, OPT_JSON, err);
}

/* Of the same pipeline up to the night asked for: the nights that it was judged by. */
static kiln_status find_night(const kiln_cli_args *args, kiln_history *h,
                              kiln_nights *out, size_t *at, kiln_err *err) {
    KILN_ASSERT(args->n_pos > 2, "%zu arguments name no night", args->n_pos);
    const char *run = args->pos[2], *pipeline = kiln_args_get(args, OPT_PIPELINE, NULL);
    kiln_nights all;
    KILN_TRY(kiln_history_read(h, args->arena, pipeline, KILN_NIGHTS_MOST, &all, err));
    for (size_t i = all.n; i-- > 0 && pipeline == NULL;)
        if (strcmp(all.v[i].run, run) == 0)
            pipeline = all.v[i].pipeline;
    *out = (kiln_nights){.n = 0};
    for (size_t i = 0; i < all.n; i++) {
        if (pipeline == NULL || strcmp(all.v[i].pipeline, pipeline) != 0)
            continue;
        kiln_vec_push(args->arena, out, all.v[i]);
        *at = out->n - 1;
        if (strcmp(all.v[i].run, run) == 0)
            return KILN_OK;
    }
    return kiln_fail(err, KILN_ERR_ARG,
                     "the history has no run '%s' among its newest %d nights; 'kiln "
                     "history list %s' names them",
                     kiln_str_printable(args->arena, kiln_str_from(run), 64),
                     KILN_NIGHTS_MOST, args->pos[1]);
}

static kiln_status show(const kiln_cli_args *args, kiln_history *h, int *exit_code,
                        kiln_err *err) {
    kiln_nights n;
    kiln_buf text;
    size_t at = 0;
    (void)exit_code;
    KILN_TRY(find_night(args, h, &n, &at, err));
    kiln_buf_init(&text, args->arena);
    kiln_nights_show(&text, &n, at);
    return kiln_cli_print(args->arena, kiln_buf_str(&text), err);
}

static kiln_status export(const kiln_cli_args *args, kiln_history *h, int *exit_code,
                          kiln_err *err) {
    kiln_nights n;
    kiln_buf csv, json;
    (void)exit_code;
    KILN_TRY(read_nights(args, h, &n, err));
    kiln_buf_init(&csv, args->arena);
    kiln_buf_init(&json, args->arena);
    kiln_nights_csv(&csv, &n);
    kiln_nights_json(&json, &n);
    if (kiln_args_has(args, OPT_JSON))
        KILN_TRY(kiln_cli_output(kiln_args_get(args, OPT_JSON, NULL),
                                 kiln_buf_str(&json), err));
    if (kiln_args_has(args, OPT_JSON) && !kiln_args_has(args, OPT_OUTPUT))
        return KILN_OK;
    return kiln_cli_output(kiln_args_get(args, OPT_OUTPUT, NULL), kiln_buf_str(&csv),
                           err);
}

static kiln_status check(const kiln_cli_args *args, kiln_history *h, int *exit_code,
                         kiln_err *err) {
    kiln_history_names wrong;
    kiln_buf text;
    KILN_TRY(kiln_history_check(h, args->arena, &wrong, err));
    kiln_buf_init(&text, args->arena);
    for (size_t i = 0; i < wrong.n; i++)
        kiln_buf_printf(&text, "%s\n", wrong.v[i]);
    kiln_buf_printf(&text, "%s: %zu problem%s\n", kiln_history_path(h), wrong.n,
                    wrong.n == 1 ? "" : "s");
    if (wrong.n > 0)
        *exit_code = KILN_EXIT_CHECK;
    return kiln_cli_print(args->arena, kiln_buf_str(&text), err);
}

/* ---- changing -------------------------------------------------------------------- */

static kiln_status read_run(kiln_arena *a, const char *run, kiln_night *out,
                            kiln_err *err) {
    const char *file =
        kiln_dir_exists(run) ? kiln_path_join(a, run, "results.json") : run;
    kiln_results r;
    KILN_TRY(kiln_results_read(a, file, &r, err));
    if (r.status != NULL && strcmp(r.status, "interrupted") == 0)
        return kiln_fail(err, KILN_ERR_ARG,
                         "'%s' is of a run that was interrupted: let kiln nightly end "
                         "it first",
                         file);
    if (kiln_history_is_part(a, kiln_path_dir(a, file)))
        return kiln_fail(err, KILN_ERR_ARG,
                         "'%s' is of a part of a pipeline (kiln nightly --only): the "
                         "history holds whole nights",
                         file);
    if (r.injected > 0)
        return kiln_fail(err, KILN_ERR_ARG,
                         "'%s' is of a run with --inject %g%%: it says nothing of any "
                         "archive, and no history takes it",
                         file, 100 * r.injected);
    *out = kiln_night_of(a, &r);
    KILN_TRY(kiln_path_real(a, kiln_path_dir(a, file), &out->folder, err));
    return kiln_history_bytes(out->folder, &out->bytes, err);
}

/* All runs are read before the history is opened: what cannot be added neither begins a
 * history nor leaves one with half of what was asked for. */
static kiln_status add(const kiln_cli_args *args, kiln_history *none, int *exit_code,
                       kiln_err *err) {
    KILN_ASSERT(args->n_pos > 2, "%zu arguments name no run", args->n_pos);
    const size_t n_runs = args->n_pos - 2;
    kiln_night *night = kiln_array(args->arena, kiln_night, n_runs);
    kiln_history *h = NULL;
    kiln_buf text;
    (void)none;
    (void)exit_code;
    for (size_t i = 0; i < n_runs; i++)
        KILN_TRY(read_run(args->arena, args->pos[i + 2], &night[i], err));
    kiln_buf_init(&text, args->arena);
    KILN_TRY(open_it(args, true, &h, err));
    kiln_status st = KILN_OK;
    for (size_t i = 0; i < n_runs && st == KILN_OK; i++) {
        st = kiln_history_append(h, &night[i], err);
        kiln_buf_printf(&text, "added %s of %s\n", night[i].run, night[i].pipeline);
    }
    kiln_history_close(h);
    return st != KILN_OK ? st : kiln_cli_print(args->arena, kiln_buf_str(&text), err);
}

/* What is accepted or frozen in the folder of the history. */
static kiln_status find_needed(const kiln_cli_args *args, kiln_history_names *out,
                               kiln_err *err) {
    kiln_accepted_list list;
    KILN_TRY(kiln_accepted_read(args->arena, kiln_path_dir(args->arena, file_of(args)),
                                &list, err));
    for (size_t i = 0; i < list.now.n; i++)
        kiln_vec_push(args->arena, out, list.now.v[i].sha256);
    for (size_t i = 0; i < list.frozen.n; i++)
        kiln_vec_push(args->arena, out, list.frozen.v[i].sha256);
    return KILN_OK;
}

static kiln_status read_rule(const kiln_cli_args *args, kiln_history_keep *out,
                             kiln_err *err) {
    const char *gb = kiln_args_get(args, OPT_GB, NULL);
    int keep = 0;
    if (kiln_args_has(args, OPT_KEEP))
        KILN_TRY(kiln_cli_number(kiln_args_get(args, OPT_KEEP, "1"), "--keep", 1,
                                 1000000, &keep, err));
    if (gb != NULL && (!kiln_parse_f64(kiln_str_from(gb), &out->gb) || !(out->gb > 0)))
        return kiln_fail(err, KILN_ERR_ARG, "--gb must be a number above 0, is '%s'",
                         kiln_str_printable(args->arena, kiln_str_from(gb), 64));
    out->nights = keep;
    out->is_dry = kiln_args_has(args, OPT_DRY_RUN);
    return KILN_OK;
}

static kiln_status prune_runs(const kiln_cli_args *args, kiln_history *h,
                              kiln_buf *text, kiln_err *err) {
    const char *out = kiln_args_get(args, OPT_RUNS, NULL);
    kiln_history_keep keep = {.nights = 0};
    kiln_history_names needed = {.n = 0}, pipelines;
    kiln_history_pruning p;
    KILN_TRY(read_rule(args, &keep, err));
    if (out == NULL || (keep.nights == 0 && !(keep.gb > 0)))
        return kiln_fail(err, KILN_ERR_ARG,
                         "say which folder of runs by --out DIR, and which stay by "
                         "--keep N, --gb X or both");
    KILN_TRY(find_needed(args, &needed, err));
    keep.needed = needed.v;
    keep.n_needed = needed.n;
    KILN_TRY(kiln_history_prune(h, args->arena, out, &keep, &p, err));
    kiln_history_pruning_text(text, &p, keep.is_dry);
    KILN_TRY(kiln_history_pipelines(h, args->arena, &pipelines, err));
    if (keep.is_dry || pipelines.n == 0 || p.run.n == 0)
        return KILN_OK;
    kiln_history_runs runs;
    KILN_TRY(kiln_history_find_runs(args->arena, out, &runs, err));
    return runs.n == 0
               ? KILN_OK
               : kiln_history_write_index(h, runs.v[runs.n - 1].pipeline, out, err);
}

static kiln_status prune(const kiln_cli_args *args, kiln_history *h, int *exit_code,
                         kiln_err *err) {
    kiln_buf text;
    int forget = 0;
    int64_t gone = 0;
    (void)exit_code;
    kiln_buf_init(&text, args->arena);
    if (kiln_args_has(args, OPT_FORGET)) {
        KILN_TRY(kiln_cli_number(kiln_args_get(args, OPT_FORGET, "1"), "--forget", 1,
                                 1000000, &forget, err));
        if (kiln_args_has(args, OPT_DRY_RUN))
            return kiln_fail(err, KILN_ERR_ARG,
                             "--forget cannot be tried by --dry-run");
        KILN_TRY(kiln_history_forget(h, forget, &gone, err));
        kiln_buf_printf(&text, "%lld night%s left the history\n", (long long)gone,
                        kiln_plural(gone));
    }
    if (!kiln_args_has(args, OPT_FORGET) || kiln_args_has(args, OPT_RUNS))
        KILN_TRY(prune_runs(args, h, &text, err));
    return kiln_cli_print(args->arena, kiln_buf_str(&text), err);
}

/* Of the folder of accepted archives, without its history. */
static kiln_status freeze(const kiln_cli_args *args, kiln_history *h, int *exit_code,
                          kiln_err *err) {
    enum { DIGITS = 12 };
    kiln_accept_rows rows;
    kiln_buf text;
    (void)h;
    (void)exit_code;
    KILN_TRY(kiln_freeze(args->arena, args->pos[1], args->pos + 2, args->n_pos - 2,
                         &rows, err));
    kiln_buf_init(&text, args->arena);
    for (size_t i = 0; i < rows.n; i++) {
        const kiln_accepted *e = &rows.v[i].entry;
        kiln_buf_printf(&text,
                        "frozen %s, %s, %d thread%s: sha256 %.*s replaces %.*s\n",
                        e->model, e->profile, e->threads, e->threads == 1 ? "" : "s",
                        DIGITS, e->sha256, DIGITS, rows.v[i].replaces);
    }
    if (rows.n == 0)
        kiln_buf_puts(&text, "nothing to do: what is accepted is frozen already\n");
    return kiln_cli_print(args->arena, kiln_buf_str(&text), err);
}

/* ---- the verb -------------------------------------------------------------------- */

typedef struct action {
    const char *name;
    kiln_status (*run)(const kiln_cli_args *args, kiln_history *h, int *exit_code,
                       kiln_err *err);
    unsigned takes;      /* options */
    bool opens_itself;   /* gets no history: needs none, or makes it */
    size_t n_min, n_max; /* arguments behind the place */
    const char *behind;  /* what they are */
} action;

enum {
    MANY = 1000,
    OF_NIGHTS = 1u << OPT_PIPELINE | 1u << OPT_LAST | 1u << OPT_JSON,
    OF_PRUNE = 1u << OPT_RUNS | 1u << OPT_KEEP | 1u << OPT_GB | 1u << OPT_FORGET |
               1u << OPT_DRY_RUN
};

static const action actions[] = {
    {"list", list, OF_NIGHTS, false, 0, 0, "nothing else"},
    {"show", show, 1u << OPT_PIPELINE, false, 1, 1, "the name of a run"},
    {"export", export, OF_NIGHTS | 1u << OPT_OUTPUT, false, 0, 0, "nothing else"},
    {"check", check, 0, false, 0, 0, "nothing else"},
    {"add", add, 0, true, 1, MANY, "folders of runs"},
    {"prune", prune, OF_PRUNE, false, 0, 0, "nothing else; runs are in --out"},
    {"freeze", freeze, 0, true, 0, MANY, "names of models, or nothing for all"},
};

static kiln_status find(const kiln_cli_args *args, const action **out, kiln_err *err) {
    for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++)
        if (strcmp(args->pos[0], actions[i].name) == 0)
            *out = &actions[i];
    if (*out == NULL)
        return kiln_fail(
            err, KILN_ERR_ARG,
            "kiln history does list, show, export, check, add, prune or freeze, not "
            "'%s'",
            kiln_str_printable(args->arena, kiln_str_from(args->pos[0]), 64));
    for (int o = 0; o < N_OPTIONS; o++)
        if (kiln_args_has(args, o) && ((*out)->takes & 1u << o) == 0)
            return kiln_fail(err, KILN_ERR_ARG, "kiln history %s takes no option '%s'",
                             (*out)->name, options[o].name);
    const size_t n = args->n_pos - 2;
    if (n < (*out)->n_min || n > (*out)->n_max)
        return kiln_fail(err, KILN_ERR_ARG,
                         "kiln history %s takes the history and %s, has %zu more",
                         (*out)->name, (*out)->behind, n);
    return KILN_OK;
}

static kiln_status run(const kiln_cli_args *args, int *exit_code, kiln_err *err) {
    const action *what = NULL;
    kiln_history *h = NULL;
    KILN_TRY(find(args, &what, err));
    if (what->opens_itself)
        return what->run(args, NULL, exit_code, err);
    KILN_TRY(open_it(args, false, &h, err));
    const kiln_status st = what->run(args, h, exit_code, err);
    kiln_history_close(h);
    return st;
}

const kiln_verb kiln_verb_history = {
    .name = "history",
    .summary = "look at what nights found; prune old runs, freeze archives",
    .usage = "list | show | export | check | add | prune | freeze HISTORY [...]",
    .example = "  kiln history list accepted\n"
               "  kiln history show accepted 2026-11-21T02-00-00\n"
               "  kiln history export accepted -o nights.csv --last 60\n"
               "  kiln history add accepted out/2026-11-21T02-00-00\n"
               "  kiln history prune accepted --out out --keep 60 --gb 20 --dry-run\n"
               "  kiln history freeze accepted resnet18\n",
    .n_pos_min = 2,
    .n_pos_max = 2 + MANY,
    .option = options,
    .n_options = N_OPTIONS,
    .run = run,
};
