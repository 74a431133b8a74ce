/* Graph text as a model: found from its content, read whole or refused, with what the
 * caller says about inputs. */
#include <string.h>

#include "compiler/frontend/frontend.h"
#include "compiler/reference/reference.h"
#include "tests/support/kiln_test.h"

static const char *write(const char *name, const char *text) {
    kiln_err err = {0};
    const char *path = kiln_path_join(kiln_test_arena(), kiln_test_dir(), name);
    kiln_assert_status_ok(kiln_file_write(path, text, strlen(text), &err), &err);
    return path;
}

#define BODY                                                                           \
    "graph \"g\" {\n  input %x : f32[1,3]\n  const %w : f32[3,8] = random(7)\n"        \
    "  %y = matmul(%x, %w)\n  output %y \"y\"\n}\n"

typedef struct row {
    const char *name, *file, *text;
    kiln_status want;
    const char *message;
} row;

static row rows[] = {
    {"by_content", "a.bin", BODY, KILN_OK, NULL},
    {"behind_comments", "b.txt", "# made by hand\n\n# twice\n" BODY, KILN_OK, NULL},
    {"by_name_says_what_is_wrong", "c.kgraph", "grap \"g\" {}", KILN_ERR_PARSE,
     "c.kgraph:1:1: expected 'graph', found 'g'"},
    {"neither", "d.txt", "graphics", KILN_ERR_UNSUPPORTED, "graph (.kgraph)"},
    {"comment_to_the_end", "e.txt", "# graph \"g\"", KILN_ERR_UNSUPPORTED,
     "of no format"},
    {"no_outputs", "f.kgraph", "graph \"g\" {input %x : f32[1]}", KILN_ERR_PARSE,
     "the graph must have outputs"},
    {"layout", "g.kgraph",
     "graph \"g\" {input %x : f32[1,3,4,4]{order=0231} output %x \"x\"}",
     KILN_ERR_UNSUPPORTED, "value 'x' of a model must be f32[1,3,4,4]: row-major"},
    {"place", "h.kgraph", "graph \"g\" {input %x : f32[1]{device=1} output %x \"x\"}",
     KILN_ERR_UNSUPPORTED, "in main memory; is f32[1]{device=1}"},
};

static void check_row(void **state) {
    const row *r = *state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_import_report report;
    kiln_graph *g = NULL;
    const kiln_status st =
        kiln_import(a, write(r->file, r->text), NULL, &g, &report, &err);
    if (r->want != KILN_OK) {
        kiln_assert_fails(st, r->want, &err, r->message);
        return;
    }
    kiln_assert_status_ok(st, &err);
    assert_string_equal(report.format, "graph");
    assert_int_equal(g->nodes.n, 1);
    kiln_assert_status_ok(kiln_graph_verify(g, &err), &err);
}

static void check_facts(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_graph *g = NULL;
    const char *path =
        write("facts.kgraph", "graph \"g\" facts=typed+consts_folded+no_dead_code {"
                              "input %x : f32[1] output %x \"x\"}");
    kiln_assert_status_ok(kiln_import(kiln_test_arena(), path, NULL, &g, NULL, &err),
                          &err);
    assert_int_equal(g->facts, KILN_TYPED);
}

static void check_inputs(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_declared_input *in = NULL;
    size_t n = 0;
    kiln_assert_status_ok(
        kiln_import_inputs(kiln_test_arena(), write("i.kgraph", BODY), &in, &n, &err),
        &err);
    assert_int_equal(n, 1);
    assert_string_equal(in[0].name, "x");
    assert_true(in[0].has_type && in[0].dtype == KILN_F32 && in[0].rank == 2);
    assert_int_equal(in[0].dim[1], 3);
}

static void check_bindings(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    const char *path = write("j.kgraph", BODY);
    kiln_err err = {0};
    kiln_graph *g = NULL;
    const kiln_type t = kiln_type_make(KILN_F32, 2, (int64_t[]){1, 3});
    const kiln_value_binding value = {"x", kiln_ref_random(a, &t, 3)};
    const kiln_shape_binding same = {"x", 2, {1, 3}}, other = {"x", 2, {2, 3}},
                             unknown = {"z", 1, {1}};
    kiln_import_options o = {.shapes = &same, .n_shapes = 1};
    kiln_assert_status_ok(kiln_import(a, path, &o, &g, NULL, &err), &err);
    o.shapes = &other;
    kiln_assert_fails(kiln_import(a, path, &o, &g, NULL, &err), KILN_ERR_SHAPE, &err,
                      "input 'x' is declared as f32[1,3], but [2,3] is given");
    kiln_err_clear(&err);
    o.shapes = &unknown;
    kiln_assert_fails(kiln_import(a, path, &o, &g, NULL, &err), KILN_ERR_ARG, &err,
                      "--shape names 'z', which is no graph input");
    kiln_err_clear(&err);
    const kiln_shape_binding twice[] = {same, same};
    o = (kiln_import_options){.shapes = twice, .n_shapes = 2};
    kiln_assert_fails(kiln_import(a, path, &o, &g, NULL, &err), KILN_ERR_ARG, &err,
                      "--shape is given twice for input 'x'; give it once");
    kiln_err_clear(&err);
    const kiln_value_binding values[] = {value, value};
    o = (kiln_import_options){.values = values, .n_values = 2};
    kiln_assert_fails(kiln_import(a, path, &o, &g, NULL, &err), KILN_ERR_ARG, &err,
                      "--bind is given twice for input 'x'; give it once");
    kiln_err_clear(&err);
    o = (kiln_import_options){.values = &value, .n_values = 1};
    kiln_assert_status_ok(kiln_import(a, path, &o, &g, NULL, &err), &err);
    assert_int_equal(g->inputs.n, 0);
    kiln_assert_status_ok(kiln_graph_verify(g, &err), &err);
    kiln_tensor y;
    kiln_assert_status_ok(kiln_ref_run(a, g, NULL, 0, &y, &err), &err);
}

int main(void) {
    kiln_test_add_rows(check_row, rows);
    kiln_test_add("believes_no_facts", check_facts, NULL);
    kiln_test_add("lists_inputs", check_inputs, NULL);
    kiln_test_add("holds_bindings_to_the_text", check_bindings, NULL);
    return kiln_test_run("graph_text");
}
