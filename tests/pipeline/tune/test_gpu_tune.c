/* Tuning for a GPU's profile: samplenet's convolution on this machine's OpenCL device
 * (PoCL), a few trials of it. Skipped by name where there is none. */
#include "pipeline/tune/tune_internal.h"
#include "tests/support/kiln_test.h"
#include "tests/support/measuring/measure_run.h"
#include "tests/support/measuring/tune_run.h"

#include <stdlib.h>
#include <string.h>

static const char *const conv = "conv one h=32 ic=1 oc=6 k=5 bias=yes act=relu";

static kiln_choice choose(kiln_db *db, const kiln_op_work *w, const kiln_profile *p) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_choice c;
    kiln_tune_advice advice = {.db = db, .threads = 1, .arena = a};
    const kiln_oracle oracle = kiln_tune_oracle(&advice);
    const kiln_choose_options o = {.oracle = &oracle};
    kiln_assert_status_ok(kiln_choose(a, w, p, &o, &c, &err), &err);
    return c;
}

/* False: there is no device. */
static bool tune(const kiln_tune_works *w, const kiln_tune_options *o,
                 kiln_tune_result *out) {
    kiln_err err = {0};
    const kiln_status st = kiln_tune_run(kiln_test_arena(), w, o, out, &err);
    if (st != KILN_OK && strstr(err.text, "device 'opencl' cannot be used") != NULL) {
        kiln_test_skip("%s", err.text);
        return false;
    }
    kiln_assert_status_ok(st, &err);
    return true;
}

/* Four trials are on record, beside a CPU's, and a build takes the best of them: for the
 * GPU, and for nothing else. */
static void builds_use_what_was_tuned(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_profile gpu;
    kiln_tune_result r;
    kiln_db *db = kiln_test_db_open(":memory:");
    kiln_test_as_worker_environment();
    (void)setenv("POCL_CACHE_DIR", kiln_test_dir(), 0);
    kiln_assert_status_ok(
        kiln_profile_find(kiln_test_arena(), "opencl-pocl", &gpu, &err), &err);
    const kiln_tune_works works = kiln_test_tune_works(&conv, 1);
    const kiln_op_work *w = &works.list.v[0].op;
    kiln_tune_options o = kiln_test_tune_options(db, 4);
    o.profile = &gpu;
    o.tmpl = kiln_template_find(kiln_str_from("gpu_conv"));
    kiln_test_tune_record(db, w, kiln_template_for(&w->workload, kiln_test_native()),
                          NULL, 1000);
    if (!tune(&works, &o, &r))
        return;
    assert_int_equal(r.n_new, 4);
    assert_true(r.row.v[0].best_ns > 0 && r.row.v[0].best_ns <= r.row.v[0].start_ns);
    assert_string_equal(r.row.v[0].tmpl, "gpu_conv");
    const kiln_choice on_gpu = choose(db, w, &gpu);
    /* The others may all have been stopped as slow. */
    assert_true(on_gpu.origin == KILN_ORIGIN_TUNED ||
                on_gpu.origin == KILN_ORIGIN_TIMED);
    assert_string_equal(on_gpu.tmpl->name, "gpu_conv");
    assert_string_equal(kiln_test_config_text(&on_gpu), r.row.v[0].best);
    const kiln_choice on_cpu = choose(db, w, kiln_test_native());
    assert_int_equal(on_cpu.origin, KILN_ORIGIN_TIMED);
    assert_int_equal(on_cpu.tmpl->target, KILN_TARGET_CPU);
    kiln_test_db_is_sound(db);
    kiln_db_close(db);
}

/* Weights that the template's own program packs are packed by the host that has the
 * device, before any candidate has it; each candidate is proved. */
static void weights_are_packed_for_a_device(void **state) {
    (void)state;
    static const char *const line = "conv three h=8 ic=8 oc=8 k=3";
    kiln_err err = {0};
    kiln_profile gpu;
    kiln_tune_result r;
    kiln_db *db = kiln_test_db_open(":memory:");
    kiln_assert_status_ok(
        kiln_profile_find(kiln_test_arena(), "opencl-pocl", &gpu, &err), &err);
    const kiln_tune_works works = kiln_test_tune_works(&line, 1);
    kiln_tune_options o = kiln_test_tune_options(db, 3);
    o.profile = &gpu;
    o.tmpl = kiln_template_find(kiln_str_from("gpu_winograd"));
    if (!tune(&works, &o, &r))
        return;
    assert_int_equal(r.n_new, 3);
    assert_string_equal(r.row.v[0].tmpl, "gpu_winograd");
    assert_true(r.row.v[0].best_ns > 0);
    kiln_db_close(db);
}

int main(void) {
    kiln_test_add("builds_use_what_was_tuned", builds_use_what_was_tuned, NULL);
    kiln_test_add("weights_are_packed_for_a_device", weights_are_packed_for_a_device,
                  NULL);
    return kiln_test_run("gpu_tune");
}
