/* Tasks and trials for tests of the tuning database. */
#ifndef KILN_TESTS_SUPPORT_DB_MAKE_H
#define KILN_TESTS_SUPPORT_DB_MAKE_H

#include "tests/support/kiln_test.h"
#include "tuning_db/tuning_db.h"

/* A task on one thread: anchor and what is fused to it. */
kiln_db_task kiln_test_db_task(const char *anchor, const char *epilogue);
/* A good trial of configuration {"k": `k`} with one sample; bad with `error`. The text
 * is in the test arena. */
kiln_db_trial kiln_test_db_trial(int k, const double *ns, const char *error);
kiln_db *kiln_test_db_open(const char *path);
int64_t kiln_test_db_task_id(kiln_db *db, const kiln_db_task *t);
/* Records it; was it new? */
bool kiln_test_db_record(kiln_db *db, int64_t task, const kiln_db_trial *t);
kiln_db_claim_state kiln_test_db_claim(kiln_db *db, int64_t task, int k,
                                       const char *owner, int seconds);
/* Behind the back of the interface: to damage it. */
void kiln_test_db_run(kiln_db *db, const char *sql);
void kiln_test_db_is_sound(kiln_db *db);

#endif
