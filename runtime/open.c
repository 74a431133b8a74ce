/* Parameters packed as kernels read them, once, when a model is opened: what the plan's
 * open steps make of them lies in memory of the model, which all its sessions read.
 * The steps run one after another on the thread that opens the model: threads are the
 * sessions', and there is none yet. kiln_plan_check has seen that they read parameters
 * and fill packed memory, and nothing else. */
#include "runtime/model_internal.h"

#include <stdio.h>

/* What the steps need beside the packed memory, until they are done. */
typedef struct room {
    size_t n_operands, workspace_bytes, scratch_bytes; /* the most of any */
    void **operand;
    void *workspace, *scratch;
} room;

static size_t larger(size_t x, uint64_t y) { return x > y ? x : (size_t)y; }

static int make_room(const kiln_model *m, room *r) {
    const kiln_plan *p = &m->plan;
    for (uint64_t i = 0; i < p->header->open.n; i++) {
        const kiln_plan_kernel *k = &p->kernel[p->open[i].kernel];
        r->n_operands = larger(r->n_operands, k->n_operands);
        r->workspace_bytes = larger(r->workspace_bytes, k->workspace_bytes);
        r->scratch_bytes = larger(r->scratch_bytes, k->scratch_bytes);
    }
    r->operand = kiln_model_alloc(m, r->n_operands * sizeof *r->operand);
    r->workspace = kiln_model_alloc(m, r->workspace_bytes);
    r->scratch = kiln_model_alloc(m, r->scratch_bytes);
    return r->operand != NULL && r->workspace != NULL && r->scratch != NULL ? 0 : -1;
}

static void release_room(const kiln_model *m, const room *r) {
    kiln_model_release(m, r->scratch);
    kiln_model_release(m, r->workspace);
    kiln_model_release(m, r->operand);
}

static int run_step(const kiln_model *m, const room *r, const kiln_plan_step *step) {
    const kiln_plan *p = &m->plan;
    for (uint32_t k = 0; k < step->n_operands; k++) {
        const kiln_plan_tensor *t = &p->tensor[p->operand[step->first_operand + k]];
        const char *memory = t->place == KILN_PLAN_PACKED ? m->packed : m->params;
        r->operand[k] = (void *)(uintptr_t)(memory + t->offset);
    }
    const kiln_args args = {r->operand, r->workspace};
    kiln_ctx ctx;
    kiln_ctx_init_serial(&ctx, r->scratch);
    return m->kernel[step->kernel](&args, &ctx);
}

int kiln_model_pack(kiln_model *m, char error[KILN_ERROR_TEXT]) {
    const kiln_plan *p = &m->plan;
    room r = {.n_operands = 0};
    int code = 0;
    if (p->header->packed_bytes == 0)
        return 0;
    m->packed = kiln_model_alloc(m, (size_t)p->header->packed_bytes);
    if (m->packed == NULL || make_room(m, &r) != 0) {
        snprintf(error, KILN_ERROR_TEXT,
                 "no memory for %llu bytes of packed parameters of '%.100s'",
                 (unsigned long long)p->header->packed_bytes, kiln_model_name(m));
        code = -1;
    }
    for (uint64_t i = 0; i < p->header->open.n && code == 0; i++) {
        code = run_step(m, &r, &p->open[i]);
        if (code != 0)
            snprintf(error, KILN_ERROR_TEXT, "open step '%.100s' failed with code %d",
                     kiln_plan_string(p, p->open[i].name), code);
    }
    release_room(m, &r);
    return code == 0 ? 0 : -1;
}
