/* kiln device list: the devices that the user has names for; of a pool, who has which since
 * when. */
#include "cli/device/verb_device.h"
#include "pipeline/curve/curve.h"
#include "pipeline/pool/pool.h"

enum { OPT_POOL, OPT_LOG, OPT_JSON, N_OPTIONS };

static const kiln_option options[N_OPTIONS] = {
    [OPT_POOL] = {"--pool", "ADDRESS",
                  "of the pool that 'kiln device pool --listen ADDRESS' keeps; without "
                  "it what 'kiln device add' named",
                  false},
    [OPT_LOG] = {"--log", "N", "so many of its last notes too (10)", false},
    [OPT_JSON] = {"--json", "FILE", "write it as JSON ('-': standard output)", false},
};

static kiln_status list_known(kiln_arena *a, kiln_cli_answer *answer, kiln_err *err) {
    kiln_known_devices known;
    kiln_json_writer *w = &answer->w;
    KILN_TRY(kiln_known_read(a, &known, err));
    if (known.list.n == 0)
        kiln_buf_puts(&answer->text, "no device has a name yet: kiln device add NAME "
                                     "HOST:PORT KEY; of a pool: --pool ADDRESS\n");
    kiln_json_begin_object(w);
    kiln_json_name(w, "known");
    kiln_json_begin_array(w);
    for (size_t i = 0; i < known.list.n; i++) {
        const kiln_known_device *d = &known.list.v[i];
        char digits[KILN_CURVE_KEY_TEXT];
        kiln_curve_key_text(&d->key, digits);
        kiln_buf_printf(&answer->text, "%s %s %s\n", d->name, d->place, digits);
        kiln_json_begin_object(w);
        kiln_json_member_str(w, "name", d->name);
        kiln_json_member_str(w, "place", d->place);
        kiln_json_member_str(w, "key", digits);
        kiln_json_end_object(w);
    }
    kiln_json_end_array(w);
    kiln_json_end_object(w);
    return KILN_OK;
}

static kiln_status run(const kiln_cli_args *args, int *exit_code, kiln_err *err) {
    const char *address = kiln_args_get(args, OPT_POOL, NULL);
    kiln_lender_list list;
    kiln_cli_answer answer;
    int n_notes = 0;
    (void)exit_code;
    kiln_cli_answer_init(&answer, args->arena);
    if (address == NULL) {
        if (kiln_args_has(args, OPT_LOG))
            return kiln_fail(err, KILN_ERR_ARG,
                             "--log is of a pool: say which, by --pool ADDRESS");
        KILN_TRY(list_known(args->arena, &answer, err));
        return kiln_cli_answer_give(&answer, args, OPT_JSON, err);
    }
    KILN_TRY(kiln_cli_number(kiln_args_get(args, OPT_LOG, "10"), "--log", 0, 64,
                             &n_notes, err));
    KILN_TRY(kiln_lender_ask(args->arena, address, n_notes, &list, err));
    kiln_buf_add(&answer.text, list.text.p, list.text.n);
    kiln_buf_add(&answer.json, list.json.p, list.json.n);
    return kiln_cli_answer_give(&answer, args, OPT_JSON, err);
}

const kiln_verb kiln_device_list = {
    .name = "device list",
    .summary = "say which devices have names; of a pool, who has which since when",
    .usage = "[--pool ADDRESS] [options]",
    .example = "  kiln device list\n"
               "  kiln device list --pool unix:/run/user/1000/pool\n"
               "  kiln device list --pool tcp:127.0.0.1:9000 --json -\n",
    .option = options,
    .n_options = N_OPTIONS,
    .run = run,
};
