/* The real libraries, where kiln was built with them, and the wheel of oneDNN 3 where it
 * is installed; the Arm Compute Library, by an emulator and at two threads alone: each
 * operator at one and two threads is what the reference says, or refused in the words of
 * a row. */
#include "pipeline/kernels/kernels_internal.h"
#include "tests/support/measuring/described.h"

#include <string.h>

typedef struct row {
    const char *name, *line;
    /* By oneDNN, by XNNPACK, by the Arm Compute Library; NULL: it has it. */
    const char *refused[3];
} row;

static row rows[] = {
    {"conv", "conv x h=14 ic=16 oc=32 k=3", {NULL, NULL, NULL}},
    {"conv_odd",
     "conv x h=9 w=13 ic=7 oc=17 kh=5 kw=1 sh=2 pad=2,0,1,0",
     {NULL, NULL, NULL}},
    {"conv_bias_relu",
     "conv x h=14 ic=16 oc=32 k=1 bias=yes act=relu",
     {NULL, NULL, NULL}},
    {"conv_sum_relu",
     "conv x h=14 ic=16 oc=16 k=3 bias=yes add=yes act=relu",
     {NULL, NULL, NULL}},
    {"conv_groups",
     "conv x h=8 ic=16 oc=32 k=3 groups=4 s=2",
     {NULL, NULL,
      "no such operator in the Arm Compute Library: groups of several channels"}},
    {"conv_dilated", "conv x h=17 w=11 ic=8 oc=4 k=3 d=2 bias=yes", {NULL, NULL, NULL}},
    {"conv_batch", "conv x n=3 h=6 ic=8 oc=8 k=3", {NULL, NULL, NULL}},
    {"conv_sigmoid", "conv x h=6 ic=8 oc=8 k=1 act=sigmoid", {NULL, NULL, NULL}},
    {"conv_hard_swish", "conv x h=6 ic=8 oc=8 k=1 act=hard_swish", {NULL, NULL, NULL}},
    {"conv_leaky_relu", "conv x h=6 ic=8 oc=8 k=1 act=leaky_relu", {NULL, NULL, NULL}},
    {"conv_elu", "conv x h=6 ic=8 oc=8 k=1 act=elu", {NULL, NULL, NULL}},
    {"conv_tanh",
     "conv x h=6 ic=8 oc=8 k=1 act=tanh",
     {NULL, "no such operator in XNNPACK: tanh", NULL}},
    {"conv_swish",
     "conv x h=6 ic=8 oc=8 k=1 act=swish",
     {NULL, "no such operator in XNNPACK: swish",
      "no such operator in the Arm Compute Library: swish"}},
    {"depthwise", "dw x h=12 c=24 k=3 s=2 bias=yes act=relu", {NULL, NULL, NULL}},
    {"depthwise_multiplied", "dw x h=8 c=8 m=2 k=5", {NULL, NULL, NULL}},
    {"matmul", "matmul x m=33 k=65 n=17 bias=yes act=relu", {NULL, NULL, NULL}},
    {"matmul_sum", "matmul x m=33 k=65 n=17 add=yes", {NULL, NULL, NULL}},
    {"matmul_row", "matmul x m=1 k=64 n=100", {NULL, NULL, NULL}},
    {"matmul_gelu",
     "matmul x m=8 k=16 n=24 act=gelu",
     {NULL, "no such operator in XNNPACK: gelu",
      "no such operator in the Arm Compute Library: gelu"}},
    {"matmul_batch_of_weights", "matmul x m=5 k=7 n=9 batch=3", {NULL, NULL, NULL}},
    {"matmul_of_activations",
     "matmul x m=5 k=7 n=9 batch=3 b=input",
     {NULL, "no such operator in XNNPACK: a product of two activations",
      "no such operator in the Arm Compute Library: a product of two activations"}},
    {"gemm",
     "gemm x in=f32[8,16] const=f32[10,16] const=f32[10] trans_b=yes",
     {NULL, NULL, NULL}},
    {"gemm_transposed",
     "gemm x in=f32[16,8] const=f32[16,10] trans_a=yes",
     {NULL, "no such operator in XNNPACK: a product with a transposed activation",
      "no such operator in the Arm Compute Library: a product with a transposed "
      "activation"}},
    {"max_pool",
     "max_pool x in=f32[1,20,13,13] kernel=3,3 strides=2,2 pads=1,1,1,1",
     {NULL, NULL,
      "the Arm Compute Library is asked for convolutions and products alone"}},
    {"max_pool_ceiling",
     "max_pool x in=f32[1,16,12,12] kernel=3,3 strides=2,2 ceil_mode=yes",
     {NULL, NULL,
      "the Arm Compute Library is asked for convolutions and products alone"}},
    {"mean",
     "avg_pool x in=f32[1,16,9,9] kernel=3,3 pads=1,1,1,1",
     {NULL, NULL,
      "the Arm Compute Library is asked for convolutions and products alone"}},
    {"mean_with_padding",
     "avg_pool x in=f32[1,16,9,9] kernel=3,3 pads=1,1,1,1 count_include_pad=yes",
     {NULL, "no such operator in XNNPACK: a mean that counts padding",
      "the Arm Compute Library is asked for convolutions and products alone"}},
    {"mean_of_all",
     "avg_pool x in=f32[1,24,7,7] kernel=7,7",
     {NULL, NULL,
      "the Arm Compute Library is asked for convolutions and products alone"}},
    {"softmax",
     "softmax x in=f32[12,100] axis=-1",
     {NULL, NULL,
      "the Arm Compute Library is asked for convolutions and products alone"}},
    {"softmax_of_columns",
     "softmax x in=f32[12,100] axis=0",
     {NULL, "no such operator in XNNPACK: a softmax along another axis",
      "the Arm Compute Library is asked for convolutions and products alone"}},
};

typedef struct library {
    const char *name;
    int refusals; /* of a row's */
    bool is_wheel;
    int threads_from;
} library;

static const library debians_onednn = {"onednn", 0, false, 1};
static const library wheels_onednn = {"onednn", 0, true, 1};
static const library xnnpack = {"xnnpack", 1, false, 1};
static const library xnnpack_arm = {"xnnpack_arm", 1, false, 2};
static const library armcl = {"armcl", 2, false, 2};

static const kiln_baseline *baseline_of(const library *l) {
    const kiln_baseline *const *list;
    kiln_err err = {.status = KILN_OK};
    kiln_assert_status_ok(kiln_baselines_parse(kiln_test_arena(), l->name,
                                               KILN_BASELINE_OPERATORS, &list, &err),
                          &err);
    return list[0];
}

/* Where wheels are looked for; skips the test where there is none. */
static const char *dir_of(const library *l) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {.status = KILN_OK};
    const char *dir;
    if (!l->is_wheel)
        return "";
    if (kiln_baselines_dir(a, &dir, &err) != KILN_OK)
        kiln_test_skip("no wheel of %s: %s", l->name, err.text);
    if (!kiln_file_exists(kiln_path_join(a, dir, "lib/libdnnl.so.3")))
        kiln_test_skip("no wheel of %s in '%s'; 'kiln baselines install' gets it",
                       l->name, dir);
    return dir;
}

/* Twice: what the first run left must not be in the second's way. */
static void check_on(const row *r, const library *l, const char *dir, int threads) {
    const kiln_baseline *b = baseline_of(l);
    kiln_arena a = {0};
    kiln_err err = {.status = KILN_OK};
    kiln_test_described d;
    kiln_baseline_session s;
    kiln_baseline_sample sample;
    kiln_assert_status_ok(kiln_test_describe(r->line, &d, &err), &err);
    const kiln_baseline_op_job job = {.dir = dir, .op = &d.op, .threads = threads};
    const kiln_status st = b->open_op(b, &a, &job, &s, &err);
    if (r->refused[l->refusals] != NULL) {
        kiln_assert_fails(st, KILN_ERR_LIB, &err, r->refused[l->refusals]);
    } else {
        kiln_assert_status_ok(st, &err);
        kiln_test_described_compare(&d, &s.out[0]);
        kiln_assert_status_ok(b->run(&s, 2, &sample, &err), &err);
        kiln_assert_status_ok(b->run(&s, 3, &sample, &err), &err);
        assert_true(sample.wall_ns > 0 && sample.cpu_ns >= 0);
        assert_true((s.implementation != NULL) ==
                    (strncmp(l->name, "xnnpack", 7) != 0));
    }
    kiln_arena_fini(&a);
}

static void check(const row *r, const library *l) {
    const kiln_baseline *b = baseline_of(l);
    const char *dir = dir_of(l);
    kiln_err err = {.status = KILN_OK};
    kiln_baseline_here here;
    kiln_assert_status_ok(b->find(b, kiln_test_arena(), dir, &here, &err), &err);
    assert_true(!l->is_wheel || (here.is_here && strncmp(here.version, "3.", 2) == 0));
    if (!here.is_here)
        kiln_test_skip("%s is absent: %s", b->name, here.remedy);
    for (int threads = l->threads_from; threads <= 2; threads++)
        check_on(r, l, dir, threads);
}

static void check_onednn(void **state) { check(*state, &debians_onednn); }
static void check_onednn3(void **state) { check(*state, &wheels_onednn); }
static void check_xnnpack(void **state) { check(*state, &xnnpack); }
static void check_xnnpack_arm(void **state) { check(*state, &xnnpack_arm); }
static void check_armcl(void **state) { check(*state, &armcl); }

int main(void) {
    kiln_arena *a = kiln_test_arena();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        kiln_test_add(kiln_format(a, "onednn_%s", rows[i].name), check_onednn,
                      &rows[i]);
        kiln_test_add(kiln_format(a, "onednn3_%s", rows[i].name), check_onednn3,
                      &rows[i]);
        kiln_test_add(kiln_format(a, "xnnpack_%s", rows[i].name), check_xnnpack,
                      &rows[i]);
        kiln_test_add(kiln_format(a, "xnnpack_arm_%s", rows[i].name), check_xnnpack_arm,
                      &rows[i]);
        kiln_test_add(kiln_format(a, "armcl_%s", rows[i].name), check_armcl, &rows[i]);
    }
    return kiln_test_run("libraries");
}
