/* From slices to a core: pure, so that a made-up machine can be measured too.
 *
 * The best undisturbed slice counts, in cycles of the best undisturbed chain: others
 * can only take time away. Counts that must be whole are rounded; one that is far from
 * whole is no measurement. Of ports for loads and stores there are as many as what was
 * sustained takes at least, for more than they holds a stream up. A cache is as large as
 * the most that was read of it at a rate nearer to its own than to that of the level
 * behind it. */
#include "pipeline/machine/machine_internal.h"

#include <inttypes.h>
#include <math.h>

enum { SLICES = 15, MOST_SLICES = 60, FEW = 5 };
/* Of caches of a core alone slices are short: there are more of them, so that a
 * neighbour who shares the core is idle in some. */
static const int64_t short_bytes = INT64_C(4) << 20;
/* Further from a whole number of ports: not a count of ports. */
static const double far_from_whole = 0.3;
/* More than so many vectors a cycle above a number of ports: there is one more. */
static const double above_whole = 0.15;

/* Undisturbed ones, or all where those are few. */
static size_t good_ones(double *unit, double *cycle, const bool *disturbed, size_t n) {
    size_t good = 0;
    for (size_t i = 0; i < n; i++)
        good += !disturbed[i];
    if (good < FEW)
        return n;
    good = 0;
    for (size_t i = 0; i < n; i++)
        if (!disturbed[i]) {
            unit[good] = unit[i];
            cycle[good++] = cycle[i];
        }
    return good;
}

static kiln_machine_reading reading_of(const kiln_machine_meter *m,
                                       const kiln_machine_probe *p) {
    double unit[MOST_SLICES], cycle[MOST_SLICES];
    bool disturbed[MOST_SLICES];
    const size_t n = p->window <= short_bytes ? MOST_SLICES : SLICES;
    kiln_machine_reading r = {.slices = (int)n};
    for (size_t i = 0; i < n; i++) {
        disturbed[i] = false;
        m->slice(m->cx, p, &unit[i], &cycle[i], &disturbed[i]);
        r.disturbed += disturbed[i];
    }
    const size_t good = good_ones(unit, cycle, disturbed, n);
    kiln_sort_f64(unit, good);
    kiln_sort_f64(cycle, good);
    r.cycles = unit[0] / cycle[0];
    r.clock_ghz = 1 / cycle[0];
    r.spread = kiln_quantile(unit, good, 0.5) / unit[0] - 1;
    return r;
}

void kiln_machine_sample(const kiln_machine_meter *m, const kiln_machine_probes *p,
                         kiln_machine_reading *out) {
    KILN_ASSERT(p->n > 0 && p->n <= KILN_MAX_PROBES, "%d probes", p->n);
    for (int i = 0; i < p->n; i++) {
        const kiln_machine_probe *x = &p->probe[i];
        out[i] = (kiln_machine_reading){.slices = 0};
        if (m->begin == NULL || m->begin(m->cx, x))
            out[i] = reading_of(m, x);
        if (m->end != NULL)
            m->end(m->cx, x);
    }
}

/* ---- the core -------------------------------------------------------------------- */

typedef struct reader {
    const kiln_profile *p;
    const kiln_machine_probes *probes;
    const kiln_machine_reading *r;
} reader;

/* Units a cycle of the best such probe of its first's size; 0: there is none, or it could not be timed. */
static double rate_of(const reader *x, kiln_machine_probe_kind kind, int level,
                      bool all) {
    double best = 0;
    int64_t bytes = -1;
    for (int i = 0; i < x->probes->n; i++) {
        const kiln_machine_probe *p = &x->probes->probe[i];
        if (p->kind != kind || p->level != level || (p->threads > 1) != all ||
            x->r[i].slices == 0 || (bytes >= 0 && p->bytes != bytes))
            continue;
        best = fmax(best, p->threads / x->r[i].cycles);
        bytes = p->bytes;
    }
    return best;
}

static kiln_status whole(const char *what, double v, int least, int most, int *out,
                         kiln_err *err) {
    const double n = v < least ? least : floor(v + 0.5);
    if (!isfinite(v) || v <= 0 || n > most ||
        (v > least && fabs(v - n) > far_from_whole))
        return kiln_fail(err, KILN_ERR_IO,
                         "%s must be a whole number from %d to %d, measured %.3g: "
                         "others were at work; try again when the machine is quiet",
                         what, least, most, v);
    *out = (int)n;
    return KILN_OK;
}

/* A rate may be anything, but no level is faster than the one in front of it. */
static int rate(double v, int most) {
    const double n = floor(v + 0.5);
    return n < 1 ? 1 : n > most ? most : (int)n;
}

/* The fewest ports that give so many vectors a cycle. */
static int ports(double v, int most) {
    const double n = ceil(v - above_whole);
    return n < 1 ? 1 : n > most ? most : (int)n;
}

/* KiB of the level, by what was read of it; 0: it has none. */
static int seen_kib(const reader *x, int level) {
    const double own = rate_of(x, KILN_PROBE_READ, level, false);
    double next = 0;
    for (int l = level + 1; l < KILN_PROBE_LEVELS && next == 0; l++)
        next = rate_of(x, KILN_PROBE_READ, l, false);
    /* Where the next level is as fast there is no step to be seen. */
    const double least = next < 0.9 * own ? sqrt(own * next) : 0;
    int64_t most = 0;
    for (int i = 0; i < x->probes->n; i++) {
        const kiln_machine_probe *p = &x->probes->probe[i];
        if (p->kind != KILN_PROBE_READ || p->level != level || p->threads > 1 ||
            x->r[i].slices == 0)
            continue;
        if (1 / x->r[i].cycles < least)
            break; /* sizes rise: what is larger and seems fast is noise */
        most = p->bytes > most ? p->bytes : most;
    }
    return (int)(most / 1024);
}

static kiln_status check_rates(const kiln_core *c, int vector_bytes, kiln_err *err) {
    if (c->l2_rate > (c->load_ports + 1) * vector_bytes)
        return kiln_fail(err, KILN_ERR_IO,
                         "the L2 cache gives at most what %d loads of %d bytes a cycle "
                         "take, measured %d bytes: others were at work; try again when "
                         "the machine is quiet",
                         c->load_ports, vector_bytes, c->l2_rate);
    return KILN_OK;
}

kiln_status kiln_machine_core(const kiln_profile *p, const kiln_machine_probes *probes,
                              const kiln_machine_reading *r, kiln_core *out,
                              kiln_err *err) {
    const reader x = {p, probes, r};
    kiln_core c = p->core;
    const double vector = p->vector_bytes;
    /* Half a multiply-add a cycle is one port for two instructions. */
    KILN_TRY(whole("'fma_ports'", rate_of(&x, KILN_PROBE_FMA, 0, false), 1, 16,
                   &c.fma_ports, err));
    KILN_TRY(whole("'fma_latency'", 1 / rate_of(&x, KILN_PROBE_LATENCY, 0, false), 1,
                   64, &c.fma_latency, err));
    const double load = rate_of(&x, KILN_PROBE_LOAD, 0, false);
    const double store = rate_of(&x, KILN_PROBE_WRITE, 0, false);
    const double l2 = rate_of(&x, KILN_PROBE_READ, 1, false);
    const double l3 = rate_of(&x, KILN_PROBE_READ, 2, false);
    const double memory = rate_of(&x, KILN_PROBE_READ, 3, false);
    if (load > 0)
        c.load_ports = ports(load / vector, 16);
    if (store > 0)
        c.store_ports = ports(store / vector, 16);
    if (l2 > 0)
        c.l2_rate = rate(l2, 4096);
    if (p->l3_bytes == 0)
        c.l3_rate = 0;
    if (l3 > 0)
        c.l3_rate = rate(fmin(l3, c.l2_rate), 4096);
    if (memory > 0)
        c.memory_rate = rate(fmin(memory, c.l3_rate > 0 ? c.l3_rate : c.l2_rate), 4096);
    c.l1_kib = seen_kib(&x, 0);
    c.l2_kib = seen_kib(&x, 1);
    c.l3_kib = seen_kib(&x, 2);
    const double chase = rate_of(&x, KILN_PROBE_CHASE, 3, false);
    c.memory_latency = chase > 0 ? rate(1 / chase, 1 << 16) : 0;
    const double l3_all = rate_of(&x, KILN_PROBE_READ, 2, true);
    const double memory_all = rate_of(&x, KILN_PROBE_READ, 3, true);
    c.l3_rate_all = l3_all > 0 ? rate(l3_all, 1 << 20) : 0;
    c.memory_rate_all = memory_all > 0 ? rate(memory_all, 1 << 20) : 0;
    KILN_TRY(check_rates(&c, p->vector_bytes, err));
    *out = c;
    return KILN_OK;
}
