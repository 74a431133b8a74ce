/* What kiln tune prints of a run: names that differ stay different. */
#include "pipeline/tune/tune.h"
#include "tests/support/kiln_test.h"

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

int main(void) {
    kiln_test_add("names_stay_different", names_stay_different, NULL);
    kiln_test_add("columns_stay_in_line", columns_stay_in_line, NULL);
    return kiln_test_run("tune: report");
}
