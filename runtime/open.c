/* Parameters packed as kernels read them and brought to the devices that do, once, when
 * a model is opened: what the plan's open steps make of them lies in memory of the
 * model, which all its sessions read. The steps run one after another: each is finished
 * before the next begins, in queues that are there for this alone. kiln_plan_check has
 * seen that they read parameters and fill packed memory, and nothing else. */
#include "runtime/model_internal.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* What the steps need beside the packed memory, until they are done. */
typedef struct room {
    size_t n_operands;
    kiln_device_queue_options options; /* the most of any */
    void **operand;
    kiln_device_queue *queue[KILN_PLAN_MAX_DEVICES]; /* those that are used */
} room;

static size_t larger(size_t x, uint64_t y) { return x > y ? x : (size_t)y; }

static int open_queue(const kiln_model *m, room *r, uint32_t queue, char *error) {
    assert(queue < KILN_PLAN_MAX_DEVICES && queue < m->plan.header->queues.n);
    kiln_device *d = m->device[m->plan.queue[queue].device];
    return r->queue[queue] != NULL
               ? 0
               : d->kind->queue_open(d, &r->options, &r->queue[queue], error);
}

static int make_room(const kiln_model *m, room *r, char *error) {
    const kiln_plan *p = &m->plan;
    for (uint64_t i = 0; i < p->header->open.n; i++) {
        r->n_operands = larger(r->n_operands, p->open[i].n_operands);
        if (p->open[i].kind != KILN_PLAN_LAUNCH)
            continue;
        const kiln_plan_kernel *k = &p->kernel[p->open[i].kernel];
        r->options.workspace_bytes =
            larger(r->options.workspace_bytes, k->workspace_bytes);
        r->options.scratch_bytes = larger(r->options.scratch_bytes, k->scratch_bytes);
    }
    r->operand = kiln_model_alloc(m, r->n_operands * sizeof *r->operand);
    if (r->operand == NULL) {
        snprintf(error, KILN_ERROR_TEXT, "no memory to pack parameters");
        return -1;
    }
    for (uint64_t i = 0; i < p->header->open.n; i++)
        if (open_queue(m, r, p->open[i].queue, error) != 0)
            return -1;
    return 0;
}

static void release_room(const kiln_model *m, const room *r) {
    for (int i = 0; i < KILN_PLAN_MAX_DEVICES; i++)
        if (r->queue[i] != NULL)
            r->queue[i]->kind->queue_close(r->queue[i]);
    kiln_model_release(m, r->operand);
}

static int make_packed(kiln_model *m, char *error) {
    const kiln_plan *p = &m->plan;
    for (uint32_t i = 0; i < p->header->spaces.n; i++) {
        kiln_device *d = kiln_model_device_of(m, i);
        const uint64_t bytes = p->space[i].packed_bytes;
        if (bytes == 0)
            continue;
        m->packed[i] = d->kind->alloc(d, p->space[i].memory, (size_t)bytes);
        if (m->packed[i] != NULL)
            continue;
        snprintf(error, KILN_ERROR_TEXT,
                 "no memory for %llu bytes of packed parameters of '%.100s'",
                 (unsigned long long)bytes, kiln_model_name(m));
        return -1;
    }
    return 0;
}

static int run_step(const kiln_model *m, const room *r, const kiln_plan_step *step,
                    char *error) {
    const kiln_plan *p = &m->plan;
    kiln_device_queue *q = r->queue[step->queue];
    kiln_device_failure failure;
    for (uint32_t k = 0; k < step->n_operands; k++) {
        const kiln_plan_tensor *t = &p->tensor[p->operand[step->first_operand + k]];
        const char *memory =
            t->place == KILN_PLAN_PACKED ? m->packed[t->index] : m->params;
        r->operand[k] = (void *)(uintptr_t)(memory + t->offset);
    }
    if (step->kind == KILN_PLAN_LAUNCH) {
        const kiln_device_launch l = {m->kernel[step->kernel], r->operand,
                                      step->n_operands, 0};
        q->kind->launch(q, &l);
    } else {
        const kiln_plan_tensor *from = &p->tensor[p->operand[step->first_operand]];
        const kiln_device_copy c = {r->operand[1], r->operand[0], (size_t)from->bytes,
                                    0};
        q->kind->copy(q, &c);
    }
    if (q->kind->finish(q, KILN_DEVICE_ALL, &failure) == 0)
        return 0;
    snprintf(error, KILN_ERROR_TEXT, "open step '%.100s' failed with code %d%s%.100s",
             kiln_plan_string(p, step->name), failure.code,
             failure.why != NULL ? ": " : "", failure.why != NULL ? failure.why : "");
    return -1;
}

int kiln_model_pack(kiln_model *m, char error[KILN_ERROR_TEXT]) {
    const kiln_plan *p = &m->plan;
    room r;
    memset(&r, 0, sizeof r);
    if (kiln_plan_packed_bytes(p) == 0)
        return 0;
    int result = make_packed(m, error);
    if (result == 0)
        result = make_room(m, &r, error);
    for (uint64_t i = 0; i < p->header->open.n && result == 0; i++)
        result = run_step(m, &r, &p->open[i], error);
    release_room(m, &r);
    return result;
}
