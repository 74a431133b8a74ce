/* history: what every night found, kept when its folder is gone (docs/history.md).
 *
 *     kiln_history_open(arena, "accepted/history.db", &o, &h, err);
 *     kiln_history_read(h, arena, "demo", KILN_NIGHTS_MOST, &nights, err);
 *     kiln_history_append(h, &night, err);
 *     kiln_history_close(h);
 *
 * One SQLite file beside the accepted archives. What nights say is reports/nights/reports_nights.h. */
#ifndef KILN_HISTORY_HISTORY_H
#define KILN_HISTORY_HISTORY_H

#include "base/base.h"
#include "reports/nights/reports_nights.h"

#define KILN_HISTORY_FILE "history.db"
enum {
    KILN_HISTORY_VERSION = 1,
    KILN_HISTORY_BUSY_MS = 30 * 1000, /* that another night's append may take */
    KILN_HISTORY_MAX_TEXT = 4096
};

typedef struct kiln_history kiln_history;

typedef struct kiln_history_options {
    bool may_make;                        /* the file may be new, its folder too */
    int busy_ms;                          /* 0: KILN_HISTORY_BUSY_MS */
    const struct kiln_sql_engine *engine; /* NULL: the one that the path names */
} kiln_history_options;

/* A file that nobody here may write to is only read. KILN_ERR_MISSING: there is none,
 * and none is made; KILN_ERR_PARSE: damaged, or no history; KILN_ERR_UNSUPPORTED: a
 * newer kiln's; KILN_ERR_IO. Each names the file and what to do. */
kiln_status kiln_history_open(kiln_arena *a, const char *path,
                              const kiln_history_options *o, kiln_history **out,
                              kiln_err *err);
void kiln_history_close(kiln_history *h); /* NULL is fine */
const char *kiln_history_path(const kiln_history *h);

/* One transaction, on the disk when it returns. The same folder again replaces what was
 * known of it and keeps its place, so a night that was killed on its way appends once.
 * KILN_ERR_ARG where the night lacks its folder, run or pipeline, or names a job twice.
 */
kiln_status kiln_history_append(kiln_history *h, const kiln_night *n, kiln_err *err);

/* The newest `most` nights of a pipeline (NULL: of all), oldest first. */
kiln_status kiln_history_read(kiln_history *h, kiln_arena *a, const char *pipeline,
                              size_t most, kiln_nights *out, kiln_err *err);
/* Their names, in the order in which they came. */
typedef KILN_VEC(const char *) kiln_history_names;
kiln_status kiln_history_pipelines(kiln_history *h, kiln_arena *a,
                                   kiln_history_names *out, kiln_err *err);

kiln_status kiln_history_set_pruned(kiln_history *h, const char *folder, kiln_err *err);
/* Removes nights themselves, all but the newest `keep` of each pipeline. */
kiln_status kiln_history_forget(kiln_history *h, int64_t keep, int64_t *n_gone,
                                kiln_err *err);

/* What is wrong with the file, a line each; none: it is sound. Fails only where it
 * cannot be asked. */
kiln_status kiln_history_check(kiln_history *h, kiln_arena *a, kiln_history_names *out,
                               kiln_err *err);

/* The page over all nights of a pipeline, index.html in its folder of runs. */
kiln_status kiln_history_write_index(kiln_history *h, const char *pipeline,
                                     const char *out, kiln_err *err);

/* ---- folders of runs ------------------------------------------------------------- */

typedef struct kiln_history_run {
    const char *name, *folder; /* absolute */
    const char *pipeline;
    bool is_ended;
    int64_t bytes;
    bool is_part;   /* of a pipeline: it is no night, and the history never knows it */
    bool is_latest; /* the link `latest` leads to it */
} kiln_history_run;
typedef KILN_VEC(kiln_history_run) kiln_history_runs;

/* Is this the folder of a run of a part of a pipeline? */
bool kiln_history_is_part(kiln_arena *a, const char *folder);
/* Bytes of all files below a folder; links count nothing. */
kiln_status kiln_history_bytes(const char *folder, int64_t *out, kiln_err *err);
/* The runs of kiln nightly in `out`; other folders are not looked at. */
kiln_status kiln_history_find_runs(kiln_arena *a, const char *out,
                                   kiln_history_runs *runs, kiln_err *err);

typedef struct kiln_history_keep {
    int64_t nights;            /* 0: any number */
    double gb;                 /* of 1e9 bytes, all runs together; 0: any */
    const char *const *needed; /* SHA-256: a run that built such an archive stays */
    size_t n_needed;
    bool is_dry;
} kiln_history_keep;

typedef struct kiln_history_pruned {
    const char *run, *folder;
    int64_t bytes;
    bool is_gone;       /* or would be */
    const char *reason; /* why it stays though it is old; NULL: it went */
} kiln_history_pruned;
typedef struct kiln_history_pruning {
    KILN_VEC(kiln_history_pruned) run; /* oldest first: those that the rule names */
    int64_t n_gone, bytes_gone, n_left, bytes_left;
} kiln_history_pruning;

/* Removes the oldest runs of `out` until the rule holds, oldest being those that were
 * appended first. Never the latest, never one that has not ended, never one that the
 * history does not know, never one that built a needed archive. */
kiln_status kiln_history_prune(kiln_history *h, kiln_arena *a, const char *out,
                               const kiln_history_keep *keep,
                               kiln_history_pruning *pruning, kiln_err *err);
void kiln_history_pruning_text(kiln_buf *out, const kiln_history_pruning *p,
                               bool is_dry);

#endif
