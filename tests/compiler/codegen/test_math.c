/* Generated functions and conversions against libm and the software halves, over the
 * range of each: error in ulp as math.c states it, special values exactly. A program
 * applies one expression to a vector of inputs; sizes leave odd tails. */
#include "compiler/codegen/codegen.h"
#include "runtime/loader.h"
#include "tests/support/kiln_test.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { LANES = 8, N = 8192 };

static kiln_profile profiles[8];
static int n_profiles;

/* y[i .. i+8) = f(x[i .. i+8), z[i .. i+8)) */
typedef const kiln_expr *make_fn(kiln_arena *a, const void *row, const kiln_expr *x,
                                 const kiln_expr *z);

static void run(kiln_arena *a, const kiln_profile *p, kiln_dtype in, kiln_dtype out,
                make_fn *make, const void *row, void *x, void *z, void *y) {
    const int64_t dim = N;
    kiln_buffer *b[3] = {kiln_buffer_new(a, "x", in, 1, &dim, KILN_SCOPE_GLOBAL),
                         kiln_buffer_new(a, "z", in, 1, &dim, KILN_SCOPE_GLOBAL),
                         kiln_buffer_new(a, "y", out, 1, &dim, KILN_SCOPE_GLOBAL)};
    const kiln_buffer *arg[3] = {b[0], b[1], b[2]};
    for (int i = 0; i < 3; i++)
        b[i]->arg = i;
    kiln_var *i = kiln_var_new(a, "i", KILN_I64);
    const kiln_expr *at =
        kiln_x_ramp(a, kiln_x_mul(a, kiln_x_ref(a, i), kiln_x_index(a, LANES)),
                    kiln_x_index(a, 1), LANES);
    const kiln_expr *value = make(a, row, kiln_x_load(a, b[0], &at, 1, NULL),
                                  kiln_x_load(a, b[1], &at, 1, NULL));
    const kiln_program prog = {
        .name = "f",
        .arena = a,
        .arg = arg,
        .n_args = 3,
        .n_inputs = 2,
        .is_flat = true,
        .body = kiln_s_for(a, i, kiln_x_index(a, 0), kiln_x_index(a, N / LANES),
                           KILN_LOOP_SERIAL, NULL,
                           kiln_s_store(a, b[2], &at, value, NULL))};
    kiln_object o;
    kiln_err err = {0};
    kiln_code *code = NULL;
    char text[KILN_LOAD_TEXT] = "";
    kiln_assert_status_ok(kiln_codegen_llvm(a, &prog, p, NULL, &o, NULL, &err), &err);
    if (kiln_code_open(o.bytes.p, o.bytes.n, &code, text) != KILN_LOAD_OK)
        fail_msg("%s", text);
    void *tensor[3] = {x, z, y};
    const kiln_args args = {tensor, NULL};
    kiln_ctx ctx;
    kiln_ctx_init_serial(&ctx, NULL);
    assert_int_equal(kiln_code_kernel(code, "f")(&args, &ctx), 0);
    kiln_code_close(code);
}

/* ---- functions of f32 ------------------------------------------------------------ */

typedef struct fn_row {
    const char *name;
    kiln_intrin f;
    double low, high; /* the sweep */
    double ulps, floor;
} fn_row;

static fn_row fn_rows[] = {
    {"exp", KILN_INTRIN_exp, -110, 92, 2, 0},
    {"exp_near_zero", KILN_INTRIN_exp, -1, 1, 2, 0},
    {"log", KILN_INTRIN_log, 0, 1e3, 2, 0},
    {"log_near_one", KILN_INTRIN_log, 0.5, 1.5, 2, 0},
    {"log_of_large", KILN_INTRIN_log, 1, 3e38, 2, 0},
    {"log_of_subnormal", KILN_INTRIN_log, 0, 1e-38, 2, 0},
    {"tanh", KILN_INTRIN_tanh, -12, 12, 4, 0},
    {"tanh_near_zero", KILN_INTRIN_tanh, -0.01, 0.01, 4, 0},
    {"sigmoid", KILN_INTRIN_sigmoid, -120, 40, 4, 0x1p-125},
    {"erf", KILN_INTRIN_erf, -5, 5, 4, 0},
    {"erf_near_zero", KILN_INTRIN_erf, -0.01, 0.01, 4, 0},
    {"sqrt", KILN_INTRIN_sqrt, 0, 1e9, 0, 0},
    {"rsqrt", KILN_INTRIN_rsqrt, 0, 1e9, 2, 0},
    {"floor", KILN_INTRIN_floor, -9, 9, 0, 0},
    {"ceil", KILN_INTRIN_ceil, -9, 9, 0, 0},
    {"round", KILN_INTRIN_round, -9, 9, 0, 0},
    {"trunc_of_large", KILN_INTRIN_trunc, -1e8, 1e8, 0, 0},
    {"abs", KILN_INTRIN_abs, -9, 9, 0, 0},
};

static const float specials[] = {
    0.0f,       -0.0f, 1.0f,    -1.0f,      2.5f,        -2.5f,    INFINITY,
    -INFINITY,  NAN,   FLT_MAX, -FLT_MAX,   FLT_MIN,     -FLT_MIN, 0x1p-149f,
    -0x1p-149f, 0.5f,  -0.5f,   8388609.0f, -8388609.0f, 3.0f,     -3.0f};
enum { N_SPECIALS = sizeof specials / sizeof specials[0] };

static const kiln_expr *make_call(kiln_arena *a, const void *row, const kiln_expr *x,
                                  const kiln_expr *z) {
    const kiln_expr *arg[2] = {x, z};
    return kiln_x_call(a, ((const fn_row *)row)->f, arg);
}

static void check_function(void **state) {
    const fn_row *r = *state;
    kiln_arena *a = kiln_test_arena();
    float *x = kiln_array(a, float, N), *y = kiln_array(a, float, N),
          *want = kiln_array(a, float, N);
    for (int i = 0; i < N; i++) {
        x[i] = i < N_SPECIALS
                   ? specials[i]
                   : (float)(r->low + (r->high - r->low) * i / (double)(N - 1));
        const double v = (double)x[i];
        want[i] = (float)kiln_intrin_eval(r->f, &v);
    }
    for (int p = 0; p < n_profiles; p++) {
        run(a, &profiles[p], KILN_F32, KILN_F32, make_call, r, x, x, y);
        kiln_assert_close(y, want, N, r->ulps, r->floor);
    }
}

static void pow_of_pairs(void **state) {
    const fn_row r = {.f = KILN_INTRIN_pow};
    kiln_arena *a = kiln_test_arena();
    float *x = kiln_array(a, float, N), *z = kiln_array(a, float, N),
          *y = kiln_array(a, float, N), *want = kiln_array(a, float, N);
    kiln_rng rng;
    (void)state;
    kiln_rng_init(&rng, kiln_test_seed());
    for (int i = 0; i < N; i++) {
        if (i < N_SPECIALS * N_SPECIALS) {
            x[i] = specials[i / N_SPECIALS];
            z[i] = specials[i % N_SPECIALS];
        } else {
            x[i] = (float)(kiln_rng_unit(&rng) * 20);
            z[i] = (float)(kiln_rng_unit(&rng) * 80 - 40);
        }
        want[i] = (float)pow((double)x[i], (double)z[i]);
    }
    for (int p = 0; p < n_profiles; p++) {
        run(a, &profiles[p], KILN_F32, KILN_F32, make_call, &r, x, z, y);
        kiln_assert_close(y, want, N, 1, 0);
    }
}

/* f64 by the same code with more terms. */
static void f64_functions(void **state) {
    static const fn_row rows[] = {{.f = KILN_INTRIN_exp, .low = -750, .high = 712},
                                  {.f = KILN_INTRIN_log, .low = 1e-3, .high = 1e6},
                                  {.f = KILN_INTRIN_tanh, .low = -25, .high = 25},
                                  {.f = KILN_INTRIN_floor, .low = -9, .high = 9}};
    kiln_arena *a = kiln_test_arena();
    double *x = kiln_array(a, double, N), *y = kiln_array(a, double, N),
           *want = kiln_array(a, double, N);
    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        for (int i = 0; i < N; i++) {
            x[i] = i < N_SPECIALS ? (double)specials[i]
                                  : rows[k].low + (rows[k].high - rows[k].low) * i /
                                                      (double)(N - 1);
            want[i] = kiln_intrin_eval(rows[k].f, &x[i]);
        }
        for (int p = 0; p < n_profiles; p++) {
            run(a, &profiles[p], KILN_F64, KILN_F64, make_call, &rows[k], x, x, y);
            kiln_assert_close_f64(y, want, N, 4, 0);
        }
    }
}

/* ---- casts ----------------------------------------------------------------------- */

typedef struct cast_row {
    const char *name;
    kiln_dtype from, to;
} cast_row;

static cast_row cast_rows[] = {
    {"f32_to_f16", KILN_F32, KILN_F16},   {"f32_to_bf16", KILN_F32, KILN_BF16},
    {"f64_to_f16", KILN_F64, KILN_F16},   {"f64_to_bf16", KILN_F64, KILN_BF16},
    {"f16_to_f32", KILN_F16, KILN_F32},   {"bf16_to_f64", KILN_BF16, KILN_F64},
    {"f32_to_i8", KILN_F32, KILN_I8},     {"f32_to_u8", KILN_F32, KILN_U8},
    {"f32_to_i32", KILN_F32, KILN_I32},   {"f64_to_i64", KILN_F64, KILN_I64},
    {"f32_to_bool", KILN_F32, KILN_BOOL}, {"i32_to_f16", KILN_I32, KILN_F16},
    {"u8_to_f32", KILN_U8, KILN_F32},     {"i32_to_i8", KILN_I32, KILN_I8},
    {"i8_to_u64", KILN_I8, KILN_U64},     {"u32_to_f64", KILN_U32, KILN_F64},
};

static const kiln_expr *make_cast(kiln_arena *a, const void *row, const kiln_expr *x,
                                  const kiln_expr *z) {
    (void)z;
    return kiln_x_cast(a, ((const cast_row *)row)->to, x);
}

/* Random bit patterns: every exponent, subnormals, NaN. */
static void check_cast(void **state) {
    const cast_row *r = *state;
    kiln_arena *a = kiln_test_arena();
    const size_t in = kiln_dtype_bytes(r->from), out = kiln_dtype_bytes(r->to);
    unsigned char *x = kiln_arena_alloc(a, N * in), *y = kiln_arena_alloc(a, N * out);
    unsigned char *want = kiln_arena_alloc(a, N * out);
    const int64_t dim = N;
    kiln_rng rng;
    kiln_rng_init(&rng, kiln_test_seed());
    for (int i = 0; i < N; i++) {
        /* half of them of moderate size, where rounding matters */
        const double v = (2 * kiln_rng_unit(&rng) - 1) * exp2(i % 48 - 30);
        const float f = (float)v;
        const uint64_t bits = kiln_rng_next(&rng);
        memcpy(x + (size_t)i * in, &bits, in);
        if (i % 2 == 0 && r->from == KILN_F32)
            memcpy(x + (size_t)i * in, &f, in);
        if (i % 2 == 0 && r->from == KILN_F64)
            memcpy(x + (size_t)i * in, &v, in);
    }
    kiln_err err = {0};
    const kiln_type from = kiln_type_make(r->from, 1, &dim),
                    to = kiln_type_make(r->to, 1, &dim);
    kiln_buffer *b[3] = {kiln_buffer_new(a, "x", r->from, 1, &dim, KILN_SCOPE_GLOBAL),
                         kiln_buffer_new(a, "y", r->to, 1, &dim, KILN_SCOPE_GLOBAL)};
    const kiln_buffer *arg[2] = {b[0], b[1]};
    kiln_var *i = kiln_var_new(a, "i", KILN_I64);
    const kiln_expr *at = kiln_x_ref(a, i);
    const kiln_program p = {
        .name = "f",
        .arena = a,
        .arg = arg,
        .n_args = 2,
        .n_inputs = 1,
        .body = kiln_s_for(
            a, i, kiln_x_index(a, 0), kiln_x_index(a, N), KILN_LOOP_SERIAL, NULL,
            kiln_s_store(a, b[1], &at,
                         kiln_x_cast(a, r->to, kiln_x_load(a, b[0], &at, 1, NULL)),
                         NULL))};
    void *tensor[2] = {x, want};
    kiln_assert_status_ok(kiln_program_run(a, &p, tensor, NULL, &err), &err);
    kiln_wide w = kiln_wide_new(a, &to), g = kiln_wide_new(a, &to),
              s = kiln_wide_new(a, &from);
    kiln_widen(&to, want, &w);
    kiln_widen(&from, x, &s);
    for (int k = 0; k < n_profiles; k++) {
        run(a, &profiles[k], r->from, r->to, make_cast, r, x, x, y);
        kiln_widen(&to, y, &g);
        for (int e = 0; e < N; e++)
            if (w.f != NULL ? !(w.f[e] == g.f[e] || (isnan(w.f[e]) && isnan(g.f[e])))
                            : w.i[e] != g.i[e])
                fail_msg("%s: element %d, %a, became %a, interpreted %a",
                         profiles[k].name, e, s.f != NULL ? s.f[e] : (double)s.i[e],
                         g.f != NULL ? g.f[e] : (double)g.i[e],
                         w.f != NULL ? w.f[e] : (double)w.i[e]);
    }
}

/* ---- refusals -------------------------------------------------------------------- */

static void refuses_sin_by_name(void **state) {
    kiln_arena *a = kiln_test_arena();
    const int64_t dim = 1;
    kiln_buffer *b = kiln_buffer_new(a, "x", KILN_F32, 1, &dim, KILN_SCOPE_GLOBAL);
    const kiln_buffer *arg[1] = {b};
    const kiln_expr *zero = kiln_x_index(a, 0);
    const kiln_expr *v = kiln_x_load(a, b, &zero, 1, NULL);
    kiln_program p = {
        .name = "f",
        .arena = a,
        .arg = arg,
        .n_args = 1,
        .body = kiln_s_store(a, b, &zero, kiln_x_call(a, KILN_INTRIN_sin, &v), NULL)};
    kiln_object o;
    kiln_err err = {0};
    (void)state;
    kiln_assert_fails(kiln_codegen_llvm(a, &p, &profiles[0], NULL, &o, NULL, &err),
                      KILN_ERR_UNSUPPORTED, &err,
                      "intrinsic 'sin' of f32 has no generated code");
    p.name = "a b";
    kiln_err_clear(&err);
    kiln_assert_fails(kiln_codegen_llvm(a, &p, &profiles[0], NULL, &o, NULL, &err),
                      KILN_ERR_ARG, &err,
                      "the name of a kernel must be letters, digits, '_' and '.'");
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
    kiln_test_add_rows(check_function, fn_rows);
    kiln_test_add("pow_of_pairs", pow_of_pairs, NULL);
    kiln_test_add("f64_functions", f64_functions, NULL);
    kiln_test_add_rows(check_cast, cast_rows);
    kiln_test_add("refuses_sin_by_name", refuses_sin_by_name, NULL);
    return kiln_test_run("generated functions");
}
