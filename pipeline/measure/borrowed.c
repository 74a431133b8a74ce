/* Runners that a pool lends (kiln device pool): asked for, given back, lost. All else
 * goes through it as if they were connected to. */
#include "pipeline/measure/measure_fleet.h"

#include <inttypes.h>
#include <string.h>

enum { MAX_LOST = 2, MAX_LOST_POOLED = 6, MAX_HUNG = 2 };
/* A pool says every few seconds that it is there. */
static const int64_t silence_ns = 60 * INT64_C(1000000000);
/* Longer than a tuner thinks between two batches. */
static const int64_t unused_ns = 10 * INT64_C(1000000000);

kiln_status kiln_worker_ask_pool(kiln_measure *m, kiln_worker *w, kiln_err *err) {
    const int priority = m->o.priority > 0 ? m->o.priority : KILN_WIRE_PRIORITY;
    const kiln_wire_borrow want = {.owner = kiln_str_from(m->owner),
                                   .profile = m->profile_json,
                                   .threads = (uint32_t)m->o.threads,
                                   .priority = (uint32_t)priority};
    if (w->is_queued)
        return kiln_fail(err, KILN_ERR_PARSE, "a pool lends a pool");
    w->is_pooled = w->is_queued = true;
    w->deadline_ns = kiln_now_ns() + silence_ns;
    kiln_wire_put(&w->out, KILN_WIRE_BORROW, &want);
    return KILN_OK;
}

bool kiln_fleet_has_work(const kiln_measure *m) { return m->n_pending > m->finished.n; }

void kiln_worker_give_back(const kiln_measure *m, kiln_worker *w) {
    kiln_transport_end how;
    const bool is_unused =
        !kiln_fleet_has_work(m) && kiln_now_ns() - w->idle_ns > unused_ns;
    if (!w->is_pooled || w->state != KILN_WORKER_IDLE || !(w->is_recalled || is_unused))
        return;
    w->t.def->end(&w->t, false, &how);
    w->state = KILN_WORKER_DOWN;
    w->is_recalled = false;
    w->retry_ns = 0;
}

/* Results name it, as long as the fleet lives: each name is kept once. */
static const char *keep_name(kiln_measure *m, kiln_str name) {
    for (size_t i = 0; i < m->lender.n; i++)
        if (kiln_str_is(name, m->lender.v[i]))
            return m->lender.v[i];
    if (m->lender.n == KILN_MAX_WORKERS) /* one that makes up names does not fill us */
        return "a device of a pool";
    const char *own = kiln_str_printable(&m->arena, name, 100);
    kiln_vec_push(&m->arena, &m->lender, own);
    return own;
}

static kiln_status take_queued(kiln_measure *m, kiln_worker *w, kiln_arena *a,
                               const kiln_wire_frame *f, kiln_err *err) {
    kiln_wire_queued q;
    KILN_TRY(kiln_wire_get(a, f, &q, err));
    if (q.n_fit == 0 && !m->has_said_unfit) {
        KILN_LOG(WARN, "measure", "no device of the pool at %s is fit for profile '%s'",
                 w->t.address, m->o.profile->name);
        m->has_said_unfit = true;
    }
    w->deadline_ns = kiln_now_ns() + silence_ns;
    (void)pthread_cond_broadcast(&m->changed);
    return KILN_OK;
}

static kiln_status take(kiln_measure *m, kiln_worker *w, kiln_arena *a,
                        const kiln_wire_frame *f, kiln_err *err) {
    kiln_wire_granted granted;
    kiln_wire_gone gone;
    if (f->kind == KILN_WIRE_QUEUED && w->is_queued)
        return take_queued(m, w, a, f, err);
    if (f->kind == KILN_WIRE_GRANTED && w->is_queued) {
        KILN_TRY(kiln_wire_get(a, f, &granted, err));
        w->is_queued = false;
        w->deadline_ns = kiln_now_ns() + silence_ns;
        w->name = keep_name(m, granted.device);
        return KILN_OK;
    }
    if (f->kind == KILN_WIRE_GONE) {
        KILN_TRY(kiln_wire_get(a, f, &gone, err));
        w->is_gone = true;
        w->is_hung = gone.is_hung != 0;
        return kiln_fail(err, KILN_ERR_IO, "'%s', of which its pool says: %.*s",
                         w->name, KILN_STR_ARG(gone.text));
    }
    if (f->kind == KILN_WIRE_RECALL && !w->is_queued) {
        w->is_recalled = true;
        return KILN_OK;
    }
    return kiln_fail(err, KILN_ERR_PARSE, "it sent '%s' unasked",
                     kiln_wire_kind_name(f->kind));
}

kiln_status kiln_worker_take_pool(kiln_measure *m, kiln_worker *w,
                                  const kiln_wire_frame *f, bool *is_one,
                                  kiln_err *err) {
    kiln_arena scratch = {0};
    *is_one =
        w->is_pooled && (f->kind == KILN_WIRE_QUEUED || f->kind == KILN_WIRE_GRANTED ||
                         f->kind == KILN_WIRE_RECALL || f->kind == KILN_WIRE_GONE);
    if (!*is_one)
        return KILN_OK;
    const kiln_status st = take(m, w, &scratch, f, err);
    kiln_arena_fini(&scratch);
    return st;
}

bool kiln_job_is_over(kiln_job *j, const kiln_worker *w, kiln_trial_error *e) {
    const bool hung = w->is_pooled && w->is_gone && w->is_hung;
    /* A pool's devices come and go, and others of them are there. */
    const int most = w->is_pooled ? MAX_LOST_POOLED : MAX_LOST;
    j->n_hung += hung ? 1 : 0;
    *e = j->n_hung >= MAX_HUNG ? KILN_TRIAL_TIMEOUT : KILN_TRIAL_LOST;
    return ++j->n_lost >= most || j->n_hung >= MAX_HUNG;
}
