/* What importers of recurrent operators share. */
#ifndef KILN_COMPILER_FRONTEND_ONNX_ONNX_RECURRENT_H
#define KILN_COMPILER_FRONTEND_ONNX_ONNX_RECURRENT_H

#include "compiler/frontend/onnx/onnx_internal.h"

enum { KILN_ONNX_RECURRENT_IN = 8 };

/* Emits rnn, gru or lstm by the node's attributes, of inputs in ONNX's order (8 of
 * them, NULL where absent) that need not be its own, and binds the node's outputs. */
kiln_status kiln_onnx_emit_recurrent(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                                     const kiln_op_def *op, kiln_value **in);

#endif
