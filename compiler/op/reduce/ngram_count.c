/* ngram_count: how often each sequence of a pool occurs in each row of x, with gaps.
 *
 * y[b,p] is the number of (start, s) with x[b, start + k * (s + 1)] equal to pool[p,k]
 * for every k, s from 0 to skips. Source: what ONNX TfIdfVectorizer-9 counts, for
 * n-grams of one length. Exact: a count of i64.
 */
#include <inttypes.h>

#include "compiler/op/op_compute.h"
#include "compiler/op/op_move.h"

enum { X, POOL };
enum { SKIPS, N_ATTR };
enum { MAX_LENGTH = 32 /* of a sequence: each element is a term of an expression */ };

static const kiln_attr_def attrs[N_ATTR] = {
    {.name = "skips",
     .kind = KILN_ATTR_INT,
     .doc = "elements of a row that may lie between two of a sequence, at most"},
};

static kiln_status infer(const kiln_node *n, kiln_type *out, kiln_err *err) {
    const kiln_type *x = &n->in[X]->type, *pool = &n->in[POOL]->type;
    KILN_TRY(kiln_check_rank(n, X, 2, err));
    KILN_TRY(kiln_check_rank(n, POOL, 2, err));
    KILN_TRY(kiln_check_same_dtype(n, X, POOL, err));
    const int64_t length = pool->dim[1], skips = n->attr[SKIPS].i;
    if (length < 1 || length > MAX_LENGTH)
        return kiln_fail(err, KILN_ERR_LIMIT,
                         "sequences of 'pool' must have 1 to %d elements, have "
                         "%" PRId64,
                         MAX_LENGTH, length);
    /* Larger gaps than a row is long find nothing. */
    if (skips < 0 || (skips > 0 && skips >= x->dim[1]))
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "skips must be in [0, %" PRId64
                         "), the length of a row, is %" PRId64,
                         x->dim[1], skips);
    const int64_t dim[] = {x->dim[0], pool->dim[0]};
    return kiln_move_type(n, KILN_I64, 2, dim, out, err);
}

/* Does the sequence begin at x[0], with elements `step` apart? */
static bool occurs(const int64_t *x, const int64_t *sequence, int64_t length,
                   int64_t step) {
    for (int64_t k = 0; k < length; k++)
        if (x[k * step] != sequence[k])
            return false;
    return true;
}

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    const kiln_wide *x = &cx->in[X], *pool = &cx->in[POOL];
    const int64_t columns = x->type.dim[1], length = pool->type.dim[1];
    const int64_t n_pool = pool->type.dim[0];
    for (int64_t b = 0; b < x->type.dim[0]; b++)
        for (int64_t p = 0; p < n_pool; p++) {
            int64_t count = 0;
            for (int64_t s = 0; s <= n->attr[SKIPS].i; s++)
                for (int64_t i = 0; i + (length - 1) * (s + 1) < columns; i++)
                    count += occurs(x->i + b * columns + i, pool->i + p * length,
                                    length, s + 1);
            cx->out[0].i[b * n_pool + p] = count;
        }
    return KILN_OK;
}

static void cost(const kiln_node *n, kiln_cost *c) {
    const kiln_type *pool = &n->in[POOL]->type;
    c->flops = kiln_mul_sat(kiln_type_elems(&n->in[X]->type), n->attr[SKIPS].i + 1);
    c->flops = kiln_mul_sat(c->flops, kiln_type_elems(pool));
}

static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    kiln_arena *a = cx->arena;
    const kiln_type *x = &cx->in[X].type, *t = &cx->out[0].type;
    const int64_t length = cx->in[POOL].type.dim[1];
    const kiln_expr *index[KILN_MAX_RANK], *zero = kiln_x_index(a, 0);
    kiln_te *y = kiln_compute_begin(cx, "", t, index);
    if (x->dim[1] == 0)
        return kiln_compute_end(cx, 0, y, zero);
    const kiln_axis *axis[] = {kiln_te_reduce_axis(y, "s", n->attr[SKIPS].i + 1),
                               kiln_te_reduce_axis(y, "i", x->dim[1])};
    const kiln_expr *step =
        kiln_x_add(a, kiln_axis_var(a, axis[0]), kiln_x_index(a, 1));
    const kiln_expr *at[] = {index[0], kiln_axis_var(a, axis[1])};
    const kiln_expr *end =
        kiln_x_add(a, at[1], kiln_x_mul(a, step, kiln_x_index(a, length - 1)));
    const kiln_expr *is_found = kiln_x_int(a, KILN_BOOL, 1);
    for (int64_t k = 0; k < length; k++) {
        const kiln_expr *of[] = {index[1], kiln_x_index(a, k)};
        const kiln_expr *is_equal =
            kiln_x_binary(a, KILN_EXPR_EQ, kiln_compute_read(cx, X, at),
                          kiln_compute_read(cx, POOL, of));
        is_found = kiln_x_binary(a, KILN_EXPR_AND, is_found, is_equal);
        at[1] = kiln_x_add(a, at[1], step);
    }
    const kiln_expr *fits = kiln_x_less(a, end, kiln_x_index(a, x->dim[1]));
    const kiln_expr *count =
        kiln_x_select(a, fits, kiln_x_cast(a, KILN_I64, is_found), zero);
    return kiln_compute_end(cx, 0, y, kiln_te_sum(y, count, axis, 2));
}

const kiln_op_def kiln_op_ngram_count = {
    .name = "ngram_count",
    .doc = "occurrences of each sequence of a pool in each row of x, with gaps up to a "
           "number of elements",
    .n_in_min = 2,
    .n_in_max = 2,
    .in_names = (const char *const[]){"x", "pool", NULL},
    .attr = attrs,
    .n_attr = N_ATTR,
    .dtypes = KILN_DT_INDEX,
    .fuse = KILN_FUSE_REDUCTION,
    .layout = KILN_LAYOUT_DEPENDENT,
    .infer = infer,
    .eval_ref = eval_ref,
    .cost = cost,
    .error_bound = kiln_bound_exact,
    .compute = compute,
};
