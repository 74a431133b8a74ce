#include "tests/support/random/random_work.h"

#include "compiler/reference/reference.h"
#include "tests/support/kiln_test.h"

int64_t random_pick(kiln_rng *rng, const int64_t *of, int n) {
    return of[kiln_rng_range(rng, 0, n - 1)];
}

kiln_value *random_operand(kiln_graph *g, const char *name, const kiln_type *t,
                           bool is_const, uint64_t seed) {
    return is_const ? kiln_graph_add_const(g, name, t,
                                           kiln_ref_random(g->arena, t, seed).data)
                    : kiln_graph_add_input(g, name, t);
}

kiln_value *graph_node_with(kiln_graph *g, const kiln_op_def *op, kiln_value *const *in,
                            int n_in, const kiln_attr_arg *args, size_t n_args) {
    kiln_err err = {0};
    kiln_node *n = NULL;
    const kiln_node_spec spec = {
        .op = op, .in = in, .n_in = n_in, .args = args, .n_args = n_args};
    kiln_assert_status_ok(kiln_graph_add_node(g, &spec, &n, &err), &err);
    return n->out[0];
}

kiln_value *graph_node(kiln_graph *g, const kiln_op_def *op, kiln_value *const *in,
                       int n_in) {
    return graph_node_with(g, op, in, n_in, NULL, 0);
}

kiln_value *graph_cast(kiln_graph *g, kiln_value *v, kiln_dtype dtype) {
    const kiln_attr_arg to = kiln_arg_dtype("to", dtype);
    return graph_node_with(g, &kiln_op_cast, &v, 1, &to, 1);
}

kiln_value *random_epilogue(kiln_graph *g, kiln_rng *rng, kiln_value *y,
                            int bias_axis) {
    static const kiln_op_def *const unary[] = {&kiln_op_relu, &kiln_op_gelu,
                                               &kiln_op_sigmoid, &kiln_op_neg};
    const kiln_type t = kiln_type_make(y->type.dtype, y->type.rank, y->type.dim);
    if (kiln_rng_range(rng, 0, 1) == 0 && t.rank > 0) {
        int64_t dim[KILN_MAX_RANK] = {t.dim[bias_axis], 1, 1, 1, 1, 1, 1, 1};
        const kiln_type b = kiln_type_make(t.dtype, t.rank - bias_axis, dim);
        kiln_value *in[2] = {y, random_operand(g, "offset", &b, true, 7)};
        y = graph_node(g, &kiln_op_add, in, 2);
    }
    if (kiln_rng_range(rng, 0, 3) == 0) {
        kiln_value *in[2] = {random_operand(g, "residual", &t, false, 0), y};
        y = graph_node(g, &kiln_op_add, in, 2);
    }
    if (kiln_rng_range(rng, 0, 1) == 0)
        y = graph_node(
            g, unary[kiln_dtype_is_float(t.dtype) ? kiln_rng_range(rng, 0, 3) : 3], &y,
            1);
    return y;
}
