/* What there is to tune: the kernels that a build of the network would make, which no
 * code has to be generated for. */
#include "base/numbers.h"
#include "compiler/network/groups.h"
#include "pipeline/network/network.h"
#include "pipeline/tune/tune_internal.h"

#include <string.h>

/* What multiplies and adds: convolutions, products, attention, recurrent networks. */
static bool takes_node(const kiln_node *anchor) {
    kiln_cost cost;
    kiln_node_cost(anchor, &cost);
    return anchor->op->fuse == KILN_FUSE_OUT_FUSABLE ||
           (anchor->op->compute != NULL && cost.muladds > 0);
}

bool kiln_tune_takes(const kiln_op_work *w) { return takes_node(w->workload.anchor); }

bool kiln_tune_lays_out(const kiln_op_work *w, const kiln_profile *p) {
    const kiln_template *t = kiln_template_for(&w->workload, p);
    return t != NULL && t->layout_knobs != NULL;
}

bool kiln_tune_is_conversion(const kiln_op_work *w) {
    return w->workload.anchor->op == &kiln_op_identity && w->graph->nodes.n == 1;
}

double kiln_tune_direct_flops(const kiln_op_work *w) {
    enum { F32_BYTES = 4 };
    const kiln_node *n = w->workload.anchor;
    kiln_cost cost;
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i] != NULL && kiln_dtype_bytes(n->in[i]->type.dtype) < F32_BYTES)
            return 0;
    kiln_node_cost(n, &cost);
    return 2 * (double)cost.muladds;
}

static kiln_status copy_work(kiln_arena *a, const kiln_op_work *w, kiln_op_work *out,
                             kiln_err *err) {
    out->graph = kiln_graph_clone(a, w->graph);
    /* As its own task it stands without neighbours: keys know no layouts either. */
    for (size_t i = 0; i < out->graph->values.n; i++) {
        out->graph->values.v[i]->type.layout = (kiln_layout){.n_order = 0};
        out->graph->values.v[i]->type.facts = 0;
    }
    out->name = kiln_str_dup(a, w->workload.anchor->name);
    out->key = kiln_str_from(kiln_str_dupv(a, w->key));
    out->anchor = kiln_str_from(kiln_str_dupv(a, w->anchor));
    out->cost = w->cost;
    return kiln_workload_of(out->graph, &out->workload, err);
}

/* Is there anything to choose? */
static kiln_status has_choice(kiln_arena *a, const kiln_op_work *w,
                              const kiln_profile *p, bool *out, kiln_err *err) {
    kiln_tune_task t;
    *out = false; /* what a GPU has no template for is its host's */
    if (kiln_profile_is_gpu(p) && kiln_template_for(&w->workload, p) == NULL)
        return KILN_OK;
    KILN_TRY(kiln_tune_task_make(a, &w->workload, p, NULL, &t, err));
    *out = t.space.size > 1;
    return KILN_OK;
}

/* Kernels by their keys, as the groups of a build say: nothing is compiled. */
typedef struct listing {
    kiln_arena *a;
    kiln_arena scratch; /* of one group */
    const kiln_profile *profile;
    kiln_numbers index_of; /* key -> index + 1 */
    kiln_tune_works works;
} listing;

static kiln_status list_group(listing *l, const kiln_graph *g, const kiln_group *group,
                              double runs, kiln_err *err) {
    kiln_op_work w;
    kiln_tune_work work = {.calls = runs};
    bool choice = false;
    kiln_graph *part = kiln_group_graph(&l->scratch, g, group, NULL);
    if (part->outputs.n == 0)
        return KILN_OK; /* nobody reads it */
    KILN_TRY(kiln_op_work_of(&l->scratch, part->name, part, &w, err));
    const size_t at = kiln_numbers_get(&l->index_of, w.key);
    KILN_ASSERT(at <= l->works.list.n, "work %zu of %zu", at - 1, l->works.list.n);
    if (at != 0) {
        l->works.list.v[at - 1].calls += runs;
        return KILN_OK;
    }
    KILN_TRY(has_choice(&l->scratch, &w, l->profile, &choice, err));
    if (!choice)
        return KILN_OK;
    KILN_TRY(copy_work(l->a, &w, &work.op, err));
    kiln_vec_push(l->a, &l->works.list, work);
    kiln_numbers_set(l->a, &l->index_of, work.op.key, l->works.list.n);
    return KILN_OK;
}

static kiln_status add_group(void *user, const kiln_graph *g, const kiln_group *group,
                             double runs, kiln_err *err) {
    listing *l = user;
    if (group->anchor == NULL || !takes_node(group->anchor))
        return KILN_OK;
    const kiln_status st = list_group(l, g, group, runs, err);
    kiln_arena_reset(&l->scratch);
    return st;
}

kiln_status kiln_tune_works_of_graph(kiln_arena *a, const kiln_graph *g,
                                     const kiln_profile *p, kiln_tune_works *out,
                                     kiln_err *err) {
    listing l = {.a = a, .profile = p};
    KILN_TRY(kiln_network_graph_for(a, g, p, &g, err));
    kiln_arena_init(&l.scratch);
    const kiln_status st = kiln_network_each_group(g, add_group, &l, err);
    kiln_arena_fini(&l.scratch);
    if (st != KILN_OK) {
        kiln_note(err, "listing the kernels of '%s'", g->name);
        return st;
    }
    if (l.works.list.n == 0)
        return kiln_fail(err, KILN_ERR_ARG,
                         "'%s' has nothing to tune: no convolution, product, "
                         "attention or recurrent layer whose kernel has choices",
                         g->name);
    *out = l.works;
    return KILN_OK;
}

kiln_status kiln_tune_works_of_lines(kiln_arena *a, const kiln_op_lines *lines,
                                     kiln_tune_works *out, kiln_err *err) {
    kiln_tune_works works = {0};
    kiln_numbers index_of = {0}; /* key -> index + 1 */
    for (size_t i = 0; i < lines->list.n; i++) {
        kiln_tune_work w = {.calls = 1};
        KILN_TRY(kiln_op_work_make(a, &lines->list.v[i], &w.op, err));
        const size_t at = kiln_numbers_get(&index_of, w.op.key);
        if (at != 0) {
            works.list.v[at - 1].calls++;
            continue;
        }
        kiln_vec_push(a, &works.list, w);
        kiln_numbers_set(a, &index_of, w.op.key, works.list.n);
    }
    *out = works;
    return KILN_OK;
}

kiln_status kiln_tune_works_for(kiln_arena *a, const kiln_template *tmpl,
                                const kiln_profile *p, kiln_tune_works *works,
                                kiln_err *err) {
    kiln_tune_works kept = {0};
    for (size_t i = 0; i < works->list.n; i++) {
        const kiln_workload *w = &works->list.v[i].op.workload;
        kiln_tune_task t;
        if (!kiln_template_fits(tmpl, w, p))
            continue;
        KILN_TRY(kiln_tune_task_make(a, w, p, tmpl, &t, err));
        if (t.space.size > 1)
            kiln_vec_push(a, &kept.list, works->list.v[i]);
    }
    if (kept.list.n == 0)
        return kiln_fail(
            err, KILN_ERR_ARG,
            "template '%s' takes none of the %zu kernel%s, or has no choice "
            "for them",
            tmpl->name, works->list.n, kiln_plural((int64_t)works->list.n));
    *works = kept;
    return KILN_OK;
}

/* ---- spaces that keep the layouts --------------------------------------------------
 */

const char *kiln_tune_activations(kiln_arena *scratch, const kiln_tune_task *t,
                                  const kiln_space *space, const kiln_config *c) {
    return kiln_work_layouts(scratch, t->work, t->profile, t->tmpl, space, c);
}

void kiln_tune_keep_options(kiln_arena *a, kiln_knob *knob, const int *kept, int n) {
    KILN_ASSERT(n > 0 && n <= knob->n, "knob '%s' keeps %d options of %d", knob->name,
                n, knob->n);
    if (knob->value != NULL) {
        int64_t *v = kiln_array(a, int64_t, n * knob->n_parts);
        for (int i = 0; i < n; i++)
            memcpy(&v[(ptrdiff_t)i * knob->n_parts],
                   &knob->value[(ptrdiff_t)kept[i] * knob->n_parts],
                   (size_t)knob->n_parts * sizeof *v);
        knob->value = v;
    } else {
        const char **word = kiln_array(a, const char *, n);
        for (int i = 0; i < n; i++)
            word[i] = knob->word[kept[i]];
        knob->word = word;
    }
    knob->n = n;
}

/* Of each knob the options that, chosen alone, leave the activations' layouts as the
 * basis has them. False: it makes no schedule. */
static bool keep_layouts(kiln_arena *a, kiln_tune_task *t, const kiln_config *basis) {
    kiln_arena scratch;
    const kiln_space whole = t->space;
    kiln_arena_init(&scratch);
    const char *found = kiln_tune_activations(&scratch, t, &whole, basis);
    const char *want = kiln_str_dup(a, found != NULL ? found : "");
    t->space.size = 1;
    for (int k = 0; k < whole.n; k++) {
        int *kept = kiln_array(a, int, whole.knob[k].n);
        int n = 0;
        for (int i = 0; i < whole.knob[k].n; i++) {
            kiln_config c = *basis;
            c.option[k] = (int16_t)i;
            kiln_arena_reset(&scratch);
            const char *got = kiln_tune_activations(&scratch, t, &whole, &c);
            if (got == NULL || strcmp(got, want) == 0)
                kept[n++] = i;
        }
        kiln_tune_keep_options(a, &t->space.knob[k], kept, n);
        t->space.size *= (uint64_t)n;
    }
    kiln_arena_fini(&scratch);
    return found != NULL;
}

kiln_status kiln_tune_space_like(kiln_arena *a, const kiln_op_work *w,
                                 const kiln_profile *p, const kiln_template *tmpl,
                                 const char *like, kiln_tune_task *out, kiln_err *err) {
    kiln_tune_task t;
    kiln_config basis;
    KILN_TRY(kiln_tune_task_make(a, &w->workload, p, tmpl, &t, err));
    if (like == NULL)
        basis = t.tmpl->guess(t.work, p, &t.space);
    else if (!kiln_tune_config_read(a, t.tmpl, &t.space, like, &basis))
        return kiln_fail(err, KILN_ERR_ARG, "template '%s' has no configuration %s",
                         t.tmpl->name, like);
    if (!keep_layouts(a, &t, &basis))
        return kiln_fail(err, KILN_ERR_LIB, "template '%s' refuses %s for '%s'",
                         t.tmpl->name, like != NULL ? like : "its own rule", w->name);
    *out = t;
    return KILN_OK;
}

kiln_status kiln_tune_space(kiln_arena *a, const kiln_op_work *w, const kiln_profile *p,
                            const kiln_template *tmpl, kiln_tune_task *out,
                            kiln_err *err) {
    return kiln_tune_space_like(a, w, p, tmpl, NULL, out, err);
}

kiln_status kiln_tune_templates_of(kiln_arena *a, const kiln_op_work *w,
                                   const kiln_profile *p, const kiln_template *tmpl,
                                   kiln_tune_templates *out, kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_tune_task t;
    KILN_TRY(kiln_tune_task_make(a, &w->workload, p, tmpl, &t, err));
    kiln_vec_push(a, out, t.tmpl);
    for (int i = 0; tmpl == NULL && kiln_template_at(i) != NULL; i++) {
        const kiln_template *other = kiln_template_at(i);
        kiln_arena_reset(&scratch);
        if (other != out->v[0] && other != &kiln_template_generic &&
            kiln_template_fits(other, &w->workload, p) &&
            kiln_tune_space(&scratch, w, p, other, &t, NULL) == KILN_OK &&
            t.space.size > 1)
            kiln_vec_push(a, out, other);
    }
    kiln_arena_fini(&scratch);
    return KILN_OK;
}

/* ---- configurations as text --------------------------------------------------------
 */

const char *kiln_tune_config_text(kiln_arena *a, const kiln_template *tmpl,
                                  const kiln_space *space, const kiln_config *c) {
    kiln_json_writer w;
    kiln_buf text;
    kiln_buf_init(&text, a);
    kiln_json_writer_init(&w, &text);
    w.compact_from = 1;
    kiln_config_put(&w, tmpl, space, c);
    return text.p;
}

const char *kiln_tune_index_text(kiln_arena *a, const kiln_tune_task *t,
                                 uint64_t index) {
    KILN_ASSERT(index < t->space.size, "configuration %llu of %llu",
                (unsigned long long)index, (unsigned long long)t->space.size);
    const kiln_config c = kiln_config_at(&t->space, index);
    return kiln_tune_config_text(a, t->tmpl, &t->space, &c);
}

bool kiln_tune_config_read(kiln_arena *scratch, const kiln_template *tmpl,
                           const kiln_space *space, const char *text,
                           kiln_config *out) {
    const kiln_json *json = NULL;
    return kiln_json_parse(scratch, kiln_str_from(text), "configuration", &json,
                           NULL) == KILN_OK &&
           kiln_config_parse(json, tmpl, space, out, NULL) == KILN_OK;
}

kiln_db_task kiln_tune_task_of(kiln_arena *a, const kiln_op_work *w,
                               const kiln_profile *p, int threads, const char *cache) {
    kiln_buf json;
    kiln_buf_init(&json, a);
    kiln_profile_json(&json, p);
    return (kiln_db_task){
        .workload = kiln_str_dupv(a, w->key),
        .anchor = kiln_str_dupv(a, w->anchor),
        .profile = p->name,
        .profile_json = json.p,
        /* a GPU's are of its grid */
        .threads = threads > 0 && !kiln_profile_is_gpu(p) ? threads : 1,
        .numerics = p->numerics == KILN_NUMERICS_STRICT ? "strict" : "fast",
        .cache = cache};
}

kiln_status kiln_tune_subject_read(kiln_arena *a, const kiln_db_task *t,
                                   const kiln_template *tmpl, kiln_tune_subject *out,
                                   kiln_err *err) {
    const kiln_json *json = NULL;
    kiln_graph *g = NULL;
    KILN_TRY(kiln_json_parse(a, kiln_str_from(t->profile_json), "profile", &json, err));
    KILN_TRY(kiln_profile_read(a, json, "profile", &out->profile, err));
    KILN_TRY(kiln_workload_read(a, kiln_str_from(t->workload), &g, err));
    KILN_TRY(kiln_op_work_of(a, g->name, g, &out->work, err));
    if (!kiln_str_is(out->work.anchor, t->anchor))
        return kiln_fail(err, KILN_ERR_PARSE, "its anchor would be '%.*s'",
                         KILN_STR_ARG(out->work.anchor));
    KILN_TRY(kiln_tune_task_make(a, &out->work.workload, &out->profile, tmpl,
                                 &out->task, err));
    out->rule = out->task.tmpl->guess(out->task.work, &out->profile, &out->task.space);
    out->activations =
        kiln_tune_activations(a, &out->task, &out->task.space, &out->rule);
    if (out->activations == NULL)
        return kiln_fail(err, KILN_ERR_LIB, "template '%s' refuses its own rule",
                         out->task.tmpl->name);
    return KILN_OK;
}
