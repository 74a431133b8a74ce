/* Names: which value of the Graph an ONNX name means. A subgraph sees the names around
 * it; where it is imported as a region, what it uses from outside is captured as an
 * input of the region. A function body sees its own names only. Source: ONNX IR, "Names
 * Within a Graph" and "Functions". */
#include "compiler/frontend/onnx/import_core.h"
#include "compiler/frontend/onnx/list.h"

#include <string.h>

kiln_value kiln_onnx_absent = {.name = "absent"};

kiln_onnx_scope *kiln_onnx_scope_new(kiln_onnx_cx *cx, kiln_onnx_scope *parent,
                                     kiln_graph *g) {
    KILN_ASSERT(g != NULL, "names of no graph");
    kiln_onnx_scope *const s = kiln_new(&cx->common.scratch, kiln_onnx_scope);
    s->parent = parent;
    s->g = g;
    s->prefix = parent == NULL ? "" : parent->prefix;
    s->frame = parent == NULL ? NULL : parent->frame;
    s->depth = parent == NULL ? 0 : parent->depth + 1;
    return s;
}

kiln_onnx_scope *kiln_onnx_owner(kiln_onnx_scope *s) {
    while (!s->is_region && s->parent != NULL)
        s = s->parent;
    return s;
}

void kiln_onnx_set_scope(kiln_onnx_cx *cx, kiln_onnx_scope *s) {
    KILN_ASSERT(s != NULL && s->g != NULL, "a scope without a graph");
    cx->scope = s;
    cx->common.graph = s->g;
}

/* What is inlined often must not multiply long names: they are cut, and made unique by
 * the Graph. */
enum { MAX_INLINED_NAME = 256 };

const char *kiln_onnx_prefixed(kiln_onnx_cx *cx, const char *prefix, kiln_str name) {
    const int room = MAX_INLINED_NAME - (int)strlen(prefix);
    const int n = kiln_str_int_len(name);
    const bool is_inlined = *prefix != '\0';
    const char *const full =
        kiln_format(&cx->common.scratch, "%s%.*s", prefix,
                    is_inlined && n > room ? room : n, name.p == NULL ? "" : name.p);
    return *full == '\0' ? "v" : full; /* the file's name begins with a zero byte */
}

static const char *prefixed(kiln_onnx_cx *cx, const kiln_onnx_scope *s, kiln_str name) {
    return kiln_onnx_prefixed(cx, s->prefix, name);
}

kiln_status kiln_onnx_add_initializers(kiln_onnx_cx *cx, kiln_onnx_scope *s,
                                       const kiln_onnx_graph *g) {
    if (g->n_sparse_initializer > 0)
        return kiln_onnx_fail(cx, KILN_ERR_UNSUPPORTED,
                              "graph '%s' has %zu sparse initializers, which are not "
                              "read; export them dense",
                              kiln_onnx_show(cx, g->name), g->n_sparse_initializer);
    for (size_t i = 0; i < g->n_initializer; i++) {
        const kiln_onnx_tensor *const t = &g->initializer[i];
        if (t->name.n == 0)
            return kiln_onnx_fail(cx, KILN_ERR_PARSE,
                                  "initializer #%zu of graph '%s' must have a name", i,
                                  kiln_onnx_show(cx, g->name));
        if (kiln_map_has(&s->tensors, t->name))
            return kiln_onnx_fail(cx, KILN_ERR_PARSE,
                                  "initializer '%s' is given twice; give one of them "
                                  "another name",
                                  kiln_onnx_show(cx, t->name));
        kiln_map_set(&cx->common.scratch, &s->tensors, t->name, t);
    }
    return KILN_OK;
}

kiln_status kiln_onnx_read_once(kiln_onnx_cx *cx, const kiln_onnx_tensor *t,
                                kiln_tensor *out) {
    KILN_ASSERT(t != NULL, "the data of no tensor");
    const kiln_str key = {(const char *)&t, sizeof t};
    kiln_tensor *known = kiln_map_get(&cx->tensors_read, key);
    if (known == NULL) {
        kiln_tensor data;
        KILN_TRY(kiln_onnx_tensor_read(cx->common.arena, t, &cx->files, &data,
                                       cx->common.err));
        known = kiln_new(&cx->common.scratch, kiln_tensor);
        *known = data;
        kiln_map_set(&cx->common.scratch, &cx->tensors_read, key, known);
    }
    *out = *known;
    return KILN_OK;
}

static kiln_status make_const(kiln_onnx_cx *cx, kiln_onnx_scope *s,
                              const kiln_onnx_tensor *t, kiln_value **out) {
    kiln_tensor data;
    KILN_TRY(kiln_onnx_read_once(cx, t, &data));
    *out = kiln_graph_add_const(s->g, prefixed(cx, s, t->name), &data.type, data.data);
    kiln_map_set(&cx->common.scratch, &s->values, t->name, *out);
    return KILN_OK;
}

/* An outer value inside a region: constants are shared, all else becomes an input. */
static kiln_value *capture(kiln_onnx_cx *cx, kiln_onnx_scope *s, kiln_value *outer) {
    KILN_ASSERT(s->is_region && s->outer.n == s->inner.n,
                "%zu values are captured as %zu", s->outer.n, s->inner.n);
    if (kiln_value_is_const(outer))
        return kiln_graph_add_const(s->g, outer->name, &outer->type, outer->data);
    for (size_t i = 0; i < s->outer.n; i++)
        if (s->outer.v[i] == outer)
            return s->inner.v[i];
    kiln_value *const inner = kiln_graph_add_input(s->g, outer->name, &outer->type);
    kiln_vec_push(&cx->common.scratch, &s->outer, outer);
    kiln_vec_push(&cx->common.scratch, &s->inner, inner);
    return inner;
}

/* A list inside a region: one of captured values. */
static kiln_status capture_list(kiln_onnx_cx *cx, kiln_onnx_scope *s,
                                const kiln_onnx_list *outer, kiln_value **out) {
    kiln_onnx_list *inner;
    KILN_TRY(kiln_onnx_list_new(cx, outer->n, &inner));
    inner->is_none = outer->is_none;
    for (size_t i = 0; i < outer->n; i++)
        inner->v[i] = capture(cx, s, outer->v[i]);
    *out = &inner->head;
    return KILN_OK;
}

kiln_status kiln_onnx_lookup(kiln_onnx_cx *cx, kiln_onnx_scope *s, kiln_str name,
                             kiln_value **out) {
    kiln_value *v = kiln_map_get(&s->values, name);
    if (v == NULL) {
        const kiln_onnx_tensor *const t = kiln_map_get(&s->tensors, name);
        if (t != NULL)
            return make_const(cx, s, t, out);
        KILN_ASSERT(!s->sees_parent || s->parent != NULL, "a subgraph of nothing");
        if (s->sees_parent)
            KILN_TRY(kiln_onnx_lookup(cx, s->parent, name, &v));
        const kiln_onnx_list *const list = kiln_onnx_as_list(v);
        if (list != NULL && s->is_region)
            KILN_TRY(capture_list(cx, s, list, &v));
        else if (v != NULL && v != &kiln_onnx_absent && s->is_region)
            v = capture(cx, s, v);
        if (v != NULL)
            kiln_map_set(&cx->common.scratch, &s->values, name, v);
    }
    *out = v;
    return KILN_OK;
}

static kiln_status enter(kiln_onnx_cx *cx, kiln_onnx_scope *s) {
    if (s->depth > KILN_ONNX_MAX_CALL_DEPTH)
        return kiln_onnx_fail(cx, KILN_ERR_LIMIT,
                              "functions and subgraphs must not be nested more than %d "
                              "deep; does a function call itself?",
                              KILN_ONNX_MAX_CALL_DEPTH);
    kiln_onnx_set_scope(cx, s);
    return KILN_OK;
}

const char *kiln_onnx_node_prefix(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    enum { MAX_PREFIX = 128 };
    const kiln_str name = n->name.n > 0 ? n->name : n->op_type;
    const char *const full = kiln_onnx_prefixed(cx, cx->scope->prefix, name);
    const size_t len = strlen(full);
    return kiln_format(&cx->common.scratch, "%.*s/",
                       (int)(len < MAX_PREFIX ? len : MAX_PREFIX), full);
}

/* Nodes and results of a subgraph whose scope is set up. */
static kiln_status import_body(kiln_onnx_cx *cx, const kiln_onnx_graph *sub,
                               kiln_value **outs) {
    cx->nodes_left -= (int64_t)(sub->n_initializer + sub->n_output) / 8;
    KILN_TRY(kiln_onnx_add_initializers(cx, cx->scope, sub));
    KILN_TRY(kiln_onnx_import_nodes(cx, sub->node, sub->n_node));
    for (size_t i = 0; i < sub->n_output; i++) {
        const kiln_str name = sub->output[i].name;
        KILN_TRY(kiln_onnx_lookup(cx, cx->scope, name, &outs[i]));
        if (outs[i] == NULL || outs[i] == &kiln_onnx_absent)
            return kiln_onnx_fail(cx, KILN_ERR_PARSE,
                                  "output '%s' of subgraph '%s' is not defined by any "
                                  "node, input or initializer",
                                  kiln_onnx_show(cx, name),
                                  kiln_onnx_show(cx, sub->name));
    }
    return KILN_OK;
}

static kiln_status inline_body(kiln_onnx_cx *cx, const char *prefix,
                               const kiln_onnx_graph *sub, kiln_value *const *actual,
                               size_t n_actual, kiln_value **outs) {
    kiln_onnx_scope *const outer = cx->scope;
    kiln_onnx_scope *const s = kiln_onnx_scope_new(cx, outer, outer->g);
    s->sees_parent = true;
    s->prefix = prefix;
    if (sub->n_input != n_actual)
        return kiln_onnx_fail(cx, KILN_ERR_PARSE,
                              "subgraph '%s' must have %zu inputs, has %zu",
                              kiln_onnx_show(cx, sub->name), n_actual, sub->n_input);
    for (size_t i = 0; i < n_actual; i++)
        kiln_map_set(&cx->common.scratch, &s->values, sub->input[i].name, actual[i]);
    KILN_TRY(enter(cx, s));
    KILN_TRY(import_body(cx, sub, outs));
    KILN_ASSERT(cx->scope == s, "a subgraph's nodes left another scope behind");
    kiln_onnx_set_scope(cx, outer);
    return KILN_OK;
}

/* Who repeats a body computes with tensors. */
static kiln_status refuse_lists(kiln_onnx_cx *cx, const kiln_onnx_graph *sub,
                                kiln_value *const *outs) {
    for (size_t i = 0; i < sub->n_output; i++) {
        KILN_ASSERT(outs[i] != NULL, "output %zu of a subgraph was not looked up", i);
        if (kiln_onnx_as_list(outs[i]) != NULL)
            return kiln_onnx_fail(cx, KILN_ERR_UNSUPPORTED,
                                  "output '%s' of subgraph '%s' is a sequence or an "
                                  "optional; let it be tensors, or fix what decides "
                                  "whether the subgraph runs with --bind",
                                  kiln_onnx_show(cx, sub->output[i].name),
                                  kiln_onnx_show(cx, sub->name));
    }
    return KILN_OK;
}

kiln_status kiln_onnx_inline_with(kiln_onnx_cx *cx, const char *prefix,
                                  const kiln_onnx_graph *sub, kiln_value *const *actual,
                                  size_t n_actual, kiln_value **outs) {
    KILN_TRY(inline_body(cx, prefix, sub, actual, n_actual, outs));
    return refuse_lists(cx, sub, outs);
}

kiln_status kiln_onnx_inline(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                             const kiln_onnx_graph *sub, kiln_value **outs) {
    return inline_body(cx, kiln_onnx_node_prefix(cx, n), sub, NULL, 0, outs);
}

static kiln_status add_formals(kiln_onnx_cx *cx, const kiln_onnx_graph *sub,
                               const kiln_type *formal, size_t n_formal) {
    kiln_onnx_scope *const s = cx->scope;
    if (sub->n_input != n_formal)
        return kiln_onnx_fail(cx, KILN_ERR_PARSE,
                              "subgraph '%s' must have %zu inputs, has %zu",
                              kiln_onnx_show(cx, sub->name), n_formal, sub->n_input);
    for (size_t i = 0; i < n_formal; i++) {
        const kiln_str name = sub->input[i].name;
        if (kiln_map_has(&s->values, name))
            return kiln_onnx_fail(
                cx, KILN_ERR_PARSE, "input '%s' of subgraph '%s' is given twice",
                kiln_onnx_show(cx, name), kiln_onnx_show(cx, sub->name));
        kiln_value *const v =
            kiln_graph_add_input(s->g, prefixed(cx, s, name), &formal[i]);
        kiln_map_set(&cx->common.scratch, &s->values, name, v);
    }
    return KILN_OK;
}

kiln_status kiln_onnx_region(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                             const kiln_onnx_graph *sub, const kiln_type *formal,
                             size_t n_formal, kiln_graph **region,
                             kiln_value ***captured, size_t *n_captured) {
    (void)n; /* names inside a region are its own: no prefix */
    KILN_ASSERT(n_formal == 0 || formal != NULL, "%zu inputs of no type", n_formal);
    kiln_onnx_scope *const outer = cx->scope;
    kiln_graph *const g =
        kiln_graph_new(cx->common.arena, kiln_str_dupv(cx->common.arena, sub->name));
    kiln_onnx_scope *const s = kiln_onnx_scope_new(cx, outer, g);
    s->sees_parent = true;
    s->is_region = true;
    s->prefix = "";
    KILN_TRY(enter(cx, s));
    KILN_TRY(add_formals(cx, sub, formal, n_formal));
    kiln_value **const outs =
        kiln_array(&cx->common.scratch, kiln_value *, sub->n_output);
    const kiln_status st = import_body(cx, sub, outs);
    KILN_ASSERT(st != KILN_OK || cx->scope == s,
                "a region's nodes left another scope behind");
    kiln_onnx_set_scope(cx, outer);
    if (st != KILN_OK)
        return st;
    KILN_TRY(refuse_lists(cx, sub, outs));
    for (size_t i = 0; i < sub->n_output; i++)
        kiln_graph_add_output(g, outs[i],
                              kiln_str_dupv(cx->common.arena, sub->output[i].name));
    *region = g;
    *captured = s->outer.v;
    *n_captured = s->outer.n;
    return KILN_OK;
}

/* ---- functions ------------------------------------------------------------------- */

static kiln_status bind_actuals(kiln_onnx_cx *cx, kiln_onnx_scope *s,
                                const kiln_onnx_node *n, const kiln_onnx_function *fn) {
    if (n->n_input > fn->n_input || n->n_output > fn->n_output)
        return kiln_onnx_fail(cx, KILN_ERR_PARSE,
                              "function '%s' has %zu inputs and %zu outputs, the node "
                              "gives %zu and %zu",
                              kiln_onnx_show(cx, fn->name), fn->n_input, fn->n_output,
                              n->n_input, n->n_output);
    for (size_t i = 0; i < fn->n_input; i++) {
        kiln_value *v = kiln_onnx_in(cx, n, (int)i);
        if (v == NULL)
            v = &kiln_onnx_absent;
        kiln_map_set(&cx->common.scratch, &s->values, fn->input[i], v);
    }
    return KILN_OK;
}

kiln_status kiln_onnx_call(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                           const kiln_onnx_function *fn) {
    kiln_onnx_scope *const outer = cx->scope;
    kiln_onnx_scope *const s = kiln_onnx_scope_new(cx, outer, outer->g);
    kiln_onnx_frame *const frame = kiln_new(&cx->common.scratch, kiln_onnx_frame);
    *frame = (kiln_onnx_frame){.up = outer->frame, .fn = fn, .call = n};
    s->frame = frame;
    s->prefix = kiln_onnx_node_prefix(cx, n);
    KILN_TRY(bind_actuals(cx, s, n, fn));
    KILN_TRY(enter(cx, s));
    KILN_TRY(kiln_onnx_import_nodes(cx, fn->node, fn->n_node));
    kiln_value **const outs =
        kiln_array(&cx->common.scratch, kiln_value *, n->n_output);
    KILN_ASSERT(cx->scope == s, "a function's nodes left another scope behind");
    for (size_t i = 0; i < n->n_output; i++) {
        KILN_TRY(kiln_onnx_lookup(cx, s, fn->output[i], &outs[i]));
        if (outs[i] == &kiln_onnx_absent)
            outs[i] = NULL;
        if (outs[i] == NULL && kiln_onnx_wants(n, (int)i))
            return kiln_onnx_fail(cx, KILN_ERR_PARSE,
                                  "output '%s' of function '%s' is not defined by any "
                                  "of its nodes",
                                  kiln_onnx_show(cx, fn->output[i]),
                                  kiln_onnx_show(cx, fn->name));
    }
    kiln_onnx_set_scope(cx, outer);
    for (size_t i = 0; i < n->n_output; i++)
        kiln_onnx_set(cx, n, (int)i, outs[i]);
    return KILN_OK;
}
