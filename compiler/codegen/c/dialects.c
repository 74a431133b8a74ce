/* The rows of dialects.def. */
#include "compiler/codegen/c/c.h"

/* GCC contracts products and sums to one rounding across statements unless it is told
 * not to, Clang within one: what may be contracted says so (muladd). */
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
               "#pragma STDC FP_CONTRACT OFF\n"
               "#elif defined(__GNUC__)\n"
               "#pragma GCC optimize(\"fp-contract=off\")\n"
               "#endif\n",
};
