/* Folding one node by the reference interpreter.
 *
 * A compiler that folds without limits makes a model grow (an expand of a scalar, a
 * value that is concatenated with itself again and again) or never ends (a convolution
 * of constants, a large one reduced over and over); past the limits below the node is
 * left for run time, where it is right all the same. What one model may have grows with
 * the constants that it came with, and is one budget for all its regions and passes: a
 * file of a kilobyte gets no gigabytes. No clock decides: the same model folds the same
 * everywhere. */
#include "compiler/pass/meaning.h"
#include "compiler/pass/pass_internal.h"
#include "compiler/reference/reference.h"

#include <string.h>

enum {
    FREE_BYTES =
        16 << 20,     /* outputs up to this size are folded whatever the inputs are */
    TIMES_INPUTS = 2, /* larger ones may have this many times the inputs' bytes */
    /* Of all constants that are made, also those that only lead to others: they stay as
     * long as the model does. With them, so many times the model's own. */
    MAX_MADE_BYTES = 256 << 20,
    TIMES_MADE = 8,
    /* The reference computes in 8 bytes an element: of what one node reads and makes.
     */
    MAX_WIDE_BYTES = 512 << 20,
    TIMES_WIDE = 32, /* i8 to i8 takes 16 bytes for each of a constant's */
    /* Widening and rounding an element takes as long as some operations. */
    ELEM_WORK = 8,
    TIMES_WORK = 64,
};
/* Operations, with ELEM_WORK for each element: some seconds. With them, so many times
 * the bytes of the model's own constants. */
#define MAX_WORK ((int64_t)4 * 1000 * 1000 * 1000)

/* ---- the budget ------------------------------------------------------------------ */

/* Regions share constants with the graph around: each counts once. */
typedef struct census {
    kiln_arena scratch;
    kiln_map seen; /* by address of the data */
    int64_t bytes;
} census;

static void count_constants(census *c, const kiln_graph *g, int depth) {
    for (size_t i = 0; i < g->values.n; i++) {
        const kiln_value *v = g->values.v[i];
        const kiln_str key = {(const char *)&v->data, sizeof v->data};
        if (kiln_value_is_const(v) && kiln_map_set(&c->scratch, &c->seen, key, NULL))
            c->bytes += kiln_type_bytes(&v->type);
    }
    for (size_t i = 0; i < g->nodes.n && depth < KILN_MAX_REGION_DEPTH; i++) {
        const kiln_node *n = g->nodes.v[i];
        for (size_t k = 0; k < n->op->n_attr; k++)
            if (n->op->attr[k].kind == KILN_ATTR_GRAPH && n->attr[k].graph != NULL)
                count_constants(c, n->attr[k].graph, depth + 1);
    }
}

void kiln_fold_budget_init(kiln_fold_budget *b, const kiln_graph *g) {
    census c = {.bytes = 0};
    count_constants(&c, g, 0);
    *b = (kiln_fold_budget){.const_bytes = c.bytes,
                            .made_bytes = MAX_MADE_BYTES + TIMES_MADE * c.bytes,
                            .work = MAX_WORK + TIMES_WORK * c.bytes};
    kiln_arena_fini(&c.scratch);
}

/* ---- folding --------------------------------------------------------------------- */

bool kiln_fold_is_ready(const kiln_node *n) {
    if (n->op->types_only)
        return true;
    for (int k = 0; k < n->n_in; k++)
        if (n->in[k] != NULL && !kiln_value_is_const(n->in[k]))
            return false;
    return true;
}

static bool is_within_limits(const kiln_node *n, kiln_fold_budget *budget) {
    int64_t in_bytes = 0, out_bytes = 0, elems = 0;
    kiln_cost cost;
    for (int k = 0; k < n->n_in && !n->op->types_only; k++)
        if (n->in[k] != NULL) {
            in_bytes += kiln_type_bytes(&n->in[k]->type);
            elems += kiln_type_elems(&n->in[k]->type);
        }
    for (int k = 0; k < n->n_out; k++) {
        if (!kiln_layout_is_plain(&n->out[k]->type.layout))
            return false;
        out_bytes += kiln_type_bytes(&n->out[k]->type);
        elems += kiln_type_elems(&n->out[k]->type);
    }
    if (out_bytes > FREE_BYTES && out_bytes / TIMES_INPUTS > in_bytes)
        return false;
    if (elems >
        (MAX_WIDE_BYTES + TIMES_WIDE * budget->const_bytes) / (int64_t)sizeof(double))
        return false;
    kiln_node_cost(n, &cost);
    const int64_t moving = ELEM_WORK * elems;
    if (out_bytes > budget->made_bytes || moving > budget->work ||
        cost.flops > budget->work - moving)
        return false;
    budget->made_bytes -= out_bytes;
    budget->work -= cost.flops + moving;
    KILN_ASSERT(budget->made_bytes >= 0 && budget->work >= 0,
                "'%s' takes more than there was", n->name);
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
