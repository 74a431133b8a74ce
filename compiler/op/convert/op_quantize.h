/* Shared by quantize_linear and dequantize_linear: which scale belongs to which
 * element.
 *
 *   per tensor  scale is a scalar or has one element
 *   per axis    scale is [dim of axis]
 *   blocked     block > 0: scale has the rank of x, and ceil(dim / block) elements on
 *               the axis */
#ifndef KILN_COMPILER_OP_CONVERT_OP_QUANTIZE_H
#define KILN_COMPILER_OP_CONVERT_OP_QUANTIZE_H

#include "compiler/op/op_low.h"

enum {
    KILN_DT_QUANTIZED = KILN_DT(KILN_I8) | KILN_DT(KILN_U8) | KILN_DT(KILN_I16) |
                        KILN_DT(KILN_U16) | KILN_DT_LOW_INT,
    KILN_DT_PRECISION = KILN_DT_FLOAT & ~KILN_DT(KILN_F64),
    KILN_DT_SCALE = KILN_DT_PRECISION | KILN_DT(KILN_F8E8M0),
};

/* Inputs: x, scale, zero point (may be absent). Checks scale's shape and dtype, and
 * that the zero point has its shape and dtype `zero`. */
kiln_status kiln_check_scale(const kiln_node *n, int64_t axis, int64_t block,
                             kiln_dtype zero, kiln_err *err);

/* Index of the scale of each element: e / inner % dim / block, and for blocked scales
 * the rest. */
typedef struct kiln_scale_map {
    int64_t dim, inner; /* of x at the axis and behind it */
    int64_t block;      /* elements per scale along the axis */
    int64_t n_scale;    /* scales along the axis */
    bool is_single, is_blocked;
} kiln_scale_map;
void kiln_scale_map_init(kiln_scale_map *m, const kiln_node *n, int64_t axis,
                         int64_t block);
int64_t kiln_scale_at(const kiln_scale_map *m, int64_t e);
/* One scale for all elements, none of them packed: as any element-wise operator. */
bool kiln_has_one_scale(const kiln_node *n);
/* Indexes into the scale for the element of x at `index`. */
void kiln_compute_scale_index(const kiln_compute_cx *cx, int64_t axis, int64_t block,
                              const kiln_expr *const *index, const kiln_expr **at);

#endif
