/* How fast all of this process's cores together copy memory: what bounds steps that
 * compute little. Bytes read and bytes written both count; the C library's memcpy,
 * which writes past the caches where that is faster. */
#include "pipeline/bench/bench_internal.h"

#include <math.h>
#include <string.h>

#include "runtime/pool.h"

enum { SLICES = 5 };
static const int64_t mib = INT64_C(1) << 20;

typedef struct copying {
    char *from, *to;
    size_t bytes; /* of each part: one for each thread */
} copying;

static int copy_parts(const kiln_args *args, kiln_ctx *ctx, void *closure,
                      int64_t begin, int64_t end, void *scratch) {
    const copying *c = closure;
    const size_t at = (size_t)begin * c->bytes;
    (void)args;
    (void)ctx;
    (void)scratch;
    memcpy(c->to + at, c->from + at, (size_t)(end - begin) * c->bytes);
    return 0;
}

/* Four times the last cache, from 64 to 256 MiB, and no more than an eighth of what the
 * machine has: half of it is read, half written. */
static int64_t total_bytes(const kiln_profile *p, const kiln_machine *m) {
    const int64_t wanted = 4 * p->l3_bytes;
    const int64_t bytes = wanted < 64 * mib    ? 64 * mib
                          : wanted > 256 * mib ? 256 * mib
                                               : wanted;
    return m->memory_bytes > 0 && bytes > m->memory_bytes / 8 ? m->memory_bytes / 8
                                                              : bytes;
}

double kiln_copy_gbs(const kiln_profile *p, const kiln_machine *m) {
    char text[KILN_POOL_TEXT] = "";
    kiln_arena scratch = {0};
    kiln_pool *pool = NULL;
    double best = 0;
    if (kiln_pool_open(NULL, &pool, text) != 0)
        return 0;
    const int n = kiln_pool_threads(pool);
    copying c = {.bytes = (size_t)(total_bytes(p, m) / 2 / n)};
    const size_t bytes = c.bytes * (size_t)n;
    KILN_ASSERT(c.bytes > 0, "%d threads copy nothing", n);
    c.from = kiln_arena_alloc(&scratch, bytes);
    c.to = kiln_arena_alloc(&scratch, bytes);
    memset(c.from, 1, bytes); /* pages that nobody wrote are all one */
    memset(c.to, 2, bytes);
    kiln_ctx *ctx = kiln_pool_ctx(pool);
    for (int i = 0; i < SLICES; i++) {
        const int64_t begin = kiln_now_ns();
        (void)ctx->parallel_for(ctx, copy_parts, NULL, &c, n);
        const double ns = (double)(kiln_now_ns() - begin);
        best = fmax(best, ns > 0 ? 2 * (double)bytes / ns : 0);
    }
    kiln_pool_close(pool);
    kiln_arena_fini(&scratch);
    return best;
}

void kiln_bench_machine(kiln_arena *a, const kiln_subject *s, kiln_machine *out) {
    const char *device = kiln_remote_device(s->remote);
    if (s->machine != NULL)
        *out = *s->machine;
    else
        kiln_machine_read(a, out);
    if (device[0] != '\0')
        out->cpu = kiln_format(a, "%s with %s", out->cpu, device);
}
