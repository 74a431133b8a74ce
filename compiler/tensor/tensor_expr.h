/* Scalar and vector expressions: what tensor expressions and loop programs are made of.
 *
 * Immutable trees in an arena; sharing is allowed, identity means nothing (compare with
 * kiln_expr_eq). Builders fold constants and drop neutral elements where that is exact
 * for every value (x + 0 for integers, never for floats), so straightforward code gives
 * tidy expressions; kiln_simplify_expr (loop/) knows ranges and does more.
 *
 * Builders are called kiln_x_*. Integer arithmetic wraps in its dtype. Indexes are i64.
 * Float arithmetic is IEEE in its dtype, each operation rounded, except that a multiply
 * feeding an add may be contracted to a fused multiply-add by code generators.
 */
#ifndef KILN_COMPILER_TENSOR_TENSOR_EXPR_H
#define KILN_COMPILER_TENSOR_TENSOR_EXPR_H

#include "compiler/graph/graph.h"

typedef struct kiln_te kiln_te;         /* tensor.h */
typedef struct kiln_buffer kiln_buffer; /* buffer.h */

typedef enum kiln_expr_kind {
    KILN_EXPR_INT,   /* .i: integers and bool */
    KILN_EXPR_FLOAT, /* .f: already rounded to the dtype */
    KILN_EXPR_VAR,   /* .var */

    /* Binary, operands of one dtype and lanes. */
    KILN_EXPR_ADD,
    KILN_EXPR_SUB,
    KILN_EXPR_MUL,
    KILN_EXPR_DIV, /* floats: true division; integers: truncating; the smallest by -1
                      wraps; by zero is the caller's fault: interpreters fail, generated
                      code gives any number */
    KILN_EXPR_FLOORDIV, /* integers */
    KILN_EXPR_FLOORMOD, /* integers: has the sign of the divisor */
    KILN_EXPR_MIN,      /* floats: NaN when either is (as numpy and ONNX) */
    KILN_EXPR_MAX,
    KILN_EXPR_EQ, /* comparisons: dtype bool; ordered: false with NaN, but NE */
    KILN_EXPR_NE,
    KILN_EXPR_LT,
    KILN_EXPR_LE,
    KILN_EXPR_AND, /* bool, both evaluated; integers: bitwise */
    KILN_EXPR_OR,
    KILN_EXPR_XOR,
    KILN_EXPR_SHL, /* integers; counts outside [0, bits) are the caller's fault */
    KILN_EXPR_SHR, /* arithmetic for signed, logical for unsigned */

    KILN_EXPR_NOT,     /* bool, or bitwise */
    KILN_EXPR_CAST,    /* value conversion, as the graph's cast */
    KILN_EXPR_BITCAST, /* same number of bits */
    KILN_EXPR_SELECT,  /* arg: cond, then, else. Only the chosen side is evaluated: a
                          guard for reads */
    KILN_EXPR_CALL,    /* .intrin with its args */

    KILN_EXPR_READ,   /* tensor expressions: arg[...] are the indexes into .te's output
                         .out */
    KILN_EXPR_REDUCE, /* tensor expressions, whole body only: .reduce */

    KILN_EXPR_LOAD, /* loop programs: .buffer, arg: indexes; .mask (may be NULL): lanes
                       off give 0 */
    KILN_EXPR_RAMP, /* lanes: arg[0] + arg[1] * lane */
    KILN_EXPR_BROADCAST, /* arg[0] in every lane */
    KILN_EXPR_SHUFFLE, /* arg: vectors of one dtype, concatenated; .lane picks lanes of
                          the result */
    KILN_EXPR_LET,     /* loop programs: .bound[k] is arg[k], in order, and each may use
                          those before it; the last argument, which may use all, is the
                          value. What is bound has one lane or as many as the value */
    KILN_EXPR_LOOP,    /* loop programs: .turns; kiln_x_loop */
    KILN_EXPR_TABLE,   /* loop programs: .table's number of index arg[0], which must be
                          inside in every lane, whatever a mask says */
    KILN_EXPR_LAST = KILN_EXPR_TABLE
} kiln_expr_kind;

/* Kinds that most switches treat alike: `case KILN_EXPRS_COMPARING:` is a case for each of
 * them. So a switch names every kind without a default, and -Wswitch names the one that a
 * new enumerator forgot. */
#define KILN_EXPRS_CONSTANT                                                            \
    KILN_EXPR_INT:                                                                     \
    case KILN_EXPR_FLOAT
#define KILN_EXPRS_DIVIDING                                                            \
    KILN_EXPR_DIV:                                                                     \
    case KILN_EXPR_FLOORDIV:                                                           \
    case KILN_EXPR_FLOORMOD
#define KILN_EXPRS_EXTREME                                                             \
    KILN_EXPR_MIN:                                                                     \
    case KILN_EXPR_MAX
#define KILN_EXPRS_COMPARING                                                           \
    KILN_EXPR_EQ:                                                                      \
    case KILN_EXPR_NE:                                                                 \
    case KILN_EXPR_LT:                                                                 \
    case KILN_EXPR_LE
#define KILN_EXPRS_BITWISE                                                             \
    KILN_EXPR_AND:                                                                     \
    case KILN_EXPR_OR:                                                                 \
    case KILN_EXPR_XOR:                                                                \
    case KILN_EXPR_SHL:                                                                \
    case KILN_EXPR_SHR
#define KILN_EXPRS_UNARY                                                               \
    KILN_EXPR_NOT:                                                                     \
    case KILN_EXPR_CAST:                                                               \
    case KILN_EXPR_BITCAST
#define KILN_EXPRS_TENSOR                                                              \
    KILN_EXPR_READ:                                                                    \
    case KILN_EXPR_REDUCE
#define KILN_EXPRS_LANES                                                               \
    KILN_EXPR_RAMP:                                                                    \
    case KILN_EXPR_BROADCAST:                                                          \
    case KILN_EXPR_SHUFFLE
#define KILN_EXPRS_SCOPED                                                              \
    KILN_EXPR_LET:                                                                     \
    case KILN_EXPR_LOOP:                                                               \
    case KILN_EXPR_TABLE
#define KILN_EXPRS_ARITHMETIC                                                          \
    KILN_EXPR_ADD:                                                                     \
    case KILN_EXPR_SUB:                                                                \
    case KILN_EXPR_MUL:                                                                \
    case KILN_EXPRS_DIVIDING:                                                          \
    case KILN_EXPRS_EXTREME

/* Comparisons and bits: the binary operators that are not arithmetic. */
#define KILN_EXPRS_LOGICAL                                                             \
    KILN_EXPRS_COMPARING:                                                              \
    case KILN_EXPRS_BITWISE
/* What is neither a leaf, nor binary, nor made of lanes. */
#define KILN_EXPRS_COMPOSED                                                            \
    KILN_EXPRS_UNARY:                                                                  \
    case KILN_EXPR_SELECT:                                                             \
    case KILN_EXPR_CALL:                                                               \
    case KILN_EXPRS_TENSOR:                                                            \
    case KILN_EXPR_LOAD:                                                               \
    case KILN_EXPRS_SCOPED

typedef struct kiln_var {
    const char *name; /* for people; identity is the pointer */
    kiln_dtype dtype;
    int lanes; /* 1, but of what an expression binds */
} kiln_var;

/* Intrinsics: one row each in intrinsics.def: scalar functions of the same dtype,
 * evaluated lane by lane. */
typedef enum kiln_intrin {
#define KILN_INTRIN(name, n_args, is_pure) KILN_INTRIN_##name,
#include "compiler/tensor/intrinsics.def"
#undef KILN_INTRIN
    KILN_N_INTRINS
} kiln_intrin;

/* Groups of them, as of kinds of expressions. */
#define KILN_INTRINS_EXACT /* +, - and *, each rounded by itself */                    \
    KILN_INTRIN_add_rn:                                                                \
    case KILN_INTRIN_sub_rn:                                                           \
    case KILN_INTRIN_mul_rn
#define KILN_INTRINS_ROUNDING /* to whole numbers */                                   \
    KILN_INTRIN_ceil:                                                                  \
    case KILN_INTRIN_floor:                                                            \
    case KILN_INTRIN_round:                                                            \
    case KILN_INTRIN_trunc
#define KILN_INTRINS_CURVED /* of one number: what the pass `expand` writes out */     \
    KILN_INTRIN_acos:                                                                  \
    case KILN_INTRIN_acosh:                                                            \
    case KILN_INTRIN_asin:                                                             \
    case KILN_INTRIN_asinh:                                                            \
    case KILN_INTRIN_atan:                                                             \
    case KILN_INTRIN_atanh:                                                            \
    case KILN_INTRIN_cos:                                                              \
    case KILN_INTRIN_cosh:                                                             \
    case KILN_INTRIN_erf:                                                              \
    case KILN_INTRIN_exp:                                                              \
    case KILN_INTRIN_exp_low:                                                          \
    case KILN_INTRIN_expm1:                                                            \
    case KILN_INTRIN_gelu:                                                             \
    case KILN_INTRIN_log:                                                              \
    case KILN_INTRIN_log1p:                                                            \
    case KILN_INTRIN_rsqrt:                                                            \
    case KILN_INTRIN_sigmoid:                                                          \
    case KILN_INTRIN_sin:                                                              \
    case KILN_INTRIN_sinh:                                                             \
    case KILN_INTRIN_tan:                                                              \
    case KILN_INTRIN_tanh
#define KILN_INTRINS_PAIRED /* of two */                                               \
    KILN_INTRIN_fmod:                                                                  \
    case KILN_INTRIN_pow:                                                              \
    case KILN_INTRIN_quotient
#define KILN_INTRINS_SPECIAL /* no function of numbers, and how many rows there are */ \
    KILN_INTRIN_dot4:                                                                  \
    case KILN_INTRIN_prefetch:                                                         \
    case KILN_N_INTRINS

typedef struct kiln_intrin_info {
    const char *name;
    int n_args;
    bool is_pure;
} kiln_intrin_info;
const kiln_intrin_info *kiln_intrin_get(kiln_intrin i);
bool kiln_intrin_find(kiln_str name, kiln_intrin *out);
/* Its meaning in double (the interpreter rounds to the dtype). */
double kiln_intrin_eval(kiln_intrin i, const double *arg);
/* Its meaning for integers, exact, wrapped to the dtype; false where it has none. */
bool kiln_intrin_eval_int(kiln_intrin i, kiln_dtype dtype, const int64_t *arg,
                          int64_t *out);

/* What a loop in an expression binds: its state, and what one turn computes before the
 * next state. */
typedef struct kiln_turns {
    const kiln_var *const *state, *const *local;
    int n_state, n_local;
} kiln_turns;

/* Integers that are known. */
enum { KILN_MAX_TABLE = 4096 };
typedef struct kiln_table {
    kiln_dtype dtype;
    int n;
    const int64_t *v;
} kiln_table;

/* A reduction axis or a compute axis of a tensor expression: [0, extent). */
typedef struct kiln_axis {
    const char *name;
    const kiln_expr *extent; /* i64; a constant today */
    const kiln_var *var;     /* i64 */
    bool is_reduce;
} kiln_axis;

/* An associative, commutative combination of tuples: (lhs..., rhs...) -> result...,
 * with identity. sum, prod, min, max have one element; argmax two. Floating-point sums
 * may be reassociated by schedules that say so (rfactor, vectorize, unroll of a
 * reduction axis), never by a pass. */
typedef struct kiln_reducer {
    const char
        *name; /* "sum", "max", "argmax", ...: printed, and matched by tensorize */
    int n;
    const kiln_var **lhs, **rhs;
    const kiln_expr **result;
    const kiln_expr **identity;
} kiln_reducer;

typedef struct kiln_reduction {
    const kiln_reducer *reducer;
    const kiln_expr **source; /* reducer->n expressions */
    const kiln_axis **axis;
    int n_axes;
    const kiln_expr
        *cond; /* bool; NULL: always. Where false, the identity takes part */
    int index; /* which of the tuple's results this expression is */
} kiln_reduction;

enum { KILN_MAX_LANES = 1024 };

struct kiln_expr {
    kiln_expr_kind kind;
    kiln_dtype dtype;
    int lanes; /* 1: scalar */
    int n_arg;
    const kiln_expr **arg;
    union {
        int64_t i;
        double f;
        const kiln_var *var;
        kiln_intrin intrin;
        struct {
            const kiln_te *te;
            int out;
        } read;
        const kiln_reduction *reduce;
        struct {
            const kiln_buffer *buffer;
            const kiln_expr *mask;
        } load;
        const int *lane;
        const kiln_var *const *bound; /* n_arg - 1 */
        const kiln_turns *turns;
        const kiln_table *table;
    } u;
};

/* ---- building -------------------------------------------------------------------- */

kiln_var *kiln_var_new(kiln_arena *a, const char *name, kiln_dtype dtype);
kiln_var *kiln_var_vector(kiln_arena *a, const char *name, kiln_dtype dtype, int lanes);
const kiln_expr *kiln_x_int(kiln_arena *a, kiln_dtype dtype, int64_t v);
const kiln_expr *kiln_x_index(kiln_arena *a, int64_t v); /* i64 */
const kiln_expr *kiln_x_float(kiln_arena *a, kiln_dtype dtype, double v);
/* Zero, one: of any dtype. */
const kiln_expr *kiln_x_number(kiln_arena *a, kiln_dtype dtype, double v);
const kiln_expr *kiln_x_ref(kiln_arena *a, const kiln_var *v);
/* Binary operators; a scalar operand is broadcast to the other's lanes. Asserts equal
 * dtypes. */
const kiln_expr *kiln_x_binary(kiln_arena *a, kiln_expr_kind kind, const kiln_expr *x,
                               const kiln_expr *y);
const kiln_expr *kiln_x_not(kiln_arena *a, const kiln_expr *x);
const kiln_expr *kiln_x_cast(kiln_arena *a, kiln_dtype dtype, const kiln_expr *x);
const kiln_expr *kiln_x_bitcast(kiln_arena *a, kiln_dtype dtype, const kiln_expr *x);
/* Row `i` of n rows: one select within the other, so that nothing but the row is left
 * where `i` is known. */
const kiln_expr *kiln_x_choose(kiln_arena *a, const kiln_expr *i,
                               const kiln_expr *const *row, int n);
const kiln_expr *kiln_x_select(kiln_arena *a, const kiln_expr *cond,
                               const kiln_expr *then, const kiln_expr *otherwise);
const kiln_expr *kiln_x_call(kiln_arena *a, kiln_intrin i, const kiln_expr *const *arg);
const kiln_expr *kiln_x_read(kiln_arena *a, const kiln_te *te, int out,
                             const kiln_expr *const *index, int n);
const kiln_expr *kiln_x_load(kiln_arena *a, const kiln_buffer *b,
                             const kiln_expr *const *index, int n,
                             const kiln_expr *mask);
const kiln_expr *kiln_x_ramp(kiln_arena *a, const kiln_expr *base,
                             const kiln_expr *stride, int lanes);
const kiln_expr *kiln_x_broadcast(kiln_arena *a, const kiln_expr *x, int lanes);
const kiln_expr *kiln_x_shuffle(kiln_arena *a, const kiln_expr *const *arg, int n,
                                const int *lane, int lanes);
/* var[k] = value[k], k < n, in `body`; a variable is bound once. Asserts dtypes and
 * lanes. The body itself where nothing is bound. */
const kiln_expr *kiln_x_let(kiln_arena *a, const kiln_var *const *var,
                            const kiln_expr *const *value, int n,
                            const kiln_expr *body);

/* A loop that computes a value: the state is init[]; while `cond` holds in any lane,
 * local[] is computed, one after another, and the state becomes next[], all at once;
 * then `value` is computed of it. Lanes whose condition does not hold go on with the
 * others. The condition and what is bound have one lane, or as many as the value. */
typedef struct kiln_loop_parts {
    kiln_turns turns;
    const kiln_expr *const *init, *const *next; /* n_state each */
    const kiln_expr *const *local;              /* n_local */
    const kiln_expr *cond, *value;
} kiln_loop_parts;
const kiln_expr *kiln_x_loop(kiln_arena *a, const kiln_loop_parts *p);
/* The parts of such an expression; they point into it. */
kiln_loop_parts kiln_x_loop_parts(const kiln_expr *e);
/* The table is borrowed. */
const kiln_expr *kiln_x_table(kiln_arena *a, const kiln_table *t,
                              const kiln_expr *index);

/* Reducers of a dtype. argmax: (index i64, value), ties to the lower index. */
const kiln_reducer *kiln_reducer_sum(kiln_arena *a, kiln_dtype dtype);
const kiln_reducer *kiln_reducer_prod(kiln_arena *a, kiln_dtype dtype);
const kiln_reducer *kiln_reducer_max(kiln_arena *a, kiln_dtype dtype);
const kiln_reducer *kiln_reducer_min(kiln_arena *a, kiln_dtype dtype);
const kiln_reducer *kiln_reducer_argmax(kiln_arena *a, kiln_dtype dtype);
const kiln_reducer *kiln_reducer_argmin(kiln_arena *a, kiln_dtype dtype);
/* One of these by its name; NULL: none has it. */
const kiln_reducer *kiln_reducer_find(kiln_arena *a, const char *name,
                                      kiln_dtype dtype);
bool kiln_reducer_is_known(const char *name);
const kiln_expr *kiln_x_reduce(kiln_arena *a, const kiln_reducer *r,
                               const kiln_expr *const *source,
                               const kiln_axis *const *axis, int n_axes,
                               const kiln_expr *cond, int index);

/* Short forms for the operators' compute functions. */
static inline const kiln_expr *kiln_x_add(kiln_arena *a, const kiln_expr *x,
                                          const kiln_expr *y) {
    return kiln_x_binary(a, KILN_EXPR_ADD, x, y);
}
static inline const kiln_expr *kiln_x_sub(kiln_arena *a, const kiln_expr *x,
                                          const kiln_expr *y) {
    return kiln_x_binary(a, KILN_EXPR_SUB, x, y);
}
static inline const kiln_expr *kiln_x_mul(kiln_arena *a, const kiln_expr *x,
                                          const kiln_expr *y) {
    return kiln_x_binary(a, KILN_EXPR_MUL, x, y);
}

static inline const kiln_expr *kiln_x_div(kiln_arena *a, const kiln_expr *x,
                                          const kiln_expr *y) {
    return kiln_x_binary(a, KILN_EXPR_DIV, x, y);
}
static inline const kiln_expr *kiln_x_less(kiln_arena *a, const kiln_expr *x,
                                           const kiln_expr *y) {
    return kiln_x_binary(a, KILN_EXPR_LT, x, y);
}
/* v in the dtype of x. */
static inline const kiln_expr *kiln_x_like(kiln_arena *a, const kiln_expr *x,
                                           double v) {
    return kiln_x_number(a, x->dtype, v);
}
/* An intrinsic of one argument. */
static inline const kiln_expr *kiln_x_fn(kiln_arena *a, kiln_intrin i,
                                         const kiln_expr *x) {
    return kiln_x_call(a, i, &x);
}
/* -x; of a float only the sign changes. */
static inline const kiln_expr *kiln_x_neg(kiln_arena *a, const kiln_expr *x) {
    return kiln_x_sub(a, kiln_x_like(a, x, -0.0), x);
}

/* ---- looking at them ------------------------------------------------------------- */

bool kiln_x_is_int(const kiln_expr *e,
                   int64_t *v); /* an integer constant (or its broadcast) */
bool kiln_expr_eq(const kiln_expr *x, const kiln_expr *y);
uint64_t kiln_expr_hash(const kiln_expr *e);
bool kiln_expr_uses(const kiln_expr *e, const kiln_var *v);

/* What a binary operator means for two constants: used by the builders and by
 * interpreters, so that there is one meaning. False where there is no result (division
 * by zero, a shift count out of range). Integers wrap to the dtype; floats are the
 * double result, which the caller rounds; *is_bool: a comparison. */
bool kiln_x_fold_int(kiln_expr_kind kind, kiln_dtype dtype, int64_t x, int64_t y,
                     int64_t *out);
bool kiln_x_fold_float(kiln_expr_kind kind, double x, double y, double *out,
                       bool *is_bool);

/* Rewrites bottom up: fn gets an expression whose arguments are done and returns its
 * replacement (or the same). Unchanged trees are returned as they are. */
typedef const kiln_expr *(*kiln_expr_fn)(void *user, kiln_arena *a, const kiln_expr *e);
const kiln_expr *kiln_expr_rewrite(kiln_arena *a, const kiln_expr *e, kiln_expr_fn fn,
                                   void *user);
/* The node over what fn makes of its arguments; fn decides how far down it goes. */
const kiln_expr *kiln_expr_map(kiln_arena *a, const kiln_expr *e, kiln_expr_fn fn,
                               void *user);
/* Calls fn on every node, arguments first. */
void kiln_expr_visit(const kiln_expr *e, void (*fn)(void *user, const kiln_expr *e),
                     void *user);

/* Variables to expressions. Few entries: linear. */
typedef struct kiln_subst {
    const kiln_var *var;
    const kiln_expr *value;
} kiln_subst;
const kiln_expr *kiln_expr_substitute(kiln_arena *a, const kiln_expr *e,
                                      const kiln_subst *s, size_t n);
/* The same as a kiln_expr_fn, for walks over something larger. */
typedef struct kiln_subst_list {
    const kiln_subst *s;
    size_t n;
} kiln_subst_list;
const kiln_expr *kiln_subst_var(void *list, kiln_arena *a, const kiln_expr *e);

/* C-like text with the fewest parentheses: "(i*16 + j) % 7", "select(i < n, A[i],
 * 0.0)", "ramp(i, 1, 16)". Names of variables are made unique by the caller (printers
 * of whole programs do). */
void kiln_expr_print(kiln_buf *out, const kiln_expr *e);
/* With the names that the caller gives; NULL: their own. What is no bare name is
 * quoted. */
typedef struct kiln_expr_names {
    const char *(*var)(void *user, const kiln_var *v);
    const char *(*buffer)(void *user, const kiln_buffer *b);
    const char *(*te)(void *user, const kiln_te *te);
    void *user;
} kiln_expr_names;
void kiln_expr_print_named(kiln_buf *out, const kiln_expr *e,
                           const kiln_expr_names *names);

#endif
