/* A function of a unit. */
#include "compiler/codegen/c/print.h"

#include "compiler/loop/expand.h"

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
    const kiln_loop_options options = {.natives = &kiln_natives_least};
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
            same >= 0 ? p->memory.v[same].is_used : kiln_new(p->arena, bool)};
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

static void put_function(kiln_c_printer *p, const kiln_c_function *f,
                         const kiln_buf *body) {
    kiln_buf *out = &p->unit->functions, params;
    kiln_buf_init(&params, p->arena);
    for (int i = 0; i < p->p->n_args; i++)
        if (same_of(f, i) < 0)
            put_parameter(p, f, i, &params);
    if (p->max_workspace > 0)
        kiln_buf_printf(&params, ", %sunsigned char *%swork", p->unit->dialect->global,
                        p->unit->dialect->restricted);
    kiln_buf_puts(out, "\n");
    if (f->comment != NULL)
        kiln_buf_printf(out, "/* %s */\n", kiln_c_comment(p->arena, f->comment));
    kiln_buf_printf(out, "%s%svoid %s(%s) {\n", p->unit->dialect->qualifiers,
                    p->is_exact ? p->unit->dialect->exact : "", f->name,
                    params.n > 0 ? params.p : "void");
    if (p->is_exact)
        kiln_buf_printf(out, "    %s\n", p->unit->dialect->exactly);
    put_unused(p, f, out);
    kiln_buf_add(out, body->p, body->n);
    kiln_buf_puts(out, "}\n");
}

kiln_status kiln_c_print(kiln_c_unit *u, const kiln_program *p,
                         const kiln_c_function *f, kiln_c_printed *out, kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_buf body;
    kiln_c_printer x = {.arena = &scratch, .unit = u, .p = p, .err = err};
    kiln_status st = kiln_backend_check(&kiln_c_backend, p, err);
    if (st == KILN_OK)
        st = expand(&x);
    if (st == KILN_OK) {
        kiln_buf_init(&body, &scratch);
        kiln_buf_puts(&body, "");
        x.out = &body;
        x.depth = 1;
        (void)kiln_c_name(&x, "work");
        bind_arguments(&x, f);
        kiln_c_stmt(&x, x.p->body, true);
        st = x.status;
    }
    if (st == KILN_OK) {
        put_function(&x, f, &body);
        *out = (kiln_c_printed){.workspace_bytes = x.max_workspace};
        const char *kept = kiln_str_dup(u->arena, f->name);
        kiln_map_set(u->arena, &u->known, kiln_str_from(kept), (void *)(uintptr_t)kept);
    } else
        kiln_note(err, "printing '%s' as C", p->name);
    kiln_arena_fini(&scratch);
    return st;
}
