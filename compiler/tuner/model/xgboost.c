/* Boosted trees over the features of the loop program. A model that is carried over
 * reads of each row the relation form alone. */
#include "compiler/tuner/features.h"
#include "compiler/tuner/model/trees.h"

static kiln_status init(kiln_cost_model *m, kiln_err *err) {
    const kiln_row_shape row = {kiln_n_features(), kiln_n_relation_features()};
    return kiln_trees_init(m, row, err);
}

const kiln_cost_model_kind kiln_cost_model_xgboost = {
    .name = "xgboost",
    .doc = "boosted trees over the features, by pairwise rank or regression",
    .version = KILN_FEATURE_VERSION,
    .encode = kiln_features_encode,
    .init = init,
    .fit = kiln_trees_fit,
    .predict = kiln_trees_predict,
    .save = kiln_trees_save,
    .load = kiln_trees_load,
    .fini = kiln_trees_fini,
};
