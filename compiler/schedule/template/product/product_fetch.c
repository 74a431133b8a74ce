/* Packed weights of a product, fetched before they are multiplied.
 *
 * A network's weights come from memory in every call. Where panels of columns are the
 * outer loop, the first tile of rows would wait for each line of its panel while those
 * behind it find the panel in the L2 cache. So each tile of rows fetches its part of
 * the next panel: memory is read all the time, at the rate that the product takes, and
 * not in bursts. On Zen 5 (one thread, weights from memory) products of 128 rows are 3
 * to 7% faster so, those of 20 to 36 rows 30 to 70%.
 *
 * Where terms are cut, a panel's next is the same cut of the panel behind it. Loops over
 * rows and columns may be one loop that threads share: each fetches for the tiles that
 * are behind its own.
 *
 * Where two panels do not fit into the L2 cache, each tile fetches from its own, as far
 * ahead as memory is late. Products of one tile of rows are one stream, which hardware
 * follows by itself: to fetch it as well was 5 to 15% slower. */
#include "compiler/schedule/schedule_internal.h"
#include "compiler/schedule/template/product/product.h"

static int64_t bytes_of_b(const kiln_product *x) {
    return (int64_t)kiln_dtype_bytes(kiln_product_source_of_b(x)->type.dtype);
}

bool kiln_product_streams_b(const kiln_product *x) {
    return x->is_const_b && x->k * x->n * bytes_of_b(x) > kiln_cache_l2(x->profile) / 2;
}

static int64_t line_of(const kiln_product *x) {
    return kiln_line_bytes(x->profile) / bytes_of_b(x);
}

/* What the tiles behind these read of b, by as many tiles of rows as there are: of each
 * every step fetches `each` lines, or several steps the same line. Tiles behind those
 * that are needed begin again. In a loop that was fused with those around it, any
 * n_rows iterations one after another fetch all. */
static kiln_status fetch_next(const kiln_product *x, kiln_stage *st, const kiln_te *b,
                              const kiln_product_walk *walk, kiln_err *err) {
    const int64_t steps = walk->n_rows * walk->k->extent;
    const int64_t line = line_of(x), part = walk->terms * walk->tile_n;
    const int64_t each = kiln_ceil_div(kiln_ceil_div(part, line), steps);
    int64_t step = each * line;
    while (step % 2 == 0 && steps * (step / 2) >= part)
        step /= 2;
    const int64_t tile = walk->k->extent * step;
    for (int64_t i = 0; i < each; i++) {
        const kiln_ahead ahead = {.elems = walk->next + i * line,
                                  .step_elems = step,
                                  .around = walk->rows,
                                  .around_wraps = kiln_ceil_div(part, tile),
                                  .around_elems = tile,
                                  .last = walk->cols,
                                  .last_elems = walk->last_next - walk->next};
        KILN_TRY(kiln_prefetch(st, b, walk->k, &ahead, err));
    }
    return KILN_OK;
}

/* The own panel: as many bytes ahead as come while one load waits (Little's law). */
static kiln_status fetch_own(const kiln_product *x, kiln_stage *st, const kiln_te *b,
                             const kiln_product_walk *walk, kiln_err *err) {
    kiln_iter *k = walk->k;
    const int64_t line = line_of(x);
    const int64_t step =
        kiln_ceil_div(walk->terms, k->extent) * walk->tile_n; /* elements */
    const int64_t ahead = kiln_fetch_bytes(x->profile) / bytes_of_b(x);
    for (int64_t i = 0; i < kiln_ceil_div(step, line); i++) {
        const kiln_ahead a = {.iterations = kiln_ceil_div(ahead, step),
                              .elems = i * line};
        KILN_TRY(kiln_prefetch(st, b, k, &a, err));
    }
    return KILN_OK;
}

kiln_status kiln_product_fetch(const kiln_product *x, kiln_stage *st, const kiln_te *b,
                               const kiln_product_walk *walk, kiln_err *err) {
    const int64_t part = walk->terms * walk->tile_n * bytes_of_b(x);
    const bool is_far = kiln_product_streams_b(x) && x->n > walk->tile_n &&
                        kiln_line_bytes(x->profile) % bytes_of_b(x) == 0;
    if (!is_far || walk->n_rows < 2 || !kiln_te_reads(st->te, b))
        return KILN_OK;
    return part <= kiln_cache_l2(x->profile) / 2 ? fetch_next(x, st, b, walk, err)
                                                 : fetch_own(x, st, b, walk, err);
}
