/* A configuration for work that nobody measured: what the model of all work likes best,
 * where its members agree that it beats the rule.
 *
 * The search is bounded by a number of candidates, not by a clock, so that a build is
 * the same on every machine and on every run: 12 chains of 24 steps, at most 300
 * candidates, each of which is lowered once (bench_tuner says how many a second). */
#include "pipeline/tune/transfer_internal.h"

#include <math.h>
#include <string.h>

enum { N_CHAINS = 12, N_STEPS = 24, SEED = 1 };

/* Every dimension within a factor of four of a shape that was measured with the same
 * template, class of machine, number of threads and numerics. */
static const double farthest = 2;

/* How much more the model likes the candidate than the rule, as far as it is sure. */
static kiln_status margin_of(const kiln_tune_transfer *t, kiln_arena *a,
                             kiln_candidates *c, uint64_t index, uint64_t rule,
                             double *out, kiln_err *err) {
    kiln_encoding_list list = {.begin = {.n = 0}};
    const uint64_t both[] = {rule, index};
    size_t choice = 0;
    *out = 0;
    for (int i = 0; i < 2; i++) {
        const kiln_encoding *e = kiln_candidates_encoding(c, both[i]);
        if (e == NULL)
            return KILN_OK;
        kiln_encoding_list_add(a, &list, e->bytes);
    }
    const kiln_encodings e = kiln_encoding_list_view(&list);
    return kiln_choose_over_rule(&t->model, &e, 0, &choice, out, err);
}

/* The best that a short annealing finds, in the layouts of the rule. */
static kiln_status find(const kiln_tune_transfer *t, kiln_arena *a,
                        const kiln_tune_task *task, uint64_t *index, double *margin,
                        kiln_err *err) {
    const kiln_search_options o = {.seed = SEED,
                                   .n_chains = N_CHAINS,
                                   .n_steps = N_STEPS,
                                   .n_fresh = -1,
                                   .model = t->model.kind,
                                   .global = &t->model};
    kiln_search *s = NULL;
    size_t n = 0;
    *margin = 0;
    KILN_TRY(kiln_search_new(a, &kiln_search_annealing, task, &o, &s, err));
    KILN_TRY(kiln_search_predicted(s, 1, index, &n, err));
    if (n == 0)
        return KILN_OK;
    const kiln_config guess =
        task->tmpl->guess(task->work, task->profile, &task->space);
    return margin_of(t, a, kiln_search_candidates(s), *index,
                     kiln_config_index(&task->space, &guess), margin, err);
}

static kiln_status predict(const kiln_tune_transfer *t, kiln_arena *a,
                           kiln_arena *scratch, const kiln_op_work *w,
                           const kiln_profile *p, int threads, bool *has,
                           kiln_answer *out, kiln_err *err) {
    kiln_tune_task task;
    uint64_t index = 0;
    double margin = 0;
    KILN_TRY(kiln_tune_space(scratch, w, p, NULL, &task, err));
    const char *seen = kiln_tune_seen_text(scratch, w, p, threads, task.tmpl);
    const double far = kiln_tune_distance(&t->seen, seen);
    const double least = kiln_held_out_margin_of(&t->held_out, task.tmpl->name);
    if (task.space.size < 2 || !(far <= farthest) || !isfinite(least)) {
        KILN_LOG(DEBUG, "choose",
                 "'%s' is not predicted: %.1f powers of two from '%s', margin %.2f",
                 w->name, far, seen, least);
        return KILN_OK;
    }
    KILN_TRY(find(t, scratch, &task, &index, &margin, err));
    KILN_LOG(DEBUG, "choose",
             "'%s': the model's choice is %.2f above the rule, of %.2f", w->name,
             margin, least);
    if (!(margin > least))
        return KILN_OK;
    const kiln_config config = kiln_config_at(&task.space, index);
    const kiln_config rule = task.tmpl->guess(task.work, task.profile, &task.space);
    const char *layouts = kiln_tune_activations(scratch, &task, &task.space, &config);
    const char *want = kiln_tune_activations(scratch, &task, &task.space, &rule);
    if (layouts == NULL || want == NULL || strcmp(layouts, want) != 0)
        return KILN_OK;
    const char *text = kiln_tune_config_text(a, task.tmpl, &task.space, &config);
    *out = (kiln_answer){.tmpl = task.tmpl->name,
                         .layouts = kiln_str_dup(a, layouts),
                         .origin = KILN_ORIGIN_PREDICTED};
    KILN_TRY(kiln_json_parse(a, kiln_str_from(text), "prediction", &out->config, err));
    *has = true;
    return KILN_OK;
}

kiln_status kiln_tune_predict(const kiln_tune_transfer *t, kiln_arena *a,
                              const kiln_op_work *w, const kiln_profile *p, int threads,
                              bool *has, kiln_answer *out, kiln_err *err) {
    kiln_arena scratch = {0};
    *has = false;
    if (!kiln_held_out_beats_rule(&t->held_out))
        return KILN_OK;
    const kiln_status st = predict(t, a, &scratch, w, p, threads, has, out, err);
    kiln_arena_fini(&scratch);
    if (st != KILN_OK)
        kiln_note(err, "predicting a configuration for '%s'", w->name);
    return st;
}
