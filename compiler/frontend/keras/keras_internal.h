/* Inside the Keras frontend: the model's JSON, one layer's call, weights.
 *
 * Values keep their channels last, as Keras has them; channels_last.h puts transposes
 * around what wants them first. */
#ifndef KILN_COMPILER_FRONTEND_KERAS_KERAS_INTERNAL_H
#define KILN_COMPILER_FRONTEND_KERAS_KERAS_INTERNAL_H

#include "compiler/frontend/channels_last.h"
#include "compiler/frontend/frontend_internal.h"
#include "compiler/frontend/keras/hdf5.h"
#include "compiler/frontend/zip.h"

enum {
    KILN_KERAS_MAX_INPUTS = 64, /* of one layer */
    KILN_KERAS_MAX_DEPTH = 16,  /* models inside models */
    KILN_KERAS_MAX_LAYERS = 20000
};

/* The two kinds of file, opened. */
typedef struct kiln_keras_file {
    const kiln_json *model; /* {"class_name", "config"} */
    const char *version;    /* of Keras; "" where it does not say */
    int major, minor;       /* major: 1, 2 or 3 */
    kiln_str weights;       /* an HDF5 file */
    bool is_archive;        /* .keras: weights by place, not by name */
} kiln_keras_file;

/* Was the file written by this version of Keras, or a later one? */
static inline bool kiln_keras_is_since(const kiln_keras_file *f, int major, int minor) {
    return f->major > major || (f->major == major && f->minor >= minor);
}
bool kiln_keras_sniff(kiln_str bytes);
kiln_status kiln_keras_open(kiln_arena *a, kiln_str bytes, kiln_keras_file *out,
                            kiln_err *err);
/* A model's JSON as text: "model_config" and "config.json" are names for messages. */
kiln_status kiln_keras_parse(kiln_arena *a, kiln_str text, const char *name,
                             kiln_keras_file *out, kiln_err *err);
/* What is opened becomes a Graph; without weights, every weight is missing. Neither
 * `report` nor `err` is NULL. */
kiln_status kiln_keras_import_file(kiln_arena *a, const kiln_keras_file *f,
                                   const char *name, const kiln_import_options *o,
                                   kiln_graph **out, kiln_import_report *report,
                                   kiln_err *err);
typedef struct kiln_keras_masked { /* a value of which not all steps count */
    const kiln_value *value;
    kiln_value *mask; /* bool[N, T] */
} kiln_keras_masked;

typedef struct kiln_keras_cx {
    kiln_import_cx common; /* first */
    kiln_keras_file file;
    kiln_hdf5 *weights; /* NULL: the JSON alone, and every weight is missing */
    const kiln_import_options *options;
    kiln_import_report *report;
    int64_t calls_left; /* of layers: shared models run again for each call */
    KILN_VEC(kiln_keras_masked) masked;
} kiln_keras_cx;

/* Where a layer's weights are. By name (.h5): `group` is that of the model's own layer,
 * `owner`, where not NULL, the layer in it, and `part` how a part of it begins its name
 * ("forward_"). By place (.keras): in `path`. */
typedef struct kiln_keras_place {
    const char *group, *owner, *part, *path;
} kiln_keras_place;

typedef struct kiln_keras_layer {
    const char *name, *class_name;
    const kiln_json *config; /* an object */
    const kiln_json *nodes;  /* inbound_nodes; NULL: none */
    const kiln_json *node;   /* of these the call that is made; NULL: in Sequential */
    bool is_function;        /* of keras.ops, or TensorFlow: x + 3 in a model's code */
    bool is_lambda; /* of TensorFlow: its call's keywords stand for its config */
    kiln_keras_place place;
} kiln_keras_layer;

typedef struct kiln_keras_call {
    kiln_keras_cx *cx;
    const kiln_keras_layer *layer;
    const kiln_op_def *op; /* of the row */
    kiln_compose c;
    kiln_value *in[KILN_KERAS_MAX_INPUTS], *out;
    int n_in;
    kiln_value **more; /* results behind `out`: of functions that have several */
    size_t n_more;
    bool looks_at_masks; /* the importer did */
} kiln_keras_call;

typedef kiln_status kiln_keras_import_fn(kiln_keras_call *k);

typedef struct kiln_keras_row {
    const char *class_name;
    kiln_keras_import_fn *import;
    const kiln_op_def *op;
    int min_in, max_in; /* max_in 0: any */
} kiln_keras_row;

const kiln_keras_row *kiln_keras_find(const char *class_name);
bool kiln_keras_is_model(const char *class_name);
kiln_status kiln_keras_check_support(kiln_keras_cx *cx);
kiln_status kiln_keras_survey(kiln_arena *a, kiln_str bytes, const char *path,
                              kiln_model_survey *out, kiln_err *err);
kiln_status kiln_keras_list_inputs(kiln_arena *a, kiln_str bytes, const char *path,
                                   kiln_declared_input **out, size_t *n, kiln_err *err);
/* The model's inputs in order, as the file declares them. */
kiln_status kiln_keras_declared(kiln_arena *a, const kiln_keras_file *f,
                                kiln_declared_input **out, size_t *n, kiln_err *err);
kiln_status kiln_keras_bind_inputs(kiln_keras_cx *cx, kiln_value ***out, size_t *n);
/* The whole model on its inputs; outputs are named in the Graph. */
kiln_status kiln_keras_build(kiln_keras_cx *cx, kiln_value **in, size_t n_in);
/* One layer with its row; where `k` is the call of a layer around it, too. */
kiln_status kiln_keras_run(kiln_keras_cx *cx, const kiln_keras_layer *l,
                           kiln_value *const *in, int n_in, kiln_value **out);
/* All its results; the list is in scratch. */
kiln_status kiln_keras_run_all(kiln_keras_cx *cx, const kiln_keras_layer *l,
                               kiln_value *const *in, int n_in, kiln_value ***out,
                               size_t *n_out);

/* ---- JSON (keras_config.c) ------------------------------------------------------------- */

/* The layers of a model's config: a member, or (of old Sequential) the config itself. */
const kiln_json *kiln_keras_layers(const kiln_json *config);
/* keras.src.utils.naming.to_snake_case: "GlobalMaxPooling2D" is global_max_pooling2d,
 * "PReLU" p_re_lu. */
const char *kiln_keras_snake_case(kiln_arena *a, const char *name);
/* The class's name of a function that is none of a layer: "keras.ops.GetItem". */
bool kiln_keras_is_of_ops(const char *class_name);
/* One entry of that list; what a layer is not asked for stays. */
kiln_status kiln_keras_read_layer(kiln_arena *a, const kiln_json *j,
                                  kiln_keras_layer *out, kiln_err *err);
/* The wrapped layer of TimeDistributed and Bidirectional. */
kiln_status kiln_keras_inner_layer(kiln_keras_call *k, kiln_keras_layer *out);

/* A member of the config by its name, or by its name in Keras 1 (may be NULL); JSON's
 * null counts as absent. */
const kiln_json *kiln_keras_get(const kiln_keras_call *k, const char *name,
                                const char *old);
bool kiln_keras_bool(const kiln_keras_call *k, const char *name, bool otherwise);
double kiln_keras_number(const kiln_keras_call *k, const char *name, double otherwise);
const char *kiln_keras_text(const kiln_keras_call *k, const char *name, const char *old,
                            const char *otherwise);
kiln_status kiln_keras_int(kiln_keras_call *k, const char *name, const char *old,
                           int64_t otherwise, int64_t *out);
/* n integers: a list, or one number for all; `otherwise` where absent. */
kiln_status kiln_keras_ints(kiln_keras_call *k, const char *name, const char *old,
                            int64_t otherwise, int n, int64_t *out);
/* Refuses channels_first. */
kiln_status kiln_keras_check_format(kiln_keras_call *k);
/* Fails unless input 0 has that many axes at least. */
kiln_status kiln_keras_min_rank(kiln_keras_call *k, int rank);

/* ---- what calls refer to (keras_refs.c) ------------------------------------------------ */

typedef struct kiln_keras_ref {
    const char *layer; /* NULL: a number */
    int64_t node, tensor;
    double number;
    bool is_real;          /* the number: 2.0, not 2 */
    const kiln_json *list; /* or numbers in lists */
    const char *dtype;     /* of these, where it is said ("float32") */
    bool is_index;         /* these are places */
} kiln_keras_ref;
typedef KILN_VEC(kiln_keras_ref) kiln_keras_refs;

/* All values that JSON refers to, in its order: as lists ["layer", node, tensor], of
 * Keras 3 also {"class_name": "__keras_tensor__"}. */
void kiln_keras_collect(kiln_arena *a, const kiln_json *j, kiln_keras_refs *out);
/* These, and the arrays among them: {"class_name": "__numpy__" or "__tensor__"}. */
void kiln_keras_collect_values(kiln_arena *a, const kiln_json *j, kiln_keras_refs *out);
/* The type that a reference in `j` says the layer's call has ("int32"); NULL: none does. */
const char *kiln_keras_said_dtype(const kiln_json *j, const char *layer, int64_t node);
/* The call's value by place `at`, or else by keyword; NULL: it is not given, or is not
 * one value. What a call is given by place comes first in `in`, in both's order. */
kiln_value *kiln_keras_operand(const kiln_keras_call *k, const char *name, size_t at);
/* What a call says by keyword; NULL: it has none. */
const kiln_json *kiln_keras_keywords(const kiln_json *node);
/* One of them; NULL: nothing, or null. */
const kiln_json *kiln_keras_keyword(const kiln_keras_call *k, const char *name);

/* ---- arguments of functions (keras_functions.c, keras_numbers.c, keras_lambda.c) ------- */

/* A type by its name; false: it is none that is read. */
bool kiln_keras_dtype_of(const char *name, kiln_dtype *out);
/* 'dtype'; `otherwise` where the config says nothing. */
kiln_status kiln_keras_read_dtype(kiln_keras_call *k, kiln_dtype otherwise,
                                  kiln_dtype *out);
/* 'axis' of input 0. */
kiln_status kiln_keras_read_axis(kiln_keras_call *k, int64_t otherwise, int *axis);
/* The same of a function that takes all elements in a row where a call says no axis, which
 * those of keras.ops do: then input 0 is that row. `otherwise`: of TensorFlow. */
kiln_status kiln_keras_axis_or_all(kiln_keras_call *k, int64_t otherwise, int *axis);
/* 'axis': a number or a list, each in [-rank, rank), none twice; absent: none. */
kiln_status kiln_keras_read_axes(kiln_keras_call *k, int rank, int64_t *axes,
                                 size_t *n);
/* Inputs from `first` on get one type, as Keras has it of theirs: floats before integers
 * before truths, the wider of two. Of a lower kind than `least`, which is of 32 bits or
 * bool, they become that. */
kiln_status kiln_keras_meet(kiln_keras_call *k, int first, kiln_dtype least);
/* Fails: the argument, or its value ("axis=None"), is not read. */
kiln_status kiln_keras_unread(kiln_keras_call *k, const char *argument);

/* ---- functions of TensorFlow (keras_lambda.c) ----------------------------------------- */

/* What a call is given: values and numbers, by place, then by names that mean such. */
kiln_status kiln_keras_collect_lambda(kiln_keras_cx *cx, const kiln_json *node,
                                      kiln_keras_refs *out);
/* An array of a call. */
kiln_status kiln_keras_array_of(kiln_keras_cx *cx, const kiln_keras_layer *l,
                                const kiln_keras_ref *from, kiln_value **out);
/* Makes values of those that are numbers: NULL entries of `in`. */
kiln_status kiln_keras_lambda_numbers(kiln_keras_cx *cx, const kiln_keras_layer *l,
                                      const kiln_keras_refs *from, kiln_value **in);
/* Sizes (at most KILN_MAX_RANK): integers and, from input `at` on, values that are known,
 * such as parts of a shape. */
kiln_status kiln_keras_sizes(kiln_keras_call *k, const char *name, int at, int64_t *out,
                             int *n);

/* ---- weights (keras_weights.c) --------------------------------------------------------- */

/* The layer's weights in the order of its class; a role is how its name ends, with the
 * endings of Keras 1 behind bars ("kernel|W"), and '*' where a number may follow. */
kiln_status kiln_keras_weights(kiln_keras_call *k, const char *const *roles, int n,
                               kiln_value **out);
/* Of a part of the layer: `part` by name, `path` below the layer's by place. */
kiln_status kiln_keras_part_weights(kiln_keras_call *k, const char *part,
                                    const char *path, const char *const *roles, int n,
                                    kiln_value **out);
/* Fails unless v has these sizes. */
kiln_status kiln_keras_check_shape(kiln_keras_call *k, const kiln_value *v,
                                   const char *what, int rank, const int64_t *dim);

/* ---- masks (keras_masks.c) --------------------------------------------------------- */

/* bool[N, T]; NULL: all steps count. */
kiln_value *kiln_keras_mask_of(const kiln_keras_cx *cx, const kiln_value *v);
kiln_status kiln_keras_set_mask(kiln_keras_call *k, const kiln_value *v,
                                kiln_value *mask);
/* What the layer is given beside its value, by keyword or with it; NULL: nothing. Any
 * further value is refused. */
kiln_status kiln_keras_read_mask(kiln_keras_call *k, kiln_value **out);
/* From now on all steps of v count: attention of Keras 3.8 on takes its values' masks. */
void kiln_keras_forget_mask(kiln_keras_cx *cx, const kiln_value *v);
/* The mask of values [N, T, C] joined along an axis. */
kiln_status kiln_keras_join_masks(kiln_keras_call *k, int axis);
/* Behind an importer: its result's mask, by keras_masks.def. */
kiln_status kiln_keras_hand_on_masks(kiln_keras_call *k);

typedef struct kiln_keras_steps {
    kiln_value *mask;
    kiln_value *one, *through; /* i64[N, T]: 1 where it counts; how many up to it */
    kiln_value *count;         /* i64[N, 1] */
    kiln_value *order;         /* i64[N, T]: those that count first */
    kiln_value *lengths;       /* i32[N] */
} kiln_keras_steps;
kiln_status kiln_keras_count_steps(kiln_keras_call *k, kiln_value *mask,
                                   kiln_keras_steps *out);
/* x [N, T, C] with the steps in front that count. */
kiln_value *kiln_keras_pack(kiln_keras_call *k, const kiln_keras_steps *s,
                            kiln_value *x);
/* What a layer gives for these, [N, T, C], where it belongs; between, what it gave last, or
 * zeros. is_reverse: it ran from the last step to the first. */
kiln_value *kiln_keras_unpack(kiln_keras_call *k, const kiln_keras_steps *s,
                              kiln_value *y, bool is_reverse, bool has_zeros);

/* ---- activation.c ---------------------------------------------------------------- */

/* By the config's member (absent: `otherwise`, may be NULL). */
kiln_value *kiln_keras_activated(kiln_keras_call *k, kiln_value *x, const char *member,
                                 const char *otherwise);
/* The name of an activation; NULL: it is a layer or another function of somebody's. */
const char *kiln_keras_activation_name(const kiln_json *v);

/* ---- layer_attention.c ------------------------------------------------------------- */

/* bool[n, m]: query i sees the keys j <= i. */
kiln_value *kiln_keras_causal(kiln_keras_call *k, int64_t n, int64_t m);
/* What a mask [N, T] says of the queries, as [N, T, 1], or of the keys, as [N, 1, T]. */
kiln_value *kiln_keras_mask_of_queries(kiln_keras_call *k, kiln_value *mask);
kiln_value *kiln_keras_mask_of_keys(kiln_keras_call *k, kiln_value *mask);
/* x and y, of which either may be NULL. */
kiln_value *kiln_keras_both(kiln_keras_call *k, kiln_value *x, kiln_value *y);
/* Scores with what hides a key where `seen`, not NULL, is false. */
kiln_value *kiln_keras_hide(kiln_keras_call *k, kiln_value *scores, kiln_value *seen);

/* ---- keras_layer_shape.c --------------------------------------------------------- */

/* x / sqrt(max(sum of squares, 1e-12)) along one axis. */
kiln_value *kiln_keras_of_length_1(kiln_keras_call *k, kiln_value *x, int64_t axis);

#define KILN_KERAS(class_name, importer, op, min_in, max_in)                           \
    kiln_keras_import_fn kiln_keras_import_##importer;
#include "compiler/frontend/keras/keras_layers.def"
#undef KILN_KERAS

#endif
