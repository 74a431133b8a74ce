/* Ways of a call: as the greedy rule has it; as the oracle knows it, each template in
 * each pair of layouts; and by the rule of the greedy way's template in each layout
 * that it can do. */
#include "compiler/network/chooser/chooser_search_internal.h"
#include "compiler/network/estimate.h"

#include <string.h>

typedef struct trying {
    kiln_net_survey *s;
    kiln_net_site *site;
    kiln_arena scratch; /* of one try */
    const kiln_template *tmpl;
    kiln_space space;
} trying;

/* ---- one way --------------------------------------------------------------------- */

static void be_plain(const kiln_graph *g) {
    for (size_t i = 0; i < g->values.n; i++) {
        g->values.v[i]->type.layout = (kiln_layout){.n_order = 0};
        g->values.v[i]->type.facts = 0;
    }
}

static void set_layout(kiln_value *v, const kiln_layout *layout) {
    v->type.layout = *layout;
    v->type.facts = kiln_type_has_tails(&v->type) ? KILN_FACT_TAIL_ZERO : 0;
}

static bool same_layouts(const kiln_net_site *site, const kiln_layout *x,
                         const kiln_layout *y) {
    for (int i = 0; i < site->n_values; i++)
        if (!kiln_layout_eq(&x[i], &y[i]))
            return false;
    return true;
}

/* How it would be chosen; NULL: the template refuses it. */
static kiln_net_choice *scheduled(trying *t, const kiln_choice *c) {
    kiln_scheduled made;
    const kiln_net *n = t->s->n;
    const bool fits =
        kiln_template_apply(&t->scratch, c->tmpl, &t->site->work.workload, n->profile,
                            &c->space, &c->config, &made, NULL) == KILN_OK;
    kiln_net_choice *out =
        fits ? kiln_net_choice_of(n->arena, t->site->work.graph, c, &made) : NULL;
    kiln_arena_reset(&t->scratch);
    return out;
}

/* ns 0: to be estimated. Estimates of layouts that there are already are left out. */
static void add(trying *t, const kiln_choice *c, const kiln_net_choice *choice,
                double ns) {
    kiln_net_site *site = t->site;
    for (size_t i = 0; i < site->way.n && ns <= 0; i++)
        if (same_layouts(site, site->way.v[i].layout, choice->layout))
            return;
    be_plain(site->work.graph);
    const kiln_net_way way = {.choice = choice,
                              .layout = choice->layout,
                              .estimate = kiln_work_estimate(
                                  t->s->n->profile, &site->work, c, choice->layout),
                              .ns = ns,
                              .is_known = ns > 0};
    kiln_vec_push(t->s->arena, &site->way, way);
}

/* ---- what the oracle knows ------------------------------------------------------- */

/* false: its template does not (any more) take the work so. */
static bool read_answer(trying *t, const kiln_answer *x, kiln_choice *c) {
    const kiln_net *n = t->s->n;
    *c = (kiln_choice){.tmpl = kiln_template_find(kiln_str_from(x->tmpl)),
                       .origin = x->origin,
                       .n_tried = x->n_tried};
    if (c->tmpl == NULL || c->tmpl == &kiln_template_convert ||
        !kiln_template_fits(c->tmpl, &t->site->work.workload, n->profile))
        return false;
    kiln_space_init(&c->space, t->s->arena);
    return c->tmpl->space(&t->site->work.workload, n->profile, &c->space, NULL) ==
               KILN_OK &&
           kiln_config_parse(x->config, c->tmpl, &c->space, &c->config, NULL) ==
               KILN_OK;
}

static bool is_greedy(const trying *t, const kiln_choice *c) {
    const kiln_net_choice *greedy = t->site->way.v[0].choice;
    return c->tmpl == greedy->tmpl && c->config.n == greedy->config.n &&
           memcmp(c->config.option, greedy->config.option,
                  (size_t)c->config.n * sizeof *c->config.option) == 0;
}

/* The answer that the greedy way is; else the nearest. Costs compare only between
 * those of its distance. */
static const kiln_answer *basis_of(trying *t, const kiln_answers *known) {
    const kiln_answer *nearest = NULL;
    for (size_t i = 0; i < known->n; i++) {
        const kiln_answer *x = &known->v[i];
        kiln_choice c;
        if (!(x->ns > 0) || !read_answer(t, x, &c))
            continue;
        if (is_greedy(t, &c)) {
            t->site->way.v[0].ns = x->ns;
            t->site->way.v[0].is_known = true;
            return x;
        }
        if (nearest == NULL || x->distance < nearest->distance)
            nearest = x;
    }
    return nearest;
}

/* What the answer costs beside the basis; 0: that cannot be compared. What was measured
 * by itself alone goes by what the basis costs so, and in the network. */
static double cost_beside(const kiln_answer *x, const kiln_answer *basis) {
    if (x->distance == basis->distance)
        return x->ns;
    if (basis->alone_ns > 0 && x->distance == basis->alone_distance)
        return x->ns * basis->ns / basis->alone_ns;
    return 0;
}

static void add_known(trying *t, const kiln_answers *known) {
    const kiln_answer *basis = basis_of(t, known);
    const char *only = kiln_net_choose_options(t->s->n)->tmpl;
    for (size_t i = 0; i < known->n && basis != NULL; i++) {
        const kiln_answer *x = &known->v[i];
        kiln_choice c;
        const double ns = cost_beside(x, basis);
        if (!(x->ns > 0) || !(ns > 0) || (only != NULL && strcmp(only, x->tmpl) != 0) ||
            !read_answer(t, x, &c) || is_greedy(t, &c))
            continue;
        be_plain(t->site->work.graph);
        const kiln_net_choice *choice = scheduled(t, &c);
        if (choice != NULL)
            add(t, &c, choice, ns);
    }
}

/* ---- by rule, in other layouts --------------------------------------------------- */

static kiln_choice by_rule(const trying *t) {
    return (kiln_choice){
        .tmpl = t->tmpl,
        .space = t->space,
        .config = t->tmpl->guess(&t->site->work.workload, t->s->n->profile, &t->space),
        .origin = KILN_ORIGIN_GUESS};
}

/* Row-major, blocks of a vector, of half of one. */
static bool is_sensible(const trying *t, int64_t block) {
    const kiln_type *y = &t->site->work.workload.anchor->out[0]->type;
    kiln_layout palette[KILN_NET_MAX_PALETTE];
    const int n = kiln_net_palette(t->s->n->profile, y, palette);
    for (int i = 0; i < n; i++)
        if ((i == 0 ? 1 : palette[i].block[0].size) == block)
            return true;
    return false;
}

/* The knobs' numbers; how many. */
static int layout_knobs(const trying *t, int knob[KILN_MAX_LAYOUT_KNOBS]) {
    int n = 0;
    for (int i = 0; t->tmpl->layout_knobs != NULL && t->tmpl->layout_knobs[i] != NULL;
         i++)
        for (int k = 0; k < t->space.n && n < KILN_MAX_LAYOUT_KNOBS; k++)
            if (strcmp(t->space.knob[k].name, t->tmpl->layout_knobs[i]) == 0)
                knob[n++] = k;
    return n;
}

static void set_options(kiln_config *c, const int *knob, const int *option, int n) {
    for (int i = 0; i < n; i++)
        c->option[knob[i]] = (int16_t)option[i];
}

/* The rule is asked again once its inputs are known to lie so. */
static void try_blocks(trying *t, const int *knob, const int *option, int n) {
    const kiln_graph *g = t->site->work.graph;
    be_plain(g);
    kiln_choice c = by_rule(t);
    set_options(&c.config, knob, option, n);
    const kiln_net_choice *choice = scheduled(t, &c);
    if (choice == NULL)
        return;
    for (size_t i = 0; i < g->inputs.n; i++)
        set_layout(g->inputs.v[i], &choice->layout[i]);
    kiln_choice again = by_rule(t);
    set_options(&again.config, knob, option, n);
    const kiln_net_choice *other = scheduled(t, &again);
    const bool is_better =
        other != NULL && same_layouts(t->site, other->layout, choice->layout);
    add(t, is_better ? &again : &c, is_better ? other : choice, 0);
}

static void add_blocks(trying *t) {
    int knob[KILN_MAX_LAYOUT_KNOBS], option[KILN_MAX_LAYOUT_KNOBS] = {0};
    const int n = layout_knobs(t, knob);
    for (int i = 0; n > 0;) {
        bool is_tried = true;
        for (i = 0; i < n; i++)
            is_tried =
                is_tried && is_sensible(t, t->space.knob[knob[i]].value[option[i]]);
        if (is_tried)
            try_blocks(t, knob, option, n);
        for (i = 0; i < n && ++option[i] == t->space.knob[knob[i]].n; i++)
            option[i] = 0;
        if (i == n)
            break;
    }
}

/* The input with most elements that has channels; NULL: none. */
static const kiln_value *largest(const kiln_graph *g) {
    const kiln_value *best = NULL;
    for (size_t i = 0; i < g->inputs.n; i++) {
        const kiln_value *v = g->inputs.v[i];
        if (v->type.rank >= 3 &&
            (best == NULL || kiln_type_elems(&v->type) > kiln_type_elems(&best->type)))
            best = v;
    }
    return best;
}

/* Inputs with the same channels lie alike; results follow. */
static void add_given(trying *t) {
    const kiln_graph *g = t->site->work.graph;
    const kiln_value *most = largest(g);
    kiln_layout palette[KILN_NET_MAX_PALETTE];
    if (most == NULL)
        return;
    const int n = kiln_net_palette(t->s->n->profile, &most->type, palette);
    for (int i = 0; i < n; i++) {
        be_plain(g);
        for (size_t k = 0; k < g->inputs.n; k++) {
            kiln_value *v = g->inputs.v[k];
            if (v->type.rank == most->type.rank && v->type.dim[1] == most->type.dim[1])
                set_layout(v, &palette[i]);
        }
        kiln_net_go_through(g);
        for (size_t k = 0; k < g->outputs.n; k++)
            if (kiln_net_leaves(t->s->n->step.v[t->site->step].g,
                                t->site->value[g->inputs.n + k]))
                g->outputs.v[k]->type.layout = palette[0];
        const kiln_choice c = by_rule(t);
        const kiln_net_choice *choice = scheduled(t, &c);
        if (choice != NULL)
            add(t, &c, choice, 0);
    }
}

/* ---- all ------------------------------------------------------------------------- */

static kiln_status add_all(trying *t, kiln_err *err) {
    const kiln_net_choice *greedy = t->site->way.v[0].choice;
    const kiln_choose_options *o = kiln_net_choose_options(t->s->n);
    const kiln_op_work *w = &t->site->work;
    kiln_answers known = {.n = 0};
    KILN_TRY(t->tmpl->space(&w->workload, t->s->n->profile, &t->space, err));
    const kiln_choice c = {
        .tmpl = t->tmpl, .space = t->space, .config = greedy->config};
    t->site->way.v[0].estimate =
        kiln_work_estimate(t->s->n->profile, w, &c, greedy->layout);
    if (greedy->origin == KILN_ORIGIN_FILE) /* what a file says is meant */
        return KILN_OK;
    if (o->oracle != NULL)
        KILN_TRY(o->oracle->ask(o->oracle->user, t->s->arena, w, t->s->n->profile,
                                &known, err));
    for (size_t i = 0; i < known.n; i++)
        if (!(known.v[i].ns > 0)) /* an order */
            return KILN_OK;
    add_known(t, &known);
    if (t->tmpl->takes == KILN_TAKES_ITS_OWN)
        add_blocks(t);
    else if (t->tmpl->takes == KILN_TAKES_ANY &&
             w->workload.anchor->op->fuse != KILN_FUSE_OUT_FUSABLE)
        add_given(t);
    be_plain(w->graph);
    return KILN_OK;
}

kiln_status kiln_net_add_ways(kiln_net_survey *s, kiln_net_site *site, kiln_err *err) {
    trying t = {.s = s, .site = site, .tmpl = site->way.v[0].choice->tmpl};
    kiln_space_init(&t.space, s->arena);
    const kiln_status st = add_all(&t, err);
    kiln_arena_fini(&t.scratch);
    return st;
}
