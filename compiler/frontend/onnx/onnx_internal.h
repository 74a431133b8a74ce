/* Inside the ONNX frontend: the import context and what the operators' importers use.
 *
 * An importer turns one ONNX node into nodes of the Graph: it reads inputs, attributes
 * and (where ONNX lets an operand decide a shape) constants, emits operators, and binds
 * the results to the node's outputs. Source: the ONNX operator specification, opsets 7
 * to 22 (rows say which versions they cover).
 */
#ifndef KILN_COMPILER_FRONTEND_ONNX_ONNX_INTERNAL_H
#define KILN_COMPILER_FRONTEND_ONNX_ONNX_INTERNAL_H

#include "compiler/frontend/compose.h"
#include "compiler/frontend/onnx/onnx_model.h" /* decoded messages: kiln_onnx_node, ... */

typedef struct kiln_onnx_cx kiln_onnx_cx; /* import of one model; see onnx_import.c */

/* One row: an operator's versions [since, until] (the opset at which a version came in,
 * and the last opset at which it is in force; 0: still) handled by one importer.
 * Several rows may share a name when versions differ. */
typedef struct kiln_onnx_op {
    const char *domain; /* "" is ai.onnx */
    const char *name;
    int since, until;
    kiln_status (*import)(kiln_onnx_cx *cx, const kiln_onnx_node *n);
    const kiln_op_def
        *op; /* argument for shared importers (unary, binary, ...); may be NULL */
} kiln_onnx_op;

const kiln_onnx_op *kiln_onnx_find(kiln_str domain, kiln_str name, int64_t opset);

/* ---- what an importer asks ------------------------------------------------------- */

/* The context whose part that knows nothing of ONNX this is. */
kiln_onnx_cx *kiln_onnx_of(kiln_import_cx *common);
/* Short forms for what is made for a node (compose.h). */
kiln_compose kiln_onnx_compose(kiln_onnx_cx *cx, const kiln_onnx_node *n);
kiln_arena *kiln_onnx_arena(kiln_onnx_cx *cx); /* model lifetime */
kiln_err *kiln_onnx_err(kiln_onnx_cx *cx);
kiln_graph *kiln_onnx_target(kiln_onnx_cx *cx); /* the graph (or region) being built */
int64_t kiln_onnx_version(const kiln_onnx_cx *cx); /* opset of the node's domain */
const kiln_onnx_op *kiln_onnx_row(const kiln_onnx_cx *cx); /* the row in use */

/* Input i, or NULL where it is absent (not given or empty name). */
kiln_value *kiln_onnx_in(kiln_onnx_cx *cx, const kiln_onnx_node *n, int i);
/* Input i, which must be given: KILN_ERR_PARSE "input 1 ('B') is missing". */
kiln_status kiln_onnx_need(kiln_onnx_cx *cx, const kiln_onnx_node *n, int i,
                           const char *name, kiln_value **out);
int kiln_onnx_n_in(const kiln_onnx_node *n);
int kiln_onnx_n_out(const kiln_onnx_node *n);
/* Is output i asked for (given a name)? */
bool kiln_onnx_wants(const kiln_onnx_node *n, int i);

/* Attributes; the default where absent. A kind that differs from the file's is
 * KILN_ERR_PARSE, recorded in the context and returned after the importer is done, so
 * importers stay short. */
bool kiln_onnx_has_attr(const kiln_onnx_node *n, const char *name);
int64_t kiln_onnx_attr_i(kiln_onnx_cx *cx, const kiln_onnx_node *n, const char *name,
                         int64_t otherwise);
double kiln_onnx_attr_f(kiln_onnx_cx *cx, const kiln_onnx_node *n, const char *name,
                        double otherwise);
kiln_str kiln_onnx_attr_s(kiln_onnx_cx *cx, const kiln_onnx_node *n, const char *name,
                          const char *otherwise);
/* Absent: *v NULL, returns 0. */
size_t kiln_onnx_attr_ints(kiln_onnx_cx *cx, const kiln_onnx_node *n, const char *name,
                           const int64_t **v);
size_t kiln_onnx_attr_floats(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                             const char *name, const double **v);
size_t kiln_onnx_attr_strings(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                              const char *name, const kiln_str **v);
const kiln_onnx_tensor *kiln_onnx_attr_tensor(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                                              const char *name); /* NULL: absent */
const kiln_onnx_graph *kiln_onnx_attr_graph(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                                            const char *name); /* NULL: absent */
/* ONNX TensorProto.DataType to dtype; KILN_ERR_UNSUPPORTED names the type. */
kiln_status kiln_onnx_dtype(int64_t onnx_type, kiln_dtype *out, kiln_err *err);

/* The constant that an operand has; evaluates the part of the graph it depends on,
 * through hints where it leads to an input. Message: "input 'shape' must be a constant,
 * it depends on graph input 'n'; fix its value with --bind n=..." */
kiln_status kiln_onnx_const(kiln_onnx_cx *cx, kiln_value *v, const char *what,
                            kiln_tensor *out);
/* The same as a list of integers / doubles (any rank; elements in row-major order). */
kiln_status kiln_onnx_const_ints(kiln_onnx_cx *cx, kiln_value *v, const char *what,
                                 const int64_t **out, size_t *n);
kiln_status kiln_onnx_const_floats(kiln_onnx_cx *cx, kiln_value *v, const char *what,
                                   const double **out, size_t *n);

/* ---- what an importer makes ------------------------------------------------------ */

/* Appends one node and gives its first output (all of them through outs when not NULL:
 * n_out entries). Names come from the ONNX node. Small nodes of constants are evaluated
 * at once, so shape arithmetic never reaches the Graph. */
kiln_status kiln_onnx_emit(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                           const kiln_op_def *op, kiln_value *const *in, int n_in,
                           const kiln_attr_arg *args, size_t n_args, int n_out,
                           kiln_value **outs);
/* Short forms with one output. */
kiln_status kiln_onnx_emit1(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                            const kiln_op_def *op, kiln_value *x,
                            const kiln_attr_arg *args, size_t n_args, kiln_value **out);
kiln_status kiln_onnx_emit2(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                            const kiln_op_def *op, kiln_value *x, kiln_value *y,
                            kiln_value **out);
/* Reshape to a known shape (no node when the shape is the same), cast (no node when the
 * dtype is). */
kiln_status kiln_onnx_reshape(kiln_onnx_cx *cx, const kiln_onnx_node *n, kiln_value *x,
                              int rank, const int64_t *dim, kiln_value **out);
kiln_status kiln_onnx_cast(kiln_onnx_cx *cx, const kiln_onnx_node *n, kiln_value *x,
                           kiln_dtype dtype, kiln_value **out);
/* As a float of 8 or 4 bits, another than x has; `round` as cast_low spells it. */
kiln_status kiln_onnx_cast_low(kiln_onnx_cx *cx, const kiln_onnx_node *n, kiln_value *x,
                               kiln_dtype to, bool saturate, const char *round,
                               kiln_value **out);
kiln_status kiln_onnx_transpose(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                                kiln_value *x, const int64_t *perm, kiln_value **out);
/* Scalar constant of a dtype. */
kiln_value *kiln_onnx_scalar(kiln_onnx_cx *cx, kiln_dtype dtype, double v);
/* The decoded bytes of a TensorProto as a constant of the graph. */
kiln_status kiln_onnx_make_const(kiln_onnx_cx *cx, const kiln_onnx_tensor *t,
                                 kiln_value **out);

/* Binds the node's output i to a value of the Graph (ignored when the output is not
 * asked for). */
void kiln_onnx_set(kiln_onnx_cx *cx, const kiln_onnx_node *n, int i, kiln_value *v);

/* Charges bytes that the import itself computes (not those it maps): past 512 MiB in
 * all, KILN_ERR_LIMIT. For an importer that makes a constant whose size the file
 * chooses. */
kiln_status kiln_onnx_spend(kiln_onnx_cx *cx, int64_t bytes);

/* A region: imports a subgraph as a closed graph whose inputs are the values captured
 * from outside, in order of first use; `captured` are those values in the graph being
 * built. `formal` (n_formal values' types and the subgraph's own input names) come
 * first where the operator has some (Loop, Scan). */
kiln_status kiln_onnx_region(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                             const kiln_onnx_graph *sub, const kiln_type *formal,
                             size_t n_formal, kiln_graph **region,
                             kiln_value ***captured, size_t *n_captured);
/* Imports a subgraph in place (If whose condition is constant); outs: one value per
 * subgraph output. */
kiln_status kiln_onnx_inline(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                             const kiln_onnx_graph *sub, kiln_value **outs);

/* Fails with the node's name and operator added; status as given. */
#define kiln_onnx_fail(cx, status, ...)                                                \
    kiln_fail(kiln_onnx_err(cx), (status), __VA_ARGS__)

/* ---- importers ------------------------------------------------------------------- */

/* Every importer that a row names: kiln_onnx_import_<importer>. Shared ones take the
 * operator from the row:
 *   unary    one input, no attributes
 *   binary   two inputs, numpy broadcasting, dtypes made equal as ONNX's rules ask */
#define KILN_ONNX(domain, name, since, until, importer, op)                            \
    kiln_status kiln_onnx_import_##importer(kiln_onnx_cx *cx, const kiln_onnx_node *n);
#include "compiler/frontend/onnx/onnx_ops.def"
#undef KILN_ONNX

#endif
