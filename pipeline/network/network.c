/* An executable graph as a network: compiled, written, opened in this process. */
#include "pipeline/network/network_internal.h"

#include <string.h>

/* What comes out must pass the check of whoever runs it. */
static kiln_status check_plan(const kiln_network *n, kiln_err *err) {
    kiln_plan plan;
    char text[KILN_PLAN_ERROR];
    return kiln_plan_check(n->plan.p, n->plan.n, &plan, text) == 0
               ? KILN_OK
               : kiln_fail(err, KILN_ERR_LIMIT, "%s", text);
}

kiln_status kiln_network_compile(kiln_arena *a, const kiln_graph *g,
                                 const kiln_profile *p, const kiln_network_options *o,
                                 kiln_network *out, kiln_err *err) {
    kiln_net *n = kiln_new(a, kiln_net);
    *out = (kiln_network){.name = g->name, .profile = p, .net = n};
    KILN_TRY(kiln_compile(a, g, p, o, n, err));
    kiln_status st = kiln_network_write(a, out, err);
    if (st == KILN_OK)
        st = check_plan(out, err);
    if (st != KILN_OK)
        kiln_note(err, "compiling '%s' for profile '%s'", g->name, p->name);
    return st;
}

kiln_status kiln_network_place(kiln_arena *a, const kiln_network *n,
                               const kiln_placement *o, kiln_network *out,
                               kiln_err *err) {
    kiln_net *net = kiln_new(a, kiln_net);
    *out = (kiln_network){.name = n->name, .profile = n->profile, .net = net};
    KILN_TRY(kiln_net_on_devices(a, n->net, o, net, err));
    KILN_TRY(kiln_network_write(a, out, err));
    return check_plan(out, err);
}

/* ---- in this process ------------------------------------------------------------- */

typedef struct opened {
    const kiln_network *n;
    kiln_kernel_fn **fn;
} opened;

static kiln_kernel_fn *find(void *user, const char *symbol) {
    const opened *o = user;
    for (size_t i = 0; i < o->n->kernel.n; i++)
        if (strcmp(o->n->kernel.v[i].symbol, symbol) == 0)
            return o->fn[i];
    return NULL;
}

static void close_code(void *code) { kiln_code_close(code); }

kiln_status kiln_network_open(kiln_arena *a, const kiln_network *n,
                              const kiln_model_options *options, kiln_model **out,
                              kiln_err *err) {
    KILN_TRY(kiln_runs_here(n->profile, err));
    opened *o = kiln_new(a, opened);
    char text[KILN_ERROR_TEXT] = "";
    *o = (opened){n, kiln_array(a, kiln_kernel_fn *, n->kernel.n)};
    for (size_t i = 0; i < n->kernel.n; i++) {
        const kiln_network_kernel *k = &n->kernel.v[i];
        kiln_code *code = NULL;
        if (kiln_code_open(k->object.bytes.p, k->object.bytes.n, &code, text) !=
            KILN_LOAD_OK)
            return kiln_fail(err, KILN_ERR_LIB, "kernel '%s' cannot be loaded: %s",
                             k->symbol, text);
        kiln_arena_defer(a, close_code, code);
        o->fn[i] = kiln_code_kernel(code, k->symbol);
    }
    const kiln_model_parts parts = {n->plan.p,      n->plan.n, n->params,
                                    n->param_bytes, find,      o};
    *out = kiln_model_from_parts(&parts, options, text);
    return *out != NULL ? KILN_OK
                        : kiln_fail(err, KILN_ERR_LIB, "'%s' cannot be opened: %s",
                                    n->name, text);
}
