/* What follows from other members of the results: shares, quotients, counts. They are
 * members too, so that no number of the page is made where nobody can look it up. */
#include "reports/results/results.h"

#include <math.h>
#include <string.h>

static double quotient(double a, double b) { return a > 0 && b > 0 ? a / b : 0; }

/* 0 is a share too; of nothing there is none. */
static double share(double part, double whole) {
    return whole > 0 && part >= 0 ? part / whole : (double)NAN;
}

void kiln_results_derive_tuning(kiln_results_tuning *t) {
    t->speedup = quotient(t->start_ns, t->best_ns);
    for (size_t i = 0; i < t->work.n; i++)
        t->work.v[i].speedup = quotient(t->work.v[i].start_ns, t->work.v[i].best_ns);
}

/* One peak for all that the page says, else shares of two peaks stand side by side. */
static double peak_of(const kiln_results_machine *m, int threads) {
    for (size_t i = 0; i < m->peak.n; i++)
        if (m->peak.v[i].threads == threads)
            return m->peak.v[i].gflops;
    return 0;
}

double kiln_results_derive_steps(const kiln_results_steps *s, double peak) {
    double ms = 0;
    for (size_t i = 0; i < s->n; i++)
        ms += s->v[i].median_ms > 0 ? s->v[i].median_ms : 0;
    for (size_t i = 0; i < s->n; i++) {
        kiln_results_step *step = &s->v[i];
        step->time_share = quotient(step->median_ms, ms);
        step->peak_share = quotient(step->gflops, peak);
        step->intensity = quotient((double)step->flops, (double)step->bytes);
        step->gbs = 1e-6 * quotient((double)step->bytes, step->median_ms);
    }
    return ms;
}

void kiln_results_derive_coverage(const kiln_results_coverages *c) {
    double ms = 0, multiply_adds = 0;
    for (size_t i = 0; i < c->n; i++) {
        ms += c->v[i].ms > 0 ? c->v[i].ms : 0;
        multiply_adds += (double)c->v[i].multiply_adds;
    }
    for (size_t i = 0; i < c->n; i++) {
        kiln_results_coverage *row = &c->v[i];
        row->time_share = share(row->ms, ms);
        row->multiply_add_share = share((double)row->multiply_adds, multiply_adds);
    }
}

void kiln_results_derive_memory(kiln_results_memory *m) {
    m->over_lower_bound = quotient((double)m->activation, (double)m->lower_bound);
}

static void derive_job(kiln_results_job *j, double peak) {
    j->latency.peak_share = quotient(j->latency.gflops, peak);
    j->steps_ms = kiln_results_derive_steps(&j->step, peak);
    kiln_results_derive_coverage(&j->coverage);
    kiln_results_derive_memory(&j->memory);
    kiln_results_derive_tuning(&j->tuning);
}

static bool is_same(const char *a, const char *b) {
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* ---- a baseline over all --------------------------------------------------------- */

typedef struct tally {
    kiln_arena *arena;
    kiln_results_versus_list list;
    kiln_map ratios; /* of a name: ratio_list * */
} tally;
typedef KILN_VEC(double) ratio_list;

static bool is_measured(const kiln_results_baseline *b) {
    return is_same(b->state, "measured") && b->ratio.estimate > 0 && b->name != NULL;
}

bool kiln_results_is_disturbed(const kiln_results_job *j) {
    return j->has_latency && j->latency.n_disturbed > j->latency.n_samples / 2;
}

static kiln_results_versus *versus_of(tally *t, const char *name) {
    for (size_t k = 0; k < t->list.n; k++)
        if (strcmp(t->list.v[k].name, name) == 0)
            return &t->list.v[k];
    const kiln_results_versus fresh = {.name = name};
    kiln_vec_push(t->arena, &t->list, fresh);
    kiln_map_set(t->arena, &t->ratios, kiln_str_from(name),
                 kiln_new(t->arena, ratio_list));
    return &t->list.v[t->list.n - 1];
}

/* What was measured while somebody else had the processors says nothing of either. */
static void add_baselines(tally *t, const kiln_results_baselines *b,
                          bool is_disturbed) {
    for (size_t i = 0; i < b->n; i++) {
        if (!is_measured(&b->v[i]))
            continue;
        const kiln_stats_interval *ratio = &b->v[i].ratio;
        kiln_results_versus *v = versus_of(t, b->v[i].name);
        if (is_disturbed) {
            v->left_out++;
            continue;
        }
        ratio_list *ratios = kiln_map_get(&t->ratios, kiln_str_from(v->name));
        KILN_ASSERT(ratios != NULL, "'%s' has no list", v->name);
        kiln_vec_push(t->arena, ratios, ratio->estimate);
        v->measured++;
        v->faster += ratio->high > 0 && ratio->high < 1;
        v->slower += ratio->low > 1;
    }
}

/* Few ratios say nothing of the spread of others: then there is no interval. */
static kiln_results_versus_list close_tally(tally *t) {
    enum { ROUNDS = 2000, SEED = 1, FEW = 5 };
    for (size_t k = 0; k < t->list.n; k++) {
        kiln_results_versus *v = &t->list.v[k];
        const ratio_list *ratios = kiln_map_get(&t->ratios, kiln_str_from(v->name));
        if (ratios->n == 0) /* all were disturbed */
            continue;
        v->ratio =
            kiln_stats_geomean(t->arena, ratios->v, ratios->n, 0.95, ROUNDS, SEED);
        if (ratios->n < FEW)
            v->ratio.low = v->ratio.high = 0;
    }
    return t->list;
}

static void count_status(kiln_arena *a, kiln_results *r, const char *status) {
    if (status == NULL)
        return;
    for (size_t i = 0; i < r->by_status.n; i++) {
        if (is_same(r->by_status.v[i].name, status)) {
            r->by_status.v[i].n++;
            return;
        }
    }
    const kiln_results_count first = {status, 1};
    kiln_vec_push(a, &r->by_status, first);
}

void kiln_results_derive(kiln_arena *a, kiln_results *r) {
    tally jobs = {.arena = a};
    memset(&r->by_status, 0, sizeof r->by_status);
    for (size_t i = 0; i < r->job.n; i++) {
        derive_job(&r->job.v[i], peak_of(&r->machine, r->job.v[i].threads));
        count_status(a, r, r->job.v[i].status);
        add_baselines(&jobs, &r->job.v[i].baseline,
                      kiln_results_is_disturbed(&r->job.v[i]));
    }
    r->versus = close_tally(&jobs);
    for (size_t i = 0; i < r->ops.n; i++) {
        tally ops = {.arena = a};
        const double peak = peak_of(&r->machine, r->ops.v[i].threads);
        for (size_t k = 0; k < r->ops.v[i].row.n; k++) {
            kiln_results_op *op = &r->ops.v[i].row.v[k];
            op->peak_share = quotient(op->gflops, peak);
            add_baselines(&ops, &op->baseline, false);
        }
        r->ops.v[i].versus = close_tally(&ops);
        kiln_results_derive_tuning(&r->ops.v[i].tuning);
    }
}
