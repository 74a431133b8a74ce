/* Between row-major and a type's own layout.
 *
 * Both ways walk the packed elements in memory order, a run of the innermost physical
 * axis at a time. An axis of the packed tensor stands for a step along one logical
 * axis; positions past a logical extent are tail lanes. What else kernels read of
 * constants is made by programs (compiler/network/network_pack.h).
 */
#include "compiler/graph/type.h"
#include "base/fault.h"

#include <string.h>

enum { MAX_PHYSICAL = KILN_MAX_RANK + KILN_MAX_BLOCKS };

/* One axis of the packed tensor. */
typedef struct step {
    int axis;       /* logical */
    int64_t extent; /* of the packed axis */
    int64_t size;   /* logical elements that one position advances */
    int64_t stride; /* row-major elements that one position advances */
} step;

typedef struct walk {
    int n;
    step step[MAX_PHYSICAL];
    int64_t at[MAX_PHYSICAL];     /* positions of all axes but the last */
    int64_t coord[KILN_MAX_RANK]; /* the logical index they make */
    int64_t offset;               /* the same, row-major */
    const int64_t *dim;           /* logical extents */
} walk;

/* Elements that the blocks of an axis behind block `after` hold (-1: all of them). */
static int64_t held(const kiln_layout *l, int axis, int after) {
    int64_t n = 1;
    for (int b = after + 1; b < l->n_blocks; b++)
        if (l->block[b].axis == axis)
            n *= l->block[b].size;
    return n;
}

static void walk_init(walk *w, const kiln_type *t) {
    const kiln_layout *l = &t->layout;
    int64_t stride[KILN_MAX_RANK];
    kiln_strides(t->rank, t->dim, stride);
    *w = (walk){.dim = t->dim};
    for (int i = 0; i < t->rank; i++) {
        const int axis = l->n_order == 0 ? i : l->order[i];
        const int64_t size = held(l, axis, -1);
        w->step[w->n++] = (step){
            .axis = axis, .extent = (t->dim[axis] + size - 1) / size, .size = size};
    }
    for (int b = 0; b < l->n_blocks; b++)
        w->step[w->n++] = (step){.axis = l->block[b].axis,
                                 .extent = l->block[b].size,
                                 .size = held(l, l->block[b].axis, b)};
    for (int i = 0; i < w->n; i++)
        w->step[i].stride = w->step[i].size * stride[w->step[i].axis];
}

/* To the next run; false behind the last. */
static bool walk_next(walk *w) {
    for (int i = w->n - 1; i-- > 0;) {
        const step *s = &w->step[i];
        if (++w->at[i] < s->extent) {
            w->coord[s->axis] += s->size;
            w->offset += s->stride;
            return true;
        }
        w->coord[s->axis] -= (s->extent - 1) * s->size;
        w->offset -= (s->extent - 1) * s->stride;
        w->at[i] = 0;
    }
    return false;
}

/* Elements of the current run that are no tail lanes; they come first. */
static int64_t run_length(const walk *w, const kiln_type *t) {
    const step *last = &w->step[w->n - 1];
    for (int axis = 0; axis < t->rank; axis++)
        if (w->coord[axis] >= w->dim[axis])
            return 0;
    const int64_t room = w->dim[last->axis] - w->coord[last->axis];
    const int64_t n = (room + last->size - 1) / last->size;
    return n < last->extent ? n : last->extent;
}

/* n elements of `bytes` each; strides in elements. */
static void copy_run(unsigned char *to, int64_t to_stride, const unsigned char *from,
                     int64_t from_stride, int64_t n, size_t bytes) {
    if (to_stride == 1 && from_stride == 1) {
        memcpy(to, from, (size_t)n * bytes);
        return;
    }
    const size_t down = (size_t)to_stride * bytes, across = (size_t)from_stride * bytes;
    /* memcpy of a constant size is one move. */
    for (size_t k = 0; k < (size_t)n; k++) {
        if (bytes == 4)
            memcpy(to + k * down, from + k * across, 4);
        else if (bytes == 2)
            memcpy(to + k * down, from + k * across, 2);
        else if (bytes == 1)
            to[k * down] = from[k * across];
        else
            memcpy(to + k * down, from + k * across, 8);
    }
}

bool kiln_type_has_tail(const kiln_type *t, int axis) {
    KILN_ASSERT(axis >= 0 && axis < t->rank, "a type of rank %d has no axis %d",
                t->rank, axis);
    return t->dim[axis] % held(&t->layout, axis, -1) != 0;
}

bool kiln_type_has_tails(const kiln_type *t) {
    for (int axis = 0; axis < t->rank; axis++)
        if (kiln_type_has_tail(t, axis))
            return true;
    return false;
}

/* ---- equal places ---------------------------------------------------------------- */

/* Steps of more than one position, neighbours joined where the slower one steps over
 * all of the faster. */
static int join_steps(const walk *w, step out[MAX_PHYSICAL]) {
    int n = 0;
    for (int i = 0; i < w->n; i++) {
        const step *s = &w->step[i];
        if (s->extent == 1)
            continue;
        if (n > 0 && out[n - 1].stride == s->stride * s->extent) {
            out[n - 1].stride = s->stride;
            out[n - 1].extent *= s->extent;
        } else {
            out[n++] = *s;
        }
    }
    return n;
}

/* Extents of axes that have tail lanes; how many. */
static int tails_of(const kiln_type *t, int64_t out[KILN_MAX_RANK]) {
    int n = 0;
    for (int axis = 0; axis < t->rank; axis++)
        if (kiln_type_has_tail(t, axis))
            out[n++] = t->dim[axis];
    return n;
}

static bool same_tails(const kiln_type *x, const kiln_type *y) {
    int64_t a[KILN_MAX_RANK], b[KILN_MAX_RANK];
    const int n = tails_of(x, a);
    return n == tails_of(y, b) && memcmp(a, b, (size_t)n * sizeof *a) == 0;
}

bool kiln_type_same_places(const kiln_type *x, const kiln_type *y) {
    step a[MAX_PHYSICAL], b[MAX_PHYSICAL];
    walk w;
    if (kiln_type_elems(x) != kiln_type_elems(y) || !same_tails(x, y))
        return false;
    walk_init(&w, x);
    const int n = join_steps(&w, a);
    walk_init(&w, y);
    if (n != join_steps(&w, b))
        return false;
    for (int i = 0; i < n; i++)
        if (a[i].stride != b[i].stride || a[i].extent != b[i].extent)
            return false;
    return true;
}

/* ---- packing --------------------------------------------------------------------- */

void kiln_layout_pack(const kiln_type *t, const void *plain, void *packed) {
    const size_t bytes = kiln_dtype_bytes(t->dtype);
    const int64_t n_elems = kiln_type_elems(t);
    const unsigned char *from = plain;
    unsigned char *to = packed;
    if (n_elems == 0)
        return;
    if (kiln_layout_is_plain(&t->layout) || t->rank == 0) {
        memcpy(to, from, (size_t)n_elems * bytes);
        return;
    }
    walk w;
    walk_init(&w, t);
    const step *last = &w.step[w.n - 1];
    const size_t run = (size_t)last->extent * bytes;
    do {
        const bool is_left = to == packed && KILN_FAULT(pack_first_run);
        const int64_t n = is_left ? 0 : run_length(&w, t);
        if (n > 0)
            copy_run(to, 1, from + (size_t)w.offset * bytes, last->stride, n, bytes);
        memset(to + (size_t)n * bytes, 0, run - (size_t)n * bytes);
        to += run;
    } while (walk_next(&w));
}

void kiln_layout_unpack(const kiln_type *t, const void *packed, void *plain) {
    const size_t bytes = kiln_dtype_bytes(t->dtype);
    const int64_t n_elems = kiln_type_elems(t);
    const unsigned char *from = packed;
    unsigned char *to = plain;
    if (n_elems == 0)
        return;
    if (kiln_layout_is_plain(&t->layout) || t->rank == 0) {
        memcpy(to, from, (size_t)n_elems * bytes);
        return;
    }
    walk w;
    walk_init(&w, t);
    const step *last = &w.step[w.n - 1];
    do {
        const int64_t n = run_length(&w, t);
        if (n > 0)
            copy_run(to + (size_t)w.offset * bytes, last->stride, from, 1, n, bytes);
        from += (size_t)last->extent * bytes;
    } while (walk_next(&w));
}
