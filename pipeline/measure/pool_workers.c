/* Workers' lives: started, set up, given work, lost, started again. */
#include "pipeline/measure/pool.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

enum { MAX_FAILED_STARTS = 3, MAX_LOST = 2, BATCH = 4, MAX_BUILT = 8, EXIT_OOM = 4 };
/* Greeting and set-up, which compiles two kernels; and what a runner may need beyond
 * the limit that it keeps itself. */
static const int64_t start_ms = 60000, grace_ms = 20000;

/* ---- starting -------------------------------------------------------------------- */

static void fail_pool(kiln_measure *m, const kiln_err *why) {
    m->failure = *why;
    kiln_job_queue *const waiting[] = {&m->queued, &m->built};
    for (int i = 0; i < 2; i++)
        while (waiting[i]->n > 0)
            kiln_job_finish(m, kiln_queue_pop(waiting[i]), KILN_TRIAL_LOST, why->text);
    (void)pthread_cond_broadcast(&m->changed);
}

static void start(kiln_measure *m, kiln_worker *w) {
    kiln_err err = {.len = 0};
    const kiln_cpus *cpus = w->is_runner ? &m->measuring : &m->building;
    if (kiln_child_start(m->argv[w->is_runner], m->shared_read, cpus, &w->child,
                         &err) != KILN_OK) {
        fail_pool(m, &err);
        return;
    }
    kiln_arena_reset(&w->arena);
    w->in = (kiln_wire_stream){.arena = &w->arena};
    kiln_buf_init(&w->out, &w->arena);
    w->out_at = w->n_log = 0;
    w->n_works = 0;
    w->job = -1;
    w->state = KILN_WORKER_STARTING;
    w->deadline_ns = kiln_now_ns() + start_ms * 1000000;
    *(w->is_runner ? &m->stats.runners_started : &m->stats.builders_started) += 1;
}

static bool set_up(kiln_measure *m, kiln_worker *w, const kiln_wire_hello *hello,
                   kiln_err *err) {
    if (!kiln_str_is(hello->role, w->is_runner ? "runner" : "builder")) {
        (void)kiln_fail(err, KILN_ERR_PARSE, "it is a '%.*s'",
                        KILN_STR_ARG(hello->role));
        return false;
    }
    const kiln_wire_builder builder = {.profile = m->profile_json,
                                       .data_limit_bytes = m->o.build_bytes,
                                       .time_limit_ms = m->o.build_limit_ms};
    if (w->is_runner)
        kiln_wire_put(&w->out, KILN_WIRE_RUNNER, &m->runner_setup);
    else
        kiln_wire_put(&w->out, KILN_WIRE_BUILDER, &builder);
    w->state = KILN_WORKER_SETTING_UP;
    return true;
}

/* The first builder's kernels serve all runners. */
static void keep_meter(kiln_measure *m, const kiln_wire_meter *meter) {
    if (m->has_meter)
        return;
    const kiln_profile *p = m->o.profile;
    kiln_wire_runner *r = &m->runner_setup;
    *r = (kiln_wire_runner){.meter = *meter,
                            .threads = (uint32_t)m->o.threads,
                            .cpu = m->stats.measuring_cpu,
                            .last_cache_bytes =
                                (uint64_t)(p->l3_bytes > 0 ? p->l3_bytes : p->l2_bytes),
                            .data_limit_bytes = m->o.run_bytes,
                            .time_limit_ms = m->o.run_limit_ms,
                            .precision = m->o.precision,
                            .loser = m->o.loser};
    kiln_str *const text[] = {&r->meter.fma, &r->meter.chain, &r->meter.fma_name,
                              &r->meter.chain_name};
    for (int i = 0; i < 4; i++)
        *text[i] =
            (kiln_str){kiln_arena_dup(&m->arena, text[i]->p, text[i]->n), text[i]->n};
    m->has_meter = true;
}

void kiln_worker_rest(kiln_measure *m, kiln_worker *w) {
    w->state = KILN_WORKER_IDLE;
    w->job = -1;
    w->n_failed = 0;
    (void)pthread_cond_broadcast(&m->changed);
}

/* ---- giving work ----------------------------------------------------------------- */

static void send_works(kiln_measure *m, kiln_worker *w) {
    for (; w->n_works < m->work.n; w->n_works++) {
        const kiln_str text = m->work.v[w->n_works].message;
        kiln_buf_add(&w->out, text.p, text.n);
    }
}

static void become_busy(kiln_worker *w, int job, int64_t limit_ms) {
    w->state = KILN_WORKER_BUSY;
    w->job = job;
    w->begin_ns = kiln_now_ns();
    w->deadline_ns = w->begin_ns + limit_ms * 1000000;
}

static void give_build(kiln_measure *m, kiln_worker *w) {
    const int job = kiln_queue_pop(&m->queued);
    kiln_job *j = &m->job[job];
    const kiln_wire_build q = {.id = j->out.id,
                               .work = (uint32_t)j->out.work,
                               .tmpl = kiln_str_from(j->tmpl->name),
                               .config = j->config,
                               .takes_spills = m->o.measures_spilling};
    send_works(m, w);
    kiln_wire_put(&w->out, KILN_WIRE_BUILD, &q);
    j->state = KILN_JOB_BUILDING;
    become_busy(w, job, m->o.build_limit_ms * KILN_WIRE_WALL_LIMITS);
}

static void give_run(kiln_measure *m, kiln_worker *w) {
    const int job = kiln_queue_pop(&m->built);
    kiln_job *j = &m->job[job];
    j->state = KILN_JOB_RUNNING;
    become_busy(w, job, m->o.run_limit_ms * KILN_WIRE_WALL_LIMITS + grace_ms);
    if (j->errand.n > 0) {
        kiln_buf_add(&w->out, j->errand.p, j->errand.n);
        return;
    }
    const kiln_wire_run q = {
        .id = j->out.id,
        .work = (uint32_t)j->out.work,
        .best_ns = j->never_stops_early ? 0 : m->work.v[j->out.work].best_ns,
        .budget_ms = j->budget_ms,
        .takes_turns = j->takes_turns,
        .code = j->built.code};
    send_works(m, w);
    kiln_wire_put(&w->out, KILN_WIRE_RUN, &q);
    m->stats.runs++;
}

/* A builder that starts compiles too: the meter's kernels. */
static bool is_building(const kiln_measure *m) {
    for (int i = 1; i < m->n_workers; i++)
        if (m->worker[i].state != KILN_WORKER_IDLE &&
            m->worker[i].state != KILN_WORKER_DOWN)
            return true;
    return false;
}

/* Kernels that need every CPU are timed while nobody else works, neither a builder nor
 * the caller: a few are built, then all that are built are timed, each once the caller
 * waits. */
static bool may_build(const kiln_measure *m) {
    if (m->queued.n == 0 || m->built.n >= MAX_BUILT)
        return false;
    if (!m->is_exclusive)
        return true;
    return m->worker[0].state != KILN_WORKER_BUSY &&
           (m->built.n == 0 || (is_building(m) && m->built.n < BATCH));
}

static bool may_run(const kiln_measure *m) {
    return m->built.n > 0 && !(m->is_exclusive && (is_building(m) || !m->caller_waits));
}

void kiln_pool_dispatch(kiln_measure *m) {
    m->worker[0].is_runner = true;
    for (int i = 0; i < m->n_workers && m->failure.status == KILN_OK; i++) {
        kiln_worker *w = &m->worker[i];
        const bool may_start =
            w->is_runner ? m->has_meter
                         : !m->is_exclusive || m->worker[0].state != KILN_WORKER_BUSY;
        if (w->state == KILN_WORKER_DOWN && may_start)
            start(m, w);
    }
    if (m->worker[0].state == KILN_WORKER_IDLE && may_run(m))
        give_run(m, &m->worker[0]);
    for (int i = 1; i < m->n_workers; i++)
        if (m->worker[i].state == KILN_WORKER_IDLE && may_build(m))
            give_build(m, &m->worker[i]);
}

/* ---- answers --------------------------------------------------------------------- */

static bool take_built(kiln_measure *m, kiln_worker *w, const kiln_wire_frame *f,
                       kiln_err *err) {
    kiln_job *j = &m->job[w->job];
    const int job = w->job;
    /* Texts of the message are views: its bytes live with the job. */
    const kiln_wire_frame own = {
        f->kind, {kiln_arena_dup(&j->arena, f->body.p, f->body.n), f->body.n}};
    kiln_wire_built *b = &j->built;
    kiln_measured *o = &j->out;
    if (kiln_wire_get(&j->arena, &own, b, err) != KILN_OK)
        return false;
    if (b->id != o->id) {
        (void)kiln_fail(err, KILN_ERR_PARSE, "it answered another candidate");
        return false;
    }
    o->layouts = kiln_str_dupv(&j->arena, b->layouts);
    o->facts = b->facts;
    o->code_bytes = b->code.object.n;
    o->workspace_bytes = b->code.workspace_bytes;
    o->scratch_bytes = b->code.scratch_bytes;
    o->spills = (int)b->spills;
    o->vector_registers = (int)b->vector_registers;
    o->hot_fma = (int)b->hot_fma;
    o->hot_instructions = (int)b->hot_instructions;
    o->build_ms = (double)(kiln_now_ns() - w->begin_ns) * 1e-6;
    m->stats.building_s += o->build_ms * 1e-3;
    if (m->o.keeps_objects)
        o->object = b->code.object;
    kiln_worker_rest(m, w);
    if (b->error != KILN_TRIAL_GOOD) {
        kiln_job_finish(m, job, (kiln_trial_error)b->error,
                        kiln_str_dupv(&j->arena, b->text));
        return true;
    }
    j->state = KILN_JOB_BUILT;
    kiln_queue_push(&m->built, job);
    return true;
}

/* Once more, or given up. */
static void job_lost(kiln_measure *m, int job, const char *text) {
    kiln_job *j = &m->job[job];
    const bool was_built = j->state == KILN_JOB_RUNNING;
    /* Turns that were taken cannot be taken again. */
    if (++j->n_lost >= MAX_LOST || m->failure.status != KILN_OK || j->n_turns > 0) {
        kiln_job_finish(m, job, KILN_TRIAL_LOST, text);
        return;
    }
    m->stats.retried++;
    j->awaits_turn = false;
    j->state = was_built ? KILN_JOB_BUILT : KILN_JOB_QUEUED;
    kiln_queue_push_front(was_built ? &m->built : &m->queued, job);
}

static bool take_ran(kiln_measure *m, kiln_worker *w, const kiln_wire_frame *f,
                     kiln_err *err) {
    const int job = w->job;
    kiln_job *j = &m->job[job];
    kiln_measured *o = &j->out;
    kiln_wire_ran r;
    if (kiln_wire_get(&j->arena, f, &r, err) != KILN_OK)
        return false;
    if (r.id != o->id) {
        (void)kiln_fail(err, KILN_ERR_PARSE, "it answered another candidate");
        return false;
    }
    o->slice = r.slice;
    o->n_slices = r.n_slices;
    o->n_disturbed = r.n_disturbed;
    o->n_runs = (int64_t)r.n_runs;
    o->median_ns = r.median_ns;
    o->low_ns = r.low_ns;
    o->high_ns = r.high_ns;
    o->peak_share = r.peak_share;
    o->least_flops = r.least_flops;
    o->limit_gflops = r.limit_gflops;
    o->is_noisy = r.is_noisy != 0;
    o->n_seeds = (int)r.n_seeds;
    o->worst = r.worst;
    o->max_abs = r.max_abs;
    o->n_compared = (int64_t)r.n_compared;
    o->n_elems = (int64_t)r.n_elems;
    o->run_ms = (double)(kiln_now_ns() - w->begin_ns) * 1e-6;
    m->stats.running_s += o->run_ms * 1e-3;
    m->stats.slices += r.n_slices;
    m->stats.disturbed += r.n_disturbed;
    if (r.peak_gflops > m->stats.peak_gflops)
        m->stats.peak_gflops = r.peak_gflops;
    const char *text = kiln_str_dupv(&j->arena, r.text);
    kiln_worker_rest(m, w);
    if (r.error == KILN_TRIAL_LOST)
        job_lost(m, job, text);
    else
        kiln_job_finish(m, job, (kiln_trial_error)r.error, text);
    return true;
}

/* Said once; kiln doctor says it too. */
static void note_confinement(kiln_measure *m, const kiln_wire_ready *ready) {
    m->stats.is_confined = ready->is_confined != 0;
    if (!m->stats.is_confined && m->stats.runners_started == 1)
        KILN_LOG(WARN, "measure",
                 "candidates may make any system call that this user may: %.*s",
                 KILN_STR_ARG(ready->not_confined));
}

static bool take_setup(kiln_measure *m, kiln_worker *w, const kiln_wire_frame *f,
                       kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_wire_hello hello;
    kiln_wire_meter meter;
    kiln_wire_ready ready;
    bool ok = false;
    if (w->state == KILN_WORKER_STARTING) {
        ok = kiln_wire_expect(&scratch, f, KILN_WIRE_HELLO, &hello, err) == KILN_OK &&
             set_up(m, w, &hello, err);
    } else if (w->is_runner) {
        ok = kiln_wire_expect(&scratch, f, KILN_WIRE_READY, &ready, err) == KILN_OK;
        if (ok && ready.peak_gflops > m->stats.peak_gflops)
            m->stats.peak_gflops = ready.peak_gflops;
        if (ok && ready.memory_gbs > m->stats.memory_gbs)
            m->stats.memory_gbs = ready.memory_gbs;
        if (ok)
            note_confinement(m, &ready);
    } else {
        ok = kiln_wire_expect(&scratch, f, KILN_WIRE_METER, &meter, err) == KILN_OK;
        if (ok)
            keep_meter(m, &meter);
    }
    if (ok && f->kind != KILN_WIRE_HELLO)
        kiln_worker_rest(m, w);
    kiln_arena_fini(&scratch);
    return ok;
}

bool kiln_worker_take(kiln_measure *m, kiln_worker *w, const kiln_wire_frame *f,
                      kiln_err *err) {
    KILN_ASSERT(w->state != KILN_WORKER_DOWN,
                "a worker that is not up has said something");
    if (f->kind == KILN_WIRE_FAILED) {
        kiln_wire_failed why;
        kiln_arena scratch = {0};
        if (kiln_wire_get(&scratch, f, &why, err) == KILN_OK)
            (void)kiln_fail(err, KILN_ERR_LIB, "%.*s", KILN_STR_ARG(why.text));
        kiln_arena_fini(&scratch);
        return false;
    }
    if (w->state == KILN_WORKER_STARTING || w->state == KILN_WORKER_SETTING_UP)
        return take_setup(m, w, f, err);
    if (w->state == KILN_WORKER_BUSY && !w->is_runner && f->kind == KILN_WIRE_BUILT)
        return take_built(m, w, f, err);
    if (w->state == KILN_WORKER_BUSY && w->is_runner && f->kind == KILN_WIRE_RAN)
        return take_ran(m, w, f, err);
    if (w->state == KILN_WORKER_BUSY && w->is_runner &&
        (f->kind == KILN_WIRE_TURNED || f->kind == KILN_WIRE_LIMITED))
        return kiln_turns_take(m, w, f, err);
    (void)kiln_fail(err, KILN_ERR_PARSE, "it sent '%s' unasked",
                    kiln_wire_kind_name(f->kind));
    return false;
}

/* ---- losses ---------------------------------------------------------------------- */

/* The last line of what it wrote to standard error. */
static kiln_str last_words(const kiln_worker *w) {
    kiln_str rest = kiln_str_trim((kiln_str){w->log, w->n_log}), line, last = {NULL, 0};
    while (kiln_str_cut(&rest, '\n', &line))
        last = line;
    return last;
}

static bool says(const kiln_worker *w, const char *words) {
    const size_t n = strlen(words);
    for (size_t i = 0; i + n <= w->n_log; i++)
        if (memcmp(w->log + i, words, n) == 0)
            return true;
    return false;
}

static void builder_lost(kiln_measure *m, const kiln_worker *w, int status,
                         bool was_killed, bool is_timeout, const char *text) {
    const bool is_oom = (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_OOM) ||
                        says(w, "out of memory") || says(w, "bad_alloc") ||
                        says(w, "bad alloc");
    if (is_timeout || (WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF))
        kiln_job_finish(m, w->job, KILN_TRIAL_BUILD_TIMEOUT, text);
    else if (was_killed || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL))
        job_lost(m, w->job, text); /* by others; or it talked nonsense */
    else
        kiln_job_finish(
            m, w->job, is_oom ? KILN_TRIAL_BUILD_MEMORY : KILN_TRIAL_BUILD_CRASH, text);
}

void kiln_worker_lost(kiln_measure *m, kiln_worker *w, const char *why,
                      bool is_timeout) {
    bool by_itself;
    int status;
    char text[512], how[64];
    const bool was_up = w->state == KILN_WORKER_IDLE || w->state == KILN_WORKER_BUSY;
    /* It closed its output: it is about to end, if it has not. */
    const bool ended = why == NULL;
    if (ended)
        kiln_child_wait(&w->child);
    kiln_child_end(&w->child, &by_itself, &status);
    if (WIFSIGNALED(status))
        (void)snprintf(how, sizeof how, "signal %d (%s)", WTERMSIG(status),
                       strsignal(WTERMSIG(status)));
    else
        (void)snprintf(how, sizeof how, "exit code %d", WEXITSTATUS(status));
    const kiln_str last = last_words(w);
    (void)snprintf(text, sizeof text, "the %s ended: %s%s%.*s",
                   w->is_runner ? "runner" : "builder", why != NULL ? why : how,
                   last.n > 0 ? ": " : "", (int)(last.n < 300 ? last.n : 300),
                   last.n > 0 ? last.p : "");
    KILN_LOG(INFO, "measure", "%s", text);
    const kiln_worker_state old = w->state;
    w->state = KILN_WORKER_DOWN;
    if (old == KILN_WORKER_BUSY && w->is_runner)
        job_lost(m, w->job, text);
    else if (old == KILN_WORKER_BUSY)
        builder_lost(m, w, status, !ended, is_timeout, text);
    w->job = -1;
    w->n_failed = was_up ? 0 : w->n_failed + 1;
    if (w->n_failed >= MAX_FAILED_STARTS) {
        kiln_err err = {.len = 0};
        (void)kiln_fail(&err, KILN_ERR_IO, "workers do not start: %s", text);
        fail_pool(m, &err);
    }
}
