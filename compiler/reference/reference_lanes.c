/* What leaps in the runs of kiln_ref_run_lanes: a small error of an input makes a large
 * one. Its inputs are moved to both sides of where they are, and integers that other
 * engines make of them by a step. How arithmetic errs is in noise_f64.c. */
#include "compiler/reference/reference_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
