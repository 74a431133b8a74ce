/* The primitive tensorize: are a stage's innermost loops what an intrinsic declares? */
#include <inttypes.h>
#include <string.h>

#include "compiler/loop/tensor_intrin.h"
#include "compiler/schedule/schedule_internal.h"

/* Every split on the way to a loop divides: the loop is whole wherever it runs. */
static bool is_whole(const kiln_iter *x) {
    if (x->fused_outer != NULL)
        return false;
    for (; x->split_parent != NULL; x = x->split_parent)
        if (x->split_parent->extent % x->split_parent->split_factor != 0 ||
            x->split_parent->fused_outer != NULL)
            return false;
    return true;
}

static kiln_status check_loop(const kiln_stage *st, const kiln_iter *x,
                              const kiln_axis *axis, const kiln_tensor_intrin *intrin,
                              kiln_err *err) {
    int64_t extent = 0;
    const bool is_const = kiln_x_is_int(axis->extent, &extent);
    KILN_ASSERT(is_const, "'%s' has no constant extents", intrin->name);
    const char *kind = axis->is_reduce ? "reduction" : "spatial";
    if ((x->kind == KILN_ITER_REDUCE) != axis->is_reduce || x->extent != extent)
        return kiln_fail(err, KILN_ERR_ARG,
                         "tensorize: loop '%s' of stage '%s' must be a %s loop of "
                         "%" PRId64 " iterations ('%s' of '%s'), is a %s loop of "
                         "%" PRId64 "; split and reorder first",
                         x->name, st->te->name, kind, extent, axis->name, intrin->name,
                         x->kind == KILN_ITER_REDUCE ? "reduction" : "spatial",
                         x->extent);
    if (x->loop != KILN_LOOP_SERIAL)
        return kiln_fail(err, KILN_ERR_ARG,
                         "tensorize: loop '%s' of stage '%s' must be plain, is "
                         "annotated already",
                         x->name, st->te->name);
    if (!is_whole(x))
        return kiln_fail(err, KILN_ERR_ARG,
                         "tensorize: loop '%s' of stage '%s' must come from splits "
                         "that divide; pad the axis to whole blocks",
                         x->name, st->te->name);
    return KILN_OK;
}

static kiln_status check_body(const kiln_stage *st, const kiln_te *declared,
                              const kiln_tensor_intrin *intrin, kiln_err *err) {
    const kiln_te *te = st->te;
    const kiln_expr *operand[KILN_MAX_TE_OUTS] = {NULL};
    const int combine = kiln_tensor_combine(declared);
    if (combine < 0)
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         "tensorize: '%s' declares a reduction by '%s'; sum, prod, max "
                         "and min can be intrinsics",
                         intrin->name,
                         declared->body[0]->kind == KILN_EXPR_REDUCE
                             ? declared->body[0]->u.reduce->reducer->name
                             : "nothing");
    if (kiln_tensor_combine(te) == combine && te->body[0]->u.reduce->cond == NULL &&
        te->dtype[0] == declared->dtype[0] &&
        kiln_tensor_match(declared, kiln_tensor_source(declared),
                          te->body[0]->u.reduce->source[0], operand))
        return KILN_OK;
    return kiln_fail(err, KILN_ERR_ARG,
                     "tensorize: stage '%s' must compute what '%s' declares (%s), "
                     "which it does not",
                     te->name, intrin->name, intrin->doc);
}

kiln_status kiln_tensorize(kiln_stage *st, kiln_iter *x,
                           const kiln_tensor_intrin *intrin, int lanes, kiln_err *err) {
    KILN_ASSERT(intrin != NULL, "loop '%s' becomes no intrinsic", x->name);
    size_t at = 0;
    KILN_TRY(kiln_check_leaf(st, x, "tensorize", &at, err));
    if (lanes < 1 || lanes > KILN_MAX_LANES)
        return kiln_fail(err, KILN_ERR_ARG,
                         "tensorize: lanes must be in [1, %d], is %d", KILN_MAX_LANES,
                         lanes);
    const kiln_te *declared = intrin->declare(st->schedule->arena, lanes);
    const int n = declared->rank + declared->n_reduce;
    if (st->leaf.n - at != (size_t)n)
        return kiln_fail(err, KILN_ERR_ARG,
                         "tensorize: '%s' stands for %d loops, but stage '%s' has %zu "
                         "from '%s' inwards",
                         intrin->name, n, st->te->name, st->leaf.n - at, x->name);
    KILN_TRY(check_body(st, declared, intrin, err));
    for (int i = 0; i < n; i++)
        KILN_TRY(check_loop(st, st->leaf.v[at + (size_t)i],
                            i < declared->rank ? declared->axis[i]
                                               : declared->reduce[i - declared->rank],
                            intrin, err));
    st->tensor = intrin;
    st->tensor_lanes = lanes;
    st->tensor_iter = x;
    return KILN_OK;
}
