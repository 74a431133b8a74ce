/* A recurrent network over the loops of a program (Chen's thesis, 5.3: the context
 * encoded TreeGRU; model/treegru/treegru.h has its equations). What it reads of a loop
 * says nothing of the workload, so it carries over as it is.
 *
 * Options: n_epochs, learning_rate. */
#include "compiler/tuner/model/treegru/treegru.h"

#include <math.h>
#include <string.h>

typedef struct state {
    kiln_treegru_training training;
    kiln_treegru_scale scale;
    kiln_treegru_weights weights;
} state;

/* Chosen on the corpus (docs/tuning.md) and the machine of tests/support/kernel/sim_conv.h. */
static const kiln_treegru_training defaults = {.n_epochs = 30, .learning_rate = 0.01};

/* ---- options --------------------------------------------------------------------- */

static kiln_status set_option(state *x, kiln_str name, double v, kiln_err *err) {
    enum { MOST_EPOCHS = 10000 };
    if (kiln_str_is(name, "n_epochs") && v >= 1 && v <= MOST_EPOCHS && v == floor(v))
        x->training.n_epochs = (int)v;
    else if (kiln_str_is(name, "learning_rate") && v > 0 && v <= 1)
        x->training.learning_rate = v;
    else
        return kiln_fail(err, KILN_ERR_ARG,
                         "cost model 'treegru': there is no option %.*s=%g; there are "
                         "n_epochs (1 to %d) and learning_rate (above 0, at most 1)",
                         KILN_STR_ARG(name), v, (int)MOST_EPOCHS);
    return KILN_OK;
}

static kiln_status init(kiln_cost_model *m, kiln_err *err) {
    state *x = kiln_new(&m->arena, state);
    kiln_str rest = kiln_str_from(m->options.own), name;
    bool has = false;
    double value;
    x->training = defaults;
    m->state = x;
    do {
        KILN_TRY(kiln_cost_model_option(m, &rest, &has, &name, &value, err));
        if (has)
            KILN_TRY(set_option(x, name, value, err));
    } while (has);
    return KILN_OK;
}

/* ---- fitting and predicting ------------------------------------------------------ */

static bool are_finite(const float *v, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!isfinite(v[i]))
            return false;
    return true;
}

/* What was known before stays where this fails. */
static kiln_status fit(kiln_cost_model *m, const kiln_samples *s, kiln_err *err) {
    kiln_arena a = {0};
    state *x = m->state, *next = kiln_new(&a, state);
    next->training = x->training;
    kiln_treegru_train(&next->training, m->options.objective, m->options.seed, s,
                       &next->scale, &next->weights);
    const bool is_good =
        are_finite((const float *)&next->weights, KILN_TREEGRU_WEIGHTS);
    if (is_good)
        *x = *next;
    kiln_arena_fini(&a);
    return is_good ? KILN_OK
                   : kiln_fail(err, KILN_ERR_LIB,
                               "cost model 'treegru': training does not converge; "
                               "learning_rate must be smaller than %g",
                               x->training.learning_rate);
}

static kiln_status predict(const kiln_cost_model *m, const kiln_encodings *e,
                           float *out, kiln_err *err) {
    const state *x = m->state;
    kiln_arena a = {0};
    kiln_treegru_node *tree = kiln_array(&a, kiln_treegru_node, KILN_TREEGRU_NODES);
    kiln_treegru_tape *tape = kiln_array(&a, kiln_treegru_tape, KILN_TREEGRU_NODES);
    (void)err;
    for (size_t i = 0; i < e->n; i++) {
        const size_t n = kiln_treegru_read(&x->scale, kiln_encodings_at(e, i), tree);
        out[i] = kiln_treegru_forward(&x->weights, tree, n, tape);
    }
    kiln_arena_fini(&a);
    return KILN_OK;
}

/* ---- saved: how large, then scale and weights as this machine has floats ---------- */

static void put_sizes(kiln_buf *out) {
    kiln_buf_printf(out, "features %d width %d slots %d kinds %d\n",
                    (int)KILN_TREEGRU_X, (int)KILN_TREEGRU_H, (int)KILN_TREEGRU_SLOTS,
                    (int)KILN_TREEGRU_KINDS);
}

static kiln_status save(const kiln_cost_model *m, kiln_buf *out, kiln_err *err) {
    const state *x = m->state;
    (void)err;
    put_sizes(out);
    kiln_buf_add(out, &x->scale, sizeof x->scale);
    kiln_buf_add(out, &x->weights, sizeof x->weights);
    return KILN_OK;
}

static kiln_status load(kiln_cost_model *m, const void *bytes, size_t n,
                        kiln_err *err) {
    enum { N_SCALE = sizeof(kiln_treegru_scale) / sizeof(float) };
    state *x = m->state;
    kiln_buf sizes;
    kiln_buf_init(&sizes, &m->arena);
    put_sizes(&sizes);
    const size_t want = sizes.n + sizeof x->scale + sizeof x->weights;
    const char *p = bytes;
    if (!kiln_str_starts((kiln_str){p, n}, sizes.p))
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         "cost model 'treegru': it is of another size; train it anew");
    if (n != want)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "cost model 'treegru': it has %zu bytes, not %zu", n, want);
    memcpy(&x->scale, p + sizes.n, sizeof x->scale);
    memcpy(&x->weights, p + sizes.n + sizeof x->scale, sizeof x->weights);
    return are_finite((const float *)&x->scale, N_SCALE) &&
                   are_finite((const float *)&x->weights, KILN_TREEGRU_WEIGHTS)
               ? KILN_OK
               : kiln_fail(err, KILN_ERR_PARSE,
                           "cost model 'treegru': a weight is no finite number");
}

const kiln_cost_model_kind kiln_cost_model_treegru = {
    .name = "treegru",
    .doc = "a recurrent network over the loops, from leaves to root",
    .version = KILN_TREEGRU_VERSION,
    .encode = kiln_treegru_encode,
    .init = init,
    .fit = fit,
    .predict = predict,
    .save = save,
    .load = load,
};
