/* Shared by PostgreSQL's two files: a session with its server. */
#ifndef KILN_SQL_POSTGRESQL_SESSION_H
#define KILN_SQL_POSTGRESQL_SESSION_H

#include <libpq-fe.h>

#include "sql/sql_engine.h"

enum { KILN_POSTGRES_PARAMETERS = 32 };

typedef struct kiln_postgres {
    PGconn *conn;
    const char *address, *shown; /* as libpq wants it; as messages name it */
    const char *what, *remedy;
    int busy_ms;
    bool read_only;
    bool has_temporary; /* tables that a new session would not have */
    bool has_said;      /* that it waits */
    int64_t n_changed;
} kiln_postgres;

/* Several statements, separated by semicolons, or one with parameters. */
typedef struct kiln_postgres_question {
    const char *text;
    int n;
    Oid type[KILN_POSTGRES_PARAMETERS];
    const char *value[KILN_POSTGRES_PARAMETERS]; /* NULL is NULL */
    int bytes[KILN_POSTGRES_PARAMETERS], is_binary[KILN_POSTGRES_PARAMETERS];
} kiln_postgres_question;

/* p->address and what comes from the options are set; sets the rest. The session must be
 * ended also after a failure. KILN_ERR_ARG: the address cannot be read, or holds a
 * password; else as kiln_sql_open. */
kiln_status kiln_postgres_connect(kiln_arena *a, kiln_postgres *p, kiln_err *err);
void kiln_postgres_end(kiln_postgres *p);

bool kiln_postgres_is_in_transaction(const kiln_postgres *p);
/* The answer to the last statement, which the caller clears (PQclear). Outside of a
 * transaction, where the connection broke, it is asked again when the server is back:
 * so only what reads, or begins a transaction, may be asked there. */
kiln_status kiln_postgres_ask(kiln_postgres *p, const kiln_postgres_question *q,
                              const char *doing, PGresult **out, kiln_err *err);
/* The same without an answer. */
kiln_status kiln_postgres_run(kiln_postgres *p, const char *text, kiln_err *err);

#endif
