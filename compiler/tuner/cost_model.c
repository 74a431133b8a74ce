/* Cost models: the table, fitting and predicting with margins, and saved bytes:
 *
 *     kiln cost model 1
 *     kind xgboost
 *     features 1 276         version, and how many of them
 *     objective rank
 *     sha256 ...             of the bytes behind the empty line
 *
 *     (the kind's own bytes)
 */
#include "compiler/tuner/tuner.h"

#include <inttypes.h>
#include <string.h>

static const kiln_cost_model_kind *const kinds[] = {
#define KILN_COST_MODEL(name) &kiln_cost_model_##name,
#include "compiler/tuner/cost_models.def"
#undef KILN_COST_MODEL
    NULL,
};

const kiln_cost_model_kind *kiln_cost_model_at(int i) {
    for (int at = 0; kinds[at] != NULL; at++)
        if (at == i)
            return kinds[at];
    return NULL;
}

const kiln_cost_model_kind *kiln_cost_model_find(kiln_str name) {
    for (int i = 0; kinds[i] != NULL; i++)
        if (kiln_str_is(name, kinds[i]->name))
            return kinds[i];
    return NULL;
}

void kiln_cost_model_init(kiln_cost_model *m, const kiln_cost_model_kind *kind,
                          const kiln_cost_model_options *o) {
    *m = (kiln_cost_model){.kind = kind};
    if (o != NULL)
        m->options = *o;
}

void kiln_cost_model_fini(kiln_cost_model *m) {
    if (m->kind != NULL)
        m->kind->fini(m);
    *m = (kiln_cost_model){0};
}

kiln_status kiln_cost_model_fit(kiln_cost_model *m, const kiln_samples *s,
                                kiln_err *err) {
    if (s->n == 0)
        return kiln_fail(err, KILN_ERR_ARG, "cost model '%s': no samples to learn from",
                         m->kind->name);
    return m->kind->fit(m, s, err);
}

kiln_status kiln_cost_model_predict(const kiln_cost_model *m, const float *features,
                                    size_t stride, size_t n, const float *base,
                                    float *out, kiln_err *err) {
    if (n == 0)
        return KILN_OK;
    if (m->n_features == 0) {
        for (size_t i = 0; i < n; i++)
            out[i] = base != NULL ? base[i] : 0;
        return KILN_OK;
    }
    KILN_ASSERT(stride >= m->n_features, "rows of %zu features, the model reads %zu",
                stride, m->n_features);
    KILN_TRY(m->kind->predict(m, features, stride, n, out, err));
    for (size_t i = 0; base != NULL && i < n; i++)
        out[i] += base[i];
    return KILN_OK;
}

/* ---- saved ----------------------------------------------------------------------- */

static const char *const objective_names[] = {"rank", "regression"};
static const char magic[] = "kiln cost model 1";

kiln_status kiln_cost_model_save(const kiln_cost_model *m, kiln_buf *out,
                                 kiln_err *err) {
    if (m->n_features == 0)
        return kiln_fail(err, KILN_ERR_ARG, "cost model '%s': nothing learned to save",
                         m->kind->name);
    kiln_arena scratch = {0};
    kiln_buf payload;
    kiln_buf_init(&payload, &scratch);
    const kiln_status st = m->kind->save(m, &payload, err);
    if (st == KILN_OK) {
        char hex[KILN_SHA256_HEX];
        kiln_sha256_of(payload.p, payload.n, hex);
        kiln_buf_printf(out,
                        "%s\nkind %s\nfeatures %d %zu\nobjective %s\nsha256 %s\n\n",
                        magic, m->kind->name, (int)KILN_FEATURE_VERSION, m->n_features,
                        objective_names[m->options.objective], hex);
        kiln_buf_add(out, payload.p, payload.n);
    }
    kiln_arena_fini(&scratch);
    return st;
}

/* The rest of the next line behind `word` and a blank. */
static kiln_status read_line(kiln_str *rest, const char *word, kiln_str *value,
                             kiln_err *err) {
    kiln_str line, head;
    if (!kiln_str_cut(rest, '\n', &line) || !kiln_str_cut(&line, ' ', &head) ||
        !kiln_str_is(head, word))
        return kiln_fail(err, KILN_ERR_PARSE,
                         "saved cost model: the line '%s' is missing", word);
    *value = line;
    return KILN_OK;
}

static kiln_status read_features(kiln_str value, kiln_cost_model *m, kiln_err *err) {
    kiln_str version;
    int64_t v, n;
    if (!kiln_str_cut(&value, ' ', &version) || !kiln_parse_i64(version, &v) ||
        !kiln_parse_i64(value, &n))
        return kiln_fail(err, KILN_ERR_PARSE,
                         "saved cost model: 'features' must be two numbers");
    if (v != KILN_FEATURE_VERSION)
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         "saved cost model: it reads features of version %" PRId64
                         ", these are of version %d; train it anew",
                         v, (int)KILN_FEATURE_VERSION);
    if (n < 1 || (size_t)n > kiln_n_features())
        return kiln_fail(err, KILN_ERR_PARSE,
                         "saved cost model: %" PRId64 " features; there are 1 to %zu",
                         n, kiln_n_features());
    m->n_features = (size_t)n;
    return KILN_OK;
}

static kiln_status read_head(kiln_str *rest, kiln_cost_model *m, kiln_err *err) {
    kiln_str line, kind, features, objective, sum;
    char hex[KILN_SHA256_HEX];
    if (!kiln_str_cut(rest, '\n', &line) || !kiln_str_is(line, magic))
        return kiln_fail(err, KILN_ERR_PARSE, "this is no saved cost model");
    KILN_TRY(read_line(rest, "kind", &kind, err));
    KILN_TRY(read_line(rest, "features", &features, err));
    KILN_TRY(read_line(rest, "objective", &objective, err));
    KILN_TRY(read_line(rest, "sha256", &sum, err));
    m->kind = kiln_cost_model_find(kind);
    if (m->kind == NULL)
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         "saved cost model: its kind is not known here");
    KILN_TRY(read_features(features, m, err));
    const bool is_rank = kiln_str_is(objective, objective_names[0]);
    if (!is_rank && !kiln_str_is(objective, objective_names[1]))
        return kiln_fail(err, KILN_ERR_PARSE,
                         "saved cost model: 'objective' must be rank or regression");
    m->options.objective = is_rank ? KILN_OBJECTIVE_RANK : KILN_OBJECTIVE_REGRESSION;
    if (!kiln_str_cut(rest, '\n', &line) || line.n != 0)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "saved cost model: an empty line must end its head");
    kiln_sha256_of(rest->p, rest->n, hex);
    if (!kiln_str_is(sum, hex))
        return kiln_fail(err, KILN_ERR_PARSE,
                         "saved cost model: it is damaged; its SHA-256 differs");
    return KILN_OK;
}

kiln_status kiln_cost_model_load(kiln_cost_model *out, const void *bytes, size_t n,
                                 kiln_err *err) {
    kiln_cost_model m = {0};
    kiln_str rest = {bytes, n};
    KILN_TRY(read_head(&rest, &m, err));
    KILN_TRY(m.kind->load(&m, rest.p, rest.n, err));
    *out = m;
    return KILN_OK;
}
