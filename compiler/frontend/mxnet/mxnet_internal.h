/* Inside the MXNet frontend: a symbol and its parameters, the import of one model, and
 * what importers of operators ask. */
#ifndef KILN_COMPILER_FRONTEND_MXNET_MXNET_INTERNAL_H
#define KILN_COMPILER_FRONTEND_MXNET_MXNET_INTERNAL_H

#include "compiler/frontend/compose.h"
#include "compiler/frontend/frontend_inputs.h"

enum {
    KILN_MX_MAX_ATTRS = 64, /* of a node */
    KILN_MX_MAX_INPUTS = 4096
};

/* ---- mxnet_files.c --------------------------------------------------------------------- */

typedef struct kiln_mx_files {
    kiln_str symbol, params;
    const char *symbol_name, *params_name; /* paths */
    const char *other; /* the one that the caller did not name, in the same folder */
} kiln_mx_files;

bool kiln_mx_is_symbol(kiln_str bytes);
bool kiln_mx_is_params(kiln_str bytes);
/* Finds the other file beside `path`, whose bytes are given. */
kiln_status kiln_mx_open(kiln_arena *a, kiln_str bytes, const char *path,
                         kiln_mx_files *out, kiln_err *err);

/* ---- mxnet_params.c -------------------------------------------------------------------- */

/* Arrays by name, "arg:" and "aux:" taken off: kiln_tensor, whose data are views. */
kiln_status kiln_mx_read_params(kiln_arena *a, kiln_str bytes, kiln_map *out,
                                kiln_err *err);
/* A number as MXNet writes types: 0 is f32. */
bool kiln_mx_dtype(int64_t flag, kiln_dtype *out);

/* ---- symbol.c -------------------------------------------------------------------- */

typedef struct kiln_mx_entry {
    size_t node, index; /* output `index` of a node */
} kiln_mx_entry;

typedef struct kiln_mx_node {
    const char *op, *name;     /* op "null": a variable */
    const kiln_json *attrs[3]; /* objects of texts: attrs, attr, param; NULL: none */
    const kiln_mx_entry *in;
    size_t n_in, index;
    bool has_subgraphs;
} kiln_mx_node;

typedef struct kiln_mx_symbol {
    kiln_mx_node *node; /* each after its inputs */
    const kiln_mx_entry *head;
    size_t n_node, n_head;
    int64_t version; /* of MXNet, 10301 is 1.3.1; 0: not said */
} kiln_mx_symbol;

kiln_status kiln_mx_read_symbol(kiln_arena *a, kiln_str text, const char *file,
                                kiln_mx_symbol *out, kiln_err *err);
static inline bool kiln_mx_is_variable(const kiln_mx_node *n) {
    return kiln_str_is(kiln_str_from(n->op), "null");
}

/* ---- the import ------------------------------------------------------------------ */

typedef struct kiln_mx_values {
    kiln_value **v; /* room for one; an importer of more brings its own */
    size_t n;
} kiln_mx_values;

typedef struct kiln_mx_row kiln_mx_row;

typedef struct kiln_mx_cx {
    kiln_import_cx common;
    const kiln_mx_symbol *symbol;
    const kiln_map *params;
    const char *params_name;
    const kiln_import_options *options;
    kiln_import_report *report;
    kiln_mx_values *made; /* by node */

    /* of the node that is imported */
    const kiln_mx_row *row;
    uint64_t attrs_read; /* bits by place of the attribute */
    kiln_err attr_err;   /* the first attribute that is not what was asked for */
} kiln_mx_cx;

/* Makes what a node computes: `in` are its inputs, n->n_in of them, labels left out. */
typedef kiln_status kiln_mx_importer(kiln_mx_cx *cx, const kiln_mx_node *n,
                                     kiln_value *const *in, kiln_mx_values *out);

struct kiln_mx_row {
    const char *op;
    kiln_mx_importer *import;
    const kiln_op_def *emits; /* by importers of several rows, or NULL */
    size_t min_in;
    size_t n_data;   /* inputs from here on are parameters, or labels */
    bool has_labels; /* these are of training only */
};

const kiln_mx_row *kiln_mx_find(const char *op);

/* ---- mxnet_declare.c ------------------------------------------------------------------- */

/* Variables that no parameter gives, and that something other than training reads. is_in:
 * by node, its place in *out + 1. */
kiln_status kiln_mx_declare(kiln_arena *a, const kiln_mx_symbol *s,
                            const kiln_map *params, kiln_declared_input **out,
                            size_t *n, size_t *place, kiln_err *err);
kiln_status kiln_mx_list_inputs(kiln_arena *a, kiln_str bytes, const char *path,
                                kiln_declared_input **out, size_t *n, kiln_err *err);
kiln_status kiln_mx_survey(kiln_arena *a, kiln_str bytes, const char *path,
                           kiln_model_survey *out, kiln_err *err);

/* ---- mxnet_attrs.c --------------------------------------------------------------------- */

/* An attribute of the node that is imported, NULL where it is not given or is "None".
 * One that is not what is asked for fails the import behind the importer. */
const char *kiln_mx_text(kiln_mx_cx *cx, const kiln_mx_node *n, const char *name);
int64_t kiln_mx_int(kiln_mx_cx *cx, const kiln_mx_node *n, const char *name,
                    int64_t otherwise);
double kiln_mx_float(kiln_mx_cx *cx, const kiln_mx_node *n, const char *name,
                     double otherwise);
bool kiln_mx_bool(kiln_mx_cx *cx, const kiln_mx_node *n, const char *name,
                  bool otherwise);
/* "(2, 2)", "[2,2]" or "2"; returns how many, 0 where it is not given. An element None
 * is KILN_MX_NONE. */
enum { KILN_MX_MAX_TUPLE = 2 * KILN_MAX_RANK };
#define KILN_MX_NONE INT64_MIN
size_t kiln_mx_tuple(kiln_mx_cx *cx, const kiln_mx_node *n, const char *name,
                     int64_t out[KILN_MX_MAX_TUPLE]);
/* Which of the words (NULL at the end) it is; 0, the first, where it is not given. */
int kiln_mx_word(kiln_mx_cx *cx, const kiln_mx_node *n, const char *name,
                 const char *const *words);
/* Parses a tuple outside of an import. */
bool kiln_mx_parse_tuple(const char *text, int64_t out[KILN_MX_MAX_TUPLE], size_t *n);
/* What was not asked for and is not known to be without effect. */
kiln_status kiln_mx_check_attrs(kiln_mx_cx *cx, const kiln_mx_node *n);

/* ---- for importers --------------------------------------------------------------- */

static inline kiln_compose kiln_mx_compose(kiln_mx_cx *cx, const kiln_mx_node *n) {
    return (kiln_compose){.cx = &cx->common, .site = n};
}
kiln_status kiln_mx_axis(kiln_mx_cx *cx, const char *what, int64_t given, int limit,
                         int *out);
kiln_status kiln_mx_need_rank(kiln_mx_cx *cx, const kiln_value *x, int min_rank);
const char *kiln_mx_shape(kiln_mx_cx *cx, const kiln_value *v); /* in scratch */
/* Reads 'layout', which must be channels first. */
kiln_status kiln_mx_need_channels_first(kiln_mx_cx *cx, const kiln_mx_node *n);

#define KILN_MX(op, importer, emits, min_in, n_data)                                   \
    kiln_mx_importer kiln_mx_import_##importer;
#define KILN_MX_JUDGED(op, importer, min_in, n_data)                                   \
    kiln_mx_importer kiln_mx_import_##importer;
#include "compiler/frontend/mxnet/mxnet_ops.def"
#undef KILN_MX_JUDGED
#undef KILN_MX

#endif
