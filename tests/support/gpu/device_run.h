/* Kernels of a GPU's module on a device of the runtime, of whichever kind is asked for: what
 * opencl_run.h does without it. */
#ifndef KILN_TESTS_SUPPORT_DEVICE_RUN_H
#define KILN_TESTS_SUPPORT_DEVICE_RUN_H

#include "tests/support/gpu/opencl_run.h"

/* Why nothing runs there; NULL: it does. Asked once in a process, of one kind. */
const char *device_missing(const char *kind);

typedef struct device_code device_code;
/* A module's bytes, made ready for the device that device_missing was asked about. */
kiln_status device_open(kiln_arena *a, kiln_str module, device_code **out,
                        kiln_err *err);
void device_close(device_code *c);
/* A kernel's launches, with operands copied there before and back behind them. */
kiln_status device_run(device_code *c, const char *symbol,
                       const opencl_operand *operand, int n, kiln_err *err);

#endif
