/* Boosted trees over rows of floats: what kinds of cost models share whose encodings
 * are rows. Each function is the one of kiln_cost_model_kind; m->state is theirs.
 * Inside compiler/tuner. */
#ifndef KILN_COMPILER_TUNER_MODEL_TREES_H
#define KILN_COMPILER_TUNER_MODEL_TREES_H

#include "compiler/tuner/tuner.h"

typedef struct kiln_row_shape {
    size_t n;         /* floats of each encoding */
    size_t n_carried; /* the first so many are read by models that carry over */
} kiln_row_shape;

/* Options: n_trees, max_depth, learning_rate. */
kiln_status kiln_trees_init(kiln_cost_model *m, kiln_row_shape row, kiln_err *err);
kiln_status kiln_trees_fit(kiln_cost_model *m, const kiln_samples *s, kiln_err *err);
kiln_status kiln_trees_predict(const kiln_cost_model *m, const kiln_encodings *e,
                               float *out, kiln_err *err);
kiln_status kiln_trees_save(const kiln_cost_model *m, kiln_buf *out, kiln_err *err);
kiln_status kiln_trees_load(kiln_cost_model *m, const void *bytes, size_t n,
                            kiln_err *err);
void kiln_trees_fini(kiln_cost_model *m);

#endif
