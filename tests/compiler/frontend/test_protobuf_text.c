/* The reader of protobuf's text format on small texts: every kind of field and spelling,
 * and what it refuses. */
#include "compiler/frontend/protobuf_text.h"

#include <math.h>
#include <string.h>

#include "tests/support/kiln_test.h"

typedef struct leaf {
    int64_t v;
} leaf;

typedef struct message {
    int64_t i, colour;
    bool has_i, flag;
    int32_t small;
    uint64_t big;
    float f;
    double d;
    kiln_str text;
    const int64_t *ints;
    const kiln_str *texts;
    const leaf *leaves;
    size_t n_ints, n_texts, n_leaves, n_skipped, n_others;
    const struct message *sub;
    int64_t flat;
    bool has_flat;
} message;

#define AT(name) offsetof(message, name)
#define NONE KILN_PB_NONE

static const kiln_pb_field leaf_fields[] = {
    {1, KILN_PB_I64, false, "v", offsetof(leaf, v), NONE, NULL},
};
static const kiln_pb_message leaf_table = {"Leaf", sizeof(leaf), leaf_fields, 1};
static const kiln_pb_field flat_fields[] = {
    {1, KILN_PB_I64, false, "flat", AT(flat), NONE, NULL},
};
static const kiln_pb_message flat_table = {"Flat", sizeof(message), flat_fields, 1};
static const kiln_pb_field colour_fields[] = {
    {3, KILN_PB_I64, false, "RED", 0, NONE, NULL},
    {5, KILN_PB_I64, false, "BLUE", 0, NONE, NULL},
};
static const kiln_pb_message colours = {"Colour", 0, colour_fields, 2};

static const kiln_pb_message table;
static const kiln_pb_field fields[] = {
    {1, KILN_PB_I64, false, "i", AT(i), AT(has_i), NULL},
    {2, KILN_PB_BOOL, false, "flag", AT(flag), NONE, NULL},
    {3, KILN_PB_F32, false, "f", AT(f), NONE, NULL},
    {4, KILN_PB_F64, false, "d", AT(d), NONE, NULL},
    {5, KILN_PB_BYTES, false, "text", AT(text), NONE, NULL},
    {6, KILN_PB_I64, true, "ints", AT(ints), AT(n_ints), NULL},
    {7, KILN_PB_I32, false, "small", AT(small), NONE, NULL},
    {8, KILN_PB_U64, false, "big", AT(big), NONE, NULL},
    {9, KILN_PB_BYTES, true, "texts", AT(texts), AT(n_texts), NULL},
    {10, KILN_PB_MESSAGE, true, "leaves", AT(leaves), AT(n_leaves), &leaf_table},
    {11, KILN_PB_MESSAGE, false, "sub", AT(sub), NONE, &table},
    {12, KILN_PB_INLINE, false, "inside", 0, AT(has_flat), &flat_table},
    {13, KILN_PB_I64, false, "colour", AT(colour), NONE, &colours},
    {14, KILN_PB_COUNT, true, "skipped", AT(n_skipped), NONE, NULL},
    {0, KILN_PB_COUNT, true, "*_extra", AT(n_others), NONE, NULL},
};
static const kiln_pb_message table = {"Message", sizeof(message), fields,
                                      sizeof fields / sizeof fields[0]};

static kiln_status read(const char *text, message *m, kiln_err *err) {
    return kiln_pb_read_text(kiln_test_arena(), &table, kiln_str_from(text), "t.txt", m,
                             err);
}

static message must_read(const char *text) {
    message m;
    kiln_err err = {0};
    kiln_assert_status_ok(read(text, &m, &err), &err);
    return m;
}

static void numbers_have_many_spellings(void **state) {
    (void)state;
    message m = must_read("i: -0x10 flag: t f: 1.5f d: - inf small: -012 big: "
                          "18446744073709551615");
    assert_true(m.has_i && m.i == -16 && m.flag && m.f == 1.5f && m.small == -10);
    assert_true(isinf(m.d) && m.d < 0 && m.big == UINT64_MAX);
    m = must_read("i: -9223372036854775808 flag: 0 f: 1e-2 d: 3");
    assert_true(m.i == INT64_MIN && !m.flag && m.f == 0.01f && m.d == 3);
    m = must_read("d: nan, f: .5; i: 07");
    assert_true(isnan(m.d) && m.f == 0.5f && m.i == 7);
}

static void enumerations_go_by_name_or_number(void **state) {
    (void)state;
    assert_int_equal(must_read("colour: BLUE").colour, 5);
    assert_int_equal(must_read("colour: 4").colour, 4);
}

static void strings_are_joined_and_unescaped(void **state) {
    (void)state;
    static const char plain[] = "text: \"as it is\"";
    message m;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_pb_read_text(kiln_test_arena(), &table,
                                            KILN_STR_LIT(plain), NULL, &m, &err),
                          &err);
    assert_ptr_equal(m.text.p, plain + 7); /* a view */
    m = must_read("text: 'a\\n' # comment\n \"\\x41\\102\\\"'\"");
    assert_true(kiln_str_is(m.text, "a\nAB\"'"));
    m = must_read("text: ''");
    assert_int_equal(m.text.n, 0);
}

static void lists_are_whole_or_piece_by_piece(void **state) {
    (void)state;
    const message m = must_read("ints: 1 ints: [2, 3] ints: [] texts: ['a', 'b' 'c'] "
                                "leaves { v: 7 } leaves: [{ v: 8 }, < v: 9 >]");
    assert_int_equal(m.n_ints, 3);
    assert_int_equal(m.ints[2], 3);
    assert_int_equal(m.n_texts, 2);
    assert_true(kiln_str_is(m.texts[1], "bc"));
    assert_int_equal(m.n_leaves, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(m.leaves[i].v, 7 + i);
}

static void messages_lie_in_messages(void **state) {
    (void)state;
    const message m = must_read("sub < i: 1 sub: { i: 2 } > inside { flat: 3 }");
    assert_int_equal(m.sub->i, 1);
    assert_int_equal(m.sub->sub->i, 2);
    assert_true(m.has_flat && m.flat == 3);
}

static void what_is_skipped_is_counted(void **state) {
    (void)state;
    const message m =
        must_read("skipped: -1 skipped { a: [1, { b: 'x' }] c < > } skipped: "
                  "'s' my_extra { any: thing } skipped: []");
    assert_int_equal(m.n_skipped, 4);
    assert_int_equal(m.n_others, 1);
}

typedef struct row {
    const char *name, *text;
    kiln_status want;
    const char *message;
} row;

static row rows[] = {
    {"unknown_field", "i: 1\n  other: 2", KILN_ERR_UNSUPPORTED,
     "t.txt:2:3: Message has no field 'other' that kiln knows"},
    {"twice", "i: 1 i: 2", KILN_ERR_PARSE,
     "t.txt:1:6: field 'i' of Message is given twice"},
    {"message_twice", "sub { } sub { }", KILN_ERR_PARSE,
     "field 'sub' of Message is given"},
    {"no_colon", "i 1", KILN_ERR_PARSE, "expected ':', found '1'"},
    {"no_brace", "sub: 1", KILN_ERR_PARSE, "expected '{', found '1'"},
    {"wrong_bracket", "sub { i: 1 >", KILN_ERR_PARSE,
     "expected a field's name, found '>'"},
    {"extension", "[a.b]: 1", KILN_ERR_PARSE, "expected a field's name, found '['"},
    {"list_of_a_single", "i: [1]", KILN_ERR_PARSE, "must be a whole number, is ''"},
    {"list_without_end", "ints: [1", KILN_ERR_PARSE, "expected ']', the text ends"},
    {"too_large", "small: 2147483648", KILN_ERR_PARSE,
     "field 'small' of Message must be"},
    {"below_zero", "big: -1", KILN_ERR_PARSE, "a whole number of 0 or more, is '-1'"},
    {"bad_octal", "i: 08", KILN_ERR_PARSE, "must be a whole number, is '08'"},
    {"bad_enum", "colour: GREEN", KILN_ERR_PARSE, "enumeration's names, is 'GREEN'"},
    {"not_a_string", "text: abc", KILN_ERR_PARSE, "expected a string, found 'a'"},
    {"line_end", "text: 'a\nb'", KILN_ERR_PARSE, "a string must end on its line"},
    {"escape_of_too_much", "text: '\\777'", KILN_ERR_PARSE, "an escape of this string"},
    {"escape_at_the_end", "text: '\\", KILN_ERR_PARSE, "a string must end on its line"},
};

static void check_refusal(void **state) {
    const row *r = *state;
    message m;
    kiln_err err = {0};
    kiln_assert_fails(read(r->text, &m, &err), r->want, &err, r->message);
}

int main(void) {
    static const struct CMUnitTest unit[] = {
        cmocka_unit_test(numbers_have_many_spellings),
        cmocka_unit_test(enumerations_go_by_name_or_number),
        cmocka_unit_test(strings_are_joined_and_unescaped),
        cmocka_unit_test(lists_are_whole_or_piece_by_piece),
        cmocka_unit_test(messages_lie_in_messages),
        cmocka_unit_test(what_is_skipped_is_counted),
    };
    kiln_test_add_tests(unit);
    kiln_test_add_rows(check_refusal, rows);
    return kiln_test_run("protobuf_text");
}
