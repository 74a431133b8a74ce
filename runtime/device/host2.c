/* host2: this machine's processors once more, as a device with memory and queues of its
 * own, each queue a thread. It is there to hold plans for several devices to what they
 * say on any machine: what was copied too little or waited for too little computes
 * something else, and ThreadSanitizer sees it. */
#include "runtime/device.h"
#include "runtime/loader.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { N_SLOTS = 64 }; /* operations that a queue holds; who tells more of them waits */

typedef enum operation_kind { LAUNCH, COPY, ORDER } operation_kind;

struct queue;
typedef struct operation {
    operation_kind kind;
    union {
        kiln_device_launch launch;
        kiln_device_copy copy;
        struct {
            struct queue *other;
            uint64_t ticket;
        } order;
    } u;
} operation;

typedef struct queue {
    kiln_device_queue base;
    kiln_device *device;
    void *workspace, *scratch;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t told, did;
    /* Under the lock: */
    operation slot[N_SLOTS]; /* by ticket */
    uint64_t n_told, n_done; /* tickets given, and those that are done */
    int stops, failed;
    kiln_device_failure failure;
} queue;

/* ---- the thread ------------------------------------------------------------------- */

/* Until the ticket is done; has the queue failed? */
static int await(queue *q, uint64_t ticket, kiln_device_failure *out) {
    pthread_mutex_lock(&q->lock);
    if (ticket == KILN_DEVICE_ALL)
        ticket = q->n_told;
    while (q->n_done < ticket)
        pthread_cond_wait(&q->did, &q->lock);
    const int failed = q->failed;
    *out = q->failure;
    pthread_mutex_unlock(&q->lock);
    return failed;
}

/* 0, or not, with the failure. */
static int perform(queue *q, kiln_ctx *ctx, const operation *o,
                   kiln_device_failure *out) {
    switch (o->kind) {
    case LAUNCH: {
        const kiln_args args = {o->u.launch.operand, q->workspace};
        out->tag = o->u.launch.tag;
        out->code = o->u.launch.kernel.fn(&args, ctx);
        return out->code;
    }
    case COPY:
        memmove(o->u.copy.to, o->u.copy.from, o->u.copy.bytes);
        return 0;
    case ORDER:
        break;
    }
    return await(o->u.order.other, o->u.order.ticket, out);
}

static void *work(void *user) {
    queue *q = user;
    kiln_device_failure failure = {0};
    kiln_ctx ctx;
    kiln_ctx_init_serial(&ctx, q->scratch);
    pthread_mutex_lock(&q->lock);
    for (;;) {
        while (q->n_done == q->n_told && !q->stops)
            pthread_cond_wait(&q->told, &q->lock);
        if (q->n_done == q->n_told)
            break;
        if (!q->failed) {
            const operation o = q->slot[q->n_done % N_SLOTS];
            pthread_mutex_unlock(&q->lock);
            const int failed = perform(q, &ctx, &o, &failure);
            pthread_mutex_lock(&q->lock);
            if (failed) {
                q->failed = 1;
                q->failure = failure;
            }
        }
        q->n_done++;
        pthread_cond_broadcast(&q->did);
    }
    pthread_mutex_unlock(&q->lock);
    return NULL;
}

/* ---- its caller ------------------------------------------------------------------- */

static uint64_t tell(queue *q, const operation *o) {
    pthread_mutex_lock(&q->lock);
    while (q->n_told - q->n_done == N_SLOTS)
        pthread_cond_wait(&q->did, &q->lock);
    assert(q->n_told >= q->n_done && q->n_told - q->n_done < N_SLOTS);
    q->slot[q->n_told % N_SLOTS] = *o;
    const uint64_t ticket = ++q->n_told;
    pthread_cond_signal(&q->told);
    pthread_mutex_unlock(&q->lock);
    return ticket;
}

static uint64_t launch(kiln_device_queue *q, const kiln_device_launch *l) {
    const operation o = {.kind = LAUNCH, .u.launch = *l};
    return tell((queue *)q, &o);
}

static uint64_t copy(kiln_device_queue *q, const kiln_device_copy *c) {
    const operation o = {.kind = COPY, .u.copy = *c};
    return tell((queue *)q, &o);
}

static void order(kiln_device_queue *q, kiln_device_queue *other, uint64_t ticket) {
    const operation o = {.kind = ORDER, .u.order = {(queue *)other, ticket}};
    tell((queue *)q, &o);
}

static int finish(kiln_device_queue *base, uint64_t ticket, kiln_device_failure *out) {
    queue *q = (queue *)base;
    kiln_device_failure failure;
    if (!await(q, ticket, &failure))
        return 0;
    *out = failure;
    if (ticket == KILN_DEVICE_ALL) {
        pthread_mutex_lock(&q->lock);
        q->failed = 0;
        pthread_mutex_unlock(&q->lock);
    }
    return -1;
}

/* ---- opening and closing ---------------------------------------------------------- */

static int open_host2(const kiln_allocator *allocator, kiln_device **out,
                      char error[KILN_ERROR_TEXT]) {
    return kiln_cpu_open(&kiln_device_kind_host2, allocator, out, error);
}

static void release(queue *q) {
    kiln_cpu_release(q->device, 0, q->scratch);
    kiln_cpu_release(q->device, 0, q->workspace);
    kiln_cpu_release(q->device, 0, q);
}

static void queue_close(kiln_device_queue *base) {
    queue *q = (queue *)base;
    pthread_mutex_lock(&q->lock);
    q->stops = 1;
    pthread_cond_signal(&q->told);
    pthread_mutex_unlock(&q->lock);
    pthread_join(q->thread, NULL);
    pthread_cond_destroy(&q->did);
    pthread_cond_destroy(&q->told);
    pthread_mutex_destroy(&q->lock);
    release(q);
}

/* Lock, conditions, thread; all of them or none. */
static int start(queue *q) {
    if (pthread_mutex_init(&q->lock, NULL) != 0)
        return -1;
    if (pthread_cond_init(&q->told, NULL) == 0) {
        if (pthread_cond_init(&q->did, NULL) == 0) {
            if (pthread_create(&q->thread, NULL, work, q) == 0)
                return 0;
            pthread_cond_destroy(&q->did);
        }
        pthread_cond_destroy(&q->told);
    }
    pthread_mutex_destroy(&q->lock);
    return -1;
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
    }
    const int has_memory = q != NULL && q->workspace != NULL && q->scratch != NULL;
    if (!has_memory || start(q) != 0) {
        snprintf(error, KILN_ERROR_TEXT, "a queue of host2: %s",
                 has_memory ? "the system gives no more threads" : "no memory for it");
        if (q != NULL)
            release(q);
        return -1;
    }
    *out = &q->base;
    return 0;
}

const kiln_device_kind kiln_device_kind_host2 = {
    .name = "host2",
    KILN_CPU_MEMORY_AND_CODE,
    .open = open_host2,
    .queue_open = queue_open,
    .queue_close = queue_close,
    .launch = launch,
    .copy = copy,
    .order = order,
    .finish = finish,
};
