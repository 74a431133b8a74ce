/* A run of the tuner with a cost model of these tests: measured, learned, stored under
 * its own name and version, and taken up by the next run. */
#include "pipeline/tune/tune.h"

#include "tests/support/kiln_test.h"
#include "tests/support/made_up/loop_model.h"
#include "tests/support/measuring/tune_run.h"

static const char product[] = "matmul three m=24 n=32 k=40";

static bool stored(kiln_db *db, const char *kind, int version, kiln_db_model *out) {
    kiln_err err = {0};
    bool found = false;
    const char *scope =
        kiln_format(kiln_test_arena(), "%s/1", kiln_test_native()->name);
    kiln_assert_status_ok(kiln_db_get_model(db, kiln_test_arena(), kind, scope, version,
                                            &found, out, &err),
                          &err);
    return found;
}

static void tunes_with_a_model_of_ours(void **state) {
    (void)state;
    const char *const lines[] = {product};
    kiln_db *db = kiln_test_db_open(":memory:");
    const kiln_tune_works works = kiln_test_tune_works(lines, 1);
    kiln_tune_options o = kiln_test_tune_options(db, 20);
    kiln_db_model first, second, other;
    o.model = &kiln_test_loop_model;
    kiln_tune_result r = kiln_test_tune(&works, &o);
    assert_int_equal(r.n_new, 20);
    assert_true(stored(db, "loops", 7, &first));
    assert_int_equal(first.n_trials, 20);
    assert_false(stored(db, "loops", 1, &other));
    assert_false(stored(db, "xgboost", kiln_cost_model_xgboost.version, &other));
    o.trials = 28;
    r = kiln_test_tune(&works, &o);
    assert_int_equal(r.n_new, 8);
    assert_true(stored(db, "loops", 7, &second));
    assert_int_equal(second.n_trials, 28);
    kiln_db_close(db);
}

int main(void) {
    kiln_test_add("tunes_with_a_model_of_ours", tunes_with_a_model_of_ours, NULL);
    return kiln_test_run("tune_made_up");
}
