/* sum4: c[j] += sum over k < 4 of a[k], bytes into 32 bits: what dot4 is of ones. It
 * sums up what a product with zero points takes off again. */
#include "compiler/loop/tensor_intrin.h"

enum { DEPTH = 4 };

static const kiln_te *declare(kiln_arena *a, int lanes, kiln_dtype dtype) {
    const kiln_te *x = kiln_te_placeholder(a, "a", dtype, 1, (int64_t[]){DEPTH});
    kiln_te *c = kiln_te_begin(a, "c", 1, (int64_t[]){lanes});
    const kiln_axis *k = kiln_te_reduce_axis(c, "k", DEPTH);
    const kiln_expr *at = kiln_axis_var(a, k);
    const kiln_expr *sum =
        kiln_te_sum(c, kiln_x_cast(a, KILN_I32, kiln_te_read(a, x, &at)), &k, 1);
    kiln_err err = {0};
    const kiln_status status = kiln_te_end(c, 1, &sum, &err);
    KILN_ASSERT(status == KILN_OK, "sum4 does not declare itself");
    return c;
}

/* Ones of the other sign: no code generator needs to mend such a product. */
static const kiln_stmt *update(kiln_arena *a, int lanes, const kiln_tensor_operand *in,
                               const kiln_tensor_operand *out) {
    const kiln_expr *at = kiln_x_ramp(a, in->at, kiln_x_index(a, 1), DEPTH);
    const kiln_expr *four = kiln_x_load(a, in->buffer, &at, 1, NULL);
    const kiln_dtype other = four->dtype == KILN_U8 ? KILN_I8 : KILN_U8;
    int *lane = kiln_array(a, int, DEPTH *lanes);
    for (int i = 0; i < DEPTH * lanes; i++)
        lane[i] = i % DEPTH;
    at = kiln_x_ramp(a, out->at, kiln_x_index(a, 1), lanes);
    const kiln_expr *arg[3] = {
        kiln_x_load(a, out->buffer, &at, 1, NULL),
        kiln_x_shuffle(a, &four, 1, lane, DEPTH * lanes),
        kiln_x_broadcast(a, kiln_x_int(a, other, 1), DEPTH * lanes)};
    return kiln_s_store(a, out->buffer, &at, kiln_x_call(a, KILN_INTRIN_dot4, arg),
                        NULL);
}

#define SUM4(name_, dtype, doc_)                                                       \
    static const kiln_te *declare_##name_(kiln_arena *a, int lanes) {                  \
        return declare(a, lanes, dtype);                                               \
    }                                                                                  \
    const kiln_tensor_intrin kiln_tensor_##name_ = {                                   \
        .name = #name_, .doc = doc_, .declare = declare_##name_, .update = update}

SUM4(sum4_s8, KILN_I8, "c[j] += sum(k < 4) i32(a[k]), i8");
SUM4(sum4_u8, KILN_U8, "c[j] += sum(k < 4) i32(a[k]), u8");
