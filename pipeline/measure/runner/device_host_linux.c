/* The runner's side of its process on a device (device_linux.c): started when the runner
 * is set up, given candidates one after another, and ended after one that failed, that
 * hangs, or that is one of many. The next begins in a fresh one.
 *
 * It has no memory of the runner's but its page and the window: inputs that it does not
 * have yet are copied there, and outputs lie there. Linux, for memory that is shared
 * with who is forked, and given back. */
#include "pipeline/measure/runner/device_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CANARY = 0xC3, MOST_NAME = 32, MOST_CANDIDATES = 512 };
/* Address space: pages are taken when they are touched. */
static const uint64_t most_window = UINT64_C(16) << 30, least_window = UINT64_C(128)
                                                                       << 20;
/* Of these, what is kept from candidate to candidate; of inputs on the device. */
static const uint64_t kept_window = UINT64_C(256) << 20, most_inputs = UINT64_C(4)
                                                                       << 30;

/* ---- the window ------------------------------------------------------------------ */

static const uint64_t order_bytes = KILN_DEVICE_TAILS + KILN_DEVICE_TAILS;

static kiln_device_order *order_of(const kiln_runner *r) {
    return (kiln_device_order *)(void *)r->host.window;
}

static kiln_status open_window(kiln_runner *r, kiln_err *err) {
    kiln_device_host *h = &r->host;
    KILN_ASSERT(sizeof(kiln_device_order) + KILN_DEVICE_TAILS <= order_bytes,
                "an order has %zu bytes", sizeof(kiln_device_order));
    for (h->window_bytes = most_window; h->window_bytes >= least_window;
         h->window_bytes /= 2) {
        void *map = mmap(NULL, h->window_bytes, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (map == MAP_FAILED)
            continue;
        h->window = map;
        h->used = order_bytes;
        return KILN_OK;
    }
    return kiln_fail(err, KILN_ERR_OOM, "no memory to share with a device's process");
}

void kiln_device_window_reset(kiln_runner *r) {
    kiln_device_host *h = &r->host;
    if (h->used > kept_window)
        (void)madvise(h->window + kept_window, h->window_bytes - kept_window,
                      MADV_REMOVE);
    h->used = order_bytes;
}

/* Whole pages, on one side of what is fast: no copy may cross its end. */
kiln_status kiln_device_window_take(kiln_runner *r, size_t bytes, kiln_region *out,
                                    kiln_err *err) {
    kiln_device_host *h = &r->host;
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE),
                   room = (bytes + page - 1) / page * page;
    if (h->used < KILN_DEVICE_FAST && room > KILN_DEVICE_FAST - h->used)
        h->used = KILN_DEVICE_FAST;
    if (room > h->window_bytes - h->used)
        return kiln_fail(err, KILN_ERR_OOM, "no memory for %zu bytes", bytes);
    *out = (kiln_region){
        .data = h->window + h->used, .bytes = bytes, .room = (size_t)room};
    memset(out->data + bytes, CANARY, out->room - bytes);
    h->used += room;
    return KILN_OK;
}

static kiln_device_place place_of(const kiln_runner *r, const kiln_region *g) {
    return (kiln_device_place){(uint64_t)(g->data - r->host.window), g->bytes};
}

/* ---- its process ----------------------------------------------------------------- */

static kiln_trial_process process_of(const kiln_runner *r) {
    return (kiln_trial_process){.pid = r->host.pid, .channel = r->host.channel};
}

/* What it had is gone. */
static void forget(kiln_runner *r) {
    kiln_device_host *h = &r->host;
    if (h->channel >= 0)
        close(h->channel);
    h->pid = 0;
    h->channel = -1;
    h->n_candidates = 0;
    h->input.n = 0;
    h->input_bytes = 0;
}

static bool is_running(const kiln_runner *r) { return r->host.pid > 0; }

/* At its end it closes the device, which may take a while; but not for ever. */
void kiln_device_end(kiln_runner *r) {
    enum { STEP_US = 2000, STEPS = 1500 };
    const int pid = r->host.pid;
    if (!is_running(r))
        return;
    forget(r); /* closes the channel, by which it knows */
    int i = 0;
    while (i < STEPS && waitpid(pid, NULL, WNOHANG) == 0) {
        (void)usleep(STEP_US);
        i++;
    }
    if (i < STEPS)
        return;
    (void)kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
}

static bool start(kiln_runner *r) {
    kiln_device_host *h = &r->host;
    const int self = (int)getpid();
    int end[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, end) != 0)
        return false;
    memset(r->page, 0, sizeof *r->page);
    h->pid = (int)fork();
    if (h->pid == 0) {
        const int channel = kiln_trial_begin_child(r, self, end[1]);
        kiln_device_serve(r, channel);
        r->page->stage = KILN_STAGE_DONE;
        _exit(0);
    }
    const int error = errno;
    close(end[1]);
    h->channel = end[0];
    if (h->pid > 0)
        return true;
    forget(r);
    errno = error;
    return false;
}

/* It ended, or has to: how, is the candidate's verdict. */
static bool reap(kiln_trial_run *t, const kiln_trial_process *p) {
    const bool is_well = kiln_trial_reap(t, p);
    forget(t->r);
    return is_well && t->out->error == KILN_TRIAL_GOOD
               ? kiln_trial_fault(t, KILN_TRIAL_EXIT, "it ended its process")
               : false;
}

static bool give_order(kiln_trial_run *t, uint32_t kind) {
    const kiln_trial_process p = process_of(t->r);
    order_of(t->r)->kind = kind;
    return kiln_trial_tell(&p, t->deadline_ns) || reap(t, &p);
}

/* ---- inputs ---------------------------------------------------------------------- */

/* A seed that has not the weights' copies asks for one of them. */
static const kiln_device_input *find_input(const kiln_runner *r, const kiln_packed *p,
                                           uint32_t n_copies) {
    const kiln_device_host *h = &r->host;
    for (size_t i = 0; i < h->input.n; i++) {
        const kiln_device_input *in = &h->input.v[i];
        if (in->work == p->work && in->seed == p->seed &&
            (in->n_copies == n_copies || (n_copies == 1 && in->n_copies > 1)) &&
            kiln_operand_is_same(&in->operand, &p->operand))
            return in;
    }
    return NULL;
}

static bool put_input(kiln_trial_run *t, const kiln_packed *p, uint32_t n_copies,
                      uint32_t *slot) {
    kiln_device_host *h = &t->r->host;
    kiln_device_order *o = order_of(t->r);
    const kiln_device_input *in = find_input(t->r, p, n_copies);
    kiln_region there;
    kiln_err err = {.len = 0};
    if (in != NULL) {
        *slot = in->slot;
        return true;
    }
    if (kiln_device_window_take(t->r, p->region.bytes, &there, &err) != KILN_OK)
        return kiln_trial_fault(t, KILN_TRIAL_LOST, "%s", err.text);
    memcpy(there.data, p->region.data, p->region.bytes);
    *slot = (uint32_t)h->input.n;
    o->place = place_of(t->r, &there);
    o->slot = *slot;
    o->n_copies = n_copies;
    h->used -= there.room; /* once it is on the device */
    if (!give_order(t, KILN_DEVICE_PUT))
        return false;
    const kiln_device_input own = {.work = p->work,
                                   .seed = p->seed,
                                   .operand = p->operand,
                                   .n_copies = n_copies,
                                   .slot = *slot};
    kiln_vec_push(&t->r->arena, &h->input, own);
    h->input_bytes += (uint64_t)p->region.room * n_copies;
    return true;
}

static bool put_inputs(kiln_trial_run *t) {
    kiln_device_order *o = order_of(t->r);
    const kiln_wire_code *c = &t->q->code;
    for (uint32_t s = 0; s < t->n_given; s++)
        for (uint32_t i = 0; i < c->n_inputs; i++) {
            const bool has_copies =
                s < t->n_sets && t->w->value[c->operand[i].value].is_weight != 0;
            uint32_t slot = 0;
            if (!put_input(t, t->input[s][i], has_copies ? t->n_copies : 1, &slot))
                return false;
            o->slot_of[s][i] = slot;
        }
    return true;
}

/* ---- candidates ------------------------------------------------------------------ */

static bool load(kiln_trial_run *t) {
    const kiln_wire_code *c = &t->q->code;
    kiln_device_order *o = order_of(t->r);
    kiln_region object;
    kiln_err err = {.len = 0};
    if (kiln_device_window_take(t->r, c->object.n, &object, &err) != KILN_OK)
        return kiln_trial_fault(t, KILN_TRIAL_LOST, "%s", err.text);
    memcpy(object.data, c->object.p, c->object.n);
    o->place = place_of(t->r, &object);
    (void)snprintf(o->name, sizeof o->name, "%.*s", KILN_STR_ARG(c->name));
    o->workspace_bytes = c->workspace_bytes;
    o->cpu_ns = t->cpu_left_ns > 0 ? t->cpu_left_ns : 1;
    o->n_inputs = c->n_inputs;
    o->n_outputs = c->n_operands - c->n_inputs;
    o->n_sets = t->n_given;
    o->n_buffers = t->n_buffers;
    for (uint32_t b = 0; b < t->n_buffers; b++)
        for (uint32_t i = 0; i < o->n_outputs; i++)
            o->output[b][i] = place_of(t->r, &t->buffer[b][i]);
    t->r->host.used -= object.room; /* the driver has a copy once it is loaded */
    if (!give_order(t, KILN_DEVICE_LOAD))
        return false;
    if (t->r->page->stage == KILN_STAGE_UNLOADABLE) {
        t->r->page->text[sizeof t->r->page->text - 1] = '\0';
        return kiln_trial_fault(t, KILN_TRIAL_UNLOADABLE, "%s", t->r->page->text);
    }
    o->kind = KILN_DEVICE_ROUND; /* until it leaves */
    return true;
}

/* Room for the inputs of one more. */
static bool is_full(const kiln_runner *r) {
    const kiln_device_host *h = &r->host;
    return h->n_candidates >= MOST_CANDIDATES || h->input_bytes > most_inputs ||
           h->input.n > KILN_DEVICE_SLOTS - KILN_MAX_SETS * KILN_WIRE_MAX_OPERANDS;
}

bool kiln_device_is_used(const kiln_runner *r) {
    return is_running(r) && r->host.n_candidates > 0;
}

static bool start_fresh(kiln_trial_run *t) {
    if (!start(t->r))
        return kiln_trial_fault(t, KILN_TRIAL_LOST, "cannot fork: %s", strerror(errno));
    const kiln_trial_process p = process_of(t->r);
    return kiln_trial_await(&p, t->deadline_ns) || reap(t, &p);
}

bool kiln_device_start(kiln_trial_run *t, kiln_trial_process *p) {
    kiln_runner *r = t->r;
    *p = (kiln_trial_process){.channel = -1};
    const kiln_trial_process old = process_of(r);
    if (is_running(r) && (is_full(r) || kiln_trial_has_ended(&old)))
        kiln_device_end(r);
    if (!is_running(r) && !start_fresh(t))
        return false;
    memset(r->page, 0, sizeof *r->page);
    r->host.n_candidates++;
    if (!put_inputs(t) || !load(t))
        return false;
    *p = process_of(r);
    return true;
}

bool kiln_device_finish(kiln_trial_run *t, kiln_trial_process *p) {
    if (t->out->error == KILN_TRIAL_GOOD)
        return give_order(t, KILN_DEVICE_LEAVE);
    (void)reap(t, p);
    return false;
}

/* ---- which device? --------------------------------------------------------------- */

/* What is wrong is no failure of the runner's: it says so, and has no device. */
kiln_status kiln_device_set_up(kiln_runner *r, kiln_arena *a, kiln_wire_ready *out,
                               kiln_err *err) {
    const char *name = kiln_str_dupv(a, r->options.device);
    r->host.channel = -1;
    r->device = kiln_device_kind_named(name, NULL, 0);
    if (r->device == NULL || r->options.driver_limit_ms < 0)
        return kiln_fail(err, KILN_ERR_ARG, "this runner knows no device '%s'",
                         kiln_str_printable(a, r->options.device, MOST_NAME));
    KILN_TRY(open_window(r, err));
    bool is_there = start(r);
    if (is_there) {
        const kiln_trial_process p = process_of(r);
        const int64_t patience_ms = r->options.driver_limit_ms + 10000;
        is_there = kiln_trial_await(&p, kiln_now_ns() + patience_ms * 1000000);
        if (!is_there) {
            (void)kill(p.pid, SIGKILL);
            kiln_device_end(r);
        }
    }
    char *text = r->page->text;
    text[sizeof r->page->text - 1] = '\0';
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
