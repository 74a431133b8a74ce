/* One job: a line that says how it went, and a fold behind it. What failed or got
 * slower stands open; long tables fold in themselves. */
#include "reports/page/html_page.h"

#include <math.h>
#include <string.h>

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
    kiln_page_fact_number(p, "fastest, ms", at, "min_ms", l->min_ms, &kiln_unit_plain);
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
        kiln_page_fact_number(p, "archive, MiB", archive, "bytes",
                              (double)j->archive.bytes, &kiln_unit_mib);
    }
    kiln_page_put(p, "</dl>\n");
}

/* ---- beside libraries ------------------------------------------------------------ */

static void put_libraries(kiln_page *p, const char *at, const kiln_results_job *j) {
    if (j->baseline.n == 0)
        return;
    const double most = kiln_page_ratio_axis(1.2, &j->baseline);
    kiln_page_put(p, "<h4>Beside other libraries</h4>\n");
    KILN_PAGE_TABLE(p, "ratios", "Times from the same rounds, with 95% intervals",
                    kiln_page_ratio_titles);
    kiln_page_ratio_rows(p, at, &j->baseline, most);
    kiln_page_ratio_foot(p, most);
}

/* ---- gate ------------------------------------------------------------------------ */

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
    KILN_PAGE_TABLE(p, "sticky", "Steps whose time changed", title);
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
    kiln_page_fact_number(p, "p of the signed ranks", at, "p", g->p, &kiln_unit_error);
    kiln_page_fact_number(p, "slowdown it could find", at, "detectable", g->detectable,
                          &kiln_unit_percent);
    kiln_page_put(p, "</dl>\n");
}

static bool is_alert(const kiln_results_gate *g) {
    return kiln_page_is(g->verdict, "fail") || kiln_page_is(g->verdict, "invalid") ||
           kiln_page_is(g->verdict, "inconclusive");
}

void kiln_page_gate(kiln_page *p, const char *at, const kiln_results_gate *g) {
    kiln_page_put(p, "<h4>Gate</h4>\n<p>");
    kiln_page_pill(p, at, "verdict", g->verdict);
    kiln_page_put(p, " ");
    if (g->reason != NULL)
        kiln_page_text(p, "span", NULL, at, "reason", g->reason);
    kiln_page_put(p, "</p>\n");
    put_gate_facts(p, at, g);
    kiln_page_pairs(p, g);
    if (g->change.n > 0) {
        kiln_page_put(p, "<p>The archive changed:</p><ul>");
        for (size_t i = 0; i < g->change.n; i++)
            kiln_page_text(p, "li", NULL, at, kiln_format(p->arena, "changes[%zu]", i),
                           g->change.v[i]);
        kiln_page_put(p, "</ul>\n");
    }
    put_moved(p, at, g);
    if (is_alert(g) && g->command != NULL) {
        kiln_page_put(p, "<p>This compares again:</p>\n");
        kiln_page_text(p, "pre", NULL, at, "command", g->command);
    }
}

/* ---- stages ---------------------------------------------------------------------- */

static void put_commands(kiln_page *p, const char *at, const kiln_results_stage *stage,
                         size_t n, const char *shown) {
    kiln_page_put(p, "<p>Commands that make these numbers again:</p>\n");
    for (size_t i = 0; i < n; i++)
        if (stage[i].command != NULL && stage[i].command[0] != '\0' &&
            !kiln_page_is(shown, stage[i].command))
            kiln_page_text(p, "pre", NULL, kiln_page_item(p, at, "stages", i),
                           "command", stage[i].command);
}

static bool has_command(const kiln_results_stage *stage, size_t n, const char *shown) {
    for (size_t i = 0; i < n; i++)
        if (stage[i].command != NULL && stage[i].command[0] != '\0' &&
            !kiln_page_is(shown, stage[i].command))
            return true;
    return false;
}

void kiln_page_stages(kiln_page *p, const char *at, const kiln_results_stage *stage,
                      size_t n, const char *shown, bool is_open) {
    static const char *const title[] = {"stage", "state", "#seconds", "#exit code",
                                        "message"};
    static const kiln_page_unit seconds = {
        .by = 1, .digits = 1, .is_fixed = true, .may_be_0 = true};
    if (n == 0)
        return;
    kiln_page_putf(p, "<details%s><summary><h4>Stages</h4></summary>\n",
                   is_open ? " open" : "");
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
    if (has_command(stage, n, shown))
        put_commands(p, at, stage, n, shown);
    kiln_page_put(p, "</details>\n");
}

static void put_archive(kiln_page *p, const char *at, const kiln_results_archive *v) {
    kiln_page_put(p, "<details><summary><h4>Archive</h4></summary>\n");
    kiln_page_text(p, "pre", NULL, at, "path", v->path);
    kiln_page_put(p, "<p class=\"note\">SHA-256: ");
    kiln_page_text(p, "code", NULL, at, "sha256", v->sha256);
    kiln_page_put(p, "</p></details>\n");
}

/* The fold's line. Links go to the card inside: whoever follows one finds it open. */
static void put_line(kiln_page *p, const char *at, size_t job) {
    const kiln_results_job *j = &p->r->job.v[job];
    const kiln_page_concern concern = kiln_page_concern_of(j);
    const char *gate = kiln_page_at(p, at, "gate");
    kiln_page_putf(p, "<details class=\"job%s\"><summary><h3 id=\"j%zu\">",
                   concern == KILN_CONCERN_BAD    ? " bad-row\" open=\""
                   : concern == KILN_CONCERN_WARN ? " warn-row"
                                                  : "",
                   job);
    kiln_page_job_name(p, job);
    kiln_page_put(p, "</h3> ");
    kiln_page_pill(p, at, "status", j->status);
    if (j->has_gate && j->gate.verdict != NULL) {
        kiln_page_put(p, " <span>gate: ");
        kiln_page_pill(p, gate, "verdict", j->gate.verdict);
        kiln_page_put(p, "</span>");
    }
    if (j->has_history && j->history.trend != NULL &&
        !kiln_page_is(j->history.trend, "stable")) {
        kiln_page_put(p, " <span>nights: ");
        kiln_page_pill(p, kiln_page_at(p, at, "history"), "trend", j->history.trend);
        kiln_page_put(p, "</span>");
    }
    if (j->has_latency) {
        kiln_page_put(p, " <span class=\"time\">");
        kiln_page_number(p, "span", kiln_page_at(p, at, "latency"), "median_ms",
                         j->latency.median_ms, &kiln_unit_plain);
        kiln_page_put(p, "\xC2\xA0ms</span>");
    }
    kiln_page_putf(p, "</summary>\n<div class=\"card\" id=\"job-%zu\">\n", job);
    p->of = kiln_format(p->arena, "j%zu", job);
}

static void put_rest(kiln_page *p, const char *at, const kiln_results_job *j) {
    kiln_page_steps(p, at, j);
    kiln_page_coverage(p, at, j);
    kiln_page_memory(p, at, j);
    if (j->has_tuning)
        kiln_page_tuning(p, kiln_page_at(p, at, "tuning"), &j->tuning);
}

void kiln_page_job(kiln_page *p, size_t job) {
    KILN_ASSERT(job < p->r->job.n, "job %zu of %zu", job, p->r->job.n);
    const kiln_results_job *j = &p->r->job.v[job];
    const char *at = kiln_page_item(p, "", "jobs", job);
    const bool has_failed = kiln_page_is(j->status, "failed");
    const char *shown = j->has_gate && is_alert(&j->gate) ? j->gate.command : NULL;
    put_line(p, at, job);
    if (has_failed)
        kiln_page_stages(p, at, j->stage.v, j->stage.n, shown, true);
    put_facts(p, at, j);
    if (kiln_results_is_disturbed(j))
        kiln_page_put(p, "<p>During most samples other processes had a processor: take "
                         "the times with care, or measure again on a quiet "
                         "machine.</p>\n");
    if (j->has_latency)
        kiln_page_samples(p, &j->latency);
    put_libraries(p, at, j);
    if (j->has_gate)
        kiln_page_gate(p, kiln_page_at(p, at, "gate"), &j->gate);
    if (j->has_history)
        kiln_page_history(p, kiln_page_at(p, at, "history"), &j->history);
    put_rest(p, at, j);
    if (!has_failed)
        kiln_page_stages(p, at, j->stage.v, j->stage.n, shown, false);
    if (j->has_archive)
        put_archive(p, kiln_page_at(p, at, "archive"), &j->archive);
    kiln_page_put(p, "</div></details>\n");
    p->of = NULL;
}
