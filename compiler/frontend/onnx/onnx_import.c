/* Import of an ONNX model: versions, inputs, nodes in topological order, outputs.
 * Source: the ONNX IR specification, IR versions 3 to 14. */
#include "compiler/frontend/onnx/counted.h"
#include "compiler/frontend/onnx/import_core.h"

#include "compiler/frontend/frontend_internal.h"
#include "compiler/frontend/frontend_inputs.h"
#include "compiler/frontend/onnx/list.h"

#include <inttypes.h>
#include <string.h>

enum {
    SHOWN_BYTES = 120, /* of a producer's name */
    EXTRA_NODES =
        100000, /* imported beyond 16 per node of the file: functions are inlined */
    MAX_VERSION = 1000, /* of other domains */
};

/* ---- what an importer asks ------------------------------------------------------- */

kiln_arena *kiln_onnx_arena(kiln_onnx_cx *cx) { return cx->common.arena; }
kiln_err *kiln_onnx_err(kiln_onnx_cx *cx) { return cx->common.err; }
kiln_graph *kiln_onnx_target(kiln_onnx_cx *cx) { return cx->scope->g; }
int64_t kiln_onnx_version(const kiln_onnx_cx *cx) { return cx->version; }
const kiln_onnx_op *kiln_onnx_row(const kiln_onnx_cx *cx) { return cx->row; }
int kiln_onnx_n_in(const kiln_onnx_node *n) { return (int)n->n_input; }
int kiln_onnx_n_out(const kiln_onnx_node *n) { return (int)n->n_output; }

bool kiln_onnx_wants(const kiln_onnx_node *n, int i) {
    return i >= 0 && (size_t)i < n->n_output && n->output[i].n > 0;
}

const char *kiln_onnx_show(kiln_onnx_cx *cx, kiln_str name) {
    return kiln_import_show(&cx->common, name);
}

const char *kiln_onnx_show_node(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    const char *const type = kiln_onnx_show(cx, n->op_type);
    if (n->name.n == 0)
        return kiln_format(&cx->common.scratch, "#%" PRId64 " (%s)", n->index, type);
    return kiln_format(&cx->common.scratch, "'%s' (%s)", kiln_onnx_show(cx, n->name),
                       type);
}

kiln_value *kiln_onnx_in(kiln_onnx_cx *cx, const kiln_onnx_node *n, int i) {
    KILN_ASSERT(cx->n_given == 0 || cx->given != NULL,
                "%d operands are given by nobody", cx->n_given);
    if (i >= 0 && i < cx->n_given && cx->given != NULL && cx->given[i] != NULL)
        return cx->given[i];
    if (i < 0 || (size_t)i >= n->n_input || n->input[i].n == 0)
        return NULL;
    /* All inputs were looked up before the importer was called: this one is found. */
    kiln_value *const v = kiln_map_get(&cx->scope->values, n->input[i]);
    return v == &kiln_onnx_absent ? NULL : v;
}

kiln_status kiln_onnx_need(kiln_onnx_cx *cx, const kiln_onnx_node *n, int i,
                           const char *name, kiln_value **out) {
    KILN_ASSERT(i >= 0 && name != NULL, "input %d is needed", i);
    *out = kiln_onnx_in(cx, n, i);
    if (*out == NULL)
        return kiln_onnx_fail(cx, KILN_ERR_PARSE, "input %d ('%s') is missing", i,
                              name);
    return KILN_OK;
}

/* ---- binding results ------------------------------------------------------------- */

/* Does the value bear the ONNX name that it is bound to? */
static bool is_bound_name(const kiln_onnx_cx *cx, const kiln_value *v) {
    const size_t skip = strlen(cx->scope->prefix);
    return strncmp(v->name, cx->scope->prefix, skip) == 0 &&
           kiln_map_get(&cx->scope->values, kiln_str_from(v->name + skip)) == v;
}

static void rename_value(kiln_graph *g, kiln_value *v, const char *name) {
    v->name = name;
    kiln_map_set(g->arena, &g->value_names, kiln_str_from(name), v);
}

/* A result that the node made itself takes the ONNX name; an intermediate value that
 * had taken it gets the other's. */
static void take_name(kiln_onnx_cx *cx, const kiln_onnx_node *n, int i, kiln_value *v) {
    kiln_graph *const g = cx->scope->g;
    const char *const want = kiln_onnx_out_name(cx, n, i);
    kiln_value *const holder = kiln_map_get(&g->value_names, kiln_str_from(want));
    const bool is_own = (size_t)v->id >= cx->first_value;
    const bool is_free = holder == NULL || (size_t)holder->id >= cx->first_value;
    if (!is_own || !is_free || holder == v || is_bound_name(cx, v))
        return;
    const char *const old = v->name;
    rename_value(g, v, holder == NULL ? kiln_str_dup(g->arena, want) : holder->name);
    if (holder != NULL)
        rename_value(g, holder, old);
}

void kiln_onnx_set(kiln_onnx_cx *cx, const kiln_onnx_node *n, int i, kiln_value *v) {
    if (!kiln_onnx_wants(n, i) || v == NULL)
        return;
    if (kiln_onnx_as_list(v) == NULL)
        take_name(cx, n, i, v);
    kiln_map_set(&cx->common.scratch, &cx->scope->values, n->output[i], v);
}

/* ---- nodes ----------------------------------------------------------------------- */

int64_t kiln_onnx_opset_in(const kiln_onnx_cx *cx, const kiln_onnx_frame *frame,
                           kiln_str domain) {
    const kiln_onnx_opset *list = cx->model->opset_import;
    size_t n = cx->model->n_opset_import;
    for (int round = frame == NULL; round < 2; round++) {
        const kiln_onnx_opset *const o = round == 0 ? frame->fn->opset_import : list;
        const size_t n_o = round == 0 ? frame->fn->n_opset_import : n;
        for (size_t i = 0; i < n_o; i++)
            if (kiln_str_eq(o[i].domain, domain) ||
                (kiln_onnx_is_default_domain(o[i].domain) &&
                 kiln_onnx_is_default_domain(domain)))
                return o[i].version;
    }
    return 0;
}

static kiln_status check_inputs(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    for (size_t i = 0; i < n->n_input; i++) {
        kiln_value *v;
        if (n->input[i].n == 0)
            continue;
        KILN_TRY(kiln_onnx_lookup(cx, cx->scope, n->input[i], &v));
        if (v == NULL)
            return kiln_onnx_fail(
                cx, KILN_ERR_PARSE,
                "input %zu ('%s') is not defined: no node, graph input "
                "or initializer has this name; was the model saved "
                "without its weights?",
                i, kiln_onnx_show(cx, n->input[i]));
    }
    return KILN_OK;
}

/* Sequences and optionals are there for the operators that read them only. */
static kiln_status check_lists(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    for (size_t i = 0; i < n->n_input && !kiln_onnx_takes_lists(cx->row); i++)
        if (kiln_onnx_as_list(kiln_onnx_in(cx, n, (int)i)) != NULL)
            return kiln_onnx_fail(
                cx, KILN_ERR_UNSUPPORTED,
                "input %zu ('%s') is a sequence or an optional, which "
                "this operator is not read with; give it tensors",
                i, kiln_onnx_show(cx, n->input[i]));
    return KILN_OK;
}

static kiln_status check_results(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    for (size_t i = 0; i < n->n_output; i++)
        if (n->output[i].n > 0 && !kiln_map_has(&cx->scope->values, n->output[i]))
            return kiln_onnx_fail(
                cx, KILN_ERR_UNSUPPORTED,
                "output %zu ('%s') of this operator is not computed by "
                "kiln",
                i, kiln_onnx_show(cx, n->output[i]));
    return KILN_OK;
}

static kiln_status run_importer(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    const kiln_onnx_function *const fn = kiln_onnx_find_function(cx, n);
    cx->version = kiln_onnx_opset_in(cx, cx->scope->frame, n->domain);
    cx->nodes_left -= 1 + (int64_t)(n->n_input + n->n_output + n->n_attribute) / 8;
    if (cx->nodes_left < 0)
        return kiln_onnx_fail(
            cx, KILN_ERR_LIMIT,
            "inlining its functions makes the model more than 16 times "
            "as large as the file");
    if (n->n_attribute > KILN_ONNX_MAX_ATTRS)
        return kiln_onnx_fail(cx, KILN_ERR_LIMIT,
                              "a node may have at most %d attributes, has %zu",
                              KILN_ONNX_MAX_ATTRS, n->n_attribute);
    KILN_TRY(kiln_onnx_resolve_attrs(cx, n, &n));
    cx->node = n;
    cx->attrs_read = (kiln_onnx_attr_set){0};
    KILN_TRY(check_inputs(cx, n));
    cx->first_value = cx->scope->g->values.n;
    if (fn != NULL) {
        KILN_TRY(kiln_onnx_check_call_attrs(cx, n, fn));
        return kiln_onnx_call(cx, n, fn);
    }
    cx->row = kiln_onnx_find(n->domain, n->op_type, cx->version);
    KILN_ASSERT(cx->row != NULL, "kiln_onnx_check_support let an operator pass");
    KILN_TRY(check_lists(cx, n));
    bool done = false;
    kiln_status st = kiln_onnx_import_counted(cx, n, &done);
    if (st == KILN_OK && !done)
        st = cx->row->import(cx, n);
    if (cx->attr_err.status != KILN_OK) {
        *cx->common.err = cx->attr_err; /* the cause of what came after */
        return cx->attr_err.status;
    }
    KILN_TRY(st);
    KILN_TRY(kiln_onnx_check_attrs(cx, n));
    return check_results(cx, n);
}

static kiln_status import_node(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    /* Importers of regions come back here: what belongs to the outer node is kept. */
    const kiln_onnx_op *const row = cx->row;
    const kiln_onnx_node *const node = cx->node;
    const int64_t version = cx->version;
    const size_t first = cx->first_value;
    const kiln_onnx_attr_set attrs_read = cx->attrs_read;
    const bool in_rule = cx->in_rule;
    cx->in_rule = false;
    kiln_status st = run_importer(cx, n);
    cx->in_rule = in_rule;
    if (st == KILN_ERR_ARG) /* a call that the file asked for: nobody else's fault */
        st = cx->common.err->status = KILN_ERR_PARSE;
    if (st != KILN_OK)
        kiln_note(cx->common.err, "importing node %s, opset %" PRId64,
                  kiln_onnx_show_node(cx, n), cx->version);
    cx->report->n_imported += st == KILN_OK;
    cx->row = row;
    cx->node = node;
    cx->version = version;
    cx->first_value = first;
    cx->attrs_read = attrs_read;
    return st;
}

kiln_status kiln_onnx_import_nodes(kiln_onnx_cx *cx, const kiln_onnx_node *node,
                                   size_t n) {
    const size_t *order;
    KILN_TRY(kiln_onnx_order(cx, node, n, &order));
    for (size_t i = 0; i < n; i++)
        KILN_TRY(import_node(cx, &node[order[i]]));
    return KILN_OK;
}

/* ---- the model ------------------------------------------------------------------- */

kiln_status kiln_onnx_check_opset(kiln_onnx_cx *cx, const kiln_onnx_opset *o) {
    const bool is_default = kiln_onnx_is_default_domain(o->domain);
    const char *const domain = is_default ? "ai.onnx" : kiln_onnx_show(cx, o->domain);
    if (o->version < 1 || (!is_default && o->version > MAX_VERSION))
        return kiln_onnx_fail(
            cx, KILN_ERR_PARSE,
            "opset_import: the version of '%s' must be 1 to %d, is %" PRId64, domain,
            is_default ? KILN_ONNX_MAX_OPSET : (int)MAX_VERSION, o->version);
    /* A newer opset may give an operator that kiln knows another meaning. */
    if (is_default && o->version > KILN_ONNX_MAX_OPSET)
        return kiln_onnx_fail(
            cx, KILN_ERR_UNSUPPORTED,
            "opset %" PRId64 " is newer than %d, the newest that kiln knows; export "
            "with opset %d or below, or convert the model with onnx.version_converter",
            o->version, KILN_ONNX_MAX_OPSET, KILN_ONNX_MAX_OPSET);
    return KILN_OK;
}

static kiln_status check_versions(kiln_onnx_cx *cx) {
    const kiln_onnx_model *const m = cx->model;
    if (m->ir_version < KILN_ONNX_MIN_IR || m->ir_version > KILN_ONNX_MAX_IR)
        return kiln_onnx_fail(cx, KILN_ERR_UNSUPPORTED,
                              "ir_version must be %d to %d, is %" PRId64 "; %s",
                              KILN_ONNX_MIN_IR, KILN_ONNX_MAX_IR, m->ir_version,
                              m->ir_version < KILN_ONNX_MIN_IR
                                  ? "convert the model with onnx.version_converter"
                                  : "save the model with an older onnx package");
    kiln_map seen = {0};
    if (m->n_opset_import > KILN_ONNX_MAX_DOMAINS)
        return kiln_onnx_fail(cx, KILN_ERR_LIMIT,
                              "opset_import may name at most %d domains, names %zu",
                              KILN_ONNX_MAX_DOMAINS, m->n_opset_import);
    for (size_t i = 0; i < m->n_opset_import; i++) {
        const kiln_onnx_opset *const o = &m->opset_import[i];
        const bool is_default = kiln_onnx_is_default_domain(o->domain);
        const char *const domain =
            is_default ? "ai.onnx" : kiln_onnx_show(cx, o->domain);
        KILN_TRY(kiln_onnx_check_opset(cx, o));
        if (!kiln_map_set(&cx->common.scratch, &seen, kiln_str_from(domain), NULL))
            return kiln_onnx_fail(cx, KILN_ERR_PARSE,
                                  "opset_import: domain '%s' is given twice", domain);
        if (is_default)
            cx->report->opset = o->version;
    }
    if (m->n_opset_import == 0)
        return kiln_onnx_fail(cx, KILN_ERR_PARSE,
                              "opset_import must name the operator set, and is empty; "
                              "is this an ONNX model?");
    return KILN_OK;
}

const char *kiln_onnx_producer(kiln_arena *a, const kiln_onnx_model *m) {
    const char *const name = kiln_str_printable(a, m->producer_name, SHOWN_BYTES);
    return m->producer_version.n == 0
               ? name
               : kiln_format(a, "%s %s", name,
                             kiln_str_printable(a, m->producer_version, SHOWN_BYTES));
}

static void fill_report(kiln_onnx_cx *cx) {
    cx->report->format = "onnx";
    cx->report->producer = kiln_onnx_producer(cx->common.arena, cx->model);
    cx->report->ir_version = cx->model->ir_version;
}

static kiln_status add_outputs(kiln_onnx_cx *cx) {
    const kiln_onnx_graph *const g = cx->model->graph;
    if (g->n_output == 0)
        return kiln_onnx_fail(cx, KILN_ERR_PARSE, "the graph must have outputs");
    for (size_t i = 0; i < g->n_output; i++) {
        const kiln_onnx_value_info *const vi = &g->output[i];
        kiln_value *v;
        KILN_TRY(kiln_onnx_lookup(cx, cx->scope, vi->name, &v));
        if (v == NULL)
            return kiln_onnx_fail(cx, KILN_ERR_PARSE,
                                  "graph output '%s' is not defined by any node, graph "
                                  "input or initializer",
                                  kiln_onnx_show(cx, vi->name));
        if (kiln_onnx_as_list(v) != NULL)
            return kiln_onnx_fail(cx, KILN_ERR_UNSUPPORTED,
                                  "graph output '%s' is a sequence or an optional; "
                                  "make each of its elements an output",
                                  kiln_onnx_show(cx, vi->name));
        const kiln_status st = kiln_onnx_check_output(cx, vi, v);
        if (st != KILN_OK) {
            kiln_note(cx->common.err, "checking graph output '%s'",
                      kiln_onnx_show(cx, vi->name));
            return st;
        }
        KILN_TRY(kiln_onnx_settle_counted(cx, &v));
        kiln_graph_add_output(cx->scope->g, v,
                              kiln_str_dupv(cx->common.arena, vi->name));
    }
    return KILN_OK;
}

/* Weights that nothing uses are checked all the same: a damaged file is named as one.
 */
static kiln_status check_tensors(kiln_onnx_cx *cx) {
    const kiln_onnx_graph *const g = cx->model->graph;
    for (size_t i = 0; i < g->n_initializer; i++) {
        kiln_type type;
        KILN_TRY(kiln_onnx_tensor_type(&g->initializer[i], &type, cx->common.err));
    }
    return KILN_OK;
}

/* Nodes of the file, those with many operands counted for what they cost. */
static int64_t count_cost(const kiln_onnx_graph *g) {
    int64_t n = 0;
    for (size_t i = 0; i < g->n_node; i++)
        n += 1 + (int64_t)(g->node[i].n_input + g->node[i].n_output) / 8;
    return n;
}

static kiln_status import_model(kiln_onnx_cx *cx, kiln_graph **out) {
    const kiln_onnx_graph *const g = cx->model->graph;
    fill_report(cx);
    KILN_TRY(check_versions(cx));
    KILN_TRY(kiln_onnx_add_functions(cx));
    KILN_TRY(kiln_onnx_check_support(cx));
    KILN_TRY(check_tensors(cx));
    kiln_graph *const made =
        kiln_graph_new(cx->common.arena, kiln_str_dupv(cx->common.arena, g->name));
    kiln_onnx_set_scope(cx, kiln_onnx_scope_new(cx, NULL, made));
    cx->nodes_left = EXTRA_NODES + 16 * count_cost(g);
    KILN_TRY(kiln_onnx_add_initializers(cx, cx->scope, g));
    KILN_TRY(kiln_onnx_bind_inputs(cx));
    KILN_TRY(kiln_onnx_import_nodes(cx, g->node, g->n_node));
    KILN_TRY(add_outputs(cx));
    kiln_import_add_counts(&cx->common, cx->scope->g);
    cx->scope->g->facts |= KILN_TYPED;
    *out = cx->scope->g;
    return KILN_OK;
}

static void list_data(const kiln_onnx_cx *cx) {
    for (size_t i = 0; i < cx->files.mapped.entries.n; i++) {
        const kiln_map_entry *e = &cx->files.mapped.entries.v[i];
        const kiln_import_data data = {kiln_str_dupv(cx->common.arena, e->key),
                                       *(const kiln_str *)e->value};
        kiln_vec_push(cx->common.arena, &cx->report->data, data);
    }
}

kiln_status kiln_import_onnx_bytes(kiln_arena *a, kiln_str bytes, const char *name,
                                   const char *dir, const kiln_import_options *o,
                                   kiln_graph **out, kiln_import_report *report,
                                   kiln_err *err) {
    const kiln_import_options none = {0};
    kiln_import_report unused = {0};
    kiln_err own = {0};
    kiln_onnx_model model;
    kiln_onnx_cx cx = {
        .model = &model,
        .options = o == NULL ? &none : o,
        .report = report == NULL ? &unused : report,
        .files = {.dir = dir, .model = name},
    };
    kiln_import_begin(&cx.common, &kiln_onnx_format, a, err == NULL ? &own : err);
    *cx.report = (kiln_import_report){.format = "onnx", .producer = ""};
    kiln_status st = kiln_onnx_decode_model(a, bytes, &model, cx.common.err);
    if (st == KILN_OK)
        st = import_model(&cx, out);
    list_data(&cx);
    if (st != KILN_OK)
        kiln_note(cx.common.err, "importing '%s'", name);
    kiln_import_make_printable(cx.common.err);
    kiln_import_end(&cx.common);
    return st;
}

static const char *const extensions[] = {".onnx", NULL};

const kiln_frontend kiln_frontend_onnx = {
    .name = "onnx",
    .doc = "ONNX ModelProto, IR versions 3 to 14, with external data",
    .extensions = extensions,
    .sniff = kiln_onnx_sniff,
    .import = kiln_import_onnx_bytes,
    .list_inputs = kiln_onnx_list_inputs,
    .survey = kiln_onnx_survey,
    .list_data = kiln_onnx_list_data,
};
