/* The tables of the history, by version. What a migration does is never changed again.
 */
#include <stdio.h>

#include "history/history_internal.h"

/* In the file's header: what `file` and we know a history by ("KiHi"). */
#define APPLICATION_ID "1265191017"

static const char *const migrations[] = {
    /* 1. Ratios of 0 do not exist: NULL is not known. */
    "CREATE TABLE night ("
    /* Never used again, so an order that holds whatever clocks say. */
    "  seq INTEGER PRIMARY KEY AUTOINCREMENT,"
    "  folder TEXT NOT NULL UNIQUE, run TEXT NOT NULL, pipeline TEXT NOT NULL,"
    "  started TEXT, status TEXT, verdict TEXT, kiln TEXT, commit_id TEXT,"
    "  cpu TEXT, os TEXT, cores INTEGER NOT NULL, seconds REAL NOT NULL,"
    "  bytes INTEGER NOT NULL CHECK (bytes >= 0),"
    /* Of all that the night says and its jobs (care.c): a flipped bit is found. */
    "  digest TEXT NOT NULL DEFAULT '',"
    "  is_pruned INTEGER NOT NULL DEFAULT 0 CHECK (is_pruned IN (0, 1)));"
    "CREATE INDEX night_pipeline ON night (pipeline, seq);"
    "CREATE TABLE job ("
    "  seq INTEGER NOT NULL REFERENCES night ON DELETE CASCADE,"
    "  place INTEGER NOT NULL, model TEXT NOT NULL, profile TEXT NOT NULL,"
    "  threads INTEGER NOT NULL, status TEXT, verdict TEXT,"
    "  median_ms REAL NOT NULL CHECK (median_ms >= 0),"
    "  ratio REAL CHECK (ratio > 0), low REAL CHECK (low > 0),"
    "  high REAL CHECK (high > 0), archive TEXT, accepted TEXT, frozen TEXT,"
    "  archive_bytes INTEGER NOT NULL,"
    "  PRIMARY KEY (seq, place), UNIQUE (seq, model, profile, threads),"
    "  CHECK ((ratio IS NULL) = (low IS NULL)),"
    "  CHECK ((ratio IS NULL) = (high IS NULL))) WITHOUT ROWID;"
    "CREATE TABLE baseline ("
    "  seq INTEGER NOT NULL, place INTEGER NOT NULL, name TEXT NOT NULL,"
    "  ratio REAL NOT NULL CHECK (ratio > 0), low REAL NOT NULL,"
    "  high REAL NOT NULL, PRIMARY KEY (seq, place, name),"
    "  FOREIGN KEY (seq, place) REFERENCES job ON DELETE CASCADE) WITHOUT ROWID;"
    "PRAGMA application_id = " APPLICATION_ID ";",
};

_Static_assert(sizeof(migrations) / sizeof(migrations[0]) == KILN_HISTORY_VERSION,
               "one migration a version");

kiln_status kiln_history_number(kiln_sql *s, const char *text, int64_t *out,
                                kiln_err *err) {
    kiln_query q = {0};
    bool has_row = false;
    kiln_status st = kiln_query_open(s, text, &q, err);
    if (st == KILN_OK)
        st = kiln_query_step(&q, &has_row, err);
    if (st == KILN_OK)
        *out = has_row ? kiln_query_get_i64(&q, 0) : 0;
    kiln_query_close(&q);
    return st;
}

/* A file of some other program, or of a newer kiln, is left as it is. */
static kiln_status look(kiln_sql *s, int64_t *version, kiln_err *err) {
    int64_t id = 0, n_tables = 0, want = 0;
    KILN_TRY(kiln_history_number(s, "PRAGMA application_id", &id, err));
    KILN_TRY(kiln_history_number(s, "PRAGMA user_version", version, err));
    KILN_TRY(
        kiln_history_number(s, "SELECT count(*) FROM sqlite_schema", &n_tables, err));
    const bool is_empty = id == 0 && *version == 0 && n_tables == 0;
    KILN_ASSERT(kiln_parse_i64(kiln_str_from(APPLICATION_ID), &want), "a number");
    if (!is_empty && id != want)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "'%s' is a database, but no history of nights; name another "
                         "file by --history, or move this one away",
                         kiln_sql_path(s));
    if (*version > KILN_HISTORY_VERSION)
        return kiln_fail(
            err, KILN_ERR_UNSUPPORTED,
            "history '%s' has version %d, this kiln reads up to %d; use the "
            "newer kiln, or name another file by --history",
            kiln_sql_path(s), (int)*version, KILN_HISTORY_VERSION);
    return KILN_OK;
}

static kiln_status migrate(kiln_sql *s, kiln_err *err) {
    int64_t version = 0;
    KILN_TRY(look(s, &version, err)); /* again: another process may have been faster */
    for (int64_t v = version; v < KILN_HISTORY_VERSION; v++) {
        char bump[64];
        snprintf(bump, sizeof bump, "PRAGMA user_version = %d", (int)v + 1);
        KILN_TRY(kiln_sql_run(s, migrations[v], err));
        KILN_TRY(kiln_sql_run(s, bump, err));
    }
    return KILN_OK;
}

kiln_status kiln_history_migrate(kiln_sql *s, bool read_only, kiln_err *err) {
    int64_t version = 0;
    KILN_TRY(look(s, &version, err));
    if (version == KILN_HISTORY_VERSION)
        return KILN_OK;
    if (read_only)
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         "history '%s' has version %d, not %d, and may not be written "
                         "to: the next kiln nightly brings it up to date",
                         kiln_sql_path(s), (int)version, KILN_HISTORY_VERSION);
    KILN_TRY(kiln_sql_begin(s, err));
    const kiln_status st = migrate(s, err);
    if (st != KILN_OK) {
        kiln_sql_rollback(s);
        return st;
    }
    return kiln_sql_commit(s, err);
}
