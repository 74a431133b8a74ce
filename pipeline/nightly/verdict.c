/* Of many verdicts one. The more series are tested, the more often one of them is slow
 * by chance: as kiln gate does for many archives, failures must hold among all (DESIGN:
 * Benjamini and Hochberg), and slowdowns are averaged. */
#include "pipeline/nightly/nightly_collect.h"

#include <math.h>
#include <string.h>

/* The worst last, as kiln_gate_outcome. */
static const char *const by_concern[] = {"equal",   "pass", "new",  "inconclusive",
                                         "invalid", "fail", "wrong"};
enum { N_VERDICTS = sizeof by_concern / sizeof by_concern[0], ROUNDS = 2000, SEED = 1 };
static const double false_share = 0.05;

static int concern_of(const char *verdict) {
    for (int i = 0; i < N_VERDICTS; i++)
        if (strcmp(verdict, by_concern[i]) == 0)
            return i;
    return concern_of("invalid"); /* a word that this kiln does not know */
}

/* Pairs were taken, and judged. */
static bool is_judged(const kiln_results_job *j) {
    return j->has_gate && j->gate.pairs > 0 && isfinite(j->gate.p) &&
           strcmp(j->gate.verdict, "invalid") != 0;
}

static void weigh_failures(kiln_arena *a, kiln_results *r) {
    double *p = kiln_array(a, double, r->job.n);
    bool *rejected = kiln_array(a, bool, r->job.n);
    size_t n = 0, i_judged = 0;
    for (size_t i = 0; i < r->job.n; i++)
        if (is_judged(&r->job.v[i]))
            p[n++] = r->job.v[i].gate.p;
    (void)kiln_stats_rejected(a, p, n, false_share, rejected);
    for (size_t i = 0; i < r->job.n; i++) {
        kiln_results_gate *g = &r->job.v[i].gate;
        if (!is_judged(&r->job.v[i]))
            continue;
        if (strcmp(g->verdict, "fail") == 0 && !rejected[i_judged]) {
            g->verdict = "inconclusive";
            g->reason = kiln_format(a, "%s; but among %zu series that may be chance",
                                    g->reason != NULL ? g->reason : "it is slower", n);
        }
        i_judged++;
    }
}

static kiln_stats_interval geomean(kiln_arena *a, const kiln_results *r) {
    double *ratio = kiln_array(a, double, r->job.n);
    size_t n = 0;
    for (size_t i = 0; i < r->job.n; i++)
        if (is_judged(&r->job.v[i]) && r->job.v[i].gate.slowdown.estimate > -1)
            ratio[n++] = 1 + r->job.v[i].gate.slowdown.estimate;
    if (n == 0)
        return (kiln_stats_interval){(double)NAN, (double)NAN, (double)NAN};
    kiln_stats_interval g = kiln_stats_geomean(a, ratio, n, 0.95, ROUNDS, SEED);
    g.estimate -= 1;
    g.low -= 1;
    g.high -= 1;
    return g;
}

/* A job is not ok where its gate says that it got slower, or could not say anything;
 * and has failed where it computes something else. */
static void judge_jobs(kiln_results *r) {
    for (size_t i = 0; i < r->job.n; i++) {
        kiln_results_job *j = &r->job.v[i];
        if (!j->has_gate || j->status == NULL || strcmp(j->status, "ok") != 0)
            continue;
        if (strcmp(j->gate.verdict, "fail") == 0)
            j->status = "regressed";
        else if (strcmp(j->gate.verdict, "invalid") == 0)
            j->status = "unjudged";
        else if (strcmp(j->gate.verdict, "wrong") == 0)
            j->status = "failed";
    }
}

void kiln_nightly_judge_all(kiln_arena *a, kiln_results *r) {
    int64_t n[N_VERDICTS] = {0};
    int worst = -1;
    weigh_failures(a, r);
    judge_jobs(r);
    r->geomean_slowdown = geomean(a, r);
    for (size_t i = 0; i < r->job.n; i++)
        if (r->job.v[i].has_gate) {
            const int c = concern_of(r->job.v[i].gate.verdict);
            n[c]++;
            worst = c > worst ? c : worst;
        }
    r->verdict = worst >= 0 ? by_concern[worst] : NULL;
    for (int c = 0; c < N_VERDICTS; c++)
        if (n[c] > 0) {
            const kiln_results_count count = {by_concern[c], n[c]};
            kiln_vec_push(a, &r->by_verdict, count);
        }
}
