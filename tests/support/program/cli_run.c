/* Running the kiln program: see cli_run.h. */
#include "tests/support/program/cli_run.h"

#include <stdlib.h>
#include <string.h>

void kiln_test_own_home(void) {
    const char *home = kiln_test_dir();
    const char *const own[][2] = {{"XDG_DATA_HOME", "data"},
                                  {"KILN_CACHE", "cache"},
                                  {"KILN_BASELINES", "baselines"}};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        KILN_ASSERT(setenv(own[i][0],
                           kiln_path_join(kiln_test_arena(), home, own[i][1]), 1) == 0,
                    "the environment takes %s", own[i][0]);
    unsetenv("KILN_DB");
}

kiln_process_result kiln_test_cli_run(kiln_arena *a, const char *dir,
                                      const char *const arg[KILN_TEST_CLI_ARGS]) {
    const char *argv[KILN_TEST_CLI_ARGS + 2] = {getenv("KILN")};
    kiln_err err = {0};
    kiln_process_result result;
    if (argv[0] == NULL)
        kiln_test_skip("KILN does not name the program");
    for (int i = 0; i < KILN_TEST_CLI_ARGS && arg[i] != NULL; i++)
        argv[i + 1] = arg[i][0] == '@' ? kiln_path_join(a, dir, arg[i] + 1) : arg[i];
    const kiln_process_options o = {.argv = argv,
                                    .time_limit_ms = KILN_TEST_PATIENCE_MS};
    kiln_assert_status_ok(kiln_process_run(a, &o, &result, &err), &err);
    assert_int_equal(result.end, KILN_PROCESS_EXITED);
    return result;
}

kiln_process_result kiln_test_cli_check(kiln_arena *a, const char *dir,
                                        const kiln_test_cli_row *r) {
    const kiln_process_result result = kiln_test_cli_run(a, dir, r->arg);
    if (result.code != r->code)
        print_error("stdout: %.*s\nstderr: %.*s\n", KILN_STR_ARG(result.out),
                    KILN_STR_ARG(result.err));
    assert_int_equal(result.code, r->code);
    if (r->out != NULL && strstr(result.out.p, r->out) == NULL)
        fail_msg("stdout must hold '%s', is: %s", r->out, result.out.p);
    if (r->err != NULL && strstr(result.err.p, r->err) == NULL)
        fail_msg("stderr must hold '%s', is: %s", r->err, result.err.p);
    if (r->out != NULL && r->out[0] == '"') {
        const kiln_json *doc = NULL;
        kiln_err err = {0};
        kiln_assert_status_ok(
            kiln_json_parse(a, result.out, "standard output", &doc, &err), &err);
    }
    return result;
}
