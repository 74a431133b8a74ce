/* A function of a unit. */
#include "compiler/codegen/c/print.h"

#include "compiler/loop/expand.h"

#include <inttypes.h>
#include <string.h>

void kiln_c_unit_init(kiln_arena *a, const kiln_c_dialect *d, kiln_c_unit *out) {
    *out = (kiln_c_unit){.arena = a, .dialect = d};
    kiln_buf_init(&out->helpers, a);
    kiln_buf_init(&out->functions, a);
    kiln_buf_puts(&out->helpers, "");
    kiln_buf_puts(&out->functions, "");
}

/* Runs `halves` and `expand` on a copy of the program. */
static kiln_status expand(kiln_c_printer *p) {
    const kiln_loop_options options = {.natives = p->unit->dialect->natives};
    kiln_program *copy = kiln_new(p->arena, kiln_program);
    *copy = *p->p;
    copy->arena = p->arena;
    p->p = copy;
    KILN_TRY(kiln_loop_pass_halves.run(copy, &options, p->err));
    return kiln_loop_pass_expand.run(copy, &options, p->err);
}

static int same_of(const kiln_c_function *f, int arg) {
    return f->same != NULL ? f->same[arg] : -1;
}

static bool is_written(const kiln_c_printer *p, const kiln_c_function *f, int arg) {
    for (int i = p->p->n_inputs; i < p->p->n_args; i++)
        if (i == arg || same_of(f, i) == arg)
            return true;
    return false;
}

static void put_parameter(kiln_c_printer *p, const kiln_c_function *f, int i,
                          kiln_buf *out) {
    const bool is_shared = f->is_shared != NULL && f->is_shared[i];
    kiln_buf_printf(out, "%s%s%s%s *%s%s", out->n > 0 ? ", " : "",
                    p->unit->dialect->global, is_written(p, f, i) ? "" : "const ",
                    kiln_c_type(p->p->arg[i]->dtype),
                    is_shared ? "" : p->unit->dialect->restricted, p->memory.v[i].name);
}

static void bind_arguments(kiln_c_printer *p, const kiln_c_function *f) {
    for (int i = 0; i < p->p->n_args; i++) {
        const int same = same_of(f, i);
        KILN_ASSERT(same < i, "argument %d of '%s' is the same as one behind it", i,
                    f->name);
        const kiln_c_memory m = {
            p->p->arg[i],
            same >= 0 ? p->memory.v[same].name : kiln_c_name(p, p->p->arg[i]->name),
            same >= 0 ? p->memory.v[same].is_used : kiln_new(p->arena, bool),
            p->unit->dialect->global};
        kiln_vec_push(p->arena, &p->memory, m);
    }
}

/* What is not used in front of the body says so. */
static void put_unused(const kiln_c_printer *p, const kiln_c_function *f,
                       kiln_buf *out) {
    for (int i = 0; i < p->p->n_args; i++)
        if (same_of(f, i) < 0 && !*p->memory.v[i].is_used)
            kiln_buf_printf(out, "    (void)%s;\n", p->memory.v[i].name);
}

/* Loops and lets around what was made a program of its own: each is a number. */
static void bind_parameters(kiln_c_printer *p) {
    p->parameter = kiln_array(p->arena, const char *, p->p->n_params + 1);
    for (int i = 0; i < p->p->n_params; i++) {
        const kiln_var *v = p->p->param[i];
        const char *name = kiln_c_name(p, v->name);
        if (kiln_dtype_is_float(v->dtype))
            kiln_c_fail(p, KILN_ERR_UNSUPPORTED,
                        "parameter '%s' of '%s' is no integer; store it to memory",
                        v->name, p->p->name);
        kiln_c_text x = {.text = name, .binds = KILN_C_PRIMARY};
        if (v->dtype != KILN_I64)
            x = kiln_c_put(p, KILN_C_UNARY, "(%s)%s", kiln_c_value_type(v->dtype),
                           name);
        p->parameter[i] = name;
        kiln_c_bind(p, v, x);
        p->vars.v[p->vars.n - 1].is_index = v->dtype == KILN_I64;
    }
}

static void put_parameters(kiln_c_printer *p, kiln_buf *out) {
    for (int i = 0; i < p->p->n_params; i++)
        kiln_buf_printf(out, "%sconst int64_t %s", out->n > 0 ? ", " : "",
                        p->parameter[i]);
}

/* "__kernel __attribute__((reqd_work_group_size(8, 1, 1))) " */
static void put_kernel(const kiln_c_printer *p, kiln_buf *out) {
    const int64_t *n = p->extent + KILN_AXIS_THREAD_X;
    kiln_buf_printf(out,
                    "%s__attribute__((reqd_work_group_size(%" PRId64 ", %" PRId64
                    ", %" PRId64 "))) ",
                    p->unit->dialect->kernel, n[0], n[1], n[2]);
}

static void put_function(kiln_c_printer *p, const kiln_c_function *f,
                         const kiln_buf *body) {
    kiln_buf *out = &p->unit->functions, params;
    kiln_buf_init(&params, p->arena);
    for (int i = 0; i < p->p->n_args; i++)
        if (same_of(f, i) < 0)
            put_parameter(p, f, i, &params);
    put_parameters(p, &params);
    if (p->max_workspace > 0)
        kiln_buf_printf(&params, "%s%sunsigned char *%swork", params.n > 0 ? ", " : "",
                        p->unit->dialect->global, p->unit->dialect->restricted);
    kiln_buf_puts(out, "\n");
    if (f->comment != NULL)
        kiln_buf_printf(out, "/* %s */\n", kiln_c_comment(p->arena, f->comment));
    if (f->extent != NULL)
        put_kernel(p, out);
    else
        kiln_buf_puts(out, p->unit->dialect->qualifiers);
    kiln_buf_printf(out, "%svoid %s(%s) {\n",
                    p->is_exact ? p->unit->dialect->exact : "", f->name,
                    params.n > 0 ? params.p : "void");
    if (p->is_exact)
        kiln_buf_printf(out, "    %s\n", p->unit->dialect->exactly);
    put_unused(p, f, out);
    if (p->shared.n > 0)
        kiln_buf_add(out, p->shared.p, p->shared.n);
    kiln_buf_add(out, body->p, body->n);
    kiln_buf_puts(out, "}\n");
}

/* ---- what counts on each rounding ------------------------------------------------- */

static void find_rounded(void *user, const kiln_expr *e) {
    bool *found = user;
    *found = *found ||
             (e->kind == KILN_EXPR_CALL &&
              (e->u.intrin == KILN_INTRIN_add_rn || e->u.intrin == KILN_INTRIN_sub_rn ||
               e->u.intrin == KILN_INTRIN_mul_rn));
    if (e->kind == KILN_EXPR_LOAD && e->u.load.mask != NULL)
        kiln_expr_visit(e->u.load.mask, find_rounded, user);
}

static void find_rounded_in(void *user, const kiln_expr *e) {
    kiln_expr_visit(e, find_rounded, user);
}

static void find_rounded_under(void *user, const kiln_stmt *s) {
    kiln_stmt_exprs(s, find_rounded_in, user);
}

kiln_status kiln_c_print(kiln_c_unit *u, const kiln_program *p,
                         const kiln_c_function *f, kiln_c_printed *out, kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_buf body;
    kiln_c_printer x = {
        .arena = &scratch, .unit = u, .p = p, .extent = f->extent, .err = err};
    KILN_ASSERT(f->extent == NULL || u->dialect->kernel != NULL, "%s launches nothing",
                u->dialect->name);
    kiln_program without = *p;
    without.n_params = f->extent != NULL ? 0 : p->n_params; /* a launch gives them */
    kiln_status st = kiln_backend_check(u->dialect->backend, &without, err);
    if (st == KILN_OK)
        st = expand(&x);
    if (st == KILN_OK) {
        kiln_stmt_visit(x.p->body, find_rounded_under, &x.is_exact);
        kiln_buf_init(&body, &scratch);
        kiln_buf_puts(&body, "");
        x.out = &body;
        x.depth = 1;
        (void)kiln_c_name(&x, "work");
        kiln_buf_init(&x.shared, &scratch);
        bind_arguments(&x, f);
        bind_parameters(&x);
        kiln_c_stmt(&x, x.p->body, true);
        st = x.status;
    }
    if (st == KILN_OK) {
        put_function(&x, f, &body);
        *out = (kiln_c_printed){.workspace_bytes = x.max_workspace,
                                .shared_bytes = x.shared_bytes};
        const char *kept = kiln_str_dup(u->arena, f->name);
        kiln_map_set(u->arena, &u->known, kiln_str_from(kept), kept);
    } else
        kiln_note(err, "printing '%s' as %s", p->name,
                  u->dialect->name == kiln_c_dialect_c99.name ? "C" : u->dialect->name);
    kiln_arena_fini(&scratch);
    return st;
}
