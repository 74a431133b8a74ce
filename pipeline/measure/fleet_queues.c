/* Candidates on their way: in the order in which they came, but for those that a runner
 * has operands for. */
#include "pipeline/measure/measure_fleet.h"

#include <string.h>

void kiln_queue_push(kiln_job_queue *q, int job) {
    KILN_ASSERT(q->n < KILN_MEASURE_MAX_QUEUED, "a queue of jobs is full");
    q->job[(q->first + q->n++) % KILN_MEASURE_MAX_QUEUED] = job;
}

void kiln_queue_push_front(kiln_job_queue *q, int job) {
    KILN_ASSERT(q->n < KILN_MEASURE_MAX_QUEUED, "a queue of jobs is full");
    q->first = (q->first + KILN_MEASURE_MAX_QUEUED - 1) % KILN_MEASURE_MAX_QUEUED;
    q->job[q->first] = job;
    q->n++;
}

int kiln_queue_pop(kiln_job_queue *q) {
    KILN_ASSERT(q->n > 0, "nothing is in a queue of jobs");
    const int job = q->job[q->first];
    q->first = (q->first + 1) % KILN_MEASURE_MAX_QUEUED;
    q->n--;
    return job;
}

int kiln_queue_take(kiln_job_queue *q, size_t at) {
    KILN_ASSERT(at < q->n, "job %zu of a queue of %zu", at, q->n);
    int *const j = q->job;
    const int job = j[(q->first + at) % KILN_MEASURE_MAX_QUEUED];
    for (size_t i = at; i > 0; i--) /* those before it stay in order */
        j[(q->first + i) % KILN_MEASURE_MAX_QUEUED] =
            j[(q->first + i - 1) % KILN_MEASURE_MAX_QUEUED];
    (void)kiln_queue_pop(q);
    return job;
}

/* ---- what is timed next ---------------------------------------------------------- */

static kiln_job *built_at(kiln_measure *m, size_t i) {
    const kiln_job_queue *q = &m->built;
    return &m->job[q->job[(q->first + i) % KILN_MEASURE_MAX_QUEUED]];
}

static uint64_t layouts_of(const kiln_job *j) {
    return kiln_hash64(j->out.layouts, strlen(j->out.layouts), 0);
}

/* Weights are timed from copies that no cache holds together, half a GiB where the last
 * one has 260 MiB, and all of them are written anew when the next candidate has its
 * weights in another layout. Nothing waits for more than a queue of others. */
static size_t find_alike(kiln_measure *m, const kiln_worker *w) {
    for (size_t i = 0; i < m->built.n; i++) {
        const kiln_job *j = built_at(m, i);
        if (j->errand.n > 0)
            return 0;
        if (j->out.work == w->last_work && layouts_of(j) == w->last_layouts)
            return i;
        if (j->n_passed >= KILN_FLEET_MAX_BUILT)
            return 0;
    }
    return 0;
}

int kiln_fleet_take_alike(kiln_measure *m, kiln_worker *w) {
    const size_t at = find_alike(m, w);
    for (size_t i = 0; i < at; i++)
        built_at(m, i)->n_passed++;
    const kiln_job *j = built_at(m, at);
    if (j->errand.n == 0) {
        w->last_work = j->out.work;
        w->last_layouts = layouts_of(j);
    }
    return kiln_queue_take(&m->built, at);
}
