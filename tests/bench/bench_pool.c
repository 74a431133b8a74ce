/* What a fork and a join cost: the median time of an empty parallel loop, forks right
 * behind each other and with serial work between them, while the pool is kept awake (as
 * a session does for the length of a run) and while it is not. Then runs of small loops,
 * as a small network is (DQN), beside other processes that want the processors: none,
 * one, as many as there are threads. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <signal.h>
#include <sys/wait.h>

#include "base/base.h"
#include "runtime/pool.h"
#include "tests/support/kiln_test.h"

enum { N = 4001, THREADS = 2 };

static int by_value(const void *x, const void *y) {
    const int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return (a > b) - (a < b);
}

static int nothing(const kiln_args *args, kiln_ctx *ctx, void *closure, int64_t begin,
                   int64_t end, void *scratch) {
    (void)args;
    (void)ctx;
    (void)closure;
    (void)begin;
    (void)end;
    (void)scratch;
    return 0;
}

static void work_alone(int64_t ns) {
    const int64_t until = kiln_now_ns() + ns;
    while (ns > 0 && kiln_now_ns() < until) {
    }
}

static void measure(kiln_pool *p, int64_t gap_ns, bool is_run) {
    static int64_t ns[N];
    kiln_ctx *ctx = kiln_pool_ctx(p);
    const int n = gap_ns > 100000 ? N / 8 : N;
    if (is_run)
        kiln_pool_begin(p);
    for (int i = -100; i < n; i++) {
        work_alone(gap_ns);
        const int64_t begin = kiln_now_ns();
        assert_int_equal(ctx->parallel_for(ctx, nothing, NULL, NULL, THREADS), 0);
        if (i >= 0)
            ns[i] = kiln_now_ns() - begin;
    }
    if (is_run)
        kiln_pool_end(p);
    qsort(ns, (size_t)n, sizeof ns[0], by_value);
    const int median = n / 2, low = n / 4, high = n * 3 / 4, last = n * 99 / 100;
    printf(
        "  %s, %3lld us between: median %.2f us, quartiles %.2f and %.2f, 99%% below "
        "%.2f\n",
        is_run ? "in a run" : "no run  ", (long long)gap_ns / 1000,
        (double)ns[median] * 1e-3, (double)ns[low] * 1e-3, (double)ns[high] * 1e-3,
        (double)ns[last] * 1e-3);
}

/* ---- beside others --------------------------------------------------------------- */

enum { LOOPS = 10, RUNS = 1500, TURNS = 12000, REST_US = 300 };

/* About ten microseconds for each of two parts. */
static int some_work(const kiln_args *args, kiln_ctx *ctx, void *closure, int64_t begin,
                     int64_t end, void *scratch) {
    volatile unsigned *sum = closure;
    (void)args;
    (void)ctx;
    (void)scratch;
    unsigned x = (unsigned)begin;
    for (int64_t i = begin; i < end; i++)
        for (int k = 0; k < TURNS; k++)
            x = x * 1664525U + 1013904223U;
    sum[begin * 32] = x;
    return 0;
}

static void run_beside(kiln_pool *p, int threads, int neighbours) {
    static int64_t ns[RUNS];
    static unsigned sum[1024];
    kiln_ctx *ctx = kiln_pool_ctx(p);
    double mean = 0;
    for (int i = 0; i < RUNS; i++) {
        work_alone(REST_US * INT64_C(1000));
        const int64_t begin = kiln_now_ns();
        kiln_pool_begin(p);
        for (int k = 0; k < LOOPS; k++)
            assert_int_equal(ctx->parallel_for(ctx, some_work, NULL, sum, THREADS), 0);
        kiln_pool_end(p);
        ns[i] = kiln_now_ns() - begin;
        mean += (double)ns[i] / RUNS;
    }
    qsort(ns, RUNS, sizeof ns[0], by_value);
    const int median = RUNS / 2, high = RUNS * 9 / 10, last = RUNS * 99 / 100;
    printf(
        "  %d threads, %d neighbours: median %.1f us, mean %.1f, 90%% below %.1f, 99%% "
        "below %.1f\n",
        threads, neighbours, (double)ns[median] * 1e-3, mean * 1e-3,
        (double)ns[high] * 1e-3, (double)ns[last] * 1e-3);
}

static void measure_beside(kiln_pool *one, kiln_pool *p, int neighbours) {
    pid_t child[THREADS];
    for (int i = 0; i < neighbours; i++) {
        child[i] = fork();
        if (child[i] == 0)
            for (;;) {
            }
    }
    run_beside(one, 1, neighbours);
    run_beside(p, THREADS, neighbours);
    for (int i = 0; i < neighbours; i++) {
        kill(child[i], SIGKILL);
        waitpid(child[i], NULL, 0);
    }
}

int main(void) {
    static const int64_t gap[] = {0, 2000, 10000, 40000, 100000, 500000};
    char text[KILN_POOL_TEXT];
    kiln_pool *p = NULL;
    assert_int_equal(
        kiln_pool_open(&(kiln_pool_options){.n_threads = THREADS}, &p, text), 0);
    for (int is_run = 0; is_run < 2; is_run++)
        for (size_t i = 0; i < sizeof gap / sizeof gap[0]; i++)
            measure(p, gap[i], is_run);
    kiln_pool *one = NULL;
    assert_int_equal(kiln_pool_open(&(kiln_pool_options){.n_threads = 1}, &one, text),
                     0);
    for (int n = 0; n <= THREADS; n++)
        measure_beside(one, p, n);
    kiln_pool_close(one);
    kiln_pool_close(p);
    return 0;
}
