/* One run of the tuner: shared by tune_loop.c (the loop) and trials.c (what it learns). */
#ifndef KILN_PIPELINE_TUNE_RUN_INTERNAL_H
#define KILN_PIPELINE_TUNE_RUN_INTERNAL_H

#include "pipeline/tune/tune_internal.h"

enum { KILN_TUNE_TURN = 16 }; /* small turns tell the scheduler sooner */

/* One measurement of a candidate. */
typedef struct kiln_tune_round {
    kiln_trial trial;
    double peak_gflops; /* beside it; 0: not known */
    bool is_noisy;
    kiln_registers wanted; /* of a record: as it was foreseen; vectors below 0: not */
} kiln_tune_round;

/* All measurements of a candidate. */
typedef struct kiln_tuned_rounds {
    int n;
    double sum_ns, peak_sum;
    bool is_noisy; /* every one of them */
    bool was_lost; /* a worker, when it was measured again */
} kiln_tuned_rounds;

/* A work, by one of the templates that take it: a way to do it. */
typedef struct kiln_tuned_work {
    const kiln_tune_work *work;
    size_t of; /* number of the work; its ways lie together */
    /* The first of them, by the template that fits and pays: workers know the work by
     * it. */
    struct kiln_tuned_work *lead;
    const kiln_template *tmpl;
    kiln_tune_task task; /* its space keeps the layouts */
    kiln_space whole;    /* the template's own */
    kiln_search *search;
    int64_t n_rows;  /* of the database that it knows of */
    int64_t used_ns; /* a lead's: when a candidate of any way was sent last */
    int64_t id;      /* of the database's task */
    int measured_as; /* a lead's: the pool's number; -1: not yet */
    int n_sent;      /* a lead's: candidates of all ways on their way */
    uint64_t first;  /* what a build without the user's records takes; behind it, where
                        there is one, a ready record that is doubted */
    int n_first;     /* that its search begins with */
    bool has_first, is_exhausted, is_looking; /* looking: one is measured again */
    bool is_taught;                           /* its search began with r->global */
    int n_pending;                            /* on their way */
    int turn; /* finished since the scheduler was told */
    /* Of this space, in order of their first round; both of one length. */
    KILN_VEC(kiln_trial) trial; /* cost: the mean of all rounds */
    KILN_VEC(kiln_tuned_rounds) rounds;
    uint64_t best; /* its index, once row.best_ns > 0 */
    kiln_tune_row row;
} kiln_tuned_work;

/* A candidate on its way. */
typedef struct kiln_tune_pending {
    kiln_tuned_work *work;
    uint64_t index;
    bool is_again; /* for a second, longer look */
} kiln_tune_pending;

/* The best of a work changed. */
typedef struct kiln_tune_event {
    size_t work;
    int64_t trial;  /* of this run; 0: a record */
    double best_ns; /* 0: none is left */
} kiln_tune_event;

/* Time that the tuner itself took for something. */
typedef struct kiln_tune_spent {
    int64_t wall_ns, cpu_ns; /* of this thread */
} kiln_tune_spent;
/* Now; and what passed since, added. */
kiln_tune_spent kiln_tune_clocks(void);
void kiln_tune_spend(kiln_tune_spent *sum, kiln_tune_spent since);

typedef struct kiln_tuning {
    kiln_arena *arena;
    kiln_arena scratch;
    const kiln_tune_works *works;
    const kiln_tune_options *o;
    const char *owner;
    int64_t begin_ns;
    kiln_tuned_work *work;
    size_t n;                       /* ways of all works */
    kiln_db_budget budget;          /* that tuners of this file share */
    int64_t n_left;                 /* of it, when it was asked for last */
    kiln_measure *pool;             /* opened for the first candidate */
    kiln_task_scheduler *scheduler; /* NULL during the first look */
    kiln_cost_model global;         /* of all works */
    kiln_spill_log *spills;         /* of all searches */
    int64_t n_learnt, n_unlearnt;   /* trials that it was fitted to, and since */
    /* Of other works, nearest first; read when the model is fitted for the first time. */
    struct kiln_tune_lessons *near;
    kiln_tune_spent model, search;      /* that learning and proposing took */
    const kiln_tune_transfer *transfer; /* of the whole database, in the end; NULL: too
                                           little is in it, or nothing is new */
    double peak_gflops, memory_gbs;     /* the best known; 0: not known */
    int64_t n_again, n_looking; /* candidates measured again, and on their way */
    int64_t n_unbelieved;       /* records that say what cannot be */
    int64_t n_new, n_failed, by_error[KILN_N_TRIAL_ERRORS];
    KILN_VEC(kiln_tune_event) event;
} kiln_tuning;

/* The search's first proposals, and how many: what a build takes that knows no records
 * but the ready ones, which is the row's start; then a ready one that today's rule may
 * outdo; then hints. */
enum { KILN_TUNE_FIRST = 10 };
size_t kiln_tune_first(kiln_tuning *r, kiln_tuned_work *t,
                       uint64_t first[KILN_TUNE_FIRST]);
/* The best of all ways to do the work of this lead; 0: none works. */
double kiln_tune_best_ns(const kiln_tuning *r, const kiln_tuned_work *lead);
/* What the works may have together; n_left. */
void kiln_tune_plan(kiln_tuning *r);
/* r->n_left: trials that may still be begun. What is on its way counts, here and in
 * other tuners. */
kiln_status kiln_tune_count_left(kiln_tuning *r, kiln_err *err);
kiln_status kiln_tune_bury(kiln_tuning *r, kiln_err *err);
/* A round of a candidate has come: into search and row. */
kiln_status kiln_tune_take(kiln_tuning *r, kiln_tuned_work *t, const kiln_tune_round *x,
                           kiln_err *err);
/* Would a candidate be the best whose only round was noisy? In a study: or is one near
 * the best that has few rounds? */
bool kiln_tune_doubted(const kiln_tuning *r, const kiln_tuned_work *t, uint64_t *index);
/* What the database knows of this work, into its search; again after another tuner
 * added to it. */
kiln_status kiln_tune_load(kiln_tuning *r, kiln_tuned_work *t, kiln_err *err);
/* The same where another tuner has added to it since. */
kiln_status kiln_tune_hear(kiln_tuning *r, kiln_tuned_work *t, kiln_err *err);
/* Configurations on record that crash or hang: workers do not try them again. */
kiln_status kiln_tune_give_lethal(kiln_tuning *r, kiln_tuned_work *t, kiln_err *err);
/* A candidate has come back: on record, then into search and result. The turn goes on.
 */
kiln_status kiln_tune_finish(kiln_tuning *r, kiln_tune_pending *p,
                             const kiln_measured *m, kiln_err *err);
/* Tells the scheduler of the trials of this turn. */
void kiln_tune_end_turn(kiln_tuning *r, kiln_tuned_work *t);
/* Tells a new scheduler what is known, turn by turn as it might have been. */
void kiln_tune_replay(kiln_tuning *r, kiln_tuned_work *t);
/* The scheduler hears of so many trials more, and what the best is by now; the turn is
 * over. */
void kiln_tune_tell(kiln_tuning *r, kiln_tuned_work *t, int64_t n_trials,
                    double best_ns);
/* And of those that were begun. */
void kiln_tune_begun(kiln_tuning *r, const kiln_tuned_work *t);

/* The model of all works: fitted to every trial; from the database; and back there. */
kiln_status kiln_tune_learn(kiln_tuning *r, kiln_err *err);
/* The kind of model that every search has. */
const kiln_cost_model_kind *kiln_tune_searched_by(const kiln_tuning *r);
/* Of some hundreds of trials all, of more the fastest and some others: a model says no more
 * after thousands, and is fitted for longer than kernels are built and run. */
void kiln_tune_add_trials(kiln_arena *a, const kiln_tuned_work *t,
                          kiln_sample_set *set);
kiln_status kiln_tune_recall_model(kiln_tuning *r, kiln_err *err);
kiln_status kiln_tune_keep_model(kiln_tuning *r, kiln_err *err);

/* The work's best was before_ns until now. */
void kiln_tune_note_best(kiln_tuning *r, const kiln_tuned_work *t, double before_ns);
void kiln_tune_draw(kiln_tuning *r, kiln_tune_curve *out);
/* `seconds`: of the run so far. */
kiln_status kiln_tune_grade(kiln_tuning *r, double seconds, kiln_tune_card *out,
                            kiln_err *err);
kiln_status kiln_tune_conclude(kiln_tuning *r, kiln_tune_result *out, kiln_err *err);

#endif
