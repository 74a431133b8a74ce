/* Broadcasting, strided copies and reductions on random shapes, against walks that
 * compute every coordinate. */
#include "compiler/op/op_common.h"

#include "compiler/reference/reference.h"
#include "tests/support/kiln_test.h"

enum { ROUNDS = 300, MAX_RANK = 5, MAX_DIM = 4 };

static kiln_type random_type(kiln_rng *r, int rank) {
    int64_t dim[KILN_MAX_RANK] = {0};
    /* One in eight shapes holds nothing. */
    const int64_t smallest = kiln_rng_range(r, 0, 7) == 0 ? 0 : 1;
    for (int i = 0; i < rank; i++)
        dim[i] = kiln_rng_range(r, smallest, MAX_DIM);
    return kiln_type_make(KILN_I32, rank, dim);
}

/* A shape that stretches to `whole`: some leading axes left out, some axes 1. */
static kiln_type shrunk(kiln_rng *r, const kiln_type *whole) {
    const int cut = (int)kiln_rng_range(r, 0, whole->rank);
    kiln_type t = kiln_type_make(whole->dtype, whole->rank - cut, whole->dim + cut);
    for (int i = 0; i < t.rank; i++)
        if (kiln_rng_range(r, 0, 2) == 0)
            t.dim[i] = 1;
    return t;
}

static kiln_tensor iota(kiln_arena *a, const kiln_type *t) {
    kiln_wide w = kiln_wide_new(a, t);
    for (int64_t k = 0; k < kiln_type_elems(t); k++)
        w.i[k] = k + 1;
    const kiln_tensor out = kiln_tensor_new(a, t);
    kiln_narrow(&w, out.data);
    return out;
}

/* Element of a tensor that is stretched to the output's coordinates. */
static int64_t stretched(const kiln_tensor *x, int rank, const int64_t *coord) {
    int64_t at = 0;
    for (int i = 0; i < x->type.rank; i++) {
        const int64_t c = coord[rank - x->type.rank + i];
        at = at * x->type.dim[i] + (x->type.dim[i] == 1 ? 0 : c);
    }
    return ((const int32_t *)x->data)[at];
}

static void broadcasts_like_coordinates(void **state) {
    (void)state;
    kiln_rng r;
    kiln_rng_init(&r, kiln_test_seed());
    for (int round = 0; round < ROUNDS; round++) {
        kiln_arena a = {0};
        kiln_err err = {0};
        const kiln_type whole = random_type(&r, (int)kiln_rng_range(&r, 0, MAX_RANK));
        kiln_type types[2] = {shrunk(&r, &whole), shrunk(&r, &whole)};
        const kiln_tensor in[2] = {iota(&a, &types[0]), iota(&a, &types[1])};
        kiln_graph *g = kiln_graph_new(&a, "g");
        kiln_value *const v[2] = {kiln_graph_add_input(g, "x", &types[0]),
                                  kiln_graph_add_input(g, "y", &types[1])};
        const kiln_node_spec spec = {.op = &kiln_op_sub, .in = v, .n_in = 2};
        kiln_node *n = NULL;
        kiln_tensor out;
        kiln_assert_status_ok(kiln_graph_add_node(g, &spec, &n, &err), &err);
        kiln_assert_status_ok(kiln_ref_eval_node(&a, n, in, &out, &err), &err);
        int64_t coord[KILN_MAX_RANK] = {0}, k = 0;
        const kiln_type *t = &out.type;
        if (kiln_type_elems(t) > 0)
            do {
                const int64_t want = stretched(&in[0], t->rank, coord) -
                                     stretched(&in[1], t->rank, coord);
                assert_int_equal(((const int32_t *)out.data)[k++], want);
            } while (kiln_next_coord(t->rank, t->dim, coord));
        assert_int_equal(k, kiln_type_elems(t));
        kiln_arena_fini(&a);
    }
}

static void copies_like_coordinates(void **state) {
    (void)state;
    kiln_rng r;
    kiln_rng_init(&r, kiln_test_seed());
    for (int round = 0; round < ROUNDS; round++) {
        kiln_arena a = {0};
        const kiln_type t = random_type(&r, (int)kiln_rng_range(&r, 0, MAX_RANK));
        int64_t stride[KILN_MAX_RANK] = {0}, lowest = 0, highest = 0;
        kiln_strides(t.rank, t.dim, stride);
        for (int i = 0; i < t.rank; i++) {
            const int64_t twist = kiln_rng_range(&r, -2, 2); /* 0: stretched */
            stride[i] *= twist;
            const int64_t reach = t.dim[i] > 0 ? stride[i] * (t.dim[i] - 1) : 0;
            *(reach < 0 ? &lowest : &highest) += reach;
        }
        const int64_t n = highest - lowest + 1;
        const kiln_type source = kiln_type_make(KILN_I32, 1, &n);
        kiln_wide src = kiln_wide_new(&a, &source), dst = kiln_wide_new(&a, &t);
        for (int64_t k = 0; k < n; k++)
            src.i[k] = k;
        kiln_copy_strided(&dst, &src, -lowest, stride);
        int64_t coord[KILN_MAX_RANK] = {0}, k = 0;
        if (kiln_type_elems(&t) > 0)
            do {
                int64_t want = -lowest;
                for (int i = 0; i < t.rank; i++)
                    want += coord[i] * stride[i];
                assert_int_equal(dst.i[k++], want);
            } while (kiln_next_coord(t.rank, t.dim, coord));
        kiln_arena_fini(&a);
    }
}

/* Sums into a shape of the input's rank, with extent 1 where `is_reduced`. */
static void sum_by_coordinates(const kiln_tensor *x, const bool *is_reduced,
                               int64_t *sum) {
    const kiln_type *t = &x->type;
    int64_t coord[KILN_MAX_RANK] = {0}, k = 0;
    if (kiln_type_elems(t) == 0)
        return;
    do {
        int64_t at = 0;
        for (int i = 0; i < t->rank; i++)
            at = is_reduced[i] ? at : at * t->dim[i] + coord[i];
        sum[at] += ((const int32_t *)x->data)[k++];
    } while (kiln_next_coord(t->rank, t->dim, coord));
}

static void sums_like_coordinates(void **state) {
    (void)state;
    kiln_rng r;
    kiln_rng_init(&r, kiln_test_seed());
    for (int round = 0; round < ROUNDS; round++) {
        kiln_arena a = {0};
        kiln_err err = {0};
        const kiln_type t = random_type(&r, (int)kiln_rng_range(&r, 1, MAX_RANK));
        bool is_reduced[KILN_MAX_RANK] = {false};
        int64_t axes[KILN_MAX_RANK];
        size_t n_axes = 0;
        for (int i = t.rank - 1; i >= 0; i--)
            if (kiln_rng_range(&r, 0, 1) == 0 || (i == 0 && n_axes == 0)) {
                is_reduced[i] = true;
                axes[n_axes++] = i;
            }
        const kiln_tensor in = iota(&a, &t);
        kiln_graph *g = kiln_graph_new(&a, "g");
        kiln_value *const v = kiln_graph_add_input(g, "x", &t);
        const kiln_attr_arg args[] = {
            kiln_arg_ints("axes", axes, n_axes),
            kiln_arg_bool("keepdims", kiln_rng_range(&r, 0, 1) != 0)};
        const kiln_node_spec spec = {
            .op = &kiln_op_reduce_sum, .in = &v, .n_in = 1, .args = args, .n_args = 2};
        kiln_node *n = NULL;
        kiln_tensor out;
        kiln_assert_status_ok(kiln_graph_add_node(g, &spec, &n, &err), &err);
        kiln_assert_status_ok(kiln_ref_eval_node(&a, n, &in, &out, &err), &err);
        const int64_t n_out = kiln_type_elems(&out.type);
        int64_t *want = kiln_array(&a, int64_t, n_out);
        sum_by_coordinates(&in, is_reduced, want);
        for (int64_t k = 0; k < n_out; k++)
            assert_int_equal(((const int32_t *)out.data)[k], want[k]);
        kiln_arena_fini(&a);
    }
}

int main(void) {
    kiln_test_add("broadcasts_like_coordinates", broadcasts_like_coordinates, NULL);
    kiln_test_add("copies_like_coordinates", copies_like_coordinates, NULL);
    kiln_test_add("sums_like_coordinates", sums_like_coordinates, NULL);
    return kiln_test_run("walking");
}
