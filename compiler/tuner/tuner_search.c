/* Searches: the table, and what all of them share. */
#include "compiler/tuner/tuner_search_internal.h"

#include <inttypes.h>
#include <math.h>

static const kiln_search_kind *const kinds[] = {
#define KILN_SEARCH(name) &kiln_search_##name,
#include "compiler/tuner/searches.def"
#undef KILN_SEARCH
    NULL,
};

const kiln_search_kind *kiln_search_at(int i) {
    for (int at = 0; kinds[at] != NULL; at++)
        if (at == i)
            return kinds[at];
    return NULL;
}

const kiln_search_kind *kiln_search_find(kiln_str name) {
    for (int i = 0; kinds[i] != NULL; i++)
        if (kiln_str_is(name, kinds[i]->name))
            return kinds[i];
    return NULL;
}

/* ---- making ---------------------------------------------------------------------- */

static void release(void *p) {
    kiln_search *s = p;
    kiln_cost_model_fini(&s->model);
}

static double or_default(double v, double otherwise) {
    return v == 0 ? otherwise : v < 0 ? 0 : v;
}

static void set_options(kiln_search *s, const kiln_search_options *o) {
    if (o != NULL)
        s->options = *o;
    kiln_search_options *x = &s->options;
    x->epsilon = or_default(x->epsilon, 0.1);
    x->diversity = or_default(x->diversity, 0.1);
    x->n_chains = x->n_chains > 0 ? x->n_chains : 64;
    x->n_steps = x->n_steps > 0 ? x->n_steps : 100;
    x->model = x->model != NULL ? x->model : &kiln_cost_model_xgboost;
    x->most_spills = or_default(x->most_spills, 0.5);
    if (x->only != NULL || kiln_profile_is_gpu(s->task->profile))
        x->most_spills = 0;
    if (x->spills == NULL && x->most_spills > 0)
        x->spills = kiln_spill_log_new(s->arena);
}

static bool encodes_alike(const kiln_cost_model_kind *x,
                          const kiln_cost_model_kind *y) {
    return x->encode == y->encode && x->version == y->version;
}

kiln_status kiln_search_new(kiln_arena *a, const kiln_search_kind *kind,
                            const kiln_tune_task *t, const kiln_search_options *o,
                            kiln_search **out, kiln_err *err) {
    kiln_search *s = kiln_new(a, kiln_search);
    s->kind = kind;
    s->task = t;
    s->arena = a;
    set_options(s, o);
    kiln_rng_init(&s->rng, s->options.seed);
    s->candidates = s->options.candidates != NULL
                        ? s->options.candidates
                        : kiln_candidates_new(a, t, s->options.model);
    if (s->options.global != NULL &&
        !encodes_alike(s->options.global->kind, s->options.model))
        return kiln_fail(err, KILN_ERR_ARG,
                         "search: what is carried over is of cost model '%s', which "
                         "does not read what '%s' does",
                         s->options.global->kind->name, s->options.model->name);
    KILN_TRY(kiln_cost_model_init(&s->model, s->options.model,
                                  &s->options.model_options, err));
    kiln_arena_defer(a, release, s);
    s->n_first = s->options.n_first + (s->options.without_guess ? 0 : 1);
    s->first = kiln_array(a, uint64_t, s->options.n_first + 1);
    for (size_t i = 0; i < s->options.n_first; i++) {
        s->first[i] = s->options.first[i];
        if (s->first[i] >= t->space.size)
            return kiln_fail(err, KILN_ERR_ARG,
                             "search: a first configuration has index %" PRIu64
                             ", the space has %" PRIu64,
                             s->first[i], t->space.size);
    }
    if (!s->options.without_guess) { /* which a part of a space may not have */
        const kiln_config guess = t->tmpl->guess(t->work, t->profile, &t->space);
        s->first[s->options.n_first] = kiln_config_index(&t->space, &guess);
    }
    KILN_TRY(kind->init(s, err));
    *out = s;
    return KILN_OK;
}

static bool is_allowed(const kiln_search *s, uint64_t index) {
    const uint64_t *only = s->options.only;
    size_t low = 0, high = s->options.n_only;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if (only[mid] < index)
            low = mid + 1;
        else
            high = mid;
    }
    return only == NULL || (low < s->options.n_only && only[low] == index);
}

/* ---- proposing ------------------------------------------------------------------- */

bool kiln_search_is_free(kiln_search *s, uint64_t index) {
    KILN_ASSERT(index < s->task->space.size,
                "search '%s' asks for a configuration outside its space",
                s->kind->name);
    const uint32_t *seen = kiln_index_map_get(&s->seen, index);
    if (seen != NULL)
        return *seen == KILN_SEEN_LOST;
    if (is_allowed(s, index) && kiln_candidates_encoding(s->candidates, index) != NULL)
        return true;
    kiln_index_map_put(s->arena, &s->seen, index, KILN_SEEN_REFUSED);
    return false;
}

void kiln_search_propose(kiln_search *s, uint64_t index) {
    KILN_ASSERT(index < s->task->space.size,
                "search '%s' proposes a configuration outside its space",
                s->kind->name);
    kiln_index_map_put(s->arena, &s->seen, index, KILN_SEEN_PROPOSED);
}

/* Random points; where these are all taken, the next free one behind a random point.
 * Small spaces are walked whole; of a large one where 4096 draws found nothing, only a
 * part: a template that refuses almost everything must not stall a search. What would
 * spill is drawn again, but not for ever. */
bool kiln_search_draw(kiln_search *s, uint64_t *out) {
    enum { TRIES = 4096, UNLIKELY = 16 };
    static const uint64_t small_space = UINT64_C(1) << 20, part = UINT64_C(1) << 14;
    const uint64_t size = s->task->space.size;
    const uint64_t walk = size <= small_space ? size : part;
    int n_unlikely = 0;
    if (s->seen.n < size / 2)
        for (int i = 0; i < TRIES && n_unlikely < UNLIKELY; i++) {
            const kiln_config c = kiln_config_random(&s->task->space, &s->rng);
            const uint64_t index = kiln_config_index(&s->task->space, &c);
            if (!kiln_search_is_free(s, index))
                continue;
            *out = index;
            if (kiln_search_is_likely(s, index))
                return true;
            n_unlikely++;
        }
    if (n_unlikely == UNLIKELY) /* the last of them: the log learns from it */
        return true;
    const uint64_t begin = (uint64_t)kiln_rng_range(&s->rng, 0, (int64_t)size - 1);
    for (uint64_t i = 0; i < walk; i++) {
        const uint64_t index = (begin + i) % size;
        if (kiln_search_is_free(s, index)) {
            *out = index;
            return true;
        }
    }
    return false;
}

void kiln_search_fill(kiln_search *s, size_t want, uint64_t *out, size_t *n) {
    KILN_ASSERT(*n <= want, "%zu candidates are more than the %zu that were asked for",
                *n, want);
    while (*n < want && kiln_search_draw(s, &out[*n]))
        kiln_search_propose(s, out[(*n)++]);
}

kiln_status kiln_search_next(kiln_search *s, size_t n, uint64_t *out, size_t *n_out,
                             kiln_err *err) {
    size_t made = 0, more = 0;
    while (made < n && s->at_first < s->n_first) {
        const uint64_t index = s->first[s->at_first++];
        if (!kiln_search_is_free(s, index))
            continue;
        kiln_search_propose(s, index);
        out[made++] = index;
    }
    if (made < n)
        KILN_TRY(s->kind->next(s, n - made, out + made, &more, err));
    *n_out = made + more;
    return KILN_OK;
}

size_t kiln_search_batch(const kiln_search *s) {
    enum { LEAST = 4, MOST = 32 };
    const size_t quarter = s->trial.n / 4;
    return quarter < LEAST ? LEAST : quarter < MOST ? quarter : MOST;
}

/* ---- reports --------------------------------------------------------------------- */

static void add_encoding(kiln_search *s, uint64_t index) {
    const kiln_encoding *e = kiln_candidates_encoding(s->candidates, index);
    kiln_encoding_list_add(s->arena, &s->encoding,
                           e != NULL ? e->bytes : (kiln_str){"", 0});
}

/* What a build takes is measured even if it spills: of that nothing is learned. */
static void learn_spills(kiln_search *s, const kiln_trial *t) {
    kiln_registers r;
    for (size_t i = 0; i < s->n_first; i++)
        if (s->first[i] == t->index)
            return;
    if (kiln_search_foreseen(s, t->index, &r) && t->outcome != KILN_OUTCOME_NOBUILD)
        kiln_spill_log_add(s->options.spills, s->task, r,
                           t->outcome == KILN_OUTCOME_SPILLS);
}

kiln_status kiln_search_report(kiln_search *s, const kiln_trial *t, kiln_err *err) {
    const bool has_cost =
        t->outcome == KILN_OUTCOME_MEASURED || t->outcome == KILN_OUTCOME_SLOW;
    if (t->index >= s->task->space.size)
        return kiln_fail(err, KILN_ERR_ARG,
                         "search: index %" PRIu64 " of a space of %" PRIu64, t->index,
                         s->task->space.size);
    if (has_cost && (!isfinite(t->cost_ns) || t->cost_ns <= 0))
        return kiln_fail(err, KILN_ERR_ARG,
                         "search: a cost must be positive and finite, is %g ns",
                         t->cost_ns);
    if (t->outcome == KILN_OUTCOME_LOST) {
        if (kiln_index_map_get(&s->trial_of, t->index) == NULL)
            kiln_index_map_put(s->arena, &s->seen, t->index, KILN_SEEN_LOST);
        return KILN_OK;
    }
    const uint32_t *at = kiln_index_map_get(&s->trial_of, t->index);
    if (at != NULL) {
        s->trial.v[*at] = *t;
    } else {
        kiln_index_map_put(s->arena, &s->trial_of, t->index, (uint32_t)s->trial.n);
        kiln_vec_push(s->arena, &s->trial, *t);
        add_encoding(s, t->index);
    }
    kiln_index_map_put(s->arena, &s->seen, t->index, KILN_SEEN_REPORTED);
    learn_spills(s, t);
    s->is_stale = true;
    return KILN_OK;
}

bool kiln_search_best(const kiln_search *s, kiln_trial *out) {
    const kiln_trial *best = NULL;
    for (size_t i = 0; i < s->trial.n; i++)
        if (s->trial.v[i].outcome == KILN_OUTCOME_MEASURED &&
            (best == NULL || s->trial.v[i].cost_ns < best->cost_ns))
            best = &s->trial.v[i];
    if (best != NULL)
        *out = *best;
    return best != NULL;
}

size_t kiln_search_n_trials(const kiln_search *s) { return s->trial.n; }

size_t kiln_search_n_measured(const kiln_search *s) {
    size_t n = 0;
    for (size_t i = 0; i < s->trial.n; i++)
        n += s->trial.v[i].outcome == KILN_OUTCOME_MEASURED;
    return n;
}

kiln_candidates *kiln_search_candidates(kiln_search *s) { return s->candidates; }

kiln_status kiln_search_predicted(kiln_search *s, size_t n, uint64_t *out,
                                  size_t *n_out, kiln_err *err) {
    if (s->kind->predicted == NULL)
        return kiln_fail(err, KILN_ERR_ARG,
                         "search '%s' has no model: it predicts nothing",
                         s->kind->name);
    return s->kind->predicted(s, n, out, n_out, err);
}
