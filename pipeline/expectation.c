/* What a model must give on seeded inputs, and how a result is held to it. */
#include "pipeline/pipeline.h"

#include <math.h>
#include <string.h>

/* ---- lists of elements ----------------------------------------------------------- */

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

/* All that have a bound. */
static kiln_wanted keep_held(kiln_arena *a, const char *name, const kiln_bounded *b) {
    kiln_wanted out = {.name = name, .value = b->value, .bound = b->bound};
    if (b->n_loose == 0)
        return out;
    const int64_t n = b->n_elems - b->n_loose;
    int64_t *at = kiln_array(a, int64_t, n), kept = 0;
    float *bound = kiln_array(a, float, n);
    for (int64_t i = 0; i < b->n_elems; i++)
        if (b->bound[i] >= 0) {
            bound[kept] = b->bound[i];
            at[kept++] = i;
        }
    out.value = pick(a, &b->value, at, n);
    out.at = at;
    out.bound = bound;
    return out;
}

/* ---- inputs ---------------------------------------------------------------------- */

typedef struct attempt {
    kiln_ref_law law;
    const kiln_tensor *in;
    kiln_bounded *out;
    double firm; /* the least share of an output's elements that are held firmly */
} attempt;

/* Integers that name places: of rows, of images. */
static bool is_index(kiln_dtype dtype) {
    return dtype == KILN_I64 || dtype == KILN_I32 || dtype == KILN_U64 ||
           dtype == KILN_U32;
}

/* are_first: what may be an index is 0, which is always there. */
static kiln_status try_law(kiln_arena *a, const kiln_graph *g, kiln_ref_law law,
                           bool are_first, uint64_t seed, attempt *out, kiln_err *err) {
    kiln_tensor *in = kiln_array(a, kiln_tensor, g->inputs.n);
    attempt t = {.law = law, .in = in, .firm = 1};
    for (size_t i = 0; i < g->inputs.n; i++) {
        const kiln_type *type = &g->inputs.v[i]->type;
        in[i] = are_first && is_index(type->dtype)
                    ? kiln_tensor_new(a, type)
                    : kiln_ref_draw(a, type, law, seed + i);
    }
    t.out = kiln_array(a, kiln_bounded, g->outputs.n);
    KILN_TRY(kiln_expect_network(a, g, in, seed, t.out, err));
    for (size_t i = 0; i < g->outputs.n; i++) {
        const kiln_bounded *b = &t.out[i];
        const int64_t n_firm = b->n_elems - b->n_loose - b->n_weak;
        const double share = b->n_elems > 0 ? (double)n_firm / (double)b->n_elems : 1;
        t.firm = share < t.firm ? share : t.firm;
    }
    *out = t;
    return KILN_OK;
}

/* Multiply-adds of the network, times laws, after which no other is tried: the
 * reference runs it several times for each, most of a minute in all. */
static const int64_t most_muladds = INT64_C(40000000000);

/* The first law under which nine of ten elements are firm, or the best of all. */
static kiln_status find_inputs(kiln_arena *a, const kiln_graph *g, uint64_t seed,
                               attempt *out, kiln_err *err) {
    static const double enough = 0.9;
    bool are_first = false;
    kiln_cost cost;
    kiln_graph_cost(g, &cost);
    const int64_t most = most_muladds / (cost.muladds > 0 ? cost.muladds : 1);
    *out = (attempt){.firm = -1};
    for (int law = 0; law < KILN_N_LAWS && (law == 0 || law < most); law++) {
        attempt t;
        kiln_status st = try_law(a, g, (kiln_ref_law)law, are_first, seed, &t, err);
        if (st == KILN_ERR_ARG && !are_first) { /* no operator takes such numbers */
            kiln_err_clear(err);
            are_first = true;
            st = try_law(a, g, (kiln_ref_law)law, are_first, seed, &t, err);
        }
        KILN_TRY(st);
        if (t.firm > out->firm)
            *out = t;
        if (out->firm >= enough)
            break;
    }
    return KILN_OK;
}

static double share_of(const kiln_bounded *b) {
    kiln_arena scratch = {0};
    kiln_wide w = kiln_wide_new(&scratch, &b->value.type);
    double share = 0;
    kiln_widen(&b->value.type, b->value.data, &w);
    for (int64_t i = 0; i < b->n_elems; i++) {
        const double size = b->rms + fabs(w.f != NULL ? w.f[i] : (double)w.i[i]);
        if (b->bound[i] > 0 && size > 0 && isfinite(size))
            share = fmax(share, (double)b->bound[i] / size);
    }
    kiln_arena_fini(&scratch);
    return share;
}

/* The network tolerance, or as much as the bounds of these inputs need. */
static kiln_status find_tolerance(kiln_arena *a, const kiln_graph *g, uint64_t seed,
                                  const attempt *t, kiln_tolerance *out,
                                  kiln_err *err) {
    const kiln_bounded *b = t->out;
    *out = kiln_tolerance_network;
    if (kiln_graph_quantises(g)) {
        kiln_bounded *elsewhere = kiln_array(a, kiln_bounded, g->outputs.n);
        KILN_TRY(kiln_expect_elsewhere(a, g, t->in, seed, elsewhere, err));
        b = elsewhere;
    }
    for (size_t i = 0; i < g->outputs.n; i++) {
        const double share = share_of(&b[i]);
        out->relative = fmax(out->relative, share);
        out->rms = fmax(out->rms, share);
    }
    return KILN_OK;
}

kiln_status kiln_expectation_of(kiln_arena *a, const kiln_source *s, uint64_t seed,
                                kiln_expectation *out, kiln_err *err) {
    const kiln_graph *g = s->imported;
    attempt best;
    kiln_tolerance tolerance;
    kiln_status st = find_inputs(a, g, seed, &best, err);
    if (st == KILN_OK)
        st = find_tolerance(a, g, seed, &best, &tolerance, err);
    if (st != KILN_OK) {
        kiln_note(err, "asking the reference for what '%s' must give", s->name);
        return st;
    }
    kiln_wanted *want = kiln_array(a, kiln_wanted, g->outputs.n);
    kiln_expectation e = {.in = best.in,
                          .out = want,
                          .n_in = g->inputs.n,
                          .n_out = g->outputs.n,
                          .law = kiln_ref_law_name(best.law),
                          .tolerance = tolerance};
    for (size_t i = 0; i < e.n_out; i++) {
        const kiln_bounded *b = &best.out[i];
        want[i] = keep_held(a, g->output_names.v[i], b);
        e.n_elems += b->n_elems;
        e.n_held += b->n_elems - b->n_loose;
        e.n_weak += b->n_weak;
    }
    *out = e;
    return KILN_OK;
}

kiln_status kiln_wanted_elsewhere(kiln_arena *a, const kiln_graph *g,
                                  const kiln_tensor *in, uint64_t seed,
                                  const kiln_wanted **out, kiln_err *err) {
    kiln_bounded *b = kiln_array(a, kiln_bounded, g->outputs.n);
    kiln_wanted *want = kiln_array(a, kiln_wanted, g->outputs.n);
    KILN_TRY(kiln_expect_elsewhere(a, g, in, seed, b, err));
    for (size_t i = 0; i < g->outputs.n; i++)
        want[i] = keep_held(a, g->output_names.v[i], &b[i]);
    *out = want;
    return KILN_OK;
}

/* ---- comparing ------------------------------------------------------------------- */

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
    if (want->bound == NULL)
        return kiln_check_network(a, check, want->name, &part, &want->value, tolerance,
                                  err);
    const kiln_bounded b = {.value = want->value,
                            .bound = (float *)(uintptr_t)want->bound, /* read only */
                            .n_elems = n};
    return kiln_check_bounded(a, check, want->name, &part, &b, err);
}
