/* The tables of the history, by version. What a migration does is never changed again.
 */
#include "history/history_internal.h"

/* What `file` and we know a history by ("KiHi"). */
enum { APPLICATION = 1265191017 };

static const char *const migrations[] = {
    /* 1. Ratios of 0 do not exist: NULL is not known. */
    "CREATE TABLE night ("
    /* Never used again, so an order that holds whatever clocks say. */
    "  seq {serial},"
    "  folder {text} NOT NULL UNIQUE, run {text} NOT NULL, pipeline {text} NOT NULL,"
    "  started {text}, status {text}, verdict {text}, kiln {text}, commit_id {text},"
    "  cpu {text}, os {text}, cores {int} NOT NULL, seconds {real} NOT NULL,"
    "  bytes {int} NOT NULL CHECK (bytes >= 0),"
    /* Of all that the night says and its jobs (history_care.c): a flipped bit is found. */
    "  digest {text} NOT NULL DEFAULT '',"
    "  is_pruned {int} NOT NULL DEFAULT 0 CHECK (is_pruned IN (0, 1)));"
    "CREATE INDEX night_pipeline ON night (pipeline, seq);"
    "CREATE TABLE job ("
    "  seq {int} NOT NULL REFERENCES night ON DELETE CASCADE,"
    "  place {int} NOT NULL, model {text} NOT NULL, profile {text} NOT NULL,"
    "  threads {int} NOT NULL, status {text}, verdict {text},"
    "  median_ms {real} NOT NULL CHECK (median_ms >= 0),"
    "  ratio {real} CHECK (ratio > 0), low {real} CHECK (low > 0),"
    "  high {real} CHECK (high > 0), archive {text}, accepted {text}, frozen {text},"
    "  archive_bytes {int} NOT NULL,"
    "  PRIMARY KEY (seq, place), UNIQUE (seq, model, profile, threads),"
    "  CHECK ((ratio IS NULL) = (low IS NULL)),"
    "  CHECK ((ratio IS NULL) = (high IS NULL))){no_id};"
    "CREATE TABLE baseline ("
    "  seq {int} NOT NULL, place {int} NOT NULL, name {text} NOT NULL,"
    "  ratio {real} NOT NULL CHECK (ratio > 0), low {real} NOT NULL,"
    "  high {real} NOT NULL, PRIMARY KEY (seq, place, name),"
    "  FOREIGN KEY (seq, place) REFERENCES job ON DELETE CASCADE){no_id};",
};

_Static_assert(sizeof(migrations) / sizeof(migrations[0]) == KILN_HISTORY_VERSION,
               "one migration a version");

kiln_status kiln_history_migrate(kiln_sql *s, bool read_only, kiln_err *err) {
    static const kiln_sql_schema schema = {
        .what = "history",
        .application = APPLICATION,
        .migration = migrations,
        .version = KILN_HISTORY_VERSION,
        .is_foreign = "no history of nights; name another file by --history, or move "
                      "this one away",
        .is_newer = "name another file by --history",
        .is_older = ", and may not be written to: the next kiln nightly brings it up "
                    "to date"};
    return kiln_sql_migrate(s, &schema, read_only, err);
}
