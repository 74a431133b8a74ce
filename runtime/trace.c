/* What steps read and write, shown to whoever proves a package. */
#include "runtime/session_internal.h"

#include <string.h>

void kiln_session_trace(kiln_session *s, kiln_trace_fn *fn, void *user) {
    s->trace = fn;
    s->trace_user = user;
}

static void fill(void *block, uint64_t bytes) {
    if (block != NULL)
        memset(block, 0xFF, (size_t)bytes);
}

void kiln_session_poison(kiln_session *s) {
    const kiln_plan *p = &s->model->plan;
    fill(s->arena, p->header->arena_bytes);
    fill(s->workspace, p->header->workspace_bytes);
    fill(s->scratch, p->header->scratch_bytes);
    for (uint32_t i = 0; i < p->header->n_outputs; i++) {
        const uint32_t at = p->header->n_inputs + i;
        fill(s->port[at].bound != NULL ? s->port[at].bound : s->port[at].own,
             p->port[at].bytes);
    }
}

/* Operands that a step reads come first. */
static uint32_t n_read(const kiln_plan *p, const kiln_plan_step *step) {
    if (step->kind == KILN_PLAN_CALL)
        return step->n_operands - p->kernel[step->kernel].n_written;
    return step->n_operands > 0 ? 1 : 0;
}

void kiln_session_show(const kiln_session *s, const kiln_run_place *here,
                       kiln_trace_kind kind) {
    const kiln_plan *p = &s->model->plan;
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
    const uint32_t read = n_read(p, step);
    const uint32_t begin = kind == KILN_TRACE_READ ? 0 : read;
    const uint32_t end = kind == KILN_TRACE_READ ? read : step->n_operands;
    for (t.operand = begin; t.operand < end; t.operand++) {
        const uint32_t at = step->first_operand + t.operand;
        const kiln_plan_tensor *tensor = &p->tensor[p->operand[at]];
        t.is_parameter =
            tensor->place == KILN_PLAN_PARAM || tensor->place == KILN_PLAN_PACKED;
        t.data = s->operand[at];
        t.bytes = (size_t)tensor->bytes;
        s->trace(s->trace_user, &t);
    }
}
