/* Kiln beside each baseline: ratio of times with its interval, drawn and written. What
 * was not measured has a word instead. */
#include "reports/page/html_page.h"

#include <math.h>

#include "reports/page/svg.h"

/* One outlier (somebody else had the machine) would squeeze all others: what is beyond
 * stands as an arrow at the axis's end, and its number beside it. */
static const double longest_axis = 4;

/* The axis ends behind what must be seen; `most` is the end so far. */
double kiln_page_ratio_axis(double most, const kiln_results_baselines *b) {
    for (size_t i = 0; i < b->n; i++) {
        const kiln_stats_interval *r = &b->v[i].ratio;
        const double end = r->high > r->estimate ? r->high : r->estimate;
        if (isfinite(end) && end > most)
            most = end;
    }
    return fmin(most, longest_axis);
}

const char *const kiln_page_ratio_titles[4] = {
    "library", "#its median, ms",
    "kiln's time / the library's (left of the dashed line: kiln is faster)", "ratio"};

static void put_plot(kiln_page *p, const kiln_stats_interval *r, double most) {
    const kiln_svg_axis axis = kiln_svg_axis_to(most);
    kiln_page_put(p, "<td><svg class=\"row\" aria-hidden=\"true\">");
    kiln_svg_grid(p->out, &axis);
    const double at_one = kiln_svg_place(&axis, 1);
    kiln_page_putf(
        p, "<line class=\"one\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"0\" y2=\"100%%\"/>",
        at_one, at_one);
    if (r->low > 0 && isfinite(r->high))
        kiln_svg_range(p->out, &axis, r->low, r->high);
    if (r->estimate > axis.end)
        kiln_page_put(p, "<text class=\"beyond\" x=\"100%\" y=\"16\" "
                         "text-anchor=\"end\">\xE2\x96\xB8</text></svg></td>");
    else
        kiln_page_putf(p,
                       "<circle class=\"dot\" cx=\"%.2f%%\" cy=\"50%%\" r=\"4.5\"/>"
                       "</svg></td>",
                       kiln_svg_place(&axis, r->estimate));
}

/* Its name and version, what it chose for the work, and the file that it was given. */
static void put_library(kiln_page *p, const char *at, const kiln_results_baseline *v) {
    kiln_page_put(p, "<th scope=\"row\">");
    kiln_page_text(p, "span", NULL, at, "name", v->name);
    if (v->version != NULL) {
        kiln_page_put(p, " <span class=\"on\">");
        kiln_page_text(p, "span", NULL, at, "version", v->version);
        kiln_page_put(p, "</span>");
    }
    if (v->implementation != NULL)
        kiln_page_text(p, "small", NULL, at, "implementation", v->implementation);
    if (v->file != NULL)
        kiln_page_text(p, "small", NULL, at, "file", v->file);
    kiln_page_put(p, "</th>");
}

void kiln_page_ratio_rows(kiln_page *p, const char *at, const kiln_results_baselines *b,
                          double most) {
    for (size_t i = 0; i < b->n; i++) {
        const kiln_results_baseline *v = &b->v[i];
        const char *here = kiln_page_item(p, at, "baselines", i);
        kiln_page_put(p, "<tr>");
        put_library(p, here, v);
        if (v->ratio.estimate > 0 && kiln_page_is(v->state, "measured")) {
            kiln_page_number(p, "td", here, "median_ms", v->median_ms,
                             &kiln_unit_plain);
            put_plot(p, &v->ratio, most);
            kiln_page_put(p, "<td>");
            kiln_page_number(p, "span", kiln_page_at(p, here, "ratio"), "estimate",
                             v->ratio.estimate, &kiln_unit_ratio);
            kiln_page_interval(p, here, "ratio", &v->ratio, &kiln_unit_ratio);
            kiln_page_put(p, "</td></tr>\n");
            continue;
        }
        kiln_page_put(p, "<td colspan=\"3\" class=\"words\">");
        kiln_page_pill(p, here, "state", v->state);
        if (v->problem != NULL && v->problem[0] != '\0') {
            kiln_page_put(p, " ");
            kiln_page_text(p, "span", NULL, here, "problem", v->problem);
        }
        kiln_page_put(p, "</td></tr>\n");
    }
}

void kiln_page_ratio_foot(kiln_page *p, double most) {
    const kiln_svg_axis axis = kiln_svg_axis_to(most);
    kiln_page_put(p, "</tbody><tfoot><tr><td></td><td></td><td><svg class=\"axis\" "
                     "aria-hidden=\"true\">");
    kiln_svg_ticks(p->out, &axis);
    kiln_page_put(p, "</svg></td><td></td></tr></tfoot></table></div>\n");
}

void kiln_page_versus(kiln_page *p, const char *at,
                      const kiln_results_versus_list *versus, const char *of_what) {
    if (versus->n == 0)
        return;
    kiln_page_put(p, "<dl class=\"versus\">");
    for (size_t i = 0; i < versus->n; i++) {
        const kiln_results_versus *v = &versus->v[i];
        const char *here = kiln_page_item(p, at, "versus", i);
        kiln_page_put(p, "<div><dt>time relative to ");
        kiln_page_text(p, "b", NULL, here, "name", v->name);
        kiln_page_put(p, "</dt><dd>");
        kiln_page_number(p, "span", kiln_page_at(p, here, "ratio"), "estimate",
                         v->ratio.estimate, &kiln_unit_ratio);
        kiln_page_interval(p, here, "ratio", &v->ratio, &kiln_unit_ratio);
        kiln_page_put(p, "<small>faster in ");
        kiln_page_count(p, "span", here, "faster", v->faster);
        kiln_page_put(p, ", slower in ");
        kiln_page_count(p, "span", here, "slower", v->slower);
        kiln_page_put(p, ", of ");
        kiln_page_count(p, "span", here, "measured", v->measured);
        kiln_page_putf(p, " %s", of_what);
        if (v->left_out > 0) {
            kiln_page_put(p, "; left out as disturbed: ");
            kiln_page_count(p, "span", here, "left_out", v->left_out);
        }
        kiln_page_put(p, "</small></dd></div>\n");
    }
    kiln_page_put(p, "</dl>\n");
}
