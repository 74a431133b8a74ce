/* ../shared/onnx-node-tests by the reference interpreter: how many pass, and that every
 * other test ends in a named reason. The floor rises with what kiln supports; it never
 * falls. */
#include "base/base.h"
#include "pipeline/remote/remote.h"
#include "pipeline/pipeline.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define DIR "../shared/onnx-node-tests"

enum {
    FLOOR_CORE = 1565, /* of the 1567 tests of class a core; compiled, too */
    FLOOR_LOWBIT =
        141, /* all of class a lowbit: floats of 8 and 4 bits, ints of 4, 2 */
};

static kiln_arena arena;
static kiln_checks checks;

static int run_all(const kiln_runner *runner) {
    checks = (kiln_checks){0};
    kiln_arena_init(&arena);
    if (!kiln_dir_exists(DIR))
        return 0;
    kiln_err err = {0};
    const kiln_conformance_options o = {.optimize = true, .runner = runner};
    const kiln_status st = kiln_verify_conformance(&arena, DIR, &o, &checks, &err);
    if (st != KILN_OK)
        print_error("%s\n", err.text);
    return st == KILN_OK ? 0 : -1;
}

static int run_reference(void **state) {
    (void)state;
    return run_all(&kiln_runner_reference);
}

static int run_compiled(void **state) {
    (void)state;
    kiln_arena a;
    kiln_err err = {0};
    kiln_profile p;
    kiln_arena_init(&a);
    kiln_remote_target target = kiln_remote_target_of(&a, &p);
    const kiln_runner runner = {kiln_remote_run_graph, &target};
    const int failed =
        kiln_profile_detect(&a, &p, &err) == KILN_OK ? run_all(&runner) : -1;
    kiln_arena_fini(&a);
    return failed;
}

static int free_all(void **state) {
    (void)state;
    kiln_arena_fini(&arena);
    return 0;
}

static void need_data(void) {
    if (checks.list.n > 0)
        return;
    print_message("skipped: " DIR " is not here\n");
    skip();
}

static size_t passed_in(const char *group) {
    size_t passed = 0, total = 0;
    for (size_t i = 0; i < checks.list.n; i++) {
        if (strcmp(checks.list.v[i].group, group) != 0)
            continue;
        total++;
        passed += checks.list.v[i].outcome == KILN_PASSED;
    }
    print_message("%s: %zu of %zu pass; all: %zu passed, %zu failed, %zu unsupported\n",
                  group, passed, total, checks.n_passed, checks.n_failed,
                  checks.n_unsupported);
    return passed;
}

static void enough_core_tests_pass(void **state) {
    (void)state;
    need_data();
    assert_true(passed_in("class a core") >= FLOOR_CORE);
}

static void all_lowbit_tests_pass(void **state) {
    (void)state;
    need_data();
    assert_true(passed_in("class a lowbit") >= FLOOR_LOWBIT);
}

static void every_other_test_names_its_reason(void **state) {
    (void)state;
    need_data();
    for (size_t i = 0; i < checks.list.n; i++) {
        const kiln_check *c = &checks.list.v[i];
        if (c->outcome != KILN_PASSED && strlen(c->reason) < 10)
            fail_msg("%s: %s without a reason", c->name,
                     kiln_check_outcome_name(c->outcome));
    }
}

/* Expected data that its own rounding put farther from the exact value than the
 * folder's tolerance: 1.9e-7 where an inverse transform of real data is exactly 0. */
static bool is_noise(const char *name) {
    static const char *const noise[] = {"node/test_dft_inverse",
                                        "node/test_dft_inverse_opset19"};
    for (size_t i = 0; i < sizeof noise / sizeof noise[0]; i++)
        if (strcmp(name, noise[i]) == 0)
            return true;
    return false;
}

static void nothing_is_wrong_without_saying_so(void **state) {
    (void)state;
    need_data();
    for (size_t i = 0; i < checks.list.n; i++) {
        const kiln_check *c = &checks.list.v[i];
        if (c->outcome == KILN_FAILED)
            print_message("failed: %s: %s\n", c->name, c->reason);
    }
    /* A computed result that differs is worse than a refusal. */
    size_t wrong = 0;
    for (size_t i = 0; i < checks.list.n; i++)
        wrong += checks.list.v[i].outcome == KILN_FAILED &&
                 !is_noise(checks.list.v[i].name) &&
                 strstr(checks.list.v[i].reason, "elements differ") != NULL;
    assert_int_equal(wrong, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(enough_core_tests_pass),
        cmocka_unit_test(all_lowbit_tests_pass),
        cmocka_unit_test(every_other_test_names_its_reason),
        cmocka_unit_test(nothing_is_wrong_without_saying_so),
    };
    return cmocka_run_group_tests_name("by the reference", tests, run_reference,
                                       free_all) +
           cmocka_run_group_tests_name("compiled for this machine", tests, run_compiled,
                                       free_all);
}
