/* Reading a plan's steps, those of a run and those that a model makes when it is
 * opened. */
#include "runtime/plan_internal.h"

/* ---- steps -------------------------------------------------------------------------
 */

/* A block that is open: it began at that step. */
typedef struct block {
    uint32_t step;
    uint64_t runs; /* of each step inside */
} block;

/* The walk over the steps: the blocks around the one at hand. */
typedef struct walk {
    const kiln_plan_reader *r;
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

/* Whose memory it is. */
static uint32_t device_of(const walk *w, uint32_t k) {
    return w->r->plan->space[kiln_plan_space_of(operand(w, k))].device;
}

static uint64_t runs_here(const walk *w) {
    return w->depth > 0 ? w->open[w->depth - 1].runs : 1;
}

static int check_written(const walk *w, uint32_t k) {
    const uint32_t place = operand(w, k)->place;
    return place == KILN_PLAN_OUTPUT || place == KILN_PLAN_ARENA
               ? 0
               : kiln_plan_refused(
                     w->r, "plan: step '%s' writes to what is never written", w->name);
}

/* A kernel of as many operands, none of them smaller than it wants. */
static int check_kernel_of(walk *w) {
    const kiln_plan *p = w->r->plan;
    const kiln_plan_step *s = w->step;
    if (s->kernel >= p->header->n_kernels ||
        p->kernel[s->kernel].n_operands != s->n_operands)
        return kiln_plan_refused(w->r, "plan: step '%s' calls no kernel of %u operands",
                                 w->name, s->n_operands);
    const kiln_plan_kernel *kernel = &p->kernel[s->kernel];
    for (uint32_t k = 0; k < s->n_operands; k++) {
        const uint64_t want = p->size[kernel->first_size + k];
        if (operand(w, k)->bytes < want)
            return kiln_plan_refused(
                w->r,
                "plan: operand %u of step '%s' must have %llu bytes for "
                "kernel '%s', has %llu",
                k, w->name, (unsigned long long)want,
                kiln_plan_string(p, kernel->symbol),
                (unsigned long long)operand(w, k)->bytes);
    }
    return 0;
}

/* Code and memory of the device that does it. */
static int check_on_device(const walk *w) {
    const kiln_plan *p = w->r->plan;
    const kiln_plan_step *s = w->step;
    const uint32_t device = p->queue[s->queue].device;
    const uint32_t module = p->kernel[s->kernel].module;
    if (p->module[module].device != device)
        return kiln_plan_refused(
            w->r, "plan: step '%s' launches what module %u has for another device",
            w->name, module);
    for (uint32_t k = 0; k < s->n_operands; k++)
        if (device_of(w, k) != device)
            return kiln_plan_refused(
                w->r,
                "plan: operand %u of step '%s' lies in space %u, where device "
                "%u does not compute",
                k, w->name, kiln_plan_space_of(operand(w, k)), device);
    return 0;
}

/* Between memory of the device that does it, or the host's. */
static int check_reach(const walk *w) {
    const uint32_t device = w->r->plan->queue[w->step->queue].device;
    for (uint32_t k = 0; k < 2; k++)
        if (device_of(w, k) != device && device_of(w, k) != 0)
            return kiln_plan_refused(
                w->r, "plan: step '%s' copies to or from space %u, device %u cannot",
                w->name, kiln_plan_space_of(operand(w, k)), device);
    return 0;
}

static int check_launch(walk *w) {
    const kiln_plan_step *s = w->step;
    if (check_kernel_of(w) != 0 || check_on_device(w) != 0)
        return -1;
    const uint32_t n_written = w->r->plan->kernel[s->kernel].n_written;
    for (uint32_t k = s->n_operands - n_written; k < s->n_operands; k++)
        if (check_written(w, k) != 0)
            return -1;
    return 0;
}

static int check_copy(walk *w) {
    if (operand(w, 0)->bytes != operand(w, 1)->bytes)
        return kiln_plan_refused(w->r, "plan: step '%s' copies between unlike tensors",
                                 w->name);
    return check_reach(w) == 0 ? check_written(w, 1) : -1;
}

static int begin_block(walk *w, uint64_t runs) {
    if (w->depth == KILN_PLAN_MAX_DEPTH)
        return kiln_plan_refused(w->r, "plan: step '%s' is nested deeper than %d",
                                 w->name, KILN_PLAN_MAX_DEPTH);
    w->open[w->depth++] = (block){w->at, runs};
    return 0;
}

static int check_if(walk *w) {
    if (operand(w, 0)->bytes < 1)
        return kiln_plan_refused(w->r, "plan: step '%s' has an empty condition",
                                 w->name);
    if (device_of(w, 0) != 0)
        return kiln_plan_refused(w->r,
                                 "plan: step '%s' has a condition in space %u, which "
                                 "the host does not read",
                                 w->name, kiln_plan_space_of(operand(w, 0)));
    return begin_block(w, runs_here(w));
}

static int check_loop(walk *w) {
    const uint64_t runs = runs_here(w);
    if (w->step->count > KILN_PLAN_MAX_RUNS / (runs > 0 ? runs : 1))
        return kiln_plan_refused(w->r, "plan: step '%s' begins more than %d runs",
                                 w->name, KILN_PLAN_MAX_RUNS);
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
        return kiln_plan_refused(w->r, "plan: step '%s' is the else of no if", w->name);
    return 0;
}

static int check_end(walk *w) {
    const kiln_plan_step *step = w->r->plan->step, *begin = opener(w);
    if (begin == NULL || w->step->partner != w->open[w->depth - 1].step)
        return kiln_plan_refused(w->r, "plan: step '%s' ends no block", w->name);
    /* An if whose ELSE lies ahead, or was never met, is not complete. */
    const uint32_t before =
        begin->kind == KILN_PLAN_IF ? begin->partner : w->open[w->depth - 1].step;
    if (before < w->open[w->depth - 1].step || before >= w->at ||
        step[before].partner != w->at ||
        (begin->kind == KILN_PLAN_IF && step[before].kind != KILN_PLAN_ELSE))
        return kiln_plan_refused(
            w->r, "plan: step '%s' ends a block that names another end", w->name);
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
        return kiln_plan_refused(
            w->r, "plan: step '%s' wants an iteration outside of loops", w->name);
    const uint64_t element = operand(w, 1 - whole)->bytes;
    if (element != 0 && operand(w, whole)->bytes / element < loop->count)
        return kiln_plan_refused(
            w->r, "plan: step '%s' wants %u elements, its tensor has %llu", w->name,
            loop->count, (unsigned long long)(operand(w, whole)->bytes / element));
    return check_reach(w) == 0 ? check_written(w, 1) : -1;
}

static int check_take(walk *w) { return check_element(w, 0); }
static int check_put(walk *w) { return check_element(w, 1); }

/* Does a loop that is open go on to that step? */
static bool is_in_loop(const walk *w, uint32_t step) {
    for (uint32_t i = 0; i < w->depth; i++) {
        const kiln_plan_step *s = &w->r->plan->step[w->open[i].step];
        if (s->kind == KILN_PLAN_LOOP && s->partner > step)
            return true;
    }
    return false;
}

/* A queue waits until what the step was told last in this run is done; if it was not
 * told yet there is nothing to wait for. So every wait ends. One for a step that is
 * never told before it would hold nothing back: that is a mistake. */
static int check_wait(walk *w) {
    const kiln_plan *p = w->r->plan;
    const kiln_plan_step *s = w->step;
    if (s->partner >= w->r->h->n_steps)
        return kiln_plan_refused(w->r, "plan: step '%s' waits for no step", w->name);
    const uint32_t kind = p->step[s->partner].kind;
    if (kind != KILN_PLAN_LAUNCH && kind != KILN_PLAN_COPY && kind != KILN_PLAN_TAKE &&
        kind != KILN_PLAN_PUT)
        return kiln_plan_refused(
            w->r, "plan: step '%s' waits for step %u, which no queue does", w->name,
            s->partner);
    if (p->step[s->partner].queue == s->queue)
        return kiln_plan_refused(
            w->r, "plan: step '%s' lets queue %u wait for its own step %u", w->name,
            s->queue, s->partner);
    if (s->partner > w->at && !is_in_loop(w, s->partner))
        return kiln_plan_refused(
            w->r, "plan: step '%s' waits for step %u, which comes only afterwards",
            w->name, s->partner);
    return 0;
}

static const struct {
    int (*check)(walk *w);
    int n_operands; /* -1: as the kernel says */
    bool is_choice; /* the host's */
} kinds[KILN_PLAN_N_KINDS] = {
    [KILN_PLAN_LAUNCH] = {check_launch, -1, false},
    [KILN_PLAN_COPY] = {check_copy, 2, false},
    [KILN_PLAN_IF] = {check_if, 1, true},
    [KILN_PLAN_ELSE] = {check_else, 0, true},
    [KILN_PLAN_LOOP] = {check_loop, 0, true},
    [KILN_PLAN_END] = {check_end, 0, true},
    [KILN_PLAN_TAKE] = {check_take, 2, false},
    [KILN_PLAN_PUT] = {check_put, 2, false},
    [KILN_PLAN_WAIT] = {check_wait, 0, false},
};

/* What all steps have, open ones too. */
static int begin_step(walk *w, const kiln_plan_step *s) {
    const kiln_plan_reader *r = w->r;
    const kiln_plan_header *h = r->h;
    w->step = s;
    if (!kiln_plan_is_string(r, s->name) || !kiln_plan_is_string(r, s->op))
        return kiln_plan_refused(r, "plan: step %u has no name", w->at);
    w->name = kiln_plan_string(r->plan, s->name);
    if (s->first_operand > h->n_operands ||
        s->n_operands > h->n_operands - s->first_operand)
        return kiln_plan_refused(r, "plan: step '%s' has operands outside the table",
                                 w->name);
    if (s->queue >= h->queues.n)
        return kiln_plan_refused(r, "plan: step '%s' is for no queue", w->name);
    return 0;
}

/* The place that an open step fills. */
static const kiln_plan_tensor *filled_by(const kiln_plan_reader *r, uint64_t open) {
    const kiln_plan_step *s = &r->plan->open[open];
    return &r->plan->tensor[r->plan->operand[s->first_operand + s->n_operands - 1]];
}

/* Does x begin where y does, or before? In order of spaces. */
static bool is_not_behind(const kiln_plan_tensor *x, const kiln_plan_tensor *y) {
    return x->index != y->index ? x->index < y->index : x->offset <= y->offset;
}

/* Do the first n open steps, which are known to be right, fill all of it? They are in
 * order of what they fill. */
static bool is_filled(const kiln_plan_reader *r, uint64_t n,
                      const kiln_plan_tensor *t) {
    uint64_t begin = 0, end = n; /* the last one that begins before it */
    while (begin < end) {
        const uint64_t middle = begin + (end - begin) / 2;
        if (is_not_behind(filled_by(r, middle), t))
            begin = middle + 1;
        else
            end = middle;
    }
    if (begin == 0)
        return false;
    const kiln_plan_tensor *by = filled_by(r, begin - 1);
    const uint64_t inside = t->offset - by->offset;
    return by->index == t->index && inside <= by->bytes &&
           t->bytes <= by->bytes - inside;
}

static int check_packed(walk *w) {
    for (uint32_t k = 0; k < w->step->n_operands; k++)
        if (operand(w, k)->place == KILN_PLAN_PACKED &&
            !is_filled(w->r, w->r->h->open.n, operand(w, k)))
            return kiln_plan_refused(
                w->r,
                "plan: operand %u of step '%s' is packed memory that no "
                "open step fills",
                k, w->name);
    return 0;
}

static int check_step(walk *w) {
    const kiln_plan_reader *r = w->r;
    const kiln_plan_step *s = &r->plan->step[w->at];
    if (begin_step(w, s) != 0)
        return -1;
    if (s->kind >= KILN_PLAN_N_KINDS)
        return kiln_plan_refused(r, "plan: step '%s' is of no known kind", w->name);
    if (kinds[s->kind].n_operands >= 0 &&
        (uint32_t)kinds[s->kind].n_operands != s->n_operands)
        return kiln_plan_refused(r, "plan: step '%s' must have %d operands, has %u",
                                 w->name, kinds[s->kind].n_operands, s->n_operands);
    if (kinds[s->kind].is_choice && s->queue != 0)
        return kiln_plan_refused(
            r, "plan: step '%s' lets queue %u choose or repeat, the host does", w->name,
            s->queue);
    w->runs += runs_here(w);
    if (w->runs > KILN_PLAN_MAX_RUNS)
        return kiln_plan_refused(r, "plan: its steps are run more than %d times",
                                 KILN_PLAN_MAX_RUNS);
    return check_packed(w) == 0 ? kinds[s->kind].check(w) : -1;
}

/* ---- open steps --------------------------------------------------------------------
 */

/* Parameters, and what open steps before it have made of them. */
static int check_open_reads(const walk *w, uint32_t n) {
    for (uint32_t k = 0; k < n; k++) {
        const kiln_plan_tensor *t = operand(w, k);
        if (t->place != KILN_PLAN_PARAM &&
            (t->place != KILN_PLAN_PACKED || !is_filled(w->r, w->at, t)))
            return kiln_plan_refused(w->r,
                                     "plan: operand %u of open step '%s' is no "
                                     "parameter, nor packed before",
                                     k, w->name);
    }
    return 0;
}

/* Bytes that it writes: all of its place. */
static int check_open_launch(walk *w, uint64_t *bytes) {
    const kiln_plan *p = w->r->plan;
    const kiln_plan_step *s = w->step;
    if (check_kernel_of(w) != 0)
        return -1;
    const kiln_plan_kernel *kernel = &p->kernel[s->kernel];
    if (kernel->n_written != 1)
        return kiln_plan_refused(
            w->r, "plan: open step '%s' must write one tensor, writes %u", w->name,
            kernel->n_written);
    *bytes = p->size[kernel->first_size + s->n_operands - 1];
    return check_on_device(w);
}

static int check_open_copy(walk *w, uint64_t *bytes) {
    if (w->step->n_operands != 2)
        return kiln_plan_refused(w->r,
                                 "plan: open step '%s' must have 2 operands, has %u",
                                 w->name, w->step->n_operands);
    *bytes = operand(w, 0)->bytes;
    return check_reach(w);
}

static int check_open_step(walk *w, const kiln_plan_tensor **last) {
    const kiln_plan_reader *r = w->r;
    const kiln_plan_step *s = &r->plan->open[w->at];
    uint64_t bytes = 0;
    if (begin_step(w, s) != 0)
        return -1;
    if (s->kind != KILN_PLAN_LAUNCH && s->kind != KILN_PLAN_COPY)
        return kiln_plan_refused(
            r, "plan: open step '%s' is neither a launch nor a copy", w->name);
    const int failed = s->kind == KILN_PLAN_LAUNCH ? check_open_launch(w, &bytes)
                                                   : check_open_copy(w, &bytes);
    if (failed || check_open_reads(w, s->n_operands - 1) != 0)
        return -1;
    const kiln_plan_tensor *t = operand(w, s->n_operands - 1);
    if (t->place != KILN_PLAN_PACKED || t->bytes != bytes)
        return kiln_plan_refused(
            r, "plan: open step '%s' must fill all of a packed place", w->name);
    if (*last != NULL &&
        (t->index < (*last)->index ||
         (t->index == (*last)->index && t->offset < (*last)->offset + (*last)->bytes)))
        return kiln_plan_refused(
            r,
            "plan: open step '%s' writes what a step before it has filled, "
            "or lies before it",
            w->name);
    *last = t;
    return 0;
}

static int check_open_steps(const kiln_plan_reader *r) {
    walk w = {.r = r};
    const kiln_plan_tensor *last = NULL; /* that was filled */
    for (w.at = 0; w.at < r->h->open.n; w.at++)
        if (check_open_step(&w, &last) != 0)
            return -1;
    return 0;
}

/* ---- all ---------------------------------------------------------------------------
 */

static int check_run_steps(const kiln_plan_reader *r) {
    walk w = {.r = r};
    for (w.at = 0; w.at < r->h->n_steps; w.at++)
        if (check_step(&w) != 0)
            return -1;
    if (w.depth > 0)
        return kiln_plan_refused(r, "plan: step '%s' has no end",
                                 kiln_plan_string(r->plan, opener(&w)->name));
    return 0;
}

int kiln_plan_check_steps(const kiln_plan_reader *r) {
    return check_open_steps(r) == 0 ? check_run_steps(r) : -1;
}
