/* What conversions cost, and a whole network. */
#include "compiler/network/chooser/chooser_search_internal.h"
#include "compiler/network/estimate.h"
#include "compiler/network/network_pack.h"

/* ---- conversions ----------------------------------------------------------------- */

static kiln_type type_in(const kiln_type *shape, const kiln_layout *layout) {
    kiln_type t = *shape;
    t.layout = *layout;
    t.facts = 0;
    return t;
}

/* The conversion is work of its own, by the template `convert`. *layouts: that it would
 * be measured in; NULL: it cannot be. */
static kiln_status work_of(kiln_net_survey *s, const kiln_net_conversion *c,
                           kiln_op_work *w, const char **layouts, const char **config,
                           kiln_err *err) {
    const kiln_template *t = &kiln_template_convert;
    kiln_graph *g = NULL;
    kiln_space space;
    kiln_buf text;
    *layouts = NULL;
    KILN_TRY(kiln_pack_graph(s->arena, &c->from, NULL, &c->to.layout, &g, err));
    KILN_TRY(kiln_op_work_of(s->arena, g->name, g, w, err));
    if (!kiln_template_fits(t, &w->workload, s->n->profile))
        return KILN_OK;
    kiln_space_init(&space, s->arena);
    KILN_TRY(t->space(&w->workload, s->n->profile, &space, err));
    const kiln_config as_they_lie = t->guess(&w->workload, s->n->profile, &space);
    kiln_buf_init(&text, s->arena);
    kiln_config_json(&text, t, &space, &as_they_lie);
    *config = text.p;
    *layouts = kiln_work_layouts(s->arena, &w->workload, s->n->profile, t, &space,
                                 &as_they_lie);
    return KILN_OK;
}

static kiln_status ask(kiln_net_survey *s, kiln_net_conversion *out, kiln_err *err) {
    const kiln_oracle *oracle = kiln_net_choose_options(s->n)->oracle;
    const char *layouts = NULL;
    kiln_op_work w;
    kiln_answers known = {.n = 0};
    if (oracle == NULL)
        return KILN_OK;
    KILN_TRY(work_of(s, out, &w, &layouts, &out->config, err));
    if (layouts == NULL)
        return KILN_OK;
    out->workload = kiln_str_dupv(s->arena, w.key);
    KILN_TRY(oracle->ask(oracle->user, s->arena, &w, s->n->profile, &known, err));
    for (size_t i = 0; i < known.n; i++) {
        const kiln_answer *x = &known.v[i];
        if (!(x->ns > 0) || x->layouts == NULL ||
            !kiln_str_is(kiln_str_from(x->layouts), layouts) ||
            (out->is_known && (x->distance > out->distance ||
                               (x->distance == out->distance && x->ns >= out->ns))))
            continue;
        out->ns = x->ns;
        out->is_known = true;
        out->distance = x->distance;
    }
    return KILN_OK;
}

kiln_status kiln_net_conversion_ns(kiln_net_survey *s, const kiln_type *shape,
                                   const kiln_layout *from, const kiln_layout *to,
                                   kiln_net_conversion **out, double *ns,
                                   kiln_err *err) {
    const kiln_type x = type_in(shape, from), y = type_in(shape, to);
    *ns = 0;
    if (out != NULL)
        *out = NULL;
    if (kiln_type_same_places(&x, &y))
        return KILN_OK;
    const char *key = kiln_format(s->arena, "%s;%s", kiln_type_text(s->arena, &x),
                                  kiln_type_text(s->arena, &y));
    kiln_net_conversion *known = kiln_map_get(&s->conversion, kiln_str_from(key));
    if (known == NULL) {
        kiln_net_conversion *made = kiln_new(s->arena, kiln_net_conversion);
        made->from = x;
        made->to = y;
        KILN_TRY(ask(s, made, err));
        if (!made->is_known)
            made->ns = kiln_conversion_estimate(s->n->profile, &x, &y);
        (void)kiln_map_set(s->arena, &s->conversion, kiln_str_from(key), made);
        known = made;
    }
    if (out != NULL)
        *out = known;
    *ns = known->is_known ? known->ns : known->ns * s->scale * s->hope;
    return KILN_OK;
}

/* ---- all of it ------------------------------------------------------------------- */

/* Of the same step; NULL: it came by the rule. */
static const kiln_net_site *site_of(const kiln_net_survey *s,
                                    const kiln_net_step *step) {
    for (size_t i = 0; i < s->site.n; i++)
        if (s->n->step.v[s->site.v[i].step].group == step->group)
            return &s->site.v[i];
    return NULL;
}

static bool is_way(const kiln_net_site *site, const kiln_net_way *w,
                   const kiln_net_choice *c) {
    if (w->choice == NULL || w->choice->tmpl != c->tmpl ||
        !kiln_str_is(kiln_str_from(w->choice->text), c->text))
        return false;
    for (int i = 0; i < site->n_values; i++)
        if (!kiln_layout_eq(&w->layout[i], &c->layout[i]))
            return false;
    return true;
}

static kiln_status call_ns(kiln_net_survey *s, const kiln_net_step *step, double *ns,
                           kiln_err *err) {
    const kiln_net_site *site = site_of(s, step);
    const kiln_net_choice *c = step->choice;
    for (size_t i = 0; site != NULL && i < site->way.n; i++)
        if (is_way(site, &site->way.v[i], c)) {
            *ns = site->way.v[i].ns;
            return KILN_OK;
        }
    kiln_op_work w;
    kiln_graph *part = kiln_group_graph(s->arena, step->g, step->group, NULL);
    kiln_choice choice = {.tmpl = c->tmpl, .config = c->config};
    KILN_TRY(kiln_op_work_of(s->arena, part->name, part, &w, err));
    kiln_space_init(&choice.space, s->arena);
    KILN_TRY(c->tmpl->space(&w.workload, s->n->profile, &choice.space, err));
    *ns = s->scale * kiln_work_estimate(s->n->profile, &w, &choice, c->layout);
    return KILN_OK;
}

/* A copy reads and writes: as a conversion to something else would. */
static double copy_ns(const kiln_net_survey *s, const kiln_net_slot *slot) {
    return s->scale * kiln_copy_estimate(s->n->profile, slot->bytes);
}

static kiln_status step_ns(kiln_net_survey *s, const kiln_net *n,
                           const kiln_net_step *step, double runs, double *ns,
                           kiln_err *err) {
    *ns = 0;
    if (step->kind == KILN_NET_CALL && step->group != NULL)
        return call_ns(s, step, ns, err);
    if (step->kind == KILN_NET_CALL) {
        const kiln_net_slot *from = &n->slot.v[step->operand[0]],
                            *to = &n->slot.v[step->operand[1]];
        kiln_net_conversion *c = NULL;
        KILN_TRY(kiln_net_conversion_ns(s, &from->value->type, &from->layout,
                                        &to->layout, &c, ns, err));
        if (c != NULL)
            c->calls += runs;
        return KILN_OK;
    }
    if (step->kind == KILN_NET_COPY || step->kind == KILN_NET_TAKE ||
        step->kind == KILN_NET_PUT)
        *ns = copy_ns(s, &n->slot.v[step->operand[step->kind == KILN_NET_PUT ? 0 : 1]]);
    return KILN_OK;
}

kiln_status kiln_net_account(kiln_net_survey *s, const kiln_net_rehearsal *r,
                             double *ns, kiln_err *err) {
    const kiln_net *n = &r->net;
    double runs = 1, sum = 0;
    for (size_t i = 0; i < n->step.n; i++) {
        const kiln_net_step *step = &n->step.v[i];
        double one = 0;
        if (step->kind == KILN_NET_LOOP)
            runs *= (double)step->count;
        else if (step->kind == KILN_NET_END &&
                 n->step.v[step->partner].kind == KILN_NET_LOOP)
            runs /= (double)n->step.v[step->partner].count;
        KILN_TRY(step_ns(s, n, step, runs, &one, err));
        sum += runs * one;
    }
    *ns = sum;
    return KILN_OK;
}
