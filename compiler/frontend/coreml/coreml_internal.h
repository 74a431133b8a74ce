/* Inside the Core ML frontend: the file as structs, one layer's call, weights.
 *
 * Axes. A network of the old mapping has values [Sequence, Batch, C, H, W]; sequence
 * and batch are one axis here, so that every value is [N, C, H, W] and layers follow
 * the rules that later specifications give for rank 4. A network of exact arrays has
 * values of any rank. In both, channels, rows and columns are the axes -3, -2 and -1.
 */
#ifndef KILN_COMPILER_FRONTEND_COREML_INTERNAL_H
#define KILN_COMPILER_FRONTEND_COREML_INTERNAL_H

#include "compiler/frontend/compose.h"
#include "compiler/frontend/frontend_internal.h"
#include "compiler/frontend/protobuf.h"

enum {
    KILN_COREML_MAX_SPEC = 9, /* the newest specification that is known */
    KILN_COREML_MAX_ENDS = 64 /* inputs, and outputs, of a layer */
};

/* ---- the file -------------------------------------------------------------------- */

typedef struct kiln_coreml_range {
    int64_t lower, upper; /* upper below 0: open */
} kiln_coreml_range;

typedef struct kiln_coreml_shape {
    const int64_t *dim;
    size_t n_dim;
} kiln_coreml_shape;

typedef struct kiln_coreml_size {
    int64_t width, height;
} kiln_coreml_size;

typedef struct kiln_coreml_image {
    int64_t width, height, color_space;
    const kiln_coreml_size *enumerated;
    size_t n_enumerated;
    const kiln_coreml_range *width_range, *height_range;
} kiln_coreml_image;

typedef struct kiln_coreml_array {
    const int64_t *dim;
    size_t n_dim;
    int64_t data_type;
    const kiln_coreml_shape *enumerated;
    size_t n_enumerated;
    const kiln_coreml_range *range;
    size_t n_range;
} kiln_coreml_array;

typedef struct kiln_coreml_nothing {
    char none;
} kiln_coreml_nothing;

/* An input or output; at most one of the pointers is there. */
typedef struct kiln_coreml_feature {
    kiln_str name;
    const kiln_coreml_image *image;
    const kiln_coreml_array *array;
    const kiln_coreml_nothing *integer, *number, *text, *dictionary, *sequence;
} kiln_coreml_feature;

typedef struct kiln_coreml_scaler {
    float scale, blue, green, red, gray;
    bool has_scale;
} kiln_coreml_scaler;

typedef struct kiln_coreml_mean {
    kiln_str values; /* f32 */
} kiln_coreml_mean;

typedef struct kiln_coreml_preprocessing {
    kiln_str feature;
    const kiln_coreml_scaler *scaler;
    const kiln_coreml_mean *mean;
} kiln_coreml_preprocessing;

typedef struct kiln_coreml_layer {
    kiln_str name;
    const kiln_str *input, *output;
    size_t n_input, n_output;
    uint32_t number; /* field of what kind it is; 0: of no kind */
    kiln_str params; /* its message */
    size_t index;
} kiln_coreml_layer;

typedef struct kiln_coreml_network {
    const kiln_str *bytes; /* of layers */
    size_t n_bytes;
    const kiln_coreml_preprocessing *preprocessing;
    size_t n_preprocessing;
    int64_t array_mapping, image_mapping;
    kiln_str probabilities;          /* of a classifier: value with its probabilities */
    const kiln_coreml_layer *layers; /* n_bytes */
} kiln_coreml_network;

typedef struct kiln_coreml_pair {
    kiln_str key, value;
} kiln_coreml_pair;

typedef struct kiln_coreml_description {
    const kiln_coreml_feature *input, *output;
    size_t n_input, n_output;
    kiln_str probabilities; /* name of the output */
    const kiln_coreml_pair *pair;
    size_t n_pair;
} kiln_coreml_description;

typedef struct kiln_coreml_model {
    int64_t version;
    kiln_coreml_description *description;
    kiln_coreml_network *network;
    bool is_exact; /* arrays have the ranks that they are declared with */
} kiln_coreml_model;

bool kiln_coreml_sniff(kiln_str bytes);
/* Everything but the layers' own messages. KILN_ERR_UNSUPPORTED: a model of another
 * kind. */
kiln_status kiln_coreml_decode(kiln_arena *a, kiln_str bytes, kiln_coreml_model *out,
                               kiln_err *err);
/* What wrote the file, as far as it says. */
const char *kiln_coreml_producer(kiln_arena *a, const kiln_coreml_model *m);

/* ---- an import ------------------------------------------------------------------- */

typedef struct kiln_coreml_cx {
    kiln_import_cx common; /* first */
    kiln_coreml_model model;
    const kiln_import_options *options;
    kiln_import_report *report;
    kiln_map values; /* name -> kiln_value */
} kiln_coreml_cx;

/* One layer that is being imported. Outputs are set by the importer. */
typedef struct kiln_coreml_call {
    kiln_coreml_cx *cx;
    const kiln_coreml_layer *layer;
    const kiln_op_def *op; /* of the row; NULL: none */
    kiln_compose c;
    kiln_value *in[KILN_COREML_MAX_ENDS], *out[KILN_COREML_MAX_ENDS];
    int n_in, n_out;
} kiln_coreml_call;

typedef kiln_status kiln_coreml_import_fn(kiln_coreml_call *k);

typedef struct kiln_coreml_row {
    uint32_t number; /* field of NeuralNetworkLayer */
    const char *name;
    kiln_coreml_import_fn *import;
    const kiln_op_def *op;
    int min_in, max_in; /* max_in 0: any */
    bool has_outputs;   /* more than one */
} kiln_coreml_row;

/* NULL: not read. */
const kiln_coreml_row *kiln_coreml_find(uint32_t number);
const char *kiln_coreml_layer_type(kiln_arena *a, uint32_t number);
/* Lists all that are not read, at once. */
kiln_status kiln_coreml_check_support(kiln_coreml_cx *cx);
/* Inputs with their preprocessing. */
kiln_status kiln_coreml_bind_inputs(kiln_coreml_cx *cx);
kiln_status kiln_coreml_list_inputs(kiln_arena *a, kiln_str bytes, const char *path,
                                    kiln_declared_input **out, size_t *n,
                                    kiln_err *err);
kiln_status kiln_coreml_survey(kiln_arena *a, kiln_str bytes, const char *path,
                               kiln_model_survey *out, kiln_err *err);
/* As a caller has to give it. */
void kiln_coreml_declare(kiln_arena *a, const kiln_coreml_model *m,
                         const kiln_coreml_feature *f, kiln_declared_input *d);

/* ---- what importers ask ---------------------------------------------------------- */

/* The layer's message by a table; what it holds lives as long as the import. */
kiln_status kiln_coreml_params(kiln_coreml_call *k, const kiln_pb_message *table,
                               void *out);
/* Fails unless input 0 has such a rank. */
kiln_status kiln_coreml_min_rank(const kiln_coreml_call *k, int rank);
/* An axis as files count them, from the end below 0. */
kiln_status kiln_coreml_axis(const kiln_coreml_call *k, int64_t axis, int rank,
                             int *out);
/* Of sizes from 0 on; stops at INT64_MAX. */
int64_t kiln_coreml_mul(int64_t a, int64_t b);
/* x as [N, C, H, W], all further axes in front as one; and back. */
kiln_value *kiln_coreml_as_images(kiln_coreml_call *k, kiln_value *x);
kiln_value *kiln_coreml_from_images(kiln_coreml_call *k, kiln_value *y,
                                    const kiln_value *x);

/* ---- coreml_weights.c ------------------------------------------------------------ */

typedef struct kiln_coreml_linear {
    const float *scale, *bias;
    size_t n_scale, n_bias;
} kiln_coreml_linear;

typedef struct kiln_coreml_lookup {
    const float *value;
    size_t n_value;
} kiln_coreml_lookup;

typedef struct kiln_coreml_quant {
    int64_t bits;
    const kiln_coreml_linear *linear;
    const kiln_coreml_lookup *lookup;
} kiln_coreml_quant;

typedef struct kiln_coreml_weights {
    kiln_str f32, f16, raw, int8;
    const kiln_coreml_quant *quant;
} kiln_coreml_weights;

extern const kiln_pb_message kiln_coreml_weights_message;

/* A constant of f32; quantised ones are computed (kiln_import_spend). `what` is for
 * messages. KILN_ERR_PARSE where the file has another number of them. */
kiln_status kiln_coreml_const(kiln_coreml_call *k, const kiln_coreml_weights *w,
                              const char *what, int rank, const int64_t *dim,
                              kiln_value **out);
/* The same of one axis. */
kiln_status kiln_coreml_vector(kiln_coreml_call *k, const kiln_coreml_weights *w,
                               const char *what, int64_t n, kiln_value **out);
/* How many numbers there are; -1: not known (lower bits than bytes). */
int64_t kiln_coreml_count(const kiln_coreml_weights *w);

/* ---- shared between layers ------------------------------------------------------- */

typedef struct kiln_coreml_edges {
    int64_t start, end;
} kiln_coreml_edges;

typedef struct kiln_coreml_border {
    const kiln_coreml_edges *edge;
    size_t n_edge;
} kiln_coreml_border;

typedef struct kiln_coreml_valid {
    const kiln_coreml_border *border;
} kiln_coreml_valid;

typedef struct kiln_coreml_same {
    int64_t asymmetry;
} kiln_coreml_same;

extern const kiln_pb_message kiln_coreml_border_message, kiln_coreml_valid_message,
    kiln_coreml_same_message, kiln_coreml_nothing_message;

/* Edges of rows and columns: none given: 0. */
kiln_status kiln_coreml_read_border(kiln_coreml_call *k,
                                    const kiln_coreml_border *border,
                                    kiln_coreml_edges out[2]);
/* Two sizes (rows, columns) of a list, or `otherwise` for both where it is empty. */
kiln_status kiln_coreml_pair_of(kiln_coreml_call *k, const char *what,
                                const int64_t *list, size_t n, int64_t otherwise,
                                int64_t out[2]);

#define KILN_COREML(number, name, importer, op, min_in, max_in, has_outputs)           \
    kiln_coreml_import_fn kiln_coreml_import_##importer;
#include "compiler/frontend/coreml/coreml_layers.def"
#undef KILN_COREML

#endif
