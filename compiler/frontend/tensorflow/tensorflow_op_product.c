/* Importers of matrix products and of normalisations. */
#include "compiler/frontend/einsum.h"
#include "compiler/frontend/tensorflow/tf_window.h"

#include <string.h>

/* The last two axes exchanged. */
static kiln_value *flipped(kiln_compose *c, kiln_value *x) {
    int64_t perm[KILN_MAX_RANK];
    const int rank = x->type.rank;
    for (int i = 0; i < rank; i++)
        perm[i] = i;
    perm[rank - 2] = rank - 1;
    perm[rank - 1] = rank - 2;
    return kiln_compose_transpose(c, x, perm);
}

static kiln_status product(kiln_tf_cx *cx, const kiln_tf_node *n, const char *flip_a,
                           const char *flip_b) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *in[2];
    KILN_TRY(kiln_tf_need(cx, n, 0, "a", &in[0]));
    KILN_TRY(kiln_tf_need(cx, n, 1, "b", &in[1]));
    const bool flips[] = {kiln_tf_attr_b(cx, n, flip_a, false),
                          kiln_tf_attr_b(cx, n, flip_b, false)};
    for (int i = 0; i < 2; i++)
        if (in[i]->type.rank < 2)
            return kiln_tf_fail(cx, KILN_ERR_SHAPE,
                                "operand %d must be a matrix or more, is %s", i,
                                kiln_type_text(&cx->common.scratch, &in[i]->type));
    if (flips[0])
        in[0] = flipped(&c, in[0]);
    const kiln_attr_arg arg = kiln_arg_bool("trans_b", flips[1]);
    return kiln_tf_end(&c, n, kiln_compose_op(&c, &kiln_op_matmul, in, 2, &arg, 1));
}

kiln_status kiln_tf_import_matmul(kiln_tf_cx *cx, const kiln_tf_node *n) {
    return product(cx, n, "transpose_a", "transpose_b");
}

kiln_status kiln_tf_import_batch_matmul(kiln_tf_cx *cx, const kiln_tf_node *n) {
    return product(cx, n, "adj_x", "adj_y");
}

kiln_status kiln_tf_import_einsum(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value **in;
    const kiln_str equation = kiln_tf_attr_s(cx, n, "equation", "");
    KILN_TRY(kiln_tf_need_list(cx, n, 0, n->n_in, &in));
    return kiln_tf_end(&c, n, kiln_compose_einsum(&c, equation, in, n->n_in));
}

/* ---- normalisations --------------------------------------------------------------- */

/* Output 0 is y; the moments of inference are those given. */
kiln_status kiln_tf_import_batch_norm(kiln_tf_cx *cx, const kiln_tf_node *n) {
    static const char *const names[] = {"scale", "offset", "mean", "variance"};
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x, *in[4];
    bool is_first;
    KILN_TRY(kiln_tf_channels_first(cx, n, &is_first));
    KILN_TRY(kiln_tf_need(cx, n, 0, "x", &x));
    for (int i = 0; i < 4; i++)
        KILN_TRY(kiln_tf_need(cx, n, 1 + i, names[i], &in[i]));
    if (kiln_tf_attr_b(cx, n, "is_training", true))
        return kiln_tf_fail(cx, KILN_ERR_UNSUPPORTED,
                            "moments of the batch itself (is_training) are not read; "
                            "freeze the graph for inference");
    const double epsilon = kiln_tf_attr_f(cx, n, "epsilon", 1e-4);
    x = kiln_tf_to_last(&c, x, is_first);
    x = kiln_channels_last_batch_norm(&c, x, in, epsilon);
    kiln_value *const y[] = {kiln_tf_from_last(&c, x, is_first), in[2], in[3]};
    KILN_TRY(c.status);
    return kiln_tf_set_all(cx, n, y, 3);
}

/* alpha counts for each of the 2 * depth_radius + 1 channels, not for their mean. */
kiln_status kiln_tf_import_lrn(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x;
    KILN_TRY(kiln_tf_need(cx, n, 0, "input", &x));
    const int64_t radius = kiln_tf_attr_i(cx, n, "depth_radius", 5);
    if (x->type.rank != 4 || radius < 0 || radius > INT32_MAX)
        return kiln_tf_fail(cx, KILN_ERR_SHAPE,
                            "'input' must have rank 4 and 'depth_radius' not be "
                            "negative");
    const int64_t size = 2 * radius + 1;
    const kiln_attr_arg args[] = {
        kiln_arg_int("size", size),
        kiln_arg_float("alpha", kiln_tf_attr_f(cx, n, "alpha", 1) * (double)size),
        kiln_arg_float("beta", kiln_tf_attr_f(cx, n, "beta", 0.5)),
        kiln_arg_float("bias", kiln_tf_attr_f(cx, n, "bias", 1)),
    };
    x = kiln_channels_first(&c, x);
    x = kiln_compose_op(&c, &kiln_op_lrn, &x, 1, args, 4);
    return kiln_tf_end(&c, n, kiln_channels_last(&c, x));
}
