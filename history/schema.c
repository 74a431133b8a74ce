/* The tables of the history, by version. What a migration does is never changed again.
 */
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

kiln_status kiln_history_migrate(kiln_sql *s, bool read_only, kiln_err *err) {
    static const kiln_sql_schema schema = {
        .what = "history",
        .application_id = APPLICATION_ID,
        .migration = migrations,
        .version = KILN_HISTORY_VERSION,
        .is_foreign = "no history of nights; name another file by --history, or move "
                      "this one away",
        .is_newer = "name another file by --history",
        .is_older = ", and may not be written to: the next kiln nightly brings it up "
                    "to date"};
    return kiln_sql_migrate(s, &schema, read_only, err);
}
