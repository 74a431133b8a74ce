/* Loops that importers write out, where data may end them early.
 *
 * A condition that is known ends the loop or lets it go on. From the first one that
 * depends on data on, each step is computed whatever that says, and a value that the
 * loop carries takes what a step makes of it only where all conditions so far held. So
 * many steps are written out as there can be at most: a step that is bound to be the
 * last has a condition that no data makes true, as TensorFlow's maximum_iterations is
 * `i < n and ...` with i and n known. Work is done for all of them.
 *
 * What is known of a step stays known: a counter is not chosen for the next step, only
 * for the loop's result. */
#ifndef KILN_COMPILER_FRONTEND_MASKED_LOOP_H
#define KILN_COMPILER_FRONTEND_MASKED_LOOP_H

#include "compiler/frontend/compose.h"

/* Beyond that the loop that is written out is no use; nodes of an import have a limit of
 * their own. */
enum { KILN_LOOP_STEPS = 4096, KILN_LOOP_MASKED_STEPS = 1024 };

typedef struct kiln_masked_loop {
    kiln_value *alive; /* one bool: the loop has come this far; NULL: it surely has */
    int n_steps, n_masked;
} kiln_masked_loop;

/* Before a step: does it have to be written out? has_bound: somebody else counts steps.
 * KILN_ERR_SHAPE: cond is not one bool; KILN_ERR_LIMIT: too many steps; what
 * kiln_import_const says where data decides and nothing says how often at most. */
kiln_status kiln_masked_loop_ask(kiln_masked_loop *l, kiln_compose *c, kiln_value *cond,
                                 bool has_bound, bool *goes_on);

/* A value that the loop carries. */
typedef struct kiln_carried {
    kiln_value *now;    /* what the next step reads */
    kiln_value *result; /* of the loop, if it ended here */
} kiln_carried;
/* Behind a step that made `made` of it. KILN_ERR_UNSUPPORTED where data may end the loop
 * and the step changes its type. */
kiln_status kiln_masked_loop_carry(const kiln_masked_loop *l, kiln_compose *c,
                                   kiln_value *made, kiln_carried *v);

#endif
