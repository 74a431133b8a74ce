/* A model of a format that the product does not know (tests/support/made_up/net) goes the
 * way of all others: read, compiled, packed, and what the package computes is what the
 * reference does. */
#include "pipeline/package/package.h"
#include "tests/support/kiln_test.h"
#include "tests/support/made_up/net/net_text.h"
#include "tests/support/program/cli_run.h"

#include <string.h>

static const char text[] = "net \"made up\"\n"
                           "input x 1 3 9 9\n"
                           "conv first x 8 3 2\n"
                           "relu r first\n"
                           "conv second r 4 3 1\n"
                           "pool p second 2 2\n"
                           "list rows 1 36\n"
                           "shape y p rows\n"
                           "output y\n";

static void is_built_and_verified(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    static const int threads[] = {1, 2};
    const kiln_import_options import = {.row = &kiln_test_net_text};
    const char *model = kiln_path_join(a, kiln_test_dir(), "model.made");
    const char *package = kiln_path_join(a, kiln_test_dir(), "made.kiln.tar.zst");
    kiln_err err = {0};
    kiln_source source;
    kiln_expectation expectation;
    kiln_profile p;
    kiln_build b;
    kiln_checks checks = {0};
    kiln_assert_status_ok(kiln_file_write(model, text, strlen(text), &err), &err);
    kiln_assert_status_ok(kiln_source_read(a, model, &import, &source, &err), &err);
    assert_string_equal(source.format, "net");
    kiln_assert_status_ok(kiln_expectation_of(a, &source, 1, &expectation, &err), &err);
    kiln_assert_status_ok(kiln_profile_detect(a, &p, &err), &err);
    const kiln_build_options o = {.path = package, .seed = 1};
    kiln_assert_status_ok(
        kiln_package_build(a, &source, &expectation, &p, &o, &b, &err), &err);
    const kiln_verify_options v = {.threads = threads, .n_threads = 2, .seed = 2};
    kiln_assert_status_ok(kiln_verify_package(a, package, &v, &checks, &err), &err);
    assert_int_equal(checks.n_failed, 0);
    assert_int_equal(checks.n_passed, 3); /* the archive; itself on 1 thread and on 2 */
}

int main(void) {
    kiln_test_own_home();
    kiln_test_add("is_built_and_verified", is_built_and_verified, NULL);
    return kiln_test_run("made_up_format");
}
