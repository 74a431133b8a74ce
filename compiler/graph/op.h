/* The operator table: one row in ops.def, one file in compiler/op/ that ends with the value the
 * row names.
 *
 * A row says everything the compiler knows of an operator; a switch on the operator
 * outside its own file is a review stop: add a field.
 */
#ifndef KILN_COMPILER_GRAPH_OP_H
#define KILN_COMPILER_GRAPH_OP_H

#include "compiler/graph/ir.h"

/* TVM (OSDI'18, section 3): which neighbours an operator may be fused with. */
typedef enum kiln_fuse_kind {
    KILN_FUSE_INJECTIVE,   /* one-to-one map: fuses with anything around it */
    KILN_FUSE_REDUCTION,   /* input side may absorb injective operators */
    KILN_FUSE_OUT_FUSABLE, /* complex; element-wise maps may be fused to its output
                              (conv2d) */
    KILN_FUSE_OPAQUE       /* stands alone */
} kiln_fuse_kind;

/* NeoCPU (ATC'19, section 3.2): what an operator asks of its inputs' layouts. */
typedef enum kiln_layout_kind {
    KILN_LAYOUT_OBLIVIOUS, /* any layout, the same on all inputs and outputs */
    KILN_LAYOUT_TOLERANT,  /* several layouts, must know which (convolution, pooling) */
    KILN_LAYOUT_DEPENDENT  /* row-major only (reshape) */
} kiln_layout_kind;

enum { KILN_VARIADIC = 1 << 20 }; /* n_in_max or n_out_max: any number */

typedef struct kiln_attr_def {
    const char *name;
    kiln_attr_kind kind;
    const char *doc;
    bool is_required;           /* no default */
    int64_t default_i;          /* INT, BOOL, WORD (index), DTYPE */
    double default_f;           /* FLOAT; lists default to empty */
    const char *const *choices; /* WORD, WORDS: NULL-terminated */
} kiln_attr_def;

/* How far generated code may be from eval_ref, per element (DESIGN, section 4):
 *   EXACT  equal bits (NaN equals NaN)
 *   ULP    c units in the last place of the output's dtype, or `floor` unit roundoffs
 *          (as in DOT) whatever the size of the element, where that is more: for
 *          results that cancel
 *   DOT    c * k * 2^-24 * m, where m is eval_ref on the absolute values of the inputs
 *          (the sum of |a*b|); 2^-24 is replaced by the unit roundoff of the
 *          accumulation type (f64: 2^-53); outputs in f16 or bf16 are allowed half an
 *          ulp of their own more; integers are exact. */
typedef enum kiln_bound_kind {
    KILN_BOUND_EXACT,
    KILN_BOUND_ULP,
    KILN_BOUND_DOT
} kiln_bound_kind;

typedef struct kiln_bound {
    kiln_bound_kind kind;
    double c;
    int64_t k;    /* DOT: number of terms summed into one element */
    double floor; /* ULP: absolute, in unit roundoffs */
} kiln_bound;

typedef struct kiln_cost {
    int64_t muladds; /* multiply-adds, as published model sizes count them */
    int64_t flops; /* 2 * muladds for contractions, else one per elementary operation */
    int64_t bytes; /* inputs read once and outputs written once */
} kiln_cost;

/* What eval_ref works with. Inputs and outputs are wide and row-major; outputs have
 * storage and are not initialised. Nothing in scratch outlives the call. */
typedef struct kiln_eval_cx kiln_eval_cx;
struct kiln_eval_cx {
    kiln_arena *scratch;
    const kiln_wide
        *in;        /* n->n_in entries; an absent input has f == NULL and i == NULL */
    kiln_wide *out; /* n->n_out entries */
    /* Chosen elements: when pick is not NULL (only for rows with can_pick), out[0] has
     * room for n_pick elements, and element j receives the output at row-major index
     * pick[j]; out[0].type stays whole. */
    const int64_t *pick;
    int64_t n_pick;
    /* The magnitude of a DOT bound is asked for: the inputs are absolute values, and
     * weights that come from attributes count by their absolute value as well. */
    bool is_magnitude;
    /* Runs a region (for If, Loop, Scan): `in` and `out` hold the region's inputs and
     * outputs; out's storage is made here. */
    kiln_status (*eval_region)(kiln_eval_cx *cx, const kiln_graph *region,
                               const kiln_wide *in, kiln_wide *out, kiln_err *err);
    void *user; /* the interpreter's */
    kiln_err *err;
};

/* What pick_f32 works with. */
typedef struct kiln_pick_cx {
    kiln_arena *scratch;
    const void *const *in; /* n->n_in entries: floats, row-major and at any address;
                              NULL: absent */
    const int64_t *pick;   /* row-major indexes into output 0 */
    int64_t n_pick;
    double *value, *magnitude; /* n_pick entries, which are written */
    kiln_err *err;
} kiln_pick_cx;

typedef struct kiln_compute_cx kiln_compute_cx; /* tensor/compute.h */
typedef struct kiln_expr kiln_expr;             /* tensor/tensor_expr.h */

struct kiln_op_def {
    const char *name; /* spelling in graph text */
    const char *doc;  /* one sentence; formula where there is one */
    int n_in_min, n_in_max;
    int n_out_min, n_out_max; /* 0, 0 means exactly one */
    const char *const
        *in_names; /* NULL-terminated, for messages and docs; may be NULL */
    const kiln_attr_def *attr;
    size_t n_attr;
    unsigned dtypes; /* what input 0 may be (KILN_DT_...); other inputs by infer */
    kiln_fuse_kind fuse;
    kiln_layout_kind layout;
    /* Is this node OBLIVIOUS, though others of a DEPENDENT operator are not? NULL: none
     * is. kiln_is_oblivious asks it. */
    bool (*is_oblivious)(const kiln_node *n);
    bool can_pick;       /* eval_ref honours kiln_eval_cx.pick */
    unsigned keeps_sign; /* inputs (1 << index) that say where, not how much: a DOT
                            bound's magnitude takes them as they are */
    bool types_only;     /* the outputs follow from the inputs' types (shape, size):
                            eval_ref reads no element, and gets inputs without storage (f
                            and i NULL, type set) */

    bool jumps; /* a float output leaps where an input crosses a boundary (round,
                   sign), however little it crosses it by */

    /* Types of the outputs from n->in[...]->type and n->attr. Writes n->n_out types.
     * The message says what must hold and what is; the caller adds operator and node.
     */
    kiln_status (*infer)(const kiln_node *n, kiln_type *out, kiln_err *err);
    /* Slow, obvious, in double or int64_t: the meaning of the operator. The caller
     * rounds the outputs to their dtype (kiln_wide_round). */
    kiln_status (*eval_ref)(const kiln_node *n, kiln_eval_cx *cx);
    /* Chosen elements where all inputs are f32, with the bits that eval_ref gives them,
     * and those that it gives as their magnitudes: for operators of large inputs, of
     * which few elements need little. NULL: eval_ref does it. */
    kiln_status (*pick_f32)(const kiln_node *n, const kiln_pick_cx *cx);
    /* muladds and flops; bytes are the caller's. NULL: one flop per output element. */
    void (*cost)(const kiln_node *n, kiln_cost *c);
    /* How often the largest region runs, at most: its cost counts so often. NULL: once.
     */
    int64_t (*region_runs)(const kiln_node *n);
    /* Which values the region in attribute `attr` captures: its inputs from *of_region
     * on are the node's from *of_node on. All with regions have it. */
    void (*captures)(const kiln_node *n, size_t attr, size_t *of_node,
                     size_t *of_region);
    kiln_bound (*error_bound)(const kiln_node *n);
    /* How many times larger than what error_bound speaks of the errors are, typically,
     * of another algorithm that fast numerics may choose (graph/winograd.h). NULL: 1.
     */
    double (*other_error)(const kiln_node *n);
    /* What other engines' results may be off by, which compute it less exactly. NULL:
     * by no more than error_bound says. */
    kiln_bound (*elsewhere_bound)(const kiln_node *n);
    /* What the operator computes, as tensor expressions (tensor/compute.h). NULL: no
     * kernel comes of it (control flow, or the executor runs it). */
    kiln_status (*compute)(const kiln_node *n, kiln_compute_cx *cx);
    /* Its scalar meaning for the shared computes of op_compute.h, beside f1 / f2. */
    const kiln_expr *(*x1)(kiln_arena *a, const kiln_expr *x, const kiln_attr *attr);
    const kiln_expr *(*x2)(kiln_arena *a, const kiln_expr *x, const kiln_expr *y,
                           const kiln_attr *attr);

    /* Scalar meaning of element-wise operators, used by the shared infer and eval of
     * op_common.h. `attr` is the node's. An operator has those that make sense for its
     * dtypes. */
    double (*f1)(double x, const kiln_attr *attr);
    int64_t (*i1)(int64_t x, const kiln_attr *attr, kiln_dtype dtype);
    double (*f2)(double x, double y, const kiln_attr *attr);
    int64_t (*i2)(int64_t x, int64_t y, const kiln_attr *attr, kiln_dtype dtype);
};

/* Enumerators KILN_OP_relu, ... and the rows kiln_op_relu, ... */
typedef enum kiln_op {
#define KILN_OP(name) KILN_OP_##name,
#include "compiler/graph/ops.def"
#undef KILN_OP
    KILN_N_OPS
} kiln_op;

#define KILN_OP(name) extern const kiln_op_def kiln_op_##name;
#include "compiler/graph/ops.def"
#undef KILN_OP

const kiln_op_def *kiln_op_at(int i); /* 0 <= i < KILN_N_OPS, in order of ops.def */
const kiln_op_def *kiln_op_find(kiln_str name); /* NULL when there is none */

/* Of one node, bytes and its largest region included (so a row's cost leaves regions
 * out); of a whole graph. Sums stop at INT64_MAX. */
void kiln_node_cost(const kiln_node *n, kiln_cost *c);
void kiln_graph_cost(const kiln_graph *g, kiln_cost *c);

/* Does the node take any layout, the same on all inputs and outputs? */
bool kiln_is_oblivious(const kiln_node *n);
/* And is it a one-to-one map with one result: element by element? */
bool kiln_is_elementwise(const kiln_node *n);

#endif
