/* The import of a TensorFlow Lite model, and what importers of operators see of it.
 *
 *   tflite_import.c    the model: operators in the file's order, outputs
 *   tflite_inputs.c    graph inputs, --shape and --bind; listing them
 *   tflite_values.c    tensors as values: constants, quantised ones as floats
 *   tflite_state.c     variables as inputs and outputs
 *   sparse.c    constants of which only some elements are in the file
 *   tflite_support.c   operators that are not read, all at once
 *   tflite_survey.c    what a file says about itself
 *   op_*.c      importers, by families; quant_*.c: of integers
 */
#ifndef KILN_COMPILER_FRONTEND_TFLITE_TFLITE_INTERNAL_H
#define KILN_COMPILER_FRONTEND_TFLITE_TFLITE_INTERNAL_H

#include "compiler/frontend/counted_rules.h"
#include "compiler/frontend/channels_last.h"
#include "compiler/frontend/tflite/tflite_model.h"

typedef struct kiln_tflite_cx kiln_tflite_cx;

/* What an operator does with quantised tensors. */
typedef enum kiln_tflite_quant {
    KILN_TFLITE_REFUSES, /* it is not read with them */
    KILN_TFLITE_MOVES, /* it moves or compares elements, which may as well be integers;
                            the importer is not told */
    KILN_TFLITE_STEPS, /* real numbers between: operands are dequantised, results
                            quantised; the importer is not told */
    KILN_TFLITE_OWN    /* the importer looks itself */
} kiln_tflite_quant;

/* A row of tflite_ops.def. */
typedef struct kiln_tflite_row {
    int64_t code;     /* BuiltinOperator; CUSTOM (32): by name */
    const char *name; /* as the schema, or the model, spells it */
    const kiln_fb_table *options;
    kiln_status (*import)(kiln_tflite_cx *cx);
    const kiln_op_def *op; /* for importers of several operators */
    kiln_tflite_quant quant;
} kiln_tflite_row;

/* A variable of the file that is an input and an output of the graph. */
typedef struct kiln_tflite_variable {
    int32_t tensor;
    kiln_value *before, *after; /* real numbers; after: NULL until its operator ran */
} kiln_tflite_variable;

struct kiln_tflite_cx {
    kiln_import_cx common; /* first */
    kiln_fb fb;
    const kiln_tflite_model *model;
    const kiln_tflite_subgraph *g;
    const kiln_import_options *options;
    kiln_import_report *report;
    kiln_value **value; /* by tensor of g; NULL: not made yet */
    int depth;          /* of subgraphs inside subgraphs */
    int64_t ops_left;   /* that may still be imported: subgraphs are written out */
    KILN_VEC(kiln_tflite_variable) variable;

    /* The operator being imported. */
    const kiln_tflite_op *op;
    const kiln_tflite_row *row;
    kiln_tflite_options opt;
    kiln_value **in; /* its operands, in steps dequantised; NULL entries: left out */
    bool in_steps;   /* results are quantised */
};

/* ---- the operator being imported --------------------------------------------------- */

kiln_tflite_cx *kiln_tflite_of(kiln_import_cx *common);
kiln_compose kiln_tflite_compose(kiln_tflite_cx *cx);
int kiln_tflite_n_in(const kiln_tflite_cx *cx);
int kiln_tflite_n_out(const kiln_tflite_cx *cx);
/* The tensor of input or output i; NULL: left out. */
const kiln_tflite_tensor *kiln_tflite_in_tensor(const kiln_tflite_cx *cx, int i);
const kiln_tflite_tensor *kiln_tflite_out_tensor(const kiln_tflite_cx *cx, int i);
/* The value of input i; NULL: left out. All are made before the importer is called. */
kiln_value *kiln_tflite_in(kiln_tflite_cx *cx, int i);
/* The same, or KILN_ERR_PARSE: "input 1 ('filter') is missing". */
kiln_status kiln_tflite_need(kiln_tflite_cx *cx, int i, const char *name,
                             kiln_value **out);
/* Inputs that decide a shape. */
kiln_status kiln_tflite_need_ints(kiln_tflite_cx *cx, int i, const char *name,
                                  const int64_t **out, size_t *n);
/* Output i is this value; quantised in steps. KILN_ERR_SHAPE where the file declares
 * another dtype. */
kiln_status kiln_tflite_set(kiln_tflite_cx *cx, int i, kiln_value *v);
/* The only output, of a value composed: after a failure nothing is set. */
kiln_status kiln_tflite_end(kiln_tflite_cx *cx, kiln_compose *c, kiln_value *v);
/* An activation fused behind an operator. */
kiln_value *kiln_tflite_activate(kiln_compose *c, kiln_value *x, int64_t activation);
kiln_value *kiln_tflite_clip(kiln_compose *c, kiln_value *x, double low, double high);
/* kiln_fail into the import's error. */
#define kiln_tflite_fail(cx, status, ...)                                              \
    kiln_fail((cx)->common.err, (status), __VA_ARGS__)

/* Imports another subgraph in the place of the operator: its inputs are these values,
 * *out its outputs. */
kiln_status kiln_tflite_inline(kiln_tflite_cx *cx, int64_t subgraph,
                               kiln_value *const *in, size_t n_in, kiln_value ***out,
                               size_t *n_out);

/* ---- tflite_values.c ------------------------------------------------------------- */

/* The elements that are not zero, where they belong: *data, which has those alone, becomes
 * all elements of `type`. */
kiln_status kiln_tflite_densify(kiln_tflite_cx *cx, const kiln_tflite_tensor *t,
                                const kiln_type *type, kiln_str *data);
/* The value of a tensor: made before, or a constant now; KILN_ERR_PARSE: nobody makes
 * it. */
kiln_status kiln_tflite_value(kiln_tflite_cx *cx, int32_t tensor, kiln_value **out);
bool kiln_tflite_is_quantized(const kiln_tflite_tensor *t);
/* Complex numbers: the value has one axis more, the last, of two parts in f32. */
bool kiln_tflite_is_complex(const kiln_tflite_tensor *t);
/* Real numbers of an integer value with t's scales, and back: round half away from
 * zero, saturated. */
kiln_value *kiln_tflite_dequantize(kiln_compose *c, kiln_value *x,
                                   const kiln_tflite_tensor *t);
kiln_value *kiln_tflite_quantize(kiln_compose *c, kiln_value *x,
                                 const kiln_tflite_tensor *t);
/* To whole numbers, half away from zero. */
kiln_value *kiln_tflite_round_away(kiln_compose *c, kiln_value *x);
/* Input i as real numbers, whatever it is held in: weights of "hybrid" operators, which
 * become no less exact than what the interpreter makes of them. NULL: left out. */
kiln_value *kiln_tflite_real(kiln_tflite_cx *cx, kiln_compose *c, int i);
/* A tensor with one scale; KILN_ERR_UNSUPPORTED: it has none, or several. */
typedef struct kiln_tflite_scale {
    double scale;
    int64_t zero;
} kiln_tflite_scale;
kiln_status kiln_tflite_scale_of(kiln_tflite_cx *cx, const kiln_tflite_tensor *t,
                                 kiln_tflite_scale *out);

/* ---- tflite_state.c -------------------------------------------------------------- */

/* Is input i a variable that is kept (kiln_import_options.has_state)? */
bool kiln_tflite_keeps(const kiln_tflite_cx *cx, int i);
/* Input i, a variable, as real numbers of that shape before the operator runs. NULL: it
 * is left out, or each run begins with zeros (kiln_import_options.has_state), which may
 * make a simpler network. */
kiln_value *kiln_tflite_state(kiln_tflite_cx *cx, kiln_compose *c, int i, int rank,
                              const int64_t *dim);
/* What the variable is from now on, of as many elements. */
void kiln_tflite_keep(kiln_tflite_cx *cx, kiln_compose *c, int i, kiln_value *v);
/* SVDF's memory, where it is kept, with the features y [N, filters] of this run as its
 * last column: [N, filters, columns], which the next run begins with. */
enum { KILN_SVDF_STATE = 4 };
kiln_value *kiln_tflite_svdf_memory(kiln_tflite_cx *cx, kiln_compose *c, kiln_value *y,
                                    int64_t columns);
/* The outputs that the next run begins with. */
kiln_status kiln_tflite_add_states(kiln_tflite_cx *cx);

/* The product's rows: x as a matrix [rows, in] for weights [out, in], and the shape that
 * the file wants of the result. */
kiln_status kiln_tflite_flatten_rows(kiln_tflite_cx *cx, kiln_compose *c,
                                     const kiln_value *w, kiln_value **x, int64_t *dim,
                                     int *rank);

/* ---- values as long as data has them: tflite_counted.c ---------------------------- */

/* Imports the operator by its rule where it reads such a value; *done says whether. What
 * has no rule is refused. */
kiln_status kiln_tflite_import_counted(kiln_tflite_cx *cx, bool *done);
/* What STRIDED_SLICE takes of axis `of` of x. */
kiln_status kiln_tflite_read_cut(kiln_tflite_cx *cx, const kiln_value *x, int of,
                                 kiln_counted_cut *out);

/* ---- complex tensors: tflite_op_fourier.c ------------------------------------------- */

/* Imports an operator of complex tensors for each of their parts, where that is what it
 * does; *done says whether. Others but those of parts and sizes are refused. */
kiln_status kiln_tflite_import_parts(kiln_tflite_cx *cx, bool *done);

/* ---- the model ---------------------------------------------------------------------- */

/* What the file's metadata says, as notes of the report. */
void kiln_tflite_read_metadata(kiln_tflite_cx *cx);
kiln_status kiln_tflite_bind_inputs(kiln_tflite_cx *cx);
kiln_status kiln_tflite_list_inputs(kiln_arena *a, kiln_str bytes, const char *path,
                                    kiln_declared_input **out, size_t *n,
                                    kiln_err *err);
void kiln_tflite_declare(kiln_arena *a, const kiln_tflite_subgraph *g, bool is_input,
                         size_t i, kiln_declared_input *out);
/* The name of input or output i, made where the file gives none: in the arena. */
const char *kiln_tflite_port_name(kiln_arena *a, const kiln_tflite_subgraph *g,
                                  bool is_input, size_t i);
/* NULL: kiln does not read it. */
const kiln_tflite_row *kiln_tflite_find(const kiln_tflite_code *code);
/* "CONV_2D"; of custom operators their own name; printable. */
const char *kiln_tflite_code_name(kiln_arena *a, const kiln_tflite_code *code);
kiln_status kiln_tflite_check_support(kiln_tflite_cx *cx);
kiln_status kiln_tflite_survey(kiln_arena *a, kiln_str bytes, const char *path,
                               kiln_model_survey *out, kiln_err *err);

/* Operands of resizes: images, and the size that they become. */
kiln_status kiln_tflite_read_images(kiln_tflite_cx *cx, kiln_value **x,
                                    const int64_t **size);

/* ---- importers ---------------------------------------------------------------------- */

#define KILN_TFLITE(code, name, options, import, op, quant)                            \
    kiln_status kiln_tflite_import_##import(kiln_tflite_cx *cx);
#define KILN_TFLITE_CUSTOM(name, import, quant)                                        \
    kiln_status kiln_tflite_import_##import(kiln_tflite_cx *cx);
#include "compiler/frontend/tflite/tflite_ops.def"
#undef KILN_TFLITE
#undef KILN_TFLITE_CUSTOM

#endif
