/* Kernels that pack what is constant: an identity from row-major to another layout must
 * make, bit by bit and tail lanes included, what kiln_layout_pack makes, interpreted
 * and on every machine that can be run here. Floats of 16 bits are none of it: code
 * holds them in f32, where NaN loses bits, and who packs them moves integers. */
#include <math.h>
#include <string.h>

#include "compiler/schedule/template.h"
#include "tests/support/code_run.h"
#include "tests/support/kiln_test.h"
#include "tests/support/random_layout.h"
#include "tests/support/random_work.h"

typedef struct packing {
    kiln_arena *a;
    kiln_type type; /* as it is packed */
    const void *plain;
    kiln_workload work;
} packing;

static packing packing_of(kiln_arena *a, const kiln_type *t, const void *plain) {
    kiln_err err = {0};
    kiln_graph *g = kiln_graph_new(a, "pack");
    const kiln_type x = kiln_type_make(t->dtype, t->rank, t->dim);
    kiln_value *in = kiln_graph_add_input(g, "x", &x);
    kiln_value *y = graph_node(g, &kiln_op_identity, &in, 1);
    packing p = {a, *t, plain, {NULL, NULL}};
    y->type.layout = t->layout;
    kiln_graph_add_output(g, y, "y");
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
    unsigned char *want = kiln_arena_alloc(p->a, bytes + 1);
    kiln_layout_pack(&p->type, p->plain, want);
    for (size_t i = 0; i < bytes; i += size) {
        const unsigned char *x = (const unsigned char *)got + i, *y = want + i;
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
    const kiln_type x = kiln_type_make(p->type.dtype, p->type.rank, p->type.dim);
    kiln_err err = {0};
    void *arg[2] = {kiln_arena_alloc(p->a, (size_t)kiln_type_bytes(&x) + 64), NULL};
    memcpy(arg[0], p->plain, (size_t)kiln_type_bytes(&x));
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
        check_bytes(p, arg[1], profile->name, p->type.layout.winograd == 0);
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
        const packing p = packing_of(&a, &t, plain);
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
    const int tile = *(const int *)*state;
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
        t.layout.winograd = (uint8_t)tile;
        for (uint8_t axis = 2; axis-- > 0;)
            t.layout.block[t.layout.n_blocks++] =
                (kiln_block){axis, block[kiln_rng_range(&rng, 0, 4)]};
        const packing p = packing_of(&a, &t, taps);
        assert_true(kiln_template_winograd_weights.fits(&p.work, code_profile_at(0)));
        check(&p);
        kiln_arena_fini(&a);
    }
}

int main(void) {
    static struct {
        const char *name;
        int tile;
    } tiles[] = {{"packs_for_winograd_2", 2}, {"packs_for_winograd_4", 4}};
    kiln_test_add_rows(packs_in_any_layout, dtypes);
    for (size_t i = 0; i < sizeof tiles / sizeof tiles[0]; i++)
        kiln_test_add(tiles[i].name, packs_for_winograd, &tiles[i].tile);
    return kiln_test_run("packing");
}
