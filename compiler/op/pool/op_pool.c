/* Shared parts of the pooling operators; see pool.h. Source: ONNX MaxPool-22,
 * AveragePool-22, LpPool-22. */
#include "compiler/op/pool/pool.h"

#include "compiler/op/op_common.h"

kiln_status kiln_pool_read(const kiln_node *n, kiln_pool *p, kiln_err *err) {
    const kiln_type *x = &n->in[0]->type;
    const kiln_attr *kernel = &n->attr[KILN_POOL_KERNEL];
    *p = (kiln_pool){0};
    if (x->rank < 3)
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "input 'x' must have shape [N, C, spatial...], has rank %d",
                         x->rank);
    if (kernel->n != (size_t)(x->rank - 2))
        return kiln_fail(
            err, KILN_ERR_SHAPE,
            "attribute 'kernel' must have %d values, one per spatial axis, has "
            "%zu",
            x->rank - 2, kernel->n);
    KILN_TRY(kiln_window_read(&p->window, x->rank - 2, x->dim + 2, kernel->ints,
                              n->attr, err));
    KILN_TRY(kiln_window_slide(&p->window, n->attr[KILN_POOL_CEIL_MODE].i != 0, err));
    p->planes = x->dim[0] * x->dim[1];
    p->ins = kiln_window_ins(&p->window);
    p->outs = kiln_window_outs(&p->window);
    const int64_t taps = kiln_window_taps(&p->window);
    p->room = taps < p->ins ? taps : p->ins;
    return KILN_OK;
}

kiln_status kiln_infer_pool(const kiln_node *n, kiln_type *out, kiln_err *err) {
    const kiln_type *x = &n->in[0]->type;
    kiln_pool p;
    KILN_TRY(kiln_pool_read(n, &p, err));
    int64_t dim[KILN_MAX_RANK] = {x->dim[0], x->dim[1]};
    for (int i = 0; i < p.window.n; i++)
        dim[2 + i] = p.window.out[i];
    out[0] = kiln_type_make(x->dtype, x->rank, dim);
    return KILN_OK;
}

/* Taps [*lo, *hi) of a window whose position is in [begin, end). */
static void tap_range(const kiln_window *w, int axis, int64_t out, int64_t begin,
                      int64_t end, int64_t *lo, int64_t *hi) {
    const int64_t first = kiln_window_pos(w, axis, out, 0);
    const int64_t step = w->dilation[axis];
    *lo = first >= begin ? 0 : (begin - first + step - 1) / step;
    *hi = first >= end ? 0 : (end - 1 - first) / step + 1;
    if (*hi > w->kernel[axis])
        *hi = w->kernel[axis];
    if (*lo > *hi)
        *lo = *hi;
}

int64_t kiln_pool_gather(const kiln_pool *p, int64_t index, int64_t *at,
                         int64_t *n_padded) {
    const kiln_window *w = &p->window;
    KILN_ASSERT(w->n >= 1 && index >= 0, "element %lld of a pool of %d axes",
                (long long)index, w->n);
    int64_t out[KILN_MAX_SPATIAL], lo[KILN_MAX_SPATIAL], count[KILN_MAX_SPATIAL];
    int64_t padded = 1, total = 1;
    kiln_unravel(index, w->n, w->out, out);
    for (int i = 0; i < w->n; i++) {
        int64_t hi;
        tap_range(w, i, out[i], -w->pad_begin[i], w->in[i] + w->pad_end[i], &lo[i],
                  &hi);
        padded *= hi - lo[i];
        tap_range(w, i, out[i], 0, w->in[i], &lo[i], &hi);
        count[i] = hi - lo[i];
        total *= count[i];
    }
    if (n_padded != NULL)
        *n_padded = padded;
    if (total == 0)
        return 0;
    int64_t step[KILN_MAX_SPATIAL] = {0}, n = 0;
    do {
        int64_t tap[KILN_MAX_SPATIAL];
        for (int i = 0; i < w->n; i++)
            tap[i] = lo[i] + step[i];
        at[n++] = kiln_window_index(w, out, tap);
    } while (kiln_next_coord(w->n, count, step));
    return n;
}

int64_t kiln_pool_taps(const kiln_node *n) {
    const kiln_attr *kernel = &n->attr[KILN_POOL_KERNEL];
    int64_t taps = 1;
    for (size_t i = 0; i < kernel->n; i++)
        taps = kiln_mul_sat(taps, kernel->ints[i]);
    return taps;
}

void kiln_cost_pool(const kiln_node *n, kiln_cost *c) {
    c->flops = kiln_mul_sat(kiln_type_elems(&n->out[0]->type), kiln_pool_taps(n));
}
