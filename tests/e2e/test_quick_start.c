/* docs/quick-start.md does what it says: its commands, as they stand there, in an empty
 * folder, with the program in PATH. */
#include "tests/support/program/cli_run.h"
#include "tests/support/kiln_test.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N_COMMANDS = 5 };

/* The page's indented lines that begin with "kiln ". */
static int commands(kiln_arena *a, kiln_buf *out) {
    kiln_str page, line;
    kiln_err err = {0};
    int n = 0;
    kiln_assert_status_ok(kiln_file_map(a, "docs/quick-start.md", 0, &page, &err),
                          &err);
    while (kiln_str_cut(&page, '\n', &line)) {
        if (!kiln_str_starts(line, "    kiln "))
            continue;
        kiln_buf_add(out, line.p, line.n);
        kiln_buf_puts(out, "\n");
        n++;
    }
    return n;
}

static void does_what_it_says(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_buf script;
    kiln_process_result r;
    char here[4096];
    if (getenv("KILN") == NULL)
        kiln_test_skip("KILN does not name the program");
    assert_non_null(getcwd(here, sizeof here));
    const char *program = kiln_path_join(a, here, getenv("KILN"));
    kiln_buf_init(&script, a);
    assert_int_equal(commands(a, &script), N_COMMANDS);
    const char *dir = kiln_test_dir();
    const char *const env[] = {
        kiln_format(a, "PATH=%s:%s", kiln_path_dir(a, program), getenv("PATH")), NULL};
    const char *const argv[] = {"sh", "-e", "-c", script.p, NULL};
    const kiln_process_options o = {
        .argv = argv, .dir = dir, .env = env, .time_limit_ms = KILN_TEST_PATIENCE_MS};
    kiln_assert_status_ok(kiln_process_run(a, &o, &r, &err), &err);
    if (r.end != KILN_PROCESS_EXITED || r.code != 0)
        fail_msg("exit code %d\n%s\n%s", r.code, r.out.p, r.err.p);
    assert_non_null(strstr(r.out.p, "coverage, in steps"));
    assert_non_null(strstr(r.out.p, " passed, 0 failed"));
    assert_non_null(strstr(r.out.p, "GFLOP/s"));
    char **name = NULL;
    size_t n = 0;
    kiln_assert_status_ok(
        kiln_dir_list(a, kiln_path_join(a, dir, "out"), &name, &n, &err), &err);
    assert_int_equal(n, 1);
    assert_true(kiln_str_ends(kiln_str_from(name[0]), ".npy"));
}

int main(void) {
    kiln_test_own_home();
    kiln_test_add("does_what_it_says", does_what_it_says, NULL);
    return kiln_test_run("quick_start");
}
