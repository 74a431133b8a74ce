/* f16 and bf16 written out by the pass `halves` as operations on bits: the interpreter
 * must find what it finds of the program as it stands, for every half and wherever a
 * number may fall between two. */
#include "compiler/loop/expand.h"
#include "tests/support/kiln_test.h"

#include <math.h>
#include <string.h>

enum { N = 1 << 16, FEW = 1 << 12 };

static const kiln_natives with_casts = {
    .name = "with casts", .f32 = KILN_NATIVE(abs), .has_f16_casts = true};

/* y[i] = to(x[i]), twice: as it stands, and with no half in it. */
typedef struct pair {
    kiln_program *plain, *bits;
} pair;

/* What must not be there: bf16, and f16 where there is nothing to convert it. */
typedef struct search {
    const kiln_natives *natives;
    bool found;
} search;

static const kiln_expr *see(void *user, kiln_arena *a, const kiln_expr *e) {
    search *s = user;
    (void)a;
    s->found = s->found || e->dtype == KILN_BF16 ||
               (e->dtype == KILN_F16 && !s->natives->has_f16_casts);
    return e;
}

static pair pair_of(kiln_arena *a, const char *text, const kiln_natives *natives) {
    pair p = {NULL, NULL};
    const kiln_loop_options o = {.natives = natives};
    kiln_err err = {0};
    search s = {natives, false};
    kiln_assert_status_ok(
        kiln_program_parse(a, kiln_str_from(text), NULL, &p.plain, &err), &err);
    p.bits = kiln_new(a, kiln_program);
    *p.bits = *p.plain;
    kiln_assert_status_ok(kiln_loop_pass_halves.run(p.bits, &o, &err), &err);
    kiln_assert_status_ok(kiln_loop_pass_expand.run(p.bits, &o, &err), &err);
    kiln_assert_status_ok(kiln_program_verify(p.bits, &err), &err);
    for (int i = 0; i < p.bits->n_args; i++)
        assert_true(p.bits->arg[i]->dtype != KILN_F16 &&
                    p.bits->arg[i]->dtype != KILN_BF16);
    kiln_stmt_rewritten(a, p.bits->body, &(kiln_stmt_rewrite){.expr = see, .user = &s});
    assert_false(s.found);
    return p;
}

/* NaN is NaN, whatever its bits. */
static bool same(kiln_dtype dtype, const void *x, const void *y) {
    const kiln_type t = kiln_type_scalar(dtype);
    double f[2];
    kiln_wide p = {.type = t, .f = &f[0]}, q = {.type = t, .f = &f[1]};
    if (!kiln_dtype_is_float(dtype))
        return memcmp(x, y, kiln_dtype_bytes(dtype)) == 0;
    kiln_widen(&t, x, &p);
    kiln_widen(&t, y, &q);
    return (isnan(f[0]) && isnan(f[1])) ||
           (f[0] == f[1] && !signbit(f[0]) == !signbit(f[1]));
}

static void check(const char *text, const kiln_natives *natives, const void *x,
                  size_t x_bytes, kiln_dtype to, size_t n) {
    const size_t size = kiln_dtype_bytes(to);
    kiln_arena a;
    kiln_err err = {0};
    kiln_arena_init(&a);
    const pair p = pair_of(&a, text, natives);
    unsigned char *y[2];
    for (int k = 0; k < 2; k++) {
        y[k] = kiln_arena_alloc(&a, n * size);
        memset(y[k], 0xFF, n * size);
        void *const tensor[2] = {(void *)(uintptr_t)x, y[k]};
        kiln_assert_status_ok(
            kiln_program_run(&a, k == 0 ? p.plain : p.bits, tensor, NULL, &err), &err);
    }
    for (size_t i = 0; i < n; i++)
        if (!same(to, y[0] + i * size, y[1] + i * size)) {
            unsigned long long in = 0;
            memcpy(&in, (const char *)x + i * x_bytes, x_bytes);
            fail_msg("%s: of %#llx on %s, element %zu", text, in, natives->name, i);
        }
    kiln_arena_fini(&a);
}

static const char *text_of(kiln_dtype from, kiln_dtype to) {
    return kiln_format(kiln_test_arena(),
                       "program p(x: %s[65536], out y: %s[65536]) {\n"
                       "  for i in 0 .. +1024 {\n"
                       "    y[ramp(i*64, 1, 64)] = %s(x[ramp(i*64, 1, 64)])\n"
                       "  }\n"
                       "}\n",
                       kiln_dtype_name(from), kiln_dtype_name(to), kiln_dtype_name(to));
}

/* ---- every half --------------------------------------------------------------------
 */

typedef struct dtype_row {
    const char *name;
    kiln_dtype half, other;
} dtype_row;

static dtype_row from_rows[] = {
    {"f16_to_f32", KILN_F16, KILN_F32},   {"bf16_to_f32", KILN_BF16, KILN_F32},
    {"f16_to_f64", KILN_F16, KILN_F64},   {"bf16_to_f64", KILN_BF16, KILN_F64},
    {"f16_to_bf16", KILN_F16, KILN_BF16}, {"bf16_to_f16", KILN_BF16, KILN_F16},
    {"f16_to_i16", KILN_F16, KILN_I16},   {"bf16_to_u8", KILN_BF16, KILN_U8},
    {"f16_to_bool", KILN_F16, KILN_BOOL},
};

static void reads_every_half(void **state) {
    const dtype_row *r = *state;
    static uint16_t x[N];
    for (int i = 0; i < N; i++)
        x[i] = (uint16_t)i;
    check(text_of(r->half, r->other), &kiln_natives_least, x, 2, r->other, N);
    check(text_of(r->half, r->other), &with_casts, x, 2, r->other, N);
}

/* ---- whatever falls between --------------------------------------------------------
 */

static dtype_row to_rows[] = {
    {"f32_to_f16", KILN_F16, KILN_F32},   {"f32_to_bf16", KILN_BF16, KILN_F32},
    {"f64_to_f16", KILN_F16, KILN_F64},   {"f64_to_bf16", KILN_BF16, KILN_F64},
    {"i32_to_f16", KILN_F16, KILN_I32},   {"i32_to_bf16", KILN_BF16, KILN_I32},
    {"i64_to_f16", KILN_F16, KILN_I64},   {"i64_to_bf16", KILN_BF16, KILN_I64},
    {"u64_to_f16", KILN_F16, KILN_U64},   {"u64_to_bf16", KILN_BF16, KILN_U64},
    {"bool_to_f16", KILN_F16, KILN_BOOL},
};

/* A half, the next one, the middle between them, or a little beside one of these. */
static double near_half(kiln_rng *rng, kiln_dtype half, int i) {
    const kiln_type t = kiln_type_scalar(half);
    const uint16_t bits[2] = {(uint16_t)i, (uint16_t)(i + 1)};
    double v[2];
    for (int k = 0; k < 2; k++) {
        kiln_wide w = {.type = t, .f = &v[k]};
        kiln_widen(&t, &bits[k], &w);
    }
    double x = kiln_rng_range(rng, 0, 1) == 0 ? v[0] : v[0] / 2 + v[1] / 2;
    switch (kiln_rng_range(rng, 0, 4)) {
    case 0:
        return nextafter(x, (double)INFINITY);
    case 1:
        return nextafter(x, -(double)INFINITY);
    case 2:
        return (double)nextafterf((float)x, INFINITY);
    case 3:
        return (double)nextafterf((float)x, -INFINITY);
    }
    return x;
}

static int64_t integer_near(double v, kiln_rng *rng) {
    const int64_t bits = (int64_t)kiln_rng_next(rng);
    if (!(fabs(v) < 0x1p62))
        return bits >> kiln_rng_range(rng, 0, 63);
    return (int64_t)v + kiln_rng_range(rng, -1, 1);
}

static void rounds_what_falls_between(void **state) {
    const dtype_row *r = *state;
    const int64_t dim = N;
    const kiln_type t = kiln_type_make(r->other, 1, &dim);
    kiln_wide w = kiln_wide_new(kiln_test_arena(), &t);
    kiln_tensor x = kiln_tensor_new(kiln_test_arena(), &t);
    kiln_rng rng;
    kiln_rng_init(&rng, kiln_test_seed());
    for (int i = 0; i < N; i++) {
        const double v = near_half(&rng, r->half, i);
        if (w.f != NULL)
            w.f[i] = kiln_round_f64(r->other, v);
        else
            w.i[i] = r->other == KILN_BOOL
                         ? i % 2
                         : kiln_wrap_i64(r->other, integer_near(v, &rng));
    }
    kiln_narrow(&w, x.data);
    const size_t size = kiln_dtype_bytes(r->other);
    check(text_of(r->other, r->half), &kiln_natives_least, x.data, size, r->half, N);
    check(text_of(r->other, r->half), &with_casts, x.data, size, r->half, N);
}

/* ---- programs ----------------------------------------------------------------------
 */

typedef struct text_row {
    const char *name;
    const char *body; /* HALF stands for the dtype; of x[4096], y[4096] */
} text_row;

static text_row text_rows[] = {
    {"arithmetic", "y[i] = (x[i]*x[4095 - i] + HALF(0.5)) / (x[i] - HALF(3))"},
    {"choices", "y[i] = select(x[i] < x[4095 - i], min(x[i], HALF(2)), max(x[i], "
                "x[4095 - i]*HALF(3)))"},
    {"functions", "y[i] = sqrt(abs(x[i])) + floor(x[i]) + copysign(HALF(1), x[i])"},
    {"bits", "y[i] = bits_HALF(bits_u16(x[i]) ^ u16(32768))"},
    {"bits_of_sums", "y[i] = bits_HALF(bits_i16(x[i] + x[i]))"},
    {"bindings", "y[i] = let(a = x[i], b = a*a, c = b < a; select(c, b + a, a))"},
    {"statements", "let a: HALF = x[i] { if a < HALF(1) { y[i] = a*a } else { y[i] = "
                   "HALF(nan) } }"},
    {"constants", "y[i] = HALF(0.1)"},
    {"vectors", "y[ramp(i, 0, 4)] = shuffle(x4(x[i]), x4(HALF(2)*x[i]); 4, 5, 6, 4)"},
    {"masks", "y[ramp(i, 0, 2)] where (x2(x[i]) < x2(HALF(2))) = x2(x[i] + HALF(1))"},
};

static const char *with_dtype(const char *body, const char *dtype) {
    kiln_buf b;
    kiln_buf_init(&b, kiln_test_arena());
    kiln_buf_printf(&b, "program p(x: %s[4096], out y: %s[4096]) {\n", dtype, dtype);
    kiln_buf_puts(&b, "  for i in 0 .. +4096 {\n    ");
    for (const char *p = body; *p != '\0';) {
        if (strncmp(p, "HALF", 4) == 0) {
            kiln_buf_puts(&b, dtype);
            p += 4;
        } else {
            kiln_buf_printf(&b, "%c", *p++);
        }
    }
    kiln_buf_puts(&b, "\n  }\n}\n");
    return b.p;
}

static void computes_the_same(void **state) {
    const text_row *r = *state;
    static uint16_t x[FEW];
    kiln_rng rng;
    kiln_rng_init(&rng, kiln_test_seed());
    const kiln_natives natives[2] = {
        {.name = "least", .f32 = KILN_NATIVE(sqrt)},
        {.name = "casts", .f32 = KILN_NATIVE(sqrt), .has_f16_casts = true}};
    for (int i = 0; i < FEW; i++)
        x[i] = (uint16_t)kiln_rng_next(&rng);
    for (int k = 0; k < 2; k++) {
        check(with_dtype(r->body, "f16"), &natives[k], x, 2, KILN_F16, FEW);
        check(with_dtype(r->body, "bf16"), &natives[k], x, 2, KILN_BF16, FEW);
    }
}

int main(void) {
    kiln_test_add_rows(reads_every_half, from_rows);
    kiln_test_add_rows(rounds_what_falls_between, to_rows);
    kiln_test_add_rows(computes_the_same, text_rows);
    return kiln_test_run("halves written out");
}
