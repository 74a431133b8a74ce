/* What divides an index, for who asks how memory is aligned. */
#include "compiler/loop/backend.h"

int64_t kiln_expr_divisor(const kiln_expr *e) {
    int64_t v = 0, x = 0, y = 0;
    if (kiln_x_is_int(e, &v)) {
        for (x = 1; x < 64 && v % (x * 2) == 0; x *= 2)
            ;
        return x;
    }
    switch (e->kind) {
    case KILN_EXPR_RAMP:
    case KILN_EXPR_BROADCAST:
        return kiln_expr_divisor(e->arg[0]);
    case KILN_EXPR_ADD:
    case KILN_EXPR_SUB:
        x = kiln_expr_divisor(e->arg[0]);
        y = kiln_expr_divisor(e->arg[1]);
        return x < y ? x : y;
    case KILN_EXPR_MUL:
        x = kiln_expr_divisor(e->arg[0]) * kiln_expr_divisor(e->arg[1]);
        return x < 64 ? x : 64;
    case KILN_EXPRS_CONSTANT:
    case KILN_EXPR_VAR:
    case KILN_EXPRS_DIVIDING:
    case KILN_EXPRS_EXTREME:
    case KILN_EXPRS_LOGICAL:
    case KILN_EXPRS_COMPOSED:
    case KILN_EXPR_SHUFFLE:
        break;
    }
    return 1;
}
