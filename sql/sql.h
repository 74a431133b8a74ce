/* What kiln's databases ask of SQL, so that another engine is one more file: a
 * connection, statements with numbered parameters, rows.
 *
 * A statement is finished by its owner, also after a failure (a zeroed one is fine).
 */
#ifndef KILN_SQL_SQL_H
#define KILN_SQL_SQL_H

#include "base/base.h"

typedef struct kiln_sql kiln_sql;
typedef struct kiln_query {
    kiln_sql *sql;
    void *handle;
} kiln_query;

typedef struct kiln_sql_options {
    bool read_only;
    int busy_ms;        /* to wait for another process that writes */
    const char *what;   /* for messages: "tuning database" */
    const char *remedy; /* what to do about a damaged file: "move it away, ..." */
    /* A rollback journal and a commit that is on the disk when it returns, instead of a
     * write-ahead log: for a file of few writes that is copied to other places, where a
     * log beside it would be left behind. */
    bool is_single_file;
} kiln_sql_options;
/* The handle lies in the arena; the texts of the options must stay. */
kiln_status kiln_sql_open(kiln_arena *a, const char *path, const kiln_sql_options *o,
                          kiln_sql **out, kiln_err *err);
void kiln_sql_close(kiln_sql *s);
const char *kiln_sql_path(const kiln_sql *s);

/* Statements without parameters or rows, separated by semicolons. */
kiln_status kiln_sql_run(kiln_sql *s, const char *text, kiln_err *err);
/* Takes the right to write at once, so that nothing read inside can change. */
kiln_status kiln_sql_begin(kiln_sql *s, kiln_err *err);
kiln_status kiln_sql_commit(kiln_sql *s, kiln_err *err);
void kiln_sql_rollback(kiln_sql *s);

kiln_status kiln_query_open(kiln_sql *s, const char *text, kiln_query *out,
                            kiln_err *err);
/* Parameters count from 1. Bytes must stay until the next step has run. NULL text is
 * NULL. */
void kiln_query_i64(kiln_query *q, int at, int64_t v);
void kiln_query_f64(kiln_query *q, int at, double v);
void kiln_query_text(kiln_query *q, int at, const char *z);
void kiln_query_bytes(kiln_query *q, int at, kiln_str bytes);
/* *has_row: a row is there to be read; false: the statement is done. */
kiln_status kiln_query_step(kiln_query *q, bool *has_row, kiln_err *err);
/* For what gives no rows: runs it, and makes it ready for other parameters. */
kiln_status kiln_query_run(kiln_query *q, kiln_err *err);
void kiln_query_reset(kiln_query *q);
/* Columns count from 0; copies in the arena. NULL reads as 0, "" and no bytes. */
int64_t kiln_query_get_i64(kiln_query *q, int col);
double kiln_query_get_f64(kiln_query *q, int col);
const char *kiln_query_get_text(kiln_query *q, int col, kiln_arena *a);
kiln_str kiln_query_get_bytes(kiln_query *q, int col, kiln_arena *a);
void kiln_query_close(kiln_query *q);

/* The first column of a statement's first row; 0: it has none. */
kiln_status kiln_sql_number(kiln_sql *s, const char *text, int64_t *out, kiln_err *err);

/* ---- tables by version (migrate.c) -------------------------------------------------
 */

typedef struct kiln_sql_schema {
    const char *what;           /* "tuning database" */
    const char *application_id; /* a number: the header's, by the first migration */
    /* migration[v] leads from version v to v + 1; what it does is never changed. */
    const char *const *migration;
    int version;     /* that they lead to */
    int oldest_read; /* who only reads takes files from this version on; 0: none older
                      */
    const char *is_foreign; /* "... is a database, but" this: another program's file */
    const char *is_newer;   /* "use the newer kiln, or" this */
    const char *is_older;   /* where it may not be written to: behind both versions */
} kiln_sql_schema;
/* An empty file becomes one of that version, an older one too. KILN_ERR_PARSE: another
 * program's, or damaged; KILN_ERR_UNSUPPORTED: of a newer kiln, or not to be written.
 */
kiln_status kiln_sql_migrate(kiln_sql *s, const kiln_sql_schema *d, bool read_only,
                             kiln_err *err);

int64_t kiln_sql_last_id(const kiln_sql *s);
int64_t kiln_sql_n_changed(const kiln_sql *s);

#endif
