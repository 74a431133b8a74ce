/* pipeline/gate: is a new archive slower than the last accepted one (docs/gate.md)?
 *
 *     kiln_gate_run(a, paths, n, &options, &report, err);   candidates against accepted
 *     kiln_accept(a, paths, n, &options, &report, err);     makes archives the accepted
 *
 * The accepted archive, the control, runs beside the candidate on this machine, or on a
 * device elsewhere, in pairs of fresh processes; numbers of another night are never compared. What the pairs
 * mean is reports/reports_gate.c's.
 */
#ifndef KILN_PIPELINE_GATE_H
#define KILN_PIPELINE_GATE_H

#include "pipeline/package/package.h"
#include "reports/reports.h"
#include "reports/results/results.h"

/* ---- verdicts -------------------------------------------------------------------- */

/* In ascending order of concern: of many, the greatest is the verdict of all. */
typedef enum kiln_gate_outcome {
    KILN_GATED_EQUAL,        /* same code and parameters: nothing was timed */
    KILN_GATED_PASS,         /* slower by less than pass_below, at most */
    KILN_GATED_NEW,          /* nothing is accepted to compare with */
    KILN_GATED_INCONCLUSIVE, /* neither can be said */
    KILN_GATED_INVALID,      /* nothing was, or can be, compared: the reason says why */
    KILN_GATED_FAIL,         /* slower by more than fail_above, and found twice */
    KILN_GATED_WRONG, /* its outputs are: whatever it takes, it is no candidate */
    KILN_N_GATED
} kiln_gate_outcome;
const char *kiln_gate_outcome_name(kiln_gate_outcome o); /* "equal", ... */
/* Nothing measured is a failure too. */
bool kiln_gate_is_failure(kiln_gate_outcome o);

/* ---- a series of pairs ----------------------------------------------------------- */

typedef enum kiln_gate_side {
    KILN_GATE_CANDIDATE,
    KILN_GATE_CONTROL,
    KILN_GATE_AGAIN, /* the control once more: what differs is the machine's noise */
    KILN_N_GATE_SIDES
} kiln_gate_side;
const char *kiln_gate_side_name(kiln_gate_side s); /* "candidate", ... */

/* One fresh process: its timed runs. */
typedef struct kiln_gate_process {
    /* Of undisturbed runs: the lower quartile, since others only ever make runs slower,
     * and the least. */
    double ms, min_ms;
    double clock_ghz; /* around them */
    size_t n_runs, n_disturbed;
    size_t n_throttled; /* of these: the machine was too warm */
    uint32_t degrees;   /* the warmest it was, Celsius; 0: not known */
} kiln_gate_process;

typedef struct kiln_gate_sample {
    int pair;
    kiln_gate_side side;
    kiln_gate_process process;
    bool is_used; /* false: taken again */
} kiln_gate_sample;

/* Who runs a side once, in a process of its own. */
typedef struct kiln_gate_bench {
    kiln_status (*run)(void *user, kiln_gate_side side, kiln_gate_process *out,
                       kiln_err *err);
    void *user;
    void (*progress)(void *user, int pair, int pairs); /* NULL: none */
    void *progress_user;
    /* Who else has the processors: called with NULL where a series begins, and at its
     * end with what is to be filled, texts in `a`. NULL: nobody is asked. */
    void (*others)(void *user, kiln_arena *a, kiln_busy_report *out);
    void *others_user;
    kiln_gate_limits limits; /* of series with verdicts; zeros: 1% and 3% */
} kiln_gate_bench;

typedef struct kiln_gate_series {
    kiln_gate_look look; /* candidate / control */
    int pairs;           /* at the look that decided; 0: there was none */
    bool has_itself;
    kiln_gate_look itself; /* control / control: PASS where they are alike */
    double detectable;     /* slowdown that so many pairs would have shown */
    double pairs_needed; /* that tell the limits apart in such noise; may be infinite */
    kiln_stats_interval ratio; /* candidate / control: centre of all pairs, 95% */
    int n_retaken;
    int n_throttled;         /* processes, retaken ones too, with runs that were */
    uint32_t degrees;        /* the warmest of all; 0: not known */
    bool gave_up;            /* before the next look, which was lost already */
    kiln_busy_report others; /* meanwhile; zeros: not known */
    KILN_VEC(kiln_gate_sample) sample; /* in the order they were taken */
    const char *problem;               /* why nothing can be said; NULL: it can */
} kiln_gate_series;

/* Looks at 10, 16 and 24 pairs until the verdict is known. A pair is each side once, in
 * an order that the seed shuffles, and once more in the opposite order; the faster of
 * both counts. A process whose runs others disturbed, or whose
 * clock differs by more than 5% from those before it, is taken again, twice at most;
 * where more stay so than the next look may have of all that it needs, the series gives
 * up. with_itself: the control runs against itself between the pairs, and must be found
 * alike. */
kiln_status kiln_gate_series_run(kiln_arena *a, const kiln_gate_bench *b, uint64_t seed,
                                 bool with_itself, kiln_gate_series *out,
                                 kiln_err *err);

/* A fixed number of pairs of candidate and control, and their ratio, for a series of
 * nights: no verdict. At most KILN_GATE_MAX_PAIRS. */
kiln_status kiln_gate_ratio_run(kiln_arena *a, const kiln_gate_bench *b, uint64_t seed,
                                int pairs, kiln_gate_series *out, kiln_err *err);

typedef struct kiln_gate_timing {
    uint64_t seed;
    kiln_gate_limits limits;
    kiln_gate_series first, second; /* second: after a failure */
    bool has_second;
    kiln_gate_outcome outcome;
    const char *reason;
} kiln_gate_timing;
/* A series with the control against itself; after a failure a second one, fresh. */
kiln_status kiln_gate_time(kiln_arena *a, const kiln_gate_bench *b, uint64_t seed,
                           kiln_gate_timing *out, kiln_err *err);

/* ---- structure ------------------------------------------------------------------- */

typedef struct kiln_gate_structure {
    KILN_VEC(const char *) change; /* sentences */
    bool is_equal; /* code, plan and the parameters that it reads, bit for bit */
} kiln_gate_structure;
/* reads: of the candidate beside the control. */
void kiln_gate_compare(kiln_arena *a, const kiln_package_facts *candidate,
                       const kiln_package_facts *control,
                       const kiln_package_reads *reads, kiln_gate_structure *out);

/* ---- accepted archives ----------------------------------------------------------- */

/* One archive of a folder's accepted.json. */
typedef struct kiln_accepted {
    const char *model, *profile;
    int threads;
    const char *version, *sha256, *file; /* file: in the folder */
    int64_t bytes;
    const char *when, *who, *machine; /* of the acceptance; NULL: not known */
    const char *kiln, *commit;        /* that built it; NULL: not known */
    const char *replaced; /* when; NULL: it is the accepted one, not history */
} kiln_accepted;

typedef struct kiln_accepted_list {
    const char *folder;
    KILN_VEC(kiln_accepted) now;     /* by model, profile, threads; one of each */
    KILN_VEC(kiln_accepted) history; /* what was replaced, newest first */
    /* What every night is held against, and stays when another is accepted: by model,
     * profile, threads; one of each (docs/history.md). */
    KILN_VEC(kiln_accepted) frozen;
} kiln_accepted_list;

/* Empty where the folder is not there or holds nothing. KILN_ERR_ARG: archives, but no
 * accepted.json; KILN_ERR_PARSE names the member. */
kiln_status kiln_accepted_read(kiln_arena *a, const char *folder,
                               kiln_accepted_list *out, kiln_err *err);
/* NULL: none. */
const kiln_accepted *kiln_accepted_find(const kiln_accepted_list *l,
                                        const kiln_package_facts *f);
const kiln_accepted *kiln_frozen_find(const kiln_accepted_list *l,
                                      const kiln_package_facts *f);

/* Files of models, or "zoo:NAME": archives find theirs by its SHA-256. */
typedef struct kiln_gate_models {
    const char *const *path;
    size_t n;
} kiln_gate_models;

/* Who says that an archive is right. */
typedef enum kiln_accept_judge {
    KILN_JUDGED_UNCHANGED, /* nobody is asked: it is the accepted one */
    KILN_JUDGED_REFERENCE, /* of its model, which was given */
    KILN_JUDGED_ACCEPTED,  /* outputs are those of the archive that it replaces */
    KILN_JUDGED_NIGHTLY,   /* the verify stage of the run that built it */
    KILN_JUDGED_NOBODY,    /* but itself, and is_trusting */
    KILN_N_JUDGES
} kiln_accept_judge;
const char *kiln_accept_judge_name(kiln_accept_judge j); /* "unchanged", ... */

/* What is known of the nights that archives lie in: pipeline/nightly's, which is above
 * this folder. Both are asked with an arena for scratch and the archive's path. */
typedef struct kiln_accept_nights {
    /* Of a run whose gate slowed it on purpose? */
    bool (*is_injected)(kiln_arena *a, const char *archive);
    /* Held against the model's reference by its run, with this SHA-256? */
    bool (*has_verified)(kiln_arena *a, const char *archive, const char *sha256);
} kiln_accept_nights;

typedef struct kiln_accept_options {
    const char *to;
    const char *who;          /* NULL: the user's name as the environment has it */
    kiln_gate_models models;  /* that archives were built from */
    bool is_trusting;         /* archives that nobody but themselves calls right */
    bool is_dry;              /* verify, and say what would be done */
    const kiln_keyring *keys; /* one of which must have signed all; NULL: none */
    const kiln_accept_nights *nights; /* NULL: archives are of no night */
    /* Runs them, and is the machine that they are accepted on; NULL: this one is. Where it
     * is given and cannot run one, that is KILN_ERR_UNSUPPORTED. */
    const kiln_device *where;
} kiln_accept_options;

typedef struct kiln_accept_row {
    const char *path;
    kiln_accepted entry;
    const char *replaces;   /* SHA-256; NULL: nothing was accepted */
    bool is_unchanged;      /* it is the accepted one already */
    const char *not_tested; /* why its self-test was not run; NULL: it passed */
    kiln_accept_judge judge;
} kiln_accept_row;
typedef KILN_VEC(kiln_accept_row) kiln_accept_rows;

/* Archives, or folders with archives at any depth. All are verified before any is
 * copied, with the signature and provenance beside it; then accepted.json changes at
 * once for all of them. KILN_ERR_ARG: two archives for one place, no archive at all,
 * nobody else to say that one is right; KILN_ERR_PARSE: damaged, or wrong outputs. */
kiln_status kiln_accept(kiln_arena *a, const char *const *path, size_t n,
                        const kiln_accept_options *o, kiln_accept_rows *out,
                        kiln_err *err);
/* What is accepted becomes what nights are held against: of the models named, of all
 * where n is 0. A row each that changed; `replaces` is what was frozen. KILN_ERR_ARG:
 * nothing is accepted by such a name. */
kiln_status kiln_freeze(kiln_arena *a, const char *folder, const char *const *model,
                        size_t n, kiln_accept_rows *out, kiln_err *err);
void kiln_accept_text(kiln_buf *out, const kiln_accept_rows *rows, bool is_dry);
void kiln_accept_json(kiln_buf *out, const kiln_accept_rows *rows, bool is_dry);

/* ---- the gate -------------------------------------------------------------------- */

/* Beside the verdict: time / time of the frozen archive. */
typedef struct kiln_gate_frozen {
    bool is_there; /* one is frozen, and it was asked for */
    kiln_accepted archive;
    kiln_stats_interval ratio; /* 1 exactly: the same code; NaN: not known */
    int pairs;                 /* of the ratio; 0: nothing was timed */
    const char *problem;       /* why it is not known; NULL: it is */
} kiln_gate_frozen;

typedef struct kiln_gate_result {
    const char *path, *sha256; /* of the candidate; sha256 NULL: a folder, or unread */
    int64_t bytes;
    const char *model, *profile; /* NULL: it could not be read */
    int threads;
    kiln_gate_outcome outcome;
    const char *reason;
    bool has_accepted;
    kiln_accepted accepted; /* `file` is its path */
    const char *machine;
    kiln_gate_limits limits; /* that its times were or would be judged by */
    double injected;         /* as in the options: no verdict of this archive */
    kiln_gate_structure structure;
    bool is_timed;
    kiln_gate_timing timing;
    int runs; /* timed ones of a process */
    KILN_VEC(kiln_results_moved) moved;
    const char *moved_says; /* of all steps, in a sentence; NULL: they were not timed */
    kiln_gate_frozen frozen;
    const char *command;
} kiln_gate_result;

typedef struct kiln_gate_report {
    KILN_VEC(kiln_gate_result) result;
    kiln_gate_outcome outcome; /* the worst */
    double injected;           /* above 0: nothing here is a verdict of any archive */
    int n[KILN_N_GATED];
    kiln_stats_interval geomean; /* slowdown of those timed; NaN: none was */
} kiln_gate_report;

enum { KILN_GATE_MAX_INJECTED = 10 }; /* times the time of a run */
typedef struct kiln_gate_options {
    const char *against;     /* a folder of accepted archives, or one archive */
    int threads;             /* 0: those that the archive was built for */
    double seconds;          /* that the timed runs of a process last; 0: 0.1 */
    uint64_t seed;           /* of the order; 0: made of the two archives */
    bool times_equal;        /* even where code and parameters are the same */
    kiln_gate_limits limits; /* zeros: 1% and 3% */
    /* The candidate's runs are slowed by this share of their time: for a team that
     * tests its own alarm. Times what is equal, too; 0: they are not. */
    double injected;
    kiln_gate_models models;  /* that candidates were built from */
    const kiln_keyring *keys; /* one of which must have signed each side; NULL: none */
    bool wants_frozen;        /* the ratio to the frozen archive too */
    /* Runs both sides; NULL: this machine does. */
    const kiln_device *where;
    const char *runner; /* its address, for the command that repeats it */
} kiln_gate_options;

/* Archives, unpacked packages, or folders with archives at any depth. What is wrong
 * with one of them is its verdict, `invalid`; the call fails where nothing can be said:
 * no archive (KILN_ERR_ARG), no such file, interrupted. */
kiln_status kiln_gate_run(kiln_arena *a, const char *const *path, size_t n,
                          const kiln_gate_options *o, kiln_gate_report *out,
                          kiln_err *err);
void kiln_gate_text(kiln_buf *out, const kiln_gate_report *r);
void kiln_gate_json(kiln_buf *out, const kiln_gate_report *r); /* docs/gate-json.md */

#endif
