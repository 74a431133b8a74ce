/* Candidates that take turns, and questions about the machine: the caller waits for an
 * answer of the runner, which the fleet's thread moves. */
#include "pipeline/measure/measure_fleet.h"

#include <errno.h>

/* Has somebody interrupted? A turn that is nearly over may end. */
enum { LOOK_MS = 100, LOOKS = 20 };

/* ---- the caller's side ----------------------------------------------------------- */

/* NULL: it is finished, and was polled. */
static kiln_job *job_of(kiln_measure *m, uint64_t id) {
    for (int i = 0; i < KILN_MAX_JOBS; i++)
        if (m->job[i].state != KILN_JOB_FREE && m->job[i].out.id == id)
            return &m->job[i];
    return NULL;
}

static kiln_worker *worker_of(kiln_measure *m, const kiln_job *j) {
    for (int i = 0; i < m->n_workers; i++) {
        kiln_worker *w = &m->worker[i];
        if (w->is_runner && w->state == KILN_WORKER_BUSY && &m->job[w->job] == j)
            return w;
    }
    return NULL;
}

static bool is_over(const kiln_job *j) {
    return j == NULL || j->state == KILN_JOB_FINISHED || j->state == KILN_JOB_TAKEN;
}

/* Until the clock says so, or the job is where it was to come. */
static void wait_for(kiln_measure *m, const kiln_job *j, int64_t timeout_ms) {
    const struct timespec end = kiln_fleet_after(timeout_ms > 0 ? timeout_ms : 0);
    while (!is_over(j) && !j->awaits_turn)
        if (pthread_cond_timedwait(&m->changed, &m->lock, &end) == ETIMEDOUT)
            return;
}

/* As in poll: kernels that need every CPU are timed while the caller waits. */
static void begin_waiting(kiln_measure *m) {
    m->caller_waits = true;
    kiln_fleet_wake(m);
}

kiln_turns_state kiln_measure_await_turns(kiln_measure *m, uint64_t id,
                                          int64_t timeout_ms) {
    pthread_mutex_lock(&m->lock);
    const kiln_job *j = job_of(m, id);
    begin_waiting(m);
    wait_for(m, j, timeout_ms);
    m->caller_waits = false;
    const kiln_turns_state state = is_over(j)       ? KILN_TURNS_OVER
                                   : j->awaits_turn ? KILN_TURNS_READY
                                                    : KILN_TURNS_NOT_YET;
    pthread_mutex_unlock(&m->lock);
    return state;
}

static bool ask(kiln_measure *m, kiln_job *j, const kiln_wire_turn *q) {
    kiln_worker *w = j != NULL && j->awaits_turn ? worker_of(m, j) : NULL;
    if (w == NULL)
        return false;
    j->awaits_turn = false;
    j->n_turns++;
    kiln_wire_put(&w->out, KILN_WIRE_TURN, q);
    w->deadline_ns =
        kiln_now_ns() + m->o.run_limit_ms * KILN_WIRE_WALL_LIMITS * 1000000;
    kiln_fleet_wake(m);
    return true;
}

bool kiln_measure_take_turn(kiln_measure *m, uint64_t id, const kiln_turn_order *o,
                            kiln_turn *out) {
    const kiln_wire_turn q = {.id = id,
                              .has_peak = o->has_peak,
                              .n_ahead = (uint32_t)o->n_ahead,
                              .has_slice = o->has_slice};
    bool is_done = false;
    pthread_mutex_lock(&m->lock);
    kiln_job *j = job_of(m, id);
    if (ask(m, j, &q)) {
        for (int looks = 0; !is_over(j) && !j->awaits_turn && looks < LOOKS;) {
            wait_for(m, j, LOOK_MS);
            looks += kiln_interrupted();
        }
        is_done = !is_over(j) && j->awaits_turn;
        *out = j->turn;
    }
    pthread_mutex_unlock(&m->lock);
    return is_done;
}

void kiln_measure_end_turns(kiln_measure *m, uint64_t id) {
    const kiln_wire_turn q = {.id = id, .is_last = true};
    pthread_mutex_lock(&m->lock);
    (void)ask(m, job_of(m, id), &q);
    pthread_mutex_unlock(&m->lock);
}

/* ---- limits ---------------------------------------------------------------------- */

static kiln_status conclude(const kiln_job *j, kiln_measure_limits *out,
                            kiln_err *err) {
    const kiln_wire_limited *l = &j->limited;
    if (j->state != KILN_JOB_FINISHED)
        return kiln_fail(err, KILN_ERR_INTERRUPTED, "interrupted");
    if (j->out.error != KILN_TRIAL_GOOD)
        return kiln_fail(err, KILN_ERR_LIB, "%s", j->out.text);
    if (l->problem.n > 0)
        return kiln_fail(err, KILN_ERR_LIB, "%.*s", KILN_STR_ARG(l->problem));
    *out = (kiln_measure_limits){.peak = l->peak};
    for (uint32_t i = 0; i < l->n_levels; i++)
        out->gbs[i] = l->gbs[i];
    return KILN_OK;
}

/* It never was in a queue of candidates; one that is still on its way stays a job. */
static kiln_status ask_limits(kiln_measure *m, const kiln_wire_limits *q,
                              kiln_measure_limits *out, kiln_err *err) {
    const int i = kiln_job_free(m);
    kiln_job *j = &m->job[i];
    kiln_buf frame;
    *j = (kiln_job){.arena = j->arena,
                    .state = KILN_JOB_BUILT,
                    .out = {.work = -1, .text = "", .layouts = ""}};
    kiln_buf_init(&frame, &j->arena);
    kiln_wire_put(&frame, KILN_WIRE_LIMITS, q);
    j->errand = kiln_buf_str(&frame);
    kiln_queue_push(&m->built, i);
    begin_waiting(m);
    while (!is_over(j) && !kiln_interrupted())
        wait_for(m, j, LOOK_MS);
    m->caller_waits = false;
    const kiln_status st = conclude(j, out, err);
    if (j->state == KILN_JOB_FINISHED) {
        kiln_arena_fini(&j->arena);
        j->state = KILN_JOB_FREE;
    }
    if (st != KILN_OK && st != KILN_ERR_INTERRUPTED)
        kiln_note(err, "measuring what this machine can do");
    return st;
}

kiln_status kiln_measure_ask_limits(kiln_measure *m, const kiln_wire_limits *q,
                                    kiln_measure_limits *out, kiln_err *err) {
    kiln_status st = KILN_OK;
    pthread_mutex_lock(&m->lock);
    if (m->failure.status != KILN_OK)
        *err = m->failure;
    st = m->failure.status;
    if (st == KILN_OK)
        st = ask_limits(m, q, out, err);
    pthread_mutex_unlock(&m->lock);
    return st;
}

/* ---- the fleet's side ------------------------------------------------------------- */

static bool take_turned(kiln_measure *m, kiln_worker *w, const kiln_wire_frame *f,
                        kiln_err *err) {
    kiln_job *j = &m->job[w->job];
    kiln_wire_turned turned;
    if (kiln_wire_get(&j->arena, f, &turned, err) != KILN_OK)
        return false;
    if (turned.id != j->out.id || !j->takes_turns || j->awaits_turn) {
        (void)kiln_fail(err, KILN_ERR_PARSE, "it took a turn unasked");
        return false;
    }
    j->turn = turned.turn;
    j->awaits_turn = true;
    w->deadline_ns = INT64_MAX; /* now it waits for the caller */
    (void)pthread_cond_broadcast(&m->changed);
    return true;
}

static bool take_limited(kiln_measure *m, kiln_worker *w, const kiln_wire_frame *f,
                         kiln_err *err) {
    const int job = w->job;
    kiln_job *j = &m->job[job];
    if (j->errand.n == 0) {
        (void)kiln_fail(err, KILN_ERR_PARSE, "it told limits unasked");
        return false;
    }
    if (kiln_wire_get(&j->arena, f, &j->limited, err) != KILN_OK)
        return false;
    j->limited.problem =
        kiln_str_from(kiln_str_dupv(&j->arena, j->limited.problem)); /* was a view */
    kiln_worker_become_idle(m, w);
    kiln_job_finish(m, job, KILN_TRIAL_GOOD, "");
    return true;
}

bool kiln_turns_take(kiln_measure *m, kiln_worker *w, const kiln_wire_frame *f,
                     kiln_err *err) {
    return f->kind == KILN_WIRE_TURNED ? take_turned(m, w, f, err)
                                       : take_limited(m, w, f, err);
}
