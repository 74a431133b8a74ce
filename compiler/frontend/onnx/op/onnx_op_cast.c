/* Importers of Cast (6 to 25), CastLike (15 to 25) and BitCast (26). `saturate` (19)
 * and `round_mode` (24) are read on every path and say something of conversions to
 * floats of 8 and 4 bits only. */
#include "compiler/frontend/onnx/onnx_internal.h"

enum { SHOWN_BYTES = 40 }; /* of a word in a message */

/* Attribute `to`, which must be given. */
static kiln_status read_to(kiln_onnx_cx *cx, const kiln_onnx_node *n, kiln_dtype *out) {
    if (!kiln_onnx_has_attr(n, "to"))
        return kiln_onnx_fail(cx, KILN_ERR_PARSE, "attribute 'to' is missing");
    return kiln_onnx_dtype(kiln_onnx_attr_i(cx, n, "to", 0), out, kiln_onnx_err(cx));
}

/* Attribute round_mode as cast_low spells it. */
static kiln_status read_round(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                              const char **out) {
    static const char *const modes[] = {"up", "down", "nearest"};
    const kiln_str mode = kiln_onnx_attr_s(cx, n, "round_mode", "up");
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        if (!kiln_str_is(mode, modes[i]))
            continue;
        *out = modes[i];
        return KILN_OK;
    }
    return kiln_onnx_fail(cx, KILN_ERR_PARSE,
                          "attribute 'round_mode' must be up, down or nearest, is '%s'",
                          kiln_str_printable(kiln_onnx_arena(cx), mode, SHOWN_BYTES));
}

kiln_status kiln_onnx_cast_low(kiln_onnx_cx *cx, const kiln_onnx_node *n, kiln_value *x,
                               kiln_dtype to, bool saturate, const char *round,
                               kiln_value **out) {
    const kiln_attr_arg args[] = {kiln_arg_dtype("to", to),
                                  kiln_arg_bool("saturate", saturate),
                                  kiln_arg_word("round", round)};
    return kiln_onnx_emit1(cx, n, &kiln_op_cast_low, x, args, 3, out);
}

static kiln_status convert(kiln_onnx_cx *cx, const kiln_onnx_node *n, kiln_value *x,
                           kiln_dtype to) {
    const bool saturate = kiln_onnx_attr_i(cx, n, "saturate", 1) != 0;
    const char *round = NULL;
    kiln_value *y = NULL;
    KILN_TRY(read_round(cx, n, &round));
    if (kiln_dtype_is_in(to, KILN_DT_LOW_FLOAT) && x->type.dtype != to)
        KILN_TRY(kiln_onnx_cast_low(cx, n, x, to, saturate, round, &y));
    else
        KILN_TRY(kiln_onnx_cast(cx, n, x, to, &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}

kiln_status kiln_onnx_import_cast(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *x = NULL;
    kiln_dtype to;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "input", &x));
    KILN_TRY(read_to(cx, n, &to));
    return convert(cx, n, x, to);
}

kiln_status kiln_onnx_import_cast_like(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *x = NULL, *like = NULL;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "input", &x));
    KILN_TRY(kiln_onnx_need(cx, n, 1, "target_type", &like));
    return convert(cx, n, x, like->type.dtype);
}

kiln_status kiln_onnx_import_bitcast(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *x = NULL, *y = NULL;
    kiln_dtype to;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "input", &x));
    KILN_TRY(read_to(cx, n, &to));
    const kiln_attr_arg arg = kiln_arg_dtype("to", to);
    KILN_TRY(kiln_onnx_emit1(cx, n, &kiln_op_bitcast, x, &arg, 1, &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}
