/* compiler/tuner: finding fast configurations with few measurements (AutoTVM, NIPS'18;
 * TVM, OSDI'18, section 5).
 *
 *     kiln_tune_task task;           a workload and the template that takes it
 *     kiln_candidates *c;            its configurations, encoded for a cost model
 *     kiln_cost_model model;         learned: encodings to a score
 *     kiln_search *s;                which configurations to measure next
 *     kiln_task_scheduler sched;     which task to spend the next trials on
 *
 * Pure algorithms: no files, clocks, processes or databases. Whoever measures drives:
 *
 *     while ((t = kiln_task_scheduler_next(sched, now, &n_trials)) >= 0) {
 *         n = the smaller of n_trials and kiln_search_batch(search[t])
 *         kiln_search_next(search[t], n, index, &n, err);
 *         ... build and time them, kiln_search_report(search[t], &trial, err) ...
 *         kiln_task_scheduler_report(sched, t, n, best_ns, n == 0);
 *     }
 *
 * The same calls with the same seed give the same answers. Nothing here may be used by
 * two threads at a time.
 */
#ifndef KILN_COMPILER_TUNER_TUNER_H
#define KILN_COMPILER_TUNER_TUNER_H

#include "compiler/schedule/registers.h"
#include "compiler/schedule/template.h"

/* ---- tasks ----------------------------------------------------------------------- */

typedef struct kiln_tune_task {
    const kiln_workload *work; /* borrowed, as is all below */
    const kiln_profile *profile;
    const kiln_template *tmpl;
    kiln_space space; /* in the arena it was made with */
} kiln_tune_task;

/* tmpl NULL: the first that fits. KILN_ERR_UNSUPPORTED where none does; what the
 * template says of the space. */
kiln_status kiln_tune_task_make(kiln_arena *a, const kiln_workload *w,
                                const kiln_profile *p, const kiln_template *tmpl,
                                kiln_tune_task *out, kiln_err *err);

/* ---- candidates ------------------------------------------------------------------ */

/* One configuration and what it became: all that a cost model may look at. */
typedef struct kiln_candidate {
    const kiln_tune_task *task; /* workload, profile, template, space */
    const kiln_config *config;
    const kiln_program *program; /* as kiln_lower makes it, before any pass */
} kiln_candidate;

typedef struct kiln_cost_model_kind kiln_cost_model_kind;

/* What a cost model keeps of a candidate: bytes of its own making, which nobody else
 * reads. Searches take candidates with equal bytes for the same program: the model
 * cannot tell them apart. */
typedef struct kiln_encoding {
    kiln_str bytes; /* at least one; aligned to 16 */
    uint64_t hash;  /* of them */
} kiln_encoding;

/* Several, one behind the other: number i is bytes[begin[i]] up to bytes[begin[i + 1]].
 */
typedef struct kiln_encodings {
    size_t n;
    const char *bytes;   /* aligned to 16 */
    const size_t *begin; /* n + 1 of them; NULL where n is 0 */
} kiln_encodings;
kiln_encodings kiln_encodings_part(const kiln_encodings *e, size_t at, size_t n);
kiln_str kiln_encodings_at(const kiln_encodings *e, size_t i);

/* A zeroed struct is empty. */
typedef struct kiln_encoding_list {
    kiln_buf bytes;
    KILN_VEC(size_t) begin;
} kiln_encoding_list;
void kiln_encoding_list_add(kiln_arena *a, kiln_encoding_list *l, kiln_str bytes);
void kiln_encoding_list_clear(kiln_encoding_list *l); /* keeps the memory */
/* Borrowed until the next change. */
kiln_encodings kiln_encoding_list_view(const kiln_encoding_list *l);

/* The configurations of one task, encoded for a kind of model: applied, lowered and
 * looked at when first asked for; the latest ones are kept. */
typedef struct kiln_candidates kiln_candidates;
kiln_candidates *kiln_candidates_new(kiln_arena *a, const kiln_tune_task *t,
                                     const kiln_cost_model_kind *kind);
/* NULL: the template (or lowering) refuses the configuration. Borrowed until the next
 * call. */
const kiln_encoding *kiln_candidates_encoding(kiln_candidates *c, uint64_t index);
typedef struct kiln_candidates_stats {
    uint64_t asked, lowered, refused; /* refused: of those lowered */
} kiln_candidates_stats;
kiln_candidates_stats kiln_candidates_count(const kiln_candidates *c);

/* ---- trials ---------------------------------------------------------------------- */

/* How a measurement ended. All but the first score as the slowest there is. */
typedef enum kiln_outcome {
    KILN_OUTCOME_MEASURED,
    KILN_OUTCOME_SLOW,    /* stopped early: at least this slow */
    KILN_OUTCOME_SPILLS,  /* built, but its hot loops go to the stack: not measured */
    KILN_OUTCOME_NOBUILD, /* refused by a pass or the code generator, or took too long
                             there */
    KILN_OUTCOME_LETHAL,  /* crashed, hung, or passed a limit of memory */
    KILN_OUTCOME_WRONG,   /* the output was not right */
    KILN_OUTCOME_LOST     /* the device's fault: says nothing, may be proposed again */
} kiln_outcome;

typedef struct kiln_trial {
    uint64_t index; /* of the configuration */
    kiln_outcome outcome;
    double cost_ns; /* > 0 where MEASURED or SLOW */
} kiln_trial;
/* In [0, 1], what models learn: best_ns, the best of the workload, over its own cost; 0
 * for what did not run. */
float kiln_trial_score(const kiln_trial *t, double best_ns);

/* ---- cost models ----------------------------------------------------------------- */

/* What a model learns from. */
typedef struct kiln_samples {
    kiln_encodings encoding; /* n of them */
    const float *score;      /* the best cost of its workload over its own: 1 is best, 0
                                did not run */
    const uint32_t *group; /* ascending: the workload; only those of one are compared */
    const float *base;     /* n margins to start from (transfer); NULL: zeros */
    const float *weight; /* n, one for all of a group: how much it counts; NULL: ones */
    /* What is learned shall hold for other workloads too: the model leaves out whatever
     * belongs to one alone. */
    bool carries_over;
} kiln_samples;

typedef enum kiln_objective {
    KILN_OBJECTIVE_RANK, /* pairwise: log(1 + exp(-(f_i - f_j))) where i is faster */
    KILN_OBJECTIVE_REGRESSION /* squared error of the score */
} kiln_objective;

typedef struct kiln_cost_model_options {
    kiln_objective objective;
    uint64_t seed;
    /* The kind's own, "NAME=NUMBER NAME=NUMBER" as its file says; NULL: its defaults.
     * Must stay. */
    const char *own;
} kiln_cost_model_options;

typedef struct kiln_cost_model kiln_cost_model;
/* A row of cost_models.def; its file is model/NAME.c. */
struct kiln_cost_model_kind {
    const char *name, *doc;
    /* Encodings of another version do not mix with these, nor models that read them. */
    int version;
    /* Appends the candidate's bytes, at least one. A function of the candidate alone:
     * names, addresses and order of arguments must not matter. */
    void (*encode)(kiln_arena *scratch, const kiln_candidate *c, kiln_buf *out);
    /* Reads options.own into m->state. KILN_ERR_ARG: there is no such option. */
    kiln_status (*init)(kiln_cost_model *m, kiln_err *err);
    /* These may fail with KILN_ERR_LIB. */
    kiln_status (*fit)(kiln_cost_model *m, const kiln_samples *s, kiln_err *err);
    kiln_status (*predict)(const kiln_cost_model *m, const kiln_encodings *e,
                           float *out, kiln_err *err);
    /* And how unsure it is of each: a standard deviation in the unit of `out`. NULL:
     * it cannot tell. */
    kiln_status (*predict_spread)(const kiln_cost_model *m, const kiln_encodings *e,
                                  float *out, float *spread, kiln_err *err);
    /* How much better each is than number `of`, and how unsure it is of that: what all
     * members of an ensemble have in common is no doubt. NULL: differences of `predict`,
     * without any. */
    kiln_status (*predict_over)(const kiln_cost_model *m, const kiln_encodings *e,
                                size_t of, float *out, float *spread, kiln_err *err);
    kiln_status (*save)(const kiln_cost_model *m, kiln_buf *out, kiln_err *err);
    kiln_status (*load)(kiln_cost_model *m, const void *bytes, size_t n, kiln_err *err);
    void (*fini)(kiln_cost_model *m); /* what lies outside the arena; NULL: nothing */
};

#define KILN_COST_MODEL(name) extern const kiln_cost_model_kind kiln_cost_model_##name;
#include "compiler/tuner/cost_models.def"
#undef KILN_COST_MODEL
const kiln_cost_model_kind *kiln_cost_model_at(int i); /* NULL past the end */
const kiln_cost_model_kind *kiln_cost_model_find(kiln_str name);

/* What a fitted model says of itself; saved with it. */
typedef struct kiln_cost_model_origin {
    /* SHA-256 of what it was fitted to: encodings, scores, groups, margins,
     * weights. "": it was
     * saved before there were any. */
    char samples[KILN_SHA256_HEX];
    int64_t n_samples;
    /* Pairs in order of samples that it was not fitted to, of all; below 0: nobody
     * looked. Whoever fits sets it (kiln_cost_model_hold_out). */
    double held_out;
} kiln_cost_model_origin;

struct kiln_cost_model {
    const kiln_cost_model_kind *kind;
    kiln_cost_model_options options;
    bool is_fitted;
    kiln_cost_model_origin origin; /* where it is fitted */
    void *state;                   /* the kind's own */
    kiln_arena arena;              /* of `state`; lives as long as the model */
};

/* o NULL: defaults. KILN_ERR_ARG: options that the kind does not have. */
kiln_status kiln_cost_model_init(kiln_cost_model *m, const kiln_cost_model_kind *kind,
                                 const kiln_cost_model_options *o, kiln_err *err);
void kiln_cost_model_fini(kiln_cost_model *m); /* accepts a zeroed struct */
/* For kinds: cuts the next "NAME=NUMBER" off *rest; false in *has: there is none. */
kiln_status kiln_cost_model_option(const kiln_cost_model *m, kiln_str *rest, bool *has,
                                   kiln_str *name, double *value, kiln_err *err);
/* Learns from scratch; what it knew before is gone, but stays where this fails.
 * KILN_ERR_ARG: no samples. */
kiln_status kiln_cost_model_fit(kiln_cost_model *m, const kiln_samples *s,
                                kiln_err *err);
/* out[i]: the larger, the faster; of one workload comparable, without unit. base: as in
 * kiln_samples, added; NULL: zeros. A model that was not fitted gives the base. */
kiln_status kiln_cost_model_predict(const kiln_cost_model *m, const kiln_encodings *e,
                                    const float *base, float *out, kiln_err *err);
/* And how unsure it is: zeros of kinds that cannot tell, and of what was not fitted. */
kiln_status kiln_cost_model_predict_spread(const kiln_cost_model *m,
                                           const kiln_encodings *e, const float *base,
                                           float *out, float *spread, kiln_err *err);
/* How much better each is than number `of` of them, and how unsure the model is of that.
 */
kiln_status kiln_cost_model_predict_over(const kiln_cost_model *m,
                                         const kiln_encodings *e, size_t of, float *out,
                                         float *spread, kiln_err *err);
/* How good a model of this kind is on a fifth of the samples when fitted to the others:
 * every fifth of a group is held out. */
typedef struct kiln_hold_out {
    double accuracy; /* pairs of one group in order, of those whose scores differ by a
                        twentieth or more; -1: there are none */
    double recall;   /* of the best fifth of each group, at least one: the part that is
                        in the model's best fifth; -1: nothing was held out */
} kiln_hold_out;
kiln_status kiln_cost_model_hold_out(const kiln_cost_model_kind *kind,
                                     const kiln_cost_model_options *o,
                                     const kiln_samples *s, kiln_hold_out *out,
                                     kiln_err *err);
/* Bytes with kind, version, origin and a checksum. load: `kind` is what they must be of.
 * KILN_ERR_PARSE what is not such, or damaged; KILN_ERR_UNSUPPORTED another kind or
 * version. The checksum tells damage, not malice: XGBoost reads its part, so load only
 * what a database of one's own holds.
 * `out` must not be initialised. */
kiln_status kiln_cost_model_save(const kiln_cost_model *m, kiln_buf *out,
                                 kiln_err *err);
kiln_status kiln_cost_model_load(kiln_cost_model *out, const kiln_cost_model_kind *kind,
                                 const void *bytes, size_t n, kiln_err *err);

/* Trials of several workloads as samples: for models that are carried over. Group i is
 * the i-th call. All candidates are encoded for one kind of model. */
typedef struct kiln_sample_set {
    kiln_arena *arena; /* borrowed */
    bool carries_over;
    uint32_t n_groups;
    kiln_encoding_list encoding;
    KILN_VEC(float) score, weight;
    KILN_VEC(uint32_t) group;
} kiln_sample_set;
void kiln_sample_set_init(kiln_sample_set *s, kiln_arena *a, bool carries_over);
/* What the template refuses today and what was LOST is left out. */
void kiln_sample_set_add(kiln_sample_set *s, kiln_candidates *c, const kiln_trial *t,
                         size_t n);
kiln_samples kiln_sample_set_view(const kiln_sample_set *s);

/* ---- spills, foreseen and seen --------------------------------------------------- */

/* What the configuration's code will want of registers, told from its loop program;
 * false: the template or a pass refuses it. A millisecond or two. */
bool kiln_tune_registers(kiln_arena *scratch, const kiln_tune_task *t, uint64_t index,
                         kiln_registers *out);

/* How often what was foreseen came true: for each template, by how much of the machine's
 * registers is wanted. It begins with what was counted on AVX2 and AVX-512, and learns
 * from every trial, of whatever work. */
typedef struct kiln_spill_log kiln_spill_log;
kiln_spill_log *kiln_spill_log_new(kiln_arena *a);
void kiln_spill_log_add(kiln_spill_log *l, const kiln_tune_task *t,
                        kiln_registers wanted, bool spilled);
/* In [0, 1]: how likely it is to spill. */
double kiln_spill_log_chance(const kiln_spill_log *l, const kiln_tune_task *t,
                             kiln_registers wanted);

/* ---- search ---------------------------------------------------------------------- */

/* What a search maximizes (Brochu, Cora, de Freitas, arXiv:1012.2599, section 2.3). All
 * but the first want a model that says how unsure it is; of others they are the mean. */
typedef enum kiln_acquisition {
    KILN_ACQUIRE_MEAN,
    KILN_ACQUIRE_UPPER_BOUND, /* mean and one standard deviation */
    KILN_ACQUIRE_IMPROVEMENT  /* expected, over the best trial as the model has it */
} kiln_acquisition;

typedef struct kiln_search_options {
    uint64_t seed;
    double epsilon;   /* part of a batch that is random; 0: the default 0.1 (of those
                         that learn), negative: none */
    double diversity; /* weight of new knob values against predicted speed; 0: the
                         default, negative: none */
    int n_chains, n_steps; /* of annealing; 0: the default */
    /* Programs that annealing makes to propose a batch, at most: making them is what
     * proposals cost. 0: 48, and 12 for each of the batch; negative: no limit. */
    int n_fresh;
    const kiln_cost_model_kind *model; /* NULL: xgboost */
    kiln_cost_model_options model_options;
    kiln_acquisition acquisition;
    const kiln_cost_model *global; /* fitted to other workloads, of a kind that encodes
                                      as `model` does; NULL: none; borrowed */
    const uint64_t *first; /* known good ones: proposed before all others; copied */
    size_t n_first;
    bool without_guess; /* the template's guess does not follow them: for studies */
    /* Nothing else is proposed, for replays of what was measured; NULL: whatever the
     * template takes. Borrowed, ascending. */
    const uint64_t *only;
    size_t n_only;
    /* Of the same task and kind of model, for several searches; borrowed. NULL: its own.
     */
    kiln_candidates *candidates;
    /* What is likelier to spill than this is proposed only where nothing else is left;
     * 0: a half; negative: nobody looks. Not of GPUs, and not with `only`. */
    double most_spills;
    kiln_spill_log *spills; /* of several searches; borrowed. NULL: its own */
} kiln_search_options;

typedef struct kiln_search kiln_search;
/* A row of searches.def; its file is search/NAME.c. */
typedef struct kiln_search_kind {
    const char *name, *doc;
    kiln_status (*init)(kiln_search *s, kiln_err *err);
    /* Up to n indexes that were never proposed or reported and that the template takes;
     * fewer only where the space has no more. */
    kiln_status (*next)(kiln_search *s, size_t n, uint64_t *out, size_t *n_out,
                        kiln_err *err);
    /* The n that its model likes best of what it has seen, best first, measured or not;
     * NULL: it has no model. */
    kiln_status (*predicted)(kiln_search *s, size_t n, uint64_t *out, size_t *n_out,
                             kiln_err *err);
} kiln_search_kind;

#define KILN_SEARCH(name) extern const kiln_search_kind kiln_search_##name;
#include "compiler/tuner/searches.def"
#undef KILN_SEARCH
const kiln_search_kind *kiln_search_at(int i); /* NULL past the end */
const kiln_search_kind *kiln_search_find(kiln_str name);

/* o NULL: defaults. The first proposals are o->first, then the template's guess. Owned
 * by the arena: models are released with it. The task is borrowed. */
kiln_status kiln_search_new(kiln_arena *a, const kiln_search_kind *kind,
                            const kiln_tune_task *t, const kiln_search_options *o,
                            kiln_search **out, kiln_err *err);
/* Up to n configurations to measure, none twice; *n_out < n: the space has no more, 0:
 * nothing is left. */
kiln_status kiln_search_next(kiln_search *s, size_t n, uint64_t *out, size_t *n_out,
                             kiln_err *err);
/* How many to ask for next: few while little is known, so that what is learned counts
 * soon; then a quarter of the trials so far, at most 32. */
size_t kiln_search_batch(const kiln_search *s);
/* What became of a configuration; also one that was not proposed (from a database). The
 * latest report of an index counts. KILN_ERR_ARG: an index outside the space, a cost
 * that is not positive and finite. */
kiln_status kiln_search_report(kiln_search *s, const kiln_trial *t, kiln_err *err);
/* The fastest MEASURED; false: none yet. */
bool kiln_search_best(const kiln_search *s, kiln_trial *out);
size_t kiln_search_n_trials(const kiln_search *s); /* reported, LOST ones left out */
kiln_candidates *kiln_search_candidates(kiln_search *s);
/* What was foreseen of a configuration when it was looked at; false: it was not. */
bool kiln_search_foreseen(const kiln_search *s, uint64_t index, kiln_registers *out);
typedef struct kiln_search_stats {
    uint64_t n_foreseen; /* configurations that were looked at */
    uint64_t n_avoided;  /* of these: left out at some time, as they would spill or
                            are refused */
} kiln_search_stats;
kiln_search_stats kiln_search_count(const kiln_search *s);
/* The n configurations that the model likes best of what the search has seen, best
 * first, measured or not; without any trial the global model's choice: a build without
 * budget. KILN_ERR_ARG: the search has no model. */
kiln_status kiln_search_predicted(kiln_search *s, size_t n, uint64_t *out,
                                  size_t *n_out, kiln_err *err);

/* ---- which task is next ---------------------------------------------------------- */

/* Trials go where the latency of the whole is expected to fall most: for each task the
 * larger of its recent slope and of what a task of its age may still gain, times its
 * weight (Zheng et al., Ansor, OSDI'20, section 6.2). Tasks may be ways to do the same
 * work: the best of these counts, and of its trials the way gets each turn that may come
 * to least, by a bound of its best and of how many it had (UCB1); one whose bound is not
 * below the best of all has lost. A task is given up near its floor, or after as many
 * trials without a step as it took to its best. */
typedef struct kiln_task_weight {
    double weight;   /* how often the network calls it; 0: never chosen */
    double start_ns; /* what a call costs without tuning; <= 0: not known */
    double floor_ns; /* what no kernel goes below (roofline); 0: not known */
    int work;        /* tasks of one number above 0 are ways to do one work */
} kiln_task_weight;

typedef struct kiln_task_scheduler_options {
    uint64_t seed;
    int64_t max_trials;      /* in all; 0: no limit */
    int64_t time_ns;         /* since the first call of next; 0: no limit */
    int batch;               /* trials of one turn; 0: 32 */
    double min_gain;         /* a task whose floor would save less than this part of the
                                whole latency is given up; 0: 1e-3 */
    int64_t patience_trials; /* never stop a task for lack of gain before; 0: 64 */
    bool never_gives_up; /* nor after: only trials, time and exhausted spaces end it */
} kiln_task_scheduler_options;

typedef enum kiln_task_end {
    KILN_TASKS_RUNNING,
    KILN_TASKS_TRIALS,   /* all trials were spent */
    KILN_TASKS_TIME,     /* the time limit has passed */
    KILN_TASKS_NO_GAIN,  /* of no task anything more is expected */
    KILN_TASKS_EXHAUSTED /* every space was searched whole */
} kiln_task_end;
const char *kiln_task_end_name(kiln_task_end e);

typedef struct kiln_task_scheduler kiln_task_scheduler;
kiln_task_scheduler *kiln_task_scheduler_new(kiln_arena *a, const kiln_task_weight *t,
                                             int n,
                                             const kiln_task_scheduler_options *o);
/* The next task, and how many trials its turn has; -1: it is over, for the reason of
 * kiln_task_scheduler_end. `time_ns`: any clock that does not go back. */
int kiln_task_scheduler_next(kiln_task_scheduler *s, int64_t time_ns, int *n_trials);
/* Of task i, after a turn, or ahead with what a database knows: so many trials more,
 * the best so far (<= 0: none works), and whether its space is exhausted. */
void kiln_task_scheduler_report(kiln_task_scheduler *s, int i, int64_t n_trials,
                                double best_ns, bool is_exhausted);
kiln_task_end kiln_task_scheduler_end(const kiln_task_scheduler *s);
/* Of task i, ahead of a report: the least that any of its trials took, or was stopped at
 * as too slow, by which a way without a best is told; and how many trials were begun
 * that no report has yet. */
void kiln_task_scheduler_saw(kiln_task_scheduler *s, int i, double least_ns,
                             int64_t coming);
/* Sum of weight times best: the latency if stopped now. Tasks without a best count with
 * start_ns; of several ways the best counts. */
double kiln_task_scheduler_latency_ns(const kiln_task_scheduler *s);
/* The latency after so many trials more, if they bring what is expected: an
 * extrapolation. Each batch goes where most is hoped for, as next would have it. */
double kiln_task_scheduler_expected_ns(const kiln_task_scheduler *s, int64_t trials);
/* What turns of task i are expected to save, of the whole latency, in ns a trial. */
double kiln_task_scheduler_gain(const kiln_task_scheduler *s, int i);

#endif
