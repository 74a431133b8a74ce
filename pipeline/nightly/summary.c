/* A night as a table for a terminal. */
#include "pipeline/nightly/nightly_internal.h"

#include <math.h>
#include <string.h>

enum { MAX_COLUMNS = 8, MIN_WIDTH = 8, MAX_WIDTH = 64 };

/* Names of baselines, in the order met. */
static int columns_of(const kiln_results *r, const char *out[MAX_COLUMNS]) {
    int n = 0;
    for (size_t i = 0; i < r->job.n; i++)
        for (size_t k = 0; k < r->job.v[i].baseline.n; k++) {
            const char *name = r->job.v[i].baseline.v[k].name;
            bool is_known = name == NULL;
            for (int c = 0; c < n && !is_known; c++)
                is_known = strcmp(out[c], name) == 0;
            if (!is_known && n < MAX_COLUMNS)
                out[n++] = name;
        }
    return n;
}

/* Names that differ at their ends must not be cut to sameness. */
static int width_of(const kiln_results *r) {
    size_t width = MIN_WIDTH;
    for (size_t i = 0; i < r->job.n; i++) {
        const size_t n = strlen(r->job.v[i].model);
        width = n > width ? n : width;
    }
    return width < MAX_WIDTH ? (int)width : MAX_WIDTH;
}

static void put_baseline(kiln_buf *out, const kiln_results_job *j, const char *name) {
    for (size_t k = 0; k < j->baseline.n; k++) {
        const kiln_results_baseline *b = &j->baseline.v[k];
        if (b->name == NULL || strcmp(b->name, name) != 0)
            continue;
        if (isfinite(b->ratio.estimate) && b->ratio.estimate > 0)
            kiln_buf_printf(out, "  %5.3f [%5.3f, %5.3f]", b->ratio.estimate,
                            b->ratio.low, b->ratio.high);
        else
            kiln_buf_printf(out, "  %20s", b->state != NULL ? b->state : "-");
        return;
    }
    kiln_buf_printf(out, "  %20s", "-");
}

static void put_job(kiln_buf *out, const kiln_results_job *j,
                    const char *const column[MAX_COLUMNS], int n, int width) {
    kiln_buf_printf(out, "%-*s %-16s %3d ", width,
                    kiln_str_fit(out->arena, j->model, (size_t)width),
                    kiln_str_fit(out->arena, j->profile, 16), j->threads);
    if (j->has_latency)
        kiln_buf_printf(out, "%11.4f%c", j->latency.median_ms,
                        kiln_results_is_disturbed(j) ? '*' : ' ');
    else
        kiln_buf_printf(out, "%11s ", "-");
    for (int c = 0; c < n; c++)
        put_baseline(out, j, column[c]);
    kiln_buf_printf(out, "  %-12s %s\n", j->has_gate ? j->gate.verdict : "-",
                    j->status);
}

/* What the stars mean; nothing where there is none. */
static void put_disturbed(kiln_buf *out, const kiln_results *r) {
    size_t n = 0;
    for (size_t i = 0; i < r->job.n; i++)
        n += kiln_results_is_disturbed(&r->job.v[i]);
    if (n > 0)
        kiln_buf_puts(out, "* somebody else had the processors during most samples: "
                           "in no geometric mean\n");
}

static void put_problem(kiln_buf *out, const char *what, const char *profile,
                        int threads, const kiln_results_stage *s) {
    if (s->state == KILN_STAGE_FAILED || s->state == KILN_STAGE_TIMED_OUT)
        kiln_buf_printf(out, "%s, %s, %d: %s %s: %s\n", what, profile, threads, s->name,
                        kiln_stage_state_name(s->state),
                        s->message != NULL ? s->message : "");
}

/* A verdict that somebody must look at, and the command that finds it again. */
static void put_alert(kiln_buf *out, const kiln_results_job *j) {
    const kiln_results_gate *g = &j->gate;
    if (!j->has_gate ||
        (strcmp(g->verdict, "wrong") != 0 && strcmp(g->verdict, "fail") != 0 &&
         strcmp(g->verdict, "invalid") != 0 && strcmp(g->verdict, "inconclusive") != 0))
        return;
    kiln_buf_printf(out, "%s, %s, %d: gate %s: %s\n", j->model, j->profile, j->threads,
                    g->verdict, g->reason != NULL ? g->reason : "");
    if (g->command != NULL)
        kiln_buf_printf(out, "  again: %s\n", g->command);
}

static void put_problems(kiln_buf *out, const kiln_results *r) {
    for (size_t i = 0; i < r->job.n; i++) {
        const kiln_results_job *j = &r->job.v[i];
        for (size_t k = 0; k < j->stage.n; k++)
            put_problem(out, j->model, j->profile, j->threads, &j->stage.v[k]);
        put_alert(out, j);
    }
    for (size_t i = 0; i < r->ops.n; i++) {
        const kiln_results_ops *o = &r->ops.v[i];
        for (size_t k = 0; k < o->stage.n; k++)
            put_problem(out, o->set, o->profile, o->threads, &o->stage.v[k]);
    }
}

/* `what`: "", " on operators of gemm". */
static void put_versus(kiln_buf *out, const kiln_results_versus_list *l,
                       const char *what) {
    for (size_t i = 0; i < l->n; i++)
        if (l->v[i].measured > 0)
            kiln_buf_printf(
                out,
                "kiln / %s%s: %.3f, geometric mean of %lld; faster in %lld, slower in "
                "%lld\n",
                l->v[i].name, what, l->v[i].ratio.estimate, (long long)l->v[i].measured,
                (long long)l->v[i].faster, (long long)l->v[i].slower);
}

void kiln_nightly_text(kiln_buf *out, const kiln_nightly_result *result) {
    const kiln_results *r = &result->results;
    const char *column[MAX_COLUMNS] = {NULL};
    const int n = columns_of(r, column), width = width_of(r);
    if (r->job.n > 0) {
        kiln_buf_printf(out, "%-*s %-16s %3s %11s ", width, "model", "profile", "thr",
                        "latency ms");
        for (int c = 0; c < n; c++)
            kiln_buf_printf(out, "  %20s",
                            kiln_format(out->arena, "kiln / %s", column[c]));
        kiln_buf_printf(out, "  %-12s %s\n", "verdict", "status");
    }
    for (size_t i = 0; i < r->job.n; i++)
        put_job(out, &r->job.v[i], column, n, width);
    put_disturbed(out, r);
    put_problems(out, r);
    put_versus(out, &r->versus, "");
    for (size_t i = 0; i < r->ops.n; i++)
        put_versus(out, &r->ops.v[i].versus,
                   kiln_format(out->arena, " on operators of %s", r->ops.v[i].set));
    kiln_nightly_put_history(out, result);
    kiln_buf_printf(out, "\n%d of %d stages done, %d failed, %d skipped%s%s\n",
                    result->n_done, result->n_stages, result->n_failed,
                    result->n_skipped, result->failure != NULL ? "; " : "",
                    result->failure != NULL ? result->failure : "");
    kiln_buf_printf(out, "verdict: %s%s\n",
                    result->is_interrupted ? "none yet: it was interrupted; so far "
                                           : "",
                    r->verdict != NULL ? r->verdict : "none (no gate)");
    kiln_buf_puts(out, "found:   ");
    kiln_results_found(out, r);
    kiln_buf_puts(out, "\n");
    kiln_buf_printf(out, "open:    %s/index.html\n", result->folder);
    kiln_nightly_put_next(out, result);
}
