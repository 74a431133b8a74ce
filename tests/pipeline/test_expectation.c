/* Elements that hang on rounding are left out of what a model must give; the others are
 * held. In these graphs sigmoid(x) 10^8 + sigmoid(-x) 10^8 - 10^8 is nothing but the
 * errors of two sigmoids. */
#include "pipeline/pipeline.h"
#include "tests/support/kiln_test.h"

#include <string.h>

#define ERRORS                                                                         \
    "%s = sigmoid(%x) %n = neg(%x) %t = sigmoid(%n) %p = mul(%s, %w) "                 \
    "%q = mul(%t, %w) %a = add(%p, %q) %b = sub(%a, %w) "

typedef struct row {
    const char *name, *text;
    int64_t n_kept, n; /* elements of the output */
} row;

static row rows[] = {
    {"keeps_what_is_firm",
     "graph \"g\" { input %x : f32[8] %a = relu(%x) output %a \"y\" }", 8, 8},
    {"keeps_sums",
     "graph \"g\" { input %x : f32[4,64] %a = reduce_sum(%x) {axes=[1]} output %a "
     "\"y\" }",
     4, 4},
    {"leaves_out_what_hangs_on_rounding",
     "graph \"g\" { input %x : f32[8] input %w : f32[1] " ERRORS
     "%c = sigmoid(%x) %d = concat(%c, %b) {axis=0} output %d \"y\" }",
     8, 16},
    {"does_not_disturb_what_only_moves",
     "graph \"g\" { input %x : f32[2,4] %a = transpose(%x) {perm=[1,0]} "
     "%b = transpose(%a) {perm=[1,0]} %c = equal(%x, %b) output %c \"y\" }",
     8, 8},
};

static kiln_source source_of(const char *text) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_source s = {.name = "g"};
    kiln_assert_status_ok(
        kiln_graph_parse(a, kiln_str_from(text), "test", &s.imported, &err), &err);
    if (s.imported->inputs.n == 2) {
        kiln_value *w = s.imported->inputs.v[--s.imported->inputs.n];
        float *data = kiln_tensor_new(a, &w->type).data;
        data[0] = 1e8F;
        w->data = data;
    }
    kiln_graph_renumber(s.imported);
    return s;
}

static void check(void **state) {
    const row *r = *state;
    kiln_err err = {0};
    kiln_expectation e;
    const kiln_source s = source_of(r->text);
    kiln_assert_status_ok(kiln_expectation_of(kiln_test_arena(), &s, 2, &e, &err),
                          &err);
    assert_int_equal(kiln_type_elems(&e.out[0].value.type), r->n_kept);
    assert_int_equal(e.out[0].at != NULL, r->n_kept < r->n);
    for (int64_t i = 0; i < r->n_kept && e.out[0].at != NULL; i++)
        assert_int_equal(e.out[0].at[i], i); /* the firm half comes first */
}

/* What cannot be held to anything is said, and refuses nothing. */
static void tells_of_an_output_without_a_firm_element(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_expectation e;
    const kiln_source s =
        source_of("graph \"g\" { input %x : f32[8] input %w : f32[1] " ERRORS
                  "output %b \"y\" }");
    kiln_assert_status_ok(kiln_expectation_of(kiln_test_arena(), &s, 2, &e, &err),
                          &err);
    assert_int_equal(e.n_elems, 8);
    assert_int_equal(e.n_held, 0);
    assert_non_null(e.out[0].at);
    assert_int_equal(kiln_type_elems(&e.out[0].value.type), 0);
}

/* The same elements of a result are compared, and an error in one of them is seen. */
static void compares_what_is_kept(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_expectation e;
    const kiln_source s = source_of(rows[2].text);
    kiln_arena *a = kiln_test_arena();
    kiln_assert_status_ok(kiln_expectation_of(a, &s, 2, &e, &err), &err);
    for (int wrong = 0; wrong < 3; wrong++) {
        kiln_check c = {.group = "", .reason = ""};
        const kiln_tensor got = kiln_tensor_new(a, &s.imported->outputs.v[0]->type);
        memcpy(got.data, e.out[0].value.data, 8 * sizeof(float));
        if (wrong > 0)
            ((float *)got.data)[wrong == 1 ? 3 : 11] += 1; /* 11 is not compared */
        kiln_assert_status_ok(
            kiln_check_wanted(a, &c, &got, &e.out[0], &kiln_tolerance_network, &err),
            &err);
        assert_int_equal(c.outcome, wrong == 1 ? KILN_FAILED : KILN_PASSED);
    }
}

int main(void) {
    kiln_test_add_rows(check, rows);
    kiln_test_add("tells_of_an_output_without_a_firm_element",
                  tells_of_an_output_without_a_firm_element, NULL);
    kiln_test_add("compares_what_is_kept", compares_what_is_kept, NULL);
    return kiln_test_run("expectation");
}
