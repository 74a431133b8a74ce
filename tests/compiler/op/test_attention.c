/* attention against what it is short for: transposes, two products, a softmax, in f64;
 * chosen elements have the bits of whole results; what infer refuses.
 *
 * Tolerance: both add the same terms in other orders; 100 keys of scores below 30 are
 * within 1e-12. */
#include "compiler/graph/graph.h"
#include "compiler/reference/reference.h"

#include <math.h>
#include <string.h>

#include "tests/support/kiln_test.h"
#include "tests/support/random/random_work.h"

enum { N_CASES = 60 };

/* A tensor whose transpose by `perm` has these dims; perm is drawn. */
static kiln_value *draw_turned(kiln_graph *g, kiln_rng *rng, const char *name, int rank,
                               const int64_t *dim, int64_t *perm, uint64_t seed) {
    int64_t own[KILN_MAX_RANK];
    for (int i = 0; i < rank; i++)
        perm[i] = i;
    for (int i = rank - 1; i > 0; i--) {
        const int64_t k = kiln_rng_range(rng, 0, i), p = perm[i];
        perm[i] = perm[k];
        perm[k] = p;
    }
    for (int i = 0; i < rank; i++)
        own[perm[i]] = dim[i];
    const kiln_type t = kiln_type_make(KILN_F64, rank, own);
    return random_operand(g, name, &t, false, seed);
}

static kiln_value *transposed(kiln_graph *g, kiln_value *v, const int64_t *perm) {
    const kiln_attr_arg arg = kiln_arg_ints("perm", perm, (size_t)v->type.rank);
    return graph_node_with(g, &kiln_op_transpose, &v, 1, &arg, 1);
}

typedef struct drawn {
    int rank;
    double scale;
    kiln_value *q, *k, *v, *mask;
    int64_t perm[4][KILN_MAX_RANK]; /* of q, k, v, y */
} drawn;

static drawn draw_case(kiln_graph *g, kiln_rng *rng, uint64_t seed) {
    static const int64_t sizes[] = {1, 2, 3, 7, 16, 33, 100};
    drawn x = {.rank = (int)kiln_rng_range(rng, 2, 4),
               .scale = kiln_rng_range(rng, 0, 1) == 0 ? 1 : 0.375};
    int64_t dim[KILN_MAX_RANK];
    const int row = x.rank - 2, col = x.rank - 1;
    for (int i = 0; i < row; i++)
        dim[i] = kiln_rng_range(rng, 1, 3);
    const int64_t m = random_pick(rng, sizes, 7), s = random_pick(rng, sizes, 7);
    const int64_t d = random_pick(rng, sizes, 6), e = random_pick(rng, sizes, 6);
    dim[row] = m, dim[col] = d;
    x.q = draw_turned(g, rng, "q", x.rank, dim, x.perm[0], seed);
    dim[row] = s;
    x.k = draw_turned(g, rng, "k", x.rank, dim, x.perm[1], seed + 1);
    dim[col] = e;
    x.v = draw_turned(g, rng, "v", x.rank, dim, x.perm[2], seed + 2);
    dim[row] = m, dim[col] = s;
    draw_turned(g, rng, "y", x.rank, dim, x.perm[3], seed + 3);
    for (int i = 0; i < x.rank; i++)
        dim[i] = kiln_rng_range(rng, 0, 2) == 0 ? 1 : dim[i];
    const int cut = (int)kiln_rng_range(rng, 0, x.rank);
    const kiln_type t = kiln_type_make(KILN_F64, x.rank - cut, dim + cut);
    if (kiln_rng_range(rng, 0, 1) == 0)
        x.mask = random_operand(g, "mask", &t, false, seed + 4);
    return x;
}

static kiln_value *as_operator(kiln_graph *g, const drawn *x) {
    kiln_value *const in[] = {x->q, x->k, x->v, x->mask};
    static const char *const name[] = {"perm_q", "perm_k", "perm_v", "perm_y"};
    kiln_attr_arg args[5] = {kiln_arg_float("scale", x->scale)};
    for (int i = 0; i < 4; i++)
        args[1 + i] = kiln_arg_ints(name[i], x->perm[i], (size_t)x->rank);
    return graph_node_with(g, &kiln_op_attention, in, x->mask != NULL ? 4 : 3, args, 5);
}

static kiln_value *written_out(kiln_graph *g, const drawn *x) {
    const kiln_attr_arg turned = kiln_arg_bool("trans_b", true);
    kiln_value *qk[] = {transposed(g, x->q, x->perm[0]),
                        transposed(g, x->k, x->perm[1])};
    kiln_value *z = graph_node_with(g, &kiln_op_matmul, qk, 2, &turned, 1);
    kiln_value *by[] = {z, kiln_graph_const_scalar(g, "s", KILN_F64, x->scale)};
    z = graph_node(g, &kiln_op_mul, by, 2);
    kiln_value *sum[] = {z, x->mask};
    if (x->mask != NULL)
        z = graph_node(g, &kiln_op_add, sum, 2);
    kiln_value *pv[] = {graph_node(g, &kiln_op_softmax, &z, 1),
                        transposed(g, x->v, x->perm[2])};
    return transposed(g, graph_node(g, &kiln_op_matmul, pv, 2), x->perm[3]);
}

static void is_what_it_is_short_for(void **state) {
    (void)state;
    const uint64_t first = kiln_test_seed();
    print_message("seed %llu\n", (unsigned long long)first);
    for (uint64_t i = 0; i < (uint64_t)kiln_test_cases(N_CASES); i++) {
        kiln_arena a = {0};
        kiln_rng rng;
        kiln_err err = {0};
        kiln_diff diff;
        kiln_tensor out[2];
        kiln_rng_init(&rng, first + i);
        kiln_graph *g = kiln_graph_new(&a, "attention");
        const drawn x = draw_case(g, &rng, first + i);
        kiln_graph_add_output(g, as_operator(g, &x), "short");
        kiln_graph_add_output(g, written_out(g, &x), "long");
        kiln_tensor *in = kiln_array(&a, kiln_tensor, g->inputs.n);
        for (size_t k = 0; k < g->inputs.n; k++)
            in[k] = kiln_ref_random(&a, &g->inputs.v[k]->type, first + 100 * i + k);
        kiln_assert_status_ok(kiln_ref_run(&a, g, in, g->inputs.n, out, &err), &err);
        kiln_assert_status_ok(
            kiln_ref_compare(&out[0], &out[1], 1e-12, 1e-12, &diff, &err), &err);
        if (!diff.ok)
            fail_msg("seed %llu: element %lld is %g, is %g written out",
                     (unsigned long long)(first + i), (long long)diff.worst_index,
                     diff.worst_got, diff.worst_want);
        kiln_arena_fini(&a);
    }
}

static void chosen_elements_are_those_of_the_whole(void **state) {
    (void)state;
    const uint64_t seed = kiln_test_seed();
    print_message("seed %llu\n", (unsigned long long)seed);
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_rng rng;
    kiln_rng_init(&rng, seed);
    kiln_graph *g = kiln_graph_new(a, "attention");
    const drawn x = draw_case(g, &rng, seed);
    kiln_value *y = as_operator(g, &x);
    const kiln_node *n = y->def;
    kiln_tensor *in = kiln_array(a, kiln_tensor, 4), whole;
    for (int k = 0; k < n->n_in; k++)
        in[k] = kiln_ref_random(a, &n->in[k]->type, seed + (uint64_t)k);
    kiln_assert_status_ok(kiln_ref_eval_node(a, n, in, &whole, &err), &err);
    const int64_t n_elems = kiln_type_elems(&y->type);
    int64_t *pick = kiln_array(a, int64_t, n_elems);
    double *value = kiln_array(a, double, n_elems);
    double *bound = kiln_array(a, double, n_elems);
    for (int64_t i = 0; i < n_elems; i++)
        pick[i] = n_elems - 1 - i;
    kiln_assert_status_ok(kiln_ref_pick(a, n, in, pick, n_elems, value, bound, &err),
                          &err);
    for (int64_t i = 0; i < n_elems; i++) {
        double want;
        memcpy(&want, (const double *)whole.data + pick[i], sizeof want);
        assert_memory_equal(&value[i], &want, sizeof want);
        assert_true(bound[i] > 0 && bound[i] < 1e-9);
    }
}

/* Keys that are masked out have no part in results and in bounds, whatever they hold. */
static void masked_keys_have_no_part(void **state) {
    (void)state;
    static const char text[] =
        "graph \"g\" { input %q : f32[1,2] input %k : f32[2,2] input %v : f32[2,1] "
        "input %m : f32[2] %y = attention(%q, %k, %v, %m) output %y }";
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_graph *g;
    static float q[] = {1, 2}, k[] = {3, 4, 1e30F, 1}, v[] = {5, 7};
    static float m[] = {0, -HUGE_VALF};
    float *const data[] = {q, k, v, m};
    kiln_tensor in[4];
    const int64_t first = 0;
    double value, bound;
    kiln_assert_status_ok(kiln_graph_parse(a, kiln_str_from(text), "text", &g, &err),
                          &err);
    for (int i = 0; i < 4; i++)
        in[i] = (kiln_tensor){.type = g->inputs.v[i]->type, .data = data[i]};
    kiln_assert_status_ok(
        kiln_ref_pick(a, g->nodes.v[0], in, &first, 1, &value, &bound, &err), &err);
    assert_true(value == 5);
    assert_true(bound > 0 && bound < 1e-3);
}

/* ---- refusals -------------------------------------------------------------------- */

typedef struct refusal {
    const char *name, *inputs, *node, *text;
} refusal;

static refusal refusals[] = {
    {"rejects_vectors", "input %q : f32[3] input %k : f32[3] input %v : f32[3]",
     "attention(%q, %k, %v)", "q must have rank >= 2, has rank 1"},
    {"rejects_other_ranks",
     "input %q : f32[2,3] input %k : f32[1,2,3] input %v : f32[2,3]",
     "attention(%q, %k, %v)", "input 'k' must have rank 2"},
    {"rejects_other_dtypes",
     "input %q : f32[2,3] input %k : f32[2,3] input %v : f64[2,3]",
     "attention(%q, %k, %v)", "must have one dtype"},
    {"rejects_other_terms",
     "input %q : f32[2,3] input %k : f32[2,4] input %v : f32[2,3]",
     "attention(%q, %k, %v)",
     "queries and keys must have equally many terms, have 3 and 4"},
    {"rejects_other_batches",
     "input %q : f32[2,2,3] input %k : f32[1,2,3] input %v : f32[2,2,3]",
     "attention(%q, %k, %v)",
     "axis 0 of q, k and v must be equally long, is 2, 1 and 2"},
    {"rejects_missing_values",
     "input %q : f32[2,3] input %k : f32[4,3] input %v : f32[5,3]",
     "attention(%q, %k, %v)", "there are 5 for 4"},
    {"rejects_no_keys", "input %q : f32[2,3] input %k : f32[0,3] input %v : f32[0,3]",
     "attention(%q, %k, %v)", "there are 0 for 0"},
    {"rejects_a_mask_that_does_not_stretch",
     "input %q : f32[2,3] input %k : f32[4,3] input %v : f32[4,3] input %m : f32[2,3]",
     "attention(%q, %k, %v, %m)", "axis 1 must be 1 or 4, is 3"},
    {"rejects_an_axis_named_twice",
     "input %q : f32[2,3] input %k : f32[4,3] input %v : f32[4,3]",
     "attention(%q, %k, %v) {perm_k=[1,1]}",
     "'perm_k' must be empty or name each of the 2 axes once"},
    {"rejects_a_short_permutation",
     "input %q : f32[2,3] input %k : f32[4,3] input %v : f32[4,3]",
     "attention(%q, %k, %v) {perm_y=[0]}",
     "'perm_y' must be empty or name each of the 2 axes once"},
};

static void check_refusal(void **state) {
    const refusal *r = *state;
    kiln_err err = {0};
    kiln_graph *g;
    const char *text =
        kiln_format(kiln_test_arena(), "graph \"g\" { %s %%y = %s output %%y }",
                    r->inputs, r->node);
    assert_int_not_equal(
        kiln_graph_parse(kiln_test_arena(), kiln_str_from(text), "text", &g, &err),
        KILN_OK);
    if (strstr(err.text, r->text) == NULL)
        fail_msg("'%s' must say '%s'", err.text, r->text);
}

int main(void) {
    kiln_test_add("is_what_it_is_short_for", is_what_it_is_short_for, NULL);
    kiln_test_add("chosen_elements_are_those_of_the_whole",
                  chosen_elements_are_those_of_the_whole, NULL);
    kiln_test_add("masked_keys_have_no_part", masked_keys_have_no_part, NULL);
    kiln_test_add_rows(check_refusal, refusals);
    return kiln_test_run("attention");
}
