/* What a bench of a network found, for people. */
#include "pipeline/bench/bench_internal.h"

#include <inttypes.h>
#include <math.h>

/* ---- text ------------------------------------------------------------------------ */

static void put_memory(kiln_buf *out, const kiln_subject *s) {
    kiln_buf_printf(out,
                    "memory: activations %.3f MB, lower bound %.3f MB (%.3f times); "
                    "parameters %.3f MB; workspace %.3f MB, scratch of each thread "
                    "%.3f MB\n",
                    (double)s->arena * 1e-6, (double)s->lower_bound * 1e-6,
                    s->lower_bound > 0 ? (double)s->arena / (double)s->lower_bound : 1,
                    (double)s->params * 1e-6, (double)s->workspace * 1e-6,
                    (double)s->scratch * 1e-6);
    if (s->open_ms > 0)
        kiln_buf_printf(out, "opened in %.3f ms", s->open_ms);
    if (s->open_ms > 0 && s->packed > 0)
        kiln_buf_printf(out, ", with %.3f MB of parameters packed",
                        (double)s->packed * 1e-6);
    if (s->open_ms > 0)
        kiln_buf_puts(out, "\n");
}

static void put_machine(kiln_buf *out, const kiln_machine *m, double bandwidth_gbs) {
    kiln_buf_printf(out, "machine: %s%s%s, %d core%s, %.1f GB", m->cpu,
                    m->cpu[0] != '\0' ? ", " : "", m->os, m->cores,
                    m->cores == 1 ? "" : "s", (double)m->memory_bytes * 1e-9);
    if (bandwidth_gbs > 0)
        kiln_buf_printf(out, "; copies %.1f GB/s", bandwidth_gbs);
    kiln_buf_puts(out, "\n");
}

bool kiln_bench_head_text(kiln_buf *out, const kiln_subject *s, const kiln_check *c,
                          const kiln_machine *m, double bandwidth_gbs) {
    kiln_buf_printf(out, "%s for profile %s: %" PRId64 " multiply-adds, %d step%s\n",
                    s->name, s->profile->name, s->cost.muladds, s->n_steps,
                    kiln_plural(s->n_steps));
    if (c->outcome != KILN_PASSED) {
        kiln_buf_printf(out, "WRONG: %s\n", c->reason);
        return false;
    }
    kiln_buf_printf(out,
                    "output: right, largest error %.3g, rms error %.3g of rms %.3g\n",
                    c->max_abs, c->rms_error, c->rms_want);
    put_memory(out, s);
    put_machine(out, m, bandwidth_gbs);
    return true;
}

/* One line for each number of threads, of what so many samples say. */
static void put_percentiles(kiln_buf *out, const kiln_net_side *r) {
    kiln_buf_printf(out, "at %d thread%s, of %zu sample%s", r->threads,
                    r->threads == 1 ? "" : "s", r->percentiles.n,
                    kiln_plural((int64_t)r->percentiles.n));
    if (r->runs > 1)
        kiln_buf_printf(out, " (means of %" PRId64 " runs each)", r->runs);
    kiln_buf_puts(out, ":");
    for (int i = 0; i < KILN_N_PERCENTILES; i++)
        if (!isnan(r->percentiles.at[i]))
            kiln_buf_printf(out, " %s %.4f", kiln_percentile_name(i),
                            r->percentiles.at[i]);
    kiln_buf_printf(out, " max %.4f ms\n", r->percentiles.max);
}

static void put_rivals(kiln_buf *out, const kiln_net_bench *b) {
    bool is_first = true;
    for (size_t i = 0; i < b->side.n; i++)
        for (size_t k = 0; k < b->side.v[i].rival.n; k++) {
            if (is_first)
                kiln_rivals_text_head(out, "threads");
            is_first = false;
            kiln_rival_text(out, kiln_format(out->arena, "%d", b->side.v[i].threads),
                            &b->side.v[i].rival.v[k]);
        }
}

void kiln_net_bench_text(kiln_buf *out, const kiln_net_bench *b) {
    const kiln_subject *s = b->subject;
    if (!kiln_bench_head_text(out, s, &b->check, &b->machine, b->bandwidth_gbs))
        return;
    kiln_buf_printf(out, "\n%7s %10s %10s %10s %10s %8s %6s %8s %6s %7s %9s\n",
                    "threads", "median ms", "q1 ms", "q3 ms", "min ms", "GFLOP/s",
                    "%peak", "peak", "GHz", "samples", "disturbed");
    for (size_t i = 0; i < b->side.n; i++) {
        const kiln_net_side *r = &b->side.v[i];
        kiln_buf_printf(out,
                        "%7d %10.4f %10.4f %10.4f %10.4f %8.1f %6.1f %8.1f %6.3f %7zu "
                        "%9zu\n",
                        r->threads, r->median_ms, r->q1_ms, r->q3_ms, r->min_ms,
                        r->gflops, 100 * r->peak_share, r->peak.gflops,
                        r->peak.clock_ghz, r->sample.n, r->n_disturbed);
    }
    for (size_t i = 0; i < b->side.n; i++)
        put_percentiles(out, &b->side.v[i]);
    put_rivals(out, b);
    for (size_t i = 0; i < b->side.n; i++)
        if (b->side.v[i].step_ms != NULL)
            kiln_steps_text(out, &b->side.v[i]);
    if (b->is_interrupted)
        kiln_buf_puts(out, "\ninterrupted: fewer rounds than asked for\n");
}
