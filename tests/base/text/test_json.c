/* Reading JSON: what RFC 8259 allows, what it refuses, and the line and column that say
 * where. */
#include "tests/support/kiln_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct bad_row {
    const char *name;
    kiln_str text;
    kiln_status want;
    const char *message; /* behind "doc:" */
} bad_row;

#define BAD(name, lit, message)                                                        \
    { name, {lit, sizeof(lit) - 1}, KILN_ERR_PARSE, message }

static bad_row bad_rows[] = {
    BAD("rejects_nothing", "", "1:1: expected a value, found the end"),
    BAD("rejects_blanks_only", " \n ", "2:2: expected a value, found the end"),
    BAD("rejects_a_bare_word", "nul", "1:1: expected a value, found 'n'"),
    BAD("rejects_upper_case", "True", "1:1: expected a value, found 'T'"),
    BAD("rejects_bytes_behind", "{} x", "1:4: expected nothing more, found 'x'"),
    BAD("rejects_a_second_document", "1\n2", "2:1: expected nothing more, found '2'"),
    BAD("rejects_a_terminator_behind", "{}\0",
        "1:3: expected nothing more, found byte 0x00"),
    BAD("rejects_a_terminator_between", "[1,\0 2]",
        "1:4: expected a value, found byte 0x00"),
    BAD("rejects_a_byte_order_mark", "\xEF\xBB\xBF{}",
        "1:1: expected a value, found byte 0xef"),
    BAD("rejects_other_blanks", "[\f1]", "1:2: expected a value, found byte 0x0c"),
    BAD("rejects_an_open_object", "{\n  \"a\": 1\n",
        "3:1: expected ',' or '}', found the end"),
    BAD("rejects_an_open_array", "[1, 2", "1:6: expected ',' or ']', found the end"),
    BAD("rejects_the_wrong_bracket", "[1}", "1:3: expected ',' or ']', found '}'"),
    BAD("rejects_a_missing_colon", "{\"a\" 1}", "1:6: expected ':', found '1'"),
    BAD("rejects_a_missing_comma", "[1 2]", "1:4: expected ',' or ']', found '2'"),
    BAD("rejects_a_comma_at_the_end_of_an_array", "[1,]",
        "1:4: expected a value, found ']'"),
    BAD("rejects_a_comma_at_the_end_of_an_object", "{\"a\":1,}",
        "1:8: expected a key in double quotes, found '}'"),
    BAD("rejects_a_key_without_quotes", "{a:1}",
        "1:2: expected a key in double quotes, found 'a'"),
    BAD("rejects_a_comment", "[1] // x", "1:5: expected nothing more, found '/'"),
    BAD("rejects_single_quotes", "['a']", "1:2: expected a value, found '''"),
    BAD("rejects_a_leading_zero", "[01]", "1:2: a number must not start with 0"),
    BAD("rejects_a_leading_zero_behind_minus", "-01",
        "1:1: a number must not start with 0"),
    BAD("rejects_a_plus_sign", "+1", "1:1: expected a value, found '+'"),
    BAD("rejects_a_minus_alone", "-", "1:2: expected a digit, found the end"),
    BAD("rejects_a_leading_point", ".5", "1:1: expected a value, found '.'"),
    BAD("rejects_a_point_at_the_end", "[1.]", "1:4: expected a digit, found ']'"),
    BAD("rejects_an_empty_exponent", "1e", "1:3: expected a digit, found the end"),
    BAD("rejects_hexadecimal", "0x10", "1:2: expected nothing more, found 'x'"),
    BAD("rejects_nan", "NaN", "1:1: expected a value, found 'N'"),
    BAD("rejects_a_number_too_large", "[1, 1e999]",
        "1:5: this number is too large for a double"),
    BAD("rejects_a_number_that_cjson_would_cut",
        "0.12345678901234567890123456789012345678901234567890123456789012",
        "1:1: a number must have at most 63 characters, this has 64"),
    BAD("rejects_an_open_string", "[\"abc", "1:2: this string has no end"),
    BAD("rejects_an_escaped_closing_quote", "\"abc\\\"", "1:1: this string has no end"),
    BAD("rejects_a_newline_in_a_string", "\"a\nb\"",
        "1:3: control character 0x0a in a string must be escaped"),
    BAD("rejects_a_terminator_in_a_string", "\"a\0b\"",
        "1:3: control character 0x00 in a string must be escaped"),
    BAD("rejects_invalid_utf8", "\"a\xC0\xAF\"",
        "1:3: byte 0xc0 does not start a UTF-8 sequence"),
    BAD("rejects_a_cut_sequence", "\"\xE2\x82\"",
        "1:2: byte 0xe2 does not start a UTF-8 sequence"),
    BAD("rejects_an_unknown_escape", "\"\\x41\"",
        "1:3: expected one of \"\\/bfnrtu behind a backslash, found 'x'"),
    BAD("rejects_a_backslash_at_the_end", "\"\\",
        "1:3: expected one of \"\\/bfnrtu behind a backslash, found the end"),
    BAD("rejects_a_short_unicode_escape", "\"\\u12G4\"",
        "1:6: expected a hexadecimal digit, found 'G'"),
    BAD("rejects_an_escaped_terminator", "\"a\\u0000b\"",
        "1:3: \\u0000 is not read in strings"),
    BAD("rejects_a_low_surrogate_alone", "\"\\uDC00\"",
        "1:2: this surrogate has no partner"),
    BAD("rejects_a_high_surrogate_alone", "\"\\uD83D\"",
        "1:2: this surrogate has no partner"),
    BAD("rejects_two_high_surrogates", "\"\\uD83D\\uD83D\"",
        "1:2: this surrogate has no partner"),
    BAD("rejects_a_high_surrogate_before_text", "\"\\uD83Dx\"",
        "1:2: this surrogate has no partner"),
    BAD("rejects_a_duplicate_key", "{\"a\": 1,\n \"b\": 2, \"a\": 3}",
        "2:10: key 'a' appears twice"),
    BAD("rejects_a_duplicate_key_in_disguise", "{\"a\": 1, \"\\u0061\": 3}",
        "1:10: key 'a' appears twice"),
    BAD("rejects_a_duplicate_key_deep_inside",
        "[{\"a\": {\"a\": [{\"x\": 1}, {\"y\": 1,\n\"y\": 2}]}}]",
        "2:1: key 'y' appears twice"),
    BAD("rejects_a_duplicate_key_behind_a_deep_one",
        "{\"a\": {\"a\": {\"a\": 1}}, \"b\": [{\"c\": 0}],\n \"a\": 2}",
        "2:2: key 'a' appears twice"),
    BAD("rejects_a_duplicate_empty_key", "{\"\":1,\"\":2}",
        "1:7: key '' appears twice"),
};

static void check_bad(void **state) {
    const bad_row *r = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    const kiln_json *v = NULL;
    /* Of exactly that size, so that reading past the end is seen. */
    const kiln_str text = {kiln_arena_dup(&a, r->text.p, r->text.n), r->text.n};
    kiln_assert_fails(kiln_json_parse(&a, text, "doc", &v, &err), r->want, &err,
                      kiln_format(&a, "doc:%s", r->message));
    assert_null(v);
    kiln_arena_fini(&a);
}

static const kiln_json *parse(kiln_arena *a, const char *text) {
    kiln_err err = {0};
    const kiln_json *v = NULL;
    kiln_assert_status_ok(kiln_json_parse(a, kiln_str_from(text), "doc", &v, &err),
                          &err);
    return v;
}

static void reads_every_kind_of_value(void **state) {
    (void)state;
    kiln_arena a = {0};
    const kiln_json *v = parse(
        &a, " {\"s\": \"text\", \"n\": -1.5e2, \"t\": true, \"f\": false,\r\n\t\"z\": "
            "null, \"a\": [1, [], {}], \"o\": {\"k\": 7}, \"\": 0} ");
    assert_true(kiln_json_is_object(v));
    assert_int_equal(kiln_json_size(v), 8);
    assert_string_equal(kiln_json_string(kiln_json_get(v, "s"), "?"), "text");
    assert_true(kiln_json_number(kiln_json_get(v, "n"), 0) == -150.0);
    assert_true(kiln_json_bool(kiln_json_get(v, "t"), false));
    assert_false(kiln_json_bool(kiln_json_get(v, "f"), true));
    assert_non_null(kiln_json_get(v, "z"));
    assert_non_null(kiln_json_get(v, ""));
    const kiln_json *array = kiln_json_get(v, "a");
    assert_true(kiln_json_is_array(array));
    assert_int_equal(kiln_json_size(array), 3);
    assert_true(kiln_json_is_array(kiln_json_at(array, 1)));
    assert_true(kiln_json_is_object(kiln_json_at(array, 2)));
    assert_null(kiln_json_at(array, 3));
    const kiln_json *member = kiln_json_first(kiln_json_get(v, "o"));
    assert_string_equal(kiln_json_key(member), "k");
    assert_null(kiln_json_next(member));
    assert_null(kiln_json_get(v, "S")); /* keys are told apart by case */
    kiln_arena_fini(&a);
}

/* Numbers in the order of the text, in objects and arrays. */
static void tells_how_numbers_are_written(void **state) {
    (void)state;
    kiln_arena a = {0};
    const kiln_json *const v =
        parse(&a, "[2, 2.0, {\"a\": -3e0, \"b\": [\"1.5\", 1], \"c\": 0.5}, true, 7]");
    const kiln_json *const o = kiln_json_at(v, 2);
    assert_false(kiln_json_is_real(kiln_json_at(v, 0)));
    assert_true(kiln_json_is_real(kiln_json_at(v, 1)));
    assert_true(kiln_json_is_real(kiln_json_get(o, "a")));
    assert_false(kiln_json_is_real(kiln_json_at(kiln_json_get(o, "b"), 0)));
    assert_false(kiln_json_is_real(kiln_json_at(kiln_json_get(o, "b"), 1)));
    assert_true(kiln_json_is_real(kiln_json_get(o, "c")));
    assert_false(kiln_json_is_real(kiln_json_at(v, 3)));
    assert_false(kiln_json_is_real(kiln_json_at(v, 4)));
    assert_false(kiln_json_is_real(NULL));
    assert_true(kiln_json_is_number(kiln_json_at(v, 1)));
    assert_true(kiln_json_is_real(parse(&a, "1.0")));
    kiln_arena_fini(&a);
}

static void answers_for_what_is_not_there(void **state) {
    (void)state;
    kiln_arena a = {0};
    const kiln_json *v = parse(&a, "{\"s\": \"x\", \"n\": 1}");
    int64_t i = 5;
    assert_null(kiln_json_get(kiln_json_get(kiln_json_get(v, "no"), "no"), "no"));
    assert_null(kiln_json_at(NULL, 0));
    assert_null(kiln_json_first(kiln_json_get(v, "s")));
    assert_null(kiln_json_next(NULL));
    assert_null(kiln_json_key(NULL));
    assert_int_equal(kiln_json_size(NULL), 0);
    assert_int_equal(kiln_json_size(kiln_json_get(v, "n")), 0);
    assert_string_equal(kiln_json_string(kiln_json_get(v, "n"), "other"), "other");
    assert_null(kiln_json_string(NULL, NULL));
    assert_true(kiln_json_number(kiln_json_get(v, "s"), 2.5) == 2.5);
    assert_true(kiln_json_bool(kiln_json_get(v, "n"), true));
    assert_false(kiln_json_i64(kiln_json_get(v, "s"), &i) || kiln_json_i64(NULL, &i));
    assert_true(i == 5);
    assert_null(kiln_json_get(parse(&a, "[{\"k\": 1}]"), "k"));
    kiln_arena_fini(&a);
}

static void decodes_escapes(void **state) {
    (void)state;
    kiln_arena a = {0};
    assert_string_equal(
        kiln_json_string(
            parse(&a, "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\u20AC\\uD83D\\uDE00\""),
            ""),
        "\"\\/\b\f\n\r\t\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
    assert_string_equal(kiln_json_string(parse(&a, "\"\xF0\x9F\x98\x80\x7F\""), ""),
                        "\xF0\x9F\x98\x80\x7F");
    kiln_arena_fini(&a);
}

typedef struct i64_row {
    const char *name, *text;
    bool ok;
    int64_t want;
} i64_row;

static i64_row i64_rows[] = {
    {"i64_reads_zero", "0", true, 0},
    {"i64_reads_minus_zero", "-0", true, 0},
    {"i64_reads_an_exponent", "12e2", true, 1200},
    {"i64_reads_two_to_the_53", "9007199254740992", true, INT64_C(9007199254740992)},
    {"i64_reads_its_negative", "-9007199254740992", true, -INT64_C(9007199254740992)},
    {"i64_rejects_above", "9007199254740994", false, 0},
    {"i64_rejects_far_above", "1e300", false, 0},
    {"i64_rejects_a_fraction", "1.5", false, 0},
    {"i64_rejects_a_string", "\"1\"", false, 0},
};

static void check_i64(void **state) {
    const i64_row *r = *state;
    kiln_arena a = {0};
    int64_t got = 77;
    assert_int_equal(kiln_json_i64(parse(&a, r->text), &got), r->ok);
    assert_true(got == (r->ok ? r->want : 77));
    kiln_arena_fini(&a);
}

static char *nested(kiln_arena *a, size_t depth, const char *open, const char *close) {
    kiln_buf b;
    kiln_buf_init(&b, a);
    for (size_t i = 0; i < depth; i++)
        kiln_buf_puts(&b, open);
    kiln_buf_puts(&b, "0");
    for (size_t i = 0; i < depth; i++)
        kiln_buf_puts(&b, close);
    return b.p;
}

static void limits_nesting(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    const kiln_json *v = NULL;
    assert_non_null(parse(&a, nested(&a, 100, "[", "]")));
    assert_non_null(parse(&a, nested(&a, 100, "{\"k\":", "}")));
    kiln_assert_fails(
        kiln_json_parse(&a, kiln_str_from(nested(&a, 101, "[", "]")), "doc", &v, &err),
        KILN_ERR_LIMIT, &err, "doc:1:101: nesting is deeper than 100");
    kiln_assert_fails(kiln_json_parse(&a, kiln_str_from(nested(&a, 1000000, "[", "")),
                                      "doc", &v, &err),
                      KILN_ERR_LIMIT, &err, "nesting is deeper than 100");
    kiln_arena_fini(&a);
}

static void limits_size(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    const kiln_json *v = NULL;
    const size_t n = (size_t)KILN_JSON_MAX_BYTES + 1;
    const kiln_str text = {kiln_arena_alloc(&a, n), n};
    kiln_assert_fails(kiln_json_parse(&a, text, "doc", &v, &err), KILN_ERR_LIMIT, &err,
                      "'doc' has 67108865 bytes; at most 67108864 are read");
    kiln_arena_fini(&a);
}

static void finds_a_late_duplicate_among_many_keys(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    const kiln_json *v = NULL;
    kiln_buf b;
    kiln_buf_init(&b, &a);
    kiln_buf_puts(&b, "{");
    for (int i = 0; i < 50000; i++)
        kiln_buf_printf(&b, "\"key%d\":{\"x\":0},\n", i);
    kiln_buf_puts(&b, "\"key123\":0}");
    kiln_assert_fails(kiln_json_parse(&a, kiln_buf_str(&b), "doc", &v, &err),
                      KILN_ERR_PARSE, &err, "doc:50001:1: key 'key123' appears twice");
    kiln_arena_fini(&a);
}

static void reads_a_file_and_names_it(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    const kiln_json *v = NULL;
    const char *path = kiln_path_join(&a, kiln_test_dir(), "x.json");
    kiln_assert_status_ok(kiln_file_write(path, "[1]", 3, &err), &err);
    kiln_assert_status_ok(kiln_json_read(&a, path, &v, &err), &err);
    assert_int_equal(kiln_json_size(v), 1);
    kiln_assert_status_ok(kiln_file_write(path, "[1", 2, &err), &err);
    kiln_assert_fails(kiln_json_read(&a, path, &v, &err), KILN_ERR_PARSE, &err,
                      "x.json:1:3: expected ',' or ']', found the end");
    kiln_assert_fails(kiln_json_read(&a, "no/such.json", &v, &err), KILN_ERR_MISSING,
                      &err, "cannot open 'no/such.json'");
    kiln_arena_fini(&a);
}

/* Cuts and single changed bytes of a good document: never a crash, and what is accepted
 * is a tree. */
static void survives_damaged_documents(void **state) {
    (void)state;
    static const char good[] =
        "{\"name\": \"\\u00e9\\uD83D\\uDE00 x\", \"dims\": [1, -2.5e3, 0.1], "
        "\"deep\": {\"a\": [true, false, null, {}]}, \"\xC3\xA9\": []}";
    const size_t n = sizeof good - 1;
    kiln_rng rng;
    kiln_rng_init(&rng, kiln_test_seed());
    kiln_arena a = {0};
    (void)parse(&a, good);
    for (int i = 0; i < 20000; i++) {
        const size_t kept = i < (int)n ? (size_t)i : n;
        char *text =
            kiln_arena_dup(&a, good, kept); /* exactly so large, for the sanitizer */
        if (kept == n)
            text[kiln_rng_range(&rng, 0, (int64_t)n - 1)] =
                (char)kiln_rng_range(&rng, -128, 127);
        kiln_err err = {0};
        const kiln_json *v = NULL;
        const kiln_status st =
            kiln_json_parse(&a, (kiln_str){text, kept}, "doc", &v, &err);
        assert_true(st == KILN_OK ? kiln_json_is_object(v)
                                  : v == NULL && strncmp(err.text, "doc:", 4) == 0);
        kiln_arena_reset(&a);
    }
    kiln_arena_fini(&a);
}

int main(void) {
    kiln_test_add_rows(check_bad, bad_rows);
    kiln_test_add_rows(check_i64, i64_rows);
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(reads_every_kind_of_value),
        cmocka_unit_test(tells_how_numbers_are_written),
        cmocka_unit_test(answers_for_what_is_not_there),
        cmocka_unit_test(decodes_escapes),
        cmocka_unit_test(limits_nesting),
        cmocka_unit_test(limits_size),
        cmocka_unit_test(finds_a_late_duplicate_among_many_keys),
        cmocka_unit_test(reads_a_file_and_names_it),
        cmocka_unit_test(survives_damaged_documents),
    };
    kiln_test_add_tests(plain);
    return kiln_test_run("json");
}
