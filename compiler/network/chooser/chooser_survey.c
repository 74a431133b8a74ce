/* Steps as sites, with their ways and what these cost: of the whole graph, and of regions
 * of `if` and `scan`, which count as often as they run. */
#include "compiler/network/chooser/chooser_search_internal.h"

int kiln_net_palette(const kiln_profile *p, const kiln_type *t,
                     kiln_layout out[KILN_NET_MAX_PALETTE]) {
    const bool is_half = t->dtype == KILN_F16 || t->dtype == KILN_BF16;
    const int64_t lanes =
        p->vector_bytes / (is_half ? 4 : (int64_t)kiln_dtype_bytes(t->dtype));
    int n = 0;
    out[n++] = (kiln_layout){.n_order = 0};
    for (int64_t block = lanes; t->rank >= 3 && block >= 2 && n < KILN_NET_MAX_PALETTE;
         block /= 2)
        out[n++] = (kiln_layout){.n_blocks = 1,
                                 .block = {{.axis = 1, .size = (int32_t)block}}};
    return n;
}

/* ---- calls ----------------------------------------------------------------------- */

static kiln_status call_site(kiln_net_survey *s, const kiln_net_step *step,
                             const kiln_net_choice *greedy, kiln_net_site *site,
                             kiln_err *err) {
    const kiln_value **from = NULL;
    kiln_graph *part = kiln_group_graph(s->arena, step->g, step->group, &from);
    const kiln_net_way way = {.choice = greedy, .layout = greedy->layout};
    site->n_read = (int)part->inputs.n;
    site->n_values = (int)(part->inputs.n + part->outputs.n);
    site->value = kiln_array(s->arena, const kiln_value *, site->n_values);
    for (int i = 0; i < site->n_values; i++)
        site->value[i] = i < site->n_read ? from[part->inputs.v[i]->id]
                                          : from[part->outputs.v[i - site->n_read]->id];
    KILN_TRY(kiln_op_work_of(s->arena, part->name, part, &site->work, err));
    kiln_vec_push(s->arena, &site->way, way);
    return kiln_net_add_ways(s, site, err);
}

/* ---- views and joins ------------------------------------------------------------- */

/* As it was rehearsed: its tensors say how values lie. */
static const kiln_net_step *rehearsed(const kiln_net_survey *s,
                                      const kiln_net_step *step) {
    const kiln_net *n = &s->greedy->net;
    for (size_t i = 0; i < n->step.n; i++)
        if (n->step.v[i].group == step->group)
            return &n->step.v[i];
    return NULL;
}

static void view_site(kiln_net_survey *s, const kiln_net_step *step,
                      const kiln_net_step *laid, kiln_net_site *site) {
    const kiln_node *node = step->group->node[0];
    const int n_in = node->n_in, n_all = n_in + node->n_out;
    kiln_layout *layout = kiln_array(s->arena, kiln_layout, n_all);
    site->value = kiln_array(s->arena, const kiln_value *, n_all);
    for (int k = 0; k < n_all; k++) {
        const kiln_value *v = k < n_in ? node->in[k] : node->out[k - n_in];
        if (v == NULL || laid->operand[k] < 0 || kiln_value_is_const(v))
            continue;
        layout[site->n_values] = s->greedy->net.slot.v[laid->operand[k]].layout;
        site->value[site->n_values++] = v;
        site->n_read += k < n_in;
    }
    const kiln_net_way way = {.choice = s->greedy->choice[site->step],
                              .layout = layout};
    kiln_vec_push(s->arena, &site->way, way);
}

/* All of its values in that layout. */
static void add_alike(kiln_net_survey *s, kiln_net_site *site,
                      const kiln_layout *layout, bool is_join) {
    kiln_layout *all = kiln_array(s->n->arena, kiln_layout, site->n_values);
    kiln_net_choice *choice = is_join ? kiln_new(s->n->arena, kiln_net_choice) : NULL;
    if (kiln_layout_eq(&site->way.v[0].layout[site->n_values - 1], layout))
        return;
    for (int i = 0; i < site->n_values; i++)
        all[i] = *layout;
    if (choice != NULL)
        *choice = (kiln_net_choice){.layout = all, .n_layouts = 1};
    const kiln_net_way way = {.choice = choice, .layout = all};
    kiln_vec_push(s->arena, &site->way, way);
}

/* A reshape reads what lies as row-major values do; else a kernel makes it. */
static kiln_status add_reshapes(kiln_net_survey *s, kiln_net_site *site,
                                kiln_err *err) {
    const kiln_value *x = site->value[0];
    kiln_layout palette[KILN_NET_MAX_PALETTE];
    const int n = kiln_net_palette(s->n->profile, &x->type, palette);
    for (int i = 0; i < n; i++) {
        kiln_layout *both = kiln_array(s->arena, kiln_layout, 2);
        kiln_net_way way = {.layout = both};
        if (kiln_layout_eq(&site->way.v[0].layout[0], &palette[i]))
            continue;
        both[0] = palette[i];
        kiln_net_conversion *c = NULL;
        KILN_TRY(kiln_net_conversion_ns(s, &x->type, &palette[i], &palette[0], &c,
                                        &way.estimate, err));
        way.is_known = c != NULL && c->is_known;
        way.ns = way.is_known ? way.estimate : 0;
        kiln_vec_push(s->arena, &site->way, way);
    }
    return KILN_OK;
}

kiln_status kiln_net_add_views(kiln_net_survey *s, kiln_net_site *site, kiln_err *err) {
    const kiln_net_step *step = &s->n->step.v[site->step];
    const kiln_node *node = step->group->node[0];
    const bool is_join = step->kind == KILN_NET_JOIN;
    kiln_layout palette[KILN_NET_MAX_PALETTE];
    int64_t offset[KILN_NET_MAX_PARTS];
    if (node->n_in > KILN_NET_MAX_PARTS || node->n_out > KILN_NET_MAX_PARTS ||
        site->n_values == site->n_read || site->n_read == 0)
        return KILN_OK;
    if (step->group->is_view)
        return site->n_values == 2 ? add_reshapes(s, site, err) : KILN_OK;
    const int n = kiln_net_palette(s->n->profile, &node->in[0]->type, palette);
    for (int i = 0; i < n; i++)
        if (is_join ? kiln_net_part_places(node, &palette[i], offset)
                    : kiln_net_slice_places(node, &palette[i], offset))
            add_alike(s, site, &palette[i], is_join);
    return KILN_OK;
}

/* ---- all ------------------------------------------------------------------------- */

static void number_values(kiln_net_survey *s, const kiln_net_region *region,
                          kiln_net_site *site) {
    int *number = kiln_array(s->arena, int, site->n_values);
    for (int i = 0; i < site->n_values; i++) {
        const kiln_value *v = site->value[i];
        KILN_ASSERT((size_t)v->id < region->g->values.n &&
                        region->g->values.v[v->id] == v,
                    "'%s' is of another graph", v->name);
        number[i] = region->number[v->id];
    }
    site->number = number;
}

static kiln_status add_site(kiln_net_survey *s, size_t at, kiln_err *err) {
    const kiln_net_step *step = &s->n->step.v[at];
    const kiln_net_choice *greedy = s->greedy->choice[at];
    kiln_net_site site = {.step = at};
    const bool is_call = greedy != NULL && greedy->tmpl != NULL;
    const kiln_net_step *laid = rehearsed(s, step);
    if (step->kind == KILN_NET_IF || step->kind == KILN_NET_ELSE ||
        step->kind == KILN_NET_LOOP)
        kiln_net_add_region(s, step);
    if (step->group == NULL || laid == NULL)
        return KILN_OK; /* a block; nobody reads it */
    const kiln_net_region *region = kiln_net_region_of(s, step->g);
    site.runs = region->runs;
    if (is_call) {
        KILN_TRY(call_site(s, step, greedy, &site, err));
    } else {
        view_site(s, step, laid, &site);
        KILN_TRY(kiln_net_add_views(s, &site, err));
    }
    number_values(s, region, &site);
    s->site_of[at] = (int)s->site.n;
    kiln_vec_push(s->arena, &s->site, site);
    return kiln_interrupt_check(err);
}

/* Of what was measured and estimated both, how much the first is of the second. */
static void find_scale(kiln_net_survey *s) {
    double known = 0, estimated = 0;
    for (size_t i = 0; i < s->site.n; i++) {
        const kiln_net_way *w = &s->site.v[i].way.v[0];
        known += w->is_known ? w->ns : 0;
        estimated += w->is_known ? w->estimate : 0;
        s->n_known += w->is_known;
    }
    s->scale = estimated > 0 ? known / estimated : 1;
}

bool kiln_net_is_tuned(const kiln_net_site *site) {
    return site->work.key.n > 0 &&
           site->work.workload.anchor->op->fuse == KILN_FUSE_OUT_FUSABLE;
}

bool kiln_net_is_measured(const kiln_net_site *site) {
    const kiln_net_choice *greedy = site->way.v[0].choice;
    return kiln_net_is_tuned(site) ||
           (site->work.key.n > 0 && greedy->tmpl->layout_knobs != NULL);
}

/* Estimates of one work go by what was measured of it: of the greedy way, else of the
 * first that was. */
static void price(const kiln_net_survey *s, kiln_net_site *site) {
    double scale = s->scale;
    const double hope = kiln_net_is_measured(site) ? s->hope : 1;
    const bool is_call = site->work.key.n > 0;
    for (size_t i = is_call ? site->way.n : 0; i-- > 0;)
        if (site->way.v[i].is_known)
            scale = site->way.v[i].ns / site->way.v[i].estimate;
    for (size_t i = 0; i < site->way.n; i++)
        if (!site->way.v[i].is_known)
            site->way.v[i].ns = site->way.v[i].estimate * scale * (i == 0 ? 1 : hope);
}

kiln_status kiln_net_survey_make(kiln_net_survey *s, kiln_err *err) {
    s->site_of = kiln_array(s->arena, int, s->n->step.n);
    s->scale = 1; /* conversions are estimates among estimates, till it is known */
    kiln_net_add_whole(s);
    for (size_t i = 0; i < s->n->step.n; i++)
        s->site_of[i] = -1;
    for (size_t i = 0; i < s->n->step.n; i++)
        KILN_TRY(add_site(s, i, err));
    find_scale(s);
    for (size_t i = 0; i < s->site.n; i++)
        price(s, &s->site.v[i]);
    return KILN_OK;
}
