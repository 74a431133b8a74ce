/* The matmul template: random shapes and configurations equal the reference; hot loops
 * of the configurations that ship hold no spill.
 *
 * Tolerance: |x| <= 1 and k <= 70 terms, so a sum in f32 is within 70 * 70 * 2^-24 =
 * 3e-4 in any order; outputs in f16 and bf16 round once more. Integers are exact. */
#include "compiler/codegen/codegen.h"
#include "compiler/reference/reference.h"
#include "tests/support/kiln_test.h"
#include "tests/support/template_check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- workloads ------------------------------------------------------------------- */

static int64_t pick(kiln_rng *rng, const int64_t *of, int n) {
    return of[kiln_rng_range(rng, 0, n - 1)];
}

static kiln_value *operand(kiln_graph *g, const char *name, const kiln_type *t,
                           bool is_const, uint64_t seed) {
    return is_const ? kiln_graph_add_const(g, name, t,
                                           kiln_ref_random(g->arena, t, seed).data)
                    : kiln_graph_add_input(g, name, t);
}

static kiln_value *node(kiln_graph *g, const kiln_op_def *op, kiln_value *const *in,
                        int n_in) {
    kiln_err err = {0};
    kiln_node *n = NULL;
    const kiln_node_spec spec = {.op = op, .in = in, .n_in = n_in};
    kiln_assert_status_ok(kiln_graph_add_node(g, &spec, &n, &err), &err);
    return n->out[0];
}

static kiln_value *cast_to(kiln_graph *g, kiln_value *v, kiln_dtype dtype) {
    kiln_err err = {0};
    kiln_node *n = NULL;
    const kiln_attr_arg to = kiln_arg_dtype("to", dtype);
    const kiln_node_spec spec = {
        .op = &kiln_op_cast, .in = &v, .n_in = 1, .args = &to, .n_args = 1};
    kiln_assert_status_ok(kiln_graph_add_node(g, &spec, &n, &err), &err);
    return n->out[0];
}

/* Up to three operators behind the product: bias, residual, activation. */
static kiln_value *epilogue(kiln_graph *g, kiln_rng *rng, kiln_value *y) {
    static const kiln_op_def *const unary[] = {&kiln_op_relu, &kiln_op_gelu,
                                               &kiln_op_sigmoid, &kiln_op_neg};
    const bool is_float = kiln_dtype_is_float(y->type.dtype);
    if (kiln_rng_range(rng, 0, 1) == 0 && y->type.rank > 0) {
        const kiln_type t =
            kiln_type_make(y->type.dtype, 1, &y->type.dim[y->type.rank - 1]);
        kiln_value *in[2] = {y, operand(g, "bias", &t, true, 7)};
        y = node(g, &kiln_op_add, in, 2);
    }
    if (kiln_rng_range(rng, 0, 3) == 0) {
        const kiln_type t = kiln_type_make(y->type.dtype, y->type.rank, y->type.dim);
        kiln_value *in[2] = {operand(g, "residual", &t, false, 0), y};
        y = node(g, &kiln_op_add, in, 2);
    }
    if (kiln_rng_range(rng, 0, 1) == 0)
        y = node(g, unary[is_float ? kiln_rng_range(rng, 0, 3) : 3], &y, 1);
    return y;
}

/* Batch axes of y, some of them stretched in a or b, some absent; vectors too. */
static kiln_graph *random_product(kiln_arena *a, kiln_rng *rng, kiln_dtype dtype,
                                  kiln_dtype sums) {
    static const int64_t sizes[] = {1, 2, 3, 5, 8, 13, 16, 17, 20, 31, 32, 33, 40};
    static const int64_t terms[] = {1, 2, 7, 16, 33, 70};
    const int n_batch = (int)kiln_rng_range(rng, -2, 2);
    const int64_t m = pick(rng, sizes, 13), n = pick(rng, sizes, 13),
                  k = pick(rng, terms, 6);
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
    db[rb++] = k;
    if (which != 1)
        db[rb++] = n;
    if (which == 0)
        ra = 1, da[0] = k;
    if (which == 1)
        rb = 1, db[0] = k;
    const kiln_type ta = kiln_type_make(dtype, ra, da),
                    tb = kiln_type_make(dtype, rb, db);
    kiln_graph *g = kiln_graph_new(a, "product");
    kiln_value *in[2];
    in[0] = operand(g, "a", &ta, kiln_rng_range(rng, 0, 7) == 0, 5);
    in[1] = operand(g, "b", &tb, kiln_rng_range(rng, 0, 1) == 0, 6);
    for (int i = 0; i < 2; i++)
        if (sums != dtype)
            in[i] = cast_to(g, in[i], sums);
    kiln_value *y = node(g, &kiln_op_matmul, in, 2);
    kiln_graph_add_output(g, epilogue(g, rng, y), "y");
    return g;
}

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

static kiln_profile profiles[8];
static int n_profiles;

static void random_configurations(void **state) {
    const property *p = *state;
    const char *more = getenv("KILN_SCHEDULES"); /* soaks ask for more */
    int64_t runs = p->runs;
    int n_refused = 0, n_taken = 0;
    if (more != NULL)
        assert_true(kiln_parse_i64(kiln_str_from(more), &runs));
    for (int64_t i = 0; i < runs; i++) {
        kiln_arena a = {0};
        kiln_rng rng;
        kiln_err err = {0};
        kiln_workload w;
        kiln_space s;
        kiln_arena_init(&a);
        kiln_rng_init(&rng, kiln_test_seed() * 1000003u + (uint64_t)i);
        const kiln_graph *g = random_product(&a, &rng, p->dtype, p->sums);
        kiln_assert_status_ok(kiln_workload_of(g, &w, &err), &err);
        const template_check t = {
            .tmpl = &kiln_template_matmul,
            .profile = &profiles[kiln_rng_range(&rng, 0, n_profiles - 1)],
            .compiled = kiln_rng_range(&rng, 0, 7) == 0,
            .seed = (uint64_t)i,
            .rtol = p->rtol,
            .atol = p->atol};
        if (!t.tmpl->fits(&w, t.profile)) {
            assert_int_equal(g->outputs.v[0]->type.rank, 0);
            kiln_arena_fini(&a);
            continue;
        }
        kiln_space_init(&s, &a);
        kiln_assert_status_ok(t.tmpl->space(&w, t.profile, &s, &err), &err);
        const kiln_config guess = t.tmpl->guess(&w, t.profile, &s);
        kiln_config c = i % 4 == 0 ? guess : kiln_config_random(&s, &rng);
        for (int k = 0; k < 4 && !template_check_run(&a, &t, &w, &s, &c, &err); k++) {
            assert_true(i % 4 != 0); /* what is guessed is never refused */
            c = kiln_config_random(&s, &rng);
            n_refused++;
        }
        n_taken++;
        kiln_arena_fini(&a);
    }
    print_message("%d checked, %d refused\n", n_taken, n_refused);
}

/* ---- refusals -------------------------------------------------------------------- */

static kiln_graph *product_of(kiln_arena *a, int64_t m, int64_t k, int64_t n,
                              bool is_const) {
    const kiln_type ta = kiln_type_make(KILN_F32, 2, (int64_t[]){m, k});
    const kiln_type tb = kiln_type_make(KILN_F32, 2, (int64_t[]){k, n});
    kiln_graph *g = kiln_graph_new(a, "product");
    kiln_value *in[2] = {operand(g, "a", &ta, false, 1),
                         operand(g, "b", &tb, is_const, 2)};
    kiln_graph_add_output(g, node(g, &kiln_op_matmul, in, 2), "y");
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

/* ---- code ------------------------------------------------------------------------ */

typedef struct hot_row {
    const char *name, *profile;
    int64_t m, k, n;
    bool is_const;
    int fma, instructions; /* of the hot loop: at least, at most */
} hot_row;

static hot_row hot_rows[] = {
    {"avx512_square", "x86-avx512", 1024, 1024, 1024, true, 24, 48},
    {"avx512_square_of_two_inputs", "x86-avx512", 1024, 1024, 1024, false, 24, 48},
    {"avx512_wide", "x86-avx512", 128, 768, 3072, true, 24, 48},
    {"avx512_deep", "x86-avx512", 128, 3072, 768, true, 24, 48},
    {"avx512_odd", "x86-avx512", 1000, 17, 1000, true, 24, 48},
    {"avx512_vector", "x86-avx512", 1, 1024, 1000, true, 8, 20},
    {"avx2_square", "x86-avx2", 1024, 1024, 1024, true, 12, 26},
    {"avx2_square_of_two_inputs", "x86-avx2", 1024, 1024, 1024, false, 12, 26},
    {"avx2_wide", "x86-avx2", 128, 768, 3072, true, 12, 26},
    {"avx2_vector", "x86-avx2", 1, 1024, 1000, true, 6, 18},
};

/* The configuration that is guessed: the loop with most multiply-adds keeps them all in
 * registers, and holds little else. */
static void hot_loop_is_clean(void **state) {
    const hot_row *r = *state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_workload w;
    kiln_space s;
    kiln_profile profile;
    kiln_asm_loop *loop, hot = {.vector_fma = 0};
    size_t n = 0;
    kiln_assert_status_ok(kiln_profile_find(a, r->profile, &profile, &err), &err);
    const template_check t = {.tmpl = &kiln_template_matmul, .profile = &profile};
    const kiln_graph *g = product_of(a, r->m, r->k, r->n, r->is_const);
    kiln_assert_status_ok(kiln_workload_of(g, &w, &err), &err);
    kiln_space_init(&s, a);
    kiln_assert_status_ok(t.tmpl->space(&w, &profile, &s, &err), &err);
    const kiln_config c = t.tmpl->guess(&w, &profile, &s);
    const kiln_str text = template_assembly(a, &t, &w, &s, &c, &err);
    assert_true(text.n > 0);
    kiln_assert_status_ok(
        kiln_asm_innermost_loops(a, text, profile.arch, &loop, &n, &err), &err);
    for (size_t i = 0; i < n; i++)
        if (loop[i].vector_fma > hot.vector_fma)
            hot = loop[i];
    print_message("%d multiply-adds of %d instructions\n", hot.vector_fma,
                  hot.instructions);
    assert_int_equal(hot.spills, 0);
    assert_int_equal(hot.vector_stores, 0);
    assert_true(hot.vector_fma >= r->fma);
    assert_true(hot.instructions <= r->instructions);
}

int main(void) {
    kiln_profile machine;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_profile_detect(kiln_test_arena(), &machine, &err), &err);
    for (int i = 0; kiln_profile_at(i) != NULL && n_profiles < 8; i++) {
        char missing[128];
        if (kiln_profile_runs_on(kiln_profile_at(i), &machine, missing))
            profiles[n_profiles++] = *kiln_profile_at(i);
    }
    kiln_test_add_rows(random_configurations, properties);
    kiln_test_add_rows(hot_loop_is_clean, hot_rows);
    kiln_test_add("refuses_tiles_that_spill", refuses_tiles_that_spill, NULL);
    return kiln_test_run("template_matmul");
}
