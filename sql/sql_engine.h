/* What an engine is: a row of engines.def, its file, and this. Who uses a database sees
 * sql.h alone. */
#ifndef KILN_SQL_SQL_ENGINE_H
#define KILN_SQL_SQL_ENGINE_H

#include "sql/sql.h"

/* How an engine writes what portable statements leave open (sql.h). */
typedef struct kiln_sql_word {
    const char *name, *text; /* "#1", "#2" in the text: what stands behind the name */
} kiln_sql_word;
typedef struct kiln_sql_dialect {
    const char *parameter; /* before its number: "?", "$" */
    const kiln_sql_word *word;
    size_t n_words;
} kiln_sql_dialect;
/* The statement in these words; what is quoted stays. */
const char *kiln_sql_spell(kiln_arena *a, const kiln_sql_dialect *d, const char *text);

typedef struct kiln_sql_identity {
    int64_t application, version; /* 0: never set */
    bool is_empty;                /* there are no tables */
} kiln_sql_identity;

/* `db` and `q` are what open and prepare gave. Statements are portable ones: the engine
 * spells them. */
struct kiln_sql_engine {
    const char *name, *doc;
    bool is_file; /* places are paths of files */
    kiln_status (*open)(kiln_arena *a, const char *place, const kiln_sql_options *o,
                        void **out, kiln_err *err);
    void (*close)(void *db);
    const char *(*shown)(void *db); /* the place as messages name it; NULL: as given */
    kiln_status (*run)(void *db, const char *statements, kiln_err *err);
    kiln_status (*begin)(void *db, kiln_err *err);
    kiln_status (*commit)(void *db, kiln_err *err);
    void (*rollback)(void *db); /* nothing where no transaction is open */
    int64_t (*n_changed)(void *db);

    kiln_status (*prepare)(void *db, const char *text, void **out, kiln_err *err);
    void (*bind_i64)(void *q, int at, int64_t v);
    void (*bind_f64)(void *q, int at, double v);
    void (*bind_text)(void *q, int at, const char *z);
    void (*bind_bytes)(void *q, int at, kiln_str bytes);
    kiln_status (*step)(void *db, void *q, bool *has_row, kiln_err *err);
    void (*reset)(void *q);
    int64_t (*get_i64)(void *q, int col);
    double (*get_f64)(void *q, int col);
    const char *(*get_text)(void *q, int col, kiln_arena *a);
    kiln_str (*get_bytes)(void *q, int col, kiln_arena *a);
    void (*finish)(void *q); /* NULL is fine */

    kiln_status (*identity)(void *db, kiln_sql_identity *out, kiln_err *err);
    /* Inside a transaction, which it is part of. */
    kiln_status (*set_identity)(void *db, int64_t application, int64_t version,
                                kiln_err *err);
    kiln_status (*has_column)(void *db, const char *table, const char *column,
                              bool *out, kiln_err *err);
    kiln_status (*shadow)(void *db, const char *table, const char *columns,
                          kiln_err *err);
    kiln_status (*view)(void *db, const char *table, const char *columns,
                        kiln_err *err);
    kiln_status (*check)(void *db, kiln_arena *a, kiln_sql_faults *out, kiln_err *err);
    kiln_status (*bytes)(void *db, int64_t *out, kiln_err *err);
    kiln_status (*shrink)(void *db, kiln_err *err);
};

struct kiln_sql {
    const kiln_sql_engine *engine;
    const char *place;
    void *db;
};

#define KILN_SQL_ENGINE(name) extern const kiln_sql_engine kiln_sql_engine_##name;
#include "sql/engines.def"
#undef KILN_SQL_ENGINE

#endif
