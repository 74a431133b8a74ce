/* The rows of dialects.def. */
#include "compiler/codegen/c/c.h"

/* Rounding is one instruction where it is a helper, and a dozen operations where it is not. */
const kiln_natives kiln_c_natives_c99 = {.name = "C99",
                                         .f32 = KILN_NATIVE(sqrt) | KILN_NATIVE(round),
                                         .f64 = KILN_NATIVE(sqrt)};

/* Products and sums may be rounded once, as loop programs let them be; GCC does not do so
 * for -std=c99 unless it is told to. What it carries from one iteration to the next by
 * itself (predictive commoning) takes the registers of tiles. Functions that count on each
 * rounding are EXACT, and as GCC puts no function into one of other options by itself,
 * helpers are told to be. */
const kiln_c_dialect kiln_c_dialect_c99 = {
    .name = "c99",
    .backend = &kiln_c_backend,
    .natives = &kiln_c_natives_c99,
    .qualifiers = "static ",
    .helper = "HELPER ",
    .restricted = "restrict ",
    .global = "",
    .table = "static const ",
    .headers =
        "#include <stddef.h>\n"
        "#include <stdint.h>\n"
        "\n"
        "#if defined(__clang__)\n"
        "#pragma STDC FP_CONTRACT ON\n"
        "#define EXACT\n"
        "#define EXACTLY _Pragma(\"clang fp contract(off)\")\n"
        "#elif defined(__GNUC__)\n"
        "#pragma GCC optimize(\"fp-contract=fast\", \"no-predictive-commoning\")\n"
        "#define EXACT __attribute__((optimize(\"fp-contract=off\")))\n"
        "#define EXACTLY\n"
        "#else\n"
        "#define EXACT\n"
        "#define EXACTLY\n"
        "#endif\n"
        "#if defined(__GNUC__)\n"
        "#define HELPER static inline __attribute__((always_inline))\n"
        "#else\n"
        "#define HELPER static inline\n"
        "#endif\n",
    .exact = "EXACT ",
    .exactly = "EXACTLY",
    .vectors = &kiln_c_vectors_gnu,
};

/* OpenCL C 1.2 (Khronos, The OpenCL Specification 1.2, chapter 6). */
const kiln_c_dialect kiln_c_dialect_opencl = {
    .name = "opencl",
    .backend = &kiln_c_backend_opencl,
    .natives = &kiln_c_natives_opencl,
    .has_functions = true,
    .qualifiers = "static ",
    .helper = "static ",
    .restricted = "restrict ",
    .global = "__global ",
    .table = "__constant ",
    .headers = "#ifndef KILN_TYPES\n"
               "#define KILN_TYPES\n"
               "#pragma OPENCL FP_CONTRACT ON\n"
               "#ifdef cl_khr_fp64\n"
               "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
               "#endif\n"
               "typedef char int8_t;\n"
               "typedef uchar uint8_t;\n"
               "typedef short int16_t;\n"
               "typedef ushort uint16_t;\n"
               "typedef int int32_t;\n"
               "typedef uint uint32_t;\n"
               "typedef long int64_t;\n"
               "typedef ulong uint64_t;\n"
               "#define INT8_MIN CHAR_MIN\n"
               "#define INT8_MAX CHAR_MAX\n"
               "#define UINT8_MAX UCHAR_MAX\n"
               "#define INT16_MIN SHRT_MIN\n"
               "#define INT16_MAX SHRT_MAX\n"
               "#define UINT16_MAX USHRT_MAX\n"
               "#define INT32_MIN INT_MIN\n"
               "#define INT32_MAX INT_MAX\n"
               "#define UINT32_MAX UINT_MAX\n"
               "#define INT64_MIN LONG_MIN\n"
               "#define INT64_MAX LONG_MAX\n"
               "#define UINT64_MAX ULONG_MAX\n"
               "#endif\n",
    .exact = "",
    .exactly = "#pragma OPENCL FP_CONTRACT OFF",
    .helpers = kiln_c_helpers_opencl,
    .vectors = &kiln_c_vectors_opencl,
    .is_merged = true,
    .kernel = "__kernel ",
    .shared = "__local ",
};
