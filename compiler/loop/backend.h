/* What a back end makes of loop programs: the interpreter, and each code generator.
 *
 * A back end has one table and holds every program against it before it does anything.
 * What it does not implement is refused by name, with what to do instead: nothing is
 * dropped, run in series that was asked for at once, or given memory of another kind
 * without a word. A construct that a table forgets is refused too.
 */
#ifndef KILN_COMPILER_LOOP_BACKEND_H
#define KILN_COMPILER_LOOP_BACKEND_H

#include "compiler/loop/loop.h"

#define KILN_DOES "" /* in a table: implemented */

enum {
    KILN_N_STMT_KINDS = KILN_STMT_LAST + 1,
    KILN_N_LOOP_KINDS = KILN_LOOP_LAST + 1,
    KILN_N_SCOPES = KILN_SCOPE_FRAGMENT + 2, /* the last: all that targets declare */
    KILN_N_ATTR_KEYS = KILN_STMT_ATTR_LAST + 1,
    KILN_N_EXPR_KINDS = KILN_EXPR_LAST + 1
};

/* Each text is KILN_DOES, or why not and what to do instead; NULL: nobody decided, which
 * refuses. */
typedef struct kiln_backend {
    const char *name;
    const char *stmt[KILN_N_STMT_KINDS];
    const char *loop[KILN_N_LOOP_KINDS];
    const char *scope[KILN_N_SCOPES]; /* of arguments and what is allocated */
    const char *attr[KILN_N_ATTR_KEYS];
    const char *expr[KILN_N_EXPR_KINDS];
    const char *effect[KILN_N_INTRINS]; /* of those that are not pure, as statements */
    /* Programs that are instructions, by name, ending with NULL: a call of one is
     * implemented whatever .stmt says; NULL: none. */
    const char *const *calls;
    const char *param; /* scalars that the program is given */
    const char *value; /* an expression without effect as a statement */
} kiln_backend;

/* Rows of .expr for a back end that takes every expression of loop programs. READ and
 * REDUCE are none. */
#define KILN_BACKEND_LOWER_FIRST                                                       \
    "a loop program must not hold tensor expressions; lower it first"
#define KILN_BACKEND_ALL_EXPRS                                                         \
    [KILN_EXPR_INT] = KILN_DOES, [KILN_EXPR_FLOAT] = KILN_DOES,                        \
    [KILN_EXPR_VAR] = KILN_DOES, [KILN_EXPR_ADD] = KILN_DOES,                          \
    [KILN_EXPR_SUB] = KILN_DOES, [KILN_EXPR_MUL] = KILN_DOES,                          \
    [KILN_EXPR_DIV] = KILN_DOES, [KILN_EXPR_FLOORDIV] = KILN_DOES,                     \
    [KILN_EXPR_FLOORMOD] = KILN_DOES, [KILN_EXPR_MIN] = KILN_DOES,                     \
    [KILN_EXPR_MAX] = KILN_DOES, [KILN_EXPR_EQ] = KILN_DOES,                           \
    [KILN_EXPR_NE] = KILN_DOES, [KILN_EXPR_LT] = KILN_DOES,                            \
    [KILN_EXPR_LE] = KILN_DOES, [KILN_EXPR_AND] = KILN_DOES,                           \
    [KILN_EXPR_OR] = KILN_DOES, [KILN_EXPR_XOR] = KILN_DOES,                           \
    [KILN_EXPR_SHL] = KILN_DOES, [KILN_EXPR_SHR] = KILN_DOES,                          \
    [KILN_EXPR_NOT] = KILN_DOES, [KILN_EXPR_CAST] = KILN_DOES,                         \
    [KILN_EXPR_BITCAST] = KILN_DOES, [KILN_EXPR_SELECT] = KILN_DOES,                   \
    [KILN_EXPR_CALL] = KILN_DOES, [KILN_EXPR_LOAD] = KILN_DOES,                        \
    [KILN_EXPR_RAMP] = KILN_DOES, [KILN_EXPR_BROADCAST] = KILN_DOES,                   \
    [KILN_EXPR_SHUFFLE] = KILN_DOES, [KILN_EXPR_LET] = KILN_DOES,                      \
    [KILN_EXPR_LOOP] = KILN_DOES, [KILN_EXPR_TABLE] = KILN_DOES,                       \
    [KILN_EXPR_READ] = KILN_BACKEND_LOWER_FIRST,                                       \
    [KILN_EXPR_REDUCE] = KILN_BACKEND_LOWER_FIRST

/* All but the name of a back end whose kernels a GPU runs; what it makes of fragments, of
 * copies that arrive later and of products that end later. */
#define KILN_BACKEND_GPU(fragment_, async_, products_)                                 \
    .stmt =                                                                            \
        {[KILN_STMT_FOR] = KILN_DOES,                                                  \
         [KILN_STMT_SEQ] = KILN_DOES,                                                  \
         [KILN_STMT_IF] = KILN_DOES,                                                   \
         [KILN_STMT_LET] = KILN_DOES,                                                  \
         [KILN_STMT_ALLOC] = KILN_DOES,                                                \
         [KILN_STMT_STORE] = KILN_DOES,                                                \
         [KILN_STMT_EVAL] = KILN_DOES,                                                 \
         [KILN_STMT_ATTR] = KILN_DOES,                                                 \
         [KILN_STMT_BARRIER] = KILN_DOES,                                              \
         [KILN_STMT_CALL] =                                                            \
             "no GPU has such an instruction; write out what it does (tensorize)",     \
         [KILN_STMT_LAUNCH] = KILN_DOES,                                               \
         [KILN_STMT_COPY] =                                                            \
             ("who runs the kernel copies, its arguments are the device's memory; "    \
              "split it without host_memory")},                                        \
    .loop = {[KILN_LOOP_SERIAL] = KILN_DOES,                                           \
             [KILN_LOOP_PARALLEL] =                                                    \
                 "a GPU's threads are axes; bind the loop to blockIdx or threadIdx",   \
             [KILN_LOOP_VECTORIZED] = KILN_DOES,                                       \
             [KILN_LOOP_UNROLLED] = KILN_DOES,                                         \
             [KILN_LOOP_THREAD] = KILN_DOES,                                           \
             [KILN_LOOP_VTHREAD] =                                                     \
                 "virtual threads must have been interleaved; run the pass vthread"},  \
    .scope =                                                                           \
        {[KILN_SCOPE_GLOBAL] = KILN_DOES,                                              \
         [KILN_SCOPE_LOCAL] = KILN_DOES,                                               \
         [KILN_SCOPE_REGISTER] = KILN_DOES,                                            \
         [KILN_SCOPE_SHARED] = KILN_DOES,                                              \
         [KILN_SCOPE_DEVICE] =                                                         \
             ("all that the kernel has is the device's; use global memory, which "     \
              "launches share"),                                                       \
         [KILN_SCOPE_FRAGMENT] = fragment_,                                            \
         [KILN_N_SCOPES - 1] =                                                         \
             ("a kernel has four kinds of memory; use global, shared, local or "       \
              "register")},                                                            \
    .attr =                                                                            \
        {[KILN_STMT_ATTR_PRAGMA] = "no word of a pragma is known; leave it out",       \
         [KILN_STMT_ATTR_THREAD_EXTENT] =                                              \
             "how wide a launch is its loops say; leave it out",                       \
         [KILN_STMT_ATTR_COPROC_SCOPE] = "there is no accelerator; leave it out",      \
         [KILN_STMT_ATTR_DOUBLE_BUFFER] =                                              \
             "what fills a buffer is moved ahead before; run the pass double_buffer",  \
         [KILN_STMT_ATTR_DEPENDENCE_SCOPE] =                                           \
             "a GPU has no dependence tokens; leave it out",                           \
         [KILN_STMT_ATTR_STAGE] = KILN_DOES,                                           \
         [KILN_STMT_ATTR_TENSORIZE] = KILN_DOES,                                       \
         [KILN_STMT_ATTR_ASYNC] = async_,                                              \
         [KILN_STMT_ATTR_PRODUCTS] = products_,                                        \
         [KILN_STMT_ATTR_SWING] =                                                      \
             "the threads of a GPU go through no parts; leave it out"},                \
    .expr = {KILN_BACKEND_ALL_EXPRS}, .effect = {[KILN_INTRIN_prefetch] = KILN_DOES},  \
    .param = "nobody launches the program with a number; store it to a buffer",        \
    .value = "a value that nobody keeps would be dropped; store it, or leave it out"

/* KILN_ERR_UNSUPPORTED for the first construct that is refused, outside in. */
kiln_status kiln_backend_check(const kiln_backend *b, const kiln_program *p,
                               kiln_err *err);

/* ---- threads, where each of them runs the whole program (collective.c) -------------- */

/* Do all threads of a block go through s together? Whatever else there is one thread does
 * by itself: outside all loops of an axis the one that stands at 0 there. */
bool kiln_stmt_is_collective(const kiln_stmt *s);
bool kiln_stmt_has_barrier(const kiln_stmt *s);
/* What e reads that is no input of the program: where all threads evaluate e for those
 * that do what it decides, somebody may be writing it. NULL: nothing. */
const kiln_buffer *kiln_expr_unsettled(const kiln_expr *e);

/* A power of two, up to 64, that divides lane 0 of an integer whatever its variables
 * are. */
int64_t kiln_expr_divisor(const kiln_expr *e);

/* For messages: "floor divide". */
const char *kiln_expr_kind_name(kiln_expr_kind kind);

extern const kiln_backend kiln_backend_interpreter;

#endif
