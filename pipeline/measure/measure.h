/* pipeline/measure: candidates built and timed by other processes, many a second.
 *
 *     kiln_measure_open(arena, &options, &m, err);    builders and a runner start
 *     kiln_measure_add_work(m, graph, weights_cold, &work, err);
 *     kiln_measure_submit(m, &candidate, &id, err);   returns at once
 *     while (kiln_measure_poll(m, 1000, &trial)) ...  finished ones, in any order
 *     kiln_measure_close(m);
 *
 * `kiln-builder` makes code (LLVM), `kiln-runner` proves and times it: each candidate
 * in a process of its own, forked from the runner, with limits on time and memory and
 * guards around every operand. Whatever a candidate does ends as a kiln_measured with
 * its kind of error; a worker that dies is started again, and its candidate tried once
 * more. A thread of the fleet moves messages, so that building and measuring go on while
 * the caller thinks. One-thread kernels are timed on the first CPU of the process's
 * affinity mask while the others compile; kernels of as many threads as there are CPUs
 * are timed while no builder works and the caller waits. Runners may be elsewhere, and
 * several: options name their addresses; that of a pool (kiln device pool), once for each device
 * that is wanted of it.
 *
 * One caller's thread at a time. docs/workers.md describes processes and protocol.
 */
#ifndef KILN_PIPELINE_MEASURE_H
#define KILN_PIPELINE_MEASURE_H

#include "compiler/schedule/template.h"
#include "pipeline/measure/wire/wire.h"
#include "runtime/pool.h"

/* How a candidate ends (kiln_trial_error) and a slice (kiln_slice) are the wire's. */
enum { KILN_MEASURE_SEEDS = 3 };

/* What became of a candidate. Pointers live until the next poll of the same fleet. */
typedef struct kiln_measured {
    uint64_t id;
    void *user; /* as submitted */
    int work;
    kiln_trial_error error;
    const char *text; /* what was wrong; "" */
    /* Of good and slow ones: */
    const kiln_slice *slice;                   /* raw, in order */
    size_t n_slices, n_disturbed, n_throttled; /* disturbed: throttled ones, too */
    int64_t n_runs;
    double median_ns;       /* of undisturbed slices where there are enough */
    double low_ns, high_ns; /* about 95% interval of the median */
    double peak_share;      /* of the multiply-add peak measured between; 0: no flops */
    double least_flops;     /* that it computes without fail; 0: not known */
    double limit_gflops;    /* the best peak that the runner had seen by then */
    bool is_noisy;          /* the interval is wider than asked: foreign load */
    int n_seeds;            /* that the outputs were right on */
    double worst, max_abs;  /* largest |got - want| / bound; |got - want| */
    /* Of outputs: elements that were compared on the first seed, of so many. */
    int64_t n_compared, n_elems;
    /* Of all that were built: */
    const char *layouts; /* types of the kernel's arguments: "f32[...], ..." */
    size_t code_bytes, workspace_bytes, scratch_bytes;
    int spills, vector_registers, hot_fma, hot_instructions;
    kiln_code_facts facts;
    double build_ms, run_ms; /* in builder and runner, by the wall */
    kiln_str object;         /* where options.keeps_objects */
    const char *runner; /* who ran it, or was to: "local", an address; NULL: none was.
                           Lives as long as the fleet */
} kiln_measured;

/* ---- the fleet ------------------------------------------------------------------- */

typedef struct kiln_measure kiln_measure;

typedef struct kiln_measure_options {
    /* Borrowed; must run here. A GPU's is measured by the device that its architecture
     * names, with every CPU for its driver, in processes that cannot be confined. */
    const kiln_profile *profile;
    int threads;    /* of the kernels; 0 counts as 1 */
    int n_builders; /* 0: one for each CPU that does not measure */
    /* NULL-terminated; NULL: kiln-builder and kiln-runner by kiln_program_find. */
    const char *const *builder_argv, *const *runner_argv;
    uint64_t seed; /* of inputs */
    /* Of the processor; by the wall twenty times that. */
    int64_t build_limit_ms; /* of one candidate; 0: 10000 */
    int64_t run_limit_ms;   /* of all its runs; 0: 4000 */
    uint64_t build_bytes;   /* data limit of a builder; 0: 2 GiB */
    uint64_t run_bytes;     /* more than its operands that a candidate may take; 0: 256
                               MiB */
    double budget_ms;       /* time for slices of one candidate; 0: 60 */
    double precision;       /* width of the interval to stop at, of the median; 0: 0.01
                             */
    double loser;           /* slower than this times the best: stopped early; 0: 1.5;
                               negative: none is */
    bool measures_spilling; /* measures candidates that spill all the same */
    bool keeps_objects;
    bool pins_caller; /* keeps the calling thread off the CPU that measures */
    /* Runners that listen (kiln-runner --serve): addresses as wire/address.h has them,
     * NULL-terminated; NULL: none. Candidates are spread over all runners, so that they
     * must be of one profile, and should be of one kind of machine. */
    const char *const *runner_addresses;
    const char *owner; /* of leases; NULL: this process */
    int priority;      /* with pools among them: the share beside others'; 0: 10 */
    /* Runners of our own, each on CPUs that no other has. 0: one; where addresses are
     * given, none. Negative: none. */
    int n_local_runners;
    bool is_alone; /* kernels of one thread too are timed on any CPU, while no builder
                      works and the caller waits: as what is compared with them */
} kiln_measure_options;

/* KILN_ERR_IO: a worker does not start, or no runner answers that is not lent to others;
 * KILN_ERR_UNSUPPORTED: the profile does not run here, or where the runners are;
 * KILN_ERR_LIMIT: there are not CPUs enough for so many runners. The fleet must be closed before the arena is reset. */
kiln_status kiln_measure_open(kiln_arena *a, const kiln_measure_options *o,
                              kiln_measure **out, kiln_err *err);
void kiln_measure_close(kiln_measure *m); /* ends all workers; NULL is fine */

/* A workload: computes what its outputs must be, on every seed, once (a second or two
 * for a large convolution). `g`: one group, as kiln_workload_of takes it; read here
 * only. Constants' values do not matter: each seed has its own. weights_cold: constants
 * are read from memory in every call, as in a network whose parameters are larger than
 * the last cache; activations are warm. KILN_ERR_UNSUPPORTED: no bound is known for an
 * output. */
kiln_status kiln_measure_add_work(kiln_measure *m, const kiln_graph *g,
                                  bool weights_cold, int *work, kiln_err *err);
/* Its memory is given back, and it takes no more candidates; false: some are on their
 * way. A workload that is wanted again is added again. */
bool kiln_measure_drop_work(kiln_measure *m, int work);
/* Best time known before: what early stopping compares with, until a better one is
 * measured here. <= 0: none. */
void kiln_measure_set_best(kiln_measure *m, int work, double ns);

typedef struct kiln_measure_candidate {
    int work;
    const kiln_template *tmpl;
    uint64_t config;        /* index in the space that the template gives */
    bool never_stops_early; /* for a second, longer look at a good one */
    bool takes_turns;       /* is timed as it is asked (below) */
    bool takes_spills;      /* measured though it spills: a build would take it so */
    double budget_ms;       /* 0: the fleet's */
    void *user;
} kiln_measure_candidate;
/* Never waits. A lethal candidate is not tried again: its old error comes back.
 * KILN_ERR_ARG: no such work. KILN_ERR_LIMIT: KILN_MEASURE_MAX_QUEUED are on their way.
 */
enum { KILN_MEASURE_MAX_QUEUED = 1024 };
kiln_status kiln_measure_submit(kiln_measure *m, const kiln_measure_candidate *c,
                                uint64_t *id, kiln_err *err);
/* Submitted and not polled yet. Keep enough on their way (eight or more) that no worker
 * is idle. */
size_t kiln_measure_pending(kiln_measure *m);
/* Waits for a finished candidate; false: none came in time, or none is pending. Kernels
 * that need every CPU are timed while the caller waits here, until it gets one: it may
 * think as hard as it likes in between. After a false it should come back soon. */
bool kiln_measure_poll(kiln_measure *m, int64_t timeout_ms, kiln_measured *out);

/* ---- turns: slices of a candidate between what others do -------------------------- */

/* One that takes turns is built and proved like others, and made warm. Then it waits:
 *
 *     kiln_measure_submit(m, &candidate, &id, err);
 *     while (kiln_measure_await_turns(m, id, 100) == KILN_TURNS_NOT_YET) ...
 *     while (... && kiln_measure_take_turn(m, id, &what, &turn)) ...
 *     kiln_measure_end_turns(m, id);
 *     kiln_measure_poll(m, timeout, &measured)    whatever became of it
 *
 * Between its turns nobody computes anything. Its slices in `measured` are the last
 * ones, its median is that of these. */
typedef enum kiln_turns_state {
    KILN_TURNS_NOT_YET,
    KILN_TURNS_READY,
    KILN_TURNS_OVER /* it ended: ask poll */
} kiln_turns_state;
kiln_turns_state kiln_measure_await_turns(kiln_measure *m, uint64_t id,
                                          int64_t timeout_ms);
/* What a turn is, in this order. */
typedef struct kiln_turn_order {
    bool has_peak;  /* a slice of the machine's peak */
    int n_ahead;    /* calls that are not timed, ahead of the slice */
    bool has_slice; /* calls that are: about a millisecond, or one */
} kiln_turn_order;
/* False: it ended (ask poll), or somebody interrupted (kiln_interrupted): then only
 * kiln_measure_close is left. */
bool kiln_measure_take_turn(kiln_measure *m, uint64_t id, const kiln_turn_order *o,
                            kiln_turn *out);
void kiln_measure_end_turns(kiln_measure *m, uint64_t id);

/* What this machine can do, by the pool's threads; while nothing is timed. Waits.
 * KILN_ERR_LIB: it could not be measured; KILN_ERR_INTERRUPTED. */
typedef struct kiln_measure_limits {
    kiln_peak_slice peak; /* the best of the slices that were asked for; 0: none */
    double gbs[KILN_WIRE_MAX_LEVELS]; /* of each level that was asked for */
} kiln_measure_limits;
kiln_status kiln_measure_ask_limits(kiln_measure *m, const kiln_wire_limits *q,
                                    kiln_measure_limits *out, kiln_err *err);

/* ---- what is lethal -------------------------------------------------------------- */

/* Configurations that killed a builder, or crashed, hung or wrote where they must not:
 * known ones may be given (from a database), those found here are asked for. */
typedef struct kiln_lethal {
    int work;
    const char *tmpl;
    uint64_t index; /* of the configuration */
    kiln_trial_error error;
} kiln_lethal;
void kiln_measure_add_lethal(kiln_measure *m,
                             const kiln_lethal *l); /* text is copied */
size_t kiln_measure_n_lethal(kiln_measure *m);
kiln_lethal kiln_measure_lethal(kiln_measure *m, size_t i); /* borrowed */

typedef struct kiln_measure_stats {
    uint64_t submitted, finished, by_error[KILN_N_TRIAL_ERRORS];
    uint64_t builders_started, runners_started; /* more than there are: some died */
    uint64_t retried;             /* candidates whose worker was lost under them */
    double building_s, running_s; /* of all workers, by the wall */
    uint64_t wakes;               /* of the fleet's thread */
    uint64_t shared_bytes;        /* of workloads that are kept for workers */
    uint64_t runs;                /* candidates given to a runner, retried ones again */
    uint64_t slices, disturbed, throttled; /* of all candidates */
    double peak_gflops;                    /* best slice so far */
    double memory_gbs;             /* that the threads may read at most; 0: not known */
    int n_builders, measuring_cpu; /* -1: not pinned */
    bool is_confined;   /* candidates may ask the system for nothing; else the log says
                         why */
    const char *device; /* the GPU that measures, as its driver names it; "": none does.
                           Lives as long as the fleet */
} kiln_measure_stats;
kiln_measure_stats kiln_measure_count(kiln_measure *m);

/* A runner, at this moment. One that is not up is tried again and again. */
typedef struct kiln_measure_runner {
    const char *name; /* "local", an address; lives as long as the fleet */
    bool is_up;
    int64_t lease_left_ms; /* of one that is up: it must be heard of before that */
    uint64_t runs;         /* candidates that it was given */
    double peak_gflops, memory_gbs;
} kiln_measure_runner;
size_t kiln_measure_n_runners(const kiln_measure *m);
kiln_measure_runner kiln_measure_runner_at(kiln_measure *m, size_t i);

#endif
