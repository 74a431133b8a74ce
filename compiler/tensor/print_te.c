/* Stages as text, one line each (several outputs: one line for each of them), complete:
 * kiln_te_parse reads it back. */
#include "compiler/tensor/text.h"

typedef struct printer {
    kiln_buf *out;
    kiln_names stages;
    kiln_names vars; /* of the stage being printed */
} printer;

static const char *te_name(void *user, const kiln_te *te) {
    printer *p = user;
    return kiln_names_of(&p->stages, te, te->name);
}

static const char *var_name(void *user, const kiln_var *v) {
    printer *p = user;
    return kiln_names_of(&p->vars, v, v->name);
}

static void put_name(printer *p, const char *name) {
    kiln_buf_name(p->out, name, kiln_text_reserved);
}

static void print_expr(printer *p, const kiln_expr *e) {
    const kiln_expr_names names = {.var = var_name, .te = te_name, .user = p};
    kiln_expr_print_named(p->out, e, &names);
}

static void print_shape(printer *p, const kiln_te *te) {
    kiln_buf_puts(p->out, "[");
    for (int i = 0; i < te->rank; i++) {
        kiln_buf_puts(p->out, i > 0 ? ", " : "");
        put_name(p, var_name(p, te->axis[i]->var));
        kiln_buf_puts(p->out, ": ");
        print_expr(p, te->axis[i]->extent);
    }
    kiln_buf_puts(p->out, "]");
}

/* An extern stage is named; what it does is a function. */
static void print_extern(printer *p, const kiln_te *te) {
    kiln_buf_puts(p->out, " = extern ");
    put_name(p, te->ext->name);
    for (int i = 0; i < te->n_in; i++) {
        kiln_buf_puts(p->out, i > 0 ? ", " : "(");
        put_name(p, te_name(p, te->in[i]));
    }
    kiln_buf_puts(p->out, te->n_in > 0 ? ")" : "");
}

static void print_output(printer *p, const kiln_te *te, int k) {
    put_name(p, te_name(p, te));
    if (te->n_out > 1)
        kiln_buf_printf(p->out, ":%d", k);
    print_shape(p, te);
    kiln_buf_printf(p->out, " : %s", kiln_dtype_name(te->dtype[k]));
    if (te->tag[0] != '\0') {
        kiln_buf_puts(p->out, " @");
        put_name(p, te->tag);
    }
    if (te->kind == KILN_TE_COMPUTE) {
        kiln_buf_puts(p->out, " = ");
        print_expr(p, te->body[k]);
    } else if (te->kind == KILN_TE_EXTERN) {
        print_extern(p, te);
    }
    kiln_buf_puts(p->out, "\n");
}

void kiln_te_print(kiln_buf *out, const kiln_te *const *outs, size_t n_outs) {
    size_t n = 0;
    const kiln_te **te = kiln_te_topo(out->arena, outs, n_outs, &n);
    printer p = {.out = out, .stages.arena = out->arena};
    for (size_t i = 0; i < n; i++) {
        p.vars = (kiln_names){.arena = out->arena};
        for (size_t o = 0; o < n_outs; o++) {
            if (te[i] != outs[o])
                continue;
            kiln_buf_puts(out, "out");
            if (n_outs > 1)
                kiln_buf_printf(out, "%zu", o);
            kiln_buf_puts(out, " ");
        }
        for (int k = 0; k < te[i]->n_out; k++)
            print_output(&p, te[i], k);
    }
}
