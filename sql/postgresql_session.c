/* A session with a server. The only files that include libpq; interface: libpq-fe.h of
 * PostgreSQL 15, server 10 or newer. */
#include "sql/postgresql_session.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    OLDEST_SERVER = 100000, /* identity columns */
    CONNECT_S = 10
};

/* ---- failures -------------------------------------------------------------------- */

/* By the beginning of what SQL calls the failure (appendix A of PostgreSQL's manual):
 * what the caller can do. */
typedef struct failure {
    const char *state;
    kiln_status status;
    const char *remedy;
} failure;
static const failure failures[] = {
    {"55P03", KILN_ERR_IO,
     "it is in use by another session that does not let go; try again when that has "
     "ended"},
    {"40", KILN_ERR_IO, "other sessions were in the way; run the same command again"},
    {"53", KILN_ERR_IO,
     "the server has run out of room; make some, then run the same "
     "command again"},
    {"54", KILN_ERR_LIMIT, "such a record fits a file of SQLite's only"},
    {"25006", KILN_ERR_IO, "it may only be read here"},
    {"42501", KILN_ERR_IO, "the server's administrator can GRANT that"},
    {"57P", KILN_ERR_IO, "run the same command again when the server is back"},
    {"08", KILN_ERR_IO, "run the same command again when the server is back"},
    {"25P03", KILN_ERR_IO,
     "this process stood still for too long; run the same "
     "command again"},
    {"XX00", KILN_ERR_PARSE, NULL}, /* damaged: the remedy of whoever opened it */
};

static const failure *failure_of(const char *state) {
    for (size_t i = 0; i < sizeof failures / sizeof failures[0]; i++)
        if (strncmp(state, failures[i].state, strlen(failures[i].state)) == 0)
            return &failures[i];
    return NULL;
}

/* libpq's messages have lines of their own. */
static const char *one_line(kiln_arena *a, const char *text) {
    kiln_buf out;
    kiln_buf_init(&out, a);
    kiln_buf_puts(&out, "");
    for (const char *c = text; *c != '\0'; c++) {
        const char plain = *c == '\n' || *c == '\t' ? ' ' : *c;
        if (plain != ' ' || (out.n > 0 && out.p[out.n - 1] != ' '))
            kiln_buf_add(&out, &plain, 1);
    }
    while (out.n > 0 && out.p[out.n - 1] == ' ')
        out.p[--out.n] = '\0';
    return out.p;
}

static kiln_status lost(kiln_postgres *p, kiln_err *err) {
    kiln_arena scratch = {0};
    const kiln_status st = kiln_fail(
        err, KILN_ERR_IO,
        "%s '%s': %s; its server must run and let this user in, and the database must "
        "have been made there (createdb): \"psql '%s'\" tries that",
        p->what, p->shown, one_line(&scratch, PQerrorMessage(p->conn)), p->shown);
    kiln_arena_fini(&scratch);
    return st;
}

static kiln_status failed(kiln_postgres *p, const PGresult *r, const char *doing,
                          kiln_err *err) {
    const char *const given = PQresultErrorField(r, PG_DIAG_SQLSTATE);
    const char *const text = PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY);
    if (given == NULL || text == NULL)
        return lost(p, err);
    const failure *f = failure_of(given);
    if (strcmp(given, "57014") == 0 && kiln_interrupted())
        return kiln_fail(err, KILN_ERR_INTERRUPTED,
                         "interrupted while %s '%s' was at work", p->what, p->shown);
    if (f == NULL)
        return kiln_fail(err, KILN_ERR_LIB, "%s '%s': %s (%s, %s)", p->what, p->shown,
                         text, doing, given);
    return kiln_fail(err, f->status, "%s '%s': %s (%s); %s", p->what, p->shown, text,
                     doing, f->remedy != NULL ? f->remedy : p->remedy);
}

/* ---- asking ---------------------------------------------------------------------- */

static void say_waiting(kiln_postgres *p, const char *why, int64_t waited_ms) {
    enum { SAID_AFTER_MS = 2000 };
    kiln_progress_step(why, "seconds", (double)waited_ms / 1000,
                       (double)p->busy_ms / 1000, p->shown);
    if (waited_ms < SAID_AFTER_MS || p->has_said)
        return;
    p->has_said = true;
    KILN_LOG(WARN, "sql", "%s '%s' does not answer; waiting for it, up to %d s",
             p->what, p->shown, p->busy_ms / 1000);
}

static void stop_asking(kiln_postgres *p) {
    char why[256];
    PGcancel *c = PQgetCancel(p->conn);
    if (c != NULL)
        (void)PQcancel(c, why, sizeof why);
    PQfreeCancel(c);
}

/* Until there is an answer. The server ends what waits for a lock too long; an
 * interrupt ends everything, but for what takes no second. */
static void await(kiln_postgres *p) {
    enum { PAUSE_MS = 100, PATIENCE_MS = 1000 };
    const int64_t since_ns = kiln_now_ns();
    bool is_stopped = false;
    while (PQisBusy(p->conn) != 0) {
        struct pollfd fd = {.fd = PQsocket(p->conn), .events = POLLIN};
        (void)poll(&fd, 1, PAUSE_MS);
        if (PQconsumeInput(p->conn) == 0)
            return;
        const int64_t waited_ms = (kiln_now_ns() - since_ns) / 1000000;
        if (waited_ms < PATIENCE_MS)
            continue;
        say_waiting(p, "another session holds the database", waited_ms);
        if (kiln_interrupted() && !is_stopped) {
            is_stopped = true;
            stop_asking(p);
        }
    }
}

/* The answer to the last of the statements; of an error there is none behind it. */
static PGresult *answer(kiln_postgres *p) {
    PGresult *last = NULL;
    for (;;) {
        await(p);
        PGresult *r = PQgetResult(p->conn);
        if (r == NULL)
            return last;
        PQclear(last);
        last = r;
    }
}

/* Several statements are a question without parameters. */
static kiln_status ask_once(kiln_postgres *p, const kiln_postgres_question *q,
                            const char *doing, PGresult **out, kiln_err *err) {
    const bool is_sent =
        q->n == 0 ? PQsendQuery(p->conn, q->text) != 0
                  : PQsendQueryParams(p->conn, q->text, q->n, q->type, q->value,
                                      q->bytes, q->is_binary, 0) != 0;
    PGresult *r = is_sent ? answer(p) : NULL;
    const ExecStatusType is = PQresultStatus(r);
    if (r == NULL || (is != PGRES_COMMAND_OK && is != PGRES_TUPLES_OK)) {
        const kiln_status st = r == NULL ? lost(p, err) : failed(p, r, doing, err);
        PQclear(r);
        return st;
    }
    p->n_changed = strtoll(PQcmdTuples(r), NULL, 10);
    *out = r;
    return KILN_OK;
}

static kiln_status set_up(kiln_postgres *p, kiln_err *err) {
    kiln_arena scratch = {0};
    PGresult *r = NULL;
    const kiln_postgres_question q = {
        .text = kiln_format(
            &scratch,
            "SET client_min_messages = warning; SET extra_float_digits = 3;"
            "SET bytea_output = hex; SET standard_conforming_strings = on;"
            "SET default_transaction_isolation = 'read committed';"
            "SET lock_timeout = %d; SET idle_in_transaction_session_timeout = 60000;"
            "SET default_transaction_read_only = %s",
            p->busy_ms > 0 ? p->busy_ms : 1, p->read_only ? "on" : "off")};
    const kiln_status st = ask_once(p, &q, "setting up a session", &r, err);
    PQclear(r);
    kiln_arena_fini(&scratch);
    return st;
}

/* A server that was started anew, or a connection that broke: again, until it has taken
 * too long. */
static bool is_back(kiln_postgres *p, int64_t since_ns) {
    enum { PAUSE_MS = 200 };
    while (PQstatus(p->conn) == CONNECTION_BAD) {
        const int64_t waited_ms = (kiln_now_ns() - since_ns) / 1000000;
        if (p->has_temporary || waited_ms > p->busy_ms || kiln_interrupted())
            return false;
        say_waiting(p, "the database's server is away", waited_ms);
        (void)poll(NULL, 0, PAUSE_MS);
        PQreset(p->conn);
    }
    return set_up(p, NULL) == KILN_OK;
}

bool kiln_postgres_is_in_transaction(const kiln_postgres *p) {
    return PQtransactionStatus(p->conn) != PQTRANS_IDLE &&
           PQstatus(p->conn) == CONNECTION_OK;
}

kiln_status kiln_postgres_ask(kiln_postgres *p, const kiln_postgres_question *q,
                              const char *doing, PGresult **out, kiln_err *err) {
    const bool may_repeat = !kiln_postgres_is_in_transaction(p);
    const int64_t since_ns = kiln_now_ns();
    for (;;) {
        kiln_err why = {0};
        const kiln_status st = ask_once(p, q, doing, out, &why);
        if (st == KILN_OK)
            return KILN_OK;
        if (!may_repeat || PQstatus(p->conn) != CONNECTION_BAD ||
            !is_back(p, since_ns)) {
            if (err != NULL)
                *err = why;
            return st;
        }
    }
}

kiln_status kiln_postgres_run(kiln_postgres *p, const char *text, kiln_err *err) {
    PGresult *r = NULL;
    const kiln_postgres_question q = {.text = text};
    const kiln_status st = kiln_postgres_ask(p, &q, "running statements", &r, err);
    PQclear(r);
    return st;
}

/* ---- opening --------------------------------------------------------------------- */

static const char *option_of(const PQconninfoOption *o, const char *keyword) {
    for (; o != NULL && o->keyword != NULL; o++)
        if (strcmp(o->keyword, keyword) == 0 && o->val != NULL)
            return o->val;
    return "";
}

/* Lists of processes and logs show addresses, so no secret may be in one. What has one,
 * or cannot be read, is not shown: libpq may see its parts elsewhere than who wrote it. */
static kiln_status check_address(kiln_arena *a, kiln_postgres *p, kiln_err *err) {
    PQconninfoOption *o = PQconninfoParse(p->address, NULL);
    const char *user = option_of(o, "user"), *host = option_of(o, "host");
    const char *port = option_of(o, "port");
    const bool is_path = host[0] == '/', has_secret = option_of(o, "password")[0] ||
                                                      option_of(o, "sslpassword")[0];
    const bool is_bad =
        o == NULL || strspn(port, "0123456789,") != strlen(port) || has_secret;
    if (!is_bad)
        p->shown = kiln_format(a, "postgresql://%s%s%s%s%s/%s%s%s", user,
                               user[0] != '\0' ? "@" : "", is_path ? "" : host,
                               port[0] != '\0' ? ":" : "", port, option_of(o, "dbname"),
                               is_path ? "?host=" : "", is_path ? host : "");
    PQconninfoFree(o);
    if (has_secret)
        return kiln_fail(err, KILN_ERR_ARG,
                         "the address of a %s must hold no password, which lists of "
                         "processes and logs would show; put it into ~/.pgpass, or "
                         "into PGPASSWORD",
                         p->what);
    return !is_bad ? KILN_OK
                   : kiln_fail(err, KILN_ERR_ARG,
                               "the address of a %s must be "
                               "postgresql://USER@HOST/DATABASE; the one that is given "
                               "cannot be read",
                               p->what);
}

static void no_notice(void *user, const PGresult *r) {
    (void)user;
    KILN_LOG(DEBUG, "sql", "%s", PQresultErrorMessage(r));
}

/* What stands behind dbname wins, what stands before it an address may change. */
static kiln_status connect_to(kiln_postgres *p, kiln_err *err) {
    static const char *const keyword[] = {
        "connect_timeout", "keepalives_idle", "fallback_application_name",
        "dbname",          "client_encoding", NULL};
    char seconds[16];
    snprintf(seconds, sizeof seconds, "%d", CONNECT_S);
    const char *const value[] = {seconds, "30", "kiln", p->address, "UTF8", NULL};
    p->conn = PQconnectdbParams(keyword, value, 1);
    if (p->conn == NULL)
        kiln_out_of_memory(0);
    if (PQstatus(p->conn) != CONNECTION_OK)
        return lost(p, err);
    PQsetNoticeReceiver(p->conn, no_notice, NULL);
    const char *encoding = PQparameterStatus(p->conn, "server_encoding");
    if (PQserverVersion(p->conn) < OLDEST_SERVER)
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         "%s '%s': its server is older than PostgreSQL 10", p->what,
                         p->shown);
    if (encoding == NULL || strcmp(encoding, "UTF8") != 0)
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         "%s '%s' must be in UTF-8, is in %s; make another by createdb "
                         "--encoding=UTF8 --template=template0",
                         p->what, p->shown, encoding != NULL ? encoding : "none");
    return set_up(p, err);
}

kiln_status kiln_postgres_connect(kiln_arena *a, kiln_postgres *p, kiln_err *err) {
    KILN_TRY(check_address(a, p, err));
    return connect_to(p, err);
}

void kiln_postgres_end(kiln_postgres *p) {
    PQfinish(p->conn);
    p->conn = NULL;
}
