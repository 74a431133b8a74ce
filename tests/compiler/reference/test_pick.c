/* kiln_ref_pick: chosen elements equal those of a whole run, and the bound is what the
 * row's kind says. */
#include "compiler/reference/reference.h"

#include <math.h>
#include <string.h>

#include "tests/support/kiln_test.h"

typedef struct row {
    const char *name;
    const char *node; /* makes %y from %x f32[1,2,4,4] and the constants */
    bool is_whole;    /* the row cannot pick, so all is computed */
} row;

static row rows[] = {
    {"element_wise", "%y = sigmoid(%x)", false},
    {"broadcast", "%y = add(%x, %b)", false},
    {"convolution", "%y = conv(%x, %w, %c)", false},
    {"pooling", "%y = max_pool(%x) {kernel=[2, 2]}", false},
    {"transposition", "%y = transpose(%x) {perm=[3, 1, 0, 2]}", false},
    {"reduction", "%y = reduce_sum(%x) {axes=[1, 2]}", false},
    {"type_only", "%y = shape(%x)", true},
};

static kiln_graph *make(const row *r) {
    const char *text = kiln_format(
        kiln_test_arena(),
        "graph \"g\" { input %%x : f32[1,2,4,4] const %%b : f32[4] = {1, 2, 3, 4} "
        "const %%w : f32[3,2,2,2] = {0.5 x 24} const %%c : f32[3] = {1, 2, 3} %s "
        "output "
        "%%y }",
        r->node);
    kiln_err err = {0};
    kiln_graph *g = NULL;
    kiln_assert_status_ok(
        kiln_graph_parse(kiln_test_arena(), kiln_str_from(text), "test", &g, &err),
        &err);
    return g;
}

/* Native inputs of the only node: %x random, the rest constants. */
static kiln_tensor *inputs(const kiln_graph *g) {
    const kiln_node *n = g->nodes.v[0];
    kiln_arena *a = kiln_test_arena();
    kiln_tensor *in = kiln_array(a, kiln_tensor, n->n_in);
    for (int k = 0; k < n->n_in; k++) {
        const kiln_type *t = &n->in[k]->type;
        in[k] = kiln_ref_random(a, t, kiln_test_seed());
        if (kiln_value_is_const(n->in[k]))
            in[k].data = kiln_arena_dup(a, n->in[k]->data, (size_t)kiln_type_bytes(t));
    }
    return in;
}

static void check_same_as_whole(void **state) {
    const row *r = *state;
    kiln_graph *g = make(r);
    const kiln_node *n = g->nodes.v[0];
    kiln_tensor *in = inputs(g), whole;
    kiln_err err = {0};
    kiln_arena *a = kiln_test_arena();
    kiln_assert_status_ok(kiln_ref_eval_node(a, n, in, &whole, &err), &err);
    const int64_t n_elems = kiln_type_elems(&whole.type);
    const int64_t pick[] = {n_elems - 1, 0, n_elems / 2, 0};
    double got[4], bound[4];
    assert_int_equal(n->op->can_pick, !r->is_whole);
    kiln_assert_status_ok(kiln_ref_pick(a, n, in, pick, 4, got, bound, &err), &err);
    kiln_wide want = kiln_wide_new(a, &whole.type);
    kiln_widen(&whole.type, whole.data, &want);
    for (int j = 0; j < 4; j++) {
        const double w = want.f != NULL ? want.f[pick[j]] : (double)want.i[pick[j]];
        assert_true(fabs(got[j] - w) <= bound[j]);
        assert_true(bound[j] >= 0 && bound[j] < 1e-4);
    }
}

static double bound_at(const char *text, kiln_tensor *in, double *value) {
    kiln_err err = {0};
    kiln_graph *g = NULL;
    kiln_assert_status_ok(
        kiln_graph_parse(kiln_test_arena(), kiln_str_from(text), "test", &g, &err),
        &err);
    const int64_t pick = 0;
    double bound = -1;
    kiln_assert_status_ok(kiln_ref_pick(kiln_test_arena(), g->nodes.v[0], in, &pick, 1,
                                        value, &bound, &err),
                          &err);
    return bound;
}

/* DOT: the magnitude is the sum of |a * b|, though the sum itself cancels. */
static void check_dot(void **state) {
    (void)state;
    const int64_t dim[] = {1, 2}, dim_b[] = {2, 1};
    float a[] = {1, -1}, b[] = {3, 3};
    kiln_tensor in[] = {{kiln_type_make(KILN_F32, 2, dim), a},
                        {kiln_type_make(KILN_F32, 2, dim_b), b}};
    double v;
    const double bound =
        bound_at("graph \"g\" { input %a : f32[1,2] input %b : f32[2,1] "
                 "%y = matmul(%a, %b) output %y }",
                 in, &v);
    assert_true(v == 0);
    assert_true(a[1] == -1); /* the caller's data is not made absolute */
    /* at least k * 2^-24 * 6, at most a few times that */
    assert_true(bound >= 2 * 6 * ldexp(1, -24) && bound < 40 * ldexp(1, -24));
}

/* DOT: what a product of subnormals loses is no share of it; products of zeros lose
 * nothing. */
static void check_underflow(void **state) {
    (void)state;
    const int64_t dim[] = {1, 2}, dim_b[] = {2, 1};
    float a[] = {0x1p-147F, 0x1p-148F}, b[] = {0x1p-4F, 0x1p-4F};
    kiln_tensor in[] = {{kiln_type_make(KILN_F32, 2, dim), a},
                        {kiln_type_make(KILN_F32, 2, dim_b), b}};
    static const char text[] = "graph \"g\" { input %a : f32[1,2] input %b : f32[2,1] "
                               "%y = matmul(%a, %b) output %y }";
    double v;
    double bound = bound_at(text, in, &v);
    assert_true(v == 0x1p-151 + 0x1p-152);
    assert_true(bound >= v && bound < 0x1p-147); /* in f32 both products are 0 */
    b[0] = b[1] = 0;
    bound = bound_at(text, in, &v);
    assert_true(v == 0 && bound == 0);
}

/* EXACT: a selection of f32 elements is met to the bit. */
static void check_exact(void **state) {
    (void)state;
    const int64_t n = 1;
    float a[] = {1}, b[] = {0x1p-24F};
    const kiln_type t = kiln_type_make(KILN_F32, 1, &n);
    kiln_tensor in[] = {{t, a}, {t, b}};
    double v;
    const double bound = bound_at("graph \"g\" { input %a : f32[1] input %b : f32[1] "
                                  "%y = max(%a, %b) output %y }",
                                  in, &v);
    assert_true(v == 1 && bound == 0);
}

static void check_special(void **state) {
    (void)state;
    const int64_t n = 1;
    float a[] = {NAN};
    const kiln_type t = kiln_type_make(KILN_F32, 1, &n);
    kiln_tensor in[] = {{t, a}};
    double v;
    const double bound =
        bound_at("graph \"g\" { input %a : f32[1] %y = exp(%a) output %y }", in, &v);
    assert_true(isnan(v) && bound == 0);
}

/* ---- straight from f32 ----------------------------------------------------------- */

/* A node of inputs alone, the first of them wider than one block of a sum. */
typedef struct direct_row {
    const char *name, *text;
    bool has_infinity; /* the last element of input 1 */
} direct_row;

static direct_row direct_rows[] = {
    {"conv",
     "input %x : f32[2,32,7,6] input %w : f32[8,32,3,3] input %b : f32[8] "
     "%y = conv(%x, %w, %b) {pads=[1, 0, 2, 1], strides=[2, 1]}",
     false},
    {"conv_infinite_weight",
     "input %x : f32[2,32,7,6] input %w : f32[8,32,3,3] "
     "%y = conv(%x, %w) {pads=[1, 1, 1, 1]}",
     true},
    {"conv_groups_dilated",
     "input %x : f32[1,8,9,9] input %w : f32[12,4,3,2] "
     "%y = conv(%x, %w) {groups=2, dilations=[2, 3], pads=[2, 2, 2, 2]}",
     false},
    {"conv_few_channels",
     "input %x : f32[1,300,5] input %w : f32[3,300,1] %y = conv(%x, %w)", false},
    {"gemm",
     "input %a : f32[5,517] input %b : f32[517,7] input %c : f32[7] "
     "%y = gemm(%a, %b, %c) {alpha=-0.75, beta=-3}",
     false},
    {"gemm_transposed",
     "input %a : f32[300,3] input %b : f32[6,300] input %c : f32[3,1] "
     "%y = gemm(%a, %b, %c) {trans_a=true, trans_b=true}",
     true},
    {"gemm_nothing_to_add", "input %a : f32[2,0] input %b : f32[0,3] %y = gemm(%a, %b)",
     false},
    {"matmul", "input %a : f32[3,1,5,260] input %b : f32[2,260,4] %y = matmul(%a, %b)",
     false},
    {"matmul_vectors", "input %a : f32[600] input %b : f32[600] %y = matmul(%a, %b)",
     false},
};

/* Models' files have parameters anywhere. */
static void displace(kiln_tensor *t) {
    const size_t bytes = (size_t)kiln_type_bytes(&t->type);
    char *to = kiln_arena_alloc(kiln_test_arena(), bytes + 1);
    memcpy(to + 1, t->data, bytes);
    t->data = to + 1;
}

static void check_direct(void **state) {
    const direct_row *r = *state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_graph *g = NULL;
    const char *text = kiln_format(a, "graph \"g\" { %s output %%y }", r->text);
    kiln_assert_status_ok(kiln_graph_parse(a, kiln_str_from(text), "test", &g, &err),
                          &err);
    kiln_node n = *g->nodes.v[0];
    kiln_op_def wide = *n.op;
    assert_non_null(wide.pick_f32);
    wide.pick_f32 = NULL;
    kiln_tensor *in = kiln_array(a, kiln_tensor, n.n_in);
    for (int k = 0; k < n.n_in; k++) {
        const kiln_type *t = &n.in[k]->type;
        in[k] = kiln_ref_random(a, t, kiln_test_seed() + (uint64_t)k);
        if (k == 1 && r->has_infinity)
            ((float *)in[k].data)[kiln_type_elems(t) - 1] = -INFINITY;
        displace(&in[k]);
    }
    const int64_t n_elems = kiln_type_elems(&n.out[0]->type);
    int64_t *pick = kiln_array(a, int64_t, n_elems);
    double *value[2], *bound[2];
    for (int64_t j = 0; j < n_elems; j++)
        pick[j] = n_elems - 1 - j;
    for (int side = 0; side < 2; side++) {
        value[side] = kiln_array(a, double, n_elems);
        bound[side] = kiln_array(a, double, n_elems);
        kiln_assert_status_ok(
            kiln_ref_pick(a, &n, in, pick, n_elems, value[side], bound[side], &err),
            &err);
        n.op = &wide;
    }
    for (int64_t j = 0; j < n_elems; j++) {
        assert_true(value[0][j] == value[1][j] ||
                    (isnan(value[0][j]) && isnan(value[1][j])));
        assert_true(bound[0][j] == bound[1][j]);
    }
    const size_t odd = n_elems > 4 ? 3 : 1; /* fewer than are summed together */
    kiln_assert_status_ok(
        kiln_ref_pick(a, g->nodes.v[0], in, pick, (int64_t)odd, value[1], NULL, &err),
        &err);
    for (size_t j = 0; j < odd; j++)
        assert_true(value[0][j] == value[1][j] || isnan(value[0][j]));
}

static void check_direct_input(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_graph *g = NULL;
    kiln_assert_status_ok(
        kiln_graph_parse(a,
                         kiln_str_from("graph \"g\" { input %a : f32[2,3] input %b : "
                                       "f32[3,2] %y = matmul(%a, %b) output %y }"),
                         "test", &g, &err),
        &err);
    const int64_t pick = 0, dim[] = {2, 2};
    const kiln_type other = kiln_type_make(KILN_F32, 2, dim);
    double v;
    kiln_tensor in[] = {kiln_ref_random(a, &g->inputs.v[0]->type, 1),
                        kiln_ref_random(a, &other, 2)};
    kiln_assert_fails(kiln_ref_pick(a, g->nodes.v[0], in, &pick, 1, &v, NULL, &err),
                      KILN_ERR_SHAPE, &err, "input 'b' must be f32[3,2], is f32[2,2]");
    kiln_err_clear(&err);
    in[1].data = NULL;
    kiln_assert_fails(kiln_ref_pick(a, g->nodes.v[0], in, &pick, 1, &v, NULL, &err),
                      KILN_ERR_ARG, &err, "input 'b' of node 'matmul' must be given");
}

int main(void) {
    kiln_test_add_rows(check_same_as_whole, rows);
    kiln_test_add_rows(check_direct, direct_rows);
    kiln_test_add("direct_inputs_are_checked", check_direct_input, NULL);
    kiln_test_add("dot_bound_takes_absolute_values", check_dot, NULL);
    kiln_test_add("dot_bound_counts_underflow", check_underflow, NULL);
    kiln_test_add("exact_bound_is_nothing", check_exact, NULL);
    kiln_test_add("special_values_have_no_bound", check_special, NULL);
    return kiln_test_run("reference_pick");
}
