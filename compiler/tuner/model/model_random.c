/* A model that knows nothing: what learned ones are compared with. Its score of a
 * candidate is a hash of its features, so that one candidate always has one score. */
#include "compiler/tuner/features.h"

#include <string.h>

static kiln_status init(kiln_cost_model *m, kiln_err *err) {
    kiln_str rest = kiln_str_from(m->options.own), name;
    bool has = false;
    double value;
    KILN_TRY(kiln_cost_model_option(m, &rest, &has, &name, &value, err));
    if (has)
        return kiln_fail(err, KILN_ERR_ARG,
                         "cost model 'random': it has no options; there is no %.*s=%g",
                         KILN_STR_ARG(name), value);
    return KILN_OK;
}

static kiln_status fit(kiln_cost_model *m, const kiln_samples *s, kiln_err *err) {
    (void)m;
    (void)s;
    (void)err;
    return KILN_OK;
}

static kiln_status predict(const kiln_cost_model *m, const kiln_encodings *e,
                           float *out, kiln_err *err) {
    (void)err;
    for (size_t i = 0; i < e->n; i++) {
        const kiln_str x = kiln_encodings_at(e, i);
        out[i] = (float)(kiln_hash64(x.p, x.n, m->options.seed) >> 40) * 0x1p-24F;
    }
    return KILN_OK;
}

static kiln_status save(const kiln_cost_model *m, kiln_buf *out, kiln_err *err) {
    (void)err;
    kiln_buf_add(out, &m->options.seed, sizeof m->options.seed);
    return KILN_OK;
}

static kiln_status load(kiln_cost_model *m, const void *bytes, size_t n,
                        kiln_err *err) {
    if (n != sizeof m->options.seed)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "cost model 'random': its seed has %zu bytes, not %zu", n,
                         sizeof m->options.seed);
    memcpy(&m->options.seed, bytes, sizeof m->options.seed);
    return KILN_OK;
}

const kiln_cost_model_kind kiln_cost_model_random = {
    .name = "random",
    .doc = "a hash of the features: learns nothing",
    .version = KILN_FEATURE_VERSION,
    .encode = kiln_features_encode,
    .init = init,
    .fit = fit,
    .predict = predict,
    .save = save,
    .load = load,
};
