/* The scatter family as an extern stage: updates may meet in one element, so they are
 * taken one after another. */
#include "compiler/op/op_extern.h"
#include "compiler/op/op_move.h"

const kiln_expr *kiln_x_resolved(kiln_arena *a, const kiln_expr *index,
                                 int64_t extent) {
    const kiln_expr *from_end = kiln_x_add(a, index, kiln_x_index(a, extent));
    index =
        kiln_x_select(a, kiln_x_less(a, index, kiln_x_index(a, 0)), from_end, index);
    return kiln_x_clamped(a, index, extent);
}

static const kiln_expr *folded(kiln_arena *a, kiln_scatter_fn fn, const kiln_expr *acc,
                               const kiln_expr *x) {
    switch (fn) {
    case KILN_SCATTER_NONE:
        break;
    case KILN_SCATTER_ADD:
        return kiln_x_add(a, acc, x);
    case KILN_SCATTER_MUL:
        return kiln_x_mul(a, acc, x);
    case KILN_SCATTER_MIN:
        return kiln_x_binary(a, KILN_EXPR_MIN, acc, x);
    case KILN_SCATTER_MAX:
        return kiln_x_binary(a, KILN_EXPR_MAX, acc, x);
    }
    return x;
}

static const kiln_stmt *build(kiln_arena *a, const kiln_te *te,
                              const kiln_buffer *const *in,
                              const kiln_buffer *const *out) {
    const kiln_scatter *s = te->ext->data;
    int64_t dim[KILN_MAX_AXES];
    const kiln_expr *index[KILN_MAX_AXES];
    for (int i = 0; i < te->rank; i++)
        dim[i] = kiln_te_dim(te, i);
    kiln_nest_loops copy = kiln_loops_new(a, te->rank, dim);
    copy.is_parallel = true;
    const kiln_expr *x = kiln_x_load(a, in[0], copy.index, te->rank, NULL);
    const kiln_stmt *first =
        kiln_loops_around(&copy, kiln_s_store(a, out[0], copy.index, x, NULL));
    if (kiln_te_elems(te) == 0)
        return first;
    const kiln_nest_loops l = kiln_loops_new(a, s->update_rank, s->update_dim);
    s->place(a, s, te, in[1], l.index, index);
    const kiln_expr *u = kiln_x_load(a, in[2], l.index, s->update_rank, NULL);
    const kiln_expr *now = kiln_x_load(a, out[0], index, te->rank, NULL);
    const kiln_stmt *put =
        kiln_s_store(a, out[0], index, folded(a, (kiln_scatter_fn)s->fn, now, u), NULL);
    return kiln_s_both(a, first, kiln_loops_around(&l, put));
}

kiln_status kiln_compute_scatter(kiln_compute_cx *cx, kiln_scatter *s) {
    const kiln_type *t = &cx->out[0].type, *u = &cx->in[2].type;
    const bool is_folded = s->fn == KILN_SCATTER_ADD || s->fn == KILN_SCATTER_MUL;
    const kiln_dtype dtype = is_folded ? kiln_compute_wide_dtype(t->dtype) : t->dtype;
    kiln_te_value in[3], y;
    s->update_rank = u->rank;
    for (int i = 0; i < u->rank; i++)
        s->update_dim[i] = u->dim[i];
    KILN_TRY(kiln_compute_plain(cx, "x", &cx->in[0], dtype, &in[0]));
    KILN_TRY(kiln_compute_plain(cx, "indices", &cx->in[1], KILN_I64, &in[1]));
    KILN_TRY(kiln_compute_plain(cx, "updates", &cx->in[2], dtype, &in[2]));
    const kiln_extern_spec spec = {.name = "scatter",
                                   .build = build,
                                   .data = s,
                                   .in = in,
                                   .n_in = 3,
                                   .n_out = 1,
                                   .rank = t->rank,
                                   .dim = t->dim,
                                   .dtype = &dtype};
    kiln_compute_extern(cx, "scatter", &spec, &y);
    return kiln_compute_give(cx, 0, "", &y);
}
