/* From a choice to a kernel without code: its schedule, which fixes the types of its
 * operands. Equal work in equal layouts, chosen alike, is one kernel. */
#include "base/fault.h"
#include "compiler/network/executable_internal.h"

#include <string.h>

const kiln_choose_options kiln_net_by_rule = {.tmpl = NULL};

const kiln_choose_options *kiln_net_choose_options(const kiln_net *n) {
    return n->o != NULL && n->o->choose != NULL ? n->o->choose : &kiln_net_by_rule;
}

const kiln_profile *kiln_net_profile_of(const kiln_net *n, const kiln_template *t) {
    const kiln_profile *device = n->profile->device;
    return device != NULL && kiln_arch_of(device->arch)->kind == t->target ? device
                                                                           : n->profile;
}

/* The device does what it has a template for, unless another's is wanted. */
static const kiln_profile *profile_for(const kiln_net *n, const kiln_workload *w,
                                       const char *wanted) {
    const kiln_profile *device = n->profile->device;
    const kiln_template *t =
        wanted != NULL ? kiln_template_find(kiln_str_from(wanted)) : NULL;
    if (device == NULL || t != NULL)
        return t != NULL ? kiln_net_profile_of(n, t) : n->profile;
    return kiln_template_for(w, device) != NULL ? device : n->profile;
}

kiln_status kiln_net_choose_for_host(kiln_net *n, kiln_graph *part, kiln_net_work *w,
                                     kiln_err *err) {
    kiln_arena *a = &n->walk->scratch;
    KILN_TRY(kiln_op_work_of(a, part->name, part, &w->op, err));
    return kiln_choose(a, &w->op, n->profile, &kiln_net_by_rule, &w->choice, err);
}

kiln_status kiln_net_choose(kiln_net *n, kiln_graph *part,
                            const kiln_choose_options *how, kiln_net_work *w,
                            kiln_err *err) {
    kiln_arena *a = &n->walk->scratch;
    KILN_TRY(kiln_op_work_of(a, part->name, part, &w->op, err));
    const kiln_profile *p = profile_for(n, &w->op.workload, how->tmpl);
    return kiln_choose(a, &w->op, p, how, &w->choice, err);
}

kiln_status kiln_net_chosen(kiln_net *n, kiln_graph *part, const kiln_net_choice *c,
                            kiln_net_work *w, kiln_err *err) {
    kiln_arena *a = &n->walk->scratch;
    KILN_TRY(kiln_op_work_of(a, part->name, part, &w->op, err));
    w->choice = (kiln_choice){.tmpl = c->tmpl,
                              .config = c->config,
                              .origin = c->origin,
                              .n_tried = c->n_tried};
    kiln_space_init(&w->choice.space, a);
    return c->tmpl->space(&w->op.workload, kiln_net_profile_of(n, c->tmpl),
                          &w->choice.space, err);
}

static kiln_status apply(kiln_net *n, const kiln_net_work *w, kiln_scheduled *s,
                         kiln_err *err) {
    const kiln_choice *c = &w->choice;
    return kiln_template_apply(&n->walk->scratch, c->tmpl, &w->op.workload,
                               kiln_net_profile_of(n, c->tmpl), &c->space, &c->config,
                               s, err);
}

/* The next one in their order; NULL: t was the last that fits. */
static const kiln_template *fits_next(const kiln_net_work *w, const kiln_profile *p,
                                      const kiln_template *t) {
    bool is_past = false;
    for (int i = 0; kiln_template_at(i) != NULL; i++) {
        const kiln_template *x = kiln_template_at(i);
        if (is_past && kiln_template_fits(x, &w->op.workload, p))
            return x;
        is_past = is_past || x == t;
    }
    return NULL;
}

static kiln_status take_rule(kiln_net *n, kiln_net_work *w, const kiln_template *t,
                             kiln_err *err) {
    kiln_choice *c = &w->choice;
    const kiln_profile *p = kiln_net_profile_of(n, t);
    c->tmpl = t;
    kiln_space_init(&c->space, n->arena);
    KILN_TRY(t->space(&w->op.workload, p, &c->space, err));
    c->config = t->guess(&w->op.workload, p, &c->space);
    return KILN_OK;
}

/* A rule for GPUs does not see all that passes refuse, such as barriers that not all
 * threads would come to: then the next template's rule holds. */
static kiln_status by_rule(kiln_net *n, kiln_net_work *w, kiln_scheduled *s,
                           kiln_err *err) {
    for (;;) {
        const kiln_template *t = w->choice.tmpl, *next;
        const kiln_profile *p = kiln_net_profile_of(n, t);
        kiln_program *program;
        kiln_status st = apply(n, w, s, err);
        if (!kiln_profile_is_gpu(p))
            return st;
        if (st == KILN_OK)
            st = kiln_scheduled_program(&n->walk->scratch, s, "rehearsal", &program,
                                        err);
        if (st != KILN_ERR_ARG && st != KILN_ERR_UNSUPPORTED && st != KILN_ERR_LIMIT)
            return st;
        next = fits_next(w, p, t);
        if (next == NULL)
            return st;
        KILN_LOG(INFO, "network", "%s's rule for '%.*s' is not taken, %s has it: %s",
                 t->name, KILN_STR_ARG(w->op.key), next->name, err->text);
        kiln_err_clear(err);
        KILN_TRY(take_rule(n, w, next, err));
    }
}

/* Advice is about rows, or about layouts that others met: a combination may make no
 * schedule of those that are here, and then the template's rule holds. What a file says
 * is meant, and refused. */
static kiln_status schedule(kiln_net *n, kiln_net_work *w, kiln_scheduled *s,
                            kiln_err *err) {
    kiln_choice *c = &w->choice;
    if (c->origin == KILN_ORIGIN_GUESS)
        return by_rule(n, w, s, err);
    const kiln_status st = apply(n, w, s, err);
    if (st != KILN_ERR_ARG || c->origin == KILN_ORIGIN_FILE)
        return st;
    KILN_LOG(INFO, "network", "the %s configuration of '%.*s' is not taken: %s",
             kiln_origin_name(c->origin), KILN_STR_ARG(w->op.key), err->text);
    kiln_err_clear(err);
    c->origin = KILN_ORIGIN_GUESS;
    c->n_tried = 0;
    KILN_TRY(take_rule(n, w, c->tmpl, err));
    return by_rule(n, w, s, err);
}

static const kiln_type *operand_types(kiln_arena *a, const kiln_te_graph *te) {
    kiln_type *type = kiln_array(a, kiln_type, te->n_args);
    memcpy(type, te->arg_type, te->n_args * sizeof *type);
    return type;
}

/* The schedule stays where it is, for `generate`: whoever goes on gets new scratch. */
static kiln_net_making *keep(kiln_net *n, const kiln_scheduled *s, const char *of) {
    kiln_net_making *m = kiln_new(n->arena, kiln_net_making);
    *m = (kiln_net_making){n->walk->scratch, *s, of};
    kiln_arena_init(&n->walk->scratch);
    return m;
}

void kiln_net_made(kiln_network_kernel *k) {
    if (k->making != NULL)
        kiln_arena_fini(&k->making->arena);
    k->making = NULL;
}

static void add_kernel(kiln_net *n, const kiln_net_work *w, const kiln_scheduled *s,
                       const char *key, const char *of) {
    const kiln_choice *c = &w->choice;
    kiln_buf config;
    kiln_buf_init(&config, n->arena);
    kiln_config_json(&config, c->tmpl, &c->space, &c->config);
    const char *prefix = n->o != NULL ? n->o->kernel_prefix : NULL;
    kiln_network_kernel k = {
        .symbol =
            kiln_format(n->arena, "%sk%zu", prefix != NULL ? prefix : "", n->kernel.n),
        .key = kiln_str_dup(n->arena, key),
        .workload = kiln_str_dupv(n->arena, w->op.key),
        .config = config.p,
        .tmpl = c->tmpl->name,
        .profile = kiln_net_profile_of(n, c->tmpl),
        .origin = c->origin,
        .n_tried = c->n_tried,
        .amplification = kiln_choice_amplification(&w->op, c),
        .cost = w->op.cost,
        .n_operands = (int)s->te.n_args,
        .n_written = (int)(s->te.n_args - s->te.n_inputs),
        .operand = operand_types(n->arena, &s->te)};
    k.making = keep(n, s, of);
    kiln_vec_push(n->arena, &n->kernel, k);
}

kiln_status kiln_net_make_kernel(kiln_net *n, kiln_net_work *w, const char *of,
                                 kiln_scheduled *s, int *kernel, kiln_err *err) {
    const kiln_choice *c = &w->choice;
    kiln_buf key;
    KILN_TRY(schedule(n, w, s, err));
    kiln_buf_init(&key, &n->walk->scratch);
    kiln_buf_printf(&key, "%.*s ", KILN_STR_ARG(w->op.key));
    kiln_config_json(&key, c->tmpl, &c->space, &c->config);
    /* Layouts of results are not part of a workload. */
    for (size_t i = 0; i < s->te.n_args && !KILN_FAULT(kernel_key); i++)
        kiln_buf_printf(&key, " %s",
                        kiln_type_text(&n->walk->scratch, &s->te.arg_type[i]));
    const size_t known = kiln_numbers_get(&n->walk->kernel_of, kiln_buf_str(&key));
    if (known != 0) {
        *kernel = (int)known - 1;
        return KILN_OK;
    }
    add_kernel(n, w, s, key.p, of);
    *kernel = (int)n->kernel.n - 1;
    const char *kept = n->kernel.v[*kernel].key;
    kiln_numbers_set(n->arena, &n->walk->kernel_of, kiln_str_from(kept), n->kernel.n);
    return KILN_OK;
}
