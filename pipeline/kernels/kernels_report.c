/* What `kiln bench` found of operators, for people. */
#include "pipeline/kernels/kernels_internal.h"

#include <inttypes.h>

/* ---- text ------------------------------------------------------------------------ */

/* Too few slices had the processor to themselves. */
static bool is_noisy(const kiln_timing *t) { return t->n_slices - t->n_disturbed < 7; }

static void put_row(kiln_buf *out, const kiln_bench_row *r) {
    if (r->refusal != NULL) {
        kiln_buf_printf(out, "%-6s %s%s\n", r->name,
                        r->failure != NULL ? "FAILED: " : "refused: ", r->refusal);
        return;
    }
    if (!r->verdict.ok) {
        kiln_buf_printf(out, "%-6s WRONG: %s\n", r->name, r->verdict.problem);
        return;
    }
    const kiln_timing *t = &r->timing;
    kiln_buf_printf(
        out,
        "%-6s %-14s %-5s %9.4f %9.4f %8.1f %6.1f %7.1f %6.1f %6.1f %6.1f "
        "%-7s %8.3f %3d/%-2d %3d  ok%s\n",
        r->name, r->choice.tmpl->name, kiln_origin_name(r->choice.origin), t->median_ms,
        t->min_ms, t->gflops, 100 * t->peak_share, t->gbs,
        100 * t->memory_ms / t->median_ms, 100 * t->instructions_ms / t->median_ms,
        100 * t->roofline_ms / t->median_ms, t->bound, r->verdict.worst, r->hot_fma,
        r->hot_instructions, r->spills, is_noisy(t) ? " (disturbed)" : "");
}

void kiln_bench_text(kiln_buf *out, const kiln_bench *b) {
    kiln_buf_printf(
        out,
        "profile %s, %d thread%s; peak %.1f GFLOP/s (measured %.1f; %g vector "
        "multiply-adds x %.3f GHz)\n\n",
        b->profile->name, b->threads, b->threads == 1 ? "" : "s", b->peak.gflops,
        b->peak.measured_gflops, b->peak.fma_per_cycle, b->peak.clock_ghz);
    kiln_buf_printf(out,
                    "%-6s %-14s %-5s %9s %9s %8s %6s %7s %6s %6s %6s %-7s %8s %6s "
                    "%3s\n",
                    "op", "template", "from", "median ms", "min ms", "GFLOP/s", "%peak",
                    "GB/s", "%mem", "%instr", "%roof", "bound", "err/max", "fma/in",
                    "sp");
    for (size_t i = 0; i < b->row.n; i++)
        put_row(out, &b->row.v[i]);
    if (b->mean_share > 0)
        kiln_buf_printf(out, "\ngeometric mean %.1f%% of peak", 100 * b->mean_share);
    const size_t n_measured = b->row.n - b->n_refused - b->n_failed;
    kiln_buf_printf(out, "\n%zu measured, %zu wrong, %zu refused", n_measured,
                    b->n_wrong, b->n_refused);
    if (b->n_failed > 0)
        kiln_buf_printf(out, ", %zu failed", b->n_failed);
    kiln_buf_puts(out, b->is_interrupted ? ", interrupted\n" : "\n");
    if (n_measured > b->n_wrong)
        kiln_buf_puts(
            out, "%peak: of the processor's multiply-adds; %mem: of what memory "
                 "allows; %instr: of what the kernel's\ninstructions take in full "
                 "vectors; %roof: of what all three allow, and which bounds; err/max: "
                 "largest error,\nof its bound; fma/in: multiply-adds of the "
                 "instructions in the innermost loop; sp: spills there\n");
    kiln_op_rivals_text(out, b);
}
