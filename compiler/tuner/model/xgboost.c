/* XGBoost (Chen, Guestrin, KDD'16) as a cost model: the only file that knows it.
 *
 * Trees are grown by XGBoosterBoostOneIter from gradients of our own (rank.h). One
 * thread and a fixed seed: the same samples give the same trees. Memory that the
 * library returns belongs to the booster, and its error texts to the thread: both are
 * copied at once. */
#include <xgboost/c_api.h>

#include "compiler/tuner/model/rank.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Chosen on measurements of tests/bench/bench_tuner.c: a tree sees most of a few
 * hundred rows, and second derivatives of the rank loss are small. */
static const struct {
    int n_trees, max_depth;
    double learning_rate;
} defaults = {60, 6, 0.2};
static const char *const parameters[][2] = {
    {"booster", "gbtree"},
    {"tree_method", "hist"},
    {"max_bin", "64"},
    {"grow_policy", "depthwise"},
    {"lambda", "0.1"},
    {"min_child_weight", "0.02"},
    {"subsample", "1"},
    {"colsample_bytree", "0.7"},
    {"objective", "reg:squarederror"}, /* not used but for the margin: the identity */
    {"base_score", "0"},
    {"nthread", "1"},
    {"verbosity", "0"},
    {"validate_parameters", "0"}};
enum { N_PARAMETERS = sizeof parameters / sizeof *parameters };

/* Its text belongs to the thread until the next call. It starts with the time in
 * brackets, and a stack follows in further lines. */
static kiln_status failed(kiln_err *err, const char *doing) {
    const char *text = XGBGetLastError();
    kiln_str rest = kiln_str_from(text), line = {0};
    (void)kiln_str_cut(&rest, '\n', &line);
    if (kiln_str_starts(line, "["))
        (void)kiln_str_cut(&line, ' ', &rest);
    return kiln_fail(err, KILN_ERR_LIB, "cost model 'xgboost': %s: %.*s", doing,
                     KILN_STR_ARG(line));
}

static kiln_status set_parameters(BoosterHandle b, const kiln_cost_model_options *o,
                                  kiln_err *err) {
    char seed[32], depth[32], rate[32];
    const double r = o->learning_rate > 0 ? o->learning_rate : defaults.learning_rate;
    snprintf(seed, sizeof seed, "%" PRIu32, (uint32_t)(o->seed & 0x7fffffff));
    snprintf(depth, sizeof depth, "%d",
             o->max_depth > 0 ? o->max_depth : defaults.max_depth);
    snprintf(rate, sizeof rate, "%.9g", r);
    for (int i = 0; i < N_PARAMETERS; i++)
        if (XGBoosterSetParam(b, parameters[i][0], parameters[i][1]) != 0)
            return failed(err, "setting a parameter");
    if (XGBoosterSetParam(b, "seed", seed) != 0 ||
        XGBoosterSetParam(b, "max_depth", depth) != 0 ||
        XGBoosterSetParam(b, "eta", rate) != 0)
        return failed(err, "setting a parameter");
    return KILN_OK;
}

/* The margins of the training rows so far. */
static kiln_status margins(BoosterHandle b, DMatrixHandle rows, size_t n, float *out,
                           kiln_err *err) {
    static const char config[] =
        "{\"type\": 1, \"training\": true, \"iteration_begin\": 0, "
        "\"iteration_end\": 0, \"strict_shape\": false}";
    const bst_ulong *shape;
    bst_ulong rank;
    const float *p;
    if (XGBoosterPredictFromDMatrix(b, rows, config, &shape, &rank, &p) != 0)
        return failed(err, "predicting the samples");
    KILN_ASSERT(rank >= 1 && shape[0] == n, "%zu rows became %zu predictions", n,
                (size_t)shape[0]);
    memcpy(out, p, n * sizeof *out);
    return KILN_OK;
}

static kiln_status grow(kiln_arena *scratch, BoosterHandle b, DMatrixHandle rows,
                        const kiln_cost_model_options *o, const kiln_samples *s,
                        kiln_err *err) {
    float *predicted = kiln_array(scratch, float, s->n);
    float *gradient = kiln_array(scratch, float, s->n);
    float *hessian = kiln_array(scratch, float, s->n);
    const int n_trees = o->n_trees > 0 ? o->n_trees : defaults.n_trees;
    KILN_TRY(set_parameters(b, o, err));
    for (int i = 0; i < n_trees; i++) {
        const kiln_arena_mark mark = kiln_arena_save(scratch);
        KILN_TRY(margins(b, rows, s->n, predicted, err));
        kiln_objective_gradient(scratch, o->objective, s, predicted, gradient, hessian);
        kiln_arena_rewind(scratch, mark);
        if (XGBoosterBoostOneIter(b, rows, gradient, hessian, s->n) != 0)
            return failed(err, "growing a tree");
    }
    return KILN_OK;
}

static kiln_status make_rows(const kiln_samples *s, DMatrixHandle *out, kiln_err *err) {
    if (XGDMatrixCreateFromMat(s->features, s->n, s->n_features, (float)NAN, out) != 0)
        return failed(err, "taking the samples");
    if (s->base != NULL &&
        XGDMatrixSetFloatInfo(*out, "base_margin", s->base, s->n) != 0) {
        const kiln_status st = failed(err, "taking the margins");
        (void)XGDMatrixFree(*out);
        return st;
    }
    return KILN_OK;
}

static void fini(kiln_cost_model *m) {
    if (m->handle != NULL)
        (void)XGBoosterFree(m->handle);
    m->handle = NULL;
}

static kiln_status fit(kiln_cost_model *m, const kiln_samples *s, kiln_err *err) {
    DMatrixHandle rows = NULL;
    BoosterHandle b = NULL;
    kiln_arena scratch = {0};
    KILN_TRY(make_rows(s, &rows, err));
    kiln_status st = KILN_OK;
    if (XGBoosterCreate(&rows, 1, &b) != 0)
        st = failed(err, "making a booster");
    if (st == KILN_OK)
        st = grow(&scratch, b, rows, &m->options, s, err);
    (void)XGDMatrixFree(rows);
    kiln_arena_fini(&scratch);
    if (st != KILN_OK) {
        if (b != NULL)
            (void)XGBoosterFree(b);
        return st;
    }
    fini(m);
    m->handle = b;
    m->n_features = s->n_features;
    return KILN_OK;
}

static kiln_status predict(const kiln_cost_model *m, const float *features,
                           size_t stride, size_t n, float *out, kiln_err *err) {
    static const char config[] =
        "{\"type\": 1, \"training\": false, \"iteration_begin\": 0, "
        "\"iteration_end\": 0, \"strict_shape\": false, \"cache_id\": 0, "
        "\"missing\": NaN}";
    char array[256];
    const bst_ulong *shape;
    bst_ulong rank;
    const float *p;
    snprintf(array, sizeof array,
             "{\"data\": [%" PRIuPTR ", true], \"shape\": [%zu, %zu], "
             "\"strides\": [%zu, %zu], \"typestr\": \"<f4\", \"version\": 3}",
             (uintptr_t)features, n, m->n_features, stride * sizeof *features,
             sizeof *features);
    if (XGBoosterPredictFromDense(m->handle, array, config, NULL, &shape, &rank, &p) !=
        0)
        return failed(err, "predicting");
    KILN_ASSERT(rank >= 1 && shape[0] == n, "%zu rows became %zu predictions", n,
                (size_t)shape[0]);
    memcpy(out, p, n * sizeof *out);
    return KILN_OK;
}

static kiln_status save(const kiln_cost_model *m, kiln_buf *out, kiln_err *err) {
    bst_ulong n;
    const char *p;
    if (XGBoosterSaveModelToBuffer(m->handle, "{\"format\": \"ubj\"}", &n, &p) != 0)
        return failed(err, "saving");
    kiln_buf_add(out, p, n);
    return KILN_OK;
}

static kiln_status load(kiln_cost_model *m, const void *bytes, size_t n,
                        kiln_err *err) {
    BoosterHandle b = NULL;
    bst_ulong n_features = 0;
    if (XGBoosterCreate(NULL, 0, &b) != 0)
        return failed(err, "making a booster");
    kiln_status st = KILN_OK;
    if (XGBoosterLoadModelFromBuffer(b, bytes, n) != 0 ||
        XGBoosterSetParam(b, "nthread", "1") != 0 ||
        XGBoosterGetNumFeature(b, &n_features) != 0)
        st = failed(err, "loading");
    else if (n_features != m->n_features)
        st = kiln_fail(err, KILN_ERR_PARSE,
                       "cost model 'xgboost': trees for %zu features, not for %zu",
                       (size_t)n_features, m->n_features);
    if (st != KILN_OK) {
        (void)XGBoosterFree(b);
        return st;
    }
    m->handle = b;
    return KILN_OK;
}

const kiln_cost_model_kind kiln_cost_model_xgboost = {
    .name = "xgboost",
    .doc = "boosted trees over the features, by pairwise rank or regression",
    .fit = fit,
    .predict = predict,
    .save = save,
    .load = load,
    .fini = fini,
};
