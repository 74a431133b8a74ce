/* Bringing a file's tables up to date: the same for every database of kiln's. */
#include <inttypes.h>

#include "sql/sql_engine.h"

/* A file of some other program, or of a newer kiln, is left as it is. */
static kiln_status look(kiln_sql *s, const kiln_sql_schema *d, int64_t *version,
                        kiln_err *err) {
    kiln_sql_identity is = {0};
    KILN_TRY(s->engine->identity(s->db, &is, err));
    *version = is.version;
    const bool is_new = is.application == 0 && is.version == 0 && is.is_empty;
    if (!is_new && is.application != d->application)
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
    for (int64_t v = version; v < d->version; v++)
        KILN_TRY(kiln_sql_run(s, d->migration[v], err));
    return s->engine->set_identity(s->db, d->application, d->version, err);
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
