/* Convolution, pooling, normalisation of batches. Source: ConvolveGeometry.h and
 * PrimitiveFunction.cpp of CNTK 2.7; BatchNormalization as in CNTKLibrary.h.
 *
 * Padding by itself ("autoPadding") puts the first centre of a window in the middle of
 * what the centres leave over: so many elements before, as (kernel - 1) / 2 less half of
 * that; below 0, elements are left out. */
#include "compiler/frontend/cntk/cntk_internal.h"

#include <inttypes.h>

#define IMPORTER(name)                                                                 \
    kiln_status kiln_cntk_import_##name(kiln_cntk_cx *cx, const kiln_cntk_function *f, \
                                        const kiln_cntk_value *in,                     \
                                        kiln_cntk_value *out)

enum { MAX_SETTING = 1 << 20 }; /* of kernel, stride, pad: far above real ones */

/* Number i of a setting, from the fastest axis; one number holds for all. */
static int64_t setting(const kiln_cntk_shape *s, size_t i, int64_t otherwise) {
    if (s == NULL || s->n_dim == 0)
        return otherwise;
    const uint64_t v = s->n_dim == 1  ? s->dim[0]
                       : i < s->n_dim ? s->dim[i]
                                      : (uint64_t)otherwise;
    return v <= MAX_SETTING ? (int64_t)v : MAX_SETTING + 1;
}

static bool flag(const kiln_cntk_vector *l, size_t i, bool otherwise) {
    if (l == NULL || l->n_item == 0)
        return otherwise;
    const size_t at = l->n_item == 1 ? 0 : i;
    return at < l->n_item ? l->item[at].flag : otherwise;
}

typedef struct window {
    kiln_spatial s;
    bool is_auto[KILN_MAX_SPATIAL]; /* pads follow from the sizes */
    int64_t skip[KILN_MAX_SPATIAL]; /* elements before the first window */
} window;

/* x as [batch, channels, spatial...]. */
static kiln_status as_image(kiln_cntk_cx *cx, kiln_compose *c, const kiln_cntk_value *x,
                            kiln_value **out) {
    const int rank = kiln_cntk_rank(x);
    int64_t dim[KILN_MAX_RANK];
    if (rank < 2)
        return kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                         "its operand must have channels and an axis at least, has "
                         "shape %s",
                         kiln_cntk_shape_text(cx, x));
    if (rank == KILN_MAX_RANK)
        return kiln_fail(cx->common.err, KILN_ERR_LIMIT,
                         "its operand may have %d axes besides the batch, has %d",
                         KILN_MAX_RANK - 1, rank);
    dim[0] = x->has_batch ? x->v->type.dim[0] : 1;
    for (int i = 0; i < rank; i++)
        dim[1 + i] = kiln_cntk_dim(x)[i];
    *out = x->has_batch ? x->v : kiln_compose_reshape(c, x->v, rank + 1, dim);
    return c->status;
}

static void from_image(kiln_compose *c, kiln_value *y, kiln_cntk_value *out) {
    KILN_ASSERT(c->status != KILN_OK || y->type.rank > 1, "'%s' is no batch", y->name);
    out->v = out->has_batch || c->status != KILN_OK
                 ? y
                 : kiln_compose_reshape(c, y, y->type.rank - 1, y->type.dim + 1);
}

static kiln_status check_setting(kiln_cntk_cx *cx, const char *name, int64_t v,
                                 int64_t min) {
    return v >= min && v <= MAX_SETTING
               ? KILN_OK
               : kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                           "attribute '%s' must be in [%" PRId64 ", %d]", name, min,
                           MAX_SETTING);
}

/* Strides, dilations, pads as given; s.kernel is set. */
static kiln_status read_window(kiln_cntk_cx *cx, const kiln_cntk_function *f,
                               window *w) {
    const kiln_cntk_shape *const strides = kiln_cntk_shape_of(cx, f, "strides"),
                                 *const dilation =
                                     kiln_cntk_shape_of(cx, f, "dilation"),
                                 *const low = kiln_cntk_shape_of(cx, f, "lowerPad"),
                                 *const high = kiln_cntk_shape_of(cx, f, "upperPad");
    const kiln_cntk_vector *const by_itself = kiln_cntk_list(cx, f, "autoPadding");
    KILN_ASSERT(w->s.n >= 1 && w->s.n <= KILN_MAX_SPATIAL, "a window of %d axes",
                w->s.n);
    kiln_spatial *const s = &w->s;
    for (int i = 0; i < s->n; i++) {
        const size_t at = (size_t)(s->n - 1 - i);
        s->strides[i] = setting(strides, at, 1);
        s->dilations[i] = setting(dilation, at, 1);
        w->is_auto[i] = flag(by_itself, at, false);
        s->pads[i] = w->is_auto[i] ? 0 : setting(low, at, 0);
        s->pads[s->n + i] = w->is_auto[i] ? 0 : setting(high, at, 0);
        w->skip[i] = 0;
        KILN_TRY(check_setting(cx, "strides", s->strides[i], 1));
        KILN_TRY(check_setting(cx, "dilation", s->dilations[i], 1));
        KILN_TRY(check_setting(cx, "lowerPad", s->pads[i], 0));
        KILN_TRY(check_setting(cx, "upperPad", s->pads[s->n + i], 0));
        KILN_TRY(check_setting(cx, "the window", s->kernel[i], 1));
    }
    return KILN_OK;
}

/* Elements before the first window of `large` elements of which `small` windows see
 * their centres. */
static int64_t before(const kiln_spatial *s, int i, int64_t large, int64_t small) {
    KILN_ASSERT(s->strides[i] > 0 && s->kernel[i] > 0, "window %d was not read", i);
    const int64_t extent = (s->kernel[i] - 1) * s->dilations[i] + 1;
    const int64_t extra = large - ((small - 1) * s->strides[i] + 1);
    return (extent - 1) / 2 - extra / 2;
}

/* Pads that follow from the sizes; what is skipped is taken off x. */
static kiln_value *pad_by_itself(kiln_compose *c, window *w, kiln_value *x) {
    kiln_spatial *const s = &w->s;
    for (int i = 0; i < s->n; i++) {
        if (!w->is_auto[i] || s->in[i] < 1)
            continue;
        const int64_t extent = (s->kernel[i] - 1) * s->dilations[i] + 1;
        const int64_t n = (s->in[i] - 1) / s->strides[i] + 1;
        const int64_t low = before(s, i, s->in[i], n);
        const int64_t high = (n - 1) * s->strides[i] + extent - s->in[i] - low;
        if (low < 0) {
            x = kiln_compose_slice(c, x, 2 + i, -low, 1, s->in[i] + low);
            s->in[i] += low;
        }
        s->pads[i] = low > 0 ? low : 0;
        s->pads[s->n + i] = high > 0 ? high : 0;
    }
    return x;
}

/* ---- convolution ----------------------------------------------------------------- */

/* weights [outputs, channels / groups, kernel...]; transposed, [channels, outputs /
 * groups, kernel...]. */
static kiln_status read_weights(kiln_cntk_cx *cx, kiln_compose *c,
                                const kiln_cntk_value *w, const kiln_value *x,
                                bool is_transposed, int64_t groups, kiln_value **out) {
    const int rank = x->type.rank;
    int64_t dim[KILN_MAX_RANK + 1];
    *out = w->v;
    if (w->has_batch)
        return kiln_fail(cx->common.err, KILN_ERR_UNSUPPORTED,
                         "its weights must not depend on the sample");
    if (w->v->type.rank == rank - 1 && !is_transposed) { /* one output */
        dim[0] = 1;
        for (int i = 1; i < rank; i++)
            dim[i] = w->v->type.dim[i - 1];
        *out = kiln_compose_reshape(c, w->v, rank, dim);
    }
    KILN_TRY(c->status);
    const int64_t channels = x->type.dim[1];
    const bool fits = (*out)->type.rank == rank && groups >= 1 &&
                      channels % groups == 0 &&
                      (*out)->type.dim[is_transposed ? 0 : 1] ==
                          (is_transposed ? channels : channels / groups);
    return fits
               ? KILN_OK
               : kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                           "weights of shape %s do not go with %" PRId64
                           " channels in %" PRId64 " groups (convolution over channels "
                           "is not read)",
                           kiln_cntk_shape_text(cx, w), channels, groups);
}

/* The sizes that a transposed convolution gives: what is left out before and behind. */
static kiln_status fit_transposed(kiln_cntk_cx *cx, const kiln_cntk_function *f,
                                  window *w, int64_t *more) {
    const kiln_cntk_shape *const want = kiln_cntk_shape_of(cx, f, "outputShape");
    kiln_spatial *const s = &w->s;
    const bool is_given = want != NULL && want->n_dim >= (size_t)s->n &&
                          want->dim[0] != 0 && want->dim[0] < KILN_CNTK_OPEN;
    for (int i = 0; i < s->n; i++) {
        const int64_t extent = (s->kernel[i] - 1) * s->dilations[i] + 1;
        const int64_t all = (s->in[i] - 1) * s->strides[i] + extent;
        more[i] = 0;
        if (!w->is_auto[i] && !is_given)
            continue;
        const int64_t size =
            is_given ? setting(want, (size_t)(s->n - 1 - i), 0) : all - (extent - 1);
        if (w->is_auto[i])
            s->pads[i] = before(s, i, size, s->in[i]);
        const int64_t high = all - s->pads[i] - size;
        s->pads[s->n + i] = high > 0 ? high : 0;
        more[i] = high < 0 ? -high : 0;
        if (s->pads[i] < 0 || size < 1 || more[i] >= s->strides[i])
            return kiln_fail(cx->common.err, KILN_ERR_UNSUPPORTED,
                             "%" PRId64 " elements do not come of %" PRId64
                             " by its window",
                             size, s->in[i]);
    }
    return KILN_OK;
}

IMPORTER(convolution) {
    kiln_compose c = kiln_cntk_compose(cx, f);
    const bool is_transposed = kiln_cntk_bool(cx, f, "transpose", false);
    const int64_t groups = kiln_cntk_int(cx, f, "groups", 1);
    const kiln_cntk_vector *const sharing = kiln_cntk_list(cx, f, "sharing");
    kiln_value *from[3] = {NULL, NULL, NULL};
    int64_t more[KILN_MAX_SPATIAL];
    window w;
    KILN_TRY(as_image(cx, &c, &in[1], &from[0]));
    KILN_TRY(read_weights(cx, &c, &in[0], from[0], is_transposed, groups, &from[1]));
    kiln_spatial_init(&w.s, from[0], from[1]->type.dim + 2);
    KILN_TRY(read_window(cx, f, &w));
    for (size_t i = 0; i < (size_t)w.s.n; i++)
        if (!flag(sharing, i, true))
            return kiln_fail(
                cx->common.err, KILN_ERR_UNSUPPORTED,
                "weights of their own for each place ('sharing' false) are "
                "not read");
    out->has_batch = in[1].has_batch;
    if (!is_transposed) {
        from[0] = pad_by_itself(&c, &w, from[0]);
        KILN_TRY(c.status);
        from_image(&c, kiln_compose_conv(&c, from, &w.s, groups), out);
        return c.status;
    }
    KILN_TRY(fit_transposed(cx, f, &w, more));
    kiln_attr_arg args[KILN_SPATIAL_ARGS + 2];
    kiln_spatial_args(&w.s, args);
    args[KILN_SPATIAL_ARGS] = kiln_arg_int("groups", groups);
    args[KILN_SPATIAL_ARGS + 1] = kiln_arg_ints("output_padding", more, (size_t)w.s.n);
    from_image(&c,
               kiln_compose_op(&c, &kiln_op_conv_transpose, from, 3, args,
                               KILN_SPATIAL_ARGS + 2),
               out);
    return c.status;
}

/* ---- pooling --------------------------------------------------------------------- */

static kiln_status read_pool(kiln_cntk_cx *cx, const kiln_cntk_function *f,
                             const kiln_value *x, window *w, bool *is_global) {
    const kiln_cntk_shape *const size = kiln_cntk_shape_of(cx, f, "poolingWindowShape");
    if (size == NULL || size->n_dim == 0)
        return kiln_fail(cx->common.err, KILN_ERR_PARSE,
                         "it has no 'poolingWindowShape'");
    kiln_spatial_init(&w->s, x, NULL);
    *is_global = size->dim[0] >= KILN_CNTK_OPEN; /* NDShape::Unknown */
    for (int i = 0; i < w->s.n; i++)
        w->s.kernel[i] =
            *is_global ? w->s.in[i] : setting(size, (size_t)(w->s.n - 1 - i), 1);
    if (size->n_dim > (size_t)w->s.n && size->dim[w->s.n] != 1)
        return kiln_fail(cx->common.err, KILN_ERR_UNSUPPORTED,
                         "a window over channels is not read");
    return read_window(cx, f, w);
}

IMPORTER(pooling) {
    enum { MAX, AVERAGE };
    kiln_compose c = kiln_cntk_compose(cx, f);
    const int64_t type = kiln_cntk_int(cx, f, "poolingType", MAX);
    const bool rounds_up = kiln_cntk_bool(cx, f, "ceilOutDim", false);
    const kiln_attr_arg count =
        kiln_arg_bool("count_include_pad", kiln_cntk_bool(cx, f, "includePad", false));
    kiln_value *x = NULL;
    bool is_global;
    window w;
    if (type != MAX && type != AVERAGE)
        return kiln_fail(cx->common.err, KILN_ERR_PARSE,
                         "'poolingType' must be 0 or 1, is %" PRId64, type);
    KILN_TRY(as_image(cx, &c, &in[0], &x));
    KILN_TRY(read_pool(cx, f, x, &w, &is_global));
    for (int i = 0; i < w.s.n; i++)
        if (rounds_up && (w.is_auto[i] || w.s.pads[i] != 0 || w.s.pads[w.s.n + i] != 0))
            return kiln_fail(cx->common.err, KILN_ERR_UNSUPPORTED,
                             "'ceilOutDim' is read without padding");
    x = pad_by_itself(&c, &w, x);
    KILN_TRY(c.status);
    from_image(&c,
               kiln_compose_pool(&c,
                                 type == MAX ? &kiln_op_max_pool : &kiln_op_avg_pool, x,
                                 &w.s, rounds_up, &count, type == AVERAGE),
               out);
    return c.status;
}

/* ---- normalisation --------------------------------------------------------------- */

/* Of each channel (spatial), or of each element. in: x, scale, bias, mean, variance, and
 * how many samples these were taken of. */
IMPORTER(batch_normalization) {
    kiln_compose c = kiln_cntk_compose(cx, f);
    const bool is_spatial = kiln_cntk_bool(cx, f, "spatial", false);
    const double epsilon = kiln_cntk_float(cx, f, "epsilon", 1e-5);
    const int rank = kiln_cntk_rank(&in[0]);
    const int64_t *const own = kiln_cntk_dim(&in[0]);
    int64_t dim[] = {in[0].has_batch ? in[0].v->type.dim[0] : 1, 1, 1};
    kiln_value *from[5];
    for (int i = 0; i < rank; i++)
        dim[is_spatial && i > 0 ? 2 : 1] *= own[i];
    from[0] = kiln_compose_reshape(&c, in[0].v, 3, dim);
    for (int i = 1; i < 5; i++) {
        if (in[i].has_batch || kiln_type_elems(&in[i].v->type) != dim[1])
            return kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                             "input %d must have %" PRId64 " elements, has shape %s", i,
                             dim[1], kiln_cntk_shape_text(cx, &in[i]));
        from[i] = kiln_compose_reshape(&c, in[i].v, 1, &dim[1]);
    }
    KILN_TRY(c.status);
    const kiln_attr_arg e = kiln_arg_float("epsilon", epsilon);
    const kiln_cntk_value y = {kiln_compose_op(&c, &kiln_op_batch_norm, from, 5, &e, 1),
                               true};
    out->has_batch = in[0].has_batch;
    KILN_TRY(c.status);
    out->v = out->has_batch ? kiln_cntk_reshape(&c, &y, rank, own)
                            : kiln_compose_reshape(&c, y.v, rank, own);
    return c.status;
}
