/* Of one job: what tuning found, and how quickly. */
#include "reports/page/html_page.h"

#include <math.h>

#include "reports/page/svg.h"

/* The best so far is a staircase: it holds until a trial improves it. */
static void put_steps(kiln_page *p, const kiln_results_tuning *t,
                      const kiln_svg_axis *x, const kiln_svg_axis *y) {
    kiln_page_put(p, "<svg width=\"100%\" height=\"100%\" viewBox=\"0 0 100 100\" "
                     "preserveAspectRatio=\"none\"><path class=\"curve\" "
                     "vector-effect=\"non-scaling-stroke\" d=\"");
    for (size_t i = 0; i < t->curve.n; i++) {
        const double at = kiln_svg_place(x, (double)t->curve.v[i].trial);
        const double height = 100 - kiln_svg_place(y, t->curve.v[i].ns);
        if (i == 0)
            kiln_page_putf(p, "M%.2f %.2f", at, height);
        else
            kiln_page_putf(p, "H%.2fV%.2f", at, height);
    }
    kiln_page_putf(p, "H%.2f\"/></svg>", kiln_svg_place(x, (double)t->new_trials));
}

static void put_curve(kiln_page *p, const kiln_results_tuning *t) {
    double most_trials = (double)t->new_trials, most_ns = 0,
           least_ns = (double)INFINITY;
    for (size_t i = 0; i < t->curve.n; i++) {
        most_trials = fmax(most_trials, (double)t->curve.v[i].trial);
        most_ns = fmax(most_ns, t->curve.v[i].ns);
        if (t->curve.v[i].ns > 0)
            least_ns = fmin(least_ns, t->curve.v[i].ns);
    }
    if (most_trials <= 0 || !(most_ns > 0))
        return;
    const kiln_svg_axis x = kiln_svg_axis_to(most_trials);
    /* A search that found much finds most of it at once: what came later, a percent at
       a time, would be a flat line. */
    const double far = 3;
    const kiln_svg_axis y =
        most_ns > far * least_ns
            ? kiln_svg_axis_log(least_ns * 1e-3, most_ns * 1e-3)
            : kiln_svg_axis_between(least_ns * 1e-3, most_ns * 1e-3);
    kiln_svg_axis y_ns = y;
    y_ns.start *= 1e3;
    y_ns.end *= 1e3;
    kiln_page_put(p, "<figure><figcaption>Tuning curve: time of all tuned kernels "
                     "together (\xC2\xB5s, each as often as one run calls it) with the "
                     "best found so far, over the number of trials; the axis of times "
                     "does not begin at none, and is logarithmic where the first is "
                     "several times the best</figcaption>\n"
                     "<div class=\"plot\"><svg role=\"img\" aria-label=\"Tuning curve, "
                     "from the first time to the best\">");
    kiln_svg_frame(p->out, &x, &y);
    kiln_svg_names(p->out, "trials", "\xC2\xB5s");
    put_steps(p, t, &x, &y_ns);
    kiln_page_put(p, "</svg></div></figure>\n");
}

static const kiln_page_column columns[] = {
    {"workload", "name", NULL},
    {"kernel", "template", NULL},
    {"calls", "calls", &kiln_unit_count},
    {"before, \xC2\xB5s", "start_ns", &kiln_unit_ns_as_us},
    {"after, \xC2\xB5s", "best_ns", &kiln_unit_ns_as_us},
    {"times faster", "speedup", &kiln_unit_ratio},
    {"of peak", "best_share", &kiln_unit_percent},
    {"known trials", "known_trials", &kiln_unit_count},
    {"new trials", "new_trials", &kiln_unit_count},
    {"best configuration", "best", NULL},
};

static void put_one(kiln_page *p, const char *at, const kiln_results_work *w) {
    const double v[] = {w->calls,
                        w->start_ns,
                        w->best_ns,
                        w->speedup,
                        w->best_share,
                        (double)w->known_trials,
                        (double)w->new_trials};
    kiln_page_row(p, at);
    kiln_page_cell_text(p, "th", w->name);
    kiln_page_put(p, "</th>");
    kiln_page_cell_text(p, "td", w->tmpl);
    kiln_page_put(p, "</td>");
    for (size_t i = 0; i < sizeof v / sizeof v[0]; i++) {
        kiln_page_cell_number(p, v[i], columns[i + 2].unit);
        kiln_page_put(p, "</td>");
    }
    kiln_page_cell_text(p, "td", w->best);
    kiln_page_put(p, "</td>");
    kiln_page_row_end(p);
}

static void put_work(kiln_page *p, const char *at, const kiln_results_tuning *t) {
    if (t->work.n == 0)
        return;
    kiln_page_column_table(p, "of-work sticky", "Tuned workloads; times of one call",
                           columns, sizeof columns / sizeof columns[0]);
    for (size_t i = 0; i < t->work.n; i++)
        put_one(p, kiln_page_item(p, at, "work", i), &t->work.v[i]);
    kiln_page_table_end(p);
}

static void put_errors(kiln_page *p, const char *at, const kiln_results_tuning *t) {
    if (t->by_error.n == 0)
        return;
    kiln_page_put(p, "<p>Trials that gave no time:</p><ul class=\"counts\">");
    for (size_t i = 0; i < t->by_error.n; i++) {
        const char *here = kiln_page_item(p, at, "by_error", i);
        kiln_page_put(p, "<li>");
        kiln_page_count(p, "b", here, "n", t->by_error.v[i].n);
        kiln_page_put(p, " ");
        kiln_page_text(p, "span", NULL, here, "name", t->by_error.v[i].name);
        kiln_page_put(p, "</li>\n");
    }
    kiln_page_put(p, "</ul>\n");
}

/* ---- the report card ------------------------------------------------------------- */

static void put_reached(kiln_page *p, const char *at, const kiln_results_card *c) {
    kiln_page_put(p, "<p>Trials until within a share of the best known, mean of ");
    kiln_page_count(p, "span", at, "searches", c->searches);
    kiln_page_put(p, " searches:</p><ul class=\"counts\">");
    for (size_t i = 0; i < c->reached.n; i++) {
        const char *here = kiln_page_item(p, at, "trials_to", i);
        kiln_page_put(p, "<li><b>");
        kiln_page_number(p, "span", here, "trials", c->reached.v[i].trials,
                         &kiln_unit_plain);
        kiln_page_put(p, "</b> to ");
        kiln_page_number(p, "span", here, "share", c->reached.v[i].share,
                         &kiln_unit_percent);
        kiln_page_put(p, "</li>\n");
    }
    kiln_page_put(p, "</ul>\n<p>Share of the best known after so many trials:</p>"
                     "<ul class=\"counts\">");
    for (size_t i = 0; i < c->look.n; i++) {
        const char *here = kiln_page_item(p, at, "after", i);
        kiln_page_put(p, "<li><b>");
        kiln_page_number(p, "span", here, "share", c->look.v[i].share,
                         &kiln_unit_percent);
        kiln_page_put(p, "</b> after ");
        kiln_page_count(p, "span", here, "trials", c->look.v[i].trials);
        kiln_page_put(p, "</li>\n");
    }
    kiln_page_put(p, "</ul>\n");
}

/* What a model of other work saved, as far as works may be compared. */
static void put_taught(kiln_page *p, const char *at, const kiln_results_card *c) {
    if (c->taught == 0)
        return;
    kiln_page_fact(p, "began with a model of other work");
    kiln_page_count(p, "span", at, "taught", c->taught);
    kiln_page_put(p, "<small>");
    kiln_page_number(p, "span", at, "taught_trials", c->taught_trials,
                     &kiln_unit_plain);
    kiln_page_put(p, " trials until near the best, the others ");
    kiln_page_number(p, "span", at, "alone_trials", c->alone_trials, &kiln_unit_plain);
    kiln_page_put(p, "</small>");
    kiln_page_fact_end(p);
}

static void put_ahead(kiln_page *p, const char *at, const kiln_results_card *c) {
    if (c->later_ns <= 0)
        return;
    kiln_page_fact_number(p, "if stopped now, \xC2\xB5s", at, "now_ns", c->now_ns,
                          &kiln_unit_ns_as_us);
    kiln_page_fact(p, "if it went on, \xC2\xB5s");
    kiln_page_number(p, "span", at, "later_ns", c->later_ns, &kiln_unit_ns_as_us);
    kiln_page_put(p, "<small>after ");
    kiln_page_number(p, "span", at, "later_s", c->later_s, &kiln_unit_seconds);
    kiln_page_put(p, " more, extrapolated</small>");
    kiln_page_fact_end(p);
}

static void put_card(kiln_page *p, const char *at, const kiln_results_card *c) {
    static const struct {
        const char *label, *member;
    } where[] = {{"building, all workers", "build_s"},
                 {"running, all workers", "run_s"},
                 {"model of all work", "model_s"},
                 {"proposing", "search_s"},
                 {"of both, processor time", "think_cpu_s"}};
    const double seconds[] = {c->build_s, c->run_s, c->model_s, c->search_s,
                              c->think_cpu_s};
    put_reached(p, at, c);
    kiln_page_put(p, "<dl>\n");
    kiln_page_fact_number(p, "pairs that the model has in order", at, "accuracy",
                          c->accuracy, &kiln_unit_part);
    kiln_page_fact_number(p, "of the best fifth in its own", at, "recall", c->recall,
                          &kiln_unit_part);
    put_taught(p, at, c);
    for (size_t i = 0; i < sizeof where / sizeof where[0]; i++)
        kiln_page_fact_number(p, where[i].label, at, where[i].member, seconds[i],
                              &kiln_unit_seconds);
    put_ahead(p, at, c);
    kiln_page_put(p, "</dl>\n");
}

void kiln_page_tuning(kiln_page *p, const char *at, const kiln_results_tuning *t) {
    kiln_page_put(p, "<details><summary><h4>Tuning</h4></summary>\n<dl>\n");
    kiln_page_fact_number(p, "before, \xC2\xB5s", at, "start_ns", t->start_ns,
                          &kiln_unit_ns_as_us);
    kiln_page_fact(p, "after, \xC2\xB5s");
    kiln_page_number(p, "span", at, "best_ns", t->best_ns, &kiln_unit_ns_as_us);
    kiln_page_put(p, "<small>");
    kiln_page_number(p, "span", at, "speedup", t->speedup, &kiln_unit_ratio);
    kiln_page_put(p, " times as fast</small>");
    kiln_page_fact_end(p);
    kiln_page_fact(p, "new trials");
    kiln_page_count(p, "span", at, "new_trials", t->new_trials);
    kiln_page_put(p, "<small>in ");
    kiln_page_number(p, "span", at, "seconds", t->seconds, &kiln_unit_seconds);
    kiln_page_put(p, "</small>");
    kiln_page_fact_end(p);
    if (t->end != NULL) {
        kiln_page_put(p, "<div><dt>why it ended</dt><dd class=\"text\">");
        kiln_page_text(p, "span", NULL, at, "end", t->end);
        kiln_page_fact_end(p);
    }
    kiln_page_put(p, "</dl>\n");
    if (t->curve.n > 0)
        put_curve(p, t);
    put_work(p, at, t);
    put_errors(p, at, t);
    if (t->has_card)
        put_card(p, kiln_page_at(p, at, "card"), &t->card);
    kiln_page_put(p, "</details>\n");
}
