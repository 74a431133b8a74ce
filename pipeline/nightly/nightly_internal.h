/* Shared inside this folder. */
#ifndef KILN_PIPELINE_NIGHTLY_INTERNAL_H
#define KILN_PIPELINE_NIGHTLY_INTERNAL_H

#include <stdio.h>

#include "compiler/target/target.h"
#include "pipeline/nightly/nightly_fields.h"
#include "pipeline/nightly/nightly.h"

/* ---- nightly_names.c: what a file may name --------------------------------------- */

/* By number, NULL past the end. */
const char *kiln_nightly_search_name(int i);
const char *kiln_nightly_cost_model_name(int i);
const char *kiln_nightly_baseline_name(int i);    /* of models */
const char *kiln_nightly_op_baseline_name(int i); /* of operators */
const char *kiln_nightly_numerics_name(int i);
const char *kiln_nightly_pack_name(int i);
const char *kiln_nightly_drift_name(int i); /* what a drift does */
/* Is there such a network, model, list of operators? */
kiln_status kiln_nightly_find_zoo(const char *name, kiln_err *err);
/* catalog NULL: the one that ships. */
kiln_status kiln_nightly_find_in_catalog(kiln_arena *a, const char *catalog,
                                         const char *name, kiln_err *err);
bool kiln_nightly_is_ops_list(const char *name); /* one that ships */
kiln_status kiln_nightly_find_ops(kiln_arena *a, const char *set, kiln_err *err);

/* ---- nightly_command.c: the commands of stages ----------------------------------- */

/* Where a stage finds and puts things. */
typedef struct nightly_places {
    const char *run;          /* the run's folder */
    const char *const *model; /* file (or "zoo:NAME") of each model */
} nightly_places;

/* The archive that a job builds. */
const char *kiln_nightly_archive(kiln_arena *a, const kiln_nightly_config *c,
                                 const kiln_nightly_graph *g, const kiln_nightly_job *j,
                                 const char *run);
/* Words behind the program's name. */
kiln_nightly_words kiln_nightly_command(kiln_arena *a, const kiln_nightly_config *c,
                                        const kiln_nightly_graph *g,
                                        const kiln_nightly_stage *s,
                                        const nightly_places *at);
/* As a shell has it. */
const char *kiln_nightly_shell(kiln_arena *a, const char *program,
                               const kiln_nightly_words *words);
/* "dqn, native, 2 threads". */
const char *kiln_nightly_title(kiln_arena *a, const kiln_nightly_config *c,
                               const kiln_nightly_graph *g,
                               const kiln_nightly_stage *s);

/* ---- marker.c: how a stage ended ------------------------------------------------- */

typedef struct nightly_marker {
    const char *inputs; /* SHA-256 of all that the stage is a function of */
    kiln_stage_state state;
    int exit_code; /* 128 + n: ended by signal n */
    double seconds;
    const char *ended;   /* UTC to the nanosecond: no two ends are equal */
    const char *message; /* the last error, or why it was skipped; NULL: none */
    const char *command; /* as a shell has it */
    const char *product; /* SHA-256 of the archive or model that it made; NULL: none */
} nightly_marker;

/* Sets when it ended. */
kiln_status kiln_nightly_marker_write(kiln_arena *a, const char *folder,
                                      nightly_marker *m, kiln_err *err);
/* False where there is none that can be read. */
bool kiln_nightly_marker_read(kiln_arena *a, const char *folder, nightly_marker *out);
/* Of all of it: what followed a stage is repeated where the stage was. */
void kiln_nightly_marker_hash(const nightly_marker *m, char hex[KILN_SHA256_HEX]);

/* ---- nightly_lock.c -------------------------------------------------------------- */

/* KILN_ERR_IO names the process that has it. *fd: to be given up. */
kiln_status kiln_nightly_lock(kiln_arena *a, const char *out, int *fd, kiln_err *err);
void kiln_nightly_unlock(int fd); /* -1 is fine */

/* nightly_profiles.c: what a file names. */
const char *kiln_nightly_absolute(kiln_arena *a, const char *dir, const char *path);
bool kiln_nightly_is_path(const char *word, const char *ending); /* NULL: none */
const char *kiln_nightly_label_of(kiln_arena *a, const char *word);
/* "profiles": names, files, or objects of one and where it is measured; paths are relative
 * to `dir`. `otherwise` where there is no such list. */
kiln_nightly_profiles kiln_nightly_profiles_read(const kiln_fields *f, const char *dir,
                                                 kiln_nightly_profiles otherwise);

/* Does its bench stage run libraries beside it? They are this machine's. */
bool kiln_nightly_has_baselines(const kiln_nightly_config *c,
                                const kiln_nightly_job *j);

/* ---- a run ----------------------------------------------------------------------- */

/* One stage of it. */
typedef struct nightly_step {
    nightly_marker marker;
    bool has_ended; /* in this process or before: the marker is filled */
    bool is_reused;
} nightly_step;

typedef struct night {
    kiln_arena *arena;
    const kiln_nightly_config *c;
    const kiln_nightly_graph *g;
    const kiln_nightly_options *o;
    const char *program;            /* kiln */
    char identity[KILN_SHA256_HEX]; /* of the program's file and version */
    const char *db_state;           /* what a frozen database holds; "": it grows */
    const char *run, *name, *started;
    bool goes_on;           /* an earlier process began it */
    const char **model;     /* of each: file or "zoo:NAME"; NULL: not fetched yet */
    const char **model_sha; /* of each: of its file; "": the zoo makes it */
    nightly_step *step;     /* of each stage of the graph */
    double *expected_s;     /* of each: what it took the night before; NaN: not known */
    bool is_interrupted;
} night;

/* nightly_folder.c: the unfinished run of this pipeline, or a new one. */
kiln_status kiln_nightly_run_open(night *n, kiln_err *err);
kiln_status kiln_nightly_run_end(night *n, kiln_err *err);

/* stage.c: brings one stage to its end, unless it is there already. What becomes of the
 * child is in its step; fails where nightly itself cannot go on. */
kiln_status kiln_nightly_stage_run(night *n, size_t stage, kiln_err *err);
/* "RUN/models/dqn/native-t1/bench/result.json". */
const char *kiln_nightly_result_path(kiln_arena *a, const night *n, size_t stage);

/* nightly_listen.c: what a child says while it runs. */
typedef struct nightly_stream {
    kiln_buf text; /* without lines of progress, as far as it is kept */
    kiln_buf line; /* that has not ended yet */
    bool is_cut;
} nightly_stream;
typedef struct nightly_listener {
    const char *path, *title;
    FILE *log;
    int why; /* errno of a log that cannot be written; 0: it can */
    nightly_stream out, err;
    int64_t begin_ns;
    double expected_s, rest_s; /* of this stage, of those to come; NaN: not known */
    kiln_progress said;        /* its last word; texts in of_said */
    kiln_arena of_said;
    kiln_progress_screen screen; /* of the log */
} nightly_listener;
/* Begins its log. */
kiln_status kiln_nightly_listen(kiln_arena *a, const night *n, size_t stage,
                                const char *folder, const char *command,
                                nightly_listener *out, kiln_err *err);
void kiln_nightly_heard(void *user, int stream, const char *bytes, size_t n);
/* Ends its log, and takes progress out of the result's streams. r NULL: there is none.
 * Must be called; fails where the log could not be written. */
kiln_status kiln_nightly_listen_end(nightly_listener *l, kiln_process_result *r,
                                    kiln_err *err);

/* nightly_judge.c: what an ended child means. `message` and `product` are in `a`. */
void kiln_nightly_judge(kiln_arena *a, const night *n, size_t stage,
                        const kiln_process_result *r, nightly_marker *out);

/* next.c: the commands that come next. */
void kiln_nightly_put_next(kiln_buf *out, const kiln_nightly_result *result);
/* record.c: what the nights before say of this one, into the results; its own entry in
 * the history (false: that failed, which the results say now); then old runs and the
 * page over all nights; and lines of it for a terminal. */
void kiln_nightly_recall(const night *n, kiln_results *r);
bool kiln_nightly_record(const night *n, kiln_results *r);
void kiln_nightly_tidy(const night *n, kiln_nightly_result *out);
void kiln_nightly_put_history(kiln_buf *out, const kiln_nightly_result *result);

/* nightly_collect.c: what is known by now. *dead: why the night as a whole is no success. */
kiln_status kiln_nightly_collect(const night *n, kiln_results *out, const char **dead,
                                 kiln_err *err);

#endif
