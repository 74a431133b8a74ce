/* TorchScript's code, which is a subset of Python, as trees. Source: torch/csrc/jit/
 * serialization/python_print.cpp, which writes it, and frontend/parser.cpp.
 *
 * Trees live in the arena; texts are views into the file, which must outlive them, but
 * for strings with escapes. Messages name file and line. */
#ifndef KILN_COMPILER_FRONTEND_PYTORCH_SCRIPT_SYNTAX_H
#define KILN_COMPILER_FRONTEND_PYTORCH_SCRIPT_SYNTAX_H

#include "base/base.h"

enum {
    KILN_SCRIPT_MAX_BYTES = 64 << 20, /* of one file of code */
    KILN_SCRIPT_MAX_NESTING = 100,    /* of blocks, and of expressions in brackets */
    KILN_SCRIPT_MAX_HEIGHT = 300      /* of an expression */
};

/* ---- tokens (script_lex.c) -------------------------------------------------------- */

typedef enum kiln_script_token_kind {
    KILN_SCRIPT_TOKEN_NAME,   /* keywords too */
    KILN_SCRIPT_TOKEN_NUMBER, /* as it is written */
    KILN_SCRIPT_TOKEN_TEXT,   /* with its quotes */
    KILN_SCRIPT_TOKEN_MARK,   /* operators and brackets */
    KILN_SCRIPT_TOKEN_LINE,   /* the end of a line that is no continuation */
    KILN_SCRIPT_TOKEN_INDENT,
    KILN_SCRIPT_TOKEN_DEDENT,
    KILN_SCRIPT_TOKEN_END
} kiln_script_token_kind;

typedef struct kiln_script_token {
    kiln_script_token_kind kind;
    int line;
    kiln_str text;
} kiln_script_token;

/* The last one is END; each INDENT has its DEDENT. `file` begins messages. */
kiln_status kiln_script_lex(kiln_arena *a, kiln_str code, const char *file,
                            kiln_script_token **out, kiln_err *err);
/* What a text's token says. */
kiln_str kiln_script_unquote(kiln_arena *a, kiln_str quoted);

/* ---- trees (script_expr.c, script_parse.c) ---------------------------------------- */

typedef enum kiln_script_expr_kind {
    KILN_SCRIPT_NAME,  /* text */
    KILN_SCRIPT_NONE,  /* None */
    KILN_SCRIPT_BOOL,  /* i */
    KILN_SCRIPT_INT,   /* i */
    KILN_SCRIPT_FLOAT, /* f */
    KILN_SCRIPT_TEXT,  /* text */
    KILN_SCRIPT_ATTR,  /* arg[0].text */
    KILN_SCRIPT_CALL,  /* arg[0](arg[1], ...); keyword[i] names arg[i] */
    KILN_SCRIPT_INDEX, /* arg[0][arg[1], ...] */
    KILN_SCRIPT_SLICE, /* arg[0][arg[1]:arg[2]:arg[3]]; NULL: left out */
    KILN_SCRIPT_LIST,
    KILN_SCRIPT_TUPLE,
    KILN_SCRIPT_DICT,   /* keys and values by turns */
    KILN_SCRIPT_UNARY,  /* text is '-', '~' or 'not' */
    KILN_SCRIPT_BINARY, /* text is the operator: also 'and', 'or', '<', 'is not' */
    KILN_SCRIPT_CHOICE  /* arg[1] if arg[0] else arg[2] */
} kiln_script_expr_kind;

typedef struct kiln_script_expr kiln_script_expr;
struct kiln_script_expr {
    kiln_script_expr_kind kind;
    int line;
    int height; /* of the tree below it; at most KILN_SCRIPT_MAX_HEIGHT */
    int64_t i;
    double f;
    kiln_str text;
    kiln_script_expr **arg;
    kiln_str *keyword; /* of calls, n entries; p NULL: by place */
    size_t n;
};

typedef enum kiln_script_stmt_kind {
    KILN_SCRIPT_ASSIGN, /* each of target[] = value; more than one: unpacked */
    KILN_SCRIPT_DO,     /* value */
    KILN_SCRIPT_IF,     /* value, body, orelse */
    KILN_SCRIPT_FOR,    /* target[0] in value: body */
    KILN_SCRIPT_WHILE,  /* value: body */
    KILN_SCRIPT_RETURN, /* value; NULL: None */
    KILN_SCRIPT_RAISE   /* value; may be NULL */
} kiln_script_stmt_kind;

typedef struct kiln_script_stmt kiln_script_stmt;
typedef struct kiln_script_block {
    kiln_script_stmt *stmt;
    size_t n;
} kiln_script_block;

struct kiln_script_stmt {
    kiln_script_stmt_kind kind;
    int line;
    kiln_script_expr **target;
    size_t n_targets;
    bool is_unpacking; /* `a, = x` has one target, and unpacks */
    kiln_script_expr *value;
    kiln_script_block body, orelse;
};

typedef struct kiln_script_param {
    kiln_str name;
    const kiln_script_expr *type, *otherwise; /* NULL: not given */
} kiln_script_param;

typedef struct kiln_script_function {
    kiln_str name;
    const char *file;
    int line;
    kiln_script_param *param;
    size_t n_params;
    kiln_script_block body;
} kiln_script_function;

/* `name : type`, `name : Final[type] = value`. */
typedef struct kiln_script_member {
    kiln_str name;
    const kiln_script_expr *type, *value; /* either may be NULL */
} kiln_script_member;

typedef struct kiln_script_class {
    kiln_str name, base; /* base: "Module", "NamedTuple", ...; may be empty */
    KILN_VEC(kiln_script_member) member;
    KILN_VEC(kiln_script_function *) function;
} kiln_script_class;

typedef struct kiln_script_file {
    const char *name; /* "code/__torch__/net.py" */
    KILN_VEC(kiln_script_function *) function;
    KILN_VEC(kiln_script_class *) class_;
} kiln_script_file;

kiln_status kiln_script_parse(kiln_arena *a, kiln_str code, const char *file,
                              kiln_script_file *out, kiln_err *err);

/* ---- for the two halves of the parser --------------------------------------------- */

typedef struct kiln_script_parser {
    kiln_arena *a;
    kiln_err *err;
    const char *file;
    const kiln_script_token *at;
    int depth;
} kiln_script_parser;

bool kiln_script_is(const kiln_script_parser *p, const char *text);
bool kiln_script_accept(kiln_script_parser *p, const char *text);
kiln_status kiln_script_expect(kiln_script_parser *p, const char *text);
kiln_status kiln_script_take_name(kiln_script_parser *p, kiln_str *out);
kiln_status kiln_script_expr_parse(kiln_script_parser *p, kiln_script_expr **out);
/* One or more with commas between; a comma behind the last: *is_tuple. */
kiln_status kiln_script_exprs_parse(kiln_script_parser *p, kiln_script_expr ***out,
                                    size_t *n, bool *is_tuple);
kiln_script_expr *kiln_script_expr_new(kiln_script_parser *p,
                                       kiln_script_expr_kind kind, size_t n);

#endif
