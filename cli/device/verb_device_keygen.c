/* kiln device keygen: a pair of keys, of a device or of who measures on it. */
#include "cli/device/verb_device.h"
#include "pipeline/curve/curve.h"

enum { OPT_OUTPUT, OPT_JSON, N_OPTIONS };

static const kiln_option options[N_OPTIONS] = {
    [OPT_OUTPUT] = {"-o", "NAME", "write NAME.pub and NAME.key", false},
    [OPT_JSON] = {"--json", "FILE",
                  "write names and key as JSON ('-': standard output)", false},
};

static kiln_status make(kiln_arena *a, const char *stem,
                        char digits[KILN_CURVE_KEY_TEXT], kiln_err *err) {
    kiln_curve_pair pair;
    KILN_TRY(kiln_curve_start(err));
    kiln_curve_pair_make(&pair);
    kiln_curve_key_text(&pair.public_key, digits);
    const kiln_status st = kiln_curve_pair_save(a, stem, &pair, err);
    kiln_curve_wipe(&pair, sizeof pair);
    return st;
}

static kiln_status run(const kiln_cli_args *args, int *exit_code, kiln_err *err) {
    const char *stem = kiln_args_get(args, OPT_OUTPUT, NULL);
    char digits[KILN_CURVE_KEY_TEXT];
    kiln_cli_answer answer;
    (void)exit_code;
    if (stem == NULL || stem[0] == '\0')
        return kiln_fail(err, KILN_ERR_ARG,
                         "say what the keys are called, by -o NAME: it makes NAME.pub "
                         "and NAME.key");
    KILN_TRY(make(args->arena, stem, digits, err));
    const char *public_file = kiln_format(args->arena, "%s.pub", stem);
    const char *secret_file = kiln_format(args->arena, "%s.key", stem);
    kiln_cli_answer_init(&answer, args->arena);
    kiln_buf_printf(&answer.text,
                    "key %s\npublic: %s: for the other side\nsecret: %s: keep it to "
                    "this machine\n",
                    digits, public_file, secret_file);
    kiln_json_begin_object(&answer.w);
    kiln_json_member_str(&answer.w, "key", digits);
    kiln_json_member_str(&answer.w, "public", public_file);
    kiln_json_member_str(&answer.w, "secret", secret_file);
    kiln_json_end_object(&answer.w);
    return kiln_cli_answer_give(&answer, args, OPT_JSON, err);
}

const kiln_verb kiln_device_keygen = {
    .name = "device keygen",
    .summary = "make a pair of keys, for a device or for who measures on it",
    .usage = "-o NAME [options]",
    .example = "  kiln device keygen -o board\n"
               "  kiln device keygen -o laptop\n",
    .option = options,
    .n_options = N_OPTIONS,
    .run = run,
};
