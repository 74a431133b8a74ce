/* What make install puts in place works from there, and finds its own programs: a
 * package for this machine and one for the emulator, built, verified and run. The
 * release variant is what is installed, so it is the one that this is asked of. */
#include "tests/support/program/cli_run.h"
#include "tests/support/kiln_test.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char script[] =
    "set -e; unset MAKEFLAGS MFLAGS MAKELEVEL V CC TEST KILN_LIBEXEC KILN_DATA; cd "
    "\"$0\";"
    "make -s CC=gcc WERROR=${KILN_WERROR:-0} V=release DESTDIR=\"$DEST\" "
    "PREFIX=/opt/kiln install >/dev/null;"
    "PATH=\"$DEST/opt/kiln/bin:$PATH\"; kiln --version | head -n 1;"
    "kiln db check \"$DEST\"/opt/kiln/share/kiln/ready.jsonl >\"$DEST/c\" || test $? = "
    "1;"
    "rm \"$DEST/c\"; profiles=native; s=\"$DEST\"/opt/kiln/share;"
    "test -s \"$s\"/man/man1/kiln.1; test -s \"$s\"/man/man1/kiln-tune.1;"
    "bash -n \"$s\"/bash-completion/completions/kiln;"
    "test -s \"$s\"/zsh/site-functions/_kiln;"
    "test -s \"$s\"/fish/vendor_completions.d/kiln.fish;"
    "test ! -x \"$DEST\"/opt/kiln/libexec/kiln/kiln-run-aarch64 ||"
    " profiles='native aarch64'; for p in $profiles; do"
    " kiln build demo/samplenet/samplenet.onnx --profile $p -o \"$DEST/p\" >/dev/null;"
    " kiln verify \"$DEST/p\" | tail -n 1; rm \"$DEST/p\"; done;"
    "make -s DESTDIR=\"$DEST\" PREFIX=/opt/kiln uninstall; find \"$DEST\" ! -type d";

#define GOOD "3 passed, 0 failed, 0 unsupported\n"

static void runs_where_it_was_installed(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {.status = KILN_OK};
    kiln_process_result got;
    char root[4096];
    const char *kiln = getenv("KILN");
    if (kiln == NULL || strstr(kiln, "/gcc-release/kiln") == NULL)
        kiln_test_skip("only the release variant is installed; this is another");
    assert_non_null(getcwd(root, sizeof root));
    const char *const argv[] = {"sh", "-c", script, root, NULL};
    const char *const env[] = {kiln_format(a, "DEST=%s", kiln_test_dir()), NULL};
    const kiln_process_options o = {
        .argv = argv, .env = env, .time_limit_ms = KILN_TEST_PATIENCE_MS};
    kiln_assert_status_ok(kiln_process_run(a, &o, &got, &err), &err);
    if (got.end != KILN_PROCESS_EXITED || got.code != 0)
        fail_msg("%s%s", got.err.p, got.out.p);
    print_message("%s", got.out.p);
    const char *want = "kiln " KILN_VERSION "\n" GOOD,
               *both = kiln_format(a, "%s" GOOD, want);
    if (strcmp(got.out.p, want) != 0) /* without a cross compiler */
        kiln_assert_text_equal(got.out, kiln_str_from(both));
}

int main(void) {
    kiln_test_own_home();
    kiln_test_add("runs_where_it_was_installed", runs_where_it_was_installed, NULL);
    return kiln_test_run("installed");
}
