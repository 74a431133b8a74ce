/* Loop programs as pseudo-code. Variables and buffers that share a name get numbers, and so
 * do programs of one text. */
#include "compiler/loop/loop.h"

#include <inttypes.h>

#include "compiler/loop/loop_words.h"
#include "compiler/tensor/text.h"

typedef KILN_VEC(const kiln_program *) programs_printed;

typedef struct printer {
    kiln_buf *out;
    int depth;
    kiln_names vars, buffers;
    kiln_names *programs; /* of the whole text */
    programs_printed *printed;
} printer;

static const char *var_name(void *user, const kiln_var *v) {
    printer *p = user;
    return kiln_names_of(&p->vars, v, v->name);
}

static const char *buffer_name(void *user, const kiln_buffer *b) {
    printer *p = user;
    return kiln_names_of(&p->buffers, b, b->name);
}

static void put_name(printer *p, const char *name) {
    kiln_buf_name(p->out, name, kiln_text_reserved);
}

static void expr(printer *p, const kiln_expr *e) {
    const kiln_expr_names names = {.var = var_name, .buffer = buffer_name, .user = p};
    kiln_expr_print_named(p->out, e, &names);
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
    kiln_buf_printf(p->out, "%s ", kiln_loop_words[s->u.loop.kind]);
    if (s->u.loop.tag != NULL) {
        kiln_buf_quote(p->out, s->u.loop.tag);
        kiln_buf_puts(p->out, " ");
    }
    put_name(p, var_name(p, s->u.loop.var));
    kiln_buf_puts(p->out, " in ");
    expr(p, s->u.loop.min);
    kiln_buf_puts(p->out, " .. +");
    expr(p, s->u.loop.extent);
    block(p, s->u.loop.body);
}

static void buffer_type(printer *p, const kiln_buffer *b) {
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
        kiln_buf_printf(p->out, " %s", kiln_scope_name(b->scope));
    if (b->align_bytes != 0)
        kiln_buf_printf(p->out, " bytes(%d)", b->align_bytes);
}

static void print_store(printer *p, const kiln_stmt *s) {
    put_name(p, buffer_name(p, s->u.store.buffer));
    kiln_buf_puts(p->out, "[");
    for (int i = 0; i < s->u.store.buffer->rank; i++) {
        kiln_buf_puts(p->out, i > 0 ? ", " : "");
        expr(p, s->u.store.index[i]);
    }
    kiln_buf_puts(p->out, "]");
    if (s->u.store.mask !=
        NULL) { /* in front: a load that is stored may have its own */
        const bool is_atom = kiln_operator_of(s->u.store.mask->kind) == NULL;
        kiln_buf_puts(p->out, is_atom ? " where " : " where (");
        expr(p, s->u.store.mask);
        kiln_buf_puts(p->out, is_atom ? "" : ")");
    }
    kiln_buf_puts(p->out, " = ");
    expr(p, s->u.store.value);
}

static void print_attr(printer *p, const kiln_stmt *s) {
    kiln_buf_printf(p->out, "@%s", kiln_attr_words[s->u.attr.key]);
    if (s->u.attr.text != NULL) {
        kiln_buf_puts(p->out, " ");
        kiln_buf_quote(p->out, s->u.attr.text);
    }
    if (s->u.attr.buffer != NULL) {
        kiln_buf_puts(p->out, " on ");
        put_name(p, buffer_name(p, s->u.attr.buffer));
    }
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

/* A place in a buffer: its first element needs no indexes. */
static void print_place(printer *p, const kiln_expr *e) {
    bool is_first = true;
    int64_t at = 0;
    for (int i = 0; i < e->n_arg; i++)
        is_first = is_first && kiln_x_is_int(e->arg[i], &at) && at == 0;
    if (is_first)
        put_name(p, buffer_name(p, e->u.load.buffer));
    else
        expr(p, e);
}

static void print_call(printer *p, const kiln_stmt *s) {
    const kiln_program *called = s->u.call.program;
    kiln_buf_puts(p->out, s->kind == KILN_STMT_CALL ? "call " : "launch ");
    put_name(p, kiln_names_of(p->programs, called, called->name));
    for (int i = 0; i < KILN_N_AXES && s->kind == KILN_STMT_LAUNCH; i++) {
        kiln_buf_puts(p->out, i == 0 ? "[" : i == KILN_AXIS_THREAD_X ? "; " : ", ");
        expr(p, s->u.call.grid[i]);
    }
    kiln_buf_puts(p->out, s->kind == KILN_STMT_CALL ? "(" : "](");
    for (int i = 0; i < called->n_args + called->n_params; i++) {
        kiln_buf_puts(p->out, i > 0 ? ", " : "");
        if (i < called->n_args)
            print_place(p, s->u.call.arg[i]);
        else
            expr(p, s->u.call.arg[i]);
    }
    kiln_buf_puts(p->out, ")");
}

static void print_copy(printer *p, const kiln_stmt *s) {
    kiln_buf_puts(p->out, "copy ");
    print_place(p, s->u.call.arg[1]);
    kiln_buf_puts(p->out, " from ");
    print_place(p, s->u.call.arg[0]);
    kiln_buf_printf(p->out, " : %" PRId64,
                    kiln_buffer_elems(s->u.call.program->arg[0]));
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
        kiln_buf_puts(p->out, "let ");
        put_name(p, var_name(p, s->u.let.var));
        kiln_buf_printf(p->out, ": %s = ", kiln_dtype_name(s->u.let.var->dtype));
        expr(p, s->u.let.value);
        block(p, s->u.let.body);
        break;
    case KILN_STMT_ALLOC:
        kiln_buf_puts(p->out, "alloc ");
        put_name(p, buffer_name(p, s->u.alloc.buffer));
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
    case KILN_STMT_BARRIER:
        kiln_buf_printf(p->out, "barrier %s", kiln_scope_name(s->u.barrier));
        break;
    case KILN_STMT_COPY:
        print_copy(p, s);
        break;
    case KILN_STMT_CALL:
    case KILN_STMT_LAUNCH:
        print_call(p, s);
        break;
    }
    kiln_buf_puts(p->out, "\n");
}

static void print_program(printer *outside, const kiln_program *program);

static void print_called(void *user, const kiln_stmt *s) {
    if (s->kind == KILN_STMT_CALL || s->kind == KILN_STMT_LAUNCH)
        print_program(user, s->u.call.program);
}

static void print_head(printer *p, const kiln_program *program) {
    kiln_buf_puts(p->out, "program ");
    put_name(p, kiln_names_of(p->programs, program, program->name));
    kiln_buf_puts(p->out, "(");
    for (int i = 0; i < program->n_args; i++) {
        kiln_buf_puts(p->out, i > 0 ? ", " : "");
        kiln_buf_puts(p->out, i >= program->n_inputs ? "out " : "");
        put_name(p, buffer_name(p, program->arg[i]));
        buffer_type(p, program->arg[i]);
    }
    for (int i = 0; i < program->n_params; i++) {
        kiln_buf_puts(p->out, i > 0 ? ", " : "; ");
        put_name(p, var_name(p, program->param[i]));
        kiln_buf_printf(p->out, ": %s", kiln_dtype_name(program->param[i]->dtype));
    }
    kiln_buf_printf(p->out, ")%s {\n", program->is_flat ? " flat" : "");
}

/* What it calls, then itself; each once. */
static void print_program(printer *outside, const kiln_program *program) {
    KILN_ASSERT(program->n_inputs >= 0 && program->n_inputs <= program->n_args,
                "program '%s' has %d inputs of %d arguments", program->name,
                program->n_inputs, program->n_args);
    kiln_arena *a = outside->out->arena;
    printer p = {.out = outside->out,
                 .depth = 1,
                 .vars.arena = a,
                 .buffers.arena = a,
                 .programs = outside->programs,
                 .printed = outside->printed};
    for (size_t i = 0; i < p.printed->n; i++)
        if (p.printed->v[i] == program)
            return;
    kiln_stmt_visit(program->body, print_called, &p);
    kiln_vec_push(a, p.printed, program);
    print_head(&p, program);
    stmt(&p, program->body);
    kiln_buf_puts(p.out, "}\n");
}

void kiln_program_print(kiln_buf *out, const kiln_program *program) {
    kiln_names programs = {.arena = out->arena};
    programs_printed printed = {0};
    print_program(&(printer){.out = out, .programs = &programs, .printed = &printed},
                  program);
}
