/* Tasks, and their configurations as cost models read them. */
#include "compiler/tuner/tuner_search_internal.h"

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

/* So many are kept; then all are forgotten, and their memory is used again. */
enum { MOST_KEPT = 1 << 14, CHUNK = 256 };

typedef enum entry_state { TAKEN, REFUSED } entry_state;

/* A place keeps its memory for the next candidate, so that of encodings of one size it
 * takes some only once. */
typedef struct entry {
    entry_state state;
    kiln_buf bytes;
    kiln_encoding encoding;
} entry;

struct kiln_candidates {
    const kiln_tune_task *task;
    const kiln_cost_model_kind *kind;
    kiln_arena *arena;
    kiln_arena scratch; /* one candidate */
    kiln_launch_limits limits;
    kiln_index_map place_of;
    entry *chunk[MOST_KEPT / CHUNK];
    size_t n; /* that are kept */
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
    c->arena = a;
    c->limits = kiln_launch_limits_of(a, t->profile);
    kiln_arena_defer(a, release, c);
    return c;
}

static entry *entry_at(kiln_candidates *c, size_t place) {
    entry **chunk = &c->chunk[place / CHUNK];
    if (*chunk == NULL) {
        *chunk = kiln_array(c->arena, entry, CHUNK);
        for (int i = 0; i < CHUNK; i++)
            kiln_buf_init(&(*chunk)[i].bytes, c->arena);
    }
    return &(*chunk)[place % CHUNK];
}

/* Blocks with more threads or shared memory than the profile has: nobody compiles them. */
static bool is_within_limits(kiln_candidates *c, const kiln_program *p) {
    return !kiln_profile_is_gpu(c->task->profile) ||
           kiln_program_check_limits(p, &c->limits, NULL) == KILN_OK;
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
                   &p, NULL) != KILN_OK ||
        !is_within_limits(c, p))
        return false;
    const kiln_candidate x = {.task = t, .config = &config, .program = p};
    c->kind->encode(&c->scratch, &x, out);
    KILN_ASSERT(out->n > 0, "cost model '%s' encodes a candidate as nothing",
                c->kind->name);
    return true;
}

static entry *make_entry(kiln_candidates *c, uint64_t index) {
    if (c->n == MOST_KEPT) {
        kiln_index_map_clear(&c->place_of);
        c->n = 0;
    }
    entry *e = entry_at(c, c->n);
    kiln_index_map_put(c->arena, &c->place_of, index, (uint32_t)c->n++);
    c->stats.lowered++;
    e->state = encode(c, index, &e->bytes) ? TAKEN : REFUSED;
    c->stats.refused += e->state == REFUSED;
    if (e->state == TAKEN)
        e->encoding = (kiln_encoding){
            .bytes = kiln_buf_str(&e->bytes),
            .hash = kiln_hash64(e->bytes.p, e->bytes.n, 0),
        };
    return e;
}

const kiln_encoding *kiln_candidates_encoding(kiln_candidates *c, uint64_t index) {
    KILN_ASSERT(index < c->task->space.size, "candidate %llu of %llu",
                (unsigned long long)index, (unsigned long long)c->task->space.size);
    const uint32_t *known = kiln_index_map_get(&c->place_of, index);
    const entry *e = known != NULL ? entry_at(c, *known) : make_entry(c, index);
    c->stats.asked++;
    return e->state == TAKEN ? &e->encoding : NULL;
}

kiln_candidates_stats kiln_candidates_count(const kiln_candidates *c) {
    return c->stats;
}
