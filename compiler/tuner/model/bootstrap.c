/* A bootstrap ensemble of boosted trees (Efron, Annals of Statistics 1979; AutoTVM,
 * NIPS'18, section 3.3): each member is fitted to as many samples of each workload as
 * there are, drawn with replacement. Its score is the members' mean, and how far they
 * are apart says how sure it is.
 *
 * Options: n_members, and those of the members.
 *
 * Scores of ranks have no zero: a member's are moved by their mean over all samples, or
 * its zero would count as doubt. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "compiler/tuner/features.h"

enum { MEMBERS = 5, MOST_MEMBERS = 64, ROWS = 256 };

typedef struct member {
    kiln_cost_model model;
    float zero;
} member;

typedef struct ensemble {
    member *of;
    int n;
} ensemble;

static const kiln_cost_model_kind *const base_kind = &kiln_cost_model_xgboost;

static void fini(kiln_cost_model *m) {
    ensemble *x = m->state;
    for (int i = 0; x != NULL && i < x->n; i++)
        kiln_cost_model_fini(&x->of[i].model);
}

/* ---- options --------------------------------------------------------------------- */

/* Takes n_members out; what is left is for the members, and theirs to refuse. */
static kiln_status read_own(kiln_cost_model *m, int *n, const char **left,
                            kiln_err *err) {
    kiln_str rest = kiln_str_from(m->options.own), name;
    kiln_buf others;
    bool has = false;
    double value;
    kiln_buf_init(&others, &m->arena);
    kiln_buf_puts(&others, "");
    do {
        KILN_TRY(kiln_cost_model_option(m, &rest, &has, &name, &value, err));
        if (!has)
            break;
        if (!kiln_str_is(name, "n_members"))
            kiln_buf_printf(&others, "%.*s=%.17g ", KILN_STR_ARG(name), value);
        else if (value >= 2 && value <= MOST_MEMBERS && value == floor(value))
            *n = (int)value;
        else
            return kiln_fail(err, KILN_ERR_ARG,
                             "cost model 'bootstrap': n_members must be 2 to %d, is %g",
                             (int)MOST_MEMBERS, value);
    } while (has);
    *left = others.p;
    return KILN_OK;
}

static kiln_status init(kiln_cost_model *m, kiln_err *err) {
    ensemble *x = kiln_new(&m->arena, ensemble);
    int n = MEMBERS;
    kiln_cost_model_options o = m->options;
    m->state = x;
    KILN_TRY(read_own(m, &n, &o.own, err));
    x->of = kiln_array(&m->arena, member, n);
    for (int i = 0; i < n; i++) {
        o.seed = m->options.seed + (uint64_t)i;
        KILN_TRY(kiln_cost_model_init(&x->of[i].model, base_kind, &o, err));
        x->n = i + 1;
    }
    return KILN_OK;
}

/* ---- fitting --------------------------------------------------------------------- */

/* Draws within each group, so that these stay together and in order. */
static kiln_samples draw(kiln_arena *a, const kiln_samples *s, kiln_rng *rng) {
    const size_t n = s->encoding.n;
    kiln_encoding_list *list = kiln_new(a, kiln_encoding_list);
    float *score = kiln_array(a, float, n), *base = kiln_array(a, float, n);
    for (size_t begin = 0, end; begin < n; begin = end) {
        for (end = begin + 1; end < n && s->group[end] == s->group[begin];)
            end++;
        for (size_t i = begin; i < end; i++) {
            const size_t from =
                (size_t)kiln_rng_range(rng, (int64_t)begin, (int64_t)end - 1);
            kiln_encoding_list_add(a, list, kiln_encodings_at(&s->encoding, from));
            score[i] = s->score[from];
            base[i] = s->base != NULL ? s->base[from] : 0;
        }
    }
    return (kiln_samples){.encoding = kiln_encoding_list_view(list),
                          .score = score,
                          .group = s->group,
                          .base = s->base != NULL ? base : NULL,
                          .weight = s->weight,
                          .carries_over = s->carries_over};
}

static kiln_status fit_member(member *x, const kiln_samples *s, kiln_rng *rng,
                              kiln_err *err) {
    kiln_arena a = {0};
    const kiln_samples drawn = draw(&a, s, rng);
    float *score = kiln_array(&a, float, s->encoding.n);
    double sum = 0;
    kiln_status st = kiln_cost_model_fit(&x->model, &drawn, err);
    if (st == KILN_OK)
        st = kiln_cost_model_predict(&x->model, &s->encoding, NULL, score, err);
    for (size_t i = 0; st == KILN_OK && i < s->encoding.n; i++)
        sum += (double)score[i];
    if (st == KILN_OK)
        x->zero = x->model.options.objective == KILN_OBJECTIVE_RANK
                      ? (float)(sum / (double)s->encoding.n)
                      : 0;
    kiln_arena_fini(&a);
    return st;
}

static kiln_status fit(kiln_cost_model *m, const kiln_samples *s, kiln_err *err) {
    ensemble *x = m->state;
    kiln_rng rng;
    kiln_rng_init(&rng, m->options.seed);
    for (int i = 0; i < x->n; i++)
        KILN_TRY(fit_member(&x->of[i], s, &rng, err));
    return KILN_OK;
}

/* ---- predicting ------------------------------------------------------------------ */

/* At most ROWS of them: sums of the members' scores, and of their squares. */
static kiln_status add_members(const ensemble *x, const kiln_encodings *e, double *sum,
                               double *squares, kiln_err *err) {
    float score[ROWS];
    for (int k = 0; k < x->n; k++) {
        KILN_TRY(kiln_cost_model_predict(&x->of[k].model, e, NULL, score, err));
        for (size_t i = 0; i < e->n; i++) {
            const double v = (double)score[i] - (double)x->of[k].zero;
            sum[i] += v;
            squares[i] += v * v;
        }
    }
    return KILN_OK;
}

static kiln_status predict_spread(const kiln_cost_model *m, const kiln_encodings *e,
                                  float *out, float *spread, kiln_err *err) {
    const ensemble *x = m->state;
    for (size_t at = 0; at < e->n; at += ROWS) {
        const size_t n = e->n - at < ROWS ? e->n - at : ROWS;
        const kiln_encodings part = kiln_encodings_part(e, at, n);
        double sum[ROWS] = {0}, squares[ROWS] = {0};
        KILN_TRY(add_members(x, &part, sum, squares, err));
        for (size_t i = 0; i < n; i++) {
            const double mean = sum[i] / x->n;
            out[at + i] = (float)mean;
            if (spread != NULL)
                spread[at + i] = (float)sqrt(fmax(0, squares[i] / x->n - mean * mean));
        }
    }
    return KILN_OK;
}

static kiln_status predict(const kiln_cost_model *m, const kiln_encodings *e,
                           float *out, kiln_err *err) {
    return predict_spread(m, e, out, NULL, err);
}

/* One member's scores, less what it gives number `of`: its zero, and all that it thinks
 * of the workload, is in both. */
static kiln_status add_over(const member *x, const kiln_encodings *e, size_t of,
                            float *score, double *sum, double *squares, kiln_err *err) {
    KILN_TRY(kiln_cost_model_predict(&x->model, e, NULL, score, err));
    for (size_t i = 0; i < e->n; i++) {
        const double v = (double)score[i] - (double)score[of];
        sum[i] += v;
        squares[i] += v * v;
    }
    return KILN_OK;
}

static kiln_status predict_over(const kiln_cost_model *m, const kiln_encodings *e,
                                size_t of, float *out, float *spread, kiln_err *err) {
    const ensemble *x = m->state;
    kiln_arena a = {0};
    float *score = kiln_array(&a, float, e->n);
    double *sum = kiln_array(&a, double, e->n), *squares = kiln_array(&a, double, e->n);
    kiln_status st = KILN_OK;
    for (int k = 0; st == KILN_OK && k < x->n; k++)
        st = add_over(&x->of[k], e, of, score, sum, squares, err);
    for (size_t i = 0; st == KILN_OK && i < e->n; i++) {
        const double mean = sum[i] / x->n;
        out[i] = (float)mean;
        spread[i] = (float)sqrt(fmax(0, squares[i] / x->n - mean * mean));
    }
    kiln_arena_fini(&a);
    return st;
}

/* ---- saved: "members N", and of each "ZERO BYTES" and its bytes ------------------- */

static kiln_status save(const kiln_cost_model *m, kiln_buf *out, kiln_err *err) {
    const ensemble *x = m->state;
    kiln_buf_printf(out, "members %d\n", x->n);
    for (int i = 0; i < x->n; i++) {
        kiln_arena a = {0};
        kiln_buf one;
        kiln_buf_init(&one, &a);
        const kiln_status st = kiln_cost_model_save(&x->of[i].model, &one, err);
        if (st == KILN_OK) {
            kiln_buf_printf(out, "%.9g %zu\n", (double)x->of[i].zero, one.n);
            kiln_buf_add(out, one.p, one.n);
        }
        kiln_arena_fini(&a);
        KILN_TRY(st);
    }
    return KILN_OK;
}

static kiln_status load_member(member *out, kiln_str *rest, kiln_err *err) {
    kiln_str line, zero;
    double value = 0;
    int64_t n = 0;
    if (!kiln_str_cut(rest, '\n', &line) || !kiln_str_cut(&line, ' ', &zero) ||
        !kiln_parse_f64(zero, &value) || !isfinite(value) ||
        !kiln_parse_i64(line, &n) || n < 0 || (uint64_t)n > rest->n)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "cost model 'bootstrap': a member is cut off");
    kiln_cost_model_fini(&out->model);
    KILN_TRY(kiln_cost_model_load(&out->model, base_kind, rest->p, (size_t)n, err));
    out->zero = (float)value;
    *rest = (kiln_str){rest->p + n, rest->n - (size_t)n};
    return KILN_OK;
}

static kiln_status load(kiln_cost_model *m, const void *bytes, size_t n,
                        kiln_err *err) {
    ensemble *x = m->state;
    kiln_str rest = {bytes, n}, line, word;
    int64_t n_members = 0;
    if (!kiln_str_cut(&rest, '\n', &line) || !kiln_str_cut(&line, ' ', &word) ||
        !kiln_str_is(word, "members") || !kiln_parse_i64(line, &n_members) ||
        n_members < 2 || n_members > MOST_MEMBERS)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "cost model 'bootstrap': it must have 2 to %d members",
                         (int)MOST_MEMBERS);
    fini(m);
    x->of = kiln_array(&m->arena, member, n_members);
    x->n = (int)n_members;
    for (int i = 0; i < x->n; i++)
        KILN_TRY(load_member(&x->of[i], &rest, err));
    return rest.n == 0 ? KILN_OK
                       : kiln_fail(err, KILN_ERR_PARSE,
                                   "cost model 'bootstrap': %zu bytes follow its "
                                   "members",
                                   rest.n);
}

const kiln_cost_model_kind kiln_cost_model_bootstrap = {
    .name = "bootstrap",
    .doc = "an ensemble of boosted trees, which knows how sure it is",
    .version = KILN_FEATURE_VERSION,
    .encode = kiln_features_encode,
    .init = init,
    .fit = fit,
    .predict = predict,
    .predict_spread = predict_spread,
    .predict_over = predict_over,
    .save = save,
    .load = load,
    .fini = fini,
};
