/* score = sum over the loops of weight[kind, log2 of the extent, place from the
 * inside], by stochastic gradients (Bishop, Pattern Recognition and Machine
 * Learning, 3.1.3). */
#include "tests/support/made_up/loop_model.h"

#include <string.h>

enum { N_BUCKETS = 256, N_ROUNDS = 60, BYTES_EACH = 2 };

typedef struct weights {
    float of[N_BUCKETS];
    double step; /* of its options */
} weights;

/* ---- candidates ------------------------------------------------------------------ */

static void loops(const kiln_stmt *s, kiln_buf *out);

static void one_loop(const kiln_stmt *s, kiln_buf *out) {
    int64_t n = 0;
    unsigned char bytes[BYTES_EACH] = {(unsigned char)(1 + s->u.loop.kind), 0};
    if (kiln_x_is_int(s->u.loop.extent, &n))
        for (; n > 1; n /= 2)
            bytes[1]++;
    kiln_buf_add(out, bytes, sizeof bytes);
    loops(s->u.loop.body, out);
}

static void loops(const kiln_stmt *s, kiln_buf *out) {
    const kiln_stmt *part = NULL;
    if (s->kind == KILN_STMT_FOR) {
        one_loop(s, out);
        return;
    }
    for (int i = 0; (part = kiln_stmt_part(s, i)) != NULL; i++)
        loops(part, out);
}

static void encode(kiln_arena *scratch, const kiln_candidate *c, kiln_buf *out) {
    (void)scratch;
    loops(c->program->body, out);
    kiln_buf_add(out, "", 1); /* a program may have no loop */
}

/* ---- learning -------------------------------------------------------------------- */

static kiln_status init(kiln_cost_model *m, kiln_err *err) {
    weights *w = kiln_new(&m->arena, weights);
    kiln_str rest = kiln_str_from(m->options.own), name;
    bool has = false;
    w->step = 0.02;
    m->state = w;
    do {
        double value;
        KILN_TRY(kiln_cost_model_option(m, &rest, &has, &name, &value, err));
        if (has && !kiln_str_is(name, "step"))
            return kiln_fail(err, KILN_ERR_ARG,
                             "cost model 'loops': there is no option %.*s",
                             KILN_STR_ARG(name));
        if (has)
            w->step = value;
    } while (has);
    return KILN_OK;
}

static size_t bucket_of(kiln_str x, size_t at) {
    const size_t from_inside = (x.n - at) / BYTES_EACH;
    const unsigned char key[] = {(unsigned char)x.p[at], (unsigned char)x.p[at + 1],
                                 (unsigned char)(from_inside < 8 ? from_inside : 8)};
    return (size_t)(kiln_hash64(key, sizeof key, 0) % N_BUCKETS);
}

static float score_of(const weights *w, kiln_str x) {
    float sum = 0;
    for (size_t at = 0; at + BYTES_EACH <= x.n; at += BYTES_EACH)
        sum += w->of[bucket_of(x, at)];
    return sum;
}

static kiln_status fit(kiln_cost_model *m, const kiln_samples *s, kiln_err *err) {
    weights *w = m->state;
    (void)err;
    memset(w->of, 0, sizeof w->of);
    for (int round = 0; round < N_ROUNDS; round++)
        for (size_t i = 0; i < s->encoding.n; i++) {
            const kiln_str x = kiln_encodings_at(&s->encoding, i);
            const float base = s->base != NULL ? s->base[i] : 0;
            const float off = s->score[i] - base - score_of(w, x);
            for (size_t at = 0; at + BYTES_EACH <= x.n; at += BYTES_EACH)
                w->of[bucket_of(x, at)] += (float)w->step * off;
        }
    return KILN_OK;
}

static kiln_status predict(const kiln_cost_model *m, const kiln_encodings *e,
                           float *out, kiln_err *err) {
    (void)err;
    for (size_t i = 0; i < e->n; i++)
        out[i] = score_of(m->state, kiln_encodings_at(e, i));
    return KILN_OK;
}

static kiln_status save(const kiln_cost_model *m, kiln_buf *out, kiln_err *err) {
    const weights *w = m->state;
    (void)err;
    kiln_buf_add(out, w->of, sizeof w->of);
    return KILN_OK;
}

static kiln_status load(kiln_cost_model *m, const void *bytes, size_t n,
                        kiln_err *err) {
    weights *w = m->state;
    if (n != sizeof w->of)
        return kiln_fail(err, KILN_ERR_PARSE, "cost model 'loops': %zu bytes, not %zu",
                         n, sizeof w->of);
    memcpy(w->of, bytes, n);
    return KILN_OK;
}

const kiln_cost_model_kind kiln_test_loop_model = {
    .name = "loops",
    .doc = "a weight for each loop",
    .version = 7,
    .encode = encode,
    .init = init,
    .fit = fit,
    .predict = predict,
    .save = save,
    .load = load,
};
