/* Tensor expressions: what is computed, with no order of loops in it (TVM, OSDI'18,
 * section 4.1).
 *
 *     kiln_te *x = kiln_te_placeholder(a, "x", KILN_F32, 2, (int64_t[]){n, k});
 *     kiln_te *c = kiln_te_begin(a, "c", 2, (int64_t[]){n, m});
 *     const kiln_axis *r = kiln_te_reduce_axis(c, "r", k);
 *     const kiln_expr *x_ir = kiln_te_at(c, x, i, r);
 *     const kiln_expr *w_rj = kiln_te_at(c, w, r, j);
 *     kiln_te_end(c, kiln_te_sum(c, kiln_x_mul(a, x_ir, w_rj), r));
 *
 * A kiln_te is one stage: a placeholder (an argument), a compute, or an extern stage (a
 * hand-built loop program for what has no pure expression, such as TopK). A compute may
 * have several outputs of one shape.
 */
#ifndef KILN_COMPILER_TENSOR_TENSOR_H
#define KILN_COMPILER_TENSOR_TENSOR_H

#include "compiler/tensor/tensor_expr.h"

#include "compiler/tensor/buffer.h"

enum { KILN_MAX_TE_OUTS = 8 };

typedef enum kiln_te_kind {
    KILN_TE_PLACEHOLDER,
    KILN_TE_COMPUTE,
    KILN_TE_EXTERN
} kiln_te_kind;

typedef struct kiln_stmt kiln_stmt; /* loop/loop.h */

/* A hand-built loop program for a stage: reads the buffers of the stage's inputs,
 * writes those of its outputs. */
typedef struct kiln_extern {
    const char *name;
    const kiln_stmt *(*build)(kiln_arena *a, const kiln_te *te,
                              const kiln_buffer *const *in,
                              const kiln_buffer *const *out);
    const void *data; /* the operator's attributes; in the stage's arena */
} kiln_extern;

struct kiln_te {
    kiln_te_kind kind;
    const char *name; /* for people and buffers; identity is the pointer */
    const char *tag; /* "conv", "injective", ...: what templates look for; "" when there
                        is none */
    kiln_arena *arena; /* borrowed: where its parts are made */
    int rank;
    const kiln_axis
        *axis[KILN_MAX_AXES]; /* extents are the shape; placeholders have them too */
    int n_reduce;
    const kiln_axis *reduce[KILN_MAX_AXES];
    int n_out;
    kiln_dtype dtype[KILN_MAX_TE_OUTS];
    const kiln_expr *body[KILN_MAX_TE_OUTS]; /* computes: over the axes' variables; a
                                                REDUCE is the whole body */
    int n_in; /* stages that the bodies read, each once, in order of first use */
    const kiln_te **in;
    const kiln_extern *ext; /* KILN_TE_EXTERN */
};

kiln_te *kiln_te_placeholder(kiln_arena *a, const char *name, kiln_dtype dtype,
                             int rank, const int64_t *dim);

/* A compute in three steps: begin makes the axes, bodies are built from their
 * variables, end checks and seals. end refuses (KILN_ERR_SHAPE, naming stage and axis)
 * reads of the wrong rank, a reduction inside an expression, free variables. */
kiln_te *kiln_te_begin(kiln_arena *a, const char *name, int rank, const int64_t *dim);
const kiln_axis *kiln_te_reduce_axis(kiln_te *te, const char *name, int64_t extent);
kiln_status kiln_te_end(kiln_te *te, int n_out, const kiln_expr *const *body,
                        kiln_err *err);

/* A stage whose loop program `ext` builds: n_out outputs of one shape, which reads the
 * whole of `in` (each with one output). */
kiln_te *kiln_te_extern(kiln_arena *a, const char *name, int rank, const int64_t *dim,
                        int n_in, const kiln_te *const *in, int n_out,
                        const kiln_dtype *dtype, const kiln_extern *ext);

/* The axis's variable as an expression. */
const kiln_expr *kiln_te_var(const kiln_te *te, int axis);
const kiln_expr *kiln_axis_var(kiln_arena *a, const kiln_axis *axis);
const kiln_expr *kiln_te_read(kiln_arena *a, const kiln_te *te,
                              const kiln_expr *const *index);
/* sum over `axes` of source. */
const kiln_expr *kiln_te_sum(kiln_te *te, const kiln_expr *source,
                             const kiln_axis *const *axes, int n_axes);

int64_t kiln_te_dim(const kiln_te *te, int axis);
int64_t kiln_te_elems(const kiln_te *te);
bool kiln_te_is_injective(const kiln_te *te); /* compute without reduction */

/* All stages that `out` depends on, inputs first, each once. */
const kiln_te **kiln_te_topo(kiln_arena *a, const kiln_te *const *out, size_t n_out,
                             size_t *n);

/* Text, one line for each output of a stage, in order, complete but for extern stages:
 * `out c[i0: 64, i1: 32] : f32 @matmul = sum(r: 128) x[i0, r]*w[r, i1]`. */
void kiln_te_print(kiln_buf *out, const kiln_te *const *outs, size_t n_outs);
/* The stages of a text that kiln_te_print wrote, or could have: print(parse(print(t)))
 * == print(t). The text is untrusted. outs: those marked `out`, in their order. `file`
 * names it in messages; NULL: "text". */
kiln_status kiln_te_parse(kiln_arena *a, kiln_str text, const char *file,
                          const kiln_te ***outs, size_t *n_outs, kiln_err *err);

/* Evaluates stages without any schedule: placeholders take `in` (in the order of
 * kiln_te_topo), outputs are wide tensors (of one axis where a stage has more than
 * KILN_MAX_RANK; only elements count). The second witness for lowering: it never
 * sees a loop program. Sums run in row-major order of the reduction axes, in double,
 * rounded at the end. */
kiln_status kiln_te_eval(kiln_arena *a, const kiln_te *const *outs, size_t n_outs,
                         const kiln_wide *in, size_t n_in, kiln_wide *out,
                         kiln_err *err);

#endif
