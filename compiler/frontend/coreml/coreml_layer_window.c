/* Layers whose windows slide over rows and columns: convolution and its adjoint, and
 * pooling. Source: NeuralNetwork.proto, ConvolutionLayerParams, PoolingLayerParams. */
#include "compiler/frontend/coreml/coreml_internal.h"

#include "compiler/frontend/protobuf_table.h"
#include "compiler/frontend/spatial.h"

#include <inttypes.h>

enum { ROWS, COLUMNS, N_AXES };
enum { TOP_LEFT_HEAVY = 1 };

/* ---- edges and padding ----------------------------------------------------------- */

static const kiln_pb_field edge_fields[] = {
    FIELD(1, kiln_coreml_edges, start, KILN_PB_I64),
    FIELD(2, kiln_coreml_edges, end, KILN_PB_I64),
};
static const kiln_pb_message edge_message =
    MESSAGE("EdgeSizes", kiln_coreml_edges, edge_fields);

static const kiln_pb_field border_fields[] = {
    SUBS(10, kiln_coreml_border, edge, edge_message),
};
const kiln_pb_message kiln_coreml_border_message =
    MESSAGE("BorderAmounts", kiln_coreml_border, border_fields);

static const kiln_pb_field valid_fields[] = {
    SUB(1, kiln_coreml_valid, border, kiln_coreml_border_message),
};
const kiln_pb_message kiln_coreml_valid_message =
    MESSAGE("ValidPadding", kiln_coreml_valid, valid_fields);

static const kiln_pb_field same_fields[] = {
    FIELD(1, kiln_coreml_same, asymmetry, KILN_PB_I64),
};
const kiln_pb_message kiln_coreml_same_message =
    MESSAGE("SamePadding", kiln_coreml_same, same_fields);

enum { MAX_EDGE = 1 << 20 };

kiln_status kiln_coreml_read_border(kiln_coreml_call *k,
                                    const kiln_coreml_border *border,
                                    kiln_coreml_edges out[2]) {
    out[0] = out[1] = (kiln_coreml_edges){0, 0};
    if (border == NULL || border->n_edge == 0)
        return KILN_OK;
    if (border->n_edge != N_AXES)
        return kiln_fail(k->cx->common.err, KILN_ERR_PARSE,
                         "it must have 2 border amounts, for rows and columns, has %zu",
                         border->n_edge);
    for (int i = 0; i < N_AXES; i++) {
        out[i] = border->edge[i];
        if (out[i].start < 0 || out[i].end < 0 || out[i].start > MAX_EDGE ||
            out[i].end > MAX_EDGE)
            return kiln_fail(k->cx->common.err, KILN_ERR_LIMIT,
                             "border amounts must be 0 to %d, are %" PRId64
                             " and %" PRId64,
                             MAX_EDGE, out[i].start, out[i].end);
    }
    return KILN_OK;
}

kiln_status kiln_coreml_pair_of(kiln_coreml_call *k, const char *what,
                                const int64_t *list, size_t n, int64_t otherwise,
                                int64_t out[2]) {
    if (n != 0 && n != N_AXES)
        return kiln_fail(k->cx->common.err, KILN_ERR_PARSE,
                         "'%s' must have 2 numbers, for rows and columns, has %zu",
                         what, n);
    for (size_t i = 0; i < N_AXES; i++) {
        out[i] = n == 0 ? otherwise : list[i];
        if (out[i] < 1 || out[i] > INT32_MAX)
            return kiln_fail(k->cx->common.err, KILN_ERR_PARSE,
                             "'%s' must be 1 at least, is %" PRId64, what, out[i]);
    }
    return KILN_OK;
}

static void set_pads(kiln_spatial *s, const kiln_coreml_edges edge[2]) {
    for (int i = 0; i < N_AXES; i++) {
        s->pads[i] = edge[i].start;
        s->pads[s->n + i] = edge[i].end;
    }
}

/* ---- convolution ----------------------------------------------------------------- */

typedef struct convolution {
    int64_t out_channels, kernel_channels, groups;
    const int64_t *kernel, *stride, *dilation, *shape;
    size_t n_kernel, n_stride, n_dilation, n_shape;
    const kiln_coreml_valid *valid;
    const kiln_coreml_same *same;
    bool is_adjoint, has_bias;
    const kiln_coreml_weights *weights, *bias;
} convolution;

static const kiln_pb_field convolution_fields[] = {
    FIELD(1, convolution, out_channels, KILN_PB_I64),
    FIELD(2, convolution, kernel_channels, KILN_PB_I64),
    FIELD(10, convolution, groups, KILN_PB_I64),
    LIST(20, convolution, kernel, KILN_PB_I64),
    LIST(30, convolution, stride, KILN_PB_I64),
    LIST(40, convolution, dilation, KILN_PB_I64),
    SUB(50, convolution, valid, kiln_coreml_valid_message),
    SUB(51, convolution, same, kiln_coreml_same_message),
    FIELD(60, convolution, is_adjoint, KILN_PB_BOOL),
    FIELD(70, convolution, has_bias, KILN_PB_BOOL),
    SUB(90, convolution, weights, kiln_coreml_weights_message),
    SUB(91, convolution, bias, kiln_coreml_weights_message),
    LIST(100, convolution, shape, KILN_PB_I64),
};
static const kiln_pb_message convolution_message =
    MESSAGE("ConvolutionLayerParams", convolution, convolution_fields);

static kiln_status check_channels(kiln_coreml_call *k, const convolution *p,
                                  int64_t in) {
    const bool is_divided = p->groups >= 1 && p->groups <= INT32_MAX &&
                            in % p->groups == 0 && p->out_channels >= 1 &&
                            p->out_channels % p->groups == 0;
    if (!is_divided)
        return kiln_fail(k->cx->common.err, KILN_ERR_SHAPE,
                         "nGroups must divide the %" PRId64 " channels of the input "
                         "and the %" PRId64 " of the output, is %" PRId64,
                         in, p->out_channels, p->groups);
    const int64_t want = p->is_adjoint ? in : in / p->groups;
    if (p->kernel_channels != want)
        return kiln_fail(k->cx->common.err, KILN_ERR_SHAPE,
                         "kernelChannels must be %" PRId64 " for an input of %" PRId64
                         " channels, is %" PRId64,
                         want, in, p->kernel_channels);
    return KILN_OK;
}

/* What is cut from the whole result of the adjoint so that axis i gets its size. */
static kiln_status adjoint_pads(kiln_coreml_call *k, const convolution *p,
                                kiln_spatial *s, int i, int64_t *more) {
    const int64_t whole =
        (s->in[i] - 1) * s->strides[i] + (s->kernel[i] - 1) * s->dilations[i] + 1;
    const int64_t given = p->n_shape == N_AXES ? p->shape[i] : -1;
    *more = 0;
    if (p->same != NULL) {
        const int64_t size = given >= 0 ? given : s->in[i] * s->strides[i];
        const int64_t cut = whole > size ? whole - size : 0, less = cut / 2;
        s->pads[i] = p->same->asymmetry == TOP_LEFT_HEAVY ? cut - less : less;
        s->pads[s->n + i] = cut - s->pads[i];
        *more = size - (whole - cut);
    } else if (given >= 0) {
        *more = given - (whole - s->pads[i] - s->pads[s->n + i]);
    }
    if (*more < 0 || *more >= s->strides[i])
        return kiln_fail(k->cx->common.err, KILN_ERR_SHAPE,
                         "an axis of %" PRId64 " cannot become %" PRId64
                         " by windows of %" PRId64 " in steps of %" PRId64,
                         s->in[i], given, s->kernel[i], s->strides[i]);
    return KILN_OK;
}

static kiln_status adjoint(kiln_coreml_call *k, const convolution *p,
                           kiln_value *const in[3], kiln_spatial *s, kiln_value **out) {
    kiln_attr_arg args[KILN_SPATIAL_ARGS + 2];
    int64_t more[N_AXES];
    for (int i = 0; i < N_AXES; i++)
        KILN_TRY(adjoint_pads(k, p, s, i, &more[i]));
    kiln_spatial_args(s, args);
    args[KILN_SPATIAL_ARGS] = kiln_arg_int("groups", p->groups);
    args[KILN_SPATIAL_ARGS + 1] = kiln_arg_ints("output_padding", more, N_AXES);
    *out = kiln_compose_op(&k->c, &kiln_op_conv_transpose, in, 3, args,
                           KILN_SPATIAL_ARGS + 2);
    return k->c.status;
}

kiln_status kiln_coreml_import_convolution(kiln_coreml_call *k) {
    convolution p;
    kiln_spatial s;
    int64_t kernel[N_AXES];
    kiln_coreml_edges edge[N_AXES];
    KILN_TRY(kiln_coreml_params(k, &convolution_message, &p));
    KILN_TRY(kiln_coreml_min_rank(k, 3));
    kiln_value *const x = kiln_coreml_as_images(k, k->in[0]);
    KILN_TRY(k->c.status);
    p.groups = p.groups == 0 ? 1 : p.groups;
    KILN_TRY(kiln_coreml_pair_of(k, "kernelSize", p.kernel, p.n_kernel, 3, kernel));
    kiln_spatial_init(&s, x, kernel);
    KILN_TRY(kiln_coreml_pair_of(k, "stride", p.stride, p.n_stride, 1, s.strides));
    KILN_TRY(kiln_coreml_pair_of(k, "dilationFactor", p.dilation, p.n_dilation, 1,
                                 s.dilations));
    KILN_TRY(check_channels(k, &p, x->type.dim[1]));
    KILN_TRY(
        kiln_coreml_read_border(k, p.valid != NULL ? p.valid->border : NULL, edge));
    set_pads(&s, edge);
    const int64_t first = p.is_adjoint ? p.kernel_channels : p.out_channels;
    const int64_t second = p.is_adjoint ? p.out_channels / p.groups : p.kernel_channels;
    const int64_t dim[] = {first, second, kernel[ROWS], kernel[COLUMNS]};
    kiln_value *in[3] = {x, NULL, NULL}, *y = NULL;
    KILN_TRY(kiln_coreml_const(k, p.weights, "weights", 4, dim, &in[1]));
    if (p.has_bias)
        KILN_TRY(kiln_coreml_vector(k, p.bias, "bias", p.out_channels, &in[2]));
    if (p.is_adjoint) {
        KILN_TRY(adjoint(k, &p, in, &s, &y));
    } else {
        s.is_same = p.same != NULL;
        s.is_upper = s.is_same && p.same->asymmetry != TOP_LEFT_HEAVY;
        y = kiln_compose_conv(&k->c, in, &s, p.groups);
    }
    k->out[0] = kiln_coreml_from_images(k, y, k->in[0]);
    return k->c.status;
}

/* ---- pooling --------------------------------------------------------------------- */

enum { POOL_MAX, POOL_AVERAGE, POOL_L2, N_POOLS };

typedef struct complete {
    const int64_t *amount;
    size_t n_amount;
} complete;

static const kiln_pb_field complete_fields[] = {
    LIST(10, complete, amount, KILN_PB_I64),
};
static const kiln_pb_message complete_message =
    MESSAGE("ValidCompletePadding", complete, complete_fields);

typedef struct pooling {
    int64_t type;
    const int64_t *kernel, *stride;
    size_t n_kernel, n_stride;
    const kiln_coreml_valid *valid;
    const kiln_coreml_same *same;
    const complete *last; /* includeLastPixel */
    bool excludes_padding, is_global;
} pooling;

static const kiln_pb_field pooling_fields[] = {
    FIELD(1, pooling, type, KILN_PB_I64),
    LIST(10, pooling, kernel, KILN_PB_I64),
    LIST(20, pooling, stride, KILN_PB_I64),
    SUB(30, pooling, valid, kiln_coreml_valid_message),
    SUB(31, pooling, same, kiln_coreml_same_message),
    SUB(32, pooling, last, complete_message),
    FIELD(50, pooling, excludes_padding, KILN_PB_BOOL),
    FIELD(60, pooling, is_global, KILN_PB_BOOL),
};
static const kiln_pb_message pooling_message =
    MESSAGE("PoolingLayerParams", pooling, pooling_fields);

static kiln_status check_pool(kiln_coreml_call *k, const pooling *p) {
    if (p->type < 0 || p->type >= N_POOLS)
        return kiln_fail(k->cx->common.err, KILN_ERR_PARSE,
                         "its type must be 0 to %d, is %" PRId64, N_POOLS - 1, p->type);
    return kiln_coreml_min_rank(k, 3);
}

static kiln_value *global_pool(kiln_coreml_call *k, const pooling *p, kiln_value *x) {
    static const kiln_op_def *const ops[N_POOLS] = {
        &kiln_op_reduce_max, &kiln_op_reduce_mean, &kiln_op_reduce_l2};
    static const int64_t axes[] = {2, 3};
    return kiln_compose_reduce(&k->c, ops[p->type], x, axes, 2, true);
}

static kiln_status pool_pads(kiln_coreml_call *k, const pooling *p, kiln_spatial *s) {
    kiln_coreml_edges edge[N_AXES];
    KILN_TRY(
        kiln_coreml_read_border(k, p->valid != NULL ? p->valid->border : NULL, edge));
    for (int i = 0; p->last != NULL && p->last->n_amount == N_AXES && i < N_AXES; i++) {
        const int64_t amount = p->last->amount[i];
        if (amount < 0 || amount > MAX_EDGE)
            return kiln_fail(k->cx->common.err, KILN_ERR_LIMIT,
                             "padding amounts must be 0 to %d, are %" PRId64, MAX_EDGE,
                             amount);
        edge[i] = (kiln_coreml_edges){amount, amount};
    }
    set_pads(s, edge);
    s->is_same = p->same != NULL;
    s->is_upper = s->is_same && p->same->asymmetry != TOP_LEFT_HEAVY;
    return KILN_OK;
}

kiln_status kiln_coreml_import_pooling(kiln_coreml_call *k) {
    static const kiln_op_def *const ops[N_POOLS] = {
        &kiln_op_max_pool, &kiln_op_avg_pool, &kiln_op_lp_pool};
    pooling p;
    kiln_spatial s;
    int64_t kernel[N_AXES];
    KILN_TRY(kiln_coreml_params(k, &pooling_message, &p));
    KILN_TRY(check_pool(k, &p));
    kiln_value *const x = kiln_coreml_as_images(k, k->in[0]);
    KILN_TRY(k->c.status);
    if (p.is_global) {
        k->out[0] = kiln_coreml_from_images(k, global_pool(k, &p, x), k->in[0]);
        return k->c.status;
    }
    KILN_TRY(kiln_coreml_pair_of(k, "kernelSize", p.kernel, p.n_kernel, 3, kernel));
    kiln_spatial_init(&s, x, kernel);
    KILN_TRY(kiln_coreml_pair_of(k, "stride", p.stride, p.n_stride, 1, s.strides));
    KILN_TRY(pool_pads(k, &p, &s));
    const kiln_attr_arg more[N_POOLS] = {
        [POOL_AVERAGE] = kiln_arg_bool("count_include_pad", !p.excludes_padding),
        [POOL_L2] = kiln_arg_int("p", 2)};
    kiln_value *const y = kiln_compose_pool(&k->c, ops[p.type], x, &s, p.last != NULL,
                                            &more[p.type], p.type == POOL_MAX ? 0 : 1);
    k->out[0] = kiln_coreml_from_images(k, y, k->in[0]);
    return k->c.status;
}
