/* Running the kiln program from outside: exit codes, messages, JSON. KILN in the
 * environment names the program; without it the test is skipped. */
#ifndef KILN_TESTS_SUPPORT_CLI_RUN_H
#define KILN_TESTS_SUPPORT_CLI_RUN_H

#include "tests/support/kiln_test.h"

enum { KILN_TEST_CLI_ARGS = 20 };

typedef struct kiln_test_cli_row {
    const char *name;
    const char *arg[KILN_TEST_CLI_ARGS]; /* behind the program; "@x" is DIR/x */
    int code;
    /* Parts of the streams; NULL: nothing is asked. Where `out` begins with a quote,
     * the whole of stdout must be JSON. */
    const char *out, *err;
} kiln_test_cli_row;

/* For main: what the user of this machine has tuned, fetched or installed (baselines)
 * is not there for kiln in this program's tests; data and caches are in a fresh folder.
 */
void kiln_test_own_home(void);

/* Runs it to its end, at most two minutes; the result is in `a`. */
kiln_process_result kiln_test_cli_run(kiln_arena *a, const char *dir,
                                      const char *const arg[KILN_TEST_CLI_ARGS]);
/* Runs and asserts what the row says. */
kiln_process_result kiln_test_cli_check(kiln_arena *a, const char *dir,
                                        const kiln_test_cli_row *row);

#endif
