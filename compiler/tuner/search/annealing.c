/* Simulated annealing on the cost model (Chen's thesis, algorithm 8; Kirkpatrick et
 * al., Science 1983): parallel chains that live on from round to round, a part of them
 * put on the best trials. A batch is picked from all that the chains saw, for quality
 * and diversity, and a part of it is random.
 *
 * What a proposal costs is making programs of the configurations that chains come to.
 * So there is a limit for each batch; with few to make there are fewer chains, that each
 * goes far: short ones find less (tests/compiler/tuner/test_search_quality.c).
 *
 * Configurations with the same encoding are almost always the same program (a knob that
 * is cut off, a tile that is its own rest), and the model cannot tell them apart: of
 * those one is measured; the others come only when nothing else is left. */
#include "compiler/tuner/tuner_search_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MIN_LEARNED = 4 }; /* trials before a model without transfer says anything */
static const double best_part = 0.25; /* of the chains, on the best trials */
enum {
    FRESH_ALWAYS = 48, /* programs that a batch may make, */
    FRESH_EACH = 12,   /* and for each that is asked for; */
    LEAST_CHAINS = 8,
    CHAIN_STEPS = 60 /* of them for each chain */
};

typedef struct annealing {
    uint64_t *chain;         /* where each stands */
    kiln_index_map score_of; /* index to a place in `seen`, of this model */
    KILN_VEC(kiln_scored) seen;
    bool is_scored;           /* `seen` is of the model as it is */
    kiln_index_map programs;  /* hashes of encodings that were proposed or reported */
    size_t n_hashed;          /* trials that are among them, */
    size_t n_first;           /* and of those that the search began with */
    kiln_index_map met;       /* configurations that chains came to, or trials */
    int64_t fresh_left;       /* others that they may still come to, of this batch */
    kiln_arena round;         /* score_of and seen */
    kiln_encoding_list asked; /* of one step, at most one of each chain */
} annealing;

static void release(void *p) {
    annealing *x = p;
    kiln_arena_fini(&x->round);
}

static kiln_status init(kiln_search *s, kiln_err *err) {
    (void)err;
    annealing *x = kiln_new(s->arena, annealing);
    kiln_arena_defer(s->arena, release, x);
    x->chain = kiln_array(s->arena, uint64_t, s->options.n_chains);
    for (int i = 0; i < s->options.n_chains; i++) {
        const kiln_config c = kiln_config_random(&s->task->space, &s->rng);
        x->chain[i] = kiln_config_index(&s->task->space, &c);
    }
    s->state = x;
    return KILN_OK;
}

/* ---- programs that are the same -------------------------------------------------- */

static void mark_program(kiln_search *s, uint64_t index) {
    annealing *x = s->state;
    const kiln_encoding *e = kiln_candidates_encoding(s->candidates, index);
    if (e != NULL)
        kiln_index_map_put(s->arena, &x->programs, e->hash, 1);
}

static void mark_trials(kiln_search *s) {
    annealing *x = s->state;
    for (; x->n_first < s->at_first; x->n_first++)
        mark_program(s, s->first[x->n_first]);
    const kiln_encodings all = kiln_encoding_list_view(&s->encoding);
    for (; x->n_hashed < all.n; x->n_hashed++) {
        kiln_index_map_put(s->arena, &x->met, s->trial.v[x->n_hashed].index, 1);
        const kiln_str bytes = kiln_encodings_at(&all, x->n_hashed);
        if (bytes.n > 0)
            kiln_index_map_put(s->arena, &x->programs, kiln_hash64(bytes.p, bytes.n, 0),
                               1);
    }
}

/* ---- chains ---------------------------------------------------------------------- */

static const float refused_score = -INFINITY;

static void remember(kiln_search *s, uint64_t index, float score) {
    annealing *x = s->state;
    if (kiln_index_map_get(&x->met, index) == NULL) {
        kiln_index_map_put(s->arena, &x->met, index, 1);
        x->fresh_left--;
    }
    kiln_index_map_put(&x->round, &x->score_of, index, (uint32_t)x->seen.n);
    kiln_vec_push(&x->round, &x->seen, ((kiln_scored){index, score}));
}

/* Scores of n indexes, those that are new at once. */
static kiln_status score_all(kiln_search *s, const uint64_t *index, size_t n,
                             float *out, kiln_err *err) {
    annealing *x = s->state;
    size_t to = x->seen.n;
    kiln_encoding_list_clear(&x->asked);
    for (size_t i = 0; i < n; i++) {
        if (kiln_index_map_get(&x->score_of, index[i]) != NULL)
            continue;
        const kiln_encoding *e = kiln_candidates_encoding(s->candidates, index[i]);
        remember(s, index[i], e != NULL ? 0 : refused_score);
        if (e != NULL)
            kiln_encoding_list_add(s->arena, &x->asked, e->bytes);
    }
    const kiln_encodings asked = kiln_encoding_list_view(&x->asked);
    for (size_t at = 0; at < asked.n; at += KILN_SCORE_ROWS) {
        float score[KILN_SCORE_ROWS];
        const size_t m =
            asked.n - at < KILN_SCORE_ROWS ? asked.n - at : KILN_SCORE_ROWS;
        const kiln_encodings part = kiln_encodings_part(&asked, at, m);
        KILN_TRY(kiln_search_score(s, &part, score, err));
        for (size_t i = 0; i < m; to++)
            if (x->seen.v[to].score != refused_score)
                x->seen.v[to].score = score[i++];
    }
    for (size_t i = 0; i < n; i++)
        out[i] = x->seen.v[*kiln_index_map_get(&x->score_of, index[i])].score;
    return KILN_OK;
}

static int by_cost(const void *a, const void *b) {
    const kiln_trial *x = a, *y = b;
    return x->cost_ns < y->cost_ns   ? -1
           : x->cost_ns > y->cost_ns ? 1
           : x->index < y->index     ? -1
                                     : x->index > y->index;
}

/* The first of n chains go to the best trials, the others stay where they are. */
static void place_chains(kiln_search *s, kiln_arena *scratch, int n_chains) {
    annealing *x = s->state;
    kiln_trial *t = kiln_array(scratch, kiln_trial, s->trial.n);
    size_t n = 0;
    for (size_t i = 0; i < s->trial.n; i++)
        if (s->trial.v[i].outcome == KILN_OUTCOME_MEASURED)
            t[n++] = s->trial.v[i];
    if (n > 0)
        qsort(t, n, sizeof *t, by_cost);
    const size_t most = (size_t)(best_part * n_chains);
    for (size_t i = 0; i < n && i < most; i++)
        x->chain[i] = t[i].index;
}

/* Spread of the finite scores: the unit of temperature. */
static double spread_of(const float *score, int n) {
    double sum = 0, squares = 0, count = 0;
    for (int i = 0; i < n; i++)
        if (isfinite(score[i])) {
            sum += (double)score[i];
            squares += (double)score[i] * (double)score[i];
            count++;
        }
    if (count < 2)
        return 1;
    const double variance = squares / count - sum / count * (sum / count);
    return variance > 1e-12 ? sqrt(variance) : 1e-6;
}

/* Metropolis: always up, down with a probability that falls with the temperature. */
static bool accepts(kiln_rng *rng, float from, float to, double temperature) {
    if (to >= from || !isfinite(from))
        return isfinite(to) || !isfinite(from);
    if (!isfinite(to))
        return false;
    return kiln_rng_unit(rng) < exp(((double)to - (double)from) / temperature);
}

/* So many chains that each may go CHAIN_STEPS of new ones. */
static int n_chains_for(const kiln_search *s, int64_t limit) {
    const int64_t n = limit / CHAIN_STEPS;
    const int64_t most = s->options.n_chains;
    const int64_t least = most < LEAST_CHAINS ? most : LEAST_CHAINS;
    return (int)(n < least ? least : n > most ? most : n);
}

/* From 1 to 0: by the steps, or by what may still be made. */
static double heat_of(const kiln_search *s, int step, int64_t limit) {
    const annealing *x = s->state;
    const double by_steps = 1 - (double)step / s->options.n_steps;
    return fmin(by_steps, (double)x->fresh_left / (double)limit);
}

/* One annealing of the chains, from hot to cold. */
static kiln_status anneal(kiln_search *s, int64_t limit, kiln_err *err) {
    annealing *x = s->state;
    const int n = n_chains_for(s, limit);
    kiln_arena scratch = {0};
    float *score = kiln_array(&scratch, float, n),
          *next = kiln_array(&scratch, float, n);
    uint64_t *step = kiln_array(&scratch, uint64_t, n);
    x->fresh_left = limit;
    place_chains(s, &scratch, n);
    kiln_status st = score_all(s, x->chain, (size_t)n, score, err);
    const double spread = spread_of(score, n);
    for (int t = 0; st == KILN_OK && t < s->options.n_steps && x->fresh_left >= n;
         t++) {
        const double heat = heat_of(s, t, limit);
        for (int i = 0; i < n; i++) {
            kiln_config c = kiln_config_at(&s->task->space, x->chain[i]);
            c = kiln_config_neighbour(&s->task->space, &c, &s->rng);
            step[i] = kiln_config_index(&s->task->space, &c);
        }
        st = score_all(s, step, (size_t)n, next, err);
        for (int i = 0; st == KILN_OK && i < n; i++)
            if (accepts(&s->rng, score[i], next[i], heat * spread)) {
                x->chain[i] = step[i];
                score[i] = next[i];
            }
    }
    kiln_arena_fini(&scratch);
    x->is_scored = st == KILN_OK;
    return st;
}

static int by_score(const void *a, const void *b) {
    const kiln_scored *x = a, *y = b;
    return x->score > y->score   ? -1
           : x->score < y->score ? 1
           : x->index < y->index ? -1
                                 : x->index > y->index;
}

static int64_t limit_of(const kiln_search *s, size_t n) {
    static const int64_t no_limit = (int64_t)1 << 40;
    return s->options.n_fresh < 0   ? no_limit
           : s->options.n_fresh > 0 ? s->options.n_fresh
                                    : FRESH_ALWAYS + FRESH_EACH * (int64_t)n;
}

/* Everything that the chains see with the model as it is, best first; for a batch of so
 * many. */
static kiln_status look(kiln_search *s, size_t batch, kiln_scored **out, size_t *n_out,
                        kiln_err *err) {
    annealing *x = s->state;
    if (kiln_search_is_stale(s) || !x->is_scored) {
        KILN_TRY(kiln_search_learn(s, err));
        x->score_of = (kiln_index_map){0};
        memset(&x->seen, 0, sizeof x->seen);
        kiln_arena_reset(&x->round);
        x->is_scored = false;
    }
    KILN_TRY(anneal(s, limit_of(s, batch), err));
    kiln_scored *v = kiln_arena_dup(&x->round, x->seen.v, x->seen.n * sizeof *v);
    qsort(v, x->seen.n, sizeof *v, by_score);
    size_t n = x->seen.n;
    while (n > 0 && v[n - 1].score == refused_score)
        n--;
    *out = v;
    *n_out = n;
    return KILN_OK;
}

/* ---- a batch --------------------------------------------------------------------- */

/* The best so many that are free, one of each program. */
static size_t pool_of(kiln_search *s, kiln_arena *scratch, const kiln_scored *v,
                      size_t n, kiln_scored *out, size_t most) {
    annealing *x = s->state;
    kiln_index_map here = {0};
    size_t n_out = 0;
    for (size_t i = 0; i < n && n_out < most; i++) {
        if (!kiln_search_is_free(s, v[i].index))
            continue;
        const uint64_t program =
            kiln_candidates_encoding(s->candidates, v[i].index)->hash;
        if (kiln_index_map_get(&x->programs, program) != NULL ||
            kiln_index_map_get(&here, program) != NULL)
            continue;
        kiln_index_map_put(scratch, &here, program, 1);
        out[n_out++] = v[i];
    }
    return n_out;
}

static bool is_known_program(kiln_search *s, uint64_t index) {
    const annealing *x = s->state;
    const uint64_t program = kiln_candidates_encoding(s->candidates, index)->hash;
    return kiln_index_map_get(&x->programs, program) != NULL;
}

static void take(kiln_search *s, uint64_t index, uint64_t *out, size_t *n) {
    kiln_search_propose(s, index);
    mark_program(s, index);
    out[(*n)++] = index;
}

/* Random ones of programs that are new, as far as that goes. */
static void add_random(kiln_search *s, size_t want, uint64_t *out, size_t *n) {
    for (size_t tries = 0; *n < want && tries < 8 * want; tries++) {
        uint64_t index;
        if (!kiln_search_draw(s, &index))
            return;
        if (!is_known_program(s, index))
            take(s, index, out, n);
    }
    kiln_search_fill(s, want, out, n);
}

/* While nobody knows anything: some steps away from what is known to be good, the
 * template's rule among it. */
static void add_near(kiln_search *s, size_t want, uint64_t *out, size_t *n) {
    enum { STEPS = 3, TRIES = 8 };
    for (size_t tries = 0; *n < want && s->n_first > 0 && tries < TRIES * want;
         tries++) {
        const size_t of = (size_t)kiln_rng_range(&s->rng, 0, (int64_t)s->n_first - 1);
        kiln_config c = kiln_config_at(&s->task->space, s->first[of]);
        for (int64_t k = kiln_rng_range(&s->rng, 1, STEPS); k > 0; k--)
            c = kiln_config_neighbour(&s->task->space, &c, &s->rng);
        const uint64_t index = kiln_config_index(&s->task->space, &c);
        if (kiln_search_is_free(s, index) && !is_known_program(s, index) &&
            kiln_search_is_likely(s, index))
            take(s, index, out, n);
    }
}

/* How many of n are random: drawn, so that small batches have their part too. */
static size_t draw_random_part(kiln_search *s, size_t n) {
    size_t n_random = 0;
    for (size_t i = 0; i < n; i++)
        n_random += kiln_rng_unit(&s->rng) < s->options.epsilon ? 1 : 0;
    return n_random;
}

/* The best of the pool, diverse, that should not spill. */
static void pick(kiln_search *s, kiln_arena *scratch, const kiln_scored *pool,
                 size_t n_pool, size_t n, uint64_t *out, size_t *n_out) {
    enum { LOOKS = 4 }; /* for each: what would spill is passed over */
    uint64_t *order = kiln_array(scratch, uint64_t, LOOKS * n);
    const size_t n_order = kiln_pick_diverse(scratch, &s->task->space, pool, n_pool,
                                             s->options.diversity, LOOKS * n, order);
    for (size_t i = 0; i < n_order && *n_out < n; i++)
        if (kiln_search_is_likely(s, order[i]))
            take(s, order[i], out, n_out);
}

static kiln_status next(kiln_search *s, size_t n, uint64_t *out, size_t *n_out,
                        kiln_err *err) {
    /* A batch is picked from so many batches of the best, and no fewer than so many: a
     * chain's neighbours differ in one knob, so the first dozens are all alike. */
    enum { BATCHES = 3, LEAST = 512 };
    const size_t most = BATCHES * n < LEAST ? LEAST : BATCHES * n;
    /* A global model that was not fitted yet likes all alike: better to draw. */
    const bool was_taught = s->options.global != NULL && s->options.global->is_fitted;
    const bool knows = was_taught || kiln_search_n_measured(s) >= MIN_LEARNED;
    mark_trials(s);
    if (knows) {
        kiln_arena scratch = {0};
        kiln_scored *v, *pool = kiln_array(&scratch, kiln_scored, most);
        size_t n_seen;
        const size_t n_random = draw_random_part(s, n);
        const kiln_status st = look(s, n, &v, &n_seen, err);
        if (st == KILN_OK) {
            const size_t n_pool = pool_of(s, &scratch, v, n_seen, pool, most);
            pick(s, &scratch, pool, n_pool, n - n_random, out, n_out);
        }
        kiln_arena_fini(&scratch);
        KILN_TRY(st);
    } else {
        add_near(s, n / 2, out, n_out);
    }
    add_random(s, n, out, n_out);
    return KILN_OK;
}

static kiln_status predicted(kiln_search *s, size_t n, uint64_t *out, size_t *n_out,
                             kiln_err *err) {
    kiln_scored *v;
    size_t n_seen;
    KILN_TRY(look(s, n, &v, &n_seen, err));
    *n_out = n_seen < n ? n_seen : n;
    for (size_t i = 0; i < *n_out; i++)
        out[i] = v[i].index;
    return KILN_OK;
}

const kiln_search_kind kiln_search_annealing = {
    .name = "annealing",
    .doc = "simulated annealing on a learned cost model, diverse batches",
    .init = init,
    .next = next,
    .predicted = predicted,
};
