/* tuning_db: the stored tuning database. What was measured, when, how, and with which
 * proof: one file, or a database on a server (docs/tuning-db.md describes the tables).
 *
 *     kiln_db_open(arena, "kiln.db", NULL, &db, err);
 *     kiln_db_task_id(db, &task, &id, err);
 *     kiln_db_claim(db, id, &candidate, "me", 60, &claim, err);  is it mine to measure?
 *     kiln_db_record(db, id, &trial, &was_new, err);             it is on disk now
 *     kiln_db_best(db, arena, &task, KILN_DB_ANCHOR, 1, &list, err);
 *
 * Several processes may use one file: a claim keeps two of them from measuring the same
 * candidate, and a trial counts once however often it arrives. What a call reports as
 * done survives a kill. A handle belongs to one thread; it is opened by coordinators
 * only, never by what was forked from them.
 */
#ifndef KILN_TUNING_DB_H
#define KILN_TUNING_DB_H

#include "base/base.h"

typedef struct kiln_db kiln_db;

enum {
    KILN_DB_VERSION = 4,       /* of the tables */
    KILN_DB_KEY_VERSION = 2,   /* of profiles' keys */
    KILN_DB_BUSY_MS = 120000,  /* how long to wait for another process */
    KILN_DB_MAX_TEXT = 1 << 20 /* of any single text, in bytes */
};

typedef struct kiln_db_options {
    bool read_only; /* the file must exist; nothing is migrated. Its folder need not be
                       writable */
    int busy_ms;    /* 0: KILN_DB_BUSY_MS */
    const struct kiln_sql_engine *engine; /* NULL: the one that the path names */
} kiln_db_options;

/* Makes the file where there is none, and brings older tables up to date. `path` may
 * name an engine (sql/sql.h: "sqlite:kiln.db", "postgresql://me@host/tuning", a database
 * that is there and may be empty); ":memory:" is a database that nobody
 * else sees. The handle lies in the arena, and must be closed
 * before that is reset. KILN_ERR_PARSE: no tuning database, or damaged;
 * KILN_ERR_UNSUPPORTED: of a newer kiln, or on a network file system (whose locks
 * cannot be trusted); KILN_ERR_IO: the rest, with the reason. */
kiln_status kiln_db_open(kiln_arena *a, const char *path, const kiln_db_options *o,
                         kiln_db **out, kiln_err *err);
void kiln_db_close(kiln_db *db);             /* NULL is fine */
const char *kiln_db_path(const kiln_db *db); /* as messages name it */
/* The file that a path is, as kiln_db_open takes it; NULL: it is on a server. */
const char *kiln_db_file(const char *path);
int64_t kiln_db_now_ms(void); /* since 1970: what records carry */

/* ---- tasks ----------------------------------------------------------------------- */

/* What is searched for: the best code for one workload on one profile under one
 * condition. All texts are needed. */
typedef struct kiln_db_task {
    const char *workload;     /* its key, with what is fused behind the anchor */
    const char *anchor;       /* the anchor's key */
    const char *profile;      /* the profile's name: for people, and for transfer */
    const char *profile_json; /* all of it; its key tells profiles apart */
    int threads;              /* 1 or more */
    const char *numerics;     /* "fast", "strict" */
    const char *cache;        /* state of the caches while measuring: "rotated" */
} kiln_db_task;

/* SHA-256 of those fields of a profile's JSON that decide which records are its own
 * (profile_key.c lists them); of the whole text where it is no profile. Fields that a
 * later kiln adds to profiles change none. */
void kiln_db_profile_key(const char *profile_json, char hex[KILN_SHA256_HEX]);
/* Is this one of those fields? */
bool kiln_db_profile_key_has(kiln_str field);

/* The task's number in this file: that of this very profile, else of one with the same
 * key; made where there is none. */
kiln_status kiln_db_task_id(kiln_db *db, const kiln_db_task *t, int64_t *id,
                            kiln_err *err);

/* ---- trials ---------------------------------------------------------------------- */

typedef struct kiln_db_candidate {
    const char *tmpl;   /* name of the template */
    const char *config; /* JSON object of the knobs */
} kiln_db_candidate;

/* One measurement. Without an error there must be samples (finite, above 0) and a proof
 * that the results were right: no proof, no trial. */
typedef struct kiln_db_trial {
    kiln_db_candidate candidate;
    const char *layouts; /* types of the kernel's arguments, as text */
    const char *error;   /* kind: "crash", "wrong", ...; NULL or "": none */
    const char *detail;  /* one line about it */
    const double *sample_ns;
    size_t n_samples;
    double peak_gflops; /* of the slices measured in between; 0: not known */
    const char *proof;  /* JSON object: seeds, worst share of the error bound */
    const char *facts;  /* JSON object: code bytes, spills, ...; NULL: {} */
    const char *owner;  /* machine and process that measured */
    const char *kiln;   /* kiln's version */
    /* Who ran it: "local", a process of the owner's machine; or the address of one that
     * listens. NULL or "": not known. */
    const char *runner;
    int64_t time_ms; /* since 1970 */
    bool is_repeat;  /* measured again on purpose */
    /* Set by kiln_db_trials and kiln_db_best: */
    double median_ns;
    int64_t round; /* 0, and 1, 2, ... of repeats */
} kiln_db_trial;

/* Faster than its machine allows: its least_flops (of the facts; `flops` where they do
 * not say, 0: not known) take longer at 1.05 times the peak: the facts' limit_gflops,
 * else the record's own. Something else than the kernel's work was timed. False for
 * errors, and where nothing is known. */
bool kiln_db_is_implausible(const kiln_db_trial *t, double flops);

typedef enum kiln_db_claim_state {
    KILN_DB_CLAIMED, /* the caller's until it expires */
    KILN_DB_BUSY,    /* somebody else measures it now */
    KILN_DB_DONE,    /* there is a trial, good or bad */
    KILN_DB_FULL     /* the budget is spent; nothing is claimed */
} kiln_db_claim_state;
/* Claims of an owner that died end by themselves after `seconds`. The owner of a claim
 * may take it again. */
kiln_status kiln_db_claim(kiln_db *db, int64_t task, const kiln_db_candidate *c,
                          const char *owner, int seconds, kiln_db_claim_state *out,
                          kiln_err *err);
/* How many candidates with a trial tasks may have together, whoever measured them; a
 * claim counts as one. */
typedef struct kiln_db_budget {
    const int64_t *task;
    size_t n_tasks; /* different ones */
    int64_t trials;
} kiln_db_budget;
/* The same while something of the budget is left, however many claim at once; NULL: no
 * limit. */
kiln_status kiln_db_claim_within(kiln_db *db, int64_t task, const kiln_db_candidate *c,
                                 const char *owner, int seconds,
                                 const kiln_db_budget *b, kiln_db_claim_state *out,
                                 kiln_err *err);
/* So many candidates there are with a trial, or claimed now. */
kiln_status kiln_db_spent(kiln_db *db, const kiln_db_budget *b, int64_t *out,
                          kiln_err *err);
/* So many of them are claimed now, whoever does. */
kiln_status kiln_db_claimed(kiln_db *db, const kiln_db_budget *b, int64_t *out,
                            kiln_err *err);
/* Gives up one claim, where it is still this owner's; NULL: whoever's it is. */
kiln_status kiln_db_unclaim(kiln_db *db, int64_t task, const kiln_db_candidate *c,
                            const char *owner, kiln_err *err);
/* Gives up all claims of this owner. */
kiln_status kiln_db_release(kiln_db *db, const char *owner, kiln_err *err);
/* Who claims anything now, sorted. */
typedef struct kiln_db_owners {
    KILN_VEC(const char *) list;
} kiln_db_owners;
kiln_status kiln_db_owners_of(kiln_db *db, kiln_arena *a, kiln_db_owners *out,
                              kiln_err *err);

/* Stores the trial and ends its claim, together. *was_new (may be NULL): false where
 * this very candidate had a trial already and the new one is no repeat; then nothing
 * is stored. KILN_ERR_ARG: a trial that says neither how fast nor why not. */
kiln_status kiln_db_record(kiln_db *db, int64_t task, const kiln_db_trial *t,
                           bool *was_new, kiln_err *err);

typedef struct kiln_db_trials {
    KILN_VEC(kiln_db_trial) list;
} kiln_db_trials;
/* How many a task has, repeats too: has anything come since? */
kiln_status kiln_db_count(kiln_db *db, int64_t task, int64_t *out, kiln_err *err);
/* All of a task, in the order they were stored. */
kiln_status kiln_db_trials_of(kiln_db *db, kiln_arena *a, int64_t task,
                              kiln_db_trials *out, kiln_err *err);

/* How near a record is to what was asked for: nearest first. */
typedef enum kiln_db_match {
    KILN_DB_EXACT,    /* the same task */
    KILN_DB_ANCHOR,   /* the same anchor; something else is fused behind it */
    KILN_DB_RELATIVE, /* measured on another profile of the same name, or with another
                         number of threads */
    KILN_DB_CLASS /* measured with as many threads on another profile of the same class:
                     architecture, width and number of vector registers */
} kiln_db_match;
const char *kiln_db_match_name(kiln_db_match m);

typedef struct kiln_db_record_best {
    kiln_db_trial trial; /* its first round, but for median_ns: the mean of all */
    int64_t n_rounds;
    kiln_db_match match;
    const char *workload, *profile, *profile_json; /* of the record */
    int threads;
} kiln_db_record_best;
typedef struct kiln_db_bests {
    KILN_VEC(kiln_db_record_best) list;
} kiln_db_bests;
/* The `n_each` best good candidates for each layouts of each task that matches up to
 * `farthest`: nearest matches first, of them those for the very workload, then fastest.
 * A candidate measured several times counts by the mean of its rounds. Numerics and
 * caches must agree always; a profile that states another class is no relative. */
kiln_status kiln_db_best(kiln_db *db, kiln_arena *a, const kiln_db_task *t,
                         kiln_db_match farthest, int n_each, kiln_db_bests *out,
                         kiln_err *err);

/* Every task, sorted by what it says. */
typedef struct kiln_db_tasks {
    KILN_VEC(kiln_db_task) list;
} kiln_db_tasks;
kiln_status kiln_db_tasks_of(kiln_db *db, kiln_arena *a, kiln_db_tasks *out,
                             kiln_err *err);

/* ---- ready records --------------------------------------------------------------- */

/* The best configuration of a task for its layouts, to ship (docs/ready-records.md). It
 * says what it was better than, so that who reads it later can tell whether that still
 * holds. */
typedef struct kiln_db_ready {
    kiln_db_task task;
    kiln_db_candidate candidate;
    const char *layouts;
    double ns;
    int64_t n_rounds;   /* that ns is the mean of */
    double peak_gflops; /* beside it; 0: not known */
    const char *rule;   /* the configuration of the template's own rule, then */
    double rule_ns;     /* its time beside ns */
    const char *proof;  /* as a trial has it */
    const char *kiln;   /* version that measured */
    int64_t time_ms;    /* since 1970 */
} kiln_db_ready;
typedef struct kiln_db_readies {
    KILN_VEC(kiln_db_ready) list;
    char sha256[KILN_SHA256_HEX]; /* of the text that was read */
} kiln_db_readies;

/* One record a line, sorted; equal records give equal bytes. */
kiln_status kiln_db_ready_write(kiln_buf *out, const kiln_db_readies *r, kiln_err *err);
/* KILN_ERR_PARSE, and KILN_ERR_UNSUPPORTED for a newer version: the message names file
 * and line. */
kiln_status kiln_db_ready_read(kiln_arena *a, kiln_str text, const char *name,
                               kiln_db_readies *out, kiln_err *err);
/* A database in memory that holds them as trials; `facts` has "rule" and "rule_ns", and
 * "least_flops" as not known. */
kiln_status kiln_db_ready_open(kiln_arena *a, const kiln_db_readies *r, kiln_db **out,
                               kiln_err *err);

/* ---- models and history ---------------------------------------------------------- */

/* Scope of what builds ask; before margins were of templates it was "all work". */
#define KILN_DB_ALL_WORK "all work by template"
typedef struct kiln_db_model {
    const char *kind;    /* "xgboost" */
    const char *scope;   /* what it was trained for: profile and threads */
    int feature_version; /* of the features it reads */
    int64_t n_trials;    /* that it was trained on */
    kiln_str bytes;
} kiln_db_model;
/* Replaces the model of this kind, scope and feature version. */
kiln_status kiln_db_put_model(kiln_db *db, const kiln_db_model *m, kiln_err *err);
/* *found: false, and nothing else is set, where there is none. */
kiln_status kiln_db_get_model(kiln_db *db, kiln_arena *a, const char *kind,
                              const char *scope, int feature_version, bool *found,
                              kiln_db_model *out, kiln_err *err);
/* One line of what was done with this file: "tune", "import", ... */
kiln_status kiln_db_log(kiln_db *db, const char *what, const char *text, kiln_err *err);

/* ---- care ------------------------------------------------------------------------ */

typedef struct kiln_db_kind_count {
    const char *kind;
    int64_t n;
} kiln_db_kind_count;
typedef KILN_VEC(kiln_db_kind_count) kiln_db_kind_counts; /* most first */
typedef struct kiln_db_stats {
    int64_t n_workloads, n_profiles, n_tasks, n_trials, n_good, n_repeats, n_claims,
        n_models, file_bytes;
    int64_t first_ms, last_ms; /* of the trials; 0: none */
    kiln_db_kind_counts error;
    kiln_db_kind_counts runner; /* kind: as of a trial; "": not known */
} kiln_db_stats;
kiln_status kiln_db_stats_of(kiln_db *db, kiln_arena *a, kiln_db_stats *out,
                             kiln_err *err);

/* SHA-256 of all that builds and gates may read of it: equal for two states of a file
 * only where they give the same answers. */
kiln_status kiln_db_digest(kiln_db *db, char hex[KILN_SHA256_HEX], kiln_err *err);

/* Looks at every row: the file's own structure, references, keys and hashes, samples,
 * medians, proofs. `problem` gets one line each; none: all is well. */
typedef struct kiln_db_problems {
    KILN_VEC(const char *) line;
    bool was_cut; /* there are more than the 1000 that are listed */
} kiln_db_problems;
kiln_status kiln_db_check(kiln_db *db, kiln_arena *a, kiln_db_problems *out,
                          kiln_err *err);

/* One JSON document a line; equal contents give equal bytes whatever the file's history
 * (docs/tuning-db.md). Models and claims stay behind. */
kiln_status kiln_db_export(kiln_db *db, kiln_buf *out, kiln_err *err);
/* Merges an export, all or nothing. Trials that are there already are counted and
 * skipped, so an import may be repeated. The message names the line. */
typedef struct kiln_db_import_counts {
    int64_t n_new, n_known;
} kiln_db_import_counts;
kiln_status kiln_db_import(kiln_db *db, kiln_str text, const char *name,
                           kiln_db_import_counts *out, kiln_err *err);
/* Keeps of each task the `keep` fastest candidates with all their trials, and every
 * error (they say what not to try); the rest goes. */
kiln_status kiln_db_prune(kiln_db *db, int keep, int64_t *n_gone, kiln_err *err);
/* All trials of a task go, those that failed too; claims of others stay. */
kiln_status kiln_db_forget(kiln_db *db, const kiln_db_task *t, int64_t *n_gone,
                           kiln_err *err);

#endif
