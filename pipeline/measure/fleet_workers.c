/* Workers at work: what they are given and asked for, what they answer, how they are
 * lost. */
#include "pipeline/measure/measure_fleet.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { BATCH = 4, EXIT_OOM = 4 };
/* Blobs that a worker may ask for, for one candidate: all of the largest workload. */
enum { MOST_ASKED = KILN_WIRE_MAX_OPERANDS * KILN_WIRE_MAX_SEEDS * 3 };
/* What a runner may need beyond the limit that it keeps itself. */
static const int64_t grace_ms = KILN_RUN_GRACE_MS;

void kiln_worker_become_idle(kiln_measure *m, kiln_worker *w) {
    KILN_ASSERT(w->job < 0 || w->state == KILN_WORKER_BUSY, "job %d is nobody's",
                w->job);
    w->state = KILN_WORKER_IDLE;
    w->job = -1;
    w->n_failed = 0;
    w->has_been_up = true;
    w->has_given_up = false;
    w->idle_ns = kiln_now_ns();
    w->asked.n = w->asked_first = 0;
    w->asked_at = 0;
    (void)pthread_cond_broadcast(&m->changed);
}

/* ---- giving work ----------------------------------------------------------------- */

static void send_drops(kiln_measure *m, kiln_worker *w) {
    for (; w->n_dropped < m->dropped.n; w->n_dropped++) {
        const kiln_wire_drop drop = {.work = m->dropped.v[w->n_dropped]};
        if (drop.work < w->n_works) /* else it was never told of it */
            kiln_wire_put(&w->out, KILN_WIRE_DROP, &drop);
    }
}

static void send_works(kiln_measure *m, kiln_worker *w) {
    send_drops(m, w);
    for (; w->n_works < m->work.n; w->n_works++) {
        const kiln_str text = m->work.v[w->n_works].message; /* dropped: none */
        kiln_buf_add(&w->out, text.p, text.n);
    }
}

enum { DRIVER_LIMITS = 4 };

static void become_busy(kiln_worker *w, int job, int64_t limit_ms) {
    w->state = KILN_WORKER_BUSY;
    w->job = job;
    w->begin_ns = kiln_now_ns();
    w->limit_ms = limit_ms;
    w->deadline_ns = w->begin_ns + limit_ms * 1000000;
}

/* What it asks for is sent piece by piece, each once the one before it went: no more of
 * a blob lies in a buffer than that. */
static bool take_need(kiln_measure *m, kiln_worker *w, const kiln_wire_frame *f,
                      kiln_err *err) {
    const int work = m->job[w->job].out.work;
    kiln_arena scratch = {0};
    kiln_wire_need need;
    if (work < 0) {
        (void)kiln_fail(err, KILN_ERR_PARSE,
                        "it asks for a workload without having one");
        return false;
    }
    const kiln_fleet_work *of = &m->work.v[work];
    char text[KILN_WIRE_BLOB_TEXT];
    bool ok = kiln_wire_get(&scratch, f, &need, err) == KILN_OK;
    /* A worker keeps what it got for a candidate until it is done with that. */
    if (ok && w->asked.n + need.n > MOST_ASKED) {
        ok = false;
        (void)kiln_fail(err, KILN_ERR_LIMIT, "it asks for more than a workload has");
    }
    for (uint32_t i = 0; ok && i < need.n; i++) {
        const kiln_wire_blob *b = kiln_fleet_blob_find(of, &need.blob[i]);
        ok = b != NULL;
        if (ok)
            kiln_vec_push(&w->arena, &w->asked, *b);
        else
            (void)kiln_fail(err, KILN_ERR_PARSE,
                            "it asks for %s, which its workload does not have",
                            kiln_wire_blob_text(&need.blob[i], text));
    }
    w->deadline_ns = kiln_now_ns() + (int64_t)KILN_WIRE_SILENCE_MS * 1000000;
    kiln_arena_fini(&scratch);
    return ok;
}

void kiln_worker_give_piece(kiln_worker *w) {
    KILN_ASSERT(w->asked_first < w->asked.n && w->out.n == 0,
                "there is no piece to give");
    const kiln_wire_blob *b = &w->asked.v[w->asked_first];
    const uint64_t left = b->bytes - w->asked_at;
    const kiln_wire_piece piece = {
        .of = *b,
        .at = w->asked_at,
        .bytes = {(const char *)b->data + w->asked_at,
                  left < KILN_WIRE_PIECE_BYTES ? (size_t)left : KILN_WIRE_PIECE_BYTES}};
    kiln_wire_put(&w->out, KILN_WIRE_BLOB, &piece);
    w->asked_at += piece.bytes.n;
    if (w->asked_at == b->bytes) {
        w->asked_first++;
        w->asked_at = 0;
    }
    /* Its own time begins when it has all. */
    const bool was_last = w->asked_first == w->asked.n;
    const int64_t ms = (int64_t)KILN_WIRE_SILENCE_MS + (was_last ? w->limit_ms : 0);
    w->deadline_ns = kiln_now_ns() + ms * 1000000;
}

static void give_build(kiln_measure *m, kiln_worker *w) {
    const int job = kiln_queue_pop(&m->queued);
    kiln_job *j = &m->job[job];
    const kiln_wire_build q = {.id = j->out.id,
                               .work = (uint32_t)j->out.work,
                               .tmpl = kiln_str_from(j->tmpl->name),
                               .config = j->config,
                               .takes_spills = j->takes_spills};
    send_works(m, w);
    kiln_wire_put(&w->out, KILN_WIRE_BUILD, &q);
    j->state = KILN_JOB_BUILDING;
    become_busy(w, job, m->o.build_limit_ms * KILN_WIRE_WALL_LIMITS);
}

static void give_run(kiln_measure *m, kiln_worker *w) {
    const int job = kiln_fleet_take_alike(m, w);
    kiln_job *j = &m->job[job];
    j->state = KILN_JOB_RUNNING;
    /* A GPU's driver compiles first. */
    const int64_t driver_ms = m->runner_setup.driver_limit_ms * DRIVER_LIMITS;
    become_busy(w, job,
                m->o.run_limit_ms * KILN_WIRE_WALL_LIMITS + driver_ms + grace_ms);
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
    j->out.runner = w->name;
    m->stats.runs++;
    w->n_runs++;
}

/* A builder that starts compiles too: the meter's kernels. */
static bool is_building(const kiln_measure *m) {
    for (int i = m->n_runners; i < m->n_workers; i++)
        if (m->worker[i].state != KILN_WORKER_IDLE &&
            m->worker[i].state != KILN_WORKER_DOWN)
            return true;
    return false;
}

/* A runner on CPUs that builders would disturb. */
static bool is_timing_here(const kiln_measure *m) {
    for (int i = 0; i < m->n_runners; i++)
        if (m->worker[i].is_here && m->worker[i].state == KILN_WORKER_BUSY)
            return true;
    return false;
}

/* Kernels that need every CPU are timed while nobody else works, neither a builder nor
 * the caller: a few are built, then all that are built are timed, each once the caller
 * waits. That is no matter to runners elsewhere. */
static bool may_build(const kiln_measure *m) {
    if (m->queued.n == 0 ||
        m->built.n >= (size_t)KILN_FLEET_MAX_BUILT * (size_t)m->n_runners)
        return false;
    if (!m->is_exclusive)
        return true;
    return !is_timing_here(m) &&
           (m->built.n == 0 || (is_building(m) && m->built.n < BATCH));
}

static bool may_run(const kiln_measure *m, const kiln_worker *w) {
    const bool must_wait =
        m->is_exclusive && w->is_here && (is_building(m) || !m->caller_waits);
    return m->built.n > 0 && !must_wait;
}

static bool may_start(const kiln_measure *m, const kiln_worker *w) {
    if (w->state != KILN_WORKER_DOWN || kiln_now_ns() < w->retry_ns)
        return false;
    if (w->is_pooled && w->has_been_up && !kiln_fleet_has_work(m))
        return false; /* others may have it meanwhile */
    if (w->is_runner)
        return m->has_meter && !w->is_unfit && !w->is_liar;
    return !m->is_exclusive || !is_timing_here(m);
}

void kiln_fleet_dispatch(kiln_measure *m) {
    for (int i = 0; i < m->n_workers && m->failure.status == KILN_OK; i++)
        if (may_start(m, &m->worker[i]))
            kiln_worker_start(m, &m->worker[i]);
    for (int i = 0; i < m->n_runners; i++)
        kiln_worker_give_back(m, &m->worker[i]);
    for (int i = 0; i < m->n_workers; i++)
        if (m->worker[i].state == KILN_WORKER_IDLE)
            send_drops(m, &m->worker[i]);
    /* In turn: where builders are slow, one that is always free would get all. */
    const int first = m->next_runner;
    for (int k = 0; k < m->n_runners; k++) {
        const int i = (first + k) % m->n_runners;
        kiln_worker *w = &m->worker[i];
        if (w->state == KILN_WORKER_IDLE && may_run(m, w)) {
            give_run(m, w);
            m->next_runner = (i + 1) % m->n_runners;
        }
        kiln_worker_beat(m, w);
    }
    for (int i = m->n_runners; i < m->n_workers; i++)
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
    kiln_worker_become_idle(m, w);
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
static void job_lost(kiln_measure *m, const kiln_worker *w, int job, const char *text) {
    kiln_job *j = &m->job[job];
    const bool was_built = j->state == KILN_JOB_RUNNING;
    kiln_trial_error e;
    /* Turns that were taken cannot be taken again. */
    if (kiln_job_is_over(j, w, &e) || m->failure.status != KILN_OK || j->n_turns > 0) {
        kiln_job_finish(m, job, e, text);
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
    if (!kiln_worker_answer_is_plausible(m, w, j, &r, err))
        return false;
    o->slice = r.slice;
    o->n_slices = r.n_slices;
    o->n_disturbed = r.n_disturbed;
    o->n_throttled = 0;
    for (size_t i = 0; i < o->n_slices; i++)
        o->n_throttled += o->slice[i].is_throttled;
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
    m->stats.throttled += o->n_throttled;
    if (r.peak_gflops > w->peak_gflops)
        w->peak_gflops = r.peak_gflops;
    if (r.peak_gflops > m->stats.peak_gflops)
        m->stats.peak_gflops = r.peak_gflops;
    const char *text = kiln_str_dupv(&j->arena, r.text);
    kiln_worker_become_idle(m, w);
    if (r.error == KILN_TRIAL_LOST)
        job_lost(m, w, job, text);
    else
        kiln_job_finish(m, job, (kiln_trial_error)r.error, text);
    return true;
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
    if (w->is_runner) {
        bool is_pools;
        kiln_worker_heard(m, w);
        if (kiln_worker_take_pool(m, w, f, &is_pools, err) != KILN_OK)
            return false;
        if (is_pools)
            return true;
    }
    if (w->is_runner && f->kind == KILN_WIRE_LEASED && w->state != KILN_WORKER_STARTING)
        return true;
    if (w->state == KILN_WORKER_BUSY && f->kind == KILN_WIRE_NEED)
        return take_need(m, w, f, err);
    if (w->state == KILN_WORKER_STARTING || w->state == KILN_WORKER_SETTING_UP)
        return kiln_worker_take_setup(m, w, f, err) == KILN_OK;
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

static void builder_lost(kiln_measure *m, const kiln_worker *w,
                         const kiln_transport_end *how, bool was_killed,
                         bool is_timeout, const char *text) {
    const bool is_oom = (how->kind == KILN_TRANSPORT_EXIT && how->code == EXIT_OOM) ||
                        says(w, "out of memory") || says(w, "bad_alloc") ||
                        says(w, "bad alloc");
    if (is_timeout || (how->kind == KILN_TRANSPORT_SIGNAL && how->code == SIGPROF))
        kiln_job_finish(m, w->job, KILN_TRIAL_BUILD_TIMEOUT, text);
    else if (was_killed || how->kind == KILN_TRANSPORT_GONE ||
             (how->kind == KILN_TRANSPORT_SIGNAL && how->code == SIGKILL))
        job_lost(m, w, w->job, text); /* by others; or it talked nonsense */
    else
        kiln_job_finish(
            m, w->job, is_oom ? KILN_TRIAL_BUILD_MEMORY : KILN_TRIAL_BUILD_CRASH, text);
}

void kiln_worker_lost(kiln_measure *m, kiln_worker *w, const char *why,
                      bool is_timeout) {
    kiln_transport_end how;
    char text[512];
    const bool was_up = w->state == KILN_WORKER_IDLE || w->state == KILN_WORKER_BUSY;
    const kiln_status status = w->is_unfit ? KILN_ERR_UNSUPPORTED : KILN_ERR_IO;
    /* It closed its output: it is about to end, if it has not. */
    const bool ended = why == NULL;
    w->t.def->end(&w->t, ended, &how);
    const kiln_str last = last_words(w);
    (void)snprintf(text, sizeof text, "%s ended: %s%s%.*s", w->t.called,
                   why != NULL ? why : how.text, last.n > 0 ? ": " : "",
                   (int)(last.n < 300 ? last.n : 300), last.n > 0 ? last.p : "");
    KILN_LOG(INFO, "measure", "%s", text);
    const kiln_worker_state old = w->state;
    w->state = KILN_WORKER_DOWN;
    if (old == KILN_WORKER_BUSY && w->is_runner)
        job_lost(m, w, w->job, text);
    else if (old == KILN_WORKER_BUSY)
        builder_lost(m, w, &how, !ended, is_timeout, text);
    w->job = -1;
    if ((was_up || w->is_gone) && !w->is_liar)
        w->n_failed = 0;
    else
        kiln_worker_failed(m, w, status, text);
}
