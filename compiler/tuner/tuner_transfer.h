/* What trials of some workloads say of others that nobody measured (AutoTVM, NIPS'18,
 * section 4: transfer; Chen's thesis, section 5.4).
 *
 *     kiln_held_out_score(kind, NULL, lesson, n, &h, err);   is it worth anything?
 *     if (kiln_held_out_beats_rule(&h))
 *         kiln_lessons_fit(&model, lesson, n, err);
 *
 * Pure, as all of the tuner: the same lessons give the same numbers.
 */
#ifndef KILN_COMPILER_TUNER_TUNER_TRANSFER_H
#define KILN_COMPILER_TUNER_TUNER_TRANSFER_H

#include "compiler/tuner/tuner.h"

/* ---- what is near ---------------------------------------------------------------- */

/* Where a lesson was learnt: how large the anchor and what it reads are, on which
 * machine, with how many threads. Logarithms to base 2 where there is a size. */
enum { KILN_N_SETTING = 16 };
typedef struct kiln_setting {
    const char *op, *tmpl; /* names of rows */
    double at[KILN_N_SETTING];
} kiln_setting;
void kiln_setting_of(const kiln_tune_task *t, int threads, kiln_setting *out);
/* How much a lesson of one setting counts in the other: 1 for the same, half as much
 * for two factors of two in one size (of several: root of the squares), and less by a
 * third for another template or operator. An eighth is the least. */
double kiln_nearness(const kiln_setting *x, const kiln_setting *y);

/* ---- lessons --------------------------------------------------------------------- */

/* The trials of one workload with one template, under one condition. */
typedef struct kiln_lesson {
    /* Equal for equal work, whatever it is measured on: such lessons are never on both
     * sides of a split. */
    uint32_t workload;
    kiln_encodings encoding; /* borrowed */
    const double *cost_ns;   /* of each; 0: it did not run */
    ptrdiff_t rule;          /* what the template's rule chooses; -1: not among them */
    double weight;           /* how much it counts (kiln_nearness); 0: as 1 */
    const char *tmpl;        /* the template's name, borrowed; NULL: it has none */
} kiln_lesson;

/* Its trials beside others, with its weight. */
void kiln_lesson_add(const kiln_lesson *l, kiln_sample_set *s);
/* The model's objective is the rank within a lesson; of all of them it reads only what
 * carries over. KILN_ERR_ARG: nothing to learn from. */
kiln_status kiln_lessons_fit(kiln_cost_model *m, const kiln_lesson *l, size_t n,
                             kiln_err *err);

/* What a build may take instead of number `rule` of the encodings: the one that the model
 * likes best. *margin: by how much more than the rule, less two deviations of what its
 * members say of that: above 0, they agree. */
kiln_status kiln_choose_over_rule(const kiln_cost_model *m, const kiln_encodings *e,
                                  size_t rule, size_t *choice, double *margin,
                                  kiln_err *err);

enum { KILN_HELD_OUT_TEMPLATES = 32 }; /* more are left to their rules */
typedef struct kiln_held_out_margin {
    const char *tmpl; /* a lesson's; "": of lessons without one */
    double margin;    /* of scores, so without unit */
} kiln_held_out_margin;

/* How a model does on workloads that it has not seen: each is scored by one that was
 * fitted to the others. */
typedef struct kiln_held_out {
    int n_workloads;
    int n_judged; /* lessons with a measured rule and something else */
    /* Of pairs of candidates that differ by 5% or more: the part that the model has in
     * the right order. A half is what a coin says. */
    double accuracy;
    /* The rule's time over that of the candidate that it would choose, in geometric
     * mean, and the least of them: of the n_taken lessons where it likes that one more
     * than the rule by more than the template's margin (kiln_choose_over_rule). */
    double gain, worst;
    int n_taken;
    /* The least margin with which choices of all templates beat the rules, infinity:
     * with none. Templates differ in how good their rules are, and in how well a model
     * knows them: for each whose own choices do so, its own least margin. */
    double margin;
    kiln_held_out_margin of[KILN_HELD_OUT_TEMPLATES];
    int n_of;
} kiln_held_out;

/* o NULL: defaults. n_workloads alone is set where there are too few to hold any out.
 */
kiln_status kiln_held_out_score(const kiln_cost_model_kind *kind,
                                const kiln_cost_model_options *o, const kiln_lesson *l,
                                size_t n, kiln_held_out *out, kiln_err *err);
/* Is the model's choice worth more than the rule's, as far as this tells? At least 4
 * workloads, 3 choices, 65% of the pairs in order and a gain of 3%, where no choice was
 * slower than the rule by more than 3%. */
bool kiln_held_out_beats_rule(const kiln_held_out *h);

/* The lower of both, for this template; infinity where its rule is not beaten. */
double kiln_held_out_margin_of(const kiln_held_out *h, const char *tmpl);

/* How a model of all lessons but those with one label (a machine, say) does on these. */
typedef struct kiln_held_apart {
    size_t n_lessons, n_pairs; /* with the label; 0: nothing was split */
    double accuracy;
} kiln_held_apart;
kiln_status kiln_held_apart_score(const kiln_cost_model_kind *kind,
                                  const kiln_cost_model_options *o,
                                  const kiln_lesson *l, size_t n, const int *label,
                                  int which, kiln_held_apart *out, kiln_err *err);

/* The part of the pairs that differ by 5% or more whose faster one has the larger score;
 * *n_pairs: of how many. What did not run is slower than all that did. */
double kiln_pairs_in_order(const double *cost_ns, const float *score, size_t n,
                           size_t *n_pairs);

#endif
