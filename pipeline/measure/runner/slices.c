/* How long a kernel takes: slices of it between slices of the machine's peak, so that
 * what disturbs one is seen in the other, until the interval of the median is narrow.
 *
 * The interval is that of order statistics (David and Nagaraja, Order Statistics, 3rd
 * ed., 7.1): no assumption about how times are distributed. */
#include "pipeline/measure/runner/runner_internal.h"

#include <math.h>
#include <sys/resource.h>
#include <time.h>

enum { MIN_SLICES = 7, FEW_SLICES = 3, MAX_BUDGETS = 3 };
static const double slice_ns = 5e5, warm_ns = 3e6; /* of a call of more, one will do */
/* A peak this far below its best: the processor was not ours, or slower. */
static const double calm_peak = 0.93;

void kiln_median_interval(double *v, size_t n, double *median, double *low,
                          double *high) {
    static const double z = 1.96; /* of the normal distribution, 95% */
    *median = kiln_median(v, n);
    const double half = z * sqrt((double)n) / 2, middle = (double)n / 2;
    const double first = floor(middle - half), last = ceil(middle + half);
    *low = v[first > 1 ? (size_t)first - 1 : 0];
    *high = v[last < (double)n - 1 ? (size_t)last : n - 1];
}

kiln_slice_clocks kiln_slice_now(void) {
    struct timespec t = {0};
    struct rusage u = {0};
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    (void)getrusage(RUSAGE_SELF, &u);
    return (kiln_slice_clocks){.wall_ns = kiln_now_ns(),
                               .cpu_ns = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec,
                               .preempted = (int64_t)u.ru_nivcsw};
}

double kiln_slice_elapsed_ns(const kiln_slice_clocks *begin,
                             const kiln_slice_clocks *end, int threads,
                             bool *disturbed) {
    const double wall = (double)(end->wall_ns - begin->wall_ns);
    const double cpu = (double)(end->cpu_ns - begin->cpu_ns);
    if (threads > 1) {
        *disturbed = end->preempted > begin->preempted;
        return fmax(1, wall);
    }
    *disturbed = cpu > 0 && wall - cpu > wall / 50;
    return fmax(1, *disturbed ? cpu : wall);
}

typedef struct timing {
    const kiln_trial_run *t;
    kiln_kernel_fn *fn;
    kiln_pool *pool;
    kiln_page *page;
    uint64_t runs; /* of a slice */
    uint64_t turn;
    size_t n_calm;
    double calm[KILN_WIRE_MAX_SLICES], best_peak;
} timing;

static int run_slice(timing *m, double *ns, bool *disturbed) {
    const kiln_slice_clocks begin = kiln_slice_now();
    for (uint64_t i = 0; i < m->runs; i++) {
        const int code = kiln_trial_call(m->t, m->fn, m->pool, m->turn++);
        if (code != 0)
            return code;
    }
    const kiln_slice_clocks end = kiln_slice_now();
    const int threads = m->pool == NULL ? 1 : kiln_pool_threads(m->pool);
    *ns = kiln_slice_elapsed_ns(&begin, &end, threads, disturbed) / (double)m->runs;
    return 0;
}

/* Until caches and predictors are warm; then how many runs make a slice. */
static int warm_up(timing *m) {
    double ns = 0, all = 0;
    bool disturbed;
    m->runs = 1;
    for (int i = 0; i < 1 || all < warm_ns; i++) {
        const int code = run_slice(m, &ns, &disturbed);
        if (code != 0)
            return code;
        all += ns * (double)m->runs;
        m->runs = (uint64_t)fmax(1, fmin(2 * (double)m->runs, slice_ns / ns));
    }
    m->runs = (uint64_t)fmax(1, slice_ns / ns);
    return 0;
}

static int add_slice(timing *m) {
    kiln_slice *s = &m->page->slice[m->page->n_slices];
    s->peak_gflops = kiln_meter_kernels_slice(&m->t->r->meter, m->pool, NULL);
    const int code = run_slice(m, &s->ns, &s->disturbed);
    if (code != 0)
        return code;
    m->best_peak = fmax(m->best_peak, s->peak_gflops);
    s->disturbed = s->disturbed || s->peak_gflops < calm_peak * m->best_peak;
    if (!s->disturbed)
        m->calm[m->n_calm++] = s->ns;
    m->page->n_slices++;
    return 0;
}

static bool is_slow(const timing *m) {
    const double loser = m->t->r->options.loser, best = m->t->q->best_ns;
    if (loser <= 0 || best <= 0 || m->page->n_slices < FEW_SLICES)
        return false;
    for (uint32_t i = 0; i < m->page->n_slices; i++)
        if (m->page->slice[i].ns <= best * loser)
            return false;
    return true;
}

static bool is_narrow(timing *m) {
    double median, low, high;
    if (m->n_calm < MIN_SLICES)
        return false;
    kiln_median_interval(m->calm, m->n_calm, &median, &low, &high);
    return high - low <= m->t->r->options.precision * median;
}

int kiln_trial_slices(const kiln_trial_run *t, kiln_kernel_fn *fn, kiln_pool *pool,
                      kiln_page *page) {
    timing m = {.t = t,
                .fn = fn,
                .pool = pool,
                .page = page,
                .best_peak = t->r->meter.best_gflops};
    int code = warm_up(&m);
    const int64_t begin = kiln_now_ns();
    const double budget_ns = t->q->budget_ms * 1e6;
    while (code == 0 && page->n_slices < KILN_WIRE_MAX_SLICES) {
        const double spent = (double)(kiln_now_ns() - begin);
        const bool is_enough = page->n_slices >= MIN_SLICES && spent >= budget_ns;
        /* Foreign load: measured again and again, but not for ever. */
        if (is_enough && (m.n_calm >= MIN_SLICES || spent >= MAX_BUDGETS * budget_ns))
            break;
        if (is_narrow(&m))
            break;
        if (is_slow(&m)) {
            page->is_slow = true;
            break;
        }
        code = add_slice(&m);
    }
    page->is_noisy = code == 0 && !page->is_slow && !is_narrow(&m);
    page->n_runs = m.turn;
    return code;
}
