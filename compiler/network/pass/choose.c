/* choose: each call gets a template and a configuration, from a file, by an oracle's
 * costs, or by the template's own rule. Works are asked for as they are row-major:
 * layouts follow from what is chosen. */
#include "compiler/network/executable_internal.h"

static kiln_status choose(kiln_net *n, kiln_arena *scratch, kiln_net_step *step,
                          kiln_err *err) {
    kiln_op_work work;
    kiln_choice c;
    kiln_buf text;
    kiln_graph *part = kiln_group_graph(scratch, step->g, step->group, NULL);
    if (part->outputs.n == 0)
        return KILN_OK; /* nobody reads it */
    KILN_TRY(kiln_op_work_of(scratch, part->name, part, &work, err));
    KILN_TRY(
        kiln_choose(scratch, &work, n->profile, kiln_net_choose_options(n), &c, err));
    kiln_net_choice *choice = kiln_new(n->arena, kiln_net_choice);
    kiln_buf_init(&text, n->arena);
    kiln_config_json(&text, c.tmpl, &c.space, &c.config);
    *choice = (kiln_net_choice){.tmpl = c.tmpl,
                                .config = c.config,
                                .origin = c.origin,
                                .n_tried = c.n_tried,
                                .text = text.p};
    step->choice = choice;
    return KILN_OK;
}

static kiln_status run(kiln_net *n, kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_status st = KILN_OK;
    for (size_t i = 0; i < n->step.n && st == KILN_OK; i++) {
        kiln_net_step *step = &n->step.v[i];
        if (step->kind != KILN_NET_CALL)
            continue;
        st = kiln_interrupt_check(err);
        if (st == KILN_OK)
            st = choose(n, &scratch, step, err);
        if (st != KILN_OK)
            kiln_note(err, "compiling the group of node '%s'",
                      step->group->node[0]->name);
        kiln_arena_reset(&scratch);
    }
    kiln_arena_fini(&scratch);
    return st;
}

const kiln_net_pass kiln_net_pass_choose = {
    .name = "choose",
    .doc = "each call gets its template and configuration",
    .needs = KILN_NET_FUSED,
    .makes = KILN_NET_CHOSEN,
    .run = run,
};
