/* What limits a run: trials, which tuners share, and time. */
#include "pipeline/tune/tune_internal.h"
#include "tests/support/measuring/tune_run.h"

#include <string.h>

static const char *const conv = "conv one h=7 ic=16 oc=32 k=3 act=relu";

/* ---- trials ---------------------------------------------------------------------- */

/* A configuration's text in the space of the work. */
static kiln_db_candidate candidate(const kiln_op_work *w, uint64_t index) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_tune_task t;
    kiln_assert_status_ok(kiln_tune_space(a, w, kiln_test_native(), NULL, &t, &err),
                          &err);
    assert_true(index < t.space.size);
    return (kiln_db_candidate){t.tmpl->name, kiln_tune_index_text(a, &t, index)};
}

/* Records and claims of others count; what nobody claims any more is free again. */
static void others_count(void **state) {
    (void)state;
    enum { TRIALS = 10, DONE = 3, CLAIMED = 4 };
    kiln_err err = {0};
    kiln_db *db = kiln_test_db_open(":memory:");
    const kiln_tune_works works = kiln_test_tune_works(&conv, 1);
    const kiln_op_work *w = &works.list.v[0].op;
    const int64_t id = kiln_test_tune_task(db, w, KILN_TUNE_CACHE);
    for (int i = 0; i < DONE + CLAIMED; i++) {
        kiln_db_claim_state claimed;
        kiln_db_trial t = kiln_test_db_trial(i, NULL, "refused");
        t.candidate = candidate(w, (uint64_t)i);
        if (i < DONE)
            assert_true(kiln_test_db_record(db, id, &t));
        else
            kiln_assert_status_ok(kiln_db_claim(db, id, &t.candidate, "elsewhere.1-1",
                                                3600, &claimed, &err),
                                  &err);
    }
    kiln_tune_options o = kiln_test_tune_options(db, TRIALS);
    o.search = kiln_search_find(kiln_str_from("random"));
    kiln_tune_result r = kiln_test_tune(&works, &o);
    assert_int_equal(r.n_new, TRIALS - DONE - CLAIMED);
    assert_int_equal(r.end, KILN_TASKS_TRIALS);
    kiln_assert_status_ok(kiln_db_release(db, "elsewhere.1-1", &err), &err);
    r = kiln_test_tune(&works, &o);
    assert_int_equal(r.n_new, CLAIMED);
    int64_t spent = 0;
    const kiln_db_budget budget = {&id, 1, TRIALS};
    kiln_assert_status_ok(kiln_db_spent(db, &budget, &spent, &err), &err);
    assert_int_equal(spent, TRIALS);
    kiln_db_close(db);
}

/* Claims of configurations `first` to before `end`: for so long from now, whatever they
 * were before. */
static void claim_elsewhere(kiln_db *db, int64_t id, const kiln_op_work *w, int first,
                            int end, int seconds) {
    kiln_err err = {0};
    for (int i = first; i < end; i++) {
        kiln_db_claim_state claimed;
        const kiln_db_candidate c = candidate(w, (uint64_t)i);
        kiln_assert_status_ok(
            kiln_db_claim(db, id, &c, "elsewhere.1-1", seconds, &claimed, &err), &err);
        assert_int_equal(claimed, KILN_DB_CLAIMED);
    }
}

static int64_t n_claimed(kiln_db *db, const kiln_db_budget *budget) {
    kiln_err err = {0};
    int64_t n = -1;
    kiln_assert_status_ok(kiln_db_claimed(db, budget, &n, &err), &err);
    return n;
}

/* Others have the rest and leave it: a tuner with nothing that works waits, and does it
 * itself. The claims expire one after another, and it needs one kernel: it waits for no
 * more of them than that takes. (Where they expire before it looks it has nothing to wait
 * for.) */
static void waits_for_what_others_leave(void **state) {
    (void)state;
    enum { DONE = 3, CLAIMED = 4, LONG = 3600, SECONDS = 2 };
    kiln_db *db = kiln_test_db_open(":memory:");
    const kiln_tune_works works = kiln_test_tune_works(&conv, 1);
    const kiln_op_work *w = &works.list.v[0].op;
    const int64_t id = kiln_test_tune_task(db, w, KILN_TUNE_CACHE);
    const kiln_db_budget budget = {&id, 1, DONE + CLAIMED};
    for (int i = 0; i < DONE; i++) {
        kiln_db_trial t = kiln_test_db_trial(i, NULL, "refused");
        t.candidate = candidate(w, (uint64_t)i);
        assert_true(kiln_test_db_record(db, id, &t));
    }
    claim_elsewhere(db, id, w, DONE, DONE + CLAIMED, LONG);
    assert_int_equal(n_claimed(db, &budget), CLAIMED);
    claim_elsewhere(db, id, w, DONE, DONE + CLAIMED, SECONDS);
    kiln_tune_options o = kiln_test_tune_options(db, DONE + CLAIMED);
    o.search = kiln_search_find(kiln_str_from("random"));
    const kiln_tune_result r = kiln_test_tune(&works, &o);
    assert_in_range(r.n_new, 1, CLAIMED);
    assert_true(r.row.v[0].best_ns > 0);
    kiln_db_close(db);
}

/* The same operator under two names is one work. */
static void equal_lines_are_one_work(void **state) {
    (void)state;
    static const char *const line[] = {"matmul a m=24 n=32 k=40",
                                       "matmul b m=24 n=32 k=40"};
    kiln_db *db = kiln_test_db_open(":memory:");
    const kiln_tune_works works = kiln_test_tune_works(line, 2);
    const kiln_tune_options o = kiln_test_tune_options(db, 6);
    const kiln_tune_result r = kiln_test_tune(&works, &o);
    assert_int_equal(works.list.n, 1);
    assert_true(r.row.v[0].calls == 2);
    assert_int_equal(r.n_new, 6);
    kiln_test_db_is_sound(db);
    kiln_db_close(db);
}

/* ---- time ------------------------------------------------------------------------ */

/* With the first trial the time is over. */
static void end_time(void *user, const kiln_tune_state *s) {
    kiln_tune_options *o = user;
    assert_true(s->seconds_left > 0);
    o->seconds = 1e-9;
}

/* Sixty-four trials are there, which is where a run without a time limit ends. */
static void time_alone_is_used(void **state) {
    (void)state;
    enum { TRIALS = 64 };
    static const double ns = 1e6;
    kiln_db *db = kiln_test_db_open(":memory:");
    const kiln_tune_works works = kiln_test_tune_works(&conv, 1);
    const kiln_op_work *w = &works.list.v[0].op;
    const int64_t id = kiln_test_tune_task(db, w, KILN_TUNE_CACHE);
    for (int i = 0; i < TRIALS; i++) {
        const bool is_good = i == TRIALS - 1;
        kiln_db_trial t =
            kiln_test_db_trial(i, is_good ? &ns : NULL, is_good ? NULL : "refused");
        t.candidate = candidate(w, (uint64_t)i);
        assert_true(kiln_test_db_record(db, id, &t));
    }
    kiln_tune_options o = kiln_test_tune_options(db, 0);
    o.search = kiln_search_find(kiln_str_from("random"));
    kiln_tune_result r = kiln_test_tune(&works, &o);
    assert_int_equal(r.n_new, 0);
    assert_int_equal(r.end, KILN_TASKS_TRIALS);
    o.seconds = 1e6;
    o.progress = end_time;
    o.user = &o;
    r = kiln_test_tune(&works, &o);
    assert_true(r.n_new > 0);
    assert_int_equal(r.end, KILN_TASKS_TIME);
    kiln_db_close(db);
}

int main(void) {
    kiln_test_add("others_count", others_count, NULL);
    kiln_test_add("waits_for_what_others_leave", waits_for_what_others_leave, NULL);
    kiln_test_add("equal_lines_are_one_work", equal_lines_are_one_work, NULL);
    kiln_test_add("time_alone_is_used", time_alone_is_used, NULL);
    return kiln_test_run("limits");
}
