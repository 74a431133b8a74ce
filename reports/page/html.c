/* index.html: one page that loads nothing, and runs nothing but its own script. It is
 * made from the results alone, so equal results give equal bytes. */
#include "reports/page/html_page.h"

static void put_head(kiln_page *p) {
    kiln_page_put(p, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
                     "<meta charset=\"utf-8\">\n"
                     /* Whatever a name may hold: nothing is loaded, and nothing runs
                        but what has this hash. */
                     "<meta http-equiv=\"Content-Security-Policy\" content=\""
                     "default-src 'none'; style-src 'unsafe-inline'; script-src "
                     "'sha256-");
    kiln_page_script_hash(p);
    kiln_page_put(p, "'\">\n<meta name=\"viewport\" content=\"width=device-width, "
                     "initial-scale=1\">\n<title>kiln: ");
    kiln_page_escape(p, p->r->name != NULL ? p->r->name : "results");
    if (p->r->run != NULL) {
        kiln_page_put(p, ", ");
        kiln_page_escape(p, p->r->run);
    }
    kiln_page_put(p, "</title>\n<style>\n");
    kiln_page_embed(p, kiln_reports_page_page_css);
    kiln_page_put(p, "</style>\n<script>");
    kiln_page_embed(p, kiln_reports_page_page_js);
    kiln_page_put(p, "</script>\n</head>\n<body>\n");
}

static void put_links(kiln_page *p) {
    kiln_page_put(p, "<nav aria-label=\"On this page\"><ul>\n");
    if (p->r->job.n > 0)
        kiln_page_put(p, "<li><a href=\"#each\">each job</a></li>\n");
    for (size_t i = 0; i < p->r->ops.n; i++) {
        kiln_page_putf(p, "<li><a href=\"#ops-%zu\">operators: ", i);
        kiln_page_text(p, "span", NULL, kiln_page_item(p, "", "ops", i), "set",
                       p->r->ops.v[i].set);
        kiln_page_put(p, "</a></li>\n");
    }
    kiln_page_put(p, "<li><a href=\"#machine\">machine</a></li>\n"
                     "<li><a href=\"#reading\">how to read this</a></li>\n"
                     "</ul></nav>\n");
}

static void put_header(kiln_page *p) {
    const kiln_results *r = p->r;
    kiln_page_put(p, "<header>\n<div class=\"title\"><p class=\"brand\">kiln "
                     "nightly</p>\n");
    kiln_page_text(p, "h1", NULL, "", "name", r->name);
    kiln_page_put(p, "\n");
    put_links(p);
    kiln_page_put(p, "</div>\n<p class=\"meta\">");
    if (r->run != NULL) {
        kiln_page_put(p, "<span>run ");
        kiln_page_text(p, "span", NULL, "", "run", r->run);
        kiln_page_put(p, "</span>");
    }
    if (r->started != NULL) {
        kiln_page_put(p, "<span>started ");
        kiln_page_text(p, "span", NULL, "", "started", r->started);
        kiln_page_put(p, "</span>");
    }
    kiln_page_put(p, "<span>took ");
    kiln_page_number(p, "span", "", "seconds", r->seconds, &kiln_unit_seconds);
    kiln_page_put(p, "</span>");
    if (r->kiln != NULL) {
        kiln_page_put(p, "<span>kiln ");
        kiln_page_text(p, "span", NULL, "", "kiln", r->kiln);
        kiln_page_put(p, "</span>");
    }
    if (r->commit != NULL) {
        kiln_page_put(p, "<span>commit ");
        kiln_page_text(p, "code", NULL, "", "commit", r->commit);
        kiln_page_put(p, "</span>");
    }
    if (kiln_page_one_profile(r)) {
        kiln_page_put(p, "<span>profile ");
        kiln_page_text(p, "span", NULL, "jobs[0]", "profile", r->job.v[0].profile);
        kiln_page_put(p, "</span>");
    }
    kiln_page_put(p, "</p>\n");
    kiln_page_put(p, "</header>\n");
}

static void put_peaks(kiln_page *p, const kiln_results_machine *m) {
    static const char *const title[] = {"#threads", "#peak, GFLOP/s", "#clock, GHz"};
    if (m->peak.n == 0)
        return;
    KILN_PAGE_TABLE(p, "narrow",
                    "Peak of multiply-adds and clock, measured between "
                    "the runs (medians)",
                    title);
    for (size_t i = 0; i < m->peak.n; i++) {
        const kiln_results_peak *v = &m->peak.v[i];
        const char *at = kiln_page_item(p, "machine", "peaks", i);
        kiln_page_put(p, "<tr>");
        kiln_page_count(p, "td", at, "threads", v->threads);
        kiln_page_number(p, "td", at, "gflops", v->gflops, &kiln_unit_plain);
        kiln_page_number(p, "td", at, "clock_ghz", v->clock_ghz, &kiln_unit_plain);
        kiln_page_put(p, "</tr>\n");
    }
    kiln_page_table_end(p);
}

static void put_levels(kiln_page *p, const kiln_results_machine *m) {
    static const char *const title[] = {"level", "#threads", "#GB/s"};
    if (m->level.n == 0)
        return;
    KILN_PAGE_TABLE(
        p, "narrow",
        "Reading or copying, whichever is faster, as the lists of operators "
        "measured it",
        title);
    for (size_t i = 0; i < m->level.n; i++) {
        const kiln_results_level *v = &m->level.v[i];
        const char *at = kiln_page_item(p, "machine", "levels", i);
        kiln_page_put(p, "<tr>");
        kiln_page_text(p, "th", NULL, at, "name", v->name);
        kiln_page_count(p, "td", at, "threads", v->threads);
        kiln_page_number(p, "td", at, "gbs", v->gbs, &kiln_unit_plain);
        kiln_page_put(p, "</tr>\n");
    }
    kiln_page_table_end(p);
}

void kiln_page_machine(kiln_page *p) {
    const kiln_results_machine *m = &p->r->machine;
    kiln_page_put(
        p, "<section id=\"machine\"><h2>Machine</h2>\n<div class=\"card\">\n<dl>\n");
    kiln_page_fact(p, "processor");
    kiln_page_text(p, "span", NULL, "machine", "cpu", m->cpu);
    kiln_page_fact_end(p);
    kiln_page_fact(p, "operating system");
    kiln_page_text(p, "span", NULL, "machine", "os", m->os);
    kiln_page_fact_end(p);
    kiln_page_fact(p, "cores of the run");
    kiln_page_count(p, "span", "machine", "cores", m->cores);
    kiln_page_fact_end(p);
    kiln_page_fact_number(p, "memory, GiB", "machine", "memory_bytes",
                          (double)m->memory_bytes, &kiln_unit_gib);
    kiln_page_fact_number(p, "copying, GB/s", "machine", "bandwidth_gbs",
                          m->bandwidth_gbs, &kiln_unit_plain);
    kiln_page_fact(p, "kiln built by");
    kiln_page_text(p, "span", NULL, "", "build", p->r->build);
    kiln_page_fact_end(p);
    kiln_page_put(p, "</dl>\n");
    put_peaks(p, m);
    put_levels(p, m);
    kiln_page_put(p, "</div></section>\n");
}

static void put_reading(kiln_page *p) {
    kiln_page_put(
        p,
        "<section id=\"reading\"><h2>How to read this</h2>\n<div class=\"card\">\n"
        "<p>All numbers are rounded from <a href=\"results.json\">results.json</a>, "
        "which lies beside this page with <a href=\"results.csv\">results.csv</a>; "
        "each "
        "element's <code>data-path</code> names the member, behind the "
        "<code>data-at</code> around it where it starts with a point, and "
        "<code>data-by</code> the factor to the unit shown. Numbers along axes belong "
        "to the axes.</p>\n"
        "<p>A time is the median over samples, a dash is a number that is not known. "
        "Ranges in brackets are 95% intervals; of samples, the middle half. Ratios are "
        "kiln's time over the other's from the same rounds: below one, kiln is faster. "
        "GFLOP/s count two operations for each multiply-add; the peak is measured "
        "between the runs.</p>\n"
        "<p>The gate compares with the archive that was last accepted, in pairs of "
        "fresh processes; it fails only what a second, fresh series finds slower too."
        "</p>\n");
    kiln_page_origin_note(p);
    if (p->r->command != NULL) {
        kiln_page_put(p, "<p>This makes the run again:</p>\n");
        kiln_page_text(p, "pre", NULL, "", "command", p->r->command);
    }
    kiln_page_put(p, "</div></section>\n");
}

static void put_folds(kiln_page *p) {
    if (p->r->job.n > 0) {
        kiln_page_put(p, "<section id=\"each\" class=\"folds\"><h2>Each job</h2>\n");
        for (size_t i = 0; i < p->r->job.n; i++)
            kiln_page_job(p, i);
        kiln_page_put(p, "</section>\n");
    }
    if (p->r->ops.n > 0) {
        kiln_page_put(p, "<section class=\"folds\"><h2>Lists of operators</h2>\n");
        for (size_t i = 0; i < p->r->ops.n; i++)
            kiln_page_ops(p, i);
        kiln_page_put(p, "</section>\n");
    }
}

void kiln_results_html(kiln_buf *out, const kiln_results *r) {
    kiln_arena scratch = {0};
    kiln_page p = {.out = out, .arena = &scratch, .r = r};
    put_head(&p);
    put_header(&p);
    kiln_page_put(&p, "<main>\n<div class=\"first\">\n");
    kiln_page_summary(&p);
    kiln_page_jobs(&p);
    kiln_page_put(&p, "</div>\n");
    put_folds(&p);
    kiln_page_machine(&p);
    put_reading(&p);
    kiln_page_put(&p,
                  "</main>\n<footer>Made by kiln from results.json; nothing on this "
                  "page is loaded from elsewhere.</footer>\n</body>\n</html>\n");
    kiln_arena_fini(&scratch);
}
