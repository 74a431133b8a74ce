/* Graphs and the model around them. Source: onnx.proto (GraphProto, ModelProto), ONNX
 * IR. */
#include "compiler/export/onnx/say.h"

#include <inttypes.h>
#include <string.h>

enum { MODEL_IR = 1, MODEL_PRODUCER = 2, MODEL_GRAPH = 7, MODEL_OPSET = 8 };
enum { GRAPH_NAME = 2, GRAPH_CONSTANT = 5, GRAPH_INPUT = 11, GRAPH_OUTPUT, GRAPH_INFO };
enum {
    TENSOR_RAW = 9,
    TENSOR_EXTERNAL = 13,
    TENSOR_LOCATION = 14,
    LOCATION_EXTERNAL = 1
};

/* Protobuf's limit on a message. */
#define MAX_FILE_BYTES UINT64_C(2147483647)

enum {
    MIN_EXTERNAL_BYTES = 1024, /* smaller constants stay, for whoever reads shapes */
    DATA_ALIGN = 64,
    HEAD_BYTES = 64,   /* of a model beside its graph, at most */
    SHOWN_BYTES = 120, /* of a name in a message */
};

/* ---- nodes ----------------------------------------------------------------------- */

static void add_refusal(kiln_say *s, const char *reason) {
    for (size_t i = 0; i < s->refused.n; i++)
        if (strcmp(s->refused.v[i].reason, reason) == 0) {
            s->refused.v[i].count++;
            return;
        }
    const kiln_say_refusal r = {kiln_str_dup(s->arena, reason), s->node->name, 1};
    kiln_vec_push(s->arena, &s->refused, r);
}

/* Elements lie as they are logically, here: other layouts are choices of a compiler. */
static kiln_status check_types(kiln_say *s, const kiln_node *n) {
    for (int i = 0; i < n->n_in + n->n_out; i++) {
        const kiln_value *v = i < n->n_in ? n->in[i] : n->out[i - n->n_in];
        if (v != NULL && !kiln_layout_is_plain(&v->type.layout))
            return kiln_say_refuse(
                s,
                "value '%s' has the layout %s; export the graph "
                "before layouts are chosen",
                kiln_str_printable(s->arena, kiln_str_from(v->name), SHOWN_BYTES),
                kiln_layout_name(s->arena, v->type.rank, &v->type.layout));
    }
    return KILN_OK;
}

static kiln_status check_dtype(kiln_say *s, const kiln_node *n,
                               const kiln_say_row *row) {
    const kiln_dtype dtype =
        n->n_in > 0 && n->in[0] != NULL ? n->in[0]->type.dtype : n->out[0]->type.dtype;
    if (kiln_dtype_is_in(dtype, row->dtypes)) {
        kiln_say_needs(s, row->opset);
        return KILN_OK;
    }
    if (dtype == KILN_BF16 && row->bf16 != 0) {
        kiln_say_needs(s, row->bf16);
        return KILN_OK;
    }
    return kiln_say_refuse(s, "ONNX's %s %s %s, not %s; cast it before",
                           row->onnx == NULL ? "operators" : row->onnx,
                           row->onnx == NULL ? "for it take" : "takes",
                           kiln_dtype_set_text(s->arena, row->dtypes),
                           kiln_dtype_name(dtype));
}

/* f64 and integers are computed to the last digit: an attribute that lost some is not
 * what the graph says. */
static kiln_status check_lost(kiln_say *s, const kiln_node *n) {
    const kiln_dtype dtype = n->in[0] != NULL ? n->in[0]->type.dtype : KILN_F32;
    if (s->lost == NULL || (kiln_dtype_is_float(dtype) && dtype != KILN_F64))
        return KILN_OK;
    return kiln_say_refuse(s,
                           "attribute '%s' has more digits than ONNX's attributes, "
                           "which are f32, and %s shows them; cast to f32 before",
                           s->lost, kiln_dtype_name(dtype));
}

/* A dtype that has all numbers of this one; itself: there is none for these rows. */
static kiln_dtype wider(kiln_dtype dtype) {
    if (kiln_dtype_is_in(dtype, KILN_DT_LOW_INT))
        return kiln_dtype_stored(dtype);
    if (kiln_dtype_is_in(dtype, KILN_DT_LOW_FLOAT) || dtype == KILN_BF16)
        return KILN_F32;
    return kiln_dtype_is_in(dtype, KILN_SAY_SMALL_INT) ? KILN_I32 : dtype;
}

/* Values of `from` are called what they are as `to`, while the row's writer looks. */
static kiln_status say_wider(kiln_say *s, const kiln_node *n, const kiln_say_row *row,
                             kiln_dtype from, kiln_dtype to) {
    const char **const name = s->scope->name;
    const char **const was = kiln_array(s->arena, const char *, n->n_in + n->n_out);
    const int n_all = n->n_in + n->n_out;
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i] != NULL && n->in[i]->type.dtype == from)
            was[i] = name[n->in[i]->id];
    for (int i = 0; i < n->n_in; i++) /* an input may be there twice */
        if (was[i] != NULL && name[n->in[i]->id] == was[i])
            name[n->in[i]->id] = kiln_say_cast(s, was[i], to, NULL);
    for (int i = n->n_in; i < n_all; i++)
        if (n->out[i - n->n_in]->type.dtype == from) {
            was[i] = name[n->out[i - n->n_in]->id];
            name[n->out[i - n->n_in]->id] = kiln_say_temp(s, "wider");
        }
    const kiln_status st = row->say(s, n);
    for (int i = 0; i < n_all; i++) {
        const kiln_value *v = i < n->n_in ? n->in[i] : n->out[i - n->n_in];
        if (was[i] == NULL)
            continue;
        if (i >= n->n_in && st == KILN_OK)
            kiln_say_cast(s, name[v->id], from, was[i]);
        name[v->id] = was[i];
    }
    return st;
}

static kiln_status say_row(kiln_say *s, const kiln_node *n, const kiln_say_row *row) {
    const kiln_dtype dtype = n->in[0] != NULL ? n->in[0]->type.dtype : KILN_F32;
    const kiln_dtype to = wider(dtype);
    if ((row->dtypes & KILN_SAY_BY_WIDER) != 0 &&
        !kiln_dtype_is_in(dtype, row->dtypes) && kiln_dtype_is_in(to, row->dtypes)) {
        kiln_say_needs(s, row->opset);
        return say_wider(s, n, row, dtype, to);
    }
    KILN_TRY(check_dtype(s, n, row));
    return row->say(s, n);
}

static kiln_status say_node(kiln_say *s, const kiln_node *n) {
    const kiln_say_row *row = kiln_say_row_of(n->op);
    s->node = n;
    s->lost = NULL;
    if (row == NULL)
        return kiln_say_refuse(s, "it has no row in say_rows.def");
    KILN_TRY(check_types(s, n));
    KILN_TRY(say_row(s, n, row));
    return check_lost(s, n);
}

void kiln_say_nodes(kiln_say *s) {
    const kiln_graph *g = s->scope->g;
    kiln_err *const outer = s->err;
    for (size_t i = 0; i < g->nodes.n; i++) {
        kiln_err err = {0};
        s->err = &err;
        if (say_node(s, g->nodes.v[i]) != KILN_OK)
            add_refusal(s, err.text);
        s->op = NULL;
    }
    s->err = outer;
    s->node = NULL;
}

/* ---- regions --------------------------------------------------------------------- */

kiln_str kiln_say_region(kiln_say *s, const kiln_graph *region, size_t n_formal,
                         size_t captured) {
    kiln_say_scope *const outer = s->scope;
    const kiln_node *const node = s->node;
    kiln_say_scope *const scope = kiln_say_scope_new(s, region);
    kiln_buf graph;
    kiln_buf_init(&graph, s->arena);
    for (size_t i = n_formal; i < region->inputs.n; i++)
        scope->name[region->inputs.v[i]->id] =
            kiln_say_in(s, (int)(captured + i - n_formal));
    kiln_say_name_inputs(s, scope);
    const char **const outputs = kiln_say_name_outputs(s, scope, true);
    kiln_say_name_rest(s, scope);
    s->scope = scope;
    kiln_say_nodes(s);
    kiln_say_late_outputs(s, outputs);
    s->scope = outer;
    s->node = node;
    if (scope->nodes.n > 0)
        kiln_buf_add(&graph, scope->nodes.p, scope->nodes.n);
    kiln_pb_put_text(&graph, GRAPH_NAME, kiln_say_fresh(s, region->name));
    for (size_t i = 0; i < n_formal; i++)
        kiln_say_value_info(s, &graph, GRAPH_INPUT,
                            scope->name[region->inputs.v[i]->id],
                            &region->inputs.v[i]->type);
    for (size_t i = 0; i < region->outputs.n; i++)
        kiln_say_value_info(s, &graph, GRAPH_OUTPUT, outputs[i],
                            &region->outputs.v[i]->type);
    return kiln_buf_str(&graph);
}

/* ---- constants ------------------------------------------------------------------- */

typedef struct model_parts {
    kiln_say *s;
    const kiln_export_options *o;
    kiln_export_bytes graph; /* fields of the GraphProto */
    kiln_exported *out;
    bool is_external;
} model_parts;

static void put_entry(kiln_say *s, kiln_buf *tensor, const char *key,
                      const char *value) {
    kiln_buf entry;
    kiln_buf_init(&entry, s->arena);
    kiln_pb_put_text(&entry, 1, key);
    kiln_pb_put_text(&entry, 2, value);
    kiln_pb_put_bytes(tensor, TENSOR_EXTERNAL, kiln_buf_str(&entry));
}

static void put_external(model_parts *p, kiln_buf *tensor, kiln_str raw) {
    static const char zeros[DATA_ALIGN] = {0};
    kiln_say *const s = p->s;
    kiln_export_bytes *const data = &p->out->data;
    kiln_export_add(s->arena, data, zeros,
                    (size_t)((DATA_ALIGN - data->n % DATA_ALIGN) % DATA_ALIGN));
    put_entry(s, tensor, "location", p->o->data_name);
    put_entry(s, tensor, "offset", kiln_format(s->arena, "%" PRIu64, data->n));
    put_entry(s, tensor, "length", kiln_format(s->arena, "%zu", raw.n));
    kiln_pb_put_int(tensor, TENSOR_LOCATION, LOCATION_EXTERNAL);
    kiln_export_add(s->arena, data, raw.p, raw.n);
}

static void put_constant(model_parts *p, const kiln_say_constant *c) {
    kiln_say *const s = p->s;
    const kiln_str raw = kiln_say_raw(s, c);
    kiln_buf tensor, head;
    kiln_buf_init(&tensor, s->arena);
    kiln_buf_init(&head, s->arena);
    kiln_say_tensor_head(s, &tensor, c);
    const bool is_out = p->is_external && raw.n >= MIN_EXTERNAL_BYTES;
    if (is_out)
        put_external(p, &tensor, raw);
    else
        kiln_pb_put_head(&tensor, TENSOR_RAW, raw.n);
    kiln_pb_put_head(&head, GRAPH_CONSTANT, tensor.n + (is_out ? 0 : raw.n));
    kiln_export_add(s->arena, &p->graph, head.p, head.n);
    kiln_export_add(s->arena, &p->graph, tensor.p, tensor.n);
    if (!is_out)
        kiln_export_add(s->arena, &p->graph, raw.p, raw.n);
}

/* ---- the model ------------------------------------------------------------------- */

static int64_t ir_of(int64_t opset) {
    static const int8_t since_21[] = {10, 10, 11, 12, 13, 13};
    _Static_assert(sizeof since_21 == KILN_SAY_MAX_OPSET - KILN_SAY_BASE_OPSET + 1,
                   "an IR version for each opset");
    return since_21[opset - KILN_SAY_BASE_OPSET];
}

/* Types of what nodes make, for readers that infer none. */
static void put_infos(kiln_say *s, kiln_buf *b, const char *const *outputs) {
    const kiln_graph *g = s->scope->g;
    kiln_map is_output = {0};
    for (size_t i = 0; i < g->outputs.n; i++)
        kiln_map_set(s->arena, &is_output, kiln_str_from(outputs[i]), s);
    for (size_t i = 0; i < g->nodes.n; i++)
        for (int k = 0; k < g->nodes.v[i]->n_out; k++) {
            const kiln_value *v = g->nodes.v[i]->out[k];
            const char *const name = s->scope->name[v->id];
            if (!kiln_map_has(&is_output, kiln_str_from(name)))
                kiln_say_value_info(s, b, GRAPH_INFO, name, &v->type);
        }
}

static void put_tail(kiln_say *s, kiln_buf *b, const char *const *outputs) {
    const kiln_graph *g = s->scope->g;
    for (size_t i = 0; i < g->inputs.n; i++) {
        const kiln_value *v = g->inputs.v[i];
        kiln_say_value_info(s, b, GRAPH_INPUT, s->scope->name[v->id], &v->type);
    }
    for (size_t i = 0; i < g->outputs.n; i++)
        kiln_say_value_info(s, b, GRAPH_OUTPUT, outputs[i], &g->outputs.v[i]->type);
    put_infos(s, b, outputs);
}

/* Every operator and type that cannot be said, each once. */
static kiln_status refuse_all(const kiln_say *s, kiln_err *err) {
    enum { MAX_SHOWN = 8 };
    kiln_buf text;
    kiln_buf_init(&text, s->arena);
    for (size_t i = 0; i < s->refused.n && i < MAX_SHOWN; i++) {
        const kiln_say_refusal *r = &s->refused.v[i];
        kiln_buf_printf(
            &text, "%s%s (%" PRId64 " node%s, first '%s')", i > 0 ? "; " : "",
            r->reason, r->count, r->count == 1 ? "" : "s",
            kiln_str_printable(s->arena, kiln_str_from(r->first_node), SHOWN_BYTES));
    }
    if (s->refused.n > MAX_SHOWN)
        kiln_buf_printf(&text, "; and %zu more", s->refused.n - MAX_SHOWN);
    return kiln_fail(err, KILN_ERR_UNSUPPORTED, "ONNX cannot say it: %s", text.p);
}

static void put_constants(model_parts *p, kiln_buf *nodes, kiln_buf *name) {
    kiln_say *const s = p->s;
    p->graph = (kiln_export_bytes){.n = 0};
    p->out->data = (kiln_export_bytes){.n = 0};
    kiln_export_add(s->arena, &p->graph, nodes->p, nodes->n);
    kiln_export_add(s->arena, &p->graph, name->p, name->n);
    for (size_t i = 0; i < s->constants.n; i++)
        put_constant(p, &s->constants.v[i]);
}

static kiln_status put_model(model_parts *p, const char *const *outputs,
                             kiln_err *err) {
    kiln_say *const s = p->s;
    const uint64_t most = p->o->max_bytes != 0 ? p->o->max_bytes : MAX_FILE_BYTES;
    kiln_buf head, name, tail, opset;
    kiln_buf_init(&head, s->arena);
    kiln_buf_init(&name, s->arena);
    kiln_buf_init(&tail, s->arena);
    kiln_buf_init(&opset, s->arena);
    kiln_pb_put_text(&name, GRAPH_NAME, s->scope->g->name);
    put_tail(s, &tail, outputs);
    p->is_external = p->o->is_external && p->o->data_name != NULL;
    put_constants(p, &s->scope->nodes, &name);
    if (!p->is_external && p->o->data_name != NULL &&
        p->graph.n + tail.n + HEAD_BYTES > most) {
        p->is_external = true;
        put_constants(p, &s->scope->nodes, &name);
    }
    kiln_export_add(s->arena, &p->graph, tail.p, tail.n);
    kiln_pb_put_int(&head, MODEL_IR, ir_of(s->opset));
    kiln_pb_put_text(&head, MODEL_PRODUCER, "kiln");
    kiln_pb_put_text(&opset, 1, "");
    kiln_pb_put_int(&opset, 2, s->opset);
    kiln_pb_put_bytes(&head, MODEL_OPSET, kiln_buf_str(&opset));
    kiln_pb_put_head(&head, MODEL_GRAPH, p->graph.n);
    if (head.n + p->graph.n > most)
        return kiln_fail(err, KILN_ERR_LIMIT,
                         "the model's file would have %" PRIu64
                         " bytes without its weights, an ONNX file has at most "
                         "%" PRIu64,
                         (uint64_t)(head.n + p->graph.n), most);
    kiln_export_add(s->arena, &p->out->model, head.p, head.n);
    for (size_t i = 0; i < p->graph.piece.n; i++)
        kiln_export_add(s->arena, &p->out->model, p->graph.piece.v[i].p,
                        p->graph.piece.v[i].n);
    return KILN_OK;
}

static kiln_status write_onnx(kiln_arena *a, const kiln_graph *g,
                              const kiln_export_options *o, kiln_exported *out,
                              kiln_err *err) {
    static const kiln_export_options usual = {.is_external = false};
    kiln_say s = {.arena = a, .err = err, .opset = KILN_SAY_BASE_OPSET};
    model_parts p = {.s = &s, .o = o != NULL ? o : &usual, .out = out};
    *out = (kiln_exported){.n_nodes = 0};
    s.scope = kiln_say_scope_new(&s, g);
    kiln_say_name_inputs(&s, s.scope);
    const char **const outputs = kiln_say_name_outputs(&s, s.scope, false);
    kiln_say_name_rest(&s, s.scope);
    kiln_say_nodes(&s);
    kiln_say_late_outputs(&s, outputs);
    if (s.refused.n > 0)
        return refuse_all(&s, err);
    KILN_TRY(put_model(&p, outputs, err));
    out->version = s.opset;
    out->n_nodes = s.n_nodes;
    return KILN_OK;
}

const kiln_exporter kiln_exporter_onnx = {
    .name = "onnx",
    .extension = ".onnx",
    .doc = "ONNX, opset 21, or the first after it that has all operators",
    .write = write_onnx,
};
