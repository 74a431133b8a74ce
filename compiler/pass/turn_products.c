/* A row times a matrix that is transposed first is the matrix, as it lies, times a
 * column: a [1, k] by transpose(u [n, k]) = transpose(u [n, k] by a [k, 1]). What is
 * transposed of the vectors are axes of length 1, so nothing moves at all. (Scores of one
 * step against all keys that a cache holds.) Sums turn round. */
#include "compiler/pass/pass_internal.h"
#include "compiler/pass/permute.h"

#include <string.h>

/* Does n make v by changing places of its last two axes, and nobody else read it? */
static bool is_turned(const kiln_sweep *s, const kiln_value *v) {
    const kiln_node *n = v->def;
    const int rank = v->type.rank;
    if (n == NULL || n->op != &kiln_op_transpose || v->count != NULL || rank < 2 ||
        kiln_sweep_uses(s, v) != 1)
        return false;
    const kiln_perm p = kiln_perm_of(n);
    for (int i = 0; i < rank - 2; i++)
        if (p.axis[i] != i)
            return false;
    return p.axis[rank - 2] == rank - 1;
}

/* v with its last two axes in each other's place, of which one is of length 1. */
static kiln_status turn_vector(kiln_sweep *s, const kiln_node *like, kiln_value *v,
                               kiln_value **out) {
    const int rank = v->type.rank;
    int64_t dim[KILN_MAX_RANK] = {0};
    memcpy(dim, v->type.dim, (size_t)rank * sizeof dim[0]);
    dim[rank - 2] = v->type.dim[rank - 1];
    dim[rank - 1] = v->type.dim[rank - 2];
    const kiln_attr_arg shape = kiln_arg_ints("shape", dim, (size_t)rank);
    return kiln_sweep_add(s, &kiln_op_reshape, like, &v, 1, &shape, 1, out);
}

static kiln_status turn(kiln_sweep *s, kiln_node *n, kiln_value **same) {
    if (n->op != &kiln_op_matmul || n->out[0]->count != NULL)
        return KILN_OK;
    const kiln_type *row = &n->in[0]->type;
    if (row->rank < 2 || row->dim[row->rank - 2] != 1 || n->in[0]->count != NULL ||
        !is_turned(s, n->in[1]))
        return KILN_OK;
    kiln_value *in[] = {n->in[1]->def->in[0], NULL}, *column = NULL;
    KILN_TRY(turn_vector(s, n, n->in[0], &in[1]));
    KILN_TRY(kiln_sweep_add(s, &kiln_op_matmul, n, in, 2, NULL, 0, &column));
    return turn_vector(s, n, column, same);
}

static kiln_status run(kiln_graph *g, kiln_pass_cx *cx) {
    return kiln_sweep_by(g, cx, turn);
}

const kiln_pass kiln_pass_turn_products = {
    .name = "turn_products",
    .doc = "a row times a transposed matrix becomes the matrix times a column",
    .needs = KILN_TYPED | KILN_CONSTS_FOLDED | KILN_INFERENCE_ONLY,
    .keeps = KILN_TYPED | KILN_SHAPES_FOLDED | KILN_CONSTS_FOLDED | KILN_INFERENCE_ONLY,
    .run = run,
};
