/* Selection by a condition with numpy broadcasting of all three inputs (ONNX Where 16).
 * Exact: a copy. */
#include "compiler/op/op_compute.h"
#include "base/fault.h"

#include <string.h>

enum { COND, X, Y, N_IN };

static const char *const in_names[] = {"cond", "x", "y", NULL};

static kiln_status infer(const kiln_node *n, kiln_type *out, kiln_err *err) {
    KILN_TRY(kiln_check_dtype(n, COND, KILN_DT_BOOL, err));
    KILN_TRY(kiln_check_same_dtype(n, X, Y, err));
    return kiln_infer_broadcast(n, n->in[X]->type.dtype, out, err);
}

static void copy_one(kiln_eval_cx *cx, int64_t d, const int64_t *at) {
    const int which = cx->in[COND].i[at[COND]] ? X : Y;
    kiln_copy_elem(&cx->out[0], d, &cx->in[which], at[which]);
}

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    (void)n;
    const kiln_type *out = &cx->out[0].type;
    kiln_bcast b;
    int64_t at[N_IN] = {0}, coord[KILN_MAX_RANK] = {0};
    kiln_bcast_init(&b, out, cx->in, N_IN);
    if (cx->pick != NULL) {
        for (int64_t k = 0; k < cx->n_pick; k++) {
            kiln_bcast_at(&b, cx->pick[k], at);
            copy_one(cx, k, at);
        }
        return KILN_OK;
    }
    const int64_t n_elems = kiln_type_elems(out), row = b.dim[b.rank - 1];
    for (int64_t d = 0; d < n_elems; d += row) {
        int64_t from[N_IN];
        memcpy(from, at, sizeof from);
        for (int64_t k = 0; k < row; k++) {
            copy_one(cx, d + k, from);
            for (int in = 0; in < N_IN; in++)
                from[in] += b.stride[in][b.rank - 1];
        }
        (void)kiln_bcast_next(&b, coord, at);
    }
    return KILN_OK;
}

static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    (void)n;
    const kiln_expr *index[KILN_MAX_RANK], *in[N_IN];
    const kiln_type *t = &cx->out[0].type;
    kiln_te *te = kiln_compute_begin(cx, "", t, index);
    for (int i = 0; i < N_IN; i++)
        in[i] = kiln_compute_read_broadcast(cx, i, t->rank, index);
    return kiln_compute_end(cx, 0, te,
                            kiln_x_select(cx->arena, in[COND],
                                          in[KILN_FAULT(where_swapped) ? Y : X],
                                          in[KILN_FAULT(where_swapped) ? X : Y]));
}

const kiln_op_def kiln_op_where = {
    KILN_ROW_ELEMENTWISE,   .name = "where",
    .doc = "cond ? x : y",  .n_in_min = N_IN,
    .n_in_max = N_IN,       .in_names = in_names,
    .dtypes = KILN_DT_BOOL, .infer = infer,
    .eval_ref = eval_ref,   .error_bound = kiln_bound_exact,
    .compute = compute,
};
