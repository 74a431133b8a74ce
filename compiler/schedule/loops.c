/* Primitives on one stage's loops: split, fuse, reorder, annotations. */
#include "compiler/schedule/schedule_internal.h"

#include <inttypes.h>
#include <string.h>

/* Of one loop's name: who splits and fuses again and again doubles it each time, and
 * with it, by the tails, the iterations. */
enum { MAX_NAME = 2048 };

kiln_status kiln_check_leaf(const kiln_stage *st, const kiln_iter *x, const char *what,
                            size_t *position, kiln_err *err) {
    bool is_inside = false;
    for (size_t i = 0; i < st->leaf.n; i++) {
        is_inside |= st->tensor != NULL && st->leaf.v[i] == st->tensor_iter;
        if (st->leaf.v[i] != x)
            continue;
        *position = i;
        return !is_inside ? KILN_OK
                          : kiln_fail(err, KILN_ERR_ARG,
                                      "%s: loop '%s' of stage '%s' is part of a tensor "
                                      "intrinsic",
                                      what, x->name, st->te->name);
    }
    return kiln_fail(
        err, KILN_ERR_ARG,
        "%s: '%s' is not a loop of stage '%s' (any more); its loops are those that "
        "split, fuse and reorder left",
        what, x->name, st->te->name);
}

/* Loops that have been given a meaning are not taken apart again: the annotation would
 * be lost. */
static kiln_status check_plain(const kiln_stage *st, const kiln_iter *x,
                               const char *what, kiln_err *err) {
    if (x->loop == KILN_LOOP_SERIAL)
        return KILN_OK;
    return kiln_fail(
        err, KILN_ERR_ARG,
        "%s: loop '%s' of stage '%s' is already annotated; %s before annotating", what,
        x->name, st->te->name, what);
}

static kiln_status split(kiln_stage *st, kiln_iter *x, int64_t factor, const char *what,
                         kiln_iter **outer, kiln_iter **inner, kiln_err *err) {
    KILN_ASSERT(factor > 0, "loop '%s' is split by nothing", x->name);
    kiln_arena *a = st->schedule->arena;
    size_t at = 0;
    KILN_TRY(kiln_check_leaf(st, x, what, &at, err));
    KILN_TRY(check_plain(st, x, what, err));
    /* An inner loop longer than what is split would only run over its end. */
    const int64_t n_inner =
        x->extent < factor ? (x->extent > 0 ? x->extent : 1) : factor;
    const int64_t n_outer = x->extent / n_inner + (x->extent % n_inner != 0);
    kiln_iter *o = kiln_iter_make(st, kiln_format(a, "%s.outer", x->name), x->kind,
                                  n_outer > 0 ? n_outer : 1);
    kiln_iter *i =
        kiln_iter_make(st, kiln_format(a, "%s.inner", x->name), x->kind, n_inner);
    o->split_parent = i->split_parent = x;
    x->split_outer = o;
    x->split_inner = i;
    x->split_factor = factor;
    st->leaf.v[at] = o;
    kiln_vec_push(a, &st->leaf, i);
    for (size_t k = st->leaf.n - 1; k > at + 1; k--)
        st->leaf.v[k] = st->leaf.v[k - 1];
    st->leaf.v[at + 1] = i;
    *outer = o;
    *inner = i;
    return KILN_OK;
}

kiln_status kiln_split(kiln_stage *st, kiln_iter *x, int64_t factor, kiln_iter **outer,
                       kiln_iter **inner, kiln_err *err) {
    if (factor < 1)
        return kiln_fail(
            err, KILN_ERR_ARG,
            "split: factor of loop '%s' of stage '%s' must be >= 1, is %" PRId64,
            x->name, st->te->name, factor);
    return split(st, x, factor, "split", outer, inner, err);
}

kiln_status kiln_split_parts(kiln_stage *st, kiln_iter *x, int64_t n_parts,
                             kiln_iter **outer, kiln_iter **inner, kiln_err *err) {
    if (n_parts < 1)
        return kiln_fail(
            err, KILN_ERR_ARG,
            "split: parts of loop '%s' of stage '%s' must be >= 1, are %" PRId64,
            x->name, st->te->name, n_parts);
    const int64_t factor = (x->extent + n_parts - 1) / n_parts;
    return split(st, x, factor > 0 ? factor : 1, "split", outer, inner, err);
}

kiln_status kiln_reorder(kiln_stage *st, kiln_iter *const *order, size_t n,
                         kiln_err *err) {
    kiln_arena *a = st->schedule->arena;
    size_t *place = kiln_array(a, size_t, n);
    bool *is_taken = kiln_array(a, bool, st->leaf.n);
    for (size_t i = 0; i < n; i++) {
        size_t at = 0;
        KILN_TRY(kiln_check_leaf(st, order[i], "reorder", &at, err));
        if (is_taken[at])
            return kiln_fail(err, KILN_ERR_ARG,
                             "reorder: loop '%s' of stage '%s' is named twice",
                             order[i]->name, st->te->name);
        is_taken[at] = true;
    }
    for (size_t at = 0, k = 0; at < st->leaf.n; at++)
        if (is_taken[at])
            place[k++] = at;
    for (size_t i = 0; i < n; i++)
        st->leaf.v[place[i]] = order[i];
    return KILN_OK;
}

kiln_status kiln_fuse(kiln_stage *st, kiln_iter *outer, kiln_iter *inner,
                      kiln_iter **fused, kiln_err *err) {
    kiln_arena *a = st->schedule->arena;
    size_t o = 0, i = 0;
    KILN_TRY(kiln_check_leaf(st, outer, "fuse", &o, err));
    KILN_TRY(kiln_check_leaf(st, inner, "fuse", &i, err));
    KILN_TRY(check_plain(st, outer, "fuse", err));
    KILN_TRY(check_plain(st, inner, "fuse", err));
    if (i != o + 1)
        return kiln_fail(
            err, KILN_ERR_ARG,
            "fuse: '%s' must directly enclose '%s' in stage '%s'; reorder them first",
            outer->name, inner->name, st->te->name);
    if (outer->kind != inner->kind)
        return kiln_fail(
            err, KILN_ERR_ARG,
            "fuse: '%s' and '%s' of stage '%s' are a spatial and a reduction loop",
            outer->name, inner->name, st->te->name);
    if (strlen(outer->name) + strlen(inner->name) > MAX_NAME)
        return kiln_fail(err, KILN_ERR_LIMIT,
                         "fuse: loops of stage '%s' are split and fused so often that "
                         "their names have more than %d bytes together",
                         st->te->name, MAX_NAME);
    kiln_iter *f =
        kiln_iter_make(st, kiln_format(a, "%s.%s.fused", outer->name, inner->name),
                       outer->kind, outer->extent * inner->extent);
    f->fused_outer = outer;
    f->fused_inner = inner;
    outer->fused_into = inner->fused_into = f;
    st->leaf.v[o] = f;
    for (size_t k = i; k + 1 < st->leaf.n; k++)
        st->leaf.v[k] = st->leaf.v[k + 1];
    st->leaf.n--;
    *fused = f;
    return KILN_OK;
}

kiln_status kiln_unit_loop(kiln_stage *st, kiln_iter **out, kiln_err *err) {
    if (st->unit != NULL)
        return kiln_fail(err, KILN_ERR_ARG, "unit_loop: stage '%s' has one already",
                         st->te->name);
    if (st->te->kind != KILN_TE_COMPUTE)
        return kiln_fail(err, KILN_ERR_ARG,
                         "unit_loop: extern stage '%s' has no loops of a schedule",
                         st->te->name);
    *out = st->unit = kiln_iter_make(st, "unit", KILN_ITER_SPATIAL, 1);
    kiln_vec_push(st->schedule->arena, &st->leaf, *out);
    for (size_t k = st->leaf.n - 1; k > 0; k--)
        st->leaf.v[k] = st->leaf.v[k - 1];
    st->leaf.v[0] = *out;
    return KILN_OK;
}

/* ---- annotations ----------------------------------------------------------------- */

static kiln_status annotate(kiln_stage *st, kiln_iter *x, kiln_loop_kind kind,
                            const char *tag, const char *what, kiln_err *err) {
    size_t at = 0;
    KILN_TRY(kiln_check_leaf(st, x, what, &at, err));
    KILN_TRY(check_plain(st, x, what, err));
    x->loop = kind;
    x->tag = tag;
    return KILN_OK;
}

/* Iterations of a reduction loop meet in one element: running them side by side would
 * need rfactor. */
static kiln_status check_spatial(const kiln_stage *st, const kiln_iter *x,
                                 const char *what, kiln_err *err) {
    if (x->kind == KILN_ITER_SPATIAL)
        return KILN_OK;
    return kiln_fail(
        err, KILN_ERR_ARG,
        "%s: '%s' of stage '%s' is a reduction loop; use rfactor to make it spatial",
        what, x->name, st->te->name);
}

kiln_status kiln_vectorize(kiln_stage *st, kiln_iter *x, kiln_err *err) {
    KILN_TRY(check_spatial(st, x, "vectorize", err));
    if (x->extent > KILN_MAX_LANES)
        return kiln_fail(err, KILN_ERR_ARG,
                         "vectorize: loop '%s' of stage '%s' has %" PRId64
                         " iterations, at most %d; split it first",
                         x->name, st->te->name, x->extent, KILN_MAX_LANES);
    return annotate(st, x, KILN_LOOP_VECTORIZED, NULL, "vectorize", err);
}

kiln_status kiln_unroll(kiln_stage *st, kiln_iter *x, kiln_err *err) {
    return annotate(st, x, KILN_LOOP_UNROLLED, NULL, "unroll", err);
}

kiln_status kiln_parallel(kiln_stage *st, kiln_iter *x, kiln_err *err) {
    KILN_TRY(check_spatial(st, x, "parallel", err));
    return annotate(st, x, KILN_LOOP_PARALLEL, NULL, "parallel", err);
}

kiln_status kiln_bind(kiln_stage *st, kiln_iter *x, const char *tag, kiln_err *err) {
    KILN_ASSERT(tag != NULL, "loop '%s' is bound to nothing", x->name);
    KILN_TRY(check_spatial(st, x, "bind", err));
    KILN_TRY(kiln_check_bind(st, x, tag, err));
    return annotate(st, x, KILN_LOOP_THREAD, tag, "bind", err);
}

kiln_status kiln_vthread(kiln_stage *st, kiln_iter *x, kiln_err *err) {
    KILN_TRY(check_spatial(st, x, "vthread", err));
    return annotate(st, x, KILN_LOOP_VTHREAD, NULL, "vthread", err);
}

kiln_status kiln_pragma(kiln_stage *st, kiln_iter *x, const char *word, kiln_err *err) {
    KILN_ASSERT(word != NULL, "loop '%s' has a pragma without a word", x->name);
    size_t at = 0;
    KILN_TRY(kiln_check_leaf(st, x, "pragma", &at, err));
    x->pragma = word;
    return KILN_OK;
}

kiln_status kiln_prefetch(kiln_stage *st, const kiln_te *te, kiln_iter *x,
                          const kiln_ahead *ahead, kiln_err *err) {
    size_t at = 0;
    KILN_ASSERT(ahead->around == NULL ||
                    (ahead->step_elems > 0 && ahead->around_wraps > 0),
                "'%s' is fetched in parts that have no size", te->name);
    KILN_TRY(kiln_check_leaf(st, x, "prefetch", &at, err));
    if (!kiln_te_reads(st->te, te))
        return kiln_fail(err, KILN_ERR_ARG, "prefetch: stage '%s' does not read '%s'",
                         st->te->name, te->name);
    const struct kiln_prefetch p = {.te = te, .iter = x, .ahead = *ahead};
    kiln_vec_push(st->schedule->arena, &st->prefetch, p);
    return KILN_OK;
}
