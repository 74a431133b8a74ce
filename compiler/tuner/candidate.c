/* Tasks, and their configurations as cost models read them. */
#include "compiler/tuner/tuner.h"

kiln_status kiln_tune_task_make(kiln_arena *a, const kiln_workload *w,
                                const kiln_profile *p, const kiln_template *tmpl,
                                kiln_tune_task *out, kiln_err *err) {
    kiln_tune_task t = {
        .work = w, .profile = p, .tmpl = tmpl != NULL ? tmpl : kiln_template_for(w, p)};
    if (t.tmpl == NULL)
        return kiln_fail(err, KILN_ERR_UNSUPPORTED, "no template takes operator '%s'",
                         w->anchor->op->name);
    if (!t.tmpl->fits(w, p))
        return kiln_fail(err, KILN_ERR_ARG, "template '%s' does not take operator '%s'",
                         t.tmpl->name, w->anchor->op->name);
    kiln_space_init(&t.space, a);
    KILN_TRY(t.tmpl->space(w, p, &t.space, err));
    KILN_ASSERT(t.space.size > 0, "template '%s' has an empty space", t.tmpl->name);
    *out = t;
    return KILN_OK;
}

/* The latest encodings by index, one place each. */
enum { CACHE_BITS = 12, CACHE_SIZE = 1 << CACHE_BITS };

typedef enum entry_state { EMPTY, TAKEN, REFUSED } entry_state;

/* A place keeps its memory for the next candidate, so that of encodings of one size it
 * takes some only once. */
typedef struct entry {
    uint64_t index;
    entry_state state;
    kiln_buf bytes;
    kiln_encoding encoding;
} entry;

struct kiln_candidates {
    const kiln_tune_task *task;
    const kiln_cost_model_kind *kind;
    kiln_arena scratch; /* one candidate */
    entry cache[CACHE_SIZE];
    kiln_candidates_stats stats;
};

static void release(void *p) {
    kiln_candidates *c = p;
    kiln_arena_fini(&c->scratch);
}

kiln_candidates *kiln_candidates_new(kiln_arena *a, const kiln_tune_task *t,
                                     const kiln_cost_model_kind *kind) {
    KILN_ASSERT(kind->encode != NULL && t->tmpl != NULL,
                "cost model '%s' encodes nothing", kind->name);
    kiln_candidates *c = kiln_new(a, kiln_candidates);
    c->task = t;
    c->kind = kind;
    for (size_t i = 0; i < CACHE_SIZE; i++)
        kiln_buf_init(&c->cache[i].bytes, a);
    kiln_arena_defer(a, release, c);
    return c;
}

static size_t place_of(uint64_t index) {
    return (size_t)(index * UINT64_C(0x9E3779B97F4A7C15) >> (64 - CACHE_BITS));
}

/* Only lowered: loop passes refuse little, and cost six times as much. */
static bool encode(kiln_candidates *c, uint64_t index, kiln_buf *out) {
    const kiln_tune_task *t = c->task;
    const kiln_config config = kiln_config_at(&t->space, index);
    kiln_scheduled s;
    kiln_program *p;
    kiln_arena_reset(&c->scratch);
    out->n = 0;
    if (kiln_template_apply(&c->scratch, t->tmpl, t->work, t->profile, &t->space,
                            &config, &s, NULL) != KILN_OK ||
        kiln_lower(&c->scratch, s.schedule, s.te.arg, s.te.n_args, s.te.n_inputs, "k",
                   &p, NULL) != KILN_OK)
        return false;
    const kiln_candidate x = {.task = t, .config = &config, .program = p};
    c->kind->encode(&c->scratch, &x, out);
    KILN_ASSERT(out->n > 0, "cost model '%s' encodes a candidate as nothing",
                c->kind->name);
    return true;
}

const kiln_encoding *kiln_candidates_encoding(kiln_candidates *c, uint64_t index) {
    KILN_ASSERT(index < c->task->space.size, "candidate %llu of %llu",
                (unsigned long long)index, (unsigned long long)c->task->space.size);
    entry *e = &c->cache[place_of(index)];
    c->stats.asked++;
    if (e->state == EMPTY || e->index != index) {
        c->stats.lowered++;
        e->index = index;
        e->state = encode(c, index, &e->bytes) ? TAKEN : REFUSED;
        c->stats.refused += e->state == REFUSED;
        if (e->state == TAKEN)
            e->encoding = (kiln_encoding){
                .bytes = kiln_buf_str(&e->bytes),
                .hash = kiln_hash64(e->bytes.p, e->bytes.n, 0),
            };
    }
    return e->state == TAKEN ? &e->encoding : NULL;
}

kiln_candidates_stats kiln_candidates_count(const kiln_candidates *c) {
    return c->stats;
}
