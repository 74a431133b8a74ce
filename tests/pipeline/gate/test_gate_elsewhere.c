/* Packages on a runner elsewhere, here one behind a socket: runs, verifying, the gate. What
 * is computed there is what is computed here; one that is lost says nothing of a package. */
#include <stdlib.h>
#include <string.h>

#include "pipeline/gate/gate.h"
#include "pipeline/remote/remote_device.h"
#include "tests/support/kiln_test.h"
#include "tests/support/measuring/measure_run.h"
#include "tests/support/package/package_build.h"
#include "tests/support/package/package_vary.h"

static kiln_arena *arena(void) { return kiln_test_arena(); }

typedef struct there {
    kiln_test_server server;
    const char *path; /* of a package */
    const kiln_device *device;
} there;

static void begin(there *t) {
    const char *dir = kiln_test_dir();
    kiln_far *far = NULL;
    kiln_err err = {0};
    t->path = kiln_path_join(arena(), dir, "x.kiln.tar.zst");
    package_vary(&(package_variant){0}, t->path);
    kiln_test_serve(arena(), kiln_format(arena(), "unix:%s/runner", dir), &t->server);
    const kiln_far_options o = {.address = t->server.address};
    kiln_assert_status_ok(kiln_far_open(arena(), &o, &far, &err), &err);
    t->device = kiln_remote_device_new(arena(), far);
}

enum { N_OUTPUTS = 2 }; /* of the package, at most */

static kiln_status run_on(const kiln_opened *p, const kiln_device_job *job,
                          kiln_tensor *out, kiln_device_result *result, kiln_err *err) {
    const kiln_tensor in = kiln_ref_random(arena(), &p->package.input[0].type, 5);
    assert_in_range(p->package.n_outputs, 1, N_OUTPUTS);
    return kiln_device_run(arena(), p->device, &p->package, job, &in, 1, out, result,
                           err);
}

static void computes_what_is_computed_here(void **state) {
    const kiln_device_job once = {.n_threads = 1};
    const kiln_device_job job = {.n_threads = 2,
                                 .n_rounds = 30,
                                 .n_warm_up = 2,
                                 .wants_profile = true,
                                 .injected_ppm = 500000};
    kiln_err err = {0};
    kiln_opened here, elsewhere;
    kiln_tensor x[N_OUTPUTS], y[N_OUTPUTS];
    kiln_device_result r = {.n_runs = 0};
    there t;
    (void)state;
    begin(&t);
    kiln_assert_status_ok(kiln_package_open(arena(), t.path, &here, &err), &err);
    kiln_assert_status_ok(
        kiln_package_open_on(arena(), t.path, NULL, t.device, &elsewhere, &err), &err);
    assert_ptr_equal(elsewhere.device, t.device);
    kiln_assert_status_ok(run_on(&here, &once, x, NULL, &err), &err);
    kiln_assert_status_ok(run_on(&elsewhere, &job, y, &r, &err), &err);
    for (size_t i = 0; i < here.package.n_outputs; i++)
        assert_memory_equal(x[i].data, y[i].data, (size_t)kiln_type_bytes(&x[i].type));
    assert_int_equal(r.n_runs, 30);
    assert_int_equal(r.n_steps, elsewhere.package.n_steps);
    for (size_t i = 0; i < r.n_runs; i++)
        assert_true(r.run_ns[i] > 0);
    for (size_t i = 0; i < r.n_steps; i++)
        assert_int_equal(r.step[i].runs, 30);
    kiln_test_server_kill(&t.server);
    kiln_assert_fails(run_on(&elsewhere, &once, y, NULL, &err), KILN_ERR_IO, &err,
                      "running '");
    kiln_err_clear(&err);
    kiln_assert_fails(run_on(&elsewhere, &once, y, NULL, &err), KILN_ERR_IO, &err,
                      "is lost");
}

static void traces_are_written_here_alone(void **state) {
    const kiln_device_job job = {.trace = "trace"};
    kiln_err err = {0};
    kiln_opened p;
    kiln_tensor y[N_OUTPUTS];
    there t;
    (void)state;
    begin(&t);
    kiln_assert_status_ok(
        kiln_package_open_on(arena(), t.path, NULL, t.device, &p, &err), &err);
    kiln_assert_fails(run_on(&p, &job, y, NULL, &err), KILN_ERR_UNSUPPORTED, &err,
                      "no trace");
    kiln_test_server_kill(&t.server);
}

static void write_at(const char *folder, const char *path, const char *text) {
    kiln_err err = {0};
    const char *full = kiln_path_join(arena(), folder, path);
    kiln_assert_status_ok(kiln_dir_make(kiln_path_dir(arena(), full), &err), &err);
    kiln_assert_status_ok(kiln_file_write(full, text, strlen(text), &err), &err);
}

/* By a made-up /sys, whose clock is held back: every run says so, and none is waited for
 * without end. */
static void says_that_it_is_too_warm(void **state) {
    const kiln_device_job job = {.n_rounds = 9};
    const char *sys = kiln_test_dir();
    kiln_err err = {0};
    kiln_opened p;
    kiln_tensor y[N_OUTPUTS];
    kiln_device_result r = {.n_runs = 0};
    there t;
    (void)state;
    write_at(sys, "class/thermal/thermal_zone0/temp", "91200\n");
    write_at(sys, "class/thermal/cooling_device0/type", "thermal-cpufreq-0\n");
    write_at(sys, "class/thermal/cooling_device0/cur_state", "3\n");
    write_at(sys, "devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "1500000\n");
    assert_int_equal(setenv("KILN_SYSFS", sys, 1), 0);
    begin(&t);
    assert_int_equal(unsetenv("KILN_SYSFS"), 0);
    kiln_assert_status_ok(
        kiln_package_open_on(arena(), t.path, NULL, t.device, &p, &err), &err);
    kiln_assert_status_ok(run_on(&p, &job, y, &r, &err), &err);
    assert_int_equal(r.degrees, 91);
    assert_true(r.clock_ghz[0] == 1.5 && r.clock_ghz[1] == 1.5);
    for (size_t i = 0; i < r.n_runs; i++)
        assert_true(r.throttled[i]);
    kiln_test_server_kill(&t.server);
}

/* Right ones pass, wrong ones fail, and those for another machine are not sent. */
static void verifies_there(void **state) {
    static const char other[] = "graph \"other\" { input %x : f32[1,3,9,9] "
                                "%r = relu(%x) output %r }";
    const int threads[] = {1, 2};
    kiln_err err = {0};
    kiln_checks checks = {0};
    kiln_profile p;
    there t;
    (void)state;
    begin(&t);
    const kiln_verify_options o = {
        .threads = threads, .n_threads = 2, .seed = 2, .where = t.device};
    kiln_assert_status_ok(kiln_verify_package(arena(), t.path, &o, &checks, &err),
                          &err);
    assert_int_equal(checks.n_passed, 3);
    assert_int_equal(checks.n_failed, 0);
    package_vary(&(package_variant){.is_wrong = true}, t.path);
    checks = (kiln_checks){0};
    kiln_assert_status_ok(kiln_verify_package(arena(), t.path, &o, &checks, &err),
                          &err);
    assert_int_equal(checks.n_failed, 2);
    kiln_assert_status_ok(kiln_profile_find(arena(), "armv7-neon", &p, &err), &err);
    kiln_test_package_file(other, &p, t.path);
    checks = (kiln_checks){0};
    kiln_assert_fails(kiln_verify_package(arena(), t.path, &o, &checks, &err),
                      KILN_ERR_UNSUPPORTED, &err, "does not run on its machine");
    kiln_test_server_kill(&t.server);
}

/* What it says of times is not looked at, but that they are that machine's. */
static void gates_there(void **state) {
    kiln_err err = {0};
    kiln_gate_report r;
    there t;
    (void)state;
    begin(&t);
    const kiln_gate_options o = {.against = t.path,
                                 .seconds = 0.001,
                                 .seed = 3,
                                 .times_equal = true,
                                 .where = t.device,
                                 .runner = "board"};
    kiln_assert_status_ok(kiln_gate_run(arena(), &t.path, 1, &o, &r, &err), &err);
    const kiln_gate_result *g = &r.result.v[0];
    assert_true(g->is_timed);
    assert_string_equal(g->machine, t.device->machine);
    assert_true(g->timing.first.sample.n >= 10);
    assert_int_equal(g->timing.first.others.processors, 0);
    assert_non_null(strstr(g->command, " --runner board"));
    kiln_test_server_kill(&t.server);
    kiln_assert_fails(kiln_gate_run(arena(), &t.path, 1, &o, &r, &err), KILN_ERR_IO,
                      &err, "gating '");
}

int main(void) {
    kiln_test_add("computes_what_is_computed_here", computes_what_is_computed_here,
                  NULL);
    kiln_test_add("traces_are_written_here_alone", traces_are_written_here_alone, NULL);
    kiln_test_add("says_that_it_is_too_warm", says_that_it_is_too_warm, NULL);
    kiln_test_add("verifies_there", verifies_there, NULL);
    kiln_test_add("gates_there", gates_there, NULL);
    return kiln_test_run("gate_elsewhere");
}
