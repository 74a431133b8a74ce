/* dot4: c[j] += sum over k < 4 of a[k] * b[j, k], bytes into 32 bits, exact.
 *
 * vpdpbusd (AVX512-VNNI, AVX-VNNI), sdot / udot (Arm dot product), and on targets
 * without them widened multiply-adds that cannot saturate: the code generator chooses
 * by profile, for every pair of signs. `b` is a weight packed so that the 4 bytes of a
 * lane lie together: layout blocks [..., 4 of k] innermost, behind the lanes. */
#include "compiler/loop/tensor_intrin.h"

enum { DEPTH = 4 };

static const kiln_te *declare(kiln_arena *a, int lanes, kiln_dtype ta, kiln_dtype tb) {
    const kiln_te *x = kiln_te_placeholder(a, "a", ta, 1, (int64_t[]){DEPTH});
    const kiln_te *y = kiln_te_placeholder(a, "b", tb, 2, (int64_t[]){lanes, DEPTH});
    kiln_te *c = kiln_te_begin(a, "c", 1, (int64_t[]){lanes});
    const kiln_axis *k = kiln_te_reduce_axis(c, "k", DEPTH);
    const kiln_expr *at[2] = {kiln_te_var(c, 0), kiln_axis_var(a, k)};
    const kiln_expr *product =
        kiln_x_mul(a, kiln_x_cast(a, KILN_I32, kiln_te_read(a, x, at + 1)),
                   kiln_x_cast(a, KILN_I32, kiln_te_read(a, y, at)));
    const kiln_expr *sum = kiln_te_sum(c, product, &k, 1);
    kiln_err err = {0};
    const kiln_status status = kiln_te_end(c, 1, &sum, &err);
    KILN_ASSERT(status == KILN_OK, "dot4 does not declare itself");
    return c;
}

static const kiln_expr *load(kiln_arena *a, const kiln_tensor_operand *o, int lanes) {
    const kiln_expr *at = kiln_x_ramp(a, o->at, kiln_x_index(a, 1), lanes);
    return kiln_x_load(a, o->buffer, &at, 1, NULL);
}

static const kiln_stmt *update(kiln_arena *a, int lanes, const kiln_tensor_operand *in,
                               const kiln_tensor_operand *out) {
    const kiln_expr *four = load(a, &in[0], DEPTH);
    int *lane = kiln_array(a, int, DEPTH *lanes);
    for (int i = 0; i < DEPTH * lanes; i++)
        lane[i] = i % DEPTH;
    const kiln_expr *arg[3] = {load(a, out, lanes),
                               kiln_x_shuffle(a, &four, 1, lane, DEPTH * lanes),
                               load(a, &in[1], DEPTH * lanes)};
    const kiln_expr *at = kiln_x_ramp(a, out->at, kiln_x_index(a, 1), lanes);
    return kiln_s_store(a, out->buffer, &at, kiln_x_call(a, KILN_INTRIN_dot4, arg),
                        NULL);
}

#define DOT4(name_, ta, tb, doc_)                                                      \
    static const kiln_te *declare_##name_(kiln_arena *a, int lanes) {                  \
        return declare(a, lanes, ta, tb);                                              \
    }                                                                                  \
    const kiln_tensor_intrin kiln_tensor_##name_ = {                                   \
        .name = #name_, .doc = doc_, .declare = declare_##name_, .update = update}

DOT4(dot4_s8s8, KILN_I8, KILN_I8, "c[j] += sum(k < 4) i32(a[k]) * i32(b[j, k]), i8");
DOT4(dot4_u8s8, KILN_U8, KILN_I8,
     "c[j] += sum(k < 4) i32(a[k]) * i32(b[j, k]), u8, i8");
DOT4(dot4_u8u8, KILN_U8, KILN_U8, "c[j] += sum(k < 4) i32(a[k]) * i32(b[j, k]), u8");
