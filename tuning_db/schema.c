/* The tables, by version. A migration is one more entry of the list; what it does to a
 * file is never changed again. */
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
    /* 2: a hash of what the uid leaves out; '' where an older kiln wrote the row. */
    "ALTER TABLE trial ADD COLUMN seal TEXT NOT NULL DEFAULT '';",
    /* 3: records go by a profile's key, not by all of its text (profile_key.c); version
     * 0: not computed yet. */
    "ALTER TABLE profile ADD COLUMN key TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE profile ADD COLUMN key_version INTEGER NOT NULL DEFAULT 0;"
    "CREATE INDEX profile_key ON profile (key);",
};

_Static_assert(sizeof(migrations) / sizeof(migrations[0]) == KILN_DB_VERSION,
               "one migration a version");

kiln_status kiln_db_migrate(kiln_sql *s, bool read_only, kiln_err *err) {
    static const kiln_sql_schema schema = {
        .what = "tuning database",
        .application_id = APPLICATION_ID,
        .migration = migrations,
        .version = KILN_DB_VERSION,
        .oldest_read = 1,
        .is_foreign = "not kiln's tuning database",
        .is_newer = "export there and import here",
        .is_older = "; kiln tune and kiln db import bring it up to date"};
    return kiln_sql_migrate(s, &schema, read_only, err);
}
