/* Records as configurations: what a build asks for each kernel. */
#include <stdlib.h>
#include <string.h>

#include "pipeline/tune/transfer_internal.h"

/* The templates that take a work, as records name them; each is asked once. */
typedef struct fitting {
    kiln_tune_task task;
    bool fits;
    const char *rule; /* layouts of its own rule; NULL: it refuses that */
} fitting;

/* One question. */
typedef struct asking {
    kiln_arena *scratch;
    const kiln_op_work *work;
    const kiln_profile *profile;
    kiln_map tmpl; /* name -> fitting */
} asking;

static const fitting *fitting_of(asking *q, const char *name) {
    fitting *f = kiln_map_get(&q->tmpl, kiln_str_from(name));
    const kiln_template *t = kiln_template_find(kiln_str_from(name));
    if (f != NULL)
        return f;
    f = kiln_new(q->scratch, fitting);
    f->fits = t != NULL && kiln_template_fits(t, &q->work->workload, q->profile) &&
              kiln_tune_task_make(q->scratch, &q->work->workload, q->profile, t,
                                  &f->task, NULL) == KILN_OK;
    if (f->fits) {
        const kiln_config rule =
            t->guess(&q->work->workload, q->profile, &f->task.space);
        f->rule = kiln_tune_activations(q->scratch, &f->task, &f->task.space, &rule);
    }
    kiln_map_set(q->scratch, &q->tmpl, kiln_str_from(kiln_str_dup(q->scratch, name)),
                 f);
    return f;
}

/* Layouts of the record's configuration here; NULL: its template does not take the
 * work, or no longer knows such a configuration. */
static const char *layouts_of(asking *q, const kiln_db_trial *r) {
    const fitting *f = fitting_of(q, r->candidate.tmpl);
    kiln_config c;
    if (!f->fits || !kiln_tune_config_read(q->scratch, f->task.tmpl, &f->task.space,
                                           r->candidate.config, &c))
        return NULL;
    return kiln_tune_activations(q->scratch, &f->task, &f->task.space, &c);
}

/* In the layouts of its template's own rule? */
static bool is_usable(asking *q, const kiln_db_trial *r) {
    const char *rule = fitting_of(q, r->candidate.tmpl)->rule;
    const char *got = rule != NULL ? layouts_of(q, r) : NULL;
    return got != NULL && strcmp(got, rule) == 0;
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

static bool is_believed(const kiln_db_record_best *b, double flops, kiln_arena *scratch,
                        bool takes_suspects) {
    return (takes_suspects || !kiln_tune_is_suspect(scratch, b)) &&
           !kiln_db_is_implausible(&b->trial, flops);
}

/* The record of this rank among those usable, nearest first and then cheapest, whatever
 * their templates; the last there is where there are fewer. */
static const kiln_db_record_best *pick(asking *q, const kiln_db_bests *bests, int rank,
                                       double flops, bool takes_suspects) {
    const kiln_db_trial *seen[KILN_TUNE_MAX_RANK + 1];
    const kiln_db_record_best *found = NULL;
    int n = 0;
    for (size_t i = 0; i < bests->list.n && n <= rank; i++) {
        const kiln_db_record_best *b = &bests->list.v[i];
        if (n > KILN_TUNE_MAX_RANK || is_listed(seen, n, &b->trial) ||
            !is_believed(b, flops, q->scratch, takes_suspects) ||
            !is_usable(q, &b->trial))
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

/* ---- one way each ------------------------------------------------------------------
 */

/* A template in one pair of layouts, and the nearest record of it. */
typedef struct way {
    const char *tmpl, *layouts;
    const kiln_db_record_best *own, *ready;
    const kiln_db_record_best *alone; /* where own was measured inside the network */
    bool is_network;                  /* own was */
    bool is_suspect;
} way;

typedef struct ways {
    KILN_VEC(way) list;
    kiln_map seen; /* work, template and layouts of records that were looked at */
} ways;

static way *way_of(asking *q, ways *w, const char *tmpl, const char *layouts) {
    for (size_t i = 0; i < w->list.n; i++)
        if (strcmp(w->list.v[i].tmpl, tmpl) == 0 &&
            strcmp(w->list.v[i].layouts, layouts) == 0)
            return &w->list.v[i];
    const way made = {.tmpl = tmpl, .layouts = layouts};
    kiln_vec_push(q->scratch, &w->list, made);
    return &w->list.v[w->list.n - 1];
}

/* Which of a list's records are the first, so the nearest and cheapest, of their ways.
 * Others of one work, template and layouts are in the same way as the first. */
static void sort_in(asking *q, ways *w, const kiln_db_bests *bests, double flops,
                    bool is_network, bool is_ready, bool takes_suspects) {
    w->seen = (kiln_map){0};
    for (size_t i = 0; i < bests->list.n; i++) {
        const kiln_db_record_best *b = &bests->list.v[i];
        const kiln_str key =
            kiln_str_from(kiln_format(q->scratch, "%s|%s|%s", b->workload,
                                      b->trial.candidate.tmpl, b->trial.layouts));
        if (kiln_map_get(&w->seen, key) != NULL ||
            !is_believed(b, flops, q->scratch, takes_suspects))
            continue;
        const char *layouts = layouts_of(q, &b->trial);
        if (layouts == NULL)
            continue;
        kiln_map_set(q->scratch, &w->seen, key, w);
        way *x = way_of(q, w, b->trial.candidate.tmpl, layouts);
        if (is_ready && x->ready == NULL)
            x->ready = b;
        if (!is_ready && !is_network && x->is_network && x->alone == NULL &&
            !takes_suspects)
            x->alone = b;
        if (is_ready || x->own != NULL)
            continue;
        x->own = b;
        x->is_network = is_network;
        x->is_suspect = takes_suspects;
    }
}

/* ---- records of two databases -------------------------------------------------------
 */

enum { N_EACH = 64 }; /* some are passed over */

static kiln_status bests_of(const kiln_tune_advice *c, asking *q, const char *cache,
                            kiln_db_bests *out, kiln_err *err) {
    const bool is_network = strcmp(cache, KILN_TUNE_CACHE_NETWORK) == 0;
    const kiln_db_task task =
        kiln_tune_task_of(q->scratch, q->work, q->profile, c->threads, cache);
    *out = (kiln_db_bests){0};
    if (c->db == NULL)
        return KILN_OK;
    /* In the network: that very work, or another's epilogue may hide a slower one. */
    return kiln_db_best(c->db, q->scratch, &task,
                        is_network ? KILN_DB_EXACT : KILN_DB_CLASS, N_EACH, out, err);
}

/* Those that ship. */
static kiln_status readies_of(const kiln_tune_advice *c, asking *q, kiln_db_bests *out,
                              kiln_err *err) {
    kiln_db_bests bests;
    const kiln_db_task task =
        kiln_tune_task_of(q->scratch, q->work, q->profile, c->threads, KILN_TUNE_CACHE);
    *out = (kiln_db_bests){0};
    if (c->ready == NULL)
        return KILN_OK;
    KILN_TRY(kiln_db_best(c->ready, q->scratch, &task, KILN_DB_CLASS, 1, &bests, err));
    kiln_tune_ready_here(q->scratch, q->work, q->profile, task.threads, c->is_hint,
                         &bests, out);
    return KILN_OK;
}

/* ---- answers -----------------------------------------------------------------------
 */

enum { NETWORK, ALONE, READY, N_SOURCES };

/* Orders ways by what their costs may be compared with: equal matches, then what was
 * measured in the network, alone, elsewhere; what noise may have favoured comes last.
 */
static int distance_of(const asking *q, const way *w, const kiln_db_record_best *b) {
    const bool is_other = !kiln_str_is(q->work->key, b->workload);
    const int source = b == w->ready                    ? READY
                       : w->is_network && b != w->alone ? NETWORK
                                                        : ALONE;
    return (((int)b->match * 2 + is_other) * N_SOURCES + source) * 2 +
           (b == w->own && w->is_suspect);
}

static kiln_status fill_answer(const kiln_tune_advice *c, const kiln_db_record_best *b,
                               bool is_own, int n_tried, kiln_answer *x,
                               kiln_err *err) {
    x->tmpl = kiln_str_dup(c->arena, b->trial.candidate.tmpl);
    x->ns = b->trial.median_ns;
    /* A ready record has beaten the rule: that is a search. */
    x->origin = b->match != KILN_DB_EXACT ? KILN_ORIGIN_TRANSFERRED
                : is_own && n_tried == 1  ? KILN_ORIGIN_TIMED
                                          : KILN_ORIGIN_TUNED;
    x->n_tried = is_own && b->match == KILN_DB_EXACT ? n_tried : 0;
    return kiln_json_parse(
        c->arena, kiln_str_from(kiln_str_dup(c->arena, b->trial.candidate.config)),
        "tuning database", &x->config, err);
}

static int by_distance(const void *x, const void *y) {
    const kiln_answer *a = x, *b = y;
    if (a->distance != b->distance)
        return a->distance < b->distance ? -1 : 1;
    if (a->ns < b->ns || a->ns > b->ns)
        return a->ns < b->ns ? -1 : 1;
    const int order = strcmp(a->tmpl, b->tmpl);
    return order != 0 ? order : strcmp(a->layouts, b->layouts);
}

/* Which of them a build takes (kiln_choose): the first in its rule's layouts. */
static void find_taken(kiln_tune_advice *c, asking *q, kiln_tune_answer *a) {
    const bool is_chosen =
        kiln_tune_takes(q->work) || kiln_tune_lays_out(q->work, q->profile);
    for (size_t i = 0; i < a->list.n && a->taken == NULL && is_chosen; i++) {
        const kiln_answer *x = &a->list.v[i];
        const char *rule = fitting_of(q, x->tmpl)->rule;
        if (rule != NULL && strcmp(rule, x->layouts) == 0)
            a->taken = x;
    }
    c->n_ready += a->taken != NULL && a->taken->distance / 2 % N_SOURCES == READY;
}

/* Where none is taken, what the model of all work likes best. */
static kiln_status add_predicted(kiln_tune_advice *c, asking *q, kiln_tune_answer *a,
                                 kiln_err *err) {
    kiln_answer x;
    bool has = false;
    const int64_t begin_ns = kiln_now_ns();
    if (a->taken != NULL || c->transfer == NULL || !kiln_tune_takes(q->work))
        return KILN_OK;
    KILN_TRY(kiln_tune_predict(c->transfer, c->arena, q->work, q->profile, c->threads,
                               &has, &x, err));
    c->predicting_ns += kiln_now_ns() - begin_ns;
    if (!has)
        return KILN_OK;
    kiln_vec_push(c->arena, &a->list, x);
    a->taken = &a->list.v[a->list.n - 1];
    c->n_predicted++;
    return KILN_OK;
}

/* One answer for each way. */
static kiln_status all_ways(kiln_tune_advice *c, asking *q, kiln_tune_answer *out,
                            kiln_err *err) {
    kiln_db_bests network, alone, ready;
    const double flops = kiln_tune_direct_flops(q->work);
    ways w = {.list = {.n = 0}};
    KILN_TRY(bests_of(c, q, KILN_TUNE_CACHE_NETWORK, &network, err));
    KILN_TRY(bests_of(c, q, KILN_TUNE_CACHE, &alone, err));
    KILN_TRY(readies_of(c, q, &ready, err));
    for (int suspects = 0; suspects < 2; suspects++) /* better one of them than none */
        sort_in(q, &w, &network, flops, true, false, suspects);
    for (int suspects = 0; suspects < 2; suspects++)
        sort_in(q, &w, &alone, flops, false, false, suspects);
    sort_in(q, &w, &ready, 0, false, true, true);
    const int n_network = count_exact(&network), n_alone = count_exact(&alone);
    for (size_t i = 0; i < w.list.n; i++) {
        const way *x = &w.list.v[i];
        const bool is_own =
            x->own != NULL && (x->ready == NULL || x->own->match <= x->ready->match);
        const kiln_db_record_best *b = is_own ? x->own : x->ready;
        kiln_answer answer = {.layouts = kiln_str_dup(c->arena, x->layouts),
                              .distance = distance_of(q, x, b)};
        if (x->alone != NULL && b == x->own) {
            answer.alone_ns = x->alone->trial.median_ns;
            answer.alone_distance = distance_of(q, x, x->alone);
        }
        KILN_TRY(fill_answer(c, b, is_own, n_network > n_alone ? n_network : n_alone,
                             &answer, err));
        kiln_vec_push(c->arena, &out->list, answer);
    }
    if (out->list.n > 0)
        qsort(out->list.v, out->list.n, sizeof *out->list.v, by_distance);
    find_taken(c, q, out);
    return add_predicted(c, q, out, err);
}

/* The one of that rank, of those measured alone: to be taken. */
static kiln_status one_of_rank(kiln_tune_advice *c, asking *q, kiln_tune_answer *out,
                               kiln_err *err) {
    kiln_db_bests alone;
    const double flops = kiln_tune_direct_flops(q->work);
    const int rank = c->rank > 0 ? c->rank : 0;
    KILN_TRY(bests_of(c, q, KILN_TUNE_CACHE, &alone, err));
    const kiln_db_record_best *b = pick(q, &alone, rank, flops, false);
    if (b == NULL)
        b = pick(q, &alone, rank, flops, true);
    if (b == NULL)
        return KILN_OK;
    kiln_answer answer = {.distance = 0};
    KILN_TRY(fill_answer(c, b, true, count_exact(&alone), &answer, err));
    kiln_vec_push(c->arena, &out->list, answer);
    out->taken = &out->list.v[0];
    return KILN_OK;
}

static kiln_status search(kiln_tune_advice *c, asking *q, kiln_tune_answer *out,
                          kiln_err *err) {
    return c->rank == 0 ? all_ways(c, q, out, err) : one_of_rank(c, q, out, err);
}

static kiln_status ask(void *user, kiln_arena *scratch, const kiln_op_work *w,
                       const kiln_profile *p, kiln_answers *out, kiln_err *err) {
    kiln_tune_advice *c = user;
    if (!kiln_tune_takes(w) && !kiln_tune_is_conversion(w) && !kiln_tune_lays_out(w, p))
        return KILN_OK;
    /* One build may be for several profiles. */
    kiln_buf key;
    kiln_buf_init(&key, scratch);
    kiln_profile_json(&key, p);
    kiln_buf_add(&key, w->key.p, w->key.n);
    const kiln_tune_answer *known = kiln_map_get(&c->known, kiln_buf_str(&key));
    if (known == NULL) {
        kiln_tune_answer *made = kiln_new(c->arena, kiln_tune_answer);
        asking q = {.scratch = scratch, .work = w, .profile = p};
        KILN_TRY(search(c, &q, made, err));
        kiln_map_set(c->arena, &c->known,
                     kiln_str_from(kiln_str_dupv(c->arena, kiln_buf_str(&key))), made);
        known = made;
    }
    for (size_t i = 0; i < known->list.n; i++) /* kept for who asks the same next */
        kiln_vec_push(scratch, out, known->list.v[i]);
    return KILN_OK;
}

kiln_oracle kiln_tune_oracle(kiln_tune_advice *advice) {
    KILN_ASSERT(advice != NULL, "an adviser without advice");
    return (kiln_oracle){ask, advice};
}

/* ---- what was answered ----------------------------------------------------------- */

static int by_key(const void *x, const void *y) {
    const kiln_map_entry *const *a = x, *const *b = y;
    return kiln_str_cmp((*a)->key, (*b)->key);
}

static void add_text(kiln_sha256 *h, kiln_str s) {
    kiln_sha256_add(h, s.p, s.n);
    kiln_sha256_add(h, "", 1);
}

static void add_way(kiln_arena *scratch, const kiln_map_entry *e, const kiln_answer *a,
                    kiln_sha256 *h) {
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

static void add_taken(kiln_arena *scratch, const kiln_map_entry *e, kiln_sha256 *h) {
    add_way(scratch, e, ((const kiln_tune_answer *)e->value)->taken, h);
}

static void add_costs(kiln_arena *scratch, const kiln_map_entry *e,
                      kiln_tune_answers *out, kiln_sha256 *h) {
    const kiln_answers *list = &((const kiln_tune_answer *)e->value)->list;
    for (size_t i = 0; i < list->n; i++) {
        const kiln_answer *a = &list->v[i];
        add_way(scratch, e, a, h);
        add_text(h, kiln_str_from(a->layouts != NULL ? a->layouts : ""));
        add_text(h,
                 kiln_str_from(kiln_format(scratch, "%a %d %a %d", a->ns, a->distance,
                                           a->alone_ns, a->alone_distance)));
        out->n_costs++;
    }
}

/* Those of the profile, in an order that does not hang on who asked when. */
static const kiln_map_entry **entries_of(kiln_arena *scratch,
                                         const kiln_tune_advice *advice,
                                         const kiln_profile *p, size_t *n) {
    const size_t n_known = advice != NULL ? advice->known.entries.n : 0;
    const kiln_map_entry **entry = kiln_array(scratch, const kiln_map_entry *, n_known);
    kiln_buf profile;
    kiln_buf_init(&profile, scratch);
    kiln_profile_json(&profile, p);
    *n = 0;
    for (size_t i = 0; i < n_known; i++)
        if (kiln_str_starts(advice->known.entries.v[i].key, profile.p))
            entry[(*n)++] = &advice->known.entries.v[i];
    if (*n > 0)
        qsort(entry, *n, sizeof *entry, by_key);
    return entry;
}

void kiln_tune_answers_of(kiln_arena *scratch, const kiln_tune_advice *advice,
                          const kiln_profile *p, kiln_tune_answers *out) {
    size_t n = 0;
    const kiln_map_entry **entry = entries_of(scratch, advice, p, &n);
    kiln_sha256 taken, costs;
    *out = (kiln_tune_answers){.n = 0};
    kiln_sha256_init(&taken);
    kiln_sha256_init(&costs);
    for (size_t i = 0; i < n; i++) {
        if (((const kiln_tune_answer *)entry[i]->value)->taken != NULL) {
            add_taken(scratch, entry[i], &taken);
            out->n++;
        }
        add_costs(scratch, entry[i], out, &costs);
    }
    kiln_sha256_hex(&taken, out->sha256);
    kiln_sha256_hex(&costs, out->costs_sha256);
}
