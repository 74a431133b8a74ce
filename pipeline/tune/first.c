/* What a search begins with: what a build would take without its database, ready
 * records, and hints of other tuners. */
#include "pipeline/tune/hints.h"
#include "pipeline/tune/run_internal.h"

/* What ready records (or else the template's rule) choose of the template that is
 * tuned, as a number of the space that is searched. */
static bool chosen(kiln_tuning *r, const kiln_tuned_work *t, bool is_hint,
                   uint64_t *index, bool *is_ready) {
    kiln_config like;
    if (t->work->like != NULL) {
        const bool is_there = kiln_tune_config_read(
            &r->scratch, t->task.tmpl, &t->task.space, t->work->like, &like);
        *index = is_there ? kiln_config_index(&t->task.space, &like) : 0;
        *is_ready = false;
        return is_there;
    }
    kiln_tune_advice advice = {.ready = r->o->ready,
                               .is_hint = is_hint,
                               .threads = r->o->threads,
                               .arena = &r->scratch};
    const kiln_oracle oracle = kiln_tune_oracle(&advice);
    const kiln_choose_options choose = {.tmpl = t->task.tmpl->name, .oracle = &oracle};
    kiln_choice c;
    kiln_buf text;
    kiln_config config;
    kiln_buf_init(&text, &r->scratch);
    if (kiln_choose(&r->scratch, &t->work->op, r->o->profile, &choose, &c, NULL) !=
            KILN_OK ||
        c.tmpl != t->task.tmpl)
        return false;
    kiln_config_json(&text, c.tmpl, &c.space, &c.config);
    *is_ready = c.origin == KILN_ORIGIN_TUNED || c.origin == KILN_ORIGIN_TIMED ||
                c.origin == KILN_ORIGIN_TRANSFERRED;
    if (!kiln_tune_config_read(&r->scratch, t->task.tmpl, &t->task.space, text.p,
                               &config))
        return false;
    *index = kiln_config_index(&t->task.space, &config);
    return true;
}

size_t kiln_tune_first(kiln_tuning *r, kiln_tuned_work *t,
                       uint64_t first[KILN_TUNE_FIRST]) {
    bool is_ready = false;
    size_t n = 0;
    t->has_first = chosen(r, t, false, &t->first, &t->row.is_from_ready);
    if (t->has_first)
        first[n++] = t->first;
    if (r->o->ready != NULL && chosen(r, t, true, &first[n], &is_ready) && is_ready &&
        (n == 0 || first[n] != t->first))
        n++;
    if (r->o->hints != NULL)
        n += kiln_tune_hints_for(&r->scratch, r->o->hints, &t->task,
                                 KILN_TUNE_FIRST - n, first + n);
    KILN_ASSERT(n <= KILN_TUNE_FIRST, "%zu come first", n);
    return n;
}
