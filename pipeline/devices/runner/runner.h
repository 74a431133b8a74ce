/* The runner: opens an unpacked package, runs it, writes outputs, times and profile.
 * What boards run; it stands on runtime/ alone. Shared by its files. */
#ifndef KILN_PIPELINE_DEVICES_RUNNER_RUNNER_H
#define KILN_PIPELINE_DEVICES_RUNNER_RUNNER_H

#include <stdio.h>

#include "runtime/kiln.h"

typedef enum run_exit {
    RUN_OK = 0,
    RUN_USAGE = 2,
    RUN_INPUT = 3,  /* the package or an input's file is refused */
    RUN_DEVICE = 4, /* memory, threads, a file that cannot be written */
    RUN_KERNEL = 5  /* a kernel failed */
} run_exit;

enum { RUN_MAX_INPUTS = 64, RUN_MAX_THREADS = 1024, RUN_MAX_ROUNDS = 1000000 };
enum { RUN_MAX_INJECTED_PPM = 10 * 1000000 };

typedef struct run_options {
    const char *folder, *input_dir, *output_dir, *json; /* NULL: none */
    const char *input[RUN_MAX_INPUTS];                  /* "NAME=FILE" */
    int n_inputs, n_threads, n_rounds, n_warm_up;
    int fills_zeros; /* inputs without a file are zero */
    int is_raw;      /* outputs without .npy's header */
    int is_profiled;
    int is_free;                /* not confined */
    const char *trace;          /* file; NULL: none */
    int trace_begin, trace_end; /* steps, the last one not included */
    int injected_ppm; /* each run is drawn out by so many millionths of its time */
} run_options;

/* What was measured. */
typedef struct run_times {
    uint64_t open_ns;
    uint64_t *run_ns;    /* n_rounds: wall clock */
    uint64_t *cpu_ns;    /* n_rounds: what the first thread got of its processor */
    uint64_t *preempted; /* n_rounds: how often one of our threads lost its */
    double clock_ghz[2]; /* before the timed runs and after them */
    int is_confined;
} run_times;

/* Files that are written: open before the package's code runs, which may open none. */
typedef struct run_files {
    FILE *json, *trace; /* NULL: none */
    FILE **output;      /* of each, n_outputs; NULL: none */
    int n_outputs;
} run_files;

/* Names of a package speak to no terminal: control characters become '?'. */
enum { RUN_LINE = 8192 };
void run_print(FILE *f, const char *begin, char *line);
/* Says what is wrong, on stderr; the code. A macro, so that compilers check the format.
 */
#define run_fail(code, ...)                                                            \
    ((void)snprintf(run_line, sizeof run_line, __VA_ARGS__),                           \
     run_print(stderr, "error: ", run_line), (code))
extern char run_line[RUN_LINE]; /* of the program's one thread that speaks */

/* RUN_OK, or the message is on stderr. */
/* Gives the session the bytes of the file: .npy by its name, else raw. */
run_exit run_read_input(kiln_session *s, int i, const kiln_port_info *port,
                        const char *path);
/* Is the file, by its header or its size, one for the port? So is one that cannot be
 * read: who reads it says why. */
int run_input_fits(const kiln_port_info *port, const char *path);
/* The first variant that the inputs' files are for; a model of one shape is itself. */
run_exit run_choose(const run_options *o, const kiln_model *m, const kiln_model **out);
/* Opens DIR/output_<i>.npy or .bin, and writes it. */
run_exit run_open_output(const char *dir, int i, const kiln_port_info *port, int is_raw,
                         FILE **out);
run_exit run_write_output(FILE *f, int i, const kiln_port_info *port, const void *data,
                          int is_raw);
/* Opens a file for writing with a buffer that needs no memory later. */
FILE *run_open(const char *path);
/* From now on the process may compute, write to open files, and end (devices_runner_confine_linux.c).
 * 0: the system, or this build, has no such thing. */
int run_confine(void);
/* "f32[1,3,8]" */
void run_port_text(char *out, size_t n, const kiln_port_info *port);
/* Clock of the processor that we are on, by a chain of dependent operations: only to be
 * compared with itself. About half a millisecond. */
double run_clock_ghz(void);
/* Of the wall's clock, which never goes back. */
uint64_t run_now_ns(void);
/* Keeps this processor busy from the end of a run, that began at begin_ns, until it has
 * taken that share of its time more. */
void run_draw_out(uint64_t begin_ns, int ppm);
/* The report as JSON. */
run_exit run_report(FILE *f, const run_options *o, const kiln_model *m,
                    const kiln_session *s, const run_times *t);

/* Runs once more and writes to the file what its steps read and write
 * (docs/runtime.md): of those between trace_begin and trace_end, in loops of the first
 * RUN_TRACED iterations. */
enum { RUN_TRACED = 3 };
typedef struct run_trace_record {
    uint32_t kind, step, operand, iteration; /* as in kiln_trace */
    uint64_t bytes;                          /* that follow; parameters have none */
} run_trace_record;
run_exit run_traced(FILE *f, const run_options *o, kiln_session *s);

/* A .npy header (numpy's NEP 1, versions 1 to 3) in the first n bytes of a file. 0, or
 * `why` says what is wrong. */
typedef struct npy_header {
    char descr[16]; /* "<f4" */
    int rank;
    int64_t dim[KILN_PORT_MAX_RANK];
    size_t data; /* where it begins */
} npy_header;
int npy_parse(const unsigned char *p, size_t n, npy_header *out, const char **why);
/* Writes a header of version 1, a multiple of 64 bytes; its length, or 0 where `n` is
 * too small or numpy has no such dtype. */
size_t npy_format(char *out, size_t n, const kiln_port_info *port);
/* numpy's word for a dtype of a plan; NULL: it has none. */
const char *npy_descr(const char *dtype);

#endif
