/* kiln bench --ops: how fast are single operators, of what the machine could do, and
 * are they right? */
#include "cli/op_options.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    OPT_OPS,
    OPT_OP,
    OPT_FILTER,
    OPT_THREADS,
    OPT_PROFILE,
    OPT_TEMPLATE,
    OPT_CONFIG_FILE,
    OPT_SECONDS,
    OPT_JSON,
    N_OPTIONS
};

static const kiln_option options[N_OPTIONS] = {
    [OPT_OPS] = {"--ops", "LIST",
                 "resnet18, mobilenet, gemm, or a file (docs/ops-file.md)", false},
    [OPT_OP] = {"--op", "LINE", "one operator, as a line of such a file", false},
    [OPT_FILTER] = {"--filter", "TEXT", "only operators whose name contains TEXT",
                    false},
    [OPT_THREADS] = {"--threads", "N", "threads for each kernel (1)", false},
    [OPT_PROFILE] = {"--profile", "NAME",
                     "make code for this profile (default: this machine's)", false},
    [OPT_TEMPLATE] = {"--template", "NAME",
                      "use this template (default: the first that fits)", false},
    [OPT_CONFIG_FILE] = {"--config-file", "FILE",
                         "JSON list of {\"op\", \"template\", \"config\"}", false},
    [OPT_SECONDS] = {"--seconds", "S", "measure each operator so long (0.5)", false},
    [OPT_JSON] = {"--json", "FILE", "write the results as JSON ('-': standard output)",
                  false},
};

/* Progress goes to stderr, and only where somebody watches. */
static void show_progress(void *user, const char *name, size_t done, size_t total) {
    (void)user;
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r%zu of %zu  %-40.40s\r", done + 1, total, name);
}

static kiln_status read_lines(const kiln_cli_args *args, kiln_op_lines *out,
                              kiln_err *err) {
    const char *ops = kiln_args_get(args, OPT_OPS, NULL);
    const char *op = kiln_args_get(args, OPT_OP, NULL);
    if ((ops == NULL) == (op == NULL))
        return kiln_fail(err, KILN_ERR_ARG,
                         "say what to measure, by --ops LIST or by --op LINE");
    if (ops != NULL)
        return kiln_op_lines_read(args->arena, ops, out, err);
    kiln_op_line line;
    KILN_TRY(kiln_op_line_of(args->arena, op, &line, err));
    *out = (kiln_op_lines){.list = {.n = 0}};
    kiln_vec_push(args->arena, &out->list, line);
    return KILN_OK;
}

static kiln_status read_numbers(const kiln_cli_args *args, kiln_bench_options *o,
                                kiln_err *err) {
    const char *threads = kiln_args_get(args, OPT_THREADS, "1");
    const char *seconds = kiln_args_get(args, OPT_SECONDS, "0.5");
    int64_t n;
    if (!kiln_parse_i64(kiln_str_from(threads), &n) || n < 1 ||
        n > KILN_POOL_MAX_THREADS)
        return kiln_fail(err, KILN_ERR_ARG,
                         "--threads must be a number from 1 to %d, is '%s'",
                         KILN_POOL_MAX_THREADS, threads);
    o->threads = (int)n;
    if (!kiln_parse_f64(kiln_str_from(seconds), &o->seconds) || !(o->seconds >= 0) ||
        o->seconds > 3600)
        return kiln_fail(err, KILN_ERR_ARG,
                         "--seconds must be a number from 0 to 3600, is '%s'", seconds);
    return KILN_OK;
}

static kiln_status run(const kiln_cli_args *args, int *exit_code, kiln_err *err) {
    kiln_bench_options o = {.filter = kiln_args_get(args, OPT_FILTER, NULL),
                            .seed = 1,
                            .progress = show_progress};
    kiln_op_lines lines;
    kiln_profile profile;
    kiln_bench bench;
    KILN_TRY(read_lines(args, &lines, err));
    KILN_TRY(read_numbers(args, &o, err));
    KILN_TRY(kiln_cli_profile(args->arena, kiln_args_get(args, OPT_PROFILE, NULL),
                              &profile, err));
    KILN_TRY(kiln_cli_choose(args->arena, kiln_args_get(args, OPT_TEMPLATE, NULL),
                             kiln_args_get(args, OPT_CONFIG_FILE, NULL), &o.choose,
                             err));
    kiln_interrupt_catch();
    KILN_TRY(kiln_bench_run(args->arena, &lines, &profile, &o, &bench, err));
    kiln_buf json, text;
    kiln_buf_init(&json, args->arena);
    kiln_buf_init(&text, args->arena);
    kiln_bench_json(&json, &bench);
    kiln_bench_text(&text, &bench);
    KILN_TRY(kiln_cli_report(kiln_args_get(args, OPT_JSON, NULL), &json, &text, err));
    /* Nothing measured is no success either. */
    *exit_code = bench.n_wrong > 0 || bench.n_refused > 0 ? KILN_EXIT_CHECK : 0;
    if (bench.is_interrupted && *exit_code == 0)
        return kiln_fail(err, KILN_ERR_IO,
                         "interrupted after %zu operators; the same command measures "
                         "again, --filter chooses some",
                         bench.row.n);
    return KILN_OK;
}

const kiln_verb kiln_verb_bench = {
    .name = "bench",
    .summary = "measure and check single operators beside the machine's peak",
    .usage = "--ops LIST [options]",
    .example =
        "  kiln bench --ops resnet18 --filter C2\n"
        "  kiln bench --op \"conv mine h=28 ic=64 oc=96 k=3 act=relu\" --json -\n"
        "  kiln bench --ops gemm --profile x86-avx2 --seconds 1\n",
    .option = options,
    .n_options = N_OPTIONS,
    .run = run,
};
