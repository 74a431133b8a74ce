/* The trials of a database as lessons for a model of all work (kiln_lesson). */
#include "pipeline/tune/transfer_internal.h"
#include "base/numbers.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of each work and template: fewer where a database has many, as a model is fitted dozens
 * of times to be held out. */
enum { MOST_ALL = 12288, MOST_EACH = 192, ENOUGH_EACH = 48, LEAST_EACH = 4 };

/* All rounds of one candidate of a task. */
typedef struct candidate {
    const char *tmpl, *config;
    double sum_ns;
    int n; /* good rounds */
    bool has_failed;
} candidate;

typedef KILN_VEC(candidate) candidates;

typedef struct reading {
    kiln_arena *arena;  /* of what is made */
    kiln_arena scratch; /* of one task */
    kiln_db *db;
    const kiln_cost_model_kind *kind; /* NULL: nothing is encoded */
    kiln_numbers workload;            /* anchor -> number + 1 */
    kiln_sha256 hash;
    size_t most; /* candidates of a lesson */
    kiln_tune_lessons *out;
} reading;

/* ---- what is known of each candidate --------------------------------------------- */

static void add_round(reading *r, candidates *all, kiln_numbers *index,
                      const kiln_db_trial *t) {
    const kiln_str key = kiln_str_from(
        kiln_format(&r->scratch, "%s|%s", t->candidate.tmpl, t->candidate.config));
    const size_t known = kiln_numbers_get(index, key);
    const bool is_good = t->error == NULL || t->error[0] == '\0';
    if (known == 0) {
        kiln_vec_push(
            &r->scratch, all,
            ((candidate){.tmpl = t->candidate.tmpl, .config = t->candidate.config}));
        kiln_numbers_set(&r->scratch, index, key, all->n);
    }
    candidate *c = &all->v[known > 0 ? known - 1 : all->n - 1];
    c->has_failed |= !is_good;
    c->sum_ns += is_good ? t->median_ns : 0;
    c->n += is_good;
}

static double cost_of(const candidate *c) {
    return c->has_failed || c->n == 0 ? 0 : c->sum_ns / c->n;
}

static kiln_status read_candidates(reading *r, const kiln_db_task *t, candidates *out,
                                   kiln_err *err) {
    kiln_db_trials all;
    kiln_numbers index = {0};
    int64_t id = 0;
    KILN_TRY(kiln_db_task_id(r->db, t, &id, err));
    KILN_TRY(kiln_db_trials_of(r->db, &r->scratch, id, &all, err));
    for (size_t i = 0; i < all.list.n; i++)
        add_round(r, out, &index, &all.list.v[i]);
    return KILN_OK;
}

static void add_text(kiln_sha256 *h, const char *z) {
    kiln_sha256_add(h, z, strlen(z) + 1);
}

static void add_hash(reading *r, const kiln_db_task *t, const candidates *all) {
    add_text(&r->hash, t->workload);
    add_text(&r->hash, t->profile_json);
    add_text(&r->hash, t->numerics);
    add_text(&r->hash, kiln_format(&r->scratch, "%d", t->threads));
    for (size_t i = 0; i < all->n; i++) {
        add_text(&r->hash, all->v[i].tmpl);
        add_text(&r->hash, all->v[i].config);
        add_text(&r->hash, kiln_format(&r->scratch, "%a", cost_of(&all->v[i])));
    }
}

/* ---- some of many ---------------------------------------------------------------- */

static int by_cost(const void *x, const void *y) {
    const candidate *const *a = x, *const *b = y;
    const double p = cost_of(*a), q = cost_of(*b);
    if ((p > 0) != (q > 0))
        return p > 0 ? -1 : 1;
    if (p < q || p > q)
        return p < q ? -1 : 1;
    return strcmp((*a)->config, (*b)->config);
}

/* Of a template: the fastest, and the others in even steps. */
static size_t draw(reading *r, const candidates *all, const char *tmpl,
                   const candidate ***out) {
    const candidate **of = kiln_array(&r->scratch, const candidate *, all->n);
    size_t n = 0, kept = 0;
    for (size_t i = 0; i < all->n; i++)
        if (strcmp(all->v[i].tmpl, tmpl) == 0)
            of[n++] = &all->v[i];
    if (n > 0)
        qsort(of, n, sizeof *of, by_cost);
    *out = of;
    if (n <= r->most)
        return n;
    const size_t head = r->most / 3, rest = r->most - head;
    for (size_t i = 0; i < rest; i++) {
        const size_t from = head + i * (n - head) / rest;
        KILN_ASSERT(from >= head + kept && from < n, "candidate %zu goes to %zu of %zu",
                    from, head + kept, n);
        of[head + kept++] = of[from];
    }
    return head + kept;
}

/* What choices are held against: it takes the last one's place where it was not drawn. */
static void keep_rule(reading *r, const candidates *all, const kiln_tune_subject *s,
                      const candidate **drawn, size_t n) {
    const char *rule =
        kiln_tune_config_text(&r->scratch, s->task.tmpl, &s->task.space, &s->rule);
    for (size_t i = 0; i < n; i++)
        if (strcmp(drawn[i]->config, rule) == 0)
            return;
    for (size_t i = 0; i < all->n && n > 0; i++)
        if (strcmp(all->v[i].tmpl, s->task.tmpl->name) == 0 &&
            strcmp(all->v[i].config, rule) == 0)
            drawn[n - 1] = &all->v[i];
}

/* ---- a lesson -------------------------------------------------------------------- */

static uint32_t workload_of(reading *r, const char *key) {
    const kiln_str anchor = kiln_tune_without_batch(&r->scratch, kiln_str_from(key));
    const size_t known = kiln_numbers_get(&r->workload, anchor);
    if (known > 0)
        return (uint32_t)known;
    const size_t next = r->workload.map.entries.n + 1;
    kiln_numbers_set(r->arena, &r->workload, anchor, next);
    return (uint32_t)next;
}

static void encode(reading *r, const kiln_tune_subject *s, const candidate *const *c,
                   size_t n, kiln_lesson *out) {
    kiln_encoding_list *list = kiln_new(r->arena, kiln_encoding_list);
    kiln_candidates *made = kiln_candidates_new(&r->scratch, &s->task, r->kind);
    double *cost = kiln_array(r->arena, double, n);
    const uint64_t rule = kiln_config_index(&s->task.space, &s->rule);
    *out = (kiln_lesson){.workload =
                             workload_of(r, kiln_str_dupv(&r->scratch, s->work.anchor)),
                         .cost_ns = cost,
                         .rule = -1};
    for (size_t i = 0; i < n; i++) {
        kiln_config config;
        if (!kiln_tune_config_read(&r->scratch, s->task.tmpl, &s->task.space,
                                   c[i]->config, &config))
            continue;
        const uint64_t index = kiln_config_index(&s->task.space, &config);
        const kiln_encoding *e = kiln_candidates_encoding(made, index);
        if (e == NULL)
            continue;
        if (index == rule)
            out->rule = (ptrdiff_t)out->encoding.n;
        cost[out->encoding.n] = cost_of(c[i]);
        kiln_encoding_list_add(r->arena, list, e->bytes);
        out->encoding = kiln_encoding_list_view(list);
    }
    KILN_ASSERT(out->encoding.n <= n && out->rule < (ptrdiff_t)out->encoding.n,
                "a lesson of %zu candidates has %zu", n, (size_t)out->encoding.n);
}

static const char *profile_of(kiln_arena *a, const kiln_db_task *t) {
    enum { DIGITS = 8 };
    char key[KILN_SHA256_HEX];
    kiln_db_profile_key(t->profile_json, key);
    return kiln_format(a, "%s %.*s", t->profile, DIGITS, key);
}

/* A template's part of a task; what today's templates do not take teaches nothing. */
static void add_lesson(reading *r, const kiln_db_task *t, const candidates *all,
                       const char *name) {
    const kiln_template *tmpl = kiln_template_find(kiln_str_from(name));
    const candidate **drawn = NULL;
    kiln_tune_subject *s = kiln_new(&r->scratch, kiln_tune_subject);
    kiln_lesson lesson;
    const size_t n = draw(r, all, name, &drawn);
    if (n < LEAST_EACH || tmpl == NULL || tmpl == &kiln_template_convert ||
        kiln_tune_subject_read(&r->scratch, t, tmpl, s, NULL) != KILN_OK)
        return;
    keep_rule(r, all, s, drawn, n);
    encode(r, s, drawn, n, &lesson);
    if (lesson.encoding.n < LEAST_EACH)
        return;
    kiln_vec_push(r->arena, &r->out->list, lesson);
    kiln_vec_push(
        r->arena, &r->out->seen,
        kiln_tune_seen_text(r->arena, &s->work, &s->profile, t->threads, s->task.tmpl));
    kiln_vec_push(r->arena, &r->out->profile, profile_of(r->arena, t));
}

static bool is_first(const candidates *all, size_t i) {
    for (size_t k = 0; k < i; k++)
        if (strcmp(all->v[k].tmpl, all->v[i].tmpl) == 0)
            return false;
    return true;
}

static kiln_status read_task(reading *r, const kiln_db_task *t, kiln_err *err) {
    candidates all = {.n = 0};
    KILN_TRY(read_candidates(r, t, &all, err));
    add_hash(r, t, &all);
    r->out->n_trials += (int64_t)all.n;
    for (size_t i = 0; r->kind != NULL && i < all.n; i++)
        if (is_first(&all, i))
            add_lesson(r, t, &all, all.v[i].tmpl);
    return kiln_interrupt_check(err);
}

kiln_status kiln_tune_lessons_read(kiln_arena *a, kiln_db *db,
                                   const kiln_cost_model_kind *kind,
                                   kiln_tune_lessons *out, kiln_err *err) {
    kiln_db_tasks tasks;
    reading r = {.arena = a, .db = db, .kind = kind, .out = out};
    kiln_status st = KILN_OK;
    *out = (kiln_tune_lessons){.n_trials = 0};
    KILN_TRY(kiln_db_tasks_of(db, a, &tasks, err));
    kiln_sha256_init(&r.hash);
    r.most = MOST_ALL / (tasks.list.n > 0 ? tasks.list.n : 1);
    r.most = r.most > MOST_EACH     ? MOST_EACH
             : r.most < ENOUGH_EACH ? ENOUGH_EACH
                                    : r.most;
    for (size_t i = 0; st == KILN_OK && i < tasks.list.n; i++) {
        if (strcmp(tasks.list.v[i].cache, KILN_TUNE_CACHE) == 0)
            st = read_task(&r, &tasks.list.v[i], err);
        kiln_arena_reset(&r.scratch);
    }
    kiln_sha256_hex(&r.hash, out->sha256);
    kiln_arena_fini(&r.scratch);
    return st;
}

/* ---- what is near ---------------------------------------------------------------- */

enum { NEAR_EACH = 64 };

/* A lesson that might be read. */
typedef struct place {
    const kiln_db_task *task;
    const kiln_template *tmpl;
    double near;
} place;
typedef KILN_VEC(place) places;

static int nearest_first(const void *x, const void *y) {
    const place *a = x, *b = y;
    if (a->near < b->near || a->near > b->near)
        return a->near > b->near ? -1 : 1;
    if (a->task != b->task) /* of one array, in the order of their texts */
        return a->task < b->task ? -1 : 1;
    return strcmp(a->tmpl->name, b->tmpl->name);
}

static double nearness_to(const kiln_tune_pupils *p, const kiln_setting *s) {
    double near = 0;
    for (size_t i = 0; i < p->n; i++)
        near = fmax(near, kiln_nearness(&p->setting[i], s));
    return near;
}

static kiln_status is_own(reading *r, const kiln_tune_pupils *p, const kiln_db_task *t,
                          bool *out, kiln_err *err) {
    int64_t id = 0;
    KILN_TRY(kiln_db_task_id(r->db, t, &id, err));
    *out = false;
    for (size_t i = 0; i < p->n; i++)
        *out |= p->own[i] == id;
    return KILN_OK;
}

/* What a task could teach, without making any program. */
static kiln_status add_places(reading *r, const kiln_tune_pupils *p,
                              const kiln_db_task *t, places *out, kiln_err *err) {
    candidates all = {.n = 0};
    bool own = false;
    KILN_TRY(is_own(r, p, t, &own, err));
    if (own)
        return KILN_OK;
    KILN_TRY(read_candidates(r, t, &all, err));
    for (size_t i = 0; i < all.n; i++) {
        const kiln_template *tmpl = kiln_template_find(kiln_str_from(all.v[i].tmpl));
        kiln_tune_subject *s = kiln_new(&r->scratch, kiln_tune_subject);
        kiln_setting there;
        if (!is_first(&all, i) || tmpl == NULL || tmpl == &kiln_template_convert ||
            kiln_tune_subject_read(&r->scratch, t, tmpl, s, NULL) != KILN_OK)
            continue;
        kiln_setting_of(&s->task, t->threads, &there);
        kiln_vec_push(r->arena, out, ((place){t, tmpl, nearness_to(p, &there)}));
    }
    return kiln_interrupt_check(err);
}

static kiln_status read_place(reading *r, const place *at, kiln_err *err) {
    candidates all = {.n = 0};
    const size_t n = r->out->list.n;
    KILN_TRY(read_candidates(r, at->task, &all, err));
    add_lesson(r, at->task, &all, at->tmpl->name);
    if (r->out->list.n > n)
        r->out->list.v[n].weight = at->near;
    return kiln_interrupt_check(err);
}

kiln_status kiln_tune_lessons_near(kiln_arena *a, kiln_db *db,
                                   const kiln_cost_model_kind *kind,
                                   const kiln_tune_pupils *p, size_t n_most,
                                   kiln_tune_lessons *out, kiln_err *err) {
    kiln_db_tasks tasks;
    places at = {.n = 0};
    reading r = {.arena = a, .db = db, .kind = kind, .most = NEAR_EACH, .out = out};
    kiln_status st = KILN_OK;
    *out = (kiln_tune_lessons){.n_trials = 0};
    KILN_TRY(kiln_db_tasks_of(db, a, &tasks, err));
    for (size_t i = 0; st == KILN_OK && i < tasks.list.n; i++) {
        if (strcmp(tasks.list.v[i].cache, KILN_TUNE_CACHE) == 0)
            st = add_places(&r, p, &tasks.list.v[i], &at, err);
        kiln_arena_reset(&r.scratch);
    }
    if (at.n > 0)
        qsort(at.v, at.n, sizeof *at.v, nearest_first);
    for (size_t i = 0; st == KILN_OK && i < at.n && out->list.n < n_most; i++) {
        st = read_place(&r, &at.v[i], err);
        kiln_arena_reset(&r.scratch);
    }
    kiln_arena_fini(&r.scratch);
    return st;
}

/* ---- how much carries over -------------------------------------------------------- */

static int label_of(kiln_tune_texts *seen, kiln_arena *a, const char *text) {
    for (size_t i = 0; i < seen->n; i++)
        if (strcmp(seen->v[i], text) == 0)
            return (int)i;
    kiln_vec_push(a, seen, text);
    return (int)seen->n - 1;
}

static kiln_status score_profiles(kiln_arena *a, const kiln_cost_model_kind *kind,
                                  const kiln_tune_lessons *l, kiln_tune_carries *out,
                                  kiln_err *err) {
    int *label = kiln_array(a, int, l->list.n);
    kiln_tune_texts names = {.n = 0};
    for (size_t i = 0; i < l->list.n; i++)
        label[i] = label_of(&names, a, l->profile.v[i]);
    for (size_t k = 0; k < names.n; k++) {
        kiln_held_apart h;
        KILN_TRY(kiln_held_apart_score(kind, NULL, l->list.v, l->list.n, label, (int)k,
                                       &h, err));
        if (h.n_pairs > 0)
            kiln_vec_push(
                a, &out->profile,
                ((kiln_tune_carried){names.v[k], h.n_lessons, h.n_pairs, h.accuracy}));
    }
    return KILN_OK;
}

kiln_status kiln_tune_carries_over(kiln_arena *a, kiln_db *db,
                                   const kiln_cost_model_kind *kind,
                                   kiln_tune_carries *out, kiln_err *err) {
    kiln_tune_lessons l;
    kiln_held_out h = {.n_workloads = 0};
    *out = (kiln_tune_carries){.workloads = 0};
    kind = kiln_tune_teacher_of(kind);
    KILN_TRY(kiln_tune_lessons_read(a, db, kind, &l, err));
    KILN_TRY(kiln_held_out_score(kind, NULL, l.list.v, l.list.n, &h, err));
    out->n_workloads = h.n_workloads;
    out->workloads = h.accuracy;
    return score_profiles(a, kind, &l, out, err);
}

kiln_str kiln_tune_without_batch(kiln_arena *a, kiln_str anchor) {
    const char *from = memchr(anchor.p, '(', anchor.n);
    const size_t head = from != NULL ? (size_t)(from - anchor.p) : anchor.n;
    const char *open = memchr(anchor.p + head, '[', anchor.n - head);
    if (open == NULL)
        return anchor;
    size_t at = (size_t)(open - anchor.p) + 1, end = at;
    while (end < anchor.n && anchor.p[end] >= '0' && anchor.p[end] <= '9')
        end++;
    return kiln_str_from(kiln_format(a, "%.*s*%.*s", (int)at, anchor.p,
                                     (int)(anchor.n - end), anchor.p + end));
}

/* ---- what was seen ---------------------------------------------------------------- */

static void put_dims(kiln_buf *out, const kiln_type *t) {
    for (int i = 0; i < t->rank; i++)
        kiln_buf_printf(out, " %" PRId64, t->dim[i]);
}

const char *kiln_tune_seen_text(kiln_arena *a, const kiln_op_work *w,
                                const kiln_profile *p, int threads,
                                const kiln_template *t) {
    const kiln_node *n = w->workload.anchor;
    kiln_buf out;
    kiln_buf_init(&out, a);
    kiln_buf_printf(&out, "%s %s/%d/%d %d %s %s %s:", t->name, kiln_arch_name(p->arch),
                    p->vector_bytes, p->vector_registers, threads > 0 ? threads : 1,
                    p->numerics == KILN_NUMERICS_STRICT ? "strict" : "fast",
                    n->op->name, kiln_dtype_name(n->out[0]->type.dtype));
    for (int i = 0; i < n->n_in; i++) /* a bias changes nothing */
        if (n->in[i] != NULL && n->in[i]->type.rank >= 2)
            put_dims(&out, &n->in[i]->type);
    put_dims(&out, &n->out[0]->type);
    return out.p;
}

/* Infinity: other conditions, or another number of dimensions. */
static double distance_between(const char *x, const char *y) {
    kiln_str p = kiln_str_from(x), q = kiln_str_from(y), p_word, q_word;
    double far = 0;
    if (!kiln_str_cut(&p, ':', &p_word) || !kiln_str_cut(&q, ':', &q_word) ||
        !kiln_str_eq(p_word, q_word))
        return (double)INFINITY;
    while (kiln_str_cut(&p, ' ', &p_word)) {
        int64_t m = 1, n = 1;
        if (!kiln_str_cut(&q, ' ', &q_word))
            return (double)INFINITY;
        if (p_word.n == 0 && q_word.n == 0)
            continue;
        if (!kiln_parse_i64(p_word, &m) || !kiln_parse_i64(q_word, &n) || m < 1 ||
            n < 1)
            return (double)INFINITY;
        far = fmax(far, fabs(log2((double)m / (double)n)));
    }
    return kiln_str_cut(&q, ' ', &q_word) ? (double)INFINITY : far;
}

double kiln_tune_distance(const kiln_tune_texts *seen, const char *text) {
    double nearest = (double)INFINITY;
    for (size_t i = 0; i < seen->n; i++)
        nearest = fmin(nearest, distance_between(seen->v[i], text));
    return nearest;
}
