/* Inside the CNTK frontend: a model's dictionaries, its functions and variables, the
 * import of one model, and what importers of operators ask.
 *
 * CNTK lists dimensions with the fastest first, and counts its axes so; a Graph has them
 * the other way round, with a batch in front where a variable has dynamic axes. Values
 * here are Graph values; shapes and axes of files are turned where they are read. */
#ifndef KILN_COMPILER_FRONTEND_CNTK_CNTK_INTERNAL_H
#define KILN_COMPILER_FRONTEND_CNTK_CNTK_INTERNAL_H

#include "compiler/frontend/frontend_inputs.h"
#include "compiler/frontend/protobuf.h"
#include "compiler/frontend/spatial.h"

/* ---- dict.c: the file's messages (CNTK.proto) ------------------------------------ */

typedef enum kiln_cntk_kind { /* of an item, as the file has them */
                              KILN_CNTK_NONE,
                              KILN_CNTK_BOOL,
                              KILN_CNTK_INT,
                              KILN_CNTK_SIZE,
                              KILN_CNTK_FLOAT,
                              KILN_CNTK_DOUBLE,
                              KILN_CNTK_STRING,
                              KILN_CNTK_SHAPE,
                              KILN_CNTK_AXIS,
                              KILN_CNTK_VECTOR,
                              KILN_CNTK_DICT,
                              KILN_CNTK_ARRAY,
                              KILN_CNTK_N_KINDS
} kiln_cntk_kind;

typedef struct kiln_cntk_shape {
    const uint64_t *dim; /* fastest first; from KILN_CNTK_OPEN on: not a size */
    size_t n_dim;
} kiln_cntk_shape;
#define KILN_CNTK_OPEN ((uint64_t)1 << 62)

typedef struct kiln_cntk_axis {
    int32_t index; /* from the fastest; below 0: from behind the slowest */
    kiln_str name;
} kiln_cntk_axis;

typedef struct kiln_cntk_array {
    int64_t dtype, storage;
    const kiln_cntk_shape *shape;
    kiln_str f32, f64; /* little endian, packed: views */
    kiln_str bytes;
} kiln_cntk_array;

typedef struct kiln_cntk_item kiln_cntk_item;

typedef struct kiln_cntk_vector {
    const kiln_cntk_item *item;
    size_t n_item;
} kiln_cntk_vector;

typedef struct kiln_cntk_entry {
    kiln_str key;
    const kiln_cntk_item *value; /* NULL: the file gives none */
} kiln_cntk_entry;

typedef struct kiln_cntk_dict {
    const kiln_cntk_entry *entry;
    size_t n_entry;
} kiln_cntk_dict;

struct kiln_cntk_item {
    int64_t kind; /* kiln_cntk_kind, unchecked */
    bool flag;
    int32_t i;
    uint64_t size;
    float f;
    double d;
    kiln_str text;
    const kiln_cntk_shape *shape;
    const kiln_cntk_axis *axis;
    const kiln_cntk_vector *vector;
    const kiln_cntk_dict *dict;
    const kiln_cntk_array *array;
};

bool kiln_cntk_is_model(kiln_str bytes);
kiln_status kiln_cntk_read_dict(kiln_arena *a, kiln_str bytes, kiln_cntk_dict *out,
                                kiln_err *err);
/* NULL where there is none. With a kind: nor one of another kind. */
const kiln_cntk_item *kiln_cntk_get(const kiln_cntk_dict *d, const char *key);
const kiln_cntk_item *kiln_cntk_get_kind(const kiln_cntk_dict *d, const char *key,
                                         kiln_cntk_kind kind);
kiln_str kiln_cntk_get_text(const kiln_cntk_dict *d, const char *key); /* or empty */

/* ---- cntk_dictionary.c ----------------------------------------------------------- */

typedef enum kiln_cntk_role { /* of a variable, as the file has them */
                              KILN_CNTK_INPUT,
                              KILN_CNTK_OUTPUT,
                              KILN_CNTK_PARAMETER,
                              KILN_CNTK_CONSTANT,
                              KILN_CNTK_PLACEHOLDER
} kiln_cntk_role;

typedef struct kiln_cntk_variable {
    kiln_str uid, name; /* name: the uid where the file gives none */
    int64_t role, dtype;
    bool has_batch; /* dynamic axes: one axis of the Graph for all of them */
    const kiln_cntk_shape *shape;
    const kiln_cntk_array *array; /* of parameters and constants */
} kiln_cntk_variable;

typedef struct kiln_cntk_function {
    kiln_str uid, name;
    uint64_t op;
    size_t index;
    const kiln_cntk_dict *attrs;
    kiln_str *in; /* uids */
    size_t n_in;
    kiln_str block_root; /* of a block: the function inside that it gives */
} kiln_cntk_function;

/* What a uid leads to, through blocks and placeholders: one of both. */
typedef struct kiln_cntk_source {
    const kiln_cntk_variable *variable;
    const kiln_cntk_function *function;
} kiln_cntk_source;

typedef struct kiln_cntk_model {
    kiln_cntk_variable *variable;
    kiln_cntk_function *function;
    size_t n_variable, n_function;
    kiln_map variables, functions; /* by uid */
    kiln_map
        instead;   /* a placeholder's uid -> kiln_str, what a block has in its place */
    kiln_str root; /* uid */
} kiln_cntk_model;

enum { KILN_CNTK_COMBINE = 44, KILN_CNTK_BLOCK = 57 };

kiln_status kiln_cntk_read_model(kiln_arena *a, kiln_str bytes, kiln_cntk_model *out,
                                 kiln_err *err);
kiln_status kiln_cntk_resolve(const kiln_cntk_model *m, kiln_str uid,
                              kiln_cntk_source *out, kiln_err *err);
/* The uids of what the model gives: of its root, or what the root combines. */
kiln_status kiln_cntk_roots(kiln_arena *a, const kiln_cntk_model *m, kiln_str **out,
                            size_t *n, kiln_err *err);

/* ---- cntk_declare.c ------------------------------------------------------------------- */

/* A variable's shape as the Graph has it; -1: left open. */
kiln_status kiln_cntk_turn_shape(const kiln_cntk_shape *s, int *rank, int64_t *dim,
                                 kiln_err *err);
/* False: no element type that kiln knows. */
bool kiln_cntk_dtype(int64_t dtype, kiln_dtype *out);
kiln_status kiln_cntk_declare(kiln_arena *a, const kiln_cntk_variable *v,
                              kiln_declared_input *out, kiln_err *err);
kiln_status kiln_cntk_list_inputs(kiln_arena *a, kiln_str bytes, const char *path,
                                  kiln_declared_input **out, size_t *n, kiln_err *err);
kiln_status kiln_cntk_survey(kiln_arena *a, kiln_str bytes, const char *path,
                             kiln_model_survey *out, kiln_err *err);

/* ---- the import ------------------------------------------------------------------ */

typedef struct kiln_cntk_value {
    kiln_value *v;
    bool has_batch; /* its axis 0 */
} kiln_cntk_value;

typedef struct kiln_cntk_row kiln_cntk_row;

typedef struct kiln_cntk_cx {
    kiln_import_cx common;
    kiln_cntk_model model;
    const kiln_import_options *options;
    kiln_import_report *report;
    kiln_map values;       /* by a variable's uid: kiln_cntk_value */
    kiln_cntk_value *made; /* by function */

    /* of the function that is imported */
    const kiln_cntk_row *row;
    kiln_err attr_err; /* the first attribute that is not what was asked for */
} kiln_cntk_cx;

/* Makes what a function computes; out->has_batch is set before: where an input has. */
typedef kiln_status kiln_cntk_importer(kiln_cntk_cx *cx, const kiln_cntk_function *f,
                                       const kiln_cntk_value *in, kiln_cntk_value *out);

struct kiln_cntk_row {
    uint64_t number;
    const char *op;
    kiln_cntk_importer *import; /* NULL: known, and not read */
    const kiln_op_def *emits;   /* by importers of several rows, or NULL */
    size_t n_in;                /* at least */
};

/* NULL: no number of CNTK's that is known here. */
const kiln_cntk_row *kiln_cntk_find(uint64_t op);
const char *kiln_cntk_op_name(kiln_arena *a, uint64_t op);

/* ---- cntk_attrs.c --------------------------------------------------------------------- */

/* Attributes of the function that is imported. One of another kind than is asked for
 * fails the import behind the importer. */
bool kiln_cntk_bool(kiln_cntk_cx *cx, const kiln_cntk_function *f, const char *name,
                    bool otherwise);
int64_t kiln_cntk_int(kiln_cntk_cx *cx, const kiln_cntk_function *f, const char *name,
                      int64_t otherwise);
double kiln_cntk_float(kiln_cntk_cx *cx, const kiln_cntk_function *f, const char *name,
                       double otherwise);
kiln_str kiln_cntk_text(kiln_cntk_cx *cx, const kiln_cntk_function *f,
                        const char *name);
/* NULL: not given. */
const kiln_cntk_shape *kiln_cntk_shape_of(kiln_cntk_cx *cx, const kiln_cntk_function *f,
                                          const char *name);
const kiln_cntk_vector *kiln_cntk_list(kiln_cntk_cx *cx, const kiln_cntk_function *f,
                                       const char *name);
/* An item of such a list, or an attribute, as the axis of x that it means. */
kiln_status kiln_cntk_axis_of(kiln_cntk_cx *cx, const kiln_cntk_item *item,
                              const kiln_cntk_value *x, int limit, int *out);
enum { KILN_CNTK_ALL_STATIC = INT32_MAX - 1, KILN_CNTK_END = INT32_MAX - 3 };

/* ---- for importers --------------------------------------------------------------- */

static inline kiln_compose kiln_cntk_compose(kiln_cntk_cx *cx,
                                             const kiln_cntk_function *f) {
    return (kiln_compose){.cx = &cx->common, .site = f};
}
/* How many axes a value has without its batch, and their sizes. */
static inline int kiln_cntk_rank(const kiln_cntk_value *x) {
    return x->v->type.rank - x->has_batch;
}
static inline const int64_t *kiln_cntk_dim(const kiln_cntk_value *x) {
    return x->v->type.dim + x->has_batch;
}
const char *kiln_cntk_shape_text(kiln_cntk_cx *cx, const kiln_cntk_value *x);
/* x with these axes behind its batch. */
kiln_value *kiln_cntk_reshape(kiln_compose *c, const kiln_cntk_value *x, int rank,
                              const int64_t *dim);
/* x with `rank` axes at least (those that are missing are the slowest): so that values
 * with a batch meet others as CNTK stretches them. */
kiln_value *kiln_cntk_widen(kiln_compose *c, const kiln_cntk_value *x, int rank);

#define KILN_CNTK(number, op, importer, emits, n_in)                                   \
    kiln_cntk_importer kiln_cntk_import_##importer;
#define KILN_CNTK_REFUSED(number, op)
#include "compiler/frontend/cntk/cntk_ops.def"
#undef KILN_CNTK_REFUSED
#undef KILN_CNTK

#endif
