/* Workloads, layouts and stages of what has its channels in blocks: see blocked.h. */
#include "compiler/schedule/template/blocked.h"

#include <string.h>

bool kiln_ends_element_wise(const kiln_workload *w) {
    const kiln_graph *g = w->graph;
    const kiln_type *y = &w->anchor->out[0]->type;
    if (g->outputs.n != 1 || g->outputs.v[0]->def == NULL || kiln_type_elems(y) == 0)
        return false;
    for (size_t i = 0; i < g->nodes.n; i++) {
        const kiln_node *n = g->nodes.v[i];
        if (n != w->anchor &&
            (!kiln_is_elementwise(n) || !kiln_type_same_shape(&n->out[0]->type, y)))
            return false;
    }
    return true;
}

bool kiln_attr_is_all(const kiln_attr *a, int64_t v) {
    for (size_t i = 0; i < a->n; i++)
        if (a->ints[i] != v)
            return false;
    return true;
}

bool kiln_pads_any(const kiln_node *n) {
    return !kiln_attr_is_all(kiln_node_attr(n, "pads"), 0);
}

void kiln_layout_add_block(kiln_layout *l, int axis, int64_t size) {
    if (size > 1)
        l->block[l->n_blocks++] =
            (kiln_block){.axis = (uint8_t)axis, .size = (int32_t)size};
}

kiln_layout *kiln_blocked_layouts(kiln_arena *a, const kiln_graph *g,
                                  const kiln_node *anchor, int64_t x_block,
                                  int64_t y_block) {
    const kiln_type *y = &g->values.v[anchor->out[0]->id]->type;
    kiln_layout *layout = kiln_array(a, kiln_layout, g->values.n);
    for (size_t i = 0; i < g->values.n; i++)
        if (kiln_type_same_shape(&g->values.v[i]->type, y))
            kiln_layout_add_block(&layout[i], 1, y_block);
    for (int i = 0; i < anchor->n_in; i++)
        if (anchor->in[i] != NULL)
            layout[anchor->in[i]->id] = (kiln_layout){.n_blocks = 0};
    kiln_layout_add_block(&layout[anchor->in[0]->id], 1, x_block);
    return layout;
}

void kiln_space_add_blocks(kiln_space *s, int64_t o, int64_t c, int64_t lanes,
                           int64_t least) {
    static const int64_t powers[] = {2, 4, 8, 16, 32, 64};
    enum { N_POWERS = sizeof powers / sizeof powers[0] };
    int64_t ic[N_POWERS + 1];
    int n = 0;
    for (int i = 0; i <= N_POWERS; i++) {
        const int64_t block = i == 0 ? 1 : powers[i - 1];
        if (block == least ||
            (block > least && block <= lanes && (block == 2 || block / 2 < c)))
            ic[n++] = block;
    }
    kiln_space_add_up_to(s, "oc_block", "output channels of a block", powers, N_POWERS,
                         o < lanes ? o : lanes);
    kiln_space_add_ints(s, "ic_block", "input channels of a block", ic, n);
}

kiln_status kiln_blocked_stages_of(kiln_schedule *s, const char *tag,
                                   kiln_blocked_stages *out, kiln_err *err) {
    kiln_blocked_stages found = {.y = NULL};
    for (size_t i = 0; i < s->stage.n; i++) {
        kiln_stage *st = s->stage.v[i];
        if (strcmp(st->te->tag, tag) == 0)
            found.anchor = st;
        if (strcmp(st->te->tag, "pad") == 0)
            found.pad = st;
        if (strcmp(st->te->tag, "x_sum") == 0)
            found.x_sum = st;
        if (st->is_output)
            found.y = st;
    }
    KILN_ASSERT(found.anchor != NULL && found.y != NULL,
                "a workload without a stage '%s'", tag);
    if (found.anchor == found.y)
        KILN_TRY(kiln_cache_write(found.y, KILN_SCOPE_REGISTER, &found.anchor, err));
    for (size_t i = 0; i < s->stage.n; i++) {
        kiln_stage *st = s->stage.v[i];
        if (st != found.y && st != found.anchor && st != found.pad && st != found.x_sum)
            KILN_TRY(kiln_compute_inline(st, err));
    }
    if (found.x_sum != NULL)
        KILN_TRY(kiln_set_scope(found.x_sum, KILN_SCOPE_REGISTER, err));
    KILN_TRY(kiln_set_scope(found.anchor, KILN_SCOPE_REGISTER, err));
    *out = found;
    return KILN_OK;
}

kiln_status kiln_tagged_stages(kiln_schedule *s, const kiln_tagged_stage *named,
                               size_t n, kiln_stage **output, kiln_err *err) {
    for (size_t i = 0; i < s->stage.n; i++) {
        kiln_stage *st = s->stage.v[i];
        bool is_named = false;
        for (size_t t = 0; t < n; t++)
            if (strcmp(st->te->tag, named[t].tag) == 0) {
                *named[t].stage = st;
                is_named = true;
            }
        if (st->is_output)
            *output = st;
        else if (!is_named)
            KILN_TRY(kiln_compute_inline(st, err));
    }
    return KILN_OK;
}
