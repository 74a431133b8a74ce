/* Generated functions against libm, over the range of each: error in ulp as
 * compiler/loop/expansions.def states it, special values exactly. A program
 * applies one expression to a vector of inputs; sizes leave odd tails. */
#include "compiler/codegen/codegen.h"
#include "tests/support/kernel/code_run.h"
#include "tests/support/kiln_test.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { LANES = 8, N = 2048 };

/* y[i .. i+8) = f(x[i .. i+8), z[i .. i+8)) */
typedef const kiln_expr *make_fn(kiln_arena *a, const void *row, const kiln_expr *x,
                                 const kiln_expr *z);

static kiln_program *program_of(kiln_arena *a, kiln_dtype in, kiln_dtype out,
                                make_fn *make, const void *row) {
    const int64_t dim = N;
    kiln_buffer *b[3] = {kiln_buffer_new(a, "x", in, 1, &dim, KILN_SCOPE_GLOBAL),
                         kiln_buffer_new(a, "z", in, 1, &dim, KILN_SCOPE_GLOBAL),
                         kiln_buffer_new(a, "y", out, 1, &dim, KILN_SCOPE_GLOBAL)};
    const kiln_buffer **arg = kiln_array(a, const kiln_buffer *, 3);
    for (int i = 0; i < 3; i++) {
        b[i]->arg = i;
        arg[i] = b[i];
    }
    kiln_var *i = kiln_var_new(a, "i", KILN_I64);
    const kiln_expr *at =
        kiln_x_ramp(a, kiln_x_mul(a, kiln_x_ref(a, i), kiln_x_index(a, LANES)),
                    kiln_x_index(a, 1), LANES);
    const kiln_expr *value = make(a, row, kiln_x_load(a, b[0], &at, 1, NULL),
                                  kiln_x_load(a, b[1], &at, 1, NULL));
    kiln_program *prog = kiln_new(a, kiln_program);
    *prog = (kiln_program){.name = "f",
                           .arena = a,
                           .arg = arg,
                           .n_args = 3,
                           .n_inputs = 2,
                           .is_flat = true,
                           .body = kiln_s_for(a, i, kiln_x_index(a, 0),
                                              kiln_x_index(a, N / LANES),
                                              KILN_LOOP_SERIAL, NULL,
                                              kiln_s_store(a, b[2], &at, value, NULL))};
    return prog;
}

static code_kernel *compile(kiln_arena *a, const kiln_profile *p, kiln_dtype in,
                            kiln_dtype out, make_fn *make, const void *row) {
    return code_compile(a, program_of(a, in, out, make, row), p);
}

static void call(const code_kernel *k, void *x, void *z, void *y, const char *what) {
    void *tensor[3] = {x, z, y};
    code_call(k, tensor, what);
}

/* ---- functions ------------------------------------------------------------------- */

typedef struct fn_row {
    const char *name;
    kiln_intrin f;
    double ulps[2]; /* f32, f64 */
    double floor;   /* absolute, in unit roundoffs */
} fn_row;

static fn_row fn_rows[] = {
    {"abs", KILN_INTRIN_abs, {0, 0}, 0},
    {"acos", KILN_INTRIN_acos, {4, 4}, 0},
    {"acosh", KILN_INTRIN_acosh, {8, 8}, 0},
    {"asin", KILN_INTRIN_asin, {4, 4}, 0},
    {"asinh", KILN_INTRIN_asinh, {8, 8}, 0},
    {"atan", KILN_INTRIN_atan, {4, 4}, 0},
    {"atanh", KILN_INTRIN_atanh, {8, 8}, 0},
    {"ceil", KILN_INTRIN_ceil, {0, 0}, 0},
    {"cos", KILN_INTRIN_cos, {1, 2}, 0},
    {"cosh", KILN_INTRIN_cosh, {4, 4}, 0},
    {"erf", KILN_INTRIN_erf, {4, 4}, 0},
    {"exp", KILN_INTRIN_exp, {2, 2}, 0},
    {"expm1", KILN_INTRIN_expm1, {2, 2}, 0},
    {"floor", KILN_INTRIN_floor, {0, 0}, 0},
    {"log", KILN_INTRIN_log, {2, 2}, 0},
    {"log1p", KILN_INTRIN_log1p, {3, 3}, 0},
    {"round", KILN_INTRIN_round, {0, 0}, 0},
    {"rsqrt", KILN_INTRIN_rsqrt, {2, 2}, 0},
    {"sigmoid", KILN_INTRIN_sigmoid, {4, 4}, 0},
    {"sin", KILN_INTRIN_sin, {1, 2}, 0},
    {"sinh", KILN_INTRIN_sinh, {4, 4}, 0},
    {"sqrt", KILN_INTRIN_sqrt, {0, 0}, 0},
    {"tan", KILN_INTRIN_tan, {1, 4}, 0},
    {"tanh", KILN_INTRIN_tanh, {4, 4}, 0},
    {"trunc", KILN_INTRIN_trunc, {0, 0}, 0},
    {"gelu", KILN_INTRIN_gelu, {16, 16}, 4},
    {"exp_low", KILN_INTRIN_exp_low, {2, 2}, 0x1p-101},
};

/* Where arguments come from: every function is swept by all of them. */
typedef enum source {
    EVEN,  /* low to high in equal steps */
    BITS,  /* any bit pattern: every exponent */
    TURNS, /* what rounds a multiple of pi/2, small or huge: hard to reduce */
} source;

static const struct {
    source source;
    double low, high;
} sweeps[] = {
    {EVEN, -1.01, 1.01},  {EVEN, -20, 20},   {EVEN, -110, 92}, {EVEN, -750, 712},
    {EVEN, 0.9e6, 1.1e6}, {EVEN, 0, 3e38},   {EVEN, 0, 1e-38}, {EVEN, 0.5, 1.5},
    {EVEN, -0.01, 0.01},  {EVEN, -1e8, 1e8}, {BITS, 0, 0},     {TURNS, 0, 0},
};

enum { BITS_SWEEP = 10 };

static const float specials[] = {
    0.0f,       -0.0f, 1.0f,    -1.0f,      2.5f,        -2.5f,    INFINITY,
    -INFINITY,  NAN,   FLT_MAX, -FLT_MAX,   FLT_MIN,     -FLT_MIN, 0x1p-149f,
    -0x1p-149f, 0.5f,  -0.5f,   8388609.0f, -8388609.0f, 3.0f,     -3.0f};
enum { N_SPECIALS = sizeof specials / sizeof specials[0] };

static double argument(size_t sweep, kiln_rng *rng, int i, kiln_dtype dtype) {
    const uint64_t bits = kiln_rng_next(rng);
    const uint32_t half = (uint32_t)bits;
    double v = sweeps[sweep].low;
    float f;
    if (i < N_SPECIALS)
        return (double)specials[i];
    switch (sweeps[sweep].source) {
    case EVEN:
        return v + (sweeps[sweep].high - v) * i / (double)(N - 1);
    case BITS:
        memcpy(&v, &bits, sizeof v);
        memcpy(&f, &half, sizeof f);
        return dtype == KILN_F64 ? v : (double)f;
    case TURNS: /* the first is the nearest of all doubles (Muller, Elementary
                   Functions, 3rd ed., 11.2) */
        if (i == N_SPECIALS)
            return 6381956970095103 * 0x1p797;
        v = floor(exp2(kiln_rng_unit(rng) * (dtype == KILN_F64 ? 1000 : 120)));
        return v * 1.57079632679489661923;
    }
    return 0;
}

/* Where the function has no meaning, its negative has. */
static double in_domain(kiln_intrin f, double x) {
    return f == KILN_INTRIN_exp_low && x > 40 ? -x : x;
}

static const kiln_expr *make_call(kiln_arena *a, const void *row, const kiln_expr *x,
                                  const kiln_expr *z) {
    const kiln_expr *arg[2] = {x, z};
    return kiln_x_call(a, ((const fn_row *)row)->f, arg);
}

/* As the intrinsic says, but glibc's cos in double is off by 8 ulp beside huge
 * multiples of pi/2: its functions of long double are not. */
static double meaning(kiln_intrin f, double x) {
    if (f == KILN_INTRIN_cos)
        return (double)cosl((long double)x);
    if (f == KILN_INTRIN_sin)
        return (double)sinl((long double)x);
    if (f == KILN_INTRIN_tan)
        return (double)tanl((long double)x);
    return kiln_intrin_eval(f, &x);
}

static double ulps_of(kiln_dtype dtype, double got, double want) {
    const int bits = dtype == KILN_F64   ? 53
                     : dtype == KILN_F32 ? 24
                     : dtype == KILN_F16 ? 11
                                         : 8;
    return kiln_test_ulps(got, want, bits,
                          dtype == KILN_F64   ? -1022
                          : dtype == KILN_F16 ? -14
                                              : -126);
}

/* The largest error; all must be within `ulps`, zeros of the same sign. */
static double check_values(const fn_row *r, kiln_dtype dtype, double ulps,
                           const kiln_wide *x, const kiln_wide *want,
                           const kiln_wide *got, const char *profile) {
    const double floor = r->floor * (dtype == KILN_F64 ? 0x1p-53 : 0x1p-24);
    double worst = 0;
    for (int i = 0; i < N; i++) {
        const double d = ulps_of(dtype, got->f[i], want->f[i]);
        const bool is_close = d <= ulps || fabs(got->f[i] - want->f[i]) <= floor;
        if (!is_close ||
            (want->f[i] == 0 && !signbit(got->f[i]) != !signbit(want->f[i])))
            fail_msg("%s of %s on %s: %a gives %a, wanted %a: %g ulp, bound %g",
                     r->name, kiln_dtype_name(dtype), profile, x->f[i], got->f[i],
                     want->f[i], d, ulps);
        if (is_close && d <= ulps)
            worst = fmax(worst, d);
    }
    return worst;
}

static void check_function_of(const fn_row *r, kiln_dtype dtype, double ulps) {
    kiln_arena *a = kiln_test_arena();
    const int64_t dim = N;
    const kiln_type t = kiln_type_make(dtype, 1, &dim);
    kiln_wide x = kiln_wide_new(a, &t), want = kiln_wide_new(a, &t),
              got = kiln_wide_new(a, &t);
    kiln_tensor in = kiln_tensor_new(a, &t), out = kiln_tensor_new(a, &t);
    double worst = 0;
    kiln_rng rng;
    kiln_rng_init(&rng, kiln_test_seed());
    for (int p = 0; code_profile_at(p) != NULL; p++) {
        const kiln_profile *prof = code_profile_at(p);
        if (code_is_variant(prof))
            continue;
        code_kernel *code = compile(a, prof, dtype, dtype, make_call, r);
        for (size_t s = 0; s < sizeof sweeps / sizeof sweeps[0]; s++) {
            for (int i = 0; i < N; i++) {
                x.f[i] =
                    in_domain(r->f, kiln_round_f64(dtype, argument(s, &rng, i, dtype)));
                want.f[i] = kiln_round_f64(dtype, meaning(r->f, x.f[i]));
            }
            kiln_narrow(&x, in.data);
            call(code, in.data, in.data, out.data, r->name);
            kiln_widen(&t, out.data, &got);
            worst =
                fmax(worst, check_values(r, dtype, ulps, &x, &want, &got, prof->name));
        }
        code_close(code);
    }
    print_message("%s of %s: %.2f ulp\n", r->name, kiln_dtype_name(dtype), worst);
}

/* The halves are computed in f32 and rounded, which may fall the other way. */
static void check_function(void **state) {
    const fn_row *r = *state;
    check_function_of(r, KILN_F32, r->ulps[0]);
    check_function_of(r, KILN_F64, r->ulps[1]);
    check_function_of(r, (r - fn_rows) % 2 != 0 ? KILN_F16 : KILN_BF16, 1);
}

/* ---- one meaning ----------------------------------------------------------------- */

/* What the program is after `expand`, interpreted. */
static void interpret(kiln_arena *a, const kiln_program *p, const kiln_profile *prof,
                      void *x, void *y) {
    const kiln_natives natives = kiln_codegen_natives(prof);
    const kiln_loop_options o = {.natives = &natives};
    void *const tensor[3] = {x, x, y};
    kiln_program q = *p;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_loop_pass_halves.run(&q, &o, &err), &err);
    kiln_assert_status_ok(kiln_loop_pass_expand.run(&q, &o, &err), &err);
    kiln_assert_status_ok(kiln_program_run(a, &q, tensor, NULL, &err), &err);
}

static void check_same(const fn_row *r, kiln_dtype dtype, const kiln_profile *prof) {
    kiln_arena a;
    kiln_arena_init(&a);
    const int64_t dim = N;
    const kiln_type t = kiln_type_make(dtype, 1, &dim);
    kiln_wide x = kiln_wide_new(&a, &t), want = kiln_wide_new(&a, &t),
              got = kiln_wide_new(&a, &t);
    kiln_tensor in = kiln_tensor_new(&a, &t), out = kiln_tensor_new(&a, &t);
    kiln_rng rng;
    kiln_rng_init(&rng, kiln_test_seed());
    const kiln_program *p = program_of(&a, dtype, dtype, make_call, r);
    code_kernel *code = code_compile(&a, p, prof);
    for (size_t s = 1; s < sizeof sweeps / sizeof sweeps[0]; s += BITS_SWEEP - 1) {
        for (int i = 0; i < N; i++)
            x.f[i] =
                in_domain(r->f, kiln_round_f64(dtype, argument(s, &rng, i, dtype)));
        kiln_narrow(&x, in.data);
        interpret(&a, p, prof, in.data, out.data);
        kiln_widen(&t, out.data, &want);
        call(code, in.data, in.data, out.data, r->name);
        kiln_widen(&t, out.data, &got);
        for (int i = 0; i < N; i++)
            if (got.f[i] != want.f[i] && !(isnan(got.f[i]) && isnan(want.f[i])))
                fail_msg("%s of %s on %s: %a gives %a, interpreted %a", r->name,
                         kiln_dtype_name(dtype), prof->name, x.f[i], got.f[i],
                         want.f[i]);
    }
    code_close(code);
    kiln_arena_fini(&a);
}

/* Bit for bit: expansions leave a code generator nothing to decide. Under a sanitizer every
 * third function on each profile, others on the next. */
static void compiled_is_interpreted(void **state) {
    (void)state;
    const size_t step = kiln_test_cases(3) == 1 ? 3 : 1;
    for (int p = 0; code_profile_at(p) != NULL; p++) {
        const kiln_profile *prof = code_profile_at(p);
        const kiln_natives natives = kiln_codegen_natives(prof);
        for (size_t i = (size_t)p % step; i < sizeof fn_rows / sizeof fn_rows[0];
             i += step) {
            if (code_is_variant(prof) ||
                kiln_is_native(&natives, fn_rows[i].f, KILN_F32))
                continue;
            check_same(&fn_rows[i], KILN_F32, prof);
            check_same(&fn_rows[i], KILN_F64, prof);
        }
    }
}

/* Two arguments: specials by specials, where all have a meaning, then what `draw` makes. */
typedef void draw_pair(kiln_rng *rng, int i, kiln_dtype dtype, double *x, double *y);

static void check_pairs(const fn_row *r, kiln_dtype dtype, double ulps,
                        draw_pair *draw) {
    kiln_arena *a = kiln_test_arena();
    const int64_t dim = N;
    const kiln_type t = kiln_type_make(dtype, 1, &dim);
    kiln_wide x = kiln_wide_new(a, &t), z = kiln_wide_new(a, &t),
              want = kiln_wide_new(a, &t), got = kiln_wide_new(a, &t);
    kiln_tensor in[2] = {kiln_tensor_new(a, &t), kiln_tensor_new(a, &t)},
                out = kiln_tensor_new(a, &t);
    double worst = 0;
    kiln_rng rng;
    kiln_rng_init(&rng, kiln_test_seed());
    for (int i = 0; i < N; i++) {
        draw(&rng, i, dtype, &x.f[i], &z.f[i]);
        if (i < N_SPECIALS * N_SPECIALS && r->f != KILN_INTRIN_quotient) {
            x.f[i] = (double)specials[i / N_SPECIALS];
            z.f[i] = (double)specials[i % N_SPECIALS];
        }
        x.f[i] = kiln_round_f64(dtype, x.f[i]);
        z.f[i] = kiln_round_f64(dtype, z.f[i]);
        want.f[i] = kiln_round_f64(
            dtype, kiln_intrin_eval(r->f, (const double[]){x.f[i], z.f[i]}));
    }
    kiln_narrow(&x, in[0].data);
    kiln_narrow(&z, in[1].data);
    for (int p = 0; code_profile_at(p) != NULL; p++) {
        const kiln_profile *prof = code_profile_at(p);
        if (code_is_variant(prof))
            continue;
        code_kernel *code = compile(a, prof, dtype, dtype, make_call, r);
        call(code, in[0].data, in[1].data, out.data, r->name);
        code_close(code);
        kiln_widen(&t, out.data, &got);
        worst = fmax(worst, check_values(r, dtype, ulps, &x, &want, &got, prof->name));
    }
    print_message("%s of %s: %.2f ulp\n", r->name, kiln_dtype_name(dtype), worst);
}

static void draw_power(kiln_rng *rng, int i, kiln_dtype dtype, double *x, double *y) {
    const double span = dtype == KILN_F64 ? 700 : 87;
    *x = exp2(kiln_rng_unit(rng) * 40 - 20);
    if (i % 4 == 1) /* near one, to large powers */
        *x = 1 + (*x < 1 ? 1 : -1) * kiln_rng_unit(rng) * 0x1p-9;
    *y = (2 * kiln_rng_unit(rng) - 1) * span / fabs(log(*x));
    if (i % 4 == 2) { /* negative, to whole powers */
        *x = -*x;
        *y = round(*y);
    }
}

/* Any bits, or near each other, or a multiple and nearly one. */
static void draw_remainder(kiln_rng *rng, int i, kiln_dtype dtype, double *x,
                           double *y) {
    *x = argument(BITS_SWEEP, rng, N, dtype);
    *y = argument(BITS_SWEEP, rng, N, dtype);
    if (i % 4 == 1)
        *y = *x * exp2(-40 * kiln_rng_unit(rng));
    if (i % 4 == 2)
        *y = kiln_round_f64(dtype, *x / (1 + (double)(kiln_rng_next(rng) % 1000)));
    if (i % 4 == 3) {
        *x = round(2e6 * kiln_rng_unit(rng) - 1e6);
        *y = round(200 * kiln_rng_unit(rng) - 100);
    }
}

static void pow_of_pairs(void **state) {
    const fn_row r = {.name = "pow", .f = KILN_INTRIN_pow};
    (void)state;
    check_pairs(&r, KILN_F32, 1, draw_power);
    check_pairs(&r, KILN_F64, 2, draw_power);
    check_pairs(&r, KILN_F16, 1, draw_power);
}

static void fmod_is_exact(void **state) {
    const fn_row r = {.name = "fmod", .f = KILN_INTRIN_fmod};
    (void)state;
    check_pairs(&r, KILN_F32, 0, draw_remainder);
    check_pairs(&r, KILN_F64, 0, draw_remainder);
    check_pairs(&r, KILN_BF16, 0, draw_remainder);
}

/* A dividend near a half, or anything; a divisor within limits. */
static void draw_quotient(kiln_rng *rng, int i, kiln_dtype dtype, double *x,
                          double *y) {
    const double near = dtype == KILN_F64 ? 0x1p-50 : 0x1p-21;
    double q = ldexp(1 + kiln_rng_unit(rng), (int)(kiln_rng_next(rng) % 26) - 10);
    if (i % 4 != 0)
        q = ((double)(kiln_rng_next(rng) % 512) - 255.5) *
            (1 + near * (kiln_rng_unit(rng) - 0.5));
    *y = kiln_round_f64(
        dtype, ldexp(1 + kiln_rng_unit(rng), (int)(kiln_rng_next(rng) % 120) - 60));
    *x = q * *y;
}

static void quotient_is_the_division(void **state) {
    const fn_row r = {.name = "quotient", .f = KILN_INTRIN_quotient};
    (void)state;
    check_pairs(&r, KILN_F32, 0, draw_quotient);
    check_pairs(&r, KILN_F64, 0, draw_quotient);
}

/* ---- refusals -------------------------------------------------------------------- */

static void refuses_exp_of_integers_by_name(void **state) {
    kiln_arena *a = kiln_test_arena();
    const int64_t dim = 1;
    kiln_buffer *b = kiln_buffer_new(a, "x", KILN_I32, 1, &dim, KILN_SCOPE_GLOBAL);
    const kiln_buffer *arg[1] = {b};
    const kiln_expr *zero = kiln_x_index(a, 0);
    const kiln_expr *v = kiln_x_load(a, b, &zero, 1, NULL);
    kiln_program p = {
        .name = "f",
        .arena = a,
        .arg = arg,
        .n_args = 1,
        .body = kiln_s_store(a, b, &zero, kiln_x_call(a, KILN_INTRIN_exp, &v), NULL)};
    kiln_object o;
    kiln_err err = {0};
    (void)state;
    kiln_assert_fails(kiln_codegen(a, &p, kiln_profile_at(0), NULL, &o, NULL, &err),
                      KILN_ERR_UNSUPPORTED, &err,
                      "intrinsic 'exp' is not generated for i32; cast to f32 first");
    p.name = "a b";
    kiln_err_clear(&err);
    kiln_assert_fails(kiln_codegen(a, &p, kiln_profile_at(0), NULL, &o, NULL, &err),
                      KILN_ERR_ARG, &err,
                      "the name of a kernel must be letters, digits, '_' and '.'");
}

int main(void) {
    kiln_test_add_rows(check_function, fn_rows);
    kiln_test_add("compiled_is_interpreted", compiled_is_interpreted, NULL);
    kiln_test_add("pow_of_pairs", pow_of_pairs, NULL);
    kiln_test_add("quotient_is_the_division", quotient_is_the_division, NULL);
    kiln_test_add("fmod_is_exact", fmod_is_exact, NULL);
    kiln_test_add("refuses_exp_of_integers_by_name", refuses_exp_of_integers_by_name,
                  NULL);
    return kiln_test_run("generated functions");
}
