/* Every sample and every pair as a dot: strips, in which time goes down and what was
 * measured goes to the right, so that drift, outliers and two modes can be seen. */
#include "reports/page/html_page.h"

#include <math.h>

#include "reports/reports.h"
#include "reports/page/svg.h"

enum { HEIGHT = 72, EDGE = 6, MOST = 1000 };

static double y_of(size_t i, size_t n) {
    return n < 2 ? HEIGHT / 2.0
                 : EDGE + (HEIGHT - 2.0 * EDGE) * (double)i / (double)(n - 1);
}

static void put_band(kiln_page *p, const kiln_svg_axis *axis, double low, double high) {
    const double from = kiln_svg_place(axis, low), to = kiln_svg_place(axis, high);
    kiln_page_putf(p,
                   "<rect class=\"band\" x=\"%.2f%%\" width=\"%.2f%%\" y=\"0\" "
                   "height=\"%d\"/>",
                   from, fmax(to - from, 0), HEIGHT);
}

static void put_upright(kiln_page *p, const kiln_svg_axis *axis, const char *cls,
                        double v) {
    const double x = kiln_svg_place(axis, v);
    kiln_page_putf(p,
                   "<line class=\"%s\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"0\" "
                   "y2=\"%d\"/>",
                   cls, x, x, HEIGHT);
}

/* What is beyond the axis stands at its end. */
static void put_dot(kiln_page *p, const kiln_svg_axis *axis, const char *cls, double v,
                    double y) {
    const bool is_beyond = v > axis->end || v < axis->start;
    if (is_beyond)
        kiln_page_putf(p,
                       "<text class=\"past %s\" x=\"%s\" y=\"%.1f\" "
                       "text-anchor=\"%s\">%s</text>",
                       cls, v > axis->end ? "100%" : "0", y + 4,
                       v > axis->end ? "end" : "start",
                       v > axis->end ? "\xE2\x96\xB8" : "\xE2\x97\x82");
    else
        kiln_page_putf(p, "<circle class=\"%s\" cx=\"%.2f%%\" cy=\"%.1f\" r=\"3\"/>",
                       cls, kiln_svg_place(axis, v), y);
}

static void begin_strip(kiln_page *p, const char *label, const kiln_svg_axis *axis) {
    kiln_page_putf(p,
                   "<figure class=\"strip\"><svg class=\"dots\" role=\"img\" "
                   "aria-label=\"%s\">",
                   label);
    kiln_svg_grid(p->out, axis);
}

static void end_strip(kiln_page *p, const kiln_svg_axis *axis, const char *caption) {
    kiln_page_put(p, "</svg><svg class=\"axis\" aria-hidden=\"true\">");
    kiln_svg_ticks(p->out, axis);
    kiln_page_putf(p, "</svg><figcaption>%s</figcaption></figure>\n", caption);
}

/* ---- samples --------------------------------------------------------------------- */

static bool is_disturbed(const kiln_results_latency *l, size_t i) {
    for (size_t k = 0; k < l->disturbed_at.n; k++)
        if (l->disturbed_at.v[k] == (double)i)
            return true;
    return false;
}

/* A few that somebody disturbed would squeeze all others: six times the middle half is
 * room enough for what belongs together. */
static kiln_svg_axis axis_of(const kiln_results_latency *l) {
    enum { HALVES = 6 };
    double low = (double)INFINITY, high = 0;
    for (size_t i = 0; i < l->sample_ms.n; i++) {
        low = fmin(low, l->sample_ms.v[i]);
        high = fmax(high, l->sample_ms.v[i]);
    }
    const double half = l->q3_ms - l->q1_ms;
    if (half > 0)
        high = fmin(high, l->q3_ms + HALVES * half);
    return kiln_svg_axis_between(low, high);
}

void kiln_page_samples(kiln_page *p, const kiln_results_latency *l) {
    const size_t n = l->sample_ms.n;
    if (n < 2 || n > MOST) /* more are no strip */
        return;
    for (size_t i = 0; i < n; i++)
        if (!(l->sample_ms.v[i] > 0) || !isfinite(l->sample_ms.v[i]))
            return;
    const kiln_svg_axis axis = axis_of(l);
    begin_strip(p, "Samples of the run's time", &axis);
    if (l->q1_ms > 0 && l->q3_ms >= l->q1_ms)
        put_band(p, &axis, l->q1_ms, l->q3_ms);
    if (l->median_ms > 0)
        put_upright(p, &axis, "roof", l->median_ms);
    for (size_t i = 0; i < n; i++)
        put_dot(p, &axis, is_disturbed(l, i) ? "off" : "dot", l->sample_ms.v[i],
                y_of(i, n));
    end_strip(
        p, &axis,
        l->disturbed_at.n > 0 || l->n_disturbed == 0
            ? "Every sample, in ms, the first on top; the band is the middle half, "
              "the line the median. Hollow: somebody else had a processor."
            : "Every sample, in ms, the first on top; the band is the middle half, "
              "the line the median. Which of them were disturbed was not kept.");
}

/* ---- pairs of the gate ----------------------------------------------------------- */

static double change_of(const kiln_results_pair *v) {
    return 100 * (v->candidate_ms / v->control_ms - 1);
}

static bool is_known(const kiln_results_pair *v) {
    return v->candidate_ms > 0 && v->control_ms > 0 && isfinite(change_of(v));
}

/* From the gate's limits on, as far as pairs go, but not beyond a fifth: one wild pair
 * would hide all others. */
static kiln_svg_axis axis_of_pairs(const kiln_results_gate *g) {
    static const double least = 4, most = 20; /* percent */
    double low = -least, high = least;
    for (size_t i = 0; i < g->timed.n; i++) {
        if (!is_known(&g->timed.v[i]))
            continue;
        low = fmax(fmin(low, change_of(&g->timed.v[i])), -most);
        high = fmin(fmax(high, change_of(&g->timed.v[i])), most);
    }
    return kiln_svg_axis_between(low, high);
}

void kiln_page_pairs(kiln_page *p, const kiln_results_gate *g) {
    const size_t n = g->timed.n;
    if (n < 2 || n > MOST)
        return;
    const kiln_svg_axis axis = axis_of_pairs(g);
    begin_strip(p, "Pairs of the gate: change of time", &axis);
    if (isfinite(g->slowdown.low) && isfinite(g->slowdown.high))
        put_band(p, &axis, 100 * g->slowdown.low, 100 * g->slowdown.high);
    put_upright(p, &axis, "roof", 0);
    put_upright(p, &axis, "limit", 100 * KILN_GATE_FAIL_ABOVE);
    put_upright(p, &axis, "limit", 100 * KILN_GATE_PASS_BELOW);
    for (size_t i = 0; i < n; i++)
        if (is_known(&g->timed.v[i]))
            put_dot(p, &axis, g->timed.v[i].series == 0 ? "dot" : "off",
                    change_of(&g->timed.v[i]), y_of(i, n));
    end_strip(
        p, &axis,
        "Every pair, the first on top: candidate against accepted archive, change "
        "in percent; the band is the interval. Dashed: the gate's limits; a fail "
        "lies right of the left one, a pass left of the right one. Hollow: of the "
        "second series, which a failure must be found by too.");
}
