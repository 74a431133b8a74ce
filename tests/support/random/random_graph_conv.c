/* Families of random graphs: windows over images. */
#include "tests/support/random/random_graph_internal.h"

/* What windows do, for each axis. */
typedef struct window {
    int n;
    int64_t kernel[3], strides[3], dilations[3], pads[6];
} window;

static window draw_window(maker *m, const kiln_type *x, int64_t max_kernel) {
    window w = {.n = x->rank - 2};
    const bool is_same = one_in(m, 3), is_point = one_in(m, 4);
    for (int i = 0; i < w.n; i++) {
        const int64_t room = x->dim[2 + i];
        w.kernel[i] = is_point ? 1 : is_same ? 3 : draw(m, 1, max_kernel);
        w.strides[i] = is_same || one_in(m, 2) ? 1 : draw(m, 1, 3);
        w.dilations[i] = is_same || !one_in(m, 5) ? 1 : 2;
        w.pads[i] = is_same        ? (w.kernel[i] - 1) / 2
                    : one_in(m, 2) ? 0
                                   : draw(m, 0, w.kernel[i] - 1);
        w.pads[w.n + i] = is_same        ? (w.kernel[i] - 1) / 2
                          : one_in(m, 2) ? 0
                                         : draw(m, 0, w.kernel[i] - 1);
        if ((w.kernel[i] - 1) * w.dilations[i] + 1 > room + w.pads[i] + w.pads[w.n + i])
            w.kernel[i] = 1;
        if (w.kernel[i] == 1 && !one_in(m, 8)) /* a pad around nothing is rare */
            w.pads[i] = w.pads[w.n + i] = 0;
    }
    return w;
}

static size_t window_args(const window *w, kiln_attr_arg *args) {
    args[0] = kiln_arg_ints("strides", w->strides, (size_t)w->n);
    args[1] = kiln_arg_ints("pads", w->pads, 2 * (size_t)w->n);
    args[2] = kiln_arg_ints("dilations", w->dilations, (size_t)w->n);
    return 3;
}

static int64_t product(const int64_t *v, int n) {
    int64_t p = 1;
    for (int i = 0; i < n; i++)
        p *= v[i];
    return p;
}

static bool is_image(const kiln_value *v, const void *user) {
    const unsigned *dtypes = user;
    const kiln_type *t = &v->type;
    return kiln_dtype_is_in(t->dtype, *dtypes) && t->rank >= 3 && t->rank <= 5 &&
           kiln_type_elems(t) > 0 && t->dim[0] <= 4 && t->dim[1] <= 130;
}

static kiln_value *draw_image(maker *m, unsigned dtypes) {
    kiln_value *v =
        !m->is_chain && one_in(m, 8) ? NULL : find_value(m, is_image, &dtypes);
    if (v != NULL)
        return v;
    const int rank = one_in(m, 3) ? (int)draw(m, 3, 5) : 4;
    int64_t dim[5] = {one_in(m, 4) ? 2 : 1, draw_channels(m)};
    for (int i = 2; i < rank; i++)
        dim[i] = draw(m, rank == 5 ? 2 : 4, rank == 5 ? 5 : rank == 3 ? 20 : 10);
    const kiln_dtype d = kiln_dtype_is_in(m->dtype, dtypes) ? m->dtype : KILN_F32;
    return draw_input(m, d, rank, dim);
}

static int64_t draw_groups(maker *m, int64_t channels) {
    if (one_in(m, 2))
        return 1;
    if (one_in(m, 2))
        return channels;
    const int64_t g = draw(m, 1, channels);
    return channels % g == 0 ? g : 1;
}

/* Weights are constants, and now and then inputs. */
static kiln_value *draw_weights(maker *m, kiln_dtype dtype, int rank,
                                const int64_t *dim, int64_t terms) {
    return one_in(m, 10) ? draw_operand(m, dtype, rank, dim, term_scale(terms))
                         : draw_const(m, dtype, rank, dim, term_scale(terms));
}

/* Bytes as they are, into sums of 32 bits. */
static bool convolve_bytes(maker *m, kiln_value *x) {
    kiln_attr_arg args[6];
    const window w = draw_window(m, &x->type, 5);
    const int64_t c = x->type.dim[1], groups = one_in(m, 2) ? 1 : c;
    const int64_t o = groups == 1 ? draw_channels(m) : c;
    int64_t dim[5] = {o, c / groups};
    for (int i = 0; i < w.n; i++)
        dim[2 + i] = w.kernel[i];
    const int64_t terms = dim[1] * product(w.kernel, w.n);
    kiln_value *in[3] = {
        x, draw_weights(m, one_in(m, 2) ? KILN_I8 : KILN_U8, x->type.rank, dim, terms)};
    const bool has_bias = one_in(m, 2);
    if (has_bias)
        in[2] = draw_operand(m, KILN_I32, 1, &o, 1);
    size_t n = window_args(&w, args);
    args[n++] = kiln_arg_int("groups", groups);
    args[n++] = kiln_arg_int("fill", draw(m, 0, 100));
    args[n++] = kiln_arg_int("w_zero", groups == 1 ? draw(m, 0, 5) : 0);
    return add_op(m, &kiln_op_conv_bytes, in, has_bias ? 3 : 2, args, n) != NULL;
}

bool random_graph_convolution(maker *m) {
    kiln_value *x = draw_image(m, KILN_DT_NUMBER);
    const bool is_narrow = x->type.dtype == KILN_I8 || x->type.dtype == KILN_U8;
    if (is_narrow && !one_in(m, 3))
        x = add_widened(m, x);
    if (x == NULL)
        return false;
    if (is_narrow && x->type.dtype != KILN_I32 && one_in(m, 2))
        return convolve_bytes(m, x);
    kiln_attr_arg args[4];
    const window w = draw_window(m, &x->type, 5);
    const int64_t c = x->type.dim[1], groups = draw_groups(m, c);
    const int64_t per_group = draw_channels(m);
    const int64_t o = groups == 1            ? per_group
                      : groups == c && c > 4 ? groups * (one_in(m, 4) ? 2 : 1)
                                             : groups * (1 + (per_group - 1) / groups);
    int64_t dim[5] = {o, c / groups};
    for (int i = 0; i < w.n; i++)
        dim[2 + i] = w.kernel[i];
    const int64_t terms = dim[1] * product(w.kernel, w.n);
    kiln_value *in[3] = {x};
    if (is_narrow && x->type.dtype == KILN_I32 && one_in(m, 2)) {
        kiln_value *k = draw_weights(m, KILN_I8, x->type.rank, dim, terms);
        in[1] = add_cast(m, k, KILN_I32);
    } else {
        in[1] = draw_weights(m, x->type.dtype, x->type.rank, dim, terms);
    }
    const bool has_bias = one_in(m, 2);
    if (has_bias)
        in[2] = draw_operand(m, x->type.dtype, 1, &o, 1);
    size_t n = window_args(&w, args);
    args[n++] = kiln_arg_int("groups", groups);
    return in[1] != NULL &&
           add_op(m, &kiln_op_conv, in, has_bias ? 3 : 2, args, n) != NULL;
}

bool random_graph_transposed_convolution(maker *m) {
    kiln_value *x = draw_image(m, KILN_DT_NUMBER);
    kiln_attr_arg args[5];
    const window w = draw_window(m, &x->type, 4);
    const int64_t c = x->type.dim[1], groups = draw_groups(m, c);
    const int64_t o = groups > 4 ? 1 : draw(m, 1, 20);
    int64_t dim[5] = {c, o}, more[3] = {0};
    for (int i = 0; i < w.n; i++) {
        dim[2 + i] = w.kernel[i];
        more[i] = one_in(m, 4) && w.strides[i] > 1 ? 1 : 0;
    }
    const int64_t terms = c / groups * product(w.kernel, w.n) / product(w.strides, w.n);
    const int64_t all = o * groups;
    kiln_value *in[3] = {x, draw_weights(m, x->type.dtype, x->type.rank, dim, terms)};
    const bool has_bias = one_in(m, 2);
    if (has_bias)
        in[2] = draw_operand(m, x->type.dtype, 1, &all, 1);
    size_t n = window_args(&w, args);
    args[n++] = kiln_arg_int("groups", groups);
    args[n++] = kiln_arg_ints("output_padding", more, (size_t)w.n);
    return add_op(m, &kiln_op_conv_transpose, in, has_bias ? 3 : 2, args, n) != NULL;
}

bool random_graph_pool(maker *m) {
    static const kiln_op_def *const ops[] = {&kiln_op_max_pool, &kiln_op_avg_pool,
                                             &kiln_op_max_pool, &kiln_op_avg_pool,
                                             &kiln_op_lp_pool};
    const kiln_op_def *op = ops[draw(m, 0, 4)];
    kiln_value *x = draw_image(m, op->dtypes);
    kiln_attr_arg args[8];
    window w = draw_window(m, &x->type, 3);
    if (one_in(m, 6)) /* over all of it */
        w = (window){.n = w.n,
                     .kernel = {x->type.dim[2], x->type.dim[3], x->type.dim[4]},
                     .strides = {1, 1, 1},
                     .dilations = {1, 1, 1}};
    size_t n = window_args(&w, args);
    args[n++] = kiln_arg_ints("kernel", w.kernel, (size_t)w.n);
    if (one_in(m, 4))
        args[n++] = kiln_arg_bool("ceil_mode", true);
    if (op == &kiln_op_avg_pool && one_in(m, 3))
        args[n++] = kiln_arg_bool("count_include_pad", true);
    if (op == &kiln_op_lp_pool && one_in(m, 2))
        args[n++] = kiln_arg_int("p", draw(m, 1, 3));
    const int n_out = op == &kiln_op_max_pool && one_in(m, 4) ? 2 : 1;
    return add_node(m, op, &x, 1, n_out, args, n) != NULL;
}

/* Sizes of an image's axes by whole and odd factors. */
bool random_graph_resized(maker *m) {
    kiln_value *x = draw_image(m, KILN_DT_NUMBER);
    static const double factors[] = {2, 0.5, 1.5, 3, 1, 0.75};
    int64_t sizes[5];
    double scales[5];
    kiln_attr_arg args[10] = {0};
    for (int i = 0; i < x->type.rank; i++) {
        scales[i] = i < 2 ? 1 : factors[draw(m, 0, 5)];
        sizes[i] = (int64_t)((double)x->type.dim[i] * scales[i]);
        if (sizes[i] == 0)
            return false;
    }
    size_t n = 0;
    args[n++] = kiln_arg_ints("sizes", sizes, (size_t)x->type.rank);
    args[n++] = kiln_arg_floats("scales", scales, (size_t)x->type.rank);
    n += draw_attrs(m, &kiln_op_resize, args + n);
    return add_op(m, &kiln_op_resize, &x, 1, args, n) != NULL;
}

bool random_graph_sampled(maker *m) {
    kiln_value *x = draw_image(m, KILN_DT_FLOAT);
    const int rank = x->type.rank;
    int64_t dim[5] = {x->type.dim[0]};
    kiln_attr_arg args[4];
    for (int i = 1; i < rank - 1; i++)
        dim[i] = draw(m, 1, 5);
    dim[rank - 1] = rank - 2;
    kiln_value *in[2] = {x, draw_operand(m, x->type.dtype, rank, dim, 1.2)};
    const size_t n = draw_attrs(m, &kiln_op_grid_sample, args);
    return add_op(m, &kiln_op_grid_sample, in, 2, args, n) != NULL;
}

/* Elements of an image at places that are moved, and often their product with weights:
 * a deformable convolution. */
bool random_graph_deformed(maker *m) {
    kiln_value *x = draw_image(m, KILN_DT_FLOAT);
    const int rank = x->type.rank;
    const int64_t batch = x->type.dim[0], c = x->type.dim[1];
    const window w = draw_window(m, &x->type, 3);
    const int64_t taps = product(w.kernel, w.n);
    const int64_t groups = c % 2 == 0 && one_in(m, 3) ? 2 : 1;
    int64_t dim[5] = {batch, groups * taps * w.n}, places = 1;
    kiln_attr_arg args[5];
    for (int i = 0; i < w.n; i++) {
        const int64_t covered = (w.kernel[i] - 1) * w.dilations[i] + 1;
        const int64_t room = x->type.dim[2 + i] + w.pads[i] + w.pads[w.n + i];
        if (room < covered)
            return false;
        places *= dim[2 + i] = (room - covered) / w.strides[i] + 1;
    }
    kiln_value *in[3] = {x, draw_operand(m, x->type.dtype, rank, dim, 1.5)};
    const bool has_mask = one_in(m, 2);
    dim[1] = groups * taps;
    if (has_mask)
        in[2] = draw_operand(m, x->type.dtype, rank, dim, 1);
    size_t n = window_args(&w, args);
    args[n++] = kiln_arg_ints("kernel", w.kernel, (size_t)w.n);
    args[n++] = kiln_arg_int("groups", groups);
    kiln_value *y = add_op(m, &kiln_op_deform_patches, in, has_mask ? 3 : 2, args, n);
    if (y == NULL || one_in(m, 2))
        return y != NULL;
    const int64_t rows[] = {batch, c * taps, places};
    const int64_t weights[] = {draw_channels(m), c * taps};
    y = add_reshape(m, y, 3, rows);
    kiln_value *of[2] = {draw_weights(m, x->type.dtype, 2, weights, c * taps), y};
    return y != NULL && add_op(m, &kiln_op_matmul, of, 2, NULL, 0) != NULL;
}

/* What reads a window's result, often in blocks, behind what keeps it or moves it. */
bool random_graph_chain(maker *m) {
    static bool (*const first[])(maker *) = {
        random_graph_convolution, random_graph_convolution, random_graph_pool,
        random_graph_transposed_convolution};
    static bool (*const between[])(maker *) = {
        random_graph_unary,     random_graph_binary,   random_graph_transposition,
        random_graph_part,      random_graph_together, random_graph_padding,
        random_graph_reshaping, random_graph_norm};
    static bool (*const last[])(maker *) = {
        random_graph_product,     random_graph_product, random_graph_general_product,
        random_graph_convolution, random_graph_pool,    random_graph_lanes,
        random_graph_reduction};
    const bool was_chain = m->is_chain;
    m->is_chain = true;
    bool is_any = first[draw(m, 0, 3)](m);
    for (int64_t n = draw(m, 0, 3); n > 0; n--)
        is_any = between[draw(m, 0, 7)](m) || is_any;
    is_any = last[draw(m, 0, 6)](m) || is_any;
    m->is_chain = was_chain;
    return is_any;
}
