/* Attention that exporters write out becomes the operator that it is:
 *
 *   softmax(scale * q k^T + mask) v
 *
 * with scale and mask, one of them or none, the scale as a product or a quotient. The
 * transposes that bring heads ahead of rows, and back, become the operator's where each
 * row stays in one piece; that of the keys, whose rows become columns, stays. Batches may
 * be grouped otherwise around the products than around the softmax, as where PyTorch
 * multiplies [batch * heads, rows, columns] and masks [batch, heads, rows, rows].
 *
 * Not for few queries: with one of them keys and values are read once, as they lie, and
 * there are no scores to speak of.
 *
 * Rounds anew: scores and weights are in no memory, and what the weights sum up to
 * divides the result. */
#include "compiler/pass/permute.h"
#include "compiler/pass/simplify.h"

#include <math.h>

typedef struct reading {
    kiln_sweep *s;
    kiln_value *mask; /* NULL: none */
    double scale;
} reading;

static bool is_whole(const kiln_value *v) {
    return v->count == NULL && kiln_layout_is_plain(&v->type.layout);
}

/* Made by a node of that operator, and read once. */
static const kiln_node *only_of(const kiln_sweep *s, const kiln_value *v,
                                const kiln_op_def *op) {
    const kiln_node *n = v->def;
    return n != NULL && n->op == op && is_whole(v) && kiln_sweep_uses(s, v) == 1 ? n
                                                                                 : NULL;
}

static bool is_softmax_of_rows(const kiln_node *n) {
    const int64_t axis = kiln_node_attr(n, "axis")->i;
    return axis == -1 || axis == n->out[0]->type.rank - 1;
}

/* Is it a reshape of batches of matrices that leaves the matrices as they are? */
static bool is_regroup(const kiln_node *n) {
    const kiln_type *x = &n->in[0]->type, *y = &n->out[0]->type;
    return n->op == &kiln_op_reshape && is_whole(n->in[0]) && is_whole(n->out[0]) &&
           x->rank > 2 && y->rank > 2 && x->dim[x->rank - 1] == y->dim[y->rank - 1] &&
           x->dim[x->rank - 2] == y->dim[y->rank - 2];
}

/* What v has been grouped from, each time for it alone. */
static kiln_value *ungrouped(const kiln_sweep *s, kiln_value *v) {
    for (const kiln_node *n = only_of(s, v, &kiln_op_reshape);
         n != NULL && is_regroup(n); n = only_of(s, v, &kiln_op_reshape))
        v = n->in[0];
    return v;
}

/* The operand that is scores, with what is done to the other one noted; NULL: this is
 * no scale and no mask. */
static kiln_value *step_down(reading *r, const kiln_value *v) {
    const kiln_node *n = v->def;
    double c = 1;
    if (n == NULL || !is_whole(v) || kiln_sweep_uses(r->s, v) != 1)
        return NULL;
    if (n->op == &kiln_op_div && kiln_pass_number(n->in[1], &c) && c != 0) {
        r->scale /= c;
        return n->in[0];
    }
    for (int k = 0; k < 2 && (n->op == &kiln_op_mul || n->op == &kiln_op_add); k++) {
        kiln_value *scores = n->in[k], *other = n->in[1 - k];
        if (!kiln_type_same_shape(&scores->type, &v->type) || scores->def == NULL)
            continue;
        if (n->op == &kiln_op_mul && kiln_pass_number(other, &c)) {
            r->scale *= c;
            return scores;
        }
        const kiln_node *def = ungrouped(r->s, scores)->def;
        const kiln_op_def *op = def != NULL ? def->op : NULL;
        const bool is_scores =
            op == &kiln_op_matmul || op == &kiln_op_mul || op == &kiln_op_div;
        if (n->op == &kiln_op_add && is_scores && r->mask == NULL && r->scale == 1 &&
            is_whole(other)) {
            r->mask = other;
            return scores;
        }
    }
    return NULL;
}

/* The product of queries and keys that the softmax's input is made of. */
static const kiln_node *read_scores(reading *r, kiln_value *v) {
    const kiln_type *t = &v->type;
    while (v != NULL && kiln_type_same_shape(&v->type, t)) {
        const kiln_node *product = only_of(r->s, ungrouped(r->s, v), &kiln_op_matmul);
        if (product != NULL)
            return product;
        v = step_down(r, v);
    }
    return NULL;
}

/* Batches of matrices, as many on both sides, b as [rows, columns]. */
static bool is_plain_product(const kiln_node *n) {
    const kiln_type *a = &n->in[0]->type, *b = &n->in[1]->type;
    if (a->rank < 2 || a->rank != b->rank || kiln_node_attr(n, "trans_b")->i != 0 ||
        !is_whole(n->in[0]) || !is_whole(n->in[1]))
        return false;
    for (int i = 0; i < a->rank - 2; i++)
        if (a->dim[i] != b->dim[i])
            return false;
    return a->dim[a->rank - 2] > KILN_FEW_ROWS;
}

/* ---- operands -------------------------------------------------------------------- */

typedef struct operand {
    kiln_value *v;
    int n;
    int64_t perm[KILN_MAX_RANK];
} operand;

/* v, or what it is a transpose of where columns stay next to each other; with the last
 * two axes swapped, columns are rows. */
static operand operand_of(kiln_value *v, bool is_swapped) {
    const int rank = v->type.rank;
    const kiln_node *t = v->def;
    operand x = {.v = v, .n = rank};
    for (int i = 0; i < rank; i++)
        x.perm[i] = is_swapped && i >= rank - 2 ? 2 * rank - 3 - i : i;
    if (t == NULL || t->op != &kiln_op_transpose || !is_whole(t->in[0]))
        return x;
    const int64_t *perm = kiln_node_attr(t, "perm")->ints;
    if (perm[rank - 1] != rank - 1)
        return x;
    x.v = t->in[0];
    for (int i = 0; i < rank; i++)
        x.perm[i] = perm[x.perm[i]];
    return x;
}

/* The reshape of u, transposed, that n, a reshape of a transpose of u, is; NULL: there
 * is none. */
static kiln_status turned_before(kiln_sweep *s, const kiln_node *n, kiln_value **out) {
    const kiln_node *t = n->in[0]->def;
    kiln_perm from, to;
    kiln_value *v = NULL;
    if (t == NULL || t->op != &kiln_op_transpose || !is_whole(t->in[0]))
        return KILN_OK;
    const kiln_perm known = kiln_perm_of(t);
    if (!kiln_permute_node(n, 0, &known, &from, &to))
        return KILN_OK;
    const kiln_attr_arg *shape = kiln_permute_attrs(s->cx->scratch, n, &from, &to);
    KILN_TRY(kiln_sweep_add(s, &kiln_op_reshape, n, t->in, 1, shape, 1, &v));
    const kiln_attr_arg perm = kiln_arg_ints("perm", to.axis, (size_t)to.rank);
    return kiln_sweep_add(s, &kiln_op_transpose, n, &v, 1, &perm, 1, out);
}

/* v with its batches as `like` has them. */
static kiln_status grouped(kiln_sweep *s, const kiln_node *n, kiln_value *v,
                           const kiln_type *like, kiln_value **out) {
    kiln_type t = *like;
    t.dtype = v->type.dtype;
    for (int i = 1; i <= 2; i++)
        t.dim[t.rank - i] = v->type.dim[v->type.rank - i];
    *out = v;
    if (kiln_type_same_shape(&v->type, &t))
        return KILN_OK;
    const kiln_node *def = v->def;
    if (def != NULL && is_regroup(def) && kiln_type_same_shape(&def->in[0]->type, &t)) {
        *out = def->in[0];
        return KILN_OK;
    }
    const kiln_attr_arg shape = kiln_arg_ints("shape", t.dim, (size_t)t.rank);
    KILN_TRY(kiln_sweep_add(s, &kiln_op_reshape, n, &v, 1, &shape, 1, out));
    return turned_before(s, (*out)->def, out);
}

/* Where nothing moves it is empty, so that equal work looks equal. */
static kiln_attr_arg perm_arg(const char *name, const int64_t *perm, int n) {
    bool moves = false;
    for (int i = 0; i < n; i++)
        moves = moves || perm[i] != i;
    return kiln_arg_ints(name, perm, moves ? (size_t)n : 0);
}

static kiln_status merge_products(kiln_sweep *s, kiln_node *n, kiln_value **same) {
    reading r = {.s = s, .scale = 1};
    const kiln_node *softmax = only_of(s, ungrouped(s, n->in[0]), &kiln_op_softmax);
    kiln_value *x[3] = {NULL};
    if (softmax == NULL || !is_softmax_of_rows(softmax) || !is_plain_product(n))
        return KILN_OK;
    const kiln_type *like = &softmax->in[0]->type;
    const kiln_node *scores = read_scores(&r, softmax->in[0]);
    if (scores == NULL || !is_plain_product(scores) ||
        scores->in[1]->type.dim[scores->in[1]->type.rank - 1] < 1)
        return KILN_OK;
    KILN_TRY(grouped(s, n, scores->in[0], like, &x[0]));
    KILN_TRY(grouped(s, n, scores->in[1], like, &x[1]));
    KILN_TRY(grouped(s, n, n->in[1], like, &x[2]));
    const operand q = operand_of(x[0], false);
    const operand k = operand_of(x[1], true);
    const operand v = operand_of(x[2], false);
    kiln_value *in[] = {q.v, k.v, v.v, r.mask}, *y = NULL;
    const kiln_attr_arg args[] = {
        kiln_arg_float("scale", r.scale),
        perm_arg("perm_q", q.perm, q.n),
        perm_arg("perm_k", k.perm, k.n),
        perm_arg("perm_v", v.perm, v.n),
    };
    KILN_TRY(kiln_sweep_add(s, &kiln_op_attention, n, in, r.mask != NULL ? 4 : 3, args,
                            4, &y));
    return grouped(s, n, y, &n->out[0]->type, same);
}

/* The transpose behind it. */
static kiln_status merge_transpose(kiln_sweep *s, kiln_node *n, kiln_value **same) {
    kiln_value *x = ungrouped(s, n->in[0]);
    const kiln_node *y = only_of(s, x, &kiln_op_attention);
    const kiln_attr *perm = kiln_node_attr(n, "perm");
    static const char *const kept[] = {"perm_q", "perm_k", "perm_v"};
    if (y == NULL || !kiln_type_same_shape(&x->type, &n->in[0]->type) ||
        !is_whole(n->out[0]) || kiln_node_attr(y, "perm_y")->n > 0 ||
        perm->ints[perm->n - 1] != (int64_t)perm->n - 1)
        return KILN_OK;
    kiln_attr_arg args[5] = {kiln_arg_float("scale", kiln_node_attr(y, "scale")->f),
                             kiln_arg_ints("perm_y", perm->ints, perm->n)};
    for (int i = 0; i < 3; i++) {
        const kiln_attr *p = kiln_node_attr(y, kept[i]);
        args[2 + i] = kiln_arg_ints(kept[i], p->ints, p->n);
    }
    return kiln_sweep_add(s, &kiln_op_attention, n, y->in, y->n_in, args, 5, same);
}

static kiln_status merge(kiln_sweep *s, kiln_node *n, kiln_value **same) {
    if (n->op == &kiln_op_transpose)
        return merge_transpose(s, n, same);
    return n->op == &kiln_op_matmul ? merge_products(s, n, same) : KILN_OK;
}

static kiln_status run(kiln_graph *g, kiln_pass_cx *cx) {
    return kiln_sweep_by(g, cx, merge);
}

const kiln_pass kiln_pass_merge_attention = {
    .name = "merge_attention",
    .doc = "products around a softmax become one operator, with transposes of heads",
    .needs = KILN_TYPED | KILN_CONSTS_FOLDED,
    .keeps = KILN_TYPED | KILN_SHAPES_FOLDED | KILN_CONSTS_FOLDED | KILN_INFERENCE_ONLY,
    .run = run,
};
