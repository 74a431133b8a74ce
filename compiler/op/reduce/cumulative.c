/* Running sums and products as an extern stage: one pass along each lane. */
#include "compiler/op/op_extern.h"

typedef struct params {
    kiln_expr_kind kind;
    double init;
    int axis;
    bool is_exclusive, is_reverse;
} params;

static const kiln_stmt *build(kiln_arena *a, const kiln_te *te,
                              const kiln_buffer *const *in,
                              const kiln_buffer *const *out) {
    const params *p = te->ext->data;
    int64_t extent[KILN_MAX_AXES];
    const int64_t n = kiln_te_dim(te, p->axis);
    for (int i = 0; i < te->rank; i++)
        extent[i] = i == p->axis ? 1 : kiln_te_dim(te, i);
    kiln_nest_loops l = kiln_loops_new(a, te->rank, extent);
    l.is_parallel = true;
    kiln_var *k = kiln_var_new(a, "k", KILN_I64);
    const kiln_expr *at = kiln_x_ref(a, k);
    l.index[p->axis] = p->is_reverse ? kiln_x_sub(a, kiln_x_index(a, n - 1), at) : at;
    const kiln_buffer *acc = kiln_cell_new(a, te, "acc", te->dtype[0]);
    const kiln_expr *now = kiln_cell_get(a, acc);
    const kiln_expr *x = kiln_x_load(a, in[0], l.index, te->rank, NULL);
    const kiln_stmt *add = kiln_cell_set(a, acc, kiln_x_binary(a, p->kind, now, x));
    const kiln_stmt *put = kiln_s_store(a, out[0], l.index, now, NULL);
    const kiln_stmt *step =
        p->is_exclusive ? kiln_s_both(a, put, add) : kiln_s_both(a, add, put);
    const kiln_stmt *lane =
        kiln_s_both(a, kiln_cell_set(a, acc, kiln_x_number(a, te->dtype[0], p->init)),
                    kiln_s_times(a, k, kiln_x_index(a, n), step));
    return kiln_loops_around(&l, kiln_s_alloc(a, acc, lane));
}

kiln_status kiln_compute_cumulative(const kiln_node *n, kiln_compute_cx *cx,
                                    kiln_expr_kind kind, double init) {
    KILN_ASSERT(kind == KILN_EXPR_ADD || kind == KILN_EXPR_MUL,
                "running values of kind %d", (int)kind);
    const kiln_type *t = &cx->out[0].type;
    const kiln_dtype dtype = kiln_compute_wide_dtype(t->dtype);
    kiln_te_value x, y;
    params *p = kiln_new(cx->arena, params);
    *p = (params){.kind = kind,
                  .init = init,
                  .is_exclusive = n->attr[KILN_SCAN_EXCLUSIVE].i,
                  .is_reverse = n->attr[KILN_SCAN_REVERSE].i};
    KILN_TRY(kiln_check_axis(n, KILN_SCAN_AXIS, &p->axis, cx->err));
    KILN_TRY(kiln_compute_plain(cx, "x", &cx->in[0], dtype, &x));
    const kiln_extern_spec spec = {.name = "cumulative",
                                   .build = build,
                                   .data = p,
                                   .in = &x,
                                   .n_in = 1,
                                   .n_out = 1,
                                   .rank = t->rank,
                                   .dim = t->dim,
                                   .dtype = &dtype};
    kiln_compute_extern(cx, "scan", &spec, &y);
    return kiln_compute_give(cx, 0, "", &y);
}
