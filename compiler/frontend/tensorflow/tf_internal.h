/* Inside the TensorFlow frontend: what an importer of an operator asks and makes.
 *
 * A GraphDef's nodes and each function's body are a frame: names that see one another.
 * An importer gets a node of the current frame, reads operands and attributes, and sets
 * the node's outputs. */
#ifndef KILN_COMPILER_FRONTEND_TENSORFLOW_TF_INTERNAL_H
#define KILN_COMPILER_FRONTEND_TENSORFLOW_TF_INTERNAL_H

#include "compiler/frontend/counted_rules.h"
#include "compiler/frontend/tensorflow/tf_bundle.h"
#include "base/numbers.h"

enum {
    KILN_TF_MAX_ATTRS = 128, /* of a node */
    KILN_TF_MAX_CALLS = 64,  /* functions that call functions */
};

typedef struct kiln_tf_cx kiln_tf_cx;

typedef kiln_status (*kiln_tf_importer)(kiln_tf_cx *cx, const kiln_tf_node *n);

typedef struct kiln_tf_op { /* a row of tf_ops.def */
    const char *name;
    kiln_tf_importer import;
    const kiln_op_def *op; /* that shared importers emit, or NULL */
    /* Names of the outputs, as functions spell them ("y:0"), where there is more than
     * one; NULL: one, or one list. */
    const char *outputs;
} kiln_tf_op;

/* A variable, of a value that does not change. */
typedef struct kiln_tf_variable {
    kiln_str name;
    kiln_value *value; /* NULL: not read yet */
} kiln_tf_variable;

/* A tensor list, which never changes: who sets an element makes another one. */
typedef struct kiln_tf_items {
    kiln_value **item; /* NULL: not set */
    int n;
    kiln_dtype dtype;
    bool grows; /* who writes behind its end makes it longer */
} kiln_tf_items;

/* A branch behind a Switch whose condition data decides: both are computed, and Merge
 * chooses. */
typedef struct kiln_tf_branch {
    kiln_value *cond; /* one bool */
    bool side;
    const struct kiln_tf_branch *around; /* NULL: none */
    int depth;                           /* of those around */
} kiln_tf_branch;

/* One output of a node: a tensor, of complex numbers or others, the variable that it leads
 * to, or a list. */
typedef struct kiln_tf_slot {
    kiln_value *value;
    kiln_tf_variable *variable;
    const kiln_tf_items *items;
    kiln_value *parts; /* of complex numbers, along one axis more, the last */
    bool is_dead;      /* of the branch that is not taken */
    const kiln_tf_branch *branch;
} kiln_tf_slot;

typedef struct kiln_tf_outs {
    kiln_tf_slot *slot; /* NULL: the node is not imported yet */
    int n;
    bool is_dead; /* all that there may be */
} kiln_tf_outs;

typedef struct kiln_tf_frame {
    const kiln_tf_node *node;
    size_t n_node;
    kiln_numbers by_name;             /* node's name -> its index + 1 */
    kiln_tf_outs *out;                /* per node */
    const kiln_tf_function *function; /* NULL: the graph itself */
    const kiln_tf_slot *arg;          /* of a function, one per input */
    const char *prefix;               /* of the names of its nodes */
    int depth;
} kiln_tf_frame;

struct kiln_tf_cx {
    kiln_import_cx common; /* first */
    kiln_tf_graph *graph;
    const char *producer; /* printable */
    const kiln_import_options *options;
    kiln_import_report *report;
    const kiln_tf_signature *signature; /* NULL: a graph alone */
    kiln_tf_bundle bundle;
    kiln_map functions; /* name -> kiln_tf_function */
    kiln_map variables; /* name -> kiln_tf_variable */
    kiln_map rows;      /* operator -> kiln_tf_op */
    kiln_tf_frame *frame;
    int64_t nodes_left; /* that an import may still make of the file's */
    bool has_counted;   /* a value is as long as data has it */
    bool has_parts;     /* or of complex numbers */

    /* Of the node that is being imported. */
    const kiln_tf_op *row;
    const kiln_tf_node *node;
    const kiln_tf_branch *branch; /* that it lies on: its outputs do, too */
    kiln_value *const *given; /* operands in place of its own; NULL entries keep them */
    uint64_t attrs_read[KILN_TF_MAX_ATTRS / 64];
    kiln_err attr_err; /* of the first attribute that was of another kind */
};

#define kiln_tf_fail(cx, status, ...) kiln_fail((cx)->common.err, (status), __VA_ARGS__)

static inline kiln_tf_cx *kiln_tf_of(kiln_import_cx *common) {
    return (kiln_tf_cx *)common;
}

static inline const kiln_op_def *kiln_tf_row_op(const kiln_tf_cx *cx) {
    KILN_ASSERT(cx->row->op != NULL, "the row of '%s' has no operator", cx->row->name);
    return cx->row->op;
}

/* ---- operands and results: tensorflow_nodes.c ------------------------------------ */

/* Operand i; KILN_ERR_PARSE where there is none. */
kiln_status kiln_tf_need(kiln_tf_cx *cx, const kiln_tf_node *n, int i, const char *name,
                         kiln_value **out);
/* Operands first .. first + count - 1; the array is in scratch. */
kiln_status kiln_tf_need_list(kiln_tf_cx *cx, const kiln_tf_node *n, int first,
                              int count, kiln_value ***out);
/* Operand i, which must be constant, as integers or numbers. */
kiln_status kiln_tf_ints(kiln_tf_cx *cx, const kiln_tf_node *n, int i, const char *name,
                         const int64_t **out, size_t *count);
kiln_status kiln_tf_floats(kiln_tf_cx *cx, const kiln_tf_node *n, int i,
                           const char *name, const double **out, size_t *count);
/* One integer of operand i. */
kiln_status kiln_tf_int(kiln_tf_cx *cx, const kiln_tf_node *n, int i, const char *name,
                        int64_t *out);
/* The same as an axis of `rank`. */
kiln_status kiln_tf_axis(kiln_tf_cx *cx, const kiln_tf_node *n, int i, const char *name,
                         int rank, int *out);
/* What an input of n (NULL: it is a result) leads to, in a frame that is imported. */
kiln_status kiln_tf_slot_of(kiln_tf_cx *cx, const kiln_tf_frame *f,
                            const kiln_tf_node *n, kiln_str input, kiln_tf_slot *out);
/* The same of operand i, whatever it holds. */
kiln_status kiln_tf_operand(kiln_tf_cx *cx, const kiln_tf_node *n, int i,
                            kiln_tf_slot *out);

kiln_status kiln_tf_set(kiln_tf_cx *cx, const kiln_tf_node *n, kiln_value *y);
/* Outputs of any kind; a copy of them. */
void kiln_tf_set_slots(kiln_tf_cx *cx, const kiln_tf_node *n, const kiln_tf_slot *slot,
                       int count);
kiln_status kiln_tf_set_all(kiln_tf_cx *cx, const kiln_tf_node *n, kiln_value *const *y,
                            int count);
/* Sets what was composed, or gives the composition's failure back. */
kiln_status kiln_tf_end(kiln_compose *c, const kiln_tf_node *n, kiln_value *y);

static inline kiln_compose kiln_tf_compose(kiln_tf_cx *cx, const kiln_tf_node *n) {
    return (kiln_compose){.cx = &cx->common, .site = n};
}

/* 'name' (Conv2D): for messages. */
const char *kiln_tf_show(kiln_tf_cx *cx, kiln_str name);
const char *kiln_tf_show_node(kiln_tf_cx *cx, const kiln_tf_node *n);
/* A name inside the frame, in scratch. */
const char *kiln_tf_prefixed(kiln_tf_cx *cx, kiln_str name);
extern const kiln_import_format kiln_tf_format;

/* ---- attributes: tensorflow_attrs.c ---------------------------------------------- */

/* `otherwise` where the node has none. Of another kind: kept in cx->attr_err. */
int64_t kiln_tf_attr_i(kiln_tf_cx *cx, const kiln_tf_node *n, const char *name,
                       int64_t otherwise);
double kiln_tf_attr_f(kiln_tf_cx *cx, const kiln_tf_node *n, const char *name,
                      double otherwise);
bool kiln_tf_attr_b(kiln_tf_cx *cx, const kiln_tf_node *n, const char *name,
                    bool otherwise);
kiln_str kiln_tf_attr_s(kiln_tf_cx *cx, const kiln_tf_node *n, const char *name,
                        const char *otherwise);
/* How many, and they. */
size_t kiln_tf_attr_ints(kiln_tf_cx *cx, const kiln_tf_node *n, const char *name,
                         const int64_t **v);
/* KILN_ERR_UNSUPPORTED where kiln has no such type. */
kiln_status kiln_tf_attr_dtype(kiln_tf_cx *cx, const kiln_tf_node *n, const char *name,
                               kiln_dtype otherwise, kiln_dtype *out);
const kiln_tf_attr *kiln_tf_find_attr(kiln_tf_cx *cx, const kiln_tf_node *n,
                                      const char *name);
/* Attributes that no importer asked for must be ones that change no result. */
kiln_status kiln_tf_check_attrs(kiln_tf_cx *cx, const kiln_tf_node *n);

/* ---- tensors: tensorflow_tensor.c ------------------------------------------------ */

kiln_status kiln_tf_dtype(int64_t type, kiln_dtype *out, kiln_err *err);
const char *kiln_tf_type_name(int64_t type, char buf[32]);
/* The type that a TensorProto declares. */
kiln_status kiln_tf_tensor_type(const kiln_tf_tensor *t, kiln_type *out, kiln_err *err);
/* Views where they can be; what is filled up is charged to the import. */
kiln_status kiln_tf_tensor_read(kiln_import_cx *cx, const kiln_tf_tensor *t,
                                kiln_tensor *out);
/* The same of raw little-endian bytes, which must be as many as the type has. */
kiln_status kiln_tf_tensor_raw(kiln_import_cx *cx, const kiln_type *type,
                               kiln_str bytes, const char *where, kiln_tensor *out);

/* ---- the graph: tensorflow_order.c, tensorflow_support.c, tensorflow_bindings.c, tensorflow_import.c --- */

kiln_status kiln_tf_frame_init(kiln_tf_cx *cx, kiln_tf_frame *f,
                               const kiln_tf_node *node, size_t n);
/* The node (index + 1) and output that an input of n names (NULL: it is a result); 0: it is the function's argument
 * *k. */
kiln_status kiln_tf_resolve(kiln_tf_cx *cx, const kiln_tf_frame *f,
                            const kiln_tf_node *n, kiln_str input, size_t *node,
                            int *k);
/* The nodes that `root` (indexes) depend on, each behind what it depends on. */
kiln_status kiln_tf_order(kiln_tf_cx *cx, kiln_tf_frame *f, const size_t *root,
                          size_t n_root, const size_t **order, size_t *n);
/* The node (index + 1) on whose branch a control input of n, from n->n_in on, makes it
 * depend; 0: it says when only. */
size_t kiln_tf_pivot(const kiln_tf_frame *f, const kiln_tf_node *n, size_t input);
/* Where n lies: on a branch that is not taken (is_dead), on one that data decides about
 * (the innermost), or on none. */
kiln_status kiln_tf_find_branch(kiln_tf_cx *cx, const kiln_tf_node *n,
                                kiln_tf_slot *out);
/* Nodes of the graph that nothing consumes: its outputs. */
kiln_status kiln_tf_find_outputs(kiln_tf_cx *cx, const kiln_tf_frame *f,
                                 const size_t **out, size_t *n);
/* Imports the nodes that root depends on. */
kiln_status kiln_tf_import_nodes(kiln_tf_cx *cx, const size_t *root, size_t n_root);

const kiln_tf_op *kiln_tf_find_op(kiln_tf_cx *cx, kiln_str name);
void kiln_tf_add_rows(kiln_tf_cx *cx);
/* The function that a node calls, or NULL. */
const kiln_tf_function *kiln_tf_find_function(kiln_tf_cx *cx, const kiln_tf_node *n);
kiln_status kiln_tf_add_functions(kiln_tf_cx *cx);
/* A frame for a function's body, and the nodes that its results come of (one per
 * output, in scratch; those that are arguments are left out). */
kiln_status kiln_tf_frame_of(kiln_tf_cx *cx, kiln_tf_frame *f,
                             const kiln_tf_function *function, const size_t **root,
                             size_t *n_root);
/* Puts the function's body in place of the node. */
kiln_status kiln_tf_call(kiln_tf_cx *cx, const kiln_tf_node *n,
                         const kiln_tf_function *function);
/* The same with arguments of the caller's own; `out` holds function->n_output. Names
 * inside begin with n's and `step`. */
kiln_status kiln_tf_invoke(kiln_tf_cx *cx, const kiln_tf_node *n,
                           const kiln_tf_function *function, const char *step,
                           const kiln_tf_slot *arg, int n_arg, kiln_tf_slot *out);
/* Every node that root needs, functions' bodies once each. */
kiln_status
kiln_tf_walk(kiln_tf_cx *cx, kiln_tf_frame *f, const size_t *root, size_t n_root,
             void (*visit)(kiln_tf_cx *cx, const kiln_tf_node *n, void *user),
             void *user);
/* All operators that root needs and kiln does not know, in the report and in one
 * KILN_ERR_UNSUPPORTED. */
kiln_status kiln_tf_check_support(kiln_tf_cx *cx, kiln_tf_frame *f, const size_t *root,
                                  size_t n_root);

/* What a graph gives: a node's output, or all of them. */
typedef struct kiln_tf_result {
    kiln_str name;
    size_t node;
    int k; /* -1: all */
} kiln_tf_result;
/* A SavedModel's graph for inference: its signature, of which what is not named is
 * hidden. */
kiln_status kiln_tf_open_saved(kiln_tf_cx *cx, const kiln_tf_saved *saved);
/* What the signature names, or every node that nothing consumes. */
kiln_status kiln_tf_results(kiln_tf_cx *cx, kiln_tf_frame *f,
                            const kiln_tf_result **out, size_t *n);
/* Loops of TensorFlow 1 in cx->graph become While and functions. KILN_ERR_UNSUPPORTED
 * names what has no such form. */
kiln_status kiln_tf_lift_loops(kiln_tf_cx *cx);
/* Decodes either kind of file; loops of old are lifted. */
kiln_status kiln_tf_open(kiln_tf_cx *cx, kiln_str bytes);

bool kiln_tf_is_input(const kiln_tf_node *n);
/* Makes the graph's inputs of its placeholders, in the file's order. */
kiln_status kiln_tf_bind_inputs(kiln_tf_cx *cx, kiln_tf_frame *f);
void kiln_tf_declare(kiln_arena *a, const kiln_tf_node *n, kiln_declared_input *out);
kiln_status kiln_tf_list_inputs(kiln_arena *a, kiln_str bytes, const char *path,
                                kiln_declared_input **out, size_t *n, kiln_err *err);
kiln_status kiln_tf_list_data(kiln_arena *a, kiln_str bytes, const char *path,
                              kiln_import_locations *out, kiln_err *err);
kiln_status kiln_tf_survey(kiln_arena *a, kiln_str bytes, const char *path,
                           kiln_model_survey *out, kiln_err *err);

/* ---- values as long as data has them: tensorflow_counted.c ------------------------ */

/* Imports the node by its rule where it reads such a value; *done says whether. What has
 * no rule is refused. */
kiln_status kiln_tf_import_counted(kiln_tf_cx *cx, const kiln_tf_node *n, bool *done);
/* What StridedSlice takes of axis `of` of x. */
kiln_status kiln_tf_read_cut(kiln_tf_cx *cx, const kiln_tf_node *n, const kiln_value *x,
                             int of, kiln_counted_cut *out);

/* ---- complex numbers: tensorflow_op_fourier.c --------------------------------------- */

/* Imports a node that reads complex numbers for each of their parts, where that is what it
 * does; *done says whether. Others but those that look at them themselves are refused. */
kiln_status kiln_tf_import_parts(kiln_tf_cx *cx, const kiln_tf_node *n, bool *done);

/* ---- lists: op_list.c ------------------------------------------------------------- */

/* n elements that are not set, charged to the import. */
kiln_status kiln_tf_new_items(kiln_tf_cx *cx, int64_t n, kiln_dtype dtype,
                              kiln_tf_items **out);
/* A copy with room for n elements. */
kiln_status kiln_tf_copy_items(kiln_tf_cx *cx, const kiln_tf_items *from, int64_t n,
                               kiln_tf_items **out);
/* Sets n's output to the elements along a new first axis. What was never set is zero
 * where another one tells its shape. */
kiln_status kiln_tf_stack_items(kiln_tf_cx *cx, const kiln_tf_node *n,
                                const kiln_tf_items *items);

/* ---- conditions: op_flow.c -------------------------------------------------------- */

/* A condition that must be constant. */
kiln_status kiln_tf_read_condition(kiln_tf_cx *cx, kiln_value *v, bool *out);
/* Of the outputs of both branches, what the condition says: they must be tensors of one
 * type. */
kiln_status kiln_tf_choose(kiln_tf_cx *cx, const kiln_tf_node *n, kiln_value *cond,
                           const kiln_tf_slot *yes, const kiln_tf_slot *no, int count,
                           kiln_tf_slot *out);

/* ---- images: op_pool.c ------------------------------------------------------------ */

/* What Resize... has: images of rank 4, two sizes, how positions are taken. */
kiln_status kiln_tf_resize_operands(kiln_tf_cx *cx, const kiln_tf_node *n,
                                    kiln_value **x, const int64_t **size,
                                    bool *align_corners, bool *has_centers);

/* Importers by the names that tf_ops.def has. */
#define KILN_TF(name, importer, op, outputs)                                           \
    kiln_status kiln_tf_import_##importer(kiln_tf_cx *cx, const kiln_tf_node *n);
#include "compiler/frontend/tensorflow/tf_ops.def"
#undef KILN_TF

#endif
