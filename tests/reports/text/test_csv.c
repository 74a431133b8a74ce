/* results.csv: read back by RFC 4180 it has the cells of the results; no text of theirs
 * is a formula. */
#include "reports/results/results.h"
#include "tests/support/kiln_test.h"

#include <string.h>

enum { MAX_COLUMNS = 96, MAX_LINES = 64 };

typedef struct table {
    const char *cell[MAX_LINES][MAX_COLUMNS];
    size_t n_lines, n_columns;
} table;

static kiln_str csv_of(kiln_str json) {
    kiln_results r;
    kiln_err err = {0};
    kiln_buf out;
    kiln_assert_status_ok(kiln_results_parse(kiln_test_arena(), json, "test", &r, &err),
                          &err);
    kiln_buf_init(&out, kiln_test_arena());
    kiln_results_csv(&out, &r);
    return kiln_buf_str(&out);
}

/* One cell from *at on; behind it stands a comma or a line's end. */
static const char *read_cell(const char **at) {
    kiln_buf cell;
    kiln_buf_init(&cell, kiln_test_arena());
    kiln_buf_puts(&cell, "");
    const bool is_quoted = **at == '"';
    *at += is_quoted;
    while (is_quoted) {
        if (**at == '\0')
            fail_msg("a quote has no end");
        if (**at == '"' && *++*at != '"')
            break;
        kiln_buf_add(&cell, (*at)++, 1);
    }
    while (!is_quoted && strchr(",\r\n\"", **at) == NULL)
        kiln_buf_add(&cell, (*at)++, 1);
    return cell.p;
}

static void read_csv(kiln_str text, table *t) {
    const char *at = text.p;
    memset(t, 0, sizeof *t);
    while (*at != '\0') {
        size_t n = 0;
        for (;;) {
            assert_in_range(n, 0, MAX_COLUMNS - 1);
            t->cell[t->n_lines][n++] = read_cell(&at);
            if (*at != ',')
                break;
            at++;
        }
        if (strncmp(at, "\r\n", 2) != 0)
            fail_msg("a line ends in '%.10s'", at);
        at += 2;
        t->n_columns = t->n_lines == 0 ? n : t->n_columns;
        assert_int_equal(n, t->n_columns);
        assert_in_range(++t->n_lines, 0, MAX_LINES - 1);
    }
}

static const char *cell(const table *t, size_t line, const char *column) {
    for (size_t i = 0; i < t->n_columns; i++)
        if (strcmp(t->cell[0][i], column) == 0)
            return t->cell[line][i];
    fail_msg("there is no column '%s'", column);
    return NULL;
}

static void texts_come_back(void **state) {
    (void)state;
    table t;
    read_csv(
        csv_of(KILN_STR_LIT(
            "{\"schema\": \"kiln-results-1\", \"run\": \"a,b\", \"jobs\": "
            "[{\"model\": \"say \\\"hi\\\"\\nor not\", \"profile\": \"plain\"}]}")),
        &t);
    assert_int_equal(t.n_lines, 2);
    assert_string_equal(cell(&t, 1, "run"), "a,b");
    assert_string_equal(cell(&t, 1, "name"), "say \"hi\"\nor not");
    assert_string_equal(cell(&t, 1, "profile"), "plain");
}

/* Of what has no card, the cells are empty. */
static void tuning_has_lines_of_its_own(void **state) {
    (void)state;
    table t;
    read_csv(csv_of(KILN_STR_LIT(
                 "{\"schema\": \"kiln-results-1\", \"jobs\": [{\"model\": \"m\", "
                 "\"tuning\": {\"new_trials\": 9, \"by_error\": [{\"name\": \"wrong\", "
                 "\"n\": 2}, {\"name\": \"lost\", \"n\": 1}]}}], \"ops\": [{\"set\": "
                 "\"mine\", \"tuning\": {\"card\": {\"searches\": 4, \"trials_to\": "
                 "[{\"share\": 0.95, \"trials\": 3.5}], \"after\": [{\"trials\": 8, "
                 "\"share\": 0.9}], \"accuracy\": 0.75}}}]}")),
             &t);
    assert_int_equal(t.n_lines, 4);
    assert_string_equal(cell(&t, 1, "kind"), "job");
    assert_string_equal(cell(&t, 1, "new_trials"), "");
    assert_string_equal(cell(&t, 2, "kind"), "tuning");
    assert_string_equal(cell(&t, 2, "name"), "m");
    assert_string_equal(cell(&t, 2, "new_trials"), "9");
    assert_string_equal(cell(&t, 2, "failed_trials"), "3");
    assert_string_equal(cell(&t, 2, "accuracy"), "");
    assert_string_equal(cell(&t, 3, "set"), "mine");
    assert_string_equal(cell(&t, 3, "searches"), "4");
    assert_string_equal(cell(&t, 3, "trials_to_90"), "");
    assert_string_equal(cell(&t, 3, "trials_to_95"), "3.5");
    assert_string_equal(cell(&t, 3, "after_8"), "0.9");
    assert_string_equal(cell(&t, 3, "accuracy"), "0.75");
}

typedef struct row {
    const char *name, *text, *want;
} row;

static row rows[] = {
    {"formula_equals", "=HYPERLINK(1)", "'=HYPERLINK(1)"},
    {"formula_plus", "+1", "'+1"},
    {"formula_minus", "-1+1", "'-1+1"},
    {"formula_at", "@SUM(A1)", "'@SUM(A1)"},
    {"formula_tab", "\\tx", "'\tx"},
    {"formula_return", "\\rx", "'\rx"},
    {"formula_after_a_quote", "\\\"=1", "\"=1"},
    {"text_with_a_minus_inside", "mobilenet-v1", "mobilenet-v1"},
};

static void check_formula(void **state) {
    const row *r = *state;
    table t;
    read_csv(csv_of(kiln_str_from(kiln_format(
                 kiln_test_arena(),
                 "{\"schema\": \"kiln-results-1\", \"jobs\": [{\"model\": \"%s\", "
                 "\"gate\": {\"pairs\": 10, \"slowdown\": {\"estimate\": -0.5}}}]}",
                 r->text))),
             &t);
    assert_string_equal(cell(&t, 1, "name"), r->want);
    assert_string_equal(cell(&t, 1, "slowdown"), "-0.5"); /* a number is no formula */
}

/* Line ends are CRLF (above); here they are the file's. */
static void golden(void **state) {
    kiln_test_golden g;
    kiln_test_golden_read(*state, &g);
    const kiln_str csv = csv_of(g.input);
    kiln_buf out;
    kiln_buf_init(&out, kiln_test_arena());
    for (size_t i = 0; i < csv.n; i++)
        if (csv.p[i] != '\r')
            kiln_buf_add(&out, csv.p + i, 1);
    kiln_test_golden_check(&g, kiln_buf_str(&out));
}

/* Each column is explained, in its order. */
static void documentation_has_every_column(void **state) {
    (void)state;
    table t;
    kiln_str text;
    kiln_err err = {0};
    kiln_assert_status_ok(
        kiln_file_map(kiln_test_arena(), "docs/results-csv.md", 0, &text, &err), &err);
    const char *at = kiln_str_dupv(kiln_test_arena(), text);
    read_csv(csv_of(KILN_STR_LIT("{\"schema\": \"kiln-results-1\"}")), &t);
    for (size_t i = 0; i < t.n_columns; i++) {
        const char *name = kiln_format(kiln_test_arena(), "`%s`", t.cell[0][i]);
        const char *found = strstr(at, name);
        if (found == NULL)
            fail_msg("%s is not explained, or not in its place", name);
        at = found;
    }
}

int main(void) {
    kiln_test_add("texts_come_back", texts_come_back, NULL);
    kiln_test_add("tuning_has_lines_of_its_own", tuning_has_lines_of_its_own, NULL);
    kiln_test_add_rows(check_formula, rows);
    kiln_test_add("documentation_has_every_column", documentation_has_every_column,
                  NULL);
    kiln_test_add_golden("tests/reports/golden/csv", golden);
    return kiln_test_run("csv");
}
