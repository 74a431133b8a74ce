/* Claims: who measures what now, and how much tasks may have together. */
#include <inttypes.h>

#include "tuning_db/tuning_db_internal.h"

void kiln_db_bind_candidate(kiln_query *q, int64_t task, const kiln_db_candidate *c) {
    KILN_ASSERT(c->tmpl != NULL && c->config != NULL, "a candidate of task %" PRId64,
                task);
    kiln_query_i64(q, 1, task);
    kiln_query_text(q, 2, c->tmpl);
    kiln_query_text(q, 3, c->config);
}

static kiln_status is_there(kiln_db *db, const char *select, int64_t task,
                            const kiln_db_candidate *c, bool *has_row, kiln_err *err) {
    kiln_query q = {0};
    kiln_status st = kiln_query_open(db->sql, select, &q, err);
    if (st == KILN_OK) {
        kiln_db_bind_candidate(&q, task, c);
        st = kiln_query_step(&q, has_row, err);
    }
    kiln_query_close(&q);
    return st;
}

/* The one statement that decides: an expired claim, or the owner's own, is taken over;
 * another's stays, and no row has changed. */
static kiln_status take(kiln_db *db, int64_t task, const kiln_db_candidate *c,
                        const char *owner, int seconds, bool *is_mine, kiln_err *err) {
    const int64_t now = kiln_db_now_ms();
    kiln_query q = {0};
    kiln_status st =
        kiln_query_open(db->sql,
                        "INSERT INTO claim (task, template, config, owner, expires_ms)"
                        " VALUES (?1, ?2, ?3, ?4, ?5)"
                        " ON CONFLICT (task, template, config) DO UPDATE"
                        " SET owner = excluded.owner, expires_ms = excluded.expires_ms"
                        " WHERE claim.owner = excluded.owner OR claim.expires_ms <= ?6",
                        &q, err);
    if (st == KILN_OK) {
        kiln_db_bind_candidate(&q, task, c);
        kiln_query_text(&q, 4, owner);
        kiln_query_i64(&q, 5, now + (int64_t)seconds * 1000);
        kiln_query_i64(&q, 6, now);
        st = kiln_query_run(&q, err);
    }
    *is_mine = st == KILN_OK && kiln_sql_n_changed(db->sql) > 0;
    kiln_query_close(&q);
    return st;
}

/* A budget's tasks as SQL has lists. */
static const char *list_of(kiln_arena *a, const kiln_db_budget *b) {
    KILN_ASSERT(b->trials >= 0, "a budget of %" PRId64 " trials", b->trials);
    kiln_buf text;
    kiln_buf_init(&text, a);
    for (size_t i = 0; i < b->n_tasks; i++)
        kiln_buf_printf(&text, "%s%" PRId64, i > 0 ? ", " : "", b->task[i]);
    return text.n > 0 ? text.p : "";
}

/* Candidates with a trial, or claimed now: but for this one, which may be NULL. */
static kiln_status count(kiln_db *db, const kiln_db_budget *b, int64_t task,
                         const kiln_db_candidate *but, int64_t *out, kiln_err *err) {
    static const kiln_db_candidate none = {"", ""};
    kiln_arena scratch = {0};
    kiln_query q = {0};
    bool has_row = false;
    const char *tasks = list_of(&scratch, b);
    kiln_status st = kiln_query_open(
        db->sql,
        kiln_format(&scratch,
                    "SELECT (SELECT count(*) FROM trial WHERE round = 0 AND task IN"
                    " (%s)) + (SELECT count(*) FROM claim WHERE task IN (%s) AND"
                    " expires_ms > ?4 AND NOT (task = ?1 AND template = ?2 AND"
                    " config = ?3))",
                    tasks, tasks),
        &q, err);
    if (st == KILN_OK) {
        kiln_db_bind_candidate(&q, task, but != NULL ? but : &none);
        kiln_query_i64(&q, 4, kiln_db_now_ms());
        st = kiln_query_step(&q, &has_row, err);
    }
    if (st == KILN_OK)
        *out = has_row ? kiln_query_get_i64(&q, 0) : 0;
    KILN_ASSERT(st != KILN_OK || *out >= 0, "%" PRId64 " candidates are spent", *out);
    kiln_query_close(&q);
    kiln_arena_fini(&scratch);
    return st;
}

kiln_status kiln_db_spent(kiln_db *db, const kiln_db_budget *b, int64_t *out,
                          kiln_err *err) {
    return count(db, b, 0, NULL, out, err);
}

kiln_status kiln_db_claimed(kiln_db *db, const kiln_db_budget *b, int64_t *out,
                            kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_query q = {0};
    bool has_row = false;
    kiln_status st = kiln_query_open(
        db->sql,
        kiln_format(&scratch,
                    "SELECT count(*) FROM claim WHERE task IN (%s) AND expires_ms > ?1",
                    list_of(&scratch, b)),
        &q, err);
    if (st == KILN_OK) {
        kiln_query_i64(&q, 1, kiln_db_now_ms());
        st = kiln_query_step(&q, &has_row, err);
    }
    if (st == KILN_OK)
        *out = has_row ? kiln_query_get_i64(&q, 0) : 0;
    kiln_query_close(&q);
    kiln_arena_fini(&scratch);
    return st;
}

static kiln_status claim(kiln_db *db, int64_t task, const kiln_db_candidate *c,
                         const char *owner, int seconds, const kiln_db_budget *b,
                         kiln_db_claim_state *out, kiln_err *err) {
    bool is_done = false, is_mine = false;
    int64_t spent = 0;
    KILN_TRY(is_there(db,
                      "SELECT 1 FROM trial WHERE task = ?1 AND template = ?2"
                      " AND config = ?3 LIMIT 1",
                      task, c, &is_done, err));
    if (is_done) {
        *out = KILN_DB_DONE;
        return KILN_OK;
    }
    if (b != NULL)
        KILN_TRY(count(db, b, task, c, &spent, err));
    if (b != NULL && spent >= b->trials) {
        *out = KILN_DB_FULL;
        return KILN_OK;
    }
    KILN_TRY(take(db, task, c, owner, seconds, &is_mine, err));
    *out = is_mine ? KILN_DB_CLAIMED : KILN_DB_BUSY;
    return KILN_OK;
}

kiln_status kiln_db_claim_within(kiln_db *db, int64_t task, const kiln_db_candidate *c,
                                 const char *owner, int seconds,
                                 const kiln_db_budget *b, kiln_db_claim_state *out,
                                 kiln_err *err) {
    KILN_ASSERT(owner != NULL && owner[0] != 0, "a claim of nobody");
    kiln_db_claim_state state = KILN_DB_BUSY;
    KILN_TRY(kiln_sql_begin(db->sql, err));
    KILN_TRY(kiln_db_end(db, claim(db, task, c, owner, seconds, b, &state, err), err));
    *out = state;
    return KILN_OK;
}

kiln_status kiln_db_claim(kiln_db *db, int64_t task, const kiln_db_candidate *c,
                          const char *owner, int seconds, kiln_db_claim_state *out,
                          kiln_err *err) {
    return kiln_db_claim_within(db, task, c, owner, seconds, NULL, out, err);
}

kiln_status kiln_db_unclaim(kiln_db *db, int64_t task, const kiln_db_candidate *c,
                            const char *owner, kiln_err *err) {
    kiln_query q = {0};
    kiln_status st =
        kiln_query_open(db->sql,
                        "DELETE FROM claim WHERE task = ?1 AND template = ?2 AND"
                        " config = ?3 AND (?4 IS NULL OR owner = ?4)",
                        &q, err);
    if (st == KILN_OK) {
        kiln_db_bind_candidate(&q, task, c);
        kiln_query_text(&q, 4, owner);
        st = kiln_query_run(&q, err);
    }
    kiln_query_close(&q);
    return st;
}

kiln_status kiln_db_release(kiln_db *db, const char *owner, kiln_err *err) {
    kiln_query q = {0};
    kiln_status st =
        kiln_query_open(db->sql, "DELETE FROM claim WHERE owner = ?1", &q, err);
    if (st == KILN_OK) {
        kiln_query_text(&q, 1, owner);
        st = kiln_query_run(&q, err);
    }
    kiln_query_close(&q);
    return st;
}

kiln_status kiln_db_owners_of(kiln_db *db, kiln_arena *a, kiln_db_owners *out,
                              kiln_err *err) {
    kiln_query q = {0};
    bool has_row = false;
    *out = (kiln_db_owners){0};
    kiln_status st = kiln_query_open(
        db->sql, "SELECT DISTINCT owner FROM claim ORDER BY owner", &q, err);
    while (st == KILN_OK && (st = kiln_query_step(&q, &has_row, err)) == KILN_OK &&
           has_row)
        kiln_vec_push(a, &out->list, kiln_query_get_text(&q, 0, a));
    kiln_query_close(&q);
    return st;
}
