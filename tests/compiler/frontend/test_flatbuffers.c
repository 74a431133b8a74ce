/* The flatbuffers reader: what it reads, and every way in which a file may lie. */
#include "compiler/frontend/flatbuffers.h"

#include <string.h>

#include "tests/support/model/flatbuffer_writer.h"
#include "tests/support/kiln_test.h"

typedef struct leaf {
    int64_t number;
} leaf;

typedef struct node {
    int64_t small, wide, absent;
    double real;
    kiln_str text;
    const int32_t *list;
    size_t n_list;
    const int64_t *longs;
    size_t n_longs;
    const leaf *leaves;
    size_t n_leaves;
    const leaf *one;
    kiln_fb_ref later;
} node;

static const kiln_fb_field leaf_fields[] = {
    {0, KILN_FB_I32, "number", offsetof(leaf, number), 0, 7, NULL}};
static const kiln_fb_table leaf_table = {"Leaf", sizeof(leaf), leaf_fields, 1};

static const kiln_fb_field node_fields[] = {
    {0, KILN_FB_I8, "small", offsetof(node, small), 0, 0, NULL},
    {1, KILN_FB_U64, "wide", offsetof(node, wide), 0, 0, NULL},
    {2, KILN_FB_I32, "absent", offsetof(node, absent), 0, 42, NULL},
    {3, KILN_FB_F32, "real", offsetof(node, real), 0, 0, NULL},
    {4, KILN_FB_STRING, "text", offsetof(node, text), 0, 0, NULL},
    {5, KILN_FB_I32S, "list", offsetof(node, list), offsetof(node, n_list), 0, NULL},
    {6, KILN_FB_I64S, "longs", offsetof(node, longs), offsetof(node, n_longs), 0, NULL},
    {7, KILN_FB_TABLES, "leaves", offsetof(node, leaves), offsetof(node, n_leaves), 0,
     &leaf_table},
    {8, KILN_FB_TABLE, "one", offsetof(node, one), 0, 0, &leaf_table},
    {9, KILN_FB_REF, "later", offsetof(node, later), 0, 0, NULL},
};
static const kiln_fb_table node_table = {"Node", sizeof(node), node_fields, 10};

static kiln_str example(void) {
    static const int32_t list[] = {1, -2, 3};
    static const int64_t longs[] = {INT64_MIN, 5};
    kiln_fbw_table *const t = kiln_fbw_new();
    kiln_fbw_int(t, 0, 1, -3);
    kiln_fbw_int(t, 1, 8, INT64_MAX);
    kiln_fbw_float(t, 3, 0.5F);
    kiln_fbw_text(t, 4, "hello");
    kiln_fbw_ints(t, 5, list, 3);
    kiln_fbw_vector(t, 6, longs, 2, sizeof longs[0]);
    kiln_fbw_list *const l = kiln_fbw_tables(t, 7);
    kiln_fbw_int(kiln_fbw_add(l), 0, 4, 1);
    kiln_fbw_add(l);
    kiln_fbw_int(kiln_fbw_sub(t, 8), 0, 4, -1);
    kiln_fbw_int(kiln_fbw_sub(t, 9), 0, 4, 99);
    return kiln_fbw_write(t, "TEST");
}

static void check_example(kiln_str bytes) {
    node n;
    leaf later;
    kiln_err err = {0};
    kiln_fb fb = kiln_fb_begin(kiln_test_arena(), bytes, &err);
    kiln_assert_status_ok(kiln_fb_root(&fb, &node_table, &n), &err);
    assert_true(n.small == -3 && n.wide == INT64_MAX && n.absent == 42);
    assert_true(n.real == 0.5 && kiln_str_is(n.text, "hello"));
    assert_true(n.n_list == 3 && n.list[1] == -2);
    assert_true(n.n_longs == 2 && n.longs[0] == INT64_MIN);
    assert_true(n.n_leaves == 2 && n.leaves[0].number == 1 && n.leaves[1].number == 7);
    assert_true(n.one->number == -1 && n.later != 0);
    kiln_assert_status_ok(kiln_fb_at(&fb, n.later, &leaf_table, &later), &err);
    assert_int_equal(later.number, 99);
    kiln_assert_status_ok(kiln_fb_at(&fb, 0, &leaf_table, &later), &err);
    assert_int_equal(later.number, 7);
}

static void reads_what_was_written(void **state) {
    (void)state;
    check_example(example());
}

/* As in a file inside of another. */
static void reads_what_lies_unaligned(void **state) {
    (void)state;
    const kiln_str bytes = example();
    char *const moved = kiln_arena_array(kiln_test_arena(), bytes.n + 1, 1);
    memcpy(moved + 1, bytes.p, bytes.n);
    check_example((kiln_str){moved + 1, bytes.n});
}

/* Cut anywhere, or with any word replaced: an error with its place, or something read. */
static void survives_every_lie(void **state) {
    static const uint32_t words[] = {0, 1, 3, 0x7fffffff, 0x80000000, 0xffffffff};
    enum { N_WORDS = sizeof words / sizeof words[0] };
    const kiln_str bytes = example();
    int refused = 0;
    (void)state;
    for (size_t at = 0; at + 4 <= bytes.n; at += 2)
        for (size_t k = 0; k <= N_WORDS; k++) {
            kiln_arena a = {0};
            node n;
            kiln_err err = {0};
            char *const copy = kiln_arena_dup(&a, bytes.p, bytes.n);
            kiln_fb fb =
                kiln_fb_begin(&a, (kiln_str){copy, k < N_WORDS ? bytes.n : at}, &err);
            if (k < N_WORDS)
                memcpy(copy + at, &words[k], sizeof words[k]);
            if (kiln_fb_root(&fb, &node_table, &n) != KILN_OK) {
                assert_true(strncmp(err.text, "flatbuffers: ", 13) == 0);
                refused++;
            }
            kiln_arena_fini(&a);
        }
    assert_true(refused > 100);
}

typedef struct row {
    const char *name;
    const char *bytes;
    size_t n;
    kiln_status want;
    const char *text;
} row;

#define B(s) (s), sizeof(s) - 1
/* A virtual table of two slots at 8, its table at 16. */
#define HEAD "\x10\0\0\0TEST"

static row rows[] = {
    {"nothing", B("\x08\0\0\0"), KILN_ERR_PARSE,
     "Node at byte 0: the file is too short"},
    {"a_root_outside", B("\xff\0\0\0TEST"), KILN_ERR_PARSE,
     "Node at byte 255: the table lies past the end of the file"},
    {"a_virtual_table_outside", B("\x08\0\0\0TEST\x10\0\0\0"), KILN_ERR_PARSE,
     "Node at byte 8: the virtual table lies outside of the file"},
    {"a_virtual_table_of_odd_size",
     B(HEAD "\x05\0\x08\0\0\0\0\0"
            "\x08\0\0\0\0\0\0\0"),
     KILN_ERR_PARSE, "Node at byte 8: the virtual table has no such size"},
    {"a_table_that_is_cut",
     B(HEAD "\x08\0\x20\0\0\0\0\0"
            "\x08\0\0\0\0\0\0\0"),
     KILN_ERR_PARSE, "Node at byte 16: the table passes the end of the file"},
    {"a_field_outside_of_its_table",
     B(HEAD "\x08\0\x08\0\x08\0\0\0"
            "\x08\0\0\0\0\0\0\0"),
     KILN_ERR_PARSE, "Node, field 'small' at byte 12: the field lies outside"},
};

static void check_row(void **state) {
    const row *const r = *state;
    node n;
    kiln_err err = {0};
    kiln_fb fb = kiln_fb_begin(kiln_test_arena(), (kiln_str){r->bytes, r->n}, &err);
    kiln_assert_fails(kiln_fb_root(&fb, &node_table, &n), r->want, &err, r->text);
}

/* A vector of a million offsets that all lead to one table. */
static void shared_tables_cost_memory(void **state) {
    enum { N = 1 << 20 };
    typedef struct big {
        char bytes[4096];
    } big;
    static const kiln_fb_table big_table = {"Big", sizeof(big), NULL, 0};
    typedef struct many {
        const big *all;
        size_t n_all;
    } many;
    static const kiln_fb_field fields[] = {{7, KILN_FB_TABLES, "all",
                                            offsetof(many, all), offsetof(many, n_all),
                                            0, &big_table}};
    static const kiln_fb_table table = {"Many", sizeof(many), fields, 1};
    kiln_arena a = {0};
    kiln_err err = {0};
    many m;
    (void)state;
    kiln_fbw_table *const t = kiln_fbw_new();
    uint32_t *const zeros = kiln_array(&a, uint32_t, N);
    kiln_fbw_vector(t, 7, zeros, N, sizeof *zeros);
    kiln_fb fb = kiln_fb_begin(&a, kiln_fbw_write(t, "TEST"), &err);
    kiln_assert_fails(kiln_fb_root(&fb, &table, &m), KILN_ERR_LIMIT, &err,
                      "1048576 elements need more memory than such a file may ask for");
    kiln_arena_fini(&a);
}

/* A table that holds itself. */
static void tables_inside_tables_end(void **state) {
    typedef struct ring {
        const struct ring *next;
    } ring;
    static kiln_fb_table table;
    static kiln_fb_field fields[] = {
        {0, KILN_FB_TABLE, "next", offsetof(ring, next), 0, 0, &table}};
    table = (kiln_fb_table){"Ring", sizeof(ring), fields, 1};
    kiln_err err = {0};
    ring r;
    (void)state;
    kiln_fbw_table *const first = kiln_fbw_new(), *t = first;
    for (int i = 0; i < KILN_FB_MAX_DEPTH + 2; i++)
        t = kiln_fbw_sub(t, 0);
    kiln_fb fb = kiln_fb_begin(kiln_test_arena(), kiln_fbw_write(first, "TEST"), &err);
    kiln_assert_fails(kiln_fb_root(&fb, &table, &r), KILN_ERR_LIMIT, &err,
                      "is nested more than 64 tables deep");
}

int main(void) {
    kiln_test_add("reads_what_was_written", reads_what_was_written, NULL);
    kiln_test_add("reads_what_lies_unaligned", reads_what_lies_unaligned, NULL);
    kiln_test_add("survives_every_lie", survives_every_lie, NULL);
    kiln_test_add("shared_tables_cost_memory", shared_tables_cost_memory, NULL);
    kiln_test_add("tables_inside_tables_end", tables_inside_tables_end, NULL);
    kiln_test_add_rows(check_row, rows);
    return kiln_test_run("flatbuffers");
}
