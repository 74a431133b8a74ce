/* pipeline/devices: where code runs. A device is one file and one row of devices.def:
 * this machine, an emulator. A runner elsewhere is one too, made by who has it lent
 * (pipeline/remote's kiln_remote_device_new).
 *
 *     kiln_device_package_read(a, folder, &p, err);         what is in the package
 *     kiln_device_find_for(a, NULL, &profile, &device, err);      who can run it
 *     kiln_device_run(a, device, &p, &job, in, n_in, out, &result, err);
 *
 * Packages are untrusted: they run in a process of their own, kiln-run (runner/), with
 * limits on time and memory, and whatever becomes of it ends as an error.
 */
#ifndef KILN_PIPELINE_DEVICES_H
#define KILN_PIPELINE_DEVICES_H

#include "base/base.h"
#include "compiler/graph/graph.h"
#include "compiler/target/target.h"

/* ---- devices --------------------------------------------------------------------- */

typedef struct kiln_device kiln_device;
typedef struct kiln_device_order kiln_device_order;
struct kiln_device {
    const char *name; /* "qemu-aarch64" */
    const char *doc;
    const void *user; /* the device's own */
    /* Can it run code for the profile, here and now? Else `missing` (in the arena) says
     * what is not there, with the remedy. */
    bool (*can_run)(const kiln_device *d, kiln_arena *a, const kiln_profile *p,
                    const char **missing);
    /* What comes before kiln-run's arguments: program and its own, `argv` has room for
     * KILN_DEVICE_COMMAND of them; *n receives how many. */
    kiln_status (*command)(const kiln_device *d, kiln_arena *a, const char **argv,
                           size_t *n, kiln_err *err);
    /* In place of that, of a device elsewhere: the run itself. */
    kiln_status (*run)(const kiln_device *d, kiln_arena *a, const kiln_device_order *o,
                       kiln_err *err);
    uint64_t own_bytes;  /* memory that it takes besides the package's */
    bool is_emulated;    /* times say nothing about the machine */
    const char *machine; /* elsewhere: which one; NULL: this one, or none */
};
enum { KILN_DEVICE_COMMAND = 8 };

const kiln_device *kiln_device_at(int i);   /* NULL past the end */
extern const kiln_device kiln_device_local; /* this machine */
/* KILN_ERR_ARG lists the names. */
kiln_status kiln_device_find(const char *name, const kiln_device **out, kiln_err *err);
/* `where`, or, where that is NULL, the first of the table, that can run code for the
 * profile. KILN_ERR_UNSUPPORTED says for each what is missing. */
kiln_status kiln_device_find_for(kiln_arena *a, const kiln_device *where,
                                 const kiln_profile *p, const kiln_device **out,
                                 kiln_err *err);

/* Is code for the profile measured on this machine? So it is where the profile does not
 * say. KILN_ERR_UNSUPPORTED names the device where it is measured, KILN_ERR_ARG those
 * there are where it names none of them. */
kiln_status kiln_device_measures_here(const kiln_profile *p, kiln_err *err);
/* Who judges code for the profile: the device where it is measured, else the first that
 * can run it. KILN_ERR_UNSUPPORTED says what is missing, KILN_ERR_ARG as above. */
kiln_status kiln_device_judge_for(kiln_arena *a, const kiln_profile *p,
                                  const kiln_device **out, kiln_err *err);

/* ---- packages -------------------------------------------------------------------- */

typedef struct kiln_device_port {
    const char *name;
    kiln_type type; /* row-major */
} kiln_device_port;

typedef struct kiln_device_step {
    const char *name, *op;
    uint64_t runs, time_ns; /* of results: in all timed runs */
} kiln_device_step;

/* What an unpacked package's plan.bin says. */
typedef struct kiln_device_package {
    const char *folder;
    const char *model, *profile; /* names */
    kiln_arch arch;
    const kiln_device_port *input, *output;
    size_t n_inputs, n_outputs;
    const kiln_device_step *step;
    size_t n_steps;
    const kiln_device_step *open; /* steps that pack parameters when it is opened */
    size_t n_open;
    bool has_driver; /* a device of it has (runtime/device.h): runs are not confined */
} kiln_device_package;

/* For any machine's package. KILN_ERR_PARSE says what is wrong with the plan. */
kiln_status kiln_device_package_read(kiln_arena *a, const char *folder,
                                     kiln_device_package *out, kiln_err *err);

/* ---- runs ------------------------------------------------------------------------ */

enum {
    KILN_DEVICE_TIME_LIMIT_MS = 600 * 1000,
    KILN_DEVICE_MAX_ROUNDS = 100000,
    KILN_DEVICE_MAX_THREADS = 1024,
    KILN_DEVICE_MAX_INJECTED_PPM = 10 * 1000000
};

typedef struct kiln_device_job {
    int n_threads;      /* 0: 1 */
    int n_rounds;       /* timed runs; 0: 1 */
    int n_warm_up;      /* runs before them */
    bool wants_profile; /* time each step too */
    /* Timed runs are drawn out by so many millionths of their time: a regression that
     * is none (docs/gate.md). 0: they are not. */
    int injected_ppm;
    /* A file that one more run writes what steps read and write to
     * (runner/runner.h: run_trace_record), of those from trace_begin on and before
     * trace_end; NULL: none. */
    const char *trace;
    int trace_begin, trace_end;
    int64_t time_limit_ms; /* of all; 0: KILN_DEVICE_TIME_LIMIT_MS */
    /* Of private writable memory, the device's own comes on top; 0: none. Programs
     * under a sanitizer do not start under it. */
    uint64_t memory_limit_bytes;
} kiln_device_job;

typedef struct kiln_device_result {
    uint64_t open_ns; /* model and session */
    uint64_t session_bytes;
    const uint64_t *run_ns;
    /* Of each run: what the first thread got of its processor, and how often one of the
     * threads lost its. */
    const uint64_t *cpu_ns, *preempted;
    /* Of each run: the system held the clock back, as the machine was too warm. NULL: the
     * device does not say. */
    const bool *throttled;
    uint32_t degrees; /* the warmest it was, Celsius; 0: not known */
    size_t n_runs;
    double clock_ghz[2]; /* before the runs and after them: to compare processes with */
    const kiln_device_step *step; /* NULL: no profile was asked for */
    size_t n_steps;
} kiln_device_result;

/* Runs the package in a process of its own. `in`: one row-major tensor for each input,
 * of its type (KILN_ERR_SHAPE names the input); `out` (may be NULL) receives one for
 * each output, in `a`, as the last run left them; `result` may be NULL.
 *   KILN_ERR_PARSE        the runner refuses the package
 *   KILN_ERR_LIMIT        the time limit has passed
 *   KILN_ERR_LIB          a kernel failed, or the process crashed: by which signal
 *   KILN_ERR_IO           the device said no: memory, threads, files */
kiln_status kiln_device_run(kiln_arena *a, const kiln_device *d,
                            const kiln_device_package *p, const kiln_device_job *job,
                            const kiln_tensor *in, size_t n_in, kiln_tensor *out,
                            kiln_device_result *result, kiln_err *err);

/* What a device elsewhere is to do (kiln_device.run). */
struct kiln_device_order {
    const kiln_device_package *package;
    const kiln_device_job *job; /* complete: nothing of it is 0 that stands for more */
    const kiln_tensor *in;      /* of the inputs' types */
    kiln_tensor *out; /* NULL: nobody asks; else one for each output, in `a` */
    kiln_device_result *result; /* NULL: nobody asks */
};

/* For verification: runs a package instead of the graph that it was made from
 * (kiln_runner.run; user: a kiln_device_target). Inputs and outputs go by their
 * order. */
typedef struct kiln_device_target {
    const kiln_device *device;
    const kiln_device_package *package;
    kiln_device_job job;
} kiln_device_target;
kiln_status kiln_device_run_graph(void *target, kiln_arena *a, const kiln_graph *g,
                                  const kiln_tensor *in, size_t n_in, kiln_tensor *out,
                                  kiln_err *err);

#endif
