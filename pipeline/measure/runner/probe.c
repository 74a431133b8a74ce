/* What a slice leaves behind: some elements of each of its outputs, compared behind it,
 * every other one of them spoilt ahead: what was not written shows as what was spoilt,
 * or, where slices before it had other inputs, as what was right then. The parent does
 * both; the candidate's process knows neither what is expected nor, in time, where
 * anybody will look.
 *
 * Of an output of more than MAX_PROBES expected elements a trial draws one from each of
 * as many equal parts, the first and the last always; a slice is held to a window of
 * them, and to the first and the last. So much costs some microseconds of a slice of
 * half a millisecond, whatever the output's size. */
#include "pipeline/measure/runner/runner_internal.h"

#include <math.h>
#include <string.h>

enum {
    MAX_PROBES = 2048, /* of a trial, of all outputs */
    MIN_PROBES = 64,   /* of one */
    IN_A_ROUND = 8192, /* comparisons, of all buffers */
    SPOILT = 0xFF      /* NaN in every float */
};

static const kiln_wire_value *value_of(const kiln_trial_run *t, uint32_t output) {
    const kiln_wire_code *c = &t->q->code;
    return &t->w->value[c->operand[c->n_inputs + output].value];
}

static uint32_t n_outputs(const kiln_trial_run *t) {
    return t->q->code.n_operands - t->q->code.n_inputs;
}

/* ---- for a trial ----------------------------------------------------------------- */

/* The k-th of n parts of `all` elements. */
static uint64_t part(uint64_t all, uint32_t k, uint32_t n) { return all * k / n; }

static uint32_t *draw(kiln_arena *a, kiln_rng *rng, uint64_t all, uint32_t n) {
    uint32_t *index = kiln_array(a, uint32_t, n);
    for (uint32_t k = 0; k < n; k++) {
        const uint64_t begin = part(all, k, n), end = part(all, k + 1, n);
        index[k] = (uint32_t)kiln_rng_range(rng, (int64_t)begin, (int64_t)end - 1);
    }
    if (n > 0) {
        index[0] = 0;
        index[n - 1] = (uint32_t)(all - 1);
    }
    return index;
}

static uint64_t *places(kiln_trial_run *t, uint32_t output, const kiln_wire_expected *e,
                        const uint32_t *index, uint32_t n) {
    const kiln_wire_code *c = &t->q->code;
    const int64_t *pick = e->pick.data;
    uint64_t *at = kiln_array(t->arena, uint64_t, n);
    for (uint32_t k = 0; k < n; k++) {
        const int64_t i = pick != NULL ? pick[index[k]] : (int64_t)index[k];
        at[k] = (uint64_t)kiln_operand_at(value_of(t, output),
                                          &c->operand[c->n_inputs + output], i);
    }
    return at;
}

/* Every seed has as many expected elements, but where they were picked others. */
static void make_probe(kiln_trial_run *t, kiln_rng *rng, uint32_t output,
                       uint64_t most) {
    const kiln_wire_expected *e = value_of(t, output)->expected;
    kiln_probe *p = &t->probe[output];
    uint64_t n = most;
    for (uint32_t s = 0; s < t->n_sets; s++) {
        const uint64_t all = e[s].value.bytes / sizeof(double);
        n = all < n ? all : n;
    }
    p->n = (uint32_t)n;
    for (uint32_t s = 0; s < t->n_sets; s++) {
        const bool is_same = s > 0 && e[s].pick.bytes == 0 && e[0].pick.bytes == 0;
        const uint64_t all = e[s].value.bytes / sizeof(double);
        p->index[s] = is_same ? p->index[0] : draw(t->arena, rng, all, p->n);
        p->at[s] = is_same ? p->at[0] : places(t, output, &e[s], p->index[s], p->n);
    }
}

void kiln_probes_make(kiln_trial_run *t, kiln_rng *rng) {
    const uint32_t n = n_outputs(t);
    KILN_ASSERT(n > 0, "a kernel without outputs");
    const uint32_t most = MAX_PROBES / n > MIN_PROBES ? MAX_PROBES / n : MIN_PROBES;
    t->probe = kiln_array(t->arena, kiln_probe, n);
    for (uint32_t o = 0; o < n; o++)
        make_probe(t, rng, o, most);
}

/* ---- for a round ----------------------------------------------------------------- */

/* The k-th of a window: from its begin on, around the end; then the first and the last
 * of all. */
static uint32_t nth(const kiln_probe *p, const kiln_probe_window *w, uint32_t k) {
    return k == w->n             ? 0
           : k == w->n + 1       ? p->n - 1
           : w->begin + k < p->n ? w->begin + k
                                 : w->begin + k - p->n;
}

static uint32_t n_of(const kiln_probe *p, const kiln_probe_window *w) {
    return p->n > 0 ? w->n + 2 : 0;
}

static void draw_pokes(kiln_trial_run *t, kiln_rng *rng, kiln_round *r,
                       const kiln_probe_window *w) {
    const uint32_t n = n_outputs(t);
    r->n_pokes = 0;
    for (uint32_t i = 0; i < KILN_MAX_POKES; i++) {
        const uint32_t o = i % n;
        const kiln_probe *p = &t->probe[o];
        if (p->n == 0)
            continue;
        const uint32_t k = (uint32_t)kiln_rng_range(rng, 0, n_of(p, &w[o]) - 1);
        const size_t bytes = kiln_wire_dtype_bytes(value_of(t, o)->dtype);
        r->poke[r->n_pokes++] =
            (kiln_poke){.output = o,
                        .bytes = (uint32_t)bytes,
                        .at = p->at[r->set][nth(p, &w[o], k)] * bytes};
    }
}

static void spoil(unsigned char *element, size_t bytes) {
    if (bytes == 4) /* a constant size is one move */
        memset(element, SPOILT, 4);
    else
        memset(element, SPOILT, bytes);
}

void kiln_probes_spoil(kiln_trial_run *t, kiln_rng *rng, kiln_round *r,
                       kiln_probe_window *w) {
    const uint32_t n = n_outputs(t);
    KILN_ASSERT(r->n_segments > 0, "a round without segments");
    for (uint32_t o = 0; o < n; o++) {
        const kiln_probe *p = &t->probe[o];
        const uint32_t most = IN_A_ROUND / n / r->n_segments;
        const size_t bytes = kiln_wire_dtype_bytes(value_of(t, o)->dtype);
        w[o] = (kiln_probe_window){.n = p->n < most ? p->n : most};
        if (p->n > 0)
            w[o].begin = (uint32_t)kiln_rng_range(rng, 0, p->n - 1);
        for (uint32_t s = 0; s < r->n_segments; s++) {
            unsigned char *data = t->buffer[r->segment[s].buffer][o].data;
            for (uint32_t k = w[o].begin % 2; k < n_of(p, &w[o]); k += 2)
                spoil(data + p->at[r->set][nth(p, &w[o], k)] * bytes, bytes);
        }
    }
    draw_pokes(t, rng, r, w);
}

/* Without a look at what is not a float: most are, and are well within their bounds. */
static bool is_well(const kiln_wire_value *v, const kiln_wire_expected *e,
                    const unsigned char *data, uint32_t j, uint64_t at) {
    if (v->dtype != KILN_WIRE_F32)
        return false;
    const double *value = e->value.data;
    const double *bound = e->bound.data;
    float got;
    memcpy(&got, data + at * sizeof got, sizeof got);
    return fabs((double)got - value[j]) <= (bound != NULL ? bound[j] : 0);
}

static bool check_output(kiln_trial_run *t, uint32_t o, uint32_t set,
                         const unsigned char *data, const kiln_probe_window *w) {
    const kiln_probe *p = &t->probe[o];
    const kiln_wire_value *v = value_of(t, o);
    const kiln_wire_expected *e = &v->expected[set];
    for (uint32_t k = 0; k < n_of(p, w); k++) {
        const uint32_t i = nth(p, w, k);
        const uint32_t j = p->index[set][i];
        const uint64_t at = p->at[set][i];
        if (!is_well(v, e, data, j, at) &&
            !kiln_trial_check_element(t, v, e, data, j, at))
            return false;
    }
    return true;
}

bool kiln_probes_check(kiln_trial_run *t, const kiln_round *r,
                       const kiln_probe_window *w) {
    for (uint32_t o = 0; o < n_outputs(t); o++) {
        for (uint32_t s = 0; s < r->n_segments; s++) {
            const unsigned char *data = t->buffer[r->segment[s].buffer][o].data;
            if (!check_output(t, o, r->set, data, &w[o]))
                return false;
        }
    }
    return true;
}
