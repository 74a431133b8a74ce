/* Kernels against the reference: right ones pass within their bound, and each way of
 * being wrong is seen and told. Wrong ones are functions of this file put in a kernel's
 * place. */
#include "pipeline/kernels/op_line.h"
#include "tests/support/kiln_test.h"
#include "tests/support/kernel/op_call.h"

#include <math.h>
#include <string.h>

typedef struct made {
    kiln_arena *a;
    kiln_op_work work;
    kiln_profile profile;
    kiln_kernel kernel;
    kiln_kernel_fn *fn;
    kiln_test_call call;
    kiln_test_team team;
} made;

static const kiln_test_team alone = {.pool = NULL};

static void make(const char *text, made *m) {
    kiln_err err = {0};
    kiln_op_line line;
    kiln_choice choice;
    m->a = kiln_test_arena();
    m->team = alone;
    kiln_assert_status_ok(kiln_profile_detect(m->a, &m->profile, &err), &err);
    kiln_assert_status_ok(kiln_op_line_of(m->a, text, &line, &err), &err);
    kiln_assert_status_ok(kiln_op_work_make(m->a, &line, &m->work, &err), &err);
    kiln_assert_status_ok(kiln_choose(m->a, &m->work, &m->profile,
                                      &(kiln_choose_options){.tmpl = NULL}, &choice,
                                      &err),
                          &err);
    kiln_assert_status_ok(
        kiln_kernel_make(m->a, &m->work, &choice, &m->profile, &m->kernel, &err), &err);
    kiln_assert_status_ok(
        kiln_test_kernel_load(m->a, &m->profile, &m->kernel, &m->fn, &err), &err);
    kiln_assert_status_ok(kiln_test_call_new(m->a, &m->kernel, m->fn, m->team,
                                             kiln_test_seed(), &m->call, &err),
                          &err);
}

static kiln_verdict check(made *m) {
    kiln_err err = {0};
    kiln_verdict v;
    kiln_assert_status_ok(
        kiln_test_call_check(m->a, &m->call, kiln_test_seed(), &v, &err), &err);
    return v;
}

/* ---- right ones ------------------------------------------------------------------ */

typedef struct row {
    const char *name, *line;
    bool is_sampled; /* too large for every element */
} row;

static row rows[] = {
    {"conv_odd_channels", "conv x h=9 ic=3 oc=17 k=3 s=2", false},
    {"conv_epilogue", "conv x h=8 ic=20 oc=16 k=3 bias=yes add=yes act=relu", false},
    {"conv_large", "conv x h=28 ic=64 oc=32 k=3 act=relu", true},
    {"conv_f16", "conv x h=6 ic=8 oc=8 k=3 dtype=f16", false},
    {"depthwise", "dw x h=13 c=20 k=3", false},
    {"matmul_prime", "matmul x m=17 k=31 n=13 bias=yes act=sigmoid", false},
    {"matmul_one_row", "matmul x m=1 k=64 n=100", false},
    {"matmul_large", "matmul x m=192 k=192 n=192 act=tanh", true},
    {"unary", "exp x in=f32[3,7,5]", false},
    {"broadcast", "add x in=f32[3,7,5] const=f32[7,1] act=sigmoid", false},
    {"integers", "mul x in=i32[3,7] in=i32[7]", false},
    {"reduction", "reduce_sum x in=f32[5,33] axes=1 keepdims=no", false},
    {"softmax", "softmax x in=f32[5,33] axis=-1", false},
};

static void right_is_right(void **state) {
    const row *r = *state;
    made m;
    make(r->line, &m);
    const kiln_verdict v = check(&m);
    if (!v.ok)
        fail_msg("%s", v.problem);
    assert_true(v.worst <= 1);
    assert_true(v.n_checked > 0);
    assert_int_equal(r->is_sampled, v.n_checked < v.n_elems);
    if (!r->is_sampled)
        assert_int_equal(v.n_checked, v.n_elems);
    kiln_err err = {0};
    kiln_hot_loops loops;
    kiln_assert_status_ok(kiln_kernel_loops(m.a, &m.kernel, &m.profile, &loops, &err),
                          &err);
    assert_true(loops.hot == NULL || loops.vector_registers <= 64);
}

/* ---- wrong ones ------------------------------------------------------------------ */

static kiln_kernel_fn *right; /* of the kernel whose place is taken */
/* Of the workload below: argument numbers, and elements of the output. */
enum { A_ARG, B_ARG, Y_ARG, M = 8, N = 6, N_OUT = M * N };

static int does_nothing(const kiln_args *args, kiln_ctx *ctx) {
    (void)args;
    (void)ctx;
    return 0;
}

static int returns_seven(const kiln_args *args, kiln_ctx *ctx) {
    return right(args, ctx) + 7;
}

static int leaves_one_out(const kiln_args *args, kiln_ctx *ctx) {
    right(args, ctx);
    memset((float *)args->tensor[Y_ARG] + 11, 0xFF, sizeof(float));
    return 0;
}

static int is_a_little_off(const kiln_args *args, kiln_ctx *ctx) {
    right(args, ctx);
    float *y = args->tensor[Y_ARG];
    y[N_OUT - 1] += 1e-3F;
    return 0;
}

static int is_infinite(const kiln_args *args, kiln_ctx *ctx) {
    right(args, ctx);
    float *y = args->tensor[Y_ARG];
    y[0] = HUGE_VALF;
    return 0;
}

static int writes_behind(const kiln_args *args, kiln_ctx *ctx) {
    right(args, ctx);
    float *y = args->tensor[Y_ARG];
    y[N_OUT] = 0;
    return 0;
}

static int writes_ahead(const kiln_args *args, kiln_ctx *ctx) {
    right(args, ctx);
    ((unsigned char *)args->tensor[A_ARG])[-3] = 0;
    return 0;
}

static int writes_its_input(const kiln_args *args, kiln_ctx *ctx) {
    right(args, ctx);
    ((float *)args->tensor[B_ARG])[2] = 0;
    return 0;
}

static int writes_workspace(const kiln_args *args, kiln_ctx *ctx) {
    right(args, ctx);
    ((unsigned char *)args->workspace)[100000 % 4000] =
        0; /* it has no byte of its own */
    return 0;
}

typedef struct wrong_row {
    const char *name;
    kiln_kernel_fn *fn;
    const char *text;
} wrong_row;

static wrong_row wrong[] = {
    {"sees_what_is_not_written", does_nothing, "output 'y' element 0 is "},
    {"sees_a_code", returns_seven, "the kernel returned 7"},
    {"sees_one_element_left_out", leaves_one_out, "output 'y' element 11 is "},
    {"sees_a_small_error", is_a_little_off, "output 'y' element 47 is "},
    {"sees_an_infinity", is_infinite, "output 'y' element 0 is inf"},
    {"sees_a_store_behind", writes_behind,
     "byte 192 of argument 'matmul' was written, it has 192"},
    {"sees_a_store_ahead", writes_ahead, "byte -3 of argument 'a' was written"},
    {"sees_a_changed_input", writes_its_input, "input 'b' was written"},
    {"sees_a_store_beside_the_workspace", writes_workspace,
     "of the workspace was written, it has 0"},
};

static void wrong_is_seen(void **state) {
    const wrong_row *r = *state;
    made m;
    /* The generic template leaves layouts plain, so elements are where these look. */
    kiln_err err = {0};
    kiln_op_line line;
    kiln_choice choice;
    make("matmul x m=8 k=5 n=6 b=input", &m);
    kiln_assert_status_ok(
        kiln_op_line_of(m.a, "matmul x m=8 k=5 n=6 b=input", &line, &err), &err);
    kiln_assert_status_ok(kiln_choose(m.a, &m.work, &m.profile,
                                      &(kiln_choose_options){.tmpl = "generic"},
                                      &choice, &err),
                          &err);
    kiln_assert_status_ok(
        kiln_kernel_make(m.a, &m.work, &choice, &m.profile, &m.kernel, &err), &err);
    kiln_assert_status_ok(
        kiln_test_kernel_load(m.a, &m.profile, &m.kernel, &m.fn, &err), &err);
    kiln_assert_status_ok(
        kiln_test_call_new(m.a, &m.kernel, m.fn, m.team, 3, &m.call, &err), &err);
    assert_true(check(&m).ok);
    right = m.call.fn;
    m.call.fn = r->fn;
    const kiln_verdict v = check(&m);
    assert_false(v.ok);
    if (strstr(v.problem, r->text) == NULL)
        fail_msg("'%s' does not hold '%s'", v.problem, r->text);
}

/* ---- threads --------------------------------------------------------------------- */

static void two_threads_are_right(void **state) {
    (void)state;
    made m;
    kiln_err err = {0};
    make("conv x h=12 ic=16 oc=32 k=3", &m);
    m.team = kiln_test_team_open(m.a, 2);
    kiln_assert_status_ok(kiln_test_call_new(m.a, &m.kernel, m.fn, m.team,
                                             kiln_test_seed(), &m.call, &err),
                          &err);
    const kiln_verdict v = check(&m);
    if (!v.ok)
        fail_msg("%s", v.problem);
}

int main(void) {
    kiln_test_add_rows(right_is_right, rows);
    kiln_test_add_rows(wrong_is_seen, wrong);
    kiln_test_add("two_threads_are_right", two_threads_are_right, NULL);
    return kiln_test_run("kernels");
}
