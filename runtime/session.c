/* Sessions: memory for what flows, and queues. run.c goes through the steps. */
#include "runtime/session_internal.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static void *take(kiln_session *s, size_t bytes) {
    void *block = kiln_model_alloc(s->model, bytes);
    if (block != NULL)
        s->bytes += bytes;
    return block;
}

enum { PAGE = 4096 };

static size_t whole_pages(size_t bytes) { return (bytes + PAGE - 1) / PAGE * PAGE; }

/* A device that copies faster from and to memory that is pinned. NULL: none does. */
static kiln_device *who_pins(const kiln_session *s) {
    const kiln_plan *p = &s->model->plan;
    for (uint32_t i = 0; i < p->header->queues.n; i++) {
        kiln_device *d = s->model->device[p->queue[i].device];
        if (d->kind->pin != NULL)
            return d;
    }
    return NULL;
}

/* In pages of its own, so that nothing else is pinned with it. */
static int make_port(kiln_session *s, kiln_session_port *port, size_t bytes,
                     kiln_device *pins) {
    const size_t more = pins != NULL ? 2 * PAGE : 0;
    if (bytes > SIZE_MAX - more)
        return -1;
    port->block = port->own = take(s, bytes + more);
    if (port->own == NULL)
        return -1;
    if (pins == NULL)
        return 0;
    port->own = (char *)port->block + (PAGE - (uintptr_t)port->block % PAGE) % PAGE;
    assert((uintptr_t)port->own % PAGE == 0);
    if (bytes > 0 && pins->kind->pin(pins, port->own, whole_pages(bytes)) == 0)
        port->pinned_by = pins;
    return 0;
}

static void close_port(const kiln_session *s, const kiln_session_port *port) {
    if (port->pinned_by != NULL)
        port->pinned_by->kind->unpin(port->pinned_by, port->own);
    kiln_model_release(s->model, port->block);
}

/* Every tensor of a port in memory of the session: whoever binds pays for nothing that
 * is not touched. */
static int make_ports(kiln_session *s) {
    const kiln_plan *p = &s->model->plan;
    const uint32_t n = p->header->n_inputs + p->header->n_outputs;
    s->port = take(s, (n + 1) * sizeof *s->port);
    if (s->port == NULL)
        return -1;
    memset(s->port, 0, (n + 1) * sizeof *s->port);
    kiln_device *pins = who_pins(s);
    for (uint32_t i = 0; i < n; i++)
        if (make_port(s, &s->port[i], (size_t)p->port[i].bytes, pins) != 0)
            return -1;
    return 0;
}

static void *take_table(kiln_session *s, uint64_t n, size_t size) {
    void *t = take(s, (size_t)(n + 1) * size);
    if (t != NULL)
        memset(t, 0, (size_t)(n + 1) * size);
    return t;
}

static uint64_t larger(uint64_t x, uint64_t y) { return x > y ? x : y; }

/* What variants share, which none of them uses while another one runs: the most that any
 * of them wants. All 0 where they have several devices: each has its own then. */
typedef struct most {
    uint64_t arena, workspace, scratch;
} most;

static int make_arenas(kiln_session *s, const most *of_all) {
    const kiln_plan *p = &s->model->plan;
    assert(s->lender == NULL || p->header->spaces.n == 1);
    if (s->lender != NULL)
        s->arena[0] = s->lender->arena[0];
    for (uint32_t i = 0; s->lender == NULL && i < p->header->spaces.n; i++) {
        kiln_device *d = kiln_model_device_of(s->model, i);
        const uint64_t all = larger(p->space[i].arena_bytes, of_all->arena);
        const size_t bytes = all > 0 ? (size_t)all : KILN_PLAN_ALIGN;
        s->arena[i] = d->kind->alloc(d, p->space[i].memory, bytes);
        if (s->arena[i] == NULL)
            return -1;
        s->bytes += bytes;
    }
    return 0;
}

/* For tensors that the host is shown and does not see. */
static int make_staging(kiln_session *s) {
    const kiln_plan *p = &s->model->plan;
    for (uint32_t i = 0; i < p->header->n_tensors; i++) {
        const kiln_plan_tensor *t = &p->tensor[i];
        const kiln_device *d = kiln_model_device_of(s->model, kiln_plan_space_of(t));
        if (!d->kind->is_host_visible && t->bytes > s->staging_bytes)
            s->staging_bytes = (size_t)t->bytes;
    }
    if (s->staging_bytes > 0)
        s->staging = take(s, s->staging_bytes);
    return s->staging_bytes == 0 || s->staging != NULL ? 0 : -1;
}

static int make_memory(kiln_session *s, const most *of_all) {
    const kiln_plan_header *h = s->model->plan.header;
    s->queue = take_table(s, h->queues.n, sizeof(void *));
    s->arena = take_table(s, h->spaces.n, sizeof(void *));
    s->operand = take_table(s, h->n_operands, sizeof *s->operand);
    s->measured = take_table(s, h->n_steps, sizeof *s->measured);
    if (s->queue == NULL || s->arena == NULL || s->operand == NULL ||
        s->measured == NULL)
        return -1;
    if (h->queues.n > 1) {
        s->ticket = take_table(s, h->n_steps, sizeof *s->ticket);
        if (s->ticket == NULL)
            return -1;
    }
    return make_arenas(s, of_all) == 0 && make_staging(s) == 0 ? make_ports(s) : -1;
}

/* Parameters, packed or not, are only read: kiln_plan_check keeps them from being a
 * step's result. */
static void *address(const kiln_session *s, const kiln_plan_tensor *t) {
    const kiln_plan_header *h = s->model->plan.header;
    const uint32_t at =
        t->place == KILN_PLAN_OUTPUT ? h->n_inputs + t->index : t->index;
    assert(t->place <= KILN_PLAN_PACKED);
    if (t->place == KILN_PLAN_ARENA)
        return s->arena[t->index] + t->offset;
    if (t->place == KILN_PLAN_PARAM)
        return (void *)(uintptr_t)(s->model->params + t->offset);
    if (t->place == KILN_PLAN_PACKED)
        return s->model->packed[t->index] + t->offset;
    assert(at < h->n_inputs + h->n_outputs);
    char *port = s->port[at].bound != NULL ? s->port[at].bound : s->port[at].own;
    return port + t->offset;
}

static void resolve(kiln_session *s) {
    const kiln_plan *p = &s->model->plan;
    for (uint32_t i = 0; i < p->header->n_operands; i++)
        s->operand[i] = address(s, &p->tensor[p->operand[i]]);
}

static int make_queues(kiln_session *s, const most *of_all,
                       const kiln_session_options *o, char *error) {
    const kiln_plan *p = &s->model->plan;
    const kiln_device_queue_options options = {
        .n_threads = o != NULL && o->n_threads > 0 ? o->n_threads : 1,
        .workspace_bytes =
            (size_t)larger(p->header->workspace_bytes, of_all->workspace),
        .scratch_bytes = (size_t)larger(p->header->scratch_bytes, of_all->scratch)};
    assert(s->lender == NULL || p->header->queues.n == 1);
    if (s->lender != NULL)
        s->queue[0] = s->lender->queue[0];
    for (uint32_t i = 0; s->lender == NULL && i < p->header->queues.n; i++) {
        kiln_device *d = s->model->device[p->queue[i].device];
        if (d->kind->queue_open(d, &options, &s->queue[i], error) != 0)
            return -1;
    }
    const kiln_device_direct *direct = s->queue[0]->kind->direct(s->queue[0]);
    s->ctx = direct->ctx;
    s->workspace = direct->workspace;
    s->bytes += s->lender == NULL ? direct->bytes : 0;
    return 0;
}

static kiln_session *open_one(const kiln_model *m, const most *of_all,
                              const kiln_session *lender, const kiln_session_options *o,
                              char *error) {
    kiln_session *s = kiln_model_alloc(m, sizeof *s);
    if (s != NULL) {
        memset(s, 0, sizeof *s);
        s->model = m;
        s->bytes = sizeof *s;
        s->now = s;
        s->lender = lender;
    }
    if (s == NULL || make_memory(s, of_all) != 0) {
        snprintf(error, KILN_ERROR_TEXT, "no memory for a session of '%.100s'",
                 kiln_model_name(m));
        kiln_session_close(s);
        return NULL;
    }
    if (make_queues(s, of_all, o, error) != 0) {
        kiln_session_close(s);
        return NULL;
    }
    resolve(s);
    return s;
}

/* Only the host: its one queue and one memory do for any of them. */
static int can_lend(const kiln_model *m) {
    int can = 1;
    for (int i = 0; i <= m->n_siblings; i++) {
        const kiln_model *v = kiln_model_variant(m, i);
        can = can && v->plan.header->devices.n == 1 && v->plan.header->queues.n == 1 &&
              v->plan.header->spaces.n == 1;
    }
    return can;
}

uint64_t kiln_session_replayed(const kiln_session *s, const char **why) {
    const kiln_session *now = s->now;
    const char *none = "it has no queue that repeats launches";
    uint64_t n = 0;
    for (uint32_t i = 0; i < now->model->plan.header->queues.n; i++) {
        kiln_device_queue *q = now->queue[i];
        if (q->kind->n_replayed != NULL)
            n += q->kind->n_replayed(q, &none);
    }
    if (why != NULL)
        *why = none;
    return n;
}

static most most_of(const kiln_model *m) {
    most all = {0, 0, 0};
    for (int i = 0; i <= m->n_siblings; i++) {
        const kiln_plan *p = &kiln_model_variant(m, i)->plan;
        all.arena = larger(all.arena, p->space[0].arena_bytes);
        all.workspace = larger(all.workspace, p->header->workspace_bytes);
        all.scratch = larger(all.scratch, p->header->scratch_bytes);
    }
    return all;
}

static int open_siblings(kiln_session *s, const most *of_all,
                         const kiln_session_options *o, char *error) {
    const kiln_model *m = s->model;
    s->sibling = take(s, (size_t)m->n_siblings * sizeof(kiln_session *));
    if (s->sibling == NULL) {
        snprintf(error, KILN_ERROR_TEXT, "no memory for a session of '%.100s'",
                 kiln_model_name(m));
        return -1;
    }
    for (int i = 0; i < m->n_siblings; i++) {
        s->sibling[i] =
            open_one(m->sibling[i], of_all, of_all->arena > 0 ? s : NULL, o, error);
        if (s->sibling[i] == NULL)
            return -1;
        s->n_siblings++;
    }
    return 0;
}

kiln_session *kiln_session_open(const kiln_model *m, const kiln_session_options *o,
                                char error[KILN_ERROR_TEXT]) {
    most of_all = {0, 0, 0};
    if (m->n_siblings > 0 && can_lend(m)) {
        of_all = most_of(m);
        of_all.arena = larger(of_all.arena, KILN_PLAN_ALIGN);
    }
    kiln_session *s = open_one(m, &of_all, NULL, o, error);
    if (s == NULL || m->n_siblings == 0 || open_siblings(s, &of_all, o, error) == 0)
        return s;
    kiln_session_close(s);
    return NULL;
}

/* The queue, and memory of devices. */
static void close_own(kiln_session *s) {
    const kiln_model *m = s->model;
    for (uint32_t i = 0; s->queue != NULL && i < m->plan.header->queues.n; i++)
        if (s->queue[i] != NULL)
            s->queue[i]->kind->queue_close(s->queue[i]);
    for (uint32_t i = 0; s->arena != NULL && i < m->plan.header->spaces.n; i++)
        if (s->arena[i] != NULL) {
            kiln_device *d = kiln_model_device_of(m, i);
            d->kind->release(d, m->plan.space[i].memory, s->arena[i]);
        }
}

void kiln_session_close(kiln_session *s) {
    if (s == NULL)
        return;
    const kiln_model *m = s->model;
    for (int i = 0; i < s->n_siblings; i++)
        kiln_session_close(s->sibling[i]);
    kiln_model_release(m, s->sibling);
    if (s->lender == NULL)
        close_own(s);
    const uint32_t n = m->plan.header->n_inputs + m->plan.header->n_outputs;
    for (uint32_t i = 0; s->port != NULL && i < n; i++)
        close_port(s, &s->port[i]);
    kiln_model_release(m, s->port);
    kiln_model_release(m, s->measured);
    kiln_model_release(m, s->operand);
    kiln_model_release(m, s->staging);
    kiln_model_release(m, s->ticket);
    kiln_model_release(m, s->arena);
    kiln_model_release(m, s->queue);
    kiln_model_release(m, s);
}

int kiln_session_set_shapes(kiln_session *s, const kiln_shape *shape, int n) {
    const int i = kiln_model_find_variant(s->model, shape, n, s->now->error);
    if (i < 0)
        return -1;
    assert(i <= s->n_siblings);
    s->now = i == 0 ? s : s->sibling[i - 1];
    return 0;
}

const kiln_model *kiln_session_model(const kiln_session *s) { return s->now->model; }

kiln_device_queue *kiln_session_queue_of(const kiln_session *s, uint32_t space) {
    const kiln_plan *p = &s->model->plan;
    uint32_t i = 0;
    assert(space < p->header->spaces.n);
    while (i < p->header->queues.n && p->queue[i].device != p->space[space].device)
        i++;
    return i < p->header->queues.n ? s->queue[i] : NULL;
}

/* ---- ports ----------------------------------------------------------------------- */

static int failed(kiln_session *s, const char *what, int i) {
    snprintf(s->error, KILN_ERROR_TEXT, "%s (port %d of '%.100s')", what, i,
             kiln_model_name(s->model));
    return -1;
}

int kiln_session_set_input(kiln_session *s, int i, const void *data) {
    s = s->now;
    if (i < 0 || i >= kiln_model_n_inputs(s->model) || data == NULL)
        return failed(s, "there is no such input, or no data", i);
    s->port[i].bound = NULL;
    memcpy(s->port[i].own, data, (size_t)s->model->plan.port[i].bytes);
    s->port[i].is_set = 1;
    resolve(s);
    return 0;
}

static int bind(kiln_session *s, int at, void *data, int i) {
    if ((uintptr_t)data % KILN_PLAN_ALIGN != 0)
        return failed(s, "bound memory must be 64-byte aligned", i);
    s->port[at].bound = data;
    s->is_bound_anew = 1;
    s->port[at].is_set = data != NULL;
    resolve(s);
    return 0;
}

int kiln_session_bind_input(kiln_session *s, int i, const void *data) {
    s = s->now;
    if (i < 0 || i >= kiln_model_n_inputs(s->model))
        return failed(s, "there is no such input", i);
    return bind(s, i, (void *)(uintptr_t)data, i); /* never written: kiln_plan_check */
}

int kiln_session_bind_output(kiln_session *s, int i, void *data) {
    s = s->now;
    if (i < 0 || i >= kiln_model_n_outputs(s->model))
        return failed(s, "there is no such output", i);
    return bind(s, kiln_model_n_inputs(s->model) + i, data, i);
}

static const char *memory_of(const kiln_session *s, uint32_t port) {
    return s->port[port].bound != NULL ? s->port[port].bound : s->port[port].own;
}

static int overlap(const kiln_session *s, uint32_t i, uint32_t k) {
    const kiln_plan_port *port = s->model->plan.port;
    const uintptr_t a = (uintptr_t)memory_of(s, i), b = (uintptr_t)memory_of(s, k);
    const uintptr_t a_end = a + (uintptr_t)port[i].bytes;
    const uintptr_t b_end = b + (uintptr_t)port[k].bytes;
    return a < b_end && b < a_end && a < a_end && b < b_end;
}

int kiln_session_check_ports(kiln_session *s) {
    const kiln_plan_header *h = s->model->plan.header;
    const uint32_t n = h->n_inputs + h->n_outputs;
    for (uint32_t i = h->n_inputs; s->is_bound_anew && i < n; i++)
        for (uint32_t k = 0; k < i; k++)
            if (overlap(s, i, k)) {
                snprintf(s->error, KILN_ERROR_TEXT,
                         "the memory of output %u overlaps that of %s %u of '%.100s'",
                         i - h->n_inputs, k < h->n_inputs ? "input" : "output",
                         k < h->n_inputs ? k : k - h->n_inputs,
                         kiln_model_name(s->model));
                return -1;
            }
    s->is_bound_anew = 0;
    return 0;
}

const void *kiln_session_output(const kiln_session *s, int i) {
    s = s->now;
    if (i < 0 || i >= kiln_model_n_outputs(s->model))
        return NULL;
    const kiln_session_port *p = &s->port[kiln_model_n_inputs(s->model) + i];
    return p->bound != NULL ? p->bound : p->own;
}

const char *kiln_session_error(const kiln_session *s) { return s->now->error; }

size_t kiln_session_bytes(const kiln_session *s) {
    size_t bytes = s->bytes;
    for (int i = 0; i < s->n_siblings; i++)
        bytes += s->sibling[i]->bytes;
    return bytes;
}

/* ---- profile --------------------------------------------------------------------- */

void kiln_session_profile(kiln_session *s, int is_on) {
    for (int i = 0; i < s->n_siblings; i++)
        kiln_session_profile(s->sibling[i], is_on);
    s->is_measuring = is_on;
    memset(s->measured, 0, s->model->plan.header->n_steps * sizeof *s->measured);
}

int kiln_session_n_steps(const kiln_session *s) {
    return (int)s->now->model->plan.header->n_steps;
}

int kiln_session_step(const kiln_session *s, int i, kiln_step_info *out) {
    s = s->now;
    if (i < 0 || i >= kiln_session_n_steps(s))
        return -1;
    const kiln_plan *p = &s->model->plan;
    *out = (kiln_step_info){.name = kiln_plan_string(p, p->step[i].name),
                            .op = kiln_plan_string(p, p->step[i].op),
                            .nanoseconds = s->measured[i].nanoseconds,
                            .runs = s->measured[i].runs};
    return 0;
}
