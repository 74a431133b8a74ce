#include "tests/support/random/random_conv.h"

static int64_t pick(kiln_rng *rng, const int64_t *of, int n) {
    return of[kiln_rng_range(rng, 0, n - 1)];
}

static bool one_in(kiln_rng *rng, int n) { return kiln_rng_range(rng, 1, n) == 1; }

static random_conv_shape random_shape(kiln_rng *rng, random_size size) {
    static const int64_t channels[] = {1, 2, 3, 4, 5, 8, 16, 17, 20, 32};
    static const int64_t few[] = {1, 2, 3, 4, 8};
    random_conv_shape s = {.n_spatial = one_in(rng, 5) ? (one_in(rng, 2) ? 1 : 3) : 2,
                           .batch = one_in(rng, 4) ? 2 : 1,
                           .groups = one_in(rng, 4) ? kiln_rng_range(rng, 2, 4) : 1};
    s.c = s.groups > 1 ? pick(rng, few, 5)
                       : pick(rng, channels, size == RANDOM_LARGE ? 10 : 6);
    s.o = s.groups > 1 ? pick(rng, few, 5)
                       : pick(rng, channels, size == RANDOM_LARGE ? 10 : 6);
    if (s.groups > 1 && one_in(rng, 4))
        s.o = 16;
    for (int i = 0; i < s.n_spatial; i++) {
        s.kernel[i] = kiln_rng_range(rng, 1, 3);
        s.stride[i] = one_in(rng, 3) ? 2 : 1;
        s.dilation[i] = one_in(rng, 4) ? 2 : 1;
        s.pads[i] = kiln_rng_range(rng, 0, 2);
        s.pads[s.n_spatial + i] = kiln_rng_range(rng, 0, 2);
        const int64_t reach = (s.kernel[i] - 1) * s.dilation[i] + 1;
        const int64_t more = s.n_spatial == 3 ? 4 : 9;
        s.in[i] =
            reach + kiln_rng_range(rng, 0, size == RANDOM_LARGE ? more : more / 2);
    }
    return s;
}

kiln_value *random_conv_of(kiln_graph *g, const random_conv_shape *s, kiln_dtype dtype,
                           bool has_bias) {
    int64_t x[KILN_MAX_RANK] = {s->batch, s->c * s->groups};
    int64_t w[KILN_MAX_RANK] = {s->o * s->groups, s->c};
    for (int i = 0; i < s->n_spatial; i++) {
        x[2 + i] = s->in[i];
        w[2 + i] = s->kernel[i];
    }
    const kiln_type tx = kiln_type_make(dtype, s->n_spatial + 2, x);
    const kiln_type tw = kiln_type_make(dtype, s->n_spatial + 2, w);
    const kiln_type tb = kiln_type_make(dtype, 1, w);
    const size_t n = (size_t)s->n_spatial;
    const kiln_attr_arg args[] = {kiln_arg_ints("strides", s->stride, n),
                                  kiln_arg_ints("dilations", s->dilation, n),
                                  kiln_arg_ints("pads", s->pads, 2 * n),
                                  kiln_arg_int("groups", s->groups)};
    kiln_value *in[3] = {kiln_graph_add_input(g, "x", &tx),
                         random_operand(g, "c", &tw, true, 7), NULL};
    if (has_bias)
        in[2] = random_operand(g, "c", &tb, true, 8);
    return graph_node_with(g, &kiln_op_conv, in, has_bias ? 3 : 2, args, 4);
}

kiln_graph *random_convolution(kiln_arena *a, kiln_rng *rng, kiln_dtype dtype,
                               random_size size) {
    kiln_graph *g = kiln_graph_new(a, "convolution");
    const random_conv_shape s = random_shape(rng, size);
    kiln_value *y = random_conv_of(g, &s, dtype, one_in(rng, 2));
    if (one_in(rng, 3)) { /* a residual */
        kiln_value *in[] = {y, kiln_graph_add_input(g, "r", &y->type)};
        y = graph_node(g, &kiln_op_add, in, 2);
    }
    if (one_in(rng, 4)) { /* a factor for each channel */
        int64_t dim[KILN_MAX_RANK] = {1, 1, 1, 1, 1};
        dim[0] = y->type.dim[1];
        const kiln_type t = kiln_type_make(dtype, s.n_spatial + 1, dim);
        kiln_value *in[] = {y, random_operand(g, "c", &t, true, 9)};
        y = graph_node(g, &kiln_op_mul, in, 2);
    }
    if (one_in(rng, 2) && kiln_dtype_is_float(dtype))
        y = graph_node(g, &kiln_op_relu, &y, 1);
    kiln_graph_add_output(g, y, "y");
    return g;
}

/* One element in four is an end of the range. */
static kiln_value *whole_range(kiln_graph *g, kiln_rng *rng, const kiln_type *t) {
    const kiln_dtype_info *info = kiln_dtype_get(t->dtype);
    kiln_wide wide = kiln_wide_new(g->arena, t);
    const kiln_tensor made = kiln_tensor_new(g->arena, t);
    for (int64_t i = 0; i < kiln_type_elems(t); i++)
        wide.i[i] = !one_in(rng, 4)  ? kiln_rng_range(rng, info->min_i, info->max_i)
                    : one_in(rng, 2) ? info->min_i
                                     : info->max_i;
    kiln_narrow(&wide, made.data);
    return kiln_graph_add_const(g, "c", t, made.data);
}

static random_conv_shape shape_of_bytes(kiln_rng *rng, const random_bytes *of) {
    random_conv_shape s = random_shape(rng, of->is_small ? RANDOM_SMALL : RANDOM_LARGE);
    if (of->is_depthwise) {
        s.groups = kiln_rng_range(rng, 2, 40);
        s.c = s.o = 1;
    }
    if (of->is_pixel && s.groups > 1)
        s.groups = 1;
    if (of->is_pixel && s.o == 1)
        s.o = 16;
    if (!of->is_pixel && s.groups == 1 && one_in(rng, 4)) { /* taps of one channel */
        const int last = s.n_spatial - 1;
        s.c = s.dilation[last] = 1;
        s.kernel[last] = one_in(rng, 2) ? 4 : 8;
        s.in[last] += 8;
    }
    for (int i = 0; i < s.n_spatial && of->is_pixel; i++) {
        s.kernel[i] = s.dilation[i] = 1;
        s.pads[i] = s.pads[s.n_spatial + i] = 0;
    }
    return s;
}

kiln_graph *random_conv_bytes(kiln_arena *a, kiln_rng *rng, const random_bytes *of) {
    kiln_graph *g = kiln_graph_new(a, "bytes");
    const random_conv_shape s = shape_of_bytes(rng, of);
    const size_t n = (size_t)s.n_spatial;
    const kiln_dtype_info *info = kiln_dtype_get(of->x);
    int64_t x[KILN_MAX_RANK] = {s.batch, s.c * s.groups};
    int64_t w[KILN_MAX_RANK] = {s.o * s.groups, s.c};
    for (int i = 0; i < s.n_spatial; i++) {
        x[2 + i] = s.in[i];
        w[2 + i] = s.kernel[i];
    }
    const kiln_type tx = kiln_type_make(of->x, s.n_spatial + 2, x);
    const kiln_type tw = kiln_type_make(of->w, s.n_spatial + 2, w);
    const kiln_type tb = kiln_type_make(KILN_I32, 1, w);
    const bool has_zero = !of->has_no_zero && s.groups == 1 && one_in(rng, 2);
    const kiln_attr_arg args[] = {
        kiln_arg_ints("strides", s.stride, n),
        kiln_arg_ints("dilations", s.dilation, n),
        kiln_arg_ints("pads", s.pads, 2 * n),
        kiln_arg_int("groups", s.groups),
        kiln_arg_int("fill", kiln_rng_range(rng, info->min_i, info->max_i)),
        kiln_arg_int("w_zero", has_zero ? kiln_rng_range(rng, -255, 255) : 0)};
    kiln_value *in[3] = {whole_range(g, rng, &tx), whole_range(g, rng, &tw), NULL};
    const bool has_bias = one_in(rng, 2);
    if (has_bias)
        in[2] = random_operand(g, "b", &tb, true, 8);
    kiln_value *y =
        graph_node_with(g, &kiln_op_conv_bytes, in, has_bias ? 3 : 2, args, 6);
    kiln_graph_add_output(g, random_epilogue(g, rng, y, 1), "y");
    return g;
}

kiln_graph *random_transposed(kiln_arena *a, kiln_rng *rng, kiln_dtype dtype) {
    kiln_graph *g = kiln_graph_new(a, "transposed");
    random_conv_shape s = random_shape(rng, RANDOM_SMALL);
    int64_t x[KILN_MAX_RANK] = {s.batch, s.c * s.groups};
    int64_t w[KILN_MAX_RANK] = {s.c * s.groups, s.o};
    for (int i = 0; i < s.n_spatial; i++) {
        if (one_in(rng, 4)) { /* each output has one tap */
            s.kernel[i] = s.stride[i];
            s.dilation[i] = 1;
        }
        x[2 + i] = kiln_rng_range(rng, 3, 6);
        w[2 + i] = s.kernel[i];
        s.pads[i] = kiln_rng_range(rng, 0, 1);
        s.pads[s.n_spatial + i] = kiln_rng_range(rng, 0, 1);
    }
    const kiln_type tx = kiln_type_make(dtype, s.n_spatial + 2, x);
    const kiln_type tw = kiln_type_make(dtype, s.n_spatial + 2, w);
    const size_t n = (size_t)s.n_spatial;
    const kiln_attr_arg args[] = {kiln_arg_ints("strides", s.stride, n),
                                  kiln_arg_ints("dilations", s.dilation, n),
                                  kiln_arg_ints("pads", s.pads, 2 * n),
                                  kiln_arg_int("groups", s.groups)};
    kiln_value *in[] = {kiln_graph_add_input(g, "x", &tx),
                        random_operand(g, "c", &tw, true, 7)};
    kiln_value *y = graph_node_with(g, &kiln_op_conv_transpose, in, 2, args, 4);
    kiln_graph_add_output(g, random_epilogue(g, rng, y, 1), "y");
    return g;
}
