/* All jobs on one screen: a line for each. Where scripts run they can be sorted and
 * searched (page.js); what is not sorted by its text or number has a data-sort.
 */
#include "reports/page/html_page.h"

#include <string.h>

enum { MOST_LIBRARIES = 3 }; /* that have a column; all stand with the job */

static size_t n_libraries(const kiln_results *r) {
    return r->versus.n < MOST_LIBRARIES ? r->versus.n : MOST_LIBRARIES;
}

static void put_head(kiln_page *p) {
    const char *id = kiln_page_frame(p, NULL);
    kiln_page_putf(p,
                   "<table class=\"jobs sticky\">\n<caption "
                   "id=\"%s\">Latency of each job, and its time over each "
                   "library's</caption>\n<thead><tr><th scope=\"col\">job</th><th "
                   "scope=\"col\">gate</th><th "
                   "scope=\"col\" class=\"n\">change</th><th scope=\"col\" "
                   "class=\"n\">median, ms</th><th scope=\"col\" "
                   "class=\"n\">GFLOP/s</th><th scope=\"col\" class=\"n\">of peak</th>",
                   id);
    for (size_t k = 0; k < n_libraries(p->r); k++) {
        kiln_page_put(p, "<th scope=\"col\" class=\"n\">\xC3\xB7 ");
        kiln_page_text(p, "span", NULL, kiln_page_item(p, "", "versus", k), "name",
                       p->r->versus.v[k].name);
        kiln_page_put(p, "</th>");
    }
    kiln_page_put(p, "</tr></thead>\n<tbody>\n");
}

/* Green or red where the whole interval says so. */
static void put_library(kiln_page *p, const char *at, const kiln_results_job *j,
                        const char *name) {
    for (size_t i = 0; i < j->baseline.n; i++) {
        const kiln_results_baseline *b = &j->baseline.v[i];
        const char *here = kiln_page_item(p, at, "baselines", i);
        if (!kiln_page_is(b->name, name))
            continue;
        if (!kiln_page_is(b->state, "measured")) {
            kiln_page_text(p, "td", "n words", here, "state", b->state);
            return;
        }
        const bool is_faster = b->ratio.high > 0 && b->ratio.high < 1;
        kiln_page_put(p, "<td class=\"n\">");
        kiln_page_number(p,
                         is_faster          ? "b"
                         : b->ratio.low > 1 ? "em"
                                            : "span",
                         kiln_page_at(p, here, "ratio"), "estimate", b->ratio.estimate,
                         &kiln_unit_ratio);
        kiln_page_put(p, "</td>");
        return;
    }
    kiln_page_put(p, "<td class=\"n\"><span class=\"none\">\xE2\x80\x93</span></td>");
}

/* One word: the gate's where the stages went well, which says more than "ok", and
 * "regressed" and "unjudged" are but other words for two of its verdicts. */
static void put_outcome(kiln_page *p, const char *at, const kiln_results_job *j,
                        kiln_page_concern concern) {
    const char *gate = kiln_page_at(p, at, "gate");
    const bool is_of_stages = kiln_page_is(j->status, "failed") ||
                              kiln_page_is(j->status, "interrupted") || !j->has_gate ||
                              j->gate.verdict == NULL;
    kiln_page_putf(p, "<td data-sort=\"%d\">", KILN_CONCERN_BAD - (int)concern);
    if (is_of_stages)
        kiln_page_pill(p, at, "status", j->status);
    else
        kiln_page_pill(p, gate, "verdict", j->gate.verdict);
    if (kiln_results_is_disturbed(j))
        kiln_page_put(p, " <span class=\"pill warn\">disturbed</span>");
    if (j->has_history && (kiln_page_is(j->history.trend, "step") ||
                           kiln_page_is(j->history.trend, "drift"))) {
        kiln_page_put(p, " ");
        kiln_page_pill(p, kiln_page_at(p, at, "history"), "trend", j->history.trend);
    }
    kiln_page_put(p, "</td>");
    if (j->has_gate && j->gate.pairs > 0)
        kiln_page_number(p, "td", kiln_page_at(p, gate, "slowdown"), "estimate",
                         j->gate.slowdown.estimate, &kiln_unit_change);
    else
        kiln_page_put(p,
                      "<td class=\"n\"><span class=\"none\">\xE2\x80\x93</span></td>");
}

static void put_latency(kiln_page *p, const char *at, const kiln_results_job *j) {
    const kiln_results_latency *l = &j->latency;
    if (!j->has_latency) {
        kiln_page_put(p, "<td colspan=\"3\" class=\"words\">not measured</td>");
        return;
    }
    kiln_page_number(p, "td", at, "median_ms", l->median_ms, &kiln_unit_plain);
    kiln_page_number(p, "td", at, "gflops", l->gflops, &kiln_unit_plain);
    kiln_page_number(p, "td", at, "peak_share", l->peak_share, &kiln_unit_percent);
}

static void put_row(kiln_page *p, size_t job) {
    static const char *const cls[] = {[KILN_CONCERN_NONE] = "",
                                      [KILN_CONCERN_WARN] = " class=\"warn-row\"",
                                      [KILN_CONCERN_BAD] = " class=\"bad-row\""};
    const kiln_results_job *j = &p->r->job.v[job];
    const char *at = kiln_page_item(p, "", "jobs", job);
    const kiln_page_concern concern = kiln_page_concern_of(j);
    kiln_page_putf(p, "<tr%s", cls[concern]);
    kiln_page_base(p, at);
    kiln_page_putf(p, "><th scope=\"row\"><a href=\"#job-%zu\">", job);
    kiln_page_job_name(p, job);
    kiln_page_put(p, "</a></th>");
    put_outcome(p, at, j, concern);
    put_latency(p, kiln_page_at(p, at, "latency"), j);
    for (size_t k = 0; k < n_libraries(p->r); k++)
        put_library(p, at, j, p->r->versus.v[k].name);
    kiln_page_base_end(p);
    kiln_page_put(p, "</tr>\n");
}

void kiln_page_jobs(kiln_page *p) {
    if (p->r->job.n == 0)
        return;
    kiln_page_put(p, "<section id=\"jobs\"><h2>Jobs</h2>\n<div class=\"card\">\n");
    put_head(p);
    for (size_t i = 0; i < p->r->job.n; i++)
        put_row(p, i);
    kiln_page_table_end(p);
    kiln_page_put(p, "</div></section>\n");
}
