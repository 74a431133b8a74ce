/* This machine. */
#include "pipeline/devices/devices_internal.h"

static bool can_run(const kiln_device *d, kiln_arena *a, const kiln_profile *p,
                    const char **missing) {
    (void)d;
    enum { TEXT = 128 };
    kiln_profile machine;
    kiln_err err = {.status = KILN_OK};
    char text[TEXT] = "";
    if (kiln_profile_detect(a, &machine, &err) != KILN_OK) {
        *missing = kiln_str_dup(a, err.text);
        return false;
    }
    if (kiln_profile_runs_on(p, &machine, text))
        return true;
    *missing = kiln_str_dup(a, text);
    return false;
}

static kiln_status command(const kiln_device *d, kiln_arena *a, const char **argv,
                           size_t *n, kiln_err *err) {
    (void)d;
    char *runner = NULL;
    KILN_TRY(kiln_program_find(a, "kiln-run", &runner, err));
    argv[0] = runner;
    *n = 1;
    return KILN_OK;
}

const kiln_device kiln_device_local = {
    .name = "local",
    .doc = "this machine, in a process of its own",
    .can_run = can_run,
    .command = command,
};
