/* The nodes of an exported program, one after the other: each calls an operator of
 * aten.def, a function of numbers, or a graph inside the graph. */
#include <string.h>

#include "compiler/frontend/pytorch/pt2/pt2_internal.h"

enum { MAX_ARGS = 64 };

static const char *target_of(const kiln_json *node) {
    return kiln_json_string(kiln_json_get(node, "target"), "");
}

static const char *first_output(const kiln_json *node) {
    const char *tag;
    const kiln_json *const arg = kiln_json_first(kiln_json_get(node, "outputs"));
    const kiln_json *v = kiln_pt2_union(arg, &tag);
    if (kiln_json_is_array(v))
        v = kiln_json_first(v);
    const char *const name = kiln_json_string(kiln_json_get(v, "name"), "");
    return name[0] != '\0' ? name : kiln_json_string(kiln_json_get(v, "as_name"), "");
}

/* Files before 2.7 name nodes by their first output. */
static const char *name_of(const kiln_json *node) {
    const char *const name = kiln_json_string(kiln_json_get(node, "name"), "");
    return name[0] != '\0' ? name : first_output(node);
}

/* ---- what nobody reads ------------------------------------------------------------ */

static bool is_draw(const char *target) {
    static const char before[] = "torch.ops.aten.";
    static const char *const names[] = {"rand.", "randn.", "randint.", "rand_like.",
                                        "randn_like."};
    const size_t n = sizeof before - 1;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strncmp(target, before, n) == 0 &&
            strncmp(target + n, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* The parser bounds the depth. */
static bool names(const kiln_json *j, const char *name) {
    if (kiln_json_is_string(j))
        return strcmp(kiln_json_string(j, ""), name) == 0;
    if (kiln_json_is_array(j) || kiln_json_is_object(j))
        for (const kiln_json *i = kiln_json_first(j); i != NULL; i = kiln_json_next(i))
            if (names(i, name))
                return true;
    return false;
}

/* Random numbers that nobody reads: exporters keep the draw, as it changes the generator.
 * So it is behind layers that training leaves out at random. */
static bool is_idle_draw(const kiln_json *graph, const kiln_json *node) {
    const char *const name = first_output(node);
    if (!is_draw(target_of(node)))
        return false;
    for (const kiln_json *j = kiln_json_first(kiln_json_get(graph, "nodes")); j != NULL;
         j = kiln_json_next(j))
        if (names(kiln_json_get(j, "inputs"), name))
            return false;
    return !names(kiln_json_get(graph, "outputs"), name);
}

/* ---- graphs inside graphs --------------------------------------------------------- */

/* Calls of a graph in place, with something else switched while it runs: training. */
static bool is_wrapper(const char *target) {
    static const char *const names[] = {
        "torch.ops.higher_order.wrap_with_set_grad_enabled",
        "torch.ops.higher_order.wrap_with_autocast"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(target, names[i]) == 0)
            return true;
    return false;
}

bool kiln_pt2_is_read(const char *target) {
    return kiln_pt2_is_symbolic(target) || is_wrapper(target) ||
           strcmp(target, "_operator.getitem") == 0 ||
           (strncmp(target, "torch.ops.higher_order.", 23) != 0 &&
            kiln_aten_find(kiln_str_from(target)) != NULL);
}

static const kiln_json *graph_of(const kiln_json *arg) {
    return kiln_json_get(kiln_json_get(arg, "as_graph"), "graph");
}

kiln_status kiln_pt2_walk(const kiln_json *graph, int depth, kiln_pt2_visit_fn *visit,
                          void *user, kiln_err *err) {
    const kiln_json *const nodes = kiln_json_get(graph, "nodes");
    if (depth > KILN_PT2_MAX_DEPTH)
        return kiln_fail(err, KILN_ERR_LIMIT, "graphs may lie %d deep in graphs",
                         KILN_PT2_MAX_DEPTH);
    for (const kiln_json *j = kiln_json_first(nodes); j != NULL;
         j = kiln_json_next(j)) {
        const kiln_json *const in = kiln_json_get(j, "inputs");
        if (!is_idle_draw(graph, j))
            visit(user, target_of(j), name_of(j));
        for (const kiln_json *i = kiln_json_first(in); i != NULL;
             i = kiln_json_next(i)) {
            const kiln_json *const inner = graph_of(kiln_json_get(i, "arg"));
            if (inner != NULL)
                KILN_TRY(kiln_pt2_walk(inner, depth + 1, visit, user, err));
        }
    }
    return KILN_OK;
}

/* ---- one node --------------------------------------------------------------------- */

typedef struct call {
    kiln_aten_keyword keyword[MAX_ARGS];
    kiln_aten_value arg[MAX_ARGS];
    size_t n;
    const char *first; /* name of the first argument where it is a tensor, or NULL */
    const kiln_json *graph;
} call;

static kiln_status read_call(kiln_pt2_cx *cx, const kiln_json *node, call *out) {
    const kiln_json *const in = kiln_json_get(node, "inputs");
    *out = (call){.n = 0};
    for (const kiln_json *i = kiln_json_first(in); i != NULL; i = kiln_json_next(i)) {
        const kiln_json *const arg = kiln_json_get(i, "arg");
        const char *const name = kiln_json_string(kiln_json_get(i, "name"), "");
        if (graph_of(arg) != NULL) {
            out->graph = graph_of(arg);
            out->n = 0; /* what comes behind are its arguments */
            continue;
        }
        if (out->n == MAX_ARGS)
            return kiln_pt2_fail(cx, KILN_ERR_LIMIT, "a call may have %d arguments",
                                 MAX_ARGS);
        if (i == kiln_json_first(in))
            out->first = kiln_json_string(
                kiln_json_get(kiln_json_get(arg, "as_tensor"), "name"), NULL);
        KILN_TRY(kiln_pt2_argument(cx, arg, &out->arg[out->n]));
        out->keyword[out->n] =
            (kiln_aten_keyword){kiln_str_from(name), out->arg[out->n]};
        out->n++;
    }
    return KILN_OK;
}

static kiln_status set_one(kiln_pt2_cx *cx, const kiln_json *v, kiln_aten_value made) {
    const char *name = kiln_json_string(kiln_json_get(v, "name"), NULL);
    if (name == NULL)
        name = kiln_json_string(kiln_json_get(v, "as_name"), NULL);
    if (name == NULL) {
        const kiln_json *const inner = kiln_json_get(v, "as_tensor");
        name = kiln_json_string(kiln_json_get(inner, "name"), NULL);
    }
    if (name != NULL && made.kind != KILN_ATEN_NONE)
        kiln_pt2_set(cx, name, made);
    return KILN_OK;
}

/* Gives the outputs of a node the values of its call, in order; a list of outputs is one
 * value that is a list, or all values. */
static kiln_status set_outputs(kiln_pt2_cx *cx, const kiln_json *node,
                               const kiln_aten_value *made, size_t n) {
    const kiln_json *const outputs = kiln_json_get(node, "outputs");
    size_t i = 0;
    for (const kiln_json *j = kiln_json_first(outputs); j != NULL;
         j = kiln_json_next(j), i++) {
        const char *tag;
        const kiln_json *const v = kiln_pt2_union(j, &tag);
        if (i >= n)
            return KILN_OK; /* nobody's: who asks for it learns so */
        if (!kiln_json_is_array(v)) {
            KILN_TRY(set_one(cx, v, made[i]));
            continue;
        }
        const bool is_list = made[i].kind == KILN_ATEN_LIST;
        const kiln_aten_value *const list = is_list ? made[i].list : made + i;
        const size_t count = is_list ? made[i].n : n - i;
        size_t at = 0;
        if (kiln_json_size(v) > count)
            return kiln_pt2_fail(cx, KILN_ERR_PARSE,
                                 "the node has %zu outputs, its call gives %zu",
                                 kiln_json_size(v), count);
        for (const kiln_json *o = kiln_json_first(v); o != NULL; o = kiln_json_next(o))
            KILN_TRY(set_one(cx, o, list[at++]));
    }
    return KILN_OK;
}

static kiln_status run_graph(kiln_pt2_cx *cx, const kiln_json *node, const call *c,
                             int depth) {
    const kiln_map outer = cx->value, views = cx->view;
    const kiln_json *const in = kiln_json_get(c->graph, "inputs");
    const kiln_json *const out = kiln_json_get(c->graph, "outputs");
    const size_t n_out = kiln_json_size(out);
    const char *tag;
    size_t i = 0;
    cx->value = cx->view = (kiln_map){.n_slots = 0};
    if (kiln_json_size(in) != c->n)
        return kiln_pt2_fail(cx, KILN_ERR_PARSE,
                             "the graph inside has %zu inputs, gets %zu",
                             kiln_json_size(in), c->n);
    for (const kiln_json *j = kiln_json_first(in); j != NULL; j = kiln_json_next(j))
        KILN_TRY(set_one(cx, kiln_pt2_union(j, &tag), c->arg[i++]));
    KILN_TRY(kiln_pt2_run_nodes(cx, c->graph, depth + 1));
    kiln_aten_value *const made =
        kiln_array(&cx->common.scratch, kiln_aten_value, n_out);
    i = 0;
    for (const kiln_json *j = kiln_json_first(out); j != NULL; j = kiln_json_next(j))
        KILN_TRY(kiln_pt2_argument(cx, j, &made[i++]));
    cx->value = outer;
    cx->view = views;
    return set_outputs(cx, node, made, n_out);
}

/* An element of a list; programs before 2.2 have them as nodes. */
static kiln_status run_getitem(kiln_pt2_cx *cx, const kiln_json *node, const call *c) {
    if (c->n != 2 || c->arg[0].kind != KILN_ATEN_LIST ||
        c->arg[1].kind != KILN_ATEN_INT || c->arg[1].i < 0 ||
        (uint64_t)c->arg[1].i >= c->arg[0].n)
        return kiln_pt2_fail(cx, KILN_ERR_PARSE, "getitem takes a list and a place");
    return set_outputs(cx, node, &c->arg[0].list[c->arg[1].i], 1);
}

/* as_strided reads memory as it lies: its operand's strides are the file's to say. */
static kiln_status add_strides(kiln_pt2_cx *cx, const kiln_json *graph, call *c) {
    kiln_aten_value *const v =
        kiln_array(&cx->common.scratch, kiln_aten_value, KILN_MAX_RANK);
    const kiln_json *const meta =
        kiln_json_get(kiln_json_get(graph, "tensor_values"), c->first);
    const kiln_json *j = kiln_json_first(kiln_json_get(meta, "strides"));
    size_t n = 0;
    const char *tag;
    for (; j != NULL && n < KILN_MAX_RANK; j = kiln_json_next(j)) {
        int64_t stride;
        if (!kiln_json_i64(kiln_pt2_union(j, &tag), &stride))
            return KILN_OK; /* open: the operator says so */
        v[n++] = kiln_aten_of_int(stride);
    }
    if (c->n < MAX_ARGS && n > 0)
        c->keyword[c->n++] =
            (kiln_aten_keyword){KILN_STR_LIT("self_stride"), kiln_aten_of_list(v, n)};
    return KILN_OK;
}

static kiln_status run_operator(kiln_pt2_cx *cx, const kiln_json *node,
                                const kiln_pt2_site *site, const call *c) {
    const kiln_str op = kiln_str_from(target_of(node));
    const char *const name = first_output(node);
    kiln_aten_value out[KILN_ATEN_MAX_OUT];
    size_t n = 0;
    const kiln_aten_call spec = {
        .op = op, .site = site, .keyword = c->keyword, .n_keyword = c->n};
    KILN_TRY(kiln_aten_run(&cx->common, &spec, out, &n));
    KILN_TRY(set_outputs(cx, node, out, n));
    if (c->first == NULL || n == 0)
        return KILN_OK;
    if (kiln_aten_writes(op))
        return kiln_pt2_write(cx, c->first, name, &out[0]);
    if (kiln_aten_is_view(op))
        return kiln_pt2_add_views(cx, &spec, c->first, node);
    return KILN_OK;
}

static kiln_status run_node(kiln_pt2_cx *cx, const kiln_json *graph,
                            const kiln_json *node, int depth,
                            const kiln_pt2_site *site) {
    const char *const target = target_of(node);
    call c;
    if (--cx->nodes_left < 0)
        return kiln_pt2_fail(cx, KILN_ERR_LIMIT, "a program may make %d calls",
                             KILN_PT2_MAX_NODES);
    KILN_TRY(read_call(cx, node, &c));
    if (strcmp(target, "torch.ops.aten.as_strided.default") == 0 && c.first != NULL)
        KILN_TRY(add_strides(cx, graph, &c));
    if (is_wrapper(target) && c.graph != NULL)
        return run_graph(cx, node, &c, depth);
    if (strcmp(target, "_operator.getitem") == 0)
        return run_getitem(cx, node, &c);
    if (!kiln_pt2_is_symbolic(target))
        return run_operator(cx, node, site, &c);
    kiln_aten_value out;
    KILN_TRY(kiln_pt2_run_symbolic(cx, target, c.arg, c.n, &out));
    return set_outputs(cx, node, &out, 1);
}

kiln_status kiln_pt2_run_nodes(kiln_pt2_cx *cx, const kiln_json *graph, int depth) {
    const kiln_json *const nodes = kiln_json_get(graph, "nodes");
    if (depth > KILN_PT2_MAX_DEPTH)
        return kiln_pt2_fail(cx, KILN_ERR_LIMIT, "graphs may lie %d deep in graphs",
                             KILN_PT2_MAX_DEPTH);
    for (const kiln_json *j = kiln_json_first(nodes); j != NULL;
         j = kiln_json_next(j)) {
        if (is_idle_draw(graph, j))
            continue;
        kiln_pt2_site *const site = kiln_new(&cx->common.scratch, kiln_pt2_site);
        *site = (kiln_pt2_site){
            .name = kiln_import_show(&cx->common, kiln_str_from(name_of(j))),
            .op = kiln_import_show(&cx->common, kiln_str_from(target_of(j)))};
        const kiln_status st = run_node(cx, graph, j, depth, site);
        if (st != KILN_OK) {
            kiln_note(cx->common.err, "importing node '%s' (%s)", site->name, site->op);
            return st;
        }
        cx->report->n_imported++;
    }
    return KILN_OK;
}
