/* Which scale belongs to which element of a quantised tensor (ONNX QuantizeLinear 21).
 */
#include "compiler/op/convert/op_quantize.h"

#include <inttypes.h>

static bool is_single(const kiln_type *scale) {
    return scale->rank <= 1 && kiln_type_elems(scale) == 1;
}

/* The shape that `scale` must have, for more than one scale. */
static kiln_status want_shape(const kiln_node *n, int64_t axis, int64_t block,
                              int *rank, int64_t *dim, kiln_err *err) {
    const kiln_type *x = &n->in[0]->type;
    int at;
    if (x->rank == 0)
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "input 'scale' must have 1 element for a scalar 'x'");
    KILN_TRY(kiln_axis_normalize(axis, x->rank, &at, err));
    *rank = block > 0 ? x->rank : 1;
    if (block == 0) {
        dim[0] = x->dim[at];
        return KILN_OK;
    }
    for (int i = 0; i < x->rank; i++)
        dim[i] = i == at ? x->dim[i] / block + (x->dim[i] % block != 0) : x->dim[i];
    return KILN_OK;
}

kiln_status kiln_check_scale(const kiln_node *n, int64_t axis, int64_t block,
                             kiln_dtype zero, kiln_err *err) {
    const kiln_type *scale = &n->in[1]->type;
    KILN_TRY(kiln_check_dtype(n, 1, KILN_DT_SCALE, err));
    if (block < 0)
        return kiln_fail(err, KILN_ERR_SHAPE, "block must be >= 0, is %" PRId64, block);
    if (kiln_has_in(n, 2)) {
        KILN_TRY(kiln_check_dtype(n, 2, KILN_DT(zero), err));
        if (!kiln_type_same_shape(scale, &n->in[2]->type))
            return kiln_fail(err, KILN_ERR_SHAPE,
                             "inputs 'scale' and 'zero' must have one shape");
    }
    if (block == 0 && is_single(scale))
        return KILN_OK;
    int rank = 0;
    int64_t dim[KILN_MAX_RANK] = {0};
    KILN_TRY(want_shape(n, axis, block, &rank, dim, err));
    const kiln_type want = kiln_type_make(scale->dtype, rank, dim);
    if (kiln_type_same_shape(&want, scale))
        return KILN_OK;
    kiln_arena scratch = {0};
    const kiln_status st =
        kiln_fail(err, KILN_ERR_SHAPE, "input 'scale' must have shape %s%s, is %s",
                  kiln_shape_text(&scratch, rank, dim),
                  block > 0 ? "" : " or 1 element", kiln_type_text(&scratch, scale));
    kiln_arena_fini(&scratch);
    return st;
}

void kiln_scale_map_init(kiln_scale_map *m, const kiln_node *n, int64_t axis,
                         int64_t block) {
    const kiln_type *x = &n->in[0]->type;
    *m = (kiln_scale_map){.dim = 1, .inner = 1, .block = 1, .n_scale = 1};
    m->is_single = block == 0 && is_single(&n->in[1]->type);
    if (m->is_single)
        return;
    const int at = (int)(axis < 0 ? axis + x->rank : axis);
    const kiln_lanes lanes = kiln_lanes_at(x, at);
    m->dim = lanes.n;
    m->inner = lanes.inner;
    m->is_blocked = block > 0;
    m->block = block > 0 ? block : 1;
    m->n_scale = lanes.n / m->block + (lanes.n % m->block != 0);
}

int64_t kiln_scale_at(const kiln_scale_map *m, int64_t e) {
    if (m->is_single)
        return 0;
    KILN_ASSERT(m->inner > 0 && m->dim > 0 && m->block > 0,
                "an element of no elements has a scale");
    const int64_t along = e / m->inner % m->dim / m->block;
    if (!m->is_blocked)
        return along;
    return (e / m->inner / m->dim * m->n_scale + along) * m->inner + e % m->inner;
}

void kiln_compute_scale_index(const kiln_compute_cx *cx, int64_t axis, int64_t block,
                              const kiln_expr *const *index, const kiln_expr **at) {
    const kiln_type *x = &cx->in[0].type;
    at[0] = kiln_x_index(cx->arena, 0);
    if (block == 0 && is_single(&cx->in[1].type))
        return;
    const int along = (int)(axis < 0 ? axis + x->rank : axis);
    for (int i = 0; i < x->rank && block > 0; i++)
        at[i] = i == along ? kiln_compute_div(cx, index[i], block) : index[i];
    if (block == 0)
        at[0] = index[along];
}

bool kiln_has_one_scale(const kiln_node *n) {
    const kiln_type *x = &n->in[0]->type;
    const bool has_zero = n->n_in > 2 && n->in[2] != NULL;
    if (kiln_node_attr(n, "block")->i != 0 || kiln_dtype_is_in(x->dtype, KILN_DT_LOW) ||
        kiln_dtype_is_in(n->out[0]->type.dtype, KILN_DT_LOW) ||
        kiln_dtype_is_in(n->in[1]->type.dtype, KILN_DT_LOW))
        return false;
    for (int i = 1; i < (has_zero ? 3 : 2); i++)
        if (!is_single(&n->in[i]->type) || n->in[i]->type.rank > x->rank)
            return false;
    return true;
}
