/* Records of several templates for one work: they compete by cost, and any can be
 * tuned.
 */
#include "pipeline/tune/tune_internal.h"
#include "tests/support/kiln_test.h"
#include "tests/support/database/db_make.h"
#include "tests/support/measuring/measure_run.h"
#include "tests/support/measuring/tune_run.h"

static const char *const conv = "conv one h=7 ic=16 oc=32 k=3 act=relu";

/* Records of every template that takes the work compete by cost: none is asked for, or
 * left out, because of its place in the table. */
static void any_template_may_be_cheapest(void **state) {
    (void)state;
    const kiln_tune_works works = kiln_test_tune_works(&conv, 1);
    const kiln_op_work *w = &works.list.v[0].op;
    int n = 0;
    for (int best = 0; kiln_template_at(best) != NULL; best++) {
        const kiln_template *t = kiln_template_at(best);
        if (!t->fits(&w->workload, kiln_test_native()))
            continue;
        kiln_db *db = kiln_test_db_open(":memory:");
        kiln_test_tune_record(db, w, t, NULL, 100);
        assert_ptr_equal(kiln_test_tune_choose(db, w, 1).tmpl, t); /* alone */
        for (int i = 0; kiln_template_at(i) != NULL; i++)
            if (i != best &&
                kiln_template_at(i)->fits(&w->workload, kiln_test_native()))
                kiln_test_tune_record(db, w, kiln_template_at(i), NULL, 200 + i);
        const kiln_choice c = kiln_test_tune_choose(db, w, 1);
        assert_ptr_equal(c.tmpl, t);
        assert_int_equal(c.origin, KILN_ORIGIN_TUNED);
        n++;
        kiln_db_close(db);
    }
    assert_true(n >= 2);
}

/* A template that is not the first is tuned where it is named, and its records count.
 */
static void a_named_template_is_tuned(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_db *db = kiln_test_db_open(":memory:");
    kiln_tune_works works = kiln_test_tune_works(&conv, 1);
    const kiln_op_work *w = &works.list.v[0].op;
    const kiln_template *first = kiln_template_for(&w->workload, kiln_test_native());
    kiln_tune_options o = kiln_test_tune_options(db, 4);
    o.tmpl = &kiln_template_generic;
    assert_ptr_not_equal(first, o.tmpl);
    kiln_assert_status_ok(kiln_tune_works_for(kiln_test_arena(), o.tmpl,
                                              kiln_test_native(), &works, &err),
                          &err);
    const kiln_tune_result r = kiln_test_tune(&works, &o);
    assert_string_equal(r.row.v[0].tmpl, "generic");
    assert_true(r.row.v[0].best_ns > 0);
    const kiln_choice c = kiln_test_tune_choose(db, w, 1);
    assert_ptr_equal(c.tmpl, o.tmpl);
    assert_string_equal(kiln_test_config_text(&c), r.row.v[0].best);
    kiln_assert_fails(kiln_tune_works_for(kiln_test_arena(), &kiln_template_pool,
                                          kiln_test_native(), &works, &err),
                      KILN_ERR_ARG, &err, "template 'pool' takes none of the 1 kernel");
    kiln_db_close(db);
}

/* All templates that take a work are searched, with the trials of one: the better way
 * is the result, and a record each is there for builds. (Of a size where neither is
 * given up as far slower than the other.) */
static void templates_are_searched_together(void **state) {
    (void)state;
    static const char *const several = "conv two h=14 ic=32 oc=32 k=3";
    kiln_db *db = kiln_test_db_open(":memory:");
    const kiln_tune_works works = kiln_test_tune_works(&several, 1);
    const kiln_tune_options o = kiln_test_tune_options(db, 8);
    const kiln_tune_result r = kiln_test_tune(&works, &o);
    const kiln_tune_row *row = &r.row.v[0];
    double best_ns = 0;
    int64_t n = 0;
    assert_int_equal(r.row.n, 1);
    assert_int_equal(row->way.n, 2);
    assert_string_equal(
        row->way.v[0].tmpl,
        kiln_template_for(&works.list.v[0].op.workload, kiln_test_native())->name);
    for (size_t i = 0; i < row->way.n; i++) {
        const kiln_tune_way *w = &row->way.v[i];
        assert_true(w->n_trials >= 1 && w->best_ns > 0);
        best_ns = i == 0 || w->best_ns < best_ns ? w->best_ns : best_ns;
        n += w->n_trials;
    }
    assert_int_equal(n, 8);
    assert_int_equal(row->n_new, 8);
    assert_true(row->best_ns <= best_ns && row->best_ns >= best_ns);
    const kiln_choice c = kiln_test_tune_choose(db, &works.list.v[0].op, 1);
    assert_string_equal(c.tmpl->name, row->tmpl);
    assert_string_equal(kiln_test_config_text(&c), row->best);
    kiln_db_close(db);
}

int main(void) {
    kiln_test_add("any_template_may_be_cheapest", any_template_may_be_cheapest, NULL);
    kiln_test_add("a_named_template_is_tuned", a_named_template_is_tuned, NULL);
    kiln_test_add("templates_are_searched_together", templates_are_searched_together,
                  NULL);
    return kiln_test_run("by_cost");
}
