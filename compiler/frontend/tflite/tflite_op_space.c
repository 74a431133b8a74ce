/* Importers of reductions, resizes, and what trades space for channels or batches.
 * Source: TensorFlow Lite, reference kernels. */
#include "compiler/frontend/tflite/quant.h"

#include <inttypes.h>
#include <string.h>

/* ---- reductions --------------------------------------------------------------------- */

/* The axes are input 1: none reduce nothing. */
kiln_status kiln_tflite_import_reduce(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *x;
    const int64_t *v;
    int64_t axes[KILN_MAX_RANK];
    size_t n, n_axes = 0;
    bool is_taken[KILN_MAX_RANK] = {false};
    KILN_TRY(kiln_tflite_need(cx, 0, "input", &x));
    KILN_TRY(kiln_tflite_need_ints(cx, 1, "axis", &v, &n));
    for (size_t i = 0; i < n; i++) {
        int axis;
        KILN_TRY(kiln_axis_normalize(v[i], x->type.rank, &axis, cx->common.err));
        if (!is_taken[axis])
            axes[n_axes++] = axis;
        is_taken[axis] = true;
    }
    if (n_axes == 0)
        return kiln_tflite_end(cx, &c, x);
    const bool is_bool = x->type.dtype == KILN_BOOL;
    if (is_bool)
        x = kiln_compose_cast(&c, x, KILN_U8);
    x = kiln_compose_reduce(&c, cx->row->op, x, axes, n_axes, cx->opt.keep_dims != 0);
    return kiln_tflite_end(cx, &c, is_bool ? kiln_compose_cast(&c, x, KILN_BOOL) : x);
}

/* ---- resizes ------------------------------------------------------------------------ */

kiln_status kiln_tflite_read_images(kiln_tflite_cx *cx, kiln_value **x,
                                    const int64_t **size) {
    size_t n;
    KILN_TRY(kiln_tflite_need(cx, 0, "images", x));
    KILN_TRY(kiln_tflite_need_ints(cx, 1, "size", size, &n));
    if (n != 2 || (*x)->type.rank != 4)
        return kiln_tflite_fail(cx, KILN_ERR_SHAPE,
                                "'size' must have 2 values and 'images' rank 4, have "
                                "%zu and %d",
                                n, (*x)->type.rank);
    return KILN_OK;
}

kiln_status kiln_tflite_import_resize(kiln_tflite_cx *cx) {
    enum { NEAREST = 97 };
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *x;
    const int64_t *size;
    KILN_TRY(kiln_tflite_read_images(cx, &x, &size));
    x = kiln_channels_last_resize(&c, x, size, cx->row->code == NEAREST,
                                  cx->opt.align_corners != 0, cx->opt.half_pixel != 0);
    return kiln_tflite_end(cx, &c, x);
}

/* ---- blocks ------------------------------------------------------------------------- */

enum { MAX_BLOCK = 1024 };

static kiln_status read_block(kiln_tflite_cx *cx, kiln_value **x) {
    KILN_TRY(kiln_tflite_need(cx, 0, "input", x));
    if ((*x)->type.rank != 4 || cx->opt.block_size < 1 ||
        cx->opt.block_size > MAX_BLOCK)
        return kiln_tflite_fail(cx, KILN_ERR_SHAPE,
                                "the input must have rank 4 and the block size be 1 to "
                                "%d, are %d and %" PRId64,
                                MAX_BLOCK, (*x)->type.rank, cx->opt.block_size);
    return KILN_OK;
}

static const int64_t block_perm[] = {0, 1, 3, 2, 4, 5};

kiln_status kiln_tflite_import_space_to_depth(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *x;
    KILN_TRY(read_block(cx, &x));
    const int64_t b = cx->opt.block_size, *const d = x->type.dim;
    const int64_t apart[] = {d[0], d[1] / b, b, d[2] / b, b, d[3]};
    const int64_t after[] = {d[0], d[1] / b, d[2] / b, b * b * d[3]};
    x = kiln_compose_reshape(&c, x, 6, apart);
    x = kiln_compose_transpose(&c, x, block_perm);
    return kiln_tflite_end(cx, &c, kiln_compose_reshape(&c, x, 4, after));
}

kiln_status kiln_tflite_import_depth_to_space(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *x;
    KILN_TRY(read_block(cx, &x));
    const int64_t b = cx->opt.block_size, *const d = x->type.dim;
    const int64_t apart[] = {d[0], d[1], d[2], b, b, d[3] / (b * b)};
    const int64_t perm[] = {0, 1, 3, 2, 4, 5};
    const int64_t after[] = {d[0], d[1] * b, d[2] * b, d[3] / (b * b)};
    x = kiln_compose_reshape(&c, x, 6, apart);
    x = kiln_compose_transpose(&c, x, perm);
    return kiln_tflite_end(cx, &c, kiln_compose_reshape(&c, x, 4, after));
}

/* What SPACE_TO_BATCH_ND and its inverse are told: blocks, and margins or crops. */
typedef struct blocks {
    size_t n; /* spatial axes, behind the batch */
    const int64_t *size;
    int64_t before[3], after[3]; /* margins or crops */
    int64_t all;                 /* product of the sizes */
} blocks;

static kiln_status read_blocks(kiln_tflite_cx *cx, const kiln_value *x, blocks *b) {
    const int64_t *edge;
    size_t n_edge;
    KILN_TRY(kiln_tflite_need_ints(cx, 1, "block_shape", &b->size, &b->n));
    KILN_TRY(kiln_tflite_need_ints(cx, 2, "paddings", &edge, &n_edge));
    if (x->type.rank < (int)b->n + 1 || b->n > 3 || n_edge != 2 * b->n)
        return kiln_tflite_fail(cx, KILN_ERR_SHAPE,
                                "%zu blocks and %zu edges for an input of rank %d",
                                b->n, n_edge, x->type.rank);
    b->all = 1;
    for (size_t i = 0; i < b->n; i++) {
        b->before[i] = edge[2 * i];
        b->after[i] = edge[2 * i + 1];
        if (b->size[i] < 1 || b->size[i] > MAX_BLOCK || b->before[i] < 0 ||
            b->after[i] < 0)
            return kiln_tflite_fail(cx, KILN_ERR_SHAPE,
                                    "a block of %" PRId64
                                    " with edges below 0, or not 1 to %d",
                                    b->size[i], MAX_BLOCK);
        b->all *= b->size[i];
    }
    return KILN_OK;
}

/* [N, s..., rest] to [N, s/b, b, ..., rest] to [b..., N, s/b..., rest]. */
kiln_status kiln_tflite_import_space_to_batch(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *x;
    blocks b;
    int64_t pads[2 * KILN_MAX_RANK] = {0}, apart[2 * KILN_MAX_RANK],
                     after[KILN_MAX_RANK];
    int64_t perm[2 * KILN_MAX_RANK];
    KILN_TRY(kiln_tflite_need(cx, 0, "input", &x));
    KILN_TRY(read_blocks(cx, x, &b));
    const int rank = x->type.rank, n = (int)b.n;
    if (rank + n > KILN_MAX_RANK)
        return kiln_tflite_fail(cx, KILN_ERR_LIMIT, "%d blocks of rank %d", n, rank);
    for (int i = 0; i < n; i++) {
        pads[1 + i] = b.before[i];
        pads[rank + 1 + i] = b.after[i];
    }
    x = kiln_compose_pad(&c, x, pads, 0);
    KILN_TRY(c.status);
    apart[0] = x->type.dim[0];
    after[0] = x->type.dim[0] * b.all;
    perm[n] = 0;
    for (int i = 0; i < n; i++) {
        apart[1 + 2 * i] = after[1 + i] = x->type.dim[1 + i] / b.size[i];
        apart[2 + 2 * i] = b.size[i];
        perm[i] = 2 + 2 * i;
        perm[n + 1 + i] = 1 + 2 * i;
    }
    for (int i = n + 1; i < rank; i++) {
        apart[n + i] = after[i] = x->type.dim[i];
        perm[n + i] = n + i;
    }
    x = kiln_compose_reshape(&c, x, rank + n, apart);
    x = kiln_compose_transpose(&c, x, perm);
    return kiln_tflite_end(cx, &c, kiln_compose_reshape(&c, x, rank, after));
}

kiln_status kiln_tflite_import_batch_to_space(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *x;
    blocks b;
    int64_t apart[2 * KILN_MAX_RANK], after[KILN_MAX_RANK], perm[2 * KILN_MAX_RANK];
    KILN_TRY(kiln_tflite_need(cx, 0, "input", &x));
    KILN_TRY(read_blocks(cx, x, &b));
    const int rank = x->type.rank, n = (int)b.n;
    if (rank + n > KILN_MAX_RANK)
        return kiln_tflite_fail(cx, KILN_ERR_LIMIT, "%d blocks of rank %d", n, rank);
    apart[n] = after[0] = x->type.dim[0] / b.all;
    perm[0] = n;
    for (int i = 0; i < n; i++) {
        apart[i] = b.size[i];
        apart[n + 1 + i] = x->type.dim[1 + i];
        after[1 + i] = x->type.dim[1 + i] * b.size[i];
        perm[1 + 2 * i] = n + 1 + i;
        perm[2 + 2 * i] = i;
    }
    for (int i = n + 1; i < rank; i++) {
        apart[n + i] = after[i] = x->type.dim[i];
        perm[n + i] = n + i;
    }
    x = kiln_compose_reshape(&c, x, rank + n, apart);
    x = kiln_compose_transpose(&c, x, perm);
    x = kiln_compose_reshape(&c, x, rank, after);
    KILN_TRY(c.status);
    for (int i = 0; i < n; i++) {
        const int64_t left = after[1 + i] - b.before[i];
        if (left < 0 || b.after[i] > left)
            return kiln_tflite_fail(cx, KILN_ERR_SHAPE,
                                    "crops that leave nothing of %" PRId64,
                                    after[1 + i]);
        x = kiln_compose_slice(&c, x, 1 + i, b.before[i], 1, left - b.after[i]);
    }
    return kiln_tflite_end(cx, &c, x);
}
