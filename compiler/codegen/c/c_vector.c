/* Stores of vectors whose elements follow each other in memory, as one statement. Where
 * compilers have vectors as GCC and Clang do, these are theirs; elsewhere they are
 * structs. As loops they would mean the same, but a compiler that unrolls thousands of
 * loops, and finds their vectors again, takes minutes. */
#include "compiler/codegen/c/print.h"

#include <inttypes.h>
#include <string.h>

enum { MAX_BYTES = 64 };

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

static bool is_computed(kiln_dtype d) {
    return d == KILN_F32 || d == KILN_F64 || d == KILN_I32;
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
    if (cond->kind == KILN_EXPR_BROADCAST)
        return is_vector(p, e->arg[1], count) && is_vector(p, e->arg[2], count);
    return p->unit->dialect->vectors->has_counts && count == NULL &&
           is_count(p, cond) && is_vector(p, e->arg[1], cond) &&
           is_vector(p, e->arg[2], NULL);
}

static bool is_vector(const kiln_c_printer *p, const kiln_expr *e,
                      const kiln_expr *count) {
    if (!has_vectors(p, e->dtype, e->lanes) || kiln_c_find_ready(p, e) != NULL)
        return false;
    switch (e->kind) {
    case KILN_EXPR_BROADCAST: /* of one lane that a count may leave out */
        return is_computed(e->dtype) && (count == NULL || is_bare(e));
    case KILN_EXPR_LOAD:
        return (is_computed(e->dtype) || is_small_int(e->dtype)) &&
               (e->u.load.mask == NULL ||
                (p->unit->dialect->vectors->has_counts && is_count(p, e->u.load.mask) &&
                 (count == NULL || kiln_expr_eq(count, e->u.load.mask)))) &&
               e->u.load.buffer->rank == 1 && is_contiguous(e->arg[0]);
    case KILN_EXPR_ADD:
    case KILN_EXPR_SUB:
    case KILN_EXPR_MUL:
    case KILN_EXPR_DIV:
    case KILN_EXPRS_EXTREME:
        return is_computed(e->dtype) &&
               (e->kind != KILN_EXPR_DIV || e->dtype != KILN_I32) &&
               is_vector(p, e->arg[0], count) && is_vector(p, e->arg[1], count);
    case KILN_EXPR_SELECT:
        return is_computed(e->dtype) && is_choice(p, e, count);
    case KILN_EXPR_CAST:
        return is_computed(e->dtype) && is_vector(p, e->arg[0], count) &&
               (is_small_int(e->arg[0]->dtype) ||
                (e->arg[0]->dtype == KILN_I32 && e->dtype != KILN_I32));
    case KILN_EXPRS_CONSTANT: /* what calls do is printed lane by lane */
    case KILN_EXPRS_LOGICAL:
    case KILN_EXPRS_SCOPED:
    case KILN_EXPRS_TENSOR:
    case KILN_EXPR_BITCAST:
    case KILN_EXPR_CALL:
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

/* ---- types and operations -------------------------------------------------------- */

/* @V: the vector type, @G: a type of OpenCL, @T: an element's, @N: lanes, @B: bytes, @E: bytes of an element.
 * Integers wrap in an unsigned type, @U. */
static const char float_text[] =
    "#if defined(__GNUC__)\n"
    "typedef @T @V __attribute__((vector_size(@B)));\n"
    "typedef @T @V_at __attribute__((vector_size(@B), aligned(@E), may_alias));\n"
    "typedef @I @V_bits __attribute__((vector_size(@B)));\n"
    "#define load_@V(p) ((@V)*(const @V_at *)(p))\n"
    "#define store_@V(p, v) ((void)(*(@V_at *)(p) = (v)))\n"
    "#define splat_@V(x) ((x) - (@V){0})\n"
    "#define blend_@V(m, x, y) \\\n"
    "    ((@V)(((@V_bits)(x) & (m)) | ((@V_bits)(y) & ~(m))))\n"
    "#define min_@V(x, y) __extension__({ const @V a_ = (x), b_ = (y); \\\n"
    "    blend_@V((@V_bits)(b_ < a_) | (@V_bits)(b_ != b_), b_, a_); })\n"
    "#define max_@V(x, y) __extension__({ const @V a_ = (x), b_ = (y); \\\n"
    "    blend_@V((@V_bits)(b_ > a_) | (@V_bits)(b_ != b_), b_, a_); })\n"
    "#define below_@V(n) ((@V_bits)((@V_bits)@C < (@V_bits)((@I)(n) - (@V_bits){0})))\n"
    "#define first_@V(n, x, y) __extension__({ const ptrdiff_t n_ = (n); \\\n"
    "    blend_@V(below_@V(n_ < 0 ? 0 : n_ > @N ? @N : n_), (x), (y)); })\n"
    "#define add_@V(x, y) ((x) + (y))\n"
    "#define sub_@V(x, y) ((x) - (y))\n"
    "#define mul_@V(x, y) ((x) * (y))\n"
    "#define div_@V(x, y) ((x) / (y))\n"
    "#define muladd_@V(x, y, z) ((x) * (y) + (z))\n"
    "#else\n"
    "@L"
    "@O{add}{+}@O{sub}{-}@O{mul}{*}@O{div}{/}"
    "#define muladd_@V(x, y, z) add_@V(mul_@V((x), (y)), (z))\n"
    "#endif\n";

static const char int_text[] =
    "#if defined(__GNUC__)\n"
    "typedef @T @V __attribute__((vector_size(@B)));\n"
    "typedef @T @V_at __attribute__((vector_size(@B), aligned(@E), may_alias));\n"
    "typedef u@T @V_wraps __attribute__((vector_size(@B)));\n"
    "typedef @I @V_bits __attribute__((vector_size(@B)));\n"
    "#define load_@V(p) ((@V)*(const @V_at *)(p))\n"
    "#define store_@V(p, v) ((void)(*(@V_at *)(p) = (v)))\n"
    "#define splat_@V(x) ((x) - (@V){0})\n"
    "#define blend_@V(m, x, y) \\\n"
    "    ((@V)(((@V_bits)(x) & (m)) | ((@V_bits)(y) & ~(m))))\n"
    "#define min_@V(x, y) __extension__({ const @V a_ = (x), b_ = (y); \\\n"
    "    blend_@V((@V_bits)(b_ < a_) | (@V_bits)(b_ != b_), b_, a_); })\n"
    "#define max_@V(x, y) __extension__({ const @V a_ = (x), b_ = (y); \\\n"
    "    blend_@V((@V_bits)(b_ > a_) | (@V_bits)(b_ != b_), b_, a_); })\n"
    "#define below_@V(n) ((@V_bits)((@V_bits)@C < (@V_bits)((@I)(n) - (@V_bits){0})))\n"
    "#define first_@V(n, x, y) __extension__({ const ptrdiff_t n_ = (n); \\\n"
    "    blend_@V(below_@V(n_ < 0 ? 0 : n_ > @N ? @N : n_), (x), (y)); })\n"
    "#define add_@V(x, y) ((@V)((@V_wraps)(x) + (@V_wraps)(y)))\n"
    "#define sub_@V(x, y) ((@V)((@V_wraps)(x) - (@V_wraps)(y)))\n"
    "#define mul_@V(x, y) ((@V)((@V_wraps)(x) * (@V_wraps)(y)))\n"
    "#define muladd_@V(x, y, z) add_@V(mul_@V((x), (y)), (z))\n"
    "#else\n"
    "@L"
    "@W{add}{+}@W{sub}{-}@W{mul}{*}"
    "#define muladd_@V(x, y, z) add_@V(mul_@V((x), (y)), (z))\n"
    "#endif\n";

static const char small_text[] =
    "#if defined(__GNUC__)\n"
    "typedef @T @V __attribute__((vector_size(@B)));\n"
    "typedef @T @V_at __attribute__((vector_size(@B), aligned(@E), may_alias));\n"
    "#define load_@V(p) ((@V)*(const @V_at *)(p))\n"
    "#else\n"
    "@L"
    "#endif\n";

/* Elsewhere: loading, storing, one number in all lanes. */
static const char struct_text[] =
    "typedef struct @V {\n    @T at[@N];\n} @V;\n"
    "static @V load_@V(const @T *p) {\n    @V v;\n"
    "    for (int i = 0; i < @N; i++)\n        v.at[i] = p[i];\n"
    "    return v;\n}\n"
    "static void store_@V(@T *p, @V v) {\n"
    "    for (int i = 0; i < @N; i++)\n        p[i] = v.at[i];\n}\n"
    "static @V splat_@V(@T x) {\n    @V v;\n"
    "    for (int i = 0; i < @N; i++)\n        v.at[i] = x;\n"
    "    return v;\n}\n"
    "static @V min_@V(@V x, @V y) {\n"
    "    for (int i = 0; i < @N; i++)\n"
    "        x.at[i] = y.at[i] != y.at[i] || y.at[i] < x.at[i] ? y.at[i] : x.at[i];\n"
    "    return x;\n}\n"
    "static @V max_@V(@V x, @V y) {\n"
    "    for (int i = 0; i < @N; i++)\n"
    "        x.at[i] = y.at[i] != y.at[i] || y.at[i] > x.at[i] ? y.at[i] : x.at[i];\n"
    "    return x;\n}\n"
    "static @V first_@V(ptrdiff_t n, @V x, @V y) {\n"
    "    for (int i = 0; i < @N; i++)\n        x.at[i] = i < n ? x.at[i] : y.at[i];\n"
    "    return x;\n}\n";

/* The first n elements, zeros behind them. The rare case is a call, so that all others
 * stay small. */
static const char some_text[] =
    "static void tail_@V(@T *to, const @T *from, ptrdiff_t n) {\n"
    "    for (int i = 0; i < @N; i++)\n        to[i] = i < n ? from[i] : 0;\n}\n"
    "#if defined(__GNUC__)\n"
    "#define some_@V(p, n) __extension__({ \\\n"
    "    const @T *const p_ = (p); const ptrdiff_t n_ = (n); @V v_; \\\n"
    "    if (n_ >= @N) v_ = load_@V(p_); \\\n"
    "    else { @T t_[@N]; tail_@V(t_, p_, n_); v_ = load_@V(t_); } v_; })\n"
    "#else\n"
    "static @V some_@V(const @T *p, ptrdiff_t n) {\n    @V v;\n"
    "    tail_@V(v.at, p, n);\n    return v;\n}\n"
    "#endif\n";

static const char float_op[] =
    "static @V %s_@V(@V x, @V y) {\n"
    "    for (int i = 0; i < @N; i++)\n        x.at[i] = x.at[i] %s y.at[i];\n"
    "    return x;\n}\n";
static const char int_op[] = "static @V %s_@V(@V x, @V y) {\n"
                             "    for (int i = 0; i < @N; i++)\n"
                             "        x.at[i] = (@T)((u@T)x.at[i] %s (u@T)y.at[i]);\n"
                             "    return x;\n}\n";

static const char convert_text[] =
    "#if defined(__GNUC__)\n"
    "#define @F_to_@V(v) __builtin_convertvector((v), @V)\n"
    "#else\n"
    "static @V @F_to_@V(@F x) {\n    @V v;\n"
    "    for (int i = 0; i < @N; i++)\n        v.at[i] = (@T)x.at[i];\n"
    "    return v;\n}\n"
    "#endif\n";

const kiln_c_vectors kiln_c_vectors_gnu = {.floats = float_text,
                                           .ints = int_text,
                                           .small = small_text,
                                           .convert = convert_text,
                                           .max_lanes = MAX_BYTES,
                                           .has_counts = true};

static const char *name_of(kiln_c_printer *p, kiln_dtype d, int lanes) {
    return kiln_format(p->arena, "%sx%d", kiln_dtype_name(d), lanes);
}

typedef struct filling {
    kiln_c_printer *p;
    const char *from;
    kiln_dtype dtype;
    int lanes;
} filling;

static void fill(const filling *f, const char *text, kiln_buf *out);

/* "{add}{+}" behind a letter that is an operation: where it ends. */
static const char *put_op(const filling *f, const char *at, const char *pattern,
                          kiln_buf *out) {
    char name[8] = "", op[4] = "";
    const size_t n = strcspn(at + 1, "}");
    memcpy(name, at + 1, n < sizeof name ? n : 0);
    at += n + 2;
    op[0] = at[1];
    kiln_buf text;
    kiln_buf_init(&text, f->p->arena);
    for (const char *c = pattern; *c != '\0'; c++) {
        const bool is_hole = c[0] == '%' && c[1] == 's';
        if (!is_hole)
            kiln_buf_add(&text, c, 1);
        else
            kiln_buf_puts(&text, strstr(c + 2, "%s") != NULL ? name : op);
        c += is_hole;
    }
    fill(f, text.p, out);
    return at + 2;
}

/* {0, 1, 2, 3} */
static void put_counting(int lanes, kiln_buf *out) {
    for (int i = 0; i < lanes; i++)
        kiln_buf_printf(out, "%s%d", i == 0 ? "{" : ", ", i);
    kiln_buf_puts(out, "}");
}

static void fill(const filling *f, const char *text, kiln_buf *out) {
    const int elem = (int)kiln_dtype_bytes(f->dtype);
    for (const char *c = text; *c != '\0'; c++) {
        if (*c != '@') {
            kiln_buf_add(out, c, 1);
            continue;
        }
        switch (*++c) {
        case 'V':
            kiln_buf_puts(out, name_of(f->p, f->dtype, f->lanes));
            break;
        case 'G':
            kiln_buf_puts(out, kiln_c_opencl_type(f->dtype));
            break;
        case 'X':
            kiln_buf_puts(out, f->dtype == KILN_F64 ? "" : "F");
            break;
        case 'T':
            kiln_buf_puts(out, kiln_c_type(f->dtype));
            break;
        case 'F':
            kiln_buf_puts(out, f->from);
            break;
        case 'N':
            kiln_buf_printf(out, "%d", f->lanes);
            break;
        case 'B':
            kiln_buf_printf(out, "%d", f->lanes * elem);
            break;
        case 'E':
            kiln_buf_printf(out, "%d", elem);
            break;
        case 'I':
            kiln_buf_printf(out, "int%d_t", 8 * elem);
            break;
        case 'C':
            put_counting(f->lanes, out);
            break;
        case 'L':
            fill(f, struct_text, out);
            break;
        case 'O':
            c = put_op(f, c + 1, float_op, out);
            break;
        case 'W':
            c = put_op(f, c + 1, int_op, out);
            break;
        default:
            KILN_ASSERT(false, "a vector's text has no letter '%c'", *c);
        }
    }
}

static void add_once(kiln_c_printer *p, const char *name, const filling *f,
                     const char *text) {
    kiln_c_unit *u = p->unit;
    if (kiln_map_has(&u->known, kiln_str_from(name)))
        return;
    kiln_buf out;
    kiln_buf_init(&out, p->arena);
    fill(f, text, &out);
    (void)kiln_c_has(u, name);
    kiln_c_add(p, name, out.p);
}

/* "f32x16": of the unit from here on. */
static const char *type_of(kiln_c_printer *p, kiln_dtype d, int lanes) {
    const char *name = name_of(p, d, lanes);
    const filling f = {.p = p, .dtype = d, .lanes = lanes};
    const kiln_c_vectors *words = p->unit->dialect->vectors;
    add_once(p, name, &f,
             kiln_dtype_is_float(d) ? words->floats
             : d == KILN_I32        ? words->ints
                                    : words->small);
    return name;
}

/* ---- printing -------------------------------------------------------------------- */

/* Of its first `count` lanes; NULL: of all. */
static const char *vector(kiln_c_printer *p, const kiln_expr *e, const char *count);

static const char *converted(kiln_c_printer *p, const kiln_expr *e, const char *count) {
    const char *from = type_of(p, e->arg[0]->dtype, e->lanes);
    const char *to = type_of(p, e->dtype, e->lanes);
    const filling f = {.p = p, .from = from, .dtype = e->dtype, .lanes = e->lanes};
    const char *name = kiln_format(p->arena, "%s_to_%s", from, to);
    add_once(p, name, &f, p->unit->dialect->vectors->convert);
    return kiln_format(p->arena, "%s(%s)", name, vector(p, e->arg[0], count));
}

static const char *combined(kiln_c_printer *p, const kiln_expr *e, const char *v,
                            const char *count) {
    static const char *const op[KILN_EXPR_LAST + 1] = {
        [KILN_EXPR_ADD] = "add", [KILN_EXPR_SUB] = "sub", [KILN_EXPR_MUL] = "mul",
        [KILN_EXPR_DIV] = "div", [KILN_EXPR_MIN] = "min", [KILN_EXPR_MAX] = "max"};
    const kiln_expr *x = e->arg[0], *y = e->arg[1];
    if (e->kind == KILN_EXPR_ADD &&
        (x->kind == KILN_EXPR_MUL || y->kind == KILN_EXPR_MUL)) {
        const kiln_expr *mul = y->kind == KILN_EXPR_MUL ? y : x;
        const char *a = vector(p, mul->arg[0], count);
        const char *b = vector(p, mul->arg[1], count);
        return kiln_format(p->arena, "muladd_%s(%s, %s, %s)", v, a, b,
                           vector(p, mul == y ? x : y, count));
    }
    const char *a = vector(p, x, count);
    return kiln_format(p->arena, "%s_%s(%s, %s)", op[e->kind], v, a,
                       vector(p, y, count));
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
    const bool is_whole = cond->kind == KILN_EXPR_BROADCAST;
    if (is_whole) {
        const kiln_c_text c = kiln_c_expr(p, cond->arg[0], NULL);
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
    const filling f = {.p = p, .dtype = e->dtype, .lanes = e->lanes};
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
    add_once(p, kiln_format(p->arena, "some_%s", v), &f, some_text);
    return kiln_format(p->arena, "some_%s(&%s, %s)", v, at, count);
}

static const char *vector(kiln_c_printer *p, const kiln_expr *e, const char *count) {
    const char *v = type_of(p, e->dtype, e->lanes);
    switch (e->kind) {
    case KILN_EXPR_BROADCAST:
        return kiln_format(p->arena, "splat_%s(%s)", v,
                           kiln_c_expr(p, e->arg[0], NULL).text);
    case KILN_EXPR_LOAD:
        return loaded(p, e, v, count);
    case KILN_EXPR_CAST:
        return converted(p, e, count);
    case KILN_EXPR_SELECT:
        return chosen(p, e, v, count);
    case KILN_EXPRS_ARITHMETIC:
        return combined(p, e, v, count);
    case KILN_EXPRS_CONSTANT:
    case KILN_EXPRS_LOGICAL:
    case KILN_EXPRS_SCOPED:
    case KILN_EXPRS_TENSOR:
    case KILN_EXPR_BITCAST:
    case KILN_EXPR_CALL:
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
        !is_computed(value->dtype) || !is_contiguous(s->u.store.index[0]) ||
        !is_vector(p, value, NULL))
        return false;
    const char *v = type_of(p, value->dtype, value->lanes);
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
