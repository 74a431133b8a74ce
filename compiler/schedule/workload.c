/* Workloads: the anchor of a fused group, and its canonical text. */
#include "compiler/schedule/template.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

kiln_status kiln_workload_of(const kiln_graph *g, kiln_workload *out, kiln_err *err) {
    const kiln_node *anchor = NULL;
    for (size_t i = 0; i < g->nodes.n; i++) {
        const kiln_node *n = g->nodes.v[i];
        if (n->op->compute == NULL)
            return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                             "operator '%s' of node '%s' has no tensor expression, so "
                             "no kernel can be made of it",
                             n->op->name, n->name);
        if (n->op->fuse == KILN_FUSE_INJECTIVE)
            continue;
        if (anchor != NULL)
            return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                             "a workload has one node that is not injective, this "
                             "graph has '%s' and '%s'",
                             anchor->name, n->name);
        anchor = n;
    }
    if (g->nodes.n == 0)
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         "graph '%s' has no node: there is no work in it", g->name);
    if (anchor == NULL)
        anchor = g->nodes.v[g->nodes.n - 1];
    *out = (kiln_workload){.graph = g, .anchor = anchor};
    return KILN_OK;
}

/* ---- key ------------------------------------------------------------------------- */

typedef struct key {
    kiln_buf *out;
    int *number; /* by value id; 0: not seen yet, else its number + 1 */
    int n;
} key;

/* Lists of windows (op/op_window.h) that say the same as an empty one when every element
 * is this. */
static const struct {
    const char *name;
    int64_t neutral;
} neutral_lists[] = {
    {"strides", 1}, {"dilations", 1}, {"pads", 0}, {"output_padding", 0}};

static bool is_neutral_list(const kiln_attr_def *def, const kiln_attr *a) {
    for (size_t i = 0; i < sizeof neutral_lists / sizeof neutral_lists[0]; i++) {
        if (strcmp(neutral_lists[i].name, def->name) != 0)
            continue;
        for (size_t j = 0; j < a->n; j++)
            if (a->ints[j] != neutral_lists[i].neutral)
                return false;
        return true;
    }
    return a->n == 0;
}

/* -0 is not 0, and a NaN is itself. */
static uint64_t bits_of(double v) {
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static bool is_default(const kiln_attr_def *def, const kiln_attr *a) {
    switch (def->kind) {
    case KILN_ATTR_INT:
    case KILN_ATTR_BOOL:
    case KILN_ATTR_WORD:
    case KILN_ATTR_DTYPE:
        return !def->is_required && a->i == def->default_i;
    case KILN_ATTR_FLOAT:
        return !def->is_required && bits_of(a->f) == bits_of(def->default_f);
    case KILN_ATTR_INTS:
        return is_neutral_list(def, a);
    case KILN_ATTR_FLOATS:
    case KILN_ATTR_WORDS:
        return a->n == 0;
    case KILN_ATTR_GRAPH:
        return a->graph == NULL;
    }
    return false;
}

static void put_element(kiln_buf *out, const kiln_attr_def *def, const kiln_attr *a,
                        size_t i) {
    if (def->kind == KILN_ATTR_FLOATS)
        kiln_buf_printf(out, "%a", a->floats[i]);
    else if (def->kind == KILN_ATTR_WORDS)
        kiln_buf_puts(out, def->choices[a->ints[i]]);
    else
        kiln_buf_printf(out, "%" PRId64, a->ints[i]);
}

static void put_attr(kiln_buf *out, const kiln_attr_def *def, const kiln_attr *a) {
    kiln_buf_printf(out, "%s=", def->name);
    switch (def->kind) {
    case KILN_ATTR_INT:
    case KILN_ATTR_BOOL:
        kiln_buf_printf(out, "%" PRId64, a->i);
        return;
    case KILN_ATTR_FLOAT:
        kiln_buf_printf(out, "%a", a->f);
        return;
    case KILN_ATTR_WORD:
        kiln_buf_puts(out, def->choices[a->i]);
        return;
    case KILN_ATTR_DTYPE:
        kiln_buf_puts(out, kiln_dtype_name((kiln_dtype)a->i));
        return;
    case KILN_ATTR_INTS:
    case KILN_ATTR_FLOATS:
    case KILN_ATTR_WORDS:
        kiln_buf_puts(out, "[");
        for (size_t i = 0; i < a->n; i++) {
            kiln_buf_puts(out, i > 0 ? "," : "");
            put_element(out, def, a, i);
        }
        kiln_buf_puts(out, "]");
        return;
    case KILN_ATTR_GRAPH: /* operators with regions have no compute: no workload */
        KILN_ASSERT(false, "attribute '%s' is a region", def->name);
    }
}

/* "%3", and at its first appearance what it is: logical shape and dtype only. */
static void put_value(key *k, const kiln_value *v) {
    if (v == NULL) {
        kiln_buf_puts(k->out, "_");
        return;
    }
    int *number = &k->number[v->id];
    if (*number != 0) {
        kiln_buf_printf(k->out, "%%%d", *number - 1);
        return;
    }
    *number = ++k->n;
    kiln_buf_printf(k->out, "%%%d: %s%s[", *number - 1, v->data != NULL ? "const " : "",
                    kiln_dtype_name(v->type.dtype));
    for (int i = 0; i < v->type.rank; i++)
        kiln_buf_printf(k->out, "%s%" PRId64, i > 0 ? "," : "", v->type.dim[i]);
    kiln_buf_puts(k->out, "]");
}

/* Results get their numbers behind the arguments. */
static void put_node(key *k, const kiln_node *n) {
    kiln_buf_puts(k->out, n->op->name);
    bool is_first = true;
    for (size_t i = 0; i < n->op->n_attr; i++) {
        if (is_default(&n->op->attr[i], &n->attr[i]))
            continue;
        kiln_buf_puts(k->out, is_first ? "{" : ",");
        put_attr(k->out, &n->op->attr[i], &n->attr[i]);
        is_first = false;
    }
    kiln_buf_puts(k->out, is_first ? "(" : "}(");
    for (int i = 0; i < n->n_in; i++) {
        kiln_buf_puts(k->out, i > 0 ? ", " : "");
        put_value(k, n->in[i]);
    }
    kiln_buf_puts(k->out, ")");
    for (int i = 0; i < n->n_out; i++)
        k->number[n->out[i]->id] = ++k->n;
}

/* Nodes that outputs depend on, arguments first, in an order that follows from the
 * outputs alone. Without recursion: graphs may be deep. */
static size_t ordered_nodes(kiln_arena *a, const kiln_graph *g,
                            const kiln_node **order) {
    typedef struct frame {
        const kiln_node *node;
        int next;
    } frame;
    frame *stack = kiln_array(a, frame, g->nodes.n + 1);
    bool *seen = kiln_array(a, bool, g->values.n); /* by id of a node's output 0 */
    size_t n = 0;
    for (size_t o = 0; o < g->outputs.n; o++) {
        size_t depth = 0;
        const kiln_node *root = g->outputs.v[o]->def;
        if (root != NULL && !seen[root->out[0]->id]) {
            seen[root->out[0]->id] = true;
            stack[depth++] = (frame){.node = root};
        }
        while (depth > 0) {
            frame *f = &stack[depth - 1];
            if (f->next == f->node->n_in) {
                order[n++] = f->node;
                depth--;
                continue;
            }
            const kiln_value *v = f->node->in[f->next++];
            if (v == NULL || v->def == NULL || seen[v->def->out[0]->id])
                continue;
            seen[v->def->out[0]->id] = true;
            stack[depth++] = (frame){.node = v->def};
        }
    }
    return n;
}

void kiln_workload_key(kiln_buf *out, const kiln_workload *w, bool anchor_only) {
    KILN_ASSERT(w->anchor != NULL, "workload '%s' has no anchor", w->graph->name);
    kiln_arena scratch = {0};
    const kiln_graph *g = w->graph;
    key k = {.out = out, .number = kiln_array(&scratch, int, g->values.n)};
    if (anchor_only) {
        put_node(&k, w->anchor);
        kiln_arena_fini(&scratch);
        return;
    }
    const kiln_node **order = kiln_array(&scratch, const kiln_node *, g->nodes.n + 1);
    const size_t n = ordered_nodes(&scratch, g, order);
    for (size_t i = 0; i < n; i++) {
        kiln_buf_puts(out, i > 0 ? "; " : "");
        put_node(&k, order[i]);
    }
    for (size_t o = 0; o < g->outputs.n; o++) {
        kiln_buf_puts(out, o == 0 ? " -> " : ", ");
        put_value(&k, g->outputs.v[o]);
    }
    kiln_arena_fini(&scratch);
}
