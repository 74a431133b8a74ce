/* Launches by rule: a stage is computed by the threads that read it where each reads one
 * element of it and nobody else does; all others are launches of their own, one thread
 * an element, with what they make in global memory. */
#include "compiler/schedule/template/gpu/gpu.h"

typedef struct unit {
    kiln_stage *stage;
    const kiln_te *te; /* inlined; NULL: the stage is, or is bound already */
    int root;          /* unit whose threads compute it; itself: a launch */
} unit;

typedef struct planner {
    kiln_schedule *schedule;
    unit *unit;
    int n;
    kiln_err *err;
} planner;

/* ---- which stages go together ---------------------------------------------------- */

typedef struct matcher {
    const kiln_te *producer, *reader;
    const kiln_te *origin; /* what reads of the producer name */
    bool is_same, is_read;
} matcher;

/* Does the reader's element at some place read what the producer has there? */
static void match_read(void *user, const kiln_expr *e) {
    matcher *m = user;
    if (e->kind != KILN_EXPR_READ || e->u.read.te != m->origin)
        return;
    m->is_read = true;
    m->is_same = m->is_same && m->producer->rank == m->reader->rank;
    for (int i = 0; i < e->n_arg && m->is_same; i++)
        m->is_same = kiln_te_dim(m->producer, i) == kiln_te_dim(m->reader, i) &&
                     e->arg[i]->kind == KILN_EXPR_VAR &&
                     e->arg[i]->u.var == m->reader->axis[i]->var;
}

/* The unit in whose threads the unit can be computed; itself: none. */
static int root_of(const planner *p, int at) {
    const unit *u = &p->unit[at];
    int root = -1;
    if (u->stage->is_output)
        return at;
    for (int i = at + 1; i < p->n; i++) {
        const unit *r = &p->unit[i];
        const kiln_te *te = r->stage->te;
        if (r->te == NULL && r->stage->attach != KILN_ATTACH_INLINE &&
            kiln_te_reads(te, u->stage->origin))
            return at; /* a stage that others have scheduled */
        if (r->te == NULL || !kiln_te_reads(r->te, u->stage->origin))
            continue;
        matcher m = {u->te, r->te, u->stage->origin, true, false};
        for (int k = 0; k < r->te->n_out; k++)
            kiln_expr_visit(r->te->body[k], match_read, &m);
        if (!m.is_read || !m.is_same || (root >= 0 && r->root != root))
            return at;
        root = r->root;
    }
    return root >= 0 ? root : at;
}

static bool is_bound(const kiln_stage *st) {
    for (size_t i = 0; i < st->leaf.n; i++)
        if (st->leaf.v[i]->loop == KILN_LOOP_THREAD)
            return true;
    return false;
}

static bool is_open(const kiln_stage *st) {
    return st->attach == KILN_ATTACH_ROOT && !is_bound(st);
}

static void describe(planner *p, const kiln_gpu_rules *rules) {
    kiln_schedule *s = p->schedule;
    const kiln_te **te = kiln_schedule_inlined(s->arena, s);
    p->n = (int)s->stage.n;
    p->unit = kiln_array(s->arena, unit, s->stage.n);
    for (int i = 0; i < p->n; i++) {
        p->unit[i].stage = s->stage.v[i];
        p->unit[i].te = is_open(s->stage.v[i]) ? te[i] : NULL;
        p->unit[i].root = i;
    }
    for (int i = p->n; i-- > 0 && !rules->keep_apart;)
        if (p->unit[i].te != NULL)
            p->unit[i].root = root_of(p, i);
}

/* ---- one launch ------------------------------------------------------------------ */

/* Elements of a row, which vectors do not cross. */
static int64_t row_of(const kiln_te *te) {
    return te->rank > 0 ? kiln_te_dim(te, te->rank - 1) : 1;
}

static kiln_status launch(planner *p, int root, const kiln_gpu_rules *rules) {
    kiln_stage *st = p->unit[root].stage, *sum = NULL;
    kiln_gpu_share share = rules->share;
    kiln_iter *inside;
    bool has_members = false;
    for (int i = 0; i < p->n; i++)
        has_members = has_members || (i != root && p->unit[i].root == root);
    const bool is_sum = st->te->n_reduce > 0;
    if (has_members || is_sum || row_of(st->te) % share.lanes != 0)
        share.lanes = 1;
    if (is_sum)
        KILN_TRY(kiln_cache_write(st, KILN_SCOPE_LOCAL, &sum, p->err));
    KILN_TRY(kiln_gpu_deal(st, &share, &inside, p->err));
    if (sum != NULL)
        KILN_TRY(kiln_compute_at(sum, st, inside, p->err));
    for (int i = p->n; i-- > 0;) {
        kiln_stage *member = p->unit[i].stage;
        if (i == root || p->unit[i].root != root || p->unit[i].te == NULL)
            continue;
        KILN_TRY(kiln_compute_at(member, st, inside, p->err));
        KILN_TRY(kiln_set_scope(member, KILN_SCOPE_LOCAL, p->err));
    }
    return KILN_OK;
}

kiln_status kiln_gpu_rules_apply(kiln_schedule *s, const kiln_gpu_rules *rules,
                                 kiln_err *err) {
    planner p = {.schedule = s, .err = err};
    describe(&p, rules);
    for (int i = p.n; i-- > 0;)
        if (p.unit[i].te != NULL && p.unit[i].root == i)
            KILN_TRY(launch(&p, i, rules));
    return KILN_OK;
}
