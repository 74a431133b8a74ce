/* Inside pipeline/measure/runner. */
#ifndef KILN_PIPELINE_MEASURE_RUNNER_INTERNAL_H
#define KILN_PIPELINE_MEASURE_RUNNER_INTERNAL_H

#include "base/base.h"
#include "pipeline/measure/runner/heat.h"
#include "pipeline/measure/runner/runner.h"
#include "pipeline/measure/wire/blobs.h"
#include "runtime/device.h"
#include "runtime/loader.h"
#include "runtime/pool.h"

/* ---- memory between guards ------------------------------------------------------- */

/* Page-aligned bytes; what is left of their last page holds canaries; on both sides lie
 * pages that nobody may touch. */
typedef struct kiln_region {
    unsigned char *map, *data;
    size_t map_bytes, bytes, room; /* room: whole pages from data */
} kiln_region;

/* Shared with processes forked later, or private: then what they write stays theirs.
 * Zeros. KILN_ERR_OOM: the system has no such memory. */
kiln_status kiln_region_open(size_t bytes, bool is_shared, kiln_region *out,
                             kiln_err *err);
/* Private, and in huge pages where the system has them, as a session's parameters lie.
 */
kiln_status kiln_region_open_huge(size_t bytes, kiln_region *out, kiln_err *err);
void kiln_region_close(kiln_region *r);     /* accepts a zeroed struct */
void kiln_region_poison(kiln_region *r);    /* 0xFF: NaN in every float */
void kiln_region_protect(kiln_region *r);   /* no more writing */
void kiln_region_unprotect(kiln_region *r); /* of one that is not open: nothing */
/* Do processes forked from now on have it? What they have not costs their fork nothing.
 */
void kiln_region_pass_on(const kiln_region *r, bool yes);
/* Maps all its pages now, not when they are touched: for reading, or writing. */
void kiln_region_populate(const kiln_region *r, bool writes);
/* A canary that is gone; *at: its offset from the data. */
bool kiln_region_is_broken(const kiln_region *r, size_t *at);
/* Is it the region's guard or, where `whole`, any byte of it? */
bool kiln_region_has(const kiln_region *r, uint64_t address, bool whole);

/* ---- operands -------------------------------------------------------------------- */

typedef struct kiln_runner kiln_runner;
typedef struct kiln_trial_run kiln_trial_run;

int64_t kiln_value_elems(const kiln_wire_value *v);
/* Is it a way to lay out the value, each element once? Then *bytes is what it takes. */
kiln_status kiln_operand_check(const kiln_wire_value *v, const kiln_wire_operand *o,
                               size_t *bytes, kiln_err *err);
/* Row-major elements as the operand has them; lanes past the shape become zeros. */
void kiln_operand_pack(const kiln_wire_value *v, const kiln_wire_operand *o,
                       const void *plain, void *packed);
/* Where a row-major element lies, in elements. */
int64_t kiln_operand_at(const kiln_wire_value *v, const kiln_wire_operand *o,
                        int64_t element);
/* Calls back for each packed element that is a lane past the shape, until false. */
bool kiln_operand_has_tails(const kiln_wire_value *v, const kiln_wire_operand *o);

/* A packed input, kept for the next candidate that wants it so; or copies of one. */
typedef struct kiln_packed {
    uint32_t work, seed;
    kiln_wire_operand operand;
    kiln_region region;
    uint32_t n_copies;
    size_t stride; /* from copy to copy */
} kiln_packed;

bool kiln_operand_is_same(const kiln_wire_operand *x, const kiln_wire_operand *y);
/* Packs, or finds, an input of the trial's workload. Borrowed until
 * kiln_operands_forget. Where code that packs it is at fault, so is the trial. */
kiln_status kiln_operand_input(kiln_trial_run *t, const kiln_wire_operand *o,
                               uint32_t seed, kiln_packed **out, kiln_err *err);
/* Is it a request that can be done, where code packs argument i? Then the code has its
 * name, its digest. */
kiln_status kiln_trial_check_packing(const kiln_trial_run *t, uint32_t i,
                                     kiln_err *err);
/* By the operand's code, of a value as it came. */
kiln_status kiln_trial_pack(kiln_trial_run *t, const kiln_wire_operand *o,
                            kiln_packed *from, kiln_region *to, kiln_err *err);
/* Copies of packed inputs, in turn more than the last cache holds, in one region that
 * is kept: replaces *of[i] for the n weights. The copies are in `a`. */
kiln_status kiln_operands_rotate(kiln_runner *r, kiln_arena *a, kiln_packed ***of,
                                 size_t n, uint32_t n_copies, kiln_err *err);
/* Frees what is too much; before each candidate. */
void kiln_operands_forget(kiln_runner *r);
/* Frees what was packed of a workload. */
void kiln_operands_drop(kiln_runner *r, uint32_t work);

/* ---- one candidate --------------------------------------------------------------- */

enum {
    KILN_MAX_THREADS = KILN_POOL_MAX_THREADS,
    KILN_MAX_SETS = 3,    /* of inputs that a process has: one for each seed, */
    KILN_TIMED_SETS = 2,  /* and slices are run on these in turn */
    KILN_MAX_BUFFERS = 8, /* outputs that the calls of a slice write in turn */
    KILN_MAX_POKES = 64
};

/* What a forked process tells: shared memory, which it might have overwritten. */
typedef enum kiln_stage {
    KILN_STAGE_START,
    KILN_STAGE_UNLOADABLE,
    KILN_STAGE_NO_THREADS,
    KILN_STAGE_RUNNING,
    KILN_STAGE_SIGNAL,
    KILN_STAGE_BESIDE, /* it wrote beside an operand's memory on a device */
    KILN_STAGE_DONE
} kiln_stage;

/* An element of an output. */
typedef struct kiln_poke {
    uint32_t output, bytes;
    uint64_t at; /* bytes */
} kiln_poke;

/* Some calls in a row, most of them timed: the parent's order. */
typedef struct kiln_round {
    uint64_t runs;   /* timed calls; none: what comes ahead of them only */
    uint64_t turn;   /* of the weights' copies, for the first of all calls */
    uint32_t n_warm; /* calls ahead of them, which write to: */
    uint32_t warm_buffer;
    uint32_t set; /* of inputs */
    uint32_t has_peak;
    /* Calls before `end` and behind the segment before it write to the buffer. */
    uint32_t n_segments;
    struct kiln_segment {
        uint32_t buffer;
        uint64_t end;
    } segment[KILN_MAX_BUFFERS];
    uint32_t n_pokes; /* one is spoilt ahead of each call, in turn */
    kiln_poke poke[KILN_MAX_POKES];
} kiln_round;

typedef struct kiln_page {
    volatile kiln_stage stage;
    volatile int signal, code;
    volatile int system_call;              /* of SIGSYS */
    volatile uint64_t address, data_bytes; /* data_bytes: where it may ask */
    char text[KILN_LOAD_TEXT];
    double once_ns;
    kiln_round round;
    kiln_slice slice; /* its answer */
    kiln_peak_slice peak;
} kiln_page;

typedef struct kiln_meter_kernels {
    kiln_kernel_fn *fma, *chain;
    kiln_wire_meter of;
    double fma_per_cycle, best_gflops;
    double memory_gbs; /* of reading, by all threads; 0: not known */
    kiln_region fma_arg[KILN_MAX_THREADS][3], chain_arg[KILN_MAX_THREADS][2];
    void *fma_tensor[KILN_MAX_THREADS][3], *chain_tensor[KILN_MAX_THREADS][2];
} kiln_meter_kernels;

/* What a runner that serves a connection tells who listens for others. */
enum { KILN_LEASE_OWNER = 128 };
typedef struct kiln_lease_note {
    int64_t end_ns; /* of kiln_now_ns */
    char owner[KILN_LEASE_OWNER];
} kiln_lease_note;

typedef struct kiln_known_work {
    kiln_arena arena; /* of the lists and texts of: */
    kiln_wire_work wire;
    bool is_known;   /* else dropped, or not announced yet */
    bool is_checked; /* what its blobs hold is what may be */
} kiln_known_work;

/* A network of who is elsewhere: its process, which does not have the connection. */
typedef struct kiln_hosted {
    int pid; /* 0: there is none */
    int to, from;
    kiln_region page; /* a kiln_page */
    kiln_arena arena; /* of: */
    kiln_wire_stream in;
    bool is_asked;    /* an answer is due, */
    bool is_timed;    /* to a turn with timed runs */
    bool has_begun;   /* the first answer has come: */
    bool was_refused; /* it could not be opened, and ends by itself */
} kiln_hosted;

/* An input that the device's process has, in a slot of its own. */
typedef struct kiln_device_input {
    uint32_t work, seed, n_copies, slot;
    kiln_wire_operand operand;
} kiln_device_input;

/* The process that has the device (device_host_linux.c), and what it shares with it. */
typedef struct kiln_device_host {
    unsigned char *window;
    uint64_t window_bytes, used;
    int pid, channel; /* pid 0: there is none */
    uint32_t n_candidates;
    KILN_VEC(kiln_device_input) input;
    uint64_t input_bytes;
} kiln_device_host;

struct kiln_runner {
    kiln_arena arena;
    kiln_wire_runner options;
    kiln_meter_kernels meter;
    int64_t lease_ms, told_ns; /* told_ns: the end of the lease, as it was noted */
    kiln_lease_note lease;
    int lease_fd; /* notes go there; -1: nobody wants them */
    const char *machine;
    kiln_wire_peer peer;            /* the fleet */
    KILN_VEC(kiln_known_work) work; /* by id */
    kiln_blobs blobs;               /* of these */
    KILN_VEC(kiln_packed *) packed;
    size_t packed_bytes;
    /* Copies of weights. Private and in huge pages: a process that is forked has them at
     * once, where small pages of shared memory, mapped one by one, took half a trial. */
    kiln_region rotation;
    uint64_t turn;                 /* copies that were read */
    KILN_VEC(kiln_packed) rotated; /* what it holds copies of */
    bool is_confined;              /* candidates are: the system can */
    KILN_VEC(kiln_region) spare;   /* shared ones, for the next candidate's outputs */
    kiln_page *page;
    const kiln_device_kind *device; /* that candidates are for; NULL: the host */
    kiln_device_host host;          /* of the device */
    kiln_hosted hosted[KILN_WIRE_MAX_GUESTS]; /* by number */
    int n_hosted;
    kiln_heat heat;    /* beside their turns, */
    bool has_heat;     /* once one was asked for */
    int64_t cooled_ns; /* that turns waited for the machine to cool down, in a row */
};

/* What of an output is looked at between slices: some of the expected elements. */
typedef struct kiln_probe {
    uint32_t n;
    const uint32_t *index[KILN_MAX_SETS]; /* among what is expected of that seed */
    const uint64_t *at[KILN_MAX_SETS];    /* where it lies, in elements */
} kiln_probe;

/* What timing found. */
typedef struct kiln_timed {
    kiln_slice slice[KILN_WIRE_MAX_SLICES];
    uint32_t n_slices;
    uint64_t n_runs;
    bool is_slow, is_noisy;
} kiln_timed;

/* Everything about one request. */
struct kiln_trial_run {
    kiln_runner *r;
    const kiln_wire_run *q;
    const kiln_wire_work *w;
    kiln_arena *arena; /* of this request */
    kiln_wire_ran *out;
    /* By argument: of the seed at hand; when timed, of the first seeds. */
    kiln_packed **input[KILN_MAX_SETS];
    /* By argument - n_inputs. A run that is not timed has the first. */
    kiln_region *buffer[KILN_MAX_BUFFERS];
    uint32_t n_sets, n_buffers;
    uint32_t n_given;      /* sets that its process has: n_sets or more */
    uint32_t n_copies;     /* of weights, where a device makes them; else 1 */
    uint64_t output_bytes; /* of one buffer */
    kiln_probe *probe;     /* by argument - n_inputs; NULL: not made yet */
    kiln_region workspace, *scratch;
    int threads;
    int64_t deadline_ns; /* by the wall: far beyond */
    int64_t cpu_left_ns; /* what its threads may take of processors */
    bool is_timed;       /* slices, else one run */
    bool is_rotated;     /* weights are views into r->rotation */
    bool is_first;       /* the proof that decides what is worth a look */
    bool is_look;        /* slices only until it is plain whether it is slow */
    const char *when;    /* added to what is wrong with an output */
    kiln_timed timed;
};

/* The verdict: everything but the id. Never fails for what a candidate does. The blobs of
 * the workload `w` are here; NULL: it is not known. */
void kiln_trial_do(kiln_runner *r, kiln_arena *a, const kiln_wire_run *q,
                   const kiln_wire_work *w, kiln_wire_ran *out);
/* A workload came, or goes. */
kiln_status kiln_works_take(kiln_runner *r, const kiln_wire_frame *f, kiln_err *err);
kiln_status kiln_works_drop(kiln_runner *r, const kiln_wire_frame *f, kiln_err *err);
/* With all of its blobs: what is not here is asked for. *out NULL: it is not known. */
kiln_status kiln_works_find(kiln_runner *r, uint32_t id, const kiln_wire_work **out,
                            kiln_err *err);

/* Spoils outputs, workspace and scratch memory. */
void kiln_trial_poison(kiln_trial_run *t);
/* Is one call of so many nanoseconds too slow to be worth slices? */
bool kiln_trial_is_hopeless(const kiln_trial_run *t, double ns);

/* Sets the error of the trial; only the first counts. False, for `return`. */
bool kiln_trial_fault(kiln_trial_run *t, kiln_trial_error e, const char *fmt, ...)
    KILN_PRINTF(3, 4);

/* ---- its process ----------------------------------------------------------------- */

typedef struct kiln_trial_process {
    int pid;
    int channel;        /* a byte each way for each round; -1: it runs once and ends */
    uint64_t own_bytes; /* what this process had at the fork */
} kiln_trial_process;

/* Starts it: for one run, or, where t->is_timed, for rounds. */
bool kiln_trial_start(kiln_trial_run *t, kiln_trial_process *p);
/* What it took of processors so far; 0: not known. */
int64_t kiln_trial_cpu_ns(const kiln_trial_process *p);
/* Has it do a round. False: it ended, or has no time left; kiln_trial_finish says why.
 */
bool kiln_trial_do_round(kiln_trial_run *t, const kiln_trial_process *p,
                         const kiln_round *r, kiln_slice *out);
/* From now on, whoever is orphaned below this process becomes its child. */
void kiln_trial_own_strays(void);
/* Ends whatever processes are below this one; how many there were. */
int kiln_trial_end_strays(void);
/* Waits for its end, or ends it where it has failed already, with all that it started,
 * and judges how it ended. */
bool kiln_trial_finish(kiln_trial_run *t, kiln_trial_process *p);

/* In the forked process: rounds until the channel is closed. 0, or what the kernel
 * returned. */
int kiln_rounds_serve(const kiln_trial_run *t, kiln_kernel_fn *fn, kiln_pool *pool,
                      kiln_page *page, int channel);
/* One call with the first inputs, into that buffer. */
int kiln_round_call(const kiln_trial_run *t, kiln_kernel_fn *fn, kiln_pool *pool,
                    uint32_t buffer);

/* A byte to it and one back; or just that. False: it ended, or time is up. */
bool kiln_trial_tell(const kiln_trial_process *p, int64_t deadline_ns);
bool kiln_trial_await(const kiln_trial_process *p, int64_t deadline_ns);
bool kiln_trial_has_ended(const kiln_trial_process *p);
/* Waits for its end as kiln_trial_finish does, and judges it. */
bool kiln_trial_reap(kiln_trial_run *t, const kiln_trial_process *p);
/* In a process that was just forked by `parent` for the device: ends with it, has no
 * files but standard error and the channel, which is returned, and notes signals. */
int kiln_trial_begin_child(kiln_runner *r, int parent, int channel);

/* On a device one process serves many candidates, proofs and slices: what start and
 * finish do there. A candidate that did not leave as it should ends it. */
bool kiln_device_start(kiln_trial_run *t, kiln_trial_process *p);
bool kiln_device_finish(kiln_trial_run *t, kiln_trial_process *p);
/* Others were there before: what is wrong may be theirs. */
bool kiln_device_is_used(const kiln_runner *r);
/* Ends its process. */
void kiln_device_end(kiln_runner *r);
/* Memory that the process sees too, until the next candidate. */
void kiln_device_window_reset(kiln_runner *r);
kiln_status kiln_device_window_take(kiln_runner *r, size_t bytes, kiln_region *out,
                                    kiln_err *err);
/* Starts the process, and says what the device is, or, in not_confined, why it cannot be
 * used. KILN_ERR_ARG: there is no such kind. */
kiln_status kiln_device_set_up(kiln_runner *r, kiln_arena *a, kiln_wire_ready *out,
                               kiln_err *err);
/* In a process that opens a driver: nothing comes in, what it prints goes to standard
 * error. */
void kiln_device_std_files(void);
/* So long a driver and the candidate may take: by the wall; of all processors, on which
 * some devices compute. */
int64_t kiln_device_limit_ns(const kiln_wire_runner *o);
int64_t kiln_device_cpu_ns(const kiln_wire_runner *o);

/* ---- right or wrong -------------------------------------------------------------- */

/* Outputs in a buffer, and canaries, after a run. */
bool kiln_trial_check(kiln_trial_run *t, uint32_t seed, uint32_t buffer);
/* Is the element, which lies at the at-th place, within its bound? */
bool kiln_trial_check_element(kiln_trial_run *t, const kiln_wire_value *v,
                              const kiln_wire_expected *e, const unsigned char *data,
                              uint64_t j, uint64_t at);

/* Chooses elements, once for a trial. */
void kiln_probes_make(kiln_trial_run *t, kiln_rng *rng);
/* Which of them a round is held to. */
typedef struct kiln_probe_window {
    uint32_t begin, n;
} kiln_probe_window;
/* Draws windows and pokes, and spoils what must be written again. */
void kiln_probes_spoil(kiln_trial_run *t, kiln_rng *rng, kiln_round *r,
                       kiln_probe_window *w);
bool kiln_probes_check(kiln_trial_run *t, const kiln_round *r,
                       const kiln_probe_window *w);

/* ---- slices ---------------------------------------------------------------------- */

typedef struct kiln_slice_clocks {
    int64_t wall_ns, cpu_ns; /* cpu_ns: of the calling thread */
    int64_t preempted;       /* times that somebody took a processor from a thread */
    uint64_t seal;           /* of what is above */
} kiln_slice_clocks;
kiln_slice_clocks kiln_slice_now(void);
/* False: somebody wrote them since. They lie on a stack on which a kernel runs, and a
 * kernel finds them there by what they look like. One that knows of the seal writes that
 * too: it is left to the clocks that it cannot reach (slices.c). */
bool kiln_slice_is_sealed(const kiln_slice_clocks *c);
/* What passed for a kernel of so many threads. One thread's time is the wall's; where
 * others had its processor for more than a fiftieth of it, its own: near the truth, and
 * marked. Several threads wait for each other, some of them asleep, so only the wall's
 * clock is theirs; that somebody took a processor away is marked. At least 1. */
double kiln_slice_elapsed_ns(const kiln_slice_clocks *begin,
                             const kiln_slice_clocks *end, int threads,
                             bool *disturbed);
/* Times it into t->timed, in a process of its own. */
bool kiln_trial_time(kiln_trial_run *t);
/* The same, slice by slice as the pool asks for them; t->timed has the last ones. */
bool kiln_trial_take_turns(kiln_trial_run *t);
/* Says what became of a turn, and waits for the next. False: there is none. */
bool kiln_runner_next_turn(kiln_runner *r, uint64_t id, const kiln_turn *done,
                           kiln_wire_turn *next);

/* ---- networks and packings, one process each (guest_linux.c) --------------------- */

/* Forks a process for each that is asked for, until the pipe ends. `f`: the first. */
kiln_status kiln_guests_serve(kiln_runner *r, const kiln_wire_frame *f, kiln_err *err);

/* In such a process: it has the runner's pipes for itself, and what was shared. */
typedef struct kiln_guest {
    kiln_runner *r;
    const kiln_wire_frame *request;
    const unsigned char *shared;
    uint64_t shared_bytes;
    uint32_t number; /* as who asks has it */
} kiln_guest;
/* Becomes one that serves what `f` asks for, in a process that was just forked by
 * `parent`: never returns. Its pipes are the runner's peer; how it ends is on its page. */
void kiln_guest_be(kiln_runner *r, const kiln_wire_frame *f, int parent);
/* For people; "" where it ended as it should. */
const char *kiln_guest_end(kiln_arena *a, kiln_page *page, int status);
/* Before any code is loaded: as much memory as that, no file but those that are open
 * or, where it `reads`, to be read, no process. */
kiln_status kiln_guest_limit(kiln_guest *g, uint64_t data_bytes, bool reads,
                             kiln_err *err);
/* All code is loaded, and all files are read: from now on there will be none. */
kiln_status kiln_guest_close_in(const kiln_guest *g, kiln_err *err);
/* Shared bytes. KILN_ERR_PARSE: there are no such. */
kiln_status kiln_guest_bytes(const kiln_guest *g, kiln_wire_place p, const void **out,
                             kiln_err *err);
kiln_status kiln_guest_load(const kiln_guest *g, kiln_arena *a,
                            const kiln_wire_function *f, kiln_kernel_fn **out,
                            kiln_err *err);
/* Tells what was found, or what is wrong. */
kiln_status kiln_guest_answer(const kiln_guest *g, kiln_arena *a, kiln_status st,
                              const kiln_err *why, const kiln_wire_told *told,
                              kiln_err *err);

/* hosted_linux.c: networks of who is behind a socket: each has a process, whose questions
 * and answers go through this one. It is told of one that ends by itself.
 *
 * A network: what is not here of its parts is asked for. KILN_ERR_PARSE: what the message
 * says cannot be. */
kiln_status kiln_hosted_open(kiln_runner *r, kiln_arena *a, const kiln_wire_frame *f,
                             kiln_err *err);
/* A question, which goes on to the process that it is for. */
kiln_status kiln_hosted_ask(kiln_runner *r, kiln_arena *a, const kiln_wire_frame *f,
                            kiln_buf *answer, kiln_err *err);
/* Passes answers on until the peer says something. KILN_ERR_IO: it says nothing for
 * wait_ms. */
kiln_status kiln_hosted_wait(kiln_runner *r, int64_t wait_ms, kiln_err *err);

/* runner_network.c: opens it, and answers what is asked of it until KILN_ASK_END. */
kiln_status kiln_network_serve(kiln_guest *g, kiln_err *err);
/* runner_pack.c: packs all constants. */
kiln_status kiln_packs_serve(kiln_guest *g, kiln_err *err);
/* Runs sessions at once, each again and again by a thread of its own, until time is up
 * or standard input has something to say. */
typedef struct kiln_load_run {
    int64_t begin, end; /* since the load began */
} kiln_load_run;
typedef struct kiln_load_record {
    kiln_load_run *run; /* of each session: n of them */
    size_t n;
} kiln_load_record;
kiln_status kiln_load_do(kiln_arena *a, kiln_session *const *session, uint32_t n,
                         size_t room, int64_t time_ns, kiln_load_record *out,
                         kiln_wire_told *told, kiln_err *err);

/* ---- conversations --------------------------------------------------------------- */

/* With a fleet, until it ends or its lease does. The exit code. lease_fd: notes of the
 * lease go there; -1: nobody wants them. */
int kiln_runner_talk(int in, int out, int lease_fd, const char *machine);
/* Listens, and lends itself to one connection after the other, until a signal asks it to
 * end. The exit code. pool: where it registers by that name (NULL: its address); NULL: it
 * does not. */
int kiln_runner_listen(const char *address, const char *pool, const char *name,
                       const char *machine);

/* Tells a pool of it meanwhile, every few seconds: what it is called, where it listens, how
 * warm the machine is. */
typedef struct kiln_enrolment {
    const char *pool; /* its address; NULL: there is none */
    const char *name, *address;
    int fd; /* -1: not connected */
    int64_t next_ns;
} kiln_enrolment;
void kiln_enrol(kiln_enrolment *e);

/* ---- the machine ----------------------------------------------------------------- */

kiln_status kiln_meter_kernels_open(kiln_runner *r, kiln_err *err);
/* Looks for a better peak than the best so far. */
void kiln_meter_kernels_again(kiln_meter_kernels *m, uint32_t threads);
/* One slice of the peak. pool NULL: the caller alone. */
kiln_peak_slice kiln_meter_kernels_slice(const kiln_meter_kernels *m, kiln_pool *pool);
/* GFLOP/s: the larger of what it reached and what so many threads do at its clock. */
double kiln_meter_kernels_gflops(const kiln_meter_kernels *m, const kiln_peak_slice *s,
                                 int threads);
/* Nanoseconds of so many calls of one kernel on each thread, which has n arguments of
 * its own; 0: it failed. */
double kiln_meter_kernels_run(kiln_pool *pool, kiln_kernel_fn *fn, void *const *tensor,
                              size_t n, int runs);
/* The function of an object, for as long as the process lives. */
kiln_status kiln_meter_kernels_load(kiln_str object, kiln_str name,
                                    kiln_kernel_fn **out, kiln_err *err);
/* The kernels and arguments for so many threads; nothing is measured. */
kiln_status kiln_meter_kernels_load_peak(kiln_meter_kernels *m, int threads,
                                         kiln_err *err);
/* What this machine can do, measured by all threads, in a process of their own. Never
 * fails: *out has the problem. */
void kiln_limits_measure(kiln_runner *r, kiln_arena *a, const kiln_wire_limits *q,
                         kiln_wire_limited *out);
/* Median, and its interval of about 95%; sorts v. n > 0 */
void kiln_median_interval(double *v, size_t n, double *median, double *low,
                          double *high);

#endif
