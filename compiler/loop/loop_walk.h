/* Walking a program with what is known at each place: ranges of loop variables, and the
 * conditions that hold there. Passes walk with hooks of their own; everything that is
 * walked is simplified on the way. Inside compiler/loop. */
#ifndef KILN_COMPILER_LOOP_LOOP_WALK_H
#define KILN_COMPILER_LOOP_LOOP_WALK_H

#include "compiler/loop/linear.h"
#include "compiler/loop/loop.h"

typedef struct kiln_walk kiln_walk;
typedef const kiln_stmt *(*kiln_walk_fn)(kiln_walk *w, const kiln_stmt *s);

struct kiln_walk {
    kiln_arena *arena;
    kiln_ranges ranges;
    KILN_VEC(const kiln_linear *) known; /* each is >= 0 here */
    kiln_walk_fn loop;                   /* instead of kiln_walk_loop; NULL: that */
    kiln_walk_fn branch;                 /* instead of kiln_walk_branch; NULL: that */
    void *user;
    kiln_status status; /* a hook's failure; what is returned then means nothing */
    kiln_err *err;
};

kiln_walk kiln_walk_make(kiln_arena *a, kiln_walk_fn loop, void *user, kiln_err *err);
const kiln_stmt *kiln_walk_stmt(kiln_walk *w, const kiln_stmt *s);
/* A loop without and of one iteration goes away (but THREAD); guards that do not depend
 * on the loop move out of it. */
const kiln_stmt *kiln_walk_loop(kiln_walk *w, const kiln_stmt *s);
const kiln_stmt *kiln_walk_branch(kiln_walk *w, const kiln_stmt *s);
/* Simplified with all that is known. */
const kiln_expr *kiln_walk_expr(kiln_walk *w, const kiln_expr *e);

typedef struct kiln_walk_mark {
    size_t n_ranges, n_known;
} kiln_walk_mark;
kiln_walk_mark kiln_walk_save(const kiln_walk *w);
void kiln_walk_restore(kiln_walk *w, kiln_walk_mark m);
/* From here to the restoration, `cond` is `holds`. */
void kiln_walk_assume(kiln_walk *w, const kiln_expr *cond, bool holds);
/* The loop's variable takes its values from here on. */
void kiln_walk_enter(kiln_walk *w, const kiln_var *v, const kiln_expr *min,
                     const kiln_expr *extent);
bool kiln_walk_proves(const kiln_walk *w, const kiln_linear *l); /* l >= 0 */

/* i64 x < y and x <= y as l >= 0. */
bool kiln_comparison_linear(const kiln_expr *e, kiln_linear *l);
/* Does the variable decide how much the statement does: by a bound, or a guard? */
bool kiln_stmt_steers(const kiln_stmt *s, const kiln_var *v);
/* Calls fn on each part of a conjunction of scalars. */
void kiln_conjuncts(const kiln_expr *e, void (*fn)(void *user, const kiln_expr *e),
                    void *user);
const kiln_expr *kiln_conjunction(kiln_arena *a, const kiln_expr *x,
                                  const kiln_expr *y); /* NULL: true */

/* The sum of what stores and evaluations are worth, each as often as it runs; in all
 * loops, whatever thread has them (spread.c). `loop` is the innermost one around; NULL:
 * there is none. */
typedef double (*kiln_weigh_fn)(void *user, const kiln_stmt *s, const kiln_stmt *loop);
double kiln_program_weighed(kiln_arena *scratch, const kiln_program *p,
                            kiln_weigh_fn weigh, void *user);

/* Binary operators of vectors, where ramps stay ramps and what is the same in each lane
 * is computed once. */
const kiln_expr *kiln_vector_binary(const kiln_ranges *r, kiln_arena *a,
                                    kiln_expr_kind kind, const kiln_expr *x,
                                    const kiln_expr *y);

#endif
