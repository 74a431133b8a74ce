/* Layers that move rows, columns and channels: margins, crops, scaling, blocks. Source:
 * NeuralNetwork.proto. */
#include "compiler/frontend/coreml/coreml_internal.h"

#include "compiler/frontend/protobuf_table.h"

#include <inttypes.h>
#include <math.h>

/* ---- margins and crops ----------------------------------------------------------- */

typedef struct padding_value {
    float value;
} padding_value;

static const kiln_pb_field value_fields[] = {
    FIELD(1, padding_value, value, KILN_PB_F32),
};
static const kiln_pb_message value_message =
    MESSAGE("PaddingConstant", padding_value, value_fields);

typedef struct padding {
    const padding_value *constant;
    const kiln_coreml_nothing *reflection, *replication;
    const kiln_coreml_border *border;
} padding;

static const kiln_pb_field padding_fields[] = {
    SUB(1, padding, constant, value_message),
    SUB(2, padding, reflection, kiln_coreml_nothing_message),
    SUB(3, padding, replication, kiln_coreml_nothing_message),
    SUB(10, padding, border, kiln_coreml_border_message),
};
static const kiln_pb_message padding_message =
    MESSAGE("PaddingLayerParams", padding, padding_fields);

kiln_status kiln_coreml_import_padding(kiln_coreml_call *k) {
    padding p;
    kiln_coreml_edges edge[2];
    int64_t pads[2 * KILN_MAX_RANK] = {0};
    KILN_TRY(kiln_coreml_params(k, &padding_message, &p));
    KILN_TRY(kiln_coreml_min_rank(k, 2));
    KILN_TRY(kiln_coreml_read_border(k, p.border, edge));
    const int rank = k->in[0]->type.rank;
    for (int i = 0; i < 2; i++) {
        pads[rank - 2 + i] = edge[i].start;
        pads[2 * rank - 2 + i] = edge[i].end;
    }
    const double value = p.constant != NULL ? (double)p.constant->value : 0;
    if (p.reflection == NULL && p.replication == NULL) {
        k->out[0] = kiln_compose_pad(&k->c, k->in[0], pads, value);
        return k->c.status;
    }
    const kiln_attr_arg args[] = {
        kiln_arg_word("mode", p.reflection != NULL ? "reflect" : "edge"),
        kiln_arg_ints("pads", pads, 2 * (size_t)rank)};
    k->out[0] = kiln_compose_op(&k->c, &kiln_op_pad, k->in, 1, args, 2);
    return k->c.status;
}

typedef struct crop {
    const kiln_coreml_border *border;
    const int64_t *offset;
    size_t n_offset;
} crop;

static const kiln_pb_field crop_fields[] = {
    SUB(1, crop, border, kiln_coreml_border_message),
    LIST(5, crop, offset, KILN_PB_I64),
};
static const kiln_pb_message crop_message =
    MESSAGE("CropLayerParams", crop, crop_fields);

/* What of an axis of `size` elements stays, without overflow. */
static kiln_status check_part(kiln_coreml_call *k, int64_t size, int64_t start,
                              int64_t n) {
    if (start >= 0 && n >= 1 && start <= size && n <= size - start)
        return KILN_OK;
    return kiln_fail(k->cx->common.err, KILN_ERR_SHAPE,
                     "%" PRId64 " elements from %" PRId64 " on must lie in an axis of "
                     "%" PRId64,
                     n, start, size);
}

kiln_status kiln_coreml_import_crop(kiln_coreml_call *k) {
    crop p;
    kiln_coreml_edges edge[2];
    kiln_value *x = k->in[0];
    KILN_TRY(kiln_coreml_params(k, &crop_message, &p));
    KILN_TRY(kiln_coreml_min_rank(k, 2));
    KILN_TRY(kiln_coreml_read_border(k, p.border, edge));
    if (k->n_in == 2 &&
        (k->in[1]->type.rank != x->type.rank || (p.n_offset != 0 && p.n_offset != 2)))
        return kiln_fail(k->cx->common.err, KILN_ERR_SHAPE,
                         "its inputs must have equal ranks and its offset 2 numbers, "
                         "have %d, %d and %zu",
                         x->type.rank, k->in[1]->type.rank, p.n_offset);
    for (int i = 0; i < 2; i++) {
        const int axis = x->type.rank - 2 + i;
        const int64_t size = x->type.dim[axis];
        int64_t start = edge[i].start, n = size - edge[i].start - edge[i].end;
        if (k->n_in == 2) {
            start = p.n_offset == 2 ? p.offset[i] : 0;
            n = k->in[1]->type.dim[axis];
        }
        KILN_TRY(check_part(k, size, start, n));
        x = kiln_compose_slice(&k->c, x, axis, start, 1, n);
    }
    k->out[0] = x;
    return k->c.status;
}

/* ---- scaling --------------------------------------------------------------------- */

static kiln_status resize(kiln_coreml_call *k, const double scale[2],
                          const int64_t size[2], const char *mode,
                          const char *coordinates) {
    int64_t sizes[KILN_MAX_RANK];
    double scales[KILN_MAX_RANK];
    kiln_value *const x = k->in[0];
    const int rank = x->type.rank;
    for (int i = 0; i < rank; i++) {
        const bool is_spatial = i >= rank - 2;
        sizes[i] = is_spatial ? size[i - rank + 2] : x->type.dim[i];
        scales[i] = is_spatial ? scale[i - rank + 2] : 1;
    }
    const kiln_attr_arg args[] = {
        kiln_arg_ints("sizes", sizes, (size_t)rank),
        kiln_arg_floats("scales", scales, (size_t)rank), kiln_arg_word("mode", mode),
        kiln_arg_word("coordinates", coordinates), kiln_arg_word("rounding", "floor")};
    k->out[0] = kiln_compose_op(&k->c, &kiln_op_resize, &x, 1, args, 5);
    return k->c.status;
}

typedef struct upsample {
    const int64_t *factor;
    size_t n_factor;
    const float *fraction;
    size_t n_fraction;
    int64_t mode, linear_mode;
} upsample;

static const kiln_pb_field upsample_fields[] = {
    LIST(1, upsample, factor, KILN_PB_I64),
    FIELD(5, upsample, mode, KILN_PB_I64),
    FIELD(6, upsample, linear_mode, KILN_PB_I64),
    LIST(7, upsample, fraction, KILN_PB_F32),
};
static const kiln_pb_message upsample_message =
    MESSAGE("UpsampleLayerParams", upsample, upsample_fields);

/* Grid points of the default mode are i * in / out. */
kiln_status kiln_coreml_import_upsample(kiln_coreml_call *k) {
    static const char *const coordinates[] = {"asymmetric", "align_corners",
                                              "half_pixel"};
    enum { BILINEAR = 1, MAX_FACTOR = 1 << 16 };
    upsample p;
    int64_t factor[2], size[2];
    double scale[2];
    KILN_TRY(kiln_coreml_params(k, &upsample_message, &p));
    KILN_TRY(kiln_coreml_min_rank(k, 2));
    KILN_TRY(kiln_coreml_pair_of(k, "scalingFactor", p.factor, p.n_factor, 1, factor));
    for (int i = 0; i < 2; i++) {
        const int64_t in = k->in[0]->type.dim[k->in[0]->type.rank - 2 + i];
        scale[i] = p.n_fraction == 2 ? (double)p.fraction[i] : (double)factor[i];
        if (!(scale[i] > 0 && scale[i] <= MAX_FACTOR))
            return kiln_fail(k->cx->common.err, KILN_ERR_LIMIT,
                             "its factors must be above 0 and at most %d, one is %g",
                             MAX_FACTOR, scale[i]);
        size[i] = (int64_t)floor((double)in * scale[i]);
    }
    const bool is_linear = p.mode == BILINEAR;
    if (p.linear_mode < 0 || p.linear_mode > 2 || p.mode < 0 || p.mode > BILINEAR)
        return kiln_fail(k->cx->common.err, KILN_ERR_UNSUPPORTED,
                         "mode %" PRId64 " of the kind %" PRId64 " is not known",
                         p.mode, p.linear_mode);
    return resize(k, scale, size, is_linear ? "linear" : "nearest",
                  coordinates[is_linear ? p.linear_mode : 0]);
}

typedef struct sampling {
    int64_t method;
} sampling;

static const kiln_pb_field sampling_fields[] = {
    FIELD(1, sampling, method, KILN_PB_I64),
};
static const kiln_pb_message sampling_message =
    MESSAGE("SamplingMode", sampling, sampling_fields);

typedef struct bilinear {
    const int64_t *target;
    size_t n_target;
    const sampling *mode;
} bilinear;

static const kiln_pb_field bilinear_fields[] = {
    LIST(1, bilinear, target, KILN_PB_I64),
    SUB(2, bilinear, mode, sampling_message),
};
static const kiln_pb_message bilinear_message =
    MESSAGE("ResizeBilinearLayerParams", bilinear, bilinear_fields);

/* ALIGN_ENDPOINTS differs from STRICT in that one point lies in the middle. */
kiln_status kiln_coreml_import_resize_bilinear(kiln_coreml_call *k) {
    enum { STRICT_ALIGN, ALIGN, UPSAMPLE };
    bilinear p;
    int64_t size[2];
    double scale[2];
    KILN_TRY(kiln_coreml_params(k, &bilinear_message, &p));
    KILN_TRY(kiln_coreml_min_rank(k, 2));
    KILN_TRY(kiln_coreml_pair_of(k, "targetSize", p.target, p.n_target, 1, size));
    const int64_t method = p.mode != NULL ? p.mode->method : STRICT_ALIGN;
    bool is_read = method >= STRICT_ALIGN && method <= UPSAMPLE;
    for (int i = 0; i < 2; i++) {
        const int64_t in = k->in[0]->type.dim[k->in[0]->type.rank - 2 + i];
        is_read = is_read && in > 0 && !(method == ALIGN && size[i] == 1 && in > 1);
        scale[i] = in > 0 ? (double)size[i] / (double)in : 1;
    }
    if (!is_read)
        return kiln_fail(k->cx->common.err, KILN_ERR_UNSUPPORTED,
                         "sampling method %" PRId64 " to %" PRId64 " x %" PRId64
                         " is not read",
                         method, size[0], size[1]);
    return resize(k, scale, size, "linear",
                  method == UPSAMPLE ? "asymmetric" : "align_corners");
}

/* ---- channels -------------------------------------------------------------------- */

typedef struct concat {
    bool of_sequence;
} concat;

static const kiln_pb_field concat_fields[] = {
    FIELD(100, concat, of_sequence, KILN_PB_BOOL),
};
static const kiln_pb_message concat_message =
    MESSAGE("ConcatLayerParams", concat, concat_fields);

static kiln_status join(kiln_coreml_call *k, int axis) {
    const kiln_attr_arg arg = kiln_arg_int("axis", axis);
    k->out[0] = kiln_compose_op(&k->c, &kiln_op_concat, k->in, k->n_in, &arg, 1);
    return k->c.status;
}

/* The axis of the sequence is -5, which of the old mapping is the first here. */
static kiln_status sequence_axis(kiln_coreml_call *k, int *axis) {
    KILN_TRY(kiln_coreml_min_rank(k, k->cx->model.is_exact ? 5 : 4));
    *axis = k->cx->model.is_exact ? k->in[0]->type.rank - 5 : 0;
    return KILN_OK;
}

kiln_status kiln_coreml_import_concat(kiln_coreml_call *k) {
    concat p;
    int axis = k->in[0]->type.rank - 3;
    KILN_TRY(kiln_coreml_params(k, &concat_message, &p));
    KILN_TRY(kiln_coreml_min_rank(k, 3));
    if (p.of_sequence)
        KILN_TRY(sequence_axis(k, &axis));
    return join(k, axis);
}

typedef struct number {
    int64_t n;
} number;

static const kiln_pb_field number_fields[] = {
    FIELD(1, number, n, KILN_PB_I64),
};
static const kiln_pb_message number_message =
    MESSAGE("SplitLayerParams", number, number_fields);

kiln_status kiln_coreml_import_split(kiln_coreml_call *k) {
    number p;
    KILN_TRY(kiln_coreml_params(k, &number_message, &p));
    KILN_TRY(kiln_coreml_min_rank(k, 3));
    const int axis = k->in[0]->type.rank - 3;
    const int64_t size = k->in[0]->type.dim[axis];
    if (p.n != k->n_out || size % p.n != 0)
        return kiln_fail(k->cx->common.err, KILN_ERR_SHAPE,
                         "nOutputs must be the number of its outputs, %d, and divide "
                         "%" PRId64 " channels, is %" PRId64,
                         k->n_out, size, p.n);
    for (int i = 0; i < k->n_out; i++)
        k->out[i] =
            kiln_compose_slice(&k->c, k->in[0], axis, i * (size / p.n), 1, size / p.n);
    return k->c.status;
}

kiln_status kiln_coreml_import_sequence_repeat(kiln_coreml_call *k) {
    enum { MAX_REPEATS = 1 << 16 };
    number p;
    int axis = 0;
    KILN_TRY(kiln_coreml_params(k, &number_message, &p));
    KILN_TRY(sequence_axis(k, &axis));
    if (p.n < 1 || p.n > MAX_REPEATS)
        return kiln_fail(k->cx->common.err, KILN_ERR_LIMIT,
                         "nRepetitions must be 1 to %d, is %" PRId64, MAX_REPEATS, p.n);
    int64_t repeats[KILN_MAX_RANK];
    for (int i = 0; i < k->in[0]->type.rank; i++)
        repeats[i] = i == axis ? p.n : 1;
    const kiln_attr_arg arg =
        kiln_arg_ints("repeats", repeats, (size_t)k->in[0]->type.rank);
    k->out[0] = kiln_compose_op(&k->c, &kiln_op_tile, k->in, 1, &arg, 1);
    return k->c.status;
}

/* ---- blocks ---------------------------------------------------------------------- */

typedef struct blocks {
    int64_t mode, size;
} blocks;

static const kiln_pb_field blocks_fields[] = {
    FIELD(1, blocks, mode, KILN_PB_I64),
    FIELD(2, blocks, size, KILN_PB_I64),
};
static const kiln_pb_message blocks_message =
    MESSAGE("ReorganizeDataLayerParams", blocks, blocks_fields);

enum { SPACE_TO_DEPTH, DEPTH_TO_SPACE, PIXEL_SHUFFLE };

/* x [N, C, H, W]. By depth, the channels are [block row, block column, channel], by
 * pixels [channel, block row, block column]. */
static kiln_value *rearrange(kiln_coreml_call *k, const blocks *p, kiln_value *x) {
    static const int64_t to_depth[] = {0, 3, 5, 1, 2, 4};
    static const int64_t from_depth[] = {0, 3, 4, 1, 5, 2};
    static const int64_t shuffle[] = {0, 1, 4, 2, 5, 3};
    const int64_t b = p->size, *const d = x->type.dim;
    const int64_t n = d[0], c = d[1], h = d[2], w = d[3];
    if (p->mode == SPACE_TO_DEPTH) {
        const int64_t in[] = {n, c, h / b, b, w / b, b};
        const int64_t out[] = {n, c * b * b, h / b, w / b};
        x = kiln_compose_transpose(&k->c, kiln_compose_reshape(&k->c, x, 6, in),
                                   to_depth);
        return kiln_compose_reshape(&k->c, x, 4, out);
    }
    const int64_t m = c / (b * b);
    const int64_t by_depth[] = {n, b, b, m, h, w}, by_pixel[] = {n, m, b, b, h, w};
    const int64_t out[] = {n, m, h * b, w * b};
    const bool is_shuffle = p->mode == PIXEL_SHUFFLE;
    x = kiln_compose_reshape(&k->c, x, 6, is_shuffle ? by_pixel : by_depth);
    x = kiln_compose_transpose(&k->c, x, is_shuffle ? shuffle : from_depth);
    return kiln_compose_reshape(&k->c, x, 4, out);
}

kiln_status kiln_coreml_import_reorganize_data(kiln_coreml_call *k) {
    enum { MAX_BLOCK = 1 << 12 };
    blocks p;
    KILN_TRY(kiln_coreml_params(k, &blocks_message, &p));
    KILN_TRY(kiln_coreml_min_rank(k, 3));
    kiln_value *const x = kiln_coreml_as_images(k, k->in[0]);
    KILN_TRY(k->c.status);
    const int64_t *const d = x->type.dim;
    const bool is_size = p.size >= 1 && p.size <= MAX_BLOCK;
    if (!is_size || p.mode < 0 || p.mode > PIXEL_SHUFFLE ||
        (p.mode == SPACE_TO_DEPTH ? d[2] % p.size != 0 || d[3] % p.size != 0
                                  : d[1] % (p.size * p.size) != 0))
        return kiln_fail(k->cx->common.err, KILN_ERR_SHAPE,
                         "blocks of %" PRId64 " in mode %" PRId64 " do not fit %s",
                         p.size, p.mode,
                         kiln_type_text(&k->cx->common.scratch, &x->type));
    k->out[0] = kiln_coreml_from_images(k, rearrange(k, &p, x), k->in[0]);
    return k->c.status;
}
