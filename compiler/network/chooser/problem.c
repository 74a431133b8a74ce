/* Sites and their ways as a problem of options (pbqp.h).
 *
 * A node for each site, whose options are its ways. Between who makes a value and the
 * only one who reads it lies what the conversion costs. A value that several read has a
 * node too: in which layout it is made, and into which others it is converted, each
 * once; who makes it must agree with the first, who reads it finds one of them.
 * Outputs of the network are read row-major, those of regions as they are handed on.
 * Steps and conversions of a region count as often as it runs. */
#include "compiler/network/chooser/chooser_search_internal.h"
#include "compiler/network/pbqp/pbqp.h"

#include <math.h>

enum {
    MAX_CELLS = 1 << 22, /* of tables: some tens of milliseconds */
    MAX_LAYOUTS = 8,     /* of one value, as it is made and read */
    MAX_WANTED = 5       /* that one value may be converted to at once */
};

/* Who makes a value, or reads it. */
typedef struct end {
    int site;    /* -1: nobody who chooses; row-major */
    int at;      /* among the site's values */
    double runs; /* of the reader */
} end;

typedef struct flow {
    const kiln_value *value;
    end maker;
    KILN_VEC(end) reader;
} flow;

typedef struct builder {
    kiln_net_survey *s;
    kiln_arena scratch;
    kiln_pbqp p;
    flow *flow; /* by the survey's values */
    kiln_err *err;
} builder;

static const kiln_layout plain = {.n_order = 0};

static int n_ways(const builder *b, const end *e) {
    return e->site < 0 ? 1 : (int)b->s->site.v[e->site].way.n;
}

static const kiln_layout *layout_at(const builder *b, const end *e, int way) {
    return e->site < 0 ? &plain : &b->s->site.v[e->site].way.v[way].layout[e->at];
}

static kiln_status cost(builder *b, const kiln_value *v, const kiln_layout *from,
                        const kiln_layout *to, double *ns) {
    return kiln_net_conversion_ns(b->s, &v->type, from, to, NULL, ns, b->err);
}

/* ---- one reader ------------------------------------------------------------------ */

/* A node that stands for what has no choice. */
static int node_of(builder *b, int site) {
    static const double nothing = 0;
    return site >= 0 ? site : kiln_pbqp_add_node(&b->scratch, &b->p, 1, &nothing);
}

static kiln_status add_pair(builder *b, const flow *f, const end *r) {
    const int n = n_ways(b, &f->maker), m = n_ways(b, r);
    double *ns = kiln_array(&b->scratch, double, n *m);
    double most = 0;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < m; k++) {
            KILN_TRY(cost(b, f->value, layout_at(b, &f->maker, i), layout_at(b, r, k),
                          &ns[i * m + k]));
            ns[i * m + k] *= r->runs;
            most = fmax(most, ns[i * m + k]);
        }
    if (most > 0 && (f->maker.site >= 0 || r->site >= 0) && f->maker.site != r->site)
        kiln_pbqp_add_edge(&b->scratch, &b->p, node_of(b, f->maker.site),
                           node_of(b, r->site), ns);
    return KILN_OK;
}

/* ---- several readers ------------------------------------------------------------- */

typedef struct layouts {
    const kiln_layout *v[MAX_LAYOUTS];
    int n;
} layouts;

static int find(const layouts *l, const kiln_layout *x) {
    for (int i = 0; i < l->n; i++)
        if (kiln_layout_eq(l->v[i], x))
            return i;
    return -1;
}

static bool add_layouts(const builder *b, layouts *l, const end *e) {
    for (int i = 0; i < n_ways(b, e); i++) {
        const kiln_layout *x = layout_at(b, e, i);
        if (find(l, x) >= 0)
            continue;
        if (l->n == MAX_LAYOUTS)
            return false;
        l->v[l->n++] = x;
    }
    return true;
}

/* Made in one layout, and converted to some: an option of a value's node. */
typedef struct state {
    int made;       /* among those that are made */
    unsigned extra; /* of those that are wanted, as bits */
} state;

typedef struct shared {
    const flow *f;
    layouts made, wanted;
    KILN_VEC(state) state;
    int node;
} shared;

/* Is the wanted layout there? */
static bool has(const shared *x, const state *s, const kiln_layout *wanted) {
    const int i = find(&x->wanted, wanted);
    KILN_ASSERT(i >= 0, "a layout of '%s' that nobody wants", x->f->value->name);
    kiln_type from = x->f->value->type, to = from;
    from.layout = *x->made.v[s->made];
    to.layout = *wanted;
    return (s->extra >> i & 1u) != 0 || kiln_type_same_places(&from, &to);
}

/* A conversion runs as often as the reader that is repeated most: where others would
 * share it, that says too much. */
static double runs_of(const flow *f) {
    double most = 0;
    for (size_t i = 0; i < f->reader.n; i++)
        most = fmax(most, f->reader.v[i].runs);
    return most;
}

static kiln_status add_states(builder *b, shared *x) {
    const double runs = runs_of(x->f);
    KILN_VEC(double) all = {0};
    for (int made = 0; made < x->made.n; made++)
        for (unsigned extra = 0; extra < 1u << x->wanted.n; extra++) {
            const state s = {made, extra}, none = {made, 0};
            double sum = 0;
            bool is_idle = false;
            for (int i = 0; i < x->wanted.n; i++) {
                double ns = 0;
                if ((extra >> i & 1u) == 0)
                    continue;
                is_idle = is_idle || has(x, &none, x->wanted.v[i]);
                KILN_TRY(cost(b, x->f->value, x->made.v[made], x->wanted.v[i], &ns));
                sum += runs * ns;
            }
            if (is_idle) /* it lies so as it is */
                continue;
            kiln_vec_push(&b->scratch, &x->state, s);
            kiln_vec_push(&b->scratch, &all, sum);
        }
    x->node = kiln_pbqp_add_node(&b->scratch, &b->p, (int)all.n, all.v);
    return KILN_OK;
}

static void add_maker(builder *b, const shared *x) {
    const end *maker = &x->f->maker;
    const int n = n_ways(b, maker), m = (int)x->state.n;
    double *ns = kiln_array(&b->scratch, double, n *m);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < m; k++)
            ns[i * m + k] = find(&x->made, layout_at(b, maker, i)) == x->state.v[k].made
                                ? 0
                                : HUGE_VAL;
    if (maker->site >= 0)
        kiln_pbqp_add_edge(&b->scratch, &b->p, maker->site, x->node, ns);
}

static void add_reader(builder *b, const shared *x, const end *r) {
    const int n = n_ways(b, r), m = (int)x->state.n;
    double *ns = kiln_array(&b->scratch, double, n *m);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < m; k++)
            ns[i * m + k] = has(x, &x->state.v[k], layout_at(b, r, i)) ? 0 : HUGE_VAL;
    kiln_pbqp_add_edge(&b->scratch, &b->p, node_of(b, r->site), x->node, ns);
}

/* Where there are too many layouts, as if each reader had it converted for itself. */
static kiln_status add_shared(builder *b, const flow *f) {
    shared x = {.f = f};
    bool fits = add_layouts(b, &x.made, &f->maker);
    for (size_t i = 0; i < f->reader.n; i++)
        fits = fits && add_layouts(b, &x.wanted, &f->reader.v[i]);
    if (!fits || x.wanted.n > MAX_WANTED) {
        for (size_t i = 0; i < f->reader.n; i++)
            KILN_TRY(add_pair(b, f, &f->reader.v[i]));
        return KILN_OK;
    }
    const state as_made = {.extra = 0};
    bool is_there = x.made.n == 1;
    for (int i = 0; i < x.wanted.n; i++)
        is_there = is_there && has(&x, &as_made, x.wanted.v[i]);
    if (is_there)
        return KILN_OK;
    KILN_TRY(add_states(b, &x));
    add_maker(b, &x);
    for (size_t i = 0; i < f->reader.n; i++)
        add_reader(b, &x, &f->reader.v[i]);
    return KILN_OK;
}

/* ---- all ------------------------------------------------------------------------- */

/* Read row-major, or in the layout of what it is handed on as. */
static void add_outputs(builder *b, const kiln_net_region *region) {
    for (size_t i = 0; i < region->g->outputs.n; i++) {
        const int number = region->number[region->g->outputs.v[i]->id];
        const int as = region->output != NULL ? region->output[i] : -1;
        end r = {.site = -1};
        if (as == number)
            continue;
        if (as >= 0)
            r = b->flow[as].maker;
        r.runs = region->runs;
        kiln_vec_push(&b->scratch, &b->flow[number].reader, r);
    }
}

static void find_flows(builder *b) {
    const kiln_net_survey *s = b->s;
    b->flow = kiln_arena_array(&b->scratch, s->value.n, sizeof *b->flow);
    for (size_t i = 0; i < s->value.n; i++) {
        b->flow[i].value = s->value.v[i];
        b->flow[i].maker.site = -1;
    }
    for (size_t i = 0; i < s->site.n; i++) {
        const kiln_net_site *site = &s->site.v[i];
        for (int k = 0; k < site->n_values; k++) {
            flow *f = &b->flow[site->number[k]];
            const end e = {.site = (int)i, .at = k, .runs = site->runs};
            if (k < site->n_read) {
                kiln_vec_push(&b->scratch, &f->reader, e);
                continue;
            }
            KILN_ASSERT(f->maker.site < 0, "'%s' is made twice", f->value->name);
            f->maker = e;
        }
    }
    for (size_t i = 0; i < s->region.n; i++)
        add_outputs(b, &s->region.v[i]);
}

static kiln_status build(builder *b) {
    for (size_t i = 0; i < b->s->site.n; i++) {
        const kiln_net_site *site = &b->s->site.v[i];
        double *ns = kiln_array(&b->scratch, double, site->way.n);
        for (size_t k = 0; k < site->way.n; k++)
            ns[k] = site->runs * site->way.v[k].ns;
        (void)kiln_pbqp_add_node(&b->scratch, &b->p, (int)site->way.n, ns);
    }
    find_flows(b);
    for (size_t i = 0; i < b->s->value.n; i++) {
        const flow *f = &b->flow[i];
        if (f->reader.n == 1)
            KILN_TRY(add_pair(b, f, &f->reader.v[0]));
        else if (f->reader.n > 1)
            KILN_TRY(add_shared(b, f));
    }
    return KILN_OK;
}

kiln_status kiln_net_solve(kiln_net_survey *s, kiln_net_solution *out, kiln_err *err) {
    builder b = {.s = s, .err = err};
    kiln_pbqp_answer x;
    const kiln_status st = build(&b);
    if (st == KILN_OK) {
        kiln_pbqp_solve(&b.scratch, &b.p, MAX_CELLS, &x);
        *out = (kiln_net_solution){.way = kiln_array(s->arena, int, s->site.n),
                                   .ns = x.cost,
                                   .is_least = x.is_least,
                                   .n_nodes = (int)b.p.node.n,
                                   .n_guessed = x.n_guessed};
        for (size_t i = 0; i < b.p.node.n; i++)
            out->n_options += b.p.node.v[i].n;
        for (size_t i = 0; i < s->site.n; i++) {
            KILN_ASSERT(x.option[i] >= 0 && (size_t)x.option[i] < s->site.v[i].way.n,
                        "site %zu goes way %d of %zu", i, x.option[i],
                        s->site.v[i].way.n);
            out->way[i] = x.option[i];
        }
    }
    kiln_arena_fini(&b.scratch);
    return st;
}
