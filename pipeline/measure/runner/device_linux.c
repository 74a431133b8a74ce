/* The process that has a device, and serves candidates one after another: opening the
 * driver costs more than measuring. Inputs that others had too are on the device
 * already. The runner ends it after a candidate that failed (device_host_linux.c).
 *
 * Outputs are spoilt on the device ahead of a round, all of them, and copied back behind
 * it; inputs and copies of weights stay there. Behind each block lie canaries. Times are
 * the device's: of calls told in a row, each with outputs of its own, where the device
 * can begin them together, else of each call by itself. What it takes to tell it of one
 * is not the kernel's.
 *
 * A driver opens files, makes code and starts threads: nothing of this is confined
 * (docs/devices.md). */
#include "pipeline/measure/runner/device_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum { CANARY = 0xC3, SPOILT = 0xFF, MOST_SPARE = 64, MOST_POISON = 16 << 20 };
enum { ALIGNED = 256 }; /* copies of weights */

/* A block of the device's memory, with canaries behind its bytes. */
typedef struct block {
    char *at; /* NULL: none */
    size_t bytes;
} block;

typedef struct input {
    block block;
    size_t stride;
    uint32_t n_copies;
} input;

typedef struct guest {
    kiln_runner *r;
    kiln_page *page;
    kiln_device_order *order;
    unsigned char *window;
    const kiln_device_kind *kind;
    kiln_device *device;
    kiln_device_queue *queue;
    size_t workspace_bytes; /* of the queue */
    bool is_pinned;         /* the first bytes of the window */
    block poison;           /* all of it spoilt */
    input slot[KILN_DEVICE_SLOTS];
    block spare[MOST_SPARE]; /* whole ones, that were outputs */
    uint32_t n_spare;
    /* Of the candidate: */
    kiln_device_module *module;
    kiln_device_kernel kernel;
    block output[KILN_MAX_BUFFERS][KILN_WIRE_MAX_OPERANDS];
    void *operand[KILN_WIRE_MAX_OPERANDS];
    uint64_t turn;
} guest;

/* ---- how it ends ----------------------------------------------------------------- */

static _Noreturn void end(const guest *g, kiln_stage stage, const char *text) {
    (void)snprintf(g->page->text, sizeof g->page->text, "%s", text);
    g->page->stage = stage;
    _exit(0);
}

/* Waits for all that was told. */
static void settle(const guest *g) {
    kiln_device_failure f = {.code = 0};
    if (g->kind->finish(g->queue, KILN_DEVICE_ALL, &f) == 0)
        return;
    g->page->code = f.code != 0 ? f.code : -1;
    end(g, KILN_STAGE_DONE, f.why != NULL ? f.why : "");
}

/* ---- opening --------------------------------------------------------------------- */

static void open_queue(guest *g, size_t workspace_bytes) {
    const kiln_device_queue_options o = {
        .n_threads = 1, .workspace_bytes = workspace_bytes, .is_timed = 1};
    char error[KILN_ERROR_TEXT] = "";
    if (g->queue != NULL)
        g->kind->queue_close(g->queue);
    if (g->kind->queue_open(g->device, &o, &g->queue, error) != 0)
        end(g, KILN_STAGE_NO_THREADS, error);
    g->workspace_bytes = workspace_bytes;
}

static void open_device(guest *g) {
    char error[KILN_ERROR_TEXT] = "";
    kiln_allocator allocator;
    kiln_allocator_default(&allocator);
    /* Drivers keep what they compile in a folder; of a candidate nobody wants it again. */
    (void)setenv("POCL_KERNEL_CACHE", "0", 0);
    (void)setenv("CUDA_CACHE_DISABLE", "1", 0);
    /* Else a first launch may wait for streams, and one is held (call_in_a_row). */
    (void)setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    if (g->kind->open(&allocator, &g->device, error) != 0)
        end(g, KILN_STAGE_NO_THREADS, error);
    open_queue(g, 0);
    g->is_pinned = g->kind->pin != NULL &&
                   g->kind->pin(g->device, g->window, KILN_DEVICE_FAST) == 0;
}

/* ---- memory ---------------------------------------------------------------------- */

static void copy(const guest *g, void *to, const void *from, size_t bytes) {
    const kiln_device_copy c = {.to = to, .from = from, .bytes = bytes};
    if (bytes > 0)
        (void)g->kind->copy(g->queue, &c);
}

static void release_spare(guest *g) {
    while (g->n_spare > 0)
        g->kind->release(g->device, 0, g->spare[--g->n_spare].at);
}

static char *take_bytes(guest *g, size_t bytes) {
    char *p = g->kind->alloc(g->device, 0, bytes);
    if (p == NULL) {
        release_spare(g);
        p = g->kind->alloc(g->device, 0, bytes);
    }
    if (p == NULL)
        end(g, KILN_STAGE_NO_THREADS, "the device has no memory for an operand");
    return p;
}

static block take_block(guest *g, size_t bytes) {
    unsigned char canary[KILN_DEVICE_TAIL];
    for (uint32_t i = 0; i < g->n_spare; i++)
        if (g->spare[i].bytes == bytes) {
            const block b = g->spare[i];
            g->spare[i] = g->spare[--g->n_spare];
            return b;
        }
    const block b = {.bytes = bytes, .at = take_bytes(g, bytes + sizeof canary)};
    memset(canary, CANARY, sizeof canary);
    copy(g, b.at + bytes, canary, sizeof canary);
    settle(g); /* the canaries are this function's */
    return b;
}

static void give_block(guest *g, block *b) {
    if (b->at != NULL && g->n_spare == MOST_SPARE)
        release_spare(g);
    if (b->at != NULL)
        g->spare[g->n_spare++] = *b;
    *b = (block){.at = NULL};
}

static void make_poison(guest *g, size_t bytes) {
    const size_t most = bytes < MOST_POISON ? bytes : MOST_POISON;
    if (most <= g->poison.bytes)
        return;
    kiln_arena scratch = {0};
    unsigned char *spoilt = kiln_arena_alloc_raw(&scratch, most);
    memset(spoilt, SPOILT, most);
    g->kind->release(g->device, 0, g->poison.at);
    g->poison = (block){.at = take_bytes(g, most), .bytes = most};
    copy(g, g->poison.at, spoilt, most);
    settle(g);
    kiln_arena_fini(&scratch);
}

/* By copies from one part of the device's memory to another: fast. */
static void spoil(const guest *g, char *at, size_t bytes) {
    while (at != NULL && bytes > 0) {
        const size_t n = bytes < g->poison.bytes ? bytes : g->poison.bytes;
        copy(g, at, g->poison.at, n);
        at += n;
        bytes -= n;
    }
}

static void put_input(guest *g) {
    const kiln_device_order *o = g->order;
    const size_t bytes = (size_t)o->place.bytes;
    input *in = &g->slot[o->slot];
    in->n_copies = o->n_copies;
    in->stride = (bytes + ALIGNED - 1) / ALIGNED * ALIGNED;
    in->block = take_block(g, in->n_copies > 1 ? in->stride * in->n_copies : bytes);
    copy(g, in->block.at, g->window + o->place.at, bytes);
    for (uint32_t k = 1; k < in->n_copies; k++)
        copy(g, in->block.at + k * in->stride, in->block.at, bytes);
    settle(g);
}

/* ---- canaries -------------------------------------------------------------------- */

typedef struct tails {
    unsigned char *got;
    const char *what[KILN_DEVICE_TAILS / KILN_DEVICE_TAIL];
    size_t bytes[KILN_DEVICE_TAILS / KILN_DEVICE_TAIL], n;
} tails;

static void check_tails(const guest *g, tails *t) {
    char text[KILN_LOAD_TEXT];
    settle(g);
    for (size_t i = 0; i < t->n * KILN_DEVICE_TAIL; i++) {
        const size_t of = i / KILN_DEVICE_TAIL;
        if (t->got[i] == CANARY)
            continue;
        (void)snprintf(text, sizeof text, "byte %zu of %s was written, it has %zu",
                       t->bytes[of] + i % KILN_DEVICE_TAIL, t->what[of], t->bytes[of]);
        end(g, KILN_STAGE_BESIDE, text);
    }
    t->n = 0;
}

static void fetch_tail(const guest *g, tails *t, const block *b, const char *what) {
    if (b->at == NULL)
        return;
    if (t->n == KILN_DEVICE_TAILS / KILN_DEVICE_TAIL)
        check_tails(g, t);
    t->what[t->n] = what;
    t->bytes[t->n] = b->bytes;
    copy(g, t->got + t->n * KILN_DEVICE_TAIL, b->at + b->bytes, KILN_DEVICE_TAIL);
    t->n++;
}

/* Of others' inputs as well: whose they were it does not know. */
static void check_blocks(const guest *g) {
    const kiln_device_order *o = g->order;
    tails t = {.got = (unsigned char *)(g->order + 1)};
    for (uint32_t i = 0; i < KILN_DEVICE_SLOTS; i++)
        fetch_tail(g, &t, &g->slot[i].block, "an input");
    for (uint32_t b = 0; b < o->n_buffers; b++)
        for (uint32_t i = 0; i < o->n_outputs; i++)
            fetch_tail(g, &t, &g->output[b][i], "an output");
    check_tails(g, &t);
}

/* ---- candidates ------------------------------------------------------------------ */

/* SIGPROF ends the process. */
static void limit_processor(int64_t ns) {
    const int64_t us = ns > 0 ? ns / 1000 + 1 : 0;
    const struct itimerval timer = {
        .it_value = {.tv_sec = (time_t)(us / 1000000),
                     .tv_usec = (suseconds_t)(us % 1000000)}};
    (void)setitimer(ITIMER_PROF, &timer, NULL);
}

static bool open_kernel(guest *g) {
    const kiln_device_order *o = g->order;
    const kiln_device_image image = {.bytes = g->window + o->place.at,
                                     .n = (size_t)o->place.bytes};
    char error[KILN_ERROR_TEXT] = "";
    const bool is_open =
        g->kind->module_open(g->device, &image, &g->module, error) == 0;
    if (!is_open)
        g->module = NULL;
    else if (g->kind->module_kernel(g->module, o->name, &g->kernel) != 0)
        (void)snprintf(error, sizeof error, "it has no kernel of that name");
    if (is_open && error[0] == '\0')
        return true;
    (void)snprintf(g->page->text, sizeof g->page->text, "%.*s",
                   (int)sizeof g->page->text - 1, error);
    g->page->stage = KILN_STAGE_UNLOADABLE;
    return false;
}

static void leave(guest *g) {
    for (uint32_t b = 0; b < KILN_MAX_BUFFERS; b++)
        for (uint32_t i = 0; i < KILN_WIRE_MAX_OPERANDS; i++)
            give_block(g, &g->output[b][i]);
    if (g->module != NULL)
        g->kind->module_close(g->module);
    g->module = NULL;
    limit_processor(0);
}

static void load(guest *g) {
    const kiln_device_order *o = g->order;
    size_t most = (size_t)o->workspace_bytes;
    limit_processor(o->cpu_ns);
    if (!open_kernel(g)) {
        leave(g);
        return;
    }
    if (o->workspace_bytes > g->workspace_bytes)
        open_queue(g, (size_t)o->workspace_bytes);
    for (uint32_t b = 0; b < o->n_buffers; b++)
        for (uint32_t i = 0; i < o->n_outputs; i++) {
            const size_t bytes = (size_t)o->output[b][i].bytes;
            g->output[b][i] = take_block(g, bytes);
            most = bytes > most ? bytes : most;
        }
    make_poison(g, most);
    g->page->stage = KILN_STAGE_RUNNING;
}

/* ---- rounds ---------------------------------------------------------------------- */

/* The copies of weights in turn, as on the host (runner_round.c). */
static void use_inputs(guest *g, uint32_t set) {
    for (uint32_t i = 0; i < g->order->n_inputs; i++) {
        const input *in = &g->slot[g->order->slot_of[set][i]];
        g->operand[i] = in->block.at + (size_t)(g->turn % in->n_copies) * in->stride;
    }
    g->turn++;
}

static void use_outputs(guest *g, uint32_t buffer) {
    for (uint32_t i = 0; i < g->order->n_outputs; i++)
        g->operand[g->order->n_inputs + i] = g->output[buffer][i].at;
}

static void spoil_outputs(const guest *g, uint32_t buffer) {
    for (uint32_t i = 0; i < g->order->n_outputs; i++)
        spoil(g, g->output[buffer][i].at, g->output[buffer][i].bytes);
}

/* What a kernel hands on to itself: not what one before it left there. */
static void spoil_workspace(const guest *g) {
    if (g->order->workspace_bytes > 0 && g->kind->workspace != NULL)
        spoil(g, g->kind->workspace(g->queue), (size_t)g->order->workspace_bytes);
}

static void fetch_outputs(const guest *g, uint32_t buffer) {
    for (uint32_t i = 0; i < g->order->n_outputs; i++)
        copy(g, g->window + g->order->output[buffer][i].at, g->output[buffer][i].at,
             g->output[buffer][i].bytes);
}

static void tell(guest *g, uint32_t set, uint32_t buffer) {
    use_inputs(g, set);
    use_outputs(g, buffer);
    const kiln_device_launch l = {.kernel = g->kernel,
                                  .operand = g->operand,
                                  .n_operands =
                                      g->order->n_inputs + g->order->n_outputs};
    (void)g->kind->launch(g->queue, &l);
}

/* Nanoseconds of one call: the device's word, or the host's where it has none. */
static double call(guest *g, uint32_t set, uint32_t buffer) {
    const int64_t begin = kiln_now_ns();
    tell(g, set, buffer);
    settle(g);
    const int64_t end_ns = kiln_now_ns();
    const uint64_t own = g->kind->last_ns != NULL ? g->kind->last_ns(g->queue) : 0;
    return own > 0 ? (double)own : (double)(end_ns - begin);
}

/* Of all calls of a round, told in a row. */
static double call_in_a_row(guest *g, const kiln_round *r) {
    uint64_t i = 0;
    g->kind->span(g->queue, 1);
    for (uint32_t s = 0; s < r->n_segments; s++)
        for (; i < r->segment[s].end; i++)
            tell(g, r->set, r->segment[s].buffer);
    g->kind->span(g->queue, 0);
    settle(g);
    return (double)g->kind->last_ns(g->queue);
}

static double call_one_by_one(guest *g, const kiln_round *r) {
    uint64_t i = 0;
    double ns = 0;
    for (uint32_t s = 0; s < r->n_segments; s++)
        for (; i < r->segment[s].end; i++)
            ns += call(g, r->set, r->segment[s].buffer);
    return ns;
}

static void run_round(guest *g, const kiln_round *r, kiln_slice *out) {
    double ns = 0;
    g->turn = r->turn;
    if (r->n_warm > 0)
        spoil_outputs(g, r->warm_buffer);
    for (uint32_t k = 0; k < r->n_warm; k++)
        tell(g, r->set, r->warm_buffer);
    if (r->n_warm > 0)
        fetch_outputs(g, r->warm_buffer);
    if (r->runs > 0) {
        spoil_workspace(g);
        for (uint32_t s = 0; s < r->n_segments; s++)
            spoil_outputs(g, r->segment[s].buffer);
        settle(g);
        ns = g->kind->span != NULL && r->runs > 1 ? call_in_a_row(g, r)
                                                  : call_one_by_one(g, r);
        for (uint32_t s = 0; s < r->n_segments; s++)
            fetch_outputs(g, r->segment[s].buffer);
    }
    settle(g);
    out->ns = r->runs > 0 ? ns / (double)r->runs : 0;
    out->peak_gflops = g->r->options.device_gflops;
}

static void do_round(guest *g) {
    const kiln_round r = g->page->round;
    kiln_slice slice = {.ns = 0};
    run_round(g, &r, &slice);
    g->page->slice = slice;
    g->page->peak = (kiln_peak_slice){slice.peak_gflops, 1};
}

/* ---- orders ---------------------------------------------------------------------- */

static bool next(int channel) {
    char byte;
    ssize_t n;
    do
        n = read(channel, &byte, 1);
    while (n < 0 && errno == EINTR);
    return n == 1;
}

static void obey(guest *g) {
    switch ((kiln_device_kind_of_order)g->order->kind) {
    case KILN_DEVICE_ROUND:
        do_round(g);
        return;
    case KILN_DEVICE_PUT:
        put_input(g);
        return;
    case KILN_DEVICE_LOAD:
        load(g);
        return;
    case KILN_DEVICE_LEAVE:
        check_blocks(g);
        leave(g);
        return;
    }
    end(g, KILN_STAGE_NO_THREADS, "the runner gave no order");
}

/* Drivers keep what was compiled until it is closed. */
static void close_all(guest *g) {
    leave(g);
    release_spare(g);
    for (uint32_t i = 0; i < KILN_DEVICE_SLOTS; i++)
        g->kind->release(g->device, 0, g->slot[i].block.at);
    g->kind->release(g->device, 0, g->poison.at);
    g->kind->queue_close(g->queue);
    if (g->is_pinned)
        g->kind->unpin(g->device, g->window);
    g->kind->close(g->device);
}

void kiln_device_serve(kiln_runner *r, int channel) {
    static guest g; /* too large for a stack that a driver may have made small */
    g = (guest){.r = r,
                .page = r->page,
                .window = r->host.window,
                .order = (kiln_device_order *)(void *)r->host.window,
                .kind = r->device};
    open_device(&g);
    (void)snprintf(r->page->text, sizeof r->page->text, "%s",
                   g.kind->title != NULL ? g.kind->title(g.device) : g.kind->name);
    r->page->stage = KILN_STAGE_RUNNING;
    while (write(channel, "", 1) == 1 && next(channel))
        obey(&g);
    close_all(&g);
}
