/* The host: the thread that runs a session, and those of its pool. Its queue does what it
 * is told at once, so that every ticket is 0; launches are calls of whoever runs. */
#include "runtime/device.h"
#include "runtime/loader.h"
#include "runtime/pool.h"

#include <stdio.h>
#include <string.h>

typedef struct queue {
    kiln_device_queue base;
    kiln_device *device;
    kiln_ctx serial;
    kiln_pool *pool; /* NULL: one thread */
    void *workspace, *scratch;
    kiln_device_direct direct;
    kiln_device_failure failure;
    int failed;
} queue;

static int open_host(const kiln_allocator *allocator, kiln_device **out,
                     char error[KILN_ERROR_TEXT]) {
    return kiln_cpu_open(&kiln_device_kind_host, allocator, out, error);
}

static void queue_close(kiln_device_queue *base) {
    queue *q = (queue *)base;
    kiln_pool_close(q->pool);
    kiln_cpu_release(q->device, 0, q->scratch);
    kiln_cpu_release(q->device, 0, q->workspace);
    kiln_cpu_release(q->device, 0, q);
}

/* Threads come with scratch of their own; one thread uses the queue's. */
static int make_threads(queue *q, const kiln_device_queue_options *o, char *error) {
    char text[KILN_POOL_TEXT] = "";
    kiln_ctx_init_serial(&q->serial, q->scratch);
    q->direct.ctx = &q->serial;
    if (o->n_threads <= 1)
        return 0;
    const kiln_pool_options options = {.n_threads = o->n_threads,
                                       .scratch_bytes = o->scratch_bytes};
    if (kiln_pool_open(&options, &q->pool, text) != 0) {
        snprintf(error, KILN_ERROR_TEXT, "a session of %d threads: %s", o->n_threads,
                 text);
        return -1;
    }
    q->direct.ctx = kiln_pool_ctx(q->pool);
    return 0;
}

static size_t at_least_one(size_t bytes) { return bytes > 0 ? bytes : 1; }

static int queue_open(kiln_device *d, const kiln_device_queue_options *o,
                      kiln_device_queue **out, char error[KILN_ERROR_TEXT]) {
    queue *q = kiln_cpu_alloc(d, 0, sizeof *q);
    if (q != NULL) {
        memset(q, 0, sizeof *q);
        q->base.kind = d->kind;
        q->device = d;
        q->workspace = kiln_cpu_alloc(d, 0, at_least_one(o->workspace_bytes));
        q->scratch = kiln_cpu_alloc(d, 0, at_least_one(o->scratch_bytes));
        q->direct.workspace = q->workspace;
        q->direct.bytes = sizeof *q + o->workspace_bytes + o->scratch_bytes;
    }
    if (q == NULL || q->workspace == NULL || q->scratch == NULL) {
        snprintf(error, KILN_ERROR_TEXT, "no memory for a queue of the host");
        if (q != NULL)
            queue_close(&q->base);
        return -1;
    }
    if (make_threads(q, o, error) != 0) {
        queue_close(&q->base);
        return -1;
    }
    *out = &q->base;
    return 0;
}

static const kiln_device_direct *direct(kiln_device_queue *q) {
    return &((queue *)q)->direct;
}

static void begin(kiln_device_queue *q) {
    if (((queue *)q)->pool != NULL)
        kiln_pool_begin(((queue *)q)->pool);
}

static void end(kiln_device_queue *q) {
    if (((queue *)q)->pool != NULL)
        kiln_pool_end(((queue *)q)->pool);
}

static uint64_t launch(kiln_device_queue *base, const kiln_device_launch *l) {
    queue *q = (queue *)base;
    const kiln_args args = {l->operand, q->workspace};
    const int code = q->failed ? 0 : l->kernel.fn(&args, q->direct.ctx);
    if (code != 0) {
        q->failed = 1;
        q->failure = (kiln_device_failure){l->tag, code, NULL};
    }
    return 0;
}

static uint64_t copy(kiln_device_queue *q, const kiln_device_copy *c) {
    if (!((queue *)q)->failed)
        memmove(c->to, c->from, c->bytes);
    return 0;
}

static int finish(kiln_device_queue *base, uint64_t ticket, kiln_device_failure *out) {
    queue *q = (queue *)base;
    if (!q->failed)
        return 0;
    *out = q->failure;
    q->failed = ticket != KILN_DEVICE_ALL;
    return -1;
}

const kiln_device_kind kiln_device_kind_host = {
    .name = "host",
    KILN_CPU_MEMORY_AND_CODE,
    .open = open_host,
    .queue_open = queue_open,
    .queue_close = queue_close,
    .direct = direct,
    .begin = begin,
    .end = end,
    .launch = launch,
    .copy = copy,
    .finish = finish,
};
