/* Reading a plan: every number is held against its table. */
#include "runtime/plan.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Past these a plan is not one of ours: they bound what a hostile one can ask for. */
enum { MAX_ENTRIES = 1 << 20 };
#define MAX_MEMORY ((uint64_t)1 << 40)

_Static_assert(sizeof(kiln_plan_tensor) == 24, "packed as it is written");
_Static_assert(sizeof(kiln_plan_port) == 88, "packed as it is written");
_Static_assert(sizeof(kiln_plan_kernel) == 8, "packed as it is written");
_Static_assert(sizeof(kiln_plan_step) == 24, "packed as it is written");
_Static_assert(sizeof(kiln_plan_header) == 152, "packed as it is written");

typedef struct reader {
    const char *bytes;
    uint64_t n;
    const kiln_plan_header *h;
    kiln_plan *plan;
    char *error;
} reader;

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static int
refused(const reader *r, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(r->error, KILN_PLAN_ERROR, fmt, ap);
    va_end(ap);
    return -1;
}

static bool is_table(const reader *r, uint64_t at, uint64_t count, uint64_t size,
                     uint64_t align) {
    return count <= MAX_ENTRIES && at % align == 0 && at <= r->n &&
           count * size <= r->n - at;
}

static bool is_string(const reader *r, uint32_t at) { return at < r->h->string_bytes; }

static int read_header(reader *r) {
    if (r->n < sizeof(kiln_plan_header))
        return refused(r, "plan: %llu bytes are too few for a header of %zu",
                       (unsigned long long)r->n, sizeof(kiln_plan_header));
    r->h = (const kiln_plan_header *)(const void *)r->bytes;
    if (memcmp(r->h->magic, KILN_PLAN_MAGIC, sizeof r->h->magic) != 0)
        return refused(r, "plan: does not begin with '%s'", KILN_PLAN_MAGIC);
    if (r->h->version != KILN_PLAN_VERSION ||
        r->h->header_bytes != sizeof(kiln_plan_header))
        return refused(r, "plan: version %u, this runtime reads version %d",
                       r->h->version, KILN_PLAN_VERSION);
    if (r->h->total_bytes != r->n)
        return refused(r, "plan: must have %llu bytes, has %llu",
                       (unsigned long long)r->h->total_bytes, (unsigned long long)r->n);
    if (r->h->arena_bytes > MAX_MEMORY || r->h->param_bytes > MAX_MEMORY ||
        r->h->workspace_bytes > MAX_MEMORY || r->h->scratch_bytes > MAX_MEMORY)
        return refused(r, "plan: asks for more than 2^40 bytes of memory");
    return 0;
}

static int read_tables(reader *r) {
    const kiln_plan_header *h = r->h;
    kiln_plan *p = r->plan;
    const uint64_t n_ports = (uint64_t)h->n_inputs + h->n_outputs;
    if (!is_table(r, h->tensors, h->n_tensors, sizeof(kiln_plan_tensor), 8) ||
        !is_table(r, h->ports, n_ports, sizeof(kiln_plan_port), 8) ||
        !is_table(r, h->kernels, h->n_kernels, sizeof(kiln_plan_kernel), 4) ||
        !is_table(r, h->steps, h->n_steps, sizeof(kiln_plan_step), 4) ||
        !is_table(r, h->operands, h->n_operands, sizeof(uint32_t), 4) ||
        h->strings > r->n || h->string_bytes > r->n - h->strings)
        return refused(r, "plan: a table lies outside the file");
    *p = (kiln_plan){
        .header = h,
        .tensor = (const kiln_plan_tensor *)(const void *)(r->bytes + h->tensors),
        .port = (const kiln_plan_port *)(const void *)(r->bytes + h->ports),
        .kernel = (const kiln_plan_kernel *)(const void *)(r->bytes + h->kernels),
        .step = (const kiln_plan_step *)(const void *)(r->bytes + h->steps),
        .operand = (const uint32_t *)(const void *)(r->bytes + h->operands),
        .strings = r->bytes + h->strings};
    if (h->string_bytes == 0 || p->strings[h->string_bytes - 1] != '\0')
        return refused(r, "plan: its strings do not end");
    if (!is_string(r, h->model) || !is_string(r, h->profile))
        return refused(r, "plan: a name lies outside the strings");
    return 0;
}

static int check_tensors(const reader *r) {
    const kiln_plan_header *h = r->h;
    for (uint32_t i = 0; i < h->n_tensors; i++) {
        const kiln_plan_tensor *t = &r->plan->tensor[i];
        const uint64_t room = t->place == KILN_PLAN_PARAM   ? h->param_bytes
                              : t->place == KILN_PLAN_ARENA ? h->arena_bytes
                                                            : MAX_MEMORY;
        if (t->place > KILN_PLAN_ARENA ||
            (t->place == KILN_PLAN_INPUT && t->index >= h->n_inputs) ||
            (t->place == KILN_PLAN_OUTPUT && t->index >= h->n_outputs))
            return refused(r, "plan: tensor %u has no place", i);
        if (t->offset % KILN_PLAN_ALIGN != 0 || t->offset > room ||
            t->bytes > room - t->offset)
            return refused(r, "plan: tensor %u lies outside its memory", i);
    }
    return 0;
}

static int check_port(const reader *r, uint32_t i) {
    const kiln_plan_header *h = r->h;
    const kiln_plan_port *p = &r->plan->port[i];
    const bool is_input = i < h->n_inputs;
    if (!is_string(r, p->name) || !is_string(r, p->dtype) ||
        p->rank > KILN_PLAN_MAX_RANK || p->tensor >= h->n_tensors)
        return refused(r, "plan: port %u is broken", i);
    const kiln_plan_tensor *t = &r->plan->tensor[p->tensor];
    const uint32_t place = is_input ? KILN_PLAN_INPUT : KILN_PLAN_OUTPUT;
    const uint32_t index = is_input ? i : i - h->n_inputs;
    if (t->place != place || t->index != index || t->bytes != p->bytes)
        return refused(r, "plan: port '%s' and its tensor do not agree",
                       kiln_plan_string(r->plan, p->name));
    return 0;
}

/* Parameters and inputs are never written: the operands that a kernel writes come last,
 * but how many is its own affair, so only the last one is known to be an output. */
static int check_step(const reader *r, uint32_t i) {
    const kiln_plan_header *h = r->h;
    const kiln_plan_step *s = &r->plan->step[i];
    if (!is_string(r, s->name) || !is_string(r, s->op))
        return refused(r, "plan: step %u has no name", i);
    const char *name = kiln_plan_string(r->plan, s->name);
    if (s->first_operand > h->n_operands ||
        s->n_operands > h->n_operands - s->first_operand || s->n_operands == 0)
        return refused(r, "plan: step '%s' has operands outside the table", name);
    for (uint32_t k = 0; k < s->n_operands; k++)
        if (r->plan->operand[s->first_operand + k] >= h->n_tensors)
            return refused(r, "plan: operand %u of step '%s' is no tensor", k, name);
    const uint32_t *operand = &r->plan->operand[s->first_operand];
    const uint32_t last = r->plan->tensor[operand[s->n_operands - 1]].place;
    if (last == KILN_PLAN_INPUT || last == KILN_PLAN_PARAM)
        return refused(r, "plan: step '%s' writes to what is never written", name);
    if (s->kind == KILN_PLAN_COPY)
        return s->n_operands == 2 && r->plan->tensor[operand[0]].bytes ==
                                         r->plan->tensor[operand[1]].bytes
                   ? 0
                   : refused(r, "plan: step '%s' copies between unlike tensors", name);
    if (s->kind != KILN_PLAN_CALL || s->kernel >= h->n_kernels ||
        r->plan->kernel[s->kernel].n_operands != s->n_operands)
        return refused(r, "plan: step '%s' calls no kernel of %u operands", name,
                       s->n_operands);
    return 0;
}

int kiln_plan_check(const void *bytes, size_t n, kiln_plan *out,
                    char error[KILN_PLAN_ERROR]) {
    reader r = {.bytes = bytes, .n = n, .plan = out, .error = error};
    error[0] = '\0';
    if ((uintptr_t)bytes % 8 != 0)
        return refused(&r, "plan: its bytes must be 8-byte aligned");
    if (read_header(&r) != 0 || read_tables(&r) != 0 || check_tensors(&r) != 0)
        return -1;
    for (uint32_t i = 0; i < r.h->n_inputs + r.h->n_outputs; i++)
        if (check_port(&r, i) != 0)
            return -1;
    for (uint32_t i = 0; i < r.h->n_kernels; i++)
        if (!is_string(&r, r.plan->kernel[i].symbol))
            return refused(&r, "plan: kernel %u has no name", i);
    for (uint32_t i = 0; i < r.h->n_steps; i++)
        if (check_step(&r, i) != 0)
            return -1;
    return 0;
}
