/* Views, numbers, UTF-8 and the builder. */
#include "tests/support/kiln_test.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES(lit) KILN_STR_LIT(lit)

typedef struct i64_row {
    const char *name;
    kiln_str text;
    bool ok;
    int64_t want;
} i64_row;

static i64_row i64_rows[] = {
    {"i64_reads_zero", {"0", 1}, true, 0},
    {"i64_reads_minus_zero", {"-0", 2}, true, 0},
    {"i64_reads_a_plus_sign", {"+12", 3}, true, 12},
    {"i64_reads_leading_zeros", {"007", 3}, true, 7},
    {"i64_reads_the_largest", {"9223372036854775807", 19}, true, INT64_MAX},
    {"i64_reads_the_smallest", {"-9223372036854775808", 20}, true, INT64_MIN},
    {"i64_rejects_one_more_than_the_largest", {"9223372036854775808", 19}, false, 0},
    {"i64_rejects_one_less_than_the_smallest", {"-9223372036854775809", 20}, false, 0},
    {"i64_rejects_ten_times_the_largest", {"92233720368547758070", 20}, false, 0},
    {"i64_rejects_nothing", {"", 0}, false, 0},
    {"i64_rejects_null", {NULL, 0}, false, 0},
    {"i64_rejects_a_sign_alone", {"-", 1}, false, 0},
    {"i64_rejects_two_signs", {"--1", 3}, false, 0},
    {"i64_rejects_letters_behind", {"12x", 3}, false, 0},
    {"i64_rejects_a_blank_before", {" 1", 2}, false, 0},
    {"i64_rejects_a_blank_behind", {"1 ", 2}, false, 0},
    {"i64_rejects_a_terminator", {"1\0", 2}, false, 0},
    {"i64_rejects_hexadecimal", {"0x10", 4}, false, 0},
    {"i64_reads_only_the_view", {"123456", 3}, true, 123},
};

static void check_i64(void **state) {
    const i64_row *r = *state;
    int64_t got = 77;
    assert_int_equal(kiln_parse_i64(r->text, &got), r->ok);
    assert_true(got == (r->ok ? r->want : 77)); /* left alone on failure */
}

typedef struct f64_row {
    const char *name, *text;
    bool ok;
    double want;
} f64_row;

static f64_row f64_rows[] = {
    {"f64_reads_an_integer", "3", true, 3},
    {"f64_reads_minus_zero", "-0", true, -0.0},
    {"f64_reads_a_fraction", "0.1", true, 0.1},
    {"f64_reads_without_digits_before_the_point", ".5", true, 0.5},
    {"f64_reads_without_digits_behind_the_point", "5.", true, 5},
    {"f64_reads_an_exponent", "1e-3", true, 1e-3},
    {"f64_reads_a_signed_exponent", "-1.5E+3", true, -1500},
    {"f64_reads_hexadecimal", "0x1.8p+1", true, 3},
    {"f64_reads_hexadecimal_without_exponent", "0x10", true, 16},
    {"f64_reads_upper_case_hexadecimal", "-0X1.ABP-3", true, -0x1.ABP-3},
    {"f64_reads_the_smallest_subnormal", "0x1p-1074", true, 0x1p-1074},
    {"f64_rounds_what_is_too_small_to_zero", "1e-400", true, 0},
    {"f64_reads_the_largest", "1.7976931348623157e308", true, 0x1.fffffffffffffp1023},
    {"f64_rounds_halves_to_even", "9007199254740993", true, 9007199254740992.0},
    {"f64_reads_inf", "inf", true, (double)INFINITY},
    {"f64_reads_minus_inf", "-inf", true, -(double)INFINITY},
    {"f64_reads_nan", "nan", true, (double)NAN},
    {"f64_rejects_overflow", "1e309", false, 0},
    {"f64_rejects_nothing", "", false, 0},
    {"f64_rejects_a_point_alone", ".", false, 0},
    {"f64_rejects_a_sign_alone", "-", false, 0},
    {"f64_rejects_an_exponent_without_digits", "1e", false, 0},
    {"f64_rejects_an_exponent_with_a_sign_only", "1e+", false, 0},
    {"f64_rejects_0x_alone", "0x", false, 0},
    {"f64_rejects_0x_without_digits", "0x.p1", false, 0},
    {"f64_rejects_a_blank_before", " 1", false, 0},
    {"f64_rejects_a_blank_behind", "1 ", false, 0},
    {"f64_rejects_letters_behind", "1.5f", false, 0},
    {"f64_rejects_a_comma", "1,5", false, 0},
    {"f64_rejects_infinity_in_full", "infinity", false, 0},
    {"f64_rejects_upper_case_inf", "INF", false, 0},
    {"f64_rejects_nan_with_a_payload", "nan(1)", false, 0},
};

static void check_f64(void **state) {
    const f64_row *r = *state;
    double got = 77;
    assert_int_equal(kiln_parse_f64(kiln_str_from(r->text), &got), r->ok);
    const double want = r->ok ? r->want : 77;
    kiln_assert_close_f64(&got, &want, 1, 0, 0);
    assert_int_equal(signbit(got) != 0, signbit(want) != 0);
}

static void f64_reads_what_hex_printing_writes(void **state) {
    (void)state;
    kiln_rng rng;
    kiln_rng_init(&rng, kiln_test_seed());
    for (int i = 0; i < 20000; i++) {
        const uint64_t bits = kiln_rng_next(&rng);
        double x, back = 0;
        memcpy(&x, &bits, sizeof x);
        char text[64];
        snprintf(text, sizeof text, i % 2 == 0 ? "%a" : "%.17g", x);
        assert_true(kiln_parse_f64(kiln_str_from(text), &back));
        if (isnan(x))
            assert_true(isnan(back));
        else
            assert_memory_equal(&x, &back, sizeof x);
    }
}

static void f64_reads_the_longest_exact_decimal(void **state) {
    (void)state;
    char text[KILN_F64_TEXT + 8];
    const double largest_subnormal = -0x1.ffffffffffffep-1023;
    const int n = snprintf(text, sizeof text, "%.1074f", largest_subnormal);
    assert_in_range(n, 1077, KILN_F64_TEXT - 1);
    double got = 0;
    assert_true(kiln_parse_f64(kiln_str_from(text), &got));
    kiln_assert_close_f64(&got, &largest_subnormal, 1, 0, 0);

    memset(text, '0', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_false(kiln_parse_f64(kiln_str_from(text), &got));
    assert_true(kiln_parse_f64((kiln_str){text, KILN_F64_TEXT - 1}, &got));
}

typedef struct utf8_row {
    const char *name;
    kiln_str text;
    bool ok;
} utf8_row;

static utf8_row utf8_rows[] = {
    {"utf8_accepts_nothing", {NULL, 0}, true},
    {"utf8_accepts_ascii_and_nul", {"a\0b\x7F", 4}, true},
    {"utf8_accepts_the_edges_of_two_bytes", {"\xC2\x80\xDF\xBF", 4}, true},
    {"utf8_accepts_the_edges_of_three_bytes", {"\xE0\xA0\x80\xEF\xBF\xBF", 6}, true},
    {"utf8_accepts_around_the_surrogates", {"\xED\x9F\xBF\xEE\x80\x80", 6}, true},
    {"utf8_accepts_the_edges_of_four_bytes",
     {"\xF0\x90\x80\x80\xF4\x8F\xBF\xBF", 8},
     true},
    {"utf8_rejects_a_continuation_alone", {"\x80", 1}, false},
    {"utf8_rejects_overlong_slash", {"\xC0\xAF", 2}, false},
    {"utf8_rejects_overlong_three_bytes", {"\xE0\x9F\xBF", 3}, false},
    {"utf8_rejects_overlong_four_bytes", {"\xF0\x8F\xBF\xBF", 4}, false},
    {"utf8_rejects_a_surrogate", {"\xED\xA0\x80", 3}, false},
    {"utf8_rejects_above_10FFFF", {"\xF4\x90\x80\x80", 4}, false},
    {"utf8_rejects_a_lead_byte_of_five", {"\xF8\x88\x80\x80\x80", 5}, false},
    {"utf8_rejects_a_cut_sequence", {"a\xE2\x82", 3}, false},
    {"utf8_rejects_a_broken_last_byte", {"\xE2\x82\x41", 3}, false},
    {"utf8_rejects_a_broken_middle_byte", {"\xF0\x9F\x41\x80", 4}, false},
};

static void check_utf8(void **state) {
    const utf8_row *r = *state;
    assert_int_equal(kiln_utf8_valid(r->text), r->ok);
}

typedef struct printable_row {
    const char *name;
    kiln_str text;
    size_t max_bytes;
    const char *want;
} printable_row;

static printable_row printable_rows[] = {
    {"printable_keeps_ascii", {"conv1/w", 7}, 20, "conv1/w"},
    {"printable_keeps_what_just_fits", {"abcdef", 6}, 6, "abcdef"},
    {"printable_cuts_with_an_ellipsis", {"abcdefg", 7}, 6, "abc..."},
    {"printable_escapes_control_characters",
     {"a\n\x1b\x7F", 4},
     20,
     "a\\x0a\\x1b\\x7f"},
    {"printable_escapes_utf8", {"\xC3\xA9", 2}, 20, "\\xc3\\xa9"},
    {"printable_escapes_nul", {"a\0b", 3}, 20, "a\\x00b"},
    {"printable_does_not_split_an_escape", {"ab\n\n", 4}, 9, "ab\\x0a..."},
    {"printable_cuts_before_an_escape", {"abcd\n", 5}, 7, "abcd..."},
    {"printable_accepts_nothing", {NULL, 0}, 5, ""},
    {"printable_accepts_no_room", {"abc", 3}, 0, ""},
    {"printable_accepts_room_for_two", {"abc", 3}, 2, "ab"},
    {"printable_accepts_room_for_the_ellipsis", {"abcd", 4}, 3, "..."},
};

static printable_row harmless_rows[] = {
    {"harmless_keeps_text", {"\xC3\xA9 a\tb\n", 7}, 0, "\xC3\xA9 a\tb\n"},
    {"harmless_escapes_escapes", {"a\x1b[2J", 5}, 0, "a\\x1b[2J"},
    {"harmless_escapes_returns_and_bells",
     {"a\r\a\b\x7f", 5},
     0,
     "a\\x0d\\x07\\x08\\x7f"},
    {"harmless_escapes_nul", {"a\0b", 3}, 0, "a\\x00b"},
    {"harmless_escapes_control_characters_of_utf8",
     {"\xC2\x9B"
      "2J",
      4},
     0,
     "\\xc2\\x9b2J"},
    {"harmless_escapes_what_is_no_utf8",
     {"\x9B"
      "2J\xff",
      4},
     0,
     "\\x9b2J\\xff"},
    {"harmless_accepts_nothing", {"", 0}, 0, ""},
};

static void check_harmless(void **state) {
    const printable_row *r = *state;
    kiln_arena a = {0};
    assert_string_equal(kiln_str_dupv(&a, kiln_str_harmless(&a, r->text)), r->want);
    kiln_arena_fini(&a);
}

static void check_printable(void **state) {
    const printable_row *r = *state;
    kiln_arena a = {0};
    assert_string_equal(kiln_str_printable(&a, r->text, r->max_bytes), r->want);
    kiln_arena_fini(&a);
}

/* One word and one behind another. */
typedef struct word_row {
    const char *name, *word, *want;
} word_row;

static word_row word_rows[] = {
    {"word_keeps_paths", "a/b-1.0_x:1x3,y=2@%+", "kiln a/b-1.0_x:1x3,y=2@%+"},
    {"word_quotes_blanks", "a b", "kiln 'a b'"},
    {"word_quotes_nothing", "", "kiln ''"},
    {"word_quotes_quotes", "it's", "kiln 'it'\\''s'"},
    {"word_quotes_what_shells_expand", "$x*", "kiln '$x*'"},
};

static void check_word(void **state) {
    const word_row *r = *state;
    kiln_arena a = {0};
    kiln_buf b;
    kiln_buf_init(&b, &a);
    kiln_buf_put_word(&b, "kiln");
    kiln_buf_put_word(&b, r->word);
    assert_string_equal(b.p, r->want);
    kiln_arena_fini(&a);
}

static void compares_views(void **state) {
    (void)state;
    const kiln_str none = {NULL, 0}, empty = {"", 0}, ab = {"abc", 2}, abc = {"abc", 3};
    assert_true(kiln_str_eq(none, empty));
    assert_true(kiln_str_is(ab, "ab"));
    assert_false(kiln_str_is(ab, "abc"));
    assert_true(kiln_str_is(none, NULL));
    assert_true(kiln_str_cmp(ab, abc) < 0);
    assert_true(kiln_str_cmp(abc, ab) > 0);
    assert_int_equal(kiln_str_cmp(none, empty), 0);
    assert_true(kiln_str_cmp(BYTES("\xFF"), BYTES("a")) > 0); /* as unsigned bytes */
    assert_true(kiln_str_starts(abc, "ab") && kiln_str_starts(none, ""));
    assert_false(kiln_str_starts(ab, "abc"));
    assert_true(kiln_str_ends(abc, "bc") && kiln_str_ends(none, ""));
    assert_false(kiln_str_ends(ab, "abc") || kiln_str_ends(abc, "ab"));
    assert_int_equal(kiln_str_int_len((kiln_str){"", (size_t)INT_MAX + 5}), INT_MAX);
}

typedef struct cut_row {
    const char *name;
    kiln_str text;
    const char *want; /* the parts, each in brackets */
} cut_row;

static cut_row cut_rows[] = {
    {"cut_splits_at_separators", {"a,bc,d", 6}, "[a][bc][d]"},
    {"cut_keeps_empty_parts", {",a,,", 4}, "[][a][][]"},
    {"cut_gives_one_part_without_separator", {"abc", 3}, "[abc]"},
    {"cut_gives_one_empty_part_of_empty_text", {"", 0}, "[]"},
    {"cut_gives_no_part_of_null", {NULL, 0}, ""},
};

static void check_cut(void **state) {
    const cut_row *r = *state;
    kiln_arena a = {0};
    kiln_buf got;
    kiln_buf_init(&got, &a);
    kiln_str rest = r->text, part;
    while (kiln_str_cut(&rest, ',', &part))
        kiln_buf_printf(&got, "[%.*s]", KILN_STR_ARG(part));
    assert_true(kiln_str_is(kiln_buf_str(&got), r->want));
    assert_true(part.p == NULL && part.n == 0);
    kiln_arena_fini(&a);
}

static void trims_blanks(void **state) {
    (void)state;
    assert_true(kiln_str_is(kiln_str_trim(BYTES(" \t\r\n\v\fa b \n")), "a b"));
    assert_int_equal(kiln_str_trim(BYTES("  ")).n, 0);
    assert_int_equal(kiln_str_trim((kiln_str){NULL, 0}).n, 0);
}

static void copies_and_formats(void **state) {
    (void)state;
    kiln_arena a = {0};
    assert_string_equal(kiln_str_dup(&a, ""), "");
    assert_string_equal(kiln_str_dupv(&a, (kiln_str){"abcd", 2}), "ab");
    assert_string_equal(kiln_str_dupv(&a, (kiln_str){NULL, 0}), "");
    assert_string_equal(kiln_format(&a, "%s-%04d", "x", 42), "x-0042");
    assert_string_equal(kiln_format(&a, "%s", ""), "");
    kiln_arena_fini(&a);
}

static void builds_text(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_buf b;
    kiln_buf_init(&b, &a);
    assert_null(b.p);
    assert_int_equal(kiln_buf_str(&b).n, 0);
    assert_string_equal(kiln_buf_str(&b).p, "");
    kiln_buf_add(&b, NULL, 0);
    assert_string_equal(b.p, "");
    for (int i = 0; i < 1000; i++) {
        kiln_buf_printf(&b, "%d,", i);
        assert_int_equal(strlen(b.p), b.n);
    }
    assert_int_equal(b.n, 10 * 2 + 90 * 3 + 900 * 4);
    assert_true(kiln_str_starts(kiln_buf_str(&b), "0,1,2,"));
    assert_true(kiln_str_ends(kiln_buf_str(&b), "998,999,"));
    const size_t n = b.n;
    kiln_buf_add(&b, b.p, b.n); /* its own text */
    assert_int_equal(b.n, 2 * n);
    assert_memory_equal(b.p, b.p + n, n);
    kiln_arena_fini(&a);
}

/* ---- names that fit a column ----------------------------------------------------- */

typedef struct fit_row {
    const char *name, *text;
    size_t max;
    const char *want;
} fit_row;

static fit_row fit_rows[] = {
    {"fits_as_it_is", "conv1", 5, "conv1"},
    {"fits_when_it_is_empty", "", 5, ""},
    {"loses_its_middle", "StatefulPartitionedCall/model/conv1", 20,
     "Statef../model/conv1"},
    {"keeps_one_letter_of_five", "abcdefgh", 5, "a..gh"},
    {"keeps_letters_whole", "a\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9fxyz", 9,
     "a..\xc3\x9fxyz"},
};

static void check_fit(void **state) {
    const fit_row *r = *state;
    const char *got = kiln_str_fit(kiln_test_arena(), r->text, r->max);
    assert_string_equal(got, r->want);
    assert_true(strlen(got) <= r->max);
    if (strlen(r->text) <= r->max)
        assert_ptr_equal(got, r->text);
}

static void one_is_no_plural(void **state) {
    (void)state;
    static const int64_t many[] = {0, 2, -1, INT64_MAX};
    assert_string_equal(kiln_plural(1), "");
    for (int i = 0; i < 4; i++)
        assert_string_equal(kiln_plural(many[i]), "s");
}

int main(void) {
    kiln_test_add("one_is_no_plural", one_is_no_plural, NULL);
    kiln_test_add_rows(check_i64, i64_rows);
    kiln_test_add_rows(check_f64, f64_rows);
    kiln_test_add("f64_reads_what_printing_writes", f64_reads_what_hex_printing_writes,
                  NULL);
    kiln_test_add("f64_reads_the_longest_exact_decimal",
                  f64_reads_the_longest_exact_decimal, NULL);
    kiln_test_add_rows(check_utf8, utf8_rows);
    kiln_test_add_rows(check_printable, printable_rows);
    kiln_test_add_rows(check_harmless, harmless_rows);
    kiln_test_add_rows(check_word, word_rows);
    kiln_test_add("compares_views", compares_views, NULL);
    kiln_test_add_rows(check_cut, cut_rows);
    kiln_test_add("trims_blanks", trims_blanks, NULL);
    kiln_test_add("copies_and_formats", copies_and_formats, NULL);
    kiln_test_add("builds_text", builds_text, NULL);
    kiln_test_add_rows(check_fit, fit_rows);
    return kiln_test_run("str");
}
