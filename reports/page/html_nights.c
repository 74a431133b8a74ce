/* The page over all nights: a line of ratios for each job, a row for each night, newest
 * first. It loads and runs nothing. Its numbers are the
 * history's: `kiln history export` has them. */
#include "reports/page/html_page.h"

#include <math.h>
#include <string.h>

#include "reports/nights/reports_nights.h"

typedef struct index_page {
    kiln_page page;
    const kiln_nights *n;
    const char *out; /* the page's folder */
    kiln_night_series_list series;
} index_page;

static void put_text(index_page *x, const char *tag, const char *text) {
    kiln_page *p = &x->page;
    kiln_page_putf(p, "<%s>", tag);
    if (text != NULL)
        kiln_page_escape(p, text);
    else
        kiln_page_put(p, "\xE2\x80\x93");
    kiln_page_putf(p, "</%s>", tag);
}

/* In the colour that its word has on the other page. */
static void put_pill(index_page *x, const char *word) {
    static const struct {
        const char *word, *cls;
    } looks[] = {{"pass", "good"},         {"equal", "good"},       {"ok", "good"},
                 {"stable", "good"},       {"faster", "good"},      {"fail", "bad"},
                 {"failed", "bad"},        {"regressed", "bad"},    {"step", "bad"},
                 {"invalid", "bad"},       {"unjudged", "warn"},    {"drift", "warn"},
                 {"inconclusive", "warn"}, {"interrupted", "warn"}, {"wrong", "bad"}};
    const char *cls = "calm";
    if (word == NULL)
        return;
    for (size_t i = 0; i < sizeof looks / sizeof looks[0]; i++)
        if (kiln_page_is(word, looks[i].word))
            cls = looks[i].cls;
    kiln_page_putf(&x->page, "<span class=\"pill %s\">", cls);
    kiln_page_escape(&x->page, word);
    kiln_page_put(&x->page, "</span>");
}

/* ---- lines ----------------------------------------------------------------------- */

enum { HEIGHT = 40 };

typedef struct plot {
    double low, high; /* of ratios */
    size_t n_nights;
} plot;

/* At least 2% on either side of 1: noise must not look like news. */
static plot plot_of(const kiln_night_series *s, size_t n_nights) {
    plot out = {.low = 0.98, .high = 1.02, .n_nights = n_nights};
    for (size_t i = 0; i < s->point.n; i++) {
        out.low = fmin(out.low, s->point.v[i]->ratio.estimate);
        out.high = fmax(out.high, s->point.v[i]->ratio.estimate);
    }
    return out;
}

static double y_of(const plot *f, double ratio) {
    return HEIGHT * (f->high - ratio) / (f->high - f->low);
}

static void put_line(index_page *x, const kiln_night_series *s) {
    kiln_page *p = &x->page;
    const plot f = plot_of(s, x->n->n);
    kiln_page_putf(p,
                   "<svg class=\"spark\" viewBox=\"0 0 %zu %d\" "
                   "preserveAspectRatio=\"none\" aria-hidden=\"true\"><line "
                   "class=\"one\" vector-effect=\"non-scaling-stroke\" x1=\"0\" "
                   "x2=\"%zu\" y1=\"%.1f\" y2=\"%.1f\"/>",
                   f.n_nights, HEIGHT, f.n_nights, y_of(&f, 1), y_of(&f, 1));
    for (size_t i = 0; i < s->point.n; i++)
        if (s->finding[i].word != KILN_TREND_STABLE)
            kiln_page_putf(p,
                           "<line class=\"%s\" vector-effect=\"non-scaling-stroke\" "
                           "x1=\"%zu.5\" x2=\"%zu.5\" y1=\"0\" y2=\"%d\"/>",
                           s->finding[i].word == KILN_TREND_FASTER ? "better" : "alarm",
                           s->night.v[i], s->night.v[i], HEIGHT);
    kiln_page_put(p, "<polyline vector-effect=\"non-scaling-stroke\" points=\"");
    for (size_t i = 0; i < s->point.n; i++)
        kiln_page_putf(p, "%zu.5,%.1f ", s->night.v[i],
                       y_of(&f, s->point.v[i]->ratio.estimate));
    kiln_page_put(p, "\"/></svg>");
}

static int64_t n_alarms(const kiln_night_series *s) {
    int64_t n = 0;
    for (size_t i = 0; i < s->point.n; i++)
        n += s->finding[i].word == KILN_TREND_STEP ||
             s->finding[i].word == KILN_TREND_DRIFT;
    return n;
}

static void put_job(index_page *x, const kiln_night_series *s) {
    kiln_page *p = &x->page;
    const kiln_night_job *j = &x->n->v[x->n->n - 1].job.v[s->job];
    kiln_page_put(p, "<tr><th scope=\"row\">");
    kiln_page_escape(p, j->model);
    kiln_page_putf(p, " <span class=\"on\">on %d thread%s, ", j->threads,
                   j->threads == 1 ? "" : "s");
    kiln_page_escape(p, j->profile);
    kiln_page_put(p, "</span></th><td>");
    if (s->point.n > 0)
        put_line(x, s);
    kiln_page_put(p, "</td>");
    if (s->point.n > 0 && s->is_tonight)
        kiln_page_putf(p, "<td class=\"n\">%.3f</td><td>",
                       s->point.v[s->point.n - 1]->ratio.estimate);
    else
        kiln_page_put(p, "<td class=\"n\">\xE2\x80\x93</td><td>");
    if (s->is_tonight)
        put_pill(x, kiln_trend_name(s->finding[s->point.n - 1].word));
    kiln_page_putf(p, "</td><td class=\"n\">%lld</td></tr>\n", (long long)n_alarms(s));
}

static void put_jobs(index_page *x) {
    static const char *const title[] = {"job", "time / time of its frozen archive",
                                        "#last", "last night", "#alarms"};
    kiln_page *p = &x->page;
    if (x->series.n == 0)
        return;
    kiln_page_put(p, "<section><h2>Jobs</h2><div class=\"card\">\n");
    KILN_PAGE_TABLE(p, "lines",
                    "All nights, the last on the right; the dashed line is 1, upright "
                    "lines are steps and drifts (red) and jobs that got faster (green)",
                    title);
    for (size_t i = 0; i < x->series.n; i++)
        put_job(x, &x->series.v[i]);
    kiln_page_table_end(p);
    kiln_page_put(p, "</div></section>\n");
}

/* ---- rows ------------------------------------------------------------------------ */

/* Relative to the page where the run lies in its folder; NULL: it does not. */
static const char *link_of(index_page *x, const kiln_night *n) {
    const size_t len = strlen(x->out);
    if (n->is_pruned || strncmp(n->folder, x->out, len) != 0 || n->folder[len] != '/')
        return NULL;
    return n->folder + len + 1;
}

/* The worst finding of the night, over all jobs. */
static const char *finding_of(const index_page *x, size_t night) {
    static const int concern[] = {[KILN_TREND_STABLE] = 1,
                                  [KILN_TREND_FASTER] = 2,
                                  [KILN_TREND_DRIFT] = 3,
                                  [KILN_TREND_STEP] = 4};
    const char *worst = NULL;
    int most = 0;
    for (size_t i = 0; i < x->series.n; i++) {
        const kiln_night_series *s = &x->series.v[i];
        for (size_t k = 0; k < s->point.n; k++)
            if (s->night.v[k] == night && concern[s->finding[k].word] > most) {
                most = concern[s->finding[k].word];
                worst = kiln_trend_name(s->finding[k].word);
            }
    }
    return worst;
}

static void put_night(index_page *x, size_t night) {
    kiln_page *p = &x->page;
    const kiln_night *n = &x->n->v[night];
    const char *link = link_of(x, n);
    kiln_page_put(p, "<tr><th scope=\"row\">");
    if (link != NULL) {
        kiln_page_put(p, "<a href=\"");
        kiln_page_escape(p, link);
        kiln_page_put(p, "/index.html\">");
    }
    kiln_page_escape(p, n->run);
    kiln_page_put(p, link != NULL ? "</a></th><td>" : "</th><td>");
    put_pill(x, n->status);
    kiln_page_put(p, "</td><td>");
    put_pill(x, n->verdict);
    kiln_page_put(p, "</td><td>");
    put_pill(x, finding_of(x, night));
    kiln_page_putf(p, "</td><td class=\"n\">%zu</td>", n->job.n);
    put_text(x, "td", n->kiln);
    put_text(x, "td",
             n->commit != NULL ? kiln_format(p->arena, "%.12s", n->commit) : "");
    if (n->is_pruned)
        kiln_page_put(p, "<td class=\"n\">pruned</td></tr>\n");
    else
        kiln_page_putf(p, "<td class=\"n\">%.1f</td></tr>\n", (double)n->bytes * 1e-6);
}

static void put_nights(index_page *x) {
    static const char *const title[] = {"run",   "status", "gate",   "against frozen",
                                        "#jobs", "kiln",   "commit", "#MB"};
    kiln_page *p = &x->page;
    double bytes = 0;
    size_t n_kept = 0;
    for (size_t i = 0; i < x->n->n; i++) {
        n_kept += !x->n->v[i].is_pruned;
        bytes += x->n->v[i].is_pruned ? 0 : (double)x->n->v[i].bytes;
    }
    kiln_page_putf(p,
                   "<section><h2>Nights</h2><div class=\"card\">\n<p>%zu night%s; the "
                   "folders of %zu are kept, %.1f MB.</p>\n",
                   x->n->n, kiln_plural((int64_t)x->n->n), n_kept, bytes * 1e-6);
    KILN_PAGE_TABLE(p, "wide sticky", "The newest first", title);
    for (size_t i = x->n->n; i-- > 0;)
        put_night(x, i);
    kiln_page_table_end(p);
    kiln_page_put(p, "</div></section>\n");
}

static void put_head(index_page *x) {
    kiln_page *p = &x->page;
    const char *name = x->n->n > 0 ? x->n->v[x->n->n - 1].pipeline : "no nights";
    kiln_page_put(p, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
                     "<meta charset=\"utf-8\">\n"
                     "<meta http-equiv=\"Content-Security-Policy\" content=\""
                     "default-src 'none'; style-src 'unsafe-inline'\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width, "
                     "initial-scale=1\">\n<title>kiln: nights of ");
    kiln_page_escape(p, name);
    kiln_page_put(p, "</title>\n<style>\n");
    kiln_page_embed(p, kiln_reports_page_page_css);
    kiln_page_embed(p, kiln_reports_page_nights_css);
    kiln_page_put(p, "</style>\n</head>\n<body>\n<header>\n<p class=\"brand\">kiln "
                     "nightly</p>\n");
    put_text(x, "h1", name);
    kiln_page_put(p, "\n<p class=\"meta\">all nights</p>\n</header>\n<main>\n");
}

void kiln_nights_html(kiln_buf *page, const kiln_nights *n, const char *out) {
    kiln_arena scratch = {0};
    const size_t first = n->n > KILN_NIGHTS_MOST ? n->n - KILN_NIGHTS_MOST : 0;
    const kiln_nights newest = {.v = n->n > 0 ? n->v + first : NULL, .n = n->n - first};
    index_page x = {.page = {.out = page, .arena = &scratch}, .n = &newest, .out = out};
    kiln_nights_series(&scratch, &newest, &x.series);
    put_head(&x);
    put_jobs(&x);
    put_nights(&x);
    kiln_page_put(&x.page, "</main>\n<footer>Made by kiln from its history of nights; "
                           "<code>kiln history export</code> has every number. Nothing "
                           "on this page is loaded from elsewhere.</footer>\n</body>\n"
                           "</html>\n");
    kiln_arena_fini(&scratch);
}
