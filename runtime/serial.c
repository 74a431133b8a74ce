/* A context of one thread. */
#include "runtime/loader.h"

static int run_all(kiln_ctx *ctx, kiln_parallel_fn *fn, const kiln_args *args,
                   void *closure, int64_t n) {
    return fn(args, ctx, closure, 0, n, ctx->scratch);
}

void kiln_ctx_init_serial(kiln_ctx *ctx, void *scratch) {
    ctx->parallel_for = run_all;
    ctx->scratch = scratch;
    ctx->n_threads = 1;
    ctx->reserved = 0;
}
