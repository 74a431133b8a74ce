/* Chosen elements of a node's output, and how far generated code may be from them.
 *
 * Bounds follow the operator row's error_bound (op.h, kiln_bound_kind). They are around
 * the unrounded value, so each includes the distance to the element that the dtype can
 * hold:
 *   EXACT  |round(v) - v|
 *   ULP    |round(v) - v| + max(c * ulp(v), floor * u)
 *   DOT    c * k * (u * m + h), m the same element computed from absolute inputs and
 *          weights, h half the smallest subnormal, which each product may lose (Higham,
 *          Accuracy and Stability of Numerical Algorithms, 2nd ed., 2.2 and 3.1); f16
 *          and bf16 outputs have half an ulp of their own more, integers are exact
 * u is the unit roundoff of the accumulation. An element that is NaN or infinite has
 * bound 0: it must be met as it is.
 */
#include "compiler/reference/reference_internal.h"

#include <math.h>
#include <string.h>

kiln_ref_spacing kiln_ref_spacing_of(kiln_dtype dtype) {
    const int bits = kiln_dtype_get(dtype)->mantissa_bits;
    int min_exponent = 0; /* of the smallest normal number, as frexp counts */
    switch (dtype) {
    case KILN_F32:
    case KILN_BF16:
        min_exponent = -125;
        break;
    case KILN_F16:
        min_exponent = -13;
        break;
    case KILN_F64:
        min_exponent = -1021;
        break;
    case KILN_DTYPES_LOW_FLOAT:
        min_exponent = 2 - kiln_low_float_of(kiln_dtype_low_format(dtype))->bias;
        break;
    case KILN_DTYPES_INT:
    case KILN_BOOL:
    case KILN_DTYPES_LOW_INT:
    case KILN_N_DTYPES:
        KILN_ASSERT(false, "%s is no float", kiln_dtype_name(dtype));
    }
    return (kiln_ref_spacing){min_exponent, bits};
}

double kiln_ref_ulp(kiln_dtype dtype, double v) {
    return kiln_dtype_is_float(dtype) ? kiln_ref_ulp_at(kiln_ref_spacing_of(dtype), v)
                                      : 1;
}

static double unit_roundoff(kiln_dtype dtype) {
    return ldexp(1.0, dtype == KILN_F64 ? -53 : -24);
}

static double smallest_subnormal(kiln_dtype dtype) {
    return ldexp(1.0, dtype == KILN_F64 ? -1074 : -149);
}

static double rounding_distance(kiln_dtype dtype, double v) {
    if (!kiln_dtype_is_float(dtype))
        return 0;
    const double r = kiln_round_f64(dtype, v);
    /* Overflow: generated code gives infinity, which no finite distance describes. */
    return isfinite(r) ? fabs(r - v) : HUGE_VAL;
}

static double bound_of(const kiln_bound *b, kiln_dtype dtype, double v,
                       double magnitude) {
    if (!isfinite(v))
        return 0;
    switch (b->kind) {
    case KILN_BOUND_EXACT:
        return rounding_distance(dtype, v);
    case KILN_BOUND_ULP:
        return rounding_distance(dtype, v) +
               fmax(b->c * kiln_ref_ulp(dtype, v), b->floor * unit_roundoff(dtype));
    case KILN_BOUND_DOT: {
        if (!kiln_dtype_is_float(dtype))
            return 0;
        const bool is_half = dtype == KILN_F16 || dtype == KILN_BF16;
        const double own = is_half ? 0.5 * kiln_ref_ulp(dtype, v) : 0;
        const double lost = magnitude > 0 ? 0.5 * smallest_subnormal(dtype) : 0;
        return b->c * (double)b->k * (unit_roundoff(dtype) * magnitude + lost) + own;
    }
    }
    return 0;
}

static double element(const kiln_wide *w, int64_t i) {
    if (w->f != NULL)
        return w->f[i];
    return w->type.dtype == KILN_U64 ? (double)(uint64_t)w->i[i] : (double)w->i[i];
}

/* The chosen elements of output 0, through the row's own picking where it has one. */
static kiln_status eval_picked(kiln_arena *scratch, const kiln_node *n,
                               const kiln_wide *in, const int64_t *pick, int64_t n_pick,
                               bool is_magnitude, double *out, kiln_err *err) {
    const bool direct = n->op->can_pick;
    kiln_ref_eval e = {.scratch = scratch,
                       .in = in,
                       .out = kiln_array(scratch, kiln_wide, n->n_out),
                       .pick = direct ? pick : NULL,
                       .n_pick = direct ? n_pick : 0,
                       .is_magnitude = is_magnitude};
    KILN_TRY(kiln_ref_eval_wide(n, &e, err));
    for (int64_t j = 0; j < n_pick; j++)
        out[j] = element(&e.out[0], direct ? j : pick[j]);
    return KILN_OK;
}

void kiln_ref_make_absolute(const kiln_node *n, kiln_wide *in) {
    for (int k = 0; k < n->n_in; k++) {
        const bool is_place = k < 32 && (n->op->keeps_sign >> k & 1) != 0;
        const int64_t n_elems =
            in[k].f != NULL && !is_place ? kiln_type_elems(&in[k].type) : 0;
        for (int64_t j = 0; j < n_elems; j++)
            in[k].f[j] = fabs(in[k].f[j]);
    }
}

static void bounds_of(const kiln_node *n, const double *value, const double *magnitude,
                      int64_t n_pick, double *bound) {
    const kiln_bound b = n->op->error_bound(n);
    for (int64_t j = 0; j < n_pick; j++)
        bound[j] = bound_of(&b, n->out[0]->type.dtype, value[j], magnitude[j]);
}

/* `bound` NULL: not asked for. */
static kiln_status pick_wide(kiln_arena *scratch, const kiln_node *n,
                             const kiln_tensor *in, const int64_t *pick, int64_t n_pick,
                             double *value, double *bound, kiln_err *err) {
    kiln_wide *wide_in = NULL;
    KILN_TRY(kiln_ref_widen_inputs(scratch, n, in, &wide_in, err));
    KILN_TRY(eval_picked(scratch, n, wide_in, pick, n_pick, false, value, err));
    if (bound == NULL)
        return KILN_OK;
    double *magnitude = kiln_array(scratch, double, n_pick);
    if (n->op->error_bound(n).kind == KILN_BOUND_DOT) {
        kiln_ref_make_absolute(n, wide_in);
        KILN_TRY(eval_picked(scratch, n, wide_in, pick, n_pick, true, magnitude, err));
    }
    bounds_of(n, value, magnitude, n_pick, bound);
    return KILN_OK;
}

static bool reads_f32(const kiln_node *n) {
    for (int k = 0; k < n->n_in; k++)
        if (n->in[k] != NULL && n->in[k]->type.dtype != KILN_F32)
            return false;
    return true;
}

/* As pick_wide, from the inputs as they are. */
static kiln_status pick_f32(kiln_arena *scratch, const kiln_node *n,
                            const kiln_tensor *in, const int64_t *pick, int64_t n_pick,
                            double *value, double *bound, kiln_err *err) {
    const void **data = kiln_array(scratch, const void *, n->n_in);
    double *magnitude = kiln_array(scratch, double, n_pick);
    KILN_TRY(kiln_ref_check_type(&n->out[0]->type, "value", n->out[0]->name, err));
    for (int k = 0; k < n->n_in; k++) {
        if (n->in[k] == NULL)
            continue;
        KILN_TRY(kiln_ref_check_input(n, k, &in[k], err));
        data[k] = in[k].data;
    }
    const kiln_pick_cx cx = {.scratch = scratch,
                             .in = data,
                             .pick = pick,
                             .n_pick = n_pick,
                             .value = value,
                             .magnitude = magnitude,
                             .err = err};
    const kiln_status st = n->op->pick_f32(n, &cx);
    if (st != KILN_OK)
        kiln_note(err, "evaluating %s '%s'", n->op->name, n->name);
    else if (bound != NULL)
        bounds_of(n, value, magnitude, n_pick, bound);
    return st;
}

kiln_status kiln_ref_pick(kiln_arena *scratch, const kiln_node *n,
                          const kiln_tensor *in, const int64_t *pick, int64_t n_pick,
                          double *out, double *bound, kiln_err *err) {
    const int64_t n_elems = kiln_type_elems(&n->out[0]->type);
    for (int64_t j = 0; j < n_pick; j++)
        KILN_ASSERT(pick[j] >= 0 && pick[j] < n_elems,
                    "element %lld of '%s' has no place", (long long)pick[j],
                    n->out[0]->name);
    const kiln_arena_mark mark = kiln_arena_save(scratch);
    double *value = kiln_array(scratch, double, n_pick);
    const bool is_direct = n->op->pick_f32 != NULL && reads_f32(n);
    const kiln_status st = (is_direct ? pick_f32 : pick_wide)(
        scratch, n, in, pick, n_pick, value, bound, err);
    for (int64_t j = 0; st == KILN_OK && j < n_pick; j++)
        out[j] = value[j];
    kiln_arena_rewind(scratch, mark);
    return st;
}
