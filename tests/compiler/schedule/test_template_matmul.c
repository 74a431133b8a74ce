/* The matmul and matmul_dot templates: random shapes and configurations equal the
 * reference; hot loops of the configurations that ship hold no spill.
 *
 * Tolerance: |x| <= 1 and k <= 70 terms, so a sum in f32 is within 70 * 70 * 2^-24 =
 * 3e-4 in any order; outputs in f16 and bf16 round once more. Integers are exact. */
#include "tests/support/kiln_test.h"
#include "tests/support/random/random_matmul.h"
#include "tests/support/random/random_work.h"
#include "tests/support/kernel/template_check.h"

#include <string.h>

/* ---- interpreted equals reference ------------------------------------------------ */

typedef struct property {
    const char *name;
    kiln_dtype dtype, sums;
    double rtol, atol;
    int runs;
} property;

static property properties[] = {
    {"f32_is_the_reference", KILN_F32, KILN_F32, 1e-5, 3e-4, 80},
    {"f16_is_the_reference", KILN_F16, KILN_F16, 4e-3, 4e-3, 16},
    {"bf16_is_the_reference", KILN_BF16, KILN_BF16, 3e-2, 3e-2, 16},
    {"f64_is_the_reference", KILN_F64, KILN_F64, 1e-12, 1e-12, 16},
    {"i32_is_the_reference", KILN_I32, KILN_I32, 0, 0, 16},
    {"i8_is_the_reference", KILN_I8, KILN_I8, 0, 0, 16},
    {"i8_summed_in_i32_is_the_reference", KILN_I8, KILN_I32, 0, 0, 16},
    {"u8_summed_in_i32_is_the_reference", KILN_U8, KILN_I32, 0, 0, 16},
};

static void random_configurations(void **state) {
    const property *p = *state;
    template_runs runs = {.n = p->runs};
    for (int64_t i = 0; template_runs_next(&runs, i); i++) {
        const bool is_gemm =
            p->dtype == p->sums && kiln_rng_range(&runs.rng, 0, 2) == 0;
        const kiln_graph *g =
            is_gemm
                ? random_gemm(runs.arena, &runs.rng, p->dtype, RANDOM_LARGE)
                : random_matmul(runs.arena, &runs.rng, p->dtype, p->sums, RANDOM_LARGE);
        const template_check t = {
            .tmpl = &kiln_template_matmul, .rtol = p->rtol, .atol = p->atol};
        if (!template_runs_check(&runs, &t, g)) /* only a product of two vectors */
            assert_int_equal(g->outputs.v[0]->type.rank, 0);
    }
}

/* ---- refusals -------------------------------------------------------------------- */

static kiln_graph *product_of(kiln_arena *a, int64_t m, int64_t k, int64_t n,
                              bool is_const) {
    const kiln_type ta = kiln_type_make(KILN_F32, 2, (int64_t[]){m, k});
    const kiln_type tb = kiln_type_make(KILN_F32, 2, (int64_t[]){k, n});
    kiln_graph *g = kiln_graph_new(a, "product");
    kiln_value *in[2] = {random_operand(g, "a", &ta, false, 1),
                         random_operand(g, "b", &tb, is_const, 2)};
    kiln_graph_add_output(g, graph_node(g, &kiln_op_matmul, in, 2), "y");
    return g;
}

static void refuses_tiles_that_spill(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_workload w;
    kiln_space s;
    kiln_profile avx2;
    kiln_assert_status_ok(kiln_profile_find(a, "x86-avx2", &avx2, &err), &err);
    const template_check t = {.tmpl = &kiln_template_matmul, .profile = &avx2};
    kiln_assert_status_ok(kiln_workload_of(product_of(a, 64, 8, 64, true), &w, &err),
                          &err);
    kiln_space_init(&s, a);
    kiln_assert_status_ok(t.tmpl->space(&w, t.profile, &s, &err), &err);
    kiln_config c = t.tmpl->guess(&w, t.profile, &s);
    template_set(&s, &c, "tile_m", 8);
    template_set(&s, &c, "tile_n", 16);
    assert_false(template_check_run(a, &t, &w, &s, &c, &err));
    assert_non_null(strstr(err.text, "tile_m 8 by tile_n 16 needs 19 vector registers, "
                                     "'x86-avx2' has 16"));
}

/* ---- guesses --------------------------------------------------------------------- */

/* Of two cores with 1 MiB of L2 cache each and 32 MiB of L3 cache. */
typedef struct guess_row {
    const char *name;
    int64_t m, k, n;
    const char *has[3], *has_not; /* parts of the configuration */
    int l3_rate;                  /* 0: the profile's */
} guess_row;

static guess_row guess_rows[] = {
    {"reads_a_b_from_memory_once", 35, 650, 10000, {"\"order\": \"columns\""}, NULL, 0},
    /* Each panel is fetched while the one before it is multiplied: all of b for each of
     * four panels of rows took 1.4 times as long on Zen 5. */
    {"fetches_a_b_that_is_in_no_near_cache",
     36,
     650,
     2592,
     {"\"order\": \"columns\"", "\"pack_a\": \"no\""},
     NULL,
     0},
    {"keeps_few_rows_while_a_b_in_cache_passes",
     36,
     650,
     192,
     {"\"order\": \"rows\""},
     NULL,
     0},
    {"fuses_no_loops_that_leave_rows_over",
     100,
     300,
     1000,
     {"\"order\": \"columns\""},
     "\"parallel\": \"all\"",
     0},
    {"makes_no_few_blocks_that_leave_rows_over",
     1000,
     700,
     700,
     {"\"block_m\": 0", "\"order\": \"columns\""},
     NULL,
     0},
    {"makes_many_blocks", 3000, 1500, 1500, {NULL}, "\"block_m\": 0", 0},
    {"keeps_rows_that_meet_in_the_cache",
     300,
     1024,
     1000,
     {"\"order\": \"rows\"", "\"pack_a\": \"no\""},
     NULL,
     0},
    {"shares_columns_where_there_is_one_panel_of_rows",
     7,
     512,
     1000,
     {"\"order\": \"columns\"", "\"pack_a\": \"no\"", "\"parallel\": \"tiles\""},
     NULL,
     0},
    /* Rows that the L2 cache does not hold come once, where they came from behind it,
     * slowly, for each panel of columns. */
    {"reads_a_once_where_b_stays_near",
     1500,
     384,
     384,
     {"\"order\": \"rows\"", "\"block_n\": 0"},
     NULL,
     5},
    {"reads_a_once_for_each_block_of_b_that_stays_near",
     1500,
     384,
     1536,
     {"\"order\": \"rows\""},
     "\"block_n\": 0",
     5},
};

static void check_guess(void **state) {
    const guess_row *r = *state;
    kiln_arena *a = kiln_test_arena();
    const kiln_template *t = &kiln_template_matmul;
    kiln_err err = {0};
    kiln_workload w;
    kiln_space s;
    kiln_profile p;
    kiln_buf b;
    kiln_assert_status_ok(kiln_profile_find(a, "x86-avx512", &p, &err), &err);
    p.cores = 2;
    p.l2_bytes = 1 << 20;
    p.l3_bytes = 1 << 25;
    if (r->l3_rate > 0)
        p.core.l3_rate = r->l3_rate;
    kiln_assert_status_ok(
        kiln_workload_of(product_of(a, r->m, r->k, r->n, true), &w, &err), &err);
    kiln_space_init(&s, a);
    kiln_assert_status_ok(t->space(&w, &p, &s, &err), &err);
    const kiln_config c = t->guess(&w, &p, &s);
    kiln_buf_init(&b, a);
    kiln_config_json(&b, t, &s, &c);
    const char *text = b.p; /* a buffer ends in 0 */
    print_message("%s\n", text);
    for (int i = 0; i < 3 && r->has[i] != NULL; i++)
        assert_non_null(strstr(text, r->has[i]));
    if (r->has_not != NULL)
        assert_null(strstr(text, r->has_not));
}

/* ---- packed weights fetched ------------------------------------------------------ */

typedef struct fetch_row {
    const char *name;
    int64_t m, k, n, l2;
    int line_bytes;
    const char *want; /* what the loop over terms fetches first; NULL: nothing */
    int cores;        /* 0: one */
    template_knob knobs[4];
} fetch_row;

#define AS_GUESSED                                                                     \
    0, {                                                                               \
        { NULL, 0, NULL }                                                              \
    }

/* Tiles of 8 rows by 48 columns; a panel of 64 terms is 3072 elements. */
static fetch_row fetch_rows[] = {
    /* 12 tiles of 64 steps have 4 elements each. */
    {"each_tile_of_rows_fetches_a_part_of_the_next_panel", 96, 64, 480, 65536, 0,
     "b[i1.inner.outer*3072 + k.outer*4 + i0.inner.outer*256 + 3072])", AS_GUESSED},
    /* 128 steps for 192 lines: two at a time. */
    {"few_steps_fetch_several_lines", 16, 64, 480, 65536, 0,
     "b[i1.inner.outer*3072 + k.outer*32 + i0.inner.outer*2048 + 3088])", AS_GUESSED},
    {"longer_lines_are_fewer", 16, 64, 480, 65536, 128,
     "b[i1.inner.outer*3072 + k.outer*32 + i0.inner.outer*2048 + 3072])", AS_GUESSED},
    /* 48 tiles fetch all of it, of 108. */
    {"many_tiles_begin_again", 864, 64, 336, 65536, 0,
     "b[i1.inner.outer*3072 + k.outer + i0.inner.outer % 48*64 + 3072])", AS_GUESSED},
    /* 400 cycles of 8 bytes are 17 steps of 48 elements. */
    {"the_own_panel_where_two_are_too_large", 96, 256, 480, 65536, 0,
     "b[i1.inner.outer*12288 + k.outer*48 + 848])", AS_GUESSED},
    /* Rows and columns are one loop that 7 cores share: 12 of its iterations pass a
     * panel. */
    {"tiles_of_one_loop_fetch_too",
     96,
     64,
     480,
     65536,
     0,
     "b[i1.inner.outer.i0.inner.outer.fused // 12*3072 + k.outer*4 + "
     "i1.inner.outer.i0.inner.outer.fused % 12*256 + 3072])",
     7,
     {{NULL, 0, NULL}}},
    /* 5 panels: the next one's terms of the cut; behind the last the first's of the next
     * cut, 5 panels nearer and 64 terms further. */
    {"a_cut_fetches_its_own_terms",
     96,
     256,
     240,
     65536,
     0,
     "b[i1.inner.outer*12288 + k.outer*3072 + k.inner.outer*16 - "
     "(i1.inner.outer + 1) // 5*58368 + i0.inner.outer % 3*1024 + 12288])",
     0,
     {{"block_k", 64, NULL}}},
    {"blocks_of_columns_are_cut_by_themselves",
     96,
     256,
     192,
     65536,
     0,
     "b[i1.outer.i0.outer.fused // 3*24576 + i1.inner.outer*12288 + k.outer*3072 + "
     "k.inner.outer*16 - (i1.inner.outer + 1) // 2*21504 + i0.inner.outer % 3*1024 + "
     "12288])",
     2,
     {{"block_k", 64, NULL}, {"block_n", 2, NULL}, {"parallel", 0, "blocks"}}},
    {"a_panel_that_is_cut_by_itself_fetches_its_next_terms",
     96,
     256,
     240,
     65536,
     0,
     "b[i0.outer.i1.inner.outer.fused % 5*12288 + k.outer*3072 + k.inner.outer*16 + "
     "i0.inner.outer % 3*1024 + 3072])",
     2,
     {{"block_k", 64, NULL}, {"parallel", 0, "tiles"}}},
    {"one_tile_is_a_stream_that_hardware_follows", 8, 64, 480, 65536, 0, NULL,
     AS_GUESSED},
    {"what_the_cache_holds_comes_by_itself", 96, 64, 480, 1 << 20, 0, NULL, AS_GUESSED},
};

/* What the program fetches; compiled and run where this machine can. */
static void fetches_what_comes(void **state) {
    static const int64_t most_terms = 10000000; /* the others are half of that */
    const fetch_row *r = *state;
    if (r->m * r->k * r->n > most_terms)
        kiln_test_skip_repeat();
    kiln_profile p;
    template_check t = template_check_on(&kiln_template_matmul, "x86-avx512", &p, 3e-3);
    p.cores = r->cores > 0 ? r->cores : 1;
    p.l2_bytes = r->l2;
    p.core.line_bytes = r->line_bytes;
    t.knobs = r->knobs;
    template_check_fetch(&t, product_of(kiln_test_arena(), r->m, r->k, r->n, true),
                         r->want);
}

/* ---- code ------------------------------------------------------------------------ */

typedef struct hot_row {
    const char *name, *profile;
    const kiln_template *tmpl;
    int64_t m, k, n;
    bool is_const;
    template_hot_loop want;
} hot_row;

static hot_row hot_rows[] = {
    {"avx512_square",
     "x86-avx512",
     &kiln_template_matmul,
     1024,
     1024,
     1024,
     true,
     {24, 48}},
    {"avx512_square_of_two_inputs",
     "x86-avx512",
     &kiln_template_matmul,
     1024,
     1024,
     1024,
     false,
     {24, 48}},
    {"avx512_wide",
     "x86-avx512",
     &kiln_template_matmul,
     128,
     768,
     3072,
     true,
     {24, 48}},
    {"avx512_deep",
     "x86-avx512",
     &kiln_template_matmul,
     128,
     3072,
     768,
     true,
     {24, 48}},
    {"avx512_odd", "x86-avx512", &kiln_template_matmul, 1000, 17, 1000, true, {24, 48}},
    {"avx512_vector",
     "x86-avx512",
     &kiln_template_matmul,
     1,
     1024,
     1000,
     true,
     {8, 24}},
    {"avx2_square",
     "x86-avx2",
     &kiln_template_matmul,
     1024,
     1024,
     1024,
     true,
     {12, 26}},
    {"avx2_square_of_two_inputs",
     "x86-avx2",
     &kiln_template_matmul,
     1024,
     1024,
     1024,
     false,
     {12, 26}},
    {"avx2_wide", "x86-avx2", &kiln_template_matmul, 128, 768, 3072, true, {12, 26}},
    {"avx512_matrix_by_vector",
     "x86-avx512",
     &kiln_template_matmul_dot,
     1000,
     512,
     1,
     true,
     {8, 24}},
    {"avx2_matrix_by_vector",
     "x86-avx2",
     &kiln_template_matmul_dot,
     1000,
     512,
     1,
     false,
     {8, 24}},
    {"avx2_vector", "x86-avx2", &kiln_template_matmul, 1, 1024, 1000, true, {16, 24}},
};

static void hot_loop_is_clean(void **state) {
    const hot_row *r = *state;
    const template_check t = {.tmpl = r->tmpl};
    template_check_hot_loop(
        &t, product_of(kiln_test_arena(), r->m, r->k, r->n, r->is_const), r->profile,
        &r->want);
}

/* 32 batches of one row, one b for all: a matrix of 32 rows. */
static void rows_of_batches_are_one_matrix(void **state) {
    (void)state;
    const kiln_type ta = kiln_type_make(KILN_F32, 3, (int64_t[]){32, 1, 256});
    const kiln_type tb = kiln_type_make(KILN_F32, 2, (int64_t[]){256, 512});
    kiln_graph *g = kiln_graph_new(kiln_test_arena(), "product");
    kiln_value *in[2] = {random_operand(g, "a", &ta, false, 1),
                         random_operand(g, "b", &tb, true, 2)};
    kiln_graph_add_output(g, graph_node(g, &kiln_op_matmul, in, 2), "y");
    kiln_workload w;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_workload_of(g, &w, &err), &err);
    assert_ptr_equal(kiln_template_for(&w, kiln_profile_at(0)), &kiln_template_matmul);
    const template_check t = {.tmpl = &kiln_template_matmul};
    template_check_hot_loop(&t, g, "x86-avx512", &(template_hot_loop){20, 48});
}

int main(void) {
    kiln_test_add_rows(check_guess, guess_rows);
    kiln_test_add_rows(fetches_what_comes, fetch_rows);
    kiln_test_add_rows(random_configurations, properties);
    kiln_test_add_rows(hot_loop_is_clean, hot_rows);
    kiln_test_add("rows_of_batches_are_one_matrix", rows_of_batches_are_one_matrix,
                  NULL);
    kiln_test_add("refuses_tiles_that_spill", refuses_tiles_that_spill, NULL);
    return kiln_test_run("template_matmul");
}
