/* Buffers, and loads from them. */
#include "compiler/tensor/tensor.h"

static const char *const scope_word[] = {
    [KILN_SCOPE_GLOBAL] = "global",     [KILN_SCOPE_LOCAL] = "local",
    [KILN_SCOPE_REGISTER] = "register", [KILN_SCOPE_SHARED] = "shared",
    [KILN_SCOPE_DEVICE] = "device",     [KILN_SCOPE_FRAGMENT] = "fragment",
};
enum { N_SCOPE_WORDS = sizeof scope_word / sizeof scope_word[0], MAX_SCOPE = 255 };
_Static_assert(KILN_SCOPE_FRAGMENT + 1 == N_SCOPE_WORDS, "a word for each scope");

const char *kiln_scope_name(kiln_scope scope) {
    KILN_ASSERT((int)scope < N_SCOPE_WORDS || scope >= KILN_SCOPE_TARGET,
                "scope %d is neither kiln's nor a target's", (int)scope);
    return scope < KILN_SCOPE_TARGET ? scope_word[scope] : NULL;
}

bool kiln_scope_find(kiln_str word, kiln_scope *out) {
    kiln_str rest = word;
    uint64_t number;
    for (int i = 0; i < N_SCOPE_WORDS; i++)
        if (kiln_str_is(word, scope_word[i])) {
            *out = (kiln_scope)i;
            return true;
        }
    if (!kiln_text_skip(&rest, "scope") || !kiln_text_u64(&rest, &number) ||
        rest.n > 0 || number < KILN_SCOPE_TARGET || number > MAX_SCOPE)
        return false;
    *out = (kiln_scope)number;
    return true;
}

kiln_buffer *kiln_buffer_new(kiln_arena *a, const char *name, kiln_dtype dtype,
                             int rank, const int64_t *dim, kiln_scope scope) {
    KILN_ASSERT(rank >= 0 && rank <= KILN_MAX_AXES, "buffer '%s' has rank %d", name,
                rank);
    kiln_buffer *b = kiln_new(a, kiln_buffer);
    b->name = name;
    b->dtype = dtype;
    b->rank = rank;
    for (int i = 0; i < rank; i++)
        b->dim[i] = kiln_x_index(a, dim[i]);
    b->scope = scope;
    b->arg = -1;
    return b;
}

int64_t kiln_buffer_dim(const kiln_buffer *b, int axis) {
    int64_t v = 0;
    const bool is_const = kiln_x_is_int(b->dim[axis], &v);
    KILN_ASSERT(is_const, "buffer '%s' has no constant extent %d", b->name, axis);
    return v;
}

void kiln_buffer_strides(const kiln_buffer *b, int64_t *stride) {
    int64_t s = 1;
    for (int i = b->rank; i-- > 0;) {
        const kiln_dim_align al = b->align[i];
        if (al.factor > 1) { /* the next stride that is offset (mod factor) */
            const int64_t rest = s % al.factor;
            s += (al.offset - rest + al.factor) % al.factor;
        }
        stride[i] = s;
        s *= kiln_buffer_dim(b, i);
    }
}

int64_t kiln_buffer_elems(const kiln_buffer *b) {
    int64_t stride[KILN_MAX_AXES];
    kiln_buffer_strides(b, stride);
    return b->rank == 0 ? 1 : stride[0] * kiln_buffer_dim(b, 0);
}

const kiln_expr *kiln_x_load(kiln_arena *a, const kiln_buffer *b,
                             const kiln_expr *const *index, int n,
                             const kiln_expr *mask) {
    KILN_ASSERT(n == b->rank, "buffer '%s' has rank %d, is read with %d indexes",
                b->name, b->rank, n);
    kiln_expr *e = kiln_new(a, kiln_expr);
    e->kind = KILN_EXPR_LOAD;
    e->dtype = b->dtype;
    e->lanes = 1;
    e->n_arg = n;
    e->arg = kiln_array(a, const kiln_expr *, n);
    for (int i = 0; i < n; i++)
        e->lanes = index[i]->lanes > e->lanes ? index[i]->lanes : e->lanes;
    if (mask != NULL && mask->lanes > e->lanes)
        e->lanes = mask->lanes;
    for (int i = 0; i < n; i++)
        e->arg[i] = kiln_x_broadcast(a, index[i], e->lanes);
    e->u.load.buffer = b;
    e->u.load.mask = mask != NULL ? kiln_x_broadcast(a, mask, e->lanes) : NULL;
    return e;
}
