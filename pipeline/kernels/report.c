/* What `kiln bench` found: a table for people, JSON for programs. */
#include "pipeline/kernels/kernels_internal.h"

#include <inttypes.h>

/* ---- text ------------------------------------------------------------------------ */

/* Too few slices had the processor to themselves. */
static bool is_noisy(const kiln_timing *t) { return t->n_slices - t->n_disturbed < 7; }

static void put_row(kiln_buf *out, const kiln_bench_row *r) {
    if (r->refusal != NULL) {
        kiln_buf_printf(out, "%-6s refused: %s\n", r->name, r->refusal);
        return;
    }
    const kiln_timing *t = &r->timing;
    kiln_buf_printf(out,
                    "%-6s %-14s %-5s %9.4f %9.4f %8.1f %6.1f %7.1f %6.1f %-7s %8.3f "
                    "%3d/%-2d %3d  %s%s%s\n",
                    r->name, r->choice.tmpl->name, kiln_origin_name(r->choice.origin),
                    t->median_ms, t->min_ms, t->gflops, 100 * t->peak_share, t->gbs,
                    100 * t->roofline_ms / t->median_ms, t->bound, r->verdict.worst,
                    r->hot_fma, r->hot_instructions, r->spills,
                    r->verdict.ok ? "ok" : "WRONG: ", r->verdict.problem,
                    is_noisy(t) ? " (disturbed)" : "");
}

void kiln_bench_text(kiln_buf *out, const kiln_bench *b) {
    kiln_buf_printf(
        out,
        "profile %s, %d thread%s; peak %.1f GFLOP/s (measured %.1f; %g vector "
        "multiply-adds x %.3f GHz)\n\n",
        b->profile->name, b->threads, b->threads == 1 ? "" : "s", b->peak.gflops,
        b->peak.measured_gflops, b->peak.fma_per_cycle, b->peak.clock_ghz);
    kiln_buf_printf(out, "%-6s %-14s %-5s %9s %9s %8s %6s %7s %6s %-7s %8s %6s %3s\n",
                    "op", "template", "from", "median ms", "min ms", "GFLOP/s", "%peak",
                    "GB/s", "%roof", "bound", "err/max", "fma/in", "sp");
    for (size_t i = 0; i < b->row.n; i++)
        put_row(out, &b->row.v[i]);
    if (b->mean_share > 0)
        kiln_buf_printf(out, "\ngeometric mean %.1f%% of peak", 100 * b->mean_share);
    kiln_buf_printf(out, "\n%zu measured, %zu wrong, %zu refused%s\n",
                    b->row.n - b->n_refused, b->n_wrong, b->n_refused,
                    b->is_interrupted ? ", interrupted" : "");
    kiln_op_rivals_text(out, b);
}

/* ---- JSON ------------------------------------------------------------------------ */

static void put_peak(kiln_json_writer *w, const kiln_peak *p) {
    kiln_json_begin_object(w);
    kiln_json_member_f64(w, "gflops", p->gflops);
    kiln_json_member_f64(w, "measured_gflops", p->measured_gflops);
    kiln_json_member_f64(w, "fma_per_cycle", p->fma_per_cycle);
    kiln_json_member_f64(w, "clock_ghz", p->clock_ghz);
    kiln_json_end_object(w);
}

static void put_timing(kiln_json_writer *w, const kiln_timing *t) {
    kiln_json_begin_object(w);
    kiln_json_member_i64(w, "slices", (int64_t)t->n_slices);
    kiln_json_member_i64(w, "disturbed_slices", (int64_t)t->n_disturbed);
    kiln_json_member_i64(w, "runs", t->n_runs);
    kiln_json_member_f64(w, "median_ms", t->median_ms);
    kiln_json_member_f64(w, "q1_ms", t->q1_ms);
    kiln_json_member_f64(w, "q3_ms", t->q3_ms);
    kiln_json_member_f64(w, "min_ms", t->min_ms);
    kiln_json_member_f64(w, "gflops", t->gflops);
    kiln_json_member_f64(w, "gbs", t->gbs);
    kiln_json_member_f64(w, "peak_share", t->peak_share);
    kiln_json_member_f64(w, "roofline_ms", t->roofline_ms);
    kiln_json_member_str(w, "bound", t->bound);
    kiln_json_name(w, "peak");
    put_peak(w, &t->peak);
    kiln_json_end_object(w);
}

void kiln_bench_row_put(kiln_json_writer *w, const kiln_bench_row *r) {
    kiln_json_begin_object(w);
    kiln_json_member_str(w, "op", r->name);
    kiln_json_member_str(w, "line", r->line);
    kiln_json_member_str(w, "workload", r->key);
    if (r->choice.tmpl != NULL) {
        kiln_json_member_str(w, "template", r->choice.tmpl->name);
        kiln_json_member_str(w, "origin", kiln_origin_name(r->choice.origin));
        kiln_json_name(w, "config");
        kiln_config_put(w, r->choice.tmpl, &r->choice.space, &r->choice.config);
    }
    kiln_json_member_str(w, "refusal", r->refusal);
    kiln_json_member_i64(w, "multiply_adds", r->cost.muladds);
    kiln_json_member_i64(w, "flops", r->cost.flops);
    kiln_json_member_i64(w, "bytes", r->cost.bytes);
    if (r->refusal == NULL) {
        kiln_json_name(w, "output");
        kiln_json_begin_object(w);
        kiln_json_member_bool(w, "ok", r->verdict.ok);
        kiln_json_member_str(w, "problem", r->verdict.problem);
        kiln_json_member_f64(w, "worst_error_of_bound", r->verdict.worst);
        kiln_json_member_f64(w, "max_abs_error", r->verdict.max_abs);
        kiln_json_member_i64(w, "checked", r->verdict.n_checked);
        kiln_json_member_i64(w, "elements", r->verdict.n_elems);
        kiln_json_end_object(w);
        kiln_json_name(w, "time");
        put_timing(w, &r->timing);
    }
    if (r->code_bytes > 0) {
        kiln_json_name(w, "code");
        kiln_json_begin_object(w);
        kiln_json_member_i64(w, "bytes", (int64_t)r->code_bytes);
        kiln_json_member_i64(w, "workspace_bytes", (int64_t)r->workspace_bytes);
        kiln_json_member_i64(w, "scratch_bytes", (int64_t)r->scratch_bytes);
        kiln_json_member_i64(w, "forks", r->spread.forks);
        kiln_json_member_i64(w, "parallel_iterations", r->spread.iterations);
        kiln_json_member_f64(w, "gain_on_2_threads",
                             r->spread.longest > 0 ? r->spread.work / r->spread.longest
                                                   : 1);
        kiln_json_member_i64(w, "innermost_loops", r->n_loops);
        kiln_json_member_i64(w, "hot_instructions", r->hot_instructions);
        kiln_json_member_i64(w, "hot_vector_fma", r->hot_fma);
        kiln_json_member_i64(w, "hot_vector_registers", r->vector_registers);
        kiln_json_member_i64(w, "hot_spills", r->spills);
        kiln_json_member_f64(w, "lower_ms", r->lower_ms);
        kiln_json_member_f64(w, "codegen_ms", r->codegen_ms);
        kiln_json_end_object(w);
    }
    kiln_rivals_json(w, &r->rival, "worst_error_of_bound");
    kiln_samples_json(w, &r->sample);
    kiln_json_end_object(w);
}

void kiln_bench_json(kiln_buf *out, const kiln_bench *b) {
    kiln_json_writer w;
    kiln_json_writer_init(&w, out);
    kiln_json_begin_object(&w);
    kiln_json_member_str(&w, "profile", b->profile->name);
    kiln_json_member_i64(&w, "threads", b->threads);
    kiln_json_name(&w, "peak");
    put_peak(&w, &b->peak);
    kiln_json_name(&w, "bandwidth_gbs");
    kiln_json_begin_object(&w);
    for (int i = 0; i < KILN_N_LEVELS; i++)
        if (b->level_gbs[i] > 0)
            kiln_json_member_f64(&w, kiln_level_name(i), b->level_gbs[i]);
    kiln_json_end_object(&w);
    kiln_json_name(&w, "ops");
    kiln_json_begin_array(&w);
    for (size_t i = 0; i < b->row.n; i++)
        kiln_bench_row_put(&w, &b->row.v[i]);
    kiln_json_end_array(&w);
    kiln_op_standings_put(&w, b);
    kiln_json_member_i64(&w, "wrong", (int64_t)b->n_wrong);
    kiln_json_member_i64(&w, "refused", (int64_t)b->n_refused);
    kiln_json_member_f64(&w, "mean_peak_share", b->mean_share);
    kiln_json_member_bool(&w, "interrupted", b->is_interrupted);
    kiln_json_end_object(&w);
    kiln_buf_puts(out, "\n");
}
