/* Conversions of floats of 8 and 4 bits as compiled, bit for bit: every code to f32,
 * and to each format, saturated and not, every f16, f32 patterns from all over and
 * around ties, and wide integers. base/arithmetic/low_float.c says what is right; its own test
 * holds it to an oracle. */
#include "compiler/graph/graph.h"
#include "pipeline/network/network.h"
#include "tests/support/kiln_test.h"
#include "tests/support/graph/network_open.h"
#include "compiler/reference/reference.h"

#include <math.h>
#include <string.h>

enum { MAX_OUTS = 24, N_CODES = 256 };

typedef struct way {
    kiln_dtype to;
    bool saturate;
    int round;
} way;

static const char *const rounds[] = {"up", "down", "nearest"};

/* Every format, saturated and not; roundings of powers of two. */
static int all_ways(way *out) {
    int n = 0;
    for (int d = KILN_F8E4M3FN; d <= KILN_F4E2M1; d++)
        for (int saturate = 0; saturate < 2; saturate++)
            for (int r = 0; r < (d == KILN_F8E8M0 ? 3 : 1); r++)
                out[n++] = (way){(kiln_dtype)d, saturate != 0, r};
    return n;
}

/* ---- numbers ---- */

static float f32_of(uint32_t bits) {
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static kiln_tensor every_f16(kiln_arena *a) {
    const int64_t n = UINT16_MAX + 1;
    const kiln_type t = kiln_type_make(KILN_F16, 1, &n);
    const kiln_tensor x = kiln_tensor_new(a, &t);
    for (int64_t i = 0; i < n; i++)
        ((uint16_t *)x.data)[i] = (uint16_t)i;
    return x;
}

/* Patterns from all over, then around every value of every format and the middle to the
 * next one. */
static kiln_tensor many_f32(kiln_arena *a) {
    enum { SPREAD = 100000, STEP = 42949 };
    KILN_VEC(float) v = {0};
    for (uint32_t i = 0; i < SPREAD; i++)
        kiln_vec_push(a, &v, f32_of(i * STEP));
    for (int f = 0; f < KILN_N_LOW_FORMATS; f++) {
        for (int code = 0; code < N_CODES - 1; code++) {
            const double x = kiln_low_to_f64((kiln_low_format)f, (uint8_t)code);
            const double y = kiln_low_to_f64((kiln_low_format)f, (uint8_t)(code + 1));
            const float at[2] = {(float)x, (float)(x + (y - x) / 2)};
            for (int k = 0; k < 2; k++) {
                kiln_vec_push(a, &v, at[k]);
                kiln_vec_push(a, &v, nextafterf(at[k], 0));
                kiln_vec_push(a, &v, nextafterf(at[k], HUGE_VALF));
            }
        }
    }
    const int64_t n = (int64_t)v.n;
    return (kiln_tensor){kiln_type_make(KILN_F32, 1, &n), v.v};
}

static kiln_tensor many_f64(kiln_arena *a) {
    const kiln_tensor f = many_f32(a);
    const int64_t n = 3 * kiln_type_elems(&f.type);
    const kiln_type t = kiln_type_make(KILN_F64, 1, &n);
    const kiln_tensor x = kiln_tensor_new(a, &t);
    for (int64_t i = 0; i < n; i++) {
        const double v = (double)((const float *)f.data)[i / 3];
        ((double *)x.data)[i] = i % 3 == 0   ? v
                                : i % 3 == 1 ? nextafter(v, -HUGE_VAL)
                                             : nextafter(v, HUGE_VAL);
    }
    return x;
}

/* Around each power of two, of both signs; `dtype` is of 64 bits. */
static kiln_tensor wide_ints(kiln_arena *a, kiln_dtype dtype) {
    enum { AROUND = 5 };
    const int64_t n = (int64_t)64 * AROUND * 2;
    const kiln_type t = kiln_type_make(dtype, 1, &n);
    const kiln_tensor x = kiln_tensor_new(a, &t);
    uint64_t *v = x.data;
    for (int p = 0; p < 64; p++)
        for (int k = 0; k < AROUND; k++) {
            *v++ = (UINT64_C(1) << p) + (uint64_t)k - 2;
            *v++ = 0 - (UINT64_C(1) << p) - (uint64_t)k;
        }
    return x;
}

static kiln_tensor many_i64(kiln_arena *a) { return wide_ints(a, KILN_I64); }

static kiln_tensor many_u64(kiln_arena *a) { return wide_ints(a, KILN_U64); }

/* ---- running ---- */

typedef struct running {
    kiln_model *m;
    kiln_session *s;
} running;

static void stop(running r) {
    kiln_session_close(r.s);
    kiln_model_close(r.m);
}

/* One thread, this machine; outputs are the session's. */
static running run(kiln_arena *a, kiln_graph *g, const kiln_tensor *x) {
    kiln_err err = {0};
    kiln_profile p;
    kiln_network n;
    running r = {0};
    char error[KILN_ERROR_TEXT];
    kiln_assert_status_ok(kiln_profile_detect(a, &p, &err), &err);
    kiln_assert_status_ok(kiln_network_compile(a, g, &p, NULL, &n, &err), &err);
    kiln_assert_status_ok(kiln_test_network_open(a, &n, NULL, &r.m, &err), &err);
    r.s = kiln_session_open(r.m, NULL, error);
    assert_non_null(r.s);
    assert_int_equal(kiln_session_set_input(r.s, 0, x->data), 0);
    assert_int_equal(kiln_session_run(r.s), 0);
    return r;
}

static kiln_value *add(kiln_graph *g, const kiln_op_def *op, kiln_value *x,
                       const kiln_attr_arg *args, size_t n_args) {
    kiln_err err = {0};
    kiln_node *n = NULL;
    const kiln_node_spec spec = {
        .op = op, .in = &x, .n_in = 1, .args = args, .n_args = n_args};
    kiln_assert_status_ok(kiln_graph_add_node(g, &spec, &n, &err), &err);
    return n->out[0];
}

typedef struct source_row {
    const char *name;
    kiln_tensor (*make)(kiln_arena *a);
} source_row;

static source_row sources[] = {
    {"from_every_f16", every_f16},    {"from_many_f32", many_f32},
    {"from_many_f64", many_f64},      {"from_wide_signed_integers", many_i64},
    {"from_wide_integers", many_u64},
};

static void check_outputs(const way *w, const kiln_wide *x, const uint8_t *got) {
    const kiln_low_format format = kiln_dtype_low_format(w->to);
    for (int64_t i = 0; i < kiln_type_elems(&x->type); i++) {
        const double v =
            x->f != NULL ? x->f[i] : kiln_f64_from_int(x->type.dtype, w->to, x->i[i]);
        const uint8_t want =
            kiln_low_from_f64(format, v, w->saturate, (kiln_low_round)w->round);
        if (got[i] != want)
            fail_msg("%s of %a (saturate %d, %s) is 0x%02x, must be 0x%02x",
                     kiln_dtype_name(w->to), v, w->saturate, rounds[w->round], got[i],
                     want);
    }
}

static void check_source(void **state) {
    const source_row *r = *state;
    kiln_arena *a = kiln_test_arena();
    way ways[MAX_OUTS];
    const int n = all_ways(ways);
    const kiln_tensor x = r->make(a);
    kiln_graph *g = kiln_graph_new(a, r->name);
    kiln_value *in = kiln_graph_add_input(g, "x", &x.type);
    for (int i = 0; i < n; i++) {
        const kiln_attr_arg args[] = {kiln_arg_dtype("to", ways[i].to),
                                      kiln_arg_bool("saturate", ways[i].saturate),
                                      kiln_arg_word("round", rounds[ways[i].round])};
        kiln_graph_add_output(g, add(g, &kiln_op_cast_low, in, args, 3),
                              kiln_format(a, "y%d", i));
    }
    kiln_wide w = kiln_wide_new(a, &x.type);
    kiln_widen(&x.type, x.data, &w);
    const running now = run(a, g, &x);
    for (int i = 0; i < n; i++)
        check_outputs(&ways[i], &w, kiln_session_output(now.s, i));
    stop(now);
}

typedef struct code_row {
    const char *name;
    kiln_dtype dtype;
} code_row;

static code_row codes[] = {
    {"every_e4m3fn_to_f32", KILN_F8E4M3FN}, {"every_e4m3fnuz_to_f32", KILN_F8E4M3FNUZ},
    {"every_e5m2_to_f32", KILN_F8E5M2},     {"every_e5m2fnuz_to_f32", KILN_F8E5M2FNUZ},
    {"every_e8m0_to_f32", KILN_F8E8M0},     {"every_e2m1_to_f32", KILN_F4E2M1},
};

static void check_codes(void **state) {
    const code_row *r = *state;
    kiln_arena *a = kiln_test_arena();
    const int64_t n = (int64_t)1 << kiln_dtype_bits(r->dtype);
    const kiln_type t = kiln_type_make(r->dtype, 1, &n);
    const kiln_tensor x = kiln_tensor_new(a, &t);
    for (int64_t i = 0; i < n; i++)
        ((uint8_t *)x.data)[i] = (uint8_t)i;
    kiln_graph *g = kiln_graph_new(a, r->name);
    const kiln_attr_arg to = kiln_arg_dtype("to", KILN_F32);
    kiln_value *in = kiln_graph_add_input(g, "x", &t);
    kiln_graph_add_output(g, add(g, &kiln_op_cast, in, &to, 1), "y");
    const running now = run(a, g, &x);
    const float *got = kiln_session_output(now.s, 0);
    for (int64_t i = 0; i < n; i++) {
        const double want =
            kiln_low_to_f64(kiln_dtype_low_format(r->dtype), (uint8_t)i);
        assert_int_equal(isnan(got[i]) != 0, isnan(want) != 0);
        if (!isnan(want))
            assert_true((double)got[i] == want &&
                        (signbit(got[i]) != 0) == (signbit(want) != 0));
    }
    stop(now);
}

/* ---- moving ---- */

/* Everything that may move them, as bytes; a convolution beside brings a layout. */
static const char moves[] =
    "graph \"g\" { input %%x : %s[1,5,4,6] const %%i : i64[3] = {4, -5, 2} "
    "const %%j : i64[1,5,4,2] = {3 x 40} const %%c : i64[1,2] = {0, 3} "
    "%%a = transpose(%%x) {perm=[0,2,3,1]} %%b = reshape(%%a) {shape=[24,5]} "
    "%%d = gather(%%x, %%i) {axis=1} %%e, %%f = split(%%d) {axis=3, sizes=[2,4]} "
    "%%h = concat(%%e, %%f, %%d) {axis=3} %%k = slice(%%h) {starts=[0,0,3,1], "
    "steps=[1,1,-1,2], sizes=[1,3,4,5]} %%l = tile(%%k) {repeats=[2,1,1,1]} "
    "%%m = gather_elements(%%x, %%j) {axis=3} %%n = gather_nd(%%x, %%c) "
    "%%o = identity(%%x) %%p = expand(%%n) {shape=[2,4,6]} output %%b output %%l "
    "output %%m output %%o output %%p output %%f }";

static void check_moves(void **state) {
    const code_row *r = *state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_graph *g = NULL;
    const char *text = kiln_format(a, moves, kiln_dtype_name(r->dtype));
    kiln_assert_status_ok(kiln_graph_parse(a, kiln_str_from(text), "moves", &g, &err),
                          &err);
    const kiln_tensor x = kiln_ref_random(a, &g->inputs.v[0]->type, kiln_test_seed());
    kiln_tensor want[8];
    kiln_assert_status_ok(kiln_ref_run(a, g, &x, 1, want, &err), &err);
    const running now = run(a, g, &x);
    for (size_t i = 0; i < g->outputs.n; i++)
        assert_memory_equal(kiln_session_output(now.s, (int)i), want[i].data,
                            (size_t)kiln_type_bytes(&want[i].type));
    stop(now);
}

static code_row moved[] = {
    {"moves_e4m3fn", KILN_F8E4M3FN}, {"moves_e8m0", KILN_F8E8M0},
    {"moves_e2m1", KILN_F4E2M1},     {"moves_i4", KILN_I4},
    {"moves_u4", KILN_U4},           {"moves_i2", KILN_I2},
    {"moves_u2", KILN_U2},
};

int main(void) {
    kiln_test_add_rows(check_moves, moved);
    kiln_test_add_rows(check_codes, codes);
    kiln_test_add_rows(check_source, sources);
    return kiln_test_run("low_bit");
}
