/* Variables, which the interpreter keeps from one run to the next, as inputs and outputs
 * of the graph: who runs it hands them on. Quantised ones are real numbers here, so that
 * all begin with zeros. */
#include "compiler/frontend/tflite/tflite_internal.h"

static kiln_tflite_variable *find(kiln_tflite_cx *cx, int32_t tensor) {
    for (size_t i = 0; i < cx->variable.n; i++)
        if (cx->variable.v[i].tensor == tensor)
            return &cx->variable.v[i];
    return NULL;
}

bool kiln_tflite_keeps(const kiln_tflite_cx *cx, int i) {
    const kiln_tflite_tensor *const t = kiln_tflite_in_tensor(cx, i);
    return cx->options->has_state && t != NULL && t->is_variable;
}

static kiln_status add(kiln_tflite_cx *cx, int32_t tensor,
                       const kiln_tflite_tensor *t) {
    int64_t dim[KILN_MAX_RANK] = {0};
    KILN_ASSERT(t->n_shape <= KILN_MAX_RANK, "decoding let %zu axes pass", t->n_shape);
    if (cx->depth > 0)
        return kiln_tflite_fail(cx, KILN_ERR_UNSUPPORTED,
                                "--state: variable '%s' belongs to a subgraph of the "
                                "model's; only its first graph's can be kept",
                                kiln_import_show(&cx->common, t->name));
    for (size_t i = 0; i < t->n_shape; i++)
        dim[i] = t->shape[i];
    const kiln_type type = kiln_type_make(KILN_F32, (int)t->n_shape, dim);
    KILN_TRY(kiln_type_check(&type, cx->common.err));
    const char *const name =
        t->name.n > 0 ? kiln_str_dupv(cx->common.arena, t->name)
                      : kiln_format(cx->common.arena, "state%zu", cx->variable.n);
    const kiln_tflite_variable v = {
        .tensor = tensor,
        .before = kiln_graph_add_input(cx->common.graph, name, &type)};
    kiln_vec_push(&cx->common.scratch, &cx->variable, v);
    return KILN_OK;
}

kiln_value *kiln_tflite_state(kiln_tflite_cx *cx, kiln_compose *c, int i, int rank,
                              const int64_t *dim) {
    const kiln_tflite_tensor *const t = kiln_tflite_in_tensor(cx, i);
    if (c->status != KILN_OK || !kiln_tflite_keeps(cx, i))
        return NULL;
    const int32_t tensor = cx->op->input[i];
    if (find(cx, tensor) != NULL)
        kiln_compose_fail(c, kiln_tflite_fail(cx, KILN_ERR_UNSUPPORTED,
                                              "--state: two operators keep variable "
                                              "'%s'",
                                              kiln_import_show(&cx->common, t->name)));
    else
        kiln_compose_fail(c, add(cx, tensor, t));
    const kiln_tflite_variable *const v = find(cx, tensor);
    if (c->status != KILN_OK || v == NULL)
        return NULL;
    return kiln_compose_reshape(c, v->before, rank, dim);
}

void kiln_tflite_keep(kiln_tflite_cx *cx, kiln_compose *c, int i, kiln_value *v) {
    const kiln_tflite_tensor *const t = kiln_tflite_in_tensor(cx, i);
    kiln_tflite_variable *const kept = t == NULL ? NULL : find(cx, cx->op->input[i]);
    if (c->status != KILN_OK || kept == NULL)
        return;
    kept->after =
        kiln_compose_reshape(c, v, kept->before->type.rank, kept->before->type.dim);
}

kiln_status kiln_tflite_add_states(kiln_tflite_cx *cx) {
    if (cx->options->has_state && cx->variable.n == 0)
        return kiln_tflite_fail(cx, KILN_ERR_ARG,
                                "--state: the model keeps nothing between runs");
    for (size_t i = 0; i < cx->variable.n; i++) {
        const kiln_tflite_variable *const v = &cx->variable.v[i];
        KILN_ASSERT(v->after != NULL, "variable '%s' is read alone", v->before->name);
        kiln_graph_add_output(
            cx->common.graph, v->after,
            kiln_format(cx->common.arena, "%s" KILN_STATE_SUFFIX, v->before->name));
    }
    return KILN_OK;
}
