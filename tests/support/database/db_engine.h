/* Tests of databases on each engine: SQLite's files, and a server of PostgreSQL that a
 * test program starts for itself, in a folder of its own and on a local socket. */
#ifndef KILN_TESTS_SUPPORT_DB_ENGINE_H
#define KILN_TESTS_SUPPORT_DB_ENGINE_H

#include "tests/support/kiln_test.h"

/* The test once on each engine: NAME, and NAME_on_postgresql, which is skipped by name
 * where no server is installed. `name` and `row` as for kiln_test_add. */
void kiln_test_add_on_engines(const char *name, void (*check)(void **state), void *row);
#define kiln_test_add_rows_on_engines(check, rows)                                     \
    do {                                                                               \
        for (size_t kiln_i = 0; kiln_i < sizeof(rows) / sizeof((rows)[0]); kiln_i++)   \
            kiln_test_add_on_engines((rows)[kiln_i].name, (check), &(rows)[kiln_i]);   \
    } while (0)

/* Is the running test on PostgreSQL? */
bool kiln_test_is_on_postgresql(void);
/* Where the running test's database of this name is: a file in a new folder, or an
 * empty schema of the server. In the test arena. */
const char *kiln_test_db_place(const char *name);
/* One that nobody else uses: in memory, or a schema. */
const char *kiln_test_db_own(void);
/* Runs statements there behind the back of everybody, as they are. What a test spells
 * as SQLite does is put as PostgreSQL would have it, for a few words. */
void kiln_test_db_sql(const char *place, const char *text);

/* ---- the server itself ----------------------------------------------------------- */

/* The folder of its socket, started at the first call; skips the test by name where
 * there is none. It ends with the program. */
const char *kiln_test_postgresql(void);
/* A place there, whatever engine the running test is on. */
const char *kiln_test_postgresql_place(const char *name);
/* As after a power cut, and up again. */
void kiln_test_postgresql_restart(void);

#endif
