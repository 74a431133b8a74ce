/* Importer of com.microsoft.DynamicQuantizeLSTM: an LSTM whose weights are 8-bit, each
 * direction [input, 4 * hidden] with one scale or one for each column.
 *
 * The weights become floats and the LSTM runs on floats. ONNX Runtime also rounds the
 * inputs and each step's hidden state to 8 bits on the way, with scales that depend on
 * how it splits the batch over threads; that rounding is not imitated. */
#include <inttypes.h>

#include "compiler/frontend/onnx/ms.h"
#include "compiler/frontend/onnx/onnx_recurrent.h"

enum { W_SCALE = 8, R_SCALE = 10 };

/* A list for each direction, as it broadcasts against [directions, rows, columns]. */
static kiln_status spread(kiln_compose *c, const char *name, const kiln_value *x,
                          kiln_value **v) {
    const kiln_type t = (*v)->type;
    const bool is_columns = t.rank == 2 && t.dim[1] == x->type.dim[2];
    if (t.rank < 1 || t.dim[0] != x->type.dim[0] || (t.rank != 1 && !is_columns))
        return kiln_fail(c->cx->err, KILN_ERR_SHAPE,
                         "scale and zero point of '%s' must have shape [%" PRId64
                         "] or [%" PRId64 ", %" PRId64 "]",
                         name, x->type.dim[0], x->type.dim[0], x->type.dim[2]);
    const int64_t dim[] = {t.dim[0], 1, is_columns ? t.dim[1] : 1};
    *v = kiln_compose_reshape(c, *v, 3, dim);
    return c->status;
}

/* Input i in floats as LSTM has it, [directions, 4 * hidden, rows]; its scale and zero
 * point are inputs at and at + 1. */
static kiln_status read_weights(kiln_compose *c, int i, const char *name, int at,
                                kiln_value **out) {
    static const int64_t perm[] = {0, 2, 1};
    kiln_value *x, *scale, *zero = kiln_onnx_in(kiln_onnx_of(c->cx), c->site, at + 1);
    KILN_TRY(kiln_onnx_need(kiln_onnx_of(c->cx), c->site, i, name, &x));
    KILN_TRY(kiln_onnx_need(kiln_onnx_of(c->cx), c->site, at, "scale", &scale));
    if (x->type.rank != 3)
        return kiln_fail(c->cx->err, KILN_ERR_SHAPE,
                         "input '%s' must have rank 3, has %d", name, x->type.rank);
    KILN_TRY(spread(c, name, x, &scale));
    if (zero != NULL)
        KILN_TRY(spread(c, name, x, &zero));
    const kiln_ms_quant q = {.x = x, .zero = zero};
    x = kiln_compose_cast(c, kiln_ms_center(c, &q), KILN_F32);
    x = kiln_compose_2(c, &kiln_op_mul, x, scale);
    *out = kiln_compose_transpose(c, x, perm);
    return c->status;
}

kiln_status kiln_onnx_import_ms_dynamic_quantize_lstm(kiln_onnx_cx *cx,
                                                      const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_value *in[KILN_ONNX_RECURRENT_IN] = {NULL};
    KILN_TRY(kiln_onnx_need(cx, n, 0, "X", &in[0]));
    KILN_TRY(read_weights(&c, 1, "W", W_SCALE, &in[1]));
    KILN_TRY(read_weights(&c, 2, "R", R_SCALE, &in[2]));
    for (int i = 3; i < KILN_ONNX_RECURRENT_IN; i++)
        in[i] = kiln_onnx_in(cx, n, i);
    return kiln_onnx_emit_recurrent(cx, n, &kiln_op_lstm, in);
}
