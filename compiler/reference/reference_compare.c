/* How two tensors differ: |got - want| <= atol + rtol * |want|, the rule of
 * numpy.allclose. */
#include "compiler/reference/reference_internal.h"

#include <math.h>

/* Elements widened at a time: the comparison needs no memory that grows. */
enum { CHUNK = 4096 };

typedef struct sums {
    double worst; /* size of the worst difference so far; -1: none */
    double error2, want2;
    int64_t n_finite;
} sums;

/* How far two integers are apart; never 0 for different ones, though beyond 2^53 double
 * is coarse. */
static double int_distance(int64_t got, int64_t want, bool is_u64) {
    if (got == want)
        return 0;
    const bool is_above = is_u64 ? (uint64_t)got > (uint64_t)want : got > want;
    const uint64_t d =
        is_above ? (uint64_t)got - (uint64_t)want : (uint64_t)want - (uint64_t)got;
    return (double)d;
}

static double int_value(int64_t v, bool is_u64) {
    return is_u64 ? (double)(uint64_t)v : (double)v;
}

/* One element. `distance` is NaN for equal infinities and where a NaN takes part;
 * integers that are apart have one even where they are equal as doubles. */
static void add_element(kiln_diff *d, sums *s, int64_t index, double got, double want,
                        double distance, double limit) {
    const bool is_finite = isfinite(got) && isfinite(want);
    const bool is_equal =
        distance == 0 ||
        (isnan(distance) && (got == want || (isnan(got) && isnan(want))));
    if (is_finite) {
        const double tiny = 1e-30;
        d->max_abs = fmax(d->max_abs, distance);
        d->max_rel = fmax(d->max_rel, distance / fmax(fabs(want), tiny));
        s->error2 += distance * distance;
        s->want2 += want * want;
        s->n_finite++;
    }
    if (is_equal)
        return;
    if (!is_finite || distance > limit)
        d->n_bad++;
    const double size = is_finite ? distance : HUGE_VAL; /* broken specials are worst */
    if (size > s->worst) {
        s->worst = size;
        d->worst_index = index;
        d->worst_got = got;
        d->worst_want = want;
    }
}

static void compare_chunk(const kiln_wide *got, const kiln_wide *want, int64_t first,
                          int64_t n, double rtol, double atol, kiln_diff *d, sums *s) {
    const bool is_u64 = got->type.dtype == KILN_U64;
    for (int64_t j = 0; j < n; j++) {
        double g, w, distance;
        if (got->f != NULL) {
            g = got->f[j];
            w = want->f[j];
            distance = fabs(g - w);
        } else {
            g = int_value(got->i[j], is_u64);
            w = int_value(want->i[j], is_u64);
            distance = int_distance(got->i[j], want->i[j], is_u64);
        }
        add_element(d, s, first + j, g, w, distance, atol + rtol * fabs(w));
    }
}

kiln_status kiln_ref_compare(const kiln_tensor *got, const kiln_tensor *want,
                             double rtol, double atol, kiln_diff *out, kiln_err *err) {
    KILN_TRY(kiln_ref_check_same(&want->type, &got->type, "tensor", "got", err));
    if (!kiln_layout_is_plain(&got->type.layout))
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         "tensors must have a row-major layout to be compared");
    kiln_arena scratch = {0};
    const int64_t n = kiln_type_elems(&got->type);
    const int64_t step = CHUNK;
    const kiln_type t = kiln_type_make(got->type.dtype, 1, &step);
    kiln_wide g = kiln_wide_new(&scratch, &t), w = kiln_wide_new(&scratch, &t);
    kiln_diff d = {.worst_index = -1};
    sums s = {.worst = -1};
    const size_t bytes = kiln_dtype_bytes(t.dtype);
    for (int64_t first = 0; first < n; first += CHUNK) {
        const int64_t left = n - first < step ? n - first : step;
        const kiln_type part = kiln_type_make(t.dtype, 1, &left);
        g.type = w.type = part;
        kiln_widen(&part, (const char *)got->data + (size_t)first * bytes, &g);
        kiln_widen(&part, (const char *)want->data + (size_t)first * bytes, &w);
        compare_chunk(&g, &w, first, left, rtol, atol, &d, &s);
    }
    if (s.n_finite > 0) {
        d.rms_error = sqrt(s.error2 / (double)s.n_finite);
        d.rms_want = sqrt(s.want2 / (double)s.n_finite);
    }
    d.ok = d.n_bad == 0;
    *out = d;
    kiln_arena_fini(&scratch);
    return KILN_OK;
}
