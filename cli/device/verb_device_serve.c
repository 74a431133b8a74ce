/* kiln device serve: others measure on this machine. The program that does it is
 * kiln-device, which goes to boards alone: this one becomes it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/device/verb_device.h"
#include "pipeline/curve/curve.h"

enum { OPT_KEY, OPT_ALLOW, OPT_LISTEN, N_OPTIONS };

static const kiln_option options[N_OPTIONS] = {
    [OPT_KEY] = {"--key", "FILE",
                 "this device's pair of keys (the user's own: "
                 "~/.config/kiln/device.key)",
                 false},
    [OPT_ALLOW] = {"--allow", "FILE",
                   "the public key of who may measure here: a file with one or "
                   "several, or 64 digits",
                   true},
    [OPT_LISTEN] = {"--listen", "ADDRESS",
                    "where to listen (tcp:0.0.0.0:7300: port 7300 of all addresses)",
                    false},
};

static kiln_status run(const kiln_cli_args *args, int *exit_code, kiln_err *err) {
    enum { MAX_WORDS = 8 };
    kiln_arena *a = args->arena;
    const size_t n_allowed = args->n_value[OPT_ALLOW];
    char **argv = kiln_array(a, char *, 2 * n_allowed + MAX_WORDS);
    const char *key = kiln_args_get(args, OPT_KEY, NULL);
    size_t n = 0;
    (void)exit_code;
    if (key == NULL)
        KILN_TRY(kiln_curve_own_key(a, &key, err));
    KILN_TRY(kiln_program_find(a, "kiln-device", &argv[n++], err));
    argv[n++] = kiln_str_dup(a, "serve");
    argv[n++] = kiln_str_dup(a, "--key");
    argv[n++] = kiln_str_dup(a, key);
    for (size_t i = 0; i < n_allowed; i++) {
        argv[n++] = kiln_str_dup(a, "--allow");
        argv[n++] = kiln_str_dup(a, args->value[OPT_ALLOW][i]);
    }
    if (kiln_args_has(args, OPT_LISTEN)) {
        argv[n++] = kiln_str_dup(a, "--listen");
        argv[n++] = kiln_str_dup(a, kiln_args_get(args, OPT_LISTEN, NULL));
    }
    (void)fflush(NULL);
    (void)execv(argv[0], argv);
    return kiln_fail(err, KILN_ERR_IO, "cannot start '%s': %s", argv[0],
                     strerror(errno));
}

const kiln_verb kiln_device_serve = {
    .name = "device serve",
    .summary = "let those whose keys are allowed measure on this machine",
    .usage = "--allow FILE [options]",
    .example = "  kiln device serve --key board.key --allow laptop.pub\n"
               "  kiln device serve --key board.key --allow allowed --listen "
               "tcp:192.0.2.7:7300\n",
    .option = options,
    .n_options = N_OPTIONS,
    .run = run,
};
