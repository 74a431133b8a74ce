/* flatten: buffers become one-dimensional, an access sum(index * stride). A ramp along
 * the last axis stays a ramp of stride 1. */
#include "compiler/loop/loop_walk.h"
#include "base/fault.h"

typedef struct flat_buffer {
    const kiln_buffer *old;
    kiln_buffer *flat;
    int64_t stride[KILN_MAX_AXES];
} flat_buffer;

typedef struct flatten {
    kiln_arena *arena;
    kiln_ranges ranges; /* none known: indexes are brought to normal form only */
    KILN_VEC(flat_buffer) buffer;
} flatten;

static const flat_buffer *flat_of(flatten *f, const kiln_buffer *b) {
    for (size_t i = f->buffer.n; i-- > 0;)
        if (f->buffer.v[i].old == b)
            return &f->buffer.v[i];
    flat_buffer x = {.old = b};
    const int64_t elems = kiln_buffer_elems(b);
    kiln_buffer_strides(b, x.stride);
    KILN_ASSERT(elems == 0 || b->rank == 0 || x.stride[b->rank - 1] > 0,
                "elements of '%s' share a place", b->name);
    if (b->rank > 1 && x.stride[0] > 1 && KILN_FAULT(flat_stride))
        x.stride[0]--;
    x.flat = kiln_buffer_new(f->arena, b->name, b->dtype, 1, &elems, b->scope);
    x.flat->align_bytes = b->align_bytes;
    x.flat->arg = b->arg;
    x.flat->is_written = b->is_written;
    kiln_vec_push(f->arena, &f->buffer, x);
    return &f->buffer.v[f->buffer.n - 1];
}

/* sum += index * by, as base and stride of the lanes; false: the index is no ramp. */
static bool add_index(const kiln_expr *index, int64_t by, kiln_linear *base,
                      int64_t *stride) {
    int64_t step = 0;
    kiln_linear part;
    if (index->kind == KILN_EXPR_RAMP) {
        if (!kiln_x_is_int(index->arg[1], &step) || step > INT32_MAX ||
            step < -INT32_MAX || by > INT32_MAX)
            return false;
        *stride += step * by;
        index = index->arg[0];
    }
    if (index->kind == KILN_EXPR_BROADCAST)
        index = index->arg[0];
    return kiln_linear_of(index, &part) && kiln_linear_add(base, &part, by);
}

static const kiln_expr *general_index(flatten *f, const flat_buffer *b,
                                      const kiln_expr *const *index) {
    kiln_arena *a = f->arena;
    const kiln_expr *sum = kiln_x_index(a, 0);
    for (int i = 0; i < b->old->rank; i++)
        sum = kiln_vector_binary(&f->ranges, a, KILN_EXPR_ADD, sum,
                                 kiln_vector_binary(&f->ranges, a, KILN_EXPR_MUL,
                                                    index[i],
                                                    kiln_x_index(a, b->stride[i])));
    return sum;
}

static const kiln_expr *flat_index(flatten *f, const flat_buffer *b,
                                   const kiln_expr *const *index) {
    kiln_arena *a = f->arena;
    kiln_linear base;
    base.n = 0;
    base.constant = 0;
    int64_t stride = 0;
    for (int i = 0; i < b->old->rank; i++)
        if (!add_index(index[i], b->stride[i], &base, &stride))
            return general_index(f, b, index);
    const kiln_expr *first = kiln_linear_expr(a, &base);
    const int lanes = b->old->rank > 0 ? index[0]->lanes : 1;
    return lanes == 1 ? first : kiln_x_ramp(a, first, kiln_x_index(a, stride), lanes);
}

static const kiln_expr *flat_expr(void *user, kiln_arena *a, const kiln_expr *e) {
    flatten *f = user;
    if (e->kind != KILN_EXPR_LOAD)
        return e;
    const flat_buffer *b = flat_of(f, e->u.load.buffer);
    const kiln_expr *index = flat_index(f, b, e->arg);
    return kiln_x_load(a, b->flat, &index, 1, e->u.load.mask);
}

static const kiln_stmt *flat_stmt(void *user, kiln_arena *a, const kiln_stmt *s) {
    flatten *f = user;
    switch (s->kind) {
    case KILN_STMT_STORE: {
        const flat_buffer *b = flat_of(f, s->u.store.buffer);
        const kiln_expr *index = flat_index(f, b, s->u.store.index);
        return kiln_s_store(a, b->flat, &index, s->u.store.value, s->u.store.mask);
    }
    case KILN_STMT_ALLOC:
        return kiln_s_alloc(a, flat_of(f, s->u.alloc.buffer)->flat, s->u.alloc.body);
    case KILN_STMT_ATTR:
        return s->u.attr.buffer == NULL
                   ? s
                   : kiln_s_attr(a, s->u.attr.key, s->u.attr.text,
                                 flat_of(f, s->u.attr.buffer)->flat, s->u.attr.value,
                                 s->u.attr.body);
    case KILN_STMT_FOR:
    case KILN_STMT_SEQ:
    case KILN_STMT_IF:
    case KILN_STMT_LET:
    case KILN_STMT_EVAL:
    case KILN_STMT_BARRIER:
    case KILN_STMT_CALL: /* places are expressions */
    case KILN_STMT_COPY:
    case KILN_STMT_LAUNCH:
        return s;
    }
    return s;
}

static kiln_status run(kiln_program *p, const kiln_loop_options *o, kiln_err *err) {
    (void)o;
    (void)err;
    if (p->is_flat)
        return KILN_OK;
    flatten f = {.arena = p->arena, .ranges = {.arena = p->arena}};
    const kiln_buffer **arg = kiln_array(p->arena, const kiln_buffer *, p->n_args);
    for (int i = 0; i < p->n_args; i++)
        arg[i] = flat_of(&f, p->arg[i])->flat;
    p->body = kiln_stmt_rewritten(
        p->arena, p->body,
        &(kiln_stmt_rewrite){.stmt = flat_stmt, .expr = flat_expr, .user = &f});
    KILN_ASSERT(f.buffer.n >= (size_t)p->n_args, "'%s' has %d arguments, %zu buffers",
                p->name, p->n_args, f.buffer.n);
    p->arg = arg;
    p->is_flat = true;
    return KILN_OK;
}

const kiln_loop_pass kiln_loop_pass_flatten = {
    .name = "flatten",
    .doc = "gives buffers one dimension",
    .run = run,
};
