/* The importer's own parts, below what the operators' importers see (onnx_internal.h).
 *
 *   onnx_import.c    the model: versions, graph inputs and outputs, nodes
 *   onnx_support.c   which operators the model needs, and which of them are not known
 *   onnx_order.c     topological order, names defined twice, cycles
 *   onnx_bindings.c  shapes and values that the caller gives for graph inputs
 *   scope.c     names: subgraphs, captured values, functions
 *   onnx_attrs.c     attributes of a node
 *   emit.c      making nodes, by the frontends' own way (import_cx.h)
 *   counted.c   lengths that depend on data (counted.h), extent.c their bounds
 *   onnx_survey.c    what a file says about itself before shapes are bound
 *   onnx_trace.c     graph inputs that a value depends on, for messages
 */
#ifndef KILN_COMPILER_FRONTEND_ONNX_IMPORT_CORE_H
#define KILN_COMPILER_FRONTEND_ONNX_IMPORT_CORE_H

#include "compiler/frontend/onnx/onnx_internal.h"
#include "compiler/frontend/onnx/onnx_tensor.h"

enum {
    KILN_ONNX_MIN_IR = 3,
    KILN_ONNX_MAX_IR = 14,
    KILN_ONNX_MAX_OPSET = 27,   /* of the default domain: what the rows were made for */
    KILN_ONNX_MAX_DOMAINS = 64, /* of opset_import */
    KILN_ONNX_MAX_ATTRS = 256,  /* of one node: they are found by going through them */
    KILN_ONNX_MAX_CALL_DEPTH =
        32, /* functions inside functions, subgraphs inside subgraphs */
};

/* A call of a model-local function, while its body is being imported. */
typedef struct kiln_onnx_frame {
    const struct kiln_onnx_frame *up;
    const kiln_onnx_function *fn;
    const kiln_onnx_node *call; /* attribute references are looked up here */
} kiln_onnx_frame;

/* Names of one ONNX graph or function body while it is being imported. */
typedef struct kiln_onnx_scope {
    struct kiln_onnx_scope *parent; /* NULL: the model's graph */
    bool sees_parent;               /* a subgraph; false: a function body */
    bool is_region; /* builds a graph of its own: outer values are captured */
    kiln_graph *g;
    const kiln_onnx_frame *frame; /* the innermost function call; NULL: none */
    const char *prefix;           /* of names made in the graph */
    int depth;
    kiln_map values;              /* ONNX name -> kiln_value, or &kiln_onnx_absent */
    kiln_map tensors;             /* initializers not used so far: name -> tensor */
    KILN_VEC(kiln_value *) outer; /* captured: in the parent's graph */
    KILN_VEC(kiln_value *) inner; /* parallel: the region's inputs for them */
} kiln_onnx_scope;

/* Stands in a scope for an optional input that a function call leaves out. */
extern kiln_value kiln_onnx_absent;

/* Which attributes of a node its importer asked for, by index. */
typedef struct kiln_onnx_attr_set {
    uint64_t bits[KILN_ONNX_MAX_ATTRS / 64];
} kiln_onnx_attr_set;

/* A number of elements that depends on data (counted.h). */
typedef struct kiln_onnx_count {
    const kiln_value *value;
    int64_t most;
} kiln_onnx_count;

struct kiln_onnx_cx {
    kiln_import_cx common; /* first: kiln_onnx_of */
    const kiln_onnx_model *model;
    const kiln_import_options *options;
    kiln_import_report *report;
    kiln_onnx_files files;
    kiln_map tensors_read; /* pointer to a kiln_onnx_tensor -> kiln_tensor */
    kiln_onnx_scope *scope;

    /* The node being imported. */
    const kiln_onnx_op *row;
    const kiln_onnx_node *node;
    int64_t version;
    size_t first_value; /* values of the target graph from here on are the node's own */
    kiln_err attr_err;  /* the first attribute of a wrong kind */
    kiln_onnx_attr_set attrs_read;
    bool in_rule;             /* which knows about counted operands */
    kiln_value *const *given; /* in place of the node's operands; NULL: none */
    int n_given;

    KILN_VEC(kiln_onnx_count) counts;
    kiln_map functions; /* by domain, name and overload */
    int64_t nodes_left; /* imported nodes, each inlined copy counted: an import has
                            bounds */
};

/* Printable, cut to a length that messages can hold; in scratch. */
const char *kiln_onnx_show(kiln_onnx_cx *cx, kiln_str name);
/* "'conv1' (Conv)" or "#12 (Conv)"; in scratch. */
const char *kiln_onnx_show_node(kiln_onnx_cx *cx, const kiln_onnx_node *n);

/* ---- onnx_import.c ---- */
kiln_status kiln_onnx_import_nodes(kiln_onnx_cx *cx, const kiln_onnx_node *node,
                                   size_t n);
/* Its name and version, printable, in `a`. */
const char *kiln_onnx_producer(kiln_arena *a, const kiln_onnx_model *m);
/* Opset of a domain in force inside `frame`; 0: not imported there. */
int64_t kiln_onnx_opset_in(const kiln_onnx_cx *cx, const kiln_onnx_frame *frame,
                           kiln_str domain);

/* ---- onnx_support.c ---- */
/* Lists every operator that has neither a row nor a function: fills the report,
 * KILN_ERR_UNSUPPORTED. */
kiln_status kiln_onnx_check_support(kiln_onnx_cx *cx);
/* Makes the model's functions known; refuses two of one name. */
/* One entry of opset_import, the model's or a function's: versions that kiln does not
 * know are refused. */
kiln_status kiln_onnx_check_opset(kiln_onnx_cx *cx, const kiln_onnx_opset *o);
kiln_status kiln_onnx_add_functions(kiln_onnx_cx *cx);
/* NULL: the node is no call. */
const kiln_onnx_function *kiln_onnx_find_function(kiln_onnx_cx *cx,
                                                  const kiln_onnx_node *n);
/* True for "" and "ai.onnx". */
bool kiln_onnx_is_default_domain(kiln_str domain);

/* ---- onnx_order.c ---- */
/* Indexes of the nodes in topological order (scratch): the file's own wherever it is
 * one. */
kiln_status kiln_onnx_order(kiln_onnx_cx *cx, const kiln_onnx_node *node, size_t n,
                            const size_t **order);

/* ---- onnx_bindings.c ---- */
/* Makes the model's graph inputs, or constants for those whose value is given. */
kiln_status kiln_onnx_bind_inputs(kiln_onnx_cx *cx);
/* Holds the inferred type of a graph output against the declared one. */
kiln_status kiln_onnx_check_output(kiln_onnx_cx *cx, const kiln_onnx_value_info *vi,
                                   const kiln_value *v);
/* What the file says of an input or output; all in `a`. */
void kiln_onnx_declare(kiln_arena *a, const kiln_onnx_value_info *vi,
                       kiln_declared_input *d);
kiln_status kiln_onnx_list_inputs(kiln_arena *a, kiln_str bytes, const char *path,
                                  kiln_declared_input **out, size_t *n, kiln_err *err);

/* ---- scope.c ---- */
kiln_onnx_scope *kiln_onnx_scope_new(kiln_onnx_cx *cx, kiln_onnx_scope *parent,
                                     kiln_graph *g);
/* The scope that owns the graph which values of `s` live in. */
kiln_onnx_scope *kiln_onnx_owner(kiln_onnx_scope *s);
/* Names are looked up there from now on, and nodes go to its graph. */
void kiln_onnx_set_scope(kiln_onnx_cx *cx, kiln_onnx_scope *s);
/* Registers initializers; checks them, but makes constants only at their first use. */
kiln_status kiln_onnx_add_initializers(kiln_onnx_cx *cx, kiln_onnx_scope *s,
                                       const kiln_onnx_graph *g);
/* *out is NULL when no such name is visible. */
kiln_status kiln_onnx_lookup(kiln_onnx_cx *cx, kiln_onnx_scope *s, kiln_str name,
                             kiln_value **out);
/* The elements of a tensor, read once however often its graph is inlined. */
kiln_status kiln_onnx_read_once(kiln_onnx_cx *cx, const kiln_onnx_tensor *t,
                                kiln_tensor *out);
/* Prefix and name; cut where inlining might multiply a long name. In scratch. */
const char *kiln_onnx_prefixed(kiln_onnx_cx *cx, const char *prefix, kiln_str name);
/* Imports the body of a function in place of the node that calls it. */
kiln_status kiln_onnx_call(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                           const kiln_onnx_function *fn);

/* "outer/conv1/": before the names of what is made for a node's subgraph; in scratch.
 */
const char *kiln_onnx_node_prefix(kiln_onnx_cx *cx, const kiln_onnx_node *n);
/* As kiln_onnx_inline, for a subgraph with inputs, whose values are given. */
kiln_status kiln_onnx_inline_with(kiln_onnx_cx *cx, const char *prefix,
                                  const kiln_onnx_graph *sub, kiln_value *const *actual,
                                  size_t n_actual, kiln_value **outs);

/* ---- onnx_attrs.c ---- */
/* NULL: absent. Remembers that it was asked for. */
const kiln_onnx_attr *kiln_onnx_find_attr(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                                          const char *name);
/* After the importer is done: KILN_ERR_UNSUPPORTED for an attribute that it never asked
 * for, unless onnx_ignored.def says why that is harmless. */
kiln_status kiln_onnx_check_attrs(kiln_onnx_cx *cx, const kiln_onnx_node *n);
/* A call's attributes must be declared by the function. */
kiln_status kiln_onnx_check_call_attrs(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                                       const kiln_onnx_function *fn);
/* A copy of the node whose attribute references are replaced by what the call gives. */
kiln_status kiln_onnx_resolve_attrs(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                                    const kiln_onnx_node **out);

/* ---- onnx_trace.c ---- */
/* Names of the graph inputs that a value depends on, at most `max`; how many. */
size_t kiln_onnx_leads_to(kiln_onnx_cx *cx, const kiln_value *v, const char **name,
                          size_t max);
/* The value of the one input that makes a condition what it should be, as text in
 * scratch; NULL where that is not plain. */
const char *kiln_onnx_value_for(kiln_onnx_cx *cx, const kiln_value *condition,
                                bool result);

/* ---- onnx_survey.c ---- */
kiln_status kiln_onnx_survey(kiln_arena *a, kiln_str bytes, const char *path,
                             kiln_model_survey *out, kiln_err *err);

/* ---- data.c ---- */
kiln_status kiln_onnx_list_data(kiln_arena *a, kiln_str bytes, const char *path,
                                kiln_import_locations *out, kiln_err *err);

/* ---- emit.c ---- */
extern const kiln_import_format kiln_onnx_format;
/* The smallest name for output i of the node, unique or not, in scratch. */
const char *kiln_onnx_out_name(kiln_onnx_cx *cx, const kiln_onnx_node *n, int i);

#endif
