/* The k largest or smallest elements along an axis, and where they were (ONNX TopK 11).
 * Equal elements keep the order of their indices. NaN is larger than every number,
 * zeros of both signs are equal. An extern stage: it has no tensor expression. Exact: a
 * selection. */
#include "compiler/graph/op/op_move.h"

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
};
