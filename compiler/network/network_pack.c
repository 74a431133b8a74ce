/* From a constant to the program that packs it. */
#include "compiler/network/network_pack.h"

#include "compiler/network/network_choose.h"

kiln_packing kiln_packing_of(const kiln_type *constant, const kiln_op_def *by,
                             const kiln_type *to) {
    return (kiln_packing){
        kiln_type_make(constant->dtype, constant->rank, constant->dim), by, *to};
}

const char *kiln_packing_text(kiln_arena *a, const kiln_packing *k) {
    return kiln_format(a, "%s%s%s to %s", kiln_type_text(a, &k->from),
                       k->by != NULL ? " by " : "", k->by != NULL ? k->by->name : "",
                       kiln_type_text(a, &k->to));
}

kiln_status kiln_pack_graph(kiln_arena *a, const kiln_type *from, const kiln_op_def *by,
                            const kiln_layout *to, kiln_graph **out, kiln_err *err) {
    kiln_graph *g = kiln_graph_new(a, "convert");
    kiln_node *node = NULL;
    kiln_value *x = kiln_graph_add_input(g, "x", from);
    const kiln_node_spec spec = {
        .op = by != NULL ? by : &kiln_op_identity, .in = &x, .n_in = 1};
    KILN_TRY(kiln_graph_add_node(g, &spec, &node, err));
    node->out[0]->type.layout = *to;
    kiln_graph_add_output(g, node->out[0], "y");
    *out = g;
    return KILN_OK;
}

static kiln_status program_of(kiln_arena *a, const kiln_packing *k,
                              const kiln_profile *p, const char *name,
                              kiln_program **out, kiln_err *err) {
    static const kiln_choose_options by_rule = {.tmpl = NULL};
    kiln_graph *g = NULL;
    kiln_op_work work;
    kiln_choice c;
    kiln_scheduled s;
    KILN_TRY(kiln_pack_graph(a, &k->from, k->by, &k->to.layout, &g, err));
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

kiln_status kiln_pack_program(kiln_arena *a, const kiln_packing *k,
                              const kiln_profile *p, const char *name,
                              kiln_program **out, kiln_err *err) {
    const kiln_status st = program_of(a, k, p, name, out, err);
    if (st != KILN_OK)
        kiln_note(err, "packing a constant as %s", kiln_type_text(a, &k->to));
    return st;
}
