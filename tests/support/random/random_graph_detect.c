/* Families of random graphs: what detectors and readers of text do with data. */
#include "tests/support/random/random_graph_internal.h"

/* Regions x1, y1, x2, y2 of an image: in it, across its border, of no size. */
static kiln_value *draw_regions(maker *m, const kiln_type *x, int64_t n, double scale) {
    const int64_t dim[] = {n, 4};
    double *v = kiln_array(m->g->arena, double, n * 4);
    for (int64_t i = 0; i < n; i++)
        for (int k = 0; k < 2; k++) {
            const double size = (double)x->dim[3 - k];
            const double from = size * (1.25 * kiln_rng_unit(&m->rng) - 0.25);
            const double length = one_in(m, 12) ? 0 : size * kiln_rng_unit(&m->rng);
            v[4 * i + k] = from / scale;
            v[4 * i + 2 + k] = (from + length) / scale;
        }
    return draw_known(m, x->dtype == KILN_F64 ? KILN_F64 : KILN_F32, 2, dim, v);
}

bool random_graph_regions_aligned(maker *m) {
    kiln_value *x = draw_value(m, KILN_DT_FLOAT, 4, 4);
    const int64_t n = draw(m, 1, 5);
    const double scale = one_in(m, 2) ? 1 : 0.25;
    kiln_value *in[3] = {x, draw_regions(m, &x->type, n, scale),
                         draw_indices(m, one_in(m, 2) ? KILN_I64 : KILN_I32, 1, &n, 0,
                                      x->type.dim[0] - 1)};
    const kiln_attr_arg args[] = {
        kiln_arg_int("height", draw(m, 1, 4)),
        kiln_arg_int("width", draw(m, 1, 4)),
        kiln_arg_int("sampling_ratio", one_in(m, 2) ? 0 : draw(m, 1, 3)),
        kiln_arg_float("spatial_scale", scale),
        kiln_arg_word("mode", one_in(m, 3) ? "max" : "avg"),
        kiln_arg_bool("half_pixel", one_in(m, 2))};
    return add_op(m, &kiln_op_roi_align, in, 3, args, 6) != NULL;
}

/* Corners or centres and sizes, many of them close to others. */
static kiln_value *draw_boxes(maker *m, kiln_dtype dtype, int64_t batch, int64_t n) {
    const int64_t dim[] = {batch, n, 4};
    double *v = kiln_array(m->g->arena, double, batch *n * 4);
    for (int64_t i = 0; i < batch * n; i++) {
        const int64_t near = one_in(m, 2) && i > 0 ? draw(m, 0, i - 1) : -1;
        for (int k = 0; k < 4; k++)
            v[4 * i + k] = near < 0
                               ? (k >= 2 ? 1 : 0) + kiln_rng_unit(&m->rng)
                               : v[4 * near + k] + 0.2 * (kiln_rng_unit(&m->rng) - 0.5);
    }
    return draw_known(m, dtype, 3, dim, v);
}

/* Rows that are not all used: an output, which nobody reads. */
static void make_bounded(maker *m, kiln_node *n) {
    n->out[0]->count = n->out[1];
    n->out[0]->bounded_axis = 0;
    m->pool.n -= 2;
    kiln_vec_push(m->g->arena, &m->pool, n->out[1]);
    kiln_graph_add_output(m->g, n->out[0], "rows");
}

/* Few enough: the reference is slow. */
static bool are_scores(const kiln_value *v, const void *user) {
    (void)user;
    return kiln_dtype_is_in(v->type.dtype, KILN_DT_FLOAT) && v->type.rank == 3 &&
           v->type.dim[0] <= 4 && v->type.dim[2] <= 40 && kiln_type_elems(&v->type) > 0;
}

static kiln_value *draw_scores(maker *m) {
    kiln_value *old = one_in(m, 3) ? NULL : find_value(m, are_scores, NULL);
    if (old != NULL)
        return old;
    const int64_t dim[] = {draw(m, 1, 2), draw(m, 1, 5), draw(m, 1, 40)};
    const bool is_float = kiln_dtype_is_in(m->dtype, KILN_DT_FLOAT);
    return draw_input(m, is_float ? m->dtype : KILN_F32, 3, dim);
}

bool random_graph_boxes_chosen(maker *m) {
    kiln_value *scores = draw_scores(m);
    const int64_t *dim = scores->type.dim;
    kiln_value *in[2] = {draw_boxes(m, scores->type.dtype, dim[0], dim[2]), scores};
    const kiln_attr_arg args[] = {
        kiln_arg_int("max_per_class", one_in(m, 12) ? 0 : draw(m, 1, dim[2] + 2)),
        kiln_arg_float("iou_threshold", kiln_rng_unit(&m->rng)),
        kiln_arg_bool("center_point", one_in(m, 3)),
        kiln_arg_float("score_threshold", kiln_rng_unit(&m->rng) - 0.5)};
    kiln_node *n =
        add_node(m, &kiln_op_non_max_suppression, in, 2, 2, args, one_in(m, 3) ? 3 : 4);
    if (n != NULL && one_in(m, 2))
        make_bounded(m, n);
    return n != NULL;
}

bool random_graph_sequences_counted(maker *m) {
    kiln_value *x = draw_value(m, KILN_DT(KILN_I32) | KILN_DT(KILN_I64), 2, 2);
    const int64_t row = x->type.dim[1];
    const int64_t dim[] = {draw(m, 1, 9), draw(m, 1, 4)};
    kiln_value *in[2] = {x, draw_indices(m, x->type.dtype, 2, dim, 0, draw(m, 1, 3))};
    const kiln_attr_arg arg = kiln_arg_int("skips", draw(m, 0, row > 4 ? 3 : row - 1));
    return add_op(m, &kiln_op_ngram_count, in, 2, &arg, 1) != NULL;
}
