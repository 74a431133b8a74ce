/* The protobuf reader on hand-written bytes: every kind of field, packed and not, and
 * what it refuses. */
#include <string.h>

#include "compiler/frontend/protobuf.h"
#include "tests/support/kiln_test.h"

typedef struct leaf {
    int64_t v;
} leaf;

typedef struct message {
    int64_t i;
    bool has_i;
    bool flag;
    float f;
    double d;
    kiln_str text;
    const int64_t *ints;
    size_t n_ints;
    const int32_t *small;
    size_t n_small;
    const float *floats;
    size_t n_floats;
    const kiln_str *texts;
    size_t n_texts;
    const leaf *leaves;
    size_t n_leaves;
    const struct message *sub;
    int64_t flat;
    bool has_flat;
    size_t n_counted;
} message;

#define AT(name) offsetof(message, name)

static const kiln_pb_field leaf_fields[] = {
    {1, KILN_PB_I64, false, "v", offsetof(leaf, v), KILN_PB_NONE, NULL},
};
static const kiln_pb_message leaf_table = {"Leaf", sizeof(leaf), leaf_fields, 1};

static const kiln_pb_field flat_fields[] = {
    {1, KILN_PB_I64, false, "flat", AT(flat), KILN_PB_NONE, NULL},
};
static const kiln_pb_message flat_table = {"Flat", sizeof(message), flat_fields, 1};

static const kiln_pb_message table;
static const kiln_pb_field fields[] = {
    {1, KILN_PB_I64, false, "i", AT(i), AT(has_i), NULL},
    {2, KILN_PB_BOOL, false, "flag", AT(flag), KILN_PB_NONE, NULL},
    {3, KILN_PB_F32, false, "f", AT(f), KILN_PB_NONE, NULL},
    {4, KILN_PB_F64, false, "d", AT(d), KILN_PB_NONE, NULL},
    {5, KILN_PB_BYTES, false, "text", AT(text), KILN_PB_NONE, NULL},
    {6, KILN_PB_I64, true, "ints", AT(ints), AT(n_ints), NULL},
    {7, KILN_PB_I32, true, "small", AT(small), AT(n_small), NULL},
    {8, KILN_PB_F32, true, "floats", AT(floats), AT(n_floats), NULL},
    {9, KILN_PB_BYTES, true, "texts", AT(texts), AT(n_texts), NULL},
    {10, KILN_PB_MESSAGE, true, "leaves", AT(leaves), AT(n_leaves), &leaf_table},
    {11, KILN_PB_MESSAGE, false, "sub", AT(sub), KILN_PB_NONE, &table},
    {12, KILN_PB_INLINE, false, "flat", 0, AT(has_flat), &flat_table},
    {13, KILN_PB_COUNT, true, "counted", AT(n_counted), KILN_PB_NONE, NULL},
};
static const kiln_pb_message table = {"Message", sizeof(message), fields,
                                      sizeof fields / sizeof fields[0]};

/* Empty messages of two bytes that take a kilobyte each in memory. */
static const kiln_pb_message heavy_leaf = {"Heavy", 1024, leaf_fields, 1};
static const kiln_pb_field heavy_fields[] = {
    {9, KILN_PB_MESSAGE, true, "leaves", AT(leaves), AT(n_leaves), &heavy_leaf},
};
static const kiln_pb_message heavy_table = {"Bomb", sizeof(message), heavy_fields, 1};

static message read_ok(const char *bytes, size_t n) {
    message m;
    kiln_err err = {0};
    kiln_assert_status_ok(
        kiln_pb_read(kiln_test_arena(), &table, (kiln_str){bytes, n}, &m, &err), &err);
    return m;
}

#define READ(lit) read_ok(lit, sizeof(lit) - 1)

static void reads_single_fields(void **state) {
    (void)state;
    const message m =
        READ("\x08\x96\x01\x10\x05\x1d\x00\x00\x80\x3f\x21\x00\x00\x00\x00\x00\x00"
             "\xf0\xbf\x2a\x03"
             "abc");
    assert_int_equal(m.i, 150);
    assert_true(m.has_i);
    assert_true(m.flag);
    assert_true(m.f == 1.0f);
    assert_true(m.d == -1.0);
    assert_true(kiln_str_is(m.text, "abc"));
}

static void absent_fields_are_zero(void **state) {
    (void)state;
    const message m = READ("");
    assert_false(m.has_i);
    assert_int_equal(m.n_ints, 0);
    assert_null(m.sub);
    assert_null(m.text.p);
}

static void negative_numbers_take_ten_bytes(void **state) {
    (void)state;
    const message m = READ("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
    assert_int_equal(m.i, -1);
}

static void the_last_single_field_wins(void **state) {
    (void)state;
    assert_int_equal(READ("\x08\x01\x08\x02").i, 2);
}

/* One by one, packed, and both mixed, in the order of the file. */
static void repeated_fields_join(void **state) {
    (void)state;
    const message m = READ("\x30\x01\x32\x03\x02\x96\x01\x30\x04\x38\x7f\x3a\x01\x03");
    assert_int_equal(m.n_ints, 4);
    assert_int_equal(m.ints[0], 1);
    assert_int_equal(m.ints[1], 2);
    assert_int_equal(m.ints[2], 150);
    assert_int_equal(m.ints[3], 4);
    assert_int_equal(m.n_small, 2);
    assert_int_equal(m.small[0], 127);
    assert_int_equal(m.small[1], 3);
}

/* A packed run that lies aligned is the array; elsewhere it is copied. */
static void aligned_runs_are_views(void **state) {
    (void)state;
    static const char bytes[] = "\x42\x08\x00\x00\x80\x3f\x00\x00\x00\x40";
    const size_t n = sizeof bytes - 1;
    char *const block = kiln_arena_alloc(kiln_test_arena(), 64);
    for (size_t shift = 0; shift < 4; shift++) {
        char *const at = block + shift;
        memcpy(at, bytes, n);
        const message m = read_ok(at, n);
        const char *const first = (const char *)m.floats;
        assert_int_equal(m.n_floats, 2);
        assert_true(m.floats[0] == 1.0f && m.floats[1] == 2.0f);
        const bool is_view = first >= at && first < at + n;
        assert_int_equal(is_view, (uintptr_t)(at + 2) % 4 == 0);
    }
}

static void strings_are_views(void **state) {
    (void)state;
    static const char bytes[] = "\x4a\x02hi\x4a\x00\x4a\x01!";
    const message m = read_ok(bytes, sizeof bytes - 1);
    assert_int_equal(m.n_texts, 3);
    assert_ptr_equal(m.texts[0].p, bytes + 2);
    assert_int_equal(m.texts[1].n, 0);
    assert_true(kiln_str_is(m.texts[2], "!"));
}

static void messages_nest(void **state) {
    (void)state;
    const message m = READ("\x52\x02\x08\x07\x52\x00\x5a\x04\x5a\x02\x08\x2a\x62\x02"
                           "\x08\x09\x6a\x01z\x6a\x00");
    assert_int_equal(m.n_leaves, 2);
    assert_int_equal(m.leaves[0].v, 7);
    assert_int_equal(m.leaves[1].v, 0);
    assert_non_null(m.sub);
    assert_int_equal(m.sub->sub->i, 42);
    assert_true(m.has_flat);
    assert_int_equal(m.flat, 9);
    assert_int_equal(m.n_counted, 2);
}

/* Fields 100 (varint), 101 (fixed64), 102 (bytes), 103 (fixed32). */
static void unknown_fields_are_skipped(void **state) {
    (void)state;
    const message m = READ("\xa0\x06\x01\xa9\x06"
                           "12345678\xb2\x06\x02zz\xbd\x06"
                           "1234\x08\x05");
    assert_int_equal(m.i, 5);
}

typedef struct refusal {
    const char *name;
    const char *bytes;
    size_t n;
    kiln_status want;
    const char *text;
} refusal;

#define BYTES(lit) lit, sizeof(lit) - 1

static refusal refusals[] = {
    {"tag_cut_off", BYTES("\x80"), KILN_ERR_PARSE,
     "protobuf: Message at byte 0: no field tag"},
    {"field_number_0", BYTES("\x00\x01"), KILN_ERR_PARSE, "at byte 0: no field tag"},
    {"field_number_too_large", BYTES("\xf8\xff\xff\xff\x7f\x01"), KILN_ERR_PARSE,
     "no field tag"},
    {"value_cut_off", BYTES("\x10\x01\x08"), KILN_ERR_PARSE,
     "Message, field 'i' at byte 2: the value is cut off"},
    {"varint_of_11_bytes", BYTES("\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"),
     KILN_ERR_PARSE, "field 'i' at byte 0"},
    {"fixed_cut_off", BYTES("\x1d\x01\x02\x03"), KILN_ERR_PARSE, "field 'f' at byte 0"},
    {"length_past_the_end",
     BYTES("\x2a\x05"
           "abc"),
     KILN_ERR_PARSE, "field 'text' at byte 0: the length passes the end"},
    {"length_near_2_64", BYTES("\x2a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01z"),
     KILN_ERR_PARSE, "the length passes the end"},
    {"inner_length_past_its_message",
     BYTES("\x52\x02\x0a\x05\x2a\x03"
           "abc"),
     KILN_ERR_PARSE, "Leaf"},
    {"wrong_wire_type", BYTES("\x0a\x01z"), KILN_ERR_PARSE,
     "field 'i' at byte 0: the wire type does not fit"},
    {"packed_varint_cut_off", BYTES("\x32\x02\x01\x80"), KILN_ERR_PARSE,
     "field 'ints' at byte 4: a packed varint is cut off"},
    {"packed_fixed_not_whole",
     BYTES("\x42\x05"
           "abcde"),
     KILN_ERR_PARSE, "no multiple of the element"},
    {"group", BYTES("\x0b\x0c"), KILN_ERR_PARSE, "groups and unknown wire types"},
    {"single_message_twice", BYTES("\x5a\x00\x5a\x00"), KILN_ERR_PARSE,
     "field 'sub' at byte 2: the message is given twice"},
};

static void check_refusal(void **state) {
    const refusal *const r = *state;
    message m;
    kiln_err err = {0};
    kiln_assert_fails(
        kiln_pb_read(kiln_test_arena(), &table, (kiln_str){r->bytes, r->n}, &m, &err),
        r->want, &err, r->text);
}

static void nesting_is_limited(void **state) {
    (void)state;
    kiln_arena a = {0};
    for (int depth = 99; depth <= 102; depth++) {
        kiln_str bytes = {"", 0};
        for (int i = 0; i < depth; i++) { /* every layer is field 11 around the last */
            kiln_buf b;
            kiln_buf_init(&b, &a);
            kiln_buf_add(&b, "\x5a", 1);
            if (bytes.n >= 128) {
                const char low = (char)(unsigned char)(bytes.n | 0x80);
                kiln_buf_add(&b, &low, 1);
            }
            const char high = (char)(bytes.n >= 128 ? bytes.n >> 7 : bytes.n);
            kiln_buf_add(&b, &high, 1);
            kiln_buf_add(&b, bytes.p, bytes.n);
            bytes = kiln_buf_str(&b);
        }
        message m;
        kiln_err err = {0};
        const kiln_status st = kiln_pb_read(&a, &table, bytes, &m, &err);
        if (depth <= KILN_PB_MAX_DEPTH)
            kiln_assert_status_ok(st, &err);
        else
            kiln_assert_fails(st, KILN_ERR_LIMIT, &err,
                              "nested more than 100 messages");
    }
    kiln_arena_fini(&a);
}

static void memory_is_limited(void **state) {
    (void)state;
    enum { N = 3000000 }; /* empty strings: 16 bytes each in memory, 2 in the file */
    kiln_arena a = {0};
    message m;
    kiln_err err = {0};
    char *const bytes = kiln_arena_alloc_raw(&a, 2 * N);
    for (size_t i = 0; i < N; i++)
        memcpy(bytes + 2 * i, "\x4a\x00", 2);
    kiln_assert_status_ok(kiln_pb_read(&a, &table, (kiln_str){bytes, 2 * N}, &m, &err),
                          &err);
    assert_int_equal(m.n_texts, N);
    kiln_assert_fails(
        kiln_pb_read(&a, &heavy_table, (kiln_str){bytes, 2 * N}, &m, &err),
        KILN_ERR_LIMIT, &err, "64 MiB + 16 times its size");
    kiln_arena_fini(&a);
}

int main(void) {
    kiln_test_add("reads_single_fields", reads_single_fields, NULL);
    kiln_test_add("absent_fields_are_zero", absent_fields_are_zero, NULL);
    kiln_test_add("negative_numbers_take_ten_bytes", negative_numbers_take_ten_bytes,
                  NULL);
    kiln_test_add("the_last_single_field_wins", the_last_single_field_wins, NULL);
    kiln_test_add("repeated_fields_join", repeated_fields_join, NULL);
    kiln_test_add("aligned_runs_are_views", aligned_runs_are_views, NULL);
    kiln_test_add("strings_are_views", strings_are_views, NULL);
    kiln_test_add("messages_nest", messages_nest, NULL);
    kiln_test_add("unknown_fields_are_skipped", unknown_fields_are_skipped, NULL);
    kiln_test_add_rows(check_refusal, refusals);
    kiln_test_add("nesting_is_limited", nesting_is_limited, NULL);
    kiln_test_add("memory_is_limited", memory_is_limited, NULL);
    return kiln_test_run("protobuf");
}
