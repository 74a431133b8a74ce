/* Shared by plan.c, which reads tables, and plan_steps.c. */
#ifndef KILN_RUNTIME_PLAN_INTERNAL_H
#define KILN_RUNTIME_PLAN_INTERNAL_H

#include "runtime/plan.h"

#include <stdbool.h>

/* Past this a plan is not one of ours: it bounds what a hostile one can ask for. */
#define KILN_PLAN_MAX_MEMORY ((uint64_t)1 << 40)

typedef struct kiln_plan_reader {
    const char *bytes;
    uint64_t n;
    const kiln_plan_header *h;
    kiln_plan *plan;
    char *error;
} kiln_plan_reader;

/* Writes the reason; -1. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
int kiln_plan_refused(const kiln_plan_reader *r, const char *fmt, ...);
static inline bool kiln_plan_is_string(const kiln_plan_reader *r, uint32_t at) {
    return at < r->h->string_bytes;
}

/* Devices, spaces, queues and modules (plan_devices.c). */
int kiln_plan_check_devices(const kiln_plan_reader *r);
/* Open steps, then those of a run; all operands are known to be tensors. */
int kiln_plan_check_steps(const kiln_plan_reader *r);

#endif
