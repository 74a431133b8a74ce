/* Models that run on an OpenCL device, such as PoCL's, beside the host: sessions, many
 * at once, what they show of its memory, and what they say where there is none. */
#include "runtime/kiln.h"
#include "tests/support/kiln_test.h"
#include "tests/support/package/plan_model.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { N = KILN_TEST_PLAN_ELEMS };

/* z = x + y by way of the workspace, which the plan says has 128 bytes. */
static const char kernels[] = "kernel add 3 64\n"
                              "launch keep 1 1 1 16 1 1 o0 w0\n"
                              "launch plus 2 1 1 8 1 1 w0 o1 o2\n";
static const char code[] =
    "kernel void keep(global const float *x, global float *w)\n"
    "{ const size_t i = get_global_id(0); w[i] = x[i]; }\n"
    "kernel void plus(global const float *w, global const float *y, global float *z)\n"
    "{ const size_t i = get_global_id(0); z[i] = w[i] + y[i]; }\n";

static kiln_model *open_model(const char *steps, const char *memory, char *error) {
    assert_int_equal(setenv("KILN_OPENCL_MEMORY", memory, 1), 0);
    return kiln_test_plan_model_of_gpu(steps, "opencl", KILN_GPU_OPENCL_C, kernels,
                                       code, error);
}

static kiln_session *open_session(const kiln_model *m, char *error) {
    kiln_session *s = kiln_session_open(m, NULL, error);
    if (s == NULL || kiln_test_plan_set_inputs(s) != 0)
        return NULL;
    return s;
}

/* Or the test is skipped: there is no such device. */
static kiln_model *open_or_skip(const char *steps, const char *memory) {
    char error[KILN_ERROR_TEXT] = "";
    kiln_model *m = open_model(steps, memory, error);
    if (m == NULL && (strstr(error, "no OpenCL device") != NULL ||
                      strstr(error, "needs OpenCL") != NULL))
        kiln_test_skip("%s", error);
    if (m == NULL)
        fail_msg("%s", error);
    return m;
}

typedef struct row {
    const char *name, *steps;
    float z;
} row;
static row rows[] = {
    {"computes_in_memory_that_the_host_does_not_see",
     "@1 copy v a; @1 copy w d; @1 call add2 a d f; @1 copy f z", 110},
    {"packs_what_it_reads",
     "open call add w w p; open @1 copy p r; @1 copy v a; @1 call add2 a r d; "
     "@1 copy d z",
     210},
    {"repeats",
     "@1 copy w a; loop 4; @1 take x d; @1 call add2 a d f; @1 copy f a; @1 put a y; "
     "end; @1 copy a z",
     110},
    {"lets_its_queues_wait",
     "@1 copy v a; @2 wait 0; @2 call add2 a a d; @1 wait 2; @1 call add2 d a f; "
     "@2 wait 4; @2 copy f z",
     30},
};

static void computes(void **state) {
    const row *r = *state;
    char error[KILN_ERROR_TEXT] = "";
    kiln_model *m = open_or_skip(r->steps, "addresses");
    kiln_session *s = open_session(m, error);
    assert_non_null(s);
    for (int run = 0; run < 3; run++) {
        kiln_session_profile(s, run == 1); /* step by step */
        if (kiln_session_run(s) != 0)
            fail_msg("%s", kiln_session_error(s));
        const float *z = kiln_session_output(s, 1);
        for (int i = 0; i < N; i++)
            assert_float_equal(z[i], r->z, 0);
    }
    kiln_session_close(s);
    kiln_model_close(m);
}

typedef struct seen {
    float read, written;
} seen;

static void look(void *user, const kiln_trace *t) {
    seen *s = user;
    if (t->kind == KILN_TRACE_READ && t->step == 2 && t->operand == 1)
        s->read = *(const float *)t->data;
    if (t->kind == KILN_TRACE_WRITTEN && t->step == 2)
        s->written = *(const float *)t->data;
}

static void shows_its_memory(void **state) {
    (void)state;
    char error[KILN_ERROR_TEXT] = "";
    seen got = {0};
    kiln_model *m = open_or_skip(rows[0].steps, "addresses");
    kiln_session *s = open_session(m, error);
    assert_non_null(s);
    kiln_session_trace(s, look, &got);
    assert_int_equal(kiln_session_run(s), 0);
    assert_float_equal(got.read, 100, 0);
    assert_float_equal(got.written, 110, 0);
    kiln_session_close(s);
    kiln_model_close(m);
}

/* ---- threads ---------------------------------------------------------------------- */

typedef struct caller {
    const kiln_model *model;
    char text[KILN_ERROR_TEXT];
    int n_good;
} caller;

static void *call(void *user) {
    enum { N_RUNS = 20 };
    caller *c = user;
    kiln_session *s = open_session(c->model, c->text);
    for (int run = 0; s != NULL && run < N_RUNS; run++) {
        const float *z = kiln_session_output(s, 1);
        c->n_good += kiln_session_run(s) == 0 && z[0] == 30 && z[N - 1] == 30;
    }
    kiln_session_close(s);
    return NULL;
}

static void runs_many_sessions_at_once(void **state) {
    enum { N_CALLERS = 8 };
    (void)state;
    static caller callers[N_CALLERS];
    pthread_t thread[N_CALLERS];
    kiln_model *m = open_or_skip(rows[3].steps, "addresses");
    for (int i = 0; i < N_CALLERS; i++) {
        callers[i].model = m;
        assert_int_equal(pthread_create(&thread[i], NULL, call, &callers[i]), 0);
    }
    for (int i = 0; i < N_CALLERS; i++)
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    for (int i = 0; i < N_CALLERS; i++)
        assert_int_equal(callers[i].n_good, 20);
    kiln_model_close(m);
}

/* ---- what is said ----------------------------------------------------------------- */

/* The first test: a library that was found stays. */
static void names_the_device_and_the_remedy(void **state) {
    (void)state;
    char error[KILN_ERROR_TEXT] = "";
    assert_int_equal(setenv("KILN_OPENCL_LIBRARY", "libnonesuch.so.1", 1), 0);
    assert_null(open_model("@1 copy v a", "addresses", error));
    assert_int_equal(unsetenv("KILN_OPENCL_LIBRARY"), 0);
    assert_non_null(strstr(error, "device 'opencl' needs OpenCL: install its loader "
                                  "(Debian: ocl-icd-libopencl1)"));
}

/* Operands 64 bytes apart in a buffer: most devices want more. */
static void says_that_operands_lie_too_close(void **state) {
    (void)state;
    char error[KILN_ERROR_TEXT] = "";
    kiln_model *m = open_or_skip(rows[0].steps, "buffers");
    kiln_session *s = open_session(m, error);
    assert_non_null(s);
    for (int run = 0; run < 2; run++)
        if (kiln_session_run(s) == 0)
            assert_float_equal(*(const float *)kiln_session_output(s, 1), 110, 0);
        else if (strstr(kiln_session_error(s),
                        "step 'step' failed with code -13: "
                        "CL_MISALIGNED_SUB_BUFFER_OFFSET: the device has no shared") ==
                 NULL)
            fail_msg("%s", kiln_session_error(s));
    kiln_session_close(s);
    kiln_model_close(m);
}

/* PoCL 3.1 keeps what its compiler (LLVM 15) allocated, which LeakSanitizer then finds in
 * frames that it cannot name. test_runtime_opencl counts what the runtime allocates. */
int __lsan_is_turned_off(void);              /* NOLINT: the name is the sanitizer's */
int __lsan_is_turned_off(void) { return 1; } /* NOLINT */

int main(void) {
    /* What PoCL compiles here goes with the test. */
    if (setenv("POCL_CACHE_DIR", kiln_test_dir(), 1) != 0)
        return 1;
    kiln_test_add("names_the_device_and_the_remedy", names_the_device_and_the_remedy,
                  NULL);
    kiln_test_add_rows(computes, rows);
    kiln_test_add("shows_its_memory", shows_its_memory, NULL);
    kiln_test_add("runs_many_sessions_at_once", runs_many_sessions_at_once, NULL);
    kiln_test_add("says_that_operands_lie_too_close", says_that_operands_lie_too_close,
                  NULL);
    return kiln_test_run("sessions on a GPU");
}
