/* Reads a matrix product off its node. */
#include "compiler/schedule/template/product/product.h"

#include "compiler/schedule/template/product/merge_axes.h"

/* matmul turns matrices of b only. */
static bool turns_a(const kiln_node *n) {
    return n->op == &kiln_op_gemm && kiln_node_attr(n, "trans_a")->i != 0;
}

static bool turns_b(const kiln_node *n) {
    return n->in[1]->type.rank > 1 && kiln_node_attr(n, "trans_b")->i != 0;
}

bool kiln_product_fits(const kiln_workload *w) {
    const kiln_node *n = w->anchor;
    if ((n->op != &kiln_op_matmul && n->op != &kiln_op_gemm) ||
        w->graph->outputs.n != 1)
        return false;
    const kiln_type *y = &n->out[0]->type;
    const bool is_scalar = n->in[0]->type.rank == 1 && n->in[1]->type.rank == 1;
    return !is_scalar && kiln_type_same_shape(&w->graph->outputs.v[0]->type, y) &&
           kiln_type_elems(y) > 0 && kiln_type_elems(&n->in[0]->type) > 0;
}

static const kiln_value *source_of(const kiln_value *v) {
    while (v->def != NULL && kiln_is_elementwise(v->def) && v->def->n_in > 0 &&
           v->def->in[0] != NULL &&
           kiln_type_same_shape(&v->def->in[0]->type, &v->type))
        v = v->def->in[0];
    return v;
}

const kiln_value *kiln_product_source_of_b(const kiln_product *x) {
    return source_of(x->b);
}

/* Batch axes and rows, where b has neither: rows of one large matrix. */
static kiln_merge rows_of(const kiln_workload *w) {
    return (kiln_merge){
        .w = w, .n = w->anchor->out[0]->type.rank - 1, .kept = w->anchor->in[1]};
}

static bool collapses(const kiln_workload *w) {
    const kiln_node *n = w->anchor;
    const kiln_merge c = rows_of(w);
    return n->op == &kiln_op_matmul && n->in[1]->type.rank == 2 &&
           n->in[0]->type.rank > 2 && kiln_merges(&c);
}

kiln_product kiln_product_of(const kiln_workload *w, const kiln_profile *profile) {
    const kiln_node *n = w->anchor;
    const kiln_type *a = &n->in[0]->type, *b = &n->in[1]->type, *y = &n->out[0]->type;
    const bool ta = turns_a(n), tb = turns_b(n);
    const bool has_row = a->rank > 1, has_col = b->rank > 1;
    kiln_product x = {.w = w,
                      .profile = profile,
                      .a = n->in[0],
                      .b = n->in[1],
                      .n_batch = y->rank - (has_row ? 1 : 0) - (has_col ? 1 : 0),
                      .row = -1,
                      .col = -1,
                      .b_axis = -1,
                      .batch = 1,
                      .m = 1,
                      .n = 1};
    if (has_row)
        x.row = x.n_batch;
    if (has_col) {
        x.col = y->rank - 1;
        x.b_axis = tb ? b->rank - 2 : b->rank - 1;
    }
    for (int i = 0; i < x.n_batch; i++)
        x.batch *= y->dim[i];
    x.m = has_row ? y->dim[x.row] : 1;
    x.n = has_col ? y->dim[x.col] : 1;
    x.collapses = collapses(w);
    if (x.collapses) {
        x.m *= x.batch;
        x.batch = 1;
        x.n_batch = 0;
        x.row = 0;
        x.col = 1;
    }
    x.k = a->dim[ta ? a->rank - 2 : a->rank - 1];
    const bool is_half = a->dtype == KILN_F16 || a->dtype == KILN_BF16;
    x.lanes =
        profile->vector_bytes / (is_half ? 4 : (int64_t)kiln_dtype_bytes(a->dtype));
    x.a_along_k = !ta || x.m == 1;
    x.b_along_k = tb || x.n == 1;
    x.b_along_n = has_col && !tb;
    x.a_row_bytes = x.k * (int64_t)kiln_dtype_bytes(a->dtype);
    x.is_const_b = source_of(x.b)->data != NULL && has_col;
    return x;
}

kiln_tiles kiln_product_tiles(const kiln_product *x, int64_t tile_m, int64_t tile_n,
                              int64_t block_m, int64_t block_n) {
    kiln_tiles t = {.n_outer = x->n_batch, .lane_axis = -1, .lanes = x->lanes};
    for (int i = 0; i < x->n_batch; i++)
        t.outer[i] = i;
    if (x->row >= 0)
        t.row[t.n_row++] = (kiln_tile_axis){x->row, tile_m, block_m * tile_m};
    if (x->col >= 0) {
        t.has_col = true;
        t.col = (kiln_tile_axis){x->col, tile_n, block_n * tile_n};
    }
    return t;
}

/* Panels of an axis, in blocks of so many; 0: all in one. */
typedef struct panels {
    int64_t blocks, in_block;
} panels;

static panels panels_of(int64_t extent, int64_t tile, int64_t block) {
    const int64_t all = extent / tile + (extent % tile != 0);
    if (block == 0 || block >= all)
        return (panels){1, all};
    return (panels){all / block + (all % block != 0), block};
}

kiln_tile_counts kiln_product_counts(const kiln_product *x, int64_t tile_m,
                                     int64_t tile_n, int64_t block_m, int64_t block_n,
                                     bool columns_outer) {
    const panels row = panels_of(x->m, tile_m, block_m);
    const panels col = panels_of(x->n, tile_n, block_n);
    return (kiln_tile_counts){x->batch * row.blocks * col.blocks,
                              columns_outer ? col.in_block : row.in_block,
                              columns_outer ? row.in_block : col.in_block};
}

double kiln_product_muladds(const kiln_product *x) {
    return (double)x->batch * (double)x->m * (double)x->n * (double)x->k;
}

kiln_status kiln_product_compute(kiln_arena *a, const kiln_product *x,
                                 const kiln_layout *layout, kiln_scheduled *out,
                                 kiln_stage **acc, kiln_stage **y, kiln_err *err) {
    *out = (kiln_scheduled){.schedule = NULL};
    const kiln_merge rows = rows_of(x->w);
    const kiln_graph *g = x->w->graph;
    if (x->collapses) {
        kiln_graph *one = kiln_merge_graph(a, &rows);
        KILN_TRY(kiln_merge_check(one, err));
        g = one;
    }
    KILN_TRY(kiln_graph_compute(a, g, layout, true, &out->te, err));
    kiln_merge_restore(&rows, &out->te);
    kiln_schedule *s = kiln_schedule_new(a, out->te.arg + out->te.n_inputs,
                                         out->te.n_args - out->te.n_inputs);
    out->schedule = s;
    *acc = kiln_stage_tagged(s, "matmul");
    KILN_TRY(kiln_inline_injective(s, err));
    if ((*acc)->is_output)
        KILN_TRY(kiln_cache_write(*acc, KILN_SCOPE_REGISTER, acc, err));
    *y = s->stage.v[s->stage.n - 1];
    return KILN_OK;
}
