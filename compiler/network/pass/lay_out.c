/* lay_out: operands of steps become tensors, each of a value in one layout.
 *
 * Steps are gone through in order. Each is scheduled as it was chosen, which fixes what
 * it reads and writes; conversions and packed constants come between. A rehearsal goes
 * the same way for choosers: what nobody chose yet takes its inputs as they were made
 * where its template can. Views and joins stay where bytes can be shared; where they
 * cannot, they become calls. Regions are laid out in place, by the same rules; whoever
 * captures a value reads it where it lies. */
#include "base/fault.h"
#include "compiler/network/executable_internal.h"

/* ---- calls ----------------------------------------------------------------------- */

static kiln_status operands_of(kiln_net *n, const kiln_group *group,
                               const kiln_scheduled *s, const kiln_value *const *from,
                               kiln_net_step *step, kiln_err *err) {
    const kiln_te_graph *te = &s->te;
    int *operand = kiln_array(n->arena, int, te->n_args);
    const kiln_value **value = kiln_array(n->arena, const kiln_value *, te->n_args);
    int *takeable = kiln_array(n->arena, int, te->n_inputs);
    for (size_t i = 0; i < te->n_inputs; i++) {
        const kiln_value *v = value[i] = from[te->arg_value[i]->id];
        KILN_TRY(kiln_net_slot_like(n, v, te->arg_packing[i], &te->arg_type[i],
                                    &operand[i], err));
        if (te->n_args == te->n_inputs + 1 && kiln_group_can_take(group, v) &&
            kiln_layout_eq(&te->arg_type[i].layout, &te->arg_type[te->n_inputs].layout))
            takeable[step->n_takeable++] = operand[i];
    }
    for (size_t i = te->n_inputs; i < te->n_args; i++) {
        const kiln_value *v = value[i] = from[te->arg_value[i]->id];
        const kiln_net_slot made = {.place = KILN_NET_ARENA,
                                    .bytes =
                                        kiln_net_bytes_as(v, &te->arg_type[i].layout),
                                    .view_of = -1,
                                    .layout = te->arg_type[i].layout,
                                    .facts = te->arg_type[i].facts,
                                    .value = v};
        operand[i] = n->walk->slot_of[v->id] = kiln_net_add_slot(n, &made);
    }
    step->operand = operand;
    step->value = value;
    step->takeable = takeable;
    step->n_operands = (int)te->n_args;
    step->n_read = (int)te->n_inputs;
    return KILN_OK;
}

/* The greedy rule: how the group is made is known before its inputs get layouts: those
 * that the template takes. Where nobody knows better than its rule, the rule is asked
 * again with them. */
static kiln_status decide(kiln_net *n, const kiln_net_group_part *part,
                          kiln_net_work *w, kiln_err *err) {
    kiln_choice *c = &w->choice;
    KILN_TRY(kiln_net_choose(n, part->graph, kiln_net_choose_options(n), w, err));
    kiln_net_give_layouts(n, part, c->tmpl->takes);
    if (c->origin == KILN_ORIGIN_GUESS)
        c->config =
            c->tmpl->guess(&w->op.workload, kiln_net_profile_of(n, c->tmpl), &c->space);
    return KILN_OK;
}

static kiln_status follow(kiln_net *n, const kiln_net_group_part *part,
                          const kiln_net_choice *c, kiln_net_work *w, kiln_err *err) {
    KILN_TRY(kiln_net_chosen(n, part->graph, c, w, err));
    kiln_net_take_layouts(n, part, c);
    return KILN_OK;
}

/* Whoever reads what it makes finds it row-major. */
static kiln_status bring_back(kiln_net *n, const kiln_net_step *step, kiln_err *err) {
    static const kiln_layout plain = {.n_order = 0};
    for (int i = step->n_read; i < step->n_operands; i++) {
        const kiln_value *v = step->value[i];
        const int made = n->walk->slot_of[v->id];
        KILN_TRY(kiln_net_slot_as(n, v, &plain, &n->walk->slot_of[v->id], err));
        n->slot.v[made].is_alone = n->walk->slot_of[v->id] != made;
    }
    return KILN_OK;
}

/* Who decided it; layout.c says what follows of inputs. */
static void say_made(const kiln_net *n, const kiln_net_step *step,
                     const kiln_choice *by, const kiln_net_choice *chosen) {
    const bool is_rule = by->origin == KILN_ORIGIN_GUESS;
    if (n->walk->notes != NULL) /* it is but tried */
        return;
    for (int i = step->n_read; i < step->n_operands; i++) {
        const kiln_type t = kiln_net_type_of(&n->slot.v[step->operand[i]]);
        KILN_LOG(DEBUG, "layout", "'%s%s' lies as %s: %s makes it so, by %s%s%s",
                 n->walk->path, step->value[i]->name,
                 kiln_type_text(&n->walk->scratch, &t), by->tmpl->name,
                 is_rule ? "its rule" : "a configuration: ",
                 is_rule ? "" : kiln_origin_name(by->origin),
                 chosen != NULL && chosen->is_searched ? ", as the search chose" : "");
    }
}

/* A step that calls a kernel. */
static kiln_status add_call(kiln_net *n, size_t at, kiln_err *err) {
    const kiln_net_step *fused = &n->walk->fused[at];
    const kiln_net_choice *chosen = n->walk->choice[at];
    kiln_net_group_part part = {.group = fused->group};
    kiln_scheduled s;
    kiln_net_work w;
    part.graph =
        kiln_group_graph(&n->walk->scratch, fused->g, fused->group, &part.from);
    if (part.graph->outputs.n == 0)
        return KILN_OK; /* nobody reads it */
    KILN_ASSERT(chosen != NULL ? chosen->tmpl != NULL : n->walk->notes != NULL,
                "'%s' has no choice", fused->name);
    KILN_TRY(chosen != NULL ? follow(n, &part, chosen, &w, err)
                            : decide(n, &part, &w, err));
    kiln_net_step step = *fused;
    step.kind = KILN_NET_CALL;
    KILN_TRY(kiln_net_make_kernel(n, &w, step.name, &s, &step.kernel, err));
    if (chosen != NULL)
        KILN_TRY(kiln_net_check_layouts(n, part.graph, &s, chosen, err));
    else
        n->walk->choice[at] =
            kiln_net_choice_of(n->walk->notes, part.graph, &w.choice, &s);
    /* Its kernel has it; who rehearses wants to know more. */
    step.choice = n->walk->notes != NULL ? n->walk->choice[at] : NULL;
    KILN_TRY(operands_of(n, fused->group, &s, part.from, &step, err));
    say_made(n, &step, &w.choice, chosen);
    kiln_vec_push(n->arena, &n->step, step);
    return chosen != NULL && chosen->is_alone ? bring_back(n, &step, err) : KILN_OK;
}

/* ---- views ----------------------------------------------------------------------- */

/* The axis of y that is axis `axis` of x, with as many elements before and behind; -1:
 * there is none. */
static int same_axis(const kiln_type *x, int axis, const kiln_type *y) {
    int64_t before = 1, so_far = 1;
    for (int i = 0; i < axis; i++)
        before *= x->dim[i];
    for (int i = 0; i < y->rank; i++) {
        if (so_far == before && y->dim[i] == x->dim[axis] && y->dim[i] > 1)
            return i;
        so_far *= y->dim[i];
    }
    return -1;
}

/* Blocks along an axis that the reshape leaves as it is stay where they are, unless most
 * of their lanes are empty. */
static bool keeps_blocks(const kiln_net_slot *s, const kiln_type *x, const kiln_type *y,
                         kiln_layout *out) {
    if (s->layout.n_order != 0 || s->layout.n_blocks != 1 || kiln_type_elems(y) == 0)
        return false;
    const kiln_block b = s->layout.block[0];
    const int axis = same_axis(x, b.axis, y);
    *out = s->layout;
    out->block[0].axis = (uint8_t)(axis >= 0 ? axis : 0);
    return axis >= 0 && 2 * x->dim[b.axis] > b.size;
}

/* Its input's bytes are its output's, as both lie. An input in other blocks is converted
 * first: that kernel turns tiles in registers, where one of the reshape's own would find
 * each element by divisions (64 channels of 7x7: 8 and 0.5 microseconds on Zen 5). */
static kiln_status add_reshape(kiln_net *n, const kiln_net_step *fused, bool *done,
                               kiln_err *err) {
    kiln_layout layout = {.n_order = 0};
    const kiln_node *node = fused->group->node[0];
    const kiln_value *x = node->in[0], *y = node->out[0];
    int from = n->walk->slot_of[x->id];
    const bool is_apart =
        from >= 0 && !kiln_net_same_places(&x->type, &n->slot.v[from].layout, &layout);
    *done = fused->group->is_view && from >= 0 &&
            (!is_apart || node->op == &kiln_op_reshape);
    if (!*done)
        return KILN_OK;
    if (is_apart && !keeps_blocks(&n->slot.v[from], &x->type, &y->type, &layout)) {
        layout = (kiln_layout){.n_order = 0};
        KILN_TRY(kiln_net_slot_as(n, x, &layout, &from, err));
    }
    kiln_type t = y->type;
    t.layout = layout;
    const kiln_net_slot view = {.place = KILN_NET_ARENA,
                                .bytes = kiln_type_bytes(&t),
                                .view_of = from,
                                .layout = layout,
                                .facts = n->slot.v[from].facts,
                                .value = y};
    n->walk->slot_of[y->id] = kiln_net_add_slot(n, &view);
    kiln_net_add_shared(n, KILN_NET_VIEW, fused, &from);
    return KILN_OK;
}

/* ---- steps ----------------------------------------------------------------------- */

static kiln_status add_step(kiln_net *n, size_t at, kiln_err *err) {
    const kiln_net_step *fused = &n->walk->fused[at];
    bool done = false;
    switch (fused->kind) {
    case KILN_NET_IF:
    case KILN_NET_LOOP:
        return kiln_net_add_control(n, at, err);
    case KILN_NET_VIEW:
        KILN_TRY(add_reshape(n, fused, &done, err));
        done = done || kiln_net_add_slices(n, fused) || kiln_net_add_tail(n, fused);
        break;
    case KILN_NET_JOIN:
        KILN_TRY(kiln_net_add_concat(n, at, &done, err));
        break;
    case KILN_NET_CALL:
    case KILN_NET_COPY:
    case KILN_NET_ELSE:
    case KILN_NET_END:
    case KILN_NET_TAKE:
    case KILN_NET_PUT:
    case KILN_NET_WAIT:
    case KILN_NET_N_KINDS:
        break;
    }
    return done ? KILN_OK : add_call(n, at, err);
}

static kiln_status add_noted(kiln_net *n, size_t at, kiln_err *err) {
    const kiln_net_step *fused = &n->walk->fused[at];
    const kiln_node *first = fused->group != NULL ? fused->group->node[0] : fused->node;
    KILN_TRY(kiln_interrupt_check(err));
    const kiln_status st = add_step(n, at, err);
    if (st != KILN_OK)
        kiln_note(err, "compiling the group of node '%s'", first->name);
    kiln_arena_fini(&n->walk->scratch);
    return st;
}

/* The step behind this one, and behind the block that it may begin. */
size_t kiln_net_step_behind(const kiln_net_step *step, size_t at) {
    size_t end = at;
    if (step[at].kind == KILN_NET_IF)
        end = (size_t)step[(size_t)step[at].partner].partner;
    else if (step[at].kind == KILN_NET_LOOP)
        end = (size_t)step[at].partner;
    return end + 1;
}

kiln_status kiln_net_add_graph(kiln_net *n, const kiln_net_part *part, const int *in,
                               const kiln_layout *layout, int *out, kiln_err *err) {
    const kiln_layout plain = {.n_order = 0};
    const kiln_graph *g = part->g;
    kiln_net_walk *walk = n->walk;
    const kiln_net_walk around = *walk;
    kiln_status st = KILN_OK;
    walk->g = g;
    walk->path = part->path;
    walk->slot_of = kiln_array(n->arena, int, g->values.n);
    for (size_t i = 0; i < g->values.n; i++)
        walk->slot_of[i] = -1;
    for (size_t i = 0; i < g->inputs.n; i++)
        walk->slot_of[g->inputs.v[i]->id] = in[i];
    for (size_t i = part->begin; i < part->end && st == KILN_OK;
         i = kiln_net_step_behind(walk->fused, i))
        st = add_noted(n, i, err);
    for (size_t i = 0; i < g->outputs.n && st == KILN_OK; i++) {
        const kiln_value *v = g->outputs.v[i];
        out[i] = walk->slot_of[v->id];
        if (layout != NULL || out[i] < 0)
            st = kiln_net_slot_as(n, v, layout != NULL ? &layout[i] : &plain, &out[i],
                                  err);
    }
    walk->g = around.g;
    walk->path = around.path;
    walk->slot_of = around.slot_of;
    return st;
}

/* ---- all ------------------------------------------------------------------------- */

static int add_input(kiln_net *n, uint32_t index) {
    const kiln_value *v = n->g->inputs.v[index];
    const kiln_net_slot slot = {.place = KILN_NET_INPUT,
                                .index = index,
                                .bytes = kiln_type_bytes(&v->type),
                                .view_of = -1,
                                .value = v};
    const kiln_net_port port = {v->name, v, kiln_net_add_slot(n, &slot)};
    kiln_vec_push(n->arena, &n->port, port);
    n->n_inputs++;
    return port.slot;
}

static kiln_status lay_out(kiln_net *n, size_t n_fused, kiln_err *err) {
    const kiln_graph *g = n->g;
    int *in = kiln_array(n->arena, int, g->inputs.n);
    int *out = kiln_array(n->arena, int, g->outputs.n);
    const kiln_layout *plain = kiln_array(n->arena, kiln_layout, g->outputs.n);
    const kiln_net_part whole = {g, "", 0, n_fused};
    for (size_t i = 0; i < g->inputs.n; i++)
        in[i] = add_input(n, (uint32_t)i);
    KILN_TRY(kiln_net_add_graph(n, &whole, in, plain, out, err));
    for (size_t i = 0; i < g->outputs.n; i++) {
        const kiln_net_port port = {g->output_names.v[i], g->outputs.v[i], out[i]};
        kiln_vec_push(n->arena, &n->port, port);
        n->n_outputs++;
    }
    return KILN_OK;
}

kiln_status kiln_net_lay_out(kiln_net *n, const kiln_net_choice **choice,
                             kiln_arena *notes, kiln_err *err) {
    kiln_net_walk walk = {
        .path = "", .fused = n->step.v, .choice = choice, .notes = notes};
    const size_t n_fused = n->step.n;
    n->step.v = NULL;
    n->step.n = n->step.cap = 0;
    n->walk = &walk;
    const kiln_status st = lay_out(n, n_fused, err);
    n->walk = NULL;
    kiln_arena_fini(&walk.scratch);
    return st;
}

static kiln_status run(kiln_net *n, kiln_err *err) {
    const kiln_net_choice **choice =
        kiln_array(n->arena, const kiln_net_choice *, n->step.n);
    for (size_t i = 0; i < n->step.n; i++)
        choice[i] = n->step.v[i].choice;
    return kiln_net_lay_out(n, choice, NULL, err);
}

const kiln_net_pass kiln_net_pass_lay_out = {
    .name = "lay_out",
    .doc = "operands get tensors in layouts, conversions come between, kernels are "
           "scheduled",
    .needs = KILN_NET_FUSED | KILN_NET_CHOSEN,
    .makes = KILN_NET_LAID_OUT,
    .run = run,
};
