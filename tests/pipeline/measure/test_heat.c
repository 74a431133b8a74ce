/* Clock, temperature and cache, of a made-up /sys; and trials on a machine that is too warm. */
#include "pipeline/measure/runner/heat.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/kiln_test.h"
#include "tests/support/measuring/measure_run.h"

static const char *folder; /* in the place of /sys */

static void use_folder(const char *dir) {
    folder = dir;
    assert_int_equal(setenv("KILN_SYSFS", dir, 1), 0);
}

static void write_file(const char *path, const char *text) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {.status = KILN_OK};
    const char *full = kiln_path_join(a, folder, path);
    kiln_assert_status_ok(kiln_dir_make(kiln_path_dir(a, full), &err), &err);
    kiln_assert_status_ok(kiln_file_write(full, text, strlen(text), &err), &err);
}

static kiln_heat_reading read_now(int cpu) {
    kiln_heat h;
    kiln_heat_begin(&h, cpu);
    return kiln_heat_read(&h);
}

static void knows_nothing_of_an_empty_folder(void **state) {
    (void)state;
    use_folder(kiln_test_dir());
    const kiln_heat_reading r = read_now(-1);
    assert_true(r.clock_mhz == 0 && r.degrees == 0 && !r.is_throttled);
    use_folder("/nowhere");
    const kiln_heat_reading n = read_now(3);
    assert_true(n.clock_mhz == 0 && n.degrees == 0 && !n.is_throttled);
}

static void reads_clock_and_warmest_zone(void **state) {
    (void)state;
    use_folder(kiln_test_dir());
    write_file("class/thermal/thermal_zone0/temp", "41200\n");
    write_file("class/thermal/thermal_zone2/temp", "67999\n");
    write_file("class/thermal/thermal_zone3/temp", "999000\n"); /* a broken sensor */
    write_file("class/thermal/thermal_zone4/temp", "-274000\n");
    write_file("class/thermal/thermal_zone5/temp", "warm\n");
    write_file("devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "1512000\n");
    assert_int_equal(kiln_heat_degrees(), 67);
    const kiln_heat_reading r = read_now(1);
    assert_int_equal(r.clock_mhz, 1512);
    assert_int_equal(r.degrees, 67);
    assert_false(r.is_throttled);
    assert_int_equal(read_now(0).clock_mhz, 0);
}

/* A fan at work is no clock held back. */
static void sees_what_cools_the_processor(void **state) {
    (void)state;
    use_folder(kiln_test_dir());
    write_file("class/thermal/cooling_device0/type", "gpio-fan\n");
    write_file("class/thermal/cooling_device0/cur_state", "2\n");
    assert_false(read_now(0).is_throttled);
    write_file("class/thermal/cooling_device1/type", "thermal-cpufreq-0\n");
    write_file("class/thermal/cooling_device1/cur_state", "0\n");
    assert_false(read_now(0).is_throttled);
    write_file("class/thermal/cooling_device1/cur_state", "3\n");
    assert_true(read_now(0).is_throttled);
}

static void sees_that_the_processor_counts(void **state) {
    static const char count[] =
        "devices/system/cpu/cpu0/thermal_throttle/core_throttle_count";
    kiln_heat h;
    (void)state;
    use_folder(kiln_test_dir());
    write_file(count, "7\n");
    kiln_heat_begin(&h, 0);
    assert_false(kiln_heat_read(&h).is_throttled);
    write_file(count, "8\n");
    assert_true(kiln_heat_read(&h).is_throttled);
    assert_false(kiln_heat_read(&h).is_throttled);
}

/* ---- a trial --------------------------------------------------------------------- */

typedef struct trial {
    const char *name, *state; /* of the cooling device */
    bool is_throttled;
} trial;

static trial trials[] = {
    {"a_cool_trial_says_clock_and_degrees", "0\n", false},
    {"a_warm_one_is_throttled_and_cools_down", "1\n", true},
};

static void measures(void **state) {
    const trial *t = *state;
    kiln_arena a = {0};
    kiln_err err = {.status = KILN_OK};
    kiln_measured got;
    uint64_t id;
    use_folder(kiln_test_dir());
    write_file("class/thermal/thermal_zone0/temp", "81000\n");
    write_file("class/thermal/cooling_device0/type", "cpufreq-cpu0\n");
    write_file("class/thermal/cooling_device0/cur_state", t->state);
    for (int i = 0; i < 64; i++) /* whichever CPU it is that measures */
        write_file(kiln_format(kiln_test_arena(),
                               "devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq", i),
                   "1800000\n");
    kiln_measure_options o = {.budget_ms = 5, .loser = -1, .precision = 1e-9};
    kiln_measure *m = kiln_test_measure_open(&a, &o);
    const kiln_test_work w =
        kiln_test_measure_add(&a, m, o.profile, "conv F 5 8 8 3 1", true);
    const kiln_measure_candidate c = {.work = w.id, .tmpl = w.tmpl, .config = 0};
    kiln_assert_status_ok(kiln_measure_submit(m, &c, &id, &err), &err);
    const int64_t begin = kiln_now_ns();
    assert_true(kiln_measure_poll(m, KILN_TEST_PATIENCE_MS, &got));
    assert_int_equal(got.error, KILN_TRIAL_GOOD);
    assert_true(got.n_slices >= 7 && got.median_ns > 0); /* measured all the same */
    for (size_t i = 0; i < got.n_slices; i++) {
        assert_int_equal(got.slice[i].degrees, 81);
        assert_int_equal(got.slice[i].clock_mhz, 1800);
        assert_int_equal(got.slice[i].is_throttled, t->is_throttled);
    }
    assert_int_equal(got.n_throttled, t->is_throttled ? got.n_slices : 0);
    if (t->is_throttled) {
        assert_int_equal(got.n_disturbed, got.n_slices);
        assert_true(got.is_noisy);
        assert_true(kiln_now_ns() - begin >= 2000000000); /* it rested */
        assert_int_equal(kiln_measure_count(m).throttled, got.n_slices);
    }
    kiln_measure_close(m);
    kiln_arena_fini(&a);
}

/* The highest level that has a size: not instructions', not all of a package's. */
static void reads_the_last_cache(void **state) {
    static const char *const file[][2] = {
        {"index0/level", "1\n"},     {"index0/size", "48K\n"}, {"index1/level", "3\n"},
        {"index1/size", "32768K\n"}, {"index2/level", "2\n"},  {"index2/size", "1M\n"},
        {"index3/level", "4\n"},     {"index3/size", "much\n"}};
    (void)state;
    use_folder(kiln_test_dir());
    assert_int_equal(kiln_last_cache_bytes(-1), 0);
    for (size_t i = 0; i < sizeof file / sizeof file[0]; i++)
        write_file(kiln_format(kiln_test_arena(), "devices/system/cpu/cpu1/cache/%s",
                               file[i][0]),
                   file[i][1]);
    assert_int_equal(kiln_last_cache_bytes(1), 32 << 20);
    assert_int_equal(kiln_last_cache_bytes(0), 0);
}

int main(void) {
    kiln_test_add("reads_the_last_cache", reads_the_last_cache, NULL);
    kiln_test_add("knows_nothing_of_an_empty_folder", knows_nothing_of_an_empty_folder,
                  NULL);
    kiln_test_add("reads_clock_and_warmest_zone", reads_clock_and_warmest_zone, NULL);
    kiln_test_add("sees_what_cools_the_processor", sees_what_cools_the_processor, NULL);
    kiln_test_add("sees_that_the_processor_counts", sees_that_the_processor_counts,
                  NULL);
    kiln_test_add_rows(measures, trials);
    return kiln_test_run("heat");
}
