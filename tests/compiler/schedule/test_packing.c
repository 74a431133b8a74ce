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

enum { MAX_WINDOW = KILN_WINOGRAD_MAX_TAPS * KILN_WINOGRAD_MAX_TAPS };

/* Of c[k] x[k * step], from the left. */
typedef double summing(int n, const double *c, const double *x, int step);
static double rounded(int n, const double *c, const double *x, int step) {
    double sum = c[0] * x[0];
    for (int k = 1; k < n; k++)
        sum = sum + c[k] * x[k * step];
    return sum;
}
static double fused(int n, const double *c, const double *x, int step) {
    double sum = c[0] * x[0];
    for (int k = 1; k < n; k++)
        sum = fma(c[k], x[k * step], sum);
    return sum;
}

/* u = G g G^T / divisors of taps g, in the order that op_conv_winograd.h promises. */
static void transform(const kiln_winograd_pair *by, summing *sum, const double *g,
                      double u[KILN_WINOGRAD_MAX_N][KILN_WINOGRAD_MAX_N]) {
    const kiln_winograd *f = by->f[0], *h = by->f[1];
    double half[KILN_WINOGRAD_MAX_N][KILN_WINOGRAD_MAX_TAPS];
    for (int i = 0; i < f->n; i++)
        for (int s = 0; s < h->taps; s++)
            half[i][s] = sum(f->taps, f->g[i], g + s, h->taps);
    for (int i = 0; i < f->n; i++)
        for (int j = 0; j < h->n; j++)
            u[i][j] =
                sum(h->taps, h->g[j], half[i], 1) / (f->divisor[i] * h->divisor[j]);
}

/* The matrices that made t, [O, I, n, n], of the taps of `of`. */
static kiln_winograd_pair matrices_of(const kiln_type *t, const kiln_type *of,
                                      int64_t stride) {
    kiln_winograd_pair by;
    for (int i = 0; i < 2; i++) {
        const int64_t taps = of->dim[2 + i];
        by.f[i] = kiln_winograd_of((t->dim[2 + i] - taps) / stride + 1, taps, stride);
        assert_non_null(by.f[i]);
    }
    return by;
}

static void pack_transformed(kiln_arena *a, const kiln_op_def *op, const kiln_type *t,
                             const kiln_type *of, const float *taps, void *packed) {
    const kiln_winograd_pair by =
        matrices_of(t, of, strstr(op->name, "_by_2") != NULL ? 2 : 1);
    const int64_t n_taps = of->dim[2] * of->dim[3];
    const int64_t n_pairs = t->dim[0] * t->dim[1];
    float *all = kiln_array(a, float, kiln_type_elems(t)), *to = all;
    for (int64_t k = 0; k < n_pairs; k++) {
        double g[MAX_WINDOW], u[KILN_WINOGRAD_MAX_N][KILN_WINOGRAD_MAX_N];
        for (int i = 0; i < n_taps; i++)
            g[i] = (double)taps[n_taps * k + i];
        transform(&by, rounded, g, u);
        for (int i = 0; i < by.f[0]->n; i++)
            for (int j = 0; j < by.f[1]->n; j++)
                *to++ = (float)u[i][j];
    }
    kiln_layout_pack(t, all, packed);
}

static const void *wanted(kiln_arena *a, const kiln_op_def *by, const kiln_type *t,
                          const kiln_type *of, const void *plain) {
    void *want = kiln_arena_alloc(a, (size_t)kiln_type_bytes(t) + 1);
    if (by != NULL)
        pack_transformed(a, by, t, of, plain, want);
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
    p.want = wanted(a, by, &p.type, &p.from, plain);
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

enum { MAX_WINDOWS = 8 };

typedef struct winograd_row {
    const char *name;
    const kiln_op_def *by;
    int64_t window[MAX_WINDOWS][2]; /* 0: no more */
} winograd_row;

static winograd_row winograds[] = {
    {"packs_for_winograd_2",
     &kiln_packing_winograd_2,
     {{3, 3}, {1, 3}, {5, 1}, {5, 5}, {1, 7}, {7, 3}, {2, 2}, {4, 2}}},
    {"packs_for_winograd_4",
     &kiln_packing_winograd_4,
     {{3, 3}, {1, 3}, {5, 1}, {2, 2}, {3, 2}}},
    {"packs_for_winograd_2_by_2",
     &kiln_packing_winograd_2_by_2,
     {{3, 3}, {1, 3}, {5, 1}, {5, 5}, {4, 4}}},
    {"packs_for_winograd_3_by_2",
     &kiln_packing_winograd_3_by_2,
     {{3, 3}, {1, 3}, {4, 4}}}};

static void packs_for_winograd(void **state) {
    static const int32_t block[] = {1, 4, 8, 16, 32};
    const winograd_row *r = *state;
    const kiln_op_def *by = r->by;
    const int64_t n = kiln_test_cases(6);
    int n_windows = 0;
    while (n_windows < MAX_WINDOWS && r->window[n_windows][0] > 0)
        n_windows++;
    kiln_rng rng;
    kiln_rng_init(&rng, kiln_test_seed());
    for (int64_t i = 0; i < n; i++) {
        kiln_arena a = {0};
        const int64_t *window = r->window[i % n_windows];
        const int64_t dim[] = {kiln_rng_range(&rng, 1, 40), kiln_rng_range(&rng, 1, 20),
                               window[0], window[1]};
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
    static const char *const types[] = {"f64[4,4,3,3]", "f32[4,4,9,9]", "f32[4,4,6,6]",
                                        "f32[4,4,1,1]", "f32[4,3,3]"};
    (void)state;
    for (int k = 0; kiln_packing_at(k) != NULL; k++)
        for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
            kiln_err err = {0};
            kiln_str rest = kiln_str_from(types[i]);
            kiln_type t, to;
            kiln_assert_status_ok(kiln_type_parse(&rest, &t, &err), &err);
            kiln_assert_fails(kiln_packed_type(kiln_packing_at(k), &t, &to, &err),
                              KILN_ERR_SHAPE, &err, "only f32 weights [O, I, h, w]");
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
        const kiln_winograd *f = kiln_winograd_of(tile, 3, 1);
        assert_int_equal(f->n, tile + 2);
        for (int i = 0; i < f->n; i++)
            for (int k = 0; k < 3; k++)
                assert_true(f->g[i][k] / f->divisor[i] ==
                            (tile == 2 ? g2[i][k] : g4[i][k]));
    }
}

/* B^T, A^T and G of an axis make the filter, whatever the taps and x: the sum over
 * products k of at[i][k] g[k][j] / divisor[k] bt[k][d] is 1 where d is i steps and j, else
 * 0. All numbers are small multiples of small powers of two, but for divisors. */
static double part_of_filter(const kiln_winograd *f, int i, int j, int d) {
    double sum = 0;
    for (int k = 0; k < f->n; k++)
        sum += f->at[i][k] * f->g[k][j] * f->bt[k][d] / f->divisor[k];
    return sum;
}

static void check_filter(const kiln_winograd *f) {
    assert_int_equal(f->n, f->stride * (f->tile - 1) + f->taps);
    for (int i = 0; i < f->tile; i++)
        for (int j = 0; j < f->taps; j++)
            for (int d = 0; d < f->n; d++) {
                const double want = d == i * f->stride + j ? 1 : 0;
                const double is = part_of_filter(f, i, j, d);
                if (fabs(is - want) > 1e-12)
                    fail_msg(
                        "F(%d, %d) in steps of %d: y[%d] has %g of tap %d and x[%d]",
                        f->tile, f->taps, f->stride, i, is, j, d);
            }
}

static void makes_the_filter(void **state) {
    int n = 0;
    (void)state;
    for (int64_t tile = 1; tile <= KILN_WINOGRAD_MAX_TILE; tile++)
        for (int64_t taps = 1; taps <= KILN_WINOGRAD_MAX_TAPS; taps++)
            for (int64_t stride = 1; stride <= 2; stride++) {
                const kiln_winograd *f = kiln_winograd_of(tile, taps, stride);
                n += f != NULL;
                if (f != NULL)
                    check_filter(f);
            }
    assert_int_equal(n, 15);
}

static void saves_and_keeps_small(void **state) {
    static const struct {
        int64_t size, taps[2], stride;
        int positions; /* 0: there is no such tile */
    } rows[] = {
        {2, {3, 3}, 1, 16}, {4, {3, 3}, 1, 36}, {2, {5, 5}, 1, 36}, {4, {5, 5}, 1, 0},
        {2, {1, 7}, 1, 8},  {4, {1, 7}, 1, 0},  {4, {1, 3}, 1, 6},  {4, {5, 1}, 1, 8},
        {2, {7, 3}, 1, 32}, {4, {5, 3}, 1, 0},  {2, {7, 7}, 1, 64}, {2, {1, 1}, 1, 0},
        {2, {2, 3}, 1, 12}, {4, {2, 2}, 1, 25}, {2, {4, 4}, 1, 25}, {4, {4, 4}, 1, 0},
        {2, {4, 4}, 2, 36}, {3, {4, 4}, 2, 64}, {3, {2, 2}, 1, 0},  {2, {2, 2}, 2, 0},
        {2, {6, 6}, 1, 0},  {2, {3, 3}, 2, 25}, {3, {3, 3}, 2, 49}, {2, {5, 5}, 2, 49},
        {3, {1, 3}, 2, 7},  {4, {3, 3}, 2, 0},  {2, {3, 3}, 3, 0},  {2, {1, 1}, 2, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        kiln_winograd_pair by;
        const bool is_one =
            kiln_winograd_pair_of(rows[i].size, rows[i].taps, rows[i].stride, &by);
        assert_int_equal(is_one, rows[i].positions > 0);
        if (!is_one)
            continue;
        assert_int_equal(kiln_winograd_positions(&by), rows[i].positions);
        assert_true(kiln_winograd_share(&by) < 1);
        assert_true(kiln_winograd_share(&by) >=
                    kiln_template_conv_winograd.least_share);
        assert_true(kiln_winograd_amplification(&by) >= 1);
    }
}

/* Transformed weights are the same bits where a compiler fuses multiplies and adds. */
static void transforms_without_rounding_products(void **state) {
    enum { ROUNDS = 400 };
    static const struct {
        int64_t size, taps[2], stride;
    } of[] = {{2, {3, 3}, 1}, {4, {3, 3}, 1}, {2, {5, 5}, 1}, {4, {5, 1}, 1},
              {2, {1, 7}, 1}, {2, {3, 3}, 2}, {3, {3, 3}, 2}, {2, {5, 5}, 2},
              {2, {2, 2}, 1}, {4, {2, 2}, 1}, {2, {4, 4}, 1}, {3, {4, 4}, 2}};
    enum { N_OF = sizeof of / sizeof of[0] };
    kiln_rng rng;
    (void)state;
    kiln_rng_init(&rng, kiln_test_seed());
    for (int round = 0; round < N_OF * ROUNDS; round++) {
        kiln_winograd_pair by;
        double g[MAX_WINDOW], u[KILN_WINOGRAD_MAX_N][KILN_WINOGRAD_MAX_N];
        double want[KILN_WINOGRAD_MAX_N][KILN_WINOGRAD_MAX_N];
        assert_true(kiln_winograd_pair_of(of[round % N_OF].size, of[round % N_OF].taps,
                                          of[round % N_OF].stride, &by));
        for (int i = 0; i < by.f[0]->taps * by.f[1]->taps; i++)
            g[i] = (double)(float)ldexp(2 * kiln_rng_unit(&rng) - 1,
                                        (int)kiln_rng_range(&rng, -30, 30));
        transform(&by, rounded, g, u);
        transform(&by, fused, g, want);
        for (int i = 0; i < by.f[0]->n; i++)
            for (int j = 0; j < by.f[1]->n; j++)
                if (u[i][j] != want[i][j] || signbit(u[i][j]) != signbit(want[i][j]))
                    fail_msg("F(%d, %d) by F(%d, %d): [%d][%d] is %a, fused %a",
                             by.f[0]->tile, by.f[0]->taps, by.f[1]->tile, by.f[1]->taps,
                             i, j, u[i][j], want[i][j]);
    }
}

int main(void) {
    kiln_test_add_rows(packs_in_any_layout, dtypes);
    kiln_test_add_rows(packs_for_winograd, winograds);
    kiln_test_add("makes_the_filter", makes_the_filter, NULL);
    kiln_test_add("saves_and_keeps_small", saves_and_keeps_small, NULL);
    kiln_test_add("refuses_what_is_not_its_own", refuses_what_is_not_its_own, NULL);
    kiln_test_add("is_found_by_its_name", is_found_by_its_name, NULL);
    kiln_test_add("divides_as_published", divides_as_published, NULL);
    kiln_test_add("transforms_without_rounding_products",
                  transforms_without_rounding_products, NULL);
    return kiln_test_run("packing");
}
