/* Inside the reader of exported programs: what torch.export.save writes. An archive
 * holds the program as JSON (schema.py of torch/_export/serde): a graph of calls, what
 * its inputs are, and tensors beside it.
 *
 * Names are those of the program: each value has its own. */
#ifndef KILN_COMPILER_FRONTEND_PYTORCH_PT2_INTERNAL_H
#define KILN_COMPILER_FRONTEND_PYTORCH_PT2_INTERNAL_H

#include "compiler/frontend/frontend_inputs.h"
#include "compiler/frontend/pytorch/aten/aten.h"
#include "compiler/frontend/pytorch/pickle/pickle.h"
#include "compiler/frontend/pytorch/pt2/pt2.h"

enum {
    KILN_PT2_MAX_INPUTS = 100000, /* of a program: parameters are some */
    KILN_PT2_MAX_DEPTH = 16,      /* graphs inside graphs */
    KILN_PT2_MAX_NODES = 2000000  /* that an import makes calls of */
};

/* An archive, opened. Strings and bytes are views; the rest lies in the arena that it was
 * opened with. */
typedef struct kiln_pt2_file {
    kiln_map entry;           /* name, without the folder that all lie in -> kiln_str */
    const kiln_json *program; /* the whole JSON */
    const kiln_json *graph;   /* graph_module.graph */
    const kiln_json *signature;
    const char *version; /* of torch; "" where it does not say */
    const kiln_json *weights,
        *constants; /* configs; NULL in files of torch before 2.8 */
} kiln_pt2_file;

/* Names in the archive, without the folder; false: there is no such entry. */
bool kiln_pt2_entry(const kiln_pt2_file *f, const char *name, kiln_str *out);
kiln_status kiln_pt2_open(kiln_arena *a, kiln_str bytes, kiln_pt2_file *out,
                          kiln_err *err);

/* What an input of the program is. */
typedef enum kiln_pt2_role {
    KILN_PT2_GIVEN,    /* a caller gives it */
    KILN_PT2_WEIGHT,   /* a parameter or buffer: `stored` names it in the state dict */
    KILN_PT2_CONSTANT, /* a tensor beside the program, likewise */
    KILN_PT2_FIXED     /* a number that was fixed when it was exported: `value` */
} kiln_pt2_role;

typedef struct kiln_pt2_input {
    kiln_pt2_role role;
    const char *name, *stored;
    const kiln_json *value; /* FIXED: an argument, or NULL: None */
    bool is_persistent;     /* a WEIGHT: else its tensor is among the constants */
} kiln_pt2_input;

/* A state dict in an archive inside the archive. */
typedef struct kiln_pt2_dict {
    kiln_str zip, folder;         /* of its entries, with the slash */
    const kiln_pickle_value *all; /* NULL: not read yet */
} kiln_pt2_dict;

typedef struct kiln_pt2_cx {
    kiln_import_cx common; /* first */
    const kiln_pt2_file *file;
    const kiln_import_options *options;
    kiln_import_report *report;
    kiln_map value; /* name -> kiln_aten_value */
    kiln_map kept;  /* names of parameters and buffers */
    kiln_map view;  /* names of values that share elements -> kiln_pt2_view */
    kiln_pt2_dict weights, constants; /* of old files */
    int64_t nodes_left;
} kiln_pt2_cx;

/* What a node is made for. */
typedef struct kiln_pt2_site {
    const char *name, *op; /* printable */
} kiln_pt2_site;

#define kiln_pt2_fail(cx, status, ...)                                                 \
    kiln_fail((cx)->common.err, (status), __VA_ARGS__)

/* ---- signature and tensors (pt2_inputs.c, pt2_tensor.c) --------------------------- */

kiln_status kiln_pt2_inputs(kiln_arena *a, const kiln_pt2_file *f, kiln_pt2_input **out,
                            size_t *n, kiln_err *err);
/* Those that a caller gives, in order. */
kiln_status kiln_pt2_declared(kiln_arena *a, const kiln_pt2_file *f,
                              kiln_declared_input **out, size_t *n, kiln_err *err);
/* Gives every input of the program its value. */
kiln_status kiln_pt2_bind_inputs(kiln_pt2_cx *cx);
/* Makes the graph's outputs, by the signature. */
kiln_status kiln_pt2_set_outputs(kiln_pt2_cx *cx);
/* dtype and sizes of a TensorMeta; sizes that are expressions are -1, and a symbol alone
 * is named (`symbol` may be NULL). */
kiln_status kiln_pt2_tensor_meta(kiln_arena *a, const kiln_json *meta,
                                 kiln_dtype *dtype, int *rank, int64_t *dim,
                                 const char **symbol, kiln_err *err);
kiln_status kiln_pt2_tensor(kiln_pt2_cx *cx, const kiln_pt2_input *in,
                            kiln_value **out);
/* torch/_export/serde's own numbers of dtypes. */
bool kiln_pt2_dtype(int64_t number, kiln_dtype *out);

/* ---- what is written into (pt2_views.c) ------------------------------------------- */

/* A value that shares elements with another one, by a call that can be made again. */
typedef struct kiln_pt2_view {
    const char *base;    /* whose elements it shares */
    kiln_aten_call call; /* of which the first argument is the base */
    int at;              /* in the list that the call gives; -1: it gives one value */
    int64_t version;     /* of the root's elements, when its value was made */
    int64_t written;     /* of a root: how often its elements were */
} kiln_pt2_view;

/* The outputs of a node are views of `base` by this call. */
kiln_status kiln_pt2_add_views(kiln_pt2_cx *cx, const kiln_aten_call *call,
                               const char *base, const kiln_json *node);
/* Elements of `name` become those of v, in all that share them; `alias` (the node's own
 * name) is one more name of it. */
kiln_status kiln_pt2_write(kiln_pt2_cx *cx, const char *name, const char *alias,
                           const kiln_aten_value *v);
/* Makes the value of `name` again where what it shares was written since. */
kiln_status kiln_pt2_refresh(kiln_pt2_cx *cx, const char *name);

/* ---- the graph (pt2_graph.c, pt2_args.c, pt2_symbol.c) ---------------------------- */

void kiln_pt2_set(kiln_pt2_cx *cx, const char *name, kiln_aten_value v);
/* KILN_ERR_PARSE where no value has that name yet. */
kiln_status kiln_pt2_get(kiln_pt2_cx *cx, const char *name, kiln_aten_value *out);
/* The value of an Argument. */
kiln_status kiln_pt2_argument(kiln_pt2_cx *cx, const kiln_json *arg,
                              kiln_aten_value *out);
/* The one member of a tagged union that says something; *tag is its name. */
const kiln_json *kiln_pt2_union(const kiln_json *v, const char **tag);
/* Python's functions of numbers ("_operator.mul", "math.ceil"), by which programs compute
 * sizes. False: it is none. */
bool kiln_pt2_is_symbolic(const char *target);
kiln_status kiln_pt2_run_symbolic(kiln_pt2_cx *cx, const char *target,
                                  const kiln_aten_value *arg, size_t n,
                                  kiln_aten_value *out);
/* Is a call of this operator read? */
bool kiln_pt2_is_read(const char *target);
/* Calls visit for every node, those of graphs inside graphs too. */
typedef void kiln_pt2_visit_fn(void *user, const char *target, const char *name);
kiln_status kiln_pt2_walk(const kiln_json *graph, int depth, kiln_pt2_visit_fn *visit,
                          void *user, kiln_err *err);
kiln_status kiln_pt2_run_nodes(kiln_pt2_cx *cx, const kiln_json *graph, int depth);

#endif
