/* Spills that are foreseen: what the log learns, and that searches leave out what would
 * spill, but not for ever. Nothing is compiled. */
#include "compiler/tuner/tuner_search_internal.h"
#include "tests/support/kiln_test.h"

typedef struct subject {
    kiln_profile profile;
    kiln_workload work;
    kiln_tune_task task;
} subject;

static subject *subject_of(const char *profile, const char *text) {
    kiln_arena *a = kiln_test_arena();
    subject *s = kiln_new(a, subject);
    kiln_graph *g;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_graph_parse(a, kiln_str_from(text), "text", &g, &err),
                          &err);
    kiln_assert_status_ok(kiln_workload_of(g, &s->work, &err), &err);
    kiln_assert_status_ok(kiln_profile_find(a, profile, &s->profile, &err), &err);
    kiln_assert_status_ok(
        kiln_tune_task_make(a, &s->work, &s->profile, NULL, &s->task, &err), &err);
    return s;
}

static const char depthwise[] =
    "graph \"d\" { input %x : f32[1,32,28,28] input %w : f32[32,1,3,3] "
    "%y = conv(%x, %w) { groups = 32, pads = [1,1,1,1] } output %y }";

/* ---- the log --------------------------------------------------------------------- */

static void the_log_learns_from_trials(void **state) {
    (void)state;
    const subject *s = subject_of("x86-avx2", depthwise);
    kiln_spill_log *l = kiln_spill_log_new(kiln_test_arena());
    const kiln_registers few = {.vectors = 4}, all = {.vectors = 16},
                         many = {.vectors = 40}, cut = {.vectors = 14, .guards = 3};
    assert_true(kiln_spill_log_chance(l, &s->task, few) < 0.1);
    assert_true(kiln_spill_log_chance(l, &s->task, all) < 0.5);
    assert_true(kiln_spill_log_chance(l, &s->task, many) > 0.9);
    assert_true(kiln_spill_log_chance(l, &s->task, cut) > 0.5);
    for (int i = 0; i < 40; i++) {
        kiln_spill_log_add(l, &s->task, all, true);
        kiln_spill_log_add(l, &s->task, cut, false);
    }
    assert_true(kiln_spill_log_chance(l, &s->task, all) > 0.8);
    assert_true(kiln_spill_log_chance(l, &s->task, cut) < 0.2);
    assert_true(kiln_spill_log_chance(l, &s->task, few) < 0.1);
}

/* Another template's code has its own ways. */
static void templates_are_kept_apart(void **state) {
    (void)state;
    const subject *s = subject_of("x86-avx2", depthwise);
    kiln_spill_log *l = kiln_spill_log_new(kiln_test_arena());
    kiln_tune_task other = s->task;
    const kiln_registers all = {.vectors = 16};
    const double before = kiln_spill_log_chance(l, &s->task, all);
    other.tmpl = kiln_template_find(kiln_str_from("conv_direct"));
    for (int i = 0; i < 40; i++)
        kiln_spill_log_add(l, &other, all, true);
    assert_true(kiln_spill_log_chance(l, &s->task, all) == before);
    assert_true(kiln_spill_log_chance(l, &other, all) > 0.8);
}

/* ---- searches -------------------------------------------------------------------- */

static kiln_registers wanted(const kiln_tune_task *t, uint64_t index) {
    kiln_arena a = {0};
    kiln_registers r;
    assert_true(kiln_tune_registers(&a, t, index, &r));
    kiln_arena_fini(&a);
    return r;
}

/* A machine that spills what is more than its registers, and half of what has branches. */
static bool spills(const kiln_tune_task *t, uint64_t index) {
    const kiln_registers r = wanted(t, index);
    return r.vectors > t->profile->vector_registers || (r.guards > 0 && index % 2 == 0);
}

static int count_spilled(const char *kind, const subject *s, double most_spills) {
    enum { TRIALS = 40, TURN = 8 };
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_search *search;
    int n_spilled = 0;
    const kiln_search_options o = {.seed = 5,
                                   .n_chains = 8,
                                   .n_steps = 20,
                                   .model_options = {.own = "n_trees=5"},
                                   .most_spills = most_spills};
    kiln_assert_status_ok(kiln_search_new(&a, kiln_search_find(kiln_str_from(kind)),
                                          &s->task, &o, &search, &err),
                          &err);
    for (int n = 0; n < TRIALS; n += TURN) {
        uint64_t index[TURN];
        size_t got;
        kiln_assert_status_ok(kiln_search_next(search, TURN, index, &got, &err), &err);
        assert_int_equal(got, TURN);
        for (size_t i = 0; i < got; i++) {
            const bool spilled = spills(&s->task, index[i]);
            const kiln_trial t = {index[i],
                                  spilled ? KILN_OUTCOME_SPILLS : KILN_OUTCOME_MEASURED,
                                  spilled ? 0 : 100 + (double)(index[i] % 17)};
            n_spilled += spilled;
            kiln_assert_status_ok(kiln_search_report(search, &t, &err), &err);
        }
    }
    const kiln_search_stats stats = kiln_search_count(search);
    assert_true((stats.n_foreseen > 0) == (most_spills >= 0));
    assert_true(stats.n_avoided <= stats.n_foreseen);
    kiln_arena_fini(&a);
    return n_spilled;
}

static void searches_leave_out_what_would_spill(void **state) {
    static const char *const kinds[] = {"annealing", "genetic", "droplet", "random"};
    (void)state;
    const subject *s = subject_of("x86-avx2", depthwise);
    for (int i = 0; i < 4; i++) {
        const int with = count_spilled(kinds[i], s, 0),
                  without = count_spilled(kinds[i], s, -1);
        if (3 * with > without)
            fail_msg("%s: %d of 40 trials spill where that is foreseen, %d where not",
                     kinds[i], with, without);
    }
}

/* All of a space where everything would spill: refused by nobody, tried in the end. */
static void what_would_spill_comes_last(void **state) {
    (void)state;
    const subject *s = subject_of(
        "x86-avx2", "graph \"c\" { input %x : f32[1,4,6,6] input %w : f32[8,4,1,1] "
                    "%y = conv(%x, %w) output %y }");
    kiln_tune_task few = s->task;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_search *search;
    int n = 0, n_taken = 0;
    few.space.size = 1;
    for (int k = 0; k < few.space.n; k++) { /* two of each of the first knobs */
        few.space.knob[k].n = few.space.knob[k].n < 2 || k > 3 ? 1 : 2;
        few.space.size *= (uint64_t)few.space.knob[k].n;
    }
    /* A machine of which the log knows that everything spills. */
    kiln_spill_log *l = kiln_spill_log_new(&a);
    const kiln_search_options o = {
        .seed = 5, .without_guess = true, .spills = l, .most_spills = 1e-9};
    kiln_assert_status_ok(
        kiln_search_new(&a, &kiln_search_random, &few, &o, &search, &err), &err);
    for (uint64_t i = 0; i < few.space.size; i++)
        n_taken += kiln_candidates_encoding(kiln_search_candidates(search), i) != NULL;
    for (;; n++) {
        uint64_t index;
        size_t got;
        kiln_assert_status_ok(kiln_search_next(search, 1, &index, &got, &err), &err);
        if (got == 0)
            break;
    }
    assert_true(n_taken > 1);
    assert_int_equal(n, n_taken);
    const kiln_search_stats stats = kiln_search_count(search);
    assert_true(stats.n_avoided > 0 && stats.n_avoided <= stats.n_foreseen);
    kiln_arena_fini(&a);
}

/* Records say what was measured: nothing is foreseen of a part that is replayed. */
static void replays_are_not_looked_at(void **state) {
    (void)state;
    const subject *s = subject_of("x86-avx2", depthwise);
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_search *search;
    uint64_t only[64], index[8];
    size_t got;
    for (uint64_t i = 0; i < 64; i++)
        only[i] = i * (s->task.space.size / 64);
    const kiln_search_options o = {
        .seed = 5, .without_guess = true, .only = only, .n_only = 64};
    kiln_assert_status_ok(
        kiln_search_new(&a, &kiln_search_random, &s->task, &o, &search, &err), &err);
    kiln_assert_status_ok(kiln_search_next(search, 8, index, &got, &err), &err);
    assert_int_equal(kiln_search_count(search).n_foreseen, 0);
    kiln_arena_fini(&a);
}

int main(void) {
    kiln_test_add("the_log_learns_from_trials", the_log_learns_from_trials, NULL);
    kiln_test_add("templates_are_kept_apart", templates_are_kept_apart, NULL);
    kiln_test_add("searches_leave_out_what_would_spill",
                  searches_leave_out_what_would_spill, NULL);
    kiln_test_add("what_would_spill_comes_last", what_would_spill_comes_last, NULL);
    kiln_test_add("replays_are_not_looked_at", replays_are_not_looked_at, NULL);
    return kiln_test_run("spills");
}
