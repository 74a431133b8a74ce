/* Contractions: blocks, threads, register tiles, and steps through shared memory.
 *
 *   y   blocks..., virtual..., thread, tile...
 *   acc at the thread: steps..., [fetched], terms of a step..., tile...
 *
 * Where threads share one sum, each has every so manieth group of terms, and parts meet in
 * shared memory:
 *
 *   y    blocks..., thread, each
 *   acc  at each: parts
 *   part at the last of the blocks, shared: thread, tile...
 *   sum  at the thread: steps..., [fetched], terms of a step..., tile...
 *
 * Where blocks share one sum, parts meet in global memory, and a second launch adds them:
 *
 *   part    as y above, with one more axis of blocks; its sum as acc
 *   y       blocks, thread
 *   acc     at the thread: parts */
#include "compiler/schedule/template/gpu/gpu_tiles.h"

#include <inttypes.h>

enum { MAX_GRID_YZ = 65535, BANKS = 32, N_WORDS = 3 };

static const char thread_word[] = "threadIdx.x";
static const char *const block_words[N_WORDS] = {"blockIdx.x", "blockIdx.y",
                                                 "blockIdx.z"};

typedef struct build {
    const kiln_gpu_tiles *t;
    kiln_stage *y, *acc;
    kiln_iter *block[KILN_MAX_AXES + KILN_GPU_AXES], *thread[KILN_GPU_AXES];
    int n_blocks;
    int64_t n_threads;
    kiln_err *err;
} build;

int64_t kiln_gpu_tiles_threads(const kiln_gpu_tiles *t) {
    int64_t n = t->parts > 1 ? t->parts : 1;
    for (int i = 0; i < t->n; i++)
        n *= t->axis[i].threads;
    return n;
}

int64_t kiln_gpu_tiles_sums(const kiln_gpu_tiles *t) {
    int64_t n = 1;
    for (int i = 0; i < t->n; i++)
        n *= t->axis[i].tile * t->axis[i].virtual;
    return n;
}

kiln_status kiln_gpu_tiles_check(const kiln_gpu_tiles *t, const kiln_profile *p,
                                 int64_t shared, int64_t operands, int64_t sum_bytes,
                                 kiln_err *err) {
    enum { FOR_INDEXES = 16 };
    const int64_t threads = kiln_gpu_tiles_threads(t);
    const int64_t all =
        shared * (t->double_buffer ? 2 : 1) +
        (t->parts > 1 ? threads * kiln_gpu_tiles_sums(t) * sum_bytes : 0);
    const int64_t words = (sum_bytes + 3) / 4;
    const int64_t registers = (kiln_gpu_tiles_sums(t) + operands) * words + FOR_INDEXES;
    if (threads > p->gpu.block_threads)
        return kiln_fail(err, KILN_ERR_ARG,
                         "a block of %" PRId64 " threads, '%s' has at most %d", threads,
                         p->name, p->gpu.block_threads);
    if (all > p->gpu.shared_bytes)
        return kiln_fail(err, KILN_ERR_ARG,
                         "a step takes %" PRId64 " bytes of shared memory, a block of "
                         "'%s' has %" PRId64,
                         all, p->name, p->gpu.shared_bytes);
    if (registers > p->gpu.registers)
        return kiln_fail(err, KILN_ERR_ARG,
                         "a thread's tiles take %" PRId64 " registers, '%s' has %d",
                         registers, p->name, p->gpu.registers);
    if (threads * registers > p->gpu.processor_registers &&
        p->gpu.processor_registers > 0)
        return kiln_fail(err, KILN_ERR_ARG,
                         "a block's tiles take %" PRId64 " registers, a processor of "
                         "'%s' has %d",
                         threads * registers, p->name, p->gpu.processor_registers);
    return KILN_OK;
}

/* ---- the output ------------------------------------------------------------------ */

static const kiln_gpu_axis *axis_of(const kiln_gpu_tiles *t, int axis) {
    for (int i = 0; i < t->n; i++)
        if (t->axis[i].axis == axis)
            return &t->axis[i];
    return NULL;
}

/* Blocks along the last axes are x and y, all others z; where one of these two would be
 * too long, all are x. */
static kiln_status bind_blocks(build *b) {
    int64_t y = 1, z = 1;
    for (int i = 0; i + 1 < b->n_blocks; i++)
        if (i + 2 == b->n_blocks)
            y = b->block[i]->extent;
        else
            z *= b->block[i]->extent;
    const int keep = y > MAX_GRID_YZ || z > MAX_GRID_YZ ? 1 : N_WORDS;
    while (b->n_blocks > keep) {
        KILN_TRY(kiln_fuse(b->y, b->block[0], b->block[1], &b->block[0], b->err));
        b->n_blocks--;
        for (int i = 1; i < b->n_blocks; i++)
            b->block[i] = b->block[i + 1];
    }
    for (int i = 0; i < b->n_blocks; i++)
        KILN_TRY(
            kiln_bind(b->y, b->block[b->n_blocks - 1 - i], block_words[i], b->err));
    return KILN_OK;
}

/* Blocks along all axes, in b->block; what one has of axis i of t: inside[i]. */
static kiln_status cut_blocks(build *b, kiln_iter **inside) {
    const kiln_gpu_tiles *t = b->t;
    for (int i = 0; i < b->y->te->rank; i++)
        if (axis_of(t, i) == NULL)
            b->block[b->n_blocks++] = kiln_stage_axis(b->y, i);
    for (int i = 0; i < t->n; i++) {
        const kiln_gpu_axis *x = &t->axis[i];
        kiln_iter *of = kiln_stage_axis(b->y, x->axis);
        if (x->within > 0 && x->within < of->extent)
            KILN_TRY(
                kiln_split(b->y, of, x->within, &b->block[b->n_blocks++], &of, b->err));
        KILN_TRY(kiln_split(b->y, of, x->virtual * x->threads * x->tile,
                            &b->block[b->n_blocks++], &inside[i], b->err));
    }
    return KILN_OK;
}

/* All threads in one row: the last axis of t varies fastest. b->thread[t->n - 1] is that
 * row's loop. */
static kiln_status bind_threads(build *b, kiln_stage *st) {
    kiln_iter *all = b->thread[0];
    for (int i = 1; i < b->t->n; i++)
        KILN_TRY(kiln_fuse(st, all, b->thread[i], &all, b->err));
    b->thread[b->t->n - 1] = all;
    b->n_threads = kiln_gpu_tiles_threads(b->t);
    return kiln_bind(st, all, thread_word, b->err);
}

static kiln_status shape_output(build *b) {
    const kiln_gpu_tiles *t = b->t;
    kiln_iter *order[4 * KILN_MAX_AXES], *each[KILN_GPU_AXES], *group[KILN_GPU_AXES];
    size_t n = 0;
    KILN_TRY(cut_blocks(b, each));
    for (int i = 0; i < t->n; i++) {
        const kiln_gpu_axis *x = &t->axis[i];
        KILN_TRY(kiln_split(b->y, each[i], x->threads * x->tile, &group[i], &each[i],
                            b->err));
        KILN_TRY(kiln_split(b->y, each[i], x->tile, &b->thread[i], &each[i], b->err));
    }
    for (int i = 0; i < b->n_blocks; i++)
        order[n++] = b->block[i];
    for (int i = 0; i < t->n; i++)
        order[n++] = group[i];
    for (int i = 0; i < t->n; i++)
        order[n++] = b->thread[i];
    for (int i = 0; i < t->n; i++)
        order[n++] = each[i];
    KILN_TRY(kiln_reorder(b->y, order, n, b->err));
    for (int i = 0; i < t->n; i++) {
        if (t->axis[i].virtual > 1)
            KILN_TRY(kiln_vthread(b->y, group[i], b->err));
    }
    KILN_TRY(bind_threads(b, b->y));
    const kiln_gpu_axis *last = &t->axis[t->n - 1];
    const bool is_whole = kiln_te_dim(b->y->te, last->axis) % last->tile == 0 &&
                          (last->within == 0 || last->within % last->tile == 0);
    for (int i = 0; i + 1 < t->n; i++)
        KILN_TRY(kiln_unroll(b->y, each[i], b->err));
    if (t->lanes > 1 && is_whole && each[t->n - 1]->extent % t->lanes == 0) {
        kiln_iter *outer, *lane;
        KILN_TRY(kiln_split(b->y, each[t->n - 1], t->lanes, &outer, &lane, b->err));
        KILN_TRY(kiln_unroll(b->y, outer, b->err));
        KILN_TRY(kiln_vectorize(b->y, lane, b->err));
    } else {
        KILN_TRY(kiln_unroll(b->y, each[t->n - 1], b->err));
    }
    return bind_blocks(b);
}

/* What a block has of the output, element by element to its threads, or as many of them
 * as leave nothing over; `each` computes one. */
static kiln_status deal_output(build *b, kiln_iter **each) {
    kiln_iter *order[4 * KILN_MAX_AXES], *inside[KILN_GPU_AXES], *all, *thread;
    const kiln_gpu_tiles *t = b->t;
    int64_t threads = kiln_gpu_tiles_threads(t), elems = 1;
    size_t n = 0;
    for (int i = 0; i < t->n; i++)
        elems *= t->axis[i].threads * t->axis[i].tile * t->axis[i].virtual;
    while (elems % threads != 0)
        threads--;
    KILN_TRY(cut_blocks(b, inside));
    for (int i = 0; i < b->n_blocks; i++)
        order[n++] = b->block[i];
    for (int i = 0; i < t->n; i++)
        order[n++] = inside[i];
    KILN_TRY(kiln_reorder(b->y, order, n, b->err));
    KILN_TRY(kiln_gpu_fuse(b->y, (size_t)b->n_blocks, (size_t)t->n, &all, b->err));
    KILN_TRY(kiln_split(b->y, all, threads, each, &thread, b->err));
    KILN_TRY(kiln_reorder(b->y, (kiln_iter *[]){thread, *each}, 2, b->err));
    KILN_TRY(kiln_bind(b->y, thread, thread_word, b->err));
    return bind_blocks(b);
}

/* Tiles of a stage that is computed in a block, by threads in one row: the first axis of
 * t varies slowest. */
static kiln_status shape_part(build *b, kiln_stage *part) {
    const kiln_gpu_tiles *t = b->t;
    kiln_iter *order[4 * KILN_MAX_AXES], *each[KILN_GPU_AXES];
    size_t n = 0;
    for (int i = 0; i < part->te->rank; i++)
        if (axis_of(t, i) == NULL)
            order[n++] = kiln_stage_axis(part, i);
    for (int i = 0; i < t->n; i++)
        KILN_TRY(kiln_split(part, kiln_stage_axis(part, t->axis[i].axis),
                            t->axis[i].tile, &b->thread[i], &each[i], b->err));
    for (int i = 0; i < t->n; i++)
        order[n++] = b->thread[i];
    for (int i = 0; i < t->n; i++)
        order[n++] = each[i];
    KILN_TRY(kiln_reorder(part, order, n, b->err));
    KILN_TRY(bind_threads(b, part));
    if (t->lanes > 1) {
        kiln_iter *lane;
        KILN_TRY(
            kiln_split(part, each[t->n - 1], t->lanes, &each[t->n - 1], &lane, b->err));
        KILN_TRY(kiln_vectorize(part, lane, b->err));
    }
    for (int i = 0; i < t->n; i++)
        KILN_TRY(kiln_unroll(part, each[i], b->err));
    return KILN_OK;
}

/* ---- sums ------------------------------------------------------------------------ */

/* A copy of what the sums read in a step, by all threads of the block. */
static kiln_status fetch(build *b, const kiln_gpu_fetched *f, kiln_iter *at) {
    kiln_stage *copy;
    KILN_TRY(kiln_cache_read(b->y->schedule, f->te,
                             f->is_own ? KILN_SCOPE_LOCAL : KILN_SCOPE_SHARED, &b->acc,
                             1, &copy, b->err));
    KILN_TRY(kiln_compute_at(copy, b->acc, at, b->err));
    for (int i = 0; f->is_own && i < copy->te->rank; i++)
        KILN_TRY(kiln_unroll(copy, kiln_stage_axis(copy, i), b->err));
    if (f->is_own)
        return KILN_OK;
    if (f->pad_axis >= 0)
        KILN_TRY(kiln_storage_align(
            copy, f->pad_axis, f->modulo > 0 ? f->modulo : BANKS,
            f->stride % (f->modulo > 0 ? f->modulo : BANKS), b->err));
    if (b->t->double_buffer)
        KILN_TRY(b->t->is_async ? kiln_fill_ahead(copy, 1, true, b->err)
                                : kiln_double_buffer(copy, b->err));
    return kiln_gpu_fetch(copy, f, b->n_threads, b->err);
}

/* Innermost first, as many whole loops as make no body that is too long; of the next one
 * an equal part: loads of neighbouring terms become vectors. */
static kiln_status unroll_terms(build *b, kiln_iter *const *term) {
    int64_t body = kiln_gpu_tiles_sums(b->t);
    for (int i = b->acc->te->n_reduce; i-- > 0;) {
        const int64_t extent = term[i]->extent > 0 ? term[i]->extent : 1;
        int64_t part = extent;
        kiln_iter *outer, *inner = term[i];
        while (part > 1 && (extent % part != 0 || body * part > b->t->max_unroll))
            part--;
        if (part > 1 && part < extent)
            KILN_TRY(kiln_split(b->acc, term[i], part, &outer, &inner, b->err));
        if (part > 1 || extent == 1)
            KILN_TRY(kiln_unroll(b->acc, inner, b->err));
        if (part < extent)
            return KILN_OK;
        body *= extent;
    }
    return KILN_OK;
}

static kiln_status shape_sums(build *b) {
    const kiln_gpu_tiles *t = b->t;
    kiln_stage *acc = b->acc;
    kiln_iter *order[4 * KILN_MAX_AXES], *step[KILN_MAX_AXES], *term[KILN_MAX_AXES];
    const int n_reduce = acc->te->n_reduce;
    size_t n = 0;
    for (int i = 0; i < n_reduce; i++)
        KILN_TRY(kiln_split(acc, kiln_stage_reduce(acc, i), t->step[i], &step[i],
                            &term[i], b->err));
    for (int i = 0; i < acc->te->rank; i++)
        if (axis_of(t, i) == NULL)
            order[n++] = kiln_stage_axis(acc, i);
    for (int i = 0; i < n_reduce; i++)
        order[n++] = step[i];
    for (int i = 0; i < n_reduce; i++)
        order[n++] = term[i];
    for (int i = 0; i < t->n; i++)
        order[n++] = kiln_stage_axis(acc, t->axis[i].axis);
    KILN_TRY(kiln_reorder(acc, order, n, b->err));
    KILN_TRY(unroll_terms(b, term));
    for (int i = 0; i + 1 < t->n; i++)
        KILN_TRY(kiln_unroll(acc, kiln_stage_axis(acc, t->axis[i].axis), b->err));
    kiln_iter *last = kiln_stage_axis(acc, t->axis[t->n - 1].axis), *lane;
    if (t->lanes > 1) {
        KILN_TRY(kiln_split(acc, last, t->lanes, &last, &lane, b->err));
        KILN_TRY(kiln_vectorize(acc, lane, b->err));
    }
    KILN_TRY(kiln_unroll(acc, last, b->err));
    for (int i = 0; i < t->n_fetched; i++)
        KILN_TRY(fetch(b, &t->fetched[i], step[n_reduce - 1]));
    return KILN_OK;
}

static int64_t least(int64_t x, int64_t y) { return x < y ? x : y; }

/* Of short axes no more than they have: all threads of a block come to what it fetches,
 * so there must be as many as that is dealt out to. */
static kiln_gpu_tiles cut_to(const kiln_gpu_tiles *t, const kiln_te *y) {
    kiln_gpu_tiles out = *t;
    for (int i = 0; i < t->n; i++) {
        kiln_gpu_axis *x = &out.axis[i];
        int64_t dim = kiln_te_dim(y, x->axis) > 0 ? kiln_te_dim(y, x->axis) : 1;
        if (x->within > 0)
            dim = least(dim, x->within);
        x->tile = least(x->tile, dim);
        x->threads = least(x->threads, kiln_ceil_div(dim, x->tile));
        x->virtual = least(x->virtual, kiln_ceil_div(dim, x->threads * x->tile));
    }
    if (t->n > 0 && out.axis[t->n - 1].tile % t->lanes != 0)
        out.lanes = 1;
    return out;
}

/* Each thread sums the terms of every so manieth group; what it has is an axis more, the
 * first, which acc sums over. */
static kiln_status apply_parts(build *b) {
    const kiln_gpu_tiles *t = b->t;
    kiln_gpu_tiles own = *t;
    kiln_iter *group, *part_of, *term, *each;
    kiln_stage *part, *sum;
    KILN_TRY(kiln_split(b->acc, kiln_stage_reduce(b->acc, 0), t->step[0] * t->parts,
                        &group, &term, b->err));
    KILN_TRY(kiln_split(b->acc, term, t->step[0], &part_of, &term, b->err));
    KILN_TRY(kiln_rfactor_axis(b->acc, part_of, 0, &part, b->err));
    KILN_TRY(kiln_cache_write(part, KILN_SCOPE_LOCAL, &sum, b->err));
    KILN_TRY(deal_output(b, &each));
    KILN_TRY(kiln_set_scope(b->acc, KILN_SCOPE_LOCAL, b->err));
    KILN_TRY(kiln_compute_at(b->acc, b->y, each, b->err));
    KILN_TRY(kiln_unroll(b->acc, kiln_stage_reduce(b->acc, 0), b->err));
    KILN_TRY(kiln_set_scope(part, KILN_SCOPE_SHARED, b->err));
    KILN_TRY(kiln_compute_at(part, b->y, b->block[b->n_blocks - 1], b->err));
    own.axis[0] = (kiln_gpu_axis){0, t->parts, 1, 1, 0};
    for (int i = 0; i < t->n; i++) {
        own.axis[i + 1] = t->axis[i];
        own.axis[i + 1].axis++;
    }
    own.n = t->n + 1;
    own.parts = 1;
    own.step[0] = 1;
    for (int i = 0; i + 1 < sum->te->n_reduce; i++)
        own.step[i + 1] = t->step[i];
    build inner = {.t = &own, .y = b->y, .acc = sum, .err = b->err};
    KILN_TRY(shape_part(&inner, part));
    KILN_TRY(kiln_set_scope(sum, KILN_SCOPE_LOCAL, b->err));
    KILN_TRY(kiln_compute_at(sum, part, inner.thread[own.n - 1], b->err));
    return shape_sums(&inner);
}

/* Each block sums a piece of the terms; what it has is an axis more, the first, in global
 * memory, and acc sums over that in a launch of its own. */
static kiln_status apply_splits(build *b) {
    const kiln_gpu_tiles *t = b->t;
    const kiln_gpu_share share = {.threads = t->threads_after, .each = 1, .lanes = 1};
    kiln_iter *terms = kiln_stage_reduce(b->acc, 0), *piece, *each;
    kiln_stage *part, *sum;
    kiln_gpu_tiles own = *t;
    KILN_TRY(kiln_split(b->acc, terms, kiln_ceil_div(terms->extent, t->splits), &piece,
                        &terms, b->err));
    KILN_TRY(kiln_rfactor_axis(b->acc, piece, 0, &part, b->err));
    KILN_TRY(kiln_cache_write(part, KILN_SCOPE_LOCAL, &sum, b->err));
    KILN_TRY(kiln_gpu_deal(b->y, &share, &each, b->err));
    KILN_TRY(kiln_set_scope(b->acc, KILN_SCOPE_LOCAL, b->err));
    KILN_TRY(kiln_compute_at(b->acc, b->y, each, b->err));
    KILN_TRY(kiln_unroll(b->acc, kiln_stage_reduce(b->acc, 0), b->err));
    for (int i = 0; i < t->n; i++)
        own.axis[i].axis++;
    own.splits = 1;
    return kiln_gpu_tiles_apply(part, sum, &own, b->err);
}

kiln_status kiln_gpu_tiles_apply(kiln_stage *y, kiln_stage *acc,
                                 const kiln_gpu_tiles *t, kiln_err *err) {
    const kiln_gpu_tiles cut = cut_to(t, y->te);
    build b = {.t = &cut, .y = y, .acc = acc, .err = err};
    KILN_ASSERT(t->n > 0 && acc->te->n_reduce > 0 && y->te->rank == acc->te->rank,
                "'%s' is no contraction for '%s'", acc->te->name, y->te->name);
    if (cut.splits > 1)
        return apply_splits(&b);
    if (cut.parts > 1)
        return apply_parts(&b);
    KILN_TRY(shape_output(&b));
    KILN_TRY(kiln_set_scope(acc, KILN_SCOPE_LOCAL, err));
    KILN_TRY(kiln_compute_at(acc, y, b.thread[t->n - 1], err));
    return shape_sums(&b);
}

kiln_status kiln_gpu_tiles_map(kiln_stage *y, const kiln_gpu_tiles *t,
                               kiln_iter **thread, kiln_err *err) {
    const kiln_gpu_tiles cut = cut_to(t, y->te);
    build b = {.t = &cut, .y = y, .err = err};
    KILN_ASSERT(t->n > 0 && t->n < KILN_GPU_AXES, "%d axes", t->n);
    KILN_TRY(shape_output(&b));
    *thread = b.thread[t->n - 1];
    return KILN_OK;
}
