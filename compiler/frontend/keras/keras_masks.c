/* Masks: which steps of a sequence [N, T, ...] count, bool[N, T]. Layers hand them on beside
 * their values; Keras 3 also writes them down where a call needs one.
 *
 * A recurrent layer keeps its state over steps that do not count: as if they were not
 * there. So those that count go in front, in their order, with their number as the
 * sequence's length, and results go back to where they belong. Source: keras.layers,
 * Masking, RNN; keras.backend.rnn. */
#include "compiler/frontend/keras/keras_internal.h"

#include <string.h>

/* ---- beside values ----------------------------------------------------------------- */

kiln_value *kiln_keras_mask_of(const kiln_keras_cx *cx, const kiln_value *v) {
    for (size_t i = cx->masked.n; i > 0; i--)
        if (cx->masked.v[i - 1].value == v)
            return cx->masked.v[i - 1].mask;
    return NULL;
}

kiln_status kiln_keras_set_mask(kiln_keras_call *k, const kiln_value *v,
                                kiln_value *mask) {
    const kiln_type *const t = &v->type, *const m = &mask->type;
    const kiln_keras_masked one = {v, mask};
    KILN_TRY(k->c.status);
    if (m->rank != 2 || t->rank < 2 || m->dim[0] != t->dim[0] || m->dim[1] != t->dim[1])
        return kiln_fail(k->cx->common.err, KILN_ERR_UNSUPPORTED,
                         "a mask must be [N, T] for values [N, T, ...], is %s for %s",
                         kiln_type_text(&k->cx->common.scratch, m),
                         kiln_type_text(&k->cx->common.scratch, t));
    kiln_vec_push(&k->cx->common.scratch, &k->cx->masked, one);
    return KILN_OK;
}

void kiln_keras_forget_mask(kiln_keras_cx *cx, const kiln_value *v) {
    size_t n = 0;
    for (size_t i = 0; i < cx->masked.n; i++)
        if (cx->masked.v[i].value != v)
            cx->masked.v[n++] = cx->masked.v[i];
    cx->masked.n = n;
}

/* Of several values each must have one; Keras 3 takes what counts in any of them, those
 * before it what counts in all. */
static kiln_status carry(kiln_keras_call *k) {
    const kiln_op_def *const op =
        k->cx->file.major >= 3 ? &kiln_op_logical_or : &kiln_op_logical_and;
    kiln_value *mask = kiln_keras_mask_of(k->cx, k->in[0]);
    for (int i = 1; i < k->n_in && mask != NULL; i++) {
        kiln_value *const other = kiln_keras_mask_of(k->cx, k->in[i]);
        if (other == NULL)
            return KILN_OK;
        if (other != mask)
            mask = kiln_compose_2(&k->c, op, mask, other);
    }
    return mask == NULL ? KILN_OK : kiln_keras_set_mask(k, k->out, mask);
}

/* Steps one behind the other: those of a value without a mask count. */
static kiln_value *append_masks(kiln_keras_call *k) {
    kiln_value *const yes = kiln_import_scalar(&k->cx->common, KILN_BOOL, 1);
    kiln_value *part[KILN_KERAS_MAX_INPUTS];
    for (int i = 0; i < k->n_in; i++) {
        part[i] = kiln_keras_mask_of(k->cx, k->in[i]);
        if (part[i] == NULL)
            part[i] = kiln_compose_expand(&k->c, yes, 2, k->in[i]->type.dim);
    }
    const kiln_attr_arg arg = kiln_arg_int("axis", 1);
    return kiln_compose_op(&k->c, &kiln_op_concat, part, k->n_in, &arg, 1);
}

/* Along the channels a step counts where any of its channels does (Keras 3.4 on; those of a
 * value without a mask do), or all of them. */
kiln_status kiln_keras_join_masks(kiln_keras_call *k, int axis) {
    const bool is_any = kiln_keras_is_since(&k->cx->file, 3, 4);
    kiln_value *mask = NULL;
    bool has_all = true, has_rank = true;
    for (int i = 0; i < k->n_in; i++) {
        kiln_value *const own = kiln_keras_mask_of(k->cx, k->in[i]);
        has_all = has_all && own != NULL;
        has_rank = has_rank && k->in[i]->type.rank == 3;
        if (own != NULL && mask != NULL && mask != own && axis == 2)
            mask = kiln_compose_2(
                &k->c, is_any ? &kiln_op_logical_or : &kiln_op_logical_and, mask, own);
        else if (own != NULL)
            mask = own;
    }
    if (mask == NULL)
        return KILN_OK;
    k->looks_at_masks = true;
    if (!has_rank || axis == 0)
        return kiln_fail(k->cx->common.err, KILN_ERR_UNSUPPORTED,
                         "with masks it joins values [N, T, C] along T or C");
    if (axis == 2 && is_any && !has_all)
        return KILN_OK;
    return kiln_keras_set_mask(k, k->out, axis == 1 ? append_masks(k) : mask);
}

/* A value of its own, where the layer gives one of those that it was given. */
static kiln_status drop(kiln_keras_call *k) {
    if (kiln_keras_mask_of(k->cx, k->out) != NULL)
        k->out = kiln_compose_1(&k->c, &kiln_op_identity, k->out);
    return k->c.status;
}

kiln_status kiln_keras_hand_on_masks(kiln_keras_call *k) {
    static const struct {
        const char *class_name;
        bool has_it;
    } rows[] = {
#define KILN_KERAS_MASKS(class_name, has_it) {class_name, has_it},
#include "compiler/frontend/keras/keras_masks.def"
#undef KILN_KERAS_MASKS
    };
    bool is_masked = false;
    for (int i = 0; i < k->n_in; i++)
        is_masked = is_masked || kiln_keras_mask_of(k->cx, k->in[i]) != NULL;
    if (!is_masked || k->looks_at_masks || k->layer->is_function)
        return KILN_OK;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(k->layer->class_name, rows[i].class_name) == 0)
            return rows[i].has_it ? carry(k) : drop(k);
    return kiln_fail(k->cx->common.err, KILN_ERR_UNSUPPORTED,
                     "with masks (of Masking, or an Embedding's mask_zero) it is not "
                     "read");
}

kiln_status kiln_keras_read_mask(kiln_keras_call *k, kiln_value **out) {
    kiln_value *const given = kiln_keras_operand(k, "mask", SIZE_MAX);
    const kiln_type *const x = &k->in[0]->type;
    k->looks_at_masks = true;
    if (k->n_in != 1 + (given != NULL))
        return kiln_fail(k->cx->common.err, KILN_ERR_UNSUPPORTED,
                         "it is called with %d values, of which one, and a mask, are "
                         "read; states that a model gives it are not",
                         k->n_in);
    *out = given != NULL ? given : kiln_keras_mask_of(k->cx, k->in[0]);
    if (*out == NULL)
        return KILN_OK;
    KILN_TRY(kiln_keras_check_shape(k, *out, "mask", 2, x->dim));
    *out = kiln_compose_cast(&k->c, *out, KILN_BOOL);
    return k->c.status;
}

/* ---- layers that make them --------------------------------------------------------- */

kiln_status kiln_keras_import_masking(kiln_keras_call *k) {
    kiln_compose *const c = &k->c;
    kiln_value *const x = k->in[0];
    const double value = kiln_keras_number(k, "mask_value", 0);
    k->looks_at_masks = true;
    KILN_TRY(kiln_keras_min_rank(k, 3));
    const int64_t rank = x->type.rank, last = rank - 1;
    if (rank != 3)
        return kiln_fail(k->cx->common.err, KILN_ERR_UNSUPPORTED,
                         "its values must be [N, T, C], are %s",
                         kiln_type_text(&k->cx->common.scratch, &x->type));
    kiln_value *other = kiln_compose_scalar(c, &kiln_op_equal, x, value);
    other = kiln_compose_1(c, &kiln_op_logical_not, other);
    other = kiln_compose_cast(c, other, x->type.dtype);
    kiln_value *const any =
        kiln_compose_reduce(c, &kiln_op_reduce_max, other, &last, 1, true);
    k->out = kiln_compose_2(c, &kiln_op_mul, x, any);
    return kiln_keras_set_mask(
        k, k->out,
        kiln_compose_cast(c, kiln_compose_reshape(c, any, 2, x->type.dim), KILN_BOOL));
}

/* ---- steps that count ---------------------------------------------------------------- */

/* Rows `at` (i64 [N, T]) of each batch of x [N, T, C]. */
static kiln_value *pick(kiln_keras_call *k, kiln_value *x, kiln_value *at) {
    kiln_compose *const c = &k->c;
    const int64_t *const d = x->type.dim;
    const int64_t flat[] = {d[0] * d[1], d[2]}, column[] = {d[0], 1};
    kiln_value *first = kiln_compose_iota(c, d[0]);
    first = kiln_compose_scalar(c, &kiln_op_mul, first, (double)d[1]);
    at = kiln_compose_2(c, &kiln_op_add, at, kiln_compose_reshape(c, first, 2, column));
    return kiln_compose_axis(c, &kiln_op_gather, kiln_compose_reshape(c, x, 2, flat),
                             at, 0);
}

kiln_status kiln_keras_count_steps(kiln_keras_call *k, kiln_value *mask,
                                   kiln_keras_steps *out) {
    kiln_compose *const c = &k->c;
    const int64_t *const d = mask->type.dim, axis = 1;
    kiln_value *const at = kiln_compose_expand(c, kiln_compose_iota(c, d[1]), 2, d);
    out->mask = mask;
    out->one = kiln_compose_cast(c, mask, KILN_I64);
    out->through = kiln_compose_axis(c, &kiln_op_cumsum, out->one, NULL, 1);
    out->count = kiln_compose_reduce(c, &kiln_op_reduce_sum, out->one, &axis, 1, true);
    /* Where each goes: those that count behind those before them, the others behind all
     * of these. */
    kiln_value *const front = kiln_compose_scalar(c, &kiln_op_sub, out->through, 1);
    kiln_value *const behind = kiln_compose_2(
        c, &kiln_op_sub, kiln_compose_2(c, &kiln_op_add, at, out->count), out->through);
    kiln_value *const to = kiln_compose_where(c, mask, front, behind);
    kiln_value *const in[] = {at, to, at};
    const kiln_attr_arg arg = kiln_arg_int("axis", 1);
    out->order = kiln_compose_op(c, &kiln_op_scatter_elements, in, 3, &arg, 1);
    out->lengths = kiln_compose_cast(
        c, kiln_compose_reshape(c, out->count, 1, mask->type.dim), KILN_I32);
    return c->status;
}

kiln_value *kiln_keras_pack(kiln_keras_call *k, const kiln_keras_steps *s,
                            kiln_value *x) {
    return pick(k, x, s->order);
}

kiln_value *kiln_keras_unpack(kiln_keras_call *k, const kiln_keras_steps *s,
                              kiln_value *y, bool is_reverse, bool has_zeros) {
    kiln_compose *const c = &k->c;
    const int64_t dim[] = {s->mask->type.dim[0], s->mask->type.dim[1], 1};
    kiln_value *const before = kiln_compose_2(c, &kiln_op_sub, s->through, s->one);
    kiln_value *at = before, *seen;
    if (is_reverse) {
        seen = kiln_compose_2(c, &kiln_op_sub, s->count, before);
    } else {
        at = kiln_compose_scalar(c, &kiln_op_sub, s->through, 1);
        at = kiln_compose_scalar(c, &kiln_op_max, at, 0);
        seen = s->through;
    }
    kiln_value *const has =
        has_zeros ? s->mask : kiln_compose_scalar(c, &kiln_op_greater, seen, 0);
    kiln_value *const zero = kiln_import_scalar(c->cx, y->type.dtype, 0);
    return kiln_compose_where(c, kiln_compose_reshape(c, has, 3, dim), pick(k, y, at),
                              zero);
}
