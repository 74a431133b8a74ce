/* Loop programs as pseudo-code. Variables and buffers that share a name get numbers. */
#include "compiler/loop/loop.h"

#include <inttypes.h>
#include <string.h>

typedef struct naming {
    const void *what; /* a variable or a buffer */
    const char *name;
} naming;

typedef struct printer {
    kiln_buf *out;
    int depth;
    KILN_VEC(naming) names;
} printer;

static bool is_taken(const printer *p, const char *name) {
    for (size_t i = 0; i < p->names.n; i++)
        if (strcmp(p->names.v[i].name, name) == 0)
            return true;
    return false;
}

static const char *name_of(printer *p, const void *what, const char *want) {
    for (size_t i = 0; i < p->names.n; i++)
        if (p->names.v[i].what == what)
            return p->names.v[i].name;
    const char *name = want;
    for (int k = 1; is_taken(p, name); k++)
        name = kiln_format(p->out->arena, "%s_%d", want, k);
    const naming n = {what, name};
    kiln_vec_push(p->out->arena, &p->names, n);
    return name;
}

static const char *var_name(void *user, const kiln_var *v) {
    return name_of(user, v, v->name);
}

static void expr(printer *p, const kiln_expr *e) {
    kiln_expr_print_named(p->out, e, var_name, p);
}

static void indent(printer *p) {
    for (int i = 0; i < p->depth; i++)
        kiln_buf_puts(p->out, "  ");
}

static void stmt(printer *p, const kiln_stmt *s);

static void block(printer *p, const kiln_stmt *body) {
    kiln_buf_puts(p->out, " {\n");
    p->depth++;
    stmt(p, body);
    p->depth--;
    indent(p);
    kiln_buf_puts(p->out, "}");
}

static void print_for(printer *p, const kiln_stmt *s) {
    static const char *const word[] = {"for",    "parallel", "vectorized",
                                       "unroll", "thread",   "vthread"};
    kiln_buf_printf(p->out, "%s ", word[s->u.loop.kind]);
    if (s->u.loop.tag != NULL)
        kiln_buf_printf(p->out, "\"%s\" ", s->u.loop.tag);
    kiln_buf_printf(p->out, "%s in ", name_of(p, s->u.loop.var, s->u.loop.var->name));
    expr(p, s->u.loop.min);
    kiln_buf_puts(p->out, " .. +");
    expr(p, s->u.loop.extent);
    block(p, s->u.loop.body);
}

static void buffer_type(printer *p, const kiln_buffer *b) {
    static const char *const scope[] = {"global", "local", "register", "shared"};
    kiln_buf_printf(p->out, ": %s[", kiln_dtype_name(b->dtype));
    for (int i = 0; i < b->rank; i++) {
        kiln_buf_puts(p->out, i > 0 ? ", " : "");
        expr(p, b->dim[i]);
        if (b->align[i].factor > 1)
            kiln_buf_printf(p->out, " align(%" PRId32 ", %" PRId32 ")",
                            b->align[i].factor, b->align[i].offset);
    }
    kiln_buf_puts(p->out, "]");
    if (b->scope >= KILN_SCOPE_TARGET)
        kiln_buf_printf(p->out, " scope%d", (int)b->scope);
    else if (b->scope != KILN_SCOPE_GLOBAL)
        kiln_buf_printf(p->out, " %s", scope[b->scope]);
    if (b->double_buffer)
        kiln_buf_puts(p->out, " double_buffer");
}

static void print_store(printer *p, const kiln_stmt *s) {
    kiln_buf_printf(p->out, "%s[", s->u.store.buffer->name);
    for (int i = 0; i < s->u.store.buffer->rank; i++) {
        kiln_buf_puts(p->out, i > 0 ? ", " : "");
        expr(p, s->u.store.index[i]);
    }
    kiln_buf_puts(p->out, "] = ");
    expr(p, s->u.store.value);
    if (s->u.store.mask != NULL) {
        kiln_buf_puts(p->out, " where ");
        expr(p, s->u.store.mask);
    }
}

static void print_attr(printer *p, const kiln_stmt *s) {
    static const char *const word[] = {"pragma",        "thread_extent", "coproc_scope",
                                       "double_buffer", "dependence",    "stage",
                                       "tensorize"};
    kiln_buf_printf(p->out, "@%s", word[s->u.attr.key]);
    if (s->u.attr.text != NULL)
        kiln_buf_printf(p->out, " \"%s\"", s->u.attr.text);
    if (s->u.attr.buffer != NULL)
        kiln_buf_printf(p->out, " %s", s->u.attr.buffer->name);
    if (s->u.attr.value != NULL) {
        kiln_buf_puts(p->out, " = ");
        expr(p, s->u.attr.value);
    }
    block(p, s->u.attr.body);
}

static void print_if(printer *p, const kiln_stmt *s) {
    kiln_buf_puts(p->out, "if ");
    expr(p, s->u.branch.cond);
    block(p, s->u.branch.then);
    if (s->u.branch.otherwise == NULL)
        return;
    kiln_buf_puts(p->out, " else");
    block(p, s->u.branch.otherwise);
}

static void stmt(printer *p, const kiln_stmt *s) {
    if (s->kind == KILN_STMT_SEQ) {
        for (int i = 0; i < s->u.seq.n; i++)
            stmt(p, s->u.seq.stmt[i]);
        return;
    }
    indent(p);
    switch (s->kind) {
    case KILN_STMT_FOR:
        print_for(p, s);
        break;
    case KILN_STMT_SEQ:
        break;
    case KILN_STMT_IF:
        print_if(p, s);
        break;
    case KILN_STMT_LET:
        kiln_buf_printf(p->out,
                        "let %s: %s = ", name_of(p, s->u.let.var, s->u.let.var->name),
                        kiln_dtype_name(s->u.let.var->dtype));
        expr(p, s->u.let.value);
        block(p, s->u.let.body);
        break;
    case KILN_STMT_ALLOC:
        kiln_buf_printf(p->out, "alloc %s", s->u.alloc.buffer->name);
        buffer_type(p, s->u.alloc.buffer);
        block(p, s->u.alloc.body);
        break;
    case KILN_STMT_STORE:
        print_store(p, s);
        break;
    case KILN_STMT_EVAL:
        expr(p, s->u.eval);
        break;
    case KILN_STMT_ATTR:
        print_attr(p, s);
        break;
    }
    kiln_buf_puts(p->out, "\n");
}

void kiln_program_print(kiln_buf *out, const kiln_program *program) {
    printer p = {.out = out, .depth = 1};
    kiln_buf_printf(out, "program %s(", program->name);
    for (int i = 0; i < program->n_args; i++) {
        kiln_buf_printf(out, "%s%s%s", i > 0 ? ", " : "",
                        i >= program->n_inputs ? "out " : "", program->arg[i]->name);
        buffer_type(&p, program->arg[i]);
    }
    kiln_buf_printf(out, ")%s {\n", program->is_flat ? " flat" : "");
    stmt(&p, program->body);
    kiln_buf_puts(out, "}\n");
}
