/* A lowered program as lists: loops, the statements in them, what these access. For
 * whoever looks at programs without running them: features for cost models
 * (compiler/tuner), the cycle model (compiler/schedule/cycles.h). */
#ifndef KILN_COMPILER_LOOP_LOOP_NEST_H
#define KILN_COMPILER_LOOP_LOOP_NEST_H

#include "compiler/loop/touch.h"

typedef struct kiln_nest_loop {
    int64_t extent;
    kiln_loop_kind kind;
    int parent; /* index; -1: none */
    int depth;  /* 0: outermost */
    int axis;   /* of a launch (kiln_launch_axis); -1: none. Thread loops of an axis
                       inside of another one of it are that one again, and not listed */
    const kiln_var *var;
    double topdown; /* iterations of the loops around it, of all together */
    double work;    /* operations of one run of the loop, with all below it */
} kiln_nest_loop;

/* A store; or an evaluated intrinsic, which has no store. */
typedef struct kiln_nest_stmt {
    int loop;            /* innermost around it; -1: none */
    double runs;         /* product of the loops around it */
    double ops;          /* operations on numbers of one run, at least 1 */
    double share;        /* of the runs that guards let through, about */
    int n_selects;       /* guards inside its value */
    int n_calls, n_divs; /* of the operations: functions of several instructions;
                            divisions and roots */
    bool computes;       /* there is one at all, and it stores what it computes */
    int first, n;        /* its accesses; the store, if there is one, comes first */
    bool has_store;
} kiln_nest_stmt;

enum {
    KILN_ROLE_ALL,       /* memory: everything but registers */
    KILN_ROLE_VECTOR,    /* what the hot statement reads in vectors */
    KILN_ROLE_BROADCAST, /* the other operand that it reads */
    KILN_ROLE_WRITTEN,   /* stores to the outputs */
    KILN_ROLE_COPIED,    /* stores to memory allocated inside */
    KILN_ROLE_REGISTERS, /* register tiles */
    KILN_N_ROLES
};

typedef struct kiln_nest_access {
    const kiln_buffer *buffer;
    int buffer_id; /* numbered by first appearance */
    int stmt;
    bool is_store;
    unsigned roles;   /* bits 1 << role */
    kiln_form *index; /* of each dimension */
    int64_t *stride;  /* of each dimension, in elements */
    double *touched;  /* by depth of the path: different elements while that loop and
                         those inside it run; [depth + 1] is 1 */
} kiln_nest_access;

typedef struct kiln_nest {
    kiln_arena *arena;
    KILN_VEC(kiln_nest_loop) loops; /* in the order of the text */
    KILN_VEC(kiln_nest_stmt) stmts;
    KILN_VEC(kiln_nest_access) accesses;
    KILN_VEC(const kiln_buffer *) buffers;
    int hot;               /* the statement with most operations; -1: there is none */
    int vector_loop;       /* of it: the vectorised one, else the innermost; -1: none */
    int vector, broadcast; /* accesses of it; -1: none */
    int n_guards;          /* branches in the text */
} kiln_nest;

/* In scratch. Loops deeper than KILN_MAX_DEPTH multiply runs and are constants to
 * indexes. */
void kiln_nest_of(kiln_arena *scratch, const kiln_program *p, kiln_nest *out);
/* What the program's launches move, threads of a warp together: as the interpreter
 * counts it (kiln_traffic), but told from the indexes, for the first warp of a block at
 * the begin of all other loops. What an index does not say lies far apart. */
typedef struct kiln_nest_warps {
    double threads, blocks;        /* of the largest launch; 0: there is none */
    double sectors, least_sectors; /* of global memory, 32 bytes each; that would do */
    double turns, least_turns;     /* of shared memory's banks; without conflicts */
    double shared_bytes;           /* that a launch allocates, all together */
} kiln_nest_warps;
void kiln_nest_warps_of(const kiln_nest *k, int warp, kiln_nest_warps *out);
/* Elements by which one step of the loop moves the access. */
int64_t kiln_nest_step(const kiln_nest_access *x, int depth);

#endif
