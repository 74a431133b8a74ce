/* Packed weights of a product, fetched before they are multiplied.
 *
 * A network's weights come from memory in every call. Where panels of columns are the
 * outer loop, the first tile of rows would wait for each line of its panel while those
 * behind it find the panel in the L2 cache. So each tile of rows fetches its part of
 * the next panel: memory is read all the time, at the rate that the product takes, and
 * not in bursts. On Zen 5 (one thread, weights from memory) products of 128 rows are 3
 * to 7% faster so, those of 20 to 36 rows 30 to 70%.
 *
 * Where two panels do not fit into the L2 cache, each tile fetches from its own, as far
 * ahead as memory is late. Products of one tile of rows are one stream, which hardware
 * follows by itself: to fetch it as well was 5 to 15% slower. */
#include "compiler/schedule/schedule_internal.h"
#include "compiler/schedule/template/product/product.h"

static int64_t ceil_div(int64_t x, int64_t y) { return x / y + (x % y != 0); }

static int64_t bytes_of_b(const kiln_product *x) {
    return (int64_t)kiln_dtype_bytes(kiln_product_source_of_b(x)->type.dtype);
}

bool kiln_product_streams_b(const kiln_product *x) {
    return x->is_const_b && x->k * x->n * bytes_of_b(x) > kiln_cache_l2(x->profile) / 2;
}

static int64_t line_of(const kiln_product *x) {
    return kiln_line_bytes(x->profile) / bytes_of_b(x);
}

/* The next panel, by as many tiles of rows as there are: of each every step fetches
 * `each` lines, or several steps the same line. Tiles behind those that are needed begin
 * again. */
static kiln_status fetch_next(const kiln_product *x, kiln_stage *st, const kiln_te *b,
                              kiln_iter *rows, kiln_iter *k, int64_t tile_n,
                              kiln_err *err) {
    const int64_t line = line_of(x), panel = x->k * tile_n;
    const int64_t lines = ceil_div(panel, line);
    const int64_t each = ceil_div(lines, rows->extent * k->extent);
    int64_t step = each * line;
    while (step % 2 == 0 && rows->extent * k->extent * (step / 2) >= panel)
        step /= 2;
    for (int64_t i = 0; i < each; i++) {
        const kiln_ahead ahead = {.elems = panel + i * line,
                                  .step_elems = step,
                                  .around = rows,
                                  .around_wraps = ceil_div(panel, k->extent * step),
                                  .around_elems = k->extent * step};
        KILN_TRY(kiln_prefetch(st, b, k, &ahead, err));
    }
    return KILN_OK;
}

/* The own panel: as many bytes ahead as come while one load waits (Little's law). */
static kiln_status fetch_own(const kiln_product *x, kiln_stage *st, const kiln_te *b,
                             kiln_iter *k, int64_t tile_n, kiln_err *err) {
    const int64_t line = line_of(x);
    const int64_t step = ceil_div(x->k, k->extent) * tile_n; /* elements */
    const int64_t ahead = kiln_fetch_bytes(x->profile) / bytes_of_b(x);
    for (int64_t i = 0; i < ceil_div(step, line); i++) {
        const kiln_ahead a = {.iterations = ceil_div(ahead, step), .elems = i * line};
        KILN_TRY(kiln_prefetch(st, b, k, &a, err));
    }
    return KILN_OK;
}

kiln_status kiln_product_fetch(const kiln_product *x, kiln_stage *st, const kiln_te *b,
                               kiln_iter *rows, kiln_iter *k, int64_t tile_n,
                               kiln_err *err) {
    const int64_t panel = x->k * tile_n * bytes_of_b(x);
    const bool is_far = kiln_product_streams_b(x) && x->n > tile_n &&
                        kiln_line_bytes(x->profile) % bytes_of_b(x) == 0;
    if (!is_far || rows->extent < 2 || !kiln_te_reads(st->te, b))
        return KILN_OK;
    return panel <= kiln_cache_l2(x->profile) / 2
               ? fetch_next(x, st, b, rows, k, tile_n, err)
               : fetch_own(x, st, b, k, tile_n, err);
}
