/* The rows of dialects.def. */
#include "compiler/codegen/c/c.h"

/* Products and sums may be rounded once, as loop programs let them be; GCC does not do so
 * for -std=c99 unless it is told to. Functions that count on each rounding are EXACT. */
const kiln_c_dialect kiln_c_dialect_c99 = {
    .name = "c99",
    .qualifiers = "static ",
    .restricted = "restrict ",
    .global = "",
    .table = "static const ",
    .headers = "#include <stddef.h>\n"
               "#include <stdint.h>\n"
               "\n"
               "#if defined(__clang__)\n"
               "#pragma STDC FP_CONTRACT ON\n"
               "#define EXACT\n"
               "#define EXACTLY _Pragma(\"clang fp contract(off)\")\n"
               "#elif defined(__GNUC__)\n"
               "#pragma GCC optimize(\"fp-contract=fast\")\n"
               "#define EXACT __attribute__((optimize(\"fp-contract=off\")))\n"
               "#define EXACTLY\n"
               "#else\n"
               "#define EXACT\n"
               "#define EXACTLY\n"
               "#endif\n",
    .exact = "EXACT ",
    .exactly = "EXACTLY",
};
