/* What several instances at once did, for people. */
#include "pipeline/bench/bench_internal.h"

#include <inttypes.h>
#include <math.h>

static void put_row(kiln_buf *out, const kiln_load_side *r) {
    kiln_buf_printf(out, "%9d %7d %10.2f %10.2f %10.2f", r->instances, r->threads,
                    r->per_s, r->low, r->high);
    for (int i = 0; i < KILN_N_PERCENTILES; i++)
        if (isnan(r->ms.at[i]))
            kiln_buf_printf(out, " %9s", "-");
        else
            kiln_buf_printf(out, " %9.4f", r->ms.at[i]);
    kiln_buf_printf(out, " %9.4f %8zu %8.2f\n", r->ms.max, r->ms.n, r->seconds);
}

static void put_notes(kiln_buf *out, const kiln_load *l) {
    bool is_crowded = false, is_cut = false;
    for (size_t i = 0; i < l->side.n; i++) {
        const kiln_load_side *r = &l->side.v[i];
        is_crowded = is_crowded || r->instances * r->threads > l->machine.cores;
        is_cut = is_cut || r->is_cut;
    }
    kiln_buf_puts(out, "percentiles: ms of every run, as its caller waits for it; - "
                       "needs more runs\n");
    if (is_crowded)
        kiln_buf_printf(out,
                        "more threads than this process has cores (%d): they wait for "
                        "each other\n",
                        l->machine.cores);
    if (is_cut)
        kiln_buf_puts(out, "some were ended early: there was no room for more runs; a "
                           "shorter --duration is enough\n");
    if (l->is_interrupted)
        kiln_buf_puts(out, "interrupted: shorter than asked for\n");
}

void kiln_load_text(kiln_buf *out, const kiln_load *l) {
    if (!kiln_bench_head_text(out, l->subject, &l->check, &l->machine, 0))
        return;
    kiln_buf_printf(out, "\n%9s %7s %10s %10s %10s", "instances", "threads", "runs/s",
                    "95% low", "high");
    for (int i = 0; i < KILN_N_PERCENTILES; i++)
        kiln_buf_printf(out, " %9s", kiln_percentile_name(i));
    kiln_buf_printf(out, " %9s %8s %8s\n", "max ms", "runs", "seconds");
    for (size_t i = 0; i < l->side.n; i++)
        put_row(out, &l->side.v[i]);
    put_notes(out, l);
}
