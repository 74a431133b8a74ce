/* From a packed type to the program that packs. */
#include "compiler/network/network_pack.h"

#include "compiler/network/network_choose.h"

bool kiln_pack_computes(const kiln_type *t) { return t->layout.winograd != 0; }

kiln_status kiln_pack_graph(kiln_arena *a, const kiln_type *from, const kiln_layout *to,
                            kiln_graph **out, kiln_err *err) {
    kiln_graph *g = kiln_graph_new(a, "convert");
    kiln_node *node = NULL;
    kiln_value *x = kiln_graph_add_input(g, "x", from);
    const kiln_node_spec spec = {.op = &kiln_op_identity, .in = &x, .n_in = 1};
    KILN_TRY(kiln_graph_add_node(g, &spec, &node, err));
    node->out[0]->type.layout = *to;
    kiln_graph_add_output(g, node->out[0], "y");
    *out = g;
    return KILN_OK;
}

static kiln_status program_of(kiln_arena *a, const kiln_type *t, const kiln_profile *p,
                              const char *name, kiln_program **out, kiln_err *err) {
    static const kiln_choose_options by_rule = {.tmpl = NULL};
    const kiln_type plain = kiln_type_make(t->dtype, t->rank, t->dim);
    kiln_graph *g = NULL;
    kiln_op_work work;
    kiln_choice c;
    kiln_scheduled s;
    KILN_TRY(kiln_pack_graph(a, &plain, &t->layout, &g, err));
    KILN_TRY(kiln_op_work_of(a, g->name, g, &work, err));
    KILN_TRY(kiln_choose(a, &work, p, &by_rule, &c, err));
    KILN_TRY(kiln_template_apply(a, c.tmpl, &work.workload, p, &c.space, &c.config, &s,
                                 err));
    /* Who reads constants takes zeros in their tail lanes for granted. */
    if (!kiln_compute_has_zero_tails(&s.te.arg_type[1]))
        return kiln_fail(err, KILN_ERR_BUG,
                         "template '%s' leaves tail lanes as they are", c.tmpl->name);
    return kiln_scheduled_program(a, &s, name, out, err);
}

kiln_status kiln_pack_program(kiln_arena *a, const kiln_type *t, const kiln_profile *p,
                              const char *name, kiln_program **out, kiln_err *err) {
    const kiln_status st = program_of(a, t, p, name, out, err);
    if (st != KILN_OK)
        kiln_note(err, "packing a constant as %s", kiln_type_text(a, t));
    return st;
}
