/* A model that knows nothing: what learned ones are compared with. Its score of a row
 * is a hash of the row, so that one row always has one score. */
#include "compiler/tuner/tuner.h"

static kiln_status fit(kiln_cost_model *m, const kiln_samples *s, kiln_err *err) {
    (void)err;
    m->n_features = s->n_features;
    return KILN_OK;
}

static kiln_status predict(const kiln_cost_model *m, const float *features,
                           size_t stride, size_t n, float *out, kiln_err *err) {
    (void)err;
    for (size_t i = 0; i < n; i++) {
        const uint64_t h = kiln_hash64(
            features + i * stride, m->n_features * sizeof *features, m->options.seed);
        out[i] = (float)(h >> 40) * 0x1p-24F;
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
    for (size_t i = 0; i < n; i++)
        ((unsigned char *)&m->options.seed)[i] = ((const unsigned char *)bytes)[i];
    return KILN_OK;
}

static void fini(kiln_cost_model *m) { (void)m; }

const kiln_cost_model_kind kiln_cost_model_random = {
    .name = "random",
    .doc = "a hash of the features: learns nothing",
    .fit = fit,
    .predict = predict,
    .save = save,
    .load = load,
    .fini = fini,
};
