/* Graph inputs: their types as the file declares them, dimensions as the caller binds
 * them. A dynamic dimension is one that the signature has as -1; without --shape it has
 * the size that the file was converted with, as in the interpreter. The first dimension
 * of any input may be bound: a batch that the converter fixed. */
#include "compiler/frontend/tflite/tflite_internal.h"
#include "compiler/frontend/frontend_inputs.h"

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

static bool may_have(const void *user, size_t i, int rank, const int64_t *dim) {
    const kiln_tflite_subgraph *const g = user;
    const kiln_tflite_tensor *const t = &g->tensor[g->input[i]];
    bool ok = t->n_shape == (size_t)rank;
    for (size_t k = 1; ok && k < t->n_shape; k++)
        ok = is_dynamic(t, k) || t->shape[k] == dim[k];
    return ok;
}

kiln_status kiln_tflite_bind_inputs(kiln_tflite_cx *cx) {
    const kiln_tflite_subgraph *const g = cx->g;
    const kiln_input_rules rules = {
        .may_have = may_have,
        .user = g,
        .remedy = "only the batch and dynamic dimensions (-1) can be bound"};
    kiln_declared_input *const in =
        kiln_array(&cx->common.scratch, kiln_declared_input, g->n_input);
    kiln_value **const v = kiln_array(&cx->common.scratch, kiln_value *, g->n_input);
    for (size_t i = 0; i < g->n_input; i++) {
        const kiln_tflite_tensor *const t = &g->tensor[g->input[i]];
        kiln_dtype dtype;
        kiln_tflite_declare(&cx->common.scratch, g, true, i, &in[i]);
        if (kiln_tflite_dtype(t->type, &dtype, cx->common.err) != KILN_OK) {
            kiln_note(cx->common.err, "binding graph input '%s'",
                      kiln_import_show(&cx->common, kiln_str_from(in[i].name)));
            return cx->common.err->status;
        }
        for (size_t k = 0; k < t->n_shape; k++)
            in[i].symbol[k] = is_dynamic(t, k) ? "-1" : NULL;
    }
    KILN_TRY(kiln_import_bind_by(&cx->common, cx->options, in, g->n_input, &rules,
                                 cx->report, v));
    for (size_t i = 0; i < g->n_input; i++)
        cx->value[g->input[i]] = v[i];
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
