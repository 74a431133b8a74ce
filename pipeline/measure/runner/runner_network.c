/* A whole network in a process of its own (guest_linux.c): opened, run and timed as it is
 * asked, beside slices of the machine's peak.
 *
 * Neither the sessions' threads nor the meter's are pinned: both go where the system
 * puts them. */
#include "pipeline/measure/runner/runner_internal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

typedef struct side {
    kiln_session *session;
    int threads;
    kiln_pool *meter; /* one thread: NULL */
} side;

typedef struct server {
    kiln_guest *g;
    kiln_runner *r;
    kiln_arena arena; /* of the network */
    kiln_wire_network network;
    kiln_kernel_fn **fn;
    kiln_model *model;
    double open_ms;
    KILN_VEC(side) side;
    kiln_arena load_arena;
    kiln_load_record *load;
    uint32_t n_loads;
} server;

/* ---- opening --------------------------------------------------------------------- */

static kiln_kernel_fn *find(void *user, const char *symbol) {
    const server *s = user;
    for (uint32_t i = 0; i < s->network.n_kernels; i++)
        if (kiln_str_is(s->network.kernel[i].symbol, symbol))
            return s->fn[i];
    return NULL;
}

static kiln_status load_kernels(server *s, kiln_err *err) {
    s->fn = kiln_array(&s->arena, kiln_kernel_fn *, s->network.n_kernels);
    for (uint32_t i = 0; i < s->network.n_kernels; i++)
        KILN_TRY(
            kiln_guest_load(s->g, &s->arena, &s->network.kernel[i], &s->fn[i], err));
    return KILN_OK;
}

static kiln_status open_parts(server *s, kiln_err *err) {
    const kiln_wire_network *n = &s->network;
    kiln_model_parts parts = {.plan_bytes = n->plan.bytes,
                              .param_bytes = n->params.bytes,
                              .kernel = find,
                              .user = s};
    char text[KILN_ERROR_TEXT] = "";
    kiln_model_module *module = kiln_array(&s->arena, kiln_model_module, n->n_modules);
    for (uint32_t i = 0; i < n->n_modules; i++) {
        module[i].file = kiln_str_dupv(&s->arena, n->module[i].symbol);
        module[i].n = n->module[i].object.bytes;
        KILN_TRY(kiln_guest_bytes(s->g, n->module[i].object, &module[i].bytes, err));
    }
    KILN_TRY(load_kernels(s, err));
    KILN_TRY(kiln_guest_bytes(s->g, n->plan, &parts.plan, err));
    KILN_TRY(kiln_guest_bytes(s->g, n->params, &parts.params, err));
    const kiln_model_options o = {.module = module, .n_modules = n->n_modules};
    s->model = kiln_model_from_parts(&parts, &o, text);
    return s->model != NULL ? KILN_OK : kiln_fail(err, KILN_ERR_LIB, "%s", text);
}

static kiln_status open_folder(server *s, kiln_err *err) {
    char text[KILN_ERROR_TEXT] = "";
    const char *folder = kiln_str_dupv(&s->arena, s->network.folder);
    s->model = kiln_model_open(folder, NULL, text);
    return s->model != NULL ? KILN_OK : kiln_fail(err, KILN_ERR_LIB, "%s", text);
}

/* Confined twice: what packs parameters runs while the network is opened. A driver opens
 * files and makes code: who has one is not confined. */
static kiln_status open_network(server *s, kiln_err *err) {
    const kiln_wire_network *n = &s->network;
    if (n->driver.n == 0)
        KILN_TRY(kiln_guest_limit(s->g, n->data_limit_bytes, n->folder.n > 0, err));
    s->r->meter.of = n->meter;
    const int64_t begin = kiln_now_ns();
    KILN_TRY(n->folder.n > 0 ? open_folder(s, err) : open_parts(s, err));
    s->open_ms = (double)(kiln_now_ns() - begin) * 1e-6;
    if (n->meter.fma.n > 0)
        KILN_TRY(kiln_meter_kernels_load_peak(&s->r->meter, 1, err));
    if ((uint32_t)kiln_model_n_inputs(s->model) != n->n_inputs)
        return kiln_fail(err, KILN_ERR_ARG, "it has %d inputs, %" PRIu32 " are given",
                         kiln_model_n_inputs(s->model), n->n_inputs);
    return n->driver.n == 0 ? kiln_guest_close_in(s->g, err) : KILN_OK;
}

/* ---- sessions -------------------------------------------------------------------- */

static kiln_status failed(const kiln_session *on, kiln_err *err) {
    return kiln_fail(err, KILN_ERR_LIB, "%s", kiln_session_error(on));
}

static kiln_status set_inputs(server *s, kiln_session *on, kiln_err *err) {
    for (uint32_t i = 0; i < s->network.n_inputs; i++) {
        const void *data = NULL;
        kiln_port_info port;
        (void)kiln_model_input(s->model, (int)i, &port);
        if (port.bytes != s->network.input[i].bytes)
            return kiln_fail(err, KILN_ERR_ARG,
                             "input '%s' has %zu bytes, not %" PRIu64, port.name,
                             port.bytes, s->network.input[i].bytes);
        KILN_TRY(kiln_guest_bytes(s->g, s->network.input[i], &data, err));
        if (kiln_session_set_input(on, (int)i, data) != 0)
            return failed(on, err);
    }
    return KILN_OK;
}

/* The session comes first: its threads inherit our affinity. */
static kiln_status open_side(server *s, const kiln_wire_ask *q, kiln_wire_told *told,
                             kiln_err *err) {
    char text[KILN_ERROR_TEXT] = "";
    if (q->n == 0 || q->n > KILN_MAX_THREADS)
        return kiln_fail(err, KILN_ERR_LIMIT, "from 1 to %d threads, not %" PRIu32,
                         KILN_MAX_THREADS, q->n);
    const kiln_session_options o = {.n_threads = (int)q->n};
    side x = {.threads = (int)q->n};
    x.session = kiln_session_open(s->model, &o, text);
    if (x.session == NULL)
        return kiln_fail(err, KILN_ERR_OOM, "%s", text);
    kiln_vec_push(&s->arena, &s->side, x);
    told->bytes = kiln_session_bytes(x.session);
    return set_inputs(s, x.session, err);
}

/* Only of what drivers do: else there is nothing that could have been repeated. */
static void log_replayed(const server *s, const kiln_session *of) {
    const char *why = NULL;
    const uint64_t n = kiln_session_replayed(of, &why);
    if (s->network.driver.n > 0)
        KILN_LOG(INFO, "runner", "%" PRIu64 " launches were replayed as graphs%s%s", n,
                 why != NULL ? "; no more: " : "", why != NULL ? why : "");
}

static void close_sides(server *s, uint32_t from) {
    while (s->side.n > from) {
        const side *x = &s->side.v[--s->side.n];
        log_replayed(s, x->session);
        kiln_pool_close(x->meter);
        kiln_session_close(x->session);
    }
}

static kiln_status find_side(server *s, uint32_t number, side **out, kiln_err *err) {
    if (number >= s->side.n)
        return kiln_fail(err, KILN_ERR_ARG, "there is no session %" PRIu32, number);
    *out = &s->side.v[number];
    return KILN_OK;
}

/* ---- a turn ---------------------------------------------------------------------- */

static kiln_status take_peak(server *s, side *x, uint32_t n, kiln_peak_slice *best,
                             kiln_err *err) {
    char text[KILN_POOL_TEXT] = "";
    const kiln_pool_options o = {.n_threads = x->threads};
    if (s->network.meter.fma.n == 0)
        return kiln_fail(err, KILN_ERR_ARG, "the network came without a meter");
    KILN_TRY(kiln_meter_kernels_load_peak(&s->r->meter, x->threads, err));
    if (x->threads > 1 && x->meter == NULL && kiln_pool_open(&o, &x->meter, text) != 0)
        return kiln_fail(err, KILN_ERR_OOM, "%d threads: %s", x->threads, text);
    for (uint32_t i = 0; i < n; i++) {
        const kiln_peak_slice p = kiln_meter_kernels_slice(&s->r->meter, x->meter);
        best->gflops = fmax(best->gflops, p.gflops);
        best->clock_ghz = fmax(best->clock_ghz, p.clock_ghz);
    }
    return KILN_OK;
}

static void tell_steps(kiln_arena *a, kiln_session *on, kiln_wire_told *told) {
    const int n = kiln_session_n_steps(on);
    told->step_ns = kiln_array(a, uint64_t, n);
    told->n_steps = (uint32_t)n;
    for (int i = 0; i < n; i++) {
        kiln_step_info info;
        if (kiln_session_step(on, i, &info) == 0)
            told->step_ns[i] = info.nanoseconds;
    }
    kiln_session_profile(on, 0);
}

static kiln_status turn(server *s, kiln_arena *a, const kiln_wire_ask *q,
                        kiln_wire_told *told, kiln_err *err) {
    side *x;
    KILN_TRY(find_side(s, q->session, &x, err));
    if (q->n > 0)
        KILN_TRY(take_peak(s, x, q->n, &told->peak, err));
    for (uint32_t i = 0; i < q->n_ahead; i++)
        if (kiln_session_run(x->session) != 0)
            return failed(x->session, err);
    if (q->has_steps != 0)
        kiln_session_profile(x->session, 1); /* from zero */
    const kiln_slice_clocks begin = kiln_slice_now();
    for (uint64_t i = 0; i < q->runs; i++)
        if (kiln_session_run(x->session) != 0)
            return failed(x->session, err);
    const kiln_slice_clocks end = kiln_slice_now();
    if (!kiln_slice_is_sealed(&begin))
        return kiln_fail(err, KILN_ERR_ARG, "the record of its times was written");
    told->wall_ns = end.wall_ns - begin.wall_ns;
    /* A driver's threads, or its device, compute while this one waits. */
    told->cpu_ns = s->network.driver.n > 0 ? told->wall_ns : end.cpu_ns - begin.cpu_ns;
    told->preempted = end.preempted - begin.preempted;
    if (q->has_steps != 0)
        tell_steps(a, x->session, told);
    return KILN_OK;
}

/* ---- what came out --------------------------------------------------------------- */

static kiln_status tell(const void *data, uint64_t all, const kiln_wire_ask *q,
                        kiln_wire_told *told, kiln_err *err) {
    if (q->at > all || q->bytes > all - q->at || q->bytes > KILN_WIRE_MAX_DATA)
        return kiln_fail(err, KILN_ERR_ARG, "there are no such bytes");
    told->data = (kiln_str){(const char *)data + q->at, (size_t)q->bytes};
    return KILN_OK;
}

static kiln_status tell_output(server *s, const kiln_wire_ask *q, kiln_wire_told *told,
                               kiln_err *err) {
    side *x;
    kiln_port_info port;
    KILN_TRY(find_side(s, q->session, &x, err));
    if (q->index > INT32_MAX || kiln_model_output(s->model, (int)q->index, &port) != 0)
        return kiln_fail(err, KILN_ERR_ARG, "there is no output %" PRIu32, q->index);
    return tell(kiln_session_output(x->session, (int)q->index), port.bytes, q, told,
                err);
}

/* ---- load ------------------------------------------------------------------------ */

static kiln_status load(server *s, const kiln_wire_ask *q, kiln_wire_told *told,
                        kiln_err *err) {
    kiln_arena *a = &s->load_arena;
    kiln_arena_reset(a);
    s->n_loads = 0;
    if (q->n == 0 || q->n > s->side.n || q->session > s->side.n - q->n)
        return kiln_fail(err, KILN_ERR_ARG, "there are no such sessions");
    kiln_session **session = kiln_array(a, kiln_session *, q->n);
    for (uint32_t i = 0; i < q->n; i++)
        session[i] = s->side.v[q->session + i].session;
    s->load = kiln_array(a, kiln_load_record, q->n);
    KILN_TRY(kiln_load_do(a, session, q->n, (size_t)q->runs, q->time_ns, s->load, told,
                          err));
    s->n_loads = q->n;
    return KILN_OK;
}

/* None at all: how many there are. */
static kiln_status tell_runs(server *s, const kiln_wire_ask *q, kiln_wire_told *told,
                             kiln_err *err) {
    if (q->index >= s->n_loads)
        return kiln_fail(err, KILN_ERR_ARG, "there was no such load");
    const kiln_load_record *l = &s->load[q->index];
    told->bytes = l->n * sizeof *l->run;
    return tell(l->run, told->bytes, q, told, err);
}

/* ---- the conversation ------------------------------------------------------------ */

static kiln_status do_it(server *s, kiln_arena *a, const kiln_wire_ask *q,
                         kiln_wire_told *told, kiln_err *err) {
    switch ((kiln_wire_question)q->what) {
    case KILN_ASK_SESSION:
        return open_side(s, q, told, err);
    case KILN_ASK_CLOSE:
        close_sides(s, q->session);
        return KILN_OK;
    case KILN_ASK_TURN:
        return turn(s, a, q, told, err);
    case KILN_ASK_OUTPUT:
        return tell_output(s, q, told, err);
    case KILN_ASK_LOAD:
        return load(s, q, told, err);
    case KILN_ASK_RUNS:
        return tell_runs(s, q, told, err);
    case KILN_ASK_END:
    case KILN_ASK_STOP:
    case KILN_N_QUESTIONS:
        break;
    }
    return KILN_OK;
}

static kiln_status answer_one(server *s, kiln_arena *a, bool *goes_on, kiln_err *err) {
    kiln_wire_frame f;
    kiln_wire_ask q;
    kiln_err why = {.len = 0};
    kiln_wire_told told = {.problem = KILN_STR_LIT("")};
    KILN_TRY(kiln_wire_hear(&s->r->peer, -1, goes_on, &f, err));
    if (!*goes_on)
        return KILN_OK;
    KILN_TRY(kiln_wire_expect(a, &f, KILN_WIRE_ASK, &q, err));
    if (q.what == KILN_ASK_STOP) /* the load has ended before */
        return KILN_OK;
    *goes_on = q.what != KILN_ASK_END;
    const kiln_status st = do_it(s, a, &q, &told, &why);
    return kiln_guest_answer(s->g, a, st, &why, &told, err);
}

/* A second look at the device that the model has open. "": it has none with a driver. */
static const char *title_of(server *s) {
    const char *name = kiln_str_dupv(&s->arena, s->network.driver);
    const kiln_device_kind *kind = kiln_device_kind_named(name, NULL, 0);
    char error[KILN_ERROR_TEXT];
    kiln_allocator allocator;
    kiln_device *d = NULL;
    kiln_allocator_default(&allocator);
    if (kind == NULL || kind->title == NULL || kind->open(&allocator, &d, error) != 0)
        return name;
    const char *title = kiln_str_dup(&s->arena, kind->title(d));
    kind->close(d);
    return title;
}

static kiln_status serve(server *s, kiln_arena *request, kiln_err *err) {
    const kiln_wire_frame *f = s->g->request;
    kiln_err why = {.len = 0};
    /* Texts are views: the frame's bytes live as long as the network. */
    const kiln_wire_frame own = {
        f->kind, {kiln_arena_dup(&s->arena, f->body.p, f->body.n), f->body.n}};
    bool goes_on = true;
    KILN_TRY(kiln_wire_get(&s->arena, &own, &s->network, err));
    s->g->number = s->network.guest;
    const kiln_status st = open_network(s, &why);
    const kiln_wire_told opened = {.problem = KILN_STR_LIT(""),
                                   .open_ms = s->open_ms,
                                   .data = kiln_str_from(title_of(s))};
    KILN_TRY(kiln_guest_answer(s->g, request, st, &why, &opened, err));
    while (goes_on && st == KILN_OK) {
        KILN_TRY(answer_one(s, request, &goes_on, err));
        kiln_arena_reset(request);
    }
    return KILN_OK;
}

kiln_status kiln_network_serve(kiln_guest *g, kiln_err *err) {
    server s = {.g = g, .r = g->r};
    kiln_arena request = {0};
    /* Nothing is closed: all goes with the process, and once the end was told, shared
     * memory is the next one's. */
    return serve(&s, &request, err);
}
