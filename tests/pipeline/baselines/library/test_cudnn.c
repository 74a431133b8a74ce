/* cuDNN and cuBLAS by a made-up library (tests/tools/fake_cudnn.c) that computes on the
 * host what kiln-cudnn asks: each operator is what the reference says, the fastest way is
 * kept, and what is not there is named. */
#include "pipeline/kernels/kernels_internal.h"
#include "tests/support/measuring/described.h"
#include "tests/support/measuring/fake_baseline.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const kiln_baseline *cudnn(void) {
    const kiln_baseline *const *list;
    kiln_err err = {.status = KILN_OK};
    kiln_assert_status_ok(kiln_baselines_parse(kiln_test_arena(), "cudnn",
                                               KILN_BASELINE_OPERATORS, &list, &err),
                          &err);
    return list[0];
}

static const char *fake(void) {
    const char *folder = getenv("KILN_LIBEXEC");
    return kiln_path_join(kiln_test_arena(), folder != NULL ? folder : ".",
                          "tests/tools/fake_cudnn.so");
}

/* The folder `nvidia` of a Python environment, as its wheels have it. */
static const char *folder_with(const char *const *file) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {.status = KILN_OK};
    const char *dir;
    kiln_assert_status_ok(kiln_dir_temp(a, &dir, &err), &err);
    for (; *file != NULL; file++) {
        const char *at = kiln_path_join(a, dir, *file);
        char *folder = kiln_str_dup(a, at);
        *strrchr(folder, '/') = '\0';
        kiln_assert_status_ok(kiln_dir_make(folder, &err), &err);
        assert_int_equal(symlink(fake(), at), 0);
    }
    return dir;
}

static const char *const all[] = {"cudnn/lib/libcudnn.so.9", "cu13/lib/libcublas.so.13",
                                  "cu13/lib/libcublasLt.so.13", NULL};

static void set_up(const char *const *file) {
    static const char *const switches[] = {"FAKE_NO_GPU", "FAKE_NO_GRAPHS"};
    for (size_t i = 0; i < sizeof switches / sizeof switches[0]; i++)
        assert_int_equal(unsetenv(switches[i]), 0);
    assert_int_equal(setenv("KILN_CUDA_LIBRARY", fake(), 1), 0);
    assert_int_equal(setenv("KILN_CUDNN", folder_with(file), 1), 0);
}

/* ---- operators ------------------------------------------------------------------- */

typedef struct row {
    const char *name, *line;
    const char *way;     /* that is kept */
    const char *refused; /* text; NULL: it is computed */
} row;

#define NHWC "implicit GEMM, indices ahead, NHWC, "
static row rows[] = {
    {"conv", "conv x h=6 ic=4 oc=8 k=3", NHWC "no TF32, as a graph", NULL},
    {"conv_odd", "conv x h=5 w=7 ic=3 oc=5 kh=5 kw=1 sh=2 pad=2,0,1,0",
     NHWC "no TF32, as a graph", NULL},
    {"conv_bias", "conv x h=4 ic=4 oc=8 k=1 bias=yes",
     NHWC "fused, no TF32, as a graph", NULL},
    {"conv_bias_relu", "conv x h=4 ic=4 oc=8 k=1 bias=yes act=relu",
     NHWC "fused, no TF32, as a graph", NULL},
    {"conv_sum_relu", "conv x h=4 ic=8 oc=8 k=3 bias=yes add=yes act=relu",
     NHWC "fused, no TF32, as a graph", NULL},
    {"conv_tanh", "conv x h=4 ic=4 oc=4 k=1 act=tanh", NHWC "no TF32, as a graph",
     NULL},
    {"conv_sigmoid", "conv x h=4 ic=4 oc=4 k=1 bias=yes act=sigmoid",
     NHWC "no TF32, as a graph", NULL},
    {"conv_groups", "conv x h=6 ic=8 oc=16 k=3 groups=4 s=2",
     NHWC "no TF32, as a graph", NULL},
    {"conv_dilated", "conv x h=9 w=7 ic=4 oc=4 k=3 d=2 bias=yes",
     NHWC "fused, no TF32, as a graph", NULL},
    {"depthwise", "dw x h=8 c=12 k=3 s=2 bias=yes act=relu",
     NHWC "fused, no TF32, as a graph", NULL},
    {"conv_gelu", "conv x h=4 ic=4 oc=4 k=1 act=gelu", NULL,
     "cuDNN is asked for a bias, a sum and an activation of its own behind a "
     "convolution, in this order; 'gelu' is none of them here"},
    {"conv_that_it_has_not", "conv x h=8 ic=2 oc=2 k=7", NULL,
     "cuDNN says 9, CUDNN_STATUS_NOT_SUPPORTED (searching for algorithms)"},
    {"matmul", "matmul x m=5 k=7 n=9", "cuBLASLt, proposal 2, no TF32, as a graph",
     NULL},
    {"matmul_bias_relu", "matmul x m=5 k=7 n=9 bias=yes act=relu",
     "cuBLASLt, proposal 2, no TF32, as a graph", NULL},
    {"matmul_sum", "matmul x m=5 k=7 n=9 add=yes",
     "cuBLASLt, proposal 2, no TF32, as a graph", NULL},
    {"matmul_batch_of_weights", "matmul x m=5 k=7 n=9 batch=3",
     "cuBLASLt, proposal 2, no TF32, as a graph", NULL},
    {"matmul_of_activations", "matmul x m=5 k=7 n=9 batch=3 b=input",
     "cuBLASLt, proposal 2, no TF32, as a graph", NULL},
    {"gemm", "gemm x in=f32[8,16] const=f32[10,16] const=f32[10] trans_b=yes",
     "cuBLASLt, proposal 2, no TF32, as a graph", NULL},
    {"gemm_transposed", "gemm x in=f32[16,8] const=f32[16,10] trans_a=yes",
     "cuBLASLt, proposal 2, no TF32, as a graph", NULL},
    {"matmul_f16", "matmul x m=5 k=7 n=9 dtype=f16 bias=yes act=relu",
     "cuBLASLt, proposal 2, f32's sums, as a graph", NULL},
    {"matmul_tanh", "matmul x m=5 k=7 n=9 act=tanh", NULL,
     "cuBLAS is asked for a bias, a sum and relu or gelu's tanh form behind a product, "
     "in this order; 'tanh' is none of them here"},
    {"softmax", "softmax x in=f32[4,10] axis=-1", NULL,
     "cuDNN and cuBLAS are asked for conv and matmul alone, not 'softmax'"},
};

static kiln_status open_line(kiln_arena *a, const char *line, kiln_test_described *d,
                             kiln_baseline_session *s, kiln_err *err) {
    kiln_assert_status_ok(kiln_test_describe(line, d, err), err);
    const kiln_baseline_op_job job = {
        .dir = "", .op = &d->op, .threads = 1, .limit_ms = KILN_TEST_PATIENCE_MS};
    return cudnn()->open_op(cudnn(), a, &job, s, err);
}

static void check_row(void **state) {
    const row *r = *state;
    kiln_arena a = {0};
    kiln_err err = {.status = KILN_OK};
    kiln_test_described d;
    kiln_baseline_session s;
    kiln_baseline_sample sample;
    set_up(all);
    const kiln_status st = open_line(&a, r->line, &d, &s, &err);
    if (r->refused != NULL) {
        kiln_assert_fails(st, KILN_ERR_LIB, &err, r->refused);
    } else {
        kiln_assert_status_ok(st, &err);
        kiln_test_described_compare(&d, &s.out[0]);
        assert_string_equal(s.implementation, r->way);
        kiln_assert_status_ok(cudnn()->run(&s, 3, &sample, &err), &err);
        /* The GPU's clock: what the processor did is not asked. */
        assert_true(sample.wall_ns > 0 && sample.wall_ns < 3000000);
        assert_int_equal(sample.cpu_ns, 0);
        bool is_disturbed;
        assert_true(kiln_baseline_ms(&sample, 3, 1, &is_disturbed) < 1);
        assert_false(is_disturbed);
    }
    kiln_arena_fini(&a);
}

static void does_without_graphs(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {.status = KILN_OK};
    kiln_test_described d;
    kiln_baseline_session s;
    set_up(all);
    assert_int_equal(setenv("FAKE_NO_GRAPHS", "1", 1), 0);
    kiln_assert_status_ok(open_line(&a, "conv x h=4 ic=4 oc=4 k=3", &d, &s, &err),
                          &err);
    kiln_test_described_compare(&d, &s.out[0]);
    assert_string_equal(s.implementation, NHWC "no TF32");
    kiln_arena_fini(&a);
}

/* ---- what is there --------------------------------------------------------------- */

static kiln_status find(kiln_baseline_here *here, kiln_err *err) {
    *here = (kiln_baseline_here){.is_here = false};
    return cudnn()->find(cudnn(), kiln_test_arena(), "", here, err);
}

static void says_its_versions(void **state) {
    (void)state;
    kiln_err err = {.status = KILN_OK};
    kiln_baseline_here here;
    set_up(all);
    kiln_assert_status_ok(find(&here, &err), &err);
    assert_true(here.is_here);
    assert_string_equal(here.version, "9.10.2, cuBLAS 13.12.11");
}

/* cuDNN is there, and products say what they lack. */
static void does_without_cublas(void **state) {
    static const char *const alone[] = {"lib/libcudnn.so.9", NULL};
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {.status = KILN_OK};
    kiln_baseline_here here;
    kiln_test_described d;
    kiln_baseline_session s;
    set_up(alone);
    kiln_assert_status_ok(find(&here, &err), &err);
    if (strcmp(here.version, "9.10.2") != 0)
        kiln_test_skip("the loader has a cuBLAS of its own: %s", here.version);
    kiln_assert_status_ok(open_line(&a, "conv x h=4 ic=4 oc=4 k=3", &d, &s, &err),
                          &err);
    kiln_assert_fails(open_line(&a, "matmul x m=2 k=3 n=4", &d, &s, &err), KILN_ERR_LIB,
                      &err, "libcublas and libcublasLt are not beside libcudnn");
    kiln_arena_fini(&a);
}

/* What is named and not there is an error, elsewhere it is absent. */
static void says_what_is_missing(void **state) {
    static const char *const none[] = {NULL};
    (void)state;
    kiln_err err = {.status = KILN_OK};
    kiln_baseline_here here;
    set_up(all);
    assert_int_equal(setenv("FAKE_NO_GPU", "1", 1), 0);
    kiln_assert_fails(find(&here, &err), KILN_ERR_LIB, &err,
                      "CUDA's driver finds no GPU (it says 0)");
    assert_int_equal(unsetenv("FAKE_NO_GPU"), 0);
    kiln_err_clear(&err);
    assert_int_equal(setenv("KILN_CUDA_LIBRARY", "no-such-libcuda.so", 1), 0);
    kiln_assert_fails(find(&here, &err), KILN_ERR_LIB, &err,
                      "no-such-libcuda.so cannot be opened (");
    kiln_err_clear(&err);
    assert_int_equal(unsetenv("KILN_CUDNN"), 0);
    kiln_assert_status_ok(find(&here, &err), &err);
    assert_false(here.is_here);
    if (strstr(here.remedy, "KILN_CUDNN names a folder that has them") == NULL)
        fail_msg("%s", here.remedy);
    set_up(none);
    if (find(&here, &err) == KILN_OK)
        kiln_test_skip("the loader has a cuDNN of its own: %s", here.version);
    if (strstr(err.text, "cuDNN is not here") == NULL)
        fail_msg("%s", err.text);
}

int main(void) {
    kiln_test_add_rows(check_row, rows);
    kiln_test_add("does_without_graphs", does_without_graphs, NULL);
    kiln_test_add("says_its_versions", says_its_versions, NULL);
    kiln_test_add("does_without_cublas", does_without_cublas, NULL);
    kiln_test_add("says_what_is_missing", says_what_is_missing, NULL);
    return kiln_test_run("cudnn");
}
