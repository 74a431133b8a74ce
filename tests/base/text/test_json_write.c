/* Writing JSON: the exact bytes, and that reading gives back what was written. */
#include "tests/support/kiln_test.h"

#include <math.h>
#include <signal.h>
#include <string.h>

static void writes_nested_values(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_buf b;
    kiln_buf_init(&b, &a);
    kiln_json_writer w;
    kiln_json_writer_init(&w, &b);
    kiln_json_begin_object(&w);
    kiln_json_member_str(&w, "name", "conv1");
    kiln_json_member_str(&w, "none", NULL);
    kiln_json_member_i64(&w, "bytes", INT64_MIN);
    kiln_json_member_f64(&w, "scale", 0.1);
    kiln_json_member_bool(&w, "is_static", true);
    kiln_json_name(&w, "shape");
    kiln_json_begin_row(&w);
    kiln_json_put_i64(&w, 1);
    kiln_json_put_i64(&w, 3);
    kiln_json_end_array(&w);
    kiln_json_name(&w, "list");
    kiln_json_begin_array(&w);
    kiln_json_put_null(&w);
    kiln_json_put_bool(&w, false);
    kiln_json_begin_object(&w);
    kiln_json_end_object(&w);
    kiln_json_begin_array(&w);
    kiln_json_end_array(&w);
    kiln_json_begin_row(&w); /* what is in a row stays on its line */
    kiln_json_begin_object(&w);
    kiln_json_member_i64(&w, "a", 1);
    kiln_json_member_i64(&w, "b", 2);
    kiln_json_end_object(&w);
    kiln_json_begin_row(&w);
    kiln_json_put_i64(&w, 5);
    kiln_json_end_array(&w);
    kiln_json_put_i64(&w, 6);
    kiln_json_end_array(&w);
    kiln_json_put_i64(&w, 7); /* and the next is on lines again */
    kiln_json_end_array(&w);
    kiln_json_end_object(&w);
    kiln_assert_text_equal(kiln_buf_str(&b),
                           kiln_str_from("{\n"
                                         "  \"name\": \"conv1\",\n"
                                         "  \"none\": null,\n"
                                         "  \"bytes\": -9223372036854775808,\n"
                                         "  \"scale\": 0.1,\n"
                                         "  \"is_static\": true,\n"
                                         "  \"shape\": [1, 3],\n"
                                         "  \"list\": [\n"
                                         "    null,\n"
                                         "    false,\n"
                                         "    {},\n"
                                         "    [],\n"
                                         "    [{\"a\": 1, \"b\": 2}, [5], 6],\n"
                                         "    7\n"
                                         "  ]\n"
                                         "}"));
    kiln_arena_fini(&a);
}

typedef struct string_row {
    const char *name;
    kiln_str text;
    const char *want;
} string_row;

static string_row string_rows[] = {
    {"string_of_nothing", {NULL, 0}, "\"\""},
    {"string_of_ascii", {"a/b", 3}, "\"a/b\""},
    {"string_with_short_escapes", {"\"\\\b\f\n\r\t", 7}, "\"\\\"\\\\\\b\\f\\n\\r\\t\""},
    {"string_with_control_characters", {"a\0\x1f", 3}, "\"a\\u0000\\u001f\""},
    {"string_of_utf8", {"\xC3\xA9\xF0\x9F\x98\x80", 6}, "\"\xC3\xA9\xF0\x9F\x98\x80\""},
    {"string_of_invalid_utf8", {"a\xFF\xC3", 3}, "\"a\\u00ff\\u00c3\""},
    {"string_of_a_surrogate", {"\xED\xA0\x80", 3}, "\"\\u00ed\\u00a0\\u0080\""},
};

static void check_string(void **state) {
    const string_row *r = *state;
    kiln_arena a = {0};
    kiln_buf b;
    kiln_buf_init(&b, &a);
    kiln_json_writer w;
    kiln_json_writer_init(&w, &b);
    kiln_json_put_string(&w, r->text);
    assert_string_equal(b.p, r->want);
    kiln_arena_fini(&a);
}

typedef struct number_row {
    const char *name;
    double x;
    const char *want;
} number_row;

static number_row number_rows[] = {
    {"number_zero", 0, "0"},
    {"number_minus_zero", -0.0, "-0"},
    {"number_integer", 42, "42"},
    {"number_of_15_digits", 0.1, "0.1"},
    {"number_of_16_digits", 0x1.999999999999ap-2 + 0x1p-54, "0.4000000000000001"},
    {"number_of_17_digits", 1.0 / 3.0, "0.3333333333333333"},
    {"number_needs_17_digits", 0.1 + 0.2, "0.30000000000000004"},
    {"number_large", 1e300, "1e+300"},
    {"number_largest", 0x1.fffffffffffffp1023, "1.7976931348623157e+308"},
    {"number_smallest", 0x1p-1074, "4.94065645841247e-324"},
    {"number_nan", (double)NAN, "null"},
    {"number_infinity", -(double)INFINITY, "null"},
};

static const char *number_text(kiln_arena *a, double x) {
    kiln_buf b;
    kiln_buf_init(&b, a);
    kiln_json_writer w;
    kiln_json_writer_init(&w, &b);
    kiln_json_put_f64(&w, x);
    return b.p;
}

static void check_number(void **state) {
    const number_row *r = *state;
    kiln_arena a = {0};
    assert_string_equal(number_text(&a, r->x), r->want);
    kiln_arena_fini(&a);
}

static void numbers_read_back_as_they_were(void **state) {
    (void)state;
    kiln_rng rng;
    kiln_rng_init(&rng, kiln_test_seed());
    kiln_arena a = {0};
    for (int i = 0; i < 20000; i++) {
        const uint64_t bits = kiln_rng_next(&rng);
        double x;
        memcpy(&x, &bits, sizeof x);
        if (!isfinite(x))
            continue;
        kiln_err err = {0};
        const kiln_json *v = NULL;
        kiln_assert_status_ok(
            kiln_json_parse(&a, kiln_str_from(number_text(&a, x)), "doc", &v, &err),
            &err);
        assert_true(kiln_json_number(v, (double)NAN) == x);
        kiln_arena_reset(&a);
    }
    kiln_arena_fini(&a);
}

static void strings_read_back_as_they_were(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_buf text, b;
    kiln_buf_init(&text, &a);
    kiln_buf_init(&b, &a);
    for (int c = 1; c < 128; c++)
        kiln_buf_add(&text, &(char){(char)c}, 1);
    kiln_buf_puts(&text, "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
    kiln_json_writer w;
    kiln_json_writer_init(&w, &b);
    kiln_json_put_string(&w, kiln_buf_str(&text));
    kiln_err err = {0};
    const kiln_json *v = NULL;
    kiln_assert_status_ok(kiln_json_parse(&a, kiln_buf_str(&b), "doc", &v, &err), &err);
    assert_string_equal(kiln_json_string(v, ""), text.p);
    kiln_arena_fini(&a);
}

static void value_without_key(kiln_json_writer *w) {
    kiln_json_begin_object(w);
    kiln_json_put_null(w);
}

static void key_in_an_array(kiln_json_writer *w) {
    kiln_json_begin_array(w);
    kiln_json_name(w, "k");
}

static void key_without_value(kiln_json_writer *w) {
    kiln_json_begin_object(w);
    kiln_json_name(w, "k");
    kiln_json_end_object(w);
}

static void two_documents(kiln_json_writer *w) {
    kiln_json_put_null(w);
    kiln_json_put_null(w);
}

static void wrong_end(kiln_json_writer *w) {
    kiln_json_begin_array(w);
    kiln_json_end_object(w);
}

static void too_deep(kiln_json_writer *w) {
    for (int i = 0; i < 64; i++)
        kiln_json_begin_array(w);
}

typedef struct misuse_row {
    const char *name;
    void (*misuse)(kiln_json_writer *w);
    const char *text;
} misuse_row;

static misuse_row misuse_rows[] = {
    {"asserts_on_a_value_without_key", value_without_key,
     "a value in an object needs a key"},
    {"asserts_on_a_key_in_an_array", key_in_an_array, "only an object has keys"},
    {"asserts_on_a_key_without_value", key_without_value, "a key has no value"},
    {"asserts_on_two_documents", two_documents, "a document is one value"},
    {"asserts_on_the_wrong_end", wrong_end, "the end does not match its beginning"},
    {"asserts_on_deep_nesting", too_deep, "nesting is deeper than 64"},
};

static void run_misuse(void *arg) {
    const misuse_row *r = arg;
    kiln_arena a = {0};
    kiln_buf b;
    kiln_buf_init(&b, &a);
    kiln_json_writer w;
    kiln_json_writer_init(&w, &b);
    r->misuse(&w);
}

static void check_misuse(void **state) {
    const misuse_row *r = *state;
    kiln_test_death death;
    kiln_test_in_child(run_misuse, *state, &death);
    assert_int_equal(death.signal, SIGABRT);
    assert_non_null(strstr(death.stderr_text, r->text));
}

/* A parsed document comes out as it went in. */
static void what_was_parsed_is_written_again(void **state) {
    (void)state;
    static const char text[] = "{\n"
                               "  \"a\": 1,\n"
                               "  \"b\": [0.1, \"x\\n\", true, null],\n"
                               "  \"c\": {\n"
                               "    \"d\": false,\n"
                               "    \"e\": {}\n"
                               "  }\n"
                               "}";
    const kiln_json *json = NULL;
    kiln_err err = {0};
    kiln_buf b;
    kiln_json_writer w;
    kiln_assert_status_ok(
        kiln_json_parse(kiln_test_arena(), kiln_str_from(text), "text", &json, &err),
        &err);
    kiln_buf_init(&b, kiln_test_arena());
    kiln_json_writer_init(&w, &b);
    kiln_json_put(&w, json);
    kiln_assert_text_equal(kiln_buf_str(&b), kiln_str_from(text));
}

static void writes_texts(void **state) {
    static const kiln_json_text row[] = {{"name", "x"}, {"type", NULL}};
    kiln_json_writer w;
    kiln_buf b;
    (void)state;
    kiln_buf_init(&b, kiln_test_arena());
    kiln_json_writer_init(&w, &b);
    kiln_json_begin_row(&w);
    kiln_json_put_texts(&w, row, 2);
    kiln_json_put_texts(&w, row, 0);
    kiln_json_end_array(&w);
    kiln_assert_text_equal(kiln_buf_str(&b),
                           kiln_str_from("[{\"name\": \"x\", \"type\": null}, {}]"));
}

int main(void) {
    kiln_test_add("writes_texts", writes_texts, NULL);
    kiln_test_add("what_was_parsed_is_written_again", what_was_parsed_is_written_again,
                  NULL);
    kiln_test_add("writes_nested_values", writes_nested_values, NULL);
    kiln_test_add_rows(check_string, string_rows);
    kiln_test_add_rows(check_number, number_rows);
    kiln_test_add("numbers_read_back_as_they_were", numbers_read_back_as_they_were,
                  NULL);
    kiln_test_add("strings_read_back_as_they_were", strings_read_back_as_they_were,
                  NULL);
    kiln_test_add_rows(check_misuse, misuse_rows);
    return kiln_test_run("json_write");
}
