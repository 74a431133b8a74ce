/* The nights before: what changed since the last one, and of each job the last nights'
 * ratios to its frozen archive, drawn and listed. */
#include "reports/page/html_page.h"

#include <math.h>

static const kiln_page_unit unit_ratio = {.by = 1, .digits = 4, .is_fixed = true};

/* ---- the whole ------------------------------------------------------------------- */

static void put_since(kiln_page *p, const kiln_results_past *v) {
    enum { FEW = 4 }; /* more fill the first screen */
    kiln_page_putf(p, "<details%s><summary>What changed since ",
                   v->since.n <= FEW ? " open" : "");
    kiln_page_text(p, "span", NULL, "history", "before", v->before);
    kiln_page_put(p, "</summary>\n<ul>");
    for (size_t i = 0; i < v->since.n; i++)
        kiln_page_text(p, "li", NULL, "history", kiln_format(p->arena, "since[%zu]", i),
                       v->since.v[i]);
    kiln_page_put(p, v->since.n > 0 ? "</ul></details>\n"
                                    : "<li>nothing that is kept</li></ul></details>\n");
}

void kiln_page_past(kiln_page *p) {
    const kiln_results_past *v = &p->r->past;
    if (!p->r->has_past)
        return;
    kiln_page_put(p, "<h3>Among the nights</h3>\n<p>");
    if (v->trend != NULL) {
        kiln_page_pill(p, "history", "trend", v->trend);
        kiln_page_put(p, " against the frozen archives. ");
    }
    if (v->problem != NULL) {
        kiln_page_put(p, "This night is not in the history: ");
        kiln_page_text(p, "b", NULL, "history", "problem", v->problem);
    } else {
        kiln_page_put(p, "Nights in the history: ");
        kiln_page_count(p, "b", "history", "nights", v->nights);
        kiln_page_put(p, "; <a href=\"../index.html\">all nights</a>.");
    }
    kiln_page_put(p, "</p>\n");
    if (v->note != NULL)
        kiln_page_text(p, "p", NULL, "history", "note", v->note);
    if (v->before != NULL)
        put_since(p, v);
}

/* ---- a job's plot ---------------------------------------------------------------- */

typedef struct plot {
    double low, high; /* of ratios */
    size_t n;
} plot;

static bool is_known(const kiln_stats_interval *v) {
    return v->estimate > 0 && v->low > 0 && isfinite(v->high);
}

/* At least 2% on either side of 1, and 2% of room: noise must not look like news. Ends
 * of intervals beyond half and twice are cut. */
static plot plot_of(const kiln_results_history *h) {
    plot out = {.low = 0.98, .high = 1.02, .n = h->night.n};
    for (size_t i = 0; i < h->night.n; i++) {
        const kiln_stats_interval *v = &h->night.v[i].ratio;
        if (!is_known(v))
            continue;
        out.low = fmin(out.low, fmax(v->low, 0.5 * v->estimate));
        out.high = fmax(out.high, fmin(v->high, 2 * v->estimate));
    }
    return out;
}

/* Percent of the plot. */
static double x_of(const plot *f, size_t i) {
    return 100 * ((double)i + 0.5) / (double)f->n;
}
static double y_of(const plot *f, double ratio) {
    const double y = 100 * (f->high - ratio) / (f->high - f->low);
    return fmin(fmax(y, 0), 100);
}

static void put_level(kiln_page *p, const plot *f, double ratio, const char *cls) {
    const double y = y_of(f, ratio);
    kiln_page_putf(p,
                   "<line class=\"%s\" x1=\"0\" x2=\"100%%\" y1=\"%.2f%%\" "
                   "y2=\"%.2f%%\"/><text class=\"tick\" x=\"-8\" y=\"%.2f%%\" dy=\"4\" "
                   "text-anchor=\"end\">%.3f</text>",
                   cls, y, y, y, ratio);
}

static void put_mark(kiln_page *p, double x, const char *cls) {
    kiln_page_putf(p,
                   "<line class=\"%s\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"0\" "
                   "y2=\"100%%\"/>",
                   cls, x, x);
}

static bool is_alarm(const kiln_results_night *n) {
    return kiln_page_is(n->trend, "step") || kiln_page_is(n->trend, "drift");
}

static void put_night_marks(kiln_page *p, const plot *f, const kiln_results_night *n,
                            size_t i) {
    const double x = x_of(f, i);
    if (n->is_change)
        put_mark(p, x - 50.0 / (double)f->n, "change");
    if (n->is_accepted)
        kiln_page_putf(p,
                       "<text class=\"accepted\" x=\"%.2f%%\" y=\"100%%\" dy=\"14\" "
                       "text-anchor=\"middle\">\xE2\x96\xB2</text>",
                       x);
    if (n->is_commit)
        kiln_page_putf(p,
                       "<line class=\"commit\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"96%%\" "
                       "y2=\"100%%\"/>",
                       x, x);
}

static void put_point(kiln_page *p, const plot *f, const kiln_results_night *n,
                      size_t i) {
    const double x = x_of(f, i);
    if (!is_known(&n->ratio))
        return;
    kiln_page_putf(p,
                   "<line class=\"whisker\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"%.2f%%\" "
                   "y2=\"%.2f%%\"/><circle class=\"%s\" cx=\"%.2f%%\" cy=\"%.2f%%\" "
                   "r=\"%s\"/>",
                   x, x, y_of(f, n->ratio.low), y_of(f, n->ratio.high),
                   is_alarm(n)                        ? "alarm"
                   : kiln_page_is(n->trend, "faster") ? "better"
                                                      : "dot",
                   x, y_of(f, n->ratio.estimate), is_alarm(n) ? "6" : "3.5");
}

static void put_plot(kiln_page *p, const kiln_results_history *h) {
    const plot f = plot_of(h);
    kiln_page_put(p, "<figure class=\"plot nights\"><svg aria-hidden=\"true\">");
    put_level(p, &f, f.low, "grid");
    put_level(p, &f, f.high, "grid");
    put_level(p, &f, 1, "one");
    for (size_t i = 0; i < h->night.n; i++)
        put_night_marks(p, &f, &h->night.v[i], i);
    for (size_t i = 0; i < h->night.n; i++)
        put_point(p, &f, &h->night.v[i], i);
    kiln_page_put(
        p, "</svg><figcaption>Time over that of the frozen archive, night by night, "
           "with 95% intervals; the last on the right. Large and red: a step or a "
           "drift was found. Dashed upright lines: seen from today, nights differ from "
           "there on. \xE2\x96\xB2: another archive is the accepted one. Short lines "
           "below: another kiln.</figcaption></figure>\n");
}

/* ---- a job's table --------------------------------------------------------------- */

static void put_row(kiln_page *p, const char *at, const kiln_results_night *n) {
    kiln_page_put(p, "<tr>");
    kiln_page_text(p, "th", NULL, at, "run", n->run);
    kiln_page_put(p, "<td>");
    kiln_page_number(p, "span", kiln_page_at(p, at, "ratio"), "estimate",
                     n->ratio.estimate, &unit_ratio);
    kiln_page_interval(p, at, "ratio", &n->ratio, &unit_ratio);
    kiln_page_put(p, "</td><td>");
    if (n->verdict != NULL)
        kiln_page_pill(p, at, "verdict", n->verdict);
    kiln_page_put(p, "</td><td>");
    if (n->trend != NULL)
        kiln_page_pill(p, at, "trend", n->trend);
    kiln_page_putf(p, "</td><td>%s%s%s</td></tr>\n",
                   n->is_change ? "change point. " : "",
                   n->is_accepted ? "Another archive was accepted. " : "",
                   n->is_commit ? "Another kiln." : "");
}

static void put_table(kiln_page *p, const char *at, const kiln_results_history *h) {
    static const char *const title[] = {"run", "ratio", "gate", "finding", "marks"};
    kiln_page_put(p, "<details><summary>These nights as a table</summary>\n");
    KILN_PAGE_TABLE(p, "wide", "The newest first", title);
    for (size_t i = h->night.n; i-- > 0;)
        put_row(p, kiln_page_item(p, at, "nights", i), &h->night.v[i]);
    kiln_page_table_end(p);
    kiln_page_put(p, "</details>\n");
}

static void put_facts(kiln_page *p, const char *at, const kiln_results_history *h) {
    kiln_page_put(p, "<dl>\n");
    kiln_page_fact(p, "time / frozen archive's");
    kiln_page_number(p, "span", kiln_page_at(p, at, "ratio"), "estimate",
                     h->ratio.estimate, &unit_ratio);
    kiln_page_interval(p, at, "ratio", &h->ratio, &unit_ratio);
    kiln_page_fact_end(p);
    kiln_page_fact_number(p, "found tonight", at, "change", h->change,
                          &kiln_unit_change);
    kiln_page_fact_number(p, "least step it would find", at, "findable", h->findable,
                          &kiln_unit_percent);
    kiln_page_fact(p, "steps and drifts in these nights");
    kiln_page_count(p, "span", at, "alarms", h->alarms);
    kiln_page_fact_end(p);
    kiln_page_put(p, "</dl>\n");
}

void kiln_page_history(kiln_page *p, const char *at, const kiln_results_history *h) {
    kiln_page_put(p, "<h4>Nights</h4>\n<p>");
    if (h->trend != NULL)
        kiln_page_pill(p, at, "trend", h->trend);
    kiln_page_put(p, " ");
    if (h->reason != NULL)
        kiln_page_text(p, "span", NULL, at, "reason", h->reason);
    kiln_page_put(p, "</p>\n");
    put_facts(p, at, h);
    if (h->night.n == 0)
        return;
    put_plot(p, h);
    put_table(p, at, h);
}
