/* A fleet of workers for tests and benchmarks. The workers lie beside the program that
 * KILN in the environment names; without it the test is skipped. */
#ifndef KILN_TESTS_SUPPORT_MEASURE_RUN_H
#define KILN_TESTS_SUPPORT_MEASURE_RUN_H

#include "pipeline/measure/measure.h"
#include "compiler/network/network_work.h"

/* {path of the worker, NULL} */
const char *const *kiln_test_worker(kiln_arena *a, const char *name);
/* Compiles C to the object `to` as kernels are compiled, freestanding; more: further
 * arguments of the compiler, ended by NULL. */
void kiln_test_compile_bare(kiln_arena *a, const char *source, const char *to,
                            const char *const *more);
/* DIR/NAME.o: a kernel in C, freestanding, with FAULT_NAME defined. */
void kiln_test_compile_kernel(kiln_arena *a, const char *source, const char *name,
                              const char *dir);
/* The same with the kernel's function, kiln_kernel in the source, named otherwise; more:
 * a further argument of the compiler, or NULL. */
void kiln_test_compile_kernel_as(kiln_arena *a, const char *source, const char *name,
                                 const char *dir, const char *symbol, const char *more);
/* Workers under AddressSanitizer catch signals of candidates themselves. */
void kiln_test_as_worker_environment(void);
/* This machine, with a last cache of 32 MiB at most: a runner that starts reads twice as much
 * of memory four times, and copies weights until they are as much, which for a server's cache
 * of 260 MiB is most of what a test costs. */
void kiln_test_native_of(kiln_arena *a, kiln_profile *out);
/* Opens a fleet here: *o may have anything set; the profile, kiln_test_native_of(), builder_argv
 * and runner_argv are filled in where NULL. */
kiln_measure *kiln_test_measure_open(kiln_arena *a, kiln_measure_options *o);

/* A workload by a line of an ops file, with the template that takes it. */
typedef struct kiln_test_work {
    int id;
    kiln_op_work op;
    const kiln_template *tmpl;
    kiln_space space;
} kiln_test_work;
kiln_test_work kiln_test_measure_add(kiln_arena *a, kiln_measure *m,
                                     const kiln_profile *p, const char *line,
                                     bool weights_cold);
/* The configuration that the template guesses, as an index. */
uint64_t kiln_test_measure_guess(const kiln_test_work *w, const kiln_profile *p);

/* kiln-runner --serve unix:FOLDER/NAME, or at any other address, once it listens. */
typedef struct kiln_test_server {
    kiln_child child;
    const char *address; /* in the arena; with the port that was chosen */
} kiln_test_server;
void kiln_test_serve(kiln_arena *a, const char *address, kiln_test_server *out);
/* SIGKILL: nothing is tidied up. A second time is fine. */
void kiln_test_server_kill(kiln_test_server *s);

/* Sleeps. */
void kiln_test_pause_ms(int64_t ms);

#endif
