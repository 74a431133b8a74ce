/* Frontends: a model file becomes a Graph. One row per format in frontends.def, one
 * file or folder each. */
#ifndef KILN_COMPILER_FRONTEND_FRONTEND_H
#define KILN_COMPILER_FRONTEND_FRONTEND_H

#include "compiler/graph/graph.h"

/* What the caller says about one graph input: "x:1x3x224x224". */
typedef struct kiln_shape_binding {
    const char *name;
    int rank;
    int64_t dim[KILN_MAX_RANK];
} kiln_shape_binding;

/* A graph input whose value is fixed at import; it is then no input any more. */
typedef struct kiln_value_binding {
    const char *name;
    kiln_tensor value;
} kiln_value_binding;

typedef struct kiln_import_options {
    const kiln_shape_binding
        *shapes; /* for dynamic dimensions; must agree with the static ones */
    size_t n_shapes;
    const kiln_value_binding *values; /* fixed inputs, always */
    size_t n_values;
    /* Values that may be used where an operand must be constant (it decides a shape)
     * and leads back to a graph input: then the import reads the value, and the graph
     * is right for this value only. The input stays an input. A name's absence is an
     * error that names the input. */
    const kiln_value_binding *hints;
    size_t n_hints;
    const char *signature; /* which of several ways to call the model; NULL: its own
                              choice. KILN_ERR_ARG names those that there are */
    /* Variables that the format's own runtime keeps from one run to the next are more
     * inputs behind all others, and what they are after a run outputs: NAME and NAME
     * KILN_STATE_SUFFIX, real numbers that begin with zeros. Else each run begins so. */
    bool has_state;
    /* Integer operators round as the format's own reference kernels do, where its runtime
     * by default rounds otherwise. */
    bool as_reference;
    /* One that is not in frontends.def, asked before them; NULL: none. */
    const struct kiln_frontend *row;
} kiln_import_options;

/* One operator that the frontend or the compiler does not know. */
typedef struct kiln_unsupported {
    const char *op;         /* "ai.onnx.ml.TreeEnsemble-3" */
    const char *first_node; /* its name, or "#12" */
    int64_t count;
} kiln_unsupported;

/* A file beside the model that holds values of it. */
typedef struct kiln_import_data {
    const char *location; /* in the model's folder */
    kiln_str bytes;       /* mapped as long as the import's arena lives */
} kiln_import_data;

/* What a file says for people, beyond what it computes. */
typedef struct kiln_model_note {
    const char *about; /* "model", "input 'x'" */
    const char *text;  /* one line, printable */
} kiln_model_note;

typedef struct kiln_import_report {
    const char *format;   /* "onnx" */
    const char *producer; /* as the file says, printable; "" when it does not */
    int64_t opset;        /* of the default domain; 0 when the format has none */
    int64_t ir_version;   /* of the format; 0: it has none */
    size_t n_unbound;   /* inputs whose shape is not known: the import failed for it */
    int64_t n_imported; /* nodes, also of an import that failed further on */
    KILN_VEC(kiln_unsupported)
    unsupported;                     /* filled also when the import fails for them */
    KILN_VEC(kiln_import_data) data; /* that were read, each once */
    KILN_VEC(kiln_model_note) notes; /* also of an import that failed further on */
} kiln_import_report;

/* Reads a model by its format (found from content, then from the name). Everything is
 * made in `a`, and constant data is a view into the mapped file, which `a` also owns.
 * On failure *report still lists all unsupported operators (KILN_ERR_UNSUPPORTED names
 * each with its count and first node). Messages name file, node and remedy. `o` may be
 * NULL. For each output that is bounded (docs/bounded-outputs.md) the graph has one
 * more behind all of the model's own: NAME KILN_COUNT_SUFFIX, how many rows of it
 * count. */
#define KILN_COUNT_SUFFIX ".count"
#define KILN_STATE_SUFFIX ".next"
kiln_status kiln_import(kiln_arena *a, const char *path, const kiln_import_options *o,
                        kiln_graph **out, kiln_import_report *report, kiln_err *err);

/* The file that a folder is a model by (a SavedModel's, in `a`); any other path as it is. */
const char *kiln_import_file(kiln_arena *a, const char *path);

/* A graph input as the file declares it, before any binding. */
typedef struct kiln_declared_input {
    const char *name;
    bool has_type;    /* false: not a tensor, or no element type that kiln knows */
    const char *what; /* then: "a sequence", "a tensor of STRING", ...; else NULL */
    kiln_dtype dtype;
    int rank;                          /* -1: the file gives no shape */
    int64_t dim[KILN_MAX_RANK];        /* -1: dynamic */
    const char *symbol[KILN_MAX_RANK]; /* of a dynamic one, printable; NULL: none */
} kiln_declared_input;

/* Lists the inputs that a caller must supply, in the file's order, so that shapes can
 * be bound by name. */
kiln_status kiln_import_inputs(kiln_arena *a, const char *path,
                               kiln_declared_input **out, size_t *n, kiln_err *err);

/* What a model says about itself, with no shape bound and nothing imported. */
typedef struct kiln_model_op {
    const char *op; /* as the format calls it, printable */
    int64_t count;  /* of nodes, those of subgraphs and functions too */
    bool is_read;
} kiln_model_op;
typedef struct kiln_model_survey {
    const char *format, *producer;
    int64_t ir_version, opset;
    kiln_declared_input *input, *output; /* inputs: that a caller must supply */
    size_t n_inputs, n_outputs;
    KILN_VEC(kiln_model_op) op; /* by name */
    int64_t n_nodes;
    int64_t n_params, const_bytes; /* weights: elements of floats; bytes of all */
    KILN_VEC(int64_t) size; /* that constants speak of, in the file's order, some */
    int64_t stride;         /* of all strides, at most 65536 */
} kiln_model_survey;
kiln_status kiln_import_survey(kiln_arena *a, const char *path, kiln_model_survey *out,
                               kiln_err *err);

/* Sizes for the dynamic dimensions with which the model imports, found by trying: usual
 * ones, and those that its constants speak of. `o` (may be NULL) is kept to. What has no
 * shape and the name of a setting of training is fixed instead. */
typedef struct kiln_suggested_setting {
    const char *name; /* an input that training sets, "keep_prob" */
    int64_t value;    /* where nothing is trained */
} kiln_suggested_setting;
typedef struct kiln_suggestion {
    bool is_found;
    const kiln_shape_binding *shape; /* of all other inputs that are dynamic */
    size_t n;
    const kiln_suggested_setting *setting; /* to be fixed at these values */
    size_t n_settings;
    int n_tried;
    const char *reason; /* where none was found: how the best of them failed */
} kiln_suggestion;
kiln_status kiln_import_suggest(kiln_arena *a, const char *path,
                                const kiln_import_options *o, kiln_suggestion *out,
                                kiln_err *err);

/* Files beside the model that it names for its weights, in order of bytes, each once,
 * also those that an import would not read. */
typedef KILN_VEC(const char *) kiln_import_locations;
kiln_status kiln_import_list_data(kiln_arena *a, const char *path,
                                  kiln_import_locations *out, kiln_err *err);

/* kiln_import from bytes in memory, which must outlive `a`; `dir` is where external
 * data is looked for (NULL: none is allowed). */
kiln_status kiln_import_onnx_bytes(kiln_arena *a, kiln_str bytes, const char *name,
                                   const char *dir, const kiln_import_options *o,
                                   kiln_graph **out, kiln_import_report *report,
                                   kiln_err *err);

/* Reads a tensor file: ONNX TensorProto (.pb) or numpy (.npy, versions 1 to 3, C or
 * Fortran order). */
kiln_status kiln_tensor_read_onnx(kiln_arena *a, const char *path, kiln_tensor *out,
                                  kiln_err *err);
kiln_status kiln_tensor_read_npy(kiln_arena *a, const char *path, kiln_tensor *out,
                                 kiln_err *err);
/* The same from bytes in memory; the tensor is a copy. */
kiln_status kiln_tensor_decode_npy(kiln_arena *a, kiln_str file, kiln_tensor *out,
                                   kiln_err *err);
kiln_status kiln_tensor_write_npy(const char *path, const kiln_tensor *t,
                                  kiln_err *err);

#endif
