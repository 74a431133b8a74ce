#include "tests/support/database/db_make.h"

#include "tuning_db/tuning_db_internal.h"

kiln_db_task kiln_test_db_task(const char *anchor, const char *epilogue) {
    return (kiln_db_task){.workload =
                              kiln_format(kiln_test_arena(), "%s%s", anchor, epilogue),
                          .anchor = anchor,
                          .profile = "x86-test",
                          .profile_json = "{\"name\": \"x86-test\"}",
                          .threads = 1,
                          .numerics = "fast",
                          .cache = "rotated"};
}

kiln_db_trial kiln_test_db_trial(int k, const double *ns, const char *error) {
    return (kiln_db_trial){
        .candidate = {"conv_direct", kiln_format(kiln_test_arena(), "{\"k\": %d}", k)},
        .layouts = "f32[1,16]",
        .error = error,
        .sample_ns = ns,
        .n_samples = ns != NULL,
        .peak_gflops = 100,
        .proof = error == NULL ? "{\"seeds\": 3, \"worst\": 0.25}" : NULL,
        .owner = "test",
        .kiln = "0.0",
        .time_ms = 1000 + k};
}

kiln_db *kiln_test_db_open(const char *path) {
    kiln_err err = {0};
    kiln_db *db = NULL;
    kiln_assert_status_ok(kiln_db_open(kiln_test_arena(), path, NULL, &db, &err), &err);
    return db;
}

int64_t kiln_test_db_task_id(kiln_db *db, const kiln_db_task *t) {
    kiln_err err = {0};
    int64_t id = -1;
    kiln_assert_status_ok(kiln_db_task_id(db, t, &id, &err), &err);
    return id;
}

bool kiln_test_db_record(kiln_db *db, int64_t task, const kiln_db_trial *t) {
    kiln_err err = {0};
    bool was_new = false;
    kiln_assert_status_ok(kiln_db_record(db, task, t, &was_new, &err), &err);
    return was_new;
}

kiln_db_claim_state kiln_test_db_claim(kiln_db *db, int64_t task, int k,
                                       const char *owner, int seconds) {
    kiln_err err = {0};
    kiln_db_claim_state state = KILN_DB_BUSY;
    const kiln_db_trial t = kiln_test_db_trial(k, NULL, "crash");
    kiln_assert_status_ok(
        kiln_db_claim(db, task, &t.candidate, owner, seconds, &state, &err), &err);
    return state;
}

void kiln_test_db_is_sound(kiln_db *db) {
    kiln_err err = {0};
    kiln_db_problems p;
    kiln_assert_status_ok(kiln_db_check(db, kiln_test_arena(), &p, &err), &err);
    for (size_t i = 0; i < p.line.n; i++)
        print_error("%s\n", p.line.v[i]);
    assert_int_equal(p.line.n, 0);
}

void kiln_test_db_run(kiln_db *db, const char *sql) {
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_sql_run(db->sql, sql, &err), &err);
}
