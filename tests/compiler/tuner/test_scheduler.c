/* Which task is next: limits, ends, and that trials go where they help. Tasks here are
 * curves: what a kernel costs after so many trials. */
#include "compiler/tuner/tuner.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/kiln_test.h"

enum { MAX_TASKS = 4 };

typedef struct curve {
    double weight, start_ns, end_ns;
    double half;   /* trials that halve what is left */
    int64_t space; /* 0: never exhausted */
} curve;

static double cost_after(const curve *c, int64_t trials) {
    return c->end_ns + (c->start_ns - c->end_ns) * exp2(-(double)trials / c->half);
}

typedef struct outcome {
    int64_t trials[MAX_TASKS], all;
    int turns;
    double latency_ns;
    kiln_task_end end;
} outcome;

/* One nanosecond of the clock a trial. */
static outcome play(const curve *c, int n, const kiln_task_scheduler_options *o,
                    bool known_floor) {
    kiln_arena a = {0};
    kiln_task_weight w[MAX_TASKS] = {{0}};
    outcome out = {.turns = 0};
    for (int i = 0; i < n; i++)
        w[i] = (kiln_task_weight){.weight = c[i].weight,
                                  .start_ns = c[i].start_ns,
                                  .floor_ns = known_floor ? c[i].end_ns : 0};
    kiln_task_scheduler *s = kiln_task_scheduler_new(&a, w, n, o);
    for (int task; out.turns < 10000; out.turns++) {
        int trials = 0;
        task = kiln_task_scheduler_next(s, 1000 + out.all, &trials);
        if (task < 0)
            break;
        assert_true(task < n && trials > 0);
        const int64_t space = c[task].space;
        const int64_t left = space > 0 ? space - out.trials[task] : trials;
        trials = left < trials ? (int)left : trials;
        out.trials[task] += trials;
        out.all += trials;
        kiln_task_scheduler_report(s, task, trials,
                                   cost_after(&c[task], out.trials[task]),
                                   space > 0 && out.trials[task] == space);
    }
    out.latency_ns = kiln_task_scheduler_latency_ns(s);
    out.end = kiln_task_scheduler_end(s);
    kiln_arena_fini(&a);
    return out;
}

typedef struct row {
    const char *name;
    curve curve[MAX_TASKS];
    kiln_task_scheduler_options options;
    kiln_task_end end;
    int64_t least, most; /* trials in all */
    int favourite;       /* gets most of them; -1: does not matter */
    int64_t least_of[MAX_TASKS], most_of[MAX_TASKS]; /* most_of 0: any; -1: none */
} row;

static row rows[] = {
    {"spends_exactly_its_trials",
     {{1, 1000, 500, 50, 0}, {1, 1000, 500, 50, 0}},
     {.max_trials = 100, .batch = 16},
     KILN_TASKS_TRIALS,
     100,
     100,
     -1,
     {16, 16},
     {0}},
    {"stops_when_time_is_over",
     {{1, 1000, 1, 1000, 0}, {1, 1000, 1, 1000, 0}},
     {.time_ns = 320, .batch = 32},
     KILN_TASKS_TIME,
     320,
     320,
     -1,
     {32, 32},
     {0}},
    {"feeds_the_heavy_task",
     {{10, 1000, 200, 200, 0}, {1, 1000, 200, 200, 0}},
     {.max_trials = 640},
     KILN_TASKS_TRIALS,
     640,
     640,
     0,
     {0, 32},
     {0}},
    {"feeds_the_one_that_falls",
     {{1, 1000, 990, 100, 0}, {1, 1000, 100, 300, 0}},
     {.max_trials = 640},
     KILN_TASKS_TRIALS,
     640,
     640,
     1,
     {32, 0},
     {0}},
    {"never_chooses_weight_zero",
     {{0, 1000, 1, 100, 0}, {1, 1000, 500, 100, 0}},
     {.max_trials = 320},
     KILN_TASKS_TRIALS,
     320,
     320,
     1,
     {0},
     {-1, 0}},
    {"leaves_exhausted_spaces",
     {{5, 1000, 100, 100, 10}, {1, 1000, 500, 50, 50}},
     {.batch = 32},
     KILN_TASKS_EXHAUSTED,
     60,
     60,
     1,
     {10, 50},
     {10, 50}},
    {"stops_when_nothing_is_gained",
     {{1, 1000, 1000, 50, 0}, {3, 1000, 1000, 50, 0}},
     {.batch = 16, .patience_trials = 48},
     KILN_TASKS_NO_GAIN,
     96,
     1000,
     -1,
     {48, 48},
     {0}},
    {"never_gives_up_where_it_may_not",
     {{1, 1000, 1000, 50, 0}, {3, 1000, 1000, 50, 0}},
     {.max_trials = 4000, .batch = 16, .patience_trials = 48, .never_gives_up = true},
     KILN_TASKS_TRIALS,
     4000,
     4000,
     1,
     {640, 640},
     {0}},
    {"leaves_exhausted_spaces_all_the_same",
     {{5, 1000, 1000, 100, 10}, {1, 1000, 1000, 50, 300}},
     {.batch = 32, .never_gives_up = true},
     KILN_TASKS_EXHAUSTED,
     310,
     310,
     1,
     {10, 300},
     {10, 300}},
    {"has_patience_with_each",
     {{1, 1000, 500, 5, 0}, {1e-9, 1000, 500, 5, 0}},
     {.batch = 16, .patience_trials = 64},
     KILN_TASKS_NO_GAIN,
     128,
     2000,
     0,
     {64, 64},
     {0, 64}},
};

static void check_row(void **state) {
    const row *r = *state;
    int n = 0;
    while (n < MAX_TASKS && r->curve[n].start_ns > 0)
        n++;
    const outcome got = play(r->curve, n, &r->options, false);
    if (got.end != r->end)
        fail_msg("it ended by '%s', not '%s'", kiln_task_end_name(got.end),
                 kiln_task_end_name(r->end));
    assert_in_range(got.all, r->least, r->most);
    for (int i = 0; i < n; i++) {
        assert_true(got.trials[i] >= r->least_of[i]);
        assert_true(r->most_of[i] == 0 ||
                    got.trials[i] <= (r->most_of[i] > 0 ? r->most_of[i] : 0));
        assert_true(r->favourite < 0 || i == r->favourite ||
                    got.trials[i] < got.trials[r->favourite]);
    }
}

/* Beside turns in order, with the same trials: lower latency on drawn networks, but for
 * a few. */
static void beats_turns_in_order(void **state) {
    (void)state;
    enum { NETWORKS = 200, TRIALS = 640, TURN = 32 };
    kiln_rng rng;
    kiln_rng_init(&rng, kiln_test_seed());
    double sum = 0;
    int n_worse = 0;
    for (int k = 0; k < NETWORKS; k++) {
        curve c[MAX_TASKS];
        double in_order = 0;
        for (int i = 0; i < MAX_TASKS; i++) {
            const double start = 1e4 * exp2(6 * kiln_rng_unit(&rng));
            c[i] = (curve){.weight = (double)kiln_rng_range(&rng, 1, 6),
                           .start_ns = start,
                           .end_ns = start * (0.2 + 0.8 * kiln_rng_unit(&rng)),
                           .half = 10 + 150 * kiln_rng_unit(&rng)};
            in_order += c[i].weight * cost_after(&c[i], TRIALS / MAX_TASKS);
        }
        const kiln_task_scheduler_options o = {
            .max_trials = TRIALS, .batch = TURN, .min_gain = 1e-9};
        const outcome got = play(c, MAX_TASKS, &o, k % 2 == 0);
        n_worse += got.latency_ns > in_order;
        sum += log(got.latency_ns / in_order);
    }
    const double mean = exp(sum / NETWORKS);
    if (mean > 0.985 || n_worse > NETWORKS / 5)
        fail_msg("latency is %.4f of that of turns in order, worse in %d of %d", mean,
                 n_worse, (int)NETWORKS);
}

/* What a database knew is no trial of this session, and is no task's first. */
static void knowledge_costs_no_trials(void **state) {
    (void)state;
    kiln_arena a = {0};
    const kiln_task_weight w[] = {{2, 1000, 0, 0}, {1, 1000, 0, 0}};
    const kiln_task_scheduler_options o = {.max_trials = 32};
    int trials;
    kiln_task_scheduler *s = kiln_task_scheduler_new(&a, w, 2, &o);
    assert_true(kiln_task_scheduler_latency_ns(s) == 3000);
    kiln_task_scheduler_report(s, 0, 500, 400, false);
    assert_true(kiln_task_scheduler_latency_ns(s) == 1800);
    assert_int_equal(kiln_task_scheduler_next(s, 5, &trials), 1);
    assert_int_equal(trials, 32);
    kiln_task_scheduler_report(s, 1, 32, 0, false); /* none of them worked */
    assert_true(kiln_task_scheduler_latency_ns(s) == 1800);
    assert_int_equal(kiln_task_scheduler_next(s, 6, &trials), -1);
    assert_string_equal(kiln_task_end_name(kiln_task_scheduler_end(s)), "trials spent");
    kiln_arena_fini(&a);
}

/* A task without any kernel and of unknown cost is tried until patience ends, then left
 * for one that gains. */
static void unknown_costs_get_patience(void **state) {
    (void)state;
    kiln_arena a = {0};
    const kiln_task_weight w[] = {{1, 0, 0, 0}, {1, 1000, 0, 0}};
    const kiln_task_scheduler_options o = {.batch = 16, .patience_trials = 48};
    kiln_task_scheduler *s = kiln_task_scheduler_new(&a, w, 2, &o);
    int trials, n_first = 0, task;
    kiln_task_scheduler_report(s, 1, 16, 900, false);
    while ((task = kiln_task_scheduler_next(s, 0, &trials)) == 0) {
        kiln_task_scheduler_report(s, 0, trials, 0, false);
        n_first += trials;
    }
    assert_int_equal(n_first, 48);
    assert_int_equal(task, 1);
    kiln_arena_fini(&a);
}

/* A task at its floor has nothing to gain. */
static void floors_bound_what_is_hoped_for(void **state) {
    (void)state;
    kiln_arena a = {0};
    const kiln_task_weight w[] = {{1, 1000, 990, 0}, {1, 1000, 100, 0}};
    kiln_task_scheduler *s = kiln_task_scheduler_new(&a, w, 2, NULL);
    kiln_task_scheduler_report(s, 0, 32, 990, false);
    kiln_task_scheduler_report(s, 1, 32, 990, false);
    assert_true(kiln_task_scheduler_gain(s, 0) == 0);
    assert_true(kiln_task_scheduler_gain(s, 1) > 1);
    kiln_arena_fini(&a);
}

/* What a search does: a step now and then, flats between. A kernel of so many percent
 * of what the machine allows, from that trial on. */
typedef struct step {
    int64_t at;
    double percent;
} step;
enum { MAX_STEPS = 6 };
typedef struct stairs_row {
    const char *name;
    step step[2][MAX_STEPS]; /* of two tasks, */
    int pairs, batch;        /* so many times; trials of a turn */
    double least[2];         /* percent, when nothing more is expected */
    int64_t most;            /* trials in all */
} stairs_row;

static stairs_row stairs_rows[] = {
    /* One of many kernels saves little of the whole in a turn: once that was the end of
     * all of them, at 82% and 74% of what the machine allows. */
    {"goes_on_behind_flats",
     {{{1, 50}, {8, 82}, {70, 90}, {130, 97}},
      {{1, 40}, {16, 74}, {72, 88}, {120, 96}}},
     10,
     8,
     {97, 96},
     3200},
    {"goes_on_as_long_as_it_took",
     {{{1, 50}, {60, 70}, {115, 80}, {220, 96}}, {{1, 50}, {40, 99}}},
     1,
     16,
     {96, 99},
     400},
    /* Whatever else is hoped for: there is nothing to gain. */
    {"leaves_what_is_at_its_floor",
     {{{1, 96}}, {{1, 50}, {8, 97}}},
     1,
     8,
     {96, 97},
     24},
    {"gives_up_flats_without_end",
     {{{1, 50}, {8, 60}}, {{1, 50}, {40, 60}}},
     1,
     8,
     {60, 60},
     192},
    {"takes_noise_for_a_flat",
     {{{1, 50}, {8, 60}, {50, 60.1}, {100, 60.2}, {160, 60.29}}, {{1, 99}}},
     1,
     8,
     {60, 99},
     80},
};

static double percent_after(const step *s, int64_t trials) {
    double percent = 0;
    for (int i = 0; i < MAX_STEPS && s[i].at > 0 && s[i].at <= trials; i++)
        percent = s[i].percent;
    return percent;
}

static void climbs_stairs(void **state) {
    enum { MAX_TURNS = 10000, MAX_PAIRS = 10 };
    static const double floor_ns = 1e6;
    const stairs_row *r = *state;
    kiln_arena a = {0};
    kiln_task_weight w[2 * MAX_PAIRS];
    for (int i = 0; i < 2 * r->pairs; i++)
        w[i] = (kiln_task_weight){1 + i % 2, 4 * floor_ns, floor_ns, 0};
    const kiln_task_scheduler_options o = {.batch = r->batch};
    kiln_task_scheduler *s = kiln_task_scheduler_new(&a, w, 2 * r->pairs, &o);
    int64_t trials[2 * MAX_PAIRS] = {0}, all = 0;
    int n, task, turns = 0;
    for (; (task = kiln_task_scheduler_next(s, 0, &n)) >= 0; turns++) {
        assert_true(turns < MAX_TURNS);
        trials[task] += n;
        all += n;
        const double percent = percent_after(r->step[task % 2], trials[task]);
        kiln_task_scheduler_report(s, task, n, floor_ns / percent * 100, false);
    }
    assert_int_equal(kiln_task_scheduler_end(s), KILN_TASKS_NO_GAIN);
    for (int i = 0; i < 2 * r->pairs; i++)
        if (percent_after(r->step[i % 2], trials[i]) < r->least[i % 2])
            fail_msg("task %d was given up at %g%%, after %lld trials", i,
                     percent_after(r->step[i % 2], trials[i]), (long long)trials[i]);
    assert_in_range(all, 2, r->most);
    kiln_arena_fini(&a);
}

/* ---- ways to do one work ---------------------------------------------------------- */

/* Two ways of one work and another work: who gets the trials. */
static outcome play_ways(const curve *c, int n, const int *work, int64_t trials) {
    kiln_arena a = {0};
    kiln_task_weight w[MAX_TASKS] = {{0}};
    const kiln_task_scheduler_options o = {.max_trials = trials, .batch = 8};
    outcome out = {.turns = 0};
    for (int i = 0; i < n; i++)
        w[i] = (kiln_task_weight){
            .weight = c[i].weight, .start_ns = c[i].start_ns, .work = work[i]};
    kiln_task_scheduler *s = kiln_task_scheduler_new(&a, w, n, &o);
    for (int task, more; (task = kiln_task_scheduler_next(s, 1, &more)) >= 0;) {
        out.trials[task] += more;
        out.all += more;
        kiln_task_scheduler_report(s, task, more,
                                   cost_after(&c[task], out.trials[task]), false);
    }
    out.latency_ns = kiln_task_scheduler_latency_ns(s);
    out.end = kiln_task_scheduler_end(s);
    kiln_arena_fini(&a);
    return out;
}

/* A way that is far behind, and falls slowly, gets a first look and no more; one that
 * overtakes gets most. */
static void the_better_way_gets_the_trials(void **state) {
    (void)state;
    static const int work[] = {1, 1, 2};
    static const curve behind[] = {
        {1, 1000, 500, 20, 0}, {1, 4000, 3500, 50, 0}, {1, 1000, 800, 20, 0}};
    static const curve overtakes[] = {
        {1, 1000, 900, 10, 0}, {1, 1400, 300, 10, 0}, {1, 1000, 800, 20, 0}};
    outcome x = play_ways(behind, 3, work, 200);
    assert_int_equal(x.all, 200);
    assert_true(x.trials[1] <= 16 && x.trials[0] >= 80);
    x = play_ways(overtakes, 3, work, 200);
    assert_true(x.trials[1] > 2 * x.trials[0]);
    assert_true(x.latency_ns < 300 * 1.2 + 1000);
}

/* One work with two ways counts once, by the better of them. */
static void ways_count_once(void **state) {
    (void)state;
    static const kiln_task_weight w[] = {
        {2, 1000, 0, 7}, {2, 1500, 0, 7}, {1, 100, 0, 0}, {1, 100, 0, 0}};
    kiln_task_scheduler *s = kiln_task_scheduler_new(kiln_test_arena(), w, 4, NULL);
    assert_true(fabs(kiln_task_scheduler_latency_ns(s) - 2200) < 1e-9);
    kiln_task_scheduler_report(s, 1, 1, 400, false);
    assert_true(fabs(kiln_task_scheduler_latency_ns(s) - 1000) < 1e-9);
    kiln_task_scheduler_report(s, 0, 1, 300, false);
    assert_true(fabs(kiln_task_scheduler_latency_ns(s) - 800) < 1e-9);
}

/* A template of which nothing runs does not take what patience allows a work that
 * nothing is known of. */
static void a_way_that_fails_is_left(void **state) {
    (void)state;
    static const kiln_task_weight w[] = {{1, 1000, 0, 1}, {1, 0, 0, 1}};
    const kiln_task_scheduler_options o = {.max_trials = 200, .batch = 4};
    kiln_task_scheduler *s = kiln_task_scheduler_new(kiln_test_arena(), w, 2, &o);
    int64_t of[2] = {0};
    for (int task, more; (task = kiln_task_scheduler_next(s, 1, &more)) >= 0;) {
        of[task] += more;
        kiln_task_scheduler_report(
            s, task, more, task == 0 ? 1000 * exp2(-(double)of[0] / 100) : 0, false);
    }
    assert_true(of[1] >= 4 && of[1] <= 16);
    assert_true(of[0] >= 64);
}

/* A template all of whose trials were stopped as too slow has a bound too; and one whose
 * algorithm cannot be as fast as what is known needs no trial. */
static void slow_ways_are_left(void **state) {
    (void)state;
    static const kiln_task_weight w[] = {
        {1, 0, 100, 1}, {1, 0, 100, 1}, {1, 0, 1100, 1}};
    const kiln_task_scheduler_options o = {.max_trials = 200, .batch = 4};
    kiln_task_scheduler *s = kiln_task_scheduler_new(kiln_test_arena(), w, 3, &o);
    int64_t of[3] = {1, 1, 0};
    kiln_task_scheduler_report(s, 0, 1, 1000, false);
    kiln_task_scheduler_saw(s, 1, 4000, 0);
    kiln_task_scheduler_report(s, 1, 1, 0, false);
    for (int task, more; (task = kiln_task_scheduler_next(s, 1, &more)) >= 0;) {
        of[task] += more;
        if (task == 1)
            kiln_task_scheduler_saw(s, 1, 4000, 0);
        kiln_task_scheduler_report(
            s, task, more, task == 0 ? 1000 * exp2(-(double)of[0] / 400) : 0, false);
    }
    assert_true(of[0] >= 64);
    assert_true(of[1] <= 13 && of[2] == 0);
}

/* A search of a template: a rule to begin with, then steps down, the first ones soon. */
static double way_after(const curve *c, kiln_rng *luck, int64_t trials) {
    const double smooth = cost_after(c, trials - 1);
    const double stair = 0.02 * c->start_ns; /* costs are seen when they fall by that */
    return fmax(c->end_ns, stair * ceil(smooth / stair)) *
           (1 + 0.005 * kiln_rng_unit(luck));
}

/* Drawn works of three templates each, 128 trials: how far the best that was found is
 * from what the best template gives by all of them. */
static double best_of_ways(kiln_rng *rng, bool in_order, double *share) {
    enum { WAYS = 3, TRIALS = 128, TURN = 4 };
    curve c[WAYS];
    kiln_task_weight w[WAYS];
    kiln_arena a = {0};
    double alone[WAYS], found = HUGE_VAL;
    int64_t trials[WAYS] = {0};
    int best = 0;
    for (int i = 0; i < WAYS; i++) {
        const double start = 1e5 * exp2(1.2 * kiln_rng_unit(rng));
        c[i] = (curve){.weight = 1,
                       .start_ns = start,
                       .end_ns = start * (0.7 + 0.3 * kiln_rng_unit(rng)),
                       .half = 4 + 20 * kiln_rng_unit(rng)};
        w[i] = (kiln_task_weight){.weight = 1, .work = 1};
        alone[i] = cost_after(&c[i], TRIALS);
        best = alone[i] < alone[best] ? i : best;
    }
    const kiln_task_scheduler_options o = {
        .max_trials = TRIALS, .batch = TURN, .patience_trials = TRIALS};
    kiln_task_scheduler *s = kiln_task_scheduler_new(&a, w, WAYS, &o);
    for (int turn = 0, all = 0, task, n; all < TRIALS; turn++, all += n) {
        task = kiln_task_scheduler_next(s, 1, &n);
        if (task < 0)
            break;
        task = in_order ? turn % WAYS : task;
        trials[task] += n;
        const double cost = way_after(&c[task], rng, trials[task]);
        found = fmin(found, cost);
        kiln_task_scheduler_saw(s, task, cost, 0);
        kiln_task_scheduler_report(s, task, n, cost, false);
    }
    kiln_arena_fini(&a);
    *share += (double)trials[best] / TRIALS;
    return found / alone[best];
}

static void the_best_way_is_found(void **state) {
    (void)state;
    enum { WORKS = 300 };
    double log_ratio[2] = {0}, share[2] = {0};
    int n_missed = 0;
    for (int in_order = 0; in_order < 2; in_order++) {
        kiln_rng rng;
        kiln_rng_init(&rng, kiln_test_seed());
        for (int k = 0; k < WORKS; k++) {
            const double ratio = best_of_ways(&rng, in_order != 0, &share[in_order]);
            log_ratio[in_order] += log(ratio);
            n_missed += in_order == 0 && ratio > 1.1;
        }
    }
    const double mean = exp(log_ratio[0] / WORKS), in_order = exp(log_ratio[1] / WORKS);
    printf("best of three templates: %.4f of what the best one alone gives, %.0f%% of "
           "the trials are its own, %d of %d missed; in turns %.4f\n",
           mean, 100 * share[0] / WORKS, n_missed, (int)WORKS, in_order);
    if (mean > 1.03 || mean > in_order || share[0] < 0.6 * WORKS ||
        n_missed > WORKS / 30)
        fail_msg("bandit %.4f, in turns %.4f, %d missed", mean, in_order, n_missed);
}

/* What is expected falls with trials, never below the floors; asking changes nothing. */
static void what_is_expected_falls(void **state) {
    (void)state;
    kiln_arena a = {0};
    const kiln_task_weight w[] = {{2, 1000, 400, 0}, {1, 500, 450, 0}, {0, 90, 10, 0}};
    kiln_task_scheduler *s = kiln_task_scheduler_new(&a, w, 3, NULL);
    assert_true(kiln_task_scheduler_expected_ns(s, 1000) <= 2500); /* none has a best */
    assert_true(kiln_task_scheduler_expected_ns(s, 1000) >= 2500);
    kiln_task_scheduler_report(s, 0, 16, 900, false);
    kiln_task_scheduler_report(s, 1, 16, 480, false);
    const double now = kiln_task_scheduler_latency_ns(s);
    const double gain = kiln_task_scheduler_gain(s, 0);
    double before = now;
    assert_true(kiln_task_scheduler_expected_ns(s, 0) == now);
    for (int64_t n = 8; n <= 4096; n *= 2) {
        const double then = kiln_task_scheduler_expected_ns(s, n);
        assert_true(then <= before && then >= 2 * 400 + 450);
        before = then;
    }
    assert_true(before < 0.95 * now);
    assert_true(kiln_task_scheduler_gain(s, 0) == gain);
    assert_true(kiln_task_scheduler_latency_ns(s) == now);
    kiln_arena_fini(&a);
}

int main(void) {
    kiln_test_add("what_is_expected_falls", what_is_expected_falls, NULL);
    kiln_test_add_rows(check_row, rows);
    kiln_test_add_rows(climbs_stairs, stairs_rows);
    kiln_test_add("beats_turns_in_order", beats_turns_in_order, NULL);
    kiln_test_add("knowledge_costs_no_trials", knowledge_costs_no_trials, NULL);
    kiln_test_add("unknown_costs_get_patience", unknown_costs_get_patience, NULL);
    kiln_test_add("floors_bound_what_is_hoped_for", floors_bound_what_is_hoped_for,
                  NULL);
    kiln_test_add("the_better_way_gets_the_trials", the_better_way_gets_the_trials,
                  NULL);
    kiln_test_add("ways_count_once", ways_count_once, NULL);
    kiln_test_add("a_way_that_fails_is_left", a_way_that_fails_is_left, NULL);
    kiln_test_add("slow_ways_are_left", slow_ways_are_left, NULL);
    kiln_test_add("the_best_way_is_found", the_best_way_is_found, NULL);
    return kiln_test_run("scheduler");
}
