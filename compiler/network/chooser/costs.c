/* What conversions cost, and a whole network. */
#include "compiler/network/chooser/search_internal.h"
#include "compiler/network/estimate.h"
#include "compiler/network/pack.h"

/* ---- conversions ----------------------------------------------------------------- */

static kiln_type type_in(const kiln_type *shape, const kiln_layout *layout) {
    kiln_type t = *shape;
    t.layout = *layout;
    t.facts = 0;
    return t;
}

typedef struct conversion {
    double ns;
    bool is_known;
} conversion;

/* The conversion is work of its own: an identity with two layouts. */
static kiln_status ask(kiln_net_survey *s, const kiln_type *from, const kiln_type *to,
                       conversion *out, kiln_err *err) {
    const kiln_oracle *oracle = kiln_net_choose_options(s->n)->oracle;
    const char *layouts =
        kiln_format(s->arena, "%s;%s;", kiln_type_text(s->arena, from),
                    kiln_type_text(s->arena, to));
    kiln_graph *g = NULL;
    kiln_op_work w;
    kiln_answers known = {.n = 0};
    if (oracle == NULL)
        return KILN_OK;
    KILN_TRY(kiln_pack_graph(s->arena, from, &to->layout, &g, err));
    KILN_TRY(kiln_op_work_of(s->arena, g->name, g, &w, err));
    KILN_TRY(oracle->ask(oracle->user, s->arena, &w, s->n->profile, &known, err));
    for (size_t i = 0; i < known.n; i++) {
        const kiln_answer *x = &known.v[i];
        if (x->ns > 0 && x->layouts != NULL &&
            kiln_str_is(kiln_str_from(x->layouts), layouts) &&
            (!out->is_known || x->ns < out->ns))
            *out = (conversion){x->ns, true};
    }
    return KILN_OK;
}

kiln_status kiln_net_conversion_ns(kiln_net_survey *s, const kiln_type *shape,
                                   const kiln_layout *from, const kiln_layout *to,
                                   double *ns, kiln_err *err) {
    const kiln_type x = type_in(shape, from), y = type_in(shape, to);
    *ns = 0;
    if (kiln_type_same_places(&x, &y))
        return KILN_OK;
    const char *key = kiln_format(s->arena, "%s;%s", kiln_type_text(s->arena, &x),
                                  kiln_type_text(s->arena, &y));
    const conversion *known = kiln_map_get(&s->conversion, kiln_str_from(key));
    if (known == NULL) {
        conversion *made = kiln_new(s->arena, conversion);
        KILN_TRY(ask(s, &x, &y, made, err));
        if (!made->is_known)
            made->ns = kiln_conversion_estimate(s->n->profile, &x, &y);
        (void)kiln_map_set(s->arena, &s->conversion, kiln_str_from(key), made);
        known = made;
    }
    *ns = known->is_known ? known->ns : known->ns * s->scale;
    return KILN_OK;
}

/* ---- all of it ------------------------------------------------------------------- */

/* Of the same step; NULL: a step of a region, or of the rule's. */
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
                           const kiln_net_step *step, double *ns, kiln_err *err) {
    *ns = 0;
    if (step->kind == KILN_NET_CALL && step->group != NULL)
        return call_ns(s, step, ns, err);
    if (step->kind == KILN_NET_CALL) {
        const kiln_net_slot *from = &n->slot.v[step->operand[0]],
                            *to = &n->slot.v[step->operand[1]];
        return kiln_net_conversion_ns(s, &from->value->type, &from->layout, &to->layout,
                                      ns, err);
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
        KILN_TRY(step_ns(s, n, step, &one, err));
        sum += runs * one;
    }
    *ns = sum;
    return KILN_OK;
}
