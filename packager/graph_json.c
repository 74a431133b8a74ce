/* graph.json: the rewritten graph for tools (docs/package-format.md). Graphs inside
 * graphs are listed behind the first and named by index, so that the document's nesting
 * does not grow with theirs.
 */
#include "packager/packager_internal.h"

#include <math.h>
#include <string.h>

enum { GRAPH_JSON_VERSION = 1 };

typedef struct writer {
    kiln_arena *arena;
    kiln_json_writer json;
    KILN_VEC(const kiln_graph *) graph; /* all, the outermost first */
} writer;

static void put_text(writer *w, const char *text) {
    kiln_json_put_string(&w->json, kiln_str_from(text));
}

/* Whole numbers past 2^53 and what is no number travel as text. */
static void put_int(writer *w, int64_t v) {
    const int64_t most = (int64_t)1 << 53;
    if (v >= -most && v <= most)
        kiln_json_put_i64(&w->json, v);
    else
        put_text(w, kiln_format(w->arena, "%lld", (long long)v));
}

static void put_float(writer *w, double v) {
    if (isfinite(v))
        kiln_json_put_f64(&w->json, v);
    else
        put_text(w, isnan(v) ? "nan" : v > 0 ? "inf" : "-inf");
}

/* The number that a region has in the document. */
static int64_t number_of(writer *w, const kiln_graph *g) {
    kiln_vec_push(w->arena, &w->graph, g);
    return (int64_t)w->graph.n - 1;
}

static void put_list(writer *w, const kiln_attr_def *def, const kiln_attr *a) {
    kiln_json_begin_row(&w->json);
    for (size_t i = 0; i < a->n; i++) {
        if (def->kind == KILN_ATTR_FLOATS)
            put_float(w, a->floats[i]);
        else if (def->kind == KILN_ATTR_WORDS)
            put_text(w, def->choices[a->ints[i]]);
        else
            put_int(w, a->ints[i]);
    }
    kiln_json_end_array(&w->json);
}

static void put_attr(writer *w, const kiln_attr_def *def, const kiln_attr *a) {
    kiln_json_name(&w->json, def->name);
    switch (def->kind) {
    case KILN_ATTR_INT:
        put_int(w, a->i);
        return;
    case KILN_ATTR_BOOL:
        kiln_json_put_bool(&w->json, a->i != 0);
        return;
    case KILN_ATTR_FLOAT:
        put_float(w, a->f);
        return;
    case KILN_ATTR_WORD:
        put_text(w, def->choices[a->i]);
        return;
    case KILN_ATTR_DTYPE:
        put_text(w, kiln_dtype_name((kiln_dtype)a->i));
        return;
    case KILN_ATTR_INTS:
    case KILN_ATTR_FLOATS:
    case KILN_ATTR_WORDS:
        put_list(w, def, a);
        return;
    case KILN_ATTR_GRAPH:
        kiln_json_begin_object(&w->json);
        kiln_json_member_i64(&w->json, "graph", number_of(w, a->graph));
        kiln_json_end_object(&w->json);
        return;
    }
}

static void put_names(writer *w, const char *key, kiln_value *const *v, size_t n) {
    kiln_json_name(&w->json, key);
    kiln_json_begin_row(&w->json);
    for (size_t i = 0; i < n; i++) {
        if (v[i] == NULL)
            kiln_json_put_null(&w->json); /* an absent input */
        else
            put_text(w, v[i]->name);
    }
    kiln_json_end_array(&w->json);
}

static void put_node(writer *w, const kiln_node *n) {
    kiln_json_begin_object(&w->json);
    kiln_json_member_str(&w->json, "name", n->name);
    kiln_json_member_str(&w->json, "op", n->op->name);
    put_names(w, "inputs", n->in, (size_t)n->n_in);
    put_names(w, "outputs", n->out, (size_t)n->n_out);
    kiln_json_name(&w->json, "attributes");
    kiln_json_begin_object(&w->json);
    for (size_t i = 0; i < n->op->n_attr; i++)
        if (n->op->attr[i].kind != KILN_ATTR_GRAPH || n->attr[i].graph != NULL)
            put_attr(w, &n->op->attr[i], &n->attr[i]);
    kiln_json_end_object(&w->json);
    kiln_json_end_object(&w->json);
}

static void put_value(writer *w, const kiln_value *v) {
    kiln_json_begin_object(&w->json);
    kiln_json_member_str(&w->json, "name", v->name);
    kiln_json_member_str(&w->json, "kind",
                         v->def != NULL           ? "node"
                         : kiln_value_is_const(v) ? "constant"
                                                  : "input");
    kiln_json_member_str(&w->json, "dtype", kiln_dtype_name(v->type.dtype));
    kiln_json_name(&w->json, "shape");
    kiln_json_begin_row(&w->json);
    for (int k = 0; k < v->type.rank; k++)
        kiln_json_put_i64(&w->json, v->type.dim[k]);
    kiln_json_end_array(&w->json);
    kiln_json_member_str(&w->json, "type", kiln_type_text(w->arena, &v->type));
    if (v->count != NULL) {
        kiln_json_member_str(&w->json, "count", v->count->name);
        kiln_json_member_i64(&w->json, "bounded_axis", v->bounded_axis);
    }
    kiln_json_end_object(&w->json);
}

/* Those that somebody makes or reads: a graph also lists what passes dropped. */
static void put_values(writer *w, const kiln_graph *g) {
    bool *is_live = kiln_array(w->arena, bool, g->values.n);
    for (size_t i = 0; i < g->inputs.n; i++)
        is_live[g->inputs.v[i]->id] = true;
    for (size_t i = 0; i < g->outputs.n; i++)
        is_live[g->outputs.v[i]->id] = true;
    for (size_t i = 0; i < g->nodes.n; i++) {
        const kiln_node *n = g->nodes.v[i];
        for (int k = 0; k < n->n_in; k++)
            if (n->in[k] != NULL)
                is_live[n->in[k]->id] = true;
        for (int k = 0; k < n->n_out; k++)
            is_live[n->out[k]->id] = true;
    }
    kiln_json_name(&w->json, "values");
    kiln_json_begin_array(&w->json);
    for (size_t i = 0; i < g->values.n; i++)
        if (is_live[i])
            put_value(w, g->values.v[i]);
    kiln_json_end_array(&w->json);
}

static void put_graph(writer *w, const kiln_graph *g) {
    kiln_json_begin_object(&w->json);
    kiln_json_member_str(&w->json, "name", g->name);
    put_names(w, "inputs", g->inputs.v, g->inputs.n);
    put_names(w, "outputs", g->outputs.v, g->outputs.n);
    kiln_json_name(&w->json, "output_names");
    kiln_json_begin_row(&w->json);
    for (size_t i = 0; i < g->outputs.n; i++)
        put_text(w, g->output_names.v[i]);
    kiln_json_end_array(&w->json);
    put_values(w, g);
    kiln_json_name(&w->json, "nodes");
    kiln_json_begin_array(&w->json);
    for (size_t i = 0; i < g->nodes.n; i++)
        put_node(w, g->nodes.v[i]);
    kiln_json_end_array(&w->json);
    kiln_json_end_object(&w->json);
}

/* Nothing where nobody says. */
static void put_types(writer *w, const char *key, const char *const *type, size_t n) {
    if (type == NULL)
        return;
    kiln_json_name(&w->json, key);
    kiln_json_begin_row(&w->json);
    for (size_t i = 0; i < n; i++)
        put_text(w, type[i]);
    kiln_json_end_array(&w->json);
}

static void put_step(writer *w, const kiln_package_step *s) {
    kiln_json_begin_object(&w->json);
    kiln_json_member_str(&w->json, "name", s->name);
    kiln_json_member_str(&w->json, "op", s->op);
    kiln_json_member_str(&w->json, "kernel", s->kernel);
    kiln_json_name(&w->json, "nodes");
    kiln_json_begin_row(&w->json);
    for (size_t i = 0; i < s->n_nodes; i++)
        put_text(w, s->node[i]);
    kiln_json_end_array(&w->json);
    kiln_json_member_str(&w->json, "epilogue", s->epilogue);
    if (s->device != NULL)
        kiln_json_member_str(&w->json, "device", s->device);
    kiln_json_member_str(&w->json, "layout_in", s->layout_in);
    kiln_json_member_str(&w->json, "layout_out", s->layout_out);
    put_types(w, "inputs", s->in, s->n_in);
    put_types(w, "outputs", s->out, s->n_out);
    kiln_json_end_object(&w->json);
}

kiln_str kiln_package_graph_json(kiln_arena *a, const kiln_graph *g,
                                 const kiln_package_step *step, size_t n) {
    kiln_buf out;
    kiln_buf_init(&out, a);
    writer w = {.arena = a};
    kiln_json_writer_init(&w.json, &out);
    kiln_json_begin_object(&w.json);
    kiln_json_member_str(&w.json, "format", "kiln graph");
    kiln_json_member_i64(&w.json, "format_version", GRAPH_JSON_VERSION);
    kiln_json_name(&w.json, "steps");
    kiln_json_begin_array(&w.json);
    for (size_t i = 0; i < n; i++)
        put_step(&w, &step[i]);
    kiln_json_end_array(&w.json);
    kiln_json_name(&w.json, "graphs");
    kiln_json_begin_array(&w.json);
    number_of(&w, g);
    for (size_t i = 0; i < w.graph.n; i++) /* grows as regions are met */
        put_graph(&w, w.graph.v[i]);
    kiln_json_end_array(&w.json);
    kiln_json_end_object(&w.json);
    kiln_buf_puts(&out, "\n");
    return kiln_buf_str(&out);
}

/* ---- reading -----------------------------------------------------------------------
 * What tools ask of a package: its steps. The file is untrusted. */

/* A list of texts; anything else is as if it were not there. */
static const char *const *read_types(kiln_arena *a, const kiln_json *list, size_t *n) {
    *n = 0;
    if (!kiln_json_is_array(list))
        return NULL;
    const size_t n_types = kiln_json_size(list);
    const char **type = kiln_array(a, const char *, n_types);
    const kiln_json *o = kiln_json_first(list);
    for (size_t i = 0; i < n_types; i++, o = kiln_json_next(o)) {
        type[i] = kiln_json_string(o, NULL);
        if (type[i] == NULL)
            return NULL;
    }
    *n = n_types;
    return type;
}

static kiln_status read_step(kiln_arena *a, const kiln_json *o, kiln_package_step *out,
                             kiln_err *err) {
    *out = (kiln_package_step){
        .name = kiln_json_string(kiln_json_get(o, "name"), NULL),
        .op = kiln_json_string(kiln_json_get(o, "op"), NULL),
        .kernel = kiln_json_string(kiln_json_get(o, "kernel"), NULL),
        .epilogue = kiln_json_string(kiln_json_get(o, "epilogue"), NULL),
        .device = kiln_json_string(kiln_json_get(o, "device"), NULL),
        .layout_in = kiln_json_string(kiln_json_get(o, "layout_in"), NULL),
        .layout_out = kiln_json_string(kiln_json_get(o, "layout_out"), NULL)};
    out->in = read_types(a, kiln_json_get(o, "inputs"), &out->n_in);
    out->out = read_types(a, kiln_json_get(o, "outputs"), &out->n_out);
    if (out->name == NULL || out->op == NULL)
        return kiln_fail(err, KILN_ERR_PARSE,
                         KILN_ENTRY_GRAPH ": a step must have a name and an operator");
    return KILN_OK;
}

kiln_status kiln_package_steps_read(kiln_arena *a, const char *folder,
                                    const kiln_package_step **out, size_t *n,
                                    kiln_err *err) {
    enum { MAX_BYTES = 256 << 20, MAX_STEPS = 1 << 20 };
    const kiln_json *root = NULL;
    kiln_str text;
    KILN_TRY(kiln_file_map(a, kiln_path_join(a, folder, KILN_ENTRY_GRAPH), MAX_BYTES,
                           &text, err));
    KILN_TRY(kiln_json_parse(a, text, KILN_ENTRY_GRAPH, &root, err));
    const kiln_json *list = kiln_json_get(root, "steps");
    const size_t n_steps = kiln_json_size(list);
    if (!kiln_json_is_array(list) || n_steps > MAX_STEPS)
        return kiln_fail(err, KILN_ERR_PARSE,
                         KILN_ENTRY_GRAPH ": 'steps' must be a list of at most %d",
                         MAX_STEPS);
    kiln_package_step *step = kiln_array(a, kiln_package_step, n_steps);
    const kiln_json *o = kiln_json_first(list);
    for (size_t i = 0; i < n_steps; i++, o = kiln_json_next(o))
        KILN_TRY(read_step(a, o, &step[i], err));
    *out = step;
    *n = n_steps;
    return KILN_OK;
}
