/* The section of one list of operators, beside operator libraries. */
#include "reports/html_page.h"

static bool has_origin(const void *of, const char *word) {
    const kiln_results_ops *o = of;
    for (size_t i = 0; i < o->row.n; i++)
        if (kiln_page_is(o->row.v[i].origin, word))
            return true;
    return false;
}

static void put_rows(kiln_page *p, const char *at, const kiln_results_ops *o) {
    static const char *const title[] = {
        "operator",          "#time, \xC2\xB5s", "#GFLOP/s", "#of peak",
        "#multiply-adds, M", "origin",           "kernel",   "line"};
    KILN_PAGE_TABLE(p, "wide sticky", "Operators", title);
    for (size_t i = 0; i < o->row.n; i++) {
        const kiln_results_op *v = &o->row.v[i];
        const char *here = kiln_page_item(p, at, "rows", i);
        kiln_page_put(p, "<tr>");
        kiln_page_text(p, "th", NULL, here, "name", v->name);
        kiln_page_number(p, "td", here, "median_ms", v->median_ms, &kiln_unit_us);
        kiln_page_number(p, "td", here, "gflops", v->gflops, &kiln_unit_plain);
        kiln_page_number(p, "td", here, "peak_share", v->peak_share,
                         &kiln_unit_percent);
        kiln_page_number(p, "td", here, "multiply_adds", (double)v->multiply_adds,
                         &kiln_unit_mega);
        kiln_page_origin(p, "td", here, v->origin);
        kiln_page_text(p, "td", NULL, here, "template", v->tmpl);
        kiln_page_text(p, "td", "wrap", here, "line", v->line);
        kiln_page_put(p, "</tr>\n");
    }
    kiln_page_table_end(p);
    kiln_page_origin_note(p, has_origin, o);
}

static void put_baselines(kiln_page *p, const char *at, const kiln_results_ops *o) {
    static const char *const title[] = {
        "library", "kiln's time / the library's (left of the dashed line: faster)",
        "ratio"};
    bool has_any = false;
    double most = 1.2;
    for (size_t i = 0; i < o->row.n; i++) {
        has_any = has_any || o->row.v[i].baseline.n > 0;
        most = kiln_page_ratio_axis(most, &o->row.v[i].baseline);
    }
    if (!has_any)
        return;
    kiln_page_put(p, "<h4>Beside other libraries</h4>\n");
    kiln_page_versus(p, at, &o->versus, "operators");
    KILN_PAGE_TABLE(p, "plotted", "Beside operator libraries, with 95% intervals",
                    title);
    for (size_t i = 0; i < o->row.n; i++) {
        const kiln_results_op *v = &o->row.v[i];
        const char *here = kiln_page_item(p, at, "rows", i);
        if (v->baseline.n == 0)
            continue;
        kiln_page_put(p, "<tr class=\"head\"><th scope=\"rowgroup\" colspan=\"3\">");
        kiln_page_text(p, "span", NULL, here, "name", v->name);
        kiln_page_put(p, "</th></tr>\n");
        kiln_page_ratio_rows(p, here, &v->baseline, most);
    }
    kiln_page_ratio_foot(p, most);
}

void kiln_page_ops(kiln_page *p, size_t list) {
    const kiln_results_ops *o = &p->r->ops.v[list];
    const char *at = kiln_page_item(p, "", "ops", list);
    kiln_page_putf(p, "<section id=\"ops-%zu\"><h2>Operators: ", list);
    kiln_page_text(p, "span", NULL, at, "set", o->set);
    kiln_page_put(p, " <span class=\"on\">on ");
    kiln_page_count(p, "span", at, "threads", o->threads);
    kiln_page_put(p, o->threads == 1 ? " thread" : " threads");
    kiln_page_put(p, "</span></h2>\n<p class=\"meta\"><span>profile ");
    kiln_page_text(p, "span", NULL, at, "profile", o->profile);
    kiln_page_put(p, "</span><span>");
    kiln_page_pill(p, at, "status", o->status);
    kiln_page_put(p, "</span></p>\n<div class=\"card\">\n");
    if (o->row.n > 0)
        put_rows(p, at, o);
    put_baselines(p, at, o);
    if (o->has_tuning)
        kiln_page_tuning(p, kiln_page_at(p, at, "tuning"), &o->tuning);
    kiln_page_stages(p, at, o->stage.v, o->stage.n);
    kiln_page_put(p, "</div></section>\n");
}
