/* kiln device remove: forgets a device's name. */
#include "cli/device/verb_device.h"
#include "pipeline/curve/curve.h"

static kiln_status run(const kiln_cli_args *args, int *exit_code, kiln_err *err) {
    (void)exit_code;
    return kiln_known_remove(args->arena, args->pos[0], err);
}

const kiln_verb kiln_device_remove = {
    .name = "device remove",
    .summary = "forget a device's name",
    .usage = "NAME",
    .example = "  kiln device remove board\n",
    .n_pos_min = 1,
    .n_pos_max = 1,
    .run = run,
};
