/* Sparse constants of TensorFlow Lite, made dense. */
#include "compiler/reference/reference.h"
#include "tests/support/import/tflite_run.h"

/* A constant of two rows, of which three or four elements are in the file, densified. */
typedef struct row {
    const char *name;
    int32_t traversal[3], segments[3], indices[3];
    size_t n_levels, n_indices; /* 3: the last is a block of 2 columns */
    float data[4], want[8];
    size_t n_data;
    const char *text; /* of the error; NULL: none */
} row;

static row rows[] = {
    {"single_elements",
     {0, 1},
     {0, 1, 3},
     {2, 0, 3},
     2,
     3,
     {5, 6, 7},
     {0, 0, 5, 0, 6, 0, 0, 7},
     3,
     NULL},
    {"blocks",
     {0, 1, 2},
     {0, 1, 2},
     {1, 0},
     3,
     2,
     {5, 6, 7, 8},
     {0, 0, 5, 6, 7, 8, 0, 0},
     4,
     NULL},
    {"an_index_outside",
     {0, 1},
     {0, 1, 2},
     {4, 0},
     2,
     2,
     {5, 6},
     {0},
     2,
     "has an index that lies outside of it"},
    {"a_segment_outside",
     {0, 1},
     {0, 1, 9},
     {0, 0},
     2,
     2,
     {5, 6},
     {0},
     2,
     "has a segment that lies outside of its indexes"},
    {"too_few_elements",
     {0, 1},
     {0, 1, 2},
     {0, 0},
     2,
     2,
     {5},
     {0},
     1,
     "has fewer elements than indexes"},
    {"a_dimension_twice",
     {0, 0},
     {0, 1, 2},
     {0, 0},
     2,
     2,
     {5, 6},
     {0},
     2,
     "walks a dimension twice"},
};

static void put_sparsity(kiln_tfw *m, const row *r) {
    enum { INT32_VECTOR = 1, COLUMN_AXIS = 1, BLOCK = 2 };
    const int32_t axis = COLUMN_AXIS;
    kiln_fbw_table *const s = kiln_fbw_sub(m->tensor, 6);
    kiln_fbw_ints(s, 0, r->traversal, r->n_levels);
    kiln_fbw_ints(s, 1, &axis, r->n_levels - 2);
    kiln_fbw_list *const dims = kiln_fbw_tables(s, 2);
    kiln_fbw_int(kiln_fbw_add(dims), 1, 4, 2);
    kiln_fbw_table *const columns = kiln_fbw_add(dims);
    kiln_fbw_int(columns, 0, 1, 1);
    kiln_fbw_int(columns, 2, 1, INT32_VECTOR);
    kiln_fbw_ints(kiln_fbw_sub(columns, 3), 0, r->segments, 3);
    kiln_fbw_int(columns, 4, 1, INT32_VECTOR);
    kiln_fbw_ints(kiln_fbw_sub(columns, 5), 0, r->indices, r->n_indices);
    if (r->n_levels > 2)
        kiln_fbw_int(kiln_fbw_add(dims), 1, 4, BLOCK);
}

static void check(void **state) {
    enum { DENSIFY = 124, ADD = 0 };
    static const int32_t shape[] = {2, 4};
    const row *const r = *state;
    kiln_arena *const a = kiln_test_arena();
    kiln_graph *g;
    kiln_err err = {0};
    kiln_tfw m = kiln_tfw_begin();
    const int x = kiln_tfw_tensor(&m, "x", KILN_TFW_F32, 2, shape, NULL, 0);
    const int w = kiln_tfw_tensor(&m, "w", KILN_TFW_F32, 2, shape, r->data,
                                  r->n_data * sizeof r->data[0]);
    put_sparsity(&m, r);
    const int d = kiln_tfw_tensor(&m, "d", KILN_TFW_F32, 2, shape, NULL, 0);
    const int y = kiln_tfw_tensor(&m, "y", KILN_TFW_F32, 2, shape, NULL, 0);
    kiln_tfw_input(&m, x);
    kiln_tfw_output(&m, y);
    kiln_tfw_op(&m, DENSIFY, NULL, 1, (const int32_t[]){w}, 1, (const int32_t[]){d});
    kiln_tfw_op(&m, ADD, NULL, 2, (const int32_t[]){x, d}, 1, (const int32_t[]){y});
    const char *const path = kiln_test_tflite_file(kiln_tfw_write(&m));
    const kiln_status st = kiln_import(a, path, NULL, &g, NULL, &err);
    if (r->text != NULL) {
        kiln_assert_fails(st, KILN_ERR_PARSE, &err, r->text);
        return;
    }
    kiln_assert_status_ok(st, &err);
    const kiln_tensor in = kiln_tensor_new(a, &g->inputs.v[0]->type);
    kiln_tensor out;
    kiln_assert_status_ok(kiln_ref_run(a, g, &in, 1, &out, &err), &err);
    kiln_assert_close(out.data, r->want, 8, 0, 0);
}

int main(void) {
    kiln_test_add_rows(check, rows);
    return kiln_test_run("tflite_sparse");
}
