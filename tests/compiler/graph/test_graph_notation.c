/* Graph text: what prints is what was read, random graphs survive the round trip, and
 * hostile text is refused with the place of the fault. */
#include <stdio.h>
#include <string.h>

#include "compiler/graph/graph.h"
#include "tests/support/kiln_test.h"

static kiln_str print(const kiln_graph *g) {
    kiln_buf b;
    kiln_buf_init(&b, kiln_test_arena());
    kiln_graph_print(&b, g, NULL);
    return kiln_buf_str(&b);
}

/* ---- accepted -------------------------------------------------------------------- */

typedef struct accept_row {
    const char *name, *text, *prints; /* prints NULL: the same */
} accept_row;

static accept_row accept_rows[] = {
    {"prints_what_it_reads", .text = "graph \"g\" {\n"
                                     "  input %x : f32[2,3]\n"
                                     "  const %c : f32[3] = {0x1p+0, -0x0p+0, nan}\n"
                                     "  %y = add(%x, %c) : f32[2,3] \"sum\"\n"
                                     "  output %y \"out\"\n"
                                     "  output %x \"out\"\n"
                                     "}\n"},
    {"reads_nothing", .text = "graph \"\" {\n}\n"},
    {"fills_in_types_names_and_defaults",
     .text = "# a comment\ngraph\"g\"{input%x:f32[2]%y=relu(%x)output%y}# the end",
     .prints = "graph \"g\" {\n"
               "  input %x : f32[2]\n"
               "  %y = relu(%x) : f32[2] \"relu\"\n"
               "  output %y \"y\"\n"
               "}\n"},
    {"folds_equal_elements_and_drops_unused_constants",
     .text = "graph \"g\" { const %a : i32[3] = {7, 7, 7} const %b : i32[] = {1} "
             "output %a }",
     .prints = "graph \"g\" {\n"
               "  const %a : i32[3] = {7 x 3}\n"
               "  output %a \"a\"\n"
               "}\n"},
    {"rounds_decimals",
     .text = "graph \"g\" { const %a : f16[2] = {0.1, 1e9} const %b : f64[] = {0.1}"
             " output %a output %b }",
     .prints = "graph \"g\" {\n"
               "  const %a : f16[2] = {0x1.998p-4, inf}\n"
               "  const %b : f64[] = {0x1.999999999999ap-4}\n"
               "  output %a \"a\"\n"
               "  output %b \"b\"\n"
               "}\n"},
    {"keeps_ends_of_integers",
     .text = "graph \"g\" {\n"
             "  const %a : i64[2] = {-9223372036854775808, 9223372036854775807}\n"
             "  const %b : u64[2] = {0, 18446744073709551615}\n"
             "  const %c : bool[2] = {0, 1}\n"
             "  const %d : i8[0,4] = {}\n"
             "  output %a \"a\"\n"
             "  output %b \"b\"\n"
             "  output %c \"c\"\n"
             "  output %d \"d\"\n"
             "}\n"},
    {"keeps_bits_of_nans",
     .text = "graph \"g\" {\n"
             "  const %a : f32[3] = {nan, nan:0x7fa00000, nan:0xffc00000}\n"
             "  const %b : bf16[2] = {nan:0xffff, -inf}\n"
             "  output %a \"a\"\n"
             "  output %b \"b\"\n"
             "}\n"},
    {"keeps_any_byte_of_names", .text = "graph \"g\\x0a\\\"\\\\\" {\n"
                                        "  input %\"a b\\xc3\\xa4\" : f32[]\n"
                                        "  input %/model/conv.1-x : f32[]\n"
                                        "  output %\"a b\\xc3\\xa4\" \"\\x01\"\n"
                                        "  output %/model/conv.1-x \"\"\n"
                                        "}\n"},
    {"keeps_layouts_places_and_facts",
     .text = "graph \"g\" facts=typed+no_dead_code {\n"
             "  input %x : f32[1,20,2,2]{order=0231,block=1x16,device=1,space=2,"
             "facts=tail_zero}\n"
             "  const %c : i8[3]{block=0x2} = {1, 2, 3, 0}\n"
             "  output %x \"x\"\n"
             "  output %c \"c\"\n"
             "}\n"},
    {"keeps_absent_facts", .text = "graph \"g\" facts=none {\n}\n"},
    {"keeps_bounds", .text = "graph \"g\" {\n"
                             "  input %x : f32[10,4] bounded(0, %n)\n"
                             "  input %n : i64[]\n"
                             "  const %c : i64[2] bounded(0, %n) = {1, 2}\n"
                             "  %y = relu(%x) : f32[10,4] bounded(0, %n) \"relu\"\n"
                             "  output %y \"y\"\n"
                             "  output %c \"c\"\n"
                             "}\n"},
    {"keeps_regions", .text = "graph \"g\" {\n"
                              "  input %c : bool[]\n"
                              "  input %x : f32[2]\n"
                              "  %y = if(%c, %x, %x) {then_branch=graph \"a\" {\n"
                              "    input %x : f32[2]\n"
                              "    %y = relu(%x) : f32[2] \"relu\"\n"
                              "    output %y \"y\"\n"
                              "  }, else_branch=graph \"b\" {\n"
                              "    input %x : f32[2]\n"
                              "    output %x \"y\"\n"
                              "  }} : f32[2] \"choose\"\n"
                              "  output %y \"y\"\n"
                              "}\n"},
};

static void check_accepted(void **state) {
    const accept_row *const row = *state;
    kiln_err err = {0};
    kiln_graph *g;
    kiln_assert_status_ok(
        kiln_graph_parse(kiln_test_arena(), kiln_str_from(row->text), "t", &g, &err),
        &err);
    kiln_assert_status_ok(kiln_graph_verify(g, &err), &err);
    kiln_assert_text_equal(
        print(g), kiln_str_from(row->prints == NULL ? row->text : row->prints));
}

/* ---- refused --------------------------------------------------------------------- */

typedef struct refuse_row {
    const char *name, *text;
    kiln_status want;
    const char *message;
} refuse_row;

#define G "graph \"g\" {\n"
#define X G "input %x : f32[2,3]\n"

static refuse_row refuse_rows[] = {
    {"rejects_empty_text", "", KILN_ERR_PARSE,
     "t:1:1: expected 'graph', the text ends"},
    {"rejects_open_graph", G, KILN_ERR_PARSE,
     "t:2:1: expected a statement or '}', the text ends"},
    {"rejects_open_name", "graph \"g\n\"", KILN_ERR_PARSE,
     "t:1:7: a quoted name must end on its line"},
    {"rejects_zero_byte_in_name", "graph \"\\x00\"", KILN_ERR_PARSE,
     "t:1:8: a name must not hold a zero byte"},
    {"rejects_unknown_escape", "graph \"\\n\"", KILN_ERR_PARSE,
     "t:1:8: an escape must be \\\\, \\\" or \\xNN"},
    {"rejects_half_escape", "graph \"\\x4\"", KILN_ERR_PARSE, "t:1:8: an escape"},
    {"rejects_text_behind_the_graph", G "} graph", KILN_ERR_PARSE,
     "t:2:3: expected nothing behind the graph"},
    {"rejects_unknown_statement", G "node", KILN_ERR_PARSE,
     "t:2:1: expected input, const, output or a node, found 'node'"},
    {"rejects_unknown_fact", "graph \"g\" facts=typed+magic {}", KILN_ERR_PARSE,
     "t:1:23: there is no fact 'magic'"},
    {"rejects_empty_value_name", G "input %\"\" : f32[]}", KILN_ERR_PARSE,
     "t:2:7: a value's name must not be empty"},
    {"rejects_missing_value_name", G "input % : f32[]}", KILN_ERR_PARSE,
     "t:2:9: expected a name behind '%', found ':'"},
    {"rejects_second_definition", X "input %x : f32[]}", KILN_ERR_PARSE,
     "t:3:7: value 'x' must be defined once, is defined again"},
    {"rejects_output_named_twice", X "%a, %a = relu(%x)}", KILN_ERR_PARSE,
     "t:3:5: value 'a' must be defined once, is defined again"},
    {"rejects_undefined_value", X "%y = relu(%z)}", KILN_ERR_PARSE,
     "t:3:11: value 'z' must be defined before it is used"},
    {"rejects_cycle", X "%y = add(%x, %y)}", KILN_ERR_PARSE,
     "t:3:14: value 'y' must be defined before it is used"},
    {"rejects_undefined_output", G "output %y}", KILN_ERR_PARSE,
     "t:2:8: value 'y' must be defined"},
    {"rejects_bad_type", G "input %x : f32[2,]}", KILN_ERR_PARSE,
     "expected an extent, found ']'\n  while reading t:2:18"},
    {"rejects_unknown_operator", X "%y = frobnicate(%x)}", KILN_ERR_PARSE,
     "t:3:6: there is no operator 'frobnicate'"},
    {"rejects_too_many_inputs", X "%y = relu(%x, %x)}", KILN_ERR_ARG,
     "takes 1 inputs, has 2\n  while adding node 'relu' (relu)\n  while reading t:3:1"},
    {"rejects_too_many_outputs", X "%y, %z = relu(%x)}", KILN_ERR_ARG,
     "operator 'relu' makes 1 outputs, has 2"},
    {"rejects_absent_required_input", X "%y = add(_, %x)}", KILN_ERR_ARG,
     "must be given\n  while adding node 'add' (add)\n  while reading t:3:1"},
    {"rejects_type_that_is_not_inferred", X "%y = relu(%x) : f32[3,2]}", KILN_ERR_SHAPE,
     "t:3:17: the type of 'y' must be f32[2,3], is given as f32[3,2]"},
    {"rejects_number_of_types", X "%y = relu(%x) : f32[2,3], f32[2,3]}", KILN_ERR_PARSE,
     "t:3:15: a node of 1 outputs must have as many types, has 2"},
    {"rejects_what_infer_rejects", X "input %z : f32[4]\n%y = add(%x, %z)}",
     KILN_ERR_SHAPE, "shapes [2,3] and [4] do not broadcast"},
    {"rejects_node_name_twice", X "%y = relu(%x) \"n\" %z = relu(%x) \"n\"}",
     KILN_ERR_PARSE, "t:3:33: node 'n' must be defined once, is defined again"},
    {"rejects_empty_node_name", X "%y = relu(%x) \"\"}", KILN_ERR_PARSE,
     "t:3:15: a node's name must not be empty"},
    {"rejects_unknown_attribute", X "%y = relu(%x) {alpha=1}}", KILN_ERR_PARSE,
     "t:3:16: operator 'relu' has no attribute 'alpha'"},
    {"rejects_attribute_twice", X "%y = reduce_sum(%x) {keepdims=true, keepdims=true}}",
     KILN_ERR_ARG, "attribute 'keepdims' is given twice"},
    {"rejects_word_for_bool", X "%y = reduce_sum(%x) {keepdims=yes}}", KILN_ERR_PARSE,
     "t:3:31: expected true or false, found 'yes'"},
    {"rejects_float_for_int", X "%y = reduce_sum(%x) {axes=[1.5]}}", KILN_ERR_PARSE,
     "t:3:28: '1.5' is no i64"},
    {"rejects_int_past_64_bits", X "%y = reduce_sum(%x) {axes=[9223372036854775808]}}",
     KILN_ERR_PARSE, "'9223372036854775808' is no i64"},
    {"rejects_open_list", X "%y = reduce_sum(%x) {axes=[1}", KILN_ERR_PARSE,
     "t:3:29: expected ']', found '}'"},
    {"rejects_element_past_its_dtype", G "const %c : i8[2] = {1, 128}", KILN_ERR_PARSE,
     "t:2:24: '128' is no i8"},
    {"rejects_negative_unsigned", G "const %c : u64[1] = {-1}", KILN_ERR_PARSE,
     "t:2:22: '-1' is no u64"},
    {"rejects_bool_of_two", G "const %c : bool[1] = {2}", KILN_ERR_PARSE,
     "'2' is no bool"},
    {"rejects_number_with_tail", G "const %c : f32[1] = {1.5q}", KILN_ERR_PARSE,
     "'1.5q' is no f32"},
    {"rejects_nan_bits_of_a_number", G "const %c : f32[1] = {nan:0x3f800000}",
     KILN_ERR_PARSE, "'nan:0x3f800000' is no f32"},
    {"rejects_nan_bits_past_the_dtype", G "const %c : f16[1] = {nan:0x7ff00000}",
     KILN_ERR_PARSE, "'nan:0x7ff00000' is no f16"},
    {"rejects_too_few_elements", G "const %c : f32[3] = {1, 2}", KILN_ERR_PARSE,
     "t:2:21: the constant must have 3 elements, has another number"},
    {"rejects_too_many_elements", G "const %c : f32[2] = {1, 2, 3}", KILN_ERR_PARSE,
     "the constant must have 2 elements"},
    {"rejects_no_elements", G "const %c : f32[2] = {}", KILN_ERR_PARSE,
     "the constant must have 2 elements"},
    {"rejects_elements_of_an_empty_shape", G "const %c : f32[0] = {1}", KILN_ERR_PARSE,
     "the constant must have 0 elements"},
    {"rejects_lie_about_elements_before_allocating",
     G "const %c : f64[1099511627776] = {1, 2}", KILN_ERR_PARSE,
     "the constant must have 1099511627776 elements"},
    {"rejects_wrong_repeat", G "const %c : f32[2] = {1 x 3}", KILN_ERR_PARSE,
     "the constant must have 2 elements"},
    {"rejects_repeat_past_the_limit",
     G "const %c : f32[1099511627776] = "
       "{1 x 1099511627776}",
     KILN_ERR_LIMIT, "may have 268435456 bytes together, have more"},
    {"rejects_repeats_past_the_limit_together",
     G "const %a : i8[268435456] = {0 x 268435456} const %b : i8[2] = {0 x 2}",
     KILN_ERR_LIMIT, "t:2:63: constants of one repeated value"},
    {"rejects_data_left_out", G "const %c : f32[2] = {...}", KILN_ERR_PARSE,
     "t:2:21: the constant's data was left out"},
    {"rejects_undefined_count", G "input %x : f32[2] bounded(0, %n)\n}", KILN_ERR_PARSE,
     "t:2:19: count 'n' must be defined no later than what it bounds"},
    {"rejects_count_behind_a_node",
     G "input %x : f32[2] bounded(0, %n) %y = relu(%x) input %n : i64[]}",
     KILN_ERR_PARSE, "count 'n' must be defined no later"},
    {"rejects_count_of_other_type",
     G "input %x : f32[2] bounded(0, %n) input %n : i32[]}", KILN_ERR_PARSE,
     "count 'n' must be i64[], is i32[]"},
    {"rejects_bound_past_rank", G "input %x : f32[2] bounded(1, %n)}", KILN_ERR_PARSE,
     "t:2:27: the bounded axis must be in [0, 1)"},
    {"rejects_bound_on_scalar", G "input %x : f32[] bounded(0, %n)}", KILN_ERR_PARSE,
     "the bounded axis must be in [0, 0)"},
    {"rejects_word_for_seed", G "const %c : f32[2] = random(x)}", KILN_ERR_PARSE,
     "t:2:28: 'x' is no seed"},
    {"rejects_random_constants_past_the_limit",
     G "const %c : f32[8000000] = random(1) const %d : f32[64000000] = random(2)}",
     KILN_ERR_LIMIT, "may have 268435456 bytes together"},
    {"rejects_random_constant_with_a_layout",
     G "const %c : f32[4]{block=0x4} = random(1)}", KILN_ERR_PARSE,
     "a random constant must be row-major"},
    {"rejects_region_where_none_is", X "%y = relu(%x) {a=graph \"r\" {}}}",
     KILN_ERR_PARSE, "operator 'relu' has no attribute 'a'"},
    {"rejects_use_of_outer_value_in_region",
     X "input %c : bool[]\n%y = if(%c) {then_branch=graph \"a\" { output %x }}",
     KILN_ERR_PARSE, "t:4:45: value 'x' must be defined before it is used"},
    {"rejects_missing_region", X "input %c : bool[]\n%y = if(%c) {then_branch=none}",
     KILN_ERR_ARG, "attribute 'then_branch' must be given"},
};

static void check_refused(void **state) {
    const refuse_row *const row = *state;
    kiln_arena arena = {0};
    kiln_err err = {0};
    kiln_graph *g = NULL;
    /* In memory of exactly its size, so that a sanitizer sees a read past the end. */
    const size_t n = strlen(row->text);
    const kiln_str text = {kiln_arena_dup(&arena, row->text, n), n};
    const kiln_status st = kiln_graph_parse(&arena, text, "t", &g, &err);
    kiln_assert_fails(st, row->want, &err, row->message);
    assert_null(g);
    kiln_arena_fini(&arena);
}

static void check_depth(void **state) {
    (void)state;
    kiln_buf b;
    kiln_buf_init(&b, kiln_test_arena());
    for (int i = 0; i < 10000; i++)
        kiln_buf_puts(&b, "graph \"g\" { input %c : bool[] %y = if(%c) {then_branch=");
    kiln_err err = {0};
    kiln_graph *g;
    kiln_assert_fails(
        kiln_graph_parse(kiln_test_arena(), kiln_buf_str(&b), "t", &g, &err),
        KILN_ERR_LIMIT, &err, "graphs may nest 32 deep");
}

/* Each way to cut a text off, and each way to break one byte of it, ends in a graph or
 * a message. */
static void check_broken_anywhere(void **state) {
    (void)state;
    for (size_t r = 0; r < sizeof accept_rows / sizeof accept_rows[0]; r++) {
        const kiln_str whole = kiln_str_from(accept_rows[r].text);
        for (size_t i = 0; i < whole.n; i++) {
            kiln_arena arena = {0};
            kiln_graph *g;
            kiln_err err = {0};
            const kiln_str cut = {kiln_arena_dup(&arena, whole.p, i), i};
            (void)kiln_graph_parse(&arena, cut, "t", &g, &err);
            char *const bent = kiln_str_dupv(&arena, whole);
            bent[i] = (char)(bent[i] ^ 0x11);
            (void)kiln_graph_parse(&arena, (kiln_str){bent, whole.n}, "t", &g, &err);
            kiln_arena_fini(&arena);
        }
    }
}

/* ---- options --------------------------------------------------------------------- */

static void check_elided(void **state) {
    (void)state;
    kiln_graph *const g = kiln_graph_new(kiln_test_arena(), "g");
    const int64_t three[3] = {1, 2, 3};
    kiln_graph_add_output(g, kiln_graph_const_i64s(g, "three", three, 3), "a");
    kiln_graph_add_output(g, kiln_graph_const_i64s(g, "two", three, 2), "b");
    kiln_buf b;
    kiln_buf_init(&b, kiln_test_arena());
    const kiln_print_options o = {.elide_data = true, .elide_above = 2};
    kiln_graph_print(&b, g, &o);
    kiln_assert_text_equal(kiln_buf_str(&b),
                           KILN_STR_LIT("graph \"g\" {\n"
                                        "  const %three : i64[3] = {...}\n"
                                        "  const %two : i64[2] = {1, 2}\n"
                                        "  output %three \"a\"\n"
                                        "  output %two \"b\"\n"
                                        "}\n"));
}

/* Both spellings are the same graph; only who asks for it gets the short one. */
static void check_random(void **state) {
    (void)state;
    kiln_arena *const a = kiln_test_arena();
    const kiln_str text = KILN_STR_LIT("graph \"g\" {\n"
                                       "  const %w : f32[2,3] = random(2)\n"
                                       "  const %v : i8[5] = random(1)\n"
                                       "  output %w \"w\"\n"
                                       "  output %v \"v\"\n"
                                       "}\n");
    kiln_graph *g = NULL, *again = NULL;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_graph_parse(a, text, "t", &g, &err), &err);
    const kiln_value *w = g->outputs.v[0];
    assert_memory_equal(w->data, kiln_tensor_random(a, &w->type, 2).data,
                        (size_t)kiln_type_bytes(&w->type));
    const kiln_str in_full = print(g);
    assert_null(strstr(in_full.p, "random"));
    kiln_assert_status_ok(kiln_graph_parse(a, in_full, "t", &again, &err), &err);
    const kiln_print_options two = {.n_random = 2}, one = {.n_random = 1};
    kiln_buf b;
    kiln_buf_init(&b, a);
    kiln_graph_print(&b, again, &two);
    kiln_assert_text_equal(kiln_buf_str(&b), text);
    kiln_buf_init(&b, a);
    kiln_graph_print(&b, again, &one);
    assert_null(strstr(kiln_buf_str(&b).p, "random(2)"));
    assert_non_null(strstr(kiln_buf_str(&b).p, "random(1)"));
}

int main(void) {
    kiln_test_add("prints_random_constants_in_short_form_for_who_asks", check_random,
                  NULL);
    kiln_test_add_rows(check_accepted, accept_rows);
    kiln_test_add_rows(check_refused, refuse_rows);
    kiln_test_add("rejects_deep_nesting", check_depth, NULL);
    kiln_test_add("broken_text_never_crashes", check_broken_anywhere, NULL);
    kiln_test_add("leaves_large_data_out_for_people", check_elided, NULL);
    return kiln_test_run("text");
}
