/* Spills: what is foreseen from loop programs, and how often that came true.
 *
 * Chances are means of Beta distributions (Gelman et al., Bayesian Data Analysis, 3rd
 * ed., 2.4): counts of a template by the share of the machine's registers that is
 * wanted, on top of what was counted ahead (tests/bench/bench_spills.c; AVX2 and
 * AVX-512, 1,664 configurations of C1 to C12 and of depthwise convolutions). */
#include "compiler/tuner/tuner_search_internal.h"

enum { N_SHARES = 8 };
/* The first share that is not below: the last has no limit. What fits exactly fits. */
static const double below[N_SHARES - 1] = {0.375, 0.5,   0.625, 0.75,
                                           0.875, 1.001, 1.126};
/* Part that spilled, with no branch in the body, and with some. */
static const double ahead[2][N_SHARES] = {
    {0.01, 0.02, 0.04, 0.08, 0.15, 0.30, 0.88, 0.99},
    {0.11, 0.35, 0.35, 0.40, 0.65, 0.72, 0.80, 0.99}};
static const double weight_ahead = 8; /* as so many trials */

typedef struct counts {
    const kiln_template *tmpl;
    double n[2][N_SHARES], spilled[2][N_SHARES];
} counts;

struct kiln_spill_log {
    kiln_arena *arena;
    KILN_VEC(counts) of;
};

bool kiln_tune_registers(kiln_arena *scratch, const kiln_tune_task *t, uint64_t index,
                         kiln_registers *out) {
    const kiln_config config = kiln_config_at(&t->space, index);
    kiln_scheduled s;
    kiln_program *p;
    if (kiln_template_apply(scratch, t->tmpl, t->work, t->profile, &t->space, &config,
                            &s, NULL) != KILN_OK ||
        kiln_scheduled_program(scratch, &s, "k", &p, NULL) != KILN_OK)
        return false;
    *out = kiln_registers_of(scratch, t->profile, p);
    return true;
}

kiln_spill_log *kiln_spill_log_new(kiln_arena *a) {
    kiln_spill_log *l = kiln_new(a, kiln_spill_log);
    l->arena = a;
    return l;
}

static int share_of(const kiln_tune_task *t, kiln_registers wanted) {
    const int all = t->profile->vector_registers;
    const double share = all > 0 ? (double)wanted.vectors / all : 0;
    int i = 0;
    while (i < N_SHARES - 1 && share >= below[i])
        i++;
    return i;
}

static counts *counts_of(const kiln_spill_log *l, const kiln_template *tmpl) {
    for (size_t i = 0; i < l->of.n; i++)
        if (l->of.v[i].tmpl == tmpl)
            return &l->of.v[i];
    return NULL;
}

void kiln_spill_log_add(kiln_spill_log *l, const kiln_tune_task *t,
                        kiln_registers wanted, bool spilled) {
    const int branch = wanted.guards > 0, share = share_of(t, wanted);
    counts *c = counts_of(l, t->tmpl);
    if (c == NULL) {
        kiln_vec_push(l->arena, &l->of, ((counts){.tmpl = t->tmpl}));
        c = &l->of.v[l->of.n - 1];
    }
    c->n[branch][share]++;
    c->spilled[branch][share] += spilled ? 1 : 0;
}

double kiln_spill_log_chance(const kiln_spill_log *l, const kiln_tune_task *t,
                             kiln_registers wanted) {
    const int branch = wanted.guards > 0, share = share_of(t, wanted);
    const counts *c = counts_of(l, t->tmpl);
    const double n = c != NULL ? c->n[branch][share] : 0,
                 spilled = c != NULL ? c->spilled[branch][share] : 0;
    return (weight_ahead * ahead[branch][share] + spilled) / (weight_ahead + n);
}

/* ---- of a search ----------------------------------------------------------------- */

/* Both numbers in one, as far as 15 bits go, and whether it was ever left out. */
enum { LEFT_OUT = 1 << 15, GUARDS_AT = 16, MOST_KEPT = (1 << 15) - 1 };
static const uint32_t is_refused = UINT32_MAX - LEFT_OUT;

static uint32_t packed(kiln_registers r) {
    const int v = r.vectors < MOST_KEPT ? r.vectors : MOST_KEPT;
    const int g = r.guards < MOST_KEPT ? r.guards : MOST_KEPT;
    return (uint32_t)v | (uint32_t)g << GUARDS_AT;
}

bool kiln_search_foreseen(const kiln_search *s, uint64_t index, kiln_registers *out) {
    const uint32_t *known = kiln_index_map_get(&s->wanted, index);
    if (known == NULL || (*known & ~(uint32_t)LEFT_OUT) == is_refused)
        return false;
    *out = (kiln_registers){.vectors = (int)(*known & (uint32_t)MOST_KEPT),
                            .guards = (int)(*known >> GUARDS_AT)};
    return true;
}

static void foresee(kiln_search *s, uint64_t index) {
    kiln_arena scratch = {0};
    kiln_registers r;
    if (kiln_index_map_get(&s->wanted, index) != NULL)
        return;
    const bool is_taken = kiln_tune_registers(&scratch, s->task, index, &r);
    kiln_arena_fini(&scratch);
    s->stats.n_foreseen++;
    kiln_index_map_put(s->arena, &s->wanted, index, is_taken ? packed(r) : is_refused);
}

/* Searches come to the same configuration again and again: it counts once. */
static void leave_out(kiln_search *s, uint64_t index) {
    uint32_t *known = kiln_index_map_get(&s->wanted, index);
    s->stats.n_avoided += (*known & LEFT_OUT) == 0;
    *known |= LEFT_OUT;
}

bool kiln_search_is_likely(kiln_search *s, uint64_t index) {
    kiln_registers r;
    if (s->options.most_spills <= 0)
        return true;
    foresee(s, index);
    if (kiln_search_foreseen(s, index, &r) &&
        kiln_spill_log_chance(s->options.spills, s->task, r) <= s->options.most_spills)
        return true;
    leave_out(s, index);
    return false;
}

kiln_search_stats kiln_search_count(const kiln_search *s) { return s->stats; }
