/* The interpreter's state: shared by interpret.c (expressions) and loop_run.c (statements).
 */
#ifndef KILN_COMPILER_LOOP_INTERPRET_H
#define KILN_COMPILER_LOOP_INTERPRET_H

#include "compiler/loop/loop.h"

/* A vector value: f for float dtypes, i for the rest. */
typedef struct kiln_lanes {
    kiln_dtype dtype;
    int n;
    double *f;
    int64_t *i;
} kiln_lanes;

/* One lane of it. */
typedef struct kiln_number {
    double f;
    int64_t i;
} kiln_number;

typedef struct kiln_interp_var {
    const kiln_var *var;
    kiln_number value;
} kiln_interp_var;

/* What an expression binds, innermost first. */
typedef struct kiln_interp_bound {
    const kiln_var *var;
    kiln_lanes value;
    const struct kiln_interp_bound *next;
} kiln_interp_bound;

struct kiln_shadow;
typedef struct kiln_interp_memory {
    const kiln_buffer *buffer;
    unsigned char *data;
    int64_t dim[KILN_MAX_AXES], stride[KILN_MAX_AXES];
    size_t elem_bytes;
    bool is_float;
    struct kiln_shadow *shadow; /* who touched what (loop_threads.h); NULL: no matter */
} kiln_interp_memory;

typedef KILN_VEC(kiln_interp_var) kiln_interp_vars;
typedef KILN_VEC(kiln_interp_memory) kiln_interp_memories;

typedef struct kiln_interp {
    kiln_arena *arena; /* rewound after each statement */
    kiln_interp_vars vars;
    const kiln_interp_bound *bound;
    kiln_interp_memories memory;
    struct kiln_launch
        *launch;         /* loop_threads.h: of the thread that runs; NULL: none does */
    const int64_t *grid; /* that the program was launched with; NULL: as wide as its
                            loops */
    const kiln_loop_run_options *options;
    int64_t steps;
    kiln_status status; /* the first failure: everything stops */
    kiln_err *err;
} kiln_interp;

/* Lanes that `mask` turns off (NULL: none) hold anything. */
kiln_lanes kiln_interp_eval(kiln_interp *in, const kiln_expr *e, const bool *mask);
/* What has one lane, which nothing turns off: most of it needs no memory. */
kiln_number kiln_interp_number(kiln_interp *in, const kiln_expr *e);
kiln_number kiln_interp_lane(const kiln_lanes *v, int k);
void kiln_interp_bind(kiln_interp *in, const kiln_var *v, kiln_number value);
kiln_interp_memory *kiln_interp_find(kiln_interp *in, const kiln_buffer *b);
/* Is b memory that statements read and write themselves? A device's is not: fails. */
bool kiln_interp_reaches(kiln_interp *in, const kiln_buffer *b, const char *what);
/* Number of the element that a lane of the indexes names, or indexes of one lane do; -1
 * and an error when it is outside. */
int64_t kiln_interp_offset(kiln_interp *in, const kiln_interp_memory *m,
                           const kiln_lanes *index, int lane);
int64_t kiln_interp_place(kiln_interp *in, const kiln_interp_memory *m,
                          const kiln_expr *const *index);
void kiln_interp_store(kiln_interp_memory *m, int64_t at, kiln_number value);
/* Counts a statement, or a turn of a loop in an expression; false: no more may be. */
bool kiln_interp_step(kiln_interp *in);
/* Which time it is that the running thread comes to an access (a load or a store
 * statement), and an element of that (traffic.c); -1: nobody counts. */
int64_t kiln_traffic_turn(kiln_interp *in, const void *site);
void kiln_traffic_note(kiln_interp *in, const void *site, int64_t number,
                       const kiln_interp_memory *m, int64_t at);
int64_t kiln_interp_float_to_int(kiln_dtype dtype, double v);
/* "at i=3, j.outer=0": the loops around, for messages. */
const char *kiln_interp_where(kiln_interp *in);

/* ---- statements (loop_run.c, call.c) ---- */
void kiln_interp_exec(kiln_interp *in, const kiln_stmt *s);
void kiln_interp_call(kiln_interp *in, const kiln_stmt *s);
kiln_interp_memory kiln_interp_describe(const kiln_buffer *b, unsigned char *data);
/* Memory of `copies` times the buffer's elements in the arena, with nothing in it. */
kiln_interp_memory kiln_interp_allocate(kiln_interp *in, const kiln_buffer *b,
                                        int64_t copies);
/* Makes `elems` elements hold what shows that nobody wrote them. */
void kiln_interp_poison(kiln_interp_memory *m, int64_t elems);

#endif
