/* What a recurrent cell multiplies its input with leaves the steps: one product for all
 * of them, which has a template, and whose weights are streamed once instead of once a
 * step (Appleyard, Kocisky, Blunsom, "Optimizing performance of recurrent neural
 * networks on GPUs", arXiv 1604.01946, section 3.1).
 *
 *     y = lstm(x, w, r, ...)    xw = gemm(x as [S*N,I], w as [D*G*H,I], trans_b)
 *                               y = lstm(xw as [S,N,D*G*H], _, r, ...)
 *
 * Where the weights are constants: others would be transposed at each run. Not of half
 * floats, whose products stay wide inside the cell but would be rounded on the way.
 * Not exact: other sums of the same products. */
#include "compiler/pass/pass_internal.h"

enum { X, W }; /* inputs of all three operators */

static bool fits(const kiln_node *n) {
    if (n->op != &kiln_op_lstm && n->op != &kiln_op_gru && n->op != &kiln_op_rnn)
        return false;
    const kiln_value *x = n->in[X], *w = n->in[W];
    return w != NULL && kiln_value_is_const(w) &&
           (x->type.dtype == KILN_F32 || x->type.dtype == KILN_F64) &&
           x->count == NULL && kiln_layout_is_plain(&x->type.layout) &&
           kiln_layout_is_plain(&w->type.layout) && kiln_type_elems(&x->type) > 0 &&
           kiln_type_elems(&w->type) > 0;
}

static kiln_status reshaped(kiln_sweep *s, const kiln_node *like, kiln_value *v,
                            int rank, const int64_t *dim, kiln_value **out) {
    const kiln_attr_arg shape = kiln_arg_ints("shape", dim, (size_t)rank);
    return kiln_sweep_add(s, &kiln_op_reshape, like, &v, 1, &shape, 1, out);
}

static kiln_status hoist(kiln_sweep *s, kiln_node *n) {
    kiln_value *x = n->in[X];
    const kiln_value *w = n->in[W];
    const int64_t steps = x->type.dim[0], batch = x->type.dim[1], k = x->type.dim[2];
    const int64_t rows = w->type.dim[0] * w->type.dim[1];
    const kiln_type matrix =
        kiln_type_make(w->type.dtype, 2, (const int64_t[]){rows, k});
    const kiln_attr_arg transposed = kiln_arg_bool("trans_b", true);
    kiln_value *factor[2] = {NULL,
                             kiln_graph_add_const(s->g, w->name, &matrix, w->data)};
    KILN_TRY(reshaped(s, n, x, 2, (const int64_t[]){steps * batch, k}, &factor[0]));
    KILN_TRY(kiln_sweep_add(s, &kiln_op_gemm, n, factor, 2, &transposed, 1, &x));
    KILN_TRY(reshaped(s, n, x, 3, (const int64_t[]){steps, batch, rows}, &x));
    kiln_sweep_set_in(s, n, X, x);
    kiln_sweep_set_in(s, n, W, NULL);
    return KILN_OK;
}

static kiln_status run(kiln_graph *g, kiln_pass_cx *cx) {
    kiln_sweep s;
    kiln_status st = KILN_OK;
    kiln_sweep_begin(&s, g, cx);
    for (kiln_node *n; st == KILN_OK && (n = kiln_sweep_next(&s)) != NULL;) {
        if (fits(n))
            st = hoist(&s, n);
        kiln_sweep_keep(&s, n);
    }
    kiln_sweep_end(&s);
    return st;
}

const kiln_pass kiln_pass_hoist_recurrent = {
    .name = "hoist_recurrent",
    .doc = "products of recurrent cells with their inputs become one for all steps",
    .needs = KILN_TYPED | KILN_CONSTS_FOLDED | KILN_INFERENCE_ONLY,
    .keeps = KILN_TYPED | KILN_SHAPES_FOLDED | KILN_CONSTS_FOLDED | KILN_INFERENCE_ONLY,
    .run = run,
};
