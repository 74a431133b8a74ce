/* Folding one node by the reference interpreter.
 *
 * A compiler that folds without limits makes a model grow (an expand of a scalar) or
 * never ends (a convolution of constants); past the limits below the node is left for
 * run time. */
#include "compiler/graph/pass/pass_internal.h"
#include "compiler/reference/reference.h"

#include <string.h>

enum {
    FREE_BYTES =
        16 << 20,     /* outputs up to this size are folded whatever the inputs are */
    TIMES_INPUTS = 2, /* larger ones may have this many times the inputs' bytes */
    MAX_GROWN_BYTES = 256 << 20, /* of one graph, all folded nodes together */
};
/* Operations of all folded nodes of one graph together: about ten seconds. */
#define MAX_FLOPS ((int64_t)20 * 1000 * 1000 * 1000)

bool kiln_fold_is_ready(const kiln_node *n) {
    if (n->op->types_only)
        return true;
    for (int k = 0; k < n->n_in; k++)
        if (n->in[k] != NULL && !kiln_value_is_const(n->in[k]))
            return false;
    return true;
}

static bool is_within_limits(const kiln_node *n, kiln_fold_budget *budget) {
    int64_t in_bytes = 0, out_bytes = 0;
    for (int k = 0; k < n->n_in && !n->op->types_only; k++)
        if (n->in[k] != NULL)
            in_bytes += kiln_type_bytes(&n->in[k]->type);
    for (int k = 0; k < n->n_out; k++) {
        if (!kiln_layout_is_plain(&n->out[k]->type.layout))
            return false;
        out_bytes += kiln_type_bytes(&n->out[k]->type);
    }
    if (out_bytes > FREE_BYTES && out_bytes / TIMES_INPUTS > in_bytes)
        return false;
    const int64_t grown = out_bytes > in_bytes ? out_bytes - in_bytes : 0;
    if (budget->grown_bytes + grown > MAX_GROWN_BYTES)
        return false;
    kiln_cost cost;
    kiln_node_cost(n, &cost);
    if (cost.flops > MAX_FLOPS - budget->flops)
        return false;
    budget->flops += cost.flops;
    budget->grown_bytes += grown;
    return true;
}

void kiln_fold_node(kiln_graph *g, const kiln_node *n, kiln_fold_budget *budget,
                    bool *done) {
    *done = false;
    if (!is_within_limits(n, budget)) {
        KILN_LOG(INFO, "fold",
                 "%s '%s' is left for run time: its result is large or dear",
                 n->op->name, n->name);
        return;
    }
    kiln_arena scratch = {0};
    kiln_tensor *in = kiln_array(&scratch, kiln_tensor, n->n_in);
    kiln_tensor *out = kiln_array(&scratch, kiln_tensor, n->n_out);
    for (int k = 0; k < n->n_in && !n->op->types_only; k++) {
        if (n->in[k] == NULL)
            continue;
        in[k].type = n->in[k]->type;
        memcpy(&in[k].data, &n->in[k]->data, sizeof in[k].data); /* only read there */
    }
    kiln_err err = {0};
    if (kiln_ref_eval_node(g->arena, n, in, out, &err) == KILN_OK) {
        for (int k = 0; k < n->n_out; k++) {
            kiln_value *v = n->out[k];
            v->data = out[k].data;
            v->def = NULL;
            v->def_index = 0;
        }
        *done = true;
    } else {
        KILN_LOG(INFO, "fold", "%s '%s' is left for run time: %s", n->op->name, n->name,
                 err.text);
    }
    kiln_arena_fini(&scratch);
}
