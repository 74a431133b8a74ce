/* conv and conv_transpose against loops over every position and tap: sizes that do not
 * divide blocks, groups, gaps, uneven padding, and numbers that padding must not touch.
 */
#include "compiler/graph/graph.h"

#include <math.h>

#include "tests/support/graph/node_run.h"

enum { AXES = 3 };
typedef enum special { NONE, IN_X, IN_W } special;

/* Lists that begin with 0 (pads: all 0) are left out of the text. */
typedef struct row {
    const char *name;
    kiln_dtype dtype;
    int n; /* spatial axes */
    int64_t batch, c, o, groups, in[AXES], kernel[AXES];
    int64_t stride[AXES], dilation[AXES], pads[2 * AXES], more[AXES];
    bool has_bias;
    special special;
} row;

static row conv_rows[] = {
    {"one_of_everything", KILN_F32, 1, 1, 1, 1, 1, .in = {1}, .kernel = {1}},
    {"line_3_to_17", KILN_F32, 1, 2, 3, 17, 1, .in = {13}, .kernel = {3},
     .has_bias = true},
    {"line_strided_dilated", KILN_F32, 1, 1, 3, 5, 1, .in = {31}, .kernel = {4},
     .stride = {3}, .dilation = {2}, .pads = {5, 1}},
    {"image_17_to_20", KILN_F32, 2, 1, 17, 20, 1, .in = {7, 5}, .kernel = {3, 3},
     .pads = {1, 1, 1, 1}, .has_bias = true},
    {"image_more_terms_than_a_block", KILN_F64, 2, 1, 31, 6, 1, .in = {5, 6},
     .kernel = {3, 3}},
    {"image_more_columns_than_a_block", KILN_F64, 2, 1, 1, 5, 1, .in = {23, 29},
     .kernel = {2, 2}},
    {"image_more_rows_than_a_block", KILN_F64, 2, 1, 2, 67, 1, .in = {3, 3},
     .kernel = {2, 2}},
    {"image_uneven_pads", KILN_F32, 2, 2, 3, 4, 1, .in = {5, 7}, .kernel = {3, 2},
     .stride = {2, 1}, .dilation = {1, 2}, .pads = {2, 0, 1, 3}},
    {"image_groups", KILN_F32, 2, 2, 20, 15, 5, .in = {4, 5}, .kernel = {2, 3},
     .has_bias = true},
    {"image_wide_groups", KILN_F32, 2, 2, 6, 10, 2, .in = {4, 5}, .kernel = {2, 3}},
    {"image_depthwise", KILN_F32, 2, 1, 17, 17, 17, .in = {9, 7}, .kernel = {3, 3},
     .stride = {2, 2}, .pads = {1, 1, 1, 1}},
    {"image_depth_multiplier", KILN_F32, 2, 1, 3, 6, 3, .in = {4, 4}, .kernel = {3, 3}},
    {"image_kernel_of_padding", KILN_F32, 2, 1, 1, 5, 1, .in = {1, 1}, .kernel = {3, 3},
     .pads = {2, 2, 2, 2}},
    {"volume", KILN_F32, 3, 1, 3, 5, 1, .in = {3, 4, 5}, .kernel = {2, 3, 2},
     .stride = {1, 2, 1}, .dilation = {2, 1, 1}, .pads = {1, 0, 2, 0, 1, 1},
     .has_bias = true},
    {"half", KILN_F16, 2, 1, 3, 4, 1, .in = {5, 5}, .kernel = {3, 3},
     .pads = {1, 1, 1, 1}},
    {"brain_float", KILN_BF16, 1, 1, 3, 4, 1, .in = {7}, .kernel = {3}},
    {"small_ints_wrap", KILN_I8, 2, 1, 17, 3, 1, .in = {5, 5}, .kernel = {3, 3},
     .pads = {1, 0, 0, 1}, .has_bias = true},
    {"ints", KILN_I32, 1, 2, 4, 6, 2, .in = {11}, .kernel = {3}, .stride = {2},
     .dilation = {1}, .pads = {1, 1}},
    {"no_images", KILN_F32, 2, 0, 3, 4, 1, .in = {5, 5}, .kernel = {3, 3}},
    {"infinity_beside_padding", KILN_F32, 2, 1, 3, 5, 1, .in = {4, 4}, .kernel = {3, 3},
     .pads = {1, 1, 1, 1}, .special = IN_X},
    {"infinity_beside_padding_depthwise", KILN_F32, 2, 1, 3, 3, 3, .in = {4, 4},
     .kernel = {3, 3}, .pads = {2, 1, 0, 1}, .special = IN_X},
    {"infinite_weight_over_padding", KILN_F32, 2, 1, 3, 5, 1, .in = {4, 4},
     .kernel = {3, 3}, .pads = {1, 1, 1, 1}, .special = IN_W},
};

static row transpose_rows[] = {
    {"one_of_everything", KILN_F32, 1, 1, 1, 1, 1, .in = {1}, .kernel = {1}},
    {"line_3_to_17", KILN_F32, 1, 2, 3, 17, 1, .in = {13}, .kernel = {3},
     .has_bias = true},
    {"line_with_gaps", KILN_F32, 1, 1, 3, 5, 1, .in = {7}, .kernel = {2}, .stride = {5},
     .dilation = {2}, .pads = {1, 2}, .more = {3}},
    {"image_17_to_20", KILN_F32, 2, 1, 17, 20, 1, .in = {5, 4}, .kernel = {3, 3},
     .stride = {2, 2}, .pads = {1, 1, 1, 1}, .has_bias = true},
    {"image_more_terms_than_a_block", KILN_F64, 2, 1, 257, 3, 1, .in = {2, 3},
     .kernel = {2, 2}},
    {"image_more_taps_than_a_block", KILN_F64, 2, 1, 2, 3, 1, .in = {3, 2},
     .kernel = {9, 9}},
    {"image_uneven", KILN_F32, 2, 2, 3, 4, 1, .in = {4, 3}, .kernel = {3, 2},
     .stride = {1, 3}, .dilation = {2, 2}, .pads = {2, 0, 1, 1}, .more = {0, 2}},
    {"image_groups", KILN_F32, 2, 2, 20, 15, 5, .in = {3, 4}, .kernel = {2, 3},
     .has_bias = true},
    {"image_depthwise", KILN_F32, 2, 1, 17, 17, 17, .in = {4, 3}, .kernel = {3, 3},
     .stride = {2, 2}},
    {"volume", KILN_F32, 3, 1, 3, 5, 1, .in = {2, 3, 2}, .kernel = {2, 3, 2},
     .stride = {1, 2, 3}, .dilation = {2, 1, 1}, .pads = {1, 0, 1, 0, 1, 1},
     .more = {0, 1, 0}},
    {"ints_wrap", KILN_I8, 2, 1, 17, 3, 1, .in = {3, 3}, .kernel = {3, 3},
     .stride = {2, 1}, .has_bias = true},
    {"no_images", KILN_F32, 2, 0, 3, 4, 1, .in = {5, 5}, .kernel = {3, 3}},
    {"infinity_in_input", KILN_F32, 2, 1, 3, 5, 1, .in = {4, 4}, .kernel = {3, 3},
     .stride = {2, 2}, .pads = {1, 1, 1, 1}, .special = IN_X},
    {"infinity_in_weights", KILN_F32, 2, 1, 3, 5, 1, .in = {3, 3}, .kernel = {3, 3},
     .stride = {2, 2}, .pads = {1, 1, 1, 1}, .special = IN_W},
};

static void put_type(kiln_buf *b, const char *name, const row *r, int64_t first,
                     int64_t second, const int64_t *rest) {
    kiln_buf_printf(b, "input %%%s : %s[%lld,%lld", name, kiln_dtype_name(r->dtype),
                    (long long)first, (long long)second);
    for (int i = 0; i < r->n; i++)
        kiln_buf_printf(b, ",%lld", (long long)rest[i]);
    kiln_buf_puts(b, "] ");
}

static const char *text_of(kiln_arena *a, const row *r, bool is_transposed) {
    kiln_buf b;
    kiln_buf_init(&b, a);
    put_type(&b, "x", r, r->batch, r->c, r->in);
    if (is_transposed)
        put_type(&b, "w", r, r->c, r->o / r->groups, r->kernel);
    else
        put_type(&b, "w", r, r->o, r->c / r->groups, r->kernel);
    if (r->has_bias)
        kiln_buf_printf(&b, "input %%b : %s[%lld] ", kiln_dtype_name(r->dtype),
                        (long long)r->o);
    kiln_buf_printf(&b, "%%y = %s(%%x, %%w%s) {groups=%lld",
                    is_transposed ? "conv_transpose" : "conv",
                    r->has_bias ? ", %b" : "", (long long)r->groups);
    kiln_test_put_list(&b, "strides", r->n, r->stride);
    kiln_test_put_list(&b, "dilations", r->n, r->dilation);
    kiln_test_put_list(&b, "pads", 2 * r->n, r->pads);
    kiln_test_put_list(&b, "output_padding", r->n, r->more);
    kiln_buf_puts(&b, "} output %y");
    return kiln_format(a, "%.*s", (int)kiln_buf_str(&b).n, kiln_buf_str(&b).p);
}

static int64_t or_1(int64_t v) { return v == 0 ? 1 : v; }

/* Where on an axis of the wider tensor a tap of a position of the narrower one lies. */
static int64_t meets(const row *r, int axis, int64_t position, int64_t tap) {
    return position * or_1(r->stride[axis]) + tap * or_1(r->dilation[axis]) -
           r->pads[axis];
}

static kiln_test_element start(const kiln_test_node *t, int64_t channel) {
    kiln_test_element e = {0};
    if (t->node->n_in < 3)
        return e;
    if (t->in[2].f == NULL) {
        e.i = (uint64_t)t->in[2].i[channel];
        return e;
    }
    e.f = t->in[2].f[channel];
    e.magnitude = fabs(e.f);
    e.narrow = (float)e.f;
    return e;
}

static kiln_test_element conv_at(const kiln_test_node *t, const void *user,
                                 int64_t index) {
    const row *r = user;
    const kiln_wide *x = &t->in[0], *w = &t->in[1];
    int64_t y[2 + AXES], k[2 + AXES], from[2 + AXES];
    kiln_test_unravel(index, 2 + r->n, t->out[0].type.dim, y);
    kiln_test_element e = start(t, y[1]);
    for (int64_t j = 0; j < kiln_type_elems(&w->type); j++) {
        kiln_test_unravel(j, 2 + r->n, w->type.dim, k);
        const int64_t group = y[1] / (r->o / r->groups);
        bool counts = k[0] == y[1];
        from[0] = y[0];
        from[1] = group * (r->c / r->groups) + k[1];
        for (int i = 0; i < r->n; i++) {
            from[2 + i] = meets(r, i, y[2 + i], k[2 + i]);
            counts = counts && from[2 + i] >= 0 && from[2 + i] < r->in[i];
        }
        if (counts)
            kiln_test_element_add(&e, x, kiln_test_ravel(2 + r->n, x->type.dim, from),
                                  w, j);
    }
    return e;
}

static kiln_test_element transpose_at(const kiln_test_node *t, const void *user,
                                      int64_t index) {
    const row *r = user;
    const kiln_wide *x = &t->in[0], *w = &t->in[1];
    const int64_t c = r->c / r->groups, o = r->o / r->groups;
    const int64_t n_x = kiln_type_elems(&x->type), n_w = kiln_type_elems(&w->type);
    const int64_t taps = n_w / (r->c * o);
    int64_t y[2 + AXES], p[2 + AXES], k[2 + AXES];
    kiln_test_unravel(index, 2 + r->n, t->out[0].type.dim, y);
    kiln_test_element e = start(t, y[1]);
    for (int64_t j = 0; j < n_x * taps; j++) {
        kiln_test_unravel(j / taps, 2 + r->n, x->type.dim, p);
        if (p[0] != y[0] || p[1] / c != y[1] / o)
            continue;
        const int64_t at = (p[1] * o + y[1] % o) * taps + j % taps;
        kiln_test_unravel(at, 2 + r->n, w->type.dim, k);
        bool counts = true;
        for (int i = 0; i < r->n; i++)
            counts = counts && meets(r, i, p[2 + i], k[2 + i]) == y[2 + i];
        if (counts)
            kiln_test_element_add(&e, x, j / taps, w, at);
    }
    return e;
}

static void check(const row *r, bool is_transposed) {
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_test_node t;
    kiln_assert_status_ok(
        kiln_test_node_parse(&t, &a, text_of(&a, r, is_transposed), &err), &err);
    if (r->special != NONE) {
        kiln_wide *w = &t.in[r->special == IN_X ? 0 : 1];
        w->f[0] = (double)INFINITY;
        w->f[kiln_type_elems(&w->type) - 1] = (double)NAN;
    }
    kiln_test_node_check(&t, is_transposed ? transpose_at : conv_at, r);
    kiln_arena_fini(&a);
}

static void check_conv(void **state) { check(*state, false); }
static void check_transpose(void **state) { check(*state, true); }

#define X "input %x : f32[1,4,5,5] "
#define W "input %w : f32[6,4,3,3] "
#define Y(attrs) "%y = conv(%x, %w) {" attrs "} output %y"
#define T(attrs) "%y = conv_transpose(%x, %w) {" attrs "} output %y"

static kiln_test_refusal refusals[] = {
    {"no_spatial_axis",
     "input %x : f32[1,4] input %w : f32[6,4] %y = conv(%x, %w) output %y",
     KILN_ERR_SHAPE, "input 'x' must have shape [N, C, spatial...], has rank 2"},
    {"weights_of_other_rank", X "input %w : f32[6,4,3] " Y("groups=1"), KILN_ERR_SHAPE,
     "input 'w' must have rank 4"},
    {"weights_of_other_dtype", X "input %w : f16[6,4,3,3] " Y("groups=1"),
     KILN_ERR_SHAPE, "'w'"},
    {"groups_of_0", X W Y("groups=0"), KILN_ERR_SHAPE,
     "groups must be >= 1 and divide the 6 output channels, is 0"},
    {"groups_that_do_not_divide", X W Y("groups=4"), KILN_ERR_SHAPE,
     "groups must be >= 1 and divide the 6 output channels, is 4"},
    {"channels_that_do_not_match_groups", X W Y("groups=2"), KILN_ERR_SHAPE,
     "input 'w' must have 4/2 input channels (those of 'x' by groups), has 4"},
    {"bias_of_other_length", X W "input %b : f32[4] %y = conv(%x, %w, %b) output %y",
     KILN_ERR_SHAPE, "input 'bias' must have 6 elements, has 4"},
    {"strides_of_0", X W Y("strides=[1,0]"), KILN_ERR_SHAPE,
     "strides must be >= 1, is 0"},
    {"dilations_below_0", X W Y("dilations=[-1,1]"), KILN_ERR_SHAPE,
     "dilations must be >= 1, is -1"},
    {"pads_below_0", X W Y("pads=[0,0,0,-1]"), KILN_ERR_SHAPE,
     "pads must be >= 0, is -1"},
    {"too_few_pads", X W Y("pads=[1,1]"), KILN_ERR_SHAPE,
     "attribute 'pads' must have 4 values, has 2"},
    {"too_large_pads", X W Y("pads=[0,0,0,2147483648]"), KILN_ERR_LIMIT,
     "pads must be at most 2147483647, is 2147483648"},
    {"window_that_does_not_fit", X W Y("dilations=[1,3]"), KILN_ERR_SHAPE,
     "a window of 7 must fit into spatial axis 1, which is 5 with its padding"},
    {"empty_kernel", X "input %w : f32[6,4,0,3] " Y("groups=1"), KILN_ERR_SHAPE,
     "kernel must be >= 1, is 0"},
    {"transpose_of_other_channels", X W T("groups=1"), KILN_ERR_SHAPE,
     "input 'w' must have 4 input channels, as 'x' has, has 6"},
    {"transpose_groups", X "input %w : f32[4,6,3,3] " T("groups=3"), KILN_ERR_SHAPE,
     "groups must be >= 1 and divide the 4 input channels, is 3"},
    {"transpose_output_padding_below_0",
     X "input %w : f32[4,6,3,3] " T("output_padding=[0,-1]"), KILN_ERR_SHAPE,
     "output_padding must be in [0, 2147483647], is -1"},
    {"transpose_padded_to_nothing", X "input %w : f32[4,6,3,3] " T("pads=[4,0,4,0]"),
     KILN_ERR_SHAPE, "the output must be at least 1 long on spatial axis 0, is -1"},
    {"transpose_too_long",
     X "input %w : f32[4,6,3,3] " T("strides=[2147483647,2147483647]"), KILN_ERR_LIMIT,
     "elements"},
};

int main(void) {
    for (size_t i = 0; i < sizeof transpose_rows / sizeof transpose_rows[0]; i++)
        kiln_test_add(
            kiln_format(kiln_test_arena(), "transpose_%s", transpose_rows[i].name),
            check_transpose, &transpose_rows[i]);
    kiln_test_add_rows(check_conv, conv_rows);
    kiln_test_add_rows(kiln_test_check_refusal, refusals);
    return kiln_test_run("conv");
}
