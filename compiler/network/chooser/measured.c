/* measured: `search` where somebody measured kernels in other layouts than greedy takes,
 * so that there is something to choose between; else `greedy`. */
#include "compiler/network/chooser/chooser_search_internal.h"

#include <string.h>

static bool differs(const kiln_answers *known, const char *layouts) {
    for (size_t i = 0; i < known->n; i++)
        if (known->v[i].ns > 0 && known->v[i].layouts != NULL &&
            strcmp(known->v[i].layouts, layouts) != 0)
            return true;
    return false;
}

/* Is this step's work known in other layouts, too? */
static kiln_status has_others(kiln_net *n, kiln_arena *scratch,
                              const kiln_net_step *step, const kiln_net_choice *c,
                              bool *out, kiln_err *err) {
    const kiln_oracle *oracle = kiln_net_choose_options(n)->oracle;
    kiln_op_work w;
    kiln_space space;
    kiln_answers known = {.n = 0};
    kiln_graph *part = kiln_group_graph(scratch, step->g, step->group, NULL);
    *out = false;
    KILN_TRY(kiln_op_work_of(scratch, part->name, part, &w, err));
    KILN_TRY(oracle->ask(oracle->user, scratch, &w, n->profile, &known, err));
    if (known.n < 2)
        return KILN_OK;
    kiln_space_init(&space, scratch);
    KILN_TRY(c->tmpl->space(&w.workload, n->profile, &space, err));
    const char *layouts = kiln_work_layouts(scratch, &w.workload, n->profile, c->tmpl,
                                            &space, &c->config);
    *out = layouts != NULL && differs(&known, layouts);
    return KILN_OK;
}

static bool is_tuned(const kiln_net_step *step, const kiln_net_choice *c) {
    return step->group != NULL && c != NULL && c->tmpl != NULL &&
           step->group->anchor != NULL &&
           step->group->anchor->op->fuse == KILN_FUSE_OUT_FUSABLE;
}

static kiln_status is_worth_it(kiln_net *n, const kiln_net_rehearsal *greedy, bool *out,
                               kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_status st = KILN_OK;
    *out = false;
    if (kiln_net_choose_options(n)->oracle == NULL || n->profile->device != NULL)
        return KILN_OK; /* a device's templates have no layouts to choose between */
    for (size_t i = 0; i < n->step.n && st == KILN_OK && !*out; i++) {
        if (is_tuned(&n->step.v[i], greedy->choice[i]))
            st = has_others(n, &scratch, &n->step.v[i], greedy->choice[i], out, err);
        kiln_arena_reset(&scratch);
    }
    kiln_arena_fini(&scratch);
    return st;
}

static kiln_status choose(kiln_net *n, kiln_err *err) {
    kiln_net_rehearsal greedy;
    bool is_worth = false;
    KILN_TRY(kiln_net_rehearse(n, NULL, &greedy, err));
    kiln_status st = is_worth_it(n, &greedy, &is_worth, err);
    if (!is_worth)
        KILN_LOG(DEBUG, "layout",
                 "'%s': each step by itself: nobody measured kernels in other layouts",
                 n->g->name);
    if (st == KILN_OK && is_worth)
        st = kiln_net_search(n, &greedy, err);
    for (size_t i = 0; i < n->step.n && !is_worth; i++)
        n->step.v[i].choice = greedy.choice[i];
    kiln_net_rehearsed(&greedy);
    return st;
}

const kiln_net_chooser kiln_net_chooser_measured = {
    .name = "measured",
    .doc = "search where kernels were measured in other layouts, else greedy",
    .choose = choose,
};
