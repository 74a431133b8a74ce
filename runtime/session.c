/* Sessions: memory for what flows, and threads. run.c goes through the steps. */
#include "runtime/loader.h"
#include "runtime/session_internal.h"

#include <stdio.h>
#include <string.h>

static void *take(kiln_session *s, size_t bytes) {
    void *block = kiln_model_alloc(s->model, bytes);
    if (block != NULL)
        s->bytes += bytes;
    return block;
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
    for (uint32_t i = 0; i < n; i++) {
        s->port[i].own = take(s, (size_t)p->port[i].bytes);
        if (s->port[i].own == NULL)
            return -1;
    }
    return 0;
}

static int make_memory(kiln_session *s) {
    const kiln_plan_header *h = s->model->plan.header;
    s->arena = take(s, (size_t)h->arena_bytes);
    s->workspace = take(s, (size_t)h->workspace_bytes);
    s->scratch = take(s, (size_t)h->scratch_bytes);
    s->operand = take(s, (h->n_operands + 1) * sizeof *s->operand);
    s->measured = take(s, (h->n_steps + 1) * sizeof *s->measured);
    if (s->arena == NULL || s->workspace == NULL || s->scratch == NULL ||
        s->operand == NULL || s->measured == NULL)
        return -1;
    memset(s->measured, 0, (h->n_steps + 1) * sizeof *s->measured);
    return make_ports(s);
}

/* Parameters, packed or not, are only read: kiln_plan_check keeps them from being a
 * step's result. */
static void *address(const kiln_session *s, const kiln_plan_tensor *t) {
    const kiln_plan_header *h = s->model->plan.header;
    const uint32_t at =
        t->place == KILN_PLAN_OUTPUT ? h->n_inputs + t->index : t->index;
    if (t->place == KILN_PLAN_ARENA)
        return s->arena + t->offset;
    if (t->place == KILN_PLAN_PARAM)
        return (void *)(uintptr_t)(s->model->params + t->offset);
    if (t->place == KILN_PLAN_PACKED)
        return s->model->packed + t->offset;
    char *port = s->port[at].bound != NULL ? s->port[at].bound : s->port[at].own;
    return port + t->offset;
}

static void resolve(kiln_session *s) {
    const kiln_plan *p = &s->model->plan;
    for (uint32_t i = 0; i < p->header->n_operands; i++)
        s->operand[i] = address(s, &p->tensor[p->operand[i]]);
}

/* Threads come with scratch of their own; one thread uses the session's. */
static int make_threads(kiln_session *s, const kiln_session_options *o, char *error) {
    const int n = o != NULL && o->n_threads > 0 ? o->n_threads : 1;
    s->ctx = &s->serial;
    kiln_ctx_init_serial(&s->serial, s->scratch);
    if (n == 1)
        return 0;
    const kiln_pool_options options = {
        .n_threads = n, .scratch_bytes = (size_t)s->model->plan.header->scratch_bytes};
    char text[KILN_POOL_TEXT] = "";
    if (kiln_pool_open(&options, &s->pool, text) != 0) {
        snprintf(error, KILN_ERROR_TEXT, "a session of %d threads: %s", n, text);
        return -1;
    }
    s->ctx = kiln_pool_ctx(s->pool);
    return 0;
}

kiln_session *kiln_session_open(const kiln_model *m, const kiln_session_options *o,
                                char error[KILN_ERROR_TEXT]) {
    kiln_session *s = kiln_model_alloc(m, sizeof *s);
    if (s != NULL) {
        memset(s, 0, sizeof *s);
        s->model = m;
        s->bytes = sizeof *s;
    }
    if (s == NULL || make_memory(s) != 0) {
        snprintf(error, KILN_ERROR_TEXT, "no memory for a session of '%.100s'",
                 kiln_model_name(m));
        kiln_session_close(s);
        return NULL;
    }
    if (make_threads(s, o, error) != 0) {
        kiln_session_close(s);
        return NULL;
    }
    resolve(s);
    return s;
}

void kiln_session_close(kiln_session *s) {
    if (s == NULL)
        return;
    const kiln_model *m = s->model;
    kiln_pool_close(s->pool);
    const uint32_t n = m->plan.header->n_inputs + m->plan.header->n_outputs;
    for (uint32_t i = 0; s->port != NULL && i < n; i++)
        kiln_model_release(m, s->port[i].own);
    kiln_model_release(m, s->port);
    kiln_model_release(m, s->measured);
    kiln_model_release(m, s->operand);
    kiln_model_release(m, s->scratch);
    kiln_model_release(m, s->workspace);
    kiln_model_release(m, s->arena);
    kiln_model_release(m, s);
}

/* ---- ports ----------------------------------------------------------------------- */

static int failed(kiln_session *s, const char *what, int i) {
    snprintf(s->error, KILN_ERROR_TEXT, "%s (port %d of '%.100s')", what, i,
             kiln_model_name(s->model));
    return -1;
}

int kiln_session_set_input(kiln_session *s, int i, const void *data) {
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
    if (i < 0 || i >= kiln_model_n_inputs(s->model))
        return failed(s, "there is no such input", i);
    return bind(s, i, (void *)(uintptr_t)data, i); /* never written: kiln_plan_check */
}

int kiln_session_bind_output(kiln_session *s, int i, void *data) {
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
    if (i < 0 || i >= kiln_model_n_outputs(s->model))
        return NULL;
    const kiln_session_port *p = &s->port[kiln_model_n_inputs(s->model) + i];
    return p->bound != NULL ? p->bound : p->own;
}

const char *kiln_session_error(const kiln_session *s) { return s->error; }
size_t kiln_session_bytes(const kiln_session *s) { return s->bytes; }

/* ---- profile --------------------------------------------------------------------- */

void kiln_session_profile(kiln_session *s, int is_on) {
    s->is_measuring = is_on;
    memset(s->measured, 0, s->model->plan.header->n_steps * sizeof *s->measured);
}

int kiln_session_n_steps(const kiln_session *s) {
    return (int)s->model->plan.header->n_steps;
}

int kiln_session_step(const kiln_session *s, int i, kiln_step_info *out) {
    if (i < 0 || i >= kiln_session_n_steps(s))
        return -1;
    const kiln_plan *p = &s->model->plan;
    *out = (kiln_step_info){.name = kiln_plan_string(p, p->step[i].name),
                            .op = kiln_plan_string(p, p->step[i].op),
                            .nanoseconds = s->measured[i].nanoseconds,
                            .runs = s->measured[i].runs};
    return 0;
}
