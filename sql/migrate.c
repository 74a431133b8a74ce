/* Bringing a file's tables up to date: the same for every database of kiln's. */
#include "sql/sql.h"

#include <inttypes.h>
#include <stdio.h>

kiln_status kiln_sql_number(kiln_sql *s, const char *text, int64_t *out,
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
static kiln_status look(kiln_sql *s, const kiln_sql_schema *d, int64_t *version,
                        kiln_err *err) {
    int64_t id = 0, want = 0, n_tables = 0;
    KILN_ASSERT(kiln_parse_i64(kiln_str_from(d->application_id), &want), "a number");
    KILN_TRY(kiln_sql_number(s, "PRAGMA application_id", &id, err));
    KILN_TRY(kiln_sql_number(s, "PRAGMA user_version", version, err));
    KILN_TRY(kiln_sql_number(s, "SELECT count(*) FROM sqlite_schema", &n_tables, err));
    const bool is_empty = id == 0 && *version == 0 && n_tables == 0;
    if (!is_empty && id != want)
        return kiln_fail(err, KILN_ERR_PARSE, "'%s' is a database, but %s",
                         kiln_sql_path(s), d->is_foreign);
    if (*version < 0)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "%s '%s' has version %" PRId64
                         ", which there is none of: the file is damaged",
                         d->what, kiln_sql_path(s), *version);
    if (*version > d->version)
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         "%s '%s' has version %" PRId64
                         ", this kiln reads up to %d; use the newer kiln, or %s",
                         d->what, kiln_sql_path(s), *version, d->version, d->is_newer);
    return KILN_OK;
}

static kiln_status migrate(kiln_sql *s, const kiln_sql_schema *d, kiln_err *err) {
    int64_t version = 0;
    /* Again: another process may have been faster. */
    KILN_TRY(look(s, d, &version, err));
    for (int v = (int)version; v < d->version; v++) {
        char bump[64];
        snprintf(bump, sizeof bump, "PRAGMA user_version = %d", v + 1);
        KILN_TRY(kiln_sql_run(s, d->migration[v], err));
        KILN_TRY(kiln_sql_run(s, bump, err));
    }
    return KILN_OK;
}

kiln_status kiln_sql_migrate(kiln_sql *s, const kiln_sql_schema *d, bool read_only,
                             kiln_err *err) {
    int64_t version = 0;
    KILN_TRY(look(s, d, &version, err));
    const bool is_read = d->oldest_read > 0 && version >= d->oldest_read;
    if (version == d->version || (read_only && is_read))
        return KILN_OK;
    if (read_only)
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         "%s '%s' has version %" PRId64 ", not %d%s", d->what,
                         kiln_sql_path(s), version, d->version, d->is_older);
    KILN_TRY(kiln_sql_begin(s, err));
    const kiln_status st = migrate(s, d, err);
    if (st != KILN_OK) {
        kiln_sql_rollback(s);
        return st;
    }
    return kiln_sql_commit(s, err);
}
