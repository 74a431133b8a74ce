/* Shared inside the folder. */
#ifndef KILN_TUNING_DB_INTERNAL_H
#define KILN_TUNING_DB_INTERNAL_H

#include "sql/sql.h"
#include "tuning_db/tuning_db.h"

struct kiln_db {
    kiln_sql *sql;
};

/* Makes the tables or brings them up to date; only looks at them when read_only. */
kiln_status kiln_db_migrate(kiln_sql *s, bool read_only, kiln_err *err);

/* Brings profiles' keys up to date: in the file, or beside it when read_only. */
kiln_status kiln_db_update_keys(kiln_db *db, bool read_only, kiln_err *err);

/* KILN_ERR_UNSUPPORTED where the file (or the folder that it will be in) lies on a
 * network file system. */
kiln_status kiln_db_check_place(const char *path, kiln_err *err);

/* Median of n samples, n > 0, which stay as they are. */
double kiln_db_median(kiln_arena *scratch, const double *sample, size_t n);
/* Samples as bytes: little-endian doubles. */
kiln_str kiln_db_samples_bytes(kiln_arena *a, const double *sample, size_t n);
/* NULL where the bytes are no whole number of doubles. */
const double *kiln_db_samples_read(kiln_arena *a, kiln_str bytes, size_t *n);

/* KILN_ERR_ARG where a trial says neither how fast nor why not, or has no proof. */
kiln_status kiln_db_trial_check(kiln_arena *scratch, const kiln_db_trial *t,
                                kiln_err *err);
/* A trial's identity across files: hash of everything it says and of its task. */
void kiln_db_trial_uid(kiln_arena *scratch, const kiln_db_task *task,
                       const kiln_db_trial *t, char hex[KILN_SHA256_HEX]);
/* Of what the uid leaves out, so that equal measurements of two kilns stay one trial:
 * proof, facts, the peak, the detail of an error, names of the task, the runner. */
void kiln_db_trial_seal(const kiln_db_task *task, const kiln_db_trial *t,
                        char hex[KILN_SHA256_HEX]);
kiln_status kiln_db_task_check(const kiln_db_task *t, kiln_err *err);
/* Neither missing nor empty, not too long, UTF-8. */
kiln_status kiln_db_text_check(const char *what, const char *z, kiln_err *err);
/* Commits where st is KILN_OK, else rolls back. */
kiln_status kiln_db_end(kiln_db *db, kiln_status st, kiln_err *err);

/* Files of one JSON object a line (lines.c): the first says what they are, by a version
 * under a key of its own. */
typedef struct kiln_db_lines {
    const char *version_key;
    int version;
    const char *what;  /* "export of a tuning database" */
    const char *brief; /* "an export" */
    const char *doing; /* "importing": what is done to a line that fails, */
    const char *of;    /* "the ready records ", or "": before the name of the file */
    /* The object of a later line; it lives until the next one. */
    kiln_status (*take)(void *user, const kiln_json *o, kiln_err *err);
} kiln_db_lines;
/* Empty lines are left out. Scratch is reset after each line. */
kiln_status kiln_db_lines_read(const kiln_db_lines *l, kiln_arena *scratch,
                               kiln_str text, const char *name, void *user,
                               kiln_err *err);
void kiln_db_line_begin(kiln_json_writer *w, kiln_buf *out);
void kiln_db_line_end(kiln_json_writer *w);

/* Task and trial columns of a row that selects TASK_COLUMNS, TRIAL_COLUMNS in this
 * order. */
#define KILN_DB_TASK_COLUMNS                                                           \
    "w.key, w.anchor, p.name, p.json, k.threads, k.numerics, k.cache"
#define KILN_DB_TRIAL_COLUMNS                                                          \
    "t.template, t.config, t.layouts, t.error, t.detail, t.samples, t.peak_gflops, "   \
    "t.proof, t.facts, t.owner, t.kiln, t.time_ms, t.median_ns, t.round, t.runner"
enum { KILN_DB_N_TASK_COLUMNS = 7, KILN_DB_N_TRIAL_COLUMNS = 15 };
#define KILN_DB_TASK_TABLES                                                            \
    "task k JOIN workload w ON w.id = k.workload JOIN profile p ON p.id = k.profile"
void kiln_db_get_task(kiln_query *q, int col, kiln_arena *a, kiln_db_task *out);
void kiln_db_get_trial(kiln_query *q, int col, kiln_arena *a, kiln_db_trial *out);

/* Parameters 1 to 3. */
void kiln_db_bind_candidate(kiln_query *q, int64_t task, const kiln_db_candidate *c);

/* The same as the public ones, inside a transaction of the caller's. */
kiln_status kiln_db_find_task(kiln_db *db, const kiln_db_task *t, int64_t *id,
                              kiln_err *err);
/* What a number stands for. KILN_ERR_ARG: there is no such task. */
kiln_status kiln_db_task_at(kiln_db *db, kiln_arena *a, int64_t id, kiln_db_task *out,
                            kiln_err *err);
/* A repeat gets the candidate's next round; else its round is 0. */
kiln_status kiln_db_insert_trial(kiln_db *db, int64_t task, const char *uid,
                                 const kiln_db_trial *t, bool *was_new, kiln_err *err);

#endif
