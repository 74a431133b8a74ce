/* A function's attributes by kind. */
#include "compiler/frontend/cntk/cntk_internal.h"

#include <inttypes.h>

static const kiln_cntk_item *get(kiln_cntk_cx *cx, const kiln_cntk_function *f,
                                 const char *name, kiln_cntk_kind kind,
                                 kiln_cntk_kind or_kind) {
    static const char *const names[KILN_CNTK_N_KINDS] = {
        "nothing", "a truth value", "a number", "a size", "a float",      "a double",
        "a text",  "a shape",       "an axis",  "a list", "a dictionary", "an array"};
    const kiln_cntk_item *const given = kiln_cntk_get(f->attrs, name);
    if (given == NULL || given->kind == KILN_CNTK_NONE)
        return NULL;
    const kiln_cntk_item *v = kiln_cntk_get_kind(f->attrs, name, kind);
    if (v == NULL)
        v = kiln_cntk_get_kind(f->attrs, name, or_kind);
    if (v == NULL && cx->attr_err.status == KILN_OK)
        (void)kiln_fail(&cx->attr_err, KILN_ERR_PARSE, "attribute '%s' must be %s",
                        name, names[kind]);
    return v;
}

bool kiln_cntk_bool(kiln_cntk_cx *cx, const kiln_cntk_function *f, const char *name,
                    bool otherwise) {
    const kiln_cntk_item *const v = get(cx, f, name, KILN_CNTK_BOOL, KILN_CNTK_BOOL);
    return v != NULL ? v->flag : otherwise;
}

int64_t kiln_cntk_int(kiln_cntk_cx *cx, const kiln_cntk_function *f, const char *name,
                      int64_t otherwise) {
    const kiln_cntk_item *const v = get(cx, f, name, KILN_CNTK_SIZE, KILN_CNTK_INT);
    if (v == NULL)
        return otherwise;
    if (v->kind == KILN_CNTK_INT)
        return v->i;
    return v->size < KILN_CNTK_OPEN ? (int64_t)v->size : INT64_MAX;
}

double kiln_cntk_float(kiln_cntk_cx *cx, const kiln_cntk_function *f, const char *name,
                       double otherwise) {
    const kiln_cntk_item *const v = get(cx, f, name, KILN_CNTK_DOUBLE, KILN_CNTK_FLOAT);
    if (v == NULL)
        return otherwise;
    return v->kind == KILN_CNTK_FLOAT ? (double)v->f : v->d;
}

kiln_str kiln_cntk_text(kiln_cntk_cx *cx, const kiln_cntk_function *f,
                        const char *name) {
    const kiln_cntk_item *const v =
        get(cx, f, name, KILN_CNTK_STRING, KILN_CNTK_STRING);
    return v != NULL ? v->text : (kiln_str){"", 0};
}

const kiln_cntk_shape *kiln_cntk_shape_of(kiln_cntk_cx *cx, const kiln_cntk_function *f,
                                          const char *name) {
    const kiln_cntk_item *const v = get(cx, f, name, KILN_CNTK_SHAPE, KILN_CNTK_SHAPE);
    return v != NULL ? v->shape : NULL;
}

const kiln_cntk_vector *kiln_cntk_list(kiln_cntk_cx *cx, const kiln_cntk_function *f,
                                       const char *name) {
    const kiln_cntk_item *const v =
        get(cx, f, name, KILN_CNTK_VECTOR, KILN_CNTK_VECTOR);
    return v != NULL ? v->vector : NULL;
}

kiln_status kiln_cntk_axis_of(kiln_cntk_cx *cx, const kiln_cntk_item *item,
                              const kiln_cntk_value *x, int limit, int *out) {
    const bool is_axis =
        item != NULL && item->kind == KILN_CNTK_AXIS && item->axis != NULL;
    const int64_t rank = kiln_cntk_rank(x);
    int64_t at = is_axis ? item->axis->index : INT64_MAX;
    if (at < 0)
        at += limit; /* from behind the slowest */
    if (!is_axis || at < 0 || at >= limit)
        return kiln_fail(cx->common.err, KILN_ERR_UNSUPPORTED,
                         "it must say a static axis of its input, which has shape %s; "
                         "along a sequence or the batch it is not read",
                         kiln_cntk_shape_text(cx, x));
    *out = (int)(rank - 1 - at); /* below 0: an axis that x does not have yet */
    return KILN_OK;
}
