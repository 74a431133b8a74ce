/* The section of one job. */
#include "reports/html_page.h"

#include <math.h>

#include "reports/svg.h"

static void put_latency_facts(kiln_page *p, const char *at,
                              const kiln_results_latency *l) {
    kiln_page_fact(p, "median, ms");
    kiln_page_number(p, "span", at, "median_ms", l->median_ms, &kiln_unit_plain);
    kiln_page_put(p, "<small>middle half ");
    kiln_page_number(p, "span", at, "q1_ms", l->q1_ms, &kiln_unit_plain);
    kiln_page_put(p, " to ");
    kiln_page_number(p, "span", at, "q3_ms", l->q3_ms, &kiln_unit_plain);
    kiln_page_put(p, "</small>");
    kiln_page_fact_end(p);
    kiln_page_fact(p, "GFLOP/s");
    kiln_page_number(p, "span", at, "gflops", l->gflops, &kiln_unit_plain);
    kiln_page_put(p, "<small>");
    kiln_page_number(p, "span", at, "peak_share", l->peak_share, &kiln_unit_percent);
    kiln_page_put(p, " of the peak</small>");
    kiln_page_fact_end(p);
    kiln_page_fact(p, "samples");
    kiln_page_count(p, "span", at, "n_samples", (int64_t)l->n_samples);
    kiln_page_put(p, "<small>");
    kiln_page_count(p, "span", at, "n_disturbed", (int64_t)l->n_disturbed);
    kiln_page_put(p, " disturbed by others</small>");
    kiln_page_fact_end(p);
}

static void put_facts(kiln_page *p, const char *at, const kiln_results_job *j) {
    kiln_page_put(p, "<dl>\n");
    if (j->has_latency)
        put_latency_facts(p, kiln_page_at(p, at, "latency"), &j->latency);
    kiln_page_fact(p, "largest error");
    kiln_page_number(p, "span", at, "max_abs_error", j->max_abs_error,
                     &kiln_unit_error);
    kiln_page_put(p, "<small>root mean square ");
    kiln_page_number(p, "span", at, "rms_error", j->rms_error, &kiln_unit_error);
    kiln_page_put(p, "</small>");
    kiln_page_fact_end(p);
    if (j->has_archive) {
        const char *archive = kiln_page_at(p, at, "archive");
        kiln_page_fact(p, "archive, MiB");
        kiln_page_number(p, "span", archive, "bytes", (double)j->archive.bytes,
                         &kiln_unit_mib);
        kiln_page_fact_end(p);
    }
    kiln_page_put(p, "</dl>\n");
}

/* ---- bars of times ----------------------------------------------------------------
 */

typedef struct bar {
    const char *cls, *at;
    double median, q1, q3;
} bar;

static void put_bar(kiln_page *p, const bar *b, const kiln_svg_axis *axis) {
    kiln_page_put(p, "<td><svg class=\"row\" aria-hidden=\"true\">");
    kiln_svg_grid(p->out, axis);
    kiln_page_putf(p,
                   "<rect class=\"%s\" x=\"0\" y=\"4\" width=\"%.2f%%\" height=\"14\" "
                   "rx=\"2\"/>",
                   b->cls, kiln_svg_place(axis, b->median));
    if (b->q1 > 0 && b->q3 >= b->q1)
        kiln_svg_range(p->out, axis, b->q1, b->q3);
    kiln_page_put(p, "</svg></td><td class=\"n\">");
    kiln_page_number(p, "span", b->at, "median_ms", b->median, &kiln_unit_plain);
    kiln_page_put(p, "</td></tr>\n");
}

static double larger(double a, double b) { return a > b ? a : b; }

static void put_bars(kiln_page *p, const char *at, const kiln_results_job *j) {
    static const char *const title[] = {"library", "median and middle half", "#ms"};
    double most = larger(j->latency.median_ms, j->latency.q3_ms);
    for (size_t i = 0; i < j->baseline.n; i++)
        most = larger(most, larger(j->baseline.v[i].median_ms, j->baseline.v[i].q3_ms));
    if (!j->has_latency || !(most > 0))
        return;
    const kiln_svg_axis axis = kiln_svg_axis_to(most);
    KILN_PAGE_TABLE(p, "plotted", "Time of one run", title);
    const kiln_results_latency *l = &j->latency;
    const bar own = {"kiln", kiln_page_at(p, at, "latency"), l->median_ms, l->q1_ms,
                     l->q3_ms};
    kiln_page_put(p, "<tr><th scope=\"row\">kiln</th>");
    put_bar(p, &own, &axis);
    for (size_t i = 0; i < j->baseline.n; i++) {
        const kiln_results_baseline *b = &j->baseline.v[i];
        const char *here = kiln_page_item(p, at, "baselines", i);
        const bar other = {"other", here, b->median_ms, b->q1_ms, b->q3_ms};
        kiln_page_put(p, "<tr><th scope=\"row\">");
        kiln_page_text(p, "span", NULL, here, "name", b->name);
        if (b->version != NULL) {
            kiln_page_put(p, " <span class=\"on\">");
            kiln_page_text(p, "span", NULL, here, "version", b->version);
            kiln_page_put(p, "</span>");
        }
        kiln_page_put(p, "</th>");
        if (b->median_ms > 0 && kiln_page_is(b->state, "measured")) {
            put_bar(p, &other, &axis);
            continue;
        }
        kiln_page_put(p, "<td colspan=\"2\" class=\"words\">");
        kiln_page_pill(p, here, "state", b->state);
        kiln_page_put(p, "</td></tr>\n");
    }
    kiln_page_put(p, "</tbody><tfoot><tr><td></td><td><svg class=\"axis\" "
                     "aria-hidden=\"true\">");
    kiln_svg_ticks(p->out, &axis);
    kiln_page_put(p, "</svg></td><td></td></tr></tfoot></table></div>\n");
}

/* ---- gate --------------------------------------------------------------------------
 */

static void put_moved(kiln_page *p, const char *at, const kiln_results_gate *g) {
    static const char *const title[] = {"step", "operator", "#change, \xC2\xB5s",
                                        "kernel", "origin"};
    static const kiln_page_unit us = {
        .by = 1000, .digits = 3, .has_plus = true, .may_be_0 = true};
    if (g->moved_says != NULL) {
        kiln_page_put(p, "<p>Steps, timed in pairs: ");
        kiln_page_text(p, "span", NULL, at, "moved_says", g->moved_says);
        kiln_page_put(p, ".</p>\n");
    }
    if (g->moved.n == 0)
        return;
    KILN_PAGE_TABLE(p, "wide sticky", "Steps whose time changed", title);
    for (size_t i = 0; i < g->moved.n; i++) {
        const kiln_results_moved *s = &g->moved.v[i];
        const char *here = kiln_page_item(p, at, "moved", i);
        kiln_page_put(p, "<tr>");
        kiln_page_text(p, "th", NULL, here, "name", s->name);
        kiln_page_text(p, "td", NULL, here, "op", s->op);
        kiln_page_number(p, "td", here, "difference_ms", s->difference_ms, &us);
        kiln_page_text(p, "td", NULL, here, "template", s->tmpl);
        kiln_page_text(p, "td", NULL, here, "origin", s->origin);
        kiln_page_put(p, "</tr>\n");
    }
    kiln_page_table_end(p);
}

static void put_gate_facts(kiln_page *p, const char *at, const kiln_results_gate *g) {
    if (g->pairs <= 0)
        return;
    kiln_page_put(p, "<dl>\n");
    if (g->accepted_commit != NULL) {
        kiln_page_fact(p, "accepted archive, by kiln's commit");
        kiln_page_text(p, "code", NULL, at, "accepted_commit", g->accepted_commit);
        kiln_page_fact_end(p);
    }
    kiln_page_fact(p, "change of time");
    kiln_page_number(p, "span", kiln_page_at(p, at, "slowdown"), "estimate",
                     g->slowdown.estimate, &kiln_unit_change);
    kiln_page_interval(p, at, "slowdown", &g->slowdown, &kiln_unit_change);
    kiln_page_fact_end(p);
    kiln_page_fact(p, "pairs of processes");
    kiln_page_count(p, "span", at, "pairs", g->pairs);
    kiln_page_fact_end(p);
    kiln_page_fact(p, "p of the signed ranks");
    kiln_page_number(p, "span", at, "p", g->p, &kiln_unit_error);
    kiln_page_fact_end(p);
    kiln_page_fact(p, "slowdown it could find");
    kiln_page_number(p, "span", at, "detectable", g->detectable, &kiln_unit_percent);
    kiln_page_fact_end(p);
    kiln_page_put(p, "</dl>\n");
}

void kiln_page_gate(kiln_page *p, const char *at, const kiln_results_gate *g) {
    kiln_page_put(p, "<h4>Gate</h4>\n<p>");
    kiln_page_pill(p, at, "verdict", g->verdict);
    kiln_page_put(p, " ");
    if (g->reason != NULL)
        kiln_page_text(p, "span", NULL, at, "reason", g->reason);
    kiln_page_put(p, "</p>\n");
    put_gate_facts(p, at, g);
    if (g->change.n > 0) {
        kiln_page_put(p, "<p>The archive changed:</p><ul>");
        for (size_t i = 0; i < g->change.n; i++)
            kiln_page_text(p, "li", NULL, at, kiln_format(p->arena, "changes[%zu]", i),
                           g->change.v[i]);
        kiln_page_put(p, "</ul>\n");
    }
    put_moved(p, at, g);
}

/* ---- stages ------------------------------------------------------------------------
 */

static void put_commands(kiln_page *p, const char *at, const kiln_results_stage *stage,
                         size_t n) {
    kiln_page_put(p, "<details><summary>Commands that make these numbers again"
                     "</summary>\n");
    for (size_t i = 0; i < n; i++)
        if (stage[i].command != NULL && stage[i].command[0] != '\0')
            kiln_page_text(p, "pre", NULL, kiln_page_item(p, at, "stages", i),
                           "command", stage[i].command);
    kiln_page_put(p, "</details>\n");
}

void kiln_page_stages(kiln_page *p, const char *at, const kiln_results_stage *stage,
                      size_t n) {
    static const char *const title[] = {"stage", "state", "#seconds", "#exit code",
                                        "message"};
    static const kiln_page_unit seconds = {
        .by = 1, .digits = 1, .is_fixed = true, .may_be_0 = true};
    if (n == 0)
        return;
    kiln_page_put(p, "<h4>Stages</h4>\n");
    KILN_PAGE_TABLE(p, "narrow", "What was run", title);
    for (size_t i = 0; i < n; i++) {
        const kiln_results_stage *s = &stage[i];
        const char *here = kiln_page_item(p, at, "stages", i);
        kiln_page_put(p, "<tr>");
        kiln_page_text(p, "th", NULL, here, "name", s->name);
        kiln_page_put(p, "<td>");
        kiln_page_pill(p, here, "state", kiln_stage_state_name(s->state));
        kiln_page_put(p, "</td>");
        if (s->state == KILN_STAGE_SKIPPED) { /* it did not run */
            kiln_page_put(p, "<td></td><td></td>");
        } else {
            kiln_page_number(p, "td", here, "seconds", s->seconds, &seconds);
            if (s->state == KILN_STAGE_DONE) /* its message says what a code meant */
                kiln_page_put(p, "<td></td>");
            else
                kiln_page_count(p, "td", here, "exit_code", s->exit_code);
        }
        kiln_page_put(p, "<td class=\"wrap\">");
        if (s->message != NULL)
            kiln_page_text(p, "span", "message", here, "message", s->message);
        kiln_page_put(p, s->is_reused ? "<span class=\"note\">finished by an earlier "
                                        "process of this run</span></td></tr>\n"
                                      : "</td></tr>\n");
    }
    kiln_page_table_end(p);
    put_commands(p, at, stage, n);
}

static void put_archive(kiln_page *p, const char *at, const kiln_results_archive *v) {
    kiln_page_put(p, "<details><summary>Archive</summary>\n");
    kiln_page_text(p, "pre", NULL, at, "path", v->path);
    kiln_page_put(p, "<p class=\"note\">SHA-256: ");
    kiln_page_text(p, "code", NULL, at, "sha256", v->sha256);
    kiln_page_put(p, "</p></details>\n");
}

void kiln_page_job(kiln_page *p, size_t job) {
    const kiln_results_job *j = &p->r->job.v[job];
    const char *at = kiln_page_item(p, "", "jobs", job);
    kiln_page_putf(p, "<section id=\"job-%zu\"><h2>", job);
    kiln_page_job_name(p, job);
    kiln_page_put(p, "</h2>\n<p class=\"meta\"><span>profile ");
    kiln_page_text(p, "span", NULL, at, "profile", j->profile);
    kiln_page_put(p, "</span><span>");
    kiln_page_pill(p, at, "status", j->status);
    kiln_page_put(p, "</span></p>\n<div class=\"card\">\n");
    put_facts(p, at, j);
    put_bars(p, at, j);
    if (j->has_gate)
        kiln_page_gate(p, kiln_page_at(p, at, "gate"), &j->gate);
    if (j->has_history)
        kiln_page_history(p, kiln_page_at(p, at, "history"), &j->history);
    kiln_page_steps(p, at, j);
    kiln_page_coverage(p, at, j);
    kiln_page_memory(p, kiln_page_at(p, at, "memory"), &j->memory);
    if (j->has_tuning)
        kiln_page_tuning(p, kiln_page_at(p, at, "tuning"), &j->tuning);
    kiln_page_stages(p, at, j->stage.v, j->stage.n);
    if (j->has_archive)
        put_archive(p, kiln_page_at(p, at, "archive"), &j->archive);
    kiln_page_put(p, "</div></section>\n");
}
