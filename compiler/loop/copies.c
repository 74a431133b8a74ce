#include "compiler/loop/copies.h"

const kiln_buffer *kiln_copies_of(const kiln_copies *c, const kiln_buffer *b) {
    for (size_t i = c->list.n; i-- > 0;)
        if (c->list.v[i].old == b)
            return c->list.v[i].made;
    return b;
}

const kiln_buffer *kiln_copies_make(kiln_copies *c, const kiln_buffer *b, int64_t n) {
    if (b->rank == KILN_MAX_AXES)
        return NULL;
    KILN_ASSERT(n > 0, "'%s' is made %lld times", b->name, (long long)n);
    kiln_buffer *made = kiln_new(c->arena, kiln_buffer);
    *made = *b;
    made->rank = b->rank + 1;
    made->dim[0] = kiln_x_index(c->arena, n);
    made->align[0] = (kiln_dim_align){0};
    for (int i = 0; i < b->rank; i++) {
        made->dim[i + 1] = b->dim[i];
        made->align[i + 1] = b->align[i];
    }
    kiln_vec_push(c->arena, &c->list, ((kiln_copied){b, made}));
    return made;
}

/* The copy's number in front. */
static const kiln_expr *const *index_of(const kiln_copies *c, const kiln_expr **to,
                                        const kiln_expr *const *index, int n) {
    KILN_ASSERT(n < KILN_MAX_AXES, "%d indexes have no room for one more", n);
    to[0] = n > 0 ? kiln_x_broadcast(c->arena, c->which, index[0]->lanes) : c->which;
    for (int i = 0; i < n; i++)
        to[i + 1] = index[i];
    return to;
}

static const kiln_expr *redirect_load(void *user, kiln_arena *a, const kiln_expr *e) {
    const kiln_copies *c = user;
    const kiln_expr *index[KILN_MAX_AXES];
    if (e->kind != KILN_EXPR_LOAD)
        return e;
    const kiln_buffer *b = kiln_copies_of(c, e->u.load.buffer);
    return b == e->u.load.buffer
               ? e
               : kiln_x_load(a, b, index_of(c, index, e->arg, e->n_arg), e->n_arg + 1,
                             e->u.load.mask);
}

static const kiln_stmt *redirect_store(void *user, kiln_arena *a, const kiln_stmt *s) {
    const kiln_copies *c = user;
    const kiln_expr *index[KILN_MAX_AXES];
    if (s->kind == KILN_STMT_ATTR && s->u.attr.buffer != NULL)
        return kiln_s_attr(a, s->u.attr.key, s->u.attr.text,
                           kiln_copies_of(c, s->u.attr.buffer), s->u.attr.value,
                           s->u.attr.body);
    if (s->kind != KILN_STMT_STORE)
        return s;
    const kiln_buffer *b = kiln_copies_of(c, s->u.store.buffer);
    return b == s->u.store.buffer
               ? s
               : kiln_s_store(a, b, index_of(c, index, s->u.store.index, b->rank - 1),
                              s->u.store.value, s->u.store.mask);
}

const kiln_stmt *kiln_copies_used(kiln_copies *c, const kiln_stmt *s) {
    return kiln_stmt_rewritten(
        c->arena, s,
        &(kiln_stmt_rewrite){.stmt = redirect_store, .expr = redirect_load, .user = c});
}
