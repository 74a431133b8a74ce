/* SQLite: its C interface appears in this file only. */
#include "sql/sql.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

struct kiln_sql {
    sqlite3 *db;
    const char *path, *what, *remedy;
    int busy_ms;
    int64_t waits_since_ns; /* of the wait at work */
    bool has_said;          /* that it waits */
};

/* Another process has the lock: again in a while, until it has taken too long or
 * somebody asked us to end. Said once where it takes long: nobody should have to guess
 * what a silent program does. */
static int wait_for_lock(void *user, int n_before) {
    /* Who was asked to end still has something to put down: what others do in passing
     * takes no second. */
    enum { PAUSE_MS = 20, SAID_AFTER_MS = 2000, LAST_MS = 1000 };
    kiln_sql *s = user;
    const int64_t now = kiln_now_ns();
    if (n_before == 0)
        s->waits_since_ns = now;
    const int64_t waited_ms = (now - s->waits_since_ns) / 1000000;
    if (waited_ms >= s->busy_ms || (waited_ms >= LAST_MS && kiln_interrupted()))
        return 0;
    if (waited_ms >= SAID_AFTER_MS / 2)
        kiln_progress_step("another process holds the database", "seconds",
                           (double)waited_ms / 1000, (double)s->busy_ms / 1000,
                           s->path);
    if (waited_ms >= SAID_AFTER_MS && !s->has_said) {
        s->has_said = true;
        KILN_LOG(WARN, "sql",
                 "%s '%s' is locked by another process; waiting for it, up to %d s",
                 s->what, s->path, s->busy_ms / 1000);
    }
    (void)sqlite3_sleep(PAUSE_MS);
    return 1;
}

/* What the caller can do: wait and try again, look at the disk, or distrust the file.
 */
static kiln_status failed(kiln_sql *s, const char *doing, kiln_err *err) {
    const char *const text = sqlite3_errmsg(s->db);
    switch (sqlite3_errcode(s->db) & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        if (kiln_interrupted())
            return kiln_fail(err, KILN_ERR_INTERRUPTED,
                             "interrupted while another process holds %s '%s'", s->what,
                             s->path);
        return kiln_fail(err, KILN_ERR_IO,
                         "%s '%s' is in use by another process that does not let go "
                         "(%s); try again when that has ended",
                         s->what, s->path, doing);
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
        return kiln_fail(err, KILN_ERR_PARSE, "'%s' is not a %s, or damaged: %s; %s",
                         s->path, s->what, text, s->remedy);
    case SQLITE_FULL:
        return kiln_fail(
            err, KILN_ERR_IO,
            "no space left for %s '%s'; make room there, then run the same "
            "command again",
            s->what, s->path);
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
        return kiln_fail(err, KILN_ERR_IO,
                         "%s '%s': %s (%s); its folder must be there, and writable",
                         s->what, s->path, text, doing);
    case SQLITE_PERM:
    case SQLITE_IOERR:
        return kiln_fail(err, KILN_ERR_IO, "%s '%s': %s (%s)", s->what, s->path, text,
                         doing);
    case SQLITE_NOMEM:
        kiln_out_of_memory(0);
    default:
        return kiln_fail(err, KILN_ERR_LIB, "%s '%s': %s (%s)", s->what, s->path, text,
                         doing);
    }
}

static kiln_status set_up(kiln_sql *s, const kiln_sql_options *o, kiln_err *err) {
    sqlite3_busy_handler(s->db, wait_for_lock, s);
    sqlite3_extended_result_codes(s->db, 1);
    /* Untrusted files: no functions or views of theirs run anything of ours. */
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    KILN_TRY(
        kiln_sql_run(s, "PRAGMA foreign_keys = ON; PRAGMA cell_size_check = ON;", err));
    /* A commit in the write-ahead log survives the death of the process; what a power
     * cut may take is the last seconds, never the file. */
    if (!o->read_only)
        KILN_TRY(kiln_sql_run(
            s,
            o->is_single_file
                ? "PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL;"
                : "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;",
            err));
    return KILN_OK;
}

/* A database with a write-ahead log is read through files beside it, which SQLite
 * makes: in a folder that nobody here may write to, it reads the file alone. Nothing is
 * missing then as long as no log lies there. */
static const char *alone(kiln_arena *a, const char *path) {
    static const char hex[] = "0123456789ABCDEF";
    kiln_buf uri;
    if (faccessat(AT_FDCWD, kiln_path_dir(a, path), W_OK, AT_EACCESS) == 0 ||
        kiln_file_exists(kiln_format(a, "%s-wal", path)))
        return NULL;
    kiln_buf_init(&uri, a);
    kiln_buf_puts(&uri, "file:");
    for (const char *c = path; *c != '\0'; c++) {
        const char escaped[] = {'%', hex[(unsigned char)*c >> 4], hex[*c & 15], '\0'};
        const char plain[] = {*c, '\0'};
        kiln_buf_puts(&uri, strchr("%?#", *c) != NULL ? escaped : plain);
    }
    kiln_buf_puts(&uri, "?immutable=1");
    return uri.p;
}

kiln_status kiln_sql_open(kiln_arena *a, const char *path, const kiln_sql_options *o,
                          kiln_sql **out, kiln_err *err) {
    kiln_sql *s = kiln_new(a, kiln_sql);
    s->path = kiln_str_dup(a, path);
    s->what = o->what;
    s->remedy = o->remedy;
    s->busy_ms = o->busy_ms;
    const char *uri = o->read_only ? alone(a, path) : NULL;
    const int flags = (o->read_only ? SQLITE_OPEN_READONLY
                                    : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE) |
                      (uri != NULL ? SQLITE_OPEN_URI : 0) | SQLITE_OPEN_NOMUTEX;
    kiln_status st = KILN_OK;
    if (sqlite3_open_v2(uri != NULL ? uri : path, &s->db, flags, NULL) != SQLITE_OK)
        st = failed(s, "opening it", err);
    if (st == KILN_OK)
        st = set_up(s, o, err);
    if (st != KILN_OK) {
        kiln_sql_close(s);
        return st;
    }
    *out = s;
    return KILN_OK;
}

void kiln_sql_close(kiln_sql *s) {
    if (s != NULL)
        sqlite3_close(s->db);
}

const char *kiln_sql_path(const kiln_sql *s) { return s->path; }

kiln_status kiln_sql_run(kiln_sql *s, const char *text, kiln_err *err) {
    return sqlite3_exec(s->db, text, NULL, NULL, NULL) == SQLITE_OK
               ? KILN_OK
               : failed(s, "running statements", err);
}

kiln_status kiln_sql_begin(kiln_sql *s, kiln_err *err) {
    return kiln_sql_run(s, "BEGIN IMMEDIATE", err);
}

kiln_status kiln_sql_commit(kiln_sql *s, kiln_err *err) {
    return kiln_sql_run(s, "COMMIT", err);
}

void kiln_sql_rollback(kiln_sql *s) {
    if (sqlite3_get_autocommit(s->db) == 0)
        (void)kiln_sql_run(s, "ROLLBACK", NULL);
}

kiln_status kiln_query_open(kiln_sql *s, const char *text, kiln_query *out,
                            kiln_err *err) {
    sqlite3_stmt *handle = NULL;
    if (sqlite3_prepare_v2(s->db, text, -1, &handle, NULL) != SQLITE_OK)
        return failed(s, "reading a statement", err);
    *out = (kiln_query){s, handle};
    return KILN_OK;
}

/* A bind can only fail for a parameter that is not there, or for lack of memory. */
static void bound(int rc, int at) {
    if (rc == SQLITE_NOMEM)
        kiln_out_of_memory(0);
    KILN_ASSERT(rc == SQLITE_OK, "parameter %d: SQLite's code %d", at, rc);
}

void kiln_query_i64(kiln_query *q, int at, int64_t v) {
    bound(sqlite3_bind_int64(q->handle, at, v), at);
}
void kiln_query_f64(kiln_query *q, int at, double v) {
    bound(sqlite3_bind_double(q->handle, at, v), at);
}
void kiln_query_text(kiln_query *q, int at, const char *z) {
    bound(sqlite3_bind_text(q->handle, at, z, -1, SQLITE_STATIC), at);
}
void kiln_query_bytes(kiln_query *q, int at, kiln_str bytes) {
    bound(sqlite3_bind_blob64(q->handle, at, bytes.p, bytes.n, SQLITE_STATIC), at);
}

kiln_status kiln_query_step(kiln_query *q, bool *has_row, kiln_err *err) {
    const int rc = sqlite3_step(q->handle);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        return failed(q->sql, "running a statement", err);
    *has_row = rc == SQLITE_ROW;
    return KILN_OK;
}

kiln_status kiln_query_run(kiln_query *q, kiln_err *err) {
    bool has_row = false;
    const kiln_status st = kiln_query_step(q, &has_row, err);
    kiln_query_reset(q);
    return st;
}

void kiln_query_reset(kiln_query *q) { sqlite3_reset(q->handle); }

int64_t kiln_query_get_i64(kiln_query *q, int col) {
    return sqlite3_column_int64(q->handle, col);
}
double kiln_query_get_f64(kiln_query *q, int col) {
    return sqlite3_column_double(q->handle, col);
}
kiln_str kiln_query_get_bytes(kiln_query *q, int col, kiln_arena *a) {
    const void *const p = sqlite3_column_blob(q->handle, col);
    const size_t n = (size_t)sqlite3_column_bytes(q->handle, col);
    return (kiln_str){n == 0 ? "" : kiln_arena_dup(a, p, n), n};
}
const char *kiln_query_get_text(kiln_query *q, int col, kiln_arena *a) {
    const unsigned char *const p = sqlite3_column_text(q->handle, col);
    return p == NULL ? "" : kiln_str_dup(a, (const char *)p);
}
void kiln_query_close(kiln_query *q) {
    sqlite3_finalize(q->handle);
    q->handle = NULL;
}

int64_t kiln_sql_last_id(const kiln_sql *s) { return sqlite3_last_insert_rowid(s->db); }
int64_t kiln_sql_n_changed(const kiln_sql *s) { return sqlite3_changes64(s->db); }
