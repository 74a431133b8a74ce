/* Indexes as linear forms over loops: how far they reach when some of the loops run,
 * and by how much one step of a loop moves them. */
#ifndef KILN_COMPILER_LOOP_TOUCH_H
#define KILN_COMPILER_LOOP_TOUCH_H

#include "compiler/loop/loop.h"

enum { KILN_FORM_TERMS = 12, KILN_FORM_PARTS = 4, KILN_MAX_DEPTH = 40 };

/* What an index may depend on: a loop's variable, or what a let binds. */
typedef struct kiln_touch_var {
    const kiln_var *var;
    int depth;                    /* of the loop in its path; 0 is outermost */
    int64_t extent;               /* of a loop */
    const struct kiln_form *form; /* of a let; NULL: a loop */
} kiln_touch_var;

typedef struct kiln_touch_vars {
    kiln_arena *arena;
    KILN_VEC(kiln_touch_var) stack;
} kiln_touch_vars;

/* constant + sum of factor * loop + sum of factor * part; each part is a quotient or a
 * remainder of a form. */
typedef struct kiln_form {
    int64_t constant;
    int n_terms, n_parts;
    struct {
        int depth;
        int64_t extent, factor;
    } term[KILN_FORM_TERMS];
    struct {
        const struct kiln_form *of;
        int64_t divisor, factor;
        bool is_mod;
    } part[KILN_FORM_PARTS];
    uint64_t unknown; /* bit d: depends on the loop of depth d in no form; then the rest
                         means nothing */
} kiln_form;

void kiln_form_of(const kiln_touch_vars *v, const kiln_expr *e, kiln_form *out);
void kiln_form_add(kiln_form *f, const kiln_form *g,
                   int64_t factor); /* f += factor * g */
/* Largest minus smallest value while the loops of depth >= `from` run and the others
 * stand at their begin. */
int64_t kiln_form_width(const kiln_form *f, int from);
/* Upper bound of how many different values that are. */
int64_t kiln_form_count(const kiln_form *f, int from);
/* What one step of the loop of that depth adds at the begin. */
int64_t kiln_form_step(const kiln_form *f, int depth);
/* Bit d: depends on the loop of depth d. */
uint64_t kiln_form_depths(const kiln_form *f);
/* Smallest and largest value; false where something is unknown. */
bool kiln_form_range(const kiln_form *f, int64_t *lo, int64_t *hi);

#endif
