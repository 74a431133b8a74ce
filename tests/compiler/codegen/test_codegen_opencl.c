/* Printed as OpenCL C, compiled by this machine's device and run equals evaluated: random
 * programs of blocks and threads, all in one module. KILN_SOAK=1: 1,000 of them.
 * Integers are exact. */
#include "compiler/codegen/codegen_gpu_module.h"
#include "tests/support/kiln_test.h"
#include "tests/support/gpu/opencl_leaks.h"
#include "tests/support/gpu/opencl_run.h"
#include "tests/support/random/random_threads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_PROGRAMS = 24, SOAK = 1000, BATCH = 12 };

static kiln_str object_of(kiln_arena *a, const kiln_program *p, const char *profile) {
    const kiln_profile *prof = NULL;
    kiln_object o = {.workspace_bytes = 0};
    kiln_err err = {0};
    for (int i = 0; kiln_gpu_profile_at(i) != NULL; i++)
        if (strcmp(kiln_gpu_profile_at(i)->name, profile) == 0)
            prof = kiln_gpu_profile_at(i);
    assert_non_null(prof);
    kiln_assert_status_ok(kiln_codegen(a, p, prof, NULL, &o, NULL, &err), &err);
    kiln_assert_status_ok(kiln_object_check(o.bytes, &err), &err);
    return o.bytes;
}

/* A module of several, which is what a package holds; compiled at once. Returns how many
 * compute something else. */
static int batch(uint64_t first, int n) {
    kiln_arena a = {0};
    kiln_err err = {0};
    random_threads *all = kiln_array(&a, random_threads, n);
    kiln_str *object = kiln_array(&a, kiln_str, n), linked = {"", 0};
    kiln_gpu_module m;
    opencl_code *code = NULL;
    int n_wrong = 0;
    for (int i = 0; i < n; i++) {
        random_threads_make(&a, first + (uint64_t)i, &all[i]);
        kiln_program *p = all[i].program;
        p->name = kiln_format(&a, "drawn_%d", i);
        kiln_assert_status_ok(kiln_program_optimize(p, &(kiln_loop_options){0}, &err),
                              &err);
        object[i] = object_of(&a, p, "opencl-pocl");
    }
    kiln_assert_status_ok(kiln_gpu_module_link(&a, object, (size_t)n, &linked, &err),
                          &err);
    kiln_assert_status_ok(kiln_gpu_object_open(&a, linked, &m, &err), &err);
    assert_int_equal(m.header->n_kernels, n);
    if (opencl_missing() == NULL) {
        const kiln_status st = opencl_open(&a, &m, &code, &err);
        if (st != KILN_OK && getenv("VERBOSE") != NULL)
            fprintf(stderr, "%s\n", m.code);
        kiln_assert_status_ok(st, &err);
    }
    for (int i = 0; i < n && code != NULL; i++) {
        const random_threads *x = &all[i];
        const size_t bytes = (size_t)x->n * sizeof(int64_t);
        int64_t *y = kiln_array(&a, int64_t, x->n);
        const opencl_operand operand[] = {{x->x, bytes}, {y, bytes}};
        kiln_assert_status_ok(opencl_run(code, x->program->name, operand, 2, &err),
                              &err);
        if (memcmp(y, x->want, bytes) != 0) {
            fprintf(stderr, "program %d computes something else:\n%s\n", i, x->text);
            n_wrong++;
        }
    }
    if (code != NULL)
        opencl_close(code);
    kiln_arena_fini(&a);
    return n_wrong;
}

/* Devices take longer for each kernel of a module the more there are in it. */
static void random_programs(void **state) {
    const int n = getenv("KILN_SOAK") != NULL ? SOAK : (int)kiln_test_cases(N_PROGRAMS);
    int n_wrong = 0;
    (void)state;
    for (int i = 0; i < n; i += BATCH)
        n_wrong += batch(kiln_test_seed() * 1000003u + (uint64_t)i,
                         n - i < BATCH ? n - i : BATCH);
    if (opencl_missing() != NULL)
        kiln_test_skip("%s", opencl_missing());
    print_message("%d programs\n", n);
    assert_int_equal(n_wrong, 0);
}

OPENCL_LEAKS_ARE_THE_DRIVERS

int main(void) {
    kiln_test_add("random_programs", random_programs, NULL);
    return kiln_test_run("OpenCL C");
}
