/* kiln device list: who has which device of a pool, since when. */
#include "cli/device/verb_device.h"
#include "pipeline/pool/pool.h"

enum { OPT_POOL, OPT_LOG, OPT_JSON, N_OPTIONS };

static const kiln_option options[N_OPTIONS] = {
    [OPT_POOL] = {"--pool", "ADDRESS", "where 'kiln device pool --listen ADDRESS' is",
                  false},
    [OPT_LOG] = {"--log", "N", "so many of its last notes too (10)", false},
    [OPT_JSON] = {"--json", "FILE", "write it as JSON ('-': standard output)", false},
};

static kiln_status run(const kiln_cli_args *args, int *exit_code, kiln_err *err) {
    const char *address = kiln_args_get(args, OPT_POOL, NULL);
    kiln_lender_list list;
    kiln_cli_answer answer;
    int n_notes = 0;
    (void)exit_code;
    if (address == NULL)
        return kiln_fail(err, KILN_ERR_ARG, "say which pool, by --pool ADDRESS");
    KILN_TRY(kiln_cli_number(kiln_args_get(args, OPT_LOG, "10"), "--log", 0, 64,
                             &n_notes, err));
    KILN_TRY(kiln_lender_ask(args->arena, address, n_notes, &list, err));
    kiln_cli_answer_init(&answer, args->arena);
    kiln_buf_add(&answer.text, list.text.p, list.text.n);
    kiln_buf_add(&answer.json, list.json.p, list.json.n);
    return kiln_cli_answer_give(&answer, args, OPT_JSON, err);
}

const kiln_verb kiln_device_list = {
    .name = "device list",
    .summary = "say who has which device of a pool, since when",
    .usage = "--pool ADDRESS [options]",
    .example = "  kiln device list --pool unix:/run/user/1000/pool\n"
               "  kiln device list --pool tcp:127.0.0.1:9000 --json -\n",
    .option = options,
    .n_options = N_OPTIONS,
    .run = run,
};
