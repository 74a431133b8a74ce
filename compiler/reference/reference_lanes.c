/* How arithmetic other than the reference's may err: the errors of kiln_ref_run_lanes.
 *
 * Each element of an operator's result gets two errors, uniformly drawn:
 *
 *   its arithmetic's, as the row's error_bound says, in the type that it computes in
 *   (f32 for f16 and bf16). Bounds hold for the worst case, which grows with the number
 *   of roundings; errors that are no conspiracy grow with its root (Higham and Mary, A
 *   new approach to probabilistic rounding error analysis, SIAM J. Sci. Comput. 41,
 *   2019):
 *     ULP   c units, c no more than 4 sqrt(c); the floor in the same way
 *     DOT   c u (2 m + sqrt(k) |v|) and no more than c k u m, where m is the sum of
 *           absolute products: four times what sums of random signs (u m / 2) and of
 *           one sign (u sqrt(k) |v| / 3) come to, which leaves room for Winograd's
 *           transforms.
 *   Half of it is common to the tensor: what is approximated errs alike everywhere
 *
 *   its rounding's: half an ulp of the dtype it is kept in, where it is rounded at all.
 *
 * What only moves or compares is not rounded, and errs in no arithmetic. */
#include "compiler/reference/reference_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- errors ---------------------------------------------------------------------- */

static bool is_half(kiln_dtype d) { return d == KILN_F16 || d == KILN_BF16; }

static double by_chance(double steps) { return fmin(steps, 4 * sqrt(steps)); }

static double rms_of(const kiln_wide *w, int64_t n) {
    double sum = 0;
    int64_t n_finite = 0;
    for (int64_t i = 0; i < n; i++)
        if (isfinite(w->f[i])) {
            sum += w->f[i] * w->f[i];
            n_finite++;
        }
    return n_finite > 0 ? sqrt(sum / (double)n_finite) : 0;
}

enum { LARGE = 64 };

typedef struct arithmetic {
    kiln_bound bound;
    kiln_ref_spacing spacing; /* of the dtype that it computes in */
    double u;                 /* unit roundoff of it */
    double root;              /* of k */
    double steps, floor;      /* of the bound, by chance */
    double typical; /* of elements: stands for a magnitude that is not known */
} arithmetic;

/* fmin and fmax of numbers, of which these two are many: the library's are calls. */
static double lesser(double x, double y) { return x < y ? x : y; }
static double greater(double x, double y) { return x > y ? x : y; }

/* A large floor is a sum's, of as many terms as it says, for results of about 1: those
 * of a softmax over millions are as much smaller as they are many. */
static double floor_of(const arithmetic *b, double v) {
    return b->bound.floor > LARGE
               ? b->floor * lesser(1, 8 * greater(fabs(v), b->typical))
               : b->floor;
}

static double error_of(const arithmetic *b, double v, const double *magnitude) {
    switch (b->bound.kind) {
    case KILN_BOUND_EXACT:
        return 0;
    case KILN_BOUND_ULP:
        return greater(b->steps * kiln_ref_ulp_at(b->spacing, v),
                       floor_of(b, v) * b->u);
    case KILN_BOUND_DOT: {
        const double c = b->bound.c * b->u;
        if (magnitude == NULL)
            return 2 * c * b->root * (b->typical + fabs(v));
        return lesser(c * (2 * *magnitude + b->root * fabs(v)),
                      c * (double)b->bound.k * *magnitude);
    }
    }
    return 0;
}

/* Uniform in [-1/2, 1/2): two draws of one number. */
static double low_half(uint64_t bits) { return (double)(uint32_t)bits * 0x1p-32 - 0.5; }
static double high_half(uint64_t bits) { return low_half(bits >> 32); }

void kiln_ref_add_noise(const kiln_node *n, const kiln_wide *magnitude, bool elsewhere,
                        kiln_wide *w, kiln_rng *noise) {
    if (w->f == NULL)
        return;
    const kiln_dtype kept = w->type.dtype;
    const kiln_dtype computed = is_half(kept) ? KILN_F32 : kept;
    const kiln_ref_spacing spacing = kiln_ref_spacing_of(kept);
    arithmetic b = {.bound = n->op->error_bound(n),
                    .spacing = kiln_ref_spacing_of(computed)};
    const int64_t count = kiln_type_elems(&w->type);
    if (n->op->other_error != NULL)
        b.bound.c *= n->op->other_error(n);
    if (elsewhere && n->op->elsewhere_error != NULL)
        b.bound.c *= n->op->elsewhere_error(n);
    b.u = ldexp(1.0, computed == KILN_F64 ? -53 : -24);
    b.root = sqrt((double)b.bound.k);
    b.steps = by_chance(b.bound.c);
    b.floor = by_chance(b.bound.floor);
    if (magnitude == NULL && (b.bound.kind == KILN_BOUND_DOT || b.bound.floor > LARGE))
        b.typical = rms_of(w, count);
    const double common = kiln_rng_unit(noise) - 0.5;
    for (int64_t i = 0; i < count; i++) {
        const double v = w->f[i];
        if (!isfinite(v))
            continue;
        const double error =
            error_of(&b, v, magnitude != NULL ? &magnitude->f[i] : NULL);
        if (error == 0 && kiln_round_f64(kept, v) == v)
            continue;
        const uint64_t bits = kiln_rng_next(noise);
        w->f[i] = v + error * (common + low_half(bits)) +
                  kiln_ref_ulp_at(spacing, v) * high_half(bits);
    }
}

/* ---- what leaps ------------------------------------------------------------------ */

bool kiln_ref_leaps(const kiln_node *n, int k) {
    if (kiln_dtype_is_float(n->out[k]->type.dtype))
        return n->op->jumps;
    bool of_floats = false;
    for (int i = 0; i < n->n_in; i++)
        of_floats = of_floats ||
                    (n->in[i] != NULL && kiln_dtype_is_float(n->in[i]->type.dtype));
    return of_floats && !n->op->types_only;
}

enum {
    SAMPLES = 1024,
    STEP_SHARE = 8 /* one element in so many is a step off, in a lane */
};

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Third quartile of the deviations that are not zero, over a sample. */
static double typical_deviation(const kiln_wide *base, const kiln_wide *smooth) {
    const int64_t count = kiln_type_elems(&base->type);
    const int64_t step = (count / SAMPLES) | 1; /* odd: no channel alone */
    double found[SAMPLES];
    size_t n = 0;
    for (int64_t i = 0; i < count && n < SAMPLES; i += step) {
        const double d = fabs(smooth->f[i] - base->f[i]);
        if (d > 0 && isfinite(d))
            found[n++] = d;
    }
    qsort(found, n, sizeof *found, ascending);
    return n > 0 ? found[n * 3 / 4] : 0;
}

static bool is_moved(const kiln_wide *base, const kiln_wide *smooth,
                     kiln_wide *const *lane, int n, int64_t i) {
    bool moved = smooth->f[i] != base->f[i];
    for (int j = 0; j < n && !moved; j++)
        moved = lane[j]->f[i] != base->f[i];
    return moved;
}

/* Of a value, and of where it went: equal elements move alike, so that what is compared
 * with a copy of itself stays equal. */
static uint64_t hash_of(const kiln_wide *base, const kiln_wide *smooth, int64_t i) {
    uint64_t x, y;
    memcpy(&x, &base->f[i], sizeof x);
    memcpy(&y, &smooth->f[i], sizeof y);
    kiln_rng r;
    kiln_rng_init(&r, x ^ (y << 1 | y >> 63));
    return kiln_rng_next(&r);
}

void kiln_ref_spread_lanes(const kiln_wide *base, const kiln_wide *smooth,
                           kiln_wide *const *lane, int n, uint64_t salt) {
    /* Deviations: 6, since that far nobody gets by chance. */
    static const double reach = 6;
    const int64_t count = kiln_type_elems(&base->type);
    const double typical = typical_deviation(base, smooth);
    for (int64_t i = 0; i < count; i++) {
        const double d = fmax(fabs(smooth->f[i] - base->f[i]), typical);
        if (!isfinite(d) || !is_moved(base, smooth, lane, n, i))
            continue; /* lost already, or exact */
        kiln_rng r;
        kiln_rng_init(&r, hash_of(base, smooth, i) ^ salt);
        int n_up = n / 2; /* of the lanes that are left: each side gets its half */
        for (int j = 0; j < n; j++) {
            const bool up = kiln_rng_unit(&r) * (n - j) < n_up;
            n_up -= up;
            const double far = reach * d * (0.5 + kiln_rng_unit(&r));
            lane[j]->f[i] += up ? far : -far;
        }
    }
}

bool kiln_ref_is_quantity(kiln_dtype d) {
    return d == KILN_I8 || d == KILN_U8 || d == KILN_I16 || d == KILN_U16;
}

void kiln_ref_step_off(kiln_wide *w, int lane, uint64_t turn) {
    if (w->i == NULL || !kiln_ref_is_quantity(w->type.dtype))
        return;
    const kiln_dtype_info *info = kiln_dtype_get(w->type.dtype);
    const int64_t count = kiln_type_elems(&w->type);
    kiln_rng r;
    kiln_rng_init(&r, turn);
    for (int64_t i = 0; i < count; i++) {
        const uint64_t bits = kiln_rng_next(&r);
        if ((int)(bits % STEP_SHARE) != lane)
            continue;
        const int64_t to = w->i[i] + (bits >> 63 != 0 ? 1 : -1);
        if (to >= (int64_t)info->min_i && (double)to <= (double)info->max_i)
            w->i[i] = to;
    }
}
