/* The interpreter's state: shared by interpret.c (expressions) and run.c (statements).
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

typedef struct kiln_interp_var {
    const kiln_var *var;
    double f;
    int64_t i;
} kiln_interp_var;

/* What an expression binds, innermost first. */
typedef struct kiln_interp_bound {
    const kiln_var *var;
    kiln_lanes value;
    const struct kiln_interp_bound *next;
} kiln_interp_bound;

typedef struct kiln_interp_memory {
    const kiln_buffer *buffer;
    unsigned char *data;
    int64_t dim[KILN_MAX_AXES], stride[KILN_MAX_AXES];
} kiln_interp_memory;

typedef struct kiln_interp {
    kiln_arena *arena; /* rewound after each statement */
    KILN_VEC(kiln_interp_var) vars;
    const kiln_interp_bound *bound;
    KILN_VEC(kiln_interp_memory) memory;
    const kiln_loop_run_options *options;
    int64_t steps;
    kiln_status status; /* the first failure: everything stops */
    kiln_err *err;
} kiln_interp;

/* Lanes that `mask` turns off (NULL: none) hold anything. */
kiln_lanes kiln_interp_eval(kiln_interp *in, const kiln_expr *e, const bool *mask);
void kiln_interp_bind(kiln_interp *in, const kiln_var *v, double f, int64_t i);
kiln_interp_memory *kiln_interp_find(kiln_interp *in, const kiln_buffer *b);
int64_t kiln_interp_offset(kiln_interp *in, const kiln_interp_memory *m,
                           const kiln_lanes *index, int lane);
void kiln_interp_load(const kiln_interp_memory *m, int64_t at, double *f, int64_t *i);
void kiln_interp_store(kiln_interp_memory *m, int64_t at, const double *f,
                       const int64_t *i);
/* Counts a statement, or a turn of a loop in an expression; false: no more may be. */
bool kiln_interp_step(kiln_interp *in);
int64_t kiln_interp_float_to_int(kiln_dtype dtype, double v);

#endif
