/* The page of a study: for each table or figure of the paper its rows with their gains,
 * drawn with intervals, beside what the paper says. It loads and runs nothing. Each
 * element's data-path names its member of the study's JSON. */
#include "reports/page/html_page.h"

#include <math.h>
#include <string.h>

#include "reports/results/reports_study.h"
#include "reports/page/svg.h"

typedef struct study_page {
    kiln_page page;
    const kiln_doc_study *s;
} study_page;

static bool is_measured(const kiln_doc_study_row *r) {
    return kiln_page_is(r->state, "measured") && r->ms.estimate > 0;
}

static bool is_new_group(const kiln_doc_study_part *part, size_t i) {
    return i == 0 || strcmp(part->row.v[i].group, part->row.v[i - 1].group) != 0;
}

/* ---- rows ------------------------------------------------------------------------ */

static double most_gain(const kiln_doc_study_part *part) {
    double most = 1.2;
    for (size_t i = 0; i < part->row.n; i++) {
        const kiln_doc_study_row *r = &part->row.v[i];
        most = fmax(most, isfinite(r->gain.high) ? r->gain.high : 0);
        most = fmax(most, fmax(r->gain.estimate, r->published));
    }
    return most;
}

/* The paper's number is a hollow dot. */
static void put_plot(kiln_page *p, const kiln_svg_axis *axis,
                     const kiln_doc_study_row *r) {
    const double at_one = kiln_svg_place(axis, 1);
    kiln_page_put(p, "<td><svg class=\"row\" aria-hidden=\"true\">");
    kiln_svg_grid(p->out, axis);
    kiln_page_putf(
        p, "<line class=\"one\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"0\" y2=\"100%%\"/>",
        at_one, at_one);
    if (r->gain.low > 0 && isfinite(r->gain.high))
        kiln_svg_range(p->out, axis, r->gain.low, r->gain.high);
    if (r->published > 0)
        kiln_page_putf(p, "<circle class=\"off\" cx=\"%.2f%%\" cy=\"50%%\" r=\"4.5\"/>",
                       kiln_svg_place(axis, r->published));
    kiln_page_putf(p,
                   "<circle class=\"dot\" cx=\"%.2f%%\" cy=\"50%%\" r=\"4.5\"/>"
                   "</svg></td><td>",
                   kiln_svg_place(axis, r->gain.estimate));
}

static void put_way(kiln_page *p, const char *at, const kiln_doc_study_row *r) {
    kiln_page_put(p, "<th scope=\"row\">");
    kiln_page_text(p, "span", NULL, at, "way", r->way);
    kiln_page_put(p, " <span class=\"on\">on ");
    kiln_page_count(p, "span", at, "threads", r->threads);
    kiln_page_put(p, "</span>");
    if (r->version != NULL)
        kiln_page_text(p, "small", NULL, at, "version", r->version);
    if (r->file != NULL)
        kiln_page_text(p, "small", NULL, at, "file", r->file);
    if (r->choice != NULL)
        kiln_page_text(p, "small", NULL, at, "choice", r->choice);
    kiln_page_put(p, "</th>");
}

static void put_numbers(kiln_page *p, const char *at, const kiln_svg_axis *axis,
                        const kiln_doc_study_row *r) {
    kiln_page_put(p, "<td>");
    kiln_page_number(p, "span", kiln_page_at(p, at, "ms"), "estimate", r->ms.estimate,
                     &kiln_unit_plain);
    kiln_page_interval(p, at, "ms", &r->ms, &kiln_unit_plain);
    kiln_page_put(p, "</td>");
    put_plot(p, axis, r);
    kiln_page_number(p, "span", kiln_page_at(p, at, "gain"), "estimate",
                     r->gain.estimate, &kiln_unit_ratio);
    kiln_page_interval(p, at, "gain", &r->gain, &kiln_unit_ratio);
    kiln_page_put(p, "</td>");
    kiln_page_number(p, "td", at, "published", r->published, &kiln_unit_ratio);
    if (r->steps > 0) {
        kiln_page_count(p, "td", at, "steps", r->steps);
        kiln_page_count(p, "td", at, "conversions", r->conversions);
    } else {
        kiln_page_put(p, "<td></td><td></td>");
    }
}

static void put_row(kiln_page *p, const char *at, const kiln_svg_axis *axis,
                    const kiln_doc_study_row *r) {
    kiln_page_put(p, "<tr>");
    put_way(p, at, r);
    if (is_measured(r)) {
        put_numbers(p, at, axis, r);
    } else {
        kiln_page_put(p, "<td colspan=\"6\" class=\"words\">");
        kiln_page_pill(p, at, "state", r->state);
        kiln_page_put(p, " ");
        kiln_page_text(p, "span", NULL, at, "problem", r->problem);
        kiln_page_put(p, "</td>");
    }
    kiln_page_put(p, "</tr>\n");
}

static void put_rows(kiln_page *p, const char *at, const kiln_doc_study_part *part) {
    static const char *const title[] = {
        "way",         "median, ms",   "times as fast as the first (hollow: the paper)",
        "times",       "#the paper's", "#steps",
        "#conversions"};
    const kiln_svg_axis axis = kiln_svg_axis_to(most_gain(part));
    KILN_PAGE_TABLE(p, "gains wide", "Medians and gains, with 95% intervals", title);
    for (size_t i = 0; i < part->row.n; i++) {
        const char *here = kiln_page_item(p, at, "rows", i);
        if (is_new_group(part, i)) {
            kiln_page_put(p,
                          "<tr class=\"head\"><th scope=\"rowgroup\" colspan=\"7\">");
            kiln_page_text(p, "span", NULL, here, "group", part->row.v[i].group);
            kiln_page_put(p, "</th></tr>\n");
        }
        put_row(p, here, &axis, &part->row.v[i]);
    }
    kiln_page_put(p, "</tbody><tfoot><tr><td></td><td></td><td><svg class=\"axis\" "
                     "aria-hidden=\"true\">");
    kiln_svg_ticks(p->out, &axis);
    kiln_page_put(p, "</svg></td><td></td><td></td><td></td><td></td></tr></tfoot>"
                     "</table></div>\n");
}

/* ---- gains over threads ---------------------------------------------------------- */

enum { N_COLOURS = 5 };

static bool is_of(const kiln_doc_study_row *r, const char *model, const char *way) {
    return is_measured(r) && strcmp(r->model, model) == 0 &&
           (way == NULL || strcmp(r->way, way) == 0);
}

static void put_line(kiln_page *p, const kiln_doc_study_part *part, size_t first,
                     int colour, const kiln_svg_axis *x, const kiln_svg_axis *y) {
    const kiln_doc_study_row *of = &part->row.v[first];
    const char *comma = "";
    kiln_page_putf(p,
                   "<polyline class=\"line w%d\" vector-effect=\"non-scaling-stroke\" "
                   "points=\"",
                   colour % N_COLOURS);
    for (size_t i = first; i < part->row.n; i++) {
        const kiln_doc_study_row *r = &part->row.v[i];
        if (!is_of(r, of->model, of->way))
            continue;
        kiln_page_putf(p, "%s%.2f,%.2f", comma, kiln_svg_place(x, r->threads),
                       100 - kiln_svg_place(y, r->gain.estimate));
        comma = " ";
    }
    kiln_page_put(p, "\"/>");
}

/* The first row of a way of the model, from `at` on; part->row.n: there is none. */
static size_t next_way(const kiln_doc_study_part *part, const char *model, size_t at) {
    for (; at < part->row.n; at++)
        if (is_of(&part->row.v[at], model, NULL) && is_new_group(part, at))
            return at;
    return part->row.n;
}

static void put_keys(kiln_page *p, const char *at, const kiln_doc_study_part *part,
                     const char *model) {
    int colour = 0;
    kiln_page_put(p, "<ul class=\"keys\">");
    for (size_t i = next_way(part, model, 0); i < part->row.n;
         i = next_way(part, model, i + 1)) {
        kiln_page_putf(p, "<li><span class=\"key w%d\"></span>", colour++ % N_COLOURS);
        kiln_page_text(p, "span", NULL, kiln_page_item(p, at, "rows", i), "way",
                       part->row.v[i].way);
        kiln_page_put(p, "</li>");
    }
    kiln_page_put(p, "</ul>");
}

static void put_curves(kiln_page *p, const char *at, const kiln_doc_study_part *part,
                       size_t first) {
    const char *model = part->row.v[first].model;
    int threads = 1, colour = 0;
    double most = 1;
    for (size_t i = first; i < part->row.n; i++)
        if (is_of(&part->row.v[i], model, NULL)) {
            threads =
                part->row.v[i].threads > threads ? part->row.v[i].threads : threads;
            most = fmax(most, part->row.v[i].gain.estimate);
        }
    const kiln_svg_axis x = kiln_svg_axis_to(threads);
    const kiln_svg_axis y = kiln_svg_axis_to(fmax(most, threads));
    kiln_page_put(p, "<figure><figcaption>Times as fast as one thread, over threads: ");
    kiln_page_text(p, "b", NULL, kiln_page_item(p, at, "rows", first), "model", model);
    kiln_page_put(p, "; dashed: as many times as threads");
    put_keys(p, at, part, model);
    kiln_page_put(p, "</figcaption><div class=\"plot\"><svg role=\"img\" "
                     "aria-label=\"Gain over threads\">");
    kiln_svg_frame(p->out, &x, &y);
    kiln_svg_names(p->out, "threads", "times");
    kiln_page_put(p, "<svg width=\"100%\" height=\"100%\" viewBox=\"0 0 100 100\" "
                     "preserveAspectRatio=\"none\">");
    kiln_page_putf(p,
                   "<polyline class=\"ideal\" vector-effect=\"non-scaling-stroke\" "
                   "points=\"%.2f,%.2f %.2f,%.2f\"/>",
                   kiln_svg_place(&x, 1), 100 - kiln_svg_place(&y, 1),
                   kiln_svg_place(&x, threads), 100 - kiln_svg_place(&y, threads));
    for (size_t i = next_way(part, model, 0); i < part->row.n;
         i = next_way(part, model, i + 1))
        put_line(p, part, i, colour++, &x, &y);
    kiln_page_put(p, "</svg></svg></div></figure>\n");
}

/* One plot for each model, where it comes first. */
static void put_plots(kiln_page *p, const char *at, const kiln_doc_study_part *part) {
    for (size_t i = 0; i < part->row.n; i++) {
        bool is_first = is_measured(&part->row.v[i]);
        for (size_t k = 0; k < i && is_first; k++)
            is_first = !is_of(&part->row.v[k], part->row.v[i].model, NULL);
        if (is_first)
            put_curves(p, at, part, i);
    }
}

/* ---- the page -------------------------------------------------------------------- */

static void put_part(study_page *x, size_t i) {
    kiln_page *p = &x->page;
    const kiln_doc_study_part *part = &x->s->part.v[i];
    const char *at = kiln_page_item(p, "", "parts", i);
    kiln_page_put(p, "<section>");
    kiln_page_text(p, "h2", NULL, at, "title", part->title);
    kiln_page_put(p, "<div class=\"card\">\n<p>");
    kiln_page_text(p, "span", NULL, at, "source", part->source);
    kiln_page_put(p, ". ");
    kiln_page_text(p, "span", NULL, at, "shape", part->shape);
    kiln_page_put(p, "</p>\n");
    if (part->note.n > 0)
        kiln_page_put(p, "<details><summary>Numbers</summary><ul>\n");
    for (size_t k = 0; k < part->note.n; k++)
        kiln_page_text(p, "li", NULL, at, kiln_format(p->arena, "notes[%zu]", k),
                       part->note.v[k]);
    if (part->note.n > 0)
        kiln_page_put(p, "</ul></details>\n");
    if (part->has_curve)
        put_plots(p, at, part);
    if (part->row.n > 0)
        put_rows(p, at, part);
    kiln_page_put(p, "</div></section>\n");
}

static void put_head(study_page *x) {
    kiln_page *p = &x->page;
    const kiln_doc_study *s = x->s;
    kiln_page_put(p, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
                     "<meta charset=\"utf-8\">\n"
                     "<meta http-equiv=\"Content-Security-Policy\" content=\""
                     "default-src 'none'; style-src 'unsafe-inline'\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width, "
                     "initial-scale=1\">\n<title>kiln: study of ");
    kiln_page_escape(p, s->study);
    kiln_page_put(p, "</title>\n<style>\n");
    kiln_page_embed(p, kiln_reports_page_page_css);
    kiln_page_embed(p, kiln_reports_page_study_css);
    kiln_page_put(p, "</style>\n</head>\n<body>\n<header>\n<p class=\"brand\">kiln "
                     "study</p>\n");
    kiln_page_text(p, "h1", NULL, "", "study", s->study);
    kiln_page_put(p, "\n<p class=\"meta\"><span>kiln ");
    kiln_page_text(p, "span", NULL, "", "kiln", s->own.kiln);
    kiln_page_put(p, "</span><span>");
    kiln_page_text(p, "span", NULL, "machine", "cpu", s->machine.cpu);
    kiln_page_put(p, "</span><span>");
    kiln_page_count(p, "span", "machine", "cores", s->machine.cores);
    kiln_page_put(p, " cores</span><span>profile ");
    kiln_page_text(p, "span", NULL, "", "profile", s->profile);
    kiln_page_put(p, "</span><span>");
    kiln_page_count(p, "span", "", "rounds", s->rounds);
    kiln_page_put(p, " rounds</span>");
    if (s->is_interrupted)
        kiln_page_put(p, "<span class=\"pill warn\">interrupted</span>");
    kiln_page_put(p, "</p>\n</header>\n<main>\n");
}

void kiln_doc_study_html(kiln_buf *out, const kiln_doc_study *s) {
    kiln_arena scratch = {0};
    study_page x = {.page = {.out = out, .arena = &scratch}, .s = s};
    put_head(&x);
    for (size_t i = 0; i < s->part.n; i++)
        put_part(&x, i);
    kiln_page_put(
        &x.page,
        "</main>\n<footer>Made by kiln; all rows of a group were timed in turns, round "
        "by "
        "round, after their outputs were held against the reference. Numbers are those "
        "of the study's JSON. Nothing on this page is loaded from elsewhere.</footer>\n"
        "</body>\n</html>\n");
    kiln_arena_fini(&scratch);
}
