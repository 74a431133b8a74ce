/* A GPU kind at work, for tests: a device with two queues and a module of two kernels,
 * and random operations held against a model on the host. */
#ifndef KILN_TESTS_SUPPORT_GPU_GPU_TRIAL_H
#define KILN_TESTS_SUPPORT_GPU_GPU_TRIAL_H

#include "base/base.h"
#include "runtime/device.h"
#include "runtime/gpu_module.h"

enum {
    KILN_GPU_TRIAL_N = 192, /* elements of a tensor */
    KILN_GPU_TRIAL_TENSORS = 6,
    KILN_GPU_TRIAL_BYTES = 4 * KILN_GPU_TRIAL_N /* a multiple of 256 */
};

/* The trial's kernels, on tensors of uint32:
 *     step  y = 5 x + 3, by two launches with what is between in the workspace
 *     mix   z = x + 7 y, and y backwards: one launch in two dimensions
 * and what code they are of: entries times5 (x, w, n), plus3 (w, y), mixed (x, y, z). */
extern const char kiln_gpu_trial_kernels[];
extern const char kiln_gpu_trial_opencl[];

typedef struct kiln_gpu_trial {
    const kiln_device_kind *kind;
    kiln_device *device;
    kiln_device_module *module;
    kiln_device_kernel step, mix;
    kiln_device_queue *queue[2];
    char *memory; /* of the device: the tensors */
} kiln_gpu_trial;

/* As much as there is is open; false with the reason. NULL code: OpenCL C. */
bool kiln_gpu_trial_open(kiln_gpu_trial *t, const char *kind,
                         const kiln_allocator *allocator, const char *ptx,
                         char error[KILN_ERROR_TEXT]);
void kiln_gpu_trial_close(kiln_gpu_trial *t);

/* So many random operations over both queues, with the waits that they need; NULL, or
 * what differs from the model, in the arena. Seeded. */
const char *kiln_gpu_trial_run(const kiln_gpu_trial *t, kiln_arena *a, uint64_t seed,
                               int n_operations);

#endif
