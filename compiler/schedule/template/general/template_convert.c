/* convert: a value is brought from one layout into another. It is an identity, scheduled
 * as `generic` does it by its rules alone; but its knobs say how both sides lie, so that
 * each pair of layouts is a configuration, and can be measured as work of its own. No
 * build chooses it: who makes a network puts identities with two layouts between steps,
 * and asks what they cost. */
#include "compiler/schedule/template/template_rules.h"

enum { FROM, TO };

static const int64_t blocks[] = {1, 2, 4, 8, 16, 32, 64};
enum { N_BLOCKS = sizeof blocks / sizeof blocks[0] };

/* Row-major, or channels in blocks of one size: what the knobs can say. */
static bool is_said(const kiln_type *t) {
    const kiln_layout *l = &t->layout;
    return kiln_layout_is_plain(l) ||
           (l->n_order == 0 && l->n_blocks == 1 && l->block[0].axis == 1 &&
            l->block[0].size <= blocks[N_BLOCKS - 1]);
}

static bool fits(const kiln_workload *w, const kiln_profile *p) {
    const kiln_node *n = w->anchor;
    (void)p;
    return n->op == &kiln_op_identity && w->graph->nodes.n == 1 &&
           n->in[0]->type.rank >= 3 && !kiln_value_is_const(n->in[0]) &&
           is_said(&n->in[0]->type) && is_said(&n->out[0]->type);
}

static bool pays(const kiln_workload *w, const kiln_profile *p) {
    (void)w;
    (void)p;
    return false;
}

static kiln_status space(const kiln_workload *w, const kiln_profile *p, kiln_space *s,
                         kiln_err *err) {
    (void)w;
    (void)p;
    (void)err;
    kiln_space_add_ints(s, "from", "channels next to each other where it is read",
                        blocks, N_BLOCKS);
    kiln_space_add_ints(s, "to", "channels next to each other where it is written",
                        blocks, N_BLOCKS);
    return KILN_OK;
}

static int64_t block_of(const kiln_value *v) {
    return v->type.layout.n_blocks > 0 ? v->type.layout.block[0].size : 1;
}

/* As its values lie. */
static kiln_config guess(const kiln_workload *w, const kiln_profile *p,
                         const kiln_space *s) {
    kiln_config c = {.n = s->n};
    const int64_t from = block_of(w->anchor->in[0]), to = block_of(w->anchor->out[0]);
    (void)p;
    kiln_config_set(s, &c, FROM, &from);
    kiln_config_set(s, &c, TO, &to);
    return c;
}

static kiln_layout layout_of(int64_t block) {
    return block > 1 ? (kiln_layout){.n_blocks = 1,
                                     .block = {{.axis = 1, .size = (int32_t)block}}}
                     : (kiln_layout){.n_order = 0};
}

static kiln_status apply(kiln_arena *a, const kiln_workload *w, const kiln_profile *p,
                         const kiln_space *s, const kiln_config *c, kiln_scheduled *out,
                         kiln_err *err) {
    kiln_scheduled made = {.loop = {.max_unroll = 1024, .keep_large_loops = true}};
    const kiln_rules rules = {.parallel = kiln_rules_want_threads(w, p)};
    kiln_layout *layout = kiln_array(a, kiln_layout, w->graph->values.n);
    layout[w->anchor->in[0]->id] = layout_of(kiln_config_int(s, c, FROM, 0));
    layout[w->anchor->out[0]->id] = layout_of(kiln_config_int(s, c, TO, 0));
    KILN_TRY(kiln_rules_begin(a, w, layout, &made, err));
    KILN_TRY(kiln_rules_apply(made.schedule, p, &rules, err));
    *out = made;
    return KILN_OK;
}

static const char *const layout_knobs[] = {"from", "to", NULL};

const kiln_template kiln_template_convert = {
    .name = "convert",
    .doc = "a value in another layout, as work that is measured by itself",
    .takes = KILN_TAKES_ITS_OWN,
    .layout_knobs = layout_knobs,
    .fits = fits,
    .pays = pays,
    .space = space,
    .guess = guess,
    .apply = apply,
};
