#include "tests/support/graph/graph_rewrite.h"

#include "tests/support/kiln_test.h"

typedef struct rewriter {
    kiln_graph *g;
    kiln_rng *rng;
} rewriter;

static int64_t draw(rewriter *w, int64_t lo, int64_t hi) {
    return kiln_rng_range(w->rng, lo, hi);
}

static kiln_node *add(rewriter *w, const kiln_op_def *op, kiln_value *const *in,
                      int n_in, int n_out, const kiln_attr_arg *args, size_t n_args) {
    kiln_err err = {.status = KILN_OK};
    kiln_node *n = NULL;
    const kiln_node_spec spec = {.op = op,
                                 .in = in,
                                 .n_in = n_in,
                                 .n_out = n_out,
                                 .args = args,
                                 .n_args = n_args};
    kiln_assert_status_ok(kiln_graph_add_node(w->g, &spec, &n, &err), &err);
    return n;
}

/* ---- there and back --------------------------------------------------------------
 * Each gives the elements of x once more, by nodes that move them; NULL: not of x. */

static kiln_value *transposed(rewriter *w, kiln_value *x) {
    int64_t perm[KILN_MAX_RANK], back[KILN_MAX_RANK];
    const int rank = x->type.rank;
    for (int i = 0; i < rank; i++)
        perm[i] = i;
    for (int i = rank - 1; i > 0; i--) {
        const int64_t j = draw(w, 0, i), t = perm[i];
        perm[i] = perm[j];
        perm[j] = t;
    }
    for (int i = 0; i < rank; i++)
        back[perm[i]] = i;
    kiln_attr_arg arg = kiln_arg_ints("perm", perm, (size_t)rank);
    kiln_value *t = add(w, &kiln_op_transpose, &x, 1, 0, &arg, 1)->out[0];
    arg = kiln_arg_ints("perm", back, (size_t)rank);
    return add(w, &kiln_op_transpose, &t, 1, 0, &arg, 1)->out[0];
}

static kiln_value *reshaped(rewriter *w, kiln_value *x) {
    const int rank = x->type.rank;
    int64_t dim[KILN_MAX_RANK + 1];
    int n = 0;
    const int cut = (int)draw(w, 0, rank);
    for (int i = 0; i < rank; i++) {
        if (i > 0 && i != cut) {
            dim[n - 1] *= x->type.dim[i];
            continue;
        }
        dim[n++] = x->type.dim[i];
    }
    kiln_attr_arg arg = kiln_arg_ints("shape", dim, (size_t)n);
    kiln_value *t = add(w, &kiln_op_reshape, &x, 1, 0, &arg, 1)->out[0];
    arg = kiln_arg_ints("shape", x->type.dim, (size_t)rank);
    return add(w, &kiln_op_reshape, &t, 1, 0, &arg, 1)->out[0];
}

static kiln_value *cut_and_joined(rewriter *w, kiln_value *x) {
    const int axis = (int)draw(w, 0, x->type.rank - 1);
    const int64_t n = x->type.dim[axis];
    const int64_t first = n >= 32 && draw(w, 0, 1) == 0 ? 16 : draw(w, 1, n - 1);
    const int64_t sizes[2] = {first, n - first};
    const kiln_attr_arg args[] = {kiln_arg_int("axis", axis),
                                  kiln_arg_ints("sizes", sizes, 2)};
    const kiln_node *parts = add(w, &kiln_op_split, &x, 1, 2, args, 2);
    return add(w, &kiln_op_concat, parts->out, 2, 0, args, 1)->out[0];
}

static kiln_value *slice(rewriter *w, kiln_value *x, const int64_t *starts,
                         const int64_t *sizes) {
    int64_t steps[KILN_MAX_RANK];
    const size_t rank = (size_t)x->type.rank;
    for (size_t i = 0; i < rank; i++)
        steps[i] = 1;
    const kiln_attr_arg args[] = {kiln_arg_ints("starts", starts, rank),
                                  kiln_arg_ints("steps", steps, rank),
                                  kiln_arg_ints("sizes", sizes, rank)};
    return add(w, &kiln_op_slice, &x, 1, 0, args, 3)->out[0];
}

static kiln_value *padded_and_cropped(rewriter *w, kiln_value *x) {
    int64_t pads[2 * KILN_MAX_RANK] = {0};
    const int rank = x->type.rank, axis = (int)draw(w, 0, rank - 1);
    pads[axis] = draw(w, 0, 1) * draw(w, 0, 3);
    pads[rank + axis] = draw(w, 0, 5);
    const kiln_attr_arg args[] = {kiln_arg_word("mode", "constant"),
                                  kiln_arg_ints("pads", pads, 2 * (size_t)rank)};
    kiln_value *y = add(w, &kiln_op_pad, &x, 1, 0, args, 2)->out[0];
    return slice(w, y, pads, x->type.dim);
}

static kiln_value *sliced_and_joined(rewriter *w, kiln_value *x) {
    int64_t zero[KILN_MAX_RANK] = {0}, starts[KILN_MAX_RANK] = {0};
    int64_t first[KILN_MAX_RANK], second[KILN_MAX_RANK];
    const int rank = x->type.rank, axis = (int)draw(w, 0, rank - 1);
    for (int i = 0; i < rank; i++)
        first[i] = second[i] = x->type.dim[i];
    first[axis] = starts[axis] = draw(w, 1, x->type.dim[axis] - 1);
    second[axis] -= first[axis];
    kiln_value *in[2] = {slice(w, x, zero, first), slice(w, x, starts, second)};
    const kiln_attr_arg arg = kiln_arg_int("axis", axis);
    return add(w, &kiln_op_concat, in, 2, 0, &arg, 1)->out[0];
}

/* ---- choosing -------------------------------------------------------------------- */

static bool has_two_each(const kiln_type *t) {
    for (int i = 0; i < t->rank; i++)
        if (t->dim[i] < 2)
            return false;
    return true;
}

static kiln_value *there_and_back(rewriter *w, kiln_value *x) {
    const int64_t kind = draw(w, 0, 4);
    if (kind == 0)
        return reshaped(w, x);
    if (kind == 1 && kiln_dtype_is_in(x->type.dtype, KILN_DT_ANY))
        return padded_and_cropped(w, x);
    if (kind <= 2 || !has_two_each(&x->type))
        return transposed(w, x);
    return kind == 3 ? cut_and_joined(w, x) : sliced_and_joined(w, x);
}

/* The node once more. */
static kiln_value *repeated(rewriter *w, const kiln_value *x) {
    const kiln_node *n = x->def;
    kiln_attr_arg *args = kiln_array(w->g->arena, kiln_attr_arg, n->op->n_attr);
    for (size_t i = 0; i < n->op->n_attr; i++)
        args[i] = (kiln_attr_arg){.name = n->op->attr[i].name,
                                  .kind = n->op->attr[i].kind,
                                  .value = n->attr[i]};
    return add(w, n->op, n->in, n->n_in, n->n_out, args, n->op->n_attr)
        ->out[x->def_index];
}

/* Readers of x read y: all of them, or some; never those that made y of it. */
static void give(rewriter *w, kiln_value *x, kiln_value *y, size_t n_old, bool all) {
    for (size_t i = 0; i < n_old; i++)
        for (int k = 0; k < w->g->nodes.v[i]->n_in; k++)
            if (w->g->nodes.v[i]->in[k] == x && (all || draw(w, 0, 1) == 0))
                w->g->nodes.v[i]->in[k] = y;
    for (size_t i = 0; i < w->g->outputs.n; i++)
        if (w->g->outputs.v[i] == x && draw(w, 0, 1) == 0)
            w->g->outputs.v[i] = y;
}

void graph_rewrite(kiln_graph *g, kiln_rng *rng, int n) {
    rewriter w = {g, rng};
    kiln_err err = {.status = KILN_OK};
    for (int i = 0; i < n; i++) {
        const size_t n_old = g->nodes.n;
        const kiln_node *node = g->nodes.v[draw(&w, 0, (int64_t)n_old - 1)];
        kiln_value *x = node->out[draw(&w, 0, node->n_out - 1)];
        if (x->type.rank == 0 || kiln_type_elems(&x->type) == 0)
            continue;
        const bool is_twice = draw(&w, 0, 4) == 0;
        kiln_value *y = is_twice ? repeated(&w, x) : there_and_back(&w, x);
        give(&w, x, y, n_old, !is_twice && draw(&w, 0, 2) > 0);
        kiln_assert_status_ok(kiln_graph_sort(g, &err), &err);
    }
    kiln_graph_renumber(g);
}
