/* The runner's conversation: lent and set up once, then workloads and candidates until
 * the fleet ends, or is not heard of any more. */
#include "pipeline/measure/runner/runner_internal.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Of blobs that are kept for later candidates. What one candidate needs is kept for it,
 * however much that is. */
static const uint64_t kept_bytes = UINT64_C(512) << 20;

/* Who is lent a runner sets it up at once. */
static const int64_t first_ms = 20000, notice_ns = 500000000;

/* ---- the lease -------------------------------------------------------------------- */

/* Any message prolongs it. */
static void heard(void *user) {
    kiln_runner *r = user;
    if (r->lease_ms == 0)
        return;
    r->lease.end_ns = kiln_now_ns() + r->lease_ms * 1000000;
    if (r->lease_fd < 0 || r->lease.end_ns - r->told_ns < notice_ns)
        return;
    r->told_ns = r->lease.end_ns;
    /* Whole or not at all: it is shorter than PIPE_BUF. */
    const ssize_t n = write(r->lease_fd, &r->lease, sizeof r->lease);
    (void)n;
}

static kiln_status take_lease(kiln_runner *r, kiln_arena *a, const kiln_wire_frame *f,
                              kiln_buf *answer, kiln_err *err) {
    kiln_wire_lease m;
    KILN_TRY(kiln_wire_get(a, f, &m, err));
    (void)snprintf(r->lease.owner, sizeof r->lease.owner, "%s",
                   kiln_str_printable(a, m.owner, KILN_LEASE_OWNER - 1));
    r->lease_ms = m.ms;
    r->told_ns = 0;
    heard(r);
    const kiln_wire_leased leased = {.ms = m.ms};
    kiln_wire_put(answer, KILN_WIRE_LEASED, &leased);
    return KILN_OK;
}

/* ---- setting up ------------------------------------------------------------------- */

static kiln_status set_up(kiln_runner *r, const kiln_wire_frame *f, kiln_buf *answer,
                          kiln_err *err) {
    KILN_TRY(kiln_wire_expect(&r->arena, f, KILN_WIRE_RUNNER, &r->options, err));
    kiln_wire_runner *o = &r->options;
    if (o->threads == 0 || o->threads > KILN_MAX_THREADS || o->time_limit_ms <= 0)
        return kiln_fail(err, KILN_ERR_ARG, "%" PRIu32 " threads, %" PRId64 " ms",
                         o->threads, o->time_limit_ms);
    const kiln_cpus own = kiln_cpus_own();
    if (o->cpu == KILN_WIRE_OWN_CPU)
        o->cpu = own.n > 1 && o->threads == 1 ? kiln_cpus_first(&own) : -1;
    if (o->device.n > 0) {
        kiln_wire_ready there;
        KILN_TRY(kiln_device_set_up(r, &r->arena, &there, err));
        kiln_wire_put(answer, KILN_WIRE_READY, &there);
        return KILN_OK;
    }
    /* Threads may have one each. */
    const uint64_t last = kiln_last_cache_bytes(o->cpu) * o->threads;
    if (last > 0 && last < o->last_cache_bytes)
        o->last_cache_bytes = last;
    KILN_TRY(kiln_meter_kernels_open(r, err));
    o->meter.fma = o->meter.chain = o->meter.fma_name = o->meter.chain_name =
        (kiln_str){NULL, 0}; /* views into the frame */
    kiln_wire_ready ready = {.fma_per_cycle = r->meter.fma_per_cycle,
                             .peak_gflops = r->meter.best_gflops,
                             .memory_gbs = r->meter.memory_gbs};
    char why[KILN_CONFINE_TEXT];
    r->is_confined = kiln_confine_works(why);
    ready.is_confined = r->is_confined;
    ready.not_confined = kiln_str_from(why);
    ready.clock_ghz = kiln_meter_kernels_slice(&r->meter, NULL).clock_ghz;
    kiln_wire_put(answer, KILN_WIRE_READY, &ready);
    return KILN_OK;
}

static kiln_status run_candidate(kiln_runner *r, kiln_arena *a,
                                 const kiln_wire_frame *f, kiln_buf *answer,
                                 kiln_err *err) {
    /* The way in is used again when blobs come. */
    const kiln_wire_frame own = {f->kind,
                                 {kiln_arena_dup(a, f->body.p, f->body.n), f->body.n}};
    const kiln_wire_work *w;
    kiln_wire_run q;
    KILN_TRY(kiln_wire_get(a, &own, &q, err));
    KILN_TRY(kiln_works_find(r, q.work, &w, err));
    kiln_wire_ran ran = {.id = q.id};
    kiln_trial_do(r, a, &q, w, &ran);
    kiln_wire_put(answer, KILN_WIRE_RAN, &ran);
    return KILN_OK;
}

/* Waits for what the caller wants next; meanwhile it may let us hear of it. */
static kiln_status hear_turn(kiln_runner *r, kiln_arena *a, kiln_wire_turn *next,
                             kiln_err *err) {
    for (;;) {
        bool goes_on;
        kiln_wire_frame f;
        kiln_buf leased;
        KILN_TRY(kiln_wire_hear(&r->peer, r->lease_ms, &goes_on, &f, err));
        if (!goes_on)
            return kiln_fail(err, KILN_ERR_IO, "nobody asks any more");
        if (f.kind != KILN_WIRE_LEASE)
            return kiln_wire_expect(a, &f, KILN_WIRE_TURN, next, err);
        kiln_buf_init(&leased, a);
        KILN_TRY(take_lease(r, a, &f, &leased, err));
        KILN_TRY(kiln_wire_write(r->peer.out, kiln_buf_str(&leased), err));
    }
}

static kiln_status next_turn(kiln_runner *r, kiln_arena *a, uint64_t id,
                             const kiln_turn *done, kiln_wire_turn *next,
                             kiln_err *err) {
    const kiln_wire_turned turned = {.id = id, .turn = *done};
    kiln_buf answer;
    kiln_buf_init(&answer, a);
    kiln_wire_put(&answer, KILN_WIRE_TURNED, &turned);
    KILN_TRY(kiln_wire_write(r->peer.out, kiln_buf_str(&answer), err));
    return hear_turn(r, a, next, err);
}

bool kiln_runner_next_turn(kiln_runner *r, uint64_t id, const kiln_turn *done,
                           kiln_wire_turn *next) {
    kiln_arena scratch = {0};
    const kiln_status st = next_turn(r, &scratch, id, done, next, NULL);
    kiln_arena_fini(&scratch);
    return st == KILN_OK && next->id == id && next->is_last == 0;
}

static kiln_status answer_limits(kiln_runner *r, kiln_arena *a,
                                 const kiln_wire_frame *f, kiln_buf *answer,
                                 kiln_err *err) {
    kiln_wire_limits q;
    kiln_wire_limited limited;
    KILN_TRY(kiln_wire_get(a, f, &q, err));
    kiln_limits_measure(r, a, &q, &limited);
    kiln_wire_put(answer, KILN_WIRE_LIMITED, &limited);
    return KILN_OK;
}

static kiln_status answer(kiln_runner *r, kiln_arena *a, const kiln_wire_frame *f,
                          bool *is_set_up, kiln_buf *out, kiln_err *err) {
    if (f->kind == KILN_WIRE_LEASE)
        return take_lease(r, a, f, out, err);
    if (r->lease_ms == 0)
        return kiln_fail(err, KILN_ERR_PARSE, "a runner that is not lent takes no '%s'",
                         kiln_wire_kind_name(f->kind));
    if (f->kind == KILN_WIRE_NETWORK)
        return kiln_hosted_open(r, a, f, err);
    if (f->kind == KILN_WIRE_ASK)
        return kiln_hosted_ask(r, a, f, out, err);
    if (!*is_set_up) {
        *is_set_up = true;
        return set_up(r, f, out, err);
    }
    if (f->kind == KILN_WIRE_WORK)
        return kiln_works_take(r, f, err);
    if (f->kind == KILN_WIRE_DROP)
        return kiln_works_drop(r, f, err);
    /* What a candidate leaves is found by whose child it is. */
    if (f->kind == KILN_WIRE_RUN && r->n_hosted == 0)
        return run_candidate(r, a, f, out, err);
    if (f->kind == KILN_WIRE_LIMITS)
        return answer_limits(r, a, f, out, err);
    return kiln_fail(err, KILN_ERR_PARSE, "a runner takes no '%s' now",
                     kiln_wire_kind_name(f->kind));
}

static kiln_status answer_one(kiln_runner *r, kiln_arena *a, bool *is_set_up,
                              bool *goes_on, kiln_err *err) {
    kiln_wire_frame f;
    kiln_buf out;
    kiln_buf_init(&out, a);
    const int64_t wait_ms = r->lease_ms > 0 ? r->lease_ms : first_ms;
    kiln_status st = kiln_hosted_wait(r, wait_ms, err);
    if (st == KILN_OK)
        st = kiln_wire_hear(&r->peer, wait_ms, goes_on, &f, err);
    if (st != KILN_OK) {
        kiln_note(err, "waiting for who the runner is lent to");
        return st;
    }
    if (!*goes_on)
        return KILN_OK;
    const bool is_guest = f.kind == KILN_WIRE_NETWORK || f.kind == KILN_WIRE_PACKS;
    if (is_guest && r->lease_ms == 0 && r->lease_fd < 0) {
        *goes_on = false; /* a child of who asks, which is lent to nobody else */
        return kiln_guests_serve(r, &f, err);
    }
    KILN_TRY(answer(r, a, &f, is_set_up, &out, err));
    return kiln_wire_write(r->peer.out, kiln_buf_str(&out), err);
}

static kiln_status talk(kiln_runner *r, kiln_arena *request, kiln_err *err) {
    kiln_region page;
    bool goes_on = true, is_set_up = false;
    kiln_buf hello;
    const kiln_wire_hello who = {.role = KILN_STR_LIT("runner"),
                                 .machine = kiln_str_from(r->machine)};
    kiln_buf_init(&hello, request);
    KILN_TRY(kiln_region_open(sizeof(kiln_page), true, &page, err));
    r->page = (kiln_page *)(void *)page.data;
    kiln_wire_put(&hello, KILN_WIRE_HELLO, &who);
    KILN_TRY(kiln_wire_write(r->peer.out, kiln_buf_str(&hello), err));
    while (goes_on) {
        KILN_TRY(answer_one(r, request, &is_set_up, &goes_on, err));
        kiln_arena_reset(request);
    }
    return KILN_OK;
}

int kiln_runner_talk(int in, int out, int lease_fd, const char *machine) {
    kiln_runner r = {.peer = {.in = in, .out = out, .heard = heard},
                     .lease_fd = lease_fd,
                     .machine = machine};
    kiln_arena request = {0};
    kiln_err err = {.len = 0};
    sigset_t chld;
    sigemptyset(&chld);
    sigaddset(&chld, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &chld, NULL);
    kiln_trial_own_strays();
    r.peer.user = &r;
    r.peer.stream.arena = &r.arena;
    kiln_blobs_init(&r.blobs, &r.arena, kept_bytes);
    const kiln_status st = talk(&r, &request, &err);
    if (st != KILN_OK) {
        kiln_buf last;
        const kiln_wire_failed why = {.text = kiln_str_from(err.text)};
        kiln_buf_init(&last, &request);
        kiln_wire_put(&last, KILN_WIRE_FAILED, &why);
        (void)kiln_wire_write(r.peer.out, kiln_buf_str(&last), NULL);
    }
    kiln_device_end(&r);
    kiln_arena_fini(&request);
    kiln_blobs_fini(&r.blobs);
    for (size_t i = 0; i < r.work.n; i++)
        kiln_arena_fini(&r.work.v[i].arena);
    kiln_arena_fini(&r.arena);
    return st == KILN_OK ? 0 : 5;
}

int kiln_runner_main(int argc, char *const *argv, const char *machine) {
    if (argc == 1)
        return kiln_runner_talk(STDIN_FILENO, STDOUT_FILENO, -1, machine);
    const char *serve = NULL, *pool = NULL, *name = NULL;
    bool is_known = argc % 2 == 1;
    for (int i = 1; i + 1 < argc; i += 2) {
        const char **to = strcmp(argv[i], "--serve") == 0  ? &serve
                          : strcmp(argv[i], "--pool") == 0 ? &pool
                          : strcmp(argv[i], "--name") == 0 ? &name
                                                           : NULL;
        is_known = is_known && to != NULL;
        if (to != NULL)
            *to = argv[i + 1];
    }
    if (is_known && serve != NULL)
        return kiln_runner_listen(serve, pool, name, machine);
    (void)fprintf(stderr, "usage: kiln-runner [--serve ADDRESS [--pool ADDRESS [--name "
                          "NAME]]]\nan ADDRESS is unix:PATH or tcp:127.0.0.1:PORT\n");
    return 2;
}
