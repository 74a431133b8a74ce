/* max_pool, avg_pool and lp_pool against loops over the taps of each window; output
 * sizes are counted by hand. */
#include "compiler/graph/graph.h"

#include <math.h>

#include "tests/support/graph/node_run.h"

enum { AXES = 3 };

/* Lists of zeros are left out of the text. */
typedef struct row {
    const char *name;
    const char *op;
    kiln_dtype dtype;
    int n; /* spatial axes */
    int64_t in[AXES], kernel[AXES], out[AXES];
    int64_t stride[AXES], dilation[AXES], pads[2 * AXES];
    bool is_ceil, with_pad, is_column_major, is_special;
    int64_t p;
} row;

static row rows[] = {
    {"max_one", "max_pool", KILN_F32, 1, {1}, {1}, .out = {1}},
    {"max_line", "max_pool", KILN_F32, 1, {13}, {3}, .out = {6}, .stride = {2}},
    {"max_ceil",
     "max_pool",
     KILN_F32,
     1,
     {13},
     {4},
     .out = {4},
     .stride = {3},
     .is_ceil = true},
    {"max_ceil_fits",
     "max_pool",
     KILN_F32,
     1,
     {13},
     {3},
     .out = {6},
     .stride = {2},
     .is_ceil = true},
    {"max_ceil_partial",
     "max_pool",
     KILN_F32,
     1,
     {7},
     {2},
     .out = {4},
     .stride = {2},
     .is_ceil = true},
    /* A fourth window would begin in the padding at the end. */
    {"max_ceil_no_start_in_padding",
     "max_pool",
     KILN_F32,
     1,
     {6},
     {2},
     .out = {3},
     .stride = {3},
     .pads = {1, 2},
     .is_ceil = true},
    {"max_dilated",
     "max_pool",
     KILN_F32,
     2,
     {7, 5},
     {2, 3},
     .out = {4, 3},
     .dilation = {3, 2},
     .pads = {0, 1, 0, 1}},
    {"max_wide_pads", "max_pool", KILN_F32, 1, {2}, {2}, .out = {7}, .pads = {3, 3}},
    {"max_column_major",
     "max_pool",
     KILN_F32,
     2,
     {5, 7},
     {2, 3},
     .out = {4, 3},
     .stride = {1, 2},
     .is_column_major = true},
    {"max_volume",
     "max_pool",
     KILN_F32,
     3,
     {3, 4, 5},
     {2, 2, 3},
     .out = {2, 2, 4},
     .stride = {1, 2, 1},
     .pads = {0, 0, 1, 0, 0, 0},
     .is_column_major = true},
    {"max_special",
     "max_pool",
     KILN_F32,
     2,
     {4, 4},
     {2, 2},
     .out = {4, 4},
     .pads = {1, 0, 0, 1},
     .is_special = true},
    {"max_signed",
     "max_pool",
     KILN_I8,
     2,
     {4, 4},
     {2, 2},
     .out = {3, 3},
     .is_special = true},
    {"max_unsigned", "max_pool", KILN_U64, 1, {6}, {3}, .out = {4}, .is_special = true},
    {"max_empty_signed", "max_pool", KILN_I16, 1, {2}, {1}, .out = {4}, .pads = {1, 1}},
    {"max_no_elements", "max_pool", KILN_F32, 1, {0}, {1}, .out = {2}, .pads = {1, 1}},
    {"avg_line", "avg_pool", KILN_F32, 1, {13}, {5}, .out = {9}},
    {"avg_pads_do_not_count",
     "avg_pool",
     KILN_F32,
     2,
     {5, 4},
     {3, 3},
     .out = {4, 5},
     .pads = {0, 2, 1, 1}},
    {"avg_pads_count",
     "avg_pool",
     KILN_F32,
     2,
     {5, 4},
     {3, 3},
     .out = {4, 5},
     .pads = {0, 2, 1, 1},
     .with_pad = true},
    {"avg_ceil",
     "avg_pool",
     KILN_F32,
     1,
     {9},
     {3},
     .out = {5},
     .stride = {2},
     .pads = {1, 0},
     .is_ceil = true},
    {"avg_ceil_pads_count",
     "avg_pool",
     KILN_F32,
     1,
     {9},
     {3},
     .out = {5},
     .stride = {2},
     .pads = {1, 0},
     .is_ceil = true,
     .with_pad = true},
    {"avg_dilated_ceil_pads_count",
     "avg_pool",
     KILN_F32,
     2,
     {7, 6},
     {2, 3},
     .out = {4, 3},
     .stride = {2, 2},
     .dilation = {2, 2},
     .pads = {1, 1, 0, 1},
     .is_ceil = true,
     .with_pad = true},
    {"avg_volume",
     "avg_pool",
     KILN_F64,
     3,
     {3, 4, 5},
     {2, 3, 2},
     .out = {2, 2, 3},
     .stride = {1, 1, 2},
     .pads = {0, 0, 1, 0, 0, 0},
     .with_pad = true},
    {"avg_half", "avg_pool", KILN_F16, 1, {7}, {3}, .out = {5}},
    {"avg_special",
     "avg_pool",
     KILN_F32,
     2,
     {4, 4},
     {2, 2},
     .out = {5, 5},
     .pads = {1, 1, 1, 1},
     .is_special = true,
     .with_pad = true},
    {"avg_of_nothing", "avg_pool", KILN_F32, 1, {2}, {1}, .out = {4}, .pads = {1, 1}},
    {"lp_1", "lp_pool", KILN_F32, 1, {13}, {3}, .out = {6}, .stride = {2}, .p = 1},
    {"lp_2",
     "lp_pool",
     KILN_F32,
     2,
     {5, 7},
     {2, 3},
     .out = {6, 7},
     .pads = {1, 2, 1, 0},
     .p = 2},
    {"lp_3",
     "lp_pool",
     KILN_F64,
     2,
     {5, 7},
     {2, 2},
     .out = {3, 5},
     .stride = {2, 1},
     .dilation = {1, 2},
     .is_ceil = true,
     .p = 3},
    {"lp_special",
     "lp_pool",
     KILN_F32,
     1,
     {7},
     {2},
     .out = {8},
     .pads = {1, 1},
     .is_special = true,
     .p = 2},
};

static bool is_max(const row *r) { return r->op[0] == 'm'; }

static const char *text_of(kiln_arena *a, const row *r) {
    kiln_buf b;
    kiln_buf_init(&b, a);
    kiln_buf_printf(&b, "input %%x : %s[2,3", kiln_dtype_name(r->dtype));
    for (int i = 0; i < r->n; i++)
        kiln_buf_printf(&b, ",%lld", (long long)r->in[i]);
    kiln_buf_printf(&b, "] %s = %s(%%x) {ceil_mode=%s", is_max(r) ? "%y, %at" : "%y",
                    r->op, r->is_ceil ? "true" : "false");
    kiln_test_put_list(&b, "kernel", r->n, r->kernel);
    kiln_test_put_list(&b, "strides", r->n, r->stride);
    kiln_test_put_list(&b, "dilations", r->n, r->dilation);
    kiln_test_put_list(&b, "pads", 2 * r->n, r->pads);
    if (r->with_pad)
        kiln_buf_puts(&b, ", count_include_pad=true");
    if (r->is_column_major)
        kiln_buf_puts(&b, ", column_major=true");
    if (r->p != 0)
        kiln_buf_printf(&b, ", p=%lld", (long long)r->p);
    kiln_buf_printf(&b, "} output %%y%s", is_max(r) ? " output %at" : "");
    return kiln_format(a, "%.*s", (int)kiln_buf_str(&b).n, kiln_buf_str(&b).p);
}

/* Element of x under tap number `tap` of the window of y's element; -1: padding, -2:
 * what a partial window covers beyond it. */
static int64_t under(const kiln_test_node *t, const row *r, int64_t index,
                     int64_t tap) {
    int64_t y[2 + AXES], k[AXES];
    bool is_inside = true, is_padded = true;
    kiln_test_unravel(index, 2 + r->n, t->out[0].type.dim, y);
    kiln_test_unravel(tap, r->n, r->kernel, k);
    for (int i = 0; i < r->n; i++) {
        const int64_t stride = r->stride[i] == 0 ? 1 : r->stride[i];
        const int64_t step = r->dilation[i] == 0 ? 1 : r->dilation[i];
        const int64_t at = y[2 + i] * stride + k[i] * step - r->pads[i];
        is_inside = is_inside && at >= 0 && at < r->in[i];
        is_padded = is_padded && at < r->in[i] + r->pads[r->n + i];
        y[2 + i] = at;
    }
    if (!is_inside)
        return is_padded ? -1 : -2;
    return kiln_test_ravel(2 + r->n, t->in[0].type.dim, y);
}

static int64_t n_taps(const row *r) {
    int64_t n = 1;
    for (int i = 0; i < r->n; i++)
        n *= r->kernel[i];
    return n;
}

static bool is_larger(const kiln_wide *x, int64_t i, int64_t than) {
    if (x->type.dtype == KILN_U64)
        return (uint64_t)x->i[i] > (uint64_t)x->i[than];
    if (x->f == NULL)
        return x->i[i] > x->i[than];
    return !isnan(x->f[than]) && (x->f[i] > x->f[than] || isnan(x->f[i]));
}

static int64_t largest(const kiln_test_node *t, const row *r, int64_t index) {
    int64_t best = -1;
    for (int64_t k = 0; k < n_taps(r); k++) {
        const int64_t at = under(t, r, index, k);
        if (at >= 0 && (best < 0 || is_larger(&t->in[0], at, best)))
            best = at;
    }
    return best;
}

static kiln_test_element max_at(const kiln_test_node *t, const void *user,
                                int64_t index) {
    const kiln_wide *x = &t->in[0];
    const int64_t at = largest(t, user, index);
    kiln_test_element e = {0};
    if (x->f != NULL) {
        e.f = at < 0 ? -(double)INFINITY : x->f[at];
        e.narrow = (float)e.f;
    } else {
        e.i = (uint64_t)(at < 0 ? kiln_dtype_get(x->type.dtype)->min_i : x->i[at]);
    }
    return e;
}

static kiln_test_element avg_at(const kiln_test_node *t, const void *user,
                                int64_t index) {
    const row *r = user;
    kiln_test_element e = {0};
    int64_t n = 0;
    for (int64_t k = 0; k < n_taps(r); k++) {
        const int64_t at = under(t, r, index, k);
        const double v = at < 0 ? 0 : t->in[0].f[at];
        n += at >= 0 || (r->with_pad && at == -1);
        e.f += v;
        e.magnitude += fabs(v);
        e.narrow += (float)v;
    }
    e.f /= (double)n;
    e.magnitude /= (double)n;
    e.narrow /= (float)n;
    return e;
}

static kiln_test_element lp_at(const kiln_test_node *t, const void *user,
                               int64_t index) {
    const row *r = user;
    kiln_test_element e = {0};
    for (int64_t k = 0; k < n_taps(r); k++) {
        const int64_t at = under(t, r, index, k);
        const double v = at < 0 ? 0 : fabs(t->in[0].f[at]);
        e.f += pow(v, (double)r->p);
        e.narrow += powf((float)v, (float)r->p);
    }
    e.f = pow(e.f, 1.0 / (double)r->p);
    e.magnitude = e.f;
    e.narrow = powf(e.narrow, 1.0F / (float)r->p);
    return e;
}

static void check_indices(const kiln_test_node *t, const row *r) {
    const kiln_type *x = &t->in[0].type;
    for (int64_t i = 0; i < kiln_type_elems(&t->out[1].type); i++) {
        int64_t at = largest(t, r, i), c[2 + AXES];
        if (at >= 0 && r->is_column_major) {
            kiln_test_unravel(at, 2 + r->n, x->dim, c);
            at = 0;
            for (int k = r->n - 1; k >= 0; k--)
                at = at * r->in[k] + c[2 + k];
            int64_t plane = 1;
            for (int k = 0; k < r->n; k++)
                plane *= r->in[k];
            at += (c[0] * x->dim[1] + c[1]) * plane;
        }
        assert_int_equal(t->out[1].i[i], at);
    }
}

static void make_special(kiln_wide *x) {
    const int64_t last = kiln_type_elems(&x->type) - 1;
    if (x->f != NULL) {
        x->f[0] = -(double)INFINITY;
        x->f[last / 2] = (double)INFINITY;
        x->f[last] = (double)NAN;
    } else {
        x->i[0] = kiln_dtype_get(x->type.dtype)->min_i;
        x->i[last] = -1; /* the largest of the unsigned */
    }
}

static void check_row(void **state) {
    const row *r = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_test_node t;
    kiln_assert_status_ok(kiln_test_node_parse(&t, &a, text_of(&a, r), &err), &err);
    if (r->is_special)
        make_special(&t.in[0]);
    for (int i = 0; i < r->n; i++)
        assert_int_equal(t.node->out[0]->type.dim[2 + i], r->out[i]);
    kiln_test_node_check(&t, is_max(r) ? max_at : r->op[0] == 'a' ? avg_at : lp_at, r);
    if (is_max(r))
        check_indices(&t, r);
    kiln_arena_fini(&a);
}

#define X "input %x : f32[1,2,5,5] "
#define MAX(attrs) "%y = max_pool(%x) {" attrs "} output %y"

static kiln_test_refusal refusals[] = {
    {"no_spatial_axis", "input %x : f32[1,2] " MAX("kernel=[]"), KILN_ERR_SHAPE,
     "input 'x' must have shape [N, C, spatial...], has rank 2"},
    {"no_kernel", X "%y = max_pool(%x) output %y", KILN_ERR_ARG,
     "attribute 'kernel' must be given"},
    {"kernel_of_other_rank", X MAX("kernel=[2]"), KILN_ERR_SHAPE,
     "attribute 'kernel' must have 2 values, one per spatial axis, has 1"},
    {"kernel_of_0", X MAX("kernel=[2,0]"), KILN_ERR_SHAPE, "kernel must be >= 1, is 0"},
    {"strides_of_0", X MAX("kernel=[2,2], strides=[0,1]"), KILN_ERR_SHAPE,
     "strides must be >= 1, is 0"},
    {"pads_of_other_rank", X MAX("kernel=[2,2], pads=[1,1]"), KILN_ERR_SHAPE,
     "attribute 'pads' must have 4 values, has 2"},
    {"window_that_does_not_fit", X MAX("kernel=[6,1]"), KILN_ERR_SHAPE,
     "a window of 6 must fit into spatial axis 0, which is 5 with its padding"},
    {"window_that_ceil_does_not_save", X MAX("kernel=[6,1], ceil_mode=true"),
     KILN_ERR_SHAPE, "a window of 6 must fit"},
    {"mean_of_integers",
     "input %x : i8[1,2,5] %y = avg_pool(%x) {kernel=[2]} output %y", KILN_ERR_SHAPE,
     "i8"},
    {"norm_of_order_0", X "%y = lp_pool(%x) {kernel=[2,2], p=0} output %y",
     KILN_ERR_SHAPE, "attribute 'p' must be >= 1, is 0"},
};

int main(void) {
    kiln_test_add_rows(check_row, rows);
    kiln_test_add_rows(kiln_test_check_refusal, refusals);
    return kiln_test_run("pool");
}
