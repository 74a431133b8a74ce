/* Importers of MatrixDiag, MatrixSetDiag and MatrixDiagPart, and of their second and
 * third versions where these name one diagonal: how several are aligned is not asked
 * then. Source: TensorFlow, matrix_diag_op.cc, matrix_set_diag_op.cc. */
#include "compiler/frontend/diagonal.h"
#include "compiler/frontend/tensorflow/tf_internal.h"

#include <inttypes.h>

/* Operand i: one diagonal, or a band that is one. */
static kiln_status read_k(kiln_tf_cx *cx, const kiln_tf_node *n, int i, int64_t *k) {
    const int64_t *v;
    size_t count;
    *k = 0;
    kiln_tf_attr_s(cx, n, "align", "");
    if (n->n_in <= i)
        return KILN_OK;
    KILN_TRY(kiln_tf_ints(cx, n, i, "k", &v, &count));
    if (count < 1 || count > 2 || v[0] != v[count - 1])
        return kiln_tf_fail(cx, KILN_ERR_UNSUPPORTED,
                            "one diagonal at a time is read; 'k' must have one value, "
                            "or twice the same");
    if (v[0] < -INT32_MAX || v[0] > INT32_MAX)
        return kiln_tf_fail(cx, KILN_ERR_SHAPE, "there is no diagonal %" PRId64, v[0]);
    *k = v[0];
    return KILN_OK;
}

/* num_rows and num_cols: -1 is as few as hold the diagonal. */
static kiln_status read_size(kiln_tf_cx *cx, const kiln_tf_node *n, int64_t length,
                             int64_t k, int64_t size[2]) {
    const int64_t least[] = {length + (k < 0 ? -k : 0), length + (k < 0 ? 0 : k)};
    int64_t given[2] = {-1, -1};
    for (int i = 0; i < 2 && n->n_in > 2 + i; i++)
        KILN_TRY(
            kiln_tf_int(cx, n, 2 + i, i == 0 ? "num_rows" : "num_cols", &given[i]));
    for (int i = 0; i < 2; i++)
        size[i] = given[i] != -1                              ? given[i]
                  : given[1 - i] == -1 && least[0] > least[1] ? least[0]
                  : given[1 - i] == -1                        ? least[1]
                                                              : least[i];
    if (size[0] >= 1 && size[0] <= INT32_MAX && size[1] >= 1 && size[1] <= INT32_MAX)
        return KILN_OK;
    return kiln_tf_fail(cx, KILN_ERR_SHAPE,
                        "a matrix of %" PRId64 " rows and %" PRId64 " columns is none",
                        size[0], size[1]);
}

kiln_status kiln_tf_import_matrix_diag(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *on, *filling;
    int64_t k, size[2];
    KILN_TRY(kiln_tf_need(cx, n, 0, "diagonal", &on));
    KILN_TRY(read_k(cx, n, 1, &k));
    if (on->type.rank < 1)
        return kiln_tf_fail(cx, KILN_ERR_SHAPE, "'diagonal' must have an axis");
    KILN_TRY(read_size(cx, n, on->type.dim[on->type.rank - 1], k, size));
    if (n->n_in > 4)
        KILN_TRY(kiln_tf_need(cx, n, 4, "padding_value", &filling));
    else
        filling = kiln_import_scalar(&cx->common, on->type.dtype, 0);
    return kiln_tf_end(
        &c, n, kiln_compose_diagonal_matrix(&c, on, size[0], size[1], k, filling));
}

kiln_status kiln_tf_import_matrix_set_diag(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x, *on;
    int64_t k;
    KILN_TRY(kiln_tf_need(cx, n, 0, "input", &x));
    KILN_TRY(kiln_tf_need(cx, n, 1, "diagonal", &on));
    KILN_TRY(read_k(cx, n, 2, &k));
    return kiln_tf_end(&c, n, kiln_compose_set_diagonal(&c, x, on, k));
}

/* What fills up shorter diagonals is not asked of one. */
kiln_status kiln_tf_import_matrix_diag_part(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x;
    int64_t k;
    KILN_TRY(kiln_tf_need(cx, n, 0, "input", &x));
    KILN_TRY(read_k(cx, n, 1, &k));
    return kiln_tf_end(&c, n, kiln_compose_diagonal_part(&c, x, k));
}
