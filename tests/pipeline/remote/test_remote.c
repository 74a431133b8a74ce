/* Networks in a process of their own: turns, outputs and loads are what was asked for;
 * code that crashes or hangs is an error with its reason, for the question at hand and
 * every one behind it, and another network goes on. */
#include "compiler/reference/reference.h"
#include "pipeline/kernels/op_line.h"
#include "pipeline/remote/remote.h"
#include "tests/support/kiln_test.h"
#include "tests/support/measuring/measure_run.h"

#include <string.h>

enum { N = 64 };

static const char *object_of(kiln_arena *a, const char *fault, const char *symbol) {
    const char *dir = kiln_test_dir();
    kiln_test_compile_kernel_as(a, "tests/pipeline/kernels/failing_kernels.c", fault,
                                dir, symbol, NULL);
    return kiln_path_join(a, dir, kiln_format(a, "%s.o", fault));
}

/* y = max(x, 0) over N elements; fault NULL: as it is compiled. */
static kiln_status try_relu(kiln_arena *a, const char *fault, int64_t limit_ms,
                            float *x, kiln_remote **out) {
    kiln_err err = {0};
    kiln_op_line line;
    kiln_op_work work;
    kiln_network n;
    kiln_profile *p = kiln_new(a, kiln_profile);
    const kiln_remote_options o = {.argv = kiln_test_worker(a, "kiln-runner"),
                                   .limit_ms = limit_ms};
    kiln_assert_status_ok(kiln_profile_detect(a, p, &err), &err);
    kiln_assert_status_ok(kiln_op_line_of(a, "relu R in=f32[64]", &line, &err), &err);
    kiln_assert_status_ok(kiln_op_work_make(a, &line, &work, &err), &err);
    kiln_assert_status_ok(kiln_network_compile(a, work.graph, p, NULL, &n, &err), &err);
    assert_int_equal(n.kernel.n, 1);
    if (fault != NULL)
        kiln_assert_status_ok(kiln_file_map(a,
                                            object_of(a, fault, n.kernel.v[0].symbol),
                                            0, &n.kernel.v[0].object.bytes, &err),
                              &err);
    const kiln_tensor in = kiln_ref_random(a, &work.graph->inputs.v[0]->type, 5);
    memcpy(x, in.data, N * sizeof *x);
    kiln_test_as_worker_environment();
    const kiln_status st = kiln_remote_of_network(a, &n, &in, 1, &o, out, &err);
    if (st != KILN_OK && (limit_ms == 0 || strstr(err.text, "in time") == NULL))
        fail_msg("%s", err.text);
    return st;
}

static kiln_remote *open_relu(kiln_arena *a, const char *fault, float *x) {
    kiln_remote *r = NULL;
    assert_int_equal(try_relu(a, fault, 0, x, &r), KILN_OK);
    return r;
}

static int session_of(kiln_remote *r, int threads) {
    kiln_err err = {0};
    size_t bytes = 0;
    int session = -1;
    kiln_assert_status_ok(kiln_remote_session(r, threads, &session, &bytes, &err),
                          &err);
    assert_true(bytes > 0);
    return session;
}

static void check_output(kiln_remote *r, int session, const float *x) {
    kiln_err err = {0};
    float y[N];
    kiln_assert_status_ok(kiln_remote_output(r, session, 0, y, &err), &err);
    for (int i = 0; i < N; i++)
        assert_true(y[i] == (x[i] > 0 ? x[i] : 0));
}

static void takes_turns(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    float x[N];
    kiln_remote *r = open_relu(&a, NULL, x);
    const kiln_remote_order all = {
        .n_peaks = 2, .n_ahead = 1, .runs = 3, .has_steps = true};
    const kiln_remote_order ahead = {.n_ahead = 1};
    kiln_remote_turn turn;
    assert_int_equal(kiln_remote_n_inputs(r), 1);
    assert_int_equal(kiln_remote_input_at(r, 0)->bytes, sizeof x);
    assert_int_equal(kiln_remote_output_at(r, 0)->dim[0], N);
    assert_int_equal(kiln_remote_find_output(r, kiln_remote_output_at(r, 0)->name), 0);
    assert_int_equal(kiln_remote_find_output(r, "none"), -1);
    for (int threads = 1; threads <= 2; threads++) {
        const int s = session_of(r, threads);
        assert_int_equal(s, threads - 1);
        kiln_assert_status_ok(kiln_remote_take_turn(r, s, &ahead, &turn, &err), &err);
        assert_true(turn.ms == 0 && turn.n_steps == 0 && turn.peak.gflops == 0);
        kiln_assert_status_ok(kiln_remote_take_turn(r, s, &all, &turn, &err), &err);
        assert_true(turn.ms > 0 && turn.peak.gflops >= turn.peak.measured_gflops);
        assert_true(turn.peak.measured_gflops > 0 && turn.peak.fma_per_cycle > 0);
        assert_int_equal(turn.n_steps, 1);
        assert_true(turn.step_ns[0] > 0);
        check_output(r, s, x);
    }
    kiln_assert_fails(kiln_remote_take_turn(r, 7, &all, &turn, &err), KILN_ERR_ARG,
                      &err, "there is no session 7");
    kiln_err_clear(&err);
    kiln_assert_status_ok(kiln_remote_close_from(r, 1, &err), &err);
    assert_int_equal(session_of(r, 1), 1);
    kiln_arena_fini(&a);
}

static void carries_loads(void **state) {
    (void)state;
    enum { LENGTH = 50 * 1000 * 1000, MOST = 1000 };
    kiln_arena a = {0};
    kiln_err err = {0};
    float x[N];
    kiln_remote *r = open_relu(&a, NULL, x);
    kiln_remote_load load;
    for (int i = 0; i < 2; i++)
        (void)session_of(r, 1);
    kiln_assert_status_ok(
        kiln_remote_do_load(r, &a, 0, 2, (int64_t)1 << 20, LENGTH, &load, &err), &err);
    assert_true(load.length == LENGTH && !load.is_full);
    for (int i = 0; i < 2; i++) {
        assert_true(load.n_runs[i] > 0);
        for (size_t k = 0; k < load.n_runs[i]; k++)
            assert_true(load.run[i][k].begin <= load.run[i][k].end &&
                        (k == 0 || load.run[i][k - 1].end <= load.run[i][k].begin));
        check_output(r, i, x);
    }
    /* No more than there is room for. */
    kiln_assert_status_ok(
        kiln_remote_do_load(r, &a, 0, 1, MOST,
                            (int64_t)KILN_TEST_PATIENCE_S * 1000000000, &load, &err),
        &err);
    assert_true(load.is_full && load.n_runs[0] == MOST);
    kiln_arena_fini(&a);
}

typedef struct row {
    const char *name, *fault, *text;
    int64_t limit_ms;   /* of each answer, at first; 0: none that matters */
    bool is_of_process; /* it is gone then */
} row;

static row rows[] = {
    {"a_crash_is_an_error", "CRASH", "was ended by signal 11", 0, true},
    {"a_later_crash_is_an_error", "LATER", "was ended by signal 11", 0, true},
    {"a_hang_is_an_error", "HANG", "did not answer in time and was ended", 2000, true},
    {"a_refusal_is_an_error", "RETURN", "7", 0, false},
};

/* With a session, 0. Opening is no hang: it has a longer limit where that is too short. */
static kiln_remote *open_failing(kiln_arena *a, const row *w, float *x) {
    kiln_remote *r = NULL;
    for (int64_t limit_ms = w->limit_ms;; limit_ms *= 4) {
        kiln_err err = {0};
        size_t bytes = 0;
        int session = -1;
        if (try_relu(a, w->fault, limit_ms, x, &r) == KILN_OK &&
            kiln_remote_session(r, 1, &session, &bytes, &err) == KILN_OK) {
            assert_true(session == 0 && bytes > 0);
            return r;
        }
        assert_true(limit_ms > 0 && limit_ms < KILN_TEST_PATIENCE_MS);
    }
}

static void failures_are_errors(void **state) {
    const row *w = *state;
    kiln_arena a = {0}, other = {0};
    kiln_err err = {0};
    float x[N], x_of_other[N];
    kiln_remote *r = open_failing(&a, w, x);
    kiln_remote *good = open_relu(&other, NULL, x_of_other);
    const kiln_remote_order many = {.runs = 1000};
    kiln_remote_turn turn;
    const int s = 0, s_good = session_of(good, 1);
    kiln_assert_fails(kiln_remote_take_turn(r, s, &many, &turn, &err), KILN_ERR_LIB,
                      &err, w->text);
    kiln_err_clear(&err);
    kiln_assert_fails(kiln_remote_take_turn(r, s, &many, &turn, &err), KILN_ERR_LIB,
                      &err, w->is_of_process ? "before" : w->text);
    kiln_err_clear(&err);
    kiln_assert_status_ok(kiln_remote_take_turn(good, s_good, &many, &turn, &err),
                          &err);
    check_output(good, s_good, x_of_other);
    kiln_arena_fini(&a);
    kiln_arena_fini(&other);
}

static void names_a_folder_that_is_none(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_profile p;
    kiln_remote *r = NULL;
    kiln_assert_status_ok(kiln_profile_detect(&a, &p, &err), &err);
    assert_int_not_equal(
        kiln_remote_of_package(&a, "/nowhere/at/all", &p, NULL, 0, NULL, &r, &err),
        KILN_OK);
    assert_non_null(strstr(err.text, "/nowhere/at/all/plan.bin"));
    kiln_arena_fini(&a);
}

int main(void) {
    kiln_test_add("takes_turns", takes_turns, NULL);
    kiln_test_add("carries_loads", carries_loads, NULL);
    kiln_test_add_rows(failures_are_errors, rows);
    kiln_test_add("names_a_folder_that_is_none", names_a_folder_that_is_none, NULL);
    return kiln_test_run("remote");
}
