/* kiln device add: a name for a device elsewhere, which --runner takes from then on. */
#include <string.h>

#include "cli/device/verb_device.h"
#include "pipeline/curve/curve.h"
#include "pipeline/measure/wire/transport.h"

/* The user's own pair, made where there is none. */
static kiln_status own_key(kiln_arena *a, const char **public_file, kiln_err *err) {
    const char *path;
    kiln_curve_pair pair;
    KILN_TRY(kiln_curve_start(err));
    KILN_TRY(kiln_curve_own_key(a, &path, err));
    char *stem = kiln_str_dup(a, path);
    stem[strlen(stem) - strlen(".key")] = '\0';
    *public_file = kiln_format(a, "%s.pub", stem);
    if (kiln_file_exists(path))
        return KILN_OK;
    KILN_TRY(kiln_dir_make(kiln_path_dir(a, path), err));
    kiln_curve_pair_make(&pair);
    const kiln_status st = kiln_curve_pair_save(a, stem, &pair, err);
    kiln_curve_wipe(&pair, sizeof pair);
    return st;
}

static kiln_status run(const kiln_cli_args *args, int *exit_code, kiln_err *err) {
    kiln_arena *a = args->arena;
    kiln_known_device d = {.name = args->pos[0], .place = args->pos[1]};
    char digits[KILN_CURVE_KEY_TEXT];
    const char *public_file;
    kiln_str text;
    kiln_buf out;
    (void)exit_code;
    KILN_TRY(own_key(a, &public_file, err));
    KILN_TRY(kiln_curve_public_read(args->pos[2], &d.key, err));
    kiln_curve_key_text(&d.key, digits);
    KILN_TRY(kiln_transport_check(
        kiln_format(a, "curve://%s?device=%s", d.place, digits), err));
    KILN_TRY(kiln_known_add(a, &d, err));
    KILN_TRY(kiln_file_map(a, public_file, KILN_CURVE_KEY_FILE_MAX, &text, err));
    kiln_buf_init(&out, a);
    kiln_buf_printf(&out,
                    "'%s' is known: kiln tune MODEL --runner %s\nit must allow this "
                    "user's key, %s:\n%.*s",
                    d.name, d.name, public_file, KILN_STR_ARG(text));
    return kiln_cli_output(NULL, kiln_buf_str(&out), err);
}

const kiln_verb kiln_device_add = {
    .name = "device add",
    .summary = "give a device elsewhere a name",
    .usage = "NAME HOST:PORT KEY",
    .example = "  kiln device add board 192.0.2.7:7300 board.pub\n"
               "  kiln tune model.onnx --runner board\n",
    .n_pos_min = 3,
    .n_pos_max = 3,
    .run = run,
};
