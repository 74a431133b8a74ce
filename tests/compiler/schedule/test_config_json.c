/* Configurations as JSON: printed in the template's order, read back the same, refused
 * with the options that there are. */
#include "compiler/schedule/template.h"
#include "tests/support/kiln_test.h"

static const kiln_template test_template = {.name = "test", .doc = "three knobs"};

static const char *const order_words[] = {"outer", "inner"};

static kiln_space example(void) {
    /* Pairs whose product divides 28. */
    static const int64_t tile[][2] = {
        {1, 1},  {1, 2}, {1, 4}, {1, 7}, {1, 14}, {1, 28}, {2, 1},  {2, 2},  {2, 7},
        {2, 14}, {4, 1}, {4, 7}, {7, 1}, {7, 2},  {7, 4},  {14, 1}, {14, 2}, {28, 1}};
    kiln_space s;
    kiln_space_init(&s, kiln_test_arena());
    kiln_space_add_ints(&s, "oc_block", "lanes", (const int64_t[]){8, 16, 32}, 3);
    kiln_space_add_words(&s, "order", "loops", order_words, 2);
    kiln_space_add_tuples(&s, "ow_tile", "pixels", tile[0],
                          sizeof tile / sizeof tile[0], 2);
    return s;
}

static kiln_status parse(const char *text, const kiln_space *s, kiln_config *out,
                         kiln_err *err) {
    const kiln_json *json;
    kiln_assert_status_ok(
        kiln_json_parse(kiln_test_arena(), kiln_str_from(text), "text", &json, err),
        err);
    return kiln_config_parse(json, &test_template, s, out, err);
}

static void prints_in_order(void **state) {
    (void)state;
    const kiln_space s = example();
    kiln_config c = kiln_config_at(&s, 0);
    kiln_config_set(&s, &c, 0, (const int64_t[]){16});
    kiln_config_set(&s, &c, 2, (const int64_t[]){2, 14});
    kiln_buf out;
    kiln_buf_init(&out, kiln_test_arena());
    kiln_config_json(&out, &test_template, &s, &c);
    kiln_assert_text_equal(kiln_buf_str(&out),
                           KILN_STR_LIT("{\n"
                                        "  \"template\": \"test\",\n"
                                        "  \"oc_block\": 16,\n"
                                        "  \"order\": \"outer\",\n"
                                        "  \"ow_tile\": [2, 14]\n"
                                        "}"));
}

static void every_point_reads_back(void **state) {
    (void)state;
    const kiln_space s = example();
    for (uint64_t i = 0; i < s.size; i++) {
        kiln_err err = {0};
        const kiln_config c = kiln_config_at(&s, i);
        kiln_buf out;
        kiln_buf_init(&out, kiln_test_arena());
        kiln_config_json(&out, &test_template, &s, &c);
        kiln_config back = {0};
        kiln_assert_status_ok(parse(out.p, &s, &back, &err), &err);
        assert_int_equal(kiln_config_index(&s, &back), i);
    }
}

static void template_name_may_be_absent(void **state) {
    (void)state;
    const kiln_space s = example();
    kiln_config c;
    kiln_err err = {0};
    kiln_assert_status_ok(
        parse("{\"ow_tile\": [1, 2], \"order\": \"inner\", \"oc_block\": 32}", &s, &c,
              &err),
        &err);
    assert_int_equal(kiln_config_int(&s, &c, 0, 0), 32);
    assert_string_equal(kiln_config_word(&s, &c, 1), "inner");
    assert_int_equal(kiln_config_int(&s, &c, 2, 1), 2);
}

typedef struct refusal {
    const char *name, *text, *want;
} refusal;

static refusal refusals[] = {
    {"rejects_another_template", "{\"template\": \"conv_direct\", \"oc_block\": 16}",
     "the configuration is of template 'conv_direct', not of 'test'"},
    {"rejects_a_template_that_is_no_word", "{\"template\": 3}",
     "the configuration is of template '', not of 'test'"},
    {"rejects_what_is_no_object", "[16]",
     "a configuration must be a JSON object of the knobs oc_block, order, ow_tile"},
    {"rejects_an_unknown_knob",
     "{\"oc_block\": 16, \"order\": \"inner\", \"ow_tile\": [1, 1], \"oc_blok\": 16}",
     "template 'test' has no knob 'oc_blok' for this workload; it has oc_block, order, "
     "ow_tile"},
    {"rejects_a_missing_knob", "{\"oc_block\": 16, \"ow_tile\": [1, 1]}",
     "template 'test': knob 'order' is missing; its options are \"outer\", \"inner\""},
    {"rejects_a_value_that_is_no_option",
     "{\"oc_block\": 12, \"order\": \"inner\", \"ow_tile\": [1, 1]}",
     "template 'test': the value of knob 'oc_block' is none of its 3 options: 8, 16, "
     "32"},
    {"rejects_a_fraction",
     "{\"oc_block\": 16.5, \"order\": \"inner\", \"ow_tile\": [1, 1]}",
     "knob 'oc_block' is none of its 3 options"},
    {"rejects_a_number_for_a_word",
     "{\"oc_block\": 16, \"order\": 0, \"ow_tile\": [1, 1]}",
     "knob 'order' is none of its 2 options: \"outer\", \"inner\""},
    {"rejects_too_few_parts",
     "{\"oc_block\": 16, \"order\": \"inner\", \"ow_tile\": [1]}",
     "knob 'ow_tile' is none of its 18 options: [1, 1], [1, 2], [1, 4], [1, 7], "},
    {"rejects_parts_that_are_no_numbers",
     "{\"oc_block\": 16, \"order\": \"inner\", \"ow_tile\": [1, \"2\"]}",
     "knob 'ow_tile' is none of its 18 options"},
};

static void check_refusal(void **state) {
    const refusal *r = *state;
    const kiln_space s = example();
    kiln_err err = {0};
    kiln_config c = {.n = -7};
    kiln_assert_fails(parse(r->text, &s, &c, &err), KILN_ERR_ARG, &err, r->want);
    assert_int_equal(c.n, -7); /* untouched */
}

/* A configuration from before its template had a knob is what the template did then. */
static void later_knobs_may_be_absent(void **state) {
    (void)state;
    const char *const text =
        "{\"oc_block\": 32, \"order\": \"inner\", \"ow_tile\": [1, 1]}";
    kiln_space s = example();
    kiln_config c = {.n = -7};
    kiln_err err = {0};
    const int later = kiln_space_add_words(&s, "fetch", "ahead",
                                           (const char *const[]){"off", "on"}, 2);
    kiln_assert_fails(parse(text, &s, &c, &err), KILN_ERR_ARG, &err,
                      "knob 'fetch' is missing");
    kiln_space_is_later(&s, later);
    err = (kiln_err){0};
    kiln_assert_status_ok(parse(text, &s, &c, &err), &err);
    assert_int_equal(c.n, 4);
    assert_true(kiln_config_is(&s, &c, later, "off"));
    assert_int_equal(kiln_config_int(&s, &c, 0, 0), 32);
}

static void long_lists_are_cut(void **state) {
    (void)state;
    kiln_space s;
    int64_t value[100];
    for (int i = 0; i < 100; i++)
        value[i] = i + 1;
    kiln_space_init(&s, kiln_test_arena());
    kiln_space_add_ints(&s, "n", "doc", value, 100);
    kiln_err err = {0};
    kiln_config c;
    kiln_assert_fails(parse("{\"n\": 101}", &s, &c, &err), KILN_ERR_ARG, &err,
                      "none of its 100 options: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, "
                      "13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, ..., 97, 98, "
                      "99, 100");
}

int main(void) {
    kiln_test_add("prints_in_order", prints_in_order, NULL);
    kiln_test_add("every_point_reads_back", every_point_reads_back, NULL);
    kiln_test_add("template_name_may_be_absent", template_name_may_be_absent, NULL);
    kiln_test_add_rows(check_refusal, refusals);
    kiln_test_add("later_knobs_may_be_absent", later_knobs_may_be_absent, NULL);
    kiln_test_add("long_lists_are_cut", long_lists_are_cut, NULL);
    return kiln_test_run("config_json");
}
