/* Searches of whole spaces on the machine model's costs: rows that can be, and, with
 * KILN_SOAK=1, what the AutoTVM paper says of its searches. */
#include "pipeline/tune/estimated.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/kiln_test.h"

static kiln_estimated compare(size_t n_works, int n_seeds, int trials, int lookups) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_tune_works works;
    kiln_profile p;
    kiln_estimated out;
    kiln_assert_status_ok(kiln_corpus_works(a, &works, &err), &err);
    kiln_assert_status_ok(kiln_profile_find(a, "x86-avx512", &p, &err), &err);
    const kiln_estimated_options o = {&works, n_works, n_seeds, trials, lookups};
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
    const kiln_estimated e = compare(1, 1, TRIALS, 40);
    const char *text = text_of(&e);
    assert_int_equal(e.row.n, sizeof name / sizeof name[0]);
    assert_int_equal(e.transfer.n, 0);
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

static void papers_say_so(void **state) {
    (void)state;
    if (getenv("KILN_SOAK") == NULL) /* minutes */
        kiln_test_skip("minutes; KILN_SOAK=1 runs it");
    const kiln_estimated e = compare(0, 3, 0, 0);
    printf("%s", text_of(&e));
    const kiln_estimated_row *random = &e.row.v[0], *genetic = &e.row.v[1],
                             *xgboost = &e.row.v[2], *treegru = &e.row.v[3];
    assert_true(xgboost->trials[1] <= 0.4 * random->trials[1]);
    assert_true(xgboost->trials[1] <= 0.6 * genetic->trials[1]);
    const int last = KILN_ESTIMATED_LOOKS - 1;
    assert_true(treegru->after[last] >= 0.98 * xgboost->after[last]);
}

int main(void) {
    kiln_test_add("one_work", one_work, NULL);
    kiln_test_add("papers_say_so", papers_say_so, NULL);
    return kiln_test_run("estimated");
}
