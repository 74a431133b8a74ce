/* Choices that were kept, as packages keep those of a search: what measured costs chose
 * is made again without them. */
#include "compiler/network/executable_internal.h"

#include <string.h>

/* ---- keeping --------------------------------------------------------------------- */

static void put_type(kiln_buf *out, const kiln_value *v, const kiln_layout *layout) {
    kiln_type t = v->type;
    t.layout = *layout;
    t.facts = 0;
    kiln_buf_printf(out, "%s;", kiln_type_text(out->arena, &t));
}

void kiln_net_keep_choices(kiln_net *n) {
    for (size_t i = 0; i < n->step.n; i++) {
        const kiln_net_step *step = &n->step.v[i];
        const kiln_net_choice *c = step->choice;
        kiln_buf text;
        if (c == NULL || step->group == NULL)
            continue;
        kiln_buf_init(&text, n->arena);
        const kiln_graph *part = kiln_group_graph(n->arena, step->g, step->group, NULL);
        for (int k = 0; k < c->n_layouts; k++)
            put_type(&text,
                     c->tmpl == NULL ? step->group->node[0]->out[0]
                     : (size_t)k < part->inputs.n
                         ? part->inputs.v[k]
                         : part->outputs.v[(size_t)k - part->inputs.n],
                     &c->layout[k]);
        const kiln_net_given kept = {.step = step->name,
                                     .tmpl = c->tmpl != NULL ? c->tmpl->name : NULL,
                                     .config = c->text,
                                     .layouts = text.p};
        kiln_vec_push(n->arena, &n->searched, kept);
    }
}

/* ---- reading --------------------------------------------------------------------- */

static kiln_status refuse(const kiln_net_given *x, const char *why, kiln_err *err) {
    return kiln_fail(err, KILN_ERR_PARSE, "what was kept of step '%s': %s", x->step,
                     why);
}

/* The next layout, of a value. */
static kiln_status read_layout(const kiln_net_given *x, kiln_str *rest,
                               const kiln_value *v, kiln_layout *out, kiln_err *err) {
    kiln_type t;
    KILN_TRY(kiln_type_parse(rest, &t, err));
    if (rest->n == 0 || rest->p[0] != ';')
        return refuse(x, "';' was expected behind a type", err);
    rest->p++;
    rest->n--;
    if (t.dtype != v->type.dtype || !kiln_type_same_shape(&t, &v->type))
        return refuse(x, "a type is not that of the network's value", err);
    *out = t.layout;
    return KILN_OK;
}

static kiln_status read_join(kiln_net *n, const kiln_net_step *step,
                             const kiln_net_given *x, kiln_net_choice *out,
                             kiln_err *err) {
    kiln_str rest = kiln_str_from(x->layouts);
    kiln_layout *layout = kiln_new(n->arena, kiln_layout);
    int64_t offset[KILN_NET_MAX_PARTS];
    const kiln_node *node = step->group->node[0];
    if (step->kind != KILN_NET_JOIN || node->n_in > KILN_NET_MAX_PARTS)
        return refuse(x, "it is no join", err);
    KILN_TRY(read_layout(x, &rest, node->out[0], layout, err));
    if (!kiln_net_part_places(node, layout, offset))
        return refuse(x, "its parts have no places in such a whole", err);
    *out = (kiln_net_choice){.layout = layout, .n_layouts = 1};
    return KILN_OK;
}

static kiln_status read_call(kiln_net *n, const kiln_net_step *step,
                             const kiln_net_given *x, kiln_net_choice *out,
                             kiln_err *err) {
    kiln_arena *a = n->arena;
    kiln_op_work w;
    kiln_space space;
    const kiln_json *config = NULL;
    kiln_str rest = kiln_str_from(x->layouts);
    kiln_graph *part = kiln_group_graph(a, step->g, step->group, NULL);
    const size_t n_in = part->inputs.n, n_all = n_in + part->outputs.n;
    kiln_layout *layout = kiln_array(a, kiln_layout, n_all);
    KILN_TRY(kiln_op_work_of(a, part->name, part, &w, err));
    out->tmpl = kiln_template_find(kiln_str_from(x->tmpl));
    if (out->tmpl == NULL ||
        !kiln_template_fits(out->tmpl, &w.workload, kiln_net_profile_of(n, out->tmpl)))
        return refuse(x, "its template does not take it", err);
    kiln_space_init(&space, a);
    KILN_TRY(
        out->tmpl->space(&w.workload, kiln_net_profile_of(n, out->tmpl), &space, err));
    KILN_TRY(
        kiln_json_parse(a, kiln_str_from(x->config), "configuration", &config, err));
    KILN_TRY(kiln_config_parse(config, out->tmpl, &space, &out->config, err));
    for (size_t i = 0; i < n_all; i++)
        KILN_TRY(read_layout(x, &rest,
                             i < n_in ? part->inputs.v[i] : part->outputs.v[i - n_in],
                             &layout[i], err));
    out->origin = KILN_ORIGIN_FILE; /* it is meant */
    out->text = x->config;
    out->layout = layout;
    out->n_layouts = (int)n_all;
    out->is_searched = true;
    return KILN_OK;
}

static kiln_status read_choice(kiln_net *n, const kiln_net_step *step,
                               const kiln_net_given *x, const kiln_net_choice **out,
                               kiln_err *err) {
    kiln_net_choice *c = kiln_new(n->arena, kiln_net_choice);
    const kiln_status st =
        x->tmpl == NULL ? read_join(n, step, x, c, err) : read_call(n, step, x, c, err);
    if (st != KILN_OK)
        kiln_note(err, "reading how step '%s' was done", x->step);
    *out = c;
    return st;
}

/* ---- all ------------------------------------------------------------------------- */

/* Of that name, in order. */
static const kiln_net_given *next_given(const kiln_network_options *o, bool *is_used,
                                        const char *step) {
    for (size_t i = 0; i < o->n_given; i++)
        if (!is_used[i] && strcmp(o->given[i].step, step) == 0) {
            is_used[i] = true;
            return &o->given[i];
        }
    return NULL;
}

kiln_status kiln_net_choose_given(kiln_net *n, kiln_err *err) {
    const kiln_net_choice **choice =
        kiln_array(n->arena, const kiln_net_choice *, n->step.n);
    bool *is_used = kiln_array(n->arena, bool, n->o->n_given);
    kiln_net_rehearsal r;
    for (size_t i = 0; i < n->step.n; i++) {
        const kiln_net_given *x = n->step.v[i].group != NULL
                                      ? next_given(n->o, is_used, n->step.v[i].name)
                                      : NULL;
        if (x != NULL)
            KILN_TRY(read_choice(n, &n->step.v[i], x, &choice[i], err));
    }
    const kiln_status st = kiln_net_rehearse(n, choice, &r, err);
    if (st == KILN_ERR_BUG || st == KILN_ERR_ARG) { /* of what was kept, not of kiln */
        const char *why = kiln_str_dup(n->arena, err->text);
        kiln_err_clear(err);
        return kiln_fail(err, KILN_ERR_PARSE,
                         "the choices that were kept are none of this network: %s",
                         why);
    }
    KILN_TRY(st);
    for (size_t i = 0; i < n->step.n; i++)
        n->step.v[i].choice = r.choice[i];
    kiln_net_rehearsed(&r);
    return KILN_OK;
}
