/* Parts of a tensor, x[:, 0] in a model's code: keras.ops.GetItem, by integers, slices,
 * an ellipsis and new axes. Source: keras.src.ops.numpy.GetItem; NumPy, "Basic
 * indexing". */
#include "compiler/frontend/keras/keras_internal.h"

#include <inttypes.h>
#include <string.h>

typedef struct parts {
    kiln_value *x; /* its axes that are not cut yet have their old places */
    int axis;      /* of x: the next */
    int64_t dim[KILN_MAX_RANK];
    int rank; /* of what is asked for, so far */
} parts;

static bool is_kind(const kiln_json *item, const char *class_name) {
    return strcmp(kiln_json_string(kiln_json_get(item, "class_name"), ""),
                  class_name) == 0;
}

static kiln_status give_axis(kiln_keras_call *k, parts *p, int64_t size) {
    if (p->rank == KILN_MAX_RANK)
        return kiln_fail(k->cx->common.err, KILN_ERR_LIMIT,
                         "its result may have at most %d axes", KILN_MAX_RANK);
    p->dim[p->rank++] = size;
    return KILN_OK;
}

static kiln_status keep_axes(kiln_keras_call *k, parts *p, int n) {
    for (int i = 0; i < n; i++)
        KILN_TRY(give_axis(k, p, p->x->type.dim[p->axis++]));
    return KILN_OK;
}

static kiln_status pick_one(kiln_keras_call *k, parts *p, int64_t at) {
    const int64_t n = p->x->type.dim[p->axis];
    if (at < -n || at >= n)
        return kiln_fail(k->cx->common.err, KILN_ERR_SHAPE,
                         "index %" PRId64 " is outside of axis %d, which has %" PRId64
                         " elements",
                         at, p->axis, n);
    p->x = kiln_compose_slice(&k->c, p->x, p->axis++, at < 0 ? at + n : at, 1, 1);
    return KILN_OK;
}

/* Keras 3 has a slice as an object of its class, Keras 2 as {"start", "stop", "step"}. */
static const kiln_json *member_of(const kiln_json *slice, const char *name) {
    const kiln_json *const config = kiln_json_get(slice, "config");
    return kiln_json_get(config != NULL ? config : slice, name);
}

/* An end of a slice as Python reads it; absent: `otherwise`. */
static kiln_status end_of(kiln_keras_call *k, const kiln_json *slice, const char *name,
                          int64_t otherwise, int64_t n, int64_t low, int64_t *out) {
    const kiln_json *const v = member_of(slice, name);
    *out = otherwise;
    if (v == NULL || kiln_json_is_null(v))
        return KILN_OK;
    if (!kiln_json_i64(v, out) || *out < INT32_MIN || *out > INT32_MAX)
        return kiln_fail(k->cx->common.err, KILN_ERR_UNSUPPORTED,
                         "'%s' of a slice must be an integer of 32 bits or null", name);
    *out += *out < 0 ? n : 0;
    *out = *out < low ? low : *out > n + low ? n + low : *out;
    return KILN_OK;
}

static kiln_status pick_some(kiln_keras_call *k, parts *p, const kiln_json *slice) {
    const kiln_json *const by = member_of(slice, "step");
    const int64_t n = p->x->type.dim[p->axis];
    int64_t step = 1, start = 0, stop = 0;
    if (by != NULL && !kiln_json_is_null(by) &&
        (!kiln_json_i64(by, &step) || step == 0 || step < -INT32_MAX ||
         step > INT32_MAX))
        return kiln_fail(k->cx->common.err, KILN_ERR_UNSUPPORTED,
                         "'step' of a slice must be an integer of 32 bits but 0, or "
                         "null");
    const int64_t low = step < 0 ? -1 : 0; /* ends are before the first, too */
    KILN_TRY(end_of(k, slice, "start", step < 0 ? n - 1 : 0, n, low, &start));
    KILN_TRY(end_of(k, slice, "stop", step < 0 ? -1 : n, n, low, &stop));
    const int64_t extent = step < 0 ? start - stop : stop - start;
    const int64_t stride = step < 0 ? -step : step;
    const int64_t size = extent <= 0 ? 0 : (extent - 1) / stride + 1;
    p->x =
        kiln_compose_slice(&k->c, p->x, p->axis++, size == 0 ? 0 : start, step, size);
    return give_axis(k, p, size);
}

static kiln_status pick(kiln_keras_call *k, parts *p, const kiln_json *item, int left) {
    int64_t at = 0;
    if (kiln_json_is_null(item))
        return give_axis(k, p, 1);
    if (is_kind(item, "__ellipsis__"))
        return keep_axes(k, p, left);
    if (p->axis == p->x->type.rank)
        return kiln_fail(k->cx->common.err, KILN_ERR_SHAPE,
                         "it picks from more axes than %s has",
                         kiln_type_text(&k->cx->common.scratch, &k->in[0]->type));
    if (is_kind(item, "__slice__") || kiln_json_get(item, "start") != NULL)
        return pick_some(k, p, item);
    if (kiln_json_i64(item, &at))
        return pick_one(k, p, at);
    return kiln_fail(k->cx->common.err, KILN_ERR_UNSUPPORTED,
                     "it picks by something other than integers, slices, an ellipsis "
                     "and new axes");
}

/* Axes that the key takes; an ellipsis stands for the others. */
static int count_taken(const kiln_json *items, bool is_list) {
    int n = 0;
    for (const kiln_json *i = items; i != NULL; i = is_list ? kiln_json_next(i) : NULL)
        n += !kiln_json_is_null(i) && !is_kind(i, "__ellipsis__");
    return n;
}

kiln_status kiln_keras_import_get_item(kiln_keras_call *k) {
    const kiln_json *const key =
        k->layer->is_lambda ? kiln_json_get(k->layer->config, "slice_spec")
                            : kiln_json_at(kiln_json_get(k->layer->node, "args"), 1);
    parts p = {.x = k->in[0]};
    const int rank = p.x->type.rank;
    bool has_rest = false;
    if (key == NULL)
        return kiln_fail(k->cx->common.err, KILN_ERR_PARSE,
                         "it must be called with a tensor and what to pick of it");
    const bool is_list = kiln_json_is_array(key);
    const kiln_json *const items = is_list ? kiln_json_first(key) : key;
    const int taken = count_taken(items, is_list);
    for (const kiln_json *i = items; i != NULL;
         i = is_list ? kiln_json_next(i) : NULL) {
        const bool is_rest = is_kind(i, "__ellipsis__");
        if (is_rest && has_rest)
            return kiln_fail(k->cx->common.err, KILN_ERR_PARSE,
                             "it may have one ellipsis");
        has_rest = has_rest || is_rest;
        KILN_TRY(pick(k, &p, i, taken < rank ? rank - taken : 0));
    }
    KILN_TRY(keep_axes(k, &p, rank - p.axis));
    k->out = kiln_compose_reshape(&k->c, p.x, p.rank, p.dim);
    return k->c.status;
}
