/* The state of one function while it is printed.
 *
 * Expressions become texts, and statements in front of them where they bind something.
 * The first failure is kept in `status`; printing goes on, and the entry looks at the
 * status at the end.
 */
#ifndef KILN_COMPILER_CODEGEN_C_PRINT_H
#define KILN_COMPILER_CODEGEN_C_PRINT_H

#include "compiler/codegen/c/c.h"

/* How tightly a text binds: what is looser than its place wants parentheses. */
typedef enum kiln_c_binds {
    KILN_C_SELECT, /* anything looser than a comparison */
    KILN_C_COMPARE,
    KILN_C_SUM,
    KILN_C_PRODUCT,
    KILN_C_UNARY,
    KILN_C_PRIMARY
} kiln_c_binds;

typedef struct kiln_c_text {
    const char *text;
    kiln_c_binds binds;
    bool is_known; /* an integer: `v` */
    int64_t v;
} kiln_c_text;

typedef struct kiln_c_var {
    const kiln_var *var;
    kiln_c_text text;
    bool is_index; /* a ptrdiff_t */
    bool is_never_negative;
    bool is_array; /* an element for each lane */
} kiln_c_var;

typedef struct kiln_c_memory {
    const kiln_buffer *buffer;
    const char *name;
    bool *is_used;
    const char *space; /* in front of the type that a pointer there leads to */
} kiln_c_memory;

/* A vector that was computed before, because its lanes depend on one another. */
typedef struct kiln_c_ready {
    const kiln_expr *e;
    const char *array; /* NULL: what a let binds is bound */
    const char *pick;  /* the table of lanes; NULL: lane by lane */
} kiln_c_ready;

typedef struct kiln_c_printer {
    kiln_arena *arena;
    kiln_c_unit *unit;
    const kiln_program *p;
    kiln_buf *out; /* statements */
    int depth;
    KILN_VEC(kiln_c_var) vars;
    KILN_VEC(kiln_c_memory) memory;
    KILN_VEC(kiln_c_ready) ready;
    KILN_VEC(const char *) name; /* that are taken, innermost last */
    size_t workspace, max_workspace, stack;
    const int64_t *extent;            /* of the launch; NULL: the function is called */
    const char **parameter;           /* names */
    unsigned bound;                   /* axes of the thread loops around */
    bool is_alone;                    /* a thread does what is printed by itself */
    KILN_VEC(kiln_c_memory) declared; /* of a block: names of the function */
    kiln_buf shared; /* declarations of a block's memory: of the function */
    size_t shared_bytes;
    bool is_exact; /* counts on each operation's rounding */
    kiln_status status;
    kiln_err *err;
} kiln_c_printer;

/* ---- texts and names (c_names.c) --------------------------------------------------- */
kiln_c_text kiln_c_put(kiln_c_printer *p, kiln_c_binds binds, const char *fmt, ...)
    KILN_PRINTF(3, 4);
/* In parentheses where it is looser. */
const char *kiln_c_in(kiln_c_printer *p, kiln_c_text x, kiln_c_binds at_least);
const char *kiln_c_name(kiln_c_printer *p, const char *wanted); /* taken from here on */
void kiln_c_line(kiln_c_printer *p, const char *fmt, ...) KILN_PRINTF(2, 3);
void kiln_c_fail(kiln_c_printer *p, kiln_status st, const char *fmt, ...)
    KILN_PRINTF(3, 4);
const char *kiln_c_value_type(kiln_dtype dtype); /* "float"; of bool "int" */

/* ---- helpers (helpers.c) --------------------------------------------------------- */
/* "add_i32": of the unit from here on. */
const char *kiln_c_helper(kiln_c_printer *p, const char *name, kiln_dtype dtype);
/* A text of the unit, by its name: has it come before? */
bool kiln_c_has(kiln_c_unit *u, const char *name);
void kiln_c_add(kiln_c_printer *p, const char *name, const char *text);
/* "f32_to_i8", "f32_as_i32" */
const char *kiln_c_convert(kiln_c_printer *p, kiln_dtype from, kiln_dtype to);
const char *kiln_c_reinterpret(kiln_c_printer *p, kiln_dtype from, kiln_dtype to);
const char *kiln_c_opencl_type(kiln_dtype dtype); /* "uchar" */
const char *kiln_c_table(kiln_c_printer *p, const char *type, const int64_t *v, int n);

/* ---- expressions (c_expr.c), indexes (c_index.c) ------------------------------------- */

/* Of one lane: `lane` is its number as text; NULL where there is one lane. Its type is
 * kiln_c_value_type. */
kiln_c_text kiln_c_expr(kiln_c_printer *p, const kiln_expr *e, const char *lane);
kiln_c_text kiln_c_number(kiln_c_printer *p, kiln_dtype dtype, int64_t v);
/* An i64 that is made of variables of loops alone cannot overflow: it is a ptrdiff_t. */
bool kiln_c_is_index(const kiln_c_printer *p, const kiln_expr *e);
kiln_c_text kiln_c_index(kiln_c_printer *p, const kiln_expr *e, const char *lane);
/* "x[i * 16 + k]" */
kiln_c_text kiln_c_element(kiln_c_printer *p, const kiln_buffer *b,
                           const kiln_expr *const *index, const char *lane);
const kiln_c_memory *kiln_c_memory_of(kiln_c_printer *p, const kiln_buffer *b);
const kiln_c_var *kiln_c_find(const kiln_c_printer *p, const kiln_var *v);
void kiln_c_bind(kiln_c_printer *p, const kiln_var *v, kiln_c_text text);
const kiln_c_ready *kiln_c_find_ready(const kiln_c_printer *p, const kiln_expr *e);
/* Declares what a let binds, as a constant of this block. */
void kiln_c_declare(kiln_c_printer *p, const kiln_var *v, const kiln_expr *value,
                    const char *lane, bool is_used);
kiln_c_text kiln_c_loop(kiln_c_printer *p, const kiln_expr *e); /* of one lane */

/* ---- lanes (c_lanes.c) ------------------------------------------------------------- */

/* Lane k of the result is lane f(k) of the one argument; NULL: it is not so simple. */
const char *kiln_c_shuffled(kiln_c_printer *p, const kiln_expr *e, const char *lane);
/* Does a statement, not its parts, hold what no lane can compute by itself? */
bool kiln_c_is_mixed(const kiln_stmt *s);
/* Computes that, to arrays of this block. */
void kiln_c_prepare(kiln_c_printer *p, const kiln_expr *e);
void kiln_c_prepare_where(kiln_c_printer *p, const kiln_expr *e, const kiln_expr *mask);

/* ---- vectors (c_vector.c) ---------------------------------------------------------- */

enum { KILN_C_VECTOR_BYTES = 64 };
/* "f32x16": of the unit from here on (vector_text.c). */
const char *kiln_c_vector_type(kiln_c_printer *p, kiln_dtype d, int lanes);
/* A text about such vectors, under a name, once. from: what it converts; or NULL. */
void kiln_c_vector_text(kiln_c_printer *p, const char *name, const char *from,
                        kiln_dtype d, int lanes, const char *text);
/* A store of a vector as one statement, where it is of few kinds of operations on
 * elements that follow each other; false: it is not, and nothing was printed. */
bool kiln_c_vector_store(kiln_c_printer *p, const kiln_stmt *s);

/* A store whose lanes differ by conditions that are numbers, such as those of a block's
 * tail, as stores of some lanes each, without these. The store alone: it has none, or
 * would become too many. Returns how many there are. */
enum { KILN_C_MAX_PARTS = 6 };
int kiln_c_parts(kiln_c_printer *p, const kiln_stmt *s,
                 const kiln_stmt *out[KILN_C_MAX_PARTS]);

/* ---- statements (c_stmt.c) --------------------------------------------------------- */
void kiln_c_stmt(kiln_c_printer *p, const kiln_stmt *s, bool is_last);

/* ---- threads (c_threads.c) --------------------------------------------------------- */

/* What of a statement all threads do not go through together is printed as one thread
 * does it, behind a guard where it stands outside loops of some axes. False: nothing was
 * printed. */
bool kiln_c_alone(kiln_c_printer *p, const kiln_stmt *s);
void kiln_c_thread_loop(kiln_c_printer *p, const kiln_stmt *s, bool is_last);
void kiln_c_barrier(kiln_c_printer *p, const kiln_stmt *s);
/* Where all threads evaluate an expression for those that do what it decides: nobody may
 * be writing what it reads. */
void kiln_c_check_together(kiln_c_printer *p, const kiln_expr *e);
/* Declares the buffer that a launch allocated last; its name, which need not be the one
 * that it would have. */
const char *kiln_c_thread_memory(kiln_c_printer *p, const char *name, size_t bytes);

/* A block in braces: names end with it. */
typedef struct kiln_c_block {
    size_t names, vars, memory, ready;
} kiln_c_block;
kiln_c_block kiln_c_open(kiln_c_printer *p);
void kiln_c_close(kiln_c_printer *p, kiln_c_block b);
/* for (int lane = 0; lane < lanes; lane++) { */
kiln_c_block kiln_c_lanes(kiln_c_printer *p, int lanes, const char **lane);

#endif
