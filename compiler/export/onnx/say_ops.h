/* The writers that say_rows.def names: kiln_say_op_<say>, each in the say_*.c file of its
 * family. */
#ifndef KILN_COMPILER_EXPORT_ONNX_SAY_OPS_H
#define KILN_COMPILER_EXPORT_ONNX_SAY_OPS_H

#include "compiler/export/onnx/say.h"

#define KILN_SAY(op, onnx, say, dtypes, opset, bf16)                                   \
    kiln_status kiln_say_op_##say(kiln_say *s, const kiln_node *n);
#include "compiler/export/onnx/say_rows.def"
#undef KILN_SAY

#endif
