/* What passed while a kernel ran, by which of the clocks. */
#include "pipeline/measure/runner/runner_internal.h"
#include "tests/support/kiln_test.h"

typedef struct row {
    const char *name;
    int threads;
    kiln_slice_clocks passed;
    double ns;
    bool disturbed;
} row;

static row rows[] = {
    {"a_calm_thread_has_the_wall_clock", 1, {1000, 995, 0, 0}, 1000, false},
    {"a_thread_that_lost_its_processor_has_its_own", 1, {1000, 700, 1, 0}, 700, true},
    {"a_clock_that_stands_still_is_not_believed", 1, {1000, 0, 0, 0}, 1000, false},
    {"time_is_never_nothing", 1, {0, 0, 0, 0}, 1, false},
    /* The caller slept for most of the time, and the kernel still took all of it. */
    {"threads_that_wait_have_the_wall_clock", 2, {1000, 300, 0, 0}, 1000, false},
    {"threads_that_were_stopped_are_marked", 2, {1000, 990, 1, 0}, 1000, true},
};

static void elapses(void **state) {
    const row *r = *state;
    const kiln_slice_clocks begin = {5000, 4000, 3, 0};
    const kiln_slice_clocks end = {begin.wall_ns + r->passed.wall_ns,
                                   begin.cpu_ns + r->passed.cpu_ns,
                                   begin.preempted + r->passed.preempted, 0};
    bool disturbed = !r->disturbed;
    const double ns = kiln_slice_elapsed_ns(&begin, &end, r->threads, &disturbed);
    assert_true(ns == r->ns);
    assert_int_equal(disturbed, r->disturbed);
}

/* Each of the clocks, and the seal itself. */
static void tells_who_wrote_its_clocks(void **state) {
    (void)state;
    const kiln_slice_clocks now = kiln_slice_now();
    kiln_slice_clocks wall = now, cpu = now, preempted = now, seal = now;
    assert_true(kiln_slice_is_sealed(&now));
    wall.wall_ns++;
    assert_false(kiln_slice_is_sealed(&wall));
    cpu.cpu_ns--;
    assert_false(kiln_slice_is_sealed(&cpu));
    preempted.preempted++;
    assert_false(kiln_slice_is_sealed(&preempted));
    seal.seal ^= 1;
    assert_false(kiln_slice_is_sealed(&seal));
}

int main(void) {
    kiln_test_add("tells_who_wrote_its_clocks", tells_who_wrote_its_clocks, NULL);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        kiln_test_add(rows[i].name, elapses, &rows[i]);
    return kiln_test_run("slices");
}
