/* Shared inside pipeline/tune. */
#ifndef KILN_PIPELINE_TUNE_INTERNAL_H
#define KILN_PIPELINE_TUNE_INTERNAL_H

#include "pipeline/talk/apart.h"
#include "pipeline/tune/tune.h"

/* Work that is tuned at all: what multiplies and adds. */
bool kiln_tune_takes(const kiln_op_work *w);
/* Other work whose template chooses layouts, by a configuration: a pool. It is measured
 * where a search over layouts wishes for it. */
bool kiln_tune_lays_out(const kiln_op_work *w, const kiln_profile *p);
/* A value in another layout: measured, and nothing is searched. */
bool kiln_tune_is_conversion(const kiln_op_work *w);

/* The task with only those options that keep the layouts of the template's own rule:
 * what lies between kernels then agrees, whatever the search finds. tmpl NULL: the
 * first that fits and pays. */
kiln_status kiln_tune_space(kiln_arena *a, const kiln_op_work *w, const kiln_profile *p,
                            const kiln_template *tmpl, kiln_tune_task *out,
                            kiln_err *err);
/* The same with the layouts of the configuration `like` (JSON); NULL: of the rule. */
kiln_status kiln_tune_space_like(kiln_arena *a, const kiln_op_work *w,
                                 const kiln_profile *p, const kiln_template *tmpl,
                                 const char *like, kiln_tune_task *out, kiln_err *err);
/* Leaves n options, by their numbers, in that order. */
void kiln_tune_keep_options(kiln_arena *a, kiln_knob *knob, const int *kept, int n);
typedef KILN_VEC(const kiln_template *) kiln_tune_templates;
/* What is searched for a work: `tmpl` alone, or where it is NULL the first that fits
 * and pays, and behind it all others that fit and have a choice; but for the generic
 * one, which is there for what no other takes. */
kiln_status kiln_tune_templates_of(kiln_arena *a, const kiln_op_work *w,
                                   const kiln_profile *p, const kiln_template *tmpl,
                                   kiln_tune_templates *out, kiln_err *err);
/* Types of the kernel's activations with this configuration, as text; NULL: the
 * template refuses it. */
const char *kiln_tune_activations(kiln_arena *scratch, const kiln_tune_task *t,
                                  const kiln_space *space, const kiln_config *c);

/* A work as a record names it, and what today's templates make of it. */
typedef struct kiln_tune_subject {
    kiln_op_work work;
    kiln_profile profile;
    kiln_tune_task task; /* the template's whole space */
    kiln_config rule;
    const char *activations; /* of the rule */
} kiln_tune_subject;
/* tmpl NULL: the first that fits and pays. `out` must stay where it is: its task refers
 * to it. KILN_ERR_PARSE, KILN_ERR_UNSUPPORTED, KILN_ERR_ARG: it is none of today's. */
kiln_status kiln_tune_subject_read(kiln_arena *a, const kiln_db_task *t,
                                   const kiln_template *tmpl, kiln_tune_subject *out,
                                   kiln_err *err);

/* As the database stores it: one line. */
const char *kiln_tune_config_text(kiln_arena *a, const kiln_template *tmpl,
                                  const kiln_space *space, const kiln_config *c);
const char *kiln_tune_index_text(kiln_arena *a, const kiln_tune_task *t,
                                 uint64_t index);
/* False: not a configuration of this space (any more). */
bool kiln_tune_config_read(kiln_arena *scratch, const kiln_template *tmpl,
                           const kiln_space *space, const char *text, kiln_config *out);

/* What records that do not say it computed at least: they are from before there were
 * other algorithms than direct ones. 0: not known, as of narrow elements, which
 * machines multiply faster. */
double kiln_tune_direct_flops(const kiln_op_work *w);

/* Does the template that takes this work still say, for the machine that the ready
 * record is of, what the record was compared with? */
bool kiln_tune_rule_holds(kiln_arena *scratch, const kiln_op_work *w,
                          const kiln_db_record_best *r);
/* Of all ready records of a work those that count on a machine with so many threads,
 * nearest first: where the rule holds, and of other machines where those are near and
 * they lead it. As a hint any does. */
void kiln_tune_ready_here(kiln_arena *scratch, const kiln_op_work *w,
                          const kiln_profile *here, int threads, bool is_hint,
                          const kiln_db_bests *all, kiln_db_bests *out);
/* Noise may be what makes it fast: it was measured but once. */
bool kiln_tune_is_suspect(kiln_arena *scratch, const kiln_db_record_best *b);

/* How the search takes an end; and what the database calls it ("" for good ones). */
kiln_outcome kiln_tune_outcome(kiln_trial_error e);

/* What a trial's facts say that is of use later. */
typedef struct kiln_tune_facts {
    bool is_noisy;
    double memory_gbs;     /* of the machine; 0: not known */
    kiln_registers wanted; /* as it was foreseen; vectors below 0: it was not */
} kiln_tune_facts;
kiln_tune_facts kiln_tune_facts_read(kiln_arena *scratch, const char *text);

/* Runs networks: `far` is a runner elsewhere that was lent to us, NULL: here. What is in
 * `a` goes when it returns. */
typedef kiln_status kiln_tune_there_fn(void *user, kiln_arena *a, kiln_far *far,
                                       kiln_err *err);
/* Once, here, or at one of options.runner_addresses. Where that cannot be had, or is lost
 * meanwhile, it begins again at the next; each is tried, and a single one twice. The
 * error is that of the last. */
kiln_status kiln_tune_there(const kiln_tune_options *o, kiln_tune_there_fn *run,
                            void *user, kiln_err *err);
/* For kiln_remote_options.apart: a guest of that runner. NULL: none is needed here. */
kiln_apart *kiln_tune_apart(kiln_arena *a, kiln_far *far);

/* "host.PID-START": of claims and records. */
const char *kiln_tune_owner(kiln_arena *a);

#endif
