/* Tuning databases as older kilns wrote them (tests/tuning_db/older). */
#ifndef KILN_TESTS_SUPPORT_OLDER_DB_H
#define KILN_TESTS_SUPPORT_OLDER_DB_H

#include "tests/support/kiln_test.h"
#include "tuning_db/tuning_db.h"

/* A candidate that was good in every round: whoever asks for its task must find it. */
typedef struct kiln_test_good {
    kiln_db_task task;
    kiln_db_candidate candidate;
} kiln_test_good;
typedef struct kiln_test_goods {
    KILN_VEC(kiln_test_good) list;
} kiln_test_goods;

/* A version of the tables of which a file is kept: "version2". */
typedef struct kiln_test_older {
    const char *version;
} kiln_test_older;
/* A copy of its file in the test's folder, as NAME-VERSION.db. */
const char *kiln_test_older_db(const kiln_test_older *older, const char *name);
/* The same test for each of them, NAME_VERSION; it is the test's state. */
void kiln_test_add_older(const char *name, void (*test)(void **state));
/* All of them by the tables of that time, read without anything that kiln makes of
 * them. */
kiln_test_goods kiln_test_goods_of(const char *path);
/* Is it among the exact records of the task? */
bool kiln_test_is_exact(kiln_db *db, const kiln_db_task *t, const kiln_db_candidate *c);

#endif
