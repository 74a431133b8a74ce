/* sin, cos and tan of any argument, in f64 whatever the dtype.
 *
 * x = (n + f) pi/2, |f| <= 1/2. Below 10^6 after Cody and Waite (Software Manual for
 * the Elementary Functions, 1980): pi/2 in parts of 33 bits, of which n < 2^20 times
 * each is exact. Beyond after Payne and Hanek (Radian reduction for trigonometric
 * functions, 1983): 2/pi in chunks of 24 bits, of which only those count that give
 * neither whole turns nor less than 2^-116. The polynomials are Taylor series cut where
 * the rest is below 1.8e-9 (f32), 1.2e-19 (f64): |r| <= pi/4.
 *
 * Error in ulp: sin and cos 1 for f32, 2 for f64; tan 1 for f32, 4 for f64. Infinities
 * give NaN. */
#include "compiler/loop/formula.h"

enum { CHUNKS = 50, USED = 9, CHUNK_BITS = 24 };

/* 2/pi = sum chunk[i] 2^(-24 (i + 1)) */
static const int64_t two_over_pi[CHUNKS] = {
    0xa2f983, 0x6e4e44, 0x1529fc, 0x2757d1, 0xf534dd, 0xc0db62, 0x95993c, 0x439041,
    0xfe5163, 0xabdebb, 0xc561b7, 0x246e3a, 0x424dd2, 0xe00649, 0x2eea09, 0xd1921c,
    0xfe1deb, 0x1cb129, 0xa73ee8, 0x8235f5, 0x2ebb44, 0x84e99c, 0x7026b4, 0x5f7e41,
    0x3991d6, 0x398353, 0x39f49c, 0x845f8b, 0xbdf928, 0x3b1ff8, 0x97ffde, 0x05980f,
    0xef2f11, 0x8b5a0a, 0x6d1f6d, 0x367ecf, 0x27cb09, 0xb74f46, 0x3f669e, 0x5fea2d,
    0x7527ba, 0xc7ebe5, 0xf17b3d, 0x0739f7, 0x8a5292, 0xea6bfb, 0x5fb11f, 0x8d5d08,
    0x560330, 0x46fc7b};
static const kiln_table chunks = {KILN_I32, CHUNKS, two_over_pi};

/* The angle r in [-pi/4, pi/4] and the quarter turns before it, in the low two bits. */
typedef struct angle {
    val r, quarter;
} angle;

/* x + y = s + *e exactly (Knuth, 4.2.2, theorem B). */
static val two_sum(const num *k, val x, val y, val *e) {
    const val s = add(k, x, y), v = sub(k, s, x);
    const val of_x = sub(k, x, sub(k, s, v));
    *e = add(k, of_x, sub(k, y, v));
    return s;
}

static val nearest(const num *k, val x) {
    return has(k, KILN_INTRIN_round) ? call(k, KILN_INTRIN_round, x, NULL, NULL)
                                     : kiln_math_round(k, KILN_INTRIN_round, x);
}

static angle reduce_near(const num *k, val x, bool is_f32) {
    const val magic = real(k, k->magic);
    const val t = add(k, mul(k, x, real(k, 0x1.45f306dc9c883p-1)), magic);
    const val n = sub(k, t, magic);
    angle y = {.quarter = bits_of(k, t)};
    val r = muladd(k, n, real(k, -0x1.921fb544p+0), x), low[2];
    if (is_f32) { /* none comes nearer to a multiple than 2^-30 */
        y.r = muladd(k, n, real(k, -0x1.0b4611a626331p-34), r);
        return y;
    }
    r = two_sum(k, r, mul(k, n, real(k, -0x1.0b4611a6p-34)), &low[0]);
    r = two_sum(k, r, mul(k, n, real(k, -0x1.3198a2ep-69)), &low[1]);
    const val rest =
        muladd(k, n, real(k, -0x1.b839a252049c1p-104), add(k, low[0], low[1]));
    y.r = pick(k, equal(k, x, real(k, 0)), x, add(k, r, rest)); /* -0 is lost */
    return y;
}

/* ---- large arguments ---------------------------------------------------------------
 */

/* high + low is the fraction of a turn's quarter so far, n whole quarters (modulo 4 it
 * is what counts). Exact until high + low has 106 bits: terms come by falling size, and
 * whole quarters leave at once. */
typedef struct sum {
    val high, low, n;
} sum;

static void add_term(const num *k, sum *s, val t) {
    val e;
    t = muladd(k, nearest(k, mul(k, t, real(k, 0.25))), real(k, -4), t);
    const val high = two_sum(k, s->high, t, &e);
    s->high = two_sum(k, high, add(k, s->low, e), &s->low);
    const val n = nearest(k, s->high);
    s->high = two_sum(k, sub(k, s->high, n), s->low, &s->low);
    s->n = add(k, s->n, n);
}

/* Of x = m 2^(e - 52) with m whole, chunks before (e - 54) / 24 give whole turns. */
static val first_chunk(const num *k, val x) {
    const val e = iand(k, shift_right(k, bits_of(k, x), k->mantissa), whole(k, 0x7FF));
    const val over =
        binary(k, KILN_EXPR_MAX, isub(k, e, whole(k, k->bias + 54)), whole(k, 0));
    const val chunk = bits(k, KILN_I64,
                           binary(k, KILN_EXPR_DIV, bits(k, KILN_U64, over),
                                  kiln_x_int(k->f->arena, KILN_U64, CHUNK_BITS)));
    /* infinity's exponent is larger */
    return binary(k, KILN_EXPR_MIN, chunk, whole(k, CHUNKS - USED));
}

/* What the loop of large arguments goes on with: the sum of the chunks so far. */
typedef struct turning {
    val r, quarter, high, low, n, scale, i;
} turning;

/* One chunk more. What depends on x alone is the same in each turn. */
static void add_chunk(const num *k, val x, val is_far, const turning *t, val *next) {
    const val first = first_chunk(k, x);
    const val down =
        binary(k, KILN_EXPR_MUL, iadd(k, first, whole(k, 1)), whole(k, -CHUNK_BITS));
    const val scaled = mul(k, x, power_of_two(k, down));
    /* 26 bits and the 27 before them: times a chunk, either is exact. */
    const val high =
        float_of(k, iand(k, bits_of(k, scaled), whole(k, -((int64_t)1 << 26))));
    const val low = sub(k, scaled, high);
    const val chunk = kiln_formula_keep(
        k->f, kiln_x_table(k->f->arena, &chunks, iadd(k, first, t->i)));
    const val c = mul(k, cast(k, KILN_F64, chunk), t->scale);
    sum s = {t->high, t->low, t->n};
    add_term(k, &s, mul(k, high, c));
    add_term(k, &s, mul(k, low, c));
    const val r = muladd(k, s.high, real(k, 0x1.921fb54442d18p+0),
                         mul(k, s.low, real(k, 0x1.921fb54442d18p+0)));
    next[0] = pick(k, is_far, r, t->r);
    next[1] = pick(k, is_far, bits_of(k, add(k, s.n, real(k, k->magic))), t->quarter);
    next[2] = s.high;
    next[3] = s.low;
    next[4] = s.n;
    next[5] = mul(k, t->scale, real(k, 0x1p-24));
    next[6] = iadd(k, t->i, whole(k, 1));
}

/* ---- the functions -----------------------------------------------------------------
 */

/* sum (-1)^i z^i / (2i + first)!, i = 1 .. n */
static val series(const num *k, int first, int n, val z) {
    double c[16] = {1};
    for (int i = 1; i <= n; i++)
        c[i] = -c[i - 1] / ((2.0 * i + first) * (2.0 * i + first - 1));
    return mul(k, horner(k, c + 1, n, z), z);
}

static val is_odd(const num *k, val quarter) {
    return binary(k, KILN_EXPR_NE, iand(k, quarter, whole(k, 1)), whole(k, 0));
}

static val of_angle(const num *k, kiln_intrin how, const angle *y, bool is_f32) {
    const val z = mul(k, y->r, y->r);
    /* The sign of a zero is the argument's. */
    const val sine =
        with_sign(k, muladd(k, y->r, series(k, 1, is_f32 ? 4 : 8, z), y->r), y->r);
    const val cosine = add(k, series(k, 0, is_f32 ? 5 : 8, z), real(k, 1));
    val q = y->quarter;
    if (how == KILN_INTRIN_tan) {
        const val odd = is_odd(k, q);
        return divide(k, pick(k, odd, neg(k, cosine), sine),
                      pick(k, odd, sine, cosine));
    }
    if (how == KILN_INTRIN_cos)
        q = iadd(k, q, whole(k, 1));
    const val v = pick(k, is_odd(k, q), cosine, sine);
    const val sign = shift_left(k, shift_right(k, q, 1), 63);
    return float_of(k, binary(k, KILN_EXPR_XOR, bits_of(k, v), sign));
}

/* The long way only where some lane needs it: else the loop takes no turn. */
val kiln_expand_trig(kiln_formula *f, kiln_intrin how, const val *arg) {
    const bool is_f32 = arg[0]->dtype == KILN_F32;
    const num narrow = num_of(f, arg[0]);
    const val x = cast(&narrow, KILN_F64, arg[0]);
    num k = num_of(f, x);
    const val a = size_of(&k, x);
    const val is_far =
        both(&k, less(&k, real(&k, 1e6), a), less(&k, a, infinity_of(&k)));
    const angle near = reduce_near(&k, x, is_f32);
    const val zero = real(&k, 0);
    kiln_formula_loop l = {.outside = f, .lanes = x->lanes};
    turning t;
    t.r = kiln_formula_state(&l, near.r);
    t.quarter = kiln_formula_state(&l, near.quarter);
    t.high = kiln_formula_state(&l, zero);
    t.low = kiln_formula_state(&l, zero);
    t.n = kiln_formula_state(&l, zero);
    t.scale = kiln_formula_state(&l, real(&k, 1));
    t.i = kiln_formula_state(&l, whole(&k, 0));
    const val more = kiln_x_less(f->arena, t.i,
                                 kiln_x_broadcast(f->arena, whole(&k, USED), x->lanes));
    const val cond = kiln_x_binary(f->arena, KILN_EXPR_AND, is_far, more);
    kiln_formula turn = kiln_formula_inner(f), after = kiln_formula_inner(f);
    val next[7];
    k.f = &turn;
    add_chunk(&k, x, is_far, &t, next);
    k.f = &after;
    const angle y = {t.r, t.quarter};
    val v = of_angle(&k, how, &y, is_f32);
    if (is_f32)
        v = cast(&k, KILN_F32, v);
    return kiln_formula_turns(&l, cond, &turn, next, &after, v);
}
