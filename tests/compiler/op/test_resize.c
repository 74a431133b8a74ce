/* resize against a slow formula: each axis sums the filter over every element of the
 * input, repeated at the edges. */
#include "compiler/graph/graph.h"

#include <math.h>
#include <string.h>

#include "tests/support/graph/node_run.h"

enum { RANK = 3, REACH = 40 }; /* elements past the edge that a filter may reach */

typedef struct row {
    const char *name;
    const char *mode, *coordinates, *rounding;
    kiln_dtype dtype;
    int rank;
    int64_t in[RANK], out[RANK];
    double scale[RANK];
    bool is_antialiased, excludes, has_roi, is_special;
    double cubic_a, extrapolation;
} row;

#define ROI_BEGIN 0.25
#define ROI_END 1.25

#define AXIS(from, to)                                                                 \
    .rank = 1, .in = {from}, .out = {to}, .scale = {(double)(to) / (from)}
#define IMAGE .rank = 3, .in = {2, 5, 7}, .out = {2, 8, 17}, .scale = {1, 1.6, 17.0 / 7}

static row rows[] = {
    {"nearest_up", "nearest", AXIS(5, 13)},
    {"nearest_down", "nearest", AXIS(13, 5)},
    {"nearest_image", "nearest", IMAGE},
    {"nearest_prefer_ceil", "nearest", NULL, "round_prefer_ceil", AXIS(8, 4)},
    {"nearest_prefer_floor", "nearest", NULL, "round_prefer_floor", AXIS(8, 4)},
    {"nearest_floor", "nearest", "asymmetric", "floor", AXIS(5, 13)},
    {"nearest_ceil", "nearest", "asymmetric", "ceil", AXIS(5, 13)},
    {"nearest_corners", "nearest", "align_corners", AXIS(5, 13)},
    {"nearest_tf", "nearest", "tf_half_pixel_for_nn", "floor", AXIS(5, 13)},
    {"nearest_cropped", "nearest", "tf_crop_and_resize", AXIS(8, 5), .has_roi = true,
     .extrapolation = -3},
    {"nearest_special", "nearest", AXIS(5, 13), .is_special = true},
    {"nearest_ints", "nearest", .dtype = KILN_I8, IMAGE},
    {"nearest_bool", "nearest", .dtype = KILN_BOOL, AXIS(3, 7)},
    {"linear_up", "linear", AXIS(5, 13)},
    {"linear_down", "linear", AXIS(13, 5)},
    {"linear_image", "linear", IMAGE},
    {"linear_one", "linear", AXIS(1, 4)},
    {"linear_to_one", "linear", AXIS(5, 1)},
    {"linear_to_none", "linear", AXIS(5, 0)},
    {"linear_corners", "linear", "align_corners", AXIS(5, 13)},
    {"linear_corners_to_one", "linear", "align_corners", AXIS(5, 1)},
    {"linear_symmetric", "linear", "half_pixel_symmetric", .rank = 1, .in = {5},
     .out = {6}, .scale = {1.3}},
    {"linear_cut_size", "linear", .rank = 1, .in = {5}, .out = {6}, .scale = {1.3}},
    {"linear_pytorch_to_one", "linear", "pytorch_half_pixel", AXIS(5, 1)},
    {"linear_pytorch", "linear", "pytorch_half_pixel", AXIS(5, 3)},
    {"linear_cropped", "linear", "tf_crop_and_resize", AXIS(8, 5), .has_roi = true,
     .extrapolation = -3},
    {"linear_cropped_to_one", "linear", "tf_crop_and_resize", AXIS(8, 1),
     .has_roi = true},
    {"linear_smooth", "linear", AXIS(13, 5), .is_antialiased = true},
    {"linear_smooth_up", "linear", AXIS(5, 13), .is_antialiased = true},
    {"linear_half", "linear", .dtype = KILN_F16, AXIS(5, 13)},
    {"cubic_up", "cubic", AXIS(5, 13)},
    {"cubic_down", "cubic", AXIS(13, 5)},
    {"cubic_image", "cubic", IMAGE, .cubic_a = -0.5},
    {"cubic_smooth", "cubic", AXIS(13, 5), .is_antialiased = true},
    {"cubic_excluding", "cubic", AXIS(5, 13), .excludes = true},
    {"cubic_smooth_excluding", "cubic", "asymmetric", AXIS(13, 5),
     .is_antialiased = true, .excludes = true},
    {"cubic_double", "cubic", .dtype = KILN_F64, AXIS(7, 17)},
    /* Every second position lies on an element: its neighbours have weight 0. */
    {"cubic_special_stays_at_its_place", "cubic", "align_corners", AXIS(5, 9),
     .is_special = true},
};

static void put_axes(kiln_buf *b, const char *name, const row *r, const int64_t *v) {
    kiln_buf_puts(b, name);
    for (int i = 0; i < r->rank; i++)
        kiln_buf_printf(b, "%s%lld", i == 0 ? "" : ",", (long long)v[i]);
    kiln_buf_puts(b, "]");
}

static const char *text_of(kiln_arena *a, const row *r) {
    kiln_buf b;
    kiln_buf_init(&b, a);
    kiln_buf_printf(&b, "input %%x : %s", kiln_dtype_name(r->dtype));
    put_axes(&b, "[", r, r->in);
    kiln_buf_printf(&b, " %%y = resize(%%x) {mode=%s", r->mode);
    put_axes(&b, ", sizes=[", r, r->out);
    for (int i = 0; i < r->rank; i++)
        kiln_buf_printf(&b, "%s%.17g", i == 0 ? ", scales=[" : ",",
                        r->out[i] == 0 ? 0.1 : r->scale[i]);
    kiln_buf_puts(&b, "]");
    if (r->coordinates != NULL)
        kiln_buf_printf(&b, ", coordinates=%s", r->coordinates);
    if (r->rounding != NULL)
        kiln_buf_printf(&b, ", rounding=%s", r->rounding);
    if (r->cubic_a != 0)
        kiln_buf_printf(&b, ", cubic_a=%g", r->cubic_a);
    if (r->is_antialiased)
        kiln_buf_puts(&b, ", antialias=true");
    if (r->excludes)
        kiln_buf_puts(&b, ", exclude_outside=true");
    if (r->has_roi)
        kiln_buf_printf(&b, ", extrapolation=%.1f, roi=[%g,%g]", r->extrapolation,
                        ROI_BEGIN, ROI_END);
    kiln_buf_puts(&b, "} output %y");
    return kiln_format(a, "%.*s", (int)kiln_buf_str(&b).n, kiln_buf_str(&b).p);
}

static bool is(const char *word, const char *want) {
    return word != NULL && strcmp(word, want) == 0;
}

/* Where element o of an axis of y lies in x: the table of ONNX Resize-19. */
static double position(const row *r, int axis, int64_t o) {
    const double x = (double)o, scale = r->scale[axis], in = (double)r->in[axis];
    const double out = (double)r->out[axis], half = (x + 0.5) / scale - 0.5;
    const char *c = r->coordinates;
    if (c == NULL || is(c, "half_pixel"))
        return half;
    if (is(c, "half_pixel_symmetric")) {
        const double adjustment = out / (scale * in), center = in / 2;
        return center * (1 - adjustment) + half;
    }
    if (is(c, "pytorch_half_pixel"))
        return out > 1 ? half : 0;
    if (is(c, "align_corners"))
        return out > 1 ? x * (in - 1) / (out - 1) : 0;
    if (is(c, "asymmetric"))
        return x / scale;
    if (is(c, "tf_half_pixel_for_nn"))
        return (x + 0.5) / scale;
    if (out > 1)
        return ROI_BEGIN * (in - 1) + x * (ROI_END - ROI_BEGIN) * (in - 1) / (out - 1);
    return 0.5 * (ROI_BEGIN + ROI_END) * (in - 1);
}

static double filter(const row *r, double distance) {
    const double d = fabs(distance), a = r->cubic_a == 0 ? -0.75 : r->cubic_a;
    if (is(r->mode, "linear"))
        return d < 1 ? 1 - d : 0;
    if (d <= 1)
        return (a + 2) * pow(d, 3) - (a + 3) * pow(d, 2) + 1;
    return d < 2 ? a * pow(d, 3) - 5 * a * pow(d, 2) + 8 * a * d - 4 * a : 0;
}

static double nearest(const row *r, double x) {
    if (r->rounding == NULL || is(r->rounding, "round_prefer_floor"))
        return x - floor(x) <= 0.5 ? floor(x) : ceil(x);
    if (is(r->rounding, "round_prefer_ceil"))
        return x - floor(x) < 0.5 ? floor(x) : ceil(x);
    return is(r->rounding, "floor") ? floor(x) : ceil(x);
}

/* Weight that element o of y gives to element k of x, which may lie outside. */
static double weight(const row *r, int axis, int64_t o, int64_t k) {
    const double x = position(r, axis, o);
    const bool is_outside = k < 0 || k >= r->in[axis];
    if (is(r->mode, "nearest"))
        return (double)k == nearest(r, x) ? 1 : 0;
    if (is_outside && r->excludes)
        return 0;
    const double shrink = r->is_antialiased ? fmin(1, r->scale[axis]) : 1;
    return filter(r, ((double)k - x) * shrink);
}

/* Weight that element o of y gives to element k of x, repeated edges included. */
static double total_weight(const row *r, int axis, int64_t o, int64_t k) {
    double all = 0, own = 0;
    for (int64_t i = -REACH; i < r->in[axis] + REACH; i++) {
        const int64_t at = i < 0 ? 0 : i >= r->in[axis] ? r->in[axis] - 1 : i;
        const double w = weight(r, axis, o, i);
        all += w;
        own += at == k ? w : 0;
    }
    return r->is_antialiased || r->excludes ? own / all : own;
}

static kiln_test_element y_at(const kiln_test_node *t, const void *user,
                              int64_t index) {
    const row *r = user;
    const kiln_wide *x = &t->in[0];
    int64_t y[RANK], k[RANK];
    kiln_test_element e = {0};
    kiln_test_unravel(index, r->rank, r->out, y);
    for (int i = 0; i < r->rank && r->has_roi; i++) {
        const double at = position(r, i, y[i]);
        if (at < 0 || at > (double)(r->in[i] - 1))
            return (kiln_test_element){r->extrapolation, fabs(r->extrapolation),
                                       (float)r->extrapolation, 0};
    }
    for (int64_t j = 0; j < kiln_type_elems(&x->type); j++) {
        double w = 1;
        kiln_test_unravel(j, r->rank, r->in, k);
        for (int i = 0; i < r->rank && w != 0; i++)
            w *= total_weight(r, i, y[i], k[i]);
        if (w == 0)
            continue;
        if (x->f == NULL) {
            e.i += (uint64_t)x->i[j];
            continue;
        }
        e.f += w * x->f[j];
        e.magnitude += fabs(w * x->f[j]);
        e.narrow += (float)w * (float)x->f[j];
    }
    return e;
}

static void check_row(void **state) {
    const row *r = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_test_node t;
    kiln_assert_status_ok(kiln_test_node_parse(&t, &a, text_of(&a, r), &err), &err);
    if (r->is_special) {
        t.in[0].f[r->in[0] / 2] = (double)INFINITY;
        t.in[0].f[r->in[0] - 1] = (double)NAN;
    }
    kiln_test_node_check(&t, y_at, r);
    kiln_arena_fini(&a);
}

/* Cubic weights of both signs: what |x| cancels must not count in the bound. */
static void check_cancelling_bound(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_test_node t;
    const char *body = "input %x : f32[4] %y = resize(%x) {mode=cubic, sizes=[8], "
                       "scales=[2.0]} output %y";
    kiln_assert_status_ok(kiln_test_node_parse(&t, &a, body, &err), &err);
    const double x[] = {1024, 1, 1, 1};
    memcpy(t.in[0].f, x, sizeof x);
    kiln_test_node_run(&t);
    double value[8], bound[8];
    const int64_t pick[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    kiln_assert_status_ok(
        kiln_ref_pick(&a, t.node, t.native, pick, 8, value, bound, &err), &err);
    for (int i = 0; i < 8; i++) /* the first element's weight is at least 0.03 there */
        assert_true(bound[i] >= (i < 5 ? 30 * 0x1p-24 : 0x1p-24));
    kiln_arena_fini(&a);
}

#define X "input %x : f32[2,4] "
#define Y(attrs) "%y = resize(%x) {" attrs "} output %y"

static kiln_test_refusal refusals[] = {
    {"sizes_of_other_rank", X Y("sizes=[8], scales=[1.0,2.0]"), KILN_ERR_SHAPE,
     "attributes 'sizes' and 'scales' must have 2 values and 'roi' none or 4, have 1, "
     "2 and 0"},
    {"roi_of_other_rank", X Y("sizes=[2,8], scales=[1.0,2.0], roi=[0.0,1.0]"),
     KILN_ERR_SHAPE, "have 2, 2 and 2"},
    {"size_below_0", X Y("sizes=[2,-1], scales=[1.0,2.0]"), KILN_ERR_SHAPE,
     "an axis of 4 cannot be resized to -1"},
    {"something_from_nothing", "input %x : f32[0] " Y("sizes=[3], scales=[1.0]"),
     KILN_ERR_SHAPE, "an axis of 0 cannot be resized to 3"},
    {"scale_that_does_not_make_the_size", X Y("sizes=[2,8], scales=[1.0,3.0]"),
     KILN_ERR_SHAPE, "axis 1 of 4 with scale 3 does not make 8"},
    {"scale_of_0", X Y("sizes=[2,0], scales=[1.0,0.0]"), KILN_ERR_SHAPE,
     "axis 1 of 4 with scale 0 does not make 0"},
    {"scale_nan", X Y("sizes=[2,8], scales=[1.0,nan]"), KILN_ERR_SHAPE,
     "does not make 8"},
    {"filtered_integers", "input %x : u8[4] " Y("mode=linear, sizes=[8], scales=[2.0]"),
     KILN_ERR_SHAPE, "u8"},
};

int main(void) {
    kiln_test_add_rows(check_row, rows);
    kiln_test_add("bounds_weights_that_cancel", check_cancelling_bound, NULL);
    kiln_test_add_rows(kiln_test_check_refusal, refusals);
    return kiln_test_run("resize");
}
