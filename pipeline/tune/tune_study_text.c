/* A study as a table. */
#include "pipeline/tune/corpus_internal.h"

static void put_row(kiln_buf *out, const kiln_study_row *r) {
    kiln_buf_printf(out, "%-24s", r->name);
    for (int i = 0; i < KILN_N_REACHED; i++)
        kiln_buf_printf(out, " %6.1f", r->trials[i]);
    for (int i = 0; i < KILN_N_REACHED; i++)
        kiln_buf_printf(out, " %6.1f", r->median[i]);
    kiln_buf_printf(out, " %4d of %2d", r->n_there, r->n);
    for (int i = 0; i < KILN_N_LOOKS; i++)
        kiln_buf_printf(out, " %5.1f%%", 100 * r->after[i]);
    kiln_buf_printf(out, " %4.0f%% %4.0f%%\n", 100 * r->slow, 100 * r->saved);
}

static void put_model(kiln_buf *out, bool is_first, const kiln_study_model *m) {
    if (is_first)
        kiln_buf_printf(out, "\n%-24s %16s %16s %16s %16s\n", "model, held out",
                        "own work, pairs", "of its best", "others, pairs",
                        "time, of rule's");
    kiln_buf_printf(out, "%-24s %15.1f%% %15.1f%% %15.1f%% %16.3f\n", m->name,
                    100 * m->accuracy, 100 * m->recall, 100 * m->others.accuracy,
                    m->others.gain > 0 ? 1 / m->others.gain : 0);
}

void kiln_study_text(kiln_buf *out, const kiln_study *s) {
    kiln_buf_printf(out, "%-24s %20s %20s %10s %27s %5s %5s\n", "", "trials to, mean",
                    "trials to, median", "", "of the best after", "", "");
    kiln_buf_printf(out, "%-24s %6s %6s %6s %6s %6s %6s %10s %6s %6s %6s %6s %5s %5s\n",
                    "search", "90%", "95%", "99%", "90%", "95%", "99%", "there", "4",
                    "8", "16", "32", "slow", "saved");
    for (size_t i = 0; i < s->row.n; i++)
        put_row(out, &s->row.v[i]);
    for (size_t i = 0; i < s->model.n; i++)
        put_model(out, i == 0, &s->model.v[i]);
    if (s->transfer.n > 0)
        kiln_buf_puts(out, "\nof C7 to C9, taught by C1 to C6 alone:\n");
    for (size_t i = 0; i < s->transfer.n; i++)
        put_row(out, &s->transfer.v[i]);
    if (s->work.n == 0)
        return;
    kiln_buf_printf(out, "\n%-16s %9s %10s %10s %12s %9s\n", "work", "recorded",
                    "best us", "rule us", "predicted us", "accuracy");
    for (size_t i = 0; i < s->work.n; i++) {
        const kiln_study_work *w = &s->work.v[i];
        kiln_buf_printf(out, "%-16s %9zu %10.1f %10.1f %12.1f %8.1f%%\n", w->name,
                        w->n_recorded, w->best_ns * 1e-3, w->rule_ns * 1e-3,
                        w->predicted_ns * 1e-3, 100 * w->accuracy);
    }
    kiln_buf_printf(out,
                    "what a model of the other works predicts takes %.3f of the rule's "
                    "time; held out: %.1f%% of pairs in order, %.3f of the rule's time "
                    "for %d of %d, worst %.3f, margin %.2f\n",
                    1 / s->gain, 100 * s->held_out.accuracy, 1 / s->held_out.gain,
                    s->held_out.n_taken, s->held_out.n_judged, 1 / s->held_out.worst,
                    s->held_out.margin);
}
