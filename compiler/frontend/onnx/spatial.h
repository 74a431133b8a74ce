/* Attributes that convolution and pooling share in ONNX: strides, dilations, pads,
 * auto_pad. */
#ifndef KILN_COMPILER_FRONTEND_ONNX_SPATIAL_H
#define KILN_COMPILER_FRONTEND_ONNX_SPATIAL_H

#include "compiler/frontend/onnx/onnx_internal.h"

enum { KILN_ONNX_MAX_SPATIAL = KILN_MAX_RANK - 2 };

typedef struct kiln_onnx_spatial {
    int n; /* spatial axes of x */
    int64_t in[KILN_ONNX_MAX_SPATIAL], kernel[KILN_ONNX_MAX_SPATIAL];
    int64_t strides[KILN_ONNX_MAX_SPATIAL], dilations[KILN_ONNX_MAX_SPATIAL];
    int64_t pads[2 * KILN_ONNX_MAX_SPATIAL]; /* beginnings, then ends */
    bool is_same;  /* auto_pad SAME_UPPER or SAME_LOWER; pads are left 0 */
    bool is_upper; /* the odd element of SAME padding goes to the end */
} kiln_onnx_spatial;

/* Reads the attributes for x of shape [N, C, spatial...]. kernel: one size per spatial
 * axis, or NULL to read the attribute kernel_shape. Every number is held in [0, 2^31)
 * (strides, dilations, kernel: >= 1). */
kiln_status kiln_onnx_read_spatial(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                                   const kiln_value *x, const int64_t *kernel,
                                   kiln_onnx_spatial *s);
/* Sets pads for SAME: out = ceil(in / stride) (ONNX Conv-22, AveragePool-22). */
void kiln_onnx_same_pads(kiln_onnx_spatial *s);

/* The arguments strides, pads, dilations. */
enum { KILN_ONNX_SPATIAL_ARGS = 3 };
void kiln_onnx_spatial_args(const kiln_onnx_spatial *s, kiln_attr_arg *args);

/* The convolution or pool (max_pool, avg_pool) that a node's attributes describe, of
 * values that need not be its own inputs. in: x, weights, bias or NULL. */
kiln_status kiln_onnx_emit_conv(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                                kiln_value *const *in, kiln_value **out);
kiln_status kiln_onnx_emit_pool(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                                const kiln_op_def *op, kiln_value *x, kiln_value **out);

#endif
