/* The report card: how well a run's searches and models did, beside what they found. */
#include "pipeline/tune/run_internal.h"

#include <inttypes.h>
#include <math.h>
#include <time.h>

enum { LEAST_TRIALS = 8, LEAST_SAMPLES = 40 };

const double kiln_card_reached[KILN_CARD_REACHED] = {0.90, 0.95, 0.99};
const int kiln_card_looks[KILN_CARD_LOOKS] = {1, 4, 8, 16, 32};

kiln_tune_spent kiln_tune_clocks(void) {
    struct timespec t = {0};
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (kiln_tune_spent){kiln_now_ns(),
                             (int64_t)t.tv_sec * 1000000000 + (int64_t)t.tv_nsec};
}

void kiln_tune_spend(kiln_tune_spent *sum, kiln_tune_spent since) {
    const kiln_tune_spent now = kiln_tune_clocks();
    sum->wall_ns += now.wall_ns - since.wall_ns;
    sum->cpu_ns += now.cpu_ns - since.cpu_ns;
}

/* The least of the first n that ran; 0: none. */
static double best_of(const kiln_trial *t, size_t n) {
    double best = 0;
    for (size_t i = 0; i < n; i++)
        if (t[i].outcome == KILN_OUTCOME_MEASURED && (best <= 0 || t[i].cost_ns < best))
            best = t[i].cost_ns;
    return best;
}

int64_t kiln_card_trials_to(const kiln_trial *t, size_t n, double share) {
    KILN_ASSERT(share > 0 && share <= 1, "%g of the best", share);
    const double best = best_of(t, n);
    for (size_t i = 0; i < n; i++)
        if (t[i].outcome == KILN_OUTCOME_MEASURED && share * t[i].cost_ns <= best)
            return (int64_t)i + 1;
    return 0;
}

double kiln_card_after(const kiln_trial *t, size_t n, int k) {
    KILN_ASSERT(k >= 0, "after %d trials", k);
    const double by_then = best_of(t, (size_t)k < n ? (size_t)k : n);
    return by_then > 0 ? best_of(t, n) / by_then : 0;
}

/* ---- searches -------------------------------------------------------------------- */

typedef struct sums {
    double to[KILN_CARD_REACHED], after[KILN_CARD_LOOKS];
    int n_after[KILN_CARD_LOOKS];
    double taught, alone; /* to 95% */
} sums;

static void add_search(const kiln_tuned_work *w, kiln_tune_card *c, sums *s) {
    if (w->trial.n < LEAST_TRIALS || best_of(w->trial.v, w->trial.n) <= 0)
        return;
    c->n_searches++;
    c->n_taught += w->is_taught;
    for (int i = 0; i < KILN_CARD_REACHED; i++)
        s->to[i] += log(
            (double)kiln_card_trials_to(w->trial.v, w->trial.n, kiln_card_reached[i]));
    const double to =
        log((double)kiln_card_trials_to(w->trial.v, w->trial.n, kiln_card_reached[1]));
    s->taught += w->is_taught ? to : 0;
    s->alone += w->is_taught ? 0 : to;
    for (int i = 0; i < KILN_CARD_LOOKS; i++) {
        const double share =
            kiln_card_after(w->trial.v, w->trial.n, kiln_card_looks[i]);
        if (share <= 0)
            continue;
        s->after[i] += log(share);
        s->n_after[i]++;
    }
}

static double mean_of(double sum, int n) { return n > 0 ? exp(sum / n) : 0; }

static void sum_up(const kiln_tuning *r, kiln_tune_card *c) {
    sums s = {.taught = 0};
    for (size_t i = 0; i < r->n; i++)
        add_search(&r->work[i], c, &s);
    for (int i = 0; i < KILN_CARD_REACHED; i++)
        c->trials_to[i] = mean_of(s.to[i], c->n_searches);
    for (int i = 0; i < KILN_CARD_LOOKS; i++)
        c->after[i] = mean_of(s.after[i], s.n_after[i]);
    c->taught_trials = mean_of(s.taught, c->n_taught);
    c->alone_trials = mean_of(s.alone, c->n_searches - c->n_taught);
}

/* ---- the rest -------------------------------------------------------------------- */

/* A model that nobody else uses: fitted to four fifths of what is known. */
static kiln_status judge(kiln_tuning *r, kiln_tune_card *c, kiln_err *err) {
    kiln_arena a = {0};
    kiln_sample_set set;
    kiln_hold_out h = {-1, -1};
    kiln_status st = KILN_OK;
    kiln_sample_set_init(&set, &a, false);
    for (size_t i = 0; i < r->n; i++)
        if (best_of(r->work[i].trial.v, r->work[i].trial.n) > 0)
            kiln_tune_add_trials(&a, &r->work[i], &set);
    const kiln_samples samples = kiln_sample_set_view(&set);
    if (samples.encoding.n >= LEAST_SAMPLES)
        st =
            kiln_cost_model_hold_out(kiln_tune_searched_by(r), NULL, &samples, &h, err);
    c->accuracy = h.accuracy;
    c->recall = h.recall;
    kiln_arena_fini(&a);
    return st;
}

static void look_ahead(const kiln_tuning *r, double seconds, kiln_tune_card *c) {
    if (r->scheduler == NULL || r->n_new == 0 || seconds <= 0)
        return;
    const double trials = (double)r->n_new / seconds * KILN_CARD_LATER_S;
    c->now_ns = kiln_task_scheduler_latency_ns(r->scheduler);
    c->later_ns = kiln_task_scheduler_expected_ns(r->scheduler, (int64_t)trials);
}

kiln_status kiln_tune_grade(kiln_tuning *r, double seconds, kiln_tune_card *out,
                            kiln_err *err) {
    kiln_tune_card c = {.accuracy = -1,
                        .recall = -1,
                        .model_s = (double)r->model.wall_ns * 1e-9,
                        .search_s = (double)r->search.wall_ns * 1e-9,
                        .think_cpu_s =
                            (double)(r->model.cpu_ns + r->search.cpu_ns) * 1e-9};
    sum_up(r, &c);
    for (size_t i = 0; i < r->n; i++) {
        const kiln_search_stats s = kiln_search_count(r->work[i].search);
        c.n_foreseen += (int64_t)s.n_foreseen;
        c.n_avoided += (int64_t)s.n_avoided;
    }
    if (r->n_new > 0 && !kiln_interrupted()) /* seconds, after thousands of trials */
        KILN_TRY(judge(r, &c, err));
    if (r->pool != NULL) {
        const kiln_measure_stats s = kiln_measure_count(r->pool);
        c.build_s = s.building_s;
        c.run_s = s.running_s;
    }
    look_ahead(r, seconds, &c);
    *out = c;
    return KILN_OK;
}

/* ---- as text --------------------------------------------------------------------- */

static void put_transfer(kiln_buf *out, const kiln_tune_card *c) {
    if (c->n_taught == 0)
        return;
    kiln_buf_printf(out,
                    "  %d of %d began with a model of other work: %.1f trials to 95%%",
                    c->n_taught, c->n_searches, c->taught_trials);
    if (c->alone_trials > 0)
        kiln_buf_printf(out, ", the others %.1f", c->alone_trials);
    kiln_buf_puts(out, "\n");
}

void kiln_card_text(kiln_buf *out, const kiln_tune_card *c) {
    if (c->n_searches == 0)
        return;
    kiln_buf_printf(out, "report card of %d searches:\n  trials to", c->n_searches);
    for (int i = 0; i < KILN_CARD_REACHED; i++)
        kiln_buf_printf(out, "%s %.0f%% of the best known: %.1f", i > 0 ? "," : "",
                        100 * kiln_card_reached[i], c->trials_to[i]);
    kiln_buf_puts(out, "\n  share of it after");
    for (int i = 0; i < KILN_CARD_LOOKS; i++)
        kiln_buf_printf(out, "%s %d: %.1f%%", i > 0 ? "," : "", kiln_card_looks[i],
                        100 * c->after[i]);
    kiln_buf_puts(out, "\n");
    if (c->accuracy >= 0)
        kiln_buf_printf(out,
                        "  of trials that it did not see the model had %.0f%% of pairs "
                        "in order, %.0f%% of the best fifth in its own\n",
                        100 * c->accuracy, 100 * fmax(0, c->recall));
    put_transfer(out, c);
    if (c->n_avoided > 0)
        kiln_buf_printf(out,
                        "  of %" PRId64 " configurations about to be tried %" PRId64
                        " were left out: their code would spill\n",
                        c->n_foreseen, c->n_avoided);
    if (c->build_s + c->run_s > 0)
        kiln_buf_printf(out,
                        "  seconds: building %.1f and running %.1f (all workers), "
                        "model of all works %.1f, search %.1f (%.1f of the processor "
                        "for both)\n",
                        c->build_s, c->run_s, c->model_s, c->search_s, c->think_cpu_s);
    if (c->later_ns > 0)
        kiln_buf_printf(out,
                        "  latency if stopped now: %.3f ms; after %d more minutes: "
                        "%.3f ms (extrapolated: what the scheduler expects)\n",
                        c->now_ns * 1e-6, KILN_CARD_LATER_S / 60, c->later_ns * 1e-6);
}
