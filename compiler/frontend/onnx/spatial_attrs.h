/* Attributes that convolution and pooling share in ONNX: kernel_shape, strides,
 * dilations, pads, auto_pad. */
#ifndef KILN_COMPILER_FRONTEND_ONNX_SPATIAL_ATTRS_H
#define KILN_COMPILER_FRONTEND_ONNX_SPATIAL_ATTRS_H

#include "compiler/frontend/onnx/onnx_internal.h"
#include "compiler/frontend/spatial.h"

/* Reads the attributes for x of shape [N, C, spatial...]. kernel: one size per spatial
 * axis, or NULL to read the attribute kernel_shape. Every number is held in [0, 2^31)
 * (strides, dilations, kernel: >= 1). auto_pad SAME_UPPER and SAME_LOWER (Conv-22,
 * AveragePool-22) are is_same. */
kiln_status kiln_onnx_read_spatial(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                                   const kiln_value *x, const int64_t *kernel,
                                   kiln_spatial *s);

/* The convolution or pool (max_pool, avg_pool) that a node's attributes describe, of
 * values that need not be its own inputs. in: x, weights, bias or NULL. */
kiln_status kiln_onnx_emit_conv(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                                kiln_value *const *in, kiln_value **out);
kiln_status kiln_onnx_emit_pool(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                                const kiln_op_def *op, kiln_value *x, kiln_value **out);

#endif
