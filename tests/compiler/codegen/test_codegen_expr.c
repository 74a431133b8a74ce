/* Random vector expressions, compiled and interpreted, must agree bit for bit: every
 * dtype, masked and strided loads, reversed and data-dependent indexes, guarded
 * divisions, shuffles, masked stores. Float multiplies are by powers of two, so that
 * contraction changes nothing. */
#include "compiler/codegen/codegen.h"
#include "tests/support/kernel/code_run.h"
#include "tests/support/kiln_test.h"

#include <math.h>
#include <string.h>

enum { LANES = 8, TRIPS = 4, N = 64, ROUNDS = 8 };

typedef struct dtype_row {
    const char *name;
    kiln_dtype dtype;
} dtype_row;

static dtype_row rows[] = {
    {"f32", KILN_F32},   {"f16", KILN_F16}, {"bf16", KILN_BF16}, {"f64", KILN_F64},
    {"i8", KILN_I8},     {"u8", KILN_U8},   {"i16", KILN_I16},   {"u16", KILN_U16},
    {"i32", KILN_I32},   {"u32", KILN_U32}, {"i64", KILN_I64},   {"u64", KILN_U64},
    {"bool", KILN_BOOL},
};

typedef struct draw {
    kiln_arena *a;
    kiln_rng rng;
    kiln_dtype dtype;
    int lanes;
    bool converts; /* floats to integers of any size, not to bytes alone */
    const kiln_buffer *x, *index; /* N elements; indexes are in [0, N) */
    const kiln_expr *i;           /* in [0, TRIPS) */
} draw;

static int pick(draw *d, int n) { return (int)kiln_rng_range(&d->rng, 0, n - 1); }

static const kiln_expr *ramp(draw *d, int64_t base, int64_t scale, int64_t step) {
    const kiln_expr *b =
        kiln_x_add(d->a, kiln_x_mul(d->a, d->i, kiln_x_index(d->a, scale)),
                   kiln_x_index(d->a, base));
    return kiln_x_ramp(d->a, b, kiln_x_index(d->a, step), d->lanes);
}

static const kiln_expr *draw_index(draw *d) {
    switch (pick(d, 6)) {
    case 0:
        return ramp(d, 0, LANES, 1);
    case 1:
        return ramp(d, LANES - 1, LANES, -1);
    case 2:
        return ramp(d, 2, 1, 3);
    case 3:
        return kiln_x_broadcast(d->a, d->i, d->lanes);
    case 4:
        return kiln_x_add(d->a, ramp(d, 1, 2, 1), kiln_x_index(d->a, 5));
    }
    const kiln_expr *at = ramp(d, 3, 5, 1);
    return kiln_x_load(d->a, d->index, &at, 1, NULL);
}

static const kiln_expr *draw_mask(draw *d) {
    return kiln_x_binary(d->a, pick(d, 2) != 0 ? KILN_EXPR_LT : KILN_EXPR_NE,
                         kiln_x_binary(d->a, KILN_EXPR_FLOORMOD, ramp(d, -9, 7, 3),
                                       kiln_x_index(d->a, 5 + pick(d, 2) * 3)),
                         kiln_x_index(d->a, pick(d, 6)));
}

static const kiln_expr *draw_value(draw *d, int depth);

/* Reads outside the buffer where the mask is off: must not be evaluated. */
static const kiln_expr *guarded_load(draw *d) {
    const kiln_expr *at = ramp(d, (int64_t)1 << 40, 0, 1);
    const kiln_expr *mask = draw_mask(d);
    const kiln_expr *safe = kiln_x_select(d->a, mask, draw_index(d), at);
    if (pick(d, 2) != 0)
        return kiln_x_load(d->a, d->x, &safe, 1, mask);
    const kiln_expr *load = kiln_x_load(d->a, d->x, &safe, 1, NULL);
    if (pick(d, 2) != 0) {
        const kiln_var *v = kiln_var_vector(d->a, "v", d->dtype, d->lanes);
        load = kiln_x_let(d->a, &v, &load, 1, kiln_x_ref(d->a, v));
    }
    return kiln_x_select(d->a, mask, load, draw_value(d, 0));
}

static const kiln_expr *guarded_division(draw *d, const kiln_expr *x,
                                         const kiln_expr *y) {
    static const kiln_expr_kind kinds[] = {KILN_EXPR_DIV, KILN_EXPR_FLOORDIV,
                                           KILN_EXPR_FLOORMOD};
    const kiln_expr *zero =
        kiln_x_broadcast(d->a, kiln_x_int(d->a, d->dtype, 0), d->lanes);
    const kiln_expr *one = kiln_x_int(d->a, d->dtype, 1);
    const kiln_expr *q = kiln_x_binary(d->a, kinds[pick(d, 3)], x, y);
    return kiln_x_select(d->a, kiln_x_binary(d->a, KILN_EXPR_NE, y, zero), q,
                         kiln_x_broadcast(d->a, one, d->lanes));
}

static const kiln_expr *draw_shuffle(draw *d, int depth) {
    const kiln_expr *arg[2] = {draw_value(d, depth), draw_value(d, depth)};
    int *lane = kiln_array(d->a, int, d->lanes);
    for (int i = 0; i < d->lanes; i++)
        lane[i] = pick(d, 2 * d->lanes);
    return kiln_x_shuffle(d->a, arg, 2, lane, d->lanes);
}

/* A vector and, of one lane, a scalar: the second uses nothing of the first. */
static const kiln_expr *draw_let(draw *d, int depth) {
    const kiln_var *var[2] = {kiln_var_vector(d->a, "v", d->dtype, d->lanes),
                              kiln_var_new(d->a, "s", d->dtype)};
    const kiln_expr *value[2] = {draw_value(d, depth),
                                 kiln_x_load(d->a, d->x, &d->i, 1, NULL)};
    const kiln_expr *v = kiln_x_ref(d->a, var[0]), *s = kiln_x_ref(d->a, var[1]);
    const kiln_expr *body = kiln_x_select(
        d->a, kiln_x_binary(d->a, KILN_EXPR_EQ, v, kiln_x_broadcast(d->a, s, d->lanes)),
        draw_value(d, depth), v);
    return kiln_x_let(d->a, var, value, 2, body);
}

static const kiln_expr *draw_logic(draw *d, int depth) {
    static const kiln_expr_kind kinds[] = {KILN_EXPR_AND, KILN_EXPR_OR, KILN_EXPR_XOR,
                                           KILN_EXPR_EQ, KILN_EXPR_NE};
    const kiln_expr *x = draw_value(d, depth);
    if (pick(d, 4) == 0)
        return kiln_x_not(d->a, x);
    return kiln_x_binary(d->a, kinds[pick(d, 5)], x, draw_value(d, depth));
}

static const kiln_expr *draw_binary(draw *d, int depth) {
    static const kiln_expr_kind ints[] = {KILN_EXPR_ADD, KILN_EXPR_SUB, KILN_EXPR_MUL,
                                          KILN_EXPR_MIN, KILN_EXPR_MAX, KILN_EXPR_AND,
                                          KILN_EXPR_OR,  KILN_EXPR_XOR};
    static const kiln_expr_kind floats[] = {KILN_EXPR_ADD, KILN_EXPR_SUB, KILN_EXPR_DIV,
                                            KILN_EXPR_MIN, KILN_EXPR_MAX};
    const bool is_float = kiln_dtype_is_float(d->dtype);
    const kiln_expr *x = draw_value(d, depth), *y = draw_value(d, depth);
    switch (pick(d, 5)) {
    case 0:
        if (is_float)
            return kiln_x_mul(d->a, x, kiln_x_float(d->a, d->dtype, 0.5));
        return guarded_division(d, x, y);
    case 1:
        if (is_float)
            return kiln_x_binary(d->a, KILN_EXPR_MAX, x,
                                 kiln_x_float(d->a, d->dtype, 0.25));
        return kiln_x_binary(d->a, pick(d, 2) != 0 ? KILN_EXPR_SHL : KILN_EXPR_SHR, x,
                             kiln_x_int(d->a, d->dtype, pick(d, 8)));
    default:
        return kiln_x_binary(d->a, is_float ? floats[pick(d, 5)] : ints[pick(d, 8)], x,
                             y);
    }
}

static const kiln_expr *draw_value(draw *d, int depth) {
    static const kiln_dtype between[] = {KILN_I8,  KILN_F64, KILN_U8, KILN_I16,
                                         KILN_U16, KILN_I32, KILN_U32};
    enum { N_BETWEEN = sizeof between / sizeof between[0] };
    const kiln_expr *at, *x;
    if (depth == 0) {
        at = draw_index(d);
        return kiln_x_load(d->a, d->x, &at, 1, NULL);
    }
    switch (pick(d, 8)) {
    case 7:
        return draw_let(d, depth - 1);
    case 0:
        return guarded_load(d);
    case 1:
        return draw_shuffle(d, depth - 1);
    case 2:
        x = draw_value(d, depth - 1);
        return kiln_x_select(d->a,
                             kiln_x_binary(d->a,
                                           pick(d, 2) ? KILN_EXPR_LE : KILN_EXPR_EQ, x,
                                           draw_value(d, depth - 1)),
                             x, draw_value(d, depth - 1));
    case 3: /* there and back */
        x = kiln_x_cast(d->a, between[pick(d, d->converts ? N_BETWEEN : 2)],
                        draw_value(d, depth - 1));
        return kiln_x_cast(d->a, d->dtype, x);
    default:
        return d->dtype == KILN_BOOL ? draw_logic(d, depth - 1)
                                     : draw_binary(d, depth - 1);
    }
}

static kiln_program *draw_program(draw *d) {
    static const int64_t dim = N;
    kiln_arena *a = d->a;
    kiln_buffer *b[3] = {kiln_buffer_new(a, "x", d->dtype, 1, &dim, KILN_SCOPE_GLOBAL),
                         kiln_buffer_new(a, "at", KILN_I64, 1, &dim, KILN_SCOPE_GLOBAL),
                         kiln_buffer_new(a, "y", d->dtype, 1, &dim, KILN_SCOPE_GLOBAL)};
    const kiln_buffer **arg = kiln_array(a, const kiln_buffer *, 3);
    for (int i = 0; i < 3; i++) {
        b[i]->arg = i;
        arg[i] = b[i];
    }
    kiln_var *i = kiln_var_new(a, "i", KILN_I64);
    d->x = b[0];
    d->index = b[1];
    d->i = kiln_x_ref(a, i);
    const kiln_expr *value = draw_value(d, 3);
    const kiln_expr *at =
        pick(d, 2) != 0 ? ramp(d, 0, LANES, 1) : ramp(d, LANES - 1, LANES, -1);
    if (pick(d, 4) == 0)
        at = ramp(d, 0, 1, 5);
    kiln_program *p = kiln_new(a, kiln_program);
    *p = (kiln_program){
        .name = "f",
        .arena = a,
        .arg = arg,
        .n_args = 3,
        .n_inputs = 2,
        .is_flat = true,
        .body = kiln_s_for(
            a, i, kiln_x_index(a, 0), kiln_x_index(a, TRIPS), KILN_LOOP_SERIAL, NULL,
            kiln_s_store(a, b[2], &at, value, pick(d, 2) != 0 ? draw_mask(d) : NULL))};
    return p;
}

static void fill(draw *d, unsigned char *x, int64_t *at) {
    const int64_t dim = N;
    const kiln_type t = kiln_type_make(d->dtype, 1, &dim);
    kiln_wide w = kiln_wide_new(d->a, &t);
    static const double odd[] = {(double)NAN,
                                 (double)INFINITY,
                                 -(double)INFINITY,
                                 -0.0,
                                 0.0,
                                 1e-40,
                                 65504,
                                 -1,
                                 0x1p31,
                                 -0x1p31,
                                 0x1.fffffep30,
                                 -3e38,
                                 127.5,
                                 255.5,
                                 -128.5};
    enum { N_ODD = sizeof odd / sizeof odd[0] };
    for (int i = 0; i < N; i++) {
        if (w.f != NULL)
            w.f[i] =
                pick(d, 4) == 0 ? odd[pick(d, N_ODD)] : 8 * kiln_rng_unit(&d->rng) - 4;
        else
            w.i[i] = pick(d, 2) != 0 ? pick(d, 7) - 3 : (int64_t)kiln_rng_next(&d->rng);
        at[i] = pick(d, N);
    }
    kiln_narrow(&w, x);
}

static bool same(kiln_dtype dtype, const unsigned char *x, const unsigned char *y) {
    const kiln_type t = kiln_type_scalar(dtype);
    double f[2];
    int64_t i[2];
    const bool is_float = kiln_dtype_is_float(dtype);
    kiln_wide p = {
        .type = t, .f = is_float ? &f[0] : NULL, .i = is_float ? NULL : &i[0]};
    kiln_wide q = {
        .type = t, .f = is_float ? &f[1] : NULL, .i = is_float ? NULL : &i[1]};
    kiln_widen(&t, x, &p);
    kiln_widen(&t, y, &q);
    return is_float ? f[0] == f[1] || (isnan(f[0]) && isnan(f[1])) : i[0] == i[1];
}

static void check_round(draw *d, const kiln_profile *prof, const kiln_program *p,
                        const unsigned char *x, const int64_t *at,
                        const unsigned char *want) {
    const size_t size = kiln_dtype_bytes(d->dtype);
    unsigned char *y = kiln_arena_alloc(d->a, N * size);
    void *tensor[3] = {(void *)(uintptr_t)x, (void *)(uintptr_t)at, y};
    code_kernel *k = code_compile(d->a, p, prof);
    code_call(k, tensor, prof->name);
    code_close(k);
    for (size_t i = 0; i < N; i++) {
        if (same(d->dtype, y + i * size, want + i * size))
            continue;
        kiln_buf b;
        kiln_buf_init(&b, d->a);
        kiln_program_print(&b, p);
        fail_msg("%s: element %zu differs\n%s", prof->name, i, b.p);
    }
}

static void agrees(void **state) {
    const dtype_row *r = *state;
    kiln_err err = {0};
    for (int round = 0; round < ROUNDS; round++) {
        kiln_arena a;
        const bool is_float = kiln_dtype_is_float(r->dtype);
        draw d = {.a = &a,
                  .dtype = r->dtype,
                  .lanes = round % 3 == 2 ? 1 : LANES,
                  .converts = !is_float || round % 2 == 1};
        int64_t at[N];
        kiln_arena_init(&a);
        kiln_rng_init(&d.rng, kiln_test_seed() + (uint64_t)round * 977);
        const size_t bytes = N * kiln_dtype_bytes(r->dtype);
        unsigned char *x = kiln_arena_alloc(&a, bytes),
                      *want = kiln_arena_alloc(&a, bytes);
        fill(&d, x, at);
        memset(want, 0xFF, bytes);
        const kiln_program *p = draw_program(&d);
        void *arg[3] = {x, at, want};
        kiln_assert_status_ok(kiln_program_run(&a, p, arg, NULL, &err), &err);
        for (int i = 0; code_profile_at(i) != NULL; i++)
            if (!code_is_variant(code_profile_at(i)) &&
                (!d.converts || code_converts(code_profile_at(i))))
                check_round(&d, code_profile_at(i), p, x, at, want);
        kiln_arena_fini(&a);
    }
}

int main(void) {
    kiln_test_add_rows(agrees, rows);
    return kiln_test_run("compiled expressions");
}
