/* The pool's core against devices that crash and hang and tuners that come and go, in
 * simulated time: no trial is lost or done twice, nothing is lent twice, no owner starves,
 * who hangs is out of the way within a minute, and healthy devices work. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arithmetic/rng.h"
#include "pipeline/pool/pool_core.h"
#include "tests/support/kiln_test.h"

enum {
    STEP_MS = 100,
    MAX_TUNERS = 6,
    MAX_SLOTS = 8,
    N_DEVICES = 8,
    MOST_TRIALS = 4000,
    NOBODY = -1
};
static const int64_t minute = 60000;

/* What is the matter with a device: what heals it. */
typedef enum trouble {
    FINE,
    HEALS_CHILD,
    HEALS_SERVER,
    HEALS_POWER,
    HEALS_NEVER
} trouble;

typedef struct board {
    trouble is;
    bool is_mute;       /* its server is, too */
    int64_t since_ms;   /* of the trouble */
    int64_t back_ms;    /* restarting: it is there again; 0: it is not restarting */
    int64_t greet_ms;   /* its greeting comes; 0: nobody asked for it */
    int tuner, slot;    /* who has it, as far as those know; NOBODY */
    int64_t healthy_ms; /* in all */
    int64_t worked_ms;  /* on trials that were done */
    int pace;           /* of 2: profiles differ */
} board;

typedef struct slot {
    int request; /* NOBODY: none */
    int device;  /* NOBODY: it waits */
    bool is_recalled, is_set_up;
    int trial; /* NOBODY: none */
    int64_t end_ms, begin_ms;
    int64_t again_ms; /* it asks again then */
} slot;

typedef struct tuner {
    char name[32];
    int priority, n_slots, kind; /* kind: of devices that it needs; 2: any */
    slot slot[MAX_SLOTS];
    bool is_there;
    int64_t back_ms;
    int64_t starved_ms; /* since when it waits and has nothing; -1: it does not */
    int64_t held_ms;    /* in all */
    int n_done;
    unsigned char done[MOST_TRIALS]; /* how often; by trial */
    int waiting[MOST_TRIALS];        /* trials to be done: a stack */
    int n_waiting;
} tuner;

typedef struct world {
    kiln_lender_core core;
    kiln_rng rng;
    int64_t now;
    board device[N_DEVICES];
    tuner tuner[MAX_TUNERS];
    int n_devices, n_tuners;
    bool has_faults;
} world;

/* A client is a slot of a tuner. */
static bool fits(void *user, int client, int device) {
    const world *w = user;
    const int kind = w->tuner[client / MAX_SLOTS].kind;
    return kind == 2 || w->device[device].pace == kind;
}

static bool chance(world *w, int64_t of) {
    return kiln_rng_range(&w->rng, 0, of - 1) == 0;
}

/* ---- tuners ------------------------------------------------------------------------- */

static void give_up_trial(tuner *t, slot *s) {
    if (s->trial != NOBODY)
        t->waiting[t->n_waiting++] = s->trial;
    s->trial = NOBODY;
}

static void lose_device(world *w, slot *s) {
    if (s->device != NOBODY)
        w->device[s->device].tuner = w->device[s->device].slot = NOBODY;
    s->device = s->request = NOBODY;
}

static void step_slot(world *w, int it, int is) {
    tuner *t = &w->tuner[it];
    slot *s = &t->slot[is];
    if (s->request == NOBODY) {
        if (w->now < s->again_ms || t->n_waiting == 0)
            return;
        s->request = kiln_core_request(&w->core, w->now, t->name, t->priority, 0,
                                       it * MAX_SLOTS + is);
        assert_true(s->request != NOBODY);
        return;
    }
    if (s->device == NOBODY)
        return;
    board *d = &w->device[s->device];
    t->held_ms += STEP_MS;
    kiln_core_request_heard(&w->core, w->now, s->request);
    if (d->is != FINE) /* no answer comes from there */
        return;
    if (w->now < s->end_ms)
        return;
    if (s->trial != NOBODY) {
        d->worked_ms += w->now - s->begin_ms;
        t->done[s->trial]++;
        t->n_done++;
        s->trial = NOBODY;
    }
    kiln_core_device_answered(&w->core, w->now, s->device);
    if (s->is_recalled || t->n_waiting == 0) {
        const int request = s->request;
        lose_device(w, s);
        s->again_ms = w->now;
        kiln_core_request_end(&w->core, w->now, request);
        return;
    }
    s->trial = t->waiting[--t->n_waiting];
    s->begin_ms = w->now;
    s->end_ms = w->now + kiln_rng_range(&w->rng, 500, 5000);
    kiln_core_device_owes(&w->core, w->now, s->device, 0);
}

/* Killed: its connections end. It is started again, and goes on. */
static void kill_tuner(world *w, tuner *t) {
    for (int i = 0; i < t->n_slots; i++) {
        slot *s = &t->slot[i];
        const int request = s->request;
        give_up_trial(t, s);
        lose_device(w, s);
        if (request != NOBODY)
            kiln_core_request_end(&w->core, w->now, request);
    }
    t->is_there = false;
    t->back_ms = w->now + kiln_rng_range(&w->rng, 1000, 20000);
}

static void step_tuner(world *w, int i) {
    tuner *t = &w->tuner[i];
    if (!t->is_there && w->now < t->back_ms)
        return;
    t->is_there = true;
    int n_held = 0, n_asked = 0;
    for (int k = 0; k < t->n_slots; k++)
        step_slot(w, i, k);
    for (int k = 0; k < t->n_slots; k++) {
        n_held += t->slot[k].device != NOBODY;
        n_asked += t->slot[k].request != NOBODY;
    }
    if (n_held > 0 || n_asked == 0)
        t->starved_ms = -1;
    else if (t->starved_ms < 0)
        t->starved_ms = w->now;
}

/* ---- devices -------------------------------------------------------------------------- */

static void heal(world *w, board *d, trouble most, int64_t takes_ms) {
    if (d->is == FINE || d->is > most)
        return;
    d->is = FINE;
    d->is_mute = false;
    d->back_ms = w->now + takes_ms;
    d->since_ms = -1;
}

static void break_device(world *w, int i) {
    board *d = &w->device[i];
    d->is = (trouble)kiln_rng_range(&w->rng, HEALS_CHILD,
                                    chance(w, 12) ? HEALS_NEVER : HEALS_POWER);
    d->is_mute = d->is > HEALS_CHILD && chance(w, 2);
    d->since_ms = w->now;
    d->greet_ms = 0;
    if (d->is_mute && chance(w, 2)) /* crashed, in place of silence */
        kiln_core_device_down(&w->core, w->now, i, "the connection was closed");
}

static void step_device(world *w, int i) {
    board *d = &w->device[i];
    if (d->is == FINE && w->now >= d->back_ms)
        d->healthy_ms += STEP_MS;
    if (!d->is_mute && d->is != HEALS_NEVER && w->now % 5000 == 0)
        kiln_core_device_heard(&w->core, w->now, i);
    if (w->has_faults && d->is == FINE && w->now >= d->back_ms && chance(w, 1200))
        break_device(w, i);
    if (d->greet_ms > 0 && w->now >= d->greet_ms && d->is == FINE) {
        d->greet_ms = 0;
        kiln_core_device_up(&w->core, w->now, i);
    }
}

/* Nothing that hangs is anybody's for longer. */
static void check_devices(world *w) {
    for (int i = 0; i < w->n_devices; i++) {
        const board *d = &w->device[i];
        if (d->is != FINE && w->now - d->since_ms > minute)
            assert_true(w->core.device[i].state != KILN_LENDER_LENT &&
                        w->core.device[i].state != KILN_LENDER_FREE);
    }
}

/* ---- what the pool wants --------------------------------------------------------- */

static void take_action(world *w, const kiln_lender_action *a) {
    board *d = a->device >= 0 ? &w->device[a->device] : NULL;
    const int client = a->request >= 0 ? w->core.request[a->request].client : 0;
    slot *s = &w->tuner[client / MAX_SLOTS].slot[client % MAX_SLOTS];
    switch (a->todo) {
    case KILN_LENDER_DO_RESET:
        assert_true(d->tuner == NOBODY); /* whoever had it was told before */
        heal(w, d, HEALS_CHILD, 0);
        if (d->is == FINE)
            d->greet_ms = (w->now > d->back_ms ? w->now : d->back_ms) + 200;
        break;
    case KILN_LENDER_DO_CLOSE:
        assert_true(d->tuner == NOBODY);
        heal(w, d, HEALS_CHILD, 0);
        d->greet_ms = 0;
        break;
    case KILN_LENDER_DO_LEND:
        assert_int_equal(d->tuner, NOBODY);
        assert_true(s->device == NOBODY && fits(w, client, a->device));
        d->tuner = client / MAX_SLOTS;
        d->slot = client % MAX_SLOTS;
        s->device = a->device;
        s->is_recalled = false;
        s->trial = NOBODY;
        s->end_ms = w->now + 700; /* its set-up */
        kiln_core_device_owes(&w->core, w->now, a->device, 0);
        break;
    case KILN_LENDER_DO_RECALL:
        s->is_recalled = true;
        break;
    case KILN_LENDER_DO_CUT:
        give_up_trial(&w->tuner[d->tuner], s);
        lose_device(w, s);
        s->again_ms = w->now + 100;
        break;
    case KILN_LENDER_DO_ASK:
        break;
    case KILN_LENDER_DO_RESTART:
        heal(w, d, HEALS_SERVER, 4000);
        break;
    case KILN_LENDER_DO_POWER:
        heal(w, d, HEALS_POWER, 40000);
        break;
    }
}

static void act(world *w) {
    kiln_lender_action a;
    while (kiln_core_next(&w->core, &a))
        take_action(w, &a);
}

static void step(world *w) {
    w->now += STEP_MS;
    for (int i = 0; i < w->n_devices; i++) {
        step_device(w, i);
        act(w);
    }
    for (int i = 0; i < w->n_tuners; i++) {
        step_tuner(w, i);
        act(w);
    }
    kiln_core_tick(&w->core, w->now);
    act(w);
    check_devices(w);
}

/* ---- worlds ---------------------------------------------------------------------- */

static void begin(world *w, uint64_t seed, int n_devices, int n_tuners,
                  bool has_faults) {
    kiln_lender_limits limits = kiln_lender_limits_default();
    memset(w, 0, sizeof *w);
    kiln_rng_init(&w->rng, seed);
    w->now = 1000;
    w->n_devices = n_devices;
    w->n_tuners = n_tuners;
    w->has_faults = has_faults;
    limits.has_server = limits.has_power = true;
    kiln_core_init(&w->core, &limits, fits, w, w->now);
    for (int i = 0; i < n_devices; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "board-%d", i);
        w->device[i] =
            (board){.tuner = NOBODY, .slot = NOBODY, .since_ms = -1, .pace = i % 2};
        assert_int_equal(kiln_core_device_add(&w->core, w->now, name), i);
    }
    for (int i = 0; i < n_tuners; i++) {
        tuner *t = &w->tuner[i];
        (void)snprintf(t->name, sizeof t->name, "tuner %d", i);
        t->priority = 10;
        t->n_slots = n_devices;
        t->kind = 2;
        t->is_there = true;
        t->starved_ms = -1;
        t->n_waiting = MOST_TRIALS;
        for (int k = 0; k < MOST_TRIALS; k++)
            t->waiting[k] = k;
        for (int k = 0; k < MAX_SLOTS; k++)
            t->slot[k] = (slot){.request = NOBODY, .device = NOBODY, .trial = NOBODY};
    }
    act(w);
}

/* Each trial is waiting, under way or done: one of these, once. */
static void check_trials(const world *w) {
    for (int i = 0; i < w->n_tuners; i++) {
        const tuner *t = &w->tuner[i];
        int n = t->n_waiting + t->n_done;
        for (int k = 0; k < t->n_slots; k++)
            n += t->slot[k].trial != NOBODY;
        assert_int_equal(n, MOST_TRIALS);
        for (int k = 0; k < MOST_TRIALS; k++)
            assert_true(t->done[k] <= 1);
    }
}

static double used(const world *w) {
    int64_t healthy = 0, worked = 0;
    for (int i = 0; i < w->n_devices; i++) {
        healthy += w->device[i].healthy_ms;
        worked += w->device[i].worked_ms;
    }
    return (double)worked / (double)healthy;
}

/* Crashes, hangs that need every step of the ladder, and killed tuners, all day. */
static void survive_faults(world *w, uint64_t seed) {
    int64_t longest = 0;
    begin(w, seed, N_DEVICES, 3, true);
    for (int k = 0; k < 8 * minute / STEP_MS; k++) {
        step(w);
        for (int i = 0; i < w->n_tuners; i++) {
            tuner *t = &w->tuner[i];
            if (t->is_there && chance(w, 1800))
                kill_tuner(w, t);
            if (t->is_there && t->starved_ms >= 0 && w->now - t->starved_ms > longest)
                longest = w->now - t->starved_ms;
        }
        act(w);
    }
    check_trials(w);
    const double share = used(w);
    if (share < 0.9 || longest > 3 * minute)
        fail_msg("seed %" PRIu64
                 ": healthy devices worked %.3f of their time, one owner "
                 "waited %" PRId64 " ms",
                 seed, share, longest);
    kiln_core_fini(&w->core);
}

static void survives_faults(void **state) {
    static world w;
    const uint64_t first = kiln_test_seed();
    const int64_t n = kiln_test_cases(getenv("KILN_SOAK") != NULL ? 3000 : 24);
    (void)state;
    for (int64_t i = 0; i < n; i++)
        survive_faults(&w, first + (uint64_t)i);
}

/* Long runs of healthy devices: each gets what its priority says. */
static void check_shares(world *w, int64_t minutes) {
    double held = 0, wanted = 0;
    for (int64_t k = 0; k < minutes * minute / STEP_MS; k++)
        step(w);
    check_trials(w);
    for (int i = 0; i < w->n_tuners; i++) {
        held += (double)w->tuner[i].held_ms;
        wanted += w->tuner[i].priority;
    }
    for (int i = 0; i < w->n_tuners; i++) {
        const double got = (double)w->tuner[i].held_ms / held;
        const double want = w->tuner[i].priority / wanted;
        if (got < 0.9 * want || got > 1.1 * want)
            fail_msg("tuner %d has %.3f of the time, its priority is %.3f", i, got,
                     want);
    }
    assert_true(used(w) > 0.9);
    kiln_core_fini(&w->core);
}

static void shares_are_fair(void **state) {
    static world w;
    (void)state;
    begin(&w, 1, 8, 3, false);
    check_shares(&w, 25);
    begin(&w, 2, 1, 3, false); /* fewer devices than tuners: they take turns */
    check_shares(&w, 25);
}

static void priorities_count(void **state) {
    static world w;
    (void)state;
    begin(&w, 1, 4, 3, false);
    w.tuner[0].priority = 20;
    w.tuner[2].priority = 5;
    check_shares(&w, 30);
}

/* Who wants another kind of device is in nobody's way, and gets none of the others. */
static void profiles_do_not_mix(void **state) {
    static world w;
    (void)state;
    begin(&w, 1, 4, 2, false);
    w.tuner[0].kind = 0;
    w.tuner[1].kind = 1;
    w.tuner[1].priority = 1;
    for (int k = 0; k < 10 * minute / STEP_MS; k++)
        step(&w);
    check_trials(&w);
    assert_true(used(&w) > 0.9);
    assert_true(w.tuner[0].n_done > 300 && w.tuner[1].n_done > 300);
    kiln_core_fini(&w.core);
}

/* A hundred slots of one do not keep another's only one waiting. */
static void a_late_tuner_is_served(void **state) {
    static world w;
    (void)state;
    begin(&w, 1, 2, 2, false);
    w.tuner[1].is_there = false;
    w.tuner[1].back_ms = 5 * minute;
    w.tuner[1].n_slots = 1;
    while (w.tuner[1].n_done == 0) {
        step(&w);
        assert_true(w.now < 5 * minute + 45000);
    }
    kiln_core_fini(&w.core);
}

int main(void) {
    const struct CMUnitTest unit[] = {
        cmocka_unit_test(survives_faults), cmocka_unit_test(shares_are_fair),
        cmocka_unit_test(priorities_count), cmocka_unit_test(profiles_do_not_mix),
        cmocka_unit_test(a_late_tuner_is_served)};
    kiln_test_add_tests(unit);
    return kiln_test_run("pool simulation");
}
