/* kiln keygen: a pair of keys, to sign archives and to trust them. */
#include "cli/options/sign_option.h"

#include <string.h>

enum { OPT_OUTPUT, OPT_PASSWORD, OPT_NO_PASSWORD, OPT_JSON, N_OPTIONS };

static const kiln_option options[N_OPTIONS] = {
    [OPT_OUTPUT] = {"-o", "NAME", "write NAME.pub and NAME.key", false},
    [OPT_PASSWORD] = {"--password-file", "FILE",
                      "the new key's password: this file's first line "
                      "($KILN_PASSWORD_FILE, or asked for at a terminal)",
                      false},
    [OPT_NO_PASSWORD] = {"--no-password", NULL, "who can read NAME.key can sign by it",
                         false},
    [OPT_JSON] = {"--json", "FILE",
                  "write names and number as JSON ('-': standard output)", false},
};

static kiln_status make(const kiln_cli_args *args, const char *stem,
                        kiln_public_key *out, kiln_err *err) {
    char password[KILN_PASSWORD_MAX + 1];
    const kiln_str none = {NULL, 0};
    if (kiln_args_has(args, OPT_NO_PASSWORD))
        return kiln_keys_save(args->arena, stem, none, NULL, out, err);
    kiln_status st = kiln_cli_new_password(args, OPT_PASSWORD, password, err);
    if (st == KILN_OK)
        st = kiln_keys_save(args->arena, stem, kiln_str_from(password), NULL, out, err);
    kiln_cli_wipe_password(password);
    return st;
}

static kiln_status run(const kiln_cli_args *args, int *exit_code, kiln_err *err) {
    const char *stem = kiln_args_get(args, OPT_OUTPUT, NULL);
    char id[KILN_KEY_ID_TEXT];
    kiln_public_key k;
    kiln_cli_answer answer;
    (void)exit_code;
    if (stem == NULL || stem[0] == '\0')
        return kiln_fail(err, KILN_ERR_ARG,
                         "say what the keys are called, by -o NAME: it makes NAME.pub "
                         "and NAME.key");
    if (kiln_args_has(args, OPT_NO_PASSWORD) && kiln_args_has(args, OPT_PASSWORD))
        return kiln_fail(err, KILN_ERR_ARG,
                         "give either --password-file FILE or --no-password");
    KILN_TRY(make(args, stem, &k, err));
    const char *secret = kiln_format(args->arena, "%s.key", stem);
    kiln_key_id_text(k.id, id);
    kiln_cli_answer_init(&answer, args->arena);
    kiln_buf_printf(&answer.text,
                    "key %s\npublic: %s: for the keyring of whoever is to take your "
                    "archives\nsecret: %s: keep it to yourself\n",
                    id, k.name, secret);
    kiln_json_begin_object(&answer.w);
    kiln_json_member_str(&answer.w, "key", id);
    kiln_json_member_str(&answer.w, "public", k.name);
    kiln_json_member_str(&answer.w, "secret", secret);
    kiln_json_member_bool(&answer.w, "has_password",
                          !kiln_args_has(args, OPT_NO_PASSWORD));
    kiln_json_end_object(&answer.w);
    return kiln_cli_answer_give(&answer, args, OPT_JSON, err);
}

const kiln_verb kiln_verb_keygen = {
    .name = "keygen",
    .summary = "make a pair of keys, to sign archives by",
    .usage = "-o NAME [options]",
    .example = "  kiln keygen -o release\n"
               "  kiln keygen -o nightly --no-password\n",
    .option = options,
    .n_options = N_OPTIONS,
    .run = run,
};
