#include "tests/support/kernel/kernel_call.h"

#include "runtime/loader.h"
#include "runtime/pool.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { ALIGN = 64, CANARY = 64, PAGE = 65536, CANARY_BYTE = 0xC3, POISON = 0xFF };
enum { WORKSPACE = KERNEL_MAX_ARGS, SCRATCH, N_BUFFERS = SCRATCH + KERNEL_MAX_THREADS };

/* All buffers of a call lie in one mapping, between pages that nobody may touch. */
typedef struct memory {
    unsigned char *map;
    size_t map_bytes;
    unsigned char *data[N_BUFFERS];
    size_t bytes[N_BUFFERS];
} memory;

static size_t room_of(size_t bytes) { return (bytes + ALIGN - 1) / ALIGN * ALIGN; }

static int map_all(memory *m) {
    size_t all = 0;
    for (int i = 0; i < N_BUFFERS; i++)
        all += room_of(m->bytes[i]) + 2 * (size_t)CANARY;
    const size_t inner = (all + PAGE - 1) / PAGE * PAGE;
    m->map_bytes = inner + 2 * (size_t)PAGE;
    void *p = mmap(NULL, m->map_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return 1;
    m->map = p;
    unsigned char *at = m->map + PAGE;
    if (mprotect(at, inner, PROT_READ | PROT_WRITE) != 0)
        return 1;
    memset(at, CANARY_BYTE, inner);
    for (int i = 0; i < N_BUFFERS; i++) {
        m->data[i] = at + CANARY;
        memset(m->data[i], POISON, m->bytes[i]);
        at = m->data[i] + room_of(m->bytes[i]) + CANARY;
    }
    return 0;
}

static int check_canaries(const memory *m, char text[KERNEL_TEXT]) {
    for (int i = 0; i < N_BUFFERS; i++) {
        const long long room = (long long)room_of(m->bytes[i]) + CANARY;
        for (long long k = -CANARY; k < room; k++) {
            if (k == 0)
                k = (long long)m->bytes[i];
            if (m->data[i][k] == CANARY_BYTE)
                continue;
            snprintf(text, KERNEL_TEXT,
                     "byte %lld beside %s %d of %zu bytes was written", k,
                     i == WORKSPACE ? "workspace"
                     : i >= SCRATCH ? "scratch"
                                    : "argument",
                     i, m->bytes[i]);
            return 1;
        }
    }
    return 0;
}

static int finish(const kernel_call *c, const memory *m, char text[KERNEL_TEXT]) {
    if (check_canaries(m, text) != 0)
        return 1;
    for (int i = 0; i < c->n_args; i++) {
        if (i >= c->n_inputs) {
            memcpy(c->tensor[i], m->data[i], c->bytes[i]);
        } else if (memcmp(c->tensor[i], m->data[i], c->bytes[i]) != 0) {
            snprintf(text, KERNEL_TEXT, "input %d was written", i);
            return 1;
        }
    }
    return 0;
}

/* In place, or on a pool whose threads have their scratch between canaries too. */
static int call(const kernel_call *c, kiln_kernel_fn *fn, const kiln_args *args,
                const memory *m, char text[KERNEL_TEXT]) {
    const kiln_pool_options o = {.n_threads = c->n_threads};
    kiln_pool *pool = NULL;
    void *scratch[KERNEL_MAX_THREADS];
    kiln_ctx serial;
    int r;
    if (c->n_threads <= 1) {
        kiln_ctx_init_serial(&serial, m->data[SCRATCH]);
        r = fn(args, &serial);
    } else {
        if (kiln_pool_open(&o, &pool, text) != 0)
            return 1;
        for (int i = 0; i < KERNEL_MAX_THREADS; i++)
            scratch[i] = m->data[SCRATCH + i];
        kiln_pool_set_scratch(pool, scratch);
        r = fn(args, kiln_pool_ctx(pool));
        kiln_pool_close(pool);
    }
    if (r != 0)
        snprintf(text, KERNEL_TEXT, "the kernel returned %d", r);
    return r;
}

int kernel_call_run(const kernel_call *c, kiln_kernel_fn *fn, char text[KERNEL_TEXT]) {
    memory m = {.map = NULL};
    void *tensor[KERNEL_MAX_ARGS];
    int failed = 1;
    for (int i = 0; i < c->n_args; i++)
        m.bytes[i] = c->bytes[i];
    m.bytes[WORKSPACE] = c->workspace_bytes;
    for (int i = 0; i < (c->n_threads > 1 ? c->n_threads : 1); i++)
        m.bytes[SCRATCH + i] = c->scratch_bytes;
    if (map_all(&m) != 0) {
        snprintf(text, KERNEL_TEXT, "no memory for the call");
    } else {
        for (int i = 0; i < c->n_args; i++) {
            if (i < c->n_inputs)
                memcpy(m.data[i], c->tensor[i], c->bytes[i]);
            tensor[i] = m.data[i];
        }
        const kiln_args args = {tensor, m.data[WORKSPACE]};
        if (call(c, fn, &args, &m, text) == 0)
            failed = finish(c, &m, text);
    }
    if (m.map != NULL)
        munmap(m.map, m.map_bytes);
    return failed;
}
