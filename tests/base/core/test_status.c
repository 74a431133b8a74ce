/* Status codes and chains: what is kept, what is cut, and how a broken invariant ends.
 */
#include "tests/support/kiln_test.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static void starts_and_extends_a_chain(void **state) {
    (void)state;
    kiln_err err = {0};
    const kiln_status st =
        kiln_fail(&err, KILN_ERR_SHAPE, "conv2d: stride must be >= 1, is %d", 0);
    kiln_note(&err, "inferring the type of node '%s'", "conv1_2");
    kiln_note(&err, "importing '%s'", "resnet18.onnx");
    assert_int_equal(st, KILN_ERR_SHAPE);
    assert_int_equal(err.status, KILN_ERR_SHAPE);
    assert_string_equal(err.text, "conv2d: stride must be >= 1, is 0\n"
                                  "  while inferring the type of node 'conv1_2'\n"
                                  "  while importing 'resnet18.onnx'");
    assert_int_equal(err.len, strlen(err.text));
}

static void replaces_an_older_chain(void **state) {
    (void)state;
    kiln_err err = {0};
    (void)kiln_fail(&err, KILN_ERR_IO, "a long story about a file");
    kiln_note(&err, "reading it");
    (void)kiln_fail(&err, KILN_ERR_ARG, "short");
    assert_string_equal(err.text, "short");
    assert_int_equal(err.status, KILN_ERR_ARG);
    kiln_err_clear(&err);
    assert_string_equal(err.text, "");
    assert_int_equal(err.status, KILN_OK);
}

static void accepts_its_own_text_as_argument(void **state) {
    (void)state;
    kiln_err err = {0};
    (void)kiln_fail(&err, KILN_ERR_IO, "inner");
    (void)kiln_fail(&err, KILN_ERR_LIB, "outer: %s", err.text);
    assert_string_equal(err.text, "outer: inner");
}

static void accepts_no_chain(void **state) {
    (void)state;
    assert_int_equal(kiln_fail(NULL, KILN_ERR_IO, "lost"), KILN_ERR_IO);
    kiln_note(NULL, "also lost");
    kiln_err_clear(NULL);
}

typedef struct cut_row {
    const char *name;
    size_t n_before;    /* so many 'x' before the sequence */
    const char *insert; /* then this, then 'x' until well past the end */
    size_t want_len;    /* of the whole text, "..." included */
} cut_row;

/* 2047 characters fit; a cut text keeps at most 2044 and "...". */
static cut_row cut_rows[] = {
    {"cuts_ascii_at_the_end", 0, "", 2047},
    {"keeps_a_sequence_that_fits", 2042, "\xC3\xA9", 2047},
    {"drops_two_bytes_that_would_be_split", 2043, "\xC3\xA9", 2046},
    {"drops_three_bytes_that_would_be_split", 2042, "\xE2\x82\xAC", 2045},
    {"drops_four_bytes_that_would_be_split", 2041, "\xF0\x9F\x98\x80", 2044},
    {"keeps_four_bytes_that_fit", 2040, "\xF0\x9F\x98\x80", 2047},
};

static void check_cut(void **state) {
    const cut_row *r = *state;
    char text[3001];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    memcpy(text + r->n_before, r->insert, strlen(r->insert));

    kiln_err err = {0};
    (void)kiln_fail(&err, KILN_ERR_LIMIT, "%s", text);
    assert_int_equal(err.len, r->want_len);
    assert_int_equal(strlen(err.text), r->want_len);
    assert_string_equal(err.text + err.len - 3, "...");
    assert_true(kiln_utf8_valid(kiln_str_from(err.text)));
    assert_memory_equal(err.text, text, r->want_len - 3);

    const kiln_err before = err;
    kiln_note(&err, "there is no room for this");
    assert_string_equal(err.text, before.text);
}

static void cuts_a_note_that_does_not_fit(void **state) {
    (void)state;
    char text[2030 + 1];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    kiln_err err = {0};
    (void)kiln_fail(&err, KILN_ERR_LIMIT, "%s", text);
    kiln_note(&err, "importing 'resnet18.onnx'");
    assert_int_equal(err.len, KILN_ERR_TEXT - 1);
    assert_string_equal(err.text + 2030, "\n  while impor...");
}

static void keeps_a_text_that_just_fits(void **state) {
    (void)state;
    char text[KILN_ERR_TEXT];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    kiln_err err = {0};
    (void)kiln_fail(&err, KILN_ERR_LIMIT, "%s", text);
    assert_string_equal(err.text, text);
}

static void names_every_status(void **state) {
    (void)state;
    static const char *const names[] = {
        "OK",      "ARG", "PARSE", "SHAPE", "UNSUPPORTED", "LIMIT",
        "MISSING", "IO",  "LIB",   "OOM",   "BUG",         "INTERRUPTED"};
    for (int i = 0; i <= KILN_ERR_INTERRUPTED; i++)
        assert_string_equal(kiln_status_name((kiln_status)i), names[i]);
    assert_string_equal(kiln_status_name((kiln_status)99), "UNKNOWN");
}

static kiln_status fails_halfway(int *reached, kiln_err *err) {
    KILN_TRY(KILN_OK);
    *reached = 1;
    KILN_TRY(kiln_fail(err, KILN_ERR_ARG, "here"));
    *reached = 2;
    return KILN_OK;
}

static void try_returns_the_first_failure(void **state) {
    (void)state;
    kiln_err err = {0};
    int reached = 0;
    kiln_assert_fails(fails_halfway(&reached, &err), KILN_ERR_ARG, &err, "here");
    assert_int_equal(reached, 1);
}

static void break_invariant(void *arg) {
    const int *n = arg;
    KILN_ASSERT(*n == 1, "n must be 1, is %d", *n);
}

static void broken_invariant_aborts_with_its_text(void **state) {
    (void)state;
    kiln_test_death death;
    int n = 1;
    kiln_test_in_child(break_invariant, &n, &death);
    assert_int_equal(death.exit_code, 0);
    n = 7;
    kiln_test_in_child(break_invariant, &n, &death);
    assert_int_equal(death.signal, SIGABRT);
    assert_non_null(strstr(death.stderr_text, "test_status.c:"));
    assert_non_null(
        strstr(death.stderr_text, "broken invariant '*n == 1': n must be 1, is 7\n"));
}

static void run_out_of_memory(void *arg) {
    (void)arg;
    kiln_out_of_memory(12345);
}

static void out_of_memory_exits_with_4(void **state) {
    (void)state;
    kiln_test_death death;
    kiln_test_in_child(run_out_of_memory, NULL, &death);
    assert_int_equal(death.exit_code, 4);
    assert_string_equal(death.stderr_text,
                        "error: out of memory: 12345 bytes were asked for\n");
}

int main(void) {
    kiln_test_add("starts_and_extends_a_chain", starts_and_extends_a_chain, NULL);
    kiln_test_add("replaces_an_older_chain", replaces_an_older_chain, NULL);
    kiln_test_add("accepts_its_own_text_as_argument", accepts_its_own_text_as_argument,
                  NULL);
    kiln_test_add("accepts_no_chain", accepts_no_chain, NULL);
    kiln_test_add_rows(check_cut, cut_rows);
    kiln_test_add("cuts_a_note_that_does_not_fit", cuts_a_note_that_does_not_fit, NULL);
    kiln_test_add("keeps_a_text_that_just_fits", keeps_a_text_that_just_fits, NULL);
    kiln_test_add("names_every_status", names_every_status, NULL);
    kiln_test_add("try_returns_the_first_failure", try_returns_the_first_failure, NULL);
    kiln_test_add("broken_invariant_aborts_with_its_text",
                  broken_invariant_aborts_with_its_text, NULL);
    kiln_test_add("out_of_memory_exits_with_4", out_of_memory_exits_with_4, NULL);
    return kiln_test_run("status");
}
