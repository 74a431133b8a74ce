/* A model's file against golden cases: imported for each of them, since cases may differ
 * in their shapes. */
#include "pipeline/golden.h"
#include "compiler/pass/pass.h"

#include <string.h>

/* The graph may have fewer inputs than the case (fixed ones): matched by name. States
 * that no case before has left are zeros. */
kiln_status kiln_golden_inputs_of(kiln_arena *a, const kiln_graph *g,
                                  const kiln_value_binding *in, size_t n_in,
                                  kiln_tensor **out, kiln_err *err) {
    kiln_tensor *given = kiln_array(a, kiln_tensor, g->inputs.n);
    for (size_t i = 0; i < g->inputs.n; i++) {
        size_t k = 0;
        while (k < n_in && strcmp(in[k].name, g->inputs.v[i]->name) != 0)
            k++;
        if (k < n_in)
            given[i] = in[k].value;
        else if (kiln_golden_begins(g->inputs.v[i]->name, g->output_names.v,
                                    g->outputs.n))
            given[i] = kiln_tensor_new(a, &g->inputs.v[i]->type);
        else
            return kiln_fail(err, KILN_ERR_SHAPE, "the case has no input '%s'",
                             g->inputs.v[i]->name);
    }
    *out = given;
    return KILN_OK;
}

typedef struct imported {
    const char *model;
    const char *const *input; /* as the file declares them: without states */
    size_t n_inputs;
    const kiln_import_options *o;
    const kiln_pass_options *passes;
    const kiln_runner *runner;
} imported;

static bool has_shape(const kiln_import_options *o, const char *name) {
    for (size_t i = 0; i < o->n_shapes; i++)
        if (strcmp(o->shapes[i].name, name) == 0)
            return true;
    return false;
}

static bool is_declared(const imported *m, const char *name) {
    for (size_t i = 0; i < m->n_inputs; i++)
        if (strcmp(m->input[i], name) == 0)
            return true;
    return false;
}

static kiln_status import_case(kiln_arena *a, const imported *m,
                               const kiln_value_binding *in, size_t n_in,
                               kiln_graph **out, kiln_err *err) {
    const bool has_state = m->o != NULL && m->o->has_state;
    kiln_import_options with = m->o != NULL ? *m->o : (kiln_import_options){0};
    kiln_shape_binding *shapes =
        kiln_array(a, kiln_shape_binding, with.n_shapes + n_in);
    for (size_t i = 0; i < with.n_shapes; i++)
        shapes[i] = with.shapes[i];
    with.shapes = shapes;
    for (size_t i = 0; i < n_in; i++) {
        if (has_shape(&with, in[i].name) || (has_state && !is_declared(m, in[i].name)))
            continue;
        kiln_shape_binding *s = &shapes[with.n_shapes++];
        *s = (kiln_shape_binding){.name = in[i].name, .rank = in[i].value.type.rank};
        memcpy(s->dim, in[i].value.type.dim, sizeof s->dim);
    }
    if (with.n_hints == 0) {
        with.hints = in;
        with.n_hints = n_in;
    }
    kiln_import_report report = {0};
    return kiln_import(a, m->model, &with, out, &report, err);
}

static kiln_status run_imported(void *user, kiln_arena *a, const kiln_value_binding *in,
                                size_t n_in, kiln_golden_result *out, kiln_err *err) {
    const imported *m = user;
    kiln_graph *g = NULL;
    kiln_tensor *given = NULL;
    KILN_TRY(import_case(a, m, in, n_in, &g, err));
    out->imported = g;
    if (m->passes != NULL) { /* the bounds are of what was imported */
        KILN_TRY(import_case(a, m, in, n_in, &g, err));
        KILN_TRY(kiln_graph_optimize(g, m->passes, err));
    }
    KILN_TRY(kiln_golden_inputs_of(a, g, in, n_in, &given, err));
    kiln_tensor *made = kiln_array(a, kiln_tensor, g->outputs.n);
    out->name = g->output_names.v;
    out->value = made;
    out->n = g->outputs.n;
    return m->runner->run(m->runner->user, a, g, given, g->inputs.n, made, err);
}

kiln_status kiln_verify_golden(kiln_arena *a, const char *model, const char *dir,
                               const kiln_import_options *o,
                               const kiln_pass_options *passes,
                               const kiln_runner *runner, kiln_checks *out,
                               kiln_err *err) {
    imported m = {.model = model,
                  .o = o,
                  .passes = passes,
                  .runner = runner != NULL ? runner : &kiln_runner_reference};
    kiln_declared_input *in = NULL;
    size_t n_in = 0;
    KILN_TRY(kiln_import_inputs(a, model, &in, &n_in, err));
    const char **name = kiln_array(a, const char *, n_in);
    kiln_shape_binding *const shape = kiln_array(a, kiln_shape_binding, n_in);
    for (size_t i = 0; i < n_in; i++) {
        name[i] = in[i].name;
        shape[i] = (kiln_shape_binding){.name = name[i], .rank = in[i].rank};
        memcpy(shape[i].dim, in[i].dim, sizeof shape[i].dim);
    }
    m.input = name;
    m.n_inputs = n_in;
    const kiln_golden_side side = {.input = name,
                                   .shape = shape,
                                   .n_inputs = n_in,
                                   .tolerance = kiln_tolerance_network,
                                   .suffix = "",
                                   .run = run_imported,
                                   .user = &m};
    return kiln_verify_golden_cases(a, dir, &side, out, err);
}
