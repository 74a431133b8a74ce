/* What a model must give on seeded inputs, and how a result is held to it. */
#include "pipeline/pipeline.h"

#include <math.h>
#include <string.h>

enum { NOISY_RUNS = 3, MAX_SEEDS = 4 };

/* ---- elements that hang on rounding ------------------------------------------------
 */

static double rms_of(const kiln_wide *w, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        const double v = w->f != NULL ? w->f[i] : (double)w->i[i];
        sum += isfinite(v) ? v * v : 0;
    }
    return n > 0 ? sqrt(sum / (double)n) : 0;
}

static bool is_far(const kiln_wide *x, const kiln_wide *y, int64_t i, double rms) {
    const kiln_tolerance t = kiln_tolerance_network;
    if (x->f == NULL)
        return x->i[i] != y->i[i];
    if ((isnan(x->f[i]) && isnan(y->f[i])) || x->f[i] == y->f[i])
        return false;
    /* Half of what is allowed: the other half is for who computes it. */
    return !(fabs(x->f[i] - y->f[i]) <=
             0.5 * (t.relative * fabs(x->f[i]) + t.rms * rms + t.absolute));
}

/* Marks elements of one output that another run gave differently. */
static void mark(kiln_arena *scratch, const kiln_tensor *out, const kiln_tensor *noisy,
                 bool *is_loose) {
    kiln_wide x = kiln_wide_new(scratch, &out->type),
              y = kiln_wide_new(scratch, &out->type);
    const int64_t n = kiln_type_elems(&out->type);
    kiln_widen(&out->type, out->data, &x);
    kiln_widen(&out->type, noisy->data, &y);
    const double rms = rms_of(&x, n);
    for (int64_t i = 0; i < n; i++)
        is_loose[i] = is_loose[i] || is_far(&x, &y, i, rms);
}

static kiln_status mark_all(kiln_arena *scratch, const kiln_graph *g,
                            const kiln_tensor *in, const kiln_tensor *out,
                            bool **is_loose, kiln_err *err) {
    kiln_tensor *noisy = kiln_array(scratch, kiln_tensor, g->outputs.n);
    for (uint64_t run = 0; run < NOISY_RUNS; run++) {
        KILN_TRY(kiln_ref_run_noisy(scratch, g, in, g->inputs.n, run, noisy, err));
        for (size_t i = 0; i < g->outputs.n; i++)
            mark(scratch, &out[i], &noisy[i], is_loose[i]);
    }
    return KILN_OK;
}

/* ---- lists of elements -------------------------------------------------------------
 */

static kiln_tensor pick(kiln_arena *a, const kiln_tensor *whole, const int64_t *at,
                        int64_t n) {
    const kiln_type t = kiln_type_make(whole->type.dtype, 1, &n);
    const kiln_tensor part = kiln_tensor_new(a, &t);
    const size_t size = kiln_dtype_bytes(t.dtype);
    for (int64_t i = 0; i < n; i++)
        memcpy((char *)part.data + (size_t)i * size,
               (const char *)whole->data + (size_t)at[i] * size, size);
    return part;
}

/* False where nothing is left of it. */
static bool keep_firm(kiln_arena *a, const char *name, const kiln_tensor *whole,
                      const bool *is_loose, kiln_wanted *out) {
    const int64_t n = kiln_type_elems(&whole->type);
    int64_t *at = kiln_array(a, int64_t, n), kept = 0;
    for (int64_t i = 0; i < n; i++)
        if (!is_loose[i])
            at[kept++] = i;
    *out = (kiln_wanted){.name = name, .value = *whole};
    if (kept == n)
        return true;
    out->value = pick(a, whole, at, kept);
    out->at = at;
    return kept > 0;
}

/* ---- all ---------------------------------------------------------------------------
 */

static kiln_status try_seed(kiln_arena *a, kiln_arena *scratch, const kiln_graph *g,
                            uint64_t seed, kiln_expectation *out, const char **lost,
                            kiln_err *err) {
    kiln_tensor *in = kiln_array(a, kiln_tensor, g->inputs.n);
    kiln_tensor *whole = kiln_array(a, kiln_tensor, g->outputs.n);
    kiln_wanted *want = kiln_array(a, kiln_wanted, g->outputs.n);
    bool **is_loose = kiln_array(scratch, bool *, g->outputs.n);
    for (size_t i = 0; i < g->inputs.n; i++)
        in[i] = kiln_ref_random(a, &g->inputs.v[i]->type, seed + i);
    KILN_TRY(kiln_ref_run(a, g, in, g->inputs.n, whole, err));
    for (size_t i = 0; i < g->outputs.n; i++)
        is_loose[i] = kiln_array(scratch, bool, kiln_type_elems(&whole[i].type));
    KILN_TRY(mark_all(scratch, g, in, whole, is_loose, err));
    *lost = NULL;
    for (size_t i = 0; i < g->outputs.n; i++)
        if (!keep_firm(a, g->output_names.v[i], &whole[i], is_loose[i], &want[i]))
            *lost = g->output_names.v[i];
    *out = (kiln_expectation){in, want, g->inputs.n, g->outputs.n};
    return KILN_OK;
}

kiln_status kiln_expectation_of(kiln_arena *a, const kiln_source *s, uint64_t seed,
                                kiln_expectation *out, kiln_err *err) {
    const char *lost = "";
    kiln_expectation e;
    for (uint64_t i = 0; i < MAX_SEEDS && lost != NULL; i++) {
        kiln_arena scratch = {0};
        const kiln_status st =
            try_seed(a, &scratch, s->imported, seed + 1000 * i, &e, &lost, err);
        kiln_arena_fini(&scratch);
        if (st != KILN_OK) {
            kiln_note(err, "asking the reference for what '%s' must give", s->name);
            return st;
        }
    }
    if (lost != NULL)
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         "'%s': every element of output '%s' hangs on rounding where "
                         "inputs are random numbers: nothing could be verified",
                         s->name, lost);
    *out = e;
    return KILN_OK;
}

kiln_status kiln_check_wanted(kiln_arena *a, kiln_check *check, const kiln_tensor *got,
                              const kiln_wanted *want, const kiln_tolerance *tolerance,
                              kiln_err *err) {
    kiln_tensor part = *got;
    const int64_t n = kiln_type_elems(&want->value.type);
    if (want->at != NULL && n > 0 && want->at[n - 1] >= kiln_type_elems(&got->type))
        return kiln_fail(err, KILN_ERR_SHAPE, "output '%s' has too few elements",
                         want->name);
    if (want->at != NULL)
        part = pick(a, got, want->at, n);
    return kiln_check_network(a, check, want->name, &part, &want->value, tolerance,
                              err);
}
