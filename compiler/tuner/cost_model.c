/* Cost models: the table, options, fitting and predicting with margins, and saved
 * bytes:
 *
 *     kiln cost model 3
 *     kind xgboost
 *     encoding 1             version of what it reads
 *     objective rank
 *     samples 512 ...        how many it was fitted to, and their SHA-256
 *     held_out 0.81          pairs in order; -1: nobody looked
 *     sha256 ...             of the bytes behind the empty line
 *
 *     (the kind's own bytes)
 *
 * Version 2 had neither samples nor held_out, version 1 "features 1 276" for the third
 * line: both are still read. */
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

kiln_status kiln_cost_model_init(kiln_cost_model *m, const kiln_cost_model_kind *kind,
                                 const kiln_cost_model_options *o, kiln_err *err) {
    KILN_ASSERT(kind->init != NULL && kind->fit != NULL && kind->predict != NULL,
                "cost model '%s' lacks a function", kind->name);
    *m = (kiln_cost_model){.kind = kind};
    if (o != NULL)
        m->options = *o;
    const kiln_status st = kind->init(m, err);
    if (st != KILN_OK)
        kiln_cost_model_fini(m);
    return st;
}

void kiln_cost_model_fini(kiln_cost_model *m) {
    if (m->kind != NULL && m->kind->fini != NULL)
        m->kind->fini(m);
    kiln_arena_fini(&m->arena);
    *m = (kiln_cost_model){0};
}

kiln_status kiln_cost_model_option(const kiln_cost_model *m, kiln_str *rest, bool *has,
                                   kiln_str *name, double *value, kiln_err *err) {
    kiln_str word, number;
    *has = false;
    do
        if (!kiln_str_cut(rest, ' ', &word))
            return KILN_OK;
    while (word.n == 0);
    number = word;
    *has = true;
    if (!kiln_str_cut(&number, '=', name) || name->n == 0 ||
        !kiln_parse_f64(number, value))
        return kiln_fail(err, KILN_ERR_ARG,
                         "cost model '%s': an option is NAME=NUMBER, not '%.*s'",
                         m->kind->name, KILN_STR_ARG(word));
    return KILN_OK;
}

static kiln_cost_model_origin origin_of(const kiln_samples *s) {
    kiln_cost_model_origin out = {.n_samples = (int64_t)s->encoding.n, .held_out = -1};
    kiln_sha256 h;
    kiln_sha256_init(&h);
    for (size_t i = 0; i < s->encoding.n; i++) {
        const kiln_str x = kiln_encodings_at(&s->encoding, i);
        const uint64_t bytes = x.n;
        const float more[] = {s->base != NULL ? s->base[i] : 0,
                              s->weight != NULL ? s->weight[i] : 1};
        kiln_sha256_add(&h, &bytes, sizeof bytes);
        kiln_sha256_add(&h, x.p, x.n);
        kiln_sha256_add(&h, &s->score[i], sizeof *s->score);
        kiln_sha256_add(&h, &s->group[i], sizeof *s->group);
        kiln_sha256_add(&h, more, sizeof more);
    }
    kiln_sha256_hex(&h, out.samples);
    return out;
}

kiln_status kiln_cost_model_fit(kiln_cost_model *m, const kiln_samples *s,
                                kiln_err *err) {
    KILN_ASSERT(m->kind != NULL, "a cost model of no kind is fitted");
    if (s->encoding.n == 0)
        return kiln_fail(err, KILN_ERR_ARG, "cost model '%s': no samples to learn from",
                         m->kind->name);
    KILN_TRY(m->kind->fit(m, s, err));
    m->is_fitted = true;
    m->origin = origin_of(s);
    return KILN_OK;
}

kiln_status kiln_cost_model_predict(const kiln_cost_model *m, const kiln_encodings *e,
                                    const float *base, float *out, kiln_err *err) {
    KILN_ASSERT(m->kind != NULL, "a cost model of no kind predicts");
    if (e->n == 0)
        return KILN_OK;
    if (!m->is_fitted) {
        for (size_t i = 0; i < e->n; i++)
            out[i] = base != NULL ? base[i] : 0;
        return KILN_OK;
    }
    KILN_TRY(m->kind->predict(m, e, out, err));
    for (size_t i = 0; base != NULL && i < e->n; i++)
        out[i] += base[i];
    return KILN_OK;
}

kiln_status kiln_cost_model_predict_spread(const kiln_cost_model *m,
                                           const kiln_encodings *e, const float *base,
                                           float *out, float *spread, kiln_err *err) {
    KILN_ASSERT(m->kind != NULL, "a cost model of no kind predicts");
    if (!m->is_fitted || m->kind->predict_spread == NULL) {
        for (size_t i = 0; i < e->n; i++)
            spread[i] = 0;
        return kiln_cost_model_predict(m, e, base, out, err);
    }
    KILN_TRY(m->kind->predict_spread(m, e, out, spread, err));
    for (size_t i = 0; base != NULL && i < e->n; i++)
        out[i] += base[i];
    return KILN_OK;
}

kiln_status kiln_cost_model_predict_over(const kiln_cost_model *m,
                                         const kiln_encodings *e, size_t of, float *out,
                                         float *spread, kiln_err *err) {
    KILN_ASSERT(of < e->n, "number %zu of %zu candidates", of, e->n);
    if (m->is_fitted && m->kind->predict_over != NULL)
        return m->kind->predict_over(m, e, of, out, spread, err);
    KILN_TRY(kiln_cost_model_predict(m, e, NULL, out, err));
    const float zero = out[of];
    for (size_t i = 0; i < e->n; i++) {
        out[i] -= zero;
        spread[i] = 0;
    }
    return KILN_OK;
}

/* ---- saved ----------------------------------------------------------------------- */

static const char *const objective_names[] = {"rank", "regression"};
/* By version; the latest is written. */
static const char *const magic[] = {"kiln cost model 1", "kiln cost model 2",
                                    "kiln cost model 3"};
enum { N_MAGIC = sizeof magic / sizeof magic[0], HAS_ORIGIN = 3 };

kiln_status kiln_cost_model_save(const kiln_cost_model *m, kiln_buf *out,
                                 kiln_err *err) {
    KILN_ASSERT(m->kind != NULL, "a cost model of no kind is saved");
    if (!m->is_fitted)
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
                        "%s\nkind %s\nencoding %d\nobjective %s\nsamples %" PRId64
                        " %s\nheld_out %.17g\nsha256 %s\n\n",
                        magic[N_MAGIC - 1], m->kind->name, m->kind->version,
                        objective_names[m->options.objective], m->origin.n_samples,
                        m->origin.samples, m->origin.held_out, hex);
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

static kiln_status read_version(kiln_str value, const kiln_cost_model_kind *kind,
                                kiln_err *err) {
    kiln_str version;
    int64_t v;
    if (!kiln_str_cut(&value, ' ', &version) || !kiln_parse_i64(version, &v))
        return kiln_fail(err, KILN_ERR_PARSE,
                         "saved cost model: its encoding must be a number");
    if (v != kind->version)
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         "saved cost model: it reads encodings of version %" PRId64
                         ", these are of version %d; train it anew",
                         v, kind->version);
    return KILN_OK;
}

typedef struct head {
    kiln_str kind, encoding, objective, sum;
    kiln_cost_model_origin origin;
} head;

/* 0: it is none. */
static int version_of(kiln_str line) {
    for (int i = 0; i < N_MAGIC; i++)
        if (kiln_str_is(line, magic[i]))
            return i + 1;
    return 0;
}

static kiln_status read_origin(kiln_str *rest, kiln_cost_model_origin *out,
                               kiln_err *err) {
    kiln_str samples, n, held_out;
    KILN_TRY(read_line(rest, "samples", &samples, err));
    KILN_TRY(read_line(rest, "held_out", &held_out, err));
    if (!kiln_str_cut(&samples, ' ', &n) || !kiln_parse_i64(n, &out->n_samples) ||
        out->n_samples < 0 || samples.n != KILN_SHA256_HEX - 1 ||
        !kiln_parse_f64(held_out, &out->held_out) || !(out->held_out <= 1))
        return kiln_fail(err, KILN_ERR_PARSE,
                         "saved cost model: it does not say what it was fitted to");
    memcpy(out->samples, samples.p, samples.n);
    return KILN_OK;
}

static kiln_status read_head(kiln_str *rest, head *out, kiln_err *err) {
    kiln_str line = {0};
    const int version = kiln_str_cut(rest, '\n', &line) ? version_of(line) : 0;
    *out = (head){.origin = {.held_out = -1}};
    if (version == 0)
        return kiln_fail(err, KILN_ERR_PARSE, "this is no saved cost model");
    KILN_TRY(read_line(rest, "kind", &out->kind, err));
    KILN_TRY(
        read_line(rest, version > 1 ? "encoding" : "features", &out->encoding, err));
    KILN_TRY(read_line(rest, "objective", &out->objective, err));
    if (version >= HAS_ORIGIN)
        KILN_TRY(read_origin(rest, &out->origin, err));
    KILN_TRY(read_line(rest, "sha256", &out->sum, err));
    if (!kiln_str_cut(rest, '\n', &line) || line.n != 0)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "saved cost model: an empty line must end its head");
    return KILN_OK;
}

/* Of what stands behind the head: is it for this kind, and whole? */
static kiln_status check_head(const head *h, const kiln_cost_model_kind *kind,
                              kiln_str payload, kiln_cost_model_options *out,
                              kiln_err *err) {
    char hex[KILN_SHA256_HEX];
    if (!kiln_str_is(h->kind, kind->name))
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         "saved cost model: it is no '%s'; train it anew", kind->name);
    KILN_TRY(read_version(h->encoding, kind, err));
    const bool is_rank = kiln_str_is(h->objective, objective_names[0]);
    if (!is_rank && !kiln_str_is(h->objective, objective_names[1]))
        return kiln_fail(err, KILN_ERR_PARSE,
                         "saved cost model: 'objective' must be rank or regression");
    out->objective = is_rank ? KILN_OBJECTIVE_RANK : KILN_OBJECTIVE_REGRESSION;
    kiln_sha256_of(payload.p, payload.n, hex);
    if (!kiln_str_is(h->sum, hex))
        return kiln_fail(err, KILN_ERR_PARSE,
                         "saved cost model: it is damaged; its SHA-256 differs");
    return KILN_OK;
}

kiln_status kiln_cost_model_load(kiln_cost_model *out, const kiln_cost_model_kind *kind,
                                 const void *bytes, size_t n, kiln_err *err) {
    KILN_ASSERT(kind->load != NULL, "cost model '%s' cannot be loaded", kind->name);
    kiln_cost_model m;
    kiln_cost_model_options o = {.own = NULL};
    kiln_str rest = {bytes, n};
    head h;
    KILN_TRY(read_head(&rest, &h, err));
    KILN_TRY(check_head(&h, kind, rest, &o, err));
    KILN_TRY(kiln_cost_model_init(&m, kind, &o, err));
    const kiln_status st = kind->load(&m, rest.p, rest.n, err);
    if (st != KILN_OK) {
        kiln_cost_model_fini(&m);
        return st;
    }
    m.is_fitted = true;
    m.origin = h.origin;
    *out = m;
    return KILN_OK;
}
