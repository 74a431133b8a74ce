/* Tensor expressions: placeholders and computes, checked when they are sealed. */
#include "compiler/tensor/tensor.h"

static kiln_axis *make_axis(kiln_arena *a, const char *name, int64_t extent,
                            bool is_reduce) {
    kiln_axis *x = kiln_new(a, kiln_axis);
    x->name = name;
    x->extent = kiln_x_index(a, extent);
    x->var = kiln_var_new(a, name, KILN_I64);
    x->is_reduce = is_reduce;
    return x;
}

static kiln_te *make(kiln_arena *a, kiln_te_kind kind, const char *name, int rank,
                     const int64_t *dim) {
    static const char *const axis_name[KILN_MAX_AXES] = {
        "i0", "i1", "i2",  "i3",  "i4",  "i5",  "i6",  "i7",
        "i8", "i9", "i10", "i11", "i12", "i13", "i14", "i15"};
    KILN_ASSERT(rank >= 0 && rank <= KILN_MAX_AXES, "'%s' has rank %d", name, rank);
    kiln_te *te = kiln_new(a, kiln_te);
    te->kind = kind;
    te->name = name;
    te->tag = "";
    te->arena = a;
    te->rank = rank;
    for (int i = 0; i < rank; i++)
        te->axis[i] = make_axis(a, axis_name[i], dim[i], false);
    return te;
}

kiln_te *kiln_te_placeholder(kiln_arena *a, const char *name, kiln_dtype dtype,
                             int rank, const int64_t *dim) {
    kiln_te *te = make(a, KILN_TE_PLACEHOLDER, name, rank, dim);
    te->n_out = 1;
    te->dtype[0] = dtype;
    return te;
}

kiln_te *kiln_te_begin(kiln_arena *a, const char *name, int rank, const int64_t *dim) {
    return make(a, KILN_TE_COMPUTE, name, rank, dim);
}

kiln_te *kiln_te_extern(kiln_arena *a, const char *name, int rank, const int64_t *dim,
                        int n_in, const kiln_te *const *in, int n_out,
                        const kiln_dtype *dtype, const kiln_extern *ext) {
    kiln_te *te = make(a, KILN_TE_EXTERN, name, rank, dim);
    KILN_ASSERT(n_out >= 1 && n_out <= KILN_MAX_TE_OUTS && n_in <= KILN_MAX_AXES,
                "'%s' has %d inputs and %d outputs", name, n_in, n_out);
    te->tag = ext->name;
    te->in = kiln_array(a, const kiln_te *, n_in);
    for (int i = 0; i < n_in; i++) {
        KILN_ASSERT(in[i]->n_out == 1, "extern stage '%s' reads '%s', of %d outputs",
                    name, in[i]->name, in[i]->n_out);
        te->in[i] = in[i];
    }
    te->n_in = n_in;
    te->n_out = n_out;
    for (int k = 0; k < n_out; k++)
        te->dtype[k] = dtype[k];
    te->ext = ext;
    return te;
}

const kiln_axis *kiln_te_reduce_axis(kiln_te *te, const char *name, int64_t extent) {
    KILN_ASSERT(te->kind == KILN_TE_COMPUTE && te->n_out == 0,
                "'%s' is sealed: it takes no more axes", te->name);
    KILN_ASSERT(te->n_reduce < KILN_MAX_AXES, "'%s' has too many reduction axes",
                te->name);
    return te->reduce[te->n_reduce++] = make_axis(te->arena, name, extent, true);
}

const kiln_expr *kiln_te_var(const kiln_te *te, int axis) {
    KILN_ASSERT(axis >= 0 && axis < te->rank, "'%s' has no axis %d", te->name, axis);
    return kiln_x_ref(te->arena, te->axis[axis]->var);
}

const kiln_expr *kiln_axis_var(kiln_arena *a, const kiln_axis *axis) {
    return kiln_x_ref(a, axis->var);
}

const kiln_expr *kiln_te_read(kiln_arena *a, const kiln_te *te,
                              const kiln_expr *const *index) {
    return kiln_x_read(a, te, 0, index, te->rank);
}

const kiln_expr *kiln_te_sum(kiln_te *te, const kiln_expr *source,
                             const kiln_axis *const *axes, int n_axes) {
    KILN_ASSERT(n_axes > 0, "'%s' sums over no axis", te->name);
    return kiln_x_reduce(te->arena, kiln_reducer_sum(te->arena, source->dtype), &source,
                         axes, n_axes, NULL, 0);
}

int64_t kiln_te_dim(const kiln_te *te, int axis) {
    KILN_ASSERT(axis >= 0 && axis < te->rank, "'%s' has no axis %d", te->name, axis);
    int64_t v = 0;
    const bool is_const = kiln_x_is_int(te->axis[axis]->extent, &v);
    KILN_ASSERT(is_const, "axis %d of '%s' has no constant extent", axis, te->name);
    return v;
}

int64_t kiln_te_elems(const kiln_te *te) {
    int64_t n = 1;
    for (int i = 0; i < te->rank; i++)
        n *= kiln_te_dim(te, i);
    return n;
}

bool kiln_te_is_injective(const kiln_te *te) {
    return te->kind == KILN_TE_COMPUTE && te->n_out > 0 &&
           te->body[0]->kind != KILN_EXPR_REDUCE;
}

/* ---- sealing ------------------------------------------------------------------- */

typedef struct sealing {
    kiln_te *te;
    KILN_VEC(const kiln_te *) in;
    const kiln_var *free; /* a variable that is no axis */
    bool nested_reduce;
} sealing;

static bool is_axis(const kiln_te *te, const kiln_var *v) {
    for (int i = 0; i < te->rank; i++)
        if (te->axis[i]->var == v)
            return true;
    for (int i = 0; i < te->n_reduce; i++)
        if (te->reduce[i]->var == v)
            return true;
    return false;
}

static void look(void *user, const kiln_expr *e) {
    sealing *s = user;
    if (e->kind == KILN_EXPR_VAR && !is_axis(s->te, e->u.var))
        s->free = e->u.var;
    if (e->kind == KILN_EXPR_REDUCE)
        s->nested_reduce = true;
    if (e->kind != KILN_EXPR_READ)
        return;
    for (size_t i = 0; i < s->in.n; i++)
        if (s->in.v[i] == e->u.read.te)
            return;
    kiln_vec_push(s->te->arena, &s->in, e->u.read.te);
}

/* The parts below a whole-body reduction, or the body itself. */
static void look_at_body(sealing *s, const kiln_expr *body) {
    if (body->kind != KILN_EXPR_REDUCE) {
        kiln_expr_visit(body, look, s);
        return;
    }
    const kiln_reduction *r = body->u.reduce;
    for (int i = 0; i < r->reducer->n; i++)
        kiln_expr_visit(r->source[i], look, s);
    if (r->cond != NULL)
        kiln_expr_visit(r->cond, look, s);
}

kiln_status kiln_te_end(kiln_te *te, int n_out, const kiln_expr *const *body,
                        kiln_err *err) {
    KILN_ASSERT(te->kind == KILN_TE_COMPUTE, "'%s' is given a body, but is no compute",
                te->name);
    sealing s = {.te = te};
    if (n_out < 1 || n_out > KILN_MAX_TE_OUTS)
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "stage '%s' must have between 1 and %d outputs, has %d",
                         te->name, KILN_MAX_TE_OUTS, n_out);
    for (int i = 0; i < n_out; i++)
        look_at_body(&s, body[i]);
    if (s.nested_reduce)
        return kiln_fail(
            err, KILN_ERR_SHAPE,
            "stage '%s': a reduction must be the whole body; make it a stage of "
            "its own",
            te->name);
    if (s.free != NULL)
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "stage '%s' uses '%s', which is none of its axes", te->name,
                         s.free->name);
    for (int i = 0; i < n_out; i++) {
        if ((body[i]->kind == KILN_EXPR_REDUCE) != (body[0]->kind == KILN_EXPR_REDUCE))
            return kiln_fail(err, KILN_ERR_SHAPE,
                             "stage '%s': all outputs or none must be reductions",
                             te->name);
        te->body[i] = body[i];
        te->dtype[i] = body[i]->dtype;
    }
    te->n_out = n_out;
    te->n_in = (int)s.in.n;
    te->in = s.in.v;
    return KILN_OK;
}

/* ---- order --------------------------------------------------------------------- */

typedef struct topo {
    kiln_arena *arena;
    KILN_VEC(const kiln_te *) list;
} topo;

/* Depth is that of the expression, which a node's compute bounds: a handful of stages.
 */
static void visit(topo *t, const kiln_te *te) {
    for (size_t i = 0; i < t->list.n; i++)
        if (t->list.v[i] == te)
            return;
    for (int i = 0; i < te->n_in; i++)
        visit(t, te->in[i]);
    kiln_vec_push(t->arena, &t->list, te);
}

const kiln_te **kiln_te_topo(kiln_arena *a, const kiln_te *const *out, size_t n_out,
                             size_t *n) {
    topo t = {.arena = a};
    for (size_t i = 0; i < n_out; i++)
        visit(&t, out[i]);
    *n = t.list.n;
    return t.list.v;
}
