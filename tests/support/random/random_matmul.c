#include "tests/support/random/random_matmul.h"

#include "tests/support/kiln_test.h"
#include "tests/support/random/random_work.h"

kiln_graph *random_matmul(kiln_arena *a, kiln_rng *rng, kiln_dtype dtype,
                          kiln_dtype sums, random_size size) {
    static const int64_t sizes[] = {1, 2, 3, 5, 8, 13, 16, 17, 20, 31, 32, 33, 40};
    static const int64_t terms[] = {1, 2, 7, 16, 33, 70};
    const int n_sizes = size == RANDOM_LARGE ? 13 : 9;
    const int n_batch = (int)kiln_rng_range(rng, -2, 2);
    const int64_t m = random_pick(rng, sizes, n_sizes),
                  n = random_pick(rng, sizes, n_sizes),
                  k = random_pick(rng, terms, size == RANDOM_LARGE ? 6 : 4);
    int64_t da[KILN_MAX_RANK], db[KILN_MAX_RANK];
    int ra = 0, rb = 0;
    const bool short_b = kiln_rng_range(rng, 0, 2) == 0;
    for (int i = 0; i < n_batch; i++) {
        const int64_t d = kiln_rng_range(rng, 1, 3);
        da[ra++] = kiln_rng_range(rng, 0, 3) == 0 ? 1 : d;
        if (!short_b)
            db[rb++] = kiln_rng_range(rng, 0, 3) == 0 ? 1 : d;
    }
    const int64_t which = kiln_rng_range(rng, 0, 9);
    if (which != 0)
        da[ra++] = m;
    da[ra++] = k;
    const bool is_turned = kiln_rng_range(rng, 0, 3) == 0;
    db[rb++] = is_turned ? n : k;
    if (which != 1)
        db[rb++] = is_turned ? k : n;
    if (which == 0)
        ra = 1, da[0] = k;
    if (which == 1)
        rb = 1, db[0] = k;
    const kiln_type ta = kiln_type_make(dtype, ra, da),
                    tb = kiln_type_make(dtype, rb, db);
    kiln_graph *g = kiln_graph_new(a, "product");
    kiln_value *in[2];
    in[0] = random_operand(g, "a", &ta, kiln_rng_range(rng, 0, 7) == 0, 5);
    in[1] = random_operand(g, "b", &tb, kiln_rng_range(rng, 0, 1) == 0, 6);
    for (int i = 0; i < 2; i++)
        if (sums != dtype)
            in[i] = graph_cast(g, in[i], sums);
    const kiln_attr_arg turned = kiln_arg_bool("trans_b", is_turned);
    const kiln_node_spec spec = {
        .op = &kiln_op_matmul, .in = in, .n_in = 2, .args = &turned, .n_args = 1};
    kiln_err err = {0};
    kiln_node *node = NULL;
    kiln_assert_status_ok(kiln_graph_add_node(g, &spec, &node, &err), &err);
    kiln_value *y = node->out[0];
    kiln_graph_add_output(g, random_epilogue(g, rng, y, y->type.rank - 1), "y");
    return g;
}

kiln_graph *random_gemm(kiln_arena *a, kiln_rng *rng, kiln_dtype dtype,
                        random_size size) {
    static const int64_t sizes[] = {1, 3, 8, 17, 20, 33, 50};
    const int n_sizes = size == RANDOM_LARGE ? 7 : 5;
    const bool ta = kiln_rng_range(rng, 0, 1) == 0, tb = kiln_rng_range(rng, 0, 1) == 0;
    const bool is_by_itself = kiln_rng_range(rng, 0, 4) == 0;
    const int64_t m = random_pick(rng, sizes, n_sizes);
    const int64_t n = is_by_itself ? m : random_pick(rng, sizes, n_sizes);
    const int64_t k = is_by_itself ? m : random_pick(rng, sizes, n_sizes);
    const kiln_type at = kiln_type_make(dtype, 2, (int64_t[]){ta ? k : m, ta ? m : k});
    const kiln_type bt = kiln_type_make(dtype, 2, (int64_t[]){tb ? n : k, tb ? k : n});
    const kiln_type ct = kiln_type_make(dtype, 1, &n);
    const bool has_c = kiln_rng_range(rng, 0, 1) == 0;
    kiln_graph *g = kiln_graph_new(a, "gemm");
    kiln_value *in[3];
    in[0] = random_operand(g, "a", &at, false, 5);
    in[1] = is_by_itself
                ? in[0]
                : random_operand(g, "b", &bt, kiln_rng_range(rng, 0, 1) == 0, 6);
    if (has_c)
        in[2] = random_operand(g, "c", &ct, true, 7);
    const kiln_attr_arg arg[] = {kiln_arg_bool("trans_a", ta),
                                 kiln_arg_bool("trans_b", tb),
                                 kiln_arg_float("alpha", has_c ? 2.0 : 1.0)};
    const kiln_node_spec spec = {
        .op = &kiln_op_gemm, .in = in, .n_in = has_c ? 3 : 2, .args = arg, .n_args = 3};
    kiln_err err = {0};
    kiln_node *node = NULL;
    kiln_assert_status_ok(kiln_graph_add_node(g, &spec, &node, &err), &err);
    kiln_graph_add_output(g, random_epilogue(g, rng, node->out[0], 1), "y");
    return g;
}
