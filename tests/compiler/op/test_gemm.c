/* The reference's matrix product: each element has the bits of the sum that kiln_dot_f64
 * adds, whatever lies beside it: the panels that kernels take at once, the last block of
 * terms, rows and columns that are no whole panel. */
#include "compiler/op/gemm_f64.h"
#include "tests/support/kiln_test.h"

typedef struct size_row {
    const char *name;
    int64_t m, n, k;
} size_row;

static size_row size_rows[] = {
    {"one_element", 1, 1, 1},
    {"one_panel", 4, 4, 7},
    {"part_of_a_panel", 3, 3, 7},
    {"two_panels", 5, 8, 31},
    {"part_of_the_second", 4, 5, 31},
    {"three_panels", 4, 11, 31},
    {"part_of_the_fourth", 7, 13, 31},
    {"four_panels", 8, 16, 31},
    {"four_and_one", 8, 17, 31},
    {"four_and_three", 8, 27, 31},
    {"two_blocks_of_terms", 6, 23, KILN_GEMM_KC + 5},
    {"two_blocks_of_rows", KILN_GEMM_MC + 3, 21, 9},
    {"two_blocks_of_columns", 5, KILN_GEMM_NC + 15, 9},
};

static double *random_matrix(kiln_arena *a, kiln_rng *rng, int64_t n) {
    double *v = kiln_array(a, double, n);
    for (int64_t i = 0; i < n; i++)
        v[i] = kiln_rng_unit(rng) - 0.5;
    return v;
}

static void has_the_bits_of_its_sum(void **state) {
    const size_row *r = *state;
    kiln_arena *a = kiln_test_arena();
    kiln_rng rng;
    kiln_rng_init(&rng, kiln_test_seed());
    const double *x = random_matrix(a, &rng, r->m * r->k);
    const kiln_gemm_matrix y = {random_matrix(a, &rng, r->k * r->n), r->n, 1};
    double *c = random_matrix(a, &rng, r->m * r->n);
    const kiln_gemm_f64 g = {.m = r->m,
                             .n = r->n,
                             .k = r->k,
                             .a = x,
                             .a_row = r->k,
                             .a_col = 1,
                             .pack_b = kiln_gemm_pack_matrix,
                             .user = &y,
                             .c = c,
                             .c_row = r->n};
    kiln_gemm_f64_run(&g, a);
    for (int64_t i = 0; i < r->m; i++)
        for (int64_t j = 0; j < r->n; j++) {
            const double want = kiln_dot_f64(r->k, x + i * r->k, 1, y.b + j, r->n);
            assert_memory_equal(&c[i * r->n + j], &want, sizeof want);
        }
}

int main(void) {
    kiln_test_add_rows(has_the_bits_of_its_sum, size_rows);
    return kiln_test_run("gemm");
}
