/* kiln device pool: devices that several tuners share. */
#include "cli/device/verb_device.h"
#include "pipeline/curve/curve.h"
#include "pipeline/pool/pool.h"

#include <stdio.h>

enum {
    OPT_LISTEN,
    OPT_DEVICE,
    OPT_SLICE,
    OPT_SILENCE,
    OPT_BEAT,
    OPT_RESTART,
    OPT_POWER,
    OPT_COOL,
    N_OPTIONS
};

static const kiln_option options[N_OPTIONS] = {
    [OPT_LISTEN] = {"--listen", "ADDRESS",
                    "where tuners and devices find it: unix:PATH or "
                    "tcp:127.0.0.1:PORT (port 0: one that is free)",
                    false},
    [OPT_DEVICE] =
        {"--device", "DEVICE",
         "a name (kiln device add) or an address, as tune's --runner has them; "
         "several: all; others register by 'kiln-runner --serve ADDRESS "
         "--pool ADDRESS'",
         true},
    [OPT_SLICE] = {"--slice", "T",
                   "a device is lent for so long before another may have it (30s)",
                   false},
    [OPT_SILENCE] = {"--silence", "T",
                     "one that owes an answer for so long hangs (45s)", false},
    [OPT_BEAT] = {"--heartbeat", "T",
                  "one whose server is not heard of for so long hangs (20s)", false},
    [OPT_RESTART] = {"--restart-command", "TEXT",
                     "brings back the server of a device that does not greet any more: "
                     "for /bin/sh, $1 is its name and $2 its address",
                     false},
    [OPT_POWER] = {"--power-command", "TEXT",
                   "cycles its power, where that did not help", false},
    [OPT_COOL] = {"--cool-above", "DEGREES",
                  "a device that says it is warmer rests until it is 5 degrees cooler",
                  false},
};

static void say_where(void *user, const char *address) {
    (void)user;
    (void)printf("kiln device pool listens on %s\n", address);
    (void)fflush(stdout);
}

/* What is known by name is called by it. */
static kiln_status read_devices(const kiln_cli_args *args, kiln_lender_options *o,
                                kiln_err *err) {
    const size_t n = args->n_value[OPT_DEVICE];
    const char **address = kiln_array(args->arena, const char *, n + 1);
    for (size_t i = 0; i < n; i++)
        KILN_TRY(kiln_known_address(args->arena, args->value[OPT_DEVICE][i],
                                    &address[i], err));
    o->device = address;
    o->name = args->value[OPT_DEVICE];
    return KILN_OK;
}

static kiln_status read_seconds(const kiln_cli_args *args, int option, const char *name,
                                int *out, kiln_err *err) {
    enum { MOST_S = 24 * 3600 };
    double seconds = 0;
    KILN_TRY(kiln_cli_seconds(args, option, name, &seconds, err));
    if (seconds > MOST_S || (seconds > 0 && seconds < 1))
        return kiln_fail(err, KILN_ERR_ARG, "%s is a second to a day", name);
    *out = (int)seconds;
    return KILN_OK;
}

static kiln_status run(const kiln_cli_args *args, int *exit_code, kiln_err *err) {
    kiln_lender_options o = {.address = kiln_args_get(args, OPT_LISTEN, NULL),
                             .restart = kiln_args_get(args, OPT_RESTART, NULL),
                             .power = kiln_args_get(args, OPT_POWER, NULL),
                             .listens = say_where};
    (void)exit_code;
    if (o.address == NULL)
        return kiln_fail(err, KILN_ERR_ARG,
                         "say where it listens, by --listen unix:PATH or by --listen "
                         "tcp:127.0.0.1:PORT");
    KILN_TRY(read_devices(args, &o, err));
    KILN_TRY(read_seconds(args, OPT_SLICE, "--slice", &o.slice_s, err));
    KILN_TRY(read_seconds(args, OPT_SILENCE, "--silence", &o.silence_s, err));
    KILN_TRY(read_seconds(args, OPT_BEAT, "--heartbeat", &o.beat_s, err));
    if (kiln_args_has(args, OPT_COOL))
        KILN_TRY(kiln_cli_number(kiln_args_get(args, OPT_COOL, NULL), "--cool-above",
                                 20, 200, &o.cool_above, err));
    kiln_interrupt_catch();
    return kiln_lender_serve(&o, err);
}

const kiln_verb kiln_device_pool = {
    .name = "device pool",
    .summary = "lend devices to tuners, in fair shares, and keep them going",
    .usage = "--listen ADDRESS [options]",
    .example =
        "  kiln device pool --listen unix:/run/user/1000/pool \\\n"
        "      --device unix:/run/user/1000/board-1 --device tcp:127.0.0.1:9001\n"
        "  kiln tune zoo:resnet18 --pool unix:/run/user/1000/pool\n",
    .option = options,
    .n_options = N_OPTIONS,
    .run = run,
};
