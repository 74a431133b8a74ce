/* Networks that kiln writes for C compilers, as source and as libraries, in tests: written
 * by the program that KILN names, compiled, and their self-tests run. */
#ifndef KILN_TESTS_SUPPORT_C_SOURCE_H
#define KILN_TESTS_SUPPORT_C_SOURCE_H

#include "base/host/process.h"
#include "tests/support/program/cli_run.h"

typedef struct kiln_test_network {
    const char *name;
    const char *text;     /* of a graph; NULL: `model` is a file */
    const char *model;    /* file; a test skips where it is absent */
    const char *more[16]; /* arguments of kiln build */
} kiln_test_network;

/* All that functions of numbers become. */
extern const char kiln_test_math_graph[];

/* Runs it to its end; false: there is no such program, or it was killed. */
bool kiln_test_program(kiln_arena *a, const char *const *argv, kiln_process_result *r);
bool kiln_test_has_program(kiln_arena *a, const char *program); /* NULL: yes */

/* Writes the network as "net" into a folder of `dir`, which is returned. */
const char *kiln_test_write_network(kiln_arena *a, const char *dir,
                                    const kiln_test_network *n, const char *profile,
                                    const char *format);
/* Compiles: a test fails with what the compiler says. */
void kiln_test_compile(kiln_arena *a, const char *const *argv);
/* Runs the self-test: all elements are as the reference has them. before: what runs it, or NULL. */
void kiln_test_selftest(kiln_arena *a, const char *before, const char *program);

#endif
