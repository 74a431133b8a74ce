/* Graph inputs: their types as the file declares them, dynamic dimensions as the caller
 * binds them. A symbolic dimension ("batch") that is bound once is bound everywhere.
 * Source: ONNX IR, "Static tensor shapes". */
#include "compiler/frontend/frontend_inputs.h"
#include "compiler/frontend/onnx/import_core.h"

#include <inttypes.h>
#include <string.h>

enum { MAX_SYMBOL = 120 }; /* bytes shown of a symbolic dimension's name */

static bool is_initializer(const kiln_onnx_cx *cx, kiln_str name) {
    return kiln_map_has(&cx->scope->tensors, name);
}

static bool is_static(const kiln_onnx_dim *d) { return d->has_value && d->value >= 0; }

/* "[batch,3,?,?]": the declared shape, for messages; in scratch. */
static const char *declared_text(kiln_onnx_cx *cx, const kiln_onnx_value_info *vi) {
    if (!vi->has_shape)
        return "of any rank";
    kiln_buf b;
    kiln_buf_init(&b, &cx->common.scratch);
    kiln_buf_puts(&b, "[");
    for (size_t i = 0; i < vi->n_dims && i < KILN_MAX_RANK; i++) {
        const kiln_onnx_dim *const d = &vi->dims[i];
        kiln_buf_puts(&b, i == 0 ? "" : ",");
        if (is_static(d))
            kiln_buf_printf(&b, "%" PRId64, d->value);
        else
            kiln_buf_puts(&b, d->param.n > 0 ? kiln_onnx_show(cx, d->param) : "?");
    }
    kiln_buf_puts(&b, "]");
    return kiln_buf_str(&b).p;
}

/* What kinds of values are no tensors, in ONNX's words. */
static const char *kind_of(const kiln_onnx_value_info *vi) {
    return vi->has_sequence_type   ? "a sequence"
           : vi->has_map_type      ? "a map"
           : vi->has_sparse_type   ? "a sparse tensor"
           : vi->has_optional_type ? "an optional"
                                   : "of no type";
}

static kiln_status check_declared(kiln_onnx_cx *cx, const kiln_onnx_value_info *vi,
                                  kiln_dtype *dtype) {
    if (!vi->has_tensor_type)
        return kiln_onnx_fail(cx, KILN_ERR_UNSUPPORTED,
                              "it must be a tensor, is %s; kiln has values of no other "
                              "kind",
                              kind_of(vi));
    if (vi->has_shape && vi->n_dims > KILN_MAX_RANK)
        return kiln_onnx_fail(cx, KILN_ERR_LIMIT, "rank must be at most %d, is %zu",
                              KILN_MAX_RANK, vi->n_dims);
    return kiln_onnx_dtype(vi->elem_type, dtype, cx->common.err);
}

/* ---- binding --------------------------------------------------------------------- */

kiln_status kiln_onnx_bind_inputs(kiln_onnx_cx *cx) {
    static const kiln_input_rules rules = {.may_have = NULL};
    const kiln_onnx_graph *const g = cx->model->graph;
    kiln_arena *const a = &cx->common.scratch;
    kiln_declared_input *const in = kiln_array(a, kiln_declared_input, g->n_input);
    kiln_value **const v = kiln_array(a, kiln_value *, g->n_input);
    size_t n = 0;
    for (size_t i = 0; i < g->n_input; i++) {
        const kiln_onnx_value_info *const vi = &g->input[i];
        kiln_dtype dtype;
        if (is_initializer(cx, vi->name))
            continue;
        const kiln_status st = check_declared(cx, vi, &dtype);
        if (st != KILN_OK) {
            kiln_note(cx->common.err, "binding graph input '%s'",
                      kiln_onnx_show(cx, vi->name));
            return st;
        }
        kiln_onnx_declare(a, vi, &in[n++]);
    }
    KILN_TRY(
        kiln_import_bind_by(&cx->common, cx->options, in, n, &rules, cx->report, v));
    n = 0;
    for (size_t i = 0; i < g->n_input; i++)
        if (!is_initializer(cx, g->input[i].name))
            kiln_map_set(a, &cx->scope->values, g->input[i].name, v[n++]);
    return KILN_OK;
}

/* ---- outputs --------------------------------------------------------------------- */

kiln_status kiln_onnx_check_output(kiln_onnx_cx *cx, const kiln_onnx_value_info *vi,
                                   const kiln_value *v) {
    if (!vi->has_type)
        return KILN_OK; /* exporters of subgraphs leave it out */
    kiln_dtype dtype;
    KILN_TRY(check_declared(cx, vi, &dtype));
    bool ok = dtype == v->type.dtype &&
              (!vi->has_shape || vi->n_dims == (size_t)v->type.rank);
    for (int i = 0; ok && vi->has_shape && i < v->type.rank; i++) {
        const kiln_onnx_dim *const d = &vi->dims[i];
        /* A bounded axis has at most the inferred size. */
        const bool is_bounded = v->count != NULL && v->bounded_axis == i;
        ok = !is_static(d) || d->value == v->type.dim[i] || is_bounded;
    }
    if (ok)
        return KILN_OK;
    return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                          "the file declares it as %s%s, but its nodes make %s; is the "
                          "declaration stale, or a node damaged?",
                          kiln_dtype_name(dtype), declared_text(cx, vi),
                          kiln_type_text(&cx->common.scratch, &v->type));
}

/* ---- listing --------------------------------------------------------------------- */

void kiln_onnx_declare(kiln_arena *a, const kiln_onnx_value_info *vi,
                       kiln_declared_input *d) {
    *d = (kiln_declared_input){.name = kiln_str_dupv(a, vi->name), .rank = -1};
    d->has_type = vi->has_tensor_type &&
                  kiln_onnx_dtype(vi->elem_type, &d->dtype, NULL) == KILN_OK;
    char buf[32];
    if (!vi->has_tensor_type)
        d->what = kind_of(vi);
    else if (!d->has_type)
        d->what =
            kiln_format(a, "a tensor of %s", kiln_onnx_type_name(vi->elem_type, buf));
    if (!vi->has_shape || vi->n_dims > KILN_MAX_RANK)
        return;
    d->rank = (int)vi->n_dims;
    for (size_t i = 0; i < vi->n_dims; i++) {
        const kiln_onnx_dim *const dim = &vi->dims[i];
        d->dim[i] = is_static(dim) ? dim->value : -1;
        if (!is_static(dim) && dim->param.n > 0)
            d->symbol[i] = kiln_str_printable(a, dim->param, MAX_SYMBOL);
    }
}

kiln_status kiln_onnx_list_inputs(kiln_arena *a, kiln_str bytes, const char *path,
                                  kiln_declared_input **out, size_t *n, kiln_err *err) {
    (void)path;
    kiln_onnx_model m;
    KILN_TRY(kiln_onnx_decode_model(a, bytes, &m, err));
    kiln_map weights = {0};
    for (size_t i = 0; i < m.graph->n_initializer; i++)
        kiln_map_set(a, &weights, m.graph->initializer[i].name, NULL);
    kiln_declared_input *const list =
        kiln_array(a, kiln_declared_input, m.graph->n_input);
    size_t count = 0;
    for (size_t i = 0; i < m.graph->n_input; i++)
        if (!kiln_map_has(&weights, m.graph->input[i].name))
            kiln_onnx_declare(a, &m.graph->input[i], &list[count++]);
    *out = list;
    *n = count;
    return KILN_OK;
}
