/* Copies by all threads of a block. Where elements of a plane are fewer than the threads,
 * each has one place of it in every so manieth plane: from one copy to the next its
 * addresses move by a constant, and what is padded stays so. */
#include "compiler/schedule/template/gpu/gpu_tiles.h"

enum { MAX_UNROLLED = 16, MAX_CHUNKS = 4 };

/* The loop over all of the plane's elements, or vectors; the axis of planes is left
 * outside it. */
static kiln_status fuse_plane(kiln_stage *copy, const kiln_gpu_fetched *f,
                              kiln_iter **all, kiln_iter **lane, kiln_err *err) {
    kiln_iter *order[KILN_MAX_AXES];
    size_t n = 0;
    const bool has_planes = f->plane_axis >= 0;
    if (has_planes)
        order[n++] = kiln_stage_axis(copy, f->plane_axis);
    for (int i = 0; i < copy->te->rank; i++)
        if (i != f->plane_axis)
            order[n++] = kiln_stage_axis(copy, i);
    *lane = NULL;
    if (f->lanes > 1) {
        KILN_TRY(kiln_split(copy, order[n - 1], f->lanes, &order[n - 1], lane, err));
        KILN_TRY(kiln_vectorize(copy, *lane, err));
        order[n++] = *lane;
    }
    KILN_TRY(kiln_reorder(copy, order, n, err));
    return kiln_gpu_fuse(copy, has_planes, n - has_planes - (*lane != NULL), all, err);
}

kiln_status kiln_gpu_fetch(kiln_stage *copy, const kiln_gpu_fetched *f, int64_t threads,
                           kiln_err *err) {
    kiln_iter *all, *lane, *thread, *chunk, *outer, *inner;
    KILN_TRY(fuse_plane(copy, f, &all, &lane, err));
    if (f->plane_axis < 0 || copy->te->rank < 2) {
        KILN_TRY(kiln_split(copy, all, threads, &all, &thread, err));
        return kiln_bind(copy, thread, "threadIdx.x", err);
    }
    kiln_iter *plane = kiln_stage_axis(copy, f->plane_axis);
    const int64_t elems = kiln_ceil_div(f->plane, f->lanes > 1 ? f->lanes : 1);
    const int64_t chunks = kiln_ceil_div(elems, threads);
    int64_t planes = threads / elems;
    while (planes > 1 && f->planes % planes != 0)
        planes--;
    if (planes > 1) {
        KILN_TRY(kiln_split(copy, plane, planes, &outer, &inner, err));
        KILN_TRY(kiln_split(copy, all, elems, &chunk, &thread, err));
        KILN_TRY(
            kiln_reorder(copy, (kiln_iter *[]){chunk, inner, thread, outer}, 4, err));
        KILN_TRY(kiln_fuse(copy, inner, thread, &thread, err));
    } else {
        KILN_TRY(
            kiln_split(copy, all, kiln_ceil_div(elems, chunks), &chunk, &thread, err));
        KILN_TRY(kiln_reorder(copy, (kiln_iter *[]){chunk, thread, plane}, 3, err));
        outer = plane;
    }
    KILN_TRY(kiln_bind(copy, thread, "threadIdx.x", err));
    if (chunks <= MAX_CHUNKS)
        KILN_TRY(kiln_unroll(copy, chunk, err));
    return f->planes / (planes > 1 ? planes : 1) <= MAX_UNROLLED
               ? kiln_unroll(copy, outer, err)
               : KILN_OK;
}
