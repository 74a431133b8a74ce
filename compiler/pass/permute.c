/* Operators by how their attributes speak of axes. */
#include "compiler/pass/permute.h"

#include <string.h>

/* ---- permutations ---------------------------------------------------------------- */

kiln_perm kiln_perm_of(const kiln_node *transpose) {
    const kiln_attr *perm = kiln_node_attr(transpose, "perm");
    kiln_perm p = {.rank = (int)perm->n};
    KILN_ASSERT(p.rank == transpose->in[0]->type.rank,
                "'%s' permutes %d axes of a value of %d", transpose->name, p.rank,
                transpose->in[0]->type.rank);
    for (int i = 0; i < p.rank; i++)
        p.axis[i] = perm->ints[i];
    return p;
}

bool kiln_perm_eq(const kiln_perm *a, const kiln_perm *b) {
    if (a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->axis[i] != b->axis[i])
            return false;
    return true;
}

bool kiln_perm_is_identity(const kiln_perm *p) {
    for (int i = 0; i < p->rank; i++)
        if (p->axis[i] != i)
            return false;
    return true;
}

kiln_perm kiln_perm_inverse(const kiln_perm *p) {
    kiln_perm q = {.rank = p->rank};
    for (int i = 0; i < p->rank; i++)
        q.axis[p->axis[i]] = i;
    return q;
}

kiln_perm kiln_perm_then(const kiln_perm *first, const kiln_perm *second) {
    kiln_perm both = {.rank = first->rank};
    KILN_ASSERT(first->rank == second->rank, "%d axes permuted as %d", first->rank,
                second->rank);
    for (int i = 0; i < both.rank; i++)
        both.axis[i] = first->axis[second->axis[i]];
    return both;
}

bool kiln_perm_is_view(const kiln_perm *p, const kiln_type *v) {
    int64_t last = -1;
    for (int i = 0; i < p->rank; i++) {
        if (v->dim[i] == 1)
            continue;
        if (p->axis[i] < last)
            return false;
        last = p->axis[i];
    }
    return true;
}

/* ---- operators ------------------------------------------------------------------- */

typedef enum axes_kind {
    FIXED,   /* axes mean what they are by their number: convolution, reshape */
    ALIGNED, /* element-wise: no attribute speaks of axes, operands are broadcast */
    NAMED,   /* attribute `axis`; all values have one rank */
    REDUCED, /* attribute `axis` or `axes`, with `keepdims` */
    VIEWED, /* a reshape that splits and merges axes, adds and drops those of length 1 */
    LISTED  /* attributes list something for each axis, once or twice; input 0 has
                the output's rank, the others are scalars */
} axes_kind;

static const struct {
    const kiln_op_def *op;
    axes_kind kind;
} rows[] = {
    {&kiln_op_concat, NAMED},
    {&kiln_op_split, NAMED},
    {&kiln_op_softmax, NAMED},
    {&kiln_op_log_softmax, NAMED},
    {&kiln_op_hardmax, NAMED},
    {&kiln_op_cumsum, NAMED},
    {&kiln_op_cumprod, NAMED},
    {&kiln_op_reduce_l1, REDUCED},
    {&kiln_op_reduce_l2, REDUCED},
    {&kiln_op_reduce_log_sum, REDUCED},
    {&kiln_op_reduce_log_sum_exp, REDUCED},
    {&kiln_op_reduce_max, REDUCED},
    {&kiln_op_reduce_mean, REDUCED},
    {&kiln_op_reduce_min, REDUCED},
    {&kiln_op_reduce_prod, REDUCED},
    {&kiln_op_reduce_sum, REDUCED},
    {&kiln_op_reduce_sum_square, REDUCED},
    {&kiln_op_argmax, REDUCED},
    {&kiln_op_argmin, REDUCED},
    {&kiln_op_reshape, VIEWED},
    {&kiln_op_pad, LISTED},
    {&kiln_op_slice, LISTED},
    {&kiln_op_tile, LISTED},
    {&kiln_op_resize, LISTED},
};
enum { N_ROWS = sizeof rows / sizeof rows[0] };

static axes_kind kind_of(const kiln_node *n) {
    for (int i = 0; i < N_ROWS; i++)
        if (rows[i].op == n->op)
            return rows[i].kind;
    return kiln_is_elementwise(n) && n->op->n_out_max <= 1 ? ALIGNED : FIXED;
}

static bool is_plain(const kiln_value *v) {
    return kiln_layout_is_plain(&v->type.layout) && v->count == NULL;
}

static bool are_plain(const kiln_node *n) {
    bool ok = true;
    for (int k = 0; k < n->n_in; k++)
        ok = ok && (n->in[k] == NULL || is_plain(n->in[k]));
    for (int k = 0; k < n->n_out; k++)
        ok = ok && is_plain(n->out[k]);
    return ok;
}

static void mark_reduced(const kiln_node *n, bool *is_reduced) {
    const int rank = n->in[0]->type.rank;
    const bool is_list = n->op->attr[0].kind == KILN_ATTR_INTS;
    const kiln_attr *a = &n->attr[0];
    for (int i = 0; i < rank; i++)
        is_reduced[i] = is_list && a->n == 0;
    for (size_t i = 0; i < (is_list ? a->n : 1); i++) {
        const int64_t axis = is_list ? a->ints[i] : a->i;
        is_reduced[axis < 0 ? axis + rank : axis] = true;
    }
}

/* Reduced axes are left out: those that stay keep their order in v and in u. */
static kiln_perm without_reduced(const kiln_node *n, const kiln_perm *p) {
    bool is_reduced[KILN_MAX_RANK];
    kiln_perm q = {.rank = n->out[0]->type.rank};
    int at = 0;
    mark_reduced(n, is_reduced);
    for (int i = 0; i < p->rank; i++) {
        if (is_reduced[i])
            continue;
        for (int k = 0; k < p->rank; k++)
            q.axis[at] += !is_reduced[k] && p->axis[k] < p->axis[i];
        at++;
    }
    return q;
}

/* Axes of a reshape's two sides that are made of the same elements: one axis and one,
 * one and several that it is split into or merged of, or one of length 1 and none. */
typedef struct axis_group {
    int from, n_from, to, n_to;
} axis_group;

/* As many axes of t from `at` on as have `want` elements; 0: they do not come out. */
static int axes_of(const kiln_type *t, int at, int64_t want) {
    int64_t elems = 1;
    for (int i = at; i < t->rank && elems > 0 && elems < want; i++) {
        elems *= t->dim[i];
        if (elems == want)
            return i - at + 1;
    }
    return 0;
}

/* The groups of a reshape, in order; 0: it does more than split, merge, add and drop
 * axes. Lengths of 1 are one and the same as long as they face each other. */
static int match_axes(const kiln_type *from, const kiln_type *to,
                      axis_group group[2 * KILN_MAX_RANK]) {
    int i = 0, k = 0, n = 0;
    while (i < from->rank || k < to->rank) {
        const int64_t f = i < from->rank ? from->dim[i] : 0;
        const int64_t t = k < to->rank ? to->dim[k] : 0;
        axis_group g = {i, 1, k, 1};
        if (i < from->rank && k < to->rank && f == t)
            ;
        else if (t == 1)
            g.n_from = 0;
        else if (f == 1)
            g.n_to = 0;
        else if (f > t)
            g.n_to = axes_of(to, k, f);
        else
            g.n_from = axes_of(from, i, t);
        if (g.n_from + g.n_to == 0 || (g.n_to == 0 && f != 1) ||
            (g.n_from == 0 && t != 1))
            return 0;
        i += g.n_from;
        k += g.n_to;
        group[n++] = g;
    }
    return n;
}

/* How the other side of a reshape is permuted where `from` is by p: groups keep their
 * order in u, and axes that are merged must lie there as they do here; an added axis
 * stands before the one that follows it. */
static bool permute_view(const kiln_type *from, const kiln_type *to, const kiln_perm *p,
                         kiln_perm *q) {
    enum { APART = 4 * KILN_MAX_RANK };
    axis_group group[2 * KILN_MAX_RANK];
    int64_t place[KILN_MAX_RANK] = {0}, next = (int64_t)APART * APART;
    int n = match_axes(from, to, group);
    if (n == 0)
        return false;
    while (n-- > 0) {
        const axis_group *g = &group[n];
        for (int i = 1; i < g->n_from; i++)
            if (p->axis[g->from + i] != p->axis[g->from] + i)
                return false;
        if (g->n_to == 0)
            continue;
        next = g->n_from == 0 ? next - 1 : (p->axis[g->from] + 1) * APART;
        for (int i = 0; i < g->n_to; i++)
            place[g->to + i] = next + i;
    }
    *q = (kiln_perm){.rank = to->rank};
    for (int i = 0; i < to->rank; i++)
        for (int k = 0; k < to->rank; k++)
            q->axis[i] += place[k] < place[i];
    return true;
}

static bool is_one(const kiln_value *v) { return kiln_type_elems(&v->type) == 1; }

static void permute_aligned(const kiln_node *n, const kiln_perm *known, kiln_perm *in) {
    for (int k = 0; k < n->n_in; k++)
        if (n->in[k] == NULL || is_one(n->in[k]))
            memset(&in[k], 0, sizeof in[k]);
        else
            in[k] = *known;
}

bool kiln_permute_node(const kiln_node *n, int at, const kiln_perm *known,
                       kiln_perm *in, kiln_perm *out) {
    const axes_kind kind = kind_of(n);
    const kiln_value *v = at < n->n_in ? n->in[at] : n->out[at - n->n_in];
    if (kind == FIXED || n->n_in == 0 || n->in[0] == NULL || !are_plain(n) ||
        v->type.rank != known->rank)
        return false;
    for (int k = 0; k < n->n_out; k++)
        out[k] = *known;
    for (int k = 0; k < n->n_in; k++)
        in[k] = kind == NAMED || k == 0 ? *known : (kiln_perm){0};
    switch (kind) {
    case FIXED:
        return false;
    case ALIGNED:
        permute_aligned(n, known, in);
        return n->out[0]->type.rank == known->rank;
    case NAMED:
        return true;
    case REDUCED:
        if (n->out[0]->type.rank != n->in[0]->type.rank)
            out[0] = without_reduced(n, known);
        return at == 0 || n->out[0]->type.rank == n->in[0]->type.rank;
    case VIEWED:
        return at == 0 ? permute_view(&n->in[0]->type, &n->out[0]->type, known, &out[0])
                       : permute_view(&n->out[0]->type, &n->in[0]->type, known, &in[0]);
    case LISTED:
        return at == 0 || at >= n->n_in;
    }
    return false;
}

/* ---- attributes ------------------------------------------------------------------ */

static kiln_attr permuted_list(kiln_arena *a, const kiln_attr *from,
                               const kiln_perm *p) {
    kiln_attr to = *from;
    int64_t *ints = from->ints == NULL ? NULL : kiln_array(a, int64_t, from->n);
    double *floats = from->floats == NULL ? NULL : kiln_array(a, double, from->n);
    const size_t rank = (size_t)p->rank;
    for (size_t i = 0; i < from->n; i++) {
        const size_t at = i / rank * rank + (size_t)p->axis[i % rank];
        if (ints != NULL)
            ints[at] = from->ints[i];
        if (floats != NULL)
            floats[at] = from->floats[i];
    }
    to.ints = ints;
    to.floats = floats;
    return to;
}

static kiln_attr permuted_axes(kiln_arena *a, const kiln_attr *from,
                               const kiln_perm *p) {
    kiln_attr to = *from;
    int64_t *ints = kiln_array(a, int64_t, from->n);
    for (size_t i = 0; i < from->n; i++)
        ints[i] = p->axis[from->ints[i] < 0 ? from->ints[i] + p->rank : from->ints[i]];
    to.ints = ints;
    return to;
}

static kiln_attr permuted_shape(kiln_arena *a, const kiln_type *v, const kiln_perm *p) {
    int64_t *dim = kiln_array(a, int64_t, v->rank);
    for (int i = 0; i < v->rank; i++)
        dim[p->axis[i]] = v->dim[i];
    return (kiln_attr){.ints = dim, .n = (size_t)v->rank};
}

kiln_attr_arg *kiln_permute_attrs(kiln_arena *a, const kiln_node *n,
                                  const kiln_perm *in, const kiln_perm *out) {
    const axes_kind kind = kind_of(n);
    kiln_attr_arg *args = kiln_array(a, kiln_attr_arg, n->op->n_attr);
    for (size_t i = 0; i < n->op->n_attr; i++) {
        const kiln_attr_def *def = &n->op->attr[i];
        kiln_attr v = n->attr[i];
        if (kind == LISTED &&
            (def->kind == KILN_ATTR_INTS || def->kind == KILN_ATTR_FLOATS))
            v = permuted_list(a, &v, in);
        else if ((kind == NAMED || kind == REDUCED) && strcmp(def->name, "axis") == 0)
            v.i = in->axis[v.i < 0 ? v.i + in->rank : v.i];
        else if (kind == REDUCED && strcmp(def->name, "axes") == 0)
            v = permuted_axes(a, &v, in);
        else if (kind == VIEWED)
            v = permuted_shape(a, &n->out[0]->type, out);
        args[i] = (kiln_attr_arg){.name = def->name, .kind = def->kind, .value = v};
    }
    return args;
}
