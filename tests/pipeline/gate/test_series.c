/* Pairs by script: what comes of times, disturbances and clocks that are given, and
 * thousands of simulated nights through everything that a night does: looks, the
 * control against itself, processes taken again, the second run. */
#include "pipeline/gate/gate.h"
#include "tests/support/kiln_test.h"

#include <math.h>
#include <string.h>

enum { RUNS = 20 };

/* What a process says, by who runs and how many have run before. */
typedef struct script {
    const char *name;
    double slow;         /* candidate / control; 0: 1 */
    double itself;       /* second control / control; 0: 1 */
    double swing;        /* the candidate's share more in every other process */
    double noise;        /* each process more or less, in turns, alike for nobody */
    int slow_until;      /* processes, after which the candidate is as fast */
    int disturbed_every; /* one of so many is disturbed, and half as slow again */
    int disturbed_after; /* processes, after which all are */
    int disturbed_until; /* processes, before which all are */
    bool is_warm;        /* which is the machine's own heat, at 91 degrees */
    double taken;        /* processors that others had, as they say */
    int clock_every;     /* one of so many runs at 0.8 of the clock */
    int clock_after;     /* processes, after which all run at 0.8 of the clock */
    double own_clock;    /* of the candidate, to that of the control; 0: 1 */
    bool is_zero;        /* times of 0 */
    kiln_gate_limits limits;
    kiln_gate_outcome want;
    const char *reason; /* begins, or has, this */
    int pairs;          /* 0: not looked at */
    int min_retaken;
    int gives_up; /* after so many processes that count; 0: it does not */
} script;

static script rows[] = {
    {"five_percent_is_allowed", .slow = 1.05, .limits = {.06, .1},
     .want = KILN_GATED_PASS, .reason = "below 10%", .pairs = 10},
    {"half_a_percent_is_too_much", .slow = 1.005, .limits = {.001, .004},
     .want = KILN_GATED_FAIL, .reason = "in a second run", .pairs = 10},
    {"swing_by_other_limits", .swing = .04, .limits = {.011, .031},
     .want = KILN_GATED_INCONCLUSIVE,
     .reason = "neither below 3.1% nor above 1.1% for sure", .pairs = 24},
    {"alike_where_limits_are_wide", .itself = 1.05, .limits = {.1, .2},
     .want = KILN_GATED_PASS, .pairs = 10},
    {"same_code_passes", .want = KILN_GATED_PASS, .reason = "below 3%", .pairs = 10},
    {"faster_code_passes", .slow = .9, .want = KILN_GATED_PASS, .pairs = 10},
    {"half_a_percent_passes", .slow = 1.005, .want = KILN_GATED_PASS, .pairs = 10},
    {"five_percent_fails_twice", .slow = 1.05, .want = KILN_GATED_FAIL,
     .reason = "in a second run", .pairs = 10},
    {"failure_that_does_not_come_again", .slow = 1.05, .slow_until = 60,
     .want = KILN_GATED_INCONCLUSIVE, .reason = "but a second run found"},
    {"neither_slow_nor_alike", .swing = .04, .want = KILN_GATED_INCONCLUSIVE,
     .reason = "neither below 3% nor above 1% for sure", .pairs = 24},
    {"control_slower_than_itself", .itself = 1.05, .want = KILN_GATED_INVALID,
     .reason = "the accepted archive differs from itself by"},
    {"control_faster_than_itself", .itself = .95, .want = KILN_GATED_INVALID,
     .reason = "the accepted archive differs from itself by"},
    {"failure_on_a_bad_machine", .slow = 1.05, .itself = .95,
     .want = KILN_GATED_INVALID, .reason = "the accepted archive differs"},
    {"storm", .noise = .5, .want = KILN_GATED_INVALID,
     .reason = ") after 10 pairs, and more would not be enough", .pairs = 10,
     .gives_up = 60},
    {"storm_that_wide_limits_allow", .noise = .5, .limits = {.1, .16},
     .want = KILN_GATED_PASS, .reason = "below 16%", .pairs = 24},
    {"noise_that_narrow_limits_do_not_allow", .noise = .1, .limits = {.001, .004},
     .want = KILN_GATED_INVALID,
     .reason = ") after 10 pairs, and more would not be enough", .pairs = 10,
     .gives_up = 60},
    {"noise_that_more_pairs_cure", .noise = .1, .want = KILN_GATED_PASS,
     .reason = "after 24 pairs", .pairs = 24},
    {"noise_that_more_pairs_might_have_cured", .noise = .2, .want = KILN_GATED_INVALID,
     .reason = "the machine is too noisy: the accepted archive against itself gives",
     .pairs = 24},
    {"no_time_at_all", .is_zero = true, .want = KILN_GATED_INVALID,
     .reason = "a process reported a time of 0"},
    {"disturbed_now_and_then", .disturbed_every = 6, .want = KILN_GATED_PASS,
     .pairs = 10, .min_retaken = 5},
    {"disturbed_and_slower", .slow = 1.05, .disturbed_every = 6,
     .want = KILN_GATED_FAIL, .min_retaken = 5},
    {"always_disturbed", .disturbed_every = 1, .want = KILN_GATED_INVALID,
     .reason = "given up after 16 of 60 processes: 16 of them were disturbed",
     .min_retaken = 32, .gives_up = 16},
    {"too_warm", .disturbed_every = 1, .is_warm = true, .want = KILN_GATED_INVALID,
     .reason = "the machine holds its clock back, it is too warm (91 degrees)",
     .min_retaken = 32, .gives_up = 16},
    {"warm_now_and_then", .disturbed_every = 6, .is_warm = true,
     .want = KILN_GATED_PASS, .reason = "below 3%", .pairs = 10, .min_retaken = 5},
    {"says_who_disturbed_it", .disturbed_every = 1, .taken = 1.4,
     .want = KILN_GATED_INVALID,
     .reason = "others use the machine; meanwhile others took 1.40 of 2 processors: "
               "stress 1.25 (3 processes), the hypervisor 0.15",
     .min_retaken = 32, .gives_up = 16},
    {"says_who_makes_it_differ_from_itself", .itself = 1.05, .taken = 1.4,
     .want = KILN_GATED_INVALID,
     .reason = "makes the difference; meanwhile others took 1.40 of 2 processors"},
    {"blames_nobody_for_a_good_end", .taken = 1.4, .want = KILN_GATED_PASS,
     .reason = "below 3%", .pairs = 10},
    {"disturbed_until_it_is_too_late", .disturbed_after = 30,
     .want = KILN_GATED_INVALID, .reason = "given up after 46 of 60 processes",
     .min_retaken = 32, .gives_up = 46},
    {"disturbed_for_a_while", .disturbed_until = 40, .want = KILN_GATED_PASS,
     .reason = "below 3%", .pairs = 10, .min_retaken = 26},
    {"disturbed_after_a_look", .swing = .04, .disturbed_after = 60,
     .want = KILN_GATED_INVALID, .reason = "given up after 82 of 84 processes",
     .pairs = 10, .min_retaken = 44, .gives_up = 82},
    {"clock_that_changes", .clock_every = 8, .want = KILN_GATED_PASS, .min_retaken = 1},
    {"clock_that_stays_changed", .clock_after = 25, .want = KILN_GATED_PASS,
     .min_retaken = 1},
    {"clock_of_its_own", .own_clock = .8, .want = KILN_GATED_PASS, .pairs = 10},
};

typedef struct player {
    const script *s;
    int n, n_side[KILN_N_GATE_SIDES];
} player;

static double or_one(double v) { return v > 0 ? v : 1; }

static kiln_status play(void *user, kiln_gate_side side, kiln_gate_process *out,
                        kiln_err *err) {
    (void)err;
    player *p = user;
    const script *s = p->s;
    const int n = p->n++, own = p->n_side[side]++;
    const bool is_slow = s->slow_until == 0 || n < s->slow_until;
    double ms = 10 + 0.001 * (n % 7);
    double clock = 4;
    if (side == KILN_GATE_CANDIDATE)
        ms *= (is_slow ? or_one(s->slow) : 1) * (own / 2 % 2 == 1 ? 1 + s->swing : 1);
    if (side == KILN_GATE_AGAIN)
        ms *= or_one(s->itself);
    ms *= 1 + s->noise * (double)(kiln_hash64(&n, sizeof n, 1) % 100) / 100;
    if (side == KILN_GATE_CANDIDATE)
        clock *= or_one(s->own_clock);
    const bool is_disturbed =
        (s->disturbed_every > 0 && n % s->disturbed_every == s->disturbed_every - 1) ||
        (s->disturbed_after > 0 && n >= s->disturbed_after) || n < s->disturbed_until;
    if ((s->clock_every > 0 && n % s->clock_every == s->clock_every - 1) ||
        (s->clock_after > 0 && n >= s->clock_after)) {
        clock *= 0.8;
        ms /= 0.8;
    }
    *out = (kiln_gate_process){.ms = s->is_zero     ? 0
                                     : is_disturbed ? ms * 1.5
                                                    : ms,
                               .min_ms = ms,
                               .clock_ghz = clock,
                               .n_runs = RUNS,
                               .n_disturbed = is_disturbed ? RUNS - 1 : 0,
                               .n_throttled = is_disturbed && s->is_warm ? RUNS - 1 : 0,
                               .degrees = s->is_warm ? 91 : 0};
    return KILN_OK;
}

/* What others had, a tenth of a processor and more by the hypervisor. */
static void play_others(void *user, kiln_arena *a, kiln_busy_report *out) {
    const player *p = user;
    (void)a;
    if (out != NULL)
        *out = (kiln_busy_report){.seconds = 60,
                                  .processors = 2,
                                  .taken = p->s->taken,
                                  .hypervisor = 0.15,
                                  .n = 1,
                                  .row = {{"stress", 3, p->s->taken - 0.15}}};
}

static void check_script(void **state) {
    const script *s = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    player p = {.s = s};
    const kiln_gate_bench b = {.run = play,
                               .user = &p,
                               .others = play_others,
                               .others_user = &p,
                               .limits = s->limits};
    kiln_gate_timing t;
    kiln_assert_status_ok(kiln_gate_time(&a, &b, 7, &t, &err), &err);
    print_message("%s: %s\n", kiln_gate_outcome_name(t.outcome), t.reason);
    assert_int_equal(t.outcome, s->want);
    if (s->reason != NULL)
        assert_non_null(strstr(t.reason, s->reason));
    if (s->pairs > 0)
        assert_int_equal(t.first.pairs, s->pairs);
    assert_true(t.first.n_retaken >= s->min_retaken);
    assert_int_equal(t.first.gave_up, s->gives_up > 0);
    assert_int_equal(t.first.degrees, s->is_warm ? 91 : 0);
    assert_int_equal(t.first.n_throttled > 0, s->is_warm);
    if (s->gives_up > 0)
        assert_int_equal(t.first.sample.n - (size_t)t.first.n_retaken, s->gives_up);
    if (t.outcome != KILN_GATED_INVALID)
        assert_null(strstr(t.reason, "meanwhile"));
    if (t.first.problem == NULL)
        assert_true(t.first.pairs_needed >= 10);
    assert_int_equal(t.has_second,
                     t.first.problem == NULL && t.first.look.verdict == KILN_GATE_FAIL);
    /* Every process is in the list. */
    assert_int_equal(t.first.sample.n + t.second.sample.n, p.n);
    kiln_arena_fini(&a);
}

/* A ratio for the history of nights gives up as well, and has none then. */
static void ratios_give_up_too(void **state) {
    (void)state;
    static const script storm = {.name = "storm", .disturbed_every = 1, .taken = 1};
    kiln_arena a = {0};
    kiln_err err = {0};
    player p = {.s = &storm};
    const kiln_gate_bench b = {
        .run = play, .user = &p, .others = play_others, .others_user = &p};
    kiln_gate_series s;
    kiln_assert_status_ok(kiln_gate_ratio_run(&a, &b, 7, 16, &s, &err), &err);
    assert_true(s.gave_up && isnan(s.ratio.estimate));
    assert_non_null(strstr(s.problem, "given up after 17 of 64 processes"));
    assert_non_null(strstr(s.problem, "meanwhile others took 1.00 of 2 processors"));
    kiln_arena_fini(&a);
}

/* ---- order ----------------------------------------------------------------------- */

static const script even = {.name = "even"};

static kiln_gate_series series_of(kiln_arena *a, uint64_t seed) {
    kiln_err err = {0};
    player p = {.s = &even};
    const kiln_gate_bench b = {.run = play, .user = &p};
    kiln_gate_series s;
    kiln_assert_status_ok(kiln_gate_series_run(a, &b, seed, true, &s, &err), &err);
    return s;
}

static bool same_order(const kiln_gate_series *x, const kiln_gate_series *y) {
    for (size_t i = 0; i < x->sample.n && i < y->sample.n; i++)
        if (x->sample.v[i].side != y->sample.v[i].side)
            return false;
    return x->sample.n == y->sample.n;
}

static void order_is_the_seeds(void **state) {
    (void)state;
    kiln_arena a = {0};
    const kiln_gate_series x = series_of(&a, 1), y = series_of(&a, 1),
                           z = series_of(&a, 2);
    int n_first[KILN_N_GATE_SIDES] = {0};
    assert_true(same_order(&x, &y));
    assert_false(same_order(&x, &z));
    assert_int_equal(x.sample.n, 60);
    enum { OF_A_PAIR = 2 * KILN_N_GATE_SIDES };
    for (size_t i = 0; i < x.sample.n; i += OF_A_PAIR) {
        unsigned seen = 0;
        for (size_t k = 0; k < KILN_N_GATE_SIDES; k++) {
            const kiln_gate_sample *there = &x.sample.v[i + k];
            const kiln_gate_sample *back = &x.sample.v[i + OF_A_PAIR - 1 - k];
            assert_int_equal(there->pair, i / OF_A_PAIR);
            assert_int_equal(back->pair, there->pair);
            assert_int_equal(back->side, there->side);
            seen |= 1U << there->side;
        }
        assert_int_equal(seen, 7); /* every side */
        n_first[x.sample.v[i].side]++;
    }
    for (int side = 0; side < KILN_N_GATE_SIDES; side++)
        assert_in_range(n_first[side], 1, 8);
    kiln_arena_fini(&a);
}

/* ---- a runner that fails --------------------------------------------------------- */

static kiln_status break_down(void *user, kiln_gate_side side, kiln_gate_process *out,
                              kiln_err *err) {
    int *left = user;
    if ((*left)-- == 0)
        return kiln_fail(err, KILN_ERR_LIB, "the package crashed");
    player p = {.s = &even};
    return play(&p, side, out, err);
}

static void failures_of_the_runner_end_it(void **state) {
    (void)state;
    for (int n = 0; n < 80; n += 26) {
        kiln_arena a = {0};
        kiln_err err = {0};
        int left = n;
        const kiln_gate_bench b = {.run = break_down, .user = &left};
        kiln_gate_timing t;
        const kiln_status st = kiln_gate_time(&a, &b, 1, &t, &err);
        if (n < 60)
            kiln_assert_fails(st, KILN_ERR_LIB, &err, "the package crashed");
        else /* ten pairs of six were enough */
            kiln_assert_status_ok(st, &err);
        kiln_arena_fini(&a);
    }
}

/* ---- nights ---------------------------------------------------------------------- */

enum { NIGHTS = 1000 };

/* A process is the median of many runs: half a percent of noise, and now and then one
 * that somebody slows without being seen, is a machine that others use too. */
typedef struct weather {
    const char *name;
    double slowdown, noise;
    double outliers; /* share of processes that are slower by up to half, unseen */
    double drift;    /* what everything gets slower by in a hundred processes */
    double steps;    /* chance that a process runs at another clock */
    int max_fail, min_fail;
} weather;

static weather nights[] = {
    {"quiet", 0, .003, 0, 0, 0, 0, 0},
    {"noisy", 0, .01, .02, .05, 0, 5, 0},
    {"outliers", 0, .006, .1, 0, 0, 5, 0},
    {"drifting", 0, .006, .02, .3, 0, 5, 0},
    {"storm", 0, .05, .2, .3, .1, 5, 0},
    {"clock_steps", 0, .005, .01, 0, .1, 5, 0},
    {"half_a_percent", .005, .006, .02, 0, 0, 5, 0},
    {"three_percent_quiet", .03, .003, 0, 0, 0, NIGHTS, 980},
    {"three_percent_shared", .03, .005, .01, .05, 0, NIGHTS, 980},
    {"five_percent_noisy", .05, .01, .01, .05, 0, NIGHTS, 980},
    {"five_percent_clock_steps", .05, .005, .01, 0, .05, NIGHTS, 980},
};

typedef struct night {
    const weather *w;
    kiln_rng rng;
    int n;
} night;

static double normal(kiln_rng *rng) {
    const double u = kiln_rng_unit(rng), v = kiln_rng_unit(rng);
    return sqrt(-2 * log(1 - u)) * cos(6.283185307179586 * v);
}

static kiln_status run_at_night(void *user, kiln_gate_side side, kiln_gate_process *out,
                                kiln_err *err) {
    (void)err;
    night *t = user;
    const weather *w = t->w;
    double ms = 10 * exp(w->noise * normal(&t->rng)) * (1 + w->drift * t->n++ / 100);
    if (side == KILN_GATE_CANDIDATE)
        ms *= 1 + w->slowdown;
    if (kiln_rng_unit(&t->rng) < w->outliers)
        ms *= 1 + 0.5 * kiln_rng_unit(&t->rng);
    const double clock = kiln_rng_unit(&t->rng) < w->steps ? 0.9 : 1;
    *out = (kiln_gate_process){
        .ms = ms / clock, .min_ms = ms / clock, .clock_ghz = 4 * clock, .n_runs = RUNS};
    return KILN_OK;
}

static void check_nights(void **state) {
    const weather *w = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    int n[KILN_N_GATED] = {0};
    night t = {.w = w};
    kiln_rng_init(&t.rng, kiln_test_seed());
    const kiln_gate_bench b = {.run = run_at_night, .user = &t};
    for (int i = 0; i < NIGHTS; i++) {
        kiln_gate_timing timing;
        t.n = 0;
        kiln_assert_status_ok(kiln_gate_time(&a, &b, (uint64_t)i, &timing, &err), &err);
        n[timing.outcome]++;
        kiln_arena_reset(&a);
    }
    print_message("%s: of %d nights %d fail, %d pass, %d inconclusive, %d invalid\n",
                  w->name, NIGHTS, n[KILN_GATED_FAIL], n[KILN_GATED_PASS],
                  n[KILN_GATED_INCONCLUSIVE], n[KILN_GATED_INVALID]);
    assert_in_range(n[KILN_GATED_FAIL], w->min_fail, w->max_fail);
    kiln_arena_fini(&a);
}

/* ---- the ratio of a night ----------------------------------------------------------
 *
 * What the history of nights takes each night for (tests/reports/stats/test_trend.c): an
 * interval that holds the truth, and noise that it knows. */

static void ratios_have_the_interval_that_they_say(void **state) {
    (void)state;
    enum { SERIES = 600, PAIRS = 16 };
    static const weather usual = {"usual", .02, .006, .02, .05, 0, 0, 0};
    kiln_arena a = {0};
    kiln_err err = {0};
    night t = {.w = &usual};
    const kiln_gate_bench b = {.run = run_at_night, .user = &t};
    int held = 0;
    double squares = 0, widths = 0;
    kiln_rng_init(&t.rng, kiln_test_seed());
    for (int i = 0; i < SERIES; i++) {
        kiln_gate_series s;
        t.n = 0;
        kiln_assert_status_ok(kiln_gate_ratio_run(&a, &b, (uint64_t)i, PAIRS, &s, &err),
                              &err);
        assert_null(s.problem);
        assert_int_equal(s.pairs, PAIRS);
        held += s.ratio.low <= 1.02 && 1.02 <= s.ratio.high;
        squares += pow(log(s.ratio.estimate / 1.02), 2);
        widths += log(s.ratio.high / s.ratio.low);
        kiln_arena_reset(&a);
    }
    const double sd = sqrt(squares / SERIES), said = widths / SERIES / (2 * 1.96);
    print_message("%d of %d intervals hold the ratio; a night's deviation is %.2f%%, "
                  "intervals say %.2f%%\n",
                  held, SERIES, 100 * sd, 100 * said);
    assert_true(held >= SERIES * 93 / 100);
    assert_true(sd < .003 && said > .8 * sd && said < 1.5 * sd);
    kiln_arena_fini(&a);
}

int main(void) {
    kiln_test_add_rows(check_script, rows);
    kiln_test_add("ratios_give_up_too", ratios_give_up_too, NULL);
    kiln_test_add("order_is_the_seeds", order_is_the_seeds, NULL);
    kiln_test_add("failures_of_the_runner_end_it", failures_of_the_runner_end_it, NULL);
    kiln_test_add_rows(check_nights, nights);
    kiln_test_add("ratios_have_the_interval_that_they_say",
                  ratios_have_the_interval_that_they_say, NULL);
    return kiln_test_run("gate: series");
}
