/* What kiln's databases ask of SQL: a connection, statements with numbered parameters,
 * rows. Which engine answers, and in which words it wants to be asked, its row says
 * (sql_engine.h): SQLite, a file of one machine's, or PostgreSQL, a server that many share.
 *
 * Statements are portable. They keep to what SQLite and PostgreSQL both read as it
 * stands, with two things that each engine writes in its own words:
 *
 *     ?1, ?2, ...             parameters
 *     {id}                    a column that numbers the rows, first come first
 *     {serial}                the same, and a number is never used again
 *     {int} {real} {text} {bytes}    64 bits, 8 bytes, UTF-8 that compares by its
 *                             bytes, any bytes
 *     {no_id}                 behind a table whose rows its key alone tells apart
 *     {member JSON NAME}      a JSON text's member as text; NULL: it is none, or has
 *                             none of that name
 *
 * What a row that is there already means is said by ON CONFLICT, and a NaN is NULL.
 * Nothing else of an engine may appear in them: tests/support/made_up/strict_sql.c is
 * an engine that refuses it.
 *
 * A statement is finished by its owner, also after a failure (a zeroed one is fine).
 */
#ifndef KILN_SQL_SQL_H
#define KILN_SQL_SQL_H

#include "base/base.h"

typedef struct kiln_sql kiln_sql;
typedef struct kiln_sql_engine kiln_sql_engine;
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
    const kiln_sql_engine *engine; /* NULL: the one that the place names */
} kiln_sql_options;

/* A database that nobody else sees, and that is gone when it is closed. */
#define KILN_SQL_MEMORY ":memory:"

/* `place` is "ENGINE:..." with the name of a row of engines.def
 * ("postgresql://USER@HOST/DATABASE"), else a path for the first of them. Failures say what the caller can do: KILN_ERR_IO wait for another
 * process and try again, make room, or look at the disk; KILN_ERR_PARSE distrust the
 * file; KILN_ERR_INTERRUPTED.
 * The handle lies in the arena; the texts of the options must stay. */
kiln_status kiln_sql_open(kiln_arena *a, const char *place, const kiln_sql_options *o,
                          kiln_sql **out, kiln_err *err);
void kiln_sql_close(kiln_sql *s);             /* NULL is fine */
const char *kiln_sql_path(const kiln_sql *s); /* as messages name it */
/* The path of the file that a place is; NULL: it is none (in memory, or elsewhere). */
const char *kiln_sql_file(const char *place);

/* Statements without parameters or rows, separated by semicolons. */
kiln_status kiln_sql_run(kiln_sql *s, const char *text, kiln_err *err);
/* Takes the right to write at once, so that nothing read inside can change. */
kiln_status kiln_sql_begin(kiln_sql *s, kiln_err *err);
kiln_status kiln_sql_commit(kiln_sql *s, kiln_err *err);
void kiln_sql_rollback(kiln_sql *s);

kiln_status kiln_query_open(kiln_sql *s, const char *text, kiln_query *out,
                            kiln_err *err);
/* Parameters count from 1. Bytes must stay until the next step has run. NULL text,
 * bytes at NULL and NaN are NULL. */
void kiln_query_i64(kiln_query *q, int at, int64_t v);
void kiln_query_f64(kiln_query *q, int at, double v);
void kiln_query_text(kiln_query *q, int at, const char *z);
void kiln_query_bytes(kiln_query *q, int at, kiln_str bytes);
/* *has_row: a row is there to be read; false: the statement is done. */
kiln_status kiln_query_step(kiln_query *q, bool *has_row, kiln_err *err);
/* For what gives no rows: runs it, and makes it ready for other parameters. */
kiln_status kiln_query_run(kiln_query *q, kiln_err *err);
void kiln_query_reset(kiln_query *q);
/* Columns count from 0; copies in the arena. NULL reads as 0, "" and no bytes, a number's
 * bytes are its digits: of a {real} 15, and a point. */
int64_t kiln_query_get_i64(kiln_query *q, int col);
double kiln_query_get_f64(kiln_query *q, int col);
const char *kiln_query_get_text(kiln_query *q, int col, kiln_arena *a);
kiln_str kiln_query_get_bytes(kiln_query *q, int col, kiln_arena *a);
void kiln_query_close(kiln_query *q);

/* Rows that the last statement added, changed or removed. */
int64_t kiln_sql_n_changed(const kiln_sql *s);

/* ---- tables by version (migrate.c) ----------------------------------------------- */

typedef struct kiln_sql_schema {
    const char *what;    /* "tuning database" */
    int32_t application; /* a number that tells such databases from others */
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
kiln_status kiln_sql_has_column(kiln_sql *s, const char *table, const char *column,
                                bool *out, kiln_err *err);
/* Later statements of this connection read and write a copy of the table in its place,
 * with what `columns` selects, gone when it closes: for a file that may not be written
 * to. Rows that others add to the table meanwhile are not seen. */
kiln_status kiln_sql_shadow(kiln_sql *s, const char *table, const char *columns,
                            kiln_err *err);
/* Later statements of this connection read the table through `columns`, such as
 * "*, 0 AS added", which costs nothing; they cannot write to it. */
kiln_status kiln_sql_view(kiln_sql *s, const char *table, const char *columns,
                          kiln_err *err);

/* ---- care --------------------------------------------------------------------------
 */

/* One thing that is wrong with the file, texts in the caller's arena. */
typedef struct kiln_sql_fault {
    const char *text;           /* of the structure, in the engine's words; else NULL */
    const char *table, *parent; /* a row of `table` refers to one that is not there */
} kiln_sql_fault;
typedef KILN_VEC(kiln_sql_fault) kiln_sql_faults;
/* Looks at the whole file. */
kiln_status kiln_sql_check(kiln_sql *s, kiln_arena *a, kiln_sql_faults *out,
                           kiln_err *err);
kiln_status kiln_sql_bytes(kiln_sql *s, int64_t *out, kiln_err *err);
/* Gives back the room of what was removed. */
kiln_status kiln_sql_shrink(kiln_sql *s, kiln_err *err);

#endif
