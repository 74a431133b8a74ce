/* The attention template: random shapes, orders of axes and configurations equal the
 * reference; what it does not fit; the blocks that are guessed; hot loops hold no spill.
 *
 * Tolerance: |q|, |k|, |v| <= 1 and d <= 40, so scores are below 40 and off by at most
 * 40 * 40 * 2^-24 = 1e-4 in f32, of which a weight is off relatively, and the results,
 * below 1, by twice that and 200 roundoffs: 4e-4. */
#include "tests/support/kiln_test.h"
#include "tests/support/random/random_work.h"
#include "tests/support/kernel/template_check.h"

#include <string.h>

/* ---- workloads ------------------------------------------------------------------- */

typedef struct shape {
    int rank;
    int64_t batch[KILN_MAX_RANK], m, s, d, e;
    double scale;
    int mask_cut;    /* leading axes that the mask has not; -1: there is no mask */
    bool heads_last; /* rows ahead of heads, as products with weights leave them */
} shape;

/* Batches ahead of rows, or rows ahead of the last batch axis. */
static void order_of(const shape *x, bool is_turned, int64_t *perm) {
    for (int i = 0; i < x->rank; i++)
        perm[i] = i;
    if (x->heads_last && x->rank > 2) {
        perm[x->rank - 3] = x->rank - 2;
        perm[x->rank - 2] = x->rank - 3;
    }
    if (is_turned) { /* keys: columns are rows, batches ahead of them */
        for (int i = 0; i < x->rank - 2; i++)
            perm[i] = i;
        perm[x->rank - 2] = x->rank - 1;
        perm[x->rank - 1] = x->rank - 2;
    }
}

static kiln_value *operand(kiln_graph *g, const char *name, kiln_dtype dtype,
                           const shape *x, int64_t row, int64_t col,
                           const int64_t *perm, bool is_const, uint64_t seed) {
    int64_t dim[KILN_MAX_RANK], own[KILN_MAX_RANK];
    for (int i = 0; i < x->rank - 2; i++)
        dim[i] = x->batch[i];
    dim[x->rank - 2] = row;
    dim[x->rank - 1] = col;
    for (int i = 0; i < x->rank; i++)
        own[perm[i]] = dim[i];
    const kiln_type t = kiln_type_make(dtype, x->rank, own);
    return random_operand(g, name, &t, is_const, seed);
}

static kiln_value *mask_of(kiln_graph *g, kiln_rng *rng, kiln_dtype dtype,
                           const shape *x) {
    int64_t dim[KILN_MAX_RANK];
    for (int i = 0; i < x->rank; i++) {
        dim[i] = i < x->rank - 2 ? x->batch[i] : i == x->rank - 2 ? x->m : x->s;
        if (rng != NULL && kiln_rng_range(rng, 0, 2) == 0)
            dim[i] = 1;
    }
    const kiln_type t = kiln_type_make(dtype, x->rank - x->mask_cut, dim + x->mask_cut);
    return random_operand(g, "mask", &t, false, 4);
}

static kiln_graph *attention_of(kiln_arena *a, kiln_rng *rng, kiln_dtype dtype,
                                const shape *x) {
    static const char *const name[] = {"perm_q", "perm_k", "perm_v", "perm_y"};
    int64_t rows[KILN_MAX_RANK], keys[KILN_MAX_RANK];
    kiln_graph *g = kiln_graph_new(a, "attention");
    order_of(x, false, rows);
    order_of(x, true, keys);
    kiln_value *in[4] = {operand(g, "q", dtype, x, x->m, x->d, rows, false, 1),
                         operand(g, "k", dtype, x, x->s, x->d, keys, false, 2),
                         operand(g, "v", dtype, x, x->s, x->e, rows,
                                 rng != NULL && kiln_rng_range(rng, 0, 7) == 0, 3),
                         x->mask_cut >= 0 ? mask_of(g, rng, dtype, x) : NULL};
    kiln_attr_arg args[5] = {kiln_arg_float("scale", x->scale)};
    for (int i = 0; i < 4; i++)
        args[1 + i] = kiln_arg_ints(name[i], i == 1 ? keys : rows, (size_t)x->rank);
    kiln_value *y =
        graph_node_with(g, &kiln_op_attention, in, in[3] != NULL ? 4 : 3, args, 5);
    kiln_graph_add_output(g, y, "y");
    return g;
}

static shape draw_shape(kiln_rng *rng) {
    static const int64_t sizes[] = {1, 2, 5, 9, 15, 16, 17, 31, 33, 50, 97, 197};
    static const int64_t terms[] = {1, 3, 8, 16, 17, 40};
    shape x = {.rank = (int)kiln_rng_range(rng, 2, 4),
               .m = random_pick(rng, sizes, 11),
               .s = random_pick(rng, sizes, 12),
               .d = random_pick(rng, terms, 6),
               .e = random_pick(rng, terms, 6),
               .scale = kiln_rng_range(rng, 0, 1) == 0 ? 1 : 0.25,
               .mask_cut = -1,
               .heads_last = kiln_rng_range(rng, 0, 1) == 0};
    for (int i = 0; i < x.rank - 2; i++)
        x.batch[i] = kiln_rng_range(rng, 1, 3);
    if (kiln_rng_range(rng, 0, 1) == 0)
        x.mask_cut = (int)kiln_rng_range(rng, 0, x.rank - 1);
    return x;
}

/* ---- interpreted equals reference ------------------------------------------------ */

static kiln_graph *random_attention(kiln_arena *a, kiln_rng *rng,
                                    const template_property *p) {
    const shape x = draw_shape(rng);
    return attention_of(a, rng, p->dtype, &x);
}

static template_property properties[] = {
    {"f32_is_the_reference", KILN_F32, 0, 4e-4, 40, NULL},
    {"f16_is_the_reference", KILN_F16, 2e-3, 2e-3, 12, NULL},
    {"bf16_is_the_reference", KILN_BF16, 2e-2, 2e-2, 8, NULL},
    {"f64_is_the_reference", KILN_F64, 0, 1e-12, 8, NULL},
};

static void random_configurations(void **state) {
    template_property_check(*state, &kiln_template_attention, random_attention);
}

/* ---- what it does not fit -------------------------------------------------------- */

static void leaves_strided_rows_to_others(void **state) {
    (void)state;
    static const char *const texts[] = {
        "%y = attention(%x, %x, %x)",
        "%y = attention(%x, %x, %x) {perm_q=[1,0], perm_k=[1,0]}",
        "%y = attention(%x, %x, %x) {perm_k=[1,0], perm_v=[1,0]}",
        "%y = attention(%x, %x, %x) {perm_k=[1,0], perm_y=[1,0]}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        kiln_arena *a = kiln_test_arena();
        kiln_err err = {0};
        kiln_graph *g;
        kiln_workload w;
        const char *text = kiln_format(
            a, "graph \"g\" { input %%x : f32[16,16] %s output %%y }", texts[i]);
        kiln_assert_status_ok(
            kiln_graph_parse(a, kiln_str_from(text), "text", &g, &err), &err);
        kiln_assert_status_ok(kiln_workload_of(g, &w, &err), &err);
        assert_ptr_equal(kiln_template_for(&w, kiln_profile_at(0)),
                         &kiln_template_generic);
    }
}

/* ---- guesses --------------------------------------------------------------------- */

/* Of eight cores with 48 KiB of L1 and 1 MiB of L2 cache each. */
typedef struct guess_row {
    const char *name;
    int64_t heads, m, d;
    int64_t least, most; /* queries of a block */
    const char *parallel;
    bool is_cut; /* keys, where v is mixed */
} guess_row;

static guess_row guess_rows[] = {
    {"few_keys_need_no_small_blocks", 12, 128, 64, 16, 128, "blocks", false},
    {"blocks_of_a_prime_are_not_shared", 12, 197, 64, 12, 100, "batch", false},
    {"nor_where_keys_are_many", 8, 1499, 64, 12, 100, "batch", false},
    {"scores_of_many_keys_stay_in_the_l2_cache", 6, 1500, 64, 12, 100, "blocks", true},
};

static void check_guess(void **state) {
    const guess_row *r = *state;
    kiln_arena *a = kiln_test_arena();
    const kiln_template *t = &kiln_template_attention;
    const shape x = {.rank = 4,
                     .batch = {1, r->heads},
                     .m = r->m,
                     .s = r->m,
                     .d = r->d,
                     .e = r->d,
                     .scale = 0.125,
                     .mask_cut = -1,
                     .heads_last = true};
    kiln_err err = {0};
    kiln_workload w;
    kiln_space s;
    kiln_profile p;
    kiln_buf b;
    kiln_assert_status_ok(kiln_profile_find(a, "x86-avx512", &p, &err), &err);
    p.cores = 8;
    p.l1d_bytes = 48 << 10;
    p.l2_bytes = 1 << 20;
    p.l3_bytes = 1 << 25;
    kiln_assert_status_ok(
        kiln_workload_of(attention_of(a, NULL, KILN_F32, &x), &w, &err), &err);
    assert_ptr_equal(kiln_template_for(&w, &p), t);
    kiln_space_init(&s, a);
    kiln_assert_status_ok(t->space(&w, &p, &s, &err), &err);
    const kiln_config c = t->guess(&w, &p, &s);
    kiln_buf_init(&b, a);
    kiln_config_json(&b, t, &s, &c);
    print_message("%s\n", b.p);
    assert_in_range(kiln_config_int(&s, &c, 0, 0), r->least, r->most);
    assert_non_null(strstr(b.p, kiln_format(a, "\"parallel\": \"%s\"", r->parallel)));
    assert_int_equal(strstr(b.p, "\"cut\": 0") == NULL, r->is_cut);
}

/* ---- code ------------------------------------------------------------------------ */

typedef struct hot_row {
    const char *name, *profile;
    int64_t m, d;
    template_hot_loop want;
} hot_row;

static hot_row hot_rows[] = {
    {"avx512_short", "x86-avx512", 128, 64, {20, 48}},
    {"avx512_odd", "x86-avx512", 197, 64, {20, 48}},
    {"avx512_long", "x86-avx512", 1500, 64, {20, 48}},
    {"avx2_short", "x86-avx2", 128, 64, {10, 26}},
    {"avx512_cut", "x86-avx512", 1500, 128, {20, 48}},
    {"avx2_cut", "x86-avx2", 2000, 128, {10, 26}},
};

static void hot_loop_is_clean(void **state) {
    const hot_row *r = *state;
    const shape x = {.rank = 4,
                     .batch = {1, 6},
                     .m = r->m,
                     .s = r->m,
                     .d = r->d,
                     .e = r->d,
                     .scale = 0.125,
                     .mask_cut = -1,
                     .heads_last = true};
    const template_check t = {.tmpl = &kiln_template_attention};
    template_check_hot_loop(&t, attention_of(kiln_test_arena(), NULL, KILN_F32, &x),
                            r->profile, &r->want);
}

int main(void) {
    kiln_test_add_rows(check_guess, guess_rows);
    kiln_test_add_rows(random_configurations, properties);
    kiln_test_add("leaves_strided_rows_to_others", leaves_strided_rows_to_others, NULL);
    kiln_test_add_rows(hot_loop_is_clean, hot_rows);
    return kiln_test_run("template_attention");
}
