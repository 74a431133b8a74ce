/* What is said of this machine is what the system says. */
#include "base/base.h"
#include "tests/support/kiln_test.h"

#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static void names_the_machine(void **state) {
    kiln_machine m;
    struct utsname u;
    (void)state;
    kiln_machine_read(kiln_test_arena(), &m);
    assert_int_equal(uname(&u), 0);
    assert_non_null(strstr(m.os, u.release));
    assert_non_null(strstr(m.os, u.machine));
    assert_true(m.cores >= 1 && m.cores <= sysconf(_SC_NPROCESSORS_CONF));
    assert_true(m.memory_bytes > INT64_C(1) << 20);
    assert_non_null(m.cpu);
}

typedef struct value_row {
    const char *name, *key, *want; /* NULL: there is none */
} value_row;

static value_row rows[] = {
    {"reads_a_value", "model name", "A B: C"},
    {"takes_the_first_of_several", "flags", "one two"},
    {"takes_an_empty_value", "empty", ""},
    {"finds_no_part_of_a_key", "model", NULL},
    {"finds_no_other_key", "other", NULL},
};

static void check_value(void **state) {
    const value_row *r = *state;
    static const char text[] = "model name\t: A B: C\nflags: one two\nno colon\n"
                               "flags: three\nempty:\n";
    const char *path = kiln_path_join(kiln_test_arena(), kiln_test_dir(), "info");
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_file_write(path, text, sizeof text - 1, &err), &err);
    const char *got = kiln_proc_value(kiln_test_arena(), path, r->key);
    if (r->want == NULL)
        assert_null(got);
    else
        assert_string_equal(got, r->want);
}

static void says_that_there_is_no_file(void **state) {
    (void)state;
    assert_null(kiln_proc_value(kiln_test_arena(), "/proc/no/such", "model name"));
}

int main(void) {
    kiln_test_add("names_the_machine", names_the_machine, NULL);
    kiln_test_add_rows(check_value, rows);
    kiln_test_add("says_that_there_is_no_file", says_that_there_is_no_file, NULL);
    return kiln_test_run("machine");
}
