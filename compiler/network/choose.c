/* Which template, which configuration: from a file, from an adviser, or by the
 * template's own rule. */
#include "compiler/network/choose.h"

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

double kiln_choice_amplification(const kiln_choice *c) {
    return kiln_template_amplification(c->tmpl, &c->space, &c->config);
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
        if (kiln_template_at(i)->fits(&w->workload, p))
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
    if (!t->fits(&w->workload, p))
        return kiln_fail(err, KILN_ERR_ARG,
                         "template '%s' does not fit '%s'; those that do are: %s", name,
                         w->name, fitting(a, w, p));
    *out = t;
    return KILN_OK;
}

/* Where the configuration of a template's name comes from; *config NULL: the template's
 * own rule. */
static kiln_status look_up(kiln_arena *a, const kiln_op_work *w, const kiln_profile *p,
                           const kiln_choose_options *o, const char **tmpl,
                           const kiln_json **config, kiln_choice *out, kiln_err *err) {
    const char *wanted = o->tmpl;
    const kiln_json *entry = file_entry(o, w, p, wanted);
    kiln_advice advice = {.tmpl = NULL};
    if (entry != NULL) {
        *tmpl = kiln_json_string(kiln_json_get(entry, "template"), "");
        *config = kiln_json_get(entry, "config");
        out->origin = KILN_ORIGIN_FILE;
        return KILN_OK;
    }
    if (o->adviser != NULL)
        KILN_TRY(o->adviser->ask(o->adviser->user, a, w, p, &advice, err));
    if (advice.tmpl != NULL && (wanted == NULL || strcmp(wanted, advice.tmpl) == 0)) {
        *tmpl = advice.tmpl;
        *config = advice.config;
        out->origin = advice.origin;
        out->n_tried = advice.n_tried;
        return KILN_OK;
    }
    *tmpl = wanted;
    *config = NULL;
    out->origin = KILN_ORIGIN_GUESS;
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
