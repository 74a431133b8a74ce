/* Is what a candidate left behind right? Outputs were poisoned ahead, so that a missing
 * store is seen; lanes past the shape must be zeros, for readers trust them. */
#include "pipeline/measure/runner/runner_internal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define load_as(T, p) ((double)*(const T *)(const void *)(p))

static double load(uint32_t dtype, const unsigned char *data, int64_t i) {
    const unsigned char *p = data + (size_t)i * kiln_wire_dtype_bytes(dtype);
    switch ((kiln_wire_dtype)dtype) {
    case KILN_WIRE_F32:
        return load_as(float, p);
    case KILN_WIRE_F16:
        return kiln_f16_to_f64(*(const uint16_t *)(const void *)p);
    case KILN_WIRE_BF16:
        return kiln_bf16_to_f64(*(const uint16_t *)(const void *)p);
    case KILN_WIRE_F64:
        return load_as(double, p);
    case KILN_WIRE_I8:
        return load_as(int8_t, p);
    case KILN_WIRE_U8:
        return load_as(uint8_t, p);
    case KILN_WIRE_I16:
        return load_as(int16_t, p);
    case KILN_WIRE_U16:
        return load_as(uint16_t, p);
    case KILN_WIRE_I32:
        return load_as(int32_t, p);
    case KILN_WIRE_U32:
        return load_as(uint32_t, p);
    case KILN_WIRE_I64:
        return load_as(int64_t, p);
    case KILN_WIRE_U64:
        return load_as(uint64_t, p);
    case KILN_WIRE_E4M3FN:
    case KILN_WIRE_E4M3FNUZ:
    case KILN_WIRE_E5M2:
    case KILN_WIRE_E5M2FNUZ:
    case KILN_WIRE_E8M0:
    case KILN_WIRE_E2M1:
        return kiln_low_to_f64((kiln_low_format)(dtype - KILN_WIRE_E4M3FN), *p);
    case KILN_WIRE_N_DTYPES:
        break;
    }
    return 0;
}

static bool check_element(kiln_trial_run *t, const kiln_wire_value *v, int64_t i,
                          double got, double want, double bound) {
    if (got == want || (isnan(want) && isnan(got)))
        return true;
    const double off = fabs(got - want);
    bound *= t->q->code.amplification;
    if (!(off <= t->out->max_abs)) /* NaN too */
        t->out->max_abs = off;
    if (!(off <= bound)) {
        t->out->worst = bound > 0 && off > bound ? off / bound : HUGE_VAL;
        return kiln_trial_fault(t, KILN_TRIAL_WRONG,
                                "output '%.*s' element %" PRId64
                                " is %.9g, must be %.9g within %.3g%s",
                                KILN_STR_ARG(v->name), i, got, want, bound, t->when);
    }
    if (off / bound > t->out->worst)
        t->out->worst = off / bound;
    return true;
}

bool kiln_trial_check_element(kiln_trial_run *t, const kiln_wire_value *v,
                              const kiln_wire_expected *e, const unsigned char *data,
                              uint64_t j, uint64_t at) {
    const double *value = e->value.data;
    const double *bound = e->bound.data;
    const int64_t *pick = e->pick.data;
    return check_element(t, v, pick != NULL ? pick[j] : (int64_t)j,
                         load(v->dtype, data, (int64_t)at), value[j],
                         bound != NULL ? bound[j] : 0);
}

static bool check_expected(kiln_trial_run *t, const kiln_wire_value *v,
                           const kiln_wire_operand *o, const unsigned char *data,
                           const kiln_wire_expected *e) {
    const double *value = e->value.data;
    const double *bound = e->bound.data;
    const int64_t *pick = e->pick.data;
    const int64_t n = (int64_t)(e->value.bytes / sizeof *value);
    if (t->out->n_seeds == 0) {
        t->out->n_compared += (uint64_t)n;
        t->out->n_elems += (uint64_t)kiln_value_elems(v);
    }
    for (int64_t j = 0; j < n; j++) {
        const int64_t i = pick != NULL ? pick[j] : j;
        const double got = load(v->dtype, data, kiln_operand_at(v, o, i));
        if (!check_element(t, v, i, got, value[j], bound != NULL ? bound[j] : 0))
            return false;
    }
    return true;
}

/* Elements that were not picked must have been written at least. A comparison of floats
 * that compilers vectorise. */
static bool has_unwritten(const kiln_wire_value *v, const unsigned char *data,
                          size_t bytes) {
    bool has_nan = false;
    if (v->dtype == KILN_WIRE_F32) {
        const float *f = (const float *)(const void *)data;
        for (size_t i = 0; i < bytes / sizeof *f; i++)
            has_nan = has_nan || isnan(f[i]);
        return has_nan;
    }
    const size_t one = kiln_wire_dtype_bytes(v->dtype);
    for (size_t i = 0; i < bytes / one; i++)
        has_nan = has_nan || isnan(load(v->dtype, data, (int64_t)i));
    return has_nan;
}

/* Packs ones: what stays zero is a lane past the shape. */
static bool check_tails(kiln_trial_run *t, const kiln_wire_value *v,
                        const kiln_wire_operand *o, const unsigned char *data,
                        size_t bytes) {
    const size_t plain_bytes =
        (size_t)kiln_value_elems(v) * kiln_wire_dtype_bytes(v->dtype);
    unsigned char *ones = kiln_arena_alloc_raw(t->arena, plain_bytes);
    unsigned char *is_lane = kiln_arena_alloc_raw(t->arena, bytes);
    memset(ones, 0xFF, plain_bytes);
    kiln_operand_pack(v, o, ones, is_lane);
    for (size_t i = 0; i < bytes; i++)
        if (is_lane[i] == 0 && data[i] != 0)
            return kiln_trial_fault(t, KILN_TRIAL_WRONG,
                                    "output '%.*s': tail lane at byte %zu is not zero",
                                    KILN_STR_ARG(v->name), i);
    return true;
}

static bool check_canaries(kiln_trial_run *t, const kiln_region *g, const char *what) {
    size_t at;
    if (!kiln_region_is_broken(g, &at))
        return true;
    return kiln_trial_fault(t, KILN_TRIAL_OUT_OF_BOUNDS,
                            "byte %zu of %s was written, it has %zu", at, what,
                            g->bytes);
}

static bool check_all_canaries(kiln_trial_run *t) {
    const uint32_t n_outputs = t->q->code.n_operands - t->q->code.n_inputs;
    if (!check_canaries(t, &t->workspace, "the workspace"))
        return false;
    for (int i = 0; i < t->threads; i++)
        if (!check_canaries(t, &t->scratch[i], "a thread's scratch memory"))
            return false;
    for (uint32_t b = 0; b < t->n_buffers; b++)
        for (uint32_t o = 0; o < n_outputs; o++)
            if (!check_canaries(t, &t->buffer[b][o], "an output"))
                return false;
    return true;
}

bool kiln_trial_check(kiln_trial_run *t, uint32_t seed, uint32_t buffer) {
    const kiln_wire_code *c = &t->q->code;
    if (!check_all_canaries(t))
        return false;
    for (uint32_t i = c->n_inputs; i < c->n_operands; i++) {
        const kiln_wire_operand *o = &c->operand[i];
        const kiln_wire_value *v = &t->w->value[o->value];
        const kiln_region *g = &t->buffer[buffer][i - c->n_inputs];
        const kiln_wire_expected *e = &v->expected[seed];
        if (!check_expected(t, v, o, g->data, e))
            return false;
        if (e->pick.bytes > 0 && has_unwritten(v, g->data, g->bytes))
            return kiln_trial_fault(t, KILN_TRIAL_WRONG,
                                    "an element of output '%.*s' is NaN%s",
                                    KILN_STR_ARG(v->name), t->when);
        if (kiln_operand_has_tails(v, o) && !check_tails(t, v, o, g->data, g->bytes))
            return false;
    }
    return true;
}
