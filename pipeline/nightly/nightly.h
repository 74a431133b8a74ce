/* pipeline/nightly: the whole main job in one command.
 *
 *     kiln_nightly_read(arena, "pipeline.json", &o, &config, err);
 *     kiln_nightly_plan(arena, &config, &graph, err);   jobs and stages
 *     kiln_nightly_run(arena, &config, &graph, &o, &result, err);
 *
 * Each stage is a command of kiln itself, run as a child process with a time limit.
 * What it wrote and a marker of how it ended lie in a folder of its own, so a run that
 * was killed goes on behind the last stage that had finished (docs/nightly.md).
 */
#ifndef KILN_PIPELINE_NIGHTLY_H
#define KILN_PIPELINE_NIGHTLY_H

#include "base/base.h"
#include "reports/results/results.h"
#include "pipeline/gate/gate.h"

enum {
    KILN_NIGHTLY_MAX_MODELS = 1000,
    KILN_NIGHTLY_MAX_JOBS = 4096,
    KILN_NIGHTLY_MAX_THREADS = 1024
};

typedef enum kiln_nightly_kind {
    KILN_NIGHTLY_FETCH,
    KILN_NIGHTLY_TUNE,
    KILN_NIGHTLY_BUILD,
    KILN_NIGHTLY_VERIFY,
    KILN_NIGHTLY_BENCH,
    KILN_NIGHTLY_GATE,
    KILN_NIGHTLY_OPS,
    KILN_NIGHTLY_N_KINDS
} kiln_nightly_kind;
const char *kiln_nightly_kind_name(kiln_nightly_kind k); /* "fetch", "operators", ... */

/* ---- the file (docs/pipeline-json.md) -------------------------------------------- */

typedef KILN_VEC(const char *) kiln_nightly_words;
typedef KILN_VEC(int) kiln_nightly_numbers;

typedef struct kiln_nightly_tune {
    bool is_asked;
    int trials;                      /* of each kernel, on average */
    int seconds;                     /* 0: until the trials are used up */
    bool no_early_end;               /* whatever is expected of more */
    const char *search, *cost_model; /* NULL: kiln tune's */
    int seed;
} kiln_nightly_tune;

typedef struct kiln_nightly_profile {
    const char *word;  /* as verbs take it: a name, or a file's path */
    const char *label; /* in names of folders: "native" */
    /* Where it is measured and run, as --runner takes them; none: on this machine. All of
     * them tune, the first runs archives. */
    kiln_nightly_words runner;
    const char *pool; /* in place of them: lends a device for each stage; NULL: none */
    int priority;     /* said to it; 0: none */
} kiln_nightly_profile;
/* Who runs its archives; NULL: this machine. */
const char *kiln_nightly_runner(const kiln_nightly_profile *p);
typedef KILN_VEC(kiln_nightly_profile) kiln_nightly_profiles;

typedef struct kiln_nightly_model {
    const char *name;
    const char *source;       /* "zoo:dqn", or a file's path; NULL: it is fetched */
    const char *fetch;        /* name in the catalog; NULL: nothing is fetched */
    const char *version;      /* "1" */
    kiln_nightly_words shape; /* "x:1x3x224x224", as --shape takes them */
    kiln_nightly_words bind;  /* "sr=16000", as --bind */
    const char *golden;       /* folder; NULL: none */
    kiln_nightly_profiles profile;
    kiln_nightly_numbers threads;
    const char *numerics; /* "fast", "strict" */
    const char *pack;     /* "build", "open" */
    kiln_nightly_tune tune;
    double fail_above, pass_below; /* percent; the gate's limits */
} kiln_nightly_model;

/* A list of operators, tuned as models are and measured beside libraries of operators.
 */
typedef struct kiln_nightly_set {
    const char *word; /* a list that ships, or a file's path */
    const char *label;
    kiln_nightly_profiles profile;
    kiln_nightly_numbers threads;
    const char *baselines; /* as --baselines takes them; NULL: none */
    double seconds;        /* of timing for each operator; 0: kiln bench's */
    kiln_nightly_tune tune;
} kiln_nightly_set;

typedef struct kiln_nightly_config {
    const char *path;             /* of the file, as given */
    char sha256[KILN_SHA256_HEX]; /* of its bytes */
    const char *name;
    const char *out;      /* runs are folders of it */
    const char *db;       /* tuning database */
    const char *catalog;  /* NULL: the one that ships */
    const char *accepted; /* folder of accepted archives; NULL: no gate */
    const char *keyring;  /* whose archives are taken; NULL: everybody's */
    const char *sign;     /* secret key that signs what is built; NULL: none */
    bool wants_frozen;    /* the gate times the frozen archive too */
    double injected;      /* share that the gate slows candidates by; 0: none */
    bool drift_fails;     /* a drift is a failure, not a warning */
    const char *history;  /* file of nights; NULL: beside what is accepted, or in out */
    int keep_nights;      /* runs that stay; 0: all */
    double keep_gb;       /* that all runs may take together; 0: any number */
    bool is_frozen;       /* nothing is tuned, the database is only read */
    bool no_ready;        /* the records that come with kiln are left out */
    double require_tuned; /* percent; below 0: not asked for */
    int rounds;
    const char *baselines;             /* as --baselines takes them; NULL: none */
    bool require_baselines;            /* absent ones are failures */
    int limit_s[KILN_NIGHTLY_N_KINDS]; /* 0: of the stage's own making */
    KILN_VEC(kiln_nightly_model) model;
    KILN_VEC(kiln_nightly_set) set;
    kiln_nightly_words only;    /* patterns of jobs; empty: all */
    kiln_nightly_words command; /* behind the program: reads the same again */
} kiln_nightly_config;

/* What the command line says instead of the file. */
typedef struct kiln_nightly_overrides {
    const char *out, *accepted; /* NULL: as the file says */
    bool is_frozen;
    bool no_ready;
    const char *const *only; /* patterns of jobs: MODEL[,PROFILE[,THREADS]] */
    size_t n_only;
    double injected; /* 0: nothing is */
} kiln_nightly_overrides;

/* Paths in the file are relative to its folder; here they are absolute, but for those
 * of `over`. KILN_ERR_PARSE names file and member of everything that is wrong, one line
 * each: unknown members, wrong types, names that nothing has, files that are not there.
 */
kiln_status kiln_nightly_read(kiln_arena *a, const char *path,
                              const kiln_nightly_overrides *over,
                              kiln_nightly_config *out, kiln_err *err);

/* ---- jobs and stages ------------------------------------------------------------- */

/* One model on one profile with one number of threads; or, where `set` is not negative,
 * one list of operators. */
typedef struct kiln_nightly_job {
    int model, set;                      /* indexes; -1: none */
    const kiln_nightly_profile *profile; /* borrowed from the configuration */
    int threads;
    const char *folder;              /* below the run's, "dqn/native-t1" */
    int stage[KILN_NIGHTLY_N_KINDS]; /* indexes; -1: it has none */
} kiln_nightly_job;

typedef struct kiln_nightly_stage {
    kiln_nightly_kind kind;
    int model;          /* index; -1: a list of operators */
    int job;            /* index; -1: fetching, for all jobs of the model */
    const char *folder; /* below the run's, "dqn/native-t1/bench" */
    int limit_s;
    const char *skip; /* why it is left out in any case; NULL: it is not */
} kiln_nightly_stage;

typedef struct kiln_nightly_graph {
    KILN_VEC(kiln_nightly_job) job;
    KILN_VEC(kiln_nightly_stage) stage; /* in the order they run */
} kiln_nightly_graph;

/* Asks which profiles' code can be measured, and which run at all, on this machine.
 * KILN_ERR_ARG: a pattern of `only` that no job has; it names the jobs there are. */
kiln_status kiln_nightly_plan(kiln_arena *a, const kiln_nightly_config *c,
                              kiln_nightly_graph *out, kiln_err *err);
/* For people: every stage with its command; models that are still to be fetched and the
 * run's folder have names in angle brackets. */
void kiln_nightly_plan_text(kiln_buf *out, const kiln_nightly_config *c,
                            const kiln_nightly_graph *g);

/* ---- running it ------------------------------------------------------------------ */

typedef struct kiln_nightly_event {
    const char *title; /* "dqn, native, 2 threads" */
    const char *stage; /* "bench" */
    size_t index, n_stages;
    bool is_end; /* else it begins */
    /* Of ends: */
    const char *state, *message; /* "done", "failed", ...; NULL: none */
    double seconds;
    bool is_reused;
} kiln_nightly_event;

typedef struct kiln_nightly_options {
    const char *program; /* kiln; NULL: the running program */
    bool is_new;         /* begin another run, even where one has not ended */
    void (*progress)(void *user, const kiln_nightly_event *e);
    void *user;
} kiln_nightly_options;

typedef struct kiln_nightly_result {
    const char *folder;   /* of the run */
    const char *accepted; /* folder of accepted archives; NULL: none is named */
    const char *program;  /* kiln */
    bool goes_on;         /* an earlier process began it */
    bool is_interrupted;
    int n_stages, n_done, n_failed, n_skipped, n_reused;
    kiln_results results; /* also in the folder, as JSON, a page and a table */
    const char *failure;  /* of the whole: "nothing was measured"; NULL: none */
    const char *pruned;   /* which runs went, as text; NULL: nobody asked */
    const char *untidy; /* what went wrong when the results were safe; NULL: nothing */
    bool is_good;       /* no stage failed, no verdict is bad */
} kiln_nightly_result;

/* What stages find and fail at is the result; fails where nightly itself cannot work:
 * KILN_ERR_IO where another one is at work in the folder, a disk is full, or there is
 * no database to freeze. Killed at any moment, the same call goes on. */
kiln_status kiln_nightly_run(kiln_arena *a, const kiln_nightly_config *c,
                             const kiln_nightly_graph *g, const kiln_nightly_options *o,
                             kiln_nightly_result *out, kiln_err *err);

/* For kiln_accept: what markers in a run's folder say of an archive there. It is
 * verified where its build stage made this very one, and its verify stage has held it
 * against the model's reference since. */
extern const kiln_accept_nights kiln_nightly_nights;

void kiln_nightly_text(kiln_buf *out, const kiln_nightly_result *r);

#endif
