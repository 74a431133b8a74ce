/* Evaluation of element-wise operators: out[i] = f(in[i]). Compiled with -O3 in every
 * variant (mk/build.mk), because every element of whole networks comes here. */
#include "compiler/op/op_common.h"

static void ask(const kiln_wide *w, int64_t n_elems) {
    if (w->f != NULL)
        kiln_ask_whole(w->f, (size_t)n_elems * sizeof *w->f);
    else
        kiln_ask_whole(w->i, (size_t)n_elems * sizeof *w->i);
}

/* ---- one input ---- */

KILN_ASKED_WHOLE static void map_floats(const kiln_node *n, const double *restrict x,
                                        int64_t n_elems, double *restrict y) {
    double (*const f)(double, const kiln_attr *) = n->op->f1;
    for (int64_t k = 0; k < n_elems; k++)
        y[k] = f(x[k], n->attr);
}

static void map_one(const kiln_node *n, const kiln_eval_cx *cx, int64_t from,
                    int64_t to) {
    const kiln_wide *x = &cx->in[0], *y = &cx->out[0];
    if (y->f != NULL)
        y->f[to] = n->op->f1(x->f[from], n->attr);
    else if (x->f != NULL)
        y->i[to] = n->op->f1(x->f[from], n->attr) != 0;
    else
        y->i[to] = n->op->i1(x->i[from], n->attr, x->type.dtype);
}

kiln_status kiln_eval_unary(const kiln_node *n, kiln_eval_cx *cx) {
    const kiln_wide *x = &cx->in[0], *y = &cx->out[0];
    const int64_t n_elems = kiln_type_elems(&x->type);
    KILN_ASSERT(x->f != NULL ? n->op->f1 != NULL : n->op->i1 != NULL,
                "'%s' is not defined for %s", n->op->name,
                kiln_dtype_name(x->type.dtype));
    if (cx->pick != NULL) {
        for (int64_t k = 0; k < cx->n_pick; k++)
            map_one(n, cx, cx->pick[k], k);
    } else if (y->f != NULL) {
        ask(x, n_elems);
        ask(y, n_elems);
        map_floats(n, x->f, n_elems, y->f);
    } else {
        for (int64_t k = 0; k < n_elems; k++)
            map_one(n, cx, k, k);
    }
    return KILN_OK;
}

/* ---- two inputs ---- */

/* n_elems outputs from d on; inputs from at[0] and at[1] on with their strides. */
KILN_ASKED_WHOLE static void join_floats(const kiln_node *n, const kiln_eval_cx *cx,
                                         int64_t d, int64_t n_elems,
                                         const int64_t at[2], int64_t stride_x,
                                         int64_t stride_y) {
    double (*const f)(double, double, const kiln_attr *) = n->op->f2;
    const double *x = cx->in[0].f + at[0], *y = cx->in[1].f + at[1];
    double *to = cx->out[0].f + d;
    for (int64_t k = 0; k < n_elems; k++)
        to[k] = f(x[k * stride_x], y[k * stride_y], n->attr);
}

static void join_row(const kiln_node *n, const kiln_eval_cx *cx, int64_t d,
                     int64_t n_elems, const int64_t at[2], int64_t stride_x,
                     int64_t stride_y) {
    const kiln_wide *x = &cx->in[0], *y = &cx->in[1], *out = &cx->out[0];
    int64_t i = at[0], j = at[1];
    if (out->f != NULL) {
        join_floats(n, cx, d, n_elems, at, stride_x, stride_y);
        return;
    }
    for (int64_t k = 0; k < n_elems; k++, i += stride_x, j += stride_y)
        out->i[d + k] = x->f != NULL
                            ? n->op->f2(x->f[i], y->f[j], n->attr) != 0
                            : n->op->i2(x->i[i], y->i[j], n->attr, x->type.dtype);
}

kiln_status kiln_eval_binary(const kiln_node *n, kiln_eval_cx *cx) {
    const kiln_type *out = &cx->out[0].type;
    KILN_ASSERT(n->n_in == 2 &&
                    (cx->in[0].f != NULL ? n->op->f2 != NULL : n->op->i2 != NULL),
                "'%s' is not defined for two inputs of %s", n->op->name,
                kiln_dtype_name(cx->in[0].type.dtype));
    kiln_bcast b;
    int64_t at[KILN_BCAST_MAX_IN] = {0}, coord[KILN_MAX_RANK] = {0};
    kiln_bcast_init(&b, out, cx->in, 2);
    const int64_t n_elems = cx->pick != NULL ? cx->n_pick : kiln_type_elems(out);
    for (int k = 0; k < 2; k++)
        ask(&cx->in[k], kiln_type_elems(&cx->in[k].type));
    ask(&cx->out[0], n_elems);
    if (cx->pick != NULL) {
        for (int64_t k = 0; k < n_elems; k++) {
            kiln_bcast_at(&b, cx->pick[k], at);
            join_row(n, cx, k, 1, at, 0, 0);
        }
        return KILN_OK;
    }
    const int last = b.rank - 1;
    const int64_t row = b.dim[last];
    for (int64_t d = 0; d < n_elems; d += row) {
        join_row(n, cx, d, row, at, b.stride[0][last], b.stride[1][last]);
        (void)kiln_bcast_next(&b, coord, at);
    }
    return KILN_OK;
}
