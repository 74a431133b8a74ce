/* What an operator computes, as tensor expressions: the `compute` field of its row.
 *
 * A compute function makes one stage (or several) for its node out of the stages of its
 * inputs, in terms of *logical* indexes only:
 *
 *     const kiln_expr *i[KILN_MAX_RANK];
 *     kiln_te *y = kiln_compute_begin(cx, "y", &n->out[0]->type, i);
 *     return kiln_compute_end(cx, 0, y, f(kiln_compute_read(cx, X, i)));
 *
 * Where an element lies is the layout's affair: begin gives the stage the physical axes
 * of the type's layout (blocks included) and says what the logical indexes are in terms
 * of them; read maps logical indexes to the physical ones of the input. So one compute
 * serves NCHW, NHWC and NCHW[x]c alike (NeoCPU, ATC'19, section 3.1), and templates
 * choose layouts without touching an operator.
 *
 * Tail lanes of blocked axes (logical index past the shape) are zero in every output: a
 * fact of its type (KILN_FACT_TAIL_ZERO) that compute_end sets and readers ask for. A
 * stage that makes zeros of the zeros it reads there (relu, sums, products, pooling,
 * convolutions) has no guard; any other writes zero, as an injective one, or takes its
 * reducer's identity. (Zero times an infinity is NaN: not for strict numerics.)
 *
 * Low-bit types: stages hold what such a value is stored in, u8 or i8, and a read gives
 * that; the types of values keep the dtype. Conversions are in compiler/op/op_low.h.
 *
 * Arithmetic: f16 and bf16 inputs are computed in f32 and rounded once at the end
 * (kiln_compute_widened, kiln_compute_end casts to the type's dtype), as the
 * operator's error bound asks.
 */
#ifndef KILN_COMPILER_TENSOR_COMPUTE_H
#define KILN_COMPILER_TENSOR_COMPUTE_H

#include "compiler/graph/graph_fusion.h"
#include "compiler/tensor/tensor.h"

/* One value of a graph: an output of a stage. `type` has the logical shape and the
 * layout; the stage's axes are the physical shape. */
typedef struct kiln_te_value {
    const kiln_te *te; /* NULL: an absent optional input */
    int out;
    kiln_type type;
} kiln_te_value;

struct kiln_compute_cx {
    kiln_arena *arena;
    const kiln_node *node;
    const kiln_te_value *in; /* node->n_in entries */
    kiln_te_value *out;      /* node->n_out entries; type is set, kiln_compute_end sets
                                the rest */
    KILN_VEC(kiln_te_value) made; /* values of the node's stages so far */
    const kiln_te *stage;         /* begun last: its axes' ranges simplify indexes */
    kiln_err *err;
};

/* Extents of a type's physical axes (order, then blocks); returns their number. */
int kiln_type_physical(const kiln_type *t, int64_t dim[KILN_MAX_AXES]);

/* Elements that the blocks of an axis hold together: 1 where it has none. */
int64_t kiln_type_blocked(const kiln_type *t, int axis);

/* Are there no tail lanes, or zeros in them? */
bool kiln_compute_has_zero_tails(const kiln_type *t);

/* A stage with the physical axes of `t`; index[] (t->rank entries) receives the logical
 * indexes. `suffix` names the stage: the node's name for "", else name.suffix. */
kiln_te *kiln_compute_begin(kiln_compute_cx *cx, const char *suffix, const kiln_type *t,
                            const kiln_expr **index);
/* The element of input i (of any stage's value) at logical indexes, read by the stage
 * begun last. They must be inside the shape wherever the expression is evaluated: guard
 * with select, whose other side is not evaluated. */
const kiln_expr *kiln_compute_read(const kiln_compute_cx *cx, int i,
                                   const kiln_expr *const *index);
const kiln_expr *kiln_compute_read_value(const kiln_compute_cx *cx,
                                         const kiln_te_value *v,
                                         const kiln_expr *const *index);
/* floor(e / d) and e mod d for d > 0, split by divisibility where the ranges of the
 * stage's axes allow: (i*16 + j) / 16 is i for j < 16. */
const kiln_expr *kiln_compute_div(const kiln_compute_cx *cx, const kiln_expr *e,
                                  int64_t d);
const kiln_expr *kiln_compute_mod(const kiln_compute_cx *cx, const kiln_expr *e,
                                  int64_t d);
/* Numpy broadcasting: `index` are those of an output of rank `rank`. */
const kiln_expr *kiln_compute_read_broadcast(const kiln_compute_cx *cx, int i, int rank,
                                             const kiln_expr *const *index);
/* f16 and bf16 as f32; others as they are. */
const kiln_expr *kiln_compute_widened(const kiln_compute_cx *cx, const kiln_expr *x);

/* Seals a stage whose body is `body` (cast to what the type's dtype is stored in where
 * it differs: then an injective body) as output `k` of the node. A body that is a
 * reduction of another dtype than the type's gets a casting stage behind it; one whose
 * identity is not zero a stage that zeroes tail lanes, where there are some. */
kiln_status kiln_compute_end(kiln_compute_cx *cx, int k, kiln_te *te,
                             const kiln_expr *body);
/* Seals a stage that is not an output of the node, and describes it as a value of
 * logical type `t` (dtype becomes the body's). */
kiln_status kiln_compute_inner(kiln_compute_cx *cx, kiln_te *te, const kiln_type *t,
                               const kiln_expr *body, kiln_te_value *out);
/* The same for a stage with several outputs of one shape (tuple reductions). */
kiln_status kiln_compute_inner_tuple(kiln_compute_cx *cx, kiln_te *te,
                                     const kiln_type *t, int n_out,
                                     const kiln_expr *const *body, kiln_te_value *out);
/* Passes an input on as output k without a stage (identity, reshapes that move
 * nothing). Types must agree but for facts. */
void kiln_compute_forward(kiln_compute_cx *cx, int k, int i);

/* ---- whole graphs -------------------------------------------------------------- */

/* What kernels read of a constant may be more than its elements in another order: then
 * an operator of one input says what, its *packing*, and NULL is none. It is no operator
 * of models: who writes a template brings it (compiler/schedule/packings.def). The type
 * of what it makes of a constant, row-major; its own where there is no packing. */
kiln_status kiln_packed_type(const kiln_op_def *packing, const kiln_type *constant,
                             kiln_type *out, kiln_err *err);

typedef struct kiln_te_graph {
    kiln_te_value *value; /* by value id */
    const kiln_te **arg;  /* placeholders: graph inputs, then used constants by id;
                             then the outputs' stages */
    kiln_type *arg_type;  /* logical shape and layout of each */
    const kiln_value **arg_value;    /* what graph value each is, */
    const kiln_op_def **arg_packing; /* and how it was packed; arg_type is of that */
    size_t n_args, n_inputs;         /* n_inputs: placeholders */
} kiln_te_graph;

/* Stages for every node. `layout` (by value id; NULL: all as typed) overrides the
 * values' layouts; trust_tails says that tail lanes of all inputs are zero, else it is
 * as their types say. KILN_ERR_UNSUPPORTED names a node whose operator has no compute.
 * An output that is a placeholder, or listed twice, gets a copying stage: every output
 * has a stage of its own. */
kiln_status kiln_graph_compute(kiln_arena *a, const kiln_graph *g,
                               const kiln_layout *layout, bool trust_tails,
                               kiln_te_graph *out, kiln_err *err);

/* The same of constants that come packed (by value id); `layout` is of what they are
 * packed to. Operators see the packed type, and must know what it means. */
kiln_status kiln_graph_compute_packed(kiln_arena *a, const kiln_graph *g,
                                      const kiln_layout *layout,
                                      const kiln_op_def *const *packing,
                                      bool trust_tails, kiln_te_graph *out,
                                      kiln_err *err);

/* What fusion asks for (graph_fusion.h): by node->index; zeros where a node is not injective.
 * In the arena. */
kiln_growth *kiln_graph_growth(kiln_arena *a, const kiln_graph *g);

#endif
