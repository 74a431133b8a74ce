/* What the importers of com.microsoft share: ONNX Runtime's own operators, which its
 * optimiser and quantiser write. Each is rewritten to operators of the Graph; what it
 * computes is in ContribOperators.md of ONNX Runtime and, where that is silent, what
 * its CPU kernels do. */
#ifndef KILN_COMPILER_FRONTEND_ONNX_MS_H
#define KILN_COMPILER_FRONTEND_ONNX_MS_H

#include "compiler/frontend/onnx/onnx_internal.h"

/* Channels last, [N, spatial..., C], to [N, C, spatial...], and back. */
kiln_value *kiln_ms_channels_first(kiln_compose *c, kiln_value *x);
kiln_value *kiln_ms_channels_last(kiln_compose *c, kiln_value *x);

/* The activation of y that a fused operator names in its attribute 'activation'; none
 * where that is absent. Its parameters are the attribute `list`, in order, or, where
 * list is NULL, the attributes activation_alpha, activation_beta and so on. */
kiln_status kiln_ms_activate(kiln_compose *c, const char *list, kiln_value **y);

/* x + bias where bias is given, x otherwise; bias must not make it larger. */
kiln_value *kiln_ms_add(kiln_compose *c, kiln_value *x, kiln_value *bias);
kiln_value *kiln_ms_gelu(kiln_compose *c, kiln_value *x, const char *approximate);

/* ---- quantised tensors ---- */

typedef struct kiln_ms_quant {
    kiln_value *x, *scale, *zero; /* zero: NULL where it is 0 */
} kiln_ms_quant;

/* Inputs at, at + 1 and at + 2: elements, scale and, optional, the zero point. */
kiln_status kiln_ms_read_quant(kiln_compose *c, int at, const char *name,
                               kiln_ms_quant *q);
/* Inputs at (scale) and at + 1 (zero point) of a result. */
kiln_status kiln_ms_read_scale(kiln_compose *c, int at, const char *name,
                               kiln_ms_quant *q);
/* A list of one as a scalar; NULL stays. */
kiln_value *kiln_ms_single(kiln_compose *c, kiln_value *v);
/* Are the scale and the zero point of the whole tensor? */
kiln_status kiln_ms_check_single(kiln_compose *c, const char *name,
                                 const kiln_ms_quant *q);
/* (x - zero) * scale in f32; lists of scales run along `axis`. */
kiln_value *kiln_ms_dequantize(kiln_compose *c, const kiln_ms_quant *q, int axis);
/* saturate(round(y / scale) + zero); without a zero point the result has `dtype`. */
kiln_value *kiln_ms_quantize(kiln_compose *c, kiln_value *y, const kiln_ms_quant *q,
                             kiln_dtype dtype);
/* The same of y in steps, y / scale. */
kiln_value *kiln_ms_steps(kiln_compose *c, kiln_value *y, const kiln_ms_quant *q,
                          kiln_dtype dtype);
/* saturate(round(y + zero)), y in steps: differs from the above in ties, where the zero
 * point then decides which neighbour is even. */
kiln_value *kiln_ms_round(kiln_compose *c, kiln_value *y, const kiln_ms_quant *q,
                          kiln_dtype dtype);
/* x - zero in i32, x of 8 bits or 16; lists of zero points are of the columns. */
kiln_value *kiln_ms_center(kiln_compose *c, const kiln_ms_quant *q);
/* u8, scale and zero point of a float tensor, as DynamicQuantizeLinear gives them. */
kiln_ms_quant kiln_ms_dynamic_quant(kiln_compose *c, kiln_value *x);

/* ---- attention ---- */

typedef struct kiln_ms_attention {
    kiln_value *q, *k, *v; /* [B, heads, length, size] */
    kiln_value *mask;      /* as the node gives it, or NULL */
    kiln_value *bias;      /* added to the scores, or NULL */
    int64_t past;          /* keys that lie before the first query */
} kiln_ms_attention;

/* softmax(scale q k^T + bias + mask) v as [B, length, heads * size], by the node's
 * attributes scale, unidirectional and mask_filter_value. *scores: what the softmax is
 * of. */
kiln_status kiln_ms_attend(kiln_compose *c, const kiln_ms_attention *a,
                           kiln_value **out, kiln_value **scores);
/* Attention whose projected queries, keys and values lie side by side, [B, length,
 * ...]: splits them by attribute qkv_hidden_sizes or in three, puts the past (input
 * `past`) before the keys and values, attends and binds the node's outputs. mask, bias:
 * inputs; -1: there is none. */
kiln_status kiln_ms_self_attention(kiln_compose *c, kiln_value *qkv, int mask, int past,
                                   int bias);

#endif
