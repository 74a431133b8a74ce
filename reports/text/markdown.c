/* summary.md: a night on one screen, for places that show Markdown: a job's summary, a
 * chat, an issue. Annotations say the same line by line, in GitHub's commands. */
#include "reports/results/results.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- texts ----------------------------------------------------------------------- */

/* Texts of others must not become markup: what Markdown and HTML know is escaped, ends
 * of lines are spaces. */
static void put_text(kiln_buf *out, const char *text) {
    for (const char *c = text != NULL ? text : ""; *c != '\0'; c++) {
        if (*c == '&' || *c == '<' || *c == '>')
            kiln_buf_puts(out, *c == '&' ? "&amp;" : *c == '<' ? "&lt;" : "&gt;");
        else if ((unsigned char)*c < 0x20 || *c == 0x7F)
            kiln_buf_puts(out, " ");
        else
            kiln_buf_printf(out, "%s%c",
                            strchr("\\`*_{}[]()#+-.!|~$@", *c) != NULL ? "\\" : "", *c);
    }
}

/* In a fence that no text of theirs can close: no line of it begins with the fence. */
static void put_command(kiln_buf *out, const char *command) {
    kiln_buf_puts(out, "\n  ~~~~sh\n  ");
    for (const char *c = command; *c != '\0'; c++)
        kiln_buf_printf(out, "%c", (unsigned char)*c < 0x20 ? ' ' : *c);
    kiln_buf_puts(out, "\n  ~~~~\n");
}

static void put_job_name(kiln_buf *out, const char *what, const char *profile,
                         int threads) {
    put_text(out, what);
    kiln_buf_puts(out, ", ");
    put_text(out, profile);
    kiln_buf_printf(out, ", %d thread%s", threads, threads == 1 ? "" : "s");
}

/* ---- the table ------------------------------------------------------------------- */

static void put_baselines(kiln_buf *out, const kiln_results_baselines *b) {
    const char *comma = "";
    for (size_t i = 0; i < b->n; i++) {
        if (!(b->v[i].ratio.estimate > 0))
            continue;
        kiln_buf_printf(out, "%s%.2f of ", comma, b->v[i].ratio.estimate);
        put_text(out, b->v[i].name);
        comma = ", ";
    }
}

static void put_row(kiln_buf *out, const kiln_results_job *j) {
    kiln_buf_puts(out, "| ");
    put_text(out, j->model);
    kiln_buf_puts(out, " | ");
    put_text(out, j->profile);
    kiln_buf_printf(out, " | %d | ", j->threads);
    if (j->has_latency)
        kiln_buf_printf(out, "%.4f%s", j->latency.median_ms,
                        kiln_results_is_disturbed(j) ? " (disturbed)" : "");
    kiln_buf_puts(out, " | ");
    put_baselines(out, &j->baseline);
    kiln_buf_puts(out, " | ");
    if (j->has_gate) {
        put_text(out, j->gate.verdict);
        if (j->gate.pairs > 0 && isfinite(j->gate.slowdown.estimate))
            kiln_buf_printf(out, " (%+.1f%%)", 100 * j->gate.slowdown.estimate);
    }
    kiln_buf_puts(out, " | ");
    put_text(out, j->status);
    kiln_buf_puts(out, " |\n");
}

/* ---- what needs a look ----------------------------------------------------------- */

/* Calls back for each, the worst kinds first. */
typedef void seen(void *user, bool is_error, const char *what, const char *profile,
                  int threads, const char *kind, const char *text, const char *command);

static void see_stages(const char *what, const char *profile, int threads,
                       const kiln_results_stage *stage, size_t n, seen *f, void *user) {
    for (size_t i = 0; i < n; i++)
        if (stage[i].state == KILN_STAGE_FAILED ||
            stage[i].state == KILN_STAGE_TIMED_OUT)
            f(user, true, what, profile, threads, stage[i].name, stage[i].message,
              stage[i].command);
}

static void see_verdicts(const kiln_results *r, const char *verdict, bool is_error,
                         seen *f, void *user) {
    for (size_t i = 0; i < r->job.n; i++) {
        const kiln_results_job *j = &r->job.v[i];
        if (j->has_gate && j->gate.verdict != NULL &&
            strcmp(j->gate.verdict, verdict) == 0)
            f(user, is_error, j->model, j->profile, j->threads, verdict, j->gate.reason,
              j->gate.command);
    }
}

static void see_all(const kiln_results *r, seen *f, void *user) {
    see_verdicts(r, "wrong", true, f, user);
    see_verdicts(r, "fail", true, f, user);
    for (size_t i = 0; i < r->job.n; i++) {
        const kiln_results_job *j = &r->job.v[i];
        see_stages(j->model, j->profile, j->threads, j->stage.v, j->stage.n, f, user);
    }
    for (size_t i = 0; i < r->ops.n; i++) {
        const kiln_results_ops *o = &r->ops.v[i];
        see_stages(o->set, o->profile, o->threads, o->stage.v, o->stage.n, f, user);
    }
    see_verdicts(r, "invalid", false, f, user);
    see_verdicts(r, "inconclusive", false, f, user);
}

static void put_look(void *user, bool is_error, const char *what, const char *profile,
                     int threads, const char *kind, const char *text,
                     const char *command) {
    kiln_buf *out = user;
    (void)is_error;
    kiln_buf_puts(out, "* **");
    put_text(out, kind);
    kiln_buf_puts(out, "** ");
    put_job_name(out, what, profile, threads);
    kiln_buf_puts(out, ": ");
    put_text(out, text);
    if (command != NULL && command[0] != '\0')
        put_command(out, command);
    kiln_buf_puts(out, "\n");
}

void kiln_results_markdown(kiln_buf *out, const kiln_results *r) {
    kiln_buf found;
    kiln_buf_init(&found, out->arena);
    kiln_results_found(&found, r);
    kiln_buf_puts(out, "## kiln: ");
    put_text(out, r->name);
    kiln_buf_puts(out, ", ");
    put_text(out, r->status);
    kiln_buf_puts(out, "\n\n");
    put_text(out, found.p);
    kiln_buf_puts(out, ".\n\n");
    if (r->job.n > 0)
        kiln_buf_puts(
            out, "| model | profile | threads | latency, ms | kiln's time | gate | "
                 "status |\n| --- | --- | ---: | ---: | --- | --- | --- |\n");
    for (size_t i = 0; i < r->job.n; i++)
        put_row(out, &r->job.v[i]);
    kiln_buf_puts(out, "\n");
    see_all(r, put_look, out);
    kiln_buf_puts(out, "\nrun ");
    put_text(out, r->run);
    kiln_buf_puts(out, ", kiln ");
    put_text(out, r->kiln);
    if (r->commit != NULL) {
        kiln_buf_puts(out, ", commit ");
        put_text(out, r->commit);
    }
    kiln_buf_puts(out, ", on ");
    put_text(out, r->machine.cpu);
    kiln_buf_puts(out, "\n");
}

/* ---- annotations ----------------------------------------------------------------- */

/* What a workflow command's value escapes; of a property commas and colons too. */
static void put_value(kiln_buf *out, const char *text, bool is_property) {
    for (const char *c = text != NULL ? text : ""; *c != '\0'; c++) {
        const unsigned char u = (unsigned char)*c;
        if (*c == '%' || u < 0x20 || (is_property && (*c == ':' || *c == ',')))
            kiln_buf_printf(out, "%%%02X", u);
        else
            kiln_buf_add(out, c, 1);
    }
}

static void put_annotation(void *user, bool is_error, const char *what,
                           const char *profile, int threads, const char *kind,
                           const char *text, const char *command) {
    kiln_buf *out = user;
    (void)command;
    kiln_buf_printf(out, "::%s title=", is_error ? "error" : "warning");
    put_value(out,
              kiln_format(out->arena, "%s: %s (%s, %d thread%s)", kind, what, profile,
                          threads, kiln_plural(threads)),
              true);
    kiln_buf_puts(out, "::");
    put_value(out, text, false);
    kiln_buf_puts(out, "\n");
}

void kiln_results_annotations(kiln_buf *out, const kiln_results *r) {
    see_all(r, put_annotation, out);
}
