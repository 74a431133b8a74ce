/* kiln sign: signatures beside archives. */
#include "cli/options/sign_option.h"
#include "packager/packager_provenance.h"

#include <string.h>

enum { OPT_KEY, OPT_PASSWORD, OPT_JSON, N_OPTIONS };

static const kiln_option options[N_OPTIONS] = {
    [OPT_KEY] = {"--key", "NAME.key", "the secret key that signs", false},
    [OPT_PASSWORD] = KILN_PASSWORD_OPTION,
    [OPT_JSON] = {"--json", "FILE",
                  "write what was signed as JSON ('-': standard output)", false},
};

/* What lies beside an archive is signed with it: it must speak of this one. */
static kiln_status check_provenance(const char *path, kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_provenance p;
    kiln_str file, text;
    char sha256[KILN_SHA256_HEX];
    const char *beside = kiln_format(&scratch, "%s" KILN_PROVENANCE_ENDING, path);
    kiln_status st = KILN_OK;
    if (kiln_file_exists(beside)) {
        st = kiln_file_map(&scratch, path, 0, &file, err);
        if (st == KILN_OK)
            st = kiln_file_map(&scratch, beside, KILN_PROVENANCE_MAX, &text, err);
        if (st == KILN_OK)
            st = kiln_provenance_read(&scratch, text, beside, &p, err);
        if (st == KILN_OK) {
            kiln_sha256_of(file.p, file.n, sha256);
            if (strcmp(sha256, p.archive.sha256) != 0)
                st = kiln_fail(
                    err, KILN_ERR_PARSE,
                    "'%s' is the provenance of another archive: take it away, "
                    "or build with --provenance",
                    beside);
        }
    }
    kiln_arena_fini(&scratch);
    return st;
}

static kiln_status sign_all(const kiln_cli_args *args, const kiln_secret_key *k,
                            kiln_cli_answer *answer, kiln_err *err) {
    char id[KILN_KEY_ID_TEXT], sha256[KILN_SHA256_HEX];
    kiln_key_id_text(k->id, id);
    kiln_json_begin_array(&answer->w);
    for (size_t i = 0; i < args->n_pos; i++) {
        const char *path = args->pos[i];
        KILN_TRY(check_provenance(path, err));
        KILN_TRY(kiln_archive_sign(k, path, sha256, err));
        kiln_buf_printf(&answer->text,
                        "signed by key %s: %s" KILN_SIGNATURE_ENDING "\n", id, path);
        kiln_json_begin_object(&answer->w);
        kiln_json_member_str(&answer->w, "archive", path);
        kiln_json_member_str(&answer->w, "sha256", sha256);
        kiln_json_member_str(
            &answer->w, "signature",
            kiln_format(args->arena, "%s" KILN_SIGNATURE_ENDING, path));
        kiln_json_member_str(&answer->w, "key", id);
        kiln_json_end_object(&answer->w);
    }
    kiln_json_end_array(&answer->w);
    return KILN_OK;
}

static kiln_status run(const kiln_cli_args *args, int *exit_code, kiln_err *err) {
    const char *path = kiln_args_get(args, OPT_KEY, NULL);
    kiln_secret_key k;
    kiln_cli_answer answer;
    (void)exit_code;
    if (path == NULL)
        return kiln_fail(err, KILN_ERR_ARG,
                         "say which secret key signs, by --key NAME.key; kiln keygen "
                         "makes one");
    KILN_TRY(kiln_cli_secret_key(args, path, OPT_PASSWORD, &k, err));
    kiln_cli_answer_init(&answer, args->arena);
    const kiln_status st = sign_all(args, &k, &answer, err);
    kiln_secret_key_wipe(&k);
    if (st != KILN_OK)
        return st;
    return kiln_cli_answer_give(&answer, args, OPT_JSON, err);
}

const kiln_verb kiln_verb_sign = {
    .name = "sign",
    .summary = "sign archives, for whoever takes only signed ones",
    .usage = "ARCHIVE... --key NAME.key [options]",
    .example = "  kiln sign resnet18-1-native.kiln.tar.zst --key release.key\n",
    .n_pos_min = 1,
    .n_pos_max = 1000,
    .option = options,
    .n_options = N_OPTIONS,
    .run = run,
};
