/* Sessions on the device "cuda" by a made-up driver (tests/tools/fake_cuda.c): what
 * repeats itself is replayed as graphs, and results are those of the steps. */
#include "runtime/kiln.h"
#include "tests/support/kiln_test.h"
#include "tests/support/package/plan_model.h"

#include <stdlib.h>
#include <string.h>

enum { N = KILN_TEST_PLAN_ELEMS };

static const char kernels[] = "kernel add 3 0\nlaunch add16 1 1 1 16 1 1 o0 o1 o2\n";
static const char code[] = ".version 7.0\n.target sm_70\n.entry add16\n";

static kiln_model *open_model(const char *steps) {
    kiln_arena *a = kiln_test_arena();
    const char *folder = getenv("KILN_LIBEXEC");
    const char *driver =
        kiln_format(a, "%s/tests/tools/fake_cuda.so", folder != NULL ? folder : ".");
    char error[KILN_ERROR_TEXT] = "";
    if (!kiln_file_exists(driver))
        kiln_test_skip("there is no %s: make quick builds it", driver);
    assert_int_equal(setenv("KILN_CUDA_LIBRARY", driver, 1), 0);
    kiln_model *m =
        kiln_test_plan_model_of_gpu(steps, "cuda", KILN_GPU_PTX, kernels, code, error);
    if (m == NULL)
        fail_msg("%s", error);
    return m;
}

static void run(kiln_session *s, float value, float times) {
    float v[N], x[4 * N] = {0};
    const unsigned char c = 1;
    for (int i = 0; i < N; i++)
        v[i] = value + (float)i;
    assert_int_equal(kiln_session_set_input(s, 0, x), 0);
    assert_int_equal(kiln_session_set_input(s, 1, v), 0);
    assert_int_equal(kiln_session_set_input(s, 2, &c), 0);
    if (kiln_session_run(s) != 0)
        fail_msg("%s", kiln_session_error(s));
    const float *z = kiln_session_output(s, 1);
    for (int i = 0; i < N; i++)
        assert_float_equal(z[i], times * v[i], 0);
}

typedef struct row {
    const char *name, *steps;
    float times;  /* what z is of v */
    int replayed; /* launches of a run */
} row;
static row rows[] = {
    {"a_chain", "@1 copy v a; @1 call add2 a a d; @1 call add2 d a f; @1 copy f z", 3,
     2},
    {"parted_by_a_copy",
     "@1 copy v a; @1 call add2 a a d; @1 call add2 d a f; @1 copy f s; @1 copy s a; "
     "@1 call add2 a f d; @1 call add2 d a f; @1 copy f z",
     9, 4},
    {"parted_by_the_host",
     "@1 copy v a; @1 call add2 a a d; @1 call add2 d a f; @1 copy f s; wait 3; "
     "call add s s e; @1 copy e a; @1 call add2 a f d; @1 call add2 d a f; @1 copy f z",
     15, 4},
    {"one_by_one",
     "@1 copy v a; @1 call add2 a a d; @1 copy d f; @1 call add2 d f a; @1 copy a z", 4,
     0},
};

static void replays(void **state) {
    enum { RUNS = 7, AHEAD = 2, LOOKS_ON = 4 };
    const row *r = *state;
    kiln_model *m = open_model(r->steps);
    char error[KILN_ERROR_TEXT] = "";
    kiln_session *s = kiln_session_open(m, NULL, error);
    assert_non_null(s);
    const char *why = "";
    uint64_t want = 0;
    for (int i = 0; i < RUNS; i++) {
        kiln_session_profile(s, i == LOOKS_ON); /* step by step */
        run(s, (float)(10 * i), r->times);
        want += i < AHEAD || i == LOOKS_ON ? 0 : (uint64_t)r->replayed;
        assert_int_equal(kiln_session_replayed(s, &why), want);
        assert_null(why);
    }
    /* Memory of the caller's: copies are no part of graphs. */
    static _Alignas(64) float own[N];
    assert_int_equal(kiln_session_bind_output(s, 1, own), 0);
    run(s, 3, r->times);
    assert_int_equal(kiln_session_replayed(s, NULL), want + (uint64_t)r->replayed);
    kiln_session_close(s);
    kiln_model_close(m);
}

/* Two queues that wait for one another: each has graphs of its own. */
static void queues_wait(void **state) {
    (void)state;
    kiln_model *m =
        open_model("@1 copy v a; @1 call add2 a a d; @1 call add2 d a f; @2 wait 2; "
                   "@2 call add2 f f d; @2 call add2 d f f; @1 wait 5; @1 copy f z");
    char error[KILN_ERROR_TEXT] = "";
    kiln_session *s = kiln_session_open(m, NULL, error);
    assert_non_null(s);
    for (int i = 0; i < 5; i++)
        run(s, (float)i, 9);
    assert_int_equal(kiln_session_replayed(s, NULL), 3 * 4);
    kiln_session_close(s);
    kiln_model_close(m);
}

int main(void) {
    kiln_test_add_rows(replays, rows);
    kiln_test_add("queues_wait", queues_wait, NULL);
    return kiln_test_run("cuda_sessions");
}
