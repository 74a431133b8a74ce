/* A candidate for a GPU, in its own process: the only one that opens the driver, which
 * must not be there in a process that forks. Opening it and compiling cost more than
 * what is measured, so proofs and slices are rounds of one process.
 *
 * Outputs are copied to the device ahead of a round, as the parent spoilt them, and back
 * behind it; inputs and copies of weights stay there. Behind each block lie canaries.
 * Times are the device's, launch by launch: what it takes to tell it of one is not the
 * kernel's.
 *
 * A driver opens files, makes code and starts threads: nothing of this is confined
 * (docs/devices.md). Linux, for dying with the parent. */
#include "pipeline/measure/runner/runner_internal.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TAIL = 256, CANARY = 0xC3, SPOILT = 0xFF, MOST_POKE = 16, MOST_NAME = 32 };

/* A block of the device's memory, with canaries behind its bytes. */
typedef struct block {
    char *at; /* NULL: none */
    size_t bytes;
} block;

typedef struct on_device {
    const kiln_trial_run *t;
    kiln_page *page;
    const kiln_device_kind *kind;
    kiln_device *device;
    kiln_device_module *module;
    kiln_device_kernel kernel;
    kiln_device_queue *queue;
    block input[KILN_MAX_SETS][KILN_WIRE_MAX_OPERANDS];
    block output[KILN_MAX_BUFFERS][KILN_WIRE_MAX_OPERANDS];
    void *operand[KILN_WIRE_MAX_OPERANDS];
    uint64_t turn;
} on_device;

static uint32_t n_outputs(const on_device *d) {
    return d->t->q->code.n_operands - d->t->q->code.n_inputs;
}

/* ---- how it ends ----------------------------------------------------------------- */

static _Noreturn void end(const on_device *d, kiln_stage stage, const char *text) {
    (void)snprintf(d->page->text, sizeof d->page->text, "%s", text);
    d->page->stage = stage;
    _exit(0);
}

static _Noreturn void end_with_code(const on_device *d, int code, const char *text) {
    d->page->code = code != 0 ? code : -1;
    end(d, KILN_STAGE_DONE, text);
}

/* Waits for all that was told. */
static void settle(const on_device *d) {
    kiln_device_failure f = {.code = 0};
    if (d->kind->finish(d->queue, KILN_DEVICE_ALL, &f) != 0)
        end_with_code(d, f.code, f.why != NULL ? f.why : "");
}

/* ---- opening --------------------------------------------------------------------- */

static void open_device(on_device *d) {
    char error[KILN_ERROR_TEXT] = "";
    kiln_allocator allocator;
    kiln_allocator_default(&allocator);
    d->kind = d->t->r->device;
    /* PoCL keeps what it compiles in a folder; of a candidate nobody wants it again. */
    (void)setenv("POCL_KERNEL_CACHE", "0", 0);
    if (d->kind->open(&allocator, &d->device, error) != 0)
        end(d, KILN_STAGE_NO_THREADS, error);
}

static void open_kernel(on_device *d) {
    const kiln_wire_code *c = &d->t->q->code;
    const kiln_device_image image = {.bytes = c->object.p, .n = c->object.n};
    const kiln_device_queue_options o = {
        .n_threads = 1, .workspace_bytes = (size_t)c->workspace_bytes, .is_timed = 1};
    char error[KILN_ERROR_TEXT] = "", name[64];
    (void)snprintf(name, sizeof name, "%.*s", KILN_STR_ARG(c->name));
    if (d->kind->module_open(d->device, &image, &d->module, error) != 0)
        end(d, KILN_STAGE_UNLOADABLE, error);
    if (d->kind->module_kernel(d->module, name, &d->kernel) != 0)
        end(d, KILN_STAGE_UNLOADABLE, "it has no kernel of that name");
    if (d->kind->queue_open(d->device, &o, &d->queue, error) != 0)
        end(d, KILN_STAGE_NO_THREADS, error);
}

/* ---- memory ---------------------------------------------------------------------- */

static void copy(const on_device *d, void *to, const void *from, size_t bytes) {
    const kiln_device_copy c = {.to = to, .from = from, .bytes = bytes};
    if (bytes > 0)
        (void)d->kind->copy(d->queue, &c);
}

static block take_block(const on_device *d, size_t bytes) {
    unsigned char canary[TAIL];
    block b = {.bytes = bytes, .at = d->kind->alloc(d->device, 0, bytes + TAIL)};
    if (b.at == NULL)
        end(d, KILN_STAGE_NO_THREADS, "the device has no memory for an operand");
    memset(canary, CANARY, sizeof canary);
    copy(d, b.at + bytes, canary, sizeof canary);
    settle(d); /* the canaries are this function's */
    return b;
}

static void check_block(const on_device *d, const block *b, const char *what) {
    unsigned char got[TAIL];
    char text[KILN_LOAD_TEXT];
    if (b->at == NULL)
        return;
    copy(d, got, b->at + b->bytes, sizeof got);
    settle(d);
    for (size_t i = 0; i < sizeof got; i++)
        if (got[i] != CANARY) {
            (void)snprintf(text, sizeof text, "byte %zu of %s was written, it has %zu",
                           b->bytes + i, what, b->bytes);
            end(d, KILN_STAGE_BESIDE, text);
        }
}

/* Whose bytes another set has already are there once. */
static void put_inputs(on_device *d, uint32_t set) {
    const kiln_trial_run *t = d->t;
    for (uint32_t i = 0; i < t->q->code.n_inputs; i++) {
        const kiln_region *g = &t->input[set][i]->region;
        block *b = &d->input[set][i];
        for (uint32_t s = 0; s < KILN_MAX_SETS && b->at == NULL; s++)
            if (d->input[s][i].at != NULL && t->input[s][i]->region.data == g->data)
                *b = d->input[s][i];
        if (b->at == NULL) {
            *b = take_block(d, g->bytes);
            copy(d, b->at, g->data, g->bytes);
        }
        d->operand[i] = b->at;
    }
    settle(d);
}

static void put_outputs(on_device *d, uint32_t buffer) {
    for (uint32_t o = 0; o < n_outputs(d); o++) {
        const kiln_region *g = &d->t->buffer[buffer][o];
        block *b = &d->output[buffer][o];
        if (b->at == NULL)
            *b = take_block(d, g->bytes);
        copy(d, b->at, g->data, g->bytes);
        d->operand[d->t->q->code.n_inputs + o] = b->at;
    }
    settle(d);
}

static void fetch_outputs(const on_device *d, uint32_t buffer) {
    for (uint32_t o = 0; o < n_outputs(d); o++) {
        const kiln_region *g = &d->t->buffer[buffer][o];
        copy(d, g->data, d->output[buffer][o].at, g->bytes);
    }
    settle(d);
}

/* ---- rounds ---------------------------------------------------------------------- */

/* The copies of weights in turn, as on the host (round.c). */
static void turn_weights(on_device *d, uint32_t set) {
    for (uint32_t i = 0; i < d->t->q->code.n_inputs; i++) {
        const kiln_packed *p = d->t->input[set][i];
        if (p->n_copies > 1)
            d->operand[i] =
                d->input[set][i].at + (size_t)(d->turn % p->n_copies) * p->stride;
    }
    d->turn++;
}

/* Nanoseconds of one call: the device's word, or the host's where it has none. */
static double call(on_device *d, uint32_t set) {
    turn_weights(d, set);
    const kiln_device_launch l = {.kernel = d->kernel,
                                  .operand = d->operand,
                                  .n_operands = d->t->q->code.n_operands};
    const int64_t begin = kiln_now_ns();
    (void)d->kind->launch(d->queue, &l);
    settle(d);
    const int64_t end_ns = kiln_now_ns();
    const uint64_t own = d->kind->last_ns != NULL ? d->kind->last_ns(d->queue) : 0;
    return own > 0 ? (double)own : (double)(end_ns - begin);
}

static void spoil(const on_device *d, const kiln_poke *p) {
    static const unsigned char spoilt[MOST_POKE] = {
        SPOILT, SPOILT, SPOILT, SPOILT, SPOILT, SPOILT, SPOILT, SPOILT,
        SPOILT, SPOILT, SPOILT, SPOILT, SPOILT, SPOILT, SPOILT, SPOILT};
    char *to = d->operand[d->t->q->code.n_inputs + p->output];
    copy(d, to + p->at, spoilt, p->bytes < MOST_POKE ? p->bytes : MOST_POKE);
}

static void run_round(on_device *d, const kiln_round *r, kiln_slice *out) {
    uint64_t i = 0;
    uint32_t poke = 0;
    double ns = 0;
    put_inputs(d, r->set);
    d->turn = r->turn;
    if (r->n_warm > 0)
        put_outputs(d, r->warm_buffer);
    for (uint32_t k = 0; k < r->n_warm; k++)
        (void)call(d, r->set);
    if (r->n_warm > 0)
        fetch_outputs(d, r->warm_buffer);
    for (uint32_t s = 0; s < r->n_segments; s++) {
        put_outputs(d, r->segment[s].buffer);
        for (; i < r->segment[s].end; i++) {
            if (r->n_pokes > 0)
                spoil(d, &r->poke[poke]);
            poke = poke + 1 < r->n_pokes ? poke + 1 : 0;
            ns += call(d, r->set);
        }
        fetch_outputs(d, r->segment[s].buffer);
    }
    out->ns = r->runs > 0 ? ns / (double)r->runs : 0;
    out->peak_gflops = d->t->r->options.device_gflops;
}

static void check_blocks(const on_device *d) {
    for (uint32_t s = 0; s < KILN_MAX_SETS; s++)
        for (uint32_t i = 0; i < d->t->q->code.n_inputs; i++)
            check_block(d, &d->input[s][i], "an input");
    for (uint32_t b = 0; b < KILN_MAX_BUFFERS; b++)
        for (uint32_t o = 0; o < n_outputs(d); o++)
            check_block(d, &d->output[b][o], "an output");
}

static bool next(int channel) {
    char byte;
    ssize_t n;
    do
        n = read(channel, &byte, 1);
    while (n < 0 && errno == EINTR);
    return n == 1;
}

void kiln_device_rounds(const kiln_trial_run *t, kiln_page *page, int channel) {
    on_device d = {.t = t, .page = page};
    open_device(&d);
    open_kernel(&d);
    page->stage = KILN_STAGE_RUNNING;
    while (next(channel)) {
        const kiln_round r = page->round;
        kiln_slice slice = {.ns = 0};
        run_round(&d, &r, &slice);
        page->slice = slice;
        page->peak = (kiln_peak_slice){slice.peak_gflops, 1};
        if (write(channel, "", 1) != 1)
            break;
    }
    check_blocks(&d);
    /* Drivers keep what was compiled until it is closed. */
    d.kind->queue_close(d.queue);
    d.kind->module_close(d.module);
    d.kind->close(d.device);
}

/* ---- which device? --------------------------------------------------------------- */

static _Noreturn void probe(kiln_runner *r, pid_t parent) {
    const kiln_trial_run none = {.r = r};
    on_device d = {.t = &none, .page = r->page};
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(0);
    (void)alarm((unsigned)(r->options.driver_limit_ms / 1000) + 10);
    kiln_device_std_files();
    open_device(&d);
    end(&d, KILN_STAGE_DONE,
        d.kind->title != NULL ? d.kind->title(d.device) : d.kind->name);
}

/* What is wrong is no failure of the runner's: it says so, and has no device. */
kiln_status kiln_device_set_up(kiln_runner *r, kiln_arena *a, kiln_wire_ready *out,
                               kiln_err *err) {
    const char *name = kiln_str_dupv(a, r->options.device);
    const pid_t self = getpid();
    int status = 0;
    r->device = kiln_device_kind_named(name, NULL, 0);
    if (r->device == NULL || r->options.driver_limit_ms < 0)
        return kiln_fail(err, KILN_ERR_ARG, "this runner knows no device '%s'",
                         kiln_str_printable(a, r->options.device, MOST_NAME));
    memset(r->page, 0, sizeof *r->page);
    const pid_t pid = fork();
    if (pid == 0)
        probe(r, self);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    char *text = r->page->text;
    text[sizeof r->page->text - 1] = '\0';
    const bool is_there = pid > 0 && r->page->stage == KILN_STAGE_DONE;
    const char *why = text[0] != '\0' ? text : "its driver ended the process";
    r->meter.best_gflops = r->options.device_gflops;
    *out = (kiln_wire_ready){
        .peak_gflops = r->options.device_gflops,
        .clock_ghz = 1,
        .fma_per_cycle = 1,
        .memory_gbs = r->options.device_gbs,
        .not_confined = kiln_str_from(
            is_there ? "a GPU's driver does more than compute"
                     : kiln_format(a, "device '%s' cannot be used: %s", name, why)),
        .device = kiln_str_from(is_there ? kiln_str_dup(a, text) : "")};
    return KILN_OK;
}

/* ---- limits ---------------------------------------------------------------------- */

/* A device that hangs takes nothing of the processor: then only the wall tells. */
enum { WALL_LIMITS = 4 };

int64_t kiln_device_limit_ns(const kiln_wire_runner *o) {
    return (o->driver_limit_ms + o->time_limit_ms) * 1000000 * WALL_LIMITS;
}

int64_t kiln_device_cpu_ns(const kiln_wire_runner *o) {
    const kiln_cpus own = kiln_cpus_own();
    return (o->driver_limit_ms + o->time_limit_ms * own.n) * 1000000;
}
