/* Counted values inside a model: lengths that depend on data.
 *
 * The Graph's shapes are static, so what NonZero, NonMaxSuppression and their like give
 * has the largest shape that it can have, and a scalar says how many of the elements
 * along one axis count (kiln_value.count, kiln_value.bounded_axis). What lies behind
 * them is filling: it has the type's values, is the same in every run, and means
 * nothing. Each ONNX operator that can read such values has a rule, a row of
 * counted.def, which keeps the filling out of results: rows that count come out as if
 * no others were there. What has no rule is refused.
 *
 * Counts are numbers of the Graph, so Shape of a counted value is a tensor that no
 * constant is; what is computed from it and then decides a shape has bounds, which
 * extent.c finds. All of it is composed of ordinary operators: below the frontend
 * nobody knows of counts but those of the model's outputs (docs/bounded-outputs.md). */
#ifndef KILN_COMPILER_FRONTEND_ONNX_COUNTED_H
#define KILN_COMPILER_FRONTEND_ONNX_COUNTED_H

#include "compiler/frontend/bounded.h"
#include "compiler/frontend/onnx/onnx_internal.h"

/* ---- the way in, for onnx_import.c (counted.c) ---- */

/* Imports the node by its rule where it has one and reads what is counted, or a shape
 * that depends on counts; *done says whether. */
kiln_status kiln_onnx_import_counted(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                                     bool *done);
/* Does a branch of an If name a counted value, the condition being unknown? */
bool kiln_onnx_if_reads_counted(kiln_onnx_cx *cx, const kiln_onnx_node *n);
/* A graph output's value: zeros instead of the filling. */
kiln_status kiln_onnx_settle_counted(kiln_onnx_cx *cx, kiln_value **v);

/* ---- what rules are made of (counted.c) ---- */

/* The operator's own importer, on `given` where that is not NULL: n_given operands in
 * place of the node's own, NULL entries keep them. */
kiln_status kiln_onnx_import_given(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                                   kiln_value *const *given, int n_given);
/* Output i, which is bound by now, counts along `axis`. */
kiln_status kiln_onnx_mark(kiln_onnx_cx *cx, const kiln_onnx_node *n, int i, int axis,
                           kiln_value *count);
/* The same for a value that is bound afterwards. */
kiln_value *kiln_compose_counted(kiln_compose *c, kiln_value *v, int axis,
                                 kiln_value *count);
/* How many elements an axis has: its count, or a constant. */
kiln_value *kiln_compose_length(kiln_compose *c, kiln_value *v, int axis);
/* Refuses what a rule has no way for. */
kiln_status kiln_onnx_refuse_counted(kiln_onnx_cx *cx, const kiln_value *v,
                                     const char *why);

/* ---- numbers that depend on counts (extent.c) ---- */

/* One element of an integer tensor. */
typedef struct kiln_onnx_extent {
    int64_t lo, hi;       /* lo == hi: it is known */
    const kiln_value *of; /* where it comes from unchanged: element `at` of this */
    int64_t at;
} kiln_onnx_extent;

/* A count is between 0 and `most`. */
void kiln_onnx_add_count(kiln_onnx_cx *cx, const kiln_value *count, int64_t most);
/* Bounds of element i; false where there are none, or none that is easily found. */
bool kiln_onnx_find_extent(kiln_onnx_cx *cx, const kiln_value *v, int64_t i,
                           kiln_onnx_extent *out);
/* All elements of a list, at most KILN_MAX_RANK; false: as above. */
bool kiln_onnx_find_extents(kiln_onnx_cx *cx, const kiln_value *v,
                            kiln_onnx_extent *out);
/* Are two counts the same number, whatever the data? */
bool kiln_onnx_is_same_count(kiln_onnx_cx *cx, const kiln_value *x,
                             const kiln_value *y);

/* ---- rules ---- */

#define KILN_COUNTED(importer, when, rule)                                             \
    kiln_status kiln_onnx_counted_##rule(kiln_onnx_cx *cx, const kiln_onnx_node *n);
#include "compiler/frontend/onnx/counted.def"
#undef KILN_COUNTED

#endif
