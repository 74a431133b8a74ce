/* Schedules any expression by rule: what is inlined, what is computed inside what, and
 * each stage's loops. Inside compiler/schedule/template. */
#ifndef KILN_COMPILER_SCHEDULE_TEMPLATE_TEMPLATE_RULES_H
#define KILN_COMPILER_SCHEDULE_TEMPLATE_TEMPLATE_RULES_H

#include "compiler/schedule/template.h"
#include "compiler/schedule/template/template_nest.h"

typedef enum kiln_rules_inline {
    KILN_RULES_INLINE_BY_RULE, /* where no heavy work is done again */
    KILN_RULES_INLINE_ALL,     /* everything injective */
    KILN_RULES_INLINE_NONE
} kiln_rules_inline;

typedef struct kiln_rules {
    kiln_rules_inline inlining;
    bool keep_apart; /* each stage at root, but for accumulators */
    bool parallel;
    kiln_nest_choice nest;
} kiln_rules;

/* Is there enough work for several of the profile's cores? */
bool kiln_rules_want_threads(const kiln_workload *w, const kiln_profile *p);
/* What rules are applied to: stages of the workload's graph, axes merged where that is
 * the same (collapse.h), in the layouts of `layout` (by value id; NULL: their own), and
 * a schedule that nothing is done to yet. Leaves out->loop alone. */
kiln_status kiln_rules_begin(kiln_arena *a, const kiln_workload *w,
                             const kiln_layout *layout, kiln_scheduled *out,
                             kiln_err *err);
/* How often a stage's body is evaluated: its elements, and for each what it reduces. */
double kiln_te_evaluations(const kiln_te *te);
/* Inlines what the rule says, injective stages all. */
kiln_status kiln_rules_inlined(kiln_schedule *s, kiln_rules_inline inlining,
                               kiln_err *err);
/* `s` is untouched so far. KILN_ERR_ARG: a combination that makes no schedule. */
kiln_status kiln_rules_apply(kiln_schedule *s, const kiln_profile *p,
                             const kiln_rules *rules, kiln_err *err);

#endif
