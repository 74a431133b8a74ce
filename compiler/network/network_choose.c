/* Which template, which configuration: from a file, by what an oracle knows of
 * costs, or by the template's own rule. */
#include "compiler/network/network_choose.h"

#include <string.h>

const char *kiln_origin_name(kiln_origin o) {
    static const char *const name[] = {
        [KILN_ORIGIN_FILE] = "file",
        [KILN_ORIGIN_TUNED] = "tuned",
        [KILN_ORIGIN_TIMED] = "timed",
        [KILN_ORIGIN_TRANSFERRED] = "transferred",
        [KILN_ORIGIN_PREDICTED] = "predicted",
        [KILN_ORIGIN_GUESS] = "guess",
    };
    return name[o];
}

/* Configurations depend on vectors, not on a profile's name: what a machine is detected
 * as has none that ships. */
static bool is_profile(const kiln_profile *p, const char *name) {
    if (strcmp(p->name, name) == 0)
        return true;
    for (int i = 0; kiln_profile_at(i) != NULL; i++) {
        const kiln_profile *s = kiln_profile_at(i);
        if (strcmp(s->name, name) == 0)
            return s->arch == p->arch && s->vector_bytes == p->vector_bytes &&
                   s->vector_registers == p->vector_registers;
    }
    return false;
}

static bool is_work(const kiln_op_work *w, const char *key) {
    return kiln_str_is(w->key, key) || kiln_str_is(w->anchor, key);
}

double kiln_choice_amplification(const kiln_op_work *w, const kiln_choice *c) {
    return kiln_template_amplification(c->tmpl, &w->workload, &c->space, &c->config);
}

/* ---- files ----------------------------------------------------------------------- */

kiln_status kiln_config_file_check(const kiln_json *file, const char *path,
                                   kiln_err *err) {
    if (!kiln_json_is_array(file))
        return kiln_fail(err, KILN_ERR_PARSE,
                         "%s: a list of configurations was expected: [{\"op\": NAME, "
                         "\"template\": NAME, \"config\": {...}}, ...]",
                         path);
    size_t i = 0;
    for (const kiln_json *e = kiln_json_first(file); e != NULL;
         e = kiln_json_next(e), i++) {
        for (const kiln_json *m = kiln_json_first(e); m != NULL; m = kiln_json_next(m))
            if (strcmp(kiln_json_key(m), "op") != 0 &&
                strcmp(kiln_json_key(m), "profile") != 0 &&
                strcmp(kiln_json_key(m), "template") != 0 &&
                strcmp(kiln_json_key(m), "config") != 0)
                return kiln_fail(err, KILN_ERR_PARSE,
                                 "%s: entry %zu has an unknown member; there are op, "
                                 "profile, template and config",
                                 path, i);
        if (!kiln_json_is_string(kiln_json_get(e, "op")) ||
            !kiln_json_is_string(kiln_json_get(e, "template")) ||
            !kiln_json_is_object(kiln_json_get(e, "config")))
            return kiln_fail(
                err, KILN_ERR_PARSE,
                "%s: entry %zu must have the texts 'op' and 'template' and "
                "the object 'config'",
                path, i);
    }
    return KILN_OK;
}

size_t kiln_config_file_unused(kiln_buf *out, const kiln_choose_options *o) {
    size_t i = 0, n = 0;
    for (const kiln_json *e = kiln_json_first(o->file); e != NULL && o->is_used != NULL;
         e = kiln_json_next(e), i++) {
        if (o->is_used[i])
            continue;
        const char *op = kiln_json_string(kiln_json_get(e, "op"), "");
        kiln_buf_printf(out,
                        "--config-file: entry %zu, for '%s', fits no kernel here\n", i,
                        kiln_str_printable(out->arena, kiln_str_from(op), 64));
        n++;
    }
    return n;
}

static const kiln_json *file_entry(const kiln_choose_options *o, const kiln_op_work *w,
                                   const kiln_profile *p, const char *tmpl) {
    size_t i = 0;
    for (const kiln_json *e = kiln_json_first(o->file); e != NULL;
         e = kiln_json_next(e), i++) {
        const char *op = kiln_json_string(kiln_json_get(e, "op"), "");
        const char *profile = kiln_json_string(kiln_json_get(e, "profile"), p->name);
        if ((strcmp(op, w->name) == 0 || is_work(w, op)) && is_profile(p, profile) &&
            (tmpl == NULL ||
             strcmp(tmpl, kiln_json_string(kiln_json_get(e, "template"), "")) == 0)) {
            if (o->is_used != NULL)
                o->is_used[i] = true;
            return e;
        }
    }
    return NULL;
}

/* ---- choosing -------------------------------------------------------------------- */

static const char *fitting(kiln_arena *a, const kiln_op_work *w,
                           const kiln_profile *p) {
    kiln_buf out;
    kiln_buf_init(&out, a);
    for (int i = 0; kiln_template_at(i) != NULL; i++)
        if (kiln_template_fits(kiln_template_at(i), &w->workload, p))
            kiln_buf_printf(&out, "%s%s", out.n > 0 ? ", " : "",
                            kiln_template_at(i)->name);
    return out.n > 0 ? out.p : "none";
}

static kiln_status find_template(kiln_arena *a, const kiln_op_work *w,
                                 const kiln_profile *p, const char *name,
                                 const kiln_template **out, kiln_err *err) {
    if (name == NULL) {
        *out = kiln_template_for(&w->workload, p);
        return *out != NULL ? KILN_OK
                            : kiln_fail(err, KILN_ERR_UNSUPPORTED,
                                        "no template fits '%s' on profile '%s'",
                                        w->name, p->name);
    }
    const kiln_template *t = kiln_template_find(kiln_str_from(name));
    if (t == NULL)
        return kiln_fail(
            err, KILN_ERR_ARG, "there is no template '%s'; those that fit '%s' are: %s",
            kiln_str_printable(a, kiln_str_from(name), 60), w->name, fitting(a, w, p));
    KILN_ASSERT(t->fits != NULL && t->apply != NULL, "template '%s' makes nothing",
                t->name);
    const kiln_target_kind kind = kiln_arch_of(p->arch)->kind;
    if (t->target != kind)
        return kiln_fail(
            err, KILN_ERR_ARG,
            "template '%s' is for a %s, profile '%s' is a %s's; those that "
            "fit '%s' are: %s",
            name, kiln_target_kind_name(t->target), p->name,
            kiln_target_kind_name(kind), w->name, fitting(a, w, p));
    if (!kiln_template_fits(t, &w->workload, p))
        return kiln_fail(err, KILN_ERR_ARG,
                         "template '%s' does not fit '%s'; those that do are: %s", name,
                         w->name, fitting(a, w, p));
    *out = t;
    return KILN_OK;
}

/* ---- by cost --------------------------------------------------------------------- */

const char *kiln_work_layouts(kiln_arena *a, const kiln_workload *w,
                              const kiln_profile *p, const kiln_template *t,
                              const kiln_space *s, const kiln_config *c) {
    kiln_scheduled made;
    kiln_buf text;
    kiln_err ignored = {.status = KILN_OK};
    if (kiln_template_apply(a, t, w, p, s, c, &made, &ignored) != KILN_OK)
        return NULL;
    kiln_buf_init(&text, a);
    for (size_t i = 0; i < made.te.n_args; i++)
        if (!kiln_value_is_const(made.te.arg_value[i]))
            kiln_buf_printf(&text, "%s;", kiln_type_text(a, &made.te.arg_type[i]));
    return text.n > 0 ? text.p : "";
}

/* Nearer, then cheaper; among equals the names decide, not who was told first. */
static bool is_better(const kiln_answer *x, const kiln_answer *y) {
    if (y == NULL || x->distance != y->distance)
        return y == NULL || x->distance < y->distance;
    if (x->ns < y->ns || x->ns > y->ns)
        return x->ns < y->ns;
    const int order = strcmp(x->tmpl, y->tmpl);
    return order != 0 ? order < 0
                      : strcmp(x->layouts != NULL ? x->layouts : "",
                               y->layouts != NULL ? y->layouts : "") < 0;
}

/* Is it in the layouts of its template's own rule, and does that template (still) take
 * the work? */
static bool keeps_layouts(kiln_arena *a, const kiln_op_work *w, const kiln_profile *p,
                          const kiln_answer *x) {
    const kiln_template *t = kiln_template_find(kiln_str_from(x->tmpl));
    kiln_space space;
    if (t == NULL || !kiln_template_fits(t, &w->workload, p))
        return false;
    if (x->layouts == NULL)
        return true;
    kiln_space_init(&space, a);
    if (t->space(&w->workload, p, &space, NULL) != KILN_OK)
        return false;
    const kiln_config rule = t->guess(&w->workload, p, &space);
    const char *layouts = kiln_work_layouts(a, &w->workload, p, t, &space, &rule);
    return layouts != NULL && strcmp(layouts, x->layouts) == 0;
}

static bool is_wanted(const kiln_answer *x, const char *tmpl) {
    return tmpl == NULL || strcmp(x->tmpl, tmpl) == 0;
}

/* tmpl: the only template that is wanted; NULL: any. */
static const kiln_answer *cheapest(kiln_arena *a, const kiln_op_work *w,
                                   const kiln_profile *p, const char *tmpl,
                                   const kiln_answers *known) {
    bool *is_out = kiln_array(a, bool, known->n);
    for (size_t i = 0; i < known->n; i++)
        if (is_wanted(&known->v[i], tmpl) && !(known->v[i].ns > 0))
            return &known->v[i];
    for (size_t left = known->n; left > 0; left--) {
        size_t best = known->n;
        for (size_t i = 0; i < known->n; i++)
            if (!is_out[i] && is_wanted(&known->v[i], tmpl) &&
                is_better(&known->v[i], best < known->n ? &known->v[best] : NULL))
                best = i;
        if (best == known->n)
            break;
        if (keeps_layouts(a, w, p, &known->v[best]))
            return &known->v[best];
        KILN_LOG(DEBUG, "choose",
                 "'%s': %s at %.3f us is left out: its layouts are not those of its "
                 "template's rule",
                 w->name, known->v[best].tmpl, known->v[best].ns / 1e3);
        is_out[best] = true;
    }
    return NULL;
}

/* Where the configuration of a template's name comes from; *config NULL: the template's
 * own rule. */
static kiln_status look_up(kiln_arena *a, const kiln_op_work *w, const kiln_profile *p,
                           const kiln_choose_options *o, const char **tmpl,
                           const kiln_json **config, kiln_choice *out, kiln_err *err) {
    const kiln_json *entry = file_entry(o, w, p, o->tmpl);
    kiln_answers known = {.n = 0};
    if (entry != NULL) {
        *tmpl = kiln_json_string(kiln_json_get(entry, "template"), "");
        *config = kiln_json_get(entry, "config");
        out->origin = KILN_ORIGIN_FILE;
        return KILN_OK;
    }
    if (o->oracle != NULL)
        KILN_TRY(o->oracle->ask(o->oracle->user, a, w, p, &known, err));
    const kiln_answer *best = cheapest(a, w, p, o->tmpl, &known);
    *tmpl = best != NULL ? best->tmpl : o->tmpl;
    *config = best != NULL ? best->config : NULL;
    out->origin = best != NULL ? best->origin : KILN_ORIGIN_GUESS;
    out->n_tried = best != NULL ? best->n_tried : 0;
    if (best != NULL && best->ns > 0)
        KILN_LOG(DEBUG, "choose", "'%s': %s, %s at %.3f us, of %zu known", w->name,
                 best->tmpl, kiln_origin_name(best->origin), best->ns / 1e3, known.n);
    else
        KILN_LOG(DEBUG, "choose", "'%s': %s, as %s, of %zu known", w->name,
                 *tmpl != NULL ? *tmpl : "the first template that fits",
                 best != NULL ? "ordered" : "its rule says", known.n);
    return KILN_OK;
}

static kiln_status choose(kiln_arena *a, const kiln_op_work *w, const kiln_profile *p,
                          const kiln_choose_options *o, kiln_choice *out,
                          kiln_err *err) {
    const kiln_json *config = NULL;
    const char *name = NULL;
    KILN_TRY(look_up(a, w, p, o, &name, &config, out, err));
    KILN_TRY(find_template(a, w, p, name, &out->tmpl, err));
    kiln_space_init(&out->space, a);
    KILN_TRY(out->tmpl->space(&w->workload, p, &out->space, err));
    if (config != NULL)
        return kiln_config_parse(config, out->tmpl, &out->space, &out->config, err);
    out->config = out->tmpl->guess(&w->workload, p, &out->space);
    return KILN_OK;
}

kiln_status kiln_choose(kiln_arena *a, const kiln_op_work *w, const kiln_profile *p,
                        const kiln_choose_options *o, kiln_choice *out, kiln_err *err) {
    kiln_choice c = {.tmpl = NULL};
    const kiln_status st = choose(a, w, p, o, &c, err);
    if (st != KILN_OK)
        kiln_note(err, "choosing a configuration for '%s'", w->name);
    else
        *out = c;
    return st;
}
