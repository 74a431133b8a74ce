/* Topological order of an ONNX graph's nodes. Files should be sorted already; those
 * that are not are sorted here, keeping the file's order wherever it is one. A
 * depth-first walk with an explicit stack (chains of 10^5 nodes are normal): Tarjan,
 * "Depth-first search and linear graph algorithms", 1972. */
#include "compiler/frontend/onnx/import_core.h"
#include "base/numbers.h"

typedef struct deps {
    kiln_onnx_cx *cx;
    kiln_numbers producer; /* name -> node index + 1 */
    KILN_VEC(size_t) list; /* of the node being looked at */
} deps;

/* Names that the subgraphs around a name define themselves. */
typedef struct locals {
    const struct locals *up;
    kiln_map names;
} locals;

static void add_dep(deps *d, kiln_str name, const locals *hidden) {
    if (name.n == 0)
        return;
    for (; hidden != NULL; hidden = hidden->up)
        if (kiln_map_has(&hidden->names, name))
            return;
    const size_t at = kiln_numbers_get(&d->producer, name);
    if (at != 0)
        kiln_vec_push(&d->cx->common.scratch, &d->list, at - 1);
}

static void add_local(deps *d, locals *l, kiln_str name) {
    kiln_map_set(&d->cx->common.scratch, &l->names, name, NULL);
}

static void add_node_deps(deps *d, const kiln_onnx_node *n, const locals *hidden);

/* A subgraph depends on what it uses but does not define. The reader's depth limit
 * bounds this. */
static void add_graph_deps(deps *d, const kiln_onnx_graph *g, const locals *hidden) {
    locals own = {.up = hidden};
    for (size_t i = 0; i < g->n_input; i++)
        add_local(d, &own, g->input[i].name);
    for (size_t i = 0; i < g->n_initializer; i++)
        add_local(d, &own, g->initializer[i].name);
    for (size_t i = 0; i < g->n_node; i++)
        for (size_t k = 0; k < g->node[i].n_output; k++)
            add_local(d, &own, g->node[i].output[k]);
    for (size_t i = 0; i < g->n_node; i++)
        add_node_deps(d, &g->node[i], &own);
    for (size_t i = 0; i < g->n_output; i++)
        add_dep(d, g->output[i].name, &own);
}

static void add_node_deps(deps *d, const kiln_onnx_node *n, const locals *hidden) {
    for (size_t i = 0; i < n->n_input; i++)
        add_dep(d, n->input[i], hidden);
    for (size_t i = 0; i < n->n_attribute; i++)
        if (n->attribute[i].g != NULL)
            add_graph_deps(d, n->attribute[i].g, hidden);
}

static kiln_status find_producers(deps *d, const kiln_onnx_node *node, size_t n) {
    kiln_onnx_cx *const cx = d->cx;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < node[i].n_output; k++) {
            const kiln_str name = node[i].output[k];
            if (name.n == 0)
                continue;
            const char *other = NULL;
            const size_t at = kiln_numbers_get(&d->producer, name);
            if (at != 0)
                other = kiln_format(&cx->common.scratch, "node %s",
                                    kiln_onnx_show_node(cx, &node[at - 1]));
            else if (kiln_map_has(&cx->scope->values, name))
                other = "an input of the graph";
            else if (kiln_map_has(&cx->scope->tensors, name))
                other = "an initializer";
            if (other != NULL)
                return kiln_onnx_fail(cx, KILN_ERR_PARSE,
                                      "value '%s' must be defined once, but node %s "
                                      "and %s define it; give "
                                      "one of them another name",
                                      kiln_onnx_show(cx, name),
                                      kiln_onnx_show_node(cx, &node[i]), other);
            kiln_numbers_set(&cx->common.scratch, &d->producer, name, i + 1);
        }
    return KILN_OK;
}

/* The walk's stack: a node and how many of its dependencies are done. */
typedef struct step {
    size_t node, next, n_deps;
    const size_t *deps;
} step;

typedef struct walk {
    deps d;
    const kiln_onnx_node *node;
    unsigned char *state; /* per node: 0 not seen, 1 on the stack, 2 done */
    KILN_VEC(step) stack;
    size_t *order;
    size_t n_done;
} walk;

static void push(walk *w, size_t i) {
    kiln_arena *const a = &w->d.cx->common.scratch;
    w->d.list.n = 0;
    add_node_deps(&w->d, &w->node[i], NULL);
    const step s = {.node = i,
                    .n_deps = w->d.list.n,
                    .deps = kiln_arena_dup(a, w->d.list.v == NULL ? &i : w->d.list.v,
                                           w->d.list.n * sizeof(size_t))};
    w->state[i] = 1;
    kiln_vec_push(a, &w->stack, s);
}

static kiln_status refuse_cycle(walk *w, size_t first) {
    enum { MAX_NAMES = 8 };
    kiln_onnx_cx *const cx = w->d.cx;
    kiln_buf text;
    kiln_buf_init(&text, &cx->common.scratch);
    size_t i = 0;
    while (w->stack.v[i].node != first)
        i++;
    const size_t len = w->stack.n - i;
    for (size_t k = 0; k < len && k < MAX_NAMES; k++)
        kiln_buf_printf(&text, "%s%s", k == 0 ? "" : ", ",
                        kiln_onnx_show_node(cx, &w->node[w->stack.v[i + k].node]));
    return kiln_onnx_fail(
        cx, KILN_ERR_PARSE,
        "nodes must not form a cycle, but these %zu do: %s%s; a model "
        "that feeds values back needs a Loop or Scan",
        len, kiln_buf_str(&text).p, len > MAX_NAMES ? ", ..." : "");
}

static kiln_status visit(walk *w, size_t root) {
    push(w, root);
    while (w->stack.n > 0) {
        step *const s = &w->stack.v[w->stack.n - 1];
        if (s->next == s->n_deps) {
            w->state[s->node] = 2;
            w->order[w->n_done++] = s->node;
            w->stack.n--;
            continue;
        }
        const size_t dep = s->deps[s->next++];
        if (w->state[dep] == 1)
            return refuse_cycle(w, dep);
        if (w->state[dep] == 0)
            push(w, dep);
    }
    return KILN_OK;
}

kiln_status kiln_onnx_order(kiln_onnx_cx *cx, const kiln_onnx_node *node, size_t n,
                            const size_t **order) {
    KILN_ASSERT(n == 0 || node != NULL, "an order of %zu nodes", n);
    walk w = {.d = {.cx = cx}, .node = node};
    w.state = kiln_array(&cx->common.scratch, unsigned char, n);
    w.order = kiln_array(&cx->common.scratch, size_t, n);
    KILN_TRY(find_producers(&w.d, node, n));
    for (size_t i = 0; i < n; i++)
        if (w.state[i] == 0)
            KILN_TRY(visit(&w, i));
    *order = w.order;
    return KILN_OK;
}
