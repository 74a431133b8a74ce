/* Regions of nodes that could work on permuted values.
 *
 * From a transpose, a region grows over all nodes that can take the permutation on, as
 * permute.h says. Each of them may then stay as it is or be moved, and where a value is
 * made one way and wanted the other, a transpose of it is to be paid for: as many
 * elements as it copies, and START for its kernel. What is already transposed on its
 * way in or out of the region may be had for nothing. The cheapest choice is a minimum
 * cut (min_cut.h): a node is on the source's side where it is moved. */
#include "compiler/pass/transpose_region.h"

#include "compiler/pass/min_cut.h"

enum { START = 256 }; /* elements that could be copied while a kernel is started */

void kiln_users_of(kiln_arena *a, const kiln_graph *g, kiln_users *out) {
    const size_t n = g->values.n;
    int *first = kiln_array(a, int, n + 2), n_uses = 0;
    bool *is_output = kiln_array(a, bool, n);
    for (size_t i = 0; i < g->nodes.n; i++)
        for (int k = 0; k < g->nodes.v[i]->n_in; k++)
            if (g->nodes.v[i]->in[k] != NULL) {
                first[g->nodes.v[i]->in[k]->id + 2]++;
                n_uses++;
            }
    for (size_t i = 2; i < n + 2; i++)
        first[i] += first[i - 1];
    const kiln_node **node = kiln_array(a, const kiln_node *, n_uses);
    for (size_t i = 0; i < g->nodes.n; i++)
        for (int k = 0; k < g->nodes.v[i]->n_in; k++)
            if (g->nodes.v[i]->in[k] != NULL)
                node[first[g->nodes.v[i]->in[k]->id + 1]++] = g->nodes.v[i];
    for (size_t i = 0; i < g->outputs.n; i++)
        is_output[g->outputs.v[i]->id] = true;
    *out = (kiln_users){g, first, node, is_output};
}

/* ---- regions --------------------------------------------------------------------- */

typedef struct region {
    kiln_arena *arena;
    const kiln_users *users;
    kiln_permuted *choice;   /* by node->index: what is decided */
    kiln_permuted *member;   /* by node->index: in this region */
    const kiln_perm **perm;  /* by value id: in this region */
    const kiln_perm **tried; /* by value id: the last region's that held it */
    bool *is_taken;          /* by value id: of a region that is to be rewritten */
    KILN_VEC(const kiln_node *) node;   /* members */
    KILN_VEC(const kiln_value *) value; /* with a permutation that is no identity */
    int *variable;                      /* by node->index, in the cut */
} region;

static bool is_transpose(const kiln_node *n) {
    return n != NULL && n->op == &kiln_op_transpose;
}

static bool is_free(const kiln_value *v) { return v == NULL || kiln_value_is_const(v); }

static bool agrees(const region *r, const kiln_value *v, const kiln_perm *p) {
    if (is_free(v) || p->rank == 0 || p->rank != v->type.rank)
        return true;
    return r->perm[v->id] == NULL || kiln_perm_eq(r->perm[v->id], p);
}

static void assign(region *r, const kiln_value *v, const kiln_perm *p) {
    if (is_free(v) || p->rank == 0 || p->rank != v->type.rank || r->perm[v->id] != NULL)
        return;
    r->perm[v->id] = p;
    if (!kiln_perm_is_identity(p))
        kiln_vec_push(r->arena, &r->value, v);
}

/* n joins, if all its values agree with what the region says of them. */
static void join(region *r, const kiln_node *n, int at, const kiln_perm *known) {
    if (r->member[n->index].in != NULL || is_transpose(n))
        return;
    kiln_perm *in = kiln_array(r->arena, kiln_perm, n->n_in);
    kiln_perm *out = kiln_array(r->arena, kiln_perm, n->n_out);
    if (!kiln_permute_node(n, at, known, in, out))
        return;
    bool ok = true;
    for (int k = 0; k < n->n_in; k++)
        ok = ok && agrees(r, n->in[k], &in[k]);
    for (int k = 0; k < n->n_out; k++)
        ok = ok && agrees(r, n->out[k], &out[k]);
    if (!ok)
        return;
    r->member[n->index] = (kiln_permuted){in, out};
    kiln_vec_push(r->arena, &r->node, n);
    for (int k = 0; k < n->n_in; k++)
        assign(r, n->in[k], &in[k]);
    for (int k = 0; k < n->n_out; k++)
        assign(r, n->out[k], &out[k]);
}

static void grow(region *r, const kiln_value *seed, const kiln_perm *p) {
    const kiln_users *u = r->users;
    assign(r, seed, p);
    for (size_t i = 0; i < r->value.n; i++) {
        const kiln_value *v = r->value.v[i];
        if (v->def != NULL)
            join(r, v->def, v->def->n_in + v->def_index, r->perm[v->id]);
        for (int k = u->first[v->id]; k < u->first[v->id + 1]; k++)
            for (int in = 0; in < u->node[k]->n_in; in++)
                if (u->node[k]->in[in] == v)
                    join(r, u->node[k], in, r->perm[v->id]);
    }
}

static void clear(region *r) {
    for (size_t i = 0; i < r->node.n; i++) {
        r->member[r->node.v[i]->index] = (kiln_permuted){0};
        for (int k = 0; k < r->node.v[i]->n_out; k++)
            r->perm[r->node.v[i]->out[k]->id] = NULL; /* identities too */
        for (int k = 0; k < r->node.v[i]->n_in; k++)
            if (r->node.v[i]->in[k] != NULL)
                r->perm[r->node.v[i]->in[k]->id] = NULL;
    }
    for (size_t i = 0; i < r->value.n; i++)
        r->perm[r->value.v[i]->id] = NULL;
    r->node.n = r->value.n = 0;
}

/* ---- prices ---------------------------------------------------------------------- */

/* Of making a value of that type by a transpose. */
static int64_t price(const kiln_perm *p, const kiln_type *made) {
    if (kiln_perm_is_identity(p))
        return 0;
    return kiln_perm_is_view(p, made) ? 1 : kiln_type_elems(made) + START;
}

/* One of the region's values on its way into the cut. */
typedef struct flow {
    kiln_cut cut;
    int64_t stay; /* what it costs if nothing moves */
} flow;

/* Paid where `from` is moved and one of the users is not: `any` stands between. */
static void pay_if_some_stay(flow *f, int from, const int *user, int n, int64_t cost) {
    const int any = kiln_cut_add_node(&f->cut);
    kiln_cut_add_edge(&f->cut, from, any, cost);
    for (int i = 0; i < n; i++)
        kiln_cut_add_edge(&f->cut, any, user[i], KILN_CUT_NEVER);
}

static void pay_if_some_move(flow *f, int to, const int *user, int n, int64_t cost) {
    const int any = kiln_cut_add_node(&f->cut);
    kiln_cut_add_edge(&f->cut, any, to, cost);
    for (int i = 0; i < n; i++)
        kiln_cut_add_edge(&f->cut, user[i], any, KILN_CUT_NEVER);
}

/* Who reads v: members (their variables), transposes, others. */
typedef struct readers {
    int *member, n_members;
    bool others;                /* or an output of the graph */
    bool gives_moved;           /* a transpose makes just what v is moved */
    int64_t if_moved, if_stays; /* for all transposes of v */
} readers;

static void find_readers(region *r, const kiln_value *v, readers *out) {
    const kiln_users *u = r->users;
    const int n = u->first[v->id + 1] - u->first[v->id];
    *out = (readers){.member = kiln_array(r->arena, int, n),
                     .others = u->is_output[v->id]};
    for (int k = 0; k < n; k++) {
        const kiln_node *user = u->node[u->first[v->id] + k];
        const kiln_permuted *m = &r->member[user->index];
        if (m->in != NULL) {
            out->member[out->n_members++] = r->variable[user->index];
        } else if (is_transpose(user)) {
            const kiln_perm p = kiln_perm_of(user),
                            both = kiln_perm_then(r->perm[v->id], &p);
            out->if_stays += price(&p, &user->out[0]->type);
            out->if_moved += price(&both, &user->out[0]->type);
            out->gives_moved = out->gives_moved || kiln_perm_is_identity(&both);
        } else {
            out->others = true;
        }
    }
}

static void price_value(region *r, flow *f, const kiln_value *v) {
    const kiln_perm *p = r->perm[v->id];
    const int64_t cost = price(p, &v->type);
    const bool is_made_here = v->def != NULL && r->member[v->def->index].in != NULL;
    readers who;
    find_readers(r, v, &who);
    if (is_made_here) {
        const int maker = r->variable[v->def->index];
        kiln_cut_add_edge(&f->cut, maker, KILN_CUT_SINK,
                          who.if_moved + (who.others ? cost : 0));
        kiln_cut_add_edge(&f->cut, KILN_CUT_SOURCE, maker, who.if_stays);
        f->stay += who.if_stays;
        if (!who.others)
            pay_if_some_stay(f, maker, who.member, who.n_members, cost);
        pay_if_some_move(f, maker, who.member, who.n_members, cost);
    } else if (is_transpose(v->def)) {
        const kiln_perm first = kiln_perm_of(v->def), back = kiln_perm_inverse(p),
                        both = kiln_perm_then(&first, &back);
        kiln_type moved = v->type;
        for (int i = 0; i < p->rank; i++)
            moved.dim[p->axis[i]] = v->type.dim[i];
        pay_if_some_move(f, KILN_CUT_SINK, who.member, who.n_members,
                         price(&both, &moved));
        if (who.others || who.if_stays > 0)
            return; /* it is made in any case */
        pay_if_some_stay(f, KILN_CUT_SOURCE, who.member, who.n_members, cost);
        f->stay += who.n_members > 0 ? cost : 0;
    } else if (!who.gives_moved) {
        pay_if_some_move(f, KILN_CUT_SINK, who.member, who.n_members, cost);
    }
}

/* Operands that are broadcast have to be transposed for themselves. */
static void price_broadcast(const region *r, flow *f, const kiln_node *n) {
    const kiln_permuted *m = &r->member[n->index];
    for (int k = 0; k < n->n_in; k++) {
        if (is_free(n->in[k]) || m->in[k].rank <= n->in[k]->type.rank)
            continue;
        kiln_cut_add_edge(&f->cut, r->variable[n->index], KILN_CUT_SINK,
                          kiln_type_elems(&n->in[k]->type) + START);
    }
}

/* Until this region is rewritten nobody else counts on v, nor on a transpose between v
 * and another region: both would do away with it, and make it anew on either side, for
 * ever. */
static void take(region *r, const kiln_value *v) {
    const kiln_users *u = r->users;
    r->is_taken[v->id] = true;
    if (is_transpose(v->def))
        r->is_taken[v->def->in[0]->id] = true;
    for (int k = u->first[v->id]; k < u->first[v->id + 1]; k++)
        if (is_transpose(u->node[k]))
            r->is_taken[u->node[k]->out[0]->id] = true;
}

/* Are fewer elements copied if some of the region moves? Then it is noted which. */
static int decide(region *r) {
    flow f = {.stay = 0};
    kiln_cut_init(&f.cut, r->arena);
    for (size_t i = 0; i < r->node.n; i++)
        r->variable[r->node.v[i]->index] = kiln_cut_add_node(&f.cut);
    for (size_t i = 0; i < r->value.n; i++)
        price_value(r, &f, r->value.v[i]);
    for (size_t i = 0; i < r->node.n; i++)
        price_broadcast(r, &f, r->node.v[i]);
    bool *moves = kiln_array(r->arena, bool, f.cut.first.n);
    if (kiln_cut_solve(&f.cut, moves) >= f.stay)
        return 0;
    int n = 0;
    for (size_t i = 0; i < r->node.n; i++) {
        const int index = r->node.v[i]->index;
        if (!moves[r->variable[index]])
            continue;
        r->choice[index] = r->member[index];
        n++;
    }
    for (size_t i = 0; i < r->value.n; i++)
        take(r, r->value.v[i]);
    return n;
}

/* The region around v, unless it is the same as one before. */
static int try_seed(region *r, const kiln_value *v, const kiln_perm *p) {
    if (kiln_perm_is_identity(p) || is_free(v) || v->count != NULL)
        return 0;
    if (r->tried[v->id] != NULL && kiln_perm_eq(r->tried[v->id], p))
        return 0;
    kiln_perm *seed = kiln_new(r->arena, kiln_perm);
    *seed = *p;
    grow(r, v, seed);
    bool is_open = r->node.n > 0;
    for (size_t i = 0; i < r->value.n; i++) {
        const int id = r->value.v[i]->id;
        is_open = is_open && !r->is_taken[id];
        r->tried[id] = r->perm[id];
    }
    const int n = is_open ? decide(r) : 0;
    clear(r);
    return n;
}

int kiln_transpose_choose(kiln_arena *scratch, const kiln_users *users,
                          kiln_permuted *choice) {
    const kiln_graph *g = users->g;
    region r = {.arena = scratch,
                .users = users,
                .choice = choice,
                .member = kiln_array(scratch, kiln_permuted, g->nodes.n),
                .perm = kiln_array(scratch, const kiln_perm *, g->values.n),
                .tried = kiln_array(scratch, const kiln_perm *, g->values.n),
                .is_taken = kiln_array(scratch, bool, g->values.n),
                .variable = kiln_array(scratch, int, g->nodes.n)};
    int n = 0;
    for (size_t i = 0; i < g->nodes.n; i++) {
        const kiln_node *t = g->nodes.v[i];
        if (!is_transpose(t))
            continue;
        const kiln_perm p = kiln_perm_of(t), back = kiln_perm_inverse(&p);
        n += try_seed(&r, t->out[0], &p);
        n += try_seed(&r, t->in[0], &back);
    }
    return n;
}
