/* Leave one network out: is a build of what was never tuned worth a database of other
 * networks? Of each kernel three configurations run in turns: the template's rule, what
 * a build takes whose database lacks all works of the network ("predicted"; the rule,
 * where its model is not sure), and what one takes that has them ("tuned"). */
#include "pipeline/study/study_internal.h"

#include <math.h>
#include <string.h>

#include "compiler/tuner/tuner.h"

static const char *const way_name[KILN_TRANSFER_WAYS] = {"rule", "predicted", "tuned"};

/* All of a network; times are sums of calls by time. */
typedef struct sums {
    double *ms[KILN_TRANSFER_WAYS]; /* of each round */
    int n_kernels, n_counted;       /* counted: with times for all ways */
    int n_predicted, n_tuned;       /* of those counted, not the rule's choice */
    double worst;                   /* the rule's time over the prediction's, least */
    const char *worst_name;
} sums;

typedef struct study {
    kiln_arena *a;
    const kiln_transfer_options *o;
    kiln_transfer_meter meter;
    kiln_doc_study_part network, kernel;
    double log_sum[KILN_TRANSFER_WAYS]; /* of tuned time over a way's; by networks */
    double log_gain, least_gain;        /* of the rule's time over the prediction's */
    int n_networks;
} study;

/* ---- three configurations -------------------------------------------------------- */

static const char *config_text(kiln_arena *a, const kiln_choice *c) {
    kiln_json_writer w;
    kiln_buf text;
    kiln_buf_init(&text, a);
    kiln_json_writer_init(&w, &text);
    w.compact_from = 1;
    kiln_config_put(&w, c->tmpl, &c->space, &c->config);
    return text.p;
}

/* advice NULL: the rule. */
static kiln_status choose(study *s, kiln_arena *a, const kiln_tune_work *w,
                          kiln_tune_advice *advice, kiln_transfer_way *out,
                          kiln_err *err) {
    const kiln_oracle oracle =
        advice != NULL ? kiln_tune_oracle(advice) : (kiln_oracle){0};
    const kiln_choose_options o = {.oracle = advice != NULL ? &oracle : NULL};
    *out = (kiln_transfer_way){.has = true};
    KILN_TRY(kiln_choose(a, &w->op, s->o->profile, &o, &out->choice, err));
    out->config = config_text(a, &out->choice);
    return KILN_OK;
}

static bool is_same(const kiln_transfer_way *x, const kiln_transfer_way *y) {
    return x->choice.tmpl == y->choice.tmpl && strcmp(x->config, y->config) == 0;
}

typedef struct advisers {
    kiln_tune_advice apart, whole;
} advisers;

static kiln_status choose_all(study *s, kiln_arena *a, const kiln_tune_work *w,
                              advisers *by, kiln_transfer_way way[KILN_TRANSFER_WAYS],
                              kiln_err *err) {
    KILN_TRY(choose(s, a, w, NULL, &way[KILN_BY_RULE], err));
    KILN_TRY(choose(s, a, w, &by->apart, &way[KILN_BY_MODEL], err));
    KILN_TRY(choose(s, a, w, &by->whole, &way[KILN_BY_TUNING], err));
    const kiln_origin tuned = way[KILN_BY_TUNING].choice.origin;
    way[KILN_BY_TUNING].has = tuned == KILN_ORIGIN_TUNED || tuned == KILN_ORIGIN_TIMED;
    return KILN_OK;
}

/* ---- rows ------------------------------------------------------------------------ */

static kiln_sample_list samples_of(kiln_arena *a, const double *ms, size_t n) {
    kiln_sample_list list = {.n = 0};
    for (size_t i = 0; i < n; i++)
        kiln_vec_push(a, &list, ((kiln_sample){.ms = ms[i]}));
    return list;
}

static kiln_doc_study_row row_of(study *s, const char *group, const char *model, int k,
                                 const double *ms, const double *first, size_t n) {
    kiln_arena scratch = {0};
    kiln_doc_study_row row = kiln_study_failed(s->a, group, model, way_name[k],
                                               s->o->threads, "measured", "");
    const kiln_sample_list own = samples_of(&scratch, ms, n),
                           by_rule = samples_of(&scratch, first, n);
    row.problem = NULL;
    kiln_study_add_up(&row, &own, &by_rule);
    if (k == KILN_BY_RULE)
        row.gain = (kiln_stats_interval){1, 1, 1};
    kiln_arena_fini(&scratch);
    return row;
}

static bool is_timed(const study *s, const kiln_transfer_way *w) {
    return w->has && w->problem == NULL && w->n == (size_t)s->o->rounds;
}

static void add_kernel_row(study *s, const char *group, const char *model, int k,
                           const kiln_transfer_way way[KILN_TRANSFER_WAYS]) {
    kiln_arena scratch = {0};
    const size_t n = (size_t)s->o->rounds;
    kiln_doc_study_row row;
    if (is_timed(s, &way[k]) && is_timed(s, &way[KILN_BY_RULE])) {
        double *ms = kiln_array(&scratch, double, n),
               *first = kiln_array(&scratch, double, n);
        for (size_t i = 0; i < n; i++) {
            ms[i] = way[k].ns[i] * 1e-6;
            first[i] = way[KILN_BY_RULE].ns[i] * 1e-6;
        }
        row = row_of(s, group, model, k, ms, first, n);
    } else {
        row = kiln_study_failed(
            s->a, group, model, way_name[k], s->o->threads,
            way[k].has && way[k].problem != NULL ? "failed" : "absent",
            !way[k].has              ? "no record; 'kiln tune' makes one"
            : way[k].problem != NULL ? way[k].problem
                                     : "not measured yet; the same command goes on");
    }
    if (way[k].has)
        row.choice =
            kiln_format(s->a, "%s %s %s", kiln_origin_name(way[k].choice.origin),
                        way[k].choice.tmpl->name, way[k].config);
    kiln_vec_push(s->a, &s->kernel.row, row);
    kiln_arena_fini(&scratch);
}

/* ---- a kernel -------------------------------------------------------------------- */

static double median_of(kiln_arena *a, const double *v, size_t n) {
    return kiln_stats_quantile(a, v, n, 0.5);
}

static void add_up(study *s, kiln_arena *a, const kiln_tune_work *w,
                   const kiln_transfer_way way[KILN_TRANSFER_WAYS], sums *sum) {
    const size_t n = (size_t)s->o->rounds;
    sum->n_kernels++;
    for (int k = 0; k < KILN_TRANSFER_WAYS; k++)
        if (!is_timed(s, &way[k]))
            return;
    for (int k = 0; k < KILN_TRANSFER_WAYS; k++)
        for (size_t i = 0; i < n; i++)
            sum->ms[k][i] += w->calls * way[k].ns[i] * 1e-6;
    const double gain =
        median_of(a, way[KILN_BY_RULE].ns, n) / median_of(a, way[KILN_BY_MODEL].ns, n);
    if (!is_same(&way[KILN_BY_RULE], &way[KILN_BY_MODEL])) {
        sum->n_predicted++;
        if (gain < sum->worst) {
            sum->worst = gain;
            sum->worst_name = w->op.name;
        }
    }
    sum->n_tuned += !is_same(&way[KILN_BY_RULE], &way[KILN_BY_TUNING]);
    sum->n_counted++;
}

static kiln_status look_at(study *s, kiln_arena *scratch, const char *model,
                           const kiln_tune_work *w, advisers *by, sums *sum,
                           kiln_err *err) {
    kiln_transfer_way way[KILN_TRANSFER_WAYS];
    KILN_TRY(choose_all(s, scratch, w, by, way, err));
    KILN_TRY(kiln_transfer_time(&s->meter, scratch, w, way, err));
    KILN_TRY(kiln_interrupt_check(err));
    add_up(s, scratch, w, way, sum);
    const char *group = kiln_format(scratch, "%s: %s, %.0f call%s", model, w->op.name,
                                    w->calls, kiln_plural((int64_t)w->calls));
    for (int k = 0; k < KILN_TRANSFER_WAYS; k++)
        add_kernel_row(s, group, model, k, way);
    return KILN_OK;
}

/* ---- a network ------------------------------------------------------------------- */

static void note(study *s, const char *model, const sums *sum,
                 const double total[KILN_TRANSFER_WAYS],
                 const kiln_tune_transfer *transfer) {
    kiln_buf text;
    kiln_buf_init(&text, s->a);
    kiln_buf_printf(&text,
                    "%s: %d of %d kernels; %d predicted, %d tuned to another "
                    "than the rule's",
                    model, sum->n_counted, sum->n_kernels, sum->n_predicted,
                    sum->n_tuned);
    if (sum->n_counted > 0)
        kiln_buf_printf(&text,
                        "; of tuned speed the rules reach %.1f%%, predicted %.1f%%; "
                        "predicted %.3f times the rules' speed",
                        100 * total[KILN_BY_TUNING] / total[KILN_BY_RULE],
                        100 * total[KILN_BY_TUNING] / total[KILN_BY_MODEL],
                        total[KILN_BY_RULE] / total[KILN_BY_MODEL]);
    if (sum->worst_name != NULL)
        kiln_buf_printf(&text, ", least %.2f ('%s')", sum->worst, sum->worst_name);
    kiln_vec_push(s->a, &s->network.note, text.p);
    kiln_buf_init(&text, s->a);
    kiln_buf_puts(&text, "  by ");
    if (transfer != NULL)
        kiln_tune_transfer_text(&text, transfer);
    else
        kiln_buf_puts(&text, "no model: the others have too few records\n");
    text.p[text.n - 1] = '\0';
    kiln_vec_push(s->a, &s->network.note, text.p);
}

static void conclude(study *s, kiln_arena *scratch, const char *model, const sums *sum,
                     const kiln_tune_transfer *transfer) {
    double total[KILN_TRANSFER_WAYS] = {0};
    const size_t n = (size_t)s->o->rounds;
    for (int k = 0; k < KILN_TRANSFER_WAYS && sum->n_counted > 0; k++) {
        const kiln_doc_study_row row =
            row_of(s, model, model, k, sum->ms[k], sum->ms[KILN_BY_RULE], n);
        total[k] = median_of(scratch, sum->ms[k], n);
        kiln_vec_push(s->a, &s->network.row, row);
    }
    note(s, model, sum, total, transfer);
    if (sum->n_counted == 0)
        return;
    for (int k = 0; k < KILN_TRANSFER_WAYS; k++)
        s->log_sum[k] += log(total[KILN_BY_TUNING] / total[k]);
    const double gain = total[KILN_BY_RULE] / total[KILN_BY_MODEL];
    s->log_gain += log(gain);
    s->least_gain = s->n_networks == 0 ? gain : fmin(s->least_gain, gain);
    s->n_networks++;
}

static kiln_status judge(study *s, kiln_arena *a, const char *model,
                         const kiln_tune_works *works, kiln_db *db, kiln_db *ready,
                         kiln_err *err) {
    const kiln_transfer_options *o = s->o;
    const kiln_tune_transfer *transfer = NULL;
    kiln_arena scratch = {0};
    sums sum = {.worst = HUGE_VAL};
    for (int k = 0; k < KILN_TRANSFER_WAYS; k++)
        sum.ms[k] = kiln_array(a, double, (size_t)o->rounds);
    kiln_progress_step(model, "kernels", 0, (double)works->list.n,
                       "learning from the other networks");
    KILN_TRY(kiln_tune_transfer_renew(a, db, &kiln_cost_model_xgboost, &transfer, err));
    advisers by = {
        .apart = {.db = db,
                  .ready = ready,
                  .transfer = transfer,
                  .threads = o->threads,
                  .arena = a},
        .whole = {.db = o->db, .ready = o->ready, .threads = o->threads, .arena = a}};
    kiln_status st = KILN_OK;
    for (size_t i = 0; st == KILN_OK && i < works->list.n; i++) {
        const kiln_tune_work *w = &works->list.v[i];
        kiln_progress_step(model, "kernels", (double)i, (double)works->list.n,
                           w->op.name);
        st = look_at(s, &scratch, model, w, &by, &sum, err);
        kiln_arena_reset(&scratch);
    }
    if (st == KILN_OK || kiln_interrupted())
        conclude(s, &scratch, model, &sum, transfer);
    kiln_arena_fini(&scratch);
    return st;
}

static kiln_status leave_out(study *s, kiln_arena *a, const char *model,
                             kiln_err *err) {
    kiln_source source;
    kiln_tune_works works;
    kiln_db *db = NULL, *ready = NULL;
    KILN_TRY(kiln_source_read(a, model, NULL, &source, err));
    KILN_TRY(kiln_tune_works_of_graph(a, source.graph, s->o->profile, &works, err));
    kiln_status st = kiln_transfer_apart(a, s->o->db, &works, &db, err);
    if (st == KILN_OK && s->o->ready != NULL)
        st = kiln_transfer_apart(a, s->o->ready, &works, &ready, err);
    if (st == KILN_OK)
        st = judge(s, a, kiln_study_name(a, model), &works, db, ready, err);
    kiln_db_close(db);
    kiln_db_close(ready);
    return st;
}

/* ---- the study ------------------------------------------------------------------- */

static void note_means(study *s) {
    const double n = s->n_networks > 0 ? s->n_networks : 1;
    if (s->n_networks > 0)
        kiln_vec_push(
            s->a, &s->network.note,
            kiln_format(
                s->a,
                "geometric mean of %d network%s: of tuned speed the rules reach "
                "%.1f%%, predicted %.1f%% (90%% wanted); predicted %.3f times "
                "the rules' speed, least %.3f (0.97 wanted)",
                s->n_networks, kiln_plural(s->n_networks),
                100 * exp(s->log_sum[KILN_BY_RULE] / n),
                100 * exp(s->log_sum[KILN_BY_MODEL] / n), exp(s->log_gain / n),
                s->least_gain));
    if (s->meter.is_late)
        kiln_vec_push(s->a, &s->network.note,
                      "time was over before all kernels were measured; the same "
                      "command goes on");
}

/* From the records alone. */
static kiln_status note_carries(study *s, kiln_err *err) {
    kiln_tune_carries c;
    KILN_TRY(kiln_tune_carries_over(s->a, s->o->db, &kiln_cost_model_xgboost, &c, err));
    kiln_vec_push(s->a, &s->network.note,
                  c.workloads > 0
                      ? kiln_format(s->a,
                                    "pairs in order, of workloads that a model had not "
                                    "seen: %.1f%% (%d workloads; 85%% wanted)",
                                    100 * c.workloads, c.n_workloads)
                      : "pairs in order: there are too few workloads");
    for (size_t i = 0; i < c.profile.n; i++)
        kiln_vec_push(s->a, &s->network.note,
                      kiln_format(s->a,
                                  "of profile %s by a model of the others: %.1f%% (%zu "
                                  "works; 75%% wanted)",
                                  c.profile.v[i].profile, 100 * c.profile.v[i].accuracy,
                                  c.profile.v[i].n_lessons));
    return KILN_OK;
}

static kiln_status run(study *s, kiln_err *err) {
    kiln_status st = KILN_OK;
    for (int i = 0; st == KILN_OK && s->o->model[i] != NULL; i++) {
        kiln_arena scratch = {0};
        st = leave_out(s, &scratch, s->o->model[i], err);
        const char *name = kiln_study_name(&scratch, s->o->model[i]);
        st = kiln_study_settle(s->a, &s->network, name, way_name[0], s->o->threads, st,
                               err);
        kiln_arena_fini(&scratch);
    }
    note_means(s);
    return st == KILN_OK ? note_carries(s, err) : st;
}

kiln_status kiln_study_transfer(kiln_arena *a, const kiln_transfer_options *o,
                                kiln_doc_study *out, kiln_err *err) {
    kiln_arena workers = {0};
    kiln_doc_study doc;
    const kiln_study_options as = {.profile = o->profile, .rounds = o->rounds};
    KILN_ASSERT(o->rounds > 0 && o->threads > 0, "%d rounds, %d threads", o->rounds,
                o->threads);
    kiln_study_begin(a, "transfer", &as, &doc);
    study s = {
        .a = a,
        .o = o,
        .meter = {.arena = &workers, .o = o},
        .network = {.name = "networks",
                    .title = "One network left out",
                    .source = "AutoTVM, NeurIPS 2018, section 4",
                    .shape = "The papers begin a search with what other work taught, "
                             "and have 2 to 10 times fewer trials for it. Here there "
                             "are no trials at all: a build takes what a model of all "
                             "other networks' records likes, where that is sure to "
                             "beat the rule. Sums of calls by time of a kernel alone, "
                             "parameters from memory."},
        .kernel = {.name = "kernels",
                   .title = "Their kernels",
                   .source = "the same",
                   .shape = "One call each; choices in the CSV and JSON."}};
    const kiln_status st = run(&s, err);
    kiln_measure_close(s.meter.pool);
    kiln_arena_fini(&workers);
    if (st != KILN_OK && !kiln_interrupted())
        return st;
    kiln_vec_push(a, &doc.part, s.network);
    kiln_vec_push(a, &doc.part, s.kernel);
    return kiln_study_end(&doc, st, out, err);
}
