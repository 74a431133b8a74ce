/* The interpreter's calls and launches: another program, on blocks of this one's memory.
 *
 * The blocks are the caller's elements, so who touches what is seen of a called program
 * as of its caller. */
#include "compiler/loop/loop_threads.h"

#include <inttypes.h>

/* The elements from the place on, as the called program's argument. */
static kiln_interp_memory block_at(kiln_interp *in, const kiln_program *p, int arg,
                                   const kiln_expr *place) {
    const kiln_buffer *b = p->arg[arg];
    const kiln_interp_memory *m = kiln_interp_find(in, place->u.load.buffer);
    const int64_t n = kiln_buffer_elems(b);
    kiln_interp_memory block = kiln_interp_describe(b, NULL);
    if (m == NULL) {
        kiln_interp_failed(in, KILN_ERR_ARG,
                           "'%s' is given '%s' where it does not exist", p->name,
                           place->u.load.buffer->name);
        return block;
    }
    if (kiln_dtype_bytes(b->dtype) != kiln_dtype_bytes(m->buffer->dtype)) {
        kiln_interp_failed(in, KILN_ERR_ARG,
                           "'%s' takes elements of %s, buffer '%s' has %s", p->name,
                           kiln_dtype_name(b->dtype), m->buffer->name,
                           kiln_dtype_name(m->buffer->dtype));
        return block;
    }
    if (n == 0 && kiln_buffer_elems(m->buffer) == 0) {
        block.data = m->data; /* nothing, which no index names */
        block.shadow = m->shadow;
        return block;
    }
    const int64_t at = kiln_interp_place(in, m, place->arg);
    const int64_t has = kiln_buffer_elems(m->buffer);
    if (at >= 0 && n > has - at)
        kiln_interp_failed(in, KILN_ERR_SHAPE,
                           "'%s' takes %" PRId64
                           " elements of '%s' from element %" PRId64
                           " on, which has %" PRId64 "%s",
                           p->name, n, m->buffer->name, at, has, kiln_interp_where(in));
    if (in->status != KILN_OK)
        return block;
    block.data = m->data + (size_t)at * kiln_dtype_bytes(m->buffer->dtype);
    if (m->shadow != NULL) {
        block.shadow = kiln_new(in->arena, kiln_shadow);
        *block.shadow = *m->shadow;
        block.shadow->cell += at;
        block.shadow->form.row = 0; /* a warp does it together */
    }
    return block;
}

static const int64_t *grid_of(kiln_interp *in, const kiln_stmt *s) {
    int64_t *grid = kiln_array(in->arena, int64_t, KILN_N_AXES);
    for (int i = 0; i < KILN_N_AXES; i++)
        grid[i] = kiln_interp_number(in, s->u.call.grid[i]).i;
    return grid;
}

void kiln_interp_call(kiln_interp *in, const kiln_stmt *s) {
    const kiln_program *p = s->u.call.program;
    const kiln_arena_mark mark = kiln_arena_save(in->arena);
    kiln_interp_memory *block = kiln_array(in->arena, kiln_interp_memory, p->n_args);
    kiln_interp_var *value = kiln_array(in->arena, kiln_interp_var, p->n_params);
    const size_t n_vars = in->vars.n, n_memory = in->memory.n;
    if (s->kind == KILN_STMT_LAUNCH && in->launch != NULL)
        kiln_interp_failed(in, KILN_ERR_ARG, "'%s' is launched by a thread%s", p->name,
                           kiln_interp_where(in));
    if (s->kind == KILN_STMT_COPY && in->launch != NULL)
        kiln_interp_failed(in, KILN_ERR_ARG, "a thread copies; the host does%s",
                           kiln_interp_where(in));
    for (int i = 0; i < p->n_args && s->kind == KILN_STMT_CALL; i++)
        (void)kiln_interp_reaches(in, s->u.call.arg[i]->u.load.buffer, "calls on");
    for (int i = 0; i < p->n_args && in->status == KILN_OK; i++)
        block[i] = block_at(in, p, i, s->u.call.arg[i]);
    for (int i = 0; i < p->n_params && in->status == KILN_OK; i++)
        value[i] = (kiln_interp_var){
            p->param[i], kiln_interp_number(in, s->u.call.arg[p->n_args + i])};
    if (s->kind == KILN_STMT_LAUNCH && in->status == KILN_OK)
        in->grid = grid_of(in, s);
    if (in->status != KILN_OK)
        return;
    for (int i = 0; i < p->n_args; i++)
        kiln_vec_push(in->arena, &in->memory, block[i]);
    for (int i = 0; i < p->n_params; i++)
        kiln_vec_push(in->arena, &in->vars, value[i]);
    kiln_interp_exec(in, p->body);
    in->grid = NULL;
    in->vars.n = n_vars;
    in->memory.n = n_memory;
    kiln_arena_rewind(in->arena, mark);
}
