/* Reading a plan: every number is held against its table. */
#include "runtime/plan_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Past this a plan is not one of ours: it bounds what a hostile one can ask for. */
enum { MAX_ENTRIES = 1 << 20 };

_Static_assert(sizeof(kiln_plan_tensor) == 24, "packed as it is written");
_Static_assert(sizeof(kiln_plan_port) == 88, "packed as it is written");
_Static_assert(sizeof(kiln_plan_kernel) == 40, "packed as it is written");
_Static_assert(sizeof(kiln_plan_step) == 36, "packed as it is written");
_Static_assert(sizeof(kiln_plan_device) == 4, "packed as it is written");
_Static_assert(sizeof(kiln_plan_space) == 24, "packed as it is written");
_Static_assert(sizeof(kiln_plan_queue) == 4, "packed as it is written");
_Static_assert(sizeof(kiln_plan_module) == 8, "packed as it is written");
_Static_assert(sizeof(kiln_plan_header) == 232, "packed as it is written");

int kiln_plan_refused(const kiln_plan_reader *r, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(r->error, KILN_PLAN_ERROR, fmt, ap);
    va_end(ap);
    return -1;
}

static bool is_table(const kiln_plan_reader *r, uint64_t at, uint64_t count,
                     uint64_t size, uint64_t align) {
    return count <= MAX_ENTRIES && at % align == 0 && at <= r->n &&
           count * size <= r->n - at;
}

static int read_header(kiln_plan_reader *r) {
    const uint64_t least = offsetof(kiln_plan_header, total_bytes);
    r->h = (const kiln_plan_header *)(const void *)r->bytes;
    if (r->n >= least && memcmp(r->h->magic, KILN_PLAN_MAGIC, sizeof r->h->magic) != 0)
        return kiln_plan_refused(r, "plan: does not begin with '%s'", KILN_PLAN_MAGIC);
    /* Before its size: other versions have other headers. */
    if (r->n >= least && (r->h->version != KILN_PLAN_VERSION ||
                          r->h->header_bytes != sizeof(kiln_plan_header)))
        return kiln_plan_refused(
            r,
            "plan: version %u, this runtime reads version %d: build the "
            "package again, or use the runtime of the kiln that made it",
            r->h->version, KILN_PLAN_VERSION);
    if (r->n < sizeof(kiln_plan_header))
        return kiln_plan_refused(r, "plan: %llu bytes are too few for a header of %zu",
                                 (unsigned long long)r->n, sizeof(kiln_plan_header));
    if (r->h->total_bytes != r->n)
        return kiln_plan_refused(r, "plan: must have %llu bytes, has %llu",
                                 (unsigned long long)r->h->total_bytes,
                                 (unsigned long long)r->n);
    if (r->h->param_bytes > KILN_PLAN_MAX_MEMORY ||
        r->h->workspace_bytes > KILN_PLAN_MAX_MEMORY ||
        r->h->scratch_bytes > KILN_PLAN_MAX_MEMORY)
        return kiln_plan_refused(r, "plan: asks for more than 2^40 bytes of memory");
    return 0;
}

static int read_tables(kiln_plan_reader *r) {
    const kiln_plan_header *h = r->h;
    kiln_plan *p = r->plan;
    const uint64_t n_ports = (uint64_t)h->n_inputs + h->n_outputs;
    if (!is_table(r, h->tensors, h->n_tensors, sizeof(kiln_plan_tensor), 8) ||
        !is_table(r, h->ports, n_ports, sizeof(kiln_plan_port), 8) ||
        !is_table(r, h->kernels, h->n_kernels, sizeof(kiln_plan_kernel), 8) ||
        !is_table(r, h->sizes, h->n_sizes, sizeof(uint64_t), 8) ||
        !is_table(r, h->steps, h->n_steps, sizeof(kiln_plan_step), 4) ||
        !is_table(r, h->open.at, h->open.n, sizeof(kiln_plan_step), 4) ||
        !is_table(r, h->operands, h->n_operands, sizeof(uint32_t), 4) ||
        !is_table(r, h->devices.at, h->devices.n, sizeof(kiln_plan_device), 4) ||
        !is_table(r, h->spaces.at, h->spaces.n, sizeof(kiln_plan_space), 8) ||
        !is_table(r, h->queues.at, h->queues.n, sizeof(kiln_plan_queue), 4) ||
        !is_table(r, h->modules.at, h->modules.n, sizeof(kiln_plan_module), 4) ||
        h->strings > r->n || h->string_bytes > r->n - h->strings)
        return kiln_plan_refused(r, "plan: a table lies outside the file");
    *p = (kiln_plan){
        .header = h,
        .tensor = (const kiln_plan_tensor *)(const void *)(r->bytes + h->tensors),
        .port = (const kiln_plan_port *)(const void *)(r->bytes + h->ports),
        .kernel = (const kiln_plan_kernel *)(const void *)(r->bytes + h->kernels),
        .size = (const uint64_t *)(const void *)(r->bytes + h->sizes),
        .step = (const kiln_plan_step *)(const void *)(r->bytes + h->steps),
        .open = (const kiln_plan_step *)(const void *)(r->bytes + h->open.at),
        .operand = (const uint32_t *)(const void *)(r->bytes + h->operands),
        .device = (const kiln_plan_device *)(const void *)(r->bytes + h->devices.at),
        .space = (const kiln_plan_space *)(const void *)(r->bytes + h->spaces.at),
        .queue = (const kiln_plan_queue *)(const void *)(r->bytes + h->queues.at),
        .module = (const kiln_plan_module *)(const void *)(r->bytes + h->modules.at),
        .strings = r->bytes + h->strings};
    if (h->string_bytes == 0 || p->strings[h->string_bytes - 1] != '\0')
        return kiln_plan_refused(r, "plan: its strings do not end");
    if (!kiln_plan_is_string(r, h->model) || !kiln_plan_is_string(r, h->profile))
        return kiln_plan_refused(r, "plan: a name lies outside the strings");
    return 0;
}

/* Is there what the tensor says that it lies in? */
static bool has_place(const kiln_plan_reader *r, const kiln_plan_tensor *t) {
    switch ((kiln_plan_place)t->place) {
    case KILN_PLAN_INPUT:
        return t->index < r->h->n_inputs;
    case KILN_PLAN_OUTPUT:
        return t->index < r->h->n_outputs;
    case KILN_PLAN_PARAM:
        return true;
    case KILN_PLAN_ARENA:
        return t->index < r->h->spaces.n;
    case KILN_PLAN_PACKED:
        return t->index < r->h->spaces.n && r->plan->space[t->index].packed_bytes > 0;
    }
    return false;
}

/* Bytes of the memory that a tensor is in. */
static uint64_t room_of(const kiln_plan_reader *r, const kiln_plan_tensor *t) {
    const kiln_plan_header *h = r->h;
    switch ((kiln_plan_place)t->place) {
    case KILN_PLAN_PARAM:
        return h->param_bytes;
    case KILN_PLAN_ARENA:
        return r->plan->space[t->index].arena_bytes;
    case KILN_PLAN_PACKED:
        return r->plan->space[t->index].packed_bytes;
    case KILN_PLAN_INPUT:
        return r->plan->port[t->index].bytes;
    case KILN_PLAN_OUTPUT:
        break;
    }
    return r->plan->port[h->n_inputs + t->index].bytes;
}

static int check_tensors(const kiln_plan_reader *r) {
    const kiln_plan_header *h = r->h;
    for (uint32_t i = 0; i < h->n_tensors; i++) {
        const kiln_plan_tensor *t = &r->plan->tensor[i];
        if (!has_place(r, t))
            return kiln_plan_refused(r, "plan: tensor %u has no place", i);
        const uint64_t room = room_of(r, t);
        if (t->offset % KILN_PLAN_ALIGN != 0 || t->offset > room ||
            t->bytes > room - t->offset)
            return kiln_plan_refused(r, "plan: tensor %u lies outside its memory", i);
    }
    return 0;
}

/* Bytes of an element; 0: no such type. */
static uint64_t dtype_bytes(const char *name) {
    static const struct {
        const char *name;
        uint64_t bytes;
    } known[] = {{"f32", 4},
                 {"f16", 2},
                 {"bf16", 2},
                 {"f64", 8},
                 {"i8", 1},
                 {"u8", 1},
                 {"i16", 2},
                 {"u16", 2},
                 {"i32", 4},
                 {"u32", 4},
                 {"i64", 8},
                 {"u64", 8},
                 {"bool", 1},
                 /* low-bit types: a byte each */
                 {"f8e4m3fn", 1},
                 {"f8e4m3fnuz", 1},
                 {"f8e5m2", 1},
                 {"f8e5m2fnuz", 1},
                 {"f8e8m0", 1},
                 {"f4e2m1", 1},
                 {"i4", 1},
                 {"u4", 1},
                 {"i2", 1},
                 {"u2", 1}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i].name, name) == 0)
            return known[i].bytes;
    return 0;
}

/* Whoever fills a port goes by its shape. */
static bool has_bytes_of_shape(const kiln_plan_reader *r, const kiln_plan_port *p) {
    uint64_t bytes = dtype_bytes(kiln_plan_string(r->plan, p->dtype));
    for (uint32_t i = 0; i < p->rank; i++) {
        if (p->dim[i] > KILN_PLAN_MAX_MEMORY ||
            (p->dim[i] != 0 && bytes > KILN_PLAN_MAX_MEMORY / p->dim[i]))
            return false;
        bytes *= p->dim[i];
    }
    return bytes == p->bytes && dtype_bytes(kiln_plan_string(r->plan, p->dtype)) != 0;
}

static int check_port(const kiln_plan_reader *r, uint32_t i) {
    const kiln_plan_header *h = r->h;
    const kiln_plan_port *p = &r->plan->port[i];
    const bool is_input = i < h->n_inputs;
    if (!kiln_plan_is_string(r, p->name) || !kiln_plan_is_string(r, p->dtype) ||
        p->rank > KILN_PLAN_MAX_RANK || p->tensor >= h->n_tensors)
        return kiln_plan_refused(r, "plan: port %u is broken", i);
    if (!has_bytes_of_shape(r, p))
        return kiln_plan_refused(r, "plan: port '%s' has not the bytes of its shape",
                                 kiln_plan_string(r->plan, p->name));
    const kiln_plan_tensor *t = &r->plan->tensor[p->tensor];
    const uint32_t place = is_input ? KILN_PLAN_INPUT : KILN_PLAN_OUTPUT;
    const uint32_t index = is_input ? i : i - h->n_inputs;
    if (t->place != place || t->index != index || t->offset != 0 ||
        t->bytes != p->bytes)
        return kiln_plan_refused(r, "plan: port '%s' and its tensor do not agree",
                                 kiln_plan_string(r->plan, p->name));
    return 0;
}

static int check_kernel(const kiln_plan_reader *r, uint32_t i) {
    const kiln_plan_header *h = r->h;
    const kiln_plan_kernel *k = &r->plan->kernel[i];
    if (!kiln_plan_is_string(r, k->symbol))
        return kiln_plan_refused(r, "plan: kernel %u has no name", i);
    const char *name = kiln_plan_string(r->plan, k->symbol);
    if (k->module >= h->modules.n)
        return kiln_plan_refused(r, "plan: kernel '%s' is in no module", name);
    if (k->first_size > h->n_sizes || k->n_operands > h->n_sizes - k->first_size)
        return kiln_plan_refused(r, "plan: kernel '%s' has sizes outside the table",
                                 name);
    if (k->n_written == 0 || k->n_written > k->n_operands)
        return kiln_plan_refused(r, "plan: kernel '%s' writes %u of its %u operands",
                                 name, k->n_written, k->n_operands);
    if (k->workspace_bytes > h->workspace_bytes || k->scratch_bytes > h->scratch_bytes)
        return kiln_plan_refused(
            r, "plan: kernel '%s' needs more workspace than there is", name);
    return 0;
}

/* All of the table: a session finds their addresses before any step is run. */
static int check_operands(const kiln_plan_reader *r) {
    for (uint32_t i = 0; i < r->h->n_operands; i++)
        if (r->plan->operand[i] >= r->h->n_tensors)
            return kiln_plan_refused(r, "plan: operand %u is no tensor", i);
    return 0;
}

int kiln_plan_check(const void *bytes, size_t n, kiln_plan *out,
                    char error[KILN_PLAN_ERROR]) {
    kiln_plan_reader r = {.bytes = bytes, .n = n, .plan = out, .error = error};
    error[0] = '\0';
    if ((uintptr_t)bytes % 8 != 0)
        return kiln_plan_refused(&r, "plan: its bytes must be 8-byte aligned");
    if (read_header(&r) != 0 || read_tables(&r) != 0 ||
        kiln_plan_check_devices(&r) != 0 || check_tensors(&r) != 0)
        return -1;
    for (uint32_t i = 0; i < r.h->n_inputs + r.h->n_outputs; i++)
        if (check_port(&r, i) != 0)
            return -1;
    for (uint32_t i = 0; i < r.h->n_kernels; i++)
        if (check_kernel(&r, i) != 0)
            return -1;
    return check_operands(&r) == 0 ? kiln_plan_check_steps(&r) : -1;
}
