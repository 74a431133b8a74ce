/* What vectors are in a dialect: types, operations and conversions, as texts with letters
 * where a type's name and numbers go. */
#include "compiler/codegen/c/print.h"

#include <string.h>

/* ---- types and operations -------------------------------------------------------- */

/* @V: the vector type, @J, @Y, @Z: the same memory as i8, u8, i32, @G: a type of OpenCL,
 * @T: an element's, @D: s or d, as instructions call it, @N: lanes, @B: bytes, @E: bytes
 * of an element. Integers wrap in an unsigned type, @U.
 *
 * First what compilers with vectors do with elements of any type: move and choose. */
#define MOVING_TEXT                                                                    \
    "#define load_@V(p) ((@V)*(const @V_at *)(p))\n"                                   \
    "#define store_@V(p, v) ((void)(*(@V_at *)(p) = (v)))\n"                           \
    "#define splat_@V(x) ((x) - (@V){0})\n"                                            \
    "#define blend_@V(m, x, y) \\\n"                                                   \
    "    ((@V)(((@V_bits)(x) & (m)) | ((@V_bits)(y) & ~(m))))\n"                       \
    "#define below_@V(n) ((@V_bits)((@V_bits)@C < (@V_bits)((@I)(n) - "                \
    "(@V_bits){0})))\n"                                                                \
    "#define first_@V(n, x, y) __extension__({ const ptrdiff_t n_ = (n); \\\n"         \
    "    blend_@V(below_@V(n_ < 0 ? 0 : n_ > @N ? @N : n_), (x), (y)); })\n"

#define EXTREMES_TEXT                                                                  \
    "#define min_@V(x, y) __extension__({ const @V a_ = (x), b_ = (y); \\\n"           \
    "    blend_@V((@V_bits)(b_ < a_) | (@V_bits)(b_ != b_), b_, a_); })\n"             \
    "#define max_@V(x, y) __extension__({ const @V a_ = (x), b_ = (y); \\\n"           \
    "    blend_@V((@V_bits)(b_ > a_) | (@V_bits)(b_ != b_), b_, a_); })\n"

/* x86's instructions give their second operand where either is NaN, which is right where
 * that is x; nothing is left of the choice where y is known. GCC 12 makes comparisons and
 * blends of these, four and more. */
#define EXTREME_X86(OP)                                                                \
    "#define " OP "_@V(x, y) __extension__({ \\\n"                                     \
    "    const @V a_ = (x), b_ = (y); @V r_; \\\n"                                     \
    "    __asm__(\"v" OP                                                               \
    "p@D %2, %1, %0\" : \"=v\"(r_) : \"v\"(b_), \"vm\"(a_)); \\\n"                     \
    "    blend_@V((@V_bits)(b_ != b_), b_, r_); })\n"
#define FLOAT_EXTREMES_TEXT                                                            \
    "#if !defined(__clang__) && (@B == 64 && defined(__AVX512F__) || \\\n"             \
    "    (@B == 32 || @B == 16) && defined(__AVX__))\n" EXTREME_X86("min")             \
        EXTREME_X86("max") "#else\n" EXTREMES_TEXT "#endif\n"

static const char float_text[] =
    "#if defined(__GNUC__)\n"
    "typedef @T @V __attribute__((vector_size(@B)));\n"
    "typedef @T @V_at __attribute__((vector_size(@B), aligned(@E), may_alias));\n"
    "typedef @I @V_bits __attribute__((vector_size(@B)));\n" MOVING_TEXT
        FLOAT_EXTREMES_TEXT "#define add_@V(x, y) ((x) + (y))\n"
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
    "typedef @U @V_wraps __attribute__((vector_size(@B)));\n"
    "typedef @I @V_bits __attribute__((vector_size(@B)));\n" MOVING_TEXT EXTREMES_TEXT
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
    "#define store_@V(p, v) ((void)(*(@V_at *)(p) = (v)))\n"
    "#define splat_@V(x) ((x) - (@V){0})\n"
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
                             "        x.at[i] = (@T)((@U)x.at[i] %s (@U)y.at[i]);\n"
                             "    return x;\n}\n";

/* x * y + z, rounded once where the machine does so: what muladd is where contraction is
 * on. */
static const char fused_text[] =
    "#if defined(__AVX512F__) && @B == 64\n"
    "#if defined(__clang__) || @N == 8\n"
    "#define all_@V ((1 << @N) - 1)\n"
    "#else\n"
    "#define all_@V (-1)\n"
    "#endif\n"
    "#define fused_@V(x, y, z) \\\n"
    "    ((@V)__builtin_ia32_vfmaddp@D512_mask((x), (y), (z), all_@V, 4))\n"
    "#elif defined(__FMA__) && @B == 32\n"
    "#define fused_@V(x, y, z) ((@V)__builtin_ia32_vfmaddp@D256((x), (y), (z)))\n"
    "#elif defined(__FMA__) && @B == 16\n"
    "#define fused_@V(x, y, z) ((@V)__builtin_ia32_vfmaddp@D((x), (y), (z)))\n"
    "#elif defined(__aarch64__) && !defined(__clang__) && (@B == 16 || @B == 8 && @N "
    "== 2)\n"
    "#define fused_@V(x, y, z) ((@V)__builtin_aarch64_fmav@N@Df((x), (y), (z)))\n"
    "#else\n"
    "#define fused_@V(x, y, z) muladd_@V((x), (y), (z))\n"
    "#endif\n";

/* x * y + z of numbers that are few bits in 32: an unsigned byte, and 16 bits with a sign.
 * As pairs of 16 bits the upper product is 0, so that it is a sum of two products, which is
 * one instruction and faster than a product of 32 bits. */
static const char near_text[] =
    "#if defined(__AVX512VNNI__) && (@B == 64 || (@B > 8 && defined(__AVX512VL__)))\n"
    "#define near_@V(x, y, z) __extension__({ @V r_ = (z); \\\n"
    "    __asm__(\"vpdpwssd %2, %1, %0\" : \"+v\"(r_) : \"v\"((@V)(x)), "
    "\"v\"((@V)(y))); r_; })\n"
    "#elif defined(__AVXVNNI__) && (@B == 32 || @B == 16)\n"
    "#define near_@V(x, y, z) __extension__({ @V r_ = (z); \\\n"
    "    __asm__(\"{vex} vpdpwssd %2, %1, %0\" : \"+x\"(r_) : \"x\"((@V)(x)), "
    "\"x\"((@V)(y))); r_; })\n"
    "#elif defined(__AVX512BW__) && @B == 64 || \\\n"
    "    defined(__AVX2__) && (@B == 32 || @B == 16)\n"
    "#define near_@V(x, y, z) __extension__({ @V r_; \\\n"
    "    __asm__(\"vpmaddwd %2, %1, %0\" : \"=v\"(r_) : \"v\"((@V)(x)), "
    "\"v\"((@V)(y))); \\\n"
    "    add_@V(r_, (z)); })\n"
    "#else\n"
    "#define near_@V(x, y, z) muladd_@V((x), (y), (z))\n"
    "#endif\n";

static const char convert_text[] =
    "#if defined(__GNUC__)\n"
    "#define @F_to_@V(v) __builtin_convertvector((v), @V)\n"
    "#else\n"
    "static @V @F_to_@V(@F x) {\n    @V v;\n"
    "    for (int i = 0; i < @N; i++)\n        v.at[i] = (@T)x.at[i];\n"
    "    return v;\n}\n"
    "#endif\n";

/* Bytes as numbers of 32 bits: of those that come from memory GCC 12 makes loads of single
 * bytes. */
#define WIDEN_TEXT(SIGN)                                                               \
    "#if defined(__GNUC__) && !defined(__clang__) && @B == 64 && "                     \
    "defined(__AVX512F__)\n"                                                           \
    "#define @F_to_@V(v) __extension__({ @V r_; \\\n"                                  \
    "    __asm__(\"vpmov" SIGN                                                         \
    "xbd %1, %0\" : \"=v\"(r_) : \"vm\"((@F)(v))); r_; })\n"                           \
    "#elif defined(__GNUC__) && !defined(__clang__) && @B == 32 && "                   \
    "defined(__AVX2__)\n"                                                              \
    "#define @F_to_@V(v) __extension__({ @V r_; \\\n"                                  \
    "    __asm__(\"vpmov" SIGN                                                         \
    "xbd %1, %0\" : \"=x\"(r_) : \"xm\"((@F)(v))); r_; })\n"                           \
    "#elif defined(__GNUC__)\n"                                                        \
    "#define @F_to_@V(v) __builtin_convertvector((v), @V)\n"                           \
    "#else\n"                                                                          \
    "static @V @F_to_@V(@F x) {\n    @V v;\n"                                          \
    "    for (int i = 0; i < @N; i++)\n        v.at[i] = (@T)x.at[i];\n"               \
    "    return v;\n}\n"                                                               \
    "#endif\n"
static const char widen_plain_text[] = WIDEN_TEXT("z");
static const char widen_signed_text[] = WIDEN_TEXT("s");

/* What only integers do; a comparison is 0 or 1. */
static const char bits_text[] =
    "#if defined(__GNUC__)\n"
    "#define and_@V(x, y) ((x) & (y))\n"
    "#define or_@V(x, y) ((x) | (y))\n"
    "#define xor_@V(x, y) ((x) ^ (y))\n"
    "#define shl_@V(x, y) ((@V)((@V_wraps)(x) << ((@V_wraps)(y) & @Q)))\n"
    "#define shr_@V(x, y) ((x) >> ((y) & @Q))\n"
    "#define same_@V(x, y) ((@V)((@V_bits)((x) == (y)) & 1))\n"
    "#define other_@V(x, y) ((@V)((@V_bits)((x) != (y)) & 1))\n"
    "#define less_@V(x, y) ((@V)((@V_bits)((x) < (y)) & 1))\n"
    "#define most_@V(x, y) ((@V)((@V_bits)((x) <= (y)) & 1))\n"
    "#else\n"
    "@A{and}{&}@A{or}{|}@A{xor}{^}@A{same}{==}@A{other}{!=}@A{less}{<}@A{most}{<=}"
    "static @V shl_@V(@V x, @V y) {\n"
    "    for (int i = 0; i < @N; i++)\n"
    "        x.at[i] = (@T)((@U)x.at[i] << ((unsigned)y.at[i] & @Qu));\n"
    "    return x;\n}\n"
    "static @V shr_@V(@V x, @V y) {\n"
    "    for (int i = 0; i < @N; i++)\n"
    "        x.at[i] = (@T)(x.at[i] >> ((unsigned)y.at[i] & @Qu));\n"
    "    return x;\n}\n"
    "#endif\n";
static const char bits_op[] = "static @V %s_@V(@V x, @V y) {\n"
                              "    for (int i = 0; i < @N; i++)\n"
                              "        x.at[i] = (@T)(x.at[i] %s y.at[i]);\n"
                              "    return x;\n}\n";

/* The low bits of an i32, as the small integer that they are. */
static const char wrap_text[] =
    "#if defined(__GNUC__)\n"
    "#define @K_@F(v) ((@F)((@S)((@F_wraps)(v) << @H) >> @H))\n"
    "#else\n"
    "static @F @K_@F(@F x) {\n"
    "    for (int i = 0; i < @N; i++)\n        x.at[i] = (@T)x.at[i];\n"
    "    return x;\n}\n"
    "#endif\n";

/* Truncates; saturates; NaN becomes 0: as the conversion of one number does, to an i32 that
 * holds a small integer. GCC makes single elements of vectors that are narrowed and then
 * widened again, so that there is one for what is widened at once. x86 takes the bound where
 * the number is NaN, which is right where it is 0. */
static const char held_text[] =
    "#if defined(__GNUC__) && !defined(__clang__) && \\\n"
    "    (@N == 16 && defined(__AVX512F__) || (@N == 8 || @N == 4) && "
    "defined(__AVX__))\n"
    "#define @F_in_@K(v) __extension__({ const @F v_ = (v); @F h_ = v_; \\\n"
    "    if (@P < 0) h_ = (@F)((@F_bits)v_ & (@F_bits)(v_ == v_)); \\\n"
    "    __asm__(\"vmaxps %1, %0, %0\" : \"+v\"(h_) : \"vm\"(splat_@F(@P))); \\\n"
    "    __asm__(\"vminps %1, %0, %0\" : \"+v\"(h_) : \"vm\"(splat_@F(@M))); \\\n"
    "    __builtin_convertvector(h_, i32x@N); })\n"
    "#elif defined(__GNUC__)\n"
    "#define @F_in_@K(v) __extension__({ const @F v_ = (v); \\\n"
    "    const @F n_ = (@F)((@F_bits)v_ & (@F_bits)(v_ == v_)); \\\n"
    "    const @F l_ = blend_@F((@F_bits)(n_ < @P), splat_@F(@P), n_); \\\n"
    "    const @F h_ = blend_@F((@F_bits)(l_ > @M), splat_@F(@M), l_); \\\n"
    "    __builtin_convertvector(h_, i32x@N); })\n"
    "#else\n"
    "static i32x@N @F_in_@K(@F x) {\n    i32x@N v;\n"
    "    for (int i = 0; i < @N; i++) {\n"
    "        float n = x.at[i] != x.at[i] ? 0.0f : x.at[i];\n"
    "        n = n < @P ? @P : n;\n"
    "        v.at[i] = (int32_t)(n > @M ? @M : n);\n"
    "    }\n"
    "    return v;\n}\n"
    "#endif\n";

/* To the nearest, ties to even. Beyond 2^23 all floats are integers, and below it a sum with
 * 2^23 is rounded to one. */
static const char round_text[] =
    "#if defined(__GNUC__) && @B == 64 && defined(__AVX512F__)\n"
    "#define round_@V(x) __extension__({ @V r_; \\\n"
    "    __asm__(\"vrndscaleps $0, %1, %0\" : \"=v\"(r_) : \"v\"((@V)(x))); r_; })\n"
    "#elif defined(__GNUC__) && (@B == 32 || @B == 16) && defined(__AVX__)\n"
    "#define round_@V(x) __extension__({ @V r_; \\\n"
    "    __asm__(\"vroundps $0, %1, %0\" : \"=x\"(r_) : \"x\"((@V)(x))); r_; })\n"
    "#elif defined(__GNUC__) && @B == 16 && defined(__SSE4_1__)\n"
    "#define round_@V(x) __extension__({ @V r_; \\\n"
    "    __asm__(\"roundps $0, %1, %0\" : \"=x\"(r_) : \"x\"((@V)(x))); r_; })\n"
    "#elif defined(__GNUC__) && @B == 16 && defined(__aarch64__)\n"
    "#define round_@V(x) __extension__({ @V r_; \\\n"
    "    __asm__(\"frintn %0.4s, %1.4s\" : \"=w\"(r_) : \"w\"((@V)(x))); r_; })\n"
    "#elif defined(__GNUC__)\n"
    "#define round_@V(x) __extension__({ const @V x_ = (x); \\\n"
    "    const @V_bits s_ = (@V_bits)x_ & INT32_MIN; \\\n"
    "    const @V a_ = (@V)((@V_bits)x_ ^ s_); \\\n"
    "    const @V r_ = (a_ + 8388608.0f) - 8388608.0f; \\\n"
    "    (@V)((@V_bits)blend_@V((@V_bits)(a_ < 8388608.0f), r_, a_) | s_); })\n"
    "#else\n"
    "static @V round_@V(@V x) {\n"
    "    for (int i = 0; i < @N; i++) {\n"
    "        union {\n            float value;\n            uint32_t bits;\n"
    "        } r;\n"
    "        uint32_t sign;\n"
    "        r.value = x.at[i];\n"
    "        sign = r.bits & 0x80000000u;\n"
    "        r.bits ^= sign;\n"
    "        if (r.value < 8388608.0f)\n"
    "            r.value = (r.value + 8388608.0f) - 8388608.0f;\n"
    "        r.bits |= sign;\n"
    "        x.at[i] = r.value;\n"
    "    }\n"
    "    return x;\n}\n"
    "#endif\n";

static const char quad_text[] =
    "#if defined(__GNUC__)\n"
    "#define quad_@V(p) __extension__({ int32_t q_; __builtin_memcpy(&q_, (p), 4); \\\n"
    "    (@V)splat_@Z(q_); })\n"
    "#else\n"
    "static @V quad_@V(const @T *p) {\n    @V v;\n"
    "    for (int i = 0; i < @N; i++)\n        v.at[i] = p[i % 4];\n"
    "    return v;\n}\n"
    "#endif\n";

/* Sums of four products of bytes each, added to sums of 32 bits: an instruction, where there
 * is one; else bytes are brought to where they are numbers of 32 bits. @Y: their vector, of
 * unsigned ones; @J: of signed ones. First what an instruction is. */
#define DOT_BY(X, Y, KIND, TEXT)                                                       \
    "#define dot_@V_" X "_" Y "(x, y, z) __extension__({ @V r_ = (z); \\\n"            \
    "    __asm__(\"" TEXT "\" : \"+" KIND "\"(r_) : \"" KIND "\"((" X ")(x)), \"" KIND \
    "\"((" Y ")(y))); r_; })\n"
#define DOT_OF(X, Y, A, B)                                                             \
    "#define dot_@V_" X "_" Y                                                          \
    "(x, y, z) __extension__({ @V_wraps r_ = (@V_wraps)(z); "                          \
    "\\\n"                                                                             \
    "    const @V_wraps a_ = (@V_wraps)(x), b_ = (@V_wraps)(y); \\\n"                  \
    "    for (int i_ = 0; i_ < 32; i_ += 8) \\\n"                                      \
    "        r_ += (@V_wraps)((" A ")(a_ << i_) >> 24) * \\\n"                         \
    "              (@V_wraps)((" B ")(b_ << i_) >> 24); \\\n"                          \
    "    (@V)r_; })\n"
#define DOT_ELSEWHERE(X, Y)                                                            \
    "static @V dot_@V_" X "_" Y "(" X " x, " Y " y, @V z) {\n"                         \
    "    for (int i = 0; i < 4 * @N; i++)\n"                                           \
    "        z.at[i / 4] = (@T)((@U)z.at[i / 4] + (@U)(x.at[i] * y.at[i]));\n"         \
    "    return z;\n}\n"

static const char *const dot_plain_text[] = {
    "#if !defined(__GNUC__)\n",
    DOT_ELSEWHERE("@Y", "@Y"),
    "#elif @B == 16 && defined(__ARM_FEATURE_DOTPROD)\n",
    DOT_BY("@Y", "@Y", "w", "udot %0.4s, %1.16b, %2.16b"),
    "#else\n",
    DOT_OF("@Y", "@Y", "@V_wraps", "@V_wraps"),
    "#endif\n",
    NULL,
};
static const char *const dot_mixed_text[] = {
    "#if !defined(__GNUC__)\n",
    DOT_ELSEWHERE("@Y", "@J"),
    "#elif defined(__AVX512VNNI__) && (@B == 64 || (@B > 8 && "
    "defined(__AVX512VL__)))\n",
    DOT_BY("@Y", "@J", "v", "vpdpbusd %2, %1, %0"),
    "#elif defined(__AVXVNNI__) && (@B == 32 || @B == 16)\n",
    DOT_BY("@Y", "@J", "x", "{vex} vpdpbusd %2, %1, %0"),
    "#elif @B == 16 && defined(__ARM_FEATURE_MATMUL_INT8)\n",
    DOT_BY("@Y", "@J", "w", "usdot %0.4s, %1.16b, %2.16b"),
    "#else\n",
    DOT_OF("@Y", "@J", "@V_wraps", "@V"),
    "#endif\n",
    NULL,
};
static const char *const dot_signed_text[] = {
    "#if !defined(__GNUC__)\n",
    DOT_ELSEWHERE("@J", "@J"),
    "#elif @B == 16 && defined(__ARM_FEATURE_DOTPROD)\n",
    DOT_BY("@J", "@J", "w", "sdot %0.4s, %1.16b, %2.16b"),
    "#else\n",
    DOT_OF("@J", "@J", "@V", "@V"),
    "#endif\n",
    NULL,
};

const kiln_c_vectors kiln_c_vectors_gnu = {
    .floats = float_text,
    .fused = fused_text,
    .ints = int_text,
    .small = small_text,
    .near = near_text,
    .convert = convert_text,
    .widen = {widen_plain_text, widen_signed_text},
    .bits = bits_text,
    .wrap = wrap_text,
    .held = held_text,
    .round = round_text,
    .dot = {dot_plain_text, dot_mixed_text, dot_signed_text},
    .quad = quad_text,
    .some = some_text,
    .max_lanes = KILN_C_VECTOR_BYTES,
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
    size_t n = strcspn(at + 1, "}");
    memcpy(name, at + 1, n < sizeof name ? n : 0);
    at += n + 2;
    n = strcspn(at + 1, "}");
    memcpy(op, at + 1, n < sizeof op ? n : 0);
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
    return at + 1 + n;
}

/* {0, 1, 2, 3} */
static void put_counting(int lanes, kiln_buf *out) {
    for (int i = 0; i < lanes; i++)
        kiln_buf_printf(out, "%s%d", i == 0 ? "{" : ", ", i);
    kiln_buf_puts(out, "}");
}

/* "-128.0f", "127.0f" of a small integer. */
static void put_limit(kiln_dtype d, bool is_most, kiln_buf *out) {
    const bool is_signed = kiln_dtype_get(d)->is_signed;
    const int bits = 8 * (int)kiln_dtype_bytes(d) - (is_signed ? 1 : 0);
    const int most = (1 << bits) - 1;
    kiln_buf_printf(out, "%d.0f", is_most ? most : is_signed ? -most - 1 : 0);
}

/* The vector's own type, or one of as many bytes. */
static const char *type_of(const filling *f, char letter) {
    return letter == 'J'   ? name_of(f->p, KILN_I8, 4 * f->lanes)
           : letter == 'Y' ? name_of(f->p, KILN_U8, 4 * f->lanes)
           : letter == 'Z' ? name_of(f->p, KILN_I32, f->lanes / 4)
                           : name_of(f->p, f->dtype, f->lanes);
}

/* What others call the dtype. */
static const char *word_of(const filling *f, char letter) {
    const bool is_double = f->dtype == KILN_F64;
    return letter == 'G'   ? kiln_c_opencl_type(f->dtype)
           : letter == 'X' ? is_double ? "" : "F"
           : is_double     ? "d"
                           : "s";
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
        case 'J':
        case 'Y':
        case 'Z':
            kiln_buf_puts(out, type_of(f, *c));
            break;
        case 'G':
        case 'X':
        case 'D':
            kiln_buf_puts(out, word_of(f, *c));
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
        case 'U':
            kiln_buf_printf(out, "uint%d_t", 8 * elem);
            break;
        case 'Q':
            kiln_buf_printf(out, "%d", 8 * elem - 1);
            break;
        case 'H':
            kiln_buf_printf(out, "%d", 32 - 8 * elem);
            break;
        case 'I':
            kiln_buf_printf(out, "int%d_t", 8 * elem);
            break;
        case 'K':
            kiln_buf_puts(out, kiln_dtype_name(f->dtype));
            break;
        case 'P':
            put_limit(f->dtype, false, out);
            break;
        case 'M':
            put_limit(f->dtype, true, out);
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
        case 'A':
            c = put_op(f, c + 1, bits_op, out);
            break;
        case 'S':
            kiln_buf_printf(out, "%s%s", f->from,
                            kiln_dtype_get(f->dtype)->is_signed ? "" : "_wraps");
            break;
        case 'W':
            c = put_op(f, c + 1, int_op, out);
            break;
        default:
            KILN_ASSERT(false, "a vector's text has no letter '%c'", *c);
        }
    }
}

void kiln_c_vector_text(kiln_c_printer *p, const char *name, const char *from,
                        kiln_dtype d, int lanes, const char *text) {
    const filling f = {.p = p, .from = from, .dtype = d, .lanes = lanes};
    kiln_c_unit *u = p->unit;
    if (kiln_map_has(&u->known, kiln_str_from(name)))
        return;
    kiln_buf out;
    kiln_buf_init(&out, p->arena);
    fill(&f, text, &out);
    (void)kiln_c_has(u, name);
    kiln_c_add(p, name, out.p);
}

const char *kiln_c_vector_type(kiln_c_printer *p, kiln_dtype d, int lanes) {
    const char *name = name_of(p, d, lanes);
    const kiln_c_vectors *words = p->unit->dialect->vectors;
    kiln_c_vector_text(p, name, NULL, d, lanes,
                       kiln_dtype_is_float(d)     ? words->floats
                       : kiln_dtype_bytes(d) >= 4 ? words->ints
                                                  : words->small);
    return name;
}
