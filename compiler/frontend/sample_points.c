/* Images at points between their pixels; see sample_points.h. All pixels of all images
 * are rows of one table, from which each point gathers the one or four that it needs: the
 * positions are those of the file, in its precision, which a grid of -1 to 1 would
 * round. */
#include "compiler/frontend/sample_points.h"

#include <inttypes.h>

/* One axis of the points: the pixel at or before each, the one behind it, how far it is
 * on the way there, and whether it lies inside. */
typedef struct axis {
    kiln_value *first, *next; /* i64 */
    kiln_value *part;
    kiln_value *is_inside;
} axis;

static axis find(kiln_compose *c, kiln_value *at, int64_t size, bool is_nearest) {
    axis a;
    const double last = (double)(size - 1);
    kiln_value *const zero = kiln_import_scalar(c->cx, at->type.dtype, 0);
    a.is_inside = kiln_compose_2(c, &kiln_op_logical_and,
                                 kiln_compose_scalar(c, &kiln_op_greater_equal, at, 0),
                                 kiln_compose_scalar(c, &kiln_op_less_equal, at, last));
    at = kiln_compose_where(c, a.is_inside, at, zero); /* NaN goes, too */
    if (is_nearest)
        at = kiln_compose_scalar(c, &kiln_op_add, at, 0.5);
    kiln_value *const floor = kiln_compose_1(c, &kiln_op_floor, at);
    a.part = kiln_compose_2(c, &kiln_op_sub, at, floor);
    a.first = kiln_compose_cast(c, floor, KILN_I64);
    a.next = kiln_compose_scalar(c, &kiln_op_add, a.first, 1);
    a.next = kiln_compose_scalar(c, &kiln_op_min, a.next, last);
    return a;
}

/* a + (b - a) * part, where part has no channels. */
static kiln_value *between(kiln_compose *c, kiln_value *a, kiln_value *b,
                           kiln_value *part) {
    b = kiln_compose_2(c, &kiln_op_sub, b, a);
    return kiln_compose_2(c, &kiln_op_add, a, kiln_compose_2(c, &kiln_op_mul, b, part));
}

static kiln_value *with_channels(kiln_compose *c, kiln_value *v) {
    int64_t dim[KILN_MAX_RANK];
    const int rank = v->type.rank;
    if (c->status != KILN_OK)
        return v;
    for (int i = 0; i < rank; i++)
        dim[i] = v->type.dim[i];
    dim[rank] = 1;
    return kiln_compose_reshape(c, v, rank + 1, dim);
}

/* Pixels (row, column), where rows are counted through all images. */
static kiln_value *pixels(kiln_compose *c, kiln_value *table, int64_t width,
                          kiln_value *row, kiln_value *column) {
    row = kiln_compose_scalar(c, &kiln_op_mul, row, (double)width);
    return kiln_compose_axis(c, &kiln_op_gather, table,
                             kiln_compose_2(c, &kiln_op_add, row, column), 0);
}

static bool can_sample(kiln_compose *c, const kiln_value *images,
                       const kiln_points *p) {
    const kiln_type *const t = &images->type;
    if (c->status != KILN_OK)
        return false;
    if (t->rank == 4 && kiln_type_elems(t) > 0 && p->y->type.rank < KILN_MAX_RANK &&
        p->x->type.rank < KILN_MAX_RANK)
        return true;
    kiln_compose_fail(c, kiln_fail(c->cx->err, KILN_ERR_SHAPE,
                                   "images must be [n, height, width, channels] "
                                   "without a 0, are %s",
                                   kiln_type_text(&c->cx->scratch, t)));
    return false;
}

kiln_value *kiln_compose_sample(kiln_compose *c, kiln_value *images,
                                const kiln_points *p) {
    if (!can_sample(c, images, p))
        return images;
    const int64_t *const d = images->type.dim;
    const int64_t flat[] = {d[0] * d[1] * d[2], d[3]}, height = d[1], width = d[2];
    kiln_value *const table = kiln_compose_cast(
        c, kiln_compose_reshape(c, images, 2, flat), p->y->type.dtype);
    axis y = find(c, p->y, height, p->is_nearest);
    axis x = find(c, p->x, width, p->is_nearest);
    kiln_value *const is_inside =
        kiln_compose_2(c, &kiln_op_logical_and, y.is_inside, x.is_inside);
    if (p->image != NULL) {
        kiln_value *first = kiln_compose_cast(c, p->image, KILN_I64);
        first = kiln_compose_scalar(c, &kiln_op_mul, first, (double)height);
        y.first = kiln_compose_2(c, &kiln_op_add, y.first, first);
        y.next = kiln_compose_2(c, &kiln_op_add, y.next, first);
    }
    kiln_value *v = pixels(c, table, width, y.first, x.first);
    if (!p->is_nearest) {
        kiln_value *const right = with_channels(c, x.part);
        v = between(c, v, pixels(c, table, width, y.first, x.next), right);
        kiln_value *const below =
            between(c, pixels(c, table, width, y.next, x.first),
                    pixels(c, table, width, y.next, x.next), right);
        v = between(c, v, below, with_channels(c, y.part));
    }
    kiln_value *const outside =
        kiln_import_scalar(c->cx, table->type.dtype, p->outside);
    return kiln_compose_where(c, with_channels(c, is_inside), v, outside);
}
