/* Of one job: its steps, the roofline, the coverage ledger, memory. */
#include "reports/html_page.h"

#include <math.h>

#include "reports/svg.h"

static void put_share(kiln_page *p, const char *at, const kiln_results_step *s) {
    kiln_page_put(p, "<td class=\"n\">");
    kiln_page_number(p, "span", at, "time_share", s->time_share, &kiln_unit_percent);
    kiln_page_putf(p,
                   "<svg class=\"share\" aria-hidden=\"true\"><rect class=\"kiln\" "
                   "width=\"%.1f%%\" height=\"10\" rx=\"2\"/></svg></td>",
                   fmin(fmax(100 * s->time_share, 0), 100));
}

static void put_layouts(kiln_page *p, const char *at, const kiln_results_step *s) {
    kiln_page_put(p, "<td>");
    if (s->layout_in == NULL && s->layout_out == NULL)
        kiln_page_text(p, "span", NULL, at, "layout_in", NULL);
    if (s->layout_in != NULL)
        kiln_page_text(p, "span", NULL, at, "layout_in", s->layout_in);
    if (s->layout_out != NULL) {
        kiln_page_put(p, " \xE2\x86\x92 ");
        kiln_page_text(p, "span", NULL, at, "layout_out", s->layout_out);
    }
    kiln_page_put(p, "</td>");
}

static void put_epilogue(kiln_page *p, const char *at, const kiln_results_step *s) {
    if (s->epilogue != NULL && s->epilogue[0] == '\0')
        kiln_page_put(p, "<td class=\"words\">none</td>");
    else
        kiln_page_text(p, "td", NULL, at, "epilogue", s->epilogue);
}

static void put_step(kiln_page *p, const char *at, const kiln_results_step *s) {
    kiln_page_put(p, "<tr>");
    kiln_page_text(p, "th", NULL, at, "name", s->name);
    kiln_page_text(p, "td", NULL, at, "op", s->op);
    kiln_page_number(p, "td", at, "median_ms", s->median_ms, &kiln_unit_us);
    put_share(p, at, s);
    kiln_page_number(p, "td", at, "multiply_adds", (double)s->multiply_adds,
                     &kiln_unit_mega);
    kiln_page_number(p, "td", at, "gflops", s->gflops, &kiln_unit_plain);
    kiln_page_number(p, "td", at, "peak_share", s->peak_share, &kiln_unit_percent);
    kiln_page_number(p, "td", at, "intensity", s->intensity, &kiln_unit_plain);
    if (s->tmpl == NULL)
        kiln_page_put(p, "<td class=\"words\">copy</td>");
    else
        kiln_page_origin(p, "td", at, s->origin);
    kiln_page_text(p, "td", NULL, at, "template", s->tmpl);
    put_epilogue(p, at, s);
    put_layouts(p, at, s);
    kiln_page_put(p, "</tr>\n");
}

/* ---- roofline ---------------------------------------------------------------------
 *
 * Williams, Waterman, Patterson: Roofline, CACM 52(4), 2009. Both axes are logarithms.
 */

typedef struct roofline {
    double peak, bandwidth;            /* 0: not known */
    double min_x, max_x, min_y, max_y; /* decimal logarithms */
    const char *at;
    const kiln_results_job *job;
} roofline;

static bool is_on(const kiln_results_step *s) {
    return s->intensity > 0 && s->gflops > 0 && isfinite(s->intensity) &&
           isfinite(s->gflops);
}

static double peak_of(const kiln_results *r, int threads) {
    for (size_t i = 0; i < r->machine.peak.n; i++)
        if (r->machine.peak.v[i].threads == threads)
            return r->machine.peak.v[i].gflops;
    return 0;
}

static void widen(double *low, double *high, double v) {
    *low = fmin(*low, log10(v));
    *high = fmax(*high, log10(v));
}

static bool roofline_init(kiln_page *p, roofline *f, const char *at,
                          const kiln_results_job *j) {
    *f = (roofline){.peak = peak_of(p->r, j->threads),
                    .bandwidth = p->r->machine.bandwidth_gbs,
                    .min_x = (double)INFINITY,
                    .max_x = (double)-INFINITY,
                    .min_y = (double)INFINITY,
                    .max_y = (double)-INFINITY,
                    .at = at,
                    .job = j};
    for (size_t i = 0; i < j->step.n; i++) {
        if (is_on(&j->step.v[i])) {
            widen(&f->min_x, &f->max_x, j->step.v[i].intensity);
            widen(&f->min_y, &f->max_y, j->step.v[i].gflops);
        }
    }
    if (!isfinite(f->min_x))
        return false;
    if (f->peak > 0)
        widen(&f->min_y, &f->max_y, f->peak);
    if (f->peak > 0 && f->bandwidth > 0) /* the ridge is what one looks for */
        widen(&f->min_x, &f->max_x, f->peak / f->bandwidth);
    f->min_x = floor(f->min_x), f->min_y = floor(f->min_y);
    f->max_x = fmax(ceil(f->max_x), f->min_x + 1);
    f->max_y = fmax(ceil(f->max_y + 0.05), f->min_y + 1);
    return true;
}

static double place(double low, double high, double log_v) {
    return fmin(fmax(100 * (log_v - low) / (high - low), 0), 100);
}
static double place_x(const roofline *f, double log_v) {
    return place(f->min_x, f->max_x, log_v);
}
static double place_y(const roofline *f, double log_v) {
    return 100 - place(f->min_y, f->max_y, log_v);
}

static void put_line(kiln_page *p, const char *cls, double x1, double y1, double x2,
                     double y2) {
    kiln_page_putf(p,
                   "<line class=\"%s\" x1=\"%.2f%%\" y1=\"%.2f%%\" x2=\"%.2f%%\" "
                   "y2=\"%.2f%%\"/>",
                   cls, x1, y1, x2, y2);
}

/* At powers of ten: every one, or as many as there is room for. */
static int decades_apart(double low, double high) {
    enum { MOST = 6 };
    return (int)ceil((high - low) / MOST);
}

static void put_log_ticks(kiln_page *p, const roofline *f) {
    const int by_x = decades_apart(f->min_x, f->max_x);
    const int by_y = decades_apart(f->min_y, f->max_y);
    for (int v = (int)f->min_x; v <= (int)f->max_x; v += by_x) {
        put_line(p, "grid", place_x(f, v), 0, place_x(f, v), 100);
        kiln_page_putf(p,
                       "<text class=\"tick\" x=\"%.2f%%\" y=\"100%%\" dy=\"17\" "
                       "text-anchor=\"middle\">%g</text>",
                       place_x(f, v), pow(10, v));
    }
    for (int v = (int)f->min_y; v <= (int)f->max_y; v += by_y) {
        put_line(p, "grid", 0, place_y(f, v), 100, place_y(f, v));
        kiln_page_putf(p,
                       "<text class=\"tick\" x=\"-8\" y=\"%.2f%%\" dy=\"4\" "
                       "text-anchor=\"end\">%g</text>",
                       place_y(f, v), pow(10, v));
    }
}

static void put_roof(kiln_page *p, const roofline *f) {
    double flat_from = f->min_x;
    if (f->peak > 0 && f->bandwidth > 0) {
        const double bandwidth = log10(f->bandwidth),
                     ridge = log10(f->peak) - bandwidth;
        const double from = fmax(f->min_x, f->min_y - bandwidth);
        put_line(p, "roof", place_x(f, from), place_y(f, from + bandwidth),
                 place_x(f, ridge), place_y(f, log10(f->peak)));
        flat_from = ridge;
    }
    if (f->peak > 0)
        put_line(p, "roof", place_x(f, flat_from), place_y(f, log10(f->peak)), 100,
                 place_y(f, log10(f->peak)));
}

/* In pixels; the area grows with the share of time. */
static double radius(const kiln_results_step *s) {
    return 3 + 14 * sqrt(fmin(fmax(s->time_share, 0), 1));
}

/* The title, which pointers and screen readers find, says what the table says. */
static void put_spot(kiln_page *p, const roofline *f, size_t i) {
    const kiln_results_step *s = &f->job->step.v[i];
    const char *at = kiln_page_item(p, f->at, "steps", i);
    kiln_page_putf(p, "<circle class=\"spot\" cx=\"%.2f%%\" cy=\"%.2f%%\" r=\"%.2f\">",
                   place_x(f, log10(s->intensity)), place_y(f, log10(s->gflops)),
                   radius(s));
    if (s->name != NULL)
        kiln_page_text(p, "title", NULL, at, "name", s->name);
    kiln_page_put(p, "</circle>");
}

/* Texts would lie on each other. */
static bool is_near(const roofline *f, const kiln_results_step *a,
                    const kiln_results_step *b) {
    const double dx = place_x(f, log10(a->intensity)) - place_x(f, log10(b->intensity));
    const double dy = place_y(f, log10(a->gflops)) - place_y(f, log10(b->gflops));
    return fabs(dx) < 25 && fabs(dy) < 8;
}

static void put_label(kiln_page *p, const roofline *f, size_t i) {
    const kiln_results_step *s = &f->job->step.v[i];
    const double x = place_x(f, log10(s->intensity)), dx = radius(s) + 5;
    kiln_page_putf(p,
                   "<text class=\"label\" x=\"%.2f%%\" y=\"%.2f%%\" dx=\"%.2f\" "
                   "dy=\"4\" text-anchor=\"%s\">",
                   x, place_y(f, log10(s->gflops)), x > 50 ? -dx : dx,
                   x > 50 ? "end" : "start");
    kiln_page_text(p, "tspan", NULL, kiln_page_item(p, f->at, "steps", i), "name",
                   s->name);
    kiln_page_put(p, "</text>");
}

/* The names of the steps that take longest, where there is room. */
static void put_labels(kiln_page *p, const roofline *f) {
    enum { MOST = 3 };
    const kiln_results_job *j = f->job;
    size_t named[MOST];
    for (size_t k = 0; k < MOST; k++) {
        size_t best = j->step.n;
        for (size_t i = 0; i < j->step.n; i++) {
            const kiln_results_step *s = &j->step.v[i];
            bool has_room = is_on(s) && s->name != NULL;
            for (size_t m = 0; m < k && has_room; m++)
                has_room = !is_near(f, s, &j->step.v[named[m]]);
            if (has_room &&
                (best == j->step.n || s->time_share > j->step.v[best].time_share))
                best = i;
        }
        if (best == j->step.n)
            return;
        named[k] = best;
        put_label(p, f, best);
    }
}

static void put_roofline(kiln_page *p, const char *at, const kiln_results_job *j) {
    roofline f;
    if (!roofline_init(p, &f, at, j))
        return;
    kiln_page_put(p,
                  "<figure><figcaption>Roofline: GFLOP/s over arithmetic intensity "
                  "(operations for each byte that must move), both on logarithmic "
                  "axes. A spot is a step, its area the share of time. Convolutions by "
                  "Winograd's algorithm need fewer operations than are counted and may "
                  "lie above the line, which is ");
    kiln_page_put(p, f.peak > 0 && f.bandwidth > 0
                         ? "the machine's peak and its bandwidth of copying."
                     : f.peak > 0 ? "the machine's peak."
                                  : "missing, for no peak was measured.");
    kiln_page_put(p,
                  "</figcaption>\n<div class=\"plot\"><svg role=\"img\" "
                  "aria-label=\"Roofline plot; the table of steps has its numbers\">");
    put_log_ticks(p, &f);
    put_line(p, "frame", 0, 100, 100, 100);
    put_line(p, "frame", 0, 0, 0, 100);
    kiln_svg_names(p->out, "FLOP/byte", "GFLOP/s");
    put_roof(p, &f);
    for (size_t i = 0; i < j->step.n; i++)
        if (is_on(&j->step.v[i]))
            put_spot(p, &f, i);
    put_labels(p, &f);
    kiln_page_put(p, "</svg></div></figure>\n");
}

/* Why the steps' sum is not the run's time: they are of other runs. */
static void put_reconciled(kiln_page *p, const char *at, const kiln_results_job *j) {
    kiln_page_put(p, "; the runs that they were timed in, with a clock read at each "
                     "step, took ");
    kiln_page_number(p, "span", at, "steps_run_ms", j->steps_run_ms, &kiln_unit_plain);
    kiln_page_put(p, "\xC2\xA0ms, those without it ");
    kiln_page_number(p, "span", kiln_page_at(p, at, "latency"), "median_ms",
                     j->latency.median_ms, &kiln_unit_plain);
    kiln_page_put(p, "\xC2\xA0ms: what lies between the first two is the runtime "
                     "between steps, between the last two the clocks and the load of "
                     "two moments");
    if (kiln_results_is_disturbed(j))
        kiln_page_put(p, " (and somebody else had the processors during most samples)");
}

void kiln_page_steps(kiln_page *p, const char *at, const kiln_results_job *j) {
    static const char *const title[] = {
        "step",           "operator",          "#time, \xC2\xB5s",
        "#share of time", "#multiply-adds, M", "#GFLOP/s",
        "#of peak",       "#FLOP/byte",        "origin",
        "kernel",         "epilogue",          "layouts"};
    if (j->step.n == 0)
        return;
    kiln_page_put(p, "<details open><summary><h4>Steps</h4></summary>\n<p>The steps' "
                     "medians add up to ");
    kiln_page_number(p, "span", at, "steps_ms", j->steps_ms, &kiln_unit_plain);
    kiln_page_put(p, "\xC2\xA0ms");
    if (j->steps_run_ms > 0)
        put_reconciled(p, at, j);
    kiln_page_put(p, ".</p>\n");
    KILN_PAGE_TABLE(p, "wide sticky", "Each step of the network, in the order they run",
                    title);
    for (size_t i = 0; i < j->step.n; i++)
        put_step(p, kiln_page_item(p, at, "steps", i), &j->step.v[i]);
    kiln_page_table_end(p);
    put_roofline(p, at, j);
    kiln_page_put(p, "</details>\n");
}

/* ---- coverage ----------------------------------------------------------------------
 */

static void put_stack(kiln_page *p, const kiln_results_job *j, bool by_time) {
    double from = 0;
    kiln_page_putf(
        p, "<p class=\"note\">by %s</p><svg class=\"stack\" aria-hidden=\"true\">",
        by_time ? "time" : "multiply-adds");
    for (size_t i = 0; i < j->coverage.n; i++) {
        const kiln_results_coverage *c = &j->coverage.v[i];
        const double share =
            fmin(fmax(by_time ? c->time_share : c->multiply_add_share, 0), 1);
        kiln_page_putf(p,
                       "<rect class=\"o%d\" x=\"%.2f%%\" width=\"%.2f%%\" "
                       "height=\"22\"/>",
                       kiln_page_origin_colour(c->origin), fmin(100 * from, 100),
                       100 * share);
        from += share;
    }
    kiln_page_put(p, "</svg>\n");
}

static bool has_origin(const void *of, const char *word) {
    const kiln_results_job *j = of;
    for (size_t i = 0; i < j->coverage.n; i++)
        if (kiln_page_is(j->coverage.v[i].origin, word))
            return true;
    return false;
}

void kiln_page_coverage(kiln_page *p, const char *at, const kiln_results_job *j) {
    static const char *const title[] = {"origin",
                                        "#steps",
                                        "#time, \xC2\xB5s",
                                        "#share of time",
                                        "#multiply-adds, M",
                                        "#share of them"};
    if (j->coverage.n == 0)
        return;
    kiln_page_put(p, "<h4>Where the configurations come from</h4>\n");
    put_stack(p, j, true);
    put_stack(p, j, false);
    KILN_PAGE_TABLE(p, "narrow", "Coverage ledger", title);
    for (size_t i = 0; i < j->coverage.n; i++) {
        const kiln_results_coverage *c = &j->coverage.v[i];
        const char *here = kiln_page_item(p, at, "coverage", i);
        kiln_page_put(p, "<tr>");
        kiln_page_origin(p, "th", here, c->origin);
        kiln_page_count(p, "td", here, "steps", c->steps);
        kiln_page_number(p, "td", here, "ms", c->ms, &kiln_unit_us);
        kiln_page_number(p, "td", here, "time_share", c->time_share, &kiln_unit_part);
        kiln_page_number(p, "td", here, "multiply_adds", (double)c->multiply_adds,
                         &kiln_unit_mega);
        kiln_page_number(p, "td", here, "multiply_add_share", c->multiply_add_share,
                         &kiln_unit_part);
        kiln_page_put(p, "</tr>\n");
    }
    kiln_page_table_end(p);
    kiln_page_origin_note(p, has_origin, j);
}

/* ---- memory ------------------------------------------------------------------------
 */

typedef struct memory_row {
    const char *label, *member;
    int64_t bytes;
} memory_row;

void kiln_page_memory(kiln_page *p, const char *at, const kiln_results_memory *m) {
    const memory_row rows[] = {{"planned", "activation_bytes", m->activation},
                               {"lower bound", "lower_bound_bytes", m->lower_bound},
                               {"weights", "parameter_bytes", m->parameter},
                               {"workspace", "workspace_bytes", m->workspace},
                               {"scratch", "scratch_bytes", m->scratch}};
    static const char *const title[] = {"part", "", "#MiB"};
    const int64_t most =
        m->activation > m->lower_bound ? m->activation : m->lower_bound;
    if (most == 0 && m->parameter == 0)
        return;
    kiln_page_put(p, "<h4>Memory</h4>\n");
    if (m->over_lower_bound > 0) {
        kiln_page_put(p, "<p>The plan takes ");
        kiln_page_number(p, "span", at, "over_lower_bound", m->over_lower_bound,
                         &kiln_unit_ratio);
        kiln_page_put(p, " times the lower bound.</p>\n");
    }
    KILN_PAGE_TABLE(p, "plotted",
                    "Activations as planned, beside the lower bound of any plan; "
                    "weights, workspace of a kernel, scratch of a thread",
                    title);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        kiln_page_putf(p, "<tr><th scope=\"row\">%s</th><td>", rows[i].label);
        if (i < 2 && most > 0) /* the plan beside its bound; the rest is not its own */
            kiln_page_putf(p,
                           "<svg class=\"row\" aria-hidden=\"true\"><rect class=\"%s\" "
                           "y=\"4\" width=\"%.2f%%\" height=\"14\" rx=\"2\"/></svg>",
                           i == 0 ? "kiln" : "other",
                           100.0 * (double)rows[i].bytes / (double)most);
        kiln_page_put(p, "</td>");
        kiln_page_number(p, "td", at, rows[i].member, (double)rows[i].bytes,
                         &kiln_unit_mib);
        kiln_page_put(p, "</tr>\n");
    }
    kiln_page_table_end(p);
}
