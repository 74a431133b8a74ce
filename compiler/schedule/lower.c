/* Lowering: a schedule becomes a loop program.
 *
 * Each stage's leaves become a loop nest; stages attached to a loop are computed at the
 * start of its body, into buffers as large as the region they compute. A reduction
 * becomes an initialisation where its first reduction loop begins, and an update in the
 * innermost body. Guards stand around the stores: what splits and regions leave over is
 * cut off there, and loop partition later moves them out of hot bodies.
 */
#include "compiler/loop/tensor_intrin.h"
#include "base/fault.h"
#include "compiler/schedule/lower_internal.h"

/* ---- buffers --------------------------------------------------------------------- */

static kiln_buffer *make_buffer(kiln_lowering *lo, const kiln_lowered_stage *l,
                                int out) {
    const kiln_te *te = l->te;
    kiln_arena *a = lo->arena;
    const char *name =
        te->n_out == 1 ? te->name : kiln_format(a, "%s.%d", te->name, out);
    int64_t dim[KILN_MAX_AXES];
    for (int i = 0; i < te->rank; i++) {
        dim[i] = l->region.extent[i];
        /* Register tiles hold whole vectors: a last one that overhangs need not be
         * written in part. */
        const int64_t last = l->stage->scope == KILN_SCOPE_REGISTER
                                 ? kiln_interval_of(&lo->ranges, l->root[i]).max
                                 : 0;
        if (last >= dim[i] && last < 2 * dim[i])
            dim[i] = last + 1;
    }
    kiln_buffer *b =
        kiln_buffer_new(a, name, te->dtype[out], te->rank, dim, l->stage->scope);
    for (int i = 0; i < te->rank; i++)
        b->align[i] = l->stage->align[i];
    b->arg = -1;
    return b;
}

static kiln_buffer *argument(kiln_arena *a, const kiln_te *te, int out, int position,
                             bool is_written) {
    int64_t dim[KILN_MAX_AXES];
    for (int i = 0; i < te->rank; i++)
        dim[i] = kiln_te_dim(te, i);
    const char *name =
        te->n_out == 1 ? te->name : kiln_format(a, "%s.%d", te->name, out);
    kiln_buffer *b =
        kiln_buffer_new(a, name, te->dtype[out], te->rank, dim, KILN_SCOPE_GLOBAL);
    b->arg = position;
    b->is_written = is_written;
    return b;
}

/* One buffer per argument, outputs of several results one after another. */
static kiln_status bind_arguments(kiln_nest *n, const kiln_te *const *args,
                                  size_t n_args, size_t n_inputs, kiln_program *p,
                                  kiln_err *err) {
    kiln_lowering *lo = n->lo;
    size_t n_buffers = 0;
    for (size_t i = 0; i < n_args; i++)
        n_buffers += (size_t)args[i]->n_out;
    p->arg = kiln_array(lo->arena, const kiln_buffer *, n_buffers);
    for (size_t i = 0; i < n_args; i++) {
        const kiln_te *te = args[i];
        const kiln_stage *st = kiln_schedule_of(lo->schedule, te);
        const bool is_input = i < n_inputs;
        if (is_input != (te->kind == KILN_TE_PLACEHOLDER) ||
            (!is_input && (st == NULL || !st->is_output)))
            return kiln_fail(err, KILN_ERR_ARG,
                             "lower: argument %zu ('%s') must be %s of the schedule", i,
                             te->name, is_input ? "a placeholder" : "an output");
        for (int k = 0; k < te->n_out; k++) {
            kiln_buffer *b =
                argument(lo->arena, te, k, p->n_args, te->kind != KILN_TE_PLACEHOLDER);
            p->arg[p->n_args++] = b;
            if (is_input) {
                const kiln_bound_input in = {te, b};
                kiln_vec_push(lo->arena, &n->inputs, in);
                p->n_inputs++;
            } else {
                lo->stage[kiln_stage_position(st)].buffer[k] = b;
            }
        }
    }
    return KILN_OK;
}

static kiln_status make_buffers(kiln_lowering *lo, kiln_err *err) {
    for (size_t i = 0; i < lo->schedule->stage.n; i++) {
        kiln_lowered_stage *l = &lo->stage[i];
        if (l->te == NULL)
            continue;
        for (int k = 0; k < l->te->n_out; k++) {
            if (l->stage->is_output && l->buffer[k] == NULL)
                return kiln_fail(err, KILN_ERR_ARG,
                                 "lower: output '%s' is not among the arguments",
                                 l->te->name);
            if (l->buffer[k] == NULL)
                l->buffer[k] = make_buffer(lo, l, k);
        }
    }
    return KILN_OK;
}

/* ---- reads ----------------------------------------------------------------------- */

static const kiln_expr *lower_read(void *user, kiln_arena *a, const kiln_expr *e) {
    kiln_nest *n = user;
    if (e->kind != KILN_EXPR_READ)
        return e;
    const kiln_te *te = e->u.read.te;
    for (size_t i = 0; i < n->inputs.n; i++)
        if (n->inputs.v[i].te == te)
            return kiln_x_load(a, n->inputs.v[i].buffer, e->arg, e->n_arg, NULL);
    const kiln_stage *st = kiln_schedule_of(n->lo->schedule, te);
    if (st == NULL) {
        n->unbound = te; /* a placeholder that is no argument */
        return e;
    }
    const kiln_lowered_stage *l = &n->lo->stage[kiln_stage_position(st)];
    for (int i = 0; i < e->n_arg; i++) {
        if (n->read == te && kiln_expr_eq(n->at[i], e->arg[i]))
            continue;
        n->at[i] = e->arg[i];
        n->index[i] = kiln_simplify_expr(&n->lo->ranges, a,
                                         kiln_x_sub(a, e->arg[i], l->region.min[i]));
    }
    n->read = te;
    return kiln_x_load(a, l->buffer[e->u.read.out], n->index, e->n_arg, NULL);
}

/* An expression of the stage's body, over loops: axes replaced, reads turned into
 * loads. */
const kiln_expr *kiln_nest_value(kiln_nest *n, const kiln_expr *e) {
    kiln_arena *a = n->lo->arena;
    const kiln_expr *over_loops = kiln_expr_substitute(a, e, n->map, n->n_map);
    n->read = NULL; /* ranges may have changed */
    return kiln_expr_rewrite(a, over_loops, lower_read, n);
}

/* ---- guards ---------------------------------------------------------------------- */

static void add_guard(kiln_nest *n, const kiln_expr **guard, const kiln_expr *value,
                      int64_t begin, int64_t end) {
    kiln_arena *a = n->lo->arena;
    const kiln_interval in = kiln_interval_of(&n->lo->ranges, value);
    const kiln_expr *part[2] = {NULL, NULL};
    if (in.min < begin)
        part[0] = kiln_x_binary(a, KILN_EXPR_LE, kiln_x_index(a, begin), value);
    if (in.max >= end)
        part[1] = kiln_x_binary(a, KILN_EXPR_LT, value, kiln_x_index(a, end));
    for (int i = 0; i < 2; i++)
        if (part[i] != NULL)
            *guard = *guard == NULL ? part[i]
                                    : kiln_x_binary(a, KILN_EXPR_AND, *guard, part[i]);
}

/* Spatial guards, or those of the reduction axes. NULL: none is needed. */
static const kiln_expr *guard_of(kiln_nest *n, bool of_reduction) {
    kiln_arena *a = n->lo->arena;
    const kiln_lowered_stage *l = n->l;
    const kiln_expr *guard = NULL;
    for (size_t i = 0; i < l->overhang.n; i++) {
        const kiln_overhang *o = &l->overhang.v[i];
        if (o->is_reduce == of_reduction)
            add_guard(n, &guard, kiln_simplify_expr(&n->lo->ranges, a, o->value), 0,
                      o->extent);
    }
    for (int i = 0; i < l->te->rank && !of_reduction; i++) {
        const int64_t dim = kiln_te_dim(l->te, i);
        if (l->region.extent[i] >= dim)
            continue; /* all of the axis: it starts at 0 */
        /* What overhangs is guarded above: a root is below its extent. */
        const kiln_interval begin = kiln_interval_of(&n->lo->ranges, l->region.min[i]);
        if (begin.min >= 0 && begin.max <= dim - l->root_extent[i])
            continue;
        const kiln_expr *index = kiln_x_add(a, l->region.min[i], l->root[i]);
        add_guard(n, &guard, kiln_simplify_expr(&n->lo->ranges, a, index), 0, dim);
    }
    return guard;
}

static const kiln_stmt *guarded(kiln_arena *a, const kiln_expr *guard,
                                const kiln_stmt *s) {
    return guard == NULL || KILN_FAULT(guard_dropped) ? s
                                                      : kiln_s_if(a, guard, s, NULL);
}

/* ---- bodies ---------------------------------------------------------------------- */

static void store_index(kiln_nest *n, const kiln_expr **index) {
    for (int i = 0; i < n->l->te->rank; i++)
        index[i] = kiln_simplify_expr(&n->lo->ranges, n->lo->arena, n->l->root[i]);
}

static const kiln_stmt *store_all(kiln_nest *n, const kiln_expr *const *value) {
    kiln_arena *a = n->lo->arena;
    const kiln_expr *index[KILN_MAX_AXES];
    const kiln_stmt *stmt[KILN_MAX_TE_OUTS];
    store_index(n, index);
    for (int i = 0; i < n->l->te->n_out; i++)
        stmt[i] = kiln_s_store(a, n->l->buffer[i], index, value[i], NULL);
    return kiln_s_seq(a, stmt, n->l->te->n_out);
}

static const kiln_stmt *plain_body(kiln_nest *n) {
    const kiln_expr *value[KILN_MAX_TE_OUTS];
    for (int i = 0; i < n->l->te->n_out; i++)
        value[i] = kiln_nest_value(n, n->l->te->body[i]);
    return guarded(n->lo->arena, guard_of(n, false), store_all(n, value));
}

const kiln_reduction *kiln_te_reduction(const kiln_te *te) {
    return te->kind == KILN_TE_COMPUTE && te->n_out > 0 &&
                   te->body[0]->kind == KILN_EXPR_REDUCE
               ? te->body[0]->u.reduce
               : NULL;
}

static const kiln_stmt *init_body(kiln_nest *n) {
    const kiln_reduction *red = kiln_te_reduction(n->l->te);
    KILN_ASSERT(red != NULL, "stage '%s' is no reduction", n->l->te->name);
    const kiln_reducer *r = red->reducer;
    const kiln_expr *value[KILN_MAX_TE_OUTS];
    for (int i = 0; i < n->l->te->n_out; i++)
        value[i] = r->identity[n->l->te->body[i]->u.reduce->index];
    return guarded(n->lo->arena, guard_of(n, false), store_all(n, value));
}

/* acc = combine(acc, source). Results of a tuple are all computed before any is stored.
 */
static const kiln_stmt *update_body(kiln_nest *n) {
    kiln_arena *a = n->lo->arena;
    const kiln_te *te = n->l->te;
    const kiln_reduction *red = kiln_te_reduction(te);
    KILN_ASSERT(red != NULL, "stage '%s' is no reduction", te->name);
    const kiln_reducer *r = red->reducer;
    const kiln_expr *index[KILN_MAX_AXES];
    const kiln_expr *value[KILN_MAX_TE_OUTS];
    kiln_subst map[2 * KILN_MAX_TE_OUTS];
    size_t n_map = 0;
    store_index(n, index);
    for (int i = 0; i < r->n; i++) {
        int out = 0; /* the output that keeps this element of the tuple */
        while (out < te->n_out && te->body[out]->u.reduce->index != i)
            out++;
        KILN_ASSERT(out < te->n_out, "stage '%s' keeps no element %d of its tuple",
                    te->name, i);
        map[n_map++] = (kiln_subst){
            r->lhs[i], kiln_x_load(a, n->l->buffer[out], index, te->rank, NULL)};
        map[n_map++] = (kiln_subst){r->rhs[i], kiln_nest_value(n, red->source[i])};
    }
    kiln_var *bound[KILN_MAX_TE_OUTS];
    const kiln_expr *result[KILN_MAX_TE_OUTS];
    for (int i = 0; i < te->n_out; i++) {
        const int k = te->body[i]->u.reduce->index;
        result[i] = kiln_expr_substitute(a, r->result[k], map, n_map);
        bound[i] = kiln_var_new(a, "acc", te->dtype[i]);
        value[i] = te->n_out == 1 ? result[i] : kiln_x_ref(a, bound[i]);
    }
    const kiln_stmt *s = store_all(n, value);
    for (int i = te->n_out; te->n_out > 1 && i-- > 0;)
        s = kiln_s_let(a, bound[i], result[i], s);
    const kiln_expr *guard = guard_of(n, false), *inner = guard_of(n, true);
    if (red->cond != NULL) {
        const kiln_expr *cond = kiln_nest_value(n, red->cond);
        inner = inner == NULL ? cond : kiln_x_binary(a, KILN_EXPR_AND, inner, cond);
    }
    /* One condition, where it reads nothing: parts of it then leave the loops that they
     * do not depend on. */
    if (guard != NULL && inner != NULL && !kiln_expr_loads(inner, NULL)) {
        guard = kiln_x_binary(a, KILN_EXPR_AND, inner, guard);
        inner = NULL;
    }
    return guarded(a, guard, guarded(a, inner, s));
}

/* ---- nests ----------------------------------------------------------------------- */

typedef struct first_read {
    const kiln_te *te;
    const kiln_expr *found;
} first_read;

static void find_read(void *user, const kiln_expr *e) {
    first_read *f = user;
    if (f->found == NULL && e->kind == KILN_EXPR_READ && e->u.read.te == f->te)
        f->found = e;
}

/* The iteration of p's loop that is fetched for. */
static const kiln_expr *fetched_iteration(kiln_arena *a,
                                          const struct kiln_prefetch *p) {
    const kiln_expr *ahead = kiln_x_index(a, p->ahead.iterations);
    return p->ahead.step_elems > 0 ? ahead
                                   : kiln_x_add(a, kiln_x_ref(a, p->iter->var), ahead);
}

/* Elements behind what that iteration reads. */
static const kiln_expr *fetched_elems(kiln_arena *a, const struct kiln_prefetch *p) {
    const kiln_ahead *h = &p->ahead;
    const kiln_expr *sum = kiln_x_index(a, h->elems);
    if (h->step_elems > 0)
        sum = kiln_x_add(
            a, sum,
            kiln_x_mul(a, kiln_x_ref(a, p->iter->var), kiln_x_index(a, h->step_elems)));
    if (h->last != NULL) {
        const kiln_expr *next =
            kiln_x_add(a, kiln_x_ref(a, h->last->var), kiln_x_index(a, 1));
        const int64_t n = h->last_extent > 0 ? h->last_extent : h->last->extent;
        const kiln_expr *is_last =
            kiln_x_binary(a, KILN_EXPR_FLOORDIV, next, kiln_x_index(a, n));
        sum =
            kiln_x_add(a, sum, kiln_x_mul(a, is_last, kiln_x_index(a, h->last_elems)));
    }
    if (h->around == NULL)
        return sum;
    const kiln_expr *part =
        kiln_x_binary(a, KILN_EXPR_FLOORMOD, kiln_x_ref(a, h->around->var),
                      kiln_x_index(a, h->around_wraps));
    return kiln_x_add(a, sum, kiln_x_mul(a, part, kiln_x_index(a, h->around_elems)));
}

/* What the body reads first of `te`, as far ahead as p says and with the loops further
 * in at their start. */
static const kiln_stmt *prefetch_of(kiln_nest *n, const struct kiln_prefetch *p,
                                    size_t leaf) {
    kiln_arena *a = n->lo->arena;
    const kiln_stage *st = n->l->stage;
    first_read f = {.te = p->te};
    for (int i = 0; i < n->l->te->n_out; i++)
        kiln_expr_visit(n->l->te->body[i], find_read, &f);
    if (f.found == NULL)
        return kiln_s_nothing(a); /* inlined away */
    const kiln_expr *load = kiln_nest_value(n, f.found);
    kiln_subst *map = kiln_array(a, kiln_subst, st->leaf.n);
    size_t n_map = 0;
    map[n_map++] = (kiln_subst){p->iter->var, fetched_iteration(a, p)};
    for (size_t i = leaf + 1; i < st->leaf.n; i++)
        map[n_map++] = (kiln_subst){st->leaf.v[i]->var, kiln_x_index(a, 0)};
    load = kiln_expr_substitute(a, load, map, n_map);
    const size_t n_arg = (size_t)load->n_arg;
    if (n_arg > 0) {
        const kiln_expr **arg = kiln_array(a, const kiln_expr *, n_arg);
        for (size_t i = 0; i < n_arg; i++)
            arg[i] = load->arg[i];
        arg[n_arg - 1] = kiln_x_add(a, arg[n_arg - 1], fetched_elems(a, p));
        load = kiln_x_load(a, load->u.load.buffer, arg, load->n_arg, load->u.load.mask);
    }
    return kiln_s_eval(a, kiln_x_call(a, KILN_INTRIN_prefetch, &load));
}

static const kiln_stmt *with_prefetches(kiln_nest *n, size_t leaf,
                                        const kiln_stmt *body) {
    const kiln_stage *st = n->l->stage;
    for (size_t i = 0; i < st->prefetch.n; i++) {
        if (st->prefetch.v[i].iter != st->leaf.v[leaf])
            continue;
        const kiln_stmt *both[] = {prefetch_of(n, &st->prefetch.v[i], leaf), body};
        body = kiln_s_seq(n->lo->arena, both, 2);
    }
    return body;
}

/* The loop of one leaf around `body`; var NULL: the leaf's own. */
static const kiln_stmt *wrap_loop(kiln_nest *n, const kiln_extent *leaf,
                                  const kiln_var *var, const kiln_stmt *body) {
    kiln_arena *a = n->lo->arena;
    const kiln_iter *x = leaf->iter;
    if (x->pragma != NULL)
        body = kiln_s_attr(a, KILN_STMT_ATTR_PRAGMA, x->pragma, NULL, NULL, body);
    if (leaf->extent == 1 && x->loop != KILN_LOOP_THREAD)
        return body;
    return kiln_s_for(a, var != NULL ? var : x->var, kiln_x_index(a, 0),
                      kiln_x_index(a, leaf->extent), x->loop, x->tag, body);
}

/* What the stage's innermost loops stand for, marked. */
static const kiln_stmt *marked(kiln_nest *n, const kiln_stmt *s) {
    const kiln_stage *st = n->l->stage;
    return kiln_s_attr(n->lo->arena, KILN_STMT_ATTR_TENSORIZE, st->tensor->name, NULL,
                       kiln_x_index(n->lo->arena, st->tensor_lanes), s);
}

static bool has_part(const kiln_stage *st, kiln_tensor_part part) {
    return st->tensor != NULL && (st->tensor->parts & part) != 0;
}

/* One instruction begins the reduction and does all of it. */
static bool is_one_body(const kiln_stage *st) {
    bool is_outside = has_part(st, KILN_TENSOR_BODY);
    for (size_t i = 0; is_outside && st->leaf.v[i] != st->tensor_iter; i++)
        is_outside = st->leaf.v[i]->kind != KILN_ITER_REDUCE;
    return is_outside;
}

/* The innermost axis of a tensor intrinsic: one vector, where it is set to zero. */
static bool is_lane_axis(const kiln_stage *st, size_t leaf) {
    size_t i = st->leaf.n;
    if (has_part(st, KILN_TENSOR_RESET) || is_one_body(st))
        return false;
    while (st->tensor != NULL && i-- > 0 && st->leaf.v[i] != st->tensor_iter)
        if (st->leaf.v[i]->kind != KILN_ITER_REDUCE)
            break;
    return st->tensor != NULL && i == leaf && st->leaf.v[i]->extent > 1 &&
           st->leaf.v[i]->kind != KILN_ITER_REDUCE;
}

/* Spatial leaves behind the first reduction leaf, with variables of their own: the same
 * variable is never bound twice. */
static const kiln_stmt *init_nest(kiln_nest *n, size_t first_reduce) {
    kiln_arena *a = n->lo->arena;
    const kiln_lowered_stage *l = n->l;
    const kiln_stmt *s = init_body(n);
    for (size_t i = l->stage->leaf.n; i-- > first_reduce;) {
        const kiln_extent *leaf = &l->leaf[i];
        if (leaf->iter->kind == KILN_ITER_REDUCE)
            continue;
        kiln_var *fresh =
            kiln_var_new(a, kiln_format(a, "%s.init", leaf->iter->name), KILN_I64);
        const kiln_subst map = {leaf->iter->var, kiln_x_ref(a, fresh)};
        s = kiln_stmt_substitute(a, s, &map, 1);
        s = is_lane_axis(l->stage, i) ? kiln_s_for(a, fresh, kiln_x_index(a, 0),
                                                   kiln_x_index(a, leaf->extent),
                                                   KILN_LOOP_VECTORIZED, NULL, s)
                                      : wrap_loop(n, leaf, fresh, s);
        if (has_part(l->stage, KILN_TENSOR_RESET) && !is_one_body(l->stage) &&
            leaf->iter == l->stage->tensor_iter)
            s = marked(n, s);
    }
    return s;
}

/* Where a reduction begins: nothing stands between the loops of a tensor intrinsic. */
static size_t first_reduce_leaf(const kiln_stage *st) {
    size_t i = 0;
    while (i < st->leaf.n && st->leaf.v[i]->kind != KILN_ITER_REDUCE &&
           (st->tensor == NULL || st->leaf.v[i] != st->tensor_iter))
        i++;
    return i;
}

typedef struct outer_guard {
    const kiln_nest *n;
    size_t leaf;
    const kiln_expr *cond; /* NULL: none */
} outer_guard;

static void keep_outer(outer_guard *g, const kiln_expr *e) {
    const kiln_stage *st = g->n->l->stage;
    for (size_t i = g->leaf + 1; i < st->leaf.n; i++)
        if (kiln_expr_uses(e, st->leaf.v[i]->var))
            return;
    g->cond =
        g->cond == NULL ? e : kiln_x_binary(g->n->lo->arena, KILN_EXPR_AND, g->cond, e);
}

static void each_conjunct(outer_guard *g, const kiln_expr *e) {
    if (e != NULL && e->kind == KILN_EXPR_AND) {
        each_conjunct(g, e->arg[0]);
        each_conjunct(g, e->arg[1]);
    } else if (e != NULL) {
        keep_outer(g, e);
    }
}

/* What the body's guards say of the loops down to this leaf: where that does not hold,
 * nothing is stored, and stages that are computed here need not be: but threads that
 * store nothing still help to fill shared memory. */
static const kiln_stmt *guarded_here(kiln_nest *n, size_t leaf, const kiln_stmt *body) {
    outer_guard g = {.n = n, .leaf = leaf};
    if (kiln_fills_shared(n->lo, n->l->stage))
        return body;
    each_conjunct(&g, guard_of(n, false));
    if (kiln_te_reduction(n->l->te) != NULL)
        each_conjunct(&g, guard_of(n, true));
    return guarded(n->lo->arena, g.cond, body);
}

/* Stages attached to a loop of this stage, computed before `body`, inside their
 * allocations. */
static kiln_status attach_stages(kiln_nest *n, size_t leaf, const kiln_stmt **body,
                                 kiln_err *err) {
    kiln_lowering *lo = n->lo;
    const kiln_iter *x = n->l->leaf[leaf].iter;
    bool any = false;
    for (size_t i = lo->schedule->stage.n; i-- > 0;) {
        kiln_lowered_stage *l = &lo->stage[i];
        if (l->te == NULL || l->stage->attach != KILN_ATTACH_AT ||
            l->stage->at_stage != n->l->stage || l->stage->at_iter != x)
            continue;
        kiln_nest inner = {.lo = lo, .l = l, .inputs = n->inputs};
        const kiln_stmt *own = NULL;
        KILN_TRY(kiln_nest_make(&inner, &own, err));
        const kiln_stmt *both[] = {own, *body};
        const kiln_stmt *s = kiln_s_seq(lo->arena, both, 2);
        for (int k = 0; k < l->te->n_out; k++)
            s = kiln_s_alloc(lo->arena, l->buffer[k], s);
        *body = s;
        any = true;
    }
    if (any)
        *body = guarded_here(n, leaf, *body);
    return KILN_OK;
}

static void map_axes(kiln_nest *n) {
    kiln_arena *a = n->lo->arena;
    const kiln_lowered_stage *l = n->l;
    n->map = kiln_array(a, kiln_subst, l->te->rank + l->te->n_reduce);
    for (int i = 0; i < l->te->rank; i++)
        n->map[n->n_map++] = (kiln_subst){
            l->te->axis[i]->var,
            kiln_simplify_expr(&n->lo->ranges, a,
                               kiln_x_add(a, l->region.min[i], l->root[i]))};
    for (int i = 0; i < l->te->n_reduce; i++)
        n->map[n->n_map++] = (kiln_subst){
            l->te->reduce[i]->var,
            kiln_simplify_expr(&n->lo->ranges, a, l->root[l->te->rank + i])};
}

/* What a mark says of a stage that is filled ahead. */
static const char *fill_word(const kiln_stage *st) {
    if (st->multiplies)
        return st->behind > 0 ? "async 1" : "async 0";
    return st->is_async ? "async" : NULL;
}

static kiln_status extern_nest(kiln_nest *n, const kiln_stmt **out) {
    const kiln_te *te = n->l->te;
    const kiln_buffer *in[KILN_MAX_AXES], *to[KILN_MAX_TE_OUTS];
    for (int i = 0; i < te->n_in; i++) {
        const kiln_stage *st = kiln_schedule_of(n->lo->schedule, te->in[i]);
        in[i] = NULL;
        if (st != NULL)
            in[i] = n->lo->stage[kiln_stage_position(st)].buffer[0];
        for (size_t k = 0; k < n->inputs.n; k++)
            if (n->inputs.v[k].te == te->in[i])
                in[i] = n->inputs.v[k].buffer;
        if (in[i] == NULL)
            n->unbound = te->in[i];
    }
    for (int i = 0; i < te->n_out; i++)
        to[i] = n->l->buffer[i];
    *out = n->unbound == NULL ? te->ext->build(n->lo->arena, te, in, to)
                              : kiln_s_nothing(n->lo->arena);
    return KILN_OK;
}

kiln_status kiln_nest_make(kiln_nest *n, const kiln_stmt **out, kiln_err *err) {
    kiln_arena *a = n->lo->arena;
    const kiln_lowered_stage *l = n->l;
    const kiln_stmt *s = NULL;
    if (l->te->kind == KILN_TE_EXTERN) {
        KILN_TRY(extern_nest(n, &s));
    } else {
        map_axes(n);
        const bool is_reduction = kiln_te_reduction(l->te) != NULL;
        const size_t first =
            is_reduction ? first_reduce_leaf(l->stage) : l->stage->leaf.n;
        s = is_reduction ? update_body(n) : plain_body(n);
        for (size_t i = l->stage->leaf.n; i-- > 0;) {
            KILN_TRY(attach_stages(n, i, &s, err));
            s = wrap_loop(n, &l->leaf[i], NULL, with_prefetches(n, i, s));
            const bool is_tensor =
                l->stage->tensor != NULL && l->leaf[i].iter == l->stage->tensor_iter;
            if (is_tensor && !is_one_body(l->stage))
                s = marked(n, s);
            if (is_reduction && i == first) {
                const kiln_stmt *both[] = {init_nest(n, first), s};
                s = KILN_FAULT(reduction_start) ? s : kiln_s_seq(a, both, 2);
            }
            if (is_tensor && is_one_body(l->stage))
                s = marked(n, s);
        }
        if (is_reduction &&
            first == l->stage->leaf.n) { /* no reduction axes are left: one term */
            const kiln_stmt *both[] = {init_body(n), s};
            s = kiln_s_seq(a, both, 2);
        }
    }
    if (n->unbound != NULL)
        return kiln_fail(err, KILN_ERR_ARG,
                         "lower: '%s' reads '%s', which is not among the arguments",
                         l->te->name, n->unbound->name);
    s = kiln_s_attr(a, KILN_STMT_ATTR_STAGE, l->te->name, NULL, NULL, s);
    for (int i = 0; l->stage->double_buffer && i < l->te->n_out; i++)
        s = kiln_s_attr(
            a, KILN_STMT_ATTR_DOUBLE_BUFFER, fill_word(l->stage), l->buffer[i],
            l->stage->copies > 2 ? kiln_x_index(a, l->stage->copies) : NULL, s);
    *out = s;
    return KILN_OK;
}

/* ---- the program ----------------------------------------------------------------- */

kiln_status kiln_lower(kiln_arena *a, const kiln_schedule *s,
                       const kiln_te *const *args, size_t n_args, size_t n_inputs,
                       const char *name, kiln_program **out, kiln_err *err) {
    KILN_ASSERT(n_inputs <= n_args, "'%s' has %zu inputs of %zu arguments", name,
                n_inputs, n_args);
    kiln_lowering lo = {.arena = a, .schedule = s, .ranges = {.arena = a}};
    const kiln_te **te = kiln_schedule_inlined(a, s);
    lo.stage = kiln_array(a, kiln_lowered_stage, s->stage.n);
    for (size_t i = 0; i < s->stage.n; i++) {
        lo.stage[i].stage = s->stage.v[i];
        lo.stage[i].te = s->stage.v[i]->attach == KILN_ATTACH_INLINE ? NULL : te[i];
    }
    kiln_program *p = kiln_new(a, kiln_program);
    p->name = name;
    p->arena = a;
    KILN_TRY(kiln_infer_bounds(&lo, err));
    KILN_TRY(kiln_check_ahead(&lo, err));
    kiln_nest arguments = {.lo = &lo};
    KILN_TRY(bind_arguments(&arguments, args, n_args, n_inputs, p, err));
    KILN_TRY(make_buffers(&lo, err));

    const kiln_stmt *body = kiln_s_nothing(a);
    for (size_t i = s->stage.n; i-- > 0;) {
        kiln_lowered_stage *l = &lo.stage[i];
        if (l->te == NULL || l->stage->attach != KILN_ATTACH_ROOT)
            continue;
        kiln_nest n = {.lo = &lo, .l = l, .inputs = arguments.inputs};
        const kiln_stmt *own = NULL;
        KILN_TRY(kiln_nest_make(&n, &own, err));
        const kiln_stmt *both[] = {own, body};
        body = kiln_s_seq(a, both, 2);
        for (int k = 0; k < l->te->n_out; k++)
            if (l->buffer[k]->arg < 0)
                body = kiln_s_alloc(a, l->buffer[k], body);
    }
    p->body = body;
    KILN_ASSERT((size_t)p->n_args >= n_args && p->n_inputs <= p->n_args,
                "program '%s' has %d of %zu arguments", name, p->n_args, n_args);
    *out = p;
    return KILN_OK;
}
