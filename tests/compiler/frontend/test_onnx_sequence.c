/* Sequences and optionals are gone after import: what their operators leave in the
 * graph, and what is refused. */
#include <string.h>

#include "tests/support/import/import_run.h"

enum { MAX_NODES = 4, MAX_TEXTS = 3 };

typedef struct step {
    const char *op, *in, *out;
    const char *attr; /* NULL: none */
    int64_t value;
} step;

/* Inputs: x f32[2,3], z f32[4,3], k i64[2,3], p (a position) i64. Constants: zero, one,
 * two, last (-1), far (9), sizes [1, 3]. */
typedef struct row {
    const char *name;
    step node[MAX_NODES];
    const char *want[MAX_TEXTS], *lacks;
    kiln_status fails;
    const char *text;
} row;

static kiln_onnx_writer start(kiln_arena *a) {
    static const struct {
        const char *name;
        int64_t v;
    } number[] = {{"zero", 0}, {"one", 1}, {"two", 2}, {"last", -1}, {"far", 9}};
    static const int64_t sizes[] = {1, 3};
    kiln_onnx_writer m;
    kiln_onnx_writer_init(&m, a, "g");
    kiln_onnx_put_input(&m, "x", KILN_ONNX_FLOAT, "2,3");
    kiln_onnx_put_input(&m, "z", KILN_ONNX_FLOAT, "4,3");
    kiln_onnx_put_input(&m, "k", KILN_ONNX_INT64, "2,3");
    kiln_onnx_put_input(&m, "p", KILN_ONNX_INT64, "");
    for (size_t i = 0; i < sizeof number / sizeof number[0]; i++)
        kiln_onnx_put_initializer(
            &m, kiln_onnx_int64_tensor(a, number[i].name, "", &number[i].v, 1));
    kiln_onnx_put_initializer(&m, kiln_onnx_int64_tensor(a, "sizes", "2", sizes, 2));
    return m;
}

static void expect(kiln_arena *a, kiln_onnx_writer *m, const row *r) {
    kiln_err err = {0};
    kiln_import_report report = {0};
    kiln_graph *g = NULL;
    const kiln_status st =
        kiln_import_onnx_bytes(a, kiln_onnx_finish_model(m, 8, 18), "test.onnx", NULL,
                               NULL, &g, &report, &err);
    if (r->fails != KILN_OK) {
        kiln_assert_fails(st, r->fails, &err, r->text);
        return;
    }
    kiln_assert_status_ok(st, &err);
    kiln_assert_status_ok(kiln_graph_verify(g, &err), &err);
    kiln_buf text;
    kiln_buf_init(&text, a);
    kiln_graph_print(&text, g, NULL);
    for (int i = 0; i < MAX_TEXTS && r->want[i] != NULL; i++)
        if (strstr(text.p, r->want[i]) == NULL)
            fail_msg("want '%s' in\n%s", r->want[i], text.p);
    if (r->lacks != NULL && strstr(text.p, r->lacks) != NULL)
        fail_msg("want no '%s' in\n%s", r->lacks, text.p);
}

static void check(void **state) {
    const row *r = *state;
    kiln_arena a = {0};
    kiln_onnx_writer m = start(&a);
    for (int i = 0; i < MAX_NODES && r->node[i].op != NULL; i++) {
        const step *s = &r->node[i];
        kiln_onnx_put_node(&m, s->op, kiln_format(&a, "node%d", i), s->in, s->out);
        if (s->attr != NULL)
            kiln_onnx_put_attr_int(&m, s->attr, s->value);
    }
    kiln_onnx_put_output(&m, "y", KILN_ONNX_FLOAT, NULL);
    expect(&a, &m, r);
    kiln_arena_fini(&a);
}

static row rows[] = {
    {"elements_are_the_values_themselves",
     {{"SequenceConstruct", "x,z", "s", NULL, 0},
      {"SequenceAt", "s,last", "e", NULL, 0},
      {"Neg", "e", "y", NULL, 0}},
     .want = {"neg(%z)"}},
    {"insertion_moves_what_is_behind",
     {{"SequenceConstruct", "x,z", "s", NULL, 0},
      {"SequenceInsert", "s,x,last", "t", NULL, 0},
      {"SequenceAt", "t,two", "e", NULL, 0},
      {"Neg", "e", "y", NULL, 0}},
     .want = {"neg(%z)"}},
    {"insertion_is_at_the_end_by_default",
     {{"SequenceEmpty", "", "s", NULL, 0},
      {"SequenceInsert", "s,z", "t", NULL, 0},
      {"SequenceInsert", "t,x", "u", NULL, 0},
      {"ConcatFromSequence", "u", "y", "axis", 0}},
     .want = {"concat(%z, %x) {axis=0} : f32[6,3]"}},
    {"erasure_takes_the_last_by_default",
     {{"SequenceConstruct", "x,z", "s", NULL, 0},
      {"SequenceErase", "s", "t", NULL, 0},
      {"SequenceAt", "t,last", "e", NULL, 0},
      {"Neg", "e", "y", NULL, 0}},
     .want = {"neg(%x)"}},
    {"erasure_leaves_the_rest",
     {{"SequenceConstruct", "x,z", "s", NULL, 0},
      {"SequenceErase", "s,zero", "t", NULL, 0},
      {"SequenceAt", "t,zero", "e", NULL, 0},
      {"Neg", "e", "y", NULL, 0}},
     .want = {"neg(%z)"}},
    {"parts_have_the_sizes_given",
     {{"SplitToSequence", "z,sizes", "s", NULL, 0},
      {"SequenceAt", "s,one", "y", NULL, 0}},
     .want = {"split(%z) {axis=0, sizes=[1, 3]}", ": f32[1,3], f32[3,3]"}},
    {"the_last_part_may_be_smaller",
     {{"SplitToSequence", "z,two", "s", "axis", 1},
      {"SequenceAt", "s,last", "y", NULL, 0}},
     .want = {"sizes=[2, 1]"}},
    {"single_elements_may_lose_their_axis",
     {{"SplitToSequence", "x", "s", "keepdims", 0},
      {"SequenceAt", "s,one", "y", NULL, 0}},
     .want = {"sizes=[1, 1]", ": f32[3]"}},
    {"concatenation_counts_axes_from_the_end",
     {{"SplitToSequence", "x", "s1", "keepdims", 0},
      {"ConcatFromSequence", "s1", "y", "axis", -1}},
     .want = {"concat(", "f32[6]"}},
    {"the_length_is_a_constant",
     {{"SplitToSequence", "z", "s", NULL, 0},
      {"SequenceLength", "s", "n", NULL, 0},
      {"Cast", "n", "y", "to", KILN_ONNX_FLOAT}},
     .want = {"const %y : f32[] = {0x1p+2}"}},
    {"an_optional_is_its_element",
     {{"Optional", "x", "o", NULL, 0},
      {"OptionalHasElement", "o", "b", NULL, 0},
      {"OptionalGetElement", "o", "e", NULL, 0},
      {"Where", "b,e,x", "y", NULL, 0}},
     .want = {"where("}},
    {"an_empty_optional_has_none",
     {{"Optional", "", "o", NULL, 0},
      {"OptionalHasElement", "o", "b", NULL, 0},
      {"Cast", "b", "y", "to", KILN_ONNX_FLOAT}},
     .want = {"const %y : f32[] = {0x0p+0}"}},
    {"rejects_the_element_of_none",
     {{"Optional", "", "o", NULL, 0}, {"OptionalGetElement", "o", "y", NULL, 0}},
     .fails = KILN_ERR_SHAPE,
     .text = "the optional must have an element, is empty"},
    {"rejects_a_position_outside",
     {{"SequenceConstruct", "x,z", "s", NULL, 0},
      {"SequenceAt", "s,far", "y", NULL, 0}},
     .fails = KILN_ERR_SHAPE,
     .text = "'position' must be in [-2, 2), is 9"},
    {"rejects_an_insertion_outside",
     {{"SequenceConstruct", "x", "s", NULL, 0},
      {"SequenceInsert", "s,x,far", "y", NULL, 0}},
     .fails = KILN_ERR_SHAPE,
     .text = "'position' must be in [-1, 1], is 9"},
    {"rejects_a_position_from_outside",
     {{"SequenceConstruct", "x,z", "s", NULL, 0}, {"SequenceAt", "s,p", "y", NULL, 0}},
     .fails = KILN_ERR_UNSUPPORTED,
     .text = "input 'position' must be a constant, it depends on graph input 'p'"},
    {"rejects_erasure_from_nothing",
     {{"SequenceEmpty", "", "s", NULL, 0}, {"SequenceErase", "s", "y", NULL, 0}},
     .fails = KILN_ERR_SHAPE,
     .text = "'position' must be in [-0, 0)"},
    {"rejects_elements_of_two_types",
     {{"SequenceConstruct", "x,k", "y", NULL, 0}},
     .fails = KILN_ERR_SHAPE,
     .text = "elements of one type, has f32 and i64"},
    {"rejects_a_tensor_for_a_sequence",
     {{"SequenceAt", "x,zero", "y", NULL, 0}},
     .fails = KILN_ERR_SHAPE,
     .text = "input 0 must be a sequence, is a tensor"},
    {"rejects_a_sequence_for_a_tensor",
     {{"SequenceConstruct", "x", "s", NULL, 0}, {"Neg", "s", "y", NULL, 0}},
     .fails = KILN_ERR_UNSUPPORTED,
     .text = "input 0 ('s') is a sequence or an optional"},
    {"rejects_a_sequence_of_sequences",
     {{"SequenceConstruct", "x", "s", NULL, 0},
      {"SequenceInsert", "s,s", "y", NULL, 0}},
     .fails = KILN_ERR_SHAPE,
     .text = "input 1 ('tensor') must be a tensor"},
    {"rejects_a_sequence_as_an_output",
     {{"SequenceConstruct", "x", "y", NULL, 0}},
     .fails = KILN_ERR_UNSUPPORTED,
     .text = "graph output 'y' is a sequence or an optional; make each of its elements "
             "an output"},
    {"rejects_parts_that_do_not_add_up",
     {{"SplitToSequence", "x,sizes", "s", NULL, 0},
      {"SequenceAt", "s,one", "y", NULL, 0}},
     .fails = KILN_ERR_SHAPE,
     .text = "size 1 must be in [0, 1], is 3"},
    {"rejects_parts_of_nothing",
     {{"SplitToSequence", "x,zero", "s", NULL, 0},
      {"SequenceAt", "s,one", "y", NULL, 0}},
     .fails = KILN_ERR_LIMIT,
     .text = "'split' must be >= 1"},
    {"rejects_nothing_to_concatenate",
     {{"SequenceEmpty", "", "s", NULL, 0}, {"ConcatFromSequence", "s", "y", "axis", 0}},
     .fails = KILN_ERR_SHAPE,
     .text = "the sequence must have elements, is empty"},
};

/* Sums of each element and x: the body stands in the graph once for each. */
static void a_map_repeats_its_body(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_onnx_writer m = start(&a), body;
    kiln_onnx_writer_init(&body, &a, "body");
    kiln_onnx_put_input(&body, "e", KILN_ONNX_FLOAT, NULL);
    kiln_onnx_put_input(&body, "w", KILN_ONNX_FLOAT, NULL);
    kiln_onnx_put_node(&body, "Sub", "sub", "e,w", "o");
    kiln_onnx_put_output(&body, "o", KILN_ONNX_FLOAT, NULL);
    kiln_onnx_put_node(&m, "SequenceConstruct", "make", "x,x,x", "s");
    kiln_onnx_put_node(&m, "SequenceMap", "map", "s,x", "t");
    kiln_onnx_put_attr_graph(&m, "body", kiln_onnx_finish_graph(&body));
    kiln_onnx_put_node(&m, "ConcatFromSequence", "join", "t", "y");
    kiln_onnx_put_attr_int(&m, "axis", 1);
    kiln_onnx_put_attr_int(&m, "new_axis", 1);
    kiln_onnx_put_output(&m, "y", KILN_ONNX_FLOAT, NULL);
    const row r = {.want = {"\"map/0/sub\"", "\"map/2/sub\"", "f32[2,3,3]"},
                   .lacks = "map/3"};
    expect(&a, &m, &r);
    kiln_arena_fini(&a);
}

/* A branch sees a sequence around it; it cannot give one. */
static void branches_see_sequences(void **state) {
    (void)state;
    for (int gives = 0; gives < 2; gives++) {
        kiln_arena a = {0};
        kiln_onnx_writer m = start(&a), yes, no;
        kiln_onnx_put_input(&m, "c", KILN_ONNX_BOOL, "");
        kiln_onnx_put_node(&m, "SequenceConstruct", "make", "x,z", "s");
        kiln_onnx_writer_init(&yes, &a, "yes");
        kiln_onnx_put_node(&yes, gives ? "SequenceErase" : "SequenceAt", "at", "s,zero",
                           "o");
        kiln_onnx_put_output(&yes, "o", KILN_ONNX_FLOAT, NULL);
        kiln_onnx_writer_init(&no, &a, "no");
        kiln_onnx_put_node(&no, "Neg", "neg", "x", "o");
        kiln_onnx_put_output(&no, "o", KILN_ONNX_FLOAT, NULL);
        kiln_onnx_put_node(&m, "If", "if", "c", "y");
        kiln_onnx_put_attr_graph(&m, "then_branch", kiln_onnx_finish_graph(&yes));
        kiln_onnx_put_attr_graph(&m, "else_branch", kiln_onnx_finish_graph(&no));
        kiln_onnx_put_output(&m, "y", KILN_ONNX_FLOAT, NULL);
        const row r = {.want = {"if(%c, %x"}};
        const row refused = {.fails = KILN_ERR_UNSUPPORTED,
                             .text = "output 'o' of subgraph 'yes' is a sequence"};
        expect(&a, &m, gives ? &refused : &r);
        kiln_arena_fini(&a);
    }
}

int main(void) {
    kiln_test_add_rows(check, rows);
    kiln_test_add("a_map_repeats_its_body", a_map_repeats_its_body, NULL);
    kiln_test_add("branches_see_sequences", branches_see_sequences, NULL);
    return kiln_test_run("onnx_sequence");
}
