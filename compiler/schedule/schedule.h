/* Schedules: in what order, where and how a tensor expression is computed (TVM,
 * OSDI'18, section 4; thesis chapter 4).
 *
 * A schedule has one stage per compute. Primitives reshape a stage's loops, say where
 * it is computed and in which memory; none changes the result. One that would, or that
 * the stage cannot take, is refused with KILN_ERR_ARG and a message that names stage
 * and axis; the schedule is then as it was. kiln_lower makes the loop program.
 *
 * Loop order after reorder, outermost first, is the order of stage->leaf.
 */
#ifndef KILN_COMPILER_SCHEDULE_SCHEDULE_H
#define KILN_COMPILER_SCHEDULE_SCHEDULE_H

#include "compiler/loop/loop.h"

typedef struct kiln_tensor_intrin kiln_tensor_intrin; /* loop/tensor_intrin.h */
typedef struct kiln_schedule kiln_schedule;
typedef struct kiln_stage kiln_stage;
typedef struct kiln_iter kiln_iter;

typedef enum kiln_iter_kind { KILN_ITER_SPATIAL, KILN_ITER_REDUCE } kiln_iter_kind;

/* One loop of a stage: an axis of the compute, or made by split or fuse. */
struct kiln_iter {
    const char *name; /* "oc", "oc.outer", "oc.inner", "n.oc.fused" */
    kiln_iter_kind kind;
    int64_t extent; /* of a split's outer: ceil(extent / factor) */
    const kiln_var *var;
    kiln_loop_kind
        loop; /* annotation: serial, parallel, vectorized, unrolled, thread, vthread */
    const char *tag; /* THREAD */
    const char *pragma;
    /* How it came to be. Roots have neither. */
    kiln_iter *split_parent;
    kiln_iter *split_outer, *split_inner; /* set on the parent */
    int64_t split_factor;
    kiln_iter *fused_into;
    kiln_iter *fused_outer, *fused_inner; /* set on the fused loop */
};

/* What is fetched to the L2 cache ahead of its time, by place: what the body reads first
 * so many iterations of a loop ahead, with the loops further in at their start, and so
 * many elements behind that, as the buffer lies. It may be behind the buffer's end. */
typedef struct kiln_ahead {
    int64_t iterations, elems;
    /* 0: from where each iteration is. Else from where iteration 0 is, with each further
     * one so many elements further, and for `around` (a loop around the stage; NULL:
     * none), modulo around_wraps, by around_elems. */
    int64_t step_elems;
    kiln_iter *around;
    int64_t around_wraps, around_elems;
    /* In the last iteration of this loop around the stage (NULL: none) so many elements
     * further; below 0: nearer. */
    kiln_iter *last;
    int64_t last_elems;
    /* Where only a part of that loop is computed at a time: so many iterations are one. */
    int64_t last_extent; /* 0: all */
} kiln_ahead;

typedef enum kiln_attach {
    KILN_ATTACH_ROOT,
    KILN_ATTACH_INLINE,
    KILN_ATTACH_AT
} kiln_attach;

struct kiln_stage {
    kiln_schedule *schedule;
    const kiln_te *te;          /* replaced by cache_write, rfactor, inlining */
    const kiln_te *origin;      /* as the user built it: the key for looking up */
    KILN_VEC(kiln_iter *) root; /* spatial axes, then reduction axes */
    KILN_VEC(kiln_iter *) leaf; /* loop order, outermost first */
    kiln_iter *unit;            /* of kiln_unit_loop: of no axis; NULL: none */
    kiln_attach attach;
    kiln_stage *at_stage; /* KILN_ATTACH_AT */
    kiln_iter *at_iter;
    kiln_scope scope;
    kiln_dim_align align[KILN_MAX_AXES];
    bool double_buffer;
    int copies;      /* of its memory, with double_buffer: 2, or more; 0: 2 */
    bool is_async;   /* with double_buffer: what fills it need not wait */
    bool multiplies; /* and is used by products that may go on, */
    int behind;      /* for so many iterations: 0 or 1 */
    bool is_output;
    const kiln_tensor_intrin *tensor; /* NULL: none */
    int tensor_lanes;
    kiln_iter *tensor_iter; /* the outermost of the loops it stands for */
    KILN_VEC(struct kiln_prefetch {
        const kiln_te *te;
        kiln_iter *iter;
        kiln_ahead ahead;
    })
    prefetch;
};

struct kiln_schedule {
    kiln_arena *arena;
    KILN_VEC(kiln_stage *)
    stage; /* producers before consumers; placeholders have none */
    const kiln_te **out;
    size_t n_out;
};

kiln_schedule *kiln_schedule_new(kiln_arena *a, const kiln_te *const *out,
                                 size_t n_out);
kiln_stage *kiln_schedule_stage(kiln_schedule *s,
                                const kiln_te *te); /* asserts that there is one */
kiln_stage *kiln_schedule_find(kiln_schedule *s, const char *name); /* NULL: none */
kiln_iter *kiln_stage_axis(kiln_stage *st, int i);                  /* spatial axis i */
kiln_iter *kiln_stage_reduce(kiln_stage *st, int i); /* reduction axis i */

/* ---- loops. Iterators must be leaves of the stage. ------------------------------- */
/* inner has `factor` iterations; a factor that does not divide leaves a guarded tail
 * (partitioned later). */
kiln_status kiln_split(kiln_stage *st, kiln_iter *x, int64_t factor, kiln_iter **outer,
                       kiln_iter **inner, kiln_err *err);
kiln_status kiln_split_parts(kiln_stage *st, kiln_iter *x, int64_t n_parts,
                             kiln_iter **outer, kiln_iter **inner, kiln_err *err);
/* A loop of one iteration around all others, at most one a stage: by it a stage without
 * axes can be bound. */
kiln_status kiln_unit_loop(kiln_stage *st, kiln_iter **out, kiln_err *err);
/* Adjacent leaves of one kind. */
kiln_status kiln_fuse(kiln_stage *st, kiln_iter *outer, kiln_iter *inner,
                      kiln_iter **fused, kiln_err *err);
/* The given leaves take their places among themselves in this order; others stay. */
kiln_status kiln_reorder(kiln_stage *st, kiln_iter *const *order, size_t n,
                         kiln_err *err);
kiln_status kiln_vectorize(kiln_stage *st, kiln_iter *x, kiln_err *err);
kiln_status kiln_unroll(kiln_stage *st, kiln_iter *x, kiln_err *err);
kiln_status kiln_parallel(kiln_stage *st, kiln_iter *x,
                          kiln_err *err); /* spatial only */
/* To an axis of kiln_launch_axis_of, each at most once in a stage. Stages that are
 * computed inside each other share their axes. A stage in shared memory is computed for
 * all threads of the block, by those that its own loops are bound to; one in local
 * memory, or in global memory inside such a loop, by and for one thread. */
kiln_status kiln_bind(kiln_stage *st, kiln_iter *x, const char *tag, kiln_err *err);
kiln_status kiln_vthread(kiln_stage *st, kiln_iter *x, kiln_err *err);
kiln_status kiln_pragma(kiln_stage *st, kiln_iter *x, const char *word, kiln_err *err);
/* Each iteration of x fetches what `ahead` says of te, which may lie behind its end. */
kiln_status kiln_prefetch(kiln_stage *st, const kiln_te *te, kiln_iter *x,
                          const kiln_ahead *ahead, kiln_err *err);

/* The loops from x inwards are one call of a tensor intrinsic with `lanes` lanes: they
 * must be its axes and then its reduction axes, whole and undivided, around the
 * reduction that it declares (sum, prod, max, min). They can't be changed any more. Addresses are checked by the loop
 * pass `tensorize`. */
kiln_status kiln_tensorize(kiln_stage *st, kiln_iter *x,
                           const kiln_tensor_intrin *intrin, int lanes, kiln_err *err);

/* ---- where ----------------------------------------------------------------------- */
kiln_status kiln_compute_at(kiln_stage *st, kiln_stage *consumer, kiln_iter *x,
                            kiln_err *err);
kiln_status kiln_compute_inline(kiln_stage *st,
                                kiln_err *err); /* injective, not an output */
kiln_status kiln_compute_root(kiln_stage *st, kiln_err *err);
/* A copy of `te` in `scope`, read by `readers` instead (n 0: all). */
kiln_status kiln_cache_read(kiln_schedule *s, const kiln_te *te, kiln_scope scope,
                            kiln_stage *const *readers, size_t n, kiln_stage **out,
                            kiln_err *err);
/* The same, in panels of `width` columns, which divides the last axis: what `te` has at [...,
 * r, c] the copy has at [..., c / width, r, c % width]. */
kiln_status kiln_cache_read_panels(kiln_schedule *s, const kiln_te *te, int64_t width,
                                   kiln_scope scope, kiln_stage *const *readers,
                                   size_t n, kiln_stage **out, kiln_err *err);
/* Computes into `scope` first; the stage becomes a copy out of it. The stage's loops
 * must be untouched. */
kiln_status kiln_cache_write(kiln_stage *st, kiln_scope scope, kiln_stage **out,
                             kiln_err *err);
kiln_status kiln_set_scope(kiln_stage *st, kiln_scope scope, kiln_err *err);
kiln_status kiln_storage_align(kiln_stage *st, int axis, int32_t factor, int32_t offset,
                               kiln_err *err);
/* Computed one iteration ahead, into the half of its memory that is not in use. It must
 * be computed inside a serial loop, and read nothing that is computed there too but what
 * is double buffered as well: lowering refuses the rest. */
kiln_status kiln_double_buffer(kiln_stage *st, kiln_err *err);
/* The same, so many iterations ahead: `ahead` + 1 copies of its memory. is_async: a stage in
 * shared memory that copies another memory's elements; a thread goes on while they come, and
 * the last barrier before they are read waits for them. */
kiln_status kiln_fill_ahead(kiln_stage *st, int ahead, bool is_async, kiln_err *err);
/* The same with is_async, used by products that may go on (KILN_STMT_ATTR_PRODUCTS) until the
 * next iteration begins, or the one behind that (`behind` 1, which takes a copy more). */
kiln_status kiln_fill_for_products(kiln_stage *st, int ahead, int behind,
                                   kiln_err *err);
/* Splits a reduction: a new stage reduces everything but `x` (a reduction leaf), which
 * becomes its first spatial axis; this stage then reduces over it. */
kiln_status kiln_rfactor(kiln_stage *st, kiln_iter *x, kiln_stage **out, kiln_err *err);
/* The same with `x` as axis `axis` of the new stage; rank of `st`: its last, along
 * which vectors of partial sums lie in one piece. */
kiln_status kiln_rfactor_axis(kiln_stage *st, kiln_iter *x, int axis, kiln_stage **out,
                              kiln_err *err);

/* What its loops are for: a grid of threads (bound loops, memory that threads share) is a
 * GPU's, memory that a target declares an accelerator's; CPUs take the rest. */
kiln_target_kind kiln_schedule_target(const kiln_schedule *s);

/* Primitives out of text, one a line, done in order (docs/schedule-text.md). The text is
 * untrusted; KILN_ERR_PARSE, KILN_ERR_LIMIT, and KILN_ERR_ARG of a name that there is
 * none of or of what a primitive refuses say file:line:column. `file` names it; NULL:
 * "text". After a failure what stands before it is done: let go of the schedule. */
kiln_status kiln_schedule_read(kiln_schedule *s, kiln_str text, const char *file,
                               kiln_err *err);

/* For people: one line a stage (where it is computed, in which memory), one for its
 * loops, outermost first. Extents are those of the whole stage: of what is attached,
 * lowering computes the region that is needed there.
 *
 *     stage c.local at i0.outer of c, register
 *       i0 4, reduce k.outer 3 with tail, reduce k.inner 8 unroll, i1 16 vectorized */
void kiln_schedule_print(kiln_buf *out, const kiln_schedule *s);

/* ---- lowering -------------------------------------------------------------------- */

/* Bound inference, loop nests, guards: the program before any loop pass. args:
 * placeholders and outputs, inputs first. */
kiln_status kiln_lower(kiln_arena *a, const kiln_schedule *s,
                       const kiln_te *const *args, size_t n_args, size_t n_inputs,
                       const char *name, kiln_program **out, kiln_err *err);

#endif
