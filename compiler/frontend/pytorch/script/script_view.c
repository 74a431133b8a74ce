/* Views of tensors, and what is written in place.
 *
 * A Graph's values never change, so a tensor that is written into gets a new value, and
 * so does what it is a view of: the view's own value put back where it came from. Other
 * views of that are made again when they are read. */
#include "compiler/frontend/pytorch/script/script_internal.h"

#include <string.h>

/* What is a view or a copy, as the tensor lies in memory: nobody knows here. */
static const char *const unsure[] = {"contiguous", "reshape", "flatten", "reshape_as"};

bool kiln_script_is_one_of(kiln_str op, const char *const *list, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (kiln_str_is(op, list[i]))
            return true;
    return false;
}
#define IS_IN(op, list)                                                                \
    kiln_script_is_one_of((op), (list), sizeof(list) / sizeof(list)[0])

bool kiln_script_is_unsure(kiln_str op) { return IS_IN(op, unsure); }

/* ---- views ------------------------------------------------------------------------- */

/* The element that is the tensor of several that a view gives (chunk, unbind). */
static kiln_value *pick(const kiln_aten_value *out, size_t n, size_t at) {
    if (n == 1 && out[0].kind == KILN_ATEN_LIST)
        return at < out[0].n ? out[0].list[at].tensor : NULL;
    return at < n ? out[at].tensor : NULL;
}

static kiln_status renew_view(kiln_script_cx *cx, kiln_script_tensor *t) {
    kiln_aten_value out[KILN_ATEN_MAX_OUT];
    size_t n = 0;
    if (t->is_unsure)
        return kiln_script_fail(
            cx, KILN_ERR_UNSUPPORTED,
            "a tensor is read that is a view or a copy (%.*s) of one that was written "
            "in place since; write the model without operators that end in '_'",
            KILN_STR_ARG(t->op));
    KILN_ASSERT(t->n_arg > 0, "a view of nothing");
    kiln_aten_value *const arg =
        kiln_arena_dup(&cx->common.scratch, t->arg, t->n_arg * sizeof *arg);
    arg[0] = kiln_aten_of_tensor(t->base->v);
    const kiln_aten_call call = {.op = t->op,
                                 .site = kiln_script_site_of(cx, t->op),
                                 .arg = arg,
                                 .n_arg = t->n_arg};
    KILN_TRY(kiln_script_run_op(cx, &call, out, &n));
    t->v = pick(out, n, t->at);
    KILN_ASSERT(t->v != NULL, "a view that is none when it is made again");
    t->base_version = t->base->version;
    t->version++;
    return KILN_OK;
}

kiln_status kiln_script_read_tensor(kiln_script_cx *cx, kiln_script_tensor *t,
                                    kiln_value **out) {
    if (t->base != NULL) {
        kiln_value *ignored;
        KILN_TRY(kiln_script_read_tensor(cx, t->base, &ignored));
        if (t->base->version != t->base_version)
            KILN_TRY(renew_view(cx, t));
    }
    if (t->is_stale)
        return kiln_script_fail(
            cx, KILN_ERR_UNSUPPORTED,
            "a tensor is read of which a view was written in place; "
            "write the model without operators that end in '_'");
    *out = t->v;
    return KILN_OK;
}

/* The base with elements [start, start + size) of an axis replaced. */
static kiln_value *put_slice(kiln_compose *c, kiln_value *base, kiln_value *part,
                             int axis, int64_t start) {
    kiln_value *in[3];
    const int64_t size = part->type.dim[axis], whole = base->type.dim[axis];
    KILN_ASSERT(start >= 0 && start + size <= whole, "a part from %lld of %lld",
                (long long)start, (long long)whole);
    int n = 0;
    if (start > 0)
        in[n++] = kiln_compose_slice(c, base, axis, 0, 1, start);
    in[n++] = part;
    if (start + size < whole)
        in[n++] =
            kiln_compose_slice(c, base, axis, start + size, 1, whole - start - size);
    const kiln_attr_arg args[] = {kiln_arg_int("axis", axis)};
    return n == 1 ? part : kiln_compose_op(c, &kiln_op_concat, in, n, args, 1);
}

static bool small_int(const kiln_script_tensor *t, size_t i, int64_t otherwise,
                      int64_t *out) {
    *out = otherwise;
    if (i >= t->n_arg || t->arg[i].kind == KILN_ATEN_NONE)
        return true;
    *out = t->arg[i].i;
    return t->arg[i].kind == KILN_ATEN_INT;
}

/* Where part number t->at of those that split, chunk and unbind give begins. */
static bool find_part(const kiln_script_tensor *t, int64_t dim, int64_t *start) {
    const bool is_list = t->n_arg > 1 && t->arg[1].kind == KILN_ATEN_LIST;
    int64_t n = 1;
    *start = 0;
    if (is_list) {
        for (size_t i = 0; i < t->at && i < t->arg[1].n; i++)
            *start += t->arg[1].list[i].i;
        return true;
    }
    if (!kiln_str_is(t->op, "unbind") && (!small_int(t, 1, 1, &n) || n < 1))
        return false;
    *start = (int64_t)t->at * (kiln_str_is(t->op, "chunk") ? (dim + n - 1) / n : n);
    return true;
}

/* Of select, slice, narrow, split, chunk and unbind: where in the base the view lies. */
static kiln_value *put_part(kiln_compose *c, const kiln_script_tensor *t,
                            kiln_value *v) {
    static const char *const several[] = {"split", "split_with_sizes", "chunk",
                                          "unbind"};
    kiln_value *const base = t->base->v;
    const int rank = base->type.rank;
    const bool is_several = IS_IN(t->op, several);
    const bool is_unbind = kiln_str_is(t->op, "unbind");
    int64_t axis, start = 0, step = 1;
    if (!small_int(t, is_several && !is_unbind ? 2 : 1, 0, &axis) ||
        (!is_several && !small_int(t, 2, 0, &start)) ||
        (kiln_str_is(t->op, "slice") && !small_int(t, 4, 1, &step)) || step != 1)
        return NULL;
    axis += axis < 0 ? rank : 0;
    if (axis < 0 || axis >= rank)
        return NULL;
    const int64_t dim = base->type.dim[axis];
    if (is_several && !find_part(t, dim, &start))
        return NULL;
    start += start < 0 ? dim : 0;
    start = start < 0 ? 0 : start;
    if (is_unbind || kiln_str_is(t->op, "select")) {
        int64_t shape[KILN_MAX_RANK];
        memcpy(shape, base->type.dim, sizeof shape);
        shape[axis] = 1;
        v = kiln_compose_reshape(c, v, rank, shape);
    }
    if (v->type.rank != rank || start > dim - v->type.dim[axis])
        return NULL;
    return put_slice(c, base, v, (int)axis, start);
}

/* The axes of a transpose, swapaxes, t or permute turned back. */
static kiln_value *turn_back(kiln_compose *c, const kiln_script_tensor *t,
                             kiln_value *v) {
    const int rank = t->base->v->type.rank;
    int64_t perm[KILN_MAX_RANK], x = 0, y = 1;
    for (int i = 0; i < KILN_MAX_RANK; i++)
        perm[i] = i;
    if (kiln_str_is(t->op, "permute")) {
        if (t->n_arg < 2 || t->arg[1].kind != KILN_ATEN_LIST ||
            t->arg[1].n != (size_t)rank)
            return NULL;
        for (int i = 0; i < rank; i++) {
            if (t->arg[1].list[i].kind != KILN_ATEN_INT)
                return NULL;
            const int64_t from = t->arg[1].list[i].i;
            perm[from + (from < 0 ? rank : 0)] = i; /* it was a permutation once */
        }
        return kiln_compose_transpose(c, v, perm);
    }
    if (!kiln_str_is(t->op, "t") &&
        (!small_int(t, 1, 0, &x) || !small_int(t, 2, 1, &y)))
        return NULL;
    x += x < 0 ? rank : 0;
    y += y < 0 ? rank : 0;
    if (x < 0 || y < 0 || x >= rank || y >= rank)
        return NULL;
    perm[x] = y;
    perm[y] = x;
    return kiln_compose_transpose(c, v, perm);
}

/* What the base is once its view t has become v; NULL: nobody can say. */
static kiln_value *put_back(kiln_compose *c, const kiln_script_tensor *t,
                            kiln_value *v) {
    static const char *const same_order[] = {"view", "unsqueeze", "squeeze",
                                             "unflatten", "view_as"};
    static const char *const parts[] = {"select",           "slice", "narrow", "split",
                                        "split_with_sizes", "chunk", "unbind"};
    static const char *const turns[] = {"transpose", "swapaxes", "t", "permute"};
    const kiln_type *const type = &t->base->v->type;
    if (IS_IN(t->op, same_order))
        return kiln_compose_reshape(c, v, type->rank, type->dim);
    if (IS_IN(t->op, parts))
        return put_part(c, t, v);
    return IS_IN(t->op, turns) ? turn_back(c, t, v) : NULL;
}

/* Of a tensor and all that it is a view of, nobody knows the elements any more. */
static void forget(kiln_script_tensor *t) {
    for (; t != NULL; t = t->base) {
        t->is_stale = true;
        t->version++;
    }
}

kiln_status kiln_script_write_tensor(kiln_script_cx *cx, kiln_script_tensor *t,
                                     kiln_value *v) {
    kiln_compose c = {.cx = &cx->common,
                      .site = kiln_script_site_of(cx, KILN_STR_LIT("write"))};
    while (t->base != NULL) {
        kiln_value *const base = t->is_unsure ? NULL : put_back(&c, t, v);
        KILN_TRY(c.status);
        t->v = v;
        t->version++;
        if (base == NULL) { /* it goes on alone */
            forget(t->base);
            t->base = NULL;
            return KILN_OK;
        }
        t->base_version = t->base->version + 1;
        t = t->base;
        v = base;
    }
    t->v = v;
    t->version++;
    return KILN_OK;
}

kiln_script_value kiln_script_mark_view(kiln_script_tensor *base,
                                        const kiln_aten_call *call, size_t at,
                                        kiln_script_value v) {
    kiln_script_tensor *const t = v.tensor;
    if (v.kind != KILN_SCRIPT_V_TENSOR)
        return v;
    t->base = base;
    t->base_version = base->version;
    t->n_views = base->n_views + 1;
    t->op = call->op;
    t->arg = call->arg;
    t->n_arg = call->n_arg;
    t->at = at;
    t->is_unsure = kiln_script_is_unsure(call->op) || call->n_keyword > 0;
    return v;
}
