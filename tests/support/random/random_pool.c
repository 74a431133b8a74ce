#include "tests/support/random/random_pool.h"

#include "tests/support/kiln_test.h"

static kiln_value *pool(kiln_graph *g, const kiln_op_def *op, kiln_value *x,
                        const kiln_attr_arg *args, size_t n_args) {
    kiln_err err = {0};
    kiln_node *node = NULL;
    const kiln_node_spec spec = {
        .op = op, .in = &x, .n_in = 1, .args = args, .n_args = n_args, .n_out = 1};
    kiln_assert_status_ok(kiln_graph_add_node(g, &spec, &node, &err), &err);
    return node->out[0];
}

/* Pads are smaller than the window, as the operator asks. */
kiln_graph *random_pool(kiln_arena *a, kiln_rng *rng, const template_property *p) {
    const kiln_op_def *op = p->of;
    static const int64_t channels[] = {1, 3, 8, 16, 17, 20, 33};
    int64_t dim[KILN_MAX_RANK], kernel[3], stride[3], dilation[3], pads[6];
    int n = (int)kiln_rng_range(rng, 1, 5);
    n = n > 3 ? 2 : n;
    dim[0] = kiln_rng_range(rng, 1, 2);
    dim[1] = random_pick(rng, channels, 7);
    for (int i = 0; i < n; i++) {
        kernel[i] = kiln_rng_range(rng, 1, n == 3 ? 3 : 5);
        stride[i] = kiln_rng_range(rng, 1, 3);
        dilation[i] = op != &kiln_op_lp_pool && kiln_rng_range(rng, 0, 3) == 0 ? 2 : 1;
        pads[i] = kiln_rng_range(rng, 0, kernel[i] - 1);
        pads[n + i] = kiln_rng_range(rng, 0, kernel[i] - 1);
        dim[2 + i] =
            (kernel[i] - 1) * dilation[i] + 1 + kiln_rng_range(rng, 0, n == 3 ? 3 : 12);
    }
    kiln_graph *g = kiln_graph_new(a, "pool");
    const kiln_type t = kiln_type_make(p->dtype, n + 2, dim);
    const kiln_attr_arg args[] = {
        kiln_arg_ints("kernel", kernel, (size_t)n),
        kiln_arg_ints("strides", stride, (size_t)n),
        kiln_arg_ints("dilations", dilation, (size_t)n),
        kiln_arg_ints("pads", pads, 2 * (size_t)n),
        kiln_arg_bool("ceil_mode", kiln_rng_range(rng, 0, 1))};
    kiln_value *x = random_operand(g, "x", &t, false, 0);
    kiln_value *y = pool(g, op, x, args, 5);
    if (kiln_rng_range(rng, 0, 2) == 0 && kiln_dtype_is_float(p->dtype))
        y = graph_node(g, &kiln_op_relu, &y, 1);
    kiln_graph_add_output(g, y, "y");
    return g;
}

kiln_graph *resnet_pool(kiln_arena *a) {
    kiln_graph *g = kiln_graph_new(a, "pool");
    const kiln_type tx = kiln_type_make(KILN_F32, 4, (int64_t[]){1, 64, 112, 112});
    const kiln_attr_arg args[] = {kiln_arg_ints("kernel", (int64_t[]){3, 3}, 2),
                                  kiln_arg_ints("strides", (int64_t[]){2, 2}, 2),
                                  kiln_arg_ints("pads", (int64_t[]){1, 1, 1, 1}, 4)};
    kiln_value *x = random_operand(g, "x", &tx, false, 0);
    kiln_graph_add_output(g, pool(g, &kiln_op_max_pool, x, args, 3), "y");
    return g;
}
