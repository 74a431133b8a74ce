/* Threads in the interpreter: launches (loop_threads.c), and who touched which element of the
 * memory that they share (races.c). */
#ifndef KILN_COMPILER_LOOP_LOOP_THREADS_H
#define KILN_COMPILER_LOOP_LOOP_THREADS_H

#include "compiler/loop/fragment.h"
#include "compiler/loop/interpret.h"

/* One thread of the block that runs. */
typedef struct kiln_thread {
    kiln_interp_vars vars;
    kiln_interp_memories memory;
    int64_t at[KILN_N_AXES];
} kiln_thread;

struct kiln_noter; /* traffic.c */

/* What is known of one element. Numbers count from 1; 0: nobody. */
typedef struct kiln_cell {
    uint32_t write_block, write_thread, write_phase; /* the last to write it */
    uint32_t read_block, read_phase, read_thread[2]; /* the last phase of reads */
    uint32_t other_block, other_thread; /* one that read before, of another block */
    uint32_t group; /* it arrives with this group of copies; 0: it is there */
    uint32_t
        product; /* of the products that read it, or add to it, the last; 0: none */
    bool is_written;
} kiln_cell;

typedef struct kiln_shadow {
    kiln_cell *cell;   /* by element */
    int phases;        /* which barriers order its accesses: index of launch.phase */
    bool starts_empty; /* reading what nobody wrote is an error */
    kiln_fragment_form form; /* of a fragment; row 0: all of its warps may touch all */
} kiln_shadow;

enum { KILN_PHASES_SHARED, KILN_PHASES_GLOBAL, KILN_N_PHASES };

/* Memory that threads of a block share and the launch allocates: the same storage each
 * time, as on a device, with one copy for each iteration of the thread loops around. */
typedef struct kiln_held {
    unsigned bound; /* axes of the loops around, that copies are for; shared: 0 */
    kiln_interp_memory memory; /* of the first copy */
    kiln_shadow *shadow;       /* of each copy */
    int64_t copies;
} kiln_held;

typedef struct kiln_launch {
    kiln_interp *in;
    int64_t extent[KILN_N_AXES];
    int n; /* threads of a block */
    kiln_thread *thread;
    KILN_VEC(kiln_held) held;
    kiln_rng rng;
    int *order;     /* threads of the block */
    unsigned bound; /* axes of the loops around */
    int self;
    uint32_t block;
    uint32_t phase[KILN_N_PHASES]; /* barriers passed, all blocks together */
    /* Copies to shared memory that need not wait (KILN_STMT_ATTR_ASYNC), all blocks
     * together: how many groups of them have been, how many a barrier has waited for, how
     * many of the last it does not wait for; is one of them running? */
    uint32_t groups, arrived, may_miss;
    bool is_async;
    /* The same of products that may go on (KILN_STMT_ATTR_PRODUCTS). */
    uint32_t products, done, may_run;
    bool multiplies;
    struct kiln_noter *noter; /* NULL: nobody counts */
} kiln_launch;

/* Keeps the first failure. */
#define kiln_interp_failed(in, code, ...)                                              \
    ((in)->status = (in)->status != KILN_OK ? (in)->status                             \
                                            : kiln_fail((in)->err, code, __VA_ARGS__))

/* The axis that s is bound to, as a set; 0: s is no thread loop. */
unsigned kiln_launch_bound_by(const kiln_stmt *s);
/* Is b, allocated inside loops of these axes, for more than one thread? */
bool kiln_launch_shares(const kiln_launch *l, const kiln_buffer *b, unsigned bound);
kiln_held *kiln_launch_held_of(kiln_launch *l, const kiln_buffer *b, unsigned bound);
/* The threads of the mask do s. */
void kiln_launch_block(kiln_launch *l, const kiln_stmt *s, const bool *mask);
/* Runs an outermost thread loop. */
void kiln_interp_launch(kiln_interp *in, const kiln_stmt *s);
/* Shared memory outside every thread loop: fails. */
kiln_status kiln_launch_needed(kiln_interp *in, const char *buffer);

/* Who counts what a launch moves; NULL: nobody wants to know. */
struct kiln_noter *kiln_noter_new(kiln_interp *in);
/* Another thread runs. */
void kiln_noter_thread(struct kiln_noter *n);
/* All threads have made the accesses that they make before the next barrier. */
void kiln_noter_add_up(kiln_launch *l);
void kiln_noter_end(struct kiln_noter *n);

kiln_shadow kiln_shadow_make(kiln_arena *a, const kiln_buffer *b);
/* The running thread touches an element; false: a race, or nobody wrote it. */
bool kiln_shadow_touch(kiln_interp *in, const kiln_interp_memory *m, int64_t at,
                       bool writes);

#endif
