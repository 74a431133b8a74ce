/* Searches of whole spaces on the machine model's costs: rows that can be, and, with
 * KILN_SOAK=1, what the AutoTVM paper says of its searches. */
#include "pipeline/tune/estimated.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/kiln_test.h"

/* only NULL: of all works. */
static kiln_estimated compare(const char *only, kiln_estimated_options o) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_tune_works works;
    kiln_profile p;
    kiln_estimated out;
    kiln_assert_status_ok(kiln_corpus_works(a, &works, &err), &err);
    kiln_assert_status_ok(kiln_corpus_select(a, only, &works, &err), &err);
    kiln_assert_status_ok(kiln_profile_find(a, "x86-avx512", &p, &err), &err);
    o.works = &works;
    kiln_assert_status_ok(kiln_estimated_compare(a, &p, &o, &out, &err), &err);
    return out;
}

static const char *text_of(const kiln_estimated *e) {
    kiln_buf text;
    kiln_buf_init(&text, kiln_test_arena());
    kiln_estimated_text(&text, e);
    return text.p;
}

static void one_work(void **state) {
    (void)state;
    enum { TRIALS = 12 };
    static const char *const name[] = {"random", "genetic", "xgboost", "treegru"};
    const kiln_estimated e =
        compare(NULL, (kiln_estimated_options){
                          .n_works = 1, .n_seeds = 1, .trials = TRIALS, .lookups = 40});
    const char *text = text_of(&e);
    assert_int_equal(e.row.n, sizeof name / sizeof name[0]);
    assert_int_equal(e.transfer.n, 0);
    assert_int_equal(e.hard.n, 0); /* of 12 trials none is above 150 */
    for (size_t i = 0; i < e.row.n; i++) {
        const kiln_estimated_row *r = &e.row.v[i];
        assert_string_equal(r->name, name[i]);
        assert_non_null(strstr(text, name[i]));
        for (int k = 0; k < KILN_N_REACHED; k++) {
            assert_true(r->trials[k] >= 1 - 1e-9 && r->trials[k] <= TRIALS + 1e-9);
            assert_true(k == 0 || r->trials[k] >= r->trials[k - 1]);
        }
        assert_true(r->low <= r->median && r->median <= r->high);
        assert_true(fabs(r->median - r->trials[1]) < 1e-9); /* of one seed */
        for (int k = 0; k < KILN_ESTIMATED_LOOKS; k++)
            assert_true(r->after[k] > 0 && r->after[k] <= 1);
    }
}

/* Where drawing does not do, works have rows of their own. */
static void hard_works_apart(void **state) {
    (void)state;
    enum { TRIALS = 160, LOOKUPS = 400 };
    kiln_test_skip_repeat();
    const kiln_estimated e = compare(
        "C10",
        (kiln_estimated_options){.n_seeds = 1, .trials = TRIALS, .lookups = LOOKUPS});
    const char *text = text_of(&e);
    assert_int_equal(e.n_hard, 1);
    assert_int_equal(e.hard.n, e.row.n);
    assert_true(e.hard.v[0].trials[1] > KILN_ESTIMATED_HARD);
    assert_non_null(strstr(text, "of the 1 large ones where random needs more than"));
    for (size_t i = 0; i < e.row.n; i++) {
        assert_string_equal(e.hard.v[i].name, e.row.v[i].name);
        for (int k = 0; k < KILN_N_REACHED; k++)
            assert_true(fabs(e.hard.v[i].trials[k] - e.row.v[i].trials[k]) < 1e-9);
    }
}

static void papers_say_so(void **state) {
    (void)state;
    if (getenv("KILN_SOAK") == NULL) /* minutes */
        kiln_test_skip("minutes; KILN_SOAK=1 runs it");
    const kiln_estimated e = compare(NULL, (kiln_estimated_options){.n_seeds = 3});
    printf("%s", text_of(&e));
    assert_true(e.hard.n == e.row.n);
    const kiln_estimated_row *random = &e.hard.v[0], *genetic = &e.hard.v[1],
                             *xgboost = &e.hard.v[2], *treegru = &e.hard.v[3];
    assert_true(xgboost->trials[1] <= 0.4 * random->trials[1]);
    assert_true(xgboost->trials[1] <= 0.6 * genetic->trials[1]);
    const int last = KILN_ESTIMATED_LOOKS - 1;
    assert_true(treegru->after[last] >= 0.98 * xgboost->after[last]);
}

int main(void) {
    kiln_test_add("one_work", one_work, NULL);
    kiln_test_add("hard_works_apart", hard_works_apart, NULL);
    kiln_test_add("papers_say_so", papers_say_so, NULL);
    return kiln_test_run("estimated");
}
