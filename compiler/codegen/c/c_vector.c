/* Stores of vectors whose elements follow each other in memory, as one statement. Where
 * compilers have vectors as GCC and Clang do, these are theirs; elsewhere they are
 * structs. As loops they would mean the same, but a compiler that unrolls thousands of
 * loops, and finds their vectors again, takes minutes. */
#include "compiler/codegen/c/print.h"

#include <inttypes.h>
#include <string.h>

enum { MAX_BYTES = KILN_C_VECTOR_BYTES };

/* ---- what is one ----------------------------------------------------------------- */

static bool has_vectors(const kiln_c_printer *p, kiln_dtype d, int lanes) {
    const bool is_power = lanes > 1 && (lanes & (lanes - 1)) == 0;
    return is_power && lanes <= p->unit->dialect->vectors->max_lanes &&
           lanes * (int)kiln_dtype_bytes(d) <= MAX_BYTES;
}

/* Has every lane the same value, by the look of it? */
static bool is_uniform(const kiln_expr *e) {
    if (e->lanes == 1 || e->kind == KILN_EXPR_BROADCAST)
        return true;
    if (e->n_arg == 0 || e->kind == KILN_EXPR_RAMP || e->kind == KILN_EXPR_LOAD ||
        e->kind == KILN_EXPR_SHUFFLE)
        return false;
    for (int i = 0; i < e->n_arg; i++)
        if (!is_uniform(e->arg[i]))
            return false;
    return true;
}

/* Lane k is lane 0 plus k * *step. */
static bool is_linear(const kiln_expr *e, int64_t *step) {
    int64_t x = 0, y = 0, c = 0;
    *step = 0;
    if (is_uniform(e))
        return true;
    switch (e->kind) {
    case KILN_EXPR_RAMP:
        return kiln_x_is_int(e->arg[1], step);
    case KILN_EXPR_ADD:
    case KILN_EXPR_SUB:
        if (!is_linear(e->arg[0], &x) || !is_linear(e->arg[1], &y))
            return false;
        *step = e->kind == KILN_EXPR_ADD ? x + y : x - y;
        return true;
    case KILN_EXPR_MUL:
        if (!kiln_x_is_int(e->arg[1], &c) || !is_linear(e->arg[0], &x))
            return false;
        *step = x * c;
        return true;
    case KILN_EXPRS_CONSTANT:
    case KILN_EXPRS_COMPOSED:
    case KILN_EXPRS_DIVIDING:
    case KILN_EXPRS_EXTREME:
    case KILN_EXPRS_LOGICAL:
    case KILN_EXPR_BROADCAST:
    case KILN_EXPR_SHUFFLE:
    case KILN_EXPR_VAR:
        break;
    }
    return false;
}

static bool is_contiguous(const kiln_expr *e) {
    int64_t step = 0;
    return is_linear(e, &step) && step == 1;
}

static bool is_small_int(kiln_dtype d) {
    return d == KILN_I8 || d == KILN_U8 || d == KILN_I16 || d == KILN_U16;
}

static bool is_wide(const kiln_c_printer *p, kiln_dtype d) {
    return p->unit->dialect->vectors->bits != NULL && (d == KILN_I64 || d == KILN_U64);
}

static bool is_computed(const kiln_c_printer *p, kiln_dtype d) {
    return d == KILN_F32 || d == KILN_F64 || d == KILN_I32 || is_wide(p, d);
}

/* Small integers are made and kept, and computed with bit by bit at most. */
static bool is_stored(const kiln_c_printer *p, kiln_dtype d) {
    return is_small_int(d) && p->unit->dialect->vectors->held != NULL;
}

/* Which keeps its low bits, as C's does. */
static bool is_wrapped(const kiln_c_printer *p, kiln_dtype d) {
    return p->unit->dialect->vectors->bits != NULL && (d == KILN_I32 || is_wide(p, d));
}

static bool is_converted(const kiln_c_printer *p, kiln_dtype from, kiln_dtype to) {
    if (is_stored(p, to))
        return from == KILN_F32 || is_wrapped(p, from);
    if (is_wide(p, from) || is_wide(p, to))
        return is_computed(p, to) && to != KILN_F64 &&
               (is_wrapped(p, from) || is_small_int(from));
    return is_computed(p, to) &&
           (is_small_int(from) || (from == KILN_I32 && to != from));
}

/* Lanes below a number: i + lane < n, which has no lane in it. */
static bool is_count(const kiln_c_printer *p, const kiln_expr *cond) {
    return cond->kind == KILN_EXPR_LT && kiln_c_is_index(p, cond->arg[0]) &&
           kiln_c_is_index(p, cond->arg[1]) && is_contiguous(cond->arg[0]) &&
           is_uniform(cond->arg[1]);
}

static void find_scoped(void *user, const kiln_expr *e) {
    bool *found = user;
    *found = *found || e->kind == KILN_EXPR_LET || e->kind == KILN_EXPR_LOOP;
}

/* Is printed without a statement in front of it? */
static bool is_bare(const kiln_expr *e) {
    bool found = false;
    kiln_expr_visit(e, find_scoped, &found);
    return !found;
}

/* count: the lanes behind it may hold anything, but touch no memory; NULL: all count. */
static bool is_vector(const kiln_c_printer *p, const kiln_expr *e,
                      const kiln_expr *count);

/* A condition of all lanes, or a count of them. */
static bool is_choice(const kiln_c_printer *p, const kiln_expr *e,
                      const kiln_expr *count) {
    const kiln_expr *cond = e->arg[0];
    if (!is_bare(e))
        return false;
    if (is_uniform(cond))
        return is_vector(p, e->arg[1], count) && is_vector(p, e->arg[2], count);
    return p->unit->dialect->vectors->has_counts && count == NULL &&
           is_count(p, cond) && is_vector(p, e->arg[1], cond) &&
           is_vector(p, e->arg[2], NULL);
}

static bool is_comparison(const kiln_expr *e) {
    return e->kind == KILN_EXPR_LT || e->kind == KILN_EXPR_LE ||
           e->kind == KILN_EXPR_EQ || e->kind == KILN_EXPR_NE;
}

/* A comparison as a number of the type that it compares. */
static bool is_compared(const kiln_c_printer *p, const kiln_expr *e,
                        const kiln_expr *count) {
    const kiln_expr *c = e->arg[0];
    return c->arg[0]->dtype == e->dtype && is_vector(p, c->arg[0], count) &&
           is_vector(p, c->arg[1], count);
}

/* Four bytes of memory, over and over. */
static bool is_quad(const kiln_c_printer *p, const kiln_expr *e) {
    if (e->kind != KILN_EXPR_SHUFFLE || e->n_arg != 1 || e->arg[0]->lanes != 4 ||
        e->arg[0]->kind != KILN_EXPR_LOAD || !has_vectors(p, e->dtype, e->lanes) ||
        !is_vector(p, e->arg[0], NULL) || e->arg[0]->u.load.mask != NULL)
        return false;
    for (int k = 0; k < e->lanes; k++)
        if (e->u.lane[k] != k % 4)
            return false;
    return true;
}

static bool is_bytes(const kiln_c_printer *p, const kiln_expr *e) {
    return is_quad(p, e) || is_vector(p, e, NULL);
}

/* What C has in the type itself: arithmetic of small integers is of ints. */
static bool is_element(const kiln_expr *e) {
    return e->kind == KILN_EXPR_INT || e->kind == KILN_EXPR_LOAD;
}

/* Is each bit of the result made of the same bits of the operands? */
static bool is_by_bit(kiln_expr_kind kind) {
    return kind == KILN_EXPR_AND || kind == KILN_EXPR_OR || kind == KILN_EXPR_XOR;
}

/* What functions that are not among them do is printed lane by lane. */
static bool is_called(const kiln_c_printer *p, const kiln_expr *e,
                      const kiln_expr *count) {
    const kiln_c_vectors *words = p->unit->dialect->vectors;
    if (e->u.intrin == KILN_INTRIN_dot4)
        return words->dot[0] != NULL && count == NULL &&
               is_vector(p, e->arg[0], NULL) && is_bytes(p, e->arg[1]) &&
               is_bytes(p, e->arg[2]);
    return e->u.intrin == KILN_INTRIN_round && e->dtype == KILN_F32 &&
           words->round != NULL && is_vector(p, e->arg[0], count);
}

static bool is_vector(const kiln_c_printer *p, const kiln_expr *e,
                      const kiln_expr *count) {
    if (!has_vectors(p, e->dtype, e->lanes) || kiln_c_find_ready(p, e) != NULL)
        return false;
    switch (e->kind) {
    case KILN_EXPR_BROADCAST: /* of one lane that a count may leave out */
        return (is_computed(p, e->dtype) && (count == NULL || is_bare(e))) ||
               (is_stored(p, e->dtype) && is_element(e->arg[0]));
    case KILN_EXPR_LOAD:
        return (is_computed(p, e->dtype) || is_small_int(e->dtype)) &&
               (e->u.load.mask == NULL ||
                (p->unit->dialect->vectors->has_counts && is_count(p, e->u.load.mask) &&
                 (count == NULL || kiln_expr_eq(count, e->u.load.mask)))) &&
               e->u.load.buffer->rank == 1 && is_contiguous(e->arg[0]);
    case KILN_EXPR_ADD:
    case KILN_EXPR_SUB:
    case KILN_EXPR_MUL:
    case KILN_EXPR_DIV:
    case KILN_EXPRS_EXTREME:
        return is_computed(p, e->dtype) &&
               (e->kind != KILN_EXPR_DIV || kiln_dtype_is_float(e->dtype)) &&
               is_vector(p, e->arg[0], count) && is_vector(p, e->arg[1], count);
    case KILN_EXPRS_BITWISE:
        return (is_wrapped(p, e->dtype) ||
                (is_stored(p, e->dtype) && is_by_bit(e->kind))) &&
               is_vector(p, e->arg[0], count) && is_vector(p, e->arg[1], count);
    case KILN_EXPR_SELECT:
        return is_computed(p, e->dtype) && is_choice(p, e, count);
    case KILN_EXPR_CAST:
        if (is_comparison(e->arg[0]))
            return is_wrapped(p, e->dtype) && is_compared(p, e, count);
        return is_converted(p, e->arg[0]->dtype, e->dtype) &&
               has_vectors(p, KILN_I32, e->lanes) && is_vector(p, e->arg[0], count);
    case KILN_EXPR_BITCAST: /* with the other sign, which is a conversion, too */
        return is_stored(p, e->dtype) && is_small_int(e->arg[0]->dtype) &&
               is_vector(p, e->arg[0], count);
    case KILN_EXPR_CALL:
        return is_called(p, e, count);
    case KILN_EXPRS_CONSTANT:
    case KILN_EXPRS_COMPARING:
    case KILN_EXPRS_SCOPED:
    case KILN_EXPRS_TENSOR:
    case KILN_EXPR_FLOORDIV:
    case KILN_EXPR_FLOORMOD:
    case KILN_EXPR_NOT:
    case KILN_EXPR_RAMP:
    case KILN_EXPR_SHUFFLE:
    case KILN_EXPR_VAR:
        break;
    }
    return false;
}

/* ---- printing -------------------------------------------------------------------- */

/* Of its first `count` lanes; NULL: of all. */
static const char *vector(kiln_c_printer *p, const kiln_expr *e, const char *count);

/* A float as a small integer: what holds it as an i32. */
static const char *held(kiln_c_printer *p, const kiln_expr *e, const char *count) {
    const char *from = kiln_c_vector_type(p, e->arg[0]->dtype, e->lanes);
    const char *name =
        kiln_format(p->arena, "%s_in_%s", from, kiln_dtype_name(e->dtype));
    (void)kiln_c_vector_type(p, KILN_I32, e->lanes);
    kiln_c_vector_text(p, name, from, e->dtype, e->lanes,
                       p->unit->dialect->vectors->held);
    return kiln_format(p->arena, "%s(%s)", name, vector(p, e->arg[0], count));
}

static const char *two(kiln_c_printer *p, const char *op, const char *v,
                       const kiln_expr *e, const char *count) {
    const char *a = vector(p, e->arg[0], count);
    return kiln_format(p->arena, "%s_%s(%s, %s)", op, v, a,
                       vector(p, e->arg[1], count));
}

/* What only integers do. */
static const char *of_bits(kiln_c_printer *p, const char *op, const char *v,
                           const kiln_expr *e, const char *count) {
    kiln_c_vector_text(p, kiln_format(p->arena, "bits_%s", v), NULL, e->arg[0]->dtype,
                       e->lanes, p->unit->dialect->vectors->bits);
    return two(p, op, v, e, count);
}

/* Of an i32 or a wider one, as a small integer that is widened again. */
static const char *wrapped(kiln_c_printer *p, const kiln_expr *e, const char *count) {
    const char *v = kiln_c_vector_type(p, KILN_I32, e->lanes);
    const kiln_expr wide = {.kind = KILN_EXPR_CAST,
                            .dtype = KILN_I32,
                            .lanes = e->lanes,
                            .n_arg = 1,
                            .arg = e->arg};
    const char *inner =
        vector(p, e->arg[0]->dtype == KILN_I32 ? e->arg[0] : &wide, count);
    const char *name = kiln_format(p->arena, "%s_%s", kiln_dtype_name(e->dtype), v);
    kiln_c_vector_text(p, name, v, e->dtype, e->lanes, p->unit->dialect->vectors->wrap);
    return kiln_format(p->arena, "%s(%s)", name, inner);
}

static const char *converted(kiln_c_printer *p, const kiln_expr *e, const char *count) {
    static const char *const compare[] = {"same", "other", "less", "most"};
    const kiln_expr *x = e->arg[0];
    const bool is_narrow = is_small_int(e->dtype) && x->dtype == KILN_F32;
    const bool is_widened = x->kind == KILN_EXPR_CAST && is_small_int(x->dtype);
    const bool is_held = is_widened && x->arg[0]->dtype == KILN_F32;
    const char *to = kiln_c_vector_type(p, e->dtype, e->lanes);
    if (is_comparison(x))
        return of_bits(p, compare[x->kind - KILN_EXPR_EQ], to, x, count);
    const char *inner = is_narrow    ? held(p, e, count)
                        : is_held    ? held(p, x, count)
                        : is_widened ? wrapped(p, x, count)
                                     : vector(p, x, count);
    const kiln_dtype dtype = is_narrow || is_widened ? KILN_I32 : x->dtype;
    if (dtype == e->dtype)
        return inner;
    const char *from = kiln_c_vector_type(p, dtype, e->lanes);
    const char *name = kiln_format(p->arena, "%s_to_%s", from, to);
    const kiln_c_vectors *words = p->unit->dialect->vectors;
    const bool is_byte = dtype == KILN_U8 || dtype == KILN_I8;
    const char *widen =
        is_byte && e->dtype == KILN_I32 ? words->widen[dtype == KILN_I8] : NULL;
    kiln_c_vector_text(p, name, from, e->dtype, e->lanes,
                       widen != NULL ? widen : words->convert);
    return kiln_format(p->arena, "%s(%s)", name, inner);
}

static bool is_widened(const kiln_expr *e, kiln_dtype from) {
    return e->kind == KILN_EXPR_CAST && e->arg[0]->dtype == from;
}

/* An unsigned byte by what has 16 bits with its sign. */
static bool is_near(const kiln_expr *x, const kiln_expr *y) {
    return x->dtype == KILN_I32 && is_widened(x, KILN_U8) &&
           (is_widened(y, KILN_U8) || is_widened(y, KILN_I8) ||
            is_widened(y, KILN_I16));
}

/* Contraction is off in a function that is exact. */
static const char *muladd_of(kiln_c_printer *p, const kiln_expr *mul, const char *v) {
    const kiln_c_vectors *words = p->unit->dialect->vectors;
    const kiln_expr *x = mul->arg[0], *y = mul->arg[1];
    const bool is_fused = p->is_exact && kiln_dtype_is_float(mul->dtype);
    const char *text = is_fused                         ? words->fused
                       : is_near(x, y) || is_near(y, x) ? words->near
                                                        : NULL;
    if (text == NULL)
        return kiln_format(p->arena, "muladd_%s", v);
    const char *name = kiln_format(p->arena, "%s_%s", is_fused ? "fused" : "near", v);
    kiln_c_vector_text(p, name, NULL, mul->dtype, mul->lanes, text);
    return name;
}

/* Zeros stand for what is outside an image; as an instruction's operand they would not be
 * left out by compilers. */
static bool is_zero(const kiln_expr *e) {
    int64_t v = 0;
    while (e->kind == KILN_EXPR_CAST || e->kind == KILN_EXPR_BROADCAST)
        e = e->arg[0];
    return kiln_x_is_int(e, &v) && v == 0;
}

static const char *combined(kiln_c_printer *p, const kiln_expr *e, const char *v,
                            const char *count) {
    static const char *const op[KILN_EXPR_LAST + 1] = {
        [KILN_EXPR_ADD] = "add", [KILN_EXPR_SUB] = "sub", [KILN_EXPR_MUL] = "mul",
        [KILN_EXPR_DIV] = "div", [KILN_EXPR_MIN] = "min", [KILN_EXPR_MAX] = "max",
        [KILN_EXPR_SHL] = "shl", [KILN_EXPR_SHR] = "shr", [KILN_EXPR_AND] = "and",
        [KILN_EXPR_OR] = "or",   [KILN_EXPR_XOR] = "xor"};
    const kiln_expr *x = e->arg[0], *y = e->arg[1];
    if (e->kind == KILN_EXPR_ADD &&
        (x->kind == KILN_EXPR_MUL || y->kind == KILN_EXPR_MUL)) {
        const kiln_expr *mul = y->kind == KILN_EXPR_MUL ? y : x;
        const kiln_expr *sum = mul == y ? x : y;
        if (e->dtype == KILN_I32 && (is_zero(mul->arg[0]) || is_zero(mul->arg[1])))
            return vector(p, sum, count);
        const char *a = vector(p, mul->arg[0], count);
        const char *b = vector(p, mul->arg[1], count);
        return kiln_format(p->arena, "%s(%s, %s, %s)", muladd_of(p, mul, v), a, b,
                           vector(p, sum, count));
    }
    return op[e->kind] != NULL && e->kind >= KILN_EXPR_AND
               ? of_bits(p, op[e->kind], v, e, count)
               : two(p, op[e->kind], v, e, count);
}

static const char *count_of(kiln_c_printer *p, const kiln_expr *cond) {
    const kiln_c_text end = kiln_c_index(p, cond->arg[1], "0");
    const kiln_c_text begin = kiln_c_index(p, cond->arg[0], "0");
    if (begin.is_known && end.is_known)
        return kiln_format(p->arena, "%" PRId64, end.v - begin.v);
    return kiln_format(p->arena, "%s - %s", kiln_c_in(p, end, KILN_C_SUM),
                       kiln_c_in(p, begin, KILN_C_PRODUCT));
}

static const char *chosen(kiln_c_printer *p, const kiln_expr *e, const char *v,
                          const char *count) {
    const kiln_expr *cond = e->arg[0];
    if (is_uniform(cond)) {
        const kiln_c_text c = kiln_c_expr(p, cond, cond->lanes > 1 ? "0" : NULL);
        const char *a = vector(p, e->arg[1], count);
        return kiln_format(p->arena, "(%s ? %s : %s)", kiln_c_in(p, c, KILN_C_COMPARE),
                           a, vector(p, e->arg[2], count));
    }
    const char *n = count_of(p, cond);
    const char *a = vector(p, e->arg[1], n), *b = vector(p, e->arg[2], NULL);
    return kiln_format(p->arena, "first_%s(%s, %s, %s)", v, n, a, b);
}

/* "*(const __global f32x4 *)&x[i]", where each element of a vector's type begins so; NULL:
 * nobody knows that. */
static const char *whole(kiln_c_printer *p, const kiln_buffer *b,
                         const kiln_expr *index, const char *v, int lanes,
                         bool is_const) {
    if (!p->unit->dialect->vectors->is_aligned || kiln_expr_divisor(index) % lanes != 0)
        return NULL;
    const kiln_c_memory *m = kiln_c_memory_of(p, b);
    const char *at = kiln_c_element(p, b, &index, "0").text;
    return m == NULL ? NULL
                     : kiln_format(p->arena, "*(%s%s%s *)&%s", is_const ? "const " : "",
                                   m->space, v, at);
}

static const char *loaded(kiln_c_printer *p, const kiln_expr *e, const char *v,
                          const char *count) {
    const char *at = kiln_c_element(p, e->u.load.buffer, e->arg, "0").text;
    if (e->u.load.mask != NULL)
        count = count_of(p, e->u.load.mask);
    /* A tile is read whole, whatever lanes are wanted of it. */
    const char *all =
        count == NULL ? whole(p, e->u.load.buffer, e->arg[0], v, e->lanes, true) : NULL;
    if (all != NULL)
        return all;
    if (count == NULL ||
        (e->u.load.buffer->scope == KILN_SCOPE_REGISTER && e->u.load.mask == NULL))
        return kiln_format(p->arena, "load_%s(&%s)", v, at);
    const char *some = kiln_format(p->arena, "some_%s", v);
    kiln_c_vector_text(p, some, NULL, e->dtype, e->lanes,
                       p->unit->dialect->vectors->some);
    return kiln_format(p->arena, "%s(&%s, %s)", some, at, count);
}

static const char *rounded(kiln_c_printer *p, const kiln_expr *e, const char *v,
                           const char *count) {
    const char *name = kiln_format(p->arena, "round_%s", v);
    kiln_c_vector_text(p, name, NULL, e->dtype, e->lanes,
                       p->unit->dialect->vectors->round);
    return kiln_format(p->arena, "%s(%s)", name, vector(p, e->arg[0], count));
}

static const char *bytes(kiln_c_printer *p, const kiln_expr *e) {
    if (!is_quad(p, e))
        return vector(p, e, NULL);
    const kiln_expr *four = e->arg[0];
    const char *name =
        kiln_format(p->arena, "quad_%s", kiln_c_vector_type(p, e->dtype, e->lanes));
    (void)kiln_c_vector_type(p, KILN_I32, e->lanes / 4);
    kiln_c_vector_text(p, name, NULL, e->dtype, e->lanes,
                       p->unit->dialect->vectors->quad);
    return kiln_format(p->arena, "%s(&%s)", name,
                       kiln_c_element(p, four->u.load.buffer, four->arg, "0").text);
}

static const char *dotted(kiln_c_printer *p, const kiln_expr *e, const char *v) {
    const kiln_dtype x = e->arg[1]->dtype, y = e->arg[2]->dtype;
    const int n_signed = (x == KILN_I8) + (y == KILN_I8);
    const bool is_turned = n_signed == 1 && x == KILN_I8; /* the unsigned one first */
    const kiln_expr *first = e->arg[is_turned ? 2 : 1];
    const kiln_expr *second = e->arg[is_turned ? 1 : 2];
    const char *one = kiln_c_vector_type(p, first->dtype, first->lanes);
    const char *name = kiln_format(p->arena, "dot_%s_%s_%s", v, one,
                                   kiln_c_vector_type(p, second->dtype, second->lanes));
    kiln_buf text;
    kiln_buf_init(&text, p->arena);
    for (const char *const *t = p->unit->dialect->vectors->dot[n_signed]; *t != NULL;
         t++)
        kiln_buf_puts(&text, *t);
    kiln_c_vector_text(p, name, NULL, e->dtype, e->lanes, text.p);
    const char *a = bytes(p, first), *b = bytes(p, second);
    return kiln_format(p->arena, "%s(%s, %s, %s)", name, a, b,
                       vector(p, e->arg[0], NULL));
}

static const char *vector(kiln_c_printer *p, const kiln_expr *e, const char *count) {
    const char *v = kiln_c_vector_type(p, e->dtype, e->lanes);
    switch (e->kind) {
    case KILN_EXPR_BROADCAST:
        return kiln_format(p->arena, "splat_%s(%s)", v,
                           kiln_c_expr(p, e->arg[0], NULL).text);
    case KILN_EXPR_LOAD:
        return loaded(p, e, v, count);
    case KILN_EXPR_CAST:
    case KILN_EXPR_BITCAST:
        return converted(p, e, count);
    case KILN_EXPR_SELECT:
        return chosen(p, e, v, count);
    case KILN_EXPR_CALL:
        return e->u.intrin == KILN_INTRIN_dot4 ? dotted(p, e, v)
                                               : rounded(p, e, v, count);
    case KILN_EXPRS_ARITHMETIC:
    case KILN_EXPRS_BITWISE:
        return combined(p, e, v, count);
    case KILN_EXPRS_CONSTANT:
    case KILN_EXPRS_COMPARING:
    case KILN_EXPRS_SCOPED:
    case KILN_EXPRS_TENSOR:
    case KILN_EXPR_NOT:
    case KILN_EXPR_RAMP:
    case KILN_EXPR_SHUFFLE:
    case KILN_EXPR_VAR:
        break;
    }
    KILN_ASSERT(false, "'%s' is no vector of C", kiln_expr_kind_name(e->kind));
    return "";
}

bool kiln_c_vector_store(kiln_c_printer *p, const kiln_stmt *s) {
    const kiln_expr *value = s->u.store.value;
    if (s->u.store.mask != NULL || s->u.store.buffer->rank != 1 ||
        !(is_computed(p, value->dtype) || is_stored(p, value->dtype)) ||
        !is_contiguous(s->u.store.index[0]) || !is_vector(p, value, NULL))
        return false;
    const char *v = kiln_c_vector_type(p, value->dtype, value->lanes);
    const char *x = vector(p, value, NULL);
    const kiln_c_text to = kiln_c_element(p, s->u.store.buffer, s->u.store.index, "0");
    const char *all =
        whole(p, s->u.store.buffer, s->u.store.index[0], v, value->lanes, false);
    if (all != NULL)
        kiln_c_line(p, "%s = %s;", all, x);
    else
        kiln_c_line(p, "store_%s(&%s, %s);", v, to.text, x);
    return true;
}
