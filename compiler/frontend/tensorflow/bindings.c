/* Inputs of a graph: its placeholders, of the types that they declare, with dynamic
 * dimensions as the caller binds them. */
#include "compiler/frontend/tensorflow/tf_internal.h"

#include <inttypes.h>
#include <string.h>

bool kiln_tf_is_input(const kiln_tf_node *n) {
    if (n->is_hidden)
        return false;
    return kiln_str_is(n->op, "Placeholder") || kiln_str_is(n->op, "PlaceholderV2");
}

/* With a value that holds where the caller says nothing of it. */
static bool is_optional(const kiln_tf_node *n) {
    return !n->is_hidden && kiln_str_is(n->op, "PlaceholderWithDefault");
}

static const kiln_tensor *find_value(const kiln_value_binding *v, size_t n,
                                     kiln_str name) {
    for (size_t i = 0; i < n; i++)
        if (kiln_str_is(name, v[i].name))
            return &v[i].value;
    return NULL;
}

static const kiln_shape_binding *find_shape(const kiln_import_options *o,
                                            kiln_str name) {
    for (size_t i = 0; i < o->n_shapes; i++)
        if (kiln_str_is(name, o->shapes[i].name))
            return &o->shapes[i];
    return NULL;
}

static const kiln_tf_attr *attr_of(const kiln_tf_node *n, const char *name) {
    for (size_t i = 0; i < n->n_attr; i++)
        if (kiln_str_is(n->attr[i].name, name))
            return &n->attr[i];
    return NULL;
}

/* NULL: any shape fits. */
static const kiln_tf_shape *shape_of(const kiln_tf_node *n) {
    const kiln_tf_attr *const a = attr_of(n, "shape");
    return a == NULL || a->shape == NULL || a->shape->is_unknown ? NULL : a->shape;
}

/* "[?,224,224,3]": the declared shape, for messages; in scratch. */
static const char *declared_text(kiln_tf_cx *cx, const kiln_tf_shape *s) {
    kiln_buf b;
    if (s == NULL)
        return "of any rank";
    kiln_buf_init(&b, &cx->common.scratch);
    kiln_buf_puts(&b, "[");
    for (size_t i = 0; i < s->n_dim && i < KILN_MAX_RANK; i++) {
        kiln_buf_puts(&b, i == 0 ? "" : ",");
        if (s->dim[i].size < 0)
            kiln_buf_puts(&b, "?");
        else
            kiln_buf_printf(&b, "%" PRId64, s->dim[i].size);
    }
    kiln_buf_puts(&b, "]");
    return kiln_buf_str(&b).p;
}

typedef struct unbound {
    kiln_buf names, remedy;
    size_t n;
} unbound;

/* "--shape x:1x224x224x3", with a plausible size where the file says none. */
static void add_unbound(kiln_tf_cx *cx, unbound *u, const kiln_tf_node *n,
                        const kiln_tf_shape *s) {
    const char *const name = kiln_tf_show(cx, n->label);
    kiln_buf_printf(&u->names, "%s '%s' %s", u->n == 0 ? "" : ",", name,
                    declared_text(cx, s));
    kiln_buf_printf(&u->remedy, " --shape %s:%s", name, s == NULL ? "1" : "");
    for (size_t i = 0; s != NULL && i < s->n_dim; i++) {
        const int64_t guess = i == 0 ? 1 : s->n_dim == 4 ? 224 : 16;
        kiln_buf_printf(&u->remedy, "%s%" PRId64, i == 0 ? "" : "x",
                        s->dim[i].size < 0 ? guess : s->dim[i].size);
    }
    u->n++;
}

static kiln_status check_given(kiln_tf_cx *cx, const kiln_tf_shape *s, int rank,
                               const int64_t *dim) {
    bool fits = s == NULL || s->n_dim == (size_t)rank;
    for (int i = 0; s != NULL && fits && i < rank; i++)
        fits = s->dim[i].size < 0 || s->dim[i].size == dim[i];
    if (fits)
        return KILN_OK;
    return kiln_tf_fail(cx, KILN_ERR_SHAPE,
                        "its shape is declared as %s, but %s is given; only dynamic "
                        "dimensions can be bound",
                        declared_text(cx, s),
                        kiln_shape_text(&cx->common.scratch, rank, dim));
}

/* *is_bound false: a dimension is not known. */
static kiln_status resolve(kiln_tf_cx *cx, const kiln_tf_node *n, kiln_type *out,
                           bool *is_bound) {
    const kiln_import_options *const o = cx->options;
    const kiln_tf_shape *const s = shape_of(n);
    const kiln_tf_attr *const type = attr_of(n, "dtype");
    const kiln_shape_binding *const shape = find_shape(o, n->label);
    const kiln_tensor *t = find_value(o->values, o->n_values, n->label);
    kiln_dtype dtype;
    int64_t dim[KILN_MAX_RANK];
    if (t == NULL)
        t = find_value(o->hints, o->n_hints, n->label);
    if (type == NULL || !type->has_type)
        return kiln_tf_fail(cx, KILN_ERR_PARSE, "attribute 'dtype' is missing");
    KILN_TRY(kiln_tf_dtype(type->type, &dtype, cx->common.err));
    if (s != NULL && s->n_dim > KILN_MAX_RANK)
        return kiln_tf_fail(cx, KILN_ERR_LIMIT, "rank must be at most %d, is %zu",
                            KILN_MAX_RANK, s->n_dim);
    *is_bound = true;
    if (shape != NULL || t != NULL) {
        const int rank = shape != NULL ? shape->rank : t->type.rank;
        const int64_t *const given = shape != NULL ? shape->dim : t->type.dim;
        KILN_TRY(check_given(cx, s, rank, given));
        *out = kiln_type_make(dtype, rank, given);
        return kiln_type_check(out, cx->common.err);
    }
    for (size_t i = 0; s != NULL && i < s->n_dim; i++) {
        dim[i] = s->dim[i].size;
        *is_bound = *is_bound && dim[i] >= 0;
    }
    *is_bound = *is_bound && s != NULL;
    if (!*is_bound)
        return KILN_OK;
    *out = kiln_type_make(dtype, (int)s->n_dim, dim);
    return kiln_type_check(out, cx->common.err);
}

static kiln_status make_input(kiln_tf_cx *cx, kiln_tf_frame *f, size_t at,
                              const kiln_type *type) {
    const kiln_tf_node *const n = &f->node[at];
    const kiln_import_options *const o = cx->options;
    const char *const name = kiln_str_dupv(cx->common.arena, n->label);
    const kiln_tensor *const given = find_value(o->values, o->n_values, n->label);
    const kiln_tensor *const hint = find_value(o->hints, o->n_hints, n->label);
    kiln_tensor bound = {0};
    const kiln_tensor *value = hint;
    if (given != NULL) {
        bound = *given;
        KILN_TRY(kiln_tensor_from_bytes(&bound, type->dtype, cx->common.err));
        value = &bound;
    }
    if (value != NULL && !kiln_type_eq(&value->type, type))
        return kiln_tf_fail(cx, KILN_ERR_SHAPE, "it is %s, but the value given is %s",
                            kiln_type_text(&cx->common.scratch, type),
                            kiln_type_text(&cx->common.scratch, &value->type));
    kiln_value *v;
    if (given != NULL) {
        v = kiln_graph_add_const(cx->common.graph, name, type, bound.data);
    } else {
        v = kiln_graph_add_input(cx->common.graph, name, type);
        if (hint != NULL) {
            kiln_vec_push(&cx->common.scratch, &cx->common.hinted, v);
            kiln_vec_push(&cx->common.scratch, &cx->common.hints, hint);
        }
    }
    return kiln_tf_set(cx, n, v);
}

/* Names that the caller binds must be inputs. */
static kiln_status check_name(kiln_tf_cx *cx, const kiln_tf_frame *f, const char *name,
                              const char *flag) {
    kiln_buf b;
    kiln_buf_init(&b, &cx->common.scratch);
    for (size_t i = 0; i < f->n_node; i++) {
        if (!kiln_tf_is_input(&f->node[i]) && !is_optional(&f->node[i]))
            continue;
        if (kiln_str_is(f->node[i].label, name))
            return KILN_OK;
        kiln_buf_printf(&b, " '%s'", kiln_tf_show(cx, f->node[i].label));
    }
    return kiln_tf_fail(cx, KILN_ERR_ARG,
                        "%s names '%s', which is no graph input; the inputs are:%s",
                        flag, name, b.n == 0 ? " none" : kiln_buf_str(&b).p);
}

/* A default holds unless the caller names the input. */
static bool is_wanted(kiln_tf_cx *cx, const kiln_tf_node *n) {
    const kiln_import_options *const o = cx->options;
    if (!is_optional(n))
        return kiln_tf_is_input(n);
    return find_shape(o, n->label) != NULL ||
           find_value(o->values, o->n_values, n->label) != NULL;
}

static kiln_status bind_one(kiln_tf_cx *cx, kiln_tf_frame *f, size_t i, unbound *u) {
    kiln_type type;
    bool is_bound = false;
    KILN_TRY(resolve(cx, &f->node[i], &type, &is_bound));
    if (is_bound)
        return make_input(cx, f, i, &type);
    add_unbound(cx, u, &f->node[i], shape_of(&f->node[i]));
    return KILN_OK;
}

kiln_status kiln_tf_bind_inputs(kiln_tf_cx *cx, kiln_tf_frame *f) {
    const kiln_import_options *const o = cx->options;
    unbound u = {.n = 0};
    kiln_buf_init(&u.names, &cx->common.scratch);
    kiln_buf_init(&u.remedy, &cx->common.scratch);
    for (size_t i = 0; i < o->n_shapes; i++)
        KILN_TRY(check_name(cx, f, o->shapes[i].name, "--shape"));
    for (size_t i = 0; i < o->n_values; i++)
        KILN_TRY(check_name(cx, f, o->values[i].name, "--bind"));
    for (size_t i = 0; i < f->n_node; i++) {
        if (!is_wanted(cx, &f->node[i]))
            continue;
        const kiln_status st = bind_one(cx, f, i, &u);
        if (st != KILN_OK) {
            kiln_note(cx->common.err, "binding graph input '%s'",
                      kiln_tf_show(cx, f->node[i].label));
            return st;
        }
    }
    cx->report->n_unbound = u.n;
    if (u.n == 0)
        return KILN_OK;
    return kiln_tf_fail(cx, KILN_ERR_SHAPE,
                        "shapes must be known, but %zu graph input%s dynamic:%s; bind "
                        "them, for example%s ('kiln inspect' tries which sizes fit)",
                        u.n, u.n == 1 ? " is" : "s are", kiln_buf_str(&u.names).p,
                        kiln_buf_str(&u.remedy).p);
}

/* ---- listing ---------------------------------------------------------------------- */

void kiln_tf_declare(kiln_arena *a, const kiln_tf_node *n, kiln_declared_input *out) {
    const kiln_tf_attr *const type = attr_of(n, "dtype");
    const kiln_tf_shape *const s = shape_of(n);
    char buf[32];
    *out = (kiln_declared_input){.name = kiln_str_dupv(a, n->label), .rank = -1};
    if (type == NULL || !type->has_type)
        out->what = "of no type";
    else if (kiln_tf_dtype(type->type, &out->dtype, NULL) == KILN_OK)
        out->has_type = true;
    else
        out->what =
            kiln_format(a, "a tensor of %s", kiln_tf_type_name(type->type, buf));
    if (s == NULL || s->n_dim > KILN_MAX_RANK)
        return;
    out->rank = (int)s->n_dim;
    for (size_t i = 0; i < s->n_dim; i++)
        out->dim[i] = s->dim[i].size < 0 ? -1 : s->dim[i].size;
}
