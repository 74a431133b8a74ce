/* An engine that no one needs, to show that one is a row of functions and a file, and
 * that kiln's statements are portable: it spells each as PostgreSQL would have it,
 * refuses what only SQLite understands, keeps what it was asked, and lets SQLite
 * answer. */
#ifndef KILN_TESTS_SUPPORT_MADE_UP_STRICT_SQL_H
#define KILN_TESTS_SUPPORT_MADE_UP_STRICT_SQL_H

#include "sql/sql_engine.h"

const kiln_sql_engine *kiln_test_sql_strict(void);

/* What was asked of it in this process, as it spelled it; in the test arena. */
typedef KILN_VEC(const char *) kiln_test_sql_asked;
extern kiln_test_sql_asked kiln_test_sql_log;

/* What a statement has that PostgreSQL does not read; NULL: nothing. */
const char *kiln_test_sql_foreign(const char *spelled);

#endif
