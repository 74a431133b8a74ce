/* What OpenCL C 1.2 has otherwise than C99 (Khronos, The OpenCL Specification 1.2, chapter 6):
 * vectors as types, functions as part of the language, and no pointer without its memory.
 * So loads and stores of vectors are macros. */
#include "compiler/codegen/c/print.h"

#define FLOATS                                                                         \
    (KILN_NATIVE(abs) | KILN_NATIVE(ceil) | KILN_NATIVE(copysign) |                    \
     KILN_NATIVE(floor) | KILN_NATIVE(fma) | KILN_NATIVE(isnan) | KILN_NATIVE(round) | \
     KILN_NATIVE(sqrt) | KILN_NATIVE(trunc))

const kiln_natives kiln_c_natives_opencl = {
    .name = "OpenCL C", .f32 = FLOATS, .f64 = FLOATS};

const kiln_c_wording kiln_c_helpers_opencl[] = {
    /* fma is exact and may be slow; where it is not fast, contraction may do it. */
    {"muladd", "#ifdef FP_FAST_FMA@E\n"
               "#define muladd_@S(x, y, z) fma((x), (y), (z))\n"
               "#else\n"
               "#define muladd_@S(x, y, z) ((x) * (y) + (z))\n"
               "#endif\n"},
    {"sqrt", "#define sqrt_@S(x) sqrt(x)\n"},
    {"prefetch", "#define prefetch_global(p) prefetch((p), 1)\n"},
    {NULL, NULL}};

static const char float_text[] = "typedef @G@N @V;\n"
                                 "#define load_@V(p) vload@N(0, (p))\n"
                                 "#define store_@V(p, v) vstore@N((v), 0, (p))\n"
                                 "#define splat_@V(x) ((@V)(x))\n"
                                 "static @V min_@V(@V x, @V y) {\n"
                                 "    return select(x, y, (y < x) | (y != y));\n}\n"
                                 "static @V max_@V(@V x, @V y) {\n"
                                 "    return select(x, y, (y > x) | (y != y));\n}\n"
                                 "#define add_@V(x, y) ((x) + (y))\n"
                                 "#define sub_@V(x, y) ((x) - (y))\n"
                                 "#define mul_@V(x, y) ((x) * (y))\n"
                                 "#define div_@V(x, y) ((x) / (y))\n"
                                 "#ifdef FP_FAST_FMA@X\n"
                                 "#define muladd_@V(x, y, z) fma((x), (y), (z))\n"
                                 "#else\n"
                                 "#define muladd_@V(x, y, z) ((x) * (y) + (z))\n"
                                 "#endif\n";

static const char int_text[] =
    "typedef @G@N @V;\n"
    "#define load_@V(p) vload@N(0, (p))\n"
    "#define store_@V(p, v) vstore@N((v), 0, (p))\n"
    "#define splat_@V(x) ((@V)(x))\n"
    "#define min_@V(x, y) min((x), (y))\n"
    "#define max_@V(x, y) max((x), (y))\n"
    "#define add_@V(x, y) as_@G@N(as_u@G@N(x) + as_u@G@N(y))\n"
    "#define sub_@V(x, y) as_@G@N(as_u@G@N(x) - as_u@G@N(y))\n"
    "#define mul_@V(x, y) as_@G@N(as_u@G@N(x) * as_u@G@N(y))\n"
    "#define muladd_@V(x, y, z) add_@V(mul_@V(x, y), z)\n";

static const char small_text[] = "typedef @G@N @V;\n"
                                 "#define load_@V(p) vload@N(0, (p))\n";

static const char convert_text[] = "#define @F_to_@V(v) convert_@G@N(v)\n";

const kiln_c_vectors kiln_c_vectors_opencl = {.floats = float_text,
                                              .ints = int_text,
                                              .small = small_text,
                                              .convert = convert_text,
                                              .max_lanes = 16,
                                              .is_aligned = true};

const char *kiln_c_opencl_type(kiln_dtype dtype) {
    static const char *const name[KILN_N_DTYPES] = {
        [KILN_F32] = "float", [KILN_F64] = "double", [KILN_I8] = "char",
        [KILN_U8] = "uchar",  [KILN_I16] = "short",  [KILN_U16] = "ushort",
        [KILN_I32] = "int",   [KILN_U32] = "uint",   [KILN_I64] = "long",
        [KILN_U64] = "ulong"};
    KILN_ASSERT(name[dtype] != NULL, "OpenCL C has no vectors of %s",
                kiln_dtype_name(dtype));
    return name[dtype];
}

const kiln_backend kiln_c_backend_opencl = {
    .name = "opencl",
    KILN_BACKEND_GPU(("OpenCL C has no matrices that a warp holds between its threads; "
                      "use local memory"),
                     "OpenCL C copies at once here; leave it out",
                     "OpenCL C has no warpgroups; leave it out"),
};
