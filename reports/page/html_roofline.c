/* Roofline of one job (Williams, Waterman, Patterson: Roofline, CACM 52(4), 2009): what
 * its steps reach over their arithmetic intensity, both axes logarithms, beneath the
 * machine's peak and the lines of its memory and caches.
 *
 * The plot has a size of its own, in CSS pixels, and scrolls where there is less room:
 * only so can it be known here what lies on what, and no letter covers a spot. */
#include "reports/page/html_page.h"

#include <math.h>
#include <string.h>

enum {
    WIDTH = 660,
    HEIGHT = 360,
    LEFT = 52, /* of the plot's inside */
    RIGHT = WIDTH - 14,
    TOP = 26,
    BOTTOM = HEIGHT - 42,
    MAX_ROOFS = 8,
    MAX_NAMED = 8, /* steps with a letter */
    LETTER_WIDTH = 12,
    LETTER_HEIGHT = 14
};

typedef struct roof { /* a level of the memory */
    const char *at, *member, *name;
    double gbs;
} roof;

typedef struct box { /* of a letter; centre */
    double x, y;
    size_t step;
} box;

typedef struct roofline {
    double peak;
    const char *peak_at;
    roof roof[MAX_ROOFS];
    size_t n_roofs;
    bool has_caches;                   /* among them */
    double memory;                     /* GB/s of the slowest of them; 0: not known */
    double min_x, max_x, min_y, max_y; /* decimal logarithms */
    const char *at;
    const kiln_results_job *job;
    box named[MAX_NAMED];
    size_t n_named;
} roofline;

static bool is_on(const kiln_results_step *s) {
    return s->intensity > 0 && s->gflops > 0 && isfinite(s->intensity) &&
           isfinite(s->gflops);
}

/* ---- what is drawn --------------------------------------------------------------- */

static void find_peak(kiln_page *p, roofline *f) {
    const kiln_results_machine *m = &p->r->machine;
    for (size_t i = 0; i < m->peak.n; i++)
        if (m->peak.v[i].threads == f->job->threads && m->peak.v[i].gflops > 0) {
            f->peak = m->peak.v[i].gflops;
            f->peak_at = kiln_page_item(p, "machine", "peaks", i);
            return;
        }
}

static void add_roof(roofline *f, roof r) {
    if (f->n_roofs == MAX_ROOFS || !(r.gbs > 0) || !isfinite(r.gbs))
        return;
    f->roof[f->n_roofs++] = r;
    f->has_caches = f->has_caches || !kiln_page_is(r.name, "memory");
}

/* Levels with as many threads as the job has; else what copying with all cores gave. */
static void find_roofs(kiln_page *p, roofline *f) {
    const kiln_results_machine *m = &p->r->machine;
    bool has_memory = false;
    for (size_t i = 0; i < m->level.n; i++) {
        const kiln_results_level *l = &m->level.v[i];
        if (l->threads != f->job->threads || l->name == NULL)
            continue;
        add_roof(f, (roof){.at = kiln_page_item(p, "machine", "levels", i),
                           .member = "gbs",
                           .name = l->name,
                           .gbs = l->gbs});
        has_memory = has_memory || strcmp(l->name, "memory") == 0;
    }
    if (!has_memory)
        add_roof(f, (roof){"machine", "bandwidth_gbs", "memory", m->bandwidth_gbs});
    for (size_t i = 0; i < f->n_roofs; i++)
        if (strcmp(f->roof[i].name, "memory") == 0)
            f->memory = f->roof[i].gbs;
}

static void widen(double *low, double *high, double v) {
    *low = fmin(*low, log10(v));
    *high = fmax(*high, log10(v));
}

static bool roofline_init(kiln_page *p, roofline *f, const char *at,
                          const kiln_results_job *j) {
    *f = (roofline){.min_x = (double)INFINITY,
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
    find_peak(p, f);
    find_roofs(p, f);
    if (f->peak > 0)
        widen(&f->min_y, &f->max_y, f->peak);
    if (f->peak > 0 && f->memory > 0) /* the ridge is what one looks for */
        widen(&f->min_x, &f->max_x, f->peak / f->memory);
    f->min_x = floor(f->min_x), f->min_y = floor(f->min_y);
    f->max_x = fmax(ceil(f->max_x), f->min_x + 1);
    f->max_y = fmax(ceil(f->max_y + 0.05), f->min_y + 1);
    return true;
}

/* ---- places, in pixels ----------------------------------------------------------- */

static double x_of(const roofline *f, double log_v) {
    const double part = (log_v - f->min_x) / (f->max_x - f->min_x);
    return LEFT + (RIGHT - LEFT) * fmin(fmax(part, 0), 1);
}
static double y_of(const roofline *f, double log_v) {
    const double part = (log_v - f->min_y) / (f->max_y - f->min_y);
    return BOTTOM - (BOTTOM - TOP) * fmin(fmax(part, 0), 1);
}
static double step_x(const roofline *f, const kiln_results_step *s) {
    return x_of(f, log10(s->intensity));
}
static double step_y(const roofline *f, const kiln_results_step *s) {
    return y_of(f, log10(s->gflops));
}

/* The area grows with the share of time. */
static double radius(const kiln_results_step *s) {
    return 3 + 14 * sqrt(fmin(fmax(s->time_share, 0), 1));
}

static bool is_inside(double x, double y) {
    return x > LEFT + LETTER_WIDTH / 2.0 && x < RIGHT - LETTER_WIDTH / 2.0 &&
           y > TOP + LETTER_HEIGHT / 2.0 && y < BOTTOM - LETTER_HEIGHT / 2.0;
}

/* Would a letter there lie on a spot, or on another letter? */
static bool is_free(const roofline *f, double x, double y) {
    for (size_t i = 0; i < f->job->step.n; i++) {
        const kiln_results_step *s = &f->job->step.v[i];
        if (!is_on(s))
            continue;
        const double dx = fmax(fabs(step_x(f, s) - x) - LETTER_WIDTH / 2.0, 0);
        const double dy = fmax(fabs(step_y(f, s) - y) - LETTER_HEIGHT / 2.0, 0);
        if (hypot(dx, dy) < radius(s) + 1)
            return false;
    }
    for (size_t k = 0; k < f->n_named; k++)
        if (fabs(f->named[k].x - x) < LETTER_WIDTH &&
            fabs(f->named[k].y - y) < LETTER_HEIGHT)
            return false;
    return is_inside(x, y);
}

/* The nearest free place around the spot; none within sight: no letter. */
static bool find_place(const roofline *f, size_t step, box *out) {
    enum { N_AROUND = 16, N_OUT = 8, BY = 7 };
    const kiln_results_step *s = &f->job->step.v[step];
    const double turn = 2 * acos(-1.0) / N_AROUND;
    for (int far = 0; far < N_OUT; far++)
        for (int i = 0; i < N_AROUND; i++) {
            const double d = radius(s) + 10 + BY * far;
            const double x = step_x(f, s) + d * cos(turn * i);
            const double y = step_y(f, s) - d * sin(turn * i);
            if (is_free(f, x, y)) {
                *out = (box){x, y, step};
                return true;
            }
        }
    return false;
}

static bool is_named(const roofline *f, const bool *tried, size_t i) {
    return tried[i] || !is_on(&f->job->step.v[i]) || f->job->step.v[i].name == NULL;
}

/* The steps that take longest. */
static void find_names(kiln_page *p, roofline *f) {
    const kiln_results_job *j = f->job;
    bool *tried = kiln_array(p->arena, bool, j->step.n);
    for (int k = 0; k < MAX_NAMED; k++) {
        size_t best = j->step.n;
        for (size_t i = 0; i < j->step.n; i++)
            if (!is_named(f, tried, i) &&
                (best == j->step.n ||
                 j->step.v[i].time_share > j->step.v[best].time_share))
                best = i;
        if (best == j->step.n)
            return;
        tried[best] = true;
        f->n_named += find_place(f, best, &f->named[f->n_named]);
    }
}

/* ---- drawing --------------------------------------------------------------------- */

static void put_line(kiln_page *p, const char *cls, double x1, double y1, double x2,
                     double y2) {
    kiln_page_putf(p,
                   "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" "
                   "y2=\"%.1f\"/>",
                   cls, x1, y1, x2, y2);
}

/* At powers of ten: every one, or as many as there is room for. */
static int decades_apart(double low, double high) {
    enum { MOST = 6 };
    return (int)ceil((high - low) / MOST);
}

static void put_ticks(kiln_page *p, const roofline *f) {
    const int by_x = decades_apart(f->min_x, f->max_x);
    const int by_y = decades_apart(f->min_y, f->max_y);
    for (int v = (int)f->min_x; v <= (int)f->max_x; v += by_x) {
        put_line(p, "grid", x_of(f, v), TOP, x_of(f, v), BOTTOM);
        kiln_page_putf(p,
                       "<text class=\"tick\" x=\"%.1f\" y=\"%d\" "
                       "text-anchor=\"middle\">%g</text>",
                       x_of(f, v), BOTTOM + 17, pow(10, v));
    }
    for (int v = (int)f->min_y; v <= (int)f->max_y; v += by_y) {
        put_line(p, "grid", LEFT, y_of(f, v), RIGHT, y_of(f, v));
        kiln_page_putf(p,
                       "<text class=\"tick\" x=\"%d\" y=\"%.1f\" "
                       "text-anchor=\"end\">%g</text>",
                       LEFT - 8, y_of(f, v) + 4, pow(10, v));
    }
    put_line(p, "frame", LEFT, BOTTOM, RIGHT, BOTTOM);
    put_line(p, "frame", LEFT, TOP, LEFT, BOTTOM);
    kiln_page_putf(p,
                   "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">FLOP/byte</text>"
                   "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">GFLOP/s</text>",
                   RIGHT, BOTTOM + 34, LEFT + 14, TOP - 12);
}

/* The line of a level: from where it comes into the plot, to the peak or out of it. */
static void put_roof(kiln_page *p, const roofline *f, size_t i) {
    const double gbs = log10(f->roof[i].gbs);
    const double top = f->peak > 0 ? log10(f->peak) : f->max_y;
    const double from = fmax(f->min_x, f->min_y - gbs), to = fmin(f->max_x, top - gbs);
    if (to > from)
        put_line(p, kiln_format(p->arena, "roof r%zu", f->n_roofs - 1 - i),
                 x_of(f, from), y_of(f, from + gbs), x_of(f, to), y_of(f, to + gbs));
}

static void put_roofs(kiln_page *p, const roofline *f) {
    double fastest = 0;
    for (size_t i = 0; i < f->n_roofs; i++) {
        put_roof(p, f, i);
        fastest = fmax(fastest, f->roof[i].gbs);
    }
    if (!(f->peak > 0))
        return;
    const double peak = log10(f->peak);
    const double from = fastest > 0 ? fmax(peak - log10(fastest), f->min_x) : f->min_x;
    put_line(p, "roof", x_of(f, from), y_of(f, peak), RIGHT, y_of(f, peak));
}

/* The title, which pointers and screen readers find, says what the table says. */
static void put_spot(kiln_page *p, const roofline *f, size_t i) {
    const kiln_results_step *s = &f->job->step.v[i];
    const char *at = kiln_page_item(p, f->at, "steps", i);
    kiln_page_putf(p, "<circle class=\"o%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\">",
                   kiln_page_origin_colour(s->origin), step_x(f, s), step_y(f, s),
                   radius(s));
    if (s->name != NULL)
        kiln_page_text(p, "title", NULL, at, "name", s->name);
    kiln_page_put(p, "</circle>");
}

/* A letter far from its spot has a line to it. */
static void put_letter(kiln_page *p, const roofline *f, size_t k) {
    const box *b = &f->named[k];
    const kiln_results_step *s = &f->job->step.v[b->step];
    const double x = step_x(f, s), y = step_y(f, s), d = hypot(b->x - x, b->y - y);
    if (d > radius(s) + 12) {
        const double from = radius(s) / d, to = 1 - 8 / d;
        put_line(p, "leader", x + from * (b->x - x), y + from * (b->y - y),
                 x + to * (b->x - x), y + to * (b->y - y));
    }
    kiln_page_putf(p,
                   "<text class=\"label\" x=\"%.1f\" y=\"%.1f\" "
                   "text-anchor=\"middle\">%c</text>",
                   b->x, b->y + 4.5, (char)('A' + k));
}

/* ---- beside it ------------------------------------------------------------------- */

static bool has_origin(const void *of, const char *word) {
    const kiln_results_job *j = of;
    for (size_t i = 0; i < j->step.n; i++)
        if (is_on(&j->step.v[i]) && kiln_page_is(j->step.v[i].origin, word))
            return true;
    return false;
}

static void put_key_line(kiln_page *p, const char *cls) {
    kiln_page_putf(p,
                   "<li><svg class=\"swatch\" aria-hidden=\"true\"><line class=\"%s\" "
                   "x1=\"0\" x2=\"28\" y1=\"6\" y2=\"6\"/></svg> ",
                   cls);
}

static void put_keys(kiln_page *p, const roofline *f) {
    kiln_page_put(p, "<ul class=\"keys\">\n");
    for (size_t k = 0; k < f->n_named; k++) {
        const size_t i = f->named[k].step;
        const char *at = kiln_page_item(p, f->at, "steps", i);
        kiln_page_putf(p, "<li><b>%c</b> ", (char)('A' + k));
        kiln_page_text(p, "span", NULL, at, "name", f->job->step.v[i].name);
        kiln_page_put(p, ", ");
        kiln_page_number(p, "span", at, "time_share", f->job->step.v[i].time_share,
                         &kiln_unit_percent);
        kiln_page_put(p, "</li>\n");
    }
    kiln_page_origin_keys(p, has_origin, f->job);
    if (f->peak > 0) {
        put_key_line(p, "roof");
        kiln_page_put(p, "peak, ");
        kiln_page_number(p, "span", f->peak_at, "gflops", f->peak, &kiln_unit_plain);
        kiln_page_put(p, " GFLOP/s</li>\n");
    }
    for (size_t i = 0; i < f->n_roofs; i++) {
        const roof *r = &f->roof[i];
        put_key_line(p, kiln_format(p->arena, "roof r%zu", f->n_roofs - 1 - i));
        if (strcmp(r->at, "machine") == 0)
            kiln_page_put(p, "memory, copied by all cores, ");
        else {
            kiln_page_text(p, "span", NULL, r->at, "name", r->name);
            kiln_page_put(p, ", ");
        }
        kiln_page_number(p, "span", r->at, r->member, r->gbs, &kiln_unit_plain);
        kiln_page_put(p, " GB/s</li>\n");
    }
    kiln_page_put(p, "</ul>\n");
}

/* What lies where nothing could: why it does. */
static void put_above(kiln_page *p, const roofline *f) {
    static const double clearly = 1.05; /* of two measurements */
    bool is_above_memory = false, is_above_peak = false, is_winograd = false;
    for (size_t i = 0; i < f->job->step.n; i++) {
        const kiln_results_step *s = &f->job->step.v[i];
        if (!is_on(s))
            continue;
        is_above_memory =
            is_above_memory ||
            (f->memory > 0 && s->gflops > clearly * s->intensity * f->memory);
        if (!(f->peak > 0) || s->gflops <= clearly * f->peak)
            continue;
        if (s->tmpl != NULL && strstr(s->tmpl, "winograd") != NULL)
            is_winograd = true;
        else
            is_above_peak = true;
    }
    if (is_above_memory)
        kiln_page_put(p, f->has_caches
                             ? " Spots above the memory's line found their bytes in "
                               "caches, where the step before had left them."
                             : " Spots above the memory's line found their bytes in "
                               "caches, where the step before had left them; how fast "
                               "those are, no list of operators of this run measured "
                               "with as many threads.");
    if (is_winograd)
        kiln_page_put(p, " Convolutions by Winograd's algorithm need fewer operations "
                         "than are counted and may lie above the peak.");
    if (is_above_peak)
        kiln_page_put(p, " What else lies above the peak did less than is counted, or "
                         "ran at a higher clock than the peak did.");
    if (!(f->peak > 0))
        kiln_page_put(p, " No peak was measured with as many threads.");
}

void kiln_page_roofline(kiln_page *p, const char *at, const kiln_results_job *j) {
    roofline f;
    if (!roofline_init(p, &f, at, j))
        return;
    find_names(p, &f);
    kiln_page_put(p, "<figure class=\"roofline\"");
    kiln_page_base(p, at);
    kiln_page_put(p, ">\n");
    const char *id = kiln_page_frame(p, NULL);
    kiln_page_putf(p,
                   "<svg width=\"%d\" height=\"%d\" role=\"img\" aria-label=\"Roofline "
                   "plot; the table of steps has its numbers\">",
                   WIDTH, HEIGHT);
    put_ticks(p, &f);
    put_roofs(p, &f);
    kiln_page_put(p, "<g class=\"spots\">");
    for (size_t i = 0; i < j->step.n; i++)
        if (is_on(&j->step.v[i]))
            put_spot(p, &f, i);
    kiln_page_put(p, "</g>");
    for (size_t k = 0; k < f.n_named; k++)
        put_letter(p, &f, k);
    kiln_page_putf(p,
                   "</svg></div>\n<figcaption><b id=\"%s\">Roofline</b>: GFLOP/s over "
                   "arithmetic intensity (operations for each byte that must move), "
                   "both on logarithmic axes. A spot is a step, its area the share of "
                   "time, its colour where the configuration is from.",
                   id);
    put_above(p, &f);
    put_keys(p, &f);
    kiln_page_base_end(p);
    kiln_page_put(p, "</figcaption></figure>\n");
}
