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
 * What only moves or compares is not rounded, and errs in no arithmetic.
 *
 * Every element of every operator of up to 17 runs comes here, so it is done by blocks,
 * in loops without branches or calls: of how far elements may err, of which err at all,
 * of the random numbers' states (one number for each that errs, in their order), of the
 * sums. */
#include "compiler/reference/reference_internal.h"

enum {
    LARGE = 64,
    BLOCK = 256 /* elements: some 8 KiB of what the loops tell one another */
};

/* fmin and fmax of numbers, of which these two are many: the library's are calls. */
KILN_ASKED_WHOLE static KILN_INLINE double lesser(double x, double y) {
    return x < y ? x : y;
}
KILN_ASKED_WHOLE static KILN_INLINE double greater(double x, double y) {
    return x > y ? x : y;
}

static bool is_half(kiln_dtype d) { return d == KILN_F16 || d == KILN_BF16; }

static double by_chance(double steps) { return fmin(steps, 4 * sqrt(steps)); }

static double rms_of(const double *v, int64_t n) {
    double sum = 0;
    int64_t n_finite = 0;
    for (int64_t i = 0; i < n; i++)
        if (isfinite(v[i])) {
            sum += v[i] * v[i];
            n_finite++;
        }
    return n_finite > 0 ? sqrt(sum / (double)n_finite) : 0;
}

/* kiln_ref_ulp_at as a product: ulp * the power of two that is at most |v|, which is
 * taken as `least`, the smallest normal number, where it is below that. */
typedef struct units {
    double least, ulp;
} units;

static units units_of(kiln_dtype dtype) {
    const kiln_ref_spacing s = kiln_ref_spacing_of(dtype);
    return (units){.least = ldexp(1.0, s.min_exponent - 1),
                   .ulp = ldexp(1.0, 1 - s.bits)};
}

KILN_ASKED_WHOLE static KILN_INLINE double ulp_at(units s, double v) {
    const double x = greater(fabs(v), s.least);
    uint64_t bits;
    double power;
    memcpy(&bits, &x, sizeof bits);
    bits &= UINT64_C(0x7FF) << 52;
    memcpy(&power, &bits, sizeof power);
    return power * s.ulp;
}

typedef struct arithmetic {
    kiln_bound bound;
    kiln_dtype dtype;     /* it is kept in */
    units computed, kept; /* of the dtypes it computes in, and is rounded to */
    double u;             /* unit roundoff of what it computes in */
    double root;          /* of k */
    double steps, floor;  /* of the bound, by chance */
    double typical;       /* of elements: stands for a magnitude that is not known */
} arithmetic;

static arithmetic arithmetic_of(const kiln_node *n, bool elsewhere, kiln_dtype kept) {
    const kiln_dtype computed = is_half(kept) ? KILN_F32 : kept;
    const bool is_wider = elsewhere && n->op->elsewhere_bound != NULL;
    arithmetic b = {.bound =
                        is_wider ? n->op->elsewhere_bound(n) : n->op->error_bound(n),
                    .dtype = kept,
                    .computed = units_of(computed),
                    .kept = units_of(kept)};
    if (n->op->other_error != NULL)
        b.bound.c *= n->op->other_error(n);
    b.u = ldexp(1.0, computed == KILN_F64 ? -53 : -24);
    b.root = sqrt((double)b.bound.k);
    b.steps = by_chance(b.bound.c);
    b.floor = by_chance(b.bound.floor);
    return b;
}

/* ---- loops over the elements of a block ------------------------------------------ */

/* A large floor is a sum's, of as many terms as it says, for results of about 1: those
 * of a softmax over millions are as much smaller as they are many. */
KILN_ASKED_WHOLE static KILN_INLINE void ulp_errors(const arithmetic *b,
                                                    const double *restrict v, int n,
                                                    double *restrict error) {
    const units s = b->computed;
    const double steps = b->steps, floor = b->floor, u = b->u, typical = b->typical;
    if (b->bound.floor > LARGE)
        for (int j = 0; j < n; j++) {
            const double share = lesser(1, 8 * greater(fabs(v[j]), typical));
            error[j] = greater(steps * ulp_at(s, v[j]), floor * share * u);
        }
    else
        for (int j = 0; j < n; j++)
            error[j] = greater(steps * ulp_at(s, v[j]), floor * u);
}

/* `magnitude` NULL: not known. */
KILN_ASKED_WHOLE static KILN_INLINE void dot_errors(const arithmetic *b,
                                                    const double *restrict v,
                                                    const double *restrict magnitude,
                                                    int n, double *restrict error) {
    const double c = b->bound.c * b->u, root = b->root, typical = b->typical;
    const double most = c * (double)b->bound.k, each = 2 * c * root;
    if (magnitude == NULL)
        for (int j = 0; j < n; j++)
            error[j] = each * (typical + fabs(v[j]));
    else
        for (int j = 0; j < n; j++)
            error[j] =
                lesser(c * (2 * magnitude[j] + root * fabs(v[j])), most * magnitude[j]);
}

KILN_ASKED_WHOLE static KILN_INLINE void find_errors(const arithmetic *b,
                                                     const double *v,
                                                     const double *magnitude, int n,
                                                     double *error) {
    switch (b->bound.kind) {
    case KILN_BOUND_EXACT:
        memset(error, 0, (size_t)n * sizeof *error);
        break;
    case KILN_BOUND_ULP:
        ulp_errors(b, v, n, error);
        break;
    case KILN_BOUND_DOT:
        dot_errors(b, v, magnitude, n, error);
        break;
    }
}

/* errs[j]: 1 where v[j] is finite, and its arithmetic errs or it must be rounded; else
 * 0. How many do. */
KILN_ASKED_WHOLE static KILN_INLINE int64_t find_erring(kiln_dtype kept,
                                                        const double *restrict v,
                                                        const double *restrict error,
                                                        int n, int64_t *restrict errs) {
    int64_t n_erring = 0;
    if (kept == KILN_F32)
        for (int j = 0; j < n; j++) {
            const int64_t is_finite = v[j] - v[j] == 0;
            const int64_t is_off = error[j] != 0, is_long = (double)(float)v[j] != v[j];
            errs[j] = is_finite & (is_off | is_long);
        }
    else
        for (int j = 0; j < n; j++)
            errs[j] =
                isfinite(v[j]) && (error[j] != 0 || kiln_round_f64(kept, v[j]) != v[j]);
    for (int j = 0; j < n; j++)
        n_erring += errs[j];
    return n_erring;
}

/* Uniform in [-1/2, 1/2), of the lower 32 bits: below the exponent of 2^52 they are the
 * fraction of a number that is they and 2^52. */
KILN_ASKED_WHOLE static KILN_INLINE double low_half(uint64_t bits) {
    static const double shift = 0x1p52;
    uint64_t x;
    double v;
    memcpy(&x, &shift, sizeof x);
    x |= bits & UINT32_MAX;
    memcpy(&v, &x, sizeof v);
    return (v - shift) * 0x1p-32 - 0.5;
}

/* Two draws of one number: the arithmetic's, which is half common, and the rounding's.
 */
KILN_ASKED_WHOLE static KILN_INLINE void
add_errors(const arithmetic *b, double common, const double *restrict error,
           const int64_t *restrict errs, kiln_rng *noise, int n, double *restrict v) {
    uint64_t state[BLOCK], last = noise->state;
    const units kept = b->kept;
    for (int j = 0; j < n; j++)
        state[j] = last += KILN_RNG_STEP & -(uint64_t)errs[j];
    noise->state = last;
    for (int j = 0; j < n; j++) {
        const uint64_t bits = kiln_rng_of_state(state[j]), mask = -(uint64_t)errs[j];
        const double moved = v[j] + error[j] * (common + low_half(bits)) +
                             ulp_at(kept, v[j]) * low_half(bits >> 32);
        uint64_t to, from;
        memcpy(&to, &moved, sizeof to);
        memcpy(&from, &v[j], sizeof from);
        to = (to & mask) | (from & ~mask); /* no branch: they are two of many */
        memcpy(&v[j], &to, sizeof to);
    }
}

KILN_ASKED_WHOLE static KILN_INLINE void err(const arithmetic *b, double common,
                                             const double *magnitude, kiln_rng *noise,
                                             int64_t count, double *w) {
    double error[BLOCK];
    int64_t errs[BLOCK];
    for (int64_t i = 0; i < count; i += BLOCK) {
        const int n = (int)(count - i < BLOCK ? count - i : BLOCK);
        find_errors(b, w + i, magnitude != NULL ? magnitude + i : NULL, n, error);
        if (find_erring(b->dtype, w + i, error, n, errs) > 0)
            add_errors(b, common, error, errs, noise, n, w + i);
    }
}

KILN_WIDE KILN_ASKED_WHOLE static void err_wide(const arithmetic *b, double common,
                                                const double *magnitude,
                                                kiln_rng *noise, int64_t count,
                                                double *w) {
    err(b, common, magnitude, noise, count, w);
}

KILN_ASKED_WHOLE static void err_narrow(const arithmetic *b, double common,
                                        const double *magnitude, kiln_rng *noise,
                                        int64_t count, double *w) {
    err(b, common, magnitude, noise, count, w);
}

void kiln_ref_add_noise(const kiln_node *n, const kiln_wide *magnitude, bool elsewhere,
                        kiln_wide *w, kiln_rng *noise) {
    if (w->f == NULL)
        return;
    const int64_t count = kiln_type_elems(&w->type);
    const double *const m = magnitude != NULL ? magnitude->f : NULL;
    arithmetic b = arithmetic_of(n, elsewhere, w->type.dtype);
    if (m == NULL && (b.bound.kind == KILN_BOUND_DOT || b.bound.floor > LARGE))
        b.typical = rms_of(w->f, count);
    const double common = kiln_rng_unit(noise) - 0.5;
    kiln_ask_whole(w->f, (size_t)count * sizeof *w->f);
    if (m != NULL)
        kiln_ask_whole(m, (size_t)count * sizeof *m);
    (kiln_has_wide_registers() ? err_wide : err_narrow)(&b, common, m, noise, count,
                                                        w->f);
}
