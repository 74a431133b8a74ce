/* From groups to steps. */
#include "compiler/network/executable_internal.h"
#include "base/fault.h"
#include "compiler/network/pack.h"

#include <string.h>

int kiln_net_add_slot(kiln_net *n, const kiln_net_slot *slot) {
    kiln_vec_push(n->arena, &n->slot, *slot);
    return (int)n->slot.n - 1;
}

void kiln_net_means(kiln_net *n, int slot, const kiln_node *node, int out,
                    const int *in) {
    int *slots = kiln_array(n->arena, int, node->n_in);
    for (int k = 0; k < node->n_in; k++)
        slots[k] = in != NULL            ? in[k]
                   : node->in[k] != NULL ? n->slot_of[node->in[k]->id]
                                         : -1;
    n->slot.v[slot].means = node;
    n->slot.v[slot].means_out = out;
    n->slot.v[slot].means_in = slots;
}

kiln_type kiln_net_type_of(const kiln_net_slot *s) {
    kiln_type t = s->value->type;
    t.layout = s->layout;
    t.facts = s->facts;
    return t;
}

void kiln_net_add_copy(kiln_net *n, kiln_net_step_kind kind, int from, int to,
                       const char *name) {
    int *operand = kiln_array(n->arena, int, 2);
    operand[0] = from;
    operand[1] = to;
    const kiln_net_step step = {.kind = kind,
                                .operand = operand,
                                .n_operands = 2,
                                .n_read = 1,
                                .name =
                                    kiln_format(n->arena, "copy %s%s", n->path, name),
                                .op = "copy"};
    kiln_vec_push(n->arena, &n->step, step);
}

static int64_t bytes_as(const kiln_value *v, const kiln_layout *layout) {
    kiln_type t = v->type;
    t.layout = *layout;
    return kiln_type_bytes(&t);
}

/* ---- kernels --------------------------------------------------------------------- */

static kiln_status work_of(kiln_net *n, kiln_graph *part, kiln_op_work *w,
                           kiln_err *err) {
    kiln_buf text;
    *w = (kiln_op_work){.name = part->name, .graph = part};
    KILN_TRY(kiln_workload_of(part, &w->workload, err));
    kiln_graph_cost(part, &w->cost);
    kiln_buf_init(&text, &n->scratch);
    kiln_workload_key(&text, &w->workload, false);
    w->key = kiln_buf_str(&text);
    kiln_buf_init(&text, &n->scratch);
    kiln_workload_key(&text, &w->workload, true);
    w->anchor = kiln_buf_str(&text);
    return KILN_OK;
}

static const kiln_type *operand_types(kiln_arena *a, const kiln_te_graph *te) {
    kiln_type *type = kiln_array(a, kiln_type, te->n_args);
    memcpy(type, te->arg_type, te->n_args * sizeof *type);
    return type;
}

/* The program's arguments have the bytes that operands have. */
static kiln_status check_program(const kiln_program *p, const kiln_network_kernel *k,
                                 kiln_err *err) {
    if (p->n_args != k->n_operands || p->n_inputs != k->n_operands - k->n_written)
        return kiln_fail(err, KILN_ERR_BUG,
                         "kernel '%s' has %d operands, its program %d", k->workload,
                         k->n_operands, p->n_args);
    for (int i = 0; i < p->n_args; i++) {
        const kiln_buffer *b = p->arg[i];
        const int64_t bytes =
            kiln_buffer_elems(b) * (int64_t)kiln_dtype_bytes(b->dtype);
        if (b->dtype != kiln_dtype_stored(k->operand[i].dtype) ||
            bytes != kiln_type_bytes(&k->operand[i]))
            return kiln_fail(err, KILN_ERR_BUG,
                             "operand %d of kernel '%s' has %lld bytes of %s, its "
                             "program %lld of %s",
                             i, k->workload, (long long)kiln_type_bytes(&k->operand[i]),
                             kiln_dtype_name(k->operand[i].dtype), (long long)bytes,
                             kiln_dtype_name(b->dtype));
    }
    return KILN_OK;
}

static kiln_status compile(kiln_net *n, const kiln_op_work *w, const kiln_choice *c,
                           kiln_scheduled *s, const char *key, kiln_err *err) {
    kiln_buf config;
    kiln_buf_init(&config, n->arena);
    kiln_config_json(&config, c->tmpl, &c->space, &c->config);
    kiln_network_kernel k = {.symbol = kiln_format(n->arena, "k%zu", n->kernel.n),
                             .key = kiln_str_dup(n->arena, key),
                             .workload = kiln_str_dupv(n->arena, w->key),
                             .config = config.p,
                             .tmpl = c->tmpl->name,
                             .origin = c->origin,
                             .n_tried = c->n_tried,
                             .amplification = kiln_choice_amplification(c),
                             .cost = w->cost,
                             .n_operands = (int)s->te.n_args,
                             .n_written = (int)(s->te.n_args - s->te.n_inputs),
                             .operand = operand_types(n->arena, &s->te)};
    kiln_program *program = NULL;
    KILN_TRY(kiln_scheduled_program(&n->scratch, s, k.symbol, &program, err));
    KILN_TRY(check_program(program, &k, err));
    k.spread = kiln_program_spread(&n->scratch, program,
                                   n->profile->cores > 1 ? n->profile->cores : 2,
                                   n->profile->vector_bytes);
    if (n->o != NULL && n->o->watch != NULL)
        n->o->watch(n->o->watcher, (int)n->kernel.n, s, program);
    KILN_TRY(
        kiln_codegen(&n->scratch, program, n->profile, NULL, &k.object, NULL, err));
    KILN_TRY(kiln_object_check(k.object.bytes, err));
    k.object.bytes = (kiln_str){
        kiln_arena_dup(n->arena, k.object.bytes.p, k.object.bytes.n), k.object.bytes.n};
    if (k.object.workspace_bytes > n->workspace_bytes)
        n->workspace_bytes = k.object.workspace_bytes;
    if (k.object.scratch_bytes > n->scratch_bytes)
        n->scratch_bytes = k.object.scratch_bytes;
    kiln_vec_push(n->arena, &n->kernel, k);
    return KILN_OK;
}

/* A part of the network, and how it is made. */
typedef struct work {
    kiln_op_work op;
    kiln_choice choice;
} work;

static const kiln_choose_options by_rule = {.tmpl = NULL};

static const kiln_choose_options *choices_of(const kiln_net *n) {
    return n->o != NULL && n->o->choose != NULL ? n->o->choose : &by_rule;
}

static kiln_status choose(kiln_net *n, kiln_graph *part, const kiln_choose_options *how,
                          work *w, kiln_err *err) {
    KILN_TRY(work_of(n, part, &w->op, err));
    return kiln_choose(&n->scratch, &w->op, n->profile, how, &w->choice, err);
}

static kiln_status apply(kiln_net *n, const work *w, kiln_scheduled *s, kiln_err *err) {
    const kiln_choice *c = &w->choice;
    return kiln_template_apply(&n->scratch, c->tmpl, &w->op.workload, n->profile,
                               &c->space, &c->config, s, err);
}

/* Advice is about rows, or about layouts that others met: a combination may make no
 * schedule of those that are here, and then the template's rule holds. What a file says
 * is meant, and refused. */
static kiln_status schedule(kiln_net *n, work *w, kiln_scheduled *s, kiln_err *err) {
    kiln_choice *c = &w->choice;
    const kiln_status st = apply(n, w, s, err);
    if (st != KILN_ERR_ARG || c->origin == KILN_ORIGIN_FILE ||
        c->origin == KILN_ORIGIN_GUESS)
        return st;
    KILN_LOG(INFO, "network", "the %s configuration of '%.*s' is not taken: %s",
             kiln_origin_name(c->origin), KILN_STR_ARG(w->op.key), err->text);
    kiln_err_clear(err);
    c->config = c->tmpl->guess(&w->op.workload, n->profile, &c->space);
    c->origin = KILN_ORIGIN_GUESS;
    c->n_tried = 0;
    return apply(n, w, s, err);
}

/* Compiles the work, or finds it compiled. The scheduled workload is in n->scratch. */
static kiln_status make_kernel(kiln_net *n, work *w, kiln_scheduled *s, int *kernel,
                               kiln_err *err) {
    const kiln_choice *c = &w->choice;
    kiln_buf key;
    KILN_TRY(schedule(n, w, s, err));
    kiln_buf_init(&key, &n->scratch);
    kiln_buf_printf(&key, "%.*s ", KILN_STR_ARG(w->op.key));
    kiln_config_json(&key, c->tmpl, &c->space, &c->config);
    /* Layouts of results are not part of a workload. */
    for (size_t i = 0; i < s->te.n_args && !KILN_FAULT(kernel_key); i++)
        kiln_buf_printf(&key, " %s", kiln_type_text(&n->scratch, &s->te.arg_type[i]));
    const uintptr_t known = (uintptr_t)kiln_map_get(&n->kernel_of, kiln_buf_str(&key));
    if (known != 0) {
        *kernel = (int)known - 1;
        return KILN_OK;
    }
    KILN_TRY(compile(n, &w->op, c, s, key.p, err));
    *kernel = (int)n->kernel.n - 1;
    const char *kept = n->kernel.v[*kernel].key;
    kiln_map_set(n->arena, &n->kernel_of, kiln_str_from(kept),
                 (void *)(uintptr_t)(*kernel + 1));
    return KILN_OK;
}

/* ---- layouts --------------------------------------------------------------------- */

/* The kernel that makes slot `to` of slot `from`, as elements of `dtype`, chosen by
 * `how`. */
static kiln_status make_conversion(kiln_net *n, const kiln_value *v, kiln_dtype dtype,
                                   int from, int to, const kiln_choose_options *how,
                                   int *kernel, kiln_err *err) {
    kiln_scheduled s;
    kiln_graph *g = NULL;
    work w;
    kiln_type t = v->type;
    t.dtype = dtype;
    t.layout = n->slot.v[from].layout;
    t.facts = n->slot.v[from].facts;
    KILN_TRY(kiln_pack_graph(&n->scratch, &t, &n->slot.v[to].layout, &g, err));
    KILN_TRY(choose(n, g, how, &w, err));
    KILN_TRY(make_kernel(n, &w, &s, kernel, err));
    n->slot.v[to].facts = s.te.arg_type[s.te.n_inputs].facts;
    return KILN_OK;
}

static kiln_status convert(kiln_net *n, const kiln_value *v, int from, int to,
                           kiln_err *err) {
    int kernel = 0;
    KILN_TRY(
        make_conversion(n, v, v->type.dtype, from, to, choices_of(n), &kernel, err));
    kiln_net_add_copy(n, KILN_NET_CALL, from, to, v->name);
    kiln_net_step *step = &n->step.v[n->step.n - 1];
    step->kernel = kernel;
    step->op = "convert";
    step->name = kiln_format(n->arena, "convert %s%s", n->path, v->name);
    n->n_conversions++;
    return KILN_OK;
}

/* The same constant: regions have values of their own for what they share. */
static bool is_same(const kiln_value *x, const kiln_value *y) {
    return x == y || (kiln_value_is_const(x) && x->data == y->data &&
                      kiln_type_eq(&x->type, &y->type));
}

/* May who wants that layout, and zeros in its tail lanes, read the slot as it is? */
static bool suits(const kiln_net_slot *s, const kiln_type *wanted) {
    return kiln_layout_eq(&s->layout, &wanted->layout) &&
           ((wanted->facts & KILN_FACT_TAIL_ZERO) == 0 ||
            !kiln_type_has_tails(wanted) || (s->facts & KILN_FACT_TAIL_ZERO) != 0);
}

static int find_slot(const kiln_net *n, const kiln_value *v, const kiln_type *wanted) {
    for (size_t i = 0; i < n->slot.n; i++)
        if (is_same(n->slot.v[i].value, v) && n->slot.v[i].place != KILN_NET_OUTPUT &&
            suits(&n->slot.v[i], wanted))
            return (int)i;
    return -1;
}

/* A place behind what there is of PARAM or PACKED memory. */
static int add_place(kiln_net *n, kiln_net_place place, kiln_net_slot s) {
    uint64_t *bytes = place == KILN_NET_PARAM ? &n->param_bytes : &n->packed_bytes;
    s.place = place;
    s.facts = KILN_FACT_TAIL_ZERO; /* as they are packed */
    s.path = n->path;
    s.offset = *bytes;
    *bytes += ((uint64_t)s.bytes + KILN_NETWORK_ALIGN - 1) / KILN_NETWORK_ALIGN *
              KILN_NETWORK_ALIGN;
    return kiln_net_add_slot(n, &s);
}

/* A constant as the model has it, row-major; once. */
static int plain_param(kiln_net *n, const kiln_value *v) {
    const kiln_type plain = kiln_type_make(v->type.dtype, v->type.rank, v->type.dim);
    const int known = find_slot(n, v, &plain);
    const kiln_net_slot s = {
        .bytes = kiln_type_bytes(&plain), .view_of = -1, .value = v};
    return known >= 0 ? known : add_place(n, KILN_NET_PARAM, s);
}

/* An open step that packs the constant: by the templates' own rules, since nobody
 * measures what is done once. Floats of 16 bits are moved as integers: kernels hold
 * them in f32, where NaN would lose bits. */
static kiln_status pack_at_open(kiln_net *n, const kiln_value *v, int from,
                                const kiln_net_slot *packed, int *slot, kiln_err *err) {
    int kernel = 0, *operand = kiln_array(n->arena, int, 2);
    operand[0] = n->open.n > 0 && KILN_FAULT(open_param)
                     ? n->open.v[n->open.n - 1].operand[0]
                     : from;
    operand[1] = *slot = add_place(n, KILN_NET_PACKED, *packed);
    const bool is_half = v->type.dtype == KILN_F16 || v->type.dtype == KILN_BF16;
    KILN_TRY(make_conversion(n, v, is_half ? KILN_U16 : v->type.dtype, from, *slot,
                             &by_rule, &kernel, err));
    const kiln_net_step step = {
        .kind = KILN_NET_CALL,
        .kernel = kernel,
        .operand = operand,
        .n_operands = 2,
        .n_read = 1,
        .name = kiln_format(n->arena, "pack %s%s", n->path, v->name),
        .op = "pack"};
    kiln_vec_push(n->arena, &n->open, step);
    return KILN_OK;
}

/* The constant's slot in the layout of `s`. */
static kiln_status param_like(kiln_net *n, const kiln_value *v, kiln_net_slot s,
                              int *slot, kiln_err *err) {
    if (n->o == NULL || !n->o->pack_at_open || s.bytes == 0) {
        *slot = add_place(n, KILN_NET_PARAM, s);
        return KILN_OK;
    }
    const int plain = plain_param(n, v);
    if (!kiln_net_same_places(&v->type, &n->slot.v[plain].layout, &s.layout))
        return pack_at_open(n, v, plain, &s, slot, err);
    *slot = plain;
    if (kiln_layout_eq(&n->slot.v[plain].layout, &s.layout))
        return KILN_OK;
    s.view_of = plain;
    s.facts = KILN_FACT_TAIL_ZERO;
    *slot = kiln_net_add_slot(n, &s);
    return KILN_OK;
}

kiln_status kiln_net_slot_like(kiln_net *n, const kiln_value *v,
                               const kiln_type *wanted, int *slot, kiln_err *err) {
    const int made = n->slot_of[v->id];
    *slot =
        made >= 0 && suits(&n->slot.v[made], wanted) ? made : find_slot(n, v, wanted);
    if (*slot >= 0)
        return KILN_OK;
    kiln_net_slot s = {.place = KILN_NET_ARENA,
                       .bytes = bytes_as(v, &wanted->layout),
                       .view_of = -1,
                       .layout = wanted->layout,
                       .value = v};
    if (kiln_value_is_const(v))
        return param_like(n, v, s, slot, err);
    KILN_ASSERT(made >= 0, "'%s' is read before it is made", v->name);
    const bool is_view =
        kiln_net_same_places(&v->type, &n->slot.v[made].layout, &wanted->layout);
    s.view_of = is_view ? made : -1;
    s.facts = is_view ? n->slot.v[made].facts : 0;
    if (is_view && suits(&s, wanted)) {
        *slot = kiln_net_add_slot(n, &s);
        return KILN_OK;
    }
    s.view_of = -1;
    *slot = kiln_net_add_slot(n, &s);
    return convert(n, v, made, *slot, err);
}

kiln_status kiln_net_slot_as(kiln_net *n, const kiln_value *v,
                             const kiln_layout *layout, int *slot, kiln_err *err) {
    kiln_type wanted = v->type;
    wanted.layout = *layout;
    wanted.facts = 0;
    return kiln_net_slot_like(n, v, &wanted, slot, err);
}

/* ---- groups ---------------------------------------------------------------------- */

static const char *group_name(const kiln_net *n, const kiln_group *group) {
    const char *name = kiln_format(n->arena, "%s%s", n->path, group->node[0]->name);
    for (int i = 1; i < group->n; i++)
        name = kiln_format(n->arena, "%s + %s", name, group->node[i]->name);
    return name;
}

static const char *group_op(const kiln_group *group) {
    return group->anchor != NULL ? group->anchor->op->name
                                 : group->node[group->n - 1]->op->name;
}

static kiln_status operands_of(kiln_net *n, const kiln_group *group,
                               const kiln_scheduled *s, const kiln_value *const *from,
                               kiln_net_step *step, kiln_err *err) {
    const kiln_te_graph *te = &s->te;
    int *operand = kiln_array(n->arena, int, te->n_args);
    const kiln_value **value = kiln_array(n->arena, const kiln_value *, te->n_args);
    int *takeable = kiln_array(n->arena, int, te->n_inputs);
    for (size_t i = 0; i < te->n_inputs; i++) {
        const kiln_value *v = value[i] = from[te->arg_value[i]->id];
        KILN_TRY(kiln_net_slot_like(n, v, &te->arg_type[i], &operand[i], err));
        if (te->n_args == te->n_inputs + 1 && kiln_group_can_take(group, v) &&
            kiln_layout_eq(&te->arg_type[i].layout, &te->arg_type[te->n_inputs].layout))
            takeable[step->n_takeable++] = operand[i];
    }
    for (size_t i = te->n_inputs; i < te->n_args; i++) {
        const kiln_value *v = value[i] = from[te->arg_value[i]->id];
        const kiln_net_slot made = {.place = KILN_NET_ARENA,
                                    .bytes = bytes_as(v, &te->arg_type[i].layout),
                                    .view_of = -1,
                                    .layout = te->arg_type[i].layout,
                                    .facts = te->arg_type[i].facts,
                                    .value = v};
        operand[i] = n->slot_of[v->id] = kiln_net_add_slot(n, &made);
    }
    step->operand = operand;
    step->value = value;
    step->takeable = takeable;
    step->n_operands = (int)te->n_args;
    step->n_read = (int)te->n_inputs;
    return KILN_OK;
}

static void add_view(kiln_net *n, const kiln_node *node) {
    const kiln_value *v = node->out[0];
    const kiln_net_slot view = {.place = KILN_NET_ARENA,
                                .bytes = kiln_type_bytes(&v->type),
                                .view_of = n->slot_of[node->in[0]->id],
                                .value = v};
    n->slot_of[v->id] = kiln_net_add_slot(n, &view);
    kiln_net_means(n, n->slot_of[v->id], node, 0, NULL);
}

static bool is_view(const kiln_net *n, const kiln_group *group) {
    static const kiln_layout plain = {.n_order = 0};
    const kiln_value *x = group->is_view ? group->node[0]->in[0] : NULL;
    return x != NULL && n->slot_of[x->id] >= 0 &&
           kiln_net_same_places(&x->type, &n->slot.v[n->slot_of[x->id]].layout, &plain);
}

/* A step that calls a kernel. How the group is made is known before its inputs get
 * layouts: those that the template takes. Where nobody knows better than its rule, the
 * rule is asked again with them. */
static kiln_status add_kernel(kiln_net *n, const kiln_group *group, kiln_err *err) {
    const kiln_value **from = NULL;
    kiln_scheduled s;
    work w;
    kiln_graph *part = kiln_group_graph(&n->scratch, n->g, group, &from);
    if (part->outputs.n == 0)
        return KILN_OK; /* nobody reads it */
    KILN_TRY(choose(n, part, choices_of(n), &w, err));
    kiln_choice *c = &w.choice;
    kiln_net_give_layouts(n, group, part, from, c->tmpl->takes);
    if (c->origin == KILN_ORIGIN_GUESS)
        c->config = c->tmpl->guess(&w.op.workload, n->profile, &c->space);
    kiln_net_step step = {.kind = KILN_NET_CALL,
                          .name = group_name(n, group),
                          .op = group_op(group),
                          .group = group,
                          .g = n->g,
                          .path = n->path};
    KILN_TRY(make_kernel(n, &w, &s, &step.kernel, err));
    KILN_TRY(operands_of(n, group, &s, from, &step, err));
    kiln_vec_push(n->arena, &n->step, step);
    return KILN_OK;
}

static kiln_status add_group(kiln_net *n, const kiln_group *group, kiln_err *err) {
    if (kiln_net_is_control(group->node[0]))
        return kiln_net_add_control(n, group->node[0], err);
    if (is_view(n, group)) {
        add_view(n, group->node[0]);
        return KILN_OK;
    }
    if (group->n == 1) {
        bool done = kiln_net_add_slices(n, group->node[0]) ||
                    kiln_net_add_tail(n, group->node[0]);
        if (!done)
            KILN_TRY(kiln_net_add_concat(n, group->node[0], &done, err));
        if (done)
            return KILN_OK;
    }
    return add_kernel(n, group, err);
}

kiln_status kiln_net_add_group(kiln_net *n, const kiln_group *group, kiln_err *err) {
    KILN_TRY(kiln_interrupt_check(err));
    const kiln_status st = add_group(n, group, err);
    if (st != KILN_OK)
        kiln_note(err, "compiling the group of node '%s'", group->node[0]->name);
    kiln_arena_reset(&n->scratch);
    return st;
}
