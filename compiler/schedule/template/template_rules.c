/* Rules for whole schedules, after the sketch rules of Ansor (OSDI'20, section 4.1):
 * inline what is cheap to compute again, fuse a reduction's tile into its element-wise
 * consumer, compute chains (softmax, normalisations) row by row, leave the rest at
 * root. Which rule applies follows from the reads: axis p of a producer is axis r of
 * the last stage when every read between them has just that variable there. */
#include "compiler/schedule/template/template_rules.h"

#include "compiler/schedule/template/collapse.h"
#include "compiler/schedule/template/shares.h"

#include <math.h>

enum {
    L2_SHARE = 2,     /* what is kept has half of it, what passes by the other */
    TABLE_SHARE = 16, /* of all iterations: to make a table costs no more than that */
    MOST_ROWS = 8,    /* together: their sums hide each other's latency */
    MANY_TILES = 8 /* of a row: what its end wastes is little, and threads share them */
};

typedef struct unit {
    kiln_stage *stage;
    const kiln_te *te; /* inlined; NULL: the stage is */
    kiln_accesses x;
    int root;               /* unit in whose loops it is computed; itself: at root */
    int map[KILN_MAX_AXES]; /* its axis i is axis map[i] of the root; -1: none */
    uint64_t common;        /* roots: axes that all members have */
    int n_members;          /* roots: units computed inside */
    bool is_fixed;          /* an output, or extern: at root */
} unit;

typedef struct planner {
    kiln_arena *arena;
    kiln_schedule *schedule;
    const kiln_rules *rules;
    kiln_nester nester;
    unit *unit;
    int n;
    kiln_err *err;
} planner;

/* ---- which stages go together ---------------------------------------------------- */

static void describe(planner *p) {
    kiln_schedule *s = p->schedule;
    const kiln_te **te = kiln_schedule_inlined(p->arena, s);
    p->n = (int)s->stage.n;
    p->unit = kiln_array(p->arena, unit, s->stage.n);
    for (int i = 0; i < p->n; i++) {
        unit *u = &p->unit[i];
        u->stage = s->stage.v[i];
        u->root = i;
        if (u->stage->attach == KILN_ATTACH_INLINE)
            continue;
        u->te = te[i];
        u->is_fixed = u->stage->is_output || u->te->kind == KILN_TE_EXTERN;
        if (u->te->kind == KILN_TE_COMPUTE)
            kiln_accesses_of(p->arena, u->te, &u->x);
        for (int k = 0; k < u->te->rank; k++) {
            u->map[k] = k;
            if (kiln_te_dim(u->te, k) > 1)
                u->common |= UINT64_C(1) << k;
        }
    }
}

enum { ANY_AXIS = -2 }; /* an axis of one element: read at 0 */

typedef struct matcher {
    const unit *producer, *reader;
    int *map;
    bool is_first;
} matcher;

static int matched_axis(const unit *reader, const kiln_expr *index) {
    int64_t v = 0;
    if (kiln_x_is_int(index, &v))
        return ANY_AXIS;
    for (int i = 0; i < reader->te->rank && index->kind == KILN_EXPR_VAR; i++)
        if (index->u.var == reader->te->axis[i]->var)
            return reader->map[i];
    return -1;
}

static void match_read(void *user, const kiln_expr *e) {
    matcher *m = user;
    if (e->kind != KILN_EXPR_READ || e->u.read.te != m->producer->stage->origin)
        return;
    for (int i = 0; i < e->n_arg; i++) {
        int axis = matched_axis(m->reader, e->arg[i]);
        if (axis == ANY_AXIS && kiln_te_dim(m->producer->te, i) > 1)
            axis = -1;
        m->map[i] = m->is_first || m->map[i] == axis ? axis : -1;
    }
    m->is_first = false;
}

static uint64_t mask_of(const unit *u, const int *map) {
    uint64_t mask = 0;
    for (int i = 0; i < u->te->rank; i++)
        if (map[i] >= 0)
            mask |= UINT64_C(1) << map[i];
    return mask;
}

static double iterations_of(const unit *root, uint64_t axes) {
    double n = 1;
    for (int i = 0; i < root->te->rank; i++)
        if ((axes >> i & 1) != 0)
            n *= (double)kiln_te_dim(root->te, i);
    return n;
}

/* Elements computed in one iteration must stay in the cache, or fusion buys nothing. */
static bool is_worth(const planner *p, const unit *u, const unit *root,
                     uint64_t common) {
    const double n = iterations_of(root, common);
    const double bytes = (double)kiln_te_elems(u->te) * u->x.max_bytes / n;
    const int64_t l2 = kiln_cache_l2(p->nester.profile);
    return n >= 2 && bytes <= (double)l2 / L2_SHARE;
}

/* Evaluations that a unit takes with all that it reads. */
static double evaluations_behind(const planner *p, int at) {
    const unit *u = &p->unit[at];
    double n = kiln_te_evaluations(u->te);
    for (int i = 0; i < at; i++)
        if (p->unit[i].te != NULL && kiln_te_reads(u->te, p->unit[i].stage->origin))
            n += evaluations_behind(p, i);
    return n;
}

/* Tables that few iterations make, of axes that are not all that their readers share:
 * computed inside, they would leave the readers fewer loops in common. A row's mean is
 * none: a pass over the row makes it. */
static bool is_table(const planner *p, int at, const unit *root, uint64_t common) {
    return common != root->common &&
           evaluations_behind(p, at) * TABLE_SHARE <= kiln_te_evaluations(root->te);
}

/* Joins the unit of its readers where they are one. */
static void join_readers(planner *p, int at) {
    unit *u = &p->unit[at];
    int map[KILN_MAX_AXES], root = -1;
    matcher m = {.producer = u, .map = map, .is_first = true};
    for (int i = at + 1; i < p->n; i++) {
        const unit *r = &p->unit[i];
        if (r->te == NULL || !kiln_te_reads(r->te, u->stage->origin))
            continue;
        if (r->te->kind != KILN_TE_COMPUTE || (root >= 0 && r->root != root))
            return;
        root = r->root;
        m.reader = r;
        for (int k = 0; k < r->te->n_out; k++)
            kiln_expr_visit(r->te->body[k], match_read, &m);
    }
    if (root < 0 || m.is_first)
        return;
    unit *to = &p->unit[root];
    const uint64_t common = to->common & mask_of(u, map);
    if (common == 0 || is_table(p, at, to, common) || !is_worth(p, u, to, common))
        return;
    u->root = root;
    for (int i = 0; i < u->te->rank; i++)
        u->map[i] = map[i] < 0 ? -1 : map[i];
    to->common = common;
    to->n_members++;
}

static void group(planner *p) {
    for (int i = p->n; i-- > 0 && !p->rules->keep_apart;)
        if (p->unit[i].te != NULL && !p->unit[i].is_fixed)
            join_readers(p, i);
}

/* ---- parallel loops -------------------------------------------------------------- */

/* Enough for a thread that comes late, and dealt out evenly. */
static bool is_shared_well(int64_t n, int64_t cores) {
    static const double loss = 1.04;
    return n >= 4 * cores && kiln_share_loss(n, cores) <= loss;
}

/* Evaluations in a stage's loops: its own, and those of all that is computed inside. */
static double evaluations_inside(const planner *p, const kiln_stage *st) {
    double n = 0;
    for (int i = 0; i < p->n; i++)
        if (p->unit[i].te != NULL && p->unit[p->unit[i].root].stage == st)
            n += kiln_te_evaluations(p->unit[i].te);
    return n;
}

/* Beside a stage that has far more to do no fork is worth it. */
static bool is_table_of_all(const planner *p, const kiln_stage *st) {
    double most = 0;
    for (int i = 0; i < p->n; i++) {
        const double n = evaluations_inside(p, p->unit[i].stage);
        most = n > most ? n : most;
    }
    return evaluations_inside(p, st) * TABLE_SHARE <= most;
}

/* Fuses and marks the outer loops before `n_free`: those that nothing is attached to
 * and that may be fused. Loop n_free itself may run in parallel as it is. */
static kiln_status run_parallel(planner *p, kiln_stage *st,
                                const kiln_nest_outer *outer, int n_free) {
    const int64_t cores = p->nester.profile->cores;
    int i = 0;
    if (!p->rules->parallel || outer->n == 0 || is_table_of_all(p, st))
        return KILN_OK;
    while (i + 1 < outer->n && i < n_free && outer->loop[i]->extent == 1)
        i++;
    kiln_iter *x = outer->loop[i];
    for (i++; i < n_free && i < outer->n && !is_shared_well(x->extent, cores); i++)
        KILN_TRY(kiln_fuse(st, x, outer->loop[i], &x, p->err));
    return x->extent > 1 ? kiln_parallel(st, x, p->err) : KILN_OK;
}

/* ---- one group ------------------------------------------------------------------- */

static bool is_reduction(const unit *u) { return u->te->n_reduce > 0; }

static int only_member(const planner *p, int root) {
    for (int i = 0; i < p->n; i++)
        if (i != root && p->unit[i].te != NULL && p->unit[i].root == root)
            return i;
    return -1;
}

/* A reduction and what is done to each of its elements: one tile for both. */
static bool can_share_tile(const unit *root, const unit *u) {
    if (is_reduction(root) || !is_reduction(u) || u->te->n_out > 1)
        return false;
    for (int i = 0; i < u->te->rank; i++)
        if (u->map[i] < 0 && kiln_te_dim(u->te, i) > 1)
            return false;
    for (int i = 0; i < root->te->rank; i++)
        if (kiln_te_dim(root->te, i) > 1 && (root->common >> i & 1) == 0)
            return false;
    return true;
}

static kiln_status share_tile(planner *p, unit *root, unit *u, bool *done) {
    kiln_nest_outer outer;
    kiln_nester *n = &p->nester;
    const kiln_nest_plan plan = kiln_nest_plan_of(n, &u->x, NULL, ~UINT64_C(0));
    *done = plan.axis >= 0 && plan.axis < u->te->rank && u->map[plan.axis] >= 0 &&
            (plan.rows < 0 || u->map[plan.rows] >= 0);
    if (!*done)
        return KILN_OK;
    KILN_TRY(kiln_nest_fused(n, root->stage, u->stage, &u->x, u->map, &plan, &outer));
    return run_parallel(p, root->stage, &outer, outer.n - 1);
}

static int axis_of(const unit *u, int root_axis) {
    for (int i = 0; i < u->te->rank; i++)
        if (u->map[i] == root_axis)
            return i;
    return -1;
}

static int full_lanes(const planner *p, const unit *u) {
    if (p->rules->nest.lanes > 0)
        return p->rules->nest.lanes;
    const int lanes =
        p->nester.profile->vector_bytes / (u->x.max_bytes > 0 ? u->x.max_bytes : 1);
    return lanes > 0 ? lanes : 1;
}

/* Instructions of a group when the root's axis becomes vectors in all of it; -1: each
 * stage has its own vectors inside the common loops. */
static double group_cost(const planner *p, int root, int axis) {
    double sum = 0;
    for (int i = 0; i < p->n; i++) {
        const unit *u = &p->unit[i];
        if (u->te == NULL || u->root != root)
            continue;
        const int lanes = full_lanes(p, u);
        if (axis >= 0) {
            const int own = axis_of(u, axis);
            sum += own < 0 ? 0 : kiln_accesses_cost(&u->x, NULL, own, lanes);
            continue;
        }
        double least = kiln_accesses_cost(&u->x, NULL, -1, 1);
        for (int k = 0; k < u->x.n_axes; k++) {
            if (k < u->te->rank && u->map[k] >= 0 &&
                (p->unit[root].common >> u->map[k] & 1) != 0)
                continue;
            const double c = kiln_accesses_cost(&u->x, NULL, k, lanes);
            least = c < least ? c : least;
        }
        sum += least;
    }
    return sum;
}

/* The common axis that becomes vectors, or -1. */
static int shared_axis(const planner *p, int root) {
    int best = -1;
    double least = group_cost(p, root, -1);
    for (int i = 0; i < p->unit[root].te->rank; i++) {
        if ((p->unit[root].common >> i & 1) == 0)
            continue;
        const double c = group_cost(p, root, i);
        if (c < least) {
            least = c;
            best = i;
        }
    }
    return p->rules->nest.vector == 2 ? -1 : best;
}

/* The axis whose loop it is, or a part of; -1: of none. */
static int axis_of_loop(const kiln_stage *st, const kiln_iter *x) {
    const kiln_iter *of = x->split_parent != NULL ? x->split_parent : x;
    for (int i = 0; i < st->te->rank; i++)
        if (st->root.v[i] == of)
            return i;
    return -1;
}

/* What members are computed in: a loop of the root, and how they become vectors. */
typedef struct inside {
    kiln_iter *at;
    const kiln_nest_plan *plan; /* of the root */
    int shared;                 /* axis in common that becomes vectors; -1: none */
    int together,
        n_together; /* axis in common, so many of which are computed at once */
} inside;

static kiln_status place_member(planner *p, unit *root, unit *u, const inside *in) {
    int64_t extent[KILN_MAX_STAGE_AXES];
    kiln_nest_outer outer;
    uint64_t allowed = ~UINT64_C(0);
    for (int i = 0; i < u->x.n_axes; i++)
        extent[i] = u->x.extent[i];
    for (int i = 0; i < u->te->rank; i++) {
        if (u->map[i] < 0 || (root->common >> u->map[i] & 1) == 0)
            continue;
        const int64_t tile = (int64_t)in->plan->lanes * in->plan->n_vectors;
        extent[i] = u->map[i] == in->together ? in->n_together : 1;
        if (u->map[i] == in->shared)
            extent[i] = tile < u->x.extent[i] ? tile : u->x.extent[i];
        else
            allowed &= ~(UINT64_C(1) << i);
    }
    if (in->shared >= 0 && axis_of(u, in->shared) >= 0)
        allowed = UINT64_C(1) << axis_of(u, in->shared);
    u->stage->scope = KILN_SCOPE_LOCAL;
    KILN_TRY(kiln_compute_at(u->stage, root->stage, in->at, p->err));
    const kiln_nest_plan plan = kiln_nest_plan_of(&p->nester, &u->x, extent, allowed);
    return kiln_nest_apply(&p->nester, u->stage, &u->x, extent, &plan, &outer);
}

/* Is it read by a unit of the group that comes before this one, or made by one? */
static bool is_counted(const planner *p, int r, int at, const kiln_te *te) {
    for (int i = 0; i <= at; i++) {
        const unit *u = &p->unit[i];
        if (u->te == NULL || u->root != r)
            continue;
        if (u->stage->origin == te || (i < at && kiln_te_reads(u->te, te)))
            return true;
    }
    return false;
}

static double bytes_read_first(const planner *p, int r, int at) {
    const kiln_accesses *x = &p->unit[at].x;
    double bytes = 0;
    for (size_t i = 0; i < x->read.n; i++) {
        const kiln_expr *e = x->read.v[i].read;
        bool is_first = !is_counted(p, r, at, e->u.read.te);
        for (size_t k = 0; k < i && is_first; k++)
            is_first = x->read.v[k].read->u.read.te != e->u.read.te;
        if (is_first)
            bytes += (double)kiln_te_elems(e->u.read.te) *
                     (double)kiln_dtype_bytes(e->dtype);
    }
    return bytes;
}

/* Bytes that a group goes through for one element of the axes in common: what it makes,
 * and what it reads of others, once. */
static double bytes_of_column(const planner *p, int r) {
    double bytes = 0;
    for (int i = 0; i < p->n; i++) {
        const unit *u = &p->unit[i];
        if (u->te != NULL && u->root == r)
            bytes += (double)kiln_te_elems(u->te) * u->x.max_bytes +
                     bytes_read_first(p, r, i);
    }
    return bytes / iterations_of(&p->unit[r], p->unit[r].common);
}

/* Columns side by side, where an axis in common becomes vectors: those of the member with
 * the most in a register, so that none is cut in half; and several of them as long as
 * that stays in the L1 cache, so that rows far apart are read by some lines each. */
static void widen_columns(const planner *p, int r, int shared, kiln_nest_plan *plan) {
    const unit *root = &p->unit[r];
    const int64_t extent = kiln_te_dim(root->te, shared);
    const double l1 = (double)kiln_cache_l1(p->nester.profile) / 2;
    const double column = bytes_of_column(p, r);
    for (int i = 0; i < p->n && p->rules->nest.lanes == 0; i++)
        if (p->unit[i].te != NULL && p->unit[i].root == r)
            while (full_lanes(p, &p->unit[i]) >= 2 * plan->lanes &&
                   (int64_t)2 * plan->lanes <= extent)
                plan->lanes *= 2;
    for (int n = KILN_LINES_OF_ROW; n > 1 && plan->n_vectors == 1; n /= 2)
        if (column * plan->lanes * n <= l1 &&
            extent >= (int64_t)MANY_TILES * plan->lanes * n)
            plan->n_vectors = n;
}

/* Rows whose sums are made together: each stage goes through all of them before the next
 * begins, so that the lanes of one row's sum meet while others are read. As many as stay
 * in the L1 cache, and leave nothing over. */
static int rows_together(const planner *p, int r, int64_t extent) {
    static const double kept = 0.75; /* as the cycle model counts on (cycles.c) */
    const double l1 = kept * (double)kiln_cache_l1(p->nester.profile);
    int n = MOST_ROWS;
    while (n > 1 && (bytes_of_column(p, r) * n > l1 || extent % n != 0 ||
                     extent < (int64_t)MANY_TILES * n))
        n /= 2;
    return n;
}

static kiln_status part_rows(planner *p, int r, kiln_iter **loop, inside *in) {
    kiln_iter *inner;
    kiln_stage *st = p->unit[r].stage;
    const int axis = axis_of_loop(st, *loop);
    if (in->shared >= 0 || (*loop)->split_parent != NULL || axis < 0)
        return KILN_OK;
    const int n = rows_together(p, r, (*loop)->extent);
    if (n == 1)
        return KILN_OK;
    KILN_TRY(kiln_split(st, *loop, n, loop, &inner, p->err));
    in->together = axis;
    in->n_together = n;
    return KILN_OK;
}

/* Row by row: members inside the loops of the axes that all of them have. */
static kiln_status chain(planner *p, int r) {
    unit *root = &p->unit[r];
    kiln_nest_outer outer;
    const int shared = shared_axis(p, r);
    const uint64_t allowed = shared >= 0 ? UINT64_C(1) << shared : ~root->common;
    kiln_nest_plan plan = kiln_nest_plan_of(&p->nester, &root->x, NULL, allowed);
    plan.first = root->common;
    if (plan.rows >= 0 && (root->common >> plan.rows & 1) != 0) {
        plan.rows = -1; /* members would compute several rows at a time */
        plan.n_rows = 1;
    }
    if (shared >= 0 && plan.axis == shared && plan.rows < 0 &&
        p->rules->nest.vectors == 0)
        widen_columns(p, r, shared, &plan);
    KILN_TRY(kiln_nest_apply(&p->nester, root->stage, &root->x, NULL, &plan, &outer));
    int last = -1;
    for (int i = 0; i < outer.n; i++) {
        const int axis = axis_of_loop(root->stage, outer.loop[i]);
        if (axis >= 0 && (root->common >> axis & 1) != 0)
            last = i;
    }
    KILN_ASSERT(last >= 0, "stage '%s' has no loop that its members share",
                root->te->name);
    inside in = {.plan = &plan, .shared = shared, .together = -1};
    KILN_TRY(part_rows(p, r, &outer.loop[last], &in));
    in.at = outer.loop[last];
    for (int i = p->n; i-- > 0;)
        if (i != r && p->unit[i].te != NULL && p->unit[i].root == r)
            KILN_TRY(place_member(p, root, &p->unit[i], &in));
    return run_parallel(p, root->stage, &outer, last);
}

static kiln_status alone(planner *p, unit *u) {
    kiln_nest_outer outer;
    const kiln_nest_plan plan =
        kiln_nest_plan_of(&p->nester, &u->x, NULL, ~UINT64_C(0));
    if (is_reduction(u) && kiln_nest_wants_across(&p->nester, &u->x, &plan)) {
        KILN_TRY(kiln_nest_across(&p->nester, u->stage, &u->x, &plan, &outer));
        return run_parallel(p, u->stage, &outer, outer.n);
    }
    KILN_TRY(kiln_nest_apply(&p->nester, u->stage, &u->x, NULL, &plan, &outer));
    return run_parallel(p, u->stage, &outer, is_reduction(u) ? outer.n - 1 : outer.n);
}

static kiln_status schedule_root(planner *p, int r) {
    unit *root = &p->unit[r];
    bool done = false;
    if (root->te->kind != KILN_TE_COMPUTE)
        return KILN_OK;
    if (root->n_members == 0)
        return alone(p, root);
    if (root->n_members == 1) {
        const int at = only_member(p, r);
        unit *u = &p->unit[at];
        const kiln_nest_plan plan =
            kiln_nest_plan_of(&p->nester, &u->x, NULL, ~UINT64_C(0));
        if (can_share_tile(root, u) &&
            kiln_nest_wants_across(&p->nester, &u->x, &plan)) {
            u->root = at; /* few results: they need no tile in common; its turn comes */
            root->n_members = 0;
            return alone(p, root);
        }
        if (can_share_tile(root, u))
            KILN_TRY(share_tile(p, root, u, &done));
    }
    return done ? KILN_OK : chain(p, r);
}

/* Multiply-adds, and each node's results: fused to one pass, half of that count costs
 * nothing by itself. Or what is done for each of them, where that is more. */
bool kiln_rules_want_threads(const kiln_workload *w, const kiln_profile *p) {
    double work = 0;
    for (size_t i = 0; i < w->graph->nodes.n; i++) {
        kiln_cost c = {0};
        const kiln_node *n = w->graph->nodes.v[i];
        if (n->op->cost != NULL)
            n->op->cost(n, &c);
        work += fmax((double)c.muladds + (double)kiln_type_elems(&n->out[0]->type),
                     (double)c.flops / 2);
    }
    return p->cores > 1 && kiln_is_worth_fork(p, work / 2);
}

kiln_status kiln_rules_begin(kiln_arena *a, const kiln_workload *w,
                             const kiln_layout *layout, kiln_scheduled *out,
                             kiln_err *err) {
    kiln_te_graph te;
    KILN_TRY(kiln_graph_compute(a, w->graph, layout, false, &te, err));
    KILN_TRY(kiln_te_collapse(a, te.arg, te.n_args, te.n_inputs, err));
    KILN_TRY(kiln_te_uncollapse(a, te.arg, te.n_args, te.n_inputs, err));
    KILN_ASSERT(te.n_inputs < te.n_args, "'%s' has %zu inputs of %zu arguments",
                w->graph->name, te.n_inputs, te.n_args);
    out->te = te;
    out->schedule = kiln_schedule_new(a, te.arg + te.n_inputs, te.n_args - te.n_inputs);
    return KILN_OK;
}

kiln_status kiln_rules_apply(kiln_schedule *s, const kiln_profile *profile,
                             const kiln_rules *rules, kiln_err *err) {
    KILN_ASSERT(s->stage.n > 0, "rules for a schedule without stages");
    planner p = {.arena = s->arena, .schedule = s, .rules = rules, .err = err};
    p.nester = (kiln_nester){
        .arena = s->arena, .profile = profile, .choice = rules->nest, .err = err};
    KILN_TRY(kiln_rules_inlined(s, rules->inlining, err));
    describe(&p);
    group(&p);
    for (int i = p.n; i-- > 0;)
        if (p.unit[i].te != NULL && p.unit[i].root == i)
            KILN_TRY(schedule_root(&p, i));
    return KILN_OK;
}
