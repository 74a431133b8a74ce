/* Index expressions: what they become with known ranges, and that they keep their
 * value. */
#include "compiler/loop/linear.h"
#include "compiler/loop/loop.h"
#include "tests/support/kiln_test.h"

/* ---- a table: i in [0, 7], j in [0, 15], k in [2, 5], n anything ----------------- */

typedef struct scene {
    kiln_arena *a;
    kiln_ranges ranges;
    const kiln_expr *i, *j, *k, *n;
} scene;

static const kiln_expr *bounded(scene *s, const char *name, int64_t min, int64_t max) {
    kiln_var *v = kiln_var_new(s->a, name, KILN_I64);
    kiln_ranges_push(&s->ranges, v, min, max);
    return kiln_x_ref(s->a, v);
}

static scene scene_make(kiln_arena *a) {
    scene s = {.a = a, .ranges = {.arena = a}};
    s.i = bounded(&s, "i", 0, 7);
    s.j = bounded(&s, "j", 0, 15);
    s.k = bounded(&s, "k", 2, 5);
    s.n = kiln_x_ref(a, kiln_var_new(a, "n", KILN_I64));
    return s;
}

static const kiln_expr *num(const scene *s, int64_t v) { return kiln_x_index(s->a, v); }

static const kiln_expr *op(const scene *s, kiln_expr_kind kind, const kiln_expr *x,
                           const kiln_expr *y) {
    return kiln_x_binary(s->a, kind, x, y);
}

static const kiln_expr *add(const scene *s, const kiln_expr *x, const kiln_expr *y) {
    return op(s, KILN_EXPR_ADD, x, y);
}

static const kiln_expr *times(const scene *s, const kiln_expr *x, int64_t c) {
    return op(s, KILN_EXPR_MUL, x, num(s, c));
}

static const kiln_expr *divided(const scene *s, const kiln_expr *x, int64_t c) {
    return op(s, KILN_EXPR_FLOORDIV, x, num(s, c));
}

static const kiln_expr *rest(const scene *s, const kiln_expr *x, int64_t c) {
    return op(s, KILN_EXPR_FLOORMOD, x, num(s, c));
}

/* i*16 + j: a place in an 8 by 16 tile. */
static const kiln_expr *place(const scene *s) {
    return add(s, times(s, s->i, 16), s->j);
}

static const kiln_expr *cancels(const scene *s) {
    return op(s, KILN_EXPR_SUB, add(s, s->i, s->n), s->i);
}
static const kiln_expr *collects(const scene *s) {
    return add(s, times(s, add(s, s->i, num(s, 3)), 4), times(s, s->i, -2));
}
static const kiln_expr *quotient(const scene *s) { return divided(s, place(s), 16); }
static const kiln_expr *remainder_of(const scene *s) { return rest(s, place(s), 16); }
static const kiln_expr *partly(const scene *s) { return divided(s, place(s), 8); }
static const kiln_expr *in_block(const scene *s) {
    return rest(s, add(s, s->k, num(s, 6)), 8);
}
/* Of 3*f and f: what is left of two loops that were fused and split again. */
static const kiln_expr *parts_of(const scene *s, int64_t f, int64_t g) {
    return add(s, add(s, times(s, divided(s, s->n, 3), f), s->j),
               times(s, rest(s, s->n, 3), g));
}
static const kiln_expr *rejoined(const scene *s) { return parts_of(s, 33, 11); }
static const kiln_expr *kept_apart(const scene *s) { return parts_of(s, 32, 11); }
static const kiln_expr *unknown(const scene *s) { return rest(s, s->n, 4); }
static const kiln_expr *true_guard(const scene *s) {
    return op(s, KILN_EXPR_LT, place(s), num(s, 128));
}
static const kiln_expr *false_guard(const scene *s) {
    return op(s, KILN_EXPR_LE, num(s, 128), place(s));
}
static const kiln_expr *open_guard(const scene *s) {
    return op(s, KILN_EXPR_LT, place(s), num(s, 127));
}
static const kiln_expr *related(const scene *s) {
    return op(s, KILN_EXPR_LT, s->n, add(s, s->n, s->k));
}
static const kiln_expr *apart(const scene *s) {
    return op(s, KILN_EXPR_NE, s->i, add(s, s->i, num(s, 1)));
}
static const kiln_expr *smaller(const scene *s) {
    return op(s, KILN_EXPR_MIN, s->i, add(s, s->i, s->k));
}
static const kiln_expr *larger(const scene *s) {
    return op(s, KILN_EXPR_MAX, s->i, add(s, s->i, s->k));
}
static const kiln_expr *open_minimum(const scene *s) {
    return op(s, KILN_EXPR_MIN, s->i, s->k);
}
static const kiln_expr *lanes_below(const scene *s) {
    return op(s, KILN_EXPR_LT, kiln_x_ramp(s->a, s->i, num(s, 1), 4), num(s, 11));
}
static const kiln_expr *lanes_mixed(const scene *s) {
    return op(s, KILN_EXPR_LT, kiln_x_ramp(s->a, s->i, num(s, 1), 4), num(s, 10));
}
static const kiln_expr *lanes_divided(const scene *s) {
    return divided(s, kiln_x_ramp(s->a, times(s, s->i, 16), num(s, 1), 8), 16);
}
static const kiln_expr *lanes_sum(const scene *s) {
    return add(s, kiln_x_ramp(s->a, s->i, num(s, 1), 8), times(s, s->j, 3));
}

typedef struct row {
    const char *name;
    const kiln_expr *(*make)(const scene *s);
    const char *want;
} row;

static row rows[] = {
    {"cancels", cancels, "n"},
    {"collects", collects, "i*2 + 12"},
    {"quotient_of_tile", quotient, "i"},
    {"remainder_of_tile", remainder_of, "j"},
    {"whole_part_leaves", partly, "i*2 + j // 8"},
    {"remainder_in_one_block", in_block, "k - 2"},
    {"remainder_of_unknown", unknown, "n % 4"},
    {"quotient_and_remainder", rejoined, "j + n*11"},
    {"quotient_of_another_factor", kept_apart, "n // 3*32 + j + n % 3*11"},
    {"guard_that_holds", true_guard, "true"},
    {"guard_that_fails", false_guard, "false"},
    {"guard_that_is_open", open_guard, "i*16 + j < 127"},
    {"guard_by_difference", related, "true"},
    {"never_equal", apart, "true"},
    {"minimum", smaller, "i"},
    {"maximum", larger, "i + k"},
    {"minimum_that_is_open", open_minimum, "min(i, k)"},
    {"all_lanes_below", lanes_below, "x4(true)"},
    {"some_lanes_below", lanes_mixed, "ramp(i, 1, 4) < x4(10)"},
    {"lanes_of_one_block", lanes_divided, "x8(i)"},
    {"ramp_and_uniform", lanes_sum, "ramp(i + j*3, 1, 8)"},
};

static void becomes(void **state) {
    const row *r = *state;
    kiln_arena a;
    kiln_arena_init(&a);
    const scene s = scene_make(&a);
    kiln_buf text;
    kiln_buf_init(&text, &a);
    kiln_expr_print(&text, kiln_simplify_expr(&s.ranges, &a, r->make(&s)));
    kiln_assert_text_equal(kiln_buf_str(&text), kiln_str_from(r->want));
    kiln_arena_fini(&a);
}

/* ---- a property: random expressions keep their value and lie in their interval --- */

enum { N_VARS = 4, N_EXPRS = 400, N_POINTS = 12, MAX_DEPTH = 5 };

typedef struct world {
    kiln_arena *a;
    kiln_rng rng;
    const kiln_var *var[N_VARS];
    kiln_interval in[N_VARS];
} world;

/* x // c * f * c + y + x % c * f, whose outer terms are f*x. */
static const kiln_expr *random_parts(world *w, const kiln_expr *x, const kiln_expr *y) {
    kiln_arena *a = w->a;
    const int64_t c = kiln_rng_range(&w->rng, 1, 9), f = kiln_rng_range(&w->rng, -3, 5);
    const kiln_expr *by = kiln_x_index(a, c);
    const kiln_expr *q = kiln_x_mul(a, kiln_x_binary(a, KILN_EXPR_FLOORDIV, x, by),
                                    kiln_x_index(a, c * f));
    const kiln_expr *r =
        kiln_x_mul(a, kiln_x_binary(a, KILN_EXPR_FLOORMOD, x, by), kiln_x_index(a, f));
    return kiln_x_add(a, kiln_x_add(a, q, y), r);
}

static const kiln_expr *random_index(world *w, int depth) {
    static const kiln_expr_kind kind[] = {
        KILN_EXPR_ADD,      KILN_EXPR_SUB,      KILN_EXPR_ADD, KILN_EXPR_MUL,
        KILN_EXPR_FLOORDIV, KILN_EXPR_FLOORMOD, KILN_EXPR_MIN, KILN_EXPR_MAX};
    kiln_arena *a = w->a;
    if (depth == 0 || kiln_rng_range(&w->rng, 0, 4) == 0)
        return kiln_rng_range(&w->rng, 0, 3) == 0
                   ? kiln_x_index(a, kiln_rng_range(&w->rng, -9, 40))
                   : kiln_x_ref(a, w->var[kiln_rng_range(&w->rng, 0, N_VARS - 1)]);
    const kiln_expr_kind k = kind[kiln_rng_range(&w->rng, 0, 7)];
    const kiln_expr *x = random_index(w, depth - 1);
    if (kiln_rng_range(&w->rng, 0, 9) == 0)
        return random_parts(w, x, random_index(w, depth - 1));
    if (k == KILN_EXPR_MUL && kiln_rng_range(&w->rng, 0, 3) > 0)
        return kiln_x_binary(a, k, x, kiln_x_index(a, kiln_rng_range(&w->rng, -4, 16)));
    if (k == KILN_EXPR_FLOORDIV || k == KILN_EXPR_FLOORMOD)
        return kiln_x_binary(a, k, x, kiln_x_index(a, kiln_rng_range(&w->rng, 1, 16)));
    return kiln_x_binary(a, k, x, random_index(w, depth - 1));
}

static const kiln_expr *random_comparison(world *w) {
    static const kiln_expr_kind kind[] = {KILN_EXPR_LT, KILN_EXPR_LE, KILN_EXPR_EQ,
                                          KILN_EXPR_NE};
    const kiln_expr *x = random_index(w, MAX_DEPTH - 1);
    return kiln_x_binary(w->a, kind[kiln_rng_range(&w->rng, 0, 3)], x,
                         random_index(w, MAX_DEPTH - 1));
}

/* By substitution: the builders fold constants. */
static int64_t value_at(world *w, const kiln_expr *e, const int64_t *at) {
    kiln_subst map[N_VARS];
    int64_t v = 0;
    for (int i = 0; i < N_VARS; i++)
        map[i] = (kiln_subst){w->var[i], kiln_x_index(w->a, at[i])};
    assert_true(kiln_x_is_int(kiln_expr_substitute(w->a, e, map, N_VARS), &v));
    return v;
}

static void check_at_points(world *w, const kiln_expr *e, const kiln_expr *simple,
                            kiln_interval in) {
    for (int p = 0; p < N_POINTS; p++) {
        int64_t at[N_VARS];
        for (int i = 0; i < N_VARS; i++)
            at[i] = kiln_rng_range(&w->rng, w->in[i].min, w->in[i].max);
        const int64_t want = value_at(w, e, at), got = value_at(w, simple, at);
        if (want == got && want >= in.min && want <= in.max)
            continue;
        kiln_buf text;
        kiln_buf_init(&text, w->a);
        kiln_expr_print(&text, e);
        kiln_buf_puts(&text, " became ");
        kiln_expr_print(&text, simple);
        fail_msg("%s: %lld, not %lld, in [%lld, %lld]", text.p, (long long)got,
                 (long long)want, (long long)in.min, (long long)in.max);
    }
}

static void keeps_values(void **state) {
    (void)state;
    kiln_rng rng;
    kiln_rng_init(&rng, kiln_test_seed());
    for (int n = 0; n < N_EXPRS; n++) {
        static const char *const name[N_VARS] = {"i", "j", "k", "l"};
        kiln_arena a;
        kiln_arena_init(&a);
        world w = {.a = &a, .rng = rng};
        kiln_ranges ranges = {.arena = &a};
        for (int i = 0; i < N_VARS; i++) {
            w.var[i] = kiln_var_new(&a, name[i], KILN_I64);
            w.in[i].min = kiln_rng_range(&w.rng, -5, 5);
            w.in[i].max = w.in[i].min + kiln_rng_range(&w.rng, 0, 20);
            kiln_ranges_push(&ranges, w.var[i], w.in[i].min, w.in[i].max);
        }
        const kiln_expr *e =
            n % 3 == 0 ? random_comparison(&w) : random_index(&w, MAX_DEPTH);
        const kiln_expr *simple = kiln_simplify_expr(&ranges, &a, e);
        check_at_points(&w, e, simple, kiln_interval_of(&ranges, e));
        check_at_points(&w, e, simple, kiln_interval_of(&ranges, simple));
        rng = w.rng;
        kiln_arena_fini(&a);
    }
}

/* ---- linear forms and intervals -------------------------------------------------- */

static void linear_forms(void **state) {
    (void)state;
    kiln_arena a;
    kiln_arena_init(&a);
    const scene s = scene_make(&a);
    kiln_linear l, m;
    assert_true(kiln_linear_of(collects(&s), &l));
    assert_int_equal(l.n, 1);
    assert_int_equal(l.constant, 12);
    assert_int_equal(l.term[0].factor, 2);
    assert_true(kiln_linear_of(s.i, &m));
    assert_true(kiln_linear_add(&l, &m, -2)); /* cancels */
    assert_int_equal(l.n, 0);
    /* A product of variables is a term of its own. */
    assert_true(kiln_linear_of(op(&s, KILN_EXPR_MUL, s.i, s.j), &l));
    assert_int_equal(l.n, 1);
    /* Not representable, so refused. */
    assert_false(kiln_linear_of(kiln_x_index(&a, INT64_MIN), &l));
    assert_false(kiln_linear_of(kiln_x_float(&a, KILN_F32, 1), &l));
    assert_false(kiln_linear_of(kiln_x_ramp(&a, s.i, num(&s, 1), 4), &l));
    kiln_arena_fini(&a);
}

static void intervals_saturate(void **state) {
    (void)state;
    kiln_arena a;
    kiln_arena_init(&a);
    const scene s = scene_make(&a);
    const kiln_interval n = kiln_interval_of(&s.ranges, times(&s, s.n, 3));
    assert_true(n.min == INT64_MIN && n.max == INT64_MAX);
    const kiln_interval r =
        kiln_interval_of(&s.ranges, kiln_x_ramp(&a, s.k, num(&s, -2), 4));
    assert_int_equal(r.min, -4);
    assert_int_equal(r.max, 5);
    kiln_arena_fini(&a);
}

int main(void) {
    kiln_test_add_rows(becomes, rows);
    kiln_test_add("keeps_values", keeps_values, NULL);
    kiln_test_add("linear_forms", linear_forms, NULL);
    kiln_test_add("intervals_saturate", intervals_saturate, NULL);
    return kiln_test_run("simplification of indexes");
}
