/* One triangle of each matrix in the last two axes (ONNX Trilu 14); zero elsewhere.
 * Element (r, c) is kept when c - r >= k (upper) or c - r <= k (lower). */
#include "compiler/op/op_compute.h"
#include "compiler/op/op_move.h"

enum { UPPER, K, N_ATTR };

static const kiln_attr_def attrs[N_ATTR] = {
    {.name = "upper",
     .kind = KILN_ATTR_BOOL,
     .doc = "keep the upper one",
     .default_i = 1},
    {.name = "k",
     .kind = KILN_ATTR_INT,
     .doc = "diagonal; 0: the main one, > 0: above it"},
};

static kiln_status infer(const kiln_node *n, kiln_type *out, kiln_err *err) {
    const kiln_type *x = &n->in[0]->type;
    if (x->rank < 2)
        return kiln_fail(err, KILN_ERR_SHAPE, "input 'x' must have rank >= 2, has %d",
                         x->rank);
    return kiln_move_type(n, x->dtype, x->rank, x->dim, out, err);
}

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    const kiln_type *x = &cx->in[0].type;
    const int64_t rows = x->dim[x->rank - 2], cols = x->dim[x->rank - 1];
    const int64_t k = n->attr[K].i, count = kiln_type_elems(x);
    const bool is_upper = n->attr[UPPER].i != 0;
    for (int64_t e = 0; e < count; e++) {
        const int64_t diagonal = e % cols - e / cols % rows;
        if (is_upper ? diagonal >= k : diagonal <= k)
            kiln_copy_elem(&cx->out[0], e, &cx->in[0], e);
        else if (cx->out[0].f != NULL)
            cx->out[0].f[e] = 0;
        else
            cx->out[0].i[e] = 0;
    }
    return KILN_OK;
}

static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    kiln_arena *a = cx->arena;
    const kiln_expr *index[KILN_MAX_RANK];
    kiln_te *y = kiln_compute_begin(cx, "", &cx->out[0].type, index);
    const int rank = cx->in[0].type.rank;
    const kiln_expr *diagonal = kiln_x_sub(a, index[rank - 1], index[rank - 2]);
    const kiln_expr *k = kiln_x_index(a, n->attr[K].i);
    const bool is_upper = n->attr[UPPER].i != 0;
    const kiln_expr *kept = kiln_x_binary(a, KILN_EXPR_LE, is_upper ? k : diagonal,
                                          is_upper ? diagonal : k);
    const kiln_expr *x = kiln_compute_read(cx, 0, index);
    return kiln_compute_end(cx, 0, y, kiln_x_select(a, kept, x, kiln_x_like(a, x, 0)));
}

const kiln_op_def kiln_op_trilu = {
    KILN_ROW_MOVE,
    .name = "trilu",
    .doc = "the upper or lower triangle of each matrix, zero elsewhere",
    .n_in_min = 1,
    .n_in_max = 1,
    .in_names = kiln_names_x,
    .attr = attrs,
    .n_attr = N_ATTR,
    .dtypes = KILN_DT_ANY,
    .fuse = KILN_FUSE_INJECTIVE,
    .infer = infer,
    .eval_ref = eval_ref,
    .compute = compute,
};
