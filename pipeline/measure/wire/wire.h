/* Messages between the fleet, kiln-builder and kiln-runner (docs/workers.md).
 *
 * A frame is a header of 16 bytes (magic, version, kind, length of what follows) and
 * the fields of one message: little-endian numbers, texts with their length ahead. What
 * arrives is untrusted: a worker may have been overwritten by a candidate. Lengths and
 * counts are limited; a frame that is not exactly its message is refused.
 *
 * What is large, a workload's text, inputs and expected outputs, is named by messages:
 * SHA-256 and size. A worker asks for what it lacks and gets it in pieces (blobs.h).
 */
#ifndef KILN_PIPELINE_MEASURE_WIRE_H
#define KILN_PIPELINE_MEASURE_WIRE_H

#include "base/base.h"

enum {
    KILN_WIRE_VERSION = 11,
    KILN_WIRE_HEADER_BYTES = 16,
    KILN_WIRE_MAX_BYTES = 64 * 1024 * 1024, /* of a message */
    KILN_WIRE_MAX_TEXT = 64 * 1024,
    KILN_WIRE_MAX_OPERANDS = 64,
    KILN_WIRE_MAX_RANK = 8,
    KILN_WIRE_MAX_STEPS = 12, /* axes of a packed operand */
    KILN_WIRE_MAX_LEVELS = 4, /* of memory */
    KILN_WIRE_MAX_KERNELS = 1 << 16,
    KILN_WIRE_MAX_MODULES = 8,
    KILN_WIRE_MAX_INPUTS = 4096,
    KILN_WIRE_MAX_PARTS =
        KILN_WIRE_MAX_KERNELS + KILN_WIRE_MAX_MODULES + KILN_WIRE_MAX_INPUTS + 2,
    KILN_WIRE_MAX_GUESTS = 8, /* networks that a runner has open at once */
    KILN_WIRE_MAX_CONSTANTS = 1 << 20,
    KILN_WIRE_MAX_STEPS_TOLD = 1 << 20,
    KILN_WIRE_MAX_DATA = 32 * 1024 * 1024, /* of an answer */
    KILN_WIRE_MAX_SEEDS = 8,
    KILN_WIRE_MAX_SLICES = 256,
    KILN_WIRE_FEW_SLICES = 5, /* of fewer undisturbed ones than this, all count */
    KILN_WIRE_OWN_CPU = -2,
    KILN_WIRE_SHA256_BYTES = 32,
    KILN_WIRE_MAX_NEEDS = 256,        /* blobs that one message asks for */
    KILN_WIRE_PIECE_BYTES = 1 << 20,  /* of a blob, in one message */
    KILN_WIRE_SILENCE_MS = 60 * 1000, /* longest wait for the next piece */
    /* Limits of time are of processor time: a busy machine is not a candidate's fault.
     * By the wall they are so many times that. */
    KILN_WIRE_WALL_LIMITS = 20
};

/* How a candidate ends. */
typedef enum kiln_trial_error {
    KILN_TRIAL_GOOD,          /* proved right on every seed, and timed */
    KILN_TRIAL_SLOW,          /* right as far as checked; stopped early as a clear
                                 loser: the slices say how slow at least */
    KILN_TRIAL_REFUSED,       /* by the template, a pass or the code generator */
    KILN_TRIAL_SPILLS,        /* its hot loops spill registers: not measured */
    KILN_TRIAL_BUILD_CRASH,   /* the builder died of it, */
    KILN_TRIAL_BUILD_TIMEOUT, /* had no end within the time limit, */
    KILN_TRIAL_BUILD_MEMORY,  /* or within the memory limit */
    KILN_TRIAL_UNLOADABLE,    /* the loader refuses the object */
    KILN_TRIAL_CRASH,         /* a signal */
    KILN_TRIAL_TIMEOUT,
    KILN_TRIAL_MEMORY,        /* wants, or took, more than the limit */
    KILN_TRIAL_OUT_OF_BOUNDS, /* touched a guard page or a canary, or wrote an input */
    KILN_TRIAL_EXIT,          /* ended the process */
    KILN_TRIAL_FORBIDDEN,     /* asked the system for something, or left processes */
    KILN_TRIAL_RETURNED,      /* a result other than 0 */
    KILN_TRIAL_WRONG,         /* an output is not within its bound */
    KILN_TRIAL_IMPLAUSIBLE,   /* faster than the machine allows, measured twice */
    KILN_TRIAL_LOST,          /* a worker died, or was killed, more than once; it says
                                 nothing about the candidate */
    KILN_N_TRIAL_ERRORS
} kiln_trial_error;
/* "good", "slow", "refused", ..., "out-of-bounds": for databases and reports. */
const char *kiln_trial_error_name(kiln_trial_error e);
bool kiln_trial_error_parse(kiln_str name, kiln_trial_error *out);
/* The candidate's own fault: crash, hang, memory, memory of others, wrong result. */
bool kiln_trial_error_is_fault(kiln_trial_error e);

/* ---- operands -------------------------------------------------------------------- */

typedef enum kiln_wire_dtype {
    KILN_WIRE_F32,
    KILN_WIRE_F16,
    KILN_WIRE_BF16,
    KILN_WIRE_F64,
    KILN_WIRE_I8,
    KILN_WIRE_U8,
    KILN_WIRE_I16,
    KILN_WIRE_U16,
    KILN_WIRE_I32,
    KILN_WIRE_U32,
    KILN_WIRE_I64,
    KILN_WIRE_U64,
    KILN_WIRE_E4M3FN, /* in the order of kiln_low_format */
    KILN_WIRE_E4M3FNUZ,
    KILN_WIRE_E5M2,
    KILN_WIRE_E5M2FNUZ,
    KILN_WIRE_E8M0,
    KILN_WIRE_E2M1,
    KILN_WIRE_N_DTYPES
} kiln_wire_dtype;
size_t kiln_wire_dtype_bytes(uint32_t dtype);

/* Bytes that are somewhere else, by what they are. No bytes: none are meant. */
#define KILN_WIRE_MAX_BLOB_BYTES (UINT64_C(4) << 30)
typedef struct kiln_wire_blob {
    uint64_t bytes;
    unsigned char sha256[KILN_WIRE_SHA256_BYTES];
    /* No part of a message. Of a worker: where it has them, for one candidate (64-byte
     * aligned); NULL: not here. */
    const void *data;
} kiln_wire_blob;
bool kiln_wire_blob_eq(const kiln_wire_blob *a, const kiln_wire_blob *b);
/* The name's first digits, for messages: "blob 3b0c44298fc1 of 64 bytes". */
enum { KILN_WIRE_BLOB_TEXT = 64 };
const char *kiln_wire_blob_text(const kiln_wire_blob *b,
                                char text[KILN_WIRE_BLOB_TEXT]);

/* What an output must be, with one seed: element pick[i] is value[i] within bound[i].
 */
typedef struct kiln_wire_expected {
    kiln_wire_blob value; /* f64 */
    kiln_wire_blob bound; /* f64; no bytes: exact */
    kiln_wire_blob pick;  /* i64, row-major; no bytes: elements 0, 1, 2, ... */
} kiln_wire_expected;

/* A value of the workload: an input with its row-major elements, or an output. */
typedef struct kiln_wire_value {
    kiln_str name;
    uint32_t dtype, rank;
    int64_t dim[KILN_WIRE_MAX_RANK];
    uint32_t is_output, is_weight;
    kiln_wire_blob data[KILN_WIRE_MAX_SEEDS];         /* inputs, by seed */
    kiln_wire_expected expected[KILN_WIRE_MAX_SEEDS]; /* outputs, by seed */
} kiln_wire_value;

/* One axis of a packed operand, slowest first: a position on it stands for `size`
 * elements of a logical axis. */
typedef struct kiln_wire_step {
    uint32_t axis;
    int64_t extent, size;
} kiln_wire_step;

/* Code that makes an input's bytes of the value's row-major elements: a function of
 * these two. */
typedef struct kiln_wire_packing {
    kiln_str object, name; /* object: "": none, the elements are only moved */
    uint64_t workspace_bytes, scratch_bytes;
    uint64_t bytes; /* that it makes */
    /* No part of a message. Of a runner: the code's digest. */
    unsigned char sha256[KILN_WIRE_SHA256_BYTES];
} kiln_wire_packing;

/* An argument of a kernel: which value, lying how; or, of inputs, packed by code, and
 * then without steps. */
typedef struct kiln_wire_operand {
    uint32_t value;
    kiln_wire_packing packing;
    uint32_t n_steps;
    kiln_wire_step step[KILN_WIRE_MAX_STEPS];
} kiln_wire_operand;

/* ---- messages -------------------------------------------------------------------- */

typedef enum kiln_wire_kind {
    KILN_WIRE_HELLO,   /* worker: here I am */
    KILN_WIRE_FAILED,  /* worker: I cannot go on, and end */
    KILN_WIRE_LEASE,   /* fleet to runner: for me alone, as long as I am heard of */
    KILN_WIRE_LEASED,  /* runner: it is */
    KILN_WIRE_LENT,    /* runner: it is somebody else's */
    KILN_WIRE_BUILDER, /* fleet to builder: what code is made for */
    KILN_WIRE_METER,   /* builder: kernels that measure the machine's peak */
    KILN_WIRE_RUNNER,  /* fleet to runner: these, and how to measure */
    KILN_WIRE_READY,   /* runner: the peak */
    KILN_WIRE_WORK,    /* fleet to both: a workload, */
    KILN_WIRE_DROP,    /* which will not be asked for any more */
    KILN_WIRE_NEED,    /* worker: has not these of the workload in hand */
    KILN_WIRE_BLOB,    /* fleet to both: a piece of one of them */
    KILN_WIRE_BUILD,   /* fleet to builder */
    KILN_WIRE_BUILT,
    KILN_WIRE_RUN, /* fleet to runner */
    KILN_WIRE_RAN,
    KILN_WIRE_TURN,   /* fleet to runner, whose candidate takes turns: one more, */
    KILN_WIRE_TURNED, /* and what it was; the first says that it may be asked */
    KILN_WIRE_LIMITS, /* fleet to runner: what can this machine do? */
    KILN_WIRE_LIMITED,
    KILN_WIRE_NETWORK, /* kiln to a runner: a network, */
    KILN_WIRE_ASK,     /* what is wanted of it, */
    KILN_WIRE_TOLD,    /* and the answer to either */
    KILN_WIRE_PACKS,   /* kiln to a runner of its own: constants to be packed */
    KILN_WIRE_ENDED,   /* runner: the process that it forked for either is gone */
    KILN_WIRE_BORROW,  /* fleet to a pool that greeted: a device, please */
    KILN_WIRE_QUEUED,  /* pool: not yet; said again and again meanwhile */
    KILN_WIRE_GRANTED, /* pool: this one; its greeting is next, and all is between you */
    KILN_WIRE_RECALL,  /* pool: give it back once the candidate at hand is done */
    KILN_WIRE_GONE,    /* pool: it is lost, and the connection ends */
    KILN_WIRE_REGISTER, /* device to pool: it may be lent; again and again */
    KILN_WIRE_LIST,     /* anybody to a pool: who has what? */
    KILN_WIRE_LISTED,
    KILN_WIRE_N_KINDS
} kiln_wire_kind;

typedef struct kiln_wire_hello {
    kiln_str role; /* "builder", "runner" */
    kiln_str
        machine; /* a runner's profile as JSON, as it was detected; "": not known */
} kiln_wire_hello;

typedef struct kiln_wire_failed {
    kiln_str text;
} kiln_wire_failed;

/* Of a builder's and a runner's limits: a week. */
enum { KILN_WIRE_MOST_LIMIT_MS = 7 * 24 * 3600 * 1000 };

/* A lease ends with the connection, and so long after the last message of who has it.
 */
enum { KILN_WIRE_LEAST_LEASE_MS = 100, KILN_WIRE_MOST_LEASE_MS = 24 * 3600 * 1000 };
typedef struct kiln_wire_lease {
    kiln_str owner; /* for people */
    int64_t ms;
} kiln_wire_lease;

typedef struct kiln_wire_leased {
    int64_t ms;
} kiln_wire_leased;

typedef struct kiln_wire_lent {
    kiln_str owner;
    int64_t left_ms; /* unless its owner is heard of again before, which is usual */
} kiln_wire_lent;

/* KILN_ERR_IO, saying to whom. */
kiln_status kiln_wire_refuse_lent(const kiln_wire_lent *lent, kiln_err *err);

typedef struct kiln_wire_builder {
    kiln_str profile; /* JSON */
    uint64_t data_limit_bytes;
    int64_t time_limit_ms; /* of the processor, for one candidate */
} kiln_wire_builder;

typedef struct kiln_wire_meter {
    kiln_str fma, chain; /* objects; functions of these names follow */
    kiln_str fma_name, chain_name;
    double fma_flops, chain_steps; /* of one call */
    double lanes;                  /* f32 in a vector */
    double fma_unit;               /* what multiply-adds per cycle come in: 1, or 1/2 */
} kiln_wire_meter;

typedef struct kiln_wire_runner {
    kiln_wire_meter meter;
    uint32_t threads;
    /* That one-thread kernels are timed on; -1: any; KILN_WIRE_OWN_CPU: the first that
     * it may use. */
    int32_t cpu;
    uint64_t last_cache_bytes; /* weights are rotated through more than this */
    uint64_t data_limit_bytes; /* that a candidate may take beyond its operands */
    int64_t time_limit_ms;     /* of the processor, for all runs of a candidate */
    double precision, loser;
    /* The kind of device (runtime/device.h) that candidates are for, which there is no
     * meter of: what it does, by its profile; and how long its driver may take for a
     * candidate's code. "": the host, and 0. */
    kiln_str device;
    double device_gflops, device_gbs;
    int64_t driver_limit_ms;
} kiln_wire_runner;

typedef struct kiln_wire_ready {
    double peak_gflops, clock_ghz, fma_per_cycle;
    double memory_gbs;     /* that all threads may read at most; 0: not known */
    uint32_t is_confined;  /* candidates are, by an allow-list of system calls; else: */
    kiln_str not_confined; /* why not */
    kiln_str device; /* as its driver names it; "": the host, or, where one was asked
                        for, that it cannot be used: not_confined says why */
} kiln_wire_ready;

typedef struct kiln_wire_work {
    uint32_t id;
    kiln_wire_blob graph; /* text, for the builder */
    double flops;
    uint32_t n_seeds, weights_cold;
    uint32_t n_values;
    kiln_wire_value *value;
} kiln_wire_work;

typedef struct kiln_wire_drop {
    uint32_t work;
} kiln_wire_drop;

typedef struct kiln_wire_need {
    uint32_t n;
    kiln_wire_blob *blob;
} kiln_wire_need;

/* Pieces of a blob come in order, and whole blobs in the order that they were asked
 * for. */
typedef struct kiln_wire_piece {
    kiln_wire_blob of;
    uint64_t at;
    kiln_str bytes; /* one at least, at most KILN_WIRE_PIECE_BYTES */
} kiln_wire_piece;

typedef struct kiln_wire_build {
    uint64_t id;
    uint32_t work;
    kiln_str tmpl;
    uint64_t config; /* index */
    uint32_t takes_spills;
} kiln_wire_build;

/* What both sides know of code. */
typedef struct kiln_wire_code {
    kiln_str object, name; /* name: of the function */
    uint64_t workspace_bytes, scratch_bytes;
    double least_flops; /* that it does without fail (kiln_program_least_flops) */
    uint32_t n_inputs, n_operands; /* inputs, then outputs */
    double
        amplification; /* of the error bounds, by the kernel's algorithm; 1 or more */
    kiln_wire_operand *operand;
} kiln_wire_code;

/* What else a builder knows of code, for reports. */
typedef struct kiln_code_facts {
    uint64_t operand_bytes; /* of all arguments, as they are stored */
    uint32_t n_loops;       /* innermost ones */
    double lower_ms, codegen_ms;
    /* How its work spreads over two threads (kiln_spread). */
    int64_t forks, iterations;
    double work, serial, longest;
} kiln_code_facts;

typedef struct kiln_wire_built {
    uint64_t id;
    uint32_t error; /* GOOD, REFUSED or SPILLS */
    kiln_str text, layouts;
    kiln_code_facts facts;
    uint32_t spills, vector_registers, hot_fma, hot_instructions;
    double build_ms;
    kiln_wire_code code;
} kiln_wire_built;

typedef struct kiln_wire_run {
    uint64_t id;
    uint32_t work;
    double best_ns;       /* 0: none yet */
    double budget_ms;     /* for slices */
    uint32_t takes_turns; /* a slice is timed for each KILN_WIRE_TURN */
    kiln_wire_code code;
} kiln_wire_run;

/* One slice: the kernel's, between slices of the machine's peak. */
typedef struct kiln_slice {
    double ns;          /* of one call */
    double peak_gflops; /* measured just before */
    bool disturbed;     /* others had the processor, or the peak was well below its
                           best, or the clock was held back */
    bool
        is_throttled; /* that: it is too warm; the machine cools down before the next */
    uint32_t clock_mhz, degrees; /* behind it; 0: the machine does not say */
} kiln_slice;

typedef struct kiln_wire_ran {
    uint64_t id;
    uint32_t error;
    kiln_str text;
    uint32_t n_seeds;
    double worst, median_ns, low_ns, high_ns, peak_share, run_ms, peak_gflops;
    double max_abs; /* largest |got - want| */
    /* Of its proof on the first seed: elements that were compared, of so many. */
    uint64_t n_compared, n_elems;
    /* What it must compute at least, and the best peak that the runner knows of. */
    double least_flops, limit_gflops;
    uint64_t n_runs;
    uint32_t is_noisy, n_disturbed, n_slices;
    kiln_slice *slice;
} kiln_wire_ran;

/* What a candidate that takes turns is to do now. */
typedef struct kiln_wire_turn {
    uint64_t id;
    uint32_t is_last;  /* nothing more: it is judged, and the answer is KILN_WIRE_RAN */
    uint32_t has_peak; /* a slice of the machine's peak, */
    uint32_t n_ahead;  /* calls that are not timed, */
    uint32_t has_slice; /* and about a millisecond of calls that are */
} kiln_wire_turn;

/* How many multiply-adds all threads together reached, and the clock beside them. */
typedef struct kiln_peak_slice {
    double gflops, clock_ghz;
} kiln_peak_slice;

/* What became of a turn; 0 of what was not asked for. */
typedef struct kiln_turn {
    kiln_peak_slice peak;
    double ns;         /* of one call */
    uint64_t runs;     /* that were timed */
    bool is_disturbed; /* others had a processor */
} kiln_turn;

typedef struct kiln_wire_turned {
    uint64_t id;
    kiln_turn turn;
} kiln_wire_turned;

/* Kernels that copy and read memory, {x, y} both: functions kiln_meter_copy and
 * kiln_meter_read of an object each. Bytes: that a call moves. */
typedef struct kiln_wire_level {
    kiln_str copy, read;
    uint64_t copy_bytes, read_bytes;
} kiln_wire_level;

typedef struct kiln_wire_limits {
    uint32_t n_peaks; /* slices of the peak, of which the best counts */
    uint32_t n_levels;
    kiln_wire_level *level;
} kiln_wire_limits;

typedef struct kiln_wire_limited {
    kiln_str problem; /* "": there is none */
    kiln_peak_slice peak;
    uint32_t n_levels;
    double gbs[KILN_WIRE_MAX_LEVELS]; /* of all threads, the better of both */
} kiln_wire_limited;

/* ---- networks -------------------------------------------------------------------- */

/* Where a runner of a network finds the memory that who started it shares with it. */
enum { KILN_WIRE_SHARED_FD = KILN_CHILD_SHARED_FD };

/* Bytes of the shared memory; or, where a network comes with parts, of these, as they
 * would lie there. */
typedef struct kiln_wire_place {
    uint64_t at, bytes;
} kiln_wire_place;

typedef struct kiln_wire_function {
    kiln_str symbol;
    kiln_wire_place object;
} kiln_wire_function;

/* Where the next part lies: parts begin at multiples of 64, one behind the other. */
enum { KILN_WIRE_PART_ALIGN = 64 };
uint64_t kiln_wire_part_at(uint64_t end_of_last);

/* Opened in a process that the runner forks for it, until KILN_ASK_END. One that was
 * started by who asks has one at a time, and guest is 0; one behind a socket has several,
 * by numbers below KILN_WIRE_MAX_GUESTS that who asks gives, and shares no memory. */
typedef struct kiln_wire_network {
    uint32_t guest;
    kiln_str folder;  /* of an unpacked package; "": plan, parameters and kernels */
    uint32_t n_parts; /* in place of shared memory: each has bytes */
    kiln_wire_blob *part;
    kiln_wire_place plan, params;
    uint32_t n_kernels, n_inputs;
    kiln_wire_function *kernel; /* the host's */
    uint32_t n_modules;
    kiln_wire_function *module; /* other devices' code: by the plan's file */
    kiln_str driver; /* the kind of device that has one (runtime/device.h), which is not
                        confined; "": none has */
    kiln_wire_place *input;    /* row-major, of every session */
    kiln_wire_meter meter;     /* no objects: no slice of the peak will be asked for */
    uint64_t data_limit_bytes; /* that its process may take; 0: all the machine's */
} kiln_wire_network;

typedef enum kiln_wire_question {
    KILN_ASK_SESSION, /* opens one of n threads: its number is that of those before */
    KILN_ASK_CLOSE,   /* all sessions from `session` on */
    KILN_ASK_TURN,    /* n slices of the peak, n_ahead runs, `runs` that are timed */
    KILN_ASK_OUTPUT,  /* of the last run: bytes from `at` on of output `index` */
    KILN_ASK_LOAD,    /* n sessions from `session` on, again and again for time_ns, each
                         at most `runs` times */
    KILN_ASK_RUNS,    /* of the last load: bytes from `at` on of session `index`'s runs,
                         two i64 each: begin and end since the load began */
    KILN_ASK_STOP,    /* ends a load; no answer */
    KILN_ASK_END, /* the network is closed, and its process ends; this is answered */
    KILN_N_QUESTIONS
} kiln_wire_question;

typedef struct kiln_wire_ask {
    uint32_t guest; /* that is asked */
    uint32_t what;  /* kiln_wire_question */
    uint32_t session, index, n, n_ahead;
    uint32_t has_steps; /* TURN: the clock is read at each step */
    uint64_t runs, at, bytes;
    int64_t time_ns;
} kiln_wire_ask;

/* 0 of what was not asked for. */
typedef struct kiln_wire_told {
    uint32_t guest;   /* that answers */
    kiln_str problem; /* "": it is done */
    double open_ms;   /* of the network */
    uint64_t bytes;   /* SESSION: that it has; LOAD: of all its runs */
    uint32_t is_full; /* LOAD: there was no room for more runs */
    int64_t wall_ns, cpu_ns, preempted; /* TURN: of all runs; LOAD: wall alone */
    kiln_peak_slice peak;
    /* TURN: behind it; 0: the machine does not say, or does not hold its clock back. */
    uint32_t clock_mhz, degrees, is_throttled;
    uint32_t n_steps;
    uint64_t *step_ns;
    kiln_str
        data; /* of a network that was opened: its device, as the driver names it */
} kiln_wire_told;

/* Code that packs: a function of an object. */
typedef struct kiln_wire_packer {
    kiln_wire_function function;
    uint64_t workspace_bytes, scratch_bytes;
} kiln_wire_packer;

/* A constant: its row-major elements, and how many bytes are to come of them. */
typedef struct kiln_wire_constant {
    uint32_t packer; /* index */
    kiln_wire_place from;
    uint64_t bytes; /* packed: at most KILN_WIRE_MAX_BLOB_BYTES */
} kiln_wire_constant;

/* Packed in a process that the runner forks for it, and that ends with the last one.
 * The answers: of one constant after the other, pieces of data in order, each of
 * KILN_WIRE_PIECE_BYTES or what is left; or a problem, and nothing more. */
typedef struct kiln_wire_packs {
    uint32_t n_packers, n_constants;
    kiln_wire_packer *packer;
    kiln_wire_constant *constant;
    uint64_t data_limit_bytes; /* as of a network */
} kiln_wire_packs;

/* How a process ended that was not to end: "was ended by signal 11 (...)". The runner
 * is ready for the next one. */
typedef struct kiln_wire_ended {
    kiln_str text;
    uint32_t guest;
} kiln_wire_ended;

/* ---- pools ----------------------------------------------------------------------- */

/* Who connects to a pool is greeted by a `hello` of the role "pool". */
enum {
    KILN_WIRE_PRIORITY = 10, /* of who says none */
    KILN_WIRE_MAX_PRIORITY = 100,
    KILN_WIRE_MOST_KEPT_MS = 15 * 60 * 1000
};
typedef struct kiln_wire_borrow {
    kiln_str owner;    /* for people; those of one owner share what is its */
    kiln_str profile;  /* JSON: that the device must be fit for, */
    uint32_t threads;  /* with so many threads */
    uint32_t priority; /* 1 or more: its share beside others' */
    int64_t keeps_ms;  /* it cannot give it back sooner without beginning anew */
} kiln_wire_borrow;

typedef struct kiln_wire_queued {
    uint32_t n_waiting; /* requests, this one among them */
    uint32_t n_fit;     /* devices that would do, whoever has them */
} kiln_wire_queued;

typedef struct kiln_wire_granted {
    kiln_str device;
} kiln_wire_granted;

typedef struct kiln_wire_recall {
    int64_t within_ms;
} kiln_wire_recall;

typedef struct kiln_wire_gone {
    kiln_str text;
    uint32_t is_hung; /* it owed an answer and gave none; else it was lost otherwise */
} kiln_wire_gone;

typedef struct kiln_wire_register {
    kiln_str name, address;
    uint32_t degrees; /* Celsius; 0: not known */
} kiln_wire_register;

typedef struct kiln_wire_list {
    uint32_t n_notes; /* of the log, the last */
} kiln_wire_list;

typedef struct kiln_wire_listed {
    kiln_str json;
} kiln_wire_listed;

/* Appends a frame. `message`: the struct of that kind. Our own messages keep to the
 * limits (asserted). */
void kiln_wire_put(kiln_buf *out, kiln_wire_kind kind, const void *message);

/* What came over a pipe and was not read yet. Zeroed but for the arena, which is its
 * own: it grows to the largest frame and no further. */
typedef struct kiln_wire_stream {
    kiln_arena *arena; /* borrowed */
    unsigned char *data;
    size_t n, cap, used; /* used: of the frame given out last */
} kiln_wire_stream;

/* A frame's message, not decoded. Borrowed until the next call for its stream. */
typedef struct kiln_wire_frame {
    kiln_wire_kind kind;
    kiln_str body;
} kiln_wire_frame;

/* Room for at least 64 KiB more; then add to s->n what was read there. */
unsigned char *kiln_wire_stream_room(kiln_wire_stream *s, size_t *room);
/* Nothing of what was given out stays in memory: what is forked from now on must not
 * find it there. The frame given out last is gone. */
void kiln_wire_stream_wipe(kiln_wire_stream *s);
/* The next whole frame; *has: false where more must be read first. KILN_ERR_PARSE: no
 * frame; KILN_ERR_UNSUPPORTED: another version; KILN_ERR_LIMIT: too long. */
kiln_status kiln_wire_next(kiln_wire_stream *s, bool *has, kiln_wire_frame *out,
                           kiln_err *err);
/* Decodes into the struct of the frame's kind; texts stay views into the frame, lists
 * are in the arena. KILN_ERR_PARSE where it is not exactly such a message. */
kiln_status kiln_wire_get(kiln_arena *a, const kiln_wire_frame *f, void *message,
                          kiln_err *err);
/* The same, for who waits for one kind only. */
kiln_status kiln_wire_expect(kiln_arena *a, const kiln_wire_frame *f,
                             kiln_wire_kind kind, void *message, kiln_err *err);
const char *kiln_wire_kind_name(kiln_wire_kind k);

/* For workers: blocking. *has false: end of file. KILN_ERR_IO: nothing came for wait_ms
 * (-1: however long that takes). */
kiln_status kiln_wire_read(int fd, kiln_wire_stream *s, int64_t wait_ms, bool *has,
                           kiln_wire_frame *out, kiln_err *err);
kiln_status kiln_wire_write(int fd, kiln_str bytes, kiln_err *err);

/* Private writable bytes of a process (0: this one), which is what its data limit
 * counts; 0: not known. Signal-safe. */
uint64_t kiln_data_bytes(int pid);

#endif
