/* The table of engines, and calls handed to the one that was opened. */
#include "sql/sql.h"

#include <string.h>

#include "sql/sql_engine.h"

static const kiln_sql_engine *const engines[] = {
#define KILN_SQL_ENGINE(name) &kiln_sql_engine_##name,
#include "sql/engines.def"
#undef KILN_SQL_ENGINE
};
enum { N_ENGINES = sizeof engines / sizeof engines[0] };

/* The row that a place names, and what stands behind the name. */
static const kiln_sql_engine *engine_of(const char *place, const char **rest) {
    for (int i = 0; i < N_ENGINES; i++) {
        const size_t n = strlen(engines[i]->name);
        if (strncmp(place, engines[i]->name, n) == 0 && place[n] == ':') {
            *rest = place + n + 1;
            return engines[i];
        }
    }
    *rest = place;
    return engines[0];
}

const char *kiln_sql_file(const char *place) {
    const char *rest = NULL;
    const kiln_sql_engine *engine = engine_of(place, &rest);
    return engine->is_file && strcmp(rest, KILN_SQL_MEMORY) != 0 ? rest : NULL;
}

kiln_status kiln_sql_open(kiln_arena *a, const char *place, const kiln_sql_options *o,
                          kiln_sql **out, kiln_err *err) {
    kiln_sql *s = kiln_new(a, kiln_sql);
    const char *rest = NULL;
    const kiln_sql_engine *named = engine_of(place, &rest);
    s->engine = o->engine != NULL ? o->engine : named;
    s->place = kiln_str_dup(a, rest);
    KILN_TRY(s->engine->open(a, s->place, o, &s->db, err));
    if (s->engine->shown != NULL)
        s->place = s->engine->shown(s->db);
    *out = s;
    return KILN_OK;
}

void kiln_sql_close(kiln_sql *s) {
    if (s != NULL)
        s->engine->close(s->db);
}

const char *kiln_sql_path(const kiln_sql *s) { return s->place; }

kiln_status kiln_sql_run(kiln_sql *s, const char *text, kiln_err *err) {
    return s->engine->run(s->db, text, err);
}
kiln_status kiln_sql_begin(kiln_sql *s, kiln_err *err) {
    return s->engine->begin(s->db, err);
}
kiln_status kiln_sql_commit(kiln_sql *s, kiln_err *err) {
    return s->engine->commit(s->db, err);
}
void kiln_sql_rollback(kiln_sql *s) { s->engine->rollback(s->db); }
int64_t kiln_sql_n_changed(const kiln_sql *s) { return s->engine->n_changed(s->db); }

/* ---- statements ------------------------------------------------------------------ */

kiln_status kiln_query_open(kiln_sql *s, const char *text, kiln_query *out,
                            kiln_err *err) {
    void *handle = NULL;
    KILN_TRY(s->engine->prepare(s->db, text, &handle, err));
    *out = (kiln_query){s, handle};
    return KILN_OK;
}

void kiln_query_i64(kiln_query *q, int at, int64_t v) {
    KILN_ASSERT(at >= 1, "values of a statement begin at 1, not %d", at);
    q->sql->engine->bind_i64(q->handle, at, v);
}
void kiln_query_f64(kiln_query *q, int at, double v) {
    KILN_ASSERT(at >= 1, "values of a statement begin at 1, not %d", at);
    q->sql->engine->bind_f64(q->handle, at, v);
}
void kiln_query_text(kiln_query *q, int at, const char *z) {
    KILN_ASSERT(at >= 1, "values of a statement begin at 1, not %d", at);
    q->sql->engine->bind_text(q->handle, at, z);
}
void kiln_query_bytes(kiln_query *q, int at, kiln_str bytes) {
    KILN_ASSERT(at >= 1, "values of a statement begin at 1, not %d", at);
    q->sql->engine->bind_bytes(q->handle, at, bytes);
}

kiln_status kiln_query_step(kiln_query *q, bool *has_row, kiln_err *err) {
    return q->sql->engine->step(q->sql->db, q->handle, has_row, err);
}

kiln_status kiln_query_run(kiln_query *q, kiln_err *err) {
    bool has_row = false;
    const kiln_status st = kiln_query_step(q, &has_row, err);
    kiln_query_reset(q);
    return st;
}

void kiln_query_reset(kiln_query *q) { q->sql->engine->reset(q->handle); }

int64_t kiln_query_get_i64(kiln_query *q, int col) {
    KILN_ASSERT(q->handle != NULL && col >= 0, "column %d of a row", col);
    return q->sql->engine->get_i64(q->handle, col);
}
double kiln_query_get_f64(kiln_query *q, int col) {
    KILN_ASSERT(q->handle != NULL && col >= 0, "column %d of a row", col);
    return q->sql->engine->get_f64(q->handle, col);
}
const char *kiln_query_get_text(kiln_query *q, int col, kiln_arena *a) {
    KILN_ASSERT(q->handle != NULL && col >= 0, "column %d of a row", col);
    return q->sql->engine->get_text(q->handle, col, a);
}
kiln_str kiln_query_get_bytes(kiln_query *q, int col, kiln_arena *a) {
    KILN_ASSERT(q->handle != NULL && col >= 0, "column %d of a row", col);
    return q->sql->engine->get_bytes(q->handle, col, a);
}

void kiln_query_close(kiln_query *q) {
    if (q->sql != NULL)
        q->sql->engine->finish(q->handle);
    q->handle = NULL;
}

/* ---- care ------------------------------------------------------------------------ */

kiln_status kiln_sql_has_column(kiln_sql *s, const char *table, const char *column,
                                bool *out, kiln_err *err) {
    return s->engine->has_column(s->db, table, column, out, err);
}

kiln_status kiln_sql_shadow(kiln_sql *s, const char *table, const char *columns,
                            kiln_err *err) {
    return s->engine->shadow(s->db, table, columns, err);
}

kiln_status kiln_sql_view(kiln_sql *s, const char *table, const char *columns,
                          kiln_err *err) {
    return s->engine->view(s->db, table, columns, err);
}

kiln_status kiln_sql_check(kiln_sql *s, kiln_arena *a, kiln_sql_faults *out,
                           kiln_err *err) {
    *out = (kiln_sql_faults){.n = 0};
    return s->engine->check(s->db, a, out, err);
}
kiln_status kiln_sql_bytes(kiln_sql *s, int64_t *out, kiln_err *err) {
    return s->engine->bytes(s->db, out, err);
}
kiln_status kiln_sql_shrink(kiln_sql *s, kiln_err *err) {
    return s->engine->shrink(s->db, err);
}
