/* Rewriting tensor expressions for a schedule: redirected reads, inlined stages. */
#include "compiler/schedule/schedule_internal.h"

#include "compiler/graph/graph_fusion.h"

typedef struct reads {
    kiln_arena *arena;
    KILN_VEC(const kiln_te *) list;
} reads;

static void collect_read(void *user, const kiln_expr *e) {
    reads *r = user;
    if (e->kind != KILN_EXPR_READ)
        return;
    for (size_t i = 0; i < r->list.n; i++)
        if (r->list.v[i] == e->u.read.te)
            return;
    kiln_vec_push(r->arena, &r->list, e->u.read.te);
}

const kiln_te *kiln_te_rewritten(kiln_arena *a, const kiln_te *te, kiln_expr_fn fn,
                                 void *user) {
    kiln_te *copy = kiln_new(a, kiln_te);
    *copy = *te;
    copy->arena = a;
    reads r = {.arena = a};
    bool changed = false;
    for (int i = 0; i < te->n_out && te->kind == KILN_TE_COMPUTE; i++) {
        copy->body[i] = kiln_expr_rewrite(a, te->body[i], fn, user);
        changed = changed || copy->body[i] != te->body[i];
        kiln_expr_visit(copy->body[i], collect_read, &r);
    }
    if (!changed)
        return te;
    copy->n_in = (int)r.list.n;
    copy->in = r.list.v;
    return copy;
}

typedef struct redirect {
    const kiln_te *from, *to;
} redirect;

static const kiln_expr *redirect_read(void *user, kiln_arena *a, const kiln_expr *e) {
    const redirect *r = user;
    if (e->kind != KILN_EXPR_READ || e->u.read.te != r->from)
        return e;
    return kiln_x_read(a, r->to, e->u.read.out, e->arg, e->n_arg);
}

const kiln_te *kiln_te_redirected(kiln_arena *a, const kiln_te *te, const kiln_te *from,
                                  const kiln_te *to) {
    KILN_ASSERT(from->rank == to->rank && from->n_out == to->n_out,
                "'%s' of rank %d stands for '%s' of rank %d", to->name, to->rank,
                from->name, from->rank);
    if (te->kind == KILN_TE_COMPUTE)
        return kiln_te_rewritten(a, te, redirect_read, &(redirect){from, to});
    kiln_te *copy = kiln_new(a, kiln_te);
    *copy = *te;
    const kiln_te **in = kiln_array(a, const kiln_te *, te->n_in);
    for (int i = 0; i < te->n_in; i++)
        in[i] = te->in[i] == from ? to : te->in[i];
    copy->in = in;
    return copy;
}

static const kiln_expr *panel_read(void *user, kiln_arena *a, const kiln_expr *e) {
    const redirect *r = user;
    const kiln_expr *index[KILN_MAX_AXES];
    if (e->kind != KILN_EXPR_READ || e->u.read.te != r->from)
        return e;
    const int rows = e->n_arg - 2;
    const kiln_expr *width = kiln_x_index(a, kiln_te_dim(r->to, r->to->rank - 1));
    for (int i = 0; i < rows; i++)
        index[i] = e->arg[i];
    index[rows] = kiln_x_binary(a, KILN_EXPR_FLOORDIV, e->arg[rows + 1], width);
    index[rows + 1] = e->arg[rows];
    index[rows + 2] = kiln_x_binary(a, KILN_EXPR_FLOORMOD, e->arg[rows + 1], width);
    return kiln_x_read(a, r->to, e->u.read.out, index, e->n_arg + 1);
}

const kiln_te *kiln_te_paneled(kiln_arena *a, const kiln_te *te, const kiln_te *from,
                               const kiln_te *to) {
    KILN_ASSERT(te->kind == KILN_TE_COMPUTE && to->rank == from->rank + 1,
                "'%s' of rank %d are no panels of '%s'", to->name, to->rank,
                from->name);
    return kiln_te_rewritten(a, te, panel_read, &(redirect){from, to});
}

bool kiln_te_reads(const kiln_te *reader, const kiln_te *te) {
    for (int i = 0; i < reader->n_in; i++)
        if (reader->in[i] == te)
            return true;
    return false;
}

/* ---- inlining -------------------------------------------------------------------- */

typedef struct inlining {
    const kiln_schedule *schedule;
    const kiln_te *
        *te; /* by position: what an inline stage computes, itself inlined already */
} inlining;

static const kiln_expr *inline_read(void *user, kiln_arena *a, const kiln_expr *e) {
    const inlining *in = user;
    if (e->kind != KILN_EXPR_READ)
        return e;
    const kiln_stage *st = kiln_schedule_of(in->schedule, e->u.read.te);
    if (st == NULL || st->attach != KILN_ATTACH_INLINE)
        return e;
    const kiln_te *te = in->te[kiln_stage_position(st)];
    kiln_subst map[KILN_MAX_AXES];
    for (int i = 0; i < te->rank; i++)
        map[i] = (kiln_subst){te->axis[i]->var, e->arg[i]};
    return kiln_expr_substitute(a, te->body[e->u.read.out], map, (size_t)te->rank);
}

const kiln_te **kiln_schedule_inlined(kiln_arena *a, const kiln_schedule *s) {
    const kiln_te **te = kiln_array(a, const kiln_te *, s->stage.n);
    inlining in = {s, te};
    bool any = false;
    for (size_t i = 0; i < s->stage.n; i++)
        any = any || s->stage.v[i]->attach == KILN_ATTACH_INLINE;
    /* Producers come first, so a body that is put in place has nothing left to inline.
     */
    for (size_t i = 0; i < s->stage.n; i++) {
        const kiln_te *own = s->stage.v[i]->te;
        te[i] = any && own->kind == KILN_TE_COMPUTE
                    ? kiln_te_rewritten(a, own, inline_read, &in)
                    : own;
    }
    return te;
}

/* ---- how long that gets ---------------------------------------------------------- */

typedef struct measuring {
    const kiln_schedule *schedule;
    const kiln_stage *also; /* taken for inline */
    double *length;         /* by position: nodes of the body, reads put in place */
    double sum;
} measuring;

static void add_length(void *user, const kiln_expr *e) {
    measuring *m = user;
    m->sum++;
    if (e->kind != KILN_EXPR_READ)
        return;
    const kiln_stage *st = kiln_schedule_of(m->schedule, e->u.read.te);
    if (st != NULL && (st == m->also || st->attach == KILN_ATTACH_INLINE))
        m->sum += m->length[kiln_stage_position(st)];
}

bool kiln_schedule_fits_inline(const kiln_schedule *s, const kiln_stage *st) {
    kiln_arena scratch = {0};
    bool fits = true;
    measuring m = {s, st, kiln_array(&scratch, double, s->stage.n), 0};
    for (size_t i = 0; i < s->stage.n && fits; i++) {
        const kiln_te *te = s->stage.v[i]->te;
        for (int k = 0; k < te->n_out && te->kind == KILN_TE_COMPUTE; k++) {
            m.sum = 0;
            kiln_expr_visit(te->body[k], add_length, &m);
            m.length[i] = m.sum > m.length[i] ? m.sum : m.length[i];
        }
        fits = m.length[i] <= KILN_MAX_INLINED || !kiln_te_reads(te, st->origin);
    }
    kiln_arena_fini(&scratch);
    return fits;
}
