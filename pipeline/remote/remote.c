/* The caller's side of a network in a process of its own. */
#include "pipeline/remote/least.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "pipeline/baselines/baselines_rivals.h"
#include "runtime/device.h"

enum { FIRST_PEAKS = 20, MOST_TITLE = 256 };
static const int64_t default_limit_ms = 600000, grace_ms = 10000;
static const uint64_t piece_bytes = UINT64_C(16) << 20; /* of an answer */

struct kiln_remote {
    kiln_arena *arena;
    const kiln_profile *profile;
    kiln_remote_options o;
    kiln_apart *apart;
    uint64_t guest; /* of it: ours, until somebody begins another */
    kiln_remote_port *input, *output;
    int n_inputs, n_outputs;
    uint32_t n_steps;
    const kiln_step_least *least; /* by step; NULL: it is not asked */
    double open_ms;
    const char *device;    /* "": none has a driver */
    int *threads;          /* by session */
    double *fma_per_cycle; /* by session; 0: not known yet */
    int n_sessions, room;
    bool in_load, is_stopped;
    void (*tick)(void *user);
    void *user;
};

/* ---- questions ------------------------------------------------------------------- */

static int64_t deadline(const kiln_remote *r, int64_t more_ms) {
    const int64_t ms = r->o.limit_ms > 0 ? r->o.limit_ms : default_limit_ms;
    return kiln_now_ns() + (ms + more_ms) * 1000000;
}

/* Views of `out` live until the next question. */
static kiln_status exchange(kiln_remote *r, kiln_wire_kind kind, const void *message,
                            int64_t more_ms, kiln_wire_told *out, kiln_err *err) {
    const int64_t deadline_ns = deadline(r, more_ms);
    KILN_ASSERT(kiln_apart_guest(r->apart) == r->guest, "a network that was closed");
    KILN_TRY(kiln_apart_send(r->apart, kind, message, deadline_ns, err));
    return kiln_apart_receive(r->apart, deadline_ns, out, err);
}

static kiln_status ask(kiln_remote *r, const kiln_wire_ask *q, int64_t more_ms,
                       kiln_wire_told *out, kiln_err *err) {
    return exchange(r, KILN_WIRE_ASK, q, more_ms, out, err);
}

/* Ends a load that somebody interrupts; it has an answer all the same. */
static void on_tick(void *user) {
    kiln_remote *r = user;
    if (r->tick != NULL)
        r->tick(r->user);
    if (!r->in_load || r->is_stopped || !kiln_interrupted())
        return;
    const kiln_wire_ask stop = {.what = KILN_ASK_STOP};
    r->is_stopped = true; /* sending ticks too */
    kiln_apart_hint(r->apart, KILN_WIRE_ASK, &stop, deadline(r, 0));
}

/* ---- opening --------------------------------------------------------------------- */

static kiln_remote_port *ports_of(kiln_arena *a, const kiln_plan *plan, uint32_t first,
                                  uint32_t n) {
    kiln_remote_port *port = kiln_array(a, kiln_remote_port, n);
    for (uint32_t i = 0; i < n; i++) {
        const kiln_plan_port *from = &plan->port[first + i];
        port[i] = (kiln_remote_port){
            .name = kiln_str_dup(a, kiln_plan_string(plan, from->name)),
            .rank = (int)from->rank,
            .bytes = (size_t)from->bytes};
        for (uint32_t d = 0; d < from->rank; d++)
            port[i].dim[d] = (int64_t)from->dim[d];
    }
    return port;
}

/* The kind of device that has a driver; "": there is none. */
static const char *driver_of(kiln_arena *a, const kiln_plan *plan) {
    for (uint32_t i = 0; i < plan->header->devices.n; i++) {
        const char *kind = kiln_plan_string(plan, plan->device[i].kind);
        const kiln_device_kind *k = kiln_device_kind_named(kind, NULL, 0);
        if (k != NULL && k->has_driver)
            return kiln_str_dup(a, kind);
    }
    return "";
}

static kiln_status read_plan(kiln_remote *r, kiln_str bytes, kiln_wire_network *n,
                             kiln_err *err) {
    char text[KILN_PLAN_ERROR];
    kiln_plan plan;
    if (kiln_plan_check(bytes.p, bytes.n, &plan, text) != 0)
        return kiln_fail(err, KILN_ERR_PARSE, "%s", text);
    r->n_inputs = (int)plan.header->n_inputs;
    r->n_outputs = (int)plan.header->n_outputs;
    r->n_steps = plan.header->n_steps;
    n->driver = kiln_str_from(driver_of(r->arena, &plan));
    r->input = ports_of(r->arena, &plan, 0, plan.header->n_inputs);
    r->output =
        ports_of(r->arena, &plan, plan.header->n_inputs, plan.header->n_outputs);
    return KILN_OK;
}

static kiln_status new_remote(kiln_arena *a, const kiln_profile *p,
                              const kiln_remote_options *o, kiln_remote **out,
                              kiln_err *err) {
    kiln_remote *r = kiln_new(a, kiln_remote);
    *r = (kiln_remote){.arena = a, .profile = p};
    if (o != NULL)
        r->o = *o;
    const kiln_apart_options own = {
        .argv = r->o.argv, .grace_ms = grace_ms, .tick = on_tick, .user = r};
    const kiln_far *far = r->o.apart != NULL ? kiln_apart_far(r->o.apart) : NULL;
    KILN_ASSERT(p != NULL || (far != NULL && r->o.has_no_peak),
                "a network of no profile");
    if (far == NULL)
        KILN_TRY(kiln_runs_here(p, err));
    else if (p != NULL)
        KILN_TRY(kiln_profile_fits_machine(p, 1, kiln_far_machine(far), err));
    r->apart = r->o.apart != NULL ? r->o.apart : kiln_apart_new(a, &own);
    *out = r;
    KILN_TRY(kiln_apart_begin(r->apart, err));
    r->guest = kiln_apart_guest(r->apart);
    return KILN_OK;
}

static kiln_status make_meter(kiln_remote *r, kiln_wire_meter *out, kiln_err *err) {
    kiln_meter_code code;
    KILN_TRY(kiln_meter_code_make(r->arena, r->profile, &code, err));
    *out = kiln_meter_message(&code);
    return KILN_OK;
}

static void take_opened(kiln_remote *r, const kiln_wire_told *told) {
    r->open_ms = told->open_ms;
    r->device = kiln_str_printable(r->arena, told->data, MOST_TITLE);
}

/* What both have: inputs, the meter; then the network, in its process. */
static kiln_status open_there(kiln_remote *r, kiln_wire_network *n,
                              const kiln_tensor *in, size_t n_in, kiln_err *err) {
    kiln_wire_told told;
    n->n_inputs = (uint32_t)n_in;
    n->input = kiln_array(r->arena, kiln_wire_place, n_in);
    n->data_limit_bytes = r->o.data_limit_bytes;
    for (size_t i = 0; i < n_in; i++)
        KILN_TRY(kiln_apart_put(r->apart, in[i].data,
                                (size_t)kiln_type_bytes(&in[i].type), &n->input[i],
                                err));
    if (!r->o.has_no_peak)
        KILN_TRY(make_meter(r, &n->meter, err));
    const kiln_status st = exchange(r, KILN_WIRE_NETWORK, n, 0, &told, err);
    if (st != KILN_OK)
        kiln_apart_ended(r->apart);
    else
        take_opened(r, &told);
    return st;
}

/* The data of a safetensors file behind its header, which the plan counts from. */
static kiln_status params_of(kiln_arena *a, const char *folder, kiln_str *out,
                             kiln_err *err) {
    const char *path = kiln_path_join(a, folder, "params.safetensors");
    unsigned char head[8] = {0};
    uint64_t n = 0;
    *out = (kiln_str){NULL, 0};
    if (!kiln_file_exists(path))
        return KILN_OK;
    KILN_TRY(kiln_file_map(a, path, 0, out, err));
    memcpy(head, out->p, out->n < sizeof head ? out->n : sizeof head);
    for (int i = 0; i < 8; i++)
        n |= (uint64_t)head[i] << 8 * i;
    if (out->n < sizeof head || n > out->n - sizeof head)
        return kiln_fail(err, KILN_ERR_PARSE, "'%s' is no safetensors file", path);
    *out = (kiln_str){out->p + sizeof head + n, out->n - sizeof head - (size_t)n};
    return KILN_OK;
}

/* A package's files for a runner elsewhere, which has no such folder: its library is the
 * object of each kernel, and is sent once. */
static kiln_status put_package(kiln_remote *r, const char *folder, kiln_str bytes,
                               kiln_wire_network *n, kiln_err *err) {
    char text[KILN_PLAN_ERROR];
    kiln_plan plan;
    kiln_wire_place library;
    kiln_str lib, params;
    if (n->driver.n > 0)
        return kiln_fail(
            err, KILN_ERR_UNSUPPORTED,
            "device '%.*s' has a driver, which no runner elsewhere may use: "
            "nothing of it can be confined",
            KILN_STR_ARG(n->driver));
    if (kiln_plan_check(bytes.p, bytes.n, &plan, text) != 0)
        return kiln_fail(err, KILN_ERR_PARSE, "%s", text);
    if (plan.header->n_kernels > KILN_WIRE_MAX_KERNELS)
        return kiln_fail(err, KILN_ERR_LIMIT, "at most %d kernels, not %" PRIu32,
                         KILN_WIRE_MAX_KERNELS, plan.header->n_kernels);
    KILN_TRY(params_of(r->arena, folder, &params, err));
    KILN_TRY(kiln_file_map(r->arena, kiln_path_join(r->arena, folder, "lib.so"), 0,
                           &lib, err));
    KILN_TRY(kiln_apart_put(r->apart, lib.p, lib.n, &library, err));
    n->n_kernels = plan.header->n_kernels;
    n->kernel = kiln_array(r->arena, kiln_wire_function, n->n_kernels);
    for (uint32_t i = 0; i < n->n_kernels; i++)
        n->kernel[i] = (kiln_wire_function){
            .symbol = kiln_str_from(kiln_plan_string(&plan, plan.kernel[i].symbol)),
            .object = library};
    n->folder = (kiln_str){NULL, 0};
    KILN_TRY(kiln_apart_put(r->apart, bytes.p, bytes.n, &n->plan, err));
    return kiln_apart_put(r->apart, params.p, params.n, &n->params, err);
}

kiln_status kiln_remote_of_package(kiln_arena *a, const char *folder,
                                   const kiln_profile *p, const kiln_tensor *in,
                                   size_t n_in, const kiln_remote_options *o,
                                   kiln_remote **out, kiln_err *err) {
    kiln_remote *r = NULL;
    kiln_str plan;
    kiln_wire_network n = {.folder = kiln_str_from(folder)};
    KILN_TRY(new_remote(a, p, o, &r, err));
    KILN_TRY(kiln_file_map(a, kiln_path_join(a, folder, "plan.bin"), 0, &plan, err));
    KILN_TRY(read_plan(r, plan, &n, err));
    if (kiln_apart_far(r->apart) != NULL)
        KILN_TRY(put_package(r, folder, plan, &n, err));
    KILN_TRY(open_there(r, &n, in, n_in, err));
    *out = r;
    return KILN_OK;
}

/* Of devices whose code is no function of a process: their drivers take it. */
static kiln_status put_modules(kiln_remote *r, const kiln_network *network,
                               kiln_wire_network *n, kiln_err *err) {
    n->module = kiln_array(r->arena, kiln_wire_function, network->module.n);
    for (size_t i = 0; i < network->module.n; i++) {
        const kiln_network_module *m = &network->module.v[i];
        if (m->code.n == 0)
            continue;
        if (kiln_apart_far(r->apart) != NULL)
            return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                             "device '%s' has a driver, which no runner elsewhere may "
                             "use: nothing of it can be confined",
                             m->device);
        kiln_wire_function *f = &n->module[n->n_modules++];
        f->symbol = kiln_str_from(m->file);
        n->driver = kiln_str_from(m->device);
        KILN_TRY(kiln_apart_put(r->apart, m->code.p, m->code.n, &f->object, err));
    }
    return KILN_OK;
}

static kiln_status put_network(kiln_remote *r, const kiln_network *network,
                               kiln_wire_network *n, kiln_err *err) {
    if (network->kernel.n > KILN_WIRE_MAX_KERNELS)
        return kiln_fail(err, KILN_ERR_LIMIT, "at most %d kernels, not %zu",
                         KILN_WIRE_MAX_KERNELS, network->kernel.n);
    n->kernel = kiln_array(r->arena, kiln_wire_function, network->kernel.n);
    for (size_t i = 0; i < network->kernel.n; i++) {
        const kiln_network_kernel *k = &network->kernel.v[i];
        kiln_wire_function *f = &n->kernel[n->n_kernels];
        if (kiln_arch_of(k->profile->arch)->kind != KILN_TARGET_CPU)
            continue;
        n->n_kernels++;
        f->symbol = kiln_str_from(k->symbol);
        KILN_TRY(kiln_apart_put(r->apart, k->object.bytes.p, k->object.bytes.n,
                                &f->object, err));
    }
    KILN_TRY(put_modules(r, network, n, err));
    KILN_TRY(kiln_apart_put(r->apart, network->plan.p, network->plan.n, &n->plan, err));
    return kiln_apart_put(r->apart, network->params, network->param_bytes, &n->params,
                          err);
}

kiln_status kiln_remote_of_network(kiln_arena *a, const kiln_network *network,
                                   const kiln_tensor *in, size_t n_in,
                                   const kiln_remote_options *o, kiln_remote **out,
                                   kiln_err *err) {
    kiln_remote *r = NULL;
    kiln_wire_network n = {.n_kernels = 0};
    KILN_TRY(new_remote(a, network->profile, o, &r, err));
    KILN_TRY(read_plan(r, network->plan, &n, err));
    if (kiln_apart_far(r->apart) != NULL)
        r->least = kiln_least_of(a, network);
    kiln_status st = put_network(r, network, &n, err);
    if (st == KILN_OK)
        st = open_there(r, &n, in, n_in, err);
    if (st != KILN_OK) {
        kiln_note(err, "opening '%s' in a process of its own", network->name);
        return st;
    }
    *out = r;
    return KILN_OK;
}

double kiln_remote_open_ms(const kiln_remote *r) { return r->open_ms; }

const char *kiln_remote_device(const kiln_remote *r) {
    return r->device != NULL ? r->device : "";
}

void kiln_remote_on_tick(kiln_remote *r, void (*tick)(void *user), void *user) {
    r->tick = tick;
    r->user = user;
}

int kiln_remote_n_inputs(const kiln_remote *r) { return r->n_inputs; }

const kiln_remote_port *kiln_remote_input_at(const kiln_remote *r, int i) {
    KILN_ASSERT(i >= 0 && i < r->n_inputs, "there is no input %d", i);
    return &r->input[i];
}

int kiln_remote_find_output(const kiln_remote *r, const char *name) {
    for (int i = 0; i < r->n_outputs; i++)
        if (strcmp(r->output[i].name, name) == 0)
            return i;
    return -1;
}

const kiln_remote_port *kiln_remote_output_at(const kiln_remote *r, int i) {
    KILN_ASSERT(i >= 0 && i < r->n_outputs, "there is no output %d", i);
    return &r->output[i];
}

/* ---- sessions and turns ---------------------------------------------------------- */

static kiln_status is_session(const kiln_remote *r, int session, kiln_err *err) {
    return session >= 0 && session < r->n_sessions
               ? KILN_OK
               : kiln_fail(err, KILN_ERR_ARG, "there is no session %d", session);
}

kiln_status kiln_remote_session(kiln_remote *r, int threads, int *session,
                                size_t *bytes, kiln_err *err) {
    KILN_ASSERT(threads > 0, "a session on %d threads", threads);
    const kiln_wire_ask q = {.what = KILN_ASK_SESSION, .n = (uint32_t)threads};
    kiln_wire_told told;
    KILN_TRY(ask(r, &q, 0, &told, err));
    if (r->n_sessions == r->room) {
        const int room = 2 * r->room + 4;
        int *more = kiln_array(r->arena, int, room);
        double *peaks = kiln_array(r->arena, double, room);
        for (int i = 0; i < r->n_sessions; i++) {
            more[i] = r->threads[i];
            peaks[i] = r->fma_per_cycle[i];
        }
        r->threads = more;
        r->fma_per_cycle = peaks;
        r->room = room;
    }
    r->threads[r->n_sessions] = threads;
    r->fma_per_cycle[r->n_sessions] = 0;
    *session = r->n_sessions++;
    *bytes = (size_t)told.bytes;
    return KILN_OK;
}

kiln_status kiln_remote_close_from(kiln_remote *r, int session, kiln_err *err) {
    const kiln_wire_ask q = {.what = KILN_ASK_CLOSE, .session = (uint32_t)session};
    kiln_wire_told told;
    KILN_TRY(is_session(r, session, err));
    r->n_sessions = session;
    return ask(r, &q, 0, &told, err);
}

/* From the best of several slices: one that was disturbed would give another number,
 * but seldom all. */
static kiln_status count_fma(kiln_remote *r, int session, kiln_err *err) {
    const kiln_wire_ask q = {
        .what = KILN_ASK_TURN, .session = (uint32_t)session, .n = FIRST_PEAKS};
    kiln_wire_told told;
    KILN_TRY(ask(r, &q, 0, &told, err));
    r->fma_per_cycle[session] = kiln_peak_fma(r->profile, r->threads[session],
                                              told.peak.gflops, told.peak.clock_ghz);
    return KILN_OK;
}

/* What it tells of time passed between question and answer, by the clock here: no runner
 * can have taken longer, and steps are parts of runs. Clocks may differ a little. */
static kiln_status check_times(kiln_remote *r, const kiln_remote_order *o,
                               const kiln_wire_told *told, int64_t passed_ns,
                               kiln_err *err) {
    static const double most = 1.01, slack_ns = 1e6;
    double steps_ns = 0;
    for (uint32_t i = 0; i < told->n_steps; i++)
        steps_ns += (double)told->step_ns[i];
    if (told->n_steps != (o->has_steps ? r->n_steps : 0))
        return kiln_apart_refuse(r->apart, "told of other steps than the network has",
                                 err);
    if (told->wall_ns < 0 || told->cpu_ns < 0 ||
        (double)told->wall_ns > (double)passed_ns * most + slack_ns ||
        steps_ns > (double)told->wall_ns * most + slack_ns)
        return kiln_apart_refuse(r->apart, "told of more time than has passed", err);
    return KILN_OK;
}

/* Nor can any machine have taken less. */
static kiln_status check_least(kiln_remote *r, int session, const kiln_remote_order *o,
                               const kiln_wire_told *told, kiln_err *err) {
    kiln_arena scratch = {0};
    const char *why = NULL;
    if (r->least != NULL)
        why = kiln_least_broken(&scratch, r->profile, r->threads[session], r->least,
                                r->n_steps, o->runs, told);
    const kiln_status st =
        why != NULL ? kiln_apart_refuse(r->apart, why, err) : KILN_OK;
    kiln_arena_fini(&scratch);
    return st;
}

kiln_status kiln_remote_take_turn(kiln_remote *r, int session,
                                  const kiln_remote_order *o, kiln_remote_turn *out,
                                  kiln_err *err) {
    KILN_ASSERT(o->runs >= 0 && o->n_ahead >= 0 && o->n_peaks >= 0,
                "a turn of %d runs behind %d", (int)o->runs, (int)o->n_ahead);
    const kiln_wire_ask q = {.what = KILN_ASK_TURN,
                             .session = (uint32_t)session,
                             .n = (uint32_t)o->n_peaks,
                             .n_ahead = (uint32_t)o->n_ahead,
                             .runs = (uint64_t)o->runs,
                             .has_steps = o->has_steps};
    kiln_wire_told told;
    KILN_TRY(is_session(r, session, err));
    if (o->n_peaks > 0 && r->fma_per_cycle[session] == 0)
        KILN_TRY(count_fma(r, session, err));
    const int64_t begin = kiln_now_ns();
    KILN_TRY(ask(r, &q, 0, &told, err));
    KILN_TRY(check_times(r, o, &told, kiln_now_ns() - begin, err));
    KILN_TRY(check_least(r, session, o, &told, err));
    const kiln_baseline_sample s = {
        .wall_ns = told.wall_ns, .cpu_ns = told.cpu_ns, .preempted = told.preempted};
    *out = (kiln_remote_turn){.step_ns = told.step_ns,
                              .n_steps = told.n_steps,
                              .wall_ns = told.wall_ns,
                              .cpu_ns = told.cpu_ns,
                              .preempted = told.preempted,
                              .is_throttled = told.is_throttled != 0,
                              .clock_mhz = told.clock_mhz,
                              .degrees = told.degrees};
    if (o->n_peaks > 0)
        out->peak =
            kiln_peak_of(r->profile, r->threads[session], r->fma_per_cycle[session],
                         told.peak.gflops, told.peak.clock_ghz);
    if (o->runs > 0)
        out->ms = fmax(1e-6, kiln_baseline_ms(&s, o->runs, r->threads[session],
                                              &out->is_disturbed));
    out->is_disturbed = out->is_disturbed || out->is_throttled;
    return KILN_OK;
}

/* ---- what came out --------------------------------------------------------------- */

/* In pieces: an answer has its limit. */
static kiln_status fetch(kiln_remote *r, kiln_wire_ask *q, void *to, uint64_t bytes,
                         kiln_err *err) {
    for (q->at = 0; q->at < bytes; q->at += q->bytes) {
        kiln_wire_told told;
        q->bytes = bytes - q->at < piece_bytes ? bytes - q->at : piece_bytes;
        KILN_TRY(ask(r, q, 0, &told, err));
        if (told.data.n != q->bytes)
            return kiln_apart_refuse(r->apart, "told another number of bytes", err);
        memcpy((char *)to + q->at, told.data.p, told.data.n);
    }
    return KILN_OK;
}

kiln_status kiln_remote_output(kiln_remote *r, int session, int i, void *data,
                               kiln_err *err) {
    kiln_wire_ask q = {
        .what = KILN_ASK_OUTPUT, .session = (uint32_t)session, .index = (uint32_t)i};
    return fetch(r, &q, data, kiln_remote_output_at(r, i)->bytes, err);
}

static kiln_status fetch_runs(kiln_remote *r, kiln_arena *a, int i,
                              const kiln_remote_run **out, size_t *n, kiln_err *err) {
    _Static_assert(sizeof(kiln_remote_run) == 16, "two numbers of 64 bits");
    kiln_wire_ask q = {.what = KILN_ASK_RUNS, .index = (uint32_t)i};
    kiln_wire_told told;
    KILN_TRY(ask(r, &q, 0, &told, err)); /* of no bytes: how many there are */
    *n = (size_t)told.bytes / sizeof **out;
    kiln_remote_run *run = kiln_array(a, kiln_remote_run, *n);
    *out = run;
    return fetch(r, &q, run, told.bytes, err);
}

kiln_status kiln_remote_do_load(kiln_remote *r, kiln_arena *a, int first, int n,
                                int64_t most_runs, int64_t length,
                                kiln_remote_load *out, kiln_err *err) {
    KILN_ASSERT(first >= 0 && n > 0 && first + n <= r->n_sessions,
                "sessions %d to %d of %d", first, first + n, r->n_sessions);
    const kiln_wire_ask q = {.what = KILN_ASK_LOAD,
                             .session = (uint32_t)first,
                             .n = (uint32_t)n,
                             .runs = (uint64_t)most_runs,
                             .time_ns = length};
    kiln_wire_told told;
    r->in_load = true;
    r->is_stopped = false;
    const kiln_status st = ask(r, &q, length / 1000000, &told, err);
    r->in_load = false;
    if (st != KILN_OK)
        return st;
    const kiln_remote_run **run = kiln_array(a, const kiln_remote_run *, n);
    size_t *n_runs = kiln_array(a, size_t, n);
    *out = (kiln_remote_load){.length = told.wall_ns,
                              .is_full = told.is_full != 0,
                              .run = run,
                              .n_runs = n_runs};
    for (int i = 0; i < n; i++)
        KILN_TRY(fetch_runs(r, a, i, &run[i], &n_runs[i], err));
    return KILN_OK;
}
