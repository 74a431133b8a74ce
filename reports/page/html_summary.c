/* The top of the page: the verdict, what needs a look, libraries, the nights before. */
#include "reports/page/html_page.h"

#include <math.h>

static void put_counts(kiln_page *p, const char *list, const char *what,
                       const kiln_results_count *v, size_t n) {
    if (n == 0)
        return;
    kiln_page_putf(p, "<ul class=\"counts\"><li>%s</li>\n", what);
    for (size_t i = 0; i < n; i++) {
        const char *at = kiln_page_item(p, "", list, i);
        kiln_page_put(p, "<li>");
        kiln_page_pill(p, at, "name", v[i].name);
        kiln_page_put(p, " ");
        kiln_page_count(p, "b", at, "n", v[i].n);
        kiln_page_put(p, "</li>\n");
    }
    kiln_page_put(p, "</ul>\n");
}

static bool has_verdict(const kiln_results *r, const char *verdict) {
    for (size_t i = 0; i < r->by_verdict.n; i++)
        if (kiln_page_is(r->by_verdict.v[i].name, verdict))
            return true;
    return false;
}

/* What the gate says of the whole, in a sentence. */
static void put_gate(kiln_page *p) {
    const kiln_results *r = p->r;
    if (r->verdict == NULL) {
        kiln_page_put(p, "No job was compared with an accepted archive.");
    } else if (isfinite(r->geomean_slowdown.estimate)) {
        kiln_page_put(p, "Against the accepted archives, time changed by ");
        kiln_page_number(p, "b", "geomean_slowdown", "estimate",
                         r->geomean_slowdown.estimate, &kiln_unit_change);
        kiln_page_interval(p, "", "geomean_slowdown", &r->geomean_slowdown,
                           &kiln_unit_change);
        kiln_page_put(p, " in the geometric mean of the jobs that were timed.");
    } else if (has_verdict(r, "invalid")) {
        kiln_page_put(p, "No comparison with an accepted archive was valid; each says "
                         "why.");
    } else {
        kiln_page_put(p, "No job had to be timed against its accepted archive.");
    }
    if (has_verdict(r, "new"))
        kiln_page_put(p, " <b>new</b>: nothing is accepted yet that it could be "
                         "compared with; <code>kiln accept</code> of this run makes "
                         "its archives what the next nights are held against.");
}

/* Before everything: no verdict here is one. */
static void put_injected(kiln_page *p) {
    if (!(p->r->injected > 0))
        return;
    kiln_page_put(p,
                  "<p><strong>INJECTED</strong>: the gate slowed every candidate by ");
    kiln_page_number(p, "b", "", "injected", p->r->injected, &kiln_unit_percent);
    kiln_page_put(p,
                  " on purpose. Its verdicts are a test of the alarm and say nothing "
                  "of any archive; no history has them.</p>\n");
}

/* A run that failed says so first: a verdict is of archives alone. */
static void put_verdict(kiln_page *p) {
    const kiln_results *r = p->r;
    kiln_page_put(p, "<div class=\"verdict\">");
    if (r->verdict == NULL || !kiln_page_is(r->status, "ok"))
        kiln_page_pill(p, "", "status", r->status);
    if (r->verdict != NULL) {
        kiln_page_put(p, kiln_page_is(r->status, "ok") ? "" : "<span>gate:</span>");
        kiln_page_pill(p, "", "verdict", r->verdict);
    }
    kiln_page_put(p, "<p>");
    put_gate(p);
    kiln_page_put(p, "</p></div>\n");
    if (r->failure != NULL) {
        kiln_page_put(p, "<p>As a whole: ");
        kiln_page_text(p, "b", NULL, "", "failure", r->failure);
        kiln_page_put(p, ".</p>\n");
    }
    put_counts(p, "by_verdict", "Verdicts:", r->by_verdict.v, r->by_verdict.n);
    put_counts(p, "by_status", "Jobs:", r->by_status.v, r->by_status.n);
}

/* Beside which libraries, over all jobs. */
static void put_libraries(kiln_page *p) {
    if (p->r->versus.n == 0)
        return;
    kiln_page_put(p, "<h3>Beside other libraries</h3>\n");
    kiln_page_versus(p, "", &p->r->versus, "jobs");
}

void kiln_page_summary(kiln_page *p) {
    kiln_page_put(p,
                  "<section id=\"summary\"><h2>Summary</h2>\n<div class=\"card\">\n");
    put_injected(p);
    put_verdict(p);
    kiln_page_looks(p);
    put_libraries(p);
    kiln_page_past(p);
    kiln_page_put(p, "</div></section>\n");
}
