/* What a runner times next: no network, no process, only the fleet's queues. */
#include "pipeline/measure/measure_fleet.h"
#include "tests/support/kiln_test.h"

static const char *const layouts[] = {"f32[4,4], f32[2,4,2]", "f32[4,4], f32[1,4,4]",
                                      "f32[4,4], f32[4,4,1]"};
enum { N_LAYOUTS = sizeof layouts / sizeof layouts[0], ROUNDS = 2000 };

static kiln_measure *fleet(void) { return kiln_new(kiln_test_arena(), kiln_measure); }

static void put(kiln_measure *m, int job, int work, const char *lies) {
    m->job[job] = (kiln_job){.state = KILN_JOB_BUILT,
                             .out = {.work = work, .text = "", .layouts = lies}};
    kiln_queue_push(&m->built, job);
}

static void takes_from_the_middle(void **state) {
    (void)state;
    kiln_job_queue q = {.first = KILN_MEASURE_MAX_QUEUED - 2}; /* around the end */
    for (int i = 0; i < 5; i++)
        kiln_queue_push(&q, i);
    assert_int_equal(kiln_queue_take(&q, 3), 3);
    assert_int_equal(kiln_queue_take(&q, 3), 4);
    assert_int_equal(kiln_queue_take(&q, 0), 0);
    assert_int_equal(kiln_queue_pop(&q), 1);
    assert_int_equal(kiln_queue_pop(&q), 2);
    assert_int_equal(q.n, 0);
}

static void takes_what_lies_alike(void **state) {
    (void)state;
    kiln_measure *m = fleet();
    kiln_worker w = {.is_runner = true};
    for (int i = 0; i < 6; i++)
        put(m, i, i == 2 ? 1 : 0, layouts[i % 2]); /* 2: of another workload */
    static const int order[] = {0, 4, 1, 3, 5, 2};
    for (int i = 0; i < 6; i++)
        assert_int_equal(kiln_fleet_take_alike(m, &w), order[i]);
}

static void runners_have_each_their_own(void **state) {
    (void)state;
    kiln_measure *m = fleet();
    kiln_worker w[2] = {{.is_runner = true}, {.is_runner = true}};
    for (int i = 0; i < 6; i++)
        put(m, i, 0, layouts[i < 2 ? i : 1 - i % 2]);
    assert_int_equal(kiln_fleet_take_alike(m, &w[0]), 0);
    assert_int_equal(kiln_fleet_take_alike(m, &w[1]), 1);
    assert_int_equal(kiln_fleet_take_alike(m, &w[1]), 2);
    assert_int_equal(kiln_fleet_take_alike(m, &w[0]), 3);
    assert_int_equal(kiln_fleet_take_alike(m, &w[1]), 4);
    assert_int_equal(kiln_fleet_take_alike(m, &w[0]), 5);
}

static void a_question_waits_for_nobody(void **state) {
    (void)state;
    kiln_measure *m = fleet();
    kiln_worker w = {.is_runner = true};
    put(m, 0, 0, layouts[0]);
    put(m, 1, -1, "");
    m->job[1].errand = kiln_str_from("what can you do?");
    put(m, 2, 0, layouts[1]);
    put(m, 3, 0, layouts[0]);
    static const int order[] = {0, 1, 3, 2};
    for (int i = 0; i < 4; i++)
        assert_int_equal(kiln_fleet_take_alike(m, &w), order[i]);
}

/* Random layouts without end: everything is taken once, and before too many others. */
static void nothing_waits_for_ever(void **state) {
    (void)state;
    kiln_measure *m = fleet();
    kiln_worker w = {.is_runner = true};
    kiln_rng rng;
    kiln_rng_init(&rng, kiln_test_seed());
    int since[KILN_FLEET_MAX_BUILT], n_alike = 0;
    const char *last = "";
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < KILN_FLEET_MAX_BUILT; i++)
            if (m->job[i].state == KILN_JOB_FREE) {
                put(m, i, 0, layouts[kiln_rng_range(&rng, 0, N_LAYOUTS - 1)]);
                since[i] = round;
            }
        const int job = kiln_fleet_take_alike(m, &w);
        assert_int_equal(m->job[job].state, KILN_JOB_BUILT);
        assert_true(round - since[job] <= 2 * KILN_FLEET_MAX_BUILT);
        n_alike += last == m->job[job].out.layouts;
        last = m->job[job].out.layouts;
        m->job[job].state = KILN_JOB_FREE;
    }
    /* In the order in which they came a third would. */
    assert_true(n_alike > ROUNDS / 2);
}

int main(void) {
    kiln_test_add("takes_from_the_middle", takes_from_the_middle, NULL);
    kiln_test_add("takes_what_lies_alike", takes_what_lies_alike, NULL);
    kiln_test_add("runners_have_each_their_own", runners_have_each_their_own, NULL);
    kiln_test_add("a_question_waits_for_nobody", a_question_waits_for_nobody, NULL);
    kiln_test_add("nothing_waits_for_ever", nothing_waits_for_ever, NULL);
    return kiln_test_run("fleet_queues");
}
