/* matmul and gemm against loops: sizes around the blocks of the product, ranks 1 to 4,
 * batches that stretch, transpositions, factors of either sign. */
#include "compiler/graph/graph.h"

#include <math.h>

#include "tests/support/graph/node_run.h"

enum { RANK = 4 };

typedef struct row {
    const char *name;
    kiln_dtype dtype;
    int rank_a, rank_b;
    int64_t a[RANK], b[RANK];
    bool is_special; /* infinity and NaN in both */
    bool trans_b;
} row;

static row rows[] = {
    {"one", KILN_F32, 2, 2, {1, 1}, {1, 1}, false, false},
    {"primes", KILN_F32, 2, 2, {7, 13}, {13, 11}, false, false},
    {"more_terms_than_a_block", KILN_F64, 2, 2, {3, 521}, {521, 5}, false, false},
    {"terms_of_one_block", KILN_F64, 2, 2, {5, 256}, {256, 3}, false, false},
    {"more_rows_than_a_block", KILN_F32, 2, 2, {131, 3}, {3, 2}, false, false},
    {"more_columns_than_a_block", KILN_F32, 2, 2, {2, 3}, {3, 1031}, false, false},
    {"vector_by_vector", KILN_F32, 1, 1, {17}, {17}, false, false},
    {"vector_by_matrix", KILN_F32, 1, 2, {17}, {17, 5}, false, false},
    {"matrix_by_vector", KILN_F32, 2, 1, {5, 17}, {17}, false, false},
    {"vector_by_batches", KILN_F32, 1, 3, {3}, {4, 3, 2}, false, false},
    {"batches_by_vector", KILN_F32, 3, 1, {4, 2, 3}, {3}, false, false},
    {"batches", KILN_F32, 3, 3, {3, 2, 5}, {3, 5, 4}, false, false},
    {"batches_by_matrix", KILN_F32, 4, 2, {2, 3, 2, 5}, {5, 4}, false, false},
    {"batches_that_stretch", KILN_F32, 4, 4, {2, 1, 3, 5}, {1, 3, 5, 2}, false, false},
    {"batches_of_other_rank", KILN_F32, 3, 4, {3, 3, 5}, {2, 3, 5, 2}, false, false},
    {"half", KILN_F16, 2, 2, {5, 7}, {7, 3}, false, false},
    {"small_ints_wrap", KILN_I8, 2, 2, {5, 17}, {17, 3}, false, false},
    {"ints", KILN_U64, 3, 2, {2, 5, 17}, {17, 3}, false, false},
    {"no_terms", KILN_F32, 2, 2, {3, 0}, {0, 2}, false, false},
    {"no_rows", KILN_F32, 2, 2, {0, 3}, {3, 2}, false, false},
    {"no_batches", KILN_F32, 3, 2, {0, 2, 3}, {3, 2}, false, false},
    {"infinity_and_nan", KILN_F32, 2, 2, {5, 7}, {7, 6}, true, false},
    {"turned", KILN_F32, 2, 2, {7, 13}, {11, 13}, false, true},
    {"turned_batches", KILN_F64, 3, 3, {3, 2, 5}, {3, 4, 5}, false, true},
    {"turned_batches_that_stretch",
     KILN_F32,
     4,
     3,
     {2, 1, 3, 5},
     {4, 2, 5},
     false,
     true},
    {"turned_by_vector", KILN_F32, 1, 3, {5}, {4, 3, 5}, false, true},
    {"a_vector_is_not_turned", KILN_F32, 3, 1, {4, 2, 3}, {3}, false, true},
    {"turned_more_terms_than_a_block", KILN_F64, 2, 2, {3, 521}, {5, 521}, false, true},
    {"turned_ints_wrap", KILN_I8, 3, 2, {2, 5, 17}, {3, 17}, false, true},
    {"turned_without_terms", KILN_F32, 2, 2, {3, 0}, {2, 0}, false, true},
    {"turned_infinity_and_nan", KILN_F32, 2, 2, {5, 7}, {6, 7}, true, true},
};

static void put_type(kiln_buf *b, const char *name, kiln_dtype dtype, int rank,
                     const int64_t *dim) {
    kiln_buf_printf(b, "input %%%s : %s[", name, kiln_dtype_name(dtype));
    for (int i = 0; i < rank; i++)
        kiln_buf_printf(b, "%s%lld", i == 0 ? "" : ",", (long long)dim[i]);
    kiln_buf_puts(b, "] ");
}

static const char *text_of(kiln_arena *a, const kiln_buf *b) {
    return kiln_format(a, "%.*s", (int)kiln_buf_str(b).n, kiln_buf_str(b).p);
}

/* Batch coordinates of an operand: the last of y's, 0 on an axis of 1. */
static int64_t batch_of(const kiln_type *t, int n_batch, const int64_t *y) {
    int64_t at = 0;
    for (int i = 0; i < t->rank - 2; i++) {
        const int64_t c = y[n_batch - (t->rank - 2) + i];
        at = at * t->dim[i] + (t->dim[i] == 1 ? 0 : c);
    }
    return at;
}

static kiln_test_element matmul_at(const kiln_test_node *t, const void *user,
                                   int64_t index) {
    const row *r = user;
    const kiln_wide *a = &t->in[0], *b = &t->in[1];
    const kiln_type *out = &t->out[0].type;
    int64_t y[RANK];
    kiln_test_unravel(index, out->rank, out->dim, y);
    int n = out->rank;
    const int64_t j = r->rank_b > 1 ? y[--n] : 0, i = r->rank_a > 1 ? y[--n] : 0;
    const int64_t rows_a = r->rank_a > 1 ? r->a[r->rank_a - 2] : 1;
    const bool is_turned = r->trans_b && r->rank_b > 1;
    const int64_t cols_b = r->rank_b > 1 ? r->b[r->rank_b - (is_turned ? 2 : 1)] : 1;
    const int64_t terms = r->a[r->rank_a - 1];
    const int64_t ba = batch_of(&a->type, n, y), bb = batch_of(&b->type, n, y);
    kiln_test_element e = {0};
    for (int64_t k = 0; k < terms; k++)
        kiln_test_element_add(&e, a, (ba * rows_a + i) * terms + k, b,
                              bb * terms * cols_b +
                                  (is_turned ? j * terms + k : k * cols_b + j));
    return e;
}

static void check_matmul(void **state) {
    const row *r = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_test_node t;
    kiln_buf b;
    kiln_buf_init(&b, &a);
    put_type(&b, "a", r->dtype, r->rank_a, r->a);
    put_type(&b, "b", r->dtype, r->rank_b, r->b);
    kiln_buf_printf(&b, "%%y = matmul(%%a, %%b)%s output %%y",
                    r->trans_b ? " {trans_b=true}" : "");
    kiln_assert_status_ok(kiln_test_node_parse(&t, &a, text_of(&a, &b), &err), &err);
    for (int k = 0; r->is_special && k < 2; k++) {
        t.in[k].f[0] = (double)INFINITY;
        t.in[k].f[1] = 0;
        t.in[k].f[kiln_type_elems(&t.in[k].type) - 1] = (double)NAN;
    }
    kiln_test_node_check(&t, matmul_at, r);
    kiln_arena_fini(&a);
}

typedef struct gemm_row {
    const char *name;
    kiln_dtype dtype;
    int64_t m, n, k;
    bool trans_a, trans_b;
    double alpha, beta;
    int rank_c; /* -1: no addend */
    int64_t c[2];
} gemm_row;

static gemm_row gemm_rows[] = {
    {"gemm_plain", KILN_F32, 7, 11, 13, false, false, 1, 1, -1, {0}},
    {"gemm_trans_a", KILN_F32, 7, 11, 13, true, false, 1, 1, 2, {7, 11}},
    {"gemm_trans_b", KILN_F32, 7, 11, 13, false, true, 2, 1, 1, {11}},
    {"gemm_trans_both", KILN_F64, 5, 3, 521, true, true, 0.5, -2, 2, {5, 1}},
    {"gemm_row_addend", KILN_F32, 17, 20, 3, false, false, 1, 0.25, 2, {1, 20}},
    {"gemm_scalar_addend", KILN_F32, 3, 2, 1, false, false, 1, 3, 0, {0}},
    {"gemm_one_addend", KILN_F32, 3, 2, 1, false, true, 1, 3, 1, {1}},
    {"gemm_no_terms", KILN_F32, 3, 2, 0, false, false, 1, 3, 2, {3, 2}},
    {"gemm_factors_below_0", KILN_F32, 5, 4, 3, false, false, -1, -1, 2, {5, 4}},
    {"gemm_difference", KILN_F32, 5, 4, 3, false, false, 1, -1, 2, {5, 4}},
    {"gemm_factor_0", KILN_F32, 5, 4, 3, false, false, 0, 1, 2, {5, 4}},
    {"gemm_ints_wrap", KILN_I8, 5, 4, 17, true, false, -3, 7, 1, {4}},
};

static kiln_test_element gemm_at(const kiln_test_node *t, const void *user,
                                 int64_t index) {
    const gemm_row *r = user;
    const int64_t i = index / r->n, j = index % r->n;
    kiln_test_element e = {0};
    for (int64_t k = 0; k < r->k; k++)
        kiln_test_element_add(&e, &t->in[0], r->trans_a ? k * r->m + i : i * r->k + k,
                              &t->in[1], r->trans_b ? j * r->k + k : k * r->n + j);
    e.f *= r->alpha;
    e.magnitude *= fabs(r->alpha);
    e.narrow *= (float)r->alpha;
    e.i *= (uint64_t)(int64_t)r->alpha;
    if (r->rank_c < 0)
        return e;
    const int64_t c_rows = r->rank_c == 2 ? r->c[0] : 1;
    const int64_t c_cols = r->rank_c == 0 ? 1 : r->c[r->rank_c - 1];
    const int64_t at = (c_rows == 1 ? 0 : i) * c_cols + (c_cols == 1 ? 0 : j);
    if (t->in[2].f == NULL) {
        e.i += (uint64_t)(int64_t)r->beta * (uint64_t)t->in[2].i[at];
        return e;
    }
    e.f += r->beta * t->in[2].f[at];
    e.magnitude += fabs(r->beta * t->in[2].f[at]);
    e.narrow += (float)r->beta * (float)t->in[2].f[at];
    return e;
}

static void check_gemm(void **state) {
    const gemm_row *r = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_test_node t;
    kiln_buf b;
    kiln_buf_init(&b, &a);
    put_type(&b, "a", r->dtype, 2,
             r->trans_a ? (int64_t[]){r->k, r->m} : (int64_t[]){r->m, r->k});
    put_type(&b, "b", r->dtype, 2,
             r->trans_b ? (int64_t[]){r->n, r->k} : (int64_t[]){r->k, r->n});
    if (r->rank_c >= 0)
        put_type(&b, "c", r->dtype, r->rank_c, r->c);
    kiln_buf_printf(
        &b, "%%y = gemm(%%a, %%b%s) {alpha=%.2f, beta=%.2f, trans_a=%s, trans_b=%s} ",
        r->rank_c >= 0 ? ", %c" : "", r->alpha, r->beta, r->trans_a ? "true" : "false",
        r->trans_b ? "true" : "false");
    kiln_buf_puts(&b, "output %y");
    kiln_assert_status_ok(kiln_test_node_parse(&t, &a, text_of(&a, &b), &err), &err);
    kiln_test_node_check(&t, gemm_at, r);
    kiln_arena_fini(&a);
}

/* a * b and c of one size and opposite factors: the bound must not vanish with the sum
 * of their absolute values' difference. */
static void check_cancelling_bound(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_test_node t;
    kiln_assert_status_ok(
        kiln_test_node_parse(&t, &a,
                             "input %a : f32[1,1] input %b : f32[1,1] input %c : "
                             "f32[1,1] %y = gemm(%a, %b, %c) {beta=-1.0} output %y",
                             &err),
        &err);
    t.in[0].f[0] = 3;
    t.in[1].f[0] = 1.0 / 3;
    t.in[2].f[0] = 1;
    kiln_test_node_run(&t);
    const int64_t pick = 0;
    double value, bound;
    kiln_assert_status_ok(
        kiln_ref_pick(&a, t.node, t.native, &pick, 1, &value, &bound, &err), &err);
    assert_true(bound >= 2 * 0x1p-24 && bound <= 32 * 0x1p-24);
    kiln_arena_fini(&a);
}

#define AB "input %a : f32[2,3] input %b : f32[3,4] "

static kiln_test_refusal refusals[] = {
    {"matmul_of_scalar",
     "input %a : f32[] input %b : f32[3] %y = matmul(%a, %b) output %y", KILN_ERR_SHAPE,
     "operands must have rank >= 1, have ranks 0 and 1"},
    {"matmul_of_lengths_that_differ", AB "%y = matmul(%b, %a) output %y",
     KILN_ERR_SHAPE,
     "the last axis of 'a' must be as long as the second last of 'b', is 4 and 2"},
    {"matmul_of_batches_that_differ",
     "input %a : f32[2,1,3] input %b : f32[3,3,1] %y = matmul(%a, %b) output %y",
     KILN_ERR_SHAPE, "2"},
    {"matmul_of_turned_lengths_that_differ",
     "input %a : f32[2,3] input %b : f32[3,2] %y = matmul(%a, %b) {trans_b=true} "
     "output %y",
     KILN_ERR_SHAPE, "the last axis of 'a' must be as long as the last of 'b'"},
    {"matmul_of_dtypes_that_differ",
     "input %a : f32[3] input %b : f64[3] %y = matmul(%a, %b) output %y",
     KILN_ERR_SHAPE, "'b'"},
    {"gemm_of_vector",
     "input %a : f32[3] input %b : f32[3,1] %y = gemm(%a, %b) output %y",
     KILN_ERR_SHAPE, "input 'a' must have rank 2"},
    {"gemm_of_lengths_that_differ", AB "%y = gemm(%a, %b) {trans_b=true} output %y",
     KILN_ERR_SHAPE, "'a' and 'b' must agree in the axis that is summed, have 3 and 4"},
    {"gemm_addend_of_other_shape",
     AB "input %c : f32[3] %y = gemm(%a, %b, %c) output %y", KILN_ERR_SHAPE,
     "input 'c' must stretch to [2,4], is [3]"},
    {"gemm_addend_of_rank_3",
     AB "input %c : f32[1,2,4] %y = gemm(%a, %b, %c) output %y", KILN_ERR_SHAPE,
     "input 'c' must stretch to [2,4], is [1,2,4]"},
    {"gemm_of_integers_with_half_factor",
     "input %a : i8[2,3] input %b : i8[3,4] %y = gemm(%a, %b) {alpha=0.5} output %y",
     KILN_ERR_SHAPE, "attribute 'alpha' must be a whole number for i8, is 0.5"},
};

int main(void) {
    kiln_test_add_rows(check_matmul, rows);
    kiln_test_add_rows(check_gemm, gemm_rows);
    kiln_test_add("bounds_terms_that_cancel", check_cancelling_bound, NULL);
    kiln_test_add_rows(kiln_test_check_refusal, refusals);
    return kiln_test_run("matmul");
}
