/* kiln gate: is a new archive slower than the accepted one (docs/gate.md)? */
#include "cli/options/op_options.h"
#include "cli/options/sign_option.h"
#include "pipeline/gate/gate.h"

enum {
    OPT_AGAINST,
    OPT_THREADS,
    OPT_SECONDS,
    OPT_SEED,
    OPT_TIME_EQUAL,
    OPT_FAIL_ABOVE,
    OPT_PASS_BELOW,
    OPT_INJECT,
    OPT_KEYRING,
    OPT_MODEL,
    OPT_FROZEN,
    OPT_RUNNER,
    OPT_PRIORITY,
    OPT_JSON,
    N_OPTIONS
};

static const kiln_option options[N_OPTIONS] = {
    [OPT_AGAINST] = {"--against", "ACCEPTED",
                     "the folder that kiln accept fills, or one archive", false},
    [OPT_THREADS] = {"--threads", "N",
                     "run on so many (default: what the archive was built for)", false},
    [OPT_SECONDS] = {"--seconds", "S", "timed runs of each process last so long (0.1)",
                     false},
    [OPT_SEED] = {"--seed", "S",
                  "of the order of processes (default: made of the archives)", false},
    [OPT_TIME_EQUAL] = {"--time-equal", NULL,
                        "time them even where code and parameters are the same", false},
    [OPT_FAIL_ABOVE] = {"--fail-above", "P%",
                        "fails where it is slower by more, at least (1%)", false},
    [OPT_PASS_BELOW] = {"--pass-below", "P%",
                        "passes where it is slower by less, at most (3%)", false},
    [OPT_INJECT] = {"--inject", "P%",
                    "slow the candidate by so much on purpose: does the alarm go off?",
                    false},
    [OPT_KEYRING] = KILN_KEYRING_OPTION,
    [OPT_MODEL] = {"--model", "M",
                   "what a candidate was built from, where the accepted archive was "
                   "built from another file: the reference judges it",
                   true},
    [OPT_FROZEN] =
        {"--frozen", NULL,
         "the ratio to the archive that was frozen, too: half a minute more, "
         "for the history of nights",
         false},
    [OPT_RUNNER] = KILN_RUNNER_OPTION,
    [OPT_PRIORITY] = KILN_PRIORITY_OPTION,
    [OPT_JSON] = {"--json", "FILE",
                  "write everything measured as JSON ('-': standard output)", false},
};

static kiln_status read_options(const kiln_cli_args *args, kiln_gate_options *o,
                                kiln_err *err) {
    const char *seconds = kiln_args_get(args, OPT_SECONDS, "0.1");
    int seed = 0;
    o->against = kiln_args_get(args, OPT_AGAINST, NULL);
    o->models = (kiln_gate_models){args->value[OPT_MODEL], args->n_value[OPT_MODEL]};
    o->times_equal = kiln_args_has(args, OPT_TIME_EQUAL);
    o->wants_frozen = kiln_args_has(args, OPT_FROZEN);
    if (o->against == NULL)
        return kiln_fail(err, KILN_ERR_ARG,
                         "say what was accepted, by --against FOLDER or ARCHIVE; kiln "
                         "accept fills such a folder");
    if (kiln_args_has(args, OPT_THREADS))
        KILN_TRY(kiln_cli_number(kiln_args_get(args, OPT_THREADS, "1"), "--threads", 1,
                                 KILN_DEVICE_MAX_THREADS, &o->threads, err));
    if (kiln_args_has(args, OPT_SEED))
        KILN_TRY(kiln_cli_number(kiln_args_get(args, OPT_SEED, "1"), "--seed", 1,
                                 2000000000, &seed, err));
    o->seed = (uint64_t)seed;
    o->limits = kiln_gate_limits_of(o->limits);
    KILN_ASSERT(o->limits.fail_above > 0 && o->limits.pass_below > 0,
                "limits of %g and %g", o->limits.fail_above, o->limits.pass_below);
    KILN_TRY(kiln_cli_percent(args, OPT_FAIL_ABOVE, "--fail-above", 100,
                              &o->limits.fail_above, err));
    KILN_TRY(kiln_cli_percent(args, OPT_PASS_BELOW, "--pass-below", 100,
                              &o->limits.pass_below, err));
    KILN_TRY(kiln_cli_percent(args, OPT_INJECT, "--inject",
                              100 * KILN_GATE_MAX_INJECTED, &o->injected, err));
    if (!kiln_args_has(args, OPT_SECONDS))
        return KILN_OK;
    if (!kiln_parse_f64(kiln_str_from(seconds), &o->seconds) || !(o->seconds > 0) ||
        o->seconds > 60)
        return kiln_fail(err, KILN_ERR_ARG,
                         "--seconds must be a number above 0, at most 60, is '%s'",
                         kiln_str_printable(args->arena, kiln_str_from(seconds), 64));
    return KILN_OK;
}

static kiln_status run(const kiln_cli_args *args, int *exit_code, kiln_err *err) {
    kiln_gate_options o = {.against = NULL};
    kiln_gate_report report;
    kiln_cli_answer answer;
    KILN_TRY(read_options(args, &o, err));
    KILN_TRY(kiln_cli_keyring(args, OPT_KEYRING, &o.keys, err));
    KILN_TRY(kiln_cli_device(args, OPT_RUNNER, OPT_PRIORITY, args->pos[0], o.keys,
                             &o.where, err));
    o.runner = kiln_args_get(args, OPT_RUNNER, NULL);
    kiln_interrupt_catch();
    KILN_TRY(kiln_gate_run(args->arena, args->pos, args->n_pos, &o, &report, err));
    kiln_cli_answer_init(&answer, args->arena);
    kiln_gate_json(&answer.json, &report);
    kiln_gate_text(&answer.text, &report);
    KILN_TRY(kiln_cli_answer_give(&answer, args, OPT_JSON, err));
    *exit_code = report.outcome == KILN_GATED_FAIL || report.outcome == KILN_GATED_WRONG
                     ? KILN_EXIT_CHECK
                 : report.outcome == KILN_GATED_INVALID ? KILN_EXIT_INVALID
                                                        : KILN_EXIT_OK;
    return KILN_OK;
}

const kiln_verb kiln_verb_gate = {
    .name = "gate",
    .summary = "time a new archive beside the accepted one: is it slower?",
    .usage = "ARCHIVE|FOLDER... --against ACCEPTED [options]",
    .example =
        "  kiln gate resnet18-1-native.kiln.tar.zst --against accepted\n"
        "  kiln gate out/tonight --against accepted --json gate.json\n"
        "  kiln gate new.kiln.tar.zst --against old.kiln.tar.zst --threads 2 "
        "--seed 7\n"
        "  kiln gate new.kiln.tar.zst --against accepted --pass-below 2% "
        "--fail-above 0.5%\n"
        "  kiln gate new.kiln.tar.zst --against accepted --inject 5%\n"
        "  kiln gate resnet18-1-aarch64.kiln.tar.zst --against accepted --runner "
        "board\n",
    .n_pos_min = 1,
    .n_pos_max = 1000,
    .takes_oci = true,
    .option = options,
    .n_options = N_OPTIONS,
    .run = run,
};
