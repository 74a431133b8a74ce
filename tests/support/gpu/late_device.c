#include "tests/support/gpu/late_device.h"

#include "runtime/loader.h"

#include <stdio.h>
#include <string.h>

enum { N_LATE = 4096, MAX_OPERANDS = 256 };
/* Between a byte and its address: no process has memory there. */
static const uintptr_t far = (uintptr_t)1 << 62;

struct queue;
typedef struct late {
    enum { LAUNCH, COPY, ORDER } kind;
    kiln_device_launch launch;
    kiln_device_copy copy;
    struct queue *other;
    uint64_t ticket;
} late;

typedef struct queue {
    kiln_device_queue base;
    kiln_device *device;
    void *workspace, *scratch;
    kiln_ctx ctx;
    late *op; /* by ticket, of N_LATE */
    uint64_t n_told, n_done;
    int failed;
    kiln_device_failure failure;
} queue;

static int device_open(const kiln_allocator *allocator, kiln_device **out,
                       char error[KILN_ERROR_TEXT]) {
    return kiln_cpu_open(&kiln_test_late_device, allocator, out, error);
}

static void *device_alloc(kiln_device *d, uint32_t memory, size_t bytes) {
    void *block = kiln_cpu_alloc(d, memory, bytes);
    return block != NULL ? (void *)((uintptr_t)block + far) : NULL;
}

static void *near(const void *address) {
    const uintptr_t at = (uintptr_t)address;
    return (void *)(at >= far ? at - far : at);
}

static void device_release(kiln_device *d, uint32_t memory, void *block) {
    kiln_cpu_release(d, memory, block != NULL ? near(block) : NULL);
}

static void queue_close(kiln_device_queue *base) {
    queue *q = (queue *)base;
    kiln_cpu_release(q->device, 0, q->op);
    kiln_cpu_release(q->device, 0, q->scratch);
    kiln_cpu_release(q->device, 0, q->workspace);
    kiln_cpu_release(q->device, 0, q);
}

static int queue_open(kiln_device *d, const kiln_device_queue_options *o,
                      kiln_device_queue **out, char error[KILN_ERROR_TEXT]) {
    queue *q = kiln_cpu_alloc(d, 0, sizeof *q);
    if (q != NULL) {
        memset(q, 0, sizeof *q);
        q->base.kind = d->kind;
        q->device = d;
        q->workspace = kiln_cpu_alloc(d, 0, o->workspace_bytes + 1);
        q->scratch = kiln_cpu_alloc(d, 0, o->scratch_bytes + 1);
        q->op = kiln_cpu_alloc(d, 0, N_LATE * sizeof *q->op);
    }
    if (q == NULL || q->workspace == NULL || q->scratch == NULL || q->op == NULL) {
        snprintf(error, KILN_ERROR_TEXT, "no memory for a queue");
        if (q != NULL)
            queue_close(&q->base);
        return -1;
    }
    kiln_ctx_init_serial(&q->ctx, q->scratch);
    *out = &q->base;
    return 0;
}

/* ---- what it does ----------------------------------------------------------------- */

static int launch_now(queue *q, const kiln_device_launch *l) {
    void *operand[MAX_OPERANDS];
    const kiln_args args = {operand, q->workspace};
    if (l->n_operands > MAX_OPERANDS)
        return -1;
    for (uint32_t i = 0; i < l->n_operands; i++)
        operand[i] = near(l->operand[i]);
    return l->kernel.fn(&args, &q->ctx);
}

static void do_until(queue *q, uint64_t ticket);

static void perform(queue *q, const late *o) {
    if (o->kind == ORDER)
        do_until(o->other, o->ticket);
    if (o->kind == ORDER && o->other->failed) {
        q->failed = 1;
        q->failure = o->other->failure;
    }
    if (q->failed)
        return;
    if (o->kind == COPY)
        memmove(near(o->copy.to), near(o->copy.from), o->copy.bytes);
    const int code = o->kind == LAUNCH ? launch_now(q, &o->launch) : 0;
    if (code != 0) {
        q->failed = 1;
        q->failure = (kiln_device_failure){o->launch.tag, code, NULL};
    }
}

static void do_until(queue *q, uint64_t ticket) {
    while (q->n_done < q->n_told && q->n_done < ticket) {
        const late o = q->op[q->n_done % N_LATE];
        q->n_done++;
        perform(q, &o);
    }
}

static uint64_t tell(queue *q, const late *o) {
    if (q->n_told - q->n_done == N_LATE)
        do_until(q, q->n_done + 1);
    q->op[q->n_told % N_LATE] = *o;
    return ++q->n_told;
}

static uint64_t launch(kiln_device_queue *q, const kiln_device_launch *l) {
    const late o = {.kind = LAUNCH, .launch = *l};
    return tell((queue *)q, &o);
}

static uint64_t copy(kiln_device_queue *q, const kiln_device_copy *c) {
    const late o = {.kind = COPY, .copy = *c};
    return tell((queue *)q, &o);
}

static void order(kiln_device_queue *q, kiln_device_queue *other, uint64_t ticket) {
    const late o = {.kind = ORDER, .other = (queue *)other, .ticket = ticket};
    tell((queue *)q, &o);
}

static int finish(kiln_device_queue *base, uint64_t ticket, kiln_device_failure *out) {
    queue *q = (queue *)base;
    do_until(q, ticket);
    if (!q->failed)
        return 0;
    *out = q->failure;
    q->failed = ticket != KILN_DEVICE_ALL;
    return -1;
}

const kiln_device_kind kiln_test_late_device = {
    .name = "late",
    .n_memories = 1,
    .open = device_open,
    .close = kiln_cpu_close,
    .alloc = device_alloc,
    .release = device_release,
    .module_open = kiln_cpu_module_open,
    .module_kernel = kiln_cpu_module_kernel,
    .module_close = kiln_cpu_module_close,
    .queue_open = queue_open,
    .queue_close = queue_close,
    .launch = launch,
    .copy = copy,
    .order = order,
    .finish = finish,
};
