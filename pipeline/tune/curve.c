/* The run as a curve: how fast the kernels together were by each trial.
 *
 * A point is a trial that came in and the sum of calls times best by then. The curve
 * begins when every work that found a kernel at all has one: with records, before the
 * first trial. It only falls: a best that turned out to be noise when it was measured
 * again takes back the points that were due to it. */
#include "pipeline/tune/run_internal.h"

void kiln_tune_note_best(kiln_tuning *r, const kiln_tuned_work *t, double before_ns) {
    KILN_ASSERT(t >= r->work && t < r->work + r->n,
                "a workload of another run has news");
    const kiln_tune_event e = {(size_t)(t - r->work), r->n_new, t->row.best_ns};
    if (t->row.best_ns != before_ns)
        kiln_vec_push(r->arena, &r->event, e);
}

static void add_point(kiln_arena *a, kiln_tune_curve *c, int64_t trial, double ns) {
    while (c->n > 0 && (c->v[c->n - 1].ns <= ns || c->v[c->n - 1].trial == trial))
        c->n--;
    kiln_vec_push(a, c, ((kiln_tune_point){trial, ns}));
}

/* best: of each way; 0: none yet. */
static double best_of_ways(const kiln_tuning *r, const double *best,
                           const kiln_tuned_work *lead) {
    double least = 0;
    for (size_t i = 0; i < r->n; i++)
        if (r->work[i].lead == lead && best[i] > 0 && (least <= 0 || best[i] < least))
            least = best[i];
    return least;
}

void kiln_tune_draw(kiln_tuning *r, kiln_tune_curve *out) {
    double *best = kiln_array(r->arena, double, r->n);
    for (size_t e = 0; e < r->event.n; e++) {
        bool is_whole = true;
        double sum = 0;
        KILN_ASSERT(r->event.v[e].work < r->n, "workload %zu of %zu",
                    r->event.v[e].work, r->n);
        best[r->event.v[e].work] = r->event.v[e].best_ns;
        for (size_t i = 0; i < r->n; i++) {
            const kiln_tuned_work *lead = &r->work[i];
            if (lead->lead != lead)
                continue;
            const double by_then = best_of_ways(r, best, lead);
            const bool is_found = kiln_tune_best_ns(r, lead) > 0;
            is_whole = is_whole && (by_then > 0 || !is_found);
            sum += is_found ? lead->row.calls * by_then : 0;
        }
        if (is_whole)
            add_point(r->arena, out, r->event.v[e].trial, sum);
    }
}
