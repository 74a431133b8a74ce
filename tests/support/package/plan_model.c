#include "tests/support/package/plan_model.h"

#include <string.h>

#include "tests/support/gpu/gpu_module_text.h"
#include "tests/support/kiln_test.h"
#include "tests/support/package/plan_text.h"

enum { N = KILN_TEST_PLAN_ELEMS, KIND_AT = 57 }; /* where a plan's strings have room */

static int add(const kiln_args *args, kiln_ctx *ctx) {
    const float *x = args->tensor[0], *y = args->tensor[1];
    float *z = args->tensor[2];
    (void)ctx;
    for (int i = 0; i < N; i++)
        z[i] = x[i] + y[i];
    return 0;
}

static kiln_kernel_fn *find_kernel(void *user, const char *symbol) {
    (void)user;
    (void)symbol;
    return add;
}

kiln_model *kiln_test_plan_model(const char *steps, const char *kind,
                                 const kiln_model_options *o,
                                 char error[KILN_ERROR_TEXT]) {
    kiln_arena *a = kiln_test_arena();
    kiln_test_plan p;
    kiln_test_plan_read(steps, &p);
    assert_true(strlen(kind) < sizeof p.strings - KIND_AT);
    memcpy(p.strings + KIND_AT, kind, strlen(kind) + 1);
    p.device[1].kind = KIND_AT;
    const kiln_str plan = kiln_test_plan_write(a, &p);
    float *w = kiln_array(a, float, N);
    for (int i = 0; i < N; i++)
        w[i] = 100;
    const kiln_model_parts parts = {plan.p,        plan.n,      w,
                                    N * sizeof *w, find_kernel, NULL};
    return kiln_model_from_parts(&parts, o, error);
}

kiln_model *kiln_test_plan_model_of_gpu(const char *steps, const char *kind,
                                        kiln_gpu_language language, const char *kernels,
                                        const char *code, char error[KILN_ERROR_TEXT]) {
    kiln_model_module module = {.file = "two.so"};
    module.bytes =
        kiln_gpu_module_text(kiln_test_arena(), language, kernels, code, &module.n);
    const kiln_model_options o = {.module = &module, .n_modules = 1};
    return kiln_test_plan_model(steps, kind, &o, error);
}

int kiln_test_plan_set_inputs(kiln_session *s) {
    float x[4 * N], v[N];
    const unsigned char c = 1;
    for (int i = 0; i < 4 * N; i++) {
        const int row = i / N;
        x[i] = (float)(row + 1);
    }
    for (int i = 0; i < N; i++)
        v[i] = 10;
    const int first = kiln_session_set_input(s, 0, x);
    const int second = kiln_session_set_input(s, 1, v);
    const int third = kiln_session_set_input(s, 2, &c);
    return first != 0 ? first : second != 0 ? second : third;
}
