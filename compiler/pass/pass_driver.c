/* The pass driver: facts, regions, verification, printing, checking of meaning. */
#include "compiler/pass/meaning.h"

static const kiln_pass *const passes[] = {
#define KILN_PASS(name) &kiln_pass_##name,
#include "compiler/pass/passes.def"
#undef KILN_PASS
};
enum { N_PASSES = sizeof passes / sizeof passes[0] };

const kiln_pass *kiln_pass_at(int i) {
    return i >= 0 && i < N_PASSES ? passes[i] : NULL;
}

const kiln_pass *kiln_pass_find(kiln_str name) {
    for (int i = 0; i < N_PASSES; i++)
        if (kiln_str_is(name, passes[i]->name))
            return passes[i];
    return NULL;
}

static kiln_status run_on(const kiln_pass *p, kiln_graph *g, int depth,
                          const kiln_pass_options *o, kiln_fold_budget *budget,
                          bool *changed, kiln_err *err);

static kiln_status run_on_regions(const kiln_pass *p, kiln_graph *g, int depth,
                                  const kiln_pass_options *o, kiln_fold_budget *budget,
                                  bool *changed, kiln_err *err) {
    for (size_t i = 0; i < g->nodes.n; i++) {
        const kiln_node *n = g->nodes.v[i];
        for (size_t k = 0; k < n->op->n_attr; k++)
            if (n->op->attr[k].kind == KILN_ATTR_GRAPH && n->attr[k].graph != NULL)
                KILN_TRY(
                    run_on(p, n->attr[k].graph, depth + 1, o, budget, changed, err));
    }
    return KILN_OK;
}

static kiln_status run_on(const kiln_pass *p, kiln_graph *g, int depth,
                          const kiln_pass_options *o, kiln_fold_budget *budget,
                          bool *changed, kiln_err *err) {
    if (depth >= KILN_MAX_REGION_DEPTH)
        return kiln_fail(err, KILN_ERR_LIMIT,
                         "region '%s' is nested deeper than the limit of %d", g->name,
                         KILN_MAX_REGION_DEPTH);
    bool inside = false;
    KILN_TRY(run_on_regions(p, g, depth, o, budget, &inside, err));
    kiln_arena scratch = {0};
    kiln_pass_cx cx = {.scratch = &scratch,
                       .err = err,
                       .budget = budget,
                       .steps = o->recurrent_steps > 1 ? o->recurrent_steps : 1};
    const size_t n_in = g->inputs.n, n_out = g->outputs.n;
    const kiln_status st = p->run(g, &cx);
    kiln_arena_fini(&scratch);
    if (st != KILN_OK)
        return st;
    KILN_ASSERT(depth > 0 || (g->inputs.n == n_in && g->outputs.n == n_out),
                "pass '%s' changed how many inputs and outputs there are", p->name);
    if (cx.changed || inside) {
        g->facts &= p->keeps;
        *changed = true;
    }
    g->facts |= p->makes;
    return KILN_OK;
}

static bool must_verify(const kiln_pass_options *o) {
#ifdef NDEBUG
    return o->verify;
#else
    (void)o;
    return true;
#endif
}

static kiln_status check_needs(const kiln_pass *p, const kiln_graph *g, kiln_err *err) {
    const unsigned missing = p->needs & ~g->facts;
    if (missing == 0)
        return KILN_OK;
    kiln_arena a = {0};
    kiln_buf names;
    kiln_buf_init(&names, &a);
    for (int i = 0; i < KILN_N_GRAPH_FACTS; i++)
        if ((missing >> i & 1u) != 0 && kiln_graph_fact_names[i] != NULL)
            kiln_buf_printf(&names, "%s%s", names.n > 0 ? ", " : "",
                            kiln_graph_fact_names[i]);
    kiln_fail(
        err, KILN_ERR_ARG,
        "pass '%s' needs facts %s, which graph '%s' has not; run the passes before "
        "it",
        p->name, names.p, g->name);
    kiln_arena_fini(&a);
    return KILN_ERR_ARG;
}

static kiln_status run_one(const kiln_pass *p, kiln_graph *g,
                           const kiln_pass_options *o, kiln_fold_budget *budget,
                           kiln_err *err) {
    KILN_ASSERT(p->run != NULL, "pass '%s' has no function", p->name);
    KILN_TRY(check_needs(p, g, err));
    bool changed = false;
    const size_t before = g->nodes.n;
    kiln_status st = run_on(p, g, 0, o, budget, &changed, err);
    if (st == KILN_OK && changed && must_verify(o))
        st = kiln_graph_verify(g, err);
    if (st != KILN_OK) {
        kiln_note(err, "running pass '%s' on graph '%s'", p->name, g->name);
        return st;
    }
    KILN_LOG(DEBUG, p->name, "graph '%s': %zu nodes, were %zu%s", g->name, g->nodes.n,
             before, changed ? "" : "; nothing to do");
    const bool wanted =
        o->print_after != NULL && (kiln_str_is(kiln_str_from(o->print_after), "all") ||
                                   kiln_str_is(kiln_str_from(o->print_after), p->name));
    if (wanted && o->print != NULL)
        o->print(o->user, p->name, g);
    return KILN_OK;
}

static kiln_status run_checked(const kiln_pass *p, kiln_graph *g,
                               const kiln_pass_options *o, kiln_fold_budget *budget,
                               kiln_meaning *before, kiln_err *err) {
    KILN_TRY(run_one(p, g, o, budget, err));
    if (!o->check)
        return KILN_OK;
    kiln_meaning after = {0};
    kiln_meaning_of(g, o->check_seed, &after);
    const kiln_status st = kiln_meaning_compare(p, g, before, &after, err);
    kiln_meaning_fini(before);
    *before = after;
    return st;
}

static kiln_status run_list(const kiln_pass *const *list, int n, kiln_graph *g,
                            const kiln_pass_options *o, kiln_err *err) {
    KILN_ASSERT(n > 0 && g != NULL, "%d passes over a graph", n);
    const kiln_pass_options none = {0};
    o = o == NULL ? &none : o;
    kiln_meaning meaning = {0};
    kiln_fold_budget budget;
    kiln_status st = KILN_OK;
    kiln_fold_budget_init(&budget, g);
    if (o->check)
        kiln_meaning_of(g, o->check_seed, &meaning);
    for (int i = 0; st == KILN_OK && i < n; i++) {
        st = run_checked(list[i], g, o, &budget, &meaning, err);
        st = st == KILN_OK ? kiln_interrupt_check(err) : st;
    }
    kiln_meaning_fini(&meaning);
    return st;
}

kiln_status kiln_graph_optimize(kiln_graph *g, const kiln_pass_options *o,
                                kiln_err *err) {
    return run_list(passes, N_PASSES, g, o, err);
}

kiln_status kiln_pass_run(const kiln_pass *p, kiln_graph *g, const kiln_pass_options *o,
                          kiln_err *err) {
    return run_list(&p, 1, g, o, err);
}
