/* A model made callable, and what its outputs must be. */
#include "pipeline/bench/bench_internal.h"

static const kiln_subject_step *steps_of(kiln_arena *a, const kiln_network *n) {
    kiln_subject_step *step = kiln_array(a, kiln_subject_step, n->step.n);
    for (size_t i = 0; i < n->step.n; i++) {
        const kiln_network_step *from = &n->step.v[i];
        step[i] = (kiln_subject_step){.name = from->name,
                                      .op = from->op,
                                      .epilogue = from->epilogue,
                                      .layout_in = from->layout_in,
                                      .layout_out = from->layout_out};
        if (from->kernel < 0)
            continue;
        const kiln_network_kernel *k = &n->kernel.v[from->kernel];
        step[i].tmpl = k->tmpl;
        step[i].origin = kiln_coverage_name(kiln_coverage_of(k));
        step[i].cost = k->cost;
    }
    return step;
}

static void close_model(void *model) { kiln_model_close(model); }

kiln_status kiln_subject_of_model(kiln_arena *a, const char *model,
                                  const kiln_import_options *o,
                                  const kiln_profile *profile,
                                  const kiln_choose_options *choose, uint64_t seed,
                                  kiln_subject *out, kiln_err *err) {
    kiln_source source;
    kiln_network *n = kiln_new(a, kiln_network);
    kiln_model *m = NULL;
    KILN_TRY(kiln_source_read(a, model, o, &source, err));
    const kiln_network_options net = {.choose = choose};
    KILN_TRY(kiln_network_compile(a, source.graph, profile, &net, n, err));
    KILN_TRY(kiln_network_open(a, n, NULL, &m, err));
    kiln_arena_defer(a, close_model, m);
    kiln_subject s = {.name = source.name,
                      .file = source.path,
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
    kiln_expectation e;
    KILN_TRY(kiln_expectation_of(a, &source, seed, &e, err));
    s.in = e.in;
    s.want = e.out;
    s.n_want = e.n_out;
    if (o != NULL) {
        s.fixed = o->values;
        s.n_fixed = o->n_values;
    }
    *out = s;
    return KILN_OK;
}

kiln_status kiln_session_failed(const kiln_session *s, kiln_err *err) {
    return kiln_fail(err, KILN_ERR_LIB, "%s", kiln_session_error(s));
}

static kiln_status compare(kiln_arena *a, const kiln_subject *s, const kiln_session *on,
                           const kiln_wanted *w, kiln_check *check, kiln_err *err) {
    kiln_port_info port;
    kiln_tensor whole;
    const int i = kiln_model_find_output(s->model, w->name);
    if (i < 0)
        return kiln_fail(err, KILN_ERR_SHAPE, "'%s' has no output '%s'", s->name,
                         w->name);
    kiln_model_output(s->model, i, &port);
    whole.type = kiln_type_make(w->value.type.dtype, port.rank, port.dim);
    whole.data = (void *)(uintptr_t)kiln_session_output(on, i); /* read only */
    return kiln_check_wanted(a, check, &whole, w, &s->tolerance, err);
}

kiln_status kiln_subject_compare(kiln_arena *a, const kiln_subject *s,
                                 const kiln_session *on, kiln_check *check,
                                 kiln_err *err) {
    for (size_t i = 0; i < s->n_want; i++)
        KILN_TRY(compare(a, s, on, &s->want[i], check, err));
    return KILN_OK;
}

kiln_status kiln_subject_check(kiln_arena *a, const kiln_subject *s, kiln_session *on,
                               kiln_check *check, kiln_err *err) {
    for (int i = 0; i < kiln_model_n_inputs(s->model); i++)
        if (kiln_session_set_input(on, i, s->in[i].data) != 0)
            return kiln_session_failed(on, err);
    if (kiln_session_run(on) != 0)
        return kiln_session_failed(on, err);
    return kiln_subject_compare(a, s, on, check, err);
}
