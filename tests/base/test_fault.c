/* Planted faults: one at a time, by name, told once; and none in a release build. */
#include "base/fault.h"
#include "tests/support/kiln_test.h"

#include <stdlib.h>
#include <string.h>

typedef struct plan {
    const char *name, *fired;
    int expect; /* the row that is to be made; -1: none */
} plan;

static void ask(void *arg) {
    const plan *p = arg;
    setenv("KILN_FAULT", p->name, 1);
    setenv("KILN_FAULT_FIRED", p->fired, 1);
    for (int again = 0; again < 2; again++)
        for (int i = 0; i < KILN_N_FAULTS; i++)
            if (kiln_fault_is((kiln_fault)i) != (i == p->expect))
                exit(1);
}

static kiln_test_death run(plan *p) {
    kiln_test_death d;
    kiln_test_in_child(ask, p, &d);
    return d;
}

static void check_one(void **state) {
    (void)state;
    plan p = {.fired = kiln_path_join(kiln_test_arena(), kiln_test_dir(), "fired")};
    kiln_str text;
    kiln_err err = {0};
    p.name = kiln_fault_at(3)->name;
    p.expect = 3;
    assert_int_equal(run(&p).exit_code, 0);
    kiln_assert_status_ok(kiln_file_map(kiln_test_arena(), p.fired, 0, &text, &err),
                          &err);
    assert_true(kiln_str_is(text, p.name)); /* once */
}

static void check_none(void **state) {
    (void)state;
    plan p = {.name = "", .expect = -1};
    p.fired = kiln_path_join(kiln_test_arena(), kiln_test_dir(), "fired");
    assert_int_equal(run(&p).exit_code, 0);
    assert_false(kiln_file_exists(p.fired));
}

static void check_unknown(void **state) {
    (void)state;
    plan p = {.name = "no_such", .fired = "/dev/null", .expect = -1};
    const kiln_test_death d = run(&p);
    assert_int_not_equal(d.signal, 0);
    assert_non_null(strstr(d.stderr_text, "no row of faults.def"));
}

static void check_rows(void **state) {
    (void)state;
    assert_true(KILN_N_FAULTS >= 60);
    for (int i = 0; i < KILN_N_FAULTS; i++) {
        assert_true(strlen(kiln_fault_at(i)->doc) > 10);
        for (int k = 0; k < i; k++)
            assert_string_not_equal(kiln_fault_at(i)->name, kiln_fault_at(k)->name);
    }
}

static void check_release(void **state) {
    (void)state;
#ifdef NDEBUG
    assert_false(KILN_FAULT(relu_dropped));
#else
    kiln_test_skip("only a release build has none");
#endif
}

int main(void) {
    kiln_test_add("makes_the_one_that_is_named", check_one, NULL);
    kiln_test_add("makes_none_where_none_is_named", check_none, NULL);
    kiln_test_add("refuses_an_unknown_name", check_unknown, NULL);
    kiln_test_add("rows_say_what_they_break", check_rows, NULL);
    kiln_test_add("release_builds_have_none", check_release, NULL);
    return kiln_test_run("fault");
}
