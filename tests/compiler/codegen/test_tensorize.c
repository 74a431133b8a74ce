/* Tensor intrinsics: a byte matrix product, tensorized, equals kiln_te_eval, as
 * interpreted after every pass and as compiled for each profile that runs here, AArch64
 * in an emulator. Inputs hold the extreme values, so anything that saturates is seen:
 * 255 * 127 twice does not fit 16 bits. Exact: integers.
 *
 * And what tensorize refuses, by its text. */
#include "compiler/codegen/codegen.h"
#include "compiler/loop/tensor_intrin.h"
#include "compiler/schedule/schedule.h"
#include "tests/support/kernel/code_run.h"
#include "tests/support/kiln_test.h"

#include <string.h>

enum { MAX_LANES = 16 };

typedef struct product {
    kiln_te *a, *b, *c;
    kiln_schedule *s;
    kiln_stage *stage, *sum;
    int64_t m, n, k;
    int lanes;
} product;

/* c[i, j] = sum over k of a[i, k] * b[j / lanes, k / 4, j % lanes, k % 4]. */
static product make(kiln_arena *a, kiln_dtype ta, kiln_dtype tb, int64_t m, int64_t n,
                    int64_t k, int lanes) {
    product p = {.m = m, .n = n, .k = k, .lanes = lanes};
    kiln_err err = {0};
    p.a = kiln_te_placeholder(a, "a", ta, 2, (int64_t[]){m, k});
    p.b = kiln_te_placeholder(a, "b", tb, 4, (int64_t[]){n / lanes, k / 4, lanes, 4});
    p.c = kiln_te_begin(a, "c", 2, (int64_t[]){m, n});
    const kiln_axis *axis = kiln_te_reduce_axis(p.c, "k", k);
    const kiln_expr *r = kiln_axis_var(a, axis), *j = kiln_te_var(p.c, 1);
    const kiln_expr *at_a[] = {kiln_te_var(p.c, 0), r};
    const kiln_expr *at_b[] = {
        kiln_x_binary(a, KILN_EXPR_FLOORDIV, j, kiln_x_index(a, lanes)),
        kiln_x_binary(a, KILN_EXPR_FLOORDIV, r, kiln_x_index(a, 4)),
        kiln_x_binary(a, KILN_EXPR_FLOORMOD, j, kiln_x_index(a, lanes)),
        kiln_x_binary(a, KILN_EXPR_FLOORMOD, r, kiln_x_index(a, 4))};
    const kiln_expr *x = kiln_x_cast(a, KILN_I32, kiln_te_read(a, p.a, at_a));
    const kiln_expr *y = kiln_x_cast(a, KILN_I32, kiln_te_read(a, p.b, at_b));
    const kiln_expr *sum = kiln_te_sum(p.c, kiln_x_mul(a, x, y), &axis, 1);
    kiln_assert_status_ok(kiln_te_end(p.c, 1, &sum, &err), &err);
    p.s = kiln_schedule_new(a, (const kiln_te *const[]){p.c}, 1);
    p.stage = kiln_schedule_stage(p.s, p.c);
    return p;
}

/* Loops of the sum: i, j.outer, k.outer, [rows], j.inner, k.inner; the last two are
 * the intrinsic's. */
static void schedule(product *p, int64_t rows, const kiln_tensor_intrin *intrin) {
    kiln_err err = {0};
    kiln_iter *io, *ii, *jo, *ji, *ko, *ki, *so, *si, *uo, *ui;
    kiln_assert_status_ok(
        kiln_cache_write(p->stage, KILN_SCOPE_REGISTER, &p->sum, &err), &err);
    kiln_assert_status_ok(
        kiln_split(p->stage, kiln_stage_axis(p->stage, 0), rows, &io, &ii, &err), &err);
    kiln_assert_status_ok(
        kiln_split(p->stage, kiln_stage_axis(p->stage, 1), p->lanes, &jo, &ji, &err),
        &err);
    kiln_assert_status_ok(
        kiln_reorder(p->stage, (kiln_iter *[]){io, jo, ii, ji}, 4, &err), &err);
    kiln_assert_status_ok(kiln_vectorize(p->stage, ji, &err), &err);
    kiln_assert_status_ok(kiln_unroll(p->stage, ii, &err), &err);
    kiln_assert_status_ok(kiln_compute_at(p->sum, p->stage, jo, &err), &err);
    kiln_assert_status_ok(
        kiln_split(p->sum, kiln_stage_reduce(p->sum, 0), 4, &ko, &ki, &err), &err);
    kiln_assert_status_ok(
        kiln_split(p->sum, kiln_stage_axis(p->sum, 0), rows, &so, &si, &err), &err);
    kiln_assert_status_ok(
        kiln_split(p->sum, kiln_stage_axis(p->sum, 1), p->lanes, &uo, &ui, &err), &err);
    kiln_assert_status_ok(
        kiln_reorder(p->sum, (kiln_iter *[]){so, uo, ko, si, ui, ki}, 6, &err), &err);
    kiln_assert_status_ok(kiln_unroll(p->sum, si, &err), &err);
    kiln_assert_status_ok(kiln_tensorize(p->sum, ui, intrin, p->lanes, &err), &err);
}

static kiln_program *lowered(kiln_arena *a, const product *p) {
    kiln_err err = {0};
    kiln_program *out = NULL;
    const kiln_te *arg[] = {p->a, p->b, p->c};
    kiln_assert_status_ok(kiln_lower(a, p->s, arg, 3, 2, "product", &out, &err), &err);
    return out;
}

static kiln_wide extremes(kiln_arena *a, kiln_rng *rng, const kiln_te *te) {
    int64_t dim[4];
    for (int i = 0; i < te->rank; i++)
        dim[i] = kiln_te_dim(te, i);
    const kiln_type t = kiln_type_make(te->dtype[0], te->rank, dim);
    const kiln_dtype_info *info = kiln_dtype_get(te->dtype[0]);
    kiln_wide w = kiln_wide_new(a, &t);
    for (int64_t i = 0; i < kiln_type_elems(&t); i++) {
        const int64_t draw = kiln_rng_range(rng, 0, 3);
        w.i[i] = draw == 0   ? info->min_i
                 : draw == 1 ? info->max_i
                             : kiln_rng_range(rng, info->min_i, info->max_i);
    }
    return w;
}

static void *bytes_of(kiln_arena *a, const kiln_wide *w) {
    void *data = kiln_arena_alloc(a, (size_t)kiln_type_bytes(&w->type));
    kiln_narrow(w, data);
    return data;
}

static void check(const kiln_wide *want, const int32_t *got, const char *what) {
    for (int64_t i = 0; i < kiln_type_elems(&want->type); i++)
        if (want->i[i] != got[i])
            fail_msg("%s: element %lld is %d, must be %lld", what, (long long)i, got[i],
                     (long long)want->i[i]);
}

static void run_compiled(kiln_arena *a, const kiln_program *p, const kiln_profile *prof,
                         void *const *arg) {
    code_kernel *k = code_compile(a, p, prof);
    code_call(k, arg, prof->name);
    code_close(k);
}

static void one_product(kiln_arena *a, kiln_rng *rng, const char *name, kiln_dtype ta,
                        kiln_dtype tb, int lanes) {
    const int64_t rows = kiln_rng_range(rng, 1, 4);
    product p =
        make(a, ta, tb, rows * kiln_rng_range(rng, 1, 3),
             lanes * kiln_rng_range(rng, 1, 3), 4 * kiln_rng_range(rng, 1, 9), lanes);
    kiln_err err = {0};
    const kiln_tensor_intrin *intrin = kiln_tensor_intrin_find(kiln_str_from(name));
    assert_non_null(intrin);
    schedule(&p, rows, intrin);
    kiln_program *program = lowered(a, &p);
    const kiln_wide in[2] = {extremes(a, rng, p.a), extremes(a, rng, p.b)};
    const kiln_type ct = kiln_type_make(KILN_I32, 2, (int64_t[]){p.m, p.n});
    kiln_wide want = kiln_wide_new(a, &ct);
    const kiln_te *out = p.c;
    kiln_assert_status_ok(kiln_te_eval(a, &out, 1, in, 2, &want, &err), &err);
    const size_t size = (size_t)kiln_type_bytes(&ct);
    int32_t *got = kiln_arena_alloc(a, size);
    void *arg[3] = {bytes_of(a, &in[0]), bytes_of(a, &in[1]), got};
    memset(got, 0xFF, size);
    kiln_assert_status_ok(kiln_program_run(a, program, arg, NULL, &err), &err);
    check(&want, got, "as lowered");
    kiln_assert_status_ok(kiln_program_optimize(program, NULL, &err), &err);
    memset(got, 0xFF, size);
    kiln_assert_status_ok(kiln_program_run(a, program, arg, NULL, &err), &err);
    check(&want, got, "after the passes");
    for (int i = 0; code_profile_at(i) != NULL; i++) {
        const kiln_profile *prof = code_profile_at(i);
        memset(got, 0xFF, size);
        run_compiled(a, program, prof, arg);
        check(&want, got, kiln_format(a, "%s %s, %d lanes", name, prof->name, lanes));
    }
}

static void every_sign_and_width_is_exact(void **state) {
    (void)state;
    kiln_rng rng;
    kiln_rng_init(&rng, kiln_test_seed());
    static const struct {
        const char *name;
        kiln_dtype a, b;
    } row[] = {{"dot4_s8s8", KILN_I8, KILN_I8},
               {"dot4_u8s8", KILN_U8, KILN_I8},
               {"dot4_u8u8", KILN_U8, KILN_U8}};
    for (int r = 0; r < 3; r++)
        for (int lanes = 2; lanes <= 2 * MAX_LANES; lanes *= 2) {
            kiln_arena *a = kiln_test_arena();
            one_product(a, &rng, row[r].name, row[r].a, row[r].b, lanes);
        }
}

/* ---- what it becomes ------------------------------------------------------------- */

static const kiln_profile *shipped(const char *name) {
    for (int i = 0; kiln_profile_at(i) != NULL; i++)
        if (strcmp(kiln_profile_at(i)->name, name) == 0)
            return kiln_profile_at(i);
    fail_msg("there is no profile '%s'", name);
    return NULL;
}

static const char *assembly(kiln_arena *a, const char *profile, const char *intrin,
                            kiln_dtype ta, kiln_dtype tb, int lanes) {
    product p = make(a, ta, tb, 8, 3 * lanes, 64, lanes);
    schedule(&p, 8, kiln_tensor_intrin_find(kiln_str_from(intrin)));
    kiln_program *program = lowered(a, &p);
    kiln_err err = {0};
    kiln_object o;
    kiln_codegen_text text;
    kiln_assert_status_ok(kiln_program_optimize(program, NULL, &err), &err);
    kiln_assert_status_ok(kiln_codegen(a, program, shipped(profile),
                                       &(kiln_codegen_options){.want_assembly = true},
                                       &o, &text, &err),
                          &err);
    return kiln_str_dupv(a, text.assembly);
}

static int count(const char *text, const char *word) {
    int n = 0;
    for (const char *p = strstr(text, word); p != NULL; p = strstr(p + 1, word))
        n++;
    return n;
}

static void instructions_are_those_of_the_target(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    const char *text =
        assembly(a, "x86-avx512-vnni", "dot4_u8s8", KILN_U8, KILN_I8, MAX_LANES);
    assert_int_equal(count(text, "vpdpbusd"), 8); /* one a row */
    text = assembly(a, "x86-avx512-vnni", "dot4_s8s8", KILN_I8, KILN_I8, MAX_LANES);
    assert_int_equal(count(text, "vpdpbusd"), 9); /* and one correction for all */
    text = assembly(a, "x86-avx2", "dot4_u8s8", KILN_U8, KILN_I8, MAX_LANES / 2);
    assert_int_equal(count(text, "vpdpbusd"), 0);
    assert_int_equal(count(text, "pmaddubsw"), 0); /* saturates */
    assert_true(count(text, "pmaddwd") >= 16);
    text = assembly(a, "aarch64-dotprod", "dot4_s8s8", KILN_I8, KILN_I8, MAX_LANES / 4);
    assert_int_equal(count(text, "sdot"), 8);
    text = assembly(a, "aarch64-sve256", "dot4_s8s8", KILN_I8, KILN_I8, MAX_LANES / 2);
    assert_int_equal(count(text, "sdot\tz"), 8);
    text = assembly(a, "aarch64", "dot4_s8s8", KILN_I8, KILN_I8, MAX_LANES / 4);
    assert_int_equal(count(text, "sdot"), 0);
    assert_true(count(text, "mla") >= 8);
}

/* ---- refusals -------------------------------------------------------------------- */

static void what_does_not_match_is_refused(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_iter *jo, *ji, *ko, *ki;
    const kiln_tensor_intrin *s8 = kiln_tensor_intrin_find(KILN_STR_LIT("dot4_s8s8"));
    product p = make(a, KILN_U8, KILN_I8, 2, 32, 10, 16);
    kiln_stage *st = p.stage;
    kiln_assert_fails(
        kiln_tensorize(st, kiln_stage_axis(st, 0), s8, 16, &err), KILN_ERR_ARG, &err,
        "'dot4_s8s8' stands for 2 loops, but stage 'c' has 3 from 'i0' inwards");
    kiln_assert_fails(kiln_tensorize(st, kiln_stage_axis(st, 1), s8, 0, &err),
                      KILN_ERR_ARG, &err, "lanes must be in [1, 1024], is 0");
    kiln_assert_fails(kiln_tensorize(st, kiln_stage_axis(st, 1), s8, 16, &err),
                      KILN_ERR_ARG, &err,
                      "stage 'c' must compute what 'dot4_s8s8' declares");
    const kiln_tensor_intrin *u8 = kiln_tensor_intrin_find(KILN_STR_LIT("dot4_u8s8"));
    kiln_assert_fails(kiln_tensorize(st, kiln_stage_axis(st, 1), u8, 16, &err),
                      KILN_ERR_ARG, &err,
                      "loop 'i1' of stage 'c' must be a spatial loop of 16 iterations");
    kiln_assert_status_ok(kiln_split(st, kiln_stage_axis(st, 1), 16, &jo, &ji, &err),
                          &err);
    kiln_assert_status_ok(kiln_split(st, kiln_stage_reduce(st, 0), 4, &ko, &ki, &err),
                          &err);
    kiln_assert_status_ok(kiln_reorder(st, (kiln_iter *[]){jo, ko, ji, ki}, 4, &err),
                          &err);
    kiln_assert_fails(kiln_tensorize(st, ji, u8, 16, &err), KILN_ERR_ARG, &err,
                      "loop 'k.inner' of stage 'c' must come from splits that "
                      "divide; pad the axis to whole blocks");
}

static void tensorized_loops_are_left_alone(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_iter *jo, *ji, *ko, *ki, *x, *y;
    product p = make(a, KILN_U8, KILN_I8, 2, 32, 12, 16);
    kiln_stage *st = p.stage;
    kiln_assert_status_ok(kiln_split(st, kiln_stage_axis(st, 1), 16, &jo, &ji, &err),
                          &err);
    kiln_assert_status_ok(kiln_split(st, kiln_stage_reduce(st, 0), 4, &ko, &ki, &err),
                          &err);
    kiln_assert_status_ok(kiln_reorder(st, (kiln_iter *[]){jo, ko, ji, ki}, 4, &err),
                          &err);
    kiln_assert_status_ok(
        kiln_tensorize(st, ji, kiln_tensor_intrin_find(KILN_STR_LIT("dot4_u8s8")), 16,
                       &err),
        &err);
    kiln_assert_fails(kiln_split(st, ki, 2, &x, &y, &err), KILN_ERR_ARG, &err,
                      "loop 'k.inner' of stage 'c' is part of a tensor "
                      "intrinsic");
    kiln_assert_fails(kiln_unroll(st, ji, &err), KILN_ERR_ARG, &err,
                      "loop 'i1.inner' of stage 'c' is part of a tensor "
                      "intrinsic");
}

/* The rows of b are not packed in fours: only the pass can see that. */
static void addresses_must_be_the_declared_ones(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    product p = make(a, KILN_U8, KILN_I8, 4, 16, 8, 16);
    kiln_stage *b = NULL;
    kiln_assert_status_ok(
        kiln_cache_read(p.s, p.b, KILN_SCOPE_LOCAL, NULL, 0, &b, &err), &err);
    kiln_assert_status_ok(kiln_storage_align(b, 2, 8, 0, &err), &err);
    schedule(&p, 4, kiln_tensor_intrin_find(KILN_STR_LIT("dot4_u8s8")));
    kiln_program *program = lowered(a, &p);
    kiln_assert_fails(kiln_program_optimize(program, NULL, &err), KILN_ERR_ARG, &err,
                      "'b' must move by 4 elements along 'i0', but buffer "
                      "'b.local' moves by 8");
}

int main(void) {
    kiln_test_add("every_sign_and_width_is_exact", every_sign_and_width_is_exact, NULL);
    kiln_test_add("instructions_are_those_of_the_target",
                  instructions_are_those_of_the_target, NULL);
    kiln_test_add("what_does_not_match_is_refused", what_does_not_match_is_refused,
                  NULL);
    kiln_test_add("tensorized_loops_are_left_alone", tensorized_loops_are_left_alone,
                  NULL);
    kiln_test_add("addresses_must_be_the_declared_ones",
                  addresses_must_be_the_declared_ones, NULL);
    return kiln_test_run("tensorize");
}
