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
    KILN_N_SCOPES = KILN_SCOPE_DEVICE + 2, /* the last: all that targets declare */
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
    const char *param;                  /* scalars that the program is given */
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
