/* Bounds of integers that are computed from counts, on the way to a shape: exporters
 * take Shape apart, clamp a length by Min and put a new shape together, and the bound
 * of a count bounds all that. Interval arithmetic on single elements, backwards from
 * the one that is asked for; what is merely moved keeps its origin, so that two ways to
 * one count are seen to be the same number. */
#include "compiler/frontend/onnx/counted.h"
#include "compiler/frontend/onnx/import_core.h"

#include <string.h>

enum {
    MAX_STEPS = 20000, /* of one question: shape arithmetic has some dozens */
    MAX_LIST = 64,     /* elements that a reduction may have */
    MAX_DEPTH = 256,
    MAX_ALIKE = 8, /* depth to which two computations are held against each other */
};

static const int64_t widest = INT64_C(1) << 40; /* beyond: no bound; products fit */

typedef kiln_onnx_extent extent;

typedef struct search {
    kiln_onnx_cx *cx;
    int steps, depth;
} search;

void kiln_onnx_add_count(kiln_onnx_cx *cx, const kiln_value *count, int64_t most) {
    KILN_ASSERT(count != NULL && most >= 0, "a count of at most %lld", (long long)most);
    const kiln_onnx_count known = {count, most};
    for (size_t i = 0; i < cx->counts.n; i++)
        if (cx->counts.v[i].value == count)
            return;
    kiln_vec_push(&cx->common.scratch, &cx->counts, known);
}

static bool find(search *s, const kiln_value *v, int64_t i, extent *out);

static bool is_number(const extent *x) { return x->lo == x->hi; }

static bool set(extent *out, int64_t lo, int64_t hi) {
    out->lo = lo;
    out->hi = hi;
    return lo >= -widest && hi <= widest;
}

static bool of_constant(const kiln_value *v, int64_t i, extent *out) {
    const size_t bytes = (size_t)kiln_dtype_bits(v->type.dtype) / 8;
    const char *const at = (const char *)v->data + (size_t)i * bytes;
    int32_t narrow;
    int64_t x;
    if (v->type.dtype == KILN_I64)
        memcpy(&x, at, sizeof x);
    else if (v->type.dtype == KILN_I32) {
        memcpy(&narrow, at, sizeof narrow);
        x = narrow;
    } else if (v->type.dtype == KILN_BOOL)
        x = ((const char *)v->data)[i] != 0;
    else
        return false;
    /* An end of a slice may be any number: as far as shapes go, they are all far. */
    x = x > widest ? widest : x < -widest ? -widest : x;
    return set(out, x, x);
}

/* Element i of the node's operand k, as numpy broadcasts lists and scalars. */
static bool operand(search *s, const kiln_node *n, int k, int64_t i, extent *out) {
    const int64_t count = kiln_type_elems(&n->in[k]->type);
    return (count == 1 || count == kiln_type_elems(&n->out[0]->type)) &&
           find(s, n->in[k], count == 1 ? 0 : i, out);
}

static int64_t max_of(int64_t x, int64_t y) { return x > y ? x : y; }
static int64_t min_of(int64_t x, int64_t y) { return x < y ? x : y; }

static bool sum(const extent *x, const extent *y, extent *out) {
    return set(out, x->lo + y->lo, x->hi + y->hi);
}

static bool product(const extent *x, const extent *y, extent *out) {
    static const int64_t narrow = INT64_C(1) << 31;
    if (x->lo < 0 || y->lo < 0 || (x->hi > narrow && y->hi > 1) ||
        (y->hi > narrow && x->hi > 1))
        return false;
    return set(out, x->lo * y->lo, x->hi * y->hi);
}

/* What the smaller (larger) of two is, where one is never above the other, is it. */
static bool smaller(const extent *x, const extent *y, extent *out) {
    if (x->hi <= y->lo || y->hi <= x->lo) {
        *out = x->hi <= y->lo ? *x : *y;
        return true;
    }
    return set(out, min_of(x->lo, y->lo), min_of(x->hi, y->hi));
}

static bool larger(const extent *x, const extent *y, extent *out) {
    if (x->lo >= y->hi || y->lo >= x->hi) {
        *out = x->lo >= y->hi ? *x : *y;
        return true;
    }
    return set(out, max_of(x->lo, y->lo), max_of(x->hi, y->hi));
}

static bool equal(const extent *x, const extent *y, extent *out) {
    const bool never = x->hi < y->lo || y->hi < x->lo;
    const bool always = is_number(x) && is_number(y) && x->lo == y->lo;
    return set(out, always, !never);
}

static bool difference(const extent *x, const extent *y, extent *out) {
    return set(out, x->lo - y->hi, x->hi - y->lo);
}

static bool quotient(const extent *x, const extent *y, extent *out) {
    return x->lo >= 0 && is_number(y) && y->lo > 0 &&
           set(out, x->lo / y->lo, x->hi / y->lo);
}

typedef bool (*binary)(const extent *x, const extent *y, extent *out);

static binary binary_of(const kiln_op_def *op) {
    static const struct {
        const kiln_op_def *op;
        binary f;
    } all[] = {{&kiln_op_add, sum},
               {&kiln_op_sub, difference},
               {&kiln_op_mul, product},
               {&kiln_op_div, quotient},
               {&kiln_op_min, smaller},
               {&kiln_op_max, larger},
               {&kiln_op_equal, equal},
               {&kiln_op_reduce_min, smaller},
               {&kiln_op_reduce_max, larger},
               {&kiln_op_reduce_sum, sum},
               {&kiln_op_reduce_prod, product}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i].op == op)
            return all[i].f;
    return NULL;
}

/* x + 0 and x * 1 are x. */
static bool is_neutral(const kiln_op_def *op, const extent *x) {
    return is_number(x) &&
           ((op == &kiln_op_add && x->lo == 0) || (op == &kiln_op_mul && x->lo == 1));
}

static bool of_binary(search *s, const kiln_node *n, int64_t i, extent *out) {
    extent x, y;
    if (n->n_in != 2 || !operand(s, n, 0, i, &x) || !operand(s, n, 1, i, &y))
        return false;
    if (is_neutral(n->op, &x) || is_neutral(n->op, &y)) {
        *out = is_neutral(n->op, &x) ? y : x;
        return true;
    }
    return binary_of(n->op)(&x, &y, out);
}

static bool of_reduction(search *s, const kiln_node *n, extent *out) {
    const int64_t count = kiln_type_elems(&n->in[0]->type);
    extent all, next;
    if (kiln_type_elems(&n->out[0]->type) != 1 || count < 1 || count > MAX_LIST ||
        !find(s, n->in[0], 0, &all))
        return false;
    for (int64_t k = 1; k < count; k++) {
        extent both = *out;
        if (!find(s, n->in[0], k, &next) || !binary_of(n->op)(&all, &next, &both))
            return false;
        all = both;
    }
    *out = all;
    return true;
}

static bool of_concat(search *s, const kiln_node *n, int64_t i, extent *out) {
    if (n->out[0]->type.rank != 1)
        return false;
    for (int k = 0; k < n->n_in; k++) {
        const int64_t d = n->in[k]->type.dim[0];
        if (i < d)
            return find(s, n->in[k], i, out);
        i -= d;
    }
    return false;
}

static bool of_gather(search *s, const kiln_node *n, int64_t i, extent *out) {
    extent at;
    const kiln_type *const t = &n->in[0]->type;
    if (t->rank != 1 || !find(s, n->in[1], i, &at) || !is_number(&at))
        return false;
    const int64_t k = at.lo < 0 ? at.lo + t->dim[0] : at.lo;
    return k >= 0 && k < t->dim[0] && find(s, n->in[0], k, out);
}

static bool of_slice(search *s, const kiln_node *n, int64_t i, extent *out) {
    const kiln_attr *const start = kiln_node_attr(n, "starts");
    const kiln_attr *const step = kiln_node_attr(n, "steps");
    return n->in[0]->type.rank == 1 &&
           find(s, n->in[0], start->ints[0] + i * step->ints[0], out);
}

static bool of_where(search *s, const kiln_node *n, int64_t i, extent *out) {
    extent cond, x, y;
    if (!operand(s, n, 0, i, &cond))
        return false;
    if (is_number(&cond))
        return operand(s, n, cond.lo != 0 ? 1 : 2, i, out);
    return operand(s, n, 1, i, &x) && operand(s, n, 2, i, &y) &&
           set(out, min_of(x.lo, y.lo), max_of(x.hi, y.hi));
}

static bool is_integer(const kiln_value *v) {
    return v->type.dtype == KILN_I64 || v->type.dtype == KILN_I32 ||
           v->type.dtype == KILN_BOOL;
}

static bool of_node(search *s, const kiln_node *n, int64_t i, extent *out) {
    const kiln_op_def *const op = n->op;
    if (op == &kiln_op_reshape || op == &kiln_op_identity)
        return find(s, n->in[0], i, out);
    if (op == &kiln_op_cast) /* to i32: a length that it cannot hold is no shape */
        return is_integer(n->in[0]) && n->out[0]->type.dtype != KILN_BOOL &&
               find(s, n->in[0], i, out);
    if (op == &kiln_op_expand)
        return kiln_type_elems(&n->in[0]->type) == 1 && find(s, n->in[0], 0, out);
    if (op == &kiln_op_concat)
        return of_concat(s, n, i, out);
    if (op == &kiln_op_gather)
        return of_gather(s, n, i, out);
    if (op == &kiln_op_slice)
        return of_slice(s, n, i, out);
    if (op == &kiln_op_where)
        return of_where(s, n, i, out);
    if (binary_of(op) == NULL)
        return false;
    return n->n_in == 1 ? of_reduction(s, n, out) : of_binary(s, n, i, out);
}

static const kiln_onnx_count *count_of(const kiln_onnx_cx *cx, const kiln_value *v) {
    for (size_t k = 0; k < cx->counts.n; k++)
        if (cx->counts.v[k].value == v)
            return &cx->counts.v[k];
    return NULL;
}

static bool find(search *s, const kiln_value *v, int64_t i, extent *out) {
    *out = (extent){.of = v, .at = i};
    if (!is_integer(v) || kiln_value_is_counted(v) || ++s->steps > MAX_STEPS ||
        s->depth >= MAX_DEPTH)
        return false;
    if (kiln_value_is_const(v))
        return of_constant(v, i, out);
    const kiln_onnx_count *const known = count_of(s->cx, v);
    if (known != NULL)
        return set(out, 0, known->most);
    if (v->def == NULL)
        return false;
    s->depth++;
    const bool found = of_node(s, v->def, i, out);
    s->depth--;
    return found;
}

bool kiln_onnx_find_extent(kiln_onnx_cx *cx, const kiln_value *v, int64_t i,
                           kiln_onnx_extent *out) {
    KILN_ASSERT(v != NULL && i >= 0, "bounds of element %lld", (long long)i);
    search s = {.cx = cx};
    return find(&s, v, i, out);
}

bool kiln_onnx_find_extents(kiln_onnx_cx *cx, const kiln_value *v,
                            kiln_onnx_extent *out) {
    const int64_t n = kiln_type_elems(&v->type);
    if (v->type.rank > 1 || n > KILN_MAX_RANK)
        return false;
    for (int64_t i = 0; i < n; i++)
        if (!kiln_onnx_find_extent(cx, v, i, &out[i]))
            return false;
    return true;
}

/* ---- equal counts ---- */

static bool same_floats(const kiln_attr *a, const kiln_attr *b) {
    for (size_t i = 0; i < a->n && a->floats != NULL; i++)
        if (!(a->floats[i] == b->floats[i]))
            return false;
    return true;
}

static bool same_attrs(const kiln_node *x, const kiln_node *y) {
    for (size_t i = 0; i < x->op->n_attr; i++) {
        const kiln_attr *const a = &x->attr[i], *const b = &y->attr[i];
        if (a->i != b->i || a->n != b->n || a->graph != b->graph || a->graph != NULL ||
            !(a->f == b->f) ||
            (a->ints != NULL &&
             memcmp(a->ints, b->ints, a->n * sizeof *a->ints) != 0) ||
            !same_floats(a, b))
            return false;
    }
    return true;
}

/* One value, or two made in one way of the same ones. */
static bool is_alike(const kiln_value *x, const kiln_value *y, int depth) {
    if (x == y)
        return true;
    if (x == NULL || y == NULL || !kiln_type_eq(&x->type, &y->type) || depth == 0)
        return false;
    if (kiln_value_is_const(x) && kiln_value_is_const(y))
        return memcmp(x->data, y->data, (size_t)kiln_type_bytes(&x->type)) == 0;
    const kiln_node *const a = x->def, *const b = y->def;
    if (a == NULL || b == NULL || a->op != b->op || a->n_in != b->n_in ||
        x->def_index != y->def_index || !same_attrs(a, b))
        return false;
    for (int i = 0; i < a->n_in; i++)
        if (!is_alike(a->in[i], b->in[i], depth - 1))
            return false;
    return true;
}

bool kiln_onnx_is_same_count(kiln_onnx_cx *cx, const kiln_value *x,
                             const kiln_value *y) {
    extent a, b;
    KILN_ASSERT(x != NULL && y != NULL, "a count is compared with none");
    if (x == y)
        return true;
    if (!kiln_onnx_find_extent(cx, x, 0, &a) || !kiln_onnx_find_extent(cx, y, 0, &b))
        return is_alike(x, y, MAX_ALIKE);
    if (is_number(&a) || is_number(&b))
        return is_number(&a) && is_number(&b) && a.lo == b.lo;
    return a.at == b.at && is_alike(a.of, b.of, MAX_ALIKE);
}
