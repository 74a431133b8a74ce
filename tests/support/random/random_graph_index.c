/* Families of random graphs: moving elements to where indices say. */
#include "tests/support/random/random_graph_internal.h"

static kiln_dtype draw_index_dtype(maker *m) {
    return one_in(m, 2) ? KILN_I64 : KILN_I32;
}

static bool gather(maker *m, kiln_value *x) {
    const int axis = (int)draw(m, 0, x->type.rank - 1), rank = (int)draw(m, 0, 2);
    const int64_t dim[2] = {draw(m, 1, 5), draw(m, 1, 4)}, n = x->type.dim[axis];
    kiln_value *in[2] = {x, draw_indices(m, draw_index_dtype(m), rank, dim,
                                         one_in(m, 3) ? -n : 0, n - 1)};
    const kiln_attr_arg arg = kiln_arg_int("axis", axis);
    return add_op(m, &kiln_op_gather, in, 2, &arg, 1) != NULL;
}

static bool gather_elements(maker *m, kiln_value *x) {
    const int axis = (int)draw(m, 0, x->type.rank - 1);
    int64_t dim[KILN_MAX_RANK];
    for (int i = 0; i < x->type.rank; i++)
        dim[i] = i == axis ? draw(m, 1, 6) : draw(m, 1, x->type.dim[i]);
    kiln_value *in[2] = {x, draw_indices(m, draw_index_dtype(m), x->type.rank, dim, 0,
                                         x->type.dim[axis] - 1)};
    const kiln_attr_arg arg = kiln_arg_int("axis", axis);
    return add_op(m, &kiln_op_gather_elements, in, 2, &arg, 1) != NULL;
}

/* Coordinates of the first `depth` axes behind `batch` common ones. */
static kiln_value *draw_coords(maker *m, const kiln_type *x, int batch, int depth,
                               int64_t n, bool is_unique) {
    int64_t dim[KILN_MAX_RANK], count = n;
    int rank = 0;
    for (int i = 0; i < batch; i++)
        count *= dim[rank++] = x->dim[i];
    dim[rank++] = n;
    dim[rank++] = depth;
    int64_t *v = kiln_array(m->g->arena, int64_t, count * depth);
    for (int64_t e = 0; e < count; e++)
        for (int k = 0; k < depth; k++) {
            const int64_t size = x->dim[batch + k];
            v[e * depth + k] =
                is_unique ? (k == 0 ? e % size : 0) : draw(m, 0, size - 1);
        }
    return const_ints(m, KILN_I64, rank, dim, v);
}

static bool gather_nd(maker *m, kiln_value *x) {
    const int batch = x->type.rank > 1 && one_in(m, 3) ? 1 : 0;
    const int depth = (int)draw(m, 1, x->type.rank - batch);
    kiln_value *in[2] = {x,
                         draw_coords(m, &x->type, batch, depth, draw(m, 1, 5), false)};
    const kiln_attr_arg arg = kiln_arg_int("batch_dims", batch);
    return add_op(m, &kiln_op_gather_nd, in, 2, &arg, 1) != NULL;
}

bool random_graph_gathered(maker *m) {
    kiln_value *x = draw_value(m, KILN_DT_STORED, 1, 4);
    const int64_t kind = draw(m, 0, 3);
    return kind == 0   ? gather_elements(m, x)
           : kind == 1 ? gather_nd(m, x)
                       : gather(m, x);
}

static const char *draw_reduction(maker *m, const kiln_value *x) {
    static const char *const words[] = {"none", "add", "mul", "min", "max"};
    return words[x->type.dtype == KILN_BOOL ? 0 : draw(m, 0, 4)];
}

/* Without a reduction every place is written once: else the order would decide. */
static bool scatter_nd(maker *m, kiln_value *x) {
    const int depth = (int)draw(m, 1, x->type.rank);
    const char *how = draw_reduction(m, x);
    const bool is_unique = how[0] == 'n';
    const int64_t n = draw(m, 1, is_unique ? x->type.dim[0] : 5);
    int64_t dim[KILN_MAX_RANK] = {n};
    for (int i = depth; i < x->type.rank; i++)
        dim[1 + i - depth] = x->type.dim[i];
    kiln_value *in[3] = {
        x, draw_coords(m, &x->type, 0, depth, n, is_unique),
        draw_operand(m, x->type.dtype, 1 + x->type.rank - depth, dim, 1)};
    const kiln_attr_arg arg = kiln_arg_word("reduction", how);
    return add_op(m, &kiln_op_scatter_nd, in, 3, &arg, 1) != NULL;
}

static bool scatter_elements(maker *m, kiln_value *x) {
    const int axis = (int)draw(m, 0, x->type.rank - 1);
    const char *how = draw_reduction(m, x);
    int64_t dim[KILN_MAX_RANK];
    for (int i = 0; i < x->type.rank; i++)
        dim[i] = draw(m, 1, x->type.dim[i]);
    if (how[0] == 'n')
        dim[axis] = 1;
    kiln_value *in[3] = {x,
                         draw_indices(m, draw_index_dtype(m), x->type.rank, dim, 0,
                                      x->type.dim[axis] - 1),
                         draw_operand(m, x->type.dtype, x->type.rank, dim, 1)};
    const kiln_attr_arg args[] = {kiln_arg_int("axis", axis),
                                  kiln_arg_word("reduction", how)};
    return add_op(m, &kiln_op_scatter_elements, in, 3, args, 2) != NULL;
}

bool random_graph_scattered(maker *m) {
    kiln_value *x = draw_value(m, KILN_DT_ANY, 1, 4);
    return one_in(m, 2) ? scatter_nd(m, x) : scatter_elements(m, x);
}

bool random_graph_reversed(maker *m) {
    kiln_value *x = draw_value(m, KILN_DT_ANY, 2, 4);
    const int64_t batch = one_in(m, 2) ? 0 : 1, time = 1 - batch;
    kiln_value *in[2] = {x, draw_indices(m, draw_index_dtype(m), 1, &x->type.dim[batch],
                                         0, x->type.dim[time])};
    const kiln_attr_arg args[] = {kiln_arg_int("batch_axis", batch),
                                  kiln_arg_int("time_axis", time)};
    return add_op(m, &kiln_op_reverse_sequence, in, 2, args, 2) != NULL;
}
