/* A graph compiled, opened, run once and closed. */
#include "pipeline/network/network.h"

#include <string.h>

static kiln_status run_session(kiln_arena *a, kiln_session *s, const kiln_graph *g,
                               const kiln_tensor *in, kiln_tensor *out, kiln_err *err) {
    for (size_t i = 0; i < g->inputs.n; i++)
        if (kiln_session_set_input(s, (int)i, in[i].data) != 0)
            return kiln_fail(err, KILN_ERR_ARG, "%s", kiln_session_error(s));
    if (kiln_session_run(s) != 0)
        return kiln_fail(err, KILN_ERR_LIB, "%s", kiln_session_error(s));
    for (size_t i = 0; i < g->outputs.n; i++) {
        out[i] = kiln_tensor_new(a, &g->outputs.v[i]->type);
        memcpy(out[i].data, kiln_session_output(s, (int)i),
               (size_t)kiln_type_bytes(&out[i].type));
    }
    return KILN_OK;
}

static kiln_status compile_and_run(kiln_arena *code, const kiln_profile *p,
                                   kiln_arena *a, const kiln_graph *g,
                                   const kiln_tensor *in, kiln_tensor *out,
                                   kiln_err *err) {
    kiln_network n;
    kiln_model *m = NULL;
    char text[KILN_ERROR_TEXT] = "";
    KILN_TRY(kiln_network_compile(code, g, p, NULL, &n, err));
    KILN_TRY(kiln_network_open(code, &n, NULL, &m, err));
    kiln_session *s = kiln_session_open(m, NULL, text);
    const kiln_status st = s == NULL ? kiln_fail(err, KILN_ERR_OOM, "%s", text)
                                     : run_session(a, s, g, in, out, err);
    kiln_session_close(s);
    kiln_model_close(m);
    return st;
}

kiln_status kiln_network_run(void *profile, kiln_arena *a, const kiln_graph *g,
                             const kiln_tensor *in, size_t n_in, kiln_tensor *out,
                             kiln_err *err) {
    KILN_ASSERT(n_in == g->inputs.n, "%zu inputs for a graph of %zu", n_in,
                g->inputs.n);
    KILN_TRY(kiln_runs_here(profile, err));
    kiln_arena code;
    kiln_arena_init(&code);
    const kiln_status st = compile_and_run(&code, profile, a, g, in, out, err);
    kiln_arena_fini(&code);
    return st;
}
