/* Primitives on where a stage is computed and in which memory. */
#include "compiler/schedule/schedule_internal.h"

#include <inttypes.h>

static kiln_status check_not_output(const kiln_stage *st, const char *what,
                                    kiln_err *err) {
    if (!st->is_output)
        return KILN_OK;
    return kiln_fail(err, KILN_ERR_ARG,
                     "%s: stage '%s' is an output and must be complete at root", what,
                     st->te->name);
}

/* Everyone who reads the stage must be `consumer` or be computed inside it. */
static kiln_status check_readers(const kiln_stage *st, const kiln_stage *consumer,
                                 kiln_err *err) {
    const kiln_schedule *s = st->schedule;
    bool is_read = false;
    for (size_t i = 0; i < s->stage.n; i++) {
        const kiln_stage *reader = s->stage.v[i];
        if (!kiln_te_reads(reader->te, st->origin))
            continue;
        is_read = true;
        const kiln_stage *at = reader;
        while (at != consumer && at->attach == KILN_ATTACH_AT)
            at = at->at_stage;
        /* An inline reader shows up in its own readers; lowering looks at those. */
        if (at != consumer && at->attach != KILN_ATTACH_INLINE)
            return kiln_fail(
                err, KILN_ERR_ARG,
                "compute_at: '%s' is also read by '%s', which is computed outside "
                "'%s'",
                st->te->name, reader->te->name, consumer->te->name);
    }
    if (!is_read)
        return kiln_fail(err, KILN_ERR_ARG, "compute_at: nothing reads '%s'",
                         st->te->name);
    return KILN_OK;
}

kiln_status kiln_compute_at(kiln_stage *st, kiln_stage *consumer, kiln_iter *x,
                            kiln_err *err) {
    KILN_ASSERT(st->schedule == consumer->schedule,
                "'%s' and '%s' are of two schedules", st->te->name, consumer->te->name);
    size_t at = 0;
    KILN_TRY(check_not_output(st, "compute_at", err));
    if (st->te->kind == KILN_TE_EXTERN)
        return kiln_fail(
            err, KILN_ERR_ARG,
            "compute_at: extern stage '%s' computes all of itself at once; "
            "leave it at root",
            st->te->name);
    KILN_TRY(kiln_check_leaf(consumer, x, "compute_at", &at, err));
    if (kiln_stage_position(consumer) <= kiln_stage_position(st))
        return kiln_fail(err, KILN_ERR_ARG, "compute_at: '%s' does not come after '%s'",
                         consumer->te->name, st->te->name);
    for (size_t i = 0; i <= at; i++)
        if (consumer->leaf.v[i]->loop == KILN_LOOP_VECTORIZED)
            return kiln_fail(
                err, KILN_ERR_ARG,
                "compute_at: '%s' would lie inside the vectorised loop '%s' of '%s'",
                st->te->name, consumer->leaf.v[i]->name, consumer->te->name);
    KILN_TRY(check_readers(st, consumer, err));
    st->attach = KILN_ATTACH_AT;
    st->at_stage = consumer;
    st->at_iter = x;
    return KILN_OK;
}

kiln_status kiln_compute_inline(kiln_stage *st, kiln_err *err) {
    KILN_TRY(check_not_output(st, "compute_inline", err));
    if (!kiln_te_is_injective(st->te))
        return kiln_fail(
            err, KILN_ERR_ARG,
            "compute_inline: stage '%s' is no injective compute: its value would be "
            "computed again for every read",
            st->te->name);
    for (size_t i = 0; i < st->schedule->stage.n; i++) {
        const kiln_stage *other = st->schedule->stage.v[i];
        if (other->te->kind == KILN_TE_EXTERN && kiln_te_reads(other->te, st->origin))
            return kiln_fail(err, KILN_ERR_ARG,
                             "compute_inline: extern stage '%s' reads '%s' from memory",
                             other->te->name, st->te->name);
        if (other->attach == KILN_ATTACH_AT && other->at_stage == st)
            return kiln_fail(err, KILN_ERR_ARG,
                             "compute_inline: stage '%s' is computed inside '%s'",
                             other->te->name, st->te->name);
    }
    st->attach = KILN_ATTACH_INLINE;
    st->at_stage = NULL;
    st->at_iter = NULL;
    return KILN_OK;
}

kiln_status kiln_compute_root(kiln_stage *st, kiln_err *err) {
    (void)err;
    st->attach = KILN_ATTACH_ROOT;
    st->at_stage = NULL;
    st->at_iter = NULL;
    return KILN_OK;
}

kiln_status kiln_set_scope(kiln_stage *st, kiln_scope scope, kiln_err *err) {
    KILN_ASSERT(scope != KILN_SCOPE_DEVICE,
                "stage '%s' in device memory, which only hosts name", st->te->name);
    if (scope != KILN_SCOPE_GLOBAL)
        KILN_TRY(check_not_output(st, "set_scope", err));
    st->scope = scope;
    return KILN_OK;
}

kiln_status kiln_storage_align(kiln_stage *st, int axis, int32_t factor, int32_t offset,
                               kiln_err *err) {
    KILN_TRY(check_not_output(st, "storage_align", err));
    if (axis < 0 || axis >= st->te->rank)
        return kiln_fail(err, KILN_ERR_ARG, "storage_align: stage '%s' has no axis %d",
                         st->te->name, axis);
    if (factor < 1 || offset < 0 || offset >= factor)
        return kiln_fail(
            err, KILN_ERR_ARG,
            "storage_align: axis %d of stage '%s' needs factor >= 1 and 0 <= offset < "
            "factor, is %" PRId32 ", %" PRId32,
            axis, st->te->name, factor, offset);
    st->align[axis] = (kiln_dim_align){factor, offset};
    return KILN_OK;
}

kiln_status kiln_double_buffer(kiln_stage *st, kiln_err *err) {
    KILN_TRY(check_not_output(st, "double_buffer", err));
    st->double_buffer = true;
    return KILN_OK;
}

kiln_status kiln_fill_ahead(kiln_stage *st, int ahead, bool is_async, kiln_err *err) {
    enum { MAX_AHEAD = 7 };
    if (ahead < 1 || ahead > MAX_AHEAD)
        return kiln_fail(
            err, KILN_ERR_ARG,
            "fill_ahead: stage '%s' may be 1 to %d iterations ahead, not %d",
            st->te->name, MAX_AHEAD, ahead);
    if (is_async && st->scope != KILN_SCOPE_SHARED)
        return kiln_fail(err, KILN_ERR_ARG,
                         "fill_ahead: stage '%s' must be in shared memory, which "
                         "barriers wait for",
                         st->te->name);
    KILN_TRY(kiln_double_buffer(st, err));
    st->copies = ahead + 1;
    st->is_async = is_async;
    return KILN_OK;
}

kiln_status kiln_fill_for_products(kiln_stage *st, int ahead, int behind,
                                   kiln_err *err) {
    KILN_ASSERT(behind == 0 || behind == 1, "products go on for %d iterations", behind);
    KILN_TRY(kiln_fill_ahead(st, ahead, true, err));
    st->copies += behind;
    st->multiplies = true;
    st->behind = behind;
    return KILN_OK;
}

/* ---- copies ---------------------------------------------------------------------- */

/* out[axes] = in[axes], over `out`'s fresh axes. */
static kiln_status copy_body(kiln_arena *a, kiln_te *out, const kiln_te *in,
                             kiln_err *err) {
    const kiln_expr *index[KILN_MAX_AXES];
    const kiln_expr *body[KILN_MAX_TE_OUTS];
    for (int i = 0; i < out->rank; i++)
        index[i] = kiln_te_var(out, i);
    for (int k = 0; k < in->n_out; k++)
        body[k] = kiln_x_read(a, in, k, index, in->rank);
    return kiln_te_end(out, in->n_out, body, err);
}

static kiln_te *begin_like(kiln_arena *a, const kiln_te *te, const char *name) {
    int64_t dim[KILN_MAX_AXES];
    for (int i = 0; i < te->rank; i++)
        dim[i] = kiln_te_dim(te, i);
    return kiln_te_begin(a, name, te->rank, dim);
}

/* "c.local", or "c.local.2" and so on where it is copied again. */
static const char *copy_name(kiln_schedule *s, const kiln_te *te, kiln_scope scope) {
    kiln_arena *a = s->arena;
    const char *name = kiln_scope_name(scope) != NULL
                           ? kiln_format(a, "%s.%s", te->name, kiln_scope_name(scope))
                           : kiln_format(a, "%s.scope%d", te->name, (int)scope);
    const char *first = name;
    for (int i = 2; kiln_schedule_find(s, name) != NULL; i++)
        name = kiln_format(a, "%s.%d", first, i);
    return name;
}

/* The axes of `te` in panels; width 0: as they are. */
static kiln_te *begin_copy(kiln_arena *a, const kiln_te *te, int64_t width,
                           const char *name) {
    int64_t dim[KILN_MAX_AXES];
    const int rows = te->rank - 2;
    if (width == 0)
        return begin_like(a, te, name);
    for (int i = 0; i < rows; i++)
        dim[i] = kiln_te_dim(te, i);
    dim[rows] = kiln_te_dim(te, rows + 1) / width;
    dim[rows + 1] = kiln_te_dim(te, rows);
    dim[rows + 2] = width;
    return kiln_te_begin(a, name, te->rank + 1, dim);
}

static kiln_status panels_body(kiln_arena *a, kiln_te *out, const kiln_te *in,
                               int64_t width, kiln_err *err) {
    const kiln_expr *index[KILN_MAX_AXES], *body[KILN_MAX_TE_OUTS];
    const int rows = in->rank - 2;
    for (int i = 0; i < rows; i++)
        index[i] = kiln_te_var(out, i);
    index[rows] = kiln_te_var(out, rows + 1);
    index[rows + 1] =
        kiln_x_add(a, kiln_x_mul(a, kiln_te_var(out, rows), kiln_x_index(a, width)),
                   kiln_te_var(out, rows + 2));
    for (int k = 0; k < in->n_out; k++)
        body[k] = kiln_x_read(a, in, k, index, in->rank);
    return kiln_te_end(out, in->n_out, body, err);
}

/* width: of panels; 0: as `te` lies. */
static kiln_status cache_read(kiln_schedule *s, const kiln_te *te, int64_t width,
                              kiln_scope scope, kiln_stage *const *readers, size_t n,
                              kiln_stage **out, kiln_err *err) {
    kiln_arena *a = s->arena;
    size_t first = s->stage.n;
    for (size_t i = 0; i < n; i++)
        if (!kiln_te_reads(readers[i]->te, te))
            return kiln_fail(err, KILN_ERR_ARG,
                             "cache_read: stage '%s' does not read '%s'",
                             readers[i]->te->name, te->name);
    kiln_te *copy = begin_copy(a, te, width, copy_name(s, te, scope));
    KILN_TRY(width == 0 ? copy_body(a, copy, te, err)
                        : panels_body(a, copy, te, width, err));
    for (size_t i = 0; i < s->stage.n; i++) {
        kiln_stage *st = s->stage.v[i];
        bool chosen = n == 0 && kiln_te_reads(st->te, te);
        for (size_t k = 0; k < n; k++)
            chosen = chosen || readers[k] == st;
        if (!chosen)
            continue;
        /* Loops stay: the axes are the same objects. */
        st->te = width == 0 ? kiln_te_redirected(a, st->te, te, copy)
                            : kiln_te_paneled(a, st->te, te, copy);
        first = i < first ? i : first;
    }
    if (first == s->stage.n)
        return kiln_fail(err, KILN_ERR_ARG, "cache_read: no stage reads '%s'",
                         te->name);
    kiln_stage *st = kiln_stage_make(s, copy);
    st->scope = scope;
    kiln_schedule_insert(s, first, st);
    *out = st;
    return KILN_OK;
}

kiln_status kiln_cache_read(kiln_schedule *s, const kiln_te *te, kiln_scope scope,
                            kiln_stage *const *readers, size_t n, kiln_stage **out,
                            kiln_err *err) {
    return cache_read(s, te, 0, scope, readers, n, out, err);
}

kiln_status kiln_cache_read_panels(kiln_schedule *s, const kiln_te *te, int64_t width,
                                   kiln_scope scope, kiln_stage *const *readers,
                                   size_t n, kiln_stage **out, kiln_err *err) {
    if (te->rank < 2 || te->rank == KILN_MAX_AXES || width < 1 ||
        kiln_te_dim(te, te->rank - 1) % width != 0)
        return kiln_fail(err, KILN_ERR_ARG,
                         "cache_read: '%s' must have 2 to %d axes, and panels of "
                         "%" PRId64 " columns must divide the last",
                         te->name, KILN_MAX_AXES - 1, width);
    return cache_read(s, te, width, scope, readers, n, out, err);
}

static bool is_untouched(const kiln_stage *st) {
    if (st->leaf.n != st->root.n)
        return false;
    for (size_t i = 0; i < st->leaf.n; i++)
        if (st->leaf.v[i] != st->root.v[i] || st->leaf.v[i]->loop != KILN_LOOP_SERIAL)
            return false;
    return true;
}

kiln_status kiln_cache_write(kiln_stage *st, kiln_scope scope, kiln_stage **out,
                             kiln_err *err) {
    kiln_schedule *s = st->schedule;
    kiln_arena *a = s->arena;
    if (st->te->kind != KILN_TE_COMPUTE || !is_untouched(st))
        return kiln_fail(
            err, KILN_ERR_ARG,
            "cache_write: stage '%s' must be a compute whose loops are untouched; "
            "call it before split, reorder and the like",
            st->te->name);
    /* The computation moves to a stage of its own, with its axes; this stage gets fresh
     * axes and copies. */
    kiln_te *inner = kiln_new(a, kiln_te);
    *inner = *st->te;
    inner->name = copy_name(s, st->te, scope);
    kiln_te *outer = begin_like(a, st->te, st->te->name);
    KILN_TRY(copy_body(a, outer, inner, err));
    outer->tag = "copy";
    kiln_stage *made = kiln_stage_make(s, inner);
    made->scope = scope;
    kiln_schedule_insert(s, kiln_stage_position(st), made);
    /* Stages computed inside this one belong to the loops that are gone from here:
     * none, they are untouched, but an attachment to a root axis is possible. */
    for (size_t i = 0; i < s->stage.n; i++) {
        kiln_stage *other = s->stage.v[i];
        if (other->attach != KILN_ATTACH_AT || other->at_stage != st)
            continue;
        for (size_t k = 0; k < st->root.n; k++)
            if (other->at_iter == st->root.v[k])
                other->at_iter = made->root.v[k];
        other->at_stage = made;
    }
    kiln_stage_set_te(st, outer);
    *out = made;
    return KILN_OK;
}
