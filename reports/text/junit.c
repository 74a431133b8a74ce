/* results.junit.xml: what CI systems show as tests. A job is a suite, a stage of it a
 * case; a regression is a failure of the gate's case, what could not be compared an
 * error of it (the Jenkins schema of JUnit's reports). */
#include "reports/results/results.h"

#include <string.h>

#include "reports/text/markup.h"

/* ---- XML ------------------------------------------------------------------------- */

/* Line feeds and tabs of an attribute are blanks, unless they are written by number. */
static const char *escape_of(unsigned char c) {
    if (c == '\n')
        return "&#10;";
    return c == '\t' ? "&#9;" : kiln_markup_escape(c);
}

static void put_text(kiln_buf *out, const char *text) {
    kiln_markup_put(out, text, escape_of);
}

static void put_attribute(kiln_buf *out, const char *name, const char *text) {
    kiln_buf_printf(out, " %s=\"", name);
    put_text(out, text != NULL ? text : "");
    kiln_buf_puts(out, "\"");
}

static void put_element(kiln_buf *out, const char *tag, const char *type,
                        const char *message, const char *command) {
    kiln_buf_printf(out, "      <%s", tag);
    put_attribute(out, "type", type);
    put_attribute(out, "message", message != NULL ? message : type);
    kiln_buf_puts(out, ">");
    if (command != NULL) {
        kiln_buf_puts(out, "again: ");
        put_text(out, command);
    }
    kiln_buf_printf(out, "</%s>\n", tag);
}

/* ---- cases ----------------------------------------------------------------------- */

typedef struct tally {
    size_t cases, failures, errors, skipped;
    double seconds;
} tally;

/* What a stage and, of the gate, its verdict are to JUnit. */
typedef enum outcome { GOOD, FAILURE, BROKEN, SKIPPED } outcome;

static outcome outcome_of(const kiln_results_stage *s, const kiln_results_gate *g) {
    const bool is_gate = g != NULL && s->name != NULL && strcmp(s->name, "gate") == 0;
    switch (s->state) {
    case KILN_STAGE_FAILED:
        return FAILURE;
    case KILN_STAGE_TIMED_OUT:
        return BROKEN;
    case KILN_STAGE_SKIPPED:
        return SKIPPED;
    case KILN_STAGE_DONE:
        break;
    }
    if (is_gate && g->verdict != NULL &&
        (strcmp(g->verdict, "fail") == 0 || strcmp(g->verdict, "wrong") == 0))
        return FAILURE;
    return is_gate && g->verdict != NULL && strcmp(g->verdict, "invalid") == 0 ? BROKEN
                                                                               : GOOD;
}

static void count(tally *t, const kiln_results_stage *stage, size_t n,
                  const kiln_results_gate *g) {
    for (size_t i = 0; i < n; i++) {
        const outcome o = outcome_of(&stage[i], g);
        t->cases++;
        t->failures += o == FAILURE;
        t->errors += o == BROKEN;
        t->skipped += o == SKIPPED;
        t->seconds += stage[i].seconds > 0 ? stage[i].seconds : 0;
    }
}

static void put_case(kiln_buf *out, const char *suite, const kiln_results_stage *s,
                     const kiln_results_gate *g) {
    const outcome o = outcome_of(s, g);
    const bool is_verdict = s->state == KILN_STAGE_DONE && o != GOOD;
    const char *type = is_verdict ? g->verdict : kiln_stage_state_name(s->state);
    const char *message = is_verdict ? g->reason : s->message;
    const char *command = is_verdict ? g->command : s->command;
    kiln_buf_puts(out, "    <testcase");
    put_attribute(out, "classname", suite);
    put_attribute(out, "name", s->name);
    kiln_buf_printf(out, " time=\"%.3f\"", s->seconds > 0 ? s->seconds : 0);
    if (o == GOOD) {
        kiln_buf_puts(out, "/>\n");
        return;
    }
    kiln_buf_puts(out, ">\n");
    if (o == SKIPPED) {
        kiln_buf_puts(out, "      <skipped");
        put_attribute(out, "message", message);
        kiln_buf_puts(out, "/>\n");
    } else {
        put_element(out, o == FAILURE ? "failure" : "error", type, message, command);
    }
    kiln_buf_puts(out, "    </testcase>\n");
}

static void put_counts(kiln_buf *out, const tally *t) {
    kiln_buf_printf(out,
                    " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\" "
                    "time=\"%.3f\"",
                    t->cases, t->failures, t->errors, t->skipped, t->seconds);
}

static void put_suite(kiln_buf *out, const kiln_results *r, const char *name,
                      const kiln_results_stage *stage, size_t n,
                      const kiln_results_gate *g) {
    tally t = {.cases = 0};
    count(&t, stage, n, g);
    kiln_buf_puts(out, "  <testsuite");
    put_attribute(out, "name", name);
    put_counts(out, &t);
    if (r->started != NULL)
        put_attribute(out, "timestamp", r->started);
    kiln_buf_puts(out, ">\n");
    for (size_t i = 0; i < n; i++)
        put_case(out, name, &stage[i], g);
    kiln_buf_puts(out, "  </testsuite>\n");
}

static const char *suite_name(kiln_buf *out, const char *what, const char *profile,
                              int threads) {
    return kiln_format(out->arena, "%s, %s, %d thread%s", what != NULL ? what : "",
                       profile != NULL ? profile : "", threads,
                       threads == 1 ? "" : "s");
}

void kiln_results_junit(kiln_buf *out, const kiln_results *r) {
    tally all = {.cases = 0};
    for (size_t i = 0; i < r->job.n; i++)
        count(&all, r->job.v[i].stage.v, r->job.v[i].stage.n,
              r->job.v[i].has_gate ? &r->job.v[i].gate : NULL);
    for (size_t i = 0; i < r->ops.n; i++)
        count(&all, r->ops.v[i].stage.v, r->ops.v[i].stage.n, NULL);
    kiln_buf_puts(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites");
    put_attribute(out, "name", r->name);
    put_counts(out, &all);
    kiln_buf_puts(out, ">\n");
    for (size_t i = 0; i < r->job.n; i++) {
        const kiln_results_job *j = &r->job.v[i];
        put_suite(out, r, suite_name(out, j->model, j->profile, j->threads), j->stage.v,
                  j->stage.n, j->has_gate ? &j->gate : NULL);
    }
    for (size_t i = 0; i < r->ops.n; i++) {
        const kiln_results_ops *o = &r->ops.v[i];
        put_suite(out, r,
                  suite_name(out, kiln_format(out->arena, "operators of %s", o->set),
                             o->profile, o->threads),
                  o->stage.v, o->stage.n, NULL);
    }
    kiln_buf_puts(out, "</testsuites>\n");
}
