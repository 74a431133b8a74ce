/* Importers of RFFT2D and of complex tensors, COMPLEX64: their values have one axis more, the
 * last, of the real and the imaginary part. What moves elements moves both parts alike.
 * Source: TensorFlow Lite, rfft2d.cc and complex_support.cc. */
#include "compiler/frontend/fourier.h"
#include "compiler/frontend/tflite/tflite_internal.h"

kiln_status kiln_tflite_import_rfft_2d(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *x;
    const int64_t *size;
    size_t n;
    int64_t dim[KILN_MAX_RANK + 1];
    KILN_TRY(kiln_tflite_need(cx, 0, "input", &x));
    KILN_TRY(kiln_tflite_need_ints(cx, 1, "fft_length", &size, &n));
    const int rank = x->type.rank;
    if (n != 2 || rank < 2 || rank == KILN_MAX_RANK)
        return kiln_tflite_fail(cx, KILN_ERR_SHAPE,
                                "'fft_length' must have 2 values and the input rank 2 "
                                "to %d, have %zu and %d",
                                KILN_MAX_RANK - 1, n, rank);
    for (int i = 0; i < rank; i++)
        dim[i] = x->type.dim[i];
    dim[rank] = 1;
    x = kiln_compose_reshape(&c, x, rank + 1, dim);
    return kiln_tflite_end(cx, &c, kiln_compose_rfft_2d(&c, x, size));
}

kiln_status kiln_tflite_import_complex_abs(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *x;
    KILN_TRY(kiln_tflite_need(cx, 0, "input", &x));
    return kiln_tflite_end(cx, &c, kiln_compose_complex_abs(&c, x));
}

static kiln_status part(kiln_tflite_cx *cx, int which) {
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *x;
    KILN_TRY(kiln_tflite_need(cx, 0, "input", &x));
    return kiln_tflite_end(cx, &c, kiln_compose_part(&c, x, which));
}

kiln_status kiln_tflite_import_real(kiln_tflite_cx *cx) { return part(cx, 0); }
kiln_status kiln_tflite_import_imag(kiln_tflite_cx *cx) { return part(cx, 1); }

/* ---- what moves elements ------------------------------------------------------------ */

static kiln_status by_parts(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *const x = cx->in[0], *y[2], **const out = &cx->value[cx->op->output[0]];
    for (int i = 0; i < 2; i++) {
        cx->in[0] = kiln_compose_part(&c, x, i);
        KILN_TRY(c.status);
        KILN_TRY(cx->row->import(cx));
        y[i] = *out;
    }
    *out = kiln_compose_pairs(&c, y[0], y[1]);
    return c.status;
}

kiln_status kiln_tflite_import_parts(kiln_tflite_cx *cx, bool *done) {
    static const struct {
        kiln_status (*import)(kiln_tflite_cx *cx);
        bool is_own; /* it looks at both parts itself */
    } known[] = {{kiln_tflite_import_complex_abs, true},
                 {kiln_tflite_import_real, true},
                 {kiln_tflite_import_imag, true},
                 {kiln_tflite_import_reshape, false},
                 {kiln_tflite_import_squeeze, false},
                 {kiln_tflite_import_expand_dims, false},
                 {kiln_tflite_import_transpose, false},
                 {kiln_tflite_import_strided_slice, false},
                 {kiln_tflite_import_slice, false}};
    bool has_parts = false;
    for (int i = 0; i < kiln_tflite_n_in(cx); i++) {
        const kiln_tflite_tensor *const t = kiln_tflite_in_tensor(cx, i);
        has_parts = has_parts || (t != NULL && kiln_tflite_is_complex(t));
    }
    for (size_t i = 0; has_parts && i < sizeof known / sizeof known[0]; i++)
        if (known[i].import == cx->row->import) {
            *done = !known[i].is_own;
            return known[i].is_own ? KILN_OK : by_parts(cx);
        }
    return has_parts
               ? kiln_tflite_fail(cx, KILN_ERR_UNSUPPORTED,
                                  "the operator is not read with complex numbers; "
                                  "take their parts, or their size, before it")
               : KILN_OK;
}
