/* Loops dealt out to the blocks and threads of a GPU. */
#include "compiler/schedule/template/gpu/gpu.h"

enum { BLOCKS_EACH = 4, THREADS_GUESS = 256, WORK_EACH = 64 };

static bool has_extern(const kiln_te_graph *te) {
    kiln_arena scratch = {0};
    size_t n = 0;
    bool found = false;
    const kiln_te **all =
        kiln_te_topo(&scratch, te->arg + te->n_inputs, te->n_args - te->n_inputs, &n);
    for (size_t i = 0; i < n; i++)
        found = found || all[i]->kind == KILN_TE_EXTERN;
    kiln_arena_fini(&scratch);
    return found;
}

bool kiln_gpu_takes(const kiln_workload *w, const kiln_profile *p) {
    kiln_arena scratch = {0};
    kiln_te_graph te;
    kiln_err err = {0};
    if (p->gpu.block_threads < 1)
        return false;
    for (size_t i = 0; i < w->graph->nodes.n; i++)
        if (w->graph->nodes.v[i]->op->compute == NULL)
            return false;
    const bool takes =
        kiln_graph_compute(&scratch, w->graph, NULL, false, &te, &err) == KILN_OK &&
        te.n_args > te.n_inputs && !has_extern(&te);
    kiln_arena_fini(&scratch);
    return takes;
}

/* ---- spaces ---------------------------------------------------------------------- */

int kiln_gpu_add_threads(kiln_space *s, const char *name, const char *doc,
                         const kiln_profile *p, int64_t least) {
    int64_t value[32] = {1};
    int n = 0;
    for (int64_t t = least; t <= p->gpu.block_threads && n < 32; t *= 2)
        value[n++] = t;
    return kiln_space_add_ints(s, name, doc, value, n > 0 ? n : 1);
}

int64_t kiln_gpu_blocks_wanted(const kiln_profile *p) {
    return BLOCKS_EACH * (int64_t)(p->gpu.processors > 0 ? p->gpu.processors : 1);
}

int64_t kiln_gpu_threads_for(const kiln_profile *p, int64_t n) {
    const int64_t least = p->gpu.warp > 1 ? p->gpu.warp : WORK_EACH;
    int64_t threads = p->gpu.warp > 1 ? THREADS_GUESS : WORK_EACH;
    while (threads > least && n / threads < kiln_gpu_blocks_wanted(p))
        threads /= 2;
    return threads < p->gpu.block_threads ? threads : p->gpu.block_threads;
}

/* ---- loops ----------------------------------------------------------------------- */

kiln_status kiln_gpu_fuse(kiln_stage *st, size_t first, size_t n, kiln_iter **out,
                          kiln_err *err) {
    *out = first < st->leaf.n ? st->leaf.v[first] : NULL;
    for (size_t i = 1; (n == 0 || i < n) && first + 1 < st->leaf.n &&
                       st->leaf.v[first + 1]->kind == KILN_ITER_SPATIAL;
         i++)
        KILN_TRY(kiln_fuse(st, *out, st->leaf.v[first + 1], out, err));
    return KILN_OK;
}

kiln_status kiln_gpu_deal(kiln_stage *st, const kiln_gpu_share *share,
                          kiln_iter **inside, kiln_err *err) {
    kiln_iter *all, *lane, *thread, *block, *each;
    if (st->te->rank == 0) {
        KILN_TRY(kiln_unit_loop(st, &all, err));
        *inside = all;
        return kiln_bind(st, all, "threadIdx.x", err);
    }
    KILN_TRY(kiln_gpu_fuse(st, 0, (size_t)st->te->rank, &all, err));
    if (share->lanes > 1) {
        KILN_TRY(kiln_split(st, all, share->lanes, &all, &lane, err));
        KILN_TRY(kiln_vectorize(st, lane, err));
    }
    KILN_TRY(kiln_split(st, all, share->threads, &all, &thread, err));
    KILN_TRY(kiln_split(st, all, share->each, &block, &each, err));
    KILN_TRY(kiln_reorder(st, (kiln_iter *[]){block, thread, each}, 3, err));
    KILN_TRY(kiln_bind(st, block, "blockIdx.x", err));
    *inside = each;
    return kiln_bind(st, thread, "threadIdx.x", err);
}
