/* Expressions as text, with the fewest parentheses; and stages, one line each. */
#include "compiler/tensor/text.h"

#include <inttypes.h>
#include <math.h>

typedef struct printer {
    kiln_buf *out;
    kiln_expr_names names;
} printer;

static void print(const printer *p, const kiln_expr *e, int level);

static void put_name(const printer *p, const char *name) {
    kiln_buf_name(p->out, name, kiln_text_reserved);
}

static void put_var(const printer *p, const kiln_var *v) {
    put_name(p, p->names.var != NULL ? p->names.var(p->names.user, v) : v->name);
}

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

/* `reduce name {x: f32, y: f32 -> x + y; 0f}`: what no name says. */
static void print_reducer(const printer *p, const kiln_reducer *r) {
    kiln_buf_puts(p->out, "reduce ");
    put_name(p, r->name);
    for (int i = 0; i < 2 * r->n; i++) {
        const kiln_var *v = i < r->n ? r->lhs[i] : r->rhs[i - r->n];
        kiln_buf_puts(p->out, i == 0 ? " {" : ", ");
        put_var(p, v);
        kiln_buf_printf(p->out, ": %s", kiln_dtype_name(v->dtype));
    }
    kiln_buf_puts(p->out, " -> ");
    print_list(p, r->result, r->n);
    kiln_buf_puts(p->out, "; ");
    print_list(p, r->identity, r->n);
    kiln_buf_puts(p->out, "}");
}

static void print_reduce(const printer *p, const kiln_reduction *r) {
    if (kiln_reducer_is_known(r->reducer->name))
        kiln_buf_puts(p->out, r->reducer->name);
    else
        print_reducer(p, r->reducer);
    kiln_buf_puts(p->out, "(");
    for (int i = 0; i < r->n_axes; i++) {
        kiln_buf_puts(p->out, i > 0 ? ", " : "");
        put_var(p, r->axis[i]->var);
        kiln_buf_puts(p->out, ": ");
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
    const kiln_buffer *b = e->u.load.buffer;
    put_name(p, p->names.buffer != NULL ? p->names.buffer(p->names.user, b) : b->name);
    kiln_buf_puts(p->out, "[");
    print_list(p, e->arg, e->n_arg);
    kiln_buf_puts(p->out, "]");
    if (e->u.load.mask != NULL) {
        kiln_buf_puts(p->out, " where ");
        print(p, e->u.load.mask, KILN_LEVEL_UNARY);
    }
}

static void print_read(const printer *p, const kiln_expr *e) {
    const kiln_te *te = e->u.read.te;
    put_name(p, p->names.te != NULL ? p->names.te(p->names.user, te) : te->name);
    if (te->n_out > 1)
        kiln_buf_printf(p->out, ":%d", e->u.read.out);
    kiln_buf_puts(p->out, "[");
    print_list(p, e->arg, e->n_arg);
    kiln_buf_puts(p->out, "]");
}

static void print_shuffle(const printer *p, const kiln_expr *e) {
    kiln_buf_puts(p->out, "shuffle(");
    print_list(p, e->arg, e->n_arg);
    kiln_buf_puts(p->out, "; ");
    for (int i = 0; i < e->lanes; i++)
        kiln_buf_printf(p->out, "%s%d", i > 0 ? ", " : "", e->u.lane[i]);
    kiln_buf_puts(p->out, ")");
}

static void print_bindings(const printer *p, const kiln_var *const *var,
                           const kiln_expr *const *value, int n) {
    for (int i = 0; i < n; i++) {
        kiln_buf_puts(p->out, i > 0 ? ", " : "");
        put_var(p, var[i]);
        kiln_buf_puts(p->out, " = ");
        print(p, value[i], 0);
    }
    kiln_buf_puts(p->out, "; ");
}

/* let(x = value, y = value; body) */
static void print_let(const printer *p, const kiln_expr *e) {
    kiln_buf_puts(p->out, "let(");
    print_bindings(p, e->u.bound, e->arg, e->n_arg - 1);
    print(p, e->arg[e->n_arg - 1], 0);
    kiln_buf_puts(p->out, ")");
}

/* loop(state = init; cond; local = value; next; value) */
static void print_loop(const printer *p, const kiln_expr *e) {
    const kiln_loop_parts l = kiln_x_loop_parts(e);
    kiln_buf_puts(p->out, "loop(");
    print_bindings(p, l.turns.state, l.init, l.turns.n_state);
    print(p, l.cond, 0);
    kiln_buf_puts(p->out, "; ");
    print_bindings(p, l.turns.local, l.local, l.turns.n_local);
    print_list(p, l.next, l.turns.n_state);
    kiln_buf_puts(p->out, "; ");
    print(p, l.value, 0);
    kiln_buf_puts(p->out, ")");
}

/* table_i32(1, 2, 3; index) */
static void print_table(const printer *p, const kiln_expr *e) {
    const kiln_table *t = e->u.table;
    kiln_buf_printf(p->out, "table_%s(", kiln_dtype_name(t->dtype));
    for (int i = 0; i < t->n; i++)
        kiln_buf_printf(p->out, "%s%" PRId64, i > 0 ? ", " : "", t->v[i]);
    kiln_buf_puts(p->out, "; ");
    print(p, e->arg[0], 0);
    kiln_buf_puts(p->out, ")");
}

static void print_atom(const printer *p, const kiln_expr *e) {
    switch (e->kind) {
    case KILN_EXPR_INT:
    case KILN_EXPR_FLOAT:
        print_number(p, e);
        return;
    case KILN_EXPR_VAR:
        put_var(p, e->u.var);
        return;
    case KILN_EXPR_NOT:
        kiln_buf_puts(p->out, "!");
        print(p, e->arg[0], KILN_LEVEL_UNARY);
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
        print_read(p, e);
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
    case KILN_EXPR_LET:
        print_let(p, e);
        return;
    case KILN_EXPR_LOOP:
        print_loop(p, e);
        return;
    case KILN_EXPR_TABLE:
        print_table(p, e);
        return;
    case KILN_EXPRS_ARITHMETIC:
    case KILN_EXPRS_LOGICAL:
        break;
    }
    /* Operators are printed before; min and max are left. */
    print_call(p, e->kind == KILN_EXPR_MIN ? "min" : "max", e);
}

static void print(const printer *p, const kiln_expr *e, int level) {
    const kiln_operator *op = kiln_operator_of(e->kind);
    if (op == NULL) {
        print_atom(p, e);
        return;
    }
    /* The right side is printed one level tighter: a - (b - c) keeps its parentheses,
     * and so do sums of floats. */
    if (op->level < level)
        kiln_buf_puts(p->out, "(");
    print(p, e->arg[0], op->level);
    kiln_buf_puts(p->out, op->is_tight ? "" : " ");
    kiln_buf_puts(p->out, op->text);
    kiln_buf_puts(p->out, op->is_tight ? "" : " ");
    print(p, e->arg[1], op->level + 1);
    if (op->level < level)
        kiln_buf_puts(p->out, ")");
}

void kiln_expr_print(kiln_buf *out, const kiln_expr *e) {
    print(&(printer){.out = out}, e, 0);
}

void kiln_expr_print_named(kiln_buf *out, const kiln_expr *e,
                           const kiln_expr_names *names) {
    print(&(printer){out, *names}, e, 0);
}
