/* What a part of a tensor intrinsic does to its blocks, as a program that the declaration
 * makes: its arguments are the blocks, its loops say what is read, written, updated. */
#include "compiler/loop/tensor_intrin.h"

typedef struct maker {
    kiln_arena *a;
    const kiln_te *te;
    const kiln_tensor_operand *given_in, *given_out; /* how they lie */
    kiln_buffer *in[KILN_MAX_TE_OUTS], *out;
} maker;

/* From its first element to its last. */
static kiln_buffer *block_of(kiln_arena *a, const kiln_te *te,
                             const kiln_tensor_operand *given, int arg,
                             bool is_written) {
    int64_t elems = 1;
    for (int i = 0; i < te->rank; i++)
        elems += (kiln_te_dim(te, i) - 1) * given->stride[i];
    kiln_buffer *b =
        kiln_buffer_new(a, te->name, te->dtype[0], 1, &elems, KILN_SCOPE_GLOBAL);
    b->arg = arg;
    b->is_written = is_written;
    return b;
}

static const kiln_expr *flat_index(kiln_arena *a, const kiln_te *te,
                                   const kiln_tensor_operand *given,
                                   const kiln_expr *const *index) {
    const kiln_expr *at = kiln_x_index(a, 0);
    for (int i = 0; i < te->rank; i++)
        at = kiln_x_add(a, at,
                        kiln_x_mul(a, index[i], kiln_x_index(a, given->stride[i])));
    return at;
}

static const kiln_expr *read_block(void *user, kiln_arena *a, const kiln_expr *e) {
    const maker *m = user;
    int i = 0;
    if (e->kind != KILN_EXPR_READ)
        return e;
    while (m->te->in[i] != e->u.read.te)
        i++;
    const kiln_expr *at = flat_index(a, e->u.read.te, &m->given_in[i], e->arg);
    return kiln_x_load(a, m->in[i], &at, 1, NULL);
}

static const kiln_stmt *loops(kiln_arena *a, const kiln_axis *const *axis, int n,
                              const kiln_stmt *s) {
    for (int i = n; i-- > 0;)
        s = kiln_s_for(a, axis[i]->var, kiln_x_index(a, 0), axis[i]->extent,
                       KILN_LOOP_SERIAL, NULL, s);
    return s;
}

static const kiln_stmt *one_part(maker *m, bool is_reset) {
    kiln_arena *a = m->a;
    const kiln_te *te = m->te;
    const kiln_reduction *red = te->body[0]->u.reduce;
    const kiln_reducer *r = red->reducer;
    const kiln_expr *index[KILN_MAX_AXES], *value = r->identity[0];
    for (int i = 0; i < te->rank; i++)
        index[i] = kiln_x_ref(a, te->axis[i]->var);
    const kiln_expr *at = flat_index(a, te, m->given_out, index);
    if (!is_reset) {
        const kiln_subst map[] = {
            {r->lhs[0], kiln_x_load(a, m->out, &at, 1, NULL)},
            {r->rhs[0], kiln_expr_rewrite(a, red->source[0], read_block, m)}};
        value = kiln_expr_substitute(a, r->result[0], map, 2);
    }
    const kiln_stmt *s = kiln_s_store(a, m->out, &at, value, NULL);
    if (!is_reset)
        s = loops(a, te->reduce, te->n_reduce, s);
    return loops(a, te->axis, te->rank, s);
}

const kiln_program *kiln_tensor_program(kiln_arena *a, const kiln_tensor_intrin *intrin,
                                        const kiln_te *te, kiln_tensor_part part,
                                        const kiln_tensor_operand *in,
                                        const kiln_tensor_operand *out) {
    static const char *const name[] = {[KILN_TENSOR_RESET] = "reset",
                                       [KILN_TENSOR_UPDATE] = "update",
                                       [KILN_TENSOR_BODY] = "body"};
    maker m = {.a = a, .te = te, .given_in = in, .given_out = out};
    kiln_program *p = kiln_new(a, kiln_program);
    KILN_ASSERT(te->n_in <= KILN_MAX_TE_OUTS && kiln_tensor_source(te) != NULL,
                "'%s' has too many operands", intrin->name);
    p->name = kiln_format(a, "%s.%s", intrin->name, name[part]);
    p->arena = a;
    p->is_flat = true;
    p->arg = kiln_array(a, const kiln_buffer *, te->n_in + 1);
    for (int i = 0; i < te->n_in && part != KILN_TENSOR_RESET; i++)
        p->arg[p->n_args++] = m.in[i] = block_of(a, te->in[i], &in[i], i, false);
    p->n_inputs = p->n_args;
    m.out = block_of(a, te, out, p->n_args, true);
    p->arg[p->n_args++] = m.out;
    const kiln_stmt *s[2] = {kiln_s_nothing(a), kiln_s_nothing(a)};
    if (part != KILN_TENSOR_UPDATE)
        s[0] = one_part(&m, true);
    if (part != KILN_TENSOR_RESET)
        s[1] = one_part(&m, false);
    p->body = kiln_s_seq(a, s, 2);
    return p;
}
