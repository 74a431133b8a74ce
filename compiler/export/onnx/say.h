/* A graph said in ONNX: what the writers of operators (say_*.c) work with.
 *
 * Values are known by their ONNX names, strings in the export's arena; "" is an absent
 * input. A writer gets one node and puts one or more of ONNX's:
 *
 *     kiln_say_begin(s, "TopK", 11);
 *     kiln_say_take(s, kiln_say_in(s, 0));
 *     kiln_say_take(s, kiln_say_list(s, &k, 1));
 *     kiln_say_int(s, "axis", axis);
 *     kiln_say_give(s, kiln_say_out(s, 0));
 *     kiln_say_end(s);
 */
#ifndef KILN_COMPILER_EXPORT_ONNX_SAY_H
#define KILN_COMPILER_EXPORT_ONNX_SAY_H

#include "compiler/export/export.h"
#include "compiler/export/protobuf_write.h"

enum {
    KILN_SAY_BASE_OPSET = 21, /* every model's, unless something in it needs more */
    KILN_SAY_MAX_OPSET = 26,
};

/* Sets of dtypes that ONNX's operators take (its "type constraints"). */
enum {
    KILN_SAY_F = KILN_DT(KILN_F16) | KILN_DT(KILN_F32) | KILN_DT(KILN_F64),
    KILN_SAY_WIDE_INT =
        KILN_DT(KILN_I32) | KILN_DT(KILN_I64) | KILN_DT(KILN_U32) | KILN_DT(KILN_U64),
    KILN_SAY_ARITH = KILN_SAY_WIDE_INT | KILN_DT_FLOAT,
    KILN_SAY_NUMBER_NO_BF16 = KILN_DT_NUMBER & ~KILN_DT(KILN_BF16),
    KILN_SAY_SIGNED = KILN_DT_SIGNED | KILN_DT_FLOAT,
    KILN_SAY_SMALL_INT =
        KILN_DT(KILN_I8) | KILN_DT(KILN_U8) | KILN_DT(KILN_I16) | KILN_DT(KILN_U16),
    /* In a row: dtypes that ONNX does not take go there and back through wider ones,
     * which hold the same numbers and wrap alike. */
    KILN_SAY_BY_WIDER = 1 << 30,
    KILN_SAY_MOVED = KILN_DT_ANY | KILN_SAY_BY_WIDER,
};

/* A graph that is being written: the model's or a region's. */
typedef struct kiln_say_scope {
    const kiln_graph *g;
    const char **name; /* of values, by id; NULL: none yet */
    kiln_buf nodes;    /* fields 1 of its GraphProto */
} kiln_say_scope;

/* A constant of the model, in the order in which it was met. */
typedef struct kiln_say_constant {
    const char *name;
    kiln_type type;
    const void *data; /* borrowed from the graph, or in the arena */
} kiln_say_constant;

typedef struct kiln_say_refusal {
    const char *reason; /* starts with the operator */
    const char *first_node;
    int64_t count;
} kiln_say_refusal;

typedef struct kiln_say {
    kiln_arena *arena; /* borrowed */
    kiln_err *err;     /* of the node at hand; its text becomes a refusal's */
    int64_t opset;     /* the lowest that has all that was said */
    int64_t n_nodes;
    kiln_map names, node_names; /* taken ones, in all graphs together -> last suffix */
    kiln_map constant_of;       /* type and address -> name */
    KILN_VEC(kiln_say_constant) constants;
    KILN_VEC(kiln_say_refusal) refused;
    kiln_say_scope *scope;
    const kiln_node *node; /* being said */
    /* The ONNX node being written. */
    kiln_buf in_out, attrs;
    const char *op;
    const char *lost; /* an attribute of it that 32 bits do not hold; NULL: none */
} kiln_say;

/* ---- names (say_names.c) ------------------------------------------------------------- */

/* `want` as protobuf may have it, and as nothing else is called in the model. */
const char *kiln_say_fresh(kiln_say *s, const char *want);
/* Names of a graph's inputs, outputs and all other values that are used. Outputs that
 * no node of their own makes get an Identity at the end: kiln_say_late_outputs. */
kiln_say_scope *kiln_say_scope_new(kiln_say *s, const kiln_graph *g);
void kiln_say_name_inputs(kiln_say *s, kiln_say_scope *scope);
const char **kiln_say_name_outputs(kiln_say *s, kiln_say_scope *scope, bool is_region);
void kiln_say_name_rest(kiln_say *s, kiln_say_scope *scope);
void kiln_say_late_outputs(kiln_say *s, const char *const *outputs);

/* ---- types and constants (say_types.c) ----------------------------------------------- */

int64_t kiln_say_dtype(kiln_dtype dtype);       /* TensorProto.DataType */
int64_t kiln_say_dtype_opset(kiln_dtype dtype); /* that has it */
void kiln_say_value_info(kiln_say *s, kiln_buf *graph, uint32_t field, const char *name,
                         const kiln_type *t);
/* The bytes of a constant in a file: low-bit ones are packed into the arena. */
kiln_str kiln_say_raw(kiln_say *s, const kiln_say_constant *c);
void kiln_say_tensor_head(kiln_say *s, kiln_buf *b, const kiln_say_constant *c);

/* May the exporter make a constant of this type itself? Shapes come from outside: it is
 * refused above 2^24 elements. */
kiln_status kiln_say_may_make(kiln_say *s, const kiln_type *t);
/* One more constant of the model; the same address and type is the same constant. */
const char *kiln_say_constant_of(kiln_say *s, const char *want, const kiln_type *t,
                                 const void *data);
/* i64[n], a scalar i64, a scalar of a float or integer dtype. Copied. */
const char *kiln_say_list(kiln_say *s, const int64_t *v, size_t n);
const char *kiln_say_i64(kiln_say *s, int64_t v);
const char *kiln_say_scalar(kiln_say *s, kiln_dtype dtype, double v);

/* ---- one node (say_node.c) ----------------------------------------------------------- */

const char *kiln_say_in(kiln_say *s, int i); /* "": absent */
const char *kiln_say_out(kiln_say *s, int i);
const kiln_type *kiln_say_in_type(kiln_say *s, int i);
bool kiln_say_has_in(kiln_say *s, int i);
/* The node's attribute; asserts that there is one. */
const kiln_attr *kiln_say_attr(kiln_say *s, const char *name);
const char *kiln_say_word(kiln_say *s, const char *name); /* by spelling */
/* A value between the nodes that one becomes. */
const char *kiln_say_temp(kiln_say *s, const char *what);

void kiln_say_needs(kiln_say *s, int64_t opset);
void kiln_say_begin(kiln_say *s, const char *op, int64_t opset);
void kiln_say_take(kiln_say *s, const char *value);
void kiln_say_give(kiln_say *s, const char *value);
void kiln_say_int(kiln_say *s, const char *name, int64_t v);
void kiln_say_float(kiln_say *s, const char *name, double v);
void kiln_say_text(kiln_say *s, const char *name, const char *v);
void kiln_say_ints(kiln_say *s, const char *name, const int64_t *v, size_t n);
void kiln_say_floats(kiln_say *s, const char *name, const double *v, size_t n);
void kiln_say_texts(kiln_say *s, const char *name, const char *const *v, size_t n);
void kiln_say_graph(kiln_say *s, const char *name, kiln_str graph);
void kiln_say_end(kiln_say *s);

/* All of the node's attributes under their own names: FLOATs only where they differ
 * from what ONNX takes anyway, which then is the row's default. */
void kiln_say_own_attrs(kiln_say *s);

/* A node without attributes; out NULL: a value between. Returns its output. */
const char *kiln_say_1(kiln_say *s, const char *op, const char *x, const char *out);
const char *kiln_say_2(kiln_say *s, const char *op, const char *x, const char *y,
                       const char *out);
const char *kiln_say_3(kiln_say *s, const char *op, const char *x, const char *y,
                       const char *z, const char *out);
const char *kiln_say_cast(kiln_say *s, const char *x, kiln_dtype to, const char *out);
const char *kiln_say_reshape(kiln_say *s, const char *x, int rank, const int64_t *dim,
                             const char *out);
const char *kiln_say_transpose(kiln_say *s, const char *x, int rank,
                               const int64_t *perm, const char *out);
/* An input as indices: i32 or i64. */
const char *kiln_say_index_in(kiln_say *s, int i);

/* Refuses the node: "operator 'conv': ...". */
kiln_status kiln_say_refuse(kiln_say *s, const char *fmt, ...) KILN_PRINTF(2, 3);

/* ---- graphs (say_graph.c) ------------------------------------------------------------ */

/* Every node of the scope, in order; refusals are collected. */
void kiln_say_nodes(kiln_say *s);
/* The node's region as a GraphProto. Its first n_formal inputs stay inputs, the others
 * are what they stand for: the node's from `captured` on. */
kiln_str kiln_say_region(kiln_say *s, const kiln_graph *region, size_t n_formal,
                         size_t captured);

/* ---- the rows (say_rows.c) ----------------------------------------------------------- */

typedef kiln_status (*kiln_say_fn)(kiln_say *s, const kiln_node *n);

typedef struct kiln_say_row {
    const kiln_op_def *op;
    const char *onnx; /* its name there; NULL: several nodes */
    kiln_say_fn say;
    unsigned dtypes; /* of input 0 that ONNX takes */
    int64_t opset;   /* that has all of them and the operator */
    int64_t bf16;    /* opset from which on it takes bf16 too; 0: see dtypes */
} kiln_say_row;

const kiln_say_row *kiln_say_row_of(const kiln_op_def *op); /* NULL: none */

#endif
