/* Shared by the runtime's sessions and the run through their steps. */
#ifndef KILN_RUNTIME_SESSION_INTERNAL_H
#define KILN_RUNTIME_SESSION_INTERNAL_H

#include "runtime/model_internal.h"
#include "runtime/pool.h"

/* Where a port's bytes are now. */
typedef struct kiln_session_port {
    void *own;   /* the session's memory for it */
    void *bound; /* the caller's; NULL: own */
    int is_set;
} kiln_session_port;

typedef struct kiln_session_time {
    uint64_t nanoseconds, runs;
} kiln_session_time;

struct kiln_session {
    const kiln_model *model;
    kiln_ctx serial;
    kiln_pool *pool; /* NULL: one thread */
    kiln_ctx *ctx;
    char *arena, *workspace, *scratch;
    kiln_session_port *port;
    void **operand;              /* by the plan's operands: pointers for the kernels */
    kiln_session_time *measured; /* by step */
    int is_measuring;
    int is_bound_anew; /* since ports were last held against one another */
    size_t bytes;
    char error[KILN_ERROR_TEXT];
};

/* 0, or -1 with an error: no output's memory overlaps another port's. */
int kiln_session_check_ports(kiln_session *s);

#endif
