/* The matmul_dot template: which products it gets and which are packed for matmul;
 * random shapes and configurations equal the reference. Tolerance as for matmul; of long
 * rows, 600 terms in any order: 600 * 600 * 2^-24 = 2e-2 at worst, 1e-3 where the sums
 * are trees of vectors. */
#include "tests/support/kiln_test.h"
#include "tests/support/random/random_work.h"
#include "tests/support/kernel/template_check.h"

typedef struct shape {
    kiln_dtype dtype;
    int64_t batch, m, k, n; /* batch 0: no such axis */
    bool is_turned, is_const;
} shape;

/* a [m, k] by b [k, n], or by [n, k] turned. */
static kiln_value *product(kiln_graph *g, const shape *s) {
    int64_t da[3], db[3];
    int rank = 0;
    if (s->batch > 0)
        da[rank] = db[rank] = s->batch, rank++;
    da[rank] = s->m;
    da[rank + 1] = s->k;
    db[rank] = s->is_turned ? s->n : s->k;
    db[rank + 1] = s->is_turned ? s->k : s->n;
    const kiln_type ta = kiln_type_make(s->dtype, rank + 2, da);
    const kiln_type tb = kiln_type_make(s->dtype, rank + 2, db);
    kiln_value *in[2] = {random_operand(g, "a", &ta, false, 1),
                         random_operand(g, "b", &tb, s->is_const, 2)};
    const kiln_attr_arg turned = kiln_arg_bool("trans_b", s->is_turned);
    return graph_node_with(g, &kiln_op_matmul, in, 2, &turned, 1);
}

static kiln_graph *product_of(kiln_arena *a, const shape *s) {
    kiln_graph *g = kiln_graph_new(a, "product");
    kiln_graph_add_output(g, product(g, s), "y");
    return g;
}

/* ---- which template -------------------------------------------------------------- */

typedef struct choice_row {
    const char *name;
    shape shape;
    bool fits, pays;
} choice_row;

/* x86-avx512 has 16 lanes of f32, and a long row 16 vectors; here its last cache holds
 * 512 KiB, and a far table is larger. */
static choice_row choice_rows[] = {
    {"a_long_row_reads_a_far_table_as_it_lies",
     {KILN_F32, 0, 1, 256, 600, true, true},
     true,
     true},
    {"so_does_one_with_a_batch_of_one",
     {KILN_F32, 1, 1, 304, 600, true, true},
     true,
     true},
    {"one_whose_rows_begin_anywhere_is_packed",
     {KILN_F32, 0, 1, 303, 600, true, true},
     true,
     false},
    {"so_is_a_near_one", {KILN_F32, 0, 1, 256, 300, true, true}, true, false},
    {"a_shorter_row_has_it_packed",
     {KILN_F32, 0, 1, 255, 600, true, true},
     false,
     false},
    {"two_rows_have_it_packed", {KILN_F32, 0, 2, 768, 100, true, true}, false, false},
    {"so_have_the_rows_of_two_batches",
     {KILN_F32, 2, 1, 768, 40, true, true},
     false,
     false},
    {"a_table_by_rows_is_packed",
     {KILN_F32, 0, 1, 768, 200, false, true},
     false,
     false},
    {"halves_are_as_long_in_f32", {KILN_F16, 0, 1, 256, 1100, true, true}, true, true},
    {"doubles_are_long_sooner", {KILN_F64, 0, 1, 128, 600, true, true}, true, true},
    {"bytes_are_long_later", {KILN_I8, 0, 1, 256, 40, true, true}, false, false},
    /* Ten columns are one vector of sums, which waits four cycles for each term. */
    {"few_columns_are_turned", {KILN_F32, 0, 1, 3000, 10, false, true}, true, true},
    {"by_a_few_rows_too", {KILN_F32, 0, 4, 3000, 10, false, true}, true, true},
    {"those_that_lie_so_are_not", {KILN_F32, 0, 3, 700, 10, true, true}, true, true},
    /* Eight vectors of sums hide it, and lanes are no more than columns. */
    {"rows_that_fill_a_tile_have_them_packed",
     {KILN_F32, 0, 24, 3000, 16, false, true},
     true,
     false},
    {"few_terms_have_them_packed",
     {KILN_F32, 0, 1, 200, 10, false, true},
     false,
     false},
    {"what_is_computed_is_read_as_it_lies",
     {KILN_F32, 0, 8, 32, 40, true, false},
     true,
     true},
    {"a_column_is", {KILN_F32, 0, 40, 32, 1, false, true}, true, true},
};

static void choice_is_as_said(void **state) {
    const choice_row *r = *state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_workload w;
    kiln_profile p;
    kiln_assert_status_ok(kiln_profile_find(a, "x86-avx512", &p, &err), &err);
    p.l2_bytes = 1 << 18;
    p.l3_bytes = 1 << 19;
    kiln_assert_status_ok(kiln_workload_of(product_of(a, &r->shape), &w, &err), &err);
    assert_int_equal(kiln_template_matmul_dot.fits(&w, &p), r->fits);
    assert_ptr_equal(kiln_template_for(&w, &p),
                     r->pays ? &kiln_template_matmul_dot : &kiln_template_matmul);
}

/* ---- results --------------------------------------------------------------------- */

/* A constant table by one row, what was computed by a few, a matrix by a column, or a
 * constant of few columns, turned ahead or not. */
static shape random_shape(kiln_rng *rng, kiln_dtype dtype) {
    static const int64_t sizes[] = {1, 2, 3, 5, 8, 13, 16, 17, 33};
    static const int64_t terms[] = {1, 2, 7, 16, 33, 70};
    static const int64_t many[] = {512, 513, 540, 600};
    const int64_t kind = kiln_rng_range(rng, 0, 3);
    shape s = {.dtype = dtype,
               .batch = kind == 0   ? kiln_rng_range(rng, 0, 1)
                        : kind == 3 ? 0
                                    : kiln_rng_range(rng, 0, 3),
               .m = random_pick(rng, sizes, 9),
               .k = random_pick(rng, terms, 6),
               .n = random_pick(rng, sizes, 9),
               .is_turned = true};
    if (kind == 0) {
        s.m = 1;
        s.k = random_pick(rng, many, 4);
        s.is_const = true;
    }
    if (kind == 2) {
        s.n = 1;
        s.is_turned = false;
        s.is_const = s.batch == 0;
    }
    if (kind == 3) {
        s.k = random_pick(rng, many, 4);
        s.is_turned = kiln_rng_range(rng, 0, 1) == 1;
        s.is_const = true;
    }
    return s;
}

static template_property properties[] = {
    {"f32_is_the_reference", KILN_F32, 1e-5, 1e-3, 80, NULL},
    {"f16_is_the_reference", KILN_F16, 4e-3, 4e-3, 16, NULL},
    {"bf16_is_the_reference", KILN_BF16, 3e-2, 3e-2, 16, NULL},
    {"i32_is_the_reference", KILN_I32, 0, 0, 16, NULL},
    {"i8_is_the_reference", KILN_I8, 0, 0, 16, NULL},
};

static void random_configurations(void **state) {
    const template_property *p = *state;
    template_runs runs = {.n = p->runs};
    for (int64_t i = 0; template_runs_next(&runs, i); i++) {
        const shape s = random_shape(&runs.rng, p->dtype);
        kiln_graph *g = kiln_graph_new(runs.arena, "product");
        kiln_value *y = product(g, &s);
        kiln_graph_add_output(g, random_epilogue(g, &runs.rng, y, y->type.rank - 1),
                              "y");
        const template_check t = {
            .tmpl = &kiln_template_matmul_dot, .rtol = p->rtol, .atol = p->atol};
        /* Long for some profile is short for one of longer vectors. */
        if (!template_runs_check(&runs, &t, g))
            assert_true(s.is_const && s.n > 1);
    }
}

int main(void) {
    kiln_test_add_rows(choice_is_as_said, choice_rows);
    kiln_test_add_rows(random_configurations, properties);
    return kiln_test_run("template_matmul_dot");
}
