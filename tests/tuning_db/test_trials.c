/* Trials, claims, and which record is best. */
#include <math.h>
#include <string.h>

#include "tests/support/database/db_engine.h"
#include "tests/support/database/db_make.h"

static const double ns[] = {100, 200, 300, 400, 500};

static void a_trial_comes_back_as_it_was(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_db *db = kiln_test_db_open(kiln_test_db_own());
    const kiln_db_task task = kiln_test_db_task("conv", "; relu");
    const int64_t id = kiln_test_db_task_id(db, &task);
    const double samples[] = {3.5, 1e-3, 2};
    kiln_db_trial t = kiln_test_db_trial(1, samples, NULL), bad;
    t.n_samples = 3;
    t.facts = "{\"spills\": 0}";
    bad = kiln_test_db_trial(2, NULL, "crash");
    bad.detail = "signal 11";
    assert_true(kiln_test_db_record(db, id, &t));
    assert_true(kiln_test_db_record(db, id, &bad));
    kiln_db_trials all;
    kiln_assert_status_ok(kiln_db_trials_of(db, kiln_test_arena(), id, &all, &err),
                          &err);
    assert_int_equal(all.list.n, 2);
    const kiln_db_trial *got = &all.list.v[0];
    assert_string_equal(got->candidate.config, "{\"k\": 1}");
    assert_string_equal(got->layouts, t.layouts);
    assert_string_equal(got->proof, t.proof);
    assert_string_equal(got->facts, t.facts);
    assert_int_equal(got->n_samples, 3);
    assert_memory_equal(got->sample_ns, samples, sizeof samples);
    assert_true(got->median_ns == 2);
    assert_int_equal(got->time_ms, t.time_ms);
    assert_string_equal(all.list.v[1].error, "crash");
    assert_string_equal(all.list.v[1].detail, "signal 11");
    kiln_test_db_is_sound(db);
    kiln_db_close(db);
}

static void a_candidate_counts_once_unless_repeated(void **state) {
    (void)state;
    kiln_db *db = kiln_test_db_open(kiln_test_db_own());
    const kiln_db_task task = kiln_test_db_task("conv", "");
    const int64_t id = kiln_test_db_task_id(db, &task);
    kiln_db_trial t = kiln_test_db_trial(1, &ns[0], NULL);
    assert_true(kiln_test_db_record(db, id, &t));
    t.sample_ns = &ns[1];
    assert_false(kiln_test_db_record(db, id, &t));
    t.is_repeat = true;
    assert_true(kiln_test_db_record(db, id, &t));
    assert_int_equal(kiln_test_db_task_id(db, &task), id);
    kiln_test_db_is_sound(db);
    kiln_db_close(db);
}

/* ---- what is refused ------------------------------------------------------------- */

typedef struct refused_row {
    const char *name;
    kiln_db_trial t;
    const char *text;
} refused_row;

static const double not_finite[] = {(double)NAN}, negative[] = {-1};

#define TRIAL(tmpl_, config_, owner_, samples_, n, proof_)                             \
    .candidate = {tmpl_, config_}, .owner = owner_, .kiln = "0",                       \
    .sample_ns = samples_, .n_samples = n, .proof = proof_

static refused_row refused_rows[] = {
    {"no_samples", {TRIAL("c", "{}", "me", ns, 0, "{}")}, "or an error, has neither"},
    {"no_proof", {TRIAL("c", "{}", "me", ns, 1, NULL)}, "lacks its proof"},
    {"a_proof_that_is_no_object",
     {TRIAL("c", "{}", "me", ns, 1, "3")},
     "proof must be a JSON object"},
    {"no_template", {TRIAL(NULL, "{}", "me", ns, 1, "{}")}, "lacks its template"},
    {"no_configuration",
     {TRIAL("c", "", "me", ns, 1, "{}")},
     "lacks its configuration"},
    {"a_torn_configuration", {TRIAL("c", "{", "me", ns, 1, "{}")}, "configuration:1:2"},
    {"no_owner", {TRIAL("c", "{}", "", ns, 1, "{}")}, "lacks its owner"},
    {"no_time",
     {TRIAL("c", "{}", "me", not_finite, 1, "{}")},
     "sample 0 is nan: no time"},
    {"a_negative_time",
     {TRIAL("c", "{}", "me", negative, 1, "{}")},
     "sample 0 is -1: no time"},
    {"an_infinite_peak",
     {TRIAL("c", "{}", "me", ns, 1, "{}"), .peak_gflops = (double)INFINITY},
     "peak is inf: no rate"},
    {"other_bytes",
     {TRIAL("c", "{}", "me", ns, 1, "{}"), .detail = "\xff"},
     "detail must be UTF-8"},
};

static void bad_trials_are_refused(void **state) {
    const refused_row *r = *state;
    kiln_err err = {0};
    kiln_db *db = kiln_test_db_open(kiln_test_db_own());
    const kiln_db_task task = kiln_test_db_task("conv", "");
    const int64_t id = kiln_test_db_task_id(db, &task);
    const kiln_status st = kiln_db_record(db, id, &r->t, NULL, &err);
    assert_int_not_equal(st, KILN_OK);
    if (strstr(err.text, r->text) == NULL)
        fail_msg("'%s' is not in '%s'", r->text, err.text);
    kiln_db_stats s;
    kiln_err_clear(&err);
    kiln_assert_status_ok(kiln_db_stats_of(db, kiln_test_arena(), &s, &err), &err);
    assert_int_equal(s.n_trials, 0);
    kiln_db_close(db);
}

static void a_task_must_be_there(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_db *db = kiln_test_db_open(kiln_test_db_own());
    const kiln_db_trial t = kiln_test_db_trial(1, ns, NULL);
    kiln_assert_fails(kiln_db_record(db, 7, &t, NULL, &err), KILN_ERR_ARG, &err,
                      "has no task 7");
    kiln_db_close(db);
}

/* ---- claims ---------------------------------------------------------------------- */

static void a_claim_is_one_owners(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_db *db = kiln_test_db_open(kiln_test_db_own());
    const kiln_db_task task = kiln_test_db_task("conv", "");
    const int64_t id = kiln_test_db_task_id(db, &task);
    assert_int_equal(kiln_test_db_claim(db, id, 1, "a", 60), KILN_DB_CLAIMED);
    assert_int_equal(kiln_test_db_claim(db, id, 1, "a", 60), KILN_DB_CLAIMED);
    assert_int_equal(kiln_test_db_claim(db, id, 1, "b", 60), KILN_DB_BUSY);
    assert_int_equal(kiln_test_db_claim(db, id, 2, "b", 60), KILN_DB_CLAIMED);
    kiln_db_owners owners;
    kiln_assert_status_ok(kiln_db_owners_of(db, kiln_test_arena(), &owners, &err),
                          &err);
    assert_int_equal(owners.list.n, 2);
    assert_string_equal(owners.list.v[0], "a");
    assert_string_equal(owners.list.v[1], "b");
    kiln_assert_status_ok(kiln_db_release(db, "a", &err), &err);
    assert_int_equal(kiln_test_db_claim(db, id, 1, "b", 60), KILN_DB_CLAIMED);
    const kiln_db_trial t = kiln_test_db_trial(1, ns, NULL);
    assert_true(kiln_test_db_record(db, id, &t));
    assert_int_equal(kiln_test_db_claim(db, id, 1, "b", 60), KILN_DB_DONE);
    kiln_db_stats s;
    kiln_assert_status_ok(kiln_db_stats_of(db, kiln_test_arena(), &s, &err), &err);
    assert_int_equal(s.n_claims, 1);
    kiln_test_db_is_sound(db);
    kiln_db_close(db);
}

static void the_claims_of_the_dead_end(void **state) {
    (void)state;
    kiln_db *db = kiln_test_db_open(kiln_test_db_own());
    const kiln_db_task task = kiln_test_db_task("conv", "");
    const int64_t id = kiln_test_db_task_id(db, &task);
    assert_int_equal(kiln_test_db_claim(db, id, 1, "dead", 0), KILN_DB_CLAIMED);
    assert_int_equal(kiln_test_db_claim(db, id, 1, "b", 60), KILN_DB_CLAIMED);
    assert_int_equal(kiln_test_db_claim(db, id, 1, "dead", 60), KILN_DB_BUSY);
    kiln_db_close(db);
}

/* ---- the best -------------------------------------------------------------------- */

static kiln_db_bests best(kiln_db *db, const kiln_db_task *t, kiln_db_match farthest) {
    kiln_err err = {0};
    kiln_db_bests out;
    kiln_assert_status_ok(
        kiln_db_best(db, kiln_test_arena(), t, farthest, 1, &out, &err), &err);
    return out;
}

static kiln_db_claim_state claim_within(kiln_db *db, int64_t task, int k,
                                        const kiln_db_budget *b) {
    kiln_err err = {0};
    kiln_db_claim_state state;
    const kiln_db_trial t = kiln_test_db_trial(k, NULL, "wrong");
    kiln_assert_status_ok(
        kiln_db_claim_within(db, task, &t.candidate, "me", 60, b, &state, &err), &err);
    return state;
}

/* Trials and claims of all its tasks count, repeats and what has expired do not; and
 * what is done or one's own is so however little is left. */
static void a_budget_is_shared(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_db *db = kiln_test_db_open(kiln_test_db_own());
    const kiln_db_task one = kiln_test_db_task("conv", ""),
                       two = kiln_test_db_task("conv", "; relu"),
                       other = kiln_test_db_task("gemm", "");
    const int64_t task[] = {kiln_test_db_task_id(db, &one),
                            kiln_test_db_task_id(db, &two)};
    const int64_t elsewhere = kiln_test_db_task_id(db, &other);
    const kiln_db_budget budget = {task, 2, 4};
    kiln_db_trial t = kiln_test_db_trial(0, ns, NULL);
    int64_t n = -1;
    assert_true(kiln_test_db_record(db, task[0], &t));
    t.is_repeat = true;
    t.time_ms++;
    assert_true(kiln_test_db_record(db, task[0], &t));
    assert_true(kiln_test_db_record(db, elsewhere, &t));
    assert_int_equal(kiln_test_db_claim(db, task[1], 7, "gone", -1), KILN_DB_CLAIMED);
    assert_int_equal(kiln_test_db_claim(db, task[1], 1, "you", 60), KILN_DB_CLAIMED);
    kiln_assert_status_ok(kiln_db_spent(db, &budget, &n, &err), &err);
    assert_int_equal(n, 2);
    assert_int_equal(claim_within(db, task[0], 2, &budget), KILN_DB_CLAIMED);
    assert_int_equal(claim_within(db, task[1], 3, &budget), KILN_DB_CLAIMED);
    assert_int_equal(claim_within(db, task[0], 4, &budget), KILN_DB_FULL);
    assert_int_equal(claim_within(db, task[0], 2, &budget), KILN_DB_CLAIMED);
    assert_int_equal(claim_within(db, task[0], 0, &budget), KILN_DB_DONE);
    assert_int_equal(claim_within(db, task[0], 4, NULL), KILN_DB_CLAIMED);
    /* Given back: by its owner alone. */
    t = kiln_test_db_trial(3, NULL, "wrong");
    const kiln_db_budget more = {task, 2, 5};
    kiln_assert_status_ok(kiln_db_unclaim(db, task[1], &t.candidate, "you", &err),
                          &err);
    assert_int_equal(claim_within(db, task[0], 5, &more), KILN_DB_FULL);
    kiln_assert_status_ok(kiln_db_unclaim(db, task[1], &t.candidate, "me", &err), &err);
    assert_int_equal(claim_within(db, task[0], 5, &more), KILN_DB_CLAIMED);
    kiln_db_close(db);
}

static void put(kiln_db *db, const kiln_db_task *task, int k, double t_ns,
                const char *layouts) {
    kiln_db_trial t = kiln_test_db_trial(k, &t_ns, NULL);
    t.layouts = layouts;
    assert_true(kiln_test_db_record(db, kiln_test_db_task_id(db, task), &t));
}

static void the_fastest_of_each_layouts_wins(void **state) {
    (void)state;
    kiln_db *db = kiln_test_db_open(kiln_test_db_own());
    const kiln_db_task task = kiln_test_db_task("conv", "");
    put(db, &task, 1, 300, "plain");
    put(db, &task, 2, 200, "plain");
    put(db, &task, 3, 100, "blocked");
    const kiln_db_bests b = best(db, &task, KILN_DB_EXACT);
    assert_int_equal(b.list.n, 2);
    assert_string_equal(b.list.v[0].trial.candidate.config, "{\"k\": 3}");
    assert_string_equal(b.list.v[1].trial.candidate.config, "{\"k\": 2}");
    assert_int_equal(b.list.v[0].match, KILN_DB_EXACT);
    kiln_err err = {0};
    kiln_db_bests more;
    kiln_assert_status_ok(
        kiln_db_best(db, kiln_test_arena(), &task, KILN_DB_EXACT, 2, &more, &err),
        &err);
    assert_int_equal(more.list.n, 3);
    assert_string_equal(more.list.v[2].trial.candidate.config, "{\"k\": 1}");
    kiln_db_close(db);
}

/* A lucky first sample does not outlive a second look, and what failed once is never
 * a best. */
static void repeats_and_failures_count(void **state) {
    (void)state;
    kiln_db *db = kiln_test_db_open(kiln_test_db_own());
    const kiln_db_task task = kiln_test_db_task("conv", "");
    const int64_t id = kiln_test_db_task_id(db, &task);
    kiln_db_trial lucky = kiln_test_db_trial(1, &ns[0], NULL);
    kiln_db_trial wrong = kiln_test_db_trial(2, &ns[0], NULL);
    const kiln_db_trial steady = kiln_test_db_trial(3, &ns[1], NULL);
    assert_true(kiln_test_db_record(db, id, &lucky));
    assert_true(kiln_test_db_record(db, id, &wrong));
    assert_true(kiln_test_db_record(db, id, &steady));
    lucky.is_repeat = wrong.is_repeat = true;
    lucky.sample_ns = &ns[4];
    wrong.error = "wrong";
    assert_true(kiln_test_db_record(db, id, &lucky));
    assert_true(kiln_test_db_record(db, id, &wrong));
    const kiln_db_bests b = best(db, &task, KILN_DB_EXACT);
    assert_int_equal(b.list.n, 1);
    assert_string_equal(b.list.v[0].trial.candidate.config, "{\"k\": 3}");
    kiln_db_close(db);
}

static void nearer_records_come_first(void **state) {
    (void)state;
    kiln_db *db = kiln_test_db_open(kiln_test_db_own());
    const kiln_db_task task = kiln_test_db_task("conv", "; relu");
    const kiln_db_task other_epilogue = kiln_test_db_task("conv", "; add; relu");
    kiln_db_task other_machine = task, other_team = task, other_numerics = task,
                 stranger = kiln_test_db_task("conv", "; relu");
    other_machine.profile_json = "{\"name\": \"x86-test\", \"cores\": 2}";
    other_team.threads = 2;
    other_numerics.numerics = "strict";
    stranger.profile = "arm";
    stranger.profile_json = "{}";
    put(db, &task, 1, 500, "l");
    put(db, &other_epilogue, 2, 400, "l");
    put(db, &other_machine, 3, 300, "l");
    put(db, &other_team, 4, 200, "l");
    put(db, &other_numerics, 5, 100, "l");
    put(db, &stranger, 6, 100, "l");
    static const kiln_db_match match[] = {KILN_DB_EXACT, KILN_DB_ANCHOR,
                                          KILN_DB_RELATIVE, KILN_DB_RELATIVE};
    static const double want[] = {500, 400, 200, 300};
    const kiln_db_bests b = best(db, &task, KILN_DB_RELATIVE);
    assert_int_equal(b.list.n, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(b.list.v[i].match, match[i]);
        assert_true(b.list.v[i].trial.median_ns == want[i]);
    }
    assert_int_equal(best(db, &task, KILN_DB_ANCHOR).list.n, 2);
    assert_int_equal(best(db, &task, KILN_DB_EXACT).list.n, 1);
    kiln_db_close(db);
}

/* Another machine of the same vectors is near, whatever it is called; one of other
 * vectors is not, whatever it is called. The very work comes before faster other work,
 * and numbers of threads are not mixed. */
static void a_class_of_machines_shares_records(void **state) {
    (void)state;
#define PROFILE(name, bytes, l2)                                                       \
    "{\"name\": \"" name "\", \"arch\": \"x86_64\", \"vector_bytes\": " bytes          \
    ", \"vector_registers\": 32, \"l2_bytes\": " l2 "}"
    kiln_db *db = kiln_test_db_open(kiln_test_db_own());
    kiln_db_task task = kiln_test_db_task("conv", "; relu");
    kiln_db_task near = task, other_work = kiln_test_db_task("conv", "; add");
    task.profile_json = PROFILE("x86-test", "64", "1024");
    near.profile = "a server";
    near.profile_json = PROFILE("a server", "64", "2048");
    other_work.profile = near.profile;
    other_work.profile_json = near.profile_json;
    kiln_db_task team = near, narrow = task, arm = near;
    team.threads = 2;
    narrow.profile_json = PROFILE("x86-test", "32", "1024");
    arm.profile_json = "{\"arch\": \"aarch64\"}";
    put(db, &near, 1, 500, "l");
    put(db, &other_work, 2, 400, "l");
    put(db, &team, 3, 100, "l");
    put(db, &narrow, 4, 100, "l");
    put(db, &arm, 5, 100, "l");
    assert_int_equal(best(db, &task, KILN_DB_RELATIVE).list.n, 0);
    const kiln_db_bests b = best(db, &task, KILN_DB_CLASS);
    assert_int_equal(b.list.n, 2);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(b.list.v[i].match, KILN_DB_CLASS);
    assert_true(b.list.v[0].trial.median_ns == 500);
    assert_true(b.list.v[1].trial.median_ns == 400);
    kiln_db_close(db);
}

static void pruning_keeps_the_fastest_and_the_errors(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_db *db = kiln_test_db_open(kiln_test_db_own());
    const kiln_db_task task = kiln_test_db_task("conv", "");
    const int64_t id = kiln_test_db_task_id(db, &task);
    int64_t gone = 0;
    for (int k = 0; k < 5; k++) {
        const kiln_db_trial t = kiln_test_db_trial(k, &ns[k], NULL);
        assert_true(kiln_test_db_record(db, id, &t));
    }
    const kiln_db_trial bad = kiln_test_db_trial(9, NULL, "hang");
    assert_true(kiln_test_db_record(db, id, &bad));
    kiln_assert_status_ok(kiln_db_prune(db, 2, &gone, &err), &err);
    assert_int_equal(gone, 3);
    kiln_db_trials all;
    kiln_assert_status_ok(kiln_db_trials_of(db, kiln_test_arena(), id, &all, &err),
                          &err);
    assert_int_equal(all.list.n, 3);
    assert_string_equal(all.list.v[2].error, "hang");
    kiln_test_db_is_sound(db);
    kiln_db_close(db);
}

static void what_is_forgotten_may_be_measured_anew(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_db *db = kiln_test_db_open(kiln_test_db_own());
    const kiln_db_task task = kiln_test_db_task("conv", ""),
                       other = kiln_test_db_task("dense", "");
    const int64_t id = kiln_test_db_task_id(db, &task),
                  other_id = kiln_test_db_task_id(db, &other);
    const kiln_db_trial good = kiln_test_db_trial(0, &ns[0], NULL),
                        bad = kiln_test_db_trial(1, NULL, "hang");
    int64_t gone = 0, left = 0;
    assert_true(kiln_test_db_record(db, id, &good));
    assert_true(kiln_test_db_record(db, id, &bad));
    assert_true(kiln_test_db_record(db, other_id, &good));
    kiln_assert_status_ok(kiln_db_forget(db, &task, &gone, &err), &err);
    assert_int_equal(gone, 2);
    kiln_assert_status_ok(kiln_db_count(db, other_id, &left, &err), &err);
    assert_int_equal(left, 1);
    assert_true(kiln_test_db_record(db, id, &good));
    kiln_test_db_is_sound(db);
    kiln_db_close(db);
}

/* ---- models ---------------------------------------------------------------------- */

static void models_are_kept_by_scope_and_version(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_db *db = kiln_test_db_open(kiln_test_db_own());
    kiln_db_model m = {"xgboost", "x86-test/1", 3, 64, {"a\0b", 3}}, got;
    bool found = true;
    kiln_assert_status_ok(kiln_db_put_model(db, &m, &err), &err);
    m.bytes = (kiln_str){"newer", 5};
    kiln_assert_status_ok(kiln_db_put_model(db, &m, &err), &err);
    kiln_assert_status_ok(kiln_db_get_model(db, kiln_test_arena(), "xgboost",
                                            "x86-test/1", 4, &found, &got, &err),
                          &err);
    assert_false(found);
    kiln_assert_status_ok(kiln_db_get_model(db, kiln_test_arena(), "xgboost",
                                            "x86-test/1", 3, &found, &got, &err),
                          &err);
    assert_true(found);
    assert_true(kiln_str_is(got.bytes, "newer"));
    assert_int_equal(got.n_trials, 64);
    kiln_assert_status_ok(kiln_db_log(db, "tune", "resnet18", &err), &err);
    kiln_db_close(db);
}

int main(void) {
    kiln_test_add_on_engines("a_trial_comes_back_as_it_was",
                             a_trial_comes_back_as_it_was, NULL);
    kiln_test_add_on_engines("a_candidate_counts_once_unless_repeated",
                             a_candidate_counts_once_unless_repeated, NULL);
    kiln_test_add_rows_on_engines(bad_trials_are_refused, refused_rows);
    kiln_test_add_on_engines("a_task_must_be_there", a_task_must_be_there, NULL);
    kiln_test_add_on_engines("a_claim_is_one_owners", a_claim_is_one_owners, NULL);
    kiln_test_add_on_engines("a_budget_is_shared", a_budget_is_shared, NULL);
    kiln_test_add_on_engines("the_claims_of_the_dead_end", the_claims_of_the_dead_end,
                             NULL);
    kiln_test_add_on_engines("the_fastest_of_each_layouts_wins",
                             the_fastest_of_each_layouts_wins, NULL);
    kiln_test_add_on_engines("repeats_and_failures_count", repeats_and_failures_count,
                             NULL);
    kiln_test_add_on_engines("a_class_of_machines_shares_records",
                             a_class_of_machines_shares_records, NULL);
    kiln_test_add_on_engines("nearer_records_come_first", nearer_records_come_first,
                             NULL);
    kiln_test_add_on_engines("pruning_keeps_the_fastest_and_the_errors",
                             pruning_keeps_the_fastest_and_the_errors, NULL);
    kiln_test_add_on_engines("what_is_forgotten_may_be_measured_anew",
                             what_is_forgotten_may_be_measured_anew, NULL);
    kiln_test_add_on_engines("models_are_kept_by_scope_and_version",
                             models_are_kept_by_scope_and_version, NULL);
    return kiln_test_run("tuning_db trials");
}
