/* What rules that guess count on: a machine as its profile has it, and what is common
 * where that does not say. */
#include "compiler/target/target.h"

/* Where a profile does not say: the least that is common; and what nearly all have. A
 * fork and a join of runtime/pool.h takes 0.2 us on Zen 5 while the pool is awake
 * (tests/bench/bench_pool.c). A branch foreseen wrongly costs 12 to 20 cycles
 * (Fog, The microarchitecture of Intel, AMD and VIA CPUs). 32 MiB of a last cache are what
 * the eight cores of a Zen die share (Chips and Cheese, AMD's Ryzen 9950X: Zen 5 on
 * Desktop, 2024), and what 16 slices of Intel's mesh have. */
enum {
    LEAST_L1 = 1 << 15,
    LEAST_L2 = 1 << 18,
    LINE = 64,
    WAY = 4096,
    FORK = 780,
    LATENCY = 400,
    BRANCH = 20,
    REACH = 1 << 25
};

/* What the system says, unless one core was seen to get much less of it: rules count on
 * half of a cache at most, and what is read of the last quarter depends on its sets. */
static int64_t cache_of(int64_t said, int seen_kib) {
    const int64_t seen = (int64_t)seen_kib * 1024;
    return seen > 0 && seen < said / 4 * 3 ? seen : said;
}

int64_t kiln_cache_l1(const kiln_profile *p) {
    return cache_of(p->l1d_bytes > 0 ? p->l1d_bytes : LEAST_L1, p->core.l1_kib);
}

int64_t kiln_cache_l2(const kiln_profile *p) {
    return cache_of(p->l2_bytes > 0 ? p->l2_bytes : LEAST_L2, p->core.l2_kib);
}

int64_t kiln_cache_last(const kiln_profile *p) {
    return p->l3_bytes > 0 ? cache_of(p->l3_bytes, p->core.l3_kib) : kiln_cache_l2(p);
}

static int or_else(int said, int otherwise) { return said > 0 ? said : otherwise; }

/* What was measured is one core's. */
int64_t kiln_cache_reach(const kiln_profile *p) {
    const int64_t last = kiln_cache_last(p), l2 = kiln_cache_l2(p);
    const int64_t most = p->core.l3_kib > 0 ? last : REACH;
    const int64_t reached = last < most ? last : most;
    return reached > l2 ? reached : l2;
}

int64_t kiln_line_bytes(const kiln_profile *p) {
    return or_else(p->core.line_bytes, LINE);
}

int64_t kiln_l1_way_bytes(const kiln_profile *p) {
    return p->core.l1_way_kib > 0 ? p->core.l1_way_kib * (int64_t)1024 : WAY;
}

/* Four times what it costs: the other core's caches have nothing of the operands. */
bool kiln_is_worth_fork(const kiln_profile *p, double muladds) {
    const double each = p->vector_bytes / 4.0 * p->core.fma_ports;
    return muladds / each >= 4.0 * or_else(p->core.fork_cycles, FORK);
}

int64_t kiln_fetch_bytes(const kiln_profile *p) {
    return (int64_t)or_else(p->core.memory_latency, LATENCY) * p->core.memory_rate;
}

int kiln_rate_behind_l2(const kiln_profile *p) {
    const bool has_l3 = p->l3_bytes > 0 && p->core.l3_rate > 0;
    return has_l3 ? p->core.l3_rate : p->core.memory_rate;
}

int kiln_sums_to_hide_latency(const kiln_profile *p) {
    return p->core.fma_ports * p->core.fma_latency;
}

int kiln_sums_of_loads(const kiln_profile *p) {
    KILN_ASSERT(p->vector_bytes > 0, "profile '%s' has no vectors", p->name);
    const kiln_core *c = &p->core;
    const int from_l2 = (c->l2_rate + p->vector_bytes - 1) / p->vector_bytes;
    const int loads = from_l2 < c->load_ports ? from_l2 : c->load_ports;
    return (loads < c->fma_ports ? loads : c->fma_ports) * c->fma_latency;
}

/* An i9-14900KS may reach 6.2 GHz on two cores. Apple's and Arm's large cores have four
 * ports for multiply-adds where shipped profiles say one or two. */
static const double most_ghz = 6.2;
enum { FEWEST_PORTS = 4 };

static double vectors_a_ns(const kiln_profile *p, int threads, int ports) {
    const int most = 2 * ports > FEWEST_PORTS ? 2 * ports : FEWEST_PORTS;
    KILN_ASSERT(threads > 0 && p->vector_bytes > 0, "profile '%s' by %d threads",
                p->name, threads);
    return most_ghz * most * threads;
}

double kiln_most_gflops(const kiln_profile *p, int threads) {
    return 2 * (p->vector_bytes / 4.0) * vectors_a_ns(p, threads, p->core.fma_ports);
}

double kiln_least_ns(const kiln_profile *p, int threads, double flops,
                     double written_bytes) {
    KILN_ASSERT(flops >= 0 && written_bytes >= 0, "%g operations, %g bytes", flops,
                written_bytes);
    const double multiplying = flops / kiln_most_gflops(p, threads);
    const double storing =
        written_bytes /
        (p->vector_bytes * vectors_a_ns(p, threads, p->core.store_ports));
    return multiplying > storing ? multiplying : storing;
}

int kiln_branch_cycles(const kiln_profile *p) {
    return or_else(p->core.branch_cycles, BRANCH);
}

/* About ten loops (tiles, channels, taps, what is padded or copied) begin and end: each
 * has two branches that nobody foresees. 400 cycles on Zen 5, as measured. */
double kiln_call_cycles(const kiln_profile *p) { return 20.0 * kiln_branch_cycles(p); }
