/* Inside pipeline/measure: the pool. */
#ifndef KILN_PIPELINE_MEASURE_POOL_H
#define KILN_PIPELINE_MEASURE_POOL_H

#include "base/base.h"
#include "pipeline/measure/measure.h"

#include <pthread.h>
#include <time.h>

enum {
    KILN_MAX_WORKERS = 64,
    KILN_WORKER_LOG = 1024,
    /* And the one that the caller has, and an errand. */
    KILN_MAX_JOBS = KILN_MEASURE_MAX_QUEUED + 2
};

/* ---- candidates ------------------------------------------------------------------ */

typedef enum kiln_job_state {
    KILN_JOB_FREE,
    KILN_JOB_QUEUED,
    KILN_JOB_BUILDING,
    KILN_JOB_BUILT,
    KILN_JOB_RUNNING,
    KILN_JOB_FINISHED,
    KILN_JOB_TAKEN /* by the caller, until its next poll */
} kiln_job_state;

typedef struct kiln_job {
    kiln_arena arena; /* of everything below */
    kiln_job_state state;
    const kiln_template *tmpl;
    uint64_t config;
    bool never_stops_early;
    double budget_ms;
    int n_lost; /* times that a worker was lost under it */
    /* Of one that takes turns (turns.c): */
    bool takes_turns;
    bool awaits_turn; /* it is proved, and what it was asked for is done: */
    kiln_turn turn;
    uint64_t n_turns; /* that were asked for */
    /* No candidate, but a question to a runner that is idle: its frame, and the answer.
     */
    kiln_str errand;
    kiln_wire_limited limited;
    kiln_wire_built built;
    kiln_measured out;
} kiln_job;

/* First in, first out: numbers of jobs. */
typedef struct kiln_job_queue {
    int job[KILN_MEASURE_MAX_QUEUED];
    size_t first, n;
} kiln_job_queue;

void kiln_queue_push(kiln_job_queue *q, int job);
void kiln_queue_push_front(kiln_job_queue *q, int job);
int kiln_queue_pop(kiln_job_queue *q); /* n > 0 */

/* ---- workers --------------------------------------------------------------------- */

typedef enum kiln_worker_state {
    KILN_WORKER_DOWN,
    KILN_WORKER_STARTING,   /* a greeting is awaited, */
    KILN_WORKER_SETTING_UP, /* then an answer to the set-up */
    KILN_WORKER_IDLE,
    KILN_WORKER_BUSY
} kiln_worker_state;

typedef struct kiln_worker {
    bool is_runner;
    kiln_worker_state state;
    kiln_child child;
    int job;
    int64_t begin_ns, deadline_ns;
    uint32_t n_works; /* that it knows */
    int n_failed;     /* starts in a row that came to nothing */
    kiln_arena arena; /* of the streams: given back when it ends */
    kiln_wire_stream in;
    kiln_buf out;
    size_t out_at;
    char log[KILN_WORKER_LOG]; /* the end of what it wrote to standard error */
    size_t n_log;
} kiln_worker;

/* ---- the pool -------------------------------------------------------------------- */

typedef struct kiln_pool_work {
    kiln_str message;   /* KILN_WIRE_WORK, as sent */
    uint64_t at, bytes; /* of the shared memory; 0: given back */
    double best_ns;
} kiln_pool_work;

struct kiln_measure {
    kiln_measure_options o; /* with defaults */
    kiln_arena arena;       /* guarded by the lock, as all below */
    kiln_str profile_json;
    const char *const *argv[2]; /* of builders, of runners */
    kiln_cpus all, measuring, building;
    bool is_exclusive; /* kernels need every CPU: all others rest while one is timed */
    bool caller_waits; /* its last call was a poll, and that gave it nothing yet */

    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int wake[2]; /* a byte: something is to be done */
    bool is_closing;
    kiln_err failure; /* of the pool as a whole */

    int shared_write, shared_read; /* memory of all workloads */
    uint64_t shared_bytes;
    KILN_VEC(kiln_pool_work) work;
    kiln_wire_runner runner_setup; /* once has_meter */
    bool has_meter;

    kiln_job job[KILN_MAX_JOBS];
    kiln_job_queue queued, built, finished;
    size_t n_pending;                     /* submitted and not polled */
    int taken;                            /* by the caller; -1: none */
    kiln_worker worker[KILN_MAX_WORKERS]; /* 0 is the runner */
    int n_workers;
    KILN_VEC(kiln_lethal) lethal;
    kiln_map lethal_of; /* key -> index + 1 */
    kiln_measure_stats stats;
};

void *kiln_pool_main(void *measure); /* the thread */
/* With the lock held. */
void kiln_pool_wake(kiln_measure *m);
void kiln_job_finish(kiln_measure *m, int job, kiln_trial_error e, const char *text);
const kiln_lethal *kiln_lethal_find(const kiln_measure *m, int work, const char *tmpl,
                                    uint64_t index);
/* The time after so many milliseconds, of the clock that m->changed goes by. */
struct timespec kiln_pool_after(int64_t ms);
/* The number of a job that is free: there is one. */
int kiln_job_free(kiln_measure *m);
/* A runner's frame of a turn, or of limits. False: it is not to be trusted. */
bool kiln_turns_take(kiln_measure *m, kiln_worker *w, const kiln_wire_frame *f,
                     kiln_err *err);
void kiln_worker_rest(kiln_measure *m, kiln_worker *w); /* it is idle */
/* Starts what is down, gives work to who is idle. */
void kiln_pool_dispatch(kiln_measure *m);
/* A frame came; false: the worker is not to be trusted any more. */
bool kiln_worker_take(kiln_measure *m, kiln_worker *w, const kiln_wire_frame *f,
                      kiln_err *err);
/* It ended, has to end, or talks nonsense: reaps it and settles its job. `why`: NULL
 * when it ended by itself. */
void kiln_worker_lost(kiln_measure *m, kiln_worker *w, const char *why,
                      bool is_timeout);

#endif
