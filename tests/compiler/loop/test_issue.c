/* What a core must issue: each row a program and what it comes to, in vectors of 64
 * bytes. */
#include "compiler/loop/loop.h"
#include "tests/support/kiln_test.h"

#include <math.h>

typedef struct row {
    const char *name, *body; /* of a program with x, y and w of 64 f32, k of i64 */
    bool has_fma, has_nan_min_max;
    double arithmetic, loads, stores;
} row;

#define V(at) "ramp(" at ", 1, 16)"

static row rows[] = {
    {"a_vector", "y[" V("0") "] = x[" V("0") "] + w[" V("0") "]", true, false, 1, 2, 1},
    {"single_elements_count_as_parts_of_vectors",
     "for i in 0 .. +16 { y[i] = x[i] + w[i] }", true, false, 1, 2, 1},
    {"runs_multiply", "for i in 0 .. +4 { y[" V("i*16") "] = x[" V("i*16") "] }", true,
     false, 0, 4, 4},
    {"a_sum_takes_a_product_along",
     "y[" V("0") "] = x[" V("0") "]*w[" V("0") "] + w[" V("16") "]", true, false, 1, 3,
     1},
    {"where_the_machine_can",
     "y[" V("0") "] = x[" V("0") "]*w[" V("0") "] + w[" V("16") "]", false, false, 2, 3,
     1},
    {"a_maximum_keeps_nan", "y[" V("0") "] = max(x[" V("0") "], w[" V("0") "])", true,
     false, 2, 2, 1},
    {"by_one_instruction", "y[" V("0") "] = max(x[" V("0") "], w[" V("0") "])", true,
     true, 1, 2, 1},
    {"functions_are_many", "y[" V("0") "] = exp(x[" V("0") "])", true, false, 15, 1, 1},
    {"roots_keep_a_port", "y[" V("0") "] = sqrt(x[" V("0") "])", true, false, 6, 1, 1},
    {"strides_are_shuffled", "y[" V("0") "] = x[ramp(0, 2, 16)]", true, false, 1, 1, 1},
    {"what_stays_is_free",
     "for i in 0 .. +4 { y[" V("i*16") "] = x[" V("i*16") "]*x16(1f/w[0]) }", true,
     false, 4, 4, 4},
    {"but_not_what_is_written",
     "for i in 0 .. +4 { y[" V("0") "] = y[" V("0") "] + x[" V("i*16") "] }", true,
     false, 4, 8, 4},
    {"register_tiles_are_free",
     "alloc t: f32[16] register { t[" V("0") "] = x[" V("0") "] y[" V("0") "] = t[" V(
         "0") "] + x16(1f) }",
     true, false, 1, 1, 1},
    {"rows_at_places_that_are_read_are_vectors",
     "y[" V("0") "] = x["
                 "ramp(k[0], 1, 16)]",
     true, false, 0, 1.125, 1},
    {"a_window_of_few_vectors_is_permuted",
     "y[" V("0") "] = x[x16(3) + max(min(k[" V("0") "], x16(31)), x16(0))]", true,
     false, 1, 3, 1},
    {"places_that_are_read_come_one_by_one", "y[" V("0") "] = x[k[" V("0") "]]", true,
     false, 16, 18, 1},
};

static void counts(void **state) {
    const row *r = *state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_program *p = NULL;
    const char *text = kiln_format(
        a, "program p(x: f32[64], w: f32[64], k: i64[64], out y: f32[64]) { %s }",
        r->body);
    kiln_assert_status_ok(kiln_program_parse(a, kiln_str_from(text), NULL, &p, &err),
                          &err);
    const kiln_issue_machine m = {64, r->has_fma, r->has_nan_min_max};
    const kiln_issue n = kiln_program_issue(a, p, &m);
    assert_true(fabs(n.arithmetic - r->arithmetic) < 1e-9);
    assert_true(fabs(n.loads - r->loads) < 1e-9);
    assert_true(fabs(n.stores - r->stores) < 1e-9);
}

int main(void) {
    kiln_test_add_rows(counts, rows);
    return kiln_test_run("instructions that a program needs");
}
