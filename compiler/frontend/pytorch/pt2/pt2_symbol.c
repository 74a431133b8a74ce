/* Python's functions of numbers, by which exported programs compute sizes. */
#include <math.h>
#include <string.h>

#include "compiler/frontend/pytorch/pt2/pt2_internal.h"

typedef enum function {
    ADD,
    SUB,
    MUL,
    FLOORDIV,
    TRUEDIV,
    MOD,
    POW,
    NEG,
    ABS,
    MAX,
    MIN,
    FLOOR,
    CEIL,
    TRUNC,
    ROUND,
    SQRT,
    TO_FLOAT,
    TO_INT,
    EQ,
    NE,
    LT,
    LE,
    GT,
    GE,
    AND,
    OR,
    NOT
} function;

static const struct {
    const char *target;
    function of;
    size_t n;
} functions[] = {
    {"_operator.add", ADD, 2},
    {"_operator.sub", SUB, 2},
    {"_operator.mul", MUL, 2},
    {"_operator.floordiv", FLOORDIV, 2},
    {"_operator.truediv", TRUEDIV, 2},
    {"_operator.mod", MOD, 2},
    {"_operator.pow", POW, 2},
    {"_operator.neg", NEG, 1},
    {"_operator.eq", EQ, 2},
    {"_operator.ne", NE, 2},
    {"_operator.lt", LT, 2},
    {"_operator.le", LE, 2},
    {"_operator.gt", GT, 2},
    {"_operator.ge", GE, 2},
    {"_operator.and_", AND, 2},
    {"_operator.or_", OR, 2},
    {"_operator.not_", NOT, 1},
    {"math.floor", FLOOR, 1},
    {"math.ceil", CEIL, 1},
    {"math.trunc", TRUNC, 1},
    {"math.sqrt", SQRT, 1},
    {"torch.sym_max", MAX, 2},
    {"torch.sym_min", MIN, 2},
    {"torch.sym_float", TO_FLOAT, 1},
    {"torch.sym_int", TO_INT, 1},
    {"torch.sym_not", NOT, 1},
    {"torch._sym_sqrt", SQRT, 1},
    {"builtins.abs", ABS, 1},
    {"builtins.round", ROUND, 1},
    {"_operator.pos", TO_FLOAT, 1},
};
enum { N_FUNCTIONS = sizeof functions / sizeof functions[0] };

static int find(const char *target) {
    for (int i = 0; i < (int)N_FUNCTIONS; i++)
        if (strcmp(functions[i].target, target) == 0)
            return i;
    return -1;
}

bool kiln_pt2_is_symbolic(const char *target) { return find(target) >= 0; }

static double number(const kiln_aten_value *v) {
    return v->kind == KILN_ATEN_FLOAT ? v->f : (double)v->i;
}

/* Of real numbers; integers are exact below 2^53, past which sizes are refused. */
static double apply(function of, double x, double y) {
    switch (of) {
    case ADD:
        return x + y;
    case SUB:
        return x - y;
    case MUL:
        return x * y;
    case FLOORDIV:
        return floor(x / y);
    case TRUEDIV:
        return x / y;
    case MOD:
        return x - floor(x / y) * y;
    case POW:
        return pow(x, y);
    case NEG:
        return -x;
    case ABS:
        return fabs(x);
    case MAX:
        return x > y ? x : y;
    case MIN:
        return x < y ? x : y;
    case FLOOR:
        return floor(x);
    case CEIL:
        return ceil(x);
    case TRUNC:
    case TO_INT:
        return trunc(x);
    case ROUND:
        return nearbyint(x);
    case SQRT:
        return sqrt(x);
    case TO_FLOAT:
        return x;
    case EQ:
        return x == y;
    case NE:
        return x != y;
    case LT:
        return x < y;
    case LE:
        return x <= y;
    case GT:
        return x > y;
    case GE:
        return x >= y;
    case AND:
        return x != 0 && y != 0;
    case OR:
        return x != 0 || y != 0;
    case NOT:
        return x == 0;
    }
    return 0;
}

static kiln_aten_kind kind_of(function of, bool is_int) {
    switch (of) {
    case FLOOR:
    case CEIL:
    case TRUNC:
    case ROUND:
    case TO_INT:
        return KILN_ATEN_INT;
    case TRUEDIV:
    case SQRT:
    case TO_FLOAT:
        return KILN_ATEN_FLOAT;
    case EQ:
    case NE:
    case LT:
    case LE:
    case GT:
    case GE:
    case AND:
    case OR:
    case NOT:
        return KILN_ATEN_BOOL;
    case ADD:
    case SUB:
    case MUL:
    case FLOORDIV:
    case MOD:
    case POW:
    case NEG:
    case ABS:
    case MAX:
    case MIN:
        break;
    }
    return is_int ? KILN_ATEN_INT : KILN_ATEN_FLOAT;
}

kiln_status kiln_pt2_run_symbolic(kiln_pt2_cx *cx, const char *target,
                                  const kiln_aten_value *arg, size_t n,
                                  kiln_aten_value *out) {
    const int at = find(target);
    bool is_int = true;
    KILN_ASSERT(at >= 0, "'%s' is no function of numbers", target);
    if (n != functions[at].n)
        return kiln_pt2_fail(cx, KILN_ERR_PARSE, "%s takes %zu numbers, not %zu",
                             target, functions[at].n, n);
    for (size_t i = 0; i < n; i++) {
        const kiln_aten_kind kind = arg[i].kind;
        if (kind == KILN_ATEN_OTHER) { /* of a length that data has */
            *out = (kiln_aten_value){.kind = KILN_ATEN_OTHER};
            return KILN_OK;
        }
        if (kind != KILN_ATEN_INT && kind != KILN_ATEN_FLOAT && kind != KILN_ATEN_BOOL)
            return kiln_pt2_fail(cx, KILN_ERR_PARSE, "%s takes numbers", target);
        is_int = is_int && kind != KILN_ATEN_FLOAT;
    }
    const double y = n > 1 ? number(&arg[1]) : 0;
    const double v = apply(functions[at].of, number(&arg[0]), y);
    const kiln_aten_kind kind = kind_of(functions[at].of, is_int);
    if (kind == KILN_ATEN_FLOAT) {
        *out = kiln_aten_of_float(v);
        return KILN_OK;
    }
    if (!(fabs(v) <= 0x1p53))
        return kiln_pt2_fail(cx, KILN_ERR_LIMIT,
                             "%s gives no integer of at most 2^53 here", target);
    *out = kind == KILN_ATEN_BOOL ? kiln_aten_of_bool(v != 0)
                                  : kiln_aten_of_int((int64_t)v);
    return KILN_OK;
}
