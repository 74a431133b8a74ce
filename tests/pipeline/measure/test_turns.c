/* Candidates that take turns: slice by slice, as they are asked; a runner that is killed
 * ends them; and what the machine can do. */
#include "pipeline/kernels/meter.h"
#include "tests/support/kiln_test.h"
#include "tests/support/measuring/measure_run.h"

#include <math.h>

static const char line[] = "conv T 9 16 32 3 1";

static uint64_t submit(kiln_measure *m, const kiln_test_work *w,
                       const kiln_profile *p) {
    kiln_err err = {0};
    uint64_t id = 0;
    const kiln_config guess = w->tmpl->guess(&w->op.workload, p, &w->space);
    const kiln_measure_candidate c = {.work = w->id,
                                      .tmpl = w->tmpl,
                                      .config = kiln_config_index(&w->space, &guess),
                                      .takes_turns = true};
    kiln_assert_status_ok(kiln_measure_submit(m, &c, &id, &err), &err);
    return id;
}

static void await(kiln_measure *m, uint64_t id) {
    assert_int_equal(kiln_measure_await_turns(m, id, KILN_TEST_PATIENCE_MS),
                     KILN_TURNS_READY);
}

typedef struct row {
    const char *name;
    int threads;
    bool is_alone;
} row;

static row rows[] = {
    {"takes_turns", 1, false},
    {"takes_turns_on_any_processor", 1, true},
    {"takes_turns_on_two_threads", 2, true},
};

static void takes_turns(void **state) {
    const row *r = *state;
    kiln_arena a = {0};
    kiln_measure_options o = {
        .threads = r->threads, .loser = -1, .is_alone = r->is_alone};
    kiln_measure *m = kiln_test_measure_open(&a, &o);
    const kiln_test_work w = kiln_test_measure_add(&a, m, o.profile, line, false);
    const kiln_turn_order peak = {.has_peak = true}, slice = {.has_slice = true},
                          both = {true, 3, true}, none = {.n_ahead = 0};
    kiln_turn got;
    kiln_measured measured;
    const uint64_t id = submit(m, &w, o.profile);
    await(m, id);
    assert_false(kiln_measure_poll(m, 0, &measured));
    assert_true(kiln_measure_take_turn(m, id, &peak, &got));
    assert_true(got.peak.gflops > 0 && got.peak.clock_ghz > 0 && got.runs == 0);
    assert_true(kiln_measure_take_turn(m, id, &slice, &got));
    assert_true(got.ns > 0 && got.runs > 0 && got.peak.gflops == 0);
    assert_true(kiln_measure_take_turn(m, id, &none, &got));
    assert_true(got.ns == 0 && got.runs == 0);
    double best = (double)INFINITY;
    enum { MANY = 300 }; /* more than an answer has room for */
    for (int i = 0; i < MANY; i++) {
        assert_true(kiln_measure_take_turn(m, id, &both, &got));
        assert_true(got.ns > 0 && got.runs > 0 && got.peak.gflops > 0);
        best = fmin(best, got.ns);
    }
    kiln_measure_end_turns(m, id);
    assert_true(kiln_measure_poll(m, KILN_TEST_PATIENCE_MS, &measured));
    if (measured.error != KILN_TRIAL_GOOD)
        fail_msg("%s: %s", kiln_trial_error_name(measured.error), measured.text);
    assert_int_equal(measured.id, id);
    assert_int_equal(measured.n_seeds, KILN_MEASURE_SEEDS);
    assert_int_equal(measured.n_slices, KILN_WIRE_MAX_SLICES);
    assert_true(measured.median_ns >= best);
    assert_true(measured.n_compared > 0 && measured.n_compared <= measured.n_elems);
    assert_int_equal(measured.n_elems, 9 * 9 * 32);
    assert_true(measured.max_abs >= 0 && measured.worst <= 1);
    assert_true(measured.facts.operand_bytes >= 4 * (9 * 9 * 16 + 9 * 9 * 32));
    assert_true(measured.facts.codegen_ms > 0 && measured.facts.n_loops > 0);
    /* It is over: there are no more turns. */
    assert_int_equal(kiln_measure_await_turns(m, id, 0), KILN_TURNS_OVER);
    assert_false(kiln_measure_take_turn(m, id, &both, &got));
    assert_true(kiln_measure_drop_work(m, w.id));
    kiln_measure_close(m);
    kiln_arena_fini(&a);
}

/* One and one more, and one that takes no turns between. */
static void others_come_after(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_measure_options o = {.threads = 1, .loser = -1, .budget_ms = 2};
    kiln_measure *m = kiln_test_measure_open(&a, &o);
    const kiln_test_work w = kiln_test_measure_add(&a, m, o.profile, line, false);
    const kiln_turn_order slice = {.has_slice = true};
    const kiln_measure_candidate plain = {.work = w.id, .tmpl = w.tmpl, .config = 0};
    kiln_err err = {0};
    kiln_measured measured;
    kiln_turn got;
    uint64_t other;
    const uint64_t id = submit(m, &w, o.profile);
    kiln_assert_status_ok(kiln_measure_submit(m, &plain, &other, &err), &err);
    await(m, id);
    for (int i = 0; i < 3; i++)
        assert_true(kiln_measure_take_turn(m, id, &slice, &got));
    kiln_measure_end_turns(m, id);
    for (int i = 0; i < 2; i++) {
        assert_true(kiln_measure_poll(m, KILN_TEST_PATIENCE_MS, &measured));
        if (measured.id == id)
            assert_int_equal(measured.error, KILN_TRIAL_GOOD);
    }
    assert_false(kiln_measure_poll(m, 0, &measured));
    kiln_measure_close(m);
    kiln_arena_fini(&a);
}

static void closes_between_turns(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_measure_options o = {.threads = 1, .loser = -1};
    kiln_measure *m = kiln_test_measure_open(&a, &o);
    const kiln_test_work w = kiln_test_measure_add(&a, m, o.profile, line, false);
    await(m, submit(m, &w, o.profile));
    kiln_measure_close(m);
    kiln_arena_fini(&a);
}

static void limits_are_plausible(void **state) {
    (void)state;
    enum { L1, MEMORY = KILN_N_LEVELS - 1, N_PEAKS = 20 };
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_measure_options o = {.threads = 1};
    kiln_measure *m = kiln_test_measure_open(&a, &o);
    kiln_wire_level level[2];
    kiln_measure_limits got;
    const int of[] = {L1, MEMORY};
    for (int i = 0; i < 2; i++) {
        kiln_meter_level made;
        kiln_assert_status_ok(kiln_meter_level_make(&a, o.profile, of[i], &made, &err),
                              &err);
        level[i] =
            (kiln_wire_level){made.copy.bytes, made.read.bytes,
                              (uint64_t)made.copy_bytes, (uint64_t)made.read_bytes};
    }
    const bool has_l1 = level[0].copy_bytes > 0;
    const kiln_wire_limits q = {.n_peaks = N_PEAKS,
                                .n_levels = has_l1 ? 2 : 1,
                                .level = has_l1 ? level : level + 1};
    kiln_assert_status_ok(kiln_measure_ask_limits(m, &q, &got, &err), &err);
    assert_true(got.peak.clock_ghz > 0.2 && got.peak.clock_ghz < 10);
    const double fma = kiln_peak_fma(o.profile, 1, got.peak.gflops, got.peak.clock_ghz);
    const kiln_peak best =
        kiln_peak_of(o.profile, 1, fma, got.peak.gflops, got.peak.clock_ghz);
    assert_true(fma >= 0.5 && fma <= 8 && best.fma_per_cycle == fma);
    /* By definition within rounding of a whole number of multiply-adds a cycle. */
    assert_true(best.gflops >= got.peak.gflops && best.gflops <= 2 * got.peak.gflops);
    assert_true(got.gbs[q.n_levels - 1] > 0.1);
    if (has_l1)
        assert_true(got.gbs[0] > got.gbs[1]);
    /* What is no kernel is a refusal, and the pool goes on. */
    level[1].copy = KILN_STR_LIT("no object");
    const kiln_wire_limits bad = {.n_levels = 1, .level = level + 1};
    kiln_assert_fails(kiln_measure_ask_limits(m, &bad, &got, &err), KILN_ERR_LIB, &err,
                      "kernel 'kiln_meter_copy' cannot be loaded");
    const kiln_wire_limits peak = {.n_peaks = 1};
    kiln_err_clear(&err);
    kiln_assert_status_ok(kiln_measure_ask_limits(m, &peak, &got, &err), &err);
    assert_int_equal(kiln_measure_count(m).runners_started, 1);
    kiln_measure_close(m);
    kiln_arena_fini(&a);
}

int main(void) {
    kiln_test_add_rows(takes_turns, rows);
    kiln_test_add("others_come_after", others_come_after, NULL);
    kiln_test_add("closes_between_turns", closes_between_turns, NULL);
    kiln_test_add("limits_are_plausible", limits_are_plausible, NULL);
    return kiln_test_run("turns");
}
