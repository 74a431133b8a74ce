/* Tokens of text forms, their places, and names that survive writing and reading. */
#include "base/base.h"
#include "tests/support/kiln_test.h"

static kiln_lexer over(const char *text, kiln_err *err) {
    return kiln_lexer_make(kiln_test_arena(), kiln_str_from(text), "t", err);
}

/* ---- names ----------------------------------------------------------------------- */

typedef struct name_row {
    const char *name, *text, *wants, *rest; /* wants NULL: there is no bare name */
} name_row;

static name_row names[] = {
    {"dots_join_words", "i0.outer.1 .. +4", "i0.outer.1", " .. +4"},
    {"a_dot_at_the_end_is_none_of_it", "a. b", "a", ". b"},
    {"two_dots_end_a_name", "a..b", "a", "..b"},
    {"digits_do_not_begin_one", "1a", NULL, "1a"},
    {"comments_stand_between", "# x\n  y2 z", "y2", " z"},
    {"nothing_is_no_name", "", NULL, ""},
};

static void check_name(void **state) {
    const name_row *r = *state;
    kiln_lexer l = over(r->text, NULL);
    kiln_str got = {"", 0};
    assert_int_equal(kiln_lex_bare(&l, &got), r->wants != NULL);
    if (r->wants != NULL)
        kiln_assert_text_equal(got, kiln_str_from(r->wants));
    kiln_assert_text_equal(l.rest, kiln_str_from(r->rest));
}

/* ---- refused --------------------------------------------------------------------- */

typedef struct refuse_row {
    const char *name, *text;
    kiln_status (*read)(kiln_lexer *l);
    const char *wants;
} refuse_row;

static kiln_status read_quoted(kiln_lexer *l) {
    const char *z;
    return kiln_lex_quoted(l, &z);
}
static kiln_status read_name(kiln_lexer *l) {
    const char *z;
    return kiln_lex_name(l, "a stage", &z);
}
static kiln_status read_small(kiln_lexer *l) {
    int64_t v;
    return kiln_lex_int(l, "a rank", 0, 8, &v);
}
static kiln_status read_brace(kiln_lexer *l) { return kiln_lex_expect(l, "{"); }

static refuse_row refused[] = {
    {"an_open_quote", "\n \"ab\ncd\"", read_quoted,
     "t:2:2: a quoted name must end on its line"},
    {"an_unknown_escape", "\"a\\q\"", read_quoted, "t:1:3: an escape must be"},
    {"half_an_escape", "\"\\x1", read_quoted, "t:1:2: an escape must be"},
    {"a_zero_byte", "\"\\x00\"", read_quoted, "must not hold a zero byte"},
    {"no_name", "  =", read_name, "t:1:3: expected a stage, found '='"},
    {"no_printable_name", "\x01", read_name, "expected a stage, found byte 0x01"},
    {"no_text", "# only this", read_name, "t:1:12: expected a stage, the text ends"},
    {"a_number_past_its_end", "9", read_small, "a rank must be in [0, 8], is 9"},
    {"a_number_below_zero", "-1", read_small, "a rank must be in [0, 8], is -1"},
    {"a_number_of_many_digits", "99999999999999999999", read_small,
     "expected a rank, found '9'"},
    {"another_token", "(", read_brace, "expected '{', found '('"},
};

static void check_refused(void **state) {
    const refuse_row *r = *state;
    kiln_err err = {0};
    kiln_lexer l = over(r->text, &err);
    kiln_assert_fails(r->read(&l), KILN_ERR_PARSE, &err, r->wants);
}

/* ---- written and read ------------------------------------------------------------ */

static void names_survive(void **state) {
    (void)state;
    static const char *const reserved[] = {"true", NULL};
    static const struct {
        const char *name, *text;
    } row[] = {
        {"i0.outer", "i0.outer"},
        {"true", "\"true\""},
        {"", "\"\""},
        {"1x", "\"1x\""},
        {"a b\\\"", "\"a b\\\\\\\"\""},
        {"a.", "\"a.\""},
        {"conv/1", "\"conv/1\""},
        {"\xc3\xa4\n", "\"\\xc3\\xa4\\x0a\""},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        kiln_buf b;
        kiln_err err = {0};
        const char *again = NULL;
        kiln_buf_init(&b, kiln_test_arena());
        kiln_buf_name(&b, row[i].name, reserved);
        kiln_assert_text_equal(kiln_buf_str(&b), kiln_str_from(row[i].text));
        kiln_lexer l = over(b.p, &err);
        kiln_assert_status_ok(kiln_lex_name(&l, "a name", &again), &err);
        assert_string_equal(again, row[i].name);
        assert_int_equal(l.rest.n, 0);
    }
}

static void words_are_whole(void **state) {
    (void)state;
    kiln_lexer l = over("format for", NULL);
    assert_false(kiln_lex_word(&l, "for"));
    assert_true(kiln_lex_word(&l, "format"));
    assert_true(kiln_lex_word(&l, "for"));
    assert_int_equal(kiln_lex_peek(&l, 0), '\0');
    int64_t v = 0;
    l = over(" -9223372036854775808", NULL);
    assert_int_equal(kiln_lex_int(&l, "a number", INT64_MIN, INT64_MAX, &v), KILN_OK);
    assert_true(v == INT64_MIN);
}

int main(void) {
    kiln_test_add_rows(check_name, names);
    kiln_test_add_rows(check_refused, refused);
    kiln_test_add("names_survive", names_survive, NULL);
    kiln_test_add("words_are_whole", words_are_whole, NULL);
    return kiln_test_run("lexer");
}
