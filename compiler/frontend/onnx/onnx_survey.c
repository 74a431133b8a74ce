/* What an ONNX file says about itself, before any shape is bound: inputs and outputs
 * with their symbols, operators by name with their counts, weights, and the sizes that
 * its constants speak of. */
#include "compiler/frontend/frontend_inputs.h"
#include "base/numbers.h"
#include "compiler/frontend/onnx/import_core.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_SHAPE_ELEMS = 8, /* of an integer constant that may be a shape */
    MAX_STRIDE = 1 << 16 /* of all strides together */
};

typedef struct survey {
    kiln_onnx_cx *cx;
    kiln_arena *arena; /* of the result */
    kiln_model_survey *out;
    kiln_numbers ops; /* name -> index + 1 */
    bool *is_walked;  /* per function */
} survey;

/* ---- sizes ----------------------------------------------------------------------- */

/* Axes of weights, and small integer constants: what Reshape and its like ask for. */
static void add_sizes_of(survey *s, const kiln_onnx_tensor *t) {
    enum { INT64 = 7 };
    int64_t v[MAX_SHAPE_ELEMS];
    for (size_t i = 0; t->n_dims > 1 && i < t->n_dims; i++)
        kiln_survey_add_size(s->arena, s->out, t->dims[i]);
    if (t->data_type != INT64 || t->n_dims > 1)
        return;
    size_t n = t->n_int64_data;
    if (t->has_raw_data && t->raw_data.n <= sizeof v) {
        n = t->raw_data.n / sizeof v[0];
        memcpy(v, t->raw_data.p, n * sizeof v[0]);
    } else if (n > 0 && n <= MAX_SHAPE_ELEMS) {
        memcpy(v, t->int64_data, n * sizeof v[0]);
    } else {
        return;
    }
    for (size_t i = 0; i < n; i++)
        kiln_survey_add_size(s->arena, s->out, v[i]);
}

static void count_weight(survey *s, const kiln_onnx_tensor *t) {
    kiln_type type;
    add_sizes_of(s, t);
    if (kiln_onnx_tensor_type(t, &type, NULL) != KILN_OK)
        return;
    s->out->const_bytes += kiln_type_bytes(&type);
    if (kiln_dtype_is_float(type.dtype))
        s->out->n_params += kiln_type_elems(&type);
}

static void count_attrs(survey *s, const kiln_onnx_node *n) {
    for (size_t k = 0; k < n->n_attribute; k++) {
        const kiln_onnx_attr *const a = &n->attribute[k];
        if (a->t != NULL) /* of Constant */
            count_weight(s, a->t);
        for (size_t i = 0; kiln_str_is(a->name, "strides") && i < a->n_ints; i++)
            if (a->ints[i] > 1 && s->out->stride * a->ints[i] <= MAX_STRIDE)
                s->out->stride *= a->ints[i];
    }
}

/* ---- operators ------------------------------------------------------------------- */

static void count_node(survey *s, const kiln_onnx_node *n, bool is_read) {
    const bool is_default = kiln_onnx_is_default_domain(n->domain);
    const char *const type = kiln_onnx_show(s->cx, n->op_type);
    const char *const name =
        is_default
            ? kiln_str_dup(s->arena, type)
            : kiln_format(s->arena, "%s.%s", kiln_onnx_show(s->cx, n->domain), type);
    const size_t at = kiln_numbers_get(&s->ops, kiln_str_from(name));
    s->out->n_nodes++;
    if (at != 0) {
        s->out->op.v[at - 1].count++;
        return;
    }
    const kiln_model_op op = {.op = name, .count = 1, .is_read = is_read};
    kiln_vec_push(s->arena, &s->out->op, op);
    kiln_numbers_set(&s->cx->common.scratch, &s->ops, kiln_str_from(name),
                     s->out->op.n);
}

static void count_weights(survey *s, const kiln_onnx_graph *g) {
    for (size_t i = 0; i < g->n_initializer; i++)
        count_weight(s, &g->initializer[i]);
}

static void walk_nodes(survey *s, const kiln_onnx_node *node, size_t n,
                       const kiln_onnx_frame *frame, int depth);

static void walk_function(survey *s, const kiln_onnx_function *f, int depth) {
    const size_t i = (size_t)(f - s->cx->model->function);
    const kiln_onnx_frame frame = {.fn = f};
    if (s->is_walked[i])
        return;
    s->is_walked[i] = true;
    walk_nodes(s, f->node, f->n_node, &frame, depth + 1);
}

static void walk_nodes(survey *s, const kiln_onnx_node *node, size_t n,
                       const kiln_onnx_frame *frame, int depth) {
    if (depth > 2 * KILN_ONNX_MAX_CALL_DEPTH)
        return;
    for (size_t i = 0; i < n; i++) {
        const int64_t opset = kiln_onnx_opset_in(s->cx, frame, node[i].domain);
        const kiln_onnx_function *const f = kiln_onnx_find_function(s->cx, &node[i]);
        count_node(s, &node[i],
                   f != NULL ||
                       kiln_onnx_find(node[i].domain, node[i].op_type, opset) != NULL);
        count_attrs(s, &node[i]);
        if (f != NULL)
            walk_function(s, f, depth);
        for (size_t k = 0; k < node[i].n_attribute; k++) {
            const kiln_onnx_graph *const g = node[i].attribute[k].g;
            if (g == NULL)
                continue;
            count_weights(s, g);
            walk_nodes(s, g->node, g->n_node, frame, depth + 1);
        }
    }
}

/* ---- inputs and outputs ---------------------------------------------------------- */

static void add_outputs(survey *s) {
    const kiln_onnx_graph *const g = s->cx->model->graph;
    kiln_declared_input *const list =
        kiln_array(s->arena, kiln_declared_input, g->n_output);
    for (size_t i = 0; i < g->n_output; i++)
        kiln_onnx_declare(s->arena, &g->output[i], &list[i]);
    s->out->output = list;
    s->out->n_outputs = g->n_output;
}

static int by_name(const void *x, const void *y) {
    return strcmp(((const kiln_model_op *)x)->op, ((const kiln_model_op *)y)->op);
}

static kiln_status fill(survey *s, kiln_str bytes, const char *path, kiln_err *err) {
    const kiln_onnx_model *const m = s->cx->model;
    kiln_model_survey *const out = s->out;
    KILN_TRY(kiln_onnx_add_functions(s->cx));
    s->is_walked = kiln_array(&s->cx->common.scratch, bool, m->n_function);
    out->format = "onnx";
    out->producer = kiln_onnx_producer(s->arena, m);
    out->ir_version = m->ir_version;
    out->opset = kiln_onnx_opset_in(s->cx, NULL, (kiln_str){"", 0});
    out->stride = 1;
    count_weights(s, m->graph);
    walk_nodes(s, m->graph->node, m->graph->n_node, NULL, 0);
    if (out->op.n > 0)
        qsort(out->op.v, out->op.n, sizeof *out->op.v, by_name);
    add_outputs(s);
    return kiln_onnx_list_inputs(s->arena, bytes, path, &out->input, &out->n_inputs,
                                 err);
}

kiln_status kiln_onnx_survey(kiln_arena *a, kiln_str bytes, const char *path,
                             kiln_model_survey *out, kiln_err *err) {
    kiln_onnx_model m;
    kiln_err own = {0};
    kiln_onnx_cx cx = {.model = &m};
    kiln_import_begin(&cx.common, &kiln_onnx_format, a, err == NULL ? &own : err);
    survey s = {.cx = &cx, .arena = a, .out = out};
    *out = (kiln_model_survey){.format = "", .producer = ""};
    KILN_TRY(kiln_onnx_decode_model(a, bytes, &m, cx.common.err));
    const kiln_status st = fill(&s, bytes, path, cx.common.err);
    kiln_import_end(&cx.common);
    return st;
}
