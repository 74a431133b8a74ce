/* Integer arithmetic of quantised operators: see quant.h. */
#include "compiler/frontend/tflite/quant.h"

#include <math.h>

/* ---- multipliers -------------------------------------------------------------------- */

kiln_tflite_fixed kiln_tflite_fixed_of(double real) {
    kiln_tflite_fixed f = {0, 0};
    KILN_ASSERT(isfinite(real), "a multiplier of %g", real);
    if (real == 0)
        return f;
    f.multiplier = (int64_t)round(frexp(real, &f.shift) * 0x1p31);
    if (f.multiplier == INT64_C(1) << 31) {
        f.multiplier /= 2;
        f.shift++;
    }
    if (f.shift < -31)
        return (kiln_tflite_fixed){0, 0};
    if (f.shift > 30)
        return (kiln_tflite_fixed){real > 0 ? INT32_MAX : -(int64_t)INT32_MAX, 30};
    return f;
}

/* What the shifts are told, for each multiplier. */
typedef struct constants {
    kiln_value *factor; /* multiplier, with shifts to the left */
    kiln_value *right;  /* shifts to the right; NULL: there are none */
    kiln_value *before; /* added before the shift: half, and what keeps it positive */
    kiln_value *after;  /* taken off behind it */
    kiln_value *rounds; /* 1 where there is a shift; NULL: everywhere */
} constants;

/* Numbers pass through unsigned shifts with this on top, which every shift divides. */
static const int64_t lift = INT64_C(1) << 40;

static constants make_constants(kiln_compose *c, const kiln_tflite_fixed *f, size_t n,
                                int rank, const int64_t *dim) {
    constants k = {NULL, NULL, NULL, NULL, NULL};
    int64_t *const v = kiln_array(&c->cx->scratch, int64_t, 5 * n);
    int64_t *const right = v + n, *const before = right + n, *const after = before + n;
    int64_t *const rounds = after + n;
    bool some = false, all = true;
    KILN_ASSERT(n > 0 && rank <= KILN_MAX_RANK, "%zu multipliers", n);
    for (size_t i = 0; i < n; i++) {
        KILN_ASSERT(f[i].shift >= -31 && f[i].shift <= 30, "a shift by %d", f[i].shift);
        const int left = f[i].shift > 0 ? f[i].shift : 0;
        right[i] = f[i].shift < 0 ? -f[i].shift : 0;
        v[i] = f[i].multiplier * (INT64_C(1) << left);
        rounds[i] = right[i] > 0;
        before[i] = lift - (INT64_C(1) << 31);
        before[i] += right[i] > 0 ? INT64_C(1) << (right[i] - 1) : 0;
        after[i] = lift >> right[i];
        some = some || right[i] > 0;
        all = all && right[i] > 0;
    }
    k.factor = kiln_compose_ints(c, rank, dim, v);
    if (!some)
        return k;
    k.right = kiln_compose_cast(c, kiln_compose_ints(c, rank, dim, right), KILN_U64);
    k.before = kiln_compose_ints(c, rank, dim, before);
    k.after = kiln_compose_ints(c, rank, dim, after);
    k.rounds = all ? NULL : kiln_compose_ints(c, rank, dim, rounds);
    return k;
}

/* x is not negative as i64. */
static kiln_value *shift_right(kiln_compose *c, kiln_value *x, kiln_value *by) {
    kiln_value *const in[] = {kiln_compose_cast(c, x, KILN_U64), by};
    const kiln_attr_arg right = kiln_arg_word("direction", "right");
    x = kiln_compose_op(c, &kiln_op_bit_shift, in, 2, &right, 1);
    return kiln_compose_cast(c, x, KILN_I64);
}

/* The doubled product's high half: floor((x * m + 2^30) / 2^31), lifted by 2^31 so that
 * the shift sees no sign. Then for shifts to the right floor((q + half - (q < 0)) / 2^e),
 * which rounds half away from zero. */
kiln_value *kiln_tflite_multiply_fixed(kiln_compose *c, kiln_value *x,
                                       const kiln_tflite_fixed *f, size_t n, int rank,
                                       const int64_t *dim) {
    const double two_31 = 0x1p31;
    const constants k = make_constants(c, f, n, rank, dim);
    x = kiln_compose_2(c, &kiln_op_mul, kiln_compose_cast(c, x, KILN_I64), k.factor);
    x = kiln_compose_scalar(c, &kiln_op_add, x, 0x1p62 + 0x1p30);
    x = shift_right(c, x, kiln_import_scalar(c->cx, KILN_U64, 31));
    if (k.right == NULL)
        return kiln_compose_scalar(c, &kiln_op_sub, x, two_31);
    kiln_value *below = kiln_compose_cast(
        c, kiln_compose_scalar(c, &kiln_op_less, x, two_31), KILN_I64);
    if (k.rounds != NULL)
        below = kiln_compose_2(c, &kiln_op_mul, below, k.rounds);
    x = kiln_compose_2(c, &kiln_op_add, x, k.before);
    x = kiln_compose_2(c, &kiln_op_sub, x, below);
    x = shift_right(c, x, k.right);
    return kiln_compose_2(c, &kiln_op_sub, x, k.after);
}

/* ---- operands and results ------------------------------------------------------------ */

kiln_value *kiln_tflite_centered(kiln_compose *c, kiln_value *x,
                                 const kiln_tflite_scale *q) {
    x = kiln_compose_cast(c, x, KILN_I32);
    return q->zero == 0 ? x : kiln_compose_scalar(c, &kiln_op_sub, x, (double)q->zero);
}

/* A bound of an activation as an integer: f32 division, half rounded away from zero. */
static int64_t bound_of(const kiln_tflite_scale *q, float v) {
    KILN_ASSERT(q->scale > 0, "steps of %g", q->scale);
    return q->zero + (int64_t)roundf(v / (float)q->scale);
}

static int64_t larger(int64_t x, int64_t y) { return x > y ? x : y; }
static int64_t smaller(int64_t x, int64_t y) { return x < y ? x : y; }

kiln_status kiln_tflite_target_of(kiln_tflite_cx *cx, int output, int64_t activation,
                                  kiln_tflite_target *out) {
    const kiln_tflite_tensor *const t = kiln_tflite_out_tensor(cx, output);
    KILN_TRY(kiln_tflite_scale_of(cx, t, &out->q));
    KILN_TRY(kiln_tflite_dtype(t->type, &out->dtype, cx->common.err));
    const kiln_dtype_info *const info = kiln_dtype_get(out->dtype);
    out->low = info->min_i;
    out->high = info->max_i;
    switch ((kiln_tflite_activation)activation) {
    case KILN_TFLITE_NONE:
        return KILN_OK;
    case KILN_TFLITE_RELU:
        out->low = larger(out->low, bound_of(&out->q, 0));
        return KILN_OK;
    case KILN_TFLITE_RELU6:
        out->low = larger(out->low, bound_of(&out->q, 0));
        out->high = smaller(out->high, bound_of(&out->q, 6));
        return KILN_OK;
    case KILN_TFLITE_RELU_N1_TO_1:
        out->low = larger(out->low, bound_of(&out->q, -1));
        out->high = smaller(out->high, bound_of(&out->q, 1));
        return KILN_OK;
    case KILN_TFLITE_TANH:
    case KILN_TFLITE_SIGN_BIT:
        break;
    }
    return kiln_tflite_fail(cx, KILN_ERR_UNSUPPORTED,
                            "this fused activation is not read of quantised tensors");
}

kiln_value *kiln_tflite_settle(kiln_compose *c, kiln_value *x,
                               const kiln_tflite_target *t) {
    if (t->q.zero != 0)
        x = kiln_compose_scalar(c, &kiln_op_add, x, (double)t->q.zero);
    x = kiln_tflite_clip(c, x, (double)t->low, (double)t->high);
    return kiln_compose_cast(c, x, t->dtype);
}

static kiln_value *requantize_twice(kiln_compose *c, kiln_value *x, const double *by,
                                    size_t n, int rank, const int64_t *dim,
                                    const kiln_tflite_target *t) {
    kiln_tflite_fixed *const f = kiln_array(&c->cx->scratch, kiln_tflite_fixed, n);
    for (size_t i = 0; i < n; i++)
        f[i] = kiln_tflite_fixed_of(by[i]);
    return kiln_tflite_settle(c, kiln_tflite_multiply_fixed(c, x, f, n, rank, dim), t);
}

/* The range holds before rounding: its ends are integers. */
kiln_value *kiln_tflite_requantize(kiln_compose *c, kiln_value *x, const double *by,
                                   size_t n, int rank, const int64_t *dim,
                                   const kiln_tflite_target *t) {
    if (kiln_tflite_as_reference(kiln_tflite_of(c->cx)))
        return requantize_twice(c, x, by, n, rank, dim, t);
    x = kiln_compose_2(c, &kiln_op_mul, kiln_compose_cast(c, x, KILN_F32),
                       kiln_compose_floats(c, KILN_F32, rank, dim, by));
    x = kiln_tflite_clip(c, x, (double)(t->low - t->q.zero),
                         (double)(t->high - t->q.zero));
    x = kiln_compose_1(c, &kiln_op_round, x);
    if (t->q.zero != 0)
        x = kiln_compose_scalar(c, &kiln_op_add, x, (double)t->q.zero);
    return kiln_compose_cast(c, x, t->dtype);
}

/* Likewise: what is held is whole before and after. */
kiln_value *kiln_tflite_requantize_once(kiln_compose *c, kiln_value *x,
                                        const double *by, int rank, const int64_t *dim,
                                        const kiln_tflite_target *t) {
    x = kiln_compose_2(c, &kiln_op_mul, kiln_compose_cast(c, x, KILN_F64),
                       kiln_compose_floats(c, KILN_F64, rank, dim, by));
    x = kiln_tflite_clip(c, x, (double)(t->low - t->q.zero),
                         (double)(t->high - t->q.zero));
    x = kiln_compose_cast(c, kiln_tflite_round_away(c, x), KILN_I32);
    return kiln_tflite_settle(c, x, t);
}

bool kiln_tflite_as_reference(const kiln_tflite_cx *cx) {
    return cx->options->as_reference;
}

static bool is_of_one_scale(const kiln_tflite_tensor *t) {
    return t != NULL && kiln_tflite_is_quantized(t) && t->quantization->n_scale == 1;
}

bool kiln_tflite_is_8_bit(const kiln_tflite_cx *cx, int n) {
    enum { UINT8 = 3, INT8 = 9 };
    const kiln_tflite_tensor *const y = kiln_tflite_out_tensor(cx, 0);
    const kiln_tflite_tensor *const x = kiln_tflite_in_tensor(cx, 0);
    if (!is_of_one_scale(y) || x == NULL || x->type != y->type)
        return false;
    for (int i = 0; i < n; i++) {
        const kiln_tflite_tensor *const t = kiln_tflite_in_tensor(cx, i);
        if (!is_of_one_scale(t) || (t->type != UINT8 && t->type != INT8))
            return false;
    }
    return true;
}

/* ---- rows --------------------------------------------------------------------------- */

static const struct {
    int64_t code;
    kiln_tflite_quant_import import;
} rows[] = {
#define KILN_TFLITE_QUANT(code, name, import) {code, kiln_tflite_quant_##import},
#include "compiler/frontend/tflite/tflite_quant.def"
#undef KILN_TFLITE_QUANT
};

kiln_tflite_quant_import kiln_tflite_find_quant(int64_t code) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].code == code)
            return rows[i].import;
    return NULL;
}
