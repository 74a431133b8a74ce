/* What needs a look: what regressed first, by how much; then what failed, lists of
 * operators too; then what could not be told, or was measured beside others' work. A
 * line for each; why, and what to do, stands with the job. */
#include "reports/page/html_page.h"

#include <math.h>

enum {
    LOOK_WRONG, /* outputs */
    LOOK_FAIL,
    LOOK_STEP, /* against the frozen archive, and no failure of the gate */
    LOOK_FAILED,
    LOOK_INVALID,
    LOOK_INTERRUPTED,
    LOOK_DRIFT,
    LOOK_OPEN,
    LOOK_DISTURBED,
    N_LOOKS
};

static int look_of(const kiln_results_job *j) {
    const char *verdict = j->has_gate ? j->gate.verdict : NULL;
    const char *trend = j->has_history ? j->history.trend : NULL;
    if (kiln_page_is(verdict, "wrong"))
        return LOOK_WRONG;
    if (kiln_page_is(verdict, "fail"))
        return LOOK_FAIL;
    if (kiln_page_is(trend, "step"))
        return LOOK_STEP;
    if (kiln_page_is(j->status, "failed"))
        return LOOK_FAILED;
    if (kiln_page_is(verdict, "invalid"))
        return LOOK_INVALID;
    if (kiln_page_is(j->status, "interrupted"))
        return LOOK_INTERRUPTED;
    if (kiln_page_is(trend, "drift"))
        return LOOK_DRIFT;
    if (kiln_page_is(verdict, "inconclusive"))
        return LOOK_OPEN;
    return kiln_results_is_disturbed(j) ? LOOK_DISTURBED : N_LOOKS;
}

/* Larger is worse; what has no number comes last. */
static double badness(const kiln_results_job *j) {
    return j->has_gate && isfinite(j->gate.slowdown.estimate)
               ? j->gate.slowdown.estimate
               : (double)-INFINITY;
}

static void put_change(kiln_page *p, const char *at, const kiln_results_gate *g) {
    if (g->pairs <= 0 || !isfinite(g->slowdown.estimate))
        return;
    kiln_page_number(p, "b", kiln_page_at(p, at, "slowdown"), "estimate",
                     g->slowdown.estimate, &kiln_unit_change);
    kiln_page_interval(p, at, "slowdown", &g->slowdown, &kiln_unit_change);
}

kiln_page_concern kiln_page_concern_of(const kiln_results_job *j) {
    const int look = look_of(j);
    return look == N_LOOKS           ? KILN_CONCERN_NONE
           : look < LOOK_INTERRUPTED ? KILN_CONCERN_BAD
                                     : KILN_CONCERN_WARN;
}

/* Which stages did, and how. */
static void put_failed_stages(kiln_page *p, const char *at,
                              const kiln_results_stage *stage, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const kiln_results_stage *s = &stage[i];
        const char *here = kiln_page_item(p, at, "stages", i);
        if (s->state != KILN_STAGE_FAILED && s->state != KILN_STAGE_TIMED_OUT)
            continue;
        kiln_page_put(p, " ");
        kiln_page_text(p, "b", NULL, here, "name", s->name);
        kiln_page_put(p, " ");
        kiln_page_text(p, "span", NULL, here, "state", kiln_stage_state_name(s->state));
    }
}

static void put_disturbed(kiln_page *p, const char *at, const kiln_results_job *j) {
    const char *latency = kiln_page_at(p, at, "latency");
    if (!kiln_results_is_disturbed(j))
        return;
    kiln_page_put(p, " disturbed ");
    kiln_page_count(p, "b", latency, "n_disturbed", (int64_t)j->latency.n_disturbed);
    kiln_page_put(p, " of ");
    kiln_page_count(p, "b", latency, "n_samples", (int64_t)j->latency.n_samples);
    kiln_page_put(p, " samples");
}

static void put_edge(kiln_page *p, const char *edge, const char *section, size_t i) {
    kiln_page_putf(p, "<li class=\"%s\"><p><a href=\"#%s-%zu\">", edge, section, i);
}

static void put_look(kiln_page *p, size_t job) {
    const kiln_results_job *j = &p->r->job.v[job];
    const char *at = kiln_page_item(p, "", "jobs", job);
    const char *gate = kiln_page_at(p, at, "gate");
    const int look = look_of(j);
    put_edge(p, kiln_page_concern_of(j) == KILN_CONCERN_BAD ? "bad-edge" : "warn-edge",
             "job", job);
    kiln_page_job_name(p, job);
    kiln_page_put(p, "</a> ");
    if (look == LOOK_STEP || look == LOOK_DRIFT) {
        kiln_page_pill(p, kiln_page_at(p, at, "history"), "trend", j->history.trend);
        kiln_page_put(p, " against the frozen archive");
    } else if (j->has_gate && look != LOOK_FAILED && look != LOOK_DISTURBED) {
        kiln_page_pill(p, gate, "verdict", j->gate.verdict);
        kiln_page_put(p, " ");
        put_change(p, gate, &j->gate);
    } else if (look != LOOK_DISTURBED) {
        kiln_page_pill(p, at, "status", j->status);
    }
    put_failed_stages(p, at, j->stage.v, j->stage.n);
    put_disturbed(p, at, j);
    kiln_page_put(p, "</p></li>\n");
}

static void put_ops_look(kiln_page *p, size_t list) {
    const kiln_results_ops *o = &p->r->ops.v[list];
    const char *at = kiln_page_item(p, "", "ops", list);
    put_edge(p, kiln_page_is(o->status, "failed") ? "bad-edge" : "warn-edge", "ops",
             list);
    kiln_page_put(p, "operators: ");
    kiln_page_text(p, "span", NULL, at, "set", o->set);
    kiln_page_put(p, "</a> ");
    kiln_page_pill(p, at, "status", o->status);
    put_failed_stages(p, at, o->stage.v, o->stage.n);
    kiln_page_put(p, "</p></li>\n");
}

/* The worst of one kind that is not done yet; the number of jobs: there is none. */
static size_t worst_of(const kiln_results *r, int look, const bool *done) {
    size_t worst = r->job.n;
    for (size_t i = 0; i < r->job.n; i++)
        if (!done[i] && look_of(&r->job.v[i]) == look &&
            (worst == r->job.n || badness(&r->job.v[i]) > badness(&r->job.v[worst])))
            worst = i;
    return worst;
}

/* The first screen has room for so many. */
enum { MOST = 6 };

static void begin_look(kiln_page *p, size_t n_before) {
    if (n_before == MOST)
        kiln_page_put(p, "</ul>\n<details><summary>The others that need one</summary>\n"
                         "<ul class=\"look\">\n");
}

static size_t put_looks(kiln_page *p, int look, bool *done, size_t n) {
    size_t job;
    while ((job = worst_of(p->r, look, done)) < p->r->job.n) {
        done[job] = true;
        begin_look(p, n++);
        put_look(p, job);
    }
    for (size_t i = 0; look == LOOK_FAILED && i < p->r->ops.n; i++)
        if (!kiln_page_is(p->r->ops.v[i].status, "ok") &&
            p->r->ops.v[i].status != NULL) {
            begin_look(p, n++);
            put_ops_look(p, i);
        }
    return n;
}

void kiln_page_looks(kiln_page *p) {
    bool *done = kiln_array(p->arena, bool, p->r->job.n);
    const size_t before = p->out->n;
    size_t n = 0;
    kiln_page_put(p, "<h3>What needs a look</h3>\n<ul class=\"look\">\n");
    for (int look = 0; look < N_LOOKS; look++)
        n = put_looks(p, look, done, n);
    if (n > 0) {
        kiln_page_put(p, n > MOST ? "</ul></details>\n" : "</ul>\n");
        return;
    }
    p->out->n = before;
    kiln_page_put(p, "<p>Nothing needs a look.</p>\n");
}
