/* What all searches know: which configurations are taken, what became of them, and the
 * model that learns from it. Inside compiler/tuner. */
#ifndef KILN_COMPILER_TUNER_TUNER_SEARCH_INTERNAL_H
#define KILN_COMPILER_TUNER_TUNER_SEARCH_INTERNAL_H

#include "compiler/tuner/tuner.h"

/* Numbers to numbers; open addressing, in an arena. A zeroed struct is empty. */
typedef struct kiln_index_map {
    uint64_t *key;
    uint32_t *value;
    uint8_t *used;
    size_t n, cap; /* cap: a power of two */
} kiln_index_map;
/* NULL when absent; borrowed until the next call of put. */
uint32_t *kiln_index_map_get(const kiln_index_map *m, uint64_t key);
void kiln_index_map_put(kiln_arena *a, kiln_index_map *m, uint64_t key, uint32_t value);
void kiln_index_map_clear(kiln_index_map *m); /* keeps the memory */

/* Why a configuration is not proposed (again). */
enum { KILN_SEEN_PROPOSED = 1, KILN_SEEN_REPORTED, KILN_SEEN_REFUSED, KILN_SEEN_LOST };

struct kiln_search {
    const kiln_search_kind *kind;
    const kiln_tune_task *task;
    kiln_arena *arena;
    kiln_search_options options; /* with defaults filled in */
    kiln_rng rng;
    kiln_candidates *candidates;
    kiln_index_map seen;     /* index to KILN_SEEN_* */
    kiln_index_map trial_of; /* index to its place in `trial` */
    KILN_VEC(kiln_trial) trial;
    kiln_encoding_list encoding; /* of trial i; of those that are refused: no bytes */
    uint64_t *first;             /* warm start, then the guess */
    size_t n_first, at_first;
    kiln_cost_model model;
    kiln_index_map wanted; /* index to what is foreseen of its registers (spills.c) */
    kiln_search_stats stats;
    bool is_stale;   /* trials came after the last fit; */
    size_t n_fitted; /* how many there were then */
    float incumbent; /* the best trial's score; only for KILN_ACQUIRE_IMPROVEMENT */
    void *state;     /* the kind's own */
};

/* The template takes it, and it was neither proposed nor reported. A configuration that
 * is refused is remembered as such. */
bool kiln_search_is_free(kiln_search *s, uint64_t index);
/* Its code should not spill. Asked of what is about to be proposed, not of all that a
 * chain comes to: it runs every loop pass. */
bool kiln_search_is_likely(kiln_search *s, uint64_t index);
/* Another free configuration, evenly drawn, that is likely where there is one; false:
 * none was found. */
bool kiln_search_draw(kiln_search *s, uint64_t *out);
/* Draws until *n is `want`, marking each as proposed; fewer where there are no more. */
void kiln_search_fill(kiln_search *s, size_t want, uint64_t *out, size_t *n);
void kiln_search_propose(kiln_search *s, uint64_t index);
/* Trials that ran to the end. */
size_t kiln_search_n_measured(const kiln_search *s);
/* Enough trials came since the last fit. */
bool kiln_search_is_stale(const kiln_search *s);
/* Fits the model to trials, on the global model's margins, if it is stale: to all of some
 * hundreds, of more to the best and some others. */
kiln_status kiln_search_learn(kiln_search *s, kiln_err *err);
enum { KILN_SCORE_ROWS = 256 };
/* The logarithm of E[max(0, x)] of a normal x of that mean and standard deviation:
 * unlike the expectation, in an order where that is too small to be a number (Ament et
 * al., NeurIPS'23). */
double kiln_log_improvement(double above, double spread);
/* What the search maximizes, of candidates: local and global. */
kiln_status kiln_search_score(kiln_search *s, const kiln_encodings *e, float *out,
                              kiln_err *err);

/* ---- diversity (Chen's thesis, equation 5.3) ------------------------------------- */

typedef struct kiln_scored {
    uint64_t index;
    float score;
} kiln_scored;

/* Picks n of the pool, best gain first: quality (scores scaled to [0, 1]) plus weight
 * for each knob whose option no earlier pick has. Greedy: within 1 - 1/e of the best
 * for a submodular objective. */
size_t kiln_pick_diverse(kiln_arena *scratch, const kiln_space *space,
                         const kiln_scored *pool, size_t n_pool, double weight,
                         size_t n, uint64_t *out);

#endif
