/* Axes: round ticks, few of them, with everything that must be seen on them. */
#include "reports/page/svg.h"
#include "tests/support/kiln_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct axis_row {
    const char *name;
    bool is_log;
    double low, high;
    const char *ticks; /* one behind the other */
} axis_row;

static axis_row rows[] = {
    {"starts_where_the_least_is", false, 4800, 9950,
     "4000 5000 6000 7000 8000 9000 10000"},
    {"goes_through_0_without_a_minus", false, -4, 4, "-4 -2 0 2 4"},
    {"fractions_have_no_tail", false, 0.312, 0.3199, "0.312 0.314 0.316 0.318 0.32"},
    {"one_value_has_room", false, 200, 200, "199 199.5 200 200.5 201"},
    {"noise_is_no_mountain", false, 1000, 1000.001, "994 996 998 1000 1002 1004 1006"},
    {"decades_have_three_ticks", true, 30, 900, "20 50 100 200 500 1000"},
    {"round_ends_stay", true, 10, 100, "10 20 50 100"},
    {"many_decades_share_one", true, 0.5, 3e7, "0.1 10 1000 100000 1e+07 1e+09"},
    {"below_one", true, 0.03, 0.2, "0.02 0.05 0.1 0.2"},
    {"one_value_has_an_axis", true, 7, 7, "5 10"},
};

/* The texts of the ticks, and that they stand in order and inside. */
static void check_axis(void **state) {
    const axis_row *r = *state;
    const kiln_svg_axis axis = r->is_log ? kiln_svg_axis_log(r->low, r->high)
                                         : kiln_svg_axis_between(r->low, r->high);
    kiln_buf svg, ticks;
    kiln_buf_init(&svg, kiln_test_arena());
    kiln_buf_init(&ticks, kiln_test_arena());
    kiln_svg_ticks(&svg, &axis);
    for (const char *at = svg.p; (at = strstr(at, "\">")) != NULL;) {
        at += 2;
        kiln_buf_printf(&ticks, "%s%.*s", ticks.n > 0 ? " " : "", (int)strcspn(at, "<"),
                        at);
    }
    assert_string_equal(ticks.p, r->ticks);
    assert_true(axis.start <= r->low && r->high <= axis.end);
    assert_true(kiln_svg_place(&axis, axis.start) == 0);
    assert_true(fabs(kiln_svg_place(&axis, axis.end) - 100) < 1e-9);
    double last = -1;
    for (const char *at = svg.p; (at = strstr(at, " x=\"")) != NULL; at++) {
        const double x = strtod(at + 4, NULL);
        assert_true(x > last && x <= 100);
        last = x;
    }
}

/* Whatever is measured, there is an axis, of not too many ticks. */
static void any_numbers_have_an_axis(void **state) {
    (void)state;
    static const double v[] = {-1e300, -1, -1e-300, 0, 1e-300, 1e-9, 1, 7, 1e9, 1e300};
    enum { N = sizeof v / sizeof v[0], MOST = 14 };
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < N; k++)
            for (int is_log = 0; is_log < 2; is_log++) {
                const kiln_svg_axis a = is_log ? kiln_svg_axis_log(v[i], v[k])
                                               : kiln_svg_axis_between(v[i], v[k]);
                kiln_buf svg;
                size_t n = 0;
                kiln_buf_init(&svg, kiln_test_arena());
                kiln_svg_ticks(&svg, &a);
                for (const char *at = svg.p; (at = strstr(at, "<text")) != NULL; at++)
                    n++;
                assert_in_range(n, 2, MOST);
                assert_null(strstr(svg.p, "nan"));
                assert_null(strstr(svg.p, "inf"));
            }
}

int main(void) {
    kiln_test_add_rows(check_axis, rows);
    kiln_test_add("any_numbers_have_an_axis", any_numbers_have_an_axis, NULL);
    return kiln_test_run("svg");
}
