/* Layers of exact arrays that join, repeat and make elements. Source:
 * NeuralNetwork.proto. */
#include "compiler/frontend/coreml/coreml_internal.h"

#include "compiler/frontend/protobuf_table.h"

#include <inttypes.h>
#include <string.h>

static kiln_status set(kiln_coreml_call *k, kiln_value *y) {
    k->out[0] = y;
    return k->c.status;
}

/* ---- joined ---------------------------------------------------------------------- */

typedef struct join {
    int64_t axis;
    bool interleaves;
} join;

static const kiln_pb_field join_fields[] = {
    FIELD(1, join, axis, KILN_PB_I64),
    FIELD(2, join, interleaves, KILN_PB_BOOL),
};
static const kiln_pb_message join_message =
    MESSAGE("ConcatNDLayerParams", join, join_fields);

static kiln_status concat(kiln_coreml_call *k, kiln_value *const *in, int axis) {
    const kiln_attr_arg arg = kiln_arg_int("axis", axis);
    return set(k, kiln_compose_op(&k->c, &kiln_op_concat, in, k->n_in, &arg, 1));
}

kiln_status kiln_coreml_import_concat_nd(kiln_coreml_call *k) {
    join p;
    int axis = 0;
    KILN_TRY(kiln_coreml_params(k, &join_message, &p));
    KILN_TRY(kiln_coreml_axis(k, p.axis, k->in[0]->type.rank, &axis));
    if (p.interleaves)
        return kiln_fail(k->cx->common.err, KILN_ERR_UNSUPPORTED,
                         "interleaved inputs are not read");
    return concat(k, k->in, axis);
}

kiln_status kiln_coreml_import_stack(kiln_coreml_call *k) {
    join p;
    int axis = 0;
    kiln_value *in[KILN_COREML_MAX_ENDS];
    const int rank = k->in[0]->type.rank;
    KILN_TRY(kiln_coreml_params(k, &join_message, &p));
    KILN_TRY(kiln_coreml_axis(k, p.axis, rank + 1, &axis));
    for (int i = 0; i < k->n_in; i++) {
        const kiln_type *const t = &k->in[i]->type;
        int64_t dim[KILN_MAX_RANK];
        if (!kiln_type_same_shape(t, &k->in[0]->type) || rank >= KILN_MAX_RANK)
            return kiln_fail(k->cx->common.err, KILN_ERR_SHAPE,
                             "its inputs must have one shape of fewer than %d axes, "
                             "one is %s",
                             KILN_MAX_RANK, kiln_type_text(&k->cx->common.scratch, t));
        for (int d = 0; d <= rank; d++)
            dim[d] = d == axis ? 1 : t->dim[d < axis ? d : d - 1];
        in[i] = kiln_compose_reshape(&k->c, k->in[i], rank + 1, dim);
    }
    return concat(k, in, axis);
}

/* ---- repeated -------------------------------------------------------------------- */

typedef struct sizes {
    const int64_t *v;
    size_t n_v;
} sizes;

static const kiln_pb_field sizes_fields[] = {
    LIST(1, sizes, v, KILN_PB_I64),
};
static const kiln_pb_message sizes_message =
    MESSAGE("(list of sizes)", sizes, sizes_fields);

static kiln_status check_sizes(kiln_coreml_call *k, const int64_t *v, size_t n) {
    KILN_ASSERT(n == 0 || v != NULL, "%zu sizes from nowhere", n);
    if (n < 1 || n > KILN_MAX_RANK)
        return kiln_fail(k->cx->common.err, KILN_ERR_PARSE,
                         "it must have 1 to %d sizes, has %zu", KILN_MAX_RANK, n);
    for (size_t i = 0; i < n; i++)
        if (v[i] < 1 || v[i] > INT32_MAX)
            return kiln_fail(k->cx->common.err, KILN_ERR_PARSE,
                             "its sizes must be 1 at least, one is %" PRId64, v[i]);
    return KILN_OK;
}

static kiln_status read_sizes(kiln_coreml_call *k, sizes *p) {
    KILN_TRY(kiln_coreml_params(k, &sizes_message, p));
    return check_sizes(k, p->v, p->n_v);
}

kiln_status kiln_coreml_import_tile(kiln_coreml_call *k) {
    sizes p;
    KILN_TRY(read_sizes(k, &p));
    const kiln_attr_arg arg = kiln_arg_ints("repeats", p.v, p.n_v);
    return set(k, kiln_compose_op(&k->c, &kiln_op_tile, k->in, 1, &arg, 1));
}

kiln_status kiln_coreml_import_broadcast_to_static(kiln_coreml_call *k) {
    sizes p;
    KILN_TRY(read_sizes(k, &p));
    return set(k, kiln_compose_expand(&k->c, k->in[0], (int)p.n_v, p.v));
}

kiln_status kiln_coreml_import_broadcast_to_like(kiln_coreml_call *k) {
    const kiln_type *const t = &k->in[1]->type;
    return set(k, kiln_compose_expand(&k->c, k->in[0], t->rank, t->dim));
}

/* ---- made ------------------------------------------------------------------------ */

typedef struct data {
    const int64_t *shape;
    size_t n_shape;
    const kiln_coreml_weights *data;
} data;

static const kiln_pb_field data_fields[] = {
    LIST(1, data, shape, KILN_PB_I64),
    SUB(2, data, data, kiln_coreml_weights_message),
};
static const kiln_pb_message data_message =
    MESSAGE("LoadConstantLayerParams", data, data_fields);

static kiln_status load(kiln_coreml_call *k, bool with_batch) {
    data p;
    int64_t dim[KILN_MAX_RANK] = {1};
    const size_t first = with_batch ? 1 : 0;
    KILN_TRY(kiln_coreml_params(k, &data_message, &p));
    KILN_TRY(check_sizes(k, p.shape, p.n_shape));
    if (p.n_shape + first > KILN_MAX_RANK)
        return kiln_fail(k->cx->common.err, KILN_ERR_LIMIT,
                         "a batch of %zu axes more is not read", p.n_shape);
    memcpy(dim + first, p.shape, p.n_shape * sizeof *dim);
    KILN_TRY(kiln_coreml_const(k, p.data, "data", (int)(p.n_shape + first), dim,
                               &k->out[0]));
    return KILN_OK;
}

/* [C, H, W] */
kiln_status kiln_coreml_import_load_constant(kiln_coreml_call *k) {
    return load(k, true);
}

kiln_status kiln_coreml_import_load_constant_nd(kiln_coreml_call *k) {
    return load(k, false);
}

typedef struct fill {
    float value;
    const int64_t *shape;
    size_t n_shape;
} fill;

static const kiln_pb_field fill_fields[] = {
    FIELD(1, fill, value, KILN_PB_F32),
    LIST(2, fill, shape, KILN_PB_I64),
};
static const kiln_pb_message fill_message =
    MESSAGE("FillStaticLayerParams", fill, fill_fields);

static kiln_status filled(kiln_coreml_call *k, float value, int rank,
                          const int64_t *dim) {
    kiln_value *const v = kiln_import_scalar(k->c.cx, KILN_F32, (double)value);
    return set(k, kiln_compose_expand(&k->c, v, rank, dim));
}

kiln_status kiln_coreml_import_fill_like(kiln_coreml_call *k) {
    fill p;
    const kiln_type *const t = &k->in[0]->type;
    KILN_TRY(kiln_coreml_params(k, &fill_message, &p));
    return filled(k, p.value, t->rank, t->dim);
}

kiln_status kiln_coreml_import_fill_static(kiln_coreml_call *k) {
    fill p;
    KILN_TRY(kiln_coreml_params(k, &fill_message, &p));
    KILN_TRY(check_sizes(k, p.shape, p.n_shape));
    return filled(k, p.value, (int)p.n_shape, p.shape);
}

typedef struct constant_pad {
    float value;
    const int64_t *amount;
    size_t n_amount;
    bool to_size;
} constant_pad;

static const kiln_pb_field pad_fields[] = {
    FIELD(1, constant_pad, value, KILN_PB_F32),
    LIST(2, constant_pad, amount, KILN_PB_I64),
    FIELD(3, constant_pad, to_size, KILN_PB_BOOL),
};
static const kiln_pb_message pad_message =
    MESSAGE("ConstantPaddingLayerParams", constant_pad, pad_fields);

/* Amounts are [begin, end] for each axis. */
kiln_status kiln_coreml_import_constant_pad(kiln_coreml_call *k) {
    enum { MAX_PAD = 1 << 24 };
    constant_pad p;
    int64_t pads[2 * KILN_MAX_RANK];
    const int rank = k->in[0]->type.rank;
    KILN_TRY(kiln_coreml_params(k, &pad_message, &p));
    if (p.to_size || p.n_amount != 2 * (size_t)rank)
        return kiln_fail(k->cx->common.err, KILN_ERR_UNSUPPORTED,
                         "it must have a begin and an end for each of %d axes, has %zu "
                         "amounts%s",
                         rank, p.n_amount, p.to_size ? " of sizes" : "");
    for (int i = 0; i < 2 * rank; i++) {
        if (p.amount[i] < 0 || p.amount[i] > MAX_PAD)
            return kiln_fail(k->cx->common.err, KILN_ERR_LIMIT,
                             "amounts must be 0 to %d, one is %" PRId64, MAX_PAD,
                             p.amount[i]);
        pads[i % 2 * rank + i / 2] = p.amount[i];
    }
    return set(k, kiln_compose_pad(&k->c, k->in[0], pads, (double)p.value));
}
