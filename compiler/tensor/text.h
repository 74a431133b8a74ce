/* Text of expressions, for the forms that hold them: tensor expressions here, loop
 * programs in compiler/loop. docs/program-text.md has the grammar. */
#ifndef KILN_COMPILER_TENSOR_TEXT_H
#define KILN_COMPILER_TENSOR_TEXT_H

#include "compiler/tensor/tensor.h"
#include "base/numbers.h"

/* ---- names ----------------------------------------------------------------------- */

/* Words that a name must not be without quotes: constants, and words that may follow
 * where a name could stand. */
extern const char *const kiln_text_reserved[];

/* Names that are unique in one text: a thing (a variable, a buffer, a stage: by
 * pointer) has the name that it wants, or that with a number behind it. */
typedef struct kiln_names {
    kiln_arena *arena;
    kiln_map by_thing;
    kiln_numbers by_text;
} kiln_names;
const char *kiln_names_of(kiln_names *n, const void *thing, const char *want);

/* ---- operators ------------------------------------------------------------------- */

/* Binding strength, C's. Calls, loads and atoms bind strongest. */
enum {
    KILN_LEVEL_OR = 1,
    KILN_LEVEL_XOR,
    KILN_LEVEL_AND,
    KILN_LEVEL_EQUAL,
    KILN_LEVEL_LESS,
    KILN_LEVEL_SHIFT,
    KILN_LEVEL_SUM,
    KILN_LEVEL_PRODUCT,
    KILN_LEVEL_UNARY,
};

typedef struct kiln_operator {
    const char *text;
    kiln_expr_kind kind;
    int level;
    bool is_tight; /* printed without blanks around */
} kiln_operator;

/* NULL: the kind is none with an operator's sign. */
const kiln_operator *kiln_operator_of(kiln_expr_kind kind);

/* The operator that comes next, not taken; NULL: none does. */
const kiln_operator *kiln_operator_here(kiln_lexer *l);

/* ---- reading --------------------------------------------------------------------- */

enum {
    KILN_TEXT_MAX_DEPTH = 200,   /* parentheses, calls, blocks inside each other */
    KILN_TEXT_MAX_HEIGHT = 1000, /* of an expression: a sum of so many terms */
};

/* name[index...], with what stands around it. */
typedef struct kiln_text_access {
    const char *at; /* place of the name */
    const char *name;
    int out; /* of name:out; -1: not written */
    const kiln_expr **index;
    int n;
    const kiln_expr *mask; /* behind `where`; NULL: none */
} kiln_text_access;

typedef struct kiln_expr_reader kiln_expr_reader;
struct kiln_expr_reader {
    kiln_lexer lex;
    int depth;
    bool has_vectors; /* ramps, broadcasts, shuffles, masks are part of the form */
    /* What a name means; NULL where it means nothing. */
    const kiln_var *(*var)(void *user, kiln_str name);
    /* The variable that `let` binds, until unbind; both NULL where expressions bind
     * none. */
    kiln_status (*bind)(kiln_expr_reader *r, const char *at, const char *name,
                        kiln_dtype dtype, int lanes, const kiln_var **out);
    void (*unbind)(kiln_expr_reader *r, const kiln_var *v);
    /* A load or a read; fails at x->at. */
    kiln_status (*access)(kiln_expr_reader *r, const kiln_text_access *x,
                          const kiln_expr **out);
    void *user;
};

/* One expression, its types checked. */
kiln_status kiln_text_expr(kiln_expr_reader *r, const kiln_expr **out);
/* The same, and the longest way down in it. */
kiln_status kiln_text_part(kiln_expr_reader *r, const kiln_expr **out, int *height);
/* Behind the parenthesis of what binds variables, and of tables; `at` is their word.
 * *height becomes that of the highest part. */
kiln_status kiln_text_let(kiln_expr_reader *r, const char *at, const kiln_expr **out,
                          int *height);
kiln_status kiln_text_loop(kiln_expr_reader *r, const char *at, const kiln_expr **out,
                           int *height);
kiln_status kiln_text_table(kiln_expr_reader *r, const char *at, kiln_dtype dtype,
                            const kiln_expr **out, int *height);
/* What stands behind `where`, and before `=`: no operator outside parentheses. */
kiln_status kiln_text_unary(kiln_expr_reader *r, const kiln_expr **out);
/* 5 is i64, 0.5f and 5f are f32; other dtypes stand in front: i32(5), f64(0.5). */
kiln_status kiln_text_number(kiln_expr_reader *r, const kiln_expr **out);
/* Between the parentheses of f64(...) or i32(...): a number, nan, inf or -inf with
 * nothing behind it. *out NULL, and nothing taken, where it is anything else. */
kiln_status kiln_text_literal(kiln_expr_reader *r, kiln_dtype dtype,
                              const kiln_expr **out);
/* The name of a dtype. */
kiln_status kiln_text_dtype(kiln_expr_reader *r, kiln_dtype *out);
/* Counts a nesting level; KILN_ERR_LIMIT when there are too many. */
kiln_status kiln_text_enter(kiln_expr_reader *r);
void kiln_text_leave(kiln_expr_reader *r);
/* For messages: cut and printable. */
const char *kiln_text_shown(kiln_expr_reader *r, const char *name);

#endif
