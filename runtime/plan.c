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
_Static_assert(sizeof(kiln_plan_kernel) == 32, "packed as it is written");
_Static_assert(sizeof(kiln_plan_step) == 32, "packed as it is written");
_Static_assert(sizeof(kiln_plan_header) == 160, "packed as it is written");

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
        !is_table(r, h->kernels, h->n_kernels, sizeof(kiln_plan_kernel), 8) ||
        !is_table(r, h->sizes, h->n_sizes, sizeof(uint64_t), 8) ||
        !is_table(r, h->steps, h->n_steps, sizeof(kiln_plan_step), 4) ||
        !is_table(r, h->operands, h->n_operands, sizeof(uint32_t), 4) ||
        h->strings > r->n || h->string_bytes > r->n - h->strings)
        return refused(r, "plan: a table lies outside the file");
    *p = (kiln_plan){
        .header = h,
        .tensor = (const kiln_plan_tensor *)(const void *)(r->bytes + h->tensors),
        .port = (const kiln_plan_port *)(const void *)(r->bytes + h->ports),
        .kernel = (const kiln_plan_kernel *)(const void *)(r->bytes + h->kernels),
        .size = (const uint64_t *)(const void *)(r->bytes + h->sizes),
        .step = (const kiln_plan_step *)(const void *)(r->bytes + h->steps),
        .operand = (const uint32_t *)(const void *)(r->bytes + h->operands),
        .strings = r->bytes + h->strings};
    if (h->string_bytes == 0 || p->strings[h->string_bytes - 1] != '\0')
        return refused(r, "plan: its strings do not end");
    if (!is_string(r, h->model) || !is_string(r, h->profile))
        return refused(r, "plan: a name lies outside the strings");
    return 0;
}

static bool is_port(const kiln_plan_header *h, const kiln_plan_tensor *t) {
    return t->place == KILN_PLAN_INPUT ? t->index < h->n_inputs
                                       : t->index < h->n_outputs;
}

static int check_tensors(const reader *r) {
    const kiln_plan_header *h = r->h;
    for (uint32_t i = 0; i < h->n_tensors; i++) {
        const kiln_plan_tensor *t = &r->plan->tensor[i];
        const bool has_port =
            t->place == KILN_PLAN_INPUT || t->place == KILN_PLAN_OUTPUT;
        if (t->place > KILN_PLAN_ARENA || (has_port && !is_port(h, t)))
            return refused(r, "plan: tensor %u has no place", i);
        const uint32_t port =
            t->place == KILN_PLAN_OUTPUT ? h->n_inputs + t->index : t->index;
        const uint64_t room = t->place == KILN_PLAN_PARAM   ? h->param_bytes
                              : t->place == KILN_PLAN_ARENA ? h->arena_bytes
                                                            : r->plan->port[port].bytes;
        if (t->offset % KILN_PLAN_ALIGN != 0 || t->offset > room ||
            t->bytes > room - t->offset)
            return refused(r, "plan: tensor %u lies outside its memory", i);
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
static bool has_bytes_of_shape(const reader *r, const kiln_plan_port *p) {
    uint64_t bytes = dtype_bytes(kiln_plan_string(r->plan, p->dtype));
    for (uint32_t i = 0; i < p->rank; i++) {
        if (p->dim[i] > MAX_MEMORY ||
            (p->dim[i] != 0 && bytes > MAX_MEMORY / p->dim[i]))
            return false;
        bytes *= p->dim[i];
    }
    return bytes == p->bytes && dtype_bytes(kiln_plan_string(r->plan, p->dtype)) != 0;
}

static int check_port(const reader *r, uint32_t i) {
    const kiln_plan_header *h = r->h;
    const kiln_plan_port *p = &r->plan->port[i];
    const bool is_input = i < h->n_inputs;
    if (!is_string(r, p->name) || !is_string(r, p->dtype) ||
        p->rank > KILN_PLAN_MAX_RANK || p->tensor >= h->n_tensors)
        return refused(r, "plan: port %u is broken", i);
    if (!has_bytes_of_shape(r, p))
        return refused(r, "plan: port '%s' has not the bytes of its shape",
                       kiln_plan_string(r->plan, p->name));
    const kiln_plan_tensor *t = &r->plan->tensor[p->tensor];
    const uint32_t place = is_input ? KILN_PLAN_INPUT : KILN_PLAN_OUTPUT;
    const uint32_t index = is_input ? i : i - h->n_inputs;
    if (t->place != place || t->index != index || t->offset != 0 ||
        t->bytes != p->bytes)
        return refused(r, "plan: port '%s' and its tensor do not agree",
                       kiln_plan_string(r->plan, p->name));
    return 0;
}

static int check_kernel(const reader *r, uint32_t i) {
    const kiln_plan_header *h = r->h;
    const kiln_plan_kernel *k = &r->plan->kernel[i];
    if (!is_string(r, k->symbol))
        return refused(r, "plan: kernel %u has no name", i);
    const char *name = kiln_plan_string(r->plan, k->symbol);
    if (k->first_size > h->n_sizes || k->n_operands > h->n_sizes - k->first_size)
        return refused(r, "plan: kernel '%s' has sizes outside the table", name);
    if (k->n_written == 0 || k->n_written > k->n_operands)
        return refused(r, "plan: kernel '%s' writes %u of its %u operands", name,
                       k->n_written, k->n_operands);
    if (k->workspace_bytes > h->workspace_bytes || k->scratch_bytes > h->scratch_bytes)
        return refused(r, "plan: kernel '%s' needs more workspace than there is", name);
    return 0;
}

/* ---- steps -------------------------------------------------------------------------
 */

/* A block that is open: it began at that step. */
typedef struct block {
    uint32_t step;
    uint64_t runs; /* of each step inside */
} block;

/* The walk over the steps: the blocks around the one at hand. */
typedef struct walk {
    const reader *r;
    block open[KILN_PLAN_MAX_DEPTH];
    uint32_t depth;
    uint64_t runs; /* of all steps so far */
    const kiln_plan_step *step;
    uint32_t at;
    const char *name;
} walk;

static const kiln_plan_tensor *operand(const walk *w, uint32_t k) {
    const kiln_plan *p = w->r->plan;
    return &p->tensor[p->operand[w->step->first_operand + k]];
}

static uint64_t runs_here(const walk *w) {
    return w->depth > 0 ? w->open[w->depth - 1].runs : 1;
}

static int check_written(const walk *w, uint32_t k) {
    const uint32_t place = operand(w, k)->place;
    return place == KILN_PLAN_OUTPUT || place == KILN_PLAN_ARENA
               ? 0
               : refused(w->r, "plan: step '%s' writes to what is never written",
                         w->name);
}

static int check_call(walk *w) {
    const kiln_plan *p = w->r->plan;
    const kiln_plan_step *s = w->step;
    if (s->kernel >= p->header->n_kernels ||
        p->kernel[s->kernel].n_operands != s->n_operands)
        return refused(w->r, "plan: step '%s' calls no kernel of %u operands", w->name,
                       s->n_operands);
    const kiln_plan_kernel *kernel = &p->kernel[s->kernel];
    for (uint32_t k = 0; k < s->n_operands; k++) {
        const uint64_t want = p->size[kernel->first_size + k];
        if (operand(w, k)->bytes < want)
            return refused(w->r,
                           "plan: operand %u of step '%s' must have %llu bytes for "
                           "kernel '%s', has %llu",
                           k, w->name, (unsigned long long)want,
                           kiln_plan_string(p, kernel->symbol),
                           (unsigned long long)operand(w, k)->bytes);
    }
    for (uint32_t k = s->n_operands - kernel->n_written; k < s->n_operands; k++)
        if (check_written(w, k) != 0)
            return -1;
    return 0;
}

static int check_copy(walk *w) {
    if (operand(w, 0)->bytes != operand(w, 1)->bytes)
        return refused(w->r, "plan: step '%s' copies between unlike tensors", w->name);
    return check_written(w, 1);
}

static int begin_block(walk *w, uint64_t runs) {
    if (w->depth == KILN_PLAN_MAX_DEPTH)
        return refused(w->r, "plan: step '%s' is nested deeper than %d", w->name,
                       KILN_PLAN_MAX_DEPTH);
    w->open[w->depth++] = (block){w->at, runs};
    return 0;
}

static int check_if(walk *w) {
    if (operand(w, 0)->bytes < 1)
        return refused(w->r, "plan: step '%s' has an empty condition", w->name);
    return begin_block(w, runs_here(w));
}

static int check_loop(walk *w) {
    const uint64_t runs = runs_here(w);
    if (w->step->count > KILN_PLAN_MAX_RUNS / (runs > 0 ? runs : 1))
        return refused(w->r, "plan: step '%s' begins more than %d runs", w->name,
                       KILN_PLAN_MAX_RUNS);
    return begin_block(w, runs * w->step->count);
}

/* The step at the beginning of the innermost block; NULL: none is open. */
static const kiln_plan_step *opener(const walk *w) {
    return w->depth > 0 ? &w->r->plan->step[w->open[w->depth - 1].step] : NULL;
}

/* A block's steps name one another, so that the runtime goes from one to the next
 * without looking: IF to ELSE, ELSE and LOOP to END, END back to where it began. */
static int check_else(walk *w) {
    const kiln_plan_step *begin = opener(w);
    if (begin == NULL || begin->kind != KILN_PLAN_IF || begin->partner != w->at)
        return refused(w->r, "plan: step '%s' is the else of no if", w->name);
    return 0;
}

static int check_end(walk *w) {
    const kiln_plan_step *step = w->r->plan->step, *begin = opener(w);
    if (begin == NULL || w->step->partner != w->open[w->depth - 1].step)
        return refused(w->r, "plan: step '%s' ends no block", w->name);
    /* An if whose ELSE lies ahead, or was never met, is not complete. */
    const uint32_t before =
        begin->kind == KILN_PLAN_IF ? begin->partner : w->open[w->depth - 1].step;
    if (before < w->open[w->depth - 1].step || before >= w->at ||
        step[before].partner != w->at ||
        (begin->kind == KILN_PLAN_IF && step[before].kind != KILN_PLAN_ELSE))
        return refused(w->r, "plan: step '%s' ends a block that names another end",
                       w->name);
    w->depth--;
    return 0;
}

/* Elements of a tensor by the iteration: operand `whole` holds `count` of the other. */
static int check_element(walk *w, uint32_t whole) {
    const kiln_plan_step *loop = NULL;
    for (uint32_t i = w->depth; i > 0 && loop == NULL; i--) {
        const kiln_plan_step *s = &w->r->plan->step[w->open[i - 1].step];
        loop = s->kind == KILN_PLAN_LOOP ? s : NULL;
    }
    if (loop == NULL)
        return refused(w->r, "plan: step '%s' wants an iteration outside of loops",
                       w->name);
    const uint64_t element = operand(w, 1 - whole)->bytes;
    if (element != 0 && operand(w, whole)->bytes / element < loop->count)
        return refused(w->r, "plan: step '%s' wants %u elements, its tensor has %llu",
                       w->name, loop->count,
                       (unsigned long long)(operand(w, whole)->bytes / element));
    return check_written(w, 1);
}

static int check_take(walk *w) { return check_element(w, 0); }
static int check_put(walk *w) { return check_element(w, 1); }

static const struct {
    int (*check)(walk *w);
    int n_operands; /* -1: as the kernel says */
} kinds[KILN_PLAN_N_KINDS] = {
    [KILN_PLAN_CALL] = {check_call, -1}, [KILN_PLAN_COPY] = {check_copy, 2},
    [KILN_PLAN_IF] = {check_if, 1},      [KILN_PLAN_ELSE] = {check_else, 0},
    [KILN_PLAN_LOOP] = {check_loop, 0},  [KILN_PLAN_END] = {check_end, 0},
    [KILN_PLAN_TAKE] = {check_take, 2},  [KILN_PLAN_PUT] = {check_put, 2},
};

static int check_step(walk *w) {
    const reader *r = w->r;
    const kiln_plan_header *h = r->h;
    const kiln_plan_step *s = w->step = &r->plan->step[w->at];
    if (!is_string(r, s->name) || !is_string(r, s->op))
        return refused(r, "plan: step %u has no name", w->at);
    w->name = kiln_plan_string(r->plan, s->name);
    if (s->first_operand > h->n_operands ||
        s->n_operands > h->n_operands - s->first_operand)
        return refused(r, "plan: step '%s' has operands outside the table", w->name);
    if (s->kind >= KILN_PLAN_N_KINDS)
        return refused(r, "plan: step '%s' is of no known kind", w->name);
    if (kinds[s->kind].n_operands >= 0 &&
        (uint32_t)kinds[s->kind].n_operands != s->n_operands)
        return refused(r, "plan: step '%s' must have %d operands, has %u", w->name,
                       kinds[s->kind].n_operands, s->n_operands);
    w->runs += runs_here(w);
    if (w->runs > KILN_PLAN_MAX_RUNS)
        return refused(r, "plan: its steps are run more than %d times",
                       KILN_PLAN_MAX_RUNS);
    return kinds[s->kind].check(w);
}

/* All of the table: a session finds their addresses before any step is run. */
static int check_operands(const reader *r) {
    for (uint32_t i = 0; i < r->h->n_operands; i++)
        if (r->plan->operand[i] >= r->h->n_tensors)
            return refused(r, "plan: operand %u is no tensor", i);
    return 0;
}

static int check_steps(const reader *r) {
    walk w = {.r = r};
    for (w.at = 0; w.at < r->h->n_steps; w.at++)
        if (check_step(&w) != 0)
            return -1;
    if (w.depth > 0)
        return refused(r, "plan: step '%s' has no end",
                       kiln_plan_string(r->plan, opener(&w)->name));
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
        if (check_kernel(&r, i) != 0)
            return -1;
    return check_operands(&r) == 0 ? check_steps(&r) : -1;
}
