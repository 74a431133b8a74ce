/* Inside pipeline/measure: the fleet. */
#ifndef KILN_PIPELINE_MEASURE_MEASURE_FLEET_H
#define KILN_PIPELINE_MEASURE_MEASURE_FLEET_H

#include "base/base.h"
#include "base/numbers.h"
#include "pipeline/measure/measure.h"
#include "pipeline/measure/wire/transport.h"

#include <pthread.h>
#include <time.h>

enum {
    KILN_MAX_WORKERS = 64,
    KILN_RUN_GRACE_MS = 20000, /* beyond the limit that a runner keeps itself */
    KILN_WORKER_LOG = 1024,
    KILN_FLEET_MAX_BUILT = 8, /* that wait, for each runner */
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
    bool never_stops_early, takes_spills;
    double budget_ms;
    int n_lost;   /* times that a worker was lost under it, */
    int n_hung;   /* and those of a pool of which it said that they hung */
    int n_passed; /* times that one which was built later was timed before it */
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
int kiln_queue_pop(kiln_job_queue *q);             /* n > 0 */
int kiln_queue_take(kiln_job_queue *q, size_t at); /* at < n: from the first, 0 */

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
    bool is_here;     /* a runner that times on CPUs of which builders have others */
    int32_t cpu;      /* of a runner: as kiln_wire_runner has it */
    const char *name; /* of a runner, in results; in the fleet's arena */
    kiln_worker_state state;
    kiln_transport t;
    int job;
    int64_t begin_ns, deadline_ns;
    uint32_t n_works; /* that it was told of, */
    size_t n_dropped; /* and of m->dropped */
    /* Blobs that it asked for, from the first that it has not whole: */
    KILN_VEC(kiln_wire_blob) asked; /* with their data: of its job's workload */
    size_t asked_first;
    uint64_t asked_at;
    int64_t limit_ms;  /* of its job, once it has all that it asked for */
    int n_failed;      /* starts in a row that came to nothing, */
    int64_t failed_ns; /* since then */
    int64_t retry_ns;  /* it is not tried before */
    bool has_been_up;
    bool is_hopeless;  /* the last of them: trying again soon will not help */
    bool is_unfit;     /* its machine cannot run what is to be measured: never again */
    bool is_liar;      /* it told what no machine does: never again */
    bool has_given_up; /* nobody waits for it; a far one is tried all the same */
    /* Of one that a pool lends (kiln device pool): */
    bool is_pooled;
    bool is_queued;        /* it waits for its turn */
    bool is_recalled;      /* to be given back once it is idle */
    int64_t idle_ns;       /* since when it is */
    bool is_gone, is_hung; /* the pool said that it is lost; that it gave no answer */
    /* Of a runner: */
    int64_t lease_end_ns, beat_ns; /* when it must be heard of; when we must be */
    double peak_gflops, memory_gbs;
    uint64_t n_runs;
    /* What its last candidate was of, whose operands it has packed: */
    int last_work;
    uint64_t last_layouts; /* a hash; 0: it had none */
    kiln_arena arena;      /* of the streams: given back when it ends */
    kiln_wire_stream in;
    kiln_buf out;
    size_t out_at;
    char log[KILN_WORKER_LOG]; /* the end of what it wrote to standard error */
    size_t n_log;
} kiln_worker;

/* ---- the fleet ------------------------------------------------------------------- */

typedef struct kiln_fleet_work {
    kiln_arena arena;              /* of the message and the blobs */
    kiln_str message;              /* KILN_WIRE_WORK, as sent */
    KILN_VEC(kiln_wire_blob) blob; /* each with its data */
    uint64_t bytes;                /* of the blobs; 0: dropped */
    double flops, written_bytes;   /* what it is to compute; of its outputs */
    double best_ns;
} kiln_fleet_work;

/* One of its blobs, with its data; NULL: it has none of that name. */
const kiln_wire_blob *kiln_fleet_blob_find(const kiln_fleet_work *w,
                                           const kiln_wire_blob *name);

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
    kiln_err failure; /* of the fleet as a whole */

    KILN_VEC(kiln_fleet_work) work;
    KILN_VEC(uint32_t) dropped;    /* works, in the order in which they were */
    kiln_wire_runner runner_setup; /* once has_meter; but for the CPU */
    bool has_meter, has_runner;    /* has_runner: one was up */
    const char *owner;             /* of leases: who we are */
    int64_t lease_ms;

    kiln_job job[KILN_MAX_JOBS];
    kiln_job_queue queued, built, finished;
    size_t n_pending;                     /* submitted and not polled */
    int taken;                            /* by the caller; -1: none */
    kiln_worker worker[KILN_MAX_WORKERS]; /* runners, then builders */
    int n_runners, n_workers;
    int next_runner; /* that is given a candidate, if it is free */
    int n_here;      /* of the runners: ours, on this machine; they come first */
    KILN_VEC(kiln_lethal) lethal;
    kiln_numbers lethal_of;        /* key -> index + 1 */
    KILN_VEC(const char *) lender; /* names of devices that a pool lent */
    bool has_said_unfit;
    kiln_measure_stats stats;
};

/* Which of those that are built (one at least) the runner times next: the first, or one
 * behind it whose weights lie as those that the runner has copies of. */
int kiln_fleet_take_alike(kiln_measure *m, kiln_worker *w);

void *kiln_fleet_main(void *measure); /* the thread */
/* With the lock held. */
void kiln_fleet_wake(kiln_measure *m);
void kiln_job_finish(kiln_measure *m, int job, kiln_trial_error e, const char *text);
const kiln_lethal *kiln_lethal_find(const kiln_measure *m, int work, const char *tmpl,
                                    uint64_t index);
/* The time after so many milliseconds, of the clock that m->changed goes by. */
struct timespec kiln_fleet_after(int64_t ms);
/* The number of a job that is free: there is one. */
int kiln_job_free(kiln_measure *m);
/* Does a runner elsewhere tell of what no machine does (plausible.c)? Then it is a liar,
 * and no more to be trusted. */
bool kiln_worker_is_plausible(const kiln_measure *m, kiln_worker *w, double gflops,
                              kiln_err *err);
bool kiln_worker_answer_is_plausible(const kiln_measure *m, kiln_worker *w,
                                     const kiln_job *j, const kiln_wire_ran *r,
                                     kiln_err *err);
/* A runner's frame of a turn, or of limits. False: it is not to be trusted. */
bool kiln_turns_take(kiln_measure *m, kiln_worker *w, const kiln_wire_frame *f,
                     kiln_err *err);
/* Starts what is down, gives work to who is idle. */
void kiln_fleet_dispatch(kiln_measure *m);
/* The fleet as a whole cannot go on: what waits ends as lost. */
void kiln_fleet_fail(kiln_measure *m, const kiln_err *why);
void kiln_worker_start(kiln_measure *m, kiln_worker *w);
/* A start came to nothing: another will be made, or nobody waits for it any more. */
void kiln_worker_failed(kiln_measure *m, kiln_worker *w, kiln_status status,
                        const char *text);
/* Greeting, set-up, and their answers. A failure: it is not to be trusted. */
kiln_status kiln_worker_take_setup(kiln_measure *m, kiln_worker *w,
                                   const kiln_wire_frame *f, kiln_err *err);
void kiln_worker_become_idle(kiln_measure *m, kiln_worker *w);
/* borrowed.c: a runner's frame that only a pool sends; *is_one: it was. */
kiln_status kiln_worker_take_pool(kiln_measure *m, kiln_worker *w,
                                  const kiln_wire_frame *f, bool *is_one,
                                  kiln_err *err);
/* Asks the pool that greeted for a device. */
kiln_status kiln_worker_ask_pool(kiln_measure *m, kiln_worker *w, kiln_err *err);
/* Something was submitted, and did not come to an end. */
bool kiln_fleet_has_work(const kiln_measure *m);
/* Gives an idle one back that was recalled, or that nobody here has work for. */
void kiln_worker_give_back(const kiln_measure *m, kiln_worker *w);
/* The candidate it had is handed out anew; or nobody will have it again, who hung two
 * devices. *e: how it ends, where that is so. */
bool kiln_job_is_over(kiln_job *j, const kiln_worker *w, kiln_trial_error *e);
/* It said something: its lease begins anew. */
void kiln_worker_heard(kiln_measure *m, kiln_worker *w);
/* Lets a runner that waits hear of us, where it is time to. */
void kiln_worker_beat(kiln_measure *m, kiln_worker *w);
/* The next piece of what it asked for, once all before it went. */
void kiln_worker_give_piece(kiln_worker *w);
/* A frame came; false: the worker is not to be trusted any more. */
bool kiln_worker_take(kiln_measure *m, kiln_worker *w, const kiln_wire_frame *f,
                      kiln_err *err);
/* It ended, has to end, or talks nonsense: reaps it and settles its job. `why`: NULL
 * when it ended by itself. */
void kiln_worker_lost(kiln_measure *m, kiln_worker *w, const char *why,
                      bool is_timeout);

#endif
