/* kiln knows which code it is. */
#include "base/base.h"
#include "tests/support/kiln_test.h"

#include <string.h>

#define DIGITS "0123456789abcdef0123456789abcdef01234567"

typedef struct commit_row {
    const char *name, *text;
    bool is_one;
} commit_row;

static commit_row rows[] = {
    {"takes_a_commit", DIGITS, true},
    {"takes_a_modified_one", DIGITS "-modified", true},
    {"refuses_too_few_digits", "0123456789abcdef", false},
    {"refuses_too_many_digits", DIGITS "0", false},
    {"refuses_capitals", "0123456789ABCDEF0123456789ABCDEF01234567", false},
    {"refuses_other_endings", DIGITS "-dirty", false},
    {"refuses_markup", DIGITS "<b>", false},
    {"refuses_nothing", "", false},
};

static void check_row(void **state) {
    const commit_row *r = *state;
    assert_int_equal(kiln_is_commit(r->text), r->is_one);
}

/* The commit is what the repository says, where there is one. */
static void is_the_commit_of_the_repository(void **state) {
    (void)state;
    kiln_process_result got;
    kiln_err err = {.status = KILN_OK};
    static const char *const argv[] = {"mk/commit.sh", NULL};
    const kiln_process_options o = {.argv = argv,
                                    .time_limit_ms = KILN_TEST_PATIENCE_MS};
    kiln_assert_status_ok(kiln_process_run(kiln_test_arena(), &o, &got, &err), &err);
    const kiln_str said = kiln_str_trim(got.out);
    const kiln_version_info b = kiln_own_version();
    assert_true(b.compiler[0] != '\0' && b.variant[0] != '\0');
    if (said.n == 0) {
        assert_null(b.commit);
        return;
    }
    assert_non_null(b.commit);
    assert_true(kiln_is_commit(b.commit));
    /* Files may have come and gone since it was built. */
    assert_memory_equal(b.commit, said.p, strlen(DIGITS));
}

int main(void) {
    kiln_test_add_rows(check_row, rows);
    kiln_test_add("is_the_commit_of_the_repository", is_the_commit_of_the_repository,
                  NULL);
    return kiln_test_run("version");
}
