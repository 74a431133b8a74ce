/* What kiln tune prints of a run: names that differ stay different. */
#include "pipeline/tune/tune.h"
#include "reports/results/documents.h"
#include "tests/support/kiln_test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WORKS = 30 };

/* As exporters of one framework name them. */
static const char *text_of(const char *before, const char *behind) {
    kiln_arena *a = kiln_test_arena();
    kiln_tune_result r = {.n_new = 3, .seconds = 1};
    kiln_buf text;
    for (int i = 0; i < WORKS; i++) {
        const kiln_tune_row row = {.name = kiln_format(a, "%s%d%s", before, i, behind),
                                   .key = "",
                                   .tmpl = "",
                                   .best = "",
                                   .calls = 1,
                                   .start_ns = 2000,
                                   .best_ns = 1000};
        kiln_vec_push(a, &r.row, row);
    }
    kiln_buf_init(&text, a);
    kiln_tune_text(&text, &(kiln_tune_report){.result = &r});
    return text.p;
}

static size_t n_different(const char *text) {
    kiln_str rest = kiln_str_from(text), line;
    kiln_map seen = {0};
    size_t n = 0;
    (void)kiln_str_cut(&rest, '\n', &line); /* the head */
    for (int i = 0; i < WORKS && kiln_str_cut(&rest, '\n', &line); i++)
        n += kiln_map_set(kiln_test_arena(), &seen, line, &n);
    return n;
}

static void names_stay_different(void **state) {
    (void)state;
    static const char *const forms[][2] = {
        {"conv", ""},
        {"StatefulPartitionedCall/resnet/block", "/conv/Conv2D"},
        {"StatefulPartitionedCall/a/very/long/path/of/scopes/that/ends/in/conv_", ""}};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        const char *text = text_of(forms[i][0], forms[i][1]);
        print_message("%.300s\n", text);
        assert_int_equal(n_different(text), WORKS);
    }
}

/* The columns of numbers stand below each other, however long names are. */
static void columns_stay_in_line(void **state) {
    (void)state;
    const char *text = text_of("StatefulPartitionedCall/model/layer_", "/Conv2D");
    kiln_str rest = kiln_str_from(text), head, line;
    assert_true(kiln_str_cut(&rest, '\n', &head));
    for (int i = 0; i < WORKS; i++) {
        assert_true(kiln_str_cut(&rest, '\n', &line));
        assert_true(line.n + strlen("   peak") == head.n);
    }
}

/* ---- the report card ------------------------------------------------------------- */

static void cards_count_trials(void **state) {
    (void)state;
    static const kiln_trial t[] = {
        {0, KILN_OUTCOME_LETHAL, 0},     {1, KILN_OUTCOME_MEASURED, 200},
        {2, KILN_OUTCOME_SLOW, 90},      {3, KILN_OUTCOME_MEASURED, 110},
        {4, KILN_OUTCOME_MEASURED, 104}, {5, KILN_OUTCOME_MEASURED, 100},
        {6, KILN_OUTCOME_MEASURED, 130}};
    enum { N = sizeof t / sizeof t[0] };
    assert_int_equal(kiln_card_trials_to(t, N, 0.9), 4);
    assert_int_equal(kiln_card_trials_to(t, N, 0.95), 5);
    assert_int_equal(kiln_card_trials_to(t, N, 0.99), 6);
    assert_int_equal(kiln_card_trials_to(t, 1, 0.9), 0); /* nothing ran */
    assert_true(kiln_card_after(t, N, 1) <= 0);
    assert_true(kiln_card_after(t, N, 3) == 0.5);
    assert_true(kiln_card_after(t, N, 100) == 1);
    assert_true(kiln_card_after(t, 0, 4) <= 0);
}

static void cards_say_what_they_know(void **state) {
    (void)state;
    kiln_buf text;
    kiln_tune_card c = {.n_searches = 0};
    kiln_buf_init(&text, kiln_test_arena());
    kiln_card_text(&text, &c);
    assert_int_equal(text.n, 0);
    c = (kiln_tune_card){.n_searches = 3,
                         .trials_to = {2, 4.5, 20},
                         .after = {0.5, 0.8, 0.9, 0.95, 1},
                         .n_taught = 2,
                         .taught_trials = 3,
                         .alone_trials = 9,
                         .accuracy = 0.82,
                         .recall = 0.5,
                         .build_s = 4,
                         .run_s = 6,
                         .search_s = 1.5,
                         .think_cpu_s = 0.5,
                         .now_ns = 2e6,
                         .later_ns = 1.5e6};
    kiln_card_text(&text, &c);
    print_message("%s", text.p);
    static const char *const wanted[] = {
        "report card of 3 searches",
        "90% of the best known: 2.0, 95% of the best known: 4.5, 99%",
        "after 1: 50.0%, 4: 80.0%, 8: 90.0%, 16: 95.0%, 32: 100.0%",
        "82% of pairs in order, 50% of the best fifth",
        "2 of 3 began with a model of other work: 3.0 trials to 95%, the others 9.0",
        "building 4.0 and running 6.0",
        "search 1.5 (0.5 of the processor for both)",
        "now: 2.000 ms; after 20 more minutes: 1.500 ms (extrapolated"};
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        assert_non_null(strstr(text.p, wanted[i]));
    c.accuracy = -1;
    c.n_taught = 0;
    c.later_ns = 0;
    text.n = 0;
    kiln_card_text(&text, &c);
    assert_null(strstr(text.p, "pairs"));
    assert_null(strstr(text.p, "taught"));
    assert_null(strstr(text.p, "extrapolated"));
}

static kiln_buf *emptied(kiln_buf *text) {
    kiln_buf_init(text, kiln_test_arena());
    return text;
}

/* The same as a document, which nights take over. */
static void cards_are_in_the_document(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_doc_tune d;
    kiln_buf text;
    kiln_tune_result r = {.n_new = 3, .seconds = 1};
    kiln_tune_json(emptied(&text), &(kiln_tune_report){.result = &r});
    kiln_assert_status_ok(kiln_record_parse(kiln_test_arena(), kiln_buf_str(&text), "a",
                                            &kiln_tune_document, &d, &err),
                          &err);
    assert_false(d.tuning.has_card);
    r.card = (kiln_tune_card){.n_searches = 3,
                              .trials_to = {2, 4.5, 20},
                              .after = {0.5, 0.8, 0.9, 0.95, 1},
                              .n_taught = 2,
                              .taught_trials = 3,
                              .accuracy = 0.82,
                              .recall = -1,
                              .build_s = 4,
                              .think_cpu_s = 0.5,
                              .now_ns = 2e6,
                              .later_ns = 1.5e6};
    kiln_tune_json(emptied(&text), &(kiln_tune_report){.result = &r});
    kiln_assert_status_ok(kiln_record_parse(kiln_test_arena(), kiln_buf_str(&text), "b",
                                            &kiln_tune_document, &d, &err),
                          &err);
    const kiln_results_card *c = &d.tuning.card;
    assert_true(d.tuning.has_card);
    assert_int_equal(c->searches, 3);
    assert_int_equal(c->taught, 2);
    assert_int_equal(c->reached.n, KILN_CARD_REACHED);
    assert_true(c->reached.v[1].share == 0.95 && c->reached.v[1].trials == 4.5);
    assert_int_equal(c->look.n, KILN_CARD_LOOKS);
    assert_true(c->look.v[2].trials == 8 && c->look.v[2].share == 0.9);
    assert_true(c->accuracy == 0.82 && isnan(c->recall));
    assert_true(c->alone_trials == 0 && c->build_s == 4 && c->think_cpu_s == 0.5);
    assert_true(c->later_ns == 1.5e6 && c->later_s == KILN_CARD_LATER_S);
}

int main(void) {
    kiln_test_add("cards_count_trials", cards_count_trials, NULL);
    kiln_test_add("cards_say_what_they_know", cards_say_what_they_know, NULL);
    kiln_test_add("cards_are_in_the_document", cards_are_in_the_document, NULL);
    kiln_test_add("names_stay_different", names_stay_different, NULL);
    kiln_test_add("columns_stay_in_line", columns_stay_in_line, NULL);
    return kiln_test_run("tune: report");
}
