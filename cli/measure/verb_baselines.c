/* kiln baselines: which vendor libraries are here to compare with, and getting them. */
#include "cli/cli.h"
#include "pipeline/baselines/baselines.h"

#include <stdio.h>
#include <string.h>

enum { OPT_DIR, OPT_ONLY, OPT_JSON, N_OPTIONS };

static const kiln_option options[N_OPTIONS] = {
    [OPT_DIR] = {"--dir", "DIR",
                 "where wheels are ($KILN_BASELINES, ~/.local/share/kiln/baselines)",
                 false},
    [OPT_ONLY] = {"--only", "LIST", "these alone, as onnxruntime,onednn", false},
    [OPT_JSON] = {"--json", "FILE", "write what is here as JSON ('-': standard output)",
                  false},
};

/* Absent and broken are two things. */
static bool put_row(kiln_arena *a, const kiln_baseline *b, const char *dir,
                    kiln_buf *text, kiln_json_writer *w) {
    kiln_baseline_here here = {.version = NULL};
    kiln_err err = {.status = KILN_OK};
    const bool is_broken = b->find(b, a, dir, &here, &err) != KILN_OK;
    const char *state = is_broken ? "failed" : here.is_here ? "here" : "absent";
    const char *problem = is_broken ? err.text : here.remedy;
    const char *formats = kiln_baseline_formats(a, b);
    kiln_buf_printf(text, "%-16s %-10s %-8s %s%s%s%s%s\n", b->name,
                    kiln_baseline_runs(b), state, here.is_here ? here.version : problem,
                    here.hint != NULL ? "; " : "", here.hint != NULL ? here.hint : "",
                    formats[0] != '\0' ? "; reads " : "", formats);
    kiln_json_begin_object(w);
    kiln_json_member_str(w, "name", b->name);
    kiln_json_member_str(w, "doc", b->doc);
    kiln_json_member_str(w, "runs", kiln_baseline_runs(b));
    kiln_json_name(w, "reads");
    kiln_json_begin_array(w);
    for (const char *const *f = b->reads; f != NULL && *f != NULL; f++)
        kiln_json_put_string(w, kiln_str_from(*f));
    kiln_json_end_array(w);
    kiln_json_member_str(w, "state", state);
    kiln_json_member_str(w, "version", here.version);
    kiln_json_member_str(w, "wanted", kiln_baseline_wanted(b));
    kiln_json_member_str(w, "problem", problem);
    kiln_json_member_str(w, "hint", here.hint);
    kiln_json_end_object(w);
    /* What no installing brings is not missing after it. */
    return !is_broken && (here.is_here || !kiln_baseline_has_wheels(b));
}

static kiln_status list(const kiln_cli_args *args, const kiln_baseline *const *which,
                        const char *dir, bool *has_all, kiln_err *err) {
    kiln_cli_answer answer;
    kiln_cli_answer_init(&answer, args->arena);
    kiln_json_begin_array(&answer.w);
    *has_all = true;
    for (; *which != NULL; which++)
        *has_all =
            put_row(args->arena, *which, dir, &answer.text, &answer.w) && *has_all;
    kiln_json_end_array(&answer.w);
    return kiln_cli_answer_give(&answer, args, OPT_JSON, err);
}

/* Nobody gets gigabytes without having named them. */
static const kiln_baseline *const *all(kiln_arena *a, bool installs) {
    KILN_VEC(const kiln_baseline *) v = {.n = 0};
    for (int i = 0; kiln_baseline_at(i) != NULL; i++)
        if (!installs || !kiln_baseline_at(i)->is_by_name)
            kiln_vec_push(a, &v, kiln_baseline_at(i));
    kiln_vec_push(a, &v, NULL);
    return v.v;
}

static kiln_status run(const kiln_cli_args *args, int *exit_code, kiln_err *err) {
    const char *dir = kiln_args_get(args, OPT_DIR, NULL);
    const char *only = kiln_args_get(args, OPT_ONLY, NULL);
    const char *what = args->pos[0];
    const bool installs = strcmp(what, "install") == 0;
    const kiln_baseline *const *which = all(args->arena, installs);
    bool has_all;
    if (!installs && strcmp(what, "list") != 0)
        return kiln_fail(err, KILN_ERR_ARG,
                         "kiln baselines does 'list' or 'install', not '%.64s'", what);
    if (dir == NULL)
        KILN_TRY(kiln_baselines_dir(args->arena, &dir, err));
    if (only != NULL)
        KILN_TRY(
            kiln_baselines_parse(args->arena, only, KILN_BASELINE_ANY, &which, err));
    if (installs) {
        if (!args->is_quiet)
            kiln_cli_say("installing into '%s'; this takes minutes\n", dir);
        KILN_TRY(kiln_baselines_install(args->arena, dir, which, err));
    }
    KILN_TRY(list(args, which, dir, &has_all, err));
    *exit_code = installs && !has_all ? KILN_EXIT_CHECK : KILN_EXIT_OK;
    return KILN_OK;
}

const kiln_verb kiln_verb_baselines = {
    .name = "baselines",
    .summary = "vendor libraries to compare with: which are here, and getting them",
    .usage = "list|install [options]",
    .example = "  kiln baselines install --only onnxruntime\n"
               "  kiln baselines list\n"
               "  kiln bench zoo:resnet18 --baselines onnxruntime --threads 1,2\n"
               "  kiln bench --ops resnet18 --baselines onednn,xnnpack\n",
    .n_pos_min = 1,
    .n_pos_max = 1,
    .option = options,
    .n_options = N_OPTIONS,
    .run = run,
};
