/* What every GPU kind is held to, by its trial (gpu_trial.h): tests for rows of kinds. */
#ifndef KILN_TESTS_SUPPORT_GPU_GPU_CHECKS_H
#define KILN_TESTS_SUPPORT_GPU_GPU_CHECKS_H

#include "tests/support/gpu/gpu_trial.h"

typedef struct kiln_gpu_row {
    const char *name, *kind;
    const char *variable, *value; /* of the environment; NULL: none */
    const char *ptx;              /* NULL: the trial's OpenCL C */
    uint64_t ns;                  /* that the trial's step takes; 0: who knows */
} kiln_gpu_row;

/* A trial by an allocator that counts. Where there is no device, the test is skipped;
 * what is not as it should be fails it. */
void kiln_gpu_row_open(const kiln_gpu_row *r, kiln_gpu_trial *t);
/* The same by an allocator whose allocation number `fails` does; false with a reason. */
bool kiln_gpu_row_try(const kiln_gpu_row *r, kiln_gpu_trial *t, int fails,
                      char error[KILN_ERROR_TEXT]);
/* Nothing may be left. */
void kiln_gpu_row_close(kiln_gpu_trial *t);
int kiln_gpu_row_live(void); /* blocks */

/* Tests; *state is a row. */
void kiln_gpu_check_does_as_the_model(void **state);
void kiln_gpu_check_is_shared_by_threads(void **state);
void kiln_gpu_check_skips_what_follows_a_failure(void **state);
void kiln_gpu_check_wants_its_workspace(void **state);
void kiln_gpu_check_failing_memory_leaves_nothing(void **state);
void kiln_gpu_check_times_its_launches(void **state);

#endif
