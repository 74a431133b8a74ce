/* pipeline/tune: from a network (or a list of operators) to records in the tuning
 * database, and from records to the configurations that a build uses.
 *
 *     kiln_tune_works works;              what there is to tune, and how often it runs
 *     kiln_tune_run(a, &works, &o, &result, err);
 *     kiln_tune_settle(graph, &o, &settled, err);   the best ones, in the network
 *     kiln_oracle oracle = kiln_tune_oracle(&advice);     for kiln_choose
 *
 * The algorithms are compiler/tuner's, the processes pipeline/measure's, the records
 * tuning_db's; this folder makes them work together. Every finished trial is on disk
 * before the next is thought of, so a run that is killed goes on where it stopped.
 */
#ifndef KILN_PIPELINE_TUNE_H
#define KILN_PIPELINE_TUNE_H

#include "compiler/tuner/tuner.h"
#include "pipeline/measure/measure.h"
#include "tuning_db/tuning_db.h"
#include "pipeline/kernels/op_line.h"
#include "compiler/network/network_choose.h"

/* ---- what -------------------------------------------------------------------------
 */

typedef struct kiln_tune_work {
    kiln_op_work op; /* plain layouts */
    double calls;    /* in one run of the network; of a list, how often it is there */
    /* What is searched keeps the layouts of this configuration (JSON) of this template;
     * NULL: those of each template's own rule. */
    const kiln_template *tmpl;
    const char *like;
} kiln_tune_work;
typedef struct kiln_tune_works {
    KILN_VEC(kiln_tune_work) list;
} kiln_tune_works;

/* Every convolution and product of the graph (which has been through the passes) that a
 * template with a choice takes, equal ones once. Reduction-free work is left to the
 * templates' rules: memory bounds it. */
kiln_status kiln_tune_works_of_graph(kiln_arena *a, const kiln_graph *g,
                                     const kiln_profile *p, kiln_tune_works *out,
                                     kiln_err *err);
/* Each line, equal ones once, by the name of the first. */
kiln_status kiln_tune_works_of_lines(kiln_arena *a, const kiln_op_lines *lines,
                                     kiln_tune_works *out, kiln_err *err);

/* Leaves only those works that the template takes and has a choice for. KILN_ERR_ARG:
 * there is none. */
kiln_status kiln_tune_works_for(kiln_arena *a, const kiln_template *tmpl,
                                const kiln_profile *p, kiln_tune_works *works,
                                kiln_err *err);

/* ---- tuning ------------------------------------------------------------------------
 */

/* What somebody who watches wants to know. */
typedef struct kiln_tune_state {
    const char *work;           /* whose trial came in last */
    double last_ns;             /* 0: it failed */
    const char *last_kind;      /* "good", "crash", ... */
    int64_t n_trials, n_failed; /* of this run */
    int64_t n_wanted; /* of this run, in the end; 0: as many as there is time for */
    double seconds, trials_per_s;
    double latency_ns;   /* sum of calls times best, if stopped now */
    double seconds_left; /* of the time limit, or by the trials that are left; 0: it
                            cannot be told yet */
} kiln_tune_state;

typedef struct kiln_tune_options {
    const kiln_profile *profile; /* of kernels: of a GPU beside its host, the GPU's */
    /* What networks are compiled for, where that is another one: a host's, whose device
     * has `profile`. NULL: `profile`. */
    const kiln_profile *network;
    int threads; /* 0 counts as 1 */
    kiln_db *db;
    kiln_db *ready; /* ready records: a search begins with its own; NULL: none */
    /* What is tuned of works that several take (kiln_tune_works_for); NULL: all of them
     * but the generic one, and of those that fall behind less. */
    const kiln_template *tmpl;
    /* So many trials the works have on record in the end, on average, whoever measured
     * them. 0: 64; where seconds are given, no limit. */
    int64_t trials;
    /* At most so many trials of this run, whatever is on record: `trials` is not asked,
     * and no model is kept of so few. 0: by `trials`. */
    int64_t more;
    double seconds;                    /* 0: no limit */
    uint64_t seed;                     /* 0 counts as 1 */
    const kiln_search_kind *search;    /* NULL: annealing */
    const kiln_cost_model_kind *model; /* NULL: xgboost */
    /* Of one work: searched instead of what keeps the layouts, and all of it, whatever
     * is expected. For studies; NULL: none. */
    const kiln_space *part;
    /* Of other tuners (hints.h): what a search begins with, behind what is known; NULL:
     * none. */
    const struct kiln_tune_hints *hints;
    bool no_transfer;  /* learn nothing from other works */
    bool no_early_end; /* go on where nothing more is expected of any work */
    const char *owner; /* of claims; NULL: host and process */
    /* Of this tuner, in letters, digits, '-', '_' and '.': no two have one name at a
     * time, so what an earlier one of this name claimed, or one whose name goes on with
     * ".", is free. NULL: it has none. */
    const char *name;
    uint64_t shared_bytes; /* of workloads that workers keep at once; 0: 1 GiB */
    void (*progress)(void *user, const kiln_tune_state *s);
    void *user;
    /* As kiln_measure_options has them; for tests. */
    const char *const *builder_argv, *const *runner_argv;
    /* Runners elsewhere, as kiln_measure_options has them; NULL: one of our own. */
    const char *const *runner_addresses;
    int priority;
} kiln_tune_options;

/* A template that takes a work, and what it came to. */
typedef struct kiln_tune_way {
    const char *tmpl;
    int64_t n_trials; /* on record */
    double best_ns;   /* 0: none works */
} kiln_tune_way;

typedef struct kiln_tune_row {
    const char *name, *key;
    const char *tmpl;            /* of the best */
    KILN_VEC(kiln_tune_way) way; /* all that were searched; the rule's choice first */
    double calls;
    uint64_t n_configs; /* of the spaces that were searched */
    int64_t n_known, n_new;
    bool is_from_ready;       /* its start is a ready record */
    double start_ns, best_ns; /* without tuning, and now; 0: not known */
    double best_share;        /* of the peak measured beside it; 0: not known */
    const char *best;         /* configuration as JSON; "": none */
} kiln_tune_row;

/* So many trials of this run had come in, and the kernels took so long together: the
 * sum of calls times best. */
typedef struct kiln_tune_point {
    int64_t trial;
    double ns;
} kiln_tune_point;
typedef KILN_VEC(kiln_tune_point) kiln_tune_curve;

/* ---- the report card: how well the search itself did ------------------------------
 */

enum { KILN_CARD_REACHED = 3, KILN_CARD_LOOKS = 5 };
extern const double kiln_card_reached[KILN_CARD_REACHED]; /* 0.90, 0.95, 0.99 */
extern const int kiln_card_looks[KILN_CARD_LOOKS];        /* 1, 4, 8, 16, 32 */

/* Of searches with 8 trials or more on record, in geometric mean. */
typedef struct kiln_tune_card {
    int n_searches; /* 0: nothing below is known */
    /* Trials until within that part of the best that is known now. */
    double trials_to[KILN_CARD_REACHED];
    double after[KILN_CARD_LOOKS]; /* share of that best after so many */
    int n_taught; /* of them began with a model of other work; theirs and the others': */
    double taught_trials, alone_trials; /* trials to 95%; 0: there are none */
    /* Configurations that were about to be proposed and looked at for spills, and those
     * of them that were left out. */
    int64_t n_foreseen, n_avoided;
    /* Of a model of these trials, on a fifth that was held out; below 0: not known. */
    double accuracy, recall;
    /* Where the time went: of all workers; global model; proposing, with the models of
     * the works. They overlap: workers go on meanwhile. */
    double build_s, run_s, model_s, search_s;
    double think_cpu_s; /* of model and search, of the processor: load does not count */
    /* If stopped now, and after 20 more minutes as the scheduler expects it, at the
     * rate of this run; extrapolated. 0: not known. */
    double now_ns, later_ns;
} kiln_tune_card;
enum { KILN_CARD_LATER_S = 20 * 60 };

/* Trials in their order: until one took at most best_ns / share; 0: none did. */
int64_t kiln_card_trials_to(const kiln_trial *t, size_t n, double share);
/* The best known over the best of the first k; 0: none ran. */
double kiln_card_after(const kiln_trial *t, size_t n, int k);
void kiln_card_text(kiln_buf *out, const kiln_tune_card *c);

typedef struct kiln_tune_result {
    KILN_VEC(kiln_tune_row) row;
    int64_t n_new, by_error[KILN_N_TRIAL_ERRORS]; /* of this run */
    uint64_t n_slices, n_disturbed; /* of them all: others had the processor */
    uint64_t n_throttled;           /* or it was too warm */
    int64_t n_again; /* candidates measured once more, as noise had favoured them */
    int64_t n_unbelieved; /* records that are faster than their machine allows */
    double seconds;
    double start_ns, best_ns;                  /* sums of calls times start and best */
    const struct kiln_tune_transfer *transfer; /* of the database, now; NULL: it has too
                                                  little, or learned nothing new */
    kiln_tune_card card;
    kiln_tune_curve curve; /* each point lower than the one before; may be empty */
    kiln_task_end end;
    bool is_interrupted;
} kiln_tune_result;

/* Runs until trials, time, or hope are used up, or an interrupt. KILN_ERR_UNSUPPORTED
 * where the profile does not run here; a candidate's failure is a record, never an
 * error. Nothing worked at all, though something was tried: KILN_ERR_LIB. */
kiln_status kiln_tune_run(kiln_arena *a, const kiln_tune_works *works,
                          const kiln_tune_options *o, kiln_tune_result *out,
                          kiln_err *err);
/* ---- records as configurations ------------------------------------------------------
 */

/* States of the caches that tasks name. */
#define KILN_TUNE_CACHE "rotated"         /* parameters come from memory */
#define KILN_TUNE_CACHE_NETWORK "network" /* between the network's own steps */

/* The database's task for a work. The texts live in `a`. */
kiln_db_task kiln_tune_task_of(kiln_arena *a, const kiln_op_work *w,
                               const kiln_profile *p, int threads, const char *cache);

enum { KILN_TUNE_MAX_RANK = 7 };

/* What was answered for one work. */
typedef struct kiln_tune_answer {
    kiln_answers list;        /* nearest and cheapest first */
    const kiln_answer *taken; /* by kiln_choose; NULL: none is */
} kiln_tune_answer;

/* A model of all work in a database, for work that is not in it. */
typedef struct kiln_tune_transfer kiln_tune_transfer;

/* What a build asks. Each template that takes the work, in each pair of layouts that it
 * was measured in, is an answer with its cost: the nearest record of that way, the
 * cheapest of those. What was measured inside the network comes before what was
 * measured alone; of equally near records the user's own counts. Where nothing that is
 * known can be taken, the model's choice is an answer, if there is a model that chooses
 * better than rules. */
typedef struct kiln_tune_advice {
    kiln_db *db;    /* NULL: none */
    kiln_db *ready; /* ready records, which are asked for rank 0; NULL: none */
    /* Asked for rank 0; NULL: none. Borrowed. */
    const kiln_tune_transfer *transfer;
    bool is_hint; /* ready ones too that today's rule may outdo: to begin a search */
    int threads;
    int rank; /* 0: the best; 1: the second best of those measured alone, where there
                 is one; ... at most KILN_TUNE_MAX_RANK. -1: the best of those alone */
    kiln_arena *arena; /* of the answers; lives as long as this */
    /* Zeroed at the beginning. */
    kiln_map known;        /* profile and key -> kiln_tune_answer */
    int n_ready;           /* different works that a ready record was the answer for */
    int n_predicted;       /* and the model */
    int64_t predicting_ns; /* that this took, of all works that it was asked for */
} kiln_tune_advice;
kiln_oracle kiln_tune_oracle(kiln_tune_advice *advice);
/* What was answered for a profile so far: for how many different works, and a hash of
 * them and of their configurations, whatever the order in which they were asked. */
typedef struct kiln_tune_answers {
    int n;
    char sha256[KILN_SHA256_HEX];
    /* All ways that were told of, conversions too, with their layouts and costs: what a
     * search over layouts compared beside estimates. */
    int n_costs;
    char costs_sha256[KILN_SHA256_HEX];
} kiln_tune_answers;
/* advice NULL: nothing was asked. */
void kiln_tune_answers_of(kiln_arena *scratch, const kiln_tune_advice *advice,
                          const kiln_profile *p, kiln_tune_answers *out);

/* ---- ready records (docs/ready-records.md)
 * --------------------------------------------
 */

#define KILN_TUNE_READY_FILE "ready.jsonl" /* that comes with kiln */

typedef struct kiln_tune_ready {
    const char *path;
    kiln_db_readies records;
    kiln_db *db; /* in memory; closed with the arena */
} kiln_tune_ready;
/* path NULL: the file that comes with kiln (kiln_data_find). */
kiln_status kiln_tune_ready_open(kiln_arena *a, const char *path, kiln_tune_ready *out,
                                 kiln_err *err);
/* Of each task the best for each layouts of activations that is no slower than the
 * template's own rule; tasks of which none ships are lines of `left`. */
kiln_status kiln_tune_ready_make(kiln_arena *a, kiln_db *db, kiln_db_readies *out,
                                 kiln_db_problems *left, kiln_err *err);
/* A line for each record that is `wrong` (slower than the rule, without proof), and for
 * each that is `stale`, as builds leave it alone: its work or configuration is none of
 * today's templates, or their rule is another than it was compared with. */
kiln_status kiln_tune_ready_check(kiln_arena *a, const kiln_db_readies *r,
                                  kiln_db_problems *wrong, kiln_db_problems *stale,
                                  kiln_err *err);

/* Adds a line for each candidate that kiln_db_check cannot judge, as its record does
 * not say what it computed, and whose workload says that no machine is so fast. */
kiln_status kiln_tune_check(kiln_db *db, kiln_arena *a, kiln_db_problems *out,
                            kiln_err *err);

/* ---- what all works teach (docs/tuning.md) -----------------------------------------
 */

/* The kind that teaches searches and builds in the place of another: for all that read
 * what boosted trees do, an ensemble of five of them, which knows how sure it is; else
 * the kind itself. */
const kiln_cost_model_kind *kiln_tune_teacher_of(const kiln_cost_model_kind *kind);
/* Its stored model of this version; NULL in *out: there is none. Lives as long
 * as the arena. KILN_ERR_PARSE, KILN_ERR_UNSUPPORTED: it is damaged, or of another form.
 */
kiln_status kiln_tune_transfer_open(kiln_arena *a, kiln_db *db,
                                    const kiln_cost_model_kind *kind,
                                    const kiln_tune_transfer **out, kiln_err *err);
/* The same where it was fitted to what the database holds now; else it is made of all
 * trials of all works, templates, numbers of threads and profiles, held out by
 * workload, and stored. NULL in *out: there are too few workloads to learn from. */
kiln_status kiln_tune_transfer_renew(kiln_arena *a, kiln_db *db,
                                     const kiln_cost_model_kind *kind,
                                     const kiln_tune_transfer **out, kiln_err *err);
/* How many pairs of candidates a model of the other ones has in order, from the records
 * alone: of workloads (dealt into five parts), and of each profile, where there are
 * several. */
typedef struct kiln_tune_carried {
    const char *profile; /* name and the beginning of its key */
    size_t n_lessons, n_pairs;
    double accuracy;
} kiln_tune_carried;
typedef struct kiln_tune_carries {
    int n_workloads;
    double workloads; /* 0: there are too few */
    KILN_VEC(kiln_tune_carried) profile;
} kiln_tune_carries;
kiln_status kiln_tune_carries_over(kiln_arena *a, kiln_db *db,
                                   const kiln_cost_model_kind *kind,
                                   kiln_tune_carries *out, kiln_err *err);
/* The key of an anchor, "conv(%0: f32[8,64,56,56], ...)", with "*" for the first dimension
 * of its first operand: equal for the same work at another batch. May be `anchor`. */
kiln_str kiln_tune_without_batch(kiln_arena *a, kiln_str anchor);
/* What it was made of and how it did, in a line. */
void kiln_tune_transfer_text(kiln_buf *out, const kiln_tune_transfer *t);

/* ---- inside the network ------------------------------------------------------------
 */

typedef struct kiln_tune_settled {
    int n_works,
        n_changed; /* whose best inside the network is another one than alone */
    /* The network's run with the best alone: measured; as chosen: that, less what the
     * works of this call gain by their own medians. */
    double alone_ns, chosen_ns;
    bool is_cut; /* time or an interrupt ended it: nothing was recorded */
} kiln_tune_settled;

/* Measures the three best configurations of every work between the network's own steps,
 * and records the times: the oracle prefers them. Works whose candidates have such
 * records get no others; n_works counts the rest. options.seconds is a limit of this
 * call: with a third of its rounds it is content, else nothing is recorded. */
kiln_status kiln_tune_settle(const kiln_graph *g, const kiln_tune_options *o,
                             kiln_tune_settled *out, kiln_err *err);

/* ---- layouts -----------------------------------------------------------------------
 */

/* What is known of other layouts than the rules'. */
typedef struct kiln_tune_layouts {
    int n_rounds;
    int64_t n_trials;                 /* of this call */
    int64_t n_conversions, n_kernels; /* different ones that were looked at */
    /* Expected of one run by what is known now: in the rules' layouts, and in those that
     * a search chooses. 0: nobody looked. */
    double greedy_ns, search_ns;
    int n_changed; /* steps in other layouts */
    /* Both networks, run in turns; 0: they were not, or are the same. */
    double ran_greedy_ns, ran_search_ns;
} kiln_tune_layouts;

/* Measures what a search over layouts wishes for (compiler/network/wishes.h), kernels in
 * other layouts and conversions, as long as there is something; then runs the network
 * that it chooses beside the greedy one, where that is another. For `works`, which were
 * tuned: at most a quarter of their trials is added, and what options.seconds allows. */
kiln_status kiln_tune_try_layouts(kiln_arena *a, const kiln_graph *g,
                                  const kiln_tune_works *works,
                                  const kiln_tune_options *o, kiln_tune_layouts *out,
                                  kiln_err *err);

/* All of it, for people and programs. */
typedef struct kiln_tune_report {
    const kiln_tune_result *result;
    const kiln_tune_settled *settled; /* NULL, or zeroed: there is no network */
    const kiln_tune_layouts *layouts; /* the same */
} kiln_tune_report;
void kiln_tune_text(kiln_buf *out, const kiln_tune_report *all);
void kiln_tune_json(kiln_buf *out, const kiln_tune_report *all);

#endif
