/* kiln accept: archives become what kiln gate compares with (docs/gate.md). */
#include "cli/options/op_options.h"
#include "cli/options/sign_option.h"
#include "pipeline/gate/gate.h"
#include "pipeline/nightly/nightly.h"

enum {
    OPT_TO,
    OPT_WHO,
    OPT_MODEL,
    OPT_TRUST,
    OPT_DRY_RUN,
    OPT_KEYRING,
    OPT_RUNNER,
    OPT_PRIORITY,
    OPT_JSON,
    N_OPTIONS
};

static const kiln_option options[N_OPTIONS] = {
    [OPT_TO] = {"--to", "ACCEPTED", "the folder that kiln gate looks into", false},
    [OPT_WHO] = {"--who", "NAME", "who accepts (default: the user's name)", false},
    [OPT_MODEL] = {"--model", "M",
                   "what an archive was built from: the reference judges it", true},
    [OPT_TRUST] = {"--trust", NULL, "accept what nobody but itself says is right",
                   false},
    [OPT_DRY_RUN] = {"--dry-run", NULL,
                     "verify, say what would be done, change nothing", false},
    [OPT_KEYRING] = KILN_KEYRING_OPTION,
    [OPT_RUNNER] = KILN_RUNNER_OPTION,
    [OPT_PRIORITY] = KILN_PRIORITY_OPTION,
    [OPT_JSON] = {"--json", "FILE",
                  "write what was done as JSON ('-': standard output)", false},
};

static kiln_status run(const kiln_cli_args *args, int *exit_code, kiln_err *err) {
    (void)exit_code;
    kiln_accept_options o = {
        .to = kiln_args_get(args, OPT_TO, NULL),
        .who = kiln_args_get(args, OPT_WHO, NULL),
        .models = {args->value[OPT_MODEL], args->n_value[OPT_MODEL]},
        .is_trusting = kiln_args_has(args, OPT_TRUST),
        .is_dry = kiln_args_has(args, OPT_DRY_RUN),
        .nights = &kiln_nightly_nights};
    kiln_accept_rows rows;
    kiln_cli_answer answer;
    if (o.to == NULL)
        return kiln_fail(err, KILN_ERR_ARG,
                         "say which folder holds what is accepted, by --to FOLDER");
    KILN_TRY(kiln_cli_keyring(args, OPT_KEYRING, &o.keys, err));
    KILN_TRY(kiln_cli_device(args, OPT_RUNNER, OPT_PRIORITY, args->pos[0], o.keys,
                             &o.where, err));
    kiln_interrupt_catch();
    KILN_TRY(kiln_accept(args->arena, args->pos, args->n_pos, &o, &rows, err));
    kiln_cli_answer_init(&answer, args->arena);
    kiln_accept_json(&answer.json, &rows, o.is_dry);
    kiln_accept_text(&answer.text, &rows, o.is_dry);
    return kiln_cli_answer_give(&answer, args, OPT_JSON, err);
}

const kiln_verb kiln_verb_accept = {
    .name = "accept",
    .summary = "make archives the ones that the gate compares with",
    .usage = "ARCHIVE|FOLDER... --to ACCEPTED [options]",
    .example = "  kiln accept resnet18-1-native.kiln.tar.zst --to accepted "
               "--model resnet18.onnx\n"
               "  kiln accept out/tonight --to accepted --dry-run\n"
               "  kiln accept resnet18-1-aarch64.kiln.tar.zst --to accepted --model "
               "resnet18.onnx --runner board\n",
    .n_pos_min = 1,
    .n_pos_max = 1000,
    .option = options,
    .n_options = N_OPTIONS,
    .run = run,
};
