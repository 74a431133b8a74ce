/* The corpus as text: one JSON object a line.
 *
 *     {"kiln_corpus": 1}
 *     {"name": "C2", "workload": KEY, "anchor": KEY, "profile": {...}, "threads": 1,
 *      "template": "conv_direct", "knobs": {"oc_block": [8, 16], ...}, "rule": 1,
 *      "ns": [...]}
 *
 * `rule`: the configuration of the part that the template's rule chose when it was
 * measured; a rule that changed later leaves what is recorded as good as it was. Without
 * it: what the rule chooses today, if the part has it.
 * `ns`: of each configuration of the part, the first knob fastest; 0: nothing is known
 * or it did not run, negative: stopped early, at least so slow. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "pipeline/tune/corpus_internal.h"

enum { CORPUS_VERSION = 1, MAX_CONFIGS = 1 << 16 };

/* ---- writing --------------------------------------------------------------------- */

static void put_knobs(kiln_json_writer *w, const kiln_space *s) {
    kiln_json_name(w, "knobs");
    kiln_json_begin_object(w);
    for (int k = 0; k < s->n; k++) {
        kiln_json_name(w, s->knob[k].name);
        kiln_json_begin_array(w);
        for (int i = 0; i < s->knob[k].n; i++)
            kiln_knob_put_option(w, &s->knob[k], i);
        kiln_json_end_array(w);
    }
    kiln_json_end_object(w);
}

void kiln_corpus_put_head(kiln_buf *out) {
    kiln_buf_printf(out, "{\"kiln_corpus\": %d}\n", CORPUS_VERSION);
}

void kiln_corpus_put_work(kiln_buf *out, kiln_arena *scratch, const char *name,
                          const kiln_db_task *task, const kiln_tune_task *t,
                          const char *rule, const double *ns) {
    kiln_config chosen;
    kiln_json_writer w;
    kiln_json_writer_init(&w, out);
    w.compact_from = 0;
    kiln_json_begin_object(&w);
    kiln_json_member_str(&w, "name", name);
    kiln_json_member_str(&w, "workload", task->workload);
    kiln_json_member_str(&w, "anchor", task->anchor);
    kiln_json_name(&w, "profile");
    kiln_profile_put(&w, t->profile);
    kiln_json_member_i64(&w, "threads", task->threads);
    kiln_json_member_str(&w, "template", t->tmpl->name);
    put_knobs(&w, &t->space);
    if (kiln_tune_config_read(scratch, t->tmpl, &t->space, rule, &chosen))
        kiln_json_member_i64(&w, "rule",
                             (int64_t)kiln_config_index(&t->space, &chosen));
    kiln_json_name(&w, "ns");
    kiln_json_begin_array(&w);
    for (uint64_t i = 0; i < t->space.size; i++)
        kiln_json_put_i64(&w, (int64_t)round(ns[i]));
    kiln_json_end_array(&w);
    kiln_json_end_object(&w);
    kiln_buf_puts(out, "\n");
}

/* ---- reading --------------------------------------------------------------------- */

/* Where the knob has the option that the text names; -1: nowhere. */
static int option_of(kiln_arena *scratch, const kiln_knob *knob,
                     const kiln_json *value) {
    kiln_buf want, got;
    kiln_json_writer w;
    kiln_buf_init(&want, scratch);
    kiln_json_writer_init(&w, &want);
    w.compact_from = 0;
    kiln_json_put(&w, value);
    for (int i = 0; i < knob->n; i++) {
        kiln_buf_init(&got, scratch);
        kiln_json_writer_init(&w, &got);
        w.compact_from = 0;
        kiln_knob_put_option(&w, knob, i);
        if (kiln_str_eq(kiln_buf_str(&got), kiln_buf_str(&want)))
            return i;
    }
    return -1;
}

/* Narrows one knob of the whole space to the options of the line. */
static kiln_status read_knob(kiln_arena *a, const kiln_json *knobs, kiln_knob *knob,
                             kiln_err *err) {
    const kiln_json *list = kiln_json_get(knobs, knob->name);
    int *kept = kiln_array(a, int, knob->n), n = 0;
    for (const kiln_json *v = kiln_json_first(list); v != NULL; v = kiln_json_next(v)) {
        const int i = option_of(a, knob, v);
        if (i < 0 || n == knob->n || (n > 0 && kept[n - 1] >= i))
            return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                             "knob '%s' has other options today", knob->name);
        kept[n++] = i;
    }
    if (n == 0)
        return kiln_fail(err, KILN_ERR_UNSUPPORTED, "it says nothing of knob '%s'",
                         knob->name);
    kiln_tune_keep_options(a, knob, kept, n);
    return KILN_OK;
}

/* A part from before its template's last knobs has none of them: an option that nobody
 * has drawn is the first, which is what the template did then. */
static void drop_later(const kiln_json *knobs, kiln_space *s) {
    while (s->n > 0 && s->knob[s->n - 1].is_later &&
           kiln_json_get(knobs, s->knob[s->n - 1].name) == NULL)
        s->n--;
}

static kiln_status read_part(kiln_arena *a, const kiln_json *line, kiln_space *s,
                             kiln_err *err) {
    const kiln_json *knobs = kiln_json_get(line, "knobs");
    uint64_t size = 1;
    drop_later(knobs, s);
    for (int k = 0; k < s->n; k++) {
        KILN_TRY(read_knob(a, knobs, &s->knob[k], err));
        size *= (uint64_t)s->knob[k].n;
        if (size > MAX_CONFIGS)
            return kiln_fail(err, KILN_ERR_LIMIT,
                             "more than %d configurations in one part",
                             (int)MAX_CONFIGS);
    }
    if ((size_t)s->n != kiln_json_size(knobs))
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         "it has %zu knobs, the template has %d", kiln_json_size(knobs),
                         s->n);
    s->size = size;
    return KILN_OK;
}

static kiln_status read_times(kiln_arena *a, const kiln_json *line,
                              kiln_corpus_work *out, kiln_err *err) {
    const kiln_json *v = kiln_json_get(line, "ns");
    const size_t n = (size_t)out->task.space.size;
    uint64_t *recorded = kiln_array(a, uint64_t, n);
    if (kiln_json_size(v) != n)
        return kiln_fail(err, KILN_ERR_PARSE, "%zu times of %zu configurations",
                         kiln_json_size(v), n);
    out->trial = kiln_array(a, kiln_trial, n);
    v = kiln_json_first(v);
    for (size_t i = 0; i < n; i++, v = kiln_json_next(v)) {
        const double ns = kiln_json_number(v, 0);
        out->trial[i] = (kiln_trial){.index = i,
                                     .outcome = ns > 0   ? KILN_OUTCOME_MEASURED
                                                : ns < 0 ? KILN_OUTCOME_SLOW
                                                         : KILN_OUTCOME_LOST,
                                     .cost_ns = fabs(ns)};
        if (out->trial[i].outcome == KILN_OUTCOME_LOST)
            continue;
        KILN_ASSERT(out->n_recorded < n, "more than %zu times", n);
        recorded[out->n_recorded++] = i;
        if (ns > 0 && (!(out->best.cost_ns > 0) || ns < out->best.cost_ns))
            out->best = out->trial[i];
    }
    out->recorded = recorded;
    if (!(out->best.cost_ns > 0))
        return kiln_fail(err, KILN_ERR_PARSE, "none of its configurations ran");
    return KILN_OK;
}

/* The rule as the whole space has it, where it is in the part. */
static void find_rule(kiln_arena *scratch, const kiln_tune_subject *s,
                      kiln_corpus_work *out) {
    const kiln_space *whole = &s->task.space;
    const char *text = kiln_tune_config_text(scratch, s->task.tmpl, whole, &s->rule);
    kiln_config c;
    out->rule = (kiln_trial){.outcome = KILN_OUTCOME_LOST};
    if (kiln_tune_config_read(scratch, s->task.tmpl, &out->task.space, text, &c))
        out->rule = out->trial[kiln_config_index(&out->task.space, &c)];
}

static kiln_status read_rule(kiln_arena *scratch, const kiln_json *line,
                             const kiln_tune_subject *s, kiln_corpus_work *out,
                             kiln_err *err) {
    const kiln_json *v = kiln_json_get(line, "rule");
    int64_t index = -1;
    if (v == NULL) {
        find_rule(scratch, s, out);
        return KILN_OK;
    }
    if (!kiln_json_i64(v, &index) || index < 0 ||
        (uint64_t)index >= out->task.space.size)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "its rule is none of its %" PRIu64 " configurations",
                         out->task.space.size);
    out->rule = out->trial[index];
    return KILN_OK;
}

static kiln_status read_work(kiln_arena *a, const kiln_json *line,
                             kiln_corpus_work *out, kiln_err *err) {
    kiln_tune_subject *s = kiln_new(a, kiln_tune_subject);
    kiln_buf profile;
    kiln_json_writer w;
    kiln_buf_init(&profile, a);
    kiln_json_writer_init(&w, &profile);
    if (kiln_json_get(line, "profile") != NULL)
        kiln_json_put(&w, kiln_json_get(line, "profile"));
    const kiln_template *tmpl = kiln_template_find(
        kiln_str_from(kiln_json_string(kiln_json_get(line, "template"), "")));
    const kiln_db_task task = {
        .workload = kiln_json_string(kiln_json_get(line, "workload"), ""),
        .anchor = kiln_json_string(kiln_json_get(line, "anchor"), ""),
        .profile_json = profile.p};
    out->name = kiln_json_string(kiln_json_get(line, "name"), "");
    out->anchor = task.anchor;
    if (!kiln_json_is_object(kiln_json_get(line, "profile")))
        return kiln_fail(err, KILN_ERR_PARSE, "it names no profile");
    if (tmpl == NULL)
        return kiln_fail(err, KILN_ERR_UNSUPPORTED, "its template is none of today's");
    KILN_TRY(kiln_tune_subject_read(a, &task, tmpl, s, err));
    out->task = s->task;
    KILN_TRY(read_part(a, line, &out->task.space, err));
    KILN_TRY(read_times(a, line, out, err));
    return read_rule(a, line, s, out, err);
}

static kiln_status read_line(kiln_arena *a, kiln_str text, bool is_first,
                             kiln_corpus *out, kiln_err *err) {
    const kiln_json *line = NULL;
    int64_t version = 0;
    kiln_corpus_work *work = NULL;
    KILN_TRY(kiln_json_parse(a, text, "corpus", &line, err));
    if (is_first)
        return kiln_json_i64(kiln_json_get(line, "kiln_corpus"), &version) &&
                       version == CORPUS_VERSION
                   ? KILN_OK
                   : kiln_fail(err, KILN_ERR_UNSUPPORTED,
                               "this is no corpus of version %d", (int)CORPUS_VERSION);
    kiln_vec_push(a, &out->work, (kiln_corpus_work){.name = NULL});
    work = &out->work.v[out->work.n - 1];
    return read_work(a, line, work, err);
}

/* ---- encoded --------------------------------------------------------------------- */

static void add_candidates(kiln_arena *a, kiln_corpus_work *w) {
    int n = 0;
    while (kiln_cost_model_at(n) != NULL)
        n++;
    w->candidates = kiln_array(a, kiln_candidates *, n);
    for (int i = 0; i < n; i++) {
        int same = 0; /* the first that encodes as this one does */
        while (kiln_cost_model_at(same)->encode != kiln_cost_model_at(i)->encode)
            same++;
        w->candidates[i] =
            same < i ? w->candidates[same]
                     : kiln_candidates_new(a, &w->task, kiln_cost_model_at(i));
    }
}

kiln_candidates *kiln_corpus_candidates(const kiln_corpus_work *w,
                                        const kiln_cost_model_kind *kind) {
    for (int i = 0; kiln_cost_model_at(i) != NULL; i++)
        if (kiln_cost_model_at(i) == kind)
            return w->candidates[i];
    return NULL;
}

kiln_status kiln_corpus_read(kiln_arena *a, kiln_str text, const char *name,
                             kiln_corpus *out, kiln_err *err) {
    kiln_str line;
    size_t at = 0;
    *out = (kiln_corpus){.work = {.n = 0}};
    while (kiln_str_cut(&text, '\n', &line)) {
        at++;
        if (line.n == 0)
            continue;
        const kiln_status st = read_line(a, line, at == 1, out, err);
        if (st != KILN_OK) {
            kiln_note(err,
                      "reading line %zu of the corpus '%s'; 'kiln study autotvm "
                      "--collect' measures it anew",
                      at, name);
            return st;
        }
    }
    /* Tasks do not move any more. */
    for (size_t i = 0; i < out->work.n; i++)
        add_candidates(a, &out->work.v[i]);
    return out->work.n > 0
               ? KILN_OK
               : kiln_fail(err, KILN_ERR_PARSE, "corpus '%s' has no work in it", name);
}
