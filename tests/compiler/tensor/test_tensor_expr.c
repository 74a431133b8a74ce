/* Building, printing, comparing and rewriting expressions. */
#include "compiler/tensor/tensor.h"
#include "tests/support/kiln_test.h"

#include <math.h>

typedef struct row {
    const char *name;
    const kiln_expr *(*make)(kiln_arena *a);
    const char *text;
} row;

/* Fresh variables of one name each: the text is what counts. */
static const kiln_expr *var(kiln_arena *a, const char *name) {
    return kiln_x_ref(a, kiln_var_new(a, name, KILN_I64));
}
static const kiln_expr *fvar(kiln_arena *a, const char *name) {
    return kiln_x_ref(a, kiln_var_new(a, name, KILN_F32));
}
static const kiln_expr *num(kiln_arena *a, int64_t v) { return kiln_x_index(a, v); }
static const kiln_expr *f32(kiln_arena *a, double v) {
    return kiln_x_float(a, KILN_F32, v);
}
static const kiln_expr *bin(kiln_arena *a, kiln_expr_kind k, const kiln_expr *x,
                            const kiln_expr *y) {
    return kiln_x_binary(a, k, x, y);
}

static const kiln_expr *sum_of_constants(kiln_arena *a) {
    return kiln_x_add(a, num(a, 40), num(a, 2));
}
static const kiln_expr *plus_zero(kiln_arena *a) {
    return kiln_x_add(a, num(a, 0), var(a, "i"));
}
static const kiln_expr *float_plus_zero(kiln_arena *a) {
    return kiln_x_add(a, fvar(a, "x"), f32(a, 0));
}
static const kiln_expr *times_zero(kiln_arena *a) {
    return kiln_x_mul(a, var(a, "i"), num(a, 0));
}
static const kiln_expr *float_times_zero(kiln_arena *a) {
    return kiln_x_mul(a, fvar(a, "x"), f32(a, 0));
}
static const kiln_expr *mod_one(kiln_arena *a) {
    return bin(a, KILN_EXPR_FLOORMOD, var(a, "i"), num(a, 1));
}
static const kiln_expr *floor_of_negative(kiln_arena *a) {
    return bin(a, KILN_EXPR_FLOORDIV, num(a, -7), num(a, 2));
}
static const kiln_expr *mod_of_negative(kiln_arena *a) {
    return bin(a, KILN_EXPR_FLOORMOD, num(a, -7), num(a, 3));
}
static const kiln_expr *cut_of_negative(kiln_arena *a) {
    return bin(a, KILN_EXPR_DIV, num(a, -7), num(a, 2));
}
static const kiln_expr *by_zero(kiln_arena *a) {
    return bin(a, KILN_EXPR_FLOORDIV, num(a, 1), num(a, 0));
}
static const kiln_expr *least_by_minus_one(kiln_arena *a) {
    return bin(a, KILN_EXPR_DIV, num(a, INT64_MIN), num(a, -1));
}
static const kiln_expr *wraps(kiln_arena *a) {
    return kiln_x_add(a, kiln_x_int(a, KILN_I8, 127), kiln_x_int(a, KILN_I8, 1));
}
static const kiln_expr *unsigned_order(kiln_arena *a) {
    return bin(a, KILN_EXPR_LT, kiln_x_int(a, KILN_U64, 1),
               kiln_x_int(a, KILN_U64, -1));
}
static const kiln_expr *arithmetic_shift(kiln_arena *a) {
    return bin(a, KILN_EXPR_SHR, kiln_x_int(a, KILN_I64, INT64_MIN), num(a, 63));
}
static const kiln_expr *shift_too_far(kiln_arena *a) {
    return bin(a, KILN_EXPR_SHL, num(a, 1), num(a, 64));
}
static const kiln_expr *nan_wins(kiln_arena *a) {
    return bin(a, KILN_EXPR_MAX, f32(a, (double)NAN), f32(a, 1));
}
static const kiln_expr *nan_is_unequal(kiln_arena *a) {
    return bin(a, KILN_EXPR_NE, f32(a, (double)NAN), f32(a, (double)NAN));
}
static const kiln_expr *rounds_to_f32(kiln_arena *a) {
    return kiln_x_add(a, f32(a, 16777216.0), f32(a, 1));
}
static const kiln_expr *keeps_parentheses(kiln_arena *a) {
    return kiln_x_mul(a,
                      kiln_x_sub(a, var(a, "i"), kiln_x_sub(a, var(a, "j"), num(a, 3))),
                      num(a, 4));
}
static const kiln_expr *needs_none(kiln_arena *a) {
    return kiln_x_add(a, kiln_x_mul(a, var(a, "i"), num(a, 16)), var(a, "j"));
}
static const kiln_expr *takes_a_side(kiln_arena *a) {
    return kiln_x_select(a, kiln_x_int(a, KILN_BOOL, 1), var(a, "i"), var(a, "j"));
}
static const kiln_expr *broadcasts(kiln_arena *a) {
    return kiln_x_add(a, kiln_x_ramp(a, var(a, "i"), num(a, 1), 8), num(a, 3));
}
static const kiln_expr *ramp_of_one(kiln_arena *a) {
    return kiln_x_ramp(a, var(a, "i"), num(a, 5), 1);
}
static const kiln_expr *ramp_without_stride(kiln_arena *a) {
    return kiln_x_ramp(a, var(a, "i"), num(a, 0), 4);
}
static const kiln_expr *casts_constant(kiln_arena *a) {
    return kiln_x_cast(a, KILN_F32, num(a, 7));
}
static const kiln_expr *calls(kiln_arena *a) {
    const kiln_expr *x = fvar(a, "x");
    return kiln_x_call(a, KILN_INTRIN_tanh, &x);
}

static row rows[] = {
    {"constants_are_added", sum_of_constants, "42"},
    {"integer_zero_is_neutral", plus_zero, "i"},
    {"float_zero_is_not", float_plus_zero, "x + 0f"},
    {"integer_times_zero_is_zero", times_zero, "0"},
    {"float_times_zero_may_be_nan", float_times_zero, "x*0f"},
    {"everything_is_divisible_by_one", mod_one, "0"},
    {"floor_division_rounds_down", floor_of_negative, "-4"},
    {"remainder_has_the_divisors_sign", mod_of_negative, "2"},
    {"division_cuts", cut_of_negative, "-3"},
    {"division_by_zero_stays", by_zero, "1 // 0"},
    {"quotient_that_overflows_wraps", least_by_minus_one, "-9223372036854775808"},
    {"integers_wrap_in_their_dtype", wraps, "i8(-128)"},
    {"u64_is_ordered_unsigned", unsigned_order, "true"},
    {"right_shift_keeps_the_sign", arithmetic_shift, "-1"},
    {"shift_by_all_bits_stays", shift_too_far, "1 << 64"},
    {"maximum_with_nan_is_nan", nan_wins, "f32(nan)"},
    {"nan_is_unequal_to_itself", nan_is_unequal, "true"},
    {"float_constants_round_to_the_dtype", rounds_to_f32, "16777216f"},
    {"differences_keep_parentheses", keeps_parentheses, "(i - (j - 3))*4"},
    {"products_need_no_parentheses", needs_none, "i*16 + j"},
    {"constant_condition_takes_a_side", takes_a_side, "i"},
    {"scalars_are_broadcast", broadcasts, "ramp(i, 1, 8) + x8(3)"},
    {"ramp_of_one_lane_is_its_base", ramp_of_one, "i"},
    {"ramp_without_stride_is_a_broadcast", ramp_without_stride, "x4(i)"},
    {"constants_are_cast", casts_constant, "7f"},
    {"calls_print_their_name", calls, "tanh(x)"},
};

static void prints(void **state) {
    const row *r = *state;
    kiln_buf out;
    kiln_buf_init(&out, kiln_test_arena());
    kiln_expr_print(&out, r->make(kiln_test_arena()));
    assert_string_equal(out.p, r->text);
}

static void equality_is_structural(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    const kiln_var *i = kiln_var_new(a, "i", KILN_I64),
                   *j = kiln_var_new(a, "i", KILN_I64);
    const kiln_expr *x = kiln_x_add(a, kiln_x_ref(a, i), num(a, 1));
    const kiln_expr *y = kiln_x_add(a, kiln_x_ref(a, i), num(a, 1));
    const kiln_expr *z = kiln_x_add(a, kiln_x_ref(a, j), num(a, 1));
    assert_true(kiln_expr_eq(x, y));
    assert_true(kiln_expr_hash(x) == kiln_expr_hash(y));
    assert_false(kiln_expr_eq(x, z)); /* a name is no identity */
    assert_true(kiln_expr_eq(f32(a, (double)NAN), f32(a, (double)NAN)));
    assert_false(kiln_expr_eq(f32(a, 0.0), f32(a, -0.0)));
}

static void substitution_folds(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    const kiln_var *i = kiln_var_new(a, "i", KILN_I64),
                   *j = kiln_var_new(a, "j", KILN_I64);
    const kiln_expr *e =
        kiln_x_add(a, kiln_x_mul(a, kiln_x_ref(a, i), num(a, 4)), kiln_x_ref(a, j));
    const kiln_subst map[] = {{i, num(a, 2)}, {j, num(a, 3)}};
    int64_t v = 0;
    assert_true(kiln_x_is_int(kiln_expr_substitute(a, e, map, 2), &v));
    assert_int_equal(v, 11);
    assert_true(kiln_expr_uses(e, j));
    assert_false(kiln_expr_uses(kiln_expr_substitute(a, e, map + 1, 1), j));
    /* What does not change is returned as it is. */
    const kiln_subst other = {kiln_var_new(a, "k", KILN_I64), num(a, 0)};
    assert_ptr_equal(kiln_expr_substitute(a, e, &other, 1), e);
}

/* ---- sealing stages -------------------------------------------------------------- */

#define DIMS(...)                                                                      \
    (const int64_t[]) { __VA_ARGS__ }

static void refuses_a_reduction_inside(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_te *x = kiln_te_placeholder(a, "x", KILN_F32, 1, DIMS(4));
    kiln_te *y = kiln_te_begin(a, "y", 0, NULL);
    const kiln_axis *r = kiln_te_reduce_axis(y, "r", 4);
    const kiln_expr *i = kiln_axis_var(a, r);
    const kiln_expr *sum = kiln_te_sum(y, kiln_te_read(a, x, &i), &r, 1);
    const kiln_expr *body = kiln_x_add(a, sum, f32(a, 1));
    kiln_assert_fails(kiln_te_end(y, 1, &body, &err), KILN_ERR_SHAPE, &err,
                      "stage 'y': a reduction must be the whole body");
}

static void refuses_a_free_variable(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_te *y = kiln_te_begin(a, "y", 1, DIMS(3));
    const kiln_expr *body = var(a, "stranger");
    kiln_assert_fails(kiln_te_end(y, 1, &body, &err), KILN_ERR_SHAPE, &err,
                      "stage 'y' uses 'stranger', which is none of its axes");
}

static void refuses_mixed_outputs(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_te *x = kiln_te_placeholder(a, "x", KILN_F32, 1, DIMS(4));
    kiln_te *y = kiln_te_begin(a, "y", 0, NULL);
    const kiln_axis *r = kiln_te_reduce_axis(y, "r", 4);
    const kiln_expr *i = kiln_axis_var(a, r);
    const kiln_expr *body[] = {kiln_te_sum(y, kiln_te_read(a, x, &i), &r, 1),
                               f32(a, 1)};
    kiln_assert_fails(kiln_te_end(y, 2, body, &err), KILN_ERR_SHAPE, &err,
                      "all outputs or none must be reductions");
}

static void evaluation_reports_reads_outside(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_te *x = kiln_te_placeholder(a, "x", KILN_F32, 1, DIMS(4));
    kiln_te *y = kiln_te_begin(a, "y", 1, DIMS(4));
    const kiln_expr *i = kiln_x_add(a, kiln_te_var(y, 0), num(a, 1));
    const kiln_expr *body = kiln_te_read(a, x, &i);
    kiln_assert_status_ok(kiln_te_end(y, 1, &body, &err), &err);
    const kiln_type t = kiln_type_make(KILN_F32, 1, DIMS(4));
    kiln_wide in = kiln_wide_new(a, &t), out;
    for (int k = 0; k < 4; k++)
        in.f[k] = k;
    const kiln_te *outs[] = {y};
    kiln_assert_fails(kiln_te_eval(a, outs, 1, &in, 1, &out, &err), KILN_ERR_SHAPE,
                      &err, "stage 'y' reads 'x': index 0 must be in [0, 4), is 4");
}

int main(void) {
    kiln_test_add_rows(prints, rows);
    kiln_test_add("equality_is_structural", equality_is_structural, NULL);
    kiln_test_add("substitution_folds", substitution_folds, NULL);
    kiln_test_add("refuses_a_reduction_inside", refuses_a_reduction_inside, NULL);
    kiln_test_add("refuses_a_free_variable", refuses_a_free_variable, NULL);
    kiln_test_add("refuses_mixed_outputs", refuses_mixed_outputs, NULL);
    kiln_test_add("evaluation_reports_reads_outside", evaluation_reports_reads_outside,
                  NULL);
    return kiln_test_run("expressions");
}
