/* Complex tensors of TensorFlow Lite between a transform and what takes their parts or sizes:
 * numbers are worked out by hand. */
#include "compiler/frontend/frontend.h"
#include "compiler/reference/reference.h"
#include "tests/support/import/tflite_run.h"

enum { COMPLEX64 = 8, RFFT2D = 131, IMAG = 133, REAL = 134, COMPLEX_ABS = 135 };
enum { RESHAPE = 22, RELU = 19, NOTHING = -1, MAX_WANT = 4 };

typedef struct row {
    const char *name;
    int32_t rows, columns; /* of the image, 1, 2, 3, ... */
    int32_t size[2];       /* of the transform */
    int last;              /* operator behind it; NOTHING: none */
    bool is_reshaped;      /* before that */
    double want[MAX_WANT];
    const char *says; /* it is refused */
} row;

static row rows[] = {
    {"size_of_a_line", 1, 4, {1, 4}, COMPLEX_ABS, false, {10, 2.82842712, 2}, NULL},
    {"size_of_what_is_reshaped",
     1,
     4,
     {1, 4},
     COMPLEX_ABS,
     true,
     {10, 2.82842712, 2},
     NULL},
    {"real_part_of_an_image", 2, 2, {2, 2}, REAL, false, {10, -2, -4, 0}, NULL},
    {"imaginary_part_of_a_line", 1, 4, {1, 4}, IMAG, false, {0, 2, 0}, NULL},
    {"image_that_is_cut", 3, 3, {2, 2}, REAL, false, {12, -2, -6, 0}, NULL},
    {"image_that_is_filled_up", 1, 1, {2, 2}, REAL, false, {1, 1, 1, 1}, NULL},
    {"output_of_pairs", 1, 4, {1, 4}, NOTHING, false, {0}, "output 'y' is complex"},
    {"operator_of_pairs",
     1,
     4,
     {1, 4},
     RELU,
     false,
     {0},
     "the operator is not read with complex numbers"},
};

static kiln_str model_of(const row *r) {
    const int32_t points = r->size[1] / 2 + 1;
    const int32_t in_dim[] = {r->rows, r->columns}, out_dim[] = {r->size[0], points};
    const int32_t flat[] = {r->size[0] * points}, two[] = {2}, one[] = {1};
    kiln_tfw m = kiln_tfw_begin();
    const int32_t x = kiln_tfw_tensor(&m, "x", KILN_TFW_F32, 2, in_dim, NULL, 0);
    int32_t size =
        kiln_tfw_tensor(&m, "n", KILN_TFW_I32, 1, two, r->size, sizeof r->size);
    const int32_t first[] = {x, size};
    const char *const name = r->last == NOTHING ? "y" : "f";
    int32_t f = kiln_tfw_tensor(&m, name, COMPLEX64, 2, out_dim, NULL, 0);
    kiln_tfw_input(&m, x);
    kiln_tfw_op(&m, RFFT2D, NULL, 2, first, 1, &f);
    if (r->is_reshaped) {
        size = kiln_tfw_tensor(&m, "s", KILN_TFW_I32, 1, one, flat, sizeof flat);
        const int32_t in[] = {f, size};
        f = kiln_tfw_tensor(&m, "r", COMPLEX64, 1, flat, NULL, 0);
        kiln_tfw_op(&m, RESHAPE, NULL, 2, in, 1, &f);
    }
    if (r->last != NOTHING) {
        const int32_t y = kiln_tfw_tensor(&m, "y", KILN_TFW_F32, 2, out_dim, NULL, 0);
        kiln_tfw_op(&m, r->last, NULL, 1, &f, 1, &y);
        f = y;
    }
    kiln_tfw_output(&m, f);
    return kiln_tfw_write(&m);
}

static void check(void **state) {
    const row *const r = *state;
    kiln_arena *const a = kiln_test_arena();
    kiln_graph *g = NULL;
    kiln_tensor y;
    kiln_err err = {0};
    float want[MAX_WANT];
    const char *const path = kiln_test_tflite_file(model_of(r));
    const kiln_status st = kiln_import(a, path, NULL, &g, NULL, &err);
    if (r->says != NULL) {
        kiln_assert_fails(st, KILN_ERR_UNSUPPORTED, &err, r->says);
        return;
    }
    kiln_assert_status_ok(st, &err);
    kiln_assert_status_ok(kiln_graph_verify(g, &err), &err);
    const kiln_tensor x = kiln_tensor_new(a, &g->inputs.v[0]->type);
    for (int64_t i = 0; i < kiln_type_elems(&x.type); i++)
        ((float *)x.data)[i] = (float)(i + 1);
    kiln_assert_status_ok(kiln_ref_run(a, g, &x, 1, &y, &err), &err);
    const size_t n = (size_t)r->size[0] * ((size_t)r->size[1] / 2 + 1);
    assert_int_equal(kiln_type_elems(&y.type), n);
    for (size_t i = 0; i < n; i++)
        want[i] = (float)r->want[i];
    kiln_assert_close(y.data, want, n, 8, 1e-6);
}

int main(void) {
    kiln_test_add_rows(check, rows);
    return kiln_test_run("tflite_complex");
}
