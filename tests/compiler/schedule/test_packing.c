/* Kernels that pack what is constant: an identity from row-major to another layout must
 * make, bit by bit and tail lanes included, what kiln_layout_pack makes, interpreted
 * and on every machine that can be run here; weights for Winograd's algorithm, what is
 * worked out here from the matrices. Floats of 16 bits are none of it: code holds them
 * in f32, where NaN loses bits, and who packs them moves integers. */
#include <math.h>
#include <string.h>

#include "compiler/graph/winograd.h"
#include "compiler/network/network_pack.h"
#include "tests/support/kernel/code_run.h"
#include "tests/support/kiln_test.h"
#include "tests/support/graph/random_layout.h"
#include "tests/support/random/random_work.h"

typedef struct packing {
    kiln_arena *a;
    kiln_type from, type; /* type: as it is packed */
    const kiln_op_def *by;
    const void *plain, *want;
    kiln_workload work;
} packing;

/* ---- what must come out ---------------------------------------------------------- */

/* u = G g G^T / divisors of taps g, in the order that op_conv_winograd.h promises. */
static void transform(const kiln_winograd *f, const double g[9],
                      double u[KILN_WINOGRAD_MAX_N][KILN_WINOGRAD_MAX_N]) {
    double half[KILN_WINOGRAD_MAX_N][KILN_WINOGRAD_TAPS];
    for (int i = 0; i < f->n; i++)
        for (int s = 0; s < KILN_WINOGRAD_TAPS; s++)
            half[i][s] =
                f->g[i][0] * g[s] + f->g[i][1] * g[3 + s] + f->g[i][2] * g[6 + s];
    for (int i = 0; i < f->n; i++)
        for (int j = 0; j < f->n; j++)
            u[i][j] = (half[i][0] * f->g[j][0] + half[i][1] * f->g[j][1] +
                       half[i][2] * f->g[j][2]) /
                      (f->divisor[i] * f->divisor[j]);
}

/* t: [O, I, m + 2, m + 2]. */
static void pack_transformed(kiln_arena *a, const kiln_type *t, const float *taps,
                             void *packed) {
    const kiln_winograd *f = kiln_winograd_of((int)t->dim[2] - 2);
    assert_non_null(f);
    const int64_t n_pairs = t->dim[0] * t->dim[1];
    float *all = kiln_array(a, float, kiln_type_elems(t)), *to = all;
    for (int64_t k = 0; k < n_pairs; k++) {
        double g[9], u[KILN_WINOGRAD_MAX_N][KILN_WINOGRAD_MAX_N];
        for (int i = 0; i < 9; i++)
            g[i] = (double)taps[9 * k + i];
        transform(f, g, u);
        for (int i = 0; i < f->n; i++)
            for (int j = 0; j < f->n; j++)
                *to++ = (float)u[i][j];
    }
    kiln_layout_pack(t, all, packed);
}

static const void *wanted(kiln_arena *a, const kiln_op_def *by, const kiln_type *t,
                          const void *plain) {
    void *want = kiln_arena_alloc(a, (size_t)kiln_type_bytes(t) + 1);
    if (by != NULL)
        pack_transformed(a, t, plain, want);
    else
        kiln_layout_pack(t, plain, want);
    return want;
}

/* ---- programs -------------------------------------------------------------------- */

/* t: of the constant, in the layout of what it is packed to. */
static packing packing_of(kiln_arena *a, const kiln_type *t, const kiln_op_def *by,
                          const void *plain) {
    kiln_err err = {0};
    kiln_graph *g = NULL;
    packing p = {.a = a, .by = by, .plain = plain};
    p.from = kiln_type_make(t->dtype, t->rank, t->dim);
    kiln_assert_status_ok(kiln_packed_type(by, &p.from, &p.type, &err), &err);
    p.type.layout = t->layout;
    p.want = wanted(a, by, &p.type, plain);
    kiln_assert_status_ok(kiln_pack_graph(a, &p.from, by, &t->layout, &g, &err), &err);
    kiln_assert_status_ok(kiln_workload_of(g, &p.work, &err), &err);
    return p;
}

static kiln_program *program_of(const packing *p, const kiln_template *t,
                                const kiln_profile *profile) {
    kiln_space s;
    kiln_scheduled x;
    kiln_program *program;
    kiln_err err = {0};
    kiln_space_init(&s, p->a);
    kiln_assert_status_ok(t->space(&p->work, profile, &s, &err), &err);
    const kiln_config c = t->guess(&p->work, profile, &s);
    kiln_assert_status_ok(
        kiln_template_apply(p->a, t, &p->work, profile, &s, &c, &x, &err), &err);
    /* Who reads constants takes zeros in their tail lanes for granted. */
    assert_true(kiln_compute_has_zero_tails(&x.te.arg_type[1]));
    kiln_assert_status_ok(kiln_scheduled_program(p->a, &x, "k", &program, &err), &err);
    return program;
}

static bool is_nan(kiln_arena *a, kiln_dtype dtype, const void *element) {
    const int64_t one = 1;
    const kiln_type t = kiln_type_make(dtype, 1, &one);
    kiln_wide w = kiln_wide_new(a, &t);
    kiln_widen(&t, element, &w);
    return w.f != NULL && isnan(w.f[0]);
}

/* Bits of NaN: code that only moves numbers keeps them; no two machines agree on those
 * that they compute, and the interpreter computes with all numbers. */
static void check_bytes(const packing *p, const void *got, const char *by,
                        bool keeps_nan) {
    const size_t bytes = (size_t)kiln_type_bytes(&p->type);
    const size_t size = kiln_dtype_bytes(p->type.dtype);
    for (size_t i = 0; i < bytes; i += size) {
        const unsigned char *x = (const unsigned char *)got + i,
                            *y = (const unsigned char *)p->want + i;
        if (memcmp(x, y, size) != 0 && (keeps_nan || !is_nan(p->a, p->type.dtype, x) ||
                                        !is_nan(p->a, p->type.dtype, y)))
            fail_msg("%s, %s: element %zu of memory differs",
                     kiln_type_text(p->a, &p->type), by, i / size);
    }
}

static void *poisoned(const packing *p) {
    const size_t bytes = (size_t)kiln_type_bytes(&p->type);
    void *block = kiln_arena_alloc(p->a, (bytes + 63) / 64 * 64 + 64);
    memset(block, 0xFF, bytes);
    return block;
}

static void check_template(const packing *p, const kiln_template *t) {
    const size_t bytes = (size_t)kiln_type_bytes(&p->from);
    kiln_err err = {0};
    void *arg[2] = {kiln_arena_alloc(p->a, bytes + 64), NULL};
    memcpy(arg[0], p->plain, bytes);
    for (int i = -1; i < 0 || code_profile_at(i) != NULL; i++) {
        const kiln_profile *profile = code_profile_at(i < 0 ? 0 : i);
        if (!t->fits(&p->work, profile))
            return;
        const kiln_program *program = program_of(p, t, profile);
        arg[1] = poisoned(p);
        if (i < 0) {
            kiln_assert_status_ok(kiln_program_run(p->a, program, arg, NULL, &err),
                                  &err);
            check_bytes(p, arg[1], "interpreted", false);
            continue;
        }
        code_kernel *k = code_compile(p->a, program, profile);
        code_call(k, arg, profile->name);
        check_bytes(p, arg[1], profile->name, p->by == NULL);
        code_close(k);
    }
}

static void check(const packing *p) {
    for (int i = 0; kiln_template_at(i) != NULL; i++)
        check_template(p, kiln_template_at(i));
}

/* ---- layouts --------------------------------------------------------------------- */

typedef struct dtype_row {
    const char *name;
    kiln_dtype dtype;
    int n;
} dtype_row;

static dtype_row dtypes[] = {
    {"packs_f32", KILN_F32, 6}, {"packs_f64", KILN_F64, 2},
    {"packs_i8", KILN_I8, 4},   {"packs_u8", KILN_U8, 2},
    {"packs_u16", KILN_U16, 4}, {"packs_i32", KILN_I32, 2},
    {"packs_i64", KILN_I64, 2}, {"packs_bool", KILN_BOOL, 2},
    {"packs_i4", KILN_I4, 2},   {"packs_f8", KILN_F8E4M3FN, 2},
};

/* Any bits: NaN of every kind among them. Booleans are 0 or 1. */
static void *random_bytes(kiln_arena *a, kiln_rng *rng, const kiln_type *t) {
    const size_t bytes = (size_t)kiln_type_bytes(t);
    unsigned char *to = kiln_arena_alloc(a, bytes + 1);
    for (size_t i = 0; i < bytes; i++)
        to[i] = (unsigned char)(t->dtype == KILN_BOOL ? kiln_rng_range(rng, 0, 1)
                                                      : kiln_rng_range(rng, 0, 255));
    return to;
}

static void packs_in_any_layout(void **state) {
    const dtype_row *r = *state;
    const int64_t n = kiln_test_cases(r->n);
    kiln_rng rng;
    kiln_rng_init(&rng, kiln_test_seed());
    for (int64_t i = 0; i < n; i++) {
        kiln_arena a = {0};
        int64_t dim[4];
        const int rank = (int)kiln_rng_range(&rng, 1, 4);
        for (int k = 0; k < rank; k++)
            dim[k] = kiln_rng_range(&rng, 1, rank > 2 ? 9 : 40);
        kiln_type t = kiln_type_make(r->dtype, rank, dim);
        const void *plain = random_bytes(&a, &rng, &t);
        t.layout = random_layout(&rng, rank);
        const packing p = packing_of(&a, &t, NULL, plain);
        if (!kiln_layout_is_plain(&t.layout))
            check(&p);
        kiln_arena_fini(&a);
    }
}

/* ---- Winograd's algorithm -------------------------------------------------------- */

/* Taps of all sizes; some zeros of either sign, subnormal numbers, infinities. */
static float random_tap(kiln_rng *rng) {
    static const float odd[] = {0.0F,  -0.0F,    1e-44F,   -3e-40F,
                                3e38F, INFINITY, -INFINITY};
    if (kiln_rng_range(rng, 0, 60) == 0)
        return odd[kiln_rng_range(rng, 0, 6)];
    const double x = 2 * kiln_rng_unit(rng) - 1;
    return (float)ldexp(x, (int)kiln_rng_range(rng, -12, 12));
}

static void packs_for_winograd(void **state) {
    static const int32_t block[] = {1, 4, 8, 16, 32};
    const kiln_op_def *by = *state;
    const int64_t n = kiln_test_cases(4);
    kiln_rng rng;
    kiln_rng_init(&rng, kiln_test_seed());
    for (int64_t i = 0; i < n; i++) {
        kiln_arena a = {0};
        const int64_t dim[] = {kiln_rng_range(&rng, 1, 40), kiln_rng_range(&rng, 1, 20),
                               3, 3};
        kiln_type t = kiln_type_make(KILN_F32, 4, dim);
        float *taps = kiln_array(&a, float, kiln_type_elems(&t));
        for (int64_t k = 0; k < kiln_type_elems(&t); k++)
            taps[k] = random_tap(&rng);
        t.layout = (kiln_layout){.n_order = 4, .order = {2, 3, 0, 1}};
        for (uint8_t axis = 2; axis-- > 0;)
            t.layout.block[t.layout.n_blocks++] =
                (kiln_block){axis, block[kiln_rng_range(&rng, 0, 4)]};
        const packing p = packing_of(&a, &t, by, taps);
        assert_true(kiln_template_winograd_weights.fits(&p.work, code_profile_at(0)));
        check(&p);
        kiln_arena_fini(&a);
    }
}

static void refuses_what_is_not_its_own(void **state) {
    static const char *const types[] = {"f64[4,4,3,3]", "f32[4,4,5,5]", "f32[4,3,3]"};
    (void)state;
    for (int k = 0; kiln_packing_at(k) != NULL; k++)
        for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
            kiln_err err = {0};
            kiln_str rest = kiln_str_from(types[i]);
            kiln_type t, to;
            kiln_assert_status_ok(kiln_type_parse(&rest, &t, &err), &err);
            kiln_assert_fails(kiln_packed_type(kiln_packing_at(k), &t, &to, &err),
                              KILN_ERR_SHAPE, &err, "only f32 weights [O, I, 3, 3]");
        }
}

static void is_found_by_its_name(void **state) {
    (void)state;
    for (int k = 0; kiln_packing_at(k) != NULL; k++) {
        const kiln_op_def *by = kiln_packing_at(k);
        assert_ptr_equal(kiln_packing_find(kiln_str_from(by->name)), by);
        assert_null(kiln_op_find(kiln_str_from(by->name))); /* of models it is none */
        assert_true(by->doc[0] != '\0');
    }
    assert_null(kiln_packing_find(KILN_STR_LIT("identity")));
}

/* Row i of G, by Lavin and Gray (CVPR'16), sections 4.1 and 4.2. */
static const double g2[4][3] = {
    {1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};
static const double g4[6][3] = {{0.25, 0, 0},
                                {-1 / 6.0, -1 / 6.0, -1 / 6.0},
                                {-1 / 6.0, 1 / 6.0, -1 / 6.0},
                                {1 / 24.0, 1 / 12.0, 1 / 6.0},
                                {1 / 24.0, -1 / 12.0, 1 / 6.0},
                                {0, 0, 1}};

static void divides_as_published(void **state) {
    (void)state;
    for (int tile = 2; tile <= 4; tile += 2) {
        const kiln_winograd *f = kiln_winograd_of(tile);
        assert_int_equal(f->n, tile + 2);
        for (int i = 0; i < f->n; i++)
            for (int k = 0; k < 3; k++)
                assert_true(f->g[i][k] / f->divisor[i] ==
                            (tile == 2 ? g2[i][k] : g4[i][k]));
    }
}

/* sum of c[k] x[k] from the left, fused. */
static double fused(const double *c, double x, double y, double z) {
    return fma(c[2], z, fma(c[1], y, c[0] * x));
}

/* Transformed weights are the same bits where a compiler fuses multiplies and adds. */
static void transforms_without_rounding_products(void **state) {
    enum { ROUNDS = 400 };
    kiln_rng rng;
    (void)state;
    kiln_rng_init(&rng, kiln_test_seed());
    for (int round = 0; round < 2 * ROUNDS; round++) {
        const kiln_winograd *f = kiln_winograd_of(round % 2 == 0 ? 2 : 4);
        double g[9], u[KILN_WINOGRAD_MAX_N][KILN_WINOGRAD_MAX_N];
        double half[KILN_WINOGRAD_MAX_N][KILN_WINOGRAD_TAPS];
        for (int i = 0; i < 9; i++)
            g[i] = (double)(float)ldexp(2 * kiln_rng_unit(&rng) - 1,
                                        (int)kiln_rng_range(&rng, -30, 30));
        transform(f, g, u);
        for (int i = 0; i < f->n; i++)
            for (int s = 0; s < KILN_WINOGRAD_TAPS; s++)
                half[i][s] = fused(f->g[i], g[s], g[3 + s], g[6 + s]);
        for (int i = 0; i < f->n; i++)
            for (int j = 0; j < f->n; j++) {
                const double sum = fused(f->g[j], half[i][0], half[i][1], half[i][2]);
                const double want = sum / (f->divisor[i] * f->divisor[j]);
                if (u[i][j] != want || signbit(u[i][j]) != signbit(want))
                    fail_msg("F(%d, 3): [%d][%d] is %a, fused %a", f->tile, i, j,
                             u[i][j], want);
            }
    }
}

int main(void) {
    kiln_test_add_rows(packs_in_any_layout, dtypes);
    kiln_test_add("packs_for_winograd_2", packs_for_winograd,
                  (void *)(uintptr_t)&kiln_packing_winograd_2);
    kiln_test_add("packs_for_winograd_4", packs_for_winograd,
                  (void *)(uintptr_t)&kiln_packing_winograd_4);
    kiln_test_add("refuses_what_is_not_its_own", refuses_what_is_not_its_own, NULL);
    kiln_test_add("is_found_by_its_name", is_found_by_its_name, NULL);
    kiln_test_add("divides_as_published", divides_as_published, NULL);
    kiln_test_add("transforms_without_rounding_products",
                  transforms_without_rounding_products, NULL);
    return kiln_test_run("packing");
}
