/* kiln explain: what became of one operator: expression, schedule, loop program, hot
 * loops, and how far from the machine's limits it is. Or of a whole package or model,
 * step by step (explain_shipped.c). */
#include "cli/options/db_option.h"
#include "cli/measure/verb_explain.h"
#include "cli/options/op_options.h"
#include "pipeline/kernels/kernels_explain.h"

#include <string.h>

static const uint64_t max_schedule_bytes = 1 << 20;

static const kiln_option options[N_OPTIONS] = {
    [OPT_OP] = {"--op", "LINE", "the operator, as a line of an ops file", false},
    [OPT_OPS] = {"--ops", "LIST",
                 "take it from resnet18, mobilenet, gemm, gemm-f16, bandwidth or a "
                 "file, by its NAME",
                 false},
    [OPT_STAGE] = {"--stage", "STAGE",
                   "summary, expression, schedule, lowered, program, assembly, knobs "
                   "or all (summary)",
                   true},
    [OPT_KNOBS] = {"--knobs", NULL, "the template's knobs, their options, the choice",
                   false},
    [OPT_PROFILE] = {"--profile", "NAME",
                     "make code for this profile (default: this machine's)", false},
    [OPT_TEMPLATE] = {"--template", "NAME",
                      "use this template (default: the first that fits)", false},
    [OPT_CONFIG_FILE] = {"--config-file", "FILE",
                         "JSON list of {\"op\", \"template\", \"config\"}", false},
    [OPT_SCHEDULE] = {"--schedule", "FILE",
                      "of an operator: a schedule of your own, a primitive a line "
                      "(docs/schedule-text.md)",
                      false},
    [OPT_STEP] = {"--step", "N|NAME",
                  "of a package or model: all there is about this step", false},
    [OPT_MODEL] =
        {"--model", "M",
         "of a package: what it was built from, for schedule and loop program", false},
    [OPT_RESULTS] =
        {"--results", "FILE",
         "times beside them, vendors' too: of a night's results.json, or of what "
         "kiln bench --json wrote",
         false},
    [OPT_DB] = KILN_DB_OPTION,
    [OPT_NO_READY] = KILN_NO_READY_OPTION,
    [OPT_NO_PREDICT] = KILN_NO_PREDICT_OPTION,
    [OPT_THREADS] = {"--threads", "N", "of a model: as for so many (1)", false},
    [OPT_NUMERICS] = KILN_NUMERICS_OPTION,
    [OPT_SHAPE] = {"--shape", "NAME:DIMS", "bind a model's dynamic dimensions", true},
    [OPT_BIND] = {"--bind", "NAME=VALUE", "fix an input: a number, FILE.npy or FILE.pb",
                  true},
    [OPT_SIGNATURE] = KILN_SIGNATURE_OPTION,
    [OPT_STATE] = KILN_STATE_OPTION,
    [OPT_ROUNDING] = KILN_ROUNDING_OPTION,
    [OPT_JSON] = {"--json", "FILE", "write the texts as JSON ('-': standard output)",
                  false},
};

static kiln_status read_stages(const kiln_cli_args *args, unsigned *out,
                               kiln_err *err) {
    unsigned stages = kiln_args_has(args, OPT_KNOBS) ? 1U << KILN_EXPLAIN_KNOBS : 0;
    for (size_t i = 0; i < args->n_value[OPT_STAGE]; i++) {
        const char *word = args->value[OPT_STAGE][i];
        unsigned found =
            strcmp(word, "all") == 0 ? (1U << KILN_N_EXPLAIN_STAGES) - 1 : 0;
        for (int s = 0; s < KILN_N_EXPLAIN_STAGES; s++)
            if (strcmp(word, kiln_explain_stage_name((kiln_explain_stage)s)) == 0)
                found = 1U << s;
        if (found == 0)
            return kiln_fail(err, KILN_ERR_ARG,
                             "--stage must be summary, expression, schedule, lowered, "
                             "program, assembly, knobs or all, is '%s'",
                             word);
        stages |= found;
    }
    *out = stages != 0 ? stages : 1U << KILN_EXPLAIN_SUMMARY;
    KILN_ASSERT(*out < 1U << KILN_N_EXPLAIN_STAGES, "stages %#x", *out);
    return KILN_OK;
}

static kiln_status read_line(const kiln_cli_args *args, kiln_op_line *out,
                             kiln_err *err) {
    const char *op = kiln_args_get(args, OPT_OP, NULL);
    const char *ops = kiln_args_get(args, OPT_OPS, NULL);
    if ((op == NULL) == (ops == NULL) || (ops != NULL) != (args->n_pos == 1))
        return kiln_fail(
            err, KILN_ERR_ARG,
            "say what to explain: a package, a model, --op LINE, or --ops LIST NAME");
    if (op != NULL)
        return kiln_op_line_of(args->arena, op, out, err);
    kiln_op_lines lines;
    KILN_TRY(kiln_op_lines_read(args->arena, ops, &lines, err));
    kiln_buf names;
    kiln_buf_init(&names, args->arena);
    for (size_t i = 0; i < lines.list.n; i++) {
        if (strcmp(lines.list.v[i].name, args->pos[0]) == 0) {
            *out = lines.list.v[i];
            return KILN_OK;
        }
        kiln_buf_printf(&names, "%s%s", i > 0 ? ", " : "", lines.list.v[i].name);
    }
    return kiln_fail(err, KILN_ERR_ARG, "%s has no operator '%s'; there are %s", ops,
                     args->pos[0], names.p);
}

/* *out NULL: none is given. */
static kiln_status read_schedule(const kiln_cli_args *args, kiln_own_schedule *own,
                                 const kiln_own_schedule **out, kiln_err *err) {
    static const int chosen[] = {OPT_TEMPLATE, OPT_CONFIG_FILE};
    *own = (kiln_own_schedule){.file = kiln_args_get(args, OPT_SCHEDULE, NULL)};
    *out = own->file != NULL ? own : NULL;
    if (own->file == NULL)
        return KILN_OK;
    for (size_t i = 0; i < sizeof chosen / sizeof chosen[0]; i++)
        if (kiln_args_has(args, chosen[i]))
            return kiln_fail(err, KILN_ERR_ARG,
                             "option '%s' chooses a schedule, --schedule brings one",
                             options[chosen[i]].name);
    return kiln_file_map(args->arena, own->file, max_schedule_bytes, &own->text, err);
}

static kiln_status run(const kiln_cli_args *args, int *exit_code, kiln_err *err) {
    unsigned stages;
    kiln_op_line line;
    kiln_profile profile;
    kiln_choose_options choose;
    if (args->n_pos == 1 && !kiln_args_has(args, OPT_OP) &&
        !kiln_args_has(args, OPT_OPS))
        return kiln_cli_explain_shipped(args, options, err);
    KILN_TRY(read_stages(args, &stages, err));
    KILN_TRY(read_line(args, &line, err));
    KILN_TRY(kiln_cli_profile(args->arena, kiln_args_get(args, OPT_PROFILE, NULL),
                              &profile, err));
    profile = kiln_cli_kernels_of(&profile);
    KILN_TRY(kiln_cli_choose(args->arena, kiln_args_get(args, OPT_TEMPLATE, NULL),
                             kiln_args_get(args, OPT_CONFIG_FILE, NULL), &choose, err));
    kiln_own_schedule written;
    const kiln_own_schedule *own;
    KILN_TRY(read_schedule(args, &written, &own, err));
    kiln_cli_answer answer;
    bool is_wrong = false;
    kiln_cli_answer_init(&answer, args->arena);
    kiln_json_begin_object(&answer.w);
    kiln_json_member_str(&answer.w, "op", line.name);
    const kiln_workers workers = {.builder_argv = NULL};
    KILN_TRY(kiln_explain(args->arena, &line, &profile, &choose, own, &workers, stages,
                          &answer.text, &answer.w, &is_wrong, err));
    kiln_json_end_object(&answer.w);
    KILN_TRY(kiln_cli_answer_give(&answer, args, OPT_JSON, err));
    *exit_code = is_wrong ? KILN_EXIT_CHECK : KILN_EXIT_OK;
    return KILN_OK;
}

const kiln_verb kiln_verb_explain = {
    .name = "explain",
    .summary = "show what became of an operator, or of each step of a package or model",
    .usage = "PKG|MODEL | --op LINE | --ops LIST NAME [options]",
    .example = "  kiln explain resnet18-1-native.kiln.tar.zst\n"
               "  kiln explain resnet18-1-native.kiln.tar.zst --step 3 --model "
               "zoo:resnet18\n"
               "  kiln explain zoo:dqn --step 2 --results out/latest/results.json\n"
               "  kiln explain --ops resnet18 C2\n"
               "  kiln explain --op \"matmul mine m=64 k=128 n=96\" --stage program\n"
               "  kiln explain --op \"matmul mine m=64 k=128 n=96\" --schedule "
               "mine.txt --stage lowered\n"
               "  kiln explain --ops resnet18 C9 --profile aarch64 --stage assembly\n",
    .n_pos_max = 1,
    .takes_oci = true,
    .option = options,
    .n_options = N_OPTIONS,
    .run = run,
};
