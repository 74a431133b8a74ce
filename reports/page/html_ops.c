/* The section of one list of operators, beside operator libraries. */
#include "reports/page/html_page.h"

static void put_rows(kiln_page *p, const char *at, const kiln_results_ops *o) {
    static const char *const title[] = {
        "operator",          "#time, \xC2\xB5s", "#GFLOP/s", "#of peak",
        "#multiply-adds, M", "origin",           "kernel",   "line"};
    KILN_PAGE_TABLE(p, "of-ops wide sticky", "Operators", title);
    for (size_t i = 0; i < o->row.n; i++) {
        const kiln_results_op *v = &o->row.v[i];
        const char *here = kiln_page_item(p, at, "rows", i);
        kiln_page_put(p, "<tr");
        kiln_page_base(p, here);
        kiln_page_put(p, ">");
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
        kiln_page_base_end(p);
        kiln_page_put(p, "</tr>\n");
    }
    kiln_page_table_end(p);
}

static void put_baselines(kiln_page *p, const char *at, const kiln_results_ops *o) {
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
    KILN_PAGE_TABLE(p, "ratios", "Beside operator libraries, with 95% intervals",
                    kiln_page_ratio_titles);
    for (size_t i = 0; i < o->row.n; i++) {
        const kiln_results_op *v = &o->row.v[i];
        const char *here = kiln_page_item(p, at, "rows", i);
        if (v->baseline.n == 0)
            continue;
        kiln_page_put(p, "<tr class=\"head\"><th scope=\"rowgroup\" colspan=\"4\">");
        kiln_page_text(p, "span", NULL, here, "name", v->name);
        kiln_page_put(p, "</th></tr>\n");
        kiln_page_ratio_rows(p, here, &v->baseline, most);
    }
    kiln_page_ratio_foot(p, most);
}

static void put_head(kiln_page *p, const char *at, const kiln_results_ops *o,
                     size_t list) {
    kiln_page_putf(p, "<details class=\"job%s\"><summary><h3 id=\"o%zu\">",
                   kiln_page_is(o->status, "failed") ? " bad\" open=\"" : "", list);
    kiln_page_text(p, "span", NULL, at, "set", o->set);
    kiln_page_put(p, " <span class=\"on\">on ");
    kiln_page_count(p, "span", at, "threads", o->threads);
    kiln_page_put(p, o->threads == 1 ? " thread, " : " threads, ");
    kiln_page_text(p, "span", NULL, at, "profile", o->profile);
    kiln_page_put(p, "</span></h3> ");
    kiln_page_pill(p, at, "status", o->status);
    kiln_page_putf(p, "</summary>\n<div class=\"card\" id=\"ops-%zu\">\n", list);
    p->of = kiln_format(p->arena, "o%zu", list);
}

void kiln_page_ops(kiln_page *p, size_t list) {
    KILN_ASSERT(list < p->r->ops.n, "list %zu of %zu", list, p->r->ops.n);
    const kiln_results_ops *o = &p->r->ops.v[list];
    const char *at = kiln_page_item(p, "", "ops", list);
    put_head(p, at, o, list);
    if (o->row.n > 0)
        put_rows(p, at, o);
    put_baselines(p, at, o);
    if (o->has_tuning)
        kiln_page_tuning(p, kiln_page_at(p, at, "tuning"), &o->tuning);
    kiln_page_stages(p, at, o->stage.v, o->stage.n, NULL,
                     kiln_page_is(o->status, "failed"));
    kiln_page_put(p, "</div></details>\n");
    p->of = NULL;
}
