/* Graph inputs: their types as the file declares them, dimensions as the caller binds
 * them. A dynamic dimension is one that the signature has as -1; without --shape it has
 * the size that the file was converted with, as in the interpreter. The first dimension
 * of any input may be bound: a batch that the converter fixed. */
#include "compiler/frontend/tflite/tflite_internal.h"

#include <inttypes.h>
#include <string.h>

const char *kiln_tflite_port_name(kiln_arena *a, const kiln_tflite_subgraph *g,
                                  bool is_input, size_t i) {
    const kiln_tflite_tensor *const t =
        &g->tensor[is_input ? g->input[i] : g->output[i]];
    if (t->name.n > 0)
        return kiln_str_dupv(a, t->name);
    return kiln_format(a, "%s%zu", is_input ? "input" : "output", i);
}

static bool is_dynamic(const kiln_tflite_tensor *t, size_t axis) {
    return t->shape[axis] < 0 || (t->n_signature > 0 && t->signature[axis] < 0);
}

/* ---- binding ------------------------------------------------------------------------ */

static const kiln_shape_binding *find_shape(const kiln_import_options *o,
                                            const char *name) {
    for (size_t i = 0; i < o->n_shapes; i++)
        if (strcmp(o->shapes[i].name, name) == 0)
            return &o->shapes[i];
    return NULL;
}

static const kiln_tensor *find_value(const kiln_value_binding *v, size_t n,
                                     const char *name) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(v[i].name, name) == 0)
            return &v[i].value;
    return NULL;
}

static const char *declared_text(kiln_tflite_cx *cx, const kiln_tflite_tensor *t) {
    int64_t dim[KILN_MAX_RANK] = {0};
    for (size_t i = 0; i < t->n_shape; i++)
        dim[i] = is_dynamic(t, i) ? -1 : t->shape[i];
    return kiln_shape_text(&cx->common.scratch, (int)t->n_shape, dim);
}

static kiln_status check_given(kiln_tflite_cx *cx, const kiln_tflite_tensor *t,
                               int rank, const int64_t *dim) {
    bool ok = t->n_shape == (size_t)rank;
    for (size_t i = 1; ok && i < t->n_shape; i++)
        ok = is_dynamic(t, i) || t->shape[i] == dim[i];
    if (ok)
        return KILN_OK;
    return kiln_tflite_fail(cx, KILN_ERR_SHAPE,
                            "its shape is declared as %s, but %s is given; only the "
                            "batch and dynamic dimensions (-1) can be bound",
                            declared_text(cx, t),
                            kiln_shape_text(&cx->common.scratch, rank, dim));
}

static kiln_status input_type(kiln_tflite_cx *cx, const kiln_tflite_tensor *t,
                              const char *name, kiln_type *out) {
    const kiln_import_options *const o = cx->options;
    const kiln_shape_binding *const s = find_shape(o, name);
    const kiln_tensor *given = find_value(o->values, o->n_values, name);
    kiln_dtype dtype;
    int64_t dim[KILN_MAX_RANK] = {0};
    KILN_TRY(kiln_tflite_dtype(t->type, &dtype, cx->common.err));
    if (given == NULL)
        given = find_value(o->hints, o->n_hints, name);
    for (size_t i = 0; i < t->n_shape; i++)
        dim[i] = t->shape[i] < 0 ? 1 : t->shape[i];
    if (s != NULL || given != NULL) {
        const int rank = s != NULL ? s->rank : given->type.rank;
        const int64_t *const d = s != NULL ? s->dim : given->type.dim;
        KILN_TRY(check_given(cx, t, rank, d));
        memcpy(dim, d, (size_t)rank * sizeof *dim);
    }
    *out = kiln_type_make(dtype, (int)t->n_shape, dim);
    return kiln_type_check(out, cx->common.err);
}

static kiln_status bind_one(kiln_tflite_cx *cx, size_t i) {
    const kiln_import_options *const o = cx->options;
    const int32_t at = cx->g->input[i];
    const kiln_tflite_tensor *const t = &cx->g->tensor[at];
    const char *const name = kiln_tflite_port_name(cx->common.arena, cx->g, true, i);
    const kiln_tensor *const fixed = find_value(o->values, o->n_values, name);
    const kiln_tensor *const hint = find_value(o->hints, o->n_hints, name);
    const kiln_tensor *const value = fixed != NULL ? fixed : hint;
    kiln_type type;
    KILN_TRY(input_type(cx, t, name, &type));
    if (value != NULL && !kiln_type_eq(&value->type, &type))
        return kiln_tflite_fail(cx, KILN_ERR_SHAPE,
                                "it is %s, but the value given is %s",
                                kiln_type_text(&cx->common.scratch, &type),
                                kiln_type_text(&cx->common.scratch, &value->type));
    if (cx->value[at] != NULL)
        return kiln_tflite_fail(cx, KILN_ERR_PARSE, "it is given twice");
    kiln_value *const v =
        fixed != NULL ? kiln_graph_add_const(cx->common.graph, name, &type, fixed->data)
                      : kiln_graph_add_input(cx->common.graph, name, &type);
    if (fixed == NULL && hint != NULL) {
        kiln_vec_push(&cx->common.scratch, &cx->common.hinted, v);
        kiln_vec_push(&cx->common.scratch, &cx->common.hints, hint);
    }
    cx->value[at] = v;
    return KILN_OK;
}

/* Names that the caller binds must be inputs. */
static kiln_status check_name(kiln_tflite_cx *cx, const char *name, const char *flag) {
    kiln_buf b;
    kiln_buf_init(&b, &cx->common.scratch);
    for (size_t i = 0; i < cx->g->n_input; i++) {
        const char *const own =
            kiln_tflite_port_name(&cx->common.scratch, cx->g, true, i);
        if (strcmp(own, name) == 0)
            return KILN_OK;
        kiln_buf_printf(&b, " '%s'", kiln_import_show(&cx->common, kiln_str_from(own)));
    }
    return kiln_tflite_fail(cx, KILN_ERR_ARG,
                            "%s names '%s', which is no graph input; the inputs are:%s",
                            flag, name, b.n == 0 ? " none" : kiln_buf_str(&b).p);
}

kiln_status kiln_tflite_bind_inputs(kiln_tflite_cx *cx) {
    const kiln_import_options *const o = cx->options;
    for (size_t i = 0; i < o->n_shapes; i++)
        KILN_TRY(check_name(cx, o->shapes[i].name, "--shape"));
    for (size_t i = 0; i < o->n_values; i++)
        KILN_TRY(check_name(cx, o->values[i].name, "--bind"));
    for (size_t i = 0; i < cx->g->n_input; i++) {
        const kiln_status st = bind_one(cx, i);
        if (st == KILN_OK)
            continue;
        kiln_note(
            cx->common.err, "binding graph input '%s'",
            kiln_import_show(&cx->common, kiln_str_from(kiln_tflite_port_name(
                                              &cx->common.scratch, cx->g, true, i))));
        return st;
    }
    return KILN_OK;
}

/* ---- listing ------------------------------------------------------------------------ */

void kiln_tflite_declare(kiln_arena *a, const kiln_tflite_subgraph *g, bool is_input,
                         size_t i, kiln_declared_input *out) {
    const kiln_tflite_tensor *const t =
        &g->tensor[is_input ? g->input[i] : g->output[i]];
    char buf[32];
    *out = (kiln_declared_input){.name = kiln_tflite_port_name(a, g, is_input, i),
                                 .rank = (int)t->n_shape};
    out->has_type = kiln_tflite_dtype(t->type, &out->dtype, NULL) == KILN_OK;
    if (!out->has_type)
        out->what =
            kiln_format(a, "a tensor of %s", kiln_tflite_type_name(t->type, buf));
    for (size_t k = 0; k < t->n_shape; k++)
        out->dim[k] = t->shape[k] < 0 ? 1 : t->shape[k];
}

kiln_status kiln_tflite_list_inputs(kiln_arena *a, kiln_str bytes, const char *path,
                                    kiln_declared_input **out, size_t *n,
                                    kiln_err *err) {
    kiln_tflite_model m;
    kiln_err own = {0};
    kiln_fb fb = kiln_fb_begin(a, bytes, err == NULL ? &own : err);
    (void)path;
    KILN_TRY(kiln_tflite_decode(&fb, &m));
    const kiln_tflite_subgraph *const g = &m.subgraph[0];
    *out = kiln_array(a, kiln_declared_input, g->n_input);
    *n = g->n_input;
    for (size_t i = 0; i < g->n_input; i++)
        kiln_tflite_declare(a, g, true, i, &(*out)[i]);
    return KILN_OK;
}
