/* A graph compiled, opened in a process of its own, and run once. */
#include "pipeline/remote/remote.h"

#include <string.h>

kiln_remote_target kiln_remote_target_of(kiln_arena *a, const kiln_profile *p) {
    return (kiln_remote_target){.profile = p,
                                .apart = kiln_apart_new(a, NULL),
                                .packer = kiln_packer_new(a, NULL)};
}

static kiln_status run_session(kiln_remote *r, int threads, kiln_arena *a,
                               const kiln_graph *g, kiln_tensor *out, kiln_err *err) {
    const kiln_remote_order once = {.n_ahead = 1};
    kiln_remote_turn turn;
    size_t bytes;
    int session;
    KILN_TRY(kiln_remote_session(r, threads, &session, &bytes, err));
    KILN_TRY(kiln_remote_take_turn(r, session, &once, &turn, err));
    for (size_t i = 0; i < g->outputs.n; i++) {
        const kiln_type *t = &g->outputs.v[i]->type;
        const size_t there = kiln_remote_output_at(r, (int)i)->bytes;
        if ((size_t)kiln_type_bytes(t) != there)
            return kiln_fail(err, KILN_ERR_BUG, "output %zu has %zu bytes, is %s", i,
                             there, kiln_type_text(a, t));
        out[i] = kiln_tensor_new(a, t);
        KILN_TRY(kiln_remote_output(r, session, (int)i, out[i].data, err));
    }
    return KILN_OK;
}

/* Threads share out results, not sums: as many as there are make no difference. */
static kiln_status compare_threads(kiln_remote *r, int threads, kiln_arena *own,
                                   const kiln_graph *g, const kiln_tensor *out,
                                   kiln_err *err) {
    kiln_tensor *const again = kiln_array(own, kiln_tensor, g->outputs.n);
    KILN_TRY(run_session(r, threads, own, g, again, err));
    for (size_t i = 0; i < g->outputs.n; i++)
        if (memcmp(again[i].data, out[i].data, (size_t)kiln_type_bytes(&out[i].type)) !=
            0)
            return kiln_fail(err, KILN_ERR_BUG,
                             "output '%s' on %d threads has other bits than on one",
                             g->output_names.v[i], threads);
    return KILN_OK;
}

static kiln_status compile_and_run(kiln_arena *own, const kiln_remote_target *t,
                                   kiln_arena *a, const kiln_graph *g,
                                   const kiln_tensor *in, size_t n_in, kiln_tensor *out,
                                   kiln_err *err) {
    const kiln_remote_options o = {.apart = t->apart,
                                   .limit_ms = t->limit_ms,
                                   .data_limit_bytes = t->data_limit_bytes,
                                   .has_no_peak = true};
    kiln_network n;
    kiln_remote *r = NULL;
    KILN_TRY(kiln_network_compile_by(own, g, t->profile, NULL, t->packer, &n, err));
    KILN_TRY(kiln_remote_of_network(own, &n, in, n_in, &o, &r, err));
    KILN_TRY(run_session(r, 1, a, g, out, err));
    return t->more_threads > 0 ? compare_threads(r, t->more_threads, own, g, out, err)
                               : KILN_OK;
}

kiln_status kiln_remote_run_graph(void *target, kiln_arena *a, const kiln_graph *g,
                                  const kiln_tensor *in, size_t n_in, kiln_tensor *out,
                                  kiln_err *err) {
    const kiln_remote_target *t = target;
    KILN_ASSERT(n_in == g->inputs.n, "%zu inputs for a graph of %zu", n_in,
                g->inputs.n);
    if (kiln_apart_far(t->apart) == NULL)
        KILN_TRY(kiln_runs_here(t->profile, err));
    kiln_arena own;
    kiln_arena_init(&own);
    const kiln_status st = compile_and_run(&own, t, a, g, in, n_in, out, err);
    kiln_arena_fini(&own);
    return st;
}
