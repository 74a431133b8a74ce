/* A model made callable, and what its outputs must be. */
#include "pipeline/bench/bench_internal.h"

#include <string.h>

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

/* All but the process that it runs in. */
static kiln_subject facts_of(kiln_arena *a, const kiln_source *source,
                             const kiln_expectation *e, const kiln_network *n) {
    return (kiln_subject){.name = source->name,
                          .file = source->path,
                          .format = source->format,
                          .imported = source->imported,
                          .profile = n->profile,
                          .cost = source->cost,
                          .step = steps_of(a, n),
                          .n_steps = n->n_steps,
                          .n_conversions = n->n_conversions,
                          .arena = n->arena_bytes,
                          .lower_bound = n->lower_bound,
                          .params = (int64_t)n->param_bytes,
                          .workspace = n->workspace_bytes,
                          .scratch = n->scratch_bytes,
                          .in = e->in,
                          .want = e->out,
                          .n_want = e->n_out,
                          .tolerance = kiln_tolerance_network,
                          .source = source,
                          .network = n};
}

static kiln_status open_network(kiln_arena *a, const kiln_remote_options *where,
                                kiln_subject *s, kiln_err *err) {
    return kiln_remote_of_network(a, s->network, s->in, s->source->graph->inputs.n,
                                  where, &s->remote, err);
}

kiln_status kiln_subject_of_source(kiln_arena *a, const kiln_source *source,
                                   const kiln_expectation *e,
                                   const kiln_profile *profile,
                                   const kiln_network_options *o, kiln_subject *out,
                                   kiln_err *err) {
    kiln_network *n = kiln_new(a, kiln_network);
    KILN_TRY(kiln_network_compile(a, source->graph, profile, o, n, err));
    *out = facts_of(a, source, e, n);
    return open_network(a, NULL, out, err);
}

kiln_status kiln_subject_of_model(kiln_arena *a, const char *model,
                                  const kiln_import_options *o,
                                  const kiln_profile *profile,
                                  const kiln_choose_options *choose, uint64_t seed,
                                  const kiln_remote_options *where, kiln_subject *out,
                                  kiln_err *err) {
    kiln_source *source = kiln_new(a, kiln_source);
    kiln_network *n = kiln_new(a, kiln_network);
    kiln_expectation e;
    KILN_TRY(kiln_source_read(a, model, o, source, err));
    const kiln_network_options net = {.choose = choose};
    KILN_TRY(kiln_network_compile(a, source->graph, profile, &net, n, err));
    KILN_TRY(kiln_expectation_of(a, source, seed, &e, err));
    *out = facts_of(a, source, &e, n);
    if (o != NULL) {
        out->fixed = o->values;
        out->n_fixed = o->n_values;
    }
    return open_network(a, where, out, err);
}

/* Keys say of kernels all that code is made of. */
static bool are_same(const kiln_network *x, const kiln_network *y) {
    if (!kiln_str_eq(x->plan, y->plan) || x->kernel.n != y->kernel.n)
        return false;
    for (size_t i = 0; i < x->kernel.n; i++)
        if (strcmp(x->kernel.v[i].key, y->kernel.v[i].key) != 0)
            return false;
    return true;
}

kiln_status kiln_subject_again(kiln_arena *a, const kiln_subject *s,
                               const kiln_choose_options *choose,
                               const kiln_remote_options *where, kiln_subject *out,
                               kiln_err *err) {
    KILN_ASSERT(s->source != NULL, "'%s' is a package", s->name);
    kiln_network *n = kiln_new(a, kiln_network);
    const kiln_network_options net = {.choose = choose};
    const kiln_expectation e = {.in = s->in, .out = s->want, .n_out = s->n_want};
    KILN_TRY(kiln_network_compile(a, s->source->graph, s->profile, &net, n, err));
    *out = facts_of(a, s->source, &e, n);
    out->fixed = s->fixed;
    out->n_fixed = s->n_fixed;
    out->machine = s->machine;
    out->remote = s->remote;
    return are_same(n, s->network) ? KILN_OK : open_network(a, where, out, err);
}

static kiln_status compare(kiln_arena *a, const kiln_subject *s, int session,
                           const kiln_wanted *w, kiln_check *check, kiln_err *err) {
    const int i = kiln_remote_find_output(s->remote, w->name);
    if (i < 0)
        return kiln_fail(err, KILN_ERR_SHAPE, "'%s' has no output '%s'", s->name,
                         w->name);
    const kiln_remote_port *port = kiln_remote_output_at(s->remote, i);
    kiln_tensor whole;
    whole.type = kiln_type_make(w->value.type.dtype, port->rank, port->dim);
    whole.data = kiln_arena_alloc_raw(a, port->bytes);
    KILN_TRY(kiln_remote_output(s->remote, session, i, whole.data, err));
    return kiln_check_wanted(a, check, &whole, w, &s->tolerance, err);
}

kiln_status kiln_subject_compare(kiln_arena *a, const kiln_subject *s, int session,
                                 kiln_check *check, kiln_err *err) {
    KILN_ASSERT(session >= 0, "session %d", session);
    for (size_t i = 0; i < s->n_want; i++)
        KILN_TRY(compare(a, s, session, &s->want[i], check, err));
    return KILN_OK;
}

kiln_status kiln_subject_check(kiln_arena *a, const kiln_subject *s, int session,
                               kiln_check *check, kiln_err *err) {
    const kiln_remote_order once = {.n_ahead = 1};
    kiln_remote_turn turn;
    KILN_TRY(kiln_remote_take_turn(s->remote, session, &once, &turn, err));
    return kiln_subject_compare(a, s, session, check, err);
}
