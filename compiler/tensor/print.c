/* Expressions as text, with the fewest parentheses; and stages, one line each. */
#include "compiler/tensor/tensor.h"

#include <inttypes.h>
#include <math.h>

/* Binding strength, C's. Calls, loads and atoms bind strongest. */
enum { OR = 1, XOR, AND, EQUAL, LESS, SHIFT, SUM, PRODUCT, UNARY, ATOM };

typedef struct operator_text {
    const char *text;
    int level;
} operator_text;

static operator_text operator_of(kiln_expr_kind kind) {
    switch ((int)kind) {
    case KILN_EXPR_ADD:
        return (operator_text){" + ", SUM};
    case KILN_EXPR_SUB:
        return (operator_text){" - ", SUM};
    case KILN_EXPR_MUL:
        return (operator_text){"*", PRODUCT};
    case KILN_EXPR_DIV:
        return (operator_text){"/", PRODUCT};
    case KILN_EXPR_FLOORDIV:
        return (operator_text){" // ", PRODUCT};
    case KILN_EXPR_FLOORMOD:
        return (operator_text){" % ", PRODUCT};
    case KILN_EXPR_EQ:
        return (operator_text){" == ", EQUAL};
    case KILN_EXPR_NE:
        return (operator_text){" != ", EQUAL};
    case KILN_EXPR_LT:
        return (operator_text){" < ", LESS};
    case KILN_EXPR_LE:
        return (operator_text){" <= ", LESS};
    case KILN_EXPR_AND:
        return (operator_text){" & ", AND};
    case KILN_EXPR_OR:
        return (operator_text){" | ", OR};
    case KILN_EXPR_XOR:
        return (operator_text){" ^ ", XOR};
    case KILN_EXPR_SHL:
        return (operator_text){" << ", SHIFT};
    case KILN_EXPR_SHR:
        return (operator_text){" >> ", SHIFT};
    default:
        return (operator_text){NULL, ATOM};
    }
}

typedef struct printer {
    kiln_buf *out;
    kiln_var_name_fn name; /* NULL: the variable's own */
    void *user;
} printer;

static void print(const printer *p, const kiln_expr *e, int level);

static void print_list(const printer *p, const kiln_expr *const *e, int n) {
    for (int i = 0; i < n; i++) {
        if (i > 0)
            kiln_buf_puts(p->out, ", ");
        print(p, e[i], 0);
    }
}

static void print_call(const printer *p, const char *name, const kiln_expr *e) {
    kiln_buf_printf(p->out, "%s(", name);
    print_list(p, e->arg, e->n_arg);
    kiln_buf_puts(p->out, ")");
}

static void print_number(const printer *p, const kiln_expr *e) {
    if (e->kind == KILN_EXPR_FLOAT) {
        if (isnan(e->u.f) || isinf(e->u.f))
            kiln_buf_printf(p->out, "%s(%s)", kiln_dtype_name(e->dtype),
                            isnan(e->u.f) ? "nan" : (e->u.f > 0 ? "inf" : "-inf"));
        else if (e->dtype == KILN_F32)
            kiln_buf_printf(p->out, "%.9gf", e->u.f);
        else
            kiln_buf_printf(p->out, "%s(%.17g)", kiln_dtype_name(e->dtype), e->u.f);
        return;
    }
    if (e->dtype == KILN_I64)
        kiln_buf_printf(p->out, "%" PRId64, e->u.i);
    else if (e->dtype == KILN_BOOL)
        kiln_buf_puts(p->out, e->u.i != 0 ? "true" : "false");
    else
        kiln_buf_printf(p->out, "%s(%" PRId64 ")", kiln_dtype_name(e->dtype), e->u.i);
}

static void print_reduce(const printer *p, const kiln_reduction *r) {
    kiln_buf_printf(p->out, "%s(", r->reducer->name);
    for (int i = 0; i < r->n_axes; i++) {
        kiln_buf_printf(p->out, "%s%s: ", i > 0 ? ", " : "", r->axis[i]->name);
        print(p, r->axis[i]->extent, 0);
    }
    kiln_buf_puts(p->out, ") ");
    if (r->reducer->n > 1)
        kiln_buf_puts(p->out, "(");
    print_list(p, r->source, r->reducer->n);
    if (r->reducer->n > 1)
        kiln_buf_printf(p->out, ")[%d]", r->index);
    if (r->cond != NULL) {
        kiln_buf_puts(p->out, " where ");
        print(p, r->cond, 0);
    }
}

static void print_load(const printer *p, const kiln_expr *e) {
    kiln_buf_printf(p->out, "%s[", e->u.load.buffer->name);
    print_list(p, e->arg, e->n_arg);
    kiln_buf_puts(p->out, "]");
    if (e->u.load.mask != NULL) {
        kiln_buf_puts(p->out, " where ");
        print(p, e->u.load.mask, UNARY);
    }
}

static void print_shuffle(const printer *p, const kiln_expr *e) {
    kiln_buf_puts(p->out, "shuffle(");
    print_list(p, e->arg, e->n_arg);
    kiln_buf_puts(p->out, "; ");
    for (int i = 0; i < e->lanes; i++)
        kiln_buf_printf(p->out, "%s%d", i > 0 ? ", " : "", e->u.lane[i]);
    kiln_buf_puts(p->out, ")");
}

static void print_atom(const printer *p, const kiln_expr *e) {
    switch (e->kind) {
    case KILN_EXPR_INT:
    case KILN_EXPR_FLOAT:
        print_number(p, e);
        return;
    case KILN_EXPR_VAR:
        kiln_buf_puts(p->out,
                      p->name != NULL ? p->name(p->user, e->u.var) : e->u.var->name);
        return;
    case KILN_EXPR_NOT:
        kiln_buf_puts(p->out, "!");
        print(p, e->arg[0], UNARY);
        return;
    case KILN_EXPR_CAST:
        print_call(p, kiln_dtype_name(e->dtype), e);
        return;
    case KILN_EXPR_BITCAST:
        kiln_buf_puts(p->out, "bits_");
        print_call(p, kiln_dtype_name(e->dtype), e);
        return;
    case KILN_EXPR_SELECT:
        print_call(p, "select", e);
        return;
    case KILN_EXPR_CALL:
        print_call(p, kiln_intrin_get(e->u.intrin)->name, e);
        return;
    case KILN_EXPR_READ:
        kiln_buf_puts(p->out, e->u.read.te->name);
        if (e->u.read.te->n_out > 1)
            kiln_buf_printf(p->out, ".%d", e->u.read.out);
        kiln_buf_puts(p->out, "[");
        print_list(p, e->arg, e->n_arg);
        kiln_buf_puts(p->out, "]");
        return;
    case KILN_EXPR_REDUCE:
        print_reduce(p, e->u.reduce);
        return;
    case KILN_EXPR_LOAD:
        print_load(p, e);
        return;
    case KILN_EXPR_RAMP:
        kiln_buf_puts(p->out, "ramp(");
        print_list(p, e->arg, e->n_arg);
        kiln_buf_printf(p->out, ", %d)", e->lanes);
        return;
    case KILN_EXPR_BROADCAST:
        kiln_buf_puts(p->out, "x");
        kiln_buf_printf(p->out, "%d(", e->lanes);
        print(p, e->arg[0], 0);
        kiln_buf_puts(p->out, ")");
        return;
    case KILN_EXPR_SHUFFLE:
        print_shuffle(p, e);
        return;
    default: /* min and max */
        print_call(p, e->kind == KILN_EXPR_MIN ? "min" : "max", e);
        return;
    }
}

static void print(const printer *p, const kiln_expr *e, int level) {
    const operator_text op = operator_of(e->kind);
    if (op.text == NULL) {
        print_atom(p, e);
        return;
    }
    /* The right side is printed one level tighter: a - (b - c) keeps its parentheses,
     * and so do sums of floats. */
    if (op.level < level)
        kiln_buf_puts(p->out, "(");
    print(p, e->arg[0], op.level);
    kiln_buf_puts(p->out, op.text);
    print(p, e->arg[1], op.level + 1);
    if (op.level < level)
        kiln_buf_puts(p->out, ")");
}

void kiln_expr_print(kiln_buf *out, const kiln_expr *e) {
    print(&(printer){.out = out}, e, 0);
}

void kiln_expr_print_named(kiln_buf *out, const kiln_expr *e, kiln_var_name_fn name,
                           void *user) {
    print(&(printer){out, name, user}, e, 0);
}

/* ---- stages ------------------------------------------------------------------------
 */

static void print_stage(kiln_buf *out, const kiln_te *te) {
    for (int k = 0; k < te->n_out; k++) {
        kiln_buf_puts(out, te->name);
        if (te->n_out > 1)
            kiln_buf_printf(out, ".%d", k);
        kiln_buf_puts(out, "[");
        for (int i = 0; i < te->rank; i++) {
            kiln_buf_printf(out, "%s%s: ", i > 0 ? ", " : "", te->axis[i]->name);
            kiln_expr_print(out, te->axis[i]->extent);
        }
        kiln_buf_printf(out, "] : %s", kiln_dtype_name(te->dtype[k]));
        if (te->kind == KILN_TE_COMPUTE) {
            kiln_buf_puts(out, " = ");
            kiln_expr_print(out, te->body[k]);
        } else if (te->kind == KILN_TE_EXTERN) {
            kiln_buf_printf(out, " = extern %s", te->ext->name);
        }
        kiln_buf_puts(out, "\n");
    }
}

void kiln_te_print(kiln_buf *out, const kiln_te *const *outs, size_t n_outs) {
    size_t n = 0;
    const kiln_te **te = kiln_te_topo(out->arena, outs, n_outs, &n);
    for (size_t i = 0; i < n; i++)
        print_stage(out, te[i]);
}
