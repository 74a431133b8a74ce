/* An operator's description as JSON, in both directions. */
#include "pipeline/baselines/library/library.h"

#include <math.h>
#include <string.h>

static const char *const kinds[] = {[KILN_LIBRARY_CONV] = "conv",
                                    [KILN_LIBRARY_MATMUL] = "matmul",
                                    [KILN_LIBRARY_MAX_POOL] = "max_pool",
                                    [KILN_LIBRARY_AVG_POOL] = "avg_pool",
                                    [KILN_LIBRARY_SOFTMAX] = "softmax"};
_Static_assert(sizeof kinds / sizeof kinds[0] == KILN_N_LIBRARY_KINDS, "one each");

static const char *const tails[] = {[KILN_LIBRARY_BIAS] = "bias",
                                    [KILN_LIBRARY_ADD] = "add",
                                    [KILN_LIBRARY_RELU] = "relu",
                                    [KILN_LIBRARY_CLIP] = "clip",
                                    [KILN_LIBRARY_LEAKY_RELU] = "leaky_relu",
                                    [KILN_LIBRARY_ELU] = "elu",
                                    [KILN_LIBRARY_SIGMOID] = "sigmoid",
                                    [KILN_LIBRARY_TANH] = "tanh",
                                    [KILN_LIBRARY_GELU] = "gelu",
                                    [KILN_LIBRARY_GELU_TANH] = "gelu_tanh",
                                    [KILN_LIBRARY_SWISH] = "swish",
                                    [KILN_LIBRARY_HARD_SWISH] = "hard_swish"};
_Static_assert(sizeof tails / sizeof tails[0] == KILN_N_LIBRARY_TAILS, "one each");

const char *kiln_library_kind_name(kiln_library_kind k) {
    KILN_ASSERT((size_t)k < sizeof kinds / sizeof kinds[0], "no kind %d of operators",
                (int)k);
    return kinds[k];
}

const char *kiln_library_tail_name(kiln_library_tail_kind k) {
    KILN_ASSERT((size_t)k < KILN_N_LIBRARY_TAILS, "no kind %d of tails", (int)k);
    return tails[k];
}

/* ---- writing --------------------------------------------------------------------- */

static void put_row(kiln_json_writer *w, const char *name, const int64_t *v, int n) {
    kiln_json_name(w, name);
    kiln_json_begin_row(w);
    for (int i = 0; i < n; i++)
        kiln_json_put_i64(w, v[i]);
    kiln_json_end_array(w);
}

static void put_tensors(kiln_json_writer *w, const kiln_library_op *op) {
    kiln_json_name(w, "tensors");
    kiln_json_begin_array(w);
    for (int i = 0; i < op->n_in; i++) {
        const kiln_library_tensor *t = &op->in[i];
        kiln_json_begin_object(w);
        kiln_json_member_str(w, "name", t->name);
        put_row(w, "dims", t->value.type.dim, t->value.type.rank);
        kiln_json_member_bool(w, "is_constant", t->is_constant);
        kiln_json_end_object(w);
    }
    kiln_json_end_array(w);
}

/* Infinite bounds become null: JSON has no other word for them. */
static void put_tails(kiln_json_writer *w, const kiln_library_op *op) {
    kiln_json_name(w, "tails");
    kiln_json_begin_array(w);
    for (int i = 0; i < op->n_tails; i++) {
        const kiln_library_tail *t = &op->tail[i];
        kiln_json_begin_object(w);
        kiln_json_member_str(w, "kind", tails[t->kind]);
        kiln_json_member_i64(w, "tensor", t->tensor);
        kiln_json_member_f64(w, "alpha", t->alpha);
        kiln_json_member_f64(w, "beta", t->beta);
        kiln_json_end_object(w);
    }
    kiln_json_end_array(w);
}

void kiln_library_op_put(kiln_json_writer *w, const kiln_library_op *op) {
    kiln_json_begin_object(w);
    kiln_json_member_str(w, "kind", kinds[op->kind]);
    kiln_json_member_str(w, "type", kiln_dtype_name(op->out.dtype));
    put_row(w, "kernel", op->kernel, 2);
    put_row(w, "strides", op->stride, 2);
    put_row(w, "dilations", op->dilation, 2);
    put_row(w, "pads_begin", op->pad_begin, 2);
    put_row(w, "pads_end", op->pad_end, 2);
    kiln_json_member_i64(w, "groups", op->groups);
    kiln_json_member_bool(w, "counts_padding", op->counts_padding);
    kiln_json_member_bool(w, "trans_a", op->trans_a);
    kiln_json_member_bool(w, "trans_b", op->trans_b);
    kiln_json_member_i64(w, "axis", op->axis);
    kiln_json_member_i64(w, "operands", op->n_operands);
    put_tensors(w, op);
    put_tails(w, op);
    put_row(w, "output", op->out.dim, op->out.rank);
    kiln_json_end_object(w);
}

/* ---- reading --------------------------------------------------------------------- */

static kiln_status refuse(kiln_err *err, const char *member) {
    return kiln_fail(err, KILN_ERR_PARSE,
                     "the operator's '%s' is not there, or not what it must be",
                     member);
}

static kiln_status get_word(const kiln_json *object, const char *member,
                            const char *const *words, int n, int *out, kiln_err *err) {
    const char *word = kiln_json_string(kiln_json_get(object, member), "");
    for (int i = 0; i < n; i++)
        if (strcmp(words[i], word) == 0) {
            *out = i;
            return KILN_OK;
        }
    return refuse(err, member);
}

static kiln_status get_int(const kiln_json *object, const char *member, int64_t low,
                           int64_t high, int *out, kiln_err *err) {
    int64_t v;
    if (!kiln_json_i64(kiln_json_get(object, member), &v) || v < low || v > high)
        return refuse(err, member);
    *out = (int)v;
    return KILN_OK;
}

static kiln_status get_row(const kiln_json *object, const char *member, int64_t *v,
                           kiln_err *err) {
    const kiln_json *row = kiln_json_get(object, member);
    for (size_t i = 0; i < 2; i++)
        if (kiln_json_size(row) != 2 || !kiln_json_i64(kiln_json_at(row, i), &v[i]) ||
            v[i] < 0)
            return refuse(err, member);
    return KILN_OK;
}

static kiln_status get_type(const kiln_json *row, const char *member, kiln_dtype of,
                            kiln_type *out, kiln_err *err) {
    const size_t rank = kiln_json_size(row);
    int64_t dim[KILN_MAX_RANK];
    if (!kiln_json_is_array(row) || rank > KILN_MAX_RANK)
        return refuse(err, member);
    for (size_t i = 0; i < rank; i++)
        if (!kiln_json_i64(kiln_json_at(row, i), &dim[i]))
            return refuse(err, member);
    *out = kiln_type_make(of, (int)rank, dim);
    return kiln_type_check(out, err);
}

/* Of all its tensors; f32 where it is not said. */
static kiln_status get_element(const kiln_json *object, kiln_dtype *out,
                               kiln_err *err) {
    const char *name = kiln_json_string(kiln_json_get(object, "type"), "f32");
    *out = strcmp(name, "f16") == 0 ? KILN_F16 : KILN_F32;
    return *out == KILN_F16 || strcmp(name, "f32") == 0 ? KILN_OK : refuse(err, "type");
}

static kiln_status get_tensors(kiln_arena *a, const kiln_json *object, kiln_dtype of,
                               kiln_library_op *out, kiln_err *err) {
    const kiln_json *list = kiln_json_get(object, "tensors");
    if (kiln_json_size(list) > KILN_LIBRARY_MAX_IN)
        return refuse(err, "tensors");
    for (const kiln_json *t = kiln_json_first(list); t != NULL; t = kiln_json_next(t)) {
        kiln_library_tensor *to = &out->in[out->n_in++];
        to->name = kiln_str_dup(a, kiln_json_string(kiln_json_get(t, "name"), ""));
        to->is_constant = kiln_json_bool(kiln_json_get(t, "is_constant"), false);
        KILN_TRY(get_type(kiln_json_get(t, "dims"), "dims", of, &to->value.type, err));
    }
    return get_int(object, "operands", 1, out->n_in, &out->n_operands, err);
}

static kiln_status get_tails(const kiln_json *object, kiln_library_op *out,
                             kiln_err *err) {
    const kiln_json *list = kiln_json_get(object, "tails");
    if (kiln_json_size(list) > KILN_LIBRARY_MAX_TAILS)
        return refuse(err, "tails");
    for (const kiln_json *t = kiln_json_first(list); t != NULL; t = kiln_json_next(t)) {
        kiln_library_tail *to = &out->tail[out->n_tails++];
        int kind;
        KILN_TRY(get_word(t, "kind", tails, KILN_N_LIBRARY_TAILS, &kind, err));
        to->kind = (kiln_library_tail_kind)kind;
        const bool reads = kind == KILN_LIBRARY_BIAS || kind == KILN_LIBRARY_ADD;
        KILN_TRY(get_int(t, "tensor", reads ? out->n_operands : -1,
                         reads ? out->n_in - 1 : -1, &to->tensor, err));
        to->alpha = kiln_json_number(kiln_json_get(t, "alpha"), -HUGE_VAL);
        to->beta = kiln_json_number(kiln_json_get(t, "beta"), HUGE_VAL);
    }
    return KILN_OK;
}

kiln_status kiln_library_op_get(kiln_arena *a, const kiln_json *object,
                                kiln_library_op *out, kiln_err *err) {
    kiln_library_op op = {.n_in = 0};
    int kind, groups;
    kiln_dtype of;
    KILN_TRY(get_word(object, "kind", kinds, KILN_N_LIBRARY_KINDS, &kind, err));
    op.kind = (kiln_library_kind)kind;
    KILN_TRY(get_row(object, "kernel", op.kernel, err));
    KILN_TRY(get_row(object, "strides", op.stride, err));
    KILN_TRY(get_row(object, "dilations", op.dilation, err));
    KILN_TRY(get_row(object, "pads_begin", op.pad_begin, err));
    KILN_TRY(get_row(object, "pads_end", op.pad_end, err));
    KILN_TRY(get_int(object, "groups", 1, 1 << 24, &groups, err));
    op.groups = groups;
    op.counts_padding = kiln_json_bool(kiln_json_get(object, "counts_padding"), false);
    op.trans_a = kiln_json_bool(kiln_json_get(object, "trans_a"), false);
    op.trans_b = kiln_json_bool(kiln_json_get(object, "trans_b"), false);
    KILN_TRY(get_int(object, "axis", 0, KILN_MAX_RANK, &op.axis, err));
    KILN_TRY(get_element(object, &of, err));
    KILN_TRY(get_tensors(a, object, of, &op, err));
    KILN_TRY(get_tails(object, &op, err));
    KILN_TRY(get_type(kiln_json_get(object, "output"), "output", of, &op.out, err));
    *out = op;
    return KILN_OK;
}
