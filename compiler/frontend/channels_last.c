/* Operators of formats that keep their channels last: see channels_last.h. Sources:
 * TensorFlow, "tf.nn" (padding, conv2d_transpose, resize). */
#include "compiler/frontend/channels_last.h"
#include "base/base.h"

#include <inttypes.h>
#include <string.h>

/* ---- turning ----------------------------------------------------------------------- */

/* Is v a transpose by `perm`? */
static bool is_turned_by(const kiln_value *v, const int64_t *perm) {
    if (v->def == NULL || v->def->op != &kiln_op_transpose)
        return false;
    const kiln_attr *const a = kiln_node_attr(v->def, "perm");
    return a->n == (size_t)v->type.rank &&
           memcmp(a->ints, perm, a->n * sizeof *perm) == 0;
}

/* The permutation with channels first, and with them last. */
static void turns(int rank, int64_t *first, int64_t *last) {
    first[0] = last[0] = 0;
    first[1] = rank - 1;
    last[rank - 1] = 1;
    for (int i = 2; i < rank; i++) {
        first[i] = i - 1;
        last[i - 1] = i;
    }
}

static kiln_value *turn(kiln_compose *c, kiln_value *x, bool to_first) {
    int64_t first[KILN_MAX_RANK], last[KILN_MAX_RANK];
    if (c->status != KILN_OK || x->type.rank < 3)
        return x;
    turns(x->type.rank, first, last);
    if (is_turned_by(x, to_first ? last : first))
        return x->def->in[0];
    return kiln_compose_transpose(c, x, to_first ? first : last);
}

kiln_value *kiln_channels_first(kiln_compose *c, kiln_value *x) {
    return turn(c, x, true);
}

kiln_value *kiln_channels_last(kiln_compose *c, kiln_value *x) {
    return turn(c, x, false);
}

/* ---- weights ----------------------------------------------------------------------- */

/* Elements of `from`, of type t, go where axis i has `stride`[i]. They are read in their
 * order, and what was read need not stay in memory: the file and its turned copy are as
 * large as each other. */
static void copy_turned(const kiln_arena *a, const kiln_type *t, const int64_t *stride,
                        const char *from, char *to) {
    enum { BLOCK = 4 << 20 };
    const size_t bytes = kiln_dtype_bytes(t->dtype);
    const int64_t count = kiln_type_elems(t);
    int64_t at[KILN_MAX_RANK] = {0}, offset = 0;
    size_t rested = 0;
    for (int64_t i = 0; i < count; i++) {
        const size_t place = (size_t)i * bytes;
        if (place - rested >= BLOCK) {
            kiln_file_rest(a, from + rested, place - rested);
            rested = place;
        }
        memcpy(to + (size_t)offset * bytes, from + place, bytes);
        for (int k = t->rank - 1; k >= 0; k--) {
            offset += stride[k];
            if (++at[k] < t->dim[k])
                break;
            offset -= at[k] * stride[k];
            at[k] = 0;
        }
    }
    kiln_file_rest(a, from + rested, (size_t)count * bytes - rested);
}

kiln_value *kiln_turn_const(kiln_compose *c, kiln_value *w, const int64_t *perm) {
    int64_t own[KILN_MAX_RANK], stride[KILN_MAX_RANK], dim[KILN_MAX_RANK];
    const int rank = w->type.rank;
    if (c->status != KILN_OK)
        return w;
    bool is_same = true;
    for (int i = 0; i < rank; i++)
        is_same = is_same && perm[i] == i;
    const int64_t bytes = kiln_type_bytes(&w->type);
    if (is_same || !kiln_value_is_const(w) || !kiln_layout_is_plain(&w->type.layout) ||
        bytes > c->cx->bytes_left)
        return kiln_compose_transpose(c, w, perm);
    kiln_compose_fail(c, kiln_import_spend(c->cx, bytes));
    for (int i = 0; i < rank; i++)
        dim[i] = w->type.dim[perm[i]];
    kiln_strides(rank, dim, own);
    for (int i = 0; i < rank; i++)
        stride[perm[i]] = own[i];
    const kiln_type t = kiln_type_make(w->type.dtype, rank, dim);
    const kiln_tensor out = kiln_tensor_new(c->cx->arena, &t);
    copy_turned(c->cx->arena, &w->type, stride, w->data, out.data);
    return kiln_graph_add_const(c->cx->graph, w->name, &t, out.data);
}

static kiln_value *refuse(kiln_compose *c, kiln_value *x, const char *what) {
    if (c->status == KILN_OK)
        kiln_compose_fail(c, kiln_fail(c->cx->err, KILN_ERR_SHAPE, "%s, is %s", what,
                                       kiln_type_text(&c->cx->scratch, &x->type)));
    return x;
}

/* [spatial..., C, M] as [spatial..., C * M, 1], which is turned as [spatial..., O, I]
 * is. */
static kiln_value *merge_multiplier(kiln_compose *c, kiln_value *w) {
    const int rank = w->type.rank;
    int64_t dim[KILN_MAX_RANK];
    memcpy(dim, w->type.dim, sizeof dim);
    dim[rank - 2] = w->type.dim[rank - 2] * w->type.dim[rank - 1];
    dim[rank - 1] = 1;
    return kiln_compose_reshape(c, w, rank, dim);
}

kiln_value *kiln_turn_filter(kiln_compose *c, kiln_value *w, kiln_filter_order order) {
    int64_t perm[KILN_MAX_RANK];
    const int rank = w->type.rank;
    if (c->status != KILN_OK)
        return w;
    if (rank < 3)
        return refuse(c, w, "a filter must have two axes of channels and spatial ones");
    if (order == KILN_FILTER_1SK && w->type.dim[0] != 1)
        return refuse(c, w, "a depthwise filter must have shape [1, spatial..., K]");
    if (order == KILN_FILTER_SCM)
        w = merge_multiplier(c, w);
    const bool is_spatial_first = order == KILN_FILTER_SIO || order == KILN_FILTER_SCM;
    for (int i = 2; i < rank; i++)
        perm[i] = is_spatial_first ? i - 2 : i - 1;
    switch (order) {
    case KILN_FILTER_SIO:
        perm[0] = rank - 1;
        perm[1] = rank - 2;
        break;
    case KILN_FILTER_SCM:
        perm[0] = rank - 2;
        perm[1] = rank - 1;
        break;
    case KILN_FILTER_OSI:
        perm[0] = 0;
        perm[1] = rank - 1;
        break;
    case KILN_FILTER_TRANSPOSED_OSI:
    case KILN_FILTER_1SK:
        perm[0] = rank - 1;
        perm[1] = 0;
        break;
    }
    return kiln_turn_const(c, w, perm);
}

/* ---- windows ----------------------------------------------------------------------- */

/* The steps of one axis: 1 to 2^31 - 1, so that no size below overflows. */
static bool is_step(kiln_compose *c, const char *what, int axis, int64_t v) {
    if (v >= 1 && v <= INT32_MAX)
        return true;
    kiln_compose_fail(c, kiln_fail(c->cx->err, KILN_ERR_SHAPE,
                                   "the %s of spatial axis %d must be 1 to %d, is "
                                   "%" PRId64,
                                   what, axis, INT32_MAX, v));
    return false;
}

bool kiln_window_over(kiln_compose *c, const kiln_value *x, const int64_t *kernel,
                      const int64_t *strides, const int64_t *dilations,
                      kiln_padding padding, kiln_spatial *out) {
    *out = (kiln_spatial){.n = x->type.rank - 2};
    if (c->status != KILN_OK)
        return false;
    if (out->n < 1) {
        kiln_compose_fail(c, kiln_fail(c->cx->err, KILN_ERR_SHAPE,
                                       "a window slides over [N, spatial..., C], not "
                                       "over %s",
                                       kiln_type_text(&c->cx->scratch, &x->type)));
        return false;
    }
    for (int i = 0; i < out->n; i++) {
        out->in[i] = x->type.dim[1 + i];
        out->kernel[i] = kernel != NULL ? kernel[i] : 1;
        out->strides[i] = strides != NULL ? strides[i] : 1;
        out->dilations[i] = dilations != NULL ? dilations[i] : 1;
        if (!is_step(c, "size", i, out->kernel[i]) ||
            !is_step(c, "stride", i, out->strides[i]) ||
            !is_step(c, "dilation", i, out->dilations[i]))
            return false;
    }
    out->is_upper = true;
    if (padding == KILN_PADDING_SAME)
        kiln_spatial_same_pads(out);
    return true;
}

void kiln_window_given_pads(kiln_compose *c, kiln_spatial *s, const int64_t *pads) {
    const int rank = s->n + 2;
    for (int i = 0; i < 2 * rank && c->status == KILN_OK; i++) {
        const int axis = i / 2;
        const bool is_spatial = axis > 0 && axis < rank - 1;
        if (pads[i] < 0 || pads[i] > INT32_MAX || (!is_spatial && pads[i] != 0))
            kiln_compose_fail(c,
                              kiln_fail(c->cx->err, KILN_ERR_SHAPE,
                                        "padding must be 0 to %d on spatial axes and "
                                        "0 on others, is %" PRId64 " on axis %d",
                                        INT32_MAX, pads[i], axis));
        else if (is_spatial)
            s->pads[axis - 1 + (i % 2) * s->n] = pads[i];
    }
}

kiln_value *kiln_channels_last_conv(kiln_compose *c, kiln_value *const in[3],
                                    kiln_spatial *s, int64_t groups) {
    kiln_value *const turned[3] = {kiln_channels_first(c, in[0]), in[1], in[2]};
    return kiln_channels_last(c, kiln_compose_conv(c, turned, s, groups));
}

/* Pads and output padding of one axis so that the output is `want` long. The
 * convolution back reads extent + (in - 1) * stride elements: what it has more is its
 * padding, the smaller half first; what it leaves over was never read. */
static void fit(kiln_spatial *s, int axis, int64_t want, int64_t *extra) {
    const int64_t extent = (s->kernel[axis] - 1) * s->dilations[axis] + 1;
    const int64_t read = (s->in[axis] - 1) * s->strides[axis] + extent;
    const int64_t pad = read > want ? read - want : 0;
    s->pads[axis] = pad / 2;
    s->pads[s->n + axis] = pad - pad / 2;
    *extra = want > read ? want - read : 0;
}

kiln_value *kiln_channels_last_conv_transpose(kiln_compose *c, kiln_value *const in[3],
                                              kiln_spatial *s, const int64_t *out,
                                              bool is_same, int64_t groups) {
    kiln_attr_arg args[KILN_SPATIAL_ARGS + 2];
    int64_t extra[KILN_MAX_SPATIAL] = {0};
    for (int i = 0; i < s->n && c->status == KILN_OK; i++) {
        const int64_t extent = (s->kernel[i] - 1) * s->dilations[i] + 1;
        const int64_t least = is_same ? 0 : extent - 1; /* that no window reads */
        const int64_t windows = (out[i] - least + s->strides[i] - 1) / s->strides[i];
        if (out[i] < 1 || out[i] > KILN_MAX_ELEMS || windows != s->in[i])
            kiln_compose_fail(
                c, kiln_fail(c->cx->err, KILN_ERR_SHAPE,
                             "an output %" PRId64 " long on spatial axis %d is made of "
                             "%" PRId64 " windows, the input has %" PRId64,
                             out[i], i, windows, s->in[i]));
        else
            fit(s, i, out[i], &extra[i]);
    }
    kiln_spatial_args(s, args);
    args[KILN_SPATIAL_ARGS] = kiln_arg_int("groups", groups);
    args[KILN_SPATIAL_ARGS + 1] = kiln_arg_ints("output_padding", extra, (size_t)s->n);
    kiln_value *const turned[3] = {kiln_channels_first(c, in[0]), in[1], in[2]};
    return kiln_channels_last(c, kiln_compose_op(c, &kiln_op_conv_transpose, turned, 3,
                                                 args, KILN_SPATIAL_ARGS + 2));
}

kiln_value *kiln_channels_last_pool(kiln_compose *c, const kiln_op_def *op,
                                    kiln_value *x, kiln_spatial *s) {
    x = kiln_channels_first(c, x);
    return kiln_channels_last(c, kiln_compose_pool(c, op, x, s, false, NULL, 0));
}

/* ---- others ------------------------------------------------------------------------ */

/* TensorFlow's nearest neighbour: the position itself cut, or with align_corners
 * rounded half up; with half_pixel the cell that holds its centre. */
static const char *coordinates_of(bool is_nearest, bool align_corners,
                                  bool half_pixel) {
    if (align_corners)
        return "align_corners";
    if (!half_pixel)
        return "asymmetric";
    return is_nearest ? "tf_half_pixel_for_nn" : "half_pixel";
}

kiln_value *kiln_channels_last_resize(kiln_compose *c, kiln_value *x,
                                      const int64_t *size, bool is_nearest,
                                      bool align_corners, bool half_pixel) {
    int64_t sizes[KILN_MAX_RANK];
    double scales[KILN_MAX_RANK];
    if (c->status != KILN_OK)
        return x;
    if (x->type.rank < 3)
        return refuse(c, x, "what is resized must have shape [N, spatial..., C]");
    x = kiln_channels_first(c, x);
    const size_t rank = (size_t)x->type.rank;
    for (size_t i = 0; i < rank; i++) {
        const int64_t in = x->type.dim[i];
        sizes[i] = i < 2 ? in : size[i - 2];
        scales[i] = i < 2 || in < 1 ? 1 : (double)sizes[i] / (double)in;
        if (i >= 2 && (sizes[i] < 1 || sizes[i] > KILN_MAX_ELEMS))
            return refuse(c, x, "a resized axis must have 1 to 2^40 elements");
    }
    const kiln_attr_arg args[] = {
        kiln_arg_ints("sizes", sizes, rank),
        kiln_arg_floats("scales", scales, rank),
        kiln_arg_word("mode", is_nearest ? "nearest" : "linear"),
        kiln_arg_word("coordinates",
                      coordinates_of(is_nearest, align_corners, half_pixel)),
        kiln_arg_word("rounding", align_corners ? "round_prefer_ceil" : "floor"),
    };
    return kiln_channels_last(c, kiln_compose_op(c, &kiln_op_resize, &x, 1, args,
                                                 sizeof args / sizeof args[0]));
}

kiln_value *kiln_channels_last_batch_norm(kiln_compose *c, kiln_value *x,
                                          kiln_value *const in[4], double epsilon) {
    const kiln_attr_arg arg = kiln_arg_float("epsilon", epsilon);
    kiln_value *const all[] = {kiln_channels_first(c, x), in[0], in[1], in[2], in[3]};
    return kiln_channels_last(c,
                              kiln_compose_op(c, &kiln_op_batch_norm, all, 5, &arg, 1));
}
