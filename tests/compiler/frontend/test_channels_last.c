/* What frontends of channels-last formats build by channels_last.h, run by the
 * reference: filters turned, windows padded as TensorFlow does, transposes that are not
 * made twice. */
#include "compiler/frontend/channels_last.h"

#include <string.h>

#include "compiler/reference/reference.h"
#include "tests/support/kiln_test.h"

/* ---- an import of nothing ---------------------------------------------------------- */

static const char *node_name(kiln_import_cx *cx, const void *site) {
    (void)cx;
    (void)site;
    return "n";
}

static const char *out_name(kiln_import_cx *cx, const void *site, int i) {
    (void)cx;
    (void)site;
    (void)i;
    return "v";
}

static const kiln_import_format format = {.node_name = node_name, .out_name = out_name};

typedef struct build {
    kiln_import_cx cx;
    kiln_compose c;
    kiln_err err;
} build;

static void begin(build *b) {
    memset(b, 0, sizeof *b);
    kiln_import_begin(&b->cx, &format, kiln_test_arena(), &b->err);
    b->cx.graph = kiln_graph_new(kiln_test_arena(), "g");
    b->c = (kiln_compose){.cx = &b->cx};
}

static kiln_value *input(build *b, int rank, const int64_t *dim) {
    const kiln_type t = kiln_type_make(KILN_F32, rank, dim);
    return kiln_graph_add_input(b->cx.graph, "x", &t);
}

/* 0, 1, 2, ... */
static kiln_value *counted(build *b, int rank, const int64_t *dim) {
    const kiln_type t = kiln_type_make(KILN_F32, rank, dim);
    const kiln_tensor v = kiln_tensor_new(kiln_test_arena(), &t);
    for (int64_t i = 0; i < kiln_type_elems(&t); i++)
        ((float *)v.data)[i] = (float)i;
    return kiln_graph_add_const(b->cx.graph, "w", &t, v.data);
}

/* What the graph gives for inputs 0, 1, 2, ... */
static const float *run(build *b, kiln_value *y, const int64_t *want_dim) {
    kiln_tensor out;
    kiln_assert_status_ok(b->c.status, &b->err);
    kiln_graph_add_output(b->cx.graph, y, "y");
    b->cx.graph->facts |= KILN_TYPED;
    kiln_assert_status_ok(kiln_graph_verify(b->cx.graph, &b->err), &b->err);
    const kiln_type *x = &b->cx.graph->inputs.v[0]->type;
    const kiln_tensor in = kiln_tensor_new(kiln_test_arena(), x);
    for (int64_t i = 0; i < kiln_type_elems(x); i++)
        ((float *)in.data)[i] = (float)i;
    kiln_assert_status_ok(
        kiln_ref_run(kiln_test_arena(), b->cx.graph, &in, 1, &out, &b->err), &b->err);
    for (int i = 0; i < out.type.rank; i++)
        assert_int_equal(out.type.dim[i], want_dim[i]);
    kiln_import_end(&b->cx);
    return out.data;
}

static void refused(build *b, const char *text) {
    kiln_assert_fails(b->c.status, KILN_ERR_SHAPE, &b->err, text);
    kiln_import_end(&b->cx);
}

/* ---- filters ----------------------------------------------------------------------- */

typedef struct filter_row {
    const char *name;
    kiln_filter_order order;
    int64_t dim[4], want[4];
    int64_t at[4]; /* where its last element but one lies */
} filter_row;

static filter_row filters[] = {
    {"sio", KILN_FILTER_SIO, {2, 3, 4, 5}, {5, 4, 2, 3}, {3, 3, 1, 2}},
    {"osi", KILN_FILTER_OSI, {5, 2, 3, 4}, {5, 4, 2, 3}, {4, 2, 1, 2}},
    {"transposed_osi",
     KILN_FILTER_TRANSPOSED_OSI,
     {5, 2, 3, 4},
     {4, 5, 2, 3},
     {2, 4, 1, 2}},
    {"scm", KILN_FILTER_SCM, {2, 3, 4, 5}, {20, 1, 2, 3}, {18, 0, 1, 2}},
    {"1sk", KILN_FILTER_1SK, {1, 2, 3, 20}, {20, 1, 2, 3}, {18, 0, 1, 2}},
};

static void check_filter(void **state) {
    const filter_row *const r = *state;
    build b;
    int64_t stride[4], at = 0;
    begin(&b);
    kiln_value *const w = kiln_turn_filter(&b.c, counted(&b, 4, r->dim), r->order);
    kiln_assert_status_ok(b.c.status, &b.err);
    assert_true(kiln_value_is_const(w));
    assert_int_equal(b.cx.graph->nodes.n, 0);
    kiln_strides(4, w->type.dim, stride);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(w->type.dim[i], r->want[i]);
        at += r->at[i] * stride[i];
    }
    assert_float_equal(((const float *)w->data)[at], 2 * 3 * 4 * 5 - 2, 0);
    kiln_import_end(&b.cx);
}

static void a_depthwise_filter_begins_with_one(void **state) {
    (void)state;
    build b;
    begin(&b);
    kiln_turn_filter(&b.c, counted(&b, 4, (const int64_t[]){2, 3, 3, 4}),
                     KILN_FILTER_1SK);
    refused(&b,
            "a depthwise filter must have shape [1, spatial..., K], is f32[2,3,3,4]");
}

/* ---- windows ----------------------------------------------------------------------- */

/* x [1,2,2,2] = 0..7, one filter of 2x2 that adds up both channels with the weights
 * 0..7, SAME by steps of 1: the row and column behind are padding. */
static void a_convolution_pads_behind(void **state) {
    (void)state;
    build b;
    kiln_spatial s;
    begin(&b);
    kiln_value *const x = input(&b, 4, (const int64_t[]){1, 2, 2, 2});
    kiln_value *const w = kiln_turn_filter(
        &b.c, counted(&b, 4, (const int64_t[]){1, 2, 2, 2}), KILN_FILTER_OSI);
    assert_true(kiln_window_over(&b.c, x, (const int64_t[]){2, 2}, NULL, NULL,
                                 KILN_PADDING_SAME, &s));
    kiln_value *const y =
        kiln_channels_last_conv(&b.c, (kiln_value *[]){x, w, NULL}, &s, 1);
    const float *const v = run(&b, y, (const int64_t[]){1, 2, 2, 1});
    assert_float_equal(v[0], 140, 0); /* sum of i^2 */
    assert_float_equal(v[1], 2 * 0 + 3 * 1 + 6 * 4 + 7 * 5, 0);
    assert_float_equal(v[2], 4 * 0 + 5 * 1 + 6 * 2 + 7 * 3, 0);
    assert_float_equal(v[3], 6 * 0 + 7 * 1, 0);
}

/* The adjoint of a SAME convolution by steps of 2 from 4 to 2 with windows of 3: one
 * element of padding, behind. y[2i + t] += x[i] * w[t]. */
static void a_transposed_convolution_crops_behind(void **state) {
    (void)state;
    build b;
    kiln_spatial s;
    begin(&b);
    kiln_value *const x = input(&b, 3, (const int64_t[]){1, 2, 1});
    kiln_value *const w = kiln_turn_filter(
        &b.c, counted(&b, 3, (const int64_t[]){1, 3, 1}), KILN_FILTER_TRANSPOSED_OSI);
    assert_true(kiln_window_over(&b.c, x, (const int64_t[]){3}, (const int64_t[]){2},
                                 NULL, KILN_PADDING_GIVEN, &s));
    kiln_value *const y = kiln_channels_last_conv_transpose(
        &b.c, (kiln_value *[]){x, w, NULL}, &s, (const int64_t[]){4}, true, 1);
    const float *const v = run(&b, y, (const int64_t[]){1, 4, 1});
    const float want[] = {0, 0, 0, 1};
    for (int i = 0; i < 4; i++)
        assert_float_equal(v[i], want[i], 0);
}

static void a_size_that_no_window_makes_is_refused(void **state) {
    (void)state;
    build b;
    kiln_spatial s;
    begin(&b);
    kiln_value *const x = input(&b, 3, (const int64_t[]){1, 2, 1});
    assert_true(kiln_window_over(&b.c, x, (const int64_t[]){3}, (const int64_t[]){2},
                                 NULL, KILN_PADDING_GIVEN, &s));
    kiln_channels_last_conv_transpose(
        &b.c, (kiln_value *[]){x, counted(&b, 3, (const int64_t[]){1, 1, 3}), NULL}, &s,
        (const int64_t[]){9}, true, 1);
    refused(&b,
            "an output 9 long on spatial axis 0 is made of 5 windows, the input has 2");
}

static void a_window_needs_spatial_axes(void **state) {
    (void)state;
    build b;
    kiln_spatial s;
    begin(&b);
    kiln_value *const x = input(&b, 2, (const int64_t[]){1, 2});
    assert_false(kiln_window_over(&b.c, x, NULL, NULL, NULL, KILN_PADDING_SAME, &s));
    refused(&b, "a window slides over [N, spatial..., C], not over f32[1,2]");
}

static void a_step_of_zero_is_refused(void **state) {
    (void)state;
    build b;
    kiln_spatial s;
    begin(&b);
    kiln_value *const x = input(&b, 3, (const int64_t[]){1, 2, 2});
    assert_false(kiln_window_over(&b.c, x, (const int64_t[]){1}, (const int64_t[]){0},
                                  NULL, KILN_PADDING_SAME, &s));
    refused(&b, "the stride of spatial axis 0 must be 1 to 2147483647, is 0");
}

static void given_pads_are_those_of_spatial_axes(void **state) {
    (void)state;
    build b;
    kiln_spatial s;
    begin(&b);
    kiln_value *const x = input(&b, 4, (const int64_t[]){1, 4, 4, 2});
    assert_true(kiln_window_over(&b.c, x, NULL, NULL, NULL, KILN_PADDING_GIVEN, &s));
    kiln_window_given_pads(&b.c, &s, (const int64_t[]){0, 0, 1, 2, 3, 4, 0, 0});
    assert_true(s.pads[0] == 1 && s.pads[2] == 2 && s.pads[1] == 3 && s.pads[3] == 4);
    kiln_window_given_pads(&b.c, &s, (const int64_t[]){0, 0, 1, 2, 3, 4, 0, 5});
    refused(&b,
            "padding must be 0 to 2147483647 on spatial axes and 0 on others, is 5 on "
            "axis 3");
}

/* ---- others ------------------------------------------------------------------------ */

static void transposes_are_not_made_twice(void **state) {
    (void)state;
    build b;
    begin(&b);
    kiln_value *const x = input(&b, 5, (const int64_t[]){1, 2, 3, 4, 5});
    kiln_value *const first = kiln_channels_first(&b.c, x);
    kiln_value *const last = kiln_channels_last(&b.c, first);
    assert_ptr_equal(last, x);
    assert_int_equal(first->type.dim[1], 5);
    assert_int_equal(first->type.dim[4], 4);
    assert_int_equal(b.cx.graph->nodes.n, 1);
    kiln_import_end(&b.cx);
}

static void corners_stay_where_they_are(void **state) {
    (void)state;
    build b;
    begin(&b);
    kiln_value *const x = input(&b, 3, (const int64_t[]){1, 2, 1});
    kiln_value *const y =
        kiln_channels_last_resize(&b.c, x, (const int64_t[]){5}, false, true, false);
    const float *const v = run(&b, y, (const int64_t[]){1, 5, 1});
    for (int i = 0; i < 5; i++)
        assert_float_equal(v[i], (float)i / 4, 1e-6);
}

static void a_batch_norm_is_by_channels(void **state) {
    (void)state;
    build b;
    begin(&b);
    kiln_value *const x = input(&b, 3, (const int64_t[]){1, 2, 2});
    kiln_value *const p = counted(&b, 1, (const int64_t[]){2});
    kiln_value *const y =
        kiln_channels_last_batch_norm(&b.c, x, (kiln_value *[]){p, p, p, p}, 1);
    const float *const v = run(&b, y, (const int64_t[]){1, 2, 2});
    assert_float_equal(v[0], 0, 1e-6);
    assert_float_equal(v[3], 2.4142136F, 1e-6);
}

int main(void) {
    static const struct CMUnitTest unit[] = {
        cmocka_unit_test(a_depthwise_filter_begins_with_one),
        cmocka_unit_test(a_convolution_pads_behind),
        cmocka_unit_test(a_transposed_convolution_crops_behind),
        cmocka_unit_test(a_size_that_no_window_makes_is_refused),
        cmocka_unit_test(a_window_needs_spatial_axes),
        cmocka_unit_test(a_step_of_zero_is_refused),
        cmocka_unit_test(given_pads_are_those_of_spatial_axes),
        cmocka_unit_test(transposes_are_not_made_twice),
        cmocka_unit_test(corners_stay_where_they_are),
        cmocka_unit_test(a_batch_norm_is_by_channels),
    };
    kiln_test_add_rows(check_filter, filters);
    kiln_test_add_tests(unit);
    return kiln_test_run("channels_last");
}
