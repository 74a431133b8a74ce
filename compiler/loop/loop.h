/* Loop programs: loops, buffers, loads and stores, in an order that somebody chose.
 *
 * A program is one kernel. It starts as what lowering makes of a schedule (buffers with
 * their full rank, guards, annotated loops), passes rewrite it (loop_passes.def), and
 * either the interpreter runs it or a code generator takes it. Every stage of it prints
 * as pseudo-code, and the interpreter runs every stage: a lowering step is checked with
 * no LLVM in the way.
 *
 * Statements are immutable trees like expressions; programs are small structs that
 * point to one.
 */
#ifndef KILN_COMPILER_LOOP_LOOP_H
#define KILN_COMPILER_LOOP_LOOP_H

#include "compiler/target/target.h"
#include "compiler/tensor/tensor.h"

typedef enum kiln_loop_kind {
    KILN_LOOP_SERIAL,
    KILN_LOOP_PARALLEL,   /* iterations are independent: may run on several threads */
    KILN_LOOP_VECTORIZED, /* constant extent; becomes vector operations */
    KILN_LOOP_UNROLLED,   /* constant extent; becomes copies of the body */
    KILN_LOOP_THREAD,     /* bound to a hardware axis: .tag */
    KILN_LOOP_VTHREAD,    /* virtual thread: interleaved copies (latency hiding, TVM
                             section 4.4) */
    KILN_LOOP_LAST = KILN_LOOP_VTHREAD
} kiln_loop_kind;

typedef enum kiln_stmt_kind {
    KILN_STMT_FOR,
    KILN_STMT_SEQ,
    KILN_STMT_IF,
    KILN_STMT_LET,
    KILN_STMT_ALLOC,
    KILN_STMT_STORE,
    KILN_STMT_EVAL,    /* an intrinsic call for its effect: prefetch */
    KILN_STMT_ATTR,    /* says something about its body */
    KILN_STMT_BARRIER, /* the threads of a block wait for each other here, and see what
                          all of them stored to buffers of a scope */
    KILN_STMT_CALL,    /* one thread does what a program says: an instruction on blocks
                          of memory, whose effect the program declares */
    KILN_STMT_LAUNCH,  /* a grid of threads does what a program says, on a device */
    KILN_STMT_COPY,    /* elements between the host's memory and a device's, all of them
                          there when it is done; what it does is a program too */
    KILN_STMT_LAST = KILN_STMT_COPY
} kiln_stmt_kind;

/* What thread loops are bound to. The outermost thread loop of a nest is a launch: all in
 * it is done by a grid of blocks of threads, and every loop in it that is bound to one
 * axis shares that axis: iteration i is done where the axis stands at i, a statement
 * outside all loops of an axis where it stands at 0. The grid is as wide as the widest
 * loop. Threads of a block wait for each other at barriers alone, blocks never.
 * `shared` memory is one per block, `local` and `register` memory one per thread; global
 * memory that a launch allocates is one for each iteration of the thread loops around. */
typedef enum kiln_launch_axis {
    KILN_AXIS_BLOCK_X,
    KILN_AXIS_BLOCK_Y,
    KILN_AXIS_BLOCK_Z,
    KILN_AXIS_THREAD_X,
    KILN_AXIS_THREAD_Y,
    KILN_AXIS_THREAD_Z,
    KILN_N_AXES
} kiln_launch_axis;
/* "threadIdx.x"; -1 for other texts and NULL. */
int kiln_launch_axis_of(const char *tag);
const char *kiln_launch_axis_name(kiln_launch_axis axis);

/* What an attribute node says. One word each; the value's meaning is the word's. */
typedef enum kiln_attr_key {
    KILN_STMT_ATTR_PRAGMA,        /* .text: free word for the code generator */
    KILN_STMT_ATTR_THREAD_EXTENT, /* .text: "blockIdx.x"; value: extent */
    KILN_STMT_ATTR_COPROC_SCOPE,  /* value: queue of an accelerator */
    KILN_STMT_ATTR_DOUBLE_BUFFER, /* fills .buffer, in each iteration of a loop: may be
                                     done ahead (pass double_buffer). value: how many
                                     copies there are then, NULL: 2; text "async": what
                                     fills it need not wait; "async 1": nor need the
                                     products of 1 iteration before */
    KILN_STMT_ATTR_DEPENDENCE_SCOPE, /* where dependence tokens begin and end */
    KILN_STMT_ATTR_STAGE, /* .text: the stage that this nest computes; for explain and
                            features */
    KILN_STMT_ATTR_TENSORIZE, /* .text: a tensor intrinsic (tensor_intrin.h); value: its
                                lanes */
    KILN_STMT_ATTR_ASYNC, /* value: n. What the threads of a block copy to shared memory
                             in it may be on its way until a barrier behind n more of
                             these statements */
    KILN_STMT_ATTR_PRODUCTS, /* value: n. What warpgroups multiply in it (fragment.h)
                                may go on, reading shared memory and adding to
                                fragments, until a barrier behind n more of these
                                statements */
    KILN_STMT_ATTR_SWING, /* value: a turn's number. Of the parallel loop that it is around
                             each thread goes through its part from the end where that is
                             odd: what it read last is what it reads first in the next
                             turn, and still in its cache */
    KILN_STMT_ATTR_LAST = KILN_STMT_ATTR_SWING
} kiln_attr_key;

typedef struct kiln_program kiln_program;

struct kiln_stmt {
    kiln_stmt_kind kind;
    union {
        struct {
            const kiln_var *var;
            const kiln_expr *min, *extent;
            kiln_loop_kind kind;
            const char *tag; /* THREAD: kiln_launch_axis_of knows it; else NULL */
            const kiln_stmt *body;
        } loop;
        struct {
            const kiln_stmt **stmt;
            int n;
        } seq;
        struct {
            const kiln_expr *cond;
            const kiln_stmt *then, *otherwise; /* otherwise may be NULL */
        } branch;
        struct {
            const kiln_var *var;
            const kiln_expr *value;
            const kiln_stmt *body;
        } let;
        struct {
            const kiln_buffer *buffer;
            const kiln_stmt *body;
        } alloc;
        struct {
            const kiln_buffer *buffer;
            const kiln_expr **index; /* buffer->rank indexes */
            const kiln_expr *value;
            const kiln_expr *mask; /* vector stores: lanes to write; NULL: all */
        } store;
        const kiln_expr *eval;
        kiln_scope barrier; /* SHARED or GLOBAL */
        struct {            /* CALL, LAUNCH, COPY */
            const kiln_program *program;
            /* A load of the first element for each of the program's arguments, whose
             * elements follow each other from there; then a value for each of its
             * parameters. */
            const kiln_expr **arg;
            const kiln_expr **grid; /* LAUNCH: KILN_N_AXES extents, i64; else NULL */
        } call;
        struct {
            kiln_attr_key key;
            const char *text;
            const kiln_buffer *buffer;
            const kiln_expr *value;
            const kiln_stmt *body;
        } attr;
    } u;
};

struct kiln_program {
    const char *name;
    kiln_arena *arena;       /* borrowed */
    const kiln_buffer **arg; /* inputs, then outputs, in the order of the call */
    int n_args, n_inputs;
    const kiln_var *const *param; /* scalars that a call or launch gives */
    int n_params;
    const kiln_stmt *body;
    bool is_flat; /* after storage flattening */
};

/* ---- building --------------------------------------------------------------------
 * Builders drop empty sequences, flatten nested ones, take branches of constant conditions. */
const kiln_stmt *kiln_s_for(kiln_arena *a, const kiln_var *v, const kiln_expr *min,
                            const kiln_expr *extent, kiln_loop_kind kind,
                            const char *tag, const kiln_stmt *body);
const kiln_stmt *kiln_s_seq(kiln_arena *a, const kiln_stmt *const *stmt, int n);
const kiln_stmt *kiln_s_if(kiln_arena *a, const kiln_expr *cond, const kiln_stmt *then,
                           const kiln_stmt *otherwise);
const kiln_stmt *kiln_s_let(kiln_arena *a, const kiln_var *v, const kiln_expr *value,
                            const kiln_stmt *body);
const kiln_stmt *kiln_s_alloc(kiln_arena *a, const kiln_buffer *b,
                              const kiln_stmt *body);
const kiln_stmt *kiln_s_store(kiln_arena *a, const kiln_buffer *b,
                              const kiln_expr *const *index, const kiln_expr *value,
                              const kiln_expr *mask);
const kiln_stmt *kiln_s_eval(kiln_arena *a, const kiln_expr *e);
const kiln_stmt *kiln_s_barrier(kiln_arena *a, kiln_scope scope);
/* arg, grid: as u.call has them. Asserts that each argument has a load. */
const kiln_stmt *kiln_s_call(kiln_arena *a, const kiln_program *p,
                             const kiln_expr *const *arg);
const kiln_stmt *kiln_s_launch(kiln_arena *a, const kiln_program *p,
                               const kiln_expr *const *arg,
                               const kiln_expr *const *grid);
/* n > 0 elements from the place `from` on to the place `to` on: loads of the first of
 * each, of one dtype. Done by the host; one of them at least lies in device memory. */
const kiln_stmt *kiln_s_copy(kiln_arena *a, const kiln_expr *to, const kiln_expr *from,
                             int64_t n);
bool kiln_stmt_is_call(const kiln_stmt *s); /* CALL, LAUNCH, COPY: has u.call */
const kiln_stmt *kiln_s_attr(kiln_arena *a, kiln_attr_key key, const char *text,
                             const kiln_buffer *b, const kiln_expr *value,
                             const kiln_stmt *body);
const kiln_stmt *kiln_s_nothing(kiln_arena *a); /* the empty sequence */

/* ---- walking ---------------------------------------------------------------------
 * What a statement is made of is written down here alone. Who walks a program handles
 * the kinds that mean something to it and asks for the parts of the others, so that a
 * new kind is walked by all. */

/* The statements right under s, in order: i = 0, 1, ...; NULL past the last. */
const kiln_stmt *kiln_stmt_part(const kiln_stmt *s, int i);
/* Calls fn on each expression of s itself, not of its parts: bounds, condition, value,
 * indexes, mask. */
void kiln_stmt_exprs(const kiln_stmt *s, void (*fn)(void *user, const kiln_expr *e),
                     void *user);
/* Of this buffer; NULL: of any. */
bool kiln_expr_loads(const kiln_expr *e, const kiln_buffer *b);
/* Calls fn on each buffer that s itself, not its parts, may write. */
void kiln_stmt_writes(const kiln_stmt *s, void (*fn)(void *user, const kiln_buffer *b),
                      void *user);
/* What a program does to an argument, as its statements declare it: what a call of it
 * does to the block there. Both: it updates it. */
typedef struct kiln_effect {
    bool reads; /* what was there before the program stored anything to it */
    bool writes;
} kiln_effect;
kiln_effect kiln_program_effect(const kiln_program *p, int arg);
/* Calls fn on s and all statements in it, each before its parts. */
void kiln_stmt_visit(const kiln_stmt *s, void (*fn)(void *user, const kiln_stmt *s),
                     void *user);

typedef struct kiln_stmt_rewrite {
    const kiln_stmt *(*stmt)(void *user, kiln_arena *a, const kiln_stmt *s);
    const kiln_expr *(*expr)(void *user, kiln_arena *a, const kiln_expr *e);
    void *user;
} kiln_stmt_rewrite;
/* s over what the functions make of its parts and of its whole expressions; they decide
 * how far down they go. Either may be NULL. What does not change is returned as it is. */
const kiln_stmt *kiln_stmt_map(kiln_arena *a, const kiln_stmt *s,
                               const kiln_stmt_rewrite *r);
/* Rewrites bottom up, expressions first; either function may be NULL. */
const kiln_stmt *kiln_stmt_rewritten(kiln_arena *a, const kiln_stmt *s,
                                     const kiln_stmt_rewrite *r);
const kiln_stmt *kiln_stmt_substitute(kiln_arena *a, const kiln_stmt *s,
                                      const kiln_subst *m, size_t n);

/* ---- text: readable pseudo-code, complete, print(parse(print(p))) == print(p) ---- */
/* Programs that it calls or launches stand in front of it. */
void kiln_program_print(kiln_buf *out, const kiln_program *p);
/* The text is untrusted (docs/program-text.md); KILN_ERR_PARSE and KILN_ERR_LIMIT say
 * where. `file` names it in messages; NULL: "text". What parses need not verify. Of
 * several programs it is the last; each may call those before it. */
kiln_status kiln_program_parse(kiln_arena *a, kiln_str text, const char *file,
                               kiln_program **out, kiln_err *err);

/* ---- ranges (interval.c, loop_simplify.c) --------------------------------------------- */

/* Inclusive bounds of an integer expression; INT64_MIN / INT64_MAX: not bounded. */
typedef struct kiln_interval {
    int64_t min, max;
} kiln_interval;
typedef struct kiln_range {
    const kiln_var *var;
    kiln_interval interval;
} kiln_range;
/* What is known while walking a program: a stack of ranges. */
typedef struct kiln_ranges {
    kiln_arena *arena;
    KILN_VEC(kiln_range) stack;
} kiln_ranges;
void kiln_ranges_push(kiln_ranges *r, const kiln_var *v, int64_t min, int64_t max);
void kiln_ranges_pop(kiln_ranges *r);
kiln_interval kiln_interval_of(const kiln_ranges *r, const kiln_expr *e);
/* Simplifies with what is known: linear forms collected and ordered, floor division and
 * modulo of linear forms split by divisibility, comparisons and min/max decided by
 * intervals. Never changes a float's value. */
const kiln_expr *kiln_simplify_expr(const kiln_ranges *r, kiln_arena *a,
                                    const kiln_expr *e);

/* ---- passes ---------------------------------------------------------------------- */
typedef struct kiln_loop_options {
    int max_vector_lanes; /* vectorised loops may be at most this wide; 0:
                             KILN_MAX_LANES */
    int max_unroll; /* statements one unrolled loop nest may become; 0: 4096. Beyond:
                       KILN_ERR_LIMIT */
    bool keep_large_loops; /* unrolled loops past max_unroll stay serial instead */
    /* Guards that hold for all lanes of a vector or for none, because what they compare
     * are multiples of its lanes, are branches and no masks: for machines whose threads
     * branch as cheaply as they mask. */
    bool whole_vectors;
    bool keep_guards; /* do not partition loops (tests compare both) */
    /* The program's arguments are the host's memory, which a device does not reach: what
     * launches is split with copies there and back (pass outline). */
    bool host_memory;
    /* Tensor intrinsics beside those of the table, ending with NULL; NULL: none. */
    const struct kiln_tensor_intrin *const *intrins;
    /* What the back end has (expand.h): halves and other intrinsics are written out.
     * NULL: nothing is, as cost models look at programs; a code generator says it. */
    const struct kiln_natives *natives;
} kiln_loop_options;

typedef struct kiln_loop_pass {
    const char *name;
    const char *doc;
    kiln_status (*run)(kiln_program *p, const kiln_loop_options *o, kiln_err *err);
} kiln_loop_pass;
#define KILN_LOOP_PASS(name) extern const kiln_loop_pass kiln_loop_pass_##name;
#include "compiler/loop/loop_passes.def"
#undef KILN_LOOP_PASS
const kiln_loop_pass *kiln_loop_pass_at(int i); /* NULL past the end */
const kiln_loop_pass *kiln_loop_pass_find(kiln_str name);
/* All of them in order. A failure names the pass. */
kiln_status kiln_program_optimize(kiln_program *p, const kiln_loop_options *o,
                                  kiln_err *err);

/* Every access inside its buffer (by intervals, guards and masks considered), every
 * read of an allocated buffer after a write, variables bound once, dtypes and lanes
 * consistent, parallel loops without conflicting stores where that can be decided.
 * Reports what is wrong with the loop nest around it. */
kiln_status kiln_program_verify(const kiln_program *p, kiln_err *err);

/* ---- threads --------------------------------------------------------------------- */

/* How a program's work falls on threads that share its parallel loops in equal numbers
 * of iterations. Counted, not measured: one for each vector load, store and arithmetic
 * operation (as many as the machine's vectors take), none for indexes and register
 * tiles. */
typedef struct kiln_spread {
    int threads;
    int64_t forks;      /* parallel loops that run, loops around them considered */
    int64_t iterations; /* of the longest of them; 0: none */
    double work;        /* all */
    double serial;      /* outside parallel loops */
    double longest;     /* serial, and of each fork the largest share: work / longest is
                           what the threads gain at best */
} kiln_spread;
kiln_spread kiln_program_spread(kiln_arena *scratch, const kiln_program *p, int threads,
                                int vector_bytes);

/* What a core must issue to run a program, in vectors: as if each operation filled
 * whole ones of the machine's width, so that a loop over single elements is not excused
 * by its own instructions. A multiplication whose result is added at once is one with
 * the addition where the machine has such (has_fma); what a division or a root keeps
 * busy counts as often. What the machine's minimum lacks of one that keeps NaN counts
 * (has_nan_min_max); what lies at places that are read themselves comes one by one. What
 * does not change in the innermost loop, indexes, register tiles and control are free. */
typedef struct kiln_issue {
    double arithmetic; /* with shuffles: lanes that do not come side by side */
    double loads, stores;
} kiln_issue;
typedef struct kiln_issue_machine {
    int vector_bytes;
    bool has_fma, has_nan_min_max;
} kiln_issue_machine;
kiln_issue kiln_program_issue(kiln_arena *scratch, const kiln_program *p,
                              const kiln_issue_machine *m);

/* Operations that no code for the program does without: two for each product of values
 * that it reads; of narrower elements than f32 a half or a quarter each, as machines
 * multiply so many more of them at once. What is not certain does not count; 0: nothing
 * is. So a kernel faster than these at the machine's multiply-add peak cannot be. */
double kiln_program_least_flops(kiln_arena *scratch, const kiln_program *p);

/* What a target has for the threads of a launch. */
typedef struct kiln_launch_limits {
    const kiln_memory *memory; /* as an architecture lists it; the last has no name */
    int64_t threads;           /* of one block; 0: it has no threads */
} kiln_launch_limits;
/* The profile's: what is more is refused before it is compiled. */
kiln_launch_limits kiln_launch_limits_of(kiln_arena *a, const kiln_profile *profile);
/* Every buffer lies in a memory that the target has and fits; what a block has in shared
 * memory at one time fits together; no block has too many threads. KILN_ERR_UNSUPPORTED
 * names the buffer or loop, the limit and what was asked for. */
kiln_status kiln_program_check_limits(const kiln_program *p,
                                      const kiln_launch_limits *limits, kiln_err *err);

/* ---- interpreter ----------------------------------------------------------------- */

/* Runs a program at any stage of lowering on native tensors (row-major bytes of each
 * argument's buffer). Every access is checked; allocated memory starts as NaN or 0xA5
 * bytes. Arithmetic rounds to the dtype after each operation (f16 and bf16 too). fma
 * contracts nothing by itself. KILN_ERR_SHAPE: an access outside its buffer, with loop
 * variables' values; KILN_ERR_LIMIT past max_steps (0: no limit).
 *
 * Thread loops run as threads: those of a block one after another, each to the next
 * barrier; so do those of a launched program. What a call does, its thread does. KILN_ERR_ARG,
 * whatever the order, for
 * a race: two threads of a block, with no barrier for that memory between, or of two
 *   blocks, touch one element, and one of them writes it;
 * a barrier that not all threads of the block reach;
 * a read of what nobody wrote to memory that threads share and the launch allocated. */
/* What launches move, as a GPU does: threads of a warp make an access together. By
 * buffer of the programs that run; those of one thread do not count. */
typedef struct kiln_buffer_traffic {
    const kiln_buffer *buffer;
    int64_t accesses; /* of warps */
    int64_t elements; /* of all their threads */
    int64_t
        transactions; /* global memory: sectors of 32 bytes that come and go; shared:
                             turns of its 32 banks */
    int64_t least;    /* so many would do, were those elements neighbours */
} kiln_buffer_traffic;
typedef struct kiln_traffic {
    kiln_arena *arena; /* borrowed; not the run's own */
    int warp;          /* threads that go in step; 0: one */
    KILN_VEC(kiln_buffer_traffic) of;
} kiln_traffic;

typedef struct kiln_loop_run_options {
    int64_t max_steps;
    bool
        reverse_parallel; /* runs parallel loops, threads and virtual threads backwards:
                              a cheap check of independence */
    uint64_t seed; /* draws the order of blocks, and of threads anew between any two
                      barriers; 0: in order */
    kiln_traffic *traffic; /* counted there; NULL: it is not */
} kiln_loop_run_options;
kiln_status kiln_program_run(kiln_arena *scratch, const kiln_program *p,
                             void *const *arg, const kiln_loop_run_options *o,
                             kiln_err *err);

#endif
