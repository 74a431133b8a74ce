/* Inside pipeline/measure/runner: a runner and its process on a device, which serves
 * candidates one after another. What passes between them: a byte each way on a channel
 * for each order, and shared memory, the *window*. */
#ifndef KILN_PIPELINE_MEASURE_RUNNER_DEVICE_INTERNAL_H
#define KILN_PIPELINE_MEASURE_RUNNER_DEVICE_INTERNAL_H

#include "pipeline/measure/runner/runner_internal.h"

enum {
    KILN_DEVICE_SLOTS = 256, /* inputs that are on the device */
    KILN_DEVICE_TAIL = 256,  /* canaries behind each block */
    KILN_DEVICE_NAME = 64
};

typedef enum kiln_device_kind_of_order {
    KILN_DEVICE_ROUND, /* the page's: slices.c */
    KILN_DEVICE_PUT,   /* an input, in as many copies as that */
    KILN_DEVICE_LOAD,  /* a candidate */
    KILN_DEVICE_LEAVE  /* it is done: did it write beside its operands? */
} kiln_device_kind_of_order;

/* Bytes of the window. */
typedef struct kiln_device_place {
    uint64_t at, bytes;
} kiln_device_place;

typedef struct kiln_device_order {
    uint32_t kind;
    kiln_device_place place; /* of the input; of the object */
    uint32_t slot, n_copies; /* of the input */
    /* Of a candidate: */
    char name[KILN_DEVICE_NAME]; /* of its kernel */
    uint64_t workspace_bytes;
    int64_t cpu_ns; /* that it may take of processors, with its driver */
    uint32_t n_inputs, n_outputs, n_sets, n_buffers;
    uint32_t slot_of[KILN_MAX_SETS][KILN_WIRE_MAX_OPERANDS];
    kiln_device_place output[KILN_MAX_BUFFERS][KILN_WIRE_MAX_OPERANDS];
} kiln_device_order;

/* The window begins with an order, and room for canaries; copies from and to its first
 * bytes are fast. */
enum { KILN_DEVICE_TAILS = 64 << 10, KILN_DEVICE_FAST = 48 << 20 };

/* In the process: opens the device, says so by a byte, and serves until the channel is
 * closed. What fails ends the process, with the reason on the runner's page. */
void kiln_device_serve(kiln_runner *r, int channel);

#endif
