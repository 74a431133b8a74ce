/* Inside history. */
#ifndef KILN_HISTORY_INTERNAL_H
#define KILN_HISTORY_INTERNAL_H

#include "history/history.h"
#include "sql/sql.h"

struct kiln_history {
    kiln_sql *sql;
};

/* store.c: seq 0: the newest `most` of a pipeline (NULL: of all). */
kiln_status kiln_history_read_some(kiln_history *h, kiln_arena *a, const char *pipeline,
                                   int64_t seq, size_t most, kiln_nights *out,
                                   kiln_err *err);

/* history_care.c: writes the digest of what is there of a night. */
kiln_status kiln_history_seal(kiln_history *h, int64_t seq, kiln_err *err);

/* history_schema.c: makes the tables, or looks whether they are ours. */
kiln_status kiln_history_migrate(kiln_sql *s, bool read_only, kiln_err *err);

#endif
