/* Functions written out by the pass `expand`, run by the interpreter: no code generator
 * takes part. Held against long double to the bounds of expansions.def, with fma and
 * without; a wrong constant must show. */
#include "compiler/loop/expand.h"
#include "tests/support/kiln_test.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { LANES = 64, N = 1024 };

/* With fma, and what is exact, as most machines. */
static const uint64_t common =
    KILN_NATIVE(abs) | KILN_NATIVE(copysign) | KILN_NATIVE(floor) | KILN_NATIVE(fma) |
    KILN_NATIVE(round) | KILN_NATIVE(sqrt) | KILN_NATIVE(trunc);
static const kiln_natives with_fma = {.name = "with fma", .f32 = common, .f64 = common};

/* ---- programs ----------------------------------------------------------------------
 */

static const kiln_expr *at_lanes(kiln_arena *a, const kiln_var *i) {
    return kiln_x_ramp(a, kiln_x_mul(a, kiln_x_ref(a, i), kiln_x_index(a, LANES)),
                       kiln_x_index(a, 1), LANES);
}

/* y[i] = f(x[i], z[i], z[i]) */
static kiln_program *program_of(kiln_arena *a, kiln_intrin f, kiln_dtype dtype) {
    const int64_t dim = N;
    static const char *const name[3] = {"x", "z", "y"};
    const kiln_buffer **arg = kiln_array(a, const kiln_buffer *, 3);
    const kiln_var *i = kiln_var_new(a, "i", KILN_I64);
    const kiln_expr *at = at_lanes(a, i), *value[3] = {NULL, NULL, NULL};
    for (int k = 0; k < 3; k++) {
        kiln_buffer *b = kiln_buffer_new(
            a, name[k], k == 2 && f == KILN_INTRIN_isnan ? KILN_BOOL : dtype, 1, &dim,
            KILN_SCOPE_GLOBAL);
        b->arg = k;
        b->is_written = k == 2;
        arg[k] = b;
        value[k] = kiln_x_load(a, b, &at, 1, NULL);
    }
    value[2] = value[1];
    const kiln_stmt *store =
        kiln_s_store(a, arg[2], &at, kiln_x_call(a, f, value), NULL);
    kiln_program *p = kiln_new(a, kiln_program);
    *p = (kiln_program){.name = "f",
                        .arena = a,
                        .arg = arg,
                        .n_args = 3,
                        .n_inputs = 2,
                        .is_flat = true,
                        .body = kiln_s_for(a, i, kiln_x_index(a, 0),
                                           kiln_x_index(a, N / LANES), KILN_LOOP_SERIAL,
                                           NULL, store)};
    return p;
}

static void expand(kiln_program *p, const kiln_natives *natives) {
    const kiln_loop_options o = {.natives = natives};
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_loop_pass_halves.run(p, &o, &err), &err);
    kiln_assert_status_ok(kiln_program_verify(p, &err), &err);
    kiln_assert_status_ok(kiln_loop_pass_expand.run(p, &o, &err), &err);
    kiln_assert_status_ok(kiln_program_verify(p, &err), &err);
}

typedef struct values {
    kiln_type type;
    kiln_wide x, z, got;
    kiln_tensor in[2], out;
} values;

static values values_new(kiln_arena *a, kiln_dtype dtype) {
    const int64_t dim = N;
    values v = {.type = kiln_type_make(dtype, 1, &dim)};
    v.x = kiln_wide_new(a, &v.type);
    v.z = kiln_wide_new(a, &v.type);
    v.got = kiln_wide_new(a, &v.type);
    v.in[0] = kiln_tensor_new(a, &v.type);
    v.in[1] = kiln_tensor_new(a, &v.type);
    v.out = kiln_tensor_new(a, &v.type);
    return v;
}

static void run(const kiln_program *p, values *v) {
    kiln_arena scratch;
    kiln_err err = {0};
    kiln_narrow(&v->x, v->in[0].data);
    kiln_narrow(&v->z, v->in[1].data);
    void *const tensor[3] = {v->in[0].data, v->in[1].data, v->out.data};
    kiln_arena_init(&scratch);
    kiln_assert_status_ok(kiln_program_run(&scratch, p, tensor, NULL, &err), &err);
    kiln_arena_fini(&scratch);
    kiln_widen(&v->type, v->out.data, &v->got);
}

/* ---- arguments and references ------------------------------------------------------
 */

static const double low_high[][2] = {{-1.01, 1.01}, {-20, 20},     {-110, 92},
                                     {-750, 712},   {0, 1e-38},    {0.5, 1.5},
                                     {-0.01, 0.01}, {-1e12, 1e12}, {0, 0}};
enum { SWEEPS = sizeof low_high / sizeof low_high[0], BITS = SWEEPS - 1 };

static const double specials[] = {0.0,
                                  -0.0,
                                  1,
                                  -1,
                                  2.5,
                                  -2.5,
                                  (double)INFINITY,
                                  -(double)INFINITY,
                                  (double)NAN,
                                  (double)FLT_MAX,
                                  -(double)FLT_MAX,
                                  (double)FLT_MIN,
                                  -(double)FLT_MIN,
                                  0x1p-149,
                                  -0x1p-149,
                                  0.5,
                                  -0.5,
                                  8388609.0,
                                  -8388609.0,
                                  3,
                                  -3,
                                  DBL_MAX,
                                  -DBL_MAX,
                                  DBL_MIN,
                                  0x1p-1074,
                                  -0x1p-1074,
                                  4503599627370497.5,
                                  -0.49999999999999994};
enum { N_SPECIALS = sizeof specials / sizeof specials[0] };

static double any_bits(kiln_rng *rng, kiln_dtype dtype) {
    const uint64_t all = kiln_rng_next(rng);
    const uint32_t half = (uint32_t)all;
    double v;
    float f;
    memcpy(&v, &all, sizeof v);
    memcpy(&f, &half, sizeof f);
    return dtype == KILN_F64 ? v : (double)f;
}

/* Specials by specials, then the range in equal steps, and any exponent. */
/* Where the function has no meaning, its negative has. */
static double in_domain(kiln_intrin f, double x) {
    return f == KILN_INTRIN_exp_low && x > 40 ? -x : x;
}

/* A divisor within limits, and a dividend near it, near a half or anywhere. */
static void draw_quotient(kiln_rng *rng, kiln_dtype dtype, double *x, double *y) {
    const double half = (double)(kiln_rng_next(rng) % 0x20000) - 0x10000 + 0.5;
    *y = kiln_round_f64(
        dtype, ldexp(1 + kiln_rng_unit(rng), (int)(kiln_rng_next(rng) % 120) - 60));
    const double near =
        1 + (kiln_rng_unit(rng) - 0.5) * (dtype == KILN_F64 ? 0x1p-50 : 0x1p-21);
    const double any =
        ldexp(1 + kiln_rng_unit(rng), (int)(kiln_rng_next(rng) % 26) - 10);
    *x = kiln_round_f64(dtype, *y * (kiln_rng_next(rng) % 4 == 0 ? any : half * near));
}

static void draw(kiln_rng *rng, kiln_intrin f, int sweep, kiln_dtype dtype, values *v) {
    const double low = low_high[sweep][0], high = low_high[sweep][1];
    for (int i = 0; i < N; i++) {
        v->x.f[i] = sweep == BITS ? any_bits(rng, dtype)
                                  : low + (high - low) * i / (double)(N - 1);
        v->z.f[i] = sweep == BITS ? any_bits(rng, dtype) : 40 * kiln_rng_unit(rng) - 20;
        if (i < N_SPECIALS * N_SPECIALS) {
            v->x.f[i] = specials[i / N_SPECIALS];
            v->z.f[i] = specials[i % N_SPECIALS];
        }
        v->x.f[i] = in_domain(f, kiln_round_f64(dtype, v->x.f[i]));
        v->z.f[i] = kiln_round_f64(dtype, v->z.f[i]);
        if (f == KILN_INTRIN_quotient)
            draw_quotient(rng, dtype, &v->x.f[i], &v->z.f[i]);
    }
}

static long double meaning(kiln_intrin f, long double x, long double z) {
    switch (f) {
    case KILN_INTRIN_acos:
        return acosl(x);
    case KILN_INTRIN_acosh:
        return acoshl(x);
    case KILN_INTRIN_asin:
        return asinl(x);
    case KILN_INTRIN_asinh:
        return asinhl(x);
    case KILN_INTRIN_atan:
        return atanl(x);
    case KILN_INTRIN_atanh:
        return atanhl(x);
    case KILN_INTRIN_cos: /* in double glibc's is off by 8 ulp beside huge multiples */
        return cosl(x);
    case KILN_INTRIN_cosh:
        return coshl(x);
    case KILN_INTRIN_erf:
        return erfl(x);
    case KILN_INTRIN_gelu:
        return 0.5L * x * erfcl(-x * 0.70710678118654752440L);
    case KILN_INTRIN_exp:
    case KILN_INTRIN_exp_low:
        return expl(x);
    case KILN_INTRIN_expm1:
        return expm1l(x);
    case KILN_INTRIN_log:
        return logl(x);
    case KILN_INTRIN_log1p:
        return log1pl(x);
    case KILN_INTRIN_pow:
        return powl(x, z);
    case KILN_INTRIN_rsqrt:
        return 1 / sqrtl(x);
    case KILN_INTRIN_sigmoid:
        return x < 0 ? expl(x) / (1 + expl(x)) : 1 / (1 + expl(-x));
    case KILN_INTRIN_sin:
        return sinl(x);
    case KILN_INTRIN_sinh:
        return sinhl(x);
    case KILN_INTRIN_tan:
        return tanl(x);
    case KILN_INTRIN_tanh:
        return tanhl(x);
    case KILN_INTRINS_EXACT:
    case KILN_INTRINS_ROUNDING:
    case KILN_INTRINS_SPECIAL:
    case KILN_INTRIN_abs:
    case KILN_INTRIN_copysign:
    case KILN_INTRIN_fma:
    case KILN_INTRIN_fmod:
    case KILN_INTRIN_quotient:
    case KILN_INTRIN_isnan:
    case KILN_INTRIN_sqrt:
        break;
    }
    const double exact[2] = {(double)x, (double)z};
    return (long double)kiln_intrin_eval(f, exact);
}

static double wanted(kiln_intrin f, kiln_dtype dtype, double x, double z) {
    if (f == KILN_INTRIN_fma) /* rounded once, which long double would not be */
        return dtype == KILN_F32 ? (double)fmaf((float)x, (float)z, (float)z)
                                 : fma(x, z, z);
    if (f == KILN_INTRIN_quotient)
        return dtype == KILN_F32 ? (double)((float)x / (float)z) : x / z;
    const long double v = meaning(f, (long double)x, (long double)z);
    return dtype == KILN_F32 ? (double)(float)v : (double)v;
}

static double ulps_of(kiln_dtype dtype, double got, double want) {
    return dtype == KILN_F64 ? kiln_test_ulps(got, want, 53, -1022)
                             : kiln_test_ulps(got, want, 24, -126);
}

/* ---- every row to its bound --------------------------------------------------------
 */

/* The largest error of what ran, but those below the row's floor; infinite where a zero
 * has the wrong sign. */
static double worst_of(kiln_intrin f, kiln_dtype dtype, const values *v, int *where) {
    const kiln_expansion *row = kiln_expansion_of(f);
    const double floor = row->floor * (dtype == KILN_F64 ? 0x1p-53 : 0x1p-24);
    double worst = 0;
    for (int i = 0; i < N; i++) {
        const double want = wanted(f, dtype, v->x.f[i], v->z.f[i]);
        double d = ulps_of(dtype, v->got.f[i], want);
        if (d > row->ulps[dtype == KILN_F64] && fabs(v->got.f[i] - want) <= floor)
            d = 0;
        if (want == 0 && !signbit(v->got.f[i]) != !signbit(want))
            d = (double)INFINITY;
        if (!(d <= worst)) {
            worst = d;
            *where = i;
        }
    }
    return worst;
}

static void check_row(const kiln_expansion *row, kiln_dtype dtype,
                      const kiln_natives *natives) {
    kiln_arena a;
    kiln_rng rng;
    double worst = 0;
    kiln_arena_init(&a);
    kiln_rng_init(&rng, kiln_test_seed());
    kiln_program *p = program_of(&a, row->intrin, dtype);
    values v = values_new(&a, dtype);
    expand(p, natives);
    for (int s = 0; s < SWEEPS; s++) {
        int at = 0;
        draw(&rng, row->intrin, s, dtype, &v);
        run(p, &v);
        const double d = worst_of(row->intrin, dtype, &v, &at);
        const double bound = row->ulps[dtype == KILN_F64];
        if (!(d <= bound))
            fail_msg("%s of %s on %s: of %a and %a %a, %g ulp, bound %g",
                     kiln_intrin_get(row->intrin)->name, kiln_dtype_name(dtype),
                     natives->name, v.x.f[at], v.z.f[at], v.got.f[at], d, bound);
        worst = fmax(worst, d);
    }
    print_message("%s of %s on %s: %.2f ulp\n", kiln_intrin_get(row->intrin)->name,
                  kiln_dtype_name(dtype), natives->name, worst);
    kiln_arena_fini(&a);
}

static bool has_f64(const kiln_expansion *row, const kiln_natives *natives) {
    return row->intrin != KILN_INTRIN_fma ||
           kiln_is_native(natives, KILN_INTRIN_fma, KILN_F64);
}

static void keeps_its_bound(void **state) {
    const kiln_expansion *row = *state;
    static const kiln_natives *const both[2] = {&kiln_natives_least, &with_fma};
    for (int k = 0; k < 2; k++) {
        if (row->intrin == KILN_INTRIN_isnan)
            continue; /* bool: nan_is_found */
        check_row(row, KILN_F32, both[k]);
        if (has_f64(row, both[k]))
            check_row(row, KILN_F64, both[k]);
    }
}

/* Subnormal results are slow on some processors: exp_low has none, 0 where e^x is near
 * them, and is that nowhere else. */
static void low_results_are_normal_or_0(void **state) {
    (void)state;
    static const double least[2] = {0x1p-126, 0x1p-1022};
    for (int d = 0; d < 2; d++) {
        const kiln_dtype dtype = d == 0 ? KILN_F32 : KILN_F64;
        kiln_arena a;
        kiln_rng rng;
        kiln_arena_init(&a);
        kiln_rng_init(&rng, kiln_test_seed());
        kiln_program *p = program_of(&a, KILN_INTRIN_exp_low, dtype);
        values v = values_new(&a, dtype);
        expand(p, &with_fma);
        for (int i = 0; i < N; i++)
            v.x.f[i] = log(least[d]) + 4 * kiln_rng_unit(&rng) - 2;
        run(p, &v);
        for (int i = 0; i < N; i++) {
            const double got = v.got.f[i], want = exp(v.x.f[i]);
            if (got != 0 ? got < least[d] : want > 2 * least[d])
                fail_msg("exp_low of %a gives %a", v.x.f[i], got);
        }
        kiln_arena_fini(&a);
    }
}

/* ---- wrong constants show ----------------------------------------------------------
 */

/* The last terms of a polynomial are some ulp: of the largest, within the bound. */
enum { FACTOR = 64 };

typedef struct mutation {
    int at, n; /* the constant that changes; how many there are */
    double was;
} mutation;

static const kiln_expr *mutated(void *user, kiln_arena *a, const kiln_expr *e) {
    mutation *m = user;
    if (e->kind != KILN_EXPR_FLOAT || e->u.f == 0 || !isfinite(e->u.f))
        return e;
    if (m->n == m->at)
        m->was = e->u.f;
    return m->n++ == m->at ? kiln_x_float(a, e->dtype, FACTOR * e->u.f) : e;
}

static bool is_caught(kiln_intrin f, const kiln_program *good, mutation *m, values *v,
                      double bound) {
    kiln_rng rng;
    kiln_program bad = *good;
    bad.body = kiln_stmt_rewritten(good->arena, good->body,
                                   &(kiln_stmt_rewrite){.expr = mutated, .user = m});
    kiln_rng_init(&rng, kiln_test_seed());
    for (int s = 0; s < SWEEPS; s++) {
        int at = 0;
        draw(&rng, f, s, KILN_F32, v);
        run(&bad, v);
        if (!(worst_of(f, KILN_F32, v, &at) <= bound))
            return true;
    }
    return false;
}

/* Constants that may be larger: limits past which all is one value, or that are not
 * reached; what scales subnormal numbers where there are none; the bits of `magic`,
 * which are shifted out; and, of the logarithm of large numbers alone, the last
 * coefficient. */
enum { MAX_SILENT = 4 };
typedef struct mutant_row {
    const char *name;
    kiln_intrin f;
    double silent[MAX_SILENT]; /* 0: no more */
} mutant_row;

#define TINY 0x1p-126, 0x1p23
#define MAGIC 0x1.8p23
static mutant_row mutant_rows[] = {
    {"acos", KILN_INTRIN_acos, {0}},
    {"acosh", KILN_INTRIN_acosh, {TINY, 0x1p12, (double)(2.0f / 9)}},
    {"asin", KILN_INTRIN_asin, {0}},
    {"asinh", KILN_INTRIN_asinh, {TINY, 0x1p12, (double)(2.0f / 9)}},
    {"atan", KILN_INTRIN_atan, {0}},
    {"atanh", KILN_INTRIN_atanh, {TINY}},
    {"cosh", KILN_INTRIN_cosh, {-104.5, MAGIC + 253}},
    {"erf", KILN_INTRIN_erf, {0}},
    {"exp", KILN_INTRIN_exp, {MAGIC + 254}},
    {"exp_low", KILN_INTRIN_exp_low, {MAGIC + 126}},
    {"expm1", KILN_INTRIN_expm1, {-18, MAGIC + 126}},
    {"gelu", KILN_INTRIN_gelu, {16}},
    {"log", KILN_INTRIN_log, {0x1p-126}},
    {"log1p", KILN_INTRIN_log1p, {TINY}},
    {"sigmoid", KILN_INTRIN_sigmoid, {MAGIC + 127}},
    {"sinh", KILN_INTRIN_sinh, {-104.5, MAGIC + 253}},
    {"tanh", KILN_INTRIN_tanh, {10, MAGIC + 127}},
};
enum { MOST_SILENT = 7 }; /* erf: each of the limits is written twice */

static bool may_be_silent(const mutant_row *r, double constant) {
    for (int i = 0; i < MAX_SILENT; i++)
        if (r->silent[i] == constant)
            return true;
    return false;
}

static void shows_wrong_constants(void **state) {
    const mutant_row *r = *state;
    const double bound = kiln_expansion_of(r->f)->ulps[0];
    mutation m = {.at = 0, .n = 1};
    int silent = 0;
    for (; m.at < m.n; m.at++) {
        kiln_arena a;
        kiln_arena_init(&a);
        kiln_program *p = program_of(&a, r->f, KILN_F32);
        values v = values_new(&a, KILN_F32);
        expand(p, &kiln_natives_least);
        m.n = 0;
        if (!is_caught(r->f, p, &m, &v, bound)) {
            if (!may_be_silent(r, m.was))
                fail_msg("constant %d of %d, %.9g, may be wrong", m.at, m.n, m.was);
            silent++;
        }
        kiln_arena_fini(&a);
    }
    assert_true(m.n >= 5);
    assert_true(silent <= MOST_SILENT && 4 * silent < m.n + 4);
}

/* ---- the pass ----------------------------------------------------------------------
 */

static void nan_is_found(void **state) {
    kiln_arena *a = kiln_test_arena();
    kiln_program *p = program_of(a, KILN_INTRIN_isnan, KILN_F32);
    const float x[N] = {1, NAN, -INFINITY, -NAN};
    unsigned char y[N];
    void *const tensor[3] = {(void *)(uintptr_t)x, (void *)(uintptr_t)x, y};
    kiln_err err = {0};
    (void)state;
    expand(p, &kiln_natives_least);
    kiln_assert_status_ok(kiln_program_run(kiln_test_arena(), p, tensor, NULL, &err),
                          &err);
    assert_memory_equal(y, ((const unsigned char[]){0, 1, 0, 1, 0}), 5);
}

static const kiln_expr *count_node(void *user, kiln_arena *a, const kiln_expr *e) {
    int *n = user;
    (void)a;
    n[e->kind]++;
    return e;
}

enum { N_KINDS = KILN_EXPR_LET + 1 };

/* Expressions of the program as a tree, by kind; all of them together. */
static int count(const kiln_program *p, int n[N_KINDS]) {
    int all = 0;
    memset(n, 0, N_KINDS * sizeof *n);
    kiln_stmt_rewritten(p->arena, p->body,
                        &(kiln_stmt_rewrite){.expr = count_node, .user = n});
    for (int i = 0; i < N_KINDS; i++)
        all += n[i];
    return all;
}

static void native_calls_stay(void **state) {
    kiln_arena *a = kiln_test_arena();
    const kiln_natives all = {.name = "all", .f32 = KILN_NATIVE(exp)};
    kiln_program *p = program_of(a, KILN_INTRIN_exp, KILN_F32);
    const kiln_stmt *before = p->body;
    int n[N_KINDS];
    (void)state;
    expand(p, &all);
    assert_ptr_equal(p->body, before);
    expand(p, NULL);
    assert_ptr_equal(p->body, before);
    p = program_of(a, KILN_INTRIN_exp, KILN_F64); /* f64 is another matter */
    expand(p, &all);
    count(p, n);
    assert_int_equal(n[KILN_EXPR_LET], 1);
}

/* exp of exp of exp: each uses its argument twice and more. */
static void nested_calls_add_up(void **state) {
    kiln_arena *a = kiln_test_arena();
    const kiln_buffer *arg[1];
    const int64_t dim = 8;
    int n[N_KINDS], first = 0;
    (void)state;
    kiln_buffer *b = kiln_buffer_new(a, "x", KILN_F32, 1, &dim, KILN_SCOPE_GLOBAL);
    b->arg = 0;
    b->is_written = true;
    arg[0] = b;
    const kiln_expr *zero = kiln_x_index(a, 0), *v = kiln_x_load(a, b, &zero, 1, NULL);
    for (int depth = 1; depth <= 8; depth++) {
        v = kiln_x_fn(a, KILN_INTRIN_exp, v);
        kiln_program p = {.name = "f",
                          .arena = a,
                          .arg = arg,
                          .n_args = 1,
                          .body = kiln_s_store(a, b, &zero, v, NULL)};
        expand(&p, &kiln_natives_least);
        const int all = count(&p, n);
        first = depth == 1 ? all : first;
        assert_true(all <= depth * first);
        assert_int_equal(n[KILN_EXPR_LOAD], 1);
        assert_int_equal(n[KILN_EXPR_LET], depth);
    }
}

static void run_text(const char *text, const kiln_natives *natives,
                     void *const *tensor) {
    kiln_arena *a = kiln_test_arena();
    kiln_program *p = NULL;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_program_parse(a, kiln_str_from(text), NULL, &p, &err),
                          &err);
    kiln_assert_status_ok(kiln_program_verify(p, &err), &err);
    expand(p, natives);
    kiln_assert_status_ok(kiln_program_run(a, p, tensor, NULL, &err), &err);
}

/* The interpreter refuses what is read outside: only where the select chooses it is the
 * argument evaluated. */
static void guards_hold(void **state) {
    float x[3] = {0, 1, -1}, y[8] = {0};
    void *const tensor[2] = {x, y};
    (void)state;
    run_text("program p(x: f32[3], out y: f32[8]) {\n"
             "  for i in 0 .. +8 {\n"
             "    y[i] = select(i < 3, exp(x[i]), 7f)\n"
             "  }\n"
             "}\n",
             &kiln_natives_least, tensor);
    assert_true(y[0] == 1 && fabsf(y[1] - 2.71828183f) < 1e-6f && y[3] == 7);
    memset(y, 0, sizeof y);
    run_text("program p(x: f32[3], out y: f32[8]) {\n"
             "  y[ramp(0, 1, 8)] where (ramp(0, 1, 8) < x8(3)) = exp(x[ramp(0, 1, 8)] "
             "where (ramp(0, 1, 8) < x8(3)))\n"
             "}\n",
             &kiln_natives_least, tensor);
    assert_true(y[0] == 1 && fabsf(y[1] - 2.71828183f) < 1e-6f && y[3] == 0);
}

/* In f32, rounded once. */
static void halves_are_computed_in_f32(void **state) {
    static const char text[] = "program p(x: f16[1], w: bf16[1], out y: f16[1], out z: "
                               "bf16[1]) {\n"
                               "  y[0] = exp(x[0])\n"
                               "  z[0] = tanh(w[0])\n"
                               "}\n";
    uint16_t x = 0x3C00, w = 0x3F80, y = 0, z = 0; /* 1 and 1 */
    void *const tensor[4] = {&x, &w, &y, &z};
    (void)state;
    run_text(text, &kiln_natives_least, tensor);
    assert_int_equal(y, 0x4170); /* 2.71875 */
    assert_int_equal(z, 0x3F43); /* 0.76171875 */
}

/* Integers have what is exact for them. */
static void integers_have_their_own(void **state) {
    int32_t x[4] = {-5, 5, INT32_MIN, 0}, y[4];
    unsigned char nan[4] = {1, 1, 1, 1};
    void *const tensor[3] = {x, y, nan};
    (void)state;
    run_text("program p(x: i32[4], out y: i32[4], out n: bool[4]) {\n"
             "  y[ramp(0, 1, 4)] = floor(abs(x[ramp(0, 1, 4)]))\n"
             "  n[ramp(0, 1, 4)] = isnan(x[ramp(0, 1, 4)])\n"
             "}\n",
             &kiln_natives_least, tensor);
    assert_memory_equal(y, ((const int32_t[]){5, 5, INT32_MIN, 0}), sizeof y);
    assert_memory_equal(nan, ((const unsigned char[4]){0}), 4);
}

typedef struct refusal {
    const char *name;
    kiln_intrin f;
    kiln_dtype dtype;
    const char *text;
} refusal;

static refusal refusals[] = {
    {"exp_of_integers", KILN_INTRIN_exp, KILN_I32,
     "intrinsic 'exp' is not generated for i32; cast to f32 first"},
    {"a_root_that_nobody_has", KILN_INTRIN_sqrt, KILN_F32,
     "intrinsic 'sqrt' of f32 is neither an instruction of 'bare' nor made of others"},
    {"fma_of_f64", KILN_INTRIN_fma, KILN_F64, "intrinsic 'fma' of f64 needs an fma"},
};

static void refuses(void **state) {
    const refusal *r = *state;
    const kiln_natives bare = {.name = "bare"};
    const kiln_loop_options o = {.natives = &bare};
    kiln_program *p = program_of(kiln_test_arena(), r->f, r->dtype);
    const kiln_stmt *before = p->body;
    kiln_err err = {0};
    kiln_assert_fails(kiln_loop_pass_expand.run(p, &o, &err), KILN_ERR_UNSUPPORTED,
                      &err, r->text);
    assert_ptr_equal(p->body, before);
}

int main(void) {
    for (int i = 0; kiln_expansion_at(i) != NULL; i++) {
        const kiln_expansion *row = kiln_expansion_at(i);
        kiln_test_add(kiln_intrin_get(row->intrin)->name, keeps_its_bound,
                      (void *)(uintptr_t)row);
    }
    kiln_test_add("low_results_are_normal_or_0", low_results_are_normal_or_0, NULL);
    kiln_test_add_rows(shows_wrong_constants, mutant_rows);
    kiln_test_add("nan_is_found", nan_is_found, NULL);
    kiln_test_add("native_calls_stay", native_calls_stay, NULL);
    kiln_test_add("nested_calls_add_up", nested_calls_add_up, NULL);
    kiln_test_add("guards_hold", guards_hold, NULL);
    kiln_test_add("halves_are_computed_in_f32", halves_are_computed_in_f32, NULL);
    kiln_test_add("integers_have_their_own", integers_have_their_own, NULL);
    kiln_test_add_rows(refuses, refusals);
    return kiln_test_run("functions written out");
}
