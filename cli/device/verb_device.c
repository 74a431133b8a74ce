/* kiln device: machines that are not this one. Each of its verbs is a file. */
#include "cli/device/verb_device.h"

static const kiln_verb *const verbs[] = {
#define KILN_DEVICE(name) &kiln_device_##name,
#include "cli/device/device.def"
#undef KILN_DEVICE
    NULL};

/* None of its verbs was meant. */
static kiln_status run(const kiln_cli_args *args, int *exit_code, kiln_err *err) {
    kiln_buf names;
    (void)exit_code;
    kiln_buf_init(&names, args->arena);
    for (size_t i = 0; verbs[i] != NULL; i++)
        kiln_buf_printf(&names, "%s%s",
                        i == 0                 ? ""
                        : verbs[i + 1] == NULL ? " or "
                                               : ", ",
                        kiln_verb_last_word(verbs[i]));
    return kiln_fail(err, KILN_ERR_ARG, "kiln device does %s, not '%s'", names.p,
                     kiln_str_printable(args->arena, kiln_str_from(args->pos[0]), 64));
}

const kiln_verb kiln_verb_device = {
    .name = "device",
    .summary = "make this machine one that others measure on, and know theirs",
    .usage = "VERB [options]",
    .example = "  kiln device keygen -o board\n"
               "  kiln device serve --key board.key --allow laptop.pub\n"
               "  kiln device add board 192.0.2.7:7300 board.pub\n",
    .n_pos_min = 1,
    .n_pos_max = 64,
    .sub = verbs,
    .run = run,
};
