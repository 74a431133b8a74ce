/* Shared inside compiler/schedule. */
#ifndef KILN_COMPILER_SCHEDULE_SCHEDULE_INTERNAL_H
#define KILN_COMPILER_SCHEDULE_SCHEDULE_INTERNAL_H

#include "compiler/schedule/schedule.h"

/* ---- stages and iterators (schedule.c) ------------------------------------------- */
kiln_iter *kiln_iter_make(kiln_stage *st, const char *name, kiln_iter_kind kind,
                          int64_t extent);
kiln_stage *kiln_stage_make(kiln_schedule *s, const kiln_te *te);
void kiln_stage_set_te(kiln_stage *st, const kiln_te *te);
void kiln_schedule_insert(kiln_schedule *s, size_t at, kiln_stage *st);
size_t kiln_stage_position(const kiln_stage *st);
/* The stage that computes what `te` names; NULL for placeholders. */
kiln_stage *kiln_schedule_of(const kiln_schedule *s, const kiln_te *te);

/* ---- rewriting tensor expressions (schedule_rewrite.c) --------------------------- */

/* A copy of `te` whose bodies went through fn (as kiln_expr_rewrite); inputs are
 * collected again. Axes and their variables stay the same objects, so that expressions
 * over them keep their meaning. */
const kiln_te *kiln_te_rewritten(kiln_arena *a, const kiln_te *te, kiln_expr_fn fn,
                                 void *user);
/* Reads of `from` become reads of `to` at the same indexes. */
const kiln_te *kiln_te_redirected(kiln_arena *a, const kiln_te *te, const kiln_te *from,
                                  const kiln_te *to);
/* Those of the last axes [..., r, c] become reads at [..., c / width, r, c % width], width being
 * `to`'s last axis; of computes only. */
const kiln_te *kiln_te_paneled(kiln_arena *a, const kiln_te *te, const kiln_te *from,
                               const kiln_te *to);
/* Is `te` read by `reader`'s bodies? */
bool kiln_te_reads(const kiln_te *reader, const kiln_te *te);
/* Reads of inline stages replaced by their bodies, for every stage that is kept: te[i]
 * for stage i. */
const kiln_te **kiln_schedule_inlined(kiln_arena *a, const kiln_schedule *s);
/* Would every stage's expression have at most KILN_MAX_INLINED nodes if `st` were
 * inline as well? */
bool kiln_schedule_fits_inline(const kiln_schedule *s, const kiln_stage *st);

/* ---- bounds (bounds.c) ----------------------------------------------------------- */

/* What lowering knows of one iterator of a stage. */
typedef struct kiln_extent {
    const kiln_iter *iter;
    int64_t extent; /* within the region that the stage computes at its place */
    const kiln_expr
        *offset; /* its value in terms of the leaves' variables: [0, extent) */
} kiln_extent;

/* A split that does not divide: its loops run past the end of what was split. Not only
 * at roots: a loop that was fused and then split would spill over into its neighbour.
 */
typedef struct kiln_overhang {
    const kiln_expr *value; /* of the loop that was split, over leaves */
    int64_t extent;         /* value must be below */
    bool is_reduce;
} kiln_overhang;

/* The region of a stage: per spatial axis, first index (in terms of loops outside) and
 * number of elements. */
typedef struct kiln_region {
    const kiln_expr *min[KILN_MAX_AXES];
    int64_t extent[KILN_MAX_AXES];
} kiln_region;

typedef struct kiln_lowered_stage {
    const kiln_stage *stage;
    const kiln_te *te; /* after inlining */
    kiln_region region;
    kiln_extent *leaf;      /* stage->leaf.n entries */
    const kiln_expr **root; /* root offset by root index (without region.min), leaves'
                               variables inside */
    int64_t *root_extent;   /* spatial: region.extent; reduction: the axis's extent */
    KILN_VEC(kiln_overhang) overhang;
    kiln_buffer *buffer[KILN_MAX_TE_OUTS];
} kiln_lowered_stage;

/* Extents and offsets of all iterators of a stage whose root extents are known. */
void kiln_pass_down(kiln_arena *a, kiln_lowered_stage *l);

typedef struct kiln_lowering {
    kiln_arena *arena;
    const kiln_schedule *schedule;
    kiln_lowered_stage *stage; /* by position; inline stages have te == NULL */
    kiln_ranges ranges;        /* of every leaf variable */
} kiln_lowering;

/* Regions of all stages, consumers first. KILN_ERR_ARG names a stage attached where its
 * consumers cannot see it. */
kiln_status kiln_infer_bounds(kiln_lowering *lo, kiln_err *err);

/* ---- schedule_threads.c ---- */
kiln_status kiln_check_bind(const kiln_stage *st, const kiln_iter *x, const char *tag,
                            kiln_err *err);
/* Scopes and the threads that fill and read them fit. */
kiln_status kiln_check_threads(const kiln_lowering *lo, kiln_err *err);
/* Double buffered stages have an iteration to be ahead of, and what they read (ahead.c). */
kiln_status kiln_check_ahead(const kiln_lowering *lo, kiln_err *err);
/* Of a stage whose extents are known, inside stages whose ranges are. */
kiln_status kiln_check_widths(const kiln_lowering *lo, const kiln_lowered_stage *l,
                              kiln_err *err);
/* All threads of a block need what is in shared memory: adds the loops around st that
 * are bound to them, whose ranges are known. */
void kiln_relax_threads(const kiln_lowering *lo, const kiln_stage *st,
                        kiln_ranges *relaxed);
/* Is shared memory filled inside the nest of this stage? All threads come there. */
bool kiln_fills_shared(const kiln_lowering *lo, const kiln_stage *within);

/* Bounds of an integer expression when the variables in `relaxed` run over their ranges
 * and all others stand still: expressions in the latter. *lo and *hi may be NULL where
 * there is no bound. */
void kiln_symbolic_bounds(const kiln_ranges *relaxed, kiln_arena *a, const kiln_expr *e,
                          const kiln_expr **lo, const kiln_expr **hi);

/* ---- messages -------------------------------------------------------------------- */
kiln_status kiln_check_leaf(const kiln_stage *st, const kiln_iter *x, const char *what,
                            size_t *position, kiln_err *err);

#endif
