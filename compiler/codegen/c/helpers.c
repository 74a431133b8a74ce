/* Functions that generated code is written with: what C leaves undefined (overflow,
 * division by zero, floats that no integer holds), and what C99 has no word for without
 * its library. Each is printed once, where something uses it. */
#include "compiler/codegen/c/print.h"

#include <inttypes.h>
#include <string.h>

/* @T: the type, @U: an unsigned one that its arithmetic wraps in, @S: "i32", @B: bits
 * less one, @Q: qualifiers of helpers. */
typedef struct helper {
    const char *name;
    bool is_float, is_signed, is_unsigned; /* for which types this text is */
    const char *text;
} helper;

#define ANY_INT false, true, true
#define SIGNED false, true, false
#define UNSIGNED false, false, true
#define FLOAT true, false, false
#define TWO(name) "@Q@T " name "_@S(@T x, @T y) {\n    "
#define WRAPPING(name, op)                                                             \
    { name, ANY_INT, TWO(name) "return (@T)((@U)x " op " (@U)y);\n}\n" }

static const helper helpers[] = {
    WRAPPING("add", "+"),
    WRAPPING("sub", "-"),
    WRAPPING("mul", "*"),
    {"div", SIGNED,
     TWO("div") "return (@T)(y == 0 ? x : y == -1 ? (@T)(0 - (@U)x) : x / y);\n}\n"},
    {"div", UNSIGNED, TWO("div") "return (@T)(y == 0 ? x : x / y);\n}\n"},
    {"floor_div", SIGNED,
     TWO("floor_div") "if (y == 0 || y == -1)\n"
                      "        return y == 0 ? x : (@T)(0 - (@U)x);\n"
                      "    return (@T)(x / y - (x % y != 0 && (x % y < 0) != (y < "
                      "0)));\n}\n"},
    {"floor_div", UNSIGNED, TWO("floor_div") "return (@T)(y == 0 ? x : x / y);\n}\n"},
    {"floor_mod", SIGNED,
     TWO("floor_mod") "const @T r = (@T)(y == 0 || y == -1 ? 0 : x % y);\n"
                      "    return (@T)(r != 0 && (r < 0) != (y < 0) ? r + y : "
                      "r);\n}\n"},
    {"floor_mod", UNSIGNED, TWO("floor_mod") "return (@T)(y == 0 ? 0 : x % y);\n}\n"},
    {"min", ANY_INT, TWO("min") "return x < y ? x : y;\n}\n"},
    {"max", ANY_INT, TWO("max") "return x > y ? x : y;\n}\n"},
    {"shl", ANY_INT, TWO("shl") "return (@T)((@U)x << ((unsigned)y & @Bu));\n}\n"},
    {"shr", ANY_INT, TWO("shr") "return (@T)(x >> ((unsigned)y & @Bu));\n}\n"},
    /* NaN where either is. */
    {"min", FLOAT, TWO("min") "return y != y || y < x ? y : x;\n}\n"},
    {"max", FLOAT, TWO("max") "return y != y || y > x ? y : x;\n}\n"},
};

/* What is not for every type, or needs others. */
static const char muladd_text[] =
    "/* x * y + z, rounded once where the machine does so. */\n"
    "#if defined(__GNUC__) && @M\n"
    "#define muladd_@S(x, y, z) __builtin_fma@X((x), (y), (z))\n"
    "#else\n"
    "#define muladd_@S(x, y, z) ((x) * (y) + (z))\n"
    "#endif\n";

/* Newton's steps in double from a guess of its bits: within half a unit of f32, and one
 * of f64. */
static const char root_text[] =
    "@Q@T sqrt_@S(@T x) {\n"
    "#if defined(__GNUC__) && defined(__AVX__)\n"
    "    __asm__(\"vsqrts@F %1, %1, %0\" : \"=x\"(x) : \"x\"(x));\n"
    "    return x;\n"
    "#elif defined(__GNUC__) && defined(__SSE2__)\n"
    "    __asm__(\"sqrts@F %1, %0\" : \"=x\"(x) : \"x\"(x));\n"
    "    return x;\n"
    "#elif defined(__GNUC__) && defined(__aarch64__)\n"
    "    __asm__(\"fsqrt %@R0, %@R1\" : \"=w\"(x) : \"w\"(x));\n"
    "    return x;\n"
    "#else\n"
    "    union {\n        double value;\n        uint64_t bits;\n    } r;\n"
    "    double scale = 1, v = (double)x;\n"
    "    if (!(v > 0) || v > 1.7976931348623157e308)\n"
    "        return v < 0 ? (x - x) / (x - x) : x;\n"
    "    if (v < 1e-290) {\n"
    "        v *= 0x1p120;\n        scale = 0x1p-60;\n    }\n"
    "    r.value = v;\n"
    "    r.bits = (r.bits >> 1) + (UINT64_C(0x3ff0000000000000) >> 1);\n"
    "    for (int i = 0; i < 5; i++)\n"
    "        r.value = 0.5 * (r.value + v / r.value);\n"
    "    return (@T)(r.value * scale);\n"
    "#endif\n"
    "}\n";

/* To the nearest, ties to even. Beyond 2^23 every float is an integer; below it, a sum with
 * 2^23 is rounded to one. */
static const char round_text[] =
    "@Q@T round_@S(@T x) {\n"
    "#if defined(__GNUC__) && defined(__AVX__)\n"
    "    __asm__(\"vroundss $0, %1, %1, %0\" : \"=x\"(x) : \"x\"(x));\n"
    "    return x;\n"
    "#elif defined(__GNUC__) && defined(__SSE4_1__)\n"
    "    __asm__(\"roundss $0, %1, %0\" : \"=x\"(x) : \"x\"(x));\n"
    "    return x;\n"
    "#elif defined(__GNUC__) && defined(__aarch64__)\n"
    "    __asm__(\"frintn %s0, %s1\" : \"=w\"(x) : \"w\"(x));\n"
    "    return x;\n"
    "#else\n"
    "    union {\n        float value;\n        uint32_t bits;\n    } r;\n"
    "    uint32_t sign;\n"
    "    r.value = x;\n"
    "    sign = r.bits & 0x80000000u;\n"
    "    r.bits ^= sign;\n"
    "    if (r.value < 8388608.0f)\n"
    "        r.value = (r.value + 8388608.0f) - 8388608.0f;\n"
    "    r.bits |= sign;\n"
    "    return r.value;\n"
    "#endif\n"
    "}\n";

static const char prefetch_text[] = "#if defined(__GNUC__)\n"
                                    "#define prefetch(p) __builtin_prefetch(p)\n"
                                    "#else\n"
                                    "#define prefetch(p) ((void)(p))\n"
                                    "#endif\n";

const char *kiln_c_type(kiln_dtype dtype) {
    static const char *const name[KILN_N_DTYPES] = {
        [KILN_F32] = "float",    [KILN_F16] = "uint16_t",    [KILN_BF16] = "uint16_t",
        [KILN_F64] = "double",   [KILN_I8] = "int8_t",       [KILN_U8] = "uint8_t",
        [KILN_I16] = "int16_t",  [KILN_U16] = "uint16_t",    [KILN_I32] = "int32_t",
        [KILN_U32] = "uint32_t", [KILN_I64] = "int64_t",     [KILN_U64] = "uint64_t",
        [KILN_BOOL] = "uint8_t", [KILN_F8E4M3FN] = "uint8_t"};
    const kiln_dtype stored = kiln_dtype_stored(dtype);
    KILN_ASSERT(name[stored] != NULL, "%s has no type in C", kiln_dtype_name(dtype));
    return name[stored];
}

const char *kiln_c_value_type(kiln_dtype dtype) {
    return dtype == KILN_BOOL ? "int" : kiln_c_type(dtype);
}

static const char *wrapping_type(kiln_dtype dtype) {
    return kiln_dtype_bytes(dtype) == 8 ? "uint64_t" : "uint32_t";
}

/* What stands for a letter behind '@'. */
static const char *word_of(kiln_c_printer *p, char letter, kiln_dtype d) {
    switch (letter) {
    case 'T':
        return kiln_c_value_type(d);
    case 'U':
        return wrapping_type(d);
    case 'S':
        return kiln_dtype_name(d);
    case 'B':
        return kiln_format(p->arena, "%d", 8 * (int)kiln_dtype_bytes(d) - 1);
    case 'Q':
        return p->unit->dialect->helper;
    case 'F':
        return d == KILN_F64 ? "d" : "s";
    case 'X':
        return d == KILN_F64 ? "" : "f";
    case 'E':
        return d == KILN_F64 ? "" : "F";
    case 'M': /* machines that have it, with this type in their registers */
        return d == KILN_F64 ? "(defined(__FMA__) || defined(__aarch64__))"
                             : "(defined(__FMA__) || defined(__aarch64__) || "
                               "defined(__ARM_FEATURE_FMA))";
    case 'R':
        return d == KILN_F64 ? "d" : "s";
    default:
        break;
    }
    KILN_ASSERT(false, "a helper has no letter '%c'", letter);
    return "";
}

static const char *filled(kiln_c_printer *p, const char *text, kiln_dtype d) {
    kiln_buf out;
    kiln_buf_init(&out, p->arena);
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '@')
            kiln_buf_puts(&out, word_of(p, *++c, d));
        else
            kiln_buf_add(&out, c, 1);
    }
    return out.p;
}

/* True where the unit has it already; else it is told that it has. */
bool kiln_c_has(kiln_c_unit *u, const char *name) {
    if (kiln_map_has(&u->known, kiln_str_from(name)))
        return true;
    const char *kept = kiln_str_dup(u->arena, name);
    kiln_map_set(u->arena, &u->known, kiln_str_from(kept), kept);
    return false;
}

void kiln_c_add(kiln_c_printer *p, const char *name, const char *text) {
    kiln_buf *out = &p->unit->helpers;
    if (p->unit->dialect->is_merged)
        kiln_buf_printf(out, "\n#ifndef KILN_HAS_%s\n#define KILN_HAS_%s\n%s#endif\n",
                        name, name, text);
    else
        kiln_buf_printf(out, "\n%s", text);
}

static const char *text_of(const kiln_c_dialect *dialect, const char *name,
                           kiln_dtype d) {
    const bool is_float = kiln_dtype_is_float(d);
    const bool is_signed = !is_float && kiln_dtype_get(d)->is_signed;
    for (const kiln_c_wording *w = dialect->helpers; w != NULL && w->name != NULL; w++)
        if (strcmp(w->name, name) == 0)
            return w->text;
    if (strcmp(name, "prefetch") == 0)
        return prefetch_text;
    if (strcmp(name, "muladd") == 0)
        return muladd_text;
    if (strcmp(name, "sqrt") == 0)
        return root_text;
    if (strcmp(name, "round") == 0)
        return round_text;
    for (size_t i = 0; i < sizeof helpers / sizeof helpers[0]; i++) {
        const helper *h = &helpers[i];
        if (strcmp(h->name, name) == 0 && (is_float    ? h->is_float
                                           : is_signed ? h->is_signed
                                                       : h->is_unsigned))
            return h->text;
    }
    KILN_ASSERT(false, "there is no helper '%s' of %s", name, kiln_dtype_name(d));
    return "";
}

const char *kiln_c_helper(kiln_c_printer *p, const char *name, kiln_dtype dtype) {
    if (strcmp(name, "prefetch") == 0) {
        if (!kiln_c_has(p->unit, name))
            kiln_c_add(p, name, text_of(p->unit->dialect, name, dtype));
        return name;
    }
    const char *full = kiln_format(p->arena, "%s_%s", name, kiln_dtype_name(dtype));
    if (!kiln_c_has(p->unit, full))
        kiln_c_add(p, full, filled(p, text_of(p->unit->dialect, name, dtype), dtype));
    return full;
}

/* Truncates; saturates; NaN becomes 0. The bounds are powers of two, which floats are
 * exactly. */
const char *kiln_c_convert(kiln_c_printer *p, kiln_dtype from, kiln_dtype to) {
    const bool is_signed = kiln_dtype_get(to)->is_signed;
    const int bits = 8 * (int)kiln_dtype_bytes(to);
    const char *name =
        kiln_format(p->arena, "%s_to_%s", kiln_dtype_name(from), kiln_dtype_name(to));
    const char *end = from == KILN_F64 ? "" : "f", *type = kiln_c_type(to);
    if (kiln_c_has(p->unit, name))
        return name;
    const char *low =
        is_signed ? kiln_format(p->arena, "-0x1p%d%s", bits - 1, end) : "0";
    const char *least = is_signed ? kiln_format(p->arena, "INT%d_MIN", bits) : "0";
    if (bits < 32) {
        /* Held in the bounds first, without a branch: of loops around it compilers make
         * vectors. */
        const char *most =
            kiln_format(p->arena, "%d%s", (1 << (is_signed ? bits - 1 : bits)) - 1,
                        from == KILN_F64 ? ".0" : ".0f");
        kiln_c_add(p, name,
                   kiln_format(p->arena,
                               "%s%s %s(%s x) {\n"
                               "    x = %s;\n%s"
                               "    x = x > %s ? %s : x;\n"
                               "    return (%s)(int32_t)x;\n"
                               "}\n",
                               p->unit->dialect->helper, type, name, kiln_c_type(from),
                               is_signed ? "x != x ? 0 : x" : "x > 0 ? x : 0",
                               is_signed
                                   ? kiln_format(p->arena, "    x = x < %s ? %s : x;\n",
                                                 low, low)
                                   : "",
                               most, most, type));
        return name;
    }
    kiln_c_add(p, name,
               kiln_format(p->arena,
                           "%s%s %s(%s x) {\n"
                           "    if (!(x >= %s))\n"
                           "        return %s%s;\n"
                           "    return x >= 0x1p%d%s ? %sINT%d_MAX : (%s)x;\n"
                           "}\n",
                           p->unit->dialect->helper, type, name, kiln_c_type(from), low,
                           is_signed ? "x != x ? 0 : " : "", least,
                           is_signed ? bits - 1 : bits, end, is_signed ? "" : "U", bits,
                           type));
    return name;
}

const char *kiln_c_reinterpret(kiln_c_printer *p, kiln_dtype from, kiln_dtype to) {
    const char *name =
        kiln_format(p->arena, "%s_as_%s", kiln_dtype_name(from), kiln_dtype_name(to));
    if (kiln_c_has(p->unit, name))
        return name;
    kiln_c_add(p, name,
               kiln_format(p->arena,
                           "%s%s %s(%s x) {\n"
                           "    union {\n        %s from;\n        %s to;\n    } u;\n"
                           "    u.from = x;\n"
                           "    return u.to;\n"
                           "}\n",
                           p->unit->dialect->helper, kiln_c_type(to), name,
                           kiln_c_type(from), kiln_c_type(from), kiln_c_type(to)));
    return name;
}

/* INT64_MIN is no literal. */
static void put_number(kiln_buf *out, const char *type, int64_t v) {
    if (strcmp(type, "uint64_t") == 0)
        kiln_buf_printf(out, "%" PRIu64 "u", (uint64_t)v);
    else if (v == INT64_MIN)
        kiln_buf_puts(out, "INT64_MIN");
    else
        kiln_buf_printf(out, "%" PRId64, v);
}

const char *kiln_c_table(kiln_c_printer *p, const char *type, const int64_t *v, int n) {
    KILN_ASSERT(n > 0, "a table of %d numbers", n);
    kiln_buf line;
    kiln_buf_init(&line, p->arena);
    kiln_buf_printf(&line, "%s%s ", p->unit->dialect->table, type);
    const size_t name_at = line.n;
    kiln_buf_printf(&line, "[%d] = {", n);
    for (int i = 0; i < n; i++) {
        kiln_buf_puts(&line, i == 0 ? "" : i % 12 == 0 ? ",\n    " : ", ");
        put_number(&line, type, v[i]);
    }
    kiln_buf_puts(&line, "};\n");
    /* The same numbers are one table. */
    const char *known = kiln_map_get(&p->unit->known, kiln_buf_str(&line));
    if (known != NULL)
        return known;
    const uint64_t hash = kiln_hash64(line.p, line.n, 0);
    const char *name =
        p->unit->dialect->is_merged
            ? kiln_format(p->unit->arena, "table_%016" PRIx64, hash)
            : kiln_format(p->unit->arena, "table_%d", p->unit->n_tables++);
    const char *key = kiln_str_dup(p->unit->arena, line.p);
    kiln_map_set(p->unit->arena, &p->unit->known, kiln_str_from(key), name);
    kiln_c_add(p, name,
               kiln_format(p->arena, "%.*s%s%s", (int)name_at, line.p, name,
                           line.p + name_at));
    return name;
}
