/* XGBoost (Chen, Guestrin, KDD'16) over rows of floats: the only file that knows it.
 *
 * Options: n_trees, max_depth, learning_rate. Without them there are fewer, smaller trees
 * and larger steps for the trials of one workload, which are fitted anew with each turn.
 *
 * Trees are grown by XGBoosterBoostOneIter from gradients of our own (rank.h). One
 * thread and a fixed seed: the same samples give the same trees. Memory that the
 * library returns belongs to the booster, and its error texts to the thread: both are
 * copied at once. */
#include <xgboost/c_api.h>

#include "compiler/tuner/model/rank.h"
#include "compiler/tuner/model/trees.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct trees {
    kiln_row_shape row;
    BoosterHandle booster;  /* NULL: not fitted */
    size_t n_features;      /* of each row that it was fitted to */
    int n_trees, max_depth; /* 0, as learning_rate: by what is learned */
    double learning_rate;
} trees;

/* On the corpus half of the trees, of a quarter of the nodes, find as much of a work's own
 * best (docs/tuning.md) in a third of the time; of other works they say less: 77% of pairs
 * in order, not 78%. */
typedef struct growth {
    int n_trees, max_depth;
    double learning_rate;
} growth;
static const growth of_others = {60, 6, 0.2}, of_one = {30, 4, 0.3};
/* Chosen on measurements of tests/bench/bench_tuner.c: a tree sees most of a few
 * hundred rows, and second derivatives of the rank loss are small. */
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

/* ---- options --------------------------------------------------------------------- */

static kiln_status set_option(const kiln_cost_model *m, kiln_str name, double v,
                              kiln_err *err) {
    trees *t = m->state;
    enum { MOST_TREES = 10000, DEEPEST = 30 };
    if (kiln_str_is(name, "n_trees") && v >= 1 && v <= MOST_TREES && v == floor(v))
        t->n_trees = (int)v;
    else if (kiln_str_is(name, "max_depth") && v >= 1 && v <= DEEPEST && v == floor(v))
        t->max_depth = (int)v;
    else if (kiln_str_is(name, "learning_rate") && v > 0 && v <= 1)
        t->learning_rate = v;
    else
        return kiln_fail(err, KILN_ERR_ARG,
                         "cost model '%s': there is no option %.*s=%g; there are "
                         "n_trees (1 to %d), max_depth (1 to %d) and learning_rate "
                         "(above 0, at most 1)",
                         m->kind->name, KILN_STR_ARG(name), v, (int)MOST_TREES,
                         (int)DEEPEST);
    return KILN_OK;
}

kiln_status kiln_trees_init(kiln_cost_model *m, kiln_row_shape row, kiln_err *err) {
    trees *t = kiln_new(&m->arena, trees);
    kiln_str rest = kiln_str_from(m->options.own), name;
    bool has = false;
    double value;
    *t = (trees){.row = row};
    m->state = t;
    do {
        KILN_TRY(kiln_cost_model_option(m, &rest, &has, &name, &value, err));
        if (has)
            KILN_TRY(set_option(m, name, value, err));
    } while (has);
    return KILN_OK;
}

/* ---- rows ------------------------------------------------------------------------ */

/* Encodings of this kind are rows of one length, so together they are a matrix. */
static const float *rows_of(const trees *t, const kiln_encodings *e) {
    const size_t bytes = t->row.n * sizeof(float);
    KILN_ASSERT(e->begin[e->n] - e->begin[0] == e->n * bytes,
                "%zu encodings of %zu bytes are no rows of features", e->n,
                e->begin[e->n] - e->begin[0]);
    return (const float *)(const void *)(e->bytes + e->begin[0]);
}

/* The first n features of each, close together: the library takes samples no other way.
 */
static const float *cut_rows(kiln_arena *scratch, const trees *t,
                             const kiln_encodings *e, size_t n) {
    const float *from = rows_of(t, e);
    if (n == t->row.n)
        return from;
    float *out = kiln_array(scratch, float, e->n *n);
    for (size_t i = 0; i < e->n; i++)
        memcpy(out + i * n, from + i * t->row.n, n * sizeof *out);
    return out;
}

static bool is_same_column(const float *row, size_t n, size_t width, size_t x,
                           size_t y) {
    for (size_t i = 0; i < n; i++)
        if (row[i * width + x] != row[i * width + y])
            return false;
    return true;
}

/* Within one workload half of the features are constants, or copies of others: missing,
 * so that no split looks at them. */
static const float *without_copies(kiln_arena *scratch, const float *row, size_t n,
                                   size_t width) {
    float *out = kiln_arena_dup(scratch, row, n * width * sizeof *row);
    size_t *kept = kiln_array(scratch, size_t, width), n_kept = 0;
    for (size_t x = 0; x < width; x++) {
        bool says = false;
        for (size_t i = 1; i < n && !says; i++)
            says = row[i * width + x] != row[x];
        for (size_t k = 0; k < n_kept && says; k++)
            says = !is_same_column(row, n, width, x, kept[k]);
        if (says)
            kept[n_kept++] = x;
        for (size_t i = 0; i < n && !says; i++)
            out[i * width + x] = NAN;
    }
    return out;
}

/* ---- growing --------------------------------------------------------------------- */

static growth growth_of(const trees *t, const kiln_samples *s) {
    growth g = s->carries_over ? of_others : of_one;
    g.n_trees = t->n_trees > 0 ? t->n_trees : g.n_trees;
    g.max_depth = t->max_depth > 0 ? t->max_depth : g.max_depth;
    g.learning_rate = t->learning_rate > 0 ? t->learning_rate : g.learning_rate;
    return g;
}

static kiln_status set_parameters(BoosterHandle b, const growth *g,
                                  uint64_t seed_number, kiln_err *err) {
    char seed[32], depth[32], rate[32];
    snprintf(seed, sizeof seed, "%" PRIu32, (uint32_t)(seed_number & 0x7fffffff));
    snprintf(depth, sizeof depth, "%d", g->max_depth);
    snprintf(rate, sizeof rate, "%.9g", g->learning_rate);
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

static kiln_status grow(kiln_arena *scratch, const kiln_cost_model *m, BoosterHandle b,
                        DMatrixHandle rows, const kiln_samples *s, kiln_err *err) {
    const trees *t = m->state;
    const size_t n = s->encoding.n;
    float *predicted = kiln_array(scratch, float, n);
    float *gradient = kiln_array(scratch, float, n);
    float *hessian = kiln_array(scratch, float, n);
    const growth g = growth_of(t, s);
    KILN_TRY(set_parameters(b, &g, m->options.seed, err));
    for (int i = 0; i < g.n_trees; i++) {
        const kiln_arena_mark mark = kiln_arena_save(scratch);
        KILN_TRY(margins(b, rows, n, predicted, err));
        kiln_objective_gradient(scratch, m->options.objective, s, predicted, gradient,
                                hessian);
        kiln_arena_rewind(scratch, mark);
        if (XGBoosterBoostOneIter(b, rows, gradient, hessian, n) != 0)
            return failed(err, "growing a tree");
    }
    return KILN_OK;
}

static kiln_status make_rows(kiln_arena *scratch, const trees *t, const kiln_samples *s,
                             size_t n_features, DMatrixHandle *out, kiln_err *err) {
    const size_t n = s->encoding.n;
    const float *rows = cut_rows(scratch, t, &s->encoding, n_features);
    if (!s->carries_over)
        rows = without_copies(scratch, rows, n, n_features);
    if (XGDMatrixCreateFromMat(rows, n, n_features, (float)NAN, out) != 0)
        return failed(err, "taking the samples");
    if (s->base != NULL &&
        XGDMatrixSetFloatInfo(*out, "base_margin", s->base, n) != 0) {
        const kiln_status st = failed(err, "taking the margins");
        (void)XGDMatrixFree(*out);
        return st;
    }
    return KILN_OK;
}

void kiln_trees_fini(kiln_cost_model *m) {
    trees *t = m->state;
    if (t != NULL && t->booster != NULL)
        (void)XGBoosterFree(t->booster);
    if (t != NULL)
        t->booster = NULL;
}

static kiln_status fit_in(kiln_arena *scratch, kiln_cost_model *m,
                          const kiln_samples *s, kiln_err *err) {
    trees *t = m->state;
    DMatrixHandle rows = NULL;
    BoosterHandle b = NULL;
    const size_t n_features = s->carries_over ? t->row.n_carried : t->row.n;
    KILN_TRY(make_rows(scratch, t, s, n_features, &rows, err));
    kiln_status st = KILN_OK;
    if (XGBoosterCreate(&rows, 1, &b) != 0)
        st = failed(err, "making a booster");
    if (st == KILN_OK)
        st = grow(scratch, m, b, rows, s, err);
    (void)XGDMatrixFree(rows);
    if (st != KILN_OK) {
        if (b != NULL)
            (void)XGBoosterFree(b);
        return st;
    }
    kiln_trees_fini(m);
    t->booster = b;
    t->n_features = n_features;
    return KILN_OK;
}

kiln_status kiln_trees_fit(kiln_cost_model *m, const kiln_samples *s, kiln_err *err) {
    kiln_arena scratch = {0};
    const kiln_status st = fit_in(&scratch, m, s, err);
    kiln_arena_fini(&scratch);
    return st;
}

/* Rows lie as they were encoded; the model reads its own features of each. */
kiln_status kiln_trees_predict(const kiln_cost_model *m, const kiln_encodings *e,
                               float *out, kiln_err *err) {
    static const char config[] =
        "{\"type\": 1, \"training\": false, \"iteration_begin\": 0, "
        "\"iteration_end\": 0, \"strict_shape\": false, \"cache_id\": 0, "
        "\"missing\": NaN}";
    const trees *t = m->state;
    char array[256];
    const bst_ulong *shape;
    bst_ulong rank;
    const float *p;
    snprintf(array, sizeof array,
             "{\"data\": [%" PRIuPTR ", true], \"shape\": [%zu, %zu], "
             "\"strides\": [%zu, %zu], \"typestr\": \"<f4\", \"version\": 3}",
             (uintptr_t)rows_of(t, e), e->n, t->n_features, t->row.n * sizeof(float),
             sizeof(float));
    if (XGBoosterPredictFromDense(t->booster, array, config, NULL, &shape, &rank, &p) !=
        0)
        return failed(err, "predicting");
    KILN_ASSERT(rank >= 1 && shape[0] == e->n, "%zu rows became %zu predictions", e->n,
                (size_t)shape[0]);
    memcpy(out, p, e->n * sizeof *out);
    return KILN_OK;
}

kiln_status kiln_trees_save(const kiln_cost_model *m, kiln_buf *out, kiln_err *err) {
    const trees *t = m->state;
    bst_ulong n;
    const char *p;
    if (XGBoosterSaveModelToBuffer(t->booster, "{\"format\": \"ubj\"}", &n, &p) != 0)
        return failed(err, "saving");
    kiln_buf_add(out, p, n);
    return KILN_OK;
}

kiln_status kiln_trees_load(kiln_cost_model *m, const void *bytes, size_t n,
                            kiln_err *err) {
    trees *t = m->state;
    BoosterHandle b = NULL;
    bst_ulong n_features = 0;
    if (XGBoosterCreate(NULL, 0, &b) != 0)
        return failed(err, "making a booster");
    kiln_status st = KILN_OK;
    if (XGBoosterLoadModelFromBuffer(b, bytes, n) != 0 ||
        XGBoosterSetParam(b, "nthread", "1") != 0 ||
        XGBoosterGetNumFeature(b, &n_features) != 0)
        st = failed(err, "loading");
    else if (n_features != t->row.n && n_features != t->row.n_carried)
        st = kiln_fail(err, KILN_ERR_PARSE,
                       "cost model '%s': trees for %zu features; rows have %zu, "
                       "of which %zu carry over",
                       m->kind->name, (size_t)n_features, t->row.n, t->row.n_carried);
    if (st != KILN_OK) {
        (void)XGBoosterFree(b);
        return st;
    }
    t->booster = b;
    t->n_features = (size_t)n_features;
    return KILN_OK;
}
