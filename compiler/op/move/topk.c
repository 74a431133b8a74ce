/* The k largest or smallest elements along an axis, and where they were (ONNX TopK 11).
 * Equal elements keep the order of their indices. NaN is larger than every number,
 * zeros of both signs are equal. An extern stage: it has no tensor expression. Exact: a
 * selection. */
#include "compiler/op/op_extern.h"
#include "base/fault.h"
#include "compiler/op/op_move.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { K, AXIS, LARGEST, SORTED, N_ATTR };

static const kiln_attr_def attrs[N_ATTR] = {
    {.name = "k", .kind = KILN_ATTR_INT, .doc = "elements taken", .is_required = true},
    {.name = "axis", .kind = KILN_ATTR_INT, .doc = "axis searched", .default_i = -1},
    {.name = "largest",
     .kind = KILN_ATTR_BOOL,
     .doc = "else the smallest",
     .default_i = 1},
    {.name = "sorted",
     .kind = KILN_ATTR_BOOL,
     .doc = "best first; else the order is free (the reference sorts)",
     .default_i = 1},
};

static kiln_status infer(const kiln_node *n, kiln_type *out, kiln_err *err) {
    const kiln_type *x = &n->in[0]->type;
    const int64_t k = n->attr[K].i;
    int axis;
    KILN_TRY(kiln_check_axis(n, AXIS, &axis, err));
    if (k < 0 || k > x->dim[axis])
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "k must be in [0, %" PRId64 "], is %" PRId64, x->dim[axis], k);
    int64_t dim[KILN_MAX_RANK];
    for (int i = 0; i < x->rank; i++)
        dim[i] = i == axis ? k : x->dim[i];
    KILN_TRY(kiln_move_type(n, x->dtype, x->rank, dim, &out[0], err));
    return kiln_move_type(n, KILN_I64, x->rank, dim, &out[1], err);
}

typedef struct item {
    uint64_t rank; /* smaller comes first */
    int64_t index;
} item;

static int compare(const void *a, const void *b) {
    const item *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

/* Elements in ascending order as unsigned numbers in ascending order. */
static uint64_t order_of(const kiln_wide *w, int64_t at) {
    const uint64_t sign = (uint64_t)1 << 63;
    uint64_t bits;
    if (w->f == NULL) {
        bits = (uint64_t)w->i[at];
        return w->type.dtype == KILN_U64 ? bits : bits ^ sign;
    }
    if (isnan(w->f[at]))
        return UINT64_MAX;
    const double x = w->f[at] == 0 ? 0 : w->f[at];
    memcpy(&bits, &x, sizeof bits);
    return (bits & sign) != 0 ? ~bits : bits | sign;
}

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    const int64_t k = n->attr[K].i;
    int axis;
    KILN_TRY(kiln_check_axis(n, AXIS, &axis, cx->err));
    const kiln_lanes lanes = kiln_lanes_at(&cx->in[0].type, axis);
    item *items = kiln_array(cx->scratch, item, lanes.n);
    for (int64_t lane = 0; lane < lanes.outer * lanes.inner; lane++) {
        const int64_t outer = lane / lanes.inner, inner = lane % lanes.inner;
        const int64_t first = outer * lanes.n * lanes.inner + inner;
        for (int64_t j = 0; j < lanes.n; j++) {
            const uint64_t order = order_of(&cx->in[0], first + j * lanes.inner);
            items[j] = (item){n->attr[LARGEST].i != 0 ? ~order : order, j};
        }
        qsort(items, (size_t)lanes.n, sizeof *items, compare);
        for (int64_t j = 0; j < k; j++) {
            const int64_t to = (outer * k + j) * lanes.inner + inner;
            kiln_copy_elem(&cx->out[0], to, &cx->in[0],
                           first + items[j].index * lanes.inner);
            cx->out[1].i[to] = items[j].index;
        }
    }
    return KILN_OK;
}

/* A comparison per element and level of a heap of k. */
static void cost(const kiln_node *n, kiln_cost *c) {
    int64_t levels = 1;
    for (int64_t k = n->attr[K].i; k > 1; k /= 2)
        levels++;
    c->muladds = 0;
    c->flops = kiln_type_elems(&n->in[0]->type) * levels;
}

/* ---- the extern stage ---- */

typedef struct params {
    int axis;
    int64_t n; /* elements of a lane */
    bool largest;
} params;

/* Does x (at index i) come before y (at index j)? */
static const kiln_expr *precedes(kiln_arena *a, const params *p, const kiln_expr *x,
                                 const kiln_expr *i, const kiln_expr *y,
                                 const kiln_expr *j) {
    const kiln_expr *better = p->largest ? kiln_x_less(a, y, x) : kiln_x_less(a, x, y);
    const kiln_expr *equal = kiln_x_binary(a, KILN_EXPR_EQ, x, y);
    if (kiln_dtype_is_float(x->dtype)) {
        const kiln_expr *x_nan = kiln_x_binary(a, KILN_EXPR_NE, x, x);
        const kiln_expr *y_nan = kiln_x_binary(a, KILN_EXPR_NE, y, y);
        const kiln_expr *only =
            kiln_x_binary(a, KILN_EXPR_AND, p->largest ? x_nan : y_nan,
                          kiln_x_not(a, p->largest ? y_nan : x_nan));
        better = kiln_x_binary(a, KILN_EXPR_OR, better, only);
        equal = kiln_x_binary(a, KILN_EXPR_OR, equal,
                              kiln_x_binary(a, KILN_EXPR_AND, x_nan, y_nan));
    }
    const kiln_expr *earlier =
        kiln_x_binary(a, KILN_EXPR_AND, equal, kiln_x_less(a, i, j));
    return kiln_x_binary(a, KILN_EXPR_OR, better, earlier);
}

/* The outputs are the sorted list of the best so far. An element that beats the last of
 * them travels down it, changing places with what it precedes. */
static const kiln_stmt *build(kiln_arena *a, const kiln_te *te,
                              const kiln_buffer *const *in,
                              const kiln_buffer *const *out) {
    const params *p = te->ext->data;
    int64_t extent[KILN_MAX_AXES];
    const int64_t k = kiln_te_dim(te, p->axis);
    const int rank = te->rank;
    if (k == 0)
        return kiln_s_nothing(a);
    for (int i = 0; i < rank; i++)
        extent[i] = i == p->axis ? 1 : kiln_te_dim(te, i);
    kiln_nest_loops l = kiln_loops_new(a, rank, extent);
    l.is_parallel = true;
    kiln_var *jv = kiln_var_new(a, "j", KILN_I64), *sv = kiln_var_new(a, "s", KILN_I64);
    const kiln_expr *j = kiln_x_ref(a, jv), *s = kiln_x_ref(a, sv);
    const kiln_buffer *value = kiln_cell_new(a, te, "value", te->dtype[0]);
    const kiln_buffer *place = kiln_cell_new(a, te, "place", KILN_I64);
    const kiln_expr *v = kiln_cell_get(a, value), *i = kiln_cell_get(a, place);

    l.index[p->axis] = s;
    const kiln_expr *there = kiln_x_load(a, out[0], l.index, rank, NULL);
    const kiln_expr *there_at = kiln_x_load(a, out[1], l.index, rank, NULL);
    const kiln_stmt *put = kiln_s_both(a, kiln_s_store(a, out[0], l.index, v, NULL),
                                       kiln_s_store(a, out[1], l.index, i, NULL));
    kiln_var *old = kiln_var_new(a, "old", te->dtype[0]);
    kiln_var *old_at = kiln_var_new(a, "old_at", KILN_I64);
    const kiln_stmt *carry =
        kiln_s_both(a, put,
                    kiln_s_both(a, kiln_cell_set(a, value, kiln_x_ref(a, old)),
                                kiln_cell_set(a, place, kiln_x_ref(a, old_at))));
    const kiln_stmt *swap =
        kiln_s_let(a, old, there, kiln_s_let(a, old_at, there_at, carry));
    /* Position s holds something from step s + 1 on. */
    const kiln_expr *is_free = kiln_x_binary(a, KILN_EXPR_EQ, s, j);
    const kiln_stmt *travel =
        kiln_s_if(a, kiln_x_less(a, s, j),
                  kiln_s_if(a, precedes(a, p, v, i, there, there_at), swap, NULL),
                  kiln_s_if(a, is_free, put, NULL));
    travel = kiln_s_times(a, sv, kiln_x_index(a, k), travel);

    l.index[p->axis] = kiln_x_index(a, k - 1);
    const kiln_expr *last = kiln_x_load(a, out[0], l.index, rank, NULL);
    const kiln_expr *last_at = kiln_x_load(a, out[1], l.index, rank, NULL);
    /* Until the list is full its last entry holds nothing to compare with. */
    const kiln_expr *is_room = kiln_x_less(a, j, kiln_x_index(a, k));
    const kiln_stmt *consider =
        kiln_s_if(a,
                  kiln_x_select(a, is_room, kiln_x_int(a, KILN_BOOL, 1),
                                precedes(a, p, v, i, last, last_at)),
                  travel, NULL);
    l.index[p->axis] = j;
    const kiln_expr *x = kiln_x_load(a, in[0], l.index, rank, NULL);
    const kiln_stmt *take =
        kiln_s_both(a, kiln_cell_set(a, value, x), kiln_cell_set(a, place, j));
    const kiln_stmt *lane =
        kiln_s_times(a, jv, kiln_x_index(a, p->n), kiln_s_both(a, take, consider));
    lane = kiln_s_alloc(a, value, kiln_s_alloc(a, place, lane));
    return kiln_loops_around(&l, lane);
}

static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    const kiln_type *x = &cx->in[0].type, *t = &cx->out[0].type;
    /* Half floats are compared as f32. */
    const kiln_dtype dtype[2] = {kiln_compute_wide_dtype(x->dtype), KILN_I64};
    kiln_te_value list, pair[2];
    params *p = kiln_new(cx->arena, params);
    p->largest = (n->attr[LARGEST].i != 0) != KILN_FAULT(topk_order);
    KILN_TRY(kiln_check_axis(n, AXIS, &p->axis, cx->err));
    p->n = x->dim[p->axis];
    KILN_TRY(kiln_compute_plain(cx, "x", &cx->in[0], dtype[0], &list));
    const kiln_extern_spec spec = {.name = "topk",
                                   .build = build,
                                   .data = p,
                                   .in = &list,
                                   .n_in = 1,
                                   .n_out = 2,
                                   .rank = t->rank,
                                   .dim = t->dim,
                                   .dtype = dtype};
    kiln_compute_extern(cx, "best", &spec, pair);
    KILN_TRY(kiln_compute_give(cx, 0, "", &pair[0]));
    return kiln_compute_give(cx, 1, "index", &pair[1]);
}

const kiln_op_def kiln_op_topk = {
    .name = "topk",
    .doc = "the k largest (smallest) elements along an axis, and their indices as i64",
    .n_in_min = 1,
    .n_in_max = 1,
    .n_out_min = 2,
    .n_out_max = 2,
    .in_names = kiln_names_x,
    .attr = attrs,
    .n_attr = N_ATTR,
    .dtypes = KILN_DT_NUMBER,
    .fuse = KILN_FUSE_OPAQUE,
    .layout = KILN_LAYOUT_DEPENDENT,
    .infer = infer,
    .eval_ref = eval_ref,
    .cost = cost,
    .error_bound = kiln_bound_exact,
    .compute = compute,
};
