/* Layers that give elements another shape, take some of them, or make them: of the old
 * mapping and of exact arrays. Source: NeuralNetwork.proto. */
#include "compiler/frontend/coreml/coreml_internal.h"

#include "compiler/frontend/protobuf_table.h"

#include <inttypes.h>
#include <string.h>

typedef struct list {
    const int64_t *v;
    size_t n_v;
    int64_t mode; /* CHANNEL_FIRST, CHANNEL_LAST; "all of them" */
} list;

static const kiln_pb_field list_fields[] = {
    LIST(1, list, v, KILN_PB_I64),
    FIELD(2, list, mode, KILN_PB_I64),
};
static const kiln_pb_message list_message =
    MESSAGE("(list of sizes or axes)", list, list_fields);

static kiln_status read_list(kiln_coreml_call *k, list *p, size_t least, size_t most) {
    KILN_TRY(kiln_coreml_params(k, &list_message, p));
    if (p->n_v < least || p->n_v > most)
        return kiln_fail(k->cx->common.err, KILN_ERR_PARSE,
                         "it must have %zu to %zu numbers, has %zu", least, most,
                         p->n_v);
    return KILN_OK;
}

static kiln_status set(kiln_coreml_call *k, kiln_value *y) {
    k->out[0] = y;
    return k->c.status;
}

/* ---- reshaping ------------------------------------------------------------------- */

/* Fills in -1, and 0 by the input's size where `keeps`. */
static kiln_status resolve(kiln_coreml_call *k, const int64_t *want, int rank,
                           bool keeps, int64_t *dim) {
    const kiln_type *const t = &k->in[0]->type;
    int64_t known = 1;
    int open = -1, n_open = 0;
    for (int i = 0; i < rank; i++) {
        dim[i] = keeps && want[i] == 0 && i < t->rank ? t->dim[i] : want[i];
        if (dim[i] == -1) {
            open = i;
            n_open++;
        } else {
            known = dim[i] < 0 ? 0 : kiln_coreml_mul(known, dim[i]);
        }
    }
    const int64_t n = kiln_type_elems(t);
    if (n_open == 1 && known > 0 && n % known == 0)
        dim[open] = n / known;
    if (n_open > 1 || known < 1 || (n_open == 1 ? n % known != 0 : n != known))
        return kiln_fail(k->cx->common.err, KILN_ERR_SHAPE, "%s cannot become %s",
                         kiln_type_text(&k->cx->common.scratch, t),
                         kiln_shape_text(&k->cx->common.scratch, rank, want));
    return KILN_OK;
}

enum { CHANNEL_LAST = 1 };
static const int64_t channels_last[] = {0, 2, 3, 1}, channels_first[] = {0, 3, 1, 2};

/* To [C, H, W] for each of the batch, or [Seq, C, H, W]. */
kiln_status kiln_coreml_import_reshape(kiln_coreml_call *k) {
    list p;
    int64_t want[4] = {0}, dim[4];
    KILN_TRY(read_list(k, &p, 3, 4));
    KILN_TRY(kiln_coreml_min_rank(k, 4));
    if (k->in[0]->type.rank != 4)
        return kiln_fail(k->cx->common.err, KILN_ERR_UNSUPPORTED,
                         "it is of the old mapping, its input is %s",
                         kiln_type_text(&k->cx->common.scratch, &k->in[0]->type));
    memcpy(want + 4 - p.n_v, p.v, p.n_v * sizeof *want);
    KILN_TRY(resolve(k, want, 4, p.n_v == 3, dim));
    kiln_value *x = k->in[0];
    if (p.mode != CHANNEL_LAST)
        return set(k, kiln_compose_reshape(&k->c, x, 4, dim));
    const int64_t last[] = {dim[0], dim[2], dim[3], dim[1]};
    x = kiln_compose_transpose(&k->c, x, channels_last);
    x = kiln_compose_reshape(&k->c, x, 4, last);
    return set(k, kiln_compose_transpose(&k->c, x, channels_first));
}

typedef struct mode {
    int64_t mode;
} mode;

static const kiln_pb_field mode_fields[] = {
    FIELD(1, mode, mode, KILN_PB_I64),
};
static const kiln_pb_message mode_message =
    MESSAGE("FlattenLayerParams", mode, mode_fields);

kiln_status kiln_coreml_import_flatten(kiln_coreml_call *k) {
    mode p;
    KILN_TRY(kiln_coreml_params(k, &mode_message, &p));
    KILN_TRY(kiln_coreml_min_rank(k, 3));
    kiln_value *x = kiln_coreml_as_images(k, k->in[0]);
    KILN_TRY(k->c.status);
    const int64_t *const d = x->type.dim;
    const int64_t flat[] = {d[0], d[1] * d[2] * d[3], 1, 1};
    if (p.mode == CHANNEL_LAST)
        x = kiln_compose_transpose(&k->c, x, channels_last);
    x = kiln_compose_reshape(&k->c, x, 4, flat);
    return set(k, kiln_coreml_from_images(k, x, k->in[0]));
}

kiln_status kiln_coreml_import_flatten_to_2d(kiln_coreml_call *k) {
    mode p; /* an axis */
    const kiln_type *const t = &k->in[0]->type;
    int64_t dim[2] = {1, 1};
    KILN_TRY(kiln_coreml_params(k, &mode_message, &p));
    if (p.mode < -t->rank || p.mode > t->rank)
        return kiln_fail(k->cx->common.err, KILN_ERR_SHAPE,
                         "axis %" PRId64 " is outside [%d, %d]", p.mode, -t->rank,
                         t->rank);
    const int64_t axis = p.mode < 0 ? p.mode + t->rank : p.mode;
    for (int i = 0; i < t->rank; i++)
        dim[i >= axis] = kiln_coreml_mul(dim[i >= axis], t->dim[i]);
    return set(k, kiln_compose_reshape(&k->c, k->in[0], 2, dim));
}

static kiln_status reshape_nd(kiln_coreml_call *k, bool keeps) {
    list p;
    int64_t dim[KILN_MAX_RANK];
    KILN_TRY(read_list(k, &p, 1, KILN_MAX_RANK));
    KILN_TRY(resolve(k, p.v, (int)p.n_v, keeps, dim));
    return set(k, kiln_compose_reshape(&k->c, k->in[0], (int)p.n_v, dim));
}

kiln_status kiln_coreml_import_reshape_static(kiln_coreml_call *k) {
    return reshape_nd(k, false);
}

kiln_status kiln_coreml_import_rank_preserving_reshape(kiln_coreml_call *k) {
    return reshape_nd(k, true);
}

kiln_status kiln_coreml_import_reshape_like(kiln_coreml_call *k) {
    const kiln_type *const t = &k->in[1]->type;
    return set(k, kiln_compose_reshape(&k->c, k->in[0], t->rank, t->dim));
}

/* Axes of a value of `rank` axes, each once. */
static kiln_status mark_axes(kiln_coreml_call *k, const list *p, int rank,
                             bool *is_in) {
    for (size_t i = 0; i < p->n_v; i++) {
        int axis = 0;
        KILN_TRY(kiln_coreml_axis(k, p->v[i], rank, &axis));
        if (is_in[axis])
            return kiln_fail(k->cx->common.err, KILN_ERR_PARSE,
                             "axis %d is given twice", axis);
        is_in[axis] = true;
    }
    return KILN_OK;
}

kiln_status kiln_coreml_import_squeeze(kiln_coreml_call *k) {
    list p; /* mode: all axes of 1 */
    const kiln_type *const t = &k->in[0]->type;
    bool is_out[KILN_MAX_RANK] = {false};
    int64_t dim[KILN_MAX_RANK];
    int rank = 0;
    KILN_TRY(read_list(k, &p, 0, KILN_MAX_RANK));
    KILN_TRY(mark_axes(k, &p, t->rank, is_out));
    for (int i = 0; i < t->rank; i++) {
        if (is_out[i] && t->dim[i] != 1)
            return kiln_fail(k->cx->common.err, KILN_ERR_SHAPE,
                             "axis %d must be 1, is %" PRId64, i, t->dim[i]);
        if (p.mode != 0 ? t->dim[i] != 1 : !is_out[i])
            dim[rank++] = t->dim[i];
    }
    if (rank == 0) /* arrays have one axis at least */
        dim[rank++] = 1;
    return set(k, kiln_compose_reshape(&k->c, k->in[0], rank, dim));
}

kiln_status kiln_coreml_import_expand_dims(kiln_coreml_call *k) {
    list p;
    const kiln_type *const t = &k->in[0]->type;
    bool is_new[KILN_MAX_RANK] = {false};
    int64_t dim[KILN_MAX_RANK];
    KILN_TRY(read_list(k, &p, 1, (size_t)(KILN_MAX_RANK - t->rank)));
    const int rank = t->rank + (int)p.n_v;
    KILN_TRY(mark_axes(k, &p, rank, is_new));
    for (int i = 0, from = 0; i < rank; i++)
        dim[i] = is_new[i] ? 1 : t->dim[from++];
    return set(k, kiln_compose_reshape(&k->c, k->in[0], rank, dim));
}

static kiln_status turn(kiln_coreml_call *k, const list *p) {
    const int rank = k->in[0]->type.rank;
    bool is_in[KILN_MAX_RANK] = {false};
    int64_t perm[KILN_MAX_RANK];
    if (p->n_v != (size_t)rank)
        return kiln_fail(k->cx->common.err, KILN_ERR_SHAPE,
                         "it must have %d axes, has %zu", rank, p->n_v);
    KILN_TRY(mark_axes(k, p, rank, is_in));
    for (int i = 0; i < rank; i++)
        perm[i] = p->v[i] < 0 ? p->v[i] + rank : p->v[i];
    return set(k, kiln_compose_transpose(&k->c, k->in[0], perm));
}

kiln_status kiln_coreml_import_transpose(kiln_coreml_call *k) {
    list p;
    KILN_TRY(read_list(k, &p, 1, KILN_MAX_RANK));
    return turn(k, &p);
}

/* Of [Seq, C, H, W]; the batch is in the first axis, too. */
kiln_status kiln_coreml_import_permute(kiln_coreml_call *k) {
    list p;
    KILN_TRY(read_list(k, &p, 0, 4));
    return p.n_v == 0 ? set(k, k->in[0]) : turn(k, &p);
}

/* ---- parts ----------------------------------------------------------------------- */

/* Begin and end as files count them, from the end below 0. */
static kiln_value *part(kiln_coreml_call *k, kiln_value *x, int axis, int64_t begin,
                        int64_t end, int64_t step) {
    const int64_t size = x->type.dim[axis];
    if (k->c.status != KILN_OK)
        return x;
    begin = begin < 0 ? begin + size : begin;
    end = end < 0 ? end + size : end > size ? size : end;
    if (begin < 0 || begin >= end || step < 1) {
        kiln_compose_fail(&k->c, kiln_fail(k->cx->common.err, KILN_ERR_SHAPE,
                                           "elements [%" PRId64 ", %" PRId64
                                           ") in steps of %" PRId64
                                           " must be some of an axis of %" PRId64,
                                           begin, end, step, size));
        return x;
    }
    const int64_t n = (end - begin - 1) / step + 1;
    return kiln_compose_slice(&k->c, x, axis, begin, step, n);
}

typedef struct slice {
    int64_t begin, end, step, axis;
} slice;

static const kiln_pb_field slice_fields[] = {
    FIELD(1, slice, begin, KILN_PB_I64),
    FIELD(2, slice, end, KILN_PB_I64),
    FIELD(3, slice, step, KILN_PB_I64),
    FIELD(4, slice, axis, KILN_PB_I64),
};
static const kiln_pb_message slice_message =
    MESSAGE("SliceLayerParams", slice, slice_fields);

kiln_status kiln_coreml_import_slice(kiln_coreml_call *k) {
    slice p;
    KILN_TRY(kiln_coreml_params(k, &slice_message, &p));
    KILN_TRY(kiln_coreml_min_rank(k, 3));
    if (p.axis < 0 || p.axis > 2)
        return kiln_fail(k->cx->common.err, KILN_ERR_PARSE,
                         "its axis must be 0 to 2, is %" PRId64, p.axis);
    const int axis = k->in[0]->type.rank - 3 + (int)p.axis;
    return set(k, part(k, k->in[0], axis, p.begin, p.end, p.step == 0 ? 1 : p.step));
}

typedef struct slice_static {
    const int64_t *begin, *end, *step;
    const bool *from_first, *to_last, *squeeze;
    size_t n_begin, n_end, n_step, n_from_first, n_to_last, n_squeeze;
} slice_static;

static const kiln_pb_field slice_static_fields[] = {
    LIST(1, slice_static, begin, KILN_PB_I64),
    LIST(2, slice_static, from_first, KILN_PB_BOOL),
    LIST(3, slice_static, end, KILN_PB_I64),
    LIST(4, slice_static, to_last, KILN_PB_BOOL),
    LIST(5, slice_static, step, KILN_PB_I64),
    LIST(6, slice_static, squeeze, KILN_PB_BOOL),
};
static const kiln_pb_message slice_static_message =
    MESSAGE("SliceStaticLayerParams", slice_static, slice_static_fields);

kiln_status kiln_coreml_import_slice_static(kiln_coreml_call *k) {
    slice_static p;
    kiln_value *x = k->in[0];
    const size_t rank = (size_t)x->type.rank;
    KILN_TRY(kiln_coreml_params(k, &slice_static_message, &p));
    if (p.n_begin != rank || p.n_end != rank || p.n_step != rank ||
        (p.n_from_first != 0 && p.n_from_first != rank) ||
        (p.n_to_last != 0 && p.n_to_last != rank) ||
        (p.n_squeeze != 0 && p.n_squeeze != rank))
        return kiln_fail(k->cx->common.err, KILN_ERR_PARSE,
                         "its lists must have %zu numbers each", rank);
    int64_t dim[KILN_MAX_RANK];
    int n = 0;
    for (size_t i = 0; i < rank; i++) {
        const bool from_first = p.n_from_first > 0 && p.from_first[i];
        const bool to_last = p.n_to_last > 0 && p.to_last[i];
        const bool is_one = p.n_squeeze > 0 && p.squeeze[i];
        const int64_t begin = from_first ? 0 : p.begin[i];
        const int64_t end = is_one    ? (begin == -1 ? INT64_MAX : begin + 1)
                            : to_last ? INT64_MAX
                                      : p.end[i];
        x = part(k, x, (int)i, begin, end, p.step[i]);
        if (!is_one)
            dim[n++] = x->type.dim[i];
    }
    if (n == 0)
        dim[n++] = 1;
    return set(k, kiln_compose_reshape(&k->c, x, n, dim));
}

typedef struct split {
    int64_t axis, n;
    const int64_t *size;
    size_t n_size;
} split;

static const kiln_pb_field split_fields[] = {
    FIELD(1, split, axis, KILN_PB_I64),
    FIELD(2, split, n, KILN_PB_I64),
    LIST(3, split, size, KILN_PB_I64),
};
static const kiln_pb_message split_message =
    MESSAGE("SplitNDLayerParams", split, split_fields);

kiln_status kiln_coreml_import_split_nd(kiln_coreml_call *k) {
    split p;
    int axis = 0;
    KILN_TRY(kiln_coreml_params(k, &split_message, &p));
    KILN_TRY(kiln_coreml_axis(k, p.axis, k->in[0]->type.rank, &axis));
    const int64_t all = k->in[0]->type.dim[axis];
    if (p.n_size != 0 ? p.n_size != (size_t)k->n_out : all % k->n_out != 0)
        return kiln_fail(k->cx->common.err, KILN_ERR_SHAPE,
                         "an axis of %" PRId64 " cannot be cut into %d outputs by %zu "
                         "sizes",
                         all, k->n_out, p.n_size);
    int64_t begin = 0;
    for (int i = 0; i < k->n_out; i++) {
        const int64_t size = p.n_size != 0 ? p.size[i] : all / k->n_out;
        if (size < 1 || size > all - begin)
            return kiln_fail(k->cx->common.err, KILN_ERR_SHAPE,
                             "the sizes of its outputs must add up to %" PRId64, all);
        k->out[i] = kiln_compose_slice(&k->c, k->in[0], axis, begin, 1, size);
        begin += size;
    }
    return k->c.status;
}
