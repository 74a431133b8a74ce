/* A model made callable, and what its outputs must be. */
#include "pipeline/bench/bench_internal.h"

#include <string.h>

#include "pipeline/network/network.h"

static const kiln_subject_step *steps_of(kiln_arena *a, const kiln_network *n) {
    kiln_subject_step *step = kiln_array(a, kiln_subject_step, n->step.n);
    for (size_t i = 0; i < n->step.n; i++) {
        const kiln_network_step *from = &n->step.v[i];
        step[i] = (kiln_subject_step){.name = from->name, .op = from->op};
        if (from->kernel < 0)
            continue;
        const kiln_network_kernel *k = &n->kernel.v[from->kernel];
        step[i].tmpl = k->tmpl;
        step[i].origin = kiln_origin_name(k->origin);
        step[i].cost = k->cost;
    }
    return step;
}

/* Runs the graph as it was imported: whatever passes and compiler did to it, they did
 * to another copy. */
static kiln_status ask_reference(kiln_arena *a, const kiln_graph *g, uint64_t seed,
                                 kiln_subject *s, kiln_err *err) {
    kiln_tensor *in = kiln_array(a, kiln_tensor, g->inputs.n);
    kiln_tensor *out = kiln_array(a, kiln_tensor, g->outputs.n);
    kiln_wanted *want = kiln_array(a, kiln_wanted, g->outputs.n);
    for (size_t i = 0; i < g->inputs.n; i++)
        in[i] = kiln_ref_random(a, &g->inputs.v[i]->type, seed + i);
    KILN_TRY(kiln_ref_run(a, g, in, g->inputs.n, out, err));
    for (size_t i = 0; i < g->outputs.n; i++)
        want[i] = (kiln_wanted){g->output_names.v[i], out[i], NULL};
    s->in = in;
    s->want = want;
    s->n_want = g->outputs.n;
    return KILN_OK;
}

static void close_model(void *model) { kiln_model_close(model); }

kiln_status kiln_subject_of_model(kiln_arena *a, const char *model,
                                  const kiln_import_options *o,
                                  const kiln_profile *profile, uint64_t seed,
                                  kiln_subject *out, kiln_err *err) {
    kiln_source source;
    kiln_network *n = kiln_new(a, kiln_network);
    kiln_model *m = NULL;
    KILN_TRY(kiln_source_read(a, model, o, &source, err));
    KILN_TRY(kiln_network_compile(a, source.graph, profile, NULL, n, err));
    KILN_TRY(kiln_network_open(a, n, NULL, &m, err));
    kiln_arena_defer(a, close_model, m);
    kiln_subject s = {.name = source.name,
                      .profile = profile,
                      .model = m,
                      .cost = source.cost,
                      .step = steps_of(a, n),
                      .n_steps = n->n_steps,
                      .arena = n->arena_bytes,
                      .lower_bound = n->lower_bound,
                      .params = (int64_t)n->param_bytes,
                      .workspace = n->workspace_bytes,
                      .scratch = n->scratch_bytes,
                      .tolerance = kiln_tolerance_network};
    const kiln_status st = ask_reference(a, source.imported, seed, &s, err);
    if (st != KILN_OK) {
        kiln_note(err, "asking the reference for the outputs of '%s'", model);
        return st;
    }
    *out = s;
    return KILN_OK;
}

kiln_status kiln_session_failed(const kiln_session *s, kiln_err *err) {
    return kiln_fail(err, KILN_ERR_LIB, "%s", kiln_session_error(s));
}

/* The elements that are wanted, as a list; the whole output where all are. */
static kiln_tensor pick(kiln_arena *a, const kiln_tensor *whole, const kiln_wanted *w) {
    if (w->at == NULL)
        return *whole;
    const kiln_tensor part = kiln_tensor_new(a, &w->value.type);
    const size_t size = kiln_dtype_bytes(part.type.dtype);
    for (int64_t i = 0; i < kiln_type_elems(&part.type); i++)
        memcpy((char *)part.data + (size_t)i * size,
               (const char *)whole->data + (size_t)w->at[i] * size, size);
    return part;
}

static kiln_status compare(kiln_arena *a, const kiln_subject *s, const kiln_session *on,
                           const kiln_wanted *w, kiln_check *check, kiln_err *err) {
    kiln_port_info port;
    kiln_tensor whole, got;
    const int i = kiln_model_find_output(s->model, w->name);
    if (i < 0)
        return kiln_fail(err, KILN_ERR_SHAPE, "'%s' has no output '%s'", s->name,
                         w->name);
    kiln_model_output(s->model, i, &port);
    whole.type = kiln_type_make(w->value.type.dtype, port.rank, port.dim);
    whole.data = (void *)(uintptr_t)kiln_session_output(on, i); /* read only */
    got = pick(a, &whole, w);
    return kiln_check_network(a, check, w->name, &got, &w->value, &s->tolerance, err);
}

kiln_status kiln_subject_check(kiln_arena *a, const kiln_subject *s, kiln_session *on,
                               kiln_check *check, kiln_err *err) {
    for (int i = 0; i < kiln_model_n_inputs(s->model); i++)
        if (kiln_session_set_input(on, i, s->in[i].data) != 0)
            return kiln_session_failed(on, err);
    if (kiln_session_run(on) != 0)
        return kiln_session_failed(on, err);
    for (size_t i = 0; i < s->n_want; i++)
        KILN_TRY(compare(a, s, on, &s->want[i], check, err));
    return KILN_OK;
}
