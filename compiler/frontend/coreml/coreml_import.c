/* Import of a Core ML neural network: inputs, layers in the file's order (which must be
 * that of their use), outputs. Source: NeuralNetwork.proto. */
#include "compiler/frontend/coreml/coreml_internal.h"

#include <inttypes.h>
#include <string.h>

/* ---- names ----------------------------------------------------------------------- */

static const char *node_name(kiln_import_cx *cx, const void *site) {
    const kiln_coreml_layer *const l = site;
    if (l == NULL)
        return "input";
    return l->name.n > 0 ? kiln_str_dupv(&cx->scratch, l->name)
                         : kiln_format(&cx->scratch, "layer%zu", l->index);
}

static const char *out_name(kiln_import_cx *cx, const void *site, int i) {
    const kiln_coreml_layer *const l = site;
    if (l == NULL || i < 0 || (size_t)i >= l->n_output || l->output[i].n == 0)
        return "value";
    return kiln_str_dupv(&cx->scratch, l->output[i]);
}

/* No regions, and every operator reads every value. */
static const kiln_import_format format = {.node_name = node_name, .out_name = out_name};

/* ---- what importers ask ---------------------------------------------------------- */

kiln_status kiln_coreml_params(kiln_coreml_call *k, const kiln_pb_message *table,
                               void *out) {
    KILN_ASSERT(table != NULL && out != NULL, "parameters of no layer");
    return kiln_pb_read(&k->cx->common.scratch, table, k->layer->params, out,
                        k->cx->common.err);
}

kiln_status kiln_coreml_min_rank(const kiln_coreml_call *k, int rank) {
    const kiln_value *const x = k->in[0];
    if (x->type.rank >= rank)
        return KILN_OK;
    return kiln_fail(k->cx->common.err, KILN_ERR_SHAPE,
                     "its input must have at least %d axes, is %s", rank,
                     kiln_type_text(&k->cx->common.scratch, &x->type));
}

kiln_status kiln_coreml_axis(const kiln_coreml_call *k, int64_t axis, int rank,
                             int *out) {
    KILN_ASSERT(rank >= 0 && rank <= KILN_MAX_RANK, "an axis of %d", rank);
    if (axis < -rank || axis >= rank)
        return kiln_fail(k->cx->common.err, KILN_ERR_SHAPE,
                         "axis %" PRId64 " is outside [%d, %d)", axis, -rank, rank);
    *out = (int)(axis < 0 ? axis + rank : axis);
    return KILN_OK;
}

int64_t kiln_coreml_mul(int64_t a, int64_t b) {
    return b > 0 && a > INT64_MAX / b ? INT64_MAX : a * b;
}

kiln_value *kiln_coreml_as_images(kiln_coreml_call *k, kiln_value *x) {
    const int rank = x->type.rank;
    int64_t dim[4] = {1, 1, 1, 1};
    KILN_ASSERT(rank >= 2, "'%s' has no rows and columns", x->name);
    for (int i = 0; i < rank; i++)
        dim[i < rank - 3 ? 0 : i - rank + 4] *= x->type.dim[i];
    return kiln_compose_reshape(&k->c, x, 4, dim);
}

kiln_value *kiln_coreml_from_images(kiln_coreml_call *k, kiln_value *y,
                                    const kiln_value *x) {
    const int rank = x->type.rank;
    int64_t dim[KILN_MAX_RANK];
    if (k->c.status != KILN_OK)
        return y;
    KILN_ASSERT(y->type.rank == 4 && rank >= 2, "'%s' is no image", y->name);
    for (int i = 0; i < rank; i++)
        dim[i] = i < rank - 3 ? x->type.dim[i] : y->type.dim[i - rank + 4];
    return kiln_compose_reshape(&k->c, y, rank, dim);
}

/* ---- layers ---------------------------------------------------------------------- */

static const char *show_layer(kiln_coreml_cx *cx, const kiln_coreml_layer *l) {
    kiln_arena *const a = &cx->common.scratch;
    const char *const type = kiln_coreml_layer_type(a, l->number);
    if (l->name.n == 0)
        return kiln_format(a, "#%zu (%s)", l->index, type);
    return kiln_format(a, "'%s' (%s)", kiln_import_show(&cx->common, l->name), type);
}

static kiln_status check_ends(kiln_coreml_cx *cx, const kiln_coreml_layer *l,
                              const kiln_coreml_row *row) {
    const size_t max_in = row->max_in > 0 || row->min_in == 0 ? (size_t)row->max_in
                                                              : KILN_COREML_MAX_ENDS;
    if (l->n_input < (size_t)row->min_in || l->n_input > max_in)
        return kiln_fail(cx->common.err, KILN_ERR_PARSE,
                         "it must have %d to %zu inputs, has %zu", row->min_in, max_in,
                         l->n_input);
    const size_t max_out = row->has_outputs ? KILN_COREML_MAX_ENDS : 1;
    if (l->n_output < 1 || l->n_output > max_out)
        return kiln_fail(cx->common.err, KILN_ERR_PARSE,
                         "it must have 1 to %zu outputs, has %zu", max_out,
                         l->n_output);
    return KILN_OK;
}

static kiln_status find_inputs(kiln_coreml_cx *cx, kiln_coreml_call *k) {
    const kiln_coreml_layer *const l = k->layer;
    KILN_ASSERT(l->n_input <= KILN_COREML_MAX_ENDS &&
                    l->n_output <= KILN_COREML_MAX_ENDS,
                "%zu inputs and %zu outputs passed", l->n_input, l->n_output);
    for (size_t i = 0; i < l->n_input; i++) {
        k->in[i] = kiln_map_get(&cx->values, l->input[i]);
        if (k->in[i] == NULL)
            return kiln_fail(cx->common.err, KILN_ERR_PARSE,
                             "input '%s' is not defined: no input of the model and no "
                             "layer before this one has that name",
                             kiln_import_show(&cx->common, l->input[i]));
    }
    k->n_in = (int)l->n_input;
    k->n_out = (int)l->n_output;
    return KILN_OK;
}

static kiln_status run_layer(kiln_coreml_cx *cx, const kiln_coreml_layer *l) {
    const kiln_coreml_row *const row = kiln_coreml_find(l->number);
    KILN_ASSERT(row != NULL, "kiln_coreml_check_support let a layer pass");
    kiln_coreml_call k = {
        .cx = cx, .layer = l, .op = row->op, .c = {.cx = &cx->common, .site = l}};
    KILN_TRY(check_ends(cx, l, row));
    KILN_TRY(find_inputs(cx, &k));
    KILN_TRY(row->import(&k));
    KILN_TRY(k.c.status);
    for (int i = 0; i < k.n_out; i++) {
        KILN_ASSERT(k.out[i] != NULL, "'%s' left an output out", row->name);
        kiln_map_set(&cx->common.scratch, &cx->values, l->output[i], k.out[i]);
    }
    return KILN_OK;
}

static kiln_status import_layers(kiln_coreml_cx *cx) {
    const kiln_coreml_network *const n = cx->model.network;
    for (size_t i = 0; i < n->n_bytes; i++) {
        kiln_status st = run_layer(cx, &n->layers[i]);
        if (st == KILN_ERR_ARG) /* what the file asked for: nobody else's fault */
            st = cx->common.err->status = KILN_ERR_PARSE;
        if (st != KILN_OK) {
            kiln_note(cx->common.err, "importing layer %s",
                      show_layer(cx, &n->layers[i]));
            return st;
        }
        cx->report->n_imported++;
    }
    return KILN_OK;
}

/* ---- outputs --------------------------------------------------------------------- */

/* The value of an output: of that name, or a classifier's probabilities. */
static kiln_value *value_of(kiln_coreml_cx *cx, const kiln_coreml_feature *f) {
    const kiln_coreml_network *const n = cx->model.network;
    kiln_value *const v = kiln_map_get(&cx->values, f->name);
    if (v != NULL || f->dictionary == NULL || n->n_bytes == 0)
        return v;
    const kiln_coreml_layer *const last = &n->layers[n->n_bytes - 1];
    const kiln_str name = n->probabilities.n > 0 ? n->probabilities : last->output[0];
    return kiln_map_get(&cx->values, name);
}

/* Of the old mapping, lists have the axis of the batch and no rows and columns. */
static kiln_status shape_output(kiln_coreml_cx *cx, const kiln_coreml_feature *f,
                                kiln_value **v) {
    const int64_t *const d = (*v)->type.dim;
    const bool is_list =
        f->dictionary != NULL || (f->array != NULL && f->array->n_dim == 1);
    if (cx->model.is_exact || !is_list || (*v)->type.rank != 4 || d[2] * d[3] != 1)
        return KILN_OK;
    return kiln_import_reshape(&cx->common, NULL, *v, 2, d, v);
}

static kiln_status add_outputs(kiln_coreml_cx *cx) {
    const kiln_coreml_description *const d = cx->model.description;
    for (size_t i = 0; i < d->n_output; i++) {
        const kiln_coreml_feature *const f = &d->output[i];
        const bool is_label = f->text != NULL || f->integer != NULL;
        kiln_value *v = value_of(cx, f);
        if (v == NULL && is_label)
            continue; /* of the largest probability: the caller's to look up */
        if (v == NULL)
            return kiln_fail(cx->common.err, KILN_ERR_PARSE,
                             "output '%s' is not defined by any layer",
                             kiln_import_show(&cx->common, f->name));
        KILN_TRY(shape_output(cx, f, &v));
        kiln_graph_add_output(cx->common.graph, v,
                              kiln_str_dupv(cx->common.arena, f->name));
    }
    if (cx->common.graph->outputs.n == 0)
        return kiln_fail(cx->common.err, KILN_ERR_PARSE, "the model must have outputs");
    return KILN_OK;
}

/* ---- the model ------------------------------------------------------------------- */

static kiln_status run(kiln_coreml_cx *cx, kiln_str bytes, const char *name) {
    KILN_TRY(
        kiln_coreml_decode(&cx->common.scratch, bytes, &cx->model, cx->common.err));
    cx->report->ir_version = cx->model.version;
    cx->report->producer = kiln_coreml_producer(cx->common.arena, &cx->model);
    KILN_TRY(kiln_coreml_check_support(cx));
    cx->common.graph = kiln_graph_new(cx->common.arena, kiln_path_base(name));
    KILN_TRY(kiln_coreml_bind_inputs(cx));
    KILN_TRY(import_layers(cx));
    KILN_TRY(add_outputs(cx));
    cx->common.graph->facts |= KILN_TYPED;
    return KILN_OK;
}

static kiln_status import(kiln_arena *a, kiln_str bytes, const char *name,
                          const char *dir, const kiln_import_options *o,
                          kiln_graph **out, kiln_import_report *report, kiln_err *err) {
    static const kiln_import_options none = {.n_shapes = 0};
    kiln_import_report own_report;
    kiln_err own_err = {0};
    kiln_coreml_cx cx = {.options = o != NULL ? o : &none,
                         .report = report != NULL ? report : &own_report};
    (void)dir; /* weights are in the file */
    *cx.report = (kiln_import_report){.format = "coreml", .producer = ""};
    kiln_import_begin(&cx.common, &format, a, err != NULL ? err : &own_err);
    const kiln_status st = run(&cx, bytes, name);
    if (st == KILN_OK)
        *out = cx.common.graph;
    else
        kiln_note(cx.common.err, "importing '%s'", name);
    kiln_import_end(&cx.common);
    return st;
}

static const char *const extensions[] = {".mlmodel", NULL};

const kiln_frontend kiln_frontend_coreml = {
    .name = "coreml",
    .doc = "Core ML neural network",
    .extensions = extensions,
    .sniff = kiln_coreml_sniff,
    .import = import,
    .list_inputs = kiln_coreml_list_inputs,
    .survey = kiln_coreml_survey,
};
