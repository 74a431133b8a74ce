/* Contractions by tensor cores.
 *
 *   y   blocks..., warps (z, y), threads of the warp (x), matrices..., what each holds
 *   acc at the last of the warps: steps, [fetched], terms, matrices..., one product
 *
 * Or warpgroups in place of warps, whose product is of 64 rows, and of all columns that the
 * group has, in panels. */
#include "compiler/schedule/template/gpu/gpu_mma.h"

#include "compiler/loop/tensor_intrin.h"

enum { WARP = 32, HALF_ROWS = 8, COLUMNS = 8, NEIGHBOURS = 2, GROUP = 4 };

typedef struct build {
    const kiln_gpu_mma *t;
    kiln_stage *y, *acc;
    kiln_iter *warp_m, *warp_n;
    kiln_err *err;
} build;

/* Blocks along rows in groups, so that those that run together share what they read. */
static kiln_status bind_blocks(build *b, kiln_iter *const *batch, size_t n_batch,
                               kiln_iter *rows, kiln_iter *cols) {
    kiln_iter *order[KILN_MAX_AXES + 3], *outer, *inner, *all;
    size_t n = 0;
    for (size_t i = 0; i < n_batch; i++)
        order[n++] = batch[i];
    int64_t group = b->t->group;
    while (rows->extent % group != 0)
        group--;
    KILN_TRY(kiln_split(b->y, rows, group, &outer, &inner, b->err));
    order[n++] = outer;
    order[n++] = cols;
    order[n++] = inner;
    KILN_TRY(kiln_reorder(b->y, order, n, b->err));
    KILN_TRY(kiln_fuse(b->y, outer, cols, &all, b->err));
    KILN_TRY(kiln_fuse(b->y, all, inner, &all, b->err));
    KILN_TRY(kiln_bind(b->y, all, "blockIdx.x", b->err));
    if (n_batch == 0)
        return KILN_OK;
    kiln_iter *one = batch[0];
    for (size_t i = 1; i < n_batch; i++)
        KILN_TRY(kiln_fuse(b->y, one, batch[i], &one, b->err));
    return kiln_bind(b->y, one, "blockIdx.y", b->err);
}

static int64_t rows_of(const kiln_gpu_mma *t) {
    return t->by_groups ? KILN_GPU_GROUP_ROWS : KILN_GPU_MMA_SIDE;
}

static kiln_status shape_output(build *b) {
    const kiln_gpu_mma *t = b->t;
    kiln_stage *y = b->y;
    kiln_iter *batch[KILN_MAX_AXES], *rows, *cols, *m, *n, *half, *row, *thread;
    kiln_iter *quarter, *pair, *warp = NULL;
    size_t n_batch = 0;
    for (int i = 0; i < y->te->rank; i++)
        if (i != t->row && i != t->col)
            batch[n_batch++] = kiln_stage_axis(y, i);
    KILN_TRY(kiln_split(y, kiln_stage_axis(y, t->row), t->block_m, &rows, &m, b->err));
    KILN_TRY(kiln_split(y, kiln_stage_axis(y, t->col), t->block_n, &cols, &n, b->err));
    KILN_TRY(kiln_split(y, m, t->block_m / t->warps_m, &b->warp_m, &m, b->err));
    KILN_TRY(kiln_split(y, n, t->block_n / t->warps_n, &b->warp_n, &n, b->err));
    KILN_TRY(kiln_split(y, m, rows_of(t), &m, &half, b->err));
    if (t->by_groups)
        KILN_TRY(kiln_split(y, half, KILN_GPU_MMA_SIDE, &warp, &half, b->err));
    KILN_TRY(kiln_split(y, half, HALF_ROWS, &half, &row, b->err));
    KILN_TRY(kiln_split(y, n, COLUMNS, &n, &quarter, b->err));
    KILN_TRY(kiln_split(y, quarter, NEIGHBOURS, &quarter, &pair, b->err));
    kiln_iter *order[KILN_MAX_AXES + 11];
    size_t k = 0;
    for (size_t i = 0; i < n_batch; i++)
        order[k++] = batch[i];
    kiln_iter *rest[] = {rows,    cols, b->warp_m, b->warp_n, warp, row,
                         quarter, m,    half,      n,         pair};
    for (size_t i = 0; i < sizeof rest / sizeof rest[0]; i++)
        if (rest[i] != NULL)
            order[k++] = rest[i];
    KILN_TRY(kiln_reorder(y, order, k, b->err));
    KILN_TRY(kiln_fuse(y, row, quarter, &thread, b->err));
    if (warp != NULL)
        KILN_TRY(kiln_fuse(y, warp, thread, &thread, b->err));
    KILN_TRY(kiln_bind(y, b->warp_m, "threadIdx.z", b->err));
    KILN_TRY(kiln_bind(y, b->warp_n, "threadIdx.y", b->err));
    KILN_TRY(kiln_bind(y, thread, "threadIdx.x", b->err));
    KILN_TRY(kiln_unroll(y, m, b->err));
    KILN_TRY(kiln_unroll(y, half, b->err));
    KILN_TRY(kiln_unroll(y, n, b->err));
    KILN_TRY(kiln_vectorize(y, pair, b->err));
    return bind_blocks(b, batch, n_batch, rows, cols);
}

/* Rows are so far apart that eight of them lie in different banks. */
static kiln_status copy_for_warps(build *b, const kiln_te *te, int64_t piece,
                                  kiln_iter *at, kiln_stage **copy) {
    KILN_TRY(kiln_cache_read(b->y->schedule, te, KILN_SCOPE_SHARED, &b->acc, 1, copy,
                             b->err));
    KILN_TRY(kiln_compute_at(*copy, b->acc, at, b->err));
    KILN_TRY(kiln_storage_align(*copy, te->rank - 2, (int32_t)(2 * piece),
                                (int32_t)piece, b->err));
    return at->extent > 1 ? kiln_fill_ahead(*copy, b->t->stages - 1, true, b->err)
                          : KILN_OK;
}

/* Rows lie right beneath each other, of 64 terms or in panels of so many columns: code
 * generators swizzle them. */
static kiln_status copy_for_groups(build *b, const kiln_te *te, kiln_iter *at,
                                   kiln_stage **copy) {
    if (te == b->t->operand[0] || b->t->b_along_k)
        KILN_TRY(kiln_cache_read(b->y->schedule, te, KILN_SCOPE_SHARED, &b->acc, 1,
                                 copy, b->err));
    else
        KILN_TRY(kiln_cache_read_panels(b->y->schedule, te, KILN_GPU_GROUP_STEP,
                                        KILN_SCOPE_SHARED, &b->acc, 1, copy, b->err));
    KILN_TRY(kiln_compute_at(*copy, b->acc, at, b->err));
    const int behind = b->t->stages > 3 ? 1 : 0; /* two steps ahead are worth more */
    return at->extent > 1 ? kiln_fill_for_products(*copy, b->t->stages - 1 - behind,
                                                   behind, b->err)
                          : KILN_OK;
}

/* A step of an operand, by all threads of the block, in pieces of neighbours. */
static kiln_status fetch(build *b, const kiln_te *te, kiln_iter *at) {
    const int64_t piece = KILN_GPU_MMA_PIECE / (int64_t)kiln_dtype_bytes(te->dtype[0]);
    kiln_stage *copy;
    kiln_iter *all, *last, *lane, *thread;
    KILN_TRY(b->t->by_groups ? copy_for_groups(b, te, at, &copy)
                             : copy_for_warps(b, te, piece, at, &copy));
    const int rank = copy->te->rank;
    KILN_TRY(
        kiln_split(copy, kiln_stage_axis(copy, rank - 1), piece, &last, &lane, b->err));
    KILN_TRY(kiln_vectorize(copy, lane, b->err));
    if (rank > te->rank) { /* panels: threads go along a row of all of them */
        kiln_iter *const rows_first[] = {kiln_stage_axis(copy, rank - 2),
                                         kiln_stage_axis(copy, rank - 3)};
        KILN_TRY(kiln_reorder(copy, rows_first, 2, b->err));
    }
    KILN_TRY(kiln_gpu_fuse(copy, 0, (size_t)rank, &all, b->err));
    KILN_TRY(kiln_split(copy, all, b->t->by_groups ? GROUP * WARP : WARP, &all, &thread,
                        b->err));
    KILN_TRY(kiln_bind(copy, thread, "threadIdx.x", b->err));
    KILN_TRY(kiln_split(copy, all, b->t->warps_n, &all, &thread, b->err));
    KILN_TRY(kiln_bind(copy, thread, "threadIdx.y", b->err));
    KILN_TRY(kiln_split(copy, all, b->t->warps_m, &all, &thread, b->err));
    KILN_TRY(kiln_bind(copy, thread, "threadIdx.z", b->err));
    return kiln_unroll(copy, all, b->err);
}

static kiln_status shape_sums(build *b) {
    const kiln_gpu_mma *t = b->t;
    kiln_stage *acc = b->acc;
    kiln_iter *step, *term, *k, *m, *i, *n, *j, *panel = NULL;
    const int64_t columns = t->by_groups ? t->block_n / t->warps_n : KILN_GPU_MMA_SIDE;
    KILN_TRY(kiln_split(acc, kiln_stage_reduce(acc, 0), t->step, &step, &term, b->err));
    KILN_TRY(kiln_split(acc, term, t->depth, &term, &k, b->err));
    KILN_TRY(kiln_split(acc, kiln_stage_axis(acc, t->row), rows_of(t), &m, &i, b->err));
    KILN_TRY(kiln_split(acc, kiln_stage_axis(acc, t->col), columns, &n, &j, b->err));
    if (t->by_groups)
        KILN_TRY(kiln_split(acc, j, KILN_GPU_GROUP_STEP, &panel, &j, b->err));
    kiln_iter *order[KILN_MAX_AXES + 8], *rest[] = {step, term, m, n, i, panel, j, k};
    size_t n_order = 0;
    for (int axis = 0; axis < acc->te->rank; axis++)
        if (axis != t->row && axis != t->col)
            order[n_order++] = kiln_stage_axis(acc, axis);
    for (size_t r = 0; r < sizeof rest / sizeof rest[0]; r++)
        if (rest[r] != NULL)
            order[n_order++] = rest[r];
    KILN_TRY(kiln_reorder(acc, order, n_order, b->err));
    KILN_TRY(kiln_unroll(acc, term, b->err));
    KILN_TRY(kiln_unroll(acc, m, b->err));
    KILN_TRY(kiln_unroll(acc, n, b->err));
    const kiln_tensor_intrin *intrin =
        kiln_tensor_intrin_find(kiln_str_from(t->intrin));
    KILN_ASSERT(intrin != NULL, "there is no intrinsic '%s'", t->intrin);
    KILN_TRY(kiln_tensorize(acc, i, intrin, (int)columns, b->err));
    for (int o = 0; o < 2; o++)
        KILN_TRY(fetch(b, t->operand[o], step));
    return KILN_OK;
}

kiln_status kiln_gpu_mma_apply(kiln_stage *y, kiln_stage *acc, const kiln_gpu_mma *t,
                               kiln_err *err) {
    build b = {.t = t, .y = y, .acc = acc, .err = err};
    KILN_ASSERT(acc->te->n_reduce == 1 && y->te->rank == acc->te->rank,
                "'%s' is no product for '%s'", acc->te->name, y->te->name);
    KILN_TRY(shape_output(&b));
    KILN_TRY(kiln_set_scope(acc, KILN_SCOPE_FRAGMENT, err));
    KILN_TRY(kiln_compute_at(acc, y, b.warp_n, err));
    return shape_sums(&b);
}
