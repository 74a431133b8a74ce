/* The table of templates, and the way from what one of them made to a loop program. */
#include "compiler/schedule/template.h"

static const kiln_template *const templates[] = {
#define KILN_TEMPLATE(name) &kiln_template_##name,
#include "compiler/schedule/templates.def"
#undef KILN_TEMPLATE
    NULL,
};

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

const kiln_template *kiln_template_for(const kiln_workload *w, const kiln_profile *p) {
    for (int i = 0; templates[i] != NULL; i++)
        if (templates[i]->fits(w, p) &&
            (templates[i]->pays == NULL || templates[i]->pays(w, p)))
            return templates[i];
    return NULL;
}

double kiln_template_amplification(const kiln_template *t, const kiln_space *s,
                                   const kiln_config *c) {
    return t->amplification != NULL ? t->amplification(s, c) : 1;
}

kiln_status kiln_scheduled_program(kiln_arena *a, const kiln_scheduled *s,
                                   const char *name, kiln_program **out,
                                   kiln_err *err) {
    const kiln_te_graph *te = &s->te;
    kiln_program *p;
    KILN_TRY(
        kiln_lower(a, s->schedule, te->arg, te->n_args, te->n_inputs, name, &p, err));
    KILN_TRY(kiln_program_optimize(p, &s->loop, err));
    *out = p;
    return KILN_OK;
}
