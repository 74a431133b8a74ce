/* A GPU's queues: tickets by slots, and what became of them. */
#include "runtime/device/gpu_graph.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static uint32_t slot_of(uint64_t ticket) { return (uint32_t)(ticket % KILN_GPU_SLOTS); }

static void enter(kiln_gpu_device *d) {
    if (d->driver->enter != NULL)
        d->driver->enter(d);
}

static void leave(kiln_gpu_device *d) {
    if (d->driver->leave != NULL)
        d->driver->leave(d);
}

/* The first failure counts. */
static void fail(kiln_gpu_queue *q, uint64_t ticket, kiln_device_failure failure) {
    if (q->has_failed)
        return;
    q->has_failed = 1;
    q->failed_at = ticket;
    q->failure = failure;
}

static void fail_by_driver(kiln_gpu_queue *q, uint64_t ticket, int code) {
    if (code != 0)
        fail(q, ticket,
             (kiln_device_failure){q->tag[slot_of(ticket)], code,
                                   q->device->driver->why(code)});
}

/* ---- launches in a row ------------------------------------------------------------ */

static int hold(kiln_gpu_queue *q) {
    const int code = q->device->driver->hold(q);
    q->is_held = code == 0;
    return code == 0 ? q->device->driver->begin_timing(q) : code;
}

/* What was noted as a graph is told, held. */
static int tell_row(kiln_gpu_queue *q) {
    q->is_noted = 0;
    int code = q->device->driver->end_graph(q, q->has_failed ? NULL : &q->row);
    if (code == 0 && q->row != NULL)
        code = hold(q);
    return code == 0 && q->row != NULL ? q->device->driver->run_graph(q, q->row) : code;
}

/* The stream does nothing. */
static void forget_row(kiln_gpu_queue *q) {
    if (q->is_noted)
        (void)q->device->driver->end_graph(q, NULL);
    if (q->row != NULL)
        q->device->driver->release_graph(q, q->row);
    q->is_noted = 0;
    q->row = NULL;
}

/* A graph's launches follow one another faster than those that are told one by one. */
static int begin_row(kiln_gpu_queue *q) {
    forget_row(q);
    q->is_noted = kiln_gpu_graphs_are_here(q) && q->device->driver->begin_graph(q) == 0;
    return q->is_noted ? 0 : hold(q);
}

static int end_row(kiln_gpu_queue *q) {
    const int code = q->is_noted ? tell_row(q) : 0;
    return code == 0 && !q->has_failed ? q->device->driver->end_timing(q) : code;
}

static void let_go(kiln_gpu_queue *q) {
    if (q->is_noted) /* somebody waits in between */
        fail_by_driver(q, q->n_told, tell_row(q));
    if (q->is_held)
        q->device->driver->let_go(q);
    q->is_held = 0;
}

/* Until everything up to the ticket is done. Streams are in order, but each operation has
 * a result of its own. */
static void await(kiln_gpu_queue *q, uint64_t ticket) {
    assert(ticket <= q->n_told);
    if (q->n_done < ticket)
        let_go(q); /* else nobody would */
    while (q->n_done < ticket) {
        const uint64_t next = q->n_done + 1;
        if (q->is_marked[slot_of(next)])
            fail_by_driver(q, next, q->device->driver->await(q, slot_of(next)));
        q->is_marked[slot_of(next)] = 0;
        q->n_done = next;
    }
}

/* The next ticket, with a slot of its own. */
uint64_t kiln_gpu_queue_begin_ticket(kiln_gpu_queue *q, uint32_t tag) {
    if (q->n_told - q->n_done == KILN_GPU_SLOTS)
        await(q, q->n_done + 1);
    assert(q->n_told - q->n_done < KILN_GPU_SLOTS);
    const uint64_t ticket = ++q->n_told;
    q->tag[slot_of(ticket)] = tag;
    return ticket;
}

/* What was told of the ticket is told; `code` is the driver's answer. Marks would come
 * between the launches of a span: its end has one. */
void kiln_gpu_queue_end_ticket(kiln_gpu_queue *q, uint64_t ticket, int code) {
    assert(ticket == q->n_told && ticket > q->n_done);
    const int has_mark = code == 0 && !q->in_span;
    if (has_mark)
        code = q->device->driver->mark(q, slot_of(ticket));
    q->is_marked[slot_of(ticket)] = has_mark && code == 0;
    fail_by_driver(q, ticket, code);
}

/* ---- launches --------------------------------------------------------------------- */

/* What the plan and the module say apart from one another. NULL: they agree. */
static const char *disagree(const kiln_gpu_queue *q, const kiln_device_launch *l) {
    const kiln_gpu_kernel *k = ((const kiln_gpu_handle *)l->kernel.handle)->kernel;
    return l->n_operands != k->n_operands
               ? "the plan has another number of operands than the module's kernel"
           : k->workspace_bytes > q->workspace_bytes
               ? "the module's kernel wants more workspace than the plan says"
               : NULL;
}

int kiln_gpu_queue_tell(kiln_gpu_queue *q, const kiln_gpu_handle *h,
                        void *const *operand) {
    uint64_t value[KILN_GPU_MAX_ARGS];
    int code = 0;
    for (uint32_t i = 0; i < h->kernel->n_launches && code == 0; i++) {
        const kiln_gpu_launch *one = &h->module->launch[h->kernel->first_launch + i];
        const kiln_gpu_arg *arg = &h->module->arg[one->first_arg];
        assert(one->n_args <= KILN_GPU_MAX_ARGS);
        for (uint32_t j = 0; j < one->n_args; j++)
            value[j] = arg[j].kind == KILN_GPU_OPERAND
                           ? (uint64_t)(uintptr_t)operand[arg[j].index]
                       : arg[j].kind == KILN_GPU_WORKSPACE
                           ? (uint64_t)(uintptr_t)q->workspace + arg[j].value
                           : arg[j].value;
        code = q->device->driver->launch(q, h->entry[i], one, arg, value);
    }
    return code;
}

static int launch(kiln_gpu_queue *q, const kiln_device_launch *l) {
    const kiln_gpu_driver *driver = q->device->driver;
    const int is_timed = q->is_timed && !q->in_span;
    int code = is_timed ? driver->begin_timing(q) : 0;
    if (code == 0)
        code = kiln_gpu_queue_tell(q, l->kernel.handle, l->operand);
    return code == 0 && is_timed ? driver->end_timing(q) : code;
}

static uint64_t launch_now(kiln_gpu_queue *q, const kiln_device_launch *l) {
    const uint64_t ticket = kiln_gpu_queue_begin_ticket(q, l->tag);
    const char *wrong = disagree(q, l);
    if (wrong != NULL)
        fail(q, ticket, (kiln_device_failure){l->tag, -1, wrong});
    if (q->has_failed)
        return ticket;
    kiln_gpu_graphs_note(q, l);
    kiln_gpu_queue_end_ticket(q, ticket, launch(q, l));
    return ticket;
}

uint64_t kiln_gpu_queue_launch(kiln_device_queue *base, const kiln_device_launch *l) {
    kiln_gpu_queue *q = (kiln_gpu_queue *)base;
    uint64_t ticket = 0;
    enter(q->device);
    if (!kiln_gpu_graphs_replay(q, l, &ticket))
        ticket = launch_now(q, l);
    leave(q->device);
    return ticket;
}

void kiln_gpu_queue_set_tag(kiln_gpu_queue *q, uint64_t ticket, uint32_t tag) {
    assert(ticket <= q->n_told && q->n_told - ticket < KILN_GPU_SLOTS);
    q->tag[slot_of(ticket)] = tag;
}

void kiln_gpu_queue_span(kiln_device_queue *base, int begins) {
    kiln_gpu_queue *q = (kiln_gpu_queue *)base;
    if (!q->is_timed || q->in_span == (begins != 0))
        return;
    enter(q->device);
    q->in_span = 0;
    const uint64_t ticket = kiln_gpu_queue_begin_ticket(
        q, 0); /* a failure of these has no tag of its own */
    int code = 0;
    if (begins && !q->has_failed)
        code = begin_row(q);
    if (!begins)
        code = end_row(q);
    q->in_span = begins != 0;
    if (!q->has_failed)
        kiln_gpu_queue_end_ticket(q, ticket, code);
    if (!begins)
        let_go(q);
    leave(q->device);
}

void *kiln_gpu_queue_workspace(kiln_device_queue *base) {
    return ((kiln_gpu_queue *)base)->workspace;
}

uint64_t kiln_gpu_queue_copy(kiln_device_queue *base, const kiln_device_copy *c) {
    kiln_gpu_queue *q = (kiln_gpu_queue *)base;
    kiln_gpu_graphs_cut(q);
    enter(q->device);
    const uint64_t ticket = kiln_gpu_queue_begin_ticket(q, c->tag);
    if (!q->has_failed)
        kiln_gpu_queue_end_ticket(
            q, ticket,
            c->bytes > 0 && c->to != c->from
                ? q->device->driver->copy(q, c->to, c->from, c->bytes)
                : 0);
    leave(q->device);
    return ticket;
}

/* ---- waiting ---------------------------------------------------------------------- */

void kiln_gpu_queue_order(kiln_device_queue *base, kiln_device_queue *base_of_other,
                          uint64_t ticket) {
    kiln_gpu_queue *q = (kiln_gpu_queue *)base,
                   *other = (kiln_gpu_queue *)base_of_other;
    kiln_gpu_graphs_cut(q);
    kiln_gpu_graphs_cut(other);
    if (ticket > other->n_told)
        ticket = other->n_told;
    if (other->has_failed && other->failed_at <= ticket)
        fail(q, q->n_told, other->failure);
    if (q->has_failed || ticket <= other->n_done || !other->is_marked[slot_of(ticket)])
        return;
    if (q->device != other->device) { /* drivers know nothing of one another's events */
        enter(other->device);
        await(other, ticket);
        leave(other->device);
        if (other->has_failed && other->failed_at <= ticket)
            fail(q, q->n_told, other->failure);
        return;
    }
    enter(q->device);
    /* Should that fail which is waited for, its tag is told here too. */
    const uint64_t own = kiln_gpu_queue_begin_ticket(q, other->tag[slot_of(ticket)]);
    if (!q->has_failed)
        kiln_gpu_queue_end_ticket(q, own,
                                  q->device->driver->follow(q, other, slot_of(ticket)));
    leave(q->device);
}

int kiln_gpu_queue_finish(kiln_device_queue *base, uint64_t ticket,
                          kiln_device_failure *out) {
    kiln_gpu_queue *q = (kiln_gpu_queue *)base;
    const uint64_t last = ticket < q->n_told ? ticket : q->n_told;
    kiln_gpu_graphs_cut(q);
    enter(q->device);
    await(q, last);
    if (ticket == KILN_DEVICE_ALL)
        let_go(q);
    if (ticket == KILN_DEVICE_ALL)
        fail_by_driver(q, last, q->device->driver->drain(q));
    leave(q->device);
    if (!q->has_failed || q->failed_at > last)
        return 0;
    *out = q->failure;
    if (ticket == KILN_DEVICE_ALL)
        q->has_failed = 0;
    return -1;
}

uint64_t kiln_gpu_queue_last_ns(kiln_device_queue *base) {
    kiln_gpu_queue *q = (kiln_gpu_queue *)base;
    if (!q->is_timed)
        return 0;
    enter(q->device);
    const uint64_t ns = q->device->driver->elapsed_ns(q);
    leave(q->device);
    return ns;
}

/* ---- opening and closing ---------------------------------------------------------- */

void kiln_gpu_queue_close(kiln_device_queue *base) {
    kiln_gpu_queue *q = (kiln_gpu_queue *)base;
    kiln_device *d = &q->device->base;
    enter(q->device);
    forget_row(q);
    let_go(q);
    kiln_gpu_graphs_close(q);
    q->device->driver->unstream(q);
    leave(q->device);
    if (q->workspace != NULL)
        d->kind->release(d, 0, q->workspace);
    kiln_cpu_release(d, 0, q);
}

int kiln_gpu_queue_open(kiln_device *d, const kiln_device_queue_options *o,
                        kiln_device_queue **out, char error[KILN_ERROR_TEXT]) {
    kiln_gpu_queue *q = kiln_cpu_alloc(d, 0, sizeof *q);
    if (q == NULL) {
        snprintf(error, KILN_ERROR_TEXT, "no memory for a queue of '%s'",
                 d->kind->name);
        return -1;
    }
    memset(q, 0, sizeof *q);
    q->base.kind = d->kind;
    q->device = (kiln_gpu_device *)d;
    q->workspace_bytes = o->workspace_bytes;
    q->is_timed = o->is_timed != 0;
    if (o->workspace_bytes > 0)
        q->workspace = d->kind->alloc(d, 0, o->workspace_bytes);
    if (o->workspace_bytes > 0 && q->workspace == NULL) {
        snprintf(error, KILN_ERROR_TEXT, "no memory for %zu bytes of workspace of '%s'",
                 o->workspace_bytes, d->kind->name);
        kiln_cpu_release(d, 0, q);
        return -1;
    }
    enter(q->device);
    const int code = q->device->driver->stream(q);
    leave(q->device);
    if (code != 0) {
        const char *why = q->device->driver->why(code);
        snprintf(error, KILN_ERROR_TEXT, "a queue of '%s': the driver says %d, %s",
                 d->kind->name, code, why != NULL ? why : "which has no name");
        kiln_gpu_queue_close(&q->base);
        return -1;
    }
    q->graphs = kiln_gpu_graphs_open(q);
    *out = &q->base;
    return 0;
}
