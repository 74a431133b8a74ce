/* Ready records: which of a database ship, whether one still holds, and where those lie
 * that came with kiln (docs/ready-records.md).
 *
 * A record competes with what a build without records takes: the template's own rule.
 * It says what the rule chose when it was measured, and how fast that was. It holds as
 * long as the same template takes the work and its rule says the same; else the
 * comparison that made it a record is of yesterday's templates. */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "pipeline/tune/tune_internal.h"

enum { MAX_READY_BYTES = 16 << 20 };

typedef kiln_tune_subject subject;

static kiln_status read_subject(kiln_arena *a, const kiln_db_task *t, subject *out,
                                kiln_err *err) {
    return kiln_tune_subject_read(a, t, NULL, out, err);
}

/* ---- does it hold? --------------------------------------------------------------- */

static bool is_same(const kiln_tune_task *t, const kiln_config *x,
                    const kiln_config *y) {
    return kiln_config_index(&t->space, x) == kiln_config_index(&t->space, y);
}

bool kiln_tune_rule_holds(kiln_arena *scratch, const kiln_op_work *w,
                          const kiln_db_record_best *r) {
    const kiln_json *facts = NULL, *json = NULL;
    kiln_profile p;
    kiln_tune_task t;
    kiln_config was;
    if (kiln_json_parse(scratch, kiln_str_from(r->profile_json), "profile", &json,
                        NULL) != KILN_OK ||
        kiln_profile_read(scratch, json, "profile", &p, NULL) != KILN_OK ||
        kiln_tune_task_make(scratch, &w->workload, &p, NULL, &t, NULL) != KILN_OK ||
        kiln_json_parse(scratch, kiln_str_from(r->trial.facts), "facts", &facts,
                        NULL) != KILN_OK ||
        kiln_config_parse(kiln_json_get(facts, "rule"), t.tmpl, &t.space, &was, NULL) !=
            KILN_OK)
        return false;
    const kiln_config is = t.tmpl->guess(t.work, &p, &t.space);
    return is_same(&t, &was, &is);
}

/* What is wrong with a record whatever templates say; NULL: nothing. */
static const char *fault(kiln_arena *a, const kiln_db_ready *r) {
    const kiln_json *proof = NULL, *json = NULL;
    kiln_profile profile;
    kiln_err err = {.status = KILN_OK};
    if (r->ns > r->rule_ns)
        return kiln_format(a, "at %.1f us it is slower than the template's rule, %.1f",
                           r->ns * 1e-3, r->rule_ns * 1e-3);
    if (kiln_json_parse(a, kiln_str_from(r->proof), "proof", &proof, &err) != KILN_OK ||
        !(kiln_json_number(kiln_json_get(proof, "seeds"), 0) >= 1) ||
        !(kiln_json_number(kiln_json_get(proof, "worst"), 2) <= 1))
        return kiln_format(a, "it does not prove that its results are right: %s",
                           r->proof);
    if (kiln_json_parse(a, kiln_str_from(r->task.profile_json), "profile", &json,
                        &err) != KILN_OK ||
        kiln_profile_read(a, json, "profile", &profile, &err) != KILN_OK)
        return kiln_format(a, "its profile is none: %s", err.text);
    return NULL;
}

/* Why a record does not hold today; NULL: it does. */
static const char *objection(kiln_arena *a, const kiln_db_ready *r) {
    kiln_err err = {.status = KILN_OK};
    subject s;
    kiln_config config, rule;
    if (read_subject(a, &r->task, &s, &err) != KILN_OK)
        return kiln_format(a, "the work is none of today's: %s", err.text);
    if (strcmp(s.task.tmpl->name, r->candidate.tmpl) != 0)
        return kiln_format(a, "template '%s' takes the work today, not '%s'",
                           s.task.tmpl->name, r->candidate.tmpl);
    if (!kiln_tune_config_read(a, s.task.tmpl, &s.task.space, r->candidate.config,
                               &config) ||
        kiln_tune_activations(a, &s.task, &s.task.space, &config) == NULL)
        return kiln_format(a, "template '%s' refuses the configuration today",
                           r->candidate.tmpl);
    if (!kiln_tune_config_read(a, s.task.tmpl, &s.task.space, r->rule, &rule) ||
        !is_same(&s.task, &rule, &s.rule))
        return kiln_format(a,
                           "the rule of template '%s' says something else today, which "
                           "it was not compared with",
                           r->candidate.tmpl);
    return NULL;
}

static const char *name_of(kiln_arena *a, const kiln_db_task *t) {
    return kiln_format(a, "%s (%s, %d thread%s, %s)", t->workload, t->profile,
                       t->threads, t->threads > 1 ? "s" : "", t->numerics);
}

static void list(kiln_arena *a, kiln_db_problems *out, const kiln_db_task *t,
                 const char *why) {
    kiln_vec_push(a, &out->line, kiln_format(a, "%s: %s", name_of(a, t), why));
}

kiln_status kiln_tune_ready_check(kiln_arena *a, const kiln_db_readies *r,
                                  kiln_db_problems *wrong, kiln_db_problems *stale,
                                  kiln_err *err) {
    kiln_arena scratch;
    kiln_status st = KILN_OK;
    *wrong = *stale = (kiln_db_problems){.was_cut = false};
    kiln_arena_init(&scratch);
    for (size_t i = 0; i < r->list.n && st == KILN_OK; i++) {
        const kiln_db_ready *x = &r->list.v[i];
        const char *why = fault(&scratch, x);
        if (why != NULL)
            list(a, wrong, &x->task, why);
        else if ((why = objection(&scratch, x)) != NULL)
            list(a, stale, &x->task, why);
        kiln_arena_reset(&scratch);
        st = kiln_interrupt_check(err);
    }
    kiln_arena_fini(&scratch);
    return st;
}

/* ---- making ---------------------------------------------------------------------- */

typedef struct making {
    kiln_arena *arena;  /* of what is made */
    kiln_arena scratch; /* of one task */
    kiln_db *db;
    kiln_db_readies *out;
    kiln_db_problems *left;
} making;

/* A candidate that may ship. */
typedef struct contender {
    const kiln_db_record_best *record; /* NULL: none */
    const char *activations;
} contender;

/* The activations' layouts of a record; NULL: today's template takes it no more. */
static const char *activations_of(making *m, const subject *s,
                                  const kiln_db_record_best *b, kiln_config *c) {
    if (strcmp(b->trial.candidate.tmpl, s->task.tmpl->name) != 0 ||
        !kiln_tune_config_read(&m->scratch, s->task.tmpl, &s->task.space,
                               b->trial.candidate.config, c))
        return NULL;
    return kiln_tune_activations(&m->scratch, &s->task, &s->task.space, c);
}

/* Of the candidates with these activations the one that is fastest in the network,
 * where that is known, else alone; never one that is slower than the rule alone. */
static const kiln_db_record_best *choose(const kiln_db_bests *network,
                                         const contender *all, size_t n,
                                         const char *activations, double rule_ns) {
    for (size_t k = 0; k < network->list.n; k++)
        for (size_t i = 0; i < n; i++)
            if (all[i].record->trial.median_ns <= rule_ns &&
                strcmp(all[i].activations, activations) == 0 &&
                strcmp(all[i].record->trial.candidate.config,
                       network->list.v[k].trial.candidate.config) == 0)
                return all[i].record;
    for (size_t i = 0; i < n; i++) /* the fastest is the first */
        if (strcmp(all[i].activations, activations) == 0)
            return all[i].record->trial.median_ns <= rule_ns ? all[i].record : NULL;
    return NULL;
}

static double tenth(double ns) { return round(ns * 10) / 10; }

static void add(making *m, const subject *s, const kiln_db_task *t,
                const kiln_db_record_best *b, double rule_ns) {
    kiln_arena *a = m->arena;
    const kiln_db_ready r = {
        .task = *t,
        .candidate = {s->task.tmpl->name, kiln_str_dup(a, b->trial.candidate.config)},
        .layouts = kiln_str_dup(a, b->trial.layouts),
        .ns = tenth(b->trial.median_ns),
        .n_rounds = b->n_rounds,
        .peak_gflops = tenth(b->trial.peak_gflops),
        .rule = kiln_tune_config_text(a, s->task.tmpl, &s->task.space, &s->rule),
        .rule_ns = tenth(rule_ns),
        .proof = kiln_str_dup(a, b->trial.proof),
        .kiln = kiln_str_dup(a, b->trial.kiln),
        .time_ms = b->trial.time_ms};
    kiln_vec_push(a, &m->out->list, r);
}

static bool is_first_of(const contender *all, size_t i) {
    for (size_t k = 0; k < i; k++)
        if (strcmp(all[k].activations, all[i].activations) == 0)
            return false;
    return true;
}

/* Those that may ship, fastest first; *rule_ns: the time of the rule, 0: not known. */
static size_t contenders(making *m, const subject *s, const kiln_db_bests *alone,
                         contender *all, double *rule_ns) {
    size_t n = 0;
    *rule_ns = 0;
    for (size_t i = 0; i < alone->list.n; i++) {
        const kiln_db_record_best *b = &alone->list.v[i];
        kiln_config c;
        const char *activations = activations_of(m, s, b, &c);
        if (activations == NULL)
            continue;
        if (is_same(&s->task, &c, &s->rule))
            *rule_ns = b->trial.median_ns;
        if (!kiln_tune_is_suspect(&m->scratch, b) &&
            !kiln_db_is_implausible(&b->trial, kiln_tune_direct_flops(&s->work)))
            all[n++] = (contender){b, activations};
    }
    return n;
}

static kiln_status make_of(making *m, const kiln_db_task *t, kiln_err *err) {
    kiln_err unreadable = {.status = KILN_OK};
    kiln_db_bests alone, network;
    kiln_db_task in_network = *t;
    subject s;
    double rule_ns = 0;
    if (read_subject(&m->scratch, t, &s, &unreadable) != KILN_OK) {
        list(m->arena, m->left, t, unreadable.text);
        return KILN_OK;
    }
    if (!kiln_tune_takes(&s.work)) /* a conversion, a pool: wished for, not searched */
        return KILN_OK;
    in_network.cache = KILN_TUNE_CACHE_NETWORK;
    KILN_TRY(kiln_db_best(m->db, &m->scratch, t, KILN_DB_EXACT, INT_MAX, &alone, err));
    KILN_TRY(kiln_db_best(m->db, &m->scratch, &in_network, KILN_DB_EXACT, INT_MAX,
                          &network, err));
    contender *all = kiln_array(&m->scratch, contender, alone.list.n + 1);
    const size_t n = contenders(m, &s, &alone, all, &rule_ns);
    if (rule_ns <= 0)
        list(m->arena, m->left, t,
             "what the template's rule says today was not measured");
    else if (n == 0)
        list(m->arena, m->left, t, "nothing that was measured is sure enough");
    for (size_t i = 0; i < n && rule_ns > 0; i++) {
        const kiln_db_record_best *b =
            is_first_of(all, i) ? choose(&network, all, n, all[i].activations, rule_ns)
                                : NULL;
        if (b != NULL)
            add(m, &s, t, b, rule_ns);
    }
    return KILN_OK;
}

kiln_status kiln_tune_ready_make(kiln_arena *a, kiln_db *db, kiln_db_readies *out,
                                 kiln_db_problems *left, kiln_err *err) {
    kiln_db_tasks tasks;
    *out = (kiln_db_readies){.list = {.n = 0}};
    *left = (kiln_db_problems){.was_cut = false};
    making m = {.arena = a, .db = db, .out = out, .left = left};
    KILN_TRY(kiln_db_tasks_of(db, a, &tasks, err));
    kiln_status st = KILN_OK;
    kiln_arena_init(&m.scratch);
    for (size_t i = 0; i < tasks.list.n && st == KILN_OK; i++) {
        if (strcmp(tasks.list.v[i].cache, KILN_TUNE_CACHE) == 0)
            st = make_of(&m, &tasks.list.v[i], err);
        kiln_arena_reset(&m.scratch);
        if (st == KILN_OK)
            st = kiln_interrupt_check(err);
    }
    kiln_arena_fini(&m.scratch);
    return st;
}

/* ---- those that came with kiln --------------------------------------------------- */

static void close_db(void *db) { kiln_db_close(db); }

static kiln_status open_ready(kiln_arena *a, const char *path, kiln_tune_ready *out,
                              kiln_err *err) {
    kiln_str text;
    char *found = NULL;
    if (path == NULL)
        KILN_TRY(kiln_data_find(a, KILN_TUNE_READY_FILE, &found, err));
    out->path = path != NULL ? path : found;
    KILN_TRY(kiln_file_map(a, out->path, MAX_READY_BYTES, &text, err));
    KILN_TRY(kiln_db_ready_read(a, text, out->path, &out->records, err));
    KILN_TRY(kiln_db_ready_open(a, &out->records, &out->db, err));
    kiln_arena_defer(a, close_db, out->db);
    return KILN_OK;
}

kiln_status kiln_tune_ready_open(kiln_arena *a, const char *path, kiln_tune_ready *out,
                                 kiln_err *err) {
    kiln_tune_ready r = {.path = NULL};
    const kiln_status st = open_ready(a, path, &r, err);
    if (st != KILN_OK) {
        kiln_note(err, "opening the ready records that come with kiln: install kiln "
                       "again, or leave them out by --no-ready");
        return st;
    }
    *out = r;
    return KILN_OK;
}
