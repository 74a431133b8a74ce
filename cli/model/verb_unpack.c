/* kiln unpack: an archive becomes a folder, once all of it has been verified. */
#include "cli/options/sign_option.h"
#include "packager/packager.h"

enum { OPT_OUTPUT, OPT_KEYRING, OPT_JSON, N_OPTIONS };

static const kiln_option options[N_OPTIONS] = {
    [OPT_OUTPUT] = {"-o", "DIR", "the folder to make; it must not exist", false},
    [OPT_KEYRING] = KILN_KEYRING_OPTION,
    [OPT_JSON] = {"--json", "FILE", "write the manifest ('-': standard output)", false},
};

static kiln_status run(const kiln_cli_args *args, int *exit_code, kiln_err *err) {
    kiln_interrupt_catch();
    (void)exit_code;
    kiln_arena *a = args->arena;
    const char *folder = kiln_args_get(args, OPT_OUTPUT, NULL);
    kiln_unpack_options o = {.keys = NULL};
    kiln_package_facts f;
    kiln_cli_answer answer;
    if (folder == NULL)
        return kiln_fail(err, KILN_ERR_ARG,
                         "kiln unpack needs a folder to make: kiln unpack %s -o DIR",
                         args->pos[0]);
    KILN_TRY(kiln_cli_keyring(args, OPT_KEYRING, &o.keys, err));
    KILN_TRY(kiln_package_unpack_by(a, args->pos[0], folder, &o, &f, err));
    kiln_cli_answer_init(&answer, a);
    kiln_package_print(&answer.text, &f);
    kiln_package_manifest(&answer.json, &f);
    return kiln_cli_answer_give(&answer, args, OPT_JSON, err);
}

const kiln_verb kiln_verb_unpack = {
    .name = "unpack",
    .summary = "verify a package and unpack it into a new folder",
    .usage = "PKG -o DIR",
    .example = "  kiln unpack resnet18-1-x86-avx512.kiln.tar.zst -o resnet18\n",
    .n_pos_min = 1,
    .n_pos_max = 1,
    .takes_oci = true,
    .option = options,
    .n_options = N_OPTIONS,
    .run = run,
};
