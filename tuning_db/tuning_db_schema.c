/* The tables, by version. A migration is one more entry of the list; what it does to a
 * file is never changed again. */
#include "tuning_db/tuning_db_internal.h"

/* What `file` and we know a tuning database by ("KiTD"). */
enum { APPLICATION = 1265194052 };

static const char *const migrations[] = {
    /* 1 */
    "CREATE TABLE workload ("
    "  id {id}, key {text} NOT NULL UNIQUE, anchor {text} NOT NULL);"
    "CREATE INDEX workload_anchor ON workload (anchor);"
    "CREATE TABLE profile ("
    "  id {id}, hash {text} NOT NULL UNIQUE, name {text} NOT NULL,"
    "  json {text} NOT NULL);"
    "CREATE TABLE task ("
    "  id {id},"
    "  workload {int} NOT NULL REFERENCES workload, "
    "  profile {int} NOT NULL REFERENCES profile,"
    "  threads {int} NOT NULL CHECK (threads >= 1),"
    "  numerics {text} NOT NULL, cache {text} NOT NULL,"
    "  UNIQUE (workload, profile, threads, numerics, cache));"
    "CREATE TABLE trial ("
    "  id {id}, uid {text} NOT NULL UNIQUE,"
    "  task {int} NOT NULL REFERENCES task,"
    "  template {text} NOT NULL, config {text} NOT NULL,"
    "  round {int} NOT NULL CHECK (round >= 0),"
    "  layouts {text} NOT NULL, error {text} NOT NULL, detail {text} NOT NULL,"
    "  samples {bytes} NOT NULL, median_ns {real} NOT NULL, peak_gflops {real} NOT "
    "NULL,"
    "  proof {text} NOT NULL, facts {text} NOT NULL, owner {text} NOT NULL,"
    "  kiln {text} NOT NULL, time_ms {int} NOT NULL,"
    "  UNIQUE (task, template, config, round),"
    /* Neither a time without a proof, nor nothing at all. */
    "  CHECK (error <> '' OR (length(samples) > 0 AND median_ns > 0 AND proof <> '')));"
    "CREATE INDEX trial_fastest ON trial (task, median_ns) WHERE error = '';"
    "CREATE TABLE claim ("
    "  task {int} NOT NULL REFERENCES task, template {text} NOT NULL,"
    "  config {text} NOT NULL, owner {text} NOT NULL, expires_ms {int} NOT NULL,"
    "  PRIMARY KEY (task, template, config)){no_id};"
    "CREATE INDEX claim_owner ON claim (owner);"
    "CREATE TABLE model ("
    "  id {id}, kind {text} NOT NULL, scope {text} NOT NULL,"
    "  feature_version {int} NOT NULL, n_trials {int} NOT NULL,"
    "  bytes {bytes} NOT NULL, time_ms {int} NOT NULL,"
    "  UNIQUE (kind, scope, feature_version));"
    "CREATE TABLE history ("
    "  id {id}, time_ms {int} NOT NULL, what {text} NOT NULL,"
    "  text {text} NOT NULL);",
    /* 2: a hash of what the uid leaves out; '' where an older kiln wrote the row. */
    "ALTER TABLE trial ADD COLUMN seal {text} NOT NULL DEFAULT '';",
    /* 3: records go by a profile's key, not by all of its text (profile_key.c); version
     * 0: not computed yet. */
    "ALTER TABLE profile ADD COLUMN key {text} NOT NULL DEFAULT '';"
    "ALTER TABLE profile ADD COLUMN key_version {int} NOT NULL DEFAULT 0;"
    "CREATE INDEX profile_key ON profile (key);",
    /* 4: the runner that measured; '' where an older kiln wrote the row. */
    "ALTER TABLE trial ADD COLUMN runner {text} NOT NULL DEFAULT '';",
};

_Static_assert(sizeof(migrations) / sizeof(migrations[0]) == KILN_DB_VERSION,
               "one migration a version");

/* A file that may not be written to lacks columns: whoever reads sees what a migration
 * would put there. */
static kiln_status show_columns(kiln_sql *s, kiln_err *err) {
    bool has_runner = false, has_seal = false;
    KILN_TRY(kiln_sql_has_column(s, "trial", "runner", &has_runner, err));
    if (has_runner)
        return KILN_OK;
    KILN_TRY(kiln_sql_has_column(s, "trial", "seal", &has_seal, err));
    return kiln_sql_view(
        s, "trial", has_seal ? "*, '' AS runner" : "*, '' AS seal, '' AS runner", err);
}

kiln_status kiln_db_migrate(kiln_sql *s, bool read_only, kiln_err *err) {
    static const kiln_sql_schema schema = {
        .what = "tuning database",
        .application = APPLICATION,
        .migration = migrations,
        .version = KILN_DB_VERSION,
        .oldest_read = 1,
        .is_foreign = "not kiln's tuning database",
        .is_newer = "export there and import here",
        .is_older = "; kiln tune and kiln db import bring it up to date"};
    KILN_TRY(kiln_sql_migrate(s, &schema, read_only, err));
    return read_only ? show_columns(s, err) : KILN_OK;
}
