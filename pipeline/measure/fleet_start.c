/* How workers come up: started or connected to, greeted, lent, set up; and what becomes
 * of those that do not. */
#include "pipeline/measure/measure_fleet.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MAX_FAILED_STARTS = 3, MOST_TITLE = 256 };
/* Greeting and set-up, which compiles two kernels. */
static const int64_t start_ms = 60000;
/* A runner that is far is waited for so long, whatever is the matter with it, and tried
 * every so often: it may have been started again. */
static const int64_t patience_ns = 10 * INT64_C(1000000000);
static const int64_t pool_beat_ms = 20000; /* a pool takes back what nobody speaks to */
static const int64_t pool_patience_ns = 60 * INT64_C(1000000000);
static const int64_t first_retry_ns = 100 * INT64_C(1000000), /* then twice that, ... */
    last_retry_ns = 5 * INT64_C(1000000000);

/* ---- failing ---------------------------------------------------------------------- */

void kiln_fleet_fail(kiln_measure *m, const kiln_err *why) {
    m->failure = *why;
    kiln_job_queue *const waiting[] = {&m->queued, &m->built};
    for (int i = 0; i < 2; i++)
        while (waiting[i]->n > 0)
            kiln_job_finish(m, kiln_queue_pop(waiting[i]), KILN_TRIAL_LOST, why->text);
    (void)pthread_cond_broadcast(&m->changed);
}

/* No runner is left that anybody waits for. */
static bool have_all_given_up(const kiln_measure *m) {
    for (int i = 0; i < m->n_runners; i++)
        if (!m->worker[i].has_given_up)
            return false;
    return true;
}

static void far_failed(kiln_measure *m, kiln_worker *w, kiln_status status,
                       const char *text) {
    const int64_t now = kiln_now_ns();
    const int doublings = w->n_failed < 6 ? w->n_failed : 6;
    const int64_t pause = first_retry_ns << doublings;
    if (w->n_failed++ == 0)
        w->failed_ns = now;
    w->retry_ns = now + (pause < last_retry_ns ? pause : last_retry_ns);
    w->has_given_up =
        w->has_given_up || w->is_hopeless ||
        now - w->failed_ns > (w->is_pooled ? pool_patience_ns : patience_ns);
    (void)pthread_cond_broadcast(&m->changed);
    if (m->failure.status != KILN_OK || !have_all_given_up(m))
        return;
    kiln_err err = {.len = 0};
    (void)kiln_fail(&err, status, "no runner is left: %s", text);
    kiln_fleet_fail(m, &err);
}

void kiln_worker_failed(kiln_measure *m, kiln_worker *w, kiln_status status,
                        const char *text) {
    if (w->t.def->is_far) {
        far_failed(m, w, status, text);
        return;
    }
    if (++w->n_failed < MAX_FAILED_STARTS && !w->is_hopeless)
        return;
    kiln_err err = {.len = 0};
    (void)kiln_fail(&err, status, "workers do not start: %s", text);
    kiln_fleet_fail(m, &err);
}

/* ---- starting --------------------------------------------------------------------- */

void kiln_worker_start(kiln_measure *m, kiln_worker *w) {
    kiln_err err = {.len = 0};
    if (w->t.def->open(&w->t, &err) != KILN_OK) {
        if (w->t.def->is_far)
            kiln_worker_failed(m, w, err.status, err.text);
        else
            kiln_fleet_fail(m, &err);
        return;
    }
    kiln_arena_reset(&w->arena);
    w->in = (kiln_wire_stream){.arena = &w->arena};
    kiln_buf_init(&w->out, &w->arena);
    w->out_at = w->n_log = 0;
    w->n_works = 0;
    w->n_dropped = m->dropped.n;
    w->asked.v = NULL; /* its arena was reset */
    w->asked.n = w->asked.cap = w->asked_first = 0;
    w->asked_at = 0;
    w->job = -1;
    w->is_hopeless = w->is_queued = w->is_recalled = w->is_gone = w->is_hung = false;
    w->state = KILN_WORKER_STARTING;
    w->deadline_ns = kiln_now_ns() + start_ms * 1000000;
    *(w->is_runner ? &m->stats.runners_started : &m->stats.builders_started) += 1;
}

static void put_lease(kiln_measure *m, kiln_worker *w) {
    const kiln_wire_lease lease = {.owner = kiln_str_from(m->owner), .ms = m->lease_ms};
    kiln_wire_put(&w->out, KILN_WIRE_LEASE, &lease);
    const int64_t ms = m->lease_ms / 4;
    w->beat_ns = kiln_now_ns() +
                 (w->is_pooled && ms > pool_beat_ms ? pool_beat_ms : ms) * 1000000;
}

void kiln_worker_beat(kiln_measure *m, kiln_worker *w) {
    const bool waits = w->state == KILN_WORKER_IDLE ||
                       (w->state == KILN_WORKER_BUSY && m->job[w->job].awaits_turn);
    if (w->is_runner && waits && kiln_now_ns() >= w->beat_ns)
        put_lease(m, w);
}

void kiln_worker_heard(kiln_measure *m, kiln_worker *w) {
    w->lease_end_ns = kiln_now_ns() + m->lease_ms * 1000000;
}

static kiln_status greet(kiln_measure *m, kiln_worker *w, const kiln_wire_hello *hello,
                         kiln_err *err) {
    if (w->t.def->is_far && kiln_str_is(hello->role, "pool"))
        return kiln_worker_ask_pool(m, w, err);
    if (!kiln_str_is(hello->role, w->is_runner ? "runner" : "builder"))
        return kiln_fail(err, KILN_ERR_PARSE, "it is a '%.*s'",
                         KILN_STR_ARG(hello->role));
    if (w->is_runner) {
        /* Whether there is a GPU, it says when it is set up. */
        const kiln_status st =
            kiln_profile_is_gpu(m->o.profile)
                ? KILN_OK
                : kiln_profile_fits_machine(m->o.profile, m->o.threads, hello->machine,
                                            err);
        w->is_unfit = st == KILN_ERR_UNSUPPORTED;
        w->is_hopeless = st != KILN_OK;
        if (st != KILN_OK)
            return st;
        kiln_wire_runner setup = m->runner_setup;
        setup.cpu = w->cpu;
        put_lease(m, w);
        kiln_wire_put(&w->out, KILN_WIRE_RUNNER, &setup);
    } else {
        const kiln_wire_builder setup = {.profile = m->profile_json,
                                         .data_limit_bytes = m->o.build_bytes,
                                         .time_limit_ms = m->o.build_limit_ms};
        kiln_wire_put(&w->out, KILN_WIRE_BUILDER, &setup);
    }
    w->state = KILN_WORKER_SETTING_UP;
    return KILN_OK;
}

/* The first builder's kernels serve all runners. */
static void keep_meter(kiln_measure *m, const kiln_wire_meter *meter) {
    if (m->has_meter)
        return;
    const kiln_profile *p = m->o.profile;
    kiln_wire_runner *r = &m->runner_setup;
    *r = (kiln_wire_runner){.meter = *meter,
                            .threads = (uint32_t)m->o.threads,
                            .last_cache_bytes =
                                (uint64_t)(p->l3_bytes > 0 ? p->l3_bytes : p->l2_bytes),
                            .data_limit_bytes = m->o.run_bytes,
                            .time_limit_ms = m->o.run_limit_ms,
                            .precision = m->o.precision,
                            .loser = m->o.loser};
    if (kiln_profile_is_gpu(p)) {
        const kiln_gpu *g = &p->gpu;
        r->device = kiln_str_from(kiln_arch_of(p->arch)->device);
        r->device_gflops = g->peak_gflops;
        r->device_gbs = g->memory_gbs;
        r->driver_limit_ms = m->o.build_limit_ms;
        r->last_cache_bytes = (uint64_t)g->l2_kib << 10;
    }
    kiln_str *const text[] = {&r->meter.fma, &r->meter.chain, &r->meter.fma_name,
                              &r->meter.chain_name};
    for (int i = 0; i < 4; i++)
        *text[i] =
            (kiln_str){kiln_arena_dup(&m->arena, text[i]->p, text[i]->n), text[i]->n};
    m->has_meter = true;
}

/* Whether candidates are confined is said once; kiln doctor says it too. */
static void take_ready(kiln_measure *m, kiln_worker *w, const kiln_wire_ready *ready) {
    const bool is_confined = ready->is_confined != 0;
    if (m->stats.device[0] == '\0' && ready->device.n > 0)
        m->stats.device = kiln_str_printable(&m->arena, ready->device, MOST_TITLE);
    if (!is_confined && (m->stats.is_confined || !m->has_runner))
        KILN_LOG(WARN, "measure",
                 "candidates of %s may make any system call that its user may: %.*s",
                 w->t.called, KILN_STR_ARG(ready->not_confined));
    m->stats.is_confined = is_confined && (m->stats.is_confined || !m->has_runner);
    m->has_runner = true;
    w->peak_gflops = ready->peak_gflops;
    w->memory_gbs = ready->memory_gbs;
    if (ready->peak_gflops > m->stats.peak_gflops)
        m->stats.peak_gflops = ready->peak_gflops;
    if (ready->memory_gbs > m->stats.memory_gbs)
        m->stats.memory_gbs = ready->memory_gbs;
    if (w->t.def->is_far)
        KILN_LOG(INFO, "measure", "%s is lent to us", w->t.called);
}

/* Somebody else's. Who had it once waits for it a while; else it is not worth that. */
static kiln_status take_lent(kiln_worker *w, const kiln_wire_lent *lent,
                             kiln_err *err) {
    w->is_hopeless = !w->has_been_up;
    return kiln_wire_refuse_lent(lent, err);
}

static kiln_status take_greeting(kiln_measure *m, kiln_worker *w, kiln_arena *a,
                                 const kiln_wire_frame *f, kiln_err *err) {
    kiln_wire_hello hello;
    kiln_wire_lent lent;
    if (w->is_runner && f->kind == KILN_WIRE_LENT) {
        KILN_TRY(kiln_wire_get(a, f, &lent, err));
        return take_lent(w, &lent, err);
    }
    KILN_TRY(kiln_wire_expect(a, f, KILN_WIRE_HELLO, &hello, err));
    return greet(m, w, &hello, err);
}

static kiln_status take_answer(kiln_measure *m, kiln_worker *w, kiln_arena *a,
                               const kiln_wire_frame *f, kiln_err *err) {
    kiln_wire_meter meter;
    kiln_wire_ready ready;
    if (w->is_runner) {
        KILN_TRY(kiln_wire_expect(a, f, KILN_WIRE_READY, &ready, err));
        if (kiln_profile_is_gpu(m->o.profile) && ready.device.n == 0) {
            w->is_hopeless = w->is_unfit = true;
            return kiln_fail(err, KILN_ERR_UNSUPPORTED, "profile '%s': %.*s",
                             m->o.profile->name, KILN_STR_ARG(ready.not_confined));
        }
        if (!kiln_worker_is_plausible(m, w, ready.peak_gflops, err))
            return err->status;
        take_ready(m, w, &ready);
    } else {
        KILN_TRY(kiln_wire_expect(a, f, KILN_WIRE_METER, &meter, err));
        keep_meter(m, &meter);
    }
    kiln_worker_become_idle(m, w);
    return KILN_OK;
}

kiln_status kiln_worker_take_setup(kiln_measure *m, kiln_worker *w,
                                   const kiln_wire_frame *f, kiln_err *err) {
    kiln_arena scratch = {0};
    KILN_ASSERT(w->state == KILN_WORKER_STARTING || w->state == KILN_WORKER_SETTING_UP,
                "a worker is set up once");
    const kiln_status st = w->state == KILN_WORKER_STARTING
                               ? take_greeting(m, w, &scratch, f, err)
                               : take_answer(m, w, &scratch, f, err);
    kiln_arena_fini(&scratch);
    return st;
}
