/* Where resized elements come from, by hand: each row's values are what the axis makes
 * of x[i] = i. */
#include "compiler/op/image/resize_axis.h"

#include <math.h>

#include "tests/support/kiln_test.h"

enum { MAX_OUT = 4 };

typedef struct row {
    const char *name;
    kiln_resize_axis_spec spec;
    double want[MAX_OUT];
    int outside; /* elements from this one on extrapolate; 0: none */
} row;

static row rows[] = {
    {"prefers_floor",
     {.in = 4, .out = 2, .scale = 0.5, .rounding = KILN_RESIZE_ROUND_PREFER_FLOOR},
     {0, 2},
     0},
    {"prefers_ceil",
     {.in = 4, .out = 2, .scale = 0.5, .rounding = KILN_RESIZE_ROUND_PREFER_CEIL},
     {1, 3},
     0},
    {"rounds_up_inside_the_input",
     {.in = 2,
      .out = 4,
      .scale = 2,
      .coordinates = KILN_RESIZE_ASYMMETRIC,
      .rounding = KILN_RESIZE_CEIL},
     {0, 1, 1, 1},
     0},
    {"keeps_an_axis_that_nearest_would_shift",
     {.in = 3,
      .out = 3,
      .scale = 1,
      .coordinates = KILN_RESIZE_TF_HALF_PIXEL_FOR_NN,
      .rounding = KILN_RESIZE_CEIL},
     {0, 1, 2},
     0},
    {"keeps_an_axis_that_linear_would_mix",
     {.in = 3,
      .out = 3,
      .scale = 1,
      .mode = KILN_RESIZE_LINEAR,
      .coordinates = KILN_RESIZE_TF_HALF_PIXEL_FOR_NN},
     {0, 1, 2},
     0},
    {"linear_holds_the_edges",
     {.in = 2, .out = 4, .scale = 2, .mode = KILN_RESIZE_LINEAR},
     {0, 0.25, 0.75, 1},
     0},
    {"linear_aligns_corners",
     {.in = 2,
      .out = 3,
      .scale = 1.5,
      .mode = KILN_RESIZE_LINEAR,
      .coordinates = KILN_RESIZE_ALIGN_CORNERS},
     {0, 0.5, 1},
     0},
    {"cubic_follows_a_line",
     {.in = 9,
      .out = 3,
      .scale = 1.0 / 3.0,
      .mode = KILN_RESIZE_CUBIC,
      .cubic_a = -0.5},
     {1, 4, 7},
     0},
    {"antialias_widens_the_filter",
     {.in = 4, .out = 2, .scale = 0.5, .mode = KILN_RESIZE_LINEAR, .antialias = true},
     {0.625, 2.375},
     0},
    {"exclude_outside_scales_the_rest",
     {.in = 4,
      .out = 2,
      .scale = 0.5,
      .mode = KILN_RESIZE_LINEAR,
      .antialias = true,
      .exclude_outside = true},
     {0.625 / 0.875, 3 - 0.625 / 0.875},
     0},
    {"crop_extrapolates_past_the_input",
     {.in = 3,
      .out = 3,
      .scale = 1,
      .roi_begin = 0.5,
      .roi_end = 1.5,
      .mode = KILN_RESIZE_LINEAR,
      .coordinates = KILN_RESIZE_TF_CROP_AND_RESIZE},
     {1, 2},
     2},
};
enum { N_ROWS = sizeof rows / sizeof rows[0] };

static void check_axis(void **state) {
    const row *r = *state;
    kiln_arena a = {0};
    const kiln_resize_axis axis = kiln_resize_axis_new(&a, &r->spec);
    for (int64_t o = 0; o < r->spec.out; o++) {
        const bool is_outside = r->outside != 0 && o >= r->outside;
        assert_int_equal(axis.is_outside[o], is_outside);
        double sum = 0.0;
        for (int64_t t = 0; t < axis.n_taps; t++) {
            const int64_t at = axis.at[o * axis.n_taps + t];
            assert_true(at >= 0 && at < r->spec.in);
            sum += axis.weight[o * axis.n_taps + t] * (double)at;
        }
        if (!is_outside && fabs(sum - r->want[o]) > 1e-12)
            fail_msg("element %d must be %g, is %g", (int)o, r->want[o], sum);
    }
    kiln_arena_fini(&a);
}

int main(void) {
    static struct CMUnitTest tests[N_ROWS];
    for (size_t i = 0; i < N_ROWS; i++)
        tests[i] = (struct CMUnitTest){rows[i].name, check_axis, NULL, NULL, &rows[i]};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
