/* Importers of MATRIX_DIAG and MATRIX_SET_DIAG. Source: TensorFlow Lite, matrix_diag.cc,
 * matrix_set_diag.cc. */
#include "compiler/frontend/diagonal.h"
#include "compiler/frontend/tflite/tflite_internal.h"

kiln_status kiln_tflite_import_matrix_diag(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *on;
    KILN_TRY(kiln_tflite_need(cx, 0, "diagonal", &on));
    if (on->type.rank < 1)
        return kiln_tflite_fail(cx, KILN_ERR_SHAPE, "the diagonal must have an axis");
    const int64_t n = on->type.dim[on->type.rank - 1];
    kiln_value *const zero = kiln_import_scalar(&cx->common, on->type.dtype, 0);
    return kiln_tflite_end(cx, &c, kiln_compose_diagonal_matrix(&c, on, n, n, 0, zero));
}

kiln_status kiln_tflite_import_matrix_set_diag(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *x, *on;
    KILN_TRY(kiln_tflite_need(cx, 0, "input", &x));
    KILN_TRY(kiln_tflite_need(cx, 1, "diagonal", &on));
    return kiln_tflite_end(cx, &c, kiln_compose_set_diagonal(&c, x, on, 0));
}
