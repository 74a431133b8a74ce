/* Of one job: its steps, the coverage ledger, memory. */
#include "reports/page/html_page.h"

#include <math.h>

static const kiln_page_column columns[] = {
    {"step", "name", NULL},
    {"operator", "op", NULL},
    {"time, \xC2\xB5s", "median_ms", &kiln_unit_us},
    {"share", "time_share", &kiln_unit_percent},
    {"multiply-adds, M", "multiply_adds", &kiln_unit_mega},
    {"GFLOP/s", "gflops", &kiln_unit_plain},
    {"of peak", "peak_share", &kiln_unit_percent},
    {"GB/s", "gbs", &kiln_unit_plain},
    {"FLOP/byte", "intensity", &kiln_unit_plain},
    {"kernel", "template", NULL},
    {"origin", "origin", NULL},
};

/* The bar beneath a share is as long as it is of the largest one. */
static void put_numbers(kiln_page *p, const kiln_results_step *s, double most) {
    kiln_page_cell_number(p, s->median_ms, &kiln_unit_us);
    kiln_page_put(p, "</td>");
    kiln_page_cell_number(p, s->time_share, &kiln_unit_percent);
    kiln_page_putf(p, "<i style=\"--of:%.0f%%\"></i></td>",
                   most > 0 ? fmin(fmax(100 * s->time_share / most, 0), 100) : 0);
    kiln_page_cell_number(p, (double)s->multiply_adds, &kiln_unit_mega);
    kiln_page_put(p, "</td>");
    kiln_page_cell_number(p, s->gflops, &kiln_unit_plain);
    kiln_page_put(p, "</td>");
    kiln_page_cell_number(p, s->peak_share, &kiln_unit_percent);
    kiln_page_put(p, "</td>");
    kiln_page_cell_number(p, s->gbs, &kiln_unit_plain);
    kiln_page_put(p, "</td>");
    kiln_page_cell_number(p, s->intensity, &kiln_unit_plain);
    kiln_page_put(p, "</td>");
}

/* Of the layouts one where both are the same. */
static void put_layouts(kiln_page *p, const char *at, const kiln_results_step *s) {
    const bool is_same =
        s->layout_in == NULL || kiln_page_is(s->layout_out, s->layout_in);
    if (!is_same) {
        kiln_page_put(p, "<small>");
        kiln_page_text(p, "span", NULL, at, "layout_in", s->layout_in);
        kiln_page_put(p, " \xE2\x86\x92 ");
        kiln_page_text(p, "span", NULL, at, "layout_out", s->layout_out);
        kiln_page_put(p, "</small>");
    } else if (s->layout_out != NULL) {
        kiln_page_text(p, "small", NULL, at, "layout_out", s->layout_out);
    }
}

/* What is done, and with the result; how long it takes; by what. */
static void put_step(kiln_page *p, const char *at, const kiln_results_step *s,
                     double most) {
    kiln_page_row(p, at);
    kiln_page_cell_text(p, "th", s->name);
    kiln_page_put(p, "</th>");
    kiln_page_cell_text(p, "td", s->op);
    if (s->epilogue != NULL && s->epilogue[0] != '\0')
        kiln_page_text(p, "small", NULL, at, "epilogue", s->epilogue);
    kiln_page_put(p, "</td>");
    put_numbers(p, s, most);
    kiln_page_cell_text(p, "td", s->tmpl);
    put_layouts(p, at, s);
    kiln_page_put(p, "</td>");
    kiln_page_cell_text(p, "td", s->origin);
    if (s->origin != NULL)
        kiln_page_putf(p, "<i class=\"o%d\"></i>", kiln_page_origin_colour(s->origin));
    kiln_page_put(p, "</td>");
    kiln_page_row_end(p);
}

/* Why the steps' sum is not the run's time: they are of other runs. */
static void put_reconciled(kiln_page *p, const char *at, const kiln_results_job *j) {
    kiln_page_put(p, "; the runs that they were timed in, with a clock read at each "
                     "step, took ");
    kiln_page_number(p, "span", at, "steps_run_ms", j->steps_run_ms, &kiln_unit_plain);
    kiln_page_put(p, "\xC2\xA0ms, those without it ");
    kiln_page_number(p, "span", kiln_page_at(p, at, "latency"), "median_ms",
                     j->latency.median_ms, &kiln_unit_plain);
    kiln_page_put(p, "\xC2\xA0ms: what lies between the first two is the runtime "
                     "between steps, between the last two the clocks and the load of "
                     "two moments");
    if (kiln_results_is_disturbed(j))
        kiln_page_put(p, " (and somebody else had the processors during most samples)");
}

void kiln_page_steps(kiln_page *p, const char *at, const kiln_results_job *j) {
    double most = 0;
    if (j->step.n == 0)
        return;
    kiln_page_put(
        p, "<details class=\"steps\"><summary><h4>Steps</h4></summary>\n<p>The steps' "
           "medians add up to ");
    kiln_page_number(p, "span", at, "steps_ms", j->steps_ms, &kiln_unit_plain);
    kiln_page_put(p, "\xC2\xA0ms");
    if (j->steps_run_ms > 0)
        put_reconciled(p, at, j);
    kiln_page_put(p, ".</p>\n");
    kiln_page_column_table(
        p, "of-steps sticky",
        "Each step of the network, in the order they run; GB/s and FLOP/byte count the "
        "bytes that it must read and write, once",
        columns, sizeof columns / sizeof columns[0]);
    for (size_t i = 0; i < j->step.n; i++)
        most = fmax(most, j->step.v[i].time_share);
    for (size_t i = 0; i < j->step.n; i++)
        put_step(p, kiln_page_item(p, at, "steps", i), &j->step.v[i], most);
    kiln_page_table_end(p);
    kiln_page_roofline(p, at, j);
    kiln_page_put(p, "</details>\n");
}

/* ---- coverage -------------------------------------------------------------------- */

static void put_stack(kiln_page *p, const kiln_results_job *j, bool by_time) {
    double from = 0;
    kiln_page_putf(
        p, "<p class=\"note\">by %s</p><svg class=\"stack\" aria-hidden=\"true\">",
        by_time ? "time" : "multiply-adds");
    for (size_t i = 0; i < j->coverage.n; i++) {
        const kiln_results_coverage *c = &j->coverage.v[i];
        const double share =
            fmin(fmax(by_time ? c->time_share : c->multiply_add_share, 0), 1);
        kiln_page_putf(p,
                       "<rect class=\"o%d\" x=\"%.2f%%\" width=\"%.2f%%\" "
                       "height=\"22\"/>",
                       kiln_page_origin_colour(c->origin), fmin(100 * from, 100),
                       100 * share);
        from += share;
    }
    kiln_page_put(p, "</svg>\n");
}

void kiln_page_coverage(kiln_page *p, const char *at, const kiln_results_job *j) {
    static const char *const title[] = {"origin",
                                        "#steps",
                                        "#time, \xC2\xB5s",
                                        "#share of time",
                                        "#multiply-adds, M",
                                        "#share of them"};
    if (j->coverage.n == 0)
        return;
    kiln_page_put(p, "<details><summary><h4>Where the configurations come from</h4>"
                     "</summary>\n");
    put_stack(p, j, true);
    put_stack(p, j, false);
    KILN_PAGE_TABLE(p, "narrow", "Coverage ledger", title);
    for (size_t i = 0; i < j->coverage.n; i++) {
        const kiln_results_coverage *c = &j->coverage.v[i];
        const char *here = kiln_page_item(p, at, "coverage", i);
        kiln_page_put(p, "<tr>");
        kiln_page_origin(p, "th", here, c->origin);
        kiln_page_count(p, "td", here, "steps", c->steps);
        kiln_page_number(p, "td", here, "ms", c->ms, &kiln_unit_us);
        kiln_page_number(p, "td", here, "time_share", c->time_share, &kiln_unit_part);
        kiln_page_number(p, "td", here, "multiply_adds", (double)c->multiply_adds,
                         &kiln_unit_mega);
        kiln_page_number(p, "td", here, "multiply_add_share", c->multiply_add_share,
                         &kiln_unit_part);
        kiln_page_put(p, "</tr>\n");
    }
    kiln_page_table_end(p);
    kiln_page_put(p, "</details>\n");
}

/* ---- memory ---------------------------------------------------------------------- */

typedef struct memory_row {
    const char *label, *member;
    int64_t bytes;
} memory_row;

/* What a package costs once: it is verified, and packs what it did not bring packed. */
static void put_opening(kiln_page *p, const char *at, const kiln_results_job *j) {
    if (!(j->open_ms > 0))
        return;
    kiln_page_put(p, "<p>Opening the package took ");
    kiln_page_number(p, "span", at, "open_ms", j->open_ms, &kiln_unit_plain);
    kiln_page_put(p, j->memory.packed > 0 ? "\xC2\xA0ms, packing included.</p>\n"
                                          : "\xC2\xA0ms.</p>\n");
}

void kiln_page_memory(kiln_page *p, const char *job, const kiln_results_job *j) {
    const kiln_results_memory *m = &j->memory;
    const char *at = kiln_page_at(p, job, "memory");
    const memory_row rows[] = {{"planned", "activation_bytes", m->activation},
                               {"lower bound", "lower_bound_bytes", m->lower_bound},
                               {"weights", "parameter_bytes", m->parameter},
                               {"workspace", "workspace_bytes", m->workspace},
                               {"scratch", "scratch_bytes", m->scratch},
                               {"packed at opening", "packed_bytes", m->packed}};
    static const char *const title[] = {"part", "drawn", "#MiB"};
    const int64_t most =
        m->activation > m->lower_bound ? m->activation : m->lower_bound;
    if (most == 0 && m->parameter == 0)
        return;
    kiln_page_put(p, "<details><summary><h4>Memory</h4></summary>\n");
    if (m->over_lower_bound > 0) {
        kiln_page_put(p, "<p>The plan takes ");
        kiln_page_number(p, "span", at, "over_lower_bound", m->over_lower_bound,
                         &kiln_unit_ratio);
        kiln_page_put(p, " times the lower bound.</p>\n");
    }
    put_opening(p, job, j);
    KILN_PAGE_TABLE(p, "plotted",
                    "Activations as planned, beside the lower bound of any plan; "
                    "weights, workspace of a kernel, scratch of a thread",
                    title);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (i == sizeof rows / sizeof rows[0] - 1 && m->packed == 0)
            break; /* few packages do */
        kiln_page_putf(p, "<tr><th scope=\"row\">%s</th><td>", rows[i].label);
        if (i < 2 && most > 0) /* the plan beside its bound; the rest is not its own */
            kiln_page_putf(p,
                           "<svg class=\"row\" aria-hidden=\"true\"><rect class=\"%s\" "
                           "y=\"4\" width=\"%.2f%%\" height=\"14\" rx=\"2\"/></svg>",
                           i == 0 ? "kiln" : "other",
                           100.0 * (double)rows[i].bytes / (double)most);
        kiln_page_put(p, "</td>");
        kiln_page_number(p, "td", at, rows[i].member, (double)rows[i].bytes,
                         &kiln_unit_mib);
        kiln_page_put(p, "</tr>\n");
    }
    kiln_page_table_end(p);
    kiln_page_put(p, "</details>\n");
}
