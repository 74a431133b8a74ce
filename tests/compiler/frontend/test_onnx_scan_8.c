/* Scan of opset 8: a batch axis, lengths and directions. */
#include <string.h>

#include "compiler/reference/reference.h"
#include "tests/support/import/import_run.h"

enum { BATCH = 2, STEPS = 3 };

/* sum' = sum / 2 + x; out = sum'. Where `lengths` is an input its values are not known.
 */
static kiln_str model(kiln_arena *a, const int64_t *lengths, int n_lengths,
                      bool is_backwards, const char *x_shape) {
    static const float half[] = {0.5f};
    const int64_t one = 1;
    kiln_onnx_writer m, body;
    kiln_onnx_writer_init(&body, a, "body");
    kiln_onnx_put_input(&body, "sum", KILN_ONNX_FLOAT, NULL);
    kiln_onnx_put_input(&body, "row", KILN_ONNX_FLOAT, NULL);
    kiln_onnx_put_node(&body, "Mul", "mul", "sum,half", "less");
    kiln_onnx_put_node(&body, "Add", "add", "less,row", "next");
    kiln_onnx_put_node(&body, "Identity", "id", "next", "out");
    kiln_onnx_put_output(&body, "next", KILN_ONNX_FLOAT, NULL);
    kiln_onnx_put_output(&body, "out", KILN_ONNX_FLOAT, NULL);
    kiln_onnx_writer_init(&m, a, "g");
    kiln_onnx_put_input(&m, "start", KILN_ONNX_FLOAT, "2");
    kiln_onnx_put_input(&m, "x", KILN_ONNX_FLOAT, x_shape);
    kiln_onnx_put_initializer(&m, kiln_onnx_float_tensor(a, "half", "", half, 1));
    if (lengths != NULL)
        kiln_onnx_put_initializer(
            &m, kiln_onnx_int64_tensor(a, "len", n_lengths == 1 ? "1" : "2", lengths,
                                       (size_t)n_lengths));
    else if (n_lengths > 0)
        kiln_onnx_put_input(&m, "len", KILN_ONNX_INT64, "2");
    kiln_onnx_put_node(&m, "Scan", "scan", n_lengths > 0 ? "len,start,x" : ",start,x",
                       "last,sums");
    kiln_onnx_put_attr_int(&m, "num_scan_inputs", 1);
    if (is_backwards)
        kiln_onnx_put_attr_ints(&m, "directions", &one, 1);
    kiln_onnx_put_attr_graph(&m, "body", kiln_onnx_finish_graph(&body));
    kiln_onnx_put_output(&m, "last", KILN_ONNX_FLOAT, NULL);
    kiln_onnx_put_output(&m, "sums", KILN_ONNX_FLOAT, NULL);
    return kiln_onnx_finish_model(&m, 3, 8);
}

typedef struct row {
    const char *name;
    int64_t length[BATCH];
    int n_lengths; /* 0: not given */
    bool is_backwards;
    float last[BATCH], sums[BATCH][STEPS];
} row;

static row rows[] = {
    {"each_element_runs_by_itself", .last = {9, 33}, .sums = {{4, 6, 9}, {18, 24, 33}}},
    {"sequences_run_backwards", .is_backwards = true, .last = {6, 24.75f},
     .sums = {{8, 8, 6}, {29, 29.5f, 24.75f}}},
    {"short_sequences_end_in_zeros", .length = {2, 0}, .n_lengths = 2, .last = {6, 16},
     .sums = {{4, 6, 0}, {0, 0, 0}}},
    {"short_sequences_begin_at_their_own_end", .length = {2, 3}, .n_lengths = 2,
     .is_backwards = true, .last = {5, 24.75f},
     .sums = {{6, 5, 0}, {29, 29.5f, 24.75f}}},
};

static void check(void **state) {
    const row *r = *state;
    static const float start[] = {4, 16};
    static const float x[] = {2, 4, 6, 10, 15, 21};
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_import_report report = {0};
    kiln_graph *g;
    const kiln_str bytes = model(&a, r->n_lengths > 0 ? r->length : NULL, r->n_lengths,
                                 r->is_backwards, "2,3");
    kiln_assert_status_ok(
        kiln_import_onnx_bytes(&a, bytes, "test.onnx", NULL, NULL, &g, &report, &err),
        &err);
    const kiln_tensor in[] = {{g->inputs.v[0]->type, (void *)(uintptr_t)start},
                              {g->inputs.v[1]->type, (void *)(uintptr_t)x}};
    kiln_tensor out[2];
    kiln_assert_status_ok(kiln_ref_run(&a, g, in, 2, out, &err), &err);
    assert_int_equal(kiln_type_elems(&out[0].type), BATCH);
    assert_int_equal(kiln_type_elems(&out[1].type), BATCH * STEPS);
    assert_memory_equal(out[0].data, r->last, sizeof r->last);
    assert_memory_equal(out[1].data, r->sums, sizeof r->sums);
    kiln_arena_fini(&a);
}

static void refuse(const int64_t *lengths, int n, const char *shape, kiln_status st,
                   const char *text) {
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_import_report report = {0};
    kiln_graph *g;
    kiln_assert_fails(kiln_import_onnx_bytes(&a, model(&a, lengths, n, false, shape),
                                             "test.onnx", NULL, NULL, &g, &report,
                                             &err),
                      st, &err, text);
    kiln_arena_fini(&a);
}

static void refuses_what_does_not_fit(void **state) {
    (void)state;
    static const int64_t lengths[] = {4, 1};
    refuse(lengths, 2, "2,3", KILN_ERR_SHAPE,
           "'sequence_lens' must be 2 numbers in [0, 3]");
    refuse(lengths, 1, "2,3", KILN_ERR_SHAPE, "'sequence_lens' must be 2 numbers");
    refuse(NULL, 2, "2,3", KILN_ERR_UNSUPPORTED,
           "input 'sequence_lens' must be a constant, it depends on graph input 'len'");
    refuse(NULL, 0, "3,3", KILN_ERR_SHAPE,
           "input 2 must have shape [2, steps, ...], is f32[3,3]");
    refuse(NULL, 0, "2", KILN_ERR_SHAPE,
           "input 2 must have shape [2, steps, ...], is f32[2]");
}

int main(void) {
    kiln_test_add_rows(check, rows);
    kiln_test_add("refuses_what_does_not_fit", refuses_what_does_not_fit, NULL);
    return kiln_test_run("onnx_scan_8");
}
