/* The best records for what is asked, nearest first. */
#include <string.h>

#include "tuning_db/tuning_db_internal.h"

/* Of a profile's text: what decides which configurations suit it. "": it says nothing.
 */
#define CLASS_OF(json)                                                                 \
    "coalesce({member " json " arch} || ' ' || {member " json " vector_bytes}"         \
    " || ' ' || {member " json " vector_registers}, '')"
#define ASKED_CLASS CLASS_OF("?10")
#define STORED_CLASS CLASS_OF("json")

/* ?1 workload, ?2 anchor, ?3 key of the profile, ?4 its name, ?5 threads, ?6 numerics,
 * ?7 caches, ?8 the farthest match, ?9 how many for each layouts, ?10 the profile.
 *
 * near: tasks and how near they are. counted: candidates that never failed, each by the
 * mean of its rounds' medians: a single lucky round does not win. ranked: the fastest
 * for each layouts first. */
static const char best_sql[] =
    "WITH asked AS (SELECT " ASKED_CLASS " AS class),"
    " profiles AS (SELECT id, key, name, " STORED_CLASS " AS class FROM profile),"
    " near AS ("
    "  SELECT k.id AS task, w.key <> ?1 AS is_other,"
    "    CASE WHEN p.key = ?3 AND k.threads = ?5 AND w.key = ?1 THEN 0"
    "         WHEN p.key = ?3 AND k.threads = ?5 THEN 1"
    "         WHEN p.key = ?3 OR p.name = ?4 THEN 2"
    "         ELSE 3 END AS nearness"
    "  FROM task k"
    "  JOIN workload w ON w.id = k.workload"
    "  JOIN profiles p ON p.id = k.profile"
    "  CROSS JOIN asked"
    "  WHERE w.anchor = ?2 AND k.numerics = ?6 AND k.cache = ?7"
    "    AND (p.key = ?3"
    "      OR (p.name = ?4 AND (p.class = '' OR asked.class IN ('', p.class)))"
    "      OR (p.class <> '' AND p.class = asked.class AND k.threads = ?5))),"
    " counted AS ("
    "  SELECT n.nearness, n.is_other, t.task, avg(t.median_ns) AS mean_ns,"
    "    min(t.id) AS id, count(*) AS rounds"
    "  FROM near n JOIN trial t ON t.task = n.task"
    "  WHERE n.nearness <= ?8"
    "  GROUP BY n.nearness, n.is_other, t.task, t.template, t.config"
    "  HAVING max(t.error) = ''),"
    " ranked AS ("
    "  SELECT c.nearness, c.is_other, c.task, c.mean_ns, c.id, c.rounds,"
    "    row_number() OVER ("
    "      PARTITION BY c.task, t.layouts ORDER BY c.mean_ns, c.id) AS place"
    "  FROM counted c JOIN trial t ON t.id = c.id)"
    " SELECT " KILN_DB_TRIAL_COLUMNS ", " KILN_DB_TASK_COLUMNS ","
    "   r.nearness, r.mean_ns, r.rounds"
    " FROM ranked r"
    " JOIN trial t ON t.id = r.id"
    " JOIN task k ON k.id = r.task"
    " JOIN workload w ON w.id = k.workload"
    " JOIN profile p ON p.id = k.profile"
    " WHERE r.place <= ?9"
    " ORDER BY r.nearness, r.is_other, r.mean_ns, r.id";

static void get(kiln_query *q, kiln_arena *a, kiln_db_record_best *out) {
    const int at = KILN_DB_N_TRIAL_COLUMNS;
    kiln_db_task task;
    kiln_db_get_trial(q, 0, a, &out->trial);
    kiln_db_get_task(q, at, a, &task);
    out->match = (kiln_db_match)kiln_query_get_i64(q, at + KILN_DB_N_TASK_COLUMNS);
    out->trial.median_ns = kiln_query_get_f64(q, at + KILN_DB_N_TASK_COLUMNS + 1);
    out->n_rounds = kiln_query_get_i64(q, at + KILN_DB_N_TASK_COLUMNS + 2);
    out->workload = task.workload;
    out->profile = task.profile;
    out->profile_json = task.profile_json;
    out->threads = task.threads;
}

kiln_status kiln_db_best(kiln_db *db, kiln_arena *a, const kiln_db_task *t,
                         kiln_db_match farthest, int n_each, kiln_db_bests *out,
                         kiln_err *err) {
    kiln_query q = {0};
    char key[KILN_SHA256_HEX];
    bool has_row = false;
    KILN_ASSERT(n_each > 0, "the best %d", n_each);
    KILN_TRY(kiln_db_task_check(t, err));
    kiln_db_profile_key(t->profile_json, key);
    *out = (kiln_db_bests){0};
    KILN_TRY(kiln_query_open(db->sql, best_sql, &q, err));
    const char *const text[] = {t->workload, t->anchor, key, t->profile};
    for (int i = 0; i < 4; i++)
        kiln_query_text(&q, i + 1, text[i]);
    kiln_query_i64(&q, 5, t->threads);
    kiln_query_text(&q, 6, t->numerics);
    kiln_query_text(&q, 7, t->cache);
    kiln_query_i64(&q, 8, (int)farthest);
    kiln_query_i64(&q, 9, n_each);
    kiln_query_text(&q, 10, t->profile_json);
    kiln_status st = KILN_OK;
    while ((st = kiln_query_step(&q, &has_row, err)) == KILN_OK && has_row) {
        kiln_db_record_best b;
        get(&q, a, &b);
        KILN_ASSERT(b.match <= farthest, "a record at %d, asked for %d", (int)b.match,
                    (int)farthest);
        KILN_ASSERT(b.n_rounds > 0, "'%s' is known by no round",
                    b.trial.candidate.tmpl);
        kiln_vec_push(a, &out->list, b);
    }
    kiln_query_close(&q);
    return st;
}
