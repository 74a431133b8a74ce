/* Inside the Caffe frontend: the import of one net, and what importers of layers ask. */
#ifndef KILN_COMPILER_FRONTEND_CAFFE_CAFFE_INTERNAL_H
#define KILN_COMPILER_FRONTEND_CAFFE_CAFFE_INTERNAL_H

#include "compiler/frontend/caffe/caffe_model.h"
#include "compiler/frontend/compose.h"
#include "compiler/frontend/frontend_inputs.h"

/* The two files of a model. */
typedef struct kiln_caffe_files {
    kiln_str text, weights;
    const char *text_name, *weights_name; /* paths */
    const char *other; /* the one that the caller did not name, in the same folder */
} kiln_caffe_files;

/* A value by a blob's name; layers in place give the name to another value. */
typedef struct kiln_caffe_blob_value {
    kiln_str name;
    kiln_value *value;
    bool is_used; /* by a later layer: no output of the net */
} kiln_caffe_blob_value;

typedef struct kiln_caffe_cx {
    kiln_import_cx common;
    const kiln_caffe_net *net, *trained;
    const char *weights_name;
    const kiln_import_options *options;
    kiln_import_report *report;
    kiln_map weights; /* layer's name -> kiln_caffe_layer with blobs */
    kiln_map blobs;   /* name -> kiln_caffe_blob_value, the newest */
    KILN_VEC(kiln_caffe_blob_value *) made;
    size_t n_inputs;                  /* the first of them */
    const struct kiln_caffe_row *row; /* of the layer that is imported */
} kiln_caffe_cx;

/* Makes what a layer computes: `in` has a value for each bottom, `out` a place for each
 * top. */
typedef kiln_status kiln_caffe_importer(kiln_caffe_cx *cx, const kiln_caffe_layer *l,
                                        kiln_value *const *in, kiln_value **out);

/* What becomes of a layer. */
typedef enum kiln_caffe_use {
    KILN_CAFFE_LAYER, /* its importer makes nodes */
    KILN_CAFFE_ENDS,  /* nothing: it uses its bottoms up */
    KILN_CAFFE_JUDGES /* nothing: it measures its first bottom, which stays a result */
} kiln_caffe_use;

typedef struct kiln_caffe_row {
    const char *type;
    kiln_caffe_use use;
    kiln_caffe_importer *import;
    const kiln_op_def *op;        /* that shared importers emit */
    size_t min_in, max_in, n_out; /* n_out 0: any number */
} kiln_caffe_row;

const kiln_caffe_row *kiln_caffe_find(kiln_str type);
/* Is it there when the net is used, not trained? */
bool kiln_caffe_is_included(const kiln_caffe_layer *l);

/* ---- caffe_files.c --------------------------------------------------------------------- */

/* Finds the other file beside `path`, whose bytes are given. */
kiln_status kiln_caffe_open(kiln_arena *a, kiln_str bytes, const char *path,
                            kiln_caffe_files *out, kiln_err *err);
/* Its name, in the same folder, whether it is there or not. */
const char *kiln_caffe_other(kiln_arena *a, kiln_str bytes, const char *path);

/* ---- caffe_declare.c ------------------------------------------------------------------- */

/* Inputs of the net and of Input layers, with their shapes. */
kiln_status kiln_caffe_declare(kiln_arena *a, const kiln_caffe_net *net,
                               kiln_declared_input **out, size_t *n, kiln_err *err);
kiln_status kiln_caffe_list_inputs(kiln_arena *a, kiln_str bytes, const char *path,
                                   kiln_declared_input **out, size_t *n, kiln_err *err);
kiln_status kiln_caffe_survey(kiln_arena *a, kiln_str bytes, const char *path,
                              kiln_model_survey *out, kiln_err *err);

/* ---- caffe_weights.c ------------------------------------------------------------------- */

/* Blob i as a constant of this shape, which its own must have but for axes of 1. */
kiln_status kiln_caffe_weight(kiln_caffe_cx *cx, const kiln_caffe_layer *l, size_t i,
                              const char *what, int rank, const int64_t *dim,
                              kiln_value **out);
/* Blob i, of n elements, as doubles in scratch. */
kiln_status kiln_caffe_numbers(kiln_caffe_cx *cx, const kiln_caffe_layer *l, size_t i,
                               const char *what, int64_t n, const double **out);
/* Of a blob as the file says; KILN_ERR_PARSE where it has no shape that can be. */
kiln_status kiln_caffe_blob_type(const kiln_caffe_blob *b, kiln_type *out,
                                 kiln_err *err);

/* ---- for importers --------------------------------------------------------------- */

static inline kiln_compose kiln_caffe_compose(kiln_caffe_cx *cx,
                                              const kiln_caffe_layer *l) {
    return (kiln_compose){.cx = &cx->common, .site = l};
}
/* The axis counted from the front; from behind where it is below 0. `limit`: the rank, or
 * one more where an axis may be the end. */
kiln_status kiln_caffe_axis(kiln_caffe_cx *cx, const char *what, int64_t given,
                            int limit, int *out);
kiln_status kiln_caffe_need_rank(kiln_caffe_cx *cx, const kiln_value *x, int min_rank);

#define KILN_CAFFE(type, use, importer, op, min_in, max_in, n_out)                     \
    kiln_caffe_importer kiln_caffe_import_##importer;
#include "compiler/frontend/caffe/caffe_layers.def"
#undef KILN_CAFFE

#endif
