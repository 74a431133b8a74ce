#include "tests/support/graph/network_open.h"

#include <string.h>

#include "runtime/loader.h"

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

/* What drivers compile. */
static void list_modules(kiln_arena *a, const kiln_network *n, kiln_model_options *o) {
    kiln_model_module *module = kiln_array(a, kiln_model_module, n->module.n);
    for (size_t i = 0; i < n->module.n; i++)
        if (n->module.v[i].code.n > 0)
            module[o->n_modules++] = (kiln_model_module){
                n->module.v[i].file, n->module.v[i].code.p, n->module.v[i].code.n};
    o->module = module;
}

kiln_status kiln_test_network_open(kiln_arena *a, const kiln_network *n,
                                   const kiln_model_options *options, kiln_model **out,
                                   kiln_err *err) {
    KILN_TRY(kiln_runs_here(n->profile, err));
    opened *o = kiln_new(a, opened);
    char text[KILN_ERROR_TEXT] = "";
    *o = (opened){n, kiln_array(a, kiln_kernel_fn *, n->kernel.n)};
    for (size_t i = 0; i < n->kernel.n; i++) {
        const kiln_network_kernel *k = &n->kernel.v[i];
        kiln_code *code = NULL;
        if (kiln_arch_of(k->profile->arch)->kind != KILN_TARGET_CPU)
            continue;
        if (kiln_code_open(k->object.bytes.p, k->object.bytes.n, &code, text) !=
            KILN_LOAD_OK)
            return kiln_fail(err, KILN_ERR_LIB, "kernel '%s' cannot be loaded: %s",
                             k->symbol, text);
        kiln_arena_defer(a, close_code, code);
        o->fn[i] = kiln_code_kernel(code, k->symbol);
    }
    kiln_model_options all = options != NULL ? *options : (kiln_model_options){0};
    if (all.n_modules == 0)
        list_modules(a, n, &all);
    const kiln_model_parts parts = {n->plan.p,      n->plan.n, n->params,
                                    n->param_bytes, find,      o};
    *out = kiln_model_from_parts(&parts, &all, text);
    return *out != NULL ? KILN_OK
                        : kiln_fail(err, KILN_ERR_LIB, "'%s' cannot be opened: %s",
                                    n->name, text);
}
