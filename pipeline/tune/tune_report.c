/* What a run found, for people and programs. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "pipeline/tune/tune_internal.h"
#include "reports/results/documents.h"

enum { LEAST_WIDTH = 24, MOST_WIDTH = 48 };

/* Of the column of names: those that are longer lose their middles. */
static int width_of(const kiln_tune_result *r) {
    size_t n = LEAST_WIDTH;
    for (size_t i = 0; i < r->row.n; i++) {
        const size_t own = strlen(r->row.v[i].name);
        n = own > n ? own : n;
    }
    return n < MOST_WIDTH ? (int)n : MOST_WIDTH;
}

static void put_row(kiln_buf *out, const kiln_tune_row *r, int width) {
    kiln_buf_printf(out, "%-*s %5.0f %6" PRId64 " %6" PRId64 " ", width,
                    kiln_str_fit(out->arena, r->name, (size_t)width), r->calls,
                    r->n_known, r->n_new);
    if (r->best_ns <= 0) {
        kiln_buf_puts(out, "         none of them works\n");
        return;
    }
    if (r->start_ns > 0)
        kiln_buf_printf(out, "%10.1f %10.1f %7.2f", r->start_ns * 1e-3,
                        r->best_ns * 1e-3, r->start_ns / r->best_ns);
    else
        kiln_buf_printf(out, "%10s %10.1f %7s", "-", r->best_ns * 1e-3, "-");
    if (r->best_share > 0)
        kiln_buf_printf(out, " %5.1f%%", r->best_share * 100);
    kiln_buf_puts(out, "\n");
}

static void put_settled(kiln_buf *out, const kiln_tune_settled *s) {
    if (s->is_cut)
        kiln_buf_puts(out, "in the network: no time was left to compare the best; the "
                           "same command does that\n");
    else if (s->n_works > 0)
        kiln_buf_printf(out,
                        "in the network: %.3f ms with the best alone, %.3f ms as "
                        "chosen; %d of %d kernels change\n",
                        s->alone_ns * 1e-6, s->chosen_ns * 1e-6, s->n_changed,
                        s->n_works);
}

/* Nothing where nobody looked. */
static void put_layouts(kiln_buf *out, const kiln_tune_layouts *l) {
    if (!(l->greedy_ns > 0))
        return;
    kiln_buf_printf(out,
                    "in other layouts: %" PRId64 " kernel%s and %" PRId64
                    " conversion%s, %" PRId64 " trial%s\n",
                    l->n_kernels, kiln_plural(l->n_kernels), l->n_conversions,
                    kiln_plural(l->n_conversions), l->n_trials,
                    kiln_plural(l->n_trials));
    if (l->n_changed == 0) {
        kiln_buf_puts(out, "  the rules' layouts stay: nothing is expected to be "
                           "faster\n");
        return;
    }
    kiln_buf_printf(out,
                    "  a search over layouts changes %d step%s: %.3f ms expected, not "
                    "%.3f (%.1f%% less)\n",
                    l->n_changed, kiln_plural(l->n_changed), l->search_ns * 1e-6,
                    l->greedy_ns * 1e-6, 100 * (1 - l->search_ns / l->greedy_ns));
    if (l->ran_greedy_ns > 0)
        kiln_buf_printf(out, "  run in turns: %.3f ms, not %.3f (%.1f%% less)\n",
                        l->ran_search_ns * 1e-6, l->ran_greedy_ns * 1e-6,
                        100 * (1 - l->ran_search_ns / l->ran_greedy_ns));
}

/* Of works that several templates take: which won. */
static void put_ways(kiln_buf *out, const kiln_tune_result *r, int width) {
    bool has_any = false;
    for (size_t i = 0; i < r->row.n; i++) {
        const kiln_tune_row *x = &r->row.v[i];
        if (x->way.n < 2)
            continue;
        kiln_buf_printf(out, "%s%-*s %s", has_any ? "" : "of several templates:\n",
                        width, kiln_str_fit(out->arena, x->name, (size_t)width),
                        x->tmpl);
        has_any = true;
        for (size_t k = 0; k < x->way.n; k++) {
            const kiln_tune_way *w = &x->way.v[k];
            kiln_buf_printf(out, "%s %s", k == 0 ? ":" : ",", w->tmpl);
            if (w->best_ns > 0)
                kiln_buf_printf(out, " %.1f us", w->best_ns * 1e-3);
            kiln_buf_printf(out, " (%" PRId64 " trial%s)", w->n_trials,
                            kiln_plural(w->n_trials));
        }
        kiln_buf_puts(out, "\n");
    }
}

/* How many began with a ready record, and what became of it. */
static void put_ready(kiln_buf *out, const kiln_tune_result *r) {
    size_t n = 0, n_faster = 0;
    for (size_t i = 0; i < r->row.n; i++) {
        const kiln_tune_row *x = &r->row.v[i];
        n += x->is_from_ready;
        n_faster += x->is_from_ready && x->best_ns > 0 && x->best_ns < x->start_ns;
    }
    if (n > 0)
        kiln_buf_printf(out,
                        "%zu of %zu kernel%s began with a ready record; something "
                        "faster is known now for %zu\n",
                        n, r->row.n, kiln_plural((int64_t)r->row.n), n_faster);
}

void kiln_tune_text(kiln_buf *out, const kiln_tune_report *all) {
    const kiln_tune_result *r = all->result;
    const int width = width_of(r);
    kiln_buf_printf(out, "%-*s %5s %6s %6s %10s %10s %7s %6s\n", width, "work", "calls",
                    "known", "new", "start us", "best us", "faster", "peak");
    for (size_t i = 0; i < r->row.n; i++)
        put_row(out, &r->row.v[i], width);
    kiln_buf_printf(out, "\n%-*s %5s %6s %6" PRId64 " %10.1f %10.1f %7.2f\n", width,
                    "all", "", "", r->n_new, r->start_ns * 1e-3, r->best_ns * 1e-3,
                    r->best_ns > 0 ? r->start_ns / r->best_ns : 0);
    kiln_buf_printf(out, "%" PRId64 " trial%s in %.1f s (%.1f a second), ended by %s\n",
                    r->n_new, kiln_plural(r->n_new), r->seconds,
                    r->seconds > 0 ? (double)r->n_new / r->seconds : 0,
                    r->is_interrupted ? "an interrupt" : kiln_task_end_name(r->end));
    put_ways(out, r, width);
    put_ready(out, r);
    if (r->n_slices > 0)
        kiln_buf_printf(out, "%.1f%% of %" PRIu64 " slices were disturbed\n",
                        100 * (double)r->n_disturbed / (double)r->n_slices,
                        r->n_slices);
    if (r->n_throttled > 0)
        kiln_buf_printf(out,
                        "%" PRIu64 " of them: the machine was too warm and held its "
                        "clock back\n",
                        r->n_throttled);
    if (r->n_again > 0)
        kiln_buf_printf(out,
                        "%" PRId64 " noisy ones that seemed best were measured "
                        "again\n",
                        r->n_again);
    if (r->n_unbelieved > 0)
        kiln_buf_printf(out,
                        "%" PRId64 " records were not used: no machine is as fast as "
                        "they say\n",
                        r->n_unbelieved);
    if (r->transfer != NULL) {
        kiln_buf_puts(out, "for other work: ");
        kiln_tune_transfer_text(out, r->transfer);
    }
    kiln_card_text(out, &r->card);
    for (int e = 0; e < KILN_N_TRIAL_ERRORS; e++)
        if (r->by_error[e] > 0)
            kiln_buf_printf(out, "  %-16s %6" PRId64 "\n",
                            kiln_trial_error_name((kiln_trial_error)e), r->by_error[e]);
    if (all->settled != NULL)
        put_settled(out, all->settled);
    if (all->layouts != NULL)
        put_layouts(out, all->layouts);
}

/* ---- as a document (docs/tune-json.md) ------------------------------------------- */

static kiln_results_work work_of(const kiln_tune_row *r) {
    return (kiln_results_work){.name = r->name,
                               .tmpl = r->tmpl,
                               .workload = r->key,
                               .configurations = (double)r->n_configs,
                               .best = r->best,
                               .calls = r->calls,
                               .start_ns = r->start_ns,
                               .best_ns = r->best_ns,
                               .best_share = r->best_share,
                               .known_trials = r->n_known,
                               .new_trials = r->n_new,
                               .is_from_ready = r->is_from_ready};
}

static double or_unknown(double share) { return share >= 0 ? share : (double)NAN; }

static kiln_results_card card_of(kiln_arena *a, const kiln_tune_card *c) {
    kiln_results_card out = {.searches = c->n_searches,
                             .taught = c->n_taught,
                             .taught_trials = c->taught_trials,
                             .alone_trials = c->alone_trials,
                             .accuracy = or_unknown(c->accuracy),
                             .recall = or_unknown(c->recall),
                             .build_s = c->build_s,
                             .run_s = c->run_s,
                             .model_s = c->model_s,
                             .search_s = c->search_s,
                             .think_cpu_s = c->think_cpu_s,
                             .now_ns = c->now_ns,
                             .later_ns = c->later_ns,
                             .later_s = c->later_ns > 0 ? KILN_CARD_LATER_S : 0};
    for (int i = 0; i < KILN_CARD_REACHED; i++)
        kiln_vec_push(a, &out.reached,
                      ((kiln_results_reached){kiln_card_reached[i], c->trials_to[i]}));
    for (int i = 0; i < KILN_CARD_LOOKS; i++)
        kiln_vec_push(a, &out.look,
                      ((kiln_results_look){kiln_card_looks[i], c->after[i]}));
    return out;
}

static kiln_results_tuning tuning_of(kiln_arena *a, const kiln_tune_result *r) {
    kiln_results_tuning t = {.new_trials = r->n_new,
                             .seconds = r->seconds,
                             .start_ns = r->start_ns,
                             .best_ns = r->best_ns,
                             .end = kiln_task_end_name(r->end),
                             .has_card = r->card.n_searches > 0};
    if (t.has_card)
        t.card = card_of(a, &r->card);
    for (size_t i = 0; i < r->row.n; i++) {
        const kiln_results_work work = work_of(&r->row.v[i]);
        kiln_vec_push(a, &t.work, work);
    }
    for (size_t i = 0; i < r->curve.n; i++) {
        const kiln_results_point p = {r->curve.v[i].trial, r->curve.v[i].ns};
        kiln_vec_push(a, &t.curve, p);
    }
    kiln_results_derive_tuning(&t);
    return t;
}

/* Each kind of result, and those of them that gave no time. */
static void count_trials(kiln_arena *a, const kiln_tune_result *r, kiln_doc_tune *d) {
    for (int e = 0; e < KILN_N_TRIAL_ERRORS; e++) {
        const kiln_results_count c = {kiln_trial_error_name((kiln_trial_error)e),
                                      r->by_error[e]};
        const bool has_time = e == KILN_TRIAL_GOOD || e == KILN_TRIAL_SLOW;
        if (c.n > 0)
            kiln_vec_push(a, &d->trials, c);
        if (c.n > 0 && !has_time)
            kiln_vec_push(a, &d->tuning.by_error, c);
    }
}

void kiln_tune_json(kiln_buf *out, const kiln_tune_report *all) {
    const kiln_tune_result *r = all->result;
    const kiln_tune_settled *settled = all->settled;
    const kiln_tune_layouts *l = all->layouts;
    kiln_arena *a = out->arena;
    kiln_doc_tune d = {.own = kiln_doc_own_of(a),
                       .tuning = tuning_of(a, r),
                       .measured_again = r->n_again,
                       .unbelieved_records = r->n_unbelieved,
                       .slices = (int64_t)r->n_slices,
                       .disturbed_slices = (int64_t)r->n_disturbed,
                       .is_interrupted = r->is_interrupted};
    d.has_settled = settled != NULL && (settled->n_works > 0 || settled->is_cut);
    if (d.has_settled)
        d.settled =
            (kiln_doc_settled){settled->is_cut, settled->n_works, settled->n_changed,
                               settled->alone_ns, settled->chosen_ns};
    d.has_layouts = l != NULL && l->greedy_ns > 0;
    if (d.has_layouts)
        d.layouts = (kiln_doc_layouts){l->n_kernels,     l->n_conversions, l->n_trials,
                                       l->n_changed,     l->greedy_ns,     l->search_ns,
                                       l->ran_greedy_ns, l->ran_search_ns};
    count_trials(a, r, &d);
    kiln_record_write(out, &kiln_tune_document, &d);
}
