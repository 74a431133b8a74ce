/* Transposes that undo each other meet and vanish, on their way through operators that
 * can as well work on permuted axes: what NHWC models that were written as NCHW ones
 * are full of.
 *
 * Regions of such operators move as a whole, in part or not at all, by what has to be
 * copied before and after (transpose_region.c). In the end a transpose that moves axes
 * of length 1 only is a reshape, and one before a matrix product is its flag: before a
 * product of batches, where it has few rows.
 *
 * Not exact: sums and products along permuted axes are taken in another order. */
#include "compiler/pass/simplify.h"
#include "compiler/pass/transpose_region.h"

enum { MAX_ROUNDS = 64 }; /* each copies less than the one before: few need ten */

/* ---- moving ---------------------------------------------------------------------- */

static kiln_status transposed(kiln_sweep *s, const kiln_node *like, kiln_value *v,
                              const kiln_perm *p, kiln_value **out) {
    const kiln_attr_arg perm = kiln_arg_ints("perm", p->axis, (size_t)p->rank);
    *out = v;
    if (kiln_perm_is_identity(p))
        return KILN_OK;
    return kiln_sweep_add(s, &kiln_op_transpose, like, &v, 1, &perm, 1, out);
}

/* The constant with leading axes of 1, permuted at once. */
static kiln_status permuted_const(kiln_sweep *s, const kiln_node *like, kiln_value *v,
                                  const kiln_perm *back, kiln_fold_budget *budget,
                                  kiln_value **out) {
    KILN_TRY(transposed(s, like, v, back, out));
    bool done = false;
    const kiln_node *n = (*out)->def;
    if (n == NULL)
        return KILN_OK;
    kiln_fold_node(s->g, n, budget, &done);
    if (!done)
        return KILN_OK;
    s->g->nodes.n--; /* it was added last */
    kiln_sweep_drop(s, n);
    return KILN_OK;
}

/* v with leading axes of 1. */
static kiln_status raised(kiln_sweep *s, const kiln_node *like, kiln_value *v, int rank,
                          kiln_value **out) {
    int64_t dim[KILN_MAX_RANK];
    const int lead = rank - v->type.rank;
    for (int i = 0; i < rank; i++)
        dim[i] = i < lead ? 1 : v->type.dim[i - lead];
    if (kiln_value_is_const(v)) {
        const kiln_type t = kiln_type_make(v->type.dtype, rank, dim);
        *out = kiln_graph_add_const(s->g, v->name, &t, v->data);
        return KILN_OK;
    }
    const kiln_attr_arg shape = kiln_arg_ints("shape", dim, (size_t)rank);
    return kiln_sweep_add(s, &kiln_op_reshape, like, &v, 1, &shape, 1, out);
}

/* u, where v is transpose(u, p). */
static kiln_status permuted(kiln_sweep *s, const kiln_node *like, kiln_value *v,
                            const kiln_perm *p, kiln_fold_budget *budget,
                            kiln_value **out) {
    kiln_perm back = kiln_perm_inverse(p);
    *out = v;
    if (p->rank == 0)
        return KILN_OK;
    if (v->type.rank < p->rank)
        KILN_TRY(raised(s, like, v, p->rank, &v));
    if (kiln_value_is_const(v))
        return permuted_const(s, like, v, &back, budget, out);
    if (v->def != NULL && v->def->op == &kiln_op_transpose) {
        const kiln_perm first = kiln_perm_of(v->def);
        back = kiln_perm_then(&first, &back);
        v = v->def->in[0];
    }
    return transposed(s, like, v, &back, out);
}

static kiln_status move(kiln_sweep *s, kiln_node *n, const kiln_permuted *to,
                        kiln_fold_budget *budget) {
    kiln_value **in = kiln_array(s->cx->scratch, kiln_value *, n->n_in);
    const char **name = kiln_array(s->cx->scratch, const char *, n->n_out);
    for (int k = 0; k < n->n_in; k++)
        if (n->in[k] != NULL)
            KILN_TRY(permuted(s, n, n->in[k], &to->in[k], budget, &in[k]));
    for (int k = 0; k < n->n_out; k++)
        name[k] = n->out[k]->name;
    const kiln_node_spec spec = {
        .op = n->op,
        .name = n->name,
        .in = in,
        .n_in = n->n_in,
        .n_out = n->n_out,
        .out_names = name,
        .args = kiln_permute_attrs(s->cx->scratch, n, &to->in[0], &to->out[0]),
        .n_args = n->op->n_attr};
    kiln_node *made = NULL;
    KILN_TRY(kiln_graph_add_node(s->g, &spec, &made, s->cx->err));
    kiln_sweep_count(s, made);
    for (int k = 0; k < n->n_out; k++) {
        kiln_value *same = NULL;
        KILN_TRY(transposed(s, n, made->out[k], &to->out[k], &same));
        kiln_sweep_replace(s, n->out[k], same);
    }
    kiln_sweep_drop(s, n);
    return KILN_OK;
}

/* Nodes are moved as chosen; transposes that meet become one, or none. */
static kiln_status move_all(kiln_graph *g, kiln_pass_cx *cx,
                            const kiln_permuted *choice) {
    kiln_sweep s;
    kiln_status st = KILN_OK;
    kiln_sweep_begin(&s, g, cx);
    for (kiln_node *n; st == KILN_OK && (n = kiln_sweep_next(&s)) != NULL;) {
        kiln_value *same = NULL;
        if (choice != NULL && choice[n->index].in != NULL) {
            st = move(&s, n, &choice[n->index], cx->budget);
            continue;
        }
        if (n->op == &kiln_op_transpose && n->out[0]->count == NULL)
            st = kiln_simplify_transpose(&s, n, &same);
        if (same == NULL) {
            kiln_sweep_keep(&s, n);
            continue;
        }
        kiln_sweep_replace(&s, n->out[0], same);
        kiln_sweep_drop(&s, n);
    }
    kiln_sweep_end(&s);
    return st;
}

/* ---- what is left ---------------------------------------------------------------- */

static kiln_status as_view(kiln_sweep *s, kiln_node *n, kiln_value **same) {
    const kiln_type *t = &n->out[0]->type;
    const kiln_perm p = kiln_perm_of(n);
    if (!kiln_perm_is_view(&p, t) || n->out[0]->count != NULL)
        return KILN_OK;
    const kiln_attr_arg shape = kiln_arg_ints("shape", t->dim, (size_t)t->rank);
    return kiln_sweep_add(s, &kiln_op_reshape, n, n->in, 1, &shape, 1, same);
}

/* The transpose of a matrix that makes operand k, and is needed by nobody else. */
static const kiln_node *matrix_before(const kiln_sweep *s, const kiln_node *n, int k) {
    const kiln_node *t = n->in[k]->def;
    return t != NULL && t->op == &kiln_op_transpose && n->in[k]->type.rank == 2 &&
                   kiln_node_attr(t, "perm")->ints[0] == 1 &&
                   kiln_sweep_uses(s, n->in[k]) == 1
               ? t
               : NULL;
}

static kiln_status as_flag(kiln_sweep *s, kiln_node *n, kiln_value **same) {
    static const char *const flag[2] = {"trans_a", "trans_b"};
    const bool is_gemm = n->op == &kiln_op_gemm;
    kiln_value *in[3] = {n->in[0], n->in[1], n->n_in > 2 ? n->in[2] : NULL};
    kiln_attr_arg args[4] = {
        kiln_arg_float("alpha", is_gemm ? kiln_node_attr(n, "alpha")->f : 1),
        kiln_arg_float("beta", is_gemm ? kiln_node_attr(n, "beta")->f : 1)};
    bool found = false;
    if (!is_gemm && kiln_node_attr(n, "trans_b")->i != 0)
        return KILN_OK;
    if (n->in[0]->type.rank != 2 || n->in[1]->type.rank != 2)
        return KILN_OK;
    for (int k = 0; k < 2; k++) {
        const kiln_node *t = matrix_before(s, n, k);
        const bool was = is_gemm && kiln_node_attr(n, flag[k])->i != 0;
        args[2 + k] = kiln_arg_bool(flag[k], was != (t != NULL));
        in[k] = t != NULL ? t->in[0] : in[k];
        found = found || t != NULL;
    }
    if (!found)
        return KILN_OK;
    return kiln_sweep_add(s, &kiln_op_gemm, n, in, n->n_in, args, 4, same);
}

/* Does the transpose swap the last two of more axes, and nothing else? */
static bool swaps_last(const kiln_node *t) {
    const int rank = t->in[0]->type.rank;
    const int64_t *perm = kiln_node_attr(t, "perm")->ints;
    for (int i = 0; i < rank - 2; i++)
        if (perm[i] != i)
            return false;
    return rank > 2 && perm[rank - 1] == rank - 2;
}

/* Batches: the keys that a decoder's few queries are multiplied with. Where each
 * element of b is read that seldom, to turn b takes longer than the product, which
 * reads b as it lies; with more rows, b with columns next to each other pays. */
static kiln_status as_flag_of_batch(kiln_sweep *s, kiln_node *n, kiln_value **same) {
    const kiln_type *a = &n->in[0]->type;
    const kiln_node *t = n->in[1]->def;
    if (t == NULL || t->op != &kiln_op_transpose || !swaps_last(t) ||
        kiln_sweep_uses(s, n->in[1]) != 1 || n->in[1]->count != NULL ||
        (a->rank > 1 && a->dim[a->rank - 2] > KILN_FEW_ROWS))
        return KILN_OK;
    kiln_value *const in[] = {n->in[0], t->in[0]};
    const kiln_attr_arg arg =
        kiln_arg_bool("trans_b", kiln_node_attr(n, "trans_b")->i == 0);
    return kiln_sweep_add(s, &kiln_op_matmul, n, in, 2, &arg, 1, same);
}

static kiln_status settle(kiln_sweep *s, kiln_node *n, kiln_value **same) {
    if (n->op == &kiln_op_transpose)
        return as_view(s, n, same);
    if (n->op == &kiln_op_matmul && n->in[1]->type.rank > 2)
        return as_flag_of_batch(s, n, same);
    return n->op == &kiln_op_gemm || n->op == &kiln_op_matmul ? as_flag(s, n, same)
                                                              : KILN_OK;
}

static bool has_transposes(const kiln_graph *g) {
    for (size_t i = 0; i < g->nodes.n; i++)
        if (g->nodes.v[i]->op == &kiln_op_transpose)
            return true;
    return false;
}

static kiln_status run(kiln_graph *g, kiln_pass_cx *cx) {
    if (!has_transposes(g))
        return KILN_OK;
    KILN_TRY(move_all(g, cx, NULL));
    for (int round = 0; round < MAX_ROUNDS; round++) {
        /* Only what is alive counts, and each value once. */
        KILN_TRY(kiln_pass_merge_common.run(g, cx));
        KILN_TRY(kiln_pass_eliminate_dead.run(g, cx));
        kiln_users users;
        kiln_users_of(cx->scratch, g, &users);
        kiln_permuted *choice = kiln_array(cx->scratch, kiln_permuted, g->nodes.n);
        if (kiln_transpose_choose(cx->scratch, &users, choice) == 0)
            break;
        KILN_TRY(move_all(g, cx, choice));
    }
    return kiln_sweep_by(g, cx, settle);
}

const kiln_pass kiln_pass_cancel_transposes = {
    .name = "cancel_transposes",
    .doc = "transposes meet across operators that work on any axes, and vanish",
    .needs = KILN_TYPED | KILN_CONSTS_FOLDED,
    .keeps = KILN_TYPED | KILN_SHAPES_FOLDED | KILN_CONSTS_FOLDED | KILN_INFERENCE_ONLY,
    .run = run,
};
