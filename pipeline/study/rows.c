/* What every row of a study says. */
#include "pipeline/study/study_internal.h"

#include <string.h>

#include "zoo/zoo.h"

enum { BOOTSTRAP = 1000 };
static const double level = 0.95;

void kiln_study_add_up(kiln_doc_study_row *row, const kiln_sample_list *own,
                       const kiln_sample_list *first) {
    static const double one = 1;
    kiln_arena scratch = {0};
    size_t n, n_first, n_ms;
    KILN_ASSERT(own->n > 0, "a row of '%s' without samples", row->model);
    double *ms = kiln_samples_ms(&scratch, own, !kiln_samples_suffice(own), &n_ms);
    row->n_samples = own->n;
    row->n_disturbed = kiln_samples_disturbed(own);
    row->ms = kiln_stats_ratio(&scratch, ms, n_ms, &one, 1, level, BOOTSTRAP, 1);
    row->q1_ms = kiln_stats_quantile(&scratch, ms, n_ms, 0.25);
    row->q3_ms = kiln_stats_quantile(&scratch, ms, n_ms, 0.75);
    if (first != NULL && first->n > 0) {
        /* Both sides by one rule. */
        const bool all = !kiln_samples_suffice(own) || !kiln_samples_suffice(first);
        const double *y = kiln_samples_ms(&scratch, own, all, &n);
        const double *x = kiln_samples_ms(&scratch, first, all, &n_first);
        row->gain = kiln_stats_ratio(&scratch, x, n_first, y, n, level, BOOTSTRAP, 1);
    }
    if (first == own) /* itself */
        row->gain = (kiln_stats_interval){1, 1, 1};
    kiln_arena_fini(&scratch);
}

kiln_doc_study_row kiln_study_failed(kiln_arena *a, const char *group,
                                     const char *model, const char *way, int threads,
                                     const char *state, const char *problem) {
    const kiln_str cause = {problem, strcspn(problem, "\n")}; /* its first line */
    return (kiln_doc_study_row){.group = kiln_str_dup(a, group),
                                .model = kiln_str_dup(a, model),
                                .way = kiln_str_dup(a, way),
                                .threads = threads,
                                .state = state,
                                .problem = kiln_str_dupv(a, cause)};
}

kiln_doc_study_row kiln_study_rival_row(kiln_arena *a, const char *group,
                                        const char *model, int threads,
                                        const kiln_rival *r,
                                        const kiln_sample_list *first) {
    const bool is_measured = r->state == KILN_RIVAL_MEASURED && r->sample.n > 0;
    kiln_doc_study_row row = kiln_study_failed(a, group, model, r->baseline->name,
                                               threads, kiln_rival_state_name(r->state),
                                               r->reason != NULL ? r->reason : "");
    if (r->version != NULL)
        row.version = kiln_str_dup(a, r->version);
    if (r->file != NULL)
        row.file = kiln_str_dup(a, r->file);
    if (!is_measured)
        return row;
    row.problem = NULL;
    kiln_study_add_up(&row, &r->sample, first);
    return row;
}

kiln_doc_study_row kiln_study_own_row(kiln_arena *a, const char *group,
                                      const char *model, const kiln_net_bench *b,
                                      const kiln_net_side *side,
                                      const kiln_sample_list *first) {
    kiln_doc_study_row row =
        kiln_study_failed(a, group, model, "kiln", side->threads, "measured", "");
    row.problem = NULL;
    row.steps = b->subject->n_steps;
    row.conversions = b->subject->n_conversions;
    kiln_study_add_up(&row, &side->sample, first);
    return row;
}

void kiln_study_begin(kiln_arena *a, const char *name, const kiln_study_options *o,
                      kiln_doc_study *out) {
    kiln_machine m;
    kiln_machine_read(a, &m);
    *out = (kiln_doc_study){.own = kiln_doc_own_of(a),
                            .study = name,
                            .machine = {.cpu = m.cpu[0] != '\0' ? m.cpu : NULL,
                                        .os = m.os,
                                        .cores = m.cores,
                                        .memory_bytes = m.memory_bytes},
                            .profile = o->profile->name,
                            .rounds = o->rounds};
}

kiln_status kiln_study_settle(kiln_arena *a, kiln_doc_study_part *part,
                              const char *model, const char *way, int threads,
                              kiln_status st, kiln_err *err) {
    if (st == KILN_OK || st == KILN_ERR_INTERRUPTED || kiln_interrupted())
        return st;
    const kiln_doc_study_row row =
        kiln_study_failed(a, model, model, way, threads, "failed", err->text);
    kiln_vec_push(a, &part->row, row);
    kiln_err_clear(err);
    return KILN_OK;
}

kiln_status kiln_study_end(kiln_doc_study *s, kiln_status st, kiln_doc_study *out,
                           kiln_err *err) {
    s->is_interrupted = st != KILN_OK || kiln_interrupted();
    *out = *s;
    kiln_err_clear(err);
    return KILN_OK;
}

/* ---- models ---------------------------------------------------------------------- */

static const char zoo_prefix[] = "zoo:";

const char *kiln_study_name(kiln_arena *a, const char *model) {
    if (kiln_str_starts(kiln_str_from(model), zoo_prefix))
        return model + sizeof zoo_prefix - 1;
    char *name = kiln_str_dup(a, kiln_path_base(model));
    char *dot = strrchr(name, '.');
    if (dot != NULL && dot != name)
        *dot = '\0';
    return name;
}

static kiln_status find_model(kiln_arena *a, const char *name, const char **out,
                              kiln_err *err) {
    const kiln_zoo_network *n = NULL;
    kiln_str text = kiln_str_from(name);
    *out = name;
    if (kiln_str_starts(text, zoo_prefix))
        name += sizeof zoo_prefix - 1;
    else if (kiln_file_exists(name))
        return KILN_OK;
    else if (strpbrk(name, "/.") != NULL) /* the zoo's names have neither */
        return kiln_fail(err, KILN_ERR_ARG,
                         "there is no file '%s'; name models by their paths, or "
                         "networks of the zoo, which 'kiln zoo list' names",
                         kiln_str_printable(a, text, 256));
    KILN_TRY(kiln_zoo_find(name, &n, err));
    *out = kiln_format(a, "%s%s", zoo_prefix, name);
    return KILN_OK;
}

kiln_status kiln_study_models(kiln_arena *a, const char *list, const char *const **out,
                              kiln_err *err) {
    kiln_str rest = kiln_str_from(list), word;
    const char **model = kiln_array(a, const char *, rest.n + 2);
    size_t n = 0;
    while (kiln_str_cut(&rest, ',', &word)) {
        KILN_TRY(find_model(a, kiln_str_dupv(a, word), &model[n], err));
        for (size_t i = 0; i < n; i++)
            if (strcmp(model[i], model[n]) == 0)
                return kiln_fail(err, KILN_ERR_ARG, "model '%s' is given twice",
                                 kiln_str_printable(a, word, 64));
        n++;
    }
    *out = model;
    return KILN_OK;
}
