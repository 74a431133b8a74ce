/* Numbers of TorchScript: Python's arithmetic, with torch's few differences (2 ** 3 is a
 * float). Source: torch/csrc/jit/runtime/register_prim_ops.cpp. */
#include <math.h>
#include <string.h>

#include "compiler/frontend/pytorch/script/script_builtin.h"

static bool are_numbers(const kiln_script_call *k) {
    for (size_t i = 0; i < k->n; i++)
        if (!kiln_script_is_number(&k->v[i]))
            return false;
    return true;
}

static bool are_ints(const kiln_script_call *k) {
    for (size_t i = 0; i < k->n; i++)
        if (k->v[i].kind != KILN_SCRIPT_V_INT && k->v[i].kind != KILN_SCRIPT_V_BOOL)
            return false;
    return true;
}

static kiln_status give_int(kiln_script_call *k, int64_t i) {
    return kiln_script_give(k, kiln_script_of_int(i));
}
static kiln_status give_float(kiln_script_call *k, double f) {
    return kiln_script_give(k, kiln_script_of_float(f));
}
static kiln_status give_bool(kiln_script_call *k, bool b) {
    return kiln_script_give(k, kiln_script_of_bool(b));
}

static kiln_status overflow(kiln_script_call *k) {
    return kiln_script_fail(k->cx, KILN_ERR_LIMIT,
                            "an integer needs more than 64 bits");
}

static double x_of(const kiln_script_call *k) { return kiln_script_as_float(&k->v[0]); }
static double y_of(const kiln_script_call *k) { return kiln_script_as_float(&k->v[1]); }

/* ---- arithmetic ---------------------------------------------------------------------- */

kiln_status kiln_script_builtin_add(kiln_script_call *k) {
    const kiln_script_value *const x = &k->v[0], *const y = &k->v[1];
    kiln_script_value list;
    int64_t i;
    if (x->kind == KILN_SCRIPT_V_TEXT && y->kind == KILN_SCRIPT_V_TEXT) {
        KILN_TRY(kiln_script_spend(k->cx, x->s.n + y->s.n));
        return kiln_script_give(
            k, (kiln_script_value){.kind = KILN_SCRIPT_V_TEXT,
                                   .s = kiln_str_from(kiln_format(
                                       &k->cx->common.scratch, "%.*s%.*s",
                                       KILN_STR_ARG(x->s), KILN_STR_ARG(y->s)))});
    }
    if (kiln_script_is_list(x) && x->kind == y->kind) {
        KILN_TRY(kiln_script_join(k, x, y, 1, &list));
        return kiln_script_give(k, list);
    }
    if (!are_numbers(k))
        return kiln_script_leave(k);
    if (!are_ints(k))
        return give_float(k, x_of(k) + y_of(k));
    return __builtin_add_overflow(x->i, y->i, &i) ? overflow(k) : give_int(k, i);
}

kiln_status kiln_script_builtin_sub(kiln_script_call *k) {
    int64_t i;
    if (!are_numbers(k))
        return kiln_script_leave(k);
    if (!are_ints(k))
        return give_float(k, x_of(k) - y_of(k));
    return __builtin_sub_overflow(k->v[0].i, k->v[1].i, &i) ? overflow(k)
                                                            : give_int(k, i);
}

kiln_status kiln_script_builtin_mul(kiln_script_call *k) {
    kiln_script_value list;
    int64_t i;
    for (size_t at = 0; at < 2; at++)
        if (kiln_script_is_list(&k->v[at]) && k->v[1 - at].kind == KILN_SCRIPT_V_INT) {
            const int64_t times = k->v[1 - at].i;
            KILN_TRY(kiln_script_join(k, &k->v[at], NULL, times > 0 ? (size_t)times : 0,
                                      &list));
            return kiln_script_give(k, list);
        }
    if (!are_numbers(k))
        return kiln_script_leave(k);
    if (!are_ints(k))
        return give_float(k, x_of(k) * y_of(k));
    return __builtin_mul_overflow(k->v[0].i, k->v[1].i, &i) ? overflow(k)
                                                            : give_int(k, i);
}

static kiln_status check_divisor(kiln_script_call *k) {
    if (y_of(k) == 0)
        return kiln_script_fail(k->cx, KILN_ERR_SHAPE, "the code divides by zero");
    return KILN_OK;
}

kiln_status kiln_script_builtin_div(kiln_script_call *k) {
    if (!are_numbers(k))
        return kiln_script_leave(k);
    KILN_TRY(check_divisor(k));
    return give_float(k, x_of(k) / y_of(k));
}

/* Towards minus infinity; the remainder has the divisor's sign. */
static int64_t floor_div(int64_t x, int64_t y) {
    const int64_t q = x / y;
    return q - (x % y != 0 && (x % y < 0) != (y < 0));
}

kiln_status kiln_script_builtin_floordiv(kiln_script_call *k) {
    if (!are_numbers(k))
        return kiln_script_leave(k);
    KILN_TRY(check_divisor(k));
    if (!are_ints(k))
        return give_float(k, floor(x_of(k) / y_of(k)));
    if (k->v[0].i == INT64_MIN && k->v[1].i == -1)
        return overflow(k);
    return give_int(k, floor_div(k->v[0].i, k->v[1].i));
}

kiln_status kiln_script_builtin_remainder(kiln_script_call *k) {
    if (!are_numbers(k))
        return kiln_script_leave(k);
    KILN_TRY(check_divisor(k));
    if (!are_ints(k))
        return give_float(k, x_of(k) - y_of(k) * floor(x_of(k) / y_of(k)));
    if (k->v[1].i == -1)
        return give_int(k, 0);
    return give_int(k, k->v[0].i - k->v[1].i * floor_div(k->v[0].i, k->v[1].i));
}

kiln_status kiln_script_builtin_fmod(kiln_script_call *k) {
    if (!are_numbers(k))
        return kiln_script_leave(k);
    KILN_TRY(check_divisor(k));
    return give_float(k, fmod(x_of(k), y_of(k)));
}

kiln_status kiln_script_builtin_pow(kiln_script_call *k) {
    return are_numbers(k) ? give_float(k, pow(x_of(k), y_of(k))) : kiln_script_leave(k);
}

kiln_status kiln_script_builtin_neg(kiln_script_call *k) {
    if (!are_numbers(k))
        return kiln_script_leave(k);
    if (!are_ints(k))
        return give_float(k, -x_of(k));
    return k->v[0].i == INT64_MIN ? overflow(k) : give_int(k, -k->v[0].i);
}

kiln_status kiln_script_builtin_abs(kiln_script_call *k) {
    if (!are_numbers(k))
        return kiln_script_leave(k);
    if (!are_ints(k))
        return give_float(k, fabs(x_of(k)));
    return k->v[0].i == INT64_MIN ? overflow(k)
                                  : give_int(k, k->v[0].i < 0 ? -k->v[0].i : k->v[0].i);
}

/* ---- functions of real numbers --------------------------------------------------------- */

#define REAL(name, expression)                                                         \
    kiln_status kiln_script_builtin_##name(kiln_script_call *k) {                      \
        return are_numbers(k) ? give_float(k, expression) : kiln_script_leave(k);      \
    }
REAL(sqrt, sqrt(x_of(k)))
REAL(exp, exp(x_of(k)))
REAL(log2, log2(x_of(k)))
REAL(sin, sin(x_of(k)))
REAL(cos, cos(x_of(k)))
REAL(log, k->n == 2 ? log(x_of(k)) / log(y_of(k)) : log(x_of(k)))
REAL(round, nearbyint(x_of(k)))
#undef REAL

/* The integer next to a number. */
static kiln_status whole(kiln_script_call *k, double f) {
    if (!(fabs(f) < 9e18))
        return overflow(k);
    return give_int(k, (int64_t)f);
}

kiln_status kiln_script_builtin_floor(kiln_script_call *k) {
    if (!are_numbers(k))
        return kiln_script_leave(k);
    return are_ints(k) ? give_int(k, k->v[0].i) : whole(k, floor(x_of(k)));
}

kiln_status kiln_script_builtin_ceil(kiln_script_call *k) {
    if (!are_numbers(k))
        return kiln_script_leave(k);
    return are_ints(k) ? give_int(k, k->v[0].i) : whole(k, ceil(x_of(k)));
}

/* ---- comparisons ----------------------------------------------------------------- */

static bool has_tensor(const kiln_script_call *k) {
    for (size_t i = 0; i < k->n; i++)
        if (k->v[i].kind == KILN_SCRIPT_V_TENSOR)
            return true;
    return false;
}

kiln_status kiln_script_builtin_eq(kiln_script_call *k) {
    return has_tensor(k) ? kiln_script_leave(k)
                         : give_bool(k, kiln_script_equal(&k->v[0], &k->v[1]));
}

kiln_status kiln_script_builtin_ne(kiln_script_call *k) {
    return has_tensor(k) ? kiln_script_leave(k)
                         : give_bool(k, !kiln_script_equal(&k->v[0], &k->v[1]));
}

#define COMPARE(name, op)                                                              \
    kiln_status kiln_script_builtin_##name(kiln_script_call *k) {                      \
        if (!are_numbers(k))                                                           \
            return kiln_script_leave(k);                                               \
        return give_bool(k,                                                            \
                         are_ints(k) ? k->v[0].i op k->v[1].i : x_of(k) op y_of(k));   \
    }
COMPARE(lt, <)
COMPARE(gt, >)
COMPARE(le, <=)
COMPARE(ge, >=)
#undef COMPARE

/* ---- bits ------------------------------------------------------------------------ */

kiln_status kiln_script_builtin_not(kiln_script_call *k) {
    bool is_true;
    KILN_TRY(kiln_script_truth(k->cx, &k->v[0], &is_true));
    return give_bool(k, !is_true);
}

static bool are_bools(const kiln_script_call *k) {
    return k->v[0].kind == KILN_SCRIPT_V_BOOL && k->v[1].kind == KILN_SCRIPT_V_BOOL;
}

#define BITS(name, op)                                                                 \
    kiln_status kiln_script_builtin_##name(kiln_script_call *k) {                      \
        if (!are_ints(k))                                                              \
            return kiln_script_leave(k);                                               \
        const int64_t i = k->v[0].i op k->v[1].i;                                      \
        return are_bools(k) ? give_bool(k, i != 0) : give_int(k, i);                   \
    }
BITS(and, &)
BITS(or, |)
BITS(xor, ^)
#undef BITS

static bool may_shift(const kiln_script_call *k) {
    return are_ints(k) && k->v[0].i >= 0 && k->v[1].i >= 0 && k->v[1].i < 32 &&
           k->v[0].i <= INT32_MAX;
}

kiln_status kiln_script_builtin_shift_left(kiln_script_call *k) {
    return may_shift(k) ? give_int(k, k->v[0].i << k->v[1].i) : kiln_script_leave(k);
}

kiln_status kiln_script_builtin_shift_right(kiln_script_call *k) {
    return may_shift(k) ? give_int(k, k->v[0].i >> k->v[1].i) : kiln_script_leave(k);
}

kiln_status kiln_script_builtin_bitwise_not(kiln_script_call *k) {
    return are_ints(k) ? give_int(k, ~k->v[0].i) : kiln_script_leave(k);
}

/* ---- of several ------------------------------------------------------------------ */

/* The smallest or largest of two numbers, or of a list of them. */
static kiln_status extreme(kiln_script_call *k, bool is_max) {
    const kiln_script_value *v = k->v;
    size_t n = k->n;
    if (n == 1) {
        if (!kiln_script_is_list(&k->v[0]))
            return kiln_script_leave(k);
        v = k->v[0].list->item.v;
        n = k->v[0].list->item.n;
    }
    if (n == 0)
        return kiln_script_wrong(k, 0, "a list that is not empty");
    const kiln_script_value *best = v;
    for (size_t i = 0; i < n; i++) {
        if (!kiln_script_is_number(&v[i]))
            return kiln_script_leave(k);
        const double x = kiln_script_as_float(&v[i]), b = kiln_script_as_float(best);
        if (is_max ? x > b : x < b)
            best = &v[i];
    }
    return kiln_script_give(k, *best);
}

kiln_status kiln_script_builtin_min(kiln_script_call *k) { return extreme(k, false); }
kiln_status kiln_script_builtin_max(kiln_script_call *k) { return extreme(k, true); }

kiln_status kiln_script_builtin_sum(kiln_script_call *k) {
    int64_t i = 0;
    double f = 0;
    bool is_float = false;
    if (!kiln_script_is_list(&k->v[0]))
        return kiln_script_leave(k);
    for (size_t at = 0; at < k->v[0].list->item.n; at++) {
        const kiln_script_value *const v = &k->v[0].list->item.v[at];
        if (!kiln_script_is_number(v))
            return kiln_script_leave(k);
        is_float = is_float || v->kind == KILN_SCRIPT_V_FLOAT;
        f += kiln_script_as_float(v);
        if (!is_float && __builtin_add_overflow(i, v->i, &i))
            return overflow(k);
    }
    return is_float ? give_float(k, f) : give_int(k, i);
}

static kiln_status any_or_all(kiln_script_call *k, bool is_any) {
    if (!kiln_script_is_list(&k->v[0]))
        return kiln_script_leave(k);
    for (size_t i = 0; i < k->v[0].list->item.n; i++) {
        bool is_true;
        KILN_TRY(kiln_script_truth(k->cx, &k->v[0].list->item.v[i], &is_true));
        if (is_true == is_any)
            return give_bool(k, is_any);
    }
    return give_bool(k, !is_any);
}

kiln_status kiln_script_builtin_any(kiln_script_call *k) { return any_or_all(k, true); }
kiln_status kiln_script_builtin_all(kiln_script_call *k) {
    return any_or_all(k, false);
}
