/* Extern stages: what has no tensor expression is a loop program built by hand, over
 * row-major buffers. See kiln_extern in tensor/tensor.h. */
#ifndef KILN_COMPILER_OP_OP_EXTERN_H
#define KILN_COMPILER_OP_OP_EXTERN_H

#include "compiler/op/op_compute.h"
#include "compiler/loop/loop.h"

/* ---- stages ---------------------------------------------------------------------- */

/* A value in row-major order, of dtype `dtype`, as a stage with one output: itself
 * where it is that already, else a copy named `suffix`. */
kiln_status kiln_compute_plain(kiln_compute_cx *cx, const char *suffix,
                               const kiln_te_value *v, kiln_dtype dtype,
                               kiln_te_value *out);
/* The same, stretched to a shape by numpy's rules. */
kiln_status kiln_compute_stretched(kiln_compute_cx *cx, const char *suffix,
                                   const kiln_te_value *v, const kiln_type *shape,
                                   kiln_dtype dtype, kiln_te_value *out);

typedef struct kiln_extern_spec {
    const char *name;
    const kiln_stmt *(*build)(kiln_arena *a, const kiln_te *te,
                              const kiln_buffer *const *in,
                              const kiln_buffer *const *out);
    const void *data;        /* in the stage's arena */
    const kiln_te_value *in; /* row-major, of one output each */
    int n_in, n_out;
    int rank;
    const int64_t *dim;      /* of all outputs */
    const kiln_dtype *dtype; /* of each */
} kiln_extern_spec;
/* The values are row-major; out has n_out entries. */
void kiln_compute_extern(kiln_compute_cx *cx, const char *suffix,
                         const kiln_extern_spec *spec, kiln_te_value *out);

/* Output k of the node is `v`, which has its logical shape: copied where layout or
 * dtype differ. */
kiln_status kiln_compute_give(kiln_compute_cx *cx, int k, const char *suffix,
                              const kiln_te_value *v);

/* f32 for half floats, else the dtype itself: what running values are held in. */
kiln_dtype kiln_compute_wide_dtype(kiln_dtype dtype);

/* ---- loop programs --------------------------------------------------------------- */

/* Loops from 0 over n axes: their variables as expressions. */
typedef struct kiln_nest_loops {
    kiln_arena *a;
    int n;
    int64_t extent[KILN_MAX_AXES];
    const kiln_var *var[KILN_MAX_AXES];
    const kiln_expr *index[KILN_MAX_AXES];
    bool is_parallel; /* the outermost */
} kiln_nest_loops;
kiln_nest_loops kiln_loops_new(kiln_arena *a, int n, const int64_t *extent);
const kiln_stmt *kiln_loops_around(const kiln_nest_loops *l, const kiln_stmt *body);

/* A serial loop from 0; one statement behind the other. */
const kiln_stmt *kiln_s_times(kiln_arena *a, const kiln_var *v, const kiln_expr *n,
                              const kiln_stmt *body);
const kiln_stmt *kiln_s_both(kiln_arena *a, const kiln_stmt *x, const kiln_stmt *y);

/* Names for values, each computed once: let a = ...; let b = ... a ...; body. */
enum { KILN_MAX_LETS = 16 };
typedef struct kiln_lets {
    kiln_arena *a;
    int n;
    const kiln_var *var[KILN_MAX_LETS];
    const kiln_expr *value[KILN_MAX_LETS];
} kiln_lets;
const kiln_expr *kiln_lets_add(kiln_lets *l, const char *name, const kiln_expr *value);
const kiln_stmt *kiln_lets_around(const kiln_lets *l, const kiln_stmt *body);

/* A scalar that changes. */
const kiln_buffer *kiln_cell_new(kiln_arena *a, const kiln_te *te, const char *name,
                                 kiln_dtype dtype);
const kiln_expr *kiln_cell_get(kiln_arena *a, const kiln_buffer *cell);
const kiln_stmt *kiln_cell_set(kiln_arena *a, const kiln_buffer *cell,
                               const kiln_expr *value);

/* Every index in a buffer's range, whatever the data are. */
const kiln_expr *kiln_x_clamped(kiln_arena *a, const kiln_expr *index, int64_t extent);

/* cumsum and cumprod (cumulative.c): running values from `init` on. */
kiln_status kiln_compute_cumulative(const kiln_node *n, kiln_compute_cx *cx,
                                    kiln_expr_kind kind, double init);

/* The scatter family (scatter.c): a copy of input 0, into which input 2 is written or
 * folded at the places that `place` finds, update by update in row-major order. */
typedef struct kiln_scatter {
    int fn;   /* kiln_scatter_fn */
    int axis; /* scatter_elements */
    int64_t update_dim[KILN_MAX_RANK];
    int update_rank;
    /* Indexes of the output for the update at `at`; in[1] are the indices, as i64. */
    void (*place)(kiln_arena *a, const struct kiln_scatter *s, const kiln_te *te,
                  const kiln_buffer *indices, const kiln_expr *const *at,
                  const kiln_expr **index);
} kiln_scatter;
kiln_status kiln_compute_scatter(kiln_compute_cx *cx, kiln_scatter *s);
/* An index that a program loaded: see kiln_compute_index. */
const kiln_expr *kiln_x_resolved(kiln_arena *a, const kiln_expr *index, int64_t extent);

#endif
