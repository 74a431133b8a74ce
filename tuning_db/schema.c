/* The tables, by version. A migration is one more entry of the list; what it does to a
 * file is never changed again. */
#include <stdio.h>

#include "tuning_db/tuning_db_internal.h"

/* In the file's header: what `file` and we know a tuning database by ("KiTD"). */
#define APPLICATION_ID "1265194052"

static const char *const migrations[] = {
    /* 1 */
    "CREATE TABLE workload ("
    "  id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, anchor TEXT NOT NULL);"
    "CREATE INDEX workload_anchor ON workload (anchor);"
    "CREATE TABLE profile ("
    "  id INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, name TEXT NOT NULL,"
    "  json TEXT NOT NULL);"
    "CREATE TABLE task ("
    "  id INTEGER PRIMARY KEY,"
    "  workload INTEGER NOT NULL REFERENCES workload, "
    "  profile INTEGER NOT NULL REFERENCES profile,"
    "  threads INTEGER NOT NULL CHECK (threads >= 1),"
    "  numerics TEXT NOT NULL, cache TEXT NOT NULL,"
    "  UNIQUE (workload, profile, threads, numerics, cache));"
    "CREATE TABLE trial ("
    "  id INTEGER PRIMARY KEY, uid TEXT NOT NULL UNIQUE,"
    "  task INTEGER NOT NULL REFERENCES task,"
    "  template TEXT NOT NULL, config TEXT NOT NULL,"
    "  round INTEGER NOT NULL CHECK (round >= 0),"
    "  layouts TEXT NOT NULL, error TEXT NOT NULL, detail TEXT NOT NULL,"
    "  samples BLOB NOT NULL, median_ns REAL NOT NULL, peak_gflops REAL NOT NULL,"
    "  proof TEXT NOT NULL, facts TEXT NOT NULL, owner TEXT NOT NULL,"
    "  kiln TEXT NOT NULL, time_ms INTEGER NOT NULL,"
    "  UNIQUE (task, template, config, round),"
    /* Neither a time without a proof, nor nothing at all. */
    "  CHECK (error <> '' OR (length(samples) > 0 AND median_ns > 0 AND proof <> '')));"
    "CREATE INDEX trial_fastest ON trial (task, median_ns) WHERE error = '';"
    "CREATE TABLE claim ("
    "  task INTEGER NOT NULL REFERENCES task, template TEXT NOT NULL,"
    "  config TEXT NOT NULL, owner TEXT NOT NULL, expires_ms INTEGER NOT NULL,"
    "  PRIMARY KEY (task, template, config)) WITHOUT ROWID;"
    "CREATE INDEX claim_owner ON claim (owner);"
    "CREATE TABLE model ("
    "  id INTEGER PRIMARY KEY, kind TEXT NOT NULL, scope TEXT NOT NULL,"
    "  feature_version INTEGER NOT NULL, n_trials INTEGER NOT NULL,"
    "  bytes BLOB NOT NULL, time_ms INTEGER NOT NULL,"
    "  UNIQUE (kind, scope, feature_version));"
    "CREATE TABLE history ("
    "  id INTEGER PRIMARY KEY, time_ms INTEGER NOT NULL, what TEXT NOT NULL,"
    "  text TEXT NOT NULL);"
    "PRAGMA application_id = " APPLICATION_ID ";",
};

_Static_assert(sizeof(migrations) / sizeof(migrations[0]) == KILN_DB_VERSION,
               "one migration a version");

static kiln_status number(kiln_sql *s, const char *text, int64_t *out, kiln_err *err) {
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
    int64_t id = 0, n_tables = 0;
    KILN_TRY(number(s, "PRAGMA application_id", &id, err));
    KILN_TRY(number(s, "PRAGMA user_version", version, err));
    KILN_TRY(number(s, "SELECT count(*) FROM sqlite_schema", &n_tables, err));
    const bool is_empty = id == 0 && *version == 0 && n_tables == 0;
    int64_t want = 0;
    KILN_ASSERT(kiln_parse_i64(kiln_str_from(APPLICATION_ID), &want), "a number");
    if (!is_empty && id != want)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "'%s' is a database, but not kiln's tuning database",
                         kiln_sql_path(s));
    if (*version > KILN_DB_VERSION)
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         "tuning database '%s' has version %d, this kiln reads up to "
                         "%d; use the newer kiln, or export there and import here",
                         kiln_sql_path(s), (int)*version, KILN_DB_VERSION);
    return KILN_OK;
}

static kiln_status migrate(kiln_sql *s, kiln_err *err) {
    int64_t version = 0;
    KILN_TRY(look(s, &version, err)); /* again: another process may have been faster */
    for (int64_t v = version; v < KILN_DB_VERSION; v++) {
        char bump[64];
        snprintf(bump, sizeof bump, "PRAGMA user_version = %d", (int)v + 1);
        KILN_TRY(kiln_sql_run(s, migrations[v], err));
        KILN_TRY(kiln_sql_run(s, bump, err));
    }
    return KILN_OK;
}

kiln_status kiln_db_migrate(kiln_sql *s, bool read_only, kiln_err *err) {
    int64_t version = 0;
    KILN_TRY(look(s, &version, err));
    if (version == KILN_DB_VERSION)
        return KILN_OK;
    if (read_only)
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         "tuning database '%s' has version %d, not %d; kiln tune and "
                         "kiln db import bring it up to date",
                         kiln_sql_path(s), (int)version, KILN_DB_VERSION);
    KILN_TRY(kiln_sql_begin(s, err));
    const kiln_status st = migrate(s, err);
    if (st != KILN_OK) {
        kiln_sql_rollback(s);
        return st;
    }
    return kiln_sql_commit(s, err);
}
