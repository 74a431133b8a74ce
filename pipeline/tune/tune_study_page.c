/* A study of searches and cost models as CSV, and as a page with a plot for each figure of
 * the thesis that it repeats (Chen 2019, Figures 5.4, 5.5, 5.6, 5.7, 5.8 and 5.9), beside what
 * the figure shows, in words. The page loads and runs nothing. */
#include <math.h>
#include <string.h>

#include "pipeline/tune/corpus_internal.h"

/* ---- CSV ------------------------------------------------------------------------- */

static void csv_row(kiln_buf *out, const char *part, const kiln_study_row *r) {
    kiln_buf_printf(out, "%s,\"%s\"", part, r->name);
    for (int i = 0; i < KILN_N_REACHED; i++)
        kiln_buf_printf(out, ",%.9g", r->trials[i]);
    for (int i = 0; i < KILN_N_REACHED; i++)
        kiln_buf_printf(out, ",%.9g", r->median[i]);
    kiln_buf_printf(out, ",%d,%d", r->n_there, r->n);
    for (int i = 0; i < KILN_N_LOOKS; i++)
        kiln_buf_printf(out, ",%.9g", r->after[i]);
    kiln_buf_printf(out, ",%.9g,%.9g,,,,\r\n", r->slow, r->saved);
}

/* What the part has no number for is an empty cell. */
static const char *const before_models = ",,,,,,,,,,,,,,";

void kiln_study_csv(kiln_buf *out, const kiln_study *s) {
    kiln_buf_puts(out, "part,name,trials_90,trials_95,trials_99,median_90,median_95,"
                       "median_99,n_there,n,after_4,after_8,after_16,after_32,slow,"
                       "saved,pairs,recall,pairs_of_others,time_of_rule\r\n");
    for (size_t i = 0; i < s->row.n; i++)
        csv_row(out, "searches", &s->row.v[i]);
    for (size_t i = 0; i < s->transfer.n; i++)
        csv_row(out, "transfer", &s->transfer.v[i]);
    for (size_t i = 0; i < s->model.n; i++) {
        const kiln_study_model *m = &s->model.v[i];
        kiln_buf_printf(out, "models,\"%s\"%s,%.9g,%.9g,%.9g,%.9g\r\n", m->name,
                        before_models, m->accuracy, m->recall, m->others.accuracy,
                        m->others.gain > 0 ? 1 / m->others.gain : 0);
    }
    for (size_t i = 0; i < s->work.n; i++) {
        const kiln_study_work *w = &s->work.v[i];
        kiln_buf_printf(out, "works,\"%s\"%s,,,%.9g,%.9g\r\n", w->name, before_models,
                        w->accuracy, w->rule_ns > 0 ? w->predicted_ns / w->rule_ns : 0);
    }
}

/* ---- figures --------------------------------------------------------------------- */

enum { MOST_ROWS = 5 };
typedef struct figure {
    const char *title, *shape;
    bool is_transfer; /* of the rows for C7 to C9 */
    const char *row[MOST_ROWS];
} figure;

static const figure figures[] = {
    {"Cost models beside searches without one (Figure 5.4)",
     "There: trees and TreeGRU come to the best sooner than random and genetic search, "
     "and end up to twice as fast.",
     false,
     {"random", "genetic", "xgboost", "treegru"}},
    {"Rank and regression (Figure 5.5)",
     "There: rank is as good or slightly better.",
     false,
     {"xgboost", "xgboost, regression"}},
    {"Diverse batches (Figure 5.6)",
     "There: no effect on most workloads, some gain on C6.",
     false,
     {"xgboost", "xgboost, not diverse"}},
    {"Doubt in what is chosen (Figure 5.7)",
     "There: expected improvement and an upper bound are no better than the mean.",
     false,
     {"bootstrap, mean", "bootstrap, bound", "bootstrap, improvement"}},
    {"C7 to C9, taught by C1 to C6 (Figure 5.8)",
     "There: 2 to 10 times fewer trials than a search that begins with nothing.",
     true,
     {"xgboost", "xgboost, taught", "xgboost, taught by near",
      "xgboost, by an ensemble", "treegru, taught"}},
    {"Knobs and features, by themselves and carried over (Figure 5.9)",
     "There: knobs do well within one workload, and nothing across workloads; "
     "relations "
     "of features carry over.",
     false,
     {"knobs", "xgboost", "xgboost, taught", "treegru, taught"}},
};
enum { N_FIGURES = sizeof figures / sizeof figures[0] };

static const kiln_study_row *find(const kiln_study *s, bool is_transfer,
                                  const char *name) {
    const size_t n = is_transfer ? s->transfer.n : s->row.n;
    const kiln_study_row *v = is_transfer ? s->transfer.v : s->row.v;
    for (size_t i = 0; name != NULL && i < n; i++)
        if (strcmp(v[i].name, name) == 0)
            return &v[i];
    return NULL;
}

/* ---- the page -------------------------------------------------------------------- */

enum { WIDTH = 480, HEIGHT = 220, LEFT = 46, BOTTOM = 190, TOP = 12, RIGHT = 470 };
#define GRID 0.05 /* shares between two lines */

static double x_of(int look) {
    return LEFT + (RIGHT - LEFT) * (double)look / (KILN_N_LOOKS - 1);
}

static double y_of(double share, double low) {
    return BOTTOM - (BOTTOM - TOP) * (fmax(share, low) - low) / (1 - low);
}

/* From the lowest share of all rows, in steps of 5%, to 1. */
static double lowest(const kiln_study *s, const figure *f) {
    double low = 0.95;
    for (int k = 0; k < MOST_ROWS; k++) {
        const kiln_study_row *r = find(s, f->is_transfer, f->row[k]);
        for (int i = 0; r != NULL && i < KILN_N_LOOKS; i++)
            low = fmin(low, r->after[i]);
    }
    return GRID * floor(low / GRID);
}

static void put_axes(kiln_buf *out, double low) {
    kiln_buf_printf(out,
                    "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"Share of the "
                    "best over trials\">\n",
                    (int)WIDTH, (int)HEIGHT);
    const int n = (int)lround((1 - low) / GRID);
    for (int i = 0; i <= n; i++) {
        const double share = low + GRID * i, y = y_of(share, low);
        kiln_buf_printf(out,
                        "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" "
                        "y2=\"%.1f\"/><text x=\"4\" y=\"%.1f\">%.0f%%</text>\n",
                        (int)LEFT, (int)RIGHT, y, y, y + 4, 100 * share);
    }
    for (int i = 0; i < KILN_N_LOOKS; i++)
        kiln_buf_printf(out,
                        "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%d</text>\n",
                        x_of(i), (int)BOTTOM + 20, kiln_replay_looks[i]);
}

static void put_plot(kiln_buf *out, const kiln_study *s, const figure *f) {
    const double low = lowest(s, f);
    put_axes(out, low);
    for (int k = 0; k < MOST_ROWS; k++) {
        const kiln_study_row *r = find(s, f->is_transfer, f->row[k]);
        if (r == NULL)
            continue;
        kiln_buf_printf(out, "<polyline class=\"w%d\" points=\"", k);
        for (int i = 0; i < KILN_N_LOOKS; i++)
            kiln_buf_printf(out, "%s%.1f,%.1f", i > 0 ? " " : "", x_of(i),
                            y_of(r->after[i], low));
        kiln_buf_puts(out, "\"/>\n");
    }
    kiln_buf_puts(out, "</svg>\n");
}

static void put_table(kiln_buf *out, const kiln_study *s, const figure *f) {
    kiln_buf_puts(out, "<table><thead><tr><th>search</th><th>trials to 90%</th>"
                       "<th>95%</th><th>99%</th><th>there</th></tr></thead><tbody>\n");
    for (int k = 0; k < MOST_ROWS; k++) {
        const kiln_study_row *r = find(s, f->is_transfer, f->row[k]);
        if (r == NULL)
            continue;
        kiln_buf_printf(out,
                        "<tr><th><span class=\"key w%d\"></span>%s</th><td>%.1f</td>"
                        "<td>%.1f</td><td>%.1f</td><td>%d of %d</td></tr>\n",
                        k, r->name, r->trials[0], r->trials[1], r->trials[2],
                        r->n_there, r->n);
    }
    kiln_buf_puts(out, "</tbody></table>\n");
}

static void put_models(kiln_buf *out, const kiln_study *s) {
    kiln_buf_puts(out,
                  "<section><h2>Models on trials that they did not see</h2>\n<table>"
                  "<thead><tr><th>model</th><th>own work, pairs in order</th>"
                  "<th>of its best fifth</th><th>other works, pairs</th></tr></thead>"
                  "<tbody>\n");
    for (size_t i = 0; i < s->model.n; i++) {
        const kiln_study_model *m = &s->model.v[i];
        kiln_buf_printf(out,
                        "<tr><th>%s</th><td>%.1f%%</td><td>%.1f%%</td><td>%.1f%%</td>"
                        "</tr>\n",
                        m->name, 100 * m->accuracy, 100 * m->recall,
                        100 * m->others.accuracy);
    }
    kiln_buf_puts(out, "</tbody></table></section>\n");
}

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
    "style-src 'unsafe-inline'\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<title>kiln: study of autotvm</title>\n<style>\n"
    "body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; "
    "padding: 0 1rem; color: #1b1f24; background: #fff }\n"
    "svg { width: 100%; max-width: 40rem } svg text { font-size: 12px; fill: #57606a "
    "}\n"
    "polyline { fill: none; stroke-width: 2 } .grid { stroke: #d8dee4 }\n"
    ".w0 { stroke: #0969da; background: #0969da } .w1 { stroke: #bc4c00; "
    "background: #bc4c00 }\n"
    ".w2 { stroke: #1a7f37; background: #1a7f37 } .w3 { stroke: #8250df; "
    "background: #8250df }\n"
    ".w4 { stroke: #bf3989; background: #bf3989 }\n"
    ".key { display: inline-block; width: 1em; height: .25em; margin-right: .5em; "
    "vertical-align: middle }\n"
    "table { border-collapse: collapse } th { text-align: left; font-weight: normal } "
    "td { text-align: right } th, td { padding: .1rem .8rem .1rem 0 }\n"
    "</style></head>\n<body>\n<h1>Searches and cost models, replayed</h1>\n"
    "<p>Plots: of the best that is recorded, the share that was found after so many "
    "trials, in geometric mean over works and seeds. Nothing was measured for "
    "it.</p>\n";

void kiln_study_html(kiln_buf *out, const kiln_study *s) {
    kiln_buf_puts(out, head);
    for (int i = 0; i < N_FIGURES; i++) {
        const figure *f = &figures[i];
        kiln_buf_printf(out, "<section><h2>%s</h2>\n<p>%s</p>\n", f->title, f->shape);
        put_plot(out, s, f);
        put_table(out, s, f);
        kiln_buf_puts(out, "</section>\n");
    }
    put_models(out, s);
    kiln_buf_puts(out, "</body></html>\n");
}
