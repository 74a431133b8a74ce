/* Structs as JSON by tables: what is written, what is read, what is refused. (That
 * every member comes back is tested of kiln's own documents: tests/reports.) */
#include "base/text/record.h"
#include "tests/support/kiln_test.h"

#include <math.h>
#include <string.h>

typedef enum colour { RED, GREEN, BLUE } colour;
typedef struct dot {
    double x;
    bool is_big;
} dot;
typedef struct size {
    double width, height; /* height: 0, not known */
} size;
typedef struct thing {
    const char *name;
    colour paint;
    const char *shape; /* "round", "square" */
    const char *extra; /* JSON */
    int turns;
    size box;
    bool has_other;
    size other;
    KILN_VEC(dot) dot;
    KILN_VEC(size) piece;
    KILN_VEC(const char *) note;
} thing;

#define T dot
static const kiln_record_field dot_rows[] = {
    KILN_MEMBER(x, "where"),
    KILN_MEMBER_AS("big", is_big, "is it?"),
};
KILN_RECORD_STATIC(dot_table, dot_rows, "A dot")
#undef T

#define T size
static const kiln_record_field size_rows[] = {
    KILN_MEMBER(width, "in mm"),
    KILN_MEMBER_POSITIVE(height, "the same"),
};
KILN_RECORD_STATIC(size_table, size_rows, "A size")
#undef T

static const char *const paints[] = {"red", "green", "blue", NULL};
static const char *const shapes[] = {"round", "square", NULL};

#define T thing
static const kiln_record_field thing_rows[] = {
    KILN_MEMBER(name, "of it"),
    KILN_MEMBER_ENUM(paint, colour, paints, "its colour"),
    KILN_MEMBER_WORD(shape, shapes, "of its outline"),
    KILN_MEMBER_JSON(extra, "whatever"),
    KILN_MEMBER(turns, "left"),
    KILN_MEMBER_PART(box, size_table),
    KILN_MEMBER_OPTIONAL("other", other, size_table, "null: there is none"),
    KILN_MEMBER_ROWS("dots", dot, dot_table, "on it"),
    KILN_MEMBER_ROW("pieces", piece, KILN_RECORD_LIST, "of it", .of = &size_table,
                    .most = 2),
    KILN_MEMBER_TEXTS("notes", note, "of people"),
};
KILN_RECORD_STATIC(thing_table, thing_rows, "A thing")
#undef T

typedef struct things {
    KILN_VEC(thing) thing;
} things;
#define T things
static const kiln_record_field things_rows[] = {
    KILN_MEMBER_LIST("things", thing, thing_table, "all of them"),
};
KILN_RECORD_STATIC(things_table, things_rows, "Things")
#undef T

static const kiln_record_document document = {.format_key = "format",
                                              .format = "thing-1",
                                              .table = &thing_table,
                                              .docs = "docs/thing.md",
                                              .what = "a thing"};
static const kiln_record_document list = {
    .table = &things_table, .docs = "docs/thing.md", .what = "things", .is_list = true};

/* ---- writing --------------------------------------------------------------------- */

static const char *written(const kiln_record_document *d, const void *from) {
    kiln_buf out;
    kiln_buf_init(&out, kiln_test_arena());
    kiln_record_write(&out, d, from);
    return out.p;
}

static const char whole[] = "{\n"
                            "  \"format\": \"thing-1\",\n"
                            "  \"name\": \"n\",\n"
                            "  \"paint\": \"blue\",\n"
                            "  \"shape\": null,\n"
                            "  \"extra\": {\n"
                            "    \"k\": [1, 2]\n"
                            "  },\n"
                            "  \"turns\": -3,\n"
                            "  \"width\": 2.5,\n"
                            "  \"height\": null,\n"
                            "  \"other\": null,\n"
                            "  \"dots\": [\n"
                            "    [null, true],\n"
                            "    [1, false]\n"
                            "  ],\n"
                            "  \"pieces\": [],\n"
                            "  \"notes\": [\n"
                            "    \"a\"\n"
                            "  ]\n"
                            "}\n";

static thing example(void) {
    kiln_arena *a = kiln_test_arena();
    thing t = {.name = "n",
               .paint = BLUE,
               .extra = "{\"k\":[1,2]}",
               .turns = -3,
               .box = {2.5, 0}};
    kiln_vec_push(a, &t.dot, ((dot){(double)NAN, true}));
    kiln_vec_push(a, &t.dot, ((dot){1, false}));
    kiln_vec_push(a, &t.note, "a");
    return t;
}

static void writes_all_kinds(void **state) {
    (void)state;
    const thing t = example();
    assert_string_equal(written(&document, &t), whole);
}

static void a_bare_list_has_nothing_around_it(void **state) {
    (void)state;
    things empty = {.thing = {0}}, back;
    kiln_err err = {0};
    assert_string_equal(written(&list, &empty), "[]\n");
    kiln_assert_status_ok(kiln_record_parse(kiln_test_arena(),
                                            KILN_STR_LIT("[{\"turns\": 4}, {}]"), "x",
                                            &list, &back, &err),
                          &err);
    assert_true(back.thing.n == 2 && back.thing.v[0].turns == 4);
    assert_true(isnan(back.thing.v[1].box.width) && back.thing.v[1].box.height == 0);
}

static void reads_what_it_writes(void **state) {
    (void)state;
    thing back;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_record_parse(kiln_test_arena(), kiln_str_from(whole),
                                            "x", &document, &back, &err),
                          &err);
    assert_true(back.paint == BLUE && back.box.width == 2.5 && !back.has_other);
    assert_true(back.dot.n == 2 && isnan(back.dot.v[0].x) && back.dot.v[0].is_big);
    assert_string_equal(written(&document, &back), whole);
}

/* ---- refusals -------------------------------------------------------------------- */

typedef struct row {
    const char *name, *text;
    kiln_status want;
    const char *says;
    const kiln_record_document *of; /* NULL: document */
} row;

#define IN(members) "{\"format\": \"thing-1\", " members "}"

static row rows[] = {
    {"no_format", "{}", KILN_ERR_PARSE,
     "'x': format: must be 'thing-1', is not there; is it a thing?", NULL},
    {"another_format", "{\"format\": \"thing-2\"}", KILN_ERR_PARSE,
     "must be 'thing-1', is 'thing-2'", NULL},
    {"no_member_of_it", IN("\"size\": 1"), KILN_ERR_PARSE,
     "'x': size: is no member of thing-1; see docs/thing.md", NULL},
    {"a_part_by_a_name_of_its_own", IN("\"box\": {}"), KILN_ERR_PARSE,
     "box: is no member", NULL},
    {"a_colour_that_is_none", IN("\"paint\": \"pink\""), KILN_ERR_PARSE,
     "paint: must be one of red, green, blue, is 'pink'", NULL},
    {"no_colour", IN("\"paint\": null"), KILN_ERR_PARSE,
     "paint: must be one of red, green, blue, is null", NULL},
    {"a_word_that_is_none", IN("\"shape\": \"flat\""), KILN_ERR_PARSE,
     "shape: must be one of round, square, is 'flat'", NULL},
    {"a_member_of_a_part", IN("\"width\": \"wide\""), KILN_ERR_PARSE,
     "'x': width: must be a number or null, is 'wide'", NULL},
    {"a_row_that_is_none", IN("\"dots\": [3]"), KILN_ERR_PARSE,
     "dots[0]: must be a list, is 3", NULL},
    {"a_row_too_short", IN("\"dots\": [[1, true], [1]]"), KILN_ERR_PARSE,
     "dots[1]: must have 2 values, has 1", NULL},
    {"a_value_of_a_row", IN("\"dots\": [[1, 2]]"), KILN_ERR_PARSE,
     "dots[0][1]: must be true or false, is 2", NULL},
    {"more_than_are_read", IN("\"pieces\": [{}, {}, {}]"), KILN_ERR_LIMIT,
     "pieces: has 3 elements; at most 2 are read", NULL},
    {"no_list", "{}", KILN_ERR_PARSE, "must be a list, is an object", &list},
    {"in_a_bare_list", "[{}, {\"turns\": true}]", KILN_ERR_PARSE,
     "'x': [1].turns: must be a whole number of 32 bits, is true", &list},
    {"no_member_in_a_bare_list", "[{\"format\": 1}]", KILN_ERR_PARSE,
     "[0].format: is no member of things; see docs/thing.md", &list},
};

static void refuses(void **state) {
    const row *r = *state;
    kiln_err err = {0};
    things whatever;
    thing out;
    const bool is_list = r->of != NULL;
    kiln_assert_fails(kiln_record_parse(kiln_test_arena(), kiln_str_from(r->text), "x",
                                        is_list ? r->of : &document,
                                        is_list ? (void *)&whatever : (void *)&out,
                                        &err),
                      r->want, &err, r->says);
}

/* ---- documentation --------------------------------------------------------------- */

static void documents_every_table_once(void **state) {
    (void)state;
    kiln_buf out;
    kiln_buf_init(&out, kiln_test_arena());
    kiln_record_markdown(&out, &document);
    assert_string_equal(
        out.p, "\n### A thing\n\n| member | kind | is |\n| --- | --- | --- |\n"
               "| `format` | text | `thing-1` |\n"
               "| `name` | text | of it |\n"
               "| `paint` | word | its colour |\n"
               "| `shape` | word | of its outline |\n"
               "| `extra` | any | whatever |\n"
               "| `turns` | integer | left |\n"
               "| `width` | number | in mm |\n"
               "| `height` | number | the same |\n"
               "| `other` | object: A size | null: there is none |\n"
               "| `dots` | rows | on it. Of each row: `x` (where), `big` (is it?) |\n"
               "| `pieces` | list: A size | of it |\n"
               "| `notes` | list of texts | of people |\n"
               "\n### A size\n\n| member | kind | is |\n| --- | --- | --- |\n"
               "| `width` | number | in mm |\n"
               "| `height` | number | the same |\n");
}

int main(void) {
    kiln_test_add("writes_all_kinds", writes_all_kinds, NULL);
    kiln_test_add("a_bare_list_has_nothing_around_it",
                  a_bare_list_has_nothing_around_it, NULL);
    kiln_test_add("reads_what_it_writes", reads_what_it_writes, NULL);
    kiln_test_add_rows(refuses, rows);
    kiln_test_add("documents_every_table_once", documents_every_table_once, NULL);
    return kiln_test_run("record");
}
