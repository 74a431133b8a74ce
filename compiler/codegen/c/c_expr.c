/* Expressions, one lane of them. Small integers are cast back to their type after each
 * operation, so that no conversion is left to the compiler. */
#include "compiler/codegen/c/print.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static bool is_float(kiln_dtype d) { return kiln_dtype_is_float(d); }

const kiln_c_var *kiln_c_find(const kiln_c_printer *p, const kiln_var *v) {
    for (size_t i = p->vars.n; i-- > 0;)
        if (p->vars.v[i].var == v)
            return &p->vars.v[i];
    return NULL;
}

void kiln_c_bind(kiln_c_printer *p, const kiln_var *v, kiln_c_text text) {
    const kiln_c_var x = {.var = v, .text = text};
    kiln_vec_push(p->arena, &p->vars, x);
}

const kiln_c_ready *kiln_c_find_ready(const kiln_c_printer *p, const kiln_expr *e) {
    for (size_t i = p->ready.n; i-- > 0;)
        if (p->ready.v[i].e == e)
            return &p->ready.v[i];
    return NULL;
}

/* Must not be evaluated where it is not chosen: it touches memory, or goes on for
 * long. Divisions are functions that any number may be given to. */
static bool is_unsafe(const kiln_expr *e) {
    if (e->kind == KILN_EXPR_LOAD || e->kind == KILN_EXPR_LOOP)
        return true;
    for (int i = 0; i < e->n_arg; i++)
        if (is_unsafe(e->arg[i]))
            return true;
    return false;
}

/* ---- numbers --------------------------------------------------------------------- */

kiln_c_text kiln_c_number(kiln_c_printer *p, kiln_dtype dtype, int64_t v) {
    const bool is_signed = kiln_dtype_get(dtype)->is_signed;
    const size_t bytes = kiln_dtype_bytes(dtype);
    if (dtype != KILN_BOOL && !is_signed && bytes >= 4)
        return kiln_c_put(p, KILN_C_PRIMARY, "%" PRIu64 "u", (uint64_t)v);
    if (v == INT64_MIN || (bytes == 4 && v == INT32_MIN))
        return kiln_c_put(p, KILN_C_PRIMARY, "INT%d_MIN", 8 * (int)bytes);
    return kiln_c_put(p, v < 0 ? KILN_C_UNARY : KILN_C_PRIMARY, "%" PRId64, v);
}

/* Infinities and NaN have no literal without the library's header. */
static kiln_c_text not_finite(kiln_c_printer *p, kiln_dtype dtype, double v) {
    const bool is_double = dtype == KILN_F64;
    const char *f = kiln_c_reinterpret(p, is_double ? KILN_U64 : KILN_U32, dtype);
    const char *bits = is_double ? (v != v  ? "0x7ff8000000000000u"
                                    : v > 0 ? "0x7ff0000000000000u"
                                            : "0xfff0000000000000u")
                       : v != v  ? "0x7fc00000u"
                       : v > 0   ? "0x7f800000u"
                                 : "0xff800000u";
    return kiln_c_put(p, KILN_C_PRIMARY, "%s(%s)", f, bits);
}

static kiln_c_text real(kiln_c_printer *p, kiln_dtype dtype, double v) {
    if (!isfinite(v))
        return not_finite(p, dtype, v);
    const char *digits = kiln_format(p->arena, dtype == KILN_F64 ? "%.17g" : "%.9g", v);
    const char *point = strpbrk(digits, ".e") == NULL ? ".0" : "";
    return kiln_c_put(p, signbit(v) ? KILN_C_UNARY : KILN_C_PRIMARY, "%s%s%s", digits,
                      point, dtype == KILN_F64 ? "" : "f");
}

/* ---- arithmetic ------------------------------------------------------------------ */

static kiln_c_text call(kiln_c_printer *p, const char *f, kiln_c_text x,
                        kiln_c_text y) {
    return kiln_c_put(p, KILN_C_PRIMARY, "%s(%s, %s)", f, x.text, y.text);
}

/* Of a type that arithmetic makes an int of. */
static kiln_c_text narrowed(kiln_c_printer *p, kiln_dtype dtype, kiln_c_text x) {
    if (is_float(dtype) || dtype == KILN_BOOL || kiln_dtype_bytes(dtype) >= 4)
        return x;
    return kiln_c_put(p, KILN_C_UNARY, "(%s)%s", kiln_c_type(dtype),
                      kiln_c_in(p, x, KILN_C_UNARY));
}

static kiln_c_text infix(kiln_c_printer *p, kiln_c_binds binds, const char *op,
                         kiln_c_text x, kiln_c_text y) {
    const bool is_loose = binds <= KILN_C_COMPARE;
    return kiln_c_put(p, binds, "%s %s %s",
                      kiln_c_in(p, x, is_loose ? KILN_C_SUM : binds), op,
                      kiln_c_in(p, y, is_loose ? KILN_C_SUM : binds + 1));
}

/* i * 48 <= 976 as i < 21: for the other GCC 12 takes the loops behind it for cold, and leaves
 * them lane by lane. NULL: it is no such condition. */
static const char *bounded(kiln_c_printer *p, const kiln_expr *e) {
    const kiln_expr *a = e->arg[0];
    int64_t c = 0, n = 0;
    if (e->lanes > 1 || (e->kind != KILN_EXPR_LT && e->kind != KILN_EXPR_LE) ||
        a->kind != KILN_EXPR_MUL || !kiln_x_is_int(a->arg[1], &c) || c < 1 ||
        !kiln_x_is_int(e->arg[1], &n) || n == INT64_MIN || n == INT64_MAX)
        return NULL;
    n -= e->kind == KILN_EXPR_LT ? 1 : 0;
    const int64_t end = n / c - (n % c < 0) + 1;
    return kiln_format(p->arena, "%s < %" PRId64,
                       kiln_c_in(p, kiln_c_index(p, a->arg[0], NULL), KILN_C_SUM), end);
}

/* Integers whose two operands are indexes are compared as these. */
static kiln_c_text compared(kiln_c_printer *p, const kiln_expr *e, const char *lane) {
    static const char *const op[] = {"==", "!=", "<", "<="};
    const kiln_expr *a = e->arg[0], *b = e->arg[1];
    const bool is_index = kiln_c_is_index(p, a) && kiln_c_is_index(p, b);
    const char *short_one = is_index ? bounded(p, e) : NULL;
    if (short_one != NULL)
        return kiln_c_put(p, KILN_C_COMPARE, "%s", short_one);
    const kiln_c_text x = is_index ? kiln_c_index(p, a, lane) : kiln_c_expr(p, a, lane);
    const kiln_c_text y = is_index ? kiln_c_index(p, b, lane) : kiln_c_expr(p, b, lane);
    int64_t zero = 1;
    const bool is_unsigned = !is_float(a->dtype) && a->dtype != KILN_BOOL &&
                             !kiln_dtype_get(a->dtype)->is_signed;
    /* Compilers warn of what is always so. */
    if (is_unsigned && e->kind == KILN_EXPR_LT && kiln_x_is_int(b, &zero) && zero == 0)
        return kiln_c_put(p, KILN_C_PRIMARY, "0");
    if (is_unsigned && e->kind == KILN_EXPR_LE && kiln_x_is_int(a, &zero) && zero == 0)
        return kiln_c_put(p, KILN_C_PRIMARY, "1");
    return infix(p, KILN_C_COMPARE, op[e->kind - KILN_EXPR_EQ], x, y);
}

static const kiln_expr *scalar_of(const kiln_expr *e) {
    while (e->kind == KILN_EXPR_BROADCAST)
        e = e->arg[0];
    return e;
}

/* A number is never NaN: one comparison does it. */
static kiln_c_text float_extreme(kiln_c_printer *p, const kiln_expr *e, kiln_c_text x,
                                 kiln_c_text y) {
    const kiln_expr *right = scalar_of(e->arg[1]);
    const bool is_max = e->kind == KILN_EXPR_MAX;
    if (right->kind == KILN_EXPR_FLOAT && isfinite(right->u.f) &&
        strpbrk(x.text, "(+*?") == NULL) {
        const char *a = kiln_c_in(p, x, KILN_C_UNARY);
        return kiln_c_put(p, KILN_C_SELECT, "%s %c %s ? %s : %s", y.text,
                          is_max ? '>' : '<', a, y.text, a);
    }
    return call(p, kiln_c_helper(p, is_max ? "max" : "min", e->dtype), x, y);
}

/* x * y + z, x * y - z, z - x * y. */
static bool fused(kiln_c_printer *p, const kiln_expr *e, const char *lane,
                  kiln_c_text *out) {
    const kiln_expr *x = e->arg[0], *y = e->arg[1];
    if ((e->kind != KILN_EXPR_ADD && e->kind != KILN_EXPR_SUB) ||
        (x->kind != KILN_EXPR_MUL && y->kind != KILN_EXPR_MUL))
        return false;
    const bool right = y->kind == KILN_EXPR_MUL, is_sub = e->kind == KILN_EXPR_SUB;
    const kiln_expr *mul = right ? y : x;
    const kiln_c_text a = kiln_c_expr(p, mul->arg[0], lane);
    const kiln_c_text b = kiln_c_expr(p, mul->arg[1], lane);
    const kiln_c_text z = kiln_c_expr(p, right ? x : y, lane);
    const char *minus_a = kiln_format(p->arena, "-%s", kiln_c_in(p, a, KILN_C_PRIMARY));
    const char *minus_z = kiln_format(p->arena, "-%s", kiln_c_in(p, z, KILN_C_PRIMARY));
    *out = kiln_c_put(p, KILN_C_PRIMARY, "%s(%s, %s, %s)",
                      kiln_c_helper(p, "muladd", e->dtype),
                      is_sub && right ? minus_a : a.text, b.text,
                      is_sub && !right ? minus_z : z.text);
    return true;
}

static kiln_c_text float_binary(kiln_c_printer *p, const kiln_expr *e,
                                const char *lane) {
    kiln_c_text x, y, out;
    if (fused(p, e, lane, &out))
        return out;
    x = kiln_c_expr(p, e->arg[0], lane);
    y = kiln_c_expr(p, e->arg[1], lane);
    switch (e->kind) {
    case KILN_EXPR_ADD:
        return infix(p, KILN_C_SUM, "+", x, y);
    case KILN_EXPR_SUB:
        return infix(p, KILN_C_SUM, "-", x, y);
    case KILN_EXPR_MUL:
        return infix(p, KILN_C_PRODUCT, "*", x, y);
    case KILN_EXPR_DIV:
        return infix(p, KILN_C_PRODUCT, "/", x, y);
    case KILN_EXPRS_EXTREME:
        return float_extreme(p, e, x, y);
    case KILN_EXPRS_CONSTANT:
    case KILN_EXPRS_COMPOSED:
    case KILN_EXPRS_LANES:
    case KILN_EXPRS_LOGICAL:
    case KILN_EXPR_FLOORDIV:
    case KILN_EXPR_FLOORMOD:
    case KILN_EXPR_VAR:
        break;
    }
    kiln_c_fail(p, KILN_ERR_ARG, "operator '%s' is not for floats",
                kiln_expr_kind_name(e->kind));
    return x;
}

/* Of conditions the right one may be left out: nothing of it has an effect. */
static kiln_c_text bitwise(kiln_c_printer *p, const kiln_expr *e, kiln_c_text x,
                           kiln_c_text y) {
    const int which = e->kind == KILN_EXPR_AND ? 0 : e->kind == KILN_EXPR_OR ? 1 : 2;
    static const char *const op[2][3] = {{"&", "|", "^"}, {"&&", "||", "!="}};
    const bool is_bool = e->dtype == KILN_BOOL;
    const kiln_c_binds in = !is_bool     ? KILN_C_UNARY
                            : which == 2 ? KILN_C_SUM
                                         : KILN_C_COMPARE;
    const kiln_c_text all =
        kiln_c_put(p, KILN_C_SELECT, "%s %s %s", kiln_c_in(p, x, in),
                   op[is_bool][which], kiln_c_in(p, y, in));
    return narrowed(p, e->dtype, all);
}

static kiln_c_text int_binary(kiln_c_printer *p, const kiln_expr *e, const char *lane) {
    static const char *const helper[KILN_EXPR_LAST + 1] = {
        [KILN_EXPR_ADD] = "add",
        [KILN_EXPR_SUB] = "sub",
        [KILN_EXPR_MUL] = "mul",
        [KILN_EXPR_DIV] = "div",
        [KILN_EXPR_FLOORDIV] = "floor_div",
        [KILN_EXPR_FLOORMOD] = "floor_mod",
        [KILN_EXPR_MIN] = "min",
        [KILN_EXPR_MAX] = "max",
        [KILN_EXPR_SHL] = "shl",
        [KILN_EXPR_SHR] = "shr"};
    if (kiln_c_is_index(p, e)) {
        const kiln_c_text at = kiln_c_index(p, e, lane);
        return kiln_c_put(p, KILN_C_UNARY, "(int64_t)%s",
                          kiln_c_in(p, at, KILN_C_UNARY));
    }
    const kiln_c_text x = kiln_c_expr(p, e->arg[0], lane);
    const kiln_c_text y = kiln_c_expr(p, e->arg[1], lane);
    if (helper[e->kind] == NULL)
        return bitwise(p, e, x, y);
    if (e->dtype == KILN_BOOL) {
        kiln_c_fail(p, KILN_ERR_UNSUPPORTED,
                    "the C printer has no '%s' of bool; use and, or, xor",
                    kiln_expr_kind_name(e->kind));
        return x;
    }
    return call(p, kiln_c_helper(p, helper[e->kind], e->dtype), x, y);
}

/* ---- conversion ------------------------------------------------------------------ */

static kiln_c_text cast(kiln_c_printer *p, const kiln_expr *e, const char *lane) {
    const kiln_dtype from = e->arg[0]->dtype;
    const kiln_c_text x = kiln_c_expr(p, e->arg[0], lane);
    if (from == e->dtype)
        return x;
    if (e->dtype == KILN_BOOL)
        return kiln_c_put(p, KILN_C_COMPARE, "%s != 0", kiln_c_in(p, x, KILN_C_SUM));
    if (is_float(from) && !is_float(e->dtype))
        return kiln_c_put(p, KILN_C_PRIMARY, "%s(%s)",
                          kiln_c_convert(p, from, e->dtype), x.text);
    return kiln_c_put(p, KILN_C_UNARY, "(%s)%s", kiln_c_type(e->dtype),
                      kiln_c_in(p, x, KILN_C_UNARY));
}

static kiln_c_text bitcast(kiln_c_printer *p, const kiln_expr *e, const char *lane) {
    const kiln_dtype from = e->arg[0]->dtype;
    const kiln_c_text x = kiln_c_expr(p, e->arg[0], lane);
    if (e->dtype == KILN_BOOL)
        return kiln_c_put(p, KILN_C_COMPARE, "%s != 0", kiln_c_in(p, x, KILN_C_SUM));
    if (is_float(from) || is_float(e->dtype))
        return kiln_c_put(p, KILN_C_PRIMARY, "%s(%s)",
                          kiln_c_reinterpret(p, from, e->dtype), x.text);
    return kiln_c_put(p, KILN_C_UNARY, "(%s)%s", kiln_c_type(e->dtype),
                      kiln_c_in(p, x, KILN_C_UNARY));
}

/* ---- choosing -------------------------------------------------------------------- */

typedef struct side {
    kiln_buf statements;
    kiln_c_text value;
} side;

/* Evaluated with statements of its own. e NULL: zero. */
static side aside(kiln_c_printer *p, const kiln_expr *e, const char *lane) {
    side s = {.value = {.text = "0", .binds = KILN_C_PRIMARY}};
    kiln_buf *out = p->out;
    kiln_buf_init(&s.statements, p->arena);
    p->out = &s.statements;
    p->depth++;
    if (e != NULL)
        s.value = kiln_c_expr(p, e, lane);
    p->depth--;
    p->out = out;
    return s;
}

static void put_side(kiln_c_printer *p, const char *name, const side *s) {
    if (s->statements.n > 0)
        kiln_buf_add(p->out, s->statements.p, s->statements.n);
    p->depth++;
    kiln_c_line(p, "%s = %s;", name, s->value.text);
    p->depth--;
}

/* Only the chosen side is evaluated. */
static kiln_c_text choose(kiln_c_printer *p, kiln_dtype dtype, kiln_c_text cond,
                          const kiln_expr *then, const kiln_expr *otherwise,
                          const char *lane) {
    const size_t names = p->name.n;
    const char *name = kiln_c_name(p, "chosen");
    const side x = aside(p, then, lane), y = aside(p, otherwise, lane);
    p->name.n = names;
    if (x.statements.n == 0 && y.statements.n == 0)
        return narrowed(p, dtype,
                        kiln_c_put(p, KILN_C_SELECT, "%s ? %s : %s",
                                   kiln_c_in(p, cond, KILN_C_COMPARE),
                                   kiln_c_in(p, x.value, KILN_C_COMPARE),
                                   kiln_c_in(p, y.value, KILN_C_COMPARE)));
    kiln_vec_push(p->arena, &p->name, name);
    kiln_c_line(p, "%s %s;", kiln_c_value_type(dtype), name);
    kiln_c_line(p, "if (%s) {", cond.text);
    put_side(p, name, &x);
    kiln_c_line(p, "} else {");
    put_side(p, name, &y);
    kiln_c_line(p, "}");
    return kiln_c_put(p, KILN_C_PRIMARY, "%s", name);
}

static kiln_c_text selected(kiln_c_printer *p, const kiln_expr *e, const char *lane) {
    const kiln_c_text c = kiln_c_expr(p, e->arg[0], lane);
    if (is_unsafe(e->arg[1]) || is_unsafe(e->arg[2]))
        return choose(p, e->dtype, c, e->arg[1], e->arg[2], lane);
    const kiln_c_text x = kiln_c_expr(p, e->arg[1], lane);
    const kiln_c_text y = kiln_c_expr(p, e->arg[2], lane);
    return narrowed(
        p, e->dtype,
        kiln_c_put(p, KILN_C_SELECT, "%s ? %s : %s", kiln_c_in(p, c, KILN_C_COMPARE),
                   kiln_c_in(p, x, KILN_C_COMPARE), kiln_c_in(p, y, KILN_C_COMPARE)));
}

static kiln_c_text load(kiln_c_printer *p, const kiln_expr *e, const char *lane) {
    if (e->u.load.mask != NULL) {
        kiln_expr bare = *e;
        bare.u.load.mask = NULL;
        return choose(p, e->dtype, kiln_c_expr(p, e->u.load.mask, lane), &bare, NULL,
                      lane);
    }
    const kiln_c_text x = kiln_c_element(p, e->u.load.buffer, e->arg, lane);
    return e->dtype == KILN_BOOL ? kiln_c_put(p, KILN_C_COMPARE, "%s != 0", x.text) : x;
}

/* ---- what binds ------------------------------------------------------------------ */

void kiln_c_declare(kiln_c_printer *p, const kiln_var *v, const kiln_expr *value,
                    const char *lane, bool is_used) {
    const bool is_index = value->lanes == 1 && kiln_c_is_index(p, value);
    const kiln_c_text x =
        is_index ? kiln_c_index(p, value, lane) : kiln_c_expr(p, value, lane);
    const char *type = is_index ? "ptrdiff_t" : kiln_c_value_type(value->dtype);
    const char *name = kiln_c_name(p, v->name);
    kiln_c_line(p, "const %s %s = %s;", type, name, x.text);
    if (!is_used)
        kiln_c_line(p, "(void)%s;", name);
    kiln_c_bind(p, v, kiln_c_put(p, KILN_C_PRIMARY, "%s", name));
    p->vars.v[p->vars.n - 1].is_index = is_index;
}

static bool is_read(const kiln_expr *e, int bound) {
    for (int i = bound + 1; i < e->n_arg; i++)
        if (kiln_expr_uses(e->arg[i], e->u.bound[bound]))
            return true;
    return false;
}

static kiln_c_text let(kiln_c_printer *p, const kiln_expr *e, const char *lane) {
    const size_t n_vars = p->vars.n;
    for (int i = 0; i + 1 < e->n_arg; i++)
        kiln_c_declare(p, e->u.bound[i], e->arg[i], e->arg[i]->lanes > 1 ? lane : NULL,
                       is_read(e, i));
    const kiln_c_text x = kiln_c_expr(p, e->arg[e->n_arg - 1], lane);
    p->vars.n = n_vars;
    return x;
}

static kiln_c_text variable(kiln_c_printer *p, const kiln_expr *e, const char *lane) {
    const kiln_c_var *v = kiln_c_find(p, e->u.var);
    if (v == NULL) {
        kiln_c_fail(p, KILN_ERR_ARG, "variable '%s' is used where it has no value",
                    e->u.var->name);
        return kiln_c_put(p, KILN_C_PRIMARY, "0");
    }
    if (v->is_array)
        return kiln_c_put(p, KILN_C_PRIMARY, "%s[%s]", v->text.text, lane);
    if (v->is_index && e->dtype == KILN_I64 && !v->text.is_known)
        return kiln_c_put(p, KILN_C_UNARY, "(int64_t)%s",
                          kiln_c_in(p, v->text, KILN_C_UNARY));
    return v->text;
}

/* One lane turns for itself: where there is no other, that is all of them. */
kiln_c_text kiln_c_loop(kiln_c_printer *p, const kiln_expr *e) {
    const kiln_loop_parts l = kiln_x_loop_parts(e);
    const size_t n_vars = p->vars.n;
    const char **name = kiln_array(p->arena, const char *, l.turns.n_state + 1);
    for (int i = 0; i < l.turns.n_state; i++) {
        const kiln_c_text x = kiln_c_expr(p, l.init[i], NULL);
        name[i] = kiln_c_name(p, l.turns.state[i]->name);
        kiln_c_line(p, "%s %s = %s;", kiln_c_value_type(l.init[i]->dtype), name[i],
                    x.text);
    }
    for (int i = 0; i < l.turns.n_state; i++)
        kiln_c_bind(p, l.turns.state[i], kiln_c_put(p, KILN_C_PRIMARY, "%s", name[i]));
    kiln_c_line(p, "for (;;) {");
    const kiln_c_block b = kiln_c_open(p);
    const kiln_c_text cond = kiln_c_expr(p, l.cond, NULL);
    kiln_c_line(p, "if (!%s)", kiln_c_in(p, cond, KILN_C_PRIMARY));
    kiln_c_line(p, "    break;");
    for (int i = 0; i < l.turns.n_local; i++)
        kiln_c_declare(p, l.turns.local[i], l.local[i], NULL, false);
    const char **next = kiln_array(p->arena, const char *, l.turns.n_state + 1);
    for (int i = 0; i < l.turns.n_state; i++) {
        const kiln_c_text x = kiln_c_expr(p, l.next[i], NULL);
        next[i] = kiln_c_name(p, "next");
        kiln_c_line(p, "const %s %s = %s;", kiln_c_value_type(l.next[i]->dtype),
                    next[i], x.text);
    }
    for (int i = 0; i < l.turns.n_state; i++)
        kiln_c_line(p, "%s = %s;", name[i], next[i]);
    kiln_c_close(p, b);
    const kiln_c_text x = kiln_c_expr(p, l.value, NULL);
    p->vars.n = n_vars;
    return x;
}

/* ---- calls, lanes, tables -------------------------------------------------------- */

static const char *lane_of(kiln_c_printer *p, const char *lane, int k) {
    int64_t v = 0;
    return kiln_parse_i64(kiln_str_from(lane), &v)
               ? kiln_format(p->arena, "%" PRId64, 4 * v + k)
               : kiln_format(p->arena, "(4 * %s + %d)", lane, k);
}

/* Products of bytes and their sum fit an int, whatever they are. */
static kiln_c_text dot4(kiln_c_printer *p, const kiln_expr *e, const char *lane) {
    const char *at = e->lanes > 1 ? lane : "0";
    kiln_c_text all = {.text = ""};
    const kiln_c_text acc = kiln_c_expr(p, e->arg[0], lane);
    for (int k = 0; k < 4; k++) {
        const char *l = lane_of(p, at, k);
        const char *x = kiln_c_in(p, kiln_c_expr(p, e->arg[1], l), KILN_C_UNARY);
        const char *y = kiln_c_in(p, kiln_c_expr(p, e->arg[2], l), KILN_C_UNARY);
        all = kiln_c_put(p, KILN_C_SUM, "%s%s%s * %s", all.text, k > 0 ? " + " : "", x,
                         y);
    }
    return call(p, kiln_c_helper(p, "add", KILN_I32), acc, all);
}

/* What a dialect has words for, beside kiln_natives_least; NULL: it is none of these. */
static const char *word_of(kiln_intrin i) {
    static const char *const word[KILN_N_INTRINS] = {
        [KILN_INTRIN_abs] = "fabs",          [KILN_INTRIN_ceil] = "ceil",
        [KILN_INTRIN_copysign] = "copysign", [KILN_INTRIN_floor] = "floor",
        [KILN_INTRIN_fma] = "fma",           [KILN_INTRIN_round] = "rint", /* to even */
        [KILN_INTRIN_trunc] = "trunc",
    };
    return word[i];
}

static kiln_c_text native(kiln_c_printer *p, const kiln_expr *e, const char *word,
                          const char *lane) {
    kiln_c_text all = kiln_c_expr(p, e->arg[0], lane);
    for (int i = 1; i < e->n_arg; i++)
        all = kiln_c_put(p, KILN_C_PRIMARY, "%s, %s", all.text,
                         kiln_c_expr(p, e->arg[i], lane).text);
    return kiln_c_put(p, KILN_C_PRIMARY, "%s(%s)", word, all.text);
}

static kiln_c_text is_nan(kiln_c_printer *p, const kiln_expr *e, const char *lane) {
    const kiln_c_text x = kiln_c_expr(p, e->arg[0], lane);
    const char *in = kiln_c_in(p, x, KILN_C_SUM);
    return kiln_c_put(p, KILN_C_COMPARE, "%s != %s", in, in);
}

/* What the pass `expand` leaves: the dialect's natives. */
static kiln_c_text called(kiln_c_printer *p, const kiln_expr *e, const char *lane) {
    if (e->u.intrin == KILN_INTRIN_dot4)
        return dot4(p, e, lane);
    if (p->unit->dialect->has_functions &&
        kiln_is_native(p->unit->dialect->natives, e->u.intrin, e->arg[0]->dtype)) {
        const char *word = word_of(e->u.intrin);
        if (word != NULL)
            return native(p, e, word, lane);
        if (e->u.intrin == KILN_INTRIN_isnan)
            return is_nan(p, e, lane);
    }
    const kiln_c_text x = kiln_c_expr(p, e->arg[0], lane);
    if (e->u.intrin == KILN_INTRIN_sqrt || e->u.intrin == KILN_INTRIN_round)
        return kiln_c_put(
            p, KILN_C_PRIMARY, "%s(%s)",
            kiln_c_helper(p, kiln_intrin_get(e->u.intrin)->name, e->dtype), x.text);
    switch (e->u.intrin) {
    case KILN_INTRIN_add_rn:
        return infix(p, KILN_C_SUM, "+", x, kiln_c_expr(p, e->arg[1], lane));
    case KILN_INTRIN_sub_rn:
        return infix(p, KILN_C_SUM, "-", x, kiln_c_expr(p, e->arg[1], lane));
    case KILN_INTRIN_mul_rn:
        return infix(p, KILN_C_PRODUCT, "*", x, kiln_c_expr(p, e->arg[1], lane));
    case KILN_INTRINS_CURVED:
    case KILN_INTRINS_PAIRED:
    case KILN_INTRINS_ROUNDING:
    case KILN_INTRINS_SPECIAL:
    case KILN_INTRIN_abs:
    case KILN_INTRIN_copysign:
    case KILN_INTRIN_fma:
    case KILN_INTRIN_isnan:
    case KILN_INTRIN_sqrt:
        break;
    }
    kiln_c_fail(p, KILN_ERR_UNSUPPORTED, "the C printer has no function '%s'",
                kiln_intrin_get(e->u.intrin)->name);
    return x;
}

static kiln_c_text table(kiln_c_printer *p, const kiln_expr *e, const char *lane) {
    const kiln_table *t = e->u.table;
    const char *name = kiln_c_table(p, kiln_c_type(t->dtype), t->v, t->n);
    return kiln_c_put(p, KILN_C_PRIMARY, "%s[%s]", name,
                      kiln_c_index(p, e->arg[0], lane).text);
}

static kiln_c_text negated(kiln_c_printer *p, const kiln_expr *e, const char *lane) {
    const kiln_c_text x = kiln_c_expr(p, e->arg[0], lane);
    const char *in = kiln_c_in(p, x, KILN_C_PRIMARY);
    return e->dtype == KILN_BOOL
               ? kiln_c_put(p, KILN_C_SELECT, "!%s", in)
               : narrowed(p, e->dtype, kiln_c_put(p, KILN_C_UNARY, "~%s", in));
}

static kiln_c_text shuffle(kiln_c_printer *p, const kiln_expr *e, const char *lane) {
    int at = e->u.lane[0];
    if (e->lanes > 1) {
        const char *from = kiln_c_shuffled(p, e, lane);
        KILN_ASSERT(from != NULL, "a shuffle of '%s' was not prepared", p->p->name);
        return kiln_c_expr(p, e->arg[0], from);
    }
    for (int i = 0; i < e->n_arg; i++) {
        if (at < e->arg[i]->lanes)
            return kiln_c_expr(p, e->arg[i], kiln_format(p->arena, "%d", at));
        at -= e->arg[i]->lanes;
    }
    kiln_c_fail(p, KILN_ERR_ARG, "a shuffle takes a lane that there is not");
    return kiln_c_put(p, KILN_C_PRIMARY, "0");
}

static kiln_c_text from_ready(kiln_c_printer *p, const kiln_c_ready *r,
                              const char *lane) {
    const kiln_expr *e = r->e;
    if (r->array == NULL)
        return kiln_c_expr(p, e->arg[e->n_arg - 1], lane);
    if (r->pick != NULL)
        return kiln_c_put(p, KILN_C_PRIMARY, "%s[%s[%s]]", r->array, r->pick, lane);
    return kiln_c_put(p, KILN_C_PRIMARY, "%s[%s]", r->array, lane);
}

static kiln_c_text ramp(kiln_c_printer *p, const kiln_expr *e, const char *lane) {
    const char *f = kiln_c_helper(p, "add", e->dtype);
    const kiln_c_text base = kiln_c_expr(p, e->arg[0], NULL);
    const kiln_c_text step = kiln_c_expr(p, e->arg[1], NULL);
    const kiln_c_text at =
        kiln_c_put(p, KILN_C_PRIMARY, "(%s)%s", kiln_c_type(e->dtype), lane);
    return call(p, f, base, call(p, kiln_c_helper(p, "mul", e->dtype), step, at));
}

kiln_c_text kiln_c_expr(kiln_c_printer *p, const kiln_expr *e, const char *lane) {
    const kiln_c_ready *r = kiln_c_find_ready(p, e);
    if (r != NULL)
        return from_ready(p, r, lane);
    if (e->lanes == 1)
        lane = NULL;
    switch (e->kind) {
    case KILN_EXPR_INT:
        return kiln_c_number(p, e->dtype, e->u.i);
    case KILN_EXPR_FLOAT:
        return real(p, e->dtype, e->u.f);
    case KILN_EXPR_VAR:
        return variable(p, e, lane);
    case KILN_EXPR_NOT:
        return negated(p, e, lane);
    case KILN_EXPR_CAST:
        return cast(p, e, lane);
    case KILN_EXPR_BITCAST:
        return bitcast(p, e, lane);
    case KILN_EXPR_SELECT:
        return selected(p, e, lane);
    case KILN_EXPR_CALL:
        return called(p, e, lane);
    case KILN_EXPR_LOAD:
        return load(p, e, lane);
    case KILN_EXPR_LET:
        return let(p, e, lane);
    case KILN_EXPR_LOOP:
        return kiln_c_loop(p, e);
    case KILN_EXPR_TABLE:
        return table(p, e, lane);
    case KILN_EXPR_RAMP:
        return kiln_c_is_index(p, e) ? int_binary(p, e, lane) : ramp(p, e, lane);
    case KILN_EXPR_BROADCAST:
        return kiln_c_expr(p, e->arg[0], NULL);
    case KILN_EXPR_SHUFFLE:
        return shuffle(p, e, lane);
    case KILN_EXPRS_COMPARING:
        return compared(p, e, lane);
    case KILN_EXPRS_TENSOR:
        kiln_c_fail(p, KILN_ERR_ARG, KILN_BACKEND_LOWER_FIRST);
        return kiln_c_put(p, KILN_C_PRIMARY, "0");
    case KILN_EXPRS_ARITHMETIC:
    case KILN_EXPRS_BITWISE:
        break;
    }
    return is_float(e->dtype) ? float_binary(p, e, lane) : int_binary(p, e, lane);
}
