/* The knobs of conv_winograd, and what they say. */
#include "compiler/schedule/template/conv/conv_winograd.h"

#include "compiler/schedule/template/blocked.h"
#include "compiler/schedule/template/tiles.h"

static const int64_t sizes[] = {KILN_WINOGRAD_LEAST_SIZE, 3, 4};
enum { N_SIZES = sizeof sizes / sizeof sizes[0] };
static const char *const transform_words[] = {"chunk", "ahead"};
static const char *const fetch_words[] = {"off", "on"};
/* The knob's options: registers bound what fits, these how many there are to try. */
enum { MAX_TILE_ROWS = 4, MAX_TILE_OC = 8, MAX_TILES = 1024 };

/* Of both axes; 0: each has its own. */
static int64_t stride_of(const kiln_workload *w) {
    const kiln_attr *strides = kiln_node_attr(w->anchor, "strides");
    const int64_t rows = kiln_attr_at(strides, 0, 1);
    return rows == kiln_attr_at(strides, 1, 1) ? rows : 0;
}

/* ---- space ----------------------------------------------------------------------- */

static void add_blocks(const kiln_conv_problem *p, kiln_space *s) {
    int64_t value[8];
    int n = 0;
    for (int64_t b = p->lanes / 2; b <= p->lanes; b *= 2)
        value[n++] = b;
    kiln_space_add_ints(s, "oc_block", "output channels of one vector", value, n);
    n = 0;
    for (int64_t b = p->lanes / 2; b <= 2 * p->lanes; b *= 2)
        if (n == 0 || b < 2 * p->c)
            value[n++] = b;
    kiln_space_add_ints(s, "ic_block", "input channels next to each other", value, n);
}

/* Along an axis, the most there can be. */
static int64_t smallest_tiles(const kiln_conv_problem *p, int axis) {
    kiln_winograd_pair by;
    const bool is_one = kiln_winograd_of_work(p->w, KILN_WINOGRAD_LEAST_SIZE, &by);
    KILN_ASSERT(is_one, "'%s' has no smallest tiles", p->w->graph->name);
    return kiln_winograd_tiles(p, &by, axis);
}

static void add_tiles(const kiln_conv_problem *p, kiln_space *s) {
    const int64_t rows = smallest_tiles(p, 0), columns = smallest_tiles(p, 1);
    const int64_t registers = p->profile->vector_registers;
    int64_t value[3 * MAX_TILES];
    int n = 0;
    for (int64_t i = 1; i <= kiln_conv_min(rows, MAX_TILE_ROWS); i++)
        for (int64_t j = 1; j <= kiln_conv_min(columns, registers); j++)
            for (int64_t k = 1; k <= kiln_conv_min(p->blocks, MAX_TILE_OC); k++)
                if (kiln_tile_registers(i * j, k) + (k > 1 ? 1 : 0) <= registers &&
                    n < MAX_TILES) {
                    int64_t *tile = value + (ptrdiff_t)3 * n++;
                    tile[0] = i;
                    tile[1] = j;
                    tile[2] = k;
                }
    kiln_space_add_tuples(s, "tile", "rows and columns of tiles, channel blocks", value,
                          n, 3);
}

/* Can all weights of the larger tiles be more than half of the L2 cache holds? */
static bool is_large(const kiln_conv_problem *p) {
    const int64_t terms = kiln_ceil_div(p->c, 2 * p->lanes) * 2 * p->lanes;
    kiln_winograd_pair by;
    int64_t most = 0;
    for (int i = 0; i < N_SIZES; i++)
        if (kiln_winograd_of_work(p->w, sizes[i], &by))
            most = kiln_winograd_positions(&by);
    return most * terms * p->blocks * p->lanes * p->elem_bytes >
           kiln_cache_l2(p->profile) / 2;
}

kiln_status kiln_winograd_space(const kiln_workload *w, const kiln_profile *profile,
                                kiln_space *out, kiln_err *err) {
    static const int64_t unroll[] = {1, 2, 4, 8};
    const kiln_conv_problem p = kiln_conv_problem_of(w, profile);
    kiln_winograd_pair by;
    int64_t size[N_SIZES];
    int n = 0;
    (void)err;
    for (int i = 0; i < N_SIZES; i++)
        if (kiln_winograd_of_work(w, sizes[i], &by))
            size[n++] = sizes[i];
    kiln_space_add_ints(out, "size", "outputs along an axis of one tile: F(size, taps)",
                        size, n);
    add_blocks(&p, out);
    add_tiles(&p, out);
    kiln_space_add_parts(out, "oc_chunk", "channel blocks multiplied at once",
                         p.blocks);
    kiln_space_add_parts(out, "row_chunk", "rows of tiles of one parallel part",
                         smallest_tiles(&p, 0));
    kiln_space_add_words(out, "transform", "when x is transformed", transform_words, 2);
    kiln_space_add_ints(out, "unroll", "steps of the sums in one body, at most", unroll,
                        4);
    const int fetch =
        kiln_space_add_words(out, "fetch", "is the next panel of weights fetched ahead",
                             fetch_words, is_large(&p) ? 2 : 1);
    kiln_space_is_later(out, fetch);
    return KILN_OK;
}

kiln_winograd_plan kiln_winograd_plan_of(const kiln_workload *w, const kiln_space *s,
                                         const kiln_config *c) {
    const int64_t size = kiln_config_int(s, c, KILN_WINOGRAD_SIZE, 0);
    kiln_winograd_plan x = {
        .oc_block = kiln_config_int(s, c, KILN_WINOGRAD_OC_BLOCK, 0),
        .ic_block = kiln_config_int(s, c, KILN_WINOGRAD_IC_BLOCK, 0),
        .oc_chunk = kiln_config_int(s, c, KILN_WINOGRAD_OC_CHUNK, 0),
        .row_chunk = kiln_config_int(s, c, KILN_WINOGRAD_ROW_CHUNK, 0),
        .unroll = kiln_config_int(s, c, KILN_WINOGRAD_UNROLL, 0),
        .is_ahead = c->option[KILN_WINOGRAD_TRANSFORM] == 1,
        .fetches = c->option[KILN_WINOGRAD_FETCH] == 1};
    for (int i = 0; i < 3; i++)
        x.tile[i] = kiln_config_int(s, c, KILN_WINOGRAD_TILE, i);
    x.packing = kiln_winograd_packing(size, stride_of(w));
    const bool is_one = kiln_winograd_of_work(w, size, &x.by);
    KILN_ASSERT(is_one && x.packing != NULL, "'%s' has no tiles of %d", w->graph->name,
                (int)size);
    return x;
}

bool kiln_winograd_of_work(const kiln_workload *w, int64_t size,
                           kiln_winograd_pair *out) {
    const kiln_type *k = &w->anchor->in[1]->type;
    return kiln_winograd_pair_of(size, k->dim + 2, stride_of(w), out);
}

int64_t kiln_winograd_tiles(const kiln_conv_problem *p, const kiln_winograd_pair *by,
                            int axis) {
    return kiln_ceil_div(axis == 0 ? p->oh : p->ow, by->f[axis]->tile);
}

/* Tiles that a panel of weights passes: in the rows of a chunk, else in its columns. */
int64_t kiln_winograd_row_passes(const kiln_conv_problem *p,
                                 const kiln_winograd_plan *x) {
    const int64_t rows = kiln_winograd_tiles(p, &x->by, 0);
    const int64_t chunks = kiln_ceil_div(rows, x->row_chunk);
    return kiln_ceil_div(kiln_ceil_div(rows, chunks), x->tile[0]);
}

int64_t kiln_winograd_chunk(const kiln_conv_problem *p, const kiln_winograd_plan *x) {
    return kiln_ceil_div(p->blocks, kiln_ceil_div(p->blocks, x->oc_chunk));
}

int64_t kiln_winograd_fetches(const kiln_conv_problem *p, const kiln_winograd_plan *x) {
    const int64_t columns = kiln_winograd_tiles(p, &x->by, 1);
    const int64_t rows = kiln_winograd_row_passes(p, x);
    const int64_t passes = rows > 1 ? rows : kiln_ceil_div(columns, x->tile[1]);
    const int64_t terms = kiln_ceil_div(p->c, x->ic_block) * x->ic_block;
    const int64_t vector = x->oc_block * p->elem_bytes, bytes = terms * vector;
    const int64_t line = kiln_line_bytes(p->profile);
    const int64_t positions = kiln_winograd_positions(&x->by);
    const int64_t cache = kiln_cache_l2(p->profile) / 2;
    const int64_t chunk = kiln_winograd_chunk(p, x);
    const bool is_even =
        chunk == p->blocks || (p->blocks % chunk == 0 && chunk % x->tile[2] == 0);
    const bool pays = x->fetches && passes > 1 && is_even &&
                      positions * p->blocks * bytes > cache &&
                      2 * x->tile[2] * bytes <= cache && line % vector == 0 &&
                      x->ic_block * vector % line == 0;
    return pays ? passes : 0;
}
