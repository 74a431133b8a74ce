/* The table of templates, and the way from what one of them made to a loop program. */
#include "compiler/schedule/template.h"

static const kiln_template *const templates[] = {
#define KILN_TEMPLATE(name) &kiln_template_##name,
#include "compiler/schedule/templates.def"
#undef KILN_TEMPLATE
    NULL,
};

static const kiln_op_def *const packings[] = {
#define KILN_PACKING(name) &kiln_packing_##name,
#include "compiler/schedule/packings.def"
#undef KILN_PACKING
    NULL,
};

const kiln_op_def *kiln_packing_at(int i) {
    for (int at = 0; packings[at] != NULL; at++)
        if (at == i)
            return packings[at];
    return NULL;
}

const kiln_op_def *kiln_packing_find(kiln_str name) {
    const kiln_op_def *by = NULL;
    for (int i = 0; (by = kiln_packing_at(i)) != NULL; i++)
        if (kiln_str_is(name, by->name))
            return by;
    return NULL;
}

const kiln_template *kiln_template_at(int i) {
    for (int at = 0; templates[at] != NULL; at++)
        if (at == i)
            return templates[at];
    return NULL;
}

const kiln_template *kiln_template_find(kiln_str name) {
    for (int i = 0; templates[i] != NULL; i++)
        if (kiln_str_is(name, templates[i]->name))
            return templates[i];
    return NULL;
}

bool kiln_template_fits(const kiln_template *t, const kiln_workload *w,
                        const kiln_profile *p) {
    return t->target == kiln_arch_of(p->arch)->kind && t->fits(w, p);
}

const kiln_template *kiln_template_for(const kiln_workload *w, const kiln_profile *p) {
    KILN_ASSERT(w->anchor != NULL, "workload '%s' has no anchor", w->graph->name);
    for (int i = 0; templates[i] != NULL; i++)
        if (kiln_template_fits(templates[i], w, p) &&
            (templates[i]->pays == NULL || templates[i]->pays(w, p)))
            return templates[i];
    return NULL;
}

double kiln_template_amplification(const kiln_template *t, const kiln_workload *w,
                                   const kiln_space *s, const kiln_config *c) {
    return t->amplification != NULL ? t->amplification(w, s, c) : 1;
}

double kiln_template_share(const kiln_template *t, const kiln_workload *w,
                           const kiln_space *s, const kiln_config *c) {
    return t->share != NULL ? t->share(w, s, c) : 1;
}

/* ---- what a template promises ---------------------------------------------------- */

static kiln_status check_takes(const kiln_template *t, const kiln_workload *w,
                               kiln_err *err) {
    const kiln_graph *g = w->graph;
    for (size_t i = 0; t->takes == KILN_TAKES_PLAIN && i < g->values.n; i++)
        if (!kiln_layout_is_plain(&g->values.v[i]->type.layout))
            return kiln_fail(
                err, KILN_ERR_BUG,
                "template '%s' takes row-major values, '%s' is given to it "
                "in another layout",
                t->name, g->values.v[i]->name);
    return KILN_OK;
}

static int64_t elems_of(const kiln_te *te) {
    int64_t n = 1;
    for (int i = 0; i < te->rank; i++)
        n *= kiln_te_dim(te, i);
    return n;
}

/* Argument i: what the kernel says that it is, against the stage that it is made of. */
static kiln_status check_argument(const kiln_workload *w, const kiln_te_graph *te,
                                  size_t i, kiln_err *err) {
    const kiln_type *says = &te->arg_type[i];
    const kiln_value *v = te->arg_value[i];
    const kiln_te_value *made = &te->value[v->id];
    const kiln_te *stage = te->arg[i];
    kiln_arena scratch = {0};
    kiln_type is;
    kiln_status st = KILN_OK;
    KILN_TRY(kiln_packed_type(te->arg_packing[i], &v->type, &is, err));
    if (v != w->graph->values.v[v->id] || says->dtype != is.dtype ||
        !kiln_type_same_shape(says, &is))
        st = kiln_fail(err, KILN_ERR_BUG, "'%s' is %s, the kernel says %s", v->name,
                       kiln_type_text(&scratch, &is), kiln_type_text(&scratch, says));
    else if (kiln_type_bytes(says) !=
             elems_of(stage) * (int64_t)kiln_dtype_bytes(says->dtype))
        st = kiln_fail(err, KILN_ERR_BUG,
                       "'%s' in the kernel's layout %s has %lld bytes, its stage has "
                       "%lld elements",
                       v->name, kiln_type_text(&scratch, says),
                       (long long)kiln_type_bytes(says), (long long)elems_of(stage));
    else if (made->te != NULL && !kiln_type_same_places(&made->type, says))
        st = kiln_fail(err, KILN_ERR_BUG,
                       "'%s' is computed as %s, the kernel says that it lies as %s",
                       v->name, kiln_type_text(&scratch, &made->type),
                       kiln_type_text(&scratch, says));
    kiln_arena_fini(&scratch);
    return st;
}

kiln_status kiln_template_apply(kiln_arena *a, const kiln_template *t,
                                const kiln_workload *w, const kiln_profile *p,
                                const kiln_space *s, const kiln_config *c,
                                kiln_scheduled *out, kiln_err *err) {
    kiln_scheduled made;
    KILN_ASSERT(c->n == s->n,
                "template '%s': a configuration of %d knobs for a space of %d", t->name,
                c->n, s->n);
    KILN_TRY(check_takes(t, w, err));
    KILN_TRY(t->apply(a, w, p, s, c, &made, err));
    KILN_ASSERT(made.schedule != NULL &&
                    made.te.n_args == made.te.n_inputs + w->graph->outputs.n,
                "template '%s' made no schedule of all outputs", t->name);
    if (kiln_schedule_target(made.schedule) != t->target)
        return kiln_fail(err, KILN_ERR_BUG,
                         "template '%s' is for %ss, its schedule is one for %ss",
                         t->name, kiln_target_kind_name(t->target),
                         kiln_target_kind_name(kiln_schedule_target(made.schedule)));
    for (size_t i = 0; i < made.te.n_args; i++) {
        const kiln_status st = check_argument(w, &made.te, i, err);
        if (st != KILN_OK) {
            kiln_note(err, "holding template '%s' to what it made", t->name);
            return st;
        }
    }
    *out = made;
    return KILN_OK;
}

kiln_status kiln_scheduled_program(kiln_arena *a, const kiln_scheduled *s,
                                   const char *name, kiln_program **out,
                                   kiln_err *err) {
    KILN_ASSERT(s->schedule != NULL, "'%s' was not scheduled", name);
    const kiln_te_graph *te = &s->te;
    kiln_program *p;
    KILN_TRY(
        kiln_lower(a, s->schedule, te->arg, te->n_args, te->n_inputs, name, &p, err));
    KILN_TRY(kiln_program_optimize(p, &s->loop, err));
    *out = p;
    return KILN_OK;
}
