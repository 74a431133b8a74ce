/* E-divisive: see change_points.h.
 *
 * Of two neighbouring runs of nights X (n of them) and Y (m) the divergence is
 *
 *     Q = n m / (n + m) * (2 E|X - Y| - E|X - X'| - E|Y - Y'|),
 *
 * the means over all pairs. Of each segment the largest Q over all places where X ends
 * and Y ends is looked for; the segment with the largest of all is divided there, if
 * rearranged nights seldom divide as well; and so on. Sums of distances over any
 * rectangle come from their running sums, so each place costs a few additions. */
#include "reports/stats/change_points.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    REARRANGEMENTS = 199,
    MOST_AS_GOOD = 1 /* and the series itself: 2 of 200, 1% */
};

typedef struct segment {
    size_t begin, end;
    double q;  /* of its best division; 0: it is too short, or flat */
    size_t at; /* where */
} segment;
typedef KILN_VEC(segment) segments;

typedef struct finder {
    kiln_arena *scratch;
    double *sum; /* room for (n + 1)^2 */
} finder;

/* ---- one segment ----------------------------------------------------------------- */

/* sum[i][k]: of |v[a] - v[b]|, a < i, b < k. */
static void add_up(finder *f, const double *v, size_t n) {
    const size_t row = n + 1;
    memset(f->sum, 0, row * sizeof *f->sum);
    for (size_t i = 1; i <= n; i++) {
        double *const s = f->sum + i * row;
        double here = 0;
        s[0] = 0;
        for (size_t k = 1; k <= n; k++) {
            here += fabs(v[i - 1] - v[k - 1]);
            s[k] = f->sum[(i - 1) * row + k] + here;
        }
    }
}

static double block(const finder *f, size_t n, size_t i0, size_t i1, size_t k0,
                    size_t k1) {
    const double *const top = f->sum + i0 * (n + 1), *const end = f->sum + i1 * (n + 1);
    return end[k1] - end[k0] - top[k1] + top[k0];
}

/* Of X = [0, t) and Y = [t, e). Both have two nights or more. */
static double divergence(const finder *f, size_t n, size_t t, size_t e) {
    const double x = (double)t, y = (double)(e - t);
    const double between = 2 * block(f, n, 0, t, t, e) / (x * y);
    const double within = block(f, n, 0, t, 0, t) / (x * (x - 1)) +
                          block(f, n, t, e, t, e) / (y * (y - 1));
    return x * y / (x + y) * (between - within);
}

static void divide(finder *f, const double *v, segment *s) {
    const size_t n = s->end - s->begin, least = KILN_CHANGE_MIN_SEGMENT;
    s->q = 0;
    s->at = s->begin;
    if (n < 2 * least)
        return;
    add_up(f, v + s->begin, n);
    for (size_t t = least; t + least <= n; t++)
        for (size_t e = t + least; e <= n; e++) {
            const double q = divergence(f, n, t, e);
            if (q > s->q) {
                s->q = q;
                s->at = s->begin + t;
            }
        }
}

/* ---- all of them ----------------------------------------------------------------- */

static segment *best_of(segments *all) {
    segment *best = &all->v[0];
    for (size_t i = 1; i < all->n; i++)
        if (all->v[i].q > best->q)
            best = &all->v[i];
    return best;
}

static void shuffle(kiln_rng *rng, double *v, size_t n) { /* Fisher and Yates */
    for (size_t i = n; i-- > 1;) {
        const size_t k = (size_t)kiln_rng_range(rng, 0, (int64_t)i);
        const double held = v[i];
        v[i] = v[k];
        v[k] = held;
    }
}

/* Do nights that are rearranged within their segments seldom divide as well? Rounding
 * must not tell equal series apart. */
static bool stands(finder *f, const double *v, size_t n, const segments *all, double q,
                   kiln_rng *rng) {
    double *room = kiln_arena_dup(f->scratch, v, n * sizeof *v);
    const double as_good = q * (1 - 1e-9);
    int n_as_good = 0;
    for (int i = 0; i < REARRANGEMENTS && n_as_good <= MOST_AS_GOOD; i++) {
        double most = 0;
        for (size_t k = 0; k < all->n; k++) {
            segment s = all->v[k];
            shuffle(rng, room + s.begin, s.end - s.begin);
            divide(f, room, &s);
            most = fmax(most, s.q);
        }
        n_as_good += most >= as_good;
    }
    return n_as_good <= MOST_AS_GOOD;
}

static int ascending(const void *x, const void *y) {
    const size_t a = *(const size_t *)x, b = *(const size_t *)y;
    return (a > b) - (a < b);
}

size_t kiln_change_points(kiln_arena *scratch, const double *v, size_t n, uint64_t seed,
                          size_t *at) {
    KILN_ASSERT(n <= KILN_CHANGE_MAX_NIGHTS, "%zu nights", n);
    finder f = {scratch, kiln_array(scratch, double, (n + 1) * (n + 1))};
    segments all = {.n = 0};
    segment whole = {.begin = 0, .end = n};
    kiln_rng rng;
    size_t found = 0;
    kiln_rng_init(&rng, seed);
    divide(&f, v, &whole);
    kiln_vec_push(scratch, &all, whole);
    for (;;) {
        segment *const s = best_of(&all);
        if (!(s->q > 0) || !stands(&f, v, n, &all, s->q, &rng))
            break;
        KILN_ASSERT(s->begin < s->at && s->at < s->end,
                    "nights %zu to %zu divided at %zu", s->begin, s->end, s->at);
        segment behind = {.begin = s->at, .end = s->end};
        at[found++] = s->at;
        s->end = s->at;
        divide(&f, v, s);
        divide(&f, v, &behind);
        kiln_vec_push(scratch, &all, behind);
    }
    KILN_ASSERT(found < n || found == 0, "%zu points among %zu nights", found, n);
    qsort(at, found, sizeof *at, ascending);
    return found;
}
