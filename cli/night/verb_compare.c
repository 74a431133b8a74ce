/* kiln compare: two nightly runs side by side. */
#include "cli/cli.h"

#include "reports/text/reports_compare.h"

enum { OPT_JSON, N_OPTIONS };

static const kiln_option options[N_OPTIONS] = {
    [OPT_JSON] = {"--json", "FILE", "write it as JSON ('-': standard output)", false},
};

static kiln_status read_run(const kiln_cli_args *args, size_t i, kiln_results *out,
                            kiln_err *err) {
    const char *path = args->pos[i];
    if (kiln_dir_exists(path))
        path = kiln_path_join(args->arena, path, "results.json");
    return kiln_results_read(args->arena, path, out, err);
}

static kiln_status run(const kiln_cli_args *args, int *exit_code, kiln_err *err) {
    kiln_results a, b;
    kiln_compare c;
    kiln_cli_answer answer;
    KILN_TRY(read_run(args, 0, &a, err));
    KILN_TRY(read_run(args, 1, &b, err));
    kiln_compare_results(args->arena, &a, &b, &c);
    kiln_cli_answer_init(&answer, args->arena);
    kiln_compare_text(&answer.text, &c);
    kiln_compare_json(&answer.json, &c);
    *exit_code = KILN_EXIT_OK;
    return kiln_cli_answer_give(&answer, args, OPT_JSON, err);
}

const kiln_verb kiln_verb_compare = {
    .name = "compare",
    .summary = "say what differs between two nightly runs, and what may be why",
    .usage = "RUN_A RUN_B [--json FILE]",
    .example = "  kiln compare out/2026-11-20T02-00-00 out/2026-11-21T02-00-00\n",
    .n_pos_min = 2,
    .n_pos_max = 2,
    .option = options,
    .n_options = N_OPTIONS,
    .run = run,
};
