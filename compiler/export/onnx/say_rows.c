/* The table of say_rows.def, by operator. */
#include "compiler/export/onnx/say_ops.h"

static const kiln_say_row rows[] = {
#define KILN_SAY(op, onnx, say, dtypes, opset, bf16)                                   \
    {&kiln_op_##op, onnx, kiln_say_op_##say, dtypes, opset, bf16},
#include "compiler/export/onnx/say_rows.def"
#undef KILN_SAY
};

enum { N_ROWS = sizeof rows / sizeof rows[0] };

const kiln_say_row *kiln_say_row_of(const kiln_op_def *op) {
    for (int i = 0; i < N_ROWS; i++)
        if (rows[i].op == op)
            return &rows[i];
    return NULL;
}
