/* Records as configurations: what a build asks for each kernel. */
#include <stdlib.h>
#include <string.h>

#include "pipeline/tune/tune_internal.h"

/* Records whose configuration the template still takes, in the layouts of its own
 * rule. */
static bool is_usable(kiln_arena *scratch, const kiln_tune_task *t,
                      const char *activations, const kiln_db_trial *r) {
    kiln_config c;
    if (strcmp(r->candidate.tmpl, t->tmpl->name) != 0 ||
        !kiln_tune_config_read(scratch, t->tmpl, &t->space, r->candidate.config, &c))
        return false;
    const char *got = kiln_tune_activations(scratch, t, &t->space, &c);
    return got != NULL && strcmp(got, activations) == 0;
}

static bool is_listed(const kiln_db_trial *const *list, int n, const kiln_db_trial *r) {
    for (int i = 0; i < n; i++)
        if (strcmp(list[i]->candidate.config, r->candidate.config) == 0)
            return true;
    return false;
}

bool kiln_tune_is_suspect(kiln_arena *scratch, const kiln_db_record_best *b) {
    return b->n_rounds < 2 && kiln_tune_facts_read(scratch, b->trial.facts).is_noisy;
}

/* The record of this rank among those usable, nearest first; the last there is where
 * there are fewer. */
static const kiln_db_record_best *pick(kiln_arena *scratch, const kiln_tune_task *t,
                                       const kiln_db_bests *bests, int rank,
                                       double flops, bool takes_suspects) {
    const kiln_config guess = t->tmpl->guess(t->work, t->profile, &t->space);
    const char *want = kiln_tune_activations(scratch, t, &t->space, &guess);
    const kiln_db_trial *seen[KILN_TUNE_MAX_RANK + 1];
    const kiln_db_record_best *found = NULL;
    int n = 0;
    for (size_t i = 0; want != NULL && i < bests->list.n && n <= rank; i++) {
        const kiln_db_record_best *b = &bests->list.v[i];
        if (n > KILN_TUNE_MAX_RANK || is_listed(seen, n, &b->trial) ||
            (!takes_suspects && kiln_tune_is_suspect(scratch, b)) ||
            kiln_db_is_implausible(&b->trial, flops) ||
            !is_usable(scratch, t, want, &b->trial))
            continue;
        seen[n++] = &b->trial;
        found = b;
    }
    return found;
}

/* How many configurations were measured for the very work. */
static int count_exact(const kiln_db_bests *bests) {
    int n = 0;
    for (size_t i = 0; i < bests->list.n; i++)
        n += bests->list.v[i].match == KILN_DB_EXACT;
    return n;
}

/* The user's own; *out NULL: none. */
static kiln_status own_record(const kiln_tune_advice *c, kiln_arena *scratch,
                              const kiln_tune_task *t, const kiln_op_work *w,
                              const kiln_profile *p, const kiln_db_record_best **out,
                              int *n_tried, kiln_err *err) {
    static const char *const cache[] = {KILN_TUNE_CACHE_NETWORK, KILN_TUNE_CACHE};
    enum { N_EACH = 64 }; /* some are passed over */
    const double flops = kiln_tune_direct_flops(w);
    *out = NULL;
    *n_tried = 0;
    for (int i = c->rank == 0 ? 0 : 1; i < 2 && c->db != NULL; i++) {
        kiln_db_bests bests;
        const kiln_db_task task =
            kiln_tune_task_of(scratch, w, p, c->threads, cache[i]);
        /* In the network: that very work, or another's epilogue may hide a slower one.
         */
        KILN_TRY(kiln_db_best(c->db, scratch, &task,
                              i == 0 ? KILN_DB_EXACT : KILN_DB_CLASS, N_EACH, &bests,
                              err));
        const int rank = c->rank > 0 ? c->rank : 0, n = count_exact(&bests);
        *n_tried = n > *n_tried ? n : *n_tried;
        if (*out != NULL) /* what was tried before it, alone */
            break;
        *out = pick(scratch, t, &bests, rank, flops, false);
        if (*out == NULL) /* better one of them than none */
            *out = pick(scratch, t, &bests, rank, flops, true);
    }
    return KILN_OK;
}

/* One that ships: for as many threads, and better than what the rule says today. */
static kiln_status ready_record(const kiln_tune_advice *c, kiln_arena *scratch,
                                const kiln_tune_task *t, const kiln_op_work *w,
                                const kiln_profile *p, const kiln_db_record_best **out,
                                kiln_err *err) {
    kiln_db_bests bests, fair = {.list = {.n = 0}};
    const kiln_db_task task =
        kiln_tune_task_of(scratch, w, p, c->threads, KILN_TUNE_CACHE);
    *out = NULL;
    if (c->ready == NULL || c->rank != 0)
        return KILN_OK;
    KILN_TRY(kiln_db_best(c->ready, scratch, &task, KILN_DB_CLASS, 1, &bests, err));
    for (size_t i = 0; i < bests.list.n; i++)
        if (bests.list.v[i].threads == task.threads &&
            (c->is_hint || kiln_tune_rule_holds(scratch, w, &bests.list.v[i])))
            kiln_vec_push(scratch, &fair.list, bests.list.v[i]);
    *out = pick(scratch, t, &fair, 0, 0, true);
    return KILN_OK;
}

static kiln_status search(kiln_tune_advice *c, kiln_arena *scratch,
                          const kiln_op_work *w, const kiln_profile *p,
                          kiln_advice *out, kiln_err *err) {
    kiln_tune_task t;
    const kiln_db_record_best *own = NULL, *ready = NULL;
    KILN_TRY(kiln_tune_task_make(scratch, &w->workload, p, NULL, &t, err));
    int n_tried = 0;
    KILN_TRY(own_record(c, scratch, &t, w, p, &own, &n_tried, err));
    KILN_TRY(ready_record(c, scratch, &t, w, p, &ready, err));
    const kiln_db_record_best *b =
        own != NULL && (ready == NULL || own->match <= ready->match) ? own : ready;
    if (b == NULL)
        return KILN_OK;
    c->n_ready += b == ready;
    out->tmpl = t.tmpl->name;
    /* A ready record has beaten the rule: that is a search. */
    out->origin = b->match != KILN_DB_EXACT  ? KILN_ORIGIN_TRANSFERRED
                  : b == own && n_tried == 1 ? KILN_ORIGIN_TIMED
                                             : KILN_ORIGIN_TUNED;
    out->n_tried = b == own && b->match == KILN_DB_EXACT ? n_tried : 0;
    return kiln_json_parse(
        c->arena, kiln_str_from(kiln_str_dup(c->arena, b->trial.candidate.config)),
        "tuning database", &out->config, err);
}

static kiln_status ask(void *user, kiln_arena *scratch, const kiln_op_work *w,
                       const kiln_profile *p, kiln_advice *out, kiln_err *err) {
    kiln_tune_advice *c = user;
    *out = (kiln_advice){.tmpl = NULL};
    if (!kiln_tune_takes(w))
        return KILN_OK;
    /* One build may be for several profiles. */
    kiln_buf key;
    kiln_buf_init(&key, scratch);
    kiln_profile_json(&key, p);
    kiln_buf_add(&key, w->key.p, w->key.n);
    const kiln_advice *known = kiln_map_get(&c->known, kiln_buf_str(&key));
    if (known == NULL) {
        kiln_advice *made = kiln_new(c->arena, kiln_advice);
        KILN_TRY(search(c, scratch, w, p, made, err));
        kiln_map_set(c->arena, &c->known,
                     kiln_str_from(kiln_str_dupv(c->arena, kiln_buf_str(&key))), made);
        known = made;
    }
    *out = *known; /* also kept for the next kernel that does the same */
    return KILN_OK;
}

kiln_adviser kiln_tune_adviser(kiln_tune_advice *advice) {
    return (kiln_adviser){ask, advice};
}

/* ---- what was answered -------------------------------------------------------------
 */

static int by_key(const void *x, const void *y) {
    const kiln_map_entry *const *a = x, *const *b = y;
    return kiln_str_cmp((*a)->key, (*b)->key);
}

static void add_text(kiln_sha256 *h, kiln_str s) {
    kiln_sha256_add(h, s.p, s.n);
    kiln_sha256_add(h, "", 1);
}

static void add_answer(kiln_arena *scratch, const kiln_map_entry *e, kiln_sha256 *h) {
    const kiln_advice *a = e->value;
    kiln_json_writer w;
    kiln_buf config;
    kiln_buf_init(&config, scratch);
    kiln_json_writer_init(&w, &config);
    kiln_json_put(&w, a->config);
    add_text(h, e->key);
    add_text(h, kiln_str_from(a->tmpl));
    add_text(h, kiln_str_from(kiln_origin_name(a->origin)));
    add_text(h, kiln_buf_str(&config));
}

void kiln_tune_answers_of(kiln_arena *scratch, const kiln_tune_advice *advice,
                          const kiln_profile *p, kiln_tune_answers *out) {
    const size_t n_known = advice != NULL ? advice->known.entries.n : 0;
    const kiln_map_entry **entry = kiln_array(scratch, const kiln_map_entry *, n_known);
    size_t n = 0;
    kiln_sha256 h;
    kiln_buf profile;
    kiln_buf_init(&profile, scratch);
    kiln_profile_json(&profile, p);
    for (size_t i = 0; i < n_known; i++) {
        const kiln_map_entry *e = &advice->known.entries.v[i];
        const kiln_advice *a = e->value;
        if (a->tmpl != NULL && kiln_str_starts(e->key, profile.p))
            entry[n++] = e;
    }
    if (n > 0)
        qsort(entry, n, sizeof *entry, by_key);
    kiln_sha256_init(&h);
    for (size_t i = 0; i < n; i++)
        add_answer(scratch, entry[i], &h);
    kiln_sha256_hex(&h, out->sha256);
    out->n = (int)n;
}
