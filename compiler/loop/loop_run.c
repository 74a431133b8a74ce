/* The loop interpreter's statements. Memory that a program allocates starts as NaN
 * (floats) or 0xA5 bytes: what reads before it writes shows. */
#include "compiler/loop/backend.h"
#include "compiler/loop/interpret.h"
#include "compiler/loop/loop_threads.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

kiln_interp_memory kiln_interp_describe(const kiln_buffer *b, unsigned char *data) {
    kiln_interp_memory m = {.buffer = b,
                            .data = data,
                            .elem_bytes = kiln_dtype_bytes(b->dtype),
                            .is_float = kiln_dtype_is_float(b->dtype)};
    kiln_buffer_strides(b, m.stride);
    for (int i = 0; i < b->rank; i++)
        m.dim[i] = kiln_buffer_dim(b, i);
    return m;
}

void kiln_interp_poison(kiln_interp_memory *m, int64_t elems) {
    const kiln_number nothing = {.f = (double)NAN, .i = (int64_t)0xA5A5A5A5A5A5A5A5u};
    for (int64_t i = 0; i < elems; i++)
        kiln_interp_store(m, i, nothing);
}

static int64_t scalar(kiln_interp *in, const kiln_expr *e) {
    const kiln_arena_mark mark = kiln_arena_save(in->arena);
    const int64_t x = kiln_interp_number(in, e).i;
    kiln_arena_rewind(in->arena, mark);
    return x;
}

static void exec_for(kiln_interp *in, const kiln_stmt *s) {
    const int64_t min = scalar(in, s->u.loop.min), n = scalar(in, s->u.loop.extent);
    const bool at_once =
        s->u.loop.kind == KILN_LOOP_PARALLEL || s->u.loop.kind == KILN_LOOP_VTHREAD;
    const bool backwards =
        at_once && in->options != NULL && in->options->reverse_parallel;
    kiln_interp_bind(in, s->u.loop.var, (kiln_number){0});
    const size_t slot = in->vars.n - 1;
    for (int64_t k = 0; k < n && in->status == KILN_OK; k++) {
        in->vars.v[slot].value.i = min + (backwards ? n - 1 - k : k);
        kiln_interp_exec(in, s->u.loop.body);
    }
    in->vars.n--;
}

static void exec_let(kiln_interp *in, const kiln_stmt *s) {
    const kiln_arena_mark mark = kiln_arena_save(in->arena);
    if (s->u.let.value->lanes != 1)
        in->status =
            kiln_fail(in->err, KILN_ERR_ARG, "variable '%s' is bound to a vector",
                      s->u.let.var->name);
    if (in->status != KILN_OK)
        return;
    const kiln_number value = kiln_interp_number(in, s->u.let.value);
    kiln_arena_rewind(in->arena, mark);
    kiln_interp_bind(in, s->u.let.var, value);
    kiln_interp_exec(in, s->u.let.body);
    in->vars.n--;
}

kiln_interp_memory kiln_interp_allocate(kiln_interp *in, const kiln_buffer *b,
                                        int64_t copies) {
    const int64_t elems = kiln_buffer_elems(b);
    kiln_interp_memory m = kiln_interp_describe(b, NULL);
    if (elems > KILN_MAX_ELEMS / copies) {
        in->status = kiln_fail(in->err, KILN_ERR_LIMIT,
                               "buffer '%s' has %" PRId64 " elements", b->name, elems);
        return m;
    }
    m.data = kiln_arena_array(in->arena, (size_t)(elems * copies),
                              kiln_dtype_bytes(b->dtype));
    kiln_interp_poison(&m, elems * copies);
    return m;
}

static void exec_alloc(kiln_interp *in, const kiln_stmt *s) {
    const kiln_arena_mark mark = kiln_arena_save(in->arena);
    if (s->u.alloc.buffer->scope == KILN_SCOPE_SHARED && in->launch == NULL) {
        in->status = kiln_launch_needed(in, s->u.alloc.buffer->name);
        return;
    }
    const kiln_interp_memory m = kiln_interp_allocate(in, s->u.alloc.buffer, 1);
    if (in->status != KILN_OK)
        return;
    /* The list may move when it grows, and its old storage must not be rewound: room is
     * made before the mark in kiln_program_run. */
    kiln_vec_push(in->arena, &in->memory, m);
    kiln_interp_exec(in, s->u.alloc.body);
    in->memory.n--;
    kiln_arena_rewind(in->arena, mark);
}

/* Where `at` is an element (not -1). */
static void write_element(kiln_interp *in, const kiln_stmt *s, int64_t turn,
                          kiln_interp_memory *m, int64_t at, kiln_number value) {
    if (at < 0)
        return;
    kiln_traffic_note(in, s, turn, m, at);
    if (kiln_shadow_touch(in, m, at, true))
        kiln_interp_store(m, at, value);
}

static void store_number(kiln_interp *in, const kiln_stmt *s, kiln_interp_memory *m) {
    const int64_t turn = kiln_traffic_turn(in, s);
    if (s->u.store.mask != NULL && kiln_interp_number(in, s->u.store.mask).i == 0)
        return;
    const kiln_number value = kiln_interp_number(in, s->u.store.value);
    if (in->status == KILN_OK)
        write_element(in, s, turn, m, kiln_interp_place(in, m, s->u.store.index),
                      value);
}

static void store_lanes(kiln_interp *in, const kiln_stmt *s, kiln_interp_memory *m) {
    kiln_lanes index[KILN_MAX_AXES];
    const int lanes = s->u.store.value->lanes;
    const bool *on = NULL;
    if (s->u.store.mask != NULL) {
        const kiln_lanes mask = kiln_interp_eval(in, s->u.store.mask, NULL);
        bool *lane = kiln_array(in->arena, bool, lanes);
        for (int k = 0; k < lanes; k++)
            lane[k] = mask.i[k] != 0;
        on = lane;
    }
    const kiln_lanes v = kiln_interp_eval(in, s->u.store.value, on);
    for (int i = 0; i < s->u.store.buffer->rank; i++)
        index[i] = kiln_interp_eval(in, s->u.store.index[i], on);
    const int64_t turn = kiln_traffic_turn(in, s);
    for (int k = 0; k < lanes && in->status == KILN_OK; k++)
        if (on == NULL || on[k])
            write_element(in, s, turn, m, kiln_interp_offset(in, m, index, k),
                          kiln_interp_lane(&v, k));
}

static void exec_store(kiln_interp *in, const kiln_stmt *s) {
    const kiln_buffer *b = s->u.store.buffer;
    kiln_interp_memory *m = kiln_interp_find(in, b);
    const kiln_arena_mark mark = kiln_arena_save(in->arena);
    if (m == NULL) {
        in->status =
            kiln_fail(in->err, KILN_ERR_ARG,
                      "buffer '%s' is written where it does not exist", b->name);
        return;
    }
    if (!kiln_interp_reaches(in, b, "writes"))
        return;
    if (s->u.store.value->lanes == 1)
        store_number(in, s, m);
    else
        store_lanes(in, s, m);
    kiln_arena_rewind(in->arena, mark);
}

static void exec_eval(kiln_interp *in, const kiln_stmt *s) {
    const kiln_arena_mark mark = kiln_arena_save(in->arena);
    kiln_interp_eval(in, s->u.eval, NULL);
    kiln_arena_rewind(in->arena, mark);
}

bool kiln_interp_step(kiln_interp *in) {
    if (in->status == KILN_OK && in->options != NULL && in->options->max_steps > 0 &&
        ++in->steps > in->options->max_steps)
        in->status = kiln_fail(in->err, KILN_ERR_LIMIT,
                               "the program takes more than %" PRId64 " steps",
                               in->options->max_steps);
    return in->status == KILN_OK;
}

void kiln_interp_exec(kiln_interp *in, const kiln_stmt *s) {
    if (!kiln_interp_step(in))
        return;
    switch (s->kind) {
    case KILN_STMT_FOR:
        if (s->u.loop.kind == KILN_LOOP_THREAD)
            kiln_interp_launch(in, s);
        else
            exec_for(in, s);
        break;
    case KILN_STMT_SEQ:
        for (int i = 0; i < s->u.seq.n; i++)
            kiln_interp_exec(in, s->u.seq.stmt[i]);
        break;
    case KILN_STMT_IF:
        if (scalar(in, s->u.branch.cond) != 0)
            kiln_interp_exec(in, s->u.branch.then);
        else if (s->u.branch.otherwise != NULL)
            kiln_interp_exec(in, s->u.branch.otherwise);
        break;
    case KILN_STMT_LET:
        exec_let(in, s);
        break;
    case KILN_STMT_ALLOC:
        exec_alloc(in, s);
        break;
    case KILN_STMT_STORE:
        exec_store(in, s);
        break;
    case KILN_STMT_EVAL:
        exec_eval(in, s);
        break;
    case KILN_STMT_ATTR:
        kiln_interp_exec(in, s->u.attr.body);
        break;
    case KILN_STMT_BARRIER:
        in->status = kiln_fail(in->err, KILN_ERR_ARG,
                               "a barrier stands outside all thread loops%s",
                               kiln_interp_where(in));
        break;
    case KILN_STMT_CALL:
    case KILN_STMT_COPY:
    case KILN_STMT_LAUNCH:
        kiln_interp_call(in, s);
        break;
    }
}

/* Statements nest at most this deep in variables and allocations; the lists are given
 * room for it, so that they never move while the arena is rewound under them. */
enum { MAX_NESTING = 256 };

static int nesting(const kiln_stmt *s) {
    const bool binds = s->kind == KILN_STMT_FOR || s->kind == KILN_STMT_LET ||
                       s->kind == KILN_STMT_ALLOC;
    const kiln_stmt *part = NULL;
    int deepest = 0;
    if (kiln_stmt_is_call(s))
        deepest = s->u.call.program->n_args + s->u.call.program->n_params +
                  nesting(s->u.call.program->body);
    for (int i = 0; (part = kiln_stmt_part(s, i)) != NULL; i++) {
        const int n = nesting(part);
        deepest = n > deepest ? n : deepest;
    }
    return deepest + (binds ? 1 : 0);
}

/* Hints to code generators change no result. */
const kiln_backend kiln_backend_interpreter = {
    .name = "the interpreter",
    .stmt = {[KILN_STMT_FOR] = KILN_DOES,
             [KILN_STMT_SEQ] = KILN_DOES,
             [KILN_STMT_IF] = KILN_DOES,
             [KILN_STMT_LET] = KILN_DOES,
             [KILN_STMT_ALLOC] = KILN_DOES,
             [KILN_STMT_STORE] = KILN_DOES,
             [KILN_STMT_EVAL] = KILN_DOES,
             [KILN_STMT_ATTR] = KILN_DOES,
             [KILN_STMT_BARRIER] = KILN_DOES,
             [KILN_STMT_CALL] = KILN_DOES,
             [KILN_STMT_LAUNCH] = KILN_DOES,
             [KILN_STMT_COPY] = KILN_DOES},
    .loop = {[KILN_LOOP_SERIAL] = KILN_DOES,
             [KILN_LOOP_PARALLEL] = KILN_DOES,
             [KILN_LOOP_VECTORIZED] = KILN_DOES,
             [KILN_LOOP_UNROLLED] = KILN_DOES,
             [KILN_LOOP_THREAD] = KILN_DOES,
             [KILN_LOOP_VTHREAD] = KILN_DOES},
    .scope = {[KILN_SCOPE_GLOBAL] = KILN_DOES,
              [KILN_SCOPE_LOCAL] = KILN_DOES,
              [KILN_SCOPE_REGISTER] = KILN_DOES,
              [KILN_SCOPE_SHARED] = KILN_DOES,
              [KILN_SCOPE_DEVICE] = KILN_DOES,
              [KILN_SCOPE_FRAGMENT] = KILN_DOES,
              [KILN_N_SCOPES - 1] = KILN_DOES},
    .attr = {[KILN_STMT_ATTR_PRAGMA] = KILN_DOES,
             [KILN_STMT_ATTR_THREAD_EXTENT] =
                 "threads run as loops here; bind a loop to the axis instead",
             [KILN_STMT_ATTR_COPROC_SCOPE] =
                 ("there are no queues of an accelerator here; run the program before "
                  "it is given them"),
             [KILN_STMT_ATTR_DOUBLE_BUFFER] = KILN_DOES,
             [KILN_STMT_ATTR_DEPENDENCE_SCOPE] =
                 ("there are no dependence tokens here; run the program before it is "
                  "given them"),
             [KILN_STMT_ATTR_STAGE] = KILN_DOES,
             [KILN_STMT_ATTR_TENSORIZE] = KILN_DOES,
             [KILN_STMT_ATTR_ASYNC] = KILN_DOES,
             [KILN_STMT_ATTR_PRODUCTS] = KILN_DOES,
             [KILN_STMT_ATTR_SWING] = KILN_DOES},
    .expr = {KILN_BACKEND_ALL_EXPRS},
    .effect = {[KILN_INTRIN_prefetch] = KILN_DOES},
    .param = "nobody gives it a value; run a program that launches this one",
    .value = KILN_DOES,
};

kiln_status kiln_program_run(kiln_arena *scratch, const kiln_program *p,
                             void *const *arg, const kiln_loop_run_options *o,
                             kiln_err *err) {
    const kiln_arena_mark mark = kiln_arena_save(scratch);
    kiln_interp in = {.arena = scratch, .options = o, .err = err};
    const int depth = nesting(p->body);
    KILN_TRY(kiln_backend_check(&kiln_backend_interpreter, p, err));
    if (depth > MAX_NESTING)
        return kiln_fail(err, KILN_ERR_LIMIT, "program '%s' nests %d deep, at most %d",
                         p->name, depth, MAX_NESTING);
    in.vars.v = kiln_array(scratch, kiln_interp_var, depth + 1);
    in.vars.cap = (size_t)depth + 1;
    in.memory.v = kiln_array(scratch, kiln_interp_memory, p->n_args + depth + 1);
    in.memory.cap = (size_t)p->n_args + (size_t)depth + 1;
    for (int i = 0; i < p->n_args; i++)
        in.memory.v[in.memory.n++] = kiln_interp_describe(p->arg[i], arg[i]);
    kiln_interp_exec(&in, p->body);
    if (in.status != KILN_OK)
        kiln_note(err, "interpreting '%s'", p->name);
    kiln_arena_rewind(scratch, mark);
    return in.status;
}
