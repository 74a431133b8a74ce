/* plain: every value row-major, NCHW, and no conversion anywhere: the baseline of NeoCPU's
 * Table 3 (ATC'19, section 4.2.1). A template that keeps channels in blocks is taken only
 * where its blocks may be of one channel; the next one that fits does the rest, by its rule.
 */
#include "compiler/network/chooser/plain.h"

#include <string.h>

/* ---- one call -------------------------------------------------------------------- */

static bool is_layout_knob(const kiln_template *t, const char *name) {
    for (int i = 0; t->layout_knobs != NULL && t->layout_knobs[i] != NULL; i++)
        if (strcmp(t->layout_knobs[i], name) == 0)
            return true;
    return false;
}

/* false: there are no blocks of one. */
static bool set_one(const kiln_knob *knob, int16_t *option) {
    for (int i = 0; i < knob->n; i++)
        if (knob->value != NULL && knob->n_parts == 1 && knob->value[i] == 1) {
            *option = (int16_t)i;
            return true;
        }
    return false;
}

static bool is_plain(const kiln_net_choice *c) {
    for (int i = 0; i < c->n_layouts; i++)
        if (!kiln_layout_is_plain(&c->layout[i]))
            return false;
    return true;
}

/* By the template's rule, in blocks of one; NULL: it has no such way. */
static kiln_net_choice *row_major(const kiln_net *n, kiln_arena *scratch,
                                  const kiln_op_work *w, const kiln_template *t) {
    kiln_scheduled made;
    kiln_choice c = {.tmpl = t, .origin = KILN_ORIGIN_GUESS};
    kiln_space_init(&c.space, scratch);
    if (t->space(&w->workload, n->profile, &c.space, NULL) != KILN_OK)
        return NULL;
    c.config = t->guess(&w->workload, n->profile, &c.space);
    for (int k = 0; k < c.space.n; k++)
        if (is_layout_knob(t, c.space.knob[k].name) &&
            !set_one(&c.space.knob[k], &c.config.option[k]))
            return NULL;
    if (kiln_template_apply(scratch, t, &w->workload, n->profile, &c.space, &c.config,
                            &made, NULL) != KILN_OK)
        return NULL;
    kiln_net_choice *out = kiln_net_choice_of(n->arena, w->graph, &c, &made);
    return is_plain(out) ? out : NULL;
}

static kiln_status choose_call(const kiln_net *n, kiln_arena *scratch,
                               const kiln_net_step *step, const kiln_net_choice **out,
                               kiln_err *err) {
    kiln_op_work w;
    kiln_graph *part = kiln_group_graph(scratch, step->g, step->group, NULL);
    KILN_TRY(kiln_op_work_of(scratch, part->name, part, &w, err));
    for (int i = 0; kiln_template_at(i) != NULL; i++) {
        const kiln_template *t = kiln_template_at(i);
        const bool is_asked = kiln_template_fits(t, &w.workload, n->profile) &&
                              (t->pays == NULL || t->pays(&w.workload, n->profile));
        kiln_net_choice *c = is_asked ? row_major(n, scratch, &w, t) : NULL;
        if (c == NULL)
            continue;
        c->is_searched = true; /* templates take other layouts by their own rule */
        *out = c;
        return KILN_OK;
    }
    return kiln_fail(err, KILN_ERR_UNSUPPORTED, "no template does '%s' row-major",
                     step->name);
}

/* ---- all of them ----------------------------------------------------------------- */

/* Others take what they are given: row-major values, where all are. */
static bool lays_out_itself(const kiln_net_choice *c) {
    return c != NULL && c->tmpl != NULL && c->tmpl->takes == KILN_TAKES_ITS_OWN &&
           c->origin != KILN_ORIGIN_FILE;
}

static bool is_contraction(const kiln_net_step *step) {
    return step->group->anchor != NULL &&
           step->group->anchor->op->fuse == KILN_FUSE_OUT_FUSABLE;
}

static const kiln_net_choice *alone(const kiln_net *n, const kiln_net_choice *c) {
    kiln_net_choice *out = kiln_arena_dup(n->arena, c, sizeof *c);
    out->is_alone = true;
    return out;
}

static kiln_status choose_calls(kiln_net *n, bool with_blocks,
                                const kiln_net_choice *const *greedy,
                                const kiln_net_choice **given, kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_status st = KILN_OK;
    for (size_t i = 0; i < n->step.n && st == KILN_OK; i++) {
        const kiln_net_step *step = &n->step.v[i];
        if (step->group == NULL || !lays_out_itself(greedy[i]))
            continue;
        if (with_blocks && is_contraction(step))
            given[i] = alone(n, greedy[i]);
        else
            st = choose_call(n, &scratch, step, &given[i], err);
        kiln_arena_reset(&scratch);
    }
    kiln_arena_fini(&scratch);
    return st;
}

static kiln_status take_greedy(kiln_net *n, const kiln_net_choice **out,
                               kiln_err *err) {
    kiln_net_rehearsal greedy;
    KILN_TRY(kiln_net_rehearse(n, NULL, &greedy, err));
    for (size_t i = 0; i < n->step.n; i++)
        out[i] = greedy.choice[i];
    kiln_net_rehearsed(&greedy);
    return KILN_OK;
}

kiln_status kiln_net_choose_plain(kiln_net *n, bool with_blocks, kiln_err *err) {
    const kiln_net_choice **greedy =
        kiln_array(n->arena, const kiln_net_choice *, n->step.n);
    const kiln_net_choice **given =
        kiln_array(n->arena, const kiln_net_choice *, n->step.n);
    kiln_net_rehearsal r;
    KILN_TRY(take_greedy(n, greedy, err));
    KILN_TRY(choose_calls(n, with_blocks, greedy, given, err));
    KILN_TRY(kiln_net_rehearse(n, given, &r, err));
    for (size_t i = 0; i < n->step.n; i++)
        n->step.v[i].choice = r.choice[i];
    kiln_net_rehearsed(&r);
    return KILN_OK;
}

static kiln_status choose(kiln_net *n, kiln_err *err) {
    return kiln_net_choose_plain(n, false, err);
}

const kiln_net_chooser kiln_net_chooser_plain = {
    .name = "plain",
    .doc = "every call row-major, for comparison",
    .choose = choose,
    .is_for_study = true,
};
