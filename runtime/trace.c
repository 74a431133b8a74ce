/* What steps read and write, shown to whoever proves a package. */
#include "runtime/session_internal.h"

#include <assert.h>
#include <string.h>

void kiln_session_trace(kiln_session *s, kiln_trace_fn *fn, void *user) {
    for (int i = 0; i < s->n_siblings; i++)
        kiln_session_trace(s->sibling[i], fn, user);
    s->trace = fn;
    s->trace_user = user;
}

static void fill(void *block, uint64_t bytes) {
    if (block != NULL)
        memset(block, 0xFF, (size_t)bytes);
}

/* Copies between a space that the host does not see and the staging room. A failure
 * shows when the run ends. */
static void stage(const kiln_session *s, uint32_t space, void *to, const void *from,
                  size_t bytes) {
    kiln_device_queue *q = kiln_session_queue_of(s, space);
    kiln_device_failure failure;
    const kiln_device_copy c = {to, from, bytes, 0};
    if (q == NULL || bytes == 0)
        return;
    q->kind->finish(q, q->kind->copy(q, &c), &failure);
}

static void poison_arena(kiln_session *s, uint32_t space) {
    const size_t bytes = (size_t)s->model->plan.space[space].arena_bytes;
    if (kiln_model_device_of(s->model, space)->kind->is_host_visible) {
        fill(s->arena[space], bytes);
        return;
    }
    fill(s->staging, s->staging_bytes);
    for (size_t at = 0; s->staging_bytes > 0 && at < bytes; at += s->staging_bytes)
        stage(s, space, s->arena[space] + at, s->staging,
              bytes - at < s->staging_bytes ? bytes - at : s->staging_bytes);
}

void kiln_session_poison(kiln_session *s) {
    const kiln_plan *p = &s->model->plan;
    for (uint32_t i = 0; i < p->header->spaces.n; i++)
        poison_arena(s, i);
    fill(s->workspace, p->header->workspace_bytes);
    fill(s->ctx->scratch, p->header->scratch_bytes);
    for (uint32_t i = 0; i < p->header->n_outputs; i++) {
        const uint32_t at = p->header->n_inputs + i;
        fill(s->port[at].bound != NULL ? s->port[at].bound : s->port[at].own,
             p->port[at].bytes);
    }
}

/* Where the host can look at an operand. */
static const void *look(const kiln_session *s, uint32_t operand) {
    const kiln_plan *p = &s->model->plan;
    const kiln_plan_tensor *t = &p->tensor[p->operand[operand]];
    const uint32_t space = kiln_plan_space_of(t);
    if (kiln_model_device_of(s->model, space)->kind->is_host_visible)
        return s->operand[operand];
    assert(t->bytes <= s->staging_bytes);
    stage(s, space, s->staging, s->operand[operand], (size_t)t->bytes);
    return s->staging;
}

void kiln_session_show(const kiln_session *s, const kiln_run_place *here,
                       kiln_trace_kind kind) {
    const kiln_plan *p = &s->model->plan;
    assert(s->trace != NULL && here->at < p->header->n_steps);
    const kiln_plan_step *step = &p->step[here->at];
    kiln_trace t = {.kind = kind, .step = here->at};
    for (uint32_t i = 0; i < here->depth; i++) {
        t.iteration = here->iteration[i];
        t.largest = t.iteration > t.largest ? t.iteration : t.largest;
    }
    if (kind == KILN_TRACE_END) {
        s->trace(s->trace_user, &t);
        return;
    }
    const uint32_t read = kiln_plan_n_read(p, step);
    const uint32_t begin = kind == KILN_TRACE_READ ? 0 : read;
    const uint32_t end = kind == KILN_TRACE_READ ? read : step->n_operands;
    for (t.operand = begin; t.operand < end; t.operand++) {
        const uint32_t at = step->first_operand + t.operand;
        const kiln_plan_tensor *tensor = &p->tensor[p->operand[at]];
        t.is_parameter =
            tensor->place == KILN_PLAN_PARAM || tensor->place == KILN_PLAN_PACKED;
        t.data = look(s, at);
        t.bytes = (size_t)tensor->bytes;
        s->trace(s->trace_user, &t);
    }
}
