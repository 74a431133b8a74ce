/* The device "opencl" by a made-up driver (tests/tools/fake_opencl.c): every call of the
 * driver may fail, a launch may fail late, and nothing stays, of the host's or the
 * driver's. test_runtime_opencl.c has a real one, where there is one. */
#include "tests/support/gpu/gpu_checks.h"
#include "tests/support/kiln_test.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static kiln_gpu_row rows[] = {
    {"by_addresses", "opencl", "KILN_OPENCL_MEMORY", "addresses", NULL, 1000},
    {"by_buffers", "opencl", "KILN_OPENCL_MEMORY", "buffers", NULL, 1000}};

static void (*fail_at)(long call); /* NULL: the driver is not here */
static void (*fault)(void);
static long (*live)(void);

static const char *path_of_driver(void) {
    const char *folder = getenv("KILN_LIBEXEC");
    return kiln_format(kiln_test_arena(), "%s/tests/tools/fake_opencl.so",
                       folder != NULL ? folder : ".");
}

static void find(void *library, const char *name, void *function) {
    void *found = dlsym(library, name);
    memcpy(function, &found, sizeof found);
}

static void open_driver(void) {
    void *library = dlopen(path_of_driver(), RTLD_NOW);
    if (library == NULL || setenv("KILN_OPENCL_LIBRARY", path_of_driver(), 1) != 0)
        return;
    find(library, "fake_opencl_fail_at", &fail_at);
    find(library, "fake_opencl_fault", &fault);
    find(library, "fake_opencl_live", &live);
}

static void open_trial(const kiln_gpu_row *r, kiln_gpu_trial *t) {
    if (fail_at == NULL)
        kiln_test_skip("there is no %s: make quick builds it", path_of_driver());
    kiln_gpu_row_open(r, t);
}

static void close_trial(kiln_gpu_trial *t) {
    kiln_gpu_row_close(t);
    assert_int_equal(live(), 0);
}

static void leaves_nothing(void **state) {
    kiln_arena a = {0};
    kiln_gpu_trial t;
    open_trial(*state, &t);
    const char *wrong = kiln_gpu_trial_run(&t, &a, kiln_test_seed(), 500);
    if (wrong != NULL)
        fail_msg("%s", wrong);
    close_trial(&t);
    kiln_arena_fini(&a);
}

/* From the first call of the driver to the last one of a run. Some change nothing: what
 * is only released, what the driver says of itself. */
static void survives_every_call_that_fails(void **state) {
    enum { N_CALLS = 700 };
    const kiln_gpu_row *r = *state;
    kiln_gpu_trial t;
    int n_told = 0;
    open_trial(r, &t);
    close_trial(&t);
    for (long n = 0; n < N_CALLS; n++) {
        kiln_arena a = {0};
        char error[KILN_ERROR_TEXT] = "";
        fail_at(n);
        const bool is_open = kiln_gpu_row_try(r, &t, -1, error);
        const char *wrong =
            is_open ? kiln_gpu_trial_run(&t, &a, kiln_test_seed(), 30) : error;
        fail_at(-1);
        assert_true(wrong == NULL || wrong[0] != '\0');
        if (wrong != NULL && strstr(wrong, ", element ") != NULL)
            fail_msg("call %d fails, nobody says so, and %s", (int)n, wrong);
        n_told += wrong != NULL;
        close_trial(&t);
        kiln_arena_fini(&a);
    }
    assert_true(n_told > 100);
}

static void tells_of_a_launch_that_fails_late(void **state) {
    kiln_device_failure failure = {0};
    kiln_gpu_trial t;
    open_trial(*state, &t);
    void *operand[3] = {t.memory, t.memory + KILN_GPU_TRIAL_BYTES,
                        t.memory + (size_t)2 * KILN_GPU_TRIAL_BYTES};
    const kiln_device_launch good = {t.mix, operand, 3, 1},
                             bad = {t.mix, operand, 3, 2};
    t.kind->launch(t.queue[0], &good);
    fault();
    const uint64_t ticket = t.kind->launch(t.queue[0], &bad);
    t.kind->order(t.queue[1], t.queue[0], ticket);
    t.kind->launch(t.queue[1], &good);
    assert_int_equal(t.kind->finish(t.queue[1], KILN_DEVICE_ALL, &failure), -1);
    assert_int_equal(failure.tag, 2); /* what was waited for */
    assert_int_equal(t.kind->finish(t.queue[0], ticket, &failure), -1);
    assert_int_equal(failure.tag, 2);
    assert_int_equal(failure.code, -5);
    assert_string_equal(failure.why, "CL_OUT_OF_RESOURCES");
    assert_int_equal(t.kind->finish(t.queue[0], KILN_DEVICE_ALL, &failure), -1);
    t.kind->launch(t.queue[0], &good);
    assert_int_equal(t.kind->finish(t.queue[0], KILN_DEVICE_ALL, &failure), 0);
    close_trial(&t);
}

/* Of a kernel of two launches, the first one. */
static void tells_of_the_first_of_two_launches(void **state) {
    kiln_device_failure failure = {0};
    kiln_gpu_trial t;
    open_trial(*state, &t);
    void *operand[2] = {t.memory, t.memory + KILN_GPU_TRIAL_BYTES};
    const kiln_device_launch l = {t.step, operand, 2, 7};
    fault();
    t.kind->launch(t.queue[0], &l);
    assert_int_equal(t.kind->finish(t.queue[0], KILN_DEVICE_ALL, &failure), -1);
    assert_int_equal(failure.tag, 7);
    assert_int_equal(failure.code, -14);
    assert_string_equal(failure.why,
                        "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST: what "
                        "was waited for failed");
    close_trial(&t);
}

int main(void) {
    open_driver();
    kiln_test_add_rows(leaves_nothing, rows);
    kiln_test_add_rows(survives_every_call_that_fails, rows);
    kiln_test_add_rows(tells_of_a_launch_that_fails_late, rows);
    kiln_test_add_rows(tells_of_the_first_of_two_launches, rows);
    if (fail_at != NULL) {
        kiln_test_add_rows(kiln_gpu_check_is_shared_by_threads, rows);
        kiln_test_add_rows(kiln_gpu_check_times_its_launches, rows);
    }
    return kiln_test_run("opencl's driver");
}
