/* SQLite: its C interface, and what only it understands, appear in this file alone. */
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sql/sql_engine.h"

typedef struct lite {
    sqlite3 *db;
    const char *path, *what, *remedy;
    int busy_ms;
    int64_t waits_since_ns; /* of the wait at work */
    bool has_said;          /* that it waits */
} lite;

static const kiln_sql_word words[] = {
    {"id", "INTEGER PRIMARY KEY"},
    {"serial", "INTEGER PRIMARY KEY AUTOINCREMENT"},
    {"int", "INTEGER"},
    {"real", "REAL"},
    {"text", "TEXT"},
    {"bytes", "BLOB"},
    {"no_id", " WITHOUT ROWID"},
    {"member", "CASE WHEN json_valid(#1) THEN json_extract(#1, '$.#2') END"},
};
static const kiln_sql_dialect dialect = {
    .parameter = "?", .word = words, .n_words = sizeof words / sizeof words[0]};

/* ---- failures, and waiting --------------------------------------------------------
 */

enum { PAUSE_MS = 20 };

/* Another process has the lock: again in a while, until it has taken too long or
 * somebody asked us to end. Said once where it takes long: nobody should have to guess
 * what a silent program does. */
static int wait_for_lock(void *user, int n_before) {
    /* Who was asked to end still has something to put down: what others do in passing
     * takes no second. */
    enum { SAID_AFTER_MS = 2000, LAST_MS = 1000 };
    lite *s = user;
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
static kiln_status failed(lite *s, const char *doing, kiln_err *err) {
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
        return kiln_fail(err, KILN_ERR_IO, "%s '%s': %s (%s)%s", s->what, s->path, text,
                         doing, kiln_errno_remedy(sqlite3_system_errno(s->db)));
    case SQLITE_NOMEM:
        kiln_out_of_memory(0);
    default:
        return kiln_fail(err, KILN_ERR_LIB, "%s '%s': %s (%s)", s->what, s->path, text,
                         doing);
    }
}

/* ---- opening ----------------------------------------------------------------------
 */

static kiln_status run_raw(lite *s, const char *text, kiln_err *err) {
    return sqlite3_exec(s->db, text, NULL, NULL, NULL) == SQLITE_OK
               ? KILN_OK
               : failed(s, "running statements", err);
}

/* Where two change a new file's journal at once, SQLite tells one of them that it is busy
 * and asks no handler: each has read it, and waits for the other. Asked again, one finds
 * it done. */
static kiln_status set_journal(lite *s, bool is_single_file, kiln_err *err) {
    const char *const text =
        is_single_file ? "PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL;"
                       : "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;";
    const int64_t begin = kiln_now_ns();
    int rc;
    while ((rc = sqlite3_exec(s->db, text, NULL, NULL, NULL) & 0xff) == SQLITE_BUSY &&
           kiln_now_ns() - begin < INT64_C(1000000) * s->busy_ms && !kiln_interrupted())
        (void)sqlite3_sleep(PAUSE_MS);
    return rc == SQLITE_OK ? KILN_OK : failed(s, "opening it", err);
}

static kiln_status set_up(lite *s, const kiln_sql_options *o, kiln_err *err) {
    sqlite3_busy_handler(s->db, wait_for_lock, s);
    sqlite3_extended_result_codes(s->db, 1);
    /* Untrusted files: no functions or views of theirs run anything of ours. */
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    KILN_TRY(run_raw(s, "PRAGMA foreign_keys = ON; PRAGMA cell_size_check = ON;", err));
    /* A commit in the write-ahead log survives the death of the process; what a power
     * cut may take is the last seconds, never the file. */
    if (!o->read_only)
        KILN_TRY(set_journal(s, o->is_single_file, err));
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

static void close_db(void *db) {
    lite *s = db;
    sqlite3_close(s->db);
}

static kiln_status open_db(kiln_arena *a, const char *path, const kiln_sql_options *o,
                           void **out, kiln_err *err) {
    lite *s = kiln_new(a, lite);
    s->path = path;
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
        close_db(s);
        return st;
    }
    *out = s;
    return KILN_OK;
}

static kiln_status run(void *db, const char *statements, kiln_err *err) {
    kiln_arena scratch = {0};
    const kiln_status st =
        run_raw(db, kiln_sql_spell(&scratch, &dialect, statements), err);
    kiln_arena_fini(&scratch);
    return st;
}

/* Takes the right to write at once: a read that becomes a write later may be refused.
 */
static kiln_status begin(void *db, kiln_err *err) {
    return run_raw(db, "BEGIN IMMEDIATE", err);
}
static kiln_status commit(void *db, kiln_err *err) {
    return run_raw(db, "COMMIT", err);
}
static void rollback(void *db) {
    lite *s = db;
    if (sqlite3_get_autocommit(s->db) == 0)
        (void)run_raw(s, "ROLLBACK", NULL);
}
static int64_t n_changed(void *db) { return sqlite3_changes64(((lite *)db)->db); }

/* ---- statements -------------------------------------------------------------------
 */

static kiln_status prepare_raw(lite *s, const char *text, void **out, kiln_err *err) {
    sqlite3_stmt *q = NULL;
    if (sqlite3_prepare_v2(s->db, text, -1, &q, NULL) != SQLITE_OK)
        return failed(s, "reading a statement", err);
    *out = q;
    return KILN_OK;
}

static kiln_status prepare(void *db, const char *text, void **out, kiln_err *err) {
    kiln_arena scratch = {0};
    const kiln_status st =
        prepare_raw(db, kiln_sql_spell(&scratch, &dialect, text), out, err);
    kiln_arena_fini(&scratch);
    return st;
}

/* A bind can only fail for a parameter that is not there, or for lack of memory. */
static void bound(int rc, int at) {
    if (rc == SQLITE_NOMEM)
        kiln_out_of_memory(0);
    KILN_ASSERT(rc == SQLITE_OK, "parameter %d: SQLite's code %d", at, rc);
}

static void bind_i64(void *q, int at, int64_t v) {
    bound(sqlite3_bind_int64(q, at, v), at);
}
static void bind_f64(void *q, int at, double v) {
    bound(sqlite3_bind_double(q, at, v), at); /* NaN becomes NULL */
}
static void bind_text(void *q, int at, const char *z) {
    bound(sqlite3_bind_text(q, at, z, -1, SQLITE_STATIC), at);
}
static void bind_bytes(void *q, int at, kiln_str bytes) {
    bound(sqlite3_bind_blob64(q, at, bytes.p, bytes.n, SQLITE_STATIC), at);
}

static kiln_status step(void *db, void *q, bool *has_row, kiln_err *err) {
    const int rc = sqlite3_step(q);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        return failed(db, "running a statement", err);
    *has_row = rc == SQLITE_ROW;
    return KILN_OK;
}

static void reset(void *q) { sqlite3_reset(q); }

static int64_t get_i64(void *q, int col) { return sqlite3_column_int64(q, col); }
static double get_f64(void *q, int col) { return sqlite3_column_double(q, col); }
static kiln_str get_bytes(void *q, int col, kiln_arena *a) {
    const void *const p = sqlite3_column_blob(q, col);
    const size_t n = (size_t)sqlite3_column_bytes(q, col);
    return (kiln_str){n == 0 ? "" : kiln_arena_dup(a, p, n), n};
}
static const char *get_text(void *q, int col, kiln_arena *a) {
    const unsigned char *const p = sqlite3_column_text(q, col);
    return p == NULL ? "" : kiln_str_dup(a, (const char *)p);
}
static void finish(void *q) { sqlite3_finalize(q); }

/* ---- what kind of file, and is it sound -------------------------------------------
 */

/* The first column of a statement's first row; 0: it has none. */
static kiln_status number(lite *s, const char *text, int64_t *out, kiln_err *err) {
    void *q = NULL;
    bool has_row = false;
    kiln_status st = prepare_raw(s, text, &q, err);
    if (st == KILN_OK)
        st = step(s, q, &has_row, err);
    if (st == KILN_OK)
        *out = has_row ? get_i64(q, 0) : 0;
    finish(q);
    return st;
}

/* All of one moment: another process may be making its tables. */
static kiln_status identity(void *db, kiln_sql_identity *out, kiln_err *err) {
    int64_t n_tables = 0;
    KILN_TRY(run_raw(db, "SAVEPOINT look", err));
    kiln_status st = number(db, "PRAGMA application_id", &out->application, err);
    if (st == KILN_OK)
        st = number(db, "PRAGMA user_version", &out->version, err);
    if (st == KILN_OK)
        st = number(db, "SELECT count(*) FROM sqlite_schema", &n_tables, err);
    const kiln_status ended = run_raw(db, "RELEASE look", st == KILN_OK ? err : NULL);
    out->is_empty = n_tables == 0;
    return st != KILN_OK ? st : ended;
}

static kiln_status set_identity(void *db, int64_t application, int64_t version,
                                kiln_err *err) {
    char text[128];
    snprintf(text, sizeof text,
             "PRAGMA application_id = %lld; PRAGMA user_version = %lld;",
             (long long)application, (long long)version);
    return run_raw(db, text, err);
}

static kiln_status has_column(void *db, const char *table, const char *column,
                              bool *out, kiln_err *err) {
    void *q = NULL;
    KILN_TRY(prepare_raw(db, "SELECT 1 FROM pragma_table_info(?1) WHERE name = ?2", &q,
                         err));
    bind_text(q, 1, table);
    bind_text(q, 2, column);
    const kiln_status st = step(db, q, out, err);
    finish(q);
    return st;
}

/* What is temporary stands before the file's table of that name. */
static kiln_status create_temp(void *db, const char *what, const char *table,
                               const char *columns, kiln_err *err) {
    kiln_arena scratch = {0};
    const kiln_status st =
        run(db,
            kiln_format(&scratch,
                        "PRAGMA temp_store = MEMORY;"
                        "CREATE TEMP %s %s AS SELECT %s FROM main.%s",
                        what, table, columns, table),
            err);
    kiln_arena_fini(&scratch);
    return st;
}

static kiln_status shadow(void *db, const char *table, const char *columns,
                          kiln_err *err) {
    return create_temp(db, "TABLE", table, columns, err);
}

static kiln_status view(void *db, const char *table, const char *columns,
                        kiln_err *err) {
    return create_temp(db, "VIEW", table, columns, err);
}

static kiln_status add_faults(lite *s, kiln_arena *a, const char *text,
                              kiln_sql_faults *out, kiln_err *err) {
    void *q = NULL;
    bool has_row = false;
    kiln_status st = prepare_raw(s, text, &q, err);
    while (st == KILN_OK && (st = step(s, q, &has_row, err)) == KILN_OK && has_row) {
        kiln_sql_fault f = {.text = NULL};
        if (sqlite3_column_count(q) == 1)
            f.text = get_text(q, 0, a);
        else
            f = (kiln_sql_fault){NULL, get_text(q, 0, a), get_text(q, 1, a)};
        kiln_vec_push(a, out, f);
    }
    finish(q);
    return st;
}

static kiln_status check(void *db, kiln_arena *a, kiln_sql_faults *out, kiln_err *err) {
    KILN_TRY(add_faults(db, a,
                        "SELECT integrity_check FROM pragma_integrity_check"
                        " WHERE integrity_check <> 'ok'",
                        out, err));
    return add_faults(db, a, "SELECT \"table\", parent FROM pragma_foreign_key_check",
                      out, err);
}

static kiln_status bytes(void *db, int64_t *out, kiln_err *err) {
    return number(db,
                  "SELECT page_count * page_size"
                  " FROM pragma_page_count, pragma_page_size",
                  out, err);
}

static kiln_status shrink(void *db, kiln_err *err) {
    return run_raw(db, "VACUUM", err);
}

const kiln_sql_engine kiln_sql_engine_sqlite = {
    .name = "sqlite",
    .doc = "one file, which several processes may use",
    .is_file = true,
    .open = open_db,
    .close = close_db,
    .run = run,
    .begin = begin,
    .commit = commit,
    .rollback = rollback,
    .n_changed = n_changed,
    .prepare = prepare,
    .bind_i64 = bind_i64,
    .bind_f64 = bind_f64,
    .bind_text = bind_text,
    .bind_bytes = bind_bytes,
    .step = step,
    .reset = reset,
    .get_i64 = get_i64,
    .get_f64 = get_f64,
    .get_text = get_text,
    .get_bytes = get_bytes,
    .finish = finish,
    .identity = identity,
    .set_identity = set_identity,
    .has_column = has_column,
    .shadow = shadow,
    .view = view,
    .check = check,
    .bytes = bytes,
    .shrink = shrink,
};
