/* The words of kiln-device. No verb of kiln's needs them: kiln device serve starts it. */
#include "pipeline/measure/board/board_internal.h"

#include <stdio.h>
#include <string.h>

static const char usage[] =
    "usage: kiln-device keygen NAME\n"
    "       kiln-device serve --key FILE --allow KEY|FILE [--allow ...]\n"
    "                         [--listen tcp:ADDRESS:PORT]\n"
    "Runs and times what those send whose keys are allowed; port 7300 of all "
    "addresses\n"
    "unless told otherwise.\n";

static kiln_status keygen(kiln_board *b, const char *stem, kiln_err *err) {
    char digits[KILN_CURVE_KEY_TEXT];
    KILN_TRY(kiln_curve_start(err));
    kiln_curve_pair_make(&b->pair);
    KILN_TRY(kiln_curve_pair_save(&b->arena, stem, &b->pair, err));
    kiln_curve_key_text(&b->pair.public_key, digits);
    (void)printf(
        "key %s\npublic: %s.pub: for the other side\nsecret: %s.key: keep it to "
        "this machine\n",
        digits, stem, stem);
    return KILN_OK;
}

static kiln_status take(kiln_board *b, const char *name, const char *value,
                        kiln_err *err) {
    if (strcmp(name, "--key") == 0)
        return kiln_curve_pair_read(value, &b->pair, err);
    if (strcmp(name, "--allow") == 0)
        return kiln_curve_allow(&b->arena, value, &b->allowed, err);
    if (strcmp(name, "--listen") != 0)
        return kiln_fail(err, KILN_ERR_ARG, "there is no option '%.64s'", name);
    b->listen = value;
    return KILN_OK;
}

static kiln_status serve(kiln_board *b, int argc, char *const *argv, kiln_err *err) {
    static const kiln_curve_key none;
    KILN_TRY(kiln_curve_start(err));
    for (int i = 0; i < argc; i += 2) {
        if (i + 1 == argc)
            return kiln_fail(err, KILN_ERR_ARG, "'%.64s' needs a value", argv[i]);
        KILN_TRY(take(b, argv[i], argv[i + 1], err));
    }
    if (memcmp(&b->pair.secret, &none, sizeof none) == 0)
        return kiln_fail(err, KILN_ERR_ARG,
                         "--key FILE is needed: this device's own, of keygen");
    if (b->allowed.list.n == 0)
        return kiln_fail(err, KILN_ERR_ARG,
                         "--allow KEY is needed: the public key of who may measure "
                         "here, or a file of several");
    return kiln_board_serve(b, err);
}

int kiln_board_main(int argc, char *const *argv, const char *machine) {
    kiln_board b = {.listen = "tcp:0.0.0.0:7300", .machine = machine};
    kiln_err err = {.len = 0};
    kiln_status st = KILN_ERR_ARG;
    if (argc == 3 && strcmp(argv[1], "keygen") == 0)
        st = keygen(&b, argv[2], &err);
    else if (argc > 1 && strcmp(argv[1], "serve") == 0)
        st = serve(&b, argc - 2, argv + 2, &err);
    kiln_curve_wipe(&b.pair, sizeof b.pair);
    kiln_arena_fini(&b.arena);
    if (st != KILN_OK && err.len > 0)
        (void)fprintf(stderr, "kiln-device: %s\n", err.text);
    else if (st != KILN_OK)
        (void)fputs(usage, stderr);
    return st == KILN_OK ? 0 : st == KILN_ERR_ARG ? 2 : 4;
}
