/* pipeline/remote: a network opened, run and timed by a process of its own
 * (pipeline/measure/runner/runner_network.c), as it is asked. One that crashes or hangs ends
 * that process; here it is an error that says how.
 *
 *     kiln_remote_of_network(a, &network, in, &options, &r, err);
 *     kiln_remote_session(r, threads, &session, &bytes, err);
 *     kiln_remote_turn(r, session, &order, &turn, err);       again and again
 *     kiln_remote_output(r, session, i, data, err);           of the last run
 */
#ifndef KILN_PIPELINE_REMOTE_H
#define KILN_PIPELINE_REMOTE_H

#include "pipeline/kernels/meter.h"
#include "pipeline/network/network.h"
#include "pipeline/talk/apart.h"

typedef struct kiln_remote kiln_remote;

typedef struct kiln_remote_options {
    const char *const *argv; /* ends in NULL; NULL: kiln-runner */
    int64_t limit_ms;        /* of each answer; 0: ten minutes */
    /* Who runs it, borrowed, one network after the other: the one before is closed. It may
     * be on a runner elsewhere (kiln_apart_options.far). NULL: a process of its own. */
    kiln_apart *apart;
    uint64_t data_limit_bytes; /* that its process may take; 0: all the machine's */
    bool has_no_peak;          /* no order will have n_peaks: opening it is cheaper */
} kiln_remote_options;

/* An unpacked package for profile `p`, which may be NULL where has_no_peak is said and
 * its caller knows that the runner's machine is fit for it. in: row-major, one for each of its inputs; read
 * here only. The process ends with the arena. A runner elsewhere is sent its files.
 * KILN_ERR_LIB: it cannot be opened there; KILN_ERR_UNSUPPORTED: this machine, or the
 * runner's, cannot run it. */
kiln_status kiln_remote_of_package(kiln_arena *a, const char *folder,
                                   const kiln_profile *p, const kiln_tensor *in,
                                   size_t n_in, const kiln_remote_options *o,
                                   kiln_remote **out, kiln_err *err);
/* The same of a network that was compiled for one device, the host. It and `in` are
 * borrowed until this returns. */
kiln_status kiln_remote_of_network(kiln_arena *a, const kiln_network *n,
                                   const kiln_tensor *in, size_t n_in,
                                   const kiln_remote_options *o, kiln_remote **out,
                                   kiln_err *err);
double kiln_remote_open_ms(const kiln_remote *r); /* that opening it took */
/* The GPU that it runs on, as its driver names it; "": on none. Lives as long as r. */
const char *kiln_remote_device(const kiln_remote *r);
/* From now on called several times a second while an answer is awaited; NULL: no more.
 */
void kiln_remote_on_tick(kiln_remote *r, void (*tick)(void *user), void *user);

/* Compiles the graph, runs it once by one thread, and copies the outputs: for
 * verification (kiln_runner.run; user: a kiln_remote_target). What crashes or hangs is
 * KILN_ERR_LIB. */
typedef struct kiln_remote_target {
    const kiln_profile *profile;
    kiln_apart *apart;   /* of all graphs */
    kiln_packer *packer; /* of their constants */
    int64_t limit_ms;    /* as of kiln_remote_options */
    uint64_t data_limit_bytes;
    int more_threads; /* a session of so many must give the same bits; 0: none is asked */
} kiln_remote_target;
/* Processes that are started when they are needed, and end with the arena. */
kiln_remote_target kiln_remote_target_of(kiln_arena *a, const kiln_profile *p);
kiln_status kiln_remote_run_graph(void *target, kiln_arena *a, const kiln_graph *g,
                                  const kiln_tensor *in, size_t n_in, kiln_tensor *out,
                                  kiln_err *err);

/* Inputs and outputs, as the plan has them. */
typedef struct kiln_remote_port {
    const char *name;
    int rank;
    int64_t dim[KILN_PLAN_MAX_RANK];
    size_t bytes; /* row-major */
} kiln_remote_port;
int kiln_remote_n_inputs(const kiln_remote *r);
const kiln_remote_port *kiln_remote_input_at(const kiln_remote *r, int i);
/* -1: there is none. */
int kiln_remote_find_output(const kiln_remote *r, const char *name);
const kiln_remote_port *kiln_remote_output_at(const kiln_remote *r, int i);

/* Opens a session of so many threads, with the inputs set. */
kiln_status kiln_remote_session(kiln_remote *r, int threads, int *session,
                                size_t *bytes, kiln_err *err);
/* Closes it, and all that were opened behind it. */
kiln_status kiln_remote_close_from(kiln_remote *r, int session, kiln_err *err);

/* What a turn is, in this order. */
typedef struct kiln_remote_order {
    int n_peaks;    /* slices of the machine's peak with as many threads */
    int n_ahead;    /* runs that are not timed */
    int64_t runs;   /* that are, together */
    bool has_steps; /* the clock is read at each step too */
} kiln_remote_order;
typedef struct kiln_remote_turn {
    kiln_peak peak;    /* of the best slice */
    double ms;         /* of one run, by the rule that baselines have too */
    bool is_disturbed; /* throttled ones, too */
    /* Of all timed runs: by the wall, of the processor, and how often one of the threads
     * lost its. */
    int64_t wall_ns, cpu_ns, preempted;
    /* A runner elsewhere: its clock was held back, as it is too warm (it waits a while
     * ahead of the next turn); clock and temperature behind the runs, 0: not known. */
    bool is_throttled;
    uint32_t clock_mhz, degrees;
    const uint64_t *step_ns; /* in all runs; until the next question */
    size_t n_steps;
} kiln_remote_turn;
kiln_status kiln_remote_take_turn(kiln_remote *r, int session,
                                  const kiln_remote_order *o, kiln_remote_turn *out,
                                  kiln_err *err);
/* Output i of the session's last run: all its bytes. */
kiln_status kiln_remote_output(kiln_remote *r, int session, int i, void *data,
                               kiln_err *err);

/* n sessions from `first` on at once, each again and again by a thread of its own, for
 * so long, or until somebody interrupts. */
typedef struct kiln_remote_run {
    int64_t begin, end; /* nanoseconds since all began */
} kiln_remote_run;
typedef struct kiln_remote_load {
    int64_t length;              /* nanoseconds that count: fewer where it was ended */
    bool is_full;                /* by that there was no room for more runs */
    const kiln_remote_run **run; /* by session: n_runs[i] of them, in `a` */
    const size_t *n_runs;
} kiln_remote_load;
kiln_status kiln_remote_do_load(kiln_remote *r, kiln_arena *a, int first, int n,
                                int64_t most_runs, int64_t length,
                                kiln_remote_load *out, kiln_err *err);

#endif
