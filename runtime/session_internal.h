/* Shared by the runtime's sessions and the run through their steps. */
#ifndef KILN_RUNTIME_SESSION_INTERNAL_H
#define KILN_RUNTIME_SESSION_INTERNAL_H

#include "runtime/model_internal.h"

/* Where a port's bytes are now. */
typedef struct kiln_session_port {
    void *own;              /* the session's memory for it */
    void *block;            /* that holds it */
    kiln_device *pinned_by; /* NULL: it is not pinned */
    void *bound;            /* the caller's; NULL: own */
    int is_set;
} kiln_session_port;

typedef struct kiln_session_time {
    uint64_t nanoseconds, runs;
} kiln_session_time;

struct kiln_session {
    const kiln_model *model;
    /* The same for the model's other variants, owned, and who of them all it is now. */
    kiln_session **sibling;
    int n_siblings;
    kiln_session *now;
    /* Whose queue and arena these are; NULL: the session's own. */
    const kiln_session *lender;
    kiln_device_queue **queue; /* by the plan's index */
    /* What the host's queue, the first one, calls kernels with. */
    kiln_ctx *ctx;
    void *workspace;
    char **arena; /* by space */
    uint64_t
        *ticket; /* by step: the last one of this run; NULL: only the host's queue */
    /* Room for the largest tensor that the host does not see; NULL: there is none. */
    char *staging;
    size_t staging_bytes;
    kiln_session_port *port;
    void **operand;              /* by the plan's operands: pointers for the kernels */
    kiln_session_time *measured; /* by step */
    int is_measuring;
    kiln_trace_fn *trace; /* NULL: nobody looks on */
    void *trace_user;
    int is_bound_anew; /* since ports were last held against one another */
    size_t bytes;
    char error[KILN_ERROR_TEXT];
};

/* Until all queues have done what they were told; -1 with an error: one failed. */
int kiln_session_finish(kiln_session *s);
/* The queue that copies between a space and the host's. */
kiln_device_queue *kiln_session_queue_of(const kiln_session *s, uint32_t space);
/* Fills what steps may write with bytes that nobody made (trace.c). */
void kiln_session_poison(kiln_session *s);
/* Where the run is: a step, and the iterations of the loops around it. */
typedef struct kiln_run_place {
    uint32_t at;
    uint32_t iteration[KILN_PLAN_MAX_DEPTH];
    uint32_t depth;
} kiln_run_place;
/* Shows what the step reads, what it has written, or that a loop is over. */
void kiln_session_show(const kiln_session *s, const kiln_run_place *here,
                       kiln_trace_kind kind);

/* 0, or -1 with an error: no output's memory overlaps another port's. */
int kiln_session_check_ports(kiln_session *s);

#endif
