/* Arguments of a kernel: random, packed, guarded, poisoned; and one call of it. */
#include "pipeline/kernels/kernels_internal.h"
#include "pipeline/kernels/pack.h"

#include <string.h>

/* All bits set is NaN in every float type, and no value that a kernel makes by chance
 * in an integer one. */
enum { POISON = 0xFF };

static void poison(kiln_guarded *g) { memset(g->data, POISON, g->bytes); }

void kiln_call_poison(kiln_call *c) {
    const kiln_te_graph *te = &c->kernel->scheduled.te;
    for (size_t i = te->n_inputs; i < te->n_args; i++)
        poison(&c->arg[i]);
    poison(&c->workspace);
    for (int i = 0; i < kiln_team_size(c->team); i++)
        poison(&c->scratch[i]);
}

static kiln_tensor plain_value(kiln_arena *a, const kiln_value *v, uint64_t seed) {
    if (v->data != NULL)
        return (kiln_tensor){.type = v->type, .data = (void *)(uintptr_t)v->data};
    return kiln_ref_random(a, &v->type, seed);
}

kiln_status kiln_call_new(kiln_arena *a, const kiln_kernel *k, kiln_kernel_fn *fn,
                          kiln_team team, uint64_t seed, kiln_call *out,
                          kiln_err *err) {
    KILN_ASSERT(fn != NULL, "the kernel of '%s' is not loaded", k->work->name);
    const kiln_te_graph *te = &k->scheduled.te;
    const int n_threads = kiln_team_size(team);
    kiln_packer *packer = kiln_packer_new(a);
    kiln_call c = {.kernel = k,
                   .fn = fn,
                   .team = team,
                   .hash = kiln_array(a, uint64_t, te->n_inputs),
                   .scratch = kiln_array(a, kiln_guarded, n_threads),
                   .scratch_data = kiln_array(a, void *, n_threads),
                   .plain = kiln_array(a, kiln_tensor, k->work->graph->values.n),
                   .arg = kiln_array(a, kiln_guarded, te->n_args),
                   .tensor = kiln_array(a, void *, te->n_args)};
    for (size_t i = 0; i < te->n_args; i++) {
        const kiln_value *v = te->arg_value[i];
        const kiln_type *t = &te->arg_type[i];
        KILN_TRY(kiln_type_check(t, err));
        c.arg[i] = kiln_guarded_new(a, (size_t)kiln_type_bytes(t));
        c.tensor[i] = c.arg[i].data;
        if (i >= te->n_inputs)
            continue;
        c.plain[v->id] = plain_value(a, v, seed + i);
        KILN_TRY(kiln_packer_run(packer, t, c.plain[v->id].data, c.arg[i].data, err));
        c.hash[i] = kiln_hash64(c.arg[i].data, c.arg[i].bytes, 0);
    }
    c.workspace = kiln_guarded_new(a, k->object.workspace_bytes);
    for (int i = 0; i < n_threads; i++) {
        c.scratch[i] = kiln_guarded_new(a, k->object.scratch_bytes);
        c.scratch_data[i] = c.scratch[i].data;
    }
    c.args = (kiln_args){.tensor = c.tensor, .workspace = c.workspace.data};
    kiln_call_poison(&c);
    *out = c;
    return KILN_OK;
}

int kiln_call_run(kiln_call *c) {
    KILN_ASSERT(c->fn != NULL, "the kernel of '%s' is not loaded",
                c->kernel->work->name);
    if (c->team.pool == NULL) {
        kiln_ctx ctx;
        kiln_ctx_init_serial(&ctx, c->scratch_data[0]);
        return c->fn(&c->args, &ctx);
    }
    kiln_pool_set_scratch(c->team.pool, c->scratch_data);
    return c->fn(&c->args, kiln_pool_ctx(c->team.pool));
}

/* ---- teams ----------------------------------------------------------------------- */

static void close_pool(void *pool) { kiln_pool_close(pool); }

kiln_status kiln_team_open(kiln_arena *a, int n, kiln_team *out, kiln_err *err) {
    kiln_team t = {.pool = NULL, .cpus = kiln_cpus_own()};
    char text[KILN_POOL_TEXT] = "";
    const kiln_pool_options o = {.n_threads = n, .pins = 1};
    if (n > KILN_POOL_MAX_THREADS)
        return kiln_fail(err, KILN_ERR_LIMIT, "at most %d threads, not %d",
                         KILN_POOL_MAX_THREADS, n);
    if (n > 1) {
        if (kiln_pool_open(&o, &t.pool, text) != 0)
            return kiln_fail(err, KILN_ERR_LIB, "%d threads cannot be started: %s", n,
                             text);
        kiln_arena_defer(a, close_pool, t.pool);
    }
    *out = t;
    return KILN_OK;
}

int kiln_team_size(kiln_team t) {
    return t.pool != NULL ? kiln_pool_threads(t.pool) : 1;
}
